"""What study.toml says of a language model, checked; and the key, which is in no file."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, fields
from typing import Any

from sourcebench.judge.endpoint import JudgingStopped, check_address
from sourcebench.judge.spending import Price


@dataclass(frozen=True)
class Settings:
    """What `[judges.<name>]` with `type = "llm"` may say.

    Parameters
    ----------
    model, base_url
        The model's name, and the address of an OpenAI-compatible API.
    key
        Name of the environment variable that holds the key; empty where none is needed.
    temperature, seed, max_tokens
        How replies are sampled, and output tokens of one reply at most. Temperature 0 and a seed
        do not promise the same reply twice; `repeats` measures it.
    budget
        Characters of a page's main text that are sent, at most.
    concurrency, timeout, attempts, deadline
        Requests in flight, seconds of one request, tries, and seconds of a request with all tries.
    prompts
        Folder of prompt files that replace ours, relative to the study.
    price_in, price_out, price_cached
        Price of a million tokens.
    repeats
        How often every page is judged; the second time as `<name>/2`.
    accept_models
        Model names in replies that may stand side by side in one table.
    """

    model: str
    base_url: str
    key: str = ""
    temperature: float = 0.0
    seed: int | None = None
    max_tokens: int = 2048
    budget: int = 24_000
    concurrency: int = 8
    timeout: float = 120.0
    attempts: int = 5
    deadline: float = 900.0
    prompts: str = ""
    price_in: float | None = None
    price_out: float | None = None
    price_cached: float | None = None
    repeats: int = 1
    accept_models: tuple[str, ...] = ()

    @classmethod
    def read(cls, table: Mapping[str, Any]) -> Settings:
        """Check the settings of a judge.

        Raises
        ------
        ValueError
            Names the setting, what was expected and what was found.
        """
        known = {f.name: f for f in fields(cls)}
        for name, value in table.items():
            if name not in known:
                raise ValueError(f"unknown setting {name!r}; known are {', '.join(known)}")
            _check_type(name, value, str(known[name].type))
        for name in ("model", "base_url"):
            if not table.get(name):
                raise ValueError(f"{name} is missing")
        made = cls(**{**table, "accept_models": tuple(table.get("accept_models", ()))})
        for name in ("max_tokens", "budget", "concurrency", "attempts", "repeats"):
            if getattr(made, name) < 1:
                raise ValueError(f"{name} must be 1 or more, found {getattr(made, name)}")
        check_address(made.base_url, made.key)
        _check_key_name(made)
        return made

    @property
    def price(self) -> Price:
        """Return the judge's price."""
        return Price(self.price_in, self.price_out, self.price_cached)


def _check_type(name: str, value: Any, expected: str) -> None:
    """Refuse a setting of the wrong type."""
    kinds = {"str": str, "int": int, "float": (int, float), "tuple": (list, tuple)}
    kind = kinds[re.match(r"\w+", expected)[0]]
    if not isinstance(value, kind) or isinstance(value, bool):
        raise ValueError(f"{name} must be of type {expected}, found {value!r}")


def read_key(settings: Settings, environ: Mapping[str, str]) -> str:
    """Return the key from the environment variable that the settings name.

    Raises
    ------
    JudgingStopped
        If the variable is not set.
    """
    if not settings.key:
        return ""
    value = environ.get(settings.key, "").strip()
    if not value:
        raise JudgingStopped(
            f"the environment variable {settings.key} is not set; it holds the key"
        )
    return value


def _check_key_name(settings: Settings) -> None:
    """Refuse the name of a variable that is not meant for such keys.

    A study from elsewhere could else have other secrets sent out.
    """
    if settings.key and not re.fullmatch(
        r"[A-Z][A-Z0-9_]*_API_KEY|SOURCEBENCH_[A-Z0-9_]+", settings.key
    ):
        raise ValueError(
            f"key must be the name of an environment variable that ends in _API_KEY or starts with "
            f"SOURCEBENCH_, found {_shortened(settings.key)}"
        )


def _shortened(text: str) -> str:
    """Return a text that may be a key by mistake, without giving it away."""
    return repr(text) if len(text) < 12 else f"{text[:3]!r}... ({len(text)} characters)"
