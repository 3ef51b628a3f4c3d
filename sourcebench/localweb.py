"""A small web served from this machine under its real host names."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable, Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from socket import gaierror
from typing import Any
from urllib.parse import urlsplit

Answer = tuple[int, Mapping[str, str], bytes]


@contextmanager
def serve_web(
    pages: Iterable[Mapping[str, Any]], root: str | Path
) -> Iterator[Callable[[str, int], tuple[str, int, str] | None]]:
    """Serve pages from files under their own addresses, from a loopback port, until the block ends.

    Parameters
    ----------
    pages
        One mapping a page: url, status (200 if empty), content_type, location, and file, a path below
        `root` (no body if empty). Other keys are ignored.
    root
        Folder of the files.

    Yields
    ------
    callable
        A resolver for `fetch_study`: the hosts of the pages are at the loopback port, in plain
        HTTP whatever their scheme; any other host name does not exist.

    Raises
    ------
    ValueError
        If a file is missing or not below `root`.
    """
    answers = {_key(page["url"]): _answer(page, Path(root)) for page in pages}
    hosts = {host for host, _ in answers}

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self):
            host = self.headers.get("Host", "").partition(":")[0].lower()
            status, headers, body = answers.get((host, self.path), _NOTHING)
            self.send_response_only(status)
            for name, value in {**headers, "Content-Length": str(len(body))}.items():
                self.send_header(name, value)
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *args):
            """Stay silent."""

    def resolve(host: str, port: int):
        if host in hosts:
            return "127.0.0.1", server.server_address[1], "http"
        if host.replace(".", "").isdecimal() or host.startswith("["):
            return None
        raise gaierror(-2, "not in the local web")

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, args=(0.05,), daemon=True)
    thread.start()
    try:
        yield resolve
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


_NOTHING: Answer = (404, {"Content-Type": "text/html; charset=utf-8"}, b"<h1>Not found</h1>")


def _key(url: str) -> tuple[str, str]:
    """Return host and request target of an address."""
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
