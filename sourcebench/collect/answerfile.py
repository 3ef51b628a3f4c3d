"""A plain file of answers and cited addresses: one row an answer, or one row a citation."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Literal

from sourcebench.collect.listing import (
    REPEATED,
    addresses,
    listed_sources,
    says_places,
    whole_number,
)
from sourcebench.collect.replies import Answer, Citation, Reply
from sourcebench.collect.rowfile import Fault, Row, near_columns, read_rows
from sourcebench.engines.addresses import cited_url, source_key
from sourcebench.engines.mentions import Source, cited, obj, written
from sourcebench.intext import cited_in_text, glued_markers
from sourcebench.records import ANSWER_OUTCOMES

COLUMNS = {
    "query_id": ("query_id", "id", "qid"),
    "system": ("system", "engine", "ai_model_name"),
    "question": ("question", "query", "text", "query_text", "prompt"),
    "answer": ("answer", "answer_text", "response", "response_text", "result", "article"),
    "urls": ("urls", "url", "cited_urls", "citations", "sources"),
    "found": ("search_results", "results"),
    "raw": ("raw", "raw_response", "raw_reply"),
    "rank": ("rank", "position"),
    "title": ("title", "titles"),
    "run": ("run",),
    "outcome": ("outcome",),
    "reason": ("reason",),
    "model": ("model",),
    "usage": ("usage",),
    "asked_at": ("asked_at",),
    "category": ("category", "query_type"),
    "dataset": ("dataset",),
    "gold_answer": ("gold_answer", "expected_answer"),
}


# How an error message begins that stands where an answer should; it counts when it stands there twice.
_ERROR = re.compile(
    r"(?=.{1,300}\Z)(?:\W*error\b|(?:the )?request (?:failed|timed out)|(?:internal )?server error|"
    r"too many requests|rate limit|exception\b|traceback\b|time(?:d )?out\b|no response\b)",
    re.IGNORECASE,
)
_DANGLING = "marker without an entry"
_REFUSAL = re.compile(r"copyright|recit|safety|blocked|refus|policy", re.IGNORECASE)


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
    engine
        The engine that raw replies come from, where their shape does not tell.
    """

    broken: Literal["refuse", "keep"] = "refuse"
    glued: Literal["no", "markers"] = "no"
    engine: str | None = None


@dataclass
class AnswerFile:
    """The answers of a file, with the first row of each; faults, notes, and unused columns.

    `glued` holds, by row, digits after words that may be markers of citations; `files`, in a folder,
    the file of each answer.
    """

    answers: list[Answer] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)
    faults: list[Fault] = field(default_factory=list)
    notes: list[str] = field(default_factory=list)
    glued: dict[int, str] = field(default_factory=dict)
    unused: tuple[str, ...] = ()
    files: list[str] = field(default_factory=list)

    def where(self, place: int) -> str:
        """Return the file, in a folder, and the row of an answer, given by its place in `answers`."""
        row = f"row {self.rows[place]}" if self.rows[place] else ""
        return ", ".join(filter(None, (*self.files[place : place + 1], row)))

    def fault(self, place: int, column: str, message: str) -> None:
        """Note what is wrong with an answer, given by its place in `answers`."""
        file = self.files[place] if self.files else ""
        self.faults.append(Fault(self.rows[place], column, message, file))


def read_answers(
    path: str | Path, *, system: str | None = None, rules: Rules | None = None
) -> AnswerFile:
    """Read a file of answers.

    Parameters
    ----------
    path
        CSV, JSON lines or a JSON list, as `sourcebench.collect.rowfile.read_rows` takes them; `COLUMNS`
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
    found = AnswerFile()
    file = read_rows(Path(path), COLUMNS, found.faults)
    found.unused = file.unused
    note_columns(set(file.names), system, found)
    if not any(fault.row == 1 and fault.column for fault in found.faults):
        collect_rows(file.rows, found, system=system, rules=rules)
        _note_no_addresses(set(file.names), found)
    return found


def _note_no_addresses(names: set[str], found: AnswerFile) -> None:
    """Note that nothing is cited though a column is left over: its name may be misspelt."""
    cites = any(answer.reply.citations for answer in found.answers)
    if found.answers and found.unused and not cites and not {"urls", "found", "raw"} & names:
        message = (
            "missing, and no answer names an address in its text; name the column of the cited "
            f"addresses urls, or say --field urls=... (columns not used: {', '.join(found.unused)})"
        )
        found.faults.append(Fault(1, "urls", message))


def misspelt(given: str, ours: str, file: str = "") -> Fault:
    """Return the fault of an unused column that may be one of ours."""
    message = (
        f"not used, and there is no column {ours} (if {given!r} is it: --field {ours}={given}; "
        "if not, rename or remove it)"
    )
    return Fault(1, given, message, file)


def note_columns(names: set[str], system: str | None, found: AnswerFile) -> None:
    """Note columns that are missing, and unused ones whose name is nearly that of one we know."""
    there = names | {"system"} if system is not None else names
    near = near_columns(found.unused, there, COLUMNS)
    needed = (
        (("system",), "add a column system (or engine), or name it with --system"),
        (
            ("query_id", "question"),
            "add a column id, or question, or say where it is: --field question=...",
        ),
        (
            ("answer", "urls", "found", "raw"),
            "add a column answer, or urls, or both, or say where they are: --field answer=...",
        ),
    )
    said = set()
    for columns, advice in needed:
        if not there.intersection(columns):
            meant = [(given, ours) for given, ours in near if ours in columns]
            said.update(given for given, _ in meant)
            alike = f" ({'; '.join(f'if {g!r} is it: --field {o}={g}' for g, o in meant)})"
            message = f"missing; {advice}{alike if meant else ''}"
            found.faults.append(Fault(1, columns[0], message))
    found.faults += [misspelt(given, ours) for given, ours in near if given not in said]


def collect_rows(
    rows: Sequence[Row], found: AnswerFile, *, system: str | None = None, rules: Rules | None = None
) -> None:
    """Join the rows of each answer and read it.

    Parameters
    ----------
    rows
        Rows under the names of `COLUMNS`.
    found
        Takes answers, faults and notes.
    system, rules
        As for `read_answers`.
    """
    rules = rules or Rules()
    groups: dict[tuple[str, str, int], list[Row]] = {}
    for row in rows:
        name = row.text("system") or (system or "")
        query = row.text("query_id") or row.text("question")
        run = whole_number(row, "run", found.faults, default=1)
        if not name:
            found.faults.append(
                Fault(row.number, "system", "empty; name the system (for the whole file: --system)")
            )
        for column, value in (("system", name), ("query_id", row.text("query_id"))):
            if not value.isprintable():
                message = f"{value[:40]!r} holds a line end or a control character; remove it"
                found.faults.append(Fault(row.number, column, message))
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
        found.faults[before:] = _one_a_repeat(found.faults[before:])
        if len(found.faults) == before:
            found.answers.append(answer)
            found.rows.append(group[0].number)
    _take_errors_for_errors(found)
    _note_glued(found)


def _one_a_repeat(faults: Sequence[Fault]) -> list[Fault]:
    """Return faults without further ones of a row that repeats another."""
    kept: list[Fault] = []
    repeats: set[int] = set()
    for fault in faults:
        again = REPEATED in fault.message
        if not again or fault.row not in repeats:
            kept.append(fault)
        if again:
            repeats.add(fault.row)
    return kept


def _take_errors_for_errors(found: AnswerFile) -> None:
    """Tell the error that a recording holds in place of several answers from an answer."""
    texts = Counter(
        answer.reply.text
        for answer in found.answers
        if answer.reply.outcome == "no_citations" and _ERROR.match(answer.reply.text)
    )
    for place, answer in enumerate(found.answers):
        reply, text = answer.reply, answer.reply.text
        if reply.outcome == "no_citations" and texts[text] > 1:
            outcome = "refused" if _REFUSAL.search(text) else "failed"
            reason = "; ".join(filter(None, (text, reply.reason)))
            found.answers[place] = replace(
                answer, reply=replace(reply, text="", outcome=outcome, reason=reason)
            )
    for text, count in texts.items():
        if count > 1:
            found.notes.append(f"{count} answers are one error message, kept as its reason: {text}")


def _note_glued(found: AnswerFile) -> None:
    """Say where digits after words may be markers: what they are in the first rows, how many rows."""
    if found.glued:
        shown = [f"row {row}: {digits}" for row, digits in sorted(found.glued.items())[:3]]
        more = len(found.glued) - len(shown)
        said = "; ".join(shown) + (f"; and {more} more rows" if more else "")
        found.notes.append(f"digits after words may be markers (--glued-markers): {said}")


def lost_notes(found: AnswerFile) -> list[str]:
    """Say which answers have no text though others have, and which name a source that is not there."""
    replies = [answer.reply for answer in found.answers]
    blank = [
        place
        for place, reply in enumerate(replies)
        if not reply.text and reply.outcome in ("ok", "no_citations", "empty")
    ]
    loose = [place for place, reply in enumerate(replies) if _DANGLING in (reply.reason or "")]
    notes = []
    for places, what in (
        (blank if any(reply.text for reply in replies) else [], "no text"),
        (loose, "a marker without an address"),
    ):
        if places:
            shown = "; ".join(found.where(place) for place in places[:5])
            more = f"; and {len(places) - 5} more" if len(places) > 5 else ""
            notes.append(f"{len(places)} of {len(replies)} answers have {what}: {shown}{more}")
    return notes


def _answer(system: str, run: int, group: Sequence[Row], rules: Rules, found: AnswerFile) -> Answer:
    """Read one answer from its rows."""
    first = group[0]
    reply = _raw_reply(first, rules, found.faults)
    if reply is None or reply.outcome == "empty":
        reply = _written_reply(group, rules, found)
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


def _raw_reply(row: Row, rules: Rules, faults: list[Fault]) -> Reply | None:
    """Return what the raw reply of a row says, where there is one that can be read."""
    from sourcebench.engines.detect import parse_any

    raw = row.values.get("raw")
    if not raw:
        return None
    try:
        return parse_any(raw, engine=rules.engine)
    except ValueError as error:
        if row.text("answer") or row.values.get("urls"):
            return None
        faults.append(Fault(row.number, "raw", str(error)))
        return None


def _written_reply(group: Sequence[Row], rules: Rules, found: AnswerFile) -> Reply:
    """Return the reply that the columns spell out."""
    first = group[0]
    text = _same(group, "answer", found.faults)
    citations, uncited, aside, nameless = _citations(group, text, rules, found)
    return Reply(
        text=text,
        outcome=_outcome(first, text, citations, found.faults),
        citations=citations,
        uncited=uncited,
        without_address=nameless,
        extra={"listed": [s.url for row in group for s in addresses(row, [])]},
        model=first.text("model"),
        usage=obj(first.values.get("usage")) or None,
        reason="; ".join(filter(None, (first.text("reason"), *aside))),
    )


def _same(group: Sequence[Row], column: str, faults: list[Fault]) -> str:
    """Return the one value that the rows of an answer have in a column, blanks left aside."""
    value, where = "", 0
    for row in group:
        given = row.text(column)
        if given and value and given != value:
            message = (
                f"differs from row {where}, which is the same system, query and run; {REPEATED}"
            )
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


# --- citations -----------------------------------------------------------------------------------


def _citations(
    group: Sequence[Row], text: str, rules: Rules, found: AnswerFile
) -> tuple[tuple[Citation, ...], tuple[Citation, ...], list[str], int]:
    """Return what an answer cites, what it found besides, what has to be said, and the nameless."""
    listed, nameless, ranked = listed_sources(group, found.faults, strict=rules.broken == "refuse")
    if says_places(group):
        return _as_given(listed), (), [], nameless
    only_found = not any(row.text("urls") for row in group)
    mentions, aside = _mentions(text, listed, only_found, rules)
    if rules.glued == "no" and (hits := glued_markers(text, len(listed))):
        glued = ", ".join(text[hit.start : hit.end] for hit in hits)
        found.glued[group[0].number] = glued
    aside += [_counted(nameless, "citation without an address", "citations without an address")]
    if not (mentions and only_found):
        mentions += listed
    if not ranked:
        return *cited(_first_places(mentions), listed), aside, nameless
    places = {_key(source): n for n, source in reversed(list(enumerate(listed)))}
    citations, uncited = cited(_first_places(mentions), listed)
    order = sorted({_key(c) for c in citations}, key=lambda key: places.get(key, len(places)))
    return (
        tuple(replace(c, rank=order.index(_key(c)) + 1) for c in citations),
        uncited,
        aside,
        nameless,
    )


def _as_given(listed: Sequence[Source]) -> tuple[Citation, ...]:
    """Return citations whose places the file gives, in its order."""
    ranks: dict[str, int] = {}
    made = []
    for source in listed:
        rank = ranks.setdefault(_key(source), len(ranks) + 1)
        title = source.title if isinstance(source.title, str) else None
        made.append(Citation(rank, source.url, title, None, source.start, source.end))
    return tuple(made)


def _first_places(mentions: Sequence[Source]) -> list[Source]:
    """Return mentions without those that have no place though the same address has one."""
    placed = {_key(source) for source in mentions if source.start is not None}
    return [s for s in mentions if s.start is not None or _key(s) not in placed]


def _key(source: Source | Citation) -> str:
    """Return what identifies a source within an answer."""
    return source_key(cited_url(source.url))


def _mentions(
    text: str, listed: Sequence[Source], only_found: bool, rules: Rules
) -> tuple[list[Source], list[str]]:
    """Return the places where an answer names its sources, and what could not be placed."""
    pairs = [(source.url, str(source.title or "")) for source in listed]
    says = cited_in_text(text, pairs)
    mentions = written(text, says.mentions)
    if rules.glued == "markers":
        for hit in glued_markers(text, len(listed)):
            chosen = (listed[number - 1] for number in hit.numbers)
            mentions += [Source(s.url, s.title, None, hit.start, hit.end) for s in chosen]
    aside = [f"{_DANGLING}: {', '.join(says.dangling)}"] if says.dangling else []
    known = {_key(source) for source in listed}
    if known and not only_found:
        mentions = [mention for mention in mentions if _key(mention) in known]
    elif not known:
        mentions += [Source(entry.url, entry.title or None) for entry in says.listed]
    return mentions, aside


def _counted(count: int, one: str, several: str) -> str:
    """Say how many there are, or nothing."""
    return "" if not count else f"1 {one}" if count == 1 else f"{count} {several}"
