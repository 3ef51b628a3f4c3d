"""Mistral conversations: references follow the piece of text that they support."""

from __future__ import annotations

import json
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, answered, items, obj, said, text_of, tokens
from sourcebench.engines.wire import opened


def parse(raw: Any) -> Reply:
    """Read a conversation; several references in a row belong to the same piece of text."""
    reply = opened(raw)
    value = obj(reply.value)
    outputs = items(value.get("outputs"))
    fault = fault_reply(reply)
    if fault and not outputs:
        return fault
    text, mentions = "", []
    span: tuple[int | None, int | None] = (None, None)
    for output in outputs:
        content = output.get("content") if output.get("type") == "message.output" else []
        chunks = [{"type": "text", "text": content}] if isinstance(content, str) else items(content)
        for chunk in chunks:
            if chunk.get("type") == "text":
                piece = text_of(chunk.get("text"))
                span = (len(text), len(text) + len(piece)) if piece else span
                text += piece
            elif chunk.get("type") == "tool_reference" and chunk.get("url"):
                mentions.append(Source(text_of(chunk["url"]), chunk.get("title"), None, *span))
    return answered(
        text,
        mentions,
        span_kind="claim",
        usage=tokens(value.get("usage"), "prompt_tokens", "completion_tokens"),
        model=next((text_of(o["model"]) for o in outputs if o.get("model")), ""),
        queries=said(_query(o) for o in outputs if o.get("type") == "tool.execution"),
    )


def _query(output: dict[str, Any]) -> Any:
    """Return the query of a tool's execution."""
    try:
        return obj(json.loads(text_of(output.get("arguments")) or "{}")).get("query")
    except (ValueError, RecursionError):
        return None
