"""The cluster bootstrap over queries, from per-query sums, as one matrix product.

A resample of queries is a row of counts, so 10,000 resamples of every mean are the product of a
(resamples x queries) matrix with a (queries x columns) matrix of integer sums: exact, and
independent of the number of sources. The closed-form intervals and the comparisons that tables
print are importable from here too.
"""

from typing import Literal, NamedTuple

import numpy as np
import pandas as pd

from sourcebench.rubric import CODES
from sourcebench.statistics.intervals import (
    MISSING,
    NAN,
    Estimate,
    checked,
    cluster_mean,
    limits_of,
    macro_mean,
    missing_bounds,
    pooled_strata,
    query_codes,
    ratio_estimate,
    strata_of,
    weighted_score,
)
from sourcebench.statistics.ranks import (
    Claim,
    best_claim,
    compare_all,
    holm,
    influences,
    interval_classes,
    paired_difference,
    rank_sets,
    shared_queries,
)

__all__ = [
    "Claim",
    "Estimate",
    "QuerySums",
    "best_claim",
    "bootstrap_intervals",
    "closed_form",
    "cluster_mean",
    "compare_all",
    "holm",
    "interval_classes",
    "macro_mean",
    "max_t",
    "missing_bounds",
    "paired_difference",
    "query_sums",
    "rank_sets",
    "resample_counts",
    "resampled_sums",
    "shared_queries",
    "weighted_score",
]

SCORES = (*CODES, "weighted")
EXACT_FLOAT32 = 1 << 24
EXACT_FLOAT64 = 1 << 53


class QuerySums(NamedTuple):
    """Integer sums of scores per query, system and column: all that inference needs.

    Attributes
    ----------
    systems, columns : tuple of str
    strata : integer array of shape (queries,)
    total, count : int64 arrays of shape (queries, systems, columns)
        Sum of the scores present, and their number. ``weighted`` is summed as its integer
        numerator W of ``100 W / 95``.
    """

    systems: tuple[str, ...]
    columns: tuple[str, ...]
    strata: np.ndarray
    total: np.ndarray
    count: np.ndarray


def unit_of(column: str) -> float:
    """Return what one integer step of a column's sums is worth on its own scale."""
    return 100.0 / 95.0 if column == "weighted" else 1.0


def query_sums(
    frame: pd.DataFrame,
    queries: pd.DataFrame,
    *,
    columns: tuple[str, ...] = SCORES,
    systems: list[str] | None = None,
    strata: str | None = "category",
    limits: tuple[float, float] | None = None,
) -> QuerySums:
    """Return the integer sums of each column per query and system.

    Parameters
    ----------
    frame : DataFrame
        One row a source: ``system``, ``query_id`` and the columns; NaN is missing.
    queries : DataFrame
        Every query asked, with ``query_id`` and the stratum column.
    columns : tuple of str
        What to sum; each must hold whole numbers, except ``weighted``.
    systems : list of str, optional
        Every system, in order; by default those in `frame`, sorted.
    strata, limits
        As in `sourcebench.statistics.intervals.cluster_mean`.
    """
    names = frame["system"].astype(object).fillna(MISSING)
    order = list(dict.fromkeys(sorted(names) if systems is None else systems))
    code = query_codes(frame, queries) * len(order) + pd.Index(order).get_indexer(names)
    cells = len(queries) * len(order)
    shape = (len(queries), len(order), len(columns))
    total, count = np.zeros(shape, dtype=np.int64), np.zeros(shape, dtype=np.int64)
    for i, column in enumerate(columns):
        steps, present = _whole_steps(frame, column, limits or limits_of(column))
        sums = np.bincount(code[present], weights=steps[present], minlength=cells)
        total[..., i] = sums.reshape(shape[:2])
        count[..., i] = np.bincount(code[present], minlength=cells).reshape(shape[:2])
    return QuerySums(tuple(order), tuple(columns), strata_of(queries, strata), total, count)


def _whole_steps(
    frame: pd.DataFrame, column: str, limits: tuple[float, float]
) -> tuple[np.ndarray, np.ndarray]:
    """Return a column in whole steps of its scale, and where it has a value."""
    values = checked(frame, column, limits) / unit_of(column)
    present = ~np.isnan(values)
    steps = np.rint(np.where(present, values, 0.0))
    if np.abs(np.where(present, values, 0.0) - steps).max(initial=0.0) > 1e-6:
        raise ValueError(f"column {column!r} holds fractions; the bootstrap sums whole scores")
    return steps, present


def closed_form(sums: QuerySums, *, level: float = 0.95) -> pd.DataFrame:
    """Return the stratified logit CR1 t interval of every system and column.

    Returns
    -------
    DataFrame
        One row a system and column: system, column, then the fields of `Estimate`.
    """
    rows = []
    for k, system in enumerate(sums.systems):
        for c, column in enumerate(sums.columns):
            total = sums.total[:, k, c] * unit_of(column)
            limits = limits_of(column)
            estimate = ratio_estimate(total, sums.count[:, k, c], sums.strata, limits, level=level)
            rows.append({"system": system, "column": column, **estimate._asdict()})
    return pd.DataFrame(rows)


def resample_counts(
    strata: np.ndarray, resamples: int, rng: np.random.Generator, dtype: type = np.float64
) -> np.ndarray:
    """Return how often each query is drawn, of shape (resamples, queries), within its stratum."""
    counts = np.empty((resamples, strata.size), dtype=dtype)
    for stratum in np.unique(strata):
        place = np.flatnonzero(strata == stratum)
        drawn = rng.integers(0, place.size, size=(resamples, place.size))
        drawn += np.arange(resamples)[:, None] * place.size
        flat = np.bincount(drawn.ravel(), minlength=resamples * place.size)
        counts[:, place] = flat.reshape(resamples, place.size)
    return counts


def resampled_sums(table: np.ndarray, counts: np.ndarray) -> np.ndarray:
    """Return the sums of the integer `table` (queries x columns) in each resample, transposed.

    The product runs in the narrowest float that holds every partial sum exactly.
    """
    largest = int(np.abs(table).max(initial=0)) * table.shape[0]
    if largest >= EXACT_FLOAT64:
        raise ValueError("the sums are too large to be exact; use sourcebench.statistics.moments")
    kind = np.float32 if largest < EXACT_FLOAT32 else np.float64
    return table.T.astype(kind) @ counts.T.astype(kind, copy=False)


def bootstrap_intervals(
    sums: QuerySums,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    level: float = 0.95,
    kind: Literal["percentile", "t"] = "percentile",
    largest: int = 250,
) -> pd.DataFrame:
    """Return the cluster-bootstrap interval of every system and column.

    Parameters
    ----------
    sums : QuerySums
        What `query_sums` returns.
    rng : numpy Generator
        Source of the resamples.
    resamples : int
        Number of resamples of the queries.
    level : float
        Coverage.
    kind : "percentile" or "t"
        ``t`` divides by each resample's own standard error, kept from falling under a fiftieth of
        the sample's.
    largest : int
        With more queries than this resampling changes nothing, and the closed form is returned.

    Returns
    -------
    DataFrame
        One row a system and column: system, column, value, low, high, method.
    """
    if kind not in ("percentile", "t"):
        raise ValueError(f"kind must be 'percentile' or 't', but {kind!r} was passed")
    if sums.strata.size > largest:
        return closed_form(sums, level=level)[_INTERVAL]
    counts = resample_counts(sums.strata, resamples, rng, np.float32)
    if kind == "percentile":
        low, high = _percentile_ends(sums, counts, level)
    else:
        low, high = _studentised_ends(sums, counts.astype(np.float64), level)
    limits = np.array([limits_of(column) for column in sums.columns] * len(sums.systems))
    return pd.DataFrame(
        {
            "system": np.repeat(sums.systems, len(sums.columns)),
            "column": list(sums.columns) * len(sums.systems),
            "value": _means(sums),
            "low": np.clip(low.ravel(), *limits.T),
            "high": np.clip(high.ravel(), *limits.T),
            "method": "cluster percentile" if kind == "percentile" else "cluster bootstrap-t",
        }
    )


def _means(sums: QuerySums) -> np.ndarray:
    """Return the mean of every system and column, one after the other."""
    with np.errstate(invalid="ignore"):
        means = sums.total.sum(axis=0) / sums.count.sum(axis=0)
    return (means * [unit_of(column) for column in sums.columns]).ravel()


_INTERVAL = ["system", "column", "value", "low", "high", "method"]


def _percentile_ends(
    sums: QuerySums, counts: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return the two percentiles of every resampled mean."""
    cells = sums.total.shape[1] * sums.total.shape[2]
    # Without missing scores the counts of a system's columns are one and the same.
    number, place = np.unique(sums.count.reshape(-1, cells), axis=1, return_inverse=True)
    table = np.concatenate([sums.total.reshape(-1, cells), number], axis=1)
    drawn = resampled_sums(table, counts)
    with np.errstate(invalid="ignore"):
        means = drawn[:cells] / drawn[cells:].astype(np.float64)[place.ravel()]
    ends = tail_quantiles(means, level)
    unit = np.tile([unit_of(column) for column in sums.columns], len(sums.systems))
    return ends[0] * unit, ends[1] * unit


def tail_quantiles(draws: np.ndarray, level: float) -> np.ndarray:
    """Return the lower and upper tail quantile of each row, over the draws that exist."""
    tails = [(1 - level) / 2, (1 + level) / 2]
    holes = np.isnan(draws).any(axis=1)
    ends = np.full((2, len(draws)), NAN)
    ends[:, ~holes] = np.quantile(draws[~holes], tails, axis=1, overwrite_input=True)
    for row in np.flatnonzero(holes):
        present = draws[row][~np.isnan(draws[row])]
        if present.size:
            ends[:, row] = np.quantile(present, tails)
    return ends


def _studentised_ends(
    sums: QuerySums, counts: np.ndarray, level: float
) -> tuple[np.ndarray, np.ndarray]:
    """Return bootstrap-t ends, one system at a time to stay in the cache."""
    unit = np.array([unit_of(column) for column in sums.columns])
    ends = np.empty((2, *sums.total.shape[1:]))
    for k in range(len(sums.systems)):
        total, count = sums.total[:, k].astype(float), sums.count[:, k].astype(float)
        mean, se = _ratio_and_se(total, count, sums.strata, np.ones((1, len(total))))
        drawn, drawn_se = _ratio_and_se(total, count, sums.strata, counts)
        with np.errstate(invalid="ignore", divide="ignore"):
            t = (drawn - mean) / np.maximum(drawn_se, 0.02 * se)
        quantile = tail_quantiles(t, level)
        ends[:, k] = (mean.ravel() - quantile[::-1] * se.ravel()) * unit
    return ends[0], ends[1]


def _ratio_and_se(
    total: np.ndarray, count: np.ndarray, strata: np.ndarray, weights: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return mean and standard error of each column (rows) in each weighting (columns)."""
    moments = np.stack([total, count, total**2, total * count, count**2])
    groups = [np.flatnonzero(strata == h) for h in np.unique(strata)]
    parts = [np.einsum("mqc->mcq", moments[:, g]) @ weights[:, g].T for g in groups]
    number = sum(part[1] for part in parts)
    with np.errstate(invalid="ignore", divide="ignore"):
        mean = sum(part[0] for part in parts) / number
        variance = np.zeros_like(mean)
        for group, (y, n, yy, yn, nn) in zip(groups, parts, strict=True):
            size = group.size
            spread = yy - 2 * mean * yn + mean**2 * nn - (y - mean * n) ** 2 / size
            variance += np.maximum(spread, 0) * size / max(size - 1, 1)
        return mean, np.sqrt(variance) / number


def max_t(
    frame: pd.DataFrame,
    column: str,
    queries: pd.DataFrame,
    *,
    rng: np.random.Generator,
    resamples: int = 10_000,
    systems: list[str] | None = None,
    limits: tuple[float, float] | None = None,
    level: float = 0.95,
    strata: str | None = "category",
) -> pd.DataFrame:
    """Return `compare_all` with step-down max-T adjusted p and simultaneous intervals.

    The largest studentised difference over all pairs is resampled by query (Romano and Wolf 2005),
    so the adjustment knows how strongly the pairs hang together.

    Returns
    -------
    DataFrame
        The columns of `compare_all`, and p_max_t, low_max_t, high_max_t.
    """
    table = compare_all(
        frame, column, queries, systems=systems, limits=limits, level=level, strata=strata
    )
    tested = (table["se"] > 0).to_numpy()
    result = table.assign(p_max_t=NAN, low_max_t=NAN, high_max_t=NAN)
    if not tested.any():
        return result
    pairs = table.loc[tested]
    each = influences(frame, column, queries, limits=limits)
    gap = np.stack(
        [each[a] - each[b] for a, b in zip(pairs["system_a"], pairs["system_b"], strict=True)],
        axis=1,
    )
    everyone = np.ones(len(queries), dtype=bool)
    code = pooled_strata(strata_of(queries, strata), everyone)
    drawn = _studentised_gaps(gap, code, pairs["se"].to_numpy(), resamples, rng)
    observed = np.abs(pairs["difference"] / pairs["se"]).to_numpy()
    critical = np.quantile(drawn.max(axis=0), level)
    result.loc[tested, "p_max_t"] = step_down(observed, drawn)
    result.loc[tested, "low_max_t"] = pairs["difference"] - critical * pairs["se"]
    result.loc[tested, "high_max_t"] = pairs["difference"] + critical * pairs["se"]
    return result


def _studentised_gaps(
    gap: np.ndarray, strata: np.ndarray, se: np.ndarray, resamples: int, rng: np.random.Generator
) -> np.ndarray:
    """Return |t| of every pair (rows) in every resample (columns), of influence values."""
    counts = resample_counts(strata, resamples, rng)
    shift, variance = 0.0, 0.0
    for stratum in np.unique(strata):
        place = np.flatnonzero(strata == stratum)
        weights, values = counts[:, place].T, gap[place]
        first, second = values.T @ weights, (values**2).T @ weights
        shift = shift + first
        correction = place.size / max(place.size - 1, 1)
        variance = variance + correction * np.maximum(second - first**2 / place.size, 0)
    shift = shift - gap.sum(axis=0)[:, None]
    return np.abs(shift) / np.maximum(np.sqrt(variance), 0.02 * se[:, None])


def step_down(observed: np.ndarray, drawn: np.ndarray) -> np.ndarray:
    """Return step-down adjusted p-values of `observed` statistics from joint draws (rows)."""
    order = np.argsort(-observed, kind="stable")
    largest = np.maximum.accumulate(drawn[order[::-1]], axis=0)[::-1]
    reached = (largest >= observed[order, None]).sum(axis=1)
    adjusted = np.empty(observed.size)
    adjusted[order] = np.maximum.accumulate((1 + reached) / (1 + drawn.shape[1]))
    return adjusted
