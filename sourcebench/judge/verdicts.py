"""From a reply that was read to the verdicts on a page: outcomes, flags, and who gave them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import replace
from datetime import date

from sourcebench.judge.doubts import doubts
from sourcebench.judge.endpoint import Reply
from sourcebench.judge.fence import echoes, planted_verdicts
from sourcebench.judge.reading import Reading
from sourcebench.judge.request import Request
from sourcebench.records import Group, Packet, Verdict
from sourcebench.rubric import BY_CODE, GROUPS


def names_of(group: Group) -> dict[str, str]:
    """Return the metrics of a group, code and full name."""
    return {code: BY_CODE[code].name for code in GROUPS[group]}


def verdicts_on(
    request: Request, reply: Reply, reading: Reading, packet: Packet, as_of: date
) -> list[Verdict]:
    """Return one verdict for each metric that a request asks for, with outcome, flags and origin.

    Parameters
    ----------
    request
        The first request of the task: what the judge saw.
    reply, reading
        The reply that counts, and what was read in it.
    packet, as_of
        The page, and the date that its age is counted to: what a verdict may contradict.
    """
    names = names_of(request.about["group"])
    seen = request.messages[1]["content"]
    planted = planted_verdicts(seen, names)
    if reply.status != "reply":
        outcome = "no_verdict" if reply.status == "empty" else reply.status
        verdicts = [Verdict(code, None, reply.reason, outcome) for code in names]
    elif not reading.scored and refuses(reply.text):
        said = " ".join(reply.text.split())[:200]
        verdicts = [Verdict(code, None, f"refused: {said}", "refused") for code in names]
    elif echoes(reading.verdicts, seen, planted):
        why = "the verdict stands in the page itself"
        verdicts = [Verdict(code, None, why, "echoed") for code in names]
    else:
        verdicts = list(reading.verdicts)
    flags = [*request.flags, *(["planted_verdict"] if planted else [])]
    flags += ["prompt_cut"] if _prompt_cut(request, reply) else []
    return [
        _signed(verdict, reply, [*flags, *doubts(verdict, packet, as_of)]) for verdict in verdicts
    ]


def _signed(verdict: Verdict, reply: Reply, flags: Sequence[str]) -> Verdict:
    """Add flags and origin to a verdict."""
    found = tuple(dict.fromkeys(flags))
    return replace(verdict, flags=found, model=reply.model, judged_at=reply.at)


_REFUSAL = re.compile(
    r"\W*(?:i['’]?m (?:very )?sorry|sorry\b|i (?:can['’]?t|can ?not|could ?n['’]?t|won['’]?t|am unable|am not able|"
    r"must decline|will not)|as an ai\b|unable to (?:help|assist|rate|comply))",
    re.I,
)


def refuses(text: str) -> bool:
    """Whether a reply without a verdict is a refusal in words."""
    return bool(_REFUSAL.match(text.strip())) and "{" not in text


def _prompt_cut(request: Request, reply: Reply) -> bool:
    """Whether the endpoint read far less than it was sent, by its own count."""
    read = reply.usage.get("prompt")
    return read is not None and 0 < read < request.prompt_tokens / 2
