"""How much of a question a page takes up: shared words weighted by rarity, or sentence embeddings."""

from __future__ import annotations

import math
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from functools import cache, lru_cache

import numpy as np

from sourcebench.judge.evidence import Page, cues, word_frequencies, words

Embedder = Callable[[Sequence[str]], np.ndarray]

_ENDINGS = (
    *("ations", "ation", "ings", "ing", "edly", "ers", "ies", "ed", "es", "ly", "er", "en"),
    *("s", "e", "n"),
)
_RAREST = 14.0  # weight of a word that the frequency list does not hold, about log(1e6)


@dataclass(frozen=True)
class Overlap:
    """Shares, 0 to 1, of the question's weighted words that parts of a page hold."""

    title: float
    lead: float
    passage: float
    whole: float
    saturation: float  # BM25 of the text over its upper limit
    stuffing: float  # share of the page's words that are question words
    missing: tuple[str, ...]  # question words that the page lacks, the rarest first

    @property
    def index(self) -> float:
        """Return the mean of the five shares."""
        return (self.title + self.lead + self.passage + self.whole + self.saturation) / 5


@lru_cache(maxsize=100_000)
def stem(word: str) -> str:
    """Return a word without its commonest endings; rough, and the same for all languages."""
    word = word.removesuffix("'s")
    for ending in _ENDINGS:
        if word.endswith(ending) and len(word) - len(ending) >= 4:
            word = word.removesuffix(ending)
            break
    return word[:-1] if len(word) > 4 and word[-1] == word[-2] else word


def question_weights(question: str) -> dict[str, tuple[float, str]]:
    """Return stem -> (rarity, word) of a question's content words.

    Rarity is the negative log frequency in an English word list; words it lacks (names, numbers,
    other languages) weigh most.
    """
    counts = word_frequencies()
    total = sum(counts.values()) or 1
    found = {}
    for word in words(question):
        if (word,) in cues()["function_words"] or len(word) < 2:
            continue
        seen = counts.get(word, 0)
        weight = min(math.log(total / seen), _RAREST) if seen else _RAREST
        found[stem(word)] = (weight, word)
    return found


def overlap(question: str, page: Page, t: dict[str, float]) -> Overlap | None:
    """Return the lexical overlap of question and page; None for a question without content words."""
    weights = question_weights(question)
    total = sum(w for w, _ in weights.values())
    if not total:
        return None

    def share(stems: set[str]) -> float:
        return sum(w for s, (w, _) in weights.items() if s in stems) / total

    title = {stem(w) for w in page.title_tokens}
    body = [stem(w) for w in page.tokens]
    counts = Counter(s for s in body if s in weights)
    present = title | counts.keys()
    k1, size = t["saturation"], int(t["window"])
    norm = k1 * (0.25 + 0.75 * len(body) / t["mean_length"])
    return Overlap(
        title=share(title),
        lead=share(title | set(body[: int(t["lead"])])),
        passage=max((share(p) for p in _passages(body, weights, size)), default=0.0),
        whole=share(present),
        saturation=sum(w * counts[s] / (counts[s] + norm) for s, (w, _) in weights.items()) / total,
        stuffing=sum(counts.values()) / max(len(body), 1),
        missing=tuple(w for s, (_, w) in sorted(weights.items(), key=_rarest) if s not in present),
    )


def _rarest(item: tuple[str, tuple[float, str]]) -> tuple[float, str]:
    """Order question words from rare to common."""
    return -item[1][0], item[1][1]


def _passages(body: list[str], weights: dict, size: int) -> list[set[str]]:
    """Return the question stems in each half-overlapping passage of `size` words."""
    step = max(size // 2, 1)
    found = [{s for s in body[i : i + size] if s in weights} for i in range(0, len(body), step)]
    return [p for p in found if p]


def similarity(question: str, page: Page, embed: Embedder, size: int = 120, best: int = 3) -> float:
    """Return the mean cosine of the question with its `best` nearest passages of `size` words.

    `embed` maps texts to rows of a matrix. Passages are taken evenly over the page, 40 at most.
    """
    parts = page.text.split()
    passages = [" ".join(parts[i : i + size]) for i in range(0, len(parts), size)]
    passages = passages[:: max(1, -(-len(passages) // 40))]
    rows = np.asarray(embed([question, *(f"{page.packet.title}. {p}" for p in passages)]), float)
    rows /= np.maximum(np.linalg.norm(rows, axis=1, keepdims=True), 1e-12)
    near = np.sort(rows[1:] @ rows[0])[::-1][:best]
    return float(near.mean()) if near.size else 0.0


@cache
def _identifier():
    """Return the language identifier with probabilities."""
    from py3langid.langid import MODEL_FILE, LanguageIdentifier

    return LanguageIdentifier.from_model_file(MODEL_FILE, norm_probs=True)


@lru_cache(maxsize=1_000)
def _language_odds(question: str) -> dict[str, float]:
    """Return the probability of each language for a question, the likeliest first."""
    return {code: float(p) for code, p in _identifier().rank(question[:1000])}


def language_mismatch(question: str, language: str, t: dict[str, float]) -> str:
    """Return the question's language where it surely is another than the page's, else ""."""
    odds = _language_odds(question)
    top = next(iter(odds))
    known = odds.get(language[:2].lower())
    if known is None or odds[top] < t["sure_language"] or known >= t["other_language"]:
        return ""
    return top
