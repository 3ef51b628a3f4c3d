"""Text that machines read and people do not see: found, taken out, and told."""

from __future__ import annotations

import re
from dataclasses import dataclass

_STYLED = (
    "//*[@hidden or @aria-hidden='true' or contains(@style,'display') or contains(@style,'DISPLAY')"
    " or contains(@style,'visib') or contains(@style,'size') or contains(@style,'opacity')"
    " or contains(@style,'position') or contains(@style,'indent') or contains(@style,'height')"
    " or contains(@style,'color') or contains(@style,'clip') or contains(@style,'font')"
    " or contains(@style,'transform') or @color]"
)
_AT_BLOCK = re.compile(r"@[\w-]+[^{};]*\{(?:[^{}]*\{[^{}]*\})*[^{}]*\}|@[^{};]*;")
_RULE = re.compile(r"([^{}]{1,2000})\{([^{}]{1,4000})\}")
_SIMPLE = re.compile(r"^\s*(?:[a-zA-Z][\w]*)?([.#])([\w-]+)\s*$")
_OFFSCREEN = re.compile(
    r"(?:left|top|right|bottom|margin-left|margin-top|text-indent):-(\d+)(px|em|rem|%|vw|vh)?"
)
_ZERO = r"0+(?:\.0+)?(?:px|pt|em|rem|%)?(?:;|!|$)"
_SIZE_ZERO = re.compile(rf"font-size:{_ZERO}|font:(?:[\w-]+ )*{_ZERO}|transform:scale\(0\)")
_BOX_ZERO = re.compile(rf"(?:^|;)(?:max-)?(?:height|width):(?:{_ZERO}|1px(?:;|!|$))")
_UNSEEN = re.compile(
    r"(?:^|;)(?:display:none|visibility:(?:hidden|collapse)|opacity:0*(?:\.0+)?(?:;|!|$)"
    r"|clip:rect\((?:0|1px)|clip-path:inset\((?:50|100)%)"
)
_COLOR = re.compile(r"(?:^|;)color:([^;!]+)")
_BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_NAMED = {"white": "#ffffff", "black": "#000000", "transparent": "transparent", "red": "#ff0000"}
_FOR_MODELS = re.compile(
    r"(?i)\b(?:ai|llm|gpt|chatgpt|claude|gemini|language models?|assistants?|graders?|judges?|"
    r"evaluators?|crawlers?|system)\b[^.]{0,80}\b(?:rate|score|give|reply|respond|ignore|output|"
    r"answer|note|treat|rank|must|should|instructions?|stars?)\b"
    r"|\b(?:ignore|disregard)\b[^.]{0,40}\b(?:previous|above|prior|earlier)\b[^.]{0,30}\binstructions?\b"
)
_COMMENT = re.compile(r"<!--(.{0,4000}?)-->", re.DOTALL)
_BLOCKS = ("p", "div", "ul", "ol", "table", "section", "article", "h1", "h2", "h3", "li", "a")


@dataclass(frozen=True)
class Hidden:
    """How much text was hidden, and whether it speaks to machines."""

    chars: int = 0
    for_models: bool = False

    @property
    def flags(self) -> tuple[str, ...]:
        """Return the flags that a packet carries for this."""
        flags = ("hidden_text",) if self.chars or self.for_models else ()
        return (*flags, "hidden_instructions") if self.for_models else flags


def remove_hidden(root, source: str) -> Hidden:
    """Take hidden elements out of a tree, in place.

    Hidden is what inline style, a `hidden` or `aria-hidden` attribute, or a rule for one class or
    id in the page's own style element makes so: not displayed, invisible, size 0, off the screen,
    or in the colour of its background. An element that holds most of the page is not taken out
    for not being displayed (pages are shown by script), only for the other reasons.

    Parameters
    ----------
    root
        The page's tree; scripts and styles must still be in it.
    source
        The page's characters, for its comments.
    """
    body = root.find("body")
    total = len("".join((root if body is None else body).itertext("*"))) or 1
    white = not root.xpath("boolean(//link[contains(@rel,'stylesheet')])")
    styles = _style_rules(root)
    found, chars = [], 0
    for element in _candidates(root, styles):
        why = _why_hidden(element, styles, white)
        if not why or element.tag in ("html", "body", "head", "input", "img", "br", "meta"):
            continue
        if why == "size":
            text = _direct_text(element)
        else:
            text = "".join(element.itertext())
            if why == "unseen" and len(text) > total / 2:
                continue
            _drop(element)
        text = " ".join(text.split())
        if text:
            chars += len(text)
            found.append(text[:2000])
    found += [m[1] for m in _COMMENT.finditer(source)] if "<!--" in source else []
    return Hidden(chars, any(_FOR_MODELS.search(text) for text in found))


def _candidates(root, styles: dict[str, str]) -> list:
    """Return the elements that something could hide, in document order."""
    if not styles:
        return root.xpath(_STYLED)
    names = set(styles)
    marked = set(root.xpath(_STYLED))
    for element in root.xpath("//*[@class or @id]"):
        keys = {"." + name for name in (element.get("class") or "").split()}
        if element.get("id"):
            keys.add("#" + element.get("id"))
        if keys & names:
            marked.add(element)
    return [element for element in root.iter() if element in marked]


def _style_rules(root) -> dict[str, str]:
    """Return the hiding declarations of the page's own rules for one class or one id."""
    rules = {}
    for style in root.iter("style"):
        text = re.sub(r"/\*.*?\*/", "", (style.text or "")[:200_000], flags=re.DOTALL)
        if style.get("media", "all").strip().lower() not in ("all", "screen", ""):
            continue
        for selectors, declarations in _RULE.findall(_AT_BLOCK.sub("", text)):
            compact = _compact(declarations)
            if not _hides(compact):
                continue
            for selector in selectors.split(","):
                simple = _SIMPLE.match(selector)
                if simple:
                    rules[simple[1] + simple[2]] = compact
    return rules


def _compact(style: str) -> str:
    """Return declarations in lower case without blanks around their signs."""
    return re.sub(r"\s*([:;,(])\s*", r"\1", style.strip().lower())


def _hides(compact: str) -> bool:
    """Whether declarations hide an element by themselves."""
    return bool(_reason(compact) or (_COLOR.search(compact) and _BACKGROUND.search(compact)))


def _reason(compact: str) -> str:
    """Return why declarations hide an element: unseen, offscreen, size; or an empty text."""
    if _UNSEEN.search(compact):
        return "unseen"
    if _SIZE_ZERO.search(compact):
        return "size"
    off = _OFFSCREEN.search(compact)
    if off and ("position:" in compact or "text-indent" in compact):
        far = 100 if off[2] in ("%", "vw", "vh") else 50 if off[2] in ("em", "rem") else 900
        if int(off[1][:6]) >= far:
            return "offscreen"
    if "overflow:hidden" in compact and _BOX_ZERO.search(compact):
        return "unseen"
    return ""


def _why_hidden(element, styles: dict[str, str], white: bool) -> str:
    """Return why an element is hidden, or an empty text."""
    if element.get("hidden") is not None and element.get("hidden") != "until-found":
        return "unseen"
    if element.get("aria-hidden") == "true":
        return "unseen"
    compact = _style_of(element, styles)
    why = _reason(compact)
    if why:
        return why
    color = _color(_COLOR.search(compact)) or _named(element.get("color"))
    if color and color == _background(element, styles, white):
        return "colour"
    return ""


def _style_of(element, styles: dict[str, str]) -> str:
    """Return the known declarations of an element, inline ones last."""
    parts = []
    if styles:
        parts = [styles.get("." + name, "") for name in (element.get("class") or "").split()]
        parts.append(styles.get("#" + (element.get("id") or ""), ""))
    return ";".join([*filter(None, parts), _compact(element.get("style") or "")])


def _background(element, styles: dict[str, str], white: bool) -> str:
    """Return the colour behind an element as far as the page says it inline."""
    while element is not None:
        compact = _style_of(element, styles)
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


def _direct_text(element) -> str:
    """Take the text out of an element of size 0, except that of blocks in it, which set their own."""
    if not any(True for _ in element.iter(*_BLOCKS[:-1]) if _ is not element):
        text = "".join(element.itertext())
        _drop(element)
        return text
    taken = [element.text or "", *(child.tail or "" for child in element)]
    element.text = None
    for child in element:
        child.tail = None
    return "".join(taken)


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
