"""Captures of the Wayback Machine that stand in for pages that did not come."""

from __future__ import annotations

import dataclasses
import json
from urllib.parse import urlencode

from sourcebench.snapshots import Snapshot, decoded_body

_WAYBACK = "https://web.archive.org"


def search_address(url: str, day: str) -> str:
    """Return the address that asks the Wayback Machine for the good capture nearest a day.

    Parameters
    ----------
    url
        The page.
    day
        YYYYMMDD.
    """
    asked = {
        "url": url.partition("#")[0],
        "output": "json",
        "fl": "timestamp,original",
        "filter": "statuscode:200",
        "sort": "closest",
        "closest": f"{day}120000",
        "limit": "1",
    }
    return f"{_WAYBACK}/cdx/search/cdx?{urlencode(asked)}"


def found_capture(answer: Snapshot) -> str | None:
    """Return the address of the capture in a search's answer, as first received (`id_`), or None."""
    if answer.status != 200:
        return None
    try:
        (_, (timestamp, original), *_) = json.loads(decoded_body(answer))
        return f"{_WAYBACK}/web/{int(timestamp):014d}id_/{original}"
    except (ValueError, TypeError):
        return None


def as_page(capture: Snapshot, url: str) -> Snapshot:
    """Return a capture as the snapshot of its page; `source` tells where it comes from."""
    return dataclasses.replace(capture, url=url, source=capture.url, request=(), ip="")
