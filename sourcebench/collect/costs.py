"""What answers cost: an estimate before a run, and a limit during it, in US dollars."""

from __future__ import annotations

import threading
from collections.abc import Mapping, Sequence
from typing import Any

from sourcebench.collect.pacing import ProviderStopped

Settings = Mapping[str, Any]


def expected_cost(settings: Settings, usages: Sequence[Mapping[str, int]]) -> float | None:
    """Return what one answer costs: by the answers that are there, else as the settings expect.

    Parameters
    ----------
    settings
        Of the system: `price` and `expected`.
    usages
        Tokens of the answers that are there.
    """
    if usages:
        costs = [answer_cost(settings, usage) for usage in usages]
        return None if None in costs else sum(costs) / len(costs)
    return answer_cost(settings, settings.get("expected"))


def answer_cost(settings: Settings, usage: Mapping[str, int] | None) -> float | None:
    """Return the US dollars that one answer costs by its system's prices, or None if not known.

    Parameters
    ----------
    settings
        With `price`: `input` and `output` for a million tokens, `call` for a request.
    usage
        Tokens read and written; reasoning is counted as `output` where it is not a part of it.
    """
    price = settings.get("price")
    if not price or "call" not in price:
        return None
    if "input" not in price:
        return price["call"]
    if not usage or "input" not in usage or "output" not in usage:
        return None
    written = max(usage["output"], usage.get("total", 0) - usage["input"])
    return price["call"] + (usage["input"] * price["input"] + written * price["output"]) / 1e6


class Purse:
    """Lets answers be asked for as long as the limit holds, by what each is expected to cost.

    Parameters
    ----------
    limit
        US dollars of the run, or None for no limit.
    each
        Expected cost of one answer of each system.
    """

    def __init__(self, limit: float | None, each: Mapping[str, float]):
        self.limit, self.each, self.spent = limit, each, 0.0
        self._lock = threading.Lock()

    def take(self, system: str) -> None:
        """Set aside what one answer is expected to cost.

        Raises
        ------
        ProviderStopped
            If the limit would be passed.
        """
        with self._lock:
            cost = self.each.get(system, 0.0)
            if self.limit is not None and self.spent + cost > self.limit:
                raise ProviderStopped(f"the limit of {self.limit:g} USD is reached")
            self.spent += cost
