"""Section 12: how many queries a difference needs, and a synthetic study of the paper's size."""

from __future__ import annotations

from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sourcebench.figures import curves
from sourcebench.power import (
    DELTAS,
    detectable_difference,
    difference_sd,
    power_statement,
    power_table,
)
from sourcebench.ranks import compare_all
from sourcebench.render import estimate_cell, rounded
from sourcebench.sections.leaderboard import ranking
from sourcebench.simulate import paper_like_means, synthetic_queries, synthetic_sources
from sourcebench.study import Study
from sourcebench.tables import PaperTable, estimates, judge_name, labels_of, not_measured

if TYPE_CHECKING:
    from matplotlib.figure import Figure

NO_SPREAD = "no pair of systems shows a spread between queries"


def planning_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Return how many queries each difference needs, from the study's own spread between queries."""
    name, title = (
        "table-12-planning",
        f"Queries that a difference needs: {study.label}; judge: {judge_name(study)}",
    )
    columns = ("Difference, points", "Queries, one pair", "Queries, all pairs", "Power now")
    queries, pairs = len(study.load("queries")), _pairs(study, sources)
    if not _spread(pairs, queries) > 0:
        return not_measured(name, title, columns, NO_SPREAD)
    tested = int(pairs["se"].notna().sum())
    data = power_table(pairs, queries, deltas=DELTAS).reset_index()
    data = data.assign(sd=_spread(pairs, queries), queries=queries, pairs=tested)
    shown = pd.DataFrame(
        {
            columns[0]: [rounded(v, 0) for v in data["delta"]],
            columns[1]: [f"{n:,}" for n in data["one_pair"]],
            columns[2]: [f"{n:,}" for n in data["all_pairs"]],
            columns[3]: [_percent(v) for v in data["power_now"]],
        }
    )
    note = (
        f"For 80% power at 5%. Spread of a difference over queries: {rounded(data['sd'].iloc[0], 1)} "
        f"points, the median of {tested} pairs, as observed. All pairs: the 5% shared among them "
        f"(Bonferroni). Power now: for one pair, with {queries} queries. {power_statement(pairs, queries)} "
        "More queries must resemble these for the numbers to hold."
    )
    return PaperTable(name, title, data, shown, note)


def _percent(share: float) -> str:
    """Return a share in percent, never as a certainty."""
    return "> 99%" if share > 0.99 else rounded(100 * share, 0) + "%"


def planning_figure(study: Study, sources: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the smallest detectable difference against the number of queries, and the numbers."""
    queries, pairs = len(study.load("queries")), _pairs(study, sources)
    sd, tested = _spread(pairs, queries), int(pairs["se"].notna().sum())
    numbers = sorted({10, 20, 50, 100, 200, 500, 1000, 2000, queries}) if sd > 0 else []
    rows = [
        {"line": line, "x": n, "y": detectable_difference(n, sd, pairs=count), "now": n == queries}
        for line, count in (("one pair", 1), (f"all {tested} pairs", max(tested, 1)))
        for n in numbers
    ]
    long = pd.DataFrame(rows, columns=["line", "x", "y", "now"])
    title = f"What more queries would show: {study.label}; judge: {judge_name(study)}"
    y = "difference found with 80% power, points"
    return curves(long, title, "queries (filled: this study)", y), long


def _pairs(study: Study, sources: pd.DataFrame) -> pd.DataFrame:
    """Return the comparisons of all systems that have enough scored sources."""
    queries = study.load("queries")
    ranks = ranking(sources, queries, list(labels_of(study)))
    ranked = list(ranks.index[ranks["rank"].notna()])
    return compare_all(sources, "weighted", queries, systems=ranked)


def _spread(pairs: pd.DataFrame, queries: int) -> float:
    """Return the spread over queries of a pair's difference; NaN where there is no pair."""
    known = pairs["se"].notna().any()
    return difference_sd(pairs, queries) if known else float("nan")


def synthetic_table(rng: np.random.Generator, *, queries: int = 100) -> PaperTable:
    """Return the leaderboard of a made-up study of the paper's size, beside the true means.

    Parameters
    ----------
    rng
        Source of the made-up scores.
    queries
        Number of queries.
    """
    asked, means = synthetic_queries(queries), paper_like_means()
    sources = synthetic_sources(asked, rng=rng, means=means)
    ranks = ranking(sources, asked, list(means.index))
    order = list(ranks.index)
    long = estimates(sources, asked, columns=("weighted",), systems=order)
    data = long.assign(
        true_mean=means.reindex(order).to_numpy(),
        true_rank=means.rank(ascending=False).reindex(order).astype(int).to_numpy(),
        rank_low=ranks["rank_low"].to_numpy(),
        rank_high=ranks["rank_high"].to_numpy(),
        synthetic=True,
    )
    data["covered"] = data["true_mean"].between(data["low"], data["high"])
    data["rank_covered"] = data["true_rank"].between(data["rank_low"], data["rank_high"])
    shown = pd.DataFrame(
        {
            "System": data["system"],
            "Weighted": [estimate_cell(row, 1) for row in long.itertuples(index=False)],
            "True mean": [rounded(v, 1) for v in data["true_mean"]],
            "In the interval": ["yes" if v else "no" for v in data["covered"]],
            "Ranks": [
                f"{a:.0f}–{b:.0f}" for a, b in zip(data["rank_low"], data["rank_high"], strict=True)
            ],
            "True rank": data["true_rank"],
        }
    )
    pairs = compare_all(sources, "weighted", asked, systems=order)
    note = (
        "Synthetic: every score was drawn by a random generator from the true means shown, which are "
        f"those of no system; nothing here was measured. {len(sources):,} sources, {queries} queries. "
        f"{int((pairs['p_holm'] < 0.05).sum())} of {len(pairs)} pairs differ (Holm, 5%). "
        f"{power_statement(pairs, queries)}"
    )
    title = "Synthetic: the leaderboard that a study of the paper's size could show"
    return PaperTable("table-12-synthetic", title, data, shown, note)
