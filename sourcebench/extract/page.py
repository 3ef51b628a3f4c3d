"""One snapshot in, one packet out: no network, no clock, nothing kept from page to page."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace

from sourcebench.extract import decode
from sourcebench.extract.maintext import MAX_TEXT
from sourcebench.extract.names import kind_of, split_names
from sourcebench.extract.pdf import UnreadablePdf, read_pdf
from sourcebench.extract.plain import read_plain
from sourcebench.extract.webpage import read_webpage
from sourcebench.language import text_language
from sourcebench.records import Author, Dated, Packet
from sourcebench.urls import site


def extract_page(
    page_id: str,
    url: str,
    body: bytes,
    *,
    headers: Mapping[str, str],
    status: int = 200,
    fetched_at: str = "",
    asked_url: str = "",
) -> Packet:
    """Turn what came back for an address into what a judge may see.

    Parameters
    ----------
    page_id
        The page's key.
    url
        The address after redirects.
    body
        The body, decoded from its content encoding.
    headers
        Response headers; names in any case.
    status
        HTTP status.
    fetched_at
        Time of the visit, ISO 8601; no date of the page may lie after it. Empty: no such bound.
    asked_url
        The address before redirects, where it is another one.

    Returns
    -------
    Packet
        Every body gives one, with an outcome and, where it is not ok, the reason. A body may still
        need more time or memory than there is; `extract_study` bounds both.
    """
    media_type = decode.media_type(body, headers)
    base = Packet(
        page_id,
        url,
        site=site(url),
        status=status,
        fetched_at=fetched_at,
        media_type=media_type,
        kind="other",
    )
    if not body.strip():
        return replace(base, outcome="empty", reason="the body is empty")
    if media_type == decode.PDF:
        return _from_pdf(base, body)
    if media_type not in (decode.HTML, decode.TEXT, decode.XML, decode.JSON):
        return replace(base, outcome="unsupported_type", reason=f"unsupported type: {media_type}")
    decoded = decode.decode(body, headers)
    if media_type == decode.HTML:
        return read_webpage(base, decoded, asked_url or url)
    return _from_text(base, decoded)


def _from_pdf(base: Packet, body: bytes) -> Packet:
    """Fill a packet from a PDF; one without readable text is of an unsupported type."""
    base = replace(base, kind="pdf")
    try:
        read = read_pdf(body)
    except UnreadablePdf as error:
        return replace(base, outcome="unsupported_type", reason=str(error))
    if not read.text:
        return replace(base, outcome="unsupported_type", reason="pdf: no text in it, only images")
    return replace(
        base,
        outcome="partial" if read.cut else "ok",
        reason="the PDF is longer than what is read" if read.cut else "",
        title=_pdf_title(read.title) or read.text.split("\n")[0][:200],
        language=text_language(read.text),
        authors=tuple(
            Author(name, "pdf", kind_of(name), role) for name, role in split_names(read.author)
        ),
        published=_pdf_date(read.created, base.fetched_at),
        modified=_pdf_date(read.changed, base.fetched_at),
        counts={"words": len(read.text.split()), "pages": read.pages},
        text=read.text,
        flags=(*(("cut",) if read.cut else ()), *_mojibake(read.text)),
    )


def _pdf_title(title: str) -> str:
    """Return the title that a PDF states, unless it is what a program filled in."""
    title = re.sub(r"(?i)^microsoft (?:word|powerpoint|excel) - ", "", title).strip()
    made = r"(?i)(?:untitled|document|dokument|slide|title|print)\W*\d*|\S+\.(?:docx?|pptx?|xlsx?|indd|tex|dvi|pdf|qxd|rtf|html?)"
    return "" if re.fullmatch(made, title) else title


def _pdf_date(day: str, latest: str) -> Dated | None:
    """Return a date of the PDF's dictionary unless it lies after the visit."""
    if not day or (latest and day > latest[: len(day)]):
        return None
    return Dated(day, "pdf", "strong" if len(day) == 10 else "weak")


def _from_text(base: Packet, decoded: decode.Decoded) -> Packet:
    """Fill a packet from plain text, JSON, or the text between the tags of XML."""
    title, text = read_plain(decoded.text, base.media_type)
    cut = len(text) > MAX_TEXT
    text = text[:MAX_TEXT]
    return replace(
        base,
        outcome="empty" if not text else "partial" if cut else "ok",
        reason="no text" if not text else "the text is longer than what is read" if cut else "",
        kind={decode.JSON: "json", decode.XML: "xml"}.get(base.media_type, "text"),
        title=title,
        language=text_language(text),
        counts={"words": len(text.split()), "chars_visible": len(text)},
        text=text,
        flags=(*(("cut",) if cut else ()), *decoded.flags, *_mojibake(text)),
    )


def _mojibake(text: str) -> tuple[str, ...]:
    """Return the flag of wrongly decoded text where it shows."""
    return ("mojibake",) if decode.is_mojibake(text) else ()
