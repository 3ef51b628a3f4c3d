"""Printed columns that must agree with each other: one quantity, ranks, order, range."""

from __future__ import annotations

import itertools
from collections.abc import Mapping, Sequence

import pandas as pd

from sourcebench.audit.findings import FOLLOWS, Finding, cell_name
from sourcebench.audit.grim import Printed, printed_cells

Cells = Mapping[str, Printed]


def check_same(
    first: pd.Series,
    second: pd.Series,
    names: tuple[str, str],
    expected: Mapping[str, Printed] | None = None,
) -> list[Finding]:
    """Find rows where two tables print the same quantity differently.

    Parameters
    ----------
    first, second : Series of printed text, indexed by system
        Compared over the systems they share. Values one unit of the last digit apart differ: only
        an exact tie, rounded both ways, could print as both.
    names : tuple of str
        What to call the two columns, such as ``"Table 5, Overall"``.
    expected : mapping of system to Printed, optional
        The same quantity recomputed from something else; the finding then says which column
        agrees with it how often.
    """
    shared = [row for row in first.index if row in second.index]
    left = printed_cells(first[shared].to_frame("cell"), ["cell"])
    right = printed_cells(second[shared].to_frame("cell"), ["cell"])
    pairs = {
        row: (left[row]["cell"], right[row]["cell"]) for row in shared if left[row] and right[row]
    }
    off = {row: (a, b) for row, (a, b) in pairs.items() if a.low >= b.high or b.low >= a.high}
    if not off:
        return []
    tolerance = float(max(abs(a.half - b.half) for a, b in off.values()))
    differences = {row: float(a.value - b.value) for row, (a, b) in off.items()}
    far = max(abs(float((a.value - b.value) / (a.half + b.half))) for a, b in off.values()) > 100
    return [
        Finding(
            check="the same quantity is printed with two values",
            cells=tuple(f"{name}: {row}" for row in off for name in names),
            printed="; ".join(f"{row} {a.text} and {b.text}" for row, (a, b) in off.items()),
            expected="one value for each system",
            arithmetic=f"{names[0]} minus {names[1]}: "
            + ", ".join(f"{row} {d:+.3f}" for row, d in differences.items())
            + f"; {len(pairs) - len(off)} of {len(pairs)} rows agree."
            + _agreements(pairs, names, expected or {}),
            tolerance=tolerance,
            chance=None,
            severity="major" if far else "minor",
            kind=FOLLOWS,
            what_would_settle="the scores of each source, and which of the two was computed later",
        )
    ]


def _agreements(
    pairs: Mapping[str, tuple[Printed, Printed]],
    names: tuple[str, str],
    expected: Mapping[str, Printed],
) -> str:
    """Say how often each of two columns agrees with a third computation."""
    rows = [row for row in pairs if row in expected]
    if not rows:
        return ""
    counts = [
        sum(pairs[row][side].allows(expected[row].low, expected[row].high) for row in rows)
        for side in (0, 1)
    ]
    return (
        f" Recomputed from the means, {names[0]} agrees in {counts[0]} of {len(rows)} rows, "
        f"{names[1]} in {counts[1]}."
    )


def check_ranks(
    scores: pd.Series, ranks: pd.Series, table: str = "", others: pd.Series | None = None
) -> list[Finding]:
    """Check printed ranks against printed scores, and place systems that other tables print.

    Parameters
    ----------
    scores, ranks : Series of printed text, indexed by system
        Rank 1 is the highest score.
    table : str
        Name of the table, for the report.
    others : Series of printed text, optional
        Scores of systems that have no printed rank; they must fit into the free ranks.
    """
    score, rank = _values(scores), _values(ranks)
    known = sorted((row for row in rank if row in score), key=lambda row: rank[row].value)
    wrong = [(a, b) for a, b in itertools.combinations(known, 2) if _misranked(a, b, score, rank)]
    if wrong:
        return [_wrong_ranks(wrong, score, rank, table)]
    placed = {} if others is None else _values(others)
    extra = {name: value for name, value in placed.items() if name not in rank}
    return _check_free_ranks(score, rank, known, extra, table)


def _misranked(a: str, b: str, score: Cells, rank: Cells) -> bool:
    """Say whether a system, ranked no worse than another, has the surely lower score."""
    tied = rank[a].value == rank[b].value
    return score[b].low > score[a].high or (tied and score[a].low > score[b].high)


def _wrong_ranks(
    wrong: Sequence[tuple[str, str]], score: Cells, rank: Cells, table: str
) -> Finding:
    """Return the finding for pairs whose ranks contradict their scores."""
    names = dict.fromkeys(name for pair in wrong for name in pair)
    shown = "; ".join(
        f"{b} {score[b].text} (rank {rank[b].text}) against {a} {score[a].text} "
        f"(rank {rank[a].text})"
        for a, b in wrong
    )
    return Finding(
        check="ranks do not follow the scores",
        cells=tuple(cell_name(table, name, "Rank") for name in names),
        printed="; ".join(f"{name} rank {rank[name].text}" for name in names),
        expected="a higher score has a lower rank number",
        arithmetic=shown,
        tolerance=float(2 * max(value.half for value in score.values())),
        chance=None,
        severity="critical",
        kind=FOLLOWS,
        what_would_settle="which of the two columns is the intended one",
    )


def _check_free_ranks(
    score: Cells, rank: Cells, known: Sequence[str], extra: Cells, table: str
) -> list[Finding]:
    """Place systems without a printed rank between the printed ones, and report what that needs."""
    if not extra or not known:
        return []
    bounds = [None, *known, None]
    lines, problems = [], []
    for above, below in itertools.pairwise(bounds):
        first = int(rank[above].value) + 1 if above else 1
        names = sorted(
            (
                n
                for n, v in extra.items()
                if (not above or v.value <= score[above].value)
                and (not below or v.value > score[below].value)
            ),
            key=lambda n: -extra[n].value,
        )
        free = int(rank[below].value) - first if below else len(names)
        if free or names:
            lines.append(_slot(first, free, names, extra, score, above, below))
        if len(names) > free:
            problems.append(lines[-1])
    return [
        Finding(
            check="more scores than free ranks" if problems else "unprinted ranks",
            cells=tuple(cell_name(table, row, "Rank") for row in known),
            printed=", ".join(rank[row].text for row in known),
            expected="every score of another table has a free rank",
            arithmetic="; ".join(problems or lines) + ".",
            tolerance=None,
            chance=None,
            severity="major" if problems else "note",
            kind=FOLLOWS,
            what_would_settle="the rows that are not printed",
        )
    ]


def _slot(
    first: int,
    free: int,
    names: Sequence[str],
    extra: Cells,
    score: Cells,
    above: str | None,
    below: str | None,
) -> str:
    """Describe the ranks between two printed rows and who can hold them."""
    ranks = f"rank {first}" if free < 2 else f"ranks {first}-{first + free - 1}"
    holders = [f"{name} {extra[name].text}" for name in names]
    if below and free > len(names):
        low, high = score[below].text, score[above].text if above else "the maximum"
        holders.append(f"{free - len(names)} not printed, between {low} and {high}")
    ladder = [score[above].value] if above else []
    ladder += [extra[name].value for name in names]
    gaps = [f"{float(a - b):.3f}" for a, b in itertools.pairwise(ladder)]
    steps = f" (steps {', '.join(gaps)})" if not below and gaps else ""
    return f"{ranks}: {', '.join(holders) or 'nobody'}{steps}"


def _values(column: pd.Series) -> dict[str, Printed]:
    """Read a printed column, blanks left out."""
    cells = printed_cells(column.to_frame("cell"), ["cell"])
    return {row: values["cell"] for row, values in cells.items() if values}


def check_sorted(
    frame: pd.DataFrame, column: str, table: str = "", claim: str = ""
) -> list[Finding]:
    """Check that rows stand in descending order of a column, as a caption claims."""
    values = _values(frame[column])
    rows = list(values)
    steps = [(a, b) for a, b in itertools.pairwise(rows) if values[b].low > values[a].high]
    if not steps:
        return []
    rising = [c for c in frame.columns if _rises(frame[c])]
    also = f" They do rise in {', '.join(rising)}." if rising else ""
    return [
        Finding(
            check=f"rows are not ordered by {column}",
            cells=tuple(cell_name(table, row, column) for pair in steps for row in pair),
            printed=", ".join(values[row].text for row in rows),
            expected=claim or "descending order",
            arithmetic="; ".join(
                f"{b} {values[b].text} stands below {a} {values[a].text}" for a, b in steps
            )
            + f".{also}",
            tolerance=float(2 * max(v.half for v in values.values())),
            chance=None,
            severity="note",
            kind=FOLLOWS,
            what_would_settle="the ranking that the caption refers to",
        )
    ]


def _rises(column: pd.Series) -> bool:
    """Say whether a printed column rises from row to row."""
    values = [v.value for v in _values(column).values()]
    return all(a < b for a, b in itertools.pairwise(values))


def check_range(
    frame: pd.DataFrame, limits: Mapping[str, tuple[float, float]], table: str = ""
) -> list[Finding]:
    """Find cells outside the range that their column can have."""
    found = []
    cells = printed_cells(frame, list(limits))
    for column, (low, high) in limits.items():
        rows = [r for r, v in cells.items() if column in v and not low <= v[column].value <= high]
        if rows:
            found.append(
                Finding(
                    check=f"{column} outside its range",
                    cells=tuple(cell_name(table, row, column) for row in rows),
                    printed="; ".join(cells[row][column].text for row in rows),
                    expected=f"{low:g} to {high:g}",
                    arithmetic=f"{len(rows)} of {len(frame)} cells lie outside {low:g} to {high:g}.",
                    tolerance=None,
                    chance=None,
                    severity="major",
                    kind=FOLLOWS,
                    what_would_settle="the scale of this column",
                )
            )
    return found
