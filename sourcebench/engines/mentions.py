"""Mentions and listed sources of a reply become ranked citations and what was left uncited."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from sourcebench.collect.replies import Citation, Reply
from sourcebench.engines.addresses import cited_url, iso_date, plain_title, source_key
from sourcebench.intext import Mention, links


@dataclass(frozen=True)
class Source:
    """A source as the engine names it, and where the answer cites it, if it says so."""

    url: str
    title: Any = None
    date: Any = None
    start: int | None = None
    end: int | None = None


def citation(source: Source) -> Citation:
    """Return a source as a citation that is not ranked yet."""
    url = cited_url(source.url)
    raw = source.date if isinstance(source.date, str) and source.date else None
    when = iso_date(raw)
    return Citation(
        rank=0,
        url=url,
        title=plain_title(source.title),
        date=when,
        start=source.start,
        end=source.end,
        url_raw=source.url if source.url != url else None,
        date_raw=raw if raw != when else None,
    )


def cited(
    mentions: Iterable[Source], found: Iterable[Source] = ()
) -> tuple[tuple[Citation, ...], tuple[Citation, ...]]:
    """Return the citations of an answer in text order, and the sources it found but does not cite.

    Mentions of one source share its rank, which counts sources by first mention; those without a
    place come last. Exact repeats are joined. A citation without title or date takes them from the
    list of results.
    """
    listed = {}
    for source in found:
        if isinstance(source.url, str) and source.url:
            listed.setdefault(source_key(cited_url(source.url)), citation(source))
    made: dict[tuple[str, int | None, int | None], Citation] = {}
    ordered = [
        citation(source) for source in mentions if isinstance(source.url, str) and source.url
    ]
    ordered.sort(key=lambda c: (c.start is None, c.start or 0))
    ranks: dict[str, int] = {}
    for one in ordered:
        key = source_key(one.url)
        rank = ranks.setdefault(key, len(ranks) + 1)
        known = listed.get(key)
        made.setdefault((key, one.start, one.end), _completed(one, known, rank))
    uncited = tuple(source for key, source in listed.items() if key not in ranks)
    return tuple(made.values()), uncited


def _completed(one: Citation, known: Citation | None, rank: int) -> Citation:
    """Return a citation with its rank, and with title and date of the result it comes from."""
    title, when, raw = one.title, one.date, one.date_raw
    if known:
        title = title or known.title
        if when is None and raw is None:
            when, raw = known.date, known.date_raw
    return Citation(rank, one.url, title, when, one.start, one.end, one.url_raw, raw)


def rows(sources: Iterable[Source]) -> tuple[Citation, ...]:
    """Return the rows of a search tool, each its own rank: nothing is joined."""
    made = [citation(source) for source in sources if isinstance(source.url, str) and source.url]
    return tuple(
        Citation(rank, c.url, c.title, c.date, None, None, c.url_raw, c.date_raw)
        for rank, c in enumerate(made, start=1)
    )


def text_links(text: str) -> list[Source]:
    """Return the links of a text as mentions; a label is no title."""
    return [Source(link.url, None, None, link.start, link.end) for link in links(text)]


def written(text: str, mentions: Iterable[Mention]) -> list[Source]:
    """Return what a text cites as sources; the label of a link is no title, an entry's is one."""
    made = []
    for m in mentions:
        linked = text[m.start] == "[" and text[m.end - 1] == ")"
        made.append(Source(m.url, None if linked else m.label or None, None, m.start, m.end))
    return made


def searched(sources: Iterable[Source], *, queries: Sequence[str] = (), **known: Any) -> Reply:
    """Return the reply of a search tool: its rows are its citations."""
    sources = list(sources)
    citations = rows(sources)
    text = known.pop("text", "")
    return Reply(
        text=text,
        outcome="ok" if citations else ("no_citations" if text else "empty"),
        citations=citations,
        without_address=_nameless(sources),
        kind="search+answer" if text else "search",
        queries=tuple(queries),
        **known,
    )


def answered(
    text: str,
    mentions: Sequence[Source] = (),
    found: Sequence[Source] = (),
    *,
    status: str = "ok",
    span_kind: str | None = "marker",
    warnings: Sequence[str] = (),
    **known: Any,
) -> Reply:
    """Return the reply of an answer engine.

    `status` is one of ok, empty, refused, incomplete, blocked, error, pending; the outcome of the
    answer follows from it and from what is there.
    """
    citations, uncited = cited(mentions, found)
    spanned = any(c.start is not None for c in citations)
    if status == "ok" and not text and not citations:
        status = "empty"
    return Reply(
        text=text,
        outcome=_outcome(status, text, citations),
        status=status,
        citations=citations,
        uncited=uncited,
        span_kind=span_kind if spanned else None,
        warnings=tuple(dict.fromkeys(warnings)),
        without_address=_nameless(mentions),
        **known,
    )


def _nameless(sources: Iterable[Source]) -> int:
    """Return how many sources name no address."""
    return sum(not (isinstance(source.url, str) and source.url) for source in sources)


def _outcome(status: str, text: str, citations: Sequence[Citation]) -> str:
    """Return the outcome of an answer as studies count it."""
    if status in ("refused", "blocked"):
        return "refused"
    if status in ("error", "pending"):
        return "failed"
    if citations:
        return "ok"
    return "no_citations" if text.strip() else "empty"


def failed(reason: str, *, status: str = "error", **known: Any) -> Reply:
    """Return the reply of a request that brought no answer."""
    outcome = "refused" if status in ("refused", "blocked") else "failed"
    return Reply(outcome=outcome, status=status, reason=reason, **known)


# --- walking what engines send -------------------------------------------------------------------


def items(value: Any) -> list[dict[str, Any]]:
    """Return the objects of a list, whatever else stands there."""
    return [item for item in value if isinstance(item, dict)] if isinstance(value, list) else []


def places(value: Any) -> list[Any]:
    """Return a list as it is, since others count its entries; anything else as an empty one."""
    return value if isinstance(value, list) else []


def obj(value: Any) -> dict[str, Any]:
    """Return an object, or an empty one where there is none."""
    return value if isinstance(value, dict) else {}


def texts(value: Any) -> list[str]:
    """Return the texts of a list, whatever else stands there."""
    return [item for item in value if isinstance(item, str)] if isinstance(value, list) else []


def text_of(value: Any) -> str:
    """Return a text, or an empty one where there is none."""
    return value if isinstance(value, str) else ""


def whole(value: Any) -> int | None:
    """Return a whole number that is not negative, also one given as text, or None."""
    if isinstance(value, str) and value.isascii() and value.isdecimal() and len(value) < 16:
        return int(value)
    if isinstance(value, bool) or not isinstance(value, (int, float)) or not 0 <= value < 1e15:
        return None
    return int(value) if value == int(value) else None


def tokens(usage: Any, given: str, made: str, total: str = "total_tokens") -> dict[str, int] | None:
    """Return the tokens that a reply reports, as input, output, total and reasoning."""
    usage = obj(usage)
    if not usage:
        return None
    counts = {"input": whole(usage.get(given)), "output": whole(usage.get(made))}
    if None in counts.values():
        return {name: count for name, count in counts.items() if count is not None} or None
    summed = whole(usage.get(total))
    counts["total"] = counts["input"] + counts["output"] if summed is None else summed
    reasoning = reasoning_tokens(usage)
    return counts if reasoning is None else counts | {"reasoning": reasoning}


def reasoning_tokens(usage: Mapping[str, Any]) -> int | None:
    """Return the tokens spent on reasoning, wherever a reply puts them."""
    for name in ("output_tokens_details", "completion_tokens_details"):
        count = whole(obj(usage.get(name)).get("reasoning_tokens"))
        if count is not None:
            return count
    return whole(usage.get("reasoning_tokens"))


def said(values: Iterable[Any]) -> tuple[str, ...]:
    """Return the texts among values, each once, without blank ones."""
    return tuple(dict.fromkeys(v for v in values if isinstance(v, str) and v.strip()))


def without_thinking(text: str) -> tuple[str, list[str]]:
    """Return a text without its leading `<think>` block; an unclosed one leaves nothing."""
    if not text.lstrip().startswith("<think>"):
        return text, []
    closed = re.match(r"\s*<think>.*?</think>", text, re.DOTALL)
    return (text[closed.end() :].lstrip() if closed else ""), ["think_block_removed"]
