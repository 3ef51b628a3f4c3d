"""Exa: search, answers over it, and deep search, whose sources belong to fields of the output."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, answered, items, obj, searched, text_of
from sourcebench.engines.tavily import contents
from sourcebench.engines.wire import Exchange, Http, opened, post

URL = "https://api.exa.ai"
KEYS = ("EXA_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Ask one query, and return what was sent and what came back.

    Settings: `api` ("search", or "answer"); `max_results`; `options`, further fields of the
    request; `base_url`; `timeout` in seconds.
    """
    api = settings.get("api", "search")
    body = {"query": query}
    if api == "search":
        body |= {"numResults": settings.get("max_results", 10)}
    return (
        post(http, settings, URL, f"/{api}", body, headers={"x-api-key": key}, key=key, wait=120),
    )


def parse(raw: Any) -> Reply:
    """Read a search, an answer (whole or streamed), or a deep search."""
    reply = opened(raw)
    fault = fault_reply(reply)
    if isinstance(reply.value, list):
        streamed = _parse_stream(items(reply.value))
        return fault if fault and not streamed.text else streamed
    if fault:
        return fault
    value = obj(reply.value)
    if "answer" in value:
        return _answer(value["answer"], items(value.get("citations")))
    if "output" in value:
        return _parse_deep(value)
    if "statuses" in value and "searchType" not in value:
        failed = [
            text_of(s.get("id")) for s in items(value["statuses"]) if s.get("status") == "error"
        ]
        return contents([text_of(row.get("url")) for row in items(value.get("results"))], failed)
    return searched([_row(row) for row in items(value.get("results"))])


def _row(row: Mapping[str, Any]) -> Source:
    """Return a result as a source."""
    return Source(text_of(row.get("url")), row.get("title"), row.get("publishedDate"))


def _answer(answer: Any, citations: list[dict[str, Any]]) -> Reply:
    """Return an answer with its list of citations, which have no place in it."""
    whole_text = isinstance(answer, str)
    text = answer if whole_text else json.dumps(answer, ensure_ascii=False)
    warnings = [] if whole_text else ["answer_is_object"]
    mentions = [_row(row) for row in citations]
    warnings += ["list_fallback"] if mentions else []
    return answered(text, mentions, warnings=warnings)


def _parse_deep(value: Mapping[str, Any]) -> Reply:
    """Read a deep search: what a field of the output is grounded in is cited, the rest is found."""
    output = obj(value.get("output"))
    content = output.get("content")
    text = content if isinstance(content, str) else json.dumps(content, ensure_ascii=False)
    mentions = [
        Source(text_of(cited.get("url")), cited.get("title"))
        for ground in items(output.get("grounding"))
        for cited in items(ground.get("citations"))
    ]
    found = [_row(row) for row in items(value.get("results"))]
    warnings = ["field_level_grounding"] if mentions else []
    warnings += [] if isinstance(content, str) else ["answer_is_object"]
    return answered(text, mentions, found, warnings=warnings)


def _parse_stream(chunks: list[dict[str, Any]]) -> Reply:
    """Read a streamed answer; a chunk's citations may be the text "null"."""
    text = "".join(
        text_of(obj(choice.get("delta")).get("content"))
        for chunk in chunks
        for choice in items(chunk.get("choices"))[:1]
    )
    return _answer(text, [row for chunk in chunks for row in items(chunk.get("citations"))])
