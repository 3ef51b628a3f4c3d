"""The links of a page and the counts that show how it is laid out and paid for."""

from __future__ import annotations

import re
from collections import Counter
from urllib.parse import urljoin, urlsplit

from sourcebench.extract.lines import Line
from sourcebench.records import Link

MAX_LINKS = 400
_AD = re.compile(
    r"(?i)(?:^|[\s_-])(?:ads?|advert\w*|adsbygoogle|adslot|adunit|adbox|adwrap\w*|adcontainer|ad\d+|gpt|dfp|"
    r"sponsor\w*|promoted|taboola|outbrain|zergnet|revcontent|mgid|banner-?ads?|leaderboard|skyscraper|"
    r"native-?ad|adchoices|teads|primis|connatix)(?:$|[\s_\d-])"
)
_AD_HOST = re.compile(
    r"(?i)doubleclick\.net|googlesyndication|googleadservices|adservice\.|amazon-adsystem|taboola|outbrain|"
    r"zergnet|revcontent|mgid\.com|criteo|adnxs|rubiconproject|pubmatic|openx\.net|media\.net|sharethrough|"
    r"teads\.tv|adsafeprotected|moatads|indexww|casalemedia|adform|smartadserver|infolinks|buysellads|"
    r"carbonads|propellerads|popads|adsterra|adroll|googletagservices|ezoic|mediavine|adthrive"
)
_AFFILIATE = re.compile(
    r"(?i)//(?:[\w.-]*\.)?(?:amzn\.to|shareasale\.com|awin1\.com|anrdoezrs\.net|jdoqocy\.com|tkqlhce\.com|"
    r"dpbolvw\.net|kqzyfj\.com|linksynergy\.com|go\.redirectingat\.com|skimlinks?\.com|skimresources\.com|"
    r"viglink\.com|howl\.me|shopstyle\.it|rstyle\.me|clickbank\.net|avantlink\.com|pntra\.com|"
    r"impact\.com|sjv\.io|pxf\.io|prf\.hn|partnerize|tradedoubler\.com|zanox|belboon|financeads|"
    r"webgains|ebay\.[\w.]+/rover|aff(?:iliate)?s?\.|trk\.|track(?:ing)?\.)|[?&](?:aff(?:iliate)?_?id|aff|affid|"
    r"partner_?id|ascsubtag|irclickid|ref_?aff)=|amazon\.[\w.]+/.*[?&]tag=|/(?:go|out|recommends?|aff)/[\w-]+/?$"
)
_CTA = re.compile(
    r"(?i)\b(?:buy (?:it )?now|shop now|order now|add to (?:cart|basket|bag)|sign up(?: now| today| for)?|subscribe(?: now| today)?|"
    r"click here|check (?:the )?(?:latest |today'?s )?price|see (?:the )?deals?|view deal|get (?:it|the deal|started|yours)(?: now| today)?|"
    r"download now|try (?:it )?(?:for )?free|free trial|join now|limited[- ]time|act now|start (?:your )?(?:free )?trial|book now|"
    r"request a (?:demo|quote)|jetzt (?:kaufen|bestellen|anmelden|sichern|vergleichen)|in den warenkorb|zum (?:angebot|shop))\b"
)


def tree_counts(root) -> dict[str, int]:
    """Count what scripts and style leave behind; call before anything is taken out of the tree."""
    sources = root.xpath("//script/@src | //iframe/@src | //iframe/@data-src | //img/@src")
    return {
        "images": int(root.xpath("count(//img | //picture[not(.//img)] | //amp-img)")),
        "forms": int(root.xpath("count(//form)")),
        "inputs": int(root.xpath("count(//input[not(@type='hidden')] | //textarea)")),
        "scripts": int(root.xpath("count(//script[not(contains(@type,'json'))])")),
        "iframes": int(root.xpath("count(//iframe)")),
        "videos": int(
            root.xpath(
                "count(//video | //amp-video | //iframe[contains(@src,'youtube') or contains(@src,'vimeo')])"
            )
        ),
        "buttons": int(root.xpath("count(//button | //input[@type='submit'])")),
        "tables": int(root.xpath("count(//table)")),
        "headings": int(root.xpath("count(//h1|//h2|//h3|//h4|//h5|//h6)")),
        "paragraphs": int(root.xpath("count(//p)")),
        "list_items": int(root.xpath("count(//li)")),
        "ad_scripts": sum(bool(_AD_HOST.search(source)) for source in sources),
        "ad_elements": _ad_elements(root),
    }


def _ad_elements(root) -> int:
    """Count the outermost elements that class, id or address mark as advertising."""
    known: dict[str, bool] = {}
    found = set()
    count = 0
    for element in root.xpath("//body//*[@class or @id or self::iframe or self::ins]"):
        key = f"{element.get('class') or ''} {element.get('id') or ''}"
        if key not in known:
            known[key] = bool(_AD.search(key))
        if known[key] or (element.tag == "iframe" and _AD_HOST.search(element.get("src") or "")):
            if element.tag in ("body", "html", "main", "article", "script", "link", "style"):
                continue
            parent = element.getparent()
            while parent is not None and parent not in found:
                parent = parent.getparent()
            if parent is None:
                count += 1
                found.add(element)
    return count


def page_links(
    root, lines: list[Line], main: str, url: str, site: str
) -> tuple[tuple[Link, ...], dict[str, int]]:
    """Return the links of a page, bounded, and the counts over all of them.

    A link is `main` when the line it stands in is part of the main text.

    Parameters
    ----------
    main
        The main text with blanks collapsed.
    site
        The page's registered domain.
    """
    from sourcebench.extract.address import registered_domain

    anchors = root.xpath("//body//a[@href]")
    places = {i: line for line in lines for i in line.links}
    base = _base(root, url)
    made, counts = (
        [],
        Counter(
            links=0,
            external_links=0,
            internal_links=0,
            sponsored_links=0,
            affiliate_links=0,
            contact_links=0,
        ),
    )
    hosts = set()
    sites: dict[str, str] = {}
    inside: dict[int, bool] = {}
    for i, anchor in enumerate(anchors):
        href = (anchor.get("href") or "").strip()
        rel = " ".join((anchor.get("rel") or "").lower().split())[:60]
        if not href or href.startswith(("#", "javascript:", "data:")):
            continue
        counts["links"] += 1
        if href.startswith(("mailto:", "tel:")):
            counts["contact_links"] += 1
            absolute = href[:300]
        else:
            absolute = _join(base, href)
            host = urlsplit_host(absolute)
            if host not in sites:
                sites[host] = registered_domain(absolute) if host else ""
            if sites[host] and sites[host] != site:
                counts["external_links"] += 1
                hosts.add(sites[host])
            else:
                counts["internal_links"] += 1
            sponsored = "sponsored" in rel or bool(_AD_HOST.search(absolute))
            affiliate = bool(_AFFILIATE.search(absolute)) and sites[host] != site
            counts["sponsored_links"] += sponsored or affiliate
            counts["affiliate_links"] += affiliate
        line = places.get(i)
        if line is not None and id(line) not in inside:
            inside[id(line)] = bool(line.text) and not line.out and line.text in main
        place = "main" if line is not None and inside[id(line)] else "outside"
        text = " ".join(anchor.xpath("string()").split())[:160]
        made.append(Link(absolute, text, rel, place))
    counts["external_sites"] = len(hosts)
    counts["main_links"] = sum(link.place == "main" for link in made)
    return _bounded(made), dict(counts)


def _base(root, url: str) -> str:
    """Return the address that relative links start from."""
    found = root.xpath("string(//base/@href)").strip()
    return _join(url, found) if found else url


def _join(base: str, href: str) -> str:
    """Join addresses; what can't be joined stays as it is."""
    try:
        return urljoin(base, href)[:1000]
    except ValueError:
        return href[:1000]


def urlsplit_host(url: str) -> str:
    """Return the host of an address, or an empty text."""
    try:
        return urlsplit(url).hostname or ""
    except ValueError:
        return ""


def _bounded(links: list[Link]) -> tuple[Link, ...]:
    """Keep at most `MAX_LINKS`: those in the main text first, then the first and last of the rest."""
    if len(links) <= MAX_LINKS:
        return tuple(links)
    main = [i for i, link in enumerate(links) if link.place == "main"][: MAX_LINKS * 3 // 4]
    rest = [i for i, link in enumerate(links) if link.place != "main"]
    room = MAX_LINKS - len(main)
    half = room // 2
    chosen = sorted({*main, *rest[:half], *rest[len(rest) - (room - half) :]})
    return tuple(links[i] for i in chosen)


def line_counts(lines: list[Line]) -> dict[str, int]:
    """Count calls to buy or sign up, and lines that come again."""
    long = Counter(line.text for line in lines if len(line.text) >= 20)
    return {
        "cta_phrases": sum(len(_CTA.findall(line.text[:1000])) for line in lines),
        "repeated_lines": sum(n - 1 for n in long.values()),
        "lines": sum(1 for line in lines if line.text),
        "link_chars": sum(line.link_chars for line in lines),
    }
