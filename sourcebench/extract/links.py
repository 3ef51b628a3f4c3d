"""The links of a page and the counts that show how it is laid out and paid for."""

from __future__ import annotations

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from urllib.parse import urljoin

from sourcebench.extract.lines import Line
from sourcebench.extract.survey import is_ad_host
from sourcebench.records import Link
from sourcebench.urls import site

MAX_LINKS = 400
_COUNTED = [
    "img",
    "amp-img",
    "form",
    "input",
    "textarea",
    "script",
    "iframe",
    "video",
    "amp-video",
    "button",
    "table",
    "p",
    "li",
    "h1",
    "h2",
    "h3",
    "h4",
    "h5",
    "h6",
]
_LINK_COUNTS = (
    "links",
    "internal_links",
    "external_links",
    "sponsored_links",
    "affiliate_links",
    "contact_links",
)
_AFFILIATE = re.compile(
    r"(?i)//(?:[\w.-]*\.)?(?:amzn\.to|shareasale\.com|awin1\.com|anrdoezrs\.net|jdoqocy\.com|tkqlhce\.com|"
    r"dpbolvw\.net|kqzyfj\.com|linksynergy\.com|go\.redirectingat\.com|skimlinks?\.com|skimresources\.com|"
    r"viglink\.com|howl\.me|shopstyle\.it|rstyle\.me|clickbank\.net|avantlink\.com|pntra\.com|"
    r"impact\.com|sjv\.io|pxf\.io|prf\.hn|partnerize|tradedoubler\.com|zanox|belboon|financeads|"
    r"webgains|ebay\.[\w.]+/rover|aff(?:iliate)?s?\.|trk\.|track(?:ing)?\.)|[?&](?:aff(?:iliate)?_?id|aff|affid|"
    r"partner_?id|ascsubtag|irclickid|ref_?aff)=|amazon\.[\w.]+/.*[?&]tag=|/(?:go|out|recommends?|aff)/[\w-]+/?$"
)
_ORIGIN = re.compile(r"(?:(?:https?:)?//[^/?#]*)?", re.IGNORECASE)
_PLAIN_PATH = re.compile(r"(?:/[\w%~+,=-][\w%~+,=.-]*)+/?(?:\?[\w%=&+.-]+)?")
_CTA = re.compile(
    r"\b(?:buy (?:it )?now|shop now|order now|add to (?:cart|basket|bag)|sign up(?: now| today| for)?|subscribe(?: now| today)?|"
    r"click here|check (?:the )?(?:latest |today'?s )?price|see (?:the )?deals?|view deal|get (?:it|the deal|started|yours)(?: now| today)?|"
    r"download now|try (?:it )?(?:for )?free|free trial|join now|limited[- ]time|act now|start (?:your )?(?:free )?trial|book now|"
    r"request a (?:demo|quote)|jetzt (?:kaufen|bestellen|anmelden|sichern|vergleichen)|in den warenkorb|zum (?:angebot|shop))\b"
)


def tree_counts(root) -> dict[str, int]:
    """Count what scripts and layout leave behind; call before anything is taken out of the tree."""
    found = list(root.iter(*_COUNTED))
    tags = Counter(element.tag for element in found)
    loading = [element for element in found if element.tag in ("script", "iframe", "img")]
    loaded = [element.get("src") or element.get("data-src") or "" for element in loading]
    data = sum(e.tag == "script" and "json" in (e.get("type") or "") for e in loading)
    fields = [element.get("type") or "" for element in found if element.tag == "input"]
    players = sum("youtube" in source or "vimeo" in source for source in loaded)
    return {
        "images": tags["img"] + tags["amp-img"],
        "forms": tags["form"],
        "inputs": len(fields) - fields.count("hidden") + tags["textarea"],
        "scripts": tags["script"] - data,
        "iframes": tags["iframe"],
        "videos": tags["video"] + tags["amp-video"] + players,
        "buttons": tags["button"] + fields.count("submit"),
        "tables": tags["table"],
        "headings": sum(tags[f"h{level}"] for level in range(1, 7)),
        "paragraphs": tags["p"],
        "list_items": tags["li"],
        "ad_scripts": sum(_who(_ORIGIN.match(source)[0])[1] for source in loaded if source),
    }


@dataclass(slots=True)
class Anchor:
    """A link as it stands in the tree: its address as written, its text and rel."""

    href: str
    text: str
    rel: str


def read_anchors(root) -> list[Anchor]:
    """Return the links of a page in document order."""
    return [
        Anchor(
            href.strip(),
            " ".join("".join(element.itertext()).split())[:160],
            (element.get("rel") or "").lower()[:60],
        )
        for element in root.iter("a")
        if (href := element.get("href")) is not None
    ]


def base_address(root, url: str) -> str:
    """Return the address that a page's relative links start from."""
    found = next((base.get("href") for base in root.iter("base") if base.get("href")), "")
    return _joined(url, found.strip())


def page_links(
    anchors: list[Anchor], lines: list[Line], main: str, base: str, own_site: str
) -> tuple[tuple[Link, ...], dict[str, int]]:
    """Return the links of a page, bounded, and the counts over all of them.

    A link is `main` when the line it stands in is part of the main text. An external one leads to
    another registered domain.

    Parameters
    ----------
    main
        The main text with blanks collapsed.
    base
        The address that relative links start from.
    own_site
        The page's registered domain.
    """
    inside = _links_inside(lines, main)
    made, counts, sites = [], Counter(dict.fromkeys(_LINK_COUNTS, 0)), set()
    for place, anchor in enumerate(anchors):
        if not anchor.href or anchor.href.startswith(("#", "javascript:", "data:")):
            continue
        address = _joined(base, anchor.href)
        where, sells = _who(_ORIGIN.match(address)[0])
        external = where if where != own_site else ""
        counts.update(_sorts(address, anchor.rel, external, sells))
        sites.add(external)
        stands = "main" if place in inside else "outside"
        made.append(Link(address, anchor.text, anchor.rel, stands))
    counts["external_sites"] = len(sites - {""})
    counts["main_links"] = sum(link.place == "main" for link in made)
    return _bounded(made), dict(counts)


def _links_inside(lines: list[Line], main: str) -> set[int]:
    """Return the places of the links that stand in lines of the main text."""
    return {
        place
        for line in lines
        if line.links and line.text and not line.out and line.text in main
        for place in line.links
    }


def _sorts(address: str, rel: str, external: str, sells: bool) -> list[str]:
    """Return the counts that a link adds to."""
    if address.startswith(("mailto:", "tel:")):
        return ["links", "contact_links"]
    affiliate = bool(external) and _AFFILIATE.search(address) is not None
    sorts = ["links", "external_links" if external else "internal_links"]
    sponsored = affiliate or sells or "sponsored" in rel
    return sorts + ["affiliate_links"] * affiliate + ["sponsored_links"] * sponsored


@lru_cache(maxsize=4096)
def _who(origin: str) -> tuple[str, bool]:
    """Return the registered domain of scheme and host, and whether it sells advertising."""
    return site(origin), is_ad_host(origin)


def _joined(base: str, href: str) -> str:
    """Join addresses; what can't be joined stays as it is."""
    if href.startswith(("https://", "http://", "mailto:", "tel:")):
        return href[:1000]
    if _PLAIN_PATH.fullmatch(href):  # the most frequent form, much faster than by urljoin
        return f"{_ORIGIN.match(base)[0]}{href}"[:1000]
    try:
        return urljoin(base, href)[:1000]
    except ValueError:
        return href[:1000]


def _bounded(links: list[Link]) -> tuple[Link, ...]:
    """Keep at most `MAX_LINKS`: those in the main text first, then the first and last of the rest."""
    if len(links) <= MAX_LINKS:
        return tuple(links)
    main = [i for i, link in enumerate(links) if link.place == "main"][: MAX_LINKS * 3 // 4]
    rest = [i for i, link in enumerate(links) if link.place != "main"]
    room = MAX_LINKS - len(main)
    half = room // 2
    chosen = sorted({*main, *rest[:half], *rest[len(rest) - (room - half) :]})
    return tuple(links[i] for i in chosen)


def line_counts(lines: list[Line]) -> dict[str, int]:
    """Count calls to buy or sign up, and lines that come again."""
    long = Counter(line.text for line in lines if len(line.text) >= 20)
    everything = "\n".join(line.text[:1000] for line in lines).lower()
    return {
        "cta_phrases": len(_CTA.findall(everything)),
        "repeated_lines": sum(n - 1 for n in long.values()),
        "lines": sum(1 for line in lines if line.text),
        "link_chars": sum(line.link_chars for line in lines),
    }
