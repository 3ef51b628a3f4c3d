"""Fetch every cited page once, politely, and keep what came and what became of each."""

from __future__ import annotations

import csv
import heapq
import io
import os
import queue
import time
from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, fields
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from requests.cookies import RequestsCookieJar

from sourcebench import __version__
from sourcebench.robots import Robots
from sourcebench.schema import TABLES
from sourcebench.snapshots import Snapshot, decoded_body, open_snapshots
from sourcebench.study import WARC, Study, StudyError, write_atomic
from sourcebench.urls import is_redirector, page_id, split_url, unwrap
from sourcebench.web import Failure, Resolver, Web, redirect_target

Row = dict[str, Any]

_FETCHES = TABLES["fetches"]
_UNTRIED = ("not_tried", "not_available_offline")  # outcomes that a run with a network replaces


@dataclass(frozen=True)
class Manners:
    """How we visit: the settings of `[fetch]` in study.toml. Times are seconds."""

    user_agent: str = (
        f"sourcebench/{__version__} (research: quality of sources cited by AI answers)"
    )
    delay: float = 1.0  # between the end of one request to a host and the next
    per_host: int = 1  # connections to one host at a time
    deadline: float = 30.0  # for all requests of one page
    max_bytes: int = 20_000_000  # of a body, as sent and as decompressed
    max_redirects: int = 10
    retries: int = 2  # after faults that can pass
    backoff: float = 2.0  # before the first retry where the server asks for nothing; doubles
    longest_wait: float = 120.0  # a server that asks for more is not asked again
    respect_robots: bool = True


def read_manners(study: Study) -> Manners:
    """Return the fetch settings of a study.

    Raises
    ------
    StudyError
        Names the setting, what was expected and what was found.
    """
    known = {f.name: type(f.default) for f in fields(Manners)}
    for name, value in study.settings.fetch.items():
        where = f"{study.folder / 'study.toml'}: [fetch] {name}"
        if name not in known:
            raise StudyError(f"{where}: unknown setting; known are {', '.join(known)}")
        kinds = (int, float) if known[name] is float else (known[name],)
        if type(value) not in kinds or (type(value) in (int, float) and value < 0):
            raise StudyError(f"{where}: must be a {known[name].__name__}, found {value!r}")
    return Manners(**study.settings.fetch)


def _now() -> datetime:
    """Return the present, UTC."""
    return datetime.now(UTC)


def fetch_study(
    study: Study,
    *,
    resolver: Resolver | None = None,
    clock: Callable[[], datetime] = _now,
    concurrency: int = 16,
    offline: bool = False,
    refetch: Collection[str] = (),
    ca_file: str | None = None,
) -> dict[str, int]:
    """Fetch the pages that the answers of a study cite, each once.

    Each page gets one row of `fetches`, whatever became of it, and what its server sent goes to
    `snapshots.warc.gz` before that. Both are on disk before the next page is noted; a run that was
    killed is taken up where it stopped.

    Parameters
    ----------
    study
        The study; citations must be there.
    resolver
        Gives (ip, port) or (ip, port, scheme) for (host, port), to serve real host names from this
        machine; None looks every host up.
    clock
        Gives the time that is noted with a page, UTC.
    concurrency
        Number of requests under way at once; never more than `per_host` of them to one host.
    offline
        Ask nothing; pages that are not there get the outcome `not_available_offline`.
    refetch
        Outcomes whose pages are fetched again.
    ca_file
        Certificates to trust, in place of certifi's.

    Returns
    -------
    dict
        Number of pages by outcome, over the whole study.

    Raises
    ------
    StudyError
        If the study is released, or its settings or tables can't be read.
    """
    manners = read_manners(study)
    if study.released:
        study.append("fetches", [])  # says that the study is released, and what to do
    known = _known_rows(study, refetch, offline)
    todo = {key: url for key, url in cited_pages(study).items() if key not in known}
    with _journal(study) as commit:
        if offline:
            reason = "no snapshot, and no network in this run"
            commit([((), _row(k, u, "not_available_offline", reason)) for k, u in todo.items()])
        elif todo:
            web = Web(
                user_agent=manners.user_agent,
                max_bytes=manners.max_bytes,
                resolver=resolver,
                ca_file=ca_file,
                pools=4 * concurrency,
            )
            try:
                _Run(web, manners, clock, known, commit).run(todo, concurrency)
            finally:
                web.close()
    return _tidy(study)


def cited_pages(study: Study) -> dict[str, str]:
    """Return each cited page's identity with the address to ask for: the first one cited."""
    pages: dict[str, str] = {}
    for url in study.load("citations")["url"]:
        pages.setdefault(page_id(url), url)
    return pages


# --- the tables ----------------------------------------------------------------------------------


def _known_rows(study: Study, refetch: Collection[str], offline: bool) -> dict[str, Row]:
    """Return the rows that stand, after taking out those to be fetched again."""
    path = study.folder / _FETCHES.file
    _drop_cut_line(path)
    frame = study.load("fetches")
    dropped = set(refetch) | (set() if offline else set(_UNTRIED))
    again = frame["outcome"].isin(dropped)
    if again.any():
        frame = frame[~again]
        study.save("fetches", frame)
    rows = frame.astype(object).where(frame.notna(), None).to_dict(orient="records")
    return {row["page_id"]: row for row in rows}


def _drop_cut_line(path: Path) -> None:
    """Take a half-written last line off a table that a kill left behind."""
    if path.exists() and not (data := path.read_bytes()).endswith(b"\n"):
        write_atomic(path, data[: data.rfind(b"\n") + 1])


Commit = Callable[[Iterable[tuple[Iterable[Snapshot], Row]]], None]


@contextmanager
def _journal(study: Study) -> Iterator[Commit]:
    """Open snapshots and rows for appending: snapshots reach the disk first, then their rows."""
    path = study.folder / _FETCHES.file
    if not path.exists():
        write_atomic(path, ",".join(_FETCHES.names) + "\n")
    with (
        open_snapshots(study.folder / WARC) as write,
        path.open("a", encoding="utf-8", newline="") as table,
    ):

        def commit(pages: Iterable[tuple[Iterable[Snapshot], Row]]) -> None:
            pages = list(pages)
            write([snapshot for snapshots, _ in pages for snapshot in snapshots])
            lines = io.StringIO()
            csv.DictWriter(lines, _FETCHES.names, lineterminator="\n").writerows(
                row for _, row in pages
            )
            table.write(lines.getvalue())
            table.flush()
            os.fsync(table.fileno())

        yield commit


def _tidy(study: Study) -> dict[str, int]:
    """Put the rows in the order of their identity, and count outcomes."""
    frame = study.load("fetches")
    ordered = frame.sort_values("page_id", kind="stable", ignore_index=True)
    if not ordered.equals(frame):
        study.save("fetches", ordered)
    return dict(frame["outcome"].value_counts().sort_index())


def _row(key: str, url: str, outcome: str, reason: str = "", **more: Any) -> Row:
    """Return a row of `fetches`."""
    safe = _without_user(url)
    return {"page_id": key, "url": safe, "outcome": outcome, "reason": reason, **more}


def _without_user(url: str) -> str:
    """Return an address without user name and password, which have no place in a table."""
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    if "@" not in parts.netloc:
        return url
    return parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()


# --- the visits ----------------------------------------------------------------------------------


@dataclass
class _Visit:
    """One page on its way: where it stands, and what it has cost."""

    page_id: str
    url: str
    at: str = ""  # the address to ask next
    hops: list[str] = field(default_factory=list)
    kept: list[Snapshot] = field(default_factory=list)
    tries: int = 0
    spent: float = 0.0
    cookies: RequestsCookieJar = field(default_factory=RequestsCookieJar)


class _Hosts:
    """Visits that wait for their host's turn."""

    def __init__(self, per_host: int):
        self._per_host = per_host
        self._waiting: dict[str, deque[_Visit]] = {}
        self._active: dict[str, int] = {}
        self._free_at: dict[str, float] = {}
        self._turns: list[tuple[float, int, str]] = []
        self._count = 0

    def __len__(self) -> int:
        return sum(map(len, self._waiting.values()))

    def add(self, visit: _Visit, *, first: bool = False) -> None:
        """Let a visit wait for the host it goes to next."""
        host = _host(visit.at)
        waiting = self._waiting.setdefault(host, deque())
        waiting.appendleft(visit) if first else waiting.append(visit)
        self._offer(host)

    def take(self, now: float) -> _Visit | None:
        """Return a visit whose host is free now, or None."""
        while self._turns and self._turns[0][0] <= now:
            host = heapq.heappop(self._turns)[2]
            if self._free_at.get(host, 0.0) > now:
                self._offer(host)
            elif self._waiting[host] and self._active.get(host, 0) < self._per_host:
                self._active[host] = self._active.get(host, 0) + 1
                visit = self._waiting[host].popleft()
                self._offer(host)
                return visit
        return None

    def done(self, host: str, free_at: float) -> None:
        """Note that a request to a host ended, and when the next may start."""
        self._active[host] -= 1
        self._free_at[host] = max(free_at, self._free_at.get(host, 0.0))
        self._offer(host)

    def next_turn(self) -> float | None:
        """Return when the next visit may start, or None if all wait for others to end."""
        return self._turns[0][0] if self._turns else None

    def _offer(self, host: str) -> None:
        """Put a host in the order of turns if a visit can go there."""
        if self._waiting.get(host) and self._active.get(host, 0) < self._per_host:
            self._count += 1
            heapq.heappush(self._turns, (self._free_at.get(host, 0.0), self._count, host))


def _host(url: str) -> str:
    """Return the host of an address."""
    return split_url(url).host


class _Run:
    """One run over the pages of a study. All decisions fall in one thread; others only ask."""

    def __init__(
        self,
        web: Web,
        manners: Manners,
        clock: Callable[[], datetime],
        known: dict[str, Row],
        commit: Commit,
    ):
        self.web, self.manners, self.clock, self.commit = web, manners, clock, commit
        self.rows = dict(known)
        self.robots = Robots(web, manners.user_agent, manners.deadline)
        self.hosts = _Hosts(manners.per_host)
        self.followers: dict[str, list[_Visit]] = {}  # redirect links that wait for their page
        self.finished: list[tuple[list[Snapshot], Row]] = []

    def run(self, pages: dict[str, str], concurrency: int) -> None:
        """Visit all pages."""
        from tqdm import tqdm

        for key, url in pages.items():
            self.start(_Visit(key, url))
        results: queue.SimpleQueue = queue.SimpleQueue()
        running = 0
        with (
            ThreadPoolExecutor(concurrency) as pool,
            tqdm(total=len(pages), unit="page", disable=None) as bar,
        ):
            while True:
                while running < concurrency and (visit := self.hosts.take(time.monotonic())):
                    running += 1
                    future = pool.submit(self.ask, visit)
                    future.add_done_callback(lambda f, v=visit: results.put((v, f)))
                bar.update(self.flush())
                if not running and not len(self.hosts):
                    break
                running -= self.collect(results, running < concurrency)

    def collect(self, results: queue.SimpleQueue, room: bool) -> int:
        """Wait for answers, no longer than until the next visit can start; return how many came."""
        turn = self.hosts.next_turn() if room else None
        wait = None if turn is None else max(0.0, turn - time.monotonic())
        count = 0
        try:
            while True:
                visit, future = results.get(timeout=wait)
                self.settle(visit, future.result())
                count, wait = count + 1, 0.0
        except queue.Empty:
            return count

    def flush(self) -> int:
        """Write what is finished, and return how many pages that was."""
        finished, self.finished = self.finished, []
        if finished:
            self.commit(finished)
        return len(finished)

    def start(self, visit: _Visit) -> None:
        """Let a visit begin, unless its address is none we can ask."""
        visit.at = unwrap(visit.url)
        try:
            split_url(visit.at)
        except ValueError as error:
            self.finish(visit, *_unaskable(visit.url, error))
        else:
            self.hosts.add(visit)

    def ask(self, visit: _Visit) -> tuple[Snapshot | Failure, float]:
        """Make one request for a visit, and return what came and how long it took. Runs in a thread."""
        started = time.monotonic()
        try:
            if self.manners.respect_robots and not is_redirector(visit.at):
                self.robots.check(visit.at)
            left = max(0.1, self.manners.deadline - visit.spent)
            at = self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
            answer = self.web.get(visit.at, deadline=left, fetched_at=at, cookies=visit.cookies)
        except Failure as failure:
            return failure, time.monotonic() - started
        return answer, time.monotonic() - started

    def settle(self, visit: _Visit, result: tuple[Snapshot | Failure, float]) -> None:
        """Decide what an answer means: retry, follow, or finish."""
        answer, took = result
        host, now = _host(visit.at), time.monotonic()
        visit.spent += took
        wait = self.wait_before_retry(visit, answer)
        self.hosts.done(host, now + max(self.manners.delay, wait or 0.0))
        if wait is not None:
            visit.tries += 1
            self.hosts.add(visit, first=True)
        elif isinstance(answer, Failure):
            self.finish(visit, answer.outcome, answer.reason)
        elif target := redirect_target(answer):
            visit.kept.append(answer)
            self.follow(visit, answer, target)
        elif is_redirector(visit.at):
            self.finish(visit, *_expired(answer))
        else:
            visit.kept.append(answer)
            self.finish(visit, *_outcome(answer), snapshot=answer)

    def wait_before_retry(self, visit: _Visit, answer: Snapshot | Failure) -> float | None:
        """Return how long to wait before asking again, or None not to."""
        if visit.tries >= self.manners.retries or visit.spent >= self.manners.deadline:
            return None
        wait = self.manners.backoff * 2**visit.tries
        if isinstance(answer, Failure):
            return wait if answer.passing else None
        if answer.status not in (429, 500, 502, 503, 504):
            return None
        asked = retry_after(answer, self.clock())
        wait = wait if asked is None else asked
        return wait if wait <= self.manners.longest_wait else None

    def follow(self, visit: _Visit, answer: Snapshot, target: str) -> None:
        """Go on to where an answer redirects to."""
        visit.hops.append(answer.url)
        target = unwrap(target)
        try:
            split_url(target)
        except ValueError as error:
            return self.finish(visit, *_unaskable(target, error))
        if len(visit.hops) > self.manners.max_redirects or visit.hops.count(target) > 1:
            return self.finish(visit, "too_many_redirects", f"{len(visit.hops)} redirects")
        if is_redirector(visit.at) and not is_redirector(target):
            return self.join(visit, target)
        visit.at = target
        visit.tries = 0
        return self.hosts.add(visit, first=True)

    def join(self, visit: _Visit, target: str) -> None:
        """Let a redirect link share the fate of the page it leads to, which is fetched once."""
        key = page_id(target)
        if key in self.rows:
            self.share(visit, self.rows[key])
        elif key in self.followers:
            self.followers[key].append(visit)
        else:
            self.followers[key] = [visit]

    def share(self, visit: _Visit, row: Row) -> None:
        """Finish a redirect link with the row of its page."""
        hops = " ".join(filter(None, [*visit.hops, row.get("hops")]))
        self.note(visit, {**row, "page_id": visit.page_id, "url": visit.url, "hops": hops})

    def finish(
        self, visit: _Visit, outcome: str, reason: str = "", snapshot: Snapshot | None = None
    ) -> None:
        """Note what became of a page."""
        row = _row(visit.page_id, visit.url, outcome, reason, hops=" ".join(visit.hops) or None)
        if snapshot is not None:
            row |= _received(snapshot, self.manners.max_bytes)
        else:
            row["fetched_at"] = self.clock().strftime("%Y-%m-%dT%H:%M:%SZ")
        self.note(visit, row)

    def note(self, visit: _Visit, row: Row) -> None:
        """Put a row among the finished ones, and those that waited for it."""
        self.rows[visit.page_id] = row
        self.finished.append((visit.kept, row))
        for follower in self.followers.pop(visit.page_id, ()):
            self.share(follower, row)


# --- what answers mean ---------------------------------------------------------------------------


def _outcome(answer: Snapshot) -> tuple[str, str]:
    """Return the outcome of an answer, and the reason where it is not ok."""
    status = answer.status
    words = f"status {status} {answer.reason}".strip()
    if 200 <= status < 300:
        return "ok", f"{answer.header('Content-Type')}: not read" if answer.truncated else ""
    if status in (404, 410):
        return "gone", words
    if status == 408:
        return "timeout", words
    if status >= 500 and status != 999:
        return "server_error", words
    if status >= 400:
        return "refused", f"{_REFUSED.get(status, 'refused')}: {words}"
    return "server_error", f"{words}, but no page"


_REFUSED = {
    401: "login",
    402: "payment",
    403: "forbidden",
    407: "login",
    429: "too many requests",
    451: "legal",
}


def _expired(answer: Snapshot) -> tuple[str, str]:
    """Return the outcome of a redirect link that no longer redirects."""
    if answer.status in (401, 403, 429, 451) or answer.status >= 500:
        return _outcome(answer)
    return "redirector_expired", f"the link no longer leads anywhere (status {answer.status})"


def _unaskable(url: str, error: ValueError) -> tuple[str, str]:
    """Return the outcome of an address that can't, or must not, be asked for."""
    scheme = url.strip().partition(":")[0].lower()
    if scheme.isascii() and scheme.replace("+", "").isalnum() and ":" in url:
        if scheme not in ("http", "https"):
            return "not_allowed", f"address not allowed: scheme {scheme[:20]}"
        if "user name" in str(error):
            return "not_allowed", "address not allowed: it holds a user name or password"
    return "unreachable", str(error)


def _received(snapshot: Snapshot, limit: int) -> Row:
    """Return the columns that describe what came."""
    import hashlib

    try:
        body = decoded_body(snapshot, limit)
    except ValueError:
        body = snapshot.body
    media_type = snapshot.header("Content-Type").partition(";")[0].strip().lower()
    return {
        "final_url": snapshot.url,
        "status": snapshot.status if 100 <= snapshot.status <= 599 else None,
        "fetched_at": snapshot.fetched_at,
        "media_type": media_type or None,
        "sha256": hashlib.sha256(body).hexdigest(),
        "bytes": len(body),
    }


def retry_after(answer: Snapshot, now: datetime) -> float | None:
    """Return the seconds an answer asks to wait, from either form of Retry-After, or None."""
    value = answer.header("Retry-After").strip()
    if value.isdecimal():
        return float(value)
    try:
        until = parsedate_to_datetime(value)
    except ValueError:
        return None
    with suppress(ValueError):
        now = parsedate_to_datetime(answer.header("Date"))
    until = until if until.tzinfo else until.replace(tzinfo=UTC)
    return max(0.0, (until - now).total_seconds())
