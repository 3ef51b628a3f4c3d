"""Where in a page its own byline and dates can stand: round its heading, and under its end."""

from __future__ import annotations

import re
from dataclasses import dataclass, field

from sourcebench.extract.lines import Line

_LONG = 140
_CHANGED = re.compile(r"(?i)modif|updat|revis|aktualisier|geändert")
_COPYRIGHT = re.compile(r"(?i)©|\bcopyright\b|\(c\)|all rights reserved")


@dataclass(frozen=True)
class Zones:
    """Short lines and times round the heading of the article, after that, and beside it."""

    head_lines: list[str] = field(default_factory=list)
    tail_lines: list[str] = field(default_factory=list)
    side_lines: list[str] = field(default_factory=list)
    published_times: list[str] = field(default_factory=list)
    modified_times: list[str] = field(default_factory=list)
    every_time: list[str] = field(default_factory=list)


def find_zones(times: list, lines: list[Line], title: str) -> Zones:
    """Return the zones of a page in which its byline and its dates are looked for.

    Parameters
    ----------
    times
        The time elements of the page, in document order.
    """
    start = heading_place(lines, title)
    first, last = _head_span(lines, start)
    head = [line for line in lines[first:last] if not line.out]
    published, modified, every = [], [], []
    for line in lines:
        for place in () if line.out else line.times[:3]:
            if place < len(times):
                every.append(_value(times[place]))
    for line in head:
        for place in line.times[:3]:
            if place < len(times):
                _sort_time(times[place], line.text, published, modified)
    short = [line for line in lines[last:] if _is_short(line)]
    return Zones(
        [line.text for line in head if line.text and not _COPYRIGHT.search(line.text)],
        [line.text for line in short if not line.out],
        [line.text for line in short if line.out],
        published,
        modified,
        every[:200],
    )


def _is_short(line: Line) -> bool:
    """Whether a line may be a byline, a date or a signature."""
    return 0 < len(line.text) < 300 and line.link_chars < 200 and not _COPYRIGHT.search(line.text)


def heading_place(lines: list[Line], title: str) -> int:
    """Return the place of the line that is the article's heading."""
    wanted = title.casefold()
    places = [i for i, line in enumerate(lines) if line.heading and len(line.text) > 3]

    def match(i: int) -> bool:
        text = lines[i].text.casefold()
        return len(text) > 8 and (text in wanted or wanted in text)

    inside = [i for i in places if not lines[i].out]
    for group in (
        [i for i in inside if lines[i].heading > 1 and match(i)],
        [i for i in inside if match(i)],
        [i for i in inside if lines[i].heading > 1],
    ):
        if group:
            return group[0]
    return 0


def _head_span(lines: list[Line], start: int) -> tuple[int, int]:
    """Return the lines round a heading: a few before it, and after it up to the second paragraph."""
    long = 0
    last = start + 1
    for last in range(start + 1, min(start + 40, len(lines))):
        line = lines[last]
        if not line.out and len(line.text) - line.link_chars >= _LONG:
            long += 1
            if long == 2:
                break
        if line.heading and line.link_chars and last > start + 3:
            break
    return max(0, start - 6), last


def _sort_time(element, line: str, published: list[str], modified: list[str]) -> None:
    """Put the date of a time element where its class or the words before it say."""
    text = " ".join("".join(element.itertext()).split())
    before = line.split(text)[0][-40:] if text else ""
    marks = f"{element.get('class') or ''} {element.get('itemprop') or ''} {before} {text}"
    (modified if _CHANGED.search(marks) else published).append(_value(element))


def _value(element) -> str:
    """Return the date of a time element: its attribute where that holds a year, else its text."""
    value = element.get("datetime") or element.get("content") or ""
    return value if re.search(r"\d{4}", value) else " ".join("".join(element.itertext()).split())
