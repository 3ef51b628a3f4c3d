"""Agreement of judge and readers, and estimates corrected by labels."""

import numpy as np
import pandas as pd
import pytest

from sourcebench.statistics.agreement import (
    agreement,
    agreement_table,
    best_constant_error,
    confusion,
    gwet_ac2,
    intraclass_correlations,
    linear_kappa,
    match_labels,
    ordinal_alpha,
    panel_ceiling,
    quadratic_kappa,
)
from sourcebench.statistics.correction import (
    any_source_rate,
    cochran_q,
    judge_rates,
    label_corrected_mean,
    label_corrected_means,
    rectified_mean,
    rogan_gladen,
)
from sourcebench.statistics.intervals import PROPORTION_LIMITS, ratio_estimate

TABLE = np.array(
    [[10, 2, 1, 0, 0], [3, 12, 4, 1, 0], [1, 3, 20, 6, 1], [0, 1, 5, 30, 9], [0, 0, 1, 8, 40]]
)
N = np.nan
# Krippendorff's example of four observers and twelve units.
OBSERVERS = np.array(
    [
        [1, 2, 3, 3, 2, 1, 4, 1, 2, N, N, N],
        [1, 2, 3, 3, 2, 2, 4, 1, 2, 5, N, 3],
        [N, 3, 3, 3, 2, 3, 4, 2, 2, 5, 1, N],
        [1, 2, 3, 3, 2, 4, 4, 1, 2, 5, 1, N],
    ]
)
# Shrout and Fleiss (1979), six targets and four judges.
TARGETS = np.array(
    [[9, 2, 5, 8], [6, 1, 3, 2], [8, 4, 6, 8], [7, 1, 2, 6], [10, 5, 6, 9], [6, 2, 4, 7]]
)


def unrolled(table):
    """Return the two score columns of a contingency table."""
    row, column = np.nonzero(table)
    times = table[row, column]
    return np.repeat(row + 1, times), np.repeat(column + 1, times)


def pairs_of(judge, readers):
    """Return matched pairs of one metric: one judge score and one label a reader an item."""
    table = [
        ("CR", f"q{i // 2}", f"p{i}", f"r{k}", h, j, f"q{i // 2}")
        for i, (j, row) in enumerate(zip(judge, readers, strict=True))
        for k, h in enumerate(row)
    ]
    names = ["metric", "query_id", "page_id", "annotator", "human", "judge", "cluster"]
    return pd.DataFrame(table, columns=names)


# Coefficients


def test_coefficients_of_the_worked_table():
    """The coefficients of the worked table have their known values."""
    a, b = unrolled(TABLE)
    assert quadratic_kappa(a, b) == pytest.approx(0.874619, abs=1e-6)
    assert linear_kappa(a, b) == pytest.approx(0.763935, abs=1e-6)
    assert gwet_ac2(a, b) == pytest.approx(0.911806, abs=1e-6)
    assert np.abs(a - b).mean() == pytest.approx(0.329114, abs=1e-6)
    assert np.array_equal(confusion(a, b), TABLE)


@pytest.mark.parametrize(
    ("ours", "name"), [(quadratic_kappa, "quadratic"), (linear_kappa, "linear")]
)
def test_kappas_agree_with_statsmodels(ours, name):
    """Both weighted kappas equal those of statsmodels."""
    from statsmodels.stats.inter_rater import cohens_kappa

    assert ours(*unrolled(TABLE)) == pytest.approx(
        cohens_kappa(TABLE, wt=name, return_results=True).kappa
    )


def test_ordinal_alpha_of_krippendorffs_example():
    """Alpha of the four observers is Krippendorff's."""
    assert ordinal_alpha(OBSERVERS) == pytest.approx(0.8154, abs=5e-5)


def test_intraclass_correlations_of_shrout_and_fleiss():
    """The six correlations are those of the paper."""
    assert intraclass_correlations(TARGETS).to_numpy() == pytest.approx(
        [0.1657, 0.2898, 0.7148, 0.4428, 0.6201, 0.9093], abs=5e-5
    )


@pytest.mark.filterwarnings("ignore:The inplace keyword")
def test_intraclass_correlations_agree_with_pingouin():
    """The six correlations equal pingouin's on random scores."""
    import pingouin

    scores = np.random.default_rng(0).integers(1, 6, (15, 3)).astype(float)
    scores += np.arange(15)[:, None] / 3
    long = pd.DataFrame(scores).reset_index().melt("index")
    theirs = pingouin.intraclass_corr(long, "index", "variable", "value")["ICC"].to_numpy()
    assert intraclass_correlations(scores).to_numpy() == pytest.approx(theirs, abs=1e-6)


def test_coefficients_without_spread_are_not_defined():
    """Equal constants and empty input give no coefficient and no warning."""
    fives, none = np.full(8, 5.0), np.array([])
    for coefficient in (quadratic_kappa, linear_kappa):
        assert np.isnan(coefficient(fives, fives))
        assert np.isnan(coefficient(none, none))
    assert np.isnan(ordinal_alpha(np.stack([fives, fives])))
    assert gwet_ac2(fives, fives) == 1
    assert intraclass_correlations(np.full((4, 2), 5.0)).isna().all()


def test_a_score_off_the_scale_is_refused():
    """A table of levels takes whole scores 1 to 5 only."""
    with pytest.raises(ValueError, match=r"4\.5 is no level"):
        gwet_ac2([5, 4.5], [5, 4])


# Judge against readers


def test_agreement_of_one_reader():
    """Error, bias, shares and skill of four pairs are as counted by hand."""
    result = agreement(pairs_of([5, 4, 3, 3, 5, 1], [[5], [5], [3], [1], [4], [2]]))
    assert (result.items, result.clusters, result.annotators) == (6, 3, 1)
    assert result.mae.value == pytest.approx(5 / 6)
    assert result.bias.value == pytest.approx(1 / 6)
    assert result.exact.value == pytest.approx(2 / 6)
    assert result.within_one.value == pytest.approx(5 / 6)
    assert result.best_constant == pytest.approx(8 / 6)
    assert result.skill == pytest.approx(1 - 5 / 8)
    assert result.mae.low < result.mae.value < result.mae.high


def test_error_is_against_the_mean_of_readers():
    """With two readers the error is taken from their mean, once an item."""
    result = agreement(pairs_of([5, 3, 3], [[5, 4], [3, 3], [1, 2]]))
    assert result.mae.value == pytest.approx((0.5 + 0 + 1.5) / 3)
    assert (result.items, result.mae.n, result.exact.n) == (3, 3, 6)


def test_a_missing_verdict_is_counted():
    """A label without a verdict leaves the error alone and is reported."""
    result = agreement(pairs_of([5, N, 3], [[5], [1], [3]]))
    assert result.mae.value == 0
    assert result.note == "1 labels without a verdict"
    assert agreement(pairs_of([N], [[3]])).mae.note == "no pair of scores"


def test_the_ceiling_flatters_raw_error():
    """With the same latent agreement more fives make the error look better and the skill worse."""
    from scipy.special import ndtri

    rng = np.random.default_rng(1)
    latent = rng.standard_normal((40_000, 2))
    latent[:, 1] = 0.8 * latent[:, 0] + 0.6 * latent[:, 1]
    results = []
    for fives in (0.25, 0.8):
        cuts = ndtri(np.array([0.1, 0.25, 0.5, 1.0]) * (1 - fives))
        a, b = (np.searchsorted(cuts, latent[:, i]) + 1 for i in (0, 1))
        error = np.abs(a - b).mean()
        results.append((error, 1 - error / best_constant_error(b), quadratic_kappa(a, b)))
    few, many = results
    assert many[0] < few[0]
    assert many[1] < few[1]
    assert many[2] < few[2]


def test_labels_meet_verdicts_by_item():
    """Page-level labels meet page-level verdicts, and their cluster is the page."""
    judgments = pd.DataFrame(
        {"query_id": ["1", None], "page_id": ["a", "a"], "metric": ["CR", "DA"], "score": [4, 5]}
    )
    labels = pd.DataFrame(
        {
            "annotator": ["x", "x", "x"],
            "query_id": ["1", None, "2"],
            "page_id": ["a", "a", "a"],
            "metric": ["CR", "DA", "CR"],
            "score": [3, 5, 2],
        }
    )
    pairs = match_labels(judgments, labels)
    assert pairs["judge"].tolist()[:2] == [4, 5]
    assert np.isnan(pairs["judge"][2])
    assert pairs["cluster"].tolist() == ["1", "page a", "2"]
    table = agreement_table(pairs)
    assert table.index.tolist() == ["CR", "DA"]
    assert table["mae"].tolist() == [1, 0]
    with pytest.raises(ValueError, match="twice"):
        match_labels(pd.concat([judgments, judgments]), labels)


def test_judge_and_readers_meet_the_same_panel():
    """A judge drawn like a reader is as far from the other readers as a reader is."""
    rng = np.random.default_rng(2)
    quality = rng.normal(3.5, 0.8, 400)
    scores = np.rint(quality[:, None] + rng.normal(0, 0.7, (400, 4))).clip(1, 5)
    pairs = pairs_of(scores[:, 0], scores[:, 1:])
    table = panel_ceiling(pairs)
    assert table.index.tolist() == ["r0", "r1", "r2", "all"]
    assert table.at["all", "excess_low"] < 0 < table.at["all", "excess_high"]
    assert table.at["r0", "human_mae"] == pytest.approx(
        np.abs(scores[:, 1] - scores[:, 2:].mean(axis=1)).mean()
    )
    assert table.at["r0", "judge_mae"] == pytest.approx(
        np.abs(scores[:, 0] - scores[:, 2:].mean(axis=1)).mean()
    )
    # Against all readers together the same judge looks better than it is.
    assert agreement(pairs).mae.value < table.at["all", "judge_mae"]
    assert panel_ceiling(pairs_of([5.0, 4.0], [[5], [4]])).at["all", "items"] == 0


# Label-corrected means


def test_prediction_powered_mean_of_the_worked_example():
    """The corrected mean and its plain z interval are those of ppi-python."""
    result = rectified_mean([5, 4, 4, 3, 5, 5], [4, 5, 3, 2], [5, 5, 4, 4])
    se = np.sqrt((result.judged**2).sum() + (result.labelled**2).sum())
    assert result.value == pytest.approx(3.333333, abs=1e-6)
    assert result.value - 1.959964 * se == pytest.approx(2.419072, abs=1e-6)
    assert result.value + 1.959964 * se == pytest.approx(4.247594, abs=1e-6)


def test_the_clustered_variance_is_the_literal_sum():
    """The clustered variance is the sum of squared query influences that the formula says."""
    frame = simulated(3, queries=12, labels=20)
    estimate = label_corrected_mean(frame)
    read = frame.dropna(subset="label")
    total = 0.0
    for query in frame["query_id"].unique():
        f, y = (t[t["query_id"] == query] for t in (frame, read))
        total += (
            (f["judge"].sum() - frame["judge"].mean() * len(f)) / len(frame)
            + (y["label"].sum() - read["label"].mean() * len(y)) / len(read)
            - (y["judge"].sum() - read["judge"].mean() * len(y)) / len(read)
        ) ** 2
    k = read["query_id"].nunique()
    assert estimate.value == pytest.approx(
        frame["judge"].mean() + read["label"].mean() - read["judge"].mean()
    )
    assert estimate.se == pytest.approx(np.sqrt(k / (k - 1) * total))
    assert (estimate.n, estimate.clusters, estimate.df) == (20, k, k - 1)


def simulated(seed, queries=100, labels=50, bias=2.4, mean=80.0):
    """Return one system's judge scores, with labels of a random sample of its sources."""
    rng = seed if isinstance(seed, np.random.Generator) else np.random.default_rng(seed)
    code = np.repeat(np.arange(queries), rng.integers(1, 6, queries))
    truth = mean + 6 * rng.standard_normal(queries)[code] + 10 * rng.standard_normal(code.size)
    judge = truth + bias + 7.4 * rng.standard_normal(code.size)
    label = np.full(code.size, np.nan)
    chosen = rng.choice(code.size, labels, replace=False)
    label[chosen] = truth[chosen]
    return pd.DataFrame({"query_id": code, "judge": judge, "label": label, "truth": truth})


def test_coverage_of_label_corrected_means():
    """The corrected interval holds the true mean about 95 times in 100; the judge's own does not."""
    rng = np.random.default_rng(4)
    held = np.zeros(2)
    for _ in range(200):
        frame = simulated(rng, queries=60, labels=25)
        corrected = label_corrected_mean(frame)
        count = np.bincount(frame["query_id"]).astype(float)
        total = np.bincount(frame["query_id"], weights=frame["judge"])
        one = np.zeros(60, dtype=int)
        plain = ratio_estimate(total, count, one, (0, 120))
        held += [corrected.low <= 80 <= corrected.high, plain.low <= 80 <= plain.high]
    assert 0.90 <= held[0] / 200 <= 0.99
    assert held[1] / 200 < 0.65


def test_few_labels_give_no_corrected_mean():
    """Without labels in two queries there is no corrected mean, and the note says so."""
    frame = simulated(5, queries=10, labels=1)
    estimate = label_corrected_mean(frame)
    assert np.isnan(estimate.value)
    assert estimate.note == "no label-corrected mean from 1 labels in 1 queries"


def test_unequal_bias_is_detected():
    """Systems whose judge bias differs fail Cochran's test; pooled correction names its premise."""
    parts = [simulated(6, bias=0.0).assign(system="a"), simulated(7, bias=8.0).assign(system="b")]
    table, test = label_corrected_means(pd.concat(parts))
    assert table["value"].tolist() == pytest.approx([80, 80], abs=4)
    assert (test.df, test.p < 0.01) == (1, True)
    pooled, _ = label_corrected_means(pd.concat(parts), rectifier="pooled")
    assert set(pooled["method"]) == {"prediction-powered, assuming equal judge bias"}
    assert pooled["value"].tolist() != pytest.approx([80, 80], abs=2)
    with pytest.raises(ValueError, match="must be 'own' or 'pooled'"):
        label_corrected_means(pd.concat(parts), rectifier="mine")


def test_cochran_q_of_three_estimates():
    """Q of 1, 2 and 3 with unit errors is 2; an estimate without error takes no part."""
    from scipy.stats import chi2

    result = cochran_q([1, 2, 3, 9], [1, 1, 1, np.nan])
    assert result[:2] == (pytest.approx(2), 2)
    assert result.p == pytest.approx(chi2.sf(2, 2))
    assert np.isnan(cochran_q([1], [1]).p)


# Yes or no


def share_of(value, queries=100):
    """Return a clustered share near `value`."""
    total = np.zeros(queries)
    total[: round(value * queries)] = 1
    one = np.zeros(queries, dtype=int)
    return ratio_estimate(total, np.ones(queries), one, PROPORTION_LIMITS)


def test_rogan_gladen_of_the_worked_example():
    """A judge of sensitivity .93 and specificity .80 that says .638 means .600."""
    share = share_of(0.638, 1000)
    estimate = rogan_gladen(share, 0.93, 0.80, 170, 114)
    assert estimate.value == pytest.approx(0.6)
    variance = share.se**2 + 0.4**2 * 0.16 / 114 + 0.6**2 * 0.93 * 0.07 / 170
    assert estimate.se == pytest.approx(np.sqrt(variance) / 0.73)
    assert 0 < estimate.low < 0.6 < estimate.high < 1


def test_rogan_gladen_stays_on_the_scale():
    """A correction past the scale is cut and noted; a judge of pure chance gives none."""
    estimate = rogan_gladen(share_of(0.05), 0.9, 0.8, 50, 50)
    assert (estimate.value, estimate.low) == (0, 0)
    assert estimate.note == "the correction gives -0.214, off the scale"
    assert np.isnan(rogan_gladen(share_of(0.5), 0.5, 0.5, 50, 50).value)


def test_judge_rates_count_pairs():
    """Sensitivity and specificity come from the labelled pairs alone."""
    rates = judge_rates([1, 1, 0, 0, N, 1], [1, 1, 1, 0, 1, N])
    assert rates == (pytest.approx(2 / 3), 1.0, 3, 1)


def test_any_source_rule_inflates():
    """Five sources at 12 percent find support wrongly in 47 percent of statements."""
    assert any_source_rate(0.12, 5) == pytest.approx(0.472268, abs=1e-6)
