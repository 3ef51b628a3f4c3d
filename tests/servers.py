"""Servers of this machine that behave as badly as those of the web.

`play(script)` serves addresses as a script says and yields a `Played`: its `resolver` goes to
`fetch_study`, its `asked` lists the addresses that were asked for. A script maps an address to
the answers it gives in turn (the last one repeats); an answer is a function that gets the
request's socket and its head, or one of the forms made by `reply`, `stream`, `reset`, `silent`.
Addresses that the script does not hold answer 404.
"""

from __future__ import annotations

import contextlib
import datetime
import json
import socket
import ssl
import struct
import threading
import time
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from socketserver import BaseRequestHandler, ThreadingTCPServer
from typing import Any
from urllib.parse import urlsplit

import trustme

Action = Callable[[socket.socket, bytes], None]


# --- answers -------------------------------------------------------------------------------------


def reply(
    status: int = 200,
    body: bytes = b"",
    headers: Mapping[str, str] | None = None,
    *,
    length: int | None = None,
    wait: float = 0.0,
) -> Action:
    """Answer with a whole body; `length` lies about how long it is, and `wait` delays it."""
    lines = {"Content-Length": str(len(body) if length is None else length)} | dict(headers or {})

    def act(sock: socket.socket, _: bytes) -> None:
        time.sleep(wait)
        sock.sendall(_head(status, lines) + body)
        if length is not None:
            sock.shutdown(socket.SHUT_RDWR)

    return act


def stream(
    piece: bytes,
    count: int | None = None,
    interval: float = 0.0,
    headers: Mapping[str, str] | None = None,
) -> Action:
    """Answer with chunks, for ever if there is no count."""
    lines = dict(headers or {}) | {"Transfer-Encoding": "chunked"}

    def act(sock: socket.socket, _: bytes) -> None:
        sock.sendall(_head(200, lines))
        sent = 0
        while count is None or sent < count:
            sock.sendall(b"%x\r\n%b\r\n" % (len(piece), piece))
            sent += 1
            time.sleep(interval)
        sock.sendall(b"0\r\n\r\n")

    return act


def raw(data: bytes, interval: float | None = None) -> Action:
    """Send bytes as they are and hang up; with an interval, one byte at a time."""

    def act(sock: socket.socket, _: bytes) -> None:
        for piece in [data] if interval is None else [bytes([byte]) for byte in data]:
            sock.sendall(piece)
            time.sleep(interval or 0.0)
        sock.shutdown(socket.SHUT_RDWR)

    return act


def reset(sock: socket.socket, _: bytes) -> None:
    """Reset the connection."""
    sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
    sock.close()


def silent(sock: socket.socket, _: bytes) -> None:
    """Say nothing until the other side hangs up."""
    with contextlib.suppress(OSError):
        sock.recv(1)


def redirect(location: str, status: int = 302, **headers: str) -> Action:
    """Redirect."""
    return reply(status, headers={"Location": location, **headers})


def _head(status: int, headers: Mapping[str, str]) -> bytes:
    """Return the head of an answer."""
    lines = [f"HTTP/1.1 {status} Status", *(f"{name}: {value}" for name, value in headers.items())]
    return ("\r\n".join(lines) + "\r\n\r\n").encode("latin-1")


# --- servers -------------------------------------------------------------------------------------


@dataclass
class Played:
    """What a script's servers have seen."""

    port: int = 0
    special: dict[str, tuple[str, int, str]] = field(default_factory=dict)
    hosts: set[str] = field(default_factory=set)
    asked: list[str] = field(default_factory=list)
    at: list[tuple[float, str]] = field(default_factory=list)  # when each host was asked
    most_at_once: Counter[str] = field(default_factory=Counter)
    connections: Counter[str] = field(default_factory=Counter)
    ca_file: Path | None = None

    def resolver(self, host: str, port: int) -> tuple | None:
        """Send the script's hosts to this machine, and leave others to the ordinary checks."""
        if host in self.special:
            return self.special[host]
        return ("127.0.0.1", self.port, "http") if host in self.hosts else None


class _Server(ThreadingTCPServer):
    daemon_threads = True
    request_queue_size = 128
    block_on_close = False


@contextlib.contextmanager
def serve(handle: Callable[[socket.socket], None]):
    """Serve connections of a loopback port with a function; yield the port."""

    class Handler(BaseRequestHandler):
        def handle(self):
            self.request.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            with contextlib.suppress(OSError):
                handle(self.request)

    with _Server(("127.0.0.1", 0), Handler) as server:
        thread = threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True)
        thread.start()
        try:
            yield server.server_address[1]
        finally:
            server.shutdown()
            thread.join()


def read_head(sock: socket.socket) -> bytes:
    """Read one request's head; empty when the other side has hung up."""
    data = b""
    while not data.endswith(b"\r\n\r\n"):
        byte = sock.recv(4096)
        if not byte:
            return b""
        data += byte
    return data


@contextlib.contextmanager
def play(script: Mapping[str, Action | Sequence[Action]]):
    """Serve a script until the block ends."""
    played, lock = Played(), threading.Lock()
    answers = {_key(u): list(a) if isinstance(a, Sequence) else [a] for u, a in script.items()}
    played.hosts = {host for host, _ in answers}
    active: Counter[str] = Counter()

    def handle(sock: socket.socket) -> None:
        while head := read_head(sock):
            lines = head.decode("latin-1").split("\r\n")
            target = lines[0].split(" ")[1]
            host = next(line[5:].strip() for line in lines if line.lower().startswith("host:"))
            host = host.partition(":")[0]
            with lock:
                played.asked.append(host + target)
                played.at.append((time.monotonic(), host))
                active[host] += 1
                played.most_at_once[host] = max(played.most_at_once[host], active[host])
                left = answers.get((host, target), [reply(404)])
                action = left.pop(0) if len(left) > 1 else left[0]
            try:
                action(sock, head)
            finally:
                with lock:
                    active[host] -= 1

    with serve(handle) as port:
        played.port = port
        yield played


def _key(url: str) -> tuple[str, str]:
    """Return host and request target of an address."""
    parts = urlsplit(url)
    return parts.hostname or "", (parts.path or "/") + (f"?{parts.query}" if parts.query else "")


# --- TLS -----------------------------------------------------------------------------------------


@contextlib.contextmanager
def serve_tls(host: str, fault: str = "", body: bytes = b"<p>safe"):
    """Serve one page over TLS; yield port, file of the certificate to trust, and a count of handshakes.

    `fault` is one of: tls_cert_verify_failed (unknown authority), tls_cert_expired,
    tls_hostname_mismatch, no_tls.
    """
    import tempfile

    trusted, authority = trustme.CA(), trustme.CA()
    issuer = authority if fault == "tls_cert_verify_failed" else trusted
    name = "other.example.net" if fault == "tls_hostname_mismatch" else host
    past = datetime.datetime.now(datetime.UTC) - datetime.timedelta(days=1)
    times = {"not_after": past} if fault == "tls_cert_expired" else {}
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    issuer.issue_cert(name, **times).configure_cert(context)
    count = Counter()

    def handle(sock: socket.socket) -> None:
        count["connections"] += 1
        if fault == "no_tls":
            sock.sendall(b"HTTP/1.1 400 Bad Request\r\nContent-Length: 0\r\n\r\n")
            return
        with context.wrap_socket(sock, server_side=True) as safe:
            while head := read_head(safe):
                count["requests"] += 1
                target = head.split(b" ")[1]
                status = 404 if target == b"/robots.txt" else 200
                reply(status, body, {"Content-Type": "text/html"})(safe, head)

    with tempfile.TemporaryDirectory() as folder, serve(handle) as port:
        ca_file = Path(folder) / "ca.pem"
        trusted.cert_pem.write_to_path(ca_file)
        yield port, ca_file, count


# --- exchanges -----------------------------------------------------------------------------------


def script_of(path: Path) -> dict[str, list[Action]]:
    """Return the script in an exchange.json; TLS faults are left to `serve_tls`."""
    exchange = json.loads(path.read_text(encoding="utf-8"))
    assert exchange["format"] == "exchange/1"
    return {
        request["url"]: [_action(answer, path.parent) for answer in request["responses"]]
        for request in exchange["requests"]
    }


def _action(answer: Mapping[str, Any], folder: Path) -> Action:
    """Return the action of one answer in an exchange."""
    if "error" in answer:
        return {"connection_reset": reset, "read_timeout": silent}.get(answer["error"], reset)
    headers = answer.get("headers", {})
    if "body_stream" in answer:
        sent = answer["body_stream"]
        piece, count = bytes.fromhex(sent["repeat_hex"]), sent.get("count")
        if count:  # the same bytes in larger chunks
            piece, count = piece * 100_000, count * len(piece) // 100_000
        return stream(piece, count, sent.get("interval_s", 0.0), headers)
    body = answer.get("body", "").encode()
    if "body_file" in answer:
        body = (folder / answer["body_file"]).read_bytes()
    return reply(answer["status"], body, headers)
