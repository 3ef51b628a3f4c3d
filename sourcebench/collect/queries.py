"""Queries to put to the systems: the public ones of SourceBench, pulled on demand, or a file of one's own."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

from sourcebench.collect.rowfile import Fault, Row, near_columns, read_rows, refuse
from sourcebench.pinned import Pinned, pinned_file
from sourcebench.schema import CATEGORIES
from sourcebench.study import StudyError

# The public split of SourceBench (65 queries); its terms are its authors', so no copy is kept here.
PUBLIC = Pinned(
    "https://raw.githubusercontent.com/WukLab/SourceBench/af379a2/"
    "data/queries/sourcebench_public_queries_v1.csv",
    "fe218b0d627de99ea5b1a043834c4726dbff84010a31054de68abac6b50e1595",
)

# Names of the data sets in that file, with the category and the name that the paper gives them.
DATASETS = {
    "vacos": ("shopping", "VA-COS NLQ"),
    "hotpotqa": ("reasoning", "HotpotQA"),
    "pinocchios": ("factual", "Pinocchios"),
    "debateqa": ("argumentative", "DebateQA"),
    "quoraquestions": ("social", "Quora"),
}
COLUMNS = {
    "query_id": ("query_id", "id", "qid"),
    "text": ("text", "query", "question", "query_text", "prompt"),
    "category": ("category", "query_type", "intent", "type"),
    "dataset": ("dataset", "source"),
    "gold_answer": ("gold_answer", "expected_answer", "reference_answer"),
}


def public_queries(**options: Any) -> list[dict[str, Any]]:
    """Return the public queries of SourceBench as rows of the table `queries`.

    Parameters
    ----------
    options
        `local`, `cache` and `downloader`, as `sourcebench.pinned.pinned_file` takes them.

    Raises
    ------
    StudyError
        If the file can't be had, or is not the pinned one.
    """
    return read_queries(pinned_file(PUBLIC, **options))


def read_queries(path: str | Path, *, category: str | None = None) -> list[dict[str, Any]]:
    """Return the queries of a file as rows of the table `queries`.

    Parameters
    ----------
    path
        CSV, JSON lines or a JSON list; `COLUMNS` lists the columns and their other names. Without
        ids, queries are numbered. A category may be one of ours, or a data set of the paper.
    category
        Category of queries without one of `sourcebench.schema.CATEGORIES`; any word.

    Raises
    ------
    StudyError
        Names the file, the row, the column and what to do, for the first fault.
    """
    check_category(category)
    path = Path(path)
    faults: list[Fault] = []
    file = read_rows(path, COLUMNS, faults)
    if "text" not in file.names:
        faults.append(Fault(1, "text", "missing; add a column text (or query, or question)"))
    for given, ours in near_columns(file.unused, file.names, COLUMNS):
        message = f"not used, and there is no column {ours}; rename it to {ours} if it is that, else remove it"
        faults.append(Fault(1, given, message))
    refuse(path, faults)
    rows = [_query(row, number, category, faults) for number, row in enumerate(file.rows, start=1)]
    _note_repeats(file.rows, rows, faults)
    refuse(path, faults)
    if not rows:
        raise StudyError(f"{path}: no query in this file")
    return rows


def check_category(category: str | None) -> None:
    """Refuse a category that no table could show."""
    if category is not None and (not category.strip() or not category.isprintable()):
        raise StudyError(f"--category {category!r}: must be a word, such as {CATEGORIES[2]}")


def _query(row: Row, number: int, category: str | None, faults: list[Fault]) -> dict[str, Any]:
    """Return one query as a row of the table."""
    given = row.text("category")
    known, dataset = DATASETS.get(given.casefold(), (given.casefold(), None))
    if not row.text("text"):
        faults.append(Fault(row.number, "text", "empty; write the question"))
    if known not in CATEGORIES and category is None:
        found = f"found {given!r}" if given else "found nothing"
        message = f"must be one of {', '.join(CATEGORIES)}, {found}; or name one for the whole file (--category, any word)"
        faults.append(Fault(row.number, "category", message))
    return {
        "query_id": row.text("query_id") or f"q{number:03d}",
        "text": row.text("text"),
        "category": known if known in CATEGORIES else category,
        "dataset": row.text("dataset") or dataset,
        "gold_answer": row.text("gold_answer") or None,
    }


def _note_repeats(
    rows: Sequence[Row], queries: Sequence[dict[str, Any]], faults: list[Fault]
) -> None:
    """Note an id, or a text, that stands twice."""
    seen: dict[tuple[str, str], int] = {}
    for row, query in zip(rows, queries, strict=True):
        for column in ("query_id", "text"):
            key = column, " ".join(query[column].split()).casefold()
            if key in seen and query[column]:
                message = f"repeats row {seen[key]}: {query[column][:60]!r}; remove one of the two"
                faults.append(Fault(row.number, column, message))
            seen.setdefault(key, row.number)
