"""What judging costs is told before, summed after, and kept below its limits in between."""

import json

import pytest
from fakejudge import FakeJudge
from studies import packet, tiny_study

from sourcebench.judge import JudgingStopped, judge_study, plan_judging
from sourcebench.judge.journal import Journal
from sourcebench.judge.spending import (
    PlannedCall,
    Price,
    Spending,
    describe,
    estimate,
    estimated_tokens,
)


def test_price_before_spending(shared):
    """Calls, tokens and cost are the plan's; an unknown price stays unknown (F-01)."""
    case = shared / "cases" / "F-01-price-before-spending"
    plan, prices, expected = (
        json.loads((case / f"{name}.json").read_text(encoding="utf-8"))
        for name in ("plan", "prices", "expected")
    )
    made = {}
    for judge in plan["judges"]:
        price = prices.get(judge, {})
        calls = [
            PlannedCall(
                page["id"],
                None if page["tokens"] is None else page["tokens"] + plan["rubric_tokens"],
                plan["max_output_tokens"],
                f"{page['id']}|{judge}|{repeat}" in plan["cached"],
            )
            for page in plan["pages"]
            for repeat in range(1, plan["repeats"] + 1)
        ]
        made[judge] = estimate(judge, calls, Price(price.get("in_per_m"), price.get("out_per_m")))
    a, x = made["judge-a"], made["judge-x"]
    assert {"judge-a": a.calls, "judge-x": x.calls} == expected["calls"]
    assert a.input_tokens == expected["judge_a_input_tokens"]
    assert a.output_tokens_max == expected["judge_a_output_tokens_max"]
    assert a.cost_max == pytest.approx(expected["judge_a_cost_max"])
    assert a.unpriced_pages == expected["unpriced_pages"]
    assert x.cost_max is None
    words = describe(made.values())
    assert "judge-x: 8 calls, 0 in the journal" in words
    assert "cost unknown" in words
    assert words.endswith("total: at least 0.0282")


def test_a_dry_run_sends_nothing(tmp_path):
    """The plan needs no key and no endpoint; afterwards it knows what the journal holds."""
    with FakeJudge() as server:
        prices = {"price_in": 1.0, "price_out": 4.0, "key": "JUDGE_API_KEY"}
        study = tiny_study(tmp_path, server.settings(**prices))
        (plan,) = plan_judging(study, environ={})
        assert server.requests == []
        assert (plan.calls, plan.in_journal, plan.unpriced_pages) == (7, 0, 0)
        assert plan.cost_max == pytest.approx((plan.input_tokens + 4 * 7 * 2048) / 1e6)
        judge_study(study, environ={"JUDGE_API_KEY": "k" * 8})
        (after,) = plan_judging(study, environ={})
    assert (after.calls, after.in_journal, after.cost_max) == (0, 7, 0)


def test_pages_that_are_not_there_yet_are_counted_apart(tmp_path):
    """A cited page without a packet is a call without a price."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings(price_in=1.0, price_out=1.0), [packet("a")])
        (plan,) = plan_judging(study)
    assert (plan.calls, plan.unpriced_pages) == (4 + 2 + 4, 2)
    assert describe([plan]).splitlines()[1].startswith("total: at least")


@pytest.mark.parametrize("limit", [{"limit_tokens": 9_000}, {"limit_cost": 0.009}])
def test_a_limit_stops_the_run_cleanly(tmp_path, limit):
    """A limit in tokens or money is not passed; what is judged is kept, the rest can follow."""
    with FakeJudge() as server:
        prices = {"price_in": 1.0, "price_out": 1.0, "max_tokens": 500}
        study = tiny_study(tmp_path, server.settings(concurrency=4, **prices))
        with pytest.raises(JudgingStopped, match=r"the limit of .* is reached"):
            judge_study(study, **limit)
        lines = list(Journal(tmp_path / "journal.jsonl").lines())
        used = [line["usage"] for line in lines if line["status"] != "run"]
        spent = sum(u["prompt"] + u["output"] for u in used)
        assert 0 < spent <= 9_000
        (total,) = [line for line in lines if line["status"] == "run"]
        assert total["tokens_in"] + total["tokens_out"] == spent
        assert total["cost"] == pytest.approx(spent / 1e6)
        frame = judge_study(study)
        assert max(server.served.values()) == 1
    assert set(frame["outcome"]) == {"scored"}


def test_a_limit_in_money_needs_a_price(tmp_path):
    """A limit that could never strike is refused."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings())
        with pytest.raises(ValueError, match="a limit in money needs the judge's prices"):
            judge_study(study, limit_cost=1.0)


def test_real_cost_counts_the_cache():
    """Tokens from the provider's cache are counted at their price, an endpoint's own sum as given."""
    price = Price(read=2.0, written=8.0, cached=0.5)
    usage = {"prompt": 1_000_000, "output": 500_000, "cached": 400_000}
    assert price.cost_of(usage) == pytest.approx(0.6 * 2 + 0.4 * 0.5 + 4)
    assert price.cost_of({"cost": 0.125, "prompt": 10}) == 0.125
    assert Price().cost_of(usage) is None
    spending = Spending()
    spending.settle(1, usage)
    assert str(spending) == "1000000 tokens in (400000 cached), 500000 out, cost unknown"


def test_estimates_know_scripts():
    """Four ASCII characters are about a token, a Chinese one is about one by itself."""
    assert estimated_tokens("abcd" * 25) == 25
    assert estimated_tokens("水" * 25) == 25
    assert estimated_tokens("") == 0


def test_a_run_has_a_time_limit(tmp_path):
    """When the time of a run is up no further request is sent, and the rest can follow."""
    with FakeJudge(latency=0.1) as server:
        study = tiny_study(tmp_path, server.settings(concurrency=1))
        with pytest.raises(JudgingStopped, match=r"the time limit of 0\.25 s is reached"):
            judge_study(study, limit_seconds=0.25)
        assert 1 <= len(server.requests) <= 4


def test_limits_can_be_given_on_the_command_line(tmp_path):
    """`judge --limit-tokens` and `--limit-seconds` end a run with one line and a status."""
    from click.testing import CliRunner

    from sourcebench.cli import main

    with FakeJudge(latency=0.1) as server:
        study = tiny_study(tmp_path, server.settings(concurrency=1))
        for limit in (["--limit-tokens", "5000"], ["--limit-seconds", "0.2"]):
            ended = CliRunner().invoke(main, ["judge", str(study.folder), *limit])
            assert ended.exit_code == 1
            assert "is reached" in ended.output
            assert "run again to go on" in ended.output
