"""Support and source quality in one count: what backs what an engine says, and how good is it?"""

from __future__ import annotations

import pandas as pd

from sourcebench.statistics.intervals import Estimate, ratio_estimate
from sourcebench.support.measures import SHARE, STATEMENT, UNKNOWN, Support

GOOD = 70.0  # weighted score from which a source counts as good
KINDS = {
    "good_backed": "supported by a good source",
    "poor_backed": "supported by a poor source",
    "unscored_backed": "supported by a source without a score",
    "good_unbacked": "unsupported, though a source cited there is good",
    "poor_unbacked": "unsupported, and the sources cited there are poor",
    "unscored_unbacked": "unsupported, sources without a score",
    "unseen": "cited pages could not be read or gave no verdict",
    "uncited": "no citation at the statement",
}


def support_and_quality(
    support: Support, sources: pd.DataFrame, *, good: float = GOOD
) -> pd.DataFrame:
    """Return one row a statement with its kind: whether sources cited there back it, and how good they are.

    Parameters
    ----------
    support
        The verdicts of one verifier; the rule is `cited`.
    sources
        The scored sources, see `sourcebench.score.load_sources`. Pages beyond the first ones of a
        query have no score.
    good
        Weighted score from which a source is good.

    Returns
    -------
    DataFrame
        The key of the statement, status, weighted (of the best source that backs it, else of the
        best cited there; missing without a score) and kind, a key of `KINDS`.
    """
    on = ["system", "query_id", "page_id"]
    cited = support.pairs[support.pairs["cited"]].merge(
        sources[[*on, "weighted"]], on=on, how="left"
    )
    backing = cited[cited["status"] == "supported"]
    best, backed = (f.groupby(STATEMENT)["weighted"].max() for f in (cited, backing))
    rows = support.statements[[*STATEMENT, "cited"]].rename(columns={"cited": "status"})
    index = pd.MultiIndex.from_frame(rows[STATEMENT])
    supported = (rows["status"] == "supported").to_numpy()
    weighted = backed.reindex(index).where(supported, best.reindex(index))
    rows["weighted"] = weighted.to_numpy(dtype=float)
    rows["kind"] = [
        _kind(s, w, good) for s, w in zip(rows["status"], rows["weighted"], strict=True)
    ]
    return rows


def _kind(status: str, weighted: float, good: float) -> str:
    """Return the kind of one statement."""
    if status == "uncited":
        return "uncited"
    if status in UNKNOWN:
        return "unseen"
    level = "unscored" if pd.isna(weighted) else "good" if weighted >= good else "poor"
    return f"{level}_{'backed' if status == 'supported' else 'unbacked'}"


def kind_shares(rows: pd.DataFrame, queries: pd.DataFrame, systems: list[str]) -> pd.DataFrame:
    """Return the share of each kind among the statements of each system, with its interval.

    Returns
    -------
    DataFrame
        system, column (the kind) and the fields of an Estimate; every kind of every system.
    """
    from sourcebench.statistics.intervals import query_codes, strata_of

    made = []
    for system in systems:
        mine = rows[rows["system"] == system]
        code = query_codes(mine, queries)
        count = pd.Series(code).value_counts().reindex(range(len(queries)), fill_value=0).to_numpy()
        for kind in KINDS:
            total = pd.Series(code[(mine["kind"] == kind).to_numpy()]).value_counts()
            total = total.reindex(range(len(queries)), fill_value=0).to_numpy(dtype=float)
            strata = strata_of(queries, "category")
            e = ratio_estimate(total, count.astype(float), strata, SHARE)
            made.append({"system": system, "column": kind, **e._asdict()})
    return pd.DataFrame(made, columns=["system", "column", *Estimate._fields])
