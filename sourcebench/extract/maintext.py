"""The main text of a page, checked against what a reader would see."""

from __future__ import annotations

import re
from dataclasses import dataclass

from sourcebench.extract.lines import Line

MAX_TEXT = 300_000
OUTSIDE_HEAD = OUTSIDE_TAIL = 1_200
OUTSIDE_TOLD = 2_400
_EMPTY_CELLS = re.compile(r"(?:\|[ \t]*){3,}")
_TELLING = re.compile(
    r"(?i)@\w|\+?\d[\d ()./-]{7,}\d|\b(?:contact|imprint|impressum|kontakt|about(?: us)?|über uns|"
    r"owned by|published by|publisher|herausgeber|operated by|part of|copyright|©|editor(?:ial)?|"
    r"masthead|corrections?|ethics|policy|privacy|terms|advertis\w*|anzeige|werbung|sponsor\w*|"
    r"affiliate|commissions?|disclosure|partner(?:s|ed)?|promoted|paid|street|avenue|suite|p\.?o\.? box|"
    r"straße|gmbh|inc\.|llc|ltd|by|written|reviewed|updated|posted|author|reporter|foundation|"
    r"nonprofit|registered|charity|phone|tel|e-?mail|address|newsroom|board)\b"
)


@dataclass(frozen=True)
class MainText:
    """The main text and the flags of how it was got: second_mode, visible_text, cut."""

    text: str
    flags: tuple[str, ...] = ()


def main_text(root, lines: list[Line], *, comments: bool, url: str = "") -> MainText:
    """Return the main text: trafilatura's, or a fuller one where it loses lists, tables or most of the page.

    The first reading is kept when it holds the table cells, the list points and at least half of
    the text that stands outside navigation and links. Else trafilatura reads again, favouring
    recall, and the fuller text is kept; if that still lacks most of the page, the visible lines are.

    Parameters
    ----------
    comments
        Whether posts of readers are the content (forum, questions and answers).
    """
    body = [line for line in lines if not line.out and line.text]
    seen = sum(len(line.text) - line.link_chars for line in body)
    first = _read(root, comments, url, recall=False)
    text, flags = first, ()
    if seen > 40 and (len(first) < 0.5 * seen or _loses_parts(root, first)):
        second = _read(root, comments, url, recall=True)
        if len(second) > 1.02 * len(first):
            text, flags = second, ("second_mode",)
    if seen > 40 and len(text) < 0.3 * seen:
        visible = "\n".join(line.text for line in body)
        if len(visible) > len(text):
            text, flags = visible, ("visible_text",)
    text = _tidy(text)
    if len(text) > MAX_TEXT:
        text, flags = text[:MAX_TEXT], (*flags, "cut")
    return MainText(text, flags)


def _read(root, comments: bool, url: str, *, recall: bool) -> str:
    """Read a tree with trafilatura; a page that it fails on has no text here."""
    from trafilatura import bare_extraction

    try:
        found = bare_extraction(
            root,
            url=url or None,
            favor_recall=recall,
            include_comments=comments,
            deduplicate=False,
            with_metadata=False,
        )
    except (RecursionError, MemoryError):
        raise
    except Exception:  # a fault in the extractor costs its reading, not the page
        return ""
    if found is None:
        return ""
    said = [found.text or ""]
    if comments and found.comments and found.comments not in said[0]:
        said.append(found.comments)
    return "\n".join(filter(None, said))


def _loses_parts(root, text: str) -> bool:
    """Whether table cells or list points of the content are missing from a text."""
    flat = squeeze(text)
    for path, share in ((_CELLS, 0.3), (_POINTS, 0.3)):
        total = lost = 0
        for element in root.xpath(path)[:400]:
            words = squeeze(element.xpath("string()"))
            if 3 < len(words) < 600:
                total += len(words)
                lost += len(words) if words not in flat else 0
        if total and lost > share * total:
            return True
    return False


_NOT_BESIDE = (
    "[not(ancestor::nav)][not(ancestor::aside)][not(ancestor::footer)][not(ancestor::header)]"
    "[not(ancestor::form)][not(ancestor-or-self::*[@data-sourcebench-out])]"
)
_CELLS = f"//body//table//*[self::td or self::th][not(.//a)][not(.//table)]{_NOT_BESIDE}"
_POINTS = f"//body//li[not(.//a)][not(.//li)]{_NOT_BESIDE}"


def squeeze(text: str) -> str:
    """Return a text without blanks and marks of lists and tables, for comparing."""
    return re.sub(r"[\s|•*-]+", "", text)


def _tidy(text: str) -> str:
    """Fold runs of empty cells and of empty lines."""
    text = _EMPTY_CELLS.sub("| ", text)
    return re.sub(r"\n{3,}", "\n\n", text).strip()


def outside_lines(lines: list[Line], text: str) -> str:
    """Return the short unique visible lines that are not in the main text.

    Lines that tell of contact, owner, author, imprint or advertising come first in the claim for
    room; of the others the first and the last are kept. All stand in page order.
    """
    flat = " ".join(text.split())
    seen, left = set(), []
    for place, line in enumerate(lines):
        short = line.text if len(line.text) <= 300 else line.text[:297] + "..."
        if len(short) < 2 or short in seen or line.text in flat:
            continue
        seen.add(short)
        left.append((place, short))
    chosen = _fill([e for e in left if _TELLING.search(e[1])], OUTSIDE_TOLD)
    others = [entry for entry in left if entry not in chosen]
    chosen |= _fill(others, OUTSIDE_HEAD)
    chosen |= _fill([e for e in reversed(others) if e not in chosen], OUTSIDE_TAIL)
    return "\n".join(text for _, text in sorted(chosen))


def _fill(entries: list[tuple[int, str]], room: int) -> set[tuple[int, str]]:
    """Take entries in order until their characters fill the room."""
    taken = set()
    for entry in entries:
        room -= len(entry[1]) + 1
        if room < 0:
            break
        taken.add(entry)
    return taken
