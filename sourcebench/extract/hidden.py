"""Text that machines read and people do not see: found, taken out, and told."""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass
from itertools import islice
from typing import Any

MAX_STYLE = 300_000

# Each pattern starts with a plain word, which makes the search fast.
_HIDING = tuple(
    map(
        re.compile,
        (
            "display:none",
            "visibility:(?:hidden|collapse)",
            "font-size:0(?![.]?[1-9])",
            "opacity:0(?![.]?[1-9])",
            r"text-indent:-\d{3}",
            r"left:-\d{3}",
            r"top:-\d{3}",
            r"clip:rect\(",
            r"clip-path:inset\(",
            r"scale\(0",
        ),
    )
)
_SAME_COLOR = (
    re.compile(r"color:([#\w]{3,20})\s*;[^{}]{0,200}background(?:-color)?:\1"),
    re.compile(r"background(?:-color)?:([#\w]{3,20})\s*;[^{}]{0,200}color:\1"),
)
_SAID = (
    "none",
    "hidden",
    "visib",
    "size",
    "opacity",
    "indent",
    "absolute",
    "fixed",
    "clip",
    "scale(0",
    "color",
    "background",
    "height",
    "width",
    "font",
    "DISPLAY",
    "left",
    "top",
)
_SIMPLE = re.compile(r"^\s*(?:[a-zA-Z][\w]*)?([.#])([\w-]+)\s*$")
_OFFSCREEN = re.compile(
    r"(?:left|top|right|bottom|margin-left|margin-top|text-indent):-(\d+)(px|em|rem|%|vw|vh)?"
)
_ZERO = r"0+(?:\.0+)?(?:px|pt|em|rem|%)?(?:;|!|$)"
_SIZE_ZERO = re.compile(rf"font-size:{_ZERO}|font:(?:[\w-]+ )*{_ZERO}|transform:scale\(0\)")
_BOX_ZERO = re.compile(rf"(?:^|;)(?:max-)?(?:height|width):(?:{_ZERO}|1px(?:;|!|$))")
_UNSEEN = re.compile(
    r"(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0*(?:\.0+)?(?:;|!|$))"
)
_CLIPPED = re.compile(r"(?:^|;)(?:clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%)")
_COLOR = re.compile(r"(?:^|;)color:([^;!]+)")
_BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_NAMED = {"white": "#ffffff", "black": "#000000", "transparent": "transparent", "red": "#ff0000"}
_FOR_MODELS = re.compile(
    r"(?i)\b(?:ai|llm|gpt|chatgpt|claude|gemini|language models?|assistants?|graders?|judges?|"
    r"evaluators?|crawlers?|system)\b[^.]{0,80}\b(?:rate|score|give|reply|respond|ignore|output|"
    r"answer|note|treat|rank|must|should|instructions?|stars?)\b"
    r"|\b(?:ignore|disregard)\b[^.]{0,40}\b(?:previous|above|prior|earlier)\b[^.]{0,30}\binstructions?\b"
)
_SENTENCE = re.compile(r"(?:[^\W\d_]+[,;:]?\s+){5,}[^\W\d_]+")
_BLOCKS = ("p", "div", "ul", "ol", "table", "section", "article", "h1", "h2", "h3", "li")


@dataclass(frozen=True)
class Hidden:
    """How much text was hidden, and whether it speaks to machines."""

    chars: int = 0
    telling: bool = False  # sentences in the article, or text hidden by size, place or colour
    for_models: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags that a packet carries for this; hidden menus alone give none."""
        flags = ("hidden_text",) if self.telling or self.for_models else ()
        return (*flags, "hidden_instructions") if self.for_models else flags


def remove_hidden(root, candidates: list, styles: dict[str, str], source: str) -> Hidden:
    """Take hidden elements out of a tree, in place.

    Hidden is what inline style, a `hidden` or `aria-hidden` attribute, or a rule for one class or
    id in the page's own style element makes so: not displayed, invisible, size 0, off the screen,
    or in the colour of its background. An element that holds most of the page is not taken out
    for not being displayed (pages are shown by script), only for the other reasons.

    Parameters
    ----------
    candidates
        The elements that something could hide, in document order.
    styles
        The hiding declarations of the page's own rules, from `style_rules`.
    source
        The page's characters, for its comments.
    """
    known: dict[str, tuple[str, str]] = {}
    white = not root.xpath("boolean(//link[contains(@rel,'stylesheet')])")
    half = 0.0
    found, chars, telling = [], 0, False
    beside: dict[Any, bool] = {}
    for element in candidates:
        why = _why_hidden(element, styles, white, known)
        if not why or element.tag in _NEVER_HIDDEN or not _is_in(root, element):
            continue
        text = " ".join("".join(element.itertext()).split())
        if why in ("unseen", "clipped") and len(text) > 200:
            half = half or len("".join(root.itertext())) / 2
            if len(text) > half:
                continue
        in_article = not telling and why == "unseen" and _in_article(element, text, beside)
        text = _take_out(element, why, text)
        if text:
            chars += len(text)
            found.append(text[:2000])
            telling = telling or in_article or (why in _ODD and _has_sentence(text))
    found += _comments(source)
    return Hidden(chars, telling, any(_FOR_MODELS.search(text) for text in found))


_ODD = ("size", "offscreen", "colour")
_ASIDES = ("aside", "figure", "nav", "form", "footer")
_NEVER_HIDDEN = frozenset(["html", "body", "head", "input", "img", "br", "meta", "link"])


def _is_in(root, element) -> bool:
    """Whether an element is still part of the tree."""
    return element.getroottree().getroot() is root


def _has_sentence(text: str) -> bool:
    """Whether a text runs on for six words or more."""
    return _SENTENCE.search(text[:3000]) is not None


def _in_article(element, text: str, beside: dict[Any, bool]) -> bool:
    """Whether an element that is not displayed is running text of the article: no form, link or image.

    `beside` keeps for each parent whether it holds paragraphs.
    """
    if not _has_sentence(text):
        return False
    above = {ancestor.tag for ancestor in element.iterancestors()}
    if element.tag in _ASIDES or not above.isdisjoint(_ASIDES):
        return False
    if above.isdisjoint(("article", "main")):
        parent = element.getparent()
        if parent not in beside:
            beside[parent] = len(list(islice(parent.iterchildren("p"), 2))) > 1
        if not beside[parent]:
            return False
    return not element.xpath("boolean(.//form | .//button | .//input | .//a | .//img)")


def _take_out(element, why: str, text: str) -> str:
    """Take an element out and return its text; of one of size 0, not the blocks in it, which set their own."""
    if why != "size" or not any(e is not element for e in element.iter(*_BLOCKS)):
        _drop(element)
        return text
    taken = [element.text or "", *(child.tail or "" for child in element)]
    element.text = None
    for child in element:
        child.tail = None
    return " ".join("".join(taken).split())


def _comments(source: str) -> list[str]:
    """Return the comments of a page."""
    found, place = [], source.find("<!--")
    while place >= 0 and len(found) < 2000:
        end = source.find("-->", place + 4)
        if end < 0:
            break
        found.append(source[place + 4 : min(end, place + 4004)])
        place = source.find("<!--", end)
    return found


def style_rules(root) -> dict[str, str]:
    """Return the hiding declarations of a page's own rules for one class (`.name`) or one id (`#name`)."""
    rules: dict[str, str] = {}
    for style in root.iter("style"):
        if (style.get("media") or "all").strip().lower() in ("all", "screen"):
            for names, declarations in _rules_of_one((style.text or "")[:MAX_STYLE]):
                compact = _compact(declarations)
                if _reason(compact) or (_COLOR.search(compact) and _BACKGROUND.search(compact)):
                    rules |= dict.fromkeys(names, compact)
    return rules


def _rules_of_one(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the rules for one class or id that may hide, those in @media and the like left out."""
    text = text.replace(": ", ":")
    place = depth = end = 0
    for found in sorted(_places(text)):
        if found < end:
            continue  # a second such declaration in the same rule
        depth += text.count("{", place, found) - text.count("}", place, found)
        place = found
        opening = text.rfind("{", 0, place)
        if depth != 1 or opening < 0:
            continue
        start = max(text.rfind(sign, 0, opening) for sign in ("}", ";", "*/")) + 1
        end = text.find("}", place)
        end = len(text) if end < 0 else end
        selectors = text[start:opening].lstrip("/")[:2000].split(",")
        names = [simple[1] + simple[2] for simple in map(_SIMPLE.match, selectors) if simple]
        if names:
            yield names, text[opening + 1 : min(end, opening + 4000)]


def _places(text: str) -> Iterator[int]:
    """Yield the places of the declarations that may hide something."""
    for pattern in (*_HIDING, *_SAME_COLOR):
        for found in pattern.finditer(text):
            yield found.start()


def _compact(style: str) -> str:
    """Return declarations in lower case without blanks around their signs."""
    return re.sub(r"\s*([:;,(])\s*", r"\1", style.strip().lower())


def _reason(compact: str) -> str:
    """Return why declarations hide an element: unseen, unspoken, offscreen, size; or an empty text."""
    if _UNSEEN.search(compact):
        return "unseen"
    if _CLIPPED.search(compact):
        return "clipped"  # for screen readers, as a rule
    if _SIZE_ZERO.search(compact):
        return "size"
    off = _OFFSCREEN.search(compact)
    if off and ("position:" in compact or "text-indent" in compact):
        far = 100 if off[2] in ("%", "vw", "vh") else 50 if off[2] in ("em", "rem") else 900
        if int(off[1][:6]) >= far:
            return "offscreen"
    if "overflow:hidden" in compact and _BOX_ZERO.search(compact):
        return "clipped"
    return ""


def _why_hidden(element, styles: dict[str, str], white: bool, known: dict) -> str:
    """Return why an element is hidden, or an empty text; `known` keeps what each style says."""
    if (
        element.get("aria-hidden") == "true"
        or element.get("hidden", "until-found") != "until-found"
    ):
        return "unseen"
    style = _style_of(element, styles)
    if style not in known:
        compact = _compact(style[:600]) if any(word in style for word in _SAID) else ""
        known[style] = (_reason(compact), _color(_COLOR.search(compact)))
    why, color = known[style]
    color = color or _named(element.get("color"))
    if not why and color and color == _background(element, styles, white):
        return "colour"
    return why


def _style_of(element, styles: dict[str, str]) -> str:
    """Return the known declarations of an element, inline ones last."""
    if not styles:
        return element.get("style") or ""
    parts = [styles.get("." + name, "") for name in (element.get("class") or "").split()]
    parts += [styles.get("#" + (element.get("id") or ""), ""), element.get("style") or ""]
    return ";".join(filter(None, parts))


def _background(element, styles: dict[str, str], white: bool) -> str:
    """Return the colour behind an element as far as the page says it inline."""
    while element is not None:
        compact = _compact(_style_of(element, styles)[:600])
        found = _BACKGROUND.search(compact)
        color = _color(found)
        if found and color != "transparent":
            return color or "unknown"
        if element.get("bgcolor"):
            return _named(element.get("bgcolor"))
        element = element.getparent()
    return "#ffffff" if white else "unknown"


def _color(match: re.Match | None) -> str:
    """Return the colour that a declaration names, or an empty text."""
    return _named(match[1].split(" ")[0]) if match else ""


def _named(color: str | None) -> str:
    """Return a colour as six hexadecimal digits where it can be."""
    color = (color or "").strip().lower()
    color = _NAMED.get(color, color)
    if re.fullmatch(r"#[0-9a-f]{3}", color):
        return "#" + "".join(digit * 2 for digit in color[1:])
    numbers = re.fullmatch(r"rgba?\((\d+),(\d+),(\d+)(?:,[\d.]+)?\)", color.replace(" ", ""))
    if numbers:
        return "#" + "".join(f"{min(int(n), 255):02x}" for n in numbers.groups())
    return color


def _drop(element) -> None:
    """Remove an element and keep the text after it."""
    parent = element.getparent()
    if parent is None:
        return
    if element.tail:
        before = element.getprevious()
        if before is not None:
            before.tail = (before.tail or "") + " " + element.tail
        else:
            parent.text = (parent.text or "") + " " + element.tail
    parent.remove(element)
