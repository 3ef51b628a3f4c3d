"""The table of fetches and the snapshots beside it, written together and safe from a kill."""

from __future__ import annotations

import csv
import io
import os
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

from sourcebench.schema import TABLES
from sourcebench.snapshots import (
    Snapshot,
    index_snapshots,
    open_snapshots,
    read_snapshot,
    sort_snapshots,
)
from sourcebench.study import WARC, Study, StudyError, drop_cut_line, write_atomic
from sourcebench.urls import page_id

Row = dict[str, Any]

_FETCHES = TABLES["fetches"]


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


def fetched_pages(study: Study) -> Iterator[tuple[Row, Snapshot]]:
    """Yield the row of each page that came, and what its server sent.

    Pages come in the order of the snapshots in their file; two pages that redirect to one address
    share its snapshot.

    Raises
    ------
    StudyError
        If a page has no snapshot.
    """
    frame = study.load("fetches")
    came = frame[frame["outcome"] == "ok"]
    rows = came.astype(object).where(came.notna(), None).to_dict("records")
    path = study.folder / WARC
    places = index_snapshots(path) if rows and path.exists() else {}
    if missing := [row["page_id"] for row in rows if row["final_url"] not in places]:
        raise StudyError(
            f"{path}: no snapshot of page {missing[0]} and {len(missing) - 1} others; "
            "the file does not belong to fetches.csv"
        )
    for row in sorted(rows, key=lambda row: (places[row["final_url"]], row["page_id"])):
        yield row, read_snapshot(path, places[row["final_url"]])


@contextmanager
def open_fetches(
    study: Study, each: Callable[[Row, bytes], None] | None = None
) -> Iterator[FetchLog]:
    """Open the fetches of a study for reading and adding, one process at a time.

    What a kill left half-written is cut off first. If anything was added, rows and snapshots are
    put in order at the end, so that the same pages make the same files. `each` gets the row and the
    encoded snapshot of every page that came, once both are on disk.

    Raises
    ------
    StudyError
        If the table can't be read, or another process holds it open.
    """
    from filelock import FileLock, Timeout

    if study.released:  # nothing can be added, and the folder may be read-only
        yield FetchLog(study, ExitStack())
        return
    lock = FileLock(study.folder / ".fetch.lock")
    try:
        lock.acquire(timeout=0)
    except Timeout:
        raise StudyError(
            f"{study.folder}: another process fetches for this study; wait until it is done"
        ) from None
    try:
        drop_cut_line(study.folder / _FETCHES.file)
        with ExitStack() as files:
            log = FetchLog(study, files, each)
            yield log
        if log.changed:  # in order, and checked as a whole
            study.save("fetches", [row for _, row in sorted(log.rows.items())])
            sort_snapshots(study.folder / WARC)
    finally:
        Path(lock.lock_file).unlink(missing_ok=True)
        lock.release()


class FetchLog:
    """The rows of `fetches` by page, and the two ways to change them. Made by `open_fetches`."""

    def __init__(
        self, study: Study, files: ExitStack, each: Callable[[Row, bytes], None] | None = None
    ):
        frame = study.load("fetches")
        plain = frame.astype(object).where(frame.notna(), None)
        self.rows: dict[str, Row] = {row["page_id"]: row for row in plain.to_dict("records")}
        self.changed = False
        self._study, self._files, self._each, self._write = study, files, each, None

    def drop(self, keys: Collection[str]) -> None:
        """Take rows out of the table; must come before anything is added."""
        if keys:
            kept = [row for key, row in self.rows.items() if key not in keys]
            self._study.save("fetches", kept)
            self.rows = {row["page_id"]: row for row in kept}

    def add(self, pages: Iterable[tuple[Row, Sequence[bytes]]]) -> None:
        """Add rows with their encoded snapshots; all are on disk when this returns, snapshots first."""
        pages = [(_one_line(row), kept) for row, kept in pages]
        rows, snapshots = [row for row, _ in pages], [piece for _, kept in pages for piece in kept]
        if not rows:
            return
        if self._write is None:
            self._open()
        self._write(snapshots)
        self._append(rows)
        self.rows.update((row["page_id"], row) for row in rows)
        self.changed = True
        for row, kept in pages if self._each else ():
            if row["outcome"] == "ok" and kept:  # the last one is the page, the others led to it
                self._each(row, kept[-1])

    def _open(self) -> None:
        """Open both files for appending."""
        study, path = self._study, self._study.folder / _FETCHES.file
        study.must_be_open()
        if study.path("fetches") != path:
            raise StudyError(
                f"{study.path('fetches')}: rows can't be added to a Parquet table; "
                f"save it as {path.name}"
            )
        if not path.exists() or not path.stat().st_size:
            write_atomic(path, ",".join(_FETCHES.names) + "\n")
        self._write = self._files.enter_context(open_snapshots(study.folder / WARC))
        self._table = self._files.enter_context(path.open("a", encoding="utf-8", newline=""))

    def _append(self, rows: list[Row]) -> None:
        """Append rows. `Study.append` checks each time, which takes longer than fetching a page;
        the whole table is checked once, at the end."""
        lines = io.StringIO()
        csv.DictWriter(lines, _FETCHES.names, lineterminator="\n").writerows(rows)
        self._table.write(lines.getvalue())
        self._table.flush()
        os.fsync(self._table.fileno())


def _one_line(row: Row) -> Row:
    """Return a row whose texts can be written and hold no line ends, so that a cut line is known."""
    return {name: _plain(value) if isinstance(value, str) else value for name, value in row.items()}


def _plain(text: str) -> str:
    """Return text on one line, with what UTF-8 can't say written out."""
    return " ".join(text.encode("utf-8", "backslashreplace").decode("utf-8").split())
