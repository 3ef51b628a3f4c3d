"""Rows of a CSV or JSON file that somebody else wrote, under our column names, every fault named."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher, get_close_matches
from pathlib import Path
from typing import Any

from sourcebench.study import StudyError, read_text

Columns = Mapping[str, Sequence[str]]  # our name of a column -> names it may have


@dataclass(frozen=True)
class Fault:
    """What is wrong with one row of a file, and what to do about it; row 1 is the header.

    In a folder, `file` names the file; row 0 is a file that is one reply as a whole.
    """

    row: int
    column: str
    message: str
    file: str = ""

    def __str__(self) -> str:
        row = f"row {self.row}" if self.row else ""
        column = f"column {self.column}" if self.column else ""
        return f"{', '.join(filter(None, (self.file, row, column)))}: {self.message}"

    @property
    def place(self) -> tuple[str, int]:
        """Return what faults are ordered by: the file, and the row in it."""
        return self.file, self.row


@dataclass(frozen=True)
class Row:
    """One row of a file under our column names."""

    number: int
    values: Mapping[str, Any]

    def text(self, column: str) -> str:
        """Return a field as text, without space around it."""
        value = self.values.get(column)
        return "" if value is None else str(value).strip()


@dataclass(frozen=True)
class RowFile:
    """The rows of a file, the names its columns have there, and columns that mean nothing to us."""

    rows: list[Row]
    names: Mapping[str, str]
    unused: tuple[str, ...]


def read_rows(path: Path, columns: Columns, faults: list[Fault]) -> RowFile:
    """Read a file of rows.

    Parameters
    ----------
    path
        CSV (comma, semicolon or tab; any line ends; with or without byte-order mark), JSON lines,
        or a JSON list of objects.
    columns
        Our column names with the names they may have; case, spaces and hyphens don't matter.
    faults
        Takes what is wrong.

    Raises
    ------
    StudyError
        If the file can't be read at all.
    """
    rows, header = read_records(path, faults)
    names, unused = _column_names(header, columns, faults)
    renamed = [
        Row(row.number, {ours: row.values.get(given) for ours, given in names.items()})
        for row in rows
    ]
    return RowFile(renamed, names, unused)


def read_records(path: Path, faults: list[Fault]) -> tuple[list[Row], list[str]]:
    """Return the rows of a file under its own column names, and these names; see `read_rows`."""
    if path.suffix.lower() in (".xlsx", ".xls", ".ods"):
        raise StudyError(f"{path}: a spreadsheet; save the sheet as CSV (UTF-8)")
    if path.is_dir():
        raise StudyError(f"{path}: a folder; expected a CSV or JSON lines file")
    text = read_text(path)
    if not text.strip():
        raise StudyError(f"{path}: the file is empty; the first line must name the columns")
    objects = path.suffix in (".jsonl", ".ndjson", ".json") or text.lstrip()[0] in "{["
    return (_json_rows if objects else _csv_rows)(path, text, faults)


def refuse(path: Path, faults: Sequence[Fault]) -> None:
    """Raise for the first fault of a file, if there is one."""
    if faults:
        first = min(faults, key=lambda fault: fault.place)
        more = f" ({len(faults) - 1} more after it)" if len(faults) > 1 else ""
        raise StudyError(f"{path}: {first}{more}")


def column_key(given: str) -> str:
    """Return the name of a column without the differences that do not matter."""
    return re.sub(r"[\s-]+", "_", given.strip().casefold())


def near_columns(
    unused: Sequence[str], there: Collection[str], columns: Columns
) -> list[tuple[str, str]]:
    """Return unused columns whose name is nearly that of a column which the file lacks.

    Parameters
    ----------
    unused
        Columns of the file that mean nothing to us.
    there
        Our names of the columns that the file has.
    columns
        As for `read_rows`.

    Returns
    -------
    list of (str, str)
        The file's name and ours.
    """
    aliases = {a: name for name, known in columns.items() if name not in there for a in known}
    found = []
    for given in unused:
        key = column_key(given)
        close = [a for a in get_close_matches(key, aliases, 3, 0.6) if _is_slip(key, a)]
        found += [(given, aliases[close[0]])] if close else []
    return found


def _is_slip(given: str, name: str) -> bool:
    """Whether a name is another one mistyped; `reasoning` is no `reason`, `scores` no `sources`."""
    alike = SequenceMatcher(None, given, name).ratio() >= 0.8 and abs(len(given) - len(name)) < 3
    return alike or sorted(given) == sorted(name)


def _csv_rows(path: Path, text: str, faults: list[Fault]) -> tuple[list[Row], list[str]]:
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
        rows.append(Row(number, dict(zip(header, line, strict=True))))
    return rows, header


def _delimiter(text: str) -> str:
    """Return what separates the column names of the first line: comma, semicolon or tab."""
    first = text.lstrip("\r\n").split("\n", 1)[0]
    return max(",;\t", key=lambda mark: (first.count(mark), mark == ","))


def _json_rows(path: Path, text: str, faults: list[Fault]) -> tuple[list[Row], list[str]]:
    """Read JSON lines, or one JSON list of objects."""
    values: list[tuple[int, Any]]
    if text.lstrip().startswith("["):
        try:
            values = list(enumerate(_json(text), start=1))
        except (ValueError, RecursionError) as error:
            raise StudyError(f"{path}: not readable as JSON: {error}") from None
    else:
        lines = enumerate(text.split("\n"), start=1)
        values = [(number, line) for number, line in lines if line.strip()]
    rows, header = [], {}
    for number, value in values:
        row = _json_object(number, value, faults)
        if row is not None:
            rows.append(Row(number, row))
            header |= dict.fromkeys(row)
    return rows, list(header)


def _json(text: str) -> Any:
    """Return what a text holds as JSON; NaN, as data frames write what is missing, is null."""
    return json.loads(text, parse_constant=lambda _: None)


def _json_object(number: int, value: Any, faults: list[Fault]) -> dict[str, Any] | None:
    """Return the object of one line, or note why it is none."""
    if isinstance(value, str):
        try:
            value = _json(value)
        except (ValueError, RecursionError) as error:
            faults.append(Fault(number, "", f"not JSON: {error}"))
            return None
    if not isinstance(value, dict):
        faults.append(Fault(number, "", f"expected an object, found {type(value).__name__}"))
        return None
    return value


def _column_names(
    header: Sequence[str], columns: Columns, faults: list[Fault]
) -> tuple[dict[str, str], tuple[str, ...]]:
    """Map our column names to those of the file; name the ones that are not used."""
    ours = {alias: name for name, aliases in columns.items() for alias in aliases}
    names: dict[str, str] = {}
    unused = []
    for given in header:
        name = ours.get(column_key(given))
        if name is None:
            unused += [given] if given.strip() else []
        elif name in names:
            message = f"stands for the same as {names[name]}; keep one of the two"
            faults.append(Fault(1, given, message))
        else:
            names[name] = given
    return names, tuple(unused)
