"""The verification stage: which statements and pages a study needs verified, once each, and by whom."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Literal, NamedTuple

from sourcebench.judge.endpoint import JudgingStopped
from sourcebench.judge.spending import Estimate, describe, estimate
from sourcebench.judge.stage import UNSETTLED, in_threads, load_packets
from sourcebench.records import Check, Packet, Verifier
from sourcebench.schema import TABLES
from sourcebench.study import Study, StudyError, to_frame
from sourcebench.support.statements import (
    PARSER,
    CitedPage,
    Statement,
    parse_answer,
    placed_citations,
    statement_rows,
)

if TYPE_CHECKING:
    import pandas as pd

KEY = ["system", "query_id", "run"]
Scope = Literal["response", "cited"]
OFFLINE = ("rules", "semantic")  # verifiers that are built in


class Task(NamedTuple):
    """Statements that one page has to be checked for: identity and text of each."""

    page_id: str
    claims: tuple[tuple[str, str], ...]


def make_verifier(study: Study, name: str | None = None, **options: Any) -> Verifier:
    """Return a verifier: `rules`, `semantic`, or the language model that `[judges.<name>]` describes.

    `semantic` is the rules with sentence embeddings. It is nearer to experts, but its sums of floats may
    differ in the last digits between processors; `rules` says the same everywhere, byte for byte, which
    is why the bundled sample is verified by it.

    Parameters
    ----------
    study
        The study.
    name
        By default the verifier that study.toml names, else its judge.
    options
        Passed on to a language model: see `sourcebench.judge.llm.llm_judge`.

    Raises
    ------
    ValueError
        If the name is not known, or embeddings are not installed; says what to install.
    """
    name = name or study.settings.verifier
    table = study.settings.judges.get(name, {"type": name} if name in OFFLINE else None)
    if table is None:
        raise StudyError(f"{study.folder / 'study.toml'}: no [judges.{name}] to verify with")
    if table.get("type") == "llm":
        from sourcebench.judge import make_judge
        from sourcebench.support.llm import LLMVerifier

        return LLMVerifier(make_judge(study, name, **options))
    if table.get("type") not in (None, *OFFLINE):
        raise StudyError(
            f"{study.folder / 'study.toml'}: [judges.{name}] of type {table['type']!r} can't verify; "
            "name one judge as verifier (--verifier)"
        )
    from sourcebench.support.rules import SEMANTIC, RulesVerifier

    if table.get("type") == "semantic" or "embedder" in table:
        from sourcebench.judge.embedding import load_embedder

        return RulesVerifier(name, SEMANTIC, load_embedder())
    return RulesVerifier(name)


# --- statements ----------------------------------------------------------------------------------


def parse_study(study: Study, parser: Verifier | None = None) -> pd.DataFrame:
    """Cut every answer into statements, and write the table `statements`.

    Parameters
    ----------
    study
        A study with answers and citations.
    parser
        A language model that also splits sentences into single statements; by default rules cut.
    """
    parsed = parsed_answers(study)
    name = PARSER if parser is None else parser.name
    if parser is not None:
        parsed = _split_by_model(parsed, parser)
    study.save(
        "statements", [row for one in parsed for row in statement_rows(one.key, one.found, name)]
    )
    return study.load("statements")


def _split_by_model(parsed: list[Parsed], parser: Any) -> list[Parsed]:
    """Have a model split the sentences; answers that say the same are sent once."""
    alike = {tuple(s.text for s in one.found): one for one in reversed(parsed)}
    work = in_threads(lambda one: parser.parse(one.found), list(alike.values()), parser.concurrency)
    done = {one.place: made for one, made in work}
    return [
        one._replace(found=done[one.place] if one.place in done else parser.parse(one.found))
        for one in parsed
    ]


class Parsed(NamedTuple):
    """An answer and its sentences."""

    place: int
    key: dict[str, Any]
    text: str
    found: list[Statement]


def parsed_answers(study: Study) -> list[Parsed]:
    """Return every answer of a study, cut into sentences by rules."""
    answers = study.load("answers").astype(object)
    answers = answers.where(answers.notna(), None)
    cited = citations_by_answer(study)
    parsed = []
    for place, answer in enumerate(answers.to_dict(orient="records")):
        key, text = {name: answer[name] for name in KEY}, answer["text"] or ""
        placed, outside = placed_citations(cited.get(tuple(key.values()), []), len(text))
        found = parse_answer(text, placed)
        reason = found[0].reason if text else f"no answer text: {answer['outcome']}"
        if outside:
            reason = _with(reason, f"{outside} citations lie outside the text")
        parsed.append(Parsed(place, key, text, [replace(found[0], reason=reason), *found[1:]]))
    return parsed


def _with(reason: str, more: str) -> str:
    """Add to a reason."""
    return f"{reason}; {more}" if reason else more


def citations_by_answer(study: Study) -> dict[tuple, list[CitedPage]]:
    """Return the citations of each (system, query_id, run), in the order of their rank."""
    from sourcebench.selection import page_identity

    page_id = page_identity(study)
    frame = study.load("citations").sort_values([*KEY, "rank"], kind="stable").astype(object)
    frame = frame.where(frame.notna(), None)
    pages = {url: page_id(url) for url in frame["url"].unique()}
    found: dict[tuple, list[CitedPage]] = {}
    for row in frame.to_dict(orient="records"):
        one = CitedPage(pages[row["url"]], row["start"], row["end"])
        found.setdefault(tuple(row[name] for name in KEY), []).append(one)
    return found


# --- what has to be verified ---------------------------------------------------------------------


def response_pairs(study: Study, statements: pd.DataFrame) -> pd.DataFrame:
    """Return every statement with every page that its response cites, and whether it cites it there.

    Returns
    -------
    DataFrame
        system, query_id, run, statement_id, claim_id, text, page_id, cited (bool).
    """
    import pandas as pd

    stated = statements[statements["outcome"] == "statement"]
    pages = pd.DataFrame(
        [
            (*key, page)
            for key, cited in citations_by_answer(study).items()
            for page in dict.fromkeys(c.page_id for c in cited)
        ],
        columns=[*KEY, "page_id"],
    ).astype({"run": "Int64"})
    columns = [*KEY, "statement_id", "claim_id", "text", "pages"]
    pairs = stated[columns].merge(pages, on=KEY, how="inner")
    at = zip(pairs["page_id"], pairs["pages"].fillna(""), strict=True)
    pairs["cited"] = pd.Series([page in there.split() for page, there in at], dtype=bool)
    return pairs.drop(columns="pages")


def tasks_of(pairs: pd.DataFrame, scope: Scope = "response") -> list[Task]:
    """Return what has to be verified, page by page, each text once."""
    wanted = pairs[pairs["cited"]] if scope == "cited" else pairs
    once = wanted.drop_duplicates(["page_id", "claim_id"]).sort_values(["page_id", "claim_id"])
    return [
        Task(page, tuple(zip(mine["claim_id"], mine["text"], strict=True)))
        for page, mine in once.groupby("page_id", sort=True)
    ]


# --- verifying -----------------------------------------------------------------------------------


def verify_study(
    study: Study,
    *,
    verifiers: Sequence[str | Verifier] | None = None,
    scope: Scope = "response",
    retry: Collection[str] = (),
    **options: Any,
) -> pd.DataFrame:
    """Have every statement verified against the pages its response cites; write `statements`, `support`.

    Statements that an import brought along, such as ExpertQA's, are taken as they are. A text is
    verified against a page once, however many answers say it. Verdicts that are there
    under the same rules or wording are kept, failed ones are asked again. A language model's
    replies are in the study's journal before the next request is sent.

    Parameters
    ----------
    study
        A study with answers, citations, fetches and packets.
    verifiers
        Names from study.toml, or verifiers; by default the one that study.toml names.
    scope
        `response` verifies a statement against all pages of its response, as SourceCheckup does;
        `cited` only against those cited at the statement, which costs less and leaves the
        any-source rule without a value.
    retry
        Further outcomes that are asked again.
    options
        Passed on to language models.

    Returns
    -------
    DataFrame
        The table `support`. Every pair has a row; where there is no verdict, its outcome says why.
    """
    made = _made(study, verifiers, options)
    statements = _brought(study)
    if statements is None:
        parser = next((v for v in made if hasattr(v, "parse")), None)
        with parser or nullcontext():
            if parser is not None:
                parser.prepare()
            statements = parse_study(study, parser)
    tasks = tasks_of(response_pairs(study, statements), scope)
    run = _Run(study, load_packets(study), _reasons(study), _kept(study, made, retry))
    try:
        for verifier in made:
            run.verify_all(verifier, tasks)
    finally:
        run.save()
    return study.load("support")


def plan_verifying(
    study: Study,
    *,
    verifiers: Sequence[str] | None = None,
    scope: Scope = "response",
    **options: Any,
) -> Plan:
    """Return what verifying would take, without sending or writing anything; no key is needed.

    Statements that a model has not split yet are counted as rules cut them, so the number of calls
    about pages is an estimate until the answers are parsed.

    Parameters
    ----------
    study, verifiers, scope, options
        As for `verify_study`.
    """
    brought, parsed = _brought(study), parsed_answers(study)
    rows = [row for one in parsed for row in statement_rows(one.key, one.found)]
    statements = to_frame(rows, TABLES["statements"]) if brought is None else brought
    pairs = response_pairs(study, statements)
    tasks, packets = tasks_of(pairs, scope), load_packets(study)
    readable = [t for t in tasks if t.page_id in packets]
    estimates = []
    for verifier in _made(study, verifiers, options):
        if not hasattr(verifier, "planned"):
            continue
        to_parse = {tuple(s.text for s in one.found): one for one in parsed if brought is None}
        calls = [call for one in to_parse.values() for call in verifier.planned_parse(one.found)]
        for task in readable:
            packet = Packet.from_dict(dict(packets[task.page_id]))
            calls += verifier.planned([text for _, text in task.claims], packet)
        estimates.append(estimate(verifier.name, calls, verifier.judge.settings.price))
    return Plan(
        responses=len(parsed),
        statements=int((statements["outcome"] == "statement").sum()),
        pairs=sum(len(task.claims) for task in readable),
        published_calls=len(pairs) + len(parsed),
        estimates=tuple(estimates),
    )


class Plan(NamedTuple):
    """What verifying a study takes.

    `pairs` are distinct statements and pages that can be read; `published_calls` is what SourceCheckup's
    program would make: one for each statement and source, and one to parse each response.
    """

    responses: int
    statements: int
    pairs: int
    published_calls: int
    estimates: tuple[Estimate, ...]

    def __str__(self) -> str:
        said = (
            f"{self.responses} responses, {self.statements} statements, {self.pairs} distinct pairs of "
            f"statement and page; SourceCheckup's program would make {self.published_calls} calls"
        )
        if not self.estimates:
            return f"{said}\nno calls: the verifier works offline"
        per = [f"{e.calls / max(self.responses, 1):.1f}" for e in self.estimates]
        published = f"{self.published_calls / max(self.responses, 1):.1f}"
        return f"{said}\n{describe(self.estimates)}\ncalls a response: {', '.join(per)}; published {published}"


def _brought(study: Study) -> pd.DataFrame | None:
    """Return the statements that an imported study brought along; others are parsed anew."""
    statements = study.load("statements")
    ours = statements["parser"].isin([PARSER, *study.settings.judges])
    return statements if len(statements) and not ours.any() else None


def _made(study: Study, verifiers, options: Mapping[str, Any]) -> list[Verifier]:
    """Return the verifiers, made where they are names."""
    names = [study.settings.verifier] if verifiers is None else verifiers
    return [make_verifier(study, v, **options) if isinstance(v, str) else v for v in names]


def _reasons(study: Study) -> dict[str, str]:
    """Return, for each page without a text, what became of it."""
    from sourcebench.score import page_states

    states = page_states(study).astype(object)
    states = states.where(states.notna(), "")
    return {
        row["page_id"]: f"{row['state']}: {row['why']}" if row["why"] else row["state"]
        for row in states.to_dict(orient="records")
    }


def _kept(study: Study, verifiers: Iterable[Verifier], retry: Collection[str]) -> dict[tuple, dict]:
    """Return the rows that hold, by what they are about: settled, same wording, pages not newer."""
    frame = study.load("support").astype(object)
    frame = frame.where(frame.notna(), None)
    versions = {v.name: v.version() for v in verifiers}
    stale = _pages_are_newer(study)
    open_ = {*UNSETTLED, "no_page", *retry}
    rows = {}
    for row in frame.to_dict(orient="records"):
        ours = row["verifier"] in versions
        same = row["version"] == versions.get(row["verifier"])
        if not ours or (same and not stale and row["outcome"] not in open_):
            rows[row["verifier"], row["claim_id"], row["page_id"]] = row
    return rows


def _pages_are_newer(study: Study) -> bool:
    """Whether the pages changed after the verdicts were written."""
    written = study.path("support")
    if not (written.exists() and study.has("packets")):
        return False
    return study.path("packets").stat().st_mtime_ns >= written.stat().st_mtime_ns


@dataclass
class _Run:
    """One run of the stage: what it reads, and the rows it adds to."""

    study: Study
    packets: Mapping[str, Mapping[str, Any]]
    reasons: Mapping[str, str]
    rows: dict[tuple, dict[str, Any]]

    def verify_all(self, verifier: Verifier, tasks: Sequence[Task]) -> None:
        """Have one verifier do what is missing; what a stop leaves undone is a row too."""
        wanted = {(verifier.name, c, t.page_id) for t in tasks for c, _ in t.claims}
        ours = [key for key in self.rows if key[0] == verifier.name and key not in wanted]
        for key in ours:
            del self.rows[key]
        missing = self._missing(verifier, tasks)
        try:
            with verifier if hasattr(verifier, "__enter__") else nullcontext():
                if missing and hasattr(verifier, "prepare"):
                    verifier.prepare()
                work = in_threads(
                    lambda task: self._checks(verifier, task),
                    missing,
                    getattr(verifier, "concurrency", 1),
                )
                for task, checks in work:
                    self._add(verifier, task, checks)
        except JudgingStopped as stop:
            left = self._missing(verifier, tasks)
            for task in left:
                unasked = Check(None, outcome="not_asked", reason=f"not asked: {stop}")
                self._add(verifier, task, [unasked] * len(task.claims))
            raise

    def _missing(self, verifier: Verifier, tasks: Sequence[Task]) -> list[Task]:
        """Return what is left of the tasks; pages without a text are settled at once."""
        left = []
        for task in tasks:
            claims = tuple(
                c for c in task.claims if (verifier.name, c[0], task.page_id) not in self.rows
            )
            if claims and task.page_id not in self.packets:
                why = self.reasons.get(task.page_id, "not_tried")
                gone = Check(None, outcome="no_page", reason=why)
                self._add(verifier, Task(task.page_id, claims), [gone] * len(claims))
            elif claims:
                left.append(Task(task.page_id, claims))
        return left

    def _checks(self, verifier: Verifier, task: Task) -> list[Check]:
        """Have one page checked."""
        packet = Packet.from_dict(dict(self.packets[task.page_id]))
        return verifier.check([text for _, text in task.claims], packet)

    def _add(self, verifier: Verifier, task: Task, checks: Sequence[Check]) -> None:
        """Add the rows of a task."""
        for (claim, _), check in zip(task.claims, checks, strict=True):
            found = {True: "yes", False: "no", None: None}[check.quote_found]
            self.rows[verifier.name, claim, task.page_id] = {
                "verifier": verifier.name,
                "version": verifier.version(),
                "claim_id": claim,
                "page_id": task.page_id,
                "verdict": check.verdict,
                "evidence": check.evidence or None,
                "quote_found": found,
                "outcome": check.outcome,
                "reason": check.reason or None,
                "model": check.model or None,
                "checked_at": check.checked_at or None,
                "flags": " ".join(check.flags) or None,
            }

    def save(self) -> None:
        """Write the table in an order that does not depend on who was ready first."""
        self.study.save("support", [self.rows[key] for key in sorted(self.rows)])
