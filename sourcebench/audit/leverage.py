"""Correlations over a handful of systems that one of them carries."""

from __future__ import annotations

import pandas as pd

from sourcebench.audit.findings import FOLLOWS, Finding, cell_name


def leverage(values: pd.Series) -> pd.Series:
    """Return the leverage of each system in a straight line over `values`, from 1/n to 1."""
    centred = values - values.mean()
    return 1 / len(values) + centred**2 / (centred**2).sum()


def carrying_system(x: pd.Series, y: pd.Series) -> str:
    """Return the system without which the correlation of two columns is weakest."""
    from sourcebench.statistics.correlate import pearson

    return min(x.index, key=lambda row: abs(pearson(x.drop(row), y.drop(row))))


def check_one_system(
    x: pd.Series, y: pd.Series, table: str = "", level: float = 0.95
) -> list[Finding]:
    """Report a correlation over systems that does not survive leaving one of them out.

    Parameters
    ----------
    x, y : Series of float, indexed by system
        Their names are used in the report.
    table : str
        Name of the table, for the report.
    level : float
        Of the intervals, and of the size that a correlation must keep.

    Returns
    -------
    list of Finding
        None if the correlation stays above its critical value whichever system is left out.
    """
    from sourcebench.statistics.correlate import system_correlation

    whole = system_correlation(x, y, level=level)
    if whole.claim.holds:
        return []
    carrier = carrying_system(x, y)
    without = system_correlation(x.drop(carrier), y.drop(carrier), level=level)
    return [
        Finding(
            check=f"the correlation of {x.name} and {y.name} rests on {carrier}",
            cells=tuple(cell_name(table, row, x.name) for row in x.index),
            printed="; ".join(f"{row} ({x[row]:g}, {y[row]:g})" for row in x.index),
            expected=f"|r| above {whole.critical:.3f} whichever system is left out",
            arithmetic=f"{_described(whole, x, y)}. Without {carrier}: "
            f"{_described(without, x.drop(carrier), y.drop(carrier))}. Leaving out one system at "
            f"a time, r runs from {whole.leave_one_out[0]:.3f} to {whole.leave_one_out[1]:.3f}. "
            f"Leverage of {carrier} in {y.name}: {leverage(y)[carrier]:.3f}.",
            tolerance=None,
            chance=whole.p,
            severity="major",
            kind=FOLLOWS,
            what_would_settle="more systems, or the same two numbers for each question",
        )
    ]


def _described(result, x: pd.Series, y: pd.Series) -> str:
    """Describe a correlation with its exact p-values and interval."""
    from sourcebench.statistics.correlate import exact_orders

    orders = exact_orders(x.to_numpy(float), y.to_numpy(float))
    return (
        f"n = {result.n}, r = {result.r:.3f}, exact p = {orders.two_sided:,}/{orders.total:,} = "
        f"{result.p:.3f}, interval {result.low:.2f} to {result.high:.2f}, rank correlation "
        f"{result.spearman:.3f} (exact p = {result.spearman_p:.3f})"
    )
