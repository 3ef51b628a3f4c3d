"""Reads replies about numbered statements strictly: what is plainly there, or why there is nothing."""

from __future__ import annotations

import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import Any

from sourcebench.judge.reading import objects_in, strict_json, without_thinking
from sourcebench.records import SUPPORT_VERDICTS

_LONGEST = 100_000  # characters of a reply that are looked at
_LONGEST_MENDED = 20_000
_LONGEST_STATEMENT = 600
_MOST_STATEMENTS = 12  # of one sentence
_VERDICTS = {re.sub(r"\W|_", "", verdict): verdict for verdict in SUPPORT_VERDICTS}


@dataclass(frozen=True)
class Numbered:
    """What a reply gives for each number, and what is wrong with it as a whole."""

    found: Mapping[int, Any] = field(default_factory=dict)
    problem: str = ""
    repaired: bool = False


def read_verdicts(text: str, count: int) -> Numbered:
    """Read a verdict and a quotation for each of `count` statements.

    Returns
    -------
    Numbered
        Number to (verdict, quotation). A number without a readable verdict is absent; one that the
        reply gives twice makes the whole reply unreadable.
    """
    return _read(text, count, _verdict)


def read_statements(text: str, count: int) -> Numbered:
    """Read the statements of each of `count` sentences: number to a list of texts, maybe empty."""
    return _read(text, count, _statements)


def read_questions(text: str, count: int) -> Numbered:
    """Read `count` questions: number to a text that ends with a question mark."""
    return _read(text, count, _question)


def _question(value: Any) -> str | None:
    """Return one question."""
    said = " ".join(value.split()) if isinstance(value, str) else ""
    return said if said.endswith(("?", "？")) and len(said) <= _LONGEST_STATEMENT else None


def _verdict(value: Any) -> tuple[str, str] | None:
    """Return verdict and quotation of one entry."""
    if not isinstance(value, dict) or not isinstance(value.get("verdict"), str):
        return None
    verdict = _VERDICTS.get(re.sub(r"\W|_", "", value["verdict"].lower()))
    quote = value.get("quote")
    return (verdict, quote.strip() if isinstance(quote, str) else "") if verdict else None


def _statements(value: Any) -> list[str] | None:
    """Return the statements of one sentence."""
    if not isinstance(value, list) or not all(isinstance(one, str) for one in value):
        return None
    said = [" ".join(one.split()) for one in value]
    fits = all(0 < len(one) <= _LONGEST_STATEMENT for one in said)
    return said if fits and len(said) <= _MOST_STATEMENTS else None


def _read(text: str, count: int, entry: Callable[[Any], Any]) -> Numbered:
    """Read the numbered entries of a reply."""
    text = without_thinking(text[:_LONGEST]).strip()
    if not text:
        return Numbered(problem="empty reply")
    try:
        whole, repaired = _object(text)
    except (ValueError, RecursionError) as error:
        return Numbered(problem=str(error) or "no JSON")
    numbers = {str(n): n for n in range(1, count + 1)}
    found = {
        numbers[key]: made
        for key, value in whole.items()
        if key in numbers and (made := entry(value)) is not None
    }
    missing = [n for n in range(1, count + 1) if n not in found]
    problem = f"nothing readable for {', '.join(map(str, missing))}" if missing else ""
    return Numbered(found, problem, repaired)


def _object(text: str) -> tuple[dict[str, Any], bool]:
    """Return the one object of a reply, and whether it took mending to find it."""
    try:
        whole = strict_json(text)
    except ValueError as error:
        if "given twice" in str(error):
            raise
    else:
        if isinstance(whole, dict):
            return whole, False
        raise ValueError("the reply is JSON, but no object")
    parts = [part for part in objects_in(text) if part.startswith("{")]
    if len(parts) != 1:
        cut = text.count("{") > text.count("}")
        raise ValueError("the reply breaks off" if cut else f"{len(parts)} objects in the reply")
    return _mended(parts[0]), True


def _mended(part: str) -> dict[str, Any]:
    """Read an object with slips in it; a number given twice has no reading."""
    try:
        whole = strict_json(part)
    except ValueError as error:
        if "given twice" in str(error):
            raise
        from json_repair import loads

        keys = re.findall(r"[\"'](\d{1,3})[\"']\s*:", part)
        if len(part) > _LONGEST_MENDED or len(keys) != len(set(keys)):
            raise ValueError("the object can't be read") from None
        whole = loads(part, skip_json_loads=True)
    if not isinstance(whole, dict):
        raise ValueError("no object in the reply")
    return whole
