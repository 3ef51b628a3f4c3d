"""Whose turn it is: requests wait for their host, and hosts for the time they are free again."""

from __future__ import annotations

import heapq
from collections import deque
from typing import Any


class Turns:
    """Things that wait for a host. Times are seconds of one monotonic clock.

    Parameters
    ----------
    per_host
        How many may be with one host at a time.
    """

    def __init__(self, per_host: int):
        self._per_host = per_host
        self._waiting: dict[str, deque[Any]] = {}
        self._active: dict[str, int] = {}
        self._free_at: dict[str, float] = {}
        self._order: list[tuple[float, int, str]] = []  # a host may stand here more than once
        self._count = 0

    def add(self, host: str, item: Any, *, first: bool = False) -> None:
        """Let an item wait for a host, before the others there if it goes first."""
        waiting = self._waiting.setdefault(host, deque())
        if first:
            waiting.appendleft(item)
        else:
            waiting.append(item)
        self._offer(host)

    def take(self, now: float) -> Any | None:
        """Return an item whose host is free now, or None."""
        while self._order and self._order[0][0] <= now:
            host = heapq.heappop(self._order)[2]
            if not self._may_go(host):
                continue
            if self._free_at.get(host, 0.0) <= now:
                self._active[host] = self._active.get(host, 0) + 1
                item = self._waiting[host].popleft()
                self._offer(host)
                return item
            self._offer(host)
        return None

    def done(self, host: str, free_at: float) -> None:
        """Note that an item has left a host, and from when on the next one may go there."""
        self._active[host] -= 1
        self._free_at[host] = max(free_at, self._free_at.get(host, 0.0))
        self._offer(host)

    def drain(self, host: str) -> list[Any]:
        """Take away all that wait for a host."""
        return list(self._waiting.pop(host, ()))

    def next_at(self) -> float | None:
        """Return when the next item may go, or None if none waits, or all wait for others to end."""
        while self._order and not self._may_go(self._order[0][2]):
            heapq.heappop(self._order)
        return self._order[0][0] if self._order else None

    def _may_go(self, host: str) -> bool:
        """Whether an item waits for a host with room for it."""
        return bool(self._waiting.get(host)) and self._active.get(host, 0) < self._per_host

    def _offer(self, host: str) -> None:
        """Put a host in the order of turns if an item can go there."""
        if self._may_go(host):
            self._count += 1
            heapq.heappush(self._order, (self._free_at.get(host, 0.0), self._count, host))
