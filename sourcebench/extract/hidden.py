"""Text that machines read and people do not see: found, taken out, and told."""

from __future__ import annotations

import re
from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from itertools import islice
from typing import Any

from sourcebench.extract.style import Rules, why_hidden

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


def remove_hidden(root, candidates: list, styles: Rules, source: str) -> Hidden:
    """Take hidden elements out of a tree, in place.

    Hidden is what inline style, a `hidden` or `aria-hidden` attribute, or a rule for one class or
    id in the page's own style element makes so: not displayed, invisible, size 0, off the screen,
    or in the colour of its background. An element that holds most of the page is not taken out
    for not being displayed (pages are shown by script), only for the other reasons; nor is a panel
    that a visible control opens.

    Parameters
    ----------
    candidates
        The elements that something could hide, in document order.
    styles
        The hiding declarations of the page's own rules, from `style_rules`.
    source
        The page's characters, for its comments.
    """
    from lxml import etree

    known: dict[str, tuple[str, str]] = {}
    white = not root.xpath("boolean(//link[contains(@rel,'stylesheet')])")
    half = 0.0
    found, chars, telling = [], 0, False
    beside: dict[Any, bool] = {}
    for element in candidates:
        why = why_hidden(element, styles, white, known)
        if not why or element.tag in _NEVER_HIDDEN or not _is_in(root, element):
            continue
        if why == "unseen" and _opens(root, element, lambda e: why_hidden(e, styles, white, known)):
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
    etree.strip_attributes(root, *_SAID_HIDDEN)  # so that extraction does not judge by them again
    found += _comments(source)
    return Hidden(chars, telling, any(_FOR_MODELS.search(text) for text in found))


_SAID_HIDDEN = ("style", "hidden", "aria-hidden")
_ODD = ("size", "offscreen", "colour")
_ASIDES = ("aside", "figure", "nav", "form", "footer")
_NEVER_HIDDEN = frozenset(["html", "body", "head", "input", "img", "br", "meta", "link"])


def _is_in(root, element) -> bool:
    """Whether an element is still part of the tree."""
    top = deque((element, *element.iterancestors()), maxlen=1)[0]
    return top is root  # what was taken out still knows its document, but not the root above it


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


def _opens(root, element, why: Callable[[Any], str]) -> bool:
    """Whether a reader can open an element of running text, by a control that is in sight.

    The panels of an accordion and of tabs are read like the rest of a page.
    """
    name = element.get("id")
    if not name or not _has_sentence("".join(element.itertext())):
        return False
    if element.xpath(_NO_PANEL) or element.xpath(_IN_FURNITURE):
        return False
    controls = root.xpath(_CONTROLS, id=name, place=f"#{name}")
    return any(
        len(control.xpath("normalize-space()")) > 1
        and not any(why(above) for above in (control, *control.iterancestors()))
        for control in controls
    )


_CONTROLS = (
    "//body//*[@aria-controls=$id or @data-target=$place or @data-bs-target=$place]"
    "[self::button or self::a or self::summary or @role='tab' or @role='button']"
)
_NO_PANEL = "boolean(.//form | .//input | self::dialog | self::*[@role='dialog' or @aria-modal or contains(@class,'modal')])"
_IN_FURNITURE = "boolean(ancestor-or-self::*[self::nav or self::header or self::footer or self::form or self::aside])"


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
