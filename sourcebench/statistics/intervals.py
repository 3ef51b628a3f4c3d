"""A mean over sources and the interval around it, with the query as the unit.

Sources of one query resemble each other, so the spread is measured between queries:
``u_q = y_q - m n_q`` for a query with ``n_q`` scored sources that sum to ``y_q``, where ``m`` is
the mean over all sources. Queries are grouped into strata, and the interval is taken on the logit
scale so that it never leaves the range that a score can have.
"""

from typing import NamedTuple

import numpy as np
import pandas as pd

from sourcebench.rubric import SCALE, WEIGHTS

METRIC_LIMITS = (float(SCALE[0]), float(SCALE[1]))
WEIGHTED_LIMITS = (20.0, 100.0)
PROPORTION_LIMITS = (0.0, 1.0)
MISSING = "(missing)"
NAN = float("nan")
MIN_COVERAGE = 0.8  # share of rows with a value under which their mean is not shown
MIN_QUERIES = 0.5  # share of the queries with a value under which a system is not compared

# What the source itself did to stay unread; every other loss is ours.
SOURCE_OUTCOMES = frozenset(
    [
        "blocked",
        "refused",
        "gone",
        "server_error",
        "unreachable",
        "tls_error",
        "too_large",
        "too_many_redirects",
        "redirector_expired",
        "soft_404",
        "redirect_home",
        "interstitial",
        "needs_javascript",
        "parked",
        "unsupported_type",
        "empty",
    ]
)


class Estimate(NamedTuple):
    """A number, how sure it is, and what it rests on.

    Attributes
    ----------
    value, low, high, se : float
        Estimate, interval and standard error in the units of the column; NaN where not defined.
    n, expected : int
        Rows that carry a value, and rows that should.
    clusters : int
        Queries with at least one value.
    df : int
        Degrees of freedom of the t quantile.
    method, note : str
        How the interval was made; what a reader must know, empty when there is nothing to say.
    """

    value: float
    low: float
    high: float
    se: float
    n: int
    expected: int
    clusters: int
    df: int
    method: str
    note: str


def limits_of(column: str) -> tuple[float, float]:
    """Return the lowest and highest value that a metric, or ``weighted``, can take."""
    if column in WEIGHTS:
        return METRIC_LIMITS
    if column == "weighted":
        return WEIGHTED_LIMITS
    raise ValueError(f"no known limits for column {column!r}; pass limits=(low, high)")


def weighted_score(scores: pd.DataFrame) -> pd.Series:
    """Return the weighted score, 20 to 100, of each row; missing when any metric is missing.

    The weights are integers (3 for the content metrics, 2 for the rest, sum 19), so the numerator
    is exact: ``100 * W / 95``.
    """
    absent = [metric for metric in WEIGHTS if metric not in scores]
    if absent:
        raise ValueError(f"weighted_score needs the columns {', '.join(absent)}")
    total = sum(checked(scores, metric, METRIC_LIMITS) * w for metric, w in WEIGHTS.items())
    return pd.Series(100.0 * total / 95.0, index=scores.index, name="weighted")


def cluster_mean(
    frame: pd.DataFrame,
    column: str,
    *,
    queries: pd.DataFrame,
    limits: tuple[float, float] | None = None,
    level: float = 0.95,
    strata: str | None = "category",
    min_clusters: int = 3,
) -> Estimate:
    """Return the mean over sources with a stratified logit CR1 t interval.

    Parameters
    ----------
    frame : DataFrame
        One row a source of one system, with ``query_id`` and `column`; NaN is missing.
    column : str
        What to average: a metric, ``weighted``, or a proportion coded 0 and 1.
    queries : DataFrame
        Every query that was asked, with ``query_id`` and the stratum column. A query without
        sources stays in the design with ``u_q = 0``.
    limits : (float, float), optional
        Ends of the scale; known for metrics and ``weighted``.
    level : float
        Coverage of the interval.
    strata : str or None
        Column of `queries` that holds the strata; None for one stratum.
    min_clusters : int
        Fewest queries with values for which an interval is given.

    Returns
    -------
    Estimate
        At a limit of the scale, or without spread between queries, the interval is that of Korn
        and Graubard (1998). Without rows, with too few queries or without any spread inside the
        scale there is no interval and ``note`` says why.

    Raises
    ------
    ValueError
        For a value that is no number or lies outside the limits, and for an unknown query.
    """
    limits = limits or limits_of(column)
    total, count, values = query_sums_of(frame, column, queries, limits)
    estimate = ratio_estimate(
        total, count, strata_of(queries, strata), limits, level=level, min_clusters=min_clusters
    )
    if values.size > 1 and np.ptp(values) == 0 and limits[0] < values[0] < limits[1]:
        note = f"no spread in {values.size} values"
        estimate = estimate._replace(low=NAN, high=NAN, se=0.0, method="none", note=note)
    return estimate._replace(expected=len(frame))


def macro_mean(
    frame: pd.DataFrame,
    column: str,
    *,
    queries: pd.DataFrame,
    limits: tuple[float, float] | None = None,
    level: float = 0.95,
    strata: str | None = "category",
    min_clusters: int = 3,
) -> Estimate:
    """Return the mean over queries of each query's mean over sources.

    Parameters are those of `cluster_mean`. Queries without a value take no part, and ``n`` still
    counts sources.
    """
    limits = limits or limits_of(column)
    total, count, values = query_sums_of(frame, column, queries, limits)
    sourced = count > 0
    estimate = ratio_estimate(
        total[sourced] / count[sourced],
        np.ones(sourced.sum()),
        strata_of(queries[sourced], strata),
        limits,
        level=level,
        min_clusters=min_clusters,
    )
    if estimate.se == 0 and limits[0] < estimate.value < limits[1]:
        note = f"no spread in {estimate.clusters} query means"
        estimate = estimate._replace(low=NAN, high=NAN, method="none", note=note)
    return estimate._replace(n=values.size, expected=len(frame))


def count_mean(
    frame: pd.DataFrame,
    column: str,
    *,
    queries: pd.DataFrame,
    level: float = 0.95,
    strata: str | None = "category",
    min_clusters: int = 3,
) -> Estimate:
    """Return the mean of a count with a stratified CR1 t interval on the log scale.

    Parameters are those of `cluster_mean`; a count has no upper end. A mean of 0 has no interval.
    """
    top = float(frame[column].max()) if len(frame) else 1.0
    e = cluster_mean(
        frame, column, queries=queries, limits=(0.0, max(top, 1.0)), strata=strata, min_clusters=min_clusters
    )  # fmt: skip
    if not (e.value > 0 and e.se > 0):
        return e._replace(low=NAN, high=NAN, method="none", note=e.note or "no spread")
    spread = float(np.exp(t_quantile(level, e.df) * e.se / e.value))
    return e._replace(low=e.value / spread, high=e.value * spread, method="log CR1 t")


def ratio_estimate(
    total: np.ndarray,
    count: np.ndarray,
    strata: np.ndarray,
    limits: tuple[float, float],
    *,
    level: float = 0.95,
    min_clusters: int = 3,
) -> Estimate:
    """Return the estimate of ``sum(total) / sum(count)`` from one entry a query.

    Parameters
    ----------
    total, count : array of shape (queries,)
        Sum of the values and their number, per query asked.
    strata : integer array of shape (queries,)
        Stratum of each query.
    limits, level, min_clusters
        As in `cluster_mean`.
    """
    n, clusters = int(count.sum()), int(np.count_nonzero(count))
    if n == 0:
        return without_interval(NAN, n, clusters, "no scored rows")
    mean = float(total.sum() / count.sum())
    if clusters < min_clusters:
        noun = "query" if clusters == 1 else "queries"
        note = f"no interval from {clusters} {noun}; at least {min_clusters} are needed"
        return without_interval(mean, n, clusters, note)
    pooled = pooled_strata(strata, count > 0)
    df = clusters - np.unique(pooled[count > 0]).size
    se = float(np.sqrt(stratified_variance(total - mean * count, pooled))) / n
    return scale_interval(mean, se, n, clusters, df, limits, level)


def without_interval(value: float, n: int, clusters: int, note: str) -> Estimate:
    """Return an estimate that has no interval, with the reason."""
    return Estimate(value, NAN, NAN, NAN, n, n, clusters, 0, "none", note)


def scale_interval(
    mean: float,
    se: float,
    n: int,
    clusters: int,
    df: int,
    limits: tuple[float, float],
    level: float = 0.95,
) -> Estimate:
    """Return mean and logit interval, or Korn-Graubard bounds where the logit has none."""
    if se <= 1e-12 * (limits[1] - limits[0]):
        se = 0.0
    at_limit = mean in limits
    if se > 0 and not at_limit:
        low, high = logit_interval(mean, se, df, limits, level)
        return Estimate(mean, low, high, se, n, n, clusters, df, "logit CR1 t", "")
    low, high = korn_graubard(mean, se, n, df, limits, level)
    note = f"all {n} values are {mean:g}" if at_limit else "no spread between queries"
    return Estimate(mean, low, high, se, n, n, clusters, df, "Korn-Graubard", note)


def stratified_variance(influence: np.ndarray, strata: np.ndarray) -> np.ndarray:
    """Return the CR1 variance of the sum of `influence` (first axis: queries) within strata."""
    groups, code = np.unique(strata, return_inverse=True)
    member = (code == np.arange(groups.size)[:, None]).astype(float)
    size = member.sum(axis=1, keepdims=True)
    flat = influence.reshape(len(influence), -1)
    centred = flat - member.T @ (member @ flat / size)
    correction = np.where(size > 1, size / np.maximum(size - 1, 1), 1.0)
    return (correction.T @ (member @ centred**2)).reshape(influence.shape[1:])


def logit_interval(
    mean: float, se: float, df: int, limits: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Return a t interval made on the logit scale of ``(mean - low) / (high - low)``."""
    from scipy.special import expit, logit

    low, high = limits
    share = (mean - low) / (high - low)
    half = t_quantile(level, df) * se / ((high - low) * share * (1 - share))
    ends = low + (high - low) * expit(logit(share) + np.array([-half, half]))
    return float(ends[0]), float(ends[1])


def korn_graubard(
    mean: float, se: float, n: float, df: int, limits: tuple[float, float], level: float = 0.95
) -> tuple[float, float]:
    """Return Clopper-Pearson bounds at the effective sample size of Korn and Graubard (1998)."""
    from scipy.special import ndtri

    low, high = limits
    share = (mean - low) / (high - low)
    if share in (0.0, 1.0):
        effective = df + 1.0
    else:
        variance = (se / (high - low)) ** 2
        effective = min(n, share * (1 - share) / variance) if variance > 0 else n
        effective *= (ndtri((1 + level) / 2) / t_quantile(level, df)) ** 2
    lower, upper = clopper_pearson(share * effective, effective, level)
    return low + (high - low) * lower, low + (high - low) * upper


def clopper_pearson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return the exact binomial interval; both counts may be fractional."""
    from scipy.special import betaincinv

    tail = (1 - level) / 2
    lower = 0.0 if successes <= 0 else betaincinv(successes, n - successes + 1, tail)
    upper = 1.0 if successes >= n else betaincinv(successes + 1, n - successes, 1 - tail)
    return float(lower), float(upper)


def wilson(successes: float, n: float, level: float = 0.95) -> tuple[float, float]:
    """Return Wilson's interval of a share of independent trials (Wilson 1927).

    Only for trials of which no two share a query; shares over sources need `cluster_mean`.
    """
    from scipy.special import ndtri

    if not n > 0:
        return NAN, NAN
    z2, share = ndtri((1 + level) / 2) ** 2, successes / n
    middle = (share + z2 / (2 * n)) / (1 + z2 / n)
    half = np.sqrt(z2 * (share * (1 - share) / n + z2 / (4 * n * n))) / (1 + z2 / n)
    return float(max(middle - half, 0)), float(min(middle + half, 1))


def t_quantile(level: float, df: float) -> float:
    """Return the two-sided t quantile for a coverage `level`."""
    from scipy.special import stdtrit

    if not 0 < level < 1:
        raise ValueError(f"level is {level}; give a coverage between 0 and 1, such as 0.95")
    return float(stdtrit(df, (1 + level) / 2))


def strata_of(queries: pd.DataFrame, strata: str | None) -> np.ndarray:
    """Return one integer a query for its stratum; a missing stratum is one of its own."""
    if strata is None:
        return np.zeros(len(queries), dtype=int)
    if strata not in queries:
        raise ValueError(f"queries have no column {strata!r}; name another or pass strata=None")
    return pd.factorize(queries[strata].astype(object).fillna(MISSING))[0]


def pooled_strata(strata: np.ndarray, sourced: np.ndarray) -> np.ndarray:
    """Pool the strata that have fewer than two queries with values: alone they show no spread."""
    size = np.bincount(strata, weights=sourced, minlength=int(strata.max()) + 1)
    lonely = size < 2
    if not lonely.any():
        return strata
    if size[lonely].sum() < 2 and (~lonely).any():
        lonely[np.flatnonzero(~lonely)[0]] = True
    return np.where(lonely[strata], size.size, strata)


def query_sums_of(
    frame: pd.DataFrame, column: str, queries: pd.DataFrame, limits: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray, np.ndarray]:
    """Return sum and number of values of each query asked, and the values themselves."""
    values = checked(frame, column, limits)
    code = query_codes(frame, queries)
    present = ~np.isnan(values)
    code, values = code[present], values[present]
    total = np.bincount(code, weights=values, minlength=len(queries))
    count = np.bincount(code, minlength=len(queries)).astype(float)
    return total, count, values


def query_codes(frame: pd.DataFrame, queries: pd.DataFrame) -> np.ndarray:
    """Return the position in `queries` of each row's query."""
    for table, name in ((frame, "frame"), (queries, "queries")):
        if "query_id" not in table:
            raise ValueError(f"the {name} table has no column 'query_id'")
    asked = pd.Index(queries["query_id"])
    if not asked.is_unique:
        twice = asked[asked.duplicated()][0]
        raise ValueError(f"queries name the query_id {twice!r} twice; keep one row a query")
    code = asked.get_indexer(frame["query_id"])
    if (code < 0).any():
        row = int(np.flatnonzero(code < 0)[0])
        name = frame["query_id"].iloc[row]
        raise ValueError(
            f"row {frame.index[row]!r}: query_id {name!r} is not among the queries asked; "
            "add it to queries or remove the row"
        )
    return code


def checked(frame: pd.DataFrame, column: str, limits: tuple[float, float]) -> np.ndarray:
    """Return a column as floats, refusing text, yes/no scores and values outside the scale."""
    if column not in frame:
        raise ValueError(f"the frame has no column {column!r}")
    series, low, high = frame[column], *limits
    yes_no = pd.api.types.is_bool_dtype(series) and limits != PROPORTION_LIMITS
    if yes_no or not pd.api.types.is_numeric_dtype(series):
        bad = pd.Series([_no_number(v) or yes_no for v in series], index=series.index, dtype=bool)
        problem = "is no number"
    else:
        bad, problem = pd.Series(False, index=series.index), ""
    if not bad.any():
        series = series.astype(float)
        bad, problem = (series < low) | (series > high), f"lies outside {low:g} to {high:g}"
    if bad.any():
        row = int(np.flatnonzero(bad)[0])
        raise ValueError(
            f"row {series.index[row]!r}, column {column!r}: {series.iloc[row]!r} {problem}; "
            "correct the value or leave it empty"
        )
    return series.to_numpy(dtype=float, na_value=np.nan)


def _no_number(value: object) -> bool:
    """Tell whether a cell holds something other than a number or nothing."""
    if isinstance(value, bool | np.bool_):
        return True
    return not (isinstance(value, int | float | np.number) or value is None or pd.isna(value))


def missing_bounds(
    frame: pd.DataFrame,
    column: str,
    *,
    limits: tuple[float, float] | None = None,
    systems: list[str] | None = None,
    source_outcomes: frozenset[str] = SOURCE_OUTCOMES,
    min_coverage: float = MIN_COVERAGE,
) -> pd.DataFrame:
    """Return, per system, the range of the mean that the lost rows allow (Manski bounds).

    Parameters
    ----------
    frame : DataFrame
        One row a source that should have been scored: ``system``, ``outcome`` and `column`.
    column : str
        The score.
    limits : (float, float), optional
        Ends of the scale; known for metrics and ``weighted``.
    systems : list of str, optional
        Every system expected, so that one without rows is listed with n 0.
    source_outcomes : set of str
        Outcomes that are the source's doing; all other lost rows are counted as ours.
    min_coverage : float
        Share of rows with a value under which a cell should not be shown.

    Returns
    -------
    DataFrame
        Indexed by system: value, n, expected, low, high, lost_to_us, lost_to_source, coverage,
        enough (coverage reaches `min_coverage`).
    """
    limits = limits or limits_of(column)
    values = checked(frame, column, limits)
    names = frame["system"].astype(object).fillna(MISSING)
    order = dict.fromkeys(systems if systems is not None else sorted(names.unique()))
    rows = {}
    for system in order:
        mine = (names == system).to_numpy()
        lost = frame.loc[mine & np.isnan(values)]
        theirs = int(lost["outcome"].isin(source_outcomes).sum()) if len(lost) else 0
        rows[system] = _bounds(values[mine], limits, theirs)
    table = pd.DataFrame(list(rows.values()), index=pd.Index(rows, name="system"), columns=_BOUNDS)
    return table.assign(enough=table["coverage"] >= min_coverage)


_BOUNDS = ["value", "n", "expected", "low", "high", "lost_to_us", "lost_to_source", "coverage"]


def _bounds(values: np.ndarray, limits: tuple[float, float], theirs: int) -> dict[str, float]:
    """Return the mean of the values present and the two means the absent ones allow."""
    lost, expected = int(np.isnan(values).sum()), values.size
    n, total = expected - lost, float(np.nansum(values))
    return {
        "value": total / n if n else NAN,
        "n": n,
        "expected": expected,
        "low": (total + lost * limits[0]) / expected if expected else NAN,
        "high": (total + lost * limits[1]) / expected if expected else NAN,
        "lost_to_us": lost - theirs,
        "lost_to_source": theirs,
        "coverage": n / expected if expected else 0.0,
    }
