"""The small local model judges a slice of the sample: through the same code, and how far from the labels.

    python benchmarks/local_judge.py [--pages 4] [--study data/sample]

Needs the wheels of `make local-judge`. The model has 135 million parameters: this proves requests,
replies, schema and journal on a real endpoint, and that a judge without skill is shown as one. Labels
are those of the study; in the sample they are by the authors of the pages.
"""

from __future__ import annotations

import argparse
import shutil
import tempfile
import time
from pathlib import Path

from sourcebench.extract import extract_study
from sourcebench.fetch import fetch_study
from sourcebench.judge import judge_study
from sourcebench.judge.local import CAVEAT, MODEL, local_endpoint
from sourcebench.sections.alignment import alignment_table, judged_and_labelled, reader
from sourcebench.study import Study

SETTINGS = """
[judges.local]
type = "llm"
model = "{model}"
base_url = "{base_url}"
concurrency = 1
timeout = 600.0
deadline = 3600.0
budget = 1500
max_tokens = 400
"""


def slice_of(study: Study, size: int) -> list[str]:
    """Return the shortest pages that carry labels."""
    labelled = set(study.load("labels")["page_id"])
    packets = study.load("packets")
    there = zip(packets["page_id"], packets["record"], strict=True)
    found = sorted((len(r["text"]), page) for page, r in there if r["outcome"] == "ok")
    return [page for _, page in found if page in labelled][:size]


def main() -> None:
    """Judge the slice, and print outcomes and agreement."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--pages", type=int, default=4)
    parser.add_argument("--study", type=Path, default=Path("data/sample"))
    options = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, local_endpoint() as base_url:
        study = Study(options.study).working_copy(Path(folder) / "study")
        toml = study.folder / "study.toml"
        added = SETTINGS.format(model=MODEL, base_url=base_url)
        toml.write_text(toml.read_text(encoding="utf-8") + added, encoding="utf-8")
        study = Study(study.folder)
        fetch_study(study, offline=True)
        extract_study(study)
        pages = slice_of(study, options.pages)
        start = time.perf_counter()
        rows = judge_study(study, judges=["local"], pages=pages)
        seconds = time.perf_counter() - start
        rows = rows[(rows["judge"] == "local") & rows["page_id"].isin(pages)]
        pairs = judged_and_labelled(study, judge="local")
        table = alignment_table(study, pairs[pairs["page_id"].isin(pages)])
        print(CAVEAT)
        print(f"{len(pages)} pages, {len(rows)} verdicts, {seconds:.0f} s")
        print("outcomes:", rows["outcome"].value_counts().to_dict())
        print(f"against {reader(study)}:")
        columns = ["metric", "items", "labels", "mae", "best_constant", "skill", "bias"]
        print(table.data[columns].round(2).to_string(index=False))
        shutil.rmtree(study.folder)


if __name__ == "__main__":
    main()
