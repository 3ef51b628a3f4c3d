"""Section 7: do better sources go with better answers?"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

import pandas as pd

from sourcebench.figures import scatter
from sourcebench.render import DASH, estimate_cell, interval, rounded
from sourcebench.rubric import CODES
from sourcebench.sections.links import POINT, point
from sourcebench.statistics.correlate import (
    answer_source_cells,
    fixed_effects_slope,
    system_correlation,
)
from sourcebench.statistics.intervals import Estimate, cluster_mean
from sourcebench.study import Study
from sourcebench.tables import (
    HEADINGS,
    INTERVALS,
    LIMITS,
    PaperTable,
    claim_text,
    estimates,
    grid,
    judge_name,
    labels_of,
    not_measured,
)

if TYPE_CHECKING:
    from matplotlib.figure import Figure

# Ends of the scale of each answer measure; without ends there is a mean but no interval.
MEASURES: Mapping[str, tuple[float, float]] = {
    "exact_match": (0.0, 1.0),
    "token_f1": (0.0, 1.0),
    "dispute_awareness": (0.0, 1.0),
}
NAMES = {
    "exact_match": "Exact match",
    "token_f1": "Token F1",
    "perspective_diversity": "Perspective diversity",
    "dispute_awareness": "Dispute awareness",
}


def reasoning_table(study: Study, sources: pd.DataFrame, answers: pd.DataFrame) -> PaperTable:
    """Table 6: right answers to reasoning questions, beside the sources of those questions."""
    return _answer_table(
        study,
        sources,
        answers,
        "table-06-reasoning",
        "Table 6. Answers and sources of reasoning questions",
        "reasoning",
        ("exact_match", "token_f1"),
    )


def debate_table(study: Study, sources: pd.DataFrame, answers: pd.DataFrame) -> PaperTable:
    """Table 7: how answers treat disputed questions, beside the sources of those questions."""
    return _answer_table(
        study,
        sources,
        answers,
        "table-07-debate",
        "Table 7. Answers and sources of disputed questions",
        "argumentative",
        ("perspective_diversity", "dispute_awareness"),
    )


def _answer_table(study, sources, answers, name, title, category, measures) -> PaperTable:
    """Return answer measures and source metrics of one intent, system by system."""
    labels, queries = labels_of(study), study.load("queries")
    asked = queries[queries["category"] == category]
    mine = sources[sources["category"] == category]
    heading = f"{title}: {study.label}; judge: {judge_name(study)}"
    if asked.empty or not labels:
        reason = f"the study has no {category} questions" if labels else "no system was asked"
        columns = ("System", *(NAMES[measure] for measure in measures), *CODES, "Weighted")
        return not_measured(name, heading, columns, reason)
    long = estimates(mine, asked, columns=(*CODES, "weighted"), systems=list(labels))
    answer = answer_means(study, answers, asked, measures)
    shown = grid(long, "system", "column", {"weighted": 1}).rename(columns=HEADINGS)
    for place, measure in enumerate(measures):
        rows = answer[answer["column"] == measure].set_index("system")
        shown.insert(place, NAMES[measure], [_answer_cell(rows.loc[s]) for s in shown.index])
    shown.insert(0, "System", [labels[system] for system in shown.index])
    missing = sorted(set(answer.loc[answer["n"] == 0, "note"]))
    note = (
        f"{INTERVALS} Sources: those cited for the {len(asked)} {category} questions only. Answer "
        "measures: mean over answers; n of N counts answers, and runs of one question are a cluster."
    )
    if "perspective_diversity" in measures:
        note += " Perspective diversity is a perplexity: lower is better."
    if missing:
        note += f" {DASH}: not measured ({'; '.join(missing)})."
    data = pd.concat([answer, long], ignore_index=True)
    return PaperTable(name, heading, data, shown, note)


def answer_means(
    study: Study, answers: pd.DataFrame, asked: pd.DataFrame, measures
) -> pd.DataFrame:
    """Return the mean of each answer measure for each system, runs of one query as a cluster.

    An answer that could not be measured stays in the denominator; where none was, the note says why.

    Returns
    -------
    DataFrame
        system, column (the measure) and the fields of an Estimate.
    """
    given = study.load("answers")[["system", "query_id", "run"]]
    given = given[given["query_id"].isin(asked["query_id"])]
    rows = []
    for measure in measures:
        values = answers[answers["measure"] == measure]
        values = given.merge(values, on=["system", "query_id", "run"], how="left")
        values["value"] = values["value"].astype("float64")
        for system in labels_of(study):
            mine = values[values["system"] == system]
            e = _measure_mean(mine, asked, MEASURES.get(measure))
            rows.append({"system": system, "column": measure, **e._asdict()})
    return pd.DataFrame(rows, columns=["system", "column", *Estimate._fields])


def _measure_mean(values: pd.DataFrame, asked: pd.DataFrame, limits) -> Estimate:
    """Return the mean of one measure of one system, with the reason where there is none."""
    there = values["value"].dropna()
    if there.empty:
        reasons = values["reason"].dropna() if "reason" in values else pd.Series(dtype="str")
        note = str(reasons.iloc[0]) if len(reasons) else "no answer to measure"
        nan = float("nan")
        return Estimate(nan, nan, nan, nan, 0, len(values), 0, 0, "none", note)
    if limits is None:
        limits = (float(there.min()) - 1.0, float(there.max()) + 1.0)
    return cluster_mean(values, "value", queries=asked, limits=limits)


def _answer_cell(row: pd.Series) -> str:
    """Return the cell of an answer measure."""
    return estimate_cell(row) if row["n"] else f"{DASH}\nnot measured\n0 of {row['expected']}"


def answer_figure(
    study: Study, sources: pd.DataFrame, answers: pd.DataFrame, measure: str = "token_f1"
) -> tuple[Figure, pd.DataFrame]:
    """Figure 2: answer score against source score of the reasoning questions, one point a system."""
    labels, queries = labels_of(study), study.load("queries")
    asked = queries[queries["category"] == "reasoning"]
    mine = sources[sources["category"] == "reasoning"]
    answer = answer_means(study, answers, asked, (measure,))
    rows = []
    for system, name in labels.items():
        part = mine[mine["system"] == system]
        x = cluster_mean(part, "weighted", queries=asked, limits=LIMITS["weighted"])
        y = Estimate(*answer.loc[answer["system"] == system, list(Estimate._fields)].iloc[0])
        rows.append(
            {
                "system": system,
                "name": name,
                **point("x", x, len(asked)),
                **point("y", y, len(asked)),
            }
        )
    points = pd.DataFrame(rows, columns=POINT)
    note = claim_text(system_correlation(points["x"], points["y"]))
    title = f"Figure 2. Answers and sources, reasoning: {study.label}; judge: {judge_name(study)}"
    figure = scatter(points, title, "weighted source score", NAMES[measure], note)
    return figure, points


def slope_table(study: Study, sources: pd.DataFrame, answers: pd.DataFrame) -> PaperTable:
    """Return how the answer score moves with the source score, question and system held fixed."""
    rows, cells = [], []
    for measure in NAMES:
        mine = answers[answers["measure"] == measure].astype({"value": "float64"})
        cells_of = answer_source_cells(sources, mine, measure)
        slope = fixed_effects_slope(cells_of[cells_of["query_id"].isin(mine["query_id"])])
        reasons = mine.loc[mine["value"].isna(), "reason"].dropna().unique()
        rows.append({"measure": measure, **slope._asdict()})
        cells.append(
            {
                "Answer measure": NAMES[measure],
                "Change for 10 points of source score": rounded(10 * slope.value, 3),
                "95% interval": interval(10 * slope.low, 10 * slope.high, 3),
                "Cells": f"{slope.n} of {slope.expected}",
                "Questions": slope.clusters,
                "Remark": "; ".join(reasons) if mine["value"].isna().all() else slope.note or DASH,
            }
        )
    note = (
        "Slope over (question, system) cells with both held fixed, clustered by question: what makes a "
        "whole system or a whole question better cancels out. Perspective diversity is a perplexity: "
        "lower is better, so a falling slope means better answers."
    )
    title = f"Do better sources go with better answers? {study.label}; judge: {judge_name(study)}"
    return PaperTable("table-07-slope", title, pd.DataFrame(rows), pd.DataFrame(cells), note)
