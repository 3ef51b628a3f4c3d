"""You.com: answers whose `[n]` refer to a list of citations, and plain search."""

from __future__ import annotations

from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_reply
from sourcebench.engines.markers import marked
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    places,
    said,
    searched,
    text_of,
)
from sourcebench.engines.wire import opened


def parse(raw: Any) -> Reply:
    """Read an answer or a search; titles and dates of citations come from the results."""
    reply = opened(raw)
    value = obj(reply.value)
    fault = fault_reply(reply)
    if fault:
        return fault
    found = [
        Source(text_of(row.get("url")), row.get("title"), row.get("page_age"))
        for kind in ("web", "news")
        for row in items(obj(value.get("results")).get(kind))
    ]
    if "answer" not in value:
        return searched(found, queries=said([obj(value.get("metadata")).get("query")]))
    text = text_of(value["answer"])
    cited = map(obj, places(value.get("citations")))
    listed = [Source(text_of(row.get("source"))) for row in cited]
    mentions, warnings = marked(text, dict(enumerate(listed, start=1)))
    if not mentions and listed:
        mentions, warnings = listed, [*warnings, "list_fallback"]
    return answered(text, mentions, [*found, *listed], warnings=warnings)
