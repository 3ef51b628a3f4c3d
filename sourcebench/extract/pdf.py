"""The text of a PDF with its page breaks, and what its information dictionary says."""

from __future__ import annotations

import io
import logging
import re
from dataclasses import dataclass
from datetime import datetime

MAX_PAGES = 300
MAX_CHARS = 300_000


class UnreadablePdf(ValueError):
    """A PDF that has no readable text, with the reason."""


@dataclass(frozen=True)
class PdfText:
    """What a PDF says: its text with a form feed between pages, and its metadata."""

    text: str
    pages: int
    title: str = ""
    author: str = ""
    created: str = ""
    changed: str = ""
    cut: bool = False


def read_pdf(body: bytes) -> PdfText:
    """Read a PDF.

    Raises
    ------
    UnreadablePdf
        If it is damaged or locked.
    """
    from pypdf import PdfReader
    from pypdf.errors import PyPdfError

    logging.getLogger("pypdf").setLevel(logging.CRITICAL)
    try:
        reader = PdfReader(io.BytesIO(body), strict=False)
        if reader.is_encrypted and not reader.decrypt(""):
            raise UnreadablePdf("pdf: locked with a password")
        count = len(reader.pages)
        texts, chars = [], 0
        for page in reader.pages[:MAX_PAGES]:
            texts.append(_page_text(page))
            chars += len(texts[-1])
            if chars > MAX_CHARS:
                break
        info = reader.metadata or {}
    except UnreadablePdf:
        raise
    except (
        PyPdfError,
        ValueError,
        KeyError,
        TypeError,
        IndexError,
        AttributeError,
        OSError,
    ) as error:
        raise UnreadablePdf(f"pdf: {type(error).__name__}: {error}"[:200]) from None
    text = "\n\f\n".join(texts)[:MAX_CHARS].strip()
    return PdfText(
        text,
        count,
        _entry(info, "/Title"),
        _entry(info, "/Author"),
        _day(_entry(info, "/CreationDate")),
        _day(_entry(info, "/ModDate")),
        cut=len(texts) < count or chars > MAX_CHARS,
    )


def _page_text(page) -> str:
    """Return the text of one page; a page that can't be read is empty."""
    try:
        return (page.extract_text() or "").replace("\x00", "").strip()
    except Exception:  # fonts and streams are damaged in every possible way
        return ""


def _entry(info, key: str) -> str:
    """Return one entry of the information dictionary as a line."""
    try:
        return " ".join(str(info.get(key) or "").replace("\x00", "").split())[:300]
    except Exception:
        return ""


def _day(stamp: str) -> str:
    """Return the day of a PDF date (D:20250312090000Z), ISO, or an empty text."""
    found = re.match(r"(?:D:)?(\d{4})(\d\d)?(\d\d)?", stamp)
    if not found or not found[3]:
        return found[1] if found and 1980 < int(found[1]) < 2100 else ""
    try:
        return datetime(int(found[1]), int(found[2]), int(found[3])).date().isoformat()
    except ValueError:
        return ""
