"""What a page says of itself in JSON-LD, read without trusting a word of its form."""

from __future__ import annotations

import html
import json
import re
from collections.abc import Iterator
from typing import Any

MAX_ITEMS = 500
MAX_CHARS = 1_000_000
KEPT_ITEMS = 12

ARTICLE = re.compile(
    r"Article$|^Report|BlogPosting$|NewsArticle|WebPage$|^CreativeWork$|^QAPage$|^Review$|^Recipe$"
    r"|^DiscussionForumPosting$|^HowTo$|^FAQPage$|^VideoObject$|^Book$|^Dataset$|^Question$"
    r"|^LiveBlogPosting$|^AboutPage$|^ProfilePage$|^Course$"
)
ORGANISATION = re.compile(
    r"Organization$|^Corporation$|Business$|^CollegeOrUniversity$|^NGO$|^GovernmentOrganization$"
    r"|^WebSite$|^Brand$|Store$|^Hospital$|^MedicalClinic$|^LibrarySystem$|^Periodical$"
)
PERSON = re.compile(r"^Person$|^Physician$")
PRODUCT = re.compile(r"^Product(?:Group)?$|^Offer$|^AggregateRating$|^SoftwareApplication$")
_KEPT = [
    "@type",
    "name",
    "headline",
    "alternativeHeadline",
    "author",
    "creator",
    "publisher",
    "reviewedBy",
    "editor",
    "datePublished",
    "dateModified",
    "dateCreated",
    "uploadDate",
    "lastReviewed",
    "url",
    "sameAs",
    "jobTitle",
    "affiliation",
    "worksFor",
    "honorificSuffix",
    "description",
    "telephone",
    "email",
    "address",
    "contactPoint",
    "legalName",
    "foundingDate",
    "isAccessibleForFree",
    "publishingPrinciples",
    "masthead",
    "ownershipFundingInfo",
    "correctionsPolicy",
    "parentOrganization",
    "sourceOrganization",
    "copyrightHolder",
    "inLanguage",
    "articleSection",
    "genre",
    "price",
    "priceCurrency",
    "brand",
    "aggregateRating",
    "ratingValue",
    "reviewCount",
    "offers",
    "knowsAbout",
    "alumniOf",
]


def read_items(root) -> list[dict[str, Any]]:
    """Return all typed items of a page's JSON-LD, outermost first, references resolved.

    Items of lists (`itemListElement`: other pages) and comments are left out; what can't be
    parsed is skipped.
    """
    values = []
    budget = MAX_CHARS
    for script in root.iter("script"):
        if "ld+json" in (script.get("type") or "").lower():
            text = "".join(script.itertext())
            budget -= len(text)
            if budget < 0:
                break
            values.append(_loads(text))
    items = list(_walk(values))[:MAX_ITEMS]
    known: dict[str, dict] = {}
    for item in items:
        name = item.get("@id")
        if isinstance(name, str) and len(item) > max(1, len(known.get(name, {}))):
            known[name] = item
    return [_resolved(item, known) for item in items if types(item)]


def _loads(text: str) -> Any:
    """Parse JSON that may be wrapped in comments or hold raw line breaks; None if it can't be."""
    text = re.sub(
        r"^\s*(?:<!--|//\s*<!\[CDATA\[|<!\[CDATA\[)|(?:-->|//\s*\]\]>|\]\]>)\s*$", "", text
    )
    text = text.strip().rstrip(";")
    for candidate in (text, re.sub(r",\s*([}\]])", r"\1", text)):
        try:
            return json.loads(candidate, strict=False, parse_constant=_no_number)
        except (ValueError, RecursionError):
            continue
    return None


def _no_number(name: str) -> None:
    """Read NaN and Infinity, which are no JSON, as nothing."""


_ELSEWHERE = (
    "itemListElement",
    "comment",
    "mentions",
    "isRelatedTo",
    "hasPart",
    "relatedLink",
    "blogPost",
    "blogPosts",
)


def _walk(value: Any, depth: int = 0) -> Iterator[dict[str, Any]]:
    """Yield every object, outer before inner."""
    if depth > 12:
        return
    if isinstance(value, list):
        for entry in value[:MAX_ITEMS]:
            yield from _walk(entry, depth + 1)
    elif isinstance(value, dict):
        yield value
        for key, entry in value.items():
            if key in _ELSEWHERE or (key in ("review", "reviews") and _by_buyers(value, entry)):
                continue
            if isinstance(entry, dict | list):
                yield from _walk(entry, depth + 1)


def _by_buyers(item: dict[str, Any], reviews: Any) -> bool:
    """Whether reviews are those of a shop's customers, not the page itself."""
    return "offers" in item or (isinstance(reviews, list) and len(reviews) > 1)


def _resolved(item: dict[str, Any], known: dict[str, dict]) -> dict[str, Any]:
    """Replace `{"@id": ...}` references in an item by what they refer to."""

    def lookup(value: Any) -> Any:
        if isinstance(value, list):
            return [lookup(entry) for entry in value[:50]]
        if isinstance(value, dict) and isinstance(value.get("@id"), str) and "name" not in value:
            return known.get(value["@id"], value)
        return value

    return {key: lookup(value) for key, value in item.items()}


def types(item: dict[str, Any]) -> list[str]:
    """Return the types of an item, without their namespace."""
    found = item.get("@type")
    found = found if isinstance(found, list) else [found]
    return [re.split(r"[/#:]", value)[-1] for value in found if isinstance(value, str)]


def is_a(item: dict[str, Any], pattern: re.Pattern) -> bool:
    """Whether one of an item's types matches."""
    return any(pattern.search(name) for name in types(item))


def text_of(value: Any) -> str:
    """Return a value as one line of text: a text, a number, or the name of an object."""
    if isinstance(value, list):
        value = next((text_of(entry) for entry in value if text_of(entry)), "")
    if isinstance(value, dict):
        value = value.get("name") or value.get("@value") or ""
        return text_of(value) if isinstance(value, list | dict) else text_of(str(value))
    if isinstance(value, bool) or value is None:
        return ""
    text = _sound(str(value))
    if "<" in text:
        text = re.sub(r"<[^<>]{0,500}>", " ", text)
    return " ".join(html.unescape(text).split()) if "&" in text else " ".join(text.split())


def _sound(text: str) -> str:
    """Return a text without halves of surrogate pairs, which JSON can escape and no file can hold."""
    return text if text.isascii() else text.encode("utf-8", "ignore").decode("utf-8")


def articles(items: list[dict[str, Any]]) -> list[dict[str, Any]]:
    """Return the items that describe the page itself: articles first, then pages and products."""
    found = [item for item in items if is_a(item, ARTICLE)]

    def order(item: dict[str, Any]) -> int:
        names = types(item)
        if any(re.search(r"Article$|Posting$|^Report|^Review$|^Recipe$", name) for name in names):
            return 0
        return 2 if "WebPage" in names else 1

    return sorted(found, key=order)


def kept_items(items: list[dict[str, Any]]) -> tuple[dict[str, Any], ...]:
    """Return the naming, dating and contact fields of articles, organisations, people and products."""
    kept, seen = [], set()
    for pattern in (ARTICLE, ORGANISATION, PERSON, PRODUCT):
        for item in items:
            if is_a(item, pattern):
                made = _trimmed(item, 0)
                key = json.dumps(made, sort_keys=True)
                if len(made) > 1 and key not in seen:
                    seen.add(key)
                    kept.append(made)
    return tuple(kept[:KEPT_ITEMS])


def _trimmed(value: Any, depth: int) -> Any:
    """Cut a value to the kept fields, short texts and little depth."""
    if isinstance(value, str):
        return " ".join(_sound(value).split())[:300]
    if isinstance(value, list):
        return [_trimmed(entry, depth + 1) for entry in value[:10] if depth < 3]
    if isinstance(value, dict):
        if depth >= 3:
            return text_of(value)[:300]
        keys = _KEPT if depth == 0 else [*_KEPT, *_NESTED]
        return {key: _trimmed(value[key], depth + 1) for key in keys if _filled(value.get(key))}
    return value if isinstance(value, bool | int | float) else None


_NESTED = [
    "streetAddress",
    "addressLocality",
    "addressRegion",
    "postalCode",
    "addressCountry",
    "contactType",
    "@value",
]


def _filled(value: Any) -> bool:
    """Whether a field says anything."""
    return value is not None and value != "" and value != [] and value != {}
