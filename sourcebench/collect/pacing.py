"""The one retry layer of collecting: a pace for each provider, and patience within bounds."""

from __future__ import annotations

import math
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from email.utils import parsedate_to_datetime
from random import Random

from sourcebench.engines.faults import fault_message
from sourcebench.engines.wire import EngineError, Exchange, decode

_AGAIN = (408, 409, 425, 500, 502, 503, 504, 520, 522, 524, 529)
_NO_ACCESS = (401, 402, 403, 432, 433)  # the last two are Tavily's plan limits
_QUOTA = ("insufficient_quota", "billing", "credit balance", "quota exceeded", "plan limit")
_LONGEST_WAIT = 300.0  # seconds that a provider may ask for; beyond, it stops
_FIRST_BACKOFF = 2.0
_REJECTIONS = 3  # in a row, without one answer: the request itself is wrong


class ProviderStopped(Exception):
    """No further request to this provider will fare better; the message says why."""


class Pace:
    """When the next request to a provider may start, for all threads together.

    Parameters
    ----------
    per_minute
        Requests started in a minute, at most.
    sleep, timer
        Waiting, and the time in seconds.
    rng
        Spreads the waits.
    """

    def __init__(
        self,
        *,
        per_minute: float,
        sleep: Callable[[float], None] = time.sleep,
        timer: Callable[[], float] = time.monotonic,
        rng: Random,
    ):
        self._gap, self._sleep, self._timer, self._rng = 60 / per_minute, sleep, timer, rng
        self._lock = threading.Lock()
        self._next, self._stopped = 0.0, ""
        self._answered, self._rejected = False, 0

    def check(self) -> None:
        """Raise if the provider has stopped."""
        if self._stopped:
            raise ProviderStopped(self._stopped)

    def stop(self, why: str) -> None:
        """Let no further request start."""
        self._stopped = self._stopped or why

    def turn(self) -> None:
        """Wait until the next request may start."""
        with self._lock:
            now = self._timer()
            start = max(now, self._next)
            self._next = start + self._gap
        if start > now:
            self._sleep(start - now)
        self.check()

    def hold(self, seconds: float) -> None:
        """Let no request of any thread start for a while, a little longer than asked."""
        with self._lock:
            seconds *= self._rng.uniform(1.0, 1.5)
            self._next = max(self._next, self._timer() + seconds)

    def pause(self, seconds: float) -> None:
        """Let this thread alone wait, a little more or less than asked."""
        with self._lock:
            seconds *= self._rng.uniform(1.0, 1.5)
        self._sleep(seconds)

    def settle(self, rejected: str) -> None:
        """Take note of a reply; several rejections in a row from the start end it."""
        with self._lock:
            self._answered = self._answered or not rejected
            self._rejected = self._rejected + 1 if rejected else 0
            hopeless = self._rejected >= _REJECTIONS and not self._answered
        if hopeless:
            raise ProviderStopped(f"the provider rejects the requests: {rejected}")


def ask_patiently(
    ask: Callable[[], Sequence[Exchange]], pace: Pace, *, retries: int = 4
) -> tuple[Exchange, ...] | str:
    """Ask until a reply comes or trying again is of no use.

    Parameters
    ----------
    ask
        Makes the request; it must not retry.
    pace
        The provider's.
    retries
        Further tries after faults that can pass; a rate limit holds all requests of the provider.

    Returns
    -------
    tuple of Exchange, or str
        What came back last, whatever its status, or why nothing came.

    Raises
    ------
    ProviderStopped
        If the key is refused, the quota is spent, or a wait is asked for that is too long.
    """
    for tried in range(retries + 1):
        pace.turn()
        try:
            exchanges = tuple(ask())
        except EngineError as error:
            if tried == retries or error.kind == "too_large":
                return f"{error} (after {tried + 1} tries)" if tried else str(error)
            pace.pause(_FIRST_BACKOFF * 2**tried)
            continue
        last = exchanges[-1]
        _stop_for_good(last)
        if tried == retries or last.status not in (429, *_AGAIN):
            pace.settle(f"HTTP {last.status}: {said(last)}" if last.status >= 400 else "")
            return exchanges
        _wait(pace, tried, last)
    raise AssertionError("unreachable")


def _wait(pace: Pace, tried: int, last: Exchange) -> None:
    """Wait as the provider asks, else longer each time; a rate limit holds for every thread."""
    asked = asked_wait(last.headers)
    if asked is not None and asked > _LONGEST_WAIT:
        raise ProviderStopped(f"the provider asks to wait {asked:.0f} s (HTTP {last.status})")
    seconds = _FIRST_BACKOFF * 2**tried if asked is None else asked
    if last.status == 429:
        pace.hold(seconds)
    else:
        pace.pause(seconds)


def _stop_for_good(exchange: Exchange) -> None:
    """Raise for a reply that no further request will better."""
    if exchange.status in _NO_ACCESS:
        raise ProviderStopped(f"HTTP {exchange.status}: {said(exchange) or 'no access'}")
    if exchange.status == 429 and any(word in said(exchange).lower() for word in _QUOTA):
        raise ProviderStopped(f"HTTP 429: {said(exchange)}")


def said(exchange: Exchange) -> str:
    """Return the message of a reply that reports an error."""
    try:
        return fault_message(decode(exchange.body))
    except ValueError:
        return ""


def asked_wait(headers: Mapping[str, str]) -> float | None:
    """Return the seconds that Retry-After asks to wait, in either of its forms."""
    value = headers.get("retry-after", "").strip()
    try:
        seconds = float(value)
        return max(0.0, seconds) if math.isfinite(seconds) else None
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(value)
        now = parsedate_to_datetime(headers.get("date", ""))
        return max(0.0, (until - now).total_seconds())
    except (ValueError, TypeError):
        return None
