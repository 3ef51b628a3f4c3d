"""One request to an address nobody vouches for: address checked, time and size bounded."""

from __future__ import annotations

import re
import socket
import ssl
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import cache, partial
from http.client import BadStatusLine, HTTPException, IncompleteRead
from pathlib import Path
from typing import Any
from urllib.parse import urldefrag, urljoin, urlsplit

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from sourcebench.addresses import Address, Failure, Resolver, find_addresses, look_up_in_time
from sourcebench.decoding import Decoder, TooLarge, Undecodable
from sourcebench.snapshots import Snapshot
from sourcebench.urls import split_url

_BLOCK = 1 << 16
_GUARD_EVERY = 0.05  # seconds between looks at the deadlines
_STREAMS = ("audio/", "video/")  # may never end, and hold no text


class Web:
    """The web as a careful visitor sees it; may be used from several threads.

    Parameters
    ----------
    user_agent
        Who we say we are.
    max_bytes
        Most bytes of a body, as sent and as decompressed.
    connect_timeout
        Seconds to wait for a connection, or between two pieces of an answer.
    pools, per_host
        Hosts, and connections to each, that are kept open.
    resolver
        Gives (ip, port) or (ip, port, scheme) for (host, port), or None to look the host up.
    ca_file
        Certificates to trust, in place of certifi's.
    lookup
        Name lookup, with the signature of `socket.getaddrinfo`.
    """

    def __init__(
        self,
        *,
        user_agent: str,
        max_bytes: int,
        connect_timeout: float = 15.0,
        pools: int = 64,
        per_host: int = 1,
        resolver: Resolver | None = None,
        ca_file: str | Path | None = None,
        lookup: Callable = socket.getaddrinfo,
    ):
        self.max_bytes = max_bytes
        self.connect_timeout = connect_timeout
        self._resolver, self._lookup = resolver, lookup
        self._watches = threading.local()
        self._open_watches: set[_Watch] = set()
        self._closed = threading.Event()
        threading.Thread(target=self._guard, daemon=True).start()
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8",
            "Accept-Language": "en,*;q=0.5",
            "Accept-Encoding": "gzip, deflate, br",
        }
        trust = cache(partial(_trust, ca_file))
        self._adapter = _adapter(self._connect, self._watch_socket, trust, pools, per_host)

    def close(self) -> None:
        """Close all connections, also those in use."""
        self._closed.set()
        for watch in self._open_watches.copy():
            watch.expire()
        self._adapter.close()

    def get(self, url: str, *, deadline: float, fetched_at: str, cookies: Any = None) -> Snapshot:
        """Ask for one address, without following redirects.

        Parameters
        ----------
        url
            The address.
        deadline
            Seconds for the whole exchange, from name lookup to last byte.
        fetched_at
            Time to note in the snapshot, ISO 8601.
        cookies
            A jar that gives and takes cookies.

        Raises
        ------
        Failure
            Says why nothing, or not all, came.
        """
        with self._watch(deadline) as watch:
            try:
                answer = self._exchange(url, fetched_at, cookies)
            except _FAULTS as error:
                raise _failure(error, watch, deadline) from None
            if watch.expired:  # a cut connection may look like the end of head or body
                raise _too_late(deadline)
            return answer

    def _exchange(self, url: str, fetched_at: str, cookies: Any) -> Snapshot:
        """Send the request and read the answer."""
        split_url(url)
        request = requests.Request(
            "GET", urldefrag(url)[0], self._headers, cookies=cookies
        ).prepare()
        timeout = self.connect_timeout
        answer = self._adapter.send(request, stream=True, timeout=timeout, verify=True)
        try:
            if cookies is not None:
                requests.cookies.extract_cookies_to_jar(cookies, request, answer.raw)
            headers = _received_headers(answer)
            media_type = answer.headers.get("Content-Type", "").strip().lower()
            skipped = answer.status_code == 200 and media_type.startswith(_STREAMS)
            body = b"" if skipped else _read_body(answer, self.max_bytes)
        finally:
            answer.raw.close() if not answer.raw.closed else None
        return Snapshot(
            url=request.url,
            status=answer.status_code,
            headers=headers,
            body=body,
            fetched_at=fetched_at,
            reason=answer.reason or "",
            ip=self._watches.current.ip,
            request=(("Host", urlsplit(request.url).netloc), *request.headers.items()),
            truncated="unspecified" if skipped else "",
        )

    def _connect(self, host: str, port: int, scheme: str) -> tuple[socket.socket, Address]:
        """Connect to an address of a host that may be visited; return the socket and that address."""
        fault: OSError | None = None
        lookup = partial(look_up_in_time, self._lookup, self.connect_timeout)
        for address in find_addresses(scheme, host, port, self._resolver, lookup):
            try:
                sock = socket.create_connection(address[:2], self.connect_timeout)
            except OSError as error:
                fault = error
                continue
            sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
            self._watch_socket(sock, address.ip)
            return sock, address
        raise fault or OSError("no address")

    @contextmanager
    def _watch(self, deadline: float) -> Iterator[_Watch]:
        """Cut off the connections of this thread when the deadline passes."""
        watch = self._watches.current = _Watch(time.monotonic() + deadline)
        self._open_watches.add(watch)
        try:
            yield watch
        finally:
            self._open_watches.discard(watch)
            watch.release()

    def _guard(self) -> None:
        """End what is past its deadline, until all is closed. Runs in a thread of its own."""
        while not self._closed.wait(_GUARD_EVERY):
            now = time.monotonic()
            for watch in self._open_watches.copy():
                if watch.ends <= now:
                    watch.expire()

    def _watch_socket(self, sock: socket.socket, ip: str) -> None:
        """Put a connection under this thread's deadline."""
        self._watches.current.add(sock, ip)


class _Watch:
    """The connections of one exchange, to be cut at its deadline: a timeout of the socket alone
    never ends a server that sends a byte a second."""

    def __init__(self, ends: float):
        self.ends, self.expired, self.ip = ends, False, ""
        self._handles: list[socket.socket] = []
        self._lock = threading.Lock()

    def add(self, sock: socket.socket, ip: str) -> None:
        """Watch a connection, by a handle of our own: TLS takes the socket's away."""
        with self._lock:
            self.ip = ip
            self._handles.append(socket.fromfd(sock.fileno(), sock.family, sock.type))
            if self.expired:
                self._cut()

    def expire(self) -> None:
        """End the connections, also while another thread reads from them."""
        with self._lock:
            self.expired = True
            self._cut()

    def release(self) -> None:
        """Let the connections go: one that is kept open belongs to no exchange."""
        with self._lock:
            for handle in self._handles:
                handle.close()
            self._handles.clear()

    def _cut(self) -> None:
        for handle in self._handles:
            with suppress(OSError):  # already ended
                handle.shutdown(socket.SHUT_RDWR)


def _adapter(
    connect: Callable, watch: Callable, trust: Callable, pools: int, per_host: int
) -> HTTPAdapter:
    """Return a requests adapter whose connections go where `connect` says, under `watch`."""

    class Plain(HTTPConnection):
        def _new_conn(self):
            sock, self.address = connect(self._dns_host, self.port, "http")
            return sock

        def getresponse(self):
            watch(self.sock, self.address.ip)
            return super().getresponse()

    class Secure(HTTPSConnection):
        def connect(self):
            self.opened, self.address = connect(self._dns_host, self.port, "https")
            if self.address.scheme == "http":  # only a given resolver says so
                self.sock, self.is_verified = self.opened, True
            else:
                self.ssl_context = trust()
                super().connect()

        def _new_conn(self):
            return self.opened

        def getresponse(self):
            watch(self.sock, self.address.ip)
            return super().getresponse()

    pool_classes = {
        "http": type("PlainPool", (HTTPConnectionPool,), {"ConnectionCls": Plain}),
        "https": type("SecurePool", (HTTPSConnectionPool,), {"ConnectionCls": Secure}),
    }

    class Adapter(HTTPAdapter):
        def init_poolmanager(self, connections, maxsize, block=False, **kwargs):
            super().init_poolmanager(connections, maxsize, block, **kwargs)
            self.poolmanager.pool_classes_by_scheme = pool_classes

        def cert_verify(self, conn, url, verify, cert):
            """Leave it to the context, which verifies; requests would read the file each time."""

    return Adapter(pool_connections=pools, pool_maxsize=per_host)


def _trust(ca_file: str | Path | None) -> ssl.SSLContext:
    """Return a context that verifies certificates and host names."""
    import certifi

    return ssl.create_default_context(cafile=ca_file or certifi.where())


# --- reading an answer ---------------------------------------------------------------------------


def _received_headers(answer: requests.Response) -> tuple[tuple[str, str], ...]:
    """Return the header pairs as received, each on one line.

    The body is kept without its chunks, so the header that announces them gets another name:
    a reader of the file must not look for them.
    """
    pairs = []
    # requests and urllib3 put headers of one name together; http.client has them in order.
    for name, value in answer.raw._original_response.msg.items():
        kept = "X-Archive-Orig-Transfer-Encoding" if name.lower() == "transfer-encoding" else name
        pairs.append((kept, re.sub(r"\s*[\r\n]\s*", " ", value).strip()))
    return tuple(pairs)


def _read_body(answer: requests.Response, limit: int) -> bytes:
    """Read a body as sent, and give up as soon as it is too large as sent or as decompressed."""
    announced = answer.headers.get("Content-Length", "")
    if announced.isdecimal() and int(announced) > limit:
        raise TooLarge(f"{announced} bytes announced, {limit} allowed")
    decoder = Decoder(answer.headers.get("Content-Encoding", ""), limit)
    pieces, size = [], 0
    for piece in answer.raw.stream(_BLOCK, decode_content=False):
        size += len(piece)
        if size > limit:
            raise TooLarge(f"more than {limit} bytes")
        for _ in decoder.feed(piece):
            pass  # only the size is asked for
        pieces.append(piece)
    return b"".join(pieces)


def plain_address(url: str) -> str:
    """Return an address as it is asked for: in ASCII, without fragment.

    Raises
    ------
    ValueError
        If it is no address of the web.
    """
    return requests.Request("GET", urldefrag(url)[0]).prepare().url


def redirect_target(snapshot: Snapshot) -> str | None:
    """Return the absolute address that an answer redirects to, or None."""
    location = snapshot.header("Location")
    if snapshot.status not in (301, 302, 303, 307, 308) or not location:
        return None
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    try:
        return urljoin(snapshot.url, location)
    except ValueError:  # not readable as an address; whoever goes there says so
        return location


# --- faults --------------------------------------------------------------------------------------


_FAULTS = (OSError, ValueError, HTTPException, urllib3.exceptions.HTTPError)


def _failure(error: Exception, watch: _Watch, deadline: float) -> Failure:
    """Return what a fault of the transport means for the page."""
    if watch.expired:
        return _too_late(deadline)
    chain = list(_causes(error))
    for cause in chain:
        if isinstance(cause, TooLarge):
            return Failure("too_large", str(cause))
        if isinstance(cause, Undecodable):
            return Failure("server_error", str(cause))
        if isinstance(cause, ssl.SSLError):
            verify = getattr(cause, "verify_message", "")
            return Failure("tls_error", verify or cause.reason or str(cause))
        if isinstance(cause, socket.gaierror):
            passing = cause.errno == socket.EAI_AGAIN
            return Failure("unreachable", f"no such host: {cause.strerror}", passing=passing)
    if any(isinstance(cause, TimeoutError) for cause in chain):
        return Failure("timeout", "no answer in time")
    return Failure("unreachable", _words(chain), passing=_may_pass(chain))


def _too_late(deadline: float) -> Failure:
    """Return the failure of a page that took longer than allowed."""
    return Failure("timeout", f"not complete after {deadline:.3g} s")


def _may_pass(chain: list[BaseException]) -> bool:
    """Whether a fault is one of a connection that broke, and not of what was asked."""
    broken = (ConnectionError, HTTPException, urllib3.exceptions.ProtocolError)
    return any(isinstance(cause, broken) for cause in chain)


def _words(chain: list[BaseException]) -> str:
    """Return a fault in one line."""
    for cause in chain:
        if isinstance(cause, IncompleteRead):
            came = cause.partial if isinstance(cause.partial, int) else len(cause.partial)
            return f"the answer ends after {came} bytes, {cause.expected} too early"
        if isinstance(cause, BadStatusLine) and not isinstance(cause, ConnectionError):
            return f"not an answer in HTTP: {cause.line[:60]!r}"
    last = chain[-1]
    words = getattr(last, "strerror", None) or str(last) or type(last).__name__
    return " ".join(words.split())[:200]


def _causes(error: BaseException) -> Iterator[BaseException]:
    """Yield an exception and those it was made from, outermost first."""
    seen: set[int] = set()
    queue = [error]
    while queue:
        current = queue.pop(0)
        if id(current) in seen:
            continue
        seen.add(id(current))
        yield current
        inner = [getattr(current, "reason", None), current.__cause__, current.__context__]
        queue += [e for e in [*inner, *current.args] if isinstance(e, BaseException)]
