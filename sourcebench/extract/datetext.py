"""Dates as people and machines write them, in the languages of the web."""

from __future__ import annotations

import re
from datetime import UTC, date, datetime

_MONTHS = {
    1: "jan january januar janvier enero gennaio ene gen jänner janeiro januari styczeń stycznia января "
    "ledna tammikuuta január ocak ιανουαρίου січня siječnja ianuarie gener يناير",
    2: "feb february februar février fevrier febrero febbraio fév févr fevereiro februari lutego февраля "
    "února helmikuuta február şubat φεβρουαρίου лютого veljače februarie febrer فبراير",
    3: "mar march märz maerz mars marzo mär março maart marca марта "
    "marts března maaliskuuta március mart μαρτίου березня ožujka martie març maret مارس",
    4: "apr april avril abril aprile avr abr kwietnia апреля "
    "dubna huhtikuuta április nisan απριλίου квітня travnja aprilie أبريل",
    5: "may mai mayo maggio maio mei maja мая "
    "maj května toukokuuta május mayıs μαΐου травня svibnja maig مايو",
    6: "jun june juni juin junio giugno giu junho czerwca июня "
    "června kesäkuuta június haziran ιουνίου червня lipnja iunie juny يونيو",
    7: "jul july juli juillet julio luglio juil lug julho lipca июля "
    "července heinäkuuta július temmuz ιουλίου липня srpnja iulie juliol يوليو",
    8: "aug august août aout agosto ago augustus sierpnia августа "
    "augusti srpna elokuuta augusztus ağustos αυγούστου серпня kolovoza agost أغسطس",
    9: "sep sept september septembre septiembre settembre set setembro września сентября "
    "září syyskuuta szeptember eylül σεπτεμβρίου вересня rujna septembrie سبتمبر",
    10: "oct october oktober octobre octubre ottobre okt ott outubro października октября "
    "října lokakuuta október ekim οκτωβρίου жовтня octombrie أكتوبر",
    11: "nov november novembre noviembre novembro listopada ноября "
    "listopadu marraskuuta kasım νοεμβρίου листопада studenoga noiembrie نوفمبر",
    12: "dec december dezember décembre decembre diciembre dicembre dez déc dic dezembro grudnia декабря "
    "prosince joulukuuta aralık δεκεμβρίου грудня prosinca decembrie desember desembre ديسمبر",
}
_MONTH = {name: number for number, names in _MONTHS.items() for name in names.split()}
_NAME = "|".join(sorted(_MONTH, key=len, reverse=True))
_ISO = re.compile(r"(?<!\d)((?:19|20)\d\d)-(\d\d)-(\d\d)(?![\d-])")
_COMPACT = re.compile(r"^((?:19|20)\d\d)(\d\d)(\d\d)(?:T?\d{4,6}|$)")
_YEAR_FIRST = re.compile(r"(?<![\d./])((?:19|20)\d\d)[./](\d{1,2})[./](\d{1,2})(?![\d./])")
_CJK = re.compile(r"((?:19|20)\d\d)\s*[年년]\s*(\d{1,2})\s*[月월]\s*(\d{1,2})\s*[日일]")
_VIETNAMESE = re.compile(r"(?i)(?<!\d)(\d{1,2}) tháng (\d{1,2})(?:,| năm)* ((?:19|20)\d\d)(?!\d)")
DAY_FIRST = re.compile(
    rf"(?i)(?<![\d.])(\d{{1,2}})(?:st|nd|rd|th|er|º|\.)?[\s/-]+(?:of |de )?({_NAME})\.?,?[\s/-]+(?:de |del )?"
    r"((?:19|20)\d\d)(?!\d)"
)
MONTH_FIRST = re.compile(
    rf"(?i)(?<!\w)({_NAME})\.?\s+(\d{{1,2}})(?:st|nd|rd|th)?,?\s+((?:19|20)\d\d)(?!\d)"
)
_YEAR_NAME = re.compile(rf"(?i)(?<!\d)((?:19|20)\d\d)\.?,?[\s-]({_NAME})\.?[\s-](\d{{1,2}})(?!\d)")
NUMERIC = re.compile(r"(?<![\d./-])(\d{1,2})([./-])\s?(\d{1,2})\2\s?((?:19|20)\d\d)(?![\d/-])")
_SHORT_YEAR = re.compile(r"(?<![\d./-])(\d\d)\.(\d\d)\.(\d\d)(?![\d./-])")
_MONTH_ONLY = re.compile(rf"(?i)(?<!\w)({_NAME})\.?,?\s+((?:19|20)\d\d)(?!\d)")
_SECONDS = re.compile(r"1\d{9}(?:\d{3})?")


def read_date(text: str, *, day_first: bool | None = None) -> str:
    """Return the first date written in a text, ISO 8601, or an empty text.

    Only named forms count: 2026-05-14, 2026/05/14, 14 May 2026, May 14, 2026, 14.05.2026, 05/14/2026
    where one order alone is possible, 2026年5月14日, and seconds since 1970. A month with a year gives
    a month. A number code ("2024-17") gives nothing; nor does the first day of 1970, which is what
    programs write for "none".

    Parameters
    ----------
    text
        Text from an attribute or a line of the page.
    day_first
        How to read 05/06/2026; None leaves it at the year.
    """
    found = _read(text[:300], day_first)
    return "" if found == "1970-01-01" else found


def _read(text: str, day_first: bool | None) -> str:
    """Return the first date in a short text."""
    if _SECONDS.fullmatch(text):
        return datetime.fromtimestamp(int(text[:10]), UTC).date().isoformat()
    for pattern in (_ISO, _CJK, _YEAR_FIRST, _COMPACT):
        found = pattern.search(text)
        if found:
            return _iso(found[1], found[2], found[3])
    for pattern, year, month, day in (
        (MONTH_FIRST, 3, 1, 2),
        (DAY_FIRST, 3, 2, 1),
        (_YEAR_NAME, 1, 2, 3),
    ):
        found = pattern.search(text)
        if found:
            return _iso(found[year], _MONTH[found[month].lower()], found[day])
    found = _VIETNAMESE.search(text)
    if found:
        return _iso(found[3], found[2], found[1])
    return _in_numbers(text, day_first)


def _in_numbers(text: str, day_first: bool | None) -> str:
    """Return a date in numbers whose order may be in doubt, or a month with its year."""
    found = NUMERIC.search(text)
    if found:
        return _ordered(found, day_first)
    found = _SHORT_YEAR.search(text) if day_first else None
    if found:
        return _iso(f"20{found[3]}", found[2], found[1])
    found = _MONTH_ONLY.search(text)
    return f"{found[2]}-{_MONTH[found[1].lower()]:02d}" if found else ""


def _ordered(found: re.Match, day_first: bool | None) -> str:
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


# Plain "en" may be either; the rest of the world puts the day first or writes the year first.
_MONTH_FIRST_PLACES = (".gov", ".edu", ".mil", ".us")
_DAY_FIRST_PLACES = (".uk", ".au", ".nz", ".ie", ".in", ".za", ".sg", ".ng", ".ke", ".eu")


def date_order(language: str, host: str, texts: list[str]) -> bool | None:
    """Return whether the day stands before the month in dates such as 05/06/2026; None if unknown.

    A date of the page itself that leaves no choice decides, then the region of its language, then
    the country of its host.

    Parameters
    ----------
    language
        The page's language tag, such as en-GB.
    host
        Name of the host.
    texts
        Short lines of the page.
    """
    orders = set()
    for text in texts:
        found = NUMERIC.search(text)
        if found and found[2] != "." and max(int(found[1]), int(found[3])) > 12:
            orders.add(int(found[1]) > 12)
    if len(orders) == 1:
        return orders.pop()
    tag = language.lower().replace("_", "-")
    if tag in ("en-us", "en-ph") or host.endswith(_MONTH_FIRST_PLACES):
        return False
    if tag.startswith("en-") and tag not in ("en-ca", "en-001", "en-150"):
        return True
    if host.endswith(_DAY_FIRST_PLACES):
        return True
    known = tag and not tag.startswith(("en", "zh", "ja", "ko", "hu", "lt"))
    return True if known else None
