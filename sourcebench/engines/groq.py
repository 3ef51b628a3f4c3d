"""Groq compound: sources are what its tools found; nothing ties them to the answer."""

from __future__ import annotations

import json
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines import chat
from sourcebench.engines.mentions import (
    Source,
    answered,
    failed,
    items,
    obj,
    said,
    text_links,
    text_of,
)


def parse(raw: Any) -> Reply:
    """Read a reply, whole or streamed."""
    _, value, fault = chat.open_chat(raw)
    if not value.get("choices"):
        return fault or failed("no choices")
    text, warnings = chat.text_and_warnings(value)
    tools = items(chat.message_of(value).get("executed_tools"))
    found = [
        Source(text_of(row.get("url")), row.get("title"))
        for tool in tools
        for row in items(obj(tool.get("search_results")).get("results"))
    ]
    written = text_links(text)
    warnings += ["text_links"] if written else ["list_fallback"] if found else []
    return answered(
        text,
        written or found,
        found,
        warnings=warnings,
        queries=said(_query(tool) for tool in tools),
        **chat.known(value, text),
    )


def _query(tool: dict[str, Any]) -> Any:
    """Return the query of a tool."""
    try:
        return obj(json.loads(text_of(tool.get("arguments")) or "{}")).get("query")
    except (ValueError, RecursionError):
        return None
