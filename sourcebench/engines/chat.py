"""The reply shape `chat.completion`: answer, citations in annotations or beside it, tokens."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.anchors import anchored
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import (
    Source,
    items,
    obj,
    text_of,
    tokens,
    whole,
    without_thinking,
)
from sourcebench.engines.streams import whole_reply
from sourcebench.engines.wire import Opened, opened


def open_chat(raw: Any) -> tuple[Opened, dict[str, Any], Reply | None]:
    """Return the opened reply, the completion it holds, and the failed reply if there is none."""
    reply = opened(raw)
    value = obj(whole_reply(reply.value))
    fault = fault_reply(reply)
    return reply, value, None if value.get("choices") else fault


def message_of(value: Mapping[str, Any]) -> dict[str, Any]:
    """Return the message of the first choice."""
    choices = items(value.get("choices"))
    return obj(choices[0].get("message")) if choices else {}


def text_and_warnings(value: Mapping[str, Any]) -> tuple[str, list[str]]:
    """Return the answer, without reasoning, and the warnings that go with it."""
    content = message_of(value).get("content")
    if isinstance(content, list):
        content = "".join(text_of(part.get("text")) for part in items(content))
    return without_thinking(text_of(content))


def annotations(value: Mapping[str, Any], text: str) -> tuple[list[Source], list[str]]:
    """Return the web citations that a message carries as annotations, put in place."""
    notes = [
        obj(note.get("url_citation")) or note
        for note in items(message_of(value).get("annotations"))
        if note.get("type") == "url_citation"
    ]
    found = [
        Source(
            text_of(note.get("url")),
            note.get("title"),
            None,
            whole(note.get("start_index")),
            whole(note.get("end_index")),
        )
        for note in notes
    ]
    return anchored(text, found)


def known(value: Mapping[str, Any], text: str) -> dict[str, Any]:
    """Return what every reply of this shape says beside answer and citations."""
    status, reason = _status(value, text)
    return {
        "status": status,
        "reason": reason,
        "model": text_of(value.get("model")),
        "usage": tokens(value.get("usage"), "prompt_tokens", "completion_tokens"),
    }


def _status(value: Mapping[str, Any], text: str) -> tuple[str, str]:
    """Return the status of a completion and the reason behind it."""
    choices = items(value.get("choices"))
    finish = text_of(choices[0].get("finish_reason")) if choices else ""
    refusal = text_of(message_of(value).get("refusal"))
    if refusal and not text:
        return "refused", refusal
    if finish == "content_filter":
        return "blocked", finish
    if finish == "tool_calls" and not text:
        return "pending", "the model asks for a tool and gives no answer"
    return ("incomplete", finish) if finish == "length" else ("ok", "")
