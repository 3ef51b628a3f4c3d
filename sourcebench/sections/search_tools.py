"""Section 9: answerers joined with search tools."""

from __future__ import annotations

from itertools import combinations

import pandas as pd

from sourcebench.ranks import holm, p_value, paired_difference
from sourcebench.render import interval, rounded
from sourcebench.rubric import CODES
from sourcebench.study import Study
from sourcebench.tables import (
    HEADINGS,
    INTERVALS,
    PaperTable,
    estimates,
    grid,
    judge_name,
    labels_of,
    not_measured,
    p_text,
)


def pair_systems(study: Study) -> pd.DataFrame:
    """Return the systems that join an answerer with a search tool: system, answerer, search."""
    rows = [
        {"system": name, "answerer": s["answerer"], "search": s["search"]}
        for name, s in study.settings.systems.items()
        if s.get("answerer") and s.get("search")
    ]
    return pd.DataFrame(rows, columns=["system", "answerer", "search"])


def pair_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 9: every metric of every answerer joined with a search tool."""
    name, pairs = "table-09-search-tools", pair_systems(study)
    title = (
        f"Table 9. Answerers joined with search tools: {study.label}; judge: {judge_name(study)}"
    )
    columns = (*CODES, "weighted")
    if pairs.empty:
        reason = "no system of the study names both an answerer and a search tool in study.toml"
        return not_measured(name, title, ["System", *columns], reason)
    labels = labels_of(study)
    long = estimates(sources, study.load("queries"), columns=columns, systems=list(pairs["system"]))
    shown = grid(long, "system", "column", {"weighted": 1}).rename(columns=HEADINGS)
    shown.insert(0, "System", [labels.get(system, system) for system in shown.index])
    return PaperTable(name, title, long, shown, INTERVALS)


def effects_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Return, for every two systems that differ in one part only, the paired difference."""
    name, title = (
        "table-09-effects",
        f"Effect of one part, weighted score: {study.label}; judge: {judge_name(study)}",
    )
    pairs = pair_systems(study)
    rows = [
        {"changed": changed, "system_a": a.system, "system_b": b.system}
        for a, b in combinations(pairs.itertuples(), 2)
        if (changed := _changed(a, b))
    ]
    columns = ["Changed", "System", "minus", "Difference", "95% interval", "p (Holm)"]
    if not rows:
        return not_measured(name, title, columns, "no two systems differ in one part only")
    queries, labels = study.load("queries"), labels_of(study)
    for row in rows:
        e = paired_difference(sources, "weighted", row["system_a"], row["system_b"], queries)
        row |= {
            "difference": e.value,
            "low": e.low,
            "high": e.high,
            "p": p_value(e),
            "note": e.note,
        }
    data = pd.DataFrame(rows)
    data["p_holm"] = holm(data["p"].to_numpy())
    cells = zip(
        data["changed"],
        data["system_a"].map(labels),
        data["system_b"].map(labels),
        (rounded(v, 1) for v in data["difference"]),
        (interval(a, b, 1) for a, b in zip(data["low"], data["high"], strict=True)),
        (p_text(v) for v in data["p_holm"]),
        strict=True,
    )
    shown = pd.DataFrame(list(cells), columns=columns)
    note = f"Paired by query; Holm over these {len(data)} tests."
    return PaperTable(name, title, data, shown, note)


def _changed(a, b) -> str:
    """Return which part two systems differ in, if it is one only."""
    if a.answerer == b.answerer and a.search != b.search:
        return "search tool"
    if a.search == b.search and a.answerer != b.answerer:
        return "answerer"
    return ""
