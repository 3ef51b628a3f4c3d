"""Visits to pages: whose turn it is, what an answer means, whether to wait, follow or give up."""

from __future__ import annotations

import hashlib
import queue
import time
from collections import Counter
from collections.abc import Callable
from concurrent.futures import Executor, Future, ThreadPoolExecutor
from contextlib import suppress
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from functools import partial
from typing import Any, Literal
from urllib.parse import urlsplit

from requests.cookies import RequestsCookieJar

from sourcebench import __version__
from sourcebench.decoding import Decoder
from sourcebench.fetch import wayback
from sourcebench.fetch.fetchlog import FetchLog, Row, iso_time
from sourcebench.fetch.robots import Robots
from sourcebench.fetch.turns import Turns
from sourcebench.fetch.web import Failure, Web, plain_address, redirect_target
from sourcebench.snapshots import Snapshot, encode_snapshot
from sourcebench.urls import is_redirector, page_id, split_url, unwrap

# Outcomes for which the capture of an archive may stand in.
_STAND_INS = ("gone", "refused", "server_error", "unreachable", "timeout", "tls_error")
_LONGEST_ADDRESS = 8000  # characters; servers are asked to read so many (RFC 9110, 4.1)
_LONGEST_WORDS = 200  # characters of what a server says of itself
_REFUSED = {
    401: "login",
    402: "payment",
    403: "forbidden",
    407: "login",
    429: "too many requests",
    451: "legal reasons",
}


@dataclass(frozen=True)
class FetchSettings:
    """How we visit: the settings under `[fetch]` in study.toml. Times are seconds."""

    user_agent: str = f"sourcebench/{__version__} (research on the sources that AI answers cite)"
    delay: float = 1.0  # from the end of one request to a host to the next
    per_host: int = 1  # connections to one host at a time
    deadline: float = 30.0  # for all requests of one page
    max_bytes: int = 20_000_000  # of a body, as sent and as decompressed
    max_redirects: int = 10
    retries: int = 2  # after faults that can pass
    backoff: float = 2.0  # before the first retry where the server asks for nothing; doubles
    longest_wait: float = 120.0  # a server that asks for more is not asked again
    give_up_after: int = 5  # pages of a host in a row that got no answer in time
    respect_robots: bool = True
    offline: bool = (
        False  # the study is closed: no page is fetched, not even where there is a network
    )
    archive: str = ""  # "wayback": a capture stands in for a page that did not come


@dataclass
class Visit:
    """One page on its way: where it stands and what it has cost."""

    page_id: str
    url: str
    at: str = ""  # the address to ask next
    stage: Literal["page", "search", "capture"] = "page"
    hops: list[str] = field(default_factory=list)
    kept: list[bytes] = field(default_factory=list)  # encoded snapshots
    tries: int = 0
    spent: float = 0.0  # seconds of requests
    cookies: RequestsCookieJar = field(default_factory=RequestsCookieJar)
    row: Row = field(default_factory=dict)  # what the live page gave, while an archive is asked


@dataclass(frozen=True)
class Came:
    """What one request brought: an answer with its columns of `fetches`, or a failure."""

    seconds: float
    answer: Snapshot | None = None
    encoded: bytes = b""
    columns: Row = field(default_factory=dict)
    flaw: str = ""  # what is wrong with an answer that is still of use
    failure: Failure | None = None


class Visits:
    """One run over pages. All decisions fall in one thread; others make requests, and one writes.

    Parameters
    ----------
    web
        Makes requests.
    settings
        How we visit.
    clock
        Gives the time that is noted with a page, UTC.
    day
        Day that an archived capture should be near, YYYYMMDD.
    log
        Knows the pages that need no visit, and takes those that had one.
    """

    def __init__(
        self,
        web: Web,
        settings: FetchSettings,
        clock: Callable[[], datetime],
        day: str,
        log: FetchLog,
    ):
        self.web, self.settings, self.clock, self.day = web, settings, clock, day
        self.rows, self.log = dict(log.rows), log
        self.robots = Robots(web, settings.user_agent, settings.deadline)
        self.turns = Turns(settings.per_host)
        self.started: set[str] = set()
        self.followers: dict[str, list[Visit]] = {}  # redirect links that wait for their page
        self.strikes: Counter[str] = Counter()  # pages in a row without an answer in time, by host
        self.finished: list[tuple[Row, list[bytes]]] = []
        self.running = self.writing = self.written = 0
        self.ended: queue.SimpleQueue[tuple[Callable, Future]] = queue.SimpleQueue()

    def run(self, pages: dict[str, str], concurrency: int) -> None:
        """Visit pages, given as identity and address, and return when each has its row."""
        # All that threads import later: warcio's modules import each other, and two threads that
        # begin at different ends of such a circle get half of it.
        import protego  # noqa: F401
        import warcio.warcwriter  # noqa: F401
        from tqdm import tqdm

        for key, url in pages.items():
            self.start(Visit(key, url))
        # A few more than can run, so that no thread waits for this one to hand it the next.
        most = concurrency + concurrency // 4
        with (
            tqdm(total=len(pages), unit="page", disable=None) as bar,
            ThreadPoolExecutor(concurrency) as visitors,
            ThreadPoolExecutor(1) as writer,
        ):
            try:
                while self.step(visitors, writer, most):
                    bar.update(self.written - bar.n)
            finally:
                self.web.close()  # ends what is still under way after an error

    def step(self, visitors: Executor, writer: Executor, most: int) -> bool:
        """Hand out work, wait for some of it to end, and settle that; return whether any was left.

        A page counts as under way until it is on disk: a kill loses no more than `most`.
        """
        if self.finished and not self.writing:
            batch, self.finished = self.finished, []
            self.writing = len(batch)
            self.submit(writer, partial(self.log.add, batch), self.wrote)
        while self.under_way() < most and (visit := self.turns.take(time.monotonic())):
            self.running += 1
            self.submit(visitors, partial(self.ask, visit), partial(self.settle, visit))
        room = self.under_way() < most
        next_at = self.turns.next_at() if room else None
        if next_at is None and not self.under_way():
            return False
        wait = None if next_at is None else max(0.0, next_at - time.monotonic())
        with suppress(queue.Empty):
            while True:
                then, future = self.ended.get(timeout=wait)
                then(future.result())
                wait = 0.0
        return True

    def submit(self, threads: Executor, work: Callable[[], Any], then: Callable) -> None:
        """Let work be done in another thread, and its result be given to `then` in this one."""
        threads.submit(work).add_done_callback(lambda future: self.ended.put((then, future)))

    def under_way(self) -> int:
        """Return the number of pages that a kill would lose."""
        return self.running + self.writing + len(self.finished)

    def wrote(self, _: None) -> None:
        """Note that rows are on disk."""
        self.written += self.writing
        self.writing = 0

    # --- one request, in a thread of its own ---

    def ask(self, visit: Visit) -> Came:
        """Make one request for a visit."""
        started = time.monotonic()
        try:
            self.check_robots(visit)
            left = self.settings.deadline - visit.spent - (time.monotonic() - started)
            answer = self.web.get(
                visit.at, deadline=max(0.1, left), fetched_at=self.now(), cookies=visit.cookies
            )
            columns, flaw = _described(answer, self.settings.max_bytes)
            # Encoding is work for this thread: it leaves the others free to run.
            encoded = encode_snapshot(answer) if visit.stage == "page" else b""
            return Came(time.monotonic() - started, answer, encoded, columns, flaw)
        except Failure as failure:
            return Came(time.monotonic() - started, failure=failure)
        except (ValueError, LookupError, RuntimeError) as error:
            # Whatever a page brings some library to raise is this page's trouble alone.
            reason = f"{type(error).__name__}: {error}"[:200]
            failure = Failure("unreachable", reason)
            return Came(time.monotonic() - started, failure=failure)

    def check_robots(self, visit: Visit) -> None:
        """Raise Failure if the rules of a page's site do not let us ask for it.

        A redirect link is no page to crawl: it was given to us to be followed. Nor is the
        interface of an archive.
        """
        if self.settings.respect_robots and visit.stage == "page" and not is_redirector(visit.at):
            self.robots.check(visit.at)

    def now(self) -> str:
        """Return the time to note."""
        return iso_time(self.clock())

    # --- decisions ---

    def start(self, visit: Visit) -> None:
        """Let a visit begin."""
        self.started.add(visit.page_id)
        self.go(visit, unwrap(visit.url))

    def go(self, visit: Visit, url: str, *, first: bool = False) -> None:
        """Let a visit wait for its turn at an address, unless that is none we may ask."""
        try:
            if len(url) > _LONGEST_ADDRESS:
                raise ValueError(f"an address of {len(url)} characters")
            host = split_url(url).host
        except ValueError as error:
            self.finish(visit, *_not_askable(url, error))
            return
        if visit.stage == "page" and self.strikes[host] >= self.settings.give_up_after:
            self.finish(visit, "not_tried", _silent(host, self.strikes[host]))
            return
        visit.at = url
        self.turns.add(host, visit, first=first)

    def settle(self, visit: Visit, came: Came) -> None:
        """Decide what an answer means: ask again later, follow, or finish."""
        self.running -= 1
        host, now = split_url(visit.at).host, time.monotonic()
        visit.spent += came.seconds
        wait = self.wait_before_retry(visit, came)
        target = redirect_target(came.answer) if came.answer else None
        pause = max(self.settings.delay, self.robots.delay(visit.at), wait or 0.0)
        # Following a redirect on the same host is part of the visit, and need not wait.
        self.turns.done(host, now if target and _host_of(target) == host else now + pause)
        if wait is not None:
            visit.tries += 1
            self.go(visit, visit.at, first=True)
        elif came.failure:
            self.finish(visit, came.failure.outcome, came.failure.reason)
        elif target:
            self.follow(visit, came, target)
        else:
            self.arrive(visit, came)

    def wait_before_retry(self, visit: Visit, came: Came) -> float | None:
        """Return how long to wait before asking again, or None not to."""
        if visit.tries >= self.settings.retries or visit.spent >= self.settings.deadline:
            return None
        wait = self.settings.backoff * 2**visit.tries
        if came.failure:
            return wait if came.failure.passing else None
        if came.answer.status not in (429, 500, 502, 503, 504):
            return None
        asked = retry_after(came.answer, self.clock())
        wait = wait if asked is None else asked
        return wait if wait <= self.settings.longest_wait else None

    def follow(self, visit: Visit, came: Came, target: str) -> None:
        """Go on to where an answer redirects to."""
        visit.hops.append(came.answer.url)
        if visit.stage == "page":
            visit.kept.append(came.encoded)
            target = unwrap(target)
        # Twice the same address may be a cookie being set; three times is a circle.
        if len(visit.hops) > self.settings.max_redirects or visit.hops.count(target) > 1:
            self.finish(visit, "too_many_redirects", f"{len(visit.hops)} redirects and no page")
        elif visit.stage == "page" and is_redirector(visit.at) and not is_redirector(target):
            self.join(visit, target)
        else:
            visit.tries = 0
            self.go(visit, target, first=True)

    def join(self, visit: Visit, target: str) -> None:
        """Let a redirect link share the fate of the page it leads to, which is fetched once."""
        key = page_id(target)
        if key in self.rows:
            self.share(visit, self.rows[key])
            return
        self.followers.setdefault(key, []).append(visit)
        if key not in self.started:
            self.start(Visit(key, target))

    def share(self, visit: Visit, row: Row) -> None:
        """Finish a redirect link with the row of its page."""
        hops = " ".join(filter(None, [*visit.hops, row.get("hops")]))
        landed = row.get("final_url") or row["url"]
        own = {"page_id": visit.page_id, "url": visit.url, "hops": hops, "final_url": landed}
        self.note(visit, row | own)

    def arrive(self, visit: Visit, came: Came) -> None:
        """Take the answer that is no redirect."""
        answer = came.answer
        if visit.stage == "search":
            if capture := wayback.found_capture(answer):
                visit.stage, visit.hops, visit.tries = "capture", [], 0
                self.go(visit, capture, first=True)
            else:
                self.finish(visit, "gone", "no capture found")
        elif visit.stage == "capture" and answer.status == 200:
            self.stand_in(visit, came)
        elif visit.stage == "page" and is_redirector(visit.at):
            visit.kept.append(came.encoded)
            self.finish(visit, *_no_longer_leading(answer))
        else:
            if visit.stage == "page":
                visit.kept.append(came.encoded)
            outcome, reason = _outcome(answer)
            self.finish(visit, outcome, reason or came.flaw, **came.columns)

    def stand_in(self, visit: Visit, came: Came) -> None:
        """Let an archived capture stand in for a page that did not come."""
        live = visit.row
        url = live.get("final_url") or plain_address(unwrap(visit.url))
        visit.kept.append(encode_snapshot(wayback.as_page(came.answer, url)))
        why = f"live page: {live['outcome']} ({live['reason']})"
        got = {"outcome": "ok", "reason": why, "final_url": url, "archived": came.answer.url}
        self.note(visit, live | came.columns | got)

    def finish(self, visit: Visit, outcome: str, reason: str = "", **columns: Any) -> None:
        """Note what became of a page, or first ask an archive for it."""
        if visit.stage != "page":
            live = visit.row
            self.note(visit, live | {"reason": f"{live['reason']}; archive: {reason or outcome}"})
            return
        self.count_strike(visit, outcome, columns.get("status"))
        row = {
            "page_id": visit.page_id,
            "url": _without_user(visit.url),
            "outcome": outcome,
            "reason": reason,
            "fetched_at": None if outcome == "not_tried" else self.now(),
            "hops": " ".join(visit.hops),
            **columns,
        }
        if self.settings.archive and outcome in _STAND_INS and not is_redirector(visit.url):
            visit.stage, visit.row, visit.tries, visit.spent, visit.hops = "search", row, 0, 0.0, []
            self.go(visit, wayback.search_address(unwrap(visit.url), self.day))
        else:
            self.note(visit, row)

    def count_strike(self, visit: Visit, outcome: str, status: int | None) -> None:
        """Count pages without an answer in time, and give a host up that gives none."""
        if not visit.at or outcome == "not_tried":
            return
        host = split_url(visit.at).host
        if outcome != "timeout" and status != 429:
            self.strikes[host] = 0
            return
        self.strikes[host] += 1
        if self.strikes[host] >= self.settings.give_up_after:
            for waiting in self.turns.drain(host):
                self.go(waiting, waiting.at)

    def note(self, visit: Visit, row: Row) -> None:
        """Put a row among the finished ones, and those of links that waited for it."""
        self.rows[visit.page_id] = row
        self.finished.append((row, visit.kept))
        for follower in self.followers.pop(visit.page_id, ()):
            self.share(follower, row)


# --- what answers mean ---------------------------------------------------------------------------


def _outcome(answer: Snapshot) -> tuple[str, str]:
    """Return the outcome of an answer, and the reason where there is one to give."""
    status = answer.status
    words = f"status {status} {answer.reason}".strip()[:_LONGEST_WORDS]
    if 200 <= status < 300:
        kind = answer.header("Content-Type")[:_LONGEST_WORDS]
        return "ok", f"{kind}: body not read" if answer.truncated else ""
    if status in (404, 410):
        return "gone", words
    if status == 408:
        return "timeout", words
    if status in _REFUSED or 400 <= status < 500 or status == 999:
        kind = "challenge" if answer.header("cf-mitigated") == "challenge" else ""
        return "refused", f"{kind or _REFUSED.get(status, 'refused')}: {words}"
    if status >= 500:
        return "server_error", words
    return "server_error", f"{words}, without a page"


def _host_of(url: str) -> str:
    """Return the host of an address, or nothing."""
    try:
        return split_url(url).host
    except ValueError:
        return ""


def _no_longer_leading(answer: Snapshot) -> tuple[str, str]:
    """Return the outcome of a redirect link that does not redirect."""
    if answer.status in _REFUSED or answer.status >= 500:
        return _outcome(answer)
    return "redirector_expired", f"the link leads nowhere any more (status {answer.status})"


def _not_askable(url: str, error: ValueError) -> tuple[str, str]:
    """Return the outcome of an address that can't, or must not, be asked for."""
    scheme = url.strip().partition(":")[0].lower()
    if ":" in url and scheme.isascii() and scheme.replace("+", "").isalnum():
        if scheme not in ("http", "https"):
            return "not_allowed", f"address not allowed: scheme {scheme[:20]}"
        if "user name" in str(error):
            return "not_allowed", "address not allowed: it holds a user name or password"
    return "unreachable", str(error)


def _silent(host: str, strikes: int) -> str:
    """Say that a host was given up."""
    return f"{host} gave no answer in time to {strikes} pages in a row"


def _without_user(url: str) -> str:
    """Return an address without user name and password, which have no place in a table."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl() if parts.netloc else url


def _described(answer: Snapshot, limit: int) -> tuple[Row, str]:
    """Return the columns of `fetches` that describe an answer, and what is wrong with it."""
    decoder = Decoder(answer.header("Content-Encoding") if answer.body else "", limit)
    digest = hashlib.sha256()
    for piece in decoder.feed(answer.body):
        digest.update(piece)
    media_type = answer.header("Content-Type").partition(";")[0]
    columns = {
        "final_url": answer.url,
        "status": answer.status if 100 <= answer.status <= 599 else None,
        "fetched_at": answer.fetched_at,
        "media_type": media_type.strip().lower()[:_LONGEST_WORDS],
        "sha256": digest.hexdigest(),
        "bytes": decoder.size,
    }
    return columns, "" if decoder.ended else "the compressed body ends early"


def retry_after(answer: Snapshot, now: datetime) -> float | None:
    """Return the seconds that an answer asks to wait, from either form of Retry-After, or None.

    A date is read against the server's own clock where the answer shows it.
    """
    value = answer.header("Retry-After").strip()
    if value.isdecimal():
        return float(value)
    until = _http_date(value)
    if until is None:
        return None
    return max(0.0, (until - (_http_date(answer.header("Date")) or now)).total_seconds())


def _http_date(text: str) -> datetime | None:
    """Return the time in an HTTP date, UTC, or None."""
    try:
        date = parsedate_to_datetime(text)
    except (ValueError, TypeError, OverflowError):
        return None
    return date if date.tzinfo else date.replace(tzinfo=UTC)
