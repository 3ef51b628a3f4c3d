"""A folder of raw replies, one file an answer: the name says the query, and the run."""

from __future__ import annotations

import gzip
import re
import zlib
from pathlib import Path

from sourcebench.collect.rowfile import Fault, Row

KINDS = (".json", ".jsonl", ".ndjson", ".sse", ".txt")
_LARGEST = 50_000_000  # bytes of one reply, unpacked
_NAME = re.compile(r"(?P<query>.+?)(?:[-_.](?:run|r)?(?P<run>\d{1,3}))?")


def raw_rows(folder: Path, faults: list[Fault], known: frozenset[str] = frozenset()) -> list[Row]:
    """Return one row for each raw reply of a folder.

    `q1.json` is the answer to query q1; `q1-2.json`, `q1_run2.json` or `q1.r2.json` its second run,
    unless a query is named so. Packed files (`.gz`) are read too.

    Parameters
    ----------
    folder
        Holds the files; folders in it are left aside.
    faults
        Takes files that can't be read; they are counted in the order of their names.
    known
        Ids of queries, for names that end in a number.
    """
    rows = []
    paths = raw_files(folder)
    for number, path in enumerate(paths, start=1):
        data = _read(path)
        if data is None:
            faults.append(Fault(number, "", "too large, or damaged"))
            continue
        query_id, run = _query_and_run(path.name.removesuffix(".gz"), known)
        values = {"query_id": query_id, "run": run, "raw": data.decode("utf-8", "replace")}
        rows.append(Row(number, values))
    if not paths:
        faults.append(Fault(1, "", f"no raw replies here; files end in {', '.join(KINDS)}"))
    return rows


def raw_files(folder: Path) -> list[Path]:
    """Return the files of a folder that may be raw replies, in the order of their names."""
    return sorted(p for p in folder.iterdir() if _kind(p) in KINDS and not p.name.startswith("."))


def _kind(path: Path) -> str:
    """Return how a file's name ends, without the packing."""
    return Path(path.name.removesuffix(".gz")).suffix


def _query_and_run(name: str, known: frozenset[str]) -> tuple[str, str]:
    """Return the query and the run that a file name says."""
    stem = Path(name).stem
    if stem in known:
        return stem, "1"
    match = _NAME.fullmatch(stem)
    if match is None or (known and match["query"] not in known):
        return stem, "1"
    return match["query"], match["run"] or "1"


def _read(path: Path) -> bytes | None:
    """Return the bytes of a reply, unpacked and bounded."""
    try:
        with gzip.open(path) if path.suffix == ".gz" else path.open("rb") as file:
            data = file.read(_LARGEST + 1)
    except (OSError, EOFError, zlib.error):
        return None
    return data if len(data) <= _LARGEST else None
