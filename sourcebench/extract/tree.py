"""From characters to one parsed tree, within limits that no page can break."""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_CHARS = 5_000_000
MAX_ATTRIBUTES = 2_000
MAX_DEPTH = 240  # libxml2 drops what lies deeper than 256
MARK = "\ue000"  # used inside to follow links through the text; removed from every input

_CONTROL = re.compile(f"[\x00-\x08\x0e-\x1f\x7f\ufffe\uffff\ud800-\udfff{MARK}]")
_LONG = re.compile(r"<[^<]{4000,}")
_TAG = re.compile(r"<[^>\"']*+(?:\"[^\"]*+\"[^>\"']*+|'[^']*+'[^>\"']*+)*+")
_QUOTED = re.compile(r"\"[^\"]*+\"|'[^']*+'")
_XML_DECLARATION = re.compile(r"^\s*<\?xml[^>]{0,300}\?>")
_NESTING = re.compile(
    r"(?i)</?(?:div|span|section|b|i|u|em|strong|font|center|small|big|ul|ol|dl|table|tbody|tr|"
    r"blockquote|tt|s|sub|sup|main|article|form|fieldset)\b[^<>]*>"
)
_UNSEEN = re.compile(
    r"(?is)<(script|style|noscript|template)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)"
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
    flags = []
    if len(text) > MAX_CHARS:
        text, flags = text[:MAX_CHARS], ["cut"]
    text = _CONTROL.sub(" ", text)
    _check_attributes(text)
    root = _parse(text)
    if root is not None and depth_exceeds(root, MAX_DEPTH):
        root, flags = _parse(_flattened(text)), [*flags, "deep"]
    return Parsed(root, tuple(flags))


def _check_attributes(text: str) -> None:
    """Refuse a tag with more attributes than any page needs."""
    for stretch in _LONG.finditer(text):
        tag = _TAG.match(stretch[0])[0]
        if len(tag) < 4000:
            continue
        bare = _QUOTED.sub('""', tag)
        if len(bare.split()) > MAX_ATTRIBUTES:
            raise PageLimit(f"a tag with more than {MAX_ATTRIBUTES} attributes")


def _parse(text: str):
    """Parse with lxml; None when there is nothing in it."""
    from lxml import etree, html

    parser = html.HTMLParser(
        encoding="utf-8", remove_comments=True, remove_pis=True, collect_ids=False
    )
    data = _XML_DECLARATION.sub("", text).encode("utf-8", "ignore")
    if not data.strip():
        return None
    try:
        return html.document_fromstring(data, parser=parser)
    except (etree.ParserError, etree.XMLSyntaxError, ValueError, AssertionError):
        return None


def depth_exceeds(root, limit: int) -> bool:
    """Whether elements lie deeper than a limit."""
    return bool(root.xpath("boolean(" + "/*" * limit + ")"))


def _flattened(text: str) -> str:
    """Take the tags that only nest out of a page, so that its words survive the parser's limit."""
    return _NESTING.sub("\n", _UNSEEN.sub(" ", text))
