"""Azure AI agents with Bing grounding: a message of a thread, with marks of the form `【3:0†source】`."""

from __future__ import annotations

from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.anchors import anchored
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.mentions import Source, answered, items, obj, text_of, whole
from sourcebench.engines.wire import opened


def parse(raw: Any) -> Reply:
    """Read a message; the results that Bing found are not in it."""
    reply = opened(raw)
    value = obj(reply.value)
    fault = fault_reply(reply)
    if fault and not value.get("content"):
        return fault
    text, mentions, warnings = "", [], []
    for part in items(value.get("content")):
        piece = text_of(obj(part.get("text")).get("value"))
        notes = [
            Source(
                text_of(obj(note.get("url_citation")).get("url")),
                obj(note.get("url_citation")).get("title"),
                None,
                whole(note.get("start_index")),
                whole(note.get("end_index")),
            )
            for note in items(obj(part.get("text")).get("annotations"))
            if note.get("type") == "url_citation"
        ]
        placed, said = anchored(piece, notes)
        for source in placed:
            start, end = source.start, source.end
            if start is not None and end is not None:
                start, end = start + len(text), end + len(text)
            mentions.append(Source(source.url, source.title, None, start, end))
        warnings += said
        text += piece
    return answered(text, mentions, warnings=warnings)
