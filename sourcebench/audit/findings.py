"""A finding about a printed table, and how findings are shown: text, Markdown, HTML, frame.

Names in a table are other people's text. They are escaped, and stripped of control characters, in
every form of the report.
"""

from __future__ import annotations

import html
import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Literal

if TYPE_CHECKING:
    import pandas as pd

Severity = Literal["critical", "major", "minor", "note"]
Kind = Literal["follows from the printed numbers", "likely", "needs release"]

SEVERITIES: tuple[Severity, ...] = ("critical", "major", "minor", "note")
KINDS: tuple[Kind, ...] = ("follows from the printed numbers", "likely", "needs release")
# A report names no more cells than this one by one.
MOST_CELLS = 4

FOLLOWS, LIKELY, NEEDS_RELEASE = KINDS


@dataclass(frozen=True)
class Finding:
    """Something that a printed table implies about itself.

    `check` names the rule; `cells` the cells it is about; `arithmetic` is a sum that a reader can
    redo by hand; `tolerance` what rounding alone can explain, in the unit of the cells; `chance`
    the probability (or expected number, below 1) of this in a table without any error, None where
    chance plays no part. Severity: critical (an order or a conclusion changes), major (a printed
    number can't be what it says it is), minor (a small disagreement), note (context or a question).
    `kind` says how far the finding reaches, `what_would_settle` what the authors would have to
    release.
    """

    check: str
    cells: tuple[str, ...]
    printed: str
    expected: str
    arithmetic: str
    tolerance: float | None
    chance: float | None
    severity: Severity
    kind: Kind
    what_would_settle: str


def cell_name(table: str, row: str, column: str) -> str:
    """Return the name under which findings speak of a cell."""
    return f"{table}: {row}, {column}" if table else f"{row}, {column}"


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Sort findings: gravest first, then the more certain, then the less likely by chance."""
    return sorted(
        findings,
        key=lambda f: (SEVERITIES.index(f.severity), KINDS.index(f.kind), f.chance or 0.0),
    )


def findings_frame(findings: Sequence[Finding]) -> pd.DataFrame:
    """Return one row a finding, gravest first, with text columns ready for a saved table."""
    import pandas as pd

    columns = ["severity", "check", *_LABELS.values()]
    rows = [
        [finding.severity, finding.check, *(value for _, value in _fields(finding))]
        for finding in by_weight(findings)
    ]
    return pd.DataFrame(rows, columns=columns)


def findings_text(findings: Sequence[Finding], title: str) -> str:
    """Return the findings as plain text for a terminal, gravest first."""
    width = max(map(len, _LABELS.values()))
    lines = [cleaned(f"{title}: {_count(findings)}")]
    for number, finding in enumerate(by_weight(findings), 1):
        lines += ["", cleaned(f"{number}. {finding.check} [{finding.severity}]")]
        lines += [f"   {label:<{width}}  {cleaned(value)}" for label, value in _fields(finding)]
    return "\n".join(lines) + "\n"


def findings_markdown(findings: Sequence[Finding], title: str) -> str:
    """Return the findings as Markdown, gravest first, with every special character escaped."""
    lines = [f"## {_markdown(title)}", "", f"{_count(findings)}."]
    for number, finding in enumerate(by_weight(findings), 1):
        lines += ["", f"### {number}. {_markdown(finding.check)} ({finding.severity})", ""]
        lines += [f"- **{label}**: {_markdown(value)}" for label, value in _fields(finding)]
    return "\n".join(lines) + "\n"


def findings_html(findings: Sequence[Finding], title: str) -> str:
    """Return the findings as an HTML section, gravest first, with every value escaped."""
    parts = [f"<section><h2>{_escaped(title)}</h2>", f"<p>{_count(findings)}.</p>", "<ol>"]
    for finding in by_weight(findings):
        parts.append(f"<li><h3>{_escaped(finding.check)} ({finding.severity})</h3><dl>")
        parts += [
            f"<dt>{label}</dt><dd>{_escaped(value)}</dd>" for label, value in _fields(finding)
        ]
        parts.append("</dl></li>")
    return "\n".join([*parts, "</ol></section>"]) + "\n"


_LABELS = {
    "cells": "cells",
    "printed": "printed",
    "expected": "expected",
    "arithmetic": "by hand",
    "tolerance": "rounding explains",
    "chance": "by chance",
    "kind": "standing",
    "what_would_settle": "to settle it",
}


def _fields(finding: Finding) -> list[tuple[str, str]]:
    """Return the labelled values of a finding as text."""
    values = {
        "cells": _shortened(finding.cells),
        "tolerance": "not a matter of rounding"
        if finding.tolerance is None
        else f"up to {finding.tolerance:.4g}",
        "chance": "not a matter of chance" if finding.chance is None else f"{finding.chance:.2g}",
    }
    return [(label, values.get(name, getattr(finding, name))) for name, label in _LABELS.items()]


def _shortened(cells: Sequence[str]) -> str:
    """Name a few cells, and say how many there are."""
    if len(cells) <= MOST_CELLS:
        return "; ".join(cells)
    return f"{cells[0]}; {cells[1]}; ... {cells[-1]} ({len(cells)} cells)"


def _count(findings: Sequence[Finding]) -> str:
    """Say how many findings there are."""
    return {0: "no finding", 1: "1 finding"}.get(len(findings), f"{len(findings)} findings")


def cleaned(text: str) -> str:
    """Replace control and direction characters, which could rewrite a terminal or a line."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff]+", " ", text)


def _escaped(text: str) -> str:
    """Return cleaned text that is safe inside HTML."""
    return html.escape(cleaned(text))


def _markdown(text: str) -> str:
    """Return cleaned text that Markdown shows as it is."""
    return re.sub(r"([\\`*_{}\[\]#|~$])", r"\\\1", html.escape(cleaned(text), quote=False))
