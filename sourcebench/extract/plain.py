"""Text that is no web page, as what it is: plain text, JSON, notebooks, and the words of XML."""

from __future__ import annotations

import html
import json
import re

from sourcebench.extract.decode import TEXT, XML

_NO_TEXT = re.compile("[\x00-\x08\x0b\x0c\x0e-\x1f\ue000-\ue00f]")
_UNREAD = re.compile(r"(?is)<(script|style)\b.*?(?:</\1\s*>|\Z)|<!--.*?(?:-->|\Z)")
_CDATA = re.compile(r"<!\[CDATA\[(.*?)(?:\]\]>|\Z)", re.DOTALL)
_MARKUP = re.compile(r"<[^>]*>")
_TITLE = re.compile(r"(?is)<title\b[^>]*>(.{0,2000}?)</title")


def read_plain(text: str, media_type: str) -> tuple[str, str]:
    """Return the title and the text of a body that is no web page.

    Parameters
    ----------
    text
        The body's characters.
    media_type
        text/plain, application/json or application/xml.
    """
    text = _NO_TEXT.sub("", text.replace("\r\n", "\n").replace("\r", "\n"))
    if media_type == XML:
        found = _TITLE.search(text)
        return (_words(found[1]).replace("\n", " ")[:300] if found else ""), _words(text)
    if told := _notebook(text):
        return _first_line(told), told
    return (_first_line(text) if media_type == TEXT else ""), text.strip()


def _first_line(text: str) -> str:
    """Return the first line of a text, without the mark of a heading."""
    return text.strip().split("\n")[0].lstrip("#").strip()[:120]


def _words(text: str) -> str:
    """Return the words of XML, one piece of text a line; feeds hold pages in theirs, escaped."""
    text = _CDATA.sub(lambda found: html.escape(found[1]), _UNREAD.sub(" ", text))
    text = html.unescape(_MARKUP.sub("\n", text))
    if "<" in text:
        text = html.unescape(_MARKUP.sub("\n", _UNREAD.sub(" ", text)))
    return re.sub(r"\s*\n\s*", "\n", text).strip()


def _notebook(text: str) -> str:
    """Return what is written in the cells of a Jupyter notebook, or nothing if it is none."""
    if '"nbformat"' not in text:
        return ""
    try:
        cells = json.loads(text)["cells"]
        sources = [cell["source"] for cell in cells]
        said = ["".join(source) for source in sources if isinstance(source, str | list)]
    except (ValueError, LookupError, TypeError, RecursionError):
        return ""
    return "\n\n".join(part.strip() for part in said if part.strip())
