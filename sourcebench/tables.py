"""What the tables of the paper share: an estimate in each cell, and the table before it is written."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.render import DASH, Saved, estimate_cell, interval, rounded, save_table
from sourcebench.rubric import CODES, METRICS
from sourcebench.statistics.intervals import MIN_COVERAGE, Estimate, cluster_mean

if TYPE_CHECKING:
    from sourcebench.statistics.correlate import SystemCorrelation
    from sourcebench.study import Study

COLUMNS = (*CODES, "average", "weighted")
HEADINGS = {"average": "Avg", "weighted": "Weighted"}
LIMITS = dict.fromkeys((*CODES, "average"), (1.0, 5.0)) | {"weighted": (20.0, 100.0)}
METRIC_NAMES = ", ".join(f"{m.code} {m.name.lower()}" for m in METRICS) + "."
INTERVALS = (
    "Brackets: 95% interval of the mean over sources, clustered by query (stratified logit t). "
    f"n of N: sources that carry a score, of those that should; below {MIN_COVERAGE:.0%} the mean is "
    "not shown."
)


@dataclass(frozen=True)
class PaperTable:
    """A table before it is written: `data` in full precision, `shown` as a reader sees it."""

    name: str
    title: str
    data: pd.DataFrame
    shown: pd.DataFrame
    note: str = ""

    def save(self, out: str | Path) -> Saved:
        """Write the table in all its forms below `out`; see `sourcebench.render.save_table`."""
        return save_table(
            self.data, self.name, out, title=self.title, note=self.note, shown=self.shown
        )


def with_average(sources: pd.DataFrame) -> pd.DataFrame:
    """Add the plain mean of the eight metrics; missing where any metric is missing."""
    return sources.assign(average=sources[list(CODES)].mean(axis=1, skipna=False))


def estimates(
    sources: pd.DataFrame,
    queries: pd.DataFrame,
    *,
    columns: Sequence[str] = COLUMNS,
    systems: Sequence[str] | None = None,
    mean: Callable[..., Estimate] = cluster_mean,
) -> pd.DataFrame:
    """Return the mean of each column for each system, with its interval.

    Parameters
    ----------
    sources
        The sources frame, see `sourcebench.score.load_sources`.
    queries
        Every query asked: query_id and category.
    columns
        What to average.
    systems
        Systems to list; by default those of the frame. One without sources keeps its row.
    mean
        `cluster_mean` (over sources) or `macro_mean` (over queries).

    Returns
    -------
    DataFrame
        One row a system and column: system, column and the fields of an Estimate.
    """
    frame = with_average(sources)
    rows = []
    for system in systems if systems is not None else sorted(frame["system"].unique()):
        mine = frame[frame["system"] == system]
        for column in columns:
            estimate = mean(mine, column, queries=queries, limits=LIMITS[column])
            rows.append({"system": system, "column": column, **estimate._asdict()})
    return pd.DataFrame(rows, columns=["system", "column", *Estimate._fields])


def grid(
    long: pd.DataFrame, row: str, column: str, digits: dict[str, int] | int = 2
) -> pd.DataFrame:
    """Arrange estimates as cells of three lines: value, interval, n of N."""
    places = digits if isinstance(digits, dict) else {}
    standard = digits if isinstance(digits, int) else 2
    cells = [
        estimate_cell(item, places.get(getattr(item, column), standard))
        for item in long.itertuples(index=False)
    ]
    wide = long.assign(cell=cells).pivot(index=row, columns=column, values="cell")
    return wide.loc[long[row].drop_duplicates(), long[column].drop_duplicates()]


def labels_of(study: Study) -> dict[str, str]:
    """Return the name to print for each system that is compared, in the order of these names."""
    systems = study.load("citations")["system"].tolist() + study.load("answers")["system"].tolist()
    known = study.settings.systems
    compared = set(systems) - set(study.settings.checks)
    labels = {name: str(known.get(name, {}).get("label", name)) for name in sorted(compared)}
    labels = {name: text if len(text) <= 40 else text[:37] + "..." for name, text in labels.items()}
    return dict(sorted(labels.items(), key=lambda item: item[1].casefold()))


def not_measured(name: str, title: str, columns: Sequence[str], reason: str) -> PaperTable:
    """Return a table that says why there is nothing in it."""
    row = {column: "not measured" if i == 0 else DASH for i, column in enumerate(columns)}
    data = pd.DataFrame([{"measured": False, "reason": reason}])
    return PaperTable(name, title, data, pd.DataFrame([row]), f"Not measured: {reason}.")


def judge_name(study: Study) -> str:
    """Return how the judge is named where its scores are shown."""
    name = study.settings.judge
    table = study.settings.judges.get(name, {})
    if (members := study.settings.members(name)) != [name]:
        return f"{name}, the median of {', '.join(members)}"
    if table.get("model") and table["model"] != name:
        return f"{name} ({table['model']})"
    return "offline rules, a baseline" if name == "rules" else name


def p_text(p: float) -> str:
    """Return a p-value with three decimals, or that it is smaller."""
    if pd.isna(p):
        return DASH
    return "< 0.001" if p < 0.001 else rounded(p, 3)


def claim_text(correlation: SystemCorrelation) -> str:
    """Say what a correlation over systems carries, or why it carries nothing."""
    c = correlation
    if c.r != c.r:
        return f"correlation {c.note or c.claim.reason}"
    ends = interval(c.low, c.high) if c.low == c.low else f"({c.note})"
    equals = "p" if p_text(c.p).startswith("<") else "p ="
    verdict = f"; {c.claim.reason}" if c.claim.reason else ""
    return f"r = {rounded(c.r, 2)} {ends}, n = {c.n} systems, {equals} {p_text(c.p)}{verdict}"


_PAPERS = {
    "sourcebench": "the SourceBench paper (2026)",
    "sourcecheckup": "the SourceCheckup paper (2025)",
}


def printed_copy(paper: str, table: str, name: str) -> PaperTable:
    """Return a table as the paper prints it, marked as published; cells not printed stay empty."""
    from sourcebench.published import load_published, printed_table

    title = f"As printed in {_PAPERS.get(paper, paper)}: {table}"
    shown = printed_table(table, paper).reset_index(names="")
    return PaperTable(name, title, load_published(paper, table), shown, "Transcribed, not rebuilt.")
