"""The visible text of a page as lines that know where they stand."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cache

from sourcebench.extract.survey import OUT

MAX_LINES = 20_000
_BREAK, _OPEN, _CLOSE, _LINK, _LINK_END, _TIME, _HEAD = (chr(0xE000 + n) for n in range(7))
MARKS = re.compile("[\ue000-\ue00f]")
_BREAKS = re.compile(rf"\s*{_BREAK}[\s{_BREAK}]*")
_PIECE = re.compile("[\ue000-\ue00f]|[^\ue000-\ue00f]+")
_BLOCKS = (
    "address article blockquote body center caption dd details dialog dir div dl dt fieldset figcaption "
    "figure footer form header hgroup legend li main menu nav ol p pre section summary table tbody "
    "td tfoot th thead tr ul button label aside"
)
_SKIPPED = "head script style noscript template svg option textarea iframe object math canvas"


@dataclass(slots=True)
class Line:
    """One line as a reader sees it: its text, whether it stands beside the article, its links."""

    text: str
    out: bool = False
    heading: int = 0  # 1 for any heading, 2 for h1
    link_chars: int = 0
    links: tuple[int, ...] = ()  # places among the page's links
    times: tuple[int, ...] = ()  # places among the page's time elements


def visible_lines(root) -> list[Line]:
    """Return the visible lines of a page in reading order, empty ones with links included."""
    lines: list[Line] = []
    depth = links = times = 0
    in_link = False
    for chunk in _BREAKS.split(str(_transform()(root))):
        if not MARKS.search(chunk):
            text = " ".join(chunk.split())
            if text:
                lines.append(Line(text, depth > 0, 0, len(text) if in_link else 0))
            continue
        line, depth, in_link, links, times = _marked_line(chunk, depth, in_link, links, times)
        if line.text or line.links or line.times:
            lines.append(line)
            if len(lines) > MAX_LINES:
                break
    return lines


def _marked_line(chunk: str, depth: int, in_link: bool, links: int, times: int):
    """Return the line that a chunk with marks is, and where its end stands."""
    parts, out, heading, link_chars = [], False, 0, 0
    first_link, first_time, after_link = links, times, False
    for piece in _PIECE.findall(chunk):
        if piece == _LINK:
            if after_link:  # neighbours without a blank stand apart on the screen
                parts.append(" ")
            links, in_link = links + 1, True
        elif piece == _LINK_END:
            in_link = False
        elif piece == _OPEN:
            depth += 1
        elif piece == _CLOSE:
            depth -= 1
        elif piece == _TIME:
            times += 1
        elif piece == _HEAD:
            heading += 1
        else:
            parts.append(piece)
            out = depth > 0
            link_chars += len(piece.strip()) if in_link else 0
        after_link = piece == _LINK_END
    text = " ".join("".join(parts).split())
    places = tuple(range(first_link, links)), tuple(range(first_time, times))
    line = Line(text, out, heading, min(link_chars, len(text)), *places)
    return line, depth, in_link, links, times


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
