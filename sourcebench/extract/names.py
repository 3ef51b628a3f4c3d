"""Names of people and organisations: cut out of bylines, split, cleaned and told apart."""

from __future__ import annotations

import re

MAX_NAMES = 12
_SPLIT = re.compile(r"\s*(?:,|&|;|\s/\s|\band\b|\bund\b|\bet\b|\bwith\b|\bmit\b)\s*")
_ROLE_MARK = re.compile(r"\s+[|–—•·]\s+|\s+-\s+")
_CREDENTIAL = re.compile(
    r"(?:[A-Z]{2,6}(?:[-/][A-Z]{1,4})?|M\.?D\.?|Ph\.?\s?D\.?|Pharm\.?D|[BM]\.?Sc\.?|[BM]\.A\.|J\.D\.|R\.[ND]\.|"
    r"D\.O\.|Ed\.?D|Psy\.?D|Dr\.?(?: \w+\.)?|Jr\.?|Sr\.?|Esq\.?|III?)"
)
_ROLE = re.compile(
    r"(?i)\b(?:writer|reporter|editor|correspondent|columnist|contributor|professor|director|officer|"
    r"specialist|scientist|analyst|journalist|researcher|fellow|lecturer|student|candidate|president|founder|"
    r"nutritionist|dietitian|physician|redakteur(?:in)?|autor(?:in)?|experte|expertin|freelance\w*|"
    r"staff|guest|special to|press|for)\b"
)
_ORGANISATION = re.compile(
    r"(?i)\b(?:staff|team|editors|editorial|redaktion|newsroom|desk|news|agency|press|reuters|afp|dpa|"
    r"department|office|institut\w*|university|universität|college|school|inc|ltd|llc|gmbh|corp|corporation|"
    r"company|society|association|organi[sz]ations?|council|ministry|board|foundation|magazine|times|media|"
    r"network|services?|cent(?:er|re)|bureau|commission|committee|clinic|hospital|library|contributors|"
    r"correspondents|reporters|writers|community|wire|project|daily|post|bund|verband|verein|amt|"
    r"ministerium|stiftung|gesellschaft|consortium|administration|authority|survey|unit|branch|division|directorate|trust|group|online|"
    r"customs|federal|national|international)\b|\b(?:U\.?S\.?|AP|CNN|BBC|NPR)\b|\.(?:com|org|net|de|io)\b"
)
_AGENCY = re.compile(
    r"(?:The )?(?:Associated Press|Canadian Press|Press Association|Bloomberg News)"
)
_RANKS = frozenset(
    [
        "staff",
        "senior",
        "contributing",
        "chief",
        "guest",
        "special",
        "associate",
        "executive",
        "managing",
        "science",
        "health",
        "political",
        "news",
        "deputy",
        "assistant",
        "freelance",
        "general",
        "technology",
        "business",
        "sports",
        "medical",
    ]
)
_NO_NAME = re.compile(
    r"(?i)^(?:admin(?:istrator)?|author|by|unknown|anonymous|null|none|user|guest|n/?a|default|subject|"
    r"root|test|webmaster|website|home|share|login|follow|comments?|read more|published|updated|topics?|"
    r"view all.*|posts? by.*|more (?:from|by).*|see (?:all|more).*|skip to.*|about.*|contact.*|link\d+|"
    r"all (?:posts|articles).*|our .*|the author|(?:jan|febr?)(?:uary)?|march|april|may|june|july|august|"
    r"(?:sept|octo|novem|decem)(?:ember|ber)?|(?:mon|tues|wednes|thurs|fri|satur|sun)day|today|yesterday)$"
)
_HANDLE = re.compile(r"^@|https?:|facebook\.com|twitter\.com|www\.|[<>{}=]")
# Words that mean "by" only in front of a name: in other places "door" is a door.
BY = (
    r"(?:di|[Dd]oor|[Aa]v|[Aa]f|[Ss]critto da|[Aa] cura di|[Gg]eschreven door|[Ss]k(?:riven|revet) a[vf]|"
    r"[Tt]ekst(?: og foto)?:|[Tt]exto?:|[Tt]exte:|[Tt]esto:|[Ee]scrito por|[Éé]crit par|[Rr]édigé par|[Vv]erfasst von|"
    r"[Gg]eschrieben von|[Kk]irjoittanut|[Tt]eksti:|[Yy]azar:|[Yy]azan:|[Ss]zerző:|[Íí]rta:|[Nn]apsala?|[Аа]втор:|[Тт]екст:|[Rr]edaktion:|[Rr]edacción:|[Rr]édaction:)"
)
_LEADING = re.compile(
    r"^(?:(?i:(?:(?:written|posted|story|text|words|article|photos?|reviewed) by|by|von|par|por|authors?|autor(?:in)?|auteur)"
    rf"\b\s*:?\s*)|{BY}\s+)"
)
_STOP = re.compile(
    r"(?i)\s*(?:[|•·–—;(\[\]<>\n]|\s-\s|\S+@|@\w|,?\s+(?:on|at|in|for|from|published|updated|posted|last|is|was|has|"
    r"reviewed|medically|special to|contributing|veröffentlicht|publié|aktualisiert|vom|am|le|el|via|"
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|\d+ \w+ ago|(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec)\w*\.? \d+)\b|(?<!\b\w)(?<!\bDr)(?<!\bProf)(?<!\bSt)(?<!\bJr)"
    r"(?<!\bSr)(?<!\bMr)(?<!\bMrs)(?<!\bMs)\.(?:\s|$)|/|:|\d|,\s+(?!(?:with|mit|and|und|et)\b)(?=(?-i:[a-z])|the\b))"
)
_PARTICLES = {
    "de",
    "da",
    "di",
    "del",
    "della",
    "der",
    "den",
    "van",
    "von",
    "zu",
    "la",
    "le",
    "bin",
    "al",
    "el",
    "ter",
    "dos",
    "du",
    "y",
    "e",
}


def split_names(text: str) -> list[tuple[str, str]]:
    """Split a line of authors into names, each with the role or credentials that follow it.

    Returns
    -------
    list of (name, role)
        "Rachael Link, MS, RD" is one name with a role; so is "A. Krisher, AP Auto Writer". The name
        of an organisation is not split at "and".
    """
    text = " ".join(text.split())
    if not text or len(text) > 300:
        return []
    head, *roles = _ROLE_MARK.split(text, maxsplit=1)
    if _ORGANISATION.search(head) and len(head) < 90 and not re.search(r"[,;]", head):
        name = clean_name(head)
        return [(name, " ".join(roles))] if name else []
    found: list[tuple[str, str]] = []
    for part in _SPLIT.split(head):
        if found and _is_role(part, found[-1][0]):
            name, role = found[-1]
            found[-1] = (name, f"{role}, {part}".strip(", "))
        elif clean_name(part):
            found.append((clean_name(part), ""))
    if found and roles:
        found[-1] = (found[-1][0], f"{found[-1][1]}, {roles[0]}".strip(", "))
    return [(name, role[:160]) for name, role in found[:MAX_NAMES]]


def _is_role(part: str, name: str) -> bool:
    """Whether what follows a name says what or where its bearer is, rather than being another name."""
    if _CREDENTIAL.fullmatch(part) or (_ROLE.search(part) and not _looks_double(part)):
        return True
    alone = len(part.split()) == 1 and not re.search(r"[^\W\d_]\.", part)
    return len(name.split()) > 1 and (alone or _AGENCY.fullmatch(part) is not None)


def _looks_double(part: str) -> bool:
    """Whether a part is first a name and then a role, so it is a person of its own."""
    if part.split()[0].casefold() in _RANKS:
        return False
    return (
        bool(re.match(r"[A-Z][a-z]+ [A-Z][a-z]+\b(?! Writer| Editor| Reporter)", part))
        and len(part.split()) == 2
    )


def clean_name(name: str) -> str:
    """Return a name without what surrounds it, or an empty text when it is none."""
    name = _LEADING.sub("", " ".join(name.split())).strip(" ,;:|-–—•·\"'“”()[]")
    if not 2 <= len(name) <= 80 or _NO_NAME.match(name) or _HANDLE.search(name):
        return ""
    return name if len(name.split()) <= 8 and re.search(r"[^\W\d_]", name) else ""


def leading_names(text: str) -> list[tuple[str, str]]:
    """Return the names that the rest of a byline starts with; what follows the last is its role."""
    text = re.sub(r"^\s*the\s+(?=[A-Z])", "", text)
    stop = _STOP.search(text)
    whole = text[: stop.start()] if stop else text
    if stop and _ORGANISATION.fullmatch(text[:30].split("  ")[0]):
        whole = text
    names = [(name, role) for name, role in split_names(whole) if is_namelike(name)]
    if names and stop:
        rest = re.split(
            r"\d|\.\s|\s[|•·–—-]\s|\b(?:on|and|published|updated)\b",
            text[stop.start() :].strip(" ,|/-"),
        )[0]
        if _ROLE.search(rest):
            names[-1] = (names[-1][0], f"{names[-1][1]}, {rest.strip(' ,.|()')}".strip(", ")[:160])
    return names[:4]


def is_namelike(name: str) -> bool:
    """Whether a text reads as a name: up to five words, each with a capital or a particle."""
    words = name.split()
    capitals = [word for word in words if word[:1].isupper()]
    others = [
        word for word in words if not word[:1].isupper() and word.casefold() not in _PARTICLES
    ]
    return 1 <= len(words) <= 6 and bool(capitals) and not others


def kind_of(name: str, owners: tuple[str, ...] = ()) -> str:
    """Return person or organisation: by its words, or by being the name of the site.

    Parameters
    ----------
    owners
        Names of the site, its publisher and its domain.
    """
    key = name_key(name)
    if any(key and key == name_key(owner) for owner in owners):
        return "organisation"
    return "organisation" if _ORGANISATION.search(name) else "person"


def name_key(name: str) -> str:
    """Return a name without case, blanks, marks and titles, for comparing."""
    name = re.sub(r"(?i)\b(?:dr|prof|professor|mr|mrs|ms)\b\.?", "", name)
    return re.sub(r"\W+", "", name.casefold())
