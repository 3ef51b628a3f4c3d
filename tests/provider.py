"""A provider on this machine: it records what it is asked, and answers as the test says."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit


@dataclass
class Asked:
    """One request as it arrived."""

    method: str
    path: str
    params: dict[str, str]
    headers: dict[str, str]
    json: Any


@dataclass
class Said:
    """One reply to give; `cut` ends the connection in the middle of the body."""

    body: bytes
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)
    cut: bool = False


@dataclass
class Provider:
    """What the server has been asked, and how it answers."""

    answer: Callable[[Asked], Said]
    url: str = ""
    asked: list[Asked] = field(default_factory=list)


class _Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def _serve(self) -> None:
        parts = urlsplit(self.path)
        body = self.rfile.read(int(self.headers.get("Content-Length") or 0))
        asked = Asked(
            self.command,
            parts.path,
            {name: values[0] for name, values in parse_qs(parts.query).items()},
            {name.lower(): value for name, value in self.headers.items()},
            json.loads(body) if body else None,
        )
        provider: Provider = self.server.provider
        with self.server.lock:
            provider.asked.append(asked)
        said = provider.answer(asked)
        self.send_response(said.status)
        for name, value in {"Content-Type": "application/json", **said.headers}.items():
            self.send_header(name, value)
        self.send_header("Content-Length", str(len(said.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(said.body[: len(said.body) // 2] if said.cut else said.body)
        self.close_connection = said.cut

    do_GET = do_POST = do_HEAD = _serve

    def log_message(self, *args: Any) -> None:
        """Say nothing."""


@contextmanager
def serving(answer: Callable[[Asked], Said]):
    """Run a provider on a free port of this machine."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), _Handler)
    server.daemon_threads, server.lock = True, threading.Lock()
    server.provider = Provider(answer, f"http://127.0.0.1:{server.server_address[1]}")
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01})
    thread.start()
    try:
        yield server.provider
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
