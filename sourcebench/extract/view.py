"""A page's tree read once: all that stands in it, before what is not the article is taken out."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

from sourcebench.extract import head, jsonld, links
from sourcebench.extract.decode import Decoded
from sourcebench.extract.hidden import Hidden, remove_hidden
from sourcebench.extract.kind import discussion_kind
from sourcebench.extract.lines import Line, visible_lines
from sourcebench.extract.style import style_rules
from sourcebench.extract.survey import OUT, Survey, survey
from sourcebench.extract.tree import Parsed

_UNSEEN = [
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
    "audio",
    "video",
    "rp",
]
_FURNITURE = ["nav", "footer", "aside", "select", "button"]
# A table with a cell of several paragraphs, or as long as an article, is there for the layout.
_LAYOUT_TABLES = (
    "//table[./tr/td[count(.//p)>2 or string-length(.)>2500] or "
    "./tbody/tr/td[count(.//p)>2 or string-length(.)>2500]]"
)
_HEADINGS = frozenset(["h2", "h3", "h4", "h5", "h6", "dt", "summary"])
_INLINE_PARENTS = _HEADINGS | {"h1", "p", "li", "span", "a", "em", "strong", "b", "i", "td", "dd"}
_CUSTOM = "//body//*[contains(name(),'-')][text()[normalize-space()]]"
_OWN_PARTS = (
    "./tr | ./tr/td | ./tr/th | ./*[self::tbody or self::thead or self::tfoot] | ./*/tr | "
    "./*/tr/td | ./*/tr/th"
)
_EMPTY_MOUNT = (
    "boolean(//body//*[self::div or self::main or self::section][@id][not(*)][not(normalize-space())]"
    " | //body//app-root[not(*)])"
)


@dataclass(frozen=True)
class View:
    """What a page holds, as read from its tree."""

    root: Any
    metas: dict[str, list[str]]
    items: list[dict[str, Any]]
    counts: dict[str, int]
    noscript: str
    hidden: Hidden
    marks: Survey
    lines: list[Line]
    title: str
    talk: str  # forum or qa, where posts of readers are the content
    properties: list[Any]  # elements with an itemprop
    times: list[Any]
    anchors: list[links.Anchor]
    base: str
    empty_mount: bool  # whether an element waits for a script to fill it


def read_view(parsed: Parsed, decoded: Decoded, url: str) -> View:
    """Read a tree, in place: scripts, styles and hidden elements are gone from it afterwards."""
    root = parsed.root
    metas, items = head.read_metas(root), jsonld.read_items(root)
    counts = links.tree_counts(root)
    styles = style_rules(root)
    noscript = " ".join(" ".join(e.itertext()) for e in root.iter("noscript"))[:5000]
    talk = discussion_kind(root, items, url)
    marks = survey(root, styles, talk=talk)
    strip_unseen(root)
    hidden = remove_hidden(root, marks.may_hide, styles, decoded.text)
    lines = _lines(root)
    return View(
        root=root,
        metas=metas,
        items=items,
        counts=counts | {"ad_elements": marks.ads},
        noscript=noscript,
        hidden=hidden,
        marks=marks,
        lines=lines,
        title=head.page_title(root, metas, items, lines),
        talk=talk,
        properties=root.xpath("//body//*[@itemprop]") if "itemprop" in decoded.text else [],
        times=list(root.iter("time")),
        anchors=links.read_anchors(root),
        base=links.base_address(root, url),
        empty_mount=root.xpath(_EMPTY_MOUNT),
    )


def _lines(root) -> list[Line]:
    """Return the visible lines; where hardly any text is left in the article, nothing is beside it."""
    lines = visible_lines(root)
    beside = sum(len(line.text) - line.link_chars for line in lines if line.out)
    within = sum(len(line.text) - line.link_chars for line in lines if not line.out)
    if beside > 600 and within < 0.25 * beside:
        for element in root.xpath(f"//*[@{OUT}]"):
            del element.attrib[OUT]
        return visible_lines(root)
    return lines


def strip_unseen(root) -> None:
    """Take out elements without visible text, spans that blow up tables, and tables for layout."""
    from lxml import etree

    forum = any("DiscussionForumPosting" in (script.text or "") for script in root.iter("script"))
    etree.strip_elements(root, *_UNSEEN, with_tail=False)
    if forum:  # trafilatura knows a forum by this
        script = etree.SubElement(root.find("body"), "script", type="application/ld+json")
        script.text = '{"@type": "DiscussionForumPosting"}'
    for cell in root.iter("td", "th"):
        cell.attrib.pop("colspan", None)
        cell.attrib.pop("rowspan", None)
    for table in root.xpath(_LAYOUT_TABLES):
        for part in [table, *table.xpath(_OWN_PARTS)]:
            part.tag = "div"
    for element in root.xpath(_CUSTOM):  # extraction knows no elements of a page's own
        element.tag = "span" if element.getparent().tag in _INLINE_PARENTS else "div"
    for button in root.iter("button"):  # the question of an answer that folds out
        said = " ".join("".join(button.itertext()).split())
        if button.getparent().tag in _HEADINGS:
            button.tag = "span"
        elif button.get("aria-expanded") and said.endswith(("?", "？")):
            button.tag = "p"
            button.attrib.clear()
    for form in root.iter("form"):  # some servers wrap the whole page in one
        if form.find(".//h1") is not None or len(form.findall(".//p")) > 3:
            form.tag = "div"


def strip_furniture(root) -> None:
    """Take out menus, footers, asides, forms, page headers and what is marked as beside the article.

    Extraction would leave them out too; without them it is faster.
    """
    from lxml import etree

    header = "//header[not(.//h1)][not(.//article)][not(ancestor::article)]"
    for element in root.xpath(f"{header} | //*[@{OUT}]"):
        element.tag = "aside"
    etree.strip_elements(root, *_FURNITURE, "form", with_tail=False)
