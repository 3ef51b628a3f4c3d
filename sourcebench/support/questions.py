"""Questions that a language model writes from documents, as SourceCheckup makes its set; they become queries."""

from __future__ import annotations

import hashlib
from collections.abc import Iterator, Sequence
from typing import Any, NamedTuple

from sourcebench.schema import CATEGORIES
from sourcebench.study import Study, StudyError
from sourcebench.support.stage import make_verifier

DATASET = "generated"
MOST = 20  # questions from one document


class Document(NamedTuple):
    """A document to ask about: its name and its text."""

    name: str
    text: str


class Written(NamedTuple):
    """What became of one document: questions added, those the study has already, and a reason if none."""

    document: str
    added: tuple[str, ...]
    known: int
    reason: str

    def __str__(self) -> str:
        said = f"{self.document}: {len(self.added)} questions"
        said += f", {self.known} known already" if self.known else ""
        return f"{said}; {self.reason}" if self.reason else said


def add_questions(
    study: Study,
    documents: Sequence[Document],
    *,
    count: int = 3,
    category: str = "factual",
    model: str | None = None,
    **options: Any,
) -> list[Written]:
    """Have a language model write questions from documents, and add them to the table `queries`.

    A document is asked about once: its reply is in the study's journal. Ids come from document and
    question, so a second run adds nothing.

    Parameters
    ----------
    study
        A study that is not released.
    documents
        What to ask about; a long one is cut to what the model is given.
    count
        Questions a document, 1 to 20.
    category
        Intent of the questions, any word.
    model
        A name under `[judges]` of study.toml; by default its judge.
    options
        Passed on to the model: see `sourcebench.judge.llm.llm_judge`.

    Returns
    -------
    list of Written
        One for each document, also those of which nothing readable came.

    Raises
    ------
    StudyError
        If no language model is named, or the category or count can't be.
    """
    if not category.strip() or not category.isprintable() or not 1 <= count <= MOST:
        raise StudyError(
            f"category must be a word, such as {CATEGORIES[2]}, and count 1 to {MOST}, "
            f"found {category!r} and {count}"
        )
    name = model or study.settings.judge
    known = study.settings.judges
    if known.get(name, {}).get("type") != "llm":
        models = ", ".join(other for other, table in known.items() if table.get("type") == "llm")
        raise StudyError(
            f"{study.folder / 'study.toml'}: {name!r} is no language model, and can't write questions; "
            f"name one under [judges] with --model ({models or 'none is described there yet'})"
        )
    writer = make_verifier(study, name, **options)
    queries = study.load("queries")
    known, rows, told = {_plain(text) for text in queries["text"]}, [], []
    with writer:
        writer.prepare()
        for document in documents:
            found, reason = writer.questions(document.text, count)
            new = [q for q in dict.fromkeys(found) if _plain(q) not in known]
            known |= {_plain(q) for q in new}
            rows += list(_rows(document, new, category))
            told.append(Written(document.name, tuple(new), len(found) - len(new), reason))
    if rows:
        study.append("queries", rows)
    return told


def _plain(text: str) -> str:
    """Return a question without the differences that copying makes."""
    return " ".join(text.split()).casefold()


def _rows(document: Document, questions: Sequence[str], category: str) -> Iterator[dict[str, Any]]:
    """Yield the rows of the questions from one document."""
    for question in questions:
        digest = hashlib.sha256(f"{document.text}\0{question}".encode()).hexdigest()
        yield {
            "query_id": f"g{digest[:10]}",
            "text": question,
            "category": category,
            "dataset": f"{DATASET}: {document.name}",
        }
