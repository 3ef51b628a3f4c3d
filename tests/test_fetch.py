"""Promises of fetching, on servers of this machine."""

from datetime import UTC, datetime

import pytest

from sourcebench.fetch import fetch_study
from sourcebench.localweb import serve_web
from sourcebench.study import Study

TOML = 'title = "x"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-01-01\n'


@pytest.fixture
def make_study(tmp_path):
    """Return a function that makes a study citing given addresses."""

    def make(urls, **settings):
        settings = {"delay": 0.0, "backoff": 0.01} | settings
        lines = "".join(f"{name} = {str(value).lower()}\n" for name, value in settings.items())
        (tmp_path / "study.toml").write_text(TOML + "[fetch]\n" + lines, encoding="utf-8")
        study = Study(tmp_path)
        study.save("queries", [{"query_id": "q", "text": "t", "category": "factual"}])
        cited = {"system": "s", "query_id": "q", "run": 1}
        study.save("citations", [cited | {"rank": i, "url": u} for i, u in enumerate(urls, 1)])
        return study

    return make


def clock():
    """Return a fixed time."""
    return datetime(2026, 1, 1, tzinfo=UTC)


def test_each_page_once(make_study, tmp_path):
    """Every cited page gets one row, whatever became of it, and nothing is fetched twice."""
    (tmp_path / "a.html").write_text("<p>hello", encoding="utf-8")
    pages = [
        {"url": "https://a.example.org/x", "content_type": "text/html", "file": "a.html"},
        {"url": "https://b.example.org/", "status": "301", "location": "https://a.example.org/x"},
    ]
    cited = ["https://a.example.org/x", "http://www.a.example.org/x/", "https://b.example.org/"]
    cited += ["https://dead.example/", "not a url", "file:///etc/hostname", "http://127.0.0.1/"]
    study = make_study(cited)
    with serve_web(pages, tmp_path) as resolver:
        counts = fetch_study(study, resolver=resolver, clock=clock)
    assert counts == {"not_allowed": 2, "ok": 2, "unreachable": 2}
    assert fetch_study(study) == counts
