"""Statistics of any number of sources in one pass, from integers that merge without loss.

A chunk of whole queries shrinks to sums of ``y``, ``n`` and their products over queries. Adding
two such states gives the state of both chunks bit for bit, and means, intervals and paired
differences follow exactly, as ratios of whole numbers.
"""

from collections.abc import Sequence
from fractions import Fraction
from typing import NamedTuple

import numpy as np

from sourcebench.rubric import WEIGHTS
from sourcebench.statistics.bootstrap import EXACT_FLOAT64, SCORES, QuerySums, unit_of
from sourcebench.statistics.intervals import (
    NAN,
    Estimate,
    limits_of,
    scale_interval,
    t_quantile,
    without_interval,
)


class Moments(NamedTuple):
    """Whole-number sums over queries, by stratum.

    Attributes
    ----------
    systems, columns : tuple of str
    queries : object array of shape (strata,)
        Queries asked.
    sourced, y, n : object arrays of shape (strata, columns, systems)
        Queries with values; sum of the values, in whole steps; number of values.
    yy, yn, nn : object arrays of shape (strata, columns, systems, systems)
        Sums over queries of ``y_j y_k``, ``y_j n_k`` and ``n_j n_k``.
    """

    systems: tuple[str, ...]
    columns: tuple[str, ...]
    queries: np.ndarray
    sourced: np.ndarray
    y: np.ndarray
    n: np.ndarray
    yy: np.ndarray
    yn: np.ndarray
    nn: np.ndarray


def reduce_sources(
    system: np.ndarray,
    query: np.ndarray,
    scores: np.ndarray,
    *,
    systems: Sequence[str],
    strata: np.ndarray,
) -> QuerySums:
    """Return the per-query sums of a chunk of sources held in plain arrays.

    Parameters
    ----------
    system, query : integer arrays of shape (sources,)
        Positions in `systems` and `strata`.
    scores : integer array of shape (sources, 8)
        The metrics in the order of the rubric, 1 to 5, and 0 where there is no score.
    systems : sequence of str
    strata : integer array of shape (queries,)
        Stratum of each query asked.
    """
    if scores.size and not 0 <= scores.min() <= scores.max() <= 5:
        raise ValueError("scores must be whole numbers 1 to 5, or 0 for no score")
    shape = (len(strata), len(systems))
    key, cells = query.astype(np.intp) * len(systems) + system, shape[0] * shape[1]
    total = np.empty((len(SCORES), cells), dtype=np.int64)
    count = np.empty_like(total)
    every = np.bincount(key, minlength=cells)
    full = (scores > 0).all(axis=1)
    whole = bool(full.all())
    for i in range(len(WEIGHTS)):
        total[i] = np.bincount(key, weights=scores[:, i], minlength=cells)
        count[i] = every if whole else np.bincount(key[scores[:, i] > 0], minlength=cells)
    weights = np.array(list(WEIGHTS.values()))
    if whole:
        total[-1], count[-1] = weights @ total[:-1], every
    else:
        total[-1] = np.bincount(key[full], weights=scores[full] @ weights, minlength=cells)
        count[-1] = np.bincount(key[full], minlength=cells)
    total, count = (a.T.reshape(*shape, len(SCORES)) for a in (total, count))
    return QuerySums(tuple(systems), SCORES, np.asarray(strata), total, count)


def add_sums(a: QuerySums, b: QuerySums) -> QuerySums:
    """Return the per-query sums of two chunks of sources of the same queries."""
    same = a.systems == b.systems and a.columns == b.columns
    if not (same and np.array_equal(a.strata, b.strata)):
        raise ValueError("the two sums name different systems, columns or queries")
    return a._replace(total=a.total + b.total, count=a.count + b.count)


def moments(sums: QuerySums, *, strata: int = 1) -> Moments:
    """Return the moments of a chunk that holds every source of its queries.

    Parameters
    ----------
    sums : QuerySums
        Sums of a chunk of whole queries.
    strata : int
        Number of strata in the whole study; ``sums.strata`` must lie below it.
    """
    if sums.strata.size and int(sums.strata.max()) >= strata:
        raise ValueError(f"a query has stratum {int(sums.strata.max())}, but strata={strata}")
    parts = []
    for stratum in range(strata):
        mine = sums.strata == stratum
        # (queries, systems, columns) -> (columns, systems, queries)
        y, n = sums.total[mine].transpose(2, 1, 0), sums.count[mine].transpose(2, 1, 0)
        sourced = np.count_nonzero(n, axis=2).astype(object)
        plain = (sourced, y.sum(axis=2).astype(object), n.sum(axis=2).astype(object))
        parts.append((int(mine.sum()), *plain, _product(y, y), _product(y, n), _product(n, n)))
    stacked = [np.array(part, dtype=object) for part in zip(*parts, strict=True)]
    return Moments(sums.systems, sums.columns, *stacked)


def _product(a: np.ndarray, b: np.ndarray) -> np.ndarray:
    """Return the exact product over queries, through floats only where they are exact."""
    bound = int(np.abs(a).max(initial=0)) * int(np.abs(b).max(initial=0)) * a.shape[-1]
    kind = np.float64 if bound < EXACT_FLOAT64 else object
    product = a.astype(kind) @ b.astype(kind).swapaxes(1, 2)
    return product.astype(np.int64).astype(object) if kind is np.float64 else product


def merge(a: Moments, b: Moments) -> Moments:
    """Return the moments of two disjoint sets of queries; the order of merging is immaterial."""
    if a[:2] != b[:2] or a.queries.shape != b.queries.shape:
        raise ValueError("the two moments name different systems, columns or strata")
    return Moments(*a[:2], *(x + y for x, y in zip(a[2:], b[2:], strict=True)))


def _position(m: Moments, system: str, column: str) -> tuple[int, int]:
    """Return the places of a column and a system."""
    if system not in m.systems or column not in m.columns:
        raise ValueError(f"no moments of {system!r} and {column!r}")
    return m.columns.index(column), m.systems.index(system)


def exact_covariance(m: Moments, column: str, system_a: str, system_b: str) -> Fraction:
    """Return the stratified CR1 covariance of two means, in whole steps, as a fraction.

    With one system twice this is the variance
    ``G/(G-1) (N^2 Sy2 - 2 Y N Syn + Y^2 Sn2) / N^4`` summed over strata.
    """
    c, j = _position(m, system_a, column)
    _, k = _position(m, system_b, column)
    numbers = [int(m.n[:, c, i].sum()) for i in (j, k)]
    if 0 in numbers:
        raise ValueError(f"{(system_a, system_b)[numbers.index(0)]!r} has no scores of {column!r}")
    mean_j, mean_k = (
        Fraction(int(m.y[:, c, i].sum()), number) for i, number in zip((j, k), numbers, strict=True)
    )
    variance = Fraction(0)
    for h, size in enumerate(m.queries):
        spread = m.yy[h, c, j, k] - mean_k * m.yn[h, c, j, k] - mean_j * m.yn[h, c, k, j]
        spread += mean_j * mean_k * m.nn[h, c, j, k]
        shift_j = m.y[h, c, j] - mean_j * m.n[h, c, j]
        shift_k = m.y[h, c, k] - mean_k * m.n[h, c, k]
        if size > 1:
            variance += (spread - shift_j * shift_k / size) * Fraction(size, size - 1)
    return variance / (numbers[0] * numbers[1])


def estimate(m: Moments, system: str, column: str, *, level: float = 0.95) -> Estimate:
    """Return the interval of `sourcebench.statistics.intervals.cluster_mean` from moments alone."""
    c, k = _position(m, system, column)
    n, clusters = int(m.n[:, c, k].sum()), int(m.sourced[:, c, k].sum())
    if n == 0:
        return without_interval(NAN, n, clusters, "no scored rows")
    unit = unit_of(column)
    mean = float(Fraction(int(m.y[:, c, k].sum()), n)) * unit
    df = clusters - int((m.sourced[:, c, k] > 0).sum())
    if df < 1:
        note = f"no interval: {clusters} queries in {clusters - df} strata"
        return without_interval(mean, n, clusters, note)
    se = float(exact_covariance(m, column, system, system)) ** 0.5 * unit
    return scale_interval(mean, se, n, clusters, df, limits_of(column), level)


def difference(
    m: Moments, column: str, system_a: str, system_b: str, *, level: float = 0.95
) -> Estimate:
    """Return the paired difference of two means from moments alone.

    The degrees of freedom are those of the queries asked; ``clusters`` counts them.
    """
    unit = unit_of(column)
    a, b = (estimate(m, name, column, level=level) for name in (system_a, system_b))
    n, clusters = a.n + b.n, int(m.queries.sum())
    df = clusters - int((m.queries > 0).sum())
    if not (a.n and b.n and df > 0):
        return without_interval(NAN, n, clusters, "not comparable")
    aa, bb = (exact_covariance(m, column, s, s) for s in (system_a, system_b))
    variance = aa + bb - 2 * exact_covariance(m, column, system_a, system_b)
    se, gap = float(variance) ** 0.5 * unit, a.value - b.value
    half = t_quantile(level, df) * se
    return Estimate(gap, gap - half, gap + half, se, n, n, clusters, df, "paired CR1 t", "")
