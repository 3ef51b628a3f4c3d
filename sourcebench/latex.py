"""Writes a table in LaTeX that fits a page: wide ones in panels, long ones continued."""

from __future__ import annotations

import re
import textwrap
from collections.abc import Sequence
from math import ceil
from typing import NamedTuple

import pandas as pd

DASH = "–"  # stands where there is no number; the table's note says why

# An article's text block in points, and how wide letters and lines of the two sizes are on average.
WIDTH, LINES = 340.0, 44
LETTER, SMALL_LETTER, GAP = 4.3, 3.5, 6.0
RAGGED = 1.25  # lines of a paragraph that is not justified, beyond those that its letters fill
NARROWEST = 60.0  # of a column of running text

# What LaTeX can't print as it stands. Letters beyond Latin get their name in maths.
_TEX = {
    "\\": r"\textbackslash{}",
    "{": r"\{",
    "}": r"\}",
    "_": r"\_",
    "&": r"\&",
    "%": r"\%",
    "#": r"\#",
    "$": r"\$",
    "~": r"\textasciitilde{}",
    "^": r"\textasciicircum{}",
    "<": r"\textless{}",
    ">": r"\textgreater{}",
    "|": r"\textbar{}",
    '"': "''",
    "“": "``",
    "”": "''",
    "‘": "`",
    "’": "'",
    "–": "--",
    "—": "---",
    "…": r"\ldots{}",
    "−": r"\ensuremath{-}",
    "×": r"\ensuremath{\times}",
    "±": r"\ensuremath{\pm}",
    "≥": r"\ensuremath{\geq}",
    "≤": r"\ensuremath{\leq}",
    "→": r"\ensuremath{\rightarrow}",
    "\u00a0": "~",
}
_GREEK = "alpha beta gamma delta epsilon zeta eta theta iota kappa lambda mu nu xi omicron pi rho"
_TEX |= {
    chr(0x3B1 + place): rf"\ensuremath{{\{name}}}"
    for place, name in enumerate(_GREEK.split())
    if name != "omicron"
}


_NUMBER = re.compile(r"^Table \d+\. ")


class Column(NamedTuple):
    """How one column is set: letter or paragraph, and its width in points."""

    kind: str
    width: float


def tex(text: str) -> str:
    """Escape a text for LaTeX; characters outside its fonts become their code in brackets."""
    return "".join(_TEX.get(c) or (c if ord(c) < 0x180 else f"[U+{ord(c):04X}]") for c in text)


def to_latex(shown: pd.DataFrame, title: str, note: str, label: str) -> str:
    """Return a LaTeX table that needs only the booktabs package.

    Columns of running text share the width that the others leave. A table that is still too wide is
    cut into panels that repeat the first column; one that is too long goes on in a further float.

    Parameters
    ----------
    shown
        Every cell as text; a line feed starts a new, smaller line.
    title, note, label
        Caption, text below, and the name to refer to.
    """
    columns = _columns(shown)
    parts = [(rows, panel) for rows in _pages(shown, columns) for panel in _panels(columns)]
    floats = []
    for place, (rows, panel) in enumerate(parts):
        part = shown.iloc[rows, panel]
        body = _tabular(part, [columns[i] for i in panel])
        below = note if place == len(parts) - 1 else ""
        floats.append(_float(body, title, label if place == 0 else "", below))
    return "\n".join(floats)


def _float(body: list[str], title: str, label: str, note: str) -> str:
    """Return one floating table; without a label it continues the one before."""
    heading = tex(_NUMBER.sub("", title))  # LaTeX counts tables itself
    caption = rf"\caption{{{heading}}}\label{{{label}}}"
    if not label:
        caption = rf"\addtocounter{{table}}{{-1}}\caption{{{heading} (continued)}}"
    lines = [
        r"\begin{table}",
        r"\centering\footnotesize\setlength{\tabcolsep}{3pt}",
        caption,
        *body,
    ]
    if note:
        lines.append(
            rf"\par\smallskip\begin{{minipage}}{{\linewidth}}\footnotesize {tex(note)}\end{{minipage}}"
        )
    return "\n".join([*lines, r"\end{table}", ""])


def _tabular(part: pd.DataFrame, columns: Sequence[Column]) -> list[str]:
    """Return the lines of one tabular."""
    stacked = any("\n" in cell for cell in part.to_numpy().ravel())
    end = r" \\[3pt]" if stacked else r" \\"
    kinds = [f"p{{{c.width:.0f}pt}}" if c.kind == "p" else c.kind for c in columns]
    heads = (_head(str(name), c) for name, c in zip(part.columns, columns, strict=True))
    return [
        rf"\begin{{tabular}}{{{''.join(kinds)}}}",
        r"\toprule",
        " & ".join(heads) + r" \\",
        r"\midrule",
        *(
            " & ".join(_cell(cell, c) for cell, c in zip(row, columns, strict=True)) + end
            for row in part.to_numpy()
        ),
        r"\bottomrule",
        r"\end{tabular}",
    ]


def _columns(shown: pd.DataFrame) -> list[Column]:
    """Return how each column is set, running text narrowed to what the rest leaves."""
    stacked = any("\n" in cell for cell in shown.to_numpy().ravel())
    places = range(len(shown.columns))
    natural = [_natural(shown.iloc[:, i]) for i in places]
    kinds = [_kind(shown.iloc[:, i], stacked and i > 0) for i in places]
    room = WIDTH - GAP * len(natural)
    if sum(natural) <= room:
        return [Column(*pair) for pair in zip(kinds, natural, strict=True)]
    wide, left = _broken([natural[i] if _is_text(shown, i) else 0.0 for i in places], natural, room)
    for i, width in zip(wide, _shared([natural[i] for i in wide], left), strict=True):
        kinds[i], natural[i] = "p", max(width, _longest_word(shown.iloc[:, i]))
    return [Column(*pair) for pair in zip(kinds, natural, strict=True)]


def _broken(
    text: Sequence[float], natural: Sequence[float], room: float
) -> tuple[list[int], float]:
    """Return which columns to break into lines, as few as will do, and the width left for them.

    Parameters
    ----------
    text
        Width of each column of running text, 0 for the others.
    natural
        Width of each column.
    room
        Width of all.
    """
    widest = sorted(
        (i for i, width in enumerate(text) if width > NARROWEST), key=lambda i: -text[i]
    )
    for count in range(1, len(widest) + 1):
        wide = widest[:count]
        left = room - sum(width for i, width in enumerate(natural) if i not in wide)
        if left >= NARROWEST * count:
            return wide, left
    wide = [i for i in widest if text[i] > 3 * NARROWEST]
    return wide, 2 * NARROWEST * len(wide)


def _shared(natural: Sequence[float], room: float) -> list[float]:
    """Share a width by the square root of what each column would take, so that no one starves."""
    total = sum(width**0.5 for width in natural)
    return [max(room * width**0.5 / total, NARROWEST / 2) for width in natural]


def _longest_word(column: pd.Series) -> float:
    """Return the width below which a column can't go, since no word is broken."""
    words = [word for cell in [str(column.name), *column] for word in cell.split()]
    return LETTER * max(map(len, words), default=0)


def _is_text(shown: pd.DataFrame, place: int) -> bool:
    """Whether a column holds running text, which may be broken between words."""
    cells = list(shown.iloc[:, place])
    return any(" " in cell for cell in cells) and not any("\n" in cell for cell in cells)


def _natural(column: pd.Series) -> float:
    """Return the width of a column that breaks no line, heading included."""
    cells = [_width(cell) for cell in column]
    head = max(len(line) for line in _head_lines(str(column.name), max(cells, default=0.0)))
    return max([*cells, LETTER * head])


def _width(cell: str) -> float:
    """Return the estimated width of a cell; its further lines are smaller."""
    first, *rest = cell.split("\n")
    return max([LETTER * len(first), *(SMALL_LETTER * len(line) for line in rest)])


def _kind(column: pd.Series, stacked: bool) -> str:
    """Return how a column is set: numbers right, stacks in the middle, the rest left."""
    cells = list(column)
    if stacked:
        return "c"
    bare = (cell.lstrip("<>-− ").rstrip("%").replace(".", "").replace(",", "") for cell in cells)
    return "r" if all(cell in ("", DASH) or cell.isdigit() for cell in bare) else "l"


def _panels(columns: Sequence[Column]) -> list[list[int]]:
    """Cut columns into even panels that fit the width, each with the first column."""
    first = columns[0].width + GAP if columns else 0.0
    others = list(range(1, len(columns)))
    total = sum(columns[i].width + GAP for i in others)
    count = max(1, -(-int(total) // max(1, int(WIDTH - first))))
    while True:
        size = -(-len(others) // count) if others else 1
        panels = [others[i : i + size] for i in range(0, len(others), size)] or [[]]
        widest = max(sum(columns[i].width + GAP for i in panel) for panel in panels)
        if size == 1 or first + widest <= WIDTH:
            return [[0, *panel] if columns else [] for panel in panels]
        count += 1


def _pages(shown: pd.DataFrame, columns: Sequence[Column]) -> list[slice]:
    """Cut rows into runs that fit the height of a page."""
    cuts, used = [0], 0
    for place, row in enumerate(shown.to_numpy()):
        lines = max((_lines(cell, c) for cell, c in zip(row, columns, strict=True)), default=1)
        if used and used + lines > LINES:
            cuts.append(place)
            used = 0
        used += lines
    return [slice(a, b) for a, b in zip(cuts, [*cuts[1:], len(shown)], strict=True)]


def _lines(cell: str, column: Column) -> int:
    """Return how many lines a cell takes."""
    if column.kind == "p":
        return max(1, ceil(RAGGED * LETTER * len(cell) / column.width))
    return cell.count("\n") + 1


def _head_lines(name: str, width: float) -> list[str]:
    """Break a heading that is wider than what stands below it."""
    return textwrap.wrap(name, max(10, int(width / LETTER)), break_long_words=False) or [""]


def _head(name: str, column: Column) -> str:
    """Return a heading, in several lines where it is long."""
    lines = [tex(line) for line in _head_lines(name, column.width)]
    if len(lines) == 1:
        return lines[0]
    side = {"p": "l"}.get(column.kind, column.kind)
    return rf"\begin{{tabular}}[b]{{@{{}}{side}@{{}}}}" + r" \\ ".join(lines) + r"\end{tabular}"


def _cell(cell: str, column: Column) -> str:
    """Return one cell; further lines are smaller and stand below."""
    if column.kind == "p":
        return rf"{{\raggedright {tex(cell)}\par}}"
    first, *rest = cell.split("\n")
    if not rest:
        # After a row's end LaTeX would read a bracket or star as part of the command.
        return "{}" * first.startswith(("[", "*")) + tex(first)
    below = "".join(rf"\\ \scriptsize {tex(line)}" for line in rest)
    return rf"\begin{{tabular}}[t]{{@{{}}c@{{}}}}{tex(first)}{below}\end{{tabular}}"
