"""The frozen records that stages hand to each other, and the words for what can happen to them."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import asdict, dataclass, field, fields
from typing import Any, Literal, Protocol

Group = Literal["content", "credibility", "usability"]

# What became of an answer that was asked for.
ANSWER_OUTCOMES = ("ok", "no_citations", "empty", "refused", "failed")

# What came back when a cited address was asked for. "Could not look" is never "bad".
FETCH_OUTCOMES = (
    "ok",
    "refused",  # 401, 403, 429, 451: live, but not for us
    "gone",  # 404, 410
    "server_error",  # 5xx, after retries
    "unreachable",  # no such host, connection refused or reset
    "timeout",
    "tls_error",
    "too_large",
    "too_many_redirects",
    "redirector_expired",
    "not_allowed",  # robots.txt, or an address we refuse to visit
    "not_available_offline",
    "not_tried",
)

# What a fetched page turned out to be. Only `ok` and `partial` pages are judged.
PAGE_OUTCOMES = (
    "ok",
    "partial",  # paywall teaser or cut text: judged, and marked
    "soft_404",
    "redirect_home",
    "interstitial",  # consent page, bot challenge
    "needs_javascript",
    "parked",
    "unsupported_type",
    "empty",
    "failed",  # extraction ended without a text; the reason says how
    "not_fetched",  # the fetch outcome says why
)
JUDGED_PAGES = ("ok", "partial")
EXCERPT = "excerpt"  # flag of a packet that holds passages of a page, and nothing else of it

# What became of one metric of one page that a judge was asked about.
VERDICT_OUTCOMES = (
    "scored",
    "repaired",  # scored; the reply needed repair before it could be read
    "no_verdict",  # a reply without a readable verdict
    "out_of_range",
    "cut",  # the reply ended at the length limit, twice
    "refused",
    "filtered",
    "echoed",  # the verdict stands word for word in the page
    "error",  # the endpoint failed, after retries
    "timeout",
    "not_asked",  # the run stopped before: a limit, no quota, an endpoint that is down
)
SCORED = ("scored", "repaired")

# What became of a sentence of an answer: a statement that sources can back, or why it is none.
STATEMENT_OUTCOMES = (
    "statement",
    "question",
    "meta",  # about the answer itself, or what its writer can or can't do
    "heading",
    "fragment",  # too little to be true or false
    "table",
    "code",
    "no_statements",  # one row for an answer in which nothing was found to check
    "not_parsed",  # the model's reply about this sentence could not be read
)

# Whether a source backs a statement.
SUPPORT_VERDICTS = ("supported", "partly", "not_supported", "contradicted", "cant_tell")

# What became of one statement and page that a verifier was asked about.
CHECK_OUTCOMES = (
    "checked",
    "repaired",  # checked; the reply needed repair before it could be read
    "no_page",  # the page could not be fetched or has no text; the reason says why
    *(o for o in VERDICT_OUTCOMES if o not in ("scored", "repaired", "out_of_range")),
)
CHECKED = ("checked", "repaired")

# What annotators say of a statement's sources. `no_source` is an answer without a citation there,
# `not_applicable` a source they could not open; neither says that a source does not support.
SUPPORT_LABELS = (*SUPPORT_VERDICTS, "no_source", "not_applicable")
RELIABILITY_LABELS = (
    "reliable",
    "somewhat_reliable",
    "not_reliable",
    "no_source",
    "not_applicable",
)


@dataclass(frozen=True)
class Query:
    """One question put to the systems."""

    query_id: str
    text: str
    category: str = ""
    gold_answer: str = ""


@dataclass(frozen=True)
class Author:
    """A candidate for a page's author, with where it was found."""

    name: str
    source: str  # json-ld, meta, rel-author, microdata, byline, biography, pdf
    kind: str = "person"  # person or organisation
    about: str = ""  # credentials, biography or profile address found with the name


@dataclass(frozen=True)
class Dated:
    """A date of a page: ISO text (year, month or day), where it stands and how far to trust it."""

    date: str
    source: str
    strength: Literal["strong", "weak"] = "strong"


@dataclass(frozen=True)
class Link:
    """A link in a page: absolute address, its text, its rel, and `main` or `outside`."""

    url: str
    text: str = ""
    rel: str = ""
    place: Literal["main", "outside"] = "main"


@dataclass(frozen=True)
class Packet:
    """All that a judge may see of one page.

    `counts` holds whole numbers: words, links, external_links, sponsored_links, ad_elements,
    images, forms, scripts. `json_ld` keeps the items of type article, organisation, person and
    product with their naming, dating and contact fields. `text` is the main text, `outside` the
    short unique lines of the page that are not in it (contact, about and advertising lines).
    """

    page_id: str
    url: str
    outcome: str = "ok"
    reason: str = ""
    kind: str = "article"
    site: str = ""  # registered domain
    status: int = 200
    fetched_at: str = ""
    media_type: str = "text/html"
    title: str = ""
    site_name: str = ""
    language: str = ""
    authors: tuple[Author, ...] = ()
    published: Dated | None = None
    modified: Dated | None = None
    counts: dict[str, int] = field(default_factory=dict)
    json_ld: tuple[dict[str, Any], ...] = ()
    links: tuple[Link, ...] = ()
    text: str = ""
    outside: str = ""
    flags: tuple[str, ...] = ()  # hidden_text, paywall, cut, mojibake, second_mode ...

    def to_dict(self) -> dict[str, Any]:
        """Return the packet as plain JSON values."""
        return asdict(self)

    @classmethod
    def from_dict(cls, row: dict[str, Any]) -> Packet:
        """Return the packet that `to_dict` wrote; unknown fields are an error."""
        unknown = set(row) - {f.name for f in fields(cls)}
        if unknown:
            raise ValueError(f"packet {row.get('page_id')!r}: unknown fields {sorted(unknown)}")
        made = dict(row)
        made["authors"] = tuple(Author(**a) for a in row.get("authors", ()))
        made["links"] = tuple(Link(**a) for a in row.get("links", ()))
        made["json_ld"] = tuple(row.get("json_ld", ()))
        made["flags"] = tuple(row.get("flags", ()))
        for name in ("published", "modified"):
            made[name] = Dated(**row[name]) if row.get(name) else None
        return cls(**made)


@dataclass(frozen=True)
class Verdict:
    """What a judge said of one metric: a score from 1 to 5, or none with the outcome that says why.

    `flags` mark what a reader should know: text_cut, planted_verdict, against_reason ... `model` and
    `judged_at` (ISO 8601, UTC) say where a language model's verdict comes from.
    """

    metric: str
    score: int | None
    reason: str = ""
    outcome: str = "scored"
    flags: tuple[str, ...] = ()
    model: str = ""
    judged_at: str = ""


@dataclass(frozen=True)
class Check:
    """What a verifier said of one statement and one page.

    `evidence` is the passage of the page that the verdict rests on, and `quote_found` whether it
    stands there word for word (None without a passage).
    """

    verdict: str | None
    evidence: str = ""
    quote_found: bool | None = None
    outcome: str = "checked"
    reason: str = ""
    flags: tuple[str, ...] = ()
    model: str = ""
    checked_at: str = ""


class Verifier(Protocol):
    """Says of statements whether one page backs them."""

    name: str

    def version(self) -> str:
        """Return what identifies the wording, or the rules, behind the verdicts."""
        ...

    def check(self, statements: Sequence[str], packet: Packet) -> list[Check]:
        """Return one check for each statement, failures included."""
        ...


class Judge(Protocol):
    """Scores one metric group of one page; `query` is None for page-level groups."""

    name: str

    def prompt_hash(self, group: Group) -> str:
        """Return what identifies the wording, or the rules, behind the verdicts of a group."""
        ...

    def judge(self, group: Group, query: Query | None, packet: Packet) -> list[Verdict]:
        """Return one verdict for each metric of the group, failures included."""
        ...
