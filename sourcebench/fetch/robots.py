"""What robots.txt allows (RFC 9309), asked once for each origin."""

from __future__ import annotations

import threading
from typing import Any
from urllib.parse import urlsplit

from sourcebench.fetch.web import Failure, Web, redirect_target
from sourcebench.snapshots import Snapshot, decoded_body

_MOST_REDIRECTS = 5
_MOST_BYTES = 512_000  # the RFC asks for 500 KiB at least
_LONGEST_DELAY = 30.0  # a Crawl-delay of a day is not meant for a visitor of one page


class Robots:
    """Rules of the sites visited in one run; may be used from several threads.

    Parameters
    ----------
    web
        Reads the rules.
    user_agent
        Who we say we are; rules are looked up for the word before the first slash.
    deadline
        Seconds for reading one origin's rules.
    """

    def __init__(self, web: Web, user_agent: str, deadline: float):
        self._web, self._name, self._deadline = web, user_agent.partition("/")[0], deadline
        self._rules: dict[str, Any] = {}
        self._locks: dict[str, threading.Lock] = {}

    def check(self, url: str) -> None:
        """Return if an address may be asked for.

        Raises
        ------
        Failure
            `not_allowed` if the rules, or a server fault in their place, forbid it; else the fault
            that kept us from reading them.
        """
        origin = _origin(url)
        with self._locks.setdefault(origin, threading.Lock()):
            if origin not in self._rules:
                self._rules[origin] = self._read(origin)
            rules = self._rules[origin]
            if isinstance(rules, Failure) and rules.passing:
                del self._rules[origin]
        if isinstance(rules, Failure):
            raise Failure(rules.outcome, rules.reason, passing=rules.passing)
        if rules is not None and not rules.can_fetch(url, self._name):
            raise Failure("not_allowed", "robots.txt does not allow it")

    def delay(self, url: str) -> float:
        """Return the seconds between requests that the rules read so far ask for, else 0."""
        rules = self._rules.get(_origin(url))
        asked = (
            None if rules is None or isinstance(rules, Failure) else rules.crawl_delay(self._name)
        )
        return min(asked or 0.0, _LONGEST_DELAY)

    def _read(self, origin: str) -> Any:
        """Return an origin's rules, None where there are none, or the failure to read them."""
        url = f"{origin}/robots.txt"
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                answer = self._web.get(url, deadline=self._deadline, fetched_at="")
                if (target := redirect_target(answer)) is None:
                    break
                url = target
        except Failure as failure:
            return _unread(failure)
        return _rules(answer)


def _origin(url: str) -> str:
    """Return scheme, host and port of an address."""
    parts = urlsplit(url)
    return f"{parts.scheme}://{parts.netloc}"


def _unread(failure: Failure) -> Failure:
    """Return what it means for a page that the rules of its site can't be read.

    A fault of the connection is the page's own; rules that come and can't be used forbid.
    """
    outcome, reason = failure.outcome, failure.reason
    if outcome in ("too_large", "server_error"):
        return Failure("not_allowed", f"robots.txt can not be read: {reason}")
    if outcome == "timeout":
        reason = f"robots.txt: {reason}"
    return Failure(outcome, reason, passing=failure.passing)


def _rules(answer: Snapshot) -> Any:
    """Return the rules in an answer, None where it means that there are none."""
    from protego import Protego

    if answer.status >= 500:
        return Failure("not_allowed", f"robots.txt answers {answer.status}: not asked for now")
    if not 200 <= answer.status < 300:
        return None
    text = decoded_body(answer)[:_MOST_BYTES].decode("utf-8-sig", "replace")
    try:
        return Protego.parse(text)
    except Exception as error:  # a parser's bug met by a hostile file
        return Failure("not_allowed", f"robots.txt can not be read: {error}"[:200])
