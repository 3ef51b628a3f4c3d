"""Section 4: source quality by system, with the ranks that the data carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.figures import forest
from sourcebench.intervals import macro_mean, missing_bounds
from sourcebench.ranks import compare_all, rank_sets
from sourcebench.render import DASH, interval, rounded
from sourcebench.study import Study
from sourcebench.tables import (
    HEADINGS,
    INTERVALS,
    LIMITS,
    PaperTable,
    estimate_cell,
    estimates,
    grid,
    judge_name,
    labels_of,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def leaderboard(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 4: every metric and the weighted score of every system, with the ranks the data carry."""
    queries, labels = study.load("queries"), labels_of(study)
    systems = list(labels)
    long = estimates(sources, queries, systems=systems)
    ranks = ranking(sources, queries, systems)
    order = ranks.index
    long = long.set_index("system").loc[order].reset_index()
    shown = grid(long, "system", "column", {"weighted": 1})
    shown = shown.rename(columns=HEADINGS)
    shown.insert(0, "System", [labels[name] for name in shown.index])
    shown["Ranks"] = [_ranks(ranks.loc[name]) for name in shown.index]
    macro = estimates(sources, queries, columns=("weighted",), systems=list(order), mean=macro_mean)
    shown["Macro"] = [estimate_cell(item, 1) for item in macro.itertuples(index=False)]
    data = pd.concat([long.assign(mean_over="sources"), macro.assign(mean_over="queries")])
    data = data.merge(
        ranks[["rank_low", "rank_high", "class"]], left_on="system", right_index=True, how="left"
    )
    note = (
        f"{INTERVALS} Avg and Weighted need all eight metrics of a source. Macro: mean over queries. "
        "Ranks: those that paired tests over queries leave open (Holm, 5%); "
        f"{_leaders(ranks, labels)} Systems in the order of their weighted score, which is no ranking."
    )
    title = f"Table 4. Source quality by system: {study.label}; judge: {judge_name(study)}"
    return PaperTable("table-04-leaderboard", title, data.reset_index(drop=True), shown, note)


def ranking(sources: pd.DataFrame, queries: pd.DataFrame, systems: list[str]) -> pd.DataFrame:
    """Return the systems, best first, with the set of ranks that the tests leave open."""
    bounds = missing_bounds(sources, "weighted", limits=LIMITS["weighted"], systems=systems)
    pairs = compare_all(sources, "weighted", queries, systems=systems)
    return rank_sets(pairs, bounds["value"], bounds=bounds)


def _ranks(row: pd.Series) -> str:
    """Return a rank set as text."""
    if pd.isna(row["rank_low"]):
        return DASH
    low, high = int(row["rank_low"]), int(row["rank_high"])
    return str(low) if low == high else f"{low}–{high}"


def _leaders(ranks: pd.DataFrame, labels: dict[str, str]) -> str:
    """Name every system that may be the best."""
    leaders = [labels[name] for name in ranks.index[ranks["rank_low"] == 1]]
    return f"may be first: {', '.join(leaders)}." if leaders else "no system can be ranked."


def coverage_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Return what became of every selected source, and the weighted scores that losses allow."""
    labels = labels_of(study)
    bounds = missing_bounds(sources, "weighted", limits=LIMITS["weighted"], systems=list(labels))
    counts = pd.crosstab(sources["system"], sources["outcome"]).reindex(list(labels), fill_value=0)
    data = bounds.join(counts).rename_axis("system").reset_index()
    shown = pd.DataFrame(
        {
            "System": [labels[name] for name in data["system"]],
            "Scored": [f"{n} of {e}" for n, e in zip(data["n"], data["expected"], strict=True)],
            "Lost by the source": data["lost_to_source"].astype(int),
            "Lost by us": data["lost_to_us"].astype(int),
            "Weighted": [rounded(v, 1) for v in data["value"]],
            "Range the losses allow": [
                interval(a, b, 1) for a, b in zip(data["low"], data["high"], strict=True)
            ],
            "Outcomes": [_outcomes(counts.loc[name]) for name in data["system"]],
        }
    )
    note = (
        "A source that could not be scored is neither dropped nor scored as bad: the range takes every "
        "lost source once at the lowest and once at the highest score."
    )
    title = f"What became of the selected sources: {study.label}"
    return PaperTable("table-04-coverage", title, data, shown, note)


def _outcomes(row: pd.Series) -> str:
    """List outcomes with their counts, most frequent first."""
    there = row[row > 0].sort_values(ascending=False, kind="stable")
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in there.items())


def leaderboard_figure(study: Study, sources: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the forest plot of the weighted scores, and the numbers drawn."""
    queries, labels = study.load("queries"), labels_of(study)
    long = estimates(sources, queries, columns=("weighted",), systems=list(labels))
    ranks = ranking(sources, queries, list(labels))
    long["name"] = long["system"].map(labels)
    long["leader"] = long["system"].map(ranks["leader"])
    title = f"Weighted source quality: {study.label}"
    label = "weighted score, 95% interval; filled: first place is not ruled out"
    return forest(long, title, label), long


def pairs_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Return every pair of systems with its paired difference and adjusted p-value."""
    queries, labels = study.load("queries"), labels_of(study)
    data = compare_all(sources, "weighted", queries, systems=list(labels))
    data = data.sort_values(
        ["p_holm", "system_a", "system_b"], na_position="last", ignore_index=True
    )
    shown = pd.DataFrame(
        {
            "System": data["system_a"].map(labels),
            "minus": data["system_b"].map(labels),
            "Difference": [rounded(v, 1) for v in data["difference"]],
            "95% interval": [
                interval(a, b, 1) for a, b in zip(data["low"], data["high"], strict=True)
            ],
            "p": [p_text(v) for v in data["p"]],
            "p (Holm)": [p_text(v) for v in data["p_holm"]],
            "Queries": data["queries"].astype(int),
        }
    )
    note = (
        f"Paired by query, {len(data)} tests; a pair holds at 5% if p (Holm) is below 0.05. Queries: "
        "those in which both systems have a scored source."
    )
    title = f"Pairs of systems, weighted score: {study.label}"
    return PaperTable("table-04-pairs", title, data, shown, note)


def p_text(p: float) -> str:
    """Return a p-value with three decimals, or that it is smaller."""
    if pd.isna(p):
        return DASH
    return "< 0.001" if p < 0.001 else rounded(p, 3)


def leaderboard_numbers(study: Study, sources: pd.DataFrame) -> dict[str, str]:
    """Return the numbers that a text about the leaderboard quotes, as macro name and text."""
    queries, labels = study.load("queries"), labels_of(study)
    systems = list(labels)
    ranks = ranking(sources, queries, systems)
    best = estimates(sources, queries, columns=("weighted",), systems=list(ranks.index[:1])).iloc[0]
    pairs = compare_all(sources, "weighted", queries, systems=systems)
    return {
        "StudyTitle": study.label,
        "Queries": str(len(queries)),
        "Systems": str(len(systems)),
        "Sources": str(len(sources)),
        "SourcesScored": str(int(sources["weighted"].notna().sum())),
        "BestSystem": labels[best["system"]],
        "BestWeighted": rounded(best["value"], 1),
        "BestInterval": interval(best["low"], best["high"], 1),
        "PairsTested": str(len(pairs)),
        "PairsThatHold": str(int((pairs["p_holm"] < 0.05).sum())),
    }
