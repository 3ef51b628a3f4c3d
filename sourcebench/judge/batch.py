"""Judging through a provider's batch endpoint: cheaper, later, and just as resumable."""

from __future__ import annotations

import hashlib
import json
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import closing
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from sourcebench.judge.endpoint import JudgingStopped, Reply, failure_of, reply_in
from sourcebench.judge.llm import LLMJudge
from sourcebench.judge.request import Request
from sourcebench.judge.stage import (
    Task,
    judge_study,
    load_packets,
    load_queries,
    make_judge,
    tasks_of,
)
from sourcebench.records import Packet, Query
from sourcebench.study import Study

if TYPE_CHECKING:
    import pandas as pd

_ENDED = ("completed", "failed", "expired", "cancelled")
_MOST_REQUESTS = 20_000
_MOST_BYTES = 90_000_000


def judge_in_batches(
    study: Study,
    name: str,
    *,
    poll: float | None = 60.0,
    rounds: int = 3,
    sleep: Callable[[float], None] = time.sleep,
    **options: Any,
) -> pd.DataFrame:
    """Have a study judged through the batch endpoint, then write the table `judgments`.

    What the journal lacks is sent as batches; replies that have to be asked for once more go into
    a further round. After the last round the few that are still missing are asked for one by one.
    Which batches are out is in the journal, also when the process dies while it sends one; the
    next call goes on from there. Costs are counted at the judge's prices; a batch discount is not
    known here.

    Parameters
    ----------
    study, name
        The study, and the name of a language model in its study.toml.
    poll
        Seconds between two looks at a batch; None looks once.
    rounds
        Rounds of batches, at most.
    options
        Passed on to the language model.

    Returns
    -------
    DataFrame
        The table `judgments`.

    Raises
    ------
    JudgingStopped
        If a batch is not done yet and `poll` is None, or the endpoint takes no batches.
    """
    judge = make_judge(study, name, **options)
    if not isinstance(judge, LLMJudge):
        raise ValueError(f"{name!r} is no language model; only those are asked in batches")
    with judge:
        judge.prepare()
        with closing(judge.patience.endpoint.files_client()) as client:
            work = _Batches(
                judge, client, tasks_of(study), load_packets(study), load_queries(study)
            )
            for _ in range(rounds):
                if not work.is_out():
                    todo = work.missing()
                    if not todo:
                        break
                    work.send(todo)
                work.collect(poll, sleep)
    return judge_study(study, judges=[name], **options)


@dataclass
class _Batches:
    """The batches of one judge: what to send, what is out, and what came back."""

    judge: LLMJudge
    client: Any
    tasks: Sequence[Task]
    packets: dict[str, dict[str, Any]]
    queries: dict[str, Query]

    def missing(self) -> dict[str, Task]:
        """Return the tasks that lack a reply, by the key of the next request."""
        found = ((self.next_request(task), task) for task in self.tasks)
        return {request.key: task for request, task in found if request is not None}

    def next_request(self, task: Task) -> Request | None:
        """Return the first request of a task whose reply the journal lacks."""
        packet = Packet.from_dict(self.packets[task.page_id])
        talk = self.judge.dialogue(task.group, self.queries.get(task.query_id), packet)
        reply = None
        try:
            while True:
                request = talk.send(reply)
                reply = self.judge.known_reply(request)
                if reply is None:
                    return request
        except StopIteration:
            return None

    # --- sending -----------------------------------------------------------------------------

    def send(self, todo: dict[str, Task]) -> None:
        """Send the requests in as many batches as the endpoint's limits demand.

        Raises
        ------
        JudgingStopped
            If they could pass the run's limits; nothing is sent then.
        """
        read = written = 0
        for task in todo.values():  # one at a time: all prompts together may not fit into memory
            request = self.next_request(task)
            read, written = read + request.prompt_tokens, written + request.room
        self.judge.spending.set_aside(_ALL, read, written)
        for lines in _chunks(self._line(task) for task in todo.values()):
            data = b"".join(lines)
            name = hashlib.sha256(data).hexdigest()[:32]
            self._note("batch_planned", name, "", len(lines))
            batch = self._call(lambda data=data, name=name: self._submitted(data, name))
            self._note("batch_sent", name, batch.id, len(lines))

    def _line(self, task: Task) -> bytes:
        """Return one line of a batch file."""
        request = self.next_request(task)
        body = self.judge.body(request)
        line = {"custom_id": request.key, "method": "POST", "url": _URL, "body": body}
        return json.dumps(line).encode() + b"\n"

    def _submitted(self, data: bytes, name: str) -> Any:
        """Upload a file and start its batch."""
        file = self.client.files.create(file=(f"{name}.jsonl", data), purpose="batch")
        return self.client.batches.create(
            input_file_id=file.id,
            endpoint=_URL,
            completion_window="24h",
            metadata={"sourcebench": name},
        )

    def _note(self, status: str, name: str, batch: str, requests: int) -> None:
        """Write to the journal what becomes of a batch."""
        self.judge.journal.append(
            {
                **{"key": "", "status": status, "judge": self.judge.name},
                **{"name": name, "batch": batch, "requests": requests},
            }
        )

    def _call(self, call: Callable[[], Any]) -> Any:
        """Call the endpoint; its refusal ends the run in its own words."""
        import openai

        try:
            return call()
        except openai.OpenAIError as error:
            said = " ".join(self.judge.patience.endpoint.hide(str(error)).split())[:400]
            raise JudgingStopped(f"judge {self.judge.name}: batch endpoint: {said}") from None

    # --- what is out -------------------------------------------------------------------------

    def is_out(self) -> bool:
        """Whether a batch is on its way."""
        return bool(self._out())

    def _out(self) -> dict[str, str]:
        """Return the batches that are not collected yet: identity by name, empty if not known."""
        out: dict[str, str] = {}
        for line in self.judge.journal.lines():
            if line.get("judge") != self.judge.name:
                continue
            if line["status"] in ("batch_planned", "batch_sent"):
                out[line["name"]] = line["batch"]
            elif line["status"] in ("batch_collected", "batch_lost"):
                out.pop(line["name"], None)
        return out

    def _found(self, name: str) -> str:
        """Return the identity of a batch that was planned when the process died, if it was sent."""
        for batch in self._call(lambda: list(self.client.batches.list(limit=100))):
            if (batch.metadata or {}).get("sourcebench") == name:
                return batch.id
        return ""

    # --- collecting --------------------------------------------------------------------------

    def collect(self, poll: float | None, sleep: Callable[[float], None]) -> None:
        """Wait for the batches that are out, and take their replies into the journal."""
        todo = self.missing()
        self.judge.spending.settle(_ALL, {})
        for name, known in self._out().items():
            identity = known or self._found(name)
            if not identity:
                self._note("batch_lost", name, "", 0)
                continue
            batch = self._ended(identity, poll, sleep)
            for line in self._results(batch):
                self._take(line, todo)
            self._note("batch_collected", name, identity, 0)

    def _ended(self, identity: str, poll: float | None, sleep: Callable[[float], None]) -> Any:
        """Return a batch once it has ended."""
        while True:
            batch = self._call(lambda: self.client.batches.retrieve(identity))
            if batch.status in _ENDED:
                return batch
            if poll is None:
                raise JudgingStopped(
                    f"judge {self.judge.name}: batch {identity} is {batch.status}; run again later"
                )
            sleep(poll)

    def _results(self, batch: Any) -> Iterator[dict[str, Any]]:
        """Yield the lines of a batch's output and error files."""
        for file in filter(None, (batch.output_file_id, batch.error_file_id)):
            with self.client.files.with_streaming_response.content(file) as response:
                for line in response.iter_lines():
                    found = _object(self.judge.patience.endpoint.hide(line))
                    if found:
                        yield found

    def _take(self, line: dict[str, Any], todo: dict[str, Task]) -> None:
        """Take one result into the journal, if it answers a request that is still open."""
        key = line.get("custom_id")
        if key not in todo or key in self.judge.journal:
            return
        request = self.next_request(todo[key])
        reply = _reply_in(line)
        if request is not None and request.key == key and reply is not None:
            self.judge.spending.settle(-1, reply.usage)
            self.judge.take(request, reply, {"batch": True})


_URL = "/v1/chat/completions"
_ALL = -2  # ticket of everything that a batch may cost


def _reply_in(line: dict[str, Any]) -> Reply | None:
    """Return the reply of a result, or None for a failure that is worth another try."""
    response = line.get("response") or {}
    status, body = response.get("status_code"), response.get("body")
    if not isinstance(body, dict):
        return None
    choices = body.get("choices")
    if status == 200 and isinstance(choices, list) and choices and isinstance(choices[0], dict):
        return reply_in(body)
    failure = failure_of(int(status or 500), {}, body)
    return Reply("filtered", reason=failure.message) if failure.kind == "filtered" else None


def _chunks(lines: Iterator[bytes]) -> Iterator[list[bytes]]:
    """Yield lines in lists that keep to the limits of one batch."""
    chunk: list[bytes] = []
    size = 0
    for line in lines:
        if chunk and (len(chunk) >= _MOST_REQUESTS or size + len(line) > _MOST_BYTES):
            yield chunk
            chunk, size = [], 0
        chunk.append(line)
        size += len(line)
    if chunk:
        yield chunk


def _object(line: str) -> dict[str, Any]:
    """Return the object in a line, or an empty one."""
    try:
        found = json.loads(line)
    except ValueError:
        return {}
    return found if isinstance(found, dict) else {}
