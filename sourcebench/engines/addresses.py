"""Addresses, titles and dates as engines write them, brought to one form."""

from __future__ import annotations

import html
import re
from datetime import date
from email.utils import parsedate
from urllib.parse import urlsplit

# Tracking that the engine itself adds to what it cites, and a mark that DeepSeek leaves.
_OWN_TRACKING = re.compile(r"([?&])utm_source=(?:openai|chatgpt\.com)(?=&|#|$)&?")
_CALL_MARK = re.compile(r"#ws_call_id=[^#]*$")
_CAMPAIGN = re.compile(r"(?:utm_[^=&]*|gclid|fbclid|msclkid|mc_cid|mc_eid)(?:=|$)")
_ISO = re.compile(r"(\d{4})-(\d{2})-(\d{2})(?!\d)")
_ENGLISH = re.compile(r"([A-Z][a-z]{2,8})\.? (\d{1,2}), (\d{4})$")
_MONTHS = ("jan", "feb", "mar", "apr", "may", "jun", "jul", "aug", "sep", "oct", "nov", "dec")


def cited_url(url: str) -> str:
    """Return an address without what the engine that cites it put there.

    `utm_source=openai`, `utm_source=chatgpt.com` and DeepSeek's `#ws_call_id=` go; all else stays.
    """
    url = _CALL_MARK.sub("", url.strip())
    bare = _OWN_TRACKING.sub(r"\1", url)
    return url if bare == url else re.sub(r"[?&](?=#|$)", "", bare)


def source_key(url: str) -> str:
    """Return what identifies a source within one reply: host, path and query without campaigns.

    Scheme and fragment are left out. Good for telling repeats in one reply; `sourcebench.urls`
    has the identity of a page across a study.
    """
    try:
        parts = urlsplit(url)
    except ValueError:
        return url
    query = "&".join(part for part in parts.query.split("&") if not _CAMPAIGN.match(part))
    return f"{parts.netloc.lower()}{parts.path or '/'}" + (f"?{query}" if query else "")


def plain_title(title: object) -> str | None:
    """Return a title as text; None where it is empty, missing or only a number."""
    if not isinstance(title, str):
        return None
    title = html.unescape(re.sub(r"</?(?:b|strong)>", "", title)).strip()
    return None if not title or title.isdigit() else title


def iso_date(raw: object) -> str | None:
    """Return the calendar date of an absolute time as YYYY-MM-DD; None for anything else.

    The date is cut from the text as given: converting to local time would move it by a day.
    """
    if not isinstance(raw, str) or not raw.strip():
        return None
    raw = raw.strip()
    found = _ISO.match(raw)
    if found:
        return _checked(*map(int, found.groups()))
    found = _ENGLISH.match(raw)
    if found and found.group(1)[:3].lower() in _MONTHS:
        month = _MONTHS.index(found.group(1)[:3].lower()) + 1
        return _checked(int(found.group(3)), month, int(found.group(2)))
    mail = parsedate(raw) if re.search(r"\d:\d\d", raw) else None
    return _checked(*mail[:3]) if mail else None


def _checked(year: int, month: int, day: int) -> str | None:
    """Return a date as text, or None where there is no such day."""
    try:
        return date(year, month, day).isoformat()
    except ValueError:
        return None
