"""Small real retrieval methods with extractive answers: the systems of the sample study.

They are not AI products. Each one ranks the pages of an index for a query and answers with
sentences copied from the pages it cites, so that every later stage has real work to do.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

TOKEN = re.compile(r"[^\W_]+")
SENTENCE = re.compile(r"(?<=[.!?])\s+(?=[\"'“(]?[A-ZÄÖÜÉÀ0-9])|\n+")
INSTITUTION = re.compile(r"(^|\.)(gov|edu|ac)\.")
STOP = frozenset(
    [
        "a",
        "about",
        "an",
        "and",
        "any",
        "are",
        "as",
        "at",
        "be",
        "because",
        "been",
        "but",
        "by",
        "can",
        "could",
        "do",
        "does",
        "for",
        "from",
        "get",
        "had",
        "has",
        "have",
        "how",
        "i",
        "if",
        "in",
        "into",
        "is",
        "it",
        "its",
        "just",
        "me",
        "my",
        "no",
        "not",
        "of",
        "on",
        "one",
        "or",
        "our",
        "out",
        "so",
        "some",
        "should",
        "than",
        "that",
        "the",
        "their",
        "them",
        "there",
        "these",
        "they",
        "this",
        "to",
        "too",
        "up",
        "was",
        "we",
        "were",
        "what",
        "when",
        "where",
        "which",
        "who",
        "why",
        "will",
        "with",
        "without",
        "would",
        "you",
        "your",
        "s",
        "t",
        "m",
        "true",
        "buy",
        "need",
        "look",
    ]
)


@dataclass(frozen=True)
class Document:
    """A page as an index holds it."""

    url: str
    title: str
    text: str
    date: str = ""
    site: str = ""
    links: tuple[str, ...] = ()
    sponsored: int = 0  # paid and affiliate links


def tokens(text: str) -> list[str]:
    """Return the lower-case words of a text that carry meaning, plurals cut."""
    words = (word for word in TOKEN.findall(text.lower()) if word not in STOP)
    return [
        word[:-1] if len(word) > 3 and word.endswith("s") and word[-2] != "s" else word
        for word in words
    ]


def sentences(text: str) -> list[str]:
    """Split a text at sentence ends and line ends; fragments under 40 characters are left out."""
    return [s.strip() for s in SENTENCE.split(text) if len(s.strip()) >= 40]


class BM25:
    """Okapi BM25 over a list of token lists (Robertson and Zaragoza 2009)."""

    def __init__(self, corpus: Sequence[Sequence[str]]):
        import bm25s

        self.size = len(corpus)
        self._words = {word for words in corpus for word in words}
        self._model = bm25s.BM25()
        self._model.index([list(words) for words in corpus], show_progress=False)

    def scores(self, words: Sequence[str]) -> np.ndarray:
        """Return one score a document; zero where no word of the query occurs."""
        known = [w for w in words if w in self._words]
        if not known:
            return np.zeros(self.size)
        return np.asarray(self._model.get_scores(known), dtype=float)


@dataclass(frozen=True)
class Index:
    """The pages that systems search."""

    documents: tuple[Document, ...]

    @cached_property
    def text(self) -> BM25:
        """Return the ranking over titles and texts."""
        return BM25([tokens(f"{d.title} {d.text}") for d in self.documents])

    @cached_property
    def title(self) -> BM25:
        """Return the ranking over titles alone."""
        return BM25([tokens(d.title) for d in self.documents])

    @cached_property
    def link_rank(self) -> np.ndarray:
        """Return PageRank with damping 0.85 over the links between the pages."""
        place = {d.url: i for i, d in enumerate(self.documents)}
        size = len(self.documents)
        step = np.zeros((size, size))
        for i, document in enumerate(self.documents):
            targets = {place[u] for u in document.links if u in place} - {i}
            step[list(targets) or slice(None), i] = 1 / (len(targets) or size)
        rank = np.full(size, 1 / size)
        for _ in range(60):
            rank = 0.15 / size + 0.85 * step @ rank
        return rank


Ranker = Callable[[Index, list[str], np.random.Generator], np.ndarray]


def by_text(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score pages by BM25 over title and text."""
    return index.text.scores(words)


def by_title(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score pages by BM25 over titles alone."""
    return index.title.scores(words)


def by_date(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score the pages that match well enough by date, newest first; undated pages come last."""
    dates = sorted({d.date for d in index.documents})
    newest = np.array([1.0 + dates.index(d.date) for d in index.documents])
    return np.where(_on_topic(index, words), newest, 0.0)


def by_links(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score the pages that match well enough by how much is linked to them."""
    return np.where(_on_topic(index, words), index.link_rank, 0.0)


def by_chance(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score the pages that match well enough at random."""
    chance = rng.random(len(index.documents))
    return np.where(_on_topic(index, words), 1 - chance, 0.0)


def by_site(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score pages by BM25, only the best page of each site."""
    score = index.text.scores(words)
    best: dict[str, int] = {}
    for place in np.argsort(-score, kind="stable"):
        best.setdefault(index.documents[place].site, int(place))
    kept = np.zeros(len(score), dtype=bool)
    kept[list(best.values())] = True
    return np.where(kept, score, 0.0)


def by_institution(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score pages by BM25, those of governments and universities before all others."""
    score = index.text.scores(words)
    public = np.array([bool(INSTITUTION.search(d.site)) for d in index.documents])
    return np.where(_on_topic(index, words), score + 1000.0 * public, 0.0)


def by_sponsor(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score pages by BM25, those with paid links before all others, as placements are sold."""
    score = index.text.scores(words)
    paid = np.array([d.sponsored > 0 for d in index.documents])
    return np.where(_on_topic(index, words), score + 1000.0 * paid, 0.0)


def by_fields(index: Index, words: list[str], rng: np.random.Generator) -> np.ndarray:
    """Score pages by BM25 over text plus twice over titles, raised by what links to them."""
    score = index.text.scores(words) + 2 * index.title.scores(words)
    return score * (1 + np.log1p(len(score) * index.link_rank))


def _on_topic(index: Index, words: list[str]) -> np.ndarray:
    """Tell which pages reach a third of the best BM25 score for the query."""
    score = index.text.scores(words)
    return (score > 0) & (score >= score.max(initial=0) / 3)


@dataclass(frozen=True)
class Cited:
    """A citation of an answer: the page and the passage (code points) that carries it."""

    document: Document
    start: int
    end: int


def answer_lead(found: Sequence[Document], words: list[str]) -> tuple[str, list[Cited]]:
    """Answer with the first sentence of each page found."""
    chosen = [(d, s[0]) for d in found if (s := sentences(d.text))]
    return _write(chosen)


def answer_best(
    found: Sequence[Document], words: list[str], most: int = 5
) -> tuple[str, list[Cited]]:
    """Answer with the sentences, from any page found, that match the query best."""
    pool = [(d, s) for d in found for s in sentences(d.text)[:80]]
    if not pool:
        return "", []
    score = BM25([tokens(s) for _, s in pool]).scores(words)
    best = [place for place in np.argsort(-score, kind="stable") if score[place] > 0][:most]
    return _write([pool[place] for place in sorted(best)])


def _write(chosen: Sequence[tuple[Document, str]]) -> tuple[str, list[Cited]]:
    """Join sentences into an answer, each with the number of its page; repeats are left out."""
    numbers: dict[str, int] = {}
    text, cited, said = "", [], set()
    for document, sentence in chosen:
        if sentence in said:
            continue
        said.add(sentence)
        number = numbers.setdefault(document.url, len(numbers) + 1)
        text += " " if text else ""
        cited.append(Cited(document, len(text), len(text) + len(sentence)))
        text += f"{sentence} [{number}]"
    return text, cited


def short_answer(text: str, query: str) -> str:
    """Return the name or number that an answer repeats most and the question does not hold.

    A crude stand-in for reading: a year or a number where the question asks for one, else the
    capitalised words inside sentences. Among equals the first one wins.
    """
    text = re.sub(r" \[\d+\]", "", text)
    if re.search(r"\b(year|when)\b", query, re.IGNORECASE):
        kind = r"\b[12]\d{3}\b"
    elif re.search(r"\bhow (many|much|long)\b", query, re.IGNORECASE):
        kind = r"\b\d{1,3}(?:,\d{3})*\b"
    else:
        kind = r"(?<=[a-z,] )[A-Z][\w'-]+(?: [A-Z][\w'-]+)*"
    asked = set(tokens(query))
    counts = Counter(name for name in re.findall(kind, text) if not asked & set(tokens(name)))
    return min(counts, key=lambda name: (-counts[name], text.index(name))) if counts else ""


@dataclass(frozen=True)
class System:
    """A retrieval method joined with a way of answering."""

    name: str
    ranker: Ranker
    answerer: Callable[[Sequence[Document], list[str]], tuple[str, list[Cited]]]


SYSTEMS: Mapping[str, System] = {
    system.name: system
    for system in (
        System("bm25", by_text, answer_lead),
        System("title-only", by_title, answer_lead),
        System("newest-first", by_date, answer_lead),
        System("link-rank", by_links, answer_lead),
        System("one-per-site", by_site, answer_lead),
        System("random", by_chance, answer_lead),
        System("institutions-first", by_institution, answer_lead),
        System("sponsors-first", by_sponsor, answer_lead),
        System("lead+bm25", by_text, answer_lead),
        System("lead+newest", by_date, answer_lead),
        System("best+bm25", by_text, answer_best),
        System("best+newest", by_date, answer_best),
    )
}
REFERENCE = System("fields-and-links", by_fields, answer_lead)


def search(
    index: Index,
    query: str,
    ranker: Ranker,
    rng: np.random.Generator,
    *,
    top: int,
    keep: float = 1.0,
) -> list[Document]:
    """Return the best pages for a query.

    Parameters
    ----------
    index
        What to search.
    query
        The question.
    ranker
        How to score pages.
    rng
        Source of chance.
    top
        Number of pages.
    keep
        Share of the query's words that a run looks for: below 1, runs differ as an engine's do.
    """
    words = tokens(query)
    kept = [word for word in words if keep >= 1 or rng.random() < keep] or words
    score = ranker(index, kept, rng)
    order = sorted(range(len(score)), key=lambda i: (-score[i], index.documents[i].url))
    return [index.documents[i] for i in order[:top] if score[i] > 0]
