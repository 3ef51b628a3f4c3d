"""Intervals, comparisons and ranks with the query as the unit."""

import numpy as np
import pandas as pd
import pytest

from sourcebench.bootstrap import (
    cluster_mean,
    macro_mean,
    weighted_score,
)
from sourcebench.intervals import WEIGHTS

FIXTURE_A = pd.DataFrame(
    {"query_id": list("112333"), "weighted": [80.0, 100.0, 60.0, 90.0, 70.0, 100.0]}
)
THREE = pd.DataFrame({"query_id": list("123"), "category": ["factual"] * 3})


def rows(*scores):
    """Return a frame of metric rows."""
    return pd.DataFrame(scores, columns=list(WEIGHTS), dtype=float)


def test_weighted_score_has_the_published_values():
    """The weighted score runs from 20 to 100 and counts content metrics one and a half times."""
    score = weighted_score(rows([5] * 8, [1] * 8, [5, 5, 5, 1, 1, 1, 1, 1], [1, 1, 1] + [5] * 5))
    assert score.tolist() == pytest.approx([100, 20, 57.894736842, 62.105263158], abs=1e-9)


def test_a_missing_metric_leaves_no_weighted_score():
    """A source without one metric has no weighted score; it is never counted as zero."""
    score = weighted_score(rows([5] * 8, [np.nan, 5, 5, 5, 5, 5, 5, 5]))
    assert score.tolist()[0] == 100
    assert np.isnan(score[1])


def test_cluster_mean_matches_the_worked_example():
    """Micro mean, CR1 standard error and logit interval equal the values worked by hand."""
    estimate = cluster_mean(FIXTURE_A, "weighted", queries=THREE)
    assert estimate.value == pytest.approx(83.333333, abs=1e-6)
    assert estimate.se == pytest.approx(5.853140974, abs=1e-9)
    assert (estimate.low, estimate.high) == pytest.approx((48.830984, 96.995644), abs=1e-6)
    assert (estimate.n, estimate.clusters, estimate.df) == (6, 3, 2)


def test_macro_mean_averages_queries():
    """The macro mean gives each query one vote."""
    assert macro_mean(FIXTURE_A, "weighted", queries=THREE).value == pytest.approx(78.888889)
