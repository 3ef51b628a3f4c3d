"""Intervals, comparisons, ranks, resamples and moments with the query as the unit."""

from fractions import Fraction
from itertools import combinations

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebench.rubric import WEIGHTS
from sourcebench.statistics import moments as mo
from sourcebench.statistics.bootstrap import (
    best_claim,
    bootstrap_intervals,
    cluster_mean,
    compare_all,
    holm,
    interval_classes,
    macro_mean,
    max_t,
    missing_bounds,
    paired_difference,
    query_sums,
    rank_sets,
    resample_counts,
    resampled_sums,
    shared_queries,
    weighted_score,
)
from sourcebench.statistics.intervals import METRIC_LIMITS, korn_graubard, ratio_estimate, wilson

FIXTURE_A = pd.DataFrame(
    {"query_id": list("112333"), "weighted": [80.0, 100.0, 60.0, 90.0, 70.0, 100.0]}
)
THREE = pd.DataFrame({"query_id": list("123"), "category": ["factual"] * 3})


def rows(*scores):
    """Return a frame of metric rows."""
    return pd.DataFrame(scores, columns=list(WEIGHTS), dtype=float)


def judged(seed, queries=100, systems=4, strata=5):
    """Return a frame of scored sources and its queries."""
    rng = np.random.default_rng(seed)
    names = [f"q{i}" for i in range(queries)]
    asked = pd.DataFrame({"query_id": names, "category": np.arange(queries) % strata})
    common = rng.normal(0, 0.4, queries)
    table = []
    for k in range(systems):
        for i, name in enumerate(names):
            for _ in range(rng.integers(0, 6)):
                scores = np.rint(4 - 0.1 * k + common[i] + rng.normal(0, 0.8, 8)).clip(1, 5)
                table.append((f"s{k}", name, *scores))
    frame = pd.DataFrame(table, columns=["system", "query_id", *WEIGHTS])
    return frame.assign(weighted=weighted_score(frame), outcome="scored"), asked


def case(shared, name, file, **kinds):
    """Return a case's table."""
    return pd.read_csv(shared / "cases" / name / file, dtype=kinds)


# The weighted score


def test_weighted_score_has_the_worked_values():
    """The weighted score runs from 20 to 100 and counts content metrics one and a half times."""
    score = weighted_score(rows([5] * 8, [1] * 8, [5, 5, 5, 1, 1, 1, 1, 1], [1, 1, 1] + [5] * 5))
    assert score.tolist() == pytest.approx([100, 20, 57.894736842, 62.105263158], abs=1e-9)


def test_a_missing_metric_leaves_no_weighted_score():
    """A source without one metric has no weighted score; it is never counted as zero."""
    score = weighted_score(rows([5] * 8, [np.nan, 5, 5, 5, 5, 5, 5, 5]))
    assert score.tolist()[0] == 100
    assert np.isnan(score[1])


@pytest.mark.parametrize("bad", [50, -1, "4/5", True, np.inf])
def test_a_value_that_is_no_score_is_named(bad):
    """A score off the scale, a fraction in text or a yes is refused with its row and column."""
    frame = rows([5] * 8, [4] * 8).astype({"FA": object})
    frame.loc[1, "FA"] = bad
    with pytest.raises(ValueError, match="row 1, column 'FA'"):
        weighted_score(frame)


# One mean


def test_cluster_mean_matches_the_worked_example():
    """Micro mean, CR1 standard error and logit interval equal the values worked by hand."""
    estimate = cluster_mean(FIXTURE_A, "weighted", queries=THREE)
    assert estimate.value == pytest.approx(83.333333, abs=1e-6)
    assert estimate.se == pytest.approx(5.853140974, abs=1e-9)
    assert (estimate.low, estimate.high) == pytest.approx((48.830984, 96.995644), abs=1e-6)
    assert (estimate.n, estimate.clusters, estimate.df) == (6, 3, 2)


def test_macro_mean_averages_queries():
    """The macro mean gives each query one vote."""
    estimate = macro_mean(FIXTURE_A, "weighted", queries=THREE)
    assert estimate.value == pytest.approx(78.888889)
    assert (estimate.n, estimate.clusters) == (6, 3)


def test_micro_and_macro_mean_of_uneven_queries():
    """Nine fives in one query and single ones in two: 85.45 over sources, 46.67 over queries."""
    frame = pd.DataFrame(
        {"query_id": ["1"] * 9 + ["2", "3"], "weighted": [100.0] * 9 + [20.0, 20.0]}
    )
    assert cluster_mean(frame, "weighted", queries=THREE).value == pytest.approx(85.4545, abs=1e-4)
    assert macro_mean(frame, "weighted", queries=THREE).value == pytest.approx(46.6667, abs=1e-4)


def test_standard_error_equals_clustered_regression():
    """With one stratum the standard error is that of statsmodels' clustered regression."""
    import statsmodels.api as sm

    frame, asked = judged(3, systems=1)
    sourced = asked[asked["query_id"].isin(frame["query_id"])]
    ours = cluster_mean(frame, "CR", queries=sourced, strata=None)
    fit = sm.OLS(frame["CR"], np.ones(len(frame))).fit(
        cov_type="cluster", cov_kwds={"groups": pd.factorize(frame["query_id"])[0]}
    )
    assert ours.value == pytest.approx(fit.params.iloc[0], abs=1e-12)
    # statsmodels' factor is G/(G-1) (N-1)/(N-K), and N-1 = N-K here.
    assert ours.se == pytest.approx(fit.bse.iloc[0], rel=1e-12)


def test_strata_equal_the_literal_sum():
    """The stratified variance is the sum over strata that the formula says."""
    frame, asked = judged(4, systems=1)
    estimate = cluster_mean(frame, "weighted", queries=asked)
    sums = frame.groupby("query_id")["weighted"].agg(["sum", "count"])
    table = asked.join(sums, on="query_id").fillna({"sum": 0, "count": 0})
    u = table["sum"] - estimate.value * table["count"]
    variance = sum(
        len(g) / (len(g) - 1) * ((g - g.mean()) ** 2).sum() for _, g in u.groupby(table["category"])
    )
    assert estimate.se == pytest.approx(np.sqrt(variance) / len(frame), rel=1e-12)
    assert estimate.df == (table["count"] > 0).sum() - 5


def test_a_query_without_sources_stays_in_the_design():
    """Queries asked that brought no sources count in the correction, not in the degrees."""
    more = pd.DataFrame({"query_id": list("1234"), "category": ["factual"] * 4})
    with_three = cluster_mean(FIXTURE_A, "weighted", queries=THREE)
    with_four = cluster_mean(FIXTURE_A, "weighted", queries=more)
    assert with_four.se / with_three.se == pytest.approx(np.sqrt((4 / 3) / (3 / 2)))
    assert with_four.df == with_three.df == 2


def test_a_missing_category_is_a_stratum_of_its_own():
    """Queries without a category stay in the total."""
    asked = pd.DataFrame({"query_id": list("123"), "category": ["a", None, np.nan]})
    assert cluster_mean(FIXTURE_A, "weighted", queries=asked).n == 6


def test_an_unknown_query_is_named():
    """A source of a query that was not asked is an error that names it."""
    with pytest.raises(ValueError, match="query_id '3' is not among"):
        cluster_mean(FIXTURE_A, "weighted", queries=THREE.head(2))


def test_korn_graubard_at_the_limit():
    """No success in 20 clusters bounds the share by 0.168433."""
    assert korn_graubard(0, 0, 20, 19, (0, 1)) == pytest.approx((0, 0.168433), abs=1e-6)


def test_wilson_of_eleven_in_sixty():
    """Wilson's interval of 11 in 60 is the published one and statsmodels'."""
    from statsmodels.stats.proportion import proportion_confint

    assert wilson(11, 60) == pytest.approx((0.105578, 0.299198), abs=1e-6)
    assert wilson(11, 60, 0.9) == pytest.approx(proportion_confint(11, 60, 0.1, "wilson"))
    assert wilson(0, 20)[0] == 0
    assert np.isnan(wilson(0, 0)).all()


def test_a_mean_at_the_limit_has_korn_graubard_bounds():
    """When every source scores five the interval is exact, reaches five and says so."""
    frame = FIXTURE_A.assign(CR=5.0)
    estimate = cluster_mean(frame, "CR", queries=THREE)
    assert (estimate.value, estimate.high, estimate.method) == (5, 5, "Korn-Graubard")
    assert 1 < estimate.low < 5
    assert estimate.note == "all 6 values are 5"


@pytest.mark.parametrize(
    ("file", "value", "n", "note"),
    [
        ("const.csv", 4.0, 8, "no spread in 8 values"),
        ("one.csv", 4.0, 1, "no interval from 1 query; at least 3 are needed"),
        ("two.csv", 3.0, 2, "no interval from 2 queries; at least 3 are needed"),
        ("empty.csv", np.nan, 0, "no scored rows"),
    ],
)
def test_degenerate_data_has_no_interval_but_a_reason(shared, file, value, n, note):
    """Without spread or rows there is no interval, no warning, and a plain reason."""
    frame = case(shared, "E-05-degenerate-interval", file).rename(columns={"source": "query_id"})
    asked = pd.DataFrame({"query_id": frame["query_id"], "category": "factual"})
    for mean in (cluster_mean, macro_mean):
        estimate = mean(frame, "score", queries=asked, limits=METRIC_LIMITS)
        assert np.array_equal(estimate.value, value, equal_nan=True)
        assert np.isnan(estimate.low)
        assert np.isnan(estimate.high)
        assert estimate.n == n
    assert cluster_mean(frame, "score", queries=asked, limits=METRIC_LIMITS).note == note


def test_sources_are_not_experiments(shared):
    """Ninety-six sources of eight queries have the standard error of eight queries."""
    frame = case(shared, "E-02-sources-in-queries", "scores.csv")
    frame = frame.rename(columns={"query": "query_id"})
    asked = pd.DataFrame({"query_id": frame["query_id"].unique()})
    estimate = cluster_mean(frame, "score", queries=asked, limits=METRIC_LIMITS, strata=None)
    assert estimate.value == pytest.approx(2.6354, abs=5e-5)
    assert estimate.se == pytest.approx(0.3697, abs=5e-5)
    assert (estimate.n, estimate.clusters, estimate.df) == (96, 8, 7)


def coverage(queries, sets, seed):
    """Return how often the logit interval and the source-level one hold the true mean."""
    rng = np.random.default_rng(seed)
    cuts = np.array([-1.9, -1.4, -0.9, -0.05])
    draw = rng.standard_normal(400_000)
    truth = 1 + (draw[:, None] > cuts).sum(axis=1).mean()
    held = np.zeros(2)
    for _ in range(sets):
        n = rng.integers(1, 6, queries)
        code = np.repeat(np.arange(queries), n)
        # A latent share of .36 leaves about .3 once the scores are cut into five levels.
        latent = np.sqrt(0.36) * rng.standard_normal(queries)[code]
        latent += np.sqrt(0.64) * rng.standard_normal(code.size)
        score = 1 + (latent[:, None] > cuts).sum(axis=1)
        one = np.zeros(queries, dtype=int)
        e = ratio_estimate(np.bincount(code, weights=score), n.astype(float), one, METRIC_LIMITS)
        half = 1.96 * score.std(ddof=1) / np.sqrt(score.size)
        held += [e.low <= truth <= e.high, abs(score.mean() - truth) <= half]
    return 100 * held / sets


def test_coverage_of_the_interval():
    """The interval holds the true mean about 95 times in 100; one that ignores queries does not."""
    logit, naive = coverage(20, 500, 8)
    assert 91 <= logit <= 97
    assert 76 <= naive <= 86
    assert 92 <= coverage(100, 500, 9)[0] <= 98


# Missing rows


def test_the_range_that_lost_rows_allow(shared):
    """Five of ten rows scored 4.2 may stand for 2.6 to 4.6, and no rank is given."""
    frame = case(shared, "E-01-lost-denominator", "scores.csv")
    frame = frame.rename(columns={"engine": "system", "status": "outcome"})
    bounds = missing_bounds(frame, "score", limits=METRIC_LIMITS, systems=["a", "b", "c"])
    a, b, c = (bounds.loc[name] for name in "abc")
    assert (a["value"], a["n"], a["expected"]) == (3.0, 10, 10)
    assert (b["value"], b["n"], b["expected"]) == (pytest.approx(4.2), 5, 10)
    assert (b["low"], b["high"]) == (pytest.approx(2.6), pytest.approx(4.6))
    assert (b["lost_to_us"], b["lost_to_source"]) == (4, 1)
    assert list(bounds["enough"]) == [True, False, False]
    assert (c["n"], c["expected"]) == (0, 0)
    asked = pd.DataFrame({"query_id": [f"q{i}" for i in range(10)]})
    placed = frame.assign(query_id=list(asked["query_id"]) * 2)
    pairs = compare_all(placed, "score", asked, limits=METRIC_LIMITS, strata=None)
    assert pairs["lost_rows_decide"].tolist() == [True]
    ranks = rank_sets(pairs, bounds["value"], bounds=bounds)
    assert ranks["rank"].notna().tolist() == [True, False, False]
    assert ranks.index.tolist() == ["a", "b", "c"]


def test_unread_sources_leave_the_mean_alone():
    """Two of three sources unread: the mean is of the one read, with n, and the range beside it."""
    fives, unread, twos = [5] * 8, [np.nan] * 8, [2] * 8
    frame = rows(fives, unread, unread, twos, twos, twos)
    frame = frame.assign(
        system=list("aaabbb"), outcome="scored", query_id="1", weighted=weighted_score(frame)
    )
    bounds = missing_bounds(frame, "weighted", systems=["a", "b", "silent"])
    assert bounds["value"].tolist()[:2] == [100, 40]
    assert bounds["n"].tolist() == [1, 3, 0]
    assert bounds.loc["a", ["low", "high"]].tolist() == pytest.approx([(100 + 40) / 3, 100])
    assert not bounds.at["a", "enough"]
    assert np.isnan(bounds.at["silent", "value"])


def test_a_source_without_content_scores_is_incomplete():
    """Of two sources of all fives one lacks its content scores: 100 over 1 of 2."""
    frame = rows([5] * 8, [np.nan] * 3 + [5] * 5).assign(query_id=["1", "2"])
    frame = frame.assign(weighted=weighted_score(frame))
    estimate = cluster_mean(frame, "weighted", queries=THREE)
    assert (estimate.value, estimate.n, estimate.expected) == (100, 1, 2)
    assert cluster_mean(frame, "DA", queries=THREE).n == 2


def test_rows_without_a_system_are_shown_and_counted(shared):
    """A row without a system is listed as missing and stays in the total."""
    frame = case(shared, "E-08-pandas-three", "scores.csv", id=str)
    frame = frame.rename(columns={"engine": "system"}).assign(outcome="scored")
    bounds = missing_bounds(frame, "score", limits=METRIC_LIMITS)
    assert bounds["expected"].to_dict() == {"(missing)": 1, "a": 2, "b": 1}
    assert bounds["n"].sum() == 3


# Promises for any data


SOURCES = st.lists(
    st.tuples(st.integers(0, 7), st.one_of(st.none(), st.integers(1, 5))), max_size=40
)
EIGHT = pd.DataFrame({"query_id": range(8), "category": list("aabbbccd")})


@settings(max_examples=60, deadline=None)
@given(SOURCES)
def test_an_interval_holds_its_mean_inside_the_scale(sources):
    """Whatever the scores: no warning, a mean inside its interval inside the scale, or a reason."""
    frame = pd.DataFrame(sources, columns=["query_id", "CR"]).astype({"CR": float})
    for estimate in (
        cluster_mean(frame, "CR", queries=EIGHT),
        macro_mean(frame, "CR", queries=EIGHT),
    ):
        assert estimate.expected == len(frame)
        if np.isnan(estimate.low):
            assert estimate.note
        else:
            assert 1 <= estimate.low <= estimate.value + 1e-9
            assert estimate.value - 1e-9 <= estimate.high <= 5


@settings(max_examples=40, deadline=None)
@given(SOURCES, st.randoms(use_true_random=False))
def test_the_order_of_rows_is_immaterial(sources, random):
    """Shuffled rows give the same estimate, bit for bit."""
    shuffled = list(sources)
    random.shuffle(shuffled)
    one, two = (
        cluster_mean(
            pd.DataFrame(s, columns=["query_id", "CR"]).astype({"CR": float}), "CR", queries=EIGHT
        )
        for s in (sources, shuffled)
    )
    assert np.array_equal(one[:8], two[:8], equal_nan=True)
    assert one[8:] == two[8:]


@settings(max_examples=60, deadline=None)
@given(st.lists(st.floats(0, 1), max_size=12))
def test_adjusted_p_values_keep_their_order(p_values):
    """Holm's p-values are no smaller than the plain ones, at most 1, and in the same order."""
    adjusted = holm(p_values)
    assert (adjusted >= np.array(p_values) - 1e-15).all()
    assert (adjusted <= 1).all()
    assert (np.diff(adjusted[np.argsort(p_values)]) >= 0).all()


# Pairs


def test_paired_difference_equals_the_clustered_regression():
    """Differences and their standard errors equal those of a regression on the system."""
    import statsmodels.formula.api as smf

    frame, asked = judged(5, systems=2)
    ours = paired_difference(frame, "weighted", "s1", "s0", asked, strata=None)
    groups = pd.factorize(frame["query_id"])[0]
    fit = smf.ols("weighted ~ C(system)", frame).fit(
        cov_type="cluster", cov_kwds={"groups": groups}
    )
    g, n = groups.max() + 1, len(frame)
    asked_g = len(asked)
    # Theirs counts the queries with sources; ours all that were asked.
    ratio = np.sqrt(g / (g - 1) * (n - 1) / (n - 2)) / np.sqrt(asked_g / (asked_g - 1))
    assert ours.value == pytest.approx(fit.params.iloc[1], abs=1e-9)
    assert fit.bse.iloc[1] / ours.se == pytest.approx(ratio, rel=1e-9)


def test_holm_steps_down():
    """Holm's adjustment gives the textbook values and leaves a missing p missing."""
    assert holm([0.001, 0.010, 0.020, 0.04, 0.3]) == pytest.approx([0.005, 0.04, 0.06, 0.08, 0.3])
    adjusted = holm([0.02, np.nan, 0.04])
    assert adjusted[[0, 2]] == pytest.approx([0.04, 0.04])
    assert np.isnan(adjusted[1])
    assert holm([]).size == 0


def test_holm_agrees_with_statsmodels():
    """Holm's adjustment equals that of statsmodels."""
    from statsmodels.stats.multitest import multipletests

    p = np.random.default_rng(0).random(66) ** 3
    assert holm(p) == pytest.approx(multipletests(p, method="holm")[1])


def test_systems_of_different_queries_are_not_comparable():
    """Two systems that share too few queries are not ranked against each other."""
    frame, asked = judged(6, systems=2)
    first, second = asked["query_id"].head(60), asked["query_id"].tail(60)
    mine = frame["system"].eq("s0") & frame["query_id"].isin(first)
    theirs = frame["system"].eq("s1") & frame["query_id"].isin(second)
    apart = frame[mine | theirs]
    estimate = paired_difference(apart, "weighted", "s0", "s1", asked)
    assert np.isnan(estimate.value)
    assert estimate.note.startswith("not comparable: ")
    together = shared_queries(apart, "weighted")
    assert paired_difference(together, "weighted", "s0", "s1", asked).value != 0


def test_a_system_named_twice_is_an_error():
    """The same name for two systems is refused."""
    frame, asked = judged(6, systems=2)
    with pytest.raises(ValueError, match="'s0' is named twice"):
        compare_all(frame, "CR", asked, systems=["s0", "s0"])


def test_equal_systems_do_not_differ():
    """Two systems with the same scores differ by nothing, with p 1 and no warning."""
    frame, asked = judged(7, systems=1)
    both = pd.concat([frame, frame.assign(system="twin")])
    pair = compare_all(both, "CR", asked).iloc[0]
    assert (pair["difference"], pair["p"], pair["p_holm"]) == (0, 1, 1)
    assert rank_sets(compare_all(both, "CR", asked), both.groupby("system")["CR"].mean())[
        "rank"
    ].tolist() == [1, 1]


# Ranks


# Weighted scores of the eleven systems of SourceBench's Table 8.
PUBLISHED = {
    "GPT-5": 89.081,
    "GPT-4o": 81.518,
    "Grok-4.1": 83.381,
    "Gemini-3-Pro": 79.379,
    "Gemini-3-Flash": 78.981,
    "Gemini-2.5-Flash": 78.339,
    "Perplexity": 78.547,
    "Exa": 80.108,
    "Tavily": 78.268,
    "Gensee": 81.795,
    "Claude": 81.282,
}


def pairs_with_common_error(means, se, df):
    """Return comparisons of given means that all have one standard error."""
    from scipy.stats import t

    table = pd.DataFrame(combinations(means, 2), columns=["system_a", "system_b"])
    table["difference"] = [means[a] - means[b] for a, b in combinations(means, 2)]
    table["p"] = 2 * t.sf(np.abs(table["difference"]) / se, df)
    return table.assign(p_holm=holm(table["p"]))


def test_rank_sets_of_published_means():
    """Of 55 pairs ten differ, all with the first system; the others share places 2 to 11."""
    pairs = pairs_with_common_error(PUBLISHED, 1.6, 99)
    assert (pairs["p_holm"] <= 0.05).sum() == 10
    ranks = rank_sets(pairs, pd.Series(PUBLISHED))
    sets = list(zip(ranks["rank_low"], ranks["rank_high"], strict=True))
    assert sets == [(1, 1)] + [(2, 11)] * 10
    assert ranks["class"].tolist() == [1] + [2] * 10
    assert best_claim(ranks).holds


def test_every_leader_is_named():
    """When the first place stays open all who may hold it are named."""
    means = {"a": 4.0, "b": 3.9, "c": 3.9, "d": 2.0}
    ranks = rank_sets(pairs_with_common_error(means, 0.3, 50), pd.Series(means))
    claim = best_claim(ranks)
    assert not claim.holds
    assert claim.reason == "a, b, c cannot be told apart"
    assert ranks["rank"].tolist() == [1, 2, 2, 4]


def test_classes_have_a_fixed_leader(shared):
    """Classes keep their leader, ties share a rank, and the next rank is skipped."""
    table = case(shared, "E-04-ties-and-tiers", "engines.csv").set_index("engine")
    table = table.rename(columns={"mean": "value"})
    classes = interval_classes(table)
    assert classes.groupby("class").groups[1].tolist() == ["a", "b", "c", "d"]
    assert classes.groupby("class").groups[2].tolist() == ["e", "f"]
    assert classes["rank"].tolist() == [1, 2, 3, 4, 5, 5]
    table.loc["g"] = [4.06, 4.02, 4.10]
    table.loc["h"] = [3.8, 3.7, 3.9]
    chained = interval_classes(table)
    assert chained["class"].tolist() == [1, 1, 1, 1, 2, 3, 3, 3]
    assert chained.at["h", "rank"] == 8


# The bootstrap


def literal_resamples(frame, asked, column, drawn):
    """Return the mean of each resample by gathering the rows of the drawn queries."""
    by_query = {q: g.to_numpy() for q, g in frame.groupby("query_id")[column]}
    names = asked["query_id"].to_numpy()
    none = np.array([])
    return [np.concatenate([by_query.get(names[i], none) for i in one]) for one in drawn]


def test_matrix_product_equals_gathering_the_rows():
    """Sums by matrix product equal those of the gathered rows, in both float widths."""
    frame, asked = judged(10, systems=1)
    sums = query_sums(frame, asked, columns=("CR",), strata=None)
    drawn = np.random.default_rng(1).integers(0, 100, (200, 100))
    counts = np.stack([np.bincount(one, minlength=100) for one in drawn])
    table = np.concatenate([sums.total[:, 0], sums.count[:, 0]], axis=1)
    ours = resampled_sums(table, counts)
    assert ours.dtype == np.float32
    assert np.array_equal(ours, table.T.astype(float) @ counts.T)
    gathered = literal_resamples(frame, asked, "CR", drawn)
    assert np.array_equal(ours[0], [one.sum() for one in gathered])
    assert np.array_equal(ours[1], [one.size for one in gathered])


def test_the_exact_bootstrap_of_the_worked_example():
    """Over all 27 resamples the bootstrap has the mean, spread and points worked by hand."""
    from itertools import product

    drawn = np.array(list(product(range(3), repeat=3)))
    counts = np.stack([np.bincount(one, minlength=3) for one in drawn])
    total, number = resampled_sums(np.array([[180, 2], [60, 1], [260, 3]]), counts)
    means = total / number.astype(float)
    assert means.mean() == pytest.approx(82.164903, abs=1e-6)
    assert means.std() == pytest.approx(6.292898, abs=1e-6)
    assert (means.min(), means.max()) == (60, 90)
    assert (means <= 75).sum() == 4
    assert len(np.unique(means.round(9))) == 10


def test_percentile_ends_agree_with_arch():
    """Percentile ends agree with arch's within Monte-Carlo error, for 108 intervals."""
    from arch.bootstrap import IIDBootstrap

    frame, asked = judged(11, systems=12)
    sums = query_sums(frame, asked, strata=None)
    ours = bootstrap_intervals(sums, rng=np.random.default_rng(2))
    table = np.concatenate([sums.total.reshape(100, -1), sums.count.reshape(100, -1)], axis=1)
    theirs = IIDBootstrap(table, seed=np.random.default_rng(3)).conf_int(
        lambda x: x[:, :108].sum(axis=0) / x[:, 108:].sum(axis=0), 10_000, method="percentile"
    )
    theirs[:, 8::9] *= 100 / 95
    width = theirs[1] - theirs[0]
    assert np.abs((ours["low"] - theirs[0]) / width).max() <= 0.04
    assert np.abs((ours["high"] - theirs[1]) / width).max() <= 0.04


def test_percentile_ends_agree_with_scipy():
    """Percentile ends agree with scipy's within Monte-Carlo error."""
    from scipy.stats import bootstrap

    frame, asked = judged(12, systems=1)
    sums = query_sums(frame, asked, columns=("FA", "weighted"), strata=None)
    ours = bootstrap_intervals(sums, rng=np.random.default_rng(4))
    for c, unit in ((0, 1), (1, 100 / 95)):
        theirs = bootstrap(
            (sums.total[:, 0, c], sums.count[:, 0, c]),
            lambda y, n, axis: y.sum(axis=axis) / n.sum(axis=axis),
            paired=True,
            method="percentile",
            n_resamples=10_000,
            rng=np.random.default_rng(5),
        ).confidence_interval
        width = unit * (theirs.high - theirs.low)
        assert abs(ours["low"][c] - unit * theirs.low) <= 0.04 * width
        assert abs(ours["high"][c] - unit * theirs.high) <= 0.04 * width


def test_bootstrap_t_equals_the_literal_one():
    """Bootstrap-t from sums equals the one worked query by query on the same resamples."""
    frame, asked = judged(13, queries=12, systems=1, strata=2)
    sums = query_sums(frame, asked, columns=("CR",))
    ours = bootstrap_intervals(sums, rng=np.random.default_rng(6), resamples=400, kind="t")
    counts = resample_counts(sums.strata, 400, np.random.default_rng(6))
    y, n = sums.total[:, 0, 0].astype(float), sums.count[:, 0, 0].astype(float)

    def fit(index):
        mean = y[index].sum() / n[index].sum()
        u = y[index] - mean * n[index]
        parts = [u[sums.strata[index] == h] for h in (0, 1)]
        variance = sum(p.size / (p.size - 1) * ((p - p.mean()) ** 2).sum() for p in parts)
        return mean, np.sqrt(variance) / n[index].sum()

    mean, se = fit(np.arange(12))
    drawn = [fit(np.repeat(np.arange(12), one.astype(int))) for one in counts]
    t = [(m - mean) / max(s, 0.02 * se) for m, s in drawn]
    low, high = mean - np.quantile(t, [0.975, 0.025]) * se
    assert ours["low"][0] == pytest.approx(max(low, 1))
    assert ours["high"][0] == pytest.approx(min(high, 5))


def test_the_bootstrap_depends_on_its_seed_alone():
    """The same generator gives the same intervals, bit for bit."""
    frame, asked = judged(14, systems=2)
    frame.loc[frame.index[:7], "CR"] = np.nan
    sums = query_sums(frame.drop(columns="weighted").assign(weighted=weighted_score), asked)
    one, two = (
        bootstrap_intervals(sums, rng=np.random.default_rng(7), resamples=200) for _ in range(2)
    )
    pd.testing.assert_frame_equal(one, two, check_exact=True)


def test_a_system_without_scores_has_no_bootstrap_interval():
    """A system with nothing scored is listed without an interval, and nothing warns."""
    frame, asked = judged(15, systems=1)
    sums = query_sums(frame, asked, columns=("CR",), systems=["s0", "silent"])
    for kind in ("percentile", "t"):
        table = bootstrap_intervals(sums, rng=np.random.default_rng(8), resamples=50, kind=kind)
        assert table["value"].isna().tolist() == [False, True]
        assert table["low"].isna().tolist() == [False, True]


def test_many_queries_are_not_resampled():
    """Above 250 queries the closed form stands in for the bootstrap, and says so."""
    frame, asked = judged(16, queries=260, systems=1)
    table = bootstrap_intervals(
        query_sums(frame, asked, columns=("CR",)), rng=np.random.default_rng(9)
    )
    assert table["method"].tolist() == ["logit CR1 t"]


def test_max_t_lies_between_plain_and_bonferroni():
    """Max-T p-values are at least the plain ones and in the long run below Bonferroni's."""
    frame, asked = judged(17, systems=5)
    table = max_t(frame, "weighted", asked, rng=np.random.default_rng(10))
    assert (table["p_max_t"] >= table["p"] - 0.01).all()
    assert (table["p_max_t"] <= np.minimum(10 * table["p"], 1) + 0.02).all()
    assert (table["low_max_t"] < table["low"]).all()
    order = table.sort_values("p")
    assert order["p_max_t"].is_monotonic_increasing
    rank_sets(table, frame.groupby("system")["weighted"].mean(), p="p_max_t")


# Moments


def test_moments_equal_the_closed_form():
    """One-pass moments give the interval and the paired difference of the rows."""
    frame, asked = judged(18, systems=3)
    state = mo.moments(query_sums(frame, asked), strata=5)
    for column in ("CR", "weighted"):
        mine = frame[frame["system"] == "s1"]
        rows_say = cluster_mean(mine, column, queries=asked)
        state_says = mo.estimate(state, "s1", column)
        assert state_says[:4] == pytest.approx(rows_say[:4], rel=1e-10)
        assert state_says[4:9] == rows_say[4:9]
        pair = paired_difference(frame, column, "s0", "s2", asked)
        gap = mo.difference(state, column, "s0", "s2")
        assert (gap.value, gap.se) == pytest.approx((pair.value, pair.se), rel=1e-9)


def test_the_variance_is_an_exact_fraction():
    """The variance by fractions is the textbook rational and the float one to ten digits."""
    frame, asked = judged(19, systems=1)
    state = mo.moments(query_sums(frame, asked, strata=None))
    exact = mo.exact_covariance(state, "CR", "s0", "s0")
    y, n, yy, yn, nn = (
        int(v)
        for v in (
            state.y[0, 0, 0],
            state.n[0, 0, 0],
            state.yy[0, 0, 0, 0],
            state.yn[0, 0, 0, 0],
            state.nn[0, 0, 0, 0],
        )
    )
    g = 100
    assert exact == Fraction(g * (n**2 * yy - 2 * y * n * yn + y**2 * nn), (g - 1) * n**4)
    float_se = cluster_mean(frame, "CR", queries=asked, strata=None).se
    assert float(exact) == pytest.approx(float_se**2, rel=1e-10)


def test_merging_shards_equals_one_pass():
    """Two shards of queries merge to the state of one pass, bit for bit, in any order."""
    frame, asked = judged(20, systems=3)
    whole = mo.moments(query_sums(frame, asked), strata=5)
    shards = []
    code = pd.factorize(asked["category"])[0]
    for part in (asked.iloc[::2], asked.iloc[1::2]):
        sums = query_sums(
            frame[frame["query_id"].isin(part["query_id"])], part, systems=list(whole.systems)
        )
        shards.append(mo.moments(sums._replace(strata=code[part.index]), strata=5))
    for merged in (mo.merge(*shards), mo.merge(*reversed(shards))):
        assert all(np.array_equal(a, b) for a, b in zip(merged[2:], whole[2:], strict=True))


def test_moments_never_overflow():
    """Sums past the range of machine integers stay exact."""
    big = 2**40
    sums = query_sums(*judged(21, systems=1), columns=("CR",))
    sums = sums._replace(total=sums.total * big, count=sums.count * big)
    state = mo.moments(sums, strata=5)
    small = mo.moments(query_sums(*judged(21, systems=1), columns=("CR",)), strata=5)
    assert (state.yy == small.yy * big**2).all()


def test_reducing_arrays_equals_reducing_a_frame():
    """Plain arrays, in chunks and with holes, reduce to the sums of the frame."""
    frame, asked = judged(22, systems=3)
    frame.loc[frame.index[::11], "LC"] = np.nan
    frame = frame.assign(weighted=weighted_score(frame))
    expected = query_sums(frame, asked)
    system = pd.Index(expected.systems).get_indexer(frame["system"])
    query = pd.Index(asked["query_id"]).get_indexer(frame["query_id"])
    scores = frame[list(WEIGHTS)].fillna(0).to_numpy(dtype=np.uint8)
    design = {"systems": expected.systems, "strata": expected.strata}
    halves = [
        mo.reduce_sources(system[part], query[part], scores[part], **design)
        for part in (slice(0, 400), slice(400, None))
    ]
    ours = mo.add_sums(*halves)
    assert np.array_equal(ours.total, expected.total)
    assert np.array_equal(ours.count, expected.count)
