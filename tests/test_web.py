"""Promises of a single request: addresses checked, time and size bounded, faults told apart."""

import gzip
import ipaddress
import socket
import threading
import tracemalloc

import pytest
from requests.cookies import RequestsCookieJar
from servers import play, raw, redirect, reply, reset, serve_tls, silent, stream

from sourcebench.addresses import Failure, find_addresses, is_public, look_up_in_time
from sourcebench.web import Web, redirect_target

HTML = {"Content-Type": "text/html"}


@pytest.fixture
def visit():
    """Return a function that asks for one address of a script and returns what came."""

    def ask(url, played=None, *, deadline=5.0, cookies=None, **settings):
        resolver = settings.pop("resolver", played and played.resolver)
        web = Web(**{"user_agent": "test", "max_bytes": 1_000_000, "resolver": resolver} | settings)
        try:
            return web.get(
                url, deadline=deadline, fetched_at="2026-01-01T00:00:00Z", cookies=cookies
            )
        except Failure as failure:
            return failure
        finally:
            web.close()

    return ask


# --- addresses -----------------------------------------------------------------------------------

ATTACKS = """
http://127.0.0.1/ http://127.0.0.1:8080/ http://127.1/ http://127.0.1/ http://127.255.255.254/
http://2130706433/ http://0x7f000001/ http://0x7f.1/ http://0x7f.0.0.1/ http://0177.0.0.1/
http://017700000001/ http://0/ http://0.0.0.0/ http://10.1.2.3/x http://0xa010203/
http://172.16.0.1/ http://172.31.255.255/ http://192.168.1.1/ http://3232235777/
http://169.254.169.254/latest/meta-data/ http://0xa9fea9fe/ http://2852039166/ http://100.100.100.200/
http://100.64.0.1/ http://192.0.0.192/ http://168.63.129.16/ http://224.0.0.1/ http://239.255.255.250/
http://240.0.0.1/ http://255.255.255.255/ http://198.18.0.1/ http://192.0.2.1/ http://localhost/
http://localhost./ http://[::1]/ http://[::]/ http://[::ffff:10.0.0.5]/ http://[::ffff:127.0.0.1]/
http://[::127.0.0.1]/ http://[64:ff9b::10.0.0.1]/ http://[64:ff9b::a9fe:a9fe]/ http://[64:ff9b:1::1]/
http://[2002:7f00:1::]/ http://[2002:c0a8:101::1]/ http://[2001:0:7f00:1::]/ http://[fe80::1]/
http://[fec0::1]/ http://[fc00::1]/ http://[fd00:ec2::254]/ http://[ff02::1]/ http://[2001:db8::1]/
https://127.0.0.1/ https://localhost:8443/
""".split()  # noqa: SIM905


def numeric_lookup(host, port, **kind):
    """Look up as the system does, but know no more names than localhost: tests ask no name server."""
    if host.rstrip(".") == "localhost":
        return [(socket.AF_INET, kind["type"], 6, "", ("127.0.0.1", port))]
    return socket.getaddrinfo(host, port, flags=socket.AI_NUMERICHOST, **kind)


@pytest.mark.parametrize("url", ATTACKS)
def test_no_connection_to_inner_addresses(url, visit, monkeypatch):
    """However an inner address is written, nothing connects to it."""
    connected = []
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: connected.append(a))
    failure = visit(url, lookup=numeric_lookup)
    assert failure.outcome == "not_allowed"
    assert failure.reason.startswith("address not allowed")
    assert not connected


@pytest.mark.parametrize(
    "url",
    [
        "http://example.org@127.0.0.1/", "http://127.0.0.1\\@example.org/", "http://example.org\\@10.0.0.1/",
        "http://１２７.0.0.1/", "http://①②⑦.0.0.1/", "http://127。0。0。1/", "http://127.0.0.1%00.example.org/",
        "http://127.0.0.1:80:80/", "http://[::1]evil/", "http://127.0.0.1\t/", "http:/127.0.0.1/", "http:///127.0.0.1/",
        "http://0x7f000001.:80/", "http://127.0.0.1../", "http://[::ffff:7f00:1]/", "http://0:80/", "\x00http://127.0.0.1/",
    ],
)  # fmt: skip
def test_no_connection_by_tricks_of_spelling(url, visit, monkeypatch):
    """Addresses that one reader takes for another's host lead nowhere."""
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("connected"))
    failure = visit(url, lookup=numeric_lookup)
    assert failure.outcome in ("not_allowed", "unreachable")


@pytest.mark.parametrize(
    "inner", ["127.0.0.1", "10.0.0.5", "::1", "::ffff:192.168.0.1", "fe80::1%eth0"]
)
def test_names_of_inner_addresses(inner, visit, monkeypatch):
    """A name that leads to an inner address is refused, whatever the name."""
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("connected"))
    kind = socket.AF_INET6 if ":" in inner else socket.AF_INET

    def lookup(host, port, **_):
        return [(kind, socket.SOCK_STREAM, 6, "", (inner, port))]

    failure = visit("https://looks-fine.example.org/", lookup=lookup)
    assert failure.outcome == "not_allowed"
    assert inner in failure.reason


def test_rebinding(visit, monkeypatch):
    """The address that is connected to is the one that was checked: a name is looked up once."""
    answers = iter(["93.184.216.34", "127.0.0.1"])
    connected = []

    def lookup(host, port, **_):
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (next(answers), port))]

    def connect(address, *_):
        connected.append(address)
        raise ConnectionRefusedError

    monkeypatch.setattr(socket, "create_connection", connect)
    assert visit("http://rebind.example.org/", lookup=lookup).outcome == "unreachable"
    assert visit("http://rebind.example.org/", lookup=lookup).outcome == "not_allowed"
    assert connected == [("93.184.216.34", 80)]


def test_only_public_ones_of_several_addresses():
    """Of a name with outer and inner addresses, only the outer ones are connected to."""

    def lookup(host, port, **_):
        return [(2, 1, 6, "", (ip, port)) for ip in ("10.0.0.1", "93.184.216.34", "::1")]

    found = find_addresses("https", "example.org", 443, None, lookup)
    assert [address.ip for address in found] == ["93.184.216.34"]


@pytest.mark.parametrize(
    "ip", ["8.8.8.8", "93.184.216.34", "2606:2800:220:1::1", "64:ff9b::808:808"]
)
def test_public_addresses(ip):
    """Ordinary addresses of the internet may be visited."""
    assert is_public(ip)
    assert ipaddress.ip_address(ip)


def test_ports_of_other_services(visit):
    """Ports that belong to other services than the web are not visited."""
    for port in (22, 25, 445):
        assert visit(f"http://example.org:{port}/").outcome == "not_allowed"


def test_slow_name_server():
    """A name lookup that hangs ends in time."""
    answered = threading.Event()
    with pytest.raises(TimeoutError):
        look_up_in_time(lambda *_, **__: answered.wait(5), 0.01, "example.org", 80)
    answered.set()


@pytest.mark.parametrize(
    "url", ["http://user:secret@example.org/x", "ftp://example.org/", "http://", "http://a b/"]
)
def test_what_is_no_plain_web_address(url, visit, monkeypatch):
    """Nothing is asked of an address with a password, another scheme, or no readable host."""
    monkeypatch.setattr(socket, "create_connection", lambda *a, **k: pytest.fail("connected"))
    failure = visit(url)
    assert isinstance(failure, Failure)
    assert "secret" not in str(failure)


# --- time and size -------------------------------------------------------------------------------


@pytest.mark.parametrize(
    "action",
    [
        silent,
        stream(b"<p>a", interval=0.05),
        raw(b"HTTP/1.1 200 OK\r\n" + b"X: y\r\n" * 100, 0.02),
        raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 500, 0.02),
        raw(b"HTTP/1.1 200 OK\r\nContent-Length: 500\r\n\r\n" + b"a" * 500, 0.02),
        reply(200, b"late", wait=2.0),
    ],
)
def test_deadline_is_for_the_whole(action, visit):
    """A server that sends a byte now and then, anywhere in its answer, ends at the deadline."""
    with play({"https://slow.example.org/": action}) as played:
        failure = visit("https://slow.example.org/", played, deadline=0.2)
    assert failure.outcome == "timeout"
    assert "0.2 s" in failure.reason


def test_deadline_during_handshake(visit):
    """A server that accepts a connection and never finishes the handshake ends at the deadline."""
    with play({"https://slow.example.org/": silent}) as played:
        resolver = {("slow.example.org", 443): ("127.0.0.1", played.port)}
        failure = visit("https://slow.example.org/", resolver=resolver, deadline=0.2)
    assert failure.outcome == "timeout"


BOMB = gzip.compress(bytes(30_000_000))


@pytest.mark.parametrize(
    ("action", "reason"),
    [
        (stream(b"a" * 100_000), "more than 1000000 bytes"),
        (reply(200, b"a" * 1_000_001), "1000001 bytes announced, 1000000 allowed"),
        (raw(b"HTTP/1.1 200 OK\r\n\r\n" + b"a" * 1_500_000), "more than 1000000 bytes"),
        (
            reply(200, BOMB, {"Content-Encoding": "gzip"}),
            "more than 1000000 bytes when decompressed",
        ),
        (
            stream(BOMB, 1, headers={"Content-Encoding": "gzip"}),
            "more than 1000000 bytes when decompressed",
        ),
    ],
)
def test_size_is_bounded(action, reason, visit):
    """More bytes than allowed, as sent or as decompressed, are not read, let alone kept."""
    with play({"https://big.example.org/": action}) as played:
        tracemalloc.start()
        failure = visit("https://big.example.org/", played)
        assert tracemalloc.get_traced_memory()[1] < 8_000_000
        tracemalloc.stop()
    assert (failure.outcome, failure.reason) == ("too_large", reason)


def test_streams_are_not_read(visit):
    """Sound and video are known by their headers; what may never end is not read."""
    endless = stream(b"\xff\xfb", interval=0.01, headers={"Content-Type": "audio/mpeg"})
    with play({"https://radio.example.org/live": endless}) as played:
        answer = visit("https://radio.example.org/live", played)
    assert (answer.status, answer.body, answer.truncated) == (200, b"", "unspecified")


# --- what is received ----------------------------------------------------------------------------


def test_answer_is_kept_as_received(visit):
    """Status, headers in order and their bytes, and the still compressed body are kept."""
    body = gzip.compress(b"hello", mtime=0)
    head = b"HTTP/1.1 203 Fine\r\nB: 2\r\na: \xe9\xc3\xa9\r\nB: 1\r\nContent-Encoding: gzip\r\n\r\n"
    with play({"https://example.org/x?y=1": raw(head + body)}) as played:
        answer = visit("https://example.org/x?y=1#part", played)
    assert answer.url == "https://example.org/x?y=1"
    assert (answer.status, answer.reason, answer.body, answer.ip) == (
        203,
        "Fine",
        body,
        "127.0.0.1",
    )
    assert answer.headers == (
        ("B", "2"), ("a", "\xe9\xc3\xa9"), ("B", "1"), ("Content-Encoding", "gzip"),
    )  # fmt: skip
    assert ("Host", "example.org") in answer.request
    assert ("User-Agent", "test") in answer.request


def test_chunks_are_undone(visit):
    """A body sent in chunks is kept without them, and the header that announces them is renamed."""
    with play({"https://example.org/": stream(b"ab", 3)}) as played:
        answer = visit("https://example.org/", played)
    assert answer.body == b"ababab"
    assert answer.header("X-Archive-Orig-Transfer-Encoding") == "chunked"
    assert answer.header("Transfer-Encoding") == ""


def test_connection_is_used_again():
    """Pages of one host share a connection, each under its own deadline."""
    pages = {f"https://example.org/{n}": reply(200, b"x") for n in range(3)}
    ports = set()
    with play({**pages, "https://example.org/slow": silent}) as played:
        web = Web(
            user_agent="t", max_bytes=100, resolver=lambda *a: ports.add(a) or played.resolver(*a)
        )
        for url in pages:
            assert web.get(url, deadline=5, fetched_at="").body == b"x"
        calls = len(ports)
        with pytest.raises(Failure, match="timeout"):
            web.get("https://example.org/slow", deadline=0.1, fetched_at="")
        web.close()
    assert calls == 1
    assert len(played.asked) == 4


def test_cookies_stay_with_a_visit(visit):
    """A jar takes the cookies of one answer and gives them with the next request."""
    jar = RequestsCookieJar()
    setting = reply(200, b"", {"Set-Cookie": "seen=1; Path=/"})
    with play({"https://example.org/": setting}) as played:
        visit("https://example.org/", played, cookies=jar)
        answer = visit("https://example.org/", played, cookies=jar)
    assert ("Cookie", "seen=1") in answer.request


@pytest.mark.parametrize(
    ("location", "target"),
    [
        ("/b", "https://example.org/b"),
        ("//other.example.org/", "https://other.example.org/"),
        ("caf\xc3\xa9", "https://example.org/caf\xe9"),
        ("file:///etc/passwd", "file:///etc/passwd"),
    ],
)
def test_redirect_targets(location, target, visit):
    """A redirect's target is made absolute; where it leads is judged elsewhere."""
    with play({"https://example.org/a": redirect(location)}) as played:
        assert redirect_target(visit("https://example.org/a", played)) == target


# --- faults --------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("action", "outcome", "reason", "passing"),
    [
        (reset, "unreachable", "Connection reset by peer", True),
        (
            reply(200, b"abc", length=10),
            "unreachable",
            "the answer ends after 3 bytes, 7 too early",
            True,
        ),
        (
            raw(b"HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\n\r\nff\r\nabc"),
            "unreachable",
            "ends after 3 bytes",
            True,
        ),
        (raw(b"SSH-2.0-OpenSSH\r\n"), "unreachable", "not an answer in HTTP", True),
        (raw(b""), "unreachable", "closed connection without response", True),
        (
            reply(200, b"<html>", {"Content-Encoding": "gzip"}),
            "server_error",
            "not gzip as announced",
            False,
        ),
        (
            reply(200, b"x", {"Content-Encoding": "zstd"}),
            "server_error",
            "'zstd' is not one we can undo",
            False,
        ),
    ],
)
def test_broken_answers(action, outcome, reason, passing, visit):
    """Faults of the transport have their outcome and words, and say whether they may pass."""
    with play({"https://example.org/": action}) as played:
        failure = visit("https://example.org/", played)
    assert (failure.outcome, failure.passing) == (outcome, passing)
    assert reason in failure.reason


def test_nobody_there(visit):
    """A name that does not exist, and a port where nobody listens, are unreachable."""

    def lookup(*_, **__):
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    failure = visit("https://nowhere.example.org/", lookup=lookup)
    assert (failure.outcome, failure.passing) == ("unreachable", False)
    assert "no such host" in failure.reason
    with socket.create_server(("127.0.0.1", 0)) as server:
        port = server.getsockname()[1]
    failure = visit("http://example.org/", resolver={("example.org", 80): ("127.0.0.1", port)})
    assert (failure.outcome, failure.passing) == ("unreachable", True)


@pytest.mark.parametrize(
    ("fault", "reason"),
    [
        ("tls_cert_verify_failed", "unable to get local issuer certificate"),
        ("tls_cert_expired", "certificate has expired"),
        ("tls_hostname_mismatch", "Hostname mismatch"),
        ("no_tls", "WRONG_VERSION_NUMBER"),
    ],
)
def test_certificate_faults(fault, reason, visit):
    """A certificate that does not hold is an outcome of its own, with the detail; no page is read."""
    with serve_tls("safe.example.org", fault) as (port, ca_file, count):
        resolver = {("safe.example.org", 443): ("127.0.0.1", port)}
        failure = visit("https://safe.example.org/", resolver=resolver, ca_file=ca_file)
    assert (failure.outcome, failure.passing) == ("tls_error", False)
    assert reason in failure.reason
    assert count == {"connections": 1}


def test_certificates_that_hold(visit):
    """A page behind a certificate of the given authority is read; without it, it is not."""
    with serve_tls("safe.example.org") as (port, ca_file, _):
        resolver = {("safe.example.org", 443): ("127.0.0.1", port)}
        answer = visit("https://safe.example.org/", resolver=resolver, ca_file=ca_file)
        assert answer.body == b"<p>safe"
        assert visit("https://safe.example.org/", resolver=resolver).outcome == "tls_error"


def test_proxies_of_the_environment_are_not_used(visit, monkeypatch):
    """A proxy would connect where we can not check; it is left aside."""
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:1")
    monkeypatch.setenv("ALL_PROXY", "http://127.0.0.1:1")
    with play({"http://example.org/": reply(200, b"x")}) as played:
        assert visit("http://example.org/", played).body == b"x"
