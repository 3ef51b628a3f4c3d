"""Changes one thing in a copied sentence, so that a verifier meets statements whose truth is known.

A sentence copied from a page is backed by that page. With one figure, one name or one negation changed,
it is not. What comes out is a test of a verifier by construction, no answer of any product; how well
it does on such plain changes says little about paraphrases.
"""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import NamedTuple

import numpy as np

from sourcebench.support.lexis import names

_FIGURE = re.compile(
    r"(?<![\w.,])\d{1,3}(?:,\d{3})+(?![\d.,]*\d)|(?<![\w.,:/-])\d+(?:\.\d+)?(?![\w/:-]|[.,]\d)"
)
_VERB = re.compile(r"\b(is|are|was|were|can|may|should|will|must|has|have|had|does|do)\b(?! not\b| no\b|n't)")  # fmt: skip
_NOT = re.compile(r"\b(?:not|never) ")
_NAME = re.compile(r"(?<=[a-z,] )[A-ZÀ-ÖØ-Þ][a-zà-öø-ÿ]{3,}\b")


class Alteration(NamedTuple):
    """A changed sentence: its text, what kind of thing was changed, and how, in words."""

    text: str
    kind: str
    what: str


def alter(sentence: str, others: Sequence[str], rng: np.random.Generator) -> Alteration | None:
    """Change one figure, name or negation of a sentence, whichever chance picks among those there are.

    Parameters
    ----------
    sentence
        A sentence copied from a page.
    others
        Names from elsewhere that may take the place of one in the sentence.
    rng
        Source of chance.

    Returns
    -------
    Alteration or None
        None for a sentence in which there is nothing to change.
    """
    found = [
        made
        for made in (
            _figure(sentence, rng),
            _name(sentence, others, rng),
            _negation(sentence, rng),
        )
        if made is not None
    ]
    return found[int(rng.integers(len(found)))] if found else None


def _figure(sentence: str, rng: np.random.Generator) -> Alteration | None:
    """Change one figure by a fifth to a half, up or down."""
    matches = list(_FIGURE.finditer(sentence))
    if not matches:
        return None
    match = matches[int(rng.integers(len(matches)))]
    old = match[0]
    value, places = float(old.replace(",", "")), len(old.partition(".")[2])
    year = places == 0 and "," not in old and 1800 <= value <= 2100
    step = int(rng.integers(2, 9)) if year else value * float(rng.uniform(0.2, 0.5))
    new = value + step * (1 if rng.random() < 0.5 and not year else -1)
    text = f"{new:,.{places}f}" if "," in old else f"{new:.{places}f}"
    if text == old:
        text = f"{value + 1:.{places}f}"
    return _replaced(sentence, match.span(), text, "figure")


def _name(sentence: str, others: Sequence[str], rng: np.random.Generator) -> Alteration | None:
    """Put another name in the place of one."""
    known = names(sentence)
    matches = [m for m in _NAME.finditer(sentence) if m[0].lower() in known]
    low = sentence.lower()
    free = [name for name in others if name.lower() not in low]
    if not matches or not free:
        return None
    match = matches[int(rng.integers(len(matches)))]
    return _replaced(sentence, match.span(), free[int(rng.integers(len(free)))], "name")


def _negation(sentence: str, rng: np.random.Generator) -> Alteration | None:
    """Take a negation out, or put one behind a verb."""
    match = _NOT.search(sentence)
    if match:
        return _replaced(sentence, match.span(), "", "negation")
    match = _VERB.search(sentence)
    return _replaced(sentence, match.span(), f"{match[0]} not", "negation") if match else None


def _replaced(sentence: str, span: tuple[int, int], new: str, kind: str) -> Alteration:
    """Return a sentence with one part replaced."""
    old = sentence[slice(*span)]
    what = f"{kind}: {old.strip() or 'nothing'} became {new or 'nothing'}"
    return Alteration(sentence[: span[0]] + new + sentence[span[1] :], kind, what)


def names_in(texts: Sequence[str]) -> list[str]:
    """Return the names that stand inside the sentences of some texts, in order of first appearance."""
    return list(dict.fromkeys(m[0] for text in texts for m in _NAME.finditer(text)))
