"""Whether what came back is the page that was asked for, and all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from itertools import islice
from typing import Any
from urllib.parse import urlsplit

from sourcebench.extract import phrases
from sourcebench.extract.jsonld import articles
from sourcebench.extract.view import View
from sourcebench.urls import site

_HOME = re.compile(r"^/?(?:index\.\w+|home(?:page)?|default\.aspx?|[a-z]{2}(?:-[a-z]{2})?)?/?$")
_HOW_COME = re.compile(
    r"(?:^|&)(?:utm_\w+|ref|referr?er|source|from|lang|hl|error|redirect\w*)=[^&]*"
)
_SENDS_ON = re.compile(r"(?i)^\s*(\d{1,2})\s*[;,]\s*url\s*=\s*['\"]?(\S+?)['\"]?\s*$")
_PASSWORD = re.compile(r"(?i)type\s*=\s*[\"']?password")


@dataclass(frozen=True)
class Seen:
    """What the rules look at: the page as read, its text, its counts and its source."""

    view: View
    url: str
    asked_url: str
    text: str
    counts: dict[str, int]
    source: str

    @property
    def title(self) -> str:
        """Return the page's title."""
        return self.view.title

    @cached_property
    def heading(self) -> str:
        """Return the first heading that is not beside the article."""
        lines = self.view.lines
        return next((line.text for line in lines if line.heading and not line.out), "")

    @cached_property
    def articles(self) -> list[dict[str, Any]]:
        """Return what JSON-LD says of the page itself."""
        return articles(self.view.items)

    @cached_property
    def framed(self) -> str:
        """Return the text that stands in frames, which browsers show in place of none."""
        found = re.findall(r"(?is)<iframe\b[^>]*>(.{1,500}?)</iframe", self.source[:100_000])
        return "\n".join(found)

    @property
    def visible(self) -> int:
        """Return the number of characters a reader sees."""
        return self.counts["chars_visible"]

    @cached_property
    def paragraphs(self) -> int:
        """Return the number of paragraphs of running text outside menus and asides."""
        lines = self.view.lines
        return sum(not line.out and len(line.text) - line.link_chars > 140 for line in lines)


def page_outcome(seen: Seen) -> tuple[str, str, tuple[str, ...]]:
    """Return the outcome of a page, the signals behind it in words, and flags.

    No phrase decides alone: it counts with the place it stands in (title, heading, the only text)
    and with how much else the page holds. The reason names every signal, so that a reader can
    overrule it.
    """
    for outcome, rule in _RULES:
        signals = rule(seen)
        if signals:
            return outcome, "; ".join(signals)[:500], ()
    declared = _declared_free(seen)
    wall = _wall(seen)
    if declared is False and not _gated_text(seen) and (wall or len(seen.text) < 6000):
        return (
            "partial",
            "; ".join(["the page's own data say that it is not free", *wall]),
            ("paywall",),
        )
    if wall and declared is None:
        return "partial", "; ".join(wall), ("paywall",)
    if not seen.text.strip():
        return "empty", "no visible text", ()
    return "ok", "", ("paywall",) if declared is False else ()


def _redirect_home(seen: Seen) -> list[str]:
    """Return the signals of a deep link that ends at the site's home page."""
    asked, got = urlsplit(seen.asked_url), urlsplit(seen.url)
    deep = not _HOME.match(asked.path) or bool(asked.query)
    at_home = bool(_HOME.match(got.path)) and not _HOW_COME.sub("", got.query)
    if deep and at_home and site(seen.asked_url) == site(seen.url):
        return [f"asked for {asked.path[:80]}, ended at the home page"]
    return []


def _challenge(seen: Seen) -> list[str]:
    """Return the signals of a bot challenge or a refusal sent as a page."""
    if len(seen.text) > 1500 or seen.paragraphs > 2:
        return []
    signals = _said_in_head(seen, phrases.CHALLENGE)
    asked = f"{seen.text}\n{seen.framed}"
    said = {match[0].casefold() for match in phrases.CHALLENGE.finditer(asked)}
    if said and len(seen.text) < 600:
        signals.append(
            f"text of {len(seen.text)} characters says {_phrase(phrases.CHALLENGE, asked)!r}"
        )
    if len(said) > 1 or (said and len(seen.text) < 250 and seen.visible < 500):
        signals.append("several such phrases" if len(said) > 1 else "next to no other text")
    elif signals and len(seen.text) < 250:
        signals.append("next to no text")
    if signals and phrases.CHALLENGE_MARKS.search(seen.source[:200_000]):
        signals.append("challenge script")
    return ["challenge", *signals] if len(signals) >= 2 else []


def _said_in_head(seen: Seen, pattern: re.Pattern) -> list[str]:
    """Return the signal of a phrase in the title or else in the first heading."""
    places = (("title", seen.title), ("heading", seen.heading))
    found = (
        f"{place} {_phrase(pattern, text)!r}" for place, text in places if pattern.search(text)
    )
    return list(islice(found, 1))


def _sends_on(seen: Seen) -> list[str]:
    """Return the signals of a page that only sends its readers to another one."""
    found = [_SENDS_ON.match(value) for value in seen.view.metas.get("refresh", ())]
    target = next((match[2] for match in found if match and int(match[1]) <= 10), "")
    if not target or len(seen.text) > 300:
        return []
    return [f"sends its readers to {target[:200]}", f"text of {len(seen.text)} characters"]


def _login(seen: Seen) -> list[str]:
    """Return the signals of a login page in place of the page asked for."""
    asked, got = urlsplit(seen.asked_url), urlsplit(seen.url)
    if len(seen.text) > 1500 or seen.paragraphs > 1 or phrases.LOGIN_PLACE.search(asked.path):
        return []
    signals = _said_in_head(seen, phrases.LOGIN)
    if phrases.LOGIN_PLACE.search(got.path):
        signals.append("address of a login page")
    if _PASSWORD.search(seen.source):
        signals.append("field for a password")
    return ["login page", *signals] if len(signals) >= 2 else []


def _consent(seen: Seen) -> list[str]:
    """Return the signals of a consent page, or of a licence or age gate in place of a file."""
    if len(seen.text) > 4000:
        return []
    head = f"{seen.title}\n{seen.heading}"
    parts = urlsplit(seen.url)
    signals = []
    if phrases.CONSENT_PLACE.search(f"{parts.netloc}{parts.path}"):
        signals.append("address of a consent page")
    if phrases.CONSENT.search(head):
        signals.append(f"title or heading {_phrase(phrases.CONSENT, head)!r}")
    if not signals and seen.paragraphs > 8:
        return []
    share = _share(seen.text, phrases.CONSENT)
    if share > 0.3:
        signals.append(f"{share:.0%} of the text is about consent")
    if share > 0.6 and not phrases.POLICY.search(head):
        lines = "\n".join(line.text for line in seen.view.lines if line.text)
        said = {match[0].casefold() for match in phrases.CONSENT.finditer(lines[:5000])}
        signals += [f"{len(said)} such phrases"] if len(said) > 1 else []
    if len(signals) >= 2:
        return ["consent page", *signals]
    if (
        len(seen.text) < 400
        and seen.visible < 800
        and phrases.LICENCE.search(f"{head}\n{seen.text}")
    ):
        asked = _phrase(phrases.LICENCE, f"{head}\n{seen.text}")
        return ["gate", f"text of {len(seen.text)} characters asks to {asked!r}"]
    return []


def _share(text: str, pattern: re.Pattern) -> float:
    """Return the share of a text's characters in paragraphs that hold a phrase."""
    paragraphs = [part for part in text.split("\n") if part.strip()]
    total = sum(map(len, paragraphs)) or 1
    return sum(len(part) for part in paragraphs if pattern.search(part)) / total


def _phrase(pattern: re.Pattern, text: str) -> str:
    """Return the phrase that a pattern finds."""
    return " ".join(pattern.search(text)[0][:60].split())


def _parked(seen: Seen) -> list[str]:
    """Return the signals of a parked domain."""
    if seen.visible > 3000 or seen.paragraphs > 2:
        return []
    everything = " ".join(line.text for line in seen.view.lines)
    found = sorted({match[0].casefold() for match in phrases.PARKED.finditer(everything)})
    signals = [f"text says {phrase!r}" for phrase in found[:3]]
    if found and phrases.PARKED_MARKS.search(seen.source[:100_000]):
        signals.append("parking script or address")
    host = (urlsplit(seen.url).hostname or "").removeprefix("www.")
    if host and seen.title.strip().casefold() == host:
        signals.append("title is the domain")
    if seen.paragraphs and len(signals) == len(found[:3]):
        return []  # running text about domains
    return signals if found and len(signals) >= 2 else []


def _soft_404(seen: Seen) -> list[str]:
    """Return the signals of an error page sent with status 200: nothing there, or a server in trouble."""
    if seen.paragraphs >= 3 or len(seen.text) > 2000:
        return []
    signals = []
    title = re.split(r"\s[|–—·-]\s", seen.title)
    if any(_is_error(part) for part in title if len(part) < 60):
        signals.append(f"title {seen.title[:80]!r}")
    if len(seen.heading) < 90 and _is_error(seen.heading):
        signals.append(f"heading {seen.heading!r}")
    lines = [line for line in seen.text.split("\n")[:4] if len(line) < 300]
    first = next((line for line in lines if _is_error(line) and line != seen.heading), "")
    told = signals and phrases.TROUBLE_TOLD.search(seen.text)
    if (first or told) and len(seen.text) < 1200:
        signals.append(f"text of {len(seen.text)} characters says {(first or told[0])[:60]!r}")
    elif signals and len(seen.text) < 250 and not seen.paragraphs:
        signals.append(f"text of {len(seen.text)} characters")
    return signals if len(signals) >= 2 else []


def _is_error(line: str) -> bool:
    """Whether a short line is what an error page says."""
    patterns = (phrases.NOT_FOUND, phrases.NOT_FOUND_ABROAD, phrases.TROUBLE)
    return any(pattern.search(line) for pattern in patterns)


def _needs_javascript(seen: Seen) -> list[str]:
    """Return the signals of a shell that a script would fill."""
    if seen.visible > 600 or not seen.counts["scripts"]:
        return []
    asks = phrases.SCRIPT.search(seen.view.noscript) or phrases.SCRIPT.search(seen.text[:600])
    if seen.paragraphs > sum(
        len(line.text) - line.link_chars > 140 and bool(phrases.SCRIPT.search(line.text))
        for line in seen.view.lines
    ):
        return []
    signals = ["asks for JavaScript"] if asks else []
    if _share(seen.text, phrases.SCRIPT) > 0.5:
        signals.append("hardly any other text")
    if seen.view.empty_mount:
        signals.append("empty element for a script to fill")
    if seen.visible < 0.01 * len(seen.source):
        signals.append(f"{seen.visible} visible characters in {len(seen.source)} of source")
    if seen.visible < 40:
        signals.append("next to no visible text beside scripts")
    return signals if len(signals) >= 2 else []


_RULES = (
    ("interstitial", _challenge),
    ("interstitial", _consent),
    ("interstitial", _login),
    ("interstitial", _sends_on),
    ("parked", _parked),
    ("soft_404", _soft_404),
    ("redirect_home", _redirect_home),
    ("needs_javascript", _needs_javascript),
)


def _declared_free(seen: Seen) -> bool | None:
    """Return whether the page's own article says that it is free to read."""
    values = [item.get("isAccessibleForFree") for item in seen.articles]
    tiers = seen.view.metas.get("article:content_tier", ())
    values += [{"locked": False, "free": True}.get(tier.casefold()) for tier in tiers]
    words = {"true": True, "false": False}
    said = [
        words.get(v.strip().lower().split("/")[-1]) if isinstance(v, str) else v for v in values
    ]
    said = [value for value in said if isinstance(value, bool)]
    return said[0] if said else None


def _gated_text(seen: Seen) -> bool:
    """Whether the part that JSON-LD calls gated is there after all, with its text."""
    for item in seen.articles:
        parts = item.get("hasPart")
        for part in parts if isinstance(parts, list) else [parts]:
            selector = part.get("cssSelector") if isinstance(part, dict) else None
            name = (
                re.fullmatch(r"\s*\.([\w-]+)\s*", selector) if isinstance(selector, str) else None
            )
            if name and _class_chars(seen.view.root, name[1]) > 1000:
                return True
    return False


def _class_chars(root, name: str) -> int:
    """Return the number of characters in the elements of a class."""
    found = root.xpath("//*[contains(concat(' ',normalize-space(@class),' '),$c)]", c=f" {name} ")
    return sum(len(element.xpath("normalize-space()")) for element in found[:50])


def _wall(seen: Seen) -> list[str]:
    """Return the visible wall that a short text ends with."""
    if len(seen.text) > 2500:
        return []
    body = [line for line in seen.view.lines if not line.out]
    places = [i for i, line in enumerate(body) if phrases.WALL.search(line.text[:400])]
    if not places or "newsletter" in body[places[0]].text.casefold():
        return []
    if any(len(line.text) - line.link_chars > 200 for line in body[places[-1] + 1 :]):
        return []
    return [f"short text that ends with {body[places[0]].text[:80]!r}"]
