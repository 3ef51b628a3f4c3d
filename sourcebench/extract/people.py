"""Who wrote or reviewed a page, each with the place that says so."""

from __future__ import annotations

import re
from collections.abc import Iterator
from typing import Any

from sourcebench.extract.jsonld import ORGANISATION, PERSON, articles, is_a, text_of
from sourcebench.extract.names import (
    BY,
    clean_name,
    is_namelike,
    kind_of,
    leading_names,
    name_key,
    split_names,
)
from sourcebench.extract.survey import Survey, is_beside
from sourcebench.extract.zones import Zones
from sourcebench.records import Author

MAX_AUTHORS = 12
_META = [
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
]
_LAST_FIRST = re.compile(r"([^\s,;&]+),\s+([^\W\d_]\S*(?: [^\W\d_]\.?)?)")
_ABOUT = ["jobTitle", "honorificSuffix", "affiliation", "worksFor", "description", "url", "sameAs"]
_BYLINE = re.compile(
    r"(?:^|[|•·–—]\s*|\d\s+|\bam\s+)(?i:(?:written|posted|reported|authored|words|text|story|article|review|analysis|"
    r"created|published|compiled)\s+by|by|von|par|por|autor(?:in)?|auteur|authors?|автор)\s*:?\s+(.{2,160})"
)
_BYLINE_ABROAD = re.compile(rf"^{BY}\s+(?=[^\W\d_a-z]\S*\s+\S)(.{{2,160}})")
_BYLINE_CJK = re.compile(
    r"(?:作者|記者|记者|撰文|著者|執筆者?|筆者|文責|文|글쓴이|글)\s*[：:/]\s*([\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,10})"
    r"|^([\uac00-\ud7af]{2,4})\s*기자"
)
_OTHER_PART = re.compile(
    r"(?i)(?:an? )?(?:interview|conversation|photos?|photograph\w*|fotos?|illustrat\w*|image|sponsored|translat\w*|presented)\b"
)
_ABOUT_AUTHOR = re.compile(
    r"(?i)^(?:about (?:the )?(?:authors?|writer)|über (?:den autor|die autor(?:in|en))|à propos de l['’]aut(?:eur|rice)|"
    r"sobre (?:el autor|la autora|o autor|a autora)|sull['’]autore|over de auteur)\W*$"
)
_CUSTOMER = re.compile(r"(?i)testimonial|quote|review|customer|kunden|comment")
_AUTHOR_BOX = re.compile(r"(?i)author|autor|auteur|contributor")
_BIO_START = re.compile(
    r"(?:About (?:the )?[Aa]uthor:?\s*)?((?:Dr\.? |Prof\.? )?[^\W\d_a-z][\w.'’-]+(?: (?:[^\W\d_a-z][\w.'’-]*|van|von|de|der|da|al|bin)){1,4})"
    r"(?:, [^.]{2,60},)? (?:is|was|writes|covers|has|joined|works|worked|studied|reports|ist|arbeitet|schreibt|est|écrit|es|è)\b"
)
_SIGNED = re.compile(
    r"(?i)\b(?:page|article|site|document|text|guide|material|report)\s+(?:was|is)\s+(?:written|compiled|prepared|created|"
    r"maintained|authored)\s+by\s+(.{2,120})|^posted by\s+(.{2,120})|\b(?:last )?edited .{0,40}\bby\s+(.{2,60})"
)
_SOURCE_LINE = re.compile(
    r"(?:^|\.\s)(?:SOURCE\s+|NEWS PROVIDED BY\s+|(?i:content source|provided by|issued by|source):\s*)([^|.]{2,80})"
)
_REVIEWER = re.compile(r"(?i)\b(?:reviewed|fact[- ]?checked|verified|checked)\s+by:?\s+(.{2,120})")
_NAME_AND_DATE = re.compile(r"^([^|•·–—\d]{4,60}?)\s*(?:[|•·–—]|\s-)\s*(?=.{0,20}\d{4})")
_BIO_WORD = re.compile(
    r"\b(?:is|was|writes|covers|has|joined|works|worked|studied|ist|arbeitet|schreibt|est|es)\b"
)


def page_authors(
    root,
    metas: dict[str, list[str]],
    items: list[dict[str, Any]],
    properties: list,
    marks: Survey,
    zones: Zones,
    owners: tuple[str, ...] = (),
) -> tuple[Author, ...]:
    """Return the candidates for a page's author, the best supported place first.

    In order: JSON-LD author, creator, reviewer and editor of the page's own article; links with
    rel=author and microdata; meta elements; bylines at the head of the article; and, only where
    none of these names anyone, signatures under its end and elements of class author. A name
    found in several places is listed once, under the first, with what they say of it.

    Parameters
    ----------
    properties
        The elements with an `itemprop`.
    owners
        Names of the site and its publisher: an author of that name is an organisation.
    """
    found = [
        *_json_ld(items, owners),
        *_marked(root, properties, owners),
        *_meta(metas, owners),
        *_bylines(zones.head_lines, owners),
    ]
    if not found:
        found = [
            *_signatures(zones, owners),
            *_by_class(marks.bylines, zones, owners),
            *_biographies(marks.bios, owners),
        ]
    if not found:  # a byline in a column of its own, where it is the only one
        aside = list(_marked(root, properties, owners, beside=True))
        found = aside if len({name_key(author.name) for author in aside}) == 1 else []
    return tuple(_with_bios(_merged(found), marks.bios, zones))


def _json_ld(items: list[dict[str, Any]], owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield the authors that JSON-LD names, people and organisations."""
    for item in articles(items):
        for role in ("author", "creator", "reviewedBy", "editor", "contributor"):
            values = item.get(role)
            for value in (values if isinstance(values, list) else [values])[:MAX_AUTHORS]:
                yield from _from_item(value, role, owners)


def _from_item(value: Any, role: str, owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield the authors that one JSON-LD value names."""
    item = value if isinstance(value, dict) else {}
    if isinstance(item.get("name"), list):
        for name in item["name"][:MAX_AUTHORS]:
            yield from _from_item(item | {"name": text_of(name)}, role, owners)
        return
    name = text_of(value) or " ".join(
        filter(None, (text_of(item.get(key)) for key in ("givenName", "familyName")))
    )
    about = [text_of(item.get(key)) for key in _ABOUT]
    declared = (
        "organisation" if is_a(item, ORGANISATION) else "person" if is_a(item, PERSON) else ""
    )
    source = "json-ld" if role in ("author", "creator") else f"json-ld {role}"
    if declared == "person" and (turned := _LAST_FIRST.fullmatch(name)):
        name = f"{turned[2]} {turned[1]}"
    pairs = [(clean_name(name), "")] if declared == "organisation" else split_names(name)
    for clean, said in pairs:
        kind = kind_of(clean, owners)
        kind = declared if declared == "organisation" or kind == "person" else kind
        if clean:
            yield Author(clean, source, kind or "person", _joined(said, *about))


def _joined(*parts: str) -> str:
    """Join what is known of an author, each thing once."""
    return "; ".join(dict.fromkeys(part for part in parts if part))[:600]


def _marked(
    root, properties: list, owners: tuple[str, ...], *, beside: bool = False
) -> Iterator[Author]:
    """Yield the names that the markup itself calls the author's, in the article or beside it."""
    named = [e for e in properties if e.get("itemprop") in ("author", "creator")]
    linked = root.xpath("//body//a[contains(@rel,'author')]")
    for element in [*linked, *named][:12]:
        if is_beside(element) != beside:
            continue
        inner = next((e for e in element.iter() if e.get("itemprop") == "name"), element)
        text = "".join(inner.itertext())
        content = inner.get("content") or element.get("content") or ""
        text = text if len(text.strip()) > 1 and not is_namelike(content) else content or text
        source = "rel-author" if element.get("rel") else "microdata"
        for name, role in split_names(text):
            about = _joined(role, (element.get("href") or "")[:300])
            yield Author(name, source, kind_of(name, owners), about)


def _meta(metas: dict[str, list[str]], owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield the names in meta elements; scholarly ones may be written "Last, First"."""
    for key in _META:
        for value in metas.get(key, ())[:MAX_AUTHORS]:
            for part in value.split(";"):
                turned = re.fullmatch(r"\s*([^,;&]+),\s*([^,;&]+)", part)
                if turned and key.startswith(("citation", "dc")):
                    part = f"{turned[2]} {turned[1]}"
                for name, role in split_names(part):
                    yield Author(name, "meta", kind_of(name, owners), role)


def _bylines(lines: list[str], owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield the names in visible bylines."""
    for line in lines:
        if len(line) > 260:
            continue
        reviewer = _REVIEWER.search(line)
        told = line[: reviewer.start()] if reviewer else line
        by = _BYLINE.search(told) or _BYLINE_ABROAD.search(told)
        dated = _NAME_AND_DATE.match(line)
        if by:
            yield from _named(leading_names(by[1]), "byline", owners)
        elif cjk := _BYLINE_CJK.search(line):
            yield from _named([(cjk[1] or cjk[2], "")], "byline", owners)
        elif (
            dated
            and not _SOURCE_LINE.search(line)
            and is_namelike(dated[1])
            and len(dated[1].split()) > 1
        ):
            yield from _named(split_names(dated[1]), "byline", owners)
        if reviewer:
            names = [
                (name, role or reviewer[1][len(name) :].strip(" ,.")[:100])
                for name, role in leading_names(reviewer[1])
            ]
            yield from _named(names, "byline reviewer", owners)
        yield from _issuer(line)


def _issuer(line: str) -> Iterator[Author]:
    """Yield the organisation that a line names as the source of the page."""
    source = _SOURCE_LINE.search(line)
    if source and clean_name(source[1]):
        yield Author(clean_name(source[1]), "byline", "organisation")


def _named(names: list[tuple[str, str]], source: str, owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield authors for names with their roles."""
    for name, role in names:
        yield Author(name, source, kind_of(name, owners), role)


def _signatures(zones: Zones, owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield the names that sign a page under its end: "This page was written by ..."."""
    about = False
    for line in [*zones.tail_lines, *zones.side_lines]:
        signed = _SIGNED.search(line)
        bio = _BIO_START.match(line) if about else None
        about = _ABOUT_AUTHOR.match(line) is not None
        if bio:
            yield from _named([(clean_name(bio[1]), "")], "biography", owners)
        elif signed:
            text = next(filter(None, signed.groups()))
            names = leading_names(text.split(",")[0])
            if not names and line.casefold().startswith("posted by"):
                names = [(name, "") for name, _ in split_names(re.split(r"\s(?:at|on)\s", text)[0])]
            yield from _named(names[:3], "byline", owners)
        else:
            yield from _issuer(line)


def _by_class(elements: list, zones: Zones, owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield the name in the first element at the head of the article whose class says author or user."""
    head = "\n".join(zones.head_lines)
    for element in elements[:20]:
        text = " ".join("".join(element.itertext()).split())
        if not 2 < len(text) < 120 or text not in head or is_beside(element):
            continue
        if _OTHER_PART.match(text):
            continue
        handle = "username" in (element.get("class") or "").casefold() and " " not in text
        names = split_names(text) if handle or is_namelike(clean_name(text) or "-") else []
        if names or (names := [pair for pair in leading_names(text) if " " in pair[0]]):
            yield from _named(names[:2], "byline", owners)
            return


def _biographies(boxes: list, owners: tuple[str, ...]) -> Iterator[Author]:
    """Yield whom an author box outside the head of the article is about."""
    for box in boxes[:10]:
        around = [box, *box.iterancestors()]
        names = " ".join(f"{element.get('class')} {element.get('id')}" for element in around)
        if _CUSTOMER.search(names) or not _AUTHOR_BOX.search(names):
            continue
        bio = _BIO_START.match(" ".join("".join(box.itertext()).split())[:300])
        if bio and not is_beside(box) and clean_name(bio[1]):
            yield from _named([(clean_name(bio[1]), "")], "biography", owners)


def _merged(found: list[Author]) -> list[Author]:
    """Keep one candidate for each name, in order, with all that is said of it."""
    kept: dict[str, Author] = {}
    for author in found:
        key = name_key(author.name)
        known = next(
            (k for k in kept if k == key or (len(key) > 5 and (key in k or k in key))), None
        )
        if known is None:
            kept[key] = author
            continue
        old = kept[known]
        about = old.about if author.about in old.about else _joined(old.about, author.about)
        kept[known] = Author(old.name, old.source, old.kind, about)
    return list(kept.values())[:MAX_AUTHORS]


def _with_bios(authors: list[Author], boxes: list, zones: Zones) -> Iterator[Author]:
    """Add what the page says of an author in an author box or a line that starts with the name."""
    texts = [" ".join("".join(box.itertext()).split()) for box in boxes] if authors else []
    texts = [text for text in dict.fromkeys(texts) if 20 < len(text) < 1500]
    lines = [*zones.tail_lines, *zones.side_lines]
    for author in authors:
        last = author.name.split(",")[0].split()[-1]
        near = [text for text in texts if last in text and len(text) > len(author.name) + 15]
        if author.kind == "person" and not near:
            own = [line for line in lines if line.startswith(author.name)]
            near = [line for line in own if _BIO_WORD.search(line)]
        about = _joined(author.about, *(text[:400] for text in near[:1]))
        yield Author(author.name, author.source, author.kind, about)
