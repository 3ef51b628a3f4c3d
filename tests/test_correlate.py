"""Correlations over sources and over systems, and what may be said of them."""

from itertools import permutations

import numpy as np
import pandas as pd
import pytest

from sourcebench.rubric import CODES
from sourcebench.statistics.correlate import (
    answer_source_cells,
    bivariate_normal_cdf,
    clustered_pearson,
    critical_r,
    exact_orders,
    fixed_effects_slope,
    metric_correlations,
    pearson,
    permutation_p,
    polychoric,
    system_correlation,
)

# SourceBench's Tables 8 (share of cited pages in Google, weighted score) and 6 (exact match).
OVERLAP = pd.Series([15.99, 27.53, 29.67, 20.95, 23.5, 31.96, 40, 44.66, 55.45, 28.4, 37.1])
WEIGHTED = pd.Series(
    [89.081, 81.518, 83.381, 79.379, 78.981, 78.339, 78.547, 80.108, 78.268, 81.795, 81.282]
)
ANSWER = pd.Series([18.33, 14.04, 10.0, 10.0, 9.26, 8.33])
SOURCE = pd.Series([89.081, 81.795, 83.381, 78.547, 81.282, 79.379])


def judged(seed, systems=6, queries=60, within=0.5, between=0.0):
    """Return sources whose metrics share a common part within systems, and one between them."""
    rng = np.random.default_rng(seed)
    table = []
    for k in range(systems):
        shift = between * (k - (systems - 1) / 2)
        for i in range(queries):
            for _ in range(3):
                latent = np.sqrt(within) * rng.normal() + np.sqrt(1 - within) * rng.normal(size=8)
                latent[0] += shift
                latent[1] -= shift
                table.append((f"s{k}", f"q{i}", *np.rint(3.5 + latent).clip(1, 5)))
    return pd.DataFrame(table, columns=["system", "query_id", *CODES])


# Over systems


@pytest.mark.parametrize(
    ("x", "y", "two_sided", "total"),
    [
        (pd.Series(range(1, 7)), pd.Series([2, 1, 4, 3, 6, 5]), 42, 720),
        (OVERLAP, WEIGHTED, 3_297_002, 39_916_800),
        (OVERLAP[1:], WEIGHTED[1:], 1_346_247, 3_628_800),
        (ANSWER, SOURCE, 34, 720),
        (ANSWER[1:], SOURCE[1:], 72, 120),
        (OVERLAP.rank(), WEIGHTED.rank(), 4_004_090, 39_916_800),
        (ANSWER.rank(), SOURCE.rank(), 116, 720),
    ],
)
def test_exact_orders_of_published_tables(x, y, two_sided, total):
    """Every order is counted, equal ones included."""
    assert exact_orders(x, y)[::2] == (two_sided, total)


def test_exact_orders_equal_a_literal_count():
    """Meeting in the middle counts what trying every order counts, on both sides and on one."""
    rng = np.random.default_rng(0)
    for n in (2, 3, 5, 7):
        x, y = rng.integers(0, 5, (2, n)).astype(float)
        sums = [np.dot(x - x.mean(), np.array(order) - y.mean()) for order in permutations(y)]
        seen = np.dot(x - x.mean(), y - y.mean())
        expected = (
            sum(abs(s) >= abs(seen) - 1e-9 for s in sums),
            sum(s >= seen - 1e-9 for s in sums),
            len(sums),
        )
        assert exact_orders(x, y) == expected


def test_exact_p_agrees_with_scipy():
    """The exact p-value is that of scipy's exhaustive permutation test."""
    from scipy.stats import permutation_test

    x, y = np.random.default_rng(1).normal(size=(2, 6))
    theirs = permutation_test(
        (y,), lambda v: np.corrcoef(x, v)[0, 1], permutation_type="pairings", n_resamples=np.inf
    )
    ours = exact_orders(x, y)
    one_sided = min(ours.greater, ours.total - ours.greater + 1) / ours.total
    assert theirs.pvalue == pytest.approx(2 * one_sided)


@pytest.mark.parametrize(
    ("x", "y", "r", "low", "high"),
    [
        (OVERLAP, WEIGHTED, -0.552669, -0.8866, 0.1600),
        (OVERLAP[1:], WEIGHTED[1:], -0.319012, -0.7878, 0.3839),
        (ANSWER, SOURCE, 0.844787, -0.7637, 0.9981),
        (ANSWER[1:], SOURCE[1:], 0.349563, -0.5158, 0.8619),
    ],
)
def test_published_correlations_carry_no_claim(x, y, r, low, high):
    """Neither published correlation stays above the critical value without its first system."""
    result = system_correlation(x, y)
    assert result.r == pytest.approx(r, abs=1e-6)
    assert (result.low, result.high) == pytest.approx((low, high), abs=1e-4)
    assert not result.claim.holds
    assert result.claim.reason.startswith("no claim: ")


def test_leave_one_out_range():
    """The range of r without any one system is the published one."""
    assert system_correlation(OVERLAP, WEIGHTED).leave_one_out == pytest.approx(
        (-0.654, -0.319), abs=5e-4
    )


def test_a_strong_correlation_may_be_claimed():
    """A correlation that holds whichever system is left out may be stated."""
    x = pd.Series(np.arange(10.0))
    result = system_correlation(x, x + [0.3, -0.3] * 5)
    assert result.claim.holds
    assert result.p < 0.001


@pytest.mark.parametrize(("n", "r"), [(5, 0.878), (6, 0.811), (8, 0.707), (11, 0.602), (12, 0.576)])
def test_critical_r(n, r):
    """The critical values are those of the tables."""
    assert critical_r(n) == pytest.approx(r, abs=5e-4)


def test_spearman_agrees_with_scipy():
    """The rank correlation is scipy's, ties included."""
    from scipy.stats import spearmanr

    assert system_correlation(ANSWER, SOURCE).spearman == pytest.approx(
        spearmanr(ANSWER, SOURCE).statistic
    )


def test_many_systems_use_the_t_distribution():
    """Past the sizes that can be counted the p-value is scipy's."""
    from scipy.stats import pearsonr

    x, y = np.random.default_rng(2).normal(size=(2, 30))
    assert permutation_p(x, y) == pytest.approx(pearsonr(x, y).pvalue)


def tiny(shared, name):
    """Return the two columns of a tiny table."""
    table = pd.read_csv(shared / "cases" / "E-06-tiny-correlations" / name)
    return table["quality"], table["rank"]


def test_three_points_have_p_of_a_third(shared):
    """Three points in order have p = 1/3, no interval and no claim."""
    result = system_correlation(*tiny(shared, "three.csv"))
    assert (result.n, result.p) == (3, pytest.approx(1 / 3))
    assert np.isnan(result.low)
    assert result.claim == (False, "no claim: 3 systems")


def test_a_constant_side_is_not_defined(shared):
    """A correlation with a constant is named as not defined, and nothing warns."""
    result = system_correlation(*tiny(shared, "constant.csv"))
    assert np.isnan(result.r)
    assert np.isnan(result.p)
    assert result.note == "not defined (one side is constant)"


def test_gaps_leave_complete_pairs(shared):
    """Only complete pairs count, and their number is given."""
    assert system_correlation(*tiny(shared, "gaps.csv")).n == 3


def test_systems_are_matched_by_name():
    """Two series in different order are matched by their index."""
    x = pd.Series([1.0, 2, 3, 4], index=list("abcd"))
    y = pd.Series([4.0, 3, 2, 2], index=list("dcba"))
    assert system_correlation(x, y).r == pytest.approx(
        np.corrcoef([1, 2, 3, 4], [2, 2, 3, 4])[0, 1]
    )


# Over sources


def test_within_systems_is_not_pooled():
    """Metrics that go together within systems and apart between them show as both."""
    table = metric_correlations(judged(3, between=0.6))
    first = table.iloc[0]
    assert (first["metric_a"], first["metric_b"]) == ("CR", "FA")
    assert first["low"] > 0.2
    assert first["between"] < -0.9
    assert first["pooled_high"] < 0
    assert len(table) == 28
    assert table.attrs["tests"] == 28
    assert (table["p_holm"] >= table["p"]).all()


def test_each_cell_has_its_own_n():
    """A missing score leaves out its own pairs only, and a constant metric is named."""
    frame = judged(4, systems=2, queries=8)
    frame.loc[frame.index[:5], "CR"] = np.nan
    frame["LC"] = 4.0
    table = metric_correlations(frame).set_index(["metric_a", "metric_b"])
    assert table.at[("CR", "FA"), "n"] == len(frame) - 5
    assert table.at[("FA", "NE"), "n"] == len(frame)
    assert np.isnan(table.at[("FA", "LC"), "within"])
    assert table.at[("FA", "LC"), "note"] == "not defined (LC is constant)"
    assert table.attrs["tests"] == 21


def test_the_clustered_error_is_the_derivative():
    """The standard error of Fisher's z is that of the numerical influence of each query."""
    rng = np.random.default_rng(5)
    code = np.repeat(np.arange(30), 3)
    x = rng.normal(size=30)[code] + rng.normal(size=90)
    y = 0.5 * x + rng.normal(size=30)[code] + rng.normal(size=90)

    def fisher(weights):
        cov = np.cov(x, y, aweights=weights, ddof=0)
        return np.arctanh(cov[0, 1] / np.sqrt(cov[0, 0] * cov[1, 1]))

    step = 1e-6
    slopes = [
        (fisher(1 + step * (code == q)) - fisher(1 - step * (code == q))) / (2 * step)
        for q in range(30)
    ]
    error = np.sqrt(30 / 29 * np.sum(np.square(slopes)))
    result = clustered_pearson(x, y, code)
    from scipy.stats import t

    half = (np.arctanh(result.high) - np.arctanh(result.low)) / 2
    assert half == pytest.approx(t.ppf(0.975, 29) * error, rel=1e-6)
    assert result.r == pytest.approx(np.corrcoef(x, y)[0, 1])


def test_coverage_of_the_clustered_interval():
    """The interval of a pooled r holds the truth about 95 times in 100; Fisher's does not."""
    rng = np.random.default_rng(6)
    code = np.repeat(np.arange(100), 3)
    held = np.zeros(2)
    for _ in range(300):
        common = np.sqrt(0.5) * rng.normal(size=(100, 2))
        own = np.sqrt(0.5) * rng.normal(size=(300, 2))
        common[:, 1] = 0.5 * common[:, 0] + np.sqrt(0.75) * common[:, 1]
        own[:, 1] = 0.5 * own[:, 0] + np.sqrt(0.75) * own[:, 1]
        x, y = (common[code] + own).T
        result = clustered_pearson(x, y, code)
        naive = abs(np.arctanh(result.r) - np.arctanh(0.5)) * np.sqrt(297) <= 1.96
        held += [result.low <= 0.5 <= result.high, naive]
    assert 0.91 <= held[0] / 300 <= 0.98
    assert held[1] / 300 < 0.88


# Polychoric


def test_bivariate_normal_cdf_agrees_with_scipy():
    """The bivariate normal distribution is scipy's to six digits."""
    from scipy.stats import multivariate_normal

    for h, k, rho in ((0.3, -0.5, 0.6), (-1.2, 0.1, -0.9), (2.0, 1.9, 0.97), (0.0, 0.0, 0.0)):
        theirs = multivariate_normal([0, 0], [[1, rho], [rho, 1]]).cdf([h, k])
        assert bivariate_normal_cdf(h, k, rho) == pytest.approx(theirs, abs=1e-6)


def test_polychoric_undoes_the_ceiling():
    """Five steps with most scores at the top hide part of a correlation of .6, which comes back."""
    from scipy.special import ndtri

    rng = np.random.default_rng(7)
    x = rng.standard_normal(400_000)
    y = 0.6 * x + 0.8 * rng.standard_normal(400_000)
    cuts = ndtri([0.03, 0.08, 0.18, 0.48])
    a, b = np.searchsorted(cuts, x), np.searchsorted(cuts, y)
    assert pearson(a, b) == pytest.approx(0.513, abs=0.004)
    assert polychoric(a, b) == pytest.approx(0.600, abs=0.006)


def test_polychoric_of_groups_ignores_their_levels():
    """With thresholds by group, a difference between groups is no correlation."""
    rng = np.random.default_rng(8)
    group = np.repeat([0, 1], 4000)
    latent = rng.standard_normal((8000, 2)) + 2 * group[:, None]
    a, b = np.rint(latent.clip(-2, 4)).T
    assert polychoric(a, b) > 0.4
    assert polychoric(a, b, groups=group) == pytest.approx(0, abs=0.05)
    assert np.isnan(polychoric(np.ones(9), np.arange(9)))


# Answers and sources


def crossed(seed, slope=0.02, systems=5, questions=40):
    """Return crossed cells with a known slope, a system effect and a question effect."""
    rng = np.random.default_rng(seed)
    table = [
        (f"s{k}", f"q{i}", k / 3 + e + slope * x + rng.normal(0, 0.1), x)
        for i in range(questions)
        for e in [rng.normal()]
        for k in range(systems)
        for x in [70 + 3 * k + 5 * e + rng.normal(0, 8)]
    ]
    return pd.DataFrame(table, columns=["system", "query_id", "answer", "source"])


def test_the_slope_equals_the_full_regression():
    """Slope and clustered error equal statsmodels' with every dummy in place."""
    import statsmodels.formula.api as smf

    cells = crossed(9)
    cells.loc[cells.index[::7], "source"] = np.nan
    ours = fixed_effects_slope(cells)
    complete = cells.dropna()
    fit = smf.ols("answer ~ source + C(query_id) + C(system)", complete).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(complete["query_id"])[0]}, use_t=True
    )
    assert ours.value == pytest.approx(fit.params["source"], rel=1e-8)
    assert ours.se == pytest.approx(fit.bse["source"], rel=1e-8)
    assert (ours.low, ours.high) == pytest.approx(tuple(fit.conf_int().loc["source"]), rel=1e-8)
    assert (ours.n, ours.expected, ours.df) == (len(complete), len(cells), 39)


def test_confounding_by_system_is_no_slope():
    """Systems that are better at both give no slope where cells do not go together."""
    estimate = fixed_effects_slope(crossed(10, slope=0.0))
    assert estimate.low < 0 < estimate.high


def test_a_slope_without_variation_is_not_defined():
    """When the source score never varies within a question there is no slope, and a reason."""
    cells = crossed(11).assign(source=70.0)
    estimate = fixed_effects_slope(cells)
    assert np.isnan(estimate.value)
    assert estimate.note.startswith("not defined: 200 cells of 40 questions")
    assert np.isnan(fixed_effects_slope(cells.head(0)).value)


def test_cells_average_runs_and_sources():
    """A cell holds the mean answer over runs and the mean score over sources."""
    sources = pd.DataFrame(
        {"system": ["a", "a", "b"], "query_id": ["1", "1", "1"], "weighted": [80.0, 60.0, 50.0]}
    )
    answers = pd.DataFrame(
        {"system": ["a", "a", "a"], "query_id": ["1", "1", "2"],
         "measure": "exact_match", "value": [1.0, 0.0, 1.0]}
    )  # fmt: skip
    cells = answer_source_cells(sources, answers, "exact_match").set_index(["system", "query_id"])
    assert cells.loc[("a", "1")].tolist() == [0.5, 70.0]
    assert np.isnan(cells.at[("a", "2"), "source"])
    assert np.isnan(cells.at[("b", "1"), "answer"])
