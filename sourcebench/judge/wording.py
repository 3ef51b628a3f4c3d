"""The words put to a judge: text files, filled in from the rubric; what repeats comes first."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from datetime import date
from importlib import resources
from pathlib import Path
from string import Template
from typing import Any

from sourcebench.records import Group
from sourcebench.rubric import BY_CODE, EXAMPLES, GROUPS, SCALE, Metric

FILES = (
    "rules.txt",
    "content.txt",
    "credibility.txt",
    "usability.txt",
    "page.txt",
    "page_and_question.txt",
    "repair.txt",
    "dispute.txt",
    "answer.txt",
)

DISPUTE = ("dispute_awareness",)  # what an answer is judged on


@dataclass(frozen=True)
class Wording:
    """The prompts of one judge, for one as-of date.

    The message that comes first (rules, rubric, examples, form of the reply) is the same for every
    page of a group, then comes the page, then the question: providers charge less for a prompt
    that starts like an earlier one.

    Parameters
    ----------
    as_of
        The date on which the study looks at the web.
    texts
        The prompt files by name, as `read_prompts` returns them.
    """

    as_of: date
    texts: Mapping[str, str]
    _systems: dict[str, str] = field(default_factory=dict, compare=False, repr=False)

    def system(self, group: Group) -> str:
        """Return the first message of a group."""
        if group not in self._systems:
            words = {
                "as_of": f"{self.as_of.day} {_MONTHS[self.as_of.month - 1]} {self.as_of.year}",
                "low": SCALE[0],
                "high": SCALE[1],
                "rubric": "\n".join(_metric(BY_CODE[code]) for code in GROUPS[group]),
                "examples": _examples(group),
                "form": _form(GROUPS[group], SCALE),
            }
            words["rules"] = self._fill("rules.txt", words)
            self._systems[group] = self._fill(f"{group}.txt", words).strip()
        return self._systems[group]

    def user(self, page: str, question: str | None) -> str:
        """Return the second message: the fenced page, and the question where there is one."""
        if question is None:
            return self._fill("page.txt", {"page": page}).strip()
        words = {"page": page, "question": json.dumps(question, ensure_ascii=False)}
        return self._fill("page_and_question.txt", words).strip()

    def repair(self, problem: str) -> str:
        """Return the message that asks once more for a reply that could not be read."""
        return self._fill("repair.txt", {"problem": problem}).strip()

    def dispute(self, question: str, answer: str) -> tuple[str, str]:
        """Return both messages that ask whether a fenced answer says that its question is disputed."""
        words = {"question": json.dumps(question, ensure_ascii=False), "answer": answer}
        system = self._fill("dispute.txt", {"form": _form(DISPUTE, (0, 1))})
        return system.strip(), self._fill("answer.txt", words).strip()

    def _fill(self, name: str, words: Mapping[str, Any]) -> str:
        """Fill in one file."""
        return Template(self.texts[name]).substitute(words)

    def hash(self, group: Group) -> str:
        """Return what identifies the wording of a group: its texts, rubric, form and as-of date."""
        parts = [self.system(group), json.dumps(schema(GROUPS[group], SCALE), sort_keys=True)]
        parts += [self.texts[name] for name in ("page.txt", "page_and_question.txt", "repair.txt")]
        return hashlib.sha256("\0".join(parts).encode()).hexdigest()[:16]


_MONTHS = (
    *("January", "February", "March", "April", "May", "June"),
    *("July", "August", "September", "October", "November", "December"),
)


def read_prompts(folder: Path | None = None) -> dict[str, str]:
    """Read the prompt files; those in `folder` replace ours.

    Raises
    ------
    ValueError
        If the folder holds a file that no prompt is read from, or a text with an unknown
        placeholder.
    """
    ours = resources.files("sourcebench.judge") / "prompts"
    texts = {name: (ours / name).read_text(encoding="utf-8") for name in FILES}
    if folder is None:
        return texts
    if not folder.is_dir():
        raise ValueError(f"{folder}: no such folder; it should hold any of {', '.join(FILES)}")
    for path in sorted(folder.glob("*.txt")):
        if path.name not in FILES:
            raise ValueError(f"{path}: no prompt has this name; known are {', '.join(FILES)}")
        texts[path.name] = path.read_text(encoding="utf-8")
        _check(path, texts[path.name])
    return texts


_PLACEHOLDERS = {
    "rules.txt": {"as_of", "low", "high"},
    "page.txt": {"page"},
    "page_and_question.txt": {"page", "question"},
    "repair.txt": {"problem"},
    "dispute.txt": {"form"},
    "answer.txt": {"question", "answer"},
}
_SYSTEM = {"as_of", "low", "high", "rubric", "examples", "form", "rules"}


def _check(path: Path, text: str) -> None:
    """Refuse a prompt with a placeholder that nothing fills, or a page prompt without the page."""
    known = _PLACEHOLDERS.get(path.name, _SYSTEM)
    template = Template(text)
    if not template.is_valid():
        raise ValueError(f"{path}: a $ that is no placeholder has to be written $$")
    unknown = set(template.get_identifiers()) - known
    if unknown:
        raise ValueError(f"{path}: unknown placeholder ${min(unknown)}; known are {sorted(known)}")
    needed = {"page", "question", "answer"} & known
    missing = needed - set(template.get_identifiers())
    if missing:
        raise ValueError(f"{path}: the placeholder ${min(missing)} is missing")


# --- parts that come from the rubric -------------------------------------------------------------


def _metric(metric: Metric) -> str:
    """Return one metric with its levels and guidance."""
    levels = "\n".join(f"  {v.score} {v.label}: {v.criterion}" for v in metric.levels)
    return f"{metric.code} ({metric.name}): {metric.focus}\n{levels}\n  Note: {metric.guidance}\n"


def _examples(group: Group) -> str:
    """Return the calibration examples of a group."""
    lines = []
    for example in EXAMPLES:
        if example.group != group:
            continue
        question = f" Question: {example.query}" if example.query else ""
        scores = ", ".join(f"{code} {score}" for code, score in example.scores)
        lines.append(f"- {example.page}.{question} Scores: {scores}. Why: {example.why}")
    return "\n".join(lines) + "\n"


def _form(codes: Sequence[str], scale: tuple[int, int]) -> str:
    """Say what a reply looks like, without numbers that could be copied."""
    entry = f'{{"reason": "...", "score": {scale[0]} to {scale[1]}}}'
    shape = ", ".join(f'"{code}": {entry}' for code in codes)
    return f"One JSON object with exactly these keys, and nothing around it:\n{{{shape}}}"


def schema(codes: Sequence[str], scale: tuple[int, int]) -> dict[str, Any]:
    """Return the JSON schema of a reply: for each code the reason first, then the score."""
    entry = {
        "type": "object",
        "properties": {
            "reason": {"type": "string"},
            "score": {"type": "integer", "enum": list(range(scale[0], scale[1] + 1))},
        },
        "required": ["reason", "score"],
        "additionalProperties": False,
    }
    return {
        "type": "object",
        "properties": dict.fromkeys(codes, entry),
        "required": list(codes),
        "additionalProperties": False,
    }
