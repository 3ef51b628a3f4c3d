"""Section 1: which questions the study asks."""

from __future__ import annotations

import pandas as pd

from sourcebench.schema import in_order
from sourcebench.study import Study
from sourcebench.tables import PaperTable

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
    counts["order"] = counts["category"].map(in_order(counts["category"]).index)
    counts = counts.sort_values(["order", "dataset"], ignore_index=True).drop(columns="order")
    counts["intent"] = counts["category"].map(lambda name: _INTENT.get(name, ""))
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
