"""Builds the bundled sample study: serves its web on this machine and runs the real stages on it."""

from __future__ import annotations

import csv
from collections.abc import Callable, Iterator, Mapping
from datetime import UTC, datetime, time
from pathlib import Path
from typing import Any

import numpy as np

from sourcebench.retrieval import (
    REFERENCE,
    SYSTEMS,
    Cited,
    Document,
    Index,
    System,
    search,
    short_answer,
    tokens,
)
from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.study import PACKAGE, Study
from sourcebench.support.alteration import alter, names_in
from sourcebench.support.statements import CitedPage, Statement, parse_answer
from sourcebench.urls import page_id, site

RUNS = 2
FOUND = 8  # pages that a system reads for one question
LISTED = 5  # results of the reference search engine
KEPT_WORDS = 0.8  # share of a question's words that a run looks for
AUTHOR = "page-author"
ALTERED, ALTERED_FROM = "altered", "best+bm25"
ALTERED_SHARE = 0.4  # of the copied passages
ANNOTATOR = "alteration"


def make_sample(folder: Path, *, say: Callable[[str], Any] = print) -> Study:
    """Regenerate answers, snapshots, labels and everything derived, and release the study.

    What is written by hand stays: `study.toml`, `queries.csv` and the folder `web`. The clock of the
    sample stands at noon of its as-of date, so the same web gives the same bytes.

    Parameters
    ----------
    folder
        The sample study.
    say
        Takes one line a step.

    Returns
    -------
    Study
        The released study.
    """
    from sourcebench.pipeline import run_stages

    for path in folder.iterdir():
        if path.is_file() and path.name not in ("study.toml", "queries.csv", "README.md"):
            path.unlink()
    study = Study(folder)
    pages = _read(folder / "web" / "pages.csv")
    index = build_index(pages, folder / "web")
    say(f"index: {len(index.documents)} pages")
    _ask_all(study, index)
    study.save("perspectives", _read(folder / "web" / "perspectives.csv"))
    study.save("labels", expand_labels(study, pages, _read(folder / "web" / "relevance.csv")))
    _fetch(study, pages)
    add_altered(study, pages)
    run_stages(study, offline=True, say=say)
    study.release()
    say(f"released: {folder / PACKAGE}")
    return study


def _read(path: Path) -> list[dict[str, str]]:
    """Read a hand-written CSV of the web."""
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def _fetch(study: Study, pages: list[dict[str, str]]) -> None:
    """Fetch every cited page from the web as served on this machine, one after the other."""
    from sourcebench.fetch import fetch_study
    from sourcebench.fetch.localweb import serve_web

    noon = datetime.combine(study.settings.as_of, time(12), tzinfo=UTC)
    with serve_web(pages, study.folder / "web") as resolver:
        fetch_study(study, resolver=resolver, clock=lambda: noon, concurrency=1)


# --- the systems ---------------------------------------------------------------------------------


def build_index(pages: list[dict[str, str]], root: Path) -> Index:
    """Return what the search systems know: the pages marked for it, as an index once saw them.

    A dead, moved or duplicate address is listed with the text of the page that `index_as` names.
    """
    from sourcebench.extract import extract_page

    files = {page["url"]: page for page in pages if page["file"]}
    documents = []
    for page in pages:
        shown = files.get(page["index_as"] or page["url"])
        if page["in_index"] != "yes" or shown is None:
            continue
        packet = extract_page(
            page_id(page["url"]),
            shown["url"],
            (root / shown["file"]).read_bytes(),
            headers={"Content-Type": shown["content_type"]},
        )
        dates = [d.date for d in (packet.modified, packet.published) if d is not None]
        documents.append(
            Document(
                url=page["url"],
                title=packet.title or page["title"],
                text=packet.text,
                date=max(dates, default=""),
                site=site(page["url"]),
                links=tuple(link.url for link in packet.links),
                sponsored=sum(
                    packet.counts.get(n, 0) for n in ("sponsored_links", "affiliate_links")
                ),
            )
        )
    return Index(tuple(documents))


def _ask_all(study: Study, index: Index) -> None:
    """Have every system answer every question, and the reference engine list its results."""
    queries = study.load("queries")[["query_id", "text", "category"]].to_dict(orient="records")
    answers, citations = [], []
    for place, system in enumerate(SYSTEMS.values()):
        for number, query in enumerate(queries):
            for run in range(1, RUNS + 1):
                rng = np.random.default_rng([study.settings.seed, place, number, run])
                answer, cited = ask(system, index, query, rng)
                key = {"system": system.name, "query_id": query["query_id"], "run": run}
                answers.append(key | answer)
                citations += [key | row for row in _citation_rows(cited)]
    study.save("answers", answers)
    study.save("citations", citations)
    study.save("reference", list(_reference_rows(index, queries)))


def ask(
    system: System, index: Index, query: Mapping[str, str], rng: np.random.Generator
) -> tuple[dict[str, str], list[Cited]]:
    """Return one answer of one system: outcome and text, and the citations with their passages."""
    found = search(index, query["text"], system.ranker, rng, top=FOUND, keep=KEPT_WORDS)
    text, cited = system.answerer(found, tokens(query["text"]))
    if query["category"] == "reasoning" and text:
        text += f"\n\nAnswer: {short_answer(text, query['text'])}"
    outcome = "ok" if cited else "empty"
    return {
        "outcome": outcome,
        "text": text,
        "model": f"sourcebench retrieval, {system.name}",
    }, cited


def _citation_rows(cited: list[Cited]) -> Iterator[dict[str, Any]]:
    """Number the cited pages in the order of the answer; a page cited again gets a row again."""
    for rank, citation in enumerate(cited, start=1):
        yield {
            "rank": rank,
            "url": citation.document.url,
            "title": citation.document.title,
            "start": citation.start,
            "end": citation.end,
        }


def _reference_rows(index: Index, queries: list[dict[str, str]]) -> Iterator[dict[str, Any]]:
    """List the results of the reference engine, which uses every word of a question."""
    for query in queries:
        rng = np.random.default_rng(0)  # the reference takes no chances
        found = search(index, query["text"], REFERENCE.ranker, rng, top=LISTED)
        for rank, document in enumerate(found, start=1):
            yield {
                "engine": REFERENCE.name,
                "query_id": query["query_id"],
                "rank": rank,
                "url": document.url,
            }


# --- altered copies ------------------------------------------------------------------------------


def add_altered(study: Study, pages: list[dict[str, str]]) -> None:
    """Add copies of one system's answers in which some passages are altered, and labels that say which.

    They are there to check the verifier, and take no part in any comparison of systems (their type in
    study.toml is `check`). A label is known by construction: a passage copied from a page is backed by
    it, an altered one is not. Passages of pages that are not served as they were indexed have none.
    """
    answers, citations = study.load("answers"), study.load("citations")
    mine = (
        (answers["system"] == ALTERED_FROM) & (answers["run"] == 1) & (answers["outcome"] == "ok")
    )
    served = {page_id(p["url"]) for p in pages if p["file"] and not p["index_as"]}
    others = names_in(answers.loc[mine, "text"].tolist())
    made = [
        _altered(row, citations, others, np.random.default_rng([study.settings.seed, 1000 + place]))
        for place, row in enumerate(answers[mine].to_dict(orient="records"))
    ]
    study.append("answers", [answer for answer, _, _ in made])
    study.append("citations", [row for _, rows, _ in made for row in rows])
    labels = [row for answer, rows, told in made for row in _truths(answer, rows, told, served)]
    study.save("support_labels", labels)


def _altered(row: dict[str, Any], citations, others: list[str], rng: np.random.Generator):
    """Return an answer with some passages altered, its citations, and for each what was done."""
    same = (citations["system"] == ALTERED_FROM) & (citations["query_id"] == row["query_id"])
    cited = citations[same & (citations["run"] == 1)].sort_values("start")
    key = {"system": ALTERED, "query_id": row["query_id"], "run": 1}
    text, place, rows, told = "", 0, [], []
    for citation in cited.to_dict(orient="records"):
        start, end = int(citation["start"]), int(citation["end"])
        passage, change = row["text"][start:end], None
        if rng.random() < ALTERED_SHARE:
            change = alter(passage, others, rng)
        text += row["text"][place:start]
        said = change.text if change else passage
        where = {"start": len(text), "end": len(text) + len(said)}
        rows.append({**key, "rank": citation["rank"], "url": citation["url"], **where})
        told.append(change.what if change else "")
        text, place = text + said, end
    text += row["text"][place:].split("\n\nAnswer:")[0]
    answer = {**key, "outcome": "ok", "text": text, "model": f"{ALTERED_FROM}, passages altered"}
    return answer, rows, told


def _truths(answer, rows, told, served: set[str]) -> Iterator[dict[str, Any]]:
    """Yield the label of each statement of an answer: backed as copied, or contradicted as altered.

    A passage of several sentences is labelled only if none of them was altered.
    """
    cited = [CitedPage(page_id(row["url"]), row["start"], row["end"]) for row in rows]
    seen = set()
    for one in parse_answer(answer["text"], cited):
        inside = [
            (c.page_id, change)
            for c, change in zip(cited, told, strict=True)
            if c.start <= one.start < c.end
        ]
        if one.outcome != "statement" or not inside or inside[0][0] not in served:
            continue
        page, change = inside[0]
        if (one.text, page) in seen or (change and not _alone(one, cited)):
            continue
        seen.add((one.text, page))
        yield {
            "annotator": ANNOTATOR,
            "system": answer["system"],
            "query_id": answer["query_id"],
            "run": answer["run"],
            "statement": one.text,
            "page_id": page,
            "verdict": "contradicted" if change else "supported",
            "reason": change or "copied from the page",
        }


def _alone(one: Statement, cited: list[CitedPage]) -> bool:
    """Whether a statement takes up the whole passage that a citation covers."""
    return any(one.start <= (c.start or 0) and (c.end or 0) <= one.end for c in cited)


# --- the labels ----------------------------------------------------------------------------------


def expand_labels(
    study: Study, pages: list[dict[str, str]], relevance: list[dict[str, str]]
) -> list[dict[str, Any]]:
    """Return the page authors' intended scores of the cited pages, as the table `labels`.

    A pair of question and page that `relevance.csv` does not list is off topic: relevance 1.
    """
    from sourcebench.selection import selected_sources

    cited = {page_id(url) for url in study.load("citations")["url"]}
    intended = {page_id(p["url"]): p for p in reversed(pages) if page_id(p["url"]) in cited}
    listed = {(r["query_id"], page_id(r["url"])): r for r in relevance}
    selected = selected_sources(study)
    pairs = set(zip(selected["query_id"], selected["page_id"], strict=True))
    pairs |= {pair for pair in listed if pair[1] in cited}
    rows = []
    for key, page in sorted(intended.items()):
        scores = {code: page[code] for code in CODES if code not in QUERY_LEVEL and page[code]}
        rows += [_label("", key, code, score, page["note"]) for code, score in scores.items()]
    for query, key in sorted(pairs):
        page = intended.get(key)
        if page is None or not page["FA"]:
            continue
        found = listed.get((query, key), {"CR": "1", "reason": "off topic"})
        rows.append(_label(query, key, "CR", found["CR"], found["reason"]))
        rows += [_label(query, key, code, page[code], page["note"]) for code in ("FA", "NE")]
    return rows


def _label(query_id: str, key: str, metric: str, score: str, reason: str) -> dict[str, Any]:
    """Return one row of the table `labels`."""
    return {
        "annotator": AUTHOR,
        "query_id": query_id or None,
        "page_id": key,
        "metric": metric,
        "score": int(score),
        "reason": reason,
    }
