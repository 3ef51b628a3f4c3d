"""Spans that an engine gives for its citations, checked against the text and put right."""

from __future__ import annotations

import re
from collections.abc import Sequence

from sourcebench.engines.addresses import cited_url, source_key
from sourcebench.engines.mentions import Source
from sourcebench.intext import Mention, links

_LENTICULAR = re.compile(r"【[^【】\n]{1,80}】")


def anchored(text: str, mentions: Sequence[Source]) -> tuple[list[Source], list[str]]:
    """Return mentions whose spans cover exactly a citation marker of their address.

    A span that does not is read as UTF-16 units; if that fails too, the nearest marker of the same
    address that no other mention has takes its place; if there is none, the mention has no place.
    """
    written = links(text)
    good: list[Source] = []
    warnings: list[str] = []
    for mention in mentions:
        span, warning = _span(text, mention, written, {(m.start, m.end) for m in good})
        if warning:
            warnings.append(warning)
        start, end = span or (None, None)
        good.append(Source(mention.url, mention.title, mention.date, start, end))
    return good, warnings


def _span(text: str, mention: Source, written: Sequence[Mention], taken: set):
    """Return the span of one mention, and the warning that goes with how it was found."""
    start, end = mention.start, mention.end
    if start is None or end is None:
        return None, None
    if start == end == 0:
        return None, "zero_spans"
    if _is_marker(text, start, end, mention.url, written):
        return (start, end), None
    units = from_utf16(text, start, end)
    if units and _is_marker(text, *units, mention.url, written):
        return units, "offset_unit_utf16"
    key = source_key(cited_url(mention.url))
    spans = [
        _outer(text, link) for link in written if source_key(cited_url(link.url)) == key
    ]  # fmt: skip
    free = [span for span in spans if span not in taken] or spans
    if free:
        return min(free, key=lambda span: abs(span[0] - start)), "span_reanchored"
    return None, "span_out_of_range" if end > len(text) else "span_unmatched"


def _is_marker(text: str, start: int, end: int, url: str, written: Sequence[Mention]) -> bool:
    """Whether a span covers a link to an address, with or without brackets, or a `【...】` mark."""
    if not 0 <= start < end <= len(text):
        return False
    if _LENTICULAR.fullmatch(text, start, end):
        return True
    key = source_key(cited_url(url))
    return any(
        (start, end) in ((link.start, link.end), _outer(text, link))
        for link in written
        if source_key(cited_url(link.url)) == key
    )


def _outer(text: str, link: Mention) -> tuple[int, int]:
    """Return the span of a link with the round brackets that enclose it alone."""
    if text[link.start - 1 : link.start] == "(" and text[link.end : link.end + 1] == ")":
        return link.start - 1, link.end + 1
    return link.start, link.end


def from_utf16(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return a span given in UTF-16 units as code points, if it does not cut a character."""
    data = text.encode("utf-16-le", errors="surrogatepass")
    try:
        lead = len(data[: 2 * start].decode("utf-16-le"))
        inside = len(data[2 * start : 2 * end].decode("utf-16-le"))
    except UnicodeDecodeError:
        return None
    return (lead, lead + inside) if 2 * end <= len(data) else None


def from_utf8(text: str, start: int, end: int) -> tuple[int, int] | None:
    """Return a span given in UTF-8 bytes as code points, if it does not cut a character."""
    data = text.encode("utf-8", errors="surrogatepass")
    if not 0 <= start <= end <= len(data):
        return None
    try:
        lead = len(data[:start].decode("utf-8"))
        return lead, lead + len(data[start:end].decode("utf-8"))
    except UnicodeDecodeError:
        return None
