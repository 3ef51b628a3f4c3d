"""Columns that should follow from the metrics of their rows: averages and weighted scores."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from fractions import Fraction

import pandas as pd

from sourcebench.audit.findings import FOLLOWS, LIKELY, Finding, cell_name
from sourcebench.audit.grim import Printed, printed_cells
from sourcebench.rubric import SCALE

Cells = Mapping[str, Printed]


def recompute(cells: Cells, weights: Mapping[str, float], out_of: float = 100) -> Printed:
    """Return the weighted mean of printed scores, and how far their rounding leaves it open.

    ``out_of * sum(w * x) / (5 * sum(w))``; `out_of` is the result for a row of fives.

    Parameters
    ----------
    cells : mapping of metric to Printed
    weights : mapping of metric to number
        Only ratios matter: 3 and 2 mean the same as 1.5 and 1.
    out_of : float
        100 for a weighted score of 100, 5 for a plain average.
    """
    exact = {metric: Fraction(weight) for metric, weight in weights.items()}
    unit = Fraction(out_of) / (SCALE[1] * sum(exact.values()))
    value = unit * sum(weight * cells[metric].value for metric, weight in exact.items())
    half = unit * sum(weight * cells[metric].half for metric, weight in exact.items())
    return Printed(f"{float(value):.4f}", value, half)


@dataclass(frozen=True)
class Off:
    """A printed number that differs from what its row implies by more than rounding explains."""

    row: str
    printed: Printed
    expected: Printed

    @property
    def difference(self) -> float:
        """Return printed minus expected."""
        return float(self.printed.value - self.expected.value)

    @property
    def tolerance(self) -> float:
        """Return the largest difference that rounding explains."""
        return float(self.printed.half + self.expected.half)


def off_rows(
    frame: pd.DataFrame, column: str, weights: Mapping[str, float], out_of: float = 100
) -> list[Off]:
    """Return the rows whose printed `column` does not follow from their printed metrics.

    A row with a blank metric, or a blank in `column`, is not judged.
    """
    cells = printed_cells(frame, [*weights, column])
    found = []
    for row, values in cells.items():
        if len(values) <= len(weights):
            continue
        expected = recompute(values, weights, out_of)
        if not values[column].allows(expected.low, expected.high):
            found.append(Off(row, values[column], expected))
    return found


def check_column(
    frame: pd.DataFrame,
    column: str,
    weights: Mapping[str, float],
    out_of: float = 100,
    table: str = "",
) -> list[Finding]:
    """Find the cells of a column that do not follow from the metrics of their rows.

    Parameters
    ----------
    frame : DataFrame
        Indexed by system; metrics and `column` as printed text (or floats).
    column : str
        The column to recompute.
    weights : mapping of metric to number
        All equal for a plain average.
    out_of : float
        Result for a row of fives.
    table : str
        Name of the table, for the report.

    Returns
    -------
    list of Finding
        At most one; it covers every such row.
    """
    off = off_rows(frame, column, weights, out_of)
    if not off:
        return []
    worst = max(off, key=lambda o: abs(o.difference))
    cells = printed_cells(frame.loc[[worst.row]], list(weights))[worst.row]
    shown = ", ".join(f"{o.row} {o.difference:+.4f}" for o in off)
    return [
        Finding(
            check=f"{column} does not follow from the metrics of its row",
            cells=tuple(cell_name(table, o.row, column) for o in off),
            printed="; ".join(o.printed.text for o in off),
            expected="; ".join(o.expected.text for o in off),
            arithmetic=f"{worst.row}: {worked(cells, weights, out_of)} = {worst.expected.text}, "
            f"printed {worst.printed.text}. Printed minus expected, {len(off)} of {len(frame)} "
            f"rows: {shown}.",
            tolerance=max(o.tolerance for o in off),
            chance=None,
            severity="major" if abs(worst.difference) > 10 * worst.tolerance else "minor",
            kind=FOLLOWS,
            what_would_settle="the scores of each source, or the code that forms this column",
        )
    ]


def worked(cells: Cells, weights: Mapping[str, float], out_of: float = 100) -> str:
    """Return the sum behind a recomputed cell, written out with the printed numbers."""
    least = min(Fraction(w) for w in weights.values() if w)
    groups: dict[Fraction, list[str]] = {}
    for metric, weight in weights.items():
        groups.setdefault(Fraction(weight) / least, []).append(cells[metric].text)
    total = SCALE[1] * sum(weight * len(texts) for weight, texts in groups.items())
    terms = [
        " + ".join(texts) if weight == 1 else f"{float(weight):g} x ({' + '.join(texts)})"
        for weight, texts in sorted(groups.items(), reverse=True)
        if weight
    ]
    if out_of == SCALE[1]:
        return f"({' + '.join(terms)}) / {float(total / SCALE[1]):g}"
    return f"{out_of:g} x ({' + '.join(terms)}) / {float(total):g}"


def check_order(
    frame: pd.DataFrame,
    column: str,
    weights: Mapping[str, float],
    out_of: float = 100,
    table: str = "",
) -> list[Finding]:
    """Find pairs of rows whose order reverses when the column is recomputed from the metrics."""
    cells = printed_cells(frame, [*weights, column])
    rows = {
        r: (v[column], recompute(v, weights, out_of))
        for r, v in cells.items()
        if len(v) == len(weights) + 1
    }
    reversed_pairs = [
        (a, b)
        for a, b in itertools.permutations(rows, 2)
        if rows[a][0].low > rows[b][0].high and rows[b][1].low > rows[a][1].high
    ]
    if not reversed_pairs:
        return []
    a, b = max(reversed_pairs, key=lambda p: rows[p[1]][1].value - rows[p[0]][1].value)
    more = f" {len(reversed_pairs)} pairs reverse in all." if len(reversed_pairs) > 1 else ""
    names = dict.fromkeys(name for pair in reversed_pairs for name in pair)
    return [
        Finding(
            check=f"the order by {column} reverses when it is recomputed",
            cells=tuple(cell_name(table, name, column) for name in names),
            printed=f"{a} {rows[a][0].text} above {b} {rows[b][0].text}",
            expected=f"{b} {rows[b][1].text} above {a} {rows[a][1].text}",
            arithmetic=f"{b}: {worked(cells[b], weights, out_of)} = {rows[b][1].text}. "
            f"{a}: {worked(cells[a], weights, out_of)} = {rows[a][1].text}.{more}",
            tolerance=float(max(x.half + y.half for x, y in rows.values())),
            chance=None,
            severity="critical",
            kind=FOLLOWS,
            what_would_settle="the code that forms this column, or the scores of each source",
        )
    ]


def check_together(
    frame: pd.DataFrame,
    columns: tuple[str, str],
    weights: Mapping[str, float],
    out_of: float = 100,
    table: str = "",
) -> list[Finding]:
    """Say if an average and a weighted column are off in the same rows and the same direction.

    Two slips of the pen would be independent; one different set of sources moves both.
    """
    average = {o.row: o for o in off_rows(frame, columns[0], dict.fromkeys(weights, 1), SCALE[1])}
    weighted = {o.row: o for o in off_rows(frame, columns[1], weights, out_of)}
    rows = [row for row in weighted if row in average]
    if len(rows) < 2 or set(average) != set(weighted):
        return []
    if any(average[row].difference * weighted[row].difference < 0 for row in rows):
        return []
    shown = ", ".join(
        f"{r} {average[r].difference:+.5f} and {weighted[r].difference:+.4f}" for r in rows
    )
    return [
        Finding(
            check=f"{columns[0]} and {columns[1]} are off in the same rows and direction",
            cells=tuple(cell_name(table, row, column) for row in rows for column in columns),
            printed="; ".join(
                f"{average[r].printed.text} and {weighted[r].printed.text}" for r in rows
            ),
            expected="; ".join(
                f"{average[r].expected.text} and {weighted[r].expected.text}" for r in rows
            ),
            arithmetic=f"Printed minus expected: {shown}. Both columns moved together, as they "
            "would if they were computed from another set of sources than the eight means "
            "(for example only sources with all scores). " + both_signs(list(weighted.values())),
            tolerance=max(o.tolerance for o in average.values()),
            chance=0.5 ** len(rows),
            severity="minor",
            kind=LIKELY,
            what_would_settle="the number of sources behind each column, or the scores themselves",
        )
    ]


def both_signs(off: Sequence[Off]) -> str:
    """Say what the signs of some differences rule out."""
    signs = {o.difference > 0 for o in off}
    if len(signs) == 2:
        return (
            "The differences have both signs, so a rule that only lowers scores, such as counting "
            "a missing score as 0, can't be the whole cause."
        )
    return "All differences have the same sign."
