"""Cells, rows and blocks that repeat more often than unrelated numbers would."""

from __future__ import annotations

import itertools
import math
from collections.abc import Iterator, Mapping, Sequence

import pandas as pd

from sourcebench.audit.findings import FOLLOWS, NEEDS_RELEASE, Finding, cell_name
from sourcebench.audit.grim import common_ns, printed_cells

# Repeats that unrelated numbers would show more often than this are not reported.
ALPHA = 0.01

# With fewer rows the spread of a column, and so the chance of a repeat, can't be judged.
LEAST_ROWS = 3


def chance_of_equal(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, float]:
    """Return, for each column, the chance that two unrelated cells print alike.

    For a normal spread with standard deviation s, in steps of u, that is about
    ``u / (2 s sqrt(pi))``. The step is a unit of the last digit, or 1/n if all cells are means of
    whole numbers over one n. A column without spread has chance 1.
    """
    cells = printed_cells(frame, columns)
    every = [cell for row in cells.values() for cell in row.values()]
    unit = max((2 * float(cell.half) for cell in every), default=0.0)
    if unit and (shared := common_ns(every, round(1 / unit) // 2)):
        unit = max(unit, 1 / shared[0])
    chances = {}
    for column in columns:
        values = [float(row[column].value) for row in cells.values() if column in row]
        spread = pd.Series(values, dtype=float).std()
        chances[column] = min(1.0, unit / (2 * spread * math.sqrt(math.pi))) if spread > 0 else 1.0
    return chances


def check_copied_rows(
    frame: pd.DataFrame, columns: Sequence[str], table: str = "", alpha: float = ALPHA
) -> list[Finding]:
    """Find pairs of rows that share more cells than unrelated rows would.

    Parameters
    ----------
    frame : DataFrame
        Indexed by system, printed text.
    columns : sequence of str
        The columns to compare; columns without spread are left out.
    table : str
        Name of the table, for the report.
    alpha : float
        Largest expected number of such pairs, in a table of unrelated rows, that is reported.
    """
    chances = _chances(frame, columns)
    return [
        _copied(frame, first, second, same, len(chances), chance, table)
        for first, second, same, chance in _copied_pairs(frame, chances, alpha)
    ]


def _chances(frame: pd.DataFrame, columns: Sequence[str]) -> dict[str, float]:
    """Return the chance of a repeat for the columns in which repeats can be judged."""
    if len(frame) < LEAST_ROWS:
        return {}
    return {c: p for c, p in chance_of_equal(frame, columns).items() if p < 1}


def _same_cells(
    frame: pd.DataFrame, columns: Sequence[str]
) -> Iterator[tuple[str, str, list[str]]]:
    """Return, for each pair of rows, the columns in which they print the same, blanks apart."""
    rows = {
        row: [str(cell).strip() for cell in cells]
        for row, cells in zip(frame.index, frame[list(columns)].to_numpy(object), strict=True)
    }
    for (first, a), (second, b) in itertools.combinations(rows.items(), 2):
        yield first, second, [c for c, x, y in zip(columns, a, b, strict=True) if x and x == y]


def _copied_pairs(
    frame: pd.DataFrame, chances: Mapping[str, float], alpha: float
) -> list[tuple[str, str, list[str], float]]:
    """Return the pairs of rows that share too many cells, and the expected number of such pairs."""
    pairs = math.comb(len(frame), 2)
    typical = sum(chances.values()) / len(chances) if chances else 0.0
    found = []
    for first, second, same in _same_cells(frame, list(chances)):
        chance = pairs * math.comb(len(chances), len(same)) * typical ** len(same)
        if len(same) >= 2 and chance < alpha:
            found.append((first, second, same, chance))
    return found


def _copied(
    frame: pd.DataFrame,
    first: str,
    second: str,
    same: Sequence[str],
    compared: int,
    chance: float,
    table: str,
) -> Finding:
    """Return the finding for two rows with repeated cells."""
    return Finding(
        check="two rows share cells",
        cells=tuple(cell_name(table, row, c) for c in same for row in (first, second)),
        printed="; ".join(f"{c} {frame.loc[first, c]}" for c in same),
        expected="rows of different systems differ",
        arithmetic=f"{first} and {second} print the same number in {len(same)} of {compared} "
        "columns.",
        tolerance=None,
        chance=chance,
        severity="major",
        kind=NEEDS_RELEASE,
        what_would_settle="the scores of each source of the two systems",
    )


def check_repeated_cells(
    frame: pd.DataFrame, columns: Sequence[str], table: str = "", alpha: float = ALPHA
) -> list[Finding]:
    """Find numbers that stand twice in a column, if the table has more of them than chance gives.

    Rows that `check_copied_rows` reports are counted there and not here. The number of repeats is
    compared with a Poisson law whose mean is the number of pairs times the chance of each
    (`chance_of_equal`).
    """
    chances = _chances(frame, columns)
    copied = {(first, second) for first, second, *_ in _copied_pairs(frame, chances, alpha)}
    repeats = [
        (column, first, second)
        for first, second, same in _same_cells(frame, list(chances))
        for column in same
        if (first, second) not in copied
    ]
    repeats.sort(key=lambda repeat: list(chances).index(repeat[0]))
    expected = math.comb(len(frame), 2) * sum(chances.values())
    chance = _poisson_tail(len(repeats), expected)
    if not repeats or chance >= alpha:
        return []
    return [
        Finding(
            check="numbers stand twice in a column",
            cells=tuple(cell_name(table, row, c) for c, a, b in repeats for row in (a, b)),
            printed="; ".join(f"{c} {frame.loc[a, c]} for {a} and {b}" for c, a, b in repeats),
            expected=f"{expected:.2g} coincidences",
            arithmetic=f"{len(repeats)} repeats among {math.comb(len(frame), 2)} pairs of rows in "
            f"{len(chances)} columns; the spread of the columns lets {expected:.2g} be expected.",
            tolerance=None,
            chance=chance,
            severity="note",
            kind=NEEDS_RELEASE,
            what_would_settle="the scores of each source; a slip in copying is one explanation, "
            "chance another",
        )
    ]


def check_repeated_block(
    first: pd.DataFrame,
    second: pd.DataFrame,
    columns: Sequence[str],
    tables: tuple[str, str],
    claim: str,
) -> list[Finding]:
    """Find a block of cells that two tables share although they claim different data.

    Parameters
    ----------
    first, second : DataFrame of printed text, indexed by system
        The block is looked for over the systems that both have.
    columns : sequence of str
        Columns that both have.
    tables : tuple of str
        Names of the two tables.
    claim : str
        What the second table says its numbers rest on.

    Returns
    -------
    list of Finding
        One if every shared row is the same in every column, and none otherwise.
    """
    shared = [row for row in first.index if row in second.index]
    columns = list(columns)
    if not shared or not first.loc[shared, columns].equals(second.loc[shared, columns]):
        return []
    count = len(shared) * len(columns)
    spread = pd.concat([first[columns], second[columns]]).drop_duplicates()
    log_chance = len(shared) * sum(math.log10(p) for p in chance_of_equal(spread, columns).values())
    return [
        Finding(
            check=f"{tables[1]} repeats {tables[0]}",
            cells=tuple(cell_name(tables[1], row, c) for row in shared for c in columns),
            printed=f"{count} of {count} shared cells are the same ({', '.join(shared)})",
            expected=f"numbers of their own, if they rest on {claim}",
            arithmetic=f"{len(shared)} systems x {len(columns)} columns = {count} cells, all "
            f"printed alike to the last digit; for example {shared[0]}, {columns[0]}: "
            f"{first.loc[shared[0], columns[0]]} in both.",
            tolerance=None,
            chance=10.0 ** max(log_chance, -300.0),
            severity="major",
            kind=FOLLOWS,
            what_would_settle=f"the source scores over {claim} alone",
        )
    ]


def _poisson_tail(count: int, mean: float) -> float:
    """Return the probability of `count` or more events."""
    below = sum(mean**k / math.factorial(k) for k in range(count))
    return max(0.0, 1 - math.exp(-mean) * below)
