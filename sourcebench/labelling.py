"""Labels by people: draws a blinded sheet of sources at random, and takes it back once it is filled.

Whoever fills a sheet sees neither the system that cited a source nor the judge's scores. Sources are
drawn at random from each system's own, so that they may correct the judge's mean of that system
(prediction-powered inference, Angelopoulos et al. 2023, needs labels that chance picked).
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable
from pathlib import Path
from random import Random
from typing import TYPE_CHECKING, Any

from sourcebench.collect.rowfile import Fault, Row, read_rows
from sourcebench.render import defused
from sourcebench.rubric import CODES, METRICS, QUERY_LEVEL, SCALE
from sourcebench.study import Study, StudyError, write_atomic

if TYPE_CHECKING:
    import pandas as pd

SHEET_COLUMNS = ("item", "question", "title", "address", "text", *CODES, "reason")


def draw_sheet(
    study: Study, file: str | Path, *, per_system: int = 20, seed: int | None = None
) -> int:
    """Draw sources at random, write them to a sheet without scores, and note what was drawn.

    Beside the sheet a folder of the same name gets the text of each page as it was archived, and
    the rubric. A source that several systems drew stands there once; the order is random.

    Parameters
    ----------
    study
        A scored study; only sources with a weighted score of its judge are drawn.
    file
        The sheet to write, a CSV; its name without ending is the sheet's name in the study.
    per_system
        Sources drawn for each system, without replacement; all where it has fewer.
    seed
        Of the draw; by default the study's own.

    Returns
    -------
    int
        Number of items on the sheet.

    Raises
    ------
    StudyError
        If the file exists, or its folder does not, the sheet's name was used before, the study is
        released, or there is nothing to draw.
    """
    file = Path(file)
    study.must_be_open()
    before = study.load("drawn")
    if file.exists() or file.stem in set(before["sheet"]):
        raise StudyError(f"{file}: a sheet of this name was drawn already; choose another name")
    if not file.parent.is_dir():
        raise StudyError(
            f"{file}: there is no folder {file.parent}; make it, or name another place"
        )
    rng = Random(study.settings.seed if seed is None else seed)
    drawn = _draw(_scored(study), per_system, rng)
    items = _numbered(drawn, rng)
    rows = [
        {
            "sheet": file.stem,
            "item": items[query, page],
            "system": s,
            "query_id": query,
            "page_id": page,
        }
        for s, query, page in drawn
    ]
    _write_sheet(study, file, items)
    study.save("drawn", [*before.to_dict(orient="records"), *rows])
    return len(items)


def take_sheet(study: Study, file: str | Path, annotator: str) -> int:
    """Take the scores of a filled sheet into the table `labels`.

    Empty fields are no labels. A page that stands on the sheet for several questions needs its page-level
    metrics only once.

    Parameters
    ----------
    study
        The study that the sheet was drawn from.
    file
        The filled sheet; its name tells which one it is, and may have an ending such as `-anna`.
    annotator
        Whose labels they are.

    Returns
    -------
    int
        Number of labels taken.

    Raises
    ------
    StudyError
        Names the row and column of every unknown or doubled item, score that is no whole number from 1
        to 5, and label that differs from another of the same thing; nothing is taken then.
    """
    file = Path(file)
    if not annotator.strip():
        raise StudyError("annotator: say whose labels they are")
    drawn = study.load("drawn")
    sheets = [name for name in drawn["sheet"].unique() if file.stem.startswith(name)]
    if not sheets:
        known = ", ".join(sorted(drawn["sheet"].unique())) or "none"
        raise StudyError(f"{file}: no sheet of this name was drawn; sheets of this study: {known}")
    mine = drawn[drawn["sheet"] == max(sheets, key=len)]
    items = {row.item: (row.query_id, row.page_id) for row in mine.itertuples()}
    labels = _labels(file, items, annotator)
    _save(study, labels, file)
    return len(labels)


# --- drawing -------------------------------------------------------------------------------------


def _scored(study: Study) -> pd.DataFrame:
    """Return the sources that the study's judge scored on every metric."""
    scores = study.load("scores")
    mine = scores[(scores["judge"] == study.settings.judge) & scores["weighted"].notna()]
    if mine.empty:
        raise StudyError(
            f"{study.path('scores')}: no source has a weighted score yet; run the stages first: "
            f"sourcebench run {study.folder}"
        )
    return mine.sort_values(["system", "query_id", "page_id"])


def _draw(scored: pd.DataFrame, per_system: int, rng: Random) -> list[tuple[str, str, str]]:
    """Return (system, query_id, page_id) of the sources drawn for each system."""
    drawn = []
    for _, mine in scored.groupby("system", sort=True):
        keys = list(mine[["system", "query_id", "page_id"]].itertuples(index=False, name=None))
        drawn += sorted(rng.sample(keys, min(per_system, len(keys))))
    return drawn


def _numbered(drawn: Iterable[tuple[str, str, str]], rng: Random) -> dict[tuple[str, str], str]:
    """Give each question and page a number, in random order."""
    pairs = sorted({(query, page) for _, query, page in drawn})
    rng.shuffle(pairs)
    return {pair: f"{number:04d}" for number, pair in enumerate(pairs, start=1)}


def _write_sheet(study: Study, file: Path, items: dict[tuple[str, str], str]) -> None:
    """Write the sheet, the pages' texts and the rubric."""
    questions = study.load("queries").set_index("query_id")["text"]
    packets = study.load("packets").set_index("page_id")["record"]
    folder = file.with_suffix("")
    folder.mkdir(exist_ok=True)
    lines = io.StringIO()
    writer = csv.writer(lines, lineterminator="\n")
    writer.writerow(SHEET_COLUMNS)
    for (query, page), item in items.items():
        record = packets[page]
        text = folder / f"{item}.txt"
        write_atomic(text, _page_text(record))
        shown = (item, questions[query], record.get("title", ""), record["url"])
        row = [defused(cell) for cell in (*shown, f"{folder.name}/{text.name}")]
        writer.writerow([*row, *[""] * (len(CODES) + 1)])
    write_atomic(folder / "rubric.txt", rubric_text())
    write_atomic(file, lines.getvalue())


def _page_text(record: dict[str, Any]) -> str:
    """Return what a reader may know of a page, as it was archived."""
    dates = [
        f"{name}: {record[key]['date']}"
        for name, key in (("Published", "published"), ("Modified", "modified"))
        if record.get(key)
    ]
    head = [f"Address: {record['url']}", f"Title: {record.get('title', '')}", *dates]
    parts = ["\n".join(head), "Main text:\n" + record.get("text", "")]
    parts.append("Lines outside the main text:\n" + record.get("outside", ""))
    return "\n\n".join(parts) + "\n"


def rubric_text() -> str:
    """Return the rubric as a reader needs it: each metric with its levels and guidance."""
    parts = [
        "Score each metric from 5 (best) to 1; leave a field empty if you can't tell. Where a page stands on "
        "the sheet for several questions, score the metrics of the page once and leave them empty after."
    ]
    for metric in METRICS:
        levels = [f"  {s.score} {s.label}: {s.criterion}" for s in metric.levels]
        scope = (
            "for this question" if metric.scope == "query" else "of the page, whatever the question"
        )
        head = f"{metric.code} {metric.name} ({scope}): {metric.focus}"
        parts.append("\n".join([head, *levels, f"  {metric.guidance}"]))
    return "\n\n".join(parts) + "\n"


# --- taking back ---------------------------------------------------------------------------------


def _labels(file: Path, items: dict[str, tuple[str, str]], annotator: str) -> list[dict[str, Any]]:
    """Return the labels on a sheet, each thing once."""
    faults: list[Fault] = []
    sheet = read_rows(file, {name: (name.casefold(),) for name in SHEET_COLUMNS}, faults)
    if missing := [name for name in ("item", *CODES) if name not in sheet.names]:
        raise StudyError(f"{file}: column {missing[0]} is missing; keep the sheet's first line")
    found: dict[tuple, tuple[dict[str, Any], int]] = {}
    seen: set[str] = set()
    for row in sheet.rows:
        item = row.text("item").zfill(4)
        if item not in items or item in seen:
            why = "stands twice" if item in seen else "is not on this sheet"
            faults.append(Fault(row.number, "item", f"{row.text('item')!r} {why}"))
            continue
        seen.add(item)
        for label in _row_labels(row, *items[item], annotator, faults):
            before, first = found.setdefault(_about(label), (label, row.number))
            if before["score"] != label["score"]:
                why = f"{label['score']}, but {before['score']} for the same page in row {first}"
                faults.append(Fault(row.number, label["metric"], why))
    if faults:
        raise StudyError("\n".join(f"{file}: {fault}" for fault in faults))
    if not found:
        raise StudyError(f"{file}: no score is filled in")
    return [label for label, _ in found.values()]


def _row_labels(
    row: Row, query: str, page: str, annotator: str, faults: list[Fault]
) -> Iterable[dict[str, Any]]:
    """Yield the labels of a row; page-level ones carry no query."""
    low, high = SCALE
    for code in CODES:
        text = row.text(code).removesuffix(".0")
        if not text:
            continue
        if not (len(text) == 1 and text.isascii() and text.isdigit() and low <= int(text) <= high):
            why = f"must be a whole number from {low} to {high}, found {row.text(code)!r}"
            faults.append(Fault(row.number, code, why))
            continue
        yield {
            "annotator": annotator,
            "query_id": query if code in QUERY_LEVEL else None,
            "page_id": page,
            "metric": code,
            "score": int(text),
            "reason": row.text("reason") or None,
        }


def _save(study: Study, labels: list[dict[str, Any]], file: Path) -> None:
    """Add labels to the table; one that is there already must be the same."""
    table = study.load("labels").astype(object)
    rows = table.where(table.notna(), None).to_dict(orient="records")
    known = {_about(row): row["score"] for row in rows}
    for label in labels:
        before = known.get(_about(label))
        if before not in (None, label["score"]):
            raise StudyError(
                f"{file}: {label['annotator']} gave {label['metric']} of page {label['page_id']} "
                f"{before} before and {label['score']} now; take another name for a second reading"
            )
    added = [label for label in labels if _about(label) not in known]
    study.save("labels", [*rows, *added])


def _about(label: dict[str, Any]) -> tuple:
    """Return whose label it is, and of what."""
    return label["annotator"], label["query_id"] or "", label["page_id"], label["metric"]
