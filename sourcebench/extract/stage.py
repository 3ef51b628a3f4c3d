"""The extraction stage: every fetched page becomes a packet, and no page can end or stall the run."""

from __future__ import annotations

import os
import signal
import sys
from collections.abc import Callable, Iterator, Mapping
from concurrent.futures import FIRST_COMPLETED, Future, wait
from contextlib import ExitStack, contextmanager
from itertools import islice
from pathlib import Path
from queue import SimpleQueue
from typing import TYPE_CHECKING, Any

from sourcebench.extract.page import extract_page
from sourcebench.records import Packet
from sourcebench.study import WARC, Study, drop_cut_line

if TYPE_CHECKING:
    import pandas as pd

PAGE_SECONDS = 20.0  # of processor time, so that a busy machine fails no page
PATIENCE = 15  # times that, on the clock: a reader that waits for ever ends too
WORKER_BYTES = 4 * 1024**3  # address space; a page that wants more ends its worker, not the run
WORKER_PAGES = 200  # then the worker is replaced, so that what libraries leak stays small
PRELOADED = ("sourcebench.extract.warm", "sourcebench.snapshots", "warcio")
UNDER_WAY = 4  # pages waiting or in work, a worker
HELD_BYTES = 100_000_000  # of fetched pages that wait for a reader; what is beyond is read later
AT_ONCE = 25  # packets written together: each write is checked and forced to the disk


def extract_study(
    study: Study, *, workers: int = 2, seconds: float = PAGE_SECONDS, progress: bool = False
) -> dict[str, int]:
    """Write the tables `packets` and `pages` for every page that came back.

    Pages are read in child processes with limits on time and memory; a page that exceeds them gets
    the outcome `failed` with the reason. Packets are on disk a few at a time, and a run that was
    killed is taken up where it stopped. A page that was fetched again, or whose reading failed, is
    read again.

    Parameters
    ----------
    study
        A study with `fetches` and snapshots.
    workers
        Number of child processes.
    seconds
        Most processor time for one page.
    progress
        Whether to show a progress bar.

    Returns
    -------
    dict
        Number of pages by outcome, over the whole study.
    """
    fetches = _came_back(study)
    drop_cut_line(study.folder / "packets.jsonl")
    frame = study.load("packets")
    known = _known(frame, fetches)
    missing = {key: row for key, row in fetches.items() if key not in known}
    if len(known) < len(frame):  # void packets leave before new ones of the same page come
        study.save("packets", [known[key] for key in sorted(known)])
    made = _with_progress(_extract(study, missing, workers, seconds), missing, progress)
    while batch := list(islice(made, AT_ONCE)):
        study.append("packets", batch)
        known.update((packet["page_id"], packet) for packet in batch)
    packets = [known[key] for key in sorted(known)]
    if missing or len(known) < len(frame) or set(study.load("pages")["page_id"]) != known.keys():
        study.save("packets", packets)  # only if they changed: verdicts on older pages are void
        study.save("pages", [page_row(Packet.from_dict(packet)) for packet in packets])
    counts: dict[str, int] = {}
    for packet in packets:
        counts[packet["outcome"]] = counts.get(packet["outcome"], 0) + 1
    return counts


@contextmanager
def reading_along(
    study: Study, *, workers: int = 2, seconds: float = PAGE_SECONDS
) -> Iterator[Callable[[Mapping[str, Any], bytes], None]]:
    """Give what reads a page in the background, while others are still being fetched.

    It takes a row of `fetches` and the encoded snapshot. Packets are on disk, in any order, when the
    block ends; `extract_study` puts them in order and reads what was left out here: pages that have a
    packet, and those that came while too many were waiting.

    Parameters
    ----------
    study, workers, seconds
        As for `extract_study`.
    """
    begun: set[str] = set()
    running: dict[Future, tuple[Mapping[str, Any], int]] = {}
    ended: SimpleQueue[Future] = SimpleQueue()
    made: list[dict[str, Any]] = []
    held = 0

    def collect(least: int) -> None:
        """Take what has ended, and write it once there are so many packets."""
        nonlocal held
        while not ended.empty():
            future = ended.get()
            row, size = running.pop(future)
            held -= size
            made.append(_packet_of(future, row, seconds))
        if made and len(made) >= least:
            study.append("packets", made)
            made.clear()

    with ExitStack() as stack:
        pool = None

        def take(row: Mapping[str, Any], encoded: bytes) -> None:
            nonlocal pool, held
            if pool is None:  # nothing is loaded or started for a run that fetches nothing
                drop_cut_line(study.folder / "packets.jsonl")
                begun.update(study.load("packets")["page_id"])
                pool = stack.enter_context(_readers(workers))
            if row["page_id"] in begun or held + len(encoded) > HELD_BYTES:
                return
            begun.add(row["page_id"])
            job = pool.schedule(_work, args=(row, encoded, seconds), timeout=PATIENCE * seconds)
            running[job] = row, len(encoded)
            held += len(encoded)
            job.add_done_callback(ended.put)
            collect(AT_ONCE)

        try:
            yield take
        except BaseException:
            if pool is not None:
                pool.stop()
            raise
        while running:
            ended.put(ended.get())  # waits for one
            collect(AT_ONCE)
        collect(1)


def _came_back(study: Study) -> dict[str, dict[str, Any]]:
    """Return the rows of `fetches` that have a body, by page."""
    fetches = study.load("fetches")
    rows = fetches[fetches["outcome"] == "ok"].astype(object)
    rows = rows.where(rows.notna(), None).to_dict(orient="records")
    return {row["page_id"]: row for row in rows}


def _known(
    frame: pd.DataFrame, fetches: Mapping[str, Mapping[str, Any]]
) -> dict[str, dict[str, Any]]:
    """Return the packets of earlier runs that still belong to what was fetched.

    A page whose reading failed is tried again: the fault may have been the machine's.
    """
    packets = dict(zip(frame["page_id"], frame["record"], strict=True))
    return {
        key: packet
        for key, packet in packets.items()
        if key in fetches
        and packet["outcome"] != "failed"
        and packet["fetched_at"] == (fetches[key]["fetched_at"] or "")
    }


def _with_progress(packets, missing: Mapping, progress: bool) -> Iterator[dict[str, Any]]:
    """Pass packets through, with a progress bar where one is wanted."""
    from tqdm import tqdm

    return iter(tqdm(packets, total=len(missing), desc="extract", disable=not progress))


def _extract(
    study: Study, missing: Mapping[str, Mapping[str, Any]], workers: int, seconds: float
) -> Iterator[dict[str, Any]]:
    """Yield a packet for each missing page, as they come."""
    if not missing:
        return
    path = study.folder.resolve() / WARC
    with _readers(min(workers, len(missing))) as pool:
        running: dict[Future, Mapping[str, Any]] = {}
        for row, place in _places(path, missing):
            if place is None:
                yield _failed(row, f"no snapshot of {row['final_url']} in {WARC}")
                continue
            job = pool.schedule(
                _work, args=(row, (path, place), seconds), timeout=PATIENCE * seconds
            )
            running[job] = row
            if len(running) >= UNDER_WAY * workers:
                yield from _finished(running, seconds)
        while running:
            yield from _finished(running, seconds)


@contextmanager
def _readers(workers: int) -> Iterator[Any]:
    """Start the child processes that read pages, as a pool."""
    from pebble import ProcessPool

    with (
        _caller_left_alone(),
        ProcessPool(
            max_workers=workers,
            max_tasks=WORKER_PAGES,
            initializer=_limit_memory,
            context=_context(),
        ) as pool,
    ):
        yield pool


def _context():
    """Return how child processes start: forked from a process that loads libraries from now on."""
    from multiprocessing import forkserver, get_context

    if not hasattr(os, "fork"):
        return get_context("spawn")
    context = get_context("forkserver")
    context.set_forkserver_preload(list(PRELOADED))
    forkserver.ensure_running()
    return context


@contextmanager
def _caller_left_alone() -> Iterator[None]:
    """Keep child processes from running the caller's script once more, which they need nothing of.

    Python has every new process import the main module; a script that calls the stage at its top
    level would start over in each of them, and the run would never end.
    """
    main = vars(sys.modules["__main__"])
    held = {name: main[name] for name in ("__file__", "__spec__") if name in main}
    main.pop("__file__", None)
    main["__spec__"] = None
    try:
        yield
    finally:
        main.update(held)


def _finished(running: dict[Future, Mapping[str, Any]], seconds: float) -> Iterator[dict[str, Any]]:
    """Wait for a page to end, and yield the packets of all that have."""
    done, _ = wait(running, return_when=FIRST_COMPLETED)
    for future in done:
        yield _packet_of(future, running.pop(future), seconds)


def _packet_of(future: Future, row: Mapping[str, Any], seconds: float) -> dict[str, Any]:
    """Return the packet of a page that has ended, whichever way."""
    from pebble import ProcessExpired

    try:
        return future.result()
    except TimeoutError:
        return _failed(row, f"took longer than {PATIENCE * seconds:g} seconds to read")
    except ProcessExpired as end:
        late = end.exitcode == -signal.SIGPROF
        spent = f"took more than {seconds:g} seconds of processor time"
        return _failed(row, spent if late else f"the reader died, exit code {end.exitcode}")
    except MemoryError:
        return _failed(row, "needs more memory than a page may have")
    except Exception as error:
        return _failed(row, f"the reader ended: {type(error).__name__}: {error}"[:200])


def _places(
    path: Path, missing: Mapping[str, Mapping[str, Any]]
) -> Iterator[tuple[Mapping[str, Any], int | None]]:
    """Yield the missing pages with the places of their snapshots, in the order of the pages."""
    from sourcebench.snapshots import index_snapshots

    places = index_snapshots(path) if path.exists() else {}
    for key in sorted(missing):
        yield missing[key], places.get(missing[key]["final_url"])


def _work(row: Mapping[str, Any], kept: tuple[Path, int] | bytes, seconds: float) -> dict[str, Any]:
    """Read one page; runs in a child process, which dies when the page has used up its time.

    Only the death of the process ends a parser that hangs outside of Python.
    """
    if hasattr(signal, "setitimer"):
        signal.setitimer(signal.ITIMER_PROF, seconds)
    try:
        return _read(row, kept)
    finally:
        if hasattr(signal, "setitimer"):
            signal.setitimer(signal.ITIMER_PROF, 0)


def _read(row: Mapping[str, Any], kept: tuple[Path, int] | bytes) -> dict[str, Any]:
    """Turn a snapshot, encoded or in its place in a file, into the values of a packet."""
    from sourcebench.snapshots import decode_snapshot, decoded_body, read_snapshot

    snapshot = decode_snapshot(kept) if isinstance(kept, bytes) else read_snapshot(*kept)
    try:
        body = decoded_body(snapshot)
    except ValueError as error:
        return _failed(row, f"the body can't be decoded: {error}")
    return extract_page(
        row["page_id"],
        row["final_url"],
        body,
        headers=dict(snapshot.headers),
        status=snapshot.status,
        fetched_at=row["fetched_at"] or "",
        asked_url=row["url"],
    ).to_dict()


def _limit_memory() -> None:
    """Bound the address space of a child process, where the system can."""
    try:
        import resource
    except ImportError:  # no such limit on this system; time still is bounded
        return
    hard = resource.getrlimit(resource.RLIMIT_AS)[1]
    limit = WORKER_BYTES if hard == resource.RLIM_INFINITY else min(WORKER_BYTES, hard)
    resource.setrlimit(resource.RLIMIT_AS, (limit, hard))


def _failed(row: Mapping[str, Any], reason: str) -> dict[str, Any]:
    """Return the packet of a page that could not be read."""
    return Packet(
        row["page_id"],
        row["final_url"] or row["url"],
        outcome="failed",
        reason=reason,
        kind="other",
        fetched_at=row["fetched_at"] or "",
    ).to_dict()


def page_row(packet: Packet) -> dict[str, Any]:
    """Return the row of the table `pages`: what a reader of the study wants of a packet."""
    published, modified = packet.published, packet.modified
    return {
        "page_id": packet.page_id,
        "url": packet.url,
        "outcome": packet.outcome,
        "reason": packet.reason or None,
        "kind": packet.kind or None,
        "site": packet.site or None,
        "title": packet.title or None,
        "author": "; ".join(author.name for author in packet.authors) or None,
        "site_name": packet.site_name or None,
        "published": published.date if published else None,
        "published_source": published.source if published else None,
        "modified": modified.date if modified else None,
        "modified_source": modified.source if modified else None,
        "language": packet.language or None,
        "text_chars": len(packet.text),
        "flags": " ".join(packet.flags) or None,
    }
