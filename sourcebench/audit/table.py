"""What a printed table implies about itself: the audit of any leaderboard.

Only the printed numbers are used, with the precision in which they are printed. A finding says what
follows from them, what is only likely, and what would settle it.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping, Sequence
from pathlib import Path

import pandas as pd

from sourcebench.audit.consistency import check_range, check_ranks
from sourcebench.audit.copies import ALPHA, check_copied_rows, check_repeated_cells
from sourcebench.audit.counts import check_common_n, check_means
from sourcebench.audit.findings import (
    MOST_CELLS,
    Finding,
    by_weight,
    cell_name,
    cleaned,
    findings_text,
)
from sourcebench.audit.formulas import check_formula
from sourcebench.audit.grim import BLANK, read_printed
from sourcebench.audit.rates import check_percentages
from sourcebench.audit.recompute import check_column, check_order, check_together
from sourcebench.rubric import CODES, SCALE, WEIGHTS

AVERAGE, WEIGHTED, RANK, SOURCES = "Avg", "Weighted", "Rank", "n"

# Larger files are not leaderboards.
MOST_BYTES = 2_000_000
MOST_ROWS = 1_000

_NAMES = {
    AVERAGE: ("avg", "average", "mean"),
    WEIGHTED: ("weighted", "weighted avg", "weighted average", "weighted score", "weighted source"),
    RANK: ("rank", "#"),
    SOURCES: ("n", "sources", "n_sources", "count"),
}
_KNOWN = {alias: name for name, aliases in _NAMES.items() for alias in aliases}
_KNOWN |= {code.lower(): code for code in CODES}


def audit_table(
    frame: pd.DataFrame,
    *,
    metrics: Sequence[str] = CODES,
    weights: Mapping[str, float] | None = None,
    scale: tuple[float, float] | None = SCALE,
    out_of: float = 100,
    n: Mapping[str, int] | int | None = None,
    n_max: int | None = None,
    trials: Mapping[str, int] | None = None,
    table: str = "",
    alpha: float = ALPHA,
) -> list[Finding]:
    """Audit one table of systems and scores.

    Parameters
    ----------
    frame : DataFrame
        Indexed by system, as `read_leaderboard` returns it: metric columns; if there, `Avg` (the
        plain mean of the metrics), `Weighted`, `Rank` and `n` (sources). Cells are printed text;
        floats work too, but have lost their trailing zeros.
    metrics : sequence of str
        The metric columns; by default the eight of SourceBench.
    weights : mapping of metric to number, optional
        Weights in `Weighted`. By default those of SourceBench for its eight metrics; for other
        metrics the column is then not recomputed.
    scale : tuple of float, optional
        Lowest and highest value of a metric; None if unknown, and ranges are not checked.
    out_of : float
        `Weighted` of a row of fives; 5 if it is a plain weighted mean.
    n : int or mapping of system to int, optional
        Sources behind the means, if they are means over sources with no score missing. By default
        the column `n`.
    n_max : int, optional
        If n is unknown: the most sources a system can have.
    trials : mapping of column to int, optional
        Columns that hold percentages, and out of how many items.
    table : str
        Name of the table, for the report.
    alpha : float
        Chance of a false alarm in each of the two checks that rest on chance (copied rows,
        repeated cells). The other checks allow for the worst rounding and raise none.

    Returns
    -------
    list of Finding
        Gravest first; empty if nothing is wrong.

    Raises
    ------
    ValueError
        If a metric column is absent, a system comes twice, or a cell is not a number.
    """
    if weights is None and set(metrics) == set(CODES):
        weights = WEIGHTS
    metrics = list(metrics if weights is None else weights)
    _check_frame(frame, metrics, weights)
    limits = _limits(frame, metrics, scale, out_of if weights else None) if scale else {}
    found = check_range(frame, limits, table)
    found += _check_follows(frame, metrics, weights, out_of, table)
    if RANK in frame:
        score = frame[WEIGHTED if WEIGHTED in frame else AVERAGE]
        found += check_ranks(score, frame[RANK], table)
    found += check_copied_rows(frame, metrics, table, alpha)
    found += check_repeated_cells(frame, metrics, table, alpha)
    sizes = _stated_sizes(frame) if n is None else n
    if sizes:
        found += check_means(frame, metrics, sizes, table)
    elif n_max is not None:
        found += check_common_n(frame, metrics, n_max, table)
    for column, items in (trials or {}).items():
        found += check_percentages(dict(frame[column]), items, column, table)
    return by_weight(found)


def _check_follows(
    frame: pd.DataFrame,
    metrics: Sequence[str],
    weights: Mapping[str, float] | None,
    out_of: float,
    table: str,
) -> list[Finding]:
    """Check the columns that should follow from the metrics."""
    found = []
    if AVERAGE in frame:
        found += check_column(frame, AVERAGE, dict.fromkeys(metrics, 1), SCALE[1], table)
    if WEIGHTED in frame and weights:
        for check in (check_column, check_order, check_formula):
            found += check(frame, WEIGHTED, weights, out_of, table)
        if AVERAGE in frame:
            found += check_together(frame, (AVERAGE, WEIGHTED), weights, out_of, table)
    return found


def _check_frame(
    frame: pd.DataFrame, metrics: Sequence[str], weights: Mapping[str, float] | None
) -> None:
    """Refuse a table that can't be audited, and say why."""
    missing = [metric for metric in metrics if metric not in frame]
    if missing or not metrics:
        raise ValueError(
            f"the table has no column {missing[0] if missing else 'with scores'!r}; its columns "
            f"are {', '.join(frame.columns)}. Name the metrics that it has with `metrics`"
        )
    if RANK in frame and WEIGHTED not in frame and AVERAGE not in frame:
        raise ValueError(f"a column {RANK!r} needs a column {WEIGHTED!r} or {AVERAGE!r} to rank by")
    if weights is not None and not (min(weights.values()) >= 0 < max(weights.values())):
        raise ValueError("weights must be 0 or more, and at least one above 0")
    twice = frame.index[frame.index.duplicated()]
    if len(twice):
        raise ValueError(f"system {twice[0]!r} has two rows; a system needs one name and one row")


def _limits(
    frame: pd.DataFrame, metrics: Sequence[str], scale: tuple[float, float], out_of: float | None
) -> dict[str, tuple[float, float]]:
    """Return the range that each column of a table can have."""
    low, high = scale
    limits = dict.fromkeys([*metrics, *([AVERAGE] if AVERAGE in frame else [])], (low, high))
    if WEIGHTED in frame and out_of:
        limits[WEIGHTED] = (out_of * low / high, out_of)
    return limits


def _stated_sizes(frame: pd.DataFrame) -> dict[str, int]:
    """Return the sources of each system from the column `n`, blanks left out."""
    if SOURCES not in frame:
        return {}
    sizes = {}
    for row, cell in frame[SOURCES].items():
        if str(cell).strip() in BLANK:
            continue
        number = read_printed(cell).value
        if number.denominator != 1 or number < 1:
            raise ValueError(
                f"row {row!r}, column {SOURCES!r}: {cell!r} is not a number of sources"
            )
        sizes[str(row)] = int(number)
    return sizes


def read_leaderboard(path: str | Path) -> pd.DataFrame:
    """Read a leaderboard file as printed text, with columns named as `audit_table` expects.

    Parameters
    ----------
    path : str or Path
        A UTF-8 file, comma-separated, or tab-separated if it ends in ``.tsv``. The first column
        names the systems. Metric codes, ``Avg``, ``Weighted``, ``Rank`` and ``n`` are found under
        their usual names in any case; other columns keep theirs. Empty cells are missing. A file
        with one row a system and column, as this package writes it (system, column, value, n), is
        taken too.

    Raises
    ------
    ValueError
        Names the file and, where there is one, the line and the field, and says what to do.
    """
    path = Path(path)
    rows = _one_row_a_system(_rows(path), path)
    header = [_KNOWN.get(cell.lower(), cell) for cell in rows[0][1]]
    if len(header) < 2:
        raise ValueError(
            f"{path}: only one column, {header[0]!r}; separate columns by commas, or name the "
            "file .tsv and separate them by tabs"
        )
    for name in header[1:]:
        if not name or header.count(name) > 1:
            raise ValueError(f"{path}, line 1: column {name!r} is empty or there twice; rename it")
    seen: dict[str, int] = {}
    for line, cells in rows[1:]:
        if len(cells) != len(header):
            raise ValueError(
                f"{path}, line {line}: {len(cells)} fields, but the header has {len(header)}; a "
                "field that holds a comma must stand in double quotes"
            )
        if not cells[0] or cells[0] in seen:
            where = f" (also on line {seen[cells[0]]})" if cells[0] in seen else ""
            raise ValueError(
                f"{path}, line {line}, field {header[0]!r}: {cells[0]!r} is not a name of its own"
                f"{where}; give every system one row and one name"
            )
        seen[cells[0]] = line
    _check_numbers(path, header, rows[1:])
    frame = pd.DataFrame([cells for _, cells in rows[1:]], columns=header, dtype=object)
    return frame.set_index(header[0]).rename_axis("system")


def _one_row_a_system(rows: list[tuple[int, list[str]]], path: Path) -> list[tuple[int, list[str]]]:
    """Turn rows of a system and a column into one row a system; other tables stay as they are."""
    header = [cell.lower() for cell in rows[0][1]]
    if not {"system", "column", "value"} <= set(header):
        return rows
    wide: dict[str, dict[str, str]] = {}
    columns: dict[str, None] = {}
    for line, cells in rows[1:]:
        row = dict(zip(header, cells, strict=False))
        if row.get("mean_over", "sources") != "sources":
            continue  # the mean over queries is another number of the same name
        system, column = row.get("system", ""), row.get("column", "")
        mine = wide.setdefault(system, {"n": row.get("n", "")})
        if not system or column in mine:
            raise ValueError(
                f"{path}, line {line}: {column!r} of {system!r} is there twice, or empty"
            )
        if row.get("n", "") != mine["n"]:
            raise ValueError(
                f"{path}, line {line}, field 'n': the means of {system!r} are over {mine['n']} and "
                f"{row['n']} sources; what follows from one mean for another is only known for equal n"
            )
        mine[column] = row.get("value", "")
        columns[column] = None
    names = [*columns, *(["n"] if "n" in header else [])]
    made = [[system, *(mine.get(name, "") for name in names)] for system, mine in wide.items()]
    return [(1, ["system", *names]), *enumerate(made, start=2)]


def _rows(path: Path) -> list[tuple[int, list[str]]]:
    """Return the non-empty lines of a file as stripped fields, with their line numbers."""
    if not path.is_file():
        raise ValueError(f"{path}: no such file; give a CSV file with one row a system")
    if path.stat().st_size > MOST_BYTES:
        raise ValueError(f"{path}: larger than {MOST_BYTES:,} bytes, which no leaderboard is")
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise ValueError(f"{path}: not UTF-8 text (byte {error.start}); save it as UTF-8") from None
    reader = csv.reader(
        io.StringIO(text, newline=""),
        delimiter="\t" if path.suffix.lower() == ".tsv" else ",",
        strict=True,
    )
    try:
        rows = [(reader.line_num, [cell.strip() for cell in row]) for row in reader if any(row)]
    except csv.Error as error:
        raise ValueError(f"{path}, line {reader.line_num}: {error}") from None
    if len(rows) < 2:
        raise ValueError(f"{path}: no systems; it needs a header line and one line a system")
    if len(rows) > MOST_ROWS + 1:
        raise ValueError(f"{path}: more than {MOST_ROWS:,} systems, which no leaderboard has")
    return rows


def _check_numbers(
    path: Path, header: Sequence[str], rows: Sequence[tuple[int, list[str]]]
) -> None:
    """Check that the numeric columns of a file hold numbers; a column of words is left alone."""
    for position, name in enumerate(header[1:], 1):
        errors = {}
        for line, cells in rows:
            if cells[position] not in BLANK:
                try:
                    read_printed(cells[position])
                except ValueError as error:
                    errors[line] = error
        filled = sum(cells[position] not in BLANK for _, cells in rows)
        if errors and (name in _NAMES or name in CODES or 2 * len(errors) < filled):
            line, error = next(iter(errors.items()))
            raise ValueError(f"{path}, line {line}, field {name!r}: {error}")


def audit_file(path: str | Path) -> tuple[list[Finding], str]:
    """Audit a leaderboard file; return the findings, and the report as text.

    A table with the eight metrics of SourceBench is audited with their weights. In any other, all
    numeric columns are taken for metrics on one scale, and a weighted column is not recomputed.

    Parameters
    ----------
    path : str or Path
        As for `read_leaderboard`.

    Raises
    ------
    ValueError
        As for `read_leaderboard`, and if no column holds scores.
    """
    frame = read_leaderboard(path)
    ours = all(code in frame for code in CODES)
    metrics = (
        list(CODES) if ours else [c for c in frame if c not in _NAMES and _is_numeric(frame[c])]
    )
    try:
        _check_scores(frame, metrics)
        findings = audit_table(
            frame, metrics=metrics, scale=SCALE if ours else None, table=Path(path).stem
        )
    except ValueError as error:
        raise ValueError(f"{path}: {error}") from None
    text = findings_text(findings, f"Audit of {Path(path).name}")
    return findings, text + "\n" + _scope(frame, metrics)


def run_audit(path: str | Path) -> str:
    """Audit a leaderboard file and return the report as text; see `audit_file`."""
    return audit_file(path)[1]


def _check_scores(frame: pd.DataFrame, metrics: Sequence[str]) -> None:
    """Refuse a table in which nothing could be wrong: none of the columns that an audit is about."""
    columns = ", ".join(map(cleaned, frame.columns))
    if not {*CODES, AVERAGE, WEIGHTED} & set(frame.columns):
        raise ValueError(
            f"no column with a metric ({', '.join(CODES)}), {AVERAGE} or {WEIGHTED}; its columns "
            f"are {columns}. Name the columns so"
        )
    if not metrics or all(cell in BLANK for name in metrics for cell in frame[name]):
        raise ValueError(f"no metric column with a score; its columns are {columns}")


def _is_numeric(column: pd.Series) -> bool:
    """Say whether a checked column holds plain numbers, not words and not percentages."""
    cells = [cell for cell in column if cell not in BLANK]
    if not cells or any(cell.endswith("%") for cell in cells):
        return False
    try:
        read_printed(cells[0])
    except ValueError:
        return False
    return True


def _scope(frame: pd.DataFrame, metrics: Sequence[str]) -> str:
    """Say what was looked at, and what could not be checked."""
    wanted = {
        AVERAGE: "the average",
        WEIGHTED: "the weighted score",
        RANK: "the ranks",
        SOURCES: "whether the means fit the number of sources",
    }
    lines = [f"Read: {len(frame)} systems; metrics {', '.join(metrics)}."]
    lines += [
        f"Not checked: {what}, for want of a column {column!r}."
        for column, what in wanted.items()
        if column not in frame
    ]
    named = [column for column in frame if column in wanted or column in metrics]
    cells = [(row, c) for c in named for row, cell in frame[c].items() if cell in BLANK]
    lines += [
        f"Not checked: {cell_name('', row, c)}: the cell is empty." for row, c in cells[:MOST_CELLS]
    ]
    if len(cells) > MOST_CELLS:
        lines.append(f"Not checked: {len(cells) - MOST_CELLS} more cells that are empty.")
    if WEIGHTED in frame and set(metrics) != set(CODES):
        lines.append("Not checked: the weighted score, since the weights are unknown.")
    others = [column for column in frame if column not in _NAMES and column not in metrics]
    if others:
        lines.append(f"Not looked at: {', '.join(others)}.")
    return "".join(f"{cleaned(line)}\n" for line in lines)
