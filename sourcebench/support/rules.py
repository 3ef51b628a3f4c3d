"""The offline verifiers: does a page back a statement, by shared words, figures, names and negations?

Baselines. They see whether a passage speaks of the same things with the same figures, not whether it says
so. `semantic` also knows a passage in other words, by sentence embeddings (extra `embedding`).
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from sourcebench.judge.relevance import Embedder
from sourcebench.language import text_language
from sourcebench.records import Check, Packet
from sourcebench.support.lexis import (
    figures,
    names,
    negations,
    numbers,
    pairs,
    share,
    terms,
    weights,
)
from sourcebench.support.passages import Passages, stands_in

RULES_VERSION = "3"
_CANDIDATES = 12  # sentences of a page that are looked at for one statement
_PASSAGE = 3  # sentences before and after that one which make up a passage
_EMBEDDED = 400  # sentences of a page that embeddings are made of
_NEAREST = 5  # sentences that are seen together
_QUOTE = 400  # characters of evidence
_OWN_WORDS = 0.5  # share of the words from which on a passage is shown, else the nearest in meaning
# A page that hands out verdicts is not evidence of anything.
PLANTED = re.compile(r"[\"']?verdict[\"']?\s*[:=]\s*[\"']?\w*support|statement[^.\n]{0,40}\bis supported by this", re.I)  # fmt: skip


@dataclass(frozen=True)
class Thresholds:
    """Where the offline verifier draws its lines; all between 0 and 1.

    `supported` and `partly` are lines on the score of the best passage, `contradicted` is the share
    of a statement's words that a passage must hold before another figure, name or negation in it
    counts against the statement. The first was chosen on the questions of ExpertQA, and so were those of
    `SEMANTIC`, which go with embeddings (see benchmarks/expertqa.py for cross-validated figures).
    """

    supported: float = 0.36
    partly: float = 0.2
    contradicted: float = 0.75


SEMANTIC = Thresholds(supported=0.52, partly=0.4)


class Match(NamedTuple):
    """How well one place of a page fits a statement.

    `words` is the share of the statement's weighted words in the sentence or its neighbours, `pairs`
    that of its neighbouring words in the passage around; `conflict` names what the place says otherwise.
    """

    score: float
    words: float
    pairs: float
    place: int
    around: int
    conflict: str


class Near(NamedTuple):
    """The sentences of a page nearest to a statement, and how much of its meaning they hold together."""

    places: tuple[int, ...]
    held: float


@dataclass(frozen=True)
class Claim:
    """A statement as the rules compare it."""

    text: str
    weights: dict[str, float]
    pairs: frozenset[tuple[str, str]]
    figures: frozenset[float]
    names: frozenset[str]
    negations: int

    @classmethod
    def of(cls, text: str) -> Claim:
        """Read a statement."""
        return cls(
            text,
            weights(text),
            frozenset(pairs(terms(text))),
            frozenset(figures(text)),
            frozenset(names(text)),
            negations(text),
        )


@dataclass
class RulesVerifier:
    """Verifies offline; satisfies `sourcebench.records.Verifier`.

    Parameters
    ----------
    name
        The verifier's name.
    thresholds
        Where the lines are drawn.
    embedder
        Maps a list of texts to the unit-length rows of their embeddings. With it, passages that say the
        same in other words are found too; see `sourcebench.judge.embedding.load_embedder`.
    """

    name: str = "rules"
    thresholds: Thresholds = Thresholds()
    embedder: Embedder | None = None

    def version(self) -> str:
        """Return what identifies the rules and their thresholds."""
        known = f"{RULES_VERSION} {self.thresholds} {self.embedder is not None}"
        return f"rules-{hashlib.sha256(known.encode()).hexdigest()[:8]}"

    def check(self, statements: Sequence[str], packet: Packet) -> list[Check]:
        """Return one check for each statement; the page is read once.

        The embeddings are English: pages in another language are verified without them.
        """
        if self.embedder and _language(packet.text[:3000], packet.language) not in ("en", ""):
            return replace(self, embedder=None, thresholds=Thresholds()).check(statements, packet)
        passages = Passages(packet.text, PLANTED)
        flags = ("planted_verdict",) if PLANTED.search(packet.text) else ()
        flags += ("page_cut",) if "cut" in packet.flags else ()
        near = self.nearness(statements, passages)
        return [
            self._check(s, passages, packet.language, flags, n)
            for s, n in zip(statements, near, strict=True)
        ]

    def nearness(self, statements: Sequence[str], passages: Passages) -> Iterator[Near | None]:
        """Yield how near a page comes to each statement; None without embeddings.

        Looked at are the page's first sentences, and of a longer page those that share its words.
        """
        if self.embedder is None or not statements:
            yield from [None] * len(statements)
            return
        first = range(min(len(passages.spans), _EMBEDDED))
        looked = [{*first, *passages.best(s, _CANDIDATES)} for s in statements]
        wanted = sorted(set().union(*looked) - passages.void)
        texts = {place: passages.shown(place) for place in wanted}
        rows = dict(zip(texts, self.embedder(list(texts.values())), strict=True))
        for said, places in zip(self.embedder(list(statements)), looked, strict=True):
            there = sorted(places & rows.keys())
            yield nearest(said, np.array([rows[p] for p in there]), there) if there else Near((), 0)

    def _check(
        self,
        statement: str,
        passages: Passages,
        language: str,
        flags: tuple[str, ...],
        near: Near | None,
    ) -> Check:
        """Return the check of one statement."""
        claim = Claim.of(statement)
        if not claim.weights:
            return Check("cant_tell", reason="no content words", flags=flags)
        match = best_match(claim, passages, self.thresholds, near)
        if match is None or match.score < self.thresholds.partly:
            other = _other_language(statement, passages.text, language)
            if other:
                return Check("cant_tell", reason=other, flags=(*flags, "other_language"))
        if match is None:
            return Check("not_supported", reason="no passage shares its words", flags=flags)
        shown = (match.place, match.around)
        said = f"{match.words:.0%} of the words, {match.pairs:.0%} of the word pairs"
        if near is not None and near.places:
            said += f", {near.held:.0%} of the meaning"
            # The sentences around go along: a heading or a stray word alone would prove nothing.
            shown = shown if match.words >= _OWN_WORDS else (near.places[0], 1)
        quote = passages.shown(*shown)[:_QUOTE].strip()
        reason = f"{said}; {match.conflict}" if match.conflict else said
        verdict = _verdict(match, self.thresholds)
        return Check(verdict, quote, stands_in(quote, passages.text), reason=reason, flags=flags)


def nearest(said: np.ndarray, shown: np.ndarray, places: Sequence[int]) -> Near:
    """Return how far the sentences nearest to a statement hold its meaning together.

    Parameters
    ----------
    said
        The statement's embedding, of length one.
    shown
        Rows of the sentences' embeddings, of length one.
    places
        The sentences' places in the page.

    Returns
    -------
    Near
        The places of the five nearest sentences, and the length of the statement's projection onto the
        space that they span, 0 to 1: with one sentence, the cosine. It is rounded, since the last
        digits of embeddings depend on the processor.
    """
    cosines = np.round(shown @ said, 4)
    top = np.argsort(-cosines, kind="stable")[:_NEAREST]
    held = shown[top].T @ np.linalg.lstsq(shown[top].T, said, rcond=None)[0]
    return Near(tuple(places[i] for i in top), round(float(np.linalg.norm(held)), 4))


def best_match(
    claim: Claim, passages: Passages, t: Thresholds, near: Near | None = None
) -> Match | None:
    """Return the place of a page that fits a statement best, or None.

    With embeddings, the score is to two thirds what the nearest sentences hold together and to a third the
    word pairs of the place. A figure or name that the place lacks then only counts if the statement's words
    stand there, or if the whole page lacks it.
    """
    places = passages.best(claim.text, _CANDIDATES)
    if near is not None:
        places = list(dict.fromkeys([*places, *near.places]))
    found = [_match(claim, passages, p, t) for p in places if p not in passages.void]
    if near is None:
        found = [match for match in found if match.words > 0]
    else:
        lacks = _lacks(claim, passages.numbers, passages.lower, "page")
        found = [
            m._replace(
                score=(2 * near.held + m.pairs) / 3,
                conflict=m.conflict if m.words >= t.contradicted else lacks,
            )
            for m in found
        ]
    return max(found, key=lambda m: (m.score + m.words, -m.around, -m.place), default=None)


def _match(claim: Claim, passages: Passages, place: int, t: Thresholds) -> Match:
    """Compare a statement with the passage around one sentence.

    Words in a row weigh twice as much as words: the mere words of a statement are found in any text on
    its topic. The evidence is the sentence, with its neighbours where they add words.
    """
    near, wide = (_stems(passages, place, around) for around in (1, _PASSAGE))
    joined, held = (
        (len(claim.pairs & pairs(wide)) / len(claim.pairs), share(claim.weights, wide))
        if claim.pairs
        else (share(claim.weights, wide),) * 2
    )
    alone, beside = share(claim.weights, passages.stems[place]), share(claim.weights, near)
    around = int(beside > alone)
    text = passages.shown(place, around)
    conflict = _conflict(claim, text, alone, t, around)
    return Match((held + 2 * joined) / 3, max(alone, beside), joined, place, around, conflict)


def _stems(passages: Passages, place: int, around: int) -> list[str]:
    """Return the stems of a sentence and its neighbours."""
    first, last = max(place - around, 0), place + around + 1
    return [s for sentence in passages.stems[first:last] for s in sentence]


def _conflict(claim: Claim, text: str, held: float, t: Thresholds, around: int) -> str:
    """Name a figure, name or negation of a statement that a passage has otherwise, or return ""."""
    lacks = _lacks(claim, numbers(text), text.lower(), "passage")
    if not lacks and around == 0 and held >= t.contradicted:
        lacks = "one of the two is negated" if (claim.negations - negations(text)) % 2 else ""
    return lacks


def _lacks(claim: Claim, there: set[float], low: str, where: str) -> str:
    """Name the figures, or else the names, of a statement that a text lacks, or return ""."""
    lost = sorted(n for n in claim.figures if n not in there)
    if lost:
        return f"the {where} lacks the figure {', '.join(f'{n:g}' for n in lost[:3])}"
    unnamed = sorted(name for name in claim.names if name not in low)
    return f"the {where} does not name {', '.join(unnamed[:3])}" if unnamed else ""


def _verdict(match: Match, t: Thresholds) -> str:
    """Return the verdict that a match comes to."""
    if match.conflict and match.words >= t.contradicted:
        return "contradicted"
    if match.score >= t.supported:
        return "partly" if match.conflict else "supported"
    return "partly" if match.score >= t.partly and not match.conflict else "not_supported"


@lru_cache(maxsize=10_000)
def _language(text: str, declared: str) -> str:
    """Return the language of a text, or what is declared where it is too short."""
    return text_language(text, declared)


def _other_language(statement: str, text: str, declared: str) -> str:
    """Say that statement and page are in two languages, or return ""."""
    one, other = _language(statement, ""), _language(text[:3000], declared)
    return (
        f"the statement is in {one}, the page in {other}" if one and other and one != other else ""
    )
