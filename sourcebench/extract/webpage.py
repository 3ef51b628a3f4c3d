"""From the characters of a web page to its packet: one tree, read by one room after the other."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import Any

from sourcebench.extract import dates, head, jsonld, links, maintext, people
from sourcebench.extract.decode import Decoded, is_mojibake
from sourcebench.extract.hidden import Hidden, remove_hidden
from sourcebench.extract.kind import discussion_kind, page_kind
from sourcebench.extract.language import text_language
from sourcebench.extract.lines import Line, mark_regions, visible_lines
from sourcebench.extract.outcome import Seen, page_outcome
from sourcebench.extract.tree import PageLimit, Parsed, parse
from sourcebench.extract.zones import find_zones
from sourcebench.records import Packet

_UNSEEN = "script style noscript template svg object canvas math iframe textarea option"
# A table with a cell of several paragraphs, or as long as an article, is there for the layout.
_LAYOUT_TABLES = (
    "//table[./tr/td[count(.//p)>2 or string-length(.)>2500] or "
    "./tbody/tr/td[count(.//p)>2 or string-length(.)>2500]]"
)
_OWN_PARTS = "./tr | ./tr/td | ./tr/th | ./*[self::tbody or self::thead or self::tfoot] | ./*/tr | ./*/tr/td | ./*/tr/th"


@dataclass(frozen=True)
class _View:
    """A parsed page without what nobody sees, and what had to be read before that was taken out."""

    root: Any
    metas: dict[str, list[str]]
    items: list[dict[str, Any]]
    counts: dict[str, int]
    noscript: str
    hidden: Hidden
    lines: list[Line]
    title: str


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
        return replace(base, outcome="failed", reason=f"parser limit: {error}", kind="other")
    if parsed.root is None or parsed.root.find("body") is None:
        return replace(base, outcome="empty", reason="no markup with a body", kind="other")
    view = _view(parsed, decoded)
    talk = bool(discussion_kind(view.root, view.items, base.url))
    main = maintext.main_text(view.root, view.lines, comments=talk)
    found, counts = _counted(view, decoded, main.text, base)
    seen = Seen(
        url=base.url,
        asked_url=asked_url,
        title=view.title,
        heading=next((line.text for line in view.lines if line.heading and not line.out), ""),
        text=main.text,
        lines=view.lines,
        counts=counts,
        noscript=view.noscript,
        source=decoded.text,
        root=view.root,
        articles=jsonld.articles(view.items),
    )
    outcome, reason, flags = page_outcome(seen)
    flags = (*view.hidden.flags, *parsed.flags, *main.flags, *flags)
    if outcome == "ok" and "cut" in flags:
        outcome, reason = "partial", "the page is longer than what is read"
    told = _told(view, base)
    return replace(
        base,
        outcome=outcome,
        reason=reason,
        kind=page_kind(view.root, view.items, view.metas, base.url, view.title, view.lines),
        language=text_language(main.text, head.declared_language(view.root, view.metas)),
        counts=counts,
        links=found,
        text=main.text,
        outside=maintext.outside_lines(view.lines, main.text),
        flags=tuple(dict.fromkeys((*flags, *decoded.flags, *_mojibake(view.title, main.text)))),
        **told,
    )


def _view(parsed: Parsed, decoded: Decoded) -> _View:
    """Read what scripts and styles hold, take out what nobody sees, and take the visible lines."""
    root = parsed.root
    metas, items = head.read_metas(root), jsonld.read_items(root)
    counts = links.tree_counts(root)
    noscript = " ".join(" ".join(e.itertext()) for e in root.iter("noscript"))[:5000]
    hidden = remove_hidden(root, decoded.text)
    _strip(root)
    mark_regions(root)
    lines = visible_lines(root)
    title = head.page_title(root, metas, items, lines)
    return _View(root, metas, items, counts, noscript, hidden, lines, title)


def _strip(root) -> None:
    """Take out elements without visible text, and the spans that blow up tables."""
    from lxml import etree

    forum = any("DiscussionForumPosting" in (script.text or "") for script in root.iter("script"))
    etree.strip_elements(root, *_UNSEEN.split(), with_tail=False)
    if forum:  # trafilatura knows a forum by this
        script = etree.SubElement(root.find("body"), "script", type="application/ld+json")
        script.text = '{"@type": "DiscussionForumPosting"}'
    for cell in root.xpath("//*[@colspan or @rowspan]"):
        cell.attrib.pop("colspan", None)
        cell.attrib.pop("rowspan", None)
    for table in root.xpath(_LAYOUT_TABLES):
        for part in [table, *table.xpath(_OWN_PARTS)]:
            part.tag = "div"


def _counted(view: _View, decoded: Decoded, text: str, base: Packet):
    """Return the links of a page and all its counts."""
    flat = " ".join(text.split())
    found, counts = links.page_links(view.root, view.lines, flat, base.url, base.site)
    sizes = {
        "words": len(text.split()),
        "chars_html": len(decoded.text),
        "chars_visible": sum(len(line.text) for line in view.lines),
        "chars_hidden": view.hidden.chars,
    }
    return found, sizes | view.counts | counts | links.line_counts(view.lines)


def _told(view: _View, base: Packet) -> dict[str, Any]:
    """Return what the page tells of itself: title, site, people, dates, JSON-LD."""
    zones = find_zones(view.root, view.lines, view.title)
    published, modified = dates.page_dates(
        view.root, view.metas, view.items, zones, base.url, base.fetched_at
    )
    site_name = head.site_name(view.root, view.metas, view.items, base.site)
    owners = (site_name, base.site, base.site.split(".")[0], *head.publishers(view.items))
    return {
        "title": view.title,
        "site_name": site_name,
        "authors": people.page_authors(view.root, view.metas, view.items, zones, owners),
        "published": published,
        "modified": modified,
        "json_ld": jsonld.kept_items(view.items),
    }


def _mojibake(title: str, text: str) -> tuple[str, ...]:
    """Return the flag of wrongly decoded text where it shows."""
    return ("mojibake",) if is_mojibake(f"{title}\n{text}") else ()
