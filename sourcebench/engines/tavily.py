"""Tavily search: rows, and an answer over them where it is asked for."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, items, obj, said, searched, text_of
from sourcebench.engines.wire import Exchange, Http, bearer, opened, post

URL = "https://api.tavily.com"
KEYS = ("TAVILY_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Search for one query, and return what was sent and what came back.

    Settings: `max_results`; `options`, further fields of the request (`include_answer`,
    `search_depth`, `topic`); `base_url`; `timeout` in seconds.
    """
    return (
        post(
            http,
            settings,
            URL,
            "/search",
            {"query": query, "max_results": settings.get("max_results", 10)},
            headers=bearer(key),
            key=key,
            wait=60,
        ),
    )


def parse(raw: Any) -> Reply:
    """Read a search; the answer over it carries no markers, so its rows have no place in it."""
    reply = opened(raw)
    fault = fault_reply(reply)
    if fault:
        return fault
    value = obj(reply.value)
    if "failed_results" in value:
        return contents(
            [text_of(row.get("url")) for row in items(value.get("results"))],
            [text_of(row.get("url")) for row in items(value.get("failed_results"))],
        )
    rows = [
        Source(text_of(row.get("url")), row.get("title"), row.get("published_date"))
        for row in items(value.get("results"))
    ]
    answer = text_of(value.get("answer"))
    return searched(rows, text=answer, queries=said([value.get("query")]))


def contents(read: list[str], unread: list[str]) -> Reply:
    """Return the reply of a request for the text of given pages: no answer, and no citations."""
    return Reply(outcome="empty", kind="contents", extra={"contents": read, "failed": unread})
