"""Requests start no faster than allowed, wait as told, and end when nothing will help."""

import json
from random import Random

import pytest

from sourcebench.collect.pacing import Pace, ProviderStopped, ask_patiently, asked_wait
from sourcebench.engines.wire import EngineError, Exchange


class Clock:
    """A clock that only moves when somebody sleeps."""

    def __init__(self):
        self.now = 0.0
        self.slept: list[float] = []

    def sleep(self, seconds: float) -> None:
        """Let time pass."""
        self.slept.append(seconds)
        self.now += seconds


def pace_of(clock: Clock, per_minute: float = 60000) -> Pace:
    """Return a pace that goes by the clock."""
    return Pace(per_minute=per_minute, sleep=clock.sleep, timer=lambda: clock.now, rng=Random(0))


def reply(status: int, headers=None, error: str = "") -> Exchange:
    """Return what came back for a request."""
    body = json.dumps({"error": {"message": error}} if error else {}).encode()
    return Exchange("POST", "https://x.example/", {}, status, body, headers or {})


def asking(*replies):
    """Return a function that gives one reply after the other, and raises those that are errors."""
    left = list(replies)

    def ask():
        one = left.pop(0)
        if isinstance(one, Exception):
            raise one
        return (one,)

    return ask


def test_requests_start_at_the_pace():
    """Thirty a minute are two seconds apart; a late request makes up for nothing."""
    clock = Clock()
    pace = pace_of(clock, per_minute=30)
    for _ in range(3):
        pace.turn()
    assert clock.now == pytest.approx(4)
    clock.now = 100
    pace.turn()
    pace.turn()
    assert clock.now == pytest.approx(102)


def test_a_rate_limit_holds_every_thread():
    """After a 429 no request starts before the time that was asked for."""
    clock = Clock()
    pace = pace_of(clock)
    ask = asking(reply(429, {"retry-after": "20"}), reply(200))
    assert ask_patiently(ask, pace)[0].status == 200
    assert 20 <= clock.now <= 30 + 1


def test_a_fault_of_the_server_makes_waits_grow():
    """Each wait is about twice the one before, and there is a last one."""
    clock = Clock()
    faults = [reply(503, error="down")] * 4
    result = ask_patiently(asking(*faults), pace_of(clock), retries=3)
    assert result[0].status == 503
    waits = [seconds for seconds in clock.slept if seconds > 1]
    assert len(waits) == 3
    for wait, least in zip(waits, (2, 4, 8), strict=True):
        assert least <= wait <= 1.5 * least


def test_a_request_without_reply_is_tried_again():
    """A broken connection is no answer yet; when it stays broken, the reason says how often."""
    gone = EngineError("no reply: could not connect", kind="unreachable")
    assert ask_patiently(asking(gone, reply(200)), pace_of(Clock()))[0].status == 200
    said = ask_patiently(asking(gone, gone, gone), pace_of(Clock()), retries=2)
    assert said == "no reply: could not connect (after 3 tries)"
    large = EngineError("the reply is longer than 1 bytes", kind="too_large")
    assert ask_patiently(asking(large), pace_of(Clock())) == "the reply is longer than 1 bytes"


@pytest.mark.parametrize(
    ("one", "why"),
    [
        (reply(401, error="bad key"), "HTTP 401: bad key"),
        (reply(402, error="pay"), "HTTP 402: pay"),
        (reply(432, error="limit"), "HTTP 432: limit"),
        (reply(429, error="You exceeded your current quota, insufficient_quota"), "HTTP 429"),
        (reply(429, {"retry-after": "86400"}), "the provider asks to wait 86400 s"),
    ],
)
def test_what_will_not_pass_stops_the_provider(one, why):
    """No access, no quota and waits beyond reason end it at once."""
    with pytest.raises(ProviderStopped, match=why):
        ask_patiently(asking(one), pace_of(Clock()))


def test_rejections_stop_only_when_nothing_was_ever_answered():
    """Three rejections at the start are a wrong request; later ones belong to their query."""
    pace = pace_of(Clock())
    bad = reply(400, error="no such model")
    ask_patiently(asking(bad), pace)
    ask_patiently(asking(bad), pace)
    with pytest.raises(ProviderStopped, match="rejects the requests: HTTP 400: no such model"):
        ask_patiently(asking(bad), pace)
    pace = pace_of(Clock())
    ask_patiently(asking(reply(200)), pace)
    for _ in range(5):
        assert ask_patiently(asking(bad), pace)[0].status == 400


def test_a_stopped_provider_lets_nobody_in():
    """The reason of the first stop is the one that is told."""
    pace = pace_of(Clock())
    pace.stop("no quota")
    pace.stop("interrupted")
    for step in (pace.check, pace.turn):
        with pytest.raises(ProviderStopped, match="no quota"):
            step()


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"retry-after": "3"}, 3),
        ({"retry-after": "0.5"}, 0.5),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:30 GMT", "date": "Thu, 01 Jan 2026 00:00:00 GMT"}, 30),
        ({"retry-after": "Thu, 01 Jan 2026 00:00:00 GMT", "date": "Thu, 01 Jan 2026 00:00:30 GMT"}, 0),
        ({"retry-after": "-1"}, 0),
        ({"retry-after": "nan"}, None),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)  # fmt: skip
def test_both_forms_of_retry_after(headers, seconds):
    """Seconds, or a date against the server's own clock; anything else is nothing."""
    assert asked_wait(headers) == seconds
