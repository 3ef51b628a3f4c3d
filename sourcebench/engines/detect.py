"""Which engine a raw reply comes from, told by its shape."""

from __future__ import annotations

from importlib import import_module
from typing import Any

from sourcebench.collect.replies import Reply
from sourcebench.engines.mentions import items, obj, text_of
from sourcebench.engines.streams import whole_reply
from sourcebench.engines.wire import opened


def parse_any(raw: Any, *, engine: str | None = None) -> Reply:
    """Read a raw reply; the engine that recorded it goes before what its shape looks like.

    Raises
    ------
    ValueError
        If no engine is named and the shape is none of the known ones.
    """
    name = engine or engine_of(raw)
    if name is None:
        raise ValueError("not a reply of a known engine; name the engine (--engine)")
    return import_module(f"sourcebench.engines.{name}").parse(raw)


def engine_of(raw: Any) -> str | None:
    """Return the name of the module that reads a raw reply, or None if its shape is not known.

    Gateways rename models and several engines share a shape; the first match wins.
    """
    reply = opened(raw)
    if isinstance(reply.value, list) and _is_exa_stream(reply.value):
        return "exa"
    if isinstance(reply.value, list) and items(reply.value)[:1] == [] != reply.value:
        return None
    value = obj(whole_reply(reply.value))
    if "choices" in value:
        return _of_chat(value)
    if value.get("object") == "response":
        return _of_response(value)
    return _of_shape(value)


def _is_exa_stream(chunks: list[Any]) -> bool:
    """Whether chunks are a streamed answer of Exa, whose citations are objects or the text null."""
    given = [chunk.get("citations") for chunk in items(chunks) if "choices" in chunk]
    return any(c == "null" or (isinstance(c, list) and items(c)) for c in given)


def _of_chat(value: dict[str, Any]) -> str:
    """Tell apart the engines that answer with a chat completion."""
    choices = items(value.get("choices"))
    message = obj(choices[0].get("message")) if choices else {}
    if isinstance(value.get("citations"), list) or "search_results" in value:
        return "xai" if text_of(value.get("model")).startswith("grok") else "perplexity"
    if "executed_tools" in message:
        return "groq"
    if "annotations" in message:
        notes = [obj(note.get("url_citation")) for note in items(message["annotations"])]
        return "openrouter" if any("content" in note for note in notes) else "openai"
    return "deepseek"


def _of_response(value: dict[str, Any]) -> str:
    """Tell apart the engines that answer with `object: response`."""
    output = items(value.get("output"))
    kinds = [item.get("type") for item in output]
    model, usage = text_of(value.get("model")), obj(value.get("usage"))
    if (
        "search_results" in kinds
        or model.startswith("perplexity/")
        or "tool_calls_details" in usage
    ):
        return "perplexity"
    if (
        model.startswith("grok")
        or "x_search_call" in kinds
        or "num_server_side_tools_used" in usage
    ):
        return "xai"
    if any("arguments" in item for item in output if item.get("type") == "web_search_call"):
        return "xai"
    opened_pages = [text_of(obj(item.get("action")).get("url")) for item in output]
    if model.startswith("deepseek") or any("#ws_call_id=" in url for url in opened_pages):
        return "deepseek"
    return "openai"


def _of_shape(value: dict[str, Any]) -> str | None:
    """Tell an engine by the fields that only its replies have."""
    has = value.keys().__contains__
    rules = (
        (value.get("object") == "interaction" or has("steps"), "gemini"),
        (value.get("object") == "conversation.response", "mistral"),
        (value.get("object") == "thread.message", "azure"),
        (value.get("type") in ("message", "error") and (has("content") or has("error")), "anthropic"),
        (value.get("type") in ("search", "ErrorResponse"), "brave"),
        (has("candidates") or has("promptFeedback") or has("prompt_feedback"), "gemini"),
        (has("outputs"), "xai"),
        (has("message") and has("finish_reason"), "cohere"),
        (has("answer") and any("source" in row for row in items(value.get("citations"))), "youcom"),
        (has("requestId"), "exa"),
        (has("search_response"), "gensee"),
        (has("failed_results") or (has("results") and has("response_time")), "tavily"),
        (any("rerank_score" in row for row in items(value.get("results"))), "deepseek"),
        (value.get("kind") == "customsearch#search", "google"),
        (has("search_metadata") or has("searchParameters"), "google"),
        (isinstance(value.get("results"), dict), "youcom"),
    )  # fmt: skip
    return next((name for met, name in rules if met), None)
