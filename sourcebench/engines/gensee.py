"""Gensee search: rows of title, address and content, without dates."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, items, obj, searched, text_of
from sourcebench.engines.wire import Exchange, Http, bearer, opened, post

URL = "https://app.gensee.ai/api"
KEYS = ("GENSEE_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Search for one query, and return what was sent and what came back.

    Settings: `max_results`; `mode` ("evidence", or "digest"); `options`, further fields of the
    request; `base_url`; `timeout` in seconds.
    """
    body = {
        "query": query,
        "max_results": settings.get("max_results", 10),
        "mode": settings.get("mode", "evidence"),
    }
    return (post(http, settings, URL, "/search", body, headers=bearer(key), key=key, wait=120),)


def parse(raw: Any) -> Reply:
    """Read a search."""
    reply = opened(raw)
    value = obj(reply.value)
    fault = fault_reply(reply)
    if fault and "search_response" not in value:
        return fault
    rows = items(value.get("search_response"))
    return searched([Source(text_of(row.get("url")), row.get("title")) for row in rows])
