"""The table of fetches and the snapshots beside it, written together and safe from a kill."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator
from contextlib import contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, NamedTuple

from sourcebench.schema import TABLES
from sourcebench.snapshots import Snapshot, open_snapshots, sort_snapshots
from sourcebench.study import WARC, Study, StudyError, write_atomic
from sourcebench.urls import page_id

Row = dict[str, Any]
Commit = Callable[[Iterable[tuple[Row, Iterable[Snapshot]]]], None]

_FETCHES = TABLES["fetches"]
# Outcomes that only say that a page was not looked at: the next run with a network looks.
UNTRIED = ("not_tried", "not_available_offline")


def now_utc() -> datetime:
    """Return the present, UTC."""
    return datetime.now(UTC)


def iso_time(time: datetime) -> str:
    """Return a time as tables hold it: ISO 8601, UTC, whole seconds."""
    return time.astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")


def cited_pages(study: Study) -> dict[str, str]:
    """Return each cited page's identity with the address to ask for: the first one cited."""
    pages: dict[str, str] = {}
    for url in study.load("citations")["url"]:
        pages.setdefault(page_id(url), url)
    return pages


def collection_day(study: Study) -> str:
    """Return when the answers were collected, YYYYMMDD: the first request, else the study's date."""
    if study.has("answers"):
        asked = study.load("answers")["asked_at"].dropna()
        if len(asked):
            return asked.min()[:10].replace("-", "")
    return study.settings.as_of.strftime("%Y%m%d")


class Opened(NamedTuple):
    """The rows of `fetches` that stand, by page, and the function that adds more."""

    known: dict[str, Row]
    commit: Commit


@contextmanager
def open_fetches(study: Study, *, drop: Collection[str] = ()) -> Iterator[Opened]:
    """Open `fetches` and the snapshots for appending, one process at a time.

    What a kill left half-written is cut off first; rows whose outcome is in `drop` are taken out.
    Snapshots reach the disk before the rows that speak of them. At the end, both are put in order.

    Raises
    ------
    StudyError
        If the study is released, or another process holds it open.
    """
    from filelock import FileLock, Timeout

    if study.released:
        study.append("fetches", [])  # says that the study is released, and what to do
    lock = FileLock(study.folder / ".fetch.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StudyError(
            f"{study.folder}: another process fetches for this study; wait until it is done"
        ) from None
    try:
        known = _known_rows(study, drop)
        with _journal(study) as (commit, written):
            yield Opened(known, commit)
        if written:
            _put_in_order(study)
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


def _known_rows(study: Study, drop: Collection[str]) -> dict[str, Row]:
    """Return the rows that stand, after taking out those to be fetched again."""
    path = study.folder / _FETCHES.file
    if study.path("fetches") != path:
        raise StudyError(
            f"{study.path('fetches')}: rows can't be added to a Parquet table; save it as {path.name}"
        )
    _drop_cut_line(path)
    frame = study.load("fetches")
    again = frame["outcome"].isin(set(drop))
    if again.any():
        frame = frame[~again]
        study.save("fetches", frame)
    rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return {row["page_id"]: row for row in rows}


def _drop_cut_line(path: Path) -> None:
    """Take a half-written last line off a table that a kill left behind."""
    if path.exists() and not (data := path.read_bytes()).endswith(b"\n"):
        write_atomic(path, data[: data.rfind(b"\n") + 1])


@contextmanager
def _journal(study: Study) -> Iterator[tuple[Commit, list[int]]]:
    """Open both files; yield the function that adds to them, and a list of how much it added."""
    path = study.folder / _FETCHES.file
    if not path.exists() or not path.stat().st_size:
        write_atomic(path, ",".join(_FETCHES.names) + "\n")
    written: list[int] = []
    with (
        open_snapshots(study.folder / WARC) as write,
        path.open("a", encoding="utf-8", errors="backslashreplace", newline="") as table,
    ):

        def commit(pages: Iterable[tuple[Row, Iterable[Snapshot]]]) -> None:
            rows, snapshots = [], []
            for row, kept in pages:
                rows.append(_one_line(row))
                snapshots += kept
            if not rows:
                return
            write(snapshots)
            lines = io.StringIO()
            csv.DictWriter(lines, _FETCHES.names, lineterminator="\n").writerows(rows)
            table.write(lines.getvalue())
            table.flush()
            os.fsync(table.fileno())
            written.append(len(rows))

        yield commit, written


def _one_line(row: Row) -> Row:
    """Return a row whose texts hold no line ends, so that a cut line can be told."""
    return {k: " ".join(v.split()) if isinstance(v, str) else v for k, v in row.items()}


def _put_in_order(study: Study) -> None:
    """Order rows by identity and snapshots by address, and check the whole table once."""
    frame = study.load("fetches")
    study.save("fetches", frame.sort_values("page_id", kind="stable", ignore_index=True))
    sort_snapshots(study.folder / WARC)
