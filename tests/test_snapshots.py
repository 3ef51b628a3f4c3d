"""Promises of the WARC file of snapshots."""

import dataclasses
import gzip
import io
import random
import tracemalloc
import zlib

import brotli
import pytest
from fastwarc.warc import ArchiveIterator as FastIterator
from warcio.archiveiterator import ArchiveIterator
from warcio.warcwriter import WARCWriter

from sourcebench.decoding import Decoder, TooLarge, Undecodable
from sourcebench.snapshots import (
    Snapshot,
    append_snapshot,
    decoded_body,
    encode_snapshot,
    index_snapshots,
    latest_snapshots,
    open_snapshots,
    read_snapshot,
    read_snapshots,
    repair_snapshots,
    sort_snapshots,
)

PAGE = Snapshot(
    url="https://example.org/a?b=1",
    status=200,
    headers=(("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("X-Name", "\xe9\xff")),
    body=gzip.compress(b"hello\r\n\r\nyou", mtime=0),
    fetched_at="2026-01-01T00:00:00Z",
    reason="OK",
    ip="127.0.0.1",
)
OTHER = dataclasses.replace(PAGE, url="https://example.org/", body=b"", status=301, headers=())


@pytest.fixture
def path(tmp_path):
    """Return the name of a WARC that is not there yet."""
    return tmp_path / "pages.warc.gz"


def write(path, *snapshots):
    """Write snapshots to a WARC."""
    with open_snapshots(path) as append:
        append(map(encode_snapshot, snapshots))


def test_reads_what_was_written(path):
    """A snapshot comes back as it went in, byte for byte, by order and by address."""
    write(path, PAGE, OTHER)
    assert list(read_snapshots(path)) == [PAGE, OTHER]
    assert list(index_snapshots(path)) == [PAGE.url]
    assert read_snapshot(path, index_snapshots(path)[PAGE.url]) == PAGE
    assert decoded_body(PAGE) == b"hello\r\n\r\nyou"


def test_last_snapshot_of_an_address_counts(path):
    """A page fetched again is read in its last form; a redirect from its address is no page."""
    again = dataclasses.replace(PAGE, body=b"new", headers=())
    moved = dataclasses.replace(OTHER, url=PAGE.url, status=307)
    other = dataclasses.replace(OTHER, status=404)
    write(path, PAGE, other, again, moved)
    assert list(latest_snapshots(path)) == [other, again]


def test_other_readers_agree(path):
    """warcio and fastwarc, with all digests checked, read the same bytes."""
    asked = dataclasses.replace(PAGE, request=(("Host", "example.org"), ("User-Agent", "x")))
    write(path, asked)
    with path.open("rb") as file:
        records = [
            (r.rec_type, r.raw_stream.read()) for r in ArchiveIterator(file, check_digests="raise")
        ]
    assert records[1:] == [("response", PAGE.body), ("request", b"")]
    with path.open("rb") as file:
        found = [
            (r.record_id, r.verify_block_digest(), r.reader.read())
            for r in FastIterator(file, parse_http=False)
        ]
    assert all(sound for _, sound, _ in found)
    assert found[1][2].endswith(b"\xe9\xff\r\n\r\n" + PAGE.body)
    assert found[2][2] == b"GET /a?b=1 HTTP/1.1\r\nHost: example.org\r\nUser-Agent: x\r\n\r\n"
    assert len({identity for identity, _, _ in found}) == 3


def test_same_snapshots_same_bytes(tmp_path):
    """Nothing in the file depends on when, where or in which order it was written."""
    one, other = tmp_path / "one.warc.gz", tmp_path / "other.warc.gz"
    snapshots = [dataclasses.replace(PAGE, url=f"https://example.org/{n}") for n in range(9)]
    write(one, *snapshots)
    random.Random(1).shuffle(snapshots)
    write(other, *snapshots, snapshots[0])
    assert one.read_bytes() != other.read_bytes()
    sort_snapshots(one)
    sort_snapshots(other)
    assert one.read_bytes() == other.read_bytes()
    assert len(list(read_snapshots(one))) == 9


@pytest.mark.parametrize("short", [0, 1, 5, 10, 12, 30, 100])
def test_records_anywhere_in_the_file(short, path):
    """Wherever a record starts, also just before a block that is read ends, it is known."""
    head = b"WARC/1.1\r\nWARC-Type: warcinfo\r\nContent-Length: %d\r\n\r\n"
    size = (1 << 16) - short
    filling = bytes(size - 200)
    first = gzip.compress(head % len(filling) + filling + b"\r\n\r\n", compresslevel=0, mtime=0)
    filling += bytes(size - len(first))
    first = gzip.compress(head % len(filling) + filling + b"\r\n\r\n", compresslevel=0, mtime=0)
    assert len(first) == size
    path.write_bytes(first + encode_snapshot(PAGE) + encode_snapshot(OTHER))
    assert index_snapshots(path) == {PAGE.url: size}
    sort_snapshots(path)
    assert [snapshot.url for snapshot in read_snapshots(path)] == [OTHER.url, PAGE.url]


def test_cut_anywhere(path):
    """Cut at any byte, the file is readable up to its last whole record and can be appended to."""
    append_snapshot(path, PAGE)
    first = path.stat().st_size
    append_snapshot(path, OTHER)
    whole = path.read_bytes()
    for size in [*range(0, len(whole), 5), first - 1, first, first + 1, len(whole) - 1]:
        path.write_bytes(whole[:size])
        kept = [PAGE] if size >= first else []
        assert list(read_snapshots(path)) == kept
        if size % 2 == 0:
            append_snapshot(path, OTHER)
            assert list(read_snapshots(path)) == [*kept, OTHER]


def test_repair_says_what_it_cut(path):
    """Repairing cuts the broken end, and only that."""
    assert repair_snapshots(path) == 0
    append_snapshot(path, PAGE)
    sound = path.read_bytes()
    path.write_bytes(sound + b"\x1f\x8b\x08rest")
    assert repair_snapshots(path) == 7
    assert path.read_bytes() == sound


def test_foreign_files(tmp_path):
    """An uncompressed WARC of another tool is read; a file that is no WARC is a clear error."""
    path = tmp_path / "other.warc"
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=False)
        for kind, block in (
            ("response", b"HTTP/1.0 404 Not Found\r\nServer: x\r\n\r\ngone"),
            ("resource", b"x"),
        ):
            writer.write_record(
                writer.create_warc_record(
                    "http://example.org/", kind, payload=io.BytesIO(block), length=len(block)
                )
            )
    found, saved = read_snapshots(path)
    assert (found.status, found.headers, found.body) == (404, (("Server", "x"),), b"gone")
    assert (saved.kind, saved.status, saved.body) == ("resource", 200, b"x")
    path.write_bytes(b"no archive at all\n")
    with pytest.raises(ValueError, match="not readable as WARC"):
        list(read_snapshots(path))


def raw_deflate(data):
    """Return data deflated without zlib's header."""
    packer = zlib.compressobj(wbits=-zlib.MAX_WBITS)
    return packer.compress(data) + packer.flush()


ENCODERS = {
    "": lambda data: data,
    "gzip": gzip.compress,
    "deflate": zlib.compress,
    "Deflate": raw_deflate,
    "br": brotli.compress,
    "gzip, br": lambda data: brotli.compress(gzip.compress(data)),
}


@pytest.mark.parametrize("encoding", ENCODERS)
@pytest.mark.parametrize("step", [1, 1000, 1_000_000])
def test_decoding(encoding, step):
    """Every encoding is undone, whatever pieces it comes in, and its end is known."""
    data = b"".join(b"%d;" % n for n in range(3000)) + b"0" * 400_000
    sent = ENCODERS[encoding](data)
    decoder = Decoder(encoding, len(data))
    pieces = [p for i in range(0, len(sent), step) for p in decoder.feed(sent[i : i + step])]
    assert b"".join(pieces) == data
    assert decoder.ended
    assert max(map(len, pieces)) <= max(step, 100_000)
    with pytest.raises(TooLarge):
        list(Decoder(encoding, len(data) - 1).feed(sent))


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "gzip, br"])
def test_bombs(encoding):
    """A body that explodes when decompressed is refused before it fills the memory."""
    data = bytes(20_000_000)
    bomb = dataclasses.replace(
        PAGE, body=ENCODERS[encoding](data), headers=(("content-encoding", encoding),)
    )
    tracemalloc.start()
    with pytest.raises(TooLarge, match="more than 1000000 bytes"):
        decoded_body(bomb, 1_000_000)
    assert tracemalloc.get_traced_memory()[1] < 8_000_000
    tracemalloc.stop()


def test_gzip_oddities():
    """Several members are one body, rubbish behind the last is ignored, a cut body is known."""
    body = gzip.compress(b"one") + gzip.compress(b"two")
    decoder = Decoder("x-gzip", 100)
    assert b"".join(decoder.feed(body + b"rubbish")) == b"onetwo"
    assert decoder.ended
    decoder = Decoder("gzip", 100)
    assert b"".join(decoder.feed(gzip.compress(b"one")[:-4])) == b"one"
    assert not decoder.ended


@pytest.mark.parametrize("encoding", ["gzip", "deflate", "br", "zstd", "gzip, gzip, gzip"])
def test_lying_encodings(encoding):
    """A body that is not encoded as announced, or in no way we know, is a clear error."""
    lie = dataclasses.replace(PAGE, body=b"<html>", headers=(("Content-Encoding", encoding),))
    with pytest.raises(Undecodable):
        decoded_body(lie)
