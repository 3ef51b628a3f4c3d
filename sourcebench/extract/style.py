"""What a page's own style hides: its rules for one class or id, and inline declarations.

Style sheets of other files are not asked: a snapshot does not hold them.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping

MAX_STYLE = 300_000

# Each pattern starts with a plain word, which makes the search fast.
_HIDING = tuple(
    map(
        re.compile,
        (
            "display:none",
            "visibility:(?:hidden|collapse)",
            r"font-size:(?:0|1px|\.)",
            "opacity:[0.]",
            r"text-indent:-\d{2}",
            r"left:-\d{3}",
            r"top:-\d{3}",
            r"clip:rect\(",
            r"clip-path:(?:inset|circle|polygon)\(",
            r"scale\(0",
            r"translate[xy3d]{0,2}\(-?\d+(?:px|%|vw|vh)?,?-?\d",
            r"translate[xy]\(-?\d{3}",
            r"filter:opacity\(0",
            "zoom:0",
            r"color:\s*(?:transparent|rgba\([\d\s,]+,\s*0?\.?0*\)|hsla?\([^,)]*,[^,)]*,\s*(?:100|0)%)",
        ),
    )
)
_SAME_COLOR = (
    re.compile(r"color:([#\w]{3,20})\s*;[^{}]{0,200}background(?:-color)?:\1"),
    re.compile(r"background(?:-color)?:([#\w]{3,20})\s*;[^{}]{0,200}color:\1"),
)
_SAID = re.compile(
    r"(?i)none|hidden|visib|size|opacity|indent|position|clip|scale|colo|background|height|width|font|translate|zoom"
)
_SIMPLE = re.compile(r"^\s*(?:[a-z]\w*)?([.#])([\w-]+)\s*$")
_PLAIN_BLOCK = re.compile(r"@(?:media\s+(?:only\s+)?(?:screen|all)|supports|layer)[^{};]*$")
# Names that style sheets everywhere use for text that only screen readers say.
_FOR_EARS = (
    ".sr-only",
    ".visually-hidden",
    ".visuallyhidden",
    ".screen-reader-text",
    ".screen-reader-only",
    ".u-visually-hidden",
)
_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
_OFFSCREEN = re.compile(
    r"(?:left|top|right|bottom|margin-left|margin-top|text-indent):-(\d+)(px|em|rem|%|vw|vh)?"
)
_ZERO = r"0+(?:\.0+)?(?:px|pt|em|rem|%)?(?:;|!|$)"
_SIZE_ZERO = re.compile(
    rf"font-size:(?:{_ZERO}|(?:0?\.\d+|1(?:\.\d+)?)p[xt]|0?\.[01]\d*r?em|[01]?\d%)|font:(?:[\w-]+ )*{_ZERO}|"
    r"transform:scale\(0(?:\.0\d*)?[,)]|zoom:0(?:\.0\d*)?(?:;|!|$)"
)
_TRANSLATED = re.compile(r"translate(?:x|y|3d)?\((?:-?\d+\w*,)?-(\d+)(px|em|rem|%|vw|vh)")
_BOX_ZERO = re.compile(rf"(?:^|;)(?:max-)?(?:height|width):(?:{_ZERO}|1px(?:;|!|$))")
_UNSEEN = re.compile(
    r"(?:^|;)(?:display:none|(?:content-)?visibility:(?:hidden|collapse)|opacity:0*(?:\.0\d*)?(?:;|!|$)|filter:opacity\(0)"
)
_CLIPPED = re.compile(r"(?:^|;)(?:clip:rect\((?:0|1px)|clip-path:(?:inset\((?:50|100)%|circle\(0))")
_COLOR = re.compile(r"(?:^|;)(?:color|-webkit-text-fill-color):([^;!]+)")
_BACKGROUND = re.compile(r"(?:^|;)background(?:-color)?:([^;!]+)")
_NAMED = {"white": "#ffffff", "black": "#000000", "red": "#ff0000", "transparent": "transparent"}

Rules = Mapping[str, str]


def style_rules(root) -> dict[str, str]:
    """Return the hiding declarations of a page's own rules for one class (`.name`) or one id (`#name`).

    A few classes hide by custom, whatever file declares them. Names are in lower case.
    """
    rules = dict.fromkeys(_FOR_EARS, "clip:rect(0,0,0,0)")
    for style in root.iter("style"):
        if (style.get("media") or "all").strip().lower() in ("all", "screen"):
            for names, declarations in _rules_of_one((style.text or "")[:MAX_STYLE]):
                compact = _compact(declarations)
                if hiding_reason(compact) or (
                    _COLOR.search(compact) and _BACKGROUND.search(compact)
                ):
                    rules |= dict.fromkeys(names, compact)
    return rules


def _rules_of_one(text: str) -> Iterator[tuple[list[str], str]]:
    """Yield the rules for one class or id that may hide, but for those of print and small screens."""
    text = _COMMENT.sub("", text.lower()) if "/*" in text else text.lower()
    for blank in (" :", ": ", ":\t", ":\n"):
        text = text.replace(blank, ":")
    place = depth = end = 0
    for found in sorted(_places(text)):
        if found < end:
            continue  # a second such declaration in the same rule
        depth += text.count("{", place, found) - text.count("}", place, found)
        place = found
        opening = text.rfind("{", 0, place)
        if opening < 0 or not _applies(text, opening, depth):
            continue
        start = max(text.rfind(sign, 0, opening) for sign in "{};") + 1
        end = text.find("}", place)
        end = len(text) if end < 0 else end
        selectors = text[start:opening][:2000].split(",")
        names = [simple[1] + simple[2] for simple in map(_SIMPLE.match, selectors) if simple]
        if names:
            yield names, text[opening + 1 : min(end, opening + 4000)]


def _places(text: str) -> Iterator[int]:
    """Yield the places of the declarations that may hide something."""
    for pattern in (*_HIDING, *_SAME_COLOR):
        for found in pattern.finditer(text):
            yield found.start()


def _applies(text: str, opening: int, depth: int) -> bool:
    """Whether a rule counts on every screen: it stands alone, or in a block for all screens."""
    if depth != 2:
        return depth == 1
    block = text.rfind("@", 0, opening)
    brace = text.find("{", block) if block >= 0 else -1
    return 0 <= brace < opening and _PLAIN_BLOCK.match(text[block:brace].strip()) is not None


def _compact(style: str) -> str:
    """Return declarations in lower case without comments and without blanks around their signs."""
    style = _COMMENT.sub("", style) if "/*" in style else style
    return re.sub(r"\s*([:;,(])\s*", r"\1", style.strip().lower())


def hiding_reason(compact: str) -> str:
    """Return why compact declarations hide an element, or an empty text.

    Returns
    -------
    str
        unseen (not displayed), clipped (left to screen readers), size, or offscreen.
    """
    if _UNSEEN.search(compact):
        return "unseen"
    if _CLIPPED.search(compact) or ("overflow:hidden" in compact and _BOX_ZERO.search(compact)):
        return "clipped"
    if _SIZE_ZERO.search(compact):
        return "size"
    moved = "translate" in compact
    off = (_TRANSLATED if moved else _OFFSCREEN).search(compact)
    if off and (moved or "position:" in compact or "text-indent" in compact):
        far = 100 if off[2] in ("%", "vw", "vh") else 50 if off[2] in ("em", "rem") else 900
        return "offscreen" if int(off[1][:6]) >= far else ""
    return ""


def why_hidden(element, rules: Rules, white: bool, known: dict[str, tuple[str, str]]) -> str:
    """Return why an element is hidden by attribute or style, or an empty text.

    Parameters
    ----------
    rules
        From `style_rules`.
    white
        Whether a page without a colour is known to be white.
    known
        Keeps what each style says, for one page.

    Returns
    -------
    str
        What `hiding_reason` returns, or colour: that of its background.
    """
    if (
        element.get("aria-hidden") == "true"
        or element.get("hidden", "until-found") != "until-found"
        or (element.tag == "dialog" and element.get("open") is None)
    ):
        return "unseen"
    style = _style_of(element, rules)
    if style not in known:
        compact = _compact(style[:600]) if _SAID.search(style) else ""
        known[style] = (hiding_reason(compact), _color(_COLOR.search(compact)))
    why, color = known[style]
    color = color or _hex(element.get("color"))
    if not why and color == "transparent":
        return "colour"
    if not why and color and _alike(color, _background(element, rules, white)):
        return "colour"
    return why


def _style_of(element, rules: Rules) -> str:
    """Return the known declarations of an element, inline ones last."""
    if not rules:
        return element.get("style") or ""
    parts = [rules.get("." + name, "") for name in (element.get("class") or "").lower().split()]
    parts += [rules.get("#" + (element.get("id") or "").lower(), ""), element.get("style") or ""]
    return ";".join(filter(None, parts))


def _background(element, rules: Rules, white: bool) -> str:
    """Return the colour behind an element as far as the page itself says it."""
    while element is not None:
        found = _BACKGROUND.search(_compact(_style_of(element, rules)[:600]))
        color = _color(found)
        if found and color != "transparent":
            return color
        if element.get("bgcolor"):
            return _hex(element.get("bgcolor"))
        element = element.getparent()
    return "#ffffff" if white else ""


def _color(match: re.Match | None) -> str:
    """Return the colour that a declaration names, or an empty text."""
    return _hex(match[1].split(" ")[0]) if match else ""


def _hex(color: str | None) -> str:
    """Return a colour as six hexadecimal digits where it can be."""
    color = re.sub(r"\s*([,/(])\s*", r"\1", (color or "").strip().lower())
    color = _NAMED.get(color, color)
    if re.fullmatch(r"#[0-9a-f]{3}", color):
        return "#" + "".join(digit * 2 for digit in color[1:])
    if re.fullmatch(r"(?:rgb|hsl)a?\(.*[,/]0*(?:\.0\d*|0%?)?\)", color) and color.count(",") == 3:
        return "transparent"
    shade = re.fullmatch(r"hsla?\([^,]*,[^,]*,(0|100)%(?:,[\d.]+)?\)", color)
    if shade:
        return "#ffffff" if shade[1] == "100" else "#000000"
    numbers = re.fullmatch(r"rgba?\((\d+),(\d+),(\d+)(?:,[\d.]+)?\)", color)
    if numbers:
        return "#" + "".join(f"{min(int(n), 255):02x}" for n in numbers.groups())
    return color


def _alike(first: str, second: str) -> bool:
    """Whether two colours can't be told apart."""
    if first == second:
        return True
    if not all(re.fullmatch(r"#[0-9a-f]{6}", color) for color in (first, second)):
        return False
    pairs = ((int(first[i : i + 2], 16), int(second[i : i + 2], 16)) for i in (1, 3, 5))
    return all(abs(a - b) <= 12 for a, b in pairs)
