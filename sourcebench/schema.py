"""The tables of a study: every column of every file, defined once."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Literal

from sourcebench.records import (
    ANSWER_OUTCOMES,
    CHECK_OUTCOMES,
    FETCH_OUTCOMES,
    PAGE_OUTCOMES,
    RELIABILITY_LABELS,
    STATEMENT_OUTCOMES,
    SUPPORT_LABELS,
    SUPPORT_VERDICTS,
    VERDICT_OUTCOMES,
)
from sourcebench.rubric import CODES

Kind = Literal["string", "integer", "number", "date", "boolean", "object", "array"]

CATEGORIES = ("shopping", "reasoning", "factual", "argumentative", "social")


def in_order(categories: Iterable[str]) -> list[str]:
    """Return distinct categories: the five of SourceBench first, others by name."""
    present = set(categories)
    return [c for c in CATEGORIES if c in present] + sorted(present - set(CATEGORIES))


DERIVED = (
    "pages",
    "packets",
    "judgments",
    "scores",
    "answer_scores",
    "statements",
    "support",
)


@dataclass(frozen=True)
class Column:
    """One column of a table: its type, what it means, and which values it may hold."""

    name: str
    type: Kind
    meaning: str
    required: bool = False
    allowed: tuple[str, ...] = ()
    low: float | None = None
    high: float | None = None


@dataclass(frozen=True)
class Table:
    """One table of a study: file name, meaning, columns, key, and the tables its columns point to."""

    file: str
    meaning: str
    columns: tuple[Column, ...]
    key: tuple[str, ...]
    refers: Mapping[str, str] = field(default_factory=dict)  # column -> table with that column

    @property
    def names(self) -> list[str]:
        """Return the column names in file order."""
        return [column.name for column in self.columns]


def _text(name: str, meaning: str, *, required: bool = False, allowed=()) -> Column:
    return Column(name, "string", meaning, required, tuple(allowed))


_QUERY = _text("query_id", "the query", required=True)
_SYSTEM = _text("system", "the answer engine or search tool", required=True)
_RUN = Column("run", "integer", "repetition of the same query, from 1", True, low=1)
_RANK = Column("rank", "integer", "position, from 1", True, low=1)
_PAGE = _text("page_id", "the page, derived from its canonical address", required=True)
_METRIC = _text("metric", "one of the eight metrics", required=True, allowed=CODES)
_SCORE = Column(
    "score", "integer", "1 (worst) to 5 (best); empty where there is none", low=1, high=5
)

TABLES: dict[str, Table] = {
    "queries": Table(
        "queries.csv",
        "The questions put to every system.",
        (
            _QUERY,
            _text("text", "the question as asked", required=True),
            _text(
                "category",
                "intent; a study may have others than the five of SourceBench",
                required=True,
            ),
            _text("dataset", "where the question comes from"),
            _text("gold_answer", "right answer, where there is one"),
        ),
        ("query_id",),
    ),
    "perspectives": Table(
        "perspectives.csv",
        "Views that a full answer to a disputed question has to mention.",
        (
            _QUERY,
            _text("perspective_id", "number of the view within the query", required=True),
            _text("text", "the view", required=True),
        ),
        ("query_id", "perspective_id"),
        {"query_id": "queries"},
    ),
    "answers": Table(
        "answers.jsonl",
        "What each system answered.",
        (
            _SYSTEM,
            _QUERY,
            _RUN,
            _text("outcome", "what became of the request", required=True, allowed=ANSWER_OUTCOMES),
            _text("text", "the answer"),
            _text("model", "model the endpoint says it used"),
            _text("asked_at", "time of the request, ISO 8601, UTC"),
            Column("usage", "object", "tokens as the endpoint reports them"),
            _text("reason", "why there is no answer"),
            Column("listed", "integer", "sources that the reply lists, repeats included", low=0),
            Column("without_address", "integer", "of those, how many name no address", low=0),
            Column("malformed", "integer", "of those, how many name what is no web address", low=0),
            Column("unlisted", "integer", "sources beside the list that the text cites", low=0),
        ),
        ("system", "query_id", "run"),
        {"query_id": "queries"},
    ),
    "citations": Table(
        "citations.csv",
        "Addresses that the answers cite, as cited.",
        (
            _SYSTEM,
            _QUERY,
            _RUN,
            _RANK,
            _text("url", "the address, as cited", required=True),
            _text("title", "title that the system gave"),
            _text("cited_text", "passage of the answer that carries the citation"),
            Column("start", "integer", "first code point of that passage in the answer", low=0),
            Column("end", "integer", "code point after its last", low=0),
        ),
        ("system", "query_id", "run", "rank"),
        {"query_id": "queries"},
    ),
    "reference": Table(
        "reference.csv",
        "Results of the search engine that overlap is measured against.",
        (
            _text("engine", "the search engine", required=True),
            _QUERY,
            _RANK,
            _text("url", "the address, as listed", required=True),
        ),
        ("engine", "query_id", "rank"),
        {"query_id": "queries"},
    ),
    "fetches": Table(
        "fetches.csv",
        "What came back for each cited page.",
        (
            _PAGE,
            _text("url", "the address that was asked for", required=True),
            _text("final_url", "the address after redirects"),
            _text("outcome", "what came back", required=True, allowed=FETCH_OUTCOMES),
            _text("reason", "why it is not ok, in words"),
            Column("status", "integer", "HTTP status", low=100, high=599),
            _text("fetched_at", "time of the request, ISO 8601, UTC"),
            _text("media_type", "content type, as sent"),
            _text("sha256", "SHA-256 of the body as decoded from its content encoding"),
            Column("bytes", "integer", "length of that body", low=0),
            _text("hops", "addresses on the way, separated by spaces"),
            _text("archived", "capture that stands in for the live page"),
        ),
        ("page_id",),
    ),
    "pages": Table(
        "pages.csv",
        "What each fetched page is, and who stands behind it.",
        (
            _PAGE,
            _text("url", "the address after redirects", required=True),
            _text(
                "outcome", "what the page turned out to be", required=True, allowed=PAGE_OUTCOMES
            ),
            _text("reason", "why it can not be judged, or what is missing"),
            _text("kind", "article, listing, forum, shop, pdf ..."),
            _text("site", "registered domain"),
            _text("title", "title"),
            _text("author", "names of the authors, separated by semicolons"),
            _text("site_name", "name of the site"),
            _text("published", "date of publication, as precise as known"),
            _text("published_source", "where that date stands"),
            _text("modified", "date of the last change"),
            _text("modified_source", "where that date stands"),
            _text("language", "language of the main text, ISO 639-1"),
            Column("text_chars", "integer", "characters of main text", low=0),
            _text("flags", "hidden_text, paywall, cut ..., separated by spaces"),
        ),
        ("page_id",),
        {"page_id": "fetches"},
    ),
    "packets": Table(
        "packets.jsonl",
        "All that a judge may see of each page; one record of type Packet a line.",
        (_PAGE,),
        ("page_id",),
        {"page_id": "fetches"},
    ),
    "judgments": Table(
        "judgments.csv",
        "One verdict a line: a score, or the outcome that says why there is none.",
        (
            _text(
                "judge",
                "name of the judge in study.toml; name/2 is its second repetition",
                required=True,
            ),
            _text(
                "prompt_hash", "identifies the wording or rules behind the verdict", required=True
            ),
            _text("query_id", "the query; empty for page-level metrics"),
            _PAGE,
            _METRIC,
            _SCORE,
            _text("reason", "what the judge gave as its reason"),
            _text("outcome", "what became of the request", required=True, allowed=VERDICT_OUTCOMES),
            _text("model", "model the endpoint says it used"),
            _text("judged_at", "time of the verdict, ISO 8601, UTC; empty for offline judges"),
            _text("flags", "text_cut, planted_verdict, against_reason ..., separated by spaces"),
        ),
        ("judge", "query_id", "page_id", "metric"),
        {"query_id": "queries", "page_id": "fetches"},
    ),
    "labels": Table(
        "labels.csv",
        "Scores given by readers, for checking the judge.",
        (
            _text("annotator", "who gave the score", required=True),
            _text("query_id", "the query; empty for page-level metrics"),
            _PAGE,
            _METRIC,
            _SCORE,
            _text("reason", "the reader's reason"),
        ),
        ("annotator", "query_id", "page_id", "metric"),
        {"query_id": "queries"},
    ),
    "drawn": Table(
        "drawn.csv",
        "Sources that chance picked for labelling, for each system from its own.",
        (
            _text("sheet", "the sheet they were written to", required=True),
            _text("item", "number on that sheet", required=True),
            _SYSTEM,
            _QUERY,
            _PAGE,
        ),
        ("sheet", "system", "query_id", "page_id"),
        {"query_id": "queries"},
    ),
    "statements": Table(
        "statements.csv",
        "What the answers state, sentence by sentence, with the pages cited there.",
        (
            _SYSTEM,
            _QUERY,
            _RUN,
            Column(
                "statement_id",
                "integer",
                "place in the answer, from 1; 0 in the one row of an answer without statements",
                True,
                low=0,
            ),
            _text("outcome", "a statement, or why not", required=True, allowed=STATEMENT_OUTCOMES),
            _text("claim_id", "identity of the text; the same text is verified once"),
            _text("text", "the statement, without citation marks"),
            Column("start", "integer", "first code point of its sentence in the answer", low=0),
            Column("end", "integer", "code point after its last", low=0),
            _text("pages", "page_id of each page cited there, separated by spaces"),
            _text("reason", "why it is no statement, or what is odd about its citations"),
            _text("parser", "what cut the answer up: rules, or the name of a judge", required=True),
        ),
        ("system", "query_id", "run", "statement_id"),
        {"query_id": "queries"},
    ),
    "support": Table(
        "support.csv",
        "Whether a page backs a statement; each text and page is verified once.",
        (
            _text("verifier", "rules, or the name of a judge in study.toml", required=True),
            _text("version", "identifies the wording or rules behind the verdict", required=True),
            _text("claim_id", "the statement's text", required=True),
            _PAGE,
            _text("verdict", "empty where there is none", allowed=SUPPORT_VERDICTS),
            _text("evidence", "passage of the page that the verdict rests on"),
            _text("quote_found", "whether that passage stands in the page", allowed=("yes", "no")),
            _text("outcome", "what became of the request", required=True, allowed=CHECK_OUTCOMES),
            _text("reason", "what the verifier gave as its reason, or why there is no verdict"),
            _text("model", "model the endpoint says it used"),
            _text("checked_at", "time of the verdict, ISO 8601, UTC; empty for rules"),
            _text("flags", "text_cut, planted_verdict, other_language ..., separated by spaces"),
        ),
        ("verifier", "claim_id", "page_id"),
    ),
    "support_labels": Table(
        "support_labels.csv",
        "Whether sources back a statement, as annotators say, for checking the verifier.",
        (
            _text("annotator", "who gave the label", required=True),
            _SYSTEM,
            _QUERY,
            _RUN,
            _text("statement", "the statement, without citation marks", required=True),
            _text("page_id", "the page; empty where the label is for all pages cited there"),
            _text("verdict", "the annotator's verdict", required=True, allowed=SUPPORT_LABELS),
            _text(
                "reliability",
                "how reliable the annotator calls the pages",
                allowed=RELIABILITY_LABELS,
            ),
            _text("reason", "the annotator's reason"),
        ),
        ("annotator", "system", "query_id", "run", "statement", "page_id"),
        {"query_id": "queries"},
    ),
    "answer_scores": Table(
        "answer_scores.csv",
        "How good the answers are, apart from their sources.",
        (
            _SYSTEM,
            _QUERY,
            _RUN,
            _text("measure", "exact_match, token_f1 ...", required=True),
            Column("value", "number", "value of the measure"),
            _text("reason", "why it was not measured"),
        ),
        ("system", "query_id", "run", "measure"),
        {"query_id": "queries"},
    ),
    "scores": Table(
        "scores.csv",
        "The sources that count: top citations of each system and query, with their scores.",
        (
            _text("judge", "name of the judge in study.toml", required=True),
            _SYSTEM,
            _QUERY,
            _PAGE,
            Column(
                "position", "integer", "place among the pages of this query, from 1", True, low=1
            ),
            Column("runs", "integer", "number of runs that cite the page", True, low=1),
            _text("outcome", "scored, partly_scored, or why not", required=True),
            _text("reason", "details of the outcome"),
            *(Column(code, "integer", f"score of {code}", low=1, high=5) for code in CODES),
            Column(
                "weighted",
                "number",
                "weighted score; empty if a metric is missing",
                low=20,
                high=100,
            ),
        ),
        ("judge", "system", "query_id", "page_id"),
        {"query_id": "queries"},
    ),
}
