"""When a page was published and last changed, as far as the page itself says so."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from datetime import UTC, datetime
from typing import Any

from sourcebench.extract.datetext import DAY_FIRST, MONTH_FIRST, NUMERIC, read_date
from sourcebench.extract.jsonld import articles, text_of
from sourcebench.extract.survey import is_beside
from sourcebench.extract.zones import Zones
from sourcebench.records import Dated

_URL_DAY = re.compile(
    r"/((?:19|20)\d\d)(?:[/-](\d{1,2})[/-](\d{1,2})[/-][^/]|(\d\d)(\d\d)[/-][^/]*[a-z])"
)
_URL_MONTH = re.compile(r"/((?:19|20)\d\d)/(0[1-9]|1[0-2])/[^/?#]*[a-z][^/?#]*")

_SHORT_MONTHS = "jan feb mar apr may jun jul aug sep oct nov dec".split()  # noqa: SIM905

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
_OTHER_EVENT = re.compile(
    r"(?i)\b(?:retrieved|accessed|abgerufen am|consulté le|release date|date of birth|born|died|deadline|expires?|"
    r"valid (?:until|from)|effective(?: date)?|best before|takes? place|event date|geboren|gestorben|founded|established)\b"
)
_LABEL_OF_EVENT = re.compile(
    r"(?i)^(?:opened|opening|born|died|founded|established|launched|built|completed|first (?:flight|issue|edition)|"
    r"release(?: date|d)?|date of (?:birth|death)|start(?:s| date)?|end(?:s| date)?|deadline|when|eröffnet|geboren|"
    r"gegründet|naissance|fondation|inauguration|nacimiento|fundación)\W*$"
)
_BYLINE_WORDS = frozenset(
    [
        "by",
        "von",
        "par",
        "por",
        "de",
        "di",
        "da",
        "on",
        "at",
        "in",
        "am",
        "um",
        "le",
        "el",
        "the",
        "and",
        "und",
        "et",
        "y",
        "min",
        "mins",
        "minute",
        "minutes",
        "read",
        "last",
        "first",
        "for",
        "to",
        "published",
        "posted",
        "updated",
        "written",
        "modified",
        "edited",
        "reviewed",
        "with",
        "of",
        "from",
        "staff",
        "writer",
        "editor",
        "reporter",
        "ago",
        "comments",
        "comment",
        "views",
        "share",
        "date",
        "datum",
        "publié",
        "veröffentlicht",
        "publicado",
        "uhr",
        "gmt",
        "utc",
        "est",
        "edt",
        "pst",
        "pdt",
        "cet",
        "hrs",
        "h",
        "lesezeit",
        "minuten",
        "temps",
        "lecture",
        "à",
        "às",
        "alle",
        "del",
        "la",
        "en",
        "op",
        "door",
        "av",
        "av",
        "af",
    ]
)
_SENTENCE_END = re.compile(r"(?:(?<=\d{4})|(?<=[a-z]{3}))\.\s+")
_DATELINE = re.compile(
    r"(?i)^.{0,70}\d{4}\W{0,3}(?:/|--|[–—(]|\bPRNewswire|\bBUSINESS WIRE|\bGLOBE)"
)
_PUBLISHED_WORD = re.compile(
    r"(?i)\b(?:published|posted|first published|publi[ée]|veröffentlicht|erstellt|publicado|"
    r"pubblicato|written|created|filed|released|date|datum)\b"
)


def page_dates(
    metas: dict[str, list[str]],
    items: list[dict[str, Any]],
    properties: list,
    zones: Zones,
    url: str,
    latest: str,
    *,
    talk: str = "",
    day_first: bool | None = None,
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
        The time of the visit, ISO; empty when unknown.
    talk
        forum or qa for a page of posts: it was changed with the last of them.
    day_first
        How the page writes 05/06/2026, from `date_order`.
    """
    own = articles(items)
    published = _first(
        latest,
        day_first,
        ("json-ld", (text_of(i.get(k)) for i in own for k in ("datePublished", "uploadDate"))),
        ("meta", (v for name in _PUBLISHED_META for v in metas.get(name, ()))),
        ("microdata", _microdata(properties, "datePublished")),
        ("time", zones.published_times),
        ("byline", _written(zones.head_lines, latest, day_first)),
        ("byline", _said(zones.tail_lines)),
        ("json-ld", (text_of(i.get("dateCreated")) for i in own)),
        ("url", _in_url(url)),
    )
    modified = _first(
        latest,
        day_first,
        ("json-ld", (text_of(i.get(k)) for i in own for k in ("dateModified", "lastReviewed"))),
        ("meta", (v for name in _MODIFIED_META for v in metas.get(name, ()))),
        ("microdata", _microdata(properties, "dateModified")),
        ("time", sorted(map(read_date, zones.every_time), reverse=True) if talk else ()),
        ("time", zones.modified_times),
        ("byline", _after(zones.head_lines, _UPDATED)),
        ("byline", _after(zones.tail_lines, _UPDATED)),
        ("byline", _after(zones.side_lines, _PAGE_UPDATED)),
    )
    if published and modified and modified.date < published.date[: len(modified.date)]:
        modified = None  # what was changed before it was published is no change of it
    return published, modified


def _first(
    latest: str, day_first: bool | None, *sources: tuple[str, Iterable[str]]
) -> Dated | None:
    """Return the first readable date that is not in the future of the visit."""
    for name, texts in sources:
        for text in texts:
            found = read_date(text, day_first=day_first) if text else ""
            if found and not _is_later(found, text, latest):
                return Dated(found, name, "weak" if len(found) == 4 else "strong")
    return None


def _is_later(found: str, text: str, latest: str) -> bool:
    """Whether a date lies after the visit; the next day may not, where clocks are ahead."""
    if not latest or found <= latest[: len(found)]:
        return False
    try:
        said, visit = (datetime.fromisoformat(stamp) for stamp in (text.strip(), latest))
    except ValueError:
        return True
    return said.tzinfo is None or said > (visit if visit.tzinfo else visit.replace(tzinfo=UTC))


def _microdata(properties: list, name: str) -> Iterator[str]:
    """Yield the values of a date property marked in the page, outside related stories."""
    for element in properties:
        if element.get("itemprop") == name and not is_beside(element):
            value = element.get("content") or element.get("datetime")
            yield value or "".join(element.itertext())


def _written(lines: list[str], latest: str, day_first: bool | None) -> Iterator[str]:
    """Yield the date lines at the head of the article, without the "updated" part of each.

    A line that is only the day of the visit is a calendar, not a byline; a date in a sentence is
    that of another event.
    """
    before = ""
    for line in lines:
        label, before = before, line
        cut = _UPDATED.search(line)
        part = line[: cut.start()] if cut else line
        if len(part) > 220 or _OTHERS.search(part) or _OTHER_EVENT.search(part):
            continue
        if cut and (word := _PUBLISHED_WORD.search(line, cut.end())):
            yield line[word.end() : word.end() + 60]
        found = read_date(part, day_first=day_first)
        if not found or _LABEL_OF_EVENT.match(label):
            continue
        rest = _without_dates(next(filter(read_date, _SENTENCE_END.split(part)), part))
        if found == latest[:10] and not _PUBLISHED_WORD.search(part) and not rest:
            continue
        if _DATELINE.search(part) or not _is_sentence(rest):
            yield part


def _without_dates(text: str) -> str:
    """Return the words of a line beside its dates, weekdays and times."""
    for pattern in (MONTH_FIRST, DAY_FIRST, NUMERIC):
        text = pattern.sub(" ", text)
    return " ".join(re.sub(rf"(?i)[\W\d_]+|\b[ap]m\b|\b(?:{_WEEKDAY})\b", " ", text).split())


def _is_sentence(words: str) -> bool:
    """Whether words run on as in a sentence; bylines are names, labels and a few small words."""
    small = [word for word in words.split() if word.islower() and word not in _BYLINE_WORDS]
    return len(small) > 3


def _said(lines: list[str]) -> Iterator[str]:
    """Yield what follows a word of publishing in lines after the head of the article."""
    for line in lines:
        word = _PUBLISHED_WORD.search(line)
        if word and not _UPDATED.search(line) and not _OTHERS.search(line):
            yield line[word.end() : word.end() + 60]


def _after(lines: list[str], word: re.Pattern) -> Iterator[str]:
    """Yield the few characters after a word, where a date belonging to it stands."""
    for line in lines:
        found = word.search(line) if "20" in line or "19" in line or "." in line else None
        if found:
            yield line[found.end() : found.end() + 60]


def _in_url(url: str) -> list[str]:
    """Return the date in an address of the form /2026/05/14/title or /2026/05/title."""
    found = _URL_DAY.search(url)
    if found:
        day = read_date(f"{found[1]}/{found[2] or found[4]}/{found[3] or found[5]}")
        if day:
            return [day]
    found = _URL_MONTH.search(url)
    return [f"{_SHORT_MONTHS[int(found[2]) - 1]} {found[1]}"] if found else []
