"""New studies: a folder with settings and queries, ready to be collected or to take answers in."""

from __future__ import annotations

import json
import shlex
from collections.abc import Mapping, Sequence
from datetime import date
from pathlib import Path
from typing import Any

from sourcebench.collect.queries import public_queries, read_queries
from sourcebench.engines.presets import NOTED, PRESETS, preset
from sourcebench.engines.settings import check_settings
from sourcebench.study import Study, StudyError, write_atomic

# What a template starts with: the systems it names, and what the next command is.
TEMPLATES: Mapping[str, tuple[str, ...]] = {
    "own": (),
    "small": ("Tavily", "Perplexity-Sonar-Pro"),
    "paper": tuple(PRESETS),
}
JUDGES: Mapping[str, Mapping[str, Any]] = {
    "qwen-plus": {
        "type": "llm",
        "model": "qwen-plus",
        "base_url": "https://dashscope-intl.aliyuncs.com/compatible-mode/v1",
        "key": "DASHSCOPE_API_KEY",
    },
    "gpt-5-mini": {
        "type": "llm",
        "model": "gpt-5-mini",
        "base_url": "https://api.openai.com/v1",
        "key": "OPENAI_API_KEY",
    },
    "local": {"type": "llm", "model": "local-model", "base_url": "http://127.0.0.1:8080/v1"},
}
_SETTINGS_BEFORE = """\
title = {title}
kind = "live"
licence = "not chosen yet"
as_of = {as_of}
top_k = 5
seed = {seed}
judge = {judge}
verifier = {verifier}
provenance = "made from the template {template}"
"""
_PRICES = f"""
# Prices are US dollars (input and output for a million tokens, call for a request), as known in {NOTED};
# they only serve the estimate before a run. Correct them before you rely on it.
"""


def new_study(
    folder: str | Path,
    *,
    template: str = "small",
    systems: Sequence[str] | None = None,
    judge: str = "rules",
    queries: str | Path | None = None,
    category: str | None = None,
    runs: int = 1,
    title: str | None = None,
    as_of: date | None = None,
    endpoint: str | None = None,
    model: str | None = None,
    judge_model: str | None = None,
    judge_endpoint: str | None = None,
    key: str | None = None,
) -> str:
    """Make a study in a new folder.

    Parameters
    ----------
    folder
        Must not exist, or be empty.
    template
        `own` (to bring answers along), `small` (two systems) or `paper` (all of SourceBench's).
    systems
        Presets to ask, in place of the template's.
    judge
        `rules` (offline), or one of `JUDGES`.
    endpoint, model
        Address of an OpenAI-compatible chat endpoint, and a model there to ask; it joins `systems`,
        and takes the template's place. What it cites stands in its text.
    judge_model, judge_endpoint
        A model to judge, in place of `judge`, and its endpoint, by default `endpoint`.
    key
        Name of the environment variable with the key of these endpoints; none by default.
    queries
        A file of queries; `public` for the public ones of SourceBench; by default those for
        templates that ask, and none for `own`, which takes its queries with the answers.
    category
        Category of queries that the file gives none for.
    runs
        Answers to each query.
    title, as_of
        By default the folder's name, and today.

    Returns
    -------
    str
        The next command to run.

    Raises
    ------
    StudyError
        If the folder is not empty, a name is not known, or the queries can't be read.
    """
    folder = Path(folder)
    if endpoint is not None and model is None and judge_model is None:
        raise StudyError(
            "--endpoint without --model; name the model to ask there, or --judge-model"
        )
    asked = _endpoint_system(endpoint, model, key)
    chosen = {
        name: preset(name)
        for name in _chosen(template, () if asked and not systems else systems, judge)
    }
    chosen |= asked
    judges = _endpoint_judge(judge_endpoint or endpoint, judge_model, key)
    judges = judges or ({judge: JUDGES[judge]} if judge != "rules" else {})
    if folder.exists() and (not folder.is_dir() or any(folder.iterdir())):
        raise StudyError(f"{folder}: is there already; choose a new folder")
    rows = _queries(queries, category, asks=bool(chosen))
    folder.mkdir(parents=True, exist_ok=True)
    text = _settings_text(
        title or folder.resolve().name, template, judges, as_of or date.today(), chosen, runs
    )
    write_atomic(folder / "study.toml", text)
    study = Study(folder)
    study.save("queries", rows)
    return _next_command(folder, chosen, rows)


def _chosen(template: str, systems: Sequence[str] | None, judge: str) -> Sequence[str]:
    """Return the presets of a study, having checked every name."""
    if template not in TEMPLATES:
        raise StudyError(f"no template {template!r}; templates are {', '.join(TEMPLATES)}")
    if judge != "rules" and judge not in JUDGES:
        raise StudyError(f"no judge {judge!r}; judges are rules, {', '.join(JUDGES)}")
    chosen = TEMPLATES[template] if systems is None else tuple(systems)
    for name in chosen:
        if name not in PRESETS:
            raise StudyError(f"no preset {name!r}; presets are {', '.join(PRESETS)}")
    return chosen


def _endpoint_system(
    endpoint: str | None, model: str | None, key: str | None
) -> dict[str, dict[str, Any]]:
    """Return the settings of a model to ask at an endpoint, by its name, having checked them."""
    if model is None:
        return {}
    if endpoint is None:
        raise StudyError(
            "--model without --endpoint; give the address, such as http://localhost:11434/v1"
        )
    made = {"label": model, "type": "answer", "engine": "chat", "model": model}
    made |= {"base_url": endpoint.rstrip("/")} | ({"key": key} if key else {})
    try:
        check_settings(made)
    except ValueError as error:
        raise StudyError(f"--endpoint {endpoint}: {error}") from None
    return {model: made}


def _endpoint_judge(
    endpoint: str | None, model: str | None, key: str | None
) -> dict[str, dict[str, Any]]:
    """Return the settings of a judge at an endpoint, by its model's name."""
    if model is None:
        return {}
    if endpoint is None:
        raise StudyError("--judge-model without --endpoint or --judge-endpoint; give the address")
    made = {"type": "llm", "model": model, "base_url": endpoint.rstrip("/")}
    return {model: made | ({"key": key} if key else {})}


def _queries(
    source: str | Path | None, category: str | None, *, asks: bool
) -> list[dict[str, Any]]:
    """Return the queries to start with."""
    if source == "public" or (source is None and asks):
        return public_queries()
    return [] if source is None else read_queries(source, category=category)


def _settings_text(title, template, judges, as_of, chosen, runs) -> str:
    """Return the text of study.toml."""
    judge = next(iter(judges), "rules")
    parts = [
        _SETTINGS_BEFORE.format(
            title=_toml(title),
            as_of=as_of.isoformat(),
            seed=int(as_of.strftime("%Y%m%d")),
            judge=_toml(judge),
            verifier=_toml("semantic" if judge == "rules" else judge),
            template=template,
        )
    ]
    for name, settings in judges.items():
        parts.append(_table(f"judges.{_name(name)}", settings))
    if any("price" in settings for settings in chosen.values()):
        parts.append(_PRICES)
    for name, settings in chosen.items():
        parts.append(_table(f"systems.{_name(name)}", settings | {"runs": runs}))
    return "\n".join(part.strip("\n") + "\n" for part in parts)


def _table(name: str, values: Mapping[str, Any]) -> str:
    """Return a table of TOML."""
    return f"[{name}]\n" + "".join(f"{key} = {_toml(value)}\n" for key, value in values.items())


def _name(name: str) -> str:
    """Return a name as a part of a TOML key."""
    bare = all(c.isascii() and (c.isalnum() or c in "-_") for c in name)
    return name if bare else _toml(name)


def _toml(value: Any) -> str:
    """Return a value in TOML, whose texts, numbers and lists are those of JSON."""
    if isinstance(value, Mapping):
        return "{ " + ", ".join(f"{key} = {_toml(item)}" for key, item in value.items()) + " }"
    return json.dumps(value, ensure_ascii=False).replace("\x7f", "\\u007F")


def _next_command(folder: Path, chosen: Mapping[str, Any], rows: Sequence[Any]) -> str:
    """Return what to run next."""
    quoted = shlex.quote(str(folder))
    if chosen:
        return f"sourcebench collect {quoted} --dry-run"
    add = "" if rows else " --add-queries --category general"
    return f"sourcebench import answers.csv --study {quoted}{add}"
