"""What a number of queries can detect."""

import numpy as np
import pytest

from sourcebench.statistics.power import (
    detectable_difference,
    difference_sd,
    power_of,
    power_statement,
    power_table,
    queries_needed,
)
from sourcebench.statistics.ranks import compare_all
from sourcebench.statistics.simulate import synthetic_queries, synthetic_sources


@pytest.mark.parametrize(
    ("delta", "pairs", "queries"),
    [(2, 1, 522), (4, 1, 131), (1, 1, 2086), (2, 66, 1177), (4, 66, 295), (1, 66, 4708)],
)
def test_queries_needed(delta, pairs, queries):
    """The numbers of queries for a spread of 16.3 points are the worked ones."""
    assert queries_needed(delta, 16.3, pairs=pairs) == queries


def test_detection_is_the_inverse():
    """The detectable difference at the needed queries is the difference asked for."""
    needed = (1.959964 + 0.841621) ** 2 * 16.3**2 / 4
    assert detectable_difference(round(needed), 16.3) == pytest.approx(2, abs=0.002)
    assert detectable_difference(100, 16.3) == pytest.approx(4.57, abs=0.005)
    assert power_of(4, 100, 14) == pytest.approx(0.815, abs=0.001)


def test_power_agrees_with_statsmodels():
    """Power equals that of statsmodels' normal test."""
    from statsmodels.stats.power import normal_power

    assert power_of(2, 300, 16.3) == pytest.approx(normal_power(2 / 16.3, 300, 0.05))


def test_power_agrees_with_simulation():
    """Of simulated studies with a true difference, the share that find it is the power."""
    rng = np.random.default_rng(0)
    draws = 4 + 14 * rng.standard_normal((2000, 100))
    t = draws.mean(axis=1) / draws.std(axis=1, ddof=1) * 10
    assert (np.abs(t) > 1.984).mean() == pytest.approx(power_of(4, 100, 14), abs=0.03)


def test_the_statement_of_a_leaderboard():
    """The sentence names the queries, and one pair and all pairs apart."""
    queries = synthetic_queries(50)
    frame = synthetic_sources(queries, rng=np.random.default_rng(1))
    pairs = compare_all(frame, "weighted", queries)
    sd = difference_sd(pairs, 50)
    table = power_table(pairs, 50)
    assert table.loc[4.0, "one_pair"] == queries_needed(4, sd)
    assert table.loc[4.0, "all_pairs"] == queries_needed(4, sd, pairs=66)
    one, every = (detectable_difference(50, sd, pairs=k) for k in (1, 66))
    assert power_statement(pairs, 50) == (
        "With 50 queries the smallest difference found with 80% power is "
        f"{one:.1f} points for one pair and {every:.1f} points when all 66 pairs are tested."
    )


@pytest.mark.parametrize("call", [lambda: queries_needed(0, 10), lambda: queries_needed(1, 1, power=1),
                                  lambda: detectable_difference(0, 1)])  # fmt: skip
def test_impossible_questions_are_refused(call):
    """A difference of nothing, certainty and no queries are errors."""
    with pytest.raises(ValueError, match=r"give a|at least one"):
        call()
