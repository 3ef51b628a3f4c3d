"""From characters to one parsed tree, within limits that no page can break."""

from __future__ import annotations

import re
from dataclasses import dataclass
from itertools import islice

MAX_BYTES = 5_000_000
MAX_TAGS = 200_000
MAX_ATTRIBUTES = 2_000
MAX_DEPTH = 240  # libxml2 drops what lies deeper than 256

_MARKS = re.compile("[\ue000-\ue00f]")  # private characters that lines.py follows links with
_MARK_BYTES = b"\xee\x80"
_CONTROLS = bytes.maketrans(
    _CODES := bytes([*range(9), 11, *range(14, 32), 127]), b" " * len(_CODES)
)
_CP1252 = re.compile(
    rb"&#(?:1[2-5]\d|x[89][0-9a-fA-F]);"
)  # libxml2 takes them for control characters
_LONG = re.compile(rb"<[^<]{4000,}")
_TAG = re.compile(rb"<[^>\"']*+(?:\"[^\"]*+\"[^>\"']*+|'[^']*+'[^>\"']*+)*+")
_QUOTED = re.compile(rb"\"[^\"]*+\"|'[^']*+'")
_EMBEDDED = re.compile(rb"data:[\w/+.-]*;base64,[\w+/=%-]{100,}+")
_BREAKS = re.compile(rb"(?i)(?:<br\s*/?>\s*){3,}+")
_XML_DECLARATION = re.compile(rb"^\s*<\?xml[^>]{0,300}\?>")
_NESTING = re.compile(
    rb"(?i)</?(?:div|span|section|b|i|u|em|strong|font|center|small|big|ul|ol|dl|table|tbody|tr|"
    rb"blockquote|tt|s|sub|sup|main|article|form|fieldset)\b[^<>]*>"
)
_UNSEEN = re.compile(
    rb"(?is)<(script|style|noscript|template)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)"
)


class PageLimit(ValueError):
    """A page exceeds a limit that the parser would need minutes or gigabytes for."""


@dataclass(frozen=True)
class Parsed:
    """A page's tree and the marks that parsing left: cut, deep."""

    root: object
    flags: tuple[str, ...] = ()


def parse(text: str) -> Parsed:
    """Parse a page once, with lxml; everything later reads this tree.

    Raises
    ------
    PageLimit
        If a tag has more than `MAX_ATTRIBUTES` attributes: lxml is quadratic in them.
    """
    data, was_cut = _within_limits(_clean(text))
    flags = ["cut"] if was_cut else []
    _check_attributes(data)
    root = _parse(data)
    if root is not None and depth_exceeds(root, MAX_DEPTH):
        root, flags = _parse(_flattened(data)), [*flags, "deep"]
    return Parsed(root, tuple(flags))


def _clean(text: str) -> bytes:
    """Return a page as UTF-8 without control characters and without the marks used inside."""
    data = text.encode("utf-8", "ignore").translate(_CONTROLS)
    if b"&#1" in data or b"&#x" in data:
        data = _CP1252.sub(_as_browsers_read, data)
    if _MARK_BYTES in data:
        data = _MARKS.sub("", data.decode("utf-8")).encode("utf-8")
    return _XML_DECLARATION.sub(b"", data)


def _as_browsers_read(reference: re.Match) -> bytes:
    """Return the windows-1252 character that a reference to 128 to 159 means, as HTML has it."""
    digits = reference[0][2:-1]
    number = int(digits[1:], 16) if digits[:1] == b"x" else int(digits)
    if not 128 <= number < 160:
        return reference[0]
    return bytes([number]).decode("cp1252", "ignore").encode("utf-8")


def _within_limits(data: bytes) -> tuple[bytes, bool]:
    """Shorten a page to what is read: no embedded files, no runs of line breaks, so many tags."""
    if len(data) > MAX_BYTES:
        data = _EMBEDDED.sub(b"data:,", data)
    if data.count(b"<br") > MAX_TAGS // 20:
        data = _BREAKS.sub(b"<br><br>", data)
    cut = len(data) > MAX_BYTES
    data = data[:MAX_BYTES]
    if data.count(b"<") > MAX_TAGS:
        tags = (found.start() for found in re.finditer(b"<", data))
        return data[: next(islice(tags, MAX_TAGS, None))], True
    return data, cut


def _check_attributes(data: bytes) -> None:
    """Refuse a tag with more attributes than any page needs."""
    for stretch in _LONG.finditer(data):
        tag = _TAG.match(stretch[0])[0]
        if len(tag) >= 4000 and len(_QUOTED.sub(b'""', tag).split()) > MAX_ATTRIBUTES:
            raise PageLimit(f"a tag with more than {MAX_ATTRIBUTES} attributes")


def _parse(data: bytes):
    """Parse with lxml; None when there is nothing in it."""
    from lxml import etree, html

    parser = etree.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False
    )
    # One class for all elements: html.HTMLParser asks Python for the class of each, which is slow.
    parser.set_element_class_lookup(etree.ElementDefaultClassLookup(element=html.HtmlElement))
    if not data.strip():
        return None
    try:
        return html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
        return None


def depth_exceeds(root, limit: int) -> bool:
    """Whether elements lie deeper than a limit."""
    return bool(root.xpath("boolean(" + "/*" * limit + ")"))


def _flattened(data: bytes) -> bytes:
    """Take the tags that only nest out of a page, so that its words survive the parser's limit."""
    return _NESTING.sub(b"\n", _UNSEEN.sub(b" ", data))
