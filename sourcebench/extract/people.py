"""Who wrote a page and who stands behind it, each with the place that says so."""

from __future__ import annotations

import re
from typing import Any

from sourcebench.extract.jsonld import ORGANISATION, PERSON, articles, is_a, text_of
from sourcebench.extract.zones import Zones
from sourcebench.records import Author

MAX_AUTHORS = 12
_META = (
    "author",
    "article:author",
    "og:article:author",
    "article:author_name",
    "parsely-author",
    "sailthru.author",
    "citation_author",
    "dc.creator",
    "dcterms.creator",
    "dc.creator.personalname",
    "byl",
    "authors",
    "cxenseparse:author",
    "rbauthors",
)
_STOP = re.compile(
    r"(?i)\s*(?:[|•·–—;(\[\]<>@]|\s-\s|,?\s+(?:on|at|in|for|from|published|updated|posted|last|is|was|has|"
    r"reviewed|medically|special to|contributing|staff|senior|chief|editor|reporter|correspondent|"
    r"the associated|am|vom|le|el)\b|\.(?:\s|$)|\d|,\s+(?=[a-z])|\bvia\b)"
)
_SPLIT = re.compile(r"\s*(?:,|&|\band\b|\bund\b|\bet\b|\by\b|/|;)\s*")
_ORGANISATION_WORD = re.compile(
    r"(?i)\b(?:staff|team|editor(?:s|ial)?|redaktion|newsroom|desk|news|agency|press|reuters|afp|dpa|ap|"
    r"associated|department|office|institute?|university|inc|ltd|llc|gmbh|corp|company|society|"
    r"association|organi[sz]ation|council|ministry|board|group|foundation|magazine|times|media|"
    r"network|service|services|center|centre|bureau|commission|committee|clinic|hospital|library|"
    r"contributors?|correspondents?|reporters?|writers?|community|wire|project|today|daily|post)\b|\.(?:com|org|net|de)\b"
)
_NO_NAME = re.compile(
    r"(?i)^(?:admin(?:istrator)?|author|by|unknown|anonymous|null|none|user|guest|editor|n/?a|default|"
    r"root|test|webmaster|website|home|share|login|follow|comments?|read more|published|updated|view all.*|"
    r"posts? by.*|more (?:from|by).*|see (?:all|more).*|skip to.*|about.*|contact.*|all (?:posts|articles).*)$"
)
_HANDLE = re.compile(r"^@|https?:|facebook\.com|twitter\.com|www\.")
_BIO_CLASS = re.compile(
    r"(?i)author[-_]?(?:bio|info|box|description|desc|about|card|profile|details?|block|title|role|job)|"
    r"about[-_]the[-_]author|byline[-_]?(?:bio|description|title|role)|bio(?:graphy)?\b|contributor[-_]?(?:bio|info)|"
    r"written[-_]by"
)


def page_authors(
    root, metas: dict[str, list[str]], items: list[dict[str, Any]], zones: Zones
) -> tuple[Author, ...]:
    """Return the candidates for a page's author, the best supported place first.

    Sources in order: JSON-LD author, creator and reviewer of the page's own article; links with
    rel=author and marked names; meta elements; bylines at the head of the article.
    A name found in several places is listed once, with the first of them and the longest `about`.
    """
    found = [
        *_json_ld(items),
        *_marked(root),
        *_meta(metas),
        *_bylines(zones),
    ]
    return _with_bios(_merged(found), root, zones)


def _json_ld(items: list[dict[str, Any]]) -> list[Author]:
    """Return the authors that JSON-LD names, people and organisations."""
    found = []
    for item in articles(items):
        for role in ("author", "creator", "reviewedBy", "editor"):
            values = item.get(role)
            for value in values if isinstance(values, list) else [values]:
                found += _from_item(value, role)
    return found


def _from_item(value: Any, role: str) -> list[Author]:
    """Return the author that one JSON-LD value names."""
    name = text_of(value)
    if not name:
        return []
    item = value if isinstance(value, dict) else {}
    about = [f"{role}"] if role in ("reviewedBy", "editor") else []
    for key in (
        "jobTitle",
        "honorificSuffix",
        "affiliation",
        "worksFor",
        "description",
        "url",
        "sameAs",
    ):
        if text_of(item.get(key)):
            about.append(text_of(item[key]))
    kind = "organisation" if is_a(item, ORGANISATION) else "person" if is_a(item, PERSON) else ""
    source = "json-ld reviewedBy" if role == "reviewedBy" else "json-ld"
    return [
        Author(clean, source, kind or kind_of(clean), "; ".join(about)[:600])
        for clean in ([_clean(name)] if kind == "organisation" else split_names(name))
        if clean
    ]


def _marked(root) -> list[Author]:
    """Return the names that the markup itself calls the author's."""
    elements = root.xpath(
        "//body//*[contains(concat(' ',@rel,' '),' author ') or @itemprop='author' or @itemprop='creator']"
        "[not(ancestor::aside)][not(ancestor::footer)]"
    )
    found = []
    for element in elements[:8]:
        inner = element.xpath(".//*[@itemprop='name']")
        text = (inner[0] if inner else element).xpath("string()")
        text = element.get("content") or text
        about = element.get("href") or ""
        source = "rel-author" if element.get("rel") else "microdata"
        for name in split_names(text):
            found.append(Author(name, source, kind_of(name), about[:300]))
    return found


def _meta(metas: dict[str, list[str]]) -> list[Author]:
    """Return the names in meta elements."""
    found = []
    for key in _META:
        for value in metas.get(key, ()):
            value = re.sub(r"(?i)^by\s+", "", value)
            if re.match(r"^[^,;&]+,\s[^,;&]+$", value) and key.startswith(("citation", "dc")):
                value = " ".join(reversed([part.strip() for part in value.split(",")]))
            found += [Author(name, "meta", kind_of(name)) for name in split_names(value)]
    return found


_BYLINE = re.compile(
    r"(?:^|[|•·–—]\s*|\.\s+|\d\s+)(?i:(?:written|posted|reported|authored|words|text|story|article|review|"
    r"analysis|created|published)\s+by|by|von|par|por|autor(?:in)?:|authors?:|автор:?)\s*:?\s+(.{2,160})"
)
_REVIEWER = re.compile(r"(?i)\b(?:reviewed|fact[- ]checked|verified|checked)\s+by:?\s+(.{2,120})")


def _bylines(zones: Zones) -> list[Author]:
    """Return the names in visible bylines."""
    found = []
    for line in [*zones.head_lines, *zones.tail_lines]:
        if len(line) > 260:
            continue
        reviewer = _REVIEWER.search(line)
        if reviewer:
            for name in _leading_names(reviewer[1]):
                found.append(Author(name, "byline reviewer", kind_of(name), reviewer[1][:200]))
            line = line[: reviewer.start()]
        by = _BYLINE.search(line)
        if by:
            for name in _leading_names(by[1]):
                rest = by[1][by[1].find(name) + len(name) :].strip(" ,.|")
                found.append(Author(name, "byline", kind_of(name), _role(rest)))
    return found[:6]


def _leading_names(text: str) -> list[str]:
    """Return the names that a byline starts with."""
    stop = _STOP.search(text)
    names = split_names(text[: stop.start()] if stop else text)
    return [
        name for name in names if name[:1].isupper() or (len(names) == 1 and len(name.split()) < 3)
    ][:4]


def _role(rest: str) -> str:
    """Return the role that follows a name in a byline, without dates."""
    role = re.split(r"\s[|•·]\s|\d", rest)[0].strip(" ,.|")
    return role[:120] if re.search(r"[a-z]{4}", role) else ""


def split_names(text: str) -> list[str]:
    """Split "A and B, C" into names; an organisation with commas or "and" stays whole."""
    text = " ".join(text.split())
    if not text or len(text) > 300:
        return []
    if _ORGANISATION_WORD.search(text) and len(text) < 80 and not re.search(r",|;", text):
        return [name for name in [_clean(text)] if name]
    parts = [_clean(part) for part in _SPLIT.split(text)]
    merged: list[str] = []
    for part in parts:
        if merged and re.fullmatch(
            r"(?i)(?:m\.?d|ph\.?d|j\.?d|rn|mph|msc|mba|jr|sr|esq|r\.?d|d\.?o|pa-?c|fnp|lcsw|bsn|cpa|dds|ii|iii)\.?",
            part,
        ):
            merged[-1] += ", " + part
        elif part:
            merged.append(part)
    return merged[:MAX_AUTHORS]


def _clean(name: str) -> str:
    """Return a name without what surrounds it, or an empty text when it is none."""
    name = re.sub(
        r"(?i)^(?:by|von|par|por|author|autor(?:in)?|written by)\b\s*:?\s*",
        "",
        " ".join(name.split()),
    )
    name = name.strip(" ,;:|-–—•·\"'“”()[]")
    if not 2 <= len(name) <= 80 or _NO_NAME.match(name) or _HANDLE.search(name):
        return ""
    return name if len(name.split()) <= 8 and re.search(r"[^\W\d_]", name) else ""


def kind_of(name: str) -> str:
    """Return person or organisation, as far as a name shows."""
    return "organisation" if _ORGANISATION_WORD.search(name) else "person"


def _merged(found: list[Author]) -> list[Author]:
    """Keep one candidate for each name, in order."""
    kept: dict[str, Author] = {}
    for author in found:
        key = re.sub(r"\W+", "", author.name.casefold())
        known = kept.get(key)
        if known is None:
            kept[key] = author
        elif len(author.about) > len(known.about):
            kept[key] = Author(known.name, known.source, known.kind, author.about)
    return list(kept.values())[:MAX_AUTHORS]


def _with_bios(authors: list[Author], root, zones: Zones) -> tuple[Author, ...]:
    """Add what the page says of an author near the byline or in an author box."""
    if not authors:
        return ()
    boxes = _bio_texts(root)
    made = []
    for author in authors:
        last = author.name.split(",")[0].split()[-1]
        near = [text for text in boxes if last in text and len(text) > len(author.name) + 15]
        if author.kind == "person" and not near:
            near = [
                line
                for line in zones.tail_lines
                if line.startswith(author.name)
                and re.search(r"\b(?:is|was|writes|covers|has|joined)\b", line)
            ]
        about = "; ".join(dict.fromkeys(filter(None, [author.about, *(t[:400] for t in near[:1])])))
        made.append(Author(author.name, author.source, author.kind, about[:800]))
    return tuple(made)


def _bio_texts(root) -> list[str]:
    """Return the texts of author boxes."""
    texts = []
    for element in root.xpath(
        "//body//*[contains(@class,'author') or contains(@class,'bio') or contains(@class,'byline')"
        " or contains(@id,'author') or contains(@class,'contributor')]"
    )[:60]:
        key = f"{element.get('class') or ''} {element.get('id') or ''}"
        if _BIO_CLASS.search(key):
            text = " ".join(element.xpath("string()").split())
            if 20 < len(text) < 1500 and text not in texts:
                texts.append(text)
    return texts[:8]
