"""One function a figure of the paper: a tidy frame in, a drawn figure out; style set in one place."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sourcebench.render import rounded, to_csv, with_minus
from sourcebench.rubric import CODES
from sourcebench.study import write_atomic

if TYPE_CHECKING:
    from matplotlib.axes import Axes
    from matplotlib.figure import Figure

# Okabe and Ito's colours, safe for colour-blind readers; grey text stays readable in print.
INK, MUTED, BLUE, ORANGE, GREEN = "#222222", "#666666", "#0072B2", "#D55E00", "#009E73"
# Shares of statements: blue is backed, orange is not, lighter is a poorer source, grey is unknown.
SHARES = (BLUE, "#9ecae1", "#d3e5f2", ORANGE, "#fdae6b", "#fde0c5", MUTED, "#cccccc")

STYLE = {
    "font.family": "DejaVu Sans",  # ships with matplotlib, so every machine draws the same letters
    "font.size": 9,
    "axes.titlesize": 10,
    "axes.titleweight": "bold",
    "axes.titlelocation": "left",
    "axes.edgecolor": MUTED,
    "axes.labelcolor": INK,
    "axes.spines.top": False,
    "axes.spines.right": False,
    "axes.grid": False,
    "xtick.color": INK,
    "ytick.color": INK,
    "figure.dpi": 110,
    "savefig.dpi": 200,
    "text.parse_math": False,  # a dollar sign in a name is a dollar sign
    "svg.hashsalt": "sourcebench",
    "svg.fonttype": "path",
    "figure.constrained_layout.use": True,
}


@contextmanager
def paper_style() -> Iterator[None]:
    """Draw in the style of the paper inside this block."""
    import matplotlib as mpl

    with mpl.rc_context(STYLE):
        yield


@dataclass(frozen=True)
class SavedFigure:
    """The files of a figure, shown in a notebook as the PNG that was written."""

    name: str
    paths: tuple[Path, ...]

    def _repr_png_(self) -> bytes:
        return next(path for path in self.paths if path.suffix == ".png").read_bytes()


def save_figure(figure: Figure, data: pd.DataFrame, name: str, out: str | Path) -> SavedFigure:
    """Write a figure as SVG and PNG and its numbers as CSV, close it, and return what was written.

    The files carry no date and no random identity: the same numbers give the same bytes.
    """
    import matplotlib.pyplot as plt

    out = Path(out)
    out.mkdir(parents=True, exist_ok=True)
    paths = tuple(out / (name + suffix) for suffix in (".svg", ".png", ".csv"))
    with paper_style():
        figure.savefig(paths[0], metadata={"Date": None, "Creator": None})
        figure.savefig(paths[1], metadata={"Software": None})
    plt.close(figure)
    write_atomic(paths[2], to_csv(data))
    return SavedFigure(name, paths)


def _axes(width: float, height: float, **kwargs) -> tuple[Figure, Axes]:
    """Return a new figure with one or more axes."""
    import matplotlib.pyplot as plt

    return plt.subplots(figsize=(width, height), **kwargs)


def forest(long: pd.DataFrame, title: str, label: str) -> Figure:
    """Draw the mean of each system with its interval, best first.

    Parameters
    ----------
    long
        One row a system: name, value, low, high, n, expected, leader (whether the tests leave it
        the first place) and enough (whether enough rows carry a value for the mean to be shown).
    title, label
        Heading, and what the x axis shows.
    """
    shown = long.assign(value=long["value"].where(long["enough"].astype(bool)))
    rows = shown.sort_values(["value", "name"], ascending=[True, False], na_position="first")
    with paper_style():
        figure, axes = _axes(6.4, 0.9 + 0.34 * max(len(rows), 1))
        for place, row in enumerate(rows.itertuples()):
            _forest_row(axes, place, row)
        if not rows["value"].notna().any():
            axes.text(0.5, 0.5, "nothing measured", transform=axes.transAxes, ha="center")
        axes.set_yticks(range(len(rows)), rows["name"])
        axes.set_ylim(-0.7, max(len(rows), 1) - 0.3)
        axes.set(xlabel=label, title=_wrapped(title, 5))
        axes.xaxis.grid(True, color="#dddddd", lw=0.6)
        axes.set_axisbelow(True)
    return figure


def _forest_row(axes: Axes, place: int, row) -> None:
    """Draw one system: its interval, its mean, and both as numbers beside the axes."""
    text = f"{rounded(row.value, 1)}   {row.n} of {row.expected}"
    if not np.isfinite(row.value):
        text += ", too few" if row.n else ""
    axes.text(1.01, place, text, transform=axes.get_yaxis_transform(), va="center", color=MUTED)
    if not np.isfinite(row.value):
        return
    colour = BLUE if row.leader else ORANGE
    if np.isfinite(row.low):
        axes.plot([row.low, row.high], [place, place], color=colour, lw=1.8)
    face = colour if row.leader else "white"
    axes.plot(row.value, place, "o", color=colour, mfc=face, ms=6, mew=1.5)


def heatmap(
    matrices: Mapping[str, pd.DataFrame],
    title: str,
    *,
    limits: tuple[float, float] = (-1.0, 1.0),
    colours: str = "RdBu_r",
    digits: int = 2,
) -> Figure:
    """Draw one or more square tables side by side, every cell labelled, empty cells marked n/a.

    Parameters
    ----------
    matrices
        Heading to table. Cells may be missing.
    title
        Heading of the figure.
    limits
        Fixed ends of the colour scale.
    """
    import matplotlib as mpl

    first = next(iter(matrices.values()))
    columns = min(2, len(matrices))
    lines = -(-len(matrices) // columns)
    size = max(3.0, 0.4 * len(first.columns))
    with paper_style():
        figure, grid = _axes(
            size * columns + 0.8,
            0.9 * size * lines + 0.5,
            nrows=lines,
            ncols=columns,
            squeeze=False,
        )
        scale = mpl.cm.ScalarMappable(
            mpl.colors.Normalize(*limits), mpl.colormaps[colours].with_extremes(bad="#eeeeee")
        )
        for ax, (heading, table) in zip(grid.flat, matrices.items(), strict=False):
            _square(ax, table, scale, digits)
            ax.set_title(heading, fontsize=8, fontweight="normal")
        for ax in grid.flat[len(matrices) :]:
            ax.set_axis_off()
        figure.colorbar(scale, ax=grid, shrink=0.6, pad=0.01, aspect=30)
        _headline(figure, title)
    return figure


def _square(ax: Axes, table: pd.DataFrame, scale, digits: int) -> None:
    """Draw one square table, its labels dark on light cells and light on dark ones."""
    values = table.to_numpy(dtype=float)
    ax.imshow(np.ma.masked_invalid(values), cmap=scale.cmap, norm=scale.norm, aspect="auto")
    for (row, column), value in np.ndenumerate(values):
        known = np.isfinite(value)
        red, green, blue, _ = scale.to_rgba(value) if known else (1, 1, 1, 1)
        dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
        text = with_minus(rounded(value, digits)) if known else "n/a"
        colour = "white" if dark else INK
        ax.text(column, row, text, ha="center", va="center", fontsize=6.5, color=colour)
    ax.set_xticks(range(len(table.columns)), table.columns, fontsize=7.5)
    ax.set_yticks(range(len(table.index)), table.index, fontsize=7.5)
    ax.tick_params(length=0)
    ax.spines[:].set_visible(False)


def _headline(figure: Figure, title: str) -> None:
    """Write the heading of a figure of several panels, in as many lines as it needs."""
    text = _wrapped(title, figure.get_figwidth())
    figure.suptitle(text, x=0.01, ha="left", fontsize=10, fontweight="bold")


def _wrapped(title: str, inches: float) -> str:
    """Break a heading into lines that fit a width."""
    return "\n".join(textwrap.wrap(title, max(10, int(11 * inches))))


def profile(long: pd.DataFrame, title: str, label: str) -> Figure:
    """Draw each system's means over categories, one small panel a system, the others in grey.

    Parameters
    ----------
    long
        name, category, value, low, high; every name has every category, missing where unknown.
    """
    names, categories = list(long["name"].unique()), list(long["category"].unique())
    columns = min(4, max(len(names), 1))
    lines = max(1, -(-len(names) // columns))
    with paper_style():
        figure, grid = _axes(
            max(1.65 * columns + 0.6, 3.4),
            1.5 * lines + 0.9,
            nrows=lines,
            ncols=columns,
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        places = range(len(categories))
        for ax, name in zip(grid.flat, names, strict=False):
            for other in names:
                ax.plot(places, long[long["name"] == other]["value"], color="#dddddd", lw=0.8)
            mine = long[long["name"] == name]
            ends = mine["low"].to_numpy(float), mine["high"].to_numpy(float)
            ax.vlines(places, *ends, color=BLUE, alpha=0.35, lw=4)
            ax.plot(places, mine["value"], color=BLUE, marker="o", ms=3.5, lw=1.4)
            ax.set_title(name, fontsize=8)
            ax.set_xticks(places, categories, rotation=60, ha="right", fontsize=7)
            ax.set_xlim(-0.4, len(categories) - 0.6)
            ax.tick_params(axis="y", labelsize=7)
        for ax in grid.flat[len(names) :]:
            ax.set_axis_off()
        figure.supylabel(label, fontsize=8)
        _headline(figure, title)
    return figure


def scatter(points: pd.DataFrame, title: str, x: str, y: str, note: str = "") -> Figure:
    """Draw named points with their intervals.

    Parameters
    ----------
    points
        One row a system: name, x, y, and optionally x_low, x_high, y_low, y_high.
    title, x, y
        Heading and axis labels.
    note
        A line below the axes: the correlation, or why there is no claim.
    """
    with paper_style():
        figure, axes = _axes(6.8, 4.4)
        there = points[points["x"].notna() & points["y"].notna()].sort_values(["y", "name"])
        for row in there.itertuples():
            _whiskers(axes, row)
        axes.plot(there["x"], there["y"], "o", color=BLUE, ms=5, ls="none", zorder=3)
        axes.margins(0.08)
        if there.empty:
            axes.text(0.5, 0.5, "nothing measured", transform=axes.transAxes, ha="center")
        else:
            _name_at_the_side(axes, there)
        below = "\n".join(textwrap.wrap(with_minus(note), 95))
        axes.set(title=_wrapped(title, 5.6), xlabel=x + (f"\n{below}" if note else ""), ylabel=y)
    return figure


def _name_at_the_side(axes: Axes, points: pd.DataFrame) -> None:
    """Write the names in a column beside the axes, in the order of y, each tied to its point."""
    places = np.linspace(0.03, 0.97, len(points)) if len(points) > 1 else [0.5]
    for place, row in zip(places, points.itertuples(), strict=True):
        axes.annotate(
            row.name,
            (row.x, row.y),
            xytext=(1.06, place),
            textcoords="axes fraction",
            va="center",
            fontsize=8,
            annotation_clip=False,
            arrowprops={
                "arrowstyle": "-",
                "color": "#bbbbbb",
                "lw": 0.6,
                "shrinkB": 3,
                "relpos": (0, 0.5),  # from the left edge of the name
            },
        )


def _whiskers(axes: Axes, row) -> None:
    """Draw the intervals of one point where they are known."""
    for low, high, along in (
        (getattr(row, "x_low", np.nan), getattr(row, "x_high", np.nan), "x"),
        (getattr(row, "y_low", np.nan), getattr(row, "y_high", np.nan), "y"),
    ):
        if np.isfinite(low) and np.isfinite(high):
            xs, ys = (
                ([low, high], [row.y, row.y]) if along == "x" else ([row.x, row.x], [low, high])
            )
            axes.plot(xs, ys, color="#b5d3e7", lw=1.0, zorder=1)


def confusion(pairs: pd.DataFrame, title: str, *, first: str, second: str) -> Figure:
    """Draw, for each metric, how often the judge gave which score where the reader gave which.

    Parameters
    ----------
    pairs
        metric, judge, label: one row a score that both gave.
    first, second
        Names of the two axes: judge, reader.
    """
    with paper_style():
        figure, grid = _axes(7.2, 4.2, nrows=2, ncols=4, sharex=True, sharey=True)
        for ax, code in zip(grid.flat, CODES, strict=True):
            mine = pairs[pairs["metric"] == code]
            both = mine.dropna(subset=["label", "judge"])
            counts = pd.crosstab(both["label"], both["judge"])
            counts = counts.reindex(index=range(1, 6), columns=range(1, 6), fill_value=0)
            _counted(ax, counts.to_numpy())
            ax.set_title(f"{code}  ({len(both)} of {len(mine)})", fontsize=8)
        figure.supxlabel(first, fontsize=9)
        figure.supylabel(second, fontsize=9)
        _headline(figure, title)
    return figure


def _counted(ax: Axes, counts: np.ndarray) -> None:
    """Draw a table of counts, equal scores on the rising diagonal."""
    top = max(1, counts.max())
    ax.imshow(counts, cmap="Blues", vmin=0, vmax=top, origin="lower")
    for place in range(len(counts)):
        ax.add_patch(_cell_frame(place))
    for (row, column), n in np.ndenumerate(counts):
        colour = "white" if n > 0.6 * top else INK
        ax.text(column, row, n or "", ha="center", va="center", fontsize=7, color=colour)
    ax.set_xticks(range(5), range(1, 6), fontsize=7.5)
    ax.set_yticks(range(5), range(1, 6), fontsize=7.5)
    ax.tick_params(length=0)


def _cell_frame(place: int):
    """Return the frame that marks a cell of equal scores."""
    from matplotlib.patches import Rectangle

    corner = (place - 0.5, place - 0.5)
    return Rectangle(corner, 1, 1, fill=False, edgecolor=MUTED, lw=0.7)


def curves(long: pd.DataFrame, title: str, x: str, y: str) -> Figure:
    """Draw one or more lines over logarithmic axes, each named at its end.

    Parameters
    ----------
    long
        line, x, y, now (whether the point is filled).
    title, x, y
        Heading and axis labels.
    """
    from matplotlib.ticker import FormatStrFormatter, NullFormatter

    with paper_style():
        figure, axes = _axes(6.4, 3.6)
        for colour, (name, rows) in zip((BLUE, ORANGE, GREEN), long.groupby("line"), strict=False):
            axes.plot(rows["x"], rows["y"], "o-", color=colour, mfc="white", ms=4, lw=1.4)
            now = rows[rows["now"]]
            axes.plot(now["x"], now["y"], "o", color=colour, ms=7, ls="none")
            last = rows.iloc[-1]
            axes.annotate(
                name, (last["x"], last["y"]), xytext=(6, 0), textcoords="offset points",
                va="center", fontsize=8, color=colour, annotation_clip=False,
            )  # fmt: skip
        if long.empty:
            axes.text(0.5, 0.5, "nothing measured", transform=axes.transAxes, ha="center")
        else:
            axes.set(xscale="log", yscale="log")
            axes.set_xticks(sorted(set(long["x"])), minor=False)
            axes.set_yticks([t for t in (0.2, 0.5, 1, 2, 4, 8, 16) if t <= 2 * long["y"].max()])
            for axis in (axes.xaxis, axes.yaxis):
                axis.set_major_formatter(FormatStrFormatter("%g"))
                axis.set_minor_formatter(NullFormatter())
        axes.grid(True, color="#dddddd", lw=0.6)
        axes.set_axisbelow(True)
        axes.set(title=_wrapped(title, 5.4), xlabel=x, ylabel=y)
    return figure


def shares(long: pd.DataFrame, title: str, label: str) -> Figure:
    """Draw one bar a system, cut into the shares of its kinds; shares that are never there are left out.

    Parameters
    ----------
    long
        name, kind, value (0 to 1): every kind of every name, in the order of drawing.
    title, label
        Heading, and what the x axis shows.
    """
    names = list(long["name"].unique())[::-1]
    order = list(long["kind"].unique())
    kinds = [k for k in order if (long.loc[long["kind"] == k, "value"] > 0).any()]
    with paper_style():
        figure, axes = _axes(7.2, 1.4 + 0.3 * len(names) + 0.2 * -(-len(kinds) // 2))
        left = np.zeros(len(names))
        for kind in kinds:
            colour = SHARES[order.index(kind) % len(SHARES)]
            mine = long[long["kind"] == kind].set_index("name")["value"]
            width = 100 * mine.reindex(names).fillna(0).to_numpy(dtype=float)
            axes.barh(names, width, left=left, color=colour, label=kind, edgecolor="white", lw=0.5)
            for place, (start, size) in enumerate(zip(left, width, strict=True)):
                if size >= 6:
                    ink = "white" if colour in (BLUE, ORANGE, MUTED) else INK
                    text = rounded(size, 0)
                    axes.text(start + size / 2, place, text, ha="center", va="center", color=ink, fontsize=7)  # fmt: skip
            left += width
        axes.set(xlabel=label, xlim=(0, 100))
        axes.tick_params(axis="y", length=0)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
        if kinds:
            figure.legend(loc="outside lower left", ncols=2, fontsize=7, frameon=False)
        else:
            axes.text(0.5, 0.5, "nothing to show", transform=axes.transAxes, ha="center")
    return figure


def metric_square(long: pd.DataFrame, value: str) -> pd.DataFrame:
    """Arrange pairs of metrics (first, second, value) as a square table with ones on the diagonal."""
    square = pd.DataFrame(np.nan, index=list(CODES), columns=list(CODES))
    for row in long.itertuples():
        square.loc[row.first, row.second] = square.loc[row.second, row.first] = getattr(row, value)
    for code in CODES:
        square.loc[code, code] = 1.0
    return square
