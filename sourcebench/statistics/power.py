"""How many queries a difference between two systems needs, and what a leaderboard can detect."""

from math import ceil

import numpy as np
import pandas as pd

DELTAS = (1.0, 2.0, 4.0)


def queries_needed(
    delta: float, sd: float, *, power: float = 0.8, level: float = 0.95, pairs: int = 1
) -> int:
    """Return how many queries find a difference with a given power.

    ``(z_{a/2} + z_b)^2 sd^2 / delta^2``, rounded up.

    Parameters
    ----------
    delta : float
        True difference, in points.
    sd : float
        Standard deviation over queries of the influence differences, in points; about 16 for
        weighted scores with one to five sources a query, and see `difference_sd`.
    power, level : float
        Chance of finding the difference, and one minus the two-sided error rate.
    pairs : int
        Number of pairs among which the error rate is shared (Bonferroni).
    """
    if not delta > 0:
        raise ValueError(f"delta is {delta}; give a difference above 0")
    return ceil((_reach(power, level, pairs) * sd / delta) ** 2)


def detectable_difference(
    queries: int, sd: float, *, power: float = 0.8, level: float = 0.95, pairs: int = 1
) -> float:
    """Return the smallest true difference that `queries` queries find with a given power.

    Parameters are those of `queries_needed`.
    """
    if queries < 1:
        raise ValueError(f"queries is {queries}; at least one is needed")
    return _reach(power, level, pairs) * sd / float(np.sqrt(queries))


def power_of(
    delta: float, queries: int, sd: float, *, level: float = 0.95, pairs: int = 1
) -> float:
    """Return the chance that `queries` queries find a true difference of `delta`.

    Parameters are those of `queries_needed`.
    """
    from scipy.special import ndtr, ndtri

    critical = ndtri(1 - (1 - level) / pairs / 2)
    shift = abs(delta) * np.sqrt(queries) / sd
    return float(ndtr(shift - critical) + ndtr(-shift - critical))


def _reach(power: float, level: float, pairs: int) -> float:
    """Return the sum of the two normal quantiles."""
    from scipy.special import ndtri

    for name, value in (("power", power), ("level", level)):
        if not 0 < value < 1:
            raise ValueError(f"{name} is {value}; give a number between 0 and 1")
    return float(ndtri(1 - (1 - level) / pairs / 2) + ndtri(power))


def difference_sd(comparisons: pd.DataFrame, queries: int) -> float:
    """Return the observed spread over queries of a pair's difference, the median over pairs.

    Parameters
    ----------
    comparisons : DataFrame
        What `sourcebench.statistics.ranks.compare_all` returns.
    queries : int
        Queries asked.
    """
    return float(comparisons["se"].median() * np.sqrt(queries))


def power_table(
    comparisons: pd.DataFrame,
    queries: int,
    *,
    deltas: tuple[float, ...] = DELTAS,
    power: float = 0.8,
    level: float = 0.95,
) -> pd.DataFrame:
    """Return the queries needed for each difference, for one pair and for all, as observed.

    Returns
    -------
    DataFrame
        Indexed by delta: one_pair, all_pairs (queries needed), power_now (one pair, with the
        queries asked).
    """
    sd, pairs = difference_sd(comparisons, queries), int(comparisons["se"].notna().sum())
    if not sd > 0:
        raise ValueError("no pair of systems shows any spread between queries")
    rows = {
        delta: {
            "one_pair": queries_needed(delta, sd, power=power, level=level),
            "all_pairs": queries_needed(delta, sd, power=power, level=level, pairs=pairs),
            "power_now": power_of(delta, queries, sd, level=level),
        }
        for delta in deltas
    }
    return pd.DataFrame.from_dict(rows, orient="index").rename_axis("delta")


def power_statement(
    comparisons: pd.DataFrame, queries: int, *, power: float = 0.8, level: float = 0.95
) -> str:
    """Return the sentence that belongs under a leaderboard: what it could have detected."""
    sd, pairs = difference_sd(comparisons, queries), int(comparisons["se"].notna().sum())
    if not sd > 0:
        why = "no spread between queries" if pairs else "fewer than two systems can be compared"
        return f"The smallest detectable difference is not known: {why}."
    one = detectable_difference(queries, sd, power=power, level=level)
    every = detectable_difference(queries, sd, power=power, level=level, pairs=pairs)
    noun = "pair" if pairs == 1 else f"{pairs} pairs"
    return (
        f"With {queries} queries the smallest difference found with {power:.0%} power is "
        f"{one:.1f} points for one pair and {every:.1f} points when all {noun} are tested."
    )
