"""What a page's head says of it: meta elements, title, name of the site."""

from __future__ import annotations

import re
from collections.abc import Mapping
from typing import Any

from sourcebench.extract.jsonld import articles, text_of, types
from sourcebench.extract.lines import Line

MAX_TITLE = 300
_SITE_META = ("og:site_name", "application-name", "dc.publisher", "citation_publisher")


def read_metas(root) -> dict[str, list[str]]:
    """Return the contents of the meta elements under their names, lower-case."""
    metas: dict[str, list[str]] = {}
    for element in root.iter("meta"):
        get = element.get
        content = " ".join((get("content") or "").split())[:1000]
        names = {get("property"), get("name"), get("itemprop"), get("http-equiv")} - {None, ""}
        for name in sorted(names) if content else ():
            metas.setdefault(name.strip().lower(), []).append(content)
    return metas


def page_title(
    root, metas: Mapping[str, list[str]], items: list[dict[str, Any]], lines: list[Line]
) -> str:
    """Return the title of a page: og:title, title element, JSON-LD headline or first heading."""
    candidates = (
        *metas.get("og:title", ()),
        root.xpath("string(//title)"),
        *(text_of(item.get("headline")) for item in articles(items)),
        *(line.text for line in lines if line.heading > 1 and not line.out),
    )
    return next((" ".join(text.split())[:MAX_TITLE] for text in candidates if text.strip()), "")


def site_name(root, metas: Mapping[str, list[str]], items: list[dict[str, Any]], site: str) -> str:
    """Return the name of the site.

    From meta elements, the JSON-LD site or publisher, or the part of the title element that stands
    beside the page's own title.

    Parameters
    ----------
    site
        The registered domain; a part of the title that resembles it is the site's name.
    """
    named = [value for key in _SITE_META for value in metas.get(key, ())]
    sites = [text_of(item.get("name")) for item in items if "WebSite" in types(item)]
    parts = _title_parts(root, site)
    return next((name[:120] for name in (*named, *sites, *publishers(items), *parts) if name), "")


def publishers(items: list[dict[str, Any]]) -> list[str]:
    """Return the names of the publishers that JSON-LD states."""
    return [name for item in articles(items) if (name := text_of(item.get("publisher")))]


def _title_parts(root, site: str) -> list[str]:
    """Return the parts of the title element that may name the site, the likeliest first."""
    parts = re.split(r"\s+[|–—·»-]\s+", " ".join(root.xpath("string(//title)").split()))
    if len(parts) < 2:
        return []
    label = re.sub(r"\W", "", site.split(".")[0])
    ends = [part for part in (parts[-1], parts[0]) if len(part) <= 60]
    keys = {part: re.sub(r"\W", "", part.casefold()) for part in ends}
    alike = [
        p for p in ends if keys[p] and (keys[p] in label or label in keys[p]) and len(label) > 2
    ]
    return [*alike, *(part for part in parts[-1:] if len(part.split()) <= 6)]


def declared_language(root, metas: Mapping[str, list[str]]) -> str:
    """Return the language that a page declares, ISO 639-1, or an empty text."""
    for value in (root.get("lang"), root.get("xml:lang"), *metas.get("content-language", ())):
        code = re.split(r"[-_,]", (value or "").strip().lower())[0]
        if re.fullmatch(r"[a-z]{2}", code):
            return code
    return ""
