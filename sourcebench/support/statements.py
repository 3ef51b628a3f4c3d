"""Cuts an answer into statements, and ties each to its place and to the pages cited there.

Rules only: a sentence is a statement unless it is a question, a heading, a remark about the answer
itself, a table row, code, or too short to be true or false. What is left out is kept with its
reason, so that it can be counted.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from sourcebench.intext import markers, sentences, split_sources

PARSER = "rules"

_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_LINK = re.compile(r"!?\[([^\]\n]{0,300})\]\([^\s()]{0,2000}(?:\([^\s()]*\)[^\s()]*)?\)")
_ONE_MARK = r"(?:\[\^?\d[\d,; –-]{0,20}\](?![(:])|【[^【】\n]{1,80}】)"
_MARK = re.compile(rf"[ \t]*{_ONE_MARK}")
_ADDRESS = re.compile(r"\(?(?:https?://|www\.)[^\s)]+\)?")
_BULLET = re.compile(r"^\s*(?:[-*+•·–]\s+|\(?\d{1,3}[.)]\s+|>\s*)+")
_STARS = re.compile(r"\*{1,3}|__|~~|`|<[^<>\n]{0,200}>")
_WORD = re.compile(r"[^\W_]+(?:['’.-][^\W_]+)*")
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]")  # scripts without blanks
# These end a sentence whether or not a blank follows.
_SURE_STOP = re.compile("[。！？؟۔।][」』）”’]*")
# A line that is a heading ends with its line, though no blank line follows.
_HEADING_LINE = re.compile(r"[ \t]*(?:#{1,6}[ \t][^\n]*|\*\*[^*\n]+\*\*:?[ \t]*)(?=\n)")
_MONTH = re.compile(
    r"\s*(?:Januar|Jänner|Februar|März|April|Mai|Juni|Juli|August|September|Oktober|November|Dezember)\b"
)
# After these a full stop ends no sentence.
_ABBREVIATION = re.compile(
    r"(?:\b(?:dr|mr|mrs|ms|prof|st|vs|etc|e\.g|i\.e|cf|al|approx|ca|no|nos|fig|vol|pp|ed|eds|inc|ltd|co|"
    r"corp|jr|sr|jan|feb|mar|apr|jun|jul|aug|sept?|oct|nov|dec|z\.b|d\.h|u\.a|bzw|nr|art|sec|u\.s|u\.k)\."
    r"|\b[A-Z]\.)$",
    re.IGNORECASE,
)
_NUMBER_ONLY = re.compile(r"[\s>*_(-]*\d{1,3}[.)][\s*_]*")
_META = re.compile(
    r"(?:(?:i|we)(?:'m|’m| am| are)? (?:hope|sorry|happy to|glad to|can(?:no|')t|could(?: not|n['’]t)|cannot|"
    r"do(?: not|n['’]t) have|was (?:un)?able|searched|found (?:the following|several|some)|recommend (?:that you|you|checking))"
    r"|let me know|feel free|please (?:let|note that i|consult|see|feel)|as an ai\b|"
    r"(?:here(?:['’]s| is| are)|below(?: is| are)|the following (?:is|are)|see (?:below|above|also)|as (?:mentioned|noted|described) (?:above|below|earlier))\b"
    r"|(?:sure|certainly|great question|good question|thanks?|thank you|of course)\b[,.!]"
    r"|(?:sources?|references?|disclaimer|learn more|read more)\s*:?$"
    r"|based on (?:the|my) (?:search results|sources|information)[^.]{0,60}:$"
    r"|(?:hope this helps|hier (?:ist|sind)|ich hoffe|voici|aquí (?:tiene|está)))",
    re.IGNORECASE,
)  # fmt: skip
_MARKS_AFTER = re.compile(rf"(?:[ \t]*{_ONE_MARK})*[ \t]+")
_AFTER_STOP = re.compile(rf"[.!?…。！？][\"”»)]*\s+(?:{_ONE_MARK}[ \t]*)+$")
_FEWEST_WORDS, _FEWEST_WIDE = 3, 6
_ITEM_END = re.compile(r"[,;.]?(?:\s+(?:and|or))?\s*$")
_ANNOUNCES = "it only announces what follows"
_LONGEST_QUOTATION = 400  # characters


@dataclass(frozen=True)
class Statement:
    """A sentence of an answer: what it says without marks, where it stands, which pages it cites.

    `start` and `end` are code points of the answer, half open, citation marks included.
    """

    text: str
    start: int
    end: int
    outcome: str = "statement"
    pages: tuple[str, ...] = ()
    reason: str = ""


@dataclass(frozen=True)
class CitedPage:
    """A citation of an answer: the page, and its place in the answer if it has one."""

    page_id: str
    start: int | None = None
    end: int | None = None


def claim_id(text: str) -> str:
    """Return the identity of a statement's text: equal for texts that differ in blanks only."""
    return hashlib.sha256(" ".join(text.split()).encode()).hexdigest()[:16]


def parse_answer(text: str, citations: Sequence[CitedPage] = ()) -> list[Statement]:
    """Return the sentences of an answer, each with its outcome and the pages cited there.

    Parameters
    ----------
    text
        The answer.
    citations
        What it cites, in the order of its source list. A citation belongs to every sentence that
        its place touches, whether that covers the mark or the claim. If none has a place, numbered
        marks in the text are looked up in the order given.

    Returns
    -------
    list of Statement
        In text order; never empty: an answer without a statement has one row that says so.
    """
    body = _FENCE.sub(lambda m: re.sub(r"[^\n]", " ", m[0]), split_sources(text)[0])
    found = [_sentence(text, start, end) for start, end in _spans(body, _edges(text, citations))]
    found = attach(_led(_joined(found, text), text), text, citations)
    if not any(s.outcome == "statement" for s in found):
        why = "no sentence that could be checked" if found else "the answer has no text"
        found.append(Statement("", 0, 0, "no_statements", reason=why))
    return found


def _edges(text: str, citations: Sequence[CitedPage]) -> set[int]:
    """Return where claims begin and end that citations cover, as far as whole words go.

    A place that covers the mark alone says nothing about where the claim begins.
    """
    edges: set[int] = set()
    for c in citations:
        if (
            c.start is None
            or c.end is None
            or not _WORD.search(plain_statement(text[c.start : c.end]))
        ):
            continue
        before, after = text[: c.start].rstrip()[-1:], _MARKS_AFTER.match(text, c.end)
        if not before.isalnum() and before != ",":
            edges.add(c.start)
        if after and text[after.end() : after.end() + 1].isupper():
            edges.add(after.end())
    return edges


def _spans(body: str, edges: set[int]) -> list[tuple[int, int]]:
    """Return the sentences of a text; abbreviations and list numbers end none, cited claims do."""
    spans: list[tuple[int, int]] = []
    for start, end in [part for span in sentences(body) for part in _parts(body, *span)]:
        gap = body[spans[-1][1] : start] if spans else ""
        if spans and _goes_on(body[slice(*spans[-1])], gap, body[start : start + 12]):
            spans[-1] = (spans[-1][0], end)
        else:
            spans.append((start, end))
    return [part for span in spans for part in _cut_at(body, *span, edges)]


def _cut_at(body: str, start: int, end: int, edges: set[int]) -> list[tuple[int, int]]:
    """Cut a span at the places given, without the blanks around."""
    places = [start, *sorted(e for e in edges if start < e < end), end]
    parts = [_stripped(body, a, b) for a, b in pairwise(places)]
    return [(a, b) for a, b in parts if a < b]


def _parts(body: str, start: int, end: int) -> list[tuple[int, int]]:
    """Split table rows and headings at line ends, and sentences after stops that no blank follows."""
    if body[start] == "|":
        lines = re.finditer(r"[^\n]+", body[start:end])
        return [(start + line.start(), start + line.end()) for line in lines if line[0].strip()]
    ends = [m.end() for m in _SURE_STOP.finditer(body, start, end)]
    marks = [_MARK.match(body, place) for place in ends]
    ends = [m.end() if m else place for place, m in zip(ends, marks, strict=True)]
    heading = _HEADING_LINE.match(body, start, end)
    edges = sorted(
        {start, *(e for e in ends if e < end), *([heading.end()] if heading else []), end}
    )
    parts = [_stripped(body, a, b) for a, b in pairwise(edges)]
    return [(a, b) for a, b in parts if a < b]


def _stripped(body: str, start: int, end: int) -> tuple[int, int]:
    """Return a span without the blanks at its ends."""
    inside = body[start:end]
    return end - len(inside.lstrip()), start + len(inside.rstrip())


def _goes_on(before: str, gap: str, after: str) -> bool:
    """Whether what looks like the end of a sentence is none: list numbers, abbreviations, quotations."""
    if "\n" in gap:
        return False
    if _NUMBER_ONLY.fullmatch(before) or _ABBREVIATION.search(before):
        return True
    if re.search(r"\b\d{1,2}\.$", before) and _MONTH.match(after):
        return True
    closed = before[-1:] in '"”»)' and after[:1].islower() and not after[1:2].isupper()
    return closed or _quotes(before)


def _quotes(text: str) -> bool:
    """Whether a quotation is open at the end of a text; one that grows long was never closed."""
    opened = text.count("“") > text.count("”") or text.count('"') % 2 == 1
    return opened and len(text) < _LONGEST_QUOTATION and not re.search(r"\d\s?\"", text)


def _sentence(text: str, start: int, end: int) -> Statement:
    """Return a sentence with its outcome."""
    said = plain_statement(text[start:end])
    outcome, reason = _kind(text[start:end], said)
    return Statement(said, start, end, outcome, reason=reason)


def plain_statement(raw: str) -> str:
    """Return a sentence without citation marks, addresses, bullets and Markdown."""
    said = _LINK.sub(_label, _MARK.sub("", raw))
    said = _STARS.sub("", _ADDRESS.sub("", said))
    said = re.sub(r"\(\s*\)|\[\s*\]", "", re.sub(r"^\s*#{1,6}\s*", "", said))
    said = " ".join(_BULLET.sub("", said).split())
    return re.sub(r"\s+([.,;:!?])", r"\1", said)


def _label(match: re.Match[str]) -> str:
    """Return the words of a link, unless they are the name of a source."""
    label = match[1]
    before = match.string[max(0, match.start() - 2) : match.start()]
    return "" if before.endswith("(") or re.fullmatch(r"[\w.-]+\.\w{2,}|\d+", label) else label


def _kind(raw: str, said: str) -> tuple[str, str]:
    """Return the outcome of a sentence, with the reason where it is no statement."""
    line = raw.strip()
    if not said:
        return "fragment", "nothing but marks"
    if line.startswith("|"):
        return "table", "a row of a table"
    if line.startswith("#") or (re.fullmatch(r"\*\*[^*]+\*\*:?", line) and said[-1] not in ".!"):
        return "heading", "a heading"
    if said.rstrip("\"'”’)").endswith(("?", "？", "؟")):
        return "question", "a question"
    if _META.match(said):
        return "meta", "about the answer itself"
    wide, count = len(_WIDE.findall(said)), len(_WORD.findall(said))
    if said.endswith((":", "：")):
        return "heading", _ANNOUNCES
    if (count < _FEWEST_WORDS and wide < _FEWEST_WIDE) or not any(c.isalpha() for c in said):
        return "fragment", f"{count} words"
    return "statement", ""


def _joined(found: list[Statement], text: str) -> list[Statement]:
    """Give lines of nothing but marks to the statement before them."""
    kept: list[Statement] = []
    for one in found:
        if not one.text and kept and _MARK.search(text[one.start : one.end]):
            kept[-1] = replace(kept[-1], end=one.end)
        elif one.text:
            kept.append(one)
    return kept


def _led(found: list[Statement], text: str) -> list[Statement]:
    """Complete list items that go on with the sentence which announces them: `It can: - heat, - cool`."""
    made, lead = [], ""
    for one in found:
        raw = text[one.start : one.end]
        if one.reason == _ANNOUNCES:
            lead = one.text.rstrip(":： ")
        elif not _BULLET.match(raw):
            lead = ""
        elif lead and one.text[:1].islower():
            said = f"{lead} {_ITEM_END.sub('', one.text)}."
            outcome, reason = _kind(raw, said)
            one = replace(one, text=said, outcome=outcome, reason=reason)
        made.append(one)
    return made


# --- citations -----------------------------------------------------------------------------------


def attach(found: list[Statement], text: str, citations: Sequence[CitedPage]) -> list[Statement]:
    """Give every sentence the pages that are cited in it, and a remark on marks without a source."""
    placed = [c for c in citations if c.start is not None and c.end is not None]
    if not placed:
        placed = _numbered(text, citations)
    dangling = _dangling(text, len({c.page_id for c in citations}))
    made = []
    for one in found:
        pages = [c.page_id for c in placed if _touches(text, one, c)]
        lost = [mark for start, mark in dangling if one.start <= start < one.end]
        reason = one.reason or (f"no source for {', '.join(lost)}" if lost else "")
        made.append(replace(one, pages=tuple(dict.fromkeys(pages)), reason=reason))
    return _shared(made, text)


def _shared(found: list[Statement], text: str) -> list[Statement]:
    """Give the pages cited after a paragraph's last full stop to all of it, if it cites nowhere else.

    A mark before the full stop, or after that of a single sentence, is for its sentence alone.
    """
    made, first = list(found), 0
    for place, one in enumerate(found):
        if place and "\n" in text[found[place - 1].end : one.start]:
            first = place
        ends = place + 1 == len(found) or "\n" in text[one.end : found[place + 1].start]
        before = range(first, place)
        cites = any(
            found[i].pages or _MARK.search(text, found[i].start, found[i].end) for i in before
        )
        if ends and one.pages and not cites and _AFTER_STOP.search(text, one.start, one.end):
            for i in before:
                why = found[i].reason or "cited at the end of the paragraph"
                made[i] = replace(made[i], pages=one.pages, reason=why)
    return made


def _touches(text: str, one: Statement, cited: CitedPage) -> bool:
    """Whether the place of a citation shares more than blanks with a sentence."""
    start, end = max(one.start, cited.start or 0), min(one.end, cited.end or 0)
    return start < end and bool(text[start:end].strip(" \t\r\n.,;:"))


def _numbered(text: str, citations: Sequence[CitedPage]) -> list[CitedPage]:
    """Return a citation for each numbered mark, by the order of the pages."""
    pages = list(dict.fromkeys(c.page_id for c in citations))
    return [
        CitedPage(pages[number - 1], mark.start, mark.end)
        for mark in markers(split_sources(text)[0])
        for number in mark.numbers
        if 0 < number <= len(pages)
    ]


def _dangling(text: str, sources: int) -> list[tuple[int, str]]:
    """Return the numbered marks beyond the list of sources, with their places."""
    own = {entry.number for entry in split_sources(text)[1]}
    return [
        (mark.start, f"[{number}]")
        for mark in markers(text)
        for number in mark.numbers
        if number > sources and number not in own
    ]


def placed_citations(citations: Sequence[CitedPage], length: int) -> tuple[list[CitedPage], int]:
    """Return citations with places inside an answer of some length, and how many had none there."""
    good, outside = [], 0
    for c in citations:
        if c.start is not None and not 0 <= c.start < (c.end or 0) <= length:
            outside += 1
            c = replace(c, start=None, end=None)
        good.append(c)
    return good, outside


def statement_rows(
    key: Mapping[str, Any], found: Sequence[Statement], parser: str = PARSER
) -> list[dict[str, Any]]:
    """Return the rows of the table `statements` of one answer."""
    rows = []
    for place, one in enumerate(found, start=1):
        none = one.outcome in ("no_statements", "not_parsed") and not one.text
        rows.append(
            {
                **key,
                "statement_id": 0 if none else place,
                "outcome": one.outcome,
                "claim_id": claim_id(one.text) if one.text else None,
                "text": one.text or None,
                "start": None if none else one.start,
                "end": None if none else one.end,
                "pages": " ".join(one.pages) or None,
                "reason": one.reason or None,
                "parser": parser,
            }
        )
    return rows
