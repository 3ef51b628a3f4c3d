"""How metrics, systems and answers go together, with no more said than the data carry."""

from itertools import combinations, permutations
from math import factorial
from typing import NamedTuple

import numpy as np
import pandas as pd

from sourcebench.rubric import CODES
from sourcebench.statistics.intervals import MISSING, NAN, Estimate, t_quantile, without_interval
from sourcebench.statistics.ranks import Claim, holm

MOST_EXACT = 13  # half a second by halves; 14 pairs take twelve times as long
FEWEST_FOR_A_CLAIM = 5


class Pearson(NamedTuple):
    """A correlation over sources with an interval clustered by query.

    Attributes
    ----------
    r, low, high, p : float
    n, clusters : int
        Complete pairs of scores, and queries they come from.
    note : str
    """

    r: float
    low: float
    high: float
    p: float
    n: int
    clusters: int
    note: str


class SystemCorrelation(NamedTuple):
    """A correlation over a handful of systems, and whether it carries a sentence.

    Attributes
    ----------
    r, low, high : float
        Pearson correlation and its jackknife interval on the Fisher z scale, t with n - 1.
    p : float
        Exact two-sided permutation p-value, ties included; by t with more than 13 systems.
    spearman, spearman_p : float
        Rank correlation with its exact p-value.
    n : int
        Systems with both values.
    leave_one_out : (float, float)
        Smallest and largest r when any one system is left out.
    critical : float
        What |r| must exceed for p < 1 - level with n systems under normality.
    claim : Claim
    note : str
    """

    r: float
    low: float
    high: float
    p: float
    spearman: float
    spearman_p: float
    n: int
    leave_one_out: tuple[float, float]
    critical: float
    claim: Claim
    note: str


class Orders(NamedTuple):
    """How many of all orders correlate at least as strongly as the one observed."""

    two_sided: int
    greater: int
    total: int


# Metrics over sources


def metric_correlations(
    frame: pd.DataFrame, *, columns: tuple[str, ...] = CODES, level: float = 0.95
) -> pd.DataFrame:
    """Return the correlation of every pair of metrics, within, over and between systems.

    Within systems (each metric centred by system) is the headline: pooling mixes in how systems
    differ, which may point the other way.

    Parameters
    ----------
    frame : DataFrame
        One row a source: ``system``, ``query_id`` and the metrics.
    columns : tuple of str
        The metrics.
    level : float
        Coverage of the intervals.

    Returns
    -------
    DataFrame
        One row a pair: metric_a, metric_b, n, clusters, within, low, high, p, p_holm (over all
        pairs), pooled, pooled_low, pooled_high, between, systems, polychoric (with one correlation
        and each system's own thresholds), note. ``attrs["tests"]`` is the number of tests.
    """
    system = frame["system"].astype(object).fillna(MISSING).to_numpy()
    means = frame.groupby(system)[list(columns)].mean()
    rows = []
    for a, b in combinations(columns, 2):
        within = clustered_pearson(
            frame[a], frame[b], frame["query_id"], within=system, level=level
        )
        pooled = clustered_pearson(frame[a], frame[b], frame["query_id"], level=level)
        both = means[[a, b]].dropna()
        rows.append(
            {
                "metric_a": a,
                "metric_b": b,
                "n": within.n,
                "clusters": within.clusters,
                "within": within.r,
                "low": within.low,
                "high": within.high,
                "p": within.p,
                "pooled": pooled.r,
                "pooled_low": pooled.low,
                "pooled_high": pooled.high,
                "between": pearson(both[a], both[b]),
                "systems": len(both),
                "polychoric": polychoric(frame[a], frame[b], groups=system),
                "note": _cell_note(within, frame, a, b),
            }
        )
    table = pd.DataFrame(rows)
    table.insert(8, "p_holm", holm(table["p"].to_numpy()))
    table.attrs["tests"] = int(table["p"].notna().sum())
    return table


def _cell_note(result: Pearson, frame: pd.DataFrame, a: str, b: str) -> str:
    """Name the metric that is constant, in place of a cell's correlation."""
    if "constant" not in result.note:
        return result.note
    constant = [c for c in (a, b) if frame[c].nunique() < 2]
    side = " and ".join(constant) or "one side"
    return f"not defined ({side} {'are' if len(constant) == 2 else 'is'} constant)"


def clustered_pearson(
    x: pd.Series,
    y: pd.Series,
    clusters: pd.Series,
    *,
    within: np.ndarray | None = None,
    level: float = 0.95,
) -> Pearson:
    """Return Pearson's r with a linearised interval on the Fisher z scale, clustered by query.

    Parameters
    ----------
    x, y : Series of shape (sources,)
        Only complete pairs count.
    clusters : Series
        Query of each source.
    within : array, optional
        Group of each source; both sides are centred by group first.
    level : float
        Coverage; the quantile is that of t with (queries - 1) degrees of freedom.
    """
    x, y = (np.asarray(v, dtype=float) for v in (x, y))
    complete = ~(np.isnan(x) | np.isnan(y))
    x, y = x[complete], y[complete]
    code = pd.factorize(np.asarray(clusters)[complete])[0]
    n, g = x.size, int(code.max(initial=-1)) + 1
    blank = Pearson(NAN, NAN, NAN, NAN, n, g, "")
    if n < 3:
        return blank._replace(note=f"not defined ({n} complete pairs)")
    if within is not None:
        group = pd.factorize(np.asarray(within)[complete])[0]
        x, y = _centred(x, group), _centred(y, group)
    r = pearson(x, y)
    if np.isnan(r):
        return blank._replace(note="not defined (one side is constant)")
    if 1 - abs(r) < 1e-12 or g < 3:
        reason = "perfect" if g >= 3 else f"{g} queries"
        return blank._replace(r=r, note=f"no interval ({reason})")
    error = _linearised_error(x, y, r, code)
    half = t_quantile(level, g - 1) * error
    return Pearson(
        r,
        float(np.tanh(np.arctanh(r) - half)),
        float(np.tanh(np.arctanh(r) + half)),
        _two_sided(np.arctanh(r) / error, g - 1),
        n,
        g,
        "",
    )


def _centred(values: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Subtract each group's mean."""
    size = np.bincount(group)
    return values - (np.bincount(group, weights=values) / size)[group]


def _linearised_error(x: np.ndarray, y: np.ndarray, r: float, code: np.ndarray) -> float:
    """Return the standard error of Fisher's z from the influence of each query."""
    zx, zy = ((v - v.mean()) / v.std() for v in (x, y))
    influence = np.bincount(code, weights=zx * zy - r / 2 * (zx**2 + zy**2))
    g = influence.size
    return float(np.sqrt(g / (g - 1) * (influence**2).sum()) / x.size / (1 - r**2))


def _two_sided(t: float, df: int) -> float:
    """Return the two-sided p-value of a t statistic."""
    from scipy.special import stdtr

    return float(2 * stdtr(df, -abs(t)))


def pearson(x: np.ndarray, y: np.ndarray) -> float:
    """Return Pearson's r of complete pairs; NaN when a side is constant or n < 2."""
    x, y = (np.asarray(v, dtype=float) for v in (x, y))
    if x.size < 2:
        return NAN
    dx, dy = x - x.mean(), y - y.mean()
    scale = np.sqrt((dx @ dx) * (dy @ dy))
    # Centring leaves rounding dust where a side is constant.
    dust = 1e-12 * x.size * max(np.abs(x).max() * np.sqrt(dy @ dy), 1e-300)
    if scale <= dust or np.ptp(x) == 0 or np.ptp(y) == 0:
        return NAN
    return float(np.clip(dx @ dy / scale, -1, 1))


# Latent correlation of two ordinal scores


def polychoric(x: pd.Series, y: pd.Series, *, groups: np.ndarray | None = None) -> float:
    """Return the correlation of the normal variables behind two ordinal scores.

    Two steps (Olsson 1979): thresholds from the margins, then the likelihood of the tables. Unlike
    Pearson's r it does not shrink when scores pile up at the top of the scale.

    Parameters
    ----------
    x, y : Series
        Ordinal scores; only complete pairs count.
    groups : array, optional
        Group of each pair; each has thresholds of its own, and all share one correlation.

    Returns
    -------
    float
        NaN when a side is constant in every group.
    """
    from scipy.optimize import minimize_scalar

    x, y = (np.asarray(v, dtype=float) for v in (x, y))
    complete = ~(np.isnan(x) | np.isnan(y))
    group = np.zeros(x.size) if groups is None else np.asarray(groups)
    tables = _tables(x[complete], y[complete], group[complete])
    if not len(tables):
        return NAN
    rows, columns = _thresholds(tables.sum(axis=2)), _thresholds(tables.sum(axis=1))

    def negative_log_likelihood(rho: float) -> float:
        corner = bivariate_normal_cdf(rows[:, :, None], columns[:, None, :], rho)
        cell = np.diff(np.diff(corner, axis=1), axis=2)
        return -float((tables * np.log(np.maximum(cell, 1e-300))).sum())

    return float(minimize_scalar(negative_log_likelihood, bounds=(-0.9999, 0.9999)).x)


def _tables(x: np.ndarray, y: np.ndarray, group: np.ndarray) -> np.ndarray:
    """Return the contingency table of each group in which neither side is constant."""
    (levels_x, x), (levels_y, y), (groups, g) = (
        np.unique(v, return_inverse=True) for v in (x, y, group.astype(str))
    )
    shape = (groups.size, levels_x.size, levels_y.size)
    code = np.ravel_multi_index((g, x, y), shape) if x.size else np.zeros(0, dtype=np.intp)
    tables = np.bincount(code, minlength=np.prod(shape)).reshape(shape)
    spread = [np.count_nonzero(tables.sum(axis=axis), axis=1) > 1 for axis in (1, 2)]
    return tables[spread[0] & spread[1]]


def _thresholds(margin: np.ndarray) -> np.ndarray:
    """Return the normal thresholds of each group's margin, open ends included."""
    from scipy.special import ndtri

    share = np.cumsum(margin, axis=1) / margin.sum(axis=1, keepdims=True)
    # Nine standard deviations stand for infinity without a product of inf and 0.
    cuts = np.clip(ndtri(np.clip(share, 0, 1)), -9, 9)
    return np.concatenate([np.full((len(cuts), 1), -9.0), cuts], axis=1)


def bivariate_normal_cdf(h: np.ndarray, k: np.ndarray, rho: float) -> np.ndarray:
    """Return P(X < h, Y < k) of standard normals with correlation `rho`.

    Gauss-Legendre quadrature of Plackett's identity over ``asin(rho)`` (Drezner and Wesolowsky
    1990), with 48 nodes.
    """
    from scipy.special import ndtr

    h, k = np.broadcast_arrays(np.asarray(h, dtype=float), np.asarray(k, dtype=float))
    node, weight = np.polynomial.legendre.leggauss(48)
    angle = np.arcsin(rho) * (node + 1) / 2
    sine = np.sin(angle)
    hk, squares = (h * k)[..., None], (h * h + k * k)[..., None]
    density = np.exp(-(squares - 2 * hk * sine) / (2 * (1 - sine**2)))
    return ndtr(h) * ndtr(k) + density @ weight * np.arcsin(rho) / (4 * np.pi)


# Correlations over systems


def system_correlation(x: pd.Series, y: pd.Series, *, level: float = 0.95) -> SystemCorrelation:
    """Return the correlation of two numbers a system, and whether it carries a sentence.

    Parameters
    ----------
    x, y : Series
        One value a system, in the same order or indexed alike; only complete pairs count.
    level : float
        Coverage; a claim needs |r| above the critical value in every fit that leaves one system
        out, all with one sign.

    Returns
    -------
    SystemCorrelation
    """
    x, y, n = _complete(x, y)
    r = pearson(x, y)
    blank = SystemCorrelation(
        r, NAN, NAN, NAN, NAN, NAN, n, (NAN, NAN), critical_r(n, level), Claim(False, ""), ""
    )
    if np.isnan(r):
        side = "one side is constant" if n > 1 else f"n = {n}"
        reason = f"not defined ({side})"
        return blank._replace(note=reason, claim=Claim(False, reason))
    rank_x, rank_y = (pd.Series(v).rank().to_numpy() for v in (x, y))
    low, high, note = jackknife_interval(x, y, level)
    left_out = _leave_one_out(x, y)
    some = left_out[~np.isnan(left_out)]
    span = (float(some.min()), float(some.max())) if some.size else (NAN, NAN)
    return blank._replace(
        low=low,
        high=high,
        p=permutation_p(x, y),
        spearman=pearson(rank_x, rank_y),
        spearman_p=permutation_p(rank_x, rank_y),
        leave_one_out=span,
        claim=_claim(n, left_out, blank.critical),
        note=note,
    )


def _complete(x: pd.Series, y: pd.Series) -> tuple[np.ndarray, np.ndarray, int]:
    """Return the pairs in which both sides have a value, and their number."""
    if isinstance(x, pd.Series) and isinstance(y, pd.Series) and not x.index.equals(y.index):
        x, y = x.align(y, join="outer")
    x, y = (np.asarray(v, dtype=float) for v in (x, y))
    if x.shape != y.shape:
        raise ValueError(f"x has {x.size} values and y {y.size}; give one of each a system")
    complete = ~(np.isnan(x) | np.isnan(y))
    return x[complete], y[complete], int(complete.sum())


def _leave_one_out(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return r with each pair left out in turn."""
    return np.array([pearson(np.delete(x, i), np.delete(y, i)) for i in range(x.size)])


def jackknife_interval(
    x: np.ndarray, y: np.ndarray, level: float = 0.95
) -> tuple[float, float, str]:
    """Return the jackknife interval on Fisher's z, t with n - 1, or the reason why there is none."""
    r, left_out, n = pearson(x, y), _leave_one_out(x, y), x.size
    if n < 4 or np.isnan(left_out).any() or (1 - np.abs([r, *left_out]) < 1e-12).any():
        return NAN, NAN, f"no interval (n = {n})" if n < 4 else "no interval (a fit is perfect)"
    z = np.arctanh(left_out)
    error = np.sqrt((n - 1) / n * ((z - z.mean()) ** 2).sum())
    half = t_quantile(level, n - 1) * error
    return float(np.tanh(np.arctanh(r) - half)), float(np.tanh(np.arctanh(r) + half)), ""


def _claim(n: int, left_out: np.ndarray, critical: float) -> Claim:
    """Say whether a correlation over systems holds whichever system is left out."""
    if n < FEWEST_FOR_A_CLAIM:
        return Claim(False, f"no claim: {n} systems")
    weakest = float(np.min(np.abs(left_out))) if not np.isnan(left_out).any() else 0.0
    one_sign = bool((left_out > 0).all() or (left_out < 0).all())
    if one_sign and weakest > critical:
        return Claim(True, f"|r| stays above {critical:.3f} whichever system is left out")
    return Claim(False, f"no claim: |r| falls to {weakest:.3f} without one system, "
                        f"and {critical:.3f} is needed with {n}")  # fmt: skip


def critical_r(n: int, level: float = 0.95) -> float:
    """Return what |r| of n pairs must exceed for a two-sided p below 1 - level."""
    if n < 3:
        return NAN
    t = t_quantile(level, n - 2)
    return float(t / np.sqrt(n - 2 + t * t))


def permutation_p(x: np.ndarray, y: np.ndarray) -> float:
    """Return the two-sided permutation p-value: exact up to 13 pairs, by t beyond."""
    r, n = pearson(x, y), len(x)
    if np.isnan(r) or n < 3:
        return NAN
    if n <= MOST_EXACT:
        orders = exact_orders(x, y)
        return orders.two_sided / orders.total
    return 0.0 if abs(r) == 1 else _two_sided(r * np.sqrt((n - 2) / (1 - r * r)), n - 2)


def exact_orders(x: np.ndarray, y: np.ndarray) -> Orders:
    """Count the orders of `y` whose covariance with `x` reaches the observed one.

    Meet in the middle: for every choice of the values that meet the first half of `x`, the sums of
    one half are sorted and those of the other looked up, so n! orders take about
    ``n! / ((n/2)!)`` steps.

    Parameters
    ----------
    x, y : arrays of shape (n,)
        At most 13 pairs.

    Returns
    -------
    Orders
        Equal sums count as reaching.
    """
    x, y = (np.asarray(v, dtype=float) - np.mean(v) for v in (x, y))
    n, half = x.size, x.size // 2
    if n > MOST_EXACT:
        raise ValueError(f"{n} pairs are too many to count every order; {MOST_EXACT} are the most")
    observed = float(x @ y)
    slack = 1e-9 * max(float(np.abs(x) @ np.abs(y)), np.finfo(float).tiny)
    first_order, second_order = _orders(half), _orders(n - half)
    reached = {"above": 0, "below": 0, "greater": 0}
    for chosen in combinations(range(n), half):
        mask = np.zeros(n, dtype=bool)
        mask[list(chosen)] = True
        first = y[mask][first_order] @ x[:half]
        second = np.sort(y[~mask][second_order] @ x[half:])
        bar = abs(observed)
        reached["above"] += _count_from(second, bar - slack - first)
        reached["below"] += int(np.searchsorted(second, slack - bar - first, side="right").sum())
        reached["greater"] += _count_from(second, observed - slack - first)
    total = factorial(n)
    two_sided = total if abs(observed) <= slack else reached["above"] + reached["below"]
    return Orders(two_sided, reached["greater"], total)


def _orders(n: int) -> np.ndarray:
    """Return every order of n places, of shape (n!, n)."""
    return np.array(list(permutations(range(n))), dtype=np.intp).reshape(factorial(n), n)


def _count_from(ordered: np.ndarray, bars: np.ndarray) -> int:
    """Count the pairs of a bar and an entry of `ordered` that reaches it."""
    return int(ordered.size * bars.size - np.searchsorted(ordered, bars, side="left").sum())


# Answers and sources


def answer_source_cells(
    sources: pd.DataFrame, answers: pd.DataFrame, measure: str, *, column: str = "weighted"
) -> pd.DataFrame:
    """Return one row a system and query with its answer score and its mean source score.

    Parameters
    ----------
    sources : DataFrame
        One row a source: ``system``, ``query_id`` and `column`.
    answers : DataFrame
        ``system``, ``query_id``, ``measure`` and ``value``, one row a run.
    measure : str
        Which measure of the answers.
    column : str
        Which score of the sources.

    Returns
    -------
    DataFrame
        system, query_id, answer, source; NaN where one of the two is absent.
    """
    keys = ["system", "query_id"]
    answer = answers[answers["measure"] == measure].groupby(keys)["value"].mean()
    source = sources.groupby(keys)[column].mean()
    cells = pd.concat({"answer": answer, "source": source}, axis=1)
    return cells.rename_axis(keys).reset_index()


def fixed_effects_slope(cells: pd.DataFrame, *, level: float = 0.95) -> Estimate:
    """Return how the answer score moves with the source score, question and system held fixed.

    Two-way fixed effects over (question, system) cells, clustered by question: what makes a whole
    system better at both, or a whole question easier, cancels out.

    Parameters
    ----------
    cells : DataFrame
        system, query_id, answer, source; incomplete cells are left out and counted.
    level : float
        Coverage; t with (questions - 1) degrees of freedom.

    Returns
    -------
    Estimate
        Change of the answer score per point of the source score.
    """
    complete = cells.dropna(subset=["answer", "source"])
    groups = pd.factorize(complete["query_id"])[0]
    n, questions = len(complete), int(groups.max(initial=-1)) + 1
    keys = complete[["query_id", "system"]].astype(object).fillna(MISSING)
    effects = pd.get_dummies(keys, dtype=float).to_numpy()
    rank = int(np.linalg.matrix_rank(effects)) if n else 0
    answer, source = (_without(effects, complete[c].to_numpy(float)) for c in ("answer", "source"))
    spread = source @ source
    if questions < 3 or n <= rank + 1 or spread <= 1e-12 * (complete["source"] ** 2).sum():
        note = f"not defined: {n} cells of {questions} questions leave no variation"
        return without_interval(NAN, n, questions, note)._replace(expected=len(cells))
    slope = float(source @ answer / spread)
    score = np.bincount(groups, weights=source * (answer - slope * source))
    correction = questions / (questions - 1) * (n - 1) / (n - rank - 1)
    error = float(np.sqrt(correction * score @ score) / spread)
    half = t_quantile(level, questions - 1) * error
    method = "two-way fixed effects, clustered by question"
    ends = (slope - half, slope + half)
    return Estimate(slope, *ends, error, n, len(cells), questions, questions - 1, method, "")


def _without(effects: np.ndarray, values: np.ndarray) -> np.ndarray:
    """Return what the fixed effects leave of a column (Frisch, Waugh and Lovell)."""
    return values - effects @ np.linalg.lstsq(effects, values, rcond=None)[0]
