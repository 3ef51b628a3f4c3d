"""Google Gemini with search grounding: generateContent, its streams, and the Interactions API."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any
from urllib.parse import urlsplit

from sourcebench.collect.replies import Reply
from sourcebench.engines.anchors import from_utf8
from sourcebench.engines.faults import fault_message, fault_reply
from sourcebench.engines.mentions import (
    Source,
    answered,
    failed,
    items,
    obj,
    places,
    said,
    text_links,
    text_of,
    texts,
    tokens,
    whole,
)
from sourcebench.engines.streams import whole_reply
from sourcebench.engines.wire import EngineError, Exchange, Http, Opened, opened, post, send

URL = "https://generativelanguage.googleapis.com/v1beta"
REDIRECTOR = "vertexaisearch.cloud.google.com"
KEYS = ("GEMINI_API_KEY",)
_MOST_REDIRECTS = 40


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Ask one query, then ask the redirector where each cited address leads.

    Grounding cites short-lived redirects; where they lead is recorded now, since they expire.
    Settings: `model`; `stream`; `resolve` (default true); `options`, further fields of the
    request; `base_url`; `timeout` in seconds.
    """
    method = "streamGenerateContent?alt=sse" if settings.get("stream") else "generateContent"
    body = {
        "contents": [{"role": "user", "parts": [{"text": query}]}],
        "tools": [{"google_search": {}}],
    }
    exchange = post(
        http,
        settings,
        URL,
        f"/models/{settings['model']}:{method}",
        body,
        headers={"x-goog-api-key": key},
        key=key,
    )
    if exchange.status >= 400 or not settings.get("resolve", True):
        return (exchange,)
    return (exchange, *_redirects(exchange, http))


def _redirects(exchange: Exchange, http: Http) -> list[Exchange]:
    """Ask the redirector, and no other host, where the cited addresses lead."""
    try:
        reply = parse(exchange)
    except ValueError:
        return []
    addresses = dict.fromkeys(c.url for c in (*reply.citations, *reply.uncited))
    wanted = [url for url in addresses if _host(url) == REDIRECTOR]
    made = []
    for url in wanted[:_MOST_REDIRECTS]:
        try:
            made.append(send(http, "HEAD", url, timeout=15))
        except EngineError:
            continue
    return made


def _host(url: str) -> str:
    """Return the host of an address, or nothing if it is none."""
    try:
        return urlsplit(url).netloc
    except ValueError:
        return ""


def parse(raw: Any) -> Reply:
    """Read a reply: parts joined, byte offsets turned into code points, redirects followed if recorded."""
    reply = opened(raw)
    value = obj(whole_reply(reply.value))
    if "steps" in value or value.get("object") == "interaction":
        return _parse_interaction(value)
    candidates = items(value.get("candidates"))
    blocked = _get(obj(_get(value, "promptFeedback")), "blockReason")
    if not candidates and isinstance(blocked, str):
        return failed(blocked, status="blocked", usage=_usage(value), model=_model(value))
    if not candidates:
        return fault_reply(reply) or failed("no candidates", status="empty")
    return _parse_candidate(value, candidates[0], _targets(reply))


def _parse_candidate(value: dict, candidate: dict, targets: Mapping[str, str]) -> Reply:
    """Read the answer and its grounding."""
    parts = [
        text_of(part.get("text"))
        for part in items(obj(candidate.get("content")).get("parts"))
        if part.get("thought") is not True
    ]
    text = "".join(parts)
    grounding = obj(_get(candidate, "groundingMetadata"))
    chunks, warnings = _chunks(grounding, targets)
    mentions, missing = _supports(grounding, chunks, text, parts)
    found = [chunk for chunk in chunks if chunk]
    warnings += missing
    if not mentions and found and not items(_get(grounding, "groundingSupports")):
        mentions, warnings = found, [*warnings, "list_fallback"]
    if not found and not mentions:
        mentions = text_links(text)
        warnings += ["text_links"] if mentions else []
    finish = text_of(_get(candidate, "finishReason"))
    status, reason = _status(finish, text)
    if value.get("error"):
        status, reason = "incomplete" if text else "error", fault_message(value)
    return answered(
        text,
        mentions,
        found,
        status=status,
        reason=reason,
        span_kind="marker" if "text_links" in warnings else "claim",
        warnings=warnings,
        usage=_usage(value),
        model=_model(value),
        queries=said(texts(_get(grounding, "webSearchQueries"))),
    )


def _chunks(grounding: dict, targets: Mapping[str, str]) -> tuple[list[Source | None], list[str]]:
    """Return the source of each chunk, by position; one without an address is None."""
    chunks: list[Source | None] = []
    warnings = []
    for chunk in map(obj, places(_get(grounding, "groundingChunks"))):
        kind = next(
            (k for k in ("web", "retrievedContext", "retrieved_context", "maps") if k in chunk), ""
        )
        inside = obj(chunk.get(kind))
        url = text_of(inside.get("uri"))
        if kind != "web":
            warnings.append("non_web_chunk")
        if _host(url) == REDIRECTOR and url not in targets:
            warnings.append("redirect_urls")
        chunks.append(Source(targets.get(url, url), inside.get("title")) if url else None)
    return chunks, warnings


def _supports(
    grounding: dict, chunks: Sequence[Source | None], text: str, parts: Sequence[str]
) -> tuple[list[Source], list[str]]:
    """Return a mention for each support and each chunk it names."""
    mentions, warnings = [], []
    for support in items(_get(grounding, "groundingSupports")):
        span, warning = _span(obj(support.get("segment")), text, parts)
        warnings += [warning] if warning else []
        indices = _get(support, "groundingChunkIndices")
        for index in indices if isinstance(indices, list) else []:
            number = whole(index)
            if number is None or number >= len(chunks):
                warnings.append("chunk_index_out_of_range")
            elif (chunk := chunks[number]) is not None:
                start, end = span or (None, None)
                mentions.append(Source(chunk.url, chunk.title, None, start, end))
    return mentions, warnings


def _span(
    segment: dict, text: str, parts: Sequence[str]
) -> tuple[tuple[int, int] | None, str | None]:
    """Return the code points that a segment covers, and a warning where they had to be found.

    Offsets are UTF-8 bytes, of the whole text or of the part that `partIndex` names; the reading
    that gives the segment's own words is right. Failing both, the words have to stand in the text
    exactly once.
    """
    start, end = whole(_get(segment, "startIndex") or 0), whole(_get(segment, "endIndex"))
    words = segment.get("text") if isinstance(segment.get("text"), str) else None
    part = whole(_get(segment, "partIndex") or 0) or 0
    readings = []
    if start is not None and end is not None:
        readings.append((0, from_utf8(text, start, end)))
        if part < len(parts):
            readings.append((len("".join(parts[:part])), from_utf8(parts[part], start, end)))
    for base, span in readings:
        if span and span[0] < span[1] and words in (None, text[base + span[0] : base + span[1]]):
            return (base + span[0], base + span[1]), None
    if words and start is not None and text[start : start + len(words)] == words:
        return (start, start + len(words)), "span_reanchored"  # counted in code points
    if words and text.count(words) == 1:
        place = text.index(words)
        return (place, place + len(words)), "span_reanchored"
    return None, "segment_text_differs" if words else "span_out_of_range"


def _status(finish: str, text: str) -> tuple[str, str]:
    """Return the status that a finish reason stands for."""
    if finish in ("", "STOP", "FINISH_REASON_UNSPECIFIED"):
        return "ok", ""
    if finish in ("MAX_TOKENS", "stream_cut"):
        return "incomplete", finish
    return ("incomplete" if text else "blocked"), finish


def _usage(value: dict) -> dict[str, int] | None:
    """Return the tokens of a reply."""
    given = obj(_get(value, "usageMetadata"))
    counts = tokens(
        {name: _get(given, name) for name in ("promptTokenCount", "candidatesTokenCount", "totalTokenCount")},
        "promptTokenCount", "candidatesTokenCount", "totalTokenCount",
    ) if given else None  # fmt: skip
    reasoning = whole(_get(given, "thoughtsTokenCount"))
    return counts if counts is None or reasoning is None else counts | {"reasoning": reasoning}


def _model(value: dict) -> str:
    """Return the model that a reply names."""
    return text_of(_get(value, "modelVersion"))


def _get(value: Mapping[str, Any], name: str) -> Any:
    """Return a field in its wire name, or in the snake case that the Python SDK dumps."""
    if name in value:
        return value[name]
    return value.get("".join(f"_{c.lower()}" if c.isupper() else c for c in name))


def _targets(reply: Opened) -> dict[str, str]:
    """Return where recorded redirects lead."""
    return {
        e.url: e.headers["location"]
        for e in reply.before
        if e.method == "HEAD" and 300 <= e.status < 400 and e.headers.get("location", "").startswith("http")
    }  # fmt: skip


def _parse_interaction(value: dict) -> Reply:
    """Read a reply of the Interactions API; its offsets are bytes too."""
    text, mentions, warnings = "", [], []
    for step in items(value.get("steps")):
        for part in items(step.get("content")) if step.get("type") == "model_output" else []:
            piece = text_of(part.get("text"))
            for note in items(part.get("annotations")):
                url = text_of(note.get("url"))
                span = from_utf8(
                    piece, whole(note.get("start_index")) or 0, whole(note.get("end_index")) or 0
                )
                span = span if span and span[1] > span[0] else None
                if not url:
                    continue
                warnings += ["redirect_urls"] if _host(url) == REDIRECTOR else []
                warnings += [] if span else ["span_out_of_range"]
                start, end = (span[0] + len(text), span[1] + len(text)) if span else (None, None)
                mentions.append(Source(url, note.get("title"), None, start, end))
            text += piece
    usage = obj(value.get("usage"))
    counts = tokens(usage, "total_input_tokens", "total_output_tokens")
    if counts and whole(usage.get("total_thought_tokens")) is not None:
        counts["reasoning"] = usage["total_thought_tokens"]
    calls = [s for s in items(value.get("steps")) if s.get("type") == "google_search_call"]
    done = value.get("status") in (None, "completed")
    return answered(
        text,
        mentions,
        status="ok" if done else "pending",
        reason="" if done else text_of(value.get("status")),
        span_kind="claim",
        warnings=warnings,
        usage=counts,
        model=text_of(value.get("model")),
        queries=said(q for c in calls for q in texts(obj(c.get("arguments")).get("queries"))),
    )
