"""Section 13: what was collected: answers by outcome, what they cite, and who cites the same."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from itertools import combinations

import numpy as np
import pandas as pd

from sourcebench.records import ANSWER_OUTCOMES
from sourcebench.render import DASH, estimate_cell, rounded
from sourcebench.statistics.intervals import Estimate, cluster_mean, count_mean
from sourcebench.study import Study
from sourcebench.tables import PaperTable, labels_of, not_measured

LISTED = ["listed", "without_address", "malformed", "unlisted"]
KEY = ["system", "query_id", "run"]
LEVELS = ("page", "work", "site")
TOP = 10  # sites that the last column of the table of citations adds up
_NAMED = 3  # sites that it names


# --- answers -------------------------------------------------------------------------------------


def answers_table(study: Study) -> PaperTable:
    """Return how many answers each system has, and what became of the requests."""
    name, title, labels = "table-13-answers", f"Answers collected: {study.label}", labels_of(study)
    columns = ("Answers", "Queries", *(outcome.replace("_", " ") for outcome in ANSWER_OUTCOMES))
    if not labels:
        return not_measured(name, title, ("System", *columns), "no answers")
    answers, asked = recorded_answers(study), len(study.load("queries"))
    rows = []
    for system in labels:
        mine = answers[answers["system"] == system]
        counts = mine["outcome"].value_counts()
        row = {"system": system, "answers": len(mine), "queries": mine["query_id"].nunique()}
        row |= {"asked": asked} | {o: int(counts.get(o, 0)) for o in ANSWER_OUTCOMES}
        rows.append(row)
    data = pd.DataFrame(rows)
    shown = pd.DataFrame({"System": list(labels.values()), "Answers": data["answers"].map("{:,}".format)})  # fmt: skip
    shown["Queries"] = [f"{n:,} of {asked:,}" for n in data["queries"]]
    for outcome, column in zip(ANSWER_OUTCOMES, columns[2:], strict=True):
        shown[column] = data[outcome].map("{:,}".format)
    note = (
        "Answers: recorded, every run and repetition; ok: with a source; no citations: a text without "
        "one; refused: by the system or its provider; failed: an error, or a reply that can't be read."
    )
    return PaperTable(name, title, data, shown, note)


def recorded_answers(study: Study) -> pd.DataFrame:
    """Return the answers of the systems that are compared, those known by their citations alone too.

    Returns
    -------
    DataFrame
        system, query_id, run, outcome, listed, without_address, malformed, unlisted.
    """
    answers = study.load("answers")[[*KEY, "outcome", *LISTED]]
    cited = study.load("citations")[KEY].drop_duplicates()
    found = answers.merge(cited.assign(outcome_cited="ok"), on=KEY, how="outer")
    found["outcome"] = found["outcome"].fillna(found["outcome_cited"])
    compared = ~found["system"].isin(study.settings.checks)
    return found[compared].drop(columns="outcome_cited").reset_index(drop=True)


# --- citations -----------------------------------------------------------------------------------


def citations_table(study: Study) -> PaperTable:
    """Return how much each system cites: sources, citations an answer, pages, sites."""
    name, title, labels = "table-13-citations", f"Sources cited: {study.label}", labels_of(study)
    columns = ("Listed", "No address", "Malformed", "Not cited", "In text only", "Citations", "An answer", "Without, %", "Pages", "Works", "Sites", "Top sites, %", f"Top {TOP}, %")  # fmt: skip
    if not labels:
        return not_measured(name, title, ("System", *columns), "no answers")
    answers, cited, queries = recorded_answers(study), cited_sources(study), study.load("queries")
    rows, shown = [], []
    for system, label in labels.items():
        mine, theirs = (frame[frame["system"] == system] for frame in (answers, cited))
        row = {"system": system, **source_counts(mine, theirs)}
        counted = _citations_an_answer(mine, theirs)
        estimates = {
            "citations_an_answer": count_mean(counted, "citations", queries=queries),
            "without": cluster_mean(counted, "none", queries=queries, limits=(0, 1)),
        }
        for key, e in estimates.items():
            row |= {key: e.value} | {f"{key}_{f}": getattr(e, f) for f in Estimate._fields[1:]}
        rows.append(row)
        shown.append([label, *_shown(row, estimates)])
    note = (
        "Listed: sources as the reply lists them, repeats included. Malformed: no web address. "
        "Not cited: repeats in one answer, and sources found that an answer which names others does not name. "
        "In text only: sources that the text cites beside the list. "
        "Citations: different pages of an answer, spellings of one address and resolved redirect "
        "links taken together. An answer: mean over all answers but failed requests, so that a refusal or an "
        "answer without a source counts as none; without: share of these that cite nothing. "
        "Brackets: 95% interval, clustered by query. Works: pages that are the PDF, the HTML form or the "
        f"DOI of one text taken together. Top sites: share of the citations; top {TOP}: their sum."
    )
    return PaperTable(name, title, pd.DataFrame(rows), pd.DataFrame(shown, columns=["System", *columns]), note)  # fmt: skip


def cited_sources(study: Study) -> pd.DataFrame:
    """Return the citations of the systems that are compared, with what they count as.

    Returns
    -------
    DataFrame
        system, query_id, run, url; fault, what is wrong with an address, or missing; page, work and
        site: identities of the address that it leads to, missing for a faulty one.
    """
    from sourcebench.collect.listing import url_fault
    from sourcebench.selection import landing
    from sourcebench.urls import page_id, site, work_id

    cited = study.load("citations")
    cited = cited[~cited["system"].isin(study.settings.checks)][[*KEY, "url"]]
    lead, urls = landing(study), cited["url"].unique()
    faults = {url: url_fault(url) for url in urls}
    lands = {url: lead(url) for url, fault in faults.items() if fault is None}
    cited = cited.assign(fault=cited["url"].map(faults))
    for level, identity in (("page", page_id), ("work", work_id), ("site", site)):
        known = {url: identity(address) for url, address in lands.items()}
        cited[level] = cited["url"].map(known).replace("", None)
    return cited.reset_index(drop=True)


def source_counts(answers: pd.DataFrame, cited: pd.DataFrame) -> dict[str, object]:
    """Count the sources of one system.

    Parameters
    ----------
    answers, cited
        Its rows of `recorded_answers` and `cited_sources`.

    Returns
    -------
    dict
        listed, without_address, malformed, not_cited, unlisted, citations, pages, works, sites; top_sites and
        top_counts, the ten sites with most citations, most first; top_share, their share.
    """
    good = cited[cited["fault"].isna()].drop_duplicates([*KEY, "page"])
    broken = cited[cited["fault"].notna()].drop_duplicates([*KEY, "url"])
    uncounted = answers[answers["listed"].isna()][KEY]
    told = answers[LISTED].sum().astype(int)
    counts = good["site"].value_counts().reset_index()
    counts = counts.sort_values(["count", "site"], ascending=[False, True]).head(TOP)
    listed = int(told["listed"]) + len(pd.concat([good, broken]).merge(uncounted, on=KEY))
    unlisted = int(told["unlisted"])
    malformed = int(told["malformed"]) + len(broken.merge(uncounted, on=KEY))
    return {
        "listed": listed,
        "without_address": int(told["without_address"]),
        "malformed": malformed,
        "not_cited": listed + unlisted - int(told["without_address"]) - malformed - len(good),
        "unlisted": unlisted,
        "citations": len(good),
        **{f"{level}s": good[level].nunique() for level in LEVELS},
        "top_sites": " ".join(counts["site"]),
        "top_counts": " ".join(map(str, counts["count"])),
        "top_share": counts["count"].sum() / len(good) if len(good) else np.nan,
    }


def _citations_an_answer(answers: pd.DataFrame, cited: pd.DataFrame) -> pd.DataFrame:
    """Return the number of pages that each answer cites; a failed request is no answer."""
    good = cited[cited["fault"].isna()].drop_duplicates([*KEY, "page"])
    counts = good.groupby(KEY).size().rename("citations").reset_index()
    came = answers[answers["outcome"] != "failed"]
    found = came.merge(counts, on=KEY, how="left").fillna({"citations": 0})
    found["citations"] = found["citations"].astype(float)
    return found.assign(none=(found["citations"] == 0).astype(float))


def _shown(row: dict[str, object], estimates: dict[str, Estimate]) -> Iterable[str]:
    """Return the cells of a system as a reader sees them."""
    yield from (f"{row[name]:,}" for name in ("listed", "without_address", "malformed", "not_cited", "unlisted", "citations"))  # fmt: skip
    yield estimate_cell(estimates["citations_an_answer"], 2)
    yield estimate_cell(_percent(estimates["without"]), 1)
    yield from (f"{row[f'{level}s']:,}" for level in LEVELS)
    pairs = zip(str(row["top_sites"]).split(), str(row["top_counts"]).split(), strict=True)
    lines = [f"{site} {rounded(100 * int(n) / row['citations'], 1)}" for site, n in pairs]
    yield "\n".join(lines[:_NAMED]) or DASH
    yield rounded(100 * row["top_share"], 1)


def _percent(e: Estimate) -> Estimate:
    """Return a share in percent."""
    return e._replace(**{name: 100 * getattr(e, name) for name in ("value", "low", "high", "se")})


# --- overlap between systems ---------------------------------------------------------------------


def shared_table(study: Study) -> PaperTable:
    """Return how far every two systems cite the same pages, works and sites for the same queries."""
    name, labels = "table-13-shared", labels_of(study)
    title = f"Sources that two systems share: {study.label}"
    columns = ("Systems", "Queries", "Pages, %", "Works, %", "Sites, %")
    if len(labels) < 2:
        return not_measured(name, title, columns, "fewer than two systems")
    data = shared_means(study)
    shown = []
    for (a, b), pair in data.groupby(["system_a", "system_b"], sort=False):
        first = pair.iloc[0]
        cells = [
            estimate_cell(_percent(Estimate(*row)), 1)
            for row in pair[list(Estimate._fields)].values
        ]
        both = f"{first['clusters']:,} of {first['both_answered']:,}"
        shown.append([f"{labels[a]}\n{labels[b]}", both, *cells])
    note = (
        "Of the pages (works, sites) that either system cites for a query, the share that both cite; "
        "mean over the queries for which both cite any, of those that both answered; runs taken together. "
        "Brackets: 95% interval over queries."
    )
    return PaperTable(name, title, data, pd.DataFrame(shown, columns=list(columns)), note)


def shared_means(study: Study) -> pd.DataFrame:
    """Return the mean share (Jaccard) of what every two systems cite alike, and its interval.

    Returns
    -------
    DataFrame
        system_a, system_b, level, both_answered, and the fields of an Estimate; one row a pair and
        level, over the queries for which both cite any.
    """
    answers, cited, queries = recorded_answers(study), cited_sources(study), study.load("queries")
    asked = answers.groupby("system")["query_id"].agg(set)
    sets = {level: _sets(cited, level) for level in LEVELS}
    rows = []
    for a, b in combinations(labels_of(study), 2):
        both = sorted(asked[a] & asked[b])
        for level in LEVELS:
            pairs = [(q, sets[level](a, q), sets[level](b, q)) for q in both]
            shares = [(q, len(x & y) / len(x | y)) for q, x, y in pairs if x and y]
            frame = pd.DataFrame(shares, columns=["query_id", "share"])
            e = cluster_mean(frame, "share", queries=queries, limits=(0, 1))
            rows.append({"system_a": a, "system_b": b, "level": level, "both_answered": len(both), **e._asdict()})  # fmt: skip
    return pd.DataFrame(rows)


def _sets(cited: pd.DataFrame, level: str) -> Callable[[str, str], frozenset[str]]:
    """Return what gives the identities that a system cites for a query."""
    groups = cited.dropna(subset=level).groupby(["system", "query_id"])[level]
    known = {key: frozenset(values) for key, values in groups}
    return lambda system, query_id: known.get((system, query_id), frozenset())
