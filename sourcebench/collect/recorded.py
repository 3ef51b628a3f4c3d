"""Answers read from recorded raw replies: the tables of a study, as often as one likes."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from sourcebench.collect.answers import store_answers
from sourcebench.collect.recordings import Recordings, recording_file
from sourcebench.collect.replies import Answer, Reply
from sourcebench.engines import engine
from sourcebench.engines.mentions import failed
from sourcebench.engines.wire import Exchange
from sourcebench.study import Study, StudyError

Settings = Mapping[str, Any]
# What in a system's settings shapes its answers; the rest (label, price, pace) may change.
_SHAPING = (
    "engine", "model", "api", "tool", "tool_settings", "tools", "options", "max_results", "mode",
    "max_tokens", "max_uses", "prompt", "cx", "stream",
)  # fmt: skip


def shape(settings: Settings) -> dict[str, Any]:
    """Return the settings that shape a system's answers."""
    return {name: settings[name] for name in _SHAPING if name in settings}


def read_recordings(
    study: Study, systems: Sequence[str] | None = None
) -> dict[str, dict[str, int]]:
    """Write the tables `answers`, `citations` and `reference` from the raw replies.

    Parameters
    ----------
    study
        The study; answers that come from elsewhere stay in its tables.
    systems
        Names to keep to; by default all with raw replies.

    Returns
    -------
    dict
        For each system, the number of answers by outcome.
    """
    names = [n for n in study.settings.systems if systems is None or n in systems]
    counts: dict[str, dict[str, int]] = {}
    answers: list[Answer] = []
    reference: list[dict[str, Any]] = []
    frame = study.load("queries")
    queries = dict(zip(frame["query_id"], frame["text"], strict=True))
    for name in names:
        mine = [
            answer
            for (query_id, _), (answer, record) in sorted(recorded(study, name).items())
            if record["query"] == queries.get(query_id)
        ]
        answers += mine
        counts[name] = dict(Counter(answer.reply.outcome for answer in mine))
        if study.settings.systems[name].get("reference"):
            reference += _reference_rows(study.settings.systems[name].get("label", name), mine)
    if answers:
        store_answers(study, answers)
    if reference:
        _store_reference(study, reference)
    return counts


def recorded(study: Study, system: str) -> dict[tuple[str, int], tuple[Answer, Mapping]]:
    """Return the answer that counts for each query and run of a system: the first that is one.

    Raises
    ------
    StudyError
        If the system's settings have changed since it answered.
    """
    path = recording_file(study.folder, system)
    now = shape(study.settings.systems[system])
    kept: dict[tuple[str, int], tuple[Answer, Mapping]] = {}
    for record in Recordings(path):
        if record["system"] != system:
            continue
        if record["settings"] != now:
            _say_changed(study, path, system, record["settings"], now)
        key = record["query_id"], record["run"]
        before = kept.get(key)
        same = before is not None and before[1]["query"] == record["query"]
        if not same or before[0].reply.outcome == "failed":
            kept[key] = read_record(record), record
    return kept


def _say_changed(study: Study, path: Path, system: str, then: Mapping, now: Mapping) -> None:
    """Refuse to mix answers that were asked for in different ways."""
    name = next(n for n in _SHAPING if then.get(n) != now.get(n))
    raise StudyError(
        f"{study.folder / 'study.toml'}: [systems.{system}] {name} is {now.get(name)!r}, but its "
        f"answers were collected with {then.get(name)!r}; give the system another name, or move "
        f"{path} away to ask anew"
    )


def read_record(record: Mapping[str, Any]) -> Answer:
    """Read one raw record into an answer; a reply that can't be read is a failed one."""
    return Answer(
        system=record["system"],
        query_id=record["query_id"],
        run=record["run"],
        question=record["query"],
        asked_at=record["asked_at"],
        reply=_read(record),
    )


def _read(record: Mapping[str, Any]) -> Reply:
    """Read the exchanges of a record."""
    if "failure" in record:
        return failed(record["failure"])
    exchanges = tuple(Exchange.from_dict(row) for row in record["exchanges"])
    try:
        return engine(record["engine"]).parse(exchanges)
    except ValueError as error:
        return failed(str(error))


def _reference_rows(name: str, answers: Iterable[Answer]) -> list[dict[str, Any]]:
    """Return the rows of the table `reference` that the first run of a search engine gives."""
    return [
        {"engine": name, "query_id": a.query_id, "rank": c.rank, "url": c.url}
        for a in answers
        if a.run == 1
        for c in a.reply.citations
    ]


def _store_reference(study: Study, rows: Sequence[Mapping[str, Any]]) -> None:
    """Write the reference results of the engines at hand, keeping those of others."""
    engines = {row["engine"] for row in rows}
    kept = study.load("reference")
    kept = kept[~kept["engine"].isin(engines)]
    study.save("reference", [*kept.to_dict(orient="records"), *rows])
