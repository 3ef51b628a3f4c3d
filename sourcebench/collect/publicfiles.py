"""Collection and `*.enriched.json` files of the public SourceBench code, read and written."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import TYPE_CHECKING, Any

from sourcebench.collect.rowfile import Fault, Row
from sourcebench.engines.mentions import items, obj, text_of
from sourcebench.rubric import QUERY_LEVEL
from sourcebench.urls import page_id

if TYPE_CHECKING:
    from sourcebench.study import Study

# Their names of the metrics, in their order.
METRICS = {
    "semantic_relevance": "CR",
    "factual_accuracy": "FA",
    "freshness": "FR",
    "objectivity_tone": "NE",
    "layout_ad_density": "LC",
    "accountability": "AA",
    "transparency": "OA",
    "authority": "DA",
}
PROMPTS = "sourcebench-public"  # their prompts, as the table `judgments` names them


def is_public(value: Any) -> bool:
    """Whether a file is a list of their query records."""
    records = items(value)
    return bool(records) and all("query_id" in r and ("runs" in r or "aggregated_sources" in r) for r in records)  # fmt: skip


# --- reading -------------------------------------------------------------------------------------


def public_rows(records: Sequence[Any], faults: list[Fault]) -> list[Row]:
    """Return one row for each run of each query record, under the names of the import.

    What a run cites is read from its raw reply wherever that holds an answer: `cited_sources` of
    this format lists what was retrieved, not what was cited, for replies with a search call. Without
    a raw reply, the sources that the answer names are its citations, or all if it names none. A
    record without runs is one answer that cites its aggregated sources.

    Parameters
    ----------
    records
        The file's list.
    faults
        Takes what is wrong; rows are counted from 1.
    """
    rows = []
    for number, record in enumerate(records, start=1):
        if not isinstance(record, dict) or record.get("query_id") in (None, ""):
            faults.append(Fault(number, "query_id", "missing; every record needs one"))
            continue
        runs = record.get("runs")
        if runs and not isinstance(runs, list):
            faults.append(Fault(number, "runs", f"expected a list, found {type(runs).__name__}"))
            continue
        rows += [_run_row(number, record, run, n) for n, run in enumerate(items(runs), start=1)]
        if not items(runs):
            rows.append(_aggregated_row(number, record))
    return rows


def _run_row(number: int, record: Mapping, run: Mapping, place: int) -> Row:
    """Return one run as a row."""
    return Row(
        number,
        {
            "query_id": record["query_id"],
            "system": run.get("ai_model_name") or record.get("ai_model_name"),
            "question": run.get("query_text") or record.get("query_text"),
            "run": run.get("query_order") or place,
            "answer": run.get("response_text"),
            "found": run.get("cited_sources") or [],
            "raw": run.get("raw_response"),
            "usage": run.get("usage"),
            "outcome": run.get("outcome"),
            "reason": run.get("reason"),
        },
    )


def _aggregated_row(number: int, record: Mapping) -> Row:
    """Return a record without runs as a row that cites its aggregated sources."""
    sources = [
        {"url": s.get("url_canonical"), "title": s.get("title")}
        for s in items(record.get("aggregated_sources"))
    ]
    return Row(
        number,
        {
            "query_id": record["query_id"],
            "system": record.get("ai_model_name"),
            "question": record.get("query_text"),
            "urls": sources,
        },
    )


def public_judgments(records: Sequence[Any]) -> tuple[list[dict[str, Any]], list[str]]:
    """Return the verdicts of enriched records as rows of the table `judgments`, and notes.

    A missing score is a verdict without a score, never 0; what is not a whole number from 1 to 5 is
    out of range; mock scores of a dry run are no verdicts. A page-level metric that two queries
    score differently keeps the first score, and the notes say how many did.
    """
    rows: dict[tuple, dict[str, Any]] = {}
    conflicts = 0
    for record in items(records):
        for source in items(record.get("aggregated_sources")):
            for row in _source_rows(str(record.get("query_id")), source):
                key = row["judge"], row["query_id"], row["page_id"], row["metric"]
                known = rows.setdefault(key, row)
                conflicts += known["score"] != row["score"]
    said = f"{conflicts} page-level scores differ between queries; the first of each page is kept"
    return list(rows.values()), [said] if conflicts else []


def _source_rows(query_id: str, source: Mapping[str, Any]) -> list[dict[str, Any]]:
    """Return the verdicts on one source."""
    scores, url = source.get("content_vector"), source.get("url_canonical")
    if not isinstance(scores, dict) or not isinstance(url, str):
        return []
    meta = obj(source.get("scoring_meta"))
    why = obj(source.get("content_vector_justification"))
    model = text_of(meta.get("model_name"))
    made = []
    for theirs, code in METRICS.items():
        reason = text_of(why.get(theirs))
        score, outcome = _verdict(scores.get(theirs), reason)
        made.append(
            {
                "judge": f"sourcebench {model}".strip(),
                "prompt_hash": PROMPTS,
                "query_id": query_id if code in QUERY_LEVEL else None,
                "page_id": page_id(url),
                "metric": code,
                "score": score,
                "reason": None if reason in ("", "Null") else reason,
                "outcome": outcome,
                "model": model or None,
                "judged_at": text_of(meta.get("scored_at")) or None,
            }
        )
    return made


def _verdict(score: Any, reason: str) -> tuple[int | None, str]:
    """Return a score and the outcome that goes with it."""
    if reason.startswith("[DRY RUN]") or score is None:
        return None, "no_verdict"
    if isinstance(score, bool) or score not in (1, 2, 3, 4, 5):
        return None, "out_of_range"
    return int(score), "scored"


# --- writing -------------------------------------------------------------------------------------


def public_collection(study: Study, system: str, *, scores: bool = False) -> list[dict[str, Any]]:
    """Return a system's answers as their collection file, or with scores as their enriched one.

    Parameters
    ----------
    study
        The study.
    system
        One of its systems.
    scores
        Whether to add the selected sources with the texts and scores that the study has.

    Returns
    -------
    list of dict
        One record a query, in the order of the table `queries`, with the raw reply where the study
        collected it. `cited_sources` also says title and place of each citation, and a run that is
        no answer its `outcome` and `reason`; the public code leaves these aside.

    Raises
    ------
    ValueError
        If the study has no answers of the system.
    """
    answers = _plain_rows(study.load("answers"), system)
    if not answers:
        raise ValueError(f"{study.path('answers')}: no answers of {system!r}")
    cited: dict[tuple[str, int], list[dict[str, Any]]] = {}
    for row in _plain_rows(study.load("citations"), system):
        cited.setdefault((row["query_id"], row["run"]), []).append(row)
    sources = _aggregated(study, system) if scores else {}
    raw = _raw_replies(study, system)
    records = []
    for query in study.load("queries").itertuples():
        runs = [
            _public_run(query, row, cited.get((row["query_id"], row["run"]), []), raw)
            for row in answers
            if row["query_id"] == query.query_id
        ]
        if runs:
            records.append(
                {
                    "query_id": query.query_id,
                    "query_text": query.text,
                    "ai_model_name": system,
                    "runs": sorted(runs, key=lambda run: run["query_order"]),
                    "aggregated_sources": sources.get(query.query_id, []),
                }
            )
    return records


def _plain_rows(frame, system: str) -> list[dict[str, Any]]:
    """Return the rows of one system with None for what is missing."""
    mine = frame[frame["system"] == system]
    return mine.astype(object).where(mine.notna(), None).to_dict(orient="records")


def _raw_replies(study: Study, system: str) -> dict[tuple[str, int], Any]:
    """Return what a system sent for each answer: its reply, or all exchanges where there were several."""
    from sourcebench.collect.recorded import recorded

    if "engine" not in study.settings.systems.get(system, {}):
        return {}
    replies = {}
    for key, (_, record) in recorded(study, system).items():
        exchanges = record.get("exchanges", [])
        body = exchanges[0].get("body") if len(exchanges) == 1 else None
        if exchanges:
            replies[key] = {"exchanges": exchanges} if body is None else body
    return replies


def _public_run(
    query, answer: Mapping, cited: Sequence[Mapping], raw: Mapping[tuple[str, int], Any]
) -> dict[str, Any]:
    """Return one run as their files write it."""
    told = ("outcome", "reason") if answer["outcome"] in ("refused", "failed") else ()
    return {
        **{name: answer[name] for name in told},
        "query_id": query.query_id,
        "query_text": query.text,
        "ai_model_name": answer["system"],
        "query_order": int(answer["run"]),
        "response_text": answer["text"] or "",
        "raw_response": raw.get((query.query_id, int(answer["run"]))),
        "cited_sources": [_public_citation(row) for row in cited],
        "search_results": [],
        "search_results_rank": {},
        "usage": answer["usage"],
    }


def _public_citation(row: Mapping[str, Any]) -> dict[str, Any]:
    """Return one citation with its rank; title and place only where there are any."""
    made = {"type": "url", "url": row["url"], "rank": int(row["rank"])}
    for name in ("title", "start", "end"):
        if row[name] is not None:
            made[name] = row[name] if name == "title" else int(row[name])
    return made


def _aggregated(study: Study, system: str) -> dict[str, list[dict[str, Any]]]:
    """Return the selected sources of each query, with text and scores where the study has them."""
    from sourcebench.selection import selected_sources

    chosen = selected_sources(study)
    chosen = chosen[chosen["system"] == system]
    packets = study.load("packets")
    texts = dict(zip(packets["page_id"], packets["record"], strict=True))
    frame = study.load("scores")
    frame = frame[(frame["system"] == system) & (frame["judge"] == study.settings.judge)]
    scored = {(row["query_id"], row["page_id"]): row for row in frame.to_dict(orient="records")}
    made: dict[str, list[dict[str, Any]]] = {}
    for row in chosen.itertuples():
        record = _aggregated_source(row, obj(texts.get(row.page_id)))
        verdicts = scored.get((row.query_id, row.page_id))
        if verdicts:
            record["content_vector"] = {
                theirs: _whole(verdicts[code]) for theirs, code in METRICS.items()
            }
            record["scoring_meta"] = {"run_name": system, "model_name": study.settings.judge}
        made.setdefault(row.query_id, []).append(record)
    return made


def _whole(value: Any) -> int | None:
    """Return a score as their files write it."""
    import pandas as pd

    return None if pd.isna(value) else int(value)


def _aggregated_source(row, packet: Mapping[str, Any]) -> dict[str, Any]:
    """Return one selected source as their files write it."""
    text = text_of(packet.get("text"))
    return {
        "agg_source_id": int(row.position),
        "url_canonical": row.url,
        "url_examples": [row.url],
        "frequency": int(row.runs),
        "selected_topk": True,
        "text_content": text,
        "text_content_length": len(text),
        "title": text_of(packet.get("title")),
        "search_result_date": obj(packet.get("published")).get("date"),
        "search_result_last_updated": obj(packet.get("modified")).get("date"),
    }
