"""Section 8: overlap with a reference search engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.correlate import system_correlation
from sourcebench.figures import scatter
from sourcebench.intervals import Estimate, cluster_mean
from sourcebench.sections.links import POINT, point
from sourcebench.study import Study
from sourcebench.tables import (
    INTERVALS,
    LIMITS,
    PaperTable,
    claim_text,
    grid,
    judge_name,
    labels_of,
    not_measured,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure


_SHARES = {"page": "pages in reference", "site": "sites in reference"}


def overlap_table(study: Study, sources: pd.DataFrame) -> PaperTable:
    """Table 8: how much of what a system cites the reference search engine lists too."""
    name, labels = "table-08-overlap", labels_of(study)
    engines = ", ".join(sorted(study.load("reference")["engine"].unique()))
    title = f"Table 8. Overlap with the reference search engine ({engines}): {study.label}; judge: {judge_name(study)}"
    columns = ("Pages in reference, %", "Sites in reference, %", "Weighted")
    if not engines or not labels:
        title = f"Table 8. Overlap with a reference search engine: {study.label}; judge: {judge_name(study)}"
        reason = "the study lists no results of a reference engine" if labels else "no systems"
        return not_measured(name, title, ("System", *columns), reason)
    data = overlap_means(study, sources)
    percent = data["column"] != "weighted"
    for field in ("value", "low", "high", "se"):
        data[field] = data[field].where(~percent, 100 * data[field])
    shown = grid(data, "system", "column", 1).set_axis(columns, axis=1)
    shown.insert(0, "System", [labels[system] for system in shown.index])
    note = (
        INTERVALS + " Overlap: share of the selected sources that the engine lists for the query."
    )
    return PaperTable(name, title, data, shown, note)


def overlap_means(study: Study, sources: pd.DataFrame) -> pd.DataFrame:
    """Return the share of each system's sources that the reference lists, and its weighted score.

    Returns
    -------
    DataFrame
        system, column and the fields of an Estimate; shares lie between 0 and 1.
    """
    queries, listed = study.load("queries"), overlap(study)
    rows = []
    for system in labels_of(study):
        frame = listed[listed["system"] == system]
        for what, column in _SHARES.items():
            e = cluster_mean(frame, what, queries=queries, limits=(0, 1))
            rows.append({"system": system, "column": column, **e._asdict()})
        mine = sources[sources["system"] == system]
        e = cluster_mean(mine, "weighted", queries=queries, limits=LIMITS["weighted"])
        rows.append({"system": system, "column": "weighted", **e._asdict()})
    return pd.DataFrame(rows, columns=["system", "column", *Estimate._fields])


def overlap_figure(study: Study, sources: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return weighted score against overlap, one point a system, and the numbers drawn."""
    data, asked = overlap_table(study, sources).data, len(study.load("queries"))
    rows = []
    for system, name in labels_of(study).items() if "column" in data else ():
        mine = data[data["system"] == system].set_index("column")[list(Estimate._fields)]
        x, y = (Estimate(*mine.loc[c]) for c in (_SHARES["page"], "weighted"))
        rows.append(
            {"system": system, "name": name, **point("x", x, asked), **point("y", y, asked)}
        )
    points = pd.DataFrame(rows, columns=POINT)
    note = claim_text(system_correlation(points["x"], points["y"]))
    title = f"Overlap and source quality: {study.label}; judge: {judge_name(study)}"
    x = "selected pages that the reference engine lists, %"
    return scatter(points, title, x, "weighted score", note), points


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
