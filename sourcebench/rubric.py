"""The rubric, written once: eight metrics, their levels, guidance and calibration examples.

Metrics, levels and scores follow SourceBench (2026), Tables 2 and 10 and the judge prompts of its
appendix; the wording is ours.
"""

from __future__ import annotations

from dataclasses import dataclass

from sourcebench.records import Group

SCALE = (1, 5)


@dataclass(frozen=True)
class Level:
    """One step of a metric's scale."""

    score: int
    label: str
    criterion: str


@dataclass(frozen=True)
class Metric:
    """One metric: its weight in the weighted score, its group, and what each score means.

    `weight` is in half units (3 stands for 1.5), so that all sums stay whole numbers.
    `scope` is `query` where the score depends on the question, else `page`.
    """

    code: str
    name: str
    weight: int
    group: Group
    scope: str
    focus: str
    levels: tuple[Level, ...]
    guidance: str


def _levels(*steps: tuple[str, str]) -> tuple[Level, ...]:
    """Number the steps from 5 (best) down to 1."""
    return tuple(
        Level(score, label, text)
        for score, (label, text) in zip(range(5, 0, -1), steps, strict=True)
    )


METRICS: tuple[Metric, ...] = (
    Metric(
        "CR",
        "Content relevance",
        3,
        "content",
        "query",
        "Does the page settle what the question asks?",
        _levels(
            (
                "Fully meets",
                "Answers the question directly and completely; no second search needed.",
            ),
            (
                "Highly meets",
                "To the point, but a small detail is missing or slightly out of date.",
            ),
            ("Moderately meets", "Right subject, wrong angle; the reader has to click on."),
            ("Slightly meets", "Shares words with the question but not its point."),
            ("Fails to meet", "Off topic, in the wrong language, or not a working page."),
        ),
        "Very short texts (under 300 characters) lose relevance unless they are a complete, "
        "concise answer to a factual question.",
    ),
    Metric(
        "FA",
        "Factual accuracy",
        3,
        "content",
        "query",
        "Can the claims be checked, and do they hold?",
        _levels(
            ("Verified", "Claims rest on cited primary sources: government, university, research."),
            ("Accurate", "In line with what is known; secondary sources such as news are cited."),
            ("Unverified", "Plausible common knowledge without evidence or links."),
            ("Suspect", "Fringe ideas, broken logic, or context left out."),
            ("False", "Demonstrably wrong, dangerous, or long debunked."),
        ),
        "Primary sources (government, education, science) count for more than secondary ones (news).",
    ),
    Metric(
        "NE",
        "Neutrality",
        3,
        "content",
        "query",
        "Is the tone fair, or does it push?",
        _levels(
            ("Neutral", "Clinical or academic; several views; no emotional loading."),
            ("Balanced", "Professional journalism; concedes the other side."),
            ("Opinionated", "A clear stance or opinion piece, still resting on facts."),
            ("Inflammatory", "Emotional triggers, shouting, piled-up punctuation."),
            ("Propaganda", "Hate, fear-mongering, or incoherent agitation."),
        ),
        "Emotional charging and manipulative wording are the signs of a source that can't be trusted.",
    ),
    Metric(
        "FR",
        "Freshness",
        2,
        "credibility",
        "page",
        "Is the page current and kept up?",
        _levels(
            ("Current", "Dated or updated within the last year before the as-of date."),
            ("Recent", "One to two years old and still valid."),
            ("Static", "Undated evergreen text, or one whose context is older."),
            ("Outdated", "Plainly overtaken: old law, discontinued product, past offer."),
            ("Legacy", "Ten years old or more, and wrong because of it."),
        ),
        "Look at the date of the last change first; without one, at the date of publication; without "
        "either, at cues in the text. An old page changed within the last year is current.",
    ),
    Metric(
        "OA",
        "Ownership accountability",
        2,
        "credibility",
        "page",
        "Is it clear who owns the site and how to reach them?",
        _levels(
            ("Fully transparent", "Postal address, telephone, and who leads the organisation."),
            (
                "Partly transparent",
                "A real About page or named leadership, no address or telephone.",
            ),
            ("Opaque", "A contact form or a vague About page, nothing more."),
            ("Anonymous", "No word on who runs the site."),
            ("Hidden", "Signs of a shell: ownership is disguised on purpose."),
        ),
        "Judge by what the page shows: imprint, footer, About and Contact links.",
    ),
    Metric(
        "AA",
        "Author accountability",
        2,
        "credibility",
        "page",
        "Is there an author who answers for the text?",
        _levels(
            ("Expert", "Named author with a biography or credentials that can be checked."),
            ("Professional", "Named staff writer, or an organisation of standing."),
            ("Opaque", "Signed by a team, an administrator or a nickname."),
            ("Absent", "No author where one is expected."),
            ("Deceptive", "Invented person or generated face."),
        ),
        "A byline alone is professional; it takes a biography or credentials to be expert.",
    ),
    Metric(
        "DA",
        "Domain authority",
        2,
        "credibility",
        "page",
        "What standing has the site?",
        _levels(
            ("Authority", "Government, university, major news, or an established institution."),
            ("Trusted", "Established commercial brand or recognised specialist."),
            ("Unknown", "Working blog or small business without a record."),
            ("Low quality", "Content farm, or search-engine spam on a borrowed domain."),
            ("Blacklisted", "Known for fraud or disinformation."),
        ),
        "Judge the site, not the single page.",
    ),
    Metric(
        "LC",
        "Layout and ad density",
        2,
        "usability",
        "page",
        "Can the text be read, or does selling get in the way?",
        _levels(
            ("Clean", "No intrusive advertising; easy to scan."),
            ("Standard", "Banners or side columns that leave the text alone."),
            ("Cluttered", "Video that starts by itself, sticky bars, heavy selling."),
            ("Obstructive", "Pop-ups to close, rows of paid teasers posing as articles."),
            ("Unusable", "Overlays, broken layout, malicious redirects."),
        ),
        "Only text is at hand: look for advertisement labels, broken-up passages, and repeated calls to "
        "buy. Many repeated affiliate links point to 2 or 3.",
    ),
)

BY_CODE = {metric.code: metric for metric in METRICS}
CODES = tuple(BY_CODE)
WEIGHTS = {metric.code: metric.weight for metric in METRICS}
GROUPS: dict[str, tuple[str, ...]] = {
    group: tuple(m.code for m in METRICS if m.group == group)
    for group in ("content", "credibility", "usability")
}
QUERY_LEVEL = tuple(m.code for m in METRICS if m.scope == "query")


@dataclass(frozen=True)
class Example:
    """A judged page that shows the judge how the scale is meant."""

    group: Group
    page: str
    query: str
    scores: tuple[tuple[str, int], ...]
    why: str


EXAMPLES: tuple[Example, ...] = (
    Example(
        "content",
        "Reference documentation of Apache Mahout",
        "How do I evaluate AUC in Apache Mahout?",
        (("CR", 5), ("FA", 5), ("NE", 3)),
        "Names the very class that was asked for; official documentation; clinical, but most of the "
        "text is boilerplate.",
    ),
    Example(
        "content",
        "Thin shopping list of trench coats",
        "Which short trench coats under $50 are worth buying?",
        (("CR", 3), ("FA", 3), ("NE", 4)),
        "On trench coats, but not on short ones; common knowledge without links; professional, a "
        "little promotional.",
    ),
    Example(
        "content",
        "Laptop review with laboratory tests",
        "Which small laptop with an SSD suits older games and word processing?",
        (("CR", 4), ("FA", 5), ("NE", 4)),
        "Close to the need, the drive is not spelled out in the summary; own measurements; "
        "journalistic, with affiliate links.",
    ),
    Example(
        "credibility",
        "Reference documentation of Apache Mahout",
        "",
        (("FR", 5), ("AA", 4), ("OA", 5), ("DA", 5)),
        "Changed in December 2025; the Apache foundation answers for it, openly and with an address.",
    ),
    Example(
        "credibility",
        "Democracy In Action, a site of campaign records",
        "",
        (("FR", 2), ("AA", 3), ("OA", 4), ("DA", 4)),
        "Last touched in 2021; signed by the project only; who runs it is stated; a known specialist.",
    ),
    Example(
        "credibility",
        "PolitiFact, a fact-checking newsroom",
        "",
        (("FR", 3), ("AA", 5), ("OA", 5), ("DA", 4)),
        "The page is old but the site is kept up; named staff with biographies; full imprint.",
    ),
    Example(
        "credibility",
        "Medical portal on yoga and detoxification",
        "",
        (("FR", 3), ("AA", 5), ("OA", 5), ("DA", 4)),
        "Evergreen text; named and medically reviewed; owner in full; established brand.",
    ),
    Example(
        "usability",
        "pcmag.com, laptop round-up",
        "Best ultraportable laptops for 2026?",
        (("LC", 2),),
        "Advertisement labels break up the text, video captions stand in it, and it calls to buy more "
        "than twenty times.",
    ),
    Example(
        "usability",
        "healthgrades.com, yoga and detoxification",
        "Can yoga really detoxify your body?",
        (("LC", 2),),
        "Repeated portal navigation and sign-in prompts; the reader comes second to the sale.",
    ),
    Example(
        "usability",
        "mahout.apache.org, reference documentation",
        "How do I evaluate AUC in Apache Mahout?",
        (("LC", 5),),
        "One continuous, well-ordered document; plain navigation; nothing sold.",
    ),
)
