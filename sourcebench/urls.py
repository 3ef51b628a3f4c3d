"""One page, many addresses: the canonical form of an address, and the identities made from it."""

from __future__ import annotations

import base64
import hashlib
import html
import ipaddress
import re
from collections.abc import Collection
from functools import lru_cache
from typing import Literal, NamedTuple
from urllib.parse import parse_qsl, quote, unquote, urlsplit

# Changes whenever an address could get another identity; a study keeps its identities only
# as long as this stays. The rules are fixed here, and not left to the lists of a library, because
# a new release of a list would cut a released study's scores loose from its citations.
URL_RULES = "1"

Rule = Literal["scheme", "www", "slash", "mobile", "amp"]

# Parameters that say where a reader came from. Exact names and families taken from the
# published lists (ClearURLs, Firefox query stripping, AdGuard, courlan); names that also stand for
# content on many sites (ref, source, keyword, uid, cid, sid, page, id, v) are left alone.
_TRACKING_FAMILIES = re.compile(
    "(?:utm|mtm|matomo|pk|piwik|hsa|itm|at|guce|soc|fb_action|fb_comment|trk|ns|vero|oly|sc)_"
    "|aspsessionid"
)
_TRACKING = frozenset(
    """
    fbclid gclid gclsrc dclid gbraid wbraid gad_source gad_campaignid msclkid yclid ysclid twclid
    ttclid tblci li_fat_id igshid igsh mc_cid mc_eid mkt_tok _ga _gl _openstat openstat
    __hssc __hstc __hsfp _hsenc _hsmi hsctatracking rb_clickid wickedid s_cid s_kwcid ef_id
    srsltid spm scm cmpid ncid ref_src ref_url fb_source fb_ref xtor wt_mc smid smtyp guccounter
    dm_i epik sscid irclickid irgwc cjevent awc _branch_match_id _branch_referrer _bta_tid _bta_c
    _ke _kx usqp amp_js_v amp_gsa action_object_map action_type_map action_ref_map
    phpsessid jsessionid sessionid session_id cfid cftoken oscsid zenid trk trkcampaign
    """.split()  # noqa: SIM905
)
_SESSION_IN_PATH = re.compile(r";(?:jsessionid|phpsessid|sid)=[^/;]*", re.IGNORECASE)
_AMP_IN_PATH = re.compile(r"(?<=[^/])/amp/?$|(?<=[^/])\.amp(?=\.html?$)|(?<=[^/])\.amp$")
_HTML_ESCAPE = re.compile(r"^(?:amp;)+")
_FROM_ENGINE = re.compile(
    r"(?:www\.)?(?:chatgpt|openai|perplexity|copilot|gemini|claude)(?:\.\w+)?"
)

_DEFAULT_PORT = {"http": 80, "https": 443}
_UNRESERVED = frozenset("ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789-._~")
_ESCAPE = re.compile(r"%([0-9A-Fa-f]{2})")
_HOST = re.compile(r"(?=.{1,253}$)[a-z0-9_](?:[a-z0-9_-]{0,62})(?:\.[a-z0-9_][a-z0-9_-]{0,62})*")


def canonical_url(url: str, *, keep: Collection[Rule] = ()) -> str:
    """Return the form of an address under which all its spellings are one page.

    Not part of a page's identity: tracking parameters, session numbers, parameter order,
    fragments (text fragments too), default ports, the case of scheme and host, and, unless kept,
    http or https, `www.`, a trailing slash, mobile hosts and AMP forms. Part of it: the path with its case, every
    other parameter, and hash routes (`#/...`, `#!...`). Links of redirect services that carry
    their target become the target.

    Parameters
    ----------
    url
        The address as cited.
    keep
        Rules to switch off, by name: "scheme", "www", "slash", "mobile", "amp".

    Raises
    ------
    ValueError
        If the text is no address of the web. The message never repeats a password.
    """
    parts = split_url(unwrap(url))
    scheme = parts.scheme if "scheme" in keep else "https"
    named = parts.port not in (None, _DEFAULT_PORT[scheme])
    host = _host_twin(parts.host, keep) + (f":{parts.port}" if named else "")
    query, route = _query(parts.query, keep), _route(parts.fragment)
    address = f"{scheme}://{host}{_path(parts.path, keep)}"
    return address + (f"?{query}" if query else "") + (f"#{route}" if route else "")


def page_id(url: str, *, keep: Collection[Rule] = ()) -> str:
    """Return the identity of a page: 16 hexadecimal digits of the SHA-256 of its canonical address.

    A text that is no address gets an identity of its own, so that it stays countable.
    """
    try:
        named = canonical_url(url, keep=keep)
    except ValueError:
        named = url.strip()
    return hashlib.sha256(named.encode("utf-8", "surrogatepass")).hexdigest()[:16]


def site(url: str) -> str:
    """Return the registered domain of an address, by the bundled public suffix list.

    Hosts under a private suffix (`someone.github.io`) are sites of their own: they have
    different owners. An IP address is its own site. Without a host, and for a redirect link that
    hides its target, the result is empty: the link's host is not where the page is.
    """
    try:
        host = split_url(unwrap(url)).host
    except ValueError:
        return ""
    if is_redirector(url):
        return ""
    return _suffixes()(host).top_domain_under_public_suffix or host


# The names kept free for examples (RFC 2606) are in no list; made-up sites under them are given
# the second levels that countries use.
_RESERVED = ("example", "test", "invalid")
_KINDS = ("ac", "co", "com", "edu", "gov", "mil", "net", "org")


@lru_cache(maxsize=1)
def _suffixes():
    """Return the reader of the public suffix list in tldextract's package: no network, no cache."""
    import tldextract

    return tldextract.TLDExtract(
        suffix_list_urls=(),
        cache_dir=None,
        include_psl_private_domains=True,
        extra_suffixes=[*_RESERVED, *(f"{k}.{r}" for r in _RESERVED for k in _KINDS)],
    )


# --- reading an address --------------------------------------------------------------------------


class Parts(NamedTuple):
    """An address in its parts: lower-case scheme, ASCII host, port only where not the default."""

    scheme: str
    host: str
    port: int | None
    path: str
    query: str
    fragment: str


@lru_cache(maxsize=10_000)
def split_url(url: str) -> Parts:
    """Split an address of the web into its parts.

    Raises
    ------
    ValueError
        If the text is no address of the web, or holds a user name or password. The message never repeats a password.
    """
    text = "".join(c for c in url.strip() if c not in "\t\r\n")
    try:
        text.encode("utf-8")
        parts = urlsplit(text)
        port = parts.port
    except ValueError as error:
        raise ValueError(f"not a web address: {_shown(url)} ({_plain_reason(error)})") from None
    if parts.scheme not in _DEFAULT_PORT:
        raise ValueError(
            f"not a web address: {_shown(url)} does not start with http:// or https://"
        )
    if parts.username is not None or parts.password is not None:
        raise ValueError("not a web address to visit: it holds a user name or password")
    host = _ascii_host(parts.hostname or "", url)
    port = None if port == _DEFAULT_PORT[parts.scheme] else port
    return Parts(parts.scheme, host, port, parts.path, parts.query, parts.fragment)


def _plain_reason(error: ValueError) -> str:
    """Return why an address could not be read, without the text that could not be encoded."""
    return "text that is not valid Unicode" if isinstance(error, UnicodeError) else str(error)


def _shown(url: str) -> str:
    """Return an address for a message: short, on one line, without user name and password."""
    safe = re.sub(r"//[^/@\s]*@", "//***@", url)
    return ascii(safe if len(safe) <= 120 else safe[:117] + "...")


def _ascii_host(host: str, url: str) -> str:
    """Return a host as it goes on the wire: lower case, punycode, IPv6 in its short form."""
    if ":" in host:
        try:
            return f"[{ipaddress.IPv6Address(host).compressed}]"
        except ValueError:
            raise ValueError(f"not a web address: {_shown(url)} has no readable host") from None
    name = host.rstrip(".").lower()
    if not name.isascii():
        import idna

        try:
            name = idna.encode(name, uts46=True).decode("ascii")
        except (idna.IDNAError, UnicodeError):
            name = ""
    if not _HOST.fullmatch(name):
        raise ValueError(f"not a web address: {_shown(url)} has no readable host")
    return name


_TWIN_LABELS = {"www": "www", "m": "mobile", "mobile": "mobile", "amp": "amp"}
_LANGUAGE_TWIN = re.compile(r"([a-z]{2,3})\.m\.(.+\..+)")  # en.m.wikipedia.org


def _host_twin(host: str, keep: Collection[Rule] = ()) -> str:
    """Drop the labels that mark a twin of a host, as long as a domain remains."""
    while True:
        first, _, rest = host.partition(".")
        rule = _TWIN_LABELS.get(first)
        if rule and rule not in keep and "." in rest:
            host = rest
        elif "mobile" not in keep and (match := _LANGUAGE_TWIN.fullmatch(host)):
            host = f"{match[1]}.{match[2]}"
        else:
            return host


# --- putting it together -------------------------------------------------------------------------


def _escaped(text: str, safe: str) -> str:
    """Return text with one spelling of each character: needless escapes undone, needed ones made."""
    return quote(_ESCAPE.sub(lambda match: _one_escape(match[1]), text), safe=safe + "%")


def _one_escape(digits: str) -> str:
    """Return the character of an escape that need not be one, else the escape in capitals."""
    character = chr(int(digits, 16))
    return character if character in _UNRESERVED else f"%{digits.upper()}"


def _path(path: str, keep: Collection[Rule]) -> str:
    """Return a path without dot segments, session number, AMP mark and trailing slash."""
    path = _escaped(path, "/!$&'()*+,;=:@")
    before = None
    while path != before:  # one mark may stand behind another
        before = path
        path = _without_dots(_SESSION_IN_PATH.sub("", path))
        if "amp" not in keep:
            path = _AMP_IN_PATH.sub("", path)
        if "slash" not in keep:
            path = path.rstrip("/")
    return path or "/"


def _without_dots(path: str) -> str:
    """Resolve `.` and `..` as RFC 3986, 5.2.4 does."""
    kept: list[str] = []
    segments = path.split("/")[1:]
    for segment in segments:
        if segment == "..":
            del kept[-1:]
        elif segment != ".":
            kept.append(segment)
    if segments and segments[-1] in (".", ".."):
        kept.append("")
    return "/" + "/".join(kept)


def _query(query: str, keep: Collection[Rule]) -> str:
    """Return the parameters that matter, ordered by name; equal names keep their order."""
    pairs = []
    for pair in query.split("&"):
        name, equals, value = _HTML_ESCAPE.sub("", pair).partition("=")
        if (name or value) and not _is_tracking(unquote(name), unquote(value), keep):
            pairs.append((_parameter(name), equals + _parameter(value)))
    return "&".join(name + value for name, value in sorted(pairs, key=lambda pair: pair[0]))


def _parameter(text: str) -> str:
    """Return one spelling of a name or value; `+` is a space."""
    return _escaped(text.replace("+", "%20"), "!$'()*,;:@/?=")


def _is_tracking(name: str, value: str, keep: Collection[Rule]) -> bool:
    """Whether a parameter says nothing about the page."""
    name, value = name.lower(), value.lower()
    if name in ("ref", "source", "src", "referrer") and _FROM_ENGINE.fullmatch(value):
        return True
    if "amp" not in keep and (name == "amp" or (name == "outputtype" and value == "amp")):
        return True
    return bool(name in _TRACKING or _TRACKING_FAMILIES.match(name))


def _route(fragment: str) -> str:
    """Return a fragment that names a page of its own (a hash route), else nothing."""
    route = fragment.split(":~:", 1)[0]
    if not route.startswith(("/", "!")) or not route.strip("!/"):
        return ""
    return _escaped(route, "!$&'()*+,;=:@/?#")


# --- redirect services ---------------------------------------------------------------------------

# Hosts and paths of links that carry their target in a parameter.
_CARRIERS = (
    (re.compile(r"google\.[a-z.]{2,6}/(?:url|imgres)"), ("q", "url", "imgrefurl")),
    (re.compile(r"(?:html\.)?duckduckgo\.com/l/?"), ("uddg",)),
    (re.compile(r"(?:cn\.)?bing\.com/ck/a"), ("u",)),
    (re.compile(r"(?:l|lm)\.facebook\.com/l\.php"), ("u",)),
    (re.compile(r"l\.instagram\.com/?"), ("u",)),
    (re.compile(r"out\.reddit\.com/.*"), ("url",)),
    (re.compile(r"youtube\.com/redirect"), ("q",)),
    (re.compile(r"linkedin\.com/(?:redir/redirect|safety/go)"), ("url",)),
    (re.compile(r"[a-z0-9]+\.safelinks\.protection\.outlook\.com/?"), ("url",)),
    (re.compile(r"slack-redir\.net/link"), ("url",)),
    (re.compile(r"vk\.com/away\.php"), ("to",)),
    (re.compile(r"t\.umblr\.com/redirect"), ("z",)),
    (re.compile(r"steamcommunity\.com/linkfilter/?"), ("u", "url")),
)
_YAHOO = re.compile(r"r\.search\.yahoo\.com/.*/RU=([^/]+)/RK=")
_AMP_CACHE = re.compile(
    r"(?:google\.[a-z.]{2,6}/amp|[a-z0-9-]+\.cdn\.ampproject\.org/[acv])(/s)?/(.+)"
)
# Links that say nothing of their target: only a request can tell.
_OPAQUE = re.compile(
    r"vertexaisearch\.cloud\.google\.com/grounding-api-redirect/.+"
    r"|news\.google\.com/(?:rss/)?articles/.+"
    r"|(?:t\.co|bit\.ly|tinyurl\.com|goo\.gl|ow\.ly|buff\.ly|is\.gd|lnkd\.in|dlvr\.it|t\.ly|rb\.gy)/.+"
    r"|(?:cn\.)?bing\.com/ck/a"
)


# An address copied from HTML source may still be written in character references.
_REFERENCE = re.compile(r"&(?:amp|#\d{1,7}|#[xX][0-9a-fA-F]{1,6});")


def unwrap(url: str) -> str:
    """Return the address that a redirect link carries, else the address itself.

    Character references of HTML (`&amp;`, `&#x2F;`) are read as the characters they stand for.
    """
    while (read := _REFERENCE.sub(lambda match: html.unescape(match[0]), url)) != url:
        url = read
    while (target := _carried(url)) is not None:  # each target is shorter than its link
        url = target
    return url


def is_redirector(url: str) -> bool:
    """Whether an address is a redirect link that does not carry its target."""
    try:
        parts = split_url(unwrap(url))
    except ValueError:
        return False
    return bool(_OPAQUE.fullmatch(_host_twin(parts.host) + parts.path))


def _carried(url: str) -> str | None:
    """Return the target in one redirect link, or None."""
    try:
        parts = split_url(url)
    except ValueError:
        return None
    place = _host_twin(parts.host) + parts.path
    if match := _AMP_CACHE.fullmatch(place):
        scheme = "https" if match[1] else "http"
        return _if_web(f"{scheme}://{match[2]}" + (f"?{parts.query}" if parts.query else ""))
    if match := _YAHOO.match(place):
        return _if_web(unquote(match[1]))
    for where, names in _CARRIERS:
        if where.fullmatch(place):
            given = dict(parse_qsl(parts.query))
            found = (_if_web(_decoded(given[name])) for name in names if name in given)
            return next((target for target in found if target), None)
    return None


def _decoded(value: str) -> str:
    """Return a target as text; Bing writes it in base 64 behind `a1`."""
    if not value.startswith("a1"):
        return value
    try:
        padded = value[2:] + "=" * (-len(value[2:]) % 4)
        return base64.urlsafe_b64decode(padded).decode("utf-8")
    except ValueError:
        return value


def _if_web(target: str) -> str | None:
    """Return a target that is a readable address of the web, else None."""
    try:
        split_url(target)
    except ValueError:
        return None
    return target


# --- works ---------------------------------------------------------------------------------------

_DOI = re.compile(r"(?:^|[/=:])(10\.\d{4,9}/[^\s?#]+)")
_DOI_END = re.compile(
    r"(?:\.pdf|\.full(?:\.pdf)?|\.abstract|\.html?|/(?:full|abstract|pdf|epdf|meta|html))+/?$"
)
_ARXIV_HOSTS = ("arxiv.org", "export.arxiv.org", "ar5iv.org", "ar5iv.labs.arxiv.org")
_ARXIV = re.compile(
    r"(?:abs|pdf|html|ps)/((?:\d{4}\.\d{4,5})|(?:[a-z-]+(?:\.[A-Z]{2})?/\d{7}))(?:v\d+)?(?:\.pdf)?/?"
)
_NATURE = re.compile(r"/articles/((?:s\d{5}-\d|nature|ng|nm|nbt)[\w-]*)")
_ARXIV_DOI = re.compile(r"10\.48550/arxiv\.(.+?)(?:v\d+)?")


def work_id(url: str) -> str:
    """Return the identity of the work behind a page, where several pages hold one work.

    A DOI, an arXiv number, or the page without the suffix that tells its PDF from its HTML form.
    This is for grouping only; pages are fetched and judged one by one.

    Raises
    ------
    ValueError
        If the text is no address of the web.
    """
    canonical = canonical_url(url)
    parts = urlsplit(canonical)
    if parts.hostname in _ARXIV_HOSTS and (match := _ARXIV.fullmatch(parts.path.lstrip("/"))):
        return f"arxiv:{match[1]}"
    if parts.hostname == "nature.com" and (match := _NATURE.match(parts.path)):
        return f"doi:10.1038/{match[1].lower()}"
    if match := _DOI.search(unquote(parts.path + ("?" + parts.query if parts.query else ""))):
        doi = _DOI_END.sub("", match[1].rstrip("/")).lower()
        preprint = _ARXIV_DOI.fullmatch(doi)
        return f"arxiv:{preprint[1]}" if preprint else f"doi:{doi}"
    return "page:" + re.sub(r"\.(?:pdf|html?)(?=$|\?)", "", canonical.removeprefix("https://"))
