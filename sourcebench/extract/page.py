"""One snapshot in, one packet out: no network, no clock, nothing kept from page to page."""

from __future__ import annotations

import re
from collections.abc import Mapping

from sourcebench.extract import (
    dates,
    decode,
    hidden,
    jsonld,
    links,
    maintext,
    pagekind,
    pdf,
    people,
    tree,
)
from sourcebench.extract import lines as visible
from sourcebench.extract import zones as near
from sourcebench.extract.address import registered_domain
from sourcebench.records import Author, Dated, Packet

MAX_TITLE = 300
_UNSEEN_TAGS = (
    "script",
    "style",
    "noscript",
    "template",
    "svg",
    "object",
    "canvas",
    "math",
    "iframe",
    "textarea",
    "option",
)


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
        Time of the visit, ISO 8601; no date of the page may lie after it.
    asked_url
        The address that was asked for, where it is another one.

    Returns
    -------
    Packet
        With an outcome for every input; nothing a page holds raises here.
    """
    kind = decode.media_type(body, headers)
    base = Packet(
        page_id,
        url,
        site=registered_domain(url),
        status=status,
        fetched_at=fetched_at,
        media_type=kind,
    )
    if not body.strip():
        return _with(base, outcome="empty", reason="the body is empty", kind="text")
    if kind == decode.PDF:
        return _from_pdf(base, body)
    if kind not in (decode.HTML, decode.TEXT, decode.XML, decode.JSON):
        return _with(
            base, outcome="unsupported_type", reason=f"unsupported type: {kind}", kind="other"
        )
    decoded = decode.decode(body, headers)
    if kind != decode.HTML:
        return _from_text(base, decoded, kind)
    return _from_html(base, decoded, asked_url or url)


def _with(packet: Packet, **changes) -> Packet:
    """Return a packet with some fields changed."""
    from dataclasses import replace

    return replace(packet, **changes)


def _from_pdf(base: Packet, body: bytes) -> Packet:
    """Fill a packet from a PDF."""
    try:
        read = pdf.read_pdf(body)
    except pdf.UnreadablePdf as error:
        return _with(base, outcome="unsupported_type", reason=str(error), kind="pdf")
    if not read.text:
        return _with(base, outcome="unsupported_type", reason="pdf: no text layer", kind="pdf")
    latest = base.fetched_at[:10]
    names = people.split_names(read.author)
    return _with(
        base,
        outcome="partial" if read.cut else "ok",
        reason="pdf: only the first part is read" if read.cut else "",
        kind="pdf",
        title=(read.title or read.text.split("\n")[0])[:MAX_TITLE],
        language=_language(read.text, ""),
        authors=tuple(Author(name, "pdf", people.kind_of(name)) for name in names),
        published=_pdf_date(read.created, latest),
        modified=_pdf_date(read.changed, latest),
        counts={"words": len(read.text.split()), "pages": read.pages},
        text=read.text,
        flags=tuple(
            f
            for f, there in (("cut", read.cut), ("mojibake", decode.is_mojibake(read.text)))
            if there
        ),
    )


def _pdf_date(day: str, latest: str) -> Dated | None:
    """Return a date of the PDF's dictionary unless it lies after the visit."""
    if not day or (latest and day > latest[: len(day)]):
        return None
    return Dated(day, "pdf", "strong" if len(day) == 10 else "weak")


def _from_text(base: Packet, decoded: decode.Decoded, kind: str) -> Packet:
    """Fill a packet from plain text, XML or JSON, as it stands."""
    text = decoded.text.replace("\r\n", "\n").replace("\r", "\n")
    text = re.sub("[\x00-\x08\x0e-\x1f\ue000-\ue00f]", "", text)
    if kind == decode.XML:
        text = re.sub(r"[ \t]*\n\s*", "\n", re.sub(r"<!\[CDATA\[|\]\]>|<[^>]*>", "\n", text))
    text = text.strip()
    cut = len(text) > maintext.MAX_TEXT
    text = text[: maintext.MAX_TEXT]
    flags = (
        [f"encoding_{decoded.how}"]
        if decoded.how == "guess" and decoded.encoding != "utf-8"
        else []
    )
    flags += ["mojibake"] if decode.is_mojibake(text) else []
    return _with(
        base,
        outcome="empty" if not text else "partial" if cut else "ok",
        reason="" if text else "no text",
        kind={decode.JSON: "json", decode.XML: "xml"}.get(kind, "text"),
        title=text.split("\n")[0].strip()[:120] if kind == decode.TEXT else "",
        language=_language(text, ""),
        counts={"words": len(text.split()), "chars_visible": len(text)},
        text=text,
        flags=tuple([*flags, "cut"] if cut else flags),
    )


def _from_html(base: Packet, decoded: decode.Decoded, asked: str) -> Packet:
    """Fill a packet from a web page."""
    try:
        parsed = tree.parse(decoded.text)
    except tree.PageLimit as error:
        return _with(base, outcome="failed", reason=f"parser limit: {error}", kind="other")
    root = parsed.root
    if root is None or root.find("body") is None:
        return _with(base, outcome="empty", reason="no markup with a body", kind="other")
    metas, items = _metas(root), jsonld.read_items(root)
    counts = links.tree_counts(root)
    noscript = " ".join(" ".join(e.itertext()) for e in root.iter("noscript"))[:5000]
    unseen = hidden.remove_hidden(root, decoded.text)
    _strip(root)
    visible.mark_regions(root)
    lines = visible.visible_lines(root)
    title, site_name = _title(root, metas, items, lines), _site_name(metas, items)
    main = maintext.main_text(
        root, lines, comments=pagekind.is_discussion(root, items, base.url), url=base.url
    )
    zones = near.find_zones(root, lines, title)
    found, link_counts = links.page_links(
        root, lines, " ".join(main.text.split()), base.url, base.site
    )
    counts |= link_counts | links.line_counts(lines)
    counts |= {
        "words": len(main.text.split()),
        "chars_html": len(decoded.text),
        "chars_visible": sum(len(line.text) for line in lines),
        "chars_hidden": unseen.chars,
    }
    kind = pagekind.page_kind(root, items, metas, base.url, title, lines, main.text)
    published, modified = dates.page_dates(root, metas, items, zones, base.url, base.fetched_at)
    heading = next((line.text for line in lines if line.heading and not line.out), "")
    seen = pagekind.Seen(
        base.url,
        title,
        heading,
        main.text,
        lines,
        counts,
        noscript,
        decoded.text,
        root,
        jsonld.articles(items),
        base.status,
        asked,
    )
    outcome, reason, flags = pagekind.page_outcome(seen)
    flags = [*unseen.flags, *parsed.flags, *main.flags, *flags]
    if decoded.how == "guess" and decoded.encoding != "utf-8":
        flags.append("encoding_guess")
    if decode.is_mojibake(f"{title}\n{main.text}"):
        flags.append("mojibake")
    if outcome == "ok" and "cut" in flags:
        outcome, reason = "partial", "the page is longer than what is read"
    return _with(
        base,
        outcome=outcome,
        reason=reason,
        kind=kind,
        title=title,
        site_name=site_name,
        language=_language(main.text, root.get("lang") or ""),
        authors=people.page_authors(root, metas, items, zones),
        published=published,
        modified=modified,
        counts=counts,
        json_ld=jsonld.kept_items(items),
        links=found,
        text=main.text,
        outside=maintext.outside_lines(lines, main.text),
        flags=tuple(dict.fromkeys(flags)),
    )


def _metas(root) -> dict[str, list[str]]:
    """Return the contents of the meta elements under their names, lower-case."""
    metas: dict[str, list[str]] = {}
    for element in root.iter("meta"):
        name = (
            element.get("property")
            or element.get("name")
            or element.get("itemprop")
            or element.get("http-equiv")
        )
        content = " ".join((element.get("content") or "").split())
        if name and content:
            metas.setdefault(name.strip().lower(), []).append(content[:1000])
    return metas


def _strip(root) -> None:
    """Take out what no reader sees, and the spans that blow up tables."""
    from lxml import etree

    forum = any("DiscussionForumPosting" in (s.text or "") for s in root.iter("script"))
    etree.strip_elements(root, *_UNSEEN_TAGS, with_tail=False)
    if forum:  # trafilatura knows a forum by this
        script = etree.SubElement(root.find("body"), "script", type="application/ld+json")
        script.text = '{"@type": "DiscussionForumPosting"}'
    for cell in root.xpath("//*[@colspan or @rowspan]"):
        cell.attrib.pop("colspan", None)
        cell.attrib.pop("rowspan", None)


def _title(root, metas, items, lines) -> str:
    """Return the title: og:title, JSON-LD headline, the heading, or the title element."""
    named = root.xpath("string(//head/title)") or root.xpath("string(//title)")
    headline = next(
        (jsonld.text_of(i.get("headline")) for i in jsonld.articles(items) if i.get("headline")), ""
    )
    og = next(iter(metas.get("og:title", ())), "")
    heading = next((line.text for line in lines if line.heading > 1 and not line.out), "")
    title = og or " ".join(named.split()) or headline or heading
    return " ".join(title.split())[:MAX_TITLE]


def _site_name(metas, items) -> str:
    """Return the name of the site: og:site_name, application-name, or the JSON-LD publisher."""
    for key in ("og:site_name", "application-name", "dc.publisher", "citation_publisher"):
        if metas.get(key):
            return metas[key][0][:120]
    for item in [*jsonld.articles(items), *items]:
        if "WebSite" in jsonld.types(item) and jsonld.text_of(item.get("name")):
            return jsonld.text_of(item["name"])[:120]
        if jsonld.text_of(item.get("publisher")):
            return jsonld.text_of(item["publisher"])[:120]
    return ""


def _language(text: str, declared: str) -> str:
    """Return the language of a text, ISO 639-1; of a short one, what the page declares."""
    import py3langid

    sample = text[:3000]
    code = declared.strip().lower().split("-")[0].split("_")[0]
    if len(sample) < 80:
        return code if re.fullmatch(r"[a-z]{2}", code) else ""
    return py3langid.classify(sample)[0]
