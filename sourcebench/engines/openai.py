"""OpenAI: the Responses API with web search, and the search models of chat completions."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines import chat, responses
from sourcebench.engines.wire import Exchange, Http, bearer, post

URL = "https://api.openai.com/v1"
KEYS = ("OPENAI_API_KEY",)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Ask one query, and return what was sent and what came back.

    Settings: `model`; `api` ("responses", or "chat" for the search models); `options`, further
    fields of the request (`stream = true` too); `base_url`; `timeout` in seconds.
    """
    if settings.get("api", "responses") == "chat":
        path = "/chat/completions"
        body = {
            "model": settings["model"],
            "messages": [{"role": "user", "content": query}],
            "web_search_options": {},
        }
    else:
        path = "/responses"
        body = {
            "model": settings["model"],
            "input": query,
            "tools": [{"type": "web_search"}],
            "include": ["web_search_call.action.sources"],
        }
    return (post(http, settings, URL, path, body, headers=bearer(key), key=key),)


def parse(raw: Any) -> Reply:
    """Read a reply of either API, whole or streamed."""
    _, value, _ = chat.open_chat(raw)
    return chat.parse(raw) if value.get("choices") else responses.parse(raw)
