"""Logs of evaluation tools as rows of the import: promptfoo, Inspect, LangSmith, Langfuse."""

from __future__ import annotations

import json
import zipfile
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any

from sourcebench.collect.rowfile import Fault, Row
from sourcebench.engines.mentions import items, obj
from sourcebench.study import StudyError

_LARGEST = 500_000_000  # bytes of one file in an archive

# Where each tool keeps what we need: our column -> places to look, the first that holds something.
# A place is a path of keys and list positions, parted by dots.
FIELDS: Mapping[str, Mapping[str, Sequence[str]]] = {
    "promptfoo": {
        "query_id": ("vars.query_id", "vars.id", "testCase.metadata.query_id"),
        "question": ("vars.query", "vars.question", "vars.q", "prompt.raw"),
        "system": ("provider.label", "provider.id", "provider"),
        "raw": ("response.raw",),
        "answer": ("response.output",),
        "urls": ("response.metadata.citations",),
        "reason": ("response.error", "error"),
    },
    "inspect": {
        "query_id": ("metadata.query_id", "id"),
        "question": ("input", "input.0.content"),
        "system": ("output.model",),
        "run": ("epoch",),
        "raw": ("_call", "_message"),
        "answer": ("output.completion",),
        "reason": ("error.message",),
    },
    "langsmith": {
        "query_id": ("extra.metadata.query_id", "reference_example_id", "inputs.query_id"),
        "question": (
            "inputs.question", "inputs.query", "inputs.input", "inputs.messages.-1.content",
            "inputs.messages.0.-1.kwargs.content",
        ),
        "system": ("extra.metadata.ls_model_name", "extra.invocation_params.model", "name"),
        "raw": ("outputs.output", "outputs"),
        "answer": (
            "outputs.answer", "outputs.output", "outputs.content",
            "outputs.generations.0.0.message.kwargs.content", "outputs.generations.0.0.text",
        ),
        "asked_at": ("start_time",),
        "reason": ("error",),
    },
    "langfuse": {
        "query_id": ("metadata.query_id", "traceId"),
        "question": ("input.question", "input.query", "input.messages.-1.content", "input.-1.content", "input"),
        "system": ("model", "name"),
        "raw": ("output",),
        "answer": ("output.content", "output.answer", "output"),
        "asked_at": ("startTime",),
        "reason": ("statusMessage",),
    },
}  # fmt: skip


def log_kind(value: Any) -> str | None:
    """Return which tool wrote a log, by its shape, or None."""
    holder = obj(value)
    if items(obj(holder.get("results")).get("results")):
        return "promptfoo"
    if "samples" in holder and "eval" in holder:
        return "inspect"
    records = items(value) or items(holder.get("data")) or items(holder.get("runs"))
    if records and all("run_type" in record and "outputs" in record for record in records):
        return "langsmith"
    if records and all("output" in r and ("traceId" in r or "usageDetails" in r) for r in records):
        return "langfuse"
    return None


def log_rows(
    value: Any, kind: str, faults: list[Fault], fields: Mapping[str, str] | None = None
) -> list[Row]:
    """Return the records of a log as rows of the import.

    Parameters
    ----------
    value
        The log.
    kind
        A tool in `FIELDS`, or any other word for a list of objects with `fields` given.
    faults
        Takes records without an answer or a query.
    fields
        Where our columns are in a record (`{"query_id": "metadata.case", "raw": "outputs.body"}`),
        before the places of `FIELDS`.
    """
    places: dict[str, list[str]] = {
        name: list(known) for name, known in FIELDS.get(kind, {}).items()
    }
    for name, place in (fields or {}).items():
        places[name] = [place, *places.get(name, [])]
    rows = []
    for number, record in enumerate(_records(value, kind), start=1):
        values = {name: _first(record, known) for name, known in places.items()}
        if isinstance(values.get("answer"), (dict, list)):
            values["answer"] = None
        if not isinstance(values.get("raw"), (dict, list, str)):
            values["raw"] = None
        if values.get("reason") and not values.get("answer") and not values.get("raw"):
            values["outcome"] = "failed"
        rows.append(Row(number, values))
    if not rows:
        faults.append(Fault(1, "", f"no records of {kind} in this file"))
    return rows


def _records(value: Any, kind: str) -> Iterator[dict[str, Any]]:
    """Yield the records of a log that hold an answer."""
    holder = obj(value)
    if kind == "promptfoo":
        yield from items(obj(holder.get("results")).get("results"))
    elif kind == "inspect":
        model = obj(holder.get("eval")).get("model")
        for sample in items(holder.get("samples")):
            yield {**sample, "_call": _call(sample), "_message": _message(sample, model)}
    else:
        records = items(value) or items(holder.get("data")) or items(holder.get("runs"))
        for record in records:
            if record.get("run_type", "llm") in ("llm", "chain") and record.get(
                "type", "GENERATION"
            ) in ("GENERATION", "generation"):
                yield record


def _call(sample: Mapping[str, Any]) -> Any:
    """Return the provider's own reply that Inspect keeps when calls are logged: the last one."""
    calls = [
        obj(event.get("call")).get("response")
        for event in items(sample.get("events"))
        if event.get("event") == "model"
    ]
    return next((call for call in reversed(calls) if call), None)


def _message(sample: Mapping[str, Any], model: Any) -> dict[str, Any] | None:
    """Return the answer of a sample in the shape of a response with annotations.

    `cited_text` of Inspect is a pair of places in the answer, or a quotation from the page.
    """
    output = obj(sample.get("output"))
    choices = items(output.get("choices"))
    content = obj(choices[0].get("message")).get("content") if choices else None
    if not isinstance(content, list):
        return None
    parts = []
    for piece in items(content):
        if piece.get("type") == "text":
            notes = [_note(cited) for cited in items(piece.get("citations")) if cited.get("url")]
            parts.append({"type": "output_text", "text": piece.get("text"), "annotations": notes})
    return {
        "object": "response",
        "status": "completed",
        "model": output.get("model") or model,
        "output": [{"type": "message", "content": parts}],
        "usage": output.get("usage"),
    }


def _note(cited: Mapping[str, Any]) -> dict[str, Any]:
    """Return one citation of Inspect as an annotation."""
    place = cited.get("cited_text")
    note = {"type": "url_citation", "url": cited.get("url"), "title": cited.get("title")}
    if isinstance(place, list) and len(place) == 2:
        note |= {"start_index": place[0], "end_index": place[1]}
    return note


def _first(record: Any, places: Sequence[str]) -> Any:
    """Return what the first of several places holds that holds something."""
    for place in places:
        value = at(record, place)
        if value not in (None, "", [], {}):
            return value
    return None


def at(value: Any, place: str) -> Any:
    """Return what stands at a path of keys and list positions, or None."""
    if isinstance(value, dict) and place in value:
        return value[place]
    for step in place.split("."):
        if isinstance(value, dict):
            value = value.get(step)
        elif isinstance(value, list) and step.lstrip("-").isdigit():
            index = int(step)
            value = value[index] if -len(value) <= index < len(value) else None
        else:
            return None
    return value


def read_archive(path: Path) -> dict[str, Any]:
    """Return the log in an `.eval` archive of Inspect.

    Raises
    ------
    StudyError
        If it is no such archive, or a file in it is too large.
    """
    try:
        with zipfile.ZipFile(path) as archive:
            names = sorted(n for n in archive.namelist() if n.startswith("samples/"))
            header = _member(path, archive, "header.json")
            return {**obj(header), "samples": [_member(path, archive, name) for name in names]}
    except (zipfile.BadZipFile, KeyError) as error:
        raise StudyError(f"{path}: not an archive of Inspect: {error}") from None


def _member(path: Path, archive: zipfile.ZipFile, name: str) -> Any:
    """Return one JSON file of an archive."""
    if archive.getinfo(name).file_size > _LARGEST:
        raise StudyError(f"{path}: {name} is larger than {_LARGEST} bytes")
    try:
        return json.loads(archive.read(name))
    except ValueError as error:
        raise StudyError(f"{path}: {name} is not JSON: {error}") from None
