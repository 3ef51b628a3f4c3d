"""A language model as judge: what it is asked, what is made of its replies, and what is kept."""

from __future__ import annotations

import os
import threading
import time
from collections import Counter
from collections.abc import Callable, Generator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, date, datetime
from pathlib import Path
from random import Random, SystemRandom
from typing import Any

from sourcebench.judge.dialect import Dialect, find_dialect
from sourcebench.judge.endpoint import Endpoint, Failure, JudgingStopped, Reply
from sourcebench.judge.excerpt import excerpt
from sourcebench.judge.fence import fenced, marker, plain
from sourcebench.judge.journal import FILE, OPEN, Journal, family
from sourcebench.judge.patience import Patience
from sourcebench.judge.reading import Reading, read_reply
from sourcebench.judge.request import Request, digest, page_hash, reply_of
from sourcebench.judge.settings import Settings, read_key
from sourcebench.judge.spending import PlannedCall, Spending
from sourcebench.judge.verdicts import names_of, refuses, verdicts_on
from sourcebench.judge.wording import DISPUTE, Wording, read_prompts, schema
from sourcebench.records import Group, Packet, Query, Verdict
from sourcebench.rubric import GROUPS, SCALE
from sourcebench.study import Study

_MORE_ROOM = 4  # times the output tokens, for a reply that was cut off
_LONGEST_REPLY = 4_000  # characters of an unreadable reply that are sent back to be mended


@dataclass
class LLMJudge:
    """Judges by asking a language model; every reply is in the journal before it is used.

    Use it as a context manager around `judge`: that opens the journal for writing.

    Parameters
    ----------
    name
        The judge's name; `qwen/2` is the second repetition of `qwen`. It is part of the key under
        which replies are kept.
    settings
        What study.toml says.
    as_of
        The date on which the study looks at the web.
    journal
        Where replies are kept.
    key
        Gives the API key when the first request is sent. It is not shown, written or logged.
    limit_seconds
        Seconds after which no further request of a run is sent.
    again
        Tasks (group, query_id, page_id) whose settled replies are asked for anew.
    """

    name: str
    settings: Settings
    as_of: date
    journal: Journal
    key: Callable[[], str] = field(default=lambda: "", repr=False)
    texts: Mapping[str, str] = field(default_factory=read_prompts, repr=False)
    spending: Spending = field(default_factory=Spending)
    limit_seconds: float | None = None
    again: frozenset[tuple[str, str, str]] = frozenset()
    rng: Random = field(default_factory=SystemRandom, repr=False)
    clock: Callable[[], float] = time.monotonic
    sleep: Callable[[float], None] = time.sleep
    now: Callable[[], datetime] = lambda: datetime.now(UTC)

    def __post_init__(self) -> None:
        self.wording = Wording(self.as_of, self.texts)
        self.outcomes: Counter[str] = Counter()
        self._nonce = f"{self.rng.getrandbits(128):032x}"
        self._lock, self._preparing = threading.Lock(), threading.Lock()
        self._tickets = iter(range(1 << 62))
        self._patience: Patience | None = None
        self._dialect: Dialect | None = None
        self._hashes: dict[str, str] = {}
        self._until = float("inf")

    def __enter__(self) -> LLMJudge:
        self.journal.__enter__()
        self._until = self.clock() + (self.limit_seconds or float("inf"))
        return self

    def __exit__(self, *failure: object) -> None:
        if self._patience is not None:
            counts = dict(self._patience.counts)
            self.journal.append(
                {"key": "", "status": "run", "judge": self.name, **counts, **self.spending.sums()}
            )
            self._patience.endpoint.close()
            self._patience = None
        self.journal.__exit__(*failure)

    @property
    def concurrency(self) -> int:
        """Return how many requests may be in flight."""
        return self.settings.concurrency

    @property
    def patience(self) -> Patience:
        """Return what sends the requests; made when first needed, so that replay needs no endpoint."""
        with self._lock:
            if self._patience is None:
                self._patience = self._made_patience()
            return self._patience

    def _made_patience(self) -> Patience:
        """Return the retry layer around a new endpoint."""
        settings = self.settings
        return Patience(
            Endpoint(settings.base_url, self.key(), timeout=settings.timeout),
            concurrency=settings.concurrency,
            attempts=settings.attempts,
            deadline=settings.deadline,
            rng=self.rng,
            clock=self.clock,
            sleep=self.sleep,
        )

    def prompt_hash(self, group: Group) -> str:
        """Return what identifies the wording of a group, and the settings that it is sent with."""
        if group not in self._hashes:
            sent = digest(budget=self.settings.budget, **self._sent)
            self._hashes[group] = f"{self.wording.hash(group)}-{sent[:8]}"
        return self._hashes[group]

    @property
    def _sent(self) -> dict[str, Any]:
        """Return whom requests are sent to, and how replies are sampled."""
        s = self.settings
        return {"model": s.model, "base_url": s.base_url, **self._sampling}

    @property
    def _sampling(self) -> dict[str, Any]:
        """Return the settings by which replies are sampled."""
        s = self.settings
        return {"temperature": s.temperature, "seed": s.seed, "max_tokens": s.max_tokens}

    def judge(self, group: Group, query: Query | None, packet: Packet) -> list[Verdict]:
        """Return one verdict for each metric of the group, failures included.

        Raises
        ------
        JudgingStopped
            If the endpoint will not answer any more, or answers as another model.
        """
        return self._hold(self.dialogue(group, query, packet))

    def _hold(self, talk: Generator[Request, Reply, Any]) -> Any:
        """Hold a dialogue to its end, and return what it comes to."""
        reply = None
        try:
            while True:
                reply = self.ask(talk.send(reply))
        except StopIteration as end:
            return end.value

    # --- the dialogue ------------------------------------------------------------------------

    def dialogue(
        self, group: Group, query: Query | None, packet: Packet
    ) -> Generator[Request, Reply, list[Verdict]]:
        """Yield the requests about one task, take their replies, and return the verdicts."""
        request = self._request(group, query, packet)
        reply, reading = yield from self._talk(request, names_of(group), SCALE)
        verdicts = verdicts_on(request, reply, reading, packet, self.as_of)
        with self._lock:
            self.outcomes.update(verdict.outcome for verdict in verdicts)
        return verdicts

    def _talk(
        self, request: Request, names: Mapping[str, str], scale: tuple[int, int]
    ) -> Generator[Request, Reply, tuple[Reply, Reading]]:
        """Yield a request and what may have to follow it; return the reply that counts, as read.

        A reply that was cut off or empty is asked for once more with more room, one that can't be
        read once more with a word on what is wrong. Nothing else is asked twice.
        """
        reply = yield request
        if reply.status in ("cut", "empty"):
            reply = yield self._with_room(request)
            return reply, _read(reply, names, scale)
        reading = _read(reply, names, scale)
        if reply.status == "reply" and reading.problem and not refuses(reply.text):
            second = yield self._mending(request, reply, reading.problem)
            better = _read(second, names, scale)
            if second.status in OPEN or better.scored > reading.scored:
                return second, better
        return reply, reading

    def _request(self, group: Group, query: Query | None, packet: Packet) -> Request:
        """Return the first request of a task."""
        seen = excerpt(group, packet, self.as_of, self.settings.budget)
        page = fenced(seen.text, marker(self._nonce, packet.page_id))
        messages = (
            {"role": "system", "content": self.wording.system(group)},
            {"role": "user", "content": self.wording.user(page, query.text if query else None)},
        )
        about = {
            "judge": self.name,
            "group": group,
            "query_id": query.query_id if query else "",
            "page_id": packet.page_id,
            "prompt_hash": self.prompt_hash(group),
        }
        key = self._key(group, query, packet)
        form = schema(GROUPS[group], SCALE)
        return Request(key, messages, form, self.settings.max_tokens, about | _FIRST, seen.flags)

    def _key(self, group: Group, query: Query | None, packet: Packet) -> str:
        """Return the key of a call: whatever changes the words sent or how replies are sampled.

        The name holds the repetition, the prompt hash model, address, cut and sampling.
        """
        return digest(
            judge=self.name,
            dialect=self.dialect.to_dict(),
            prompt=self.prompt_hash(group),
            as_of=self.as_of.isoformat(),
            group=group,
            question=query.text if query else "",
            page=page_hash(packet),
        )

    def _with_room(self, request: Request) -> Request:
        """Return the request with more room for the reply."""
        room = request.room * _MORE_ROOM
        key = digest(first=request.key, step="room", room=room)
        return replace(request, key=key, room=room, about={**request.about, "step": "room"})

    def _mending(self, request: Request, reply: Reply, problem: str) -> Request:
        """Return the request for a reply that can be read."""
        added = (
            {"role": "assistant", "content": reply.text[:_LONGEST_REPLY]},
            {"role": "user", "content": self.wording.repair(problem)},
        )
        key = digest(first=request.key, step="repair", reply=reply.text, words=added[1]["content"])
        about = {**request.about, "step": "repair"}
        return replace(request, key=key, messages=request.messages + added, about=about)

    # --- asking ------------------------------------------------------------------------------

    @property
    def dialect(self) -> Dialect:
        """Return the dialect that the journal knows, or the one that is tried first."""
        if self._dialect is None:
            line = self.journal.get(self._dialect_key)
            self._dialect = Dialect(**line["dialect"]) if line else None
        return self._dialect or Dialect()

    @property
    def _dialect_key(self) -> str:
        """Return the key under which the dialect is kept."""
        s = self.settings
        judge = self.name.partition("/")[0]
        return "dialect-" + digest(
            judge=judge, model=s.model, base_url=s.base_url, **self._sampling
        )

    def prepare(self) -> None:
        """Find out, before the first page, whether key, model and parameters are accepted.

        Asks one small question about a built-in page, unless the journal knows the answer.

        Raises
        ------
        JudgingStopped
            With the endpoint's words.
        """
        with self._preparing:
            if self._dialect_key not in self.journal:
                self._find_dialect()

    def _find_dialect(self) -> None:
        """Send the question about the built-in page until a dialect is accepted."""
        page = Packet("pilot", "https://example.org/", text=_PILOT)
        pilot = self._request("content", Query("pilot", "How high was the river in May?"), page)

        def try_it(dialect: Dialect) -> Reply:
            return self.patience.insist(self.body(pilot, dialect))

        try:
            dialect, reply = find_dialect(try_it)
        except Failure as failure:
            raise JudgingStopped(
                f"judge {self.name}: {self.settings.model} at {self.settings.base_url} can't be "
                f"used: {failure.message}"
            ) from None
        self._dialect = dialect
        if reply.status == "cut":
            self._keep("", "pilot", pilot, reply, {})
            self.spending.settle(-1, reply.usage)
            reply = self.patience.ask(self.body(self._with_room(pilot)))
        fits = reply.status != "cut"
        self.spending.settle(-1, reply.usage)
        key, status = (self._dialect_key, "dialect") if fits else ("", "pilot")
        self._keep(key, status, pilot, reply, {"dialect": dialect.to_dict()})
        self._check_model(reply.model)
        if not fits:
            raise JudgingStopped(
                f"judge {self.name}: the verdict on a page of two sentences did not fit; raise "
                f"max_tokens, now {self.settings.max_tokens}"
            )

    def body(self, request: Request, dialect: Dialect | None = None) -> dict[str, Any]:
        """Return a request as it is sent, in a dialect or the one that was found."""
        if request.raw is not None:
            return {"model": self.settings.model, **request.raw}
        return (dialect or self.dialect).body(
            self.settings.model,
            list(request.messages),
            request.schema,
            room=request.room,
            temperature=self.settings.temperature,
            seed=self.settings.seed,
        )

    def known_reply(self, request: Request) -> Reply | None:
        """Return the reply that the journal holds for a request, or None."""
        line = self.journal.get(request.key)
        return reply_of(line) if line else None

    def ask(self, request: Request) -> Reply:
        """Return the reply from the journal, else from the endpoint by way of the journal.

        Raises
        ------
        JudgingStopped
            As for `judge`.
        """
        about = request.about
        anew = (about["group"], about["query_id"], about.get("page_id")) in self.again
        reply = None if anew else self.known_reply(request)
        if reply is None:
            return self._send(request, anew)
        self._check_model(reply.model)
        return reply

    def _send(self, request: Request, anew: bool) -> Reply:
        """Send a request, and return its reply once it is on disk."""
        with self._lock:
            ticket = next(self._tickets)
        try:
            if self.clock() > self._until:
                raise JudgingStopped(f"the time limit of {self.limit_seconds:g} s is reached")
            self.spending.set_aside(ticket, request.prompt_tokens, request.room)
        except JudgingStopped as limit:
            self.patience.gate.stop(str(limit))
            raise
        usage: Mapping[str, Any] = {}
        try:
            reply = self.patience.ask(self.body(request))
            usage = reply.usage
        finally:
            self.spending.settle(ticket, usage)
        return self.take(request, reply, {"again": True} if anew else {})

    def take(self, request: Request, reply: Reply, more: Mapping[str, Any]) -> Reply:
        """Keep a reply to a request, and return it as kept."""
        kept = self._keep(request.key, reply.status, request, reply, more)
        self._check_model(reply.model)
        return kept

    def _keep(
        self, key: str, status: str, request: Request, reply: Reply, more: Mapping[str, Any]
    ) -> Reply:
        """Write a reply to the journal, with all that tells what was asked of whom."""
        settings = self.settings
        reply = replace(reply, at=self.now().strftime("%Y-%m-%dT%H:%M:%SZ"))
        self.journal.append(
            {
                "key": key,
                "status": status,
                **request.about,
                "model": settings.model,
                "base_url": settings.base_url,
                "sent": self.dialect.to_dict(),
                "chars": sum(len(message["content"]) for message in request.messages),
                "text": reply.text,
                "reason": reply.reason,
                "finish": reply.finish,
                "response_model": reply.model,
                "fingerprint": reply.fingerprint,
                "usage": dict(reply.usage),
                "attempts": reply.attempts,
                "at": reply.at,
                **more,
            }
        )
        return reply

    def _check_model(self, model: str) -> None:
        """Refuse a reply of another model than the ones before, unless the settings accept it."""
        if not model:
            return
        seen = self.journal.models.get((family(self.name), self.settings.model), {})
        first = next(iter(list(seen)), (model, ""))[0]
        if model not in (first, *self.settings.accept_models):
            why = (
                f"judge {self.name}: {self.settings.model} answered as {first!r} before and as "
                f"{model!r} now; verdicts of two models do not mix. Name the dated model, take a new "
                f"name for the judge, or list both in accept_models"
            )
            if self._patience is not None:
                self._patience.gate.stop(why)
            raise JudgingStopped(why)

    # --- answers -----------------------------------------------------------------------------

    def judge_dispute(self, question: str, answer: str, what: str, query_id: str) -> Verdict:
        """Return whether an answer says that its question is disputed: score 1 or 0, or none.

        Parameters
        ----------
        question, answer
            What was asked and answered; the answer is untrusted.
        what, query_id
            Whose answer it is, for the journal.
        """
        safe, _ = plain(answer)
        system, user = self.wording.dispute(question, fenced(safe, marker(self._nonce, what)))
        words = {"system": system, "user": self.wording.dispute(question, safe)[1]}
        key = digest(judge=self.name, dialect=self.dialect.to_dict(), **words, **self._sent)
        messages = ({"role": "system", "content": system}, {"role": "user", "content": user})
        about = {"judge": self.name, "group": "answer", "query_id": query_id, "answer": what}
        names = {DISPUTE[0]: "Dispute awareness"}
        request = Request(
            key, messages, schema(DISPUTE, (0, 1)), self.settings.max_tokens, about | _FIRST
        )
        reply, reading = self._hold(self._talk(request, names, (0, 1)))
        if reply.status != "reply":
            return Verdict(DISPUTE[0], None, reply.reason, reply.status)
        return reading.verdicts[0]

    def score_text(self, start: str, text: str, what: str, query_id: str) -> Reply:
        """Return the log-probabilities of a text after a start, as `endpoint.scored_in` gives them."""
        raw = {
            "prompt": start + text,
            "max_tokens": 1,
            "echo": True,
            "logprobs": 1,
            "temperature": 0,
        }
        about = {"judge": self.name, "group": "answer", "query_id": query_id, "answer": what}
        key = digest(
            kind="score", base_url=self.settings.base_url, model=self.settings.model, **raw
        )
        return self.ask(Request(key, (), {}, 1, about | _FIRST, raw=raw))

    # --- before and after ------------------------------------------------------------------------

    def planned(self, group: Group, query: Query | None, packet: Packet) -> PlannedCall:
        """Return the call that a task comes to, and whether the journal holds its reply."""
        request = self._request(group, query, packet)
        known = request.key in self.journal
        return PlannedCall(packet.page_id, request.prompt_tokens, request.room, known)

    def give_up(self) -> None:
        """Have requests that wait for another try end; those in flight are still taken."""
        if self._patience is not None:
            self._patience.gate.stop("the run was interrupted")

    def notes(self) -> list[str]:
        """Return what a reader of the verdicts should know about how they came about."""
        notes = []
        if not self.dialect.temperature:
            notes.append("the temperature could not be set")
        if self.dialect.form != "json_schema":
            notes.append(f"no JSON schema could be asked for, but {self.dialect.form}")
        seen = self.journal.models.get((family(self.name), self.settings.model), {})
        if len(seen) > 1:
            each = (
                f"{model} {fingerprint}".strip() + f": {n}"
                for (model, fingerprint), n in seen.items()
            )
            notes.append(f"answered as {'; '.join(each)}")
        return notes

    def progress(self) -> str:
        """Return failures, tokens and cost so far, for a progress bar."""
        failed = sum(n for outcome, n in self.outcomes.items() if outcome in OPEN)
        return f"{failed} failed, {self.spending}"


_FIRST = {"step": "first"}
_PILOT = (
    "The water authority reports that the river stood at 2.14 metres on average in May 2026. "
    "The figures come from its own gauges; the tables are published each month."
)


def _read(reply: Reply, names: Mapping[str, str], scale: tuple[int, int]) -> Reading:
    """Read the text of a reply; one that is cut or refused is not looked at."""
    return read_reply(reply.text if reply.status == "reply" else "", names, scale)


def llm_judge(
    study: Study,
    name: str,
    table: Mapping[str, Any],
    *,
    environ: Mapping[str, str] = os.environ,
    journal: Path | None = None,
    limit_tokens: int | None = None,
    limit_cost: float | None = None,
    **options: Any,
) -> LLMJudge:
    """Return the language-model judge that a table of study.toml describes.

    Parameters
    ----------
    study
        Gives the as-of date and the folder of journal and prompts.
    environ
        Where the key's variable is looked up.
    journal
        Another file than the study's own journal.
    limit_tokens, limit_cost
        Limits of one run.
    options
        `limit_seconds`, `rng`, `clock`, `sleep`, `now`, `again` of `LLMJudge`.

    Raises
    ------
    ValueError
        If a setting is wrong.
    """
    settings = Settings.read(table)
    folder = study.folder / settings.prompts if settings.prompts else None
    return LLMJudge(
        name=name,
        settings=settings,
        as_of=study.settings.as_of,
        journal=Journal(journal or study.folder / FILE),
        key=lambda: read_key(settings, environ),
        texts=read_prompts(folder),
        spending=Spending(settings.price, limit_tokens, limit_cost),
        **options,
    )
