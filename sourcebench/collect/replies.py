"""What a system said to a query: its text, what became of the request, and the citations in it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
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

    `uncited` are sources that the system found or listed without citing them; `without_address`
    counts citations that name none. `span_kind` says what the spans cover: the citation `marker`
    itself, or the `claim` it supports.
    """

    text: str = ""
    outcome: str = "ok"
    citations: tuple[Citation, ...] = ()
    uncited: tuple[Citation, ...] = ()
    without_address: int = 0
    usage: Mapping[str, int] | None = None
    model: str = ""
    reason: str = ""
    kind: str = "answer"  # answer, search, search+answer, contents
    status: str = "ok"  # ok, empty, refused, incomplete, blocked, error, pending
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
