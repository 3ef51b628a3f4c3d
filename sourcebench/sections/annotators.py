"""Section 10, what annotators say: support by their labels, their word on sources, and where they part."""

from __future__ import annotations

import numpy as np
import pandas as pd

from sourcebench.records import RELIABILITY_LABELS, SUPPORT_LABELS
from sourcebench.render import estimate_cell, interval, rounded
from sourcebench.rubric import CODES
from sourcebench.statistics.correlate import clustered_pearson
from sourcebench.statistics.intervals import cluster_mean
from sourcebench.study import Study
from sourcebench.support.checking import (
    RATED,
    address_ceiling,
    corrected_by_a_sample,
    labelled,
    rated_pages,
    support_by_labels,
)
from sourcebench.support.measures import (
    READINGS,
    Support,
    response_values,
    statement_values,
)
from sourcebench.tables import PaperTable, labels_of, not_measured

_NONE = "no annotator labelled whole statements of this study"
_UNRATED = "no annotator rated the sources of this study"
_WORDS = {"no_source": "no citation", "not_applicable": "could not be opened", "": "no label"}
_SHARES = (
    "In percent; brackets: 95% interval, clustered by query; n of N: those with a verdict, of all. "
)


def _joint(study: Study) -> pd.DataFrame:
    """Return the labels that are for all pages cited at a statement together."""
    labels = study.load("support_labels")
    return labels[labels["page_id"].isna()]


def _word(label: str) -> str:
    """Return a label as a heading."""
    return _WORDS.get(label, label.replace("_", " ")).capitalize()


def label_counts_table(study: Study, support: Support) -> PaperTable:
    """Return how many statements of each system got which label; kinds of missing labels stay apart."""
    name, title = "support-labels", f"Labels of statements: {study.label}"
    labels = _joint(study)
    if labels.empty:
        return not_measured(name, title, ["System"], _NONE)
    stated = support.statements.groupby("system").size()
    table = _counts(study, labels, "verdict", SUPPORT_LABELS)
    table[""] = stated.reindex(table.index, fill_value=0) - table.sum(axis=1)
    note = (
        "No citation: the annotator found none at the statement. Could not be opened: a source that was not "
        "there for the annotator. No label: the annotator gave none. None of the three says that a source "
        "does not support the statement."
    )
    return _counts_table(study, table, name, title, note)


def _counts(study: Study, labels: pd.DataFrame, column: str, words: tuple) -> pd.DataFrame:
    """Return a row a system, a column a label that occurs."""
    table = pd.crosstab(labels["system"], labels[column])
    there = [word for word in words if word in table.columns]
    return table.reindex(index=list(labels_of(study)), columns=there, fill_value=0)


def _counts_table(
    study: Study, table: pd.DataFrame, name: str, title: str, note: str
) -> PaperTable:
    """Return counts as a table."""
    shown = table.rename(columns=_word).rename_axis(columns=None)
    shown.insert(0, "System", list(labels_of(study).values()))
    data = table.rename(columns={"": "no_label"}).rename_axis(columns=None).reset_index()
    return PaperTable(name, title, data, shown.reset_index(drop=True), note)


def labels_and_verifier_table(study: Study, support: Support) -> PaperTable:
    """Return supported statements and responses by the labels, and by the verifier, side by side."""
    name, title = "support-by-labels", f"Support by annotators and by the verifier: {study.label}"
    labels = _joint(study)
    if labels.empty:
        return not_measured(name, title, ["System"], _NONE)
    sides = {"labels": support_by_labels(support, labels), support.verifier: support}
    queries, rows = study.load("queries"), []
    for who, side in sides.items():
        for what, values in (("statements", statement_values), ("responses", response_values)):
            for reading in READINGS:
                frame = values(side, "cited", reading)
                for system in labels_of(study):
                    mine = frame[frame["system"] == system].assign(value=lambda f: 100 * f["value"])
                    e = cluster_mean(
                        mine, "value", queries=queries, limits=(0.0, 100.0), strata=None
                    )
                    row = {"system": system, "by": who, "share": what, "reading": reading}
                    rows.append(row | e._asdict())
    data = pd.DataFrame(rows)
    heads = data["share"].str.capitalize() + " by " + data["by"] + ", " + data["reading"]
    cells = data.assign(head=heads, cell=[estimate_cell(r, 1) for r in data.itertuples()])
    wide = cells.pivot(index="system", columns="head", values="cell")
    wide = wide.loc[list(labels_of(study)), list(dict.fromkeys(heads))].rename_axis(columns=None)
    wide.insert(0, "System", list(labels_of(study).values()))
    note = (
        _SHARES
        + "Rule: cited source. A statement without a citation counts as unsupported. Reachable: what the "
        "annotator could not open, or the verifier not read, is left out. Statements without a label are left out."
    )
    return PaperTable(name, title, data, wide.reset_index(drop=True), note)


def corrected_sample_table(
    study: Study, support: Support, *, draws: int = 50, seed: int = 0
) -> PaperTable:
    """Return how near shares corrected by labels of a third of the queries come to the share by all labels."""
    name, title = "support-corrected-sample", f"Correction by a sample of labels: {study.label}"
    labels = _joint(study)
    if labels.empty:
        return not_measured(name, title, ["System"], _NONE)
    pairs = labelled(support, labels)
    data = corrected_by_a_sample(pairs, draws=draws, rng=np.random.default_rng(seed))
    if data.empty:
        return not_measured(name, title, ["System"], "no statement has both a label and a verdict")
    shown = pd.DataFrame(
        {
            "System": data["system"].map(labels_of(study)),
            "All labels, %": _percent(data["truth"]),
            "Verifier, %": _percent(data["verifier"]),
            "Prediction-powered, %": _percent(data["ppi"]),
            "its error": _percent(data["ppi_error"]),
            "its interval holds": _percent(data["ppi_inside"], 0),
            "Rogan-Gladen, %": _percent(data["rg"]),
            "error of it": _percent(data["rg_error"]),
            "interval of it holds": _percent(data["rg_inside"], 0),
        }
    )
    note = (
        f"Means over {draws} draws of a third of the queries, whose labels alone are used; statements with both "
        "a label and a verdict. Prediction-powered: corrected by the system's own labels in the draw. "
        "Rogan-Gladen: with the verifier's error rates on the other systems. Interval holds: percent of draws in "
        "which the 95% interval contains the share by all labels."
    )
    return PaperTable(name, title, data, shown, note)


def _percent(values: pd.Series, digits: int = 1) -> list[str]:
    """Return shares as percent."""
    return [rounded(100 * v, digits) for v in values]


# --- the sources ---------------------------------------------------------------------------------


def reliability_table(study: Study, support: Support) -> PaperTable:
    """Return how reliable annotators call the sources of each system, and how far labels of one address agree."""
    name, title = "support-reliability", f"Reliability of sources, by annotators: {study.label}"
    labels = _joint(study)
    if labels["reliability"].notna().sum() == 0:
        return not_measured(name, title, ["System"], _UNRATED)
    table = _counts(study, labels, "reliability", RELIABILITY_LABELS)
    stated = support.statements.groupby("system").size()
    table[""] = stated.reindex(table.index, fill_value=0) - table.sum(axis=1)
    made = _counts_table(study, table, name, title, "")
    rated = labels[labels["reliability"].isin(RATED)]
    rated = rated.assign(value=100.0 * (rated["reliability"] == "reliable"))
    shares = [
        cluster_mean(
            rated[rated["system"] == system],
            "value",
            queries=study.load("queries"),
            limits=(0.0, 100.0),
            strata=None,
        )
        for system in labels_of(study)
    ]
    made.shown["Reliable, % of rated"] = [estimate_cell(e, 1) for e in shares]
    data = made.data.assign(
        **{f: [getattr(e, f) for e in shares] for f in ("value", "low", "high")}
    )
    note = "One label a statement, for its sources together. " + ceiling_note(support, labels)
    return PaperTable(name, title, data, made.shown, note)


def ceiling_note(support: Support, labels: pd.DataFrame) -> str:
    """Say how far labels of one address agree, which no score of an address can exceed."""
    c = address_ceiling(rated_pages(support, labels))
    if not c.addresses:
        return "No address was rated more than once."
    return (
        f"{c.addresses} addresses were rated more than once ({c.labels} labels), {c.conflicts} of them in "
        f"conflict; giving each address its commonest label agrees with {rounded(100 * c.agreement, 1)}% of "
        "these labels, the ceiling of any score by address."
    )


def reliability_metrics_table(study: Study, support: Support, sources: pd.DataFrame) -> PaperTable:
    """Return each metric's mean score by the annotators' word on the source, and its correlation with it."""
    name, title = "support-reliability-metrics", f"Reliability and the eight metrics: {study.label}"
    pages = rated_pages(support, _joint(study))
    if pages.empty:
        return not_measured(name, title, ["Metric"], _UNRATED)
    on = ["system", "query_id", "page_id"]
    rated = pages.groupby(on)["level"].mean().reset_index()
    both = rated.merge(sources[[*on, *CODES]], on=on, how="inner")
    rows = [{"metric": code, **_against(both, code)} for code in CODES]
    data = pd.DataFrame(rows)
    shown = pd.DataFrame(
        {
            "Metric": data["metric"],
            "Rated sources with a score": [f"{n} of {len(rated)}" for n in data["n"]],
            "Mean, reliable": [rounded(v) for v in data["reliable"]],
            "Mean, somewhat": [rounded(v) for v in data["somewhat"]],
            "Mean, not reliable": [rounded(v) for v in data["not_reliable"]],
            "r": [
                "not measured" if not row.n else f"{rounded(row.r)}\n{interval(row.low, row.high)}"
                for row in data.itertuples()
            ],
        }
    )
    note = (
        "Statements that cite one page only; several ratings of a source in an answer are averaged, and it counts "
        "as reliable, somewhat or not by the nearest. r: Pearson, reliable 3, somewhat 2, not 1; brackets: 95% "
        "interval, clustered by query. Where only passages of a page are at hand, freshness, ownership, "
        "author and layout can't be judged, and domain authority only for listed sites."
    )
    return PaperTable(name, title, data, shown, note)


def _against(both: pd.DataFrame, code: str) -> dict[str, float]:
    """Return what one metric has to do with the annotators' word."""
    known = both.dropna(subset=[code])
    level = known["level"].round()
    means = {
        word: known.loc[level == value, code].mean()
        for word, value in (("reliable", 3), ("somewhat", 2), ("not_reliable", 1))
    }
    r = clustered_pearson(known["level"], known[code], known["query_id"])
    return {"n": len(known), **means, "r": r.r, "low": r.low, "high": r.high, "note": r.note}
