"""Answers that exist already become a study's answers and citations, without a key or a network."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import count
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from sourcebench.collect.answerfile import AnswerFile, Rules, lost_notes
from sourcebench.collect.answers import store_answers, store_judgments
from sourcebench.collect.queries import check_category
from sourcebench.collect.recognise import read_any
from sourcebench.collect.replies import Answer
from sourcebench.collect.rowfile import Fault, refuse
from sourcebench.schema import CATEGORIES
from sourcebench.study import StudyError

if TYPE_CHECKING:
    from sourcebench.study import Study


@dataclass(frozen=True)
class Imported:
    """What an import brought: counts, and what it left aside."""

    systems: tuple[str, ...]
    answers: int
    citations: int
    no_citations: int
    empty: int
    refused: int
    failed: int
    new_queries: int
    unused_columns: tuple[str, ...] = ()
    notes: tuple[str, ...] = ()

    def __str__(self) -> str:
        said = (
            f"{', '.join(self.systems) or 'no system'}: {self.answers} answers, "
            f"{self.citations} citations; {self.no_citations} answers without a source, "
            f"{self.empty} empty"
        )
        for number, outcome in ((self.refused, "refused"), (self.failed, "failed")):
            said += f", {number} {outcome}" if number else ""
        if self.new_queries:
            said += f"; {self.new_queries} new queries"
        if self.unused_columns:
            said += f"; columns not used: {', '.join(self.unused_columns)}"
        return "\n".join((said, *self.notes))


def check_answers(
    path: str | Path,
    *,
    study: Study | None = None,
    system: str | None = None,
    unknown_queries: Literal["refuse", "add"] = "refuse",
    category: str | None = None,
    rules: Rules | None = None,
    fields: Mapping[str, str] | None = None,
) -> list[Fault]:
    """Return every fault of a file of answers, by row, before anything is written.

    Parameters
    ----------
    path
        A file or folder, as `import_answers` takes it.
    study
        With a study, queries are looked up in it and answers that it has already are faults.
    system, unknown_queries, category, rules, fields
        As for `import_answers`.

    Returns
    -------
    list of Fault
        In row order; empty when the file can be imported.
    """
    known = frozenset(study.load("queries")["query_id"]) if study is not None else frozenset()
    found = read_any(path, system=system, rules=rules, fields=fields, known=known).found
    if study is not None:
        _resolve(study, found, unknown_queries, category, rules or Rules())
        _note_present(study, found)
    return sorted(found.faults, key=lambda fault: fault.place)


def import_answers(
    study: Study,
    path: str | Path,
    *,
    system: str | None = None,
    unknown_queries: Literal["refuse", "add"] = "refuse",
    category: str | None = None,
    present: Literal["refuse", "replace"] = "refuse",
    rules: Rules | None = None,
    fields: Mapping[str, str] | None = None,
) -> Imported:
    """Bring a file of answers and cited addresses into a study: all of it, or nothing.

    Scores in an enriched file of the public SourceBench become rows of `judgments`, under the name
    of their own judge.

    Parameters
    ----------
    study
        The study; its tables `answers` and `citations`, and with new queries `queries`, grow.
    path
        A plain CSV, JSON lines or JSON list (`sourcebench.collect.answerfile.read_answers`), a file of the
        public SourceBench, a log of an evaluation tool, a folder of such plain files, or a folder
        of raw replies (`sourcebench.collect.recognise.read_any`).
    system
        Name of the system, where the file has no column for it.
    unknown_queries
        What to do with a query that the study does not hold: refuse the file, or add the query.
    category
        Category of added queries, where the file has no column for it, or names none of
        `sourcebench.schema.CATEGORIES`; any word.
    present
        What to do with an answer that the study has already: refuse the file, or replace it.
    rules
        How strictly to read; by default a broken address or a repeated answer is a fault.
    fields
        Where our columns are in each record of a log.

    Returns
    -------
    Imported
        Counts; an answer without a source is one of them, so no denominator shrinks.

    Raises
    ------
    StudyError
        Names the file, the row, the column and what to do, for the first fault; `check_answers`
        lists all.
    """
    known = frozenset(study.load("queries")["query_id"])
    read = read_any(path, system=system, rules=rules, fields=fields, known=known)
    found = read.found
    new = _resolve(study, found, unknown_queries, category, rules or Rules())
    if present == "refuse":
        _note_present(study, found)
    refuse(Path(path), found.faults)
    if not found.answers:
        raise StudyError(f"{path}: no answer in this file")
    store_answers(study, found.answers, new)
    notes = found.notes + lost_notes(found) + _store_verdicts(study, read.judgments)
    return summary(found.answers, new, found.unused, notes)


def _store_verdicts(study: Study, verdicts: Sequence[Mapping[str, Any]]) -> list[str]:
    """Write verdicts on pages that answers cite; say how many are on others."""
    if not verdicts:
        return []
    from sourcebench.urls import page_id

    cited = {page_id(url) for url in study.load("citations")["url"].unique()}
    kept = [row for row in verdicts if row["page_id"] in cited]
    store_judgments(study, kept)
    left = len(verdicts) - len(kept)
    return [f"{left} scores of pages that no answer cites are left out"] if left else []


def summary(
    answers: Sequence[Answer],
    new: Sequence[dict[str, Any]],
    unused: Sequence[str] = (),
    notes: Sequence[str] = (),
) -> Imported:
    """Count what was imported."""
    outcomes = [answer.reply.outcome for answer in answers]
    return Imported(
        systems=tuple(dict.fromkeys(answer.system for answer in answers)),
        answers=len(answers),
        citations=sum(len(answer.reply.citations) for answer in answers),
        no_citations=outcomes.count("no_citations"),
        empty=outcomes.count("empty"),
        refused=outcomes.count("refused"),
        failed=outcomes.count("failed"),
        new_queries=len(new),
        unused_columns=tuple(unused),
        notes=tuple(notes),
    )


# --- queries -------------------------------------------------------------------------------------


def _resolve(
    study: Study, found: AnswerFile, unknown: str, category: str | None, rules: Rules
) -> list[dict[str, Any]]:
    """Give every answer the id of its query, note those that have none, return the new queries."""
    check_category(category)
    queries = study.load("queries")
    known = dict(zip(queries["query_id"], queries["text"], strict=True))
    by_text = {_plain(text): query_id for query_id, text in known.items()}
    new: dict[str, dict[str, Any]] = {}
    moved: set[int] = set()
    for place, answer in enumerate(found.answers):
        query_id = _query_of(place, answer, known, by_text, rules, found)
        if query_id is None and unknown == "add":
            query_id = answer.query_id
            if not query_id or query_id in known:
                query_id = _free_id(known)
            new[query_id] = _new_query(place, replace(answer, query_id=query_id), category, found)
            known[query_id] = answer.question
            by_text[_plain(answer.question)] = query_id
        elif query_id is None:
            _note_unknown(place, answer, list(known), found)
            continue
        if query_id != answer.query_id:
            moved.add(place)
            found.answers[place] = replace(answer, query_id=query_id)
    _tell_runs_apart(found, moved, rules)
    return list(new.values())


def _query_of(
    place: int,
    answer: Answer,
    known: Mapping[str, str],
    by_text: Mapping[str, str],
    rules: Rules,
    found: AnswerFile,
) -> str | None:
    """Return the query of the study that an answer belongs to, if it is one of them.

    Where the id says one query and the question another, the file is at fault; what was asked
    counts, if the file is to be kept as it is.
    """
    question, query_id = _plain(answer.question), answer.query_id
    if query_id not in known:
        return by_text.get(question) if question else None
    if not question or question == _plain(known[query_id]):
        return query_id
    if rules.broken == "keep":
        return by_text.get(question)
    message = (
        f"{answer.question[:60]!r} is not query {query_id!r} of the study, which is "
        f"{known[query_id][:60]!r}; correct the id or the question (--keep-broken goes by the question)"
    )
    found.fault(place, "question", message)
    return query_id


def _tell_runs_apart(found: AnswerFile, moved: set[int], rules: Rules) -> None:
    """Number the answers to one query that the file has under several ids, or note them."""
    first: dict[tuple[str, str, int], int] = {}
    for place, answer in enumerate(found.answers):
        run, keep = answer.run, rules.broken == "keep"
        if keep:
            run = 1 if place in moved else run
            while (answer.system, answer.query_id, run) in first:
                run += 1
            found.answers[place] = replace(answer, run=run)
        other = first.setdefault((answer.system, answer.query_id, run), place)
        if other != place and not keep:
            message = (
                f"asks what {found.where(other)} asks, of the same system; number repetitions in a column run "
                "(--keep-broken does)"
            )
            found.fault(place, "question", message)


def _free_id(known: Mapping[str, str]) -> str:
    """Return the next number that no query has."""
    numbers = (f"q{number:03d}" for number in count(len(known) + 1))
    return next(query_id for query_id in numbers if query_id not in known)


def _plain(text: str) -> str:
    """Return a question without the differences that copying makes."""
    return " ".join(text.split()).casefold()


def _note_unknown(place: int, answer: Answer, known: Sequence[str], found: AnswerFile) -> None:
    """Say that a query is not in the study, and which are."""
    column = "query_id" if answer.query_id else "question"
    shown = ", ".join(known[:8]) + (f" ... ({len(known)} in all)" if len(known) > 8 else "")
    named = answer.query_id or answer.question[:60]
    message = f"no query {named!r} in the study; known are {shown or 'none'}; correct it, or add unknown queries (--add-queries)"
    found.fault(place, column, message)


def _new_query(
    place: int, answer: Answer, category: str | None, found: AnswerFile
) -> dict[str, Any]:
    """Return the row of a query to add."""
    if not answer.question:
        message = f"query {answer.query_id!r} is new and has no text; fill in the question"
        found.fault(place, "question", message)
    kind = answer.category if answer.category in CATEGORIES else category
    if not kind:
        has = f"has category {answer.category!r}" if answer.category else "has no category"
        message = f"query {answer.query_id!r} is new and {has}; fill in one of {', '.join(CATEGORIES)}, or name one for the whole file (--category)"
        found.fault(place, "category", message)
    return {
        "query_id": answer.query_id,
        "text": answer.question,
        "category": kind,
        "dataset": answer.dataset or None,
        "gold_answer": answer.gold_answer or None,
    }


def _note_present(study: Study, found: AnswerFile) -> None:
    """Note answers that the study has already."""
    stored = study.load("answers")
    there = set(zip(stored["system"], stored["query_id"], stored["run"], strict=True))
    for place, answer in enumerate(found.answers):
        if (answer.system, answer.query_id, answer.run) in there:
            message = f"the study has an answer of {answer.system!r} to query {answer.query_id!r}, run {answer.run}, already; replace it (--replace), or give the next run number"
            found.fault(place, "", message)
