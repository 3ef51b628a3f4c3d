"""Citations written in the text of an answer: links, bare addresses, DOIs, and markers with a list."""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

# An address runs to white space, a quote or angle bracket; brackets in it must be balanced.
_INSIDE = r"[^\s()<>\"`|{}。，、；：！？（）「」『』【】《》“”…]"
_ADDRESS = rf"(?:{_INSIDE}|\((?:{_INSIDE}|\({_INSIDE}*+\))*+\))++"
_TARGET = re.compile(rf"\(\s*<?((?:https?://|www\.){_ADDRESS})>?(?:\s+[\"'(][^\n\"]*[\"')])?\s*\)")
_BARE = re.compile(
    rf"(?<![A-Za-z0-9_@/.-])(?:https?://|www\.(?=[\w-]+\.)){_ADDRESS}", re.IGNORECASE
)
_DOI = re.compile(rf"(?<![A-Za-z0-9_./-])(?:doi:\s*)?(10\.\d{{4,9}}/{_ADDRESS})", re.IGNORECASE)
_DEFINITION = re.compile(r"^[ \t]{0,3}\[\^?([^\]\n]{1,40})\]:[ \t]*<?((?:https?://|www\.)\S+?)>?(?:[ \t].*)?$", re.MULTILINE)  # fmt: skip
_CODE = re.compile(r"```.*?(?:```|\Z)|`[^`\n]+`", re.DOTALL)
_FENCE = re.compile(r"```.*?(?:```|\Z)", re.DOTALL)
_MARKER = re.compile(r"\[\^?(\d{1,3}(?:\s*[,;]\s*\d{1,3}|\s*[-–]\s*\d{1,3})*)\](?![(:])")
_HEADING = re.compile(
    r"^[ \t]*(?:#{1,6}[ \t]*|\*\*|__)?(?:\d+[.)][ \t]*)?"
    r"(?:sources?|references?|citations?|works cited|bibliography|links|quellen(?:verzeichnis)?|literatur|"
    r"r[ée]f[ée]rences|fuentes|fonti|参考文献|参考资料|引用来源|来源)"
    r"[ \t]*(?:cited|used)?[ \t]*(?:\*\*|__)?[ \t]*[:：]?[ \t]*(?:\*\*|__)?[ \t]*$",
    re.IGNORECASE | re.MULTILINE,
)
_BRACKET_ENTRY = re.compile(r"^[ \t]*(?:[-*][ \t]+)?\[\^?(\d{1,3})\](?!\():?[ \t]*(.*)$")
_NUMBER_ENTRY = re.compile(r"^[ \t]*(\d{1,3})[.)][ \t]+(.*)$")
_CLOSING = ".,;:!?'\"*_~>]}’”»"
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
    """A line of a source list: its number (0 if it has none), its address and its title."""

    number: int
    url: str
    title: str = ""


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
    `sources`. What stands in code is no citation.

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
    mentions = list(links(body))
    dangling = []
    for marker in markers(body):
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


def _markdown_links(text: str) -> list[Mention]:
    """Return links of the form `[label](address "title")`, labels with brackets included."""
    found, opened = [], []
    for match in re.finditer(r"[\[\]]", text):
        if match.group() == "[":
            opened.append(match.start())
        elif opened:
            start = opened.pop()
            target = _TARGET.match(text, match.end())
            if target:
                label = text[start + 1 : match.start()]
                found.append(Mention(start, target.end(), _absolute(target.group(1)), label))
                opened.clear()
    return found


def _absolute(address: str) -> str:
    """Return an address with its scheme."""
    if address.lower().startswith("www."):
        return f"http://{address}"
    return f"https://doi.org/{address}" if address.startswith("10.") else address


def trimmed(address: str) -> str:
    """Return an address without the punctuation that closes the sentence around it."""
    while address:
        if address[-1] in _CLOSING or (
            address[-1] == ")" and address.count(")") > address.count("(")
        ):
            address = address[:-1]
        else:
            break
    return address


def markers(text: str) -> list[Marker]:
    """Return the numbered markers of a text, without those in code."""
    plain = _blanked(text, _CODE)
    return [
        Marker(match.start(), match.end(), _numbers(match.group(1)))
        for match in _MARKER.finditer(plain)
    ]


def _numbers(inside: str) -> tuple[int, ...]:
    """Return the numbers of a marker; `1-3` stands for 1, 2 and 3."""
    numbers: list[int] = []
    for part in re.split(r"[,;]", inside):
        ends = [int(number) for number in re.split(r"[-–]", part)]
        numbers += range(ends[0], ends[-1] + 1) if 0 <= ends[-1] - ends[0] <= 50 else ends
    return tuple(dict.fromkeys(numbers))


def split_sources(text: str) -> tuple[str, tuple[Entry, ...]]:
    """Split a text into its body and the entries of its source list.

    Lines of the list are blanked in the body, so positions stay those of the text. A list begins
    at a heading such as `Sources:`, or is made of lines `[n] ... address`.
    """
    headings = [m.start() for m in _HEADING.finditer(text) if _is_list(text[m.end() :])]
    begin = headings[-1] if headings else len(text)
    entries: list[Entry] = []
    body, place = [], 0
    for line in text.splitlines(keepends=True):
        entry = _entry(line.rstrip("\r\n"), numbered=place >= begin)
        if entry is None or (place < begin and not entry.url):
            body.append(line if place < begin else _blank(line))
        else:
            entries.append(entry)
            body.append(_blank(line))
        place += len(line)
    return "".join(body), tuple(entries)


def _is_list(rest: str) -> bool:
    """Whether what follows a heading reads like a list of sources."""
    lines = [line for line in rest.splitlines() if line.strip()][:12]
    entries = sum(_entry(line, numbered=True) is not None for line in lines)
    return entries > 0 and 2 * entries >= min(len(lines), 4)


def _entry(line: str, *, numbered: bool) -> Entry | None:
    """Read a line of a source list; only lists under a heading may be numbered `1.`, or not at all."""
    match = _BRACKET_ENTRY.match(line) or (numbered and _NUMBER_ENTRY.match(line)) or None
    rest = match.group(2) if match else line
    number = int(match.group(1)) if match else 0
    found = links(rest)
    if not found:
        return Entry(number, "", rest.strip(" -*")) if match and numbered and rest.strip() else None
    if not match and not numbered:
        return None
    first = found[0]
    title = first.label or (rest[: first.start] + " " + rest[first.end :])
    return Entry(number, first.url, " ".join(title.split()).strip(" -–—:|.*<>"))


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
