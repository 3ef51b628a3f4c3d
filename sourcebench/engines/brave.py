"""Brave web search: web rows only; news, videos and discussions are other kinds of results."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, items, obj, said, searched, text_of
from sourcebench.engines.wire import Exchange, Http, opened, send

URL = "https://api.search.brave.com/res/v1"
KEYS = ("BRAVE_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Search for one query, and return what was sent and what came back.

    Settings: `max_results`; `options`, further parameters; `base_url`; `timeout` in seconds.
    """
    exchange = send(
        http,
        "GET",
        settings.get("base_url", URL) + "/web/search",
        params={"q": query, "count": settings.get("max_results", 10)}
        | dict(settings.get("options", {})),
        headers={"X-Subscription-Token": key, "Accept": "application/json"},
        key=key,
        timeout=settings.get("timeout", 60),
    )
    return (exchange,)


def parse(raw: Any) -> Reply:
    """Read a search; `page_age` is the nearest thing to a date, and says no time zone."""
    reply = opened(raw)
    fault = fault_reply(reply)
    if fault:
        return fault
    value = obj(reply.value)
    rows = [
        Source(text_of(row.get("url")), row.get("title"), row.get("page_age"))
        for row in items(obj(value.get("web")).get("results"))
    ]
    return searched(rows, queries=said([obj(value.get("query")).get("original")]))
