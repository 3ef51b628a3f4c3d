"""The offline judge: a baseline that scores all eight metrics from rules over a page's evidence.

It is a baseline, not a referee. It counts what a page shows (dates, bylines, addresses, links, words)
and maps the counts to the rubric's levels with the round thresholds of `thresholds.csv`, which says
why each has its value. It can't tell a calm falsehood from a fact, or an answer from a page that
shares its words; it needs no model and no network, costs milliseconds, and always says the same.
"""

from __future__ import annotations

import csv
import hashlib
import re
from collections.abc import Callable
from datetime import date, timedelta
from functools import cache
from pathlib import Path

from sourcebench.judge.evidence import (
    CUES_FILE,
    HERE,
    SITES_FILE,
    Page,
    cues,
    word_frequencies,
    words,
)
from sourcebench.judge.relevance import Embedder, language_mismatch, overlap, similarity
from sourcebench.records import JUDGED_PAGES, Author, Dated, Group, Packet, Query, Verdict
from sourcebench.rubric import GROUPS

RULES_VERSION = "1"
THRESHOLDS_FILE = HERE / "thresholds.csv"
PRIMARY = ("government", "academic", "scholarly", "public_body", "institution")
NO_SOURCE = ("social", "shortener", "cheap_suffix", "disinformation", "content_farm")
AUTHORITY = (
    *(*PRIMARY, "standard", "news_agency", "national_news", "public_broadcaster", "encyclopedia"),
)
FA_CAPS = {
    "disinformation": (2, "site listed for disinformation"),
    "content_farm": (3, "content farm"),
    "cheap_suffix": (3, "site without standing"),
    "tabloid": (3, "weak record in fact checks"),
    "blog_host": (4, "self-published"),
    "private_suffix": (4, "self-published"),
    "community": (3, "posts by users"),
    "social": (3, "posts by users"),
    "forum": (3, "posts by users"),
    "qa": (3, "posts by users"),
    "shop": (3, "seller's claims"),
    "press_release": (3, "claims in its own cause"),
}
TRUSTED = (
    *("open_reference", "fact_checker", "research_institute", "specialist_press", "portal"),
    *("brand", "community"),
)
UNKNOWN = ("tabloid", "blog_host", "private_suffix", "social")

CLINICAL_KINDS = ("encyclopedia", "medical", "documentation", "scholarly")
_CAPITALS = re.compile(r"\b[A-ZÄÖÜ]{4,}\b")

UNSIGNED_KINDS = (*CLINICAL_KINDS, "press_release", "shop", "pdf")

Finding = tuple[int | None, str]


class RulesJudge:
    """Scores packets by rules; a judge in the sense of `records.Judge`.

    Parameters
    ----------
    as_of : date
        The day from which ages are counted, the study's `as_of`.
    embedder : callable or path, optional
        Maps a list of texts to the rows of their embeddings, or the tokenizer.json with which
        `embedding.load_embedder` makes such a function. With it the relevance of English pages is
        the mean of lexical overlap and cosine similarity.
    """

    name = "rules"

    def __init__(self, as_of: date, embedder: Embedder | str | Path | None = None):
        if isinstance(embedder, str | Path):
            from sourcebench.judge.embedding import load_embedder

            embedder = load_embedder(embedder)
        self.as_of = as_of
        self.embedder = embedder

    def prompt_hash(self, group: Group) -> str:
        """Return what identifies the rules of a group: version, thresholds, word and site lists."""
        rows = [f"{m},{n},{v}" for m in GROUPS[group] for n, v in sorted(thresholds()[m].items())]
        parts = [RULES_VERSION, group, "embedding" if self.embedder else "", *rows]
        parts += [f.read_text(encoding="utf-8") for f in (CUES_FILE, SITES_FILE)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def judge(self, group: Group, query: Query | None, packet: Packet) -> list[Verdict]:
        """Return one verdict for each metric of the group.

        Raises
        ------
        ValueError
            If the content group is asked for without a query.
        """
        if group == "content" and query is None:
            raise ValueError("the content group is judged for a query; got none")
        if packet.outcome not in JUDGED_PAGES:
            why = f"page is {packet.outcome}, nothing to judge"
            return [Verdict(code, None, why, "no_verdict") for code in GROUPS[group]]
        page = Page(packet)
        return [self._verdict(code, query, page) for code in GROUPS[group]]

    def _verdict(self, code: str, query: Query | None, page: Page) -> Verdict:
        """Apply one metric's rule."""
        t = thresholds()[code]
        if code == "CR":
            score, reason = relevance(query, page, t, self.embedder)
        elif code == "FR":
            score, reason = freshness(page, t, self.as_of)
        else:
            score, reason = RULES[code](page, t)
        if score is None:
            return Verdict(code, None, reason, "no_verdict")
        return Verdict(code, score, reason)


@cache
def thresholds() -> dict[str, dict[str, float]]:
    """Return metric -> name -> value of the threshold table."""
    table: dict[str, dict[str, float]] = {}
    with THRESHOLDS_FILE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            table.setdefault(row["metric"], {})[row["name"]] = float(row["value"])
    return table


def _step(value: float, *cuts: float) -> int:
    """Return 1 plus the number of cuts that a value reaches."""
    return 1 + sum(value >= cut for cut in cuts)


def _few(items: list[str] | tuple[str, ...], most: int = 3) -> str:
    """Return the first items in one short string."""
    return ", ".join(items[:most])


# Content


def relevance(query: Query, page: Page, t: dict[str, float], embedder: Embedder | None) -> Finding:
    """CR: how much of the question's weight the page's title, lead and passages hold."""
    if not page.text.strip():
        return None, "no main text"
    if other := language_mismatch(query.text, page.packet.language, t):
        return 1, f"page in {page.packet.language}, question in {other}"
    seen = overlap(query.text, page, t)
    if seen is None:
        return None, "the question has no content words"
    index = seen.index
    said = (
        f"holds {seen.whole:.0%} of the question's words by weight, best passage {seen.passage:.0%}"
    )
    if seen.missing:
        said += f", lacks {_few(seen.missing)}"
    if embedder is not None and page.packet.language in ("en", ""):
        near = similarity(query.text, page, embedder)
        index = (index + near - t["unrelated"]) / 2
        said += f", similarity {near:.2f}"
    score = _step(index, t["cut_2"], t["cut_3"], t["cut_4"], t["cut_5"])
    if len(page.text) < t["short"]:
        score, said = score - 1, said + f"; only {len(page.text)} characters"
    elif seen.stuffing > t["stuffed"]:
        score, said = score - 2, said + f"; {seen.stuffing:.0%} of all words are question words"
    if "paywall" in page.packet.flags or "cut" in page.packet.flags:
        score, said = score - 1, said + "; text cut off"
    return max(score, 1), said


def accuracy(page: Page, t: dict[str, float]) -> Finding:
    """FA: whether claims can be checked. A proxy: what is true can't be seen offline."""
    if not page.text.strip():
        return None, "no main text"
    if doubt := _doubtful(page, t):
        return doubt
    score, said = _checkable(page, t)
    cap, why = FA_CAPS.get(page.kind_of_site) or FA_CAPS.get(page.packet.kind) or (5, "")
    return min(score, cap), said + (f"; {why}" if cap < score else "")


def _doubtful(page: Page, t: dict[str, float]) -> Finding | None:
    """Return a low score for claims that no careful text makes, or loaded ones without a source."""
    least = t["least_words"]
    primary = any(kind in PRIMARY for kind in page.cited_sites.values())
    if page.own_rate("conspiracy", least) >= t["doubt_1"] and not primary:
        return 1, f"conspiracy talk ({_few(page.found('conspiracy'))}), no primary source"
    attributed = page.rate("attribution", least)
    sourced = primary or attributed >= t["attribution_4"]
    if page.own_rate("absolutes", least) >= t["doubt_2"] and not sourced:
        return 2, f"absolute claims ({_few(page.found('absolutes'))}), no primary source"
    loud = _loud(page, thresholds()["NE"])
    if loud and attributed < t["unsupported_2"] and not primary:
        return 2, f"{loud}, without sources"
    return None


def _checkable(page: Page, t: dict[str, float]) -> Finding:
    """Score what a reader can follow up: primary sources, others, attributions."""
    primary = [s for s, kind in page.cited_sites.items() if kind in PRIMARY]
    others = [s for s, kind in page.cited_sites.items() if kind not in (*PRIMARY, *NO_SOURCE)]
    listed = page.labelled("reference_list")
    marks = page.scholarly_marks
    if page.kind_of_site in (*PRIMARY, "standard"):
        return 5, f"itself a primary source ({page.kind_of_site})"
    if len(primary) >= t["primary_5"]:
        return 5, f"links {len(primary)} primary sources ({_few(primary)})"
    if len(marks) >= t["marks_5"] or (marks and listed):
        return 5, f"names scholarly works ({_few(marks)})"
    attributed = page.rate("attribution", t["least_words"])
    if attributed >= t["attribution_4"]:
        return (
            4,
            f"{attributed:.0f} attributions per 1000 words ({_few(page.found('attribution'))})",
        )
    if len(others) >= t["secondary_4"]:
        return 4, f"links {len(others)} other sites ({_few(others)})"
    if listed or marks:
        return 4, f"sources listed ({_few(listed or marks)})"
    return 3, f"{len(others)} other sites linked, {attributed:.0f} attributions per 1000 words"


def neutrality(page: Page, t: dict[str, float]) -> Finding:
    """NE: agitating, loud or leaning wording outside quotations, against plain and clinical wording."""
    if not page.text.strip():
        return None, "no main text"
    least = t["least_words"]
    if page.own_rate("conspiracy", least) >= t["agitation_1"]:
        return 1, f"agitation ({_few(page.found('conspiracy'))})"
    if loud := _loud(page, t):
        return 2, loud
    if leaning := _leaning(page, t):
        return 3, leaning
    clinical = page.kind_of_site in (*PRIMARY, "standard") or page.packet.kind in CLINICAL_KINDS
    if clinical:
        return 5, f"plain wording, {page.kind_of_site or page.packet.kind} text"
    attributed = page.rate("attribution", least)
    if attributed < t["voice_3"]:
        return 3, "the writer's own voice throughout, nobody else is heard"
    return 4, f"plain wording, {attributed:.0f} attributions per 1000 words"


def _loud(page: Page, t: dict[str, float]) -> str:
    """Return the signs of emotional or shouting wording."""
    found, least = [], t["least_words"]
    if page.own_rate("emotive", least) >= t["emotive_2"]:
        found.append(f"emotive words ({_few(page.found('emotive'))})")
    shouted = [w for w in _CAPITALS.findall(page.own_words) if w.lower() in word_frequencies()]
    if 1000 * len(shouted) / max(len(page.tokens), least) >= t["shouting_2"]:
        found.append(f"shouting ({_few(list(dict.fromkeys(shouted)))})")
    return "; ".join(found)


def _leaning(page: Page, t: dict[str, float]) -> str:
    """Return the signs of an opinion, a personal or a selling text."""
    found, least = [], t["least_words"]
    if sign := _opinion(page):
        found.append(f"opinion piece ({sign})")
    address = page.own_rate("first_person", least) + page.own_rate("second_person", least)
    reported = page.rate("attribution", least) >= t["reported"]
    clinical = page.kind_of_site in (*PRIMARY, "standard") or page.packet.kind in CLINICAL_KINDS
    if address >= (t["advice_3"] if reported or clinical else t["address_3"]):
        found.append(f"{address:.0f} words of personal address per 1000")
    exclaimed = 1000 * page.own_words.count("!") / max(len(page.tokens), least)
    if exclaimed >= t["exclaim_3"]:
        found.append(f"{exclaimed:.0f} exclamation marks per 1000 words")
    selling = page.own_rate("promotion", least)
    if selling >= t["promotion_3"] and not reported:
        found.append(f"{selling:.0f} selling words per 1000 ({_few(page.found('promotion'))})")
    tone = page.subjectivity
    if tone is not None and tone >= t["subjective_3"] and not reported:
        found.append(f"subjectivity {tone:.2f}")
    return "; ".join(found)


def _opinion(page: Page) -> str:
    """Return the word in kind, address or title that marks an opinion piece, or ""."""
    path = re.split(r"[/_.?]", page.packet.url.partition("//")[2].partition("/")[2].lower())
    marks = {" ".join(p) for p in cues()["opinion"]}
    return next((p for p in (page.packet.kind, *path[:4]) if p in marks), "")


# Credibility


def freshness(page: Page, t: dict[str, float], as_of: date) -> Finding:
    """FR: the date of the last change, else of publication, else the text; weak dates don't count."""
    dates = []
    for word, dated in (("modified", page.packet.modified), ("published", page.packet.published)):
        if day := _day(dated, as_of, page.packet.fetched_at):
            dates.append((day, f"{word} {dated.date} ({dated.source})"))
    if dates:
        day, said = max(dates, key=lambda found: found[0])
        age = max((as_of - day).days, 0)
        said += f", {age} days before {as_of}"
        if age <= t["current"]:
            return 5, said
        return (4, said) if age <= t["recent"] else _aged(page, t, age, said)
    if ended := page.found("ended"):
        return 2, f"no date; speaks of what has ended ({_few(ended)})"
    weak = page.packet.modified or page.packet.published
    return 3, "no date" + (f" to rely on, {weak.date} ({weak.source}) is weak" if weak else "")


def _aged(page: Page, t: dict[str, float], age: int, said: str) -> Finding:
    """Tell apart what is overtaken, what stays valid, and what is legacy among older pages."""
    least = int(t["least_words"])
    ended, events = page.found("ended"), page.rate("event_day", least)
    ahead = page.rate("announcement", least) - events
    if ended:
        return (1 if age >= t["legacy"] else 2), f"{said}; speaks of what has ended ({_few(ended)})"
    if ahead >= t["announcing_2"]:
        return 2, f"{said}; announces or offers ({_few(page.found('announcement'))})"
    if age >= t["legacy"]:
        return 2, said
    if events >= t["event_4"]:
        return 4, f"{said}; report of a dated event ({_few(page.found('event_day'))})"
    return 3, said


def _day(dated: Dated | None, as_of: date, fetched_at: str) -> date | None:
    """Return the last day that a strong date may mean; None for weak, unreadable or future dates."""
    if dated is None or dated.strength != "strong":
        return None
    parts = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:T.*)?", dated.date.strip())
    if parts is None:
        return None
    year, month, day = (int(p) if p else None for p in parts.groups())
    try:
        first = date(year, month or 12, day or 1)
        last = first if day else (first + timedelta(days=31)).replace(day=1) - timedelta(days=1)
    except (ValueError, OverflowError):
        return None
    if not day:
        last = min(last, max(as_of, first if month else date(year, 1, 1)))
    if last <= as_of or last.isoformat() <= fetched_at[:10]:
        return last
    return None


def authorship(page: Page, t: dict[str, float]) -> Finding:
    """AA: a named person, with or without biography, or a team, or nobody."""
    named = [a for a in page.packet.authors if a.name.strip()]
    people = [a for a in named if _is_person(a, page)]
    for author in people:
        if about := _biography(author, page, t):
            return 5, f"{author.name} ({author.source}), {about}"
    if people:
        return 4, f"{people[0].name} ({people[0].source}), no biography on the page"
    if agency := next((a.name for a in named if _in_list(a.name, "agency")), ""):
        return 4, f"credited to {agency}"
    standing = page.kind_of_site in AUTHORITY
    if page.kind_of_site in PRIMARY or (named and standing):
        return 4, f"no person named; the {page.kind_of_site.replace('_', ' ')} answers for it"
    if page.packet.kind in ("forum", "qa") or page.kind_of_site in ("community", "social"):
        return 2, "users without names" if not named else f"user names ({named[0].name})"
    if named:
        return 3, f"signed {named[0].name}"
    if standing or page.kind_of_site in TRUSTED or page.packet.kind in UNSIGNED_KINDS:
        return 3, f"unsigned {(page.kind_of_site or page.packet.kind).replace('_', ' ')} text"
    return 2, "no author"


def _is_person(author: Author, page: Page) -> bool:
    """Tell whether an author looks like a named person: two and more capitalised words."""
    name = author.name.strip()
    if author.kind != "person" or not 3 < len(name) <= 60 or name.lower() == page.brand.lower():
        return False
    if _in_list(name, "agency") or _holds(name, "team"):
        return False
    parts = [w for w in re.split(r"[\s,]+", name) if w]
    capital = [w for w in parts if w[:1].isupper()]
    return 2 <= len(capital) <= 6 and sum(len(w.strip(".")) > 1 for w in capital) >= 2


def _in_list(name: str, cue: str) -> bool:
    """Tell whether a name is a phrase of a cue list."""
    return tuple(words(name)) in cues()[cue]


def _holds(text: str, cue: str) -> list[str]:
    """Return the phrases of a cue list that a short text holds."""
    own = words(text)
    runs = {tuple(own[i : i + n]) for n in (1, 2, 3) for i in range(len(own))}
    return sorted(" ".join(p) for p in cues()[cue] & runs)


def _biography(author: Author, page: Page, t: dict[str, float]) -> str:
    """Return what tells who an author is: credentials, a note beside the name, a sentence, a box."""
    notes = [n for n in author.about.split(";") if "://" not in n and "/" not in n.strip()[:1]]
    beside = " ".join(notes).replace(author.name, " ").strip()
    degrees = [a.name for a in page.packet.authors if len(words(a.name)) < 3]
    if held := _holds(f"{author.name} . {beside} . {' . '.join(degrees)}", "credentials"):
        return f"credentials ({_few(held)})"
    if len(words(beside)) >= t["biography_words"] and _holds(beside, "biography_verbs"):
        return f"described ({beside[:60]})"
    if sentence := _told_of(author.name, page):
        return f"described ({sentence})"
    return ""


def _told_of(name: str, page: Page) -> str:
    """Return the start of a sentence that says who the author is, or ""."""
    verbs = "|".join(sorted(re.escape(" ".join(p)) for p in cues()["biography_verbs"]))
    pattern = re.compile(rf"{re.escape(name)}(?:,[^,.\n]{{1,60}},)? (?:{verbs}) [^.\n]{{12,200}}")
    match = pattern.search(page.text) or pattern.search(page.outside)
    return match[0][:60] if match else ""


def ownership(page: Page, t: dict[str, float]) -> Finding:
    """OA: address and telephone, who owns the site, ways to reach them."""
    if shell := page.labelled("shell"):
        return 1, f"disguised ({shell[0]})"
    facts = [x for x in (page.address, page.telephone) if x]
    owner, about = page.owner, page.labelled("about") + page.labelled("imprint")
    contact = page.labelled("contact") or _mail(page)
    if len(facts) >= t["facts_5"]:
        return 5, f"{_few(facts)}" + (f", {owner}" if owner else "")
    if page.kind_of_site in ("government", "academic"):
        return 5, f"a {page.kind_of_site} body"
    if about or (owner and contact):
        return 4, f"{owner or page.brand or page.host}, links {_few(about or contact)}; no address"
    if owner or contact or page.brand or page.kind_of_site in (*AUTHORITY, *TRUSTED):
        return 3, f"only {owner or _few(contact) or page.brand or page.kind_of_site}"
    return 2, "nobody named, no about or contact link"


def _mail(page: Page) -> list[str]:
    """Return the e-mail addresses outside the text."""
    return re.findall(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}", page.outside)[:2]


def authority(page: Page, t: dict[str, float]) -> Finding:
    """DA: the kind of the site; for unlisted sites, signs of an established organisation."""
    kind = page.kind_of_site
    if not page.host:
        return None, "no host in the address"
    if kind == "disinformation":
        return 1, f"{page.host}: listed for disinformation"
    if kind in ("content_farm", "cheap_suffix"):
        return 2, f"{page.host}: {kind.replace('_', ' ')}"
    if kind in AUTHORITY:
        return 5, f"{page.host}: {kind.replace('_', ' ')}"
    if kind in TRUSTED:
        return 4, f"{page.host}: {kind.replace('_', ' ')}"
    if kind in UNKNOWN:
        return 3, f"{page.host}: {kind.replace('_', ' ')}"
    signs = page.labelled("establishment")
    signs += [x for x in (page.address, page.telephone, page.owner) if x]
    if len(signs) >= t["established_4"]:
        return 4, f"{page.host}: not listed; established by {_few(signs)}"
    return 3, f"{page.host}: not listed, {len(signs)} signs of an established organisation"


# Usability


def layout(page: Page, t: dict[str, float]) -> Finding:
    """LC: advertising units, labels, paid teasers and calls to act beside the length of the text."""
    counts = page.packet.counts
    if not counts and not page.text and not page.outside:
        return None, "no text and no counts"
    sold = counts.get("sponsored_links", 0)
    units = {
        "ad elements": counts.get("ad_elements", 0),
        "scripts": t["scripts"] * counts.get("scripts", 0),
        "ad labels": t["label"] * len(page.labelled("ad_label")),
        "sponsored links": min(t["sponsored"] * sold, t["sponsored_most"]),
        "paid teasers": t["teasers"] * bool(page.labelled("teasers")),
        "calls to act": t["actions"] * len(page.labelled("call_to_action")),
    }
    thin = min(max(t["full_page"] / max(len(page.tokens), 1), 1), t["thin_most"])
    load = sum(v * (1 if k in ("scripts", "calls to act") else thin) for k, v in units.items())
    seen = [f"{k} {v:g}" for k, v in sorted(units.items(), key=lambda x: -x[1]) if v]
    said = f"load {load:.1f}: {_few(seen)}" if seen else "no advertising seen"
    score = 6 - _step(load, t["load_4"], t["load_3"], t["load_2"], t["load_1"])
    if "paywall" in page.packet.flags and score > 2:
        return 2, said + "; paywall"
    return score, said


RULES: dict[str, Callable[[Page, dict[str, float]], Finding]] = {
    "FA": accuracy,
    "NE": neutrality,
    "OA": ownership,
    "AA": authorship,
    "DA": authority,
    "LC": layout,
}
