"""What calls cost: estimates before, sums after, and limits in between."""

from __future__ import annotations

import math
import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcebench.judge.endpoint import JudgingStopped

_PER = 1_000_000  # prices are given for a million tokens


@dataclass(frozen=True)
class Price:
    """Price of a million tokens read, read from the provider's cache, and written.

    A price that was not given stays unknown; it is not 0. The currency is the user's.
    """

    read: float | None = None
    written: float | None = None
    cached: float | None = None

    @property
    def known(self) -> bool:
        """Whether a cost can be worked out."""
        return self.read is not None and self.written is not None

    def cost(self, read: float, written: float, cached: float = 0) -> float | None:
        """Return the cost of tokens, or None if it is unknown; `cached` is a part of `read`."""
        if self.read is None or self.written is None:
            return None
        saved = cached * (self.read - self.cached) if self.cached is not None else 0.0
        return (read * self.read - saved + written * self.written) / _PER

    def cost_of(self, usage: Mapping[str, Any]) -> float | None:
        """Return the cost of one reply: as the endpoint reports it, else by our prices."""
        if "cost" in usage:
            return float(usage["cost"])
        if "prompt" not in usage:
            return None
        return self.cost(usage["prompt"], usage.get("output", 0), usage.get("cached", 0))


def estimated_tokens(text: str) -> int:
    """Return about how many tokens a text is: 4 characters of ASCII each, fewer of other scripts."""
    ascii_only = sum(map(len, text.encode("ascii", "ignore").splitlines(keepends=True)))
    if ascii_only == len(text):
        return math.ceil(len(text) / 4)
    wide = sum(char > "\u2e7f" for char in text)
    other = len(text) - ascii_only - wide
    return math.ceil(ascii_only / 4 + other / 2.2 + wide)


# --- before --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class PlannedCall:
    """A call that a run would make; its prompt is None while the page is not there yet."""

    page_id: str
    prompt_tokens: int | None
    room: int
    in_journal: bool = False


@dataclass(frozen=True)
class Estimate:
    """What a judge's calls come to, at most; replies that have to be asked for twice come on top.

    `cost_max` is None where the price is unknown. Calls on pages that are not there yet are
    counted in `calls`, and in nothing else.
    """

    judge: str
    calls: int
    in_journal: int
    input_tokens: int
    output_tokens_max: int
    cost_max: float | None
    unpriced_pages: int


def estimate(judge: str, calls: Iterable[PlannedCall], price: Price) -> Estimate:
    """Sum up the calls that a judge would make."""
    calls = list(calls)
    new = [call for call in calls if not call.in_journal]
    known = [call for call in new if call.prompt_tokens is not None]
    read = sum(call.prompt_tokens or 0 for call in known)
    written = sum(call.room for call in known)
    return Estimate(
        judge=judge,
        calls=len(new),
        in_journal=len(calls) - len(new),
        input_tokens=read,
        output_tokens_max=written,
        cost_max=price.cost(read, written),
        unpriced_pages=len({call.page_id for call in new if call.prompt_tokens is None}),
    )


def describe(estimates: Iterable[Estimate]) -> str:
    """Return the estimates in words, a line a judge and one for the total."""
    estimates = list(estimates)
    lines = [_line(one) for one in estimates]
    known = sum(one.cost_max or 0 for one in estimates)
    complete = all(one.cost_max is not None and not one.unpriced_pages for one in estimates)
    if any(one.cost_max is not None for one in estimates):
        lines.append(f"total: {'at most' if complete else 'at least'} {known:.4f}")
    else:
        lines.append("total: unknown")
    return "\n".join(lines)


def _line(one: Estimate) -> str:
    """Return one judge's estimate in words."""
    cost = "cost unknown" if one.cost_max is None else f"cost at most {one.cost_max:.4f}"
    later = f"; {one.unpriced_pages} pages not there yet" if one.unpriced_pages else ""
    return (
        f"{one.judge}: {one.calls} calls, {one.in_journal} in the journal, "
        f"{one.input_tokens} tokens in, {one.output_tokens_max} out at most, {cost}{later}"
    )


# --- in between, and after -----------------------------------------------------------------------


@dataclass
class Spending:
    """Adds up what replies cost, and keeps a run below its limits.

    Before a request is sent, its estimate is set aside; so requests in flight can't add up to more
    than the limit.

    Parameters
    ----------
    price
        The judge's price.
    limit_tokens, limit_cost
        Tokens in and out, and money, of one run.

    Raises
    ------
    ValueError
        If there is a limit in money and no price to count by.
    """

    price: Price = Price()
    limit_tokens: int | None = None
    limit_cost: float | None = None
    tokens_in: int = field(default=0, init=False)
    tokens_cached: int = field(default=0, init=False)
    tokens_out: int = field(default=0, init=False)
    cost: float = field(default=0.0, init=False)
    uncosted: int = field(default=0, init=False)  # replies whose cost is unknown
    _aside: dict[int, tuple[int, float]] = field(default_factory=dict, init=False, repr=False)
    _lock: threading.Lock = field(default_factory=threading.Lock, init=False, repr=False)

    def __post_init__(self) -> None:
        if self.limit_cost is not None and not self.price.known:
            raise ValueError(
                "a limit in money needs the judge's prices: set price_in and price_out, "
                "or give a limit in tokens"
            )

    def set_aside(self, ticket: int, read: int, written: int) -> None:
        """Set the most that a request can cost aside.

        Raises
        ------
        JudgingStopped
            If the limit would be passed.
        """
        cost = self.price.cost(read, written) or 0.0
        with self._lock:
            tokens = self.tokens_in + self.tokens_out + sum(t for t, _ in self._aside.values())
            money = self.cost + sum(c for _, c in self._aside.values())
            if self.limit_tokens is not None and tokens + read + written > self.limit_tokens:
                raise JudgingStopped(
                    f"the limit of {self.limit_tokens} tokens is reached: {tokens} used or set aside, and "
                    f"the next call may take {read + written}"
                )
            if self.limit_cost is not None and money + cost > self.limit_cost:
                raise JudgingStopped(
                    f"the limit of {self.limit_cost:g} is reached: {money:.4f} spent or set aside, and the "
                    f"next call may cost {cost:.4f}"
                )
            self._aside[ticket] = (read + written, cost)

    def settle(self, ticket: int, usage: Mapping[str, Any]) -> None:
        """Replace what was set aside by what the reply did cost."""
        cost = self.price.cost_of(usage)
        with self._lock:
            self._aside.pop(ticket, None)
            self.tokens_in += usage.get("prompt", 0)
            self.tokens_out += usage.get("output", 0)
            self.tokens_cached += usage.get("cached", 0)
            self.cost += cost or 0.0
            self.uncosted += cost is None and bool(usage)

    def sums(self) -> dict[str, float | int | None]:
        """Return tokens and cost so far; the cost is None where it is unknown."""
        known = self.cost if self.cost or not self.uncosted else None
        return {
            "tokens_in": self.tokens_in,
            "tokens_cached": self.tokens_cached,
            "tokens_out": self.tokens_out,
            "cost": known,
            "replies_without_cost": self.uncosted,
        }

    def __str__(self) -> str:
        tokens = f"{self.tokens_in} tokens in ({self.tokens_cached} cached), {self.tokens_out} out"
        if self.uncosted and not self.cost:
            return f"{tokens}, cost unknown"
        least = "at least " if self.uncosted else ""
        return f"{tokens}, cost {least}{self.cost:.4f}"
