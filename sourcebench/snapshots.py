"""Snapshots are what servers sent, byte for byte, in one WARC file that survives a kill."""

from __future__ import annotations

import hashlib
import io
import os
import re
import uuid
import zlib
from collections.abc import Callable, Iterable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any, BinaryIO, Literal, NamedTuple
from urllib.parse import urlsplit

from sourcebench.decoding import Decoder

_GZIP = b"\x1f\x8b"
_BLOCK = 1 << 16
_LEVEL = 3  # of compression; 9, as warcio has it, takes three times as long for 13% of size
_BEGINNING = 1 << 14  # bytes of a record that are looked at to know what it is
_NAMESPACE = uuid.UUID("6f1d7c1e-5f0e-5b53-9f2b-2f6d0c7f4a11")


@dataclass(frozen=True)
class Snapshot:
    """One answer of a server: what came, from where and when.

    `headers` are (name, value) pairs in the order received; `body` is as received, after the
    transfer encoding (chunks) and before the content encoding (gzip). `request` holds the
    request's header pairs; `truncated` is the WARC word for a body that ends early (length, time,
    unspecified), else empty; `source` is where a stand-in comes from: the capture of an archive,
    or a file. A `resource` came without HTTP: it has status 200 and a content type, both ours.
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
    kind: Literal["response", "resource"] = "response"

    def header(self, name: str) -> str:
        """Return the first value of a header, or an empty text."""
        return next((v for n, v in self.headers if n.lower() == name.lower()), "")


# --- writing -------------------------------------------------------------------------------------


@contextmanager
def open_snapshots(path: Path) -> Iterator[Callable[[Iterable[bytes]], None]]:
    """Open a WARC for appending, after cutting off a record that a kill left half-written.

    Yields
    ------
    callable
        Appends snapshots as `encode_snapshot` gives them; they are on disk when it returns.
    """
    repair_snapshots(path)
    with path.open("ab") as file:
        if not file.tell():
            file.write(_warcinfo())

        def write(encoded: Iterable[bytes]) -> None:
            file.write(b"".join(encoded))
            file.flush()
            os.fsync(file.fileno())

        yield write


def append_snapshot(path: Path, snapshot: Snapshot) -> None:
    """Append one snapshot to a WARC; `open_snapshots` is the way to append many."""
    with open_snapshots(path) as write:
        write([encode_snapshot(snapshot)])


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


def encode_snapshot(snapshot: Snapshot) -> bytes:
    """Return the WARC record of a snapshot, and that of its request if there was one.

    Each is a gzip member; nothing in them depends on when or where they are made.
    """
    out = io.BytesIO()
    named = {
        "WARC-IP-Address": snapshot.ip,
        "WARC-Truncated": snapshot.truncated,
        "WARC-Source-URI": snapshot.source,
    }
    status = f"{snapshot.status} {snapshot.reason}".strip()
    head = _message(("HTTP/1.1", status), snapshot.headers)
    record_id = _write(out, snapshot, snapshot.kind, snapshot.body, named, head)
    if snapshot.request:
        parts = urlsplit(snapshot.url)
        target = (parts.path or "/") + (f"?{parts.query}" if parts.query else "")
        head = _message(("GET", f"{target} HTTP/1.1"), snapshot.request)
        _write(out, snapshot, "request", b"", {"WARC-Concurrent-To": record_id}, head)
    return out.getvalue()


def _write(
    out: io.BytesIO, snapshot: Snapshot, kind: str, body: bytes, named: dict[str, str], head: Any
) -> str:
    """Write one WARC record, and return its identity: the same for the same content."""
    from warcio.warcwriter import WARCWriter

    content = hashlib.sha256(f"{snapshot.url} {snapshot.fetched_at} {named} {head}".encode())
    content.update(body)
    record_id = f"<urn:uuid:{uuid.uuid5(_NAMESPACE, kind + content.hexdigest())}>"
    named = {"WARC-Record-ID": record_id, "WARC-Date": snapshot.fetched_at, **named}
    plain = io.BytesIO()
    writer = WARCWriter(plain, gzip=False, warc_version="WARC/1.1")
    record = writer.create_warc_record(
        snapshot.url,
        kind,
        payload=io.BytesIO(body),
        length=len(body),
        warc_content_type=snapshot.header("Content-Type") if kind == "resource" else "",
        warc_headers_dict={name: value for name, value in named.items() if value},
        http_headers=None if kind == "resource" else head,
    )
    writer.write_record(record)
    out.write(_member(plain.getvalue()))
    return record_id


def _member(record: bytes) -> bytes:
    """Compress a record, in one piece: other threads run meanwhile."""
    member = zlib.compressobj(_LEVEL, zlib.DEFLATED, zlib.MAX_WBITS | 16)
    return member.compress(record) + member.flush()


def _message(line: tuple[str, str], headers: Iterable[tuple[str, str]]) -> Any:
    """Return the head of an HTTP message; warcio's own would rewrite bytes that are not ASCII."""
    return _received_class()(line[1], list(headers), protocol=line[0])


@cache
def _received_class() -> type:
    """Return warcio's class for heads, writing what was received."""
    from warcio.statusandheaders import StatusAndHeaders

    class Received(StatusAndHeaders):
        def to_ascii_bytes(self, filter_func=None):
            return self.to_bytes(filter_func, encoding="latin-1")

    return Received


def _warcinfo() -> bytes:
    """Return the first record of a file: what wrote it."""
    from warcio.warcwriter import WARCWriter

    out = io.BytesIO()
    writer = WARCWriter(out, gzip=False, warc_version="WARC/1.1")
    record = writer.create_warcinfo_record(
        "", {"software": "sourcebench", "format": "WARC File Format 1.1"}
    )
    record.rec_headers.replace_header("WARC-Record-ID", f"<urn:uuid:{_NAMESPACE}>")
    record.rec_headers.replace_header("WARC-Date", "1970-01-01T00:00:00Z")
    writer.write_record(record)
    return _member(out.getvalue())


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
        end = _sound_length(file)
        file.seek(0)
        yield from filter(None, map(_snapshot, _records_from(_UpTo(file, end), path)))


def index_snapshots(path: Path) -> dict[str, int]:
    """Return for each address where its last page starts in the file, for `read_snapshot`.

    Redirects are no pages: an address may redirect one visitor and show another a page.

    Raises
    ------
    ValueError
        If the file is not compressed record by record.
    """
    with path.open("rb") as file:
        return {
            member.url: member.start
            for member in _members(file, path)
            if member.kind in ("response", "resource") and not member.redirects
        }


def decode_snapshot(encoded: bytes) -> Snapshot:
    """Return the snapshot that `encode_snapshot` encoded.

    Raises
    ------
    ValueError
        If it holds none.
    """
    record = next(_records_from(io.BytesIO(encoded), Path("snapshot")), None)
    if record is None or (snapshot := _snapshot(record)) is None:
        raise ValueError("no snapshot in these bytes")
    return snapshot


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
        if record is None or (snapshot := _snapshot(record)) is None:
            raise ValueError(f"{path}: no snapshot starts at byte {offset}")
        return snapshot


def latest_snapshots(path: Path) -> Iterator[Snapshot]:
    """Read the last page of each address, in file order."""
    for offset in sorted(index_snapshots(path).values()):
        yield read_snapshot(path, offset)


def sort_snapshots(path: Path) -> None:
    """Put the records of a compressed WARC in the order of their addresses, without doubles.

    Requests that run side by side end in any order; sorted, the same answers make the same file.
    The records of one address keep their order, and each byte stays as it is.
    """
    with path.open("rb") as file, _beside(path) as out:
        seen: set[bytes] = set()
        for member in sorted(
            _members(file, path), key=lambda m: (m.kind != "warcinfo", m.url, m.start)
        ):
            file.seek(member.start)
            piece = file.read(member.end - member.start)
            digest = hashlib.sha256(piece).digest()
            if digest not in seen:
                out.write(piece)
                seen.add(digest)


@contextmanager
def _beside(path: Path) -> Iterator[BinaryIO]:
    """Open a file that takes the place of another when it is whole."""
    partial = path.with_name(path.name + ".partial")
    with partial.open("wb") as out:
        yield out
        out.flush()
        os.fsync(out.fileno())
    partial.replace(path)


class _Member(NamedTuple):
    """One gzip member of a file: where it starts and ends, and what record is in it."""

    start: int
    end: int
    kind: str
    url: str
    redirects: bool


_KIND = re.compile(rb"^WARC-Type:[ \t]*(\S+)", re.MULTILINE | re.IGNORECASE)
_URL = re.compile(rb"^WARC-Target-URI:[ \t]*<?([^\s>]+)", re.MULTILINE | re.IGNORECASE)
_REDIRECT = re.compile(rb"HTTP/[\d.]+ +30[12378]\b")


def _members(file: BinaryIO, path: Path) -> Iterator[_Member]:
    """Yield the whole members of a WARC that is compressed record by record."""
    file.seek(0)
    if not _GZIP.startswith(file.read(2)):
        raise ValueError(f"{path}: not compressed record by record; see `warcio recompress`")
    for start, end, beginning in _gzip_members(file):
        head, _, block = beginning.partition(b"\r\n\r\n")
        kind, url = _KIND.search(head), _URL.search(head)
        yield _Member(
            start,
            end,
            kind[1].decode("latin-1") if kind else "",
            url[1].decode("utf-8", "replace") if url else "",
            bool(_REDIRECT.match(block)),
        )


def _gzip_members(file: BinaryIO) -> Iterator[tuple[int, int, bytes]]:
    """Yield start, end and first bytes of each whole gzip member; stop at one that is not."""
    file.seek(0)
    start, beginning, member = 0, b"", zlib.decompressobj(zlib.MAX_WBITS | 16)
    while data := member.unused_data or member.unconsumed_tail or file.read(_BLOCK):
        if member.eof:
            beginning, member = b"", zlib.decompressobj(zlib.MAX_WBITS | 16)
        try:
            piece = member.decompress(data, _BLOCK)
        except zlib.error:
            return
        if len(beginning) < _BEGINNING:
            beginning += piece
        if member.eof:
            end = file.tell() - len(member.unused_data)
            yield start, end, beginning
            start = end


def _sound_length(file: BinaryIO) -> int:
    """Return where the last whole gzip member ends; a file that is not gzip ends where it ends."""
    size = file.seek(0, os.SEEK_END)
    file.seek(0)
    if not _GZIP.startswith(file.read(2)):
        return size
    return max((end for _, end, _ in _gzip_members(file)), default=0)


def _records_from(file: BinaryIO, path: Path) -> Iterator[Any]:
    """Yield records from where a file stands, as warcio reads them."""
    from warcio.archiveiterator import ArchiveIterator
    from warcio.exceptions import ArchiveLoadFailed

    try:
        yield from ArchiveIterator(file, no_record_parse=True)
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
    """Return the snapshot in a WARC record, or None if it holds no page."""
    named = record.rec_headers.get_header
    url = named("WARC-Target-URI") or ""
    if record.rec_type not in ("response", "resource") or not url.startswith(("http:", "https:")):
        return None
    block = record.raw_stream.read(BODY_LIMIT)
    whole = not record.raw_stream.read(1)
    if record.rec_type == "resource":
        headers = (("Content-Type", named("Content-Type") or ""),)
        status, reason, body = 200, "", block
    else:
        head, _, body = block.partition(b"\r\n\r\n")
        first, *lines = head.decode("latin-1").split("\r\n")
        version, code, reason = [*first.split(" ", 2), "", ""][:3]
        if not version.startswith("HTTP/") or not code.isdecimal():
            return None
        pairs = (line.partition(":") for line in lines)
        status, headers = int(code), tuple((name, value.strip()) for name, _, value in pairs)
    return Snapshot(
        url=url,
        status=status,
        headers=headers,
        body=body,
        fetched_at=named("WARC-Date") or "",
        reason=reason,
        ip=named("WARC-IP-Address") or "",
        truncated=named("WARC-Truncated") or ("" if whole else "length"),
        source=named("WARC-Source-URI") or "",
        kind=record.rec_type,
    )


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
