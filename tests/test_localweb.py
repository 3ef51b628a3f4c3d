"""Promises of the web that is served from this machine."""

import socket
from datetime import UTC, datetime

import pytest

from sourcebench.fetch import fetch_study
from sourcebench.fetch.addresses import Failure
from sourcebench.fetch.localweb import serve_web
from sourcebench.fetch.web import Web
from sourcebench.study import Study


@pytest.fixture
def root(tmp_path):
    """Return a folder with one page."""
    (tmp_path / "a").mkdir()
    (tmp_path / "a" / "page.html").write_text("<p>größer", encoding="utf-8")
    return tmp_path


@pytest.fixture
def ask():
    """Return a function that asks a local web for an address."""

    def get(resolver, url):
        web = Web(user_agent="t", max_bytes=10_000, resolver=resolver)
        try:
            return web.get(url, deadline=5, fetched_at="")
        finally:
            web.close()

    return get


PAGES = [
    {"url": "https://www.a.example/x?y=1", "file": "a/page.html", "content_type": "text/html; charset=utf-8", "note": "n"},
    {"url": "http://a.example/", "status": "301", "location": "https://www.a.example/x?y=1", "file": ""},
    {"url": "https://www.a.example/gone", "status": 410},
]  # fmt: skip


def test_pages_as_described(root, ask):
    """Each address gives its status, type, target and file, and nothing that depends on the time."""
    with serve_web(PAGES, root) as resolver:
        page = ask(resolver, "https://www.a.example/x?y=1")
        moved = ask(resolver, "http://a.example/")
        gone = ask(resolver, "https://www.a.example/gone")
        unknown = ask(resolver, "https://www.a.example/x?y=2")
    assert page.headers == (
        ("Content-Type", "text/html; charset=utf-8"),
        ("Content-Length", "11"),
    )
    assert page.body == "<p>größer".encode()
    assert (moved.status, moved.header("Location")) == (301, "https://www.a.example/x?y=1")
    assert (gone.status, unknown.status) == (410, 404)


def test_no_other_host_exists(root, ask):
    """Other names do not exist, without asking a name server; inner addresses stay forbidden."""
    with serve_web(PAGES, root) as resolver:
        for url, outcome in {
            "https://elsewhere.example/": "unreachable",
            "http://127.0.0.1/": "not_allowed",
            "http://0x7f.1/": "not_allowed",
            "http://[::1]/": "not_allowed",
        }.items():
            with pytest.raises(Failure) as failure:
                ask(resolver, url)
            assert failure.value.outcome == outcome
    with pytest.raises(socket.gaierror):
        resolver("elsewhere.example", 443)


def test_bad_descriptions(root):
    """A file that is missing or outside the folder, or an address listed twice, is an error."""
    for page in (
        {"url": "https://a.example/", "file": "none"},
        {"url": "https://a.example/", "file": "../x"},
    ):
        with (
            pytest.raises(ValueError, match=r"https://a\.example/: no file"),
            serve_web([page], root),
        ):
            pass
    with pytest.raises(ValueError, match="listed twice"), serve_web(PAGES[:1] * 2, root):
        pass


def test_whole_sample_web_of_one_study(root, tmp_path):
    """A study whose pages are served locally is fetched under their own names."""
    folder = tmp_path / "study"
    folder.mkdir()
    (folder / "study.toml").write_text(
        'title = "x"\nkind = "sample"\nlicence = "CC0-1.0"\nas_of = 2026-01-01\n[fetch]\ndelay = 0.0\n',
        encoding="utf-8",
    )
    study = Study(folder)
    study.save("queries", [{"query_id": "q", "text": "t", "category": "factual"}])
    cited = {"system": "s", "query_id": "q", "run": 1}
    study.save("citations", [cited | {"rank": n, "url": p["url"]} for n, p in enumerate(PAGES, 1)])
    with serve_web(PAGES, root) as resolver:
        counts = fetch_study(
            study, resolver=resolver, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC)
        )
    assert counts == {"gone": 1, "ok": 2}
