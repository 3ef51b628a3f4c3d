"""Fetch every cited page once, politely, and keep what came and what became of each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Collection
from dataclasses import fields
from datetime import datetime
from pathlib import Path

from sourcebench.fetch.fetchlog import Row, cited_pages, collection_day, now_utc, open_fetches
from sourcebench.fetch.visits import FetchSettings, Visits
from sourcebench.fetch.web import Resolver, Web
from sourcebench.records import FETCH_OUTCOMES
from sourcebench.study import Study, StudyError

# Outcomes that only say that a page was not looked at: the next run with a network looks.
_UNTRIED = ("not_tried", "not_available_offline")

_KEPT_OPEN = 256  # hosts with a connection that waits for their next page


def read_fetch_settings(study: Study) -> FetchSettings:
    """Return the fetch settings of a study.

    Raises
    ------
    StudyError
        Names the setting, what was expected and what was found.
    """
    known = {f.name: type(f.default) for f in fields(FetchSettings)}
    words = {float: "a number", int: "a whole number", str: "a text", bool: "true or false"}
    for name, value in study.settings.fetch.items():
        where = f"{study.folder / 'study.toml'}: [fetch] {name}"
        if name not in known:
            raise StudyError(f"{where}: unknown setting; known are {', '.join(known)}")
        kinds = (int, float) if known[name] is float else (known[name],)
        if type(value) not in kinds:
            raise StudyError(f"{where} must be {words[known[name]]}, found {value!r}")
        lowest = 1 if name in ("per_host", "max_bytes", "give_up_after") else 0
        if type(value) in (int, float) and not lowest <= value < 1e12:
            raise StudyError(f"{where} must be {lowest} or more, found {value!r}")
    settings = FetchSettings(**study.settings.fetch)
    if settings.archive not in ("", "wayback"):
        raise StudyError(
            f'{study.folder / "study.toml"}: [fetch] archive must be "" or "wayback", '
            f"found {settings.archive!r}"
        )
    return settings


def fetch_study(
    study: Study,
    *,
    resolver: Resolver | None = None,
    clock: Callable[[], datetime] = now_utc,
    concurrency: int = 16,
    offline: bool = False,
    refetch: Collection[str] = (),
    ca_file: str | Path | None = None,
    each: Callable[[Row, bytes], None] | None = None,
) -> dict[str, int]:
    """Fetch the pages that the answers of a study cite, each once.

    Each page gets one row of `fetches`, whatever became of it, and what its server sent goes to
    `snapshots.warc.gz` before that. Both are on disk before the page counts as done; a run that
    was killed is taken up where it stopped. When all is done, rows and snapshots are put in
    order, so that the same answers of the web make the same files.

    Parameters
    ----------
    study
        The study; citations must be there.
    resolver
        Gives (ip, port) or (ip, port, scheme) for (host, port), so that real host names can be
        served from this machine; where it gives None the host is looked up, and its address checked.
    clock
        Gives the time that is noted with a page, UTC.
    concurrency
        Number of requests under way at once; at most `per_host` of them to one host.
    offline
        Ask nothing; pages that are not there get the outcome `not_available_offline`.
    refetch
        Outcomes whose pages are fetched again.
    ca_file
        Certificates to trust, in place of certifi's.
    each
        Called with the row and the encoded snapshot of each page that came, once both are on disk.

    Returns
    -------
    dict
        Number of pages by outcome, over the whole study.

    Raises
    ------
    StudyError
        If the study is released, its settings or tables can't be read, or another process is
        fetching for it.
    ValueError
        If `refetch` holds something that is no outcome.
    """
    settings = read_fetch_settings(study)
    if unknown := sorted(set(refetch) - set(FETCH_OUTCOMES)):
        raise ValueError(f"refetch: {unknown[0]!r} is none of {', '.join(FETCH_OUTCOMES)}")
    pages, offline = cited_pages(study), offline or settings.offline
    dropped = {*refetch, *(() if offline else _UNTRIED)}
    with open_fetches(study, each) as log:
        # Also pages that only a redirect link leads to, which no answer cites by their own address.
        again = {key for key, row in log.rows.items() if row["outcome"] in dropped}
        todo = {k: url for k, url in pages.items() if k in again or k not in log.rows}
        log.drop(again)
        if offline:
            log.add((_not_here(key, url), ()) for key, url in todo.items())
        elif todo:
            web = Web(
                user_agent=settings.user_agent,
                max_bytes=settings.max_bytes,
                pools=_KEPT_OPEN,
                per_host=settings.per_host,
                resolver=resolver,
                ca_file=ca_file,
            )
            Visits(web, settings, clock, collection_day(study), log).run(todo, concurrency)
        outcomes = Counter(row["outcome"] for row in log.rows.values())
    return dict(sorted(outcomes.items()))


def _not_here(key: str, url: str) -> Row:
    """Return the row of a page that a run without network can't get."""
    return {
        "page_id": key,
        "url": url,
        "outcome": "not_available_offline",
        "reason": "no snapshot, and no network in this run",
    }
