"""Streamed replies put together: the pieces of each kind of stream become one whole reply."""

from __future__ import annotations

import json
from collections.abc import Sequence
from typing import Any

from sourcebench.engines.mentions import items, obj, text_of


def whole_reply(value: Any) -> Any:
    """Return a reply as one object: a stream is put together, anything else comes back as it is."""
    if not isinstance(value, list) or not items(value):
        return value
    pieces = items(value)
    kinds = [text_of(piece.get("type")) for piece in pieces]
    if any(kind.startswith("response.") for kind in kinds):
        return responses_stream(pieces)
    if "message_start" in kinds:
        return anthropic_stream(pieces)
    if any("candidates" in piece or "promptFeedback" in piece for piece in pieces):
        return gemini_stream(pieces)
    if any("choices" in piece for piece in pieces):
        return chat_stream(pieces)
    if len(pieces) == 1 and "error" in pieces[0]:
        return pieces[0]
    return value


def responses_stream(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return the response that ends a stream of events, or what its pieces give when it was cut."""
    for event in reversed(events):
        if event.get("type") in ("response.completed", "response.incomplete", "response.failed"):
            return obj(event.get("response"))
    errors = [event for event in events if event.get("type") == "error"]
    response = next((obj(e.get("response")) for e in events if "response" in e), {})
    ended = [e for e in events if e.get("type") == "response.output_item.done"]
    output = [obj(event.get("item")) for event in ended]
    output += _open_messages(events, {str(event.get("output_index")) for event in ended})
    made = {**response, "output": output, "status": "incomplete"}
    made["incomplete_details"] = {"reason": "stream_cut"}
    return made | ({"error": errors[0], "status": "failed"} if errors else {})


def _open_messages(events: Sequence[dict[str, Any]], ended: set[str]) -> list[dict[str, Any]]:
    """Return the messages that deltas spell out so far, of those that did not end."""
    messages: dict[str, dict[str, dict[str, Any]]] = {}
    for event in events:
        kind, index = text_of(event.get("type")), str(event.get("output_index"))
        known = kind in ("response.output_text.delta", "response.output_text.annotation.added")
        if not known or (index in ended and index != "None"):
            continue
        parts = messages.setdefault(index, {})
        part = parts.setdefault(
            str(event.get("content_index")), {"type": "output_text", "text": "", "annotations": []}
        )
        part["text"] += text_of(event.get("delta"))
        part["annotations"] += items([event.get("annotation")])
    return [{"type": "message", "content": list(parts.values())} for parts in messages.values()]


def chat_stream(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one chat completion from its chunks.

    Deltas are joined. Where a chunk repeats the message so far (Perplexity), the longest message
    stands instead: joining both would double the text.
    """
    made: dict[str, Any] = {"object": "chat.completion"}
    message: dict[str, Any] = {"role": "assistant"}
    finish, delta_text, so_far, annotations = None, "", "", []
    for chunk in chunks:
        made |= {k: v for k, v in chunk.items() if v is not None and k not in ("choices", "object")}
        for choice in items(chunk.get("choices"))[:1]:
            delta, full = obj(choice.get("delta")), obj(choice.get("message"))
            delta_text += text_of(delta.get("content"))
            so_far = max(so_far, text_of(full.get("content")), key=len)
            annotations += items(delta.get("annotations")) or items(full.get("annotations"))
            for name in ("refusal", "executed_tools"):
                if delta.get(name) or full.get(name):
                    message[name] = (
                        text_of(message.get(name)) + text_of(delta.get(name))
                        if name == "refusal"
                        else delta.get(name) or full.get(name)
                    )
            finish = choice.get("finish_reason") or finish
    message["content"] = max(so_far, delta_text, key=len)
    cut = finish is None and any("delta" in c for k in chunks for c in items(k.get("choices")))
    finish = "stream_cut" if cut else finish
    if annotations:
        message["annotations"] = annotations
    return {**made, "choices": [{"index": 0, "message": message, "finish_reason": finish}]}


def anthropic_stream(events: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one message from its events; citations may come before the text they belong to."""
    message: dict[str, Any] = {}
    blocks: dict[str, dict[str, Any]] = {}
    for event in events:
        kind, index = text_of(event.get("type")), str(event.get("index"))
        if kind == "message_start":
            message = dict(obj(event.get("message")))
        elif kind == "content_block_start":
            blocks[index] = dict(obj(event.get("content_block")))
        elif kind == "content_block_delta" and index in blocks:
            _add_delta(blocks[index], obj(event.get("delta")))
        elif kind == "message_delta":
            message |= {k: v for k, v in obj(event.get("delta")).items() if v is not None}
            message["usage"] = {**obj(message.get("usage")), **obj(event.get("usage"))}
        elif kind == "error":
            message["error"] = event.get("error")
    for block in blocks.values():
        if "_json" in block:
            block["input"] = _json(block.pop("_json"))
    if "message_stop" not in [event.get("type") for event in events]:
        message["stop_reason"] = message.get("stop_reason") or "stream_cut"
    return message | {"type": "message", "content": list(blocks.values())}


def _add_delta(block: dict[str, Any], delta: dict[str, Any]) -> None:
    """Add one piece to a content block."""
    kind = delta.get("type")
    if kind == "text_delta":
        block["text"] = text_of(block.get("text")) + text_of(delta.get("text"))
    elif kind == "citations_delta":
        block["citations"] = [*items(block.get("citations")), delta.get("citation")]
    elif kind == "input_json_delta":
        block["_json"] = text_of(block.get("_json")) + text_of(delta.get("partial_json"))


def _json(text: str) -> Any:
    """Return what a text holds as JSON, or nothing."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return {}


def gemini_stream(chunks: Sequence[dict[str, Any]]) -> dict[str, Any]:
    """Return one reply from its chunks: text joined, the last grounding and the last counts."""
    made: dict[str, Any] = {}
    parts, candidate = [], {}
    for chunk in chunks:
        made |= {k: v for k, v in chunk.items() if k != "candidates" and v is not None}
        for one in items(chunk.get("candidates"))[:1]:
            parts += items(obj(one.get("content")).get("parts"))
            candidate |= {k: v for k, v in one.items() if k != "content" and v}
    if not candidate and not parts:
        return made
    if not (candidate.get("finishReason") or candidate.get("finish_reason")):
        candidate["finishReason"] = "stream_cut"
    return made | {"candidates": [{**candidate, "content": {"role": "model", "parts": parts}}]}
