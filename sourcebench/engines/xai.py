"""xAI Grok: the Responses API with web search; older live search and the SDK's own form are read too."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines import chat, responses
from sourcebench.engines.anchors import anchored
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    places,
    said,
    text_links,
    text_of,
    texts,
    tokens,
    whole,
)
from sourcebench.engines.wire import Exchange, Http, bearer, opened, post

URL = "https://api.x.ai/v1"
KEYS = ("XAI_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Ask one query, and return what was sent and what came back.

    Settings: `model`; `tools` (default web search alone; add `{type = "x_search"}` for posts);
    `options`, further fields of the request; `base_url`; `timeout` in seconds.
    """
    body = {
        "model": settings["model"],
        "input": [{"role": "user", "content": query}],
        "tools": list(settings.get("tools", [{"type": "web_search"}])),
    }
    return (post(http, settings, URL, "/responses", body, headers=bearer(key), key=key),)


def parse(raw: Any) -> Reply:
    """Read a reply of any of the three surfaces."""
    reply = opened(raw)
    value = obj(reply.value) if isinstance(reply.value, dict) else {}
    if "outputs" in value:
        return _parse_sdk(value, fault_reply(reply))
    _, completion, _ = chat.open_chat(raw)
    return _parse_live(raw) if completion.get("choices") else responses.parse(raw)


def _parse_live(raw: Any) -> Reply:
    """Read a chat completion with live search: a list of sources met, tied to no place."""
    _, value, _ = chat.open_chat(raw)
    text, warnings = chat.text_and_warnings(value)
    listed = [
        Source(text_of(entry) or text_of(obj(entry).get("url")))
        for entry in places(value.get("citations"))
    ]
    written = text_links(text)
    warnings += (["text_links"] if written else ["list_fallback"]) if listed or written else []
    return answered(text, written or listed, listed, warnings=warnings, **chat.known(value, text))


def _parse_sdk(value: dict[str, Any], fault: Reply | None) -> Reply:
    """Read the SDK's message dumped as JSON; zeros are left out there, so a missing start is 0."""
    messages = [obj(output.get("message")) for output in items(value.get("outputs"))]
    spoken = [m for m in messages if m.get("role") == "ROLE_ASSISTANT" and m.get("content")]
    if not spoken and fault:
        return fault
    text = text_of(spoken[-1].get("content")) if spoken else ""
    inline = [_inline(c) for c in items(spoken[-1].get("citations"))] if spoken else []
    mentions, warnings = anchored(text, [mention for mention in inline if mention])
    met = [Source(url) for url in texts(value.get("citations"))]
    met += [
        Source(_url(c)) for m in messages if m.get("role") == "ROLE_TOOL" for c in items(m.get("citations"))
    ]  # fmt: skip
    if not mentions:
        mentions = text_links(text) or met
        warnings += (
            ["list_fallback"] if mentions is met and met else ["text_links"] * bool(mentions)
        )
    calls = [obj(c.get("function")) for m in messages for c in items(m.get("tool_calls"))]
    return answered(
        text,
        mentions,
        met,
        warnings=warnings,
        model=text_of(value.get("model")),
        usage=tokens(value.get("usage"), "prompt_tokens", "completion_tokens"),
        queries=said(_query(call) for call in calls),
    )


def _url(citation: dict[str, Any]) -> str:
    """Return the address of a citation of the SDK."""
    for kind in ("web_citation", "x_citation"):
        url = obj(citation.get(kind)).get("url")
        if isinstance(url, str):
            return url
    return ""


def _inline(citation: dict[str, Any]) -> Source | None:
    """Return an inline citation of the SDK as a mention."""
    url = _url(citation)
    end = whole(citation.get("end_index"))
    return Source(url, None, None, whole(citation.get("start_index", 0)), end) if url else None


def _query(call: dict[str, Any]) -> Any:
    """Return the query of a tool call."""
    try:
        return obj(json.loads(text_of(call.get("arguments")) or "{}")).get("query")
    except (ValueError, RecursionError):
        return None
