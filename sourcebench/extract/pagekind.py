"""What a page is, and whether what came back is the page at all."""

from __future__ import annotations

import itertools
import re
from dataclasses import dataclass
from typing import Any
from urllib.parse import urlsplit

from sourcebench.extract.jsonld import types
from sourcebench.extract.lines import Line

_NOT_FOUND = re.compile(
    r"(?i)\b(?:404|410)\b|(?:page|article|content|story|url|document|site|file|item|product)\s+(?:can(?:no|')t be found|"
    r"(?:was |could |is )?not (?:be )?(?:found|available)|no longer (?:exists|available)|does(?: not|n['’]t) exist|"
    r"(?:has been|was) (?:removed|deleted))|(?:can['’]?t|cannot|couldn['’]?t|could not|unable to) find (?:that|this|the) page|"
    r"not found|nothing (?:was )?found|seite (?:wurde )?nicht gefunden|nicht (?:mehr )?(?:gefunden|verfügbar)|"
    r"page (?:introuvable|non trouv[ée]e)|p[áa]gina no encontrada|pagina non trovata|страница не найдена|"
    r"oops[!,.]? (?:we|that|this|page)"
)
_CHALLENGE = re.compile(
    r"(?i)just a moment|attention required|verify(?:ing)? (?:that )?you(?:'re| are) (?:a )?human|are you (?:a )?(?:human|robot)|"
    r"checking (?:if the site connection|your browser)|access denied|security check|captcha|"
    r"enable javascript and cookies to continue|unusual traffic|robot check|ddos protection|"
    r"please verify|request (?:was |has been )?blocked|bot (?:detection|protection)|pardon our interruption|"
    r"you have been blocked|human verification"
)
_CHALLENGE_MARKS = re.compile(
    r"cdn-cgi/challenge-platform|cf-chl|_cf_chl|px-captcha|perimeterx|distil_|incapsula|_Incapsula_|"
    r"datadome|captcha-delivery|h-captcha|g-recaptcha|akamai.{0,20}bot|awswaf|hcaptcha\.com"
)
_CONSENT = re.compile(
    r"(?i)we (?:value|respect|care about) your privacy|before you continue|your (?:privacy )?choices|cookies?\b.*\b(?:consent|accept|partners)|"
    r"(?:accept|reject|agree)(?: to)? (?:all|cookies)|store and/?(?: ?or)? access information on a device|manage (?:options|cookies|preferences)|"
    r"wir (?:schätzen|respektieren) ihre privatsphäre|alle akzeptieren|zustimmen und weiter|datenschutz-?einstellungen|"
    r"tout accepter|aceptar todo|process personal data"
)
_CONSENT_PLACE = re.compile(r"(?i)consent|gdpr|cmp|privacy-?(?:wall|gate)|cookie-?wall")
_SCRIPT = re.compile(
    r"(?i)(?:enable|requires?|need|without|activate|turn on|aktivieren|benötigt|unterst)\b.{0,40}javascript|"
    r"javascript.{0,60}(?:enable|required|disabled|to run|aktivier|not supported|is off)"
)
_MOUNT = "//body//*[@id='root' or @id='app' or @id='__next' or @id='__nuxt' or @id='___gatsby' or @id='main-app' or @id='react-root' or @id='application' or self::app-root]"
_PARKED = re.compile(
    r"(?i)domain (?:name )?(?:is|may be|might be|has expired|names? for sale)|(?:buy|purchase|inquire about|acquire) this domain|"
    r"domain (?:for sale|parking)|parked (?:free|domain|by|page)|sponsored listings displayed|related searches|"
    r"diese domain (?:steht|ist)|domain (?:kaufen|zu verkaufen)|this web(?:site|page) is parked|future home of|"
    r"hugedomains|sedoparking|dan\.com|bodis|parkingcrew|godaddy\.com/(?:forsale|domainsearch)"
)
_PARKED_MARKS = re.compile(
    r"(?i)adsense/domains|sedoparking|parkingcrew|bodis\.com|dan\.com|hugedomains|parklogic|above\.com/"
)
_WALL = re.compile(
    r"(?i)subscribe (?:now )?to (?:continue|read|keep|unlock|view|access)|(?:continue|keep) reading (?:with|for|by|your)|"
    r"already a (?:subscriber|member)|this (?:article|content|story) is (?:for|exclusive|reserved|only available)|"
    r"(?:log|sign) in to (?:continue|read)|to (?:read|continue reading) (?:the (?:full|rest)|this)|unlock (?:this|full) |"
    r"you(?:'ve| have) (?:reached|read) your (?:limit|free|last)|create (?:a free|an) account to (?:read|continue)|"
    r"weiterlesen mit|jetzt abonnieren|exklusiv für abonnenten|réservé aux abonnés|solo para suscriptores|"
    r"subscriber[- ]only|for subscribers only|subscribe for full access|start your (?:free )?(?:trial|subscription)"
)


@dataclass(frozen=True)
class Seen:
    """What the rules about a page's outcome look at, gathered once."""

    url: str
    title: str
    heading: str
    text: str
    lines: list[Line]
    counts: dict[str, int]
    noscript: str
    source: str
    root: Any
    items: list[dict[str, Any]]
    status: int = 200
    asked: str = ""


def page_outcome(seen: Seen) -> tuple[str, str, tuple[str, ...]]:
    """Return the outcome of a page, the signals that decided it in words, and flags.

    No phrase decides alone: it counts with the place it stands in (title, heading, the only text),
    and with how much else there is on the page.
    """
    for name, rule in (
        ("interstitial", _interstitial),
        ("parked", _parked),
        ("soft_404", _soft_404),
        ("needs_javascript", _needs_javascript),
    ):
        signals = rule(seen)
        if signals:
            return name, "; ".join(signals), ()
    walled = _paywall(seen)
    if walled:
        return "partial", "; ".join(walled), ("paywall",)
    if not seen.text.strip():
        return "empty", "no visible text", ()
    return "ok", "", ()


def _interstitial(seen: Seen) -> list[str]:
    """Return the signals of a consent page or a challenge."""
    length = len(seen.text)
    head = f"{seen.title}\n{seen.heading}"
    signals = []
    if length < 1500 and _CHALLENGE.search(head):
        signals.append(f"title or heading {_found(_CHALLENGE, head)!r}")
    if length < 1500 and _CHALLENGE_MARKS.search(seen.source[:200_000]):
        signals.append("challenge script")
    if length < 600 and _CHALLENGE.search(seen.text):
        signals.append(f"text of {length} characters says {_found(_CHALLENGE, seen.text)!r}")
    if len(signals) >= 2:
        return ["challenge", *signals]
    signals = []
    place = f"{urlsplit(seen.url).netloc}{urlsplit(seen.url).path}"
    if _CONSENT_PLACE.search(place):
        signals.append("address of a consent page")
    if _CONSENT.search(head):
        signals.append(f"title or heading {_found(_CONSENT, head)!r}")
    phrases = {m.group(0).casefold()[:30] for m in _CONSENT.finditer(seen.text[:5000])}
    share = _share(seen.text, _CONSENT)
    if len(phrases) >= 1 and share > 0.3:
        signals.append(f"{share:.0%} of the text is about consent")
    return ["consent page", *signals] if len(signals) >= 2 and length < 4000 else []


def _share(text: str, pattern: re.Pattern) -> float:
    """Return the share of a text's characters in paragraphs that hold a phrase."""
    paragraphs = [p for p in text.split("\n") if p.strip()]
    total = sum(map(len, paragraphs)) or 1
    return sum(len(p) for p in paragraphs if pattern.search(p)) / total


def _found(pattern: re.Pattern, text: str) -> str:
    """Return the phrase that a pattern finds."""
    return pattern.search(text)[0][:60]


def _parked(seen: Seen) -> list[str]:
    """Return the signals of a parked domain."""
    if len(seen.text) > 2500:
        return []
    everything = " ".join(line.text for line in seen.lines)[:6000]
    signals = [
        f"text says {m!r}" for m in sorted({m.group(0) for m in _PARKED.finditer(everything)})[:3]
    ]
    if _PARKED_MARKS.search(seen.source[:100_000]):
        signals.append("parking script or address")
    host = (urlsplit(seen.url).hostname or "").removeprefix("www.")
    if host and seen.title.strip().casefold() == host:
        signals.append("title is the domain")
    return signals if len(signals) >= 2 else []


def _soft_404(seen: Seen) -> list[str]:
    """Return the signals of an error page sent with status 200."""
    paragraphs = sum(
        1 for line in seen.lines if not line.out and len(line.text) - line.link_chars > 140
    )
    signals = []
    title = re.split(r"\s[|–—·-]\s", seen.title)[0]
    if _NOT_FOUND.search(title) and len(title) < 60:
        signals.append(f"title {title!r}")
    if seen.heading and _NOT_FOUND.search(seen.heading) and len(seen.heading) < 80:
        signals.append(f"heading {seen.heading!r}")
    first = seen.text[:300]
    if _NOT_FOUND.search(first) and len(seen.text) < 1200:
        signals.append(f"text says {_found(_NOT_FOUND, first)!r}")
    if signals and (paragraphs >= 3 or len(seen.text) > 2000):
        return []
    return signals if len(signals) >= 2 else []


def _needs_javascript(seen: Seen) -> list[str]:
    """Return the signals of a shell that a script would fill."""
    visible = sum(len(line.text) for line in seen.lines)
    if visible > 600 or not seen.counts.get("scripts"):
        return []
    signals = []
    if _SCRIPT.search(seen.noscript) or _SCRIPT.search(seen.text[:600]):
        signals.append("asks for JavaScript")
    if any(not " ".join(e.itertext()).strip() for e in seen.root.xpath(_MOUNT)[:5]):
        signals.append("empty mount point")
    if visible < 0.01 * len(seen.source) and visible < 300:
        signals.append(f"{visible} visible characters in {len(seen.source)} of source")
    if visible < 40 and seen.counts["scripts"] >= 1:
        signals.append("next to no visible text beside scripts")
    return signals if len(signals) >= 2 else []


def _paywall(seen: Seen) -> list[str]:
    """Return the signals of a text that goes on behind a wall."""
    declared = [_free(item) for item in seen.items]
    if False in declared and not (True in declared and len(seen.text) > 3000):
        return ["JSON-LD says the article is not free"]
    if True in declared:
        return []
    if len(seen.text) < 2500:
        walls = [line.text for line in seen.lines if not line.out and _WALL.search(line.text)]
        strong = [text for text in walls if not re.search(r"(?i)newsletter", text)]
        if strong and _wall_at_end(seen, strong):
            return [f"short text that ends with {strong[0][:80]!r}"]
    return []


def _free(item: dict[str, Any]) -> bool | None:
    """Return what an article says of its being free."""
    value = item.get("isAccessibleForFree")
    if isinstance(value, str):
        value = {"true": True, "false": False}.get(value.strip().lower())
    return value if isinstance(value, bool) else None


def _wall_at_end(seen: Seen, walls: list[str]) -> bool:
    """Whether after the wall no paragraph of the article follows."""
    body = [line for line in seen.lines if not line.out]
    last = max(i for i, line in enumerate(body) if line.text in walls)
    return not any(len(line.text) - line.link_chars > 200 for line in body[last + 1 :])


_KINDS = (
    ("forum", r"DiscussionForumPosting|ForumPosting"),
    ("qa", r"^QAPage$|^Question$"),
    ("recipe", r"^Recipe$"),
    ("opinion", r"^OpinionNewsArticle$|^AnalysisNewsArticle$"),
    ("review", r"^Review(?:NewsArticle)?$|^CriticReview$"),
    ("shop", r"^Product(?:Group)?$|^IndividualProduct$"),
    ("article", r"Article$|BlogPosting$|^Report"),
    ("medical", r"^MedicalWebPage$"),
    ("listing", r"^CollectionPage$|^SearchResultsPage$"),
    ("video", r"^VideoObject$"),
)
_URL_KINDS = (
    (
        "forum",
        r"^forums?\.|/forums?/|/threads?/|/viewtopic|showthread|reddit\.com/r/|/t/[\w-]+/\d+|community\.|/comments/",
    ),
    ("qa", r"stackexchange\.com|stackoverflow\.com/questions|quora\.com|/questions/\d+|gutefrage"),
    ("encyclopedia", r"wikipedia\.org/wiki|/wiki/|britannica\.com|encyclopedia"),
    (
        "documentation",
        r"^docs?\.|/docs?/|readthedocs|/documentation/|/manual/|/reference/|developer\.",
    ),
    (
        "press_release",
        r"prnewswire|businesswire|globenewswire|prweb|/press-?releases?/|/pressemitteilung|^prwire|/newsroom/|accesswire|einpresswire",
    ),
    ("opinion", r"/opinions?/|/op-?ed/|/commentary/|/comment/|/kommentar|/editorial/"),
    ("shop", r"/products?/|/dp/[A-Z0-9]{10}|/shop/|/item/|/p/\d|/buy/"),
    ("listing", r"/(?:category|tag|topics?|search|archive)s?/|[?&](?:q|s|query|search)="),
)


def page_kind(root, items, metas, url: str, title: str, lines: list[Line], text: str) -> str:
    """Return what kind of page it is, from JSON-LD, markup, address, og:type and layout."""
    parts = urlsplit(url)
    place = f"{(parts.hostname or '').removeprefix('www.')}{parts.path}" + (
        f"?{parts.query}" if parts.query else ""
    )
    declared = {name for item in items for name in types(item)}
    marked = set(root.xpath("//*[@itemtype]/@itemtype"))
    declared |= {value.rstrip("/").split("/")[-1] for value in marked}
    generator = " ".join(metas.get("generator", ())).casefold()
    if parts.path in ("", "/", "/index.html", "/index.php") and not parts.query:
        return "home"
    if _has(declared, "DiscussionForumPosting") or re.search(
        r"discourse|phpbb|vbulletin|xenforo|flarum|mybb", generator
    ):
        return "forum"
    if "mediawiki" in generator:
        return "encyclopedia"
    if re.search(r"sphinx|mkdocs|docusaurus|gitbook", generator):
        return "documentation"
    for kind in ("qa", "encyclopedia", "press_release", "forum", "documentation"):
        if re.search(dict(_URL_KINDS)[kind], place, re.IGNORECASE):
            return kind
    section = " ".join(metas.get("article:section", ())).casefold()
    if section in (
        "opinion",
        "opinions",
        "commentary",
        "kommentar",
        "meinung",
        "editorial",
    ) or re.match(r"(?i)opinion\b\s*[:|-]", title):
        return "opinion"
    for kind, pattern in _KINDS:
        if _has(declared, pattern):
            if kind == "article" and re.search(dict(_URL_KINDS)["opinion"], place, re.IGNORECASE):
                return "opinion"
            if kind not in ("listing", "video", "shop") or (
                kind == "shop" and not _has(declared, "Article$|BlogPosting$")
            ):
                return kind
    og = " ".join(metas.get("og:type", ())).casefold()
    if "product" in og:
        return "shop"
    if "article" in og:
        return "article"
    for kind in ("opinion", "shop"):
        if re.search(dict(_URL_KINDS)[kind], place, re.IGNORECASE):
            return kind
    if _has(declared, "CollectionPage|SearchResultsPage") or _is_listing(lines, text):
        return "listing"
    if re.search(dict(_URL_KINDS)["listing"], place, re.IGNORECASE) and _is_listing(
        lines, text, lenient=True
    ):
        return "listing"
    return "article"


def _has(declared: set[str], pattern: str) -> bool:
    """Whether a declared type matches."""
    return any(re.search(pattern, name) for name in declared)


def _is_listing(lines: list[Line], text: str, *, lenient: bool = False) -> bool:
    """Whether a page is made of many headed teasers or of links rather than of one text."""
    body = [line for line in lines if not line.out and line.text]
    headings = [i for i, line in enumerate(body) if line.heading]
    chars = sum(len(line.text) for line in body) or 1
    linked = sum(min(line.link_chars, len(line.text)) for line in body)
    if linked > (0.5 if lenient else 0.65) * chars and len(body) > 15:
        return True
    if len(headings) < 6:
        return False
    gaps = [b - a for a, b in itertools.pairwise(headings)]
    between = [
        sum(len(line.text) for line in body[a + 1 : b]) for a, b in itertools.pairwise(headings)
    ]
    short = sum(1 for gap, size in zip(gaps, between, strict=True) if gap <= 4 and size < 250)
    return short >= 0.8 * len(gaps)


def is_discussion(root, items, url: str) -> bool:
    """Whether posts of readers are the content of a page."""
    return page_kind(root, items, _generator(root), url, "", [], "") in ("forum", "qa")


def _generator(root) -> dict[str, list[str]]:
    """Return the generator meta elements."""
    return {"generator": root.xpath("//meta[@name='generator']/@content")}
