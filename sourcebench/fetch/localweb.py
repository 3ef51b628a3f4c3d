"""A small web served from this machine under its real host names."""

from __future__ import annotations

import socket
import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from socketserver import ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

LocalResolver = Callable[[str, int], tuple[str, int, str] | None]
Answer = tuple[int, dict[str, str], bytes]

_NOTHING: Answer = (404, {"Content-Type": "text/html; charset=utf-8"}, b"<h1>Not found</h1>\n")


@contextmanager
def serve_web(pages: Iterable[Mapping[str, Any]], root: str | Path) -> Iterator[LocalResolver]:
    """Serve pages from files under their own addresses, on a loopback port, until the block ends.

    Parameters
    ----------
    pages
        One mapping a page: url, status (200 if empty), content_type, location, and file, a path
        below `root` (no body if empty). Other keys are ignored. What is not listed answers 404.
    root
        Folder of the files.

    Yields
    ------
    callable
        A resolver for `fetch_study`: the hosts of the pages are on the loopback port, which speaks
        plain HTTP whatever the scheme of the address; no other host name exists.

    Raises
    ------
    ValueError
        If an address is listed twice, or a file is missing or not below `root`.
    """
    answers: dict[tuple[str, str], Answer] = {}
    for page in pages:
        if (key := _key(page["url"])) in answers:
            raise ValueError(f"{page['url']}: listed twice")
        answers[key] = _answer(page, Path(root))
    server = _Server(("127.0.0.1", 0), _handler(answers))
    # A short poll: shutting down waits for it.
    thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
    thread.start()
    try:
        yield local_resolver({host for host, _ in answers}, server.server_address[1])
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


def local_resolver(hosts: Iterable[str], port: int) -> LocalResolver:
    """Return a resolver by which hosts are on a port of this machine, and no other name exists.

    IP addresses, however written, are left to the ordinary checks.
    """
    hosts = frozenset(hosts)

    def resolve(host: str, _: int) -> tuple[str, int, str] | None:
        if host in hosts:
            return "127.0.0.1", port, "http"
        if _is_ip(host):
            return None
        raise socket.gaierror(socket.EAI_NONAME, "not a host of the local web")

    return resolve


def _is_ip(host: str) -> bool:
    """Whether a host is an IP address in any of the forms that a system library reads."""
    if ":" in host:
        return True
    try:
        socket.inet_aton(host)
    except OSError:
        return False
    return True


class _Server(ThreadingTCPServer):
    """A server that takes many connections at once and does not hold up the end."""

    daemon_threads = True
    request_queue_size = 128


def _handler(answers: Mapping[tuple[str, str], Answer]) -> type[BaseHTTPRequestHandler]:
    """Return the class that answers requests; nothing in an answer depends on the time."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True
        timeout = 30

        def do_GET(self) -> None:
            host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
            status, headers, body = answers.get((host, self.path), _NOTHING)
            self.send_response_only(status)
            for name, value in headers.items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args: Any) -> None:
            """Stay silent."""

    return Handler


def _key(url: str) -> tuple[str, str]:
    """Return the host and the request target of an address."""
    parts = urlsplit(url)
    return parts.hostname or "", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


def _answer(page: Mapping[str, Any], root: Path) -> Answer:
    """Return the answer for one page."""
    headers = {"Content-Type": page.get("content_type"), "Location": page.get("location")}
    body = b""
    if page.get("file"):
        path = (root / page["file"]).resolve()
        if not path.is_relative_to(root.resolve()) or not path.is_file():
            raise ValueError(f"{page['url']}: no file {page['file']!r} below {root}")
        body = path.read_bytes()
    return int(page.get("status") or 200), {n: str(v) for n, v in headers.items() if v}, body
