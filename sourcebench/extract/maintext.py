"""The main text of a page, checked against what a reader would see."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcebench.extract.lines import Line
from sourcebench.extract.lost import squeeze, with_lost_paragraphs, with_lost_tables
from sourcebench.extract.survey import is_beside

MAX_TEXT = 300_000
_SHORT = 600  # a text this short is read again with all extractors
_EMPTY_CELLS = re.compile(r"(?:\|[ \t]*){3,}")
# Both are searched in lower-case lines.
_CONTACT = re.compile(
    r"\w@\w|\+?\d[\d ()./-]{7,}\d|\b(?:contact(?: us)?|imprint|impressum|kontakt|mentions légales|"
    r"about(?: us| the \w+)?|über uns|qui sommes|owned by|published by|publisher|herausgeber|operated by|"
    r"a division of|part of the|copyright|masthead|corrections?|ethics|editorial (?:policy|standards|team)|"
    r"street|avenue|suite|p\.?o\.? box|straße|gmbh|inc\.|llc|ltd|registered (?:charity|office|in)|"
    r"nonprofit|foundation|phone|tel(?:efon)?\.?:|e-?mail|newsroom|registergericht)\b|©|\w(?:straße|str\.) \d"
)
_TELLING = re.compile(
    r"\b(?:advertis\w*|anzeige|werbung|sponsor\w*|affiliate|commissions?|disclosure|promoted|paid|"
    r"privacy|terms|policy|written|reviewed|updated|posted|published|author|reporter|editor|by)\b|"
    r"\b(?:19|20)\d\d\b"
)


@dataclass(frozen=True)
class MainText:
    """The main text and the flags of how it was got: second_mode, visible_text, paragraphs, tables, cut."""

    text: str
    flags: tuple[str, ...] = ()


def main_text(root, lines: list[Line], *, talk: str) -> MainText:
    """Return the main text: trafilatura's, or a fuller one where it loses lists, tables or most of the page.

    A reading is enough when it holds the table cells, the list points and at least half of the
    text that stands outside navigation and links. trafilatura reads with its own rules first, then
    together with its other extractors, then favouring recall; the first reading that is enough is
    kept, else the fullest. If that lacks most of the page, the visible lines are the text.
    Paragraphs and tables that are still missing are put back.

    Parameters
    ----------
    talk
        forum or qa where posts of readers are the content, else empty.
    """
    body = [line for line in lines if not line.out and line.text]
    seen = sum(len(line.text) - line.link_chars for line in body)
    text, flags = _read(root, talk, fast=True), ()
    if not _is_enough(root, text, seen) or len(text) < min(_SHORT, 0.9 * seen):
        text = _read(root, talk)
        if seen > 40 and not _is_enough(root, text, seen):
            fuller = _read(root, talk, favor_recall=True)
            if len(fuller) > 1.02 * len(text):
                text, flags = fuller, ("second_mode",)
    if seen > 40 and len(text) < 0.3 * seen:
        visible = "\n".join(line.text for line in body)
        if len(visible) > len(text):
            text, flags = visible, ("visible_text",)
    if "visible_text" not in flags:
        text, added = with_lost_paragraphs(body, text)
        flags += ("paragraphs",) * added
        text, added = with_lost_tables(root, text)
        flags += ("tables",) * added
    text = _tidy(text)
    if len(text) > MAX_TEXT:
        text, flags = text[:MAX_TEXT], (*flags, "cut")
    return MainText(text, flags)


def _is_enough(root, text: str, seen: int) -> bool:
    """Whether a reading holds at least half of what is seen, and its lists and tables."""
    return len(text) >= 0.5 * seen and not _loses_parts(root, text)


def _read(root, talk: str, **mode: bool) -> str:
    """Read a tree with trafilatura; a page that it fails on has no text here."""
    from trafilatura import bare_extraction

    try:
        found = bare_extraction(root, include_comments=bool(talk), deduplicate=False, **mode)
    except (RecursionError, MemoryError):
        raise
    except Exception:  # a fault in the extractor costs its reading, not the page
        return ""
    if found is None:
        return ""
    said = [found.text or ""]
    if talk and found.comments and found.comments not in said[0]:
        said.append(found.comments)
    return "\n".join(filter(None, said))


def _loses_parts(root, text: str) -> bool:
    """Whether table cells or list points of the content are missing from a text."""
    parts = [(root.xpath(path)[:400], least) for path, least in ((_CELLS, 3), (_POINTS, 15))]
    if not any(elements for elements, _ in parts):
        return False
    flat = squeeze(text)
    for elements, least in parts:
        total = lost = 0
        for element in elements:
            words = squeeze("".join(element.itertext()))
            if least < len(words) < 600 and not is_beside(element):
                total += len(words)
                lost += len(words) if words not in flat else 0
        if lost > 0.2 * total and lost > 0.05 * len(flat):
            return True
    return False


_CELLS = "//body//*[self::td or self::th][not(.//a)][not(.//table)]"
_POINTS = "//body//li[not(.//a)][not(.//li)]"


def _tidy(text: str) -> str:
    """Fold runs of empty cells and of empty lines."""
    text = _EMPTY_CELLS.sub("| ", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def outside_lines(lines: list[Line], text: str) -> str:
    """Return the short unique visible lines that are not in the main text, in page order.

    Room goes first to lines that tell of contact, owner and imprint, then to those on authors,
    dates and advertising, then to the first and last of the other lines that are not just links,
    and last to links.
    """
    left = _left_out(lines, text)
    low = [short.lower() for short, _ in left]
    chosen: set[int] = set()
    for wanted, room in (
        (lambda place: _CONTACT.search(low[place]), 1600),
        (lambda place: _TELLING.search(low[place]), 1200),
        (lambda place: not left[place][1], 1200),
        (lambda place: True, 600),
    ):
        places = [place for place in range(len(left)) if place not in chosen and wanted(place)]
        chosen |= _ends(places, left, room)
    return "\n".join(left[place][0] for place in sorted(chosen))


def _left_out(lines: list[Line], text: str) -> list[tuple[str, bool]]:
    """Return each line that a text lacks once, shortened, and whether it is little but links."""
    flat = " ".join(text.split())
    seen, left = set(text.split("\n")), []
    for line in lines:
        said = line.text
        if len(said) > 1 and said not in seen:
            seen.add(said)
            if said not in flat:
                short = said if len(said) <= 300 else said[:297] + "..."
                left.append((short, line.link_chars > 0.8 * len(said)))
    return left


def _ends(places: list[int], left: list[tuple[str, bool]], room: int) -> set[int]:
    """Return the first and the last places whose lines fit, half the room for each end."""
    taken: set[int] = set()
    for order, share in ((places, room // 2), (places[::-1], room - room // 2)):
        for place in order:
            if place in taken:
                continue
            share -= len(left[place][0]) + 1
            if share < 0:
                break
            taken.add(place)
    return taken
