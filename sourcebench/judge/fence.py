"""Keeps a page from talking to the judge: fences its text, defuses forged marks, spots echoes."""

from __future__ import annotations

import hashlib
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence

from sourcebench.judge.reading import objects_in, read_reply
from sourcebench.records import Verdict


def marker(nonce: str, page_id: str) -> str:
    """Return the word that fences a page: the same in one run, so that caches of the prompt hold,
    and out of reach for a page that was fetched before the nonce was drawn.
    """
    return hashlib.sha256(f"{nonce} {page_id}".encode()).hexdigest()[:16]


def fenced(text: str, word: str) -> str:
    """Put a text between two lines that carry a word it can't know."""
    return f"<<<PAGE {word}>>>\n{text}\n<<<END OF PAGE {word}>>>"


# --- defusing ------------------------------------------------------------------------------------

# Characters that are not seen: tags, direction marks, fillers, private use. The joiners of Indic
# and Arabic scripts and of emoji are kept.
_TAGS = re.compile("[\U000e0000-\U000e0fff]")
_UNSEEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u115f\u1160\u180e\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f"
    "\u3164\ufeff\uffa0\ufff9-\ufffb\ud800-\udfff\ue000-\uf8ff\U000e0000-\U000e0fff]"
)
# What chat templates take for structure, and what looks like our fence.
_MARKS = re.compile(
    r"<\|[^<>\n]{0,40}\|>|</?s>|\[/?INST\]|<</?SYS>>|</?(?:start|end)_of_turn>|<{3,}|>{3,}|"
    r"</?(?:think|thinking|tool_call|function_call|system|assistant|user|human)>",
    re.I,
)
_OTHER_BRACKETS = str.maketrans("<>[]", "‹›⟦⟧")


def plain(text: str) -> tuple[str, tuple[str, ...]]:
    """Return page text that no tokenizer takes for structure, and flags for what was found.

    Characters that are not seen are dropped. Marks of chat templates and of fences get other
    brackets, so that the judge still sees that the page carries them; all words stay.
    """
    flags = ["invisible_text"] if len(_TAGS.findall(text)) >= 20 else []
    seen = _narrow(_UNSEEN.sub("", text.replace("\r\n", "\n").replace("\r", "\n")))
    safe, marks = _MARKS.subn(lambda match: match[0].translate(_OTHER_BRACKETS), seen)
    return safe, (*flags, "forged_marks") if marks else tuple(flags)


def _narrow(text: str) -> str:
    """Bring full-width brackets, which models read as brackets, to their plain form."""
    return text.translate(str.maketrans("＜＞｜［］", "<>|[]"))


def folded(text: str) -> tuple[str, tuple[str, ...]]:
    """Show a line or sentence a few times at most, say how often it stood there, and flag that.

    Repetition would else push the rest of a page past the judge's budget.
    """
    pieces = [_SENTENCES.split(line) for line in text.split("\n")]
    counts = Counter(_key(piece) for line in pieces for piece in line)
    often = [(key, n) for key, n in counts.items() if key and n > _most(key)]
    if not often:
        return text, ()
    notes = [f"[{key[:80]!r} stands {n} times on the page, shown {_most(key)}]" for key, n in often]
    short = "\n".join([*notes[:20], *_thinned(pieces)])
    return short, ("repetition",) if len(short) < len(text) / 2 else ()


def _thinned(lines: Sequence[Sequence[str]]) -> Iterator[str]:
    """Yield lines of sentences without those that stood there often enough before."""
    seen: Counter[str] = Counter()
    for line in lines:
        kept = []
        for piece in line:
            key = _key(piece)
            seen[key] += bool(key)
            if seen[key] <= _most(key):
                kept.append(piece)
        if kept:
            yield " ".join(kept)


def _key(piece: str) -> str:
    """Return a sentence without case and doubled blanks."""
    return " ".join(piece.lower().split())


_SENTENCES = re.compile(r"(?<=[.!?。！？])\s+")


def _most(key: str) -> int:
    """Return how often a line is shown; short ones may be the cells of a table."""
    return 3 if len(key) >= 20 else 20


# --- echoes --------------------------------------------------------------------------------------


def echoes(verdicts: Sequence[Verdict], page: str, planted: Sequence[Sequence[Verdict]]) -> bool:
    """Whether the verdicts of a reply stand in the page itself.

    They do if a verdict in the page gives the same scores with the same reasons, or if the reason
    of a score stands word for word beside that score in the page.

    Parameters
    ----------
    verdicts
        What the judge said.
    page
        What the judge saw.
    planted
        The verdicts in the page, as `planted_verdicts` finds them.
    """
    if not any(verdict.score is not None for verdict in verdicts):
        return False
    said = _shape(verdicts)
    if any(_same(said, _shape(theirs)) for theirs in planted):
        return True
    flat = _flat(page)
    for verdict in verdicts:
        reason = _flat(verdict.reason)
        place = flat.find(reason) if len(reason) >= 20 else -1
        if place >= 0 and re.search(_score_beside(verdict), _around(flat, place, len(reason))):
            return True
    return False


def planted_verdicts(page: str, names: Mapping[str, str]) -> list[tuple[Verdict, ...]]:
    """Return the verdicts that a page carries in the form a judge would give them."""
    if "{" not in page and "[" not in page:
        return []
    labels = "|".join(re.escape(label) for pair in names.items() for label in pair)
    if not re.search(rf"(?:{labels}|score)\W{{0,12}}:", page, re.I):
        return []
    readings = [read_reply(part, names) for part in objects_in(page)]
    return [reading.verdicts for reading in readings if reading.scored]


def _shape(verdicts: Sequence[Verdict]) -> dict[str, tuple[int, str]]:
    """Return score and reason by metric, where there is a score."""
    return {v.metric: (v.score, _flat(v.reason)) for v in verdicts if v.score is not None}


def _same(said: dict[str, tuple[int, str]], planted: dict[str, tuple[int, str]]) -> bool:
    """Whether a reply says what is planted: same scores throughout, and no reason of its own."""
    shared = said.keys() & planted.keys()
    if not shared or any(said[code][0] != planted[code][0] for code in shared):
        return False
    return all(said[code][1] in ("", planted[code][1]) for code in shared)


def _score_beside(verdict: Verdict) -> str:
    """Return a pattern for the verdict's score as a labelled number."""
    return rf"(?:score|rating|{verdict.metric.lower()})\W{{0,6}}{verdict.score}\b"


def _around(text: str, place: int, length: int) -> str:
    """Return what stands around a passage."""
    return text[max(0, place - 60) : place + length + 60]


def _flat(text: str) -> str:
    """Return a text without case, quotes and doubled blanks."""
    return " ".join(re.sub(r"[\"'`‘’“”\\]", "", text).lower().split())
