"""How well a judge's scores agree with those of readers, and how well readers agree.

No single number will do: where most scores are fives every judge looks right by mean error, and
every kappa looks wrong. So error, bias, chance-corrected agreement and the gain over a constant
stand side by side, and judge and readers meet the same leave-one-out panel.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from sourcebench.rubric import CODES, SCALE
from sourcebench.statistics.intervals import NAN, Estimate, ratio_estimate, without_interval

LEVELS = tuple(range(SCALE[0], SCALE[1] + 1))
SPAN = float(SCALE[1] - SCALE[0])


class Agreement(NamedTuple):
    """What judge and readers share on one metric.

    Attributes
    ----------
    items, clusters, annotators : int
        Items that both scored, the queries they come from, and the readers.
    mae, bias : Estimate
        Mean absolute error against the readers' mean, and judge minus that mean.
    exact, within_one : Estimate
        Share of (judge, reader) pairs that are equal, and at most one apart.
    qwk, kappa_linear, ac2, alpha : float
        Quadratic and linear weighted kappa, Gwet's AC2 (quadratic) and ordinal alpha, over
        (judge, reader) pairs; NaN where not defined.
    best_constant, skill : float
        Mean absolute error of the best constant answer, and 1 - mae / best_constant.
    note : str
    """

    items: int
    clusters: int
    annotators: int
    mae: Estimate
    bias: Estimate
    exact: Estimate
    within_one: Estimate
    qwk: float
    kappa_linear: float
    ac2: float
    alpha: float
    best_constant: float
    skill: float
    note: str


def match_labels(judgments: pd.DataFrame, labels: pd.DataFrame) -> pd.DataFrame:
    """Return one row a (item, reader) with the judge's score beside the reader's.

    Parameters
    ----------
    judgments : DataFrame
        One judge's verdicts: ``query_id`` (empty for page-level metrics), ``page_id``, ``metric``,
        ``score``.
    labels : DataFrame
        ``annotator``, ``query_id``, ``page_id``, ``metric``, ``score``.

    Returns
    -------
    DataFrame
        metric, query_id, page_id, annotator, human, judge (NaN where the judge gave no score) and
        cluster: the query, or the page where the metric has no query.
    """
    keys = ["metric", "query_id", "page_id"]
    judged, read = (
        t.assign(query_id=t["query_id"].astype(object).fillna("").astype(str))
        for t in (judgments, labels)
    )
    twice = judged.duplicated(keys)
    if twice.any():
        row = judged.loc[twice, keys].iloc[0].tolist()
        raise ValueError(f"judgments hold {row} twice; pass the verdicts of one judge")
    judged = judged[[*keys, "score"]].rename(columns={"score": "judge"})
    pairs = read.rename(columns={"score": "human"}).merge(judged, on=keys, how="left")
    cluster = pairs["query_id"].where(pairs["query_id"] != "", "page " + pairs["page_id"])
    return pairs[[*keys, "annotator", "human", "judge"]].assign(cluster=cluster)


def agreement(pairs: pd.DataFrame, *, level: float = 0.95) -> Agreement:
    """Return the agreement of the judge with the readers on one metric.

    Parameters
    ----------
    pairs : DataFrame
        Rows of one metric from `match_labels`; rows without a score on either side are left out.
    level : float
        Coverage of the intervals, which take the query as the unit.

    Returns
    -------
    Agreement
    """
    both = pairs.dropna(subset=["human", "judge"])
    judge, human = both["judge"].to_numpy(float), both["human"].to_numpy(float)
    items = both.groupby(["query_id", "page_id"], sort=False).agg(
        cluster=("cluster", "first"), judge=("judge", "first"), human=("human", "mean")
    )
    error = (items["judge"] - items["human"]).to_numpy(float)
    mae = _mean(np.abs(error), items["cluster"], (0, SPAN), level)
    best = best_constant_error(items["human"])
    lost = len(pairs) - len(both)
    return Agreement(
        items=len(items),
        clusters=mae.clusters,
        annotators=both["annotator"].nunique(),
        mae=mae,
        bias=_mean(error, items["cluster"], (-SPAN, SPAN), level),
        exact=_mean(judge == human, both["cluster"], (0, 1), level),
        within_one=_mean(np.abs(judge - human) <= 1, both["cluster"], (0, 1), level),
        qwk=quadratic_kappa(judge, human),
        kappa_linear=linear_kappa(judge, human),
        ac2=gwet_ac2(judge, human),
        alpha=ordinal_alpha(np.stack([judge, human])),
        best_constant=best,
        skill=1 - mae.value / best if best > 0 else NAN,
        note=f"{lost} labels without a verdict" if lost else "",
    )


def agreement_table(pairs: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Return the agreement on every metric, one row each in rubric order.

    Estimates appear as their value, and ``mae`` and ``bias`` with ``_low`` and ``_high``.
    """
    rows = {}
    for metric in [code for code in CODES if code in set(pairs["metric"])]:
        result = agreement(pairs[pairs["metric"] == metric], level=level)
        row = {k: v.value if isinstance(v, Estimate) else v for k, v in result._asdict().items()}
        for name in ("mae", "bias"):
            estimate = getattr(result, name)
            row |= {f"{name}_low": estimate.low, f"{name}_high": estimate.high}
        rows[metric] = row
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("metric")


def _mean(
    values: np.ndarray, clusters: pd.Series, limits: tuple[float, float], level: float
) -> Estimate:
    """Return a clustered mean of plain values."""
    if not len(values):
        return without_interval(NAN, 0, 0, "no pair of scores")
    code = pd.factorize(np.asarray(clusters))[0]
    total = np.bincount(code, weights=np.asarray(values, dtype=float))
    count = np.bincount(code).astype(float)
    return ratio_estimate(total, count, np.zeros(count.size, dtype=int), limits, level=level)


# Coefficients


def best_constant_error(human: pd.Series) -> float:
    """Return the mean absolute error of the constant that fits best, the median."""
    human = np.asarray(human, dtype=float)
    return float(np.abs(human - np.median(human)).mean()) if human.size else NAN


def quadratic_kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Return quadratic weighted kappa; it equals the concordance coefficient with 1/n variances.

    In that form it is defined for means of readers too. NaN when both sides are one constant.
    """
    a, b = (np.asarray(v, dtype=float) for v in (a, b))
    if not a.size:
        return NAN
    scale = a.var() + b.var() + (a.mean() - b.mean()) ** 2
    return float(1 - ((a - b) ** 2).mean() / scale) if scale > 0 else NAN


def linear_kappa(a: np.ndarray, b: np.ndarray) -> float:
    """Return linear weighted kappa of whole scores; NaN when chance disagreement is nil."""
    a, b = (np.asarray(v, dtype=float) for v in (a, b))
    if not a.size:
        return NAN
    chance = np.abs(a[:, None] - b[None, :]).mean()
    return float(1 - np.abs(a - b).mean() / chance) if chance > 0 else NAN


def gwet_ac2(a: np.ndarray, b: np.ndarray) -> float:
    """Return Gwet's AC2 with quadratic weights over the five levels.

    Chance agreement comes from how evenly the levels are used, so it does not collapse when most
    scores are fives (Gwet 2014).
    """
    table = confusion(a, b)
    if not table.sum():
        return NAN
    share, steps = table / table.sum(), np.arange(len(LEVELS))
    weight = 1 - ((steps[:, None] - steps[None, :]) / (len(LEVELS) - 1)) ** 2
    used = (share.sum(axis=0) + share.sum(axis=1)) / 2
    chance = weight.sum() / (len(LEVELS) * (len(LEVELS) - 1)) * (used * (1 - used)).sum()
    return float(((weight * share).sum() - chance) / (1 - chance))


def confusion(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return how often each pair of levels occurs, `a` down and `b` across, of shape (5, 5)."""
    a, b = (np.asarray(v, dtype=float) for v in (a, b))
    for v in (a, b):
        if not np.isin(v, LEVELS).all():
            bad = v[~np.isin(v, LEVELS)][0]
            raise ValueError(f"{bad:g} is no level; whole scores 1 to 5 are needed")
    code = (a - 1) * len(LEVELS) + (b - 1)
    return np.bincount(code.astype(int), minlength=len(LEVELS) ** 2).reshape(len(LEVELS), -1)


def ordinal_alpha(scores: np.ndarray) -> float:
    """Return Krippendorff's ordinal alpha.

    Parameters
    ----------
    scores : array of shape (raters, items)
        NaN where a rater gave no score.

    Returns
    -------
    float
        NaN when no item has two scores or all scores are equal.
    """
    import krippendorff

    scores = np.asarray(scores, dtype=float)
    pairable = scores[:, (~np.isnan(scores)).sum(axis=0) > 1] if scores.size else scores
    if np.unique(pairable[~np.isnan(pairable)]).size < 2:
        return NAN
    return float(krippendorff.alpha(pairable, level_of_measurement="ordinal"))


def intraclass_correlations(scores: np.ndarray) -> pd.Series:
    """Return the six intraclass correlations of Shrout and Fleiss (1979).

    Parameters
    ----------
    scores : array of shape (items, raters)
        Items with a missing score are left out.

    Returns
    -------
    Series
        Indexed ICC(1,1), ICC(2,1), ICC(3,1), ICC(1,k), ICC(2,k), ICC(3,k); NaN when not defined.
    """
    scores = np.asarray(scores, dtype=float)
    scores = scores[~np.isnan(scores).any(axis=1)]
    n, k = scores.shape
    names = [f"ICC({kind},{size})" for size in ("1", "k") for kind in (1, 2, 3)]
    if n < 2 or k < 2 or np.ptp(scores) == 0:
        return pd.Series(NAN, index=names)
    rows, columns = scores.mean(axis=1), scores.mean(axis=0)
    between = k * rows.var(ddof=1)
    raters = n * columns.var(ddof=1)
    within = ((scores - rows[:, None]) ** 2).sum() / (n * (k - 1))
    error = ((scores - rows[:, None] - columns + scores.mean()) ** 2).sum() / ((n - 1) * (k - 1))
    values = [
        (between - within) / (between + (k - 1) * within),
        (between - error) / (between + (k - 1) * error + k * (raters - error) / n),
        (between - error) / (between + (k - 1) * error),
    ]
    if between > 0:
        values += [
            (between - within) / between,
            (between - error) / (between + (raters - error) / n),
            (between - error) / between,
        ]
    return pd.Series(values + [NAN] * (6 - len(values)), index=names)


# The ceiling that readers set


def panel_ceiling(pairs: pd.DataFrame, *, level: float = 0.95) -> pd.DataFrame:
    """Return how far each reader and the judge are from the same panel of the other readers.

    Against the mean of all readers a judge always looks better than a reader can, since the
    reader's own score is part of that mean. Here each reader is left out in turn, and judge and
    reader are compared with the mean of the others on the same items.

    Parameters
    ----------
    pairs : DataFrame
        Rows of one metric from `match_labels`.
    level : float
        Coverage of the interval of the difference.

    Returns
    -------
    DataFrame
        One row a reader left out, and ``all``: items, human_mae, judge_mae, human_skill,
        judge_skill, excess (judge minus human), excess_low, excess_high.
    """
    both = pairs.dropna(subset=["human", "judge"])
    item = ["query_id", "page_id"]
    panel = both.groupby(item)["human"].agg(["sum", "count"])
    table = both.join(panel, on=item)
    table = table[table["count"] > 1]
    others = (table["sum"] - table["human"]) / (table["count"] - 1)
    table = table.assign(
        others=others,
        human_error=(table["human"] - others).abs(),
        judge_error=(table["judge"] - others).abs(),
    )
    rows = {name: _ceiling_row(part, level) for name, part in table.groupby("annotator")}
    rows["all"] = _ceiling_row(table, level)
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("annotator")


def _ceiling_row(table: pd.DataFrame, level: float) -> dict[str, float]:
    """Return the errors of reader and judge against the panel of the others."""
    gap = _mean(table["judge_error"] - table["human_error"], table["cluster"], (-SPAN, SPAN), level)
    best = best_constant_error(table["others"])
    human, judge = (
        float(table[c].mean()) if len(table) else NAN for c in ("human_error", "judge_error")
    )
    return {
        "items": len(table),
        "human_mae": human,
        "judge_mae": judge,
        "human_skill": 1 - human / best if best > 0 else NAN,
        "judge_skill": 1 - judge / best if best > 0 else NAN,
        "excess": gap.value,
        "excess_low": gap.low,
        "excess_high": gap.high,
    }
