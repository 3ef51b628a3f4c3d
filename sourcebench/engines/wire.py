"""Requests to engines and what came back, kept byte for byte; no key survives in either."""

from __future__ import annotations

import base64
import json
import logging
import time
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any, Protocol

MAX_BYTES = 20_000_000
_KEPT_HEADERS = ("content-type", "date", "location", "retry-after", "x-request-id", "request-id")
_HIDDEN = "[key]"


class EngineError(RuntimeError):
    """A request to an engine brought no reply; the message says why, without any key."""

    def __init__(self, message: str, *, kind: str = "error"):
        super().__init__(message)
        self.kind = kind  # timeout, unreachable, too_large, error


class Http(Protocol):
    """The part of a `requests.Session` that engines use."""

    def request(self, method: str, url: str, **kwargs: Any) -> Any:
        """Send a request."""
        ...


@dataclass(frozen=True)
class Exchange:
    """One request and its reply. `request` is the body that was sent, as JSON or as parameters."""

    method: str
    url: str
    request: Mapping[str, Any]
    status: int
    body: bytes
    headers: Mapping[str, str] = field(default_factory=dict)

    def to_dict(self) -> dict[str, Any]:
        """Return the exchange as JSON values; the body stays byte for byte."""
        row = {
            "method": self.method,
            "url": self.url,
            "request": dict(self.request),
            "status": self.status,
            "headers": dict(self.headers),
        }
        try:
            return row | {"body": self.body.decode("utf-8")}
        except UnicodeDecodeError:
            return row | {"body_base64": base64.b64encode(self.body).decode("ascii")}

    @classmethod
    def from_dict(cls, row: Mapping[str, Any]) -> Exchange:
        """Return the exchange that `to_dict` wrote."""
        known = {name: row[name] for name in ("method", "url", "request", "status", "headers")}
        body = row["body"].encode() if "body" in row else base64.b64decode(row["body_base64"])
        return cls(**known, body=body)


def send(
    http: Http,
    method: str,
    url: str,
    *,
    json: Mapping[str, Any] | None = None,
    params: Mapping[str, Any] | None = None,
    headers: Mapping[str, str] | None = None,
    secrets: Mapping[str, str] | None = None,
    key: str = "",
    timeout: float = 300,
) -> Exchange:
    """Send one request and keep what came back.

    Parameters
    ----------
    http
        A `requests.Session`, or what has its `request`.
    json, params
        What is sent, and what is recorded.
    headers
        Further headers; not recorded.
    secrets
        Parameters that carry a key; sent, not recorded.
    key
        The key: wherever the reply repeats it, it is replaced.
    timeout
        Seconds until the reply has to be there whole.

    Raises
    ------
    EngineError
        If no reply came, or one of more than `MAX_BYTES`; the message holds no key.
    """
    import requests

    sent: dict[str, Any] = {"params": {**(params or {}), **(secrets or {})} or None}
    if json is not None:
        sent["json"] = json
    fault: EngineError | None = None
    try:
        with (
            _hushed(key),
            http.request(
                method, url, headers=headers, timeout=(min(timeout, 30), timeout), stream=True,
                allow_redirects=False, auth=_as_given, **sent,
            ) as reply,
        ):  # fmt: skip
            body = _bounded(reply, time.monotonic() + timeout)
            status, given = reply.status_code, reply.headers
    except requests.Timeout:
        fault = EngineError(f"no reply within {timeout:g} seconds", kind="timeout")
    except (requests.RequestException, OSError) as error:
        fault = EngineError(f"no reply: {_fault(error)}", kind="unreachable")
    if fault:
        # Raised out here, it does not carry the library's error, which may hold the key's address.
        raise fault
    if key:
        body = body.replace(key.encode(), _HIDDEN.encode())
    kept = {n: given[n].replace(key or "\0", _HIDDEN) for n in _KEPT_HEADERS if n in given}
    return Exchange(method, url, json if json is not None else params or {}, status, body, kept)


def post(
    http: Http,
    settings: Mapping[str, Any],
    base: str,
    path: str,
    body: Mapping[str, Any],
    *,
    headers: Mapping[str, str] | None,
    key: str,
    wait: float = 300,
) -> Exchange:
    """Post a request as JSON, with what a system's settings add or replace.

    Parameters
    ----------
    settings
        `base_url` in place of `base`, `options` as further fields, `timeout` in place of `wait`.
    base, path
        Address of the engine, and of its interface.
    body, headers, key
        As `send` takes them.
    wait
        Seconds until the reply has to be there whole.
    """
    return send(
        http,
        "POST",
        settings.get("base_url", base).rstrip("/") + path,
        json={**body, **settings.get("options", {})},
        headers=headers,
        key=key,
        timeout=settings.get("timeout", wait),
    )


@contextmanager
def _hushed(key: str) -> Iterator[None]:
    """Keep the key, which may stand in an address, out of the log of the HTTP library."""
    logger = logging.getLogger("urllib3.connectionpool")

    def keyless(record: logging.LogRecord) -> bool:
        return not key or key not in record.getMessage()

    logger.addFilter(keyless)
    try:
        yield
    finally:
        logger.removeFilter(keyless)


def _bounded(reply: Any, until: float) -> bytes:
    """Read a reply piece by piece, up to the bounds in size and time."""
    body = bytearray()
    for piece in reply.iter_content(8192):
        body += piece
        if len(body) > MAX_BYTES:
            raise EngineError(f"the reply is longer than {MAX_BYTES} bytes", kind="too_large")
        if time.monotonic() > until:
            raise EngineError("the reply did not end in time", kind="timeout")
    return bytes(body)


def _as_given(request: Any) -> Any:
    """Leave a request as it is, so that no password from the user's netrc takes the key's place."""
    return request


def _fault(error: BaseException) -> str:
    """Name what kept a reply from coming, by the kind of error and no more."""
    import requests

    if isinstance(error, requests.exceptions.SSLError):
        return "the certificate was not accepted"
    if isinstance(error, requests.exceptions.ChunkedEncodingError):
        return "the connection broke off"
    if isinstance(error, requests.ConnectionError):
        return "could not connect, or the connection broke off"
    return type(error).__name__


def bearer(key: str) -> dict[str, str]:
    """Return the header that most engines take a key in."""
    return {"Authorization": f"Bearer {key}"}


# --- reading -------------------------------------------------------------------------------------


@dataclass(frozen=True)
class Opened:
    """A raw reply, opened: what was asked, what came back, its HTTP status, and exchanges before."""

    value: Any
    request: Mapping[str, Any] = field(default_factory=dict)
    status: int | None = None
    before: tuple[Exchange, ...] = ()
    exchange: Exchange | None = None


def opened(raw: Any) -> Opened:
    """Return what a raw reply holds.

    Parameters
    ----------
    raw
        The exchanges of one answer, or a record `{request, response}`, or the reply alone: bytes,
        text (JSON, JSON lines or server-sent events), or what is read from it already. Wrapped
        results of asynchronous requests are unwrapped.

    Raises
    ------
    ValueError
        If the reply can't be read.
    """
    if isinstance(raw, Exchange):
        raw = (raw,)
    if isinstance(raw, (tuple, list)) and raw and all(isinstance(e, Exchange) for e in raw):
        return _of_exchanges(tuple(raw))
    value = decode(raw)
    if isinstance(value, dict) and "exchanges" in value:
        return _of_exchanges(tuple(Exchange.from_dict(row) for row in value["exchanges"]))
    if isinstance(value, dict) and {"request", "response"} <= set(value):
        request = value["request"] if isinstance(value["request"], dict) else {}
        return Opened(decode(value["response"]), request, value.get("status_code"))
    if isinstance(value, dict) and "response" in value and "status" in value:
        inner = value["response"]
        return Opened(decode(inner) if inner is not None else value)
    return Opened(value)


def _of_exchanges(exchanges: tuple[Exchange, ...]) -> Opened:
    """Open the last exchange that is more than the following of a redirect."""
    place = max((n for n, e in enumerate(exchanges) if e.method != "HEAD"), default=0)
    last = exchanges[place]
    rest = exchanges[:place] + exchanges[place + 1 :]
    try:
        value = decode(last.body)
    except ValueError as error:
        if last.status < 400:
            raise
        value = {"error": {"message": str(error)}}
    return Opened(value, last.request, last.status, rest, last)


def decode(raw: Any) -> Any:
    """Return what a text holds: JSON, or a list of events or chunks; anything else stays as it is.

    Raises
    ------
    ValueError
        If a text is neither JSON, JSON lines nor server-sent events.
    """
    if isinstance(raw, (bytes, bytearray)):
        raw = bytes(raw).decode("utf-8-sig", errors="replace")
    if not isinstance(raw, str):
        return raw
    text = raw.strip()
    if not text:
        raise ValueError("the reply is empty")
    if text.startswith(("data:", "event:", "id:", ":")):
        return _events(text)
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        pass
    try:
        return [json.loads(line) for line in text.split("\n") if line.strip()]
    except (ValueError, RecursionError):
        raise ValueError(f"the reply is not JSON: it begins {text[:60]!r}") from None


def _events(text: str) -> list[Any]:
    """Return the data of server-sent events; the end mark is none, and a cut last one is left out."""
    events = []
    for block in text.replace("\r\n", "\n").split("\n\n"):
        lines = [line[5:].lstrip(" ") for line in block.split("\n") if line.startswith("data:")]
        # Data of one event may run over lines; where blank lines were lost, each line is an event.
        for data in ["\n".join(lines)] if _is_json("\n".join(lines)) else lines:
            if _is_json(data):
                events.append(json.loads(data))
    if not events and "[DONE]" not in text:
        raise ValueError(f"the stream holds no event that can be read: it begins {text[:60]!r}")
    return events


def _is_json(data: str) -> bool:
    """Whether the data of an event can be read; an end mark or one that was cut off can't."""
    try:
        json.loads(data)
    except (ValueError, RecursionError):
        return False
    return True
