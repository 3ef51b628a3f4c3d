"""What kind of page it is: article, forum, shop, listing and so on."""

from __future__ import annotations

import re
from itertools import pairwise
from typing import Any
from urllib.parse import urlsplit

from sourcebench.extract.jsonld import types
from sourcebench.extract.lines import Line

_GENERATORS = {
    "forum": r"discourse|phpbb|vbulletin|xenforo|flarum|mybb|simple machines|vanilla forums",
    "encyclopedia": r"mediawiki|moinmoin|dokuwiki",
    "documentation": r"sphinx|mkdocs|docusaurus|gitbook|antora|vitepress|javadoc|doxygen",
}
_ADDRESSES = {
    "qa": r"stackexchange\.com/q|stackoverflow\.com/q|quora\.com|/questions/\d+|gutefrage\.net",
    "encyclopedia": r"wikipedia\.org/wiki|/wiki/|^wiki\.|britannica\.com/",
    "press_release": (
        r"prnewswire|businesswire|globenewswire|prweb|accesswire|einpresswire|^prwire|presseportal|"
        r"/press-?releases?/|/pressemitteilung|/news-?releases?/"
    ),
    "forum": (
        r"^forums?\.|/forums?/|/threads?/|/viewtopic|showthread|reddit\.com/r/|/t/[\w-]+/\d+|"
        r"^community\.|news\.ycombinator\.com/item"
    ),
    "documentation": r"^docs?\.|/docs?/|readthedocs\.|/documentation/|/manual/|/reference/|^developer\.",
}
_OPINION = (
    r"/opinions?/|/op-?ed/|/commentary/|/commentisfree/|/kommentare?/|/meinung/|/editorials?/"
)
_SHOP = r"/products?/[^/]|/dp/[A-Z0-9]{10}|/shop/[^/]|/p/\d|/itm/"
_LISTING = r"/(?:category|tag|topics?|search|archive|author)s?/|[?&](?:q|s|query|search)="
_DECLARED = (
    ("forum", r"DiscussionForumPosting"),
    ("qa", r"^QAPage$"),
    ("recipe", r"^Recipe$"),
    ("opinion", r"^OpinionNewsArticle$|^AnalysisNewsArticle$"),
    ("review", r"^ReviewNewsArticle$|^CriticReview$"),
    ("scholarly", r"ScholarlyArticle$"),
    ("article", r"Article$|BlogPosting$|^Report"),
    ("medical", r"^MedicalWebPage$"),
    ("shop", r"^Product(?:Group)?$|^IndividualProduct$"),
    ("review", r"^Review$"),
    ("video", r"^VideoObject$"),
)
_OPINION_WORD = re.compile(
    r"(?i)^(?:opinions?|commentary|comment|kommentare?|meinung|editorials?|op-?ed|columnists?|viewpoint)$"
)


def page_kind(root, items, metas, url: str, title: str, lines: list[Line]) -> str:
    """Return what kind of page it is, from JSON-LD and microdata, generator, address, og:type and layout.

    Returns
    -------
    str
        article, opinion, press_release, review, recipe, medical, scholarly, video, forum, qa, shop, listing,
        home, encyclopedia or documentation.
    """
    parts = urlsplit(url)
    if parts.path in ("", "/", "/index.html", "/index.php") and not parts.query:
        return "home"
    host = (parts.hostname or "").removeprefix("www.")
    place = f"{host}{parts.path}" + (f"?{parts.query}" if parts.query else "")
    declared = _declared(root, items)
    kind = discussion_kind(root, items, url) or _of_system(metas, place)
    if kind:
        return kind
    named = next((kind for kind, pattern in _DECLARED if _any(pattern, declared)), "")
    if named in ("", "article") and _is_opinion(metas, place, title, lines):
        return "opinion"
    if named in ("", "article") and ("citation_journal_title" in metas or "citation_doi" in metas):
        return "scholarly"
    og = " ".join(metas.get("og:type", ())).casefold()
    if named and not (named == "video" and "article" in og):
        return named
    if "product" in og or re.search(_SHOP, place):
        return "shop"
    if _is_listing(lines, lenient=bool(re.search(_LISTING, place)) or "CollectionPage" in declared):
        return "listing"
    return "article"


def discussion_kind(root, items: list[dict[str, Any]], url: str) -> str:
    """Return forum or qa where posts of readers are the content of a page, else an empty text."""
    parts = urlsplit(url)
    place = f"{(parts.hostname or '').removeprefix('www.')}{parts.path}"
    declared = _declared(root, items)
    generator = " ".join(root.xpath("//meta[@name='generator']/@content")).casefold()
    for kind, pattern in (("forum", "DiscussionForumPosting"), ("qa", "^QAPage$")):
        if _any(pattern, declared) or re.search(_ADDRESSES[kind], place):
            return kind
    return "forum" if re.search(_GENERATORS["forum"], generator) else ""


def _declared(root, items: list[dict[str, Any]]) -> set[str]:
    """Return the schema.org types that a page declares in JSON-LD or microdata."""
    marked = (value.rstrip("/").split("/")[-1] for value in root.xpath("//@itemtype"))
    return {name for item in items for name in types(item)} | set(marked)


def _of_system(metas: dict[str, list[str]], place: str) -> str:
    """Return the kind that the page's software or its address gives away."""
    generator = " ".join(metas.get("generator", ())).casefold()
    for kind, pattern in _GENERATORS.items():
        if re.search(pattern, generator):
            return kind
    return next((k for k in _ADDRESSES if re.search(_ADDRESSES[k], place, re.IGNORECASE)), "")


def _is_opinion(metas, place: str, title: str, lines: list[Line]) -> bool:
    """Whether section, address, title or a line over the heading calls the page an opinion."""
    sections = [value for key in ("article:section", "section") for value in metas.get(key, ())]
    if any(_OPINION_WORD.match(section.strip()) for section in sections):
        return True
    if re.search(_OPINION, place, re.IGNORECASE) or re.match(r"(?i)opinion\b\s*[:|-]", title):
        return True
    head = next((i for i, line in enumerate(lines) if line.heading > 1 and not line.out), 0)
    return any(
        _OPINION_WORD.match(line.text) and not line.out for line in lines[max(0, head - 3) : head]
    )


def _any(pattern: str, names: set[str]) -> bool:
    """Whether a name matches."""
    return any(re.search(pattern, name) for name in names)


def _is_listing(lines: list[Line], *, lenient: bool) -> bool:
    """Whether a page is made of links, or of many headed teasers, rather than of one text."""
    body = [line for line in lines if not line.out and line.text]
    chars = sum(len(line.text) for line in body) or 1
    linked = sum(min(line.link_chars, len(line.text)) for line in body)
    if len(body) > 15 and linked > (0.45 if lenient else 0.7) * chars:
        return True
    if sum(len(line.text) - line.link_chars > 140 for line in body) > 4:
        return False
    headings = [i for i, line in enumerate(body) if line.heading]
    teasers = [
        b - a <= 4 and sum(len(line.text) for line in body[a + 1 : b]) < 140
        for a, b in pairwise(headings)
    ]
    return len(teasers) >= 5 and sum(teasers) >= 0.8 * len(teasers)
