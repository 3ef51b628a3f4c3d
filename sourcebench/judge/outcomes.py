"""What became of the verdicts, system by system and topic by topic: a filter that strikes one topic
biases a comparison, and this shows it."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sourcebench.records import VERDICT_OUTCOMES
from sourcebench.rubric import GROUPS

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.study import Study


def verdict_outcomes(study: Study, judge: str | None = None) -> pd.DataFrame:
    """Count the outcomes of the verdicts on selected sources, by system and category.

    A source's verdicts on the group `content` are counted for each system that cites it, since
    they depend on the query; page-level verdicts are counted likewise.

    Parameters
    ----------
    study
        A judged study.
    judge
        Name of the judge; by default the study's own.

    Returns
    -------
    DataFrame
        One row a system and category: system, category, verdicts (expected ones), one column for
        each outcome that occurs, and not_judged (no verdict was asked for, or none is there).
    """
    from sourcebench.selection import selected_sources

    verdicts = study.load("judgments").query(
        "judge == @name", local_dict={"name": judge or study.settings.judge}
    )
    queries = study.load("queries")[["query_id", "category"]]
    sources = selected_sources(study)[["system", "query_id", "page_id"]].merge(
        queries, on="query_id"
    )
    expected = _expected(sources)
    found = expected.merge(_keyed(verdicts), on=["key_query", "page_id", "metric"], how="left")
    found["outcome"] = found["outcome"].fillna("not_judged")
    counts = found.groupby(["system", "category", "outcome"]).size().unstack(fill_value=0)
    order = [name for name in (*VERDICT_OUTCOMES, "not_judged") if name in counts.columns]
    counts = counts[order]
    counts.insert(0, "verdicts", counts.sum(axis=1))
    return counts.reset_index().rename_axis(columns=None)


def _expected(sources: pd.DataFrame) -> pd.DataFrame:
    """Return a row for each verdict that the sources call for."""
    import pandas as pd

    parts = []
    for group, codes in GROUPS.items():
        key = sources["query_id"] if group == "content" else ""
        parts += [sources.assign(metric=code, key_query=key) for code in codes]
    return pd.concat(parts, ignore_index=True)


def _keyed(verdicts: pd.DataFrame) -> pd.DataFrame:
    """Return outcomes with an empty query where there is none, so that they can be joined."""
    return verdicts.assign(key_query=verdicts["query_id"].fillna(""))[
        ["key_query", "page_id", "metric", "outcome"]
    ]
