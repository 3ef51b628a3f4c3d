"""How many sources printed means allow: stated numbers checked, unstated ones inferred."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

import pandas as pd

from sourcebench.audit.findings import FOLLOWS, LIKELY, Finding, cell_name
from sourcebench.audit.grim import (
    Printed,
    chance_of_fit,
    common_ns,
    near_ns,
    possible_ns,
    possible_sums,
    printed_cells,
)


def check_means(
    frame: pd.DataFrame,
    metrics: Sequence[str],
    n: Mapping[str, int] | int,
    table: str = "",
) -> list[Finding]:
    """Find means that no whole-number scores over the stated number of sources have (GRIM).

    Parameters
    ----------
    frame : DataFrame
        Indexed by system, metrics as printed text.
    metrics : sequence of str
    n : int or mapping of system to int
        Sources behind each mean; systems without a number are not judged. Means that rest on
        fewer sources (missing scores), or on means of queries, are rightly called impossible.
    table : str
        Name of the table, for the report.
    """
    found = []
    for row, values in printed_cells(frame, metrics).items():
        size = n.get(row) if isinstance(n, Mapping) else n
        if not size:
            continue
        bad = [m for m in values if not possible_sums(values[m], size)]
        if bad:
            found.append(_impossible_means(table, row, values, bad, size))
    return found


def _impossible_means(
    table: str, row: str, values: Mapping[str, Printed], bad: Sequence[str], size: int
) -> Finding:
    """Return the finding for the means of one row that its number of sources can't give."""
    metric = bad[0]
    k = math.floor(values[metric].value * size)
    near = f"{k}/{size} = {k / size:.4f} and {k + 1}/{size} = {(k + 1) / size:.4f}"
    other = common_ns(list(values.values()), max(size, 500))
    fits = (
        f"All means together fit n = {', '.join(map(str, other))}."
        if other
        else ("No single n up to the larger of n and 500 fits all means.")
    )
    chance = math.prod(1 - min(1.0, 2 * float(values[m].half) * size) for m in bad)
    return Finding(
        check="a mean is impossible with the stated number of sources",
        cells=tuple(cell_name(table, row, m) for m in bad),
        printed="; ".join(f"{m} {values[m].text}" for m in bad) + f"; n = {size}",
        expected=f"a multiple of 1/{size}",
        arithmetic=f"{metric}: neighbours of {values[metric].text} are {near}. {fits}",
        tolerance=float(values[metric].half),
        chance=None,
        severity="major" if chance < 0.5 or len(bad) > 1 else "minor",
        kind=FOLLOWS,
        what_would_settle="the number of scores behind each mean, missing ones counted apart",
    )


def check_common_n(
    frame: pd.DataFrame, metrics: Sequence[str], n_max: int, table: str = ""
) -> list[Finding]:
    """Find rows whose means fit no common number of sources up to `n_max` (joint GRIM)."""
    found = []
    for row, values in printed_cells(frame, metrics).items():
        if not values or common_ns(list(values.values()), n_max):
            continue
        alone = ", ".join(f"{m} {_few(possible_ns(values[m], n_max))}" for m in values)
        found.append(
            Finding(
                check=f"no number of sources up to {n_max} fits all means of a row",
                cells=tuple(cell_name(table, row, m) for m in values),
                printed="; ".join(f"{m} {v.text}" for m, v in values.items()),
                expected="one n of which every mean is a multiple of 1/n",
                arithmetic=f"n allowed by each mean alone, largest first: {alone}. "
                + _near(values, n_max),
                tolerance=float(max(v.half for v in values.values())),
                chance=None,
                severity="note",
                kind=FOLLOWS,
                what_would_settle="the number of scores behind each mean; missing scores or "
                "scores that are not whole numbers would explain it",
            )
        )
    return found


def _near(values: Mapping[str, Printed], n_max: int) -> str:
    """Say which number of sources fits if a few scores are missing."""
    for missing in (1, 2, 3):
        if fits := near_ns(values, n_max, missing):
            best = min(fits, key=lambda fit: (len(fit.short), fit.n))
            return f"n = {best.n} fits if {', '.join(best.short)} lack {missing} score(s)."
    return "No n fits even if up to three scores are missing from some metrics."


def _few(numbers: Sequence[int]) -> str:
    """Show the largest few of many numbers."""
    return "/".join(map(str, numbers[::-1][:4])) + ("..." if len(numbers) > 4 else "") or "none"


def check_sizes(
    frame: pd.DataFrame,
    metrics: Sequence[str],
    n_max: int = 500,
    table: str = "",
    sure: float = 0.01,
) -> list[Finding]:
    """Infer the number of sources behind each row, where chance can't explain the fit.

    Parameters
    ----------
    frame, metrics, table
        As for `check_means`.
    n_max : int
        Largest number of sources to try.
    sure : float
        Largest chance of a false fit that is reported.
    """
    found = []
    for row, values in printed_cells(frame, metrics).items():
        fits = near_ns(values, n_max) if values else []
        if not fits or fits[0].chance > sure:
            continue
        fit = fits[0]
        sums = {
            m: possible_sums(v, fit.n - fit.missing * (m in fit.short))[0]
            for m, v in values.items()
        }
        lacking = f" ({', '.join(fit.short)} from {fit.n - fit.missing})" if fit.short else ""
        found.append(
            Finding(
                check="how many sources a row rests on",
                cells=tuple(cell_name(table, row, m) for m in values),
                printed="; ".join(f"{m} {v.text}" for m, v in values.items()),
                expected=f"n = {fit.n}{lacking}",
                arithmetic="; ".join(
                    f"{m} {total}/{fit.n - fit.missing * (m in fit.short)} = {values[m].text}"
                    for m, total in sums.items()
                )
                + f". {_denied(values, fit.n)}",
                tolerance=float(max(v.half for v in values.values())),
                chance=fit.chance,
                severity="note",
                kind=LIKELY,
                what_would_settle="the number of sources of each system",
            )
        )
    return found


def _denied(values: Mapping[str, Printed], n: int) -> str:
    """Say how rarely random means would all fit one n up to this one."""
    expected = chance_of_fit(n, len(values))
    return f"Random means would fit some n up to {n}, all at once, {expected:.1g} times."
