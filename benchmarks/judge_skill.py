"""How well the offline judge agrees with readers' labels, metric by metric, and how firmly.

Run from the checkout: ``python benchmarks/judge_skill.py FOLDER``. The folder is a study with labels
and packets, or a folder of saved pages: queries.csv, labels.csv (annotator, query_id, url, metric,
score), pages.csv (url, file, content_type) and html/<file>.html.gz. Skill is 1 - MAE / (MAE of the
best constant score); 0 is what always saying the commonest score earns. Labels are named by their
annotator: a reader need not be a person.

Two checks of how much hangs on single pages or values: the skill on random halves of the queries, and
the skill when every threshold is moved by up to a quarter at random. They say nothing of pages that
nobody had in view when the rules were written.
"""

from __future__ import annotations

import argparse
import gzip
from collections.abc import Iterator
from datetime import date
from pathlib import Path

import numpy as np
import pandas as pd

from sourcebench.extract import extract_page
from sourcebench.judge.rules import RulesJudge, thresholds
from sourcebench.records import Packet, Query
from sourcebench.rubric import BY_CODE, GROUPS
from sourcebench.statistics.agreement import agreement_table, best_constant_error, match_labels
from sourcebench.study import Study

COLUMNS = ["items", "mae", "bias", "exact", "within_one", "qwk", "best_constant", "skill"]
FIXED = ("kind_", "cap_")  # rows of the threshold table that are levels, not thresholds
HALVES, MOVES = 500, 20


def saved_pages(
    folder: Path, as_of: date
) -> tuple[dict[str, Packet], dict[str, Query], pd.DataFrame]:
    """Return packets by address, queries and labels of a folder of saved pages."""
    pages = pd.read_csv(folder / "pages.csv")
    packets = {
        page.url: extract_page(
            page.file,
            page.url,
            gzip.decompress((folder / "html" / f"{page.file}.html.gz").read_bytes()),
            headers={"content-type": page.content_type},
            fetched_at=str(as_of),
        )
        for page in pages.itertuples()
    }
    queries = pd.read_csv(folder / "queries.csv")
    asked = {q.query_id: Query(q.query_id, q.text) for q in queries.itertuples()}
    return packets, asked, pd.read_csv(folder / "labels.csv").rename(columns={"url": "page_id"})


def study_pages(folder: Path) -> tuple[dict[str, Packet], dict[str, Query], pd.DataFrame]:
    """Return packets by page, queries and labels of a study."""
    study = Study(folder)
    records = study.load("packets")["record"]
    packets = {record["page_id"]: Packet.from_dict(record) for record in records}
    asked = {q.query_id: Query(q.query_id, q.text) for q in study.load("queries").itertuples()}
    return packets, asked, study.load("labels")


def verdicts(judge: RulesJudge, packets, queries, labels: pd.DataFrame) -> pd.DataFrame:
    """Return one row for each labelled (query, page, metric): the judge's score and reason.

    Page-level metrics are judged once a page and given to each query that has labels for it.
    """
    rows = []
    asked = labels[["query_id", "page_id"]].drop_duplicates().fillna("")
    for query_id, page_id in asked.itertuples(index=False):
        for group in GROUPS:
            query = queries.get(query_id)
            if group == "content" and query is None:
                continue
            for verdict in judge.judge(group, query, packets[page_id]):
                rows.append((query_id, page_id, verdict.metric, verdict.score, verdict.reason))
    frame = pd.DataFrame(rows, columns=["query_id", "page_id", "metric", "score", "reason"])
    return frame.astype({"score": "float64"})


def skill(pairs: pd.DataFrame) -> pd.Series:
    """Return the skill on each metric."""
    both = pairs.dropna(subset=["human", "judge"])
    error = (both["judge"] - both["human"]).abs().groupby(both["metric"]).mean()
    best = both.groupby("metric")["human"].agg(best_constant_error)
    return (1 - error / best.where(best > 0)).reindex([c for c in BY_CODE if c in best.index])


def on_halves(pairs: pd.DataFrame, rng: np.random.Generator) -> pd.DataFrame:
    """Return the skill on random halves of the queries, one row a draw."""
    queries = pairs["query_id"].unique()
    draws = (rng.permutation(queries)[: len(queries) // 2] for _ in range(HALVES))
    return pd.DataFrame([skill(pairs[pairs["query_id"].isin(half)]) for half in draws])


def moved_tables(rng: np.random.Generator) -> Iterator[dict[str, dict[str, float]]]:
    """Yield threshold tables with every threshold moved by up to a quarter."""
    for _ in range(MOVES):
        yield {
            metric: {
                name: value if name.startswith(FIXED) else value * rng.uniform(0.75, 1.25)
                for name, value in row.items()
            }
            for metric, row in thresholds().items()
        }


def main() -> None:
    """Print the tables."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("folder", type=Path)
    parser.add_argument("--as-of", type=date.fromisoformat, help="needed for saved pages")
    parser.add_argument("--annotator", help="the labels to compare with; default: the first")
    parser.add_argument(
        "--embedder", choices=["minilm"], help="judge relevance with embeddings too"
    )
    parser.add_argument("--worst", type=int, default=0, help="print so many misses a metric")
    given = parser.parse_args()
    saved = (given.folder / "html").is_dir()
    if saved and given.as_of is None:
        parser.error("--as-of is needed for a folder of saved pages")
    as_of = given.as_of or Study(given.folder).settings.as_of
    packets, queries, labels = (
        saved_pages(given.folder, as_of) if saved else study_pages(given.folder)
    )
    annotator = given.annotator or labels["annotator"].iloc[0]
    labels = labels[labels["annotator"] == annotator]
    found = verdicts(RulesJudge(as_of, given.embedder), packets, queries, labels)
    pairs = match_labels(found, labels)
    print(f"{given.folder.name}: rules against the labels of {annotator}, as of {as_of}\n")
    table = agreement_table(pairs)[COLUMNS]
    print(table.round(3).to_string(), f"\n\nmean skill {table['skill'].mean():.3f}")
    rng = np.random.default_rng(0)
    moved = [
        verdicts(RulesJudge(as_of, table=t), packets, queries, labels) for t in moved_tables(rng)
    ]
    spread = {
        "half of the queries": on_halves(pairs, rng),
        "thresholds moved": pd.DataFrame([skill(match_labels(m, labels)) for m in moved]),
    }
    for name, draws in spread.items():
        print(f"\nskill, {name}: {len(draws)} draws")
        print(
            draws.assign(mean=draws.mean(axis=1)).quantile([0.05, 0.5, 0.95]).round(2).to_string()
        )
    if given.worst:
        print_misses(pairs, found, given.worst)


def print_misses(pairs: pd.DataFrame, found: pd.DataFrame, most: int) -> None:
    """Print the largest errors of each metric with what the judge saw."""
    rows = pairs.merge(found, on=["metric", "query_id", "page_id"])
    rows["error"] = rows["judge"] - rows["human"]
    for metric, misses in rows.groupby("metric"):
        misses = misses.reindex(misses["error"].abs().sort_values(ascending=False).index)
        print(f"\n{metric}")
        for row in misses.head(most).itertuples():
            print(f"  {row.human:g} judged {row.judge:g}: {row.page_id[:70]} | {row.reason[:120]}")


if __name__ == "__main__":
    main()
