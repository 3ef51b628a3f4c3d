"""The search for the formula behind a column that does not follow from the stated one."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import numpy as np
import pandas as pd

from sourcebench.audit.findings import FOLLOWS, LIKELY, Finding, cell_name
from sourcebench.audit.grim import Printed, printed_cells
from sourcebench.audit.recompute import both_signs, off_rows
from sourcebench.rubric import SCALE

# Searching every formula costs len(LEVELS) ** metrics; eight metrics take a tenth of a second.
LEVELS = (0.0, 1.0, 1.5, 2.0)
MOST_METRICS = 8

# Formulas that come this close to a row are counted to judge how many fit by accident.
NEAR = 0.5

# A formula that fits by accident more often than this explains nothing.
SURE = 0.01


@dataclass(frozen=True)
class Formula:
    """A weighted mean that gives a printed column: weights, divisor, and its largest error."""

    weights: tuple[tuple[str, float], ...]
    divisor: float
    lowest: float  # subtracted from each score first: 0, or the low end of the scale
    error: float
    out_of: float = 100

    def value(self, cells: Mapping[str, Printed]) -> float:
        """Return what the formula makes of a row of printed scores."""
        total = sum(w * (float(cells[metric].value) - self.lowest) for metric, w in self.weights)
        return self.out_of * total / self.divisor

    def __str__(self) -> str:
        """Return the formula in words."""
        groups: dict[float, list[str]] = {}
        for metric, weight in self.weights:
            groups.setdefault(weight, []).append(metric)
        parts = [f"{', '.join(names)} count {weight:g}" for weight, names in groups.items()]
        start = f", each score less {self.lowest:g}" if self.lowest else ""
        return f"{'; '.join(parts)}{start}; divided by {self.divisor:g}"


def search_formulas(
    frame: pd.DataFrame, column: str, weights: Mapping[str, float], out_of: float = 100
) -> tuple[list[Formula], int, float]:
    """Search weighted means for the ones that give a printed column in every row.

    Each metric counts 0, 1, 1.5 or 2. The divisor is the maximum of the weights tried, the maximum
    of the stated weights, or the maximum of equal weights; or scores are first rescaled from 1-5 to
    0-4. With eight metrics that is 262,140 formulas.

    Parameters
    ----------
    frame, column, weights, out_of
        As for `check_column`.

    Returns
    -------
    formulas : list of Formula
        The different formulas that fit all complete rows, best first.
    tried : int
        Formulas tried.
    chance : float
        Expected accidental fits: the formulas that come within half a point of every row, times
        the share of that box which rounding allows.

    Raises
    ------
    ValueError
        With more than eight metrics, or fewer than two complete rows.
    """
    metrics = list(weights)
    if len(metrics) > MOST_METRICS:
        raise ValueError(f"at most {MOST_METRICS} metrics can be searched, not {len(metrics)}")
    cells = printed_cells(frame, [*metrics, column])
    rows = [values for values in cells.values() if len(values) == len(metrics) + 1]
    if len(rows) < 2:
        raise ValueError(f"a search over formulas for {column!r} needs two complete rows")
    grid = np.stack(np.meshgrid(*[LEVELS] * len(metrics), indexing="ij"), -1)
    grid = grid.reshape(-1, len(metrics))[1:]
    found, tried, chance = {}, 0, 0.0
    for divisor, lowest in _divisors(grid, _stated(weights)[1]):
        unit = out_of / divisor
        fits, errors, accidental = _fitting(grid, unit, lowest, rows, column)
        tried += len(grid)
        chance += accidental
        for i, error in zip(fits, errors, strict=True):
            key = (*np.round(grid[i] * unit[i], 9), lowest)
            pairs = tuple(zip(metrics, map(float, grid[i]), strict=True))
            formula = Formula(pairs, float(divisor[i]), lowest, float(error), out_of)
            found.setdefault(key, formula)
    return sorted(found.values(), key=lambda f: f.error), tried, chance


def _fitting(
    grid: np.ndarray,
    unit: np.ndarray,
    lowest: float,
    rows: Sequence[Mapping[str, Printed]],
    column: str,
) -> tuple[np.ndarray, np.ndarray, float]:
    """Return the weight rows that give a column, their largest errors, and the accidental fits.

    Row by row, only what is still near is kept, so that long tables cost no more than short ones.
    """
    left = np.arange(len(grid))
    fits, worst, share = np.ones(len(grid), bool), np.zeros(len(grid)), np.ones(len(grid))
    for row in rows:
        *scores, target = [float(cell.value) for cell in row.values()]
        *halves, slack = [float(cell.half) for cell in row.values()]
        error = np.abs(unit[left] * (grid[left] @ (np.array(scores) - lowest)) - target)
        allowed = unit[left] * (grid[left] @ np.array(halves)) + slack + 1e-9
        near = error <= np.maximum(NEAR, allowed)
        fits = (fits & (error <= allowed))[near]
        worst = np.maximum(worst, error)[near]
        share = (share * np.minimum(1.0, allowed / NEAR))[near]
        left = left[near]
    return left[fits], worst[fits], float(share.sum())


def _divisors(grid: np.ndarray, stated: float) -> list[tuple[np.ndarray, float]]:
    """Return the four divisors of a formula, one value a weight row, with what is subtracted."""
    own = grid.sum(axis=1)
    low, top = SCALE
    same = np.ones(len(grid))
    return [
        (top * own, 0.0),
        (stated * same, 0.0),
        (top * grid.shape[1] * same, 0.0),
        ((top - low) * own, float(low)),
    ]


def check_formula(
    frame: pd.DataFrame,
    column: str,
    weights: Mapping[str, float],
    out_of: float = 100,
    table: str = "",
) -> list[Finding]:
    """Say which other weighted mean gives a column that does not follow from the stated one.

    A formula is reported as an explanation only if few would fit by accident (`SURE`).
    """
    off = off_rows(frame, column, weights, out_of)
    complete = [
        c for c in printed_cells(frame, [*weights, column]).values() if len(c) > len(weights)
    ]
    if not off or len(weights) > MOST_METRICS or len(complete) < 2:
        return []
    formulas, tried, chance = search_formulas(frame, column, weights, out_of)
    if formulas and chance > SURE:
        return []
    cells = tuple(cell_name(table, str(row), column) for row in frame.index)
    if formulas:
        best = formulas[0]
        fits = "1 fits" if len(formulas) == 1 else f"{len(formulas)} fit"
        check = f"{column} follows from another formula"
        expected = str(best)
        arithmetic = (
            f"Of {tried:,} weighted means tried, {fits} every row; largest error "
            f"{best.error:.4f}. {_compared(best, weights)}"
        )
    else:
        check = f"no formula tried gives {column} in every row"
        expected = "one formula for the whole column"
        arithmetic = f"{tried:,} weighted means tried, none fits all rows. {both_signs(off)}"
    return [
        Finding(
            check=check,
            cells=cells,
            printed="; ".join(map(str, frame[column])),
            expected=expected,
            arithmetic=arithmetic,
            tolerance=max(o.tolerance for o in off),
            chance=chance if formulas else None,
            severity="major" if formulas else "note",
            kind=LIKELY if formulas else FOLLOWS,
            what_would_settle="the code that forms this column, and which scores entered it",
        )
    ]


def _compared(formula: Formula, weights: Mapping[str, float]) -> str:
    """Say how a formula departs from the stated weights."""
    stated, total = _stated(weights)
    changed = [
        f"{metric} counts {weight:g} instead of {stated[metric]:g}"
        for metric, weight in formula.weights
        if weight != stated[metric]
    ]
    divisor = "is unchanged" if formula.divisor == total else f"is {formula.divisor:g}"
    return (
        f"Against the stated formula: {', '.join(changed) or 'same weights'}; "
        f"the divisor {total:g} {divisor}."
    )


def _stated(weights: Mapping[str, float]) -> tuple[dict[str, float], float]:
    """Return stated weights in units of the smallest, and the divisor they give."""
    least = min(weight for weight in weights.values() if weight)
    stated = {metric: weight / least for metric, weight in weights.items()}
    return stated, SCALE[1] * sum(stated.values())
