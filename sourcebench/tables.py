"""One function a table of the paper: tidy frames in, numbers and the cells a reader sees out."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
import pandas as pd

from sourcebench.intervals import Estimate, cluster_mean, macro_mean, missing_bounds
from sourcebench.ranks import compare_all, paired_difference, rank_sets
from sourcebench.render import DASH, Saved, estimate_cell, interval, rounded, save_table
from sourcebench.rubric import CODES, EXAMPLES, METRICS
from sourcebench.schema import CATEGORIES

if TYPE_CHECKING:
    from sourcebench.study import Study

COLUMNS = (*CODES, "average", "weighted")
HEADINGS = {"average": "Avg", "weighted": "Weighted"}
LIMITS = dict.fromkeys((*CODES, "average"), (1.0, 5.0)) | {"weighted": (20.0, 100.0)}
INTERVALS = (
    "Brackets: 95% interval of the mean over sources, clustered by query (stratified logit t). "
    "n of N: sources that carry a score, of those that should."
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
    return pd.DataFrame(rows)


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
    """Return the name to print for each system of a study."""
    systems = study.load("citations")["system"].tolist() + study.load("answers")["system"].tolist()
    known = study.settings.systems
    return {name: known.get(name, {}).get("label", name) for name in sorted(set(systems))}


# --- 01, 02 --------------------------------------------------------------------------------------

_INTENT = {
    "shopping": "finding a product and advice on buying it",
    "reasoning": "putting facts together in several steps",
    "factual": "checking a claim",
    "argumentative": "weighing a disputed question",
    "social": "asking a community",
}


def query_table(study: Study) -> PaperTable:
    """Table 1: how many queries of which intent, and from where."""
    queries = study.load("queries")
    counts = (
        queries.assign(dataset=queries["dataset"].fillna("not stated"))
        .groupby(["category", "dataset"], sort=False)
        .agg(queries=("query_id", "size"), gold_answers=("gold_answer", "count"))
        .reset_index()
    )
    counts["order"] = counts["category"].map(CATEGORIES.index)
    counts = counts.sort_values(["order", "dataset"], ignore_index=True).drop(columns="order")
    counts["intent"] = counts["category"].map(_INTENT)
    total = {"category": "total", "dataset": "", "intent": ""}
    total |= {name: int(counts[name].sum()) for name in ("queries", "gold_answers")}
    data = pd.concat([counts, pd.DataFrame([total])], ignore_index=True)
    names = {
        "category": "Type",
        "dataset": "Source",
        "queries": "Queries",
        "gold_answers": "With a gold answer",
        "intent": "Intent",
    }
    title = f"Table 1. Queries of the study: {study.label}"
    return PaperTable(
        "table-01-queries", title, data, data.rename(columns=names)[list(names.values())]
    )


def rubric_table() -> PaperTable:
    """Table 2: what each metric asks, with its best and worst level."""
    data = pd.DataFrame(
        {
            "metric": m.code,
            "name": m.name,
            "weight": m.weight / 2,
            "judged": f"once a {'query and page' if m.scope == 'query' else 'page'}",
            "focus": m.focus,
            "best": m.levels[0].criterion,
            "worst": m.levels[-1].criterion,
        }
        for m in METRICS
    )
    shown = data.set_axis(
        ["Metric", "Name", "Weight", "Judged", "Asks", "Best (5)", "Worst (1)"], axis=1
    )
    return PaperTable("table-02-rubric", "Table 2. The eight metrics", data, shown)


def level_table() -> PaperTable:
    """Table 10: every level of every metric, and the guidance for the judge."""
    data = pd.DataFrame(
        {
            "metric": m.code,
            "score": level.score,
            "label": level.label,
            "criterion": level.criterion,
            "guidance": m.guidance if level.score == 5 else "",
        }
        for m in METRICS
        for level in m.levels
    )
    shown = data.set_axis(["Metric", "Score", "Level", "Criterion", "Guidance"], axis=1)
    return PaperTable("table-10-levels", "Table 10. Levels of the rubric", data, shown)


def example_table() -> PaperTable:
    """Return the calibration examples that a language-model judge is shown."""
    data = pd.DataFrame(
        {
            "group": e.group,
            "page": e.page,
            "query": e.query,
            "scores": ", ".join(f"{code} {score}" for code, score in e.scores),
            "why": e.why,
        }
        for e in EXAMPLES
    )
    shown = data.set_axis(["Group", "Page", "Query", "Scores", "Why"], axis=1)
    return PaperTable("table-10-examples", "Calibration examples for the judge", data, shown)


# --- 04, 05 --------------------------------------------------------------------------------------


def leaderboard(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 4: every metric and the weighted score of every system, with the ranks the data carry."""
    queries, labels = study.load("queries"), labels_of(study)
    systems = list(labels)
    long = estimates(sources, queries, systems=systems)
    ranks = ranking(sources, queries, systems)
    order = ranks.sort_values("mean", ascending=False, na_position="last").index
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
    """Return, by system, the mean weighted score and the set of ranks that the tests leave open."""
    bounds = missing_bounds(sources, "weighted", limits=LIMITS["weighted"], systems=systems)
    means = bounds["value"].rename("mean")
    pairs = compare_all(sources, "weighted", queries, systems=systems)
    sets = rank_sets(pairs, means, bounds=bounds)
    return sets.set_index("system") if "system" in sets.columns else sets


def judge_name(study: Study) -> str:
    """Return how the judge is named where its scores are shown."""
    name = study.settings.judge
    return "offline rules (a baseline)" if name == "rules" else name


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


def category_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 5: weighted score by intent, and the plain mean of the five intents beside the overall."""
    queries, labels = study.load("queries"), labels_of(study)
    rows = []
    for system in labels:
        mine = sources[sources["system"] == system]
        for category in [c for c in CATEGORIES if (queries["category"] == c).any()]:
            asked = queries[queries["category"] == category]
            part = mine[mine["category"] == category]
            e = cluster_mean(part, "weighted", queries=asked, limits=LIMITS["weighted"])
            rows.append({"system": system, "category": category, **e._asdict()})
        e = cluster_mean(mine, "weighted", queries=queries, limits=LIMITS["weighted"])
        rows.append({"system": system, "category": "overall", **e._asdict()})
    data = pd.DataFrame(rows)
    shown = grid(data, "system", "category", 1)
    shown.columns = [name.capitalize() for name in shown.columns]
    shown.insert(0, "System", [labels[name] for name in shown.index])
    title = f"Table 5. Weighted score by intent: {study.label}; judge: {judge_name(study)}"
    note = INTERVALS + " Overall is the mean over sources, not the mean of the five columns."
    return PaperTable("table-05-categories", title, data, shown, note)


# --- 08, 09 --------------------------------------------------------------------------------------


def overlap_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 8: how much of what a system cites the reference search engine lists too."""
    queries, labels = study.load("queries"), labels_of(study)
    rows = []
    for system, frame in overlap(study).groupby("system"):
        for what in ("page", "site"):
            e = cluster_mean(frame, what, queries=queries, limits=(0, 1))
            rows.append({"system": system, "column": f"{what}s in reference", **e._asdict()})
        mine = sources[sources["system"] == system]
        e = cluster_mean(mine, "weighted", queries=queries, limits=LIMITS["weighted"])
        rows.append({"system": system, "column": "weighted", **e._asdict()})
    data = pd.DataFrame(rows)
    percent = data["column"] != "weighted"
    for name in ("value", "low", "high", "se"):
        data[name] = data[name].where(~percent, 100 * data[name])
    shown = grid(data, "system", "column", 1)
    shown.columns = ["Pages in reference, %", "Sites in reference, %", "Weighted"]
    shown.insert(0, "System", [labels[name] for name in shown.index])
    engines = ", ".join(sorted(study.load("reference")["engine"].unique()))
    title = f"Table 8. Overlap with the reference search engine ({engines}): {study.label}"
    note = (
        INTERVALS + " Overlap: share of the selected sources that the engine lists for the query."
    )
    return PaperTable("table-08-overlap", title, data, shown, note)


def overlap(study: Study) -> pd.DataFrame:
    """Return, for each selected source, whether the reference engine lists its page and its site.

    Returns
    -------
    DataFrame
        system, query_id, category, page_id, `page` and `site` as 0 or 1.
    """
    from sourcebench.selection import selected_sources
    from sourcebench.urls import page_id, site

    sources, reference = selected_sources(study), study.load("reference")
    listed = set(zip(reference["query_id"], reference["url"].map(page_id), strict=True))
    sites = set(zip(reference["query_id"], reference["url"].map(site), strict=True))
    pages = zip(sources["query_id"], sources["page_id"], strict=True)
    hosts = zip(sources["query_id"], sources["url"].map(site), strict=True)
    sources["page"] = [float(item in listed) for item in pages]
    sources["site"] = [float(item in sites) for item in hosts]
    asked = study.load("queries")[["query_id", "category"]]
    return sources.drop(columns="url").merge(asked, on="query_id", how="left")


def pair_systems(study: Study) -> pd.DataFrame:
    """Return the systems that join an answerer with a search tool: system, answerer, search."""
    rows = [
        {"system": name, "answerer": s["answerer"], "search": s["search"]}
        for name, s in study.settings.systems.items()
        if s.get("answerer") and s.get("search")
    ]
    return pd.DataFrame(rows, columns=["system", "answerer", "search"])


def pair_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 9: answerers joined with search tools, and what changing either one does."""
    queries, pairs = study.load("queries"), pair_systems(study)
    labels = labels_of(study)
    long = estimates(sources, queries, columns=(*CODES, "weighted"), systems=list(pairs["system"]))
    shown = grid(long, "system", "column", {"weighted": 1}).rename(columns=HEADINGS)
    shown.insert(0, "System", [labels.get(name, name) for name in shown.index])
    note = INTERVALS + " " + " ".join(_effects(sources, queries, pairs))
    title = (
        f"Table 9. Answerers joined with search tools: {study.label}; judge: {judge_name(study)}"
    )
    return PaperTable("table-09-search-tools", title, long, shown, note)


def _effects(sources: pd.DataFrame, queries: pd.DataFrame, pairs: pd.DataFrame) -> list[str]:
    """Say, for every two systems that differ in one part only, the paired difference."""
    said = []
    for a, b in [
        (a, b) for a in pairs.itertuples() for b in pairs.itertuples() if a.Index < b.Index
    ]:
        if (a.answerer == b.answerer) == (a.search == b.search):
            continue
        e = paired_difference(sources, "weighted", a.system, b.system, queries)
        said.append(
            f"{a.system} minus {b.system}: {rounded(e.value, 1)} {interval(e.low, e.high, 1)}."
        )
    return said


# --- shared --------------------------------------------------------------------------------------


def not_measured(name: str, title: str, columns: Sequence[str], reason: str) -> PaperTable:
    """Return a table that says why there is nothing in it."""
    row = {column: "not measured" if i == 0 else DASH for i, column in enumerate(columns)}
    data = pd.DataFrame([{"measured": False, "reason": reason}])
    return PaperTable(name, title, data, pd.DataFrame([row]), f"Not measured: {reason}")


def beside(ours: pd.DataFrame, published: pd.DataFrame, on: str) -> pd.DataFrame:
    """Put published values beside rebuilt ones, column by column, marked which is which."""
    merged = ours.merge(published, on=on, how="outer", suffixes=(" (rebuilt)", " (published)"))
    return merged.replace({np.nan: None})
