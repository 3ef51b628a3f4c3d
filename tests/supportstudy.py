"""Studies of statements and pages small enough to count by hand, and a verifier that says what it is told."""

from sourcebench.records import Check, Packet
from sourcebench.study import Study
from sourcebench.urls import page_id

HEAD = 'title = "Tiny"\nkind = "synthetic"\nlicence = "MIT"\nas_of = 2026-06-01\n'


def url(name: str) -> str:
    """Return the address of a made-up page."""
    return f"https://{name}.example.org/"


def page(name: str) -> str:
    """Return the identity of a made-up page."""
    return page_id(url(name))


def support_study(folder, answers, pages, *, settings: str = "", dead=()) -> Study:
    """Write a study of one system.

    `answers` maps a query to its text, in which `{a}` stands for the mark that cites page a; `pages`
    maps a page to its text; the pages in `dead` are gone.
    """
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(HEAD + settings, encoding="utf-8")
    study = Study(folder)
    queries = [{"query_id": q, "text": f"Question {q}?", "category": "factual"} for q in answers]
    study.save("queries", queries)
    rows, citations = [], []
    for query, text in answers.items():
        text, marks = _written(text, [*pages, *dead])
        outcome = "empty" if not text else "ok" if marks else "no_citations"
        key = {"system": "s", "query_id": query, "run": 1}
        rows.append({**key, "outcome": outcome, "text": text or None})
        citations += [
            {**key, "rank": rank, "url": url(name), "start": start, "end": end}
            for rank, (name, start, end) in enumerate(marks, start=1)
        ]
    study.save("answers", rows)
    study.save("citations", citations)
    study.save("fetches", [_fetch(name, "ok", 200) for name in pages] + [_fetch(n, "gone", 404) for n in dead])  # fmt: skip
    study.save("pages", [{"page_id": page(n), "url": url(n), "outcome": "ok", "text_chars": len(t)} for n, t in pages.items()])  # fmt: skip
    packets = [Packet(page(n), url(n), text=t, language="en").to_dict() for n, t in pages.items()]
    study.save("packets", packets)
    return study


def _fetch(name, outcome, status) -> dict:
    return {"page_id": page(name), "url": url(name), "outcome": outcome, "status": status}


def _written(text: str, names) -> tuple[str, list[tuple[str, int, int]]]:
    """Put numbered marks in the place of names in braces, and return where they are."""
    marks, numbers = [], {}
    while "{" in text:
        start, end = text.index("{"), text.index("}")
        name = text[start + 1 : end]
        mark = f"[{numbers.setdefault(name, len(numbers) + 1)}]"
        text = text[:start] + mark + text[end + 1 :]
        marks.append((name, start, start + len(mark)))
    return text, marks


class Told:
    """A verifier that supports what it is told, and counts what it was asked."""

    name = "told"

    def __init__(self, supported=(), version="v1"):
        self.supported, self.asked, self._version = set(supported), [], version

    def version(self) -> str:
        return self._version

    def check(self, statements, packet):
        self.asked += [(s, packet.page_id) for s in statements]
        return [self._check(s, packet) for s in statements]

    def _check(self, statement, packet):
        if (statement, packet.page_id) in self.supported:
            return Check("supported", packet.text[:40], True)
        return Check("not_supported")
