"""Google Search through three doors: Custom Search, SerpAPI (its AI overview too) and Serper."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.faults import fault_message, fault_reply
from sourcebench.engines.mentions import (
    Source,
    answered,
    items,
    obj,
    said,
    searched,
    text_of,
    whole,
)
from sourcebench.engines.wire import Exchange, Http, opened, send

URLS = {
    "custom": "https://www.googleapis.com/customsearch/v1",
    "serpapi": "https://serpapi.com/search.json",
    "serper": "https://google.serper.dev/search",
}
KEYS_BY_API = {
    "custom": ("GOOGLE_API_KEY",),
    "serpapi": ("SERPAPI_API_KEY",),
    "serper": ("SERPER_API_KEY",),
}
KEYS = KEYS_BY_API["custom"]


def ask(query: str, *, settings: Mapping[str, Any], http: Http, key: str) -> tuple[Exchange, ...]:
    """Search for one query, and return what was sent and what came back.

    Settings: `api` ("custom", "serpapi" or "serper"); `cx`, the id of a custom search engine;
    `max_results`; `options`, further parameters; `base_url`; `timeout` in seconds.

    Raises
    ------
    ValueError
        If `cx` is missing for Custom Search.
    """
    api, most = settings.get("api", "custom"), settings.get("max_results", 10)
    options = dict(settings.get("options", {}))
    sent: dict[str, Any]
    if api == "serper":
        sent = {"json": {"q": query, "num": most} | options, "headers": {"X-API-KEY": key}}
    elif api == "serpapi":
        params = {"engine": "google", "q": query, "num": most} | options
        sent = {"params": params, "secrets": {"api_key": key}}
    else:
        if not settings.get("cx"):
            raise ValueError("Google Custom Search needs `cx`, the id of a search engine")
        params = {"cx": settings["cx"], "q": query, "num": min(most, 10)} | options
        sent = {"params": params, "secrets": {"key": key}}
    exchange = send(
        http,
        "POST" if api == "serper" else "GET",
        settings.get("base_url", URLS[api]),
        key=key,
        timeout=settings.get("timeout", 60),
        **sent,
    )
    return (exchange,)


def parse(raw: Any) -> Reply:
    """Read a result page of any of the three."""
    reply = opened(raw)
    value = obj(reply.value)
    if "search_metadata" in value:
        return _parse_serpapi(value)
    fault = fault_reply(reply)
    if fault:
        return fault
    if "organic" in value or "searchParameters" in value:
        queries = said([obj(value.get("searchParameters")).get("q")])
        return searched(_by_position(items(value.get("organic"))), queries=queries)
    asked = items(obj(value.get("queries")).get("request"))
    queries = said(row.get("searchTerms") for row in asked)
    return searched([_custom_row(row) for row in items(value.get("items"))], queries=queries)


def _custom_row(row: Mapping[str, Any]) -> Source:
    """Return a row of Custom Search, dated by what the page itself claims."""
    tags = items(obj(row.get("pagemap")).get("metatags"))
    published = tags[0].get("article:published_time") if tags else None
    snippet = text_of(row.get("snippet"))
    return Source(
        text_of(row.get("link")),
        row.get("title"),
        published or (snippet.split(" ... ")[0] if " ... " in snippet[:20] else None),
    )


def _by_position(rows: Sequence[dict[str, Any]]) -> list[Source]:
    """Return organic rows in the order of their positions, which may have gaps."""
    ordered = sorted(rows, key=lambda row: whole(row.get("position")) or 1 << 30)
    return [Source(text_of(row.get("link")), row.get("title"), row.get("date")) for row in ordered]


def _parse_serpapi(value: Mapping[str, Any]) -> Reply:
    """Read a page of SerpAPI; its `error` may only mean that nothing was found."""
    queries = said([obj(value.get("search_parameters")).get("q")])
    if obj(value.get("search_metadata")).get("status") == "Error":
        return answered("", status="error", reason=fault_message(value), queries=queries)
    overview = obj(value.get("ai_overview"))
    rows = _by_position(items(value.get("organic_results")))
    if items(overview.get("text_blocks")):
        return _overview(overview, rows, queries)
    reply = searched(rows, queries=queries)
    deferred = ("ai_overview_deferred",) if overview.get("page_token") else ()
    return searched(rows, queries=queries, warnings=deferred) if deferred else reply


def _overview(overview: Mapping[str, Any], rows: Sequence[Source], queries) -> Reply:
    """Read an AI overview: each block cites by index into the references."""
    references = items(overview.get("references"))
    by_index = {whole(ref.get("index", n)): ref for n, ref in enumerate(references)}
    text, mentions, warnings = "", [], []
    for snippet, indexes in _blocks(items(overview.get("text_blocks"))):
        start = len(text) + 1 if text else 0
        text = f"{text}\n{snippet}" if text else snippet
        for index in indexes:
            ref = by_index.get(whole(index))
            if ref is None:
                warnings.append(f"marker_out_of_range:{index}")
                continue
            link = text_of(ref.get("link"))
            mentions.append(Source(link, ref.get("title"), None, start, len(text)))
    found = [Source(text_of(ref.get("link")), ref.get("title")) for ref in references]
    return answered(
        text, mentions, [*found, *rows], span_kind="claim", warnings=warnings, queries=queries
    )


def _blocks(blocks: Sequence[dict[str, Any]], depth: int = 0) -> Iterator[tuple[str, list[Any]]]:
    """Yield text and reference indexes of every block, lists and nested blocks included."""
    for block in blocks:
        snippet = text_of(block.get("snippet")) or text_of(block.get("title"))
        if snippet:
            indexes = block.get("reference_indexes")
            yield snippet, indexes if isinstance(indexes, list) else []
        if depth < 8:
            yield from _blocks(items(block.get("list")), depth + 1)
            yield from _blocks(items(block.get("text_blocks")), depth + 1)
