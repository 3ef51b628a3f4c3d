"""Which of the usual parameters an endpoint takes, found out once, before the first page."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, replace
from typing import Any, Literal

from sourcebench.judge.endpoint import Failure

Form = Literal["json_schema", "json_object", "text"]
_NEXT_FORM: dict[Form, Form] = {"json_schema": "json_object", "json_object": "text"}


@dataclass(frozen=True)
class Dialect:
    """What is really sent: the form asked for, the name of the output limit, the sampling settings."""

    form: Form = "json_schema"
    limit: Literal["max_tokens", "max_completion_tokens"] = "max_tokens"
    temperature: bool = True
    seed: bool = True

    def body(
        self,
        model: str,
        messages: list[dict[str, str]],
        schema: Mapping[str, Any] | None,
        *,
        room: int,
        temperature: float | None,
        seed: int | None = None,
    ) -> dict[str, Any]:
        """Return the body of a chat request in this dialect.

        Parameters
        ----------
        schema
            JSON schema of the reply, or None for free text.
        room
            Output tokens, at most.
        """
        body: dict[str, Any] = {"model": model, "messages": messages, self.limit: room}
        if temperature is not None and self.temperature:
            body["temperature"] = temperature
        if seed is not None and self.seed:
            body["seed"] = seed
        if schema is not None and self.form == "json_schema":
            named = {"name": "verdict", "strict": True, "schema": schema}
            body["response_format"] = {"type": "json_schema", "json_schema": named}
        elif schema is not None and self.form == "json_object":
            body["response_format"] = {"type": "json_object"}
        return body

    def to_dict(self) -> dict[str, Any]:
        """Return the dialect as plain values."""
        return asdict(self)


def find_dialect(try_it: Callable[[Dialect], Any]) -> tuple[Dialect, Any]:
    """Return the first dialect that an endpoint takes, and what the try brought.

    One parameter is changed for each rejection, and each to each of its values once at most.

    Parameters
    ----------
    try_it
        Sends a small request in a dialect; raises `Failure` where the endpoint rejects it.

    Raises
    ------
    Failure
        The endpoint's words, if it rejects something that can't be left out.
    """
    dialect, tried = Dialect(), set()
    while True:
        tried.add(dialect)
        try:
            return dialect, try_it(dialect)
        except Failure as failure:
            if failure.kind != "rejected":
                raise
            changed = adapted(dialect, failure)
            if changed is None or changed in tried:
                raise
            dialect = changed


def adapted(dialect: Dialect, failure: Failure) -> Dialect | None:
    """Return the dialect without what a rejection names, or None if it names nothing we can change."""
    words = f"{failure.param} {failure.message}".lower()
    # Servers name the replacement too ("use 'max_completion_tokens' instead"): the first one named
    # is the culprit, unless `param` says which.
    named = re.findall(
        r"max_tokens|max_completion_tokens|temperature|response_format|json_schema|json_object|seed",
        failure.param.lower() or words,
    )
    culprit = named[0] if named else ""
    if culprit == dialect.limit:
        other = "max_completion_tokens" if culprit == "max_tokens" else "max_tokens"
        return replace(dialect, limit=other)
    if culprit == "temperature" and dialect.temperature:
        return replace(dialect, temperature=False)
    if culprit == "seed" and dialect.seed:
        return replace(dialect, seed=False)
    if culprit in ("response_format", "json_schema", "json_object") or "schema" in words:
        following = _NEXT_FORM.get(dialect.form)
        return replace(dialect, form=following) if following else None
    return None
