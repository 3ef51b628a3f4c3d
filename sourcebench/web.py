"""One request to an address nobody vouches for: address checked, time and size bounded."""

from __future__ import annotations

import ipaddress
import re
import socket
import ssl
import threading
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from http.client import HTTPException
from typing import Any, NamedTuple
from urllib.parse import urldefrag, urljoin

import requests
import urllib3
from requests.adapters import HTTPAdapter
from urllib3.connection import HTTPConnection, HTTPSConnection
from urllib3.connectionpool import HTTPConnectionPool, HTTPSConnectionPool

from sourcebench.snapshots import Decoder, Snapshot, TooLarge, Undecodable
from sourcebench.urls import split_url

Resolver = (
    Callable[[str, int], tuple | None]
    | Mapping[tuple[str, int], tuple[str, int] | tuple[str, int, str]]
)

_BLOCK = 1 << 16
_STREAMS = ("audio/", "video/")  # may never end, and hold no text


class Failure(Exception):
    """A page did not come; `outcome` is one of records.FETCH_OUTCOMES.

    `passing` says that the same request may succeed a moment later.
    """

    def __init__(self, outcome: str, reason: str, *, passing: bool = False):
        super().__init__(f"{outcome}: {reason}")
        self.outcome, self.reason, self.passing = outcome, reason, passing


class Address(NamedTuple):
    """Where to connect to: an IP address that was checked, a port, and the scheme spoken there."""

    ip: str
    port: int
    scheme: str


# --- addresses -----------------------------------------------------------------------------------

_NEVER = (
    "168.63.129.16/32",  # metadata of a cloud provider at a public address
    "64:ff9b:1::/48",  # local-use NAT64
    "2001::/23",  # Teredo and other protocol assignments
    "fec0::/10",  # site-local, deprecated
    "::/96",  # IPv4-compatible, deprecated
)
_NEVER_NETWORKS = tuple(ipaddress.ip_network(network) for network in _NEVER)
_NAT64 = ipaddress.ip_network("64:ff9b::/96")
_6TO4 = ipaddress.ip_network("2002::/16")


def is_public(ip: str) -> bool:
    """Whether an IP address is one of the open internet, wherever it may be wrapped in IPv6."""
    address = ipaddress.ip_address(ip.partition("%")[0])
    if address.version == 6:
        inner = address.ipv4_mapped or address.sixtofour
        if address in _NAT64:
            inner = ipaddress.IPv4Address(int(address) & 0xFFFFFFFF)
        if inner is not None:
            return is_public(str(inner))
    if address.is_multicast or address.is_reserved or address.is_unspecified:
        return False
    return address.is_global and not any(
        address.version == network.version and address in network for network in _NEVER_NETWORKS
    )


def find_addresses(
    scheme: str, host: str, port: int, resolver: Resolver | None, lookup: Callable
) -> list[Address]:
    """Return where a host may be reached.

    What the given resolver says is taken as it is: it exists so that real host names can be served
    from this machine. Whatever ordinary name lookup says is checked.

    Raises
    ------
    Failure
        `not_allowed` if the host has no public address, `unreachable` if it has none at all.
    """
    given = resolver.get((host, port)) if isinstance(resolver, Mapping) else None
    if callable(resolver):
        given = resolver(host, port)
    if given is not None:
        return [Address(given[0], given[1], given[2] if len(given) > 2 else scheme)]
    if port not in (80, 443) and port < 1024:
        raise Failure("not_allowed", f"address not allowed: port {port} is not a port of the web")
    found = lookup(host.strip("[]"), port, type=socket.SOCK_STREAM)
    ips = list(dict.fromkeys(entry[4][0] for entry in found))
    public = [Address(ip, port, scheme) for ip in ips if is_public(ip)]
    if not public:
        raise Failure("not_allowed", f"address not allowed: {host} is at {', '.join(ips)}")
    return public


# --- one request ---------------------------------------------------------------------------------


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
        ca_file: str | None = None,
        lookup: Callable = socket.getaddrinfo,
    ):
        self.max_bytes = max_bytes
        self.connect_timeout = connect_timeout
        self._resolver, self._lookup = resolver, lookup
        self._watches = threading.local()
        self._headers = {
            "User-Agent": user_agent,
            "Accept": "text/html,application/xhtml+xml,application/pdf;q=0.9,*/*;q=0.8",
            "Accept-Language": "en,*;q=0.5",
            "Accept-Encoding": "gzip, deflate, br",
        }
        self._adapter = _adapter(
            self._connect, self._watch_socket, _trust(ca_file), pools, per_host
        )

    def close(self) -> None:
        """Close all connections."""
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
                return self._exchange(url, fetched_at, cookies)
            except _FAULTS as error:
                raise _failure(error, watch, deadline) from None

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
            request=tuple(request.headers.items()),
            truncated="unspecified" if skipped else "",
        )

    def _connect(self, host: str, port: int, scheme: str) -> tuple[socket.socket, Address]:
        """Connect to an address of a host that may be visited; return the socket and that address."""
        fault: OSError | None = None
        for address in find_addresses(scheme, host, port, self._resolver, self._lookup):
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
        watch = self._watches.current = _Watch()
        timer = threading.Timer(deadline, watch.expire)
        timer.daemon = True
        timer.start()
        try:
            yield watch
        finally:
            timer.cancel()

    def _watch_socket(self, sock: socket.socket, ip: str) -> None:
        """Put a connection under this thread's deadline."""
        self._watches.current.add(sock, ip)


class _Watch:
    """The connections of one exchange, to be cut at its deadline: a timeout of the socket alone
    never ends a server that sends a byte a second."""

    def __init__(self):
        self.expired, self.ip, self._sockets, self._lock = False, "", [], threading.Lock()

    def add(self, sock: socket.socket, ip: str) -> None:
        with self._lock:
            self.ip = ip
            self._sockets.append(sock)
            if self.expired:
                _cut(sock)

    def expire(self) -> None:
        with self._lock:
            self.expired = True
            for sock in self._sockets:
                _cut(sock)


def _cut(sock: socket.socket) -> None:
    """End a connection, also while another thread reads from it."""
    with suppress(OSError):  # already closed
        socket.socket.shutdown(sock, socket.SHUT_RDWR)


def _adapter(
    connect: Callable, watch: Callable, context: ssl.SSLContext, pools: int, per_host: int
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
            super().init_poolmanager(connections, maxsize, block, ssl_context=context, **kwargs)
            self.poolmanager.pool_classes_by_scheme = pool_classes

        def cert_verify(self, conn, url, verify, cert):
            """Leave it to the context, which verifies; requests would read the file each time."""

    return Adapter(pool_connections=pools, pool_maxsize=per_host)


def _trust(ca_file: str | None) -> ssl.SSLContext:
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
    for name, value in answer.raw.headers.iteritems():
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


def redirect_target(snapshot: Snapshot) -> str | None:
    """Return the absolute address that an answer redirects to, or None."""
    location = snapshot.header("Location")
    if snapshot.status not in (301, 302, 303, 307, 308) or not location:
        return None
    with suppress(UnicodeError):
        location = location.encode("latin-1").decode("utf-8")
    return urljoin(snapshot.url, location)


# --- faults --------------------------------------------------------------------------------------


_FAULTS = (OSError, ValueError, HTTPException, urllib3.exceptions.HTTPError)


def _failure(error: Exception, watch: _Watch, deadline: float) -> Failure:
    """Return what a fault of the transport means for the page."""
    chain = list(_causes(error))
    if watch.expired:
        return Failure("timeout", f"not complete after {deadline:g} s")
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
    passing = any(isinstance(c, (ConnectionError, HTTPException)) for c in chain) or any(
        isinstance(c, urllib3.exceptions.ProtocolError) for c in chain
    )
    return Failure("unreachable", _words(chain[-1]), passing=passing)


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


def _words(error: BaseException) -> str:
    """Return an exception in one line."""
    return " ".join((str(error) or type(error).__name__).split())[:200]
