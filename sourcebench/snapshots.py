"""Snapshots are what servers sent, byte for byte, in one WARC file that survives a kill."""

from __future__ import annotations

import hashlib
import io
import os
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO
from urllib.parse import urlsplit

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 16
_NAMESPACE = uuid.UUID("6f1d7c1e-5f0e-5b53-9f2b-2f6d0c7f4a11")


@dataclass(frozen=True)
class Snapshot:
    """One answer of a server: what came, from where and when.

    `headers` are (name, value) pairs in the order received; `body` is as received, after the
    transfer encoding (chunks) and before the content encoding (gzip). `request` holds the
    request's header pairs; `truncated` says why the body ends early: length or time, else empty.
    """

    url: str
    status: int
    headers: tuple[tuple[str, str], ...]
    body: bytes
    fetched_at: str
    reason: str = ""
    ip: str = ""
    request: tuple[tuple[str, str], ...] = ()
    truncated: str = ""

    def header(self, name: str) -> str:
        """Return the first value of a header, or an empty text."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), "")


# --- writing -------------------------------------------------------------------------------------


@contextmanager
def open_snapshots(path: Path) -> Iterator[Callable[[Iterable[Snapshot]], None]]:
    """Open a WARC for appending, after cutting off a record that a kill left half-written.

    Yields
    ------
    callable
        Appends snapshots; they are on disk when it returns.
    """
    repair_snapshots(path)
    with path.open("ab") as file:
        if not file.tell():
            file.write(_warcinfo())

        def write(snapshots: Iterable[Snapshot]) -> None:
            file.write(b"".join(map(_records, snapshots)))
            file.flush()
            os.fsync(file.fileno())

        yield write


def append_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Append one snapshot to a WARC; `open_snapshots` is the way to append many."""
    with open_snapshots(path) as write:
        write([snapshot])


def repair_snapshots(path: Path) -> int:
    """Cut a half-written last record off a WARC, and return the number of bytes cut."""
    if not path.exists():
        return 0
    with path.open("r+b") as file:
        sound = _sound_length(file)
        cut = file.seek(0, os.SEEK_END) - sound
        if cut:
            file.truncate(sound)
            os.fsync(file.fileno())
    return cut


def _records(snapshot: Snapshot) -> bytes:
    """Return the response record of a snapshot, and its request record if there was a request."""
    from warcio.warcwriter import WARCWriter

    status = f"{snapshot.status} {snapshot.reason}".strip()
    named = {"WARC-IP-Address": snapshot.ip, "WARC-Truncated": snapshot.truncated}
    response_id = _record_id("response", snapshot)
    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="WARC/1.1")
    writer.write_record(
        _record(snapshot, "response", response_id, named, ("HTTP/1.1", status), snapshot.headers)
    )
    if snapshot.request:
        parts = urlsplit(snapshot.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        named = {"WARC-Concurrent-To": response_id}
        line = ("GET", f"{target} HTTP/1.1")
        request_id = _record_id("request", snapshot)
        writer.write_record(_record(snapshot, "request", request_id, named, line, snapshot.request))
    return out.getvalue()


def _record(snapshot: Snapshot, kind: str, record_id: str, named, line, headers):
    """Return the WARC record of one HTTP message."""
    from warcio.recordbuilder import RecordBuilder

    body = snapshot.body if kind == "response" else b""
    named = {"WARC-Record-ID": record_id, "WARC-Date": snapshot.fetched_at, **named}
    return RecordBuilder(warc_version="WARC/1.1").create_warc_record(
        snapshot.url,
        kind,
        payload=io.BytesIO(body),
        length=len(body),
        warc_headers_dict={name: value for name, value in named.items() if value},
        http_headers=_message(line, headers),
    )


def _message(line: tuple[str, str], headers: Iterable[tuple[str, str]]):
    """Return the head of an HTTP message; warcio's own would rewrite bytes that are not ASCII."""
    from warcio.statusandheaders import StatusAndHeaders

    class Received(StatusAndHeaders):
        def to_ascii_bytes(self, filter_func=None):
            return self.to_bytes(filter_func, encoding="latin-1")

    return Received(line[1], list(headers), protocol=line[0])


def _record_id(kind: str, snapshot: Snapshot) -> str:
    """Return the same record number for the same content, so that files can be compared."""
    digest = hashlib.sha256(repr(snapshot).encode()).hexdigest()
    return f"<urn:uuid:{uuid.uuid5(_NAMESPACE, f'{kind} {digest}')}>"


def _warcinfo() -> bytes:
    """Return the first record of a file: what wrote it."""
    from warcio.warcwriter import WARCWriter

    out = io.BytesIO()
    writer = WARCWriter(out, gzip=True, warc_version="WARC/1.1")
    record = writer.create_warcinfo_record(
        "", {"software": "sourcebench", "format": "WARC File Format 1.1"}
    )
    record.rec_headers.replace_header("WARC-Record-ID", f"<urn:uuid:{_NAMESPACE}>")
    record.rec_headers.replace_header("WARC-Date", "1970-01-01T00:00:00Z")
    writer.write_record(record)
    return out.getvalue()


# --- reading -------------------------------------------------------------------------------------


def read_snapshots(path: Path) -> Iterator[Snapshot]:
    """Read the HTTP answers of a WARC in file order; a half-written last record is left out.

    Reads any WARC, compressed or not. The later of two snapshots of one address is the newer.

    Raises
    ------
    ValueError
        If the file is no WARC, or damaged before its end.
    """
    for _, snapshot in _numbered(path):
        yield snapshot


def index_snapshots(path: Path) -> dict[str, int]:
    """Return for each address where its last snapshot starts in the file, for `read_snapshot`."""
    return {snapshot.url: offset for offset, snapshot in _numbered(path)}


def read_snapshot(path: Path, offset: int) -> Snapshot:
    """Read the one snapshot that starts at `offset`."""
    return next(_numbered(path, offset))[1]


def _numbered(path: Path, offset: int = 0) -> Iterator[tuple[int, Snapshot]]:
    """Yield each response with its place in the file."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    with path.open("rb") as file:
        end = _sound_length(file, offset)
        file.seek(offset)
        records = ArchiveIterator(_UpTo(file, end), no_record_parse=True)
        try:
            for record in records:
                kind, block = record.rec_type, b""
                if kind == "response":
                    block = record.raw_stream.read()
                place = records.get_record_offset()
                if kind == "response" and (snapshot := _snapshot(record, block)):
                    yield place, snapshot
        except ArchiveLoadFailed as error:
            raise ValueError(f"{path}: not readable as WARC: {error}") from None


class _UpTo(io.RawIOBase):
    """A file that ends earlier."""

    def __init__(self, file: BinaryIO, end: int):
        self._file, self._end = file, end

    def tell(self) -> int:
        return self._file.tell()

    def read(self, size: int = -1) -> bytes:
        left = self._end - self._file.tell()
        return self._file.read(left if size < 0 else min(size, left))


def _snapshot(record, block: bytes) -> Snapshot | None:
    """Return the snapshot in a response record, or None if it holds no HTTP."""
    head, _, body = block.partition(b"\r\n\r\n")
    lines = head.decode("latin-1").split("\r\n")
    version, _, status = lines[0].partition(" ")
    code, _, reason = status.partition(" ")
    if not version.startswith("HTTP/") or not code.isdecimal():
        return None
    pairs = (line.partition(":") for line in lines[1:])
    named = record.rec_headers.get_header
    return Snapshot(
        url=named("WARC-Target-URI"),
        status=int(code),
        headers=tuple((name, value.strip()) for name, _, value in pairs),
        body=body,
        fetched_at=named("WARC-Date"),
        reason=reason,
        ip=named("WARC-IP-Address") or "",
        truncated=named("WARC-Truncated") or "",
    )


def _sound_length(file: BinaryIO, offset: int = 0) -> int:
    """Return where the last whole gzip member ends; a file that is not gzip ends where it ends."""
    size = file.seek(0, os.SEEK_END)
    file.seek(offset)
    if file.read(2) not in (_GZIP, _GZIP[:1], b""):
        return size
    file.seek(offset)
    sound, member = offset, zlib.decompressobj(zlib.MAX_WBITS | 16)
    data = file.read(_BLOCK)
    while data:
        try:
            member.decompress(data)
        except zlib.error:
            break
        if member.eof:
            left = len(member.unused_data)
            sound = file.tell() - left
            data = member.unused_data
            member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        else:
            data = b""
        data = data or file.read(_BLOCK)
    return sound


# --- decoding ------------------------------------------------------------------------------------


class TooLarge(ValueError):
    """A body is, or becomes when decompressed, larger than allowed."""


def decoded_body(snapshot: Snapshot, limit: int = 50_000_000) -> bytes:
    """Return the body with its content encoding (gzip, deflate, br) undone.

    Raises
    ------
    TooLarge
        If more than `limit` bytes would come out; no more than that is ever held.
    ValueError
        If the body is not encoded as its headers say.
    """
    decoder = Decoder(snapshot.header("Content-Encoding"), limit)
    return decoder.feed(snapshot.body) + decoder.finish()


class Decoder:
    """Undoes content encodings piece by piece, and stops at `limit` bytes."""

    def __init__(self, encoding: str, limit: int):
        self.limit, self.size = limit, 0
        names = [
            n for n in encoding.lower().replace(" ", "").split(",") if n not in ("", "identity")
        ]
        if len(names) > 1 or (names and names[0] not in ("gzip", "x-gzip", "deflate", "br")):
            raise ValueError(f"content encoding {encoding!r} is not one of gzip, deflate, br")
        self.name = names[0] if names else ""
        self._inner = self._start()

    def _start(self):
        """Return a fresh decompressor."""
        if self.name == "br":
            import brotli

            return brotli.Decompressor()
        if self.name == "deflate":
            return None
        return zlib.decompressobj(zlib.MAX_WBITS | 16) if self.name else None

    def feed(self, data: bytes) -> bytes:
        """Return what the next piece of the body decodes to."""
        if not self.name:
            return self._counted(data)
        if self.name == "br":
            return self._counted(self._inner.process(data, output_buffer_limit=self.limit + 1))
        if self._inner is None and data:  # deflate: with or without the zlib header
            wrapped = data[0] & 0x0F == 8
            self._inner = zlib.decompressobj(zlib.MAX_WBITS if wrapped else -zlib.MAX_WBITS)
        try:
            return self._counted(self._inner.decompress(data, self.limit - self.size + 1))
        except zlib.error as error:
            raise ValueError(f"the body is not {self.name}: {error}") from None

    def finish(self) -> bytes:
        """Return what is left at the end of the body."""
        return b""

    def _counted(self, data: bytes) -> bytes:
        """Count what came out, and refuse more than the limit."""
        self.size += len(data)
        if self.size > self.limit:
            raise TooLarge(f"more than {self.limit} bytes when decompressed")
        return data
