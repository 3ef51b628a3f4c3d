"""From verdicts to measures: URL validity, statement and response support, citation precision.

Two rules say when a statement is supported: `any`, by any source of its response, as SourceCheckup
counts (Wu et al. 2025); `cited`, by a source cited at the statement itself. Two readings say what
stays in the denominator: `reachable` leaves out what could not be looked at, as SourceCheckup's
program does, and `strict` counts it as unsupported. The truth about the web as a reader meets it
lies between the two.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

import pandas as pd

from sourcebench.records import JUDGED_PAGES
from sourcebench.statistics.correction import any_source_rate
from sourcebench.statistics.intervals import cluster_mean, macro_mean

if TYPE_CHECKING:
    from sourcebench.study import Study

Rule = Literal["any", "cited"]
Reading = Literal["reachable", "strict"]
RULES: tuple[Rule, ...] = ("any", "cited")
READINGS: tuple[Reading, ...] = ("reachable", "strict")
KEY = ["system", "query_id", "run"]
STATEMENT = [*KEY, "statement_id"]
SHARE = (0.0, 1.0)

# What a statement comes to over several pages is the best that one of them gives.
STATUSES = (
    "unreachable",  # none of the pages could be read
    "unresolved",  # read, but without a verdict that counts
    "not_supported",
    "contradicted",
    "partly",
    "supported",
)
UNKNOWN = ("unreachable", "unresolved")
REFUSED = ("refused", "not_allowed")


@dataclass(frozen=True)
class Support:
    """The verdicts of one verifier on one study, ready to be counted.

    Attributes
    ----------
    responses : DataFrame
        One row an answer: system, query_id, run, outcome (of the answer), statements, left_out,
        pages, reachable (numbers of each).
    statements : DataFrame
        One row a statement: the key, text, claim_id, and a status under each rule: `any`, `cited`.
        A statement without a citation has the status `uncited`.
    pairs : DataFrame
        One row a statement and page: the key, claim_id, page_id, cited, status.
    urls : DataFrame
        One row a response and page: the key, page_id, state, valid, refused, readable.
    verifier : str
    """

    responses: pd.DataFrame
    statements: pd.DataFrame
    pairs: pd.DataFrame
    urls: pd.DataFrame
    verifier: str


def load_support(study: Study, verifier: str | None = None) -> Support:
    """Return the verdicts of one verifier.

    Parameters
    ----------
    study
        A study whose statements were verified.
    verifier
        By default the one that study.toml names.

    Raises
    ------
    ValueError
        If there are no verdicts of that verifier.
    """
    from sourcebench.support.stage import response_pairs

    verifier = verifier or study.settings.verifier
    statements = study.load("statements")
    verdicts = study.load("support")
    verdicts = verdicts[verdicts["verifier"] == verifier]
    if statements.empty and len(study.load("answers")):
        raise ValueError(
            f"{study.path('statements')}: no statements yet; run: sourcebench verify {study.folder}"
        )
    pairs = response_pairs(study, statements)
    pairs = pairs.merge(
        verdicts[["claim_id", "page_id", "verdict", "quote_found", "outcome"]],
        on=["claim_id", "page_id"],
        how="left",
    )
    if verdicts.empty and len(pairs):
        raise ValueError(
            f"{study.path('support')}: no verdicts of {verifier!r}; run: sourcebench verify "
            f"{study.folder}"
        )
    urls = _urls(study, pairs)
    return tally(statements, pairs, urls, study.load("answers"), verifier)


def tally(
    statements: pd.DataFrame,
    pairs: pd.DataFrame,
    urls: pd.DataFrame,
    answers: pd.DataFrame,
    verifier: str,
) -> Support:
    """Join statements and verdicts; see `Support` for the frames.

    Parameters
    ----------
    statements, answers
        The tables of those names.
    pairs
        As `sourcebench.support.stage.response_pairs` returns them, with verdict, quote_found and
        outcome, missing where a pair was not verified.
    urls
        One row a response and page, with state, valid, refused, readable.
    """
    pairs = pairs.assign(status=pair_status(pairs))
    stated = statements[statements["outcome"] == "statement"].reset_index(drop=True)
    for rule in RULES:
        stated[rule] = _status(stated, pairs[pairs["cited"]] if rule == "cited" else pairs)
    return Support(_responses(answers, statements, urls), stated, pairs, urls, verifier)


def pair_status(pairs: pd.DataFrame) -> pd.Series:
    """Return what each statement and page comes to.

    A verdict of support or contradiction whose quotation does not stand in the page counts for
    nothing: it is `unresolved`.
    """
    verdict = pairs["verdict"].astype(object)
    status = verdict.where(verdict.isin(STATUSES), "unresolved")
    unfounded = (pairs["quote_found"] == "no") & status.isin(
        ["supported", "partly", "contradicted"]
    )
    status = status.mask(unfounded.fillna(False), "unresolved")
    return status.mask((pairs["outcome"] == "no_page").fillna(False), "unreachable")


def _status(stated: pd.DataFrame, pairs: pd.DataFrame) -> pd.Series:
    """Return the best status that the pages give each statement."""
    level = pairs["status"].map({name: i for i, name in enumerate(STATUSES)})
    best = level.groupby([pairs[c] for c in STATEMENT]).max().rename("best").reset_index()
    best = best.astype({"run": "Int64", "statement_id": "Int64"})
    found = stated[STATEMENT].merge(best, on=STATEMENT, how="left")["best"]
    return found.map(dict(enumerate(STATUSES))).astype(object).fillna("uncited")


def _responses(answers: pd.DataFrame, statements: pd.DataFrame, urls: pd.DataFrame) -> pd.DataFrame:
    """Return one row an answer with what it holds."""
    stated = statements["outcome"] == "statement"
    none = statements["outcome"].isin(["no_statements"])
    counts = statements.assign(statements=stated, left_out=~stated & ~none)
    counts = counts.groupby(KEY)[["statements", "left_out"]].sum().reset_index()
    pages = urls.groupby(KEY).agg(pages=("page_id", "nunique"), reachable=("readable", "sum"))
    rows = answers[[*KEY, "outcome"]].merge(counts, on=KEY, how="left")
    rows = rows.merge(pages.reset_index(), on=KEY, how="left")
    names = ["statements", "left_out", "pages", "reachable"]
    rows[names] = rows[names].fillna(0).astype(int)
    return rows


def _urls(study: Study, pairs: pd.DataFrame) -> pd.DataFrame:
    """Return one row a response and cited page, with what the page turned out to be.

    `valid` is SourceCheckup's reading: status 200 and a text that is not empty. `refused` pages are
    live, but answer us with 401, 403, 429 or 451, or forbid programs. `readable` ones were verified.
    """
    from sourcebench.score import page_states
    from sourcebench.support.stage import citations_by_answer

    rows = [
        (*key, page)
        for key, cited in citations_by_answer(study).items()
        for page in dict.fromkeys(c.page_id for c in cited)
    ]
    urls = pd.DataFrame(rows, columns=[*KEY, "page_id"]).astype({"run": "Int64"})
    urls = urls.merge(page_states(study), on="page_id", how="left")
    fetched = study.load("fetches")[["page_id", "status"]]
    texts = study.load("pages")[["page_id", "text_chars"]]
    urls = urls.merge(fetched, on="page_id", how="left").merge(texts, on="page_id", how="left")
    urls["state"] = urls["state"].fillna("not_tried")
    urls["valid"] = (urls["status"].eq(200) & urls["text_chars"].gt(0)).fillna(False).astype(bool)
    urls["refused"] = urls["state"].isin(REFUSED)
    read = set(study.load("packets").loc[lambda f: _is_judged(f), "page_id"])
    urls["readable"] = urls["page_id"].isin(read)
    return urls.drop(columns="why")


def _is_judged(packets: pd.DataFrame) -> list[bool]:
    """Tell which packets hold a page with a text."""
    return [record.get("outcome", "ok") in JUDGED_PAGES for record in packets["record"]]


# --- measures ------------------------------------------------------------------------------------


def statement_values(support: Support, rule: Rule, reading: Reading) -> pd.DataFrame:
    """Return one row a statement with `value` 1 if supported, 0 if not, missing if left out.

    Under `reachable`, a response without a page that could be read is left out whole, and so is a
    statement of which nothing could be seen; under `strict` both count as unsupported.
    """
    frame = support.statements[[*STATEMENT, rule]].rename(columns={rule: "status"})
    value = frame["status"].eq("supported").astype(float)
    if reading == "reachable":
        pages = support.responses[[*KEY, "reachable"]]
        reached = frame.merge(pages, on=KEY, how="left")["reachable"].fillna(0).gt(0).to_numpy()
        value = value.where(reached & ~frame["status"].isin(UNKNOWN))
    return frame.assign(value=value)


def response_values(support: Support, rule: Rule, reading: Reading) -> pd.DataFrame:
    """Return one row a response with `value` 1 if all its statements are supported.

    A response without a statement has no value under either reading: nothing in it can be
    supported. It keeps its row.
    """
    stated = statement_values(support, rule, reading)
    least = stated.groupby(KEY)["value"].min().rename("value").reset_index()
    return support.responses[[*KEY, "outcome"]].merge(least, on=KEY, how="left")


def citation_values(support: Support) -> pd.DataFrame:
    """Return one row a citation with `value` 1 if its page supports the statement it is attached to.

    The mean is citation precision (Liu, Zhang and Liang 2023); citation recall is the statement
    support of the rule `cited` under the strict reading.
    """
    cited = support.pairs[support.pairs["cited"]]
    value = cited["status"].eq("supported").astype(float)
    return cited[[*STATEMENT, "page_id", "status"]].assign(
        value=value.where(~cited["status"].isin(UNKNOWN))
    )


def url_values(support: Support, column: str = "valid") -> pd.DataFrame:
    """Return one row a response and cited page with `value` 1 if it is `valid`, `refused`, `readable`."""
    return support.urls[[*KEY, "page_id"]].assign(value=support.urls[column].astype(float))


def frames(support: Support) -> Iterator[tuple[str, str, str, pd.DataFrame]]:
    """Yield measure, rule, reading and its rows, for all measures in print order."""
    for column in ("valid", "refused", "readable"):
        yield f"url_{column}", "", "", url_values(support, column)
    for rule in RULES:
        for reading in READINGS:
            yield "statement", rule, reading, statement_values(support, rule, reading)
    for rule in RULES:
        for reading in READINGS:
            yield "response", rule, reading, response_values(support, rule, reading)
    yield "citation_precision", "cited", "reachable", citation_values(support)


def support_estimates(
    support: Support, queries: pd.DataFrame, systems: list[str] | None = None
) -> pd.DataFrame:
    """Return every measure of every system with its interval.

    Shares of statements, citations and addresses are ratio estimators with the query as the
    cluster, which holds the response (all its runs); `per_query` beside it is the mean over queries,
    which differs where long answers are worse.

    Returns
    -------
    DataFrame
        system, measure, rule, reading, the fields of an Estimate, per_query, and `dropped`: rows that
        the reading leaves out.
    """
    names = systems if systems is not None else sorted(support.responses["system"].unique())
    rows = []
    for measure, rule, reading, frame in frames(support):
        for system in names:
            mine = frame[frame["system"] == system]
            e = cluster_mean(mine, "value", queries=queries, limits=SHARE)
            mean = macro_mean(mine, "value", queries=queries, limits=SHARE).value
            row = {"system": system, "measure": measure, "rule": rule, "reading": reading}
            dropped = e.expected - e.n
            rows.append(row | e._asdict() | {"per_query": mean, "dropped": dropped})
    return pd.DataFrame(rows)


# --- what the any-source rule does to errors -----------------------------------------------------


def any_source_inflation(support: Support, false_positive_rate: float) -> pd.DataFrame:
    """Return how often a wrong verdict on one page makes a statement supported, by system.

    With `m` sources, of which none supports the statement, the any-source rule turns a false
    positive rate f of single verdicts into 1 - (1 - f)^m; averaged over the statements.
    """
    size = support.pairs[~support.pairs["status"].isin(UNKNOWN)]
    size = size.groupby(STATEMENT).size().rename("sources").reset_index()
    size["any"] = any_source_rate(false_positive_rate, size["sources"])
    table = size.groupby("system").agg(
        statements=("sources", "size"), sources=("sources", "mean"), any_source=("any", "mean")
    )
    return table.assign(one_source=false_positive_rate).reset_index()


def calls_of(support: Support) -> pd.DataFrame:
    """Return, by system, the calls that SourceCheckup's program makes and the pairs verified here.

    Its program makes one call for each statement and source of a response, besides one to parse it;
    here a text is verified against a page once.
    """
    rows = []
    for system, mine in support.pairs.groupby("system"):
        responses = len(support.responses[support.responses["system"] == system])
        once = mine.drop_duplicates(["claim_id", "page_id"])
        rows.append(
            {
                "system": system,
                "responses": responses,
                "statements_x_sources": len(mine),
                "distinct_pairs": len(once),
                "pages": once["page_id"].nunique(),
                "published_calls": len(mine) + responses,
            }
        )
    columns = ["responses", "statements_x_sources", "distinct_pairs", "pages", "published_calls"]
    return pd.DataFrame(rows, columns=["system", *columns])
