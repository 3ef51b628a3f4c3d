"""Cohere chat, second version: spans of the answer cite documents that the caller gave."""

from __future__ import annotations

from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, answered, items, obj, text_of, tokens, whole
from sourcebench.engines.wire import opened


def parse(raw: Any) -> Reply:
    """Read a reply; citations of plans and thoughts are none of the answer."""
    reply = opened(raw)
    value = obj(reply.value)
    message = obj(value.get("message"))
    fault = fault_reply(reply)
    if fault and not message:
        return fault
    pieces = [part for part in items(message.get("content")) if part.get("type") == "text"]
    text = "".join(text_of(piece.get("text")) for piece in pieces)
    mentions, warnings = [], []
    for cited in items(message.get("citations")):
        if cited.get("type") in ("THINKING_CONTENT", "PLAN"):
            continue
        for source in items(cited.get("sources")):
            inside = obj(source.get("document")) or obj(source.get("tool_output"))
            url = text_of(inside.get("url"))
            if url:
                start, end = whole(cited.get("start")), whole(cited.get("end"))
                mentions.append(Source(url, inside.get("title"), inside.get("date"), start, end))
            else:
                warnings.append("non_web_citation")
    return answered(
        text,
        mentions,
        span_kind="claim",
        warnings=warnings,
        status="ok" if value.get("finish_reason") in (None, "COMPLETE") else "incomplete",
        reason="" if value.get("finish_reason") == "COMPLETE" else text_of(value.get("finish_reason")),
        usage=tokens(obj(value.get("usage")).get("tokens"), "input_tokens", "output_tokens"),
    )  # fmt: skip
