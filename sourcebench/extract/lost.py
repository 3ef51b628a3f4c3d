"""Paragraphs and tables of an article that extraction left out, put back in their places."""

from __future__ import annotations

from sourcebench.extract.lines import Line
from sourcebench.extract.survey import is_beside

MAX_TABLES = 40
LONG = 140  # characters of a paragraph of running text
TAIL = 3  # paragraphs that are missing from an end before they count as part of the article
_LIST_MARKS = str.maketrans("", "", "|•*-")


def squeeze(text: str) -> str:
    """Return a text without blanks and marks of lists and tables, for comparing."""
    return "".join(text.split()).translate(_LIST_MARKS)


def with_lost_paragraphs(body: list[Line], text: str) -> tuple[str, bool]:
    """Put back running text that stands between paragraphs of a text, or goes on after them.

    A headline that is a link begins another story: what follows it is not asked until the text
    goes on. A few paragraphs after the last are a biography or an offer; more are its end.

    Parameters
    ----------
    body
        The lines of the page that are not beside the article, in reading order.
    """
    if all(line.text[:60] in text for line in body if _is_running(line)):
        return text, False  # the usual case, found out at little cost
    flat, after, gap = squeeze(text), "", []
    found: list[tuple[str, list[str]]] = []
    for line in body:
        said = squeeze(line.text) if len(line.text) > 60 else ""
        if len(said) > 60 and said[:120] in flat:
            if after and gap:
                found.append((after, gap))
            after, gap = said, []
        elif line.link_chars > 0.7 * len(line.text) > 14:
            if len(gap) >= TAIL:
                break
            after, gap = "", []
        elif after and _is_running(line):
            gap.append(line.text)
    if after and len(gap) >= TAIL:
        found.append((after, gap))
    return _inserted(text, found)


def _is_running(line: Line) -> bool:
    """Whether a line is a paragraph of running text, with few links."""
    length = len(line.text)
    return length - line.link_chars >= LONG and line.link_chars < 0.3 * length


def _inserted(text: str, found: list[tuple[str, list[str]]]) -> tuple[str, bool]:
    """Put paragraphs after the lines that they follow; return the text and whether any were put."""
    lines, added, start = text.split("\n"), False, 0
    keys = [squeeze(line) for line in lines]
    for after, gap in found:
        places = (i for i in range(start, len(lines)) if keys[i].endswith(after[-160:]))
        place = next(places, None)
        if place is not None:
            lines[place] += "\n" + "\n".join(dict.fromkeys(gap))
            start, added = place, True
    return "\n".join(lines), added


def with_lost_tables(root, text: str) -> tuple[str, bool]:
    """Put back the tables of the content that a text lacks, each after the line that it follows."""
    tables = list(root.iter("table"))[:MAX_TABLES]
    if not tables:
        return text, False
    flat, lines = squeeze(text), text.split("\n")
    added = False
    for table in tables:
        cells = [squeeze("".join(cell.itertext())) for cell in table.iter("td", "th")][:400]
        filled = [cell for cell in cells if len(cell) > 1]
        lost = sum(cell not in flat for cell in filled)
        if len(filled) < 4 or lost < 0.3 * len(filled) or is_beside(table):
            continue
        if table.find(".//table") is not None or table.find(".//a") is not None:
            continue
        lines[_place_after(table, lines)] += "\n" + "\n".join(_rows(table))
        added = True
    return ("\n".join(lines), True) if added else (text, False)


def _rows(table) -> list[str]:
    """Return the rows of a table, cells between bars."""
    rows = []
    for row in list(table.iter("tr"))[:200]:
        cells = [" ".join("".join(cell.itertext()).split()) for cell in row.iter("td", "th")]
        rows.append(f"| {' | '.join(cells)} |")
    return rows


def _place_after(table, lines: list[str]) -> int:
    """Return the place of the last line that stands before a table on the page."""
    before = table.xpath(
        "preceding::*[self::p or self::h1 or self::h2 or self::h3 or self::h4 or self::li]"
    )
    for element in before[-8:][::-1]:
        said = squeeze("".join(element.itertext()))
        if len(said) > 3:
            for place, line in enumerate(lines):
                if said in squeeze(line):
                    return place
    return len(lines) - 1
