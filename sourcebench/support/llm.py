"""A language model as verifier and as parser: many statements in one call, every reply kept.

It sends requests by way of a judge of `sourcebench.judge.llm`: the same endpoint, retries, limits and
journal. SourceCheckup's program sends a page once for each statement; here it goes out once for up to
a dozen of them, and a statement and page that the journal knows are never asked about again.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from importlib import resources
from string import Template
from typing import Any

from sourcebench.judge.endpoint import Reply
from sourcebench.judge.fence import fenced, marker, plain
from sourcebench.judge.llm import LLMJudge, Request, page_hash
from sourcebench.judge.reading import objects_in
from sourcebench.judge.spending import PlannedCall
from sourcebench.records import SUPPORT_VERDICTS, Check, Packet
from sourcebench.support.passages import Passages, stands_in
from sourcebench.support.reading import (
    Numbered,
    read_questions,
    read_statements,
    read_verdicts,
)
from sourcebench.support.rules import PLANTED
from sourcebench.support.statements import Statement, claim_id

BATCH = 12  # statements in one call
_MORE_ROOM = 4  # times the output tokens, for a reply that was cut off
_LONGEST_REPLY = 4_000  # characters of an unreadable reply that are sent back
_GROUP = "support"
_VERDICT = {
    "quote": {"type": "string"},
    "verdict": {"type": "string", "enum": list(SUPPORT_VERDICTS)},
}
_FILES = (
    *("verify.txt", "page_and_statements.txt", "parse.txt"),
    *("questions.txt", "document.txt", "repair.txt"),
)


def read_prompts() -> dict[str, str]:
    """Read the prompt files."""
    folder = resources.files("sourcebench.support") / "prompts"
    return {name: (folder / name).read_text(encoding="utf-8") for name in _FILES}


@dataclass
class LLMVerifier:
    """Verifies and parses by asking a language model; satisfies `sourcebench.records.Verifier`.

    Use it as a context manager around `check` and `parse`: that opens the journal for writing.

    Parameters
    ----------
    judge
        What sends the requests and keeps the replies.
    """

    judge: LLMJudge

    def __post_init__(self) -> None:
        self.texts = read_prompts()
        self._nonce = f"{self.judge.rng.getrandbits(128):032x}"

    def __enter__(self) -> LLMVerifier:
        self.judge.__enter__()
        return self

    def __exit__(self, *failure: object) -> None:
        self.judge.__exit__(*failure)

    @property
    def name(self) -> str:
        """Return the judge's name."""
        return self.judge.name

    @property
    def concurrency(self) -> int:
        """Return how many requests may be in flight."""
        return self.judge.concurrency

    def prepare(self) -> None:
        """Find out whether key, model and parameters are accepted; see `LLMJudge.prepare`."""
        self.judge.prepare()

    def version(self) -> str:
        """Return what identifies wording, model and settings of the verdicts."""
        return self._version("verify.txt", "page_and_statements.txt")

    def _version(self, *files: str) -> str:
        """Return what identifies some prompts and the settings they are sent with."""
        s = self.judge.settings
        words = "\0".join(self.texts[name] for name in (*files, "repair.txt"))
        sent = {"model": s.model, "base_url": s.base_url, "budget": s.budget}
        sent |= {"temperature": s.temperature, "seed": s.seed}
        return f"{_digest(words)[:8]}-{_digest(json.dumps(sent, sort_keys=True))[:8]}"

    # --- verifying ---------------------------------------------------------------------------

    def check(self, statements: Sequence[str], packet: Packet) -> list[Check]:
        """Return one check for each statement; those that the journal knows are not asked again.

        Raises
        ------
        JudgingStopped
            If the endpoint will not answer any more, or a limit is reached.
        """
        known = self._known(statements, packet)
        left = [s for s in dict.fromkeys(statements) if s not in known]
        passages = Passages(packet.text)
        for start in range(0, len(left), BATCH):
            batch = left[start : start + BATCH]
            known |= dict(zip(batch, self._checks(batch, packet, passages), strict=True))
        return [known[s] for s in statements]

    def _checks(self, batch: Sequence[str], packet: Packet, passages: Passages) -> list[Check]:
        """Ask about some statements, and return their checks."""
        request = self._request(batch, packet, passages)
        reply, reading = self._ask(request, read_verdicts, len(batch))
        return self._signed(batch, packet, request, reply, reading)

    def _request(self, batch: Sequence[str], packet: Packet, passages: Passages) -> Request:
        """Return the request about some statements and one page."""
        shown, cut = passages.excerpt(batch, self.judge.settings.budget)
        text, flags = plain(shown)
        note = f"Parts of the page, {len(shown)} of {len(packet.text)} characters" if cut else "The page, complete"  # fmt: skip
        head = plain(f"Address: {packet.url}\nTitle: {' '.join(packet.title.split())[:300]}")[0]
        page = fenced(f"{head}\n{note}:\n{text}", marker(self._nonce, packet.page_id))
        listed = {str(n): s for n, s in enumerate(batch, start=1)}
        words = {"page": page, "statements": json.dumps(listed, ensure_ascii=False, indent=0)}
        claims = [claim_id(s) for s in batch]
        about = {"claims": claims, "page": page_hash(packet), "page_id": packet.page_id}
        flags = (*flags, *_page_flags(packet))
        return self._made(
            ("verify.txt", "page_and_statements.txt"),
            words,
            _schema(_VERDICT, len(batch)),
            about,
            (*flags, *(["text_cut"] if cut else [])),
        )

    def _made(
        self,
        files: tuple[str, str],
        words: Mapping[str, str],
        schema: Mapping[str, Any],
        about: Mapping[str, Any],
        flags: tuple[str, ...] = (),
    ) -> Request:
        """Return a request with its key: whatever changes the words sent or how replies are sampled."""
        version = self._version(*files)
        user = Template(self.texts[files[1]]).substitute(words) if len(files) > 1 else words["text"]
        key = _digest(
            json.dumps(
                [self.name, version, self.judge.dialect.to_dict(), about],
                sort_keys=True,
                default=str,
            )
        )
        known = {"judge": self.name, "group": _GROUP, "query_id": "", "prompt_hash": version}
        about = {**known, "step": "first", **about}
        return Request(
            key,
            (
                {"role": "system", "content": self.texts[files[0]].strip()},
                {"role": "user", "content": user.strip()},
            ),
            schema,
            self.judge.settings.max_tokens,
            about,
            flags,
        )

    def _ask(self, request: Request, read, count: int) -> tuple[Reply, Numbered]:
        """Send a request; once more with more room if cut, once more if it can't be read."""
        reply = self.judge.ask(request)
        if reply.status in ("cut", "empty"):
            room = request.room * _MORE_ROOM
            key, about = _digest(f"{request.key} room {room}"), {**request.about, "step": "room"}
            reply = self.judge.ask(replace(request, key=key, room=room, about=about))
            return reply, self._reading(reply, read, count)
        reading = self._reading(reply, read, count)
        if reply.status == "reply" and reading.problem:
            second = self.judge.ask(self._mending(request, reply, reading.problem))
            better = self._reading(second, read, count)
            if second.status == "reply" and len(better.found) > len(reading.found):
                return second, better
        return reply, reading

    def _mending(self, request: Request, reply: Reply, problem: str) -> Request:
        """Return the request for a reply that can be read."""
        said = Template(self.texts["repair.txt"]).substitute(problem=problem).strip()
        added = (
            {"role": "assistant", "content": reply.text[:_LONGEST_REPLY]},
            {"role": "user", "content": said},
        )
        key = _digest(f"{request.key} repair {reply.text} {said}")
        about = {**request.about, "step": "repair"}
        return replace(request, key=key, messages=request.messages + added, about=about)

    @staticmethod
    def _reading(reply: Reply, read, count: int) -> Numbered:
        """Read a reply; one that is cut or refused is not looked at."""
        if reply.status != "reply":
            return Numbered(problem=reply.reason or reply.status)
        return read(reply.text, count)

    def _signed(
        self,
        batch: Sequence[str],
        packet: Packet,
        request: Request,
        reply: Reply,
        reading: Numbered,
    ) -> list[Check]:
        """Return the checks of a batch with outcome, flags and origin."""
        made = [_check(reading, n, packet.text, reply) for n in range(1, len(batch) + 1)]
        if reading.found and _echoed(reading, packet.text, len(batch)):
            why = "the verdict stands in the page itself"
            made = [Check(None, outcome="echoed", reason=why)] * len(batch)
        return [
            replace(c, flags=(*request.flags, *c.flags), model=reply.model, checked_at=reply.at)
            for c in made
        ]

    # --- the journal -------------------------------------------------------------------------

    @cached_property
    def _lines(self) -> dict[tuple[str, str], tuple[dict[str, Any], int]]:
        """Return the journal's readable replies by page and statement, with the statement's number."""
        found: dict[tuple[str, str], tuple[dict[str, Any], int]] = {}
        for line in self.judge.journal.lines():
            mine = line.get("group") == _GROUP and line.get("judge") == self.name
            if not (mine and line.get("claims") and line.get("status") == "reply"):
                continue
            if line.get("prompt_hash") != self.version():
                continue
            there = read_verdicts(line["text"], len(line["claims"])).found
            for number in there:
                found[line["page"], line["claims"][number - 1]] = (line, number)
        return found

    def _known(self, statements: Sequence[str], packet: Packet) -> dict[str, Check]:
        """Return the checks that the journal holds, whatever statements they were asked with."""
        page, known = page_hash(packet), {}
        for statement in statements:
            line, number = self._lines.get((page, claim_id(statement)), ({}, 0))
            if line:
                reading = read_verdicts(line["text"], len(line["claims"]))
                reply = Reply(
                    "reply", text=line["text"], model=line["response_model"], at=line["at"]
                )
                flags = _page_flags(packet)
                if _echoed(reading, packet.text, len(line["claims"])):
                    why = "the verdict stands in the page itself"
                    one = Check(None, outcome="echoed", reason=why)
                else:
                    one = _check(reading, number, packet.text, reply)
                cut = ("text_cut",) if len(packet.text) > self.judge.settings.budget else ()
                known[statement] = replace(
                    one, flags=(*flags, *cut, *one.flags), model=reply.model, checked_at=reply.at
                )
        return known

    # --- parsing -----------------------------------------------------------------------------

    def parse(self, found: Sequence[Statement]) -> list[Statement]:
        """Split the sentences of an answer into single statements, each with its sentence's place.

        Parameters
        ----------
        found
            The sentences of an answer, as `parse_answer` cuts them. Only statements are sent.

        Returns
        -------
        list of Statement
            A sentence that the model calls no statement becomes `meta`; one whose reply can't be read
            becomes `not_parsed`, never a guess.
        """
        sent = [s for s in found if s.outcome == "statement"]
        if not sent:
            return list(found)
        request = self._parse_request(sent)
        reply, reading = self._ask(request, read_statements, len(sent))
        numbers = {id(s): n for n, s in enumerate(sent, start=1)}
        why = reading.problem or reply.reason
        made: list[Statement] = []
        for one in found:
            made += _split(one, reading.found.get(numbers.get(id(one), 0)), why)
        return made

    def _parse_request(self, sent: Sequence[Statement]) -> Request:
        """Return the request about the sentences of one answer."""
        listed = {str(n): plain(s.text)[0] for n, s in enumerate(sent, start=1)}
        words = {"text": "The sentences, by number:\n" + json.dumps(listed, ensure_ascii=False, indent=0)}  # fmt: skip
        entry = {"type": "array", "items": {"type": "string"}}
        about = {"page_id": "", "sentences": _digest(words["text"])}
        return self._made(("parse.txt",), words, _object_schema(entry, len(sent)), about)

    # --- asking ------------------------------------------------------------------------------

    def questions(self, text: str, count: int) -> tuple[list[str], str]:
        """Have questions written that a document answers.

        Returns
        -------
        tuple
            The readable ones of `count` questions, and what was wrong with the others.
        """
        shown, flags = plain(text[: self.judge.settings.budget])
        if not shown.strip():
            return [], "the document has no text"
        digest = _digest(shown)
        words = {"page": fenced(shown, marker(self._nonce, digest)), "count": str(count)}
        about = {"page_id": "", "document": digest, "count": count}
        schema = _object_schema({"type": "string"}, count)
        request = self._made(("questions.txt", "document.txt"), words, schema, about, flags)
        reply, reading = self._ask(request, read_questions, count)
        found = [reading.found[n] for n in sorted(reading.found)]
        return found, reading.problem or (reply.reason if not found else "")

    # --- before ------------------------------------------------------------------------------

    def planned(self, statements: Sequence[str], packet: Packet) -> Iterator[PlannedCall]:
        """Yield the calls that a page comes to; what the journal knows needs none."""
        known = self._known(statements, packet)
        left = [s for s in dict.fromkeys(statements) if s not in known]
        passages = Passages(packet.text)
        for start in range(0, len(left), BATCH):
            request = self._request(left[start : start + BATCH], packet, passages)
            known_call = request.key in self.judge.journal
            yield PlannedCall(packet.page_id, request.prompt_tokens, request.room, known_call)

    def planned_parse(self, found: Sequence[Statement]) -> Iterator[PlannedCall]:
        """Yield the call that parsing an answer comes to, if it has sentences to be parsed."""
        sent = [s for s in found if s.outcome == "statement"]
        if sent:
            request = self._parse_request(sent)
            known = request.key in self.judge.journal
            yield PlannedCall("", request.prompt_tokens, request.room, known)


def _page_flags(packet: Packet) -> tuple[str, ...]:
    """Return what a reader of any verdict on a page should know."""
    planted = ("planted_verdict",) if PLANTED.search(packet.text) else ()
    return (*planted, "page_cut") if "cut" in packet.flags else planted


def _split(one: Statement, texts: list[str] | None, why: str) -> list[Statement]:
    """Return the statements that a sentence was split into."""
    if one.outcome != "statement":
        return [one]
    if texts is None:
        return [replace(one, outcome="not_parsed", reason=why or "no entry in the reply")]
    if not texts:
        return [replace(one, outcome="meta", reason="no statement of fact, by the model")]
    return [replace(one, text=text) for text in texts]


def _check(reading: Numbered, number: int, page: str, reply: Reply) -> Check:
    """Return the check of one statement, its quotation looked up in the page."""
    if number not in reading.found:
        why = reading.problem or "no verdict in the reply"
        outcome = {"reply": "no_verdict", "empty": "no_verdict"}.get(reply.status, reply.status)
        return Check(None, outcome=outcome, reason=why)
    verdict, quote = reading.found[number]
    outcome = "repaired" if reading.repaired else "checked"
    needs = verdict in ("supported", "partly", "contradicted")
    if not quote:
        return Check(verdict, quote_found=False if needs else None, outcome=outcome, reason="no quotation" if needs else "")  # fmt: skip
    quote = " ".join(plain(quote)[0].split())[:1000]
    if PLANTED.search(quote):
        return Check(verdict, quote, False, outcome, "the quotation is a ready-made verdict")
    there = stands_in(quote, plain(page)[0])
    return Check(
        verdict, quote, there, outcome, "" if there else "the quotation is not in the page"
    )


def _echoed(reading: Numbered, page: str, count: int) -> bool:
    """Whether a page carries the very verdicts that a reply gives."""
    if not re.search(r"verdict\W{0,3}:", page, re.I):
        return False
    planted = [read_verdicts(part, count).found for part in objects_in(page)]
    return any(one and dict(one) == dict(reading.found) for one in planted)


def _schema(entry: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return the JSON schema of numbered objects."""
    one = {
        "type": "object",
        "properties": dict(entry),
        "required": list(entry),
        "additionalProperties": False,
    }
    return _object_schema(one, count)


def _object_schema(entry: Mapping[str, Any], count: int) -> dict[str, Any]:
    """Return the JSON schema of an object with one entry for each number."""
    numbers = [str(n) for n in range(1, count + 1)]
    return {
        "type": "object",
        "properties": dict.fromkeys(numbers, entry),
        "required": numbers,
        "additionalProperties": False,
    }


def _digest(text: str) -> str:
    """Return the SHA-256 of a text, in hexadecimal."""
    return hashlib.sha256(text.encode()).hexdigest()
