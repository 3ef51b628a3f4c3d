"""A study is a folder of plain tables; this loads, checks, appends to, saves and releases one."""

from __future__ import annotations

import csv
import errno
import hashlib
import io
import json
import os
import re
import shutil
import threading
import tomllib
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from datetime import date
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sourcebench.schema import DERIVED, TABLES, Column, Table

if TYPE_CHECKING:
    import pandas as pd

WARC = "snapshots.warc.gz"
PACKAGE = "datapackage.json"


class StudyError(ValueError):
    """A study, or a file meant to become one, breaks a rule that the message names."""


@dataclass(frozen=True)
class Settings:
    """What `study.toml` says: everything that shapes a study, and no secret."""

    title: str
    kind: str  # sample, live, real-pages, synthetic
    licence: str
    as_of: date
    top_k: int = 5
    seed: int = 0
    judge: str = "rules"
    verifier: str = "rules"  # by default the judge, or a jury's first member
    provenance: str = ""
    systems: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    judges: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    fetch: Mapping[str, Any] = field(default_factory=dict)

    @property
    def checks(self) -> list[str]:
        """Return the systems that are there to check the verifier, and are compared with no other."""
        return [name for name, table in self.systems.items() if table.get("type") == "check"]

    def members(self, judge: str) -> list[str]:
        """Return the judges behind a name: those that a jury lists, or the judge itself."""
        return _members(self.judges, judge)


def _members(judges: Mapping[str, Mapping[str, Any]], judge: str) -> list[str]:
    """Return the judges behind a name in `[judges]`."""
    table = judges.get(judge, {})
    listed = table.get("of") if table.get("type") == "jury" else None
    return list(listed) if isinstance(listed, list) and listed else [judge]


_KINDS = ("sample", "live", "real-pages", "synthetic")
_SETTING_TYPES = {
    "title": str,
    "kind": str,
    "licence": str,
    "as_of": date,
    "top_k": int,
    "seed": int,
    "judge": str,
    "verifier": str,
    "provenance": str,
    "systems": dict,
    "judges": dict,
    "fetch": dict,
}


def read_settings(path: Path) -> Settings:
    """Read and check `study.toml`.

    Raises
    ------
    StudyError
        Names the file, the setting, what was expected and what was found.
    """
    try:
        raw = tomllib.loads(path.read_text(encoding="utf-8-sig"))
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; a study needs a study.toml") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise StudyError(f"{path}: not readable as TOML: {error}") from None
    for name, value in raw.items():
        expected = _SETTING_TYPES.get(name)
        if expected is None:
            raise StudyError(
                f"{path}: unknown setting {name!r}; known are {', '.join(_SETTING_TYPES)}"
            )
        if type(value) is not expected:
            raise StudyError(f"{path}: {name} must be {_word(expected)}, found {value!r}")
    for name in ("title", "kind", "licence", "as_of"):
        if name not in raw:
            raise StudyError(f"{path}: {name} is missing")
    if raw["kind"] not in _KINDS:
        raise StudyError(f"{path}: kind must be one of {', '.join(_KINDS)}, found {raw['kind']!r}")
    if raw.get("top_k", 5) < 1:
        raise StudyError(f"{path}: top_k must be 1 or more, found {raw['top_k']}")
    judge, judges = raw.get("judge", "rules"), raw.get("judges", {})
    if judge != "rules" and judge not in judges:
        raise StudyError(f"{path}: judge is {judge!r}, but there is no [judges.{judge}]")
    verifier = raw.setdefault(
        "verifier", _members(judges, judge)[0]
    )  # a jury's first reads for all
    if verifier not in ("rules", "semantic", *judges):
        raise StudyError(
            f"{path}: verifier is {verifier!r}; it must be rules, semantic, or a name under [judges]"
        )
    return Settings(**raw)


def _word(kind: type) -> str:
    """Say in TOML's words what a setting has to be."""
    words = {str: "a text", int: "a whole number", date: "a date (2026-06-01)", dict: "a table"}
    return words[kind]


class Study:
    """A folder of tables and its settings.

    Parameters
    ----------
    folder
        The study's folder; it must hold `study.toml`.

    Raises
    ------
    StudyError
        If the folder or its settings can't be read.
    """

    def __init__(self, folder: str | Path):
        self.folder = Path(folder)
        if not self.folder.is_dir():
            raise StudyError(f"{folder}: no such folder; a study is a folder with a study.toml")
        self.settings = read_settings(self.folder / "study.toml")

    def __repr__(self) -> str:
        return f"Study({str(self.folder)!r})"

    @property
    def released(self) -> bool:
        """Whether the study is frozen: it has a data package and is not written to any more."""
        return (self.folder / PACKAGE).exists()

    @property
    def label(self) -> str:
        """Return what to call the study's results: its title, and `sample` where it is one."""
        mark = "" if self.settings.kind == "live" else f" ({self.settings.kind})"
        return self.settings.title + mark

    def path(self, name: str) -> Path:
        """Return the file of a table: Parquet where there is one, else CSV or JSON lines."""
        plain = self.folder / TABLES[name].file
        parquet = plain.with_suffix(".parquet")
        return parquet if parquet.exists() else plain

    def has(self, name: str) -> bool:
        """Whether the study has this table yet."""
        return self.path(name).exists()

    def load(self, name: str) -> pd.DataFrame:
        """Return a table, checked against its schema; without the file, an empty one.

        Raises
        ------
        StudyError
            Names file, row and column of the first fault, what was expected and what was found.
        """
        return read_table(self.path(name), TABLES[name])

    def save(self, name: str, rows: pd.DataFrame | Iterable[Mapping[str, Any]]) -> Path:
        """Check a table and put it in place in one step, so that no reader sees half of it."""
        self.must_be_open()
        table, path = TABLES[name], self.path(name)
        frame = to_frame(rows, table)
        check_table(frame, table, path)
        if path.suffix == ".parquet":
            partial = path.with_suffix(".partial")
            frame.to_parquet(partial, index=False)
            partial.replace(path)
        else:
            write_atomic(path, format_table(frame, table))
        return path

    def append(self, name: str, rows: Iterable[Mapping[str, Any]]) -> None:
        """Add rows to a CSV or JSON lines table; they are on disk when this returns."""
        self.must_be_open()
        table, path = TABLES[name], self.folder / TABLES[name].file
        frame = to_frame(rows, table)
        check_table(frame, table, path)
        text = format_table(frame, table)
        if path.suffix == ".csv" and path.exists() and path.stat().st_size:
            header, text = text.split("\n", 1)
            self._must_start_with(path, header)
        with path.open("a", encoding="utf-8", newline="") as file:
            file.write(text)
            file.flush()
            os.fsync(file.fileno())

    @staticmethod
    def _must_start_with(path: Path, header: str) -> None:
        """Refuse to append under a header with other columns."""
        with path.open(encoding="utf-8-sig") as file:
            found = file.readline().rstrip("\n")
        if found != header:
            raise StudyError(f"{path}: the first line must be {header!r}, found {found!r}")

    def validate(self) -> dict[str, int]:
        """Check every table, every reference between tables, and the hashes of a released study.

        Returns
        -------
        dict
            Number of rows of each table that is there.

        Raises
        ------
        StudyError
            On the first fault.
        """
        if self.released:
            self._check_hashes()
        frames = {name: self.load(name) for name in TABLES if self.has(name)}
        if "queries" not in frames:
            raise StudyError(f"{self.folder / 'queries.csv'}: no such file; a study needs queries")
        for name, frame in frames.items():
            for column, target in TABLES[name].refers.items():
                if target in frames:
                    self._check_reference(name, frame, column, target, frames[target])
        return {name: len(frame) for name, frame in frames.items()}

    def _check_reference(self, name, frame, column, target, other) -> None:
        """Refuse a value that the table it points to does not hold."""
        dangling = frame[column].notna() & ~frame[column].isin(other[column])
        if dangling.any():
            place = int(dangling.to_numpy().argmax())
            raise StudyError(
                f"{self.path(name)}: {_row(place, TABLES[name])}, column {column}: "
                f"{frame[column].iloc[place]!r} is not in {self.path(target).name}"
            )

    def release(self) -> Path:
        """Check the study and freeze it: write `datapackage.json` with schemas and SHA-256."""
        self.must_be_open()
        self.validate()
        write_atomic(
            self.folder / PACKAGE, json.dumps(describe(self), indent=1, ensure_ascii=False) + "\n"
        )
        return self.folder / PACKAGE

    def working_copy(self, to: str | Path) -> Study:
        """Copy what a study starts from, not what stages derive, to a new folder.

        Raises
        ------
        StudyError
            If there is a study in that folder already; it is never overwritten.
        """
        to = Path(to)
        if (to / "study.toml").exists():
            raise StudyError(
                f"{to}: there is a study already; choose another folder or go on in it"
            )
        to.mkdir(parents=True, exist_ok=True)
        skipped = {PACKAGE} | {TABLES[name].file for name in DERIVED}
        for source in sorted(self.folder.iterdir()):
            if source.is_file() and source.name not in skipped:
                shutil.copyfile(source, to / source.name)
        return Study(to)

    def retitle(self, title: str) -> None:
        """Give the study another title; the rest of `study.toml` stays as it is, comments too."""
        self.must_be_open()
        path = self.folder / "study.toml"
        line = f"title = {json.dumps(title, ensure_ascii=False)}"
        text = re.sub(
            r"^title\s*=.*$", lambda _: line, read_text(path), count=1, flags=re.MULTILINE
        )
        write_atomic(path, text)
        self.settings = read_settings(path)

    def must_be_open(self) -> None:
        """Refuse to write to a released study.

        Raises
        ------
        StudyError
            If it is released; says how to work on a copy.
        """
        if self.released:
            raise StudyError(
                f"{self.folder}: this study is released and stays as it is; work on a copy "
                f"(sourcebench run {self.folder} --to build/{self.folder.name}), or remove "
                f"{PACKAGE} to reopen it"
            )

    def _check_hashes(self) -> None:
        """Compare every file of a released study with its recorded hash."""
        package = json.loads((self.folder / PACKAGE).read_text(encoding="utf-8"))
        for resource in package["resources"]:
            path = self.folder / resource["path"]
            if not path.exists():
                raise StudyError(f"{path}: listed in {PACKAGE}, but there is no such file")
            found = "sha256:" + sha256(path)
            if found != resource["hash"]:
                raise StudyError(
                    f"{path}: SHA-256 is {found[7:19]}..., {PACKAGE} says {resource['hash'][7:19]}...; "
                    "the file was changed after the release"
                )


# --- reading -------------------------------------------------------------------------------------


def read_table(path: Path, table: Table) -> pd.DataFrame:
    """Read one table file, check it, and give every column its type."""
    import pandas as pd

    if not path.exists():
        return to_frame([], table)
    if path.suffix == ".parquet":
        frame = to_frame(pd.read_parquet(path), table)
    elif path.suffix == ".jsonl":
        frame = to_frame(_read_jsonl(path, table), table, where=path)
    else:
        frame = to_frame(_read_csv(path, table), table, where=path)
    check_table(frame, table, path)
    return frame


def read_text(path: Path) -> str:
    """Read a text file as UTF-8, with or without a byte-order mark, with any line ends."""
    try:
        return path.read_text(encoding="utf-8-sig")
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file") from None
    except UnicodeDecodeError as error:
        raise StudyError(
            f"{path}: not UTF-8 at byte {error.start}; save the file as UTF-8"
        ) from None


def _read_csv(path: Path, table: Table) -> pd.DataFrame:
    """Read a CSV as text: "NA" is a word, "001" keeps its zeros, only an empty field is missing."""
    import pandas as pd

    rows = _csv_rows(path)
    if not rows:
        raise StudyError(
            f"{path}: the file is empty; the first line must be {','.join(table.names)}"
        )
    header, body = rows[0], [row for row in rows[1:] if row]
    for name in header:
        if header.count(name) > 1:
            raise StudyError(f"{path}: column {name} stands twice in the first line")
    for place, row in enumerate(body):
        if len(row) != len(header):
            raise StudyError(
                f"{path}: {_row(place, table)} has {len(row)} fields, the first line has {len(header)}"
            )
    return pd.DataFrame(body, columns=header, dtype="str").replace("", None)


def _csv_rows(path: Path) -> list[list[str]]:
    """Return the rows of a CSV file, header first."""
    try:
        return list(csv.reader(io.StringIO(read_text(path), newline=""), strict=True))
    except csv.Error as error:
        raise StudyError(f"{path}: not readable as CSV: {error}") from None


def _read_jsonl(path: Path, table: Table) -> list[dict[str, Any]]:
    """Read JSON lines, naming the line that can't be read."""
    rows = []
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except json.JSONDecodeError as error:
            raise StudyError(f"{path}: line {number} is not JSON: {error}") from None
        if not isinstance(row, dict):
            raise StudyError(f"{path}: line {number} must be an object, found {type(row).__name__}")
        rows.append(row)
    return rows


def to_frame(rows, table: Table, *, where: Path | None = None) -> pd.DataFrame:
    """Give rows the table's columns, in order and with their types; missing ones stay missing.

    A packet table keeps only the key as a column; the record itself is the column `record`.
    """
    import pandas as pd

    where = where or Path(table.file)
    if table.file == "packets.jsonl" and not isinstance(rows, pd.DataFrame):
        rows = [{"page_id": row.get("page_id"), "record": row} for row in rows]
    frame = rows if isinstance(rows, pd.DataFrame) else pd.DataFrame(list(rows))
    names = [*table.names, "record"] if table.file == "packets.jsonl" else table.names
    unknown = [name for name in frame.columns if name not in names]
    if unknown:
        raise StudyError(f"{where}: unknown column {unknown[0]!r}; known are {', '.join(names)}")
    required = [c.name for c in table.columns if c.required and c.name not in frame.columns]
    if required and len(frame.columns):
        raise StudyError(f"{where}: column {required[0]!r} is missing")
    made = {}
    for column in table.columns:
        values = frame[column.name] if column.name in frame.columns else [None] * len(frame)
        made[column.name] = _typed(pd.Series(values, dtype=object), column, table, where)
    if "record" in names:
        made["record"] = pd.Series(frame.get("record", []), dtype=object)
    return pd.DataFrame(made).reset_index(drop=True)


_DTYPES = {"string": "str", "date": "str", "integer": "Int64", "number": "Float64"}


def _typed(values: pd.Series, column: Column, table: Table, where: Path) -> pd.Series:
    """Convert one column, naming the row and value that does not fit."""
    import pandas as pd

    values = values.reset_index(drop=True)
    if column.type in ("object", "array"):
        return values
    missing = values.isna() | (values == "")
    if column.type in ("integer", "number"):
        numbers = pd.to_numeric(values.where(~missing, None), errors="coerce")
        bad = numbers.isna() & ~missing
        if column.type == "integer":
            bad |= numbers.notna() & (numbers % 1 != 0)
        if bad.any():
            place = int(bad.to_numpy().argmax())
            wanted = "a whole number" if column.type == "integer" else "a number"
            raise StudyError(
                f"{where}: {_row(place, table)}, column {column.name}: expected {wanted}, "
                f"found {values.iloc[place]!r}"
            )
        return numbers.astype(_DTYPES[column.type])
    return values.where(missing, values.map(str)).mask(missing, None).astype(_DTYPES[column.type])


def check_table(frame: pd.DataFrame, table: Table, path: Path) -> None:
    """Check ranges, allowed values, required values and the key with the table's pandera schema.

    Raises
    ------
    StudyError
        Names the file, the row, the column, what was expected and what was found.
    """
    from pandera.errors import SchemaErrors

    if not len(frame):
        return
    try:
        pandera_schema(table).validate(frame, lazy=True)
    except SchemaErrors as errors:
        raise StudyError(f"{path}: {_first_fault(errors.failure_cases, frame, table)}") from None
    twice = frame.duplicated(list(table.key), keep="first")
    if twice.any():
        place = int(twice.to_numpy().argmax())
        key = ", ".join(f"{name} {frame[name].iloc[place]!r}" for name in table.key)
        raise StudyError(f"{path}: {_row(place, table)} repeats an earlier row: {key}")


def pandera_schema(table: Table):
    """Return the pandera schema of a table."""
    import pandera.pandas as pa

    columns = {}
    for column in table.columns:
        checks = []
        if column.allowed:
            checks.append(pa.Check.isin(column.allowed))
        if column.low is not None:
            checks.append(pa.Check.ge(column.low))
        if column.high is not None:
            checks.append(pa.Check.le(column.high))
        columns[column.name] = pa.Column(
            _DTYPES.get(column.type), checks, nullable=not column.required
        )
    return pa.DataFrameSchema(columns, strict=False)


def _first_fault(cases: pd.DataFrame, frame: pd.DataFrame, table: Table) -> str:
    """Say the first fault that pandera found, by row, in our words."""
    case = cases.sort_values("index", na_position="last", kind="stable").iloc[0]
    column = next((c for c in table.columns if c.name == case["column"]), None)
    if column is None or case["index"] != case["index"]:
        return f"column {case['column']}: {case['check']}"
    place = int(case["index"])
    found = frame[column.name].iloc[place]
    shown = repr(getattr(found, "item", lambda: found)()) if _there(found) else "nothing"
    return (
        f"{_row(place, table)}, column {column.name}: expected {_expected(column)}, found {shown}"
    )


def _expected(column: Column) -> str:
    """Say which values a column takes."""
    if column.allowed:
        return f"one of {', '.join(column.allowed)}"
    if column.low is not None and column.high is not None:
        return f"a number from {column.low:g} to {column.high:g}"
    if column.low is not None:
        return f"{column.low:g} or more"
    return "a value"


def _row(place: int, table: Table) -> str:
    """Name a row as an editor counts it: CSV has a header line."""
    return f"row {place + 1}" if table.file.endswith(".jsonl") else f"row {place + 2}"


# --- writing -------------------------------------------------------------------------------------


def format_table(frame: pd.DataFrame, table: Table) -> str:
    """Return the text of a table file: UTF-8, line feeds, empty for missing."""
    if table.file == "packets.jsonl":
        return "".join(_json(row) + "\n" for row in frame["record"])
    if table.file.endswith(".jsonl"):
        return "".join(
            _json({k: v for k, v in row.items() if _there(v)}) + "\n"
            for row in frame.to_dict(orient="records")
        )
    return frame.to_csv(index=False, lineterminator="\n")


def _json(row: Mapping[str, Any]) -> str:
    """Return one line of JSON in which nothing depends on the machine."""
    return json.dumps(row, ensure_ascii=False, default=_plain, separators=(",", ":"))


def _plain(value: Any) -> Any:
    """Turn a numpy number into a Python one."""
    return value.item()


def _there(value: Any) -> bool:
    """Whether a field has a value."""
    import pandas as pd

    return isinstance(value, (dict, list, tuple)) or not pd.isna(value)


def write_atomic(path: Path, content: str | bytes) -> None:
    """Write a file beside its place and move it there, so that it is whole or absent."""
    data = content.encode("utf-8") if isinstance(content, str) else content
    if path.is_dir():
        raise IsADirectoryError(errno.EISDIR, os.strerror(errno.EISDIR), str(path))
    partial = path.with_name(f".{path.name}.partial-{os.getpid()}-{threading.get_ident()}")
    try:
        file = partial.open("wb")
    except OSError as error:  # names what was asked for, not the file beside it
        place = path if path.parent.is_dir() else path.parent
        raise type(error)(error.errno, error.strerror, str(place)) from None
    with file:
        file.write(data)
        file.flush()
        os.fsync(file.fileno())
    partial.replace(path)


def drop_cut_line(path: Path) -> None:
    """Take a half-written last line, which a kill left behind, off a table that is appended to."""
    if path.exists() and not (data := path.read_bytes()).endswith(b"\n"):
        write_atomic(path, data[: data.rfind(b"\n") + 1])


def sha256(path: Path) -> str:
    """Return the SHA-256 of a file, in hexadecimal."""
    with path.open("rb") as file:
        return hashlib.file_digest(file, "sha256").hexdigest()


# --- describing ----------------------------------------------------------------------------------

_FRICTIONLESS = {"integer": "integer", "number": "number", "date": "date", "string": "string"}


def describe(study: Study) -> dict[str, Any]:
    """Return the Frictionless data package of a study: each file, its schema and its SHA-256."""
    settings = study.settings
    resources = [_resource(study, name) for name in TABLES if study.has(name)]
    tables = {resource["path"] for resource in resources}
    others = sorted(
        path.relative_to(study.folder).as_posix()
        for path in study.folder.rglob("*")
        if path.is_file() and path.name != PACKAGE and not path.name.startswith(".")
    )
    resources += [_plain_resource(study.folder, path) for path in others if path not in tables]
    return {
        "profile": "data-package",
        "name": study.folder.resolve().name.lower(),
        "title": study.label,
        "licenses": [{"name": settings.licence}],
        "description": settings.provenance,
        "resources": resources,
    }


def _resource(study: Study, name: str) -> dict[str, Any]:
    """Describe one table."""
    table, path = TABLES[name], study.path(name)
    resource = _plain_resource(study.folder, path.relative_to(study.folder).as_posix())
    resource |= {"name": name, "description": table.meaning}
    if path.suffix == ".csv":
        keys = [
            {"fields": [c], "reference": {"resource": t, "fields": [c]}}
            for c, t in table.refers.items()
            if study.has(t) and t != "packets"
        ]
        resource["profile"] = "tabular-data-resource"
        resource["schema"] = {
            "fields": [_field(column) for column in table.columns],
            "missingValues": [""],
            "foreignKeys": keys,
        }
    return resource


def _field(column: Column) -> dict[str, Any]:
    """Describe one column in Frictionless terms."""
    constraints: dict[str, Any] = {"required": True} if column.required else {}
    if column.allowed:
        constraints["enum"] = list(column.allowed)
    if column.low is not None:
        constraints["minimum"] = column.low
    if column.high is not None:
        constraints["maximum"] = column.high
    described = {
        "name": column.name,
        "type": _FRICTIONLESS.get(column.type, "any"),
        "description": column.meaning,
    }
    return described | ({"constraints": constraints} if constraints else {})


def _plain_resource(folder: Path, relative: str) -> dict[str, Any]:
    """Describe one file by path, size and hash."""
    path = folder / relative
    name = "".join(c if c.isalnum() or c in "-_." else "-" for c in relative.lower())
    return {
        "name": name,
        "path": relative,
        "bytes": path.stat().st_size,
        "hash": "sha256:" + sha256(path),
    }
