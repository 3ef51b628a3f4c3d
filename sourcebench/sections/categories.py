"""Section 5: source quality by intent."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.figures import profile
from sourcebench.render import enough
from sourcebench.schema import in_order
from sourcebench.sections.leaderboard import ranking
from sourcebench.statistics.intervals import NAN, Estimate, cluster_mean
from sourcebench.study import Study
from sourcebench.tables import (
    INTERVALS,
    LIMITS,
    PaperTable,
    grid,
    judge_name,
    labels_of,
    not_measured,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def category_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 5: weighted score of every system by intent, and overall."""
    labels, name = labels_of(study), "table-05-categories"
    title = f"Table 5. Weighted score by intent: {study.label}; judge: {judge_name(study)}"
    if not labels:
        return not_measured(name, title, ("System", "Overall"), "no system was asked")
    if sources["weighted"].isna().all():
        reason = "no source has a score on all eight metrics"
        return not_measured(name, title, ("System", "Overall"), reason)
    data = category_means(study, sources)
    shown = grid(data, "system", "category", 1)
    shown.columns = [name.capitalize() for name in shown.columns]
    shown.insert(0, "System", [labels[name] for name in shown.index])
    note = INTERVALS + " Overall is the mean over sources, not the mean of the five columns."
    return PaperTable(name, title, data, shown, note)


def category_means(study: Study, sources: pd.DataFrame) -> pd.DataFrame:
    """Return the mean weighted score by system and intent, and overall, as estimates.

    Returns
    -------
    DataFrame
        system, category (the last one `overall`) and the fields of an Estimate.
    """
    queries, labels = study.load("queries"), labels_of(study)
    rows = []
    for system in labels:
        mine = sources[sources["system"] == system]
        for category in in_order(queries["category"]):
            asked = queries[queries["category"] == category]
            part = mine[mine["category"] == category]
            e = cluster_mean(part, "weighted", queries=asked, limits=LIMITS["weighted"])
            rows.append({"system": system, "category": category, **e._asdict()})
        e = cluster_mean(mine, "weighted", queries=queries, limits=LIMITS["weighted"])
        rows.append({"system": system, "category": "overall", **e._asdict()})
    return pd.DataFrame(rows, columns=["system", "category", *Estimate._fields])


def category_figure(study: Study, sources: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return the profile of every system over the intents, and the numbers drawn."""
    labels = labels_of(study)
    long = category_means(study, sources)
    long = long[long["category"] != "overall"]
    order = list(ranking(sources, study.load("queries"), list(labels)).index)
    long = long.sort_values("system", key=lambda names: names.map(order.index), kind="stable")
    long = long.reset_index(drop=True).assign(name=lambda rows: rows["system"].map(labels))
    few = [not enough(n, of) for n, of in zip(long["n"], long["expected"], strict=True)]
    drawn = long.copy()
    drawn.loc[few, ["value", "low", "high"]] = NAN
    title = f"Weighted score by intent: {study.label}; judge: {judge_name(study)}"
    return profile(drawn, title, "weighted score"), long
