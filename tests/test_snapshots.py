"""Promises of the WARC file of snapshots."""

import gzip

from sourcebench.snapshots import (
    Snapshot,
    append_snapshot,
    decoded_body,
    index_snapshots,
    read_snapshot,
    read_snapshots,
)

PAGE = Snapshot(
    url="https://example.org/a?b=1",
    status=200,
    headers=(("Content-Type", "text/html"), ("Content-Encoding", "gzip"), ("X-Name", "\xe9")),
    body=gzip.compress(b"hello", mtime=0),
    fetched_at="2026-01-01T00:00:00Z",
    reason="OK",
    ip="127.0.0.1",
)


def test_reads_what_was_written(tmp_path):
    """A snapshot comes back as it went in, by order and by address."""
    path = tmp_path / "pages.warc.gz"
    append_snapshot(path, PAGE)
    assert list(read_snapshots(path)) == [PAGE]
    assert read_snapshot(path, index_snapshots(path)[PAGE.url]) == PAGE
    assert decoded_body(PAGE) == b"hello"


def test_cut_anywhere(tmp_path):
    """Cut at any byte, the file is readable up to its last whole record and can be appended to."""
    path = tmp_path / "pages.warc.gz"
    append_snapshot(path, PAGE)
    first = path.stat().st_size
    append_snapshot(path, PAGE)
    whole = path.read_bytes()
    for size in range(0, len(whole), 7):
        path.write_bytes(whole[:size])
        assert len(list(read_snapshots(path))) == (size >= first)
        append_snapshot(path, PAGE)
        assert len(list(read_snapshots(path))) == (size >= first) + 1
