"""Perplexity: Sonar chat completions, whose `[n]` refer to a list beside the answer, and the Agent API."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines import chat, responses
from sourcebench.engines.markers import marked
from sourcebench.engines.mentions import Source, answered, obj, places, text_links, text_of
from sourcebench.engines.wire import Exchange, Http, bearer, post

URL = "https://api.perplexity.ai"
KEYS = ("PERPLEXITY_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Ask one query, and return what was sent and what came back.

    Settings: `model`; `api` ("sonar", or "agent"); `options`, further fields of the request;
    `base_url`; `timeout` in seconds.
    """
    if settings.get("api", "sonar") == "agent":
        path = "/v1/agent"
        body = {"model": settings["model"], "input": query, "tools": [{"type": "web_search"}]}
    else:
        path = "/chat/completions"
        body = {"model": settings["model"], "messages": [{"role": "user", "content": query}]}
    return (post(http, settings, URL, path, body, headers=bearer(key), key=key),)


def parse(raw: Any) -> Reply:
    """Read a reply of either API, whole or streamed; either of the two source lists may be missing."""
    reply, value, fault = chat.open_chat(raw)
    if isinstance(reply.value, dict) and reply.value.get("object") == "response":
        return responses.parse(raw)
    if not value.get("choices"):
        return fault or responses.parse(raw)
    text, warnings = chat.text_and_warnings(value)
    results = [
        Source(text_of(row.get("url")), row.get("title"), row.get("date"))
        for row in map(obj, places(value.get("search_results")))
    ]
    listed = [
        Source(text_of(entry) or text_of(obj(entry).get("url")), obj(entry).get("title"))
        for entry in places(value.get("citations"))
    ]
    mentions, missing = marked(text, dict(enumerate(listed or results, start=1)))
    warnings += missing if listed or results else []
    if not mentions:
        mentions = text_links(text)
        warnings += ["text_links"] if mentions else []
    if not mentions and (listed or results):
        mentions = listed or results
        warnings.append("list_fallback")
    return answered(
        text, mentions, [*results, *listed], warnings=warnings, **chat.known(value, text)
    )
