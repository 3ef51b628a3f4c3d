"""Reads a judge's reply strictly: a score that is plainly there, or the reason why there is none."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from sourcebench.records import Verdict
from sourcebench.rubric import SCALE

_LONGEST = 100_000  # characters of a reply that are looked at
_LONGEST_REASON = 1_000
_LONGEST_MENDED = 20_000
_UNPRINTABLE = re.compile("[\x00-\x1f\x7f-\x9f\ud800-\udfff]")

ScoreStatus = Literal[
    "ok",
    "ok_repaired",
    "out_of_range",
    "not_whole",
    "unreadable",
    "wrong_type",
    "missing",
    "not_applicable",
    "ambiguous",
]


@dataclass(frozen=True)
class Reading:
    """What a reply says: one verdict for each metric, and what is wrong with it as a whole."""

    verdicts: tuple[Verdict, ...]
    problem: str = ""  # empty when every metric has a readable verdict

    @property
    def scored(self) -> int:
        """Return how many metrics have a score."""
        return sum(verdict.score is not None for verdict in self.verdicts)


def read_reply(text: str, names: Mapping[str, str], scale: tuple[int, int] = SCALE) -> Reading:
    """Read one verdict for each metric from the text of a reply.

    The text is taken as JSON; else the JSON in a fence or in prose is taken; else brackets,
    quotes and commas are mended, which marks every verdict as repaired. Nothing is clamped,
    guessed from words, or completed: a reply that breaks off, that gives two different verdicts,
    or that gives a metric twice has none.

    Parameters
    ----------
    text
        The reply.
    names
        The metrics that were asked for: code and full name; replies may use either as key.
    scale
        Lowest and highest score.
    """
    try:
        found, problem, repaired = _find_verdict(text[:_LONGEST], names)
    except RecursionError:
        found, problem, repaired = None, "nested too deeply", False
    if found is None:
        return Reading(tuple(Verdict(c, None, problem, "no_verdict") for c in names), problem)
    verdicts = tuple(_verdict(code, found.get(code, {}), scale, repaired) for code in names)
    unread = [v.metric for v in verdicts if v.outcome == "no_verdict"]
    return Reading(verdicts, f"no readable score for {', '.join(unread)}" if unread else "")


def read_score(value: Any, scale: tuple[int, int] = SCALE) -> tuple[ScoreStatus, int | None]:
    """Return what a value is worth as a score: its status, and the score if there is one.

    A number in text ("4", "4/5", "4 out of 5", "5.0") is read and marked as repaired. `True` is no
    1, a range is no score, and nothing is moved into the scale.
    """
    if value is None or value == "":
        return "missing", None
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        return "wrong_type", None
    if isinstance(value, str):
        status, number = _number_in(value, scale)
        if number is None:
            return status, None
        status, score = read_score(number, scale)
        return ("ok_repaired" if status == "ok" else status), score
    if value != value or value in (float("inf"), float("-inf")):
        return "unreadable", None
    if not scale[0] <= value <= scale[1]:
        return "out_of_range", None
    return ("ok", int(value)) if value == int(value) else ("not_whole", None)


_NUMBER = re.compile(r"([+-]?\d{1,9}(?:\.\d{1,9})?)(?:\s*(?:/|out of|of)\s*(\d{1,3}))?", re.I)
_RANGE = re.compile(r"\d\s*(?:-|–|to|or|\.\.)\s*\d")
_NOT_APPLICABLE = ("n/a", "na", "not applicable", "none", "null", "-")


def _number_in(text: str, scale: tuple[int, int]) -> tuple[ScoreStatus, float | None]:
    """Return the number that a text consists of, if it is one."""
    text = text.strip().lower()
    if text in _NOT_APPLICABLE:
        return "not_applicable", None
    if _RANGE.fullmatch(text):
        return "ambiguous", None
    match = _NUMBER.fullmatch(text)
    if not match or (match[2] and int(match[2]) != scale[1]):
        return "unreadable", None
    return "ok", float(match[1])


_WORDS = {
    "out_of_range": "outside the scale",
    "not_whole": "not a whole number",
    "unreadable": "not a number",
    "wrong_type": "not a number",
    "missing": "no score given",
    "not_applicable": "called not applicable",
    "ambiguous": "more than one number",
}


def _verdict(code: str, found: dict, scale: tuple[int, int], repaired: bool) -> Verdict:
    """Turn what was found for one metric into its verdict."""
    status, score = read_score(found.get("score"), scale)
    reason = " ".join(_UNPRINTABLE.sub(" ", str(found.get("reason") or "")).split())
    reason = reason[:_LONGEST_REASON]
    if score is not None:
        mended = repaired or status == "ok_repaired"
        return Verdict(code, score, reason, "repaired" if mended else "scored")
    said = f" ({found['score']!r:.60})" if "score" in found else ""
    why = f"{_WORDS[status]}{said}"
    outcome = "out_of_range" if status == "out_of_range" else "no_verdict"
    return Verdict(code, None, f"{why}: {reason}" if reason else why, outcome)


# --- finding the verdict in a reply --------------------------------------------------------------


class _TwiceError(ValueError):
    """A score is given twice; JSON readers would keep the last in silence."""


def _find_verdict(text: str, names: Mapping[str, str]) -> tuple[dict[str, dict] | None, str, bool]:
    """Return scores and reasons by metric, or None and why; and whether the reply was mended."""
    text = without_thinking(text).strip()
    if not text:
        return None, "empty reply", False
    try:
        whole = strict_json(text)
    except _TwiceError as error:
        return None, str(error), False
    except ValueError:
        return _find_in_prose(text, names)
    try:
        found, plain = _by_metric(whole, names)
    except _TwiceError as error:
        return None, str(error), False
    if found:
        return found, "", not plain
    return None, "the reply is JSON without a verdict", False


def without_thinking(text: str) -> str:
    """Return a reply without the thinking that some models put before it, ended or not."""
    text = re.sub(r"<(think|thinking|reasoning)>.*?</\1>", "", text, flags=re.S | re.I)
    text = re.sub(r"\A.*</(think|thinking|reasoning)>", "", text, flags=re.S | re.I)
    return re.sub(r"\A[^{\[]*<(think|thinking|reasoning)>.*\Z", "", text, flags=re.S | re.I)


def strict_json(text: str) -> Any:
    """Read JSON that repeats no key; NaN, which is no JSON, is read as such and is no score."""

    def once(pairs: list[tuple[str, Any]]) -> dict[str, Any]:
        keys = [key for key, _ in pairs]
        twice = [key for key in keys if keys.count(key) > 1]
        if twice:
            raise _TwiceError(f"{twice[0]!r:.40} is given twice")
        return dict(pairs)

    try:
        return json.loads(text, object_pairs_hook=once, parse_constant=float)
    except RecursionError:
        raise ValueError("nested too deeply") from None


def _find_in_prose(text: str, names: Mapping[str, str]) -> tuple[dict[str, dict] | None, str, bool]:
    """Look for one verdict among the JSON objects of a text; several must agree."""
    found: list[dict[str, dict]] = []
    for part in objects_in(text):
        try:
            verdict, _ = _by_metric(_mended(part, names), names)
        except _TwiceError as error:
            return None, str(error), True
        except ValueError:
            continue
        if verdict:
            found.append(verdict)
    if not found:
        cut = text.count("{") > text.count("}")
        return None, ("the reply breaks off" if cut else "no verdict in the reply"), False
    try:
        return _agreed(found), "", True
    except _TwiceError as error:
        return None, str(error), True


def _scores(found: dict[str, dict]) -> dict[str, Any]:
    """Return the bare scores of a verdict."""
    return {code: value.get("score") for code, value in found.items()}


def objects_in(text: str, most: int = 50) -> Iterator[str]:
    """Yield the outermost balanced `{...}` and `[...]` of a text; what is not closed is left out."""
    place = 0
    for _ in range(most):
        start = _next_bracket(text, place)
        if start is None:
            return
        end = _closing(text, start)
        if end is not None:
            yield text[start:end]
        place = end or start + 1


def _next_bracket(text: str, place: int) -> int | None:
    """Return where the next object or list begins."""
    match = re.compile(r"[{\[]").search(text, place)
    return match.start() if match else None


def _closing(text: str, start: int) -> int | None:
    """Return the place after the bracket that closes the one at `start`, minding double quotes."""
    depth, quoted, escaped = 0, False, False
    for place in range(start, len(text)):
        char = text[place]
        if quoted:
            if escaped:
                escaped = False
            elif char == "\\":
                escaped = True
            elif char == '"':
                quoted = False
        elif char == '"':
            quoted = True
        elif char in "{[":
            depth += 1
        elif char in "}]":
            depth -= 1
            if depth == 0:
                return place + 1
    return None


def _mended(part: str, names: Mapping[str, str]) -> Any:
    """Read JSON with slips in it: typographic or single quotes, trailing commas, missing quotes."""
    if '"' not in part:
        part = part.translate(_TYPED)
    try:
        return strict_json(part)
    except _TwiceError:
        raise
    except ValueError:
        pass
    for code, name in names.items():
        key = rf"""["']?(?:{re.escape(code)}|{re.escape(name)})["']?\s*:"""
        if len(re.findall(key, part, flags=re.I)) > 1:
            raise _TwiceError(f"{code!r} is given twice")
    if re.search(r"\b(NaN|-?Infinity)\b", part):
        raise ValueError("NaN is no score")
    from json_repair import loads

    if len(part) > _LONGEST_MENDED:
        raise ValueError("too long to mend")
    return loads(part, skip_json_loads=True)


_TYPED = str.maketrans("“”„«»：，", '"""""' + ":,")


# --- shapes of a verdict -------------------------------------------------------------------------


def _plain(text: Any) -> str:
    """Return a key without case, blanks and punctuation."""
    return re.sub(r"[^a-z0-9]", "", str(text).lower())


def _by_metric(value: Any, names: Mapping[str, str]) -> tuple[dict[str, dict], bool]:
    """Return score and reason by metric, and whether the reply kept the form it was asked for."""
    codes = {_plain(label): code for code, name in names.items() for label in (code, name)}
    if isinstance(value, list):
        return _from_list(value, codes), False
    if isinstance(value, str):
        opened = _opened(value)
        return (_by_metric(opened, names)[0] if opened is not value else {}), False
    if not isinstance(value, dict):
        return {}, False
    found = _from_object(value, codes)
    if found:
        return found, all(key in names for key in value)
    if len(names) == 1 and "score" in value:
        return {next(iter(names)): _entry(value, value)}, False
    inner = [_by_metric(_opened(v), names)[0] for v in value.values()]
    return _agreed([verdict for verdict in inner if verdict]), False


def _opened(value: Any) -> Any:
    """Return the object that a text holds, for replies that were put into quotes once more."""
    if not isinstance(value, str) or not value.lstrip().startswith(("{", "[")):
        return value
    try:
        return strict_json(value)
    except _TwiceError:
        raise
    except ValueError:
        return value


def _agreed(found: list[dict[str, dict]]) -> dict[str, dict]:
    """Return the verdict that all of these are; two that differ are none."""
    if any(_scores(verdict) != _scores(found[0]) for verdict in found[1:]):
        raise _TwiceError("two verdicts that differ")
    return found[0] if found else {}


def _from_object(value: dict, codes: Mapping[str, str]) -> dict[str, dict]:
    """Read an object whose keys are metrics."""
    found: dict[str, dict] = {}
    for key, entry in value.items():
        code = codes.get(_plain(key))
        if code in found:
            raise _TwiceError(f"{code!r} is given twice")
        if code:
            found[code] = _entry(entry, value)
    return found


def _from_list(value: Sequence, codes: Mapping[str, str]) -> dict[str, dict]:
    """Read a list of objects that each name their metric."""
    found: dict[str, dict] = {}
    for entry in value:
        if not isinstance(entry, dict):
            continue
        labels = (entry.get(k) for k in ("metric", "criterion", "code", "name", "dimension"))
        code = next((codes[_plain(label)] for label in labels if _plain(label) in codes), None)
        if code in found:
            raise _TwiceError(f"{code!r} is given twice")
        if code:
            found[code] = _entry(entry, entry)
    return found


def _entry(entry: Any, around: dict) -> dict[str, Any]:
    """Return score and reason of one metric; a bare number takes the reason beside it."""
    if not isinstance(entry, dict):
        return {"score": entry, "reason": _reason(around)}
    made = {"reason": _reason(entry)}
    for key in ("score", "rating", "value"):
        if key in entry:
            return made | {"score": entry[key]}
    return made


def _reason(entry: dict) -> Any:
    """Return what an object gives as its reason."""
    for key in ("reason", "justification", "explanation", "analysis"):
        if isinstance(entry.get(key), str):
            return entry[key]
    return ""
