"""Anthropic Messages with web search: a citation belongs to the whole text block that carries it."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_message, fault_reply
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    said,
    text_links,
    text_of,
    tokens,
    whole,
)
from sourcebench.engines.streams import whole_reply
from sourcebench.engines.wire import Exchange, Http, decode, opened, post

URL = "https://api.anthropic.com/v1"
VERSION = "2023-06-01"
KEYS = ("ANTHROPIC_API_KEY",)
_MOST_TURNS = 5


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Ask one query; a reply that pauses is continued, up to five requests.

    Settings: `model`; `max_tokens`; `tool`, the version of the search tool; `max_uses`, searches
    at most; `options`, further fields of the request; `base_url`; `timeout` in seconds.
    """
    tool = {
        "type": settings.get("tool", "web_search_20250305"),
        "name": "web_search",
        "max_uses": settings.get("max_uses", 5),
    }
    messages: list[dict[str, Any]] = [{"role": "user", "content": query}]
    exchanges: list[Exchange] = []
    while len(exchanges) < _MOST_TURNS:
        body = {
            "model": settings["model"],
            "max_tokens": settings.get("max_tokens", 4096),
            "messages": messages,
            "tools": [tool],
        }
        exchanges.append(
            post(
                http,
                settings,
                URL,
                "/messages",
                body,
                headers={"x-api-key": key, "anthropic-version": VERSION},
                key=key,
            )
        )
        turn = _message(exchanges[-1])
        if turn.get("stop_reason") != "pause_turn":
            break
        messages = [*messages, {"role": "assistant", "content": turn.get("content")}]
    return tuple(exchanges)


def _message(exchange: Exchange) -> dict[str, Any]:
    """Return the message of one exchange, or an empty one if it holds none."""
    try:
        return obj(whole_reply(decode(exchange.body))) if exchange.status < 400 else {}
    except ValueError:
        return {}


def parse(raw: Any) -> Reply:
    """Read a reply, whole or streamed; the messages of one turn are joined."""
    reply = opened(raw)
    value = obj(whole_reply(reply.value))
    fault = fault_reply(reply)
    if fault and not value.get("content"):
        return fault
    turns = [*(_message(exchange) for exchange in reply.before), value]
    blocks = [block for turn in turns for block in items(turn.get("content"))]
    text, mentions, warnings = _answer(blocks)
    found, said_of_tools = _found(blocks)
    warnings += said_of_tools
    known = {source.url for source in found}
    if found and any(mention.url not in known for mention in mentions):
        warnings.append("cited_url_not_in_results")
    if not mentions and text:
        mentions = text_links(text)
        warnings += ["text_links"] if mentions else []
    status, reason = _status(value, text)
    return answered(
        text,
        mentions,
        found,
        status=status,
        reason=reason,
        span_kind="marker" if "text_links" in warnings else "claim",
        warnings=warnings,
        usage=_usage(turns),
        model=text_of(value.get("model")),
        queries=said(
            obj(block.get("input")).get("query")
            for block in blocks
            if block.get("type") == "server_tool_use"
        ),
    )


def _answer(blocks: list[dict[str, Any]]) -> tuple[str, list[Source], list[str]]:
    """Return the text of all blocks, and a mention for each citation of each block."""
    text, mentions, warnings = "", [], []
    fetched = [
        text_of(obj(block.get("content")).get("url"))
        for block in blocks
        if block.get("type") == "web_fetch_tool_result"
    ]
    for block in blocks:
        if block.get("type") != "text":
            continue
        piece = text_of(block.get("text"))
        for cited in items(block.get("citations")):
            url = text_of(cited.get("url"))
            index = whole(cited.get("document_index"))
            if not url and index is not None and index < len(fetched):
                url = fetched[index]
                warnings.append("document_index_mapped")
            if url:
                title = cited.get("title") or cited.get("document_title")
                span = (len(text), len(text) + len(piece)) if piece else (None, None)
                mentions.append(Source(url, title, None, *span))
            else:
                warnings.append("non_web_citation")
        text += piece
    if "<cite" in text:
        warnings.append("citation_artifacts")
    return text, mentions, warnings


def _found(blocks: list[dict[str, Any]]) -> tuple[list[Source], list[str]]:
    """Return every search result of a turn, and what went wrong with the tool."""
    found, warnings = [], []
    calls = {text_of(block.get("id")) for block in blocks if block.get("type") == "server_tool_use"}
    for block in blocks:
        if block.get("type") != "web_search_tool_result":
            continue
        content = block.get("content")
        if isinstance(content, dict) and content.get("error_code"):
            warnings.append(f"tool_error:{content['error_code']}")
        if text_of(block.get("tool_use_id")) not in calls:
            warnings.append("orphan_tool_result")
        found += [
            Source(text_of(row.get("url")), row.get("title"), row.get("page_age"))
            for row in items(content)
        ]
    return found, warnings


def _status(value: Mapping[str, Any], text: str) -> tuple[str, str]:
    """Return the status that a stop reason stands for."""
    stop = text_of(value.get("stop_reason"))
    if value.get("error") and not text:
        return "error", fault_message(value)
    if stop == "refusal":
        return "refused", "refusal"
    if stop in ("pause_turn", "tool_use"):
        return ("incomplete" if text else "pending"), stop
    if stop in ("max_tokens", "model_context_window_exceeded", "stream_cut"):
        return "incomplete", stop
    return "ok", ""


def _usage(turns: list[dict[str, Any]]) -> dict[str, int] | None:
    """Return the tokens of all messages of a turn together."""
    counts = [tokens(turn.get("usage"), "input_tokens", "output_tokens") for turn in turns]
    there = [count for count in counts if count]
    names = dict.fromkeys(name for count in there for name in count)
    return {name: sum(c.get(name, 0) for c in there) for name in names} if there else None
