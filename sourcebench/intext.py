"""Citations written in the text of an answer: links, bare addresses, DOIs, and markers with a list."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass, replace
from typing import Literal

# An address runs to white space, a quote or angle bracket; brackets in it must be balanced.
_INSIDE = r"(?:[^\s()<>\"`|{}*。，、；：！？（）「」『』【】《》“”…—]|\*(?!\*))"
_ADDRESS = rf"(?:{_INSIDE}|\((?:{_INSIDE}|\({_INSIDE}*+\))*+\))++"
_TARGET = re.compile(
    rf"\(\s*(?:<((?:https?://|www\.)[^<>\n]+)>|((?:https?://|www\.){_ADDRESS}))"
    r"(?:\s+[\"'(][^\n\"]*[\"')])?\s*\)",
    re.IGNORECASE,
)
_BARE = re.compile(
    rf"(?<![A-Za-z0-9_@/.-])(?:https?://|www\.(?=[\w-]+\.)){_ADDRESS}", re.IGNORECASE
)
_DOI = re.compile(rf"(?<![A-Za-z0-9_./-])(?:doi:\s*)?(10\.\d{{4,9}}/{_ADDRESS})", re.IGNORECASE)
_DEFINITION = re.compile(r"[ \t]{0,3}\[(\^?[^\]\n]{1,60})\]:[ \t]*(.*)$")
_REFERENCE = re.compile(r"\[([^\[\]\n]{1,200})\](?:\[([^\[\]\n]{0,60})\])?(?![(:])")
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_NUMBERS = r"(\d{1,3}(?:\s*[,;]\s*\^?\d{1,3}|\s*[-–]\s*\d{1,3})*)"
_WORD = r"(?:(?:sources?|refs?|references?|citations?|cite)\.?[ \t]*:?[ \t]*)?"
_MARKER = re.compile(
    rf"\\?\[\^?{_WORD}{_NUMBERS}(?:†[^\]\n]{{0,80}})?\\?\](?![(:])"
    rf"|【{_WORD}{_NUMBERS}(?:†[^】\n]{{0,80}})?】",
    re.IGNORECASE,
)
# Styles of marks that mean something else in most texts: read where the list is numbered so.
_ROUND_ENTRY = re.compile(r"^[ \t]*\((\d{1,3})\)[ \t]+(?=.*(?:https?://|www\.))", re.MULTILINE)
_RAISED_ENTRY = re.compile(r"^[ \t]*([⁰¹²³⁴-⁹]{1,3})[ \t]*(?=.*(?:https?://|www\.))", re.MULTILINE)
_ROUND = re.compile(rf"\({_NUMBERS}\)")
_RAISED = re.compile(r"([⁰¹²³⁴-⁹]{1,3}(?:[,˒][⁰¹²³⁴-⁹]{1,3})*)")
_DIGITS = str.maketrans("⁰¹²³⁴⁵⁶⁷⁸⁹˒", "0123456789,")
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*|__)?(?:\d+[.)][ \t]*)?"
    r"(?:sources?|references?|citations?|works cited|bibliography|links|quellen(?:verzeichnis)?|literatur|"
    r"r[ée]f[ée]rences|fuentes|fonti|参考文献|参考资料|引用来源|来源)"
    r"[ \t]*(?:cited|used)?[ \t]*(?:\*\*|__)?[ \t]*[:：]?[ \t]*(?:\*\*|__)?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_INLINE_HEADING = re.compile(
    r"^[ \t]*(?:\*\*|__)?(?:sources?|references?|citations?|quellen)[:：]?(?:\*\*|__)?[:：]?[ \t]*(?=\[\^?\d)",
    re.IGNORECASE,
)
_BRACKET_ENTRY = re.compile(
    r"^[ \t]*(?:[-*+•–][ \t]+)?(?:\\?\[\^?(\d{1,3})\\?\](?!\()|【(\d{1,3})】)[:.]?[ \t]*(.*)$"
)
_NEXT_ENTRY = re.compile(r"(?<=\s)(?=\[\^?\d{1,3}\](?!\())")
_NUMBER_ENTRY = re.compile(r"^[ \t]*(?:[-*+•–][ \t]+)?(?:(\d{1,3})[.)]|\((\d{1,3})\))[ \t]+(.*)$")
_LOOKED_AT = 5000  # characters after a heading that show whether a list follows
_CLOSING = ".,;:!?'\"*_~>}\\’”»"
_STOP = r"[.!?…。！？]+[\"'”’»)]*"
_MARKS = (
    r"(?:[ \t]?(?:\[\^?\d[\d,; –-]{0,20}\](?!\()|\(?\[[^\]\n]{0,200}\]\([^\s()]{0,2000}\)\)?))*"
)
_BREAK = r"|\n\s*\n|\n(?=[ \t]*(?:[-*#|]|\d+[.)]\s))"
_END = re.compile(rf"{_STOP}(?=\s|$|\[|\(\[){_BREAK}")
_END_WITH_MARKS = re.compile(rf"{_STOP}{_MARKS}(?=\s|$){_BREAK}")


@dataclass(frozen=True)
class Mention:
    """An address in a text: where it is cited, half open in code points, and what it is called."""

    start: int
    end: int
    url: str
    label: str = ""


@dataclass(frozen=True)
class Marker:
    """A numbered marker such as `[2]` or `[1, 3]` in a text."""

    start: int
    end: int
    numbers: tuple[int, ...]


@dataclass(frozen=True)
class Entry:
    """An entry of a source list: its number (0 if it has none) or name, its address and its title."""

    number: int
    url: str
    title: str = ""
    name: str = ""


@dataclass(frozen=True)
class InText:
    """What a text cites: mentions in order, entries never mentioned, markers without an entry."""

    mentions: tuple[Mention, ...] = ()
    listed: tuple[Entry, ...] = ()
    dangling: tuple[str, ...] = ()


def cited_in_text(text: str, sources: Sequence[tuple[str, str]] = ()) -> InText:
    """Return the citations that a text itself holds.

    Links, bare addresses and DOIs count where they stand. A number in brackets stands for the entry
    with that number in the text's own source list, wherever there is one; else for that place in
    `sources`. A name in brackets stands for the definition with that name, as in Markdown. What
    stands in code is no citation.

    Parameters
    ----------
    text
        The answer.
    sources
        Address and title of each source that came with the answer, in its order.

    Returns
    -------
    InText
        An entry that is never mentioned is in `listed`; entries of `sources` are not repeated there.
    """
    body, entries = split_sources(text)
    own = {entry.number: entry for entry in entries if entry.number}
    given = {n: Entry(n, url, title) for n, (url, title) in enumerate(sources, start=1)}
    mentions = [*links(body), *_named(body, entries)]
    dangling = []
    for marker in [*markers(body), *_rare_markers(text, body)]:
        for number in marker.numbers:
            entry = (own or given).get(number)
            if entry is None:
                dangling.append(f"[{number}]")
            elif entry.url:
                mentions.append(Mention(marker.start, marker.end, entry.url, entry.title))
    mentions.sort(key=lambda mention: mention.start)
    cited = {mention.url for mention in mentions}
    listed = tuple(entry for entry in entries if entry.url and entry.url not in cited)
    return InText(tuple(mentions), listed, tuple(dict.fromkeys(dangling)) if own or given else ())


def links(text: str) -> list[Mention]:
    """Return Markdown links, addresses and DOIs of a text, in order, without those in code fences."""
    text = _blanked(text, _FENCE)
    found = _markdown_links(text)
    taken = [(mention.start, mention.end) for mention in found]
    for pattern in (_BARE, _DOI):
        for match in pattern.finditer(text):
            if not _within(match.start(), taken):
                address = trimmed(match.group(match.lastindex or 0))
                end = match.start(match.lastindex or 0) + len(address)
                found.append(Mention(match.start(), end, _absolute(address)))
        taken = sorted((mention.start, mention.end) for mention in found)
    return sorted(found, key=lambda mention: mention.start)


def _named(body: str, entries: Sequence[Entry]) -> list[Mention]:
    """Return the places where a text cites a definition by its name, `[label][name]` or `[name]`."""
    names = {entry.name.casefold(): entry for entry in entries if entry.name}
    found = []
    for match in _REFERENCE.finditer(_blanked(body, _CODE)) if names else ():
        entry = names.get((match.group(2) or match.group(1)).strip().casefold())
        if entry:
            found.append(Mention(match.start(), match.end(), entry.url, entry.title))
    return found


def _markdown_links(text: str) -> list[Mention]:
    """Return links of the form `[label](address "title")`, labels with brackets included."""
    found: list[Mention] = []
    opened: list[int] = []
    for match in re.finditer(r"(?<!\\)[\[\]]", text):
        if match.group() == "[":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            target = _TARGET.match(text, match.end())
            if target:
                label = text[start + 1 : match.start()]
                url = _plain_target(target.group(1) or target.group(2))
                # A link around a picture goes before the picture's own address.
                found = [mention for mention in found if mention.start < start]
                found.append(Mention(start, target.end(), url, label))
                if text[start - 1 : start] != "!":
                    opened.clear()
    return found


def _plain_target(address: str) -> str:
    """Return the address that the target of a link stands for: backslashes off, blanks encoded."""
    plain = re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", address.strip())
    return _absolute(plain.replace(" ", "%20"))


def _absolute(address: str) -> str:
    """Return an address with its scheme."""
    if address.lower().startswith("www."):
        return f"http://{address}"
    return f"https://doi.org/{address}" if address.startswith("10.") else address


def trimmed(address: str) -> str:
    """Return an address without the punctuation that closes the sentence around it."""
    while address:
        opener = {")": "(", "]": "["}.get(address[-1])
        unbalanced = opener and address.count(address[-1]) > address.count(opener)
        if address[-1] not in _CLOSING and not unbalanced:
            break
        address = address[:-1]
    return address


def markers(text: str) -> list[Marker]:
    """Return the numbered markers of a text, without those in code."""
    plain = _blanked(text, _CODE)
    return [
        Marker(match.start(), match.end(), _numbers(match.group(1) or match.group(2)))
        for match in _MARKER.finditer(plain)
    ]


def _rare_markers(text: str, body: str) -> list[Marker]:
    """Return markers in round brackets, or raised ones, where the text's list is numbered so."""
    plain, found = _blanked(body, _CODE), []
    for entry, mark in ((_ROUND_ENTRY, _ROUND), (_RAISED_ENTRY, _RAISED)):
        for match in mark.finditer(plain) if entry.search(text) else ():
            numbers = _numbers(match.group(1).translate(_DIGITS))
            found.append(Marker(match.start(), match.end(), numbers))
    return found


def _numbers(inside: str) -> tuple[int, ...]:
    """Return the numbers of a marker; `1-3` stands for 1, 2 and 3."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", inside.replace("^", "")):
        ends = [int(number) for number in re.split(r"[-–]", part)]
        numbers += range(ends[0], ends[-1] + 1) if 0 <= ends[-1] - ends[0] <= 50 else ends
    return tuple(dict.fromkeys(numbers))


def split_sources(text: str) -> tuple[str, tuple[Entry, ...]]:
    """Split a text into its body and the entries of its source list.

    Lines of the list are blanked in the body, so positions stay those of the text. A list begins
    at a heading such as `Sources:` and ends with the paragraph of its last entry, or is made of
    lines `[n] ... address`. A title on a line of its own belongs to the address on the next.
    """
    begin, end = _list_bounds(text)
    entries: list[Entry] = []
    body, place = [], 0
    for line in text.splitlines(keepends=True):
        listed = begin <= place < end
        found = _entries(line.rstrip("\r\n"), numbered=listed)
        if listed or any(entry.url for entry in found):
            entries += found
            line_left = _blank(line)
        else:
            line_left = line
        body.append(line_left)
        place += len(line)
    return "".join(body), tuple(_joined(entries))


def _list_bounds(text: str) -> tuple[int, int]:
    """Return where a list under a heading begins and ends; both are the text's end without one."""
    headings = reversed(list(_HEADING.finditer(text)))
    heading = next((m for m in headings if _is_list(text[m.end() : m.end() + _LOOKED_AT])), None)
    if heading is None:
        return len(text), len(text)
    begin, place, end = heading.start(), heading.end(), heading.end()
    for block in re.split(r"(\n[ \t]*(?:\r?\n)+)", text[place:]):
        lines = [line for line in block.splitlines() if line.strip()]
        place += len(block)
        if any(_entries(line, numbered=True) for line in lines[:1]):
            end = place
    return begin, end


def _is_list(rest: str) -> bool:
    """Whether what follows a heading reads like a list of sources."""
    lines = [line for line in rest.splitlines() if line.strip()][:12]
    entries = sum(bool(_entries(line, numbered=True)) for line in lines)
    return entries > 0 and 2 * entries >= min(len(lines), 4)


def _entries(line: str, *, numbered: bool) -> list[Entry]:
    """Read a line of a source list; several `[n] ... address` may stand on one."""
    line = _INLINE_HEADING.sub("", line)
    pieces = _NEXT_ENTRY.split(line) if _BRACKET_ENTRY.match(line) else [line]
    if len(pieces) > 1 and all(links(piece) for piece in pieces):
        return [entry for piece in pieces if (entry := _entry(piece, numbered=numbered))]
    entry = _entry(line, numbered=numbered)
    return [entry] if entry else []


def _entry(line: str, *, numbered: bool) -> Entry | None:
    """Read an entry; only lists under a heading may be numbered `1.`, or not at all."""
    match = _BRACKET_ENTRY.match(line) or (numbered and _NUMBER_ENTRY.match(line)) or None
    raised = None if match else _RAISED_ENTRY.match(line)
    named = None if match or raised else _DEFINITION.match(line)
    number, rest = 0, line
    if match:
        number, rest = int(match.group(1) or match.group(2)), match.group(3)
    elif raised:
        number, rest = int(raised.group(1).translate(_DIGITS)), line[raised.end() :]
    elif named:
        rest = named.group(2)
    found = links(rest)
    if not found:
        return Entry(number, "", rest.strip(" -*")) if match and numbered and rest.strip() else None
    if not (number or named or numbered):
        return None
    first = found[0]
    if not number and first.label.isdecimal() and len(first.label) <= 3 and numbered:
        number, first = int(first.label), replace(first, label="")
    title = first.label or (rest[: first.start] + " " + rest[first.end :])
    title = " ".join(title.split()).strip(" -–—:|.*<>")
    return Entry(number, first.url, title, named.group(1) if named else "")


def _joined(entries: Sequence[Entry]) -> list[Entry]:
    """Give a numbered title without an address the address of the line after it."""
    made: list[Entry] = []
    for entry in entries:
        if made and made[-1].number and not made[-1].url and entry.url and not entry.number:
            made[-1] = replace(made[-1], url=entry.url)
        else:
            made.append(entry)
    return made


def _blanked(text: str, pattern: re.Pattern[str]) -> str:
    """Return a text with spaces in place of what a pattern covers."""
    return pattern.sub(lambda match: _blank(match.group()), text)


def _blank(text: str) -> str:
    """Return spaces, keeping line ends."""
    return re.sub(r"[^\r\n]", " ", text)


def _within(place: int, spans: Sequence[tuple[int, int]]) -> bool:
    """Whether a place lies in one of the sorted, disjoint spans."""
    index = bisect_right(spans, (place, 1 << 62)) - 1
    return index >= 0 and place < spans[index][1]


def sentences(
    text: str, *, after_stop: Literal["before", "after"] = "before"
) -> list[tuple[int, int]]:
    """Return the sentences of a text as half-open spans.

    Markers and links that follow a full stop belong to the sentence before it, as answer engines
    write them; with `after_stop="after"` they open the next one.
    """
    ends = _END_WITH_MARKS if after_stop == "before" else _END
    spans, begin = [], 0
    for end in [*(match.end() for match in ends.finditer(text)), len(text)]:
        inside = text[begin:end]
        first = begin + len(inside) - len(inside.lstrip())
        last = begin + len(inside.rstrip())
        if first < last:
            spans.append((first, last))
        begin = end
    return spans


def sentence_of(
    text: str, start: int, *, after_stop: Literal["before", "after"] = "before"
) -> tuple[int, int]:
    """Return the sentence that the marker or link at a place belongs to, as `sentences` cuts it."""
    spans = sentences(text, after_stop=after_stop)
    index = bisect_right(spans, (start, 1 << 62)) - 1
    return spans[max(index, 0)] if spans else (0, 0)


# --- markers that a copy from the screen has glued to words ---------------------------------------

_GLUED = re.compile(r"(?:(?<=[A-Za-zÀ-ɏ])|(?<=[$€£]\d[.]\d\d)|(?<=[$€£]\d\d[.]\d\d)|(?<=[$€£]\d{3}[.]\d\d)|(?<=%))(\d{1,6})(?=[.,;:!?)\"”’]*(?:\s|$))")  # fmt: skip


def glued_markers(text: str, sources: int) -> list[Marker]:
    """Return digits at the end of a word or an amount of money that can only be read as markers.

    Parameters
    ----------
    text
        An answer copied from a screen, where `complained [1][4]` became `complained14`.
    sources
        Number of sources that came with the answer.

    Returns
    -------
    list of Marker
        Digits that split in exactly one way into ascending numbers of sources. Most answers have
        none; a name such as `COVID19` may look like one, so the choice is the user's.
    """
    found = []
    for match in _GLUED.finditer(_blanked(text, _CODE)):
        readings = _ascending(match.group(1), 0, sources)
        if len(readings) == 1:
            found.append(Marker(match.start(), match.end(), readings[0]))
    return found


def _ascending(digits: str, above: int, most: int) -> list[tuple[int, ...]]:
    """Return every split of digits into ascending numbers up to a bound."""
    if not digits:
        return [()]
    splits = []
    for length in range(1, min(3, len(digits)) + 1):
        number = int(digits[:length])
        if digits[0] != "0" and above < number <= most:
            rest = _ascending(digits[length:], number, most)
            splits += [(number, *more) for more in rest]
    return splits
