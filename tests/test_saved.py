"""Promises of taking pages that somebody has saved."""

import io
import shutil
from datetime import UTC, datetime

import pytest
from warcio.warcwriter import WARCWriter

from sourcebench.fetch import fetch_study
from sourcebench.fetch.fetchlog import fetched_pages
from sourcebench.fetch.saved import import_pages
from sourcebench.study import WARC, Study
from sourcebench.urls import page_id

TOML = 'title = "x"\nkind = "real-pages"\nlicence = "none"\nas_of = 2026-06-01\n'


def clock():
    """Return a fixed time."""
    return datetime(2026, 6, 2, tzinfo=UTC)


@pytest.fixture
def make_study(tmp_path):
    """Return a function that makes a study that cites given addresses."""

    def make(*urls):
        folder = tmp_path / "study"
        folder.mkdir()
        (folder / "study.toml").write_text(TOML, encoding="utf-8")
        study = Study(folder)
        study.save("queries", [{"query_id": "q", "text": "t", "category": "factual"}])
        cited = {"system": "s", "query_id": "q", "run": 1}
        study.save("citations", [cited | {"rank": i, "url": u} for i, u in enumerate(urls, 1)])
        return study

    return make


def test_a_folder_of_my_pages(shared, make_study, tmp_path):
    """A page comes from a folder, one that is missing is not available offline, and both stay."""
    folder = shared / "cases/F-03-bring-your-own/my_pages"
    review, spring = "https://example.org/review", "https://example.org/spring"
    study = make_study(review, spring)
    assert import_pages(study, folder, clock=clock) == {page_id(review): "review.html"}
    assert fetch_study(study, offline=True) == {"not_available_offline": 1, "ok": 1}
    ((row, snapshot),) = fetched_pages(study)
    assert snapshot.body == (folder / "review.html").read_bytes()
    assert (row["archived"], row["url"], row["media_type"]) == ("review.html", review, "text/html")
    assert (snapshot.kind, snapshot.source, row["fetched_at"]) == (
        "resource", "file:review.html", "2026-06-02T00:00:00Z",
    )  # fmt: skip
    study.validate()
    # The missing page turns up later.
    more = tmp_path / "more"
    more.mkdir()
    shutil.copy(folder / "review.html", more / "spring.htm")
    assert import_pages(study, more, {spring: "spring.htm"}) == {page_id(spring): "spring.htm"}
    assert fetch_study(study, offline=True) == {"ok": 2}


def test_how_files_are_recognised(make_study, tmp_path):
    """A file belongs to a page by its own word, its path, its identity or its name, if just one fits."""
    urls = [
        f"https://{host}.example.org/{name}"
        for host in "ab"
        for name in ("x", "same", "only" + host)
    ]
    urls += ["https://c.example.org/", "https://c.example.org/paper.pdf", "not a url"]
    study = make_study(*urls)
    folder = tmp_path / "saved"
    files = {
        "Some title.html": b"<!DOCTYPE html>\n<!-- saved from url=(0030)https://a.example.org/x -->",
        "single.html": b"<html><!--\n Page saved with SingleFile \n url: https://b.example.org/x \n saved date: x -->",
        "same.html": b"fits two pages",
        "sub/onlya.html": b"a",
        f"{page_id('https://b.example.org/onlyb')}.html": b"b",
        "c.example.org/index.html": b"c",
        "paper.pdf": b"%PDF-1.4",
        "other.html": b"nobody cites this",
    }
    for name, body in files.items():
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_bytes(body)
    found = {
        urls[[page_id(u) for u in urls].index(k)]: v for k, v in import_pages(study, folder).items()
    }
    assert found == {
        "https://a.example.org/x": "Some title.html",
        "https://b.example.org/x": "single.html",
        "https://a.example.org/onlya": "sub/onlya.html",
        "https://b.example.org/onlyb": f"{page_id('https://b.example.org/onlyb')}.html",
        "https://c.example.org/": "c.example.org/index.html",
        "https://c.example.org/paper.pdf": "paper.pdf",
    }
    types = {row["url"]: row["media_type"] for row, _ in fetched_pages(study)}
    assert types["https://c.example.org/paper.pdf"] == "application/pdf"


def test_a_mapping_in_the_folder(make_study, tmp_path):
    """A pages.csv in the folder says which file holds which address."""
    study = make_study("https://example.org/1", "https://example.org/2")
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "one.html").write_bytes(b"<p>1")
    (folder / "pages.csv").write_text(
        "url,file\nhttp://www.example.org/1,one.html\nhttps://example.org/3,\n", encoding="utf-8"
    )
    assert import_pages(study, folder) == {page_id("https://example.org/1"): "one.html"}


def test_what_can_not_be_imported(make_study, tmp_path):
    """Sources and mappings that fit nothing are errors that say what to do."""
    study = make_study("https://example.org/1")
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "x.html").write_bytes(b"")
    for source, mapping, message in (
        (tmp_path / "none", None, "no such folder or file"),
        (folder, None, r"nothing here fits a cited page.*pages\.csv"),
        (folder, {"https://example.org/1": "y.html"}, r"https://example\.org/1: no file 'y\.html'"),
        (folder, {"https://example.org/1": "../study/study.toml"}, "no file"),
        (folder, {"https://example.org/9": "x.html"}, "none of its 1 addresses is cited"),
    ):
        with pytest.raises(ValueError, match=message):
            import_pages(study, source, mapping)
    with pytest.raises(ValueError, match=r"nothing here fits a cited page\Z"):
        import_pages(study, folder / "x.html")  # any file but a folder is taken for a WARC
    assert not study.has("fetches")


def test_a_study_that_takes_no_pages(make_study, tmp_path):
    """One that cites nothing yet, and one that is released, are said before the file is looked at."""
    study = make_study("https://example.org/1")
    study.path("citations").unlink()
    with pytest.raises(ValueError, match="this study cites no page yet"):
        import_pages(study, tmp_path / "none.warc.gz")
    (study.folder / "datapackage.json").write_text("{}", encoding="utf-8")
    with pytest.raises(ValueError, match="this study is released") as caught:
        import_pages(Study(study.folder), tmp_path)
    assert "\n" not in str(caught.value)


def write_warc(path, records):
    """Write responses, given as address, date, status line with headers, and body."""
    with path.open("wb") as file:
        writer = WARCWriter(file, gzip=path.suffix == ".gz")
        for url, date, head, body in records:
            block = head.encode() + b"\r\n\r\n" + body
            writer.write_record(
                writer.create_warc_record(
                    url, "response", payload=io.BytesIO(block), length=len(block),
                    warc_headers_dict={"WARC-Date": date},
                )
            )  # fmt: skip


@pytest.mark.parametrize("name", ["crawl.warc.gz", "crawl.warc"])
def test_a_warc_of_another_tool(name, make_study, tmp_path):
    """Pages come from a WARC: the good capture nearest the collection, redirects followed."""
    path = tmp_path / name
    html, moved = (
        "HTTP/1.1 200 OK\r\nContent-Type: text/html",
        "HTTP/1.1 301 Moved\r\nLocation: /new",
    )
    write_warc(path, [
        ("http://example.org/a", "2025-01-01T00:00:00Z", html, b"early"),
        ("https://www.example.org/a/", "2026-05-30T00:00:00Z", html, b"near"),
        ("http://example.org/a", "2026-06-01T00:00:00Z", "HTTP/1.1 500 No", b"broken"),
        ("http://example.org/a", "2026-12-01T00:00:00Z", html, b"late"),
        ("http://example.org/old", "2026-06-01T00:00:00Z", moved, b""),
        ("http://example.org/new", "2026-06-01T00:00:00Z", html, b"moved"),
        ("http://example.org/loop", "2026-06-01T00:00:00Z", "HTTP/1.1 301 M\r\nLocation: /loop", b""),
        ("http://example.org/uncited", "2026-06-01T00:00:00Z", html, b"other"),
    ])  # fmt: skip
    cited = [f"https://example.org/{name}" for name in ("a", "old", "loop", "missing")]
    study = make_study(*cited)
    fetch_study(study, offline=True)
    import_pages(study, path)
    pages = {row["url"]: (row, snapshot) for row, snapshot in fetched_pages(study)}
    assert {url: snapshot.body for url, (_, snapshot) in pages.items()} == {
        cited[0]: b"near",
        cited[1]: b"moved",
    }
    row, snapshot = pages[cited[0]]
    assert (row["archived"], row["status"], row["final_url"]) == (
        f"{name} 2026-05-30T00:00:00Z", 200, "https://www.example.org/a/",
    )  # fmt: skip
    assert snapshot.source == f"file:{name}"
    assert fetch_study(study, offline=True) == {"not_available_offline": 2, "ok": 2}
    study.validate()


def test_pages_that_came_are_left(make_study, tmp_path):
    """A page that is there is not replaced, unless its outcome is named."""
    study = make_study("https://example.org/a")
    folder = tmp_path / "saved"
    folder.mkdir()
    (folder / "a.html").write_bytes(b"one")
    import_pages(study, folder, clock=clock)
    (folder / "a.html").write_bytes(b"two")
    assert import_pages(study, folder, clock=clock) == {}
    assert import_pages(study, folder, clock=clock, replace=["ok"])
    assert [snapshot.body for _, snapshot in fetched_pages(study)] == [b"two"]
    assert (study.folder / WARC).exists()
