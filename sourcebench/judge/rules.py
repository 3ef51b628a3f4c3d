"""The offline judge: a baseline that scores all eight metrics by rules over a page's evidence.

It is a baseline, not a referee. It counts what a page shows (dates, bylines, addresses, links, words)
and maps the counts to the rubric's levels with the round thresholds of `thresholds.csv`, which says
why each has its value. It can't tell a calm falsehood from a fact, nor an answer from a page that
shares its words; it sees no overlays that scripts draw and never calls an author invented. It needs
no model and no network, costs milliseconds, and always says the same.

The values were set by hand with 54 saved and 20 made pages in view, never fitted: agreement on those
pages is what the rules can do at best. `benchmarks/judge_skill.py` measures it on any labelled study.
"""

from __future__ import annotations

import csv
import hashlib
from datetime import date
from functools import cache
from typing import Literal

from sourcebench.judge import content, credibility, usability
from sourcebench.judge.evidence import CUES_FILE, HERE, SITES_FILE, Finding, Page, Table
from sourcebench.judge.relevance import Embedder
from sourcebench.records import JUDGED_PAGES, Group, Packet, Query, Verdict
from sourcebench.rubric import GROUPS

RULES_VERSION = "1"
THRESHOLDS_FILE = HERE / "thresholds.csv"
REASON_CHARS = 300


class RulesJudge:
    """Scores packets by rules; a judge in the sense of `records.Judge`.

    Parameters
    ----------
    as_of : date
        The day from which ages are counted, the study's `as_of`.
    embedder : callable or "minilm", optional
        Maps a list of texts to the rows of their embeddings; "minilm" is that of
        `embedding.load_embedder`. With it the relevance of English pages is the mean of lexical
        overlap and cosine similarity.
    table : mapping, optional
        Other thresholds than those of `thresholds.csv`, metric -> name -> value; for studying how
        much scores depend on them.
    """

    name = "rules"

    def __init__(
        self,
        as_of: date,
        embedder: Embedder | Literal["minilm"] | None = None,
        table: Table | None = None,
    ):
        if isinstance(embedder, str):
            from sourcebench.judge.embedding import load_embedder

            if embedder != "minilm":
                raise ValueError(f"embedder must be minilm, found {embedder!r}")
            embedder = load_embedder()
        self.as_of = as_of
        self.embedder = embedder
        self.table = table or thresholds()

    def prompt_hash(self, group: Group) -> str:
        """Return what identifies the rules of a group: version, thresholds, word and site lists."""
        parts = [RULES_VERSION, group, "embedding" if self.embedder else ""]
        parts += [str(self.as_of)] if group == "credibility" else []
        parts += [f"{m},{n},{v}" for m, row in sorted(self.table.items()) for n, v in row.items()]
        parts += [f.read_text(encoding="utf-8") for f in (CUES_FILE, SITES_FILE)]
        return hashlib.sha256("\n".join(parts).encode()).hexdigest()[:16]

    def judge(self, group: Group, query: Query | None, packet: Packet) -> list[Verdict]:
        """Return one verdict for each metric of the group; each says in `reason` what it saw.

        Raises
        ------
        ValueError
            If the content group is asked for without a query.
        """
        if group == "content" and query is None:
            raise ValueError("the content group is judged for a query; got none")
        if packet.outcome not in JUDGED_PAGES:
            why = f"page is {packet.outcome}, nothing to judge"
            return [Verdict(code, None, why, "no_verdict") for code in GROUPS[group]]
        page = Page(packet)
        return [_verdict(code, self._finding(code, query, page)) for code in GROUPS[group]]

    def _finding(self, code: str, query: Query | None, page: Page) -> Finding:
        """Apply one metric's rule."""
        if code == "CR":
            return content.relevance(page, self.table, query, self.embedder)
        if code == "FR":
            return credibility.freshness(page, self.table, self.as_of)
        rules = {
            "FA": content.accuracy,
            "NE": content.neutrality,
            "OA": credibility.ownership,
            "AA": credibility.authorship,
            "DA": credibility.authority,
            "LC": usability.layout,
        }
        return rules[code](page, self.table)


def _verdict(code: str, finding: Finding) -> Verdict:
    """Return a finding as a verdict; its reason in one line."""
    score, reason = finding
    reason = " ".join(reason.split())[:REASON_CHARS]
    return Verdict(code, score, reason, "no_verdict" if score is None else "scored")


@cache
def thresholds() -> dict[str, dict[str, float]]:
    """Return metric -> name -> value of the threshold table."""
    table: dict[str, dict[str, float]] = {}
    with THRESHOLDS_FILE.open(encoding="utf-8", newline="") as lines:
        for row in csv.DictReader(lines):
            table.setdefault(row["metric"], {})[row["name"]] = float(row["value"])
    return table
