"""A plain file of answers and cited addresses, CSV or JSON lines, read with every fault named."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from sourcebench.records import ANSWER_OUTCOMES
from sourcebench.replies import Answer, Citation, Reply, ranked
from sourcebench.study import StudyError, read_text

# The names a column may have, the first one being ours.
COLUMNS = {
    "query_id": ("query_id", "id", "qid"),
    "system": ("system", "engine", "ai_model_name"),
    "question": ("question", "query", "text", "query_text", "prompt"),
    "answer": ("answer", "answer_text", "response", "response_text", "result", "article"),
    "urls": ("urls", "url", "cited_urls", "citations", "sources", "search_results"),
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


@dataclass(frozen=True)
class Fault:
    """What is wrong with one row of a file, and what to do about it; row 1 is the header."""

    row: int
    column: str
    message: str

    def __str__(self) -> str:
        where = f"row {self.row}" + (f", column {self.column}" if self.column else "")
        return f"{where}: {self.message}"


@dataclass
class AnswerFile:
    """The answers of a file, the faults found on the way, and columns that were not used."""

    answers: list[Answer] = field(default_factory=list)
    rows: list[int] = field(default_factory=list)  # first row of each answer
    faults: list[Fault] = field(default_factory=list)
    unused: tuple[str, ...] = ()


@dataclass
class _Row:
    """One row of the file under our column names."""

    number: int
    values: Mapping[str, Any]

    def text(self, column: str) -> str:
        """Return a field as text, without space around it."""
        value = self.values.get(column)
        return "" if value is None else str(value).strip()


def read_answers(path: str | Path, *, system: str | None = None) -> AnswerFile:
    """Read a file of answers: one row an answer, or one row a cited address.

    Parameters
    ----------
    path
        CSV (comma, semicolon or tab; any line ends; with or without byte-order mark), JSON lines,
        or a JSON list of objects. `COLUMNS` lists the columns and their other names. Addresses are
        separated by ` | ` or line ends, or stand in several rows of the same query, system and run.
    system
        Name of the system, where the file has no such column.

    Returns
    -------
    AnswerFile
        Answers in file order, and all faults; an answer with a fault is left out.

    Raises
    ------
    StudyError
        If the file can't be read at all.
    """
    path = Path(path)
    found = AnswerFile()
    rows, header = _read_rows(path, found.faults)
    names, found.unused = _column_names(header, found.faults)
    if system is None and "system" not in names:
        found.faults.append(
            Fault(1, "system", "missing; add a column system (or engine), or name the system")
        )
    if not {"query_id", "question"} & set(names):
        found.faults.append(Fault(1, "query_id", "missing; add a column id, or question"))
    if not {"answer", "urls"} & set(names):
        found.faults.append(Fault(1, "answer", "missing; add a column answer, or urls, or both"))
    if not any(fault.row == 1 for fault in found.faults):
        _collect(path, [_renamed(row, names) for row in rows], system, found)
    return found


# --- rows ----------------------------------------------------------------------------------------


def _read_rows(path: Path, faults: list[Fault]) -> tuple[list[_Row], list[str]]:
    """Return the rows as they stand in the file, and every column name in use."""
    if path.suffix in (".xlsx", ".xls", ".ods"):
        raise StudyError(f"{path}: a spreadsheet; save the sheet as CSV (UTF-8)")
    if path.is_dir():
        raise StudyError(f"{path}: a folder; expected a CSV or JSON lines file")
    text = read_text(path)
    if not text.strip():
        raise StudyError(f"{path}: the file is empty; the first line must name the columns")
    objects = path.suffix in (".jsonl", ".ndjson", ".json") or text.lstrip()[0] in "{["
    return _json_rows(path, text, faults) if objects else _csv_rows(path, text, faults)


def _csv_rows(path: Path, text: str, faults: list[Fault]) -> tuple[list[_Row], list[str]]:
    """Read CSV; a row with too few or too many fields is a fault."""
    reader = csv.reader(io.StringIO(text, newline=""), delimiter=_delimiter(text), strict=True)
    try:
        lines = list(reader)
    except csv.Error as error:
        raise StudyError(
            f"{path}: not readable as CSV at line {reader.line_num}: {error}; "
            'a field with a comma, a line end or a quote must stand in quotes ("...")'
        ) from None
    header, rows = [name.strip() for name in lines[0]], []
    for number, line in enumerate(lines[1:], start=2):
        if not any(value.strip() for value in line):
            continue
        if len(line) != len(header):
            message = f"{len(line)} fields, the first line has {len(header)}; quote fields that hold a comma"
            faults.append(Fault(number, "", message))
            continue
        rows.append(_Row(number, dict(zip(header, line, strict=True))))
    return rows, header


def _delimiter(text: str) -> str:
    """Return what separates the column names of the first line: comma, semicolon or tab."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return max(",;\t", key=lambda mark: (first.count(mark), mark == ","))


def _json_rows(path: Path, text: str, faults: list[Fault]) -> tuple[list[_Row], list[str]]:
    """Read JSON lines, or one JSON list of objects."""
    if text.lstrip().startswith("["):
        try:
            values = list(enumerate(json.loads(text), start=1))
        except (json.JSONDecodeError, RecursionError) as error:
            raise StudyError(f"{path}: not readable as JSON: {error}") from None
    else:
        lines = enumerate(text.split("\n"), start=1)
        values = [(number, line) for number, line in lines if line.strip()]
    rows, header = [], {}
    for number, value in values:
        row = _json_object(number, value, faults)
        if row is not None:
            rows.append(_Row(number, row))
            header |= dict.fromkeys(row)
    return rows, list(header)


def _json_object(number: int, value: Any, faults: list[Fault]) -> dict[str, Any] | None:
    """Return the object of one line, or note why it is none."""
    if isinstance(value, str):
        try:
            value = json.loads(value)
        except (json.JSONDecodeError, RecursionError) as error:
            faults.append(Fault(number, "", f"not JSON: {error}"))
            return None
    if not isinstance(value, dict):
        faults.append(Fault(number, "", f"expected an object, found {type(value).__name__}"))
        return None
    return value


def _column_names(
    header: Sequence[str], faults: list[Fault]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Map our column names to those of the file; name the ones that are not used."""
    ours = {alias: name for name, aliases in COLUMNS.items() for alias in aliases}
    names: dict[str, str] = {}
    unused = []
    for given in header:
        name = ours.get(re.sub(r"[\s-]+", "_", given.strip().casefold()))
        if name is None:
            unused.append(given)
        elif name in names:
            message = f"stands for the same as {names[name]}; keep one of the two"
            faults.append(Fault(1, given, message))
        else:
            names[name] = given
    return names, tuple(unused)


def _renamed(row: _Row, names: Mapping[str, str]) -> _Row:
    """Give a row our column names."""
    return _Row(row.number, {ours: row.values.get(given) for ours, given in names.items()})


# --- answers -------------------------------------------------------------------------------------


def _collect(path: Path, rows: Sequence[_Row], system: str | None, found: AnswerFile) -> None:
    """Join the rows of each answer and read it."""
    groups: dict[tuple[str, str, int], list[_Row]] = {}
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
            groups.setdefault((name, query, run), []).append(row)
    for (name, _, run), group in groups.items():
        before = len(found.faults)
        answer = _answer(name, run, group, found.faults)
        if len(found.faults) == before:
            found.answers.append(answer)
            found.rows.append(group[0].number)


def _answer(system: str, run: int, group: Sequence[_Row], faults: list[Fault]) -> Answer:
    """Read one answer from its rows."""
    first = group[0]
    text = _same(group, "answer", faults)
    cited, nameless = _citations(group, faults)
    outcome = _outcome(first, text, cited, faults)
    reason = first.text("reason")
    if nameless and not reason:
        reason = f"{nameless} citations without an address"
    return Answer(
        system=system,
        query_id=first.text("query_id"),
        run=run,
        reply=Reply(text=text, outcome=outcome, citations=cited, model=first.text("model"), reason=reason),
        question=_same(group, "question", faults),
        category=first.text("category"),
        dataset=first.text("dataset"),
        gold_answer=first.text("gold_answer"),
        asked_at=first.text("asked_at"),
    )  # fmt: skip


def _same(group: Sequence[_Row], column: str, faults: list[Fault]) -> str:
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


def _outcome(row: _Row, text: str, cited: Sequence[Citation], faults: list[Fault]) -> str:
    """Return what became of the request: as the file says, or as the answer shows."""
    given = row.text("outcome")
    if given and given not in ANSWER_OUTCOMES:
        message = f"must be one of {', '.join(ANSWER_OUTCOMES)}, found {given!r}"
        faults.append(Fault(row.number, "outcome", message))
    if given:
        return given
    if cited:
        return "ok"
    return "no_citations" if text else "empty"


def _whole(row: _Row, column: str, faults: list[Fault], *, default: int | None) -> int | None:
    """Return a field as a whole number from 1."""
    given = row.text(column)
    if not given:
        return default
    if given.isascii() and given.isdigit() and int(given) >= 1:
        return int(given)
    message = f"must be a whole number from 1, found {given!r}"
    faults.append(Fault(row.number, column, message))
    return None


# --- citations -----------------------------------------------------------------------------------


def _citations(group: Sequence[_Row], faults: list[Fault]) -> tuple[tuple[Citation, ...], int]:
    """Return the citations of an answer in rank order, and how many have no address."""
    cited: list[tuple[int, Citation]] = []
    seen: dict[Any, int] = {}
    nameless = 0
    for row in group:
        addresses = _addresses(row, faults)
        nameless += sum(not url for url, _ in addresses)
        rank = _whole(row, "rank", faults, default=None)
        if rank and len(addresses) > 1:
            message = "one rank for several addresses; list them in order, or give each its own row"
            faults.append(Fault(row.number, "rank", message))
        _note_repeat(row, addresses, rank, seen, faults)
        for url, title in addresses:
            if url:
                cited.append((rank or len(cited) + 1, Citation(0, url, title)))
    cited.sort(key=lambda pair: pair[0])
    return ranked([citation for _, citation in cited], key=str), nameless


def _note_repeat(row: _Row, addresses, rank, seen: dict[Any, int], faults: list[Fault]) -> None:
    """Note a row that says what an earlier one says, or takes its rank."""
    keys = [url for url, _ in addresses] if rank is None else [rank]
    for key in keys or [None]:
        if key in seen and seen[key] != row.number:
            what = f"rank {key} again" if rank else "the same citation again" if key else "again"
            message = f"repeats row {seen[key]} ({what}); remove one of the two, or number repetitions in a column run"
            faults.append(Fault(row.number, "rank" if rank else "", message))
        seen.setdefault(key, row.number)


def _addresses(row: _Row, faults: list[Fault]) -> list[tuple[str, str | None]]:
    """Return the addresses of a row with their titles; an empty one is a citation without address."""
    value = row.values.get("urls")
    if isinstance(value, str) and value.lstrip().startswith("["):
        try:
            value = json.loads(value)
        except json.JSONDecodeError:
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
        if url and (fault := url_fault(url)):
            faults.append(Fault(row.number, "urls", fault))
    return pairs


def _pair(row: _Row, item: Any, faults: list[Fault]) -> tuple[str, str | None]:
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
