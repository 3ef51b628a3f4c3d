"""A study small enough to count by hand, for the tests of several stages."""

import pytest

from sourcebench.records import Dated, Packet
from sourcebench.study import Study

URLS = {"a": "https://a.example.org/", "b": "https://b.example.org/", "c": "https://c.example.org/"}


def packet(name: str, **changes) -> Packet:
    """Return a packet of a made-up page."""
    page_id = pytest.importorskip("sourcebench.urls").page_id
    fields = {
        "page_id": page_id(URLS[name]),
        "url": URLS[name],
        "site": "example.org",
        "title": f"Page {name}",
        "published": Dated("2026-05-28", "meta"),
        "text": f"Page {name} says that the river fell by eleven centimetres. It gives a source.",
    }
    return Packet(**(fields | changes))


def tiny_study(folder, settings: str = "", packets=None) -> Study:
    """Write a study of two queries: q1 cites a and b, q2 cites a and the empty page c."""
    folder.mkdir(exist_ok=True)
    head = 'title = "Tiny"\nkind = "synthetic"\nlicence = "MIT"\nas_of = 2026-06-01\n'
    (folder / "study.toml").write_text(head + settings, encoding="utf-8")
    study = Study(folder)
    made = packets or [packet("a"), packet("b"), packet("c", outcome="empty", text="")]
    study.save(
        "queries",
        [
            {"query_id": "q1", "text": "Did the river fall?", "category": "factual"},
            {"query_id": "q2", "text": "How deep is the river?", "category": "factual"},
        ],
    )
    cited = [("q1", 1, "a"), ("q1", 2, "b"), ("q2", 1, "a"), ("q2", 2, "c")]
    study.save(
        "citations",
        [{"system": "s", "query_id": q, "run": 1, "rank": r, "url": URLS[p]} for q, r, p in cited],
    )
    study.save("packets", [p.to_dict() for p in made])
    return study
