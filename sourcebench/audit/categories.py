"""Whether printed category scores and a printed overall score can belong to the same sources."""

from __future__ import annotations

from collections.abc import Mapping
from fractions import Fraction
from functools import reduce

import numpy as np
import pandas as pd

from sourcebench.audit.findings import FOLLOWS, LIKELY, Finding, cell_name
from sourcebench.audit.grim import Printed, possible_sums, printed_cells
from sourcebench.rubric import SCALE, WEIGHTS

Cells = Mapping[str, Printed]


def most_sources(categories: Cells, overall: Printed, cap: int) -> dict[str, float] | None:
    """Return the largest numbers of sources with which the categories average to the overall score.

    The overall score is the mean over sources, so it is the mean of the categories weighted by
    their numbers of sources, each at most `cap`. Solved as a linear programme, rounding allowed for.

    Returns
    -------
    dict of category to number of sources, or None if no numbers do.
    """
    from scipy.optimize import linprog

    too_low = [float(overall.low - cell.high) for cell in categories.values()]
    too_high = [float(cell.low - overall.high) for cell in categories.values()]
    result = linprog(
        [-1.0] * len(categories), A_ub=[too_low, too_high], b_ub=[0, 0], bounds=(0, cap)
    )
    if result.x is None or result.x.sum() < 1:
        return None
    return dict(zip(categories, map(float, result.x), strict=True))


def share_needed(categories: Cells, overall: Printed) -> tuple[str, float]:
    """Return the category that must outweigh the others, and its share if those are equally big."""
    values = {name: float(cell.value) for name, cell in categories.items()}
    target = float(overall.value)
    mean = sum(values.values()) / len(values)
    name = (max if target > mean else min)(values, key=values.get)
    others = (sum(values.values()) - values[name]) / (len(values) - 1)
    return name, (target - others) / (values[name] - others)


def whole_solutions(
    categories: Cells, overall: Printed, cap: int, weights: Mapping[str, int] = WEIGHTS
) -> list[dict[str, int]]:
    """Return all numbers of sources for which whole-number scores give every printed value.

    A weighted score over n sources is a multiple of 100 / (5 n sum(weights)), whole weights. Every
    n from 1 to `cap` is tried in each category, and every combination for the overall score.

    Parameters
    ----------
    categories : mapping of category to Printed
    overall : Printed
    cap : int
        Most sources of a category.
    weights : mapping of metric to int
        Whole-number weights, 3 and 2 rather than 1.5 and 1.
    """
    unit = Fraction(SCALE[1] * sum(weights.values()), 100)
    fits = [
        [(n, total) for n in range(1, cap + 1) for total in _totals(cell, n, unit)]
        for cell in categories.values()
    ]
    if not all(fits):
        return []
    sizes, totals = (reduce(np.add.outer, [[fit[i] for fit in f] for f in fits]) for i in (0, 1))
    # Whole numbers throughout, so that a value on the edge of rounding is not lost.
    low, high = overall.low * unit, overall.high * unit
    good = (low.numerator * sizes <= totals * low.denominator) & (
        totals * high.denominator <= high.numerator * sizes
    )
    return [
        {
            name: fits[i][place][0]
            for i, (name, place) in enumerate(zip(categories, at, strict=True))
        }
        for at in np.argwhere(good)
    ]


def _totals(cell: Printed, n: int, unit: Fraction) -> list[int]:
    """Return the whole weighted totals over n sources that print as a category's score."""
    return possible_sums(Printed(cell.text, cell.value * unit, cell.half * unit), n)


def check_categories(
    frame: pd.DataFrame,
    overall: str,
    cap: int,
    table: str = "",
    sources: Mapping[str, list[int]] | None = None,
) -> list[Finding]:
    """Check category scores against the overall score that is printed beside them.

    Parameters
    ----------
    frame : DataFrame
        Indexed by system; category scores and the overall score (0-100) as printed text.
    overall : str
        Name of the overall column; the other columns are categories.
    cap : int
        Most sources a category can have: its queries times the sources scored for each.
    table : str
        Name of the table, for the report.
    sources : mapping of system to list of int, optional
        Numbers of sources that the system's metric means allow, from another table.

    Returns
    -------
    list of Finding
        The overall score is not the mean of the categories; and, a system each, no number of
        sources in reach joins categories and overall score.
    """
    names = [column for column in frame.columns if column != overall]
    found = []
    apart = {}
    for row, values in printed_cells(frame, [*names, overall]).items():
        if len(values) <= len(names):
            continue
        categories = {name: values[name] for name in names}
        mean = Fraction(sum(c.value for c in categories.values()), len(names))
        if not values[overall].allows(mean - Fraction(1, 2000), mean + Fraction(1, 2000)):
            apart[row] = (values[overall], mean, *share_needed(categories, values[overall]))
        found += _check_row(row, categories, values[overall], cap, table, (sources or {}).get(row))
    return (_not_the_mean(apart, overall, table) if apart else []) + found


def _not_the_mean(apart: Mapping[str, tuple], overall: str, table: str) -> list[Finding]:
    """Return the finding that an overall column is not the mean of its categories."""
    shown = ", ".join(
        f"{row} {float(cell.value - mean):+.3f} ({name} needs {100 * share:.0f}% of the sources)"
        for row, (cell, mean, name, share) in apart.items()
    )
    return [
        Finding(
            check=f"{overall} is not the mean of the categories",
            cells=tuple(cell_name(table, row, overall) for row in apart),
            printed="; ".join(cell.text for cell, *_ in apart.values()),
            expected="; ".join(f"{float(mean):.3f}" for _, mean, *_ in apart.values()),
            arithmetic=f"Printed minus mean of the categories: {shown}. The share is that of the "
            "named category if the other categories are equally big. So the column weights "
            "categories by their sources, or does not rest on them.",
            tolerance=0.001,
            chance=None,
            severity="minor",
            kind=FOLLOWS,
            what_would_settle="the number of sources of each system in each category",
        )
    ]


def _check_row(
    row: str, categories: Cells, overall: Printed, cap: int, table: str, known: list[int] | None
) -> list[Finding]:
    """Report a system whose categories and overall score fit no numbers of sources in reach."""
    most = most_sources(categories, overall, cap)
    solutions = whole_solutions(categories, overall, cap)
    totals = sorted({sum(solution.values()) for solution in solutions})
    if solutions and (not known or set(totals) & set(known)):
        return []
    largest = sum(most.values()) if most else 0.0
    shape = ", ".join(f"{name} {n:.0f}" for name, n in (most or {}).items())
    fits = f"{len(solutions)} combinations of whole numbers fit"
    if solutions:
        first = "/".join(map(str, solutions[0].values()))
        fits += f" (totals {', '.join(map(str, totals))}; first {first})"
    known_text = f" The metric means allow n = {', '.join(map(str, known))}." if known else ""
    return [
        Finding(
            check="categories and overall score fit no common number of sources",
            cells=tuple(cell_name(table, row, name) for name in categories),
            printed="; ".join(f"{c} {v.text}" for c, v in categories.items())
            + f"; overall {overall.text}",
            expected=f"whole-number scores of at most {cap} sources a category",
            arithmetic=f"Largest total that averages to {overall.text}: "
            f"{largest:.0f}{f' ({shape})' if shape else ''}. {fits}.{known_text}",
            tolerance=float(overall.half),
            chance=None,
            severity="minor" if known and largest < min(known) else "note",
            kind=LIKELY,
            what_would_settle="the number of sources of each system in each category; more than "
            f"{cap} sources, missing scores, or scores rounded before averaging would explain it",
        )
    ]
