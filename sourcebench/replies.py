"""What a system said to a query: its text, what became of the request, and the citations in it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any


@dataclass(frozen=True)
class Citation:
    """One mention of a source in an answer.

    `rank` is the order in which the source first appears, from 1, so mentions of one source share
    it. `start` and `end` are code points of the answer text, half open; both are missing where the
    system does not tie the source to a place. `url_raw` is the address before the system's own
    tracking was taken off it.
    """

    rank: int
    url: str
    title: str | None = None
    date: str | None = None
    start: int | None = None
    end: int | None = None
    url_raw: str | None = None
    date_raw: str | None = None


@dataclass(frozen=True)
class Reply:
    """What came back for one query, read from the raw reply and nothing else.

    `uncited` are sources that the system found or listed without citing them. `span_kind` says
    what the spans cover: the citation `marker` itself, or the `claim` it supports.
    """

    text: str = ""
    outcome: str = "ok"
    citations: tuple[Citation, ...] = ()
    uncited: tuple[Citation, ...] = ()
    usage: Mapping[str, int] | None = None
    model: str = ""
    reason: str = ""
    kind: str = "answer"
    span_kind: str | None = None
    queries: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    extra: Mapping[str, Any] = field(default_factory=dict)


@dataclass(frozen=True)
class Answer:
    """A reply and whom it belongs to; `question` is the query as the system got it."""

    system: str
    query_id: str
    run: int
    reply: Reply
    question: str = ""
    category: str = ""
    dataset: str = ""
    gold_answer: str = ""
    asked_at: str = ""


def answer_row(answer: Answer) -> dict[str, Any]:
    """Return the row of the table `answers`."""
    reply = answer.reply
    return {
        "system": answer.system,
        "query_id": answer.query_id,
        "run": answer.run,
        "outcome": reply.outcome,
        "text": reply.text or None,
        "model": reply.model or None,
        "asked_at": answer.asked_at or None,
        "usage": dict(reply.usage) if reply.usage else None,
        "reason": reply.reason or None,
    }


def citation_rows(answer: Answer) -> list[dict[str, Any]]:
    """Return the rows of the table `citations`.

    The table's key needs one rank a row. Sources keep the order of their first mention; further
    mentions follow after the last source, so the best rank of a page is its source's rank.
    """
    first: dict[int, Citation] = {}
    later = []
    for citation in answer.reply.citations:
        if citation.rank in first:
            later.append(citation)
        else:
            first[citation.rank] = citation
    ordered = [*(first[rank] for rank in sorted(first)), *later]
    return [_citation_row(answer, c, place) for place, c in enumerate(ordered, start=1)]


def _citation_row(answer: Answer, citation: Citation, rank: int) -> dict[str, Any]:
    """Return one row of the table `citations`, with the passage its span covers."""
    spanned = citation.start is not None
    passage = answer.reply.text[citation.start : citation.end] if spanned else None
    return {
        "system": answer.system,
        "query_id": answer.query_id,
        "run": answer.run,
        "rank": rank,
        "url": citation.url,
        "title": citation.title,
        "cited_text": passage,
        "start": citation.start,
        "end": citation.end,
    }


def ranked(citations: Sequence[Citation], key) -> tuple[Citation, ...]:
    """Number the sources by first mention; `key` gives the identity of a source from its address."""
    ranks: dict[str, int] = {}
    return tuple(replace(c, rank=ranks.setdefault(key(c.url), len(ranks) + 1)) for c in citations)
