"""Any OpenAI-compatible chat endpoint, and the reply shape `chat.completion` that others share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.anchors import anchored
from sourcebench.engines.faults import fault_message, fault_reply
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    text_of,
    tokens,
    whole,
    without_thinking,
    written,
)
from sourcebench.engines.streams import whole_reply
from sourcebench.engines.wire import Exchange, Http, Opened, bearer, opened, post
from sourcebench.intext import cited_in_text

KEYS: tuple[str, ...] = ()
_BROKEN_OFF = ("error", "insufficient_system_resource")  # reasons for an end that is none
PROMPT = (
    "Answer the question. After each claim, cite the web page that it rests on as a Markdown link "
    "with its full address: [title](https://...)."
)


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: Any) -> tuple[Exchange, ...]:
    """Ask one query of an endpoint, and return what was sent and what came back.

    Settings: `base_url`; `model`; `prompt`, what the model is told before the query (nothing, if
    empty); `options`, further fields of the request; `timeout` in seconds; `key`, if one is needed.
    """
    told, secret = settings.get("prompt", PROMPT), key if isinstance(key, str) else ""
    before = [{"role": "system", "content": told}] if told else []
    body = {
        "model": settings["model"],
        "messages": [*before, {"role": "user", "content": query}],
    }
    return (
        post(
            http,
            settings,
            "",
            "/chat/completions",
            body,
            headers=bearer(secret) if secret else None,
            key=secret,
        ),
    )


def parse(raw: Any) -> Reply:
    """Read a completion: its citations are its annotations, or else what its text cites."""
    _, value, fault = open_chat(raw)
    if fault:
        return fault
    text, warnings = text_and_warnings(value)
    listed, said = annotations(value, text)
    mentions = listed
    if "zero_spans" in said or not listed:
        mentions = text_citations(text) or listed
        said += ["text_links"] if mentions is not listed else []
    return answered(text, mentions, listed, warnings=warnings + said, **known(value, text))


def text_citations(text: str) -> list[Source]:
    """Return what a text cites by itself: links, addresses, marks with a list of sources.

    An entry of the list that no mark names is a citation without a place.
    """
    found = cited_in_text(text)
    listed = [Source(entry.url, entry.title or None) for entry in found.listed]
    return written(text, found.mentions) + listed


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
        spoken = [p for p in items(content) if p.get("type", "text") in ("text", "output_text")]
        content = "".join(text_of(part.get("text")) for part in spoken)
    return without_thinking(text_of(content))


def annotations(value: Mapping[str, Any], text: str) -> tuple[list[Source], list[str]]:
    """Return the web citations that a message carries as annotations, put in place."""
    notes = [
        obj(note.get("url_citation")) or note
        for note in items(message_of(value).get("annotations"))
        if note.get("type", "url_citation") == "url_citation"
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
    choice = next(iter(items(value.get("choices"))), {})
    finish = text_of(choice.get("finish_reason"))
    if value.get("error") or choice.get("error") or finish in _BROKEN_OFF:
        said = fault_message(value) or fault_message(choice) or finish
        return ("incomplete" if text else "error"), said
    refusal = text_of(message_of(value).get("refusal"))
    if refusal and not text:
        return "refused", refusal
    if finish == "content_filter":
        return "blocked", finish
    if finish == "tool_calls" and not text:
        return "pending", "the model asks for a tool and gives no answer"
    return ("incomplete", finish) if finish in ("length", "stream_cut") else ("ok", "")
