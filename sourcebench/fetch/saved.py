"""Pages that somebody else has saved: from a folder of files, or from a WARC."""

from __future__ import annotations

import csv
import hashlib
import io
import mimetypes
import re
from collections import defaultdict
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from dataclasses import replace as with_changes
from datetime import datetime
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote

from sourcebench.fetch.fetchlog import (
    Row,
    cited_pages,
    collection_day,
    iso_time,
    now_utc,
    open_fetches,
)
from sourcebench.fetch.web import plain_address, redirect_target
from sourcebench.records import FETCH_OUTCOMES
from sourcebench.snapshots import (
    BODY_LIMIT,
    Snapshot,
    decoded_body,
    encode_snapshot,
    read_snapshots,
)
from sourcebench.study import Study, read_text
from sourcebench.urls import page_id, split_url

_NOT_OK = tuple(outcome for outcome in FETCH_OUTCOMES if outcome != "ok")
_MAPPING = "pages.csv"


def import_pages(
    study: Study,
    source: str | Path,
    mapping: Mapping[str, str] | str | Path | None = None,
    *,
    clock: Callable[[], datetime] = now_utc,
    replace: Collection[str] = _NOT_OK,
) -> dict[str, str]:
    """Take cited pages from a folder of saved files or from a WARC, without any network.

    They become rows of `fetches` with the outcome ok, marked in the column `archived`, and
    snapshots; everything after fetching works with them as with pages fetched live.

    Parameters
    ----------
    study
        The study that cites the pages.
    source
        A folder of files, or a WARC (compressed or not) of which the captures nearest the day of
        collection are taken.
    mapping
        For a folder: which file holds which address, as a mapping or a CSV file with the columns
        url and file; without it, `pages.csv` in the folder. Without either, a file is taken for a
        cited page if it says where it was saved from, if its path is the page's address or
        identity, or if its name is the last part of just one cited address.
    clock
        Gives the time that is noted for files, UTC.
    replace
        Outcomes whose rows give way to an imported page.

    Returns
    -------
    dict
        For each imported page, by identity, where it was found.

    Raises
    ------
    ValueError
        If the study is released or cites nothing, the source is not there or holds no cited page, or the mapping names an address that is
        not cited or a file that is not in the folder.
    """
    source = Path(source)
    study.must_be_open()
    cited = cited_pages(study)
    if not cited:
        raise ValueError(
            f"{study.folder}: this study cites no page yet; collect or import its answers first"
        )
    if source.is_dir():
        files = _mapped(source, mapping, cited) or _claimed(source, cited)
        places = {key: path.relative_to(source).as_posix() for key, path in files.items()}
        pages = _from_files(source, files, cited, iso_time(clock()))
    elif source.is_file():
        captures = _captures(source, cited, collection_day(study))
        places = {key: f"{source.name} {capture.date}" for key, capture in captures.items()}
        pages = _from_warc(source, captures, cited)
    else:
        raise ValueError(f"{source}: no such folder or file")
    if not places:
        say = f"; say which file holds which address in {source / _MAPPING} (columns url, file)"
        raise ValueError(
            f"{source}: nothing here fits a cited page{say if source.is_dir() else ''}"
        )
    with open_fetches(study) as log:
        free = {k for k in places if log.rows.get(k, {}).get("outcome") in (None, *replace)}
        log.drop(free & set(log.rows))
        log.add(
            (row | {"archived": places[row["page_id"]]}, [encode_snapshot(snapshot)])
            for row, snapshot in pages
            if row["page_id"] in free
        )
    return {key: places[key] for key in sorted(free)}


def _row(key: str, url: str, snapshot: Snapshot) -> Row:
    """Return the row of an imported page."""
    body = decoded_body(snapshot)
    return {
        "page_id": key,
        "url": url,
        "final_url": snapshot.url,
        "outcome": "ok",
        "reason": "imported",
        "status": snapshot.status if snapshot.kind == "response" else None,
        "fetched_at": snapshot.fetched_at,
        "media_type": snapshot.header("Content-Type").partition(";")[0].strip().lower(),
        "sha256": hashlib.sha256(body).hexdigest(),
        "bytes": len(body),
    }


# --- files ---------------------------------------------------------------------------------------


def _from_files(
    folder: Path, files: Mapping[str, Path], cited: Mapping[str, str], time: str
) -> Iterator[tuple[Row, Snapshot]]:
    """Yield the row and the snapshot of each file."""
    for key, path in sorted(files.items()):
        if path.stat().st_size > BODY_LIMIT:
            raise ValueError(f"{path}: larger than {BODY_LIMIT} bytes")
        body = path.read_bytes()
        snapshot = Snapshot(
            url=plain_address(cited[key]),
            status=200,
            headers=(("Content-Type", _media_type(path, body)),),
            body=body,
            fetched_at=time,
            source=f"file:{path.relative_to(folder).as_posix()}",
            kind="resource",
        )
        yield _row(key, cited[key], snapshot), snapshot


def _media_type(path: Path, body: bytes) -> str:
    """Return the type of a file, by its first bytes or its suffix; a page without suffix is HTML."""
    if body.startswith(b"%PDF-"):
        return "application/pdf"
    return mimetypes.guess_type(path.name)[0] or "text/html"


def _mapped(
    folder: Path, mapping: Mapping[str, str] | str | Path | None, cited: Mapping[str, str]
) -> dict[str, Path]:
    """Return the file of each page that a mapping names."""
    where = folder / _MAPPING
    if mapping is None and not where.exists():
        return {}
    if not isinstance(mapping, Mapping):
        where = Path(mapping or where)
        rows = csv.DictReader(io.StringIO(read_text(where)))
        if missing := {"url", "file"} - set(rows.fieldnames or ()):
            raise ValueError(f"{where}: column {sorted(missing)[0]!r} is missing")
        mapping = {row["url"]: row["file"] for row in rows if row["file"]}
    files = {}
    for url, name in mapping.items():
        path = (folder / name).resolve()
        if not path.is_relative_to(folder.resolve()) or not path.is_file():
            raise ValueError(f"{where}: {url}: no file {name!r} in {folder}")
        if page_id(url) in cited:
            files[page_id(url)] = folder / name
    if not files:
        raise ValueError(f"{where}: none of its {len(mapping)} addresses is cited in this study")
    return files


# Browsers and SingleFile note on top of a saved page where it is from.
_SAVED_FROM = re.compile(rb"saved from url=\(\d+\)(\S+)|^\s*url:\s*(https?://\S+)", re.MULTILINE)


def _claimed(folder: Path, cited: Mapping[str, str]) -> dict[str, Path]:
    """Return the file of each page that just one file fits, and fits better than other pages."""
    last_parts = defaultdict(set)
    for key, url in cited.items():
        if part := _last_part(url):
            last_parts[part].add(key)
    claims: dict[str, list[Path]] = defaultdict(list)
    for path in sorted(p for p in folder.rglob("*") if p.is_file()):
        named = last_parts.get(path.stem, set()) | last_parts.get(path.name, set())
        for key in [*_own_claims(path, folder), *(named if len(named) == 1 else ())]:
            if key in cited:
                claims[key].append(path)
                break
    return {key: paths[0] for key, paths in claims.items() if len(paths) == 1}


def _own_claims(path: Path, folder: Path) -> Iterator[str]:
    """Yield the identities of the pages that a file says it is, surest first."""
    with path.open("rb") as file:
        if match := _SAVED_FROM.search(file.read(2048)):
            yield page_id((match[1] or match[2]).decode("utf-8", "replace"))
    yield path.stem
    place = path.relative_to(folder).as_posix()
    for address in (place, place.removesuffix(".html"), place.removesuffix("index.html")):
        yield page_id(f"https://{address}")


def _last_part(url: str) -> str:
    """Return the last part of an address's path, or nothing."""
    try:
        return unquote(split_url(url).path).rstrip("/").rpartition("/")[2]
    except ValueError:
        return ""


# --- WARC ----------------------------------------------------------------------------------------


class _Capture(NamedTuple):
    """One answer in a WARC: its number in the file, and what decides whether to take it."""

    number: int
    date: str
    status: int
    target: str  # identity of the page it redirects to, if it does


def _captures(path: Path, cited: Iterable[str], day: str) -> dict[str, _Capture]:
    """Return for each cited page its good capture nearest a day, redirects followed."""
    by_page: dict[str, list[_Capture]] = defaultdict(list)
    for number, snapshot in enumerate(read_snapshots(path)):
        target = redirect_target(snapshot)
        capture = _Capture(
            number, snapshot.fetched_at, snapshot.status, page_id(target) if target else ""
        )
        if target or 200 <= snapshot.status < 300:
            by_page[page_id(snapshot.url)].append(capture)
    found = {}
    for key in cited:
        page, hops = key, 0
        while (near := min(by_page.get(page, ()), key=lambda c: _apart(c, day), default=None)) and (
            near.target and hops < 10
        ):
            page, hops = near.target, hops + 1
        if near and not near.target:
            found[key] = near
    return found


def _apart(capture: _Capture, day: str) -> tuple[bool, int]:
    """Return how far a capture is from a day; one that only redirects is farther than any."""
    try:
        days = abs((datetime.fromisoformat(capture.date[:10]) - datetime.fromisoformat(day)).days)
    except ValueError:
        days = 10**6
    return bool(capture.target), days


def _from_warc(
    path: Path, captures: Mapping[str, _Capture], cited: Mapping[str, str]
) -> Iterator[tuple[Row, Snapshot]]:
    """Yield the row and the snapshot of each chosen capture."""
    wanted: dict[int, list[str]] = defaultdict(list)
    for key, capture in captures.items():
        wanted[capture.number].append(key)
    for number, snapshot in enumerate(read_snapshots(path)):
        for key in wanted.get(number, ()):
            copy = with_changes(snapshot, source=snapshot.source or f"file:{path.name}", request=())
            yield _row(key, cited[key], copy), copy
