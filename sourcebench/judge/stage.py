"""The judging stage: which verdicts a study needs, who gives them, and the table they go into."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from contextlib import nullcontext
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcebench.judge.crew import in_threads
from sourcebench.judge.endpoint import JudgingStopped
from sourcebench.judge.jury import add_jury, members_of
from sourcebench.records import (
    EXCERPT,
    JUDGED_PAGES,
    SCORED,
    VERDICT_OUTCOMES,
    Group,
    Judge,
    Packet,
    Query,
    Verdict,
)
from sourcebench.rubric import GROUPS
from sourcebench.study import Study, StudyError

if TYPE_CHECKING:
    import pandas as pd

    from sourcebench.judge.spending import Estimate

# Outcomes that say nothing about the page: the next run asks again.
UNSETTLED = ("error", "timeout", "not_asked")
_SAVE_EVERY = 500  # tasks between two writes of the table
_UNSEEN = {"FR", "OA", "AA", "LC"}  # metrics that passages of a page say nothing about
_MANY_CUT = 0.03  # share of cut replies from which on the run says what to raise


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
        A name under `[judges]`, or `rules`; `name/2` is the second repetition of a language model.
    options
        Passed on to a language model: see `llm.llm_judge`.

    Raises
    ------
    StudyError
        If the judge is not described, or its settings are wrong.
    """
    known = study.settings.judges
    base = name.partition("/")[0]
    table = dict(known.get(base, {"type": "rules"} if base == "rules" else {}))
    where = study.folder / "study.toml"
    if not table:
        names = ", ".join(dict.fromkeys(["rules", *known]))
        raise StudyError(f"{where}: no [judges.{base}]; judges are {names}")
    kind = table.pop("type", None)
    try:
        if kind == "rules":
            return _named(_rules_judge(study, table), name)
        if kind == "llm":
            from sourcebench.judge.llm import llm_judge

            return llm_judge(study, name, table, **options)
    except (TypeError, ValueError) as error:
        raise StudyError(f"{where}: [judges.{base}]: {error}") from None
    if kind == "jury":
        raise StudyError(f"{where}: [judges.{base}] is a jury; name one of its members")
    raise StudyError(f"{where}: [judges.{base}] type must be rules, llm or jury, found {kind!r}")


def _rules_judge(study: Study, table: dict[str, Any]) -> Judge:
    """Return the offline judge."""
    from sourcebench.judge.rules import RulesJudge

    return RulesJudge(as_of=study.settings.as_of, **table)


def _named(judge: Judge, name: str) -> Judge:
    """Give a judge the name that study.toml gives it."""
    if judge.name != name:
        judge.name = name
    return judge


def judge_study(
    study: Study,
    *,
    judges: Sequence[str | Judge] | None = None,
    retry: Collection[str] = (),
    pages: Collection[str] | None = None,
    progress: bool = False,
    **options: Any,
) -> pd.DataFrame:
    """Have every selected source judged, and write the table `judgments`.

    Pages are judged once for each query that cites them on the group `content`, and once on
    `credibility` and `usability`. Only pages with a text are judged. Verdicts that are there and
    still hold are kept; failed ones are asked again. A language model's replies are on disk, in
    the study's journal, before the next request is sent, and are never asked for twice.

    Parameters
    ----------
    study
        A study with the tables queries, citations and packets.
    judges
        Names from study.toml, or judges; by default the one that study.toml names. The members of a
        jury judge one after the other, and the jury's median is added.
    retry
        Further outcomes that are asked again: no_verdict, refused, cut ...
    pages
        Identities of the pages to judge; by default all that count.
    progress
        Whether to show a progress bar, and a summary at the end.
    options
        Passed on to language models: limit_tokens, limit_cost, limit_seconds, rng ...

    Returns
    -------
    DataFrame
        The table `judgments`. Every verdict the study needs has a row.

    Raises
    ------
    ValueError
        If `retry` holds something that is no outcome.
    JudgingStopped
        If a judge can't go on; everything judged so far is in the table, the rest is marked
        `not_asked`, and the next run goes on from there.
    """
    if unknown := sorted(set(retry) - set(VERDICT_OUTCOMES)):
        raise ValueError(f"retry: {unknown[0]!r} is none of {', '.join(VERDICT_OUTCOMES)}")
    names = [study.settings.judge] if judges is None else judges
    members = _members(study, names)
    made = [judge for member in members for judge in _repetitions(study, member, options)]
    tasks = [task for task in tasks_of(study) if pages is None or task.page_id in pages]
    packets, queries = load_packets(study), load_queries(study)
    rows, old = _kept_rows(study, made, tasks, (*UNSETTLED, *retry))
    juries = {name: jury for name in names if len(jury := members_of(study, name)) > 1}
    rows = {key: row for key, row in rows.items() if key[0] not in juries}
    run = _Run(study, packets, queries, rows, progress)
    try:
        for judge in made:
            if hasattr(judge, "again"):
                judge.again = _asked_again(judge.name, old, retry)
            run.judge_all(judge, tasks)
    finally:
        run.save()
    for name, jury in juries.items() if tasks else ():
        add_jury(study, jury, name)
    return study.load("judgments")


def _members(study: Study, names: Sequence[str | Judge]) -> list[str | Judge]:
    """Return the judges behind names, juries by their members, each once."""
    found = [member for name in names for member in members_of(study, name)]
    return [member for place, member in enumerate(found) if member not in found[:place]]


def _repetitions(study: Study, name: str | Judge, options: dict[str, Any]) -> list[Judge]:
    """Return the judges behind a name: as many as it has repeats."""
    if not isinstance(name, str):
        return [name]
    first = make_judge(study, name, **options)
    repeats = getattr(getattr(first, "settings", None), "repeats", 1) if "/" not in name else 1
    return [first, *(make_judge(study, f"{name}/{n}", **options) for n in range(2, repeats + 1))]


def plan_judging(
    study: Study, *, judges: Sequence[str] | None = None, **options: Any
) -> list[Estimate]:
    """Return what judging would cost, without sending anything; no key is needed.

    `spending.describe` puts the result into words.

    Parameters
    ----------
    study, judges, options
        As for `judge_study`.

    Returns
    -------
    list of Estimate
        One for each repetition of each language model; offline judges cost nothing.
    """
    from sourcebench.judge.spending import PlannedCall, estimate

    packets, queries = load_packets(study), load_queries(study)
    known, coming = tasks_of(study), _tasks_to_come(study)
    estimates = []
    names = [study.settings.judge] if judges is None else judges
    for name in _members(study, names):
        for judge in _repetitions(study, name, options):
            if not hasattr(judge, "planned"):
                continue
            calls = [
                judge.planned(
                    t.group, queries.get(t.query_id), Packet.from_dict(packets[t.page_id])
                )
                for t in known
            ]
            calls += [PlannedCall(t.page_id, None, judge.settings.max_tokens) for t in coming]
            estimates.append(estimate(judge.name, calls, judge.settings.price))
    return estimates


# --- what has to be judged -----------------------------------------------------------------------


def tasks_of(study: Study) -> list[Task]:
    """Return the calls a study needs, group by group and page by page, so that prompts share a start."""
    return _tasks(study, lambda page, judged, there: page in judged)


def _tasks_to_come(study: Study) -> list[Task]:
    """Return the calls on pages that are not fetched or extracted yet."""
    return _tasks(study, lambda page, judged, there: page not in there)


def _tasks(study: Study, keep: Callable[[str, Collection, Collection], bool]) -> list[Task]:
    """Return the calls on the pages that `keep` keeps."""
    from sourcebench.selection import pairs_to_judge

    judged, there = set(load_packets(study)), set(study.load("packets")["page_id"])
    pairs = pairs_to_judge(study)
    pages = set(pairs["page_id"])
    if study.has("labels"):
        pages |= set(study.load("labels")["page_id"])
    cited = sorted(zip(pairs["page_id"], pairs["query_id"], strict=True))
    tasks = [Task("content", query, page) for page, query in cited]
    tasks += [Task(g, "", page) for g in ("credibility", "usability") for page in sorted(pages)]
    return [task for task in tasks if keep(task.page_id, judged, there)]


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


def _kept_rows(
    study: Study, judges: Sequence[Judge], tasks: Sequence[Task], open_: Collection[str]
) -> tuple[dict[tuple, dict], list[dict]]:
    """Return the rows that hold, by what they are about, and the ones that do not.

    Other judges' rows hold, and settled ones under the same wording.
    """
    frame = study.load("judgments").astype(object)
    frame = frame.where(frame.notna(), None)
    hashes = {(j.name, g): j.prompt_hash(g) for j in judges for g in GROUPS}
    wanted = {(task.group, task.query_id, task.page_id) for task in tasks}
    stale = _pages_are_newer(study)
    kept, dropped = {}, []
    for row in frame.to_dict(orient="records"):
        group = _GROUP_OF[row["metric"]]
        ours = (row["judge"], group) in hashes
        if ours and (
            stale
            or row["outcome"] in open_
            or row["prompt_hash"] != hashes[row["judge"], group]
            or (group, row["query_id"] or "", row["page_id"]) not in wanted
        ):
            dropped.append(row)
        else:
            kept[_key(row)] = row
    return kept, dropped


_GROUP_OF = {code: group for group, codes in GROUPS.items() for code in codes}


def _asked_again(judge: str, rows: Iterable[dict], retry: Collection[str]) -> frozenset[tuple]:
    """Return the tasks whose settled replies the user wants to have anew."""
    return frozenset(
        (_GROUP_OF[row["metric"]], row["query_id"] or "", row["page_id"])
        for row in rows
        if row["judge"] == judge and row["outcome"] in retry
    )


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


@dataclass
class _Run:
    """One run of the stage: what it reads, and the rows it adds to."""

    study: Study
    packets: dict[str, dict[str, Any]]
    queries: dict[str, Query]
    rows: dict[tuple, dict[str, Any]]
    progress: bool

    def judge_all(self, judge: Judge, tasks: Sequence[Task]) -> None:
        """Have one judge do what is missing; what a stop leaves undone is a row too."""
        missing = [task for task in tasks if not self._is_done(judge, task)]
        if not missing:
            return
        try:
            with judge if hasattr(judge, "__enter__") else nullcontext():
                if hasattr(judge, "prepare"):
                    judge.prepare()
                self._work_through(judge, missing)
        except JudgingStopped as stop:
            left = [task for task in missing if not self._is_done(judge, task)]
            for task in left:
                why = f"not asked: {stop}"
                self._add(
                    judge, task, [Verdict(c, None, why, "not_asked") for c in GROUPS[task.group]]
                )
            raise JudgingStopped(
                f"{stop} ({len(missing) - len(left)} of {len(missing)} calls done and kept; "
                "run again to go on)"
            ) from None

    def _work_through(self, judge: Judge, missing: Sequence[Task]) -> None:
        """Have the missing tasks judged, and keep the rows as they come in."""
        from tqdm import tqdm

        def work(task: Task) -> list[Verdict]:
            packet = Packet.from_dict(self.packets[task.page_id])
            return seen_verdicts(judge, task.group, self.queries.get(task.query_id), packet)

        with tqdm(total=len(missing), desc=judge.name, disable=not self.progress) as bar:
            hurry = getattr(judge, "give_up", lambda: None)
            found = in_threads(work, missing, getattr(judge, "concurrency", 1), hurry)
            for done, (task, verdicts) in enumerate(found, start=1):
                self._add(judge, task, verdicts)
                if hasattr(judge, "progress"):
                    bar.set_postfix_str(judge.progress(), refresh=False)
                bar.update()
                if done % _SAVE_EVERY == 0:
                    self.save()
            if self.progress:
                bar.write(self.summary(judge))

    def _is_done(self, judge: Judge, task: Task) -> bool:
        """Whether all verdicts of a task are there."""
        codes = GROUPS[task.group]
        return all((judge.name, task.query_id, task.page_id, code) in self.rows for code in codes)

    def _add(self, judge: Judge, task: Task, verdicts: Iterable[Verdict]) -> None:
        """Add the rows of a task."""
        for row in _rows(judge, task, verdicts):
            self.rows[_key(row)] = row

    def save(self) -> None:
        """Write the table in an order that does not depend on who was ready first."""
        order = list(_GROUP_OF)
        keys = sorted(self.rows, key=lambda key: (*key[:3], order.index(key[3])))
        if keys or self.study.has("judgments"):
            self.study.save("judgments", [self.rows[key] for key in keys])

    def summary(self, judge: Judge) -> str:
        """Return outcomes, tokens and cost of a judge in words, and what should be changed."""
        outcomes = Counter(r["outcome"] for r in self.rows.values() if r["judge"] == judge.name)
        counted = ", ".join(f"{n} {outcome}" for outcome, n in outcomes.most_common())
        lines = [f"{judge.name}: {counted}"]
        if hasattr(judge, "spending"):
            lines.append(f"this run: {judge.spending}")
        if hasattr(judge, "notes"):
            lines += judge.notes()
        if outcomes["cut"] > _MANY_CUT * outcomes.total():
            lines.append("many replies were cut off at the output limit: raise max_tokens")
        return "; ".join(lines)


def seen_verdicts(judge: Judge, group: Group, query: Query | None, packet: Packet) -> list[Verdict]:
    """Have a group judged; what passages of a page can't show has no score where they are all there is."""
    unseen = set(GROUPS[group]) & _UNSEEN if EXCERPT in packet.flags else set()
    shown = set(GROUPS[group]) - unseen
    why = "only passages of the page are at hand"
    hidden = [Verdict(code, None, why, "no_verdict") for code in GROUPS[group] if code in unseen]
    found = judge.judge(group, query, packet) if shown else []
    return [*(v for v in found if v.metric in shown), *hidden]


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
            "reason": verdict.reason or None,
            "outcome": verdict.outcome,
            "model": verdict.model or None,
            "judged_at": verdict.judged_at or None,
            "flags": " ".join(verdict.flags) or None,
        }
