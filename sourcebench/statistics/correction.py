"""Estimates that labels correct for the judge's errors, with the query as the unit."""

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from sourcebench.statistics.intervals import MISSING, NAN, Estimate, t_quantile, without_interval


class Rectified(NamedTuple):
    """A prediction-powered mean with the influence of every row on it.

    Attributes
    ----------
    value, rectifier : float
        Corrected mean, and the mean of label minus judge score.
    judged, labelled : arrays
        Influence of each judged and of each labelled row.
    """

    value: float
    rectifier: float
    judged: np.ndarray
    labelled: np.ndarray


class Heterogeneity(NamedTuple):
    """Cochran's test that several estimates share one value."""

    q: float
    df: int
    p: float


def rectified_mean(judged: np.ndarray, label: np.ndarray, judge_of_label: np.ndarray) -> Rectified:
    """Return the mean judge score corrected by the mean of label minus judge score.

    Prediction-powered inference with lambda = 1 (Angelopoulos et al. 2023).

    Parameters
    ----------
    judged : array of shape (rows,)
        Judge scores of the rows whose mean is wanted.
    label, judge_of_label : arrays of shape (labels,)
        Label and judge score of a random sample of rows.
    """
    judged, gap = np.asarray(judged, dtype=float), np.asarray(label) - np.asarray(judge_of_label)
    rectifier = float(gap.mean())
    value = float(judged.mean()) + rectifier
    return Rectified(
        value,
        rectifier,
        (judged - judged.mean()) / judged.size,
        (gap - rectifier) / gap.size,
    )


def label_corrected_mean(
    frame: pd.DataFrame, *, judge: str = "judge", label: str = "label", level: float = 0.95
) -> Estimate:
    """Return one system's mean score, corrected by the labels of some of its sources.

    The labelled sources must be a random sample of this system's sources; a convenience sample
    voids the interval.

    Parameters
    ----------
    frame : DataFrame
        One row a source: ``query_id``, the judge's score and the label (NaN where there is none).
    judge, label : str
        Their columns.
    level : float
        Coverage; the quantile is that of t with (labelled queries - 1) degrees of freedom.

    Returns
    -------
    Estimate
        ``n`` counts labels and ``clusters`` labelled queries.
    """
    return _corrected(frame, frame, judge, label, level)[0]


def _corrected(
    frame: pd.DataFrame, sample: pd.DataFrame, judge: str, label: str, level: float
) -> tuple[Estimate, Estimate]:
    """Return the mean of `frame` corrected by the labels in `sample`, and the rectifier."""
    judged, read = frame.dropna(subset=[judge]), sample.dropna(subset=[judge, label])
    n, clusters = len(read), read["query_id"].nunique()
    if not len(judged) or clusters < 2:
        note = f"no label-corrected mean from {n} labels in {clusters} queries"
        none = without_interval(NAN, n, clusters, note)._replace(expected=len(frame))
        return none, none
    result = rectified_mean(judged[judge], read[label], read[judge])
    queries = pd.concat([judged["query_id"], read["query_id"]])
    code = pd.factorize(queries)[0]
    gap = np.concatenate([np.zeros(len(judged)), result.labelled])
    both = np.concatenate([result.judged, result.labelled])
    method, df = "prediction-powered, clustered t", clusters - 1
    ends = []
    for value, influence in ((result.value, both), (result.rectifier, gap)):
        by_query = np.bincount(code, weights=influence)
        se = float(np.sqrt(clusters / df * by_query @ by_query))
        half = t_quantile(level, df) * se
        low, high = value - half, value + half
        ends.append(Estimate(value, low, high, se, n, len(frame), clusters, df, method, ""))
    return ends[0], ends[1]


def label_corrected_means(
    frame: pd.DataFrame,
    *,
    judge: str = "judge",
    label: str = "label",
    rectifier: Literal["own", "pooled"] = "own",
    level: float = 0.95,
) -> tuple[pd.DataFrame, Heterogeneity]:
    """Return every system's label-corrected mean, and the test that one rectifier fits all.

    Parameters
    ----------
    frame : DataFrame
        As for `label_corrected_mean`, with ``system``.
    judge, label, level
        As for `label_corrected_mean`.
    rectifier : "own" or "pooled"
        ``pooled`` corrects every system by the labels of all, which holds only if the judge's bias
        is equal across systems, and says so in ``method``.

    Returns
    -------
    DataFrame, Heterogeneity
        One row a system: judge_mean, the fields of the `Estimate`, rectifier, rectifier_se. And
        Cochran's Q over the systems' own rectifiers; a small p speaks against pooling.
    """
    if rectifier not in ("own", "pooled"):
        raise ValueError(f"rectifier must be 'own' or 'pooled', but {rectifier!r} was passed")
    rows = {}
    for system, mine in frame.groupby(frame["system"].astype(object).fillna(MISSING)):
        own, gap = _corrected(mine, mine, judge, label, level)
        shown = own
        if rectifier == "pooled":
            shown = _corrected(mine, frame, judge, label, level)[0]
            shown = shown._replace(method="prediction-powered, assuming equal judge bias")
        rows[system] = {
            "judge_mean": float(mine[judge].mean()),
            **shown._asdict(),
            "rectifier": gap.value,
            "rectifier_se": gap.se,
        }
    table = pd.DataFrame.from_dict(rows, orient="index").rename_axis("system")
    return table, cochran_q(table["rectifier"], table["rectifier_se"])


def cochran_q(values: pd.Series, errors: pd.Series) -> Heterogeneity:
    """Return Cochran's Q of independent estimates; those without an error take no part."""
    from scipy.special import chdtrc

    values, errors = (np.asarray(v, dtype=float) for v in (values, errors))
    usable = errors > 0
    values, weights = values[usable], errors[usable] ** -2.0
    df = values.size - 1
    if df < 1:
        return Heterogeneity(NAN, max(df, 0), NAN)
    q = float((weights * (values - np.average(values, weights=weights)) ** 2).sum())
    return Heterogeneity(q, df, float(chdtrc(df, q)))


# Yes or no


def rogan_gladen(
    share: Estimate,
    sensitivity: float,
    specificity: float,
    positives: int,
    negatives: int,
    *,
    level: float = 0.95,
) -> Estimate:
    """Return a judge's share of positives corrected for its known errors (Rogan and Gladen 1978).

    For sensitivity and specificity measured on other systems; with labels of the system itself use
    `label_corrected_mean`.

    Parameters
    ----------
    share : Estimate
        What the judge calls positive, with its clustered standard error.
    sensitivity, specificity : float
        Of the judge, each between 0 and 1.
    positives, negatives : int
        Labels that the two rest on.
    level : float
        Coverage.

    Returns
    -------
    Estimate
        Kept within 0 and 1; without interval if the judge is no better than chance.
    """
    power = sensitivity + specificity - 1
    if power <= 0 or positives < 1 or negatives < 1 or np.isnan(share.value):
        note = "not defined: the judge is no better than chance, or there are no labels"
        return share._replace(value=NAN, low=NAN, high=NAN, se=NAN, method="none", note=note)
    raw = (share.value + specificity - 1) / power
    value = float(np.clip(raw, 0, 1))
    variance = (
        share.se**2
        + (1 - value) ** 2 * specificity * (1 - specificity) / negatives
        + value**2 * sensitivity * (1 - sensitivity) / positives
    ) / power**2
    half = t_quantile(level, max(share.df, 1)) * np.sqrt(variance)
    low, high = (float(v) for v in np.clip([raw - half, raw + half], 0, 1))
    note = "" if raw == value else f"the correction gives {raw:.3f}, off the scale"
    return share._replace(
        value=value, low=low, high=high, se=float(np.sqrt(variance)), method="Rogan-Gladen",
        note=note,
    )  # fmt: skip


class JudgeRates(NamedTuple):
    """How often a judge finds what is there, and leaves what is not, with the labels behind it."""

    sensitivity: float
    specificity: float
    positives: int
    negatives: int


def judge_rates(judge: pd.Series, label: pd.Series) -> JudgeRates:
    """Return sensitivity and specificity of yes/no verdicts against labels; NaN without labels.

    Parameters
    ----------
    judge, label : Series of 0, 1 or missing
        Only pairs with both count.
    """
    judge, label = (np.asarray(v, dtype=float) for v in (judge, label))
    yes, no = (judge[(label == value) & ~np.isnan(judge)] for value in (1, 0))
    sensitivity, refused = (float(v.mean()) if v.size else NAN for v in (yes, no))
    return JudgeRates(sensitivity, 1 - refused, yes.size, no.size)


def any_source_rate(false_positive_rate: float, sources: int | pd.Series) -> float | pd.Series:
    """Return how often at least one of several sources is wrongly found to support a statement."""
    return 1 - (1 - false_positive_rate) ** sources
