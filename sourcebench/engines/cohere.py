"""Cohere chat, second version: spans of the answer cite documents that the caller gave."""

from __future__ import annotations

from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.anchors import from_utf16
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    places,
    text_of,
    tokens,
    whole,
)
from sourcebench.engines.wire import opened


def parse(raw: Any) -> Reply:
    """Read a reply; citations of plans and thoughts are none of the answer."""
    reply = opened(raw)
    value = obj(reply.value)
    message = obj(value.get("message"))
    fault = fault_reply(reply)
    if fault and not message:
        return fault
    text, bases = "", {}
    for place, part in enumerate(map(obj, places(message.get("content")))):
        bases[place] = len(text)
        text += text_of(part.get("text")) if part.get("type") == "text" else ""
    mentions, warnings = [], []
    for cited in items(message.get("citations")):
        if cited.get("type") in ("THINKING_CONTENT", "PLAN"):
            continue
        span, warning = _span(text, cited, bases)
        warnings += [warning] if warning else []
        for source in items(cited.get("sources")):
            inside = obj(source.get("document")) or obj(source.get("tool_output"))
            url = text_of(inside.get("url"))
            if url:
                mentions.append(Source(url, inside.get("title"), inside.get("date"), *span))
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


def _span(
    text: str, cited: dict[str, Any], bases: dict[int, int]
) -> tuple[tuple[int | None, int | None], str | None]:
    """Return what a citation covers: code points, or UTF-16 units, of the part that it names.

    The reading that gives the citation's own words is right; without words, code points are.
    """
    start, end, words = (
        whole(cited.get("start")),
        whole(cited.get("end")),
        text_of(cited.get("text")),
    )
    if start is None or end is None:
        return (None, None), None
    base = bases.get(whole(cited.get("content_index")) or 0, 0)
    units = from_utf16(text[base:], start, end) or (start, end)
    for span, warning in (((start, end), None), (units, "offset_unit_utf16")):
        a, b = base + span[0], base + span[1]
        if a < b <= len(text) and words in ("", text[a:b]):
            return (a, b), warning
    if words and text.count(words) == 1:
        return (text.index(words), text.index(words) + len(words)), "span_reanchored"
    return (None, None), "segment_text_differs" if words else "span_out_of_range"
