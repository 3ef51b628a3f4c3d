"""Whether what came back is the page that was asked for, and all of it."""

from __future__ import annotations

import re
from dataclasses import dataclass
from functools import cached_property
from typing import Any
from urllib.parse import urlsplit

from sourcebench.extract.jsonld import articles
from sourcebench.extract.view import View
from sourcebench.urls import site

_NOT_FOUND = re.compile(
    r"(?i)^(?:\W|sorry|oops|whoops|uh[- ]?oh|error|http|the|this|that|die|diese|la|we|we're|your|404|410|is)*"
    r"(?:\b(?:404|410)\b(?=\W*(?:$|error|not|page|fehler|seite|file))|"
    r"(?:requested |angeforderte )?(?:page|article|content|story|url|document|site|file|item|product|resource|seite|p[áa]gina|página)\W+"
    r"(?:you(?:'re| are| were| have)? (?:looking for|requested|asked for|trying to (?:reach|view|access))\W+)?"
    r"(?:(?:can(?:no|['’])t|could ?n[o'’]t|was not|is not|isn['’]t|not) (?:be )?(?:found|available)|no longer (?:exists?|available)|"
    r"is no longer|does(?: not|n['’]t) exist|(?:has been|was|may have been) (?:removed|deleted|moved)|"
    r"(?:wurde |konnte )?nicht (?:mehr )?(?:gefunden|verfügbar|vorhanden)|introuvable|non trouv[ée]e|no encontrada|non trovata)|"
    r"(?:can['’]?t|cannot|couldn['’]?t|could not|unable to|can not) (?:seem to )?find (?:that|this|the|what)|"
    r"(?:not found|nothing (?:was )?found(?: here)?|страница не найдена|fehler 404|gone)\W*$)"
)
_CHALLENGE = re.compile(
    r"(?i)just a moment|attention required|verify(?:ing)? (?:that )?you(?:'re| are) (?:a )?human|"
    r"are you (?:a )?(?:human|robot)|checking (?:if the site connection|your browser)|access (?:is |to this page )?(?:has been )?denied|"
    r"security (?:check|verification)|captcha|enable javascript and cookies to continue|unusual (?:traffic|activity)|robot check|"
    r"ddos protection|request (?:was |has been |could not be )?(?:blocked|satisfied)|bot (?:detection|protection)|pardon our interruption|"
    r"you have been blocked|human verification|^\W*(?:403 )?forbidden\W*$|not available in your (?:region|country)|unavailable for legal reasons"
)
_CHALLENGE_MARKS = re.compile(
    r"cdn-cgi/challenge-platform|cf-chl|_cf_chl|px-captcha|perimeterx|distil_|(?i:incapsula)|"
    r"captcha-delivery|datadome|awswaf|(?:h|re)captcha(?:\.com|/api)"
)
_CONSENT = re.compile(
    r"(?i)we (?:value|respect|care about) your privacy|before you continue|your (?:privacy |data )?choices|"
    r"cookies?\b.{0,200}\b(?:consent|accept|partners)|(?:accept|reject|agree)(?: to)? (?:all|cookies)|"
    r"(?:store|access)\W.{0,20}information on a device|manage (?:options|cookies|preferences|consent)|process(?:ing of)? (?:your )?personal data|"
    r"your choices apply|wir (?:schätzen|respektieren) ihre privatsphäre|alle akzeptieren|zustimmen und weiter|datenschutz-?einstellungen|"
    r"tout accepter|aceptar todo|personenbezogene daten verarbeiten"
)
_CONSENT_PLACE = re.compile(
    r"(?i)(?:^|[/.?&=-])(?:consent|gdpr|cmp|collectconsent|privacy-?(?:wall|gate)|cookie-?wall)"
)
_LICENCE = re.compile(
    r"(?i)\b(?:accept|agree to|confirm)\b.{0,30}\b(?:licen[cs]e|terms|conditions|agreement)\b|"
    r"\b(?:confirm|verify) (?:that )?(?:you are|your age)|are you (?:over|of legal)"
)
_SCRIPT = re.compile(
    r"(?i)(?:enable|requires?|need|without|activate|turn on|aktivieren|benötigt)\b.{0,40}java ?script|"
    r"java ?script.{0,60}(?:enable|required|disabled|to run|aktivier|not supported|is off)"
)
_PARKED = re.compile(
    r"(?i)(?:this )?domain (?:name )?(?:is|may be|might be|has expired|names? for sale)\b.{0,20}(?:sale|parked|expired|registered)|"
    r"(?:buy|purchase|inquire about|acquire|interested in) this domain|domain (?:for sale|parking)|parked (?:free|domain|by|page)|"
    r"sponsored listings displayed|related searches|diese domain (?:steht|ist).{0,20}(?:verkauf|registriert|geparkt)|domain (?:kaufen|zu verkaufen)|"
    r"this web(?:site|page) is parked|future home of"
)
_PARKED_MARKS = re.compile(
    r"(?i)adsense/domains|sedoparking|parkingcrew|bodis\.com|//(?:www\.)?dan\.com|hugedomains|parklogic|afternic\.com|godaddy\.com/(?:forsale|domainsearch)"
)
_WALL = re.compile(
    r"(?i)subscribe (?:now )?to (?:continue|read|keep|unlock|view|access)|(?:continue|keep) reading (?:with|for|by|your)|"
    r"already a (?:subscriber|member)|this (?:article|content|story) is (?:for|exclusive|reserved|only available)|"
    r"(?:log|sign) in to (?:continue|read)|to (?:read|continue reading) (?:the (?:full|rest)|this)|unlock (?:this|full) |"
    r"you(?:['’]ve| have) (?:reached|read) your (?:limit|free|last)|create (?:a free|an) account to (?:read|continue)|"
    r"weiterlesen mit|jetzt abonnieren|exklusiv für abonnenten|réservé aux abonnés|solo para suscriptores|"
    r"(?:for )?subscribers?[- ]only|for subscribers only|subscribe for full access"
)
_HOME = re.compile(r"^/?(?:index\.\w+|home(?:page)?|default\.aspx?|[a-z]{2}(?:-[a-z]{2})?)?/?$")


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
            "; ".join(["JSON-LD says that the article is not free", *wall]),
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
    at_home = bool(_HOME.match(got.path)) and not got.query
    if deep and at_home and site(seen.asked_url) == site(seen.url):
        return [f"asked for {asked.path[:80]}, ended at the home page"]
    return []


def _challenge(seen: Seen) -> list[str]:
    """Return the signals of a bot challenge or a refusal sent as a page."""
    if len(seen.text) > 1500:
        return []
    signals = [
        f"{place} {_phrase(_CHALLENGE, text)!r}"
        for place, text in (("title", seen.title), ("heading", seen.heading))
        if _CHALLENGE.search(text)
    ][:1]
    if len(seen.text) < 600 and _CHALLENGE.search(seen.text):
        signals.append(
            f"text of {len(seen.text)} characters says {_phrase(_CHALLENGE, seen.text)!r}"
        )
    if signals and _CHALLENGE_MARKS.search(seen.source[:200_000]):
        signals.append("challenge script")
    return ["challenge", *signals] if len(signals) >= 2 and seen.paragraphs < 3 else []


def _consent(seen: Seen) -> list[str]:
    """Return the signals of a consent page, or of a licence or age gate in place of a file."""
    if len(seen.text) > 4000:
        return []
    head = f"{seen.title}\n{seen.heading}"
    parts = urlsplit(seen.url)
    signals = []
    if _CONSENT_PLACE.search(f"{parts.netloc}{parts.path}"):
        signals.append("address of a consent page")
    if _CONSENT.search(head):
        signals.append(f"title or heading {_phrase(_CONSENT, head)!r}")
    share = _share(seen.text, _CONSENT)
    if share > 0.3:
        signals.append(f"{share:.0%} of the text is about consent")
    if len(signals) >= 2:
        return ["consent page", *signals]
    if len(seen.text) < 400 and seen.visible < 800 and _LICENCE.search(f"{head}\n{seen.text}"):
        asked = _phrase(_LICENCE, f"{head}\n{seen.text}")
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
    found = sorted({match[0].casefold() for match in _PARKED.finditer(everything)})
    signals = [f"text says {phrase!r}" for phrase in found[:3]]
    if found and _PARKED_MARKS.search(seen.source[:100_000]):
        signals.append("parking script or address")
    host = (urlsplit(seen.url).hostname or "").removeprefix("www.")
    if host and seen.title.strip().casefold() == host:
        signals.append("title is the domain")
    return signals if found and len(signals) >= 2 else []


def _soft_404(seen: Seen) -> list[str]:
    """Return the signals of an error page sent with status 200."""
    if seen.paragraphs >= 3 or len(seen.text) > 2000:
        return []
    signals = []
    title = re.split(r"\s[|–—·-]\s", seen.title)
    if any(_NOT_FOUND.search(part) for part in title if len(part) < 60):
        signals.append(f"title {seen.title[:80]!r}")
    if len(seen.heading) < 90 and _NOT_FOUND.search(seen.heading):
        signals.append(f"heading {seen.heading!r}")
    first = next((line for line in seen.text.split("\n")[:4] if _NOT_FOUND.search(line)), "")
    if first and len(seen.text) < 1200:
        signals.append(f"text of {len(seen.text)} characters says {first[:60]!r}")
    return signals if len(signals) >= 2 else []


def _needs_javascript(seen: Seen) -> list[str]:
    """Return the signals of a shell that a script would fill."""
    if seen.visible > 600 or not seen.counts["scripts"] or seen.paragraphs:
        return []
    signals = []
    if _SCRIPT.search(seen.view.noscript) or _SCRIPT.search(seen.text[:600]):
        signals.append("asks for JavaScript")
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
    ("parked", _parked),
    ("soft_404", _soft_404),
    ("redirect_home", _redirect_home),
    ("needs_javascript", _needs_javascript),
)


def _declared_free(seen: Seen) -> bool | None:
    """Return whether the page's own article says that it is free to read."""
    values = [item.get("isAccessibleForFree") for item in seen.articles]
    words = {"true": True, "false": False}
    said = [words.get(v.strip().lower()) if isinstance(v, str) else v for v in values]
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
    places = [i for i, line in enumerate(body) if _WALL.search(line.text[:400])]
    if not places or "newsletter" in body[places[0]].text.casefold():
        return []
    if any(len(line.text) - line.link_chars > 200 for line in body[places[-1] + 1 :]):
        return []
    return [f"short text that ends with {body[places[0]].text[:80]!r}"]
