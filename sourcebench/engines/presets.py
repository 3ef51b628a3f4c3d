"""The systems of the SourceBench paper, as settings for `[systems.<name>]` of a study.

Prices are in US dollars: `input` and `output` for a million tokens, `call` for one request with its
search. They are list prices as known in January 2026, for estimates before a run; a price that is
not known is left out. `expected` says how many tokens one answer takes, assumed until the study has
answers of its own to go by.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

NOTED = "January 2026"


def _answers(label: str, engine: str, model: str, **more: Any) -> dict[str, Any]:
    return {"label": label, "type": "answer", "engine": engine, "model": model, **more}


def _searches(label: str, engine: str, **more: Any) -> dict[str, Any]:
    return {"label": label, "type": "search", "engine": engine, "max_results": 10, **more}


def _pair(answerer: str, model: str, search: str) -> dict[str, Any]:
    tool = search.lower()
    return {
        "label": f"{answerer}-{search}",
        "type": "pair",
        "answerer": answerer,
        "search": search,
        "engine": "deepseek",
        "model": model,
        "tool": tool,
        "tool_settings": {"max_results": 10},
        "price": {"input": 0.28, "output": 0.42} | ({"call": 0.008} if tool == "tavily" else {}),
        "expected": {"input": 9000, "output": 900 if model == "deepseek-chat" else 2500},
    }


def _price(given: float, made: float, call: float) -> dict[str, float]:
    return {"input": given, "output": made, "call": call}


def _expected(given: int, made: int) -> dict[str, int]:
    return {"input": given, "output": made}


PRESETS: Mapping[str, Mapping[str, Any]] = {
    "GPT-5": _answers("GPT-5", "openai", "gpt-5", price=_price(1.25, 10, 0.02), expected=_expected(15000, 3000)),
    "GPT-4o": _answers("GPT-4o", "openai", "gpt-4o", price=_price(2.5, 10, 0.01), expected=_expected(9000, 600)),
    "Grok-4.1-Fast": _answers("Grok-4.1-Fast", "xai", "grok-4-1-fast", price=_price(0.2, 0.5, 0.01), expected=_expected(15000, 1500)),
    "Claude-Sonnet-4.5": _answers("Claude-Sonnet-4.5", "anthropic", "claude-sonnet-4-5", price=_price(3, 15, 0.02), expected=_expected(20000, 900)),
    "Gemini-3-Pro": _answers("Gemini-3-Pro", "gemini", "gemini-3-pro-preview", price=_price(2, 12, 0.03), expected=_expected(200, 2500)),
    "Gemini-3-Flash": _answers("Gemini-3-Flash", "gemini", "gemini-3-flash-preview", price=_price(0.5, 3, 0.03), expected=_expected(200, 2000)),
    "Gemini-2.5-Flash": _answers("Gemini-2.5-Flash", "gemini", "gemini-2.5-flash", price=_price(0.3, 2.5, 0.035), expected=_expected(200, 1500)),
    "Perplexity-Sonar-Pro": _answers("Perplexity-Sonar-Pro", "perplexity", "sonar-pro", price=_price(3, 15, 0.006), expected=_expected(50, 700)),
    "Google": _searches("Google", "google", api="serper", reference=True, price={"call": 0.001}),
    "Exa": _searches("Exa", "exa", price={"call": 0.005}),
    "Tavily": _searches("Tavily", "tavily", price={"call": 0.008}),
    "Gensee": _searches("Gensee", "gensee"),
    "DS-Chat-Tavily": _pair("DS-Chat", "deepseek-chat", "Tavily"),
    "DS-Chat-Gensee": _pair("DS-Chat", "deepseek-chat", "Gensee"),
    "DS-Reasoning-Tavily": _pair("DS-Reasoning", "deepseek-reasoner", "Tavily"),
    "DS-Reasoning-Gensee": _pair("DS-Reasoning", "deepseek-reasoner", "Gensee"),
}  # fmt: skip


def preset(name: str) -> dict[str, Any]:
    """Return the settings of a system of the paper.

    Raises
    ------
    ValueError
        If the paper has no such system.
    """
    if name not in PRESETS:
        raise ValueError(f"no preset {name!r}; presets are {', '.join(PRESETS)}")
    return dict(PRESETS[name])
