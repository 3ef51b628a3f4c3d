"""From the characters of a web page to its packet: one tree, read by one room after the other."""

from __future__ import annotations

from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from sourcebench.extract import dates, head, jsonld, links, maintext, people
from sourcebench.extract.datetext import date_order
from sourcebench.extract.decode import Decoded, is_mojibake
from sourcebench.extract.kind import page_kind
from sourcebench.extract.outcome import Seen, page_outcome
from sourcebench.extract.tree import PageLimit, parse
from sourcebench.extract.view import View, read_view, strip_furniture
from sourcebench.extract.zones import Zones, find_zones
from sourcebench.language import text_language
from sourcebench.records import Packet


def read_webpage(base: Packet, decoded: Decoded, asked_url: str) -> Packet:
    """Fill a packet from a web page.

    Parameters
    ----------
    base
        The packet so far: key, address, time of the visit.
    decoded
        The page's characters.
    asked_url
        The address before redirects.
    """
    try:
        parsed = parse(decoded.text)
    except PageLimit as error:
        return replace(base, outcome="failed", reason=f"parser limit: {error}")
    if parsed.root is None or parsed.root.find("body") is None:
        return replace(base, outcome="empty", reason="no markup with a body")
    view = read_view(parsed, decoded, base.url)
    told = _told(view, base)
    strip_furniture(view.root)
    main = maintext.main_text(view.root, view.lines, talk=view.talk)
    found, counts = _counted(view, decoded, main.text, base.site)
    outcome, reason, flags = page_outcome(
        Seen(view, base.url, asked_url, main.text, counts, decoded.text)
    )
    flags = (*view.hidden.flags, *parsed.flags, *main.flags, *flags, *decoded.flags)
    if outcome == "ok" and "cut" in flags:
        outcome, reason = "partial", "the page is longer than what is read"
    return replace(
        base,
        outcome=outcome,
        reason=reason,
        language=text_language(main.text, head.declared_language(view.root, view.metas)),
        counts=counts,
        links=found,
        text=main.text,
        outside=maintext.outside_lines(view.lines, main.text),
        flags=tuple(dict.fromkeys((*flags, *_mojibake(view.title, main.text)))),
        **told,
    )


def _told(view: View, base: Packet) -> dict[str, Any]:
    """Return what the page tells of itself: kind, title, site, people, dates, JSON-LD."""
    zones = find_zones(view.times, view.lines, view.title)
    published, modified = dates.page_dates(
        view.metas,
        view.items,
        view.properties,
        zones,
        base.url,
        base.fetched_at,
        talk=view.talk,
        day_first=_day_first(view, zones, base.url),
    )
    site_name = head.site_name(view.root, view.metas, view.items, base.site)
    owners = (site_name, base.site, base.site.split(".")[0], *head.publishers(view.items))
    return {
        "kind": page_kind(view.root, view.items, view.metas, base.url, view.title, view.lines),
        "title": view.title,
        "site_name": site_name,
        "authors": people.page_authors(
            view.root, view.metas, view.items, view.properties, view.marks, zones, owners
        ),
        "published": published,
        "modified": modified,
        "json_ld": jsonld.kept_items(view.items),
    }


def _day_first(view: View, zones: Zones, url: str) -> bool | None:
    """Return how the page writes dates such as 05/06/2026."""
    lines = [*zones.head_lines, *zones.tail_lines, *zones.side_lines]
    return date_order(view.root.get("lang") or "", urlsplit(url).hostname or "", lines)


def _counted(view: View, decoded: Decoded, text: str, site: str):
    """Return the links of a page and all its counts."""
    flat = " ".join(text.split())
    found, counts = links.page_links(view.anchors, view.lines, flat, view.base, site)
    sizes = {
        "words": len(text.split()),
        "chars_html": len(decoded.text),
        "chars_visible": sum(len(line.text) for line in view.lines),
        "chars_hidden": view.hidden.chars,
    }
    return found, sizes | view.counts | counts | links.line_counts(view.lines)


def _mojibake(title: str, text: str) -> tuple[str, ...]:
    """Return the flag of wrongly decoded text where it shows."""
    return ("mojibake",) if is_mojibake(f"{title}\n{text}") else ()
