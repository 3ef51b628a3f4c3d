"""The small rooms of extraction: dates, names, encodings, links and lines, each on its own."""

from __future__ import annotations

import codecs
from datetime import date

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebench.extract.datetext import date_order, read_date
from sourcebench.extract.decode import decode, is_mojibake, media_type
from sourcebench.extract.lines import visible_lines
from sourcebench.extract.names import kind_of, leading_names, split_names
from sourcebench.extract.survey import OUT, survey
from sourcebench.extract.tree import MAX_TAGS, PageLimit, parse


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("2026-05-14", "2026-05-14"),
        ("2026-05-14T06:00:00-07:00", "2026-05-14"),
        ("20260514T060000", "2026-05-14"),
        ("2026/5/4", "2026-05-04"),
        ("May 14, 2026", "2026-05-14"),
        ("Sept. 3rd, 2025 at 4 pm", "2025-09-03"),
        ("Thu, 14 May 2026 10:00:00 GMT", "2026-05-14"),
        ("3. März 2024", "2024-03-03"),
        ("le 5 février 2023", "2023-02-05"),
        ("12 de mayo de 2024", "2024-05-12"),
        ("14 maj 2026", "2026-05-14"),
        ("14. toukokuuta 2026", "2026-05-14"),
        ("14. května 2026", "2026-05-14"),
        ("2026. május 14.", "2026-05-14"),
        ("14 Mayıs 2026", "2026-05-14"),
        ("14 Μαΐου 2026", "2026-05-14"),
        ("14 травня 2026", "2026-05-14"),
        ("14. svibnja 2026.", "2026-05-14"),
        ("14 مايو 2026", "2026-05-14"),
        ("2026년 5월 14일", "2026-05-14"),
        ("14 tháng 5, 2026", "2026-05-14"),
        ("14/May/2026", "2026-05-14"),
        ("1778716800", "2026-05-14"),
        ("1778716800000", "2026-05-14"),
        ("1970-01-01T00:00:00Z", ""),
        ("05.06.25", ""),
        ("14.05.2026", "2026-05-14"),
        ("4. 2. 2022", "2022-02-04"),
        ("25/12/2025", "2025-12-25"),
        ("12/25/2025", "2025-12-25"),
        ("2026年5月14日", "2026-05-14"),
        ("April 2025", "2025-04"),
        ("05/06/2026", "2026"),
        ("Advisory 2024-17", ""),
        ("2024-13-45", ""),
        ("31 February 2024", ""),
        ("ISBN 978-2024-05-14-1", ""),
        ("May the 4th be with you", ""),
        ("© 1998-2025", ""),
        ("", ""),
    ],
)
def test_dates_are_read_by_named_forms_only(text, found):
    """Named forms give a day or a month; two possible orders give the year; codes give nothing."""
    assert read_date(text) == found


@pytest.mark.parametrize(
    ("language", "host", "lines", "order"),
    [
        ("en", "example.org", [], None),
        ("", "example.org", [], None),
        ("en-GB", "example.org", [], True),
        ("en-US", "example.co.uk", [], False),
        ("en", "example.co.uk", [], True),
        ("en", "river.gov", [], False),
        ("en-CA", "example.ca", [], None),
        ("de", "example.org", [], True),
        ("ja", "example.jp", [], None),
        ("en", "example.org", ["Posted 25/12/2025"], True),
        ("en-GB", "example.org", ["12/25/2025"], False),
        ("en", "example.org", ["12/25/2025", "25/12/2025"], None),
    ],
)
def test_the_order_of_day_and_month_is_known_or_left_open(language, host, lines, order):
    """Another date of the page, the region of its language and its country tell the order."""
    assert date_order(language, host, lines) is order
    expected = {True: "2026-06-05", False: "2026-05-06", None: "2026"}[order]
    assert read_date("05/06/2026", day_first=order) == expected


@given(st.text(max_size=80), st.dates(date(1950, 1, 1), date(2099, 12, 31)), st.text(max_size=80))
def test_a_date_is_a_day_that_exists_or_nothing(before, day, after):
    """Whatever stands round it, what is returned is a real day, month or year."""
    found = read_date(f"{before}{day.isoformat()}{after}")
    assert found == "" or date.fromisoformat((found + "-01-01")[:10] if len(found) < 10 else found)
    assert read_date(f" {day.isoformat()} ") == day.isoformat()


@pytest.mark.parametrize(
    ("text", "names"),
    [
        ("Dana Reyes", [("Dana Reyes", "")]),
        ("Dana Reyes and Sam Okoro", [("Dana Reyes", ""), ("Sam Okoro", "")]),
        ("Dana Reyes, Sam Okoro & Li Wei", [("Dana Reyes", ""), ("Sam Okoro", ""), ("Li Wei", "")]),
        ("Rachael Link, MS, RD", [("Rachael Link", "MS, RD")]),
        ("TOM KRISHER, AP Auto Writer", [("TOM KRISHER", "AP Auto Writer")]),
        ("Amy K. Ray | NJ Media for NJ.com", [("Amy K. Ray", "NJ Media for NJ.com")]),
        ("Yasemin S. - Staff Writer", [("Yasemin S.", "Staff Writer")]),
        ("U.S. Customs and Border Protection", [("U.S. Customs and Border Protection", "")]),
        ("admin", []),
        ("https://facebook.com/dana", []),
        ("", []),
    ],
)
def test_lines_of_authors_are_split_into_names_and_roles(text, names):
    """Credentials and roles belong to the name before them; organisations are not split."""
    assert split_names(text) == names


@pytest.mark.parametrize(
    ("text", "names"),
    [
        (
            "Dana Reyes, environment reporter | May 14, 2026",
            [("Dana Reyes", "environment reporter")],
        ),
        (
            "Dr. Ines Halloran, Professor of Geology",
            [("Dr. Ines Halloran", "Professor of Geology")],
        ),
        (
            "Ines Halloran, Professor of Geology, with Tomas Reyes (student)",
            [("Ines Halloran", "Professor of Geology"), ("Tomas Reyes", "student")],
        ),
        ("Tariq Malik, Mike Wall 2019-11-18", [("Tariq Malik", ""), ("Mike Wall", "")]),
        ("Cat Lafuente/June 12, 2020", [("Cat Lafuente", "")]),
        ("Megan Rowe meganr@example.com", [("Megan Rowe", "")]),
        ("Diane Buck Veröffentlicht am 1. Mai", [("Diane Buck", "")]),
        ("subject", []),
        ("Eulen inspirierte Flügel könnten leiser sein", []),
    ],
)
def test_bylines_end_where_the_name_does(text, names):
    """Dates, addresses and verbs end a byline, and a sentence is no name."""
    assert leading_names(text) == names


def test_an_author_named_like_the_site_is_its_owner():
    """Words of organisations and the names of the owners make an organisation."""
    assert kind_of("Dana Reyes") == "person"
    assert kind_of("Department of Health") == "organisation"
    assert kind_of("River Watch", ("river watch",)) == "organisation"


GERMAN = "<html><body><p>Die Tiefe fiel stärker als erwartet, größer als die Behörde für Flüsse sagte.</p>"
JAPANESE = (
    "<html><body><p>委員会は三回目の年次報告を公表し、平均水深は十一センチ下がったと述べた。</p>"
)
CHINESE = (
    "<html><body><p>委员会发布了第三次年度河流水位报告，平均水深下降了十一厘米，数据公开。</p>"
)
RUSSIAN = "<html><body><p>Комиссия опубликовала третий ежегодный обзор уровня воды в реках.</p>"
KOREAN = "<html><body><p>위원회는 북부 평야의 하천 수위에 관한 세 번째 연례 보고서를 발표했다.</p>"
POLISH = "<html><body><p>Żółta rzeka opadła o jedenaście centymetrów, powiedział urząd ochrony środowiska w Łodzi.</p>"
TURKISH = "<html><body><p>Komite, kuzey ovasındaki nehir seviyelerine ilişkin üçüncü yıllık incelemesini yayınladı.</p>"
GREEK = (
    "<html><body><p>Η επιτροπή δημοσίευσε την τρίτη ετήσια έκθεση για τα επίπεδα των ποταμών.</p>"
)
THAI = "<html><body><p>คณะกรรมการได้เผยแพร่รายงานประจำปีฉบับที่สามเกี่ยวกับระดับน้ำในแม่น้ำ</p>"
FRENCH = "<html><body><p>Le comité a publié son troisième relevé des rivières, où l'eau a baissé à nouveau.</p>"
LATE = (
    "<html><head><script>"
    + "x" * 12_000
    + "</script><meta charset='euc-jp'></head><body><p>委員会</p>"
)


@pytest.mark.parametrize(
    ("text", "encoding", "kind", "how"),
    [
        (GERMAN, "cp1252", "text/html", "guess"),
        (GERMAN, "cp1252", "text/html; charset=utf-8", "guess"),
        (GERMAN, "cp1252", "text/html; charset=iso-8859-1", "header"),
        (GERMAN, "utf-8", "text/html; charset=iso-8859-1", "guess"),
        (GERMAN, "utf-8", "text/html", "guess"),
        (GERMAN, "utf-8", "text/html; charset=utf-8", "header"),
        (GERMAN, "utf-16", "text/html", "bom"),
        (GERMAN, "utf-8-sig", "text/html; charset=iso-8859-1", "bom"),
        (JAPANESE, "cp932", "text/html; charset=shift_jis", "header"),
        (JAPANESE, "cp932", "text/html", "guess"),
        (JAPANESE, "iso2022_jp", "text/html; charset=iso-2022-jp", "header"),
        (CHINESE, "gb18030", "text/html", "guess"),
        (CHINESE, "gb18030", "text/html; charset=gb2312", "header"),
        (RUSSIAN, "cp1251", "text/html", "guess"),
        (RUSSIAN, "koi8-r", "text/html; charset=koi8-r", "header"),
        # "ISO-8859-1" is what servers say of everything
        (RUSSIAN, "cp1251", "text/html; charset=iso-8859-1", "guess"),
        (CHINESE, "gb18030", "text/html; charset=iso-8859-1", "guess"),
        (JAPANESE, "euc_jp", "text/html; charset=iso-8859-1", "guess"),
        (JAPANESE, "iso2022_jp", "text/html", "guess"),
        (KOREAN, "euc_kr", "text/html", "guess"),
        (KOREAN, "euc_kr", "text/html; charset=utf-8", "guess"),
        (GREEK, "iso8859-7", "text/html; charset=iso-8859-1", "guess"),
        (THAI, "tis-620", "text/html; charset=iso-8859-1", "guess"),
        (POLISH, "cp1250", "text/html", "guess"),
        (POLISH, "iso8859-2", "text/html; charset=iso-8859-1", "guess"),
        (TURKISH, "cp1254", "text/html", "guess"),
        (FRENCH, "cp1252", "text/html", "guess"),
        (LATE, "euc_jp", "text/html", "meta"),
        (GERMAN, "utf-16-le", "text/html", "guess"),
        (RUSSIAN, "utf-16-be", "text/html; charset=utf-8", "guess"),
        (GERMAN, "utf-8", "text/html; charset=utf-16", "guess"),
    ],
)
def test_encodings(text, encoding, kind, how):
    """Declared, lied about or undeclared, the characters are those that were written."""
    decoded = decode(text.encode(encoding), {"content-type": kind})
    assert decoded.text == text
    assert decoded.how == how


def test_a_few_bad_bytes_do_not_change_the_encoding():
    """A comment pasted in another encoding costs its own letters, not those of the page."""
    page = (RUSSIAN + GERMAN).encode() + "Grüße aus Köln".encode("cp1252")
    decoded = decode(page, {"content-type": "text/html; charset=utf-8"})
    assert (decoded.encoding, decoded.how) == ("utf-8", "header")
    assert RUSSIAN in decoded.text


def test_wide_text_is_told_from_wide_numbers():
    """UTF-16 without a mark is text; an array of small numbers, as full of zeros, is not."""
    assert media_type(GERMAN.encode("utf-16-le"), {}) == "text/html"
    numbers = b"".join(n.to_bytes(2, "little") for n in range(250))
    assert media_type(numbers, {}) == "application/octet-stream"


def test_references_mean_what_browsers_show():
    """References to 128 to 159 are windows-1252, as HTML has it: &#146; is an apostrophe."""
    root = parse("<p>river&#146;s &#x96; end &#150; &#1468; &#x9;</p>").root
    assert root.text_content().strip() == "river’s – end – \u05bc"


@given(
    st.binary(max_size=300), st.sampled_from(["", "utf-8", "utf-16", "x-none", "base64", "idna"])
)
def test_decoding_never_fails(body, label):
    """Any bytes under any declaration give characters and a type."""
    headers = {"Content-Type": f"text/html; charset={label}"}
    assert isinstance(decode(body, headers).text, str)
    assert isinstance(media_type(body, headers), str)


def test_mojibake_needs_more_than_a_foreign_word():
    """Replacement characters and pairs such as Ã¼ count from the third on; plain text does not."""
    assert is_mojibake("grÃ¶ÃŸer fÃ¼r")
    assert is_mojibake("a\ufffdb\ufffdc\ufffd")
    assert is_mojibake("委员会".encode().decode("latin-1"))
    assert not is_mojibake("größer für São Paulo, naïve façade, Ångström")


def test_every_byte_order_mark_is_taken_off():
    """A mark decides the encoding and is not part of the text."""
    marks = (codecs.BOM_UTF8, codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)
    for mark, encoding in zip(marks, ("utf-8", "utf-16-le", "utf-16-be"), strict=True):
        assert decode(mark + GERMAN.encode(encoding), {}).text == GERMAN


def test_lines_know_their_links_and_where_they_stand():
    """Blocks make lines; links and times keep their order; asides, footers and marked parts are out."""
    root = parse(
        "<body><div class='main-menu'><a href='/a'>A</a><a href='/b'>B</a></div>"
        "<h1>Head</h1><p>One <a href='/c'>two</a><br>three <time>now</time></p>"
        "<aside>Side</aside><ul><li>Point</li></ul><footer>Foot</footer></body>"
    ).root
    survey(root, {})
    lines = [
        (line.text, line.out, line.heading, line.links, line.times) for line in visible_lines(root)
    ]
    assert lines == [
        ("A B", True, 0, (0, 1), ()),
        ("Head", False, 2, (), ()),
        ("One two", False, 0, (2,), ()),
        ("three now", False, 0, (), (0,)),
        ("Side", True, 0, (), ()),
        ("Point", False, 0, (), ()),
        ("Foot", True, 0, (), ()),
    ]


def test_what_holds_the_article_is_never_beside_it():
    """A class name such as social does not put the element with the text outside."""
    text = "<p>" + "The gauge at station four was read again. " * 4 + "</p>"
    root = parse(
        f"<body><div class='post social'>{text * 3}</div><div class='social'>x</div></body>"
    ).root
    survey(root, {})
    assert [element.get(OUT) for element in root.iter("div")] == [None, "1"]


@given(st.text(max_size=300))
def test_parsing_never_fails(text):
    """Any text parses to a tree or to nothing."""
    assert parse(text) is not None
    assert parse(f"<html><body><p {text}>{text}</p>") is not None


def test_limits_of_the_parser():
    """Too many attributes are refused; too many tags are cut, and the page says so."""
    with pytest.raises(PageLimit, match="more than 2000 attributes"):
        parse("<p " + "a=1 " * 2500 + ">")
    assert parse("<i>x" * (MAX_TAGS + 5)).flags[0] == "cut"
    assert parse(f"<p title='{'word ' * 3000}'>x</p>").flags == ()
