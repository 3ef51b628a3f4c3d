"""Correlations over systems, one point a system: of a study and of the published rows."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.correlate import MOST_EXACT, SystemCorrelation, system_correlation
from sourcebench.figures import scatter
from sourcebench.intervals import MIN_QUERIES, NAN, Estimate
from sourcebench.published import FULL_NAMES, published_table
from sourcebench.render import DASH, enough, interval, rounded
from sourcebench.tables import PaperTable, claim_text, p_text

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Where each printed correlation stands: the columns that are correlated, x first.
PRINTED = {
    "Table 6": ("Weighted Source", "Answer Score"),
    "Table 8": ("% in Google", "W. Source"),
}
POINT = ["system", "name", "x", "x_low", "x_high", "y", "y_low", "y_high"]


def point(axis: str, estimate: Estimate, asked: int = 0) -> dict[str, float]:
    """Return one coordinate of a system with its interval; missing where too few rows, or too few of the queries asked, carry it."""
    shown = enough(estimate.n, estimate.expected) and estimate.clusters >= MIN_QUERIES * asked
    value, low, high = (v if shown else NAN for v in estimate[:3])
    return {axis: value, f"{axis}_low": low, f"{axis}_high": high}


def published_points(table: str) -> pd.DataFrame:
    """Return the systems of a published table as points: system, name, x, y.

    Parameters
    ----------
    table
        ``"Table 6"`` or ``"Table 8"`` of SourceBench. A system of which one number is not printed
        keeps its row.
    """
    x, y = PRINTED[table]
    frame = published_table(table, "sourcebench")
    if x not in frame:
        frame = frame.T
    names = [FULL_NAMES.get(name, name) for name in frame.index]
    columns = {"system": frame.index, "name": names, "x": frame[x], "y": frame[y]}
    return pd.DataFrame(columns).reset_index(drop=True).astype({"x": float, "y": float})


def published_figure(table: str, number: str) -> tuple[Figure, pd.DataFrame]:
    """Draw a correlation over systems from the published rows, and return the numbers drawn.

    Parameters
    ----------
    table
        As for `published_points`.
    number
        What the heading calls the figure.
    """
    x, y = PRINTED[table]
    points = published_points(table)
    note = claim_text(system_correlation(points["x"], points["y"]))
    title = f"Published: {number}, redrawn from the rows that {table} prints"
    return scatter(points, title, f"{x} (published)", f"{y} (published)", note), points


def link_table(columns: Mapping[str, pd.DataFrame], name: str, title: str) -> PaperTable:
    """Return what a correlation over systems carries, for one or more sets of points.

    Parameters
    ----------
    columns
        Heading to points, as `scatter` draws them: name, x, y.
    name, title
        File name and heading.
    """
    fits = {head: system_correlation(p["x"], p["y"]) for head, p in columns.items()}
    data = pd.DataFrame([{"points": head, **_flat(fit)} for head, fit in fits.items()])
    shown = pd.DataFrame({head: _lines(fit) for head, fit in fits.items()})
    shown = shown.rename_axis("Over systems").reset_index()
    note = (
        "Interval: jackknife on Fisher's z, t with n - 1. p: share of all orders of the systems that "
        f"correlate at least as strongly (by t beyond {MOST_EXACT} systems). A claim needs |r| above "
        "the critical value whichever system is left out."
    )
    return PaperTable(name, title, data, shown, note)


def _flat(fit: SystemCorrelation) -> dict[str, float | int | str | bool]:
    """Return a correlation as one row of plain values."""
    row = fit._asdict()
    claim, (low, high) = row.pop("claim"), row.pop("leave_one_out")
    return row | {
        "leave_one_out_low": low,
        "leave_one_out_high": high,
        "claim_holds": claim.holds,
        "claim": claim.reason,
    }


def _lines(fit: SystemCorrelation) -> dict[str, str]:
    """Return a correlation as the lines of a column."""
    low, high = fit.leave_one_out
    span = f"{rounded(low)} to {rounded(high)}" if low == low else DASH
    return {
        "Systems": str(fit.n),
        "r": rounded(fit.r),
        "95% interval": interval(fit.low, fit.high) if fit.low == fit.low else fit.note or DASH,
        "Exact p" if fit.n <= MOST_EXACT else "p": p_text(fit.p),
        "Rank correlation (p)": f"{rounded(fit.spearman)} ({p_text(fit.spearman_p)})",
        "r with any one system left out": span,
        "|r| needed for p < 0.05": rounded(fit.critical),
        "Verdict": fit.claim.reason,
    }
