"""Times of the table stages on a synthetic study of the paper's size.

    python benchmarks/tables.py [size]

100 queries, 12 systems, 2 runs, about 4,000 selected sources; `size` multiplies the queries. All
numbers are synthetic: only their amount matters. CPU time is printed beside the clock, since the
clock of a shared machine also counts what others do.
"""

from __future__ import annotations

import sys
import tempfile
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pandas as pd

from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.schema import CATEGORIES
from sourcebench.score import load_sources, score_study
from sourcebench.selection import pairs_to_judge, selected_sources
from sourcebench.study import Study

SYSTEMS, RUNS, CITED = 12, 2, 5
TOML = 'title = "Large"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-06-01\n'


def main(size: int) -> None:
    """Build the study and time each step on it."""
    with tempfile.TemporaryDirectory() as folder:
        study = timed("write the tables", lambda: synthetic_study(Path(folder), 100 * size))
        selected = timed("selected_sources", lambda: selected_sources(study))
        timed("pairs_to_judge", lambda: pairs_to_judge(study))
        timed("score_study", lambda: score_study(study))
        timed("load_sources", lambda: load_sources(study))
        rows = timed("validate", study.validate)
        one = {"judge": "again", "prompt_hash": "h", "page_id": "p0", "metric": "FR"}
        queries = study.load("queries")["query_id"]
        timed(
            "append, 100 times one row",
            lambda: [
                study.append("judgments", [one | {"query_id": q, "outcome": "error"}])
                for q in queries[:100]
            ],
        )
        print(f"{len(selected)} selected sources;", ", ".join(f"{k} {n}" for k, n in rows.items()))


def timed(name: str, work: Callable[[], Any]) -> Any:
    """Print how long some work takes, and return its result."""
    clock, cpu = time.perf_counter(), time.process_time()
    result = work()
    clock, cpu = time.perf_counter() - clock, time.process_time() - cpu
    print(f"{name:28} {clock:6.2f} s   {cpu:6.2f} s CPU", flush=True)
    return result


def synthetic_study(folder: Path, number: int) -> Study:
    """Write a study whose pages are shared between systems, all judged."""
    rng = np.random.default_rng(1)
    (folder / "study.toml").write_text(TOML, encoding="utf-8")
    study = Study(folder)
    queries = [f"q{i:04d}" for i in range(number)]
    study.save(
        "queries",
        [
            {"query_id": q, "text": f"Question {q}?", "category": CATEGORIES[i % 5]}
            for i, q in enumerate(queries)
        ],
    )
    asked = [(f"s{s}", q, r) for s in range(SYSTEMS) for q in queries for r in range(1, RUNS + 1)]
    study.save(
        "answers",
        [
            {"system": s, "query_id": q, "run": r, "outcome": "ok", "text": "Words. " * 200}
            for s, q, r in asked
        ],
    )
    cited = [
        {"system": s, "query_id": q, "run": r, "rank": rank + 1, "url": url(q, page)}
        for s, q, r in asked
        for rank, page in enumerate(rng.choice(20, size=rng.integers(0, CITED + 1), replace=False))
    ]
    study.save("citations", cited)
    save_pages(study)
    save_judgments(study, rng)
    return study


def url(query: str, page: int) -> str:
    """Return an address; half of the pages are cited for more than one query."""
    return f"https://www.site{page}.example/{query if page % 2 else query[:-1]}/article-{page}?id=7"


def save_pages(study: Study) -> None:
    """Write a fetch, a page and a packet for every cited page."""
    from sourcebench.urls import page_id

    urls = study.load("citations")["url"].drop_duplicates()
    ids = {page_id(u): u for u in urls}
    study.save("fetches", [{"page_id": p, "url": u, "outcome": "ok"} for p, u in ids.items()])
    study.save("pages", [{"page_id": p, "url": u, "outcome": "ok"} for p, u in ids.items()])
    text = "The river fell by eleven centimetres in May. " * 150
    packets = [{"page_id": p, "url": u, "outcome": "ok", "text": text} for p, u in ids.items()]
    study.save("packets", packets)


def save_judgments(study: Study, rng: np.random.Generator) -> None:
    """Write one verdict a metric of every selected source."""
    pairs = pairs_to_judge(study)
    pages = pairs[["page_id"]].drop_duplicates()
    parts = [(pairs if c in QUERY_LEVEL else pages).assign(metric=c) for c in CODES]
    verdicts = pd.concat(parts, ignore_index=True).assign(
        judge="rules", prompt_hash="h", outcome="scored", reason="synthetic, as all of this study"
    )
    verdicts["score"] = rng.integers(1, 6, len(verdicts))
    study.save("judgments", verdicts)


if __name__ == "__main__":
    main(int(sys.argv[1]) if len(sys.argv) > 1 else 1)
