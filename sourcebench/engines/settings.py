"""What `[systems.<name>]` of a study may say to have a system asked, checked before anything is sent."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any
from urllib.parse import urlsplit

from sourcebench.engines import ASKED, key_names

Settings = Mapping[str, Any]
_TEXT, _WHOLE, _NUMBER, _TABLE, _LIST, _YES = "a text", "a whole number", "a number", "a table", "a list", "true or false"  # fmt: skip
_KINDS: dict[str, tuple[type, ...]] = {
    _TEXT: (str,),
    _WHOLE: (int,),
    _NUMBER: (int, float),
    _TABLE: (dict,),
    _LIST: (list,),
    _YES: (bool,),
}
# Every setting, with what it has to be and what it means.
KNOWN: dict[str, tuple[str, str]] = {
    "label": (_TEXT, "name in tables and figures"),
    "type": (_TEXT, "answer, search or pair"),
    "answerer": (_TEXT, "of a pair: the part that answers"),
    "search": (_TEXT, "of a pair: the part that searches"),
    "engine": (_TEXT, "how the system is asked"),
    "model": (_TEXT, "the model to ask for"),
    "api": (_TEXT, "which of the engine's interfaces"),
    "base_url": (_TEXT, "another address than the engine's own"),
    "key": (_TEXT, "environment variable with the key, if not the engine's own"),
    "prompt": (_TEXT, "what the model of a chat endpoint is told before the query"),
    "tool": (_TEXT, "search tool that the model is joined with"),
    "tool_settings": (_TABLE, "settings of that tool"),
    "tools": (_LIST, "tools that the model may use"),
    "options": (_TABLE, "further fields of the request"),
    "max_results": (_WHOLE, "results of a search"),
    "max_tokens": (_WHOLE, "tokens of an answer"),
    "max_uses": (_WHOLE, "searches for an answer"),
    "mode": (_TEXT, "kind of search"),
    "cx": (_TEXT, "id of a Google custom search engine"),
    "stream": (_YES, "whether the reply is streamed"),
    "resolve": (_YES, "whether redirects are followed while collecting"),
    "reference": (_YES, "whether overlap is measured against this system"),
    "runs": (_WHOLE, "answers to each query"),
    "per_minute": (_NUMBER, "requests started in a minute, at most"),
    "concurrency": (_WHOLE, "requests in flight, at most"),
    "retries": (_WHOLE, "further tries of a request"),
    "timeout": (_NUMBER, "seconds of one request"),
    "price": (_TABLE, "US dollars: input and output for a million tokens, call for a request"),
    "expected": (_TABLE, "tokens of an answer, assumed before there are any: input, output"),
}
_POSITIVE = ("max_results", "max_tokens", "max_uses", "runs", "per_minute", "concurrency", "timeout")  # fmt: skip
_NEEDS_MODEL = ("openai", "xai", "gemini", "perplexity", "anthropic", "deepseek", "chat")
_KEY_NAME = re.compile(r"[A-Z][A-Z0-9_]*_API_KEY|SOURCEBENCH_[A-Z0-9_]+")


def check_settings(settings: Settings) -> None:
    """Check the settings of a system that is to be asked.

    Raises
    ------
    ValueError
        Names the setting, what was expected and what was found.
    """
    for name, value in settings.items():
        if name not in KNOWN:
            raise ValueError(f"unknown setting {name!r}; known are {', '.join(KNOWN)}")
        kind = KNOWN[name][0]
        if type(value) not in _KINDS[kind]:
            raise ValueError(f"{name} must be {kind}, found {value!r}")
        if name in _POSITIVE and value <= 0:
            raise ValueError(f"{name} must be more than 0, found {value!r}")
    engine = settings.get("engine")
    if engine not in ASKED:
        raise ValueError(f"engine must be one of {', '.join(ASKED)}, found {engine!r}")
    if engine in _NEEDS_MODEL and not settings.get("model"):
        raise ValueError("model is missing")
    if engine == "chat" and not settings.get("base_url"):
        raise ValueError(
            "base_url is missing; name the endpoint, such as http://localhost:11434/v1"
        )
    _check_numbers(settings)
    _check_key(settings.get("key"))
    for table in (settings, settings.get("tool_settings", {})):
        _check_address(table.get("base_url"), keyless=engine == "chat" and "key" not in settings)
    try:
        key_names(settings)
    except KeyError as error:
        raise ValueError(f"no tool or interface {error.args[0]!r}") from None


def _check_numbers(settings: Settings) -> None:
    """Refuse a price or an expectation that is no number."""
    for name in ("price", "expected"):
        for part, value in settings.get(name, {}).items():
            if part not in ("input", "output", "call") or type(value) not in (int, float):
                raise ValueError(
                    f"{name} holds numbers for input, output and call, found {part} = {value!r}"
                )


def _check_key(name: str | None) -> None:
    """Refuse a variable that is not meant for such keys: a study from elsewhere could name any."""
    if name is not None and not _KEY_NAME.fullmatch(name):
        shown = repr(name) if len(name) < 12 else f"{name[:3]!r}... ({len(name)} characters)"
        raise ValueError(
            "key must be the name of an environment variable that ends in _API_KEY or starts with "
            f"SOURCEBENCH_, found {shown}"
        )


def _check_address(address: str | None, *, keyless: bool = False) -> None:
    """Refuse to send a key over an open line, except on this machine."""
    if address is None:
        return
    parts = urlsplit(address)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must be an http(s) address, found {address!r}")
    if keyless:
        return
    if parts.scheme == "http" and parts.hostname not in ("localhost", "127.0.0.1", "::1"):
        raise ValueError(f"base_url {address!r}: a key is only sent over https; use https")
