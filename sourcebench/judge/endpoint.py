"""One call to an OpenAI-compatible endpoint: what came back, or what kind of failure it was."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import cache
from typing import Any, Literal
from urllib.parse import urlsplit

from sourcebench.study import StudyError

_LARGEST_BODY = 8_000_000  # bytes
_LONGEST_MESSAGE = 400


class JudgingStopped(StudyError):
    """Judging can't go on: no quota, no valid key, or a limit reached. What was judged is kept."""


Status = Literal["reply", "cut", "empty", "refused", "filtered", "error", "timeout"]


@dataclass(frozen=True)
class Reply:
    """What came of one request.

    `status` is `reply` for a text to be read; `cut` if it ended at the length limit, `empty`,
    `refused` or `filtered`; `error` or `timeout` if there is none after all retries. `at` is the
    time at which the journal took it.
    """

    status: Status
    text: str = ""
    reason: str = ""
    finish: str = ""
    model: str = ""
    fingerprint: str = ""
    usage: Mapping[str, Any] = field(default_factory=dict)
    attempts: int = 1
    at: str = ""


FailureKind = Literal["wait", "again", "timeout", "filtered", "rejected", "too_long", "stop"]


class Failure(Exception):
    """A request that brought no reply.

    `kind` says what to do: `wait` (rate limit) and `again` (the endpoint's fault) are tried again,
    so is `timeout`; `filtered`, `rejected` and `too_long` hold for this request; `stop` for all.
    """

    def __init__(
        self, kind: FailureKind, message: str, *, wait: float | None = None, param: str = ""
    ):
        super().__init__(message)
        self.kind, self.message, self.wait, self.param = kind, message, wait, param


class Endpoint:
    """Sends one request at a time and thread; never retries.

    Parameters
    ----------
    base_url
        Address of the API, such as `https://api.example.org/v1`.
    key
        The key, or an empty text for endpoints that need none. It is not shown, written or logged,
        and is blotted out of whatever the endpoint sends back.
    timeout
        Seconds that one request may take in all, from connecting to the last byte.
    """

    def __init__(self, base_url: str, key: str = "", *, timeout: float = 120.0):
        self.base_url, self.timeout = base_url, timeout
        self._key = key
        self._client = _client(base_url, key, timeout)

    def __repr__(self) -> str:
        return f"Endpoint({self.base_url!r})"

    def files_client(self) -> Any:
        """Return a client for files and batches, which may be large; it retries by itself."""
        import openai

        return openai.OpenAI(
            base_url=self.base_url, api_key=self._key or "none", max_retries=4, timeout=600.0
        )

    def close(self) -> None:
        """Close the connections."""
        self._client.close()

    def post(self, body: Mapping[str, Any], path: str = "/chat/completions") -> dict[str, Any]:
        """Send a request and return the endpoint's object.

        Raises
        ------
        Failure
            If there is no object with results in it; also with status 200.
        """
        import openai

        try:
            response = self._client.post(path, body=dict(body), cast_to=_raw())
            text = self.hide(response.text)
        except openai.APIStatusError as error:
            text = self.hide(error.response.text)
            raise failure_of(error.status_code, error.response.headers, _object(text)) from None
        except (openai.APITimeoutError, _TooSlow):
            raise Failure("timeout", f"no reply within {self.timeout:g} s") from None
        except (openai.APIConnectionError, _TooLarge) as error:
            raise Failure("again", self.hide(_said(error))) from None
        return self._results(text, response.headers)

    def ask(self, body: Mapping[str, Any]) -> Reply:
        """Send a request and return what it brought: a chat, or a `prompt` to be gone through.

        Raises
        ------
        Failure
            If there is no reply.
        """
        if "prompt" in body:
            return scored_in(self.post(body, "/completions"))
        return reply_in(self.post(body))

    def hide(self, text: str) -> str:
        """Blot the key out of a text."""
        return text.replace(self._key, "[key]") if len(self._key) >= 4 else text

    def _results(self, text: str, headers: Mapping[str, str]) -> dict[str, Any]:
        """Return the object of a status-200 answer, which may carry an error all the same."""
        found = _object(text)
        if found.get("error") and not found.get("choices"):
            raise failure_of(_inner_status(found), headers, found)
        choices = found.get("choices")
        if not isinstance(choices, list) or not choices or not isinstance(choices[0], dict):
            raise Failure("again", f"status 200 without choices: {text[:120]!r}")
        if choices[0].get("error"):
            inner = {"error": choices[0]["error"]}
            raise failure_of(_inner_status(inner), headers, inner)
        return found


def _client(base_url: str, key: str, timeout: float) -> Any:
    """Return an openai client that never retries and whose answers are bounded in time and size."""
    import openai

    http = openai.DefaultHttpxClient(
        event_hooks={"response": [lambda response: _bound(response, timeout)]},
        follow_redirects=False,
    )
    return openai.OpenAI(
        base_url=base_url, api_key=key or "none", max_retries=0, timeout=timeout, http_client=http
    )


def _raw() -> Any:
    """Return the type that makes the client hand over the answer as it came."""
    import httpx2

    return httpx2.Response


class _TooSlow(Exception):
    """An answer that came in drop by drop."""


class _TooLarge(Exception):
    """An answer larger than any reply."""


def _bound(response: Any, timeout: float) -> None:
    """Have the body of a response end with an error when it takes too long or is too large."""
    response.stream = _bounded_stream()(response.stream, time.monotonic() + timeout)


@cache
def _bounded_stream() -> type:
    """Return the class of streams that are limited in time and size."""
    import httpx2

    class Bounded(httpx2.SyncByteStream):
        def __init__(self, stream: Any, until: float):
            self._stream, self._until = stream, until

        def __iter__(self) -> Iterator[bytes]:
            size = 0
            for chunk in self._stream:
                size += len(chunk)
                if time.monotonic() > self._until:
                    raise _TooSlow
                if size > _LARGEST_BODY:
                    raise _TooLarge(f"more than {_LARGEST_BODY} bytes")
                yield chunk

        def close(self) -> None:
            self._stream.close()

    return Bounded


def check_address(base_url: str, key: str) -> None:
    """Refuse to send a key over an open line.

    Raises
    ------
    ValueError
        If the address is no http(s) address, or a key would go to another machine without TLS.
    """
    parts = urlsplit(base_url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError(f"base_url must be an http(s) address, found {base_url!r}")
    local = parts.hostname in ("localhost", "127.0.0.1", "::1")
    if key and parts.scheme == "http" and not local:
        raise ValueError(f"base_url {base_url!r}: a key is only sent over https; use https")


# --- what an answer means ------------------------------------------------------------------------


def reply_in(found: Mapping[str, Any]) -> Reply:
    """Return the reply in an answer with choices."""
    choice = found["choices"][0]
    message = choice.get("message") if isinstance(choice.get("message"), dict) else {}
    finish = str(choice.get("finish_reason") or "")
    text, refusal = _content(message), str(message.get("refusal") or "")
    reply = Reply(
        "reply",
        text=text,
        finish=finish,
        model=str(found.get("model") or ""),
        fingerprint=str(found.get("system_fingerprint") or ""),
        usage=_usage(found.get("usage")),
    )
    if finish.lower() in ("length", "max_tokens", "max_output_tokens"):
        return replace(reply, status="cut", reason="cut off at the output limit")
    if finish.lower() in ("content_filter", "safety", "prohibited_content"):
        return replace(reply, status="filtered", reason="the endpoint's content filter stepped in")
    if refusal:
        return replace(reply, status="refused", reason=f"refused: {refusal[:_LONGEST_MESSAGE]}")
    if not text.strip():
        return replace(reply, status="empty", reason="empty reply")
    return reply


def scored_in(found: Mapping[str, Any]) -> Reply:
    """Return the log-probabilities of a prompt's tokens as a reply; empty if there are none.

    The text is JSON: `offsets`, where in the prompt each token starts, and `logprobs`.
    """
    scored = found["choices"][0].get("logprobs")
    scored = scored if isinstance(scored, dict) else {}
    offsets, values = scored.get("text_offset"), scored.get("token_logprobs")
    reply = Reply("empty", model=str(found.get("model") or ""), usage=_usage(found.get("usage")))
    lists = isinstance(offsets, list) and isinstance(values, list)
    if not lists or len(offsets) != len(values) or offsets[:1] != [0]:
        return replace(reply, reason="the endpoint gives no log-probabilities of a given text")
    text = json.dumps({"offsets": offsets, "logprobs": values}, separators=(",", ":"))
    return replace(reply, status="reply", text=text)


def _content(message: Mapping[str, Any]) -> str:
    """Return the text of a message, which may come in parts."""
    content = message.get("content")
    if isinstance(content, list):
        parts = [part.get("text") for part in content if isinstance(part, dict)]
        return "".join(part for part in parts if isinstance(part, str))
    return content if isinstance(content, str) else ""


def _usage(usage: Any) -> dict[str, Any]:
    """Return the tokens that an answer reports, and its cost where the endpoint tells."""
    if not isinstance(usage, dict):
        return {}
    prompt, output = usage.get("prompt_tokens_details"), usage.get("completion_tokens_details")
    found = {
        "prompt": usage.get("prompt_tokens"),
        "output": usage.get("completion_tokens"),
        "cached": prompt.get("cached_tokens") if isinstance(prompt, dict) else None,
        "reasoning": output.get("reasoning_tokens") if isinstance(output, dict) else None,
        "cost": usage.get("cost"),
    }
    return {
        name: value
        for name, value in found.items()
        if isinstance(value, (int, float)) and not isinstance(value, bool)
    }


# --- what a failure means ------------------------------------------------------------------------

_QUOTA = (
    "insufficient_quota",
    "insufficient credits",
    "insufficient balance",
    "insufficient_balance",
    "billing",
    "exceeded your current quota",
    "quota exhausted",
    "out of credits",
    "payment required",
    "arrearage",
)
_FILTER = ("content_filter", "content_policy", "data_inspection", "moderation", "flagged")
_TOO_LONG = (
    "context_length",
    "context length",
    "context size",
    "context window",
    "maximum context",
    "too many tokens",
    "prompt is too long",
    "input is too long",
)


def failure_of(status: int, headers: Mapping[str, str], body: Mapping[str, Any]) -> Failure:
    """Return what an error answer means.

    Parameters
    ----------
    status
        HTTP status, or the code inside an error that came with status 200.
    headers
        Headers of the answer, any case.
    body
        The answer's object, or an empty one.
    """
    error = body.get("error", body)
    error = error if isinstance(error, dict) else {"message": str(error)}
    words = " ".join(str(error.get(name) or "") for name in ("type", "code", "message")).lower()
    said = _words_of(status, error)
    if status == 402 or (status in (403, 429) and any(word in words for word in _QUOTA)):
        return Failure("stop", f"the quota is used up: {said}")
    if status in (400, 403, 422) and any(word in words for word in _FILTER):
        return Failure("filtered", f"the endpoint's content filter stepped in: {said}")
    if status in (401, 403):
        return Failure("stop", f"the key is not accepted: {said}")
    if status == 404:
        return Failure("stop", f"no such model or address: {said}")
    if status == 429:
        return Failure("wait", said, wait=retry_after(headers))
    if status == 413 or (status in (400, 422) and any(word in words for word in _TOO_LONG)):
        return Failure("too_long", f"the prompt is too long for the model: {said}")
    if status in (408, 409, 425) or status >= 500:
        return Failure("again", said, wait=retry_after(headers))
    return Failure("rejected", said, param=str(error.get("param") or ""))


def _words_of(status: int, error: Mapping[str, Any]) -> str:
    """Return status and message of an error in one line."""
    message = error.get("message") or error.get("code") or error.get("detail") or "no message"
    return f"{status}, {' '.join(str(message).split())[:_LONGEST_MESSAGE]}"


def _inner_status(body: Mapping[str, Any]) -> int:
    """Return the status code inside an error object; an unknown one counts as the server's fault."""
    error = body["error"]
    code = error.get("code") if isinstance(error, dict) else None
    if str(code).isdigit() and 400 <= int(code) < 600:
        return int(code)
    return {"rate_limit_exceeded": 429, "insufficient_quota": 429, "content_filter": 400}.get(
        str(code), 500
    )


def retry_after(
    headers: Mapping[str, str], now: Callable[[], datetime] = lambda: datetime.now(UTC)
) -> float | None:
    """Return the seconds that an answer asks to wait, never negative, or None if it does not say."""
    lower = {name.lower(): value for name, value in headers.items()}
    if (text := lower.get("retry-after-ms", "")).isdigit():
        return int(text) / 1000
    text = lower.get("retry-after", "").strip()
    try:
        return max(0.0, float(text))
    except ValueError:
        pass
    try:
        until = parsedate_to_datetime(text)
        start = parsedate_to_datetime(lower["date"]) if "date" in lower else now()
        return max(0.0, (until - start).total_seconds())
    except (ValueError, TypeError):
        return None


def _object(text: str) -> dict[str, Any]:
    """Return the object in a body, or an empty one with the body as its message."""
    try:
        found = json.loads(text)
    except (ValueError, RecursionError):
        found = None
    if isinstance(found, dict):
        return found
    return {"message": text[:_LONGEST_MESSAGE]} if text.strip() else {}


def _said(error: Exception) -> str:
    """Return what a connection error says."""
    return " ".join(f"{type(error).__name__}: {error}".split())[:_LONGEST_MESSAGE]
