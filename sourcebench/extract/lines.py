"""The visible text of a page as lines that know where they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass, field
from functools import cache

MAX_LINES = 20_000
_BREAK, _OPEN, _CLOSE, _LINK, _LINK_END, _TIME, _HEAD = (chr(0xE000 + n) for n in range(7))
MARKS = re.compile("[\ue000-\ue00f]")
_PIECE = re.compile("[\ue000-\ue00f]|[^\ue000-\ue00f]+")
_BLOCKS = (
    "address article blockquote body center caption dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form header hgroup legend li main menu nav ol p pre section summary table tbody "
    "td tfoot th thead tr ul button label aside"
)
_SKIPPED = "head script style noscript template svg option textarea iframe object math canvas"
_REGION = re.compile(
    r"(?i)(?:^|[\s_-])(?:related|recommend\w*|recirc\w*|sidebar|comments?|commentlist|trending|popular|"
    r"most-?(?:read|viewed|popular)|read-?(?:next|more|also)|more-?(?:from|stories|news|in)|footer|"
    r"newsletter|promo|widgets?|teasers?|menu|navbar|navigation|breadcrumbs?|cookie\w*|consent|"
    r"share|sharing|social|outbrain|taboola|zergnet|signup|subscribe|also-?(?:read|like)|"
    r"latest-?(?:news|posts|stories)|up-?next|tags)(?:$|[\s_-])"
)
_REGION_TAGS = {"div", "section", "ul", "ol", "aside", "nav", "footer", "form", "table", "header"}
OUT = "data-sourcebench-out"


@dataclass(slots=True)
class Line:
    """One line as a reader sees it: its text, whether it stands outside the article, its links."""

    text: str
    out: bool = False
    heading: int = 0  # 1 for any heading, 2 for h1
    link_chars: int = 0
    links: list[int] = field(default_factory=list)  # places among the page's links
    times: list[int] = field(default_factory=list)  # places among the page's time elements


def mark_regions(root) -> None:
    """Mark the elements that by class, id or role hold other things than the article, in place."""
    known: dict[str, bool] = {}
    for element in root.xpath("//body//*[@class or @id or @role]"):
        if element.tag not in _REGION_TAGS:
            continue
        get = element.get
        key = f"{get('class') or ''} {get('id') or ''}"
        if key not in known:
            known[key] = bool(_REGION.search(key))
        named = known[key] or get("role") in (
            "navigation",
            "complementary",
            "contentinfo",
            "banner",
        )
        if named and element.find(".//h1") is None and element.find(".//article") is None:
            element.set(OUT, "1")


def visible_lines(root) -> list[Line]:
    """Return the visible lines of a page in reading order, empty ones with links included."""
    text = str(_transform()(root))
    lines, line, parts = [], Line(""), []
    depth = links = times = 0
    in_link = was_link_end = False

    def end_line() -> None:
        nonlocal line, parts
        line.text = " ".join("".join(parts).split())
        if line.text or line.links or line.times:
            lines.append(line)
        line, parts = Line(""), []

    for piece in _PIECE.findall(text):
        if piece == _BREAK:
            end_line()
            if len(lines) >= MAX_LINES:
                break
        elif piece == _OPEN:
            depth += 1
        elif piece == _CLOSE:
            depth -= 1
        elif piece == _LINK:
            if was_link_end:  # neighbours without a blank stand apart on the screen
                parts.append(" ")
            line.links.append(links)
            links, in_link = links + 1, True
        elif piece == _LINK_END:
            in_link = False
        elif piece == _TIME:
            line.times.append(times)
            times += 1
        elif piece == _HEAD:
            line.heading += 1
        else:
            parts.append(piece)
            line.out = depth > 0
            if in_link:
                line.link_chars += len(piece.strip())
        was_link_end = piece == _LINK_END
    end_line()
    return lines


@cache
def _transform():
    """Return the stylesheet that writes a page's text with marks, compiled once a process."""
    from lxml import etree

    def template(match: str, body: str, priority: int) -> str:
        return f'<xsl:template match="{match}" priority="{priority}">{body}</xsl:template>'

    rest = "<xsl:apply-templates/>"
    blocks = "|".join(_BLOCKS.split())
    outside = f"nav|aside|footer|*[@{OUT}]|header[not(.//h1)][not(ancestor::article)]"
    sheet = "".join(
        [
            '<xsl:stylesheet version="1.0" xmlns:xsl="http://www.w3.org/1999/XSL/Transform">',
            '<xsl:output method="text" encoding="utf-8"/>',
            template("|".join(_SKIPPED.split()), "", 9),
            template(outside, f"{_BREAK}{_OPEN}{rest}{_BREAK}{_CLOSE}", 8),
            template("h1", f"{_BREAK}{_HEAD}{_HEAD}{rest}{_BREAK}", 5),
            template("h2|h3|h4|h5|h6", f"{_BREAK}{_HEAD}{rest}{_BREAK}", 5),
            template("a[@href]", f"{_LINK}{rest}{_LINK_END}", 5),
            template("time", f"{_TIME}{rest}", 5),
            template("br|hr", _BREAK, 5),
            template(blocks, f"{_BREAK}{rest}{_BREAK}", 4),
            "</xsl:stylesheet>",
        ]
    )
    return etree.XSLT(etree.fromstring(sheet))
