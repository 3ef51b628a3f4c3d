"""One walk over a page's elements: which are beside the article, advertising, an author's, or may be hidden.

Class names repeat hundreds of times on a page, so each is looked up once.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Collection
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Any

OUT = "data-sourcebench-out"

_BESIDE = frozenset(
    """
    related recommend recommended recommendation recommendations recirc recirculation sidebar comment
    comments commentlist trending popular mostread readnext readmore footer newsletter menu navbar
    navigation breadcrumb breadcrumbs cookie cookies cookiebanner consent share sharing sharebar social
    outbrain taboola zergnet signup subscribe upnext tags
    """.split()  # noqa: SIM905
)
_BESIDE_PAIRS = re.compile(
    r" (?:most (?:read|viewed|popular)|read (?:next|more|also)|more (?:from|stories|news|in)|"
    r"also (?:read|like)|latest (?:news|posts|stories)|up next) "
)
_AD = frozenset(
    """
    ad ads advert adverts advertisement advertisements advertising advertiser adsbygoogle adslot adunit
    adbox adwrap adwrapper adcontainer gpt dfp sponsor sponsors sponsored sponsorship promoted taboola
    outbrain zergnet revcontent mgid bannerad bannerads leaderboard skyscraper nativead adchoices teads
    primis connatix
    """.split()  # noqa: SIM905
)
_AUTHOR = re.compile(r"author|byline|username|auteur|\bautor\b|contributor|\bbio(?:graphy)?\b")
_BIO = re.compile(
    r"author[-_]*(?:bio|info|box|desc\w*|about|card|profile|details?|block|title|role|job)|"
    r"about[-_]*(?:the[-_]*)?author|byline[-_]*(?:bio|description|title|role)|\bbio(?:graphy)?\b|"
    r"contributor[-_]*(?:bio|info)"
)
_AD_HOST = re.compile(
    r"(?i)doubleclick\.net|googlesyndication|googleadservices|adservice\.|amazon-adsystem|taboola|outbrain|"
    r"zergnet|revcontent|mgid\.com|criteo|adnxs|rubiconproject|pubmatic|openx\.net|media\.net|sharethrough|"
    r"teads\.tv|adsafeprotected|moatads|indexww|casalemedia|adform|smartadserver|infolinks|buysellads|"
    r"carbonads|propellerads|popads|adsterra|adroll|googletagservices|ezoic|mediavine|adthrive"
)
_BESIDE_TAGS = frozenset(
    ["div", "section", "ul", "ol", "aside", "nav", "footer", "form", "table", "header"]
)
_BESIDE_ROLES = frozenset(["navigation", "complementary", "contentinfo", "banner"])
_HIDING_ATTRIBUTES = frozenset(("style", "hidden", "aria-hidden", "color"))
_NO_AD_TAGS = frozenset(["body", "html", "main", "article", "script", "link", "style"])
_IS_BESIDE, _IS_AD, _IS_AUTHOR, _IS_BIO, _IS_HIDDEN, _IS_COMMENT = (1 << n for n in range(6))


@dataclass
class Survey:
    """What one walk over a page finds."""

    may_hide: list[Any] = field(default_factory=list)
    ads: int = 0
    bylines: list[Any] = field(default_factory=list)
    bios: list[Any] = field(default_factory=list)


def is_ad_host(address: str) -> bool:
    """Whether an address is that of an advertising network."""
    return _AD_HOST.search(address) is not None


def is_beside(element) -> bool:
    """Whether an element stands beside the article: in an aside, a footer or an element marked `OUT`."""
    while element is not None:
        if element.tag in ("aside", "footer") or element.get(OUT):
            return True
        element = element.getparent()
    return False


def survey(root, hiding: Collection[str], *, talk: str = "") -> Survey:
    """Walk a page once; elements beside the article get the attribute `OUT`, in place.

    Parameters
    ----------
    hiding
        The classes (`.name`) and ids (`#name`) that the page's own style hides.
    talk
        forum or qa where posts of readers are the content: comments are not beside it then.
    """
    found, ads, beside = Survey(), _ad_frames(root), []
    kept = _holding_article(root)
    known: dict[str, int] = {}
    for element in root.xpath(_TELLING):
        names = element.keys()
        marks = 0
        for sign, name in ((".", "class"), ("#", "id")):
            if name in names:
                value = sign + element.get(name)
                if value not in known:
                    known[value] = _marks(value[1:]) | _hides(value, hiding)
                marks |= known[value]
        hides = marks & _IS_HIDDEN or element.tag == "dialog"
        if hides or not _HIDING_ATTRIBUTES.isdisjoint(names):
            found.may_hide.append(element)
        if marks & _IS_AD and element.tag not in _NO_AD_TAGS:
            ads.add(element)
        if (marks & _IS_BESIDE and not (talk and marks & _IS_COMMENT)) or (
            "role" in names and element.get("role") in _BESIDE_ROLES
        ):
            beside.append(element)
        if marks & _IS_AUTHOR and len(found.bylines) < 60:
            found.bylines.append(element)
            if marks & _IS_BIO:
                found.bios.append(element)
    for element in beside:
        if element.tag in _BESIDE_TAGS and element not in kept:
            element.set(OUT, "1")
    found.ads = sum(ads.isdisjoint(element.iterancestors()) for element in ads)
    return found


# Elements that say something of themselves; walking over the others would take a third of the time.
_TELLING = "//body/descendant-or-self::*[@class or @id or @role or @style or @hidden or @aria-hidden or @color or self::dialog]"


def _hides(value: str, hiding: Collection[str]) -> int:
    """Return the mark of hidden elements if the page's style hides a class or id of this value."""
    parts = value[1:].lower().split()
    return _IS_HIDDEN if any(value[0] + part in hiding for part in parts) else 0


def _ad_frames(root) -> set:
    """Return the frames that an advertising network fills."""
    frames = root.iter("iframe")
    return {
        frame for frame in frames if is_ad_host(frame.get("src") or frame.get("data-src") or "")
    }


@lru_cache(maxsize=20_000)
def _marks(name: str) -> int:
    """Return what a class attribute or an id says of its element."""
    low = name.lower()
    words = low.replace("-", " ").replace("_", " ").split()
    marks = 0
    if not _AD.isdisjoint(words) or (low.startswith("ad") and low[2:3].isdigit()):
        marks |= _IS_AD
    if not _BESIDE.isdisjoint(words) or _BESIDE_PAIRS.search(f" {' '.join(words)} "):
        marks |= _IS_BESIDE | (_IS_COMMENT if "comment" in low else 0)
    if _AUTHOR.search(low):
        marks |= _IS_AUTHOR | (_IS_BIO if _BIO.search(low) else 0)
        if not marks & _IS_COMMENT:
            marks &= ~_IS_BESIDE  # "byline-social" is the byline first of all
    return marks


def _holding_article(root) -> set:
    """Return the elements that hold the heading, an article or much of the running text."""
    held = {above for e in root.iter("h1", "article") for above in e.iterancestors()}
    parents: Counter = Counter()
    for paragraph in root.iter("p"):
        size = len(paragraph.text or "") + sum(len(child.tail or "") for child in paragraph)
        if size > 80:
            parents[paragraph.getparent()] += size
    weight: Counter = Counter()
    for parent, size in parents.items():
        for element in (parent, *parent.iterancestors()):
            weight[element] += size
    total = max(weight.values(), default=0)
    return held | {element for element, size in weight.items() if size > 0.4 * total}
