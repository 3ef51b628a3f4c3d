"""The one retry layer: waits when told to, slows down for rate limits, gives up in good time."""

from __future__ import annotations

import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from random import Random
from typing import Any

from sourcebench.judge.endpoint import Endpoint, Failure, JudgingStopped, Reply

_LONGEST_PAUSE = 60.0  # seconds of back-off
_LONGEST_WAIT = 900.0  # seconds an endpoint may ask for; beyond, the run stops
_TICK = 0.02  # seconds between two looks at a closed gate


class Gate:
    """How many requests may be in flight, and from when on.

    A rate limit halves the number, once for all requests that were in flight when it struck, and
    closes the gate for as long as the endpoint says, or longer each time it strikes in a row.
    Every success opens it a little.
    """

    def __init__(self, most: int, clock: Callable[[], float], sleep: Callable[[float], None]):
        self.most, self.limit = most, float(most)
        self._clock, self._sleep = clock, sleep
        self._lock = threading.Lock()
        self._running, self._streak = 0, 0
        self._opens, self._narrowed = 0.0, float("-inf")
        self._stopped = ""

    def enter(self) -> float:
        """Wait to be let in; return the time of entry."""
        while True:
            with self._lock:
                if self._stopped:
                    raise JudgingStopped(self._stopped)
                now = self._clock()
                if now >= self._opens and self._running < max(1, int(self.limit)):
                    self._running += 1
                    return now
                pause = max(_TICK, min(self._opens - now, 1.0))
            self._sleep(pause)

    def leave(self) -> None:
        """Give the place back."""
        with self._lock:
            self._running -= 1

    def widen(self) -> None:
        """Take note of a success."""
        with self._lock:
            self._streak = 0
            self.limit = min(self.most, self.limit + 1 / self.limit)

    def narrow(self, entered: float, wait: float | None, jitter: float) -> None:
        """Take note of a rate limit met by a request that entered at `entered`."""
        with self._lock:
            now = self._clock()
            if entered > self._narrowed:
                self.limit, self._narrowed = max(1.0, self.limit / 2), now
                self._streak += 1
            backoff = min(_LONGEST_PAUSE, 0.5 * 2 ** min(self._streak, 10)) * jitter
            pause = max(wait, backoff if self._streak > 2 else 0) if wait is not None else backoff
            self._opens = max(self._opens, now + pause)

    def stop(self, why: str) -> None:
        """Let nobody in any more."""
        with self._lock:
            self._stopped = self._stopped or why

    def wait(self, seconds: float) -> None:
        """Sleep, but not past a stop."""
        until = self._clock() + seconds
        while (left := until - self._clock()) > 0:
            if self._stopped:
                raise JudgingStopped(self._stopped)
            self._sleep(min(left, 1.0))


@dataclass
class Patience:
    """Sends requests until they bring a reply, within limits of number and time.

    Parameters
    ----------
    endpoint
        Where requests go; it must not retry itself.
    concurrency
        Requests in flight, at most.
    attempts
        Tries of a request that meets the endpoint's faults, at most; rate limits count apart, with
        four times as many.
    deadline
        Seconds for one request with all its tries.
    rng
        Spreads the waits.
    """

    endpoint: Endpoint
    concurrency: int = 8
    attempts: int = 5
    deadline: float = 900.0
    rng: Random = field(default_factory=Random)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    counts: Counter = field(default_factory=Counter, init=False)

    def __post_init__(self) -> None:
        self.gate = Gate(self.concurrency, self.clock, self.sleep)
        self._lock = threading.Lock()
        self._failed_in_a_row = self._rejected_in_a_row = 0

    def ask(self, body: Mapping[str, Any]) -> Reply:
        """Return what a request brings, retries included; failures are replies too.

        Raises
        ------
        JudgingStopped
            If no request will fare better: no quota, no valid key, or an endpoint that is down.
        """
        try:
            reply = self.insist(body)
        except Failure as failure:
            status = {"filtered": "filtered", "timeout": "timeout"}.get(failure.kind, "error")
            reply = Reply(status, reason=failure.message, finish=failure.kind)
        self._count(reply)
        return reply

    def insist(self, body: Mapping[str, Any]) -> Reply:
        """Return what a request brings, retries included.

        Raises
        ------
        Failure
            The last one, if the request brings nothing within its limits.
        JudgingStopped
            As for `ask`.
        """
        until, tries = self.clock() + self.deadline, Counter()
        while True:
            entered = self.gate.enter()
            try:
                reply = self.endpoint.ask(body)
            except Failure as met:
                failure = met
            else:
                self.gate.widen()
                return replace(reply, attempts=tries.total() + 1)
            finally:
                self.gate.leave()
            self._after(failure, entered, tries, until)

    def _after(self, failure: Failure, entered: float, tries: Counter, until: float) -> None:
        """Wait as a failure demands, or raise it if that is of no use."""
        tries[failure.kind] += 1
        if failure.kind == "stop":
            self._stop(failure.message)
        if failure.kind not in ("wait", "again", "timeout"):
            raise failure
        spent = tries["wait"] >= 4 * self.attempts or (
            tries["again"] + tries["timeout"] >= self.attempts
        )
        if spent or self.clock() >= until:
            raise Failure(failure.kind, f"{failure.message} (after {tries.total()} tries)")
        self._wait(failure, entered, tries)

    def _wait(self, failure: Failure, entered: float, tries: Counter) -> None:
        """Wait before the next try: a rate limit holds for everybody, a fault for this request."""
        with self._lock:
            jitter = self.rng.uniform(0.75, 1.25)
            self.counts["retries"] += 1
            self.counts["waits"] += failure.kind == "wait"
        if failure.wait is not None and failure.wait > _LONGEST_WAIT:
            self._stop(f"the endpoint asks to wait {failure.wait:.0f} s: {failure.message}")
        if failure.kind == "wait":
            self.gate.narrow(entered, failure.wait, jitter)
            return
        backoff = min(_LONGEST_PAUSE, 0.5 * 2 ** tries.total()) * jitter
        self.gate.wait(failure.wait if failure.wait is not None else backoff)

    def _count(self, reply: Reply) -> None:
        """Count a reply, and stop when nothing but failures come."""
        with self._lock:
            self.counts["calls"] += 1
            self.counts[reply.status] += 1
            failed = reply.finish in ("again", "timeout", "wait")
            rejected = reply.finish == "rejected"
            self._failed_in_a_row = self._failed_in_a_row + 1 if failed else 0
            self._rejected_in_a_row = self._rejected_in_a_row + 1 if rejected else 0
            in_a_row, rejections = self._failed_in_a_row, self._rejected_in_a_row
            first = self.counts["calls"] == 1
        if rejections >= 3 or (rejections and first):
            self.gate.stop(f"the endpoint rejects the request: {reply.reason}")
        if in_a_row >= max(10, 2 * self.concurrency):
            self.gate.stop(f"{in_a_row} requests failed in a row, the last one so: {reply.reason}")

    def _stop(self, why: str) -> None:
        """End the run, for this and every other thread."""
        self.gate.stop(why)
        raise JudgingStopped(why)
