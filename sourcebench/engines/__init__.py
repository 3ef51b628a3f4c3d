"""Answer engines and search tools: one module each, with `ask` (network) and `parse` (pure)."""

from __future__ import annotations

from collections.abc import Mapping
from importlib import import_module
from types import ModuleType
from typing import Any

# Engines that can be asked; further ones can be read only.
ASKED = (
    "openai", "xai", "gemini", "perplexity", "anthropic", "deepseek",
    "google", "exa", "tavily", "gensee", "brave", "chat",
)  # fmt: skip
READ = (*ASKED, "mistral", "cohere", "groq", "openrouter", "youcom", "azure")


def engine(name: str) -> ModuleType:
    """Return the module of an engine.

    Raises
    ------
    ValueError
        If there is no such engine.
    """
    if name not in READ:
        raise ValueError(f"no engine {name!r}; engines are {', '.join(READ)}")
    return import_module(f"sourcebench.engines.{name}")


def key_names(settings: Mapping[str, Any]) -> tuple[str, ...]:
    """Return the environment variables that hold the keys a system needs, its own first.

    `key` in the settings names another variable for the engine's own key.
    """
    name = settings["engine"]
    module = engine(name)
    names = module.KEYS
    if name == "google":
        names = module.KEYS_BY_API[settings.get("api", "custom")]
    if "key" in settings:
        names = (settings["key"],)
    if name == "deepseek" and settings.get("tool"):
        names += module.tool_keys(settings["tool"], settings.get("tool_settings", {}))
    return names
