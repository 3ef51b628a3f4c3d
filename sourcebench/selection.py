"""Which cited pages count: runs merged, pages ordered, the top ones kept."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.study import Study


def select_sources(
    citations: pd.DataFrame, top_k: int, page_id: Callable[[str], str]
) -> pd.DataFrame:
    """Merge the runs of each system and query by page, and keep the first `top_k` pages.

    Pages are ordered by how many runs cite them, then by their mean best rank, then by
    identity, as SourceBench selects the sources it scores. A page cited twice in one run counts
    once, at its better rank.

    Parameters
    ----------
    citations
        Columns system, query_id, run, rank, url.
    top_k
        Number of pages kept for each system and query.
    page_id
        Gives the identity of a page from an address as cited.

    Returns
    -------
    DataFrame
        One row a source: system, query_id, page_id, position (from 1), runs, url (first cited form).
    """
    identity = {url: page_id(url) for url in citations["url"].unique()}
    cited = citations.assign(page_id=citations["url"].map(identity))
    cited = cited.sort_values(["system", "query_id", "run", "rank"], kind="stable")
    once = cited.drop_duplicates(["system", "query_id", "run", "page_id"])
    merged = (
        once.groupby(["system", "query_id", "page_id"], dropna=False, sort=True)
        .agg(runs=("run", "nunique"), mean_rank=("rank", "mean"), url=("url", "first"))
        .reset_index()
        .sort_values(
            ["system", "query_id", "runs", "mean_rank", "page_id"],
            ascending=[True, True, False, True, True],
            kind="stable",
        )
    )
    merged["position"] = merged.groupby(["system", "query_id"], dropna=False).cumcount() + 1
    kept = merged[merged["position"] <= top_k].reset_index(drop=True)
    return kept[["system", "query_id", "page_id", "position", "runs", "url"]]


def selected_sources(study: Study) -> pd.DataFrame:
    """Return the sources of a study that count, as `select_sources` gives them.

    A redirect link that hides its target counts as the page it was found to lead to. Systems that only
    check the verifier have no sources.
    """
    from sourcebench.urls import page_id

    citations = study.load("citations")
    compared = citations[~citations["system"].isin(study.settings.checks)]
    compared = compared.assign(url=compared["url"].map(landing(study)))
    return select_sources(compared, study.settings.top_k, page_id)


def page_identity(study: Study) -> Callable[[str], str]:
    """Return what gives the identity of a page from an address as cited; see `landing`."""
    from sourcebench.urls import page_id

    lead = landing(study)
    return lambda url: page_id(lead(url))


def landing(study: Study) -> Callable[[str], str]:
    """Return what gives the address of a page from an address as cited.

    Both are the same, but for redirect links that hid their target and were resolved when they
    were fetched.
    """
    from sourcebench.urls import is_redirector, page_id

    fetches = study.load("fetches")
    links = fetches[fetches["url"].map(is_redirector) & fetches["final_url"].notna()]
    pages = {}
    for link in links.fillna({"hops": ""}).itertuples():
        way = [*link.hops.split(), link.final_url]
        pages[link.page_id] = next(address for address in way if not is_redirector(address))
    return lambda url: pages.get(page_id(url), url)


def pairs_to_judge(study: Study) -> pd.DataFrame:
    """Return the distinct (query_id, page_id) pairs among the selected and the labelled sources.

    Labelled pairs are judged too, since the judge is checked on them; labels of page-level
    metrics carry no query and add no pair.
    """
    import pandas as pd

    pairs = [selected_sources(study)[["query_id", "page_id"]]]
    if study.has("labels"):
        pairs.append(study.load("labels")[["query_id", "page_id"]].dropna())
    return (
        pd.concat(pairs).drop_duplicates().sort_values(["query_id", "page_id"], ignore_index=True)
    )
