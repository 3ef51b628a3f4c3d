"""Section 8: overlap with a reference search engine."""

from __future__ import annotations

from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.correlate import system_correlation
from sourcebench.figures import scatter
from sourcebench.intervals import cluster_mean
from sourcebench.study import Study
from sourcebench.tables import INTERVALS, LIMITS, PaperTable, claim_text, grid, labels_of

if TYPE_CHECKING:
    from matplotlib.figure import Figure


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


def overlap_figure(study: Study, sources: pd.DataFrame) -> tuple[Figure, pd.DataFrame]:
    """Return weighted score against overlap, one point a system, and the numbers drawn."""
    labels = labels_of(study)
    data = overlap_table(study, sources).data
    points = pd.DataFrame({"system": list(labels), "name": list(labels.values())})
    for axis, column in (("x", "pages in reference"), ("y", "weighted")):
        part = data[data["column"] == column].set_index("system")
        points[axis] = points["system"].map(part["value"])
        points[f"{axis}_low"] = points["system"].map(part["low"])
        points[f"{axis}_high"] = points["system"].map(part["high"])
    note = claim_text(system_correlation(points["x"], points["y"]))
    title = f"Overlap and source quality: {study.label}"
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
