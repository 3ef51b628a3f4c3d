"""Raw replies on disk: one file a system, one gzip member a reply, on disk before the next request."""

from __future__ import annotations

import gzip
import json
import os
import zlib
from collections.abc import Iterator, Mapping
from contextlib import ExitStack
from pathlib import Path
from threading import Lock
from typing import Any
from urllib.parse import quote

from sourcebench.study import StudyError

FOLDER = "raw"
_LARGEST = 200_000_000  # bytes of one record, decompressed
_STEP = 65536


def recording_file(folder: Path, system: str) -> Path:
    """Return the file with a system's raw replies."""
    return folder / FOLDER / (quote(system, safe=" +-_()") + ".jsonl.gz")


class Recordings:
    """The raw replies of a system, appended one by one; `zcat` shows them as JSON lines.

    A member that a kill cut off is dropped when the file is opened for writing. Use it as a
    context manager to write: one process at a time may.

    Parameters
    ----------
    path
        The file; it need not exist.
    """

    def __init__(self, path: Path):
        self.path = path
        self._stack, self._writing, self._file = ExitStack(), Lock(), None

    def __enter__(self) -> Recordings:
        from filelock import FileLock, Timeout

        self.path.parent.mkdir(parents=True, exist_ok=True)
        lock = FileLock(self.path.with_name(f".{self.path.name}.lock"))
        try:
            self._stack.enter_context(lock.acquire(timeout=0))
        except Timeout:
            raise StudyError(
                f"{self.path}: another process is collecting; wait for it to end"
            ) from None
        whole = max((end for end, _ in _members(self.path)), default=0)
        self._file = self._stack.enter_context(self.path.open("ab"))
        self._file.truncate(whole)
        return self

    def __exit__(self, *failure: object) -> None:
        self._file = None
        self._stack.close()

    def append(self, record: Mapping[str, Any]) -> None:
        """Add a record; it is on disk when this returns."""
        line = json.dumps(record, ensure_ascii=False, separators=(",", ":")) + "\n"
        data = gzip.compress(line.encode("utf-8", "surrogatepass"), mtime=0)
        with self._writing:
            if self._file is None:
                raise RuntimeError("not open for writing; use it in a with block")
            self._file.write(data)
            self._file.flush()
            os.fsync(self._file.fileno())

    def __iter__(self) -> Iterator[dict[str, Any]]:
        """Yield every whole record, in the order of writing."""
        return (record for _, record in _members(self.path))


def _members(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the end and the content of each whole member; one that was cut off ends it."""
    if not path.exists():
        return
    data, place = memoryview(path.read_bytes()), 0
    while place < len(data):
        try:
            text, place = _member(data, place)
            if text is None:
                return
            record = json.loads(text.decode("utf-8", "surrogatepass"))
        except (zlib.error, ValueError) as error:
            raise StudyError(
                f"{path}: damaged at byte {place} ({error}); restore it from a copy, or cut it there"
            ) from None
        yield place, record


def _member(data: memoryview, place: int) -> tuple[bytes | None, int]:
    """Return what the member at a place holds, and where it ends; None if it is cut off."""
    reader, pieces, size = zlib.decompressobj(wbits=31), [], 0
    while not reader.eof and place < len(data):
        piece = reader.decompress(data[place : place + _STEP])
        pieces.append(piece)
        size += len(piece)
        if size > _LARGEST:
            raise ValueError(f"a record of more than {_LARGEST} bytes")
        place += min(_STEP, len(data) - place)
    return (b"".join(pieces) if reader.eof else None), place - len(reader.unused_data)
