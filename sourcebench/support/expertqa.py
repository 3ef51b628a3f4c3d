"""Reads ExpertQA (Malaviya et al. 2024): answers of six systems, with experts' labels of every claim.

Experts labelled each claim of an answer with how far its evidence supports it, and how reliable the
sources are. Three words stay apart: `Missing` says that the claim has no citation, `N/A` that the source
could not be opened, and an empty label that the expert gave none. None of them says "not supported".

The evidence is the passage that the system retrieved; for bing_chat and gpt4 it is an address alone.
A page of the study holds the passages that any claim quotes from that address.
"""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from sourcebench.intext import markers, split_sources
from sourcebench.pinned import Pinned
from sourcebench.records import EXCERPT, Packet
from sourcebench.study import Study, StudyError
from sourcebench.support.statements import (
    Statement,
    claim_id,
    plain_statement,
    statement_rows,
)
from sourcebench.urls import page_id

# A split with 217 questions (MIT); `sourcebench import expertqa` pulls it.
PUBLIC = Pinned(
    "https://raw.githubusercontent.com/chaitanyamalaviya/ExpertQA/"
    "1aa7ba81bd4c083c12ef1aa2fee338f6cb60fa87/data/lfqa/rand_val.jsonl",
    "4da2b2e637104fb816716eaa4c60898c6892395d596c03b7d1f9a72c6327069c",
)
ANNOTATOR = "expert"
PARSER = "expertqa"
VERDICTS = {
    "Complete": "supported",
    "Partial": "partly",
    "Incomplete": "not_supported",
    "Missing": "no_source",
    "N/A": "not_applicable",
}
RELIABILITY = {
    "Reliable": "reliable",
    "Somewhat reliable": "somewhat_reliable",
    "Not reliable at all": "not_reliable",
    "Missing": "no_source",
    "N/A": "not_applicable",
}
_LONGEST_LINE = 10_000_000  # characters
_EVIDENCE = re.compile(r"\s*(?:\[(\d{1,3})\]\s*)?(https?://\S+)?\s*")
_SETTINGS = """title = "ExpertQA"
kind = "real-pages"
licence = "MIT"
as_of = 2023-10-01
verifier = "semantic"
provenance = \"\"\"
Questions, answers, evidence and expert labels of ExpertQA (Malaviya et al. 2024), imported. A page is
the passages that systems quote from an address; pages that are only named have no text.\"\"\"

[fetch]
offline = true  # the experts saw the pages of 2023
"""


@dataclass(frozen=True)
class Evidence:
    """One piece of evidence of a claim: its number in the answer, its address and the quoted passage."""

    number: int
    url: str
    text: str


@dataclass(frozen=True)
class Claim:
    """One labelled claim; `support` and `reliability` are ExpertQA's words, None where there is none."""

    query_id: str
    system: str
    question: str
    text: str
    evidence: tuple[Evidence, ...]
    support: str | None
    reliability: str | None
    reason: str


@dataclass(frozen=True)
class Answer:
    """One answer with its sources and claims."""

    query_id: str
    system: str
    question: str
    field: str
    text: str
    sources: tuple[Evidence, ...]
    claims: tuple[Claim, ...]


def is_expertqa(path: str | Path) -> bool:
    """Whether a file looks like a split of ExpertQA, by its first line."""
    path = Path(path)
    if path.suffix != ".jsonl" or not path.is_file():
        return False
    with path.open(encoding="utf-8", errors="replace") as file:
        first = file.readline(_LONGEST_LINE)
    try:
        answers = json.loads(first)["answers"]
        return bool(answers) and all("claims" in given for given in answers.values())
    except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
        return False


def read_expertqa(path: str | Path) -> list[Answer]:
    """Return the answers of a file of ExpertQA.

    Raises
    ------
    StudyError
        Names the file, the line and the field that can't be read.
    """
    path = Path(path)
    try:
        lines = path.read_text(encoding="utf-8").split("\n")
    except FileNotFoundError:
        raise StudyError(f"{path}: no such file; ExpertQA's rand_val.jsonl is meant") from None
    answers: list[Answer] = []
    for number, line in enumerate(lines, start=1):
        if line.strip():
            answers += _read_line(path, number, line)
    return answers


def _read_line(path: Path, number: int, line: str) -> Iterator[Answer]:
    """Yield the answers to one question."""
    try:
        row = json.loads(line)
        for system, given in row["answers"].items():
            yield _answer(f"q{number:03d}", system, row, given)
    except (json.JSONDecodeError, KeyError, TypeError, AttributeError) as error:
        raise StudyError(f"{path}: line {number} is not a question of ExpertQA: {error}") from None
    except StudyError as error:
        raise StudyError(f"{path}: line {number}: {error}") from None


def _answer(query: str, system: str, row: dict[str, Any], given: dict[str, Any]) -> Answer:
    """Return one answer."""
    question = " ".join(row["question"].split())
    claims = tuple(
        Claim(
            query,
            system,
            question,
            claim["claim_string"],
            tuple(_evidence(piece) for piece in claim["evidence"]),
            _known("support", claim["support"], VERDICTS),
            _known("reliability", claim["reliability"], RELIABILITY),
            claim.get("reason_missing_support") or "",
        )
        for claim in given["claims"]
    )
    sources = tuple(_evidence(piece) for piece in given["attribution"] or ())
    field = (row.get("metadata") or {}).get("field") or ""
    return Answer(query, system, question, field, given["answer_string"], sources, claims)


def _known(name: str, value: str | None, words: dict[str, str]) -> str | None:
    """Return a label, or None where there is none."""
    if value is None or value == "":
        return None
    if value not in words:
        raise StudyError(f"{name} must be one of {', '.join(words)} or empty, found {value!r}")
    return value


def _evidence(piece: str) -> Evidence:
    """Split a piece of evidence such as `[2] https://... passage`."""
    head = _EVIDENCE.match(piece)
    return Evidence(int(head[1] or 0), head[2] or "", piece[head.end() :].strip())


# --- a study -------------------------------------------------------------------------------------


def import_expertqa(path: str | Path, folder: str | Path) -> Study:
    """Make a study of a file of ExpertQA: queries, answers, citations, pages, statements and labels.

    The statements are ExpertQA's own claims, so that labels and verdicts meet. A claim's pages are
    those of its evidence. Labels of support are for all pages of a claim together.

    Parameters
    ----------
    path
        A split of ExpertQA, such as `rand_val.jsonl`.
    folder
        A folder that does not hold a study yet.

    Returns
    -------
    Study
        Ready for `verify_study(study)`.
    """
    answers, folder = read_expertqa(path), Path(folder)
    folder.mkdir(parents=True, exist_ok=True)
    if (folder / "study.toml").exists():
        raise StudyError(f"{folder}: holds a study already; name an empty folder")
    systems = sorted({answer.system for answer in answers})
    tables = "".join(f'\n[systems.{name}]\nlabel = "{name}"\n' for name in systems)
    (folder / "study.toml").write_text(_SETTINGS + tables, encoding="utf-8")
    study = Study(folder)
    study.save("queries", list(_queries(answers)))
    study.save("answers", [_answer_row(answer) for answer in answers])
    study.save("citations", [row for answer in answers for row in _citations(answer)])
    _save_pages(study, answers)
    study.save("statements", [row for answer in answers for row in _statements(answer)])
    study.save("support_labels", [row for answer in answers for row in _labels(answer)])
    return study


def described(study: Study) -> str:
    """Say in a few lines what an imported study holds; the kinds of missing labels stay apart."""
    stated = study.load("statements")
    stated, labels = stated[stated["outcome"] == "statement"], study.load("support_labels")
    known = {word: int((labels["verdict"] == verdict).sum()) for word, verdict in VERDICTS.items()}
    known["empty"] = len(stated) - len(labels)
    told = ", ".join(f"{word} {count}" for word, count in known.items())
    pages = study.load("fetches")["outcome"].eq("ok")
    return (
        f"ExpertQA: {len(study.load('queries'))} questions, {len(study.load('answers'))} answers, "
        f"{len(stated)} claims; experts on support: {told}; {int(pages.sum())} of {len(pages)} "
        "cited pages have a passage in the data"
    )


def _key(answer: Answer) -> dict[str, Any]:
    """Return whom an answer belongs to."""
    return {"system": answer.system, "query_id": answer.query_id, "run": 1}


def _queries(answers: list[Answer]) -> Iterator[dict[str, Any]]:
    """Yield each question once, with its field as the category."""
    seen = set()
    for answer in answers:
        if answer.query_id not in seen:
            seen.add(answer.query_id)
            yield {
                "query_id": answer.query_id,
                "text": answer.question,
                "category": answer.field or "unknown",
                "dataset": "ExpertQA",
            }


def _answer_row(answer: Answer) -> dict[str, Any]:
    """Return the row of one answer."""
    cited = any(e.url for claim in answer.claims for e in claim.evidence)
    outcome = "empty" if not answer.text.strip() else "ok" if cited else "no_citations"
    return {**_key(answer), "outcome": outcome, "text": answer.text or None}


def _citations(answer: Answer) -> Iterator[dict[str, Any]]:
    """Yield a row for each mark with a source, then one for each source that no mark names."""
    listed = {e.number: e.url for e in _all_evidence(answer) if e.url and e.number}
    placed = [
        (listed[number], mark.start, mark.end)
        for mark in markers(split_sources(answer.text)[0])
        for number in mark.numbers
        if number in listed
    ]
    named = {url for url, _, _ in placed}
    rest = dict.fromkeys(e.url for e in _all_evidence(answer) if e.url and e.url not in named)
    for rank, (url, start, end) in enumerate([*placed, *((u, None, None) for u in rest)], start=1):
        yield {**_key(answer), "rank": rank, "url": url, "start": start, "end": end}


def _all_evidence(answer: Answer) -> Iterator[Evidence]:
    """Yield the listed sources, then the evidence of the claims."""
    yield from answer.sources
    for claim in answer.claims:
        yield from claim.evidence


def _save_pages(study: Study, answers: list[Answer]) -> None:
    """Write what is known of each address: the passages quoted from it, or that there are none."""
    texts: dict[str, tuple[str, dict[str, None]]] = {}
    for answer in answers:
        for piece in _all_evidence(answer):
            if piece.url:
                passages = texts.setdefault(page_id(piece.url), (piece.url, {}))[1]
                passages |= {piece.text: None} if piece.text else {}
    fetches, pages, packets = [], [], []
    for key, (url, passages) in sorted(texts.items()):
        text = "\n\n".join(passages)
        why = None if text else "no passage of this address in the data"
        outcome = "ok" if text else "not_available_offline"
        fetches.append({"page_id": key, "url": url, "outcome": outcome, "reason": why})
        if text:
            pages.append({"page_id": key, "url": url, "outcome": "ok", "text_chars": len(text)})
            packets.append(Packet(key, url, text=text, flags=(EXCERPT,)).to_dict())
    study.save("fetches", fetches)
    study.save("pages", pages)
    study.save("packets", packets)


def _statements(answer: Answer) -> list[dict[str, Any]]:
    """Return the rows of the claims, each with its place in the answer where it stands there."""
    found, place = [], 0
    for claim in answer.claims:
        start = answer.text.find(claim.text.strip(), place)
        start = start if start >= 0 else answer.text.find(claim.text.strip()[:40])
        end = start + len(claim.text.strip()) if start >= 0 else 0
        place = max(place, end)
        pages = tuple(dict.fromkeys(page_id(e.url) for e in claim.evidence if e.url))
        reason = "" if start >= 0 else "not word for word in the answer"
        text = plain_statement(claim.text) or " ".join(claim.text.split())
        found.append(Statement(text, max(start, 0), end, "statement", pages, reason))
    found = found or [Statement("", 0, 0, "no_statements", reason="no claim in the data")]
    return statement_rows(_key(answer), found, PARSER)


def _labels(answer: Answer) -> Iterator[dict[str, Any]]:
    """Yield the expert's label of each claim; a claim without a label has no row."""
    seen = set()
    for claim in answer.claims:
        text = plain_statement(claim.text) or " ".join(claim.text.split())
        if claim.support is None or claim_id(text) in seen:
            continue
        seen.add(claim_id(text))
        yield {
            "annotator": ANNOTATOR,
            **_key(answer),
            "statement": text,
            "page_id": None,
            "verdict": VERDICTS[claim.support],
            "reliability": RELIABILITY.get(claim.reliability or ""),
            "reason": " ".join(claim.reason.split()) or None,
        }
