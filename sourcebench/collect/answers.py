"""Answers as rows of a study: the tables `answers` and `citations`."""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcebench.collect.listing import url_fault
from sourcebench.collect.replies import Answer, Citation, Reply
from sourcebench.engines.addresses import cited_url, source_key

if TYPE_CHECKING:
    from sourcebench.study import Study

KEY = ["system", "query_id", "run"]
# What UTF-8 or a CSV file can't carry: lone surrogates, and control characters but tab and line feed.
_UNSTORABLE = re.compile("[\x00-\x08\x0b-\x1f\x7f\ud800-\udfff]")


def answer_row(answer: Answer) -> dict[str, Any]:
    """Return the row of the table `answers`."""
    reply = answer.reply
    return {
        "system": answer.system,
        "query_id": answer.query_id,
        "run": answer.run,
        "outcome": reply.outcome,
        "text": storable(reply.text),
        "model": reply.model or None,
        "asked_at": answer.asked_at or None,
        "usage": dict(reply.usage) if reply.usage else None,
        "reason": storable(reply.reason),
        **_listed(reply),
    }


def _listed(reply: Reply) -> dict[str, int]:
    """Count the sources of a reply: as its recording lists them, else each source once."""
    cited = list({citation.rank: citation.url for citation in reply.citations}.values())
    urls = [url for url in reply.extra.get("listed", ()) if url] or cited
    keys = {source_key(cited_url(url)) for url in urls}
    return {
        "listed": len(urls) + reply.without_address,
        "without_address": reply.without_address,
        "malformed": sum(url_fault(url) is not None for url in urls),
        "unlisted": sum(source_key(url) not in keys for url in cited),
    }


def storable(text: str | None) -> str | None:
    """Return a text that every table can hold, of the same length, or None for an empty one."""
    if not text:
        return None
    return _UNSTORABLE.sub(lambda match: " " if match.group() == "\r" else "\ufffd", text)


def citation_rows(answer: Answer) -> list[dict[str, Any]]:
    """Return the rows of the table `citations`.

    The table's key needs one rank a row. Sources keep the order of their first mention; further
    mentions follow after the last source, so the best rank of a page is its source's rank.
    """
    first: dict[int, Citation] = {}
    later = []
    for citation in answer.reply.citations:
        if citation.rank in first:
            later.append(citation)
        else:
            first[citation.rank] = citation
    ordered = [*(first[rank] for rank in sorted(first)), *later]
    return [_citation_row(answer, c, place) for place, c in enumerate(ordered, start=1)]


def _citation_row(answer: Answer, citation: Citation, rank: int) -> dict[str, Any]:
    """Return one row of the table `citations`, with the passage its span covers."""
    spanned = citation.start is not None
    passage = answer.reply.text[citation.start : citation.end] if spanned else None
    return {
        "system": answer.system,
        "query_id": answer.query_id,
        "run": answer.run,
        "rank": rank,
        "url": storable(citation.url),
        "title": storable(citation.title),
        "cited_text": storable(passage),
        "start": citation.start,
        "end": citation.end,
    }


def store_answers(
    study: Study, answers: Sequence[Answer], new_queries: Sequence[Mapping[str, Any]] = ()
) -> None:
    """Write answers and citations, in place of those of the same system, query and run."""
    import pandas as pd

    if new_queries:
        added = [{name: storable(value) for name, value in query.items()} for query in new_queries]
        study.save("queries", _joined(study.load("queries"), added))
    given = pd.DataFrame([(a.system, a.query_id, a.run) for a in answers], columns=KEY)
    taken = pd.MultiIndex.from_frame(given)
    for name, rows in (
        ("citations", [row for answer in answers for row in citation_rows(answer)]),
        ("answers", [answer_row(answer) for answer in answers]),
    ):
        kept = study.load(name)
        if len(kept):
            kept = kept[~pd.MultiIndex.from_frame(kept[KEY].astype({"run": int})).isin(taken)]
        study.save(name, _joined(kept, rows))


def store_judgments(study: Study, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write verdicts that came with answers, in place of those of the same judges."""
    if not rows:
        return
    kept = study.load("judgments")
    kept = kept[~kept["judge"].isin({row["judge"] for row in rows})]
    study.save("judgments", _joined(kept, rows))


def _joined(frame, rows: Sequence[Mapping[str, Any]]) -> list[Mapping[str, Any]]:
    """Return the rows of a frame, with None for what is missing, and further rows."""
    kept = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return [*kept, *rows]
