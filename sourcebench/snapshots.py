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
from typing import Any, BinaryIO, NamedTuple
from urllib.parse import urlsplit

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 16
_NAMESPACE = uuid.UUID("6f1d7c1e-5f0e-5b53-9f2b-2f6d0c7f4a11")


@dataclass(frozen=True)
class Snapshot:
    """One answer of a server: what came, from where and when.

    `headers` are (name, value) pairs in the order received; `body` is as received, after the
    transfer encoding (chunks) and before the content encoding (gzip). `request` holds the
    request's header pairs; `truncated` is the WARC word for a body that ends early (length, time,
    unspecified), else empty; `source` is where a stand-in comes from: the capture of an archive,
    or a file.
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
    source: str = ""

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
    named = {
        "WARC-IP-Address": snapshot.ip,
        "WARC-Truncated": snapshot.truncated,
        "WARC-Source-URI": snapshot.source,
    }
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

BODY_LIMIT = 100_000_000  # bytes of one body that are read from a WARC; more is cut


def read_snapshots(path: Path) -> Iterator[Snapshot]:
    """Read the HTTP answers of a WARC in file order; a half-written last record is left out.

    Reads any WARC, compressed or not. Of two snapshots of one address the later one counts.

    Raises
    ------
    ValueError
        If the file is no WARC, or damaged before its end.
    """
    with path.open("rb") as file:
        for record in _whole_records(file, path):
            if snapshot := _snapshot(record.record):
                yield snapshot


def index_snapshots(path: Path) -> dict[str, int]:
    """Return for each address where its last snapshot starts in the file, for `read_snapshot`."""
    with path.open("rb") as file:
        return {
            record.url: record.offset
            for record in _whole_records(file, path)
            if record.kind == "response"
        }


def read_snapshot(path: Path, offset: int) -> Snapshot:
    """Read the one snapshot that starts at `offset`.

    Raises
    ------
    ValueError
        If no snapshot starts there.
    """
    with path.open("rb") as file:
        file.seek(offset)
        record = next(_records_from(file, path), None)
        if record is None or (snapshot := _snapshot(record.record)) is None:
            raise ValueError(f"{path}: no snapshot starts at byte {offset}")
        return snapshot


def latest_snapshots(path: Path) -> Iterator[Snapshot]:
    """Read the last snapshot of each address, in file order."""
    for offset in sorted(index_snapshots(path).values()):
        yield read_snapshot(path, offset)


def sort_snapshots(path: Path) -> None:
    """Put the records of a compressed WARC in the order of their addresses, without doubles.

    Requests that run side by side end in any order; sorted, the same answers make the same file.
    The records of one address keep their order, and each byte stays as it is.
    """
    with path.open("rb") as file:
        places = [(r.kind != "warcinfo", r.url, r.offset) for r in _whole_records(file, path)]
        ends = [offset for _, _, offset in places[1:]] + [_sound_length(file)]
        pieces = [(*place, end) for place, end in zip(places, ends, strict=True)]
        ordered = sorted(pieces)
        seen: set[bytes] = set()
        partial = path.with_name(path.name + ".partial")
        with partial.open("wb") as out:
            for _, _, start, end in ordered:
                file.seek(start)
                piece = file.read(end - start)
                digest = hashlib.sha256(piece).digest()
                if digest not in seen:
                    out.write(piece)
                    seen.add(digest)
            out.flush()
            os.fsync(out.fileno())
    partial.replace(path)


class _Placed(NamedTuple):
    """A WARC record as warcio reads it, where it starts, and what it is of."""

    offset: int
    kind: str
    url: str
    record: Any


def _whole_records(file: BinaryIO, path: Path) -> Iterator[_Placed]:
    """Yield the records of a file that are whole."""
    end = _sound_length(file)
    file.seek(0)
    return _records_from(_UpTo(file, end), path)


def _records_from(file: BinaryIO, path: Path) -> Iterator[_Placed]:
    """Yield records from where a file stands."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        records = ArchiveIterator(file, no_record_parse=True)
        for record in records:
            url = record.rec_headers.get_header("WARC-Target-URI") or ""
            yield _Placed(records.offset, record.rec_type, url, record)
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


def _snapshot(record: Any) -> Snapshot | None:
    """Return the snapshot in a WARC record, or None if it holds no HTTP answer."""
    if record.rec_type != "response":
        return None
    block = record.raw_stream.read(BODY_LIMIT)
    whole = not record.raw_stream.read(1)
    head, _, body = block.partition(b"\r\n\r\n")
    first, *lines = head.decode("latin-1").split("\r\n")
    version, _, status = first.partition(" ")
    code, _, reason = status.partition(" ")
    if not version.startswith("HTTP/") or not code.isdecimal():
        return None
    named = record.rec_headers.get_header
    pairs = (line.partition(":") for line in lines)
    return Snapshot(
        url=named("WARC-Target-URI"),
        status=int(code),
        headers=tuple((name, value.strip()) for name, _, value in pairs),
        body=body,
        fetched_at=named("WARC-Date"),
        reason=reason,
        ip=named("WARC-IP-Address") or "",
        truncated=named("WARC-Truncated") or ("" if whole else "length"),
        source=named("WARC-Source-URI") or "",
    )


def _sound_length(file: BinaryIO) -> int:
    """Return where the last whole gzip member ends; a file that is not gzip ends where it ends."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if not _GZIP.startswith(file.read(2)):
        return size
    file.seek(0)
    sound, member = 0, zlib.decompressobj(zlib.MAX_WBITS | 16)
    while data := member.unused_data or member.unconsumed_tail or file.read(_BLOCK):
        if member.eof:
            member = zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            member.decompress(data, _BLOCK)
        except zlib.error:
            break
        if member.eof:
            sound = file.tell() - len(member.unused_data)
    return sound


# --- decoding ------------------------------------------------------------------------------------


class TooLarge(ValueError):
    """A body is, or becomes when decompressed, larger than allowed."""


class Undecodable(ValueError):
    """A body is not encoded as its headers say."""


def decoded_body(snapshot: Snapshot, limit: int = BODY_LIMIT) -> bytes:
    """Return the body with its content encodings (gzip, deflate, br) undone.

    Raises
    ------
    TooLarge
        If more than `limit` bytes would come out; no more than that is ever held.
    Undecodable
        If the body is not encoded as its headers say.
    """
    return b"".join(Decoder(snapshot.header("Content-Encoding"), limit).feed(snapshot.body))


class Decoder:
    """Undoes the content encodings of a body, piece by piece, up to `limit` bytes.

    Parameters
    ----------
    encoding
        Value of the header Content-Encoding.
    limit
        Most bytes that may come out.

    Raises
    ------
    Undecodable
        If an encoding is none of gzip, deflate and br, or more than two are stacked.
    """

    def __init__(self, encoding: str, limit: int):
        names = [name.strip() for name in encoding.lower().split(",")]
        names = [name for name in names if name not in ("", "identity", "none", "utf-8")]
        unknown = [name for name in names if name not in _DECODERS]
        if unknown or len(names) > 2:
            raise Undecodable(f"content encoding {encoding[:40]!r} is not one we can undo")
        self.limit, self.size = limit, 0
        self._decoders = [_DECODERS[name]() for name in reversed(names)]

    @property
    def ended(self) -> bool:
        """Whether what was fed is a whole body; one without an encoding always is."""
        return all(decoder.ended for decoder in self._decoders)

    def feed(self, data: bytes) -> Iterator[bytes]:
        """Yield what the next piece of the body decodes to, in pieces of bounded size.

        Raises
        ------
        TooLarge
            If more than `limit` bytes came out.
        Undecodable
            If the body is not encoded as its headers say.
        """
        for piece in self._undone(data, self._decoders):
            self.size += len(piece)
            if self.size > self.limit:
                raise TooLarge(f"more than {self.limit} bytes when decompressed")
            yield piece

    def _undone(self, data: bytes, decoders: list[_Inflate | _Brotli]) -> Iterator[bytes]:
        """Pass data through decoders, one after the other."""
        if not decoders:
            yield data
            return
        for piece in decoders[0].feed(data):
            yield from self._undone(piece, decoders[1:])


class _Inflate:
    """Undoes gzip or deflate; members may follow each other, what follows them is ignored."""

    def __init__(self, name: str):
        self._name, self._inner = name, None
        self._after = False  # behind the first member

    @property
    def ended(self) -> bool:
        return self._after and self._inner is None

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data:
            if self._inner is None:
                self._inner = zlib.decompressobj(self._window(data))
            try:
                piece = self._inner.decompress(data, _BLOCK)
            except zlib.error as error:
                if self._after:
                    self._inner = None
                    return
                raise Undecodable(f"the body is not {self._name} as announced ({error})") from None
            yield piece
            data = self._inner.unconsumed_tail or self._inner.unused_data
            if self._inner.eof:
                self._inner, self._after = None, True

    def _window(self, data: bytes) -> int:
        """Return zlib's code for the format; deflate comes with and without zlib's header."""
        if self._name == "gzip":
            return zlib.MAX_WBITS | 16
        return zlib.MAX_WBITS if data[0] & 0x0F == 8 else -zlib.MAX_WBITS


class _Brotli:
    """Undoes br; what follows its end is ignored."""

    def __init__(self):
        import brotli

        self._inner, self._error = brotli.Decompressor(), brotli.error

    @property
    def ended(self) -> bool:
        return self._inner.is_finished()

    def feed(self, data: bytes) -> Iterator[bytes]:
        if self.ended:
            return
        try:
            while piece := self._inner.process(data, output_buffer_limit=_BLOCK):
                yield piece
                data = b""
        except self._error as error:
            raise Undecodable(f"the body is not br as announced ({error})") from None


_DECODERS: dict[str, Callable[[], _Inflate | _Brotli]] = {
    "gzip": lambda: _Inflate("gzip"),
    "x-gzip": lambda: _Inflate("gzip"),
    "deflate": lambda: _Inflate("deflate"),
    "br": _Brotli,
}
