"""Which differences between systems the queries support, and which ranks follow from them.

Two systems are compared on the same queries: ``D_q = u_qj / N_j - u_qk / N_k``. All pairs are
adjusted together, and a system's rank is the set of places that no test rules out.
"""

from collections.abc import Callable
from itertools import combinations
from typing import NamedTuple

import numpy as np
import pandas as pd

from sourcebench.statistics.intervals import (
    MISSING,
    NAN,
    Estimate,
    limits_of,
    missing_bounds,
    pooled_strata,
    query_sums_of,
    strata_of,
    stratified_variance,
    t_quantile,
)


class Claim(NamedTuple):
    """Whether a sentence may be printed, and why or why not."""

    holds: bool
    reason: str


def paired_difference(
    frame: pd.DataFrame,
    column: str,
    system_a: str,
    system_b: str,
    queries: pd.DataFrame,
    *,
    limits: tuple[float, float] | None = None,
    level: float = 0.95,
    strata: str | None = "category",
    min_clusters: int = 3,
    min_shared: float = 0.5,
) -> Estimate:
    """Return the mean of `system_a` minus that of `system_b`, paired by query.

    Parameters
    ----------
    frame : DataFrame
        One row a source: ``system``, ``query_id`` and `column`.
    column : str
        The score.
    system_a, system_b : str
        The two systems.
    queries : DataFrame
        Every query asked, with ``query_id`` and the stratum column.
    limits, level, strata, min_clusters
        As in `sourcebench.statistics.intervals.cluster_mean`.
    min_shared : float
        Of the queries in which one of the two has values, the share in which both must.

    Returns
    -------
    Estimate
        The value is the difference of the two means over sources; ``clusters`` counts the queries
        in which both have values. When those are too few the two are not comparable, and ``note``
        says so; `shared_queries` restricts a frame to the queries that all systems share.
    """
    limits = limits or limits_of(column)
    sides = [_side(frame, column, name, queries, limits) for name in (system_a, system_b)]
    return _paired(*sides, strata_of(queries, strata), level, min_clusters, min_shared)


def shared_queries(frame: pd.DataFrame, column: str) -> pd.DataFrame:
    """Return the rows of the queries in which every system has a value of `column`."""
    scored = frame[frame[column].notna()]
    systems = scored.groupby("query_id")["system"].nunique()
    complete = systems.index[systems == frame["system"].nunique()]
    return frame[frame["query_id"].isin(complete)]


class _Side(NamedTuple):
    """What a comparison needs to know of one system."""

    mean: float
    influence: np.ndarray
    count: np.ndarray
    expected: int


def _side(
    frame: pd.DataFrame, column: str, system: str, queries: pd.DataFrame, limits: tuple
) -> _Side:
    """Return mean, influence per query and counts of one system."""
    mine = frame[frame["system"].astype(object).fillna(MISSING) == system]
    total, count, _ = query_sums_of(mine, column, queries, limits)
    n = count.sum()
    mean = total.sum() / n if n else NAN
    influence = (total - mean * count) / n if n else np.zeros_like(total)
    return _Side(float(mean), influence, count, len(mine))


def _paired(
    a: _Side,
    b: _Side,
    strata: np.ndarray,
    level: float,
    min_clusters: int,
    min_shared: float,
) -> Estimate:
    """Return the paired difference of two sides."""
    either, both = (a.count > 0) | (b.count > 0), (a.count > 0) & (b.count > 0)
    union, shared = int(either.sum()), int(both.sum())
    n, expected = int(a.count.sum() + b.count.sum()), a.expected + b.expected
    blank = Estimate(NAN, NAN, NAN, NAN, n, expected, shared, 0, "none", "")
    if shared < max(min_clusters, min_shared * union):
        return blank._replace(note=f"not comparable: {shared} of {union} queries have both")
    pooled = pooled_strata(strata, either)
    df = union - np.unique(pooled[either]).size
    se = float(np.sqrt(stratified_variance(a.influence - b.influence, pooled)))
    known = blank._replace(value=a.mean - b.mean, df=df)
    if se < 1e-13:
        return known._replace(se=0.0, note="no spread in the differences between queries")
    half = t_quantile(level, df) * se
    note = f"{union - shared} queries have values of only one of the two" * (union > shared)
    method = "paired CR1 t"
    ends = {"low": known.value - half, "high": known.value + half}
    return known._replace(**ends, se=se, method=method, note=note)


def p_value(estimate: Estimate) -> float:
    """Return the two-sided p-value of an estimate against zero; 1 for identical systems."""
    from scipy.special import stdtr

    if estimate.se == 0:
        return 1.0 if abs(estimate.value) < 1e-12 else NAN
    if np.isnan(estimate.se):
        return NAN
    return float(2 * stdtr(estimate.df, -abs(estimate.value) / estimate.se))


def holm(p_values: np.ndarray) -> np.ndarray:
    """Return Holm's step-down adjusted p-values; a missing p-value is no test and stays missing."""
    p = np.asarray(p_values, dtype=float)
    adjusted = np.full(p.shape, np.nan)
    tests = np.flatnonzero(~np.isnan(p))
    order = tests[np.argsort(p[tests], kind="stable")]
    steps = p[order] * np.arange(order.size, 0, -1)
    adjusted[order] = np.minimum(np.maximum.accumulate(steps), 1.0) if order.size else steps
    return adjusted


def compare_all(
    frame: pd.DataFrame,
    column: str,
    queries: pd.DataFrame,
    *,
    systems: list[str] | None = None,
    limits: tuple[float, float] | None = None,
    level: float = 0.95,
    strata: str | None = "category",
    min_clusters: int = 3,
    min_shared: float = 0.5,
) -> pd.DataFrame:
    """Return every pair of systems with its difference, interval, p and Holm-adjusted p.

    Parameters are those of `paired_difference`; `systems` names all of them, in order.

    Returns
    -------
    DataFrame
        One row a pair: system_a, system_b, difference, low, high, se, df, p, p_holm, queries (with
        values of both), lost_rows_decide (the rows lost could turn the order round), note.
    """
    limits = limits or limits_of(column)
    names = _systems(frame, systems)
    code = strata_of(queries, strata)
    sides = {name: _side(frame, column, name, queries, limits) for name in names}
    bounds = missing_bounds(frame, column, limits=limits, systems=names)
    rows = []
    for a, b in combinations(names, 2):
        e = _paired(sides[a], sides[b], code, level, min_clusters, min_shared)
        rows.append(
            {
                "system_a": a,
                "system_b": b,
                "difference": e.value,
                "low": e.low,
                "high": e.high,
                "se": e.se,
                "df": e.df,
                "p": p_value(e),
                "queries": e.clusters,
                "lost_rows_decide": _overlap(bounds.loc[a], bounds.loc[b]),
                "note": e.note,
            }
        )
    table = pd.DataFrame(rows, columns=_PAIR_COLUMNS)
    table.insert(8, "p_holm", holm(table["p"].to_numpy()))
    return table


_PAIR_COLUMNS = [
    "system_a", "system_b", "difference", "low", "high", "se", "df", "p", "queries",
    "lost_rows_decide", "note",
]  # fmt: skip


def influences(
    frame: pd.DataFrame,
    column: str,
    queries: pd.DataFrame,
    *,
    limits: tuple[float, float] | None = None,
) -> dict[str, np.ndarray]:
    """Return, per system, how much each query moves the mean: ``u_q / N``, in query order."""
    limits = limits or limits_of(column)
    names = _systems(frame, None)
    return {name: _side(frame, column, name, queries, limits).influence for name in names}


def _systems(frame: pd.DataFrame, systems: list[str] | None) -> list[str]:
    """Return the systems to compare, each named once."""
    if systems is None:
        return sorted(frame["system"].astype(object).fillna(MISSING).unique())
    twice = [name for name in systems if systems.count(name) > 1]
    if twice:
        raise ValueError(f"system {twice[0]!r} is named twice; give each its own name")
    return list(systems)


def _overlap(a: pd.Series, b: pd.Series) -> bool:
    """Tell whether the lost rows of two systems leave their order open."""
    lost = a["n"] < a["expected"] or b["n"] < b["expected"]
    return bool(lost and a["low"] <= b["high"] and b["low"] <= a["high"])


def rank_sets(
    comparisons: pd.DataFrame,
    means: pd.Series,
    *,
    level: float = 0.95,
    p: str = "p_holm",
    bounds: pd.DataFrame | None = None,
) -> pd.DataFrame:
    """Return the ranks that the pairwise tests leave open to each system.

    The set is ``[1 + number significantly better, K - number significantly worse]`` (Mogstad,
    Romano, Shaikh and Wilhelm 2024). A class is led by its best system; the next joins while it
    does not differ significantly from that fixed leader.

    Parameters
    ----------
    comparisons : DataFrame
        What `compare_all` returns.
    means : Series
        Mean of each system, indexed by system; a system without a mean gets no rank.
    level : float
        One minus the error rate of the tests.
    p : str
        Which adjusted p-value to read: ``p_holm``, or ``p_max_t`` of `sourcebench.statistics.bootstrap.max_t`.

    bounds : DataFrame, optional
        What `missing_bounds` returns; a system that lost too many rows gets no rank.

    Returns
    -------
    DataFrame
        Best first, missing last, indexed by system: value, rank (ties share it), rank_low,
        rank_high, class, leader (the first place is not ruled out).
    """
    ranked = means
    if bounds is not None:
        ranked = means.where(bounds["enough"].reindex(means.index, fill_value=False))
    order = _best_first(ranked)
    scored = [name for name in order if not np.isnan(ranked[name])]
    better = _significantly_better(comparisons, scored, p, 1 - level)
    table = pd.DataFrame({"value": means.reindex(order)}).rename_axis("system")
    table["rank"] = ranked.rank(ascending=False, method="min").reindex(order)
    table["rank_low"] = better.sum(axis=0).add(1).reindex(order)
    table["rank_high"] = (len(scored) - better.sum(axis=1)).reindex(order)
    table["class"] = anchored_classes(scored, lambda lead, name: not better.at[lead, name]).reindex(
        order
    )
    table["leader"] = table["rank_low"] == 1
    return table


def _best_first(means: pd.Series) -> list[str]:
    """Order systems by mean, equal means by name, missing means last."""
    if not means.index.is_unique:
        raise ValueError(f"system {means.index[means.index.duplicated()][0]!r} has two means")
    return sorted(means.index, key=lambda s: (np.isnan(means[s]), -np.nan_to_num(means[s]), s))


def _significantly_better(
    comparisons: pd.DataFrame, systems: list[str], p: str, alpha: float
) -> pd.DataFrame:
    """Return a square table: does the row's system beat the column's?"""
    better = pd.DataFrame(False, index=systems, columns=systems)
    for a, b, difference, value in zip(
        *(comparisons[c] for c in ("system_a", "system_b", "difference", p)), strict=True
    ):
        if value <= alpha and a in better.index and b in better.index:
            winner, loser = (a, b) if difference > 0 else (b, a)
            better.at[winner, loser] = True
    return better


def anchored_classes(order: list[str], joins: Callable[[str, str], bool]) -> pd.Series:
    """Return class 1, 2, ... of systems in order; one joins while `joins(leader, system)`.

    The leader of a class stays fixed, so that overlaps do not chain into one long class.
    """
    classes, leader, number = {}, None, 0
    for name in order:
        if leader is None or not joins(leader, name):
            leader, number = name, number + 1
        classes[name] = number
    return pd.Series(classes, dtype="Int64", name="class")


def interval_classes(table: pd.DataFrame) -> pd.DataFrame:
    """Return rank and class of systems by their intervals.

    Parameters
    ----------
    table : DataFrame
        Indexed by system, with value, low and high.

    Returns
    -------
    DataFrame
        Best first, equal values by name: rank (ties share it, the next place is skipped) and class
        (a system joins while its high reaches the low of the fixed leader).
    """
    order = _best_first(table["value"])
    scored = [name for name in order if not np.isnan(table.at[name, "value"])]
    classes = anchored_classes(
        scored, lambda lead, name: table.at[name, "high"] >= table.at[lead, "low"]
    )
    ordered = table.loc[order]
    rank = ordered["value"].rank(ascending=False, method="min")
    return ordered.assign(rank=rank, **{"class": classes.reindex(order)})


def best_claim(ranks: pd.DataFrame) -> Claim:
    """Say whether one system may be called best, and name every system that may be first."""
    leaders = list(ranks.index[ranks["leader"]])
    scored = int(ranks["rank"].notna().sum())
    if scored < 2:
        return Claim(False, "fewer than two systems have a score")
    if len(leaders) == 1:
        return Claim(True, f"{leaders[0]} differs from every other system")
    return Claim(False, f"{', '.join(leaders)} cannot be told apart")
