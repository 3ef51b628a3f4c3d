"""A folder of recordings: plain files of answers, a system each, and the questions beside them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import replace
from pathlib import Path

from sourcebench.collect.answerfile import COLUMNS, AnswerFile, Rules, misspelt, read_answers
from sourcebench.collect.rowfile import Fault, Row, near_columns, read_rows
from sourcebench.study import StudyError

_SUFFIXES = (".csv", ".tsv", ".jsonl", ".ndjson", ".json")
_SAYS = {"answer", "urls", "found"}


def is_fileset(folder: Path) -> bool:
    """Whether a folder holds files of answers, and not one raw reply a file."""
    return any(_holds_answers(_columns(path)) for path in _files(folder))


def read_fileset(folder: Path, *, system: str | None, rules: Rules) -> AnswerFile:
    """Read every file of answers in a folder; a file without a column for it is a system's, by name.

    Parameters
    ----------
    folder
        Files of answers, as `sourcebench.collect.answerfile.read_answers` takes them, and lists
        of the questions, which give category, data set and right answer by the question's text.
    system
        Name of the system, where one file holds answers.
    rules
        How strictly to read.

    Returns
    -------
    AnswerFile
        The answers of all files; faults and notes name the file.
    """
    held = {path: _columns(path) for path in _files(folder)}
    answered = [path for path, names in held.items() if _holds_answers(names)]
    asked = [p for p, names in held.items() if "question" in names and not names & _SAYS]
    found = AnswerFile()
    if system and len(answered) > 1:
        names = ", ".join(path.name for path in answered)
        message = f"--system names one system for several files ({names}); import them one by one, or leave it out"
        found.faults.append(Fault(1, "system", message))
    for path in answered:
        _add(found, path, read_answers(path, system=system or path.stem, rules=rules))
    _complete(found, _questions(asked, found))
    aside = sorted({p.name for p in folder.iterdir() if p.name[0] != "."} - {p.name for p in answered + asked})  # fmt: skip
    if aside:
        found.notes.append(f"left aside: {', '.join(aside)}")
    return found


def _files(folder: Path) -> list[Path]:
    """Return the files that could hold rows."""
    return sorted(p for p in folder.iterdir() if p.suffix.lower() in _SUFFIXES and p.is_file())


def _columns(path: Path) -> set[str]:
    """Return our names of the columns of a file with rows; nothing if it holds one object."""
    try:
        with path.open(encoding="utf-8-sig") as file:
            begins = file.read(1 << 16).lstrip()[:1]
        if path.suffix.lower() not in (".csv", ".tsv") and begins not in ("{", "["):
            return set()
        file = read_rows(path, COLUMNS, [])
    except (StudyError, OSError, UnicodeDecodeError):
        return set()
    if begins == "{" and len(file.rows) < 2:
        return set()
    if not all(isinstance(row.values.get("answer", ""), str | None) for row in file.rows):
        return set()
    return set(file.names)


def _holds_answers(names: set[str]) -> bool:
    """Whether columns say what was asked, and what was answered or cited; chunks of a reply don't."""
    return "question" in names and bool(_SAYS & names)


def _add(found: AnswerFile, path: Path, more: AnswerFile) -> None:
    """Add the answers of a file to those of the folder."""
    found.answers += more.answers
    found.rows += more.rows
    found.files += [path.name] * len(more.answers)
    found.faults += [replace(fault, file=path.name) for fault in more.faults]
    found.notes += [f"{path.name}: {note}" for note in more.notes]
    found.unused = tuple(dict.fromkeys((*found.unused, *more.unused)))


def _questions(paths: list[Path], found: AnswerFile) -> dict[str, Row]:
    """Return the rows of lists of questions by the question's text."""
    rows = {}
    for path in paths:
        file = read_rows(path, COLUMNS, [])
        rows |= {_plain(row.text("question")): row for row in file.rows}
        near = near_columns(file.unused, file.names, COLUMNS)
        found.faults += [misspelt(g, ours, path.name) for g, ours in near if ours in _SAYS]
        found.notes.append(
            f"{path.name}: {len(file.rows)} questions, for what they say of those asked"
        )
    return rows


def _complete(found: AnswerFile, known: Mapping[str, Row]) -> None:
    """Give answers what the lists of questions say of their query, where their file does not."""
    for place, answer in enumerate(found.answers):
        row = known.get(_plain(answer.question))
        if row is not None:
            found.answers[place] = replace(
                answer,
                query_id=row.text("query_id") or answer.query_id,
                category=answer.category or row.text("category"),
                dataset=answer.dataset or row.text("dataset"),
                gold_answer=answer.gold_answer or row.text("gold_answer"),
            )


def _plain(text: str) -> str:
    """Return a question without the differences that copying makes."""
    return " ".join(text.split()).casefold()
