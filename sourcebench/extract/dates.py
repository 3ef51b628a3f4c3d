"""When a page was published and last changed, as far as the page itself says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import date
from typing import Any

from sourcebench.extract.jsonld import articles, text_of
from sourcebench.extract.survey import is_beside
from sourcebench.extract.zones import Zones
from sourcebench.records import Dated

_MONTHS = {
    1: "jan january januar janvier enero gennaio ene gen jänner janeiro januari styczeń stycznia января",
    2: "feb february februar février fevrier febrero febbraio fév févr fevereiro februari lutego февраля",
    3: "mar march märz maerz mars marzo mär março maart marca марта",
    4: "apr april avril abril aprile avr abr kwietnia апреля",
    5: "may mai mayo maggio maio mei maja мая",
    6: "jun june juni juin junio giugno giu junho czerwca июня",
    7: "jul july juli juillet julio luglio juil lug julho lipca июля",
    8: "aug august août aout agosto ago augustus sierpnia августа",
    9: "sep sept september septembre septiembre settembre set setembro września сентября",
    10: "oct october oktober octobre octubre ottobre okt ott outubro października октября",
    11: "nov november novembre noviembre novembro listopada ноября",
    12: "dec december dezember décembre decembre diciembre dicembre dez déc dic dezembro grudnia декабря",
}
_MONTH = {name: number for number, names in _MONTHS.items() for name in names.split()}
_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d\d)-(\d\d)(?![\d-])")
_COMPACT = re.compile(r"^((?:19|20)\d\d)(\d\d)(\d\d)(?:T?\d{4,6}|$)")
_YEAR_FIRST = re.compile(r"(?<![\d./])((?:19|20)\d\d)[./](\d{1,2})[./](\d{1,2})(?![\d./])")
_CJK = re.compile(r"((?:19|20)\d\d)\s*年\s*(\d{1,2})\s*月\s*(\d{1,2})\s*日")
_DAY_FIRST = re.compile(
    rf"(?i)(?<![\d.])(\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?[\s-]+(?:of |de )?({_NAME})\.?,?[\s-]+(?:de |del )?"
    r"((?:19|20)\d\d)(?!\d)"
)
_MONTH_FIRST = re.compile(
    rf"(?i)(?<!\w)({_NAME})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)(?!\d)"
)
_NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?((?:19|20)\d\d)(?![\d/-])")
_MONTH_ONLY = re.compile(rf"(?i)(?<!\w)({_NAME})\.?,?\s+((?:19|20)\d\d)(?!\d)")
_URL_DAY = re.compile(r"/((?:19|20)\d\d)[/-](\d{1,2})[/-](\d{1,2})/[^/]")
_URL_MONTH = re.compile(r"/((?:19|20)\d\d)/(0[1-9]|1[0-2])/[^/?#]*[a-z][^/?#]*")

_PUBLISHED_META = (
    "article:published_time",
    "og:article:published_time",
    "datepublished",
    "article.published",
    "parsely-pub-date",
    "sailthru.date",
    "citation_publication_date",
    "citation_online_date",
    "citation_date",
    "dc.date.issued",
    "dcterms.issued",
    "dcterms.created",
    "dc.date",
    "dc.date.created",
    "dcterms.date",
    "publish-date",
    "publish_date",
    "publishdate",
    "publication_date",
    "pubdate",
    "article:published",
    "article_date_original",
    "og:published_time",
    "og:pubdate",
    "cxenseparse:recs:publishtime",
    "displaydate",
    "release_date",
    "originalpublicationdate",
    "rnews:datepublished",
    "ptime",
    "date",
)
_MODIFIED_META = (
    "article:modified_time",
    "og:article:modified_time",
    "og:updated_time",
    "datemodified",
    "last-modified",
    "lastmod",
    "dcterms.modified",
    "dc.date.modified",
    "article.updated",
    "article:modified",
    "revised",
    "updated_time",
    "modified_time",
    "last_updated_date",
)
_UPDATED = re.compile(
    r"(?i)\b(?:(?:last |page |content )*(?:updated|modified|reviewed|revised|changed|edited)|"
    r"(?:zuletzt |letzte |zuletzt ge)?(?:aktualisiert|geändert|aktualisierung|änderung|stand)|"
    r"mis à jour|mise à jour|modifié|actualizado|aggiornato|обновлено)\b"
)
_PAGE_UPDATED = re.compile(
    r"(?i)\b(?:last|page|content|site|zuletzt|letzte|dernière)\s+(?:\w+\s+){0,2}?"
    r"(?:updated|modified|reviewed|revised|changed|edited|aktualisiert|geändert|aktualisierung|"
    r"änderung|modification|mise à jour)\b"
)
_WEEKDAY = (
    r"(?:mon|tues|wednes|thurs|fri|satur|sun)day|montag|dienstag|mittwoch|donnerstag|freitag|"
    r"samstag|sonntag|lundi|mardi|mercredi|jeudi|vendredi|samedi|dimanche"
)
_OTHERS = re.compile(
    r"(?i)©|copyright|\(c\)|bewertung|\brating\b|customer review|\bcomment(?:ed|s)?\b|kommentar"
)
_PUBLISHED_WORD = re.compile(
    r"(?i)\b(?:published|posted|first published|publi[ée]|veröffentlicht|erstellt|publicado|"
    r"pubblicato|written|created|filed|released|date|datum)\b"
)


def read_date(text: str, *, day_first: bool | None = None) -> str:
    """Return the first date written in a text, ISO 8601, or an empty text.

    Only named forms count: 2026-05-14, 2026/05/14, 14 May 2026, May 14, 2026, 14.05.2026, 05/14/2026
    where one order alone is possible, and 2026年5月14日. A month with a year gives a month. A number
    code ("2024-17") gives nothing.

    Parameters
    ----------
    text
        Text from an attribute or a line of the page.
    day_first
        How to read 05/06/2026; None leaves it at the year.
    """
    text = text[:300]
    for pattern in (_ISO, _CJK, _YEAR_FIRST, _COMPACT):
        found = pattern.search(text)
        if found:
            return _iso(found[1], found[2], found[3])
    found = _MONTH_FIRST.search(text)
    if found:
        return _iso(found[3], _MONTH[found[1].lower()], found[2])
    found = _DAY_FIRST.search(text)
    if found:
        return _iso(found[3], _MONTH[found[2].lower()], found[1])
    found = _NUMERIC.search(text)
    if found:
        return _numeric(found, day_first)
    found = _MONTH_ONLY.search(text)
    return f"{found[2]}-{_MONTH[found[1].lower()]:02d}" if found else ""


def _numeric(found: re.Match, day_first: bool | None) -> str:
    """Read 14.05.2026 and 05/14/2026; where both orders are possible and none is known, the year."""
    first, sign, second, year = int(found[1]), found[2], int(found[3]), found[4]
    if sign == "." or first > 12 or (day_first and second <= 12):
        return _iso(year, second, first)
    if second > 12 or day_first is False or first == second:
        return _iso(year, first, second)
    return year


def _iso(year, month, day) -> str:
    """Return an ISO date, or an empty text when there is no such day."""
    try:
        return date(int(year), int(month), int(day)).isoformat()
    except ValueError:
        return ""


def page_dates(
    metas: dict[str, list[str]],
    items: list[dict[str, Any]],
    properties: list,
    zones: Zones,
    url: str,
    latest: str,
    *,
    talk: str = "",
) -> tuple[Dated | None, Dated | None]:
    """Return when a page was published and when it was changed, each with its source.

    JSON-LD goes before meta elements, those before microdata and `time` in the head of the article,
    those before a date written there, and that before a date in the address. What stands in a
    footer, beside the article or in another story is not asked, but for a line that says when the
    page was last changed. Nothing after `latest` counts.

    Parameters
    ----------
    properties
        The elements with an `itemprop`.
    latest
        The day of the visit, ISO; empty when unknown.
    talk
        forum or qa for a page of posts: it was changed with the last of them.
    """
    own = articles(items)
    published = _first(
        latest,
        ("json-ld", (text_of(i.get(k)) for i in own for k in ("datePublished", "uploadDate"))),
        ("meta", (v for name in _PUBLISHED_META for v in metas.get(name, ()))),
        ("microdata", _microdata(properties, "datePublished")),
        ("time", zones.published_times),
        ("byline", _written(zones.head_lines, latest)),
        ("byline", _said(zones.tail_lines)),
        ("json-ld", (text_of(i.get("dateCreated")) for i in own)),
        ("url", _in_url(url)),
    )
    modified = _first(
        latest,
        ("json-ld", (text_of(i.get(k)) for i in own for k in ("dateModified", "lastReviewed"))),
        ("meta", (v for name in _MODIFIED_META for v in metas.get(name, ()))),
        ("microdata", _microdata(properties, "dateModified")),
        ("time", sorted(map(read_date, zones.every_time), reverse=True) if talk else ()),
        ("time", zones.modified_times),
        ("byline", _after(zones.head_lines, _UPDATED)),
        ("byline", _after(zones.tail_lines, _UPDATED)),
        ("byline", _after(zones.side_lines, _PAGE_UPDATED)),
    )
    return published, modified


def _first(latest: str, *sources: tuple[str, Iterable[str]]) -> Dated | None:
    """Return the first readable date that is not in the future of the visit."""
    for name, texts in sources:
        for text in texts:
            found = read_date(text) if text else ""
            if found and not (latest and found > latest[: len(found)]):
                return Dated(found, name, "weak" if len(found) == 4 else "strong")
    return None


def _microdata(properties: list, name: str) -> Iterator[str]:
    """Yield the values of a date property marked in the page, outside related stories."""
    for element in properties:
        if element.get("itemprop") == name and not is_beside(element):
            value = element.get("content") or element.get("datetime")
            yield value or "".join(element.itertext())


def _written(lines: list[str], latest: str) -> Iterator[str]:
    """Yield the date lines at the head of the article, the part before an "updated" of each.

    A line that is only the day of the visit is a calendar, not a byline.
    """
    for line in lines:
        cut = _UPDATED.search(line)
        part = line[: cut.start()] if cut else line
        if len(part) > 220 or _OTHERS.search(part):
            continue
        found = read_date(part)
        if found and found == latest[:10] and not _PUBLISHED_WORD.search(part):
            words = _DAY_FIRST.sub("", _MONTH_FIRST.sub("", part))
            if not re.sub(rf"(?i)[\W\d_]|[ap]m|{_WEEKDAY}", "", words):
                continue
        if found:
            yield part


def _said(lines: list[str]) -> Iterator[str]:
    """Yield what follows a word of publishing in lines after the head of the article."""
    for line in lines:
        word = _PUBLISHED_WORD.search(line)
        if word and not _UPDATED.search(line) and not _OTHERS.search(line):
            yield line[word.end() : word.end() + 60]


def _after(lines: list[str], word: re.Pattern) -> Iterator[str]:
    """Yield the few characters after a word, where a date belonging to it stands."""
    for line in lines:
        found = word.search(line) if "20" in line or "19" in line else None
        if found:
            yield line[found.end() : found.end() + 60]


def _in_url(url: str) -> list[str]:
    """Return the date in an address of the form /2026/05/14/title or /2026/05/title."""
    found = _URL_DAY.search(url)
    if found and _iso(found[1], found[2], found[3]):
        return [_iso(found[1], found[2], found[3])]
    found = _URL_MONTH.search(url)
    return [f"{_MONTHS[int(found[2])].split()[0]} {found[1]}"] if found else []
