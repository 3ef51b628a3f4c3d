"""The sources that a row lists: addresses with titles, ranks and places, every fault named."""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Sequence
from dataclasses import replace
from typing import Any
from urllib.parse import urlsplit

from sourcebench.collect.rowfile import Fault, Row
from sourcebench.engines.mentions import Source, whole

_SEPARATOR = re.compile(r"\s+\|\s+|\s*\|\s*(?=https?://)|[\r\n]+")
_QUOTED = re.compile(r"'([^'\n]*)'|\"([^\"\n]*)\"")
_BEGINS = re.compile(r"https?://", re.IGNORECASE)
REPEATED = (
    "number repetitions in a column run (--keep-broken does)"  # ends every fault of a repeated row
)
_LISTED = re.compile(r"[,;]\s*https?://")


def listed_sources(
    group: Sequence[Row], faults: list[Fault], *, strict: bool = True
) -> tuple[list[Source], int, bool]:
    """Return the sources that the rows list, in rank order; how many have no address; if ranked."""
    ranked: list[tuple[int, Source]] = []
    seen: dict[Any, int] = {}
    nameless, any_rank = 0, False
    for row in group:
        pairs = addresses(row, faults, strict=strict)
        nameless += sum(not pair.url for pair in pairs)
        rank = whole_number(row, "rank", faults, default=None)
        any_rank |= rank is not None
        if rank and len(pairs) > 1:
            message = "one rank for several addresses; list them in order, or give each its own row"
            faults.append(Fault(row.number, "rank", message))
        _note_repeat(row, pairs, rank, seen, faults)
        ranked += [(rank or len(ranked) + n, pair) for n, pair in enumerate(pairs, 1) if pair.url]
    ranked.sort(key=lambda pair: pair[0])
    return _unnumbered([source for _, source in ranked]), nameless, any_rank


def _unnumbered(sources: list[Source]) -> list[Source]:
    """Return sources with titles free of a number that only says their place in the list."""
    numbered = [
        isinstance(s.title, str) and s.title.startswith(f"{n}. ")
        for n, s in enumerate(sources, start=1)
    ]
    if not numbered or not all(numbered):
        return sources
    return [replace(s, title=str(s.title).split(". ", 1)[1]) for s in sources]


def _note_repeat(row: Row, pairs, rank, seen: dict[Any, int], faults: list[Fault]) -> None:
    """Note a row that says what an earlier one says, or takes its rank."""
    keys = [pair.url for pair in pairs] if rank is None else [rank]
    for key in keys or [None]:
        if key in seen and seen[key] != row.number:
            what = f"rank {key} again" if rank else "the same citation again" if key else "again"
            message = f"repeats row {seen[key]} ({what}); remove one of the two, or {REPEATED}"
            faults.append(Fault(row.number, "rank" if rank else "", message))
            break  # the row is the fault, not each of its addresses
    for key in keys or [None]:
        seen.setdefault(key, row.number)


def addresses(row: Row, faults: list[Fault], *, strict: bool = False) -> list[Source]:
    """Return the addresses of a row with their titles; an empty one is a citation without address."""
    value = row.values.get("urls") or row.values.get("found")
    if isinstance(value, str) and value.lstrip().startswith("["):
        value = _list_of(value)
        if value is None:
            message = (
                "starts like a list, but is none that can be read; separate addresses with ' | '"
            )
            faults.append(Fault(row.number, "urls", message))
            return []
    if value is None or isinstance(value, str):
        parts = [part.strip() for part in _SEPARATOR.split(value or "")]
        pairs = [Source(part, row.text("title") or None) for part in parts if part]
    elif isinstance(value, list):
        pairs = [_pair(row, item, faults) for item in value]
    else:
        message = f"expected a text or a list, found {type(value).__name__}"
        faults.append(Fault(row.number, "urls", message))
        return []
    for pair in pairs:
        if pair.url and strict and (fault := url_fault(pair.url)):
            faults.append(Fault(row.number, "urls", f"{fault} (--keep-broken keeps it, unfetched)"))
    return pairs


def _list_of(text: str) -> list[Any] | None:
    """Return a list that is written as JSON, or as Python or numpy print it; None for no list."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    quoted = _QUOTED.findall(text)
    if not re.sub(r"[\s,\[\]]|None", "", _QUOTED.sub("", text)):
        return [one or other for one, other in quoted]
    try:
        found = ast.literal_eval(text.strip())
    except (ValueError, SyntaxError, RecursionError, MemoryError):
        found = None
    if isinstance(found, list):
        return found
    bare = [piece for piece in re.split(r"[\s,]+", text.strip()[1:].removesuffix("]")) if piece]
    return bare if text.rstrip().endswith("]") and all(map(_BEGINS.match, bare)) else None


def _pair(row: Row, item: Any, faults: list[Fault]) -> Source:
    """Return one entry of a list of citations; it may say its title and its place."""
    if isinstance(item, str):
        return Source(item.strip())
    if isinstance(item, dict):
        url, title = item.get("url", item.get("link")), item.get("title")
        if url is None or isinstance(url, str):
            start, end = whole(item.get("start")), whole(item.get("end"))
            title = title if isinstance(title, str) and title else None
            return Source((url or "").strip(), title, None, start, end)
    faults.append(Fault(row.number, "urls", f"expected an address, found {str(item)[:60]!r}"))
    return Source("")


def url_fault(url: str) -> str | None:
    """Return what is wrong with a web address and what to do about it, or None."""
    shown = repr(url if len(url) <= 100 else url[:97] + "...")
    if _LISTED.search(url):
        return f"several addresses in one: {shown}; separate them with ' | '"
    if re.search(r"\s", url):
        return f"white space in {shown}; write it as %20, or separate addresses with ' | '"
    if not re.match(r"https?://", url, re.IGNORECASE):
        return f"{shown} is no web address; it must begin with http:// or https://"
    try:
        parts = urlsplit(url)
        host, _ = parts.hostname, parts.port
    except ValueError as error:
        return f"{shown} is no web address ({error}); correct it or leave it out"
    if not host:
        return f"{shown} names no host; correct it or leave it out"
    return None


def _items(row: Row) -> list[Any]:
    """Return the entries of a row's list of citations, where it has one."""
    value = row.values.get("urls") or row.values.get("found")
    return value if isinstance(value, list) else []


def says_places(group: Sequence[Row]) -> bool:
    """Whether the lists of an answer's rows say where, or in which order, it cites each source."""
    entries = (item for row in group for item in _items(row))
    return any(isinstance(item, dict) and ("rank" in item or "start" in item) for item in entries)


def whole_number(row: Row, column: str, faults: list[Fault], *, default: int | None) -> int | None:
    """Return a field as a whole number from 1."""
    given = row.text(column)
    if not given:
        return default
    if given.isascii() and given.isdigit() and len(given) < 10 and int(given) >= 1:
        return int(given)
    message = f"must be a whole number from 1, found {given!r}"
    faults.append(Fault(row.number, column, message))
    return None
