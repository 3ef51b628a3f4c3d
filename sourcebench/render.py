"""Writes a table as CSV, JSON, LaTeX and HTML; all rounding and escaping of output lives here."""

from __future__ import annotations

import html
import json
import math
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from decimal import ROUND_HALF_UP, Decimal
from pathlib import Path
from typing import Any

import pandas as pd

from sourcebench.latex import DASH, tex, to_latex
from sourcebench.statistics.intervals import MIN_COVERAGE
from sourcebench.study import write_atomic

SHORT = 24  # letters of a text that is not broken between words
_MINUS = re.compile(r"(?<![\w.])-(?=\.?\d)")


def steady(value: float) -> float:
    """Return a number with 12 significant digits, the same on every machine.

    Processors add in different orders and with different units, so sums differ in their last bits.
    """
    return float(f"{value:.12g}")


def rounded(value: float | None, digits: int = 2) -> str:
    """Return a number with a fixed number of decimals, halves rounded up from its printed form.

    2.675 becomes 2.68 and 4.125 becomes 4.13, in tables, labels and text alike; a zero has no sign.
    A missing number becomes a dash.
    """
    if value is None or value is pd.NA or not math.isfinite(value):
        return DASH
    exact = Decimal(repr(steady(value)))
    text = str(exact.quantize(Decimal(1).scaleb(-digits), rounding=ROUND_HALF_UP))
    return text.lstrip("-") if not float(text) else text


def interval(low: float, high: float, digits: int = 2) -> str:
    """Return an interval in brackets, or a dash where there is none."""
    if not (math.isfinite(low) and math.isfinite(high)):
        return DASH
    return f"[{rounded(low, digits)}, {rounded(high, digits)}]"


def with_minus(text: str) -> str:
    """Set the sign of negative numbers in a text as a minus, not as a hyphen."""
    return _MINUS.sub("−", text)


def enough(n: int, expected: int) -> bool:
    """Whether enough rows carry a value for a mean of them to be shown."""
    return n > 0 and n >= MIN_COVERAGE * expected


def estimate_cell(estimate: Any, digits: int = 2) -> str:
    """Return an estimate as three lines: value, interval, and how many of how many rows carry it.

    A mean that too few of its rows carry is not shown: what the others hold could turn it round.
    """
    counted = f"{estimate.n} of {estimate.expected}"
    if not enough(estimate.n, estimate.expected):
        return f"{DASH}\n{counted}, too few" if estimate.n else f"{DASH}\n{counted}"
    lines = [rounded(estimate.value, digits), interval(estimate.low, estimate.high, digits)]
    return "\n".join([*lines, counted])


@dataclass(frozen=True)
class Saved:
    """The files of a table, shown in a notebook as the HTML that was written."""

    name: str
    paths: tuple[Path, ...]

    def _repr_html_(self) -> str:
        page = next(path for path in self.paths if path.suffix == ".html")
        return page.read_text(encoding="utf-8")


def save_table(
    frame: pd.DataFrame,
    name: str,
    out: str | Path,
    *,
    title: str,
    note: str = "",
    shown: pd.DataFrame | None = None,
) -> Saved:
    """Write a table in four forms.

    Parameters
    ----------
    frame
        The numbers, tidy and unrounded: written as CSV and JSON with 12 significant digits.
    name
        File name without ending, such as `table-4-leaderboard`.
    out
        Folder of the artefacts.
    title, note
        Heading, and what a reader must know; both are escaped.
    shown
        The cells as a reader sees them, written as LaTeX (booktabs) and HTML; a line feed in a cell
        starts a new line in it. By default the frame itself, numbers with two decimals.

    Returns
    -------
    Saved
        Shows the HTML file in a notebook.
    """
    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    shown = _as_text(frame if shown is None else shown)
    contents = {
        ".csv": to_csv(frame),
        ".json": to_json(frame, title, note),
        ".tex": to_latex(shown.map(with_minus), with_minus(title), with_minus(note), label=name),
        ".html": to_html(shown, title, note),
    }
    for suffix, text in contents.items():
        write_atomic(out / (name + suffix), text)
    return Saved(name, tuple(out / (name + suffix) for suffix in contents))


def save_numbers(numbers: Mapping[str, str], name: str, out: str | Path) -> Path:
    """Write numbers as LaTeX macros, so that a text quotes what the tables say.

    Parameters
    ----------
    numbers
        Macro name (letters only) to the text it prints.
    name
        File name without ending.

    Raises
    ------
    ValueError
        If a macro name has anything but letters.
    """
    for macro in numbers:
        if not (macro.isascii() and macro.isalpha()):
            raise ValueError(f"macro name {macro!r}: LaTeX takes letters only")
    lines = [f"\\newcommand{{\\{macro}}}{{{tex(text)}}}\n" for macro, text in numbers.items()]
    path = Path(out) / f"{name}.tex"
    path.parent.mkdir(parents=True, exist_ok=True)
    write_atomic(path, "".join(lines))
    return path


def _as_text(frame: pd.DataFrame) -> pd.DataFrame:
    """Turn every cell into the text that is shown."""
    return frame.map(_cell_text) if len(frame.columns) else frame


def _cell_text(value: Any) -> str:
    """Return how one value is shown."""
    if isinstance(value, str):
        return value
    if value is None or value is pd.NA or (isinstance(value, float) and math.isnan(value)):
        return DASH
    if isinstance(value, bool):
        return "yes" if value else "no"
    return str(value) if isinstance(value, int) or hasattr(value, "bit_count") else rounded(value)


def to_csv(frame: pd.DataFrame) -> str:
    """Return CSV with 12 significant digits that a spreadsheet opens without running anything."""
    return frame.map(_csv_value).to_csv(index=False, lineterminator="\n")


def _csv_value(value: Any) -> Any:
    """Return a value as a CSV holds it."""
    if isinstance(value, float):
        return steady(value)
    return defused(value) if isinstance(value, str) else value


def defused(text: str) -> str:
    """Put an apostrophe before a text that a spreadsheet would take for a formula."""
    return "'" + text if text and text[0] in "=+-@\t\r" else text


def to_json(frame: pd.DataFrame, title: str, note: str) -> str:
    """Return title, note and rows as JSON with 12 significant digits; missing is null."""
    rows = [
        {str(k): _json_value(v) for k, v in row.items()} for row in frame.to_dict(orient="records")
    ]
    content = {"title": title, "note": note, "rows": rows}
    return json.dumps(content, ensure_ascii=False, indent=1, allow_nan=False) + "\n"


def _json_value(value: Any) -> Any:
    """Return a value that JSON knows."""
    if value is None or value is pd.NA or (isinstance(value, float) and not math.isfinite(value)):
        return None
    if isinstance(value, float):
        return steady(value)
    return value.item() if hasattr(value, "item") else value


_STYLE = (  # alignment beats that of the page around it, such as a notebook
    "div.sourcebench{overflow-x:auto}"
    "table.sourcebench{border-collapse:collapse;font:14px/1.35 system-ui,sans-serif;color:#222}"
    "table.sourcebench caption{caption-side:top;text-align:left;font-weight:600;padding:0 0 8px}"
    "table.sourcebench th{border-top:2px solid #222;border-bottom:1px solid #222;font-weight:600}"
    "table.sourcebench th,table.sourcebench td{padding:4px 8px;text-align:left!important;vertical-align:top}"
    "table.sourcebench td.num,table.sourcebench th.num{text-align:right!important;font-variant-numeric:tabular-nums}"
    "table.sourcebench td.short{white-space:nowrap}"
    "table.sourcebench tbody tr+tr td{border-top:1px solid #ddd}"
    "table.sourcebench tbody tr:last-child td{border-bottom:2px solid #222}"
    "table.sourcebench small{color:#555;white-space:nowrap}"
    "p.sourcebench{font:13px/1.4 system-ui,sans-serif;color:#444;max-width:60em}"
)


def to_html(shown: pd.DataFrame, title: str, note: str) -> str:
    """Return a self-contained HTML table; every text is escaped."""
    kinds = [_kind(shown.iloc[:, i]) for i in range(len(shown.columns))]
    head = _html_row("th", [str(name) for name in shown.columns], kinds)
    body = "".join(_html_row("td", row, kinds) + "\n" for row in shown.to_numpy())
    below = f'<p class="sourcebench">{html.escape(with_minus(note))}</p>\n' if note else ""
    caption = html.escape(with_minus(title))
    return (
        f"<style>{_STYLE}</style>\n"
        f'<div class="sourcebench">\n<table class="sourcebench">\n<caption>{caption}</caption>\n'
        f"<thead>{head}</thead>\n<tbody>\n{body}</tbody>\n</table>\n{below}</div>\n"
    )


def _html_row(tag: str, cells: Sequence[str], kinds: Sequence[str]) -> str:
    """Return one row of cells."""
    marked = (f' class="{kind}"' if kind else "" for kind in kinds)
    pairs = zip(cells, marked, strict=True)
    return "<tr>" + "".join(f"<{tag}{k}>{_html_cell(c)}</{tag}>" for c, k in pairs) + "</tr>"


def _kind(column: pd.Series) -> str:
    """Return the class of a column: numbers to the right, short texts in one line."""
    firsts = [cell.split("\n")[0] for cell in column]
    bare = [first.lstrip("<>- ").rstrip("%").replace(".", "").replace(",", "") for first in firsts]
    if bare and all(text.isdigit() or text in (DASH, "") for text in bare):
        return "num"
    return "short" if all(len(first) <= SHORT for first in firsts) else ""


def _html_cell(cell: str) -> str:
    """Return one cell, escaped; further lines are smaller and stand below."""
    first, *rest = (html.escape(line) for line in with_minus(cell).split("\n"))
    return first + "".join(f"<br><small>{line}</small>" for line in rest)
