"""One function a figure of the paper: a tidy frame in, a drawn figure out; style set in one place."""

from __future__ import annotations

import textwrap
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sourcebench.render import DASH, rounded, to_csv
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
        One row a system: name, value, low, high, n, expected, and leader: whether the tests leave
        it the first place.
    title, label
        Heading, and what the x axis shows.
    """
    rows = long.sort_values("value", ascending=True, na_position="first", ignore_index=True)
    with paper_style():
        figure, axes = _axes(6.4, 0.9 + 0.34 * len(rows))
        for place, row in enumerate(rows.itertuples()):
            text = f"{rounded(row.value, 1)}   {row.n} of {row.expected}"
            axes.text(
                1.01, place, text, transform=axes.get_yaxis_transform(), va="center", color=MUTED
            )
            colour = BLUE if row.leader else ORANGE
            if np.isfinite(row.low):
                axes.plot([row.low, row.high], [place, place], color=colour, lw=1.8)
            if np.isfinite(row.value):
                face = colour if row.leader else "white"
                axes.plot(row.value, place, "o", color=colour, mfc=face, ms=6, mew=1.5)
        axes.set_yticks(range(len(rows)), rows["name"])
        axes.set_ylim(-0.7, len(rows) - 0.3)
        axes.set(xlabel=label, title=title)
        axes.xaxis.grid(True, color="#dddddd", lw=0.6)
        axes.set_axisbelow(True)
    return figure


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
    size = 0.52 * len(first.columns) + 0.9
    with paper_style():
        figure, axes = _axes(
            size * len(matrices) + 0.8, 0.5 * len(first) + 1.3, ncols=len(matrices), squeeze=False
        )
        norm, cmap = (
            mpl.colors.Normalize(*limits),
            mpl.colormaps[colours].with_extremes(bad="#eeeeee"),
        )
        for ax, (heading, table) in zip(axes[0], matrices.items(), strict=True):
            values = table.to_numpy(dtype=float)
            mesh = ax.imshow(np.ma.masked_invalid(values), cmap=cmap, norm=norm, aspect="auto")
            for (row, column), value in np.ndenumerate(values):
                text = rounded(value, digits) if np.isfinite(value) else "n/a"
                red, green, blue, _ = cmap(norm(value)) if np.isfinite(value) else (1, 1, 1, 1)
                dark = 0.299 * red + 0.587 * green + 0.114 * blue < 0.55
                ax.text(
                    column,
                    row,
                    text,
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if dark else INK,
                )
            ax.set_xticks(range(len(table.columns)), table.columns)
            ax.set_yticks(range(len(table.index)), table.index)
            ax.tick_params(length=0)
            ax.spines[:].set_visible(False)
            ax.set_title(heading, fontsize=9, fontweight="normal")
        figure.colorbar(mesh, ax=axes[0], shrink=0.8, pad=0.01)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
    return figure


def profile(long: pd.DataFrame, title: str, label: str) -> Figure:
    """Draw each system's means over categories, one small panel a system, the others in grey.

    Parameters
    ----------
    long
        name, category, value, low, high; every name has every category, missing where unknown.
    """
    names, categories = list(long["name"].unique()), list(long["category"].unique())
    columns = min(4, len(names))
    lines = -(-len(names) // columns)
    with paper_style():
        figure, axes = _axes(
            1.9 * columns + 0.6,
            1.75 * lines + 0.5,
            nrows=lines,
            ncols=columns,
            sharex=True,
            sharey=True,
            squeeze=False,
        )
        for ax, name in zip(axes.flat, names, strict=False):
            for other in names:
                values = long[long["name"] == other]["value"]
                ax.plot(range(len(categories)), values, color="#dddddd", lw=0.8, zorder=1)
            mine = long[long["name"] == name]
            ax.fill_between(
                range(len(categories)), mine["low"], mine["high"], color=BLUE, alpha=0.18, lw=0
            )
            ax.plot(range(len(categories)), mine["value"], color=BLUE, marker="o", ms=3.5, lw=1.4)
            ax.set_title(name, fontsize=8)
            ax.set_xticks(range(len(categories)), categories, rotation=60, ha="right", fontsize=7)
        for ax in axes.flat[len(names) :]:
            ax.set_axis_off()
        figure.supylabel(label, fontsize=8)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
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
        below = "\n".join(textwrap.wrap(note, 95))
        axes.set(title=title, xlabel=x + (f"\n{below}" if note else ""), ylabel=y)
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
            arrowprops={"arrowstyle": "-", "color": "#bbbbbb", "lw": 0.6, "shrinkB": 3},
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
            axes.plot(xs, ys, color="#9ecae1", lw=1.2, zorder=1)


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
        figure, axes = _axes(8.4, 4.6, nrows=2, ncols=4, sharex=True, sharey=True)
        for ax, code in zip(axes.flat, CODES, strict=True):
            mine = pairs[pairs["metric"] == code]
            counts = pd.crosstab(mine["label"], mine["judge"]).reindex(
                index=range(1, 6), columns=range(1, 6), fill_value=0
            )
            ax.imshow(
                counts, cmap="Blues", vmin=0, vmax=max(1, counts.to_numpy().max()), origin="lower"
            )
            top = counts.to_numpy().max()
            for (row, column), n in np.ndenumerate(counts.to_numpy()):
                ax.text(
                    column,
                    row,
                    n or "",
                    ha="center",
                    va="center",
                    fontsize=7,
                    color="white" if n > 0.6 * top else INK,
                )
            ax.plot([-0.5, 4.5], [-0.5, 4.5], color=MUTED, lw=0.5)
            ax.set_title(f"{code}  ({len(mine)})", fontsize=8)
            ax.set_xticks(range(5), range(1, 6))
            ax.set_yticks(range(5), range(1, 6))
            ax.tick_params(length=0)
        figure.supxlabel(first, fontsize=9)
        figure.supylabel(second, fontsize=9)
        figure.suptitle(title, x=0.01, ha="left", fontsize=10, fontweight="bold")
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
        figure.legend(loc="outside lower left", ncols=2, fontsize=7, frameon=False)
    return figure


def metric_square(long: pd.DataFrame, value: str) -> pd.DataFrame:
    """Arrange pairs of metrics (first, second, value) as a square table with ones on the diagonal."""
    square = pd.DataFrame(np.nan, index=list(CODES), columns=list(CODES))
    for row in long.itertuples():
        square.loc[row.first, row.second] = square.loc[row.second, row.first] = getattr(row, value)
    for code in CODES:
        square.loc[code, code] = 1.0
    return square


def legend_note(names: Sequence[str]) -> str:
    """Join names for a note, or a dash where there are none."""
    return ", ".join(names) if names else DASH
