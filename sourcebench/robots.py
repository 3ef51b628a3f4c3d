"""What robots.txt allows (RFC 9309), asked once for each origin."""

from __future__ import annotations

import threading
from urllib.parse import urlsplit

from sourcebench.web import Failure, Web, redirect_target

_MOST_REDIRECTS = 5
_MOST_BYTES = 512_000


class Robots:
    """Rules of the sites visited in one run; may be used from several threads."""

    def __init__(self, web: Web, user_agent: str, deadline: float):
        self._web, self._agent, self._deadline = web, user_agent, deadline
        self._rules: dict[str, object] = {}
        self._locks: dict[str, threading.Lock] = {}

    def check(self, url: str) -> None:
        """Return if an address may be asked for.

        Raises
        ------
        Failure
            `not_allowed` if the rules, or a server fault where they should be, forbid it; else the
            fault that kept us from reading them.
        """
        parts = urlsplit(url)
        origin = f"{parts.scheme}://{parts.netloc}"
        with self._locks.setdefault(origin, threading.Lock()):
            if origin not in self._rules:
                self._rules[origin] = self._read(origin)
        rules = self._rules[origin]
        if isinstance(rules, Failure):
            if rules.passing:
                del self._rules[origin]
            raise rules
        if rules is not None and not rules.can_fetch(url, self._agent):
            raise Failure("not_allowed", "robots.txt does not allow it")

    def _read(self, origin: str):
        """Return an origin's rules, None where there are none, or the failure to read them."""
        from protego import Protego

        url = f"{origin}/robots.txt"
        try:
            for _ in range(_MOST_REDIRECTS + 1):
                answer = self._web.get(url, deadline=self._deadline, fetched_at="")
                if (target := redirect_target(answer)) is None:
                    break
                url = target
        except Failure as failure:
            return Failure(
                failure.outcome, f"robots.txt: {failure.reason}", passing=failure.passing
            )
        if answer.status >= 500:
            return Failure("not_allowed", f"robots.txt answers {answer.status}: not asked for now")
        if not 200 <= answer.status < 300:
            return None
        return Protego.parse(answer.body[:_MOST_BYTES].decode("utf-8", "replace"))
