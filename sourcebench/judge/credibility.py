"""The rules of the credibility group: freshness, authorship, ownership, domain authority."""

from __future__ import annotations

import re
from calendar import monthrange
from datetime import date

from sourcebench.judge.evidence import PRIMARY, Finding, Page, Table, cues, few, registered, words
from sourcebench.records import EXCERPT, Author, Dated

# Sellers have to say where they are, and forums are not by those who run them.
SELLING_KINDS = ("shop", "press_release", "forum")
UNSIGNED_KINDS = ("encyclopedia", "medical", "documentation", "press_release", "pdf")
_MADE_FOR_SEARCH = re.compile(
    r"^(?:the)?(?:top\d*|best|cheap|buy)|\d{2,}|deals?|coupon|discount|-.*-"
)
_TEAM = re.compile(
    r"\b[Bb]y (?:the |our )?((?:[\w'’-]{1,30} ){0,3}(?:team|staff|editors|editorial board|newsroom)\b)"
)
_CJK_NAME = re.compile(r"[\u3040-\u30ff\u4e00-\u9fff\uac00-\ud7af]{2,6}")


def freshness(page: Page, table: Table, as_of: date) -> Finding:
    """FR: the date of the last change, else of publication, else the text; weak dates don't count."""
    t = table["FR"]
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
        return (4, said) if age <= t["recent"] else _aged(page, table, age, said)
    if ended := page.found("ended"):
        return 2, f"no date; speaks of what has ended ({few(ended)})"
    weak = page.packet.modified or page.packet.published
    return 3, "no date" + (f" to rely on, {weak.date} ({weak.source}) is weak" if weak else "")


def _aged(page: Page, table: Table, age: int, said: str) -> Finding:
    """Tell apart what is overtaken, what stays valid, and what is legacy among older pages."""
    t = table["FR"]
    least = t["least_words"]
    ended, events = page.found("ended"), page.rate("event_day", least)
    ahead = page.rate("announcement", least) - events
    if ended:
        return (1 if age >= t["legacy"] else 2), f"{said}; speaks of what has ended ({few(ended)})"
    if ahead >= t["announcing_2"]:
        return 2, f"{said}; announces or offers ({few(page.found('announcement'))})"
    if age >= t["legacy"]:
        return 2, said
    if events >= t["event_4"]:
        return 4, f"{said}; report of a dated event ({few(page.found('event_day'))})"
    return 3, said


def _day(dated: Dated | None, as_of: date, fetched_at: str) -> date | None:
    """Return the last day that a strong date may mean, up to the as-of day or the visit.

    None for a weak, unreadable or future date.
    """
    if dated is None or dated.strength != "strong":
        return None
    parts = re.fullmatch(r"(\d{4})(?:-(\d\d))?(?:-(\d\d))?(?:[T ].*)?", dated.date.strip())
    try:
        visit = date.fromisoformat(fetched_at[:10])
    except ValueError:
        visit = as_of
    try:
        year, month, day = (int(p) if p else 0 for p in parts.groups()) if parts else (0, 0, 0)
        first = date(year, month or 1, day or 1)
        last = first if day else date(year, month or 12, monthrange(year, month or 12)[1])
    except ValueError:
        return None
    limit = max(as_of, visit)
    return min(last, limit) if first <= limit else None


def authorship(page: Page, table: Table) -> Finding:
    """AA: a named person, with or without biography, or a team, or nobody."""
    named = [a for a in page.packet.authors if a.name.strip()]
    people = [a for a in named if _is_person(a, page)]
    for author in people:
        if about := _biography(author, page, table):
            return 5, f"{author.name} ({author.source}), {about}"
    if people and (page.kind_of_site in ("academic", "scholarly") or page.is_scholarly(table)):
        return 5, f"{people[0].name} ({people[0].source}), writing for a scholarly body"
    if people:
        return 4, f"{people[0].name} ({people[0].source}), no biography on the page"
    if agency := next((a.name for a in named if _in_list(a.name, "agency")), ""):
        return 4, f"credited to {agency}"
    standing = table["DA"].get(f"kind_{page.kind_of_site}", 3)
    if page.kind_of_site in PRIMARY or (named and standing == 5):
        return 4, f"no person named; the {page.kind_of_site.replace('_', ' ')} answers for it"
    if named:
        return 3, f"signed {named[0].name}"
    if team := _TEAM.search(page.text) or _TEAM.search(page.outside):
        return 3, f"signed {team[1]}"
    if standing >= 4 or page.packet.kind in UNSIGNED_KINDS:
        return 3, f"unsigned {(page.kind_of_site or page.packet.kind).replace('_', ' ')} text"
    return 2, "no author"


def _is_person(author: Author, page: Page) -> bool:
    """Tell whether an author looks like a named person: two and more words, none in lower case only.

    Names in Chinese, Japanese or Korean characters are written as one word.
    """
    name = author.name.strip()
    if author.kind != "person" or not 2 <= len(name) <= 60 or name.lower() == page.brand.lower():
        return False
    if _in_list(name, "agency") or _holds(name, "team"):
        return False
    if _CJK_NAME.fullmatch(name):
        return True
    capital = [w for w in re.split(r"[\s,]+", name) if w and not w[:1].islower()]
    return 2 <= len(capital) <= 6 and sum(len(w.strip(".")) > 1 for w in capital) >= 2


def _in_list(name: str, cue: str) -> bool:
    """Tell whether a name is a phrase of a cue list."""
    return tuple(words(name)) in cues()[cue]


def _holds(text: str, cue: str) -> list[str]:
    """Return the phrases of a cue list that a short text holds."""
    own = words(text)
    runs = {tuple(own[i : i + n]) for n in (1, 2, 3) for i in range(len(own))}
    return sorted(" ".join(p) for p in cues()[cue] & runs)


def _biography(author: Author, page: Page, table: Table) -> str:
    """Return what tells who an author is: credentials, a note beside the name, a sentence, a box."""
    notes = [n for n in author.about.split(";") if "://" not in n and "/" not in n.strip()[:1]]
    beside = " ".join(notes).replace(author.name, " ").strip()
    degrees = [a.name for a in page.packet.authors if len(words(a.name)) < 3]
    if held := _holds(f"{author.name} . {beside} . {' . '.join(degrees)}", "credentials"):
        return f"credentials ({few(held)})"
    if len(words(beside)) >= table["AA"]["biography_words"] and _holds(beside, "biography_verbs"):
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


def ownership(page: Page, table: Table) -> Finding:
    """OA: address and telephone, who owns the site, ways to reach them."""
    if shell := page.labelled("shell"):
        return 1, f"disguised ({shell[0]})"
    facts = [x for x in (page.address, page.telephone) if x]
    owner, about = page.owner, page.labelled("about") + page.labelled("imprint")
    contact = page.labelled("contact") or _mail(page)
    if len(facts) >= table["OA"]["facts_5"]:
        return 5, f"{few(facts)}" + (f", {owner}" if owner else "")
    if page.kind_of_site in ("government", "academic"):
        return 5, f"a {page.kind_of_site} body"
    if about or (owner and contact):
        return 4, f"{owner or page.brand or page.host}, links {few(about or contact)}; no address"
    standing = table["DA"].get(f"kind_{page.kind_of_site}", 3)
    if owner or contact or page.brand or standing >= 4:
        return 3, f"only {owner or few(contact) or page.brand or page.kind_of_site}"
    return 2, "nobody named, no about or contact link"


def _mail(page: Page) -> list[str]:
    """Return the e-mail addresses outside the text."""
    return re.findall(r"[\w.+-]{1,64}@[\w-]{1,63}(?:\.[\w-]{2,63}){1,4}", page.outside)[:2]


def authority(page: Page, table: Table) -> Finding:
    """DA: the kind of the site; for unlisted sites, signs of an established organisation."""
    t, kind = table["DA"], page.kind_of_site
    if not page.host:
        return None, "no host in the address"
    if f"kind_{kind}" in t:
        return int(t[f"kind_{kind}"]), f"{page.host}: {kind.replace('_', ' ')}"
    if EXCERPT in page.packet.flags:
        return None, f"{page.host}: not listed, and only passages of the page are at hand"
    if page.packet.kind == "encyclopedia" or page.is_scholarly(table):
        return 4, f"{page.host}: not listed; {page.packet.kind} of reference"
    sold = page.packet.counts.get("sponsored_links", 0)
    if _MADE_FOR_SEARCH.search(registered(page.host)) and sold >= t["sold_2"]:
        return 2, f"{page.host}: a name made for search, {sold} paid links"
    signs = page.labelled("establishment")
    if page.packet.kind not in SELLING_KINDS:
        signs += (page.labelled("about") + page.labelled("imprint"))[:1]
        signs += [x for x in (page.address, page.telephone) if x][:1]
    if len(signs) >= t["established_4"]:
        return 4, f"{page.host}: not listed; established by {few(signs)}"
    return 3, f"{page.host}: not listed, {few(signs) or 'no'} sign of an established organisation"
