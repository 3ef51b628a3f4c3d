"""Failures of an endpoint are told apart, waited for as asked, and retried in one place only."""

import json
from datetime import UTC, datetime
from random import Random

import pytest
from fakejudge import FakeJudge, answer

from sourcebench.judge.dialect import Dialect, find_dialect
from sourcebench.judge.endpoint import (
    Endpoint,
    Failure,
    JudgingStopped,
    check_address,
    failure_of,
    reply_in,
    retry_after,
)
from sourcebench.judge.patience import Gate, Patience


class Clock:
    """A clock that only moves when somebody sleeps."""

    def __init__(self):
        self.time, self.slept = 0.0, []

    def __call__(self):
        return self.time

    def sleep(self, seconds):
        self.slept.append(seconds)
        self.time += seconds


class Scripted:
    """An endpoint that raises or returns what it is told, in turn."""

    def __init__(self, *turns):
        self.turns, self.asked = list(turns), 0

    def ask(self, body):
        turn = self.turns[min(self.asked, len(self.turns) - 1)]
        self.asked += 1
        if isinstance(turn, Exception):
            raise turn
        return turn


GOOD = reply_in(answer("ok"))
BODY = {"model": "m", "messages": []}


def patience(endpoint, clock, **more):
    """Return a retry layer on a clock that does not tick by itself."""
    return Patience(endpoint, clock=clock, sleep=clock.sleep, rng=Random(1), **more)


def lines(path):
    """Return the objects of a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def failure_in(row):
    """Return what an answer of the case files means, through the same door as a real one."""
    if row["http"] != 200:
        return failure_of(row["http"], row["headers"], row["body"])
    with FakeJudge(lambda body, n: (200, row["body"], {})) as judge:
        endpoint = Endpoint(judge.base_url)
        with pytest.raises(Failure) as caught:
            endpoint.ask(BODY)
        endpoint.close()
    return caught.value


def test_quota_or_wait(shared):
    """Rate limits wait, quota and key stop, overload backs off, inner codes count (C-05)."""
    rows = {
        row["id"]: row for row in lines(shared / "cases" / "C-05-quota-or-wait" / "responses.jsonl")
    }
    kinds = {name: failure_in(row).kind for name, row in rows.items()}
    assert kinds == {
        **{"w1": "wait", "w2": "stop", "w3": "wait", "w4": "stop"},
        **{"w5": "again", "w6": "stop", "w7": "wait"},
    }
    assert failure_in(rows["w1"]).wait == 2.0


def test_refusals_and_filters(shared):
    """A filter or refusal is told from a rate limit, in every form (C-04)."""
    rows = lines(shared / "cases" / "C-04-refused-and-filtered" / "responses.jsonl")
    f1, f2, f3, _ = rows
    assert failure_of(f1["http"], {}, f1["body"]).kind == "filtered"
    assert reply_in(f2["body"]).status == "filtered"
    assert reply_in(f3["body"]).status == "refused"


def test_cut_and_empty_replies(shared):
    """Both spellings of the length limit are a cut reply, and thinking alone is an empty one (C-03)."""
    rows = lines(shared / "cases" / "C-03-cut-off" / "replies.jsonl")
    found = {row["id"]: (reply_in(row).status, reply_in(row).reason) for row in rows}
    cut = ("cut", "cut off at the output limit")
    assert found == {"t1": cut, "t2": cut, "t3": cut, "t4": ("empty", "empty reply")}


@pytest.mark.parametrize(
    ("headers", "seconds"),
    [
        ({"Retry-After": "2"}, 2.0),
        ({"retry-after": "-5"}, 0.0),
        ({"retry-after-ms": "1500"}, 1.5),
        ({"retry-after": "Mon, 01 Jun 2026 12:00:30 GMT"}, 30.0),
        (
            {
                "retry-after": "Mon, 01 Jun 2026 12:00:30 GMT",
                "date": "Mon, 01 Jun 2026 12:00:20 GMT",
            },
            10.0,
        ),
        ({"retry-after": "soon"}, None),
        ({}, None),
    ],
)
def test_both_forms_of_retry_after(headers, seconds):
    """Seconds and dates are understood, nothing is negative, nonsense is no answer."""
    assert retry_after(headers, lambda: datetime(2026, 6, 1, 12, tzinfo=UTC)) == seconds


def test_a_rate_limit_is_waited_for_as_asked():
    """The wait that the endpoint asks for is kept, and the reply tells how many tries it took."""
    clock = Clock()
    endpoint = Scripted(Failure("wait", "slow down", wait=2.0), GOOD)
    reply = patience(endpoint, clock).ask(BODY)
    assert (reply.status, reply.attempts) == ("reply", 2)
    assert clock.time >= 2.0


def test_faults_are_retried_with_a_ceiling():
    """A faulty endpoint gets as many tries as allowed, each after a longer wait, then an outcome."""
    waited = {}
    for attempts in (3, 4):
        clock, endpoint = Clock(), Scripted(Failure("again", "500, oops"))
        reply = patience(endpoint, clock, attempts=attempts).ask(BODY)
        assert (reply.status, reply.reason) == ("error", f"500, oops (after {attempts} tries)")
        assert endpoint.asked == attempts
        waited[attempts] = clock.time
    assert waited[4] > 2 * waited[3] > 0


def test_a_request_has_a_deadline():
    """However often an endpoint asks to wait, a request ends."""
    clock = Clock()
    endpoint = Scripted(Failure("wait", "429", wait=100.0))
    reply = patience(endpoint, clock, deadline=250.0).ask(BODY)
    assert reply.status == "error"
    assert clock.time < 600


def test_an_hour_of_waiting_is_a_stop():
    """An endpoint that asks to come back after an hour ends the run instead of holding it."""
    with pytest.raises(JudgingStopped, match="asks to wait 3600 s"):
        patience(Scripted(Failure("wait", "429", wait=3600.0)), Clock()).ask(BODY)


def test_a_stop_holds_for_everybody():
    """After the quota is used up no other request is sent."""
    endpoint = Scripted(Failure("stop", "quota"), GOOD)
    layer = patience(endpoint, Clock())
    for _ in range(2):
        with pytest.raises(JudgingStopped, match="quota"):
            layer.ask(BODY)
    assert endpoint.asked == 1


def test_a_dead_endpoint_stops_the_run():
    """Failures without a success in between end the run instead of costing every page its retries."""
    layer = patience(Scripted(Failure("again", "connection refused")), Clock(), attempts=1)
    replies = [layer.ask(BODY) for _ in range(16)]
    assert {reply.status for reply in replies} == {"error"}
    with pytest.raises(JudgingStopped, match="16 requests failed in a row"):
        layer.ask(BODY)


def test_a_rate_limit_narrows_the_gate_once():
    """Ten requests that meet the same limit halve the concurrency once, successes widen it again."""
    clock = Clock()
    gate = Gate(16, clock, clock.sleep)
    entered = [gate.enter() for _ in range(10)]
    for time in entered:
        gate.narrow(time, 1.0, 1.0)
        gate.leave()
    assert gate.limit == 8
    for _ in range(200):
        gate.widen()
    assert gate.limit == 16


def test_only_one_layer_retries():
    """The client sends a failing request once; the retry layer alone decides on more."""
    with FakeJudge(lambda body, n: (500, {"error": {"message": "no"}}, {})) as judge:
        endpoint = Endpoint(judge.base_url)
        with pytest.raises(Failure, match="500, no"):
            endpoint.ask(BODY)
        endpoint.close()
        assert len(judge.requests) == 1


@pytest.mark.parametrize(
    ("script", "kind"),
    [
        ((200, {"id": "x", "choices": None}, {}), "again"),
        ((200, {"choices": []}, {}), "again"),
        ((200, b"<html>gateway</html>", {}), "again"),
        ((200, b"", {}), "again"),
        ((200, {"choices": [{"error": {"code": 502, "message": "x"}}]}, {}), "again"),
        ((200, {"error": {"code": "insufficient_quota", "message": "x"}}, {}), "stop"),
        ((400, {"error": {"message": "maximum context length is 8192"}}, {}), "too_long"),
        ((404, {"error": {"message": "no such model"}}, {}), "stop"),
        ((502, b"<html>bad gateway</html>", {}), "again"),
        ("drop", "again"),
        ("hang", "timeout"),
    ],
)
def test_whatever_comes_back_has_a_kind(script, kind):
    """Odd answers over a real connection, status 200 or not, are failures of a known kind."""
    with FakeJudge(lambda body, n: script) as judge:
        endpoint = Endpoint(judge.base_url, timeout=0.4)
        with pytest.raises(Failure) as caught:
            endpoint.ask(BODY)
        endpoint.close()
    assert caught.value.kind == kind


def test_rejected_parameters_are_changed_once(shared):
    """One change for each error, each remembered; what was really sent is told (C-14)."""
    turns = lines(shared / "cases" / "C-14-rejected-parameter" / "dialogue.jsonl")
    script = iter((row["http"], row["body"], {}) for row in turns)
    with FakeJudge(lambda body, n: next(script)) as judge:
        endpoint = Endpoint(judge.base_url)

        def try_it(dialect):
            body = dialect.body("m", [], {"type": "object"}, room=2048, temperature=0.0)
            return endpoint.ask(body)

        dialect, reply = find_dialect(try_it)
        endpoint.close()
        first, last = judge.requests[0], judge.requests[-1]
        assert len(judge.requests) == 4
    assert first["max_tokens"] == 2048
    assert first["response_format"]["type"] == "json_schema"
    assert last == {
        **{"model": "m", "messages": [], "max_completion_tokens": 2048},
        "response_format": {"type": "json_object"},
    }
    assert dialect == Dialect("json_object", "max_completion_tokens", temperature=False)
    assert reply.model == "m-2026"


def test_an_unknown_rejection_is_not_retried():
    """A 400 that names nothing we can leave out ends with the server's words."""
    with FakeJudge(lambda body, n: (400, {"error": {"message": "wrong moon phase"}}, {})) as judge:
        endpoint = Endpoint(judge.base_url)
        with pytest.raises(Failure, match="wrong moon phase"):
            find_dialect(lambda d: endpoint.ask(d.body("m", [], {}, room=9, temperature=0)))
        endpoint.close()
        assert len(judge.requests) == 1


def test_keys_travel_over_tls_only():
    """A key is refused to a plain http address on another machine, and allowed on this one."""
    with pytest.raises(ValueError, match="only sent over https"):
        check_address("http://judge.example.org/v1", "JUDGE_API_KEY")
    check_address("http://127.0.0.1:8080/v1", "JUDGE_API_KEY")
    check_address("http://judge.example.org/v1", "")
