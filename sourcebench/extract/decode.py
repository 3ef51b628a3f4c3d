"""What a body is, by its bytes first, and which characters its bytes stand for."""

from __future__ import annotations

import codecs
import json
import re
from collections.abc import Mapping
from dataclasses import dataclass

HTML, PDF, TEXT, XML, JSON = (
    "text/html",
    "application/pdf",
    "text/plain",
    "application/xml",
    "application/json",
)

_MAGIC = (
    (b"\x1f\x8b", "application/gzip"),
    (b"PK\x03\x04", "application/zip"),
    (b"\x89PNG", "image/png"),
    (b"\xff\xd8\xff", "image/jpeg"),
    (b"GIF8", "image/gif"),
    (b"RIFF", "application/riff"),
    (b"ID3", "audio/mpeg"),
    (b"OggS", "application/ogg"),
    (b"\xd0\xcf\x11\xe0", "application/x-ole"),
    (b"7z\xbc\xaf", "application/x-7z-compressed"),
    (b"Rar!", "application/vnd.rar"),
    (b"BZh", "application/x-bzip2"),
    (b"\x28\xb5\x2f\xfd", "application/zstd"),
    (b"\x7fELF", "application/x-executable"),
    (b"wOF", "font/woff"),
    (b"%!PS", "application/postscript"),
    (b"{\\rtf", "application/rtf"),
)
_HTML_START = re.compile(rb"(?i)<!doctype html|<html[\s>]|<head[\s>]|<body[\s>]")
_HTML_TAG = re.compile(rb"(?i)<(?:title|p|div|h1|meta|table|a|br|script|span|ul|article)[\s>/]")
_XML_START = re.compile(rb"\s*<(?:\?xml|rss|feed|[\w:]+ xmlns)")
_FEED = re.compile(
    rb"(?s)\s*(?:<\?xml.{0,300}?\?>\s*)?(?:<!--.{0,2000}?-->\s*|<\?.{0,300}?\?>\s*)*<(?:rss|feed|urlset|sitemapindex|rdf:RDF|opml)\b"
)
# Types whose text is shown as it is written, though it may hold tags.
_WRITTEN = re.compile(
    r"text/(?!html|xml|.*\+xml)[\w.+-]+|application/(?:x-)?(?:javascript|ecmascript)"
)
_CONTROL = bytes(set(range(0x20)) - {0x09, 0x0A, 0x0B, 0x0C, 0x0D, 0x1B})

_META_CHARSET = re.compile(rb"(?i)<meta[^>]{0,300}?charset\s*=\s*[\"']?\s*([\w.:-]+)")
_XML_CHARSET = re.compile(rb"<\?xml[^>]{0,200}?encoding\s*=\s*[\"']([\w.:-]+)")
_BOMS = (
    (codecs.BOM_UTF8, "utf-8"),
    (codecs.BOM_UTF32_LE, "utf-32-le"),
    (codecs.BOM_UTF32_BE, "utf-32-be"),
    (codecs.BOM_UTF16_LE, "utf-16-le"),
    (codecs.BOM_UTF16_BE, "utf-16-be"),
)
# What the WHATWG Encoding Standard reads for labels that pages use loosely.
_LABELS = {
    "iso8859-1": "cp1252",
    "ascii": "cp1252",
    "iso8859-9": "cp1254",
    "iso8859-11": "cp874",
    "gb2312": "gb18030",
    "gbk": "gb18030",
    "shift_jis": "cp932",
    "euc_kr": "cp949",
    "big5": "big5hkscs",
}
_WIDE = ("utf-16", "utf-32")
_CENTRAL = frozenset(["pl", "cs", "sk", "hu", "sl", "hr", "bs", "ro", "sq"])
_BALTIC = frozenset(["lt", "lv", "et"])
# Encodings of Latin letters, and the languages that need them: bytes alone can't tell them apart.
_LATIN = {
    "cp1250": _CENTRAL,
    "iso8859-2": _CENTRAL,
    "cp1254": frozenset(["tr", "az"]),
    "cp1257": _BALTIC,
    "iso8859-4": _BALTIC,
    "iso8859-13": _BALTIC,
}
_UNREAD = re.compile(r"(?is)<(script|style)\b.*?(?:</\1\s*>|\Z)|<[^>]*>")
_MULTIBYTE = ("cp932", "euc_jp", "iso2022_jp", "gb18030", "big5hkscs", "cp949", "hz")
_MOJIBAKE = re.compile("Ã[\x80-\xbf©¤¶¼Ÿ¨ª®±³º]|â€[™œ\x9d“”¦˜]|Â[\xa0©°»«·]|ï¿½|[\x80-\x9f]")


@dataclass(frozen=True)
class Decoded:
    """The characters of a body, the encoding that was used and how it was chosen."""

    text: str
    encoding: str
    how: str  # bom, header, meta, guess

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flag that says which encoding was only guessed; UTF-8 needs no guess."""
        guessed = self.how == "guess" and self.encoding != "utf-8"
        return (f"guessed_{self.encoding}",) if guessed else ()


def media_type(body: bytes, headers: Mapping[str, str]) -> str:
    """Return what a body is: the bytes decide, the header is asked where they do not.

    Parameters
    ----------
    body
        The body as decoded from its content encoding.
    headers
        Response headers, names in any case.
    """
    start = body[:4096]
    stripped = start.lstrip(b"\xef\xbb\xbf \t\r\n")
    if b"%PDF-" in start[:1024]:
        return PDF
    for magic, name in _MAGIC:
        if stripped.startswith(magic):
            return name
    if stripped[4:8] == b"ftyp":
        return "video/mp4"
    if wide := _wide_encoding(start):
        stripped = start.decode(wide, "replace").encode("utf-8").lstrip()
    elif _is_binary(start):
        return "application/octet-stream"
    return _text_type(body, stripped, declared_type(headers))


def _wide_encoding(start: bytes) -> str:
    """Return UTF-16's byte order where text without a mark shows it: zeros in every other place."""
    half = len(start) // 2
    low, high = start[: 2 * half : 2].count(0), start[1 : 2 * half : 2].count(0)
    if half < 16 or start.startswith(tuple(bom for bom, _ in _BOMS)):
        return ""
    if min(low, high) > half // 50 or max(low, high) < half // 8:
        return ""
    order = "utf-16-le" if high > low else "utf-16-be"
    text = start[: 2 * half].decode(order, "replace")
    readable = sum(sign.isprintable() or sign in "\t\r\n\f" for sign in text)
    return order if readable > 0.97 * half else ""


def _is_binary(start: bytes) -> bool:
    """Whether the first bytes hold more control characters than any text does."""
    if start.startswith(tuple(bom for bom, _ in _BOMS)):
        return False
    controls = len(start) - len(start.translate(None, _CONTROL))
    return controls > max(3, len(start) // 50)


def _text_type(body: bytes, stripped: bytes, declared: str) -> str:
    """Tell HTML, XML, JSON and plain text apart."""
    if _WRITTEN.fullmatch(declared) and not _HTML_START.match(stripped):
        return TEXT
    if _FEED.match(stripped):
        return XML
    if _HTML_START.search(stripped) or (b"\x00" in stripped and "html" in declared):
        return HTML
    if "json" in declared or (stripped[:1] in (b"{", b"[") and _is_json(body)):
        return JSON
    if _XML_START.match(stripped) and "html" not in declared:
        return XML
    if "html" in declared or (stripped.startswith(b"<") and _HTML_TAG.search(stripped)):
        return HTML
    if declared.endswith("xml"):
        return XML
    if not declared or declared.startswith("text/"):
        return TEXT
    return TEXT if declared.startswith("application/") and _is_text(body[:65536]) else declared


def _is_text(start: bytes) -> bool:
    """Whether bytes are UTF-8 without control characters; the last character may be cut."""
    try:
        codecs.getincrementaldecoder("utf-8")().decode(start)
    except UnicodeDecodeError:
        return False
    return not _is_binary(start)


def _is_json(body: bytes) -> bool:
    """Whether a body is one JSON value."""
    try:
        json.loads(body)
    except (ValueError, RecursionError):
        return False
    return True


def declared_type(headers: Mapping[str, str]) -> str:
    """Return the media type that the headers declare, in lower case, or an empty text."""
    return content_type(headers).split(";")[0].strip().lower()


def content_type(headers: Mapping[str, str]) -> str:
    """Return the content-type header, or an empty text."""
    return next((v for k, v in headers.items() if k.lower() == "content-type"), "") or ""


def decode(body: bytes, headers: Mapping[str, str]) -> Decoded:
    """Decode a body by byte-order mark, header, meta element or guess, in that order.

    A header that says ISO-8859-1 is a server's default and gives way to the page's own
    declaration, and to a guess; bytes that are valid UTF-8 are UTF-8 whatever is declared; with no
    usable declaration it is a known script's encoding if the text then reads as that script, else
    windows-1252, as the HTML standard has it.
    """
    for bom, encoding in _BOMS:
        if body.startswith(bom):
            return Decoded(body[len(bom) :].decode(encoding, "replace"), encoding, "bom")
    if wide := _wide_encoding(body[:4096]):
        return Decoded(body.decode(wide, "replace"), wide, "guess")
    declared = _declared(body, content_type(headers))
    escapes = [("iso2022_jp", "guess")] if b"\x1b$" in body else []
    for encoding, how in (*declared, *escapes):
        if encoding in ("iso2022_jp", "hz") or (encoding.startswith("utf-32") and b"\0" in body):
            text = _strict(body, encoding)
            if text is not None:
                return Decoded(text, encoding, how)
    text = _strict(body, "utf-8")
    if text is not None:
        how = next((how for encoding, how in declared if encoding == "utf-8"), "guess")
        return Decoded(text, "utf-8", how)
    for encoding, how in declared:
        if encoding == "cp1252":
            return _guess(body, how) if how == "header" else _western(body, how)
        text = None if encoding.startswith(_WIDE) else _strict(body, encoding)
        if text is None and encoding in ("utf-8", *_MULTIBYTE):
            text = _nearly(body, encoding)
        if text is not None:
            return Decoded(text, encoding, how)
    return _guess(body, "guess")


def _declared(body: bytes, header: str) -> list[tuple[str, str]]:
    """Return the declared encodings, the most trustworthy first."""
    found = re.search(r"(?i)charset\s*=\s*[\"']?([\w.:-]+)", header)
    start = body[:65536]  # the standard has 1024; pages are not all standard
    meta = _META_CHARSET.search(start) or _XML_CHARSET.match(start)
    pairs = [
        (_codec(found[1]), "header") if found else None,
        (_codec(meta[1].decode("ascii", "replace")), "meta") if meta else None,
    ]
    known = [pair for pair in pairs if pair and pair[0]]
    # "ISO-8859-1" in a header is mostly the server's default, not the author's word.
    return sorted(known, key=lambda pair: pair == ("cp1252", "header") and len(known) > 1)


def _codec(label: str) -> str:
    """Return Python's name for an encoding label, or an empty text."""
    try:
        name = codecs.lookup(label).name
    except (LookupError, ValueError):
        return ""
    name = _LABELS.get(name, name)
    try:
        b"a".decode(name)
    except (LookupError, UnicodeError):
        return "" if not name.startswith(("utf-16", "utf-32")) else name
    return name


def _strict(body: bytes, encoding: str) -> str | None:
    """Decode without tolerance."""
    try:
        return body.decode(encoding)
    except (UnicodeDecodeError, LookupError):
        return None


def _nearly(body: bytes, encoding: str) -> str | None:
    """Decode with bad bytes replaced; None when they are more than a few, or than a quarter of what
    is not ASCII and sound: a comment pasted into a page does not make it another encoding."""
    text = body.decode(encoding, "replace")
    bad = text.count("\ufffd")
    if bad <= 1 + len(text) // 2000:
        return text
    sound = len(re.findall(r"[^\x00-\x7f\ufffd]", text))
    return text if 4 * bad <= sound else None


def _guess(body: bytes, how: str) -> Decoded:
    """Guess the encoding of bytes that declare none, or a server's default, and are not UTF-8."""
    from resiliparse.parse.encoding import detect_encoding

    detected = _codec(detect_encoding(body[:100_000]) or "")
    for name in (detected, "cp949"):  # the detector takes Korean for UTF-8
        text = _strict(body, name) if name else None
        if text is not None and _reads_as(text, name):
            return Decoded(text, name, "guess")
    nearly = _nearly(body, "utf-8")
    if nearly is not None:
        return Decoded(nearly, "utf-8", "guess")
    return _western(body, how)


def _western(body: bytes, how: str) -> Decoded:
    """Decode as windows-1252, in which nearly every byte is a character."""
    return Decoded(body.decode("cp1252", "replace"), "cp1252", how)


def _reads_as(text: str, encoding: str) -> bool:
    """Whether decoded text is largely in a script, or in a language, that an encoding serves."""
    from sourcebench.language import text_language

    words = _UNREAD.sub(" ", text[:200_000])
    if encoding in _LATIN:
        return text_language(" ".join(words.split())) in _LATIN[encoding]
    script = "[\uac00-\ud7a3]" if encoding == "cp949" else r"[^\W\d_a-zA-Z\u00c0-\u024f]"
    letters = len(re.findall(r"[^\W\d_]", words)) or 1
    share = 0.05 if encoding in _MULTIBYTE else 0.3
    return len(re.findall(script, words)) > share * letters


def is_mojibake(text: str) -> bool:
    """Whether a text shows bytes read in the wrong encoding: U+FFFD or doubly decoded pairs."""
    return text.count("\ufffd") >= 3 or len(_MOJIBAKE.findall(text)) >= 3
