"""What a judge sees of a page: for each metric group the parts of the packet that it needs."""

from __future__ import annotations

import json
import re
from collections import Counter
from dataclasses import dataclass
from datetime import date, timedelta
from urllib.parse import urlsplit

from sourcebench.judge.fence import folded, plain
from sourcebench.records import Dated, Group, Packet

_LINE = 300  # characters of a single field
_JSON_LD = 3_000
_LINKS = 25
# Links that lead to who stands behind a page, in the languages most met.
_ABOUT = re.compile(
    r"about|contact|imprint|impressum|kontakt|ueber-uns|über uns|team|staff|editor|masthead|author|"
    r"privacy|legal|mentions-legales|mentions légales|propos|quienes|quiénes|contacto|chi-siamo",
    re.I,
)


@dataclass(frozen=True)
class Excerpt:
    """The words about a page that go to the judge, and how much of the text was left out."""

    text: str
    flags: tuple[str, ...] = ()


def excerpt(group: Group, packet: Packet, as_of: date, budget: int) -> Excerpt:
    """Return what a judge sees of a page for one metric group.

    Parameters
    ----------
    group
        `content` gets the main text and where it links to; `credibility` the address, dates with
        their ages, authors, structured data, links to who is behind the site, and the opening;
        `usability` the counts, the lines outside the main text, and its opening.
    packet
        The page. All of it is untrusted.
    as_of
        The date that ages are counted to.
    budget
        Characters of page text, at most; the other groups get a share of it.
    """
    parts = {"content": _content, "credibility": _credibility, "usability": _usability}[group]
    lines, texts = parts(packet, as_of, budget)
    fields, found = plain("\n".join(line for line in lines if line))
    blocks, flags = [fields], [*found]
    for title, text, room in texts:
        shown, found = _text_block(title, text, room)
        blocks.append(shown)
        flags += found
    return Excerpt("\n\n".join(filter(None, blocks)), tuple(dict.fromkeys(flags)))


def _content(packet: Packet, as_of: date, budget: int):
    """Return the main text, with what tells how well it is backed."""
    lines = [*_head(packet), _field("Language", packet.language), _outgoing(packet)]
    return [*lines, *_dates(packet, as_of)], [("Main text", packet.text, budget)]


def _credibility(packet: Packet, as_of: date, budget: int):
    """Return the marks of who stands behind a page and how current it is."""
    lines = [
        *_head(packet),
        _field("Registered domain", packet.site),
        _field("Site name", packet.site_name),
        *_dates(packet, as_of),
        *_authors(packet),
        _json_ld(packet),
        *_about_links(packet),
    ]
    texts = [
        ("Lines outside the main text", packet.outside, budget // 4),
        ("Opening of the main text", packet.text, budget // 8),
    ]
    return lines, texts


def _usability(packet: Packet, as_of: date, budget: int):
    """Return the marks of advertising and of a layout in the way."""
    counts = ", ".join(f"{name.replace('_', ' ')} {n}" for name, n in sorted(packet.counts.items()))
    lines = [*_head(packet), _field("Kind of page", packet.kind), _field("Counts", counts)]
    texts = [
        ("Lines outside the main text", packet.outside, budget // 4),
        ("Opening of the main text", packet.text, budget // 8),
    ]
    return lines, texts


# --- lines ---------------------------------------------------------------------------------------


def _field(name: str, value: str) -> str:
    """Return one line with a value that can't break out of it."""
    value = " ".join(value.split())
    return f"{name}: {value[:_LINE]}" if value else ""


def _head(packet: Packet) -> list[str]:
    """Return address and title."""
    return [_field("Address", packet.url), _field("Title", packet.title)]


def _outgoing(packet: Packet) -> str:
    """Return the hosts that the main text links to, most linked first."""
    own = urlsplit(packet.url).hostname or ""
    hosts = Counter(
        host
        for link in packet.links
        if link.place == "main" and (host := _host(link.url)) and host != own
    )
    ordered = sorted(hosts.items(), key=lambda item: (-item[1], item[0]))[:_LINKS]
    listed = ", ".join(f"{host} ({n})" for host, n in ordered)
    return _field("Main text links to", listed or "no other site")


def _host(url: str) -> str:
    """Return the host of an address, or nothing."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _authors(packet: Packet) -> list[str]:
    """Return a line for each candidate for the author, with where it stands."""
    lines = [
        _field("Author", f"{a.name} ({a.kind}, from {a.source}){'; ' + a.about if a.about else ''}")
        for a in packet.authors[:10]
    ]
    return lines or ["Author: none found"]


def _about_links(packet: Packet) -> list[str]:
    """Return links that lead to who is behind the site."""
    found = [
        link for link in packet.links if _ABOUT.search(link.text) or _ABOUT.search(link.url[-80:])
    ]
    lines = [_field("Link", f"{link.text} -> {link.url}") for link in found[:_LINKS]]
    return list(dict.fromkeys(lines))


def _json_ld(packet: Packet) -> str:
    """Return the structured data as compact JSON."""
    if not packet.json_ld:
        return ""
    text = json.dumps(packet.json_ld, ensure_ascii=False, separators=(",", ":"), default=str)
    return f"Structured data: {text[:_JSON_LD]}" + (" [cut]" if len(text) > _JSON_LD else "")


# --- dates ---------------------------------------------------------------------------------------


def _dates(packet: Packet, as_of: date) -> list[str]:
    """Return the dates of a page with their ages, which the judge is not asked to work out."""
    lines = [
        _date_line("Published", packet.published, as_of),
        _date_line("Last changed", packet.modified, as_of),
    ]
    return [line for line in lines if line] or ["Dates: none found"]


def _date_line(name: str, dated: Dated | None, as_of: date) -> str:
    """Return a date with where it stands and how old it makes the page."""
    if dated is None:
        return ""
    weak = ", weak evidence" if dated.strength == "weak" else ""
    return _field(name, f"{dated.date} (from {dated.source}{weak}); {age(dated.date, as_of)}")


def age(text: str, as_of: date) -> str:
    """Say how old a date of a year, a month or a day is.

    >>> age("2026-05-28", date(2026, 6, 2))
    '5 days before the as-of date, within the last year'
    """
    span = _span(text)
    if span is None:
        return "age unknown"
    youngest, oldest = (as_of - span[1]).days, (as_of - span[0]).days
    if oldest < 0:
        return "after the as-of date"
    youngest = max(youngest, 0)
    days = f"{oldest} days" if youngest == oldest else f"{youngest} to {oldest} days"
    return f"{days} before the as-of date, {_years(youngest, oldest)}"


def _years(youngest: int, oldest: int) -> str:
    """Say between which whole years an age lies."""
    low, high = int(youngest / 365.25), int(oldest / 365.25)
    if high == 0:
        return "within the last year"
    if low == high:
        return f"{low} to {low + 1} years old"
    return f"{low} to {high + 1} years old"


def _span(text: str) -> tuple[date, date] | None:
    """Return first and last day that a date text can mean."""
    match = re.match(r"(\d{4})(?:-(\d{2})(?:-(\d{2}))?)?", text)
    if not match:
        return None
    year, month, day = (int(part) if part else 0 for part in match.groups())
    try:
        first = date(year, month or 1, day or 1)
        if day:
            return first, first
        after = date(year + 1, 1, 1) if not month or month == 12 else date(year, month + 1, 1)
    except ValueError:
        return None
    return first, after - timedelta(days=1)


# --- text ----------------------------------------------------------------------------------------


def _text_block(title: str, text: str, room: int) -> tuple[str, list[str]]:
    """Return a titled block of text, cut at a sentence if it is too long, and flags for that."""
    safe, found = plain(text)
    text, repeated = folded(safe.strip())
    flags = [*found, *repeated]
    if not text:
        return f"{title}: none", flags
    shown = cut_at_sentence(text, room)
    if len(shown) == len(text):
        return f"{title} ({len(text)} characters, complete):\n{text}", flags
    note = f"{title} (the first {len(shown)} of {len(text)} characters; the rest is left out here)"
    return f"{note}:\n{shown}", [*flags, "text_cut"]


_SENTENCE_END = re.compile(r"[.!?…]['\")\]»”’]*(?=\s)|[。！？]|\n")


def cut_at_sentence(text: str, room: int) -> str:
    """Return the start of a text in at most `room` characters, ending with a sentence.

    Without a sentence end in the last half of the room it ends with a word, without one of those
    at the room's end.
    """
    if len(text) <= room:
        return text
    start = text[: room + 1]
    ends = [match.end() for match in _SENTENCE_END.finditer(start) if match.end() <= room]
    if ends and ends[-1] >= room // 2:
        return start[: ends[-1]].rstrip()
    blank = start.rfind(" ", room // 2)
    return start[: blank if blank > 0 else room].rstrip()
