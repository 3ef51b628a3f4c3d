"""Ask answer engines the queries of a study, and keep every reply as it came."""

from __future__ import annotations

import os
import threading
import time
from collections.abc import Callable, Iterable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import ExitStack
from dataclasses import dataclass
from datetime import UTC, datetime
from random import Random
from typing import Any

from sourcebench.collect.costs import Purse, expected_cost
from sourcebench.collect.pacing import Pace, ProviderStopped, ask_patiently
from sourcebench.collect.recorded import read_recordings, recorded, shape
from sourcebench.collect.recordings import Recordings, recording_file
from sourcebench.collect.replies import Answer
from sourcebench.engines import engine, key_names
from sourcebench.engines.settings import check_settings
from sourcebench.engines.wire import Http
from sourcebench.study import Study, StudyError

Settings = Mapping[str, Any]


class CollectingStopped(StudyError):
    """Some systems could not be asked to the end; everything they answered is kept."""


@dataclass(frozen=True)
class Task:
    """One answer to collect."""

    system: str
    query_id: str
    query: str
    run: int


@dataclass(frozen=True)
class Plan:
    """What a run would do for one system: answers to ask for, those there, and what it may cost."""

    system: str
    todo: tuple[Task, ...]
    there: int
    keys: tuple[str, ...]
    cost: float | None  # US dollars; None where a price is not known
    base_url: str = ""  # where it is not the engine's own

    def __str__(self) -> str:
        cost = "cost unknown" if self.cost is None else f"about {self.cost:.2f} USD"
        keys = f", needs {' and '.join(self.keys)}" if self.todo and self.keys else ""
        at = f", at {self.base_url}" if self.base_url else ""
        return f"{self.system}: {len(self.todo)} to ask, {self.there} there, {cost}{keys}{at}"


def collect_study(
    study: Study,
    *,
    systems: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
    keys: Mapping[str, str] | None = None,
    limit_cost: float | None = None,
    http: Callable[[], Http] | None = None,
    clock: Callable[[], datetime] = lambda: datetime.now(UTC),
    sleep: Callable[[float], None] = time.sleep,
    rng: Random | None = None,
    progress: bool = False,
) -> dict[str, dict[str, int]]:
    """Ask every system of a study every query, as many times as it has runs.

    Each reply is on disk, byte for byte, before the next request of its system; a run that ends
    early is taken up where it stopped, and failed requests are made again. The tables `answers`
    and `citations` are read from these replies, so that better reading needs no new request.
    A system with `reference = true` fills the table `reference` too.

    Parameters
    ----------
    study
        A study with queries and with `[systems.<name>]` in study.toml that name an `engine`.
    systems, queries
        Names and ids to keep to; by default all.
    keys
        Values by environment variable; by default the environment.
    limit_cost
        US dollars that this run may cost by the systems' prices; it ends before passing them.
    http
        Makes the sessions that requests go through, one for each thread.
    clock, sleep, rng
        Time of the requests, waiting, and spread of the waits.
    progress
        Whether to show a progress bar.

    Returns
    -------
    dict
        For each system, the number of answers by outcome.

    Raises
    ------
    CollectingStopped
        If a provider refuses the key, has no quota left, or rejects the requests; the others are
        asked to the end before.
    StudyError
        If a key is missing, or the settings don't allow a run; nothing has been sent then.
    """
    if study.released:
        study.append("answers", [])  # says that the study is released, and what to do
    plans = plan_study(study, systems=systems, queries=queries)
    found = _keys_of(study, plans, os.environ if keys is None else keys)
    purse = _purse(study, plans, limit_cost)
    tools = _Tools(http or _session, clock, sleep, rng or Random())
    problems: list[str] = []
    with ExitStack() as stack:
        written = {
            plan.system: stack.enter_context(Recordings(recording_file(study.folder, plan.system)))
            for plan in plans
            if plan.todo
        }
        try:
            _ask_all(study, plans, found, purse, tools, written, problems, progress)
        finally:
            counts = read_recordings(study, [plan.system for plan in plans])
    if problems:
        raise CollectingStopped("; ".join(problems))
    return counts


def plan_study(
    study: Study,
    *,
    systems: Sequence[str] | None = None,
    queries: Sequence[str] | None = None,
) -> list[Plan]:
    """Return what a run would ask, and about what it would cost; nothing is sent, no key needed.

    Parameters
    ----------
    study, systems, queries
        As for `collect_study`.

    Raises
    ------
    StudyError
        If a system or query is not known, or a system's settings have changed since it answered.
    """
    asked = _systems(study, systems)
    texts = _queries(study, queries)
    return [_plan(study, name, settings, texts) for name, settings in asked.items()]


def describe_plans(plans: Sequence[Plan]) -> str:
    """Return what a run would do in words: a line a system and one for all; unknown is not 0."""
    known = sum(plan.cost for plan in plans if plan.cost is not None)
    unknown = any(plan.cost is None and plan.todo for plan in plans)
    asked = sum(len(plan.todo) for plan in plans)
    total = f"total: {asked} to ask, {'at least' if unknown else 'about'} {known:.2f} USD"
    return "\n".join([*map(str, plans), total])


def _systems(study: Study, names: Sequence[str] | None) -> dict[str, Settings]:
    """Return the systems that can be asked, with their settings."""
    known = study.settings.systems
    where = study.folder / "study.toml"
    asked = {name: s for name, s in known.items() if "engine" in s}
    for name in names or ():
        if name not in asked:
            why = "names no engine" if name in known else "is not there"
            raise StudyError(f"{where}: [systems.{name}] {why}; known are {', '.join(asked)}")
    if not asked:
        raise StudyError(f"{where}: no [systems.<name>] with an engine; see `sourcebench new`")
    for name, settings in asked.items():
        try:
            check_settings(settings)
        except ValueError as error:
            raise StudyError(f"{where}: [systems.{name}] {error}") from None
    return {name: s for name, s in asked.items() if names is None or name in names}


def _queries(study: Study, ids: Sequence[str] | None) -> dict[str, str]:
    """Return the texts of the queries to ask."""
    frame = study.load("queries")
    texts = dict(zip(frame["query_id"], frame["text"], strict=True))
    missing = [query_id for query_id in ids or () if query_id not in texts]
    if missing:
        raise StudyError(f"{study.path('queries')}: no query {missing[0]!r}")
    if not texts:
        raise StudyError(f"{study.path('queries')}: no queries to ask")
    return {query_id: text for query_id, text in texts.items() if ids is None or query_id in ids}


def _plan(study: Study, name: str, settings: Settings, texts: Mapping[str, str]) -> Plan:
    """Plan the requests to one system."""
    done = recorded(study, name)
    wanted = [
        Task(name, query_id, text, run)
        for run in range(1, settings.get("runs", 1) + 1)
        for query_id, text in texts.items()
    ]
    todo = [task for task in wanted if not _settled(done.get((task.query_id, task.run)), task)]
    usages = [answer.reply.usage for answer, _ in done.values() if answer.reply.usage]
    cost = expected_cost(settings, usages)
    return Plan(
        name,
        tuple(todo),
        len(wanted) - len(todo),
        key_names(settings),
        None if cost is None else cost * len(todo),
        settings.get("base_url", ""),
    )


def _settled(found: tuple[Answer, Mapping] | None, task: Task) -> bool:
    """Whether an answer is there, to the query as it reads now."""
    if found is None:
        return False
    answer, record = found
    return answer.reply.outcome != "failed" and record["query"] == task.query


def _purse(study: Study, plans: Sequence[Plan], limit: float | None) -> Purse:
    """Return the purse of a run."""
    each = {p.system: p.cost / len(p.todo) for p in plans if p.todo and p.cost is not None}
    unpriced = [p.system for p in plans if p.todo and p.cost is None]
    if limit is not None and unpriced:
        raise StudyError(
            f"{study.folder / 'study.toml'}: a limit in money needs a price for "
            f"{', '.join(unpriced)}; give price = {{input = ..., output = ..., call = ...}}"
        )
    return Purse(limit, each)


# --- keys ----------------------------------------------------------------------------------------


def _keys_of(study: Study, plans: Iterable[Plan], given: Mapping[str, str]) -> dict[str, Any]:
    """Return the keys of each system; one line names every variable that is missing."""
    missing: dict[str, list[str]] = {}
    found: dict[str, Any] = {}
    for plan in plans:
        values = [given.get(name, "").strip() for name in plan.keys]
        for name, value in zip(plan.keys, values, strict=True):
            if plan.todo and not value:
                missing.setdefault(name, []).append(plan.system)
        found[plan.system] = values[0] if len(values) == 1 else tuple(values)
    if missing:
        said = "; ".join(f"{name} (for {', '.join(names)})" for name, names in missing.items())
        raise StudyError(
            f"{study.folder}: no key in the environment: set {said}, or name the systems to ask"
        )
    return found


# --- asking --------------------------------------------------------------------------------------


@dataclass(frozen=True)
class _Tools:
    """What requests are made with."""

    http: Callable[[], Http]
    clock: Callable[[], datetime]
    sleep: Callable[[float], None]
    rng: Random


def _session() -> Http:
    """Return a session of our own."""
    import requests

    return requests.Session()


def _provider(settings: Settings) -> tuple[str, str]:
    """Return what limits are counted for: the engine, and its address where it is another."""
    return settings["engine"], settings.get("base_url", "")


def _ask_all(study, plans, keys, purse, tools, written, problems, progress) -> None:
    """Ask all providers at the same time, each at its own pace."""
    from tqdm import tqdm

    settings = study.settings.systems
    groups: dict[tuple[str, str], list[Plan]] = {}
    for plan in plans:
        if plan.todo:
            groups.setdefault(_provider(settings[plan.system]), []).append(plan)
    crews = [_Crew(group, settings, keys, purse, tools, written) for group in groups.values()]
    total = sum(len(plan.todo) for plan in plans)
    with (
        tqdm(total=total, desc="collect", disable=not progress) as bar,
        ThreadPoolExecutor(max(1, len(crews))) as pool,
    ):
        try:
            problems += [said for said in pool.map(lambda crew: crew.serve(bar), crews) if said]
        except BaseException:
            for crew in crews:
                crew.pace.stop("interrupted")
            raise


class _Crew:
    """Threads that ask the systems of one provider."""

    def __init__(self, plans, settings, keys, purse, tools, written):
        self.plans, self.settings, self.keys = plans, settings, keys
        self.purse, self.tools, self.written = purse, tools, written
        paced = [settings[plan.system] for plan in plans]
        per_minute = min(s.get("per_minute", 60) for s in paced)
        self.pace = Pace(per_minute=per_minute, sleep=tools.sleep, rng=tools.rng)
        self.threads = min(s.get("concurrency", 4) for s in paced)
        self._local = threading.local()

    def serve(self, bar: Any) -> str:
        """Ask everything; return why the provider stopped, if it did."""
        tasks = [task for plan in self.plans for task in plan.todo]
        with ThreadPoolExecutor(self.threads) as pool:
            futures = [pool.submit(self.work, task, bar) for task in tasks]
            try:
                for future in futures:
                    future.result()
            except ProviderStopped as stop:
                return f"{', '.join(plan.system for plan in self.plans)}: {stop}"
            finally:
                for future in futures:
                    future.cancel()
        return ""

    def work(self, task: Task, bar: Any) -> None:
        """Ask for one answer and put it on disk."""
        if not hasattr(self._local, "http"):
            self._local.http = self.tools.http()
        try:
            self.pace.check()
            self.purse.take(task.system)
            settings, key = self.settings[task.system], self.keys[task.system]
            record = _ask(task, settings, key, self._local.http, self.pace, self.tools)
        except BaseException as error:
            self.pace.stop(str(error))
            raise
        self.written[task.system].append(record)
        bar.update()


def _ask(task: Task, settings: Settings, key, http: Http, pace: Pace, tools: _Tools) -> dict:
    """Ask for one answer, and return the record of all that was sent and came back."""
    asked_at = tools.clock().astimezone(UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    module = engine(settings["engine"])
    result = ask_patiently(
        lambda: module.ask(task.query, settings=settings, http=http, key=key),
        pace,
        retries=settings.get("retries", 4),
    )
    record = {
        "system": task.system,
        "query_id": task.query_id,
        "run": task.run,
        "query": task.query,
        "engine": settings["engine"],
        "settings": shape(settings),
        "asked_at": asked_at,
    }
    if isinstance(result, str):
        return record | {"failure": result}
    return record | {"exchanges": [exchange.to_dict() for exchange in result]}
