"""The words, numbers, names and negations of a text, as the offline verifier compares them."""

from __future__ import annotations

import math
import re
from collections.abc import Iterable
from functools import lru_cache
from itertools import pairwise

from sourcebench.judge.evidence import cues, word_frequencies, words
from sourcebench.judge.relevance import stem

_RAREST = 14.0  # weight of a word that the frequency list does not hold, about log(1e6)
_WIDE = re.compile("[\u3040-\u30ff\u3400-\u9fff\uac00-\ud7af]{2,}")
_NUMBER = re.compile(r"\d{1,3}(?:[,\u202f]\d{3})+(?:\.\d+)?(?!\d)|\d+(?:[.,]\d+)?")
_GROUPED = re.compile(r"\d{1,3}(?:[,\u202f]\d{3})+(?:\.\d+)?$")
_NAME = re.compile(r"(?<=[\w,;:)\"”’] )[A-ZÀ-ÖØ-Þ][\w’'-]*(?:[ -][A-ZÀ-ÖØ-Þ][\w’'-]*)*")
_LETTERS = re.compile(r"[^\W\d_]+")
_NUMBER_WORDS = dict(
    zip(
        [
            "one",
            "two",
            "three",
            "four",
            "five",
            "six",
            "seven",
            "eight",
            "nine",
            "ten",
            "eleven",
            "twelve",
            "thirteen",
            "fourteen",
            "fifteen",
            "sixteen",
            "seventeen",
            "eighteen",
            "nineteen",
            "twenty",
        ],
        range(1, 21),
        strict=True,
    )
)
_NEGATIONS = frozenset(
    [
        "not",
        "no",
        "never",
        "none",
        "neither",
        "nor",
        "without",
        "cannot",
        "isn't",
        "aren't",
        "wasn't",
        "weren't",
        "don't",
        "doesn't",
        "didn't",
        "can't",
        "couldn't",
        "won't",
        "wouldn't",
        "shouldn't",
        "hasn't",
        "haven't",
        "hadn't",
        "nicht",
        "kein",
        "keine",
        "nie",
        "ne",
        "pas",
        "jamais",
        "sin",
        "nunca",
    ]
)


def terms(text: str) -> list[str]:
    """Return the stems of a text's words in order; scripts without blanks give pairs of characters."""
    found = []
    for word in words(text):
        if _WIDE.search(word):
            found += [word[i : i + 2] for i in range(max(len(word) - 1, 1))]
        else:
            found.append(stem(word))
    return found


def weights(text: str) -> dict[str, float]:
    """Return the rarity of each content word of a text by its stem; numbers are compared apart."""
    found: dict[str, float] = {}
    for word in words(text):
        if _WIDE.search(word):
            found |= {word[i : i + 2]: 1.0 for i in range(len(word) - 1)}
        elif (word,) not in cues()["function_words"] and len(word) > 1 and not word[0].isdigit():
            found[stem(word)] = _rarity(word)
    return found


@lru_cache(maxsize=100_000)
def _rarity(word: str) -> float:
    """Return the negative log frequency of a word in an English list."""
    seen = word_frequencies().get(word, 0)
    return min(math.log(_total() / seen), _RAREST) if seen else _RAREST


@lru_cache(maxsize=1)
def _total() -> int:
    """Return how many words the frequency list counts."""
    return sum(word_frequencies().values()) or 1


def share(wanted: dict[str, float], there: Iterable[str]) -> float:
    """Return the share of the weighted words that a text holds; 0 for no words."""
    total = sum(wanted.values())
    there = set(there)
    return sum(w for s, w in wanted.items() if s in there) / total if total else 0.0


def pairs(stems: list[str]) -> set[tuple[str, str]]:
    """Return the neighbouring words of a text."""
    return set(pairwise(stems))


def figures(text: str) -> set[float]:
    """Return the numbers that a text gives in digits, by value: 3,500 and 3500 are one."""
    found = set()
    for match in _NUMBER.finditer(text):
        plain = (
            re.sub(r"[,\u202f](?=\d{3})", "", match[0]) if _GROUPED.match(match[0]) else match[0]
        )
        found.add(float(plain.replace(",", ".")))
    return found


def numbers(text: str) -> set[float]:
    """Return the numbers of a text by value, words up to twenty included."""
    return figures(text) | {float(_NUMBER_WORDS[w]) for w in words(text) if w in _NUMBER_WORDS}


def names(text: str) -> set[str]:
    """Return the words of the names inside the sentences of a text, in lower case.

    A text with capitals throughout, such as a headline, tells nothing about names.
    """
    there = [w for w in _LETTERS.findall(text) if len(w) > 3]
    if sum(w[0].isupper() for w in there) > 0.6 * len(there) and len(there) > 3:
        return set()
    return {
        part
        for match in _NAME.finditer(text)
        for raw in re.split(r"[ -]", match[0])
        if len(part := raw.lower().removesuffix("'s").removesuffix("’s")) > 2
        and (part,) not in cues()["function_words"]
    }


def negations(text: str) -> int:
    """Return how many negations a text has."""
    return sum(word in _NEGATIONS or word.endswith("n't") for word in words(text))
