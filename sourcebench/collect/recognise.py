"""Whatever file of answers comes along is told by its shape and read: plain, public, log or raw."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from sourcebench.collect.answerfile import (
    COLUMNS,
    AnswerFile,
    Rules,
    collect_rows,
    note_columns,
    read_answers,
)
from sourcebench.collect.filesets import is_fileset, read_fileset
from sourcebench.collect.logfiles import at, log_kind, log_rows, read_archive
from sourcebench.collect.publicfiles import is_public, public_judgments, public_rows
from sourcebench.collect.rawfiles import raw_files, raw_rows
from sourcebench.collect.rowfile import Fault, Row, read_records, read_rows
from sourcebench.collect.submission import submission_rows
from sourcebench.study import StudyError, read_text


@dataclass
class Recognised:
    """What a file holds: its answers, the verdicts that came with them, and what form it has."""

    form: str
    found: AnswerFile
    judgments: list[dict[str, Any]] = field(default_factory=list)


def read_any(
    path: str | Path,
    *,
    system: str | None = None,
    rules: Rules | None = None,
    fields: Mapping[str, str] | None = None,
    known: frozenset[str] = frozenset(),
) -> Recognised:
    """Read a file or folder of answers in any of the known forms.

    Parameters
    ----------
    path
        A plain file (`sourcebench.collect.answerfile`), a collection, enriched or submission file of the
        public SourceBench, a log of promptfoo, Inspect, LangSmith or Langfuse, a folder of plain
        files, one a system (`sourcebench.collect.filesets`), or a folder of raw replies, one file
        an answer.
    system
        Name of the system, where the file does not say it; for a folder, by default its name.
    rules
        How strictly to read.
    fields
        Where our columns are in each record of a log, such as `{"query_id": "metadata.case"}`.
    known
        Ids of the study's queries.

    Raises
    ------
    StudyError
        If the file can't be read at all.
    """
    path, rules = Path(path), rules or Rules()

    def taken(form: str, rows: Callable[[list[Fault]], list[Row]], name: str | None) -> Recognised:
        found = AnswerFile()
        collect_rows(rows(found.faults), found, system=name, rules=rules)
        return Recognised(form, found)

    if path.is_dir() and is_fileset(path):
        return Recognised("folder", read_fileset(path, system=system, rules=rules))
    if path.is_dir():
        result = taken("raw", lambda faults: raw_rows(path, faults, known), system or path.name)
        _name_files(result.found, path)
        return result
    value = read_archive(path) if path.suffix == ".eval" else _value(path)
    kind = log_kind(value)
    if isinstance(value, dict) and "submission_mode" in value:
        return taken("submission", lambda faults: submission_rows(value, faults), system)
    if kind:
        return taken(kind, lambda faults: log_rows(value, kind, faults, fields), system)
    if fields:
        return _placed(path, value, fields, system, rules)
    if is_public(value):
        result = taken("public", lambda faults: public_rows(value, faults), system)
        result.judgments, notes = public_judgments(value)
        result.found.notes += notes
        return result
    if isinstance(value, dict):
        raise StudyError(
            f"{path}: one object, and none of the known files; a single raw reply belongs in a "
            "folder, named <query_id>.json; for a log of another tool, say where its fields are"
        )
    return Recognised("plain", read_answers(path, system=system, rules=rules))


def _name_files(found: AnswerFile, folder: Path) -> None:
    """Say of a folder of raw replies which file each fault is about, in place of a row."""
    names = [path.name for path in raw_files(folder)]
    found.files = [names[row - 1] for row in found.rows]
    found.rows = [0] * len(found.rows)
    found.faults[:] = [
        replace(fault, file=names[fault.row - 1], row=0) if names else fault
        for fault in found.faults
    ]


def _placed(
    path: Path, value: Any, fields: Mapping[str, str], system: str | None, rules: Rules
) -> Recognised:
    """Read a file of records, of which some columns are where the user says."""
    if unknown := sorted(set(fields) - set(COLUMNS)):
        raise StudyError(f"--field {unknown[0]}: no such column; ours are {', '.join(COLUMNS)}")
    found = AnswerFile()
    if isinstance(value, dict):
        rows = log_rows(value, "log", found.faults, fields)
    else:
        rows = _placed_rows(path, found, fields)
        known = {name for row in rows for name in row.values}
        note_columns(known, system, found)
    if not any(fault.row == 1 and fault.column for fault in found.faults):
        collect_rows(rows, found, system=system, rules=rules)
    return Recognised("log", found)


def _placed_rows(path: Path, found: AnswerFile, fields: Mapping[str, str]) -> list[Row]:
    """Return the rows of a file with some columns taken from where the user says."""
    others = {name: aliases for name, aliases in COLUMNS.items() if name not in fields}
    records, header = read_records(path, [])
    placed = [{name: at(r.values, place) for name, place in fields.items()} for r in records]
    for name, place in fields.items():
        if records and all(values[name] is None for values in placed):
            message = f"--field {name}={place}: no row has that; columns are {', '.join(header)}"
            found.faults.append(Fault(1, name, message))
    file = read_rows(path, others, found.faults)
    taken = {place.partition(".")[0] for place in fields.values()} | set(fields.values())
    found.unused = tuple(name for name in file.unused if name not in taken)
    return [Row(r.number, {**r.values, **v}) for r, v in zip(file.rows, placed, strict=True)]


def _value(path: Path) -> Any:
    """Return what a JSON or JSON lines file holds; None for any other."""
    if path.suffix.lower() not in (".json", ".jsonl", ".ndjson"):
        return None
    text = read_text(path)
    lines = [line for line in text.split("\n") if line.strip()]
    for pieces in (lines, [text]) if path.suffix.lower() != ".json" else ([text], lines):
        try:
            values = [json.loads(piece) for piece in pieces]
        except (ValueError, RecursionError):
            continue
        return values[0] if pieces == [text] and path.suffix.lower() == ".json" else values
    return None  # the reader of plain files says what is wrong, line by line
