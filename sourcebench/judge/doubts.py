"""Doubts about a verdict, for a person to look at: the verdict itself is kept as given."""

from __future__ import annotations

import re
from datetime import date

from sourcebench.records import Packet, Verdict

_FUTURE = re.compile(
    r"in the future|future[- ]dated|future date|has(?:n['’]t| not) happened yet|not yet happened|"
    r"date (?:is|lies) ahead|after (?:my|the) (?:training|knowledge)",
    re.I,
)
_PRAISE = re.compile(
    r"\b(?:outstanding|excellent|exemplary|flawless|impeccable|superb|perfect|top[- ]quality)\b",
    re.I,
)
_BLAME = re.compile(
    r"\b(?:terrible|awful|fabricated|fraudulent|scam|worthless|dangerous|propaganda|debunked|useless)\b",
    re.I,
)
_DENIED = re.compile(r"\b(?:not|no|never|without|nothing|far from|hardly|isn['’]t)\b", re.I)


def doubts(verdict: Verdict, packet: Packet, as_of: date) -> list[str]:
    """Return flags for what makes a verdict doubtful.

    `future_date`: the reason calls a date future although the page has none after the as-of date.
    `against_reason`: the words and the number point opposite ways.
    """
    flags = []
    dates = [d.date for d in (packet.published, packet.modified) if d is not None]
    if _FUTURE.search(verdict.reason) and all(d[:10] <= as_of.isoformat() for d in dates):
        flags.append("future_date")
    if verdict.score is not None and not _DENIED.search(verdict.reason):
        low, high = verdict.score <= 2, verdict.score >= 4
        if (low and _PRAISE.search(verdict.reason)) or (high and _BLAME.search(verdict.reason)):
            flags.append("against_reason")
    return flags
