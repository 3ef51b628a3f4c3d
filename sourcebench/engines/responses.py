"""The reply shape `object: response`, which OpenAI, xAI, DeepSeek and Perplexity's agent share."""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.anchors import anchored
from sourcebench.engines.faults import fault_message, fault_reply
from sourcebench.engines.markers import marked
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    said,
    text_links,
    text_of,
    texts,
    tokens,
    whole,
)
from sourcebench.engines.streams import whole_reply
from sourcebench.engines.wire import opened

_STATUS = {"completed": "ok", "incomplete": "incomplete", "failed": "error", "cancelled": "error"}
_LEAKED = "\ue200"  # private-use character around citation markup that a model leaks into its text


def parse(raw: Any) -> Reply:
    """Read a reply of this shape, whole or streamed."""
    reply = opened(raw)
    value = obj(whole_reply(reply.value))
    fault = fault_reply(reply)
    if fault and not value.get("output"):
        return fault
    output = items(value.get("output"))
    text, mentions, warnings, refusal = _answer(output)
    found, numbered = _found(output)
    if not mentions and numbered:
        mentions, missing = marked(text, numbered)
        warnings += missing
    if not mentions and text:
        mentions = text_links(text)
        warnings += ["text_links"] if mentions else []
    status, reason = _status(value, text, refusal)
    return answered(
        text,
        mentions,
        found,
        status=status,
        reason=reason,
        warnings=warnings,
        usage=tokens(value.get("usage"), "input_tokens", "output_tokens"),
        model=text_of(value.get("model")),
        queries=said(_queries(output)),
        extra=_extra(output, refusal),
    )


def _answer(output: Sequence[dict[str, Any]]) -> tuple[str, list[Source], list[str], str]:
    """Return text, mentions, warnings and refusal of the final message."""
    messages = [item for item in output if item.get("type") == "message"]
    final = [m for m in messages if m.get("phase") == "final_answer"]
    text, refusal, mentions, warnings = "", "", [], []
    for part in (part for m in final or messages for part in items(m.get("content"))):
        if part.get("type") == "refusal":
            refusal += text_of(part.get("refusal"))
        elif part.get("type") in ("output_text", "text"):
            piece = text_of(part.get("text"))
            placed, said_of_them = anchored(piece, _annotations(part))
            mentions += [_moved(mention, len(text)) for mention in placed]
            warnings += said_of_them
            text += piece
    if mentions and all(mention.start is None for mention in mentions):
        warnings.append("list_fallback")
    if _LEAKED in text:
        warnings.append("citation_artifacts")
    return text, mentions, warnings, refusal


def _annotations(part: dict[str, Any]) -> list[Source]:
    """Return the web citations of one part; citations of files are none."""
    return [
        Source(
            text_of(note.get("url")),
            note.get("title"),
            None,
            whole(note.get("start_index")),
            whole(note.get("end_index")),
        )
        for note in items(part.get("annotations"))
        if note.get("type", "url_citation") == "url_citation"
    ]


def _moved(source: Source, by: int) -> Source:
    """Return a mention with its place counted from the beginning of the whole text."""
    if source.start is None or source.end is None:
        return source
    return Source(source.url, source.title, source.date, source.start + by, source.end + by)


def _found(output: Iterable[dict[str, Any]]) -> tuple[list[Source], dict[int, Source]]:
    """Return every source the reply lists, and those that markers refer to by number."""
    found, numbered = [], {}
    for item in output:
        action = obj(item.get("action"))
        found += [Source(text_of(s.get("url"))) for s in items(action.get("sources"))]
        if action.get("type") == "open_page" and isinstance(action.get("url"), str):
            found.append(Source(action["url"]))
        for row in items(item.get("results")) if item.get("type") == "search_results" else []:
            source = Source(text_of(row.get("url")), row.get("title"), row.get("date"))
            found.append(source)
            if (number := whole(row.get("id"))) is not None:
                numbered[number] = source
        if item.get("type") == "fetch_url_results":
            found += [
                Source(text_of(r.get("url")), r.get("title")) for r in items(item.get("contents"))
            ]
    return found, numbered


def _queries(output: Iterable[dict[str, Any]]) -> Iterable[Any]:
    """Yield the queries of all search calls."""
    for item in output:
        action = obj(item.get("action"))
        yield from texts(action.get("queries")) or [action.get("query")]
        if item.get("type") == "search_results":
            yield from texts(item.get("queries"))
        if isinstance(item.get("arguments"), str):
            try:
                yield obj(json.loads(item["arguments"])).get("query")
            except (ValueError, RecursionError):
                continue


def _status(value: dict[str, Any], text: str, refusal: str) -> tuple[str, str]:
    """Return the status of a reply and the reason behind it."""
    status = _STATUS.get(text_of(value.get("status")) or "completed", "pending")
    if value.get("error") and not text:
        return "error", fault_message(value)
    if status == "incomplete":
        why = text_of(obj(value.get("incomplete_details")).get("reason"))
        return ("blocked" if why == "content_filter" else "incomplete"), why
    if refusal and not text:
        return "refused", refusal
    return status, "" if status == "ok" else text_of(value.get("status"))


def _extra(output: Iterable[dict[str, Any]], refusal: str) -> dict[str, Any]:
    """Return what belongs to no column: sources without an address, and a refusal's words."""
    sources = [s for item in output for s in items(obj(item.get("action")).get("sources"))]
    named = said(s.get("name") for s in sources if s.get("type") == "api")
    extra: dict[str, Any] = {"api_sources": list(named)} if named else {}
    return extra | ({"refusal": refusal} if refusal else {})
