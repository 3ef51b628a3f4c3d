"""What recordings of answers hold: counts that need no page, and how far systems cite the same."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING

from sourcebench.collect.answerfile import Rules
from sourcebench.collect.listing import url_fault
from sourcebench.collect.recognise import read_any
from sourcebench.collect.replies import Answer
from sourcebench.urls import page_id, site

if TYPE_CHECKING:
    import pandas as pd

_KEEP = Rules(broken="keep")


def read_recording(path: str | Path, *, system: str) -> list[Answer]:
    """Return the answers of a recording, all of them: what is broken is kept and counted.

    Parameters
    ----------
    path
        A file in any form that `sourcebench.collect.recognise.read_any` takes.
    system
        Name of the system that gave the answers.
    """
    return read_any(path, system=system, rules=_KEEP).found.answers


def survey(answers: Iterable[Answer]) -> pd.DataFrame:
    """Count what the answers of each system hold.

    Parameters
    ----------
    answers
        Answers of one or several systems.

    Returns
    -------
    DataFrame
        One row a system: answers; queries; repeated (answers to a query after its first);
        empty (answers without a text); uncited (answers without any source, which stay in every
        mean over answers); listed (sources as listed, repeats in one answer included);
        without_address and malformed (of those: empty, or no web address); citations (sources with
        a web address, each once an answer); pages, sites (different ones); top_site and its share
        of the citations.
    """
    import pandas as pd

    groups: dict[str, list[Answer]] = {}
    for answer in answers:
        groups.setdefault(answer.system, []).append(answer)
    columns = ["system", "answers", "queries", "repeated", "empty", "uncited", "listed", "without_address", "malformed", "citations", "pages", "sites", "top_site", "top_site_share"]  # fmt: skip
    rows = [{"system": name, **_counts(mine)} for name, mine in groups.items()]
    return pd.DataFrame(rows, columns=columns)


def _counts(answers: Sequence[Answer]) -> dict[str, object]:
    """Count what the answers of one system hold."""
    listed = [listed_sources(answer) for answer in answers]
    entries = [url for one in listed for url in one]
    cited = [url for answer in answers for url in sources(answer) if url_fault(url) is None]
    queries = {answer.query_id for answer in answers}
    sites = Counter(found for url in cited if (found := site(url)))
    top, most = max(sorted(sites.items()), key=lambda pair: pair[1], default=("", 0))
    return {
        "answers": len(answers),
        "queries": len(queries),
        "repeated": len(answers) - len(queries),
        "empty": sum(not answer.reply.text for answer in answers),
        "uncited": sum(not one for one in listed),
        "listed": len(entries),
        "without_address": sum(not url for url in entries),
        "malformed": sum(bool(url) and url_fault(url) is not None for url in entries),
        "citations": len(cited),
        "pages": len({page_id(url) for url in cited}),
        "sites": len(sites),
        "top_site": top,
        "top_site_share": most / sites.total() if sites else float("nan"),
    }


def listed_sources(answer: Answer) -> list[str]:
    """Return the addresses that a recording lists with an answer, empty and repeated ones too."""
    return list(answer.reply.extra.get("listed") or sources(answer))


def sources(answer: Answer) -> list[str]:
    """Return the addresses that an answer cites, each once, in the order of their ranks."""
    first: dict[int, str] = {}
    for citation in answer.reply.citations:
        first.setdefault(citation.rank, citation.url)
    return [first[rank] for rank in sorted(first)]


def overlap(answers: Iterable[Answer], *, queries: Mapping[str, str] | None = None) -> pd.DataFrame:
    """Measure how far every two systems cite the same pages and sites for the same queries.

    Parameters
    ----------
    answers
        Answers of several systems; those to one query are taken together.
    queries
        Which query an answer belongs to, by the text of its question, where ids differ from
        recording to recording; by default its `query_id`.

    Returns
    -------
    DataFrame
        One row a pair: system_a, system_b; queries (which both answered); and, for `page` and for
        `site`, the mean over these queries of the share of what either cites that both cite
        (Jaccard), with the number of queries where at least one of the two cites anything.
    """
    import pandas as pd

    cited: dict[str, dict[str, set[str]]] = {}
    for answer in answers:
        key = (queries or {}).get(answer.question, answer.query_id)
        good = {url for url in sources(answer) if url_fault(url) is None}
        cited.setdefault(answer.system, {}).setdefault(key, set()).update(good)
    urls = {url for by_query in cited.values() for some in by_query.values() for url in some}
    identities = {"page": {u: page_id(u) for u in urls}, "site": {u: site(u) for u in urls}}
    rows = []
    for a, b in combinations(cited, 2):
        shared = sorted(cited[a].keys() & cited[b].keys())
        row: dict[str, object] = {"system_a": a, "system_b": b, "queries": len(shared)}
        for name, known in identities.items():
            pairs = [(_all(cited[a][q], known), _all(cited[b][q], known)) for q in shared]
            shares = [len(x & y) / len(x | y) for x, y in pairs if x | y]
            row[f"{name}_overlap"] = sum(shares) / len(shares) if shares else float("nan")
            row[f"{name}_queries"] = len(shares)
        rows.append(row)
    return pd.DataFrame(rows)


def _all(urls: Iterable[str], known: Mapping[str, str]) -> set[str]:
    """Return the identities of addresses, without empty ones."""
    return {known[url] for url in urls} - {""}
