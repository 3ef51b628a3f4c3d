"""Judgments become source scores: one row a selected source, nothing dropped, nothing filled in."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcebench.records import JUDGED_PAGES, SCORED
from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.selection import selected_sources

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.study import Study


def score_study(study: Study) -> pd.DataFrame:
    """Write the table `scores`: for each judge, every selected source with what it scored.

    A source whose page could not be judged keeps its row; its outcome and reason say why.
    """
    import pandas as pd

    sources = selected_sources(study).drop(columns="url")
    sources = sources.merge(page_states(study), on="page_id", how="left")
    sources["state"] = sources["state"].fillna("not_tried")
    judgments = study.load("judgments")
    judges = sorted(judgments["judge"].unique()) or [study.settings.judge]
    frames = [_score_one(sources, judgments[judgments["judge"] == j], j) for j in judges]
    scores = pd.concat(frames, ignore_index=True)
    study.save("scores", scores)
    return scores


def load_sources(study: Study, judge: str | None = None) -> pd.DataFrame:
    """Return the scored sources of one judge, for statistics, tables and figures.

    Parameters
    ----------
    study
        A study whose `scores` exist.
    judge
        Name of the judge; by default the one that `study.toml` reports.

    Returns
    -------
    DataFrame
        One row a source: system, query_id, category, page_id, position, runs, outcome, reason, the
        eight metrics and `weighted` as floats (NaN is missing).

    Raises
    ------
    ValueError
        If the study has no scores of that judge; a study whose answers cite nothing has none to have.
    """
    judge = judge or study.settings.judge
    every = study.load("scores")
    scores = every[every["judge"] == judge].drop(columns="judge").reset_index(drop=True)
    nothing_cited = every.empty and study.has("scores")
    if scores.empty and not nothing_cited:
        raise ValueError(
            f"{study.path('scores')}: no scores of judge {judge!r}; run the stages first: "
            f"sourcebench run {study.folder}"
        )
    numeric = [*CODES, "weighted"]
    scores[numeric] = scores[numeric].astype("float64")
    categories = study.load("queries")[["query_id", "category"]]
    return scores.merge(categories, on="query_id", how="left")


def page_states(study: Study) -> pd.DataFrame:
    """Return the state of each page: the fetch outcome unless it came back, else the page's own."""
    fetches = study.load("fetches")[["page_id", "outcome", "reason"]]
    pages = study.load("pages")[["page_id", "outcome", "reason"]]
    both = fetches.merge(pages, on="page_id", how="left", suffixes=("_fetch", "_page"))
    came_back = both["outcome_fetch"] == "ok"
    both["state"] = both["outcome_page"].where(came_back, both["outcome_fetch"])
    both["why"] = both["reason_page"].where(came_back, both["reason_fetch"])
    both["state"] = both["state"].fillna("failed")
    return both[["page_id", "state", "why"]]


def _score_one(sources: pd.DataFrame, judgments: pd.DataFrame, judge: str) -> pd.DataFrame:
    """Join one judge's verdicts to the sources and say for each source what became of it."""
    import pandas as pd

    from sourcebench.intervals import weighted_score

    rows = sources.assign(judge=judge)
    gaps = pd.DataFrame(index=rows.index)
    for code in CODES:
        on = ["query_id", "page_id"] if code in QUERY_LEVEL else ["page_id"]
        mine = judgments.loc[judgments["metric"] == code, [*on, "score", "outcome"]]
        verdict = rows[on].merge(mine, on=on, how="left")
        given = verdict["outcome"].isin(SCORED)
        rows[code] = verdict["score"].where(given).astype("Int64")
        gaps[code] = (code + " " + verdict["outcome"].fillna("not_judged")).where(~given, "")
    rows["weighted"] = weighted_score(rows[list(CODES)].astype("float64"))
    rows["outcome"], rows["reason"] = _outcomes(rows["state"], rows["why"], gaps)
    columns = ["judge", "system", "query_id", "page_id", "position", "runs", "outcome", "reason"]
    return rows[[*columns, *CODES, "weighted"]]


def _outcomes(state: pd.Series, why: pd.Series, gaps: pd.DataFrame) -> tuple[pd.Series, pd.Series]:
    """Say what became of each source, and which of its metrics are missing for which reason."""
    lost = gaps.ne("").sum(axis=1)
    judged = state.isin(JUDGED_PAGES)
    outcome = state.mask(judged, "partly_scored")
    outcome = outcome.mask(judged & (lost == 0), "scored")
    outcome = outcome.mask(judged & (lost == len(CODES)), "not_judged")
    listed = [", ".join(filter(None, row)) for row in gaps.itertuples(index=False)]
    reason = why.mask(judged, listed)
    return outcome, reason.mask(reason == "", None)
