"""A plain file of answers and cited addresses: one row an answer, or one row a citation."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, Literal
from urllib.parse import urlsplit

from sourcebench.engines.mentions import Source, cited
from sourcebench.intext import cited_in_text, glued_markers
from sourcebench.records import ANSWER_OUTCOMES
from sourcebench.replies import Answer, Citation, Reply
from sourcebench.rowfile import Fault, Row, read_rows

COLUMNS = {
    "query_id": ("query_id", "id", "qid"),
    "system": ("system", "engine", "ai_model_name"),
    "question": ("question", "query", "text", "query_text", "prompt"),
    "answer": ("answer", "answer_text", "response", "response_text", "result", "article"),
    "urls": ("urls", "url", "cited_urls", "citations", "sources"),
    "found": ("search_results", "results"),
    "rank": ("rank", "position"),
    "title": ("title", "titles"),
    "run": ("run",),
    "outcome": ("outcome",),
    "reason": ("reason",),
    "model": ("model",),
    "asked_at": ("asked_at",),
    "category": ("category", "query_type"),
    "dataset": ("dataset",),
    "gold_answer": ("gold_answer", "expected_answer"),
}
_SEPARATOR = re.compile(r"\s+\|\s+|\s*\|\s*(?=https?://)|[\r\n]+")
_LISTED = re.compile(r"[,;]\s*https?://")


@dataclass
class AnswerFile:
    """The answers of a file, with the first row of each; faults, notes, and unused columns."""

    answers: list[Answer] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    unused: tuple[str, ...] = ()


@dataclass(frozen=True)
class Rules:
    """How a file is read.

    Attributes
    ----------
    broken
        Whether what is no web address, and a second answer to the same query, is a fault, or is
        kept: an address as a citation that can't be fetched, an answer as the next run.
    glued
        Whether digits at the end of a word are citation markers (`complained14.` for [1][4]), as
        in text copied from some answer pages.
    """

    broken: Literal["refuse", "keep"] = "refuse"
    glued: Literal["no", "markers"] = "no"


def read_answers(
    path: str | Path, *, system: str | None = None, rules: Rules | None = None
) -> AnswerFile:
    """Read a file of answers.

    Parameters
    ----------
    path
        CSV, JSON lines or a JSON list, as `sourcebench.rowfile.read_rows` takes them; `COLUMNS`
        lists the columns and their other names. Addresses in `urls` are what the answer cites,
        separated by ` | ` or line ends, or in several rows of the same query, system and run; each
        is tied to the places where the answer names it, by its address or as `[n]`. Addresses in
        `search_results` are what was found: the ones that the answer names are its citations, or
        all of them if it names none. Without either, citations are read from the answer's text.
    system
        Name of the system, where the file has no such column.
    rules
        How strictly to read.

    Returns
    -------
    AnswerFile
        Answers in file order, and all faults; an answer with a fault is left out.

    Raises
    ------
    StudyError
        If the file can't be read at all.
    """
    path, rules = Path(path), rules or Rules()
    found = AnswerFile()
    file = read_rows(path, COLUMNS, found.faults)
    found.unused = file.unused
    names = set(file.names)
    if system is None and "system" not in names:
        found.faults.append(
            Fault(1, "system", "missing; add a column system (or engine), or name the system")
        )
    if not {"query_id", "question"} & names:
        found.faults.append(Fault(1, "query_id", "missing; add a column id, or question"))
    if not {"answer", "urls", "found"} & names:
        found.faults.append(Fault(1, "answer", "missing; add a column answer, or urls, or both"))
    if not any(fault.row == 1 and fault.column for fault in found.faults):
        _collect(file.rows, system, rules, found)
    return found


def _collect(rows: Sequence[Row], system: str | None, rules: Rules, found: AnswerFile) -> None:
    """Join the rows of each answer and read it."""
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        name = row.text("system") or (system or "")
        query = row.text("query_id") or row.text("question")
        run = _whole(row, "run", found.faults, default=1)
        if not name:
            found.faults.append(Fault(row.number, "system", "empty; name the system"))
        if not query:
            column = "query_id" if "query_id" in row.values else "question"
            found.faults.append(Fault(row.number, column, "empty; say which query this answers"))
        if name and query and run:
            while rules.broken == "keep" and row.text("answer") and (name, query, run) in groups:
                run += 1
            groups.setdefault((name, query, run), []).append(row)
    for (name, _, run), group in groups.items():
        before = len(found.faults)
        answer = _answer(name, run, group, rules, found)
        if len(found.faults) == before:
            found.answers.append(answer)
            found.rows.append(group[0].number)


def _answer(system: str, run: int, group: Sequence[Row], rules: Rules, found: AnswerFile) -> Answer:
    """Read one answer from its rows."""
    first = group[0]
    text = _same(group, "answer", found.faults)
    citations, uncited, aside = _citations(group, text, rules, found)
    reason = "; ".join(filter(None, (first.text("reason"), *aside)))
    reply = Reply(
        text=text,
        outcome=_outcome(first, text, citations, found.faults),
        citations=citations,
        uncited=uncited,
        model=first.text("model"),
        reason=reason,
    )
    return Answer(
        system=system,
        query_id=first.text("query_id"),
        run=run,
        reply=reply,
        question=_same(group, "question", found.faults),
        category=first.text("category"),
        dataset=first.text("dataset"),
        gold_answer=first.text("gold_answer"),
        asked_at=first.text("asked_at"),
    )


def _same(group: Sequence[Row], column: str, faults: list[Fault]) -> str:
    """Return the one value that the rows of an answer have in a column, blanks left aside."""
    value, where = "", 0
    for row in group:
        given = row.text(column)
        if given and value and given != value:
            message = f"differs from row {where}, which is the same system, query and run; number repetitions in a column run"
            faults.append(Fault(row.number, column, message))
        elif given and not value:
            value, where = given, row.number
    return value


def _outcome(row: Row, text: str, cites: Sequence[Citation], faults: list[Fault]) -> str:
    """Return the outcome that the file gives, or the one that the answer shows."""
    given = row.text("outcome")
    if given and given not in ANSWER_OUTCOMES:
        message = f"must be one of {', '.join(ANSWER_OUTCOMES)}, found {given!r}"
        faults.append(Fault(row.number, "outcome", message))
    if given:
        return given
    if cites:
        return "ok"
    return "no_citations" if text else "empty"


def _whole(row: Row, column: str, faults: list[Fault], *, default: int | None) -> int | None:
    """Return a field as a whole number from 1."""
    given = row.text(column)
    if not given:
        return default
    if given.isascii() and given.isdigit() and len(given) < 10 and int(given) >= 1:
        return int(given)
    message = f"must be a whole number from 1, found {given!r}"
    faults.append(Fault(row.number, column, message))
    return None


# --- citations -----------------------------------------------------------------------------------


def _citations(
    group: Sequence[Row], text: str, rules: Rules, found: AnswerFile
) -> tuple[tuple[Citation, ...], tuple[Citation, ...], list[str]]:
    """Return what an answer cites, what it found besides, and what has to be said about both."""
    listed, nameless, ranked = _listed(group, rules, found.faults)
    only_found = not any(row.text("urls") for row in group)
    mentions, aside = _mentions(text, listed, only_found, rules)
    if rules.glued == "no" and (hits := glued_markers(text, len(listed))):
        glued = ", ".join(text[hit.start : hit.end] for hit in hits)
        found.notes.append(f"row {group[0].number}: digits after words may be markers: {glued}")
    aside += [_counted(nameless, "citation without an address", "citations without an address")]
    if not (mentions and only_found):
        mentions += listed
    if not ranked:
        return *cited(_first_places(mentions), listed), aside
    places = {source.url: n for n, source in enumerate(listed)}
    citations, uncited = cited(_first_places(mentions), listed)
    order = sorted({c.url for c in citations}, key=lambda url: places.get(url, len(places)))
    return tuple(replace(c, rank=order.index(c.url) + 1) for c in citations), uncited, aside


def _first_places(mentions: Sequence[Source]) -> list[Source]:
    """Return mentions without those that have no place though the same address has one."""
    placed = {source.url for source in mentions if source.start is not None}
    return [s for s in mentions if s.start is not None or s.url not in placed]


def _mentions(
    text: str, listed: Sequence[Source], only_found: bool, rules: Rules
) -> tuple[list[Source], list[str]]:
    """Return the places where an answer names its sources, and what could not be placed."""
    pairs = [(source.url, str(source.title or "")) for source in listed]
    written = cited_in_text(text, pairs)
    mentions = [
        Source(m.url, m.label if text[m.end - 1] == "]" else None, None, m.start, m.end)
        for m in written.mentions  # the label of a link is no title; an entry of a list has one
    ]
    if rules.glued == "markers":
        for hit in glued_markers(text, len(listed)):
            chosen = (listed[number - 1] for number in hit.numbers)
            mentions += [Source(s.url, s.title, None, hit.start, hit.end) for s in chosen]
    aside = [f"marker without an entry: {', '.join(written.dangling)}"] if written.dangling else []
    known = {source.url for source in listed}
    if known and not only_found:
        mentions = [mention for mention in mentions if mention.url in known]
    elif not known:
        mentions += [Source(entry.url, entry.title or None) for entry in written.listed]
    return mentions, aside


def _counted(count: int, one: str, several: str) -> str:
    """Say how many there are, or nothing."""
    return "" if not count else f"1 {one}" if count == 1 else f"{count} {several}"


def _listed(
    group: Sequence[Row], rules: Rules, faults: list[Fault]
) -> tuple[list[Source], int, bool]:
    """Return the sources that the rows list, in rank order; how many have no address; if ranked."""
    ranked: list[tuple[int, Source]] = []
    seen: dict[Any, int] = {}
    nameless, any_rank = 0, False
    for row in group:
        pairs = _addresses(row, rules, faults)
        nameless += sum(not url for url, _ in pairs)
        rank = _whole(row, "rank", faults, default=None)
        any_rank |= rank is not None
        if rank and len(pairs) > 1:
            message = "one rank for several addresses; list them in order, or give each its own row"
            faults.append(Fault(row.number, "rank", message))
        _note_repeat(row, pairs, rank, seen, faults)
        for url, title in pairs:
            if url:
                ranked.append((rank or len(ranked) + 1, Source(url, title)))
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
    return [Source(s.url, str(s.title).split(". ", 1)[1]) for s in sources]


def _note_repeat(row: Row, pairs, rank, seen: dict[Any, int], faults: list[Fault]) -> None:
    """Note a row that says what an earlier one says, or takes its rank."""
    keys = [url for url, _ in pairs] if rank is None else [rank]
    for key in keys or [None]:
        if key in seen and seen[key] != row.number:
            what = f"rank {key} again" if rank else "the same citation again" if key else "again"
            message = f"repeats row {seen[key]} ({what}); remove one of the two, or number repetitions in a column run"
            faults.append(Fault(row.number, "rank" if rank else "", message))
        seen.setdefault(key, row.number)


def _addresses(row: Row, rules: Rules, faults: list[Fault]) -> list[tuple[str, str | None]]:
    """Return the addresses of a row with their titles; an empty one is a citation without address."""
    value = row.values.get("urls") or row.values.get("found")
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError):
            faults.append(Fault(row.number, "urls", "starts like a JSON list, but is none"))
            return []
    if value is None or isinstance(value, str):
        parts = [part.strip() for part in _SEPARATOR.split(value or "")]
        pairs = [(part, row.text("title") or None) for part in parts if part]
    elif isinstance(value, list):
        pairs = [_pair(row, item, faults) for item in value]
    else:
        message = f"expected a text or a list, found {type(value).__name__}"
        faults.append(Fault(row.number, "urls", message))
        return []
    for url, _ in pairs:
        if url and rules.broken == "refuse" and (fault := url_fault(url)):
            faults.append(Fault(row.number, "urls", fault))
    return pairs


def _pair(row: Row, item: Any, faults: list[Fault]) -> tuple[str, str | None]:
    """Return address and title of one entry of a list of citations."""
    if isinstance(item, str):
        return item.strip(), None
    if isinstance(item, dict):
        url, title = item.get("url", item.get("link")), item.get("title")
        if url is None or isinstance(url, str):
            return (url or "").strip(), title if isinstance(title, str) and title else None
    faults.append(Fault(row.number, "urls", f"expected an address, found {str(item)[:60]!r}"))
    return "", None


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
