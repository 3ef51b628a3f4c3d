"""Runs the whole chain on a folder of saved real pages and prints how the judge does on them.

    python -m benchmarks.real_pages FOLDER [--to STUDY]

FOLDER holds queries.csv, citations.csv, pages.csv, labels.csv and html/*.html.gz. The pages are
served on loopback under their own host names; nothing leaves this machine. Labels are those of the
named readers, which need not be people.
"""

from __future__ import annotations

import argparse
import csv
import gzip
import tempfile
from datetime import UTC, datetime
from pathlib import Path

from sourcebench.fetch import fetch_study
from sourcebench.fetch.localweb import serve_web
from sourcebench.pipeline import run_stages
from sourcebench.rubric import QUERY_LEVEL
from sourcebench.sections.alignment import alignment_table, judged_and_labelled
from sourcebench.study import Study
from sourcebench.urls import page_id, unwrap

SETTINGS = """title = "Saved real pages"
kind = "real-pages"
licence = "pages: all rights with their publishers; for local use only"
as_of = 2026-01-25
judge = "rules"

[fetch]
delay = 0.0
"""
SEEN = datetime(2026, 1, 25, 12, tzinfo=UTC)


def read_rows(path: Path) -> list[dict[str, str]]:
    """Read a CSV as dictionaries."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def build_study(source: Path, folder: Path) -> Study:
    """Turn saved pages into a study and fetch them from loopback; the stages are yet to run."""
    folder.mkdir(parents=True, exist_ok=True)
    (folder / "study.toml").write_text(SETTINGS, encoding="utf-8")
    study = Study(folder)
    study.save("queries", read_rows(source / "queries.csv"))
    cited = [row | {"run": 1} for row in read_rows(source / "citations.csv")]
    study.save("citations", cited)
    keys = {(row["system"], row["query_id"]) for row in cited}
    answers = [{"system": s, "query_id": q, "run": 1, "outcome": "ok"} for s, q in sorted(keys)]
    study.save("answers", answers)
    study.save("labels", label_rows(read_rows(source / "labels.csv")))
    fetch_pages(study, source)
    return study


def label_rows(labels: list[dict[str, str]]) -> list[dict]:
    """Give page-level labels once a page, without a query."""
    rows = {}
    for row in labels:
        query = row["query_id"] if row["metric"] in QUERY_LEVEL else None
        key = (row["annotator"], query, page_id(row["url"]), row["metric"])
        names = ("annotator", "query_id", "page_id", "metric")
        rows.setdefault(
            key,
            dict(zip(names, key, strict=True))
            | {"score": int(row["score"]), "reason": row["reason"]},
        )
    return list(rows.values())


def fetch_pages(study: Study, source: Path) -> None:
    """Serve the saved pages under every address they are cited by, and fetch them."""
    saved = {page_id(row["url"]): row for row in read_rows(source / "pages.csv")}
    with tempfile.TemporaryDirectory() as temporary:
        root = Path(temporary)
        pages = {}
        urls = dict.fromkeys([*(r["url"] for r in saved.values()), *study.load("citations")["url"]])
        for url in urls:
            row = saved[page_id(url)]
            name = f"{row['file']}.html"
            (root / name).write_bytes(
                gzip.decompress((source / "html" / f"{name}.gz").read_bytes())
            )
            address = unwrap(url).partition("#")[0]
            pages[address] = {"url": address, "file": name, "content_type": row["content_type"]}
        with serve_web(pages.values(), root) as resolver:
            fetch_study(study, resolver=resolver, clock=lambda: SEEN)


def main() -> None:
    """Build, run, and print the alignment of judge and reader."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--to", type=Path)
    given = parser.parse_args()
    with tempfile.TemporaryDirectory() as temporary:
        study = build_study(given.folder, given.to or Path(temporary))
        run_stages(study, offline=True)
        table = alignment_table(study, judged_and_labelled(study))
        print(table.title)
        columns = ["metric", "items", "mae", "best_constant", "skill", "bias", "within_one", "qwk"]
        print(table.data[columns].round(3).to_string(index=False))
        print(f"mean skill {table.data['skill'].mean():.3f}")


if __name__ == "__main__":
    main()
