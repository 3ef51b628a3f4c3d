"""Section 4: source quality by system, with the ranks that the data carry."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.figures import forest
from sourcebench.render import DASH, enough, interval, rounded
from sourcebench.statistics.bootstrap import bootstrap_intervals, max_t, query_sums
from sourcebench.statistics.intervals import MIN_COVERAGE, MIN_QUERIES, macro_mean, missing_bounds
from sourcebench.statistics.power import power_statement
from sourcebench.statistics.ranks import best_claim, compare_all, rank_sets
from sourcebench.study import Study
from sourcebench.tables import (
    COLUMNS,
    HEADINGS,
    INTERVALS,
    LIMITS,
    METRIC_NAMES,
    PaperTable,
    estimate_cell,
    estimates,
    grid,
    judge_name,
    labels_of,
    not_measured,
    p_text,
)

if TYPE_CHECKING:
    import numpy as np
    from matplotlib.figure import Figure


def leaderboard(
    study: Study,
    sources: pd.DataFrame,
    *,
    rng: np.random.Generator | None = None,
    resamples: int = 2000,
) -> PaperTable:
    """Table 4: every metric and the weighted score of every system, with the ranks the data carry.

    Parameters
    ----------
    study, sources
        The study and its scored sources.
    rng
        With it the data carry cluster-bootstrap intervals (ci_pct, ci_boott) beside the closed form.
    resamples
        Resamples of the queries.
    """
    queries, labels = study.load("queries"), labels_of(study)
    if not labels:
        return not_measured("table-04-leaderboard", _title(study), _HEADS, "no system was asked")
    ranks = ranking(sources, queries, list(labels))
    systems = list(ranks.index)
    long = estimates(sources, queries, systems=systems)
    macro = estimates(sources, queries, columns=("weighted",), systems=systems, mean=macro_mean)
    shown = grid(long, "system", "column", {"weighted": 1}).rename(columns=HEADINGS)
    shown.insert(0, "System", [labels[name] for name in systems])
    shown["Macro"] = [estimate_cell(item, 1) for item in macro.itertuples(index=False)]
    shown["Ranks"] = [_ranks(ranks.loc[name]) for name in systems]
    if rng is not None:
        long = long.merge(_resampled(sources, queries, long, rng, resamples), how="left")
    data = pd.concat([long.assign(mean_over="sources"), macro.assign(mean_over="queries")])
    data["enough"] = [enough(n, of) for n, of in zip(data["n"], data["expected"], strict=True)]
    kept = ranks[["rank_low", "rank_high", "class", "leader"]]
    data = data.merge(kept, left_on="system", right_index=True, how="left")
    note = _note(sources, queries, ranks, labels) + _own_judge(study, labels)
    return PaperTable(
        "table-04-leaderboard", _title(study), data.reset_index(drop=True), shown, note
    )


_HEADS = ("System", *COLUMNS, "Macro", "Ranks")


def _title(study: Study) -> str:
    """Return the heading of Table 4."""
    return f"Table 4. Source quality by system: {study.label}; judge: {judge_name(study)}"


def _note(
    sources: pd.DataFrame, queries: pd.DataFrame, ranks: pd.DataFrame, labels: dict[str, str]
) -> str:
    """Return what a reader of Table 4 must know, and what the study could have detected."""
    ranked = list(ranks.index[ranks["rank"].notna()])
    pairs = compare_all(sources, "weighted", queries, systems=ranked)
    withheld = [labels[name] for name in ranks.index if name not in ranked]
    parts = [
        f"{METRIC_NAMES} {INTERVALS} Avg and Weighted need all eight metrics of a source. Macro: mean over queries.",
        "Ranks: those that paired tests over queries leave open (Holm, 5%). Class: led by its best "
        "system; the next one joins while it does not differ from that leader.",
        f"First place: {best_claim(ranks.rename(index=labels)).reason}.",
        "Systems in the order of their weighted score, which is no ranking.",
        power_statement(pairs, len(queries)),
    ]
    if withheld:
        parts.append(
            f"Not ranked, since under {MIN_COVERAGE:.0%} of its sources are scored or under "
            f"{MIN_QUERIES:.0%} of the questions have a scored source: {', '.join(withheld)}."
        )
    return " ".join(parts)


def _own_judge(study: Study, labels: dict[str, str]) -> str:
    """Say which systems answered with the judge's own model, or return an empty text."""
    judges, names = study.settings.judges, study.settings.members(study.settings.judge)
    models = {judges.get(name, {}).get("model") for name in names} - {None}
    answers = study.load("answers")
    own = set(answers.loc[answers["model"].isin(models), "system"]) & set(labels)
    if not own:
        return ""
    return f" Judged by the model that answered, which judges tend to favour: {', '.join(sorted(own))}."


def _resampled(
    sources: pd.DataFrame,
    queries: pd.DataFrame,
    long: pd.DataFrame,
    rng: np.random.Generator,
    resamples: int,
) -> pd.DataFrame:
    """Return the bootstrap intervals of every system and column that has a closed-form one."""
    sums = query_sums(sources, queries, systems=list(long["system"].unique()))
    known = long.loc[long["method"] != "none", ["system", "column"]]
    for kind, name in (("percentile", "ci_pct"), ("t", "ci_boott")):
        ends = bootstrap_intervals(sums, rng=rng, resamples=resamples, kind=kind)
        ends = ends.rename(columns={"low": f"{name}_low", "high": f"{name}_high"})
        known = known.merge(
            ends[["system", "column", f"{name}_low", f"{name}_high"]],
            on=["system", "column"],
            how="left",
        )
    return known


def ranking(sources: pd.DataFrame, queries: pd.DataFrame, systems: list[str]) -> pd.DataFrame:
    """Return the systems, best first, with the set of ranks that the tests leave open.

    A system with too few scored sources, or with scored sources for too few of the questions, stands
    last, is compared with none and has no rank.
    """
    bounds = missing_bounds(sources, "weighted", limits=LIMITS["weighted"], systems=systems)
    scored = sources[sources["weighted"].notna()].groupby("system")["query_id"].nunique()
    covered = scored.reindex(bounds.index, fill_value=0) >= MIN_QUERIES * len(queries)
    bounds["enough"] &= covered
    shown = [name for name in systems if bounds.at[name, "enough"]]
    pairs = compare_all(sources, "weighted", queries, systems=shown)
    ranks = rank_sets(pairs, bounds["value"], bounds=bounds)
    if len(shown) < 2:  # nobody to be before or behind
        ranks[["rank", "rank_low", "rank_high", "class"]] = float("nan")
        ranks["leader"] = False
    return ranks


def _ranks(row: pd.Series) -> str:
    """Return a rank set and the class of a system as text."""
    if pd.isna(row["rank_low"]):
        return DASH
    low, high = int(row["rank_low"]), int(row["rank_high"])
    return (str(low) if low == high else f"{low}–{high}") + f"\nclass {int(row['class'])}"


def coverage_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Return what became of every selected source, and the weighted scores that losses allow."""
    labels, name = labels_of(study), "table-04-coverage"
    title = f"What became of the selected sources: {study.label}; judge: {judge_name(study)}"
    if not labels:
        return not_measured(name, title, ("System", "Scored", "Outcomes"), "no system was asked")
    bounds = missing_bounds(sources, "weighted", limits=LIMITS["weighted"], systems=list(labels))
    counts = pd.crosstab(sources["system"], sources["outcome"]).reindex(list(labels), fill_value=0)
    data = bounds.join(counts).rename_axis("system").reset_index()
    shown = pd.DataFrame(
        {
            "System": data["system"].map(labels),
            "Scored": [f"{n} of {e}" for n, e in zip(data["n"], data["expected"], strict=True)],
            "Lost by the source": data["lost_to_source"].astype(int),
            "Lost by us": data["lost_to_us"].astype(int),
            "Weighted": [rounded(v, 1) for v in data["value"]],
            "Range the losses allow": [
                interval(a, b, 1) for a, b in zip(data["low"], data["high"], strict=True)
            ],
            "Outcomes": [_outcomes(counts.loc[system]) for system in data["system"]],
        }
    )
    note = (
        "A source that could not be scored is neither dropped nor scored as bad: the range takes every "
        f"lost source once at the lowest and once at the highest score. Below {MIN_COVERAGE:.0%} scored "
        "a system is not ranked."
    )
    return PaperTable(name, title, data, shown, note)


def _outcomes(row: pd.Series) -> str:
    """List outcomes with their counts, most frequent first."""
    there = row[row > 0].sort_values(ascending=False, kind="stable")
    return ", ".join(f"{name.replace('_', ' ')} {count}" for name, count in there.items()) or DASH


def leaderboard_figure(study: Study, sources: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the forest plot of the weighted scores, and the numbers drawn."""
    queries, labels = study.load("queries"), labels_of(study)
    ranks = ranking(sources, queries, list(labels))
    long = estimates(sources, queries, columns=("weighted",), systems=list(ranks.index))
    long["name"] = long["system"].map(labels)
    long["leader"] = long["system"].map(ranks["leader"])
    long["enough"] = long["system"].map(ranks["rank"].notna())
    title = f"Weighted source quality: {study.label}; judge: {judge_name(study)}"
    label = "weighted score, 95% interval; filled: first place is not ruled out"
    return forest(long, title, label), long


def pairs_table(
    study: Study,
    sources: pd.DataFrame,
    *,
    rng: np.random.Generator | None = None,
    resamples: int = 2000,
) -> PaperTable:
    """Return every pair of systems with its paired difference and adjusted p-value.

    Parameters
    ----------
    study, sources
        The study and its scored sources.
    rng
        With it a second adjustment is shown: step-down max-T over resamples of the queries.
    resamples
        Resamples of the queries.
    """
    name, title = (
        "table-04-pairs",
        f"Pairs of systems, weighted score: {study.label}; judge: {judge_name(study)}",
    )
    queries, labels = study.load("queries"), labels_of(study)
    ranks = ranking(sources, queries, list(labels)) if labels else pd.DataFrame({"rank": []})
    ranked = list(ranks.index[ranks["rank"].notna()])
    if len(ranked) < 2:
        columns = ("System", "minus", "Difference", "95% interval", "p", "p (Holm)", "Queries")
        reason = "fewer than two systems have enough scored sources"
        return not_measured(name, title, columns, reason)
    data = _compared(sources, queries, ranked, rng, resamples)
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
        }
    )
    if rng is not None:
        shown["p (max-T)"] = [p_text(v) for v in data["p_max_t"]]
    shown["Queries"] = data["queries"].astype(int)
    return PaperTable(name, title, data, shown, _pairs_note(data, rng is not None))


def _compared(sources, queries, systems, rng, resamples) -> pd.DataFrame:
    """Return all pairs, the surest difference first."""
    if rng is None:
        data = compare_all(sources, "weighted", queries, systems=systems)
    else:
        data = max_t(sources, "weighted", queries, rng=rng, resamples=resamples, systems=systems)
    order = ["p_holm", "p", "system_a", "system_b"]
    return data.sort_values(order, na_position="last", ignore_index=True)


def _pairs_note(data: pd.DataFrame, resampled: bool) -> str:
    """Return what a reader of the pairs must know."""
    holds = data["p_holm"] < 0.05
    open_pairs = int((holds & data["lost_rows_decide"]).sum())
    parts = [
        f"Paired by query, {int(data['p'].notna().sum())} tests; a pair holds at 5% if p (Holm) is "
        f"below 0.05: {int(holds.sum())} do. Queries: those in which both systems have a scored source."
    ]
    if holds.any():
        parts.append(
            f"{open_pairs} of these {int(holds.sum())} would be open if every lost source took the "
            "score that is worst for the difference."
        )
    if resampled:
        parts.append("max-T: step-down over resamples of the queries, an alternative to Holm.")
    reasons = data.loc[data["p"].isna(), "note"].value_counts()
    parts += [f"{count} without a test: {reason}." for reason, count in reasons.items()]
    return " ".join(parts)


def leaderboard_numbers(study: Study, sources: pd.DataFrame) -> dict[str, str]:
    """Return the numbers that a text about the leaderboard quotes, as macro name and text."""
    queries, labels = study.load("queries"), labels_of(study)
    systems = list(labels)
    ranks = ranking(sources, queries, systems)
    ranked = list(ranks.index[ranks["rank"].notna()])
    pairs = compare_all(sources, "weighted", queries, systems=ranked)
    numbers = {
        "StudyTitle": study.label,
        "Queries": str(len(queries)),
        "Systems": str(len(systems)),
        "Sources": str(len(sources)),
        "SourcesScored": str(int(sources["weighted"].notna().sum())),
        "PairsTested": str(len(pairs)),
        "PairsThatHold": str(int((pairs["p_holm"] < 0.05).sum())),
        "FirstPlace": best_claim(ranks.rename(index=labels)).reason,
        "Power": power_statement(pairs, len(queries)),
    }
    if not ranked:
        return numbers | dict.fromkeys(("BestSystem", "BestWeighted", "BestInterval"), DASH)
    best = estimates(sources, queries, columns=("weighted",), systems=ranked[:1]).iloc[0]
    return numbers | {
        "BestSystem": labels[best["system"]],
        "BestWeighted": rounded(best["value"], 1),
        "BestInterval": interval(best["low"], best["high"], 1),
    }
