"""The journal: every reply that was paid for, on disk before the next request is sent."""

from __future__ import annotations

import json
import os
import threading
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from sourcebench.study import StudyError

FILE = "journal.jsonl"
# A line with one of these says that a call was begun or failed: it has to be made again.
OPEN = ("started", "error", "timeout", "not_asked")


@dataclass
class Journal:
    """An append-only file of replies, one JSON object a line, found again by their key.

    The first finished line of a key counts; later ones are kept in the file and reported as
    conflicts, unless they carry `again`, which says that they were asked for to replace it. A
    line cut off by a kill is passed over, and the next one starts on a fresh line. Only places of
    lines are held in memory. Use it as a context manager to write: one process at a time may.

    Parameters
    ----------
    path
        The file; it need not exist.

    Attributes
    ----------
    cut_lines, conflicts
        Lines that could not be read, and keys with more than one line that counts.
    models
        For each judge and model asked for: the models and fingerprints that answered, first come
        first, with the number of replies.
    """

    path: Path
    cut_lines: int = field(default=0, init=False)
    conflicts: list[str] = field(default_factory=list, init=False)
    models: dict[tuple[str, str], Counter[tuple[str, str]]] = field(
        default_factory=dict, init=False, repr=False
    )
    _places: dict[str, tuple[int, int]] = field(default_factory=dict, init=False, repr=False)
    _stack: ExitStack = field(default_factory=ExitStack, init=False, repr=False)
    _writing: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _syncing: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)
    _file: Any = field(default=None, init=False, repr=False)
    _written: int = field(default=0, init=False, repr=False)
    _synced: int = field(default=0, init=False, repr=False)

    def __post_init__(self) -> None:
        self._index()

    def __enter__(self) -> Journal:
        from filelock import FileLock, Timeout

        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        try:
            self._stack.enter_context(lock.acquire(timeout=0))
        except Timeout:
            raise StudyError(
                f"{self.path}: another process is judging this study; wait for it to end"
            ) from None
        self._index()
        self._file = self._stack.enter_context(self.path.open("ab+"))
        self._start_fresh_line()
        return self

    def __exit__(self, *failure: object) -> None:
        self._file = None
        self._stack.close()

    def __contains__(self, key: str) -> bool:
        return key in self._places

    def __len__(self) -> int:
        return len(self._places)

    def keys(self) -> set[str]:
        """Return the keys whose reply is there."""
        return set(self._places)

    def get(self, key: str) -> dict[str, Any] | None:
        """Return the line that counts for a key, or None."""
        with self._writing:
            place = self._places.get(key)
        if place is None:
            return None
        with self.path.open("rb") as file:
            file.seek(place[0])
            return json.loads(file.read(place[1]))

    def append(self, line: Mapping[str, Any]) -> None:
        """Add a line with a `key` and a `status`; it is on disk when this returns."""
        data = json.dumps(line, ensure_ascii=True, separators=(",", ":")).encode() + b"\n"
        with self._writing:
            if self._file is None:
                raise RuntimeError("the journal is not open for writing; use it in a with block")
            start = self._written
            self._file.write(data)
            self._file.flush()
            self._written += len(data)
            self._note(line, start, len(data))
        self._sync(start + len(data))

    def lines(self) -> Iterator[dict[str, Any]]:
        """Yield every whole line, also those that do not count."""
        for _, _, line in self._whole_lines():
            yield line

    def _sync(self, end: int) -> None:
        """Return when the file is on disk up to `end`; threads that wait share one flush."""
        with self._syncing:
            if self._synced < end:
                reached = self._written
                os.fsync(self._file.fileno())
                self._synced = reached

    def _index(self) -> None:
        """Find the places of the lines that count."""
        self._places.clear()
        self.conflicts.clear()
        self.models.clear()
        self.cut_lines = 0
        for start, length, line in self._whole_lines():
            self._note(line, start, length)

    def _note(self, line: Mapping[str, Any], start: int, length: int) -> None:
        """Take a line into account."""
        key = line.get("key")
        if not key or line.get("status") in OPEN:
            return
        if line.get("response_model"):
            judge = family(str(line.get("judge") or ""))
            seen = self.models.setdefault((judge, str(line.get("model"))), Counter())
            seen[line["response_model"], str(line.get("fingerprint") or "")] += 1
        if key in self._places and not line.get("again"):
            self.conflicts.append(key)
            return
        self._places[key] = (start, length)

    def _whole_lines(self) -> Iterator[tuple[int, int, dict[str, Any]]]:
        """Yield place, length and content of each line that can be read; count the others."""
        if not self.path.exists():
            return
        place = 0
        with self.path.open("rb") as file:
            for data in file:
                line = _read(data)
                if line is not None:
                    yield place, len(data), line
                elif data.strip():
                    self.cut_lines += 1
                place += len(data)

    def _start_fresh_line(self) -> None:
        """End a line that a kill cut off, so that the next one is not glued to it."""
        self._file.seek(0, os.SEEK_END)
        self._written = self._synced = self._file.tell()
        if not self._written:
            return
        self._file.seek(-1, os.SEEK_END)
        if self._file.read(1) != b"\n":
            self._file.write(b"\n")
            self._file.flush()
            self._written += 1


def family(judge: str) -> str:
    """Return the judge of which `judge` is a repetition: qwen for qwen/2, but not for qwen/july."""
    base, _, suffix = judge.partition("/")
    return base if suffix.isdigit() else judge


def _read(data: bytes) -> dict[str, Any] | None:
    """Return a line's object, or None if it is no whole object."""
    try:
        line = json.loads(data)
    except ValueError:
        return None
    return line if isinstance(line, dict) else None
