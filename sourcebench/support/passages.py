"""Finds the passages of a page that may back a statement, and checks that a quotation stands there."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

import numpy as np

from sourcebench.intext import sentences
from sourcebench.retrieval import BM25
from sourcebench.support.lexis import numbers, terms

LONGEST_PAGE = 2_000_000  # characters of a page that are read
LONGEST_SENTENCE = 600  # characters; longer lines are cut at blanks
_AROUND = 2  # sentences that a passage takes with it
_SHORTEST_PART = 12  # characters of a part of a quotation


@dataclass(frozen=True)
class Passages:
    """The sentences of a page, and a ranking of them by the words of a statement.

    Parameters
    ----------
    text
        The page's main text.
    ignored
        Sentences in which this is found are evidence of nothing: they have no stems.
    """

    text: str
    ignored: re.Pattern[str] | None = None

    @cached_property
    def spans(self) -> list[tuple[int, int]]:
        """Return the sentences as half-open spans of the text."""
        text = self.text[:LONGEST_PAGE]
        return [part for span in sentences(text) for part in _cut(text, *span)]

    @cached_property
    def stems(self) -> list[list[str]]:
        """Return the stems of each sentence, none for those that are ignored."""
        return [
            [] if place in self.void else terms(self.text[a:b])
            for place, (a, b) in enumerate(self.spans)
        ]

    @cached_property
    def void(self) -> frozenset[int]:
        """Return the places of the sentences that are ignored."""
        if self.ignored is None or not self.ignored.search(self.text):
            return frozenset()
        return frozenset(
            place for place, (a, b) in enumerate(self.spans) if self.ignored.search(self.text[a:b])
        )

    @cached_property
    def numbers(self) -> set[float]:
        """Return the numbers of the page by value."""
        return numbers(self.text[:LONGEST_PAGE])

    @cached_property
    def lower(self) -> str:
        """Return the page in lower case."""
        return self.text[:LONGEST_PAGE].lower()

    @cached_property
    def ranking(self) -> BM25:
        """Return the BM25 ranking over the sentences."""
        return BM25(self.stems)

    def best(self, statement: str, most: int) -> list[int]:
        """Return the places of the sentences that match a statement best, the best first."""
        if len(self.spans) <= most:
            return list(range(len(self.spans)))
        score = self.ranking.scores(terms(statement))
        order = np.argsort(-score, kind="stable")[:most]
        return [int(place) for place in order if score[place] > 0]

    def shown(self, place: int, around: int = 0) -> str:
        """Return a sentence with some of its neighbours, as they stand in the page."""
        first, last = max(place - around, 0), min(place + around, len(self.spans) - 1)
        return self.text[self.spans[first][0] : self.spans[last][1]]

    def excerpt(self, statements: Sequence[str], room: int) -> tuple[str, bool]:
        """Return the passages that several statements need, in page order, and whether some are left out.

        Each statement gets the same share of the room, so that none is judged on a page cut
        elsewhere; what is left out shows as `[...]`.
        """
        if len(self.text) <= room:
            return self.text, False
        ranked = [self.best(statement, 40) for statement in statements]
        chosen: set[int] = set()
        for depth in range(40):
            for places in ranked:
                if depth < len(places):
                    near = set(range(places[depth] - _AROUND, places[depth] + _AROUND + 1))
                    wider = chosen | {p for p in near if 0 <= p < len(self.spans)}
                    if self._length(wider) > room:
                        return self._written(chosen), True
                    chosen = wider
        return self._written(chosen) or self.text[:room], True

    def _length(self, chosen: set[int]) -> int:
        """Return how many characters some sentences take up."""
        return sum(self.spans[p][1] - self.spans[p][0] + 6 for p in chosen)

    def _written(self, chosen: set[int]) -> str:
        """Return sentences in page order, with a mark where others are left out."""
        parts, before = [], -1
        for place in sorted(chosen):
            parts += ["[...]"] if place != before + 1 else []
            parts.append(self.shown(place))
            before = place
        return "\n".join(parts)


def _cut(text: str, start: int, end: int) -> list[tuple[int, int]]:
    """Cut a sentence at line ends, and what is too long at blanks."""
    parts = []
    for line in re.finditer(r"[^\n]+", text[start:end]):
        a, b = start + line.start(), start + line.end()
        while b - a > LONGEST_SENTENCE:
            blank = text.rfind(" ", a + LONGEST_SENTENCE // 2, a + LONGEST_SENTENCE)
            stop = blank if blank > 0 else a + LONGEST_SENTENCE
            parts.append((a, stop))
            a = stop
        if text[a:b].strip():
            parts.append((a, b))
    return parts


# --- quotations ----------------------------------------------------------------------------------

_SAME = str.maketrans("‘’‚“”„«»–—−‐‑\u00a0\u202f", '\'\'\'"""""-----  ')


def flat(text: str) -> str:
    """Return a text without case, kinds of quotes and dashes, and doubled blanks."""
    return " ".join(text.translate(_SAME).lower().split())


def stands_in(quote: str, page: str) -> bool:
    """Whether a quotation stands in a page word for word, apart from blanks, quotes and dashes.

    Parts joined by an ellipsis must stand there one after the other. A quotation shorter than a few
    words proves nothing and does not count.
    """
    parts = [part.strip(" \"'") for part in re.split(r"\.\.\.|…|\[\s*\]", flat(quote))]
    parts = [part for part in parts if part]
    if not parts or any(len(part) < _SHORTEST_PART for part in parts):
        return False
    page, place = flat(page), 0
    for part in parts:
        found = page.find(part, place)
        if found < 0:
            return False
        place = found + len(part)
    return True
