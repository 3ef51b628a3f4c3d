"""The rules of the content group: relevance, factual accuracy, neutrality."""

from __future__ import annotations

import re

from sourcebench.judge.evidence import (
    PRIMARY,
    Finding,
    Page,
    Table,
    cues,
    few,
    host_of,
    registered,
    step,
    word_frequencies,
)
from sourcebench.judge.relevance import Embedder, language_mismatch, overlap, similarity
from sourcebench.records import Query

NO_SOURCE = ("social", "shortener", "cheap_suffix", "disinformation", "content_farm")
CLINICAL_SITES = (*PRIMARY, "standard")
CLINICAL_KINDS = ("encyclopedia", "medical", "documentation")
_CAPITALS = re.compile(r"\b[A-ZÄÖÜ]{4,}\b")


def relevance(page: Page, table: Table, query: Query, embedder: Embedder | None) -> Finding:
    """CR: how much of the question's weight the page's title, lead and passages hold."""
    t = table["CR"]
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
        said += f", lacks {few(seen.missing)}"
    if embedder is not None and page.packet.language in ("en", ""):
        near = similarity(query.text, page, embedder)
        index = (index + near - t["unrelated"]) / 2
        said += f", similarity {near:.2f}"
    score = step(index, t["cut_2"], t["cut_3"], t["cut_4"], t["cut_5"])
    if len(page.text) < t["short"]:
        score, said = score - 1, said + f"; only {len(page.text)} characters"
    elif seen.stuffing > t["stuffed"]:
        score, said = score - 2, said + f"; {seen.stuffing:.0%} of all words are question words"
    if "paywall" in page.packet.flags or "cut" in page.packet.flags:
        score, said = score - 1, said + "; text cut off"
    return max(score, 1), said


def accuracy(page: Page, table: Table) -> Finding:
    """FA: whether claims can be checked. A proxy: what is true can't be seen offline."""
    if not page.text.strip():
        return None, "no main text"
    if doubt := _doubtful(page, table):
        return doubt
    score, said = _checkable(page, table)
    for kind in (page.kind_of_site, page.packet.kind):
        cap = int(table["FA"].get(f"cap_{kind}", score))
        if cap < score:
            score, said = cap, f"{said}; at most {cap} as {kind.replace('_', ' ')}"
    return score, said


def _doubtful(page: Page, table: Table) -> Finding | None:
    """Return a low score for claims that no careful text makes, or loaded ones without a source."""
    t = table["FA"]
    least = t["least_words"]
    primary = any(kind in PRIMARY for kind in page.cited.values())
    if page.own_rate("conspiracy", least) >= t["doubt_1"] and not primary:
        return 1, f"conspiracy talk ({few(page.found('conspiracy'))}), no primary source"
    attributed = page.rate("attribution", least)
    sourced = primary or attributed >= t["attribution_4"]
    if page.own_rate("absolutes", least) >= t["doubt_2"] and not sourced:
        return 2, f"absolute claims ({few(page.found('absolutes'))}), no primary source"
    if loud := _loud(page, table):
        score = 2 if attributed < t["unsupported_2"] and not primary else 3
        return score, f"{loud}" + (", without sources" if score == 2 else "")
    return None


def _checkable(page: Page, table: Table) -> Finding:
    """Score what a reader can follow up: primary sources, others, attributions."""
    t = table["FA"]
    primary = [url for url, kind in page.cited.items() if kind in PRIMARY]
    bodies = sorted({registered(host_of(url)) for url in primary})
    others = sorted(
        {registered(host_of(u)) for u, kind in page.cited.items() if kind not in NO_SOURCE}
    )
    attributed = page.rate("attribution", t["least_words"])
    reported = attributed >= t["attribution_4"]
    listed, marks = page.headed("reference_list"), page.scholarly_marks
    if page.kind_of_site in CLINICAL_SITES or page.is_scholarly(table):
        return 5, f"itself a primary source ({page.kind_of_site or 'scholarly article'})"
    if len(primary) >= t["primary_5"] or (primary and reported):
        return 5, f"links {len(primary)} primary sources ({few(bodies)})"
    if len(marks) >= t["marks_5"] or (marks and listed):
        return 5, f"names scholarly works ({few(marks)})"
    if reported:
        said = few(page.found("attribution"))
        return 4, f"{attributed:.0f} attributions per 1000 words ({said})"
    if primary:
        return 4, f"links a primary source ({few(bodies)}), few attributions"
    if len(others) >= t["secondary_4"]:
        return 4, f"links {len(others)} other sites ({few(others)})"
    if listed or marks:
        return 4, f"sources listed ({few(listed or marks)})"
    return 3, f"{len(others)} other sites linked, {attributed:.0f} attributions per 1000 words"


def neutrality(page: Page, table: Table) -> Finding:
    """NE: agitating, loud or leaning wording outside quotations, against plain and clinical wording."""
    if not page.text.strip():
        return None, "no main text"
    t = table["NE"]
    least = t["least_words"]
    if page.own_rate("conspiracy", least) >= t["agitation_1"]:
        return 1, f"agitation ({few(page.found('conspiracy'))})"
    if loud := _loud(page, table):
        return 2, loud
    if leaning := _leaning(page, table):
        return 3, leaning
    if _clinical(page, table):
        return 5, f"plain wording, {page.kind_of_site or page.packet.kind} text"
    attributed = page.rate("attribution", least)
    if attributed < t["voice_3"]:
        return 3, "the writer's own voice throughout, nobody else is heard"
    return 4, f"plain wording, {attributed:.0f} attributions per 1000 words"


def _loud(page: Page, table: Table) -> str:
    """Return the signs of emotional or shouting wording; clinical texts may hold headers in capitals."""
    t, found = table["NE"], []
    if page.own_rate("emotive", t["least_words"]) >= t["emotive_2"]:
        found.append(f"emotive words ({few(page.found('emotive'))})")
    if _clinical(page, table):
        return "; ".join(found)
    size = max(len(page.tokens), t["least_words"])
    shouted = [w for w in _CAPITALS.findall(page.own_words) if w.lower() in word_frequencies()]
    if 1000 * len(shouted) / size >= t["shouting_2"]:
        found.append(f"shouting ({few(list(dict.fromkeys(shouted)))})")
    exclaimed = 1000 * page.own_words.count("!") / size
    selling = page.own_rate("promotion", t["least_words"])
    if exclaimed >= t["exclaim_2"] and selling >= t["promotion_3"]:
        found.append(f"{exclaimed:.0f} exclamation marks and {selling:.0f} selling words per 1000")
    return "; ".join(found)


def _leaning(page: Page, table: Table) -> str:
    """Return the signs of an opinion, a personal or a selling text."""
    t = table["NE"]
    found, least = [], t["least_words"]
    if sign := _opinion(page):
        found.append(f"opinion piece ({sign})")
    address = page.own_rate("first_person", least) + page.own_rate("second_person", least)
    reported = page.rate("attribution", least) >= t["reported"]
    if address >= (t["advice_3"] if reported or _clinical(page, table) else t["address_3"]):
        found.append(f"{address:.0f} words of personal address per 1000")
    exclaimed = 1000 * page.own_words.count("!") / max(len(page.tokens), least)
    if exclaimed >= t["exclaim_3"]:
        found.append(f"{exclaimed:.0f} exclamation marks per 1000 words")
    selling = page.own_rate("promotion", least)
    if page.packet.kind == "press_release":
        found.append("press release")
    if selling >= t["promotion_3"] and not reported:
        found.append(f"{selling:.0f} selling words per 1000 ({few(page.found('promotion'))})")
    tone = page.subjectivity
    if tone is not None and tone >= t["subjective_3"] and not (reported or _clinical(page, table)):
        found.append(f"subjectivity {tone:.2f}")
    return "; ".join(found)


def _clinical(page: Page, table: Table) -> bool:
    """Tell whether a page is of a kind that is written without a voice of its own."""
    return (
        page.kind_of_site in CLINICAL_SITES
        or page.packet.kind in CLINICAL_KINDS
        or page.is_scholarly(table)
    )


def _opinion(page: Page) -> str:
    """Return the word in kind, address or title that marks an opinion piece, or ""."""
    path = re.split(r"[/_.?]", page.packet.url.partition("//")[2].partition("/")[2].lower())
    marks = {" ".join(p) for p in cues()["opinion"]}
    return next((p for p in (page.packet.kind, *path[:4]) if p in marks), "")
