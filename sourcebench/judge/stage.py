"""The judging stage: which verdicts a study needs, who gives them, and the table they go into."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcebench.records import JUDGED_PAGES, SCORED, Group, Judge, Packet, Query, Verdict
from sourcebench.rubric import GROUPS
from sourcebench.study import Study, StudyError

if TYPE_CHECKING:
    import pandas as pd

# Outcomes that say nothing about the page: the next run asks again.
UNSETTLED = ("error", "timeout", "quota")
_SAVE_EVERY = 500  # tasks between two writes of the table


class JudgingStopped(StudyError):
    """Judging can't go on: no quota, no valid key, or a limit reached. What was judged is kept."""


@dataclass(frozen=True)
class Task:
    """One call a judge has to answer: a metric group of a page, for a query where it needs one."""

    group: Group
    query_id: str  # empty for page-level groups
    page_id: str


def make_judge(study: Study, name: str, **options: Any) -> Judge:
    """Return the judge that `[judges.<name>]` of study.toml describes; `rules` is built in.

    Parameters
    ----------
    study
        The study whose settings, as-of date and folder the judge uses.
    name
        A name under `[judges]`, or `rules`.
    options
        Passed on to the judge: client, clock and random generator of a language model.

    Raises
    ------
    StudyError
        If the judge is not described, or its type is unknown.
    """
    known = study.settings.judges
    table = dict(known.get(name, {"type": "rules"} if name == "rules" else {}))
    where = study.folder / "study.toml"
    if not table:
        names = ", ".join(["rules", *known])
        raise StudyError(f"{where}: no [judges.{name}]; judges are {names}")
    kind = table.pop("type", None)
    if kind == "rules":
        from sourcebench.judge.rules import RulesJudge

        return RulesJudge(as_of=study.settings.as_of, **table)
    raise StudyError(f"{where}: [judges.{name}] type must be rules or llm, found {kind!r}")


def judge_study(
    study: Study, *, judges: Sequence[str | Judge] | None = None, progress: bool = False
) -> pd.DataFrame:
    """Have every selected source judged, and write the table `judgments`.

    Pages are judged once for each query that cites them on the group `content`, and once on
    `credibility` and `usability`. Only pages with a text are judged. Verdicts that are there and
    still hold are kept; failed ones are asked again.

    Parameters
    ----------
    study
        A study with the tables queries, citations and packets.
    judges
        Names from study.toml, or judges; by default the one that study.toml names.
    progress
        Whether to show a progress bar.

    Returns
    -------
    DataFrame
        The table `judgments`.

    Raises
    ------
    JudgingStopped
        If a judge can't go on; everything judged so far is in the table.
    """
    made = [make_judge(study, j) if isinstance(j, str) else j for j in _chosen(study, judges)]
    tasks = tasks_of(study)
    packets, queries = load_packets(study), load_queries(study)
    rows = _kept_rows(study, made, tasks)
    try:
        for judge in made:
            _judge_all(study, judge, tasks, packets, queries, rows, progress)
    finally:
        _save(study, rows)
    return study.load("judgments")


def _chosen(study: Study, judges: Sequence[str | Judge] | None) -> Sequence[str | Judge]:
    """Return the judges asked for, else the study's own."""
    return [study.settings.judge] if judges is None else judges


# --- what has to be judged -----------------------------------------------------------------------


def tasks_of(study: Study) -> list[Task]:
    """Return the calls a study needs, group by group and page by page, so that prompts share a start."""
    from sourcebench.selection import pairs_to_judge

    judged = set(load_packets(study))
    pairs = pairs_to_judge(study)
    pages = set(pairs["page_id"])
    if study.has("labels"):
        pages |= set(study.load("labels")["page_id"])
    content = [
        Task("content", query, page)
        for page, query in sorted(zip(pairs["page_id"], pairs["query_id"], strict=True))
        if page in judged
    ]
    by_page = sorted(pages & judged)
    return content + [Task(g, "", page) for g in ("credibility", "usability") for page in by_page]


def load_packets(study: Study) -> dict[str, dict[str, Any]]:
    """Return the packets that can be judged, by page, as plain values."""
    frame = study.load("packets")
    rows = zip(frame["page_id"], frame["record"], strict=True)
    return {page: row for page, row in rows if row.get("outcome", "ok") in JUDGED_PAGES}


def load_queries(study: Study) -> dict[str, Query]:
    """Return the queries of a study by their identity."""
    frame = study.load("queries").astype(object)
    frame = frame.where(frame.notna(), "")
    return {
        row.query_id: Query(row.query_id, row.text, row.category, row.gold_answer)
        for row in frame.itertuples()
    }


# --- which verdicts still hold -------------------------------------------------------------------


def _kept_rows(study: Study, judges: Sequence[Judge], tasks: Sequence[Task]) -> dict[tuple, dict]:
    """Return the rows that hold: other judges' ones, and settled ones under the same wording."""
    frame = study.load("judgments").astype(object)
    frame = frame.where(frame.notna(), None)
    hashes = {(j.name, g): j.prompt_hash(g) for j in judges for g in GROUPS}
    group_of = {code: group for group, codes in GROUPS.items() for code in codes}
    wanted = {(task.group, task.query_id, task.page_id) for task in tasks}
    stale = _pages_are_newer(study)
    kept = {}
    for row in frame.to_dict(orient="records"):
        group = group_of[row["metric"]]
        ours = (row["judge"], group) in hashes
        if ours and (
            stale
            or row["outcome"] in UNSETTLED
            or row["prompt_hash"] != hashes[row["judge"], group]
            or (group, row["query_id"] or "", row["page_id"]) not in wanted
        ):
            continue
        kept[_key(row)] = row
    return kept


def _pages_are_newer(study: Study) -> bool:
    """Whether the pages or queries changed after the table of verdicts was written."""
    written = study.path("judgments")
    if not written.exists():
        return False
    inputs = [study.path(name) for name in ("packets", "queries") if study.has(name)]
    return any(path.stat().st_mtime_ns >= written.stat().st_mtime_ns for path in inputs)


def _key(row: dict[str, Any]) -> tuple[str, str, str, str]:
    """Return what a verdict is about."""
    return row["judge"], row["query_id"] or "", row["page_id"], row["metric"]


# --- judging -------------------------------------------------------------------------------------


def _judge_all(study, judge, tasks, packets, queries, rows, progress) -> None:
    """Have one judge do what is missing, adding to `rows` as verdicts come in."""
    missing = [
        task
        for task in tasks
        if any(
            (judge.name, task.query_id, task.page_id, code) not in rows
            for code in GROUPS[task.group]
        )
    ]

    def work(task: Task) -> list[Verdict]:
        packet = Packet.from_dict(packets[task.page_id])
        return judge.judge(task.group, queries.get(task.query_id), packet)

    from tqdm import tqdm

    bar = tqdm(total=len(missing), desc=judge.name, disable=not progress)
    with bar:
        found = in_threads(work, missing, getattr(judge, "concurrency", 1))
        for done, (task, verdicts) in enumerate(found, start=1):
            for row in _rows(judge, task, verdicts):
                rows[_key(row)] = row
            bar.update()
            if done % _SAVE_EVERY == 0:
                _save(study, rows)


def _rows(judge: Judge, task: Task, verdicts: Iterable[Verdict]) -> Iterator[dict[str, Any]]:
    """Turn the verdicts of a task into rows; a metric that the judge passed over is one too."""
    found = {verdict.metric: verdict for verdict in verdicts}
    for code in GROUPS[task.group]:
        verdict = found.get(code) or Verdict(code, None, "the judge gave none", "no_verdict")
        yield {
            "judge": judge.name,
            "prompt_hash": judge.prompt_hash(task.group),
            "query_id": task.query_id or None,
            "page_id": task.page_id,
            "metric": code,
            "score": verdict.score if verdict.outcome in SCORED else None,
            "reason": verdict.reason,
            "outcome": verdict.outcome,
        }


def in_threads(
    work: Callable[[Task], Any], tasks: Sequence[Task], threads: int
) -> Iterator[tuple[Task, Any]]:
    """Yield each task with its result, as results come in; the first exception ends it.

    Tasks are handed out in order. When the caller stops early, or one task raises, tasks in hand
    are finished and their results yielded; no new one is begun.
    """
    if threads <= 1:
        yield from ((task, work(task)) for task in tasks)
        return
    yield from _Crew(work, tasks).results(threads)


class _Crew:
    """Threads that share one list of tasks."""

    def __init__(self, work: Callable[[Task], Any], tasks: Sequence[Task]):
        import queue

        self._work, self._tasks = work, iter(tasks)
        self._lock, self._stop = threading.Lock(), threading.Event()
        self._done: queue.SimpleQueue = queue.SimpleQueue()

    def _next(self) -> Task | None:
        """Hand out the next task, or None."""
        with self._lock:
            return None if self._stop.is_set() else next(self._tasks, None)

    def _serve(self) -> None:
        """Work through tasks until there is none; say so with a final None."""
        try:
            while (task := self._next()) is not None:
                self._done.put((task, self._work(task), None))
        except BaseException as error:
            self._stop.set()
            self._done.put((None, None, error))
        finally:
            self._done.put(None)

    def results(self, threads: int) -> Iterator[tuple[Task, Any]]:
        """Start the threads and yield what they bring."""
        crew = [threading.Thread(target=self._serve, daemon=True) for _ in range(threads)]
        for thread in crew:
            thread.start()
        running, failure = threads, None
        try:
            while running:
                item = self._done.get()
                if item is None:
                    running -= 1
                elif item[2] is not None:
                    failure = failure or item[2]
                else:
                    yield item[0], item[1]
        finally:
            self._stop.set()
        if failure is not None:
            raise failure


def _save(study: Study, rows: dict[tuple, dict[str, Any]]) -> None:
    """Write the table in an order that does not depend on who was ready first."""
    order = list(GROUPS["content"] + GROUPS["credibility"] + GROUPS["usability"])
    keys = sorted(rows, key=lambda key: (*key[:3], order.index(key[3])))
    if keys or study.has("judgments"):
        study.save("judgments", [rows[key] for key in keys])
