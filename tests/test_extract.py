"""Extraction: every field of a packet comes from the page, nothing from beside it or from hiding."""

from __future__ import annotations

import csv
import gzip
import io
import json
from dataclasses import asdict

import pytest
from pypdf import PdfReader, PdfWriter

from sourcebench.extract import extract_page
from sourcebench.records import JUDGED_PAGES, PAGE_OUTCOMES, Packet

SEEN = "2026-06-02T12:00:00Z"
P1 = (
    "The committee published its third annual review of river levels on the northern plain, and it "
    "found that the mean depth fell by eleven centimetres between the two surveys."
)
P2 = (
    "Field staff used the same gauges at every station, repeated each reading three times, and stored "
    "the raw log next to the summary so that other groups can check it."
)
ARTICLE = f"<article><h1>River levels</h1><p>{P1}</p><p>{P2}</p></article>"


def page(body: str, head: str = "<title>River levels</title>") -> bytes:
    """Return a small web page."""
    return (
        f'<!doctype html><html lang="en"><head><meta charset="utf-8">{head}</head>'
        f"<body>{body}</body></html>"
    ).encode()


def json_ld(**fields) -> str:
    """Return a head with one JSON-LD item."""
    return f'<script type="application/ld+json">{json.dumps(fields)}</script>'


def extract(
    body: bytes, *, url="https://example.org/rivers", kind="text/html", **options
) -> Packet:
    """Extract one page as the stage does."""
    options = {"fetched_at": SEEN} | options
    return extract_page("p1", url, body, headers={"Content-Type": kind}, **options)


def case(shared, name: str, **options) -> Packet:
    """Extract one page of the shared cases."""
    return extract((shared / "cases" / name).read_bytes(), **options)


# --- an ordinary page ----------------------------------------------------------------------------


def test_ordinary_page_fills_the_packet():
    """An ordinary article gives title, author, dates, text, links, counts and an ok outcome."""
    packet = extract(
        page(
            f"<nav><a href='/about'>About us</a></nav><article><h1>River levels</h1>"
            f"<p class='byline'>By <a rel='author' href='/staff/dana'>Dana Reyes</a> | May 14, 2026</p>"
            f"<p>{P1} <a href='https://data.example.gov/x'>Data</a></p><p>{P2}</p></article>"
            "<footer>Example Trust, 1 River Road. Contact: <a href='mailto:a@example.org'>mail</a></footer>"
        )
    )
    assert (packet.outcome, packet.kind, packet.language) == ("ok", "article", "en")
    assert (packet.title, packet.site) == ("River levels", "example.org")
    assert [(a.name, a.source) for a in packet.authors] == [("Dana Reyes", "rel-author")]
    assert asdict(packet.published) == {
        "date": "2026-05-14",
        "source": "byline",
        "strength": "strong",
    }
    assert P1 in packet.text
    assert P2 in packet.text
    assert "1 River Road" in packet.outside
    assert packet.counts["external_links"] == 1
    assert {link.url: link.place for link in packet.links} == {
        "https://example.org/about": "outside",
        "https://example.org/staff/dana": "outside",
        "https://data.example.gov/x": "main",
        "mailto:a@example.org": "outside",
    }


def test_the_same_page_gives_the_same_packet_whatever_came_before():
    """Nothing is carried from page to page: repeats, other pages between, order."""
    first, other = page(ARTICLE), page(f"<ul><li>{P1}</li></ul><p>{P2}</p>")
    once = extract(first)
    for _ in range(4):
        extract(other)
        assert extract(first) == once


def test_a_packet_survives_its_own_json():
    """What extraction returns can be written as JSON and read back unchanged."""
    packet = extract(page(ARTICLE, json_ld(**{"@type": "NewsArticle", "headline": "River levels"})))
    assert Packet.from_dict(json.loads(json.dumps(packet.to_dict(), allow_nan=False))) == packet


def test_half_surrogates_and_numbers_that_are_none_do_not_reach_the_packet():
    """JSON-LD with an escaped half pair and NaN gives a packet that can be stored as UTF-8."""
    head = (
        '<script type="application/ld+json">{"@type": "NewsArticle", "headline": "A \\ud800 B", '
        '"author": {"@type": "Person", "name": "Dana \\udfff Reyes"}, "price": NaN}</script>'
    )
    packet = extract(page(ARTICLE, head))
    json.dumps(packet.to_dict(), ensure_ascii=False, allow_nan=False).encode("utf-8")
    assert packet.authors[0].name == "Dana Reyes"


# --- what the bytes are --------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "kind", "words"),
    [
        ("utf8_nocharset.html", "text/html", ("größer", "Behörde")),
        ("sjis_header_lies.html", "text/html; charset=ISO-8859-1", ("平均水深",)),
        ("cp1252_undeclared.html", "text/html", ("größer", "Behörde")),
        ("utf8_bom.html", "text/html", ("größer", "Behörde")),
    ],
)
def test_bytes_header_and_meta_that_disagree(shared, name, kind, words):
    """Byte-order mark, header, meta and guess are asked in that order, and no text is garbled."""
    packet = case(shared, f"A-06-charset/{name}", kind=kind)
    assert all(word in packet.text for word in words)
    assert "mojibake" not in packet.flags


def test_a_guessed_encoding_is_recorded(shared):
    """Where nothing is declared and the bytes are not UTF-8, the packet says what was assumed."""
    packet = case(shared, "A-06-charset/cp1252_undeclared.html")
    assert "guessed_cp1252" in packet.flags


def test_doubly_decoded_text_is_flagged():
    """Text that was garbled before it was sent is marked as mojibake."""
    packet = extract(page(f"<p>{P1}</p><p>GrÃ¶ÃŸer als die BehÃ¶rde fÃ¼r FlÃ¼sse sagte.</p>"))
    assert "mojibake" in packet.flags


@pytest.mark.parametrize(
    ("body", "named"),
    [
        (gzip.compress(b"<html><p>text</p></html>" * 50, mtime=0), "gzip"),
        (b"\x89PNG\r\n\x1a\n" + bytes(500), "png"),
        (bytes(range(256)) * 20, "octet-stream"),
        (b"PK\x03\x04" + bytes(300), "zip"),
    ],
)
def test_binary_is_never_decoded(body, named):
    """Bytes that are no text end as an unsupported type, even if the header says HTML."""
    packet = extract(body)
    assert packet.outcome == "unsupported_type"
    assert named in packet.reason
    assert packet.text == ""


@pytest.mark.parametrize("kind", ["text/html; charset=utf-8", "application/pdf"])
def test_a_pdf_is_one_by_its_bytes(shared, kind):
    """A PDF is read as one whatever the header says; a page sent as PDF is a page."""
    packet = case(shared, "A-05-pdf/report.pdf", kind=kind)
    assert (packet.kind, packet.media_type, packet.outcome) == ("pdf", "application/pdf", "ok")
    assert "Depth fell by 11 cm" in packet.text
    gate = case(
        shared, "A-05-pdf/not_a_pdf.html", kind="application/pdf", url="https://e.org/p.pdf"
    )
    assert gate.media_type == "text/html"
    assert gate.outcome == "interstitial"


def test_pdf_metadata_and_page_breaks(shared):
    """A PDF gives the authors and date of its dictionary and a form feed between pages."""
    body = (shared / "authored-pages" / "12_report.pdf").read_bytes()
    packet = extract(body)
    assert [a.name for a in packet.authors] == ["M. Oyelaran", "R. Castellano"]
    assert packet.published.date == "2025-04-15"
    writer = PdfWriter()
    for _ in range(2):
        writer.append(PdfReader(io.BytesIO(body)))
    twice = io.BytesIO()
    writer.write(twice)
    assert extract(twice.getvalue()).text.count("\f") == 1


@pytest.mark.parametrize("damage", ["locked", "empty", "cut"])
def test_a_pdf_without_text_is_unsupported(shared, damage):
    """A locked, blank or broken PDF is an unsupported type with its reason, never an empty article."""
    body = (shared / "cases" / "A-05-pdf" / "report.pdf").read_bytes()
    writer = PdfWriter()
    if damage == "locked":
        writer.append(PdfReader(io.BytesIO(body)))
        writer.encrypt("secret", algorithm="RC4-128")
    writer.add_blank_page(100, 100)
    made = io.BytesIO()
    writer.write(made)
    packet = extract(body[:30] if damage == "cut" else made.getvalue())
    assert packet.outcome == "unsupported_type"
    assert packet.reason.startswith("pdf:")


FEED = (
    '<?xml version="1.0"?><rss><channel><title>River news</title><item><title>Depth</title>'
    "<description><![CDATA[<p>The depth <b>fell</b> by 11 cm.</p>]]></description></item>"
    "<item><description>&lt;p&gt;It fell &amp;amp; fell.&lt;/p&gt;</description></item></channel></rss>"
)
NOTEBOOK = json.dumps(
    {
        "cells": [
            {"cell_type": "markdown", "source": ["# River levels\n", "The depth fell."]},
            {"cell_type": "code", "source": "print(11)", "outputs": [{"image/png": "iVBOR" * 99}]},
        ],
        "nbformat": 4,
    }
)
CSV = "station,depth\nNorth,112\nSouth,98"
MARKDOWN = "# River levels\n\nThe depth fell.<br>\n\n- <p> one"


@pytest.mark.parametrize(
    ("text", "declared", "kind", "title", "said"),
    [
        (FEED, "application/rss+xml", "xml", "River news", "River news\nDepth\nThe depth"),
        (FEED, "text/html", "xml", "River news", "It fell & fell."),
        (
            "<urlset><url><loc>https://a.example/</loc></url></urlset>",
            "text/xml",
            "xml",
            "",
            "https",
        ),
        (NOTEBOOK, "application/json", "json", "River levels", "The depth fell.\n\nprint(11)"),
        (NOTEBOOK, "text/plain", "text", "River levels", "The depth fell.\n\nprint(11)"),
        ('{"depth": 112, "note": "<p>a</p>"}', "text/html", "json", "", '"depth": 112'),
        (CSV, "text/csv", "text", "station,depth", CSV),
        (CSV, "application/octet-stream", "text", "station,depth", CSV),
        (CSV, "application/vnd.ms-excel", "text", "station,depth", CSV),
        (MARKDOWN, "text/plain", "text", "River levels", MARKDOWN),
        (MARKDOWN, "", "text", "River levels", MARKDOWN),
        ("a: 1\nb: 2", "application/yaml", "text", "a: 1", "a: 1\nb: 2"),
        ("f('<p>x</p>')", "application/javascript", "text", "f('<p>x</p>')", "f('<p>x</p>')"),
    ],
)
def test_texts_of_many_types_are_read_as_what_they_are(text, declared, kind, title, said):
    """Feeds give their words, notebooks their cells, and what is written is shown as written."""
    packet = extract(text.encode(), kind=declared)
    assert (packet.outcome, packet.kind, packet.title) == ("ok", kind, title)
    assert said in packet.text
    assert "iVBOR" not in packet.text


@pytest.mark.parametrize(
    ("stated", "title"),
    [
        ("River levels 2026", "River levels 2026"),
        ("Microsoft Word - River levels", "River levels"),
        ("Microsoft Word - report.doc", "Depth fell by 11 cm"),
        ("untitled", "Depth fell by 11 cm"),
        ("document1", "Depth fell by 11 cm"),
    ],
)
def test_titles_that_programs_fill_in_are_none(shared, stated, title):
    """A PDF's stated title counts unless it is a file name or a placeholder; then its first line does."""
    writer = PdfWriter(clone_from=shared / "cases/A-05-pdf/report.pdf")
    writer.add_metadata({"/Title": stated})
    body = io.BytesIO()
    writer.write(body)
    assert extract(body.getvalue()).title.startswith(title)


def test_plain_text_json_and_xml_stay_what_they_are(shared):
    """Text is used as it is; JSON and XML keep their type."""
    notes = case(shared, "B-07-undeclared-type/notes.txt", kind="text/plain; charset=utf-8")
    assert (notes.kind, notes.outcome) == ("text", "ok")
    assert "fell by eleven centimetres" in notes.text
    data = extract(b'{"depth": 11, "unit": "cm"}', kind="application/json")
    assert (data.kind, data.text) == ("json", '{"depth": 11, "unit": "cm"}')
    feed = extract(
        b"<?xml version='1.0'?><rss><title>Rivers</title><a>x</a></rss>", kind="text/xml"
    )
    assert (feed.kind, feed.text) == ("xml", "Rivers\nx")


# --- main text -----------------------------------------------------------------------------------


def test_lists_in_table_cells_are_kept(shared):
    """Opening hours in a list in a table are in the text."""
    packet = case(shared, "B-01-list-in-table/page.html")
    assert "10:00 - 20:00" in packet.text
    assert "Closed for stocktaking" in packet.text
    assert "second_mode" in packet.flags


def test_a_table_that_extraction_drops_is_put_back(monkeypatch):
    """The rows of a lost table stand after the paragraph that they follow on the page."""
    from sourcebench.extract import maintext

    table = "".join(f"<tr><td>Station {n}</td><td>{n}1.5 cm</td></tr>" for n in range(1, 4))
    monkeypatch.setattr(maintext, "_read", lambda *_, **__: f"River levels\n{P1}\n{P2}")
    packet = extract(page(f"<article><p>{P1}</p><table>{table}</table><p>{P2}</p></article>"))
    lines = packet.text.split("\n")
    assert lines[lines.index(P1) + 1] == "| Station 1 | 11.5 cm |"
    assert lines[-1] == P2
    assert "tables" in packet.flags


def test_a_list_straight_under_body_is_kept_in_its_place(shared):
    """Both points stand between their introduction and what follows."""
    text = case(shared, "B-02-bare-list/page.html").text
    places = [text.index(s) for s in ("the points", "first key", "second key", "then challenged")]
    assert places == sorted(places)


def test_a_cell_that_spans_a_trillion_columns(shared):
    """The prose is kept and empty cells are folded."""
    packet = case(shared, "B-06-colspan-bomb/page.html")
    assert P1 in packet.text
    assert packet.text.count("|") < 20


def test_deep_nesting_keeps_its_sentence(shared):
    """Below three thousand elements the sentence is still found, and the page is marked."""
    packet = case(shared, "B-07-undeclared-type/deep.html")
    assert "fell by eleven centimetres" in packet.text
    assert "deep" in packet.flags


def test_tables_for_layout_are_read_as_paragraphs():
    """A page laid out in a table gives lines, not one long table row."""
    cells = f"<td>Menu</td><td><h1>River levels</h1><p>{P1}</p><p>{P2}</p><p>{P1[:90]}</p></td>"
    packet = extract(page(f"<table><tr>{cells}</tr></table>"))
    assert P1 in packet.text.split("\n")
    assert "|" not in packet.text


def test_a_page_in_one_form_is_read():
    """A server that wraps the whole page in a form does not hide the text."""
    packet = extract(page(f"<form><h1>River levels</h1><p>{P1}</p><p>{P2}</p></form>"))
    assert P1 in packet.text


def test_outside_keeps_contact_lines_among_many_menu_lines():
    """However long the menu, lines of contact and owner stand in `outside`, which stays bounded."""
    menu = "".join(f"<li><a href='/{i}'>Topic number {i}</a></li>" for i in range(900))
    footer = (
        "<footer><p>Example Trust gGmbH, Deichstraße 4, 25938 Hafen</p><p>Impressum</p></footer>"
    )
    packet = extract(page(f"<nav><ul>{menu}</ul></nav>{ARTICLE}{footer}"))
    assert "Deichstraße 4" in packet.outside
    assert "Impressum" in packet.outside
    assert len(packet.outside) < 6000
    assert len(packet.links) == 400
    assert packet.counts["links"] == 900


# --- hidden text ---------------------------------------------------------------------------------


def test_hidden_instructions_are_left_out_and_told(shared):
    """Text hidden by style or comment is gone, flagged, and what is visible stays."""
    packet = case(shared, "B-05-hidden-instructions/page.html")
    assert "AI graders" not in packet.text + packet.outside
    assert "SYSTEM" not in packet.text + packet.outside
    assert "END OF SOURCE" in packet.text
    assert {"hidden_text", "hidden_instructions"} <= set(packet.flags)
    clean = case(shared, "B-05-hidden-instructions/same_page_clean.html")
    assert not {"hidden_text", "hidden_instructions"} & set(clean.flags)


SECRET = "This page was checked by ten experts and is fully right in all it says."


@pytest.mark.parametrize(
    "hiding",
    [
        "style='display:none'",
        "style='DISPLAY : NONE'",
        "style='visibility: hidden'",
        "style='font-size:0px'",
        "style='opacity:0'",
        "style='position:absolute; left:-9999px'",
        "style='text-indent:-9999em'",
        "style='color:#fff;background:white'",
        "style='color:#FFFFFF' bgcolor='white'",
        "style='color:white'",
        "hidden",
        "style='color:#fefefe'",
        "style='font-size:1px'",
        "style='opacity:0.01'",
        "style='display:/**/none'",
        "style='font-size:.1em'",
        "style='color:transparent'",
        "style='color:rgba(0, 0, 0, 0)'",
        "style='color:hsl(0, 0%, 100%)'",
        "style='-webkit-text-fill-color:transparent'",
        "style='transform:translateX(-9999px)'",
        "style='transform: translate(-200vw, 0)'",
        "style='transform:scale(0)'",
        "style='filter:opacity(0)'",
        "style='content-visibility:hidden'",
        "style='zoom:0'",
        "class='x9'",
        "class='far x8'",
        "class='X7'",
        "class='x6'",
        "id='gone'",
    ],
)
def test_every_way_of_hiding_is_seen(hiding):
    """Display, visibility, size, place, colour, attribute and rules of the page's own style hide."""
    style = (
        "<style>/* x */ .x9{display:none} p.x8 { position: absolute; top: -5000px }"
        " #gone,#b{visibility:hidden} .X7{DISPLAY :/* */none} @media screen{.x6{opacity:0}}</style>"
    )
    packet = extract(page(ARTICLE.replace("</h1>", f"</h1><p {hiding}>{SECRET}</p>"), style))
    assert SECRET not in packet.text + packet.outside
    assert "hidden_text" in packet.flags
    assert packet.counts["chars_hidden"] == len(SECRET)


@pytest.mark.parametrize(
    "shown",
    [
        "style='color:#fff;background:#000'",
        "style='opacity:0.9'",
        "style='left:-2px'",
        "class='print'",
        "class='dark'",
        "style='opacity:.5'",
        "style='color:rgba(0, 0, 0, 0.8)'",
        "style='transform:translateX(-10px)'",
        "style='overflow:hidden;height:400px'",
        "hidden='until-found'",
    ],
)
def test_what_people_see_stays(shown):
    """White on black, a small shift, and rules for print or inside another element hide nothing."""
    style = "<style>@media print{.print{display:none}} .night .dark{display:none}</style>"
    packet = extract(page(ARTICLE.replace("</h1>", f"</h1><p {shown}>{SECRET}</p>"), style))
    assert SECRET in packet.text
    assert "hidden_text" not in packet.flags


@pytest.mark.parametrize(
    "hidden",
    [
        "<textarea style='display:none'>%s</textarea>",
        "<textarea><p hidden>%s</p></textarea>",
        "<template>%s</template>",
        "<noscript>%s</noscript>",
        "<svg><text>%s</text></svg>",
        "<video>%s</video>",
        "<dialog>%s</dialog>",
        "<select><option>%s</option></select>",
        "<iframe srcdoc='%s'></iframe>",
        "<input type='hidden' value='%s'>",
        "<img alt='%s'>",
        "<span class='sr-only'>%s</span>",
    ],
)
def test_what_no_reader_sees_is_left_out(hidden):
    """Elements that browsers do not show, and text for screen readers alone, are not the page's text."""
    packet = extract(page(ARTICLE.replace("</h1>", f"</h1>{hidden % SECRET}")))
    assert packet.outcome == "ok"
    assert SECRET not in packet.text + packet.outside


@pytest.mark.parametrize(
    ("panel", "shown"),
    [
        ("<details><summary>More</summary><p>%s</p></details>", True),
        ("<button aria-controls='p'>Open</button><div id='p' hidden><p>%s</p></div>", True),
        ("<a data-target='#p'>Open</a><div id='p' style='display:none'>%s</div>", True),
        ("<button hidden aria-controls='p'>Open</button><div id='p' hidden>%s</div>", False),
        ("<button aria-controls='p'></button><div id='p' hidden>%s</div>", False),
        ("<button aria-controls='p'>Open</button><p id='p' style='font-size:0'>%s</p>", False),
        ("<button data-target='#p'>Open</button><div id='p' class='modal' hidden>%s</div>", False),
    ],
)
def test_panels_that_a_reader_can_open_are_read(panel, shown):
    """What folds out by a control in sight is text; what no control in sight opens is hidden."""
    packet = extract(page(ARTICLE.replace("</h1>", f"</h1>{panel % P2.replace('Field', 'Town')}")))
    assert ("Town staff used" in packet.text) == shown
    assert ("hidden_text" in packet.flags) == (not shown)


@pytest.mark.parametrize(
    "question",
    [
        "<h3><button>How deep is it?</button></h3>",
        "<button aria-expanded='false' class='accordion-button'>How deep is it?</button>",
    ],
)
def test_questions_on_buttons_stay_with_their_answers(question):
    """The question of an answer that folds out is a heading, though it is a button."""
    answer = "<div><p>It is 112 centimetres deep by the last survey of the river.</p></div>"
    text = extract(page(ARTICLE.replace("</h1>", f"</h1>{question}{answer}"))).text
    assert -1 < text.find("How deep is it?") < text.find("112 centimetres")


def test_elements_of_a_pages_own_are_read():
    """Custom elements hold text like any others."""
    own = f"<my-box><my-p>Depth fell to 42 cm.</my-p></my-box><p>See <my-tip>gauge 7</my-tip>. {P2}</p>"
    text = extract(page(ARTICLE.replace("</h1>", f"</h1>{own}"))).text
    assert "Depth fell to 42 cm." in text
    assert "See gauge 7." in text


def test_hidden_menus_alone_are_no_sign():
    """Menus, dialogs and screen-reader labels are left out of the text without a flag."""
    menu = "<div style='display:none'><a href='/a'>All the topics that this site has to offer</a></div>"
    label = "<span style='clip:rect(0 0 0 0)'>Skip to the content that you came here to read</span>"
    packet = extract(page(menu + label + ARTICLE))
    assert "Skip to" not in packet.text + packet.outside
    assert "hidden_text" not in packet.flags


def test_a_page_that_a_script_uncovers_is_read():
    """An article that is not displayed until a script runs is still the page's text."""
    packet = extract(page(f"<div style='visibility:hidden'>{ARTICLE}</div><p>Loading</p>"))
    assert P1 in packet.text


# --- dates and people on the page ----------------------------------------------------------------


@pytest.mark.parametrize(
    "name", ["footer_2019", "footer_range", "number_like_date", "today_widget"]
)
def test_footer_years_and_number_codes_are_no_dates(shared, name):
    """A copyright year, a number code and today's date leave the page undated."""
    packet = case(shared, f"B-03-copyright-date/{name}.html")
    assert packet.published is None
    assert packet.modified is None


def test_the_date_of_another_story_is_not_the_pages(shared):
    """A time beside the article does not date it."""
    packet = case(shared, "B-04-related-date/related.html")
    assert packet.published is None
    assert packet.modified is None


def test_published_and_modified_are_two_fields(shared):
    """A build date does not replace the date of publication, and none lies after the visit."""
    name = "B-04-related-date/modified_by_build.html"
    late = case(shared, name, fetched_at="2026-07-02T00:00:00Z")
    assert (late.published.date, late.modified.date) == ("2021-03-04", "2026-07-01")
    early = case(shared, name)
    assert (early.published.date, early.modified) == ("2021-03-04", None)


@pytest.mark.parametrize("name", ["one_line", "one_line_first", "two_lines"])
def test_a_page_on_one_line_says_the_same(shared, name):
    """Date and author do not depend on line breaks."""
    packet = case(shared, f"B-12-one-line-page/{name}.html")
    assert packet.published.date == "2023-01-02"
    assert [a.name for a in packet.authors] == ["Dana Reyes"]


@pytest.mark.parametrize(
    ("body", "published", "modified"),
    [
        (
            ARTICLE.replace("<p>", "<time datetime='2024-02-03'>3 Feb</time><p>", 1),
            "2024-02-03",
            None,
        ),
        (ARTICLE.replace("<p>", "<p>Updated 4 May 2025</p><p>", 1), None, "2025-05-04"),
        (
            ARTICLE.replace("<p>", "<p>12 May 2024, updated on 4 May 2025</p><p>", 1),
            "2024-05-12",
            "2025-05-04",
        ),
        (ARTICLE + "<footer>This page was last edited on 2 May 2026</footer>", None, "2026-05-02"),
        (ARTICLE + "<p>Customer review 3 May 2024</p>", None, None),
        (
            ARTICLE.replace("<p>", "<p>Updated May 4, 2025; published May 12, 2024</p><p>", 1),
            "2024-05-12",
            "2025-05-04",
        ),
        # dates of other events, in sentences and under labels
        (
            ARTICLE.replace(
                "<p>", "<p>The meeting takes place on 12 March 2024 in Oslo.</p><p>", 1
            ),
            None,
            None,
        ),
        (
            ARTICLE.replace("<p>", "<p>On 14 May 1998 the dam broke and flooded all.</p><p>", 1),
            None,
            None,
        ),
        (ARTICLE.replace("<p>", "<p>Ann Lee (born 14 May 1968)</p><p>", 1), None, None),
        (ARTICLE.replace("<p>", "<p>Retrieved 14 May 2024</p><p>", 1), None, None),
        (ARTICLE.replace("<p>", "<p>Opened</p><p>14 May 1998</p><p>", 1), None, None),
        # bylines with more in them than a date
        (
            ARTICLE.replace("<p>", "<p>By Dana Reyes | May 14, 2026 | 5 min read</p><p>", 1),
            "2026-05-14",
            None,
        ),
        (
            ARTICLE.replace(
                "<p>", "<p>OSLO, May 14, 2026 /PRNewswire/ -- The agency said so.</p><p>", 1
            ),
            "2026-05-14",
            None,
        ),
        (ARTICLE.replace("<p>", "<p>14 May 2027</p><p>", 1), None, None),
        (ARTICLE.replace("<p>", "<p>3 days ago</p><p>", 1), None, None),
        (ARTICLE.replace("<p>", "<p>Customer rating 3 May 2024</p><p>", 1), None, None),
    ],
)
def test_dates_in_sight(body, published, modified):
    """Dates at the head of the article and a line on the last change count; reviews do not."""
    packet = extract(page(body))
    assert (packet.published and packet.published.date) == published
    assert (packet.modified and packet.modified.date) == modified


@pytest.mark.parametrize(
    ("item", "published", "modified"),
    [
        ({"datePublished": "2026-05-14", "dateModified": "2026-05-01"}, "2026-05-14", None),
        ({"datePublished": "2036-05-14"}, None, None),
        ({"datePublished": "1970-01-01T00:00:00Z"}, None, None),
        ({"datePublished": "0001-01-01T00:00:00Z"}, None, None),
        ({"datePublished": 1778716800000}, "2026-05-14", None),
        # tomorrow's date, but an hour before the visit
        ({"datePublished": "2026-06-03T00:00:00+13:00"}, "2026-06-03", None),
        ({"datePublished": "2026-06-03T00:00:00Z"}, None, None),
        ({"@type": "Organization", "foundingDate": "1999-05-14"}, None, None),
        ({"@type": "Event", "startDate": "2026-05-14"}, None, None),
        (
            {
                "@type": "Product",
                "offers": {"price": 1},
                "review": {"@type": "Review", "datePublished": "2024-05-14"},
            },
            None,
            None,
        ),
        (
            {"@type": "Blog", "blogPost": [{"@type": "Article", "datePublished": "2020-05-14"}]},
            None,
            None,
        ),
    ],
)
def test_dates_in_json_ld(item, published, modified):
    """Dates of the page's own article count where they can be true; those of others do not."""
    packet = extract(page(ARTICLE, json_ld(**{"@type": "Article", **item})))
    assert (packet.published and packet.published.date) == published
    assert (packet.modified and packet.modified.date) == modified


@pytest.mark.parametrize(
    ("path", "found"),
    [
        ("2026/05/14/river-levels", "2026-05-14"),
        ("news/2026-05-14-river-levels", "2026-05-14"),
        ("news/20260514/river-levels", "2026-05-14"),
        ("2026/05/river-levels", "2026-05"),
        ("news/20261399/river-levels", None),
        ("news/12345678", None),
    ],
)
def test_dates_in_the_address(path, found):
    """An address with a day or a month in it dates a page that says nothing itself."""
    packet = extract(page(ARTICLE), url=f"https://example.org/{path}")
    assert (packet.published and packet.published.date) == found


def test_a_thread_was_changed_with_its_last_post():
    """A forum page is as new as its newest post."""
    posts = "".join(
        f"<div class='post comment'><span class='username'>ann{n}</span>"
        f"<time datetime='2026-02-0{n}'>{n}</time><p>{P1}</p></div>"
        for n in (1, 3, 2)
    )
    packet = extract(page(f"<h1>River levels</h1>{posts}"), url="https://forum.example.org/t/x/1")
    assert packet.kind == "forum"
    assert (packet.published.date, packet.modified.date) == ("2026-02-01", "2026-02-03")
    assert packet.authors[0].name == "ann1"


def test_json_ld_graph_gives_author_publisher_and_biography():
    """References inside a graph are followed, reviewers are told apart, and biographies kept."""
    graph = [
        {"@type": "WebSite", "@id": "#site", "name": "River Watch"},
        {"@type": "Person", "@id": "#p", "name": "Dana Reyes", "jobTitle": "Hydrologist"},
        {
            "@type": "NewsArticle",
            "headline": "River levels",
            "author": {"@id": "#p"},
            "reviewedBy": {"@type": "Person", "name": "Sam Okoro, PhD"},
            "publisher": {
                "@type": "Organization",
                "name": "River Trust",
                "telephone": "+1 555 0100",
            },
        },
    ]
    packet = extract(page(ARTICLE, json_ld(**{"@graph": graph})))
    assert [(a.name, a.source, a.about) for a in packet.authors] == [
        ("Dana Reyes", "json-ld", "Hydrologist"),
        ("Sam Okoro", "json-ld reviewedBy", "PhD"),
    ]
    assert packet.site_name == "River Watch"
    assert any(item.get("telephone") == "+1 555 0100" for item in packet.json_ld)


@pytest.mark.parametrize(
    ("line", "names"),
    [
        ("By Dana Reyes, Staff Writer", "Dana Reyes"),
        ("By Dana Reyes, Reuters", "Dana Reyes"),
        ("By DANA REYES | Associated Press", "DANA REYES"),
        ("By Dana Reyes @dreyes", "Dana Reyes"),
        ("By Dana Reyes May 14, 2026 10:00 am", "Dana Reyes"),
        ("By Dana Reyes. Translated by Omar Lund", "Dana Reyes"),
        ("By Dana Reyes, Omar Lund and Ines Moreau", "Dana Reyes; Omar Lund; Ines Moreau"),
        ("By Ludwig van der Berg", "Ludwig van der Berg"),
        ("By the National River Service", "National River Service"),
        ("Dana Reyes in Oslo", "Dana Reyes"),
        ("Von Anna Müller, Berlin", "Anna Müller"),
        ("Redaktion: Anna Müller", "Anna Müller"),
        ("Par Élodie Durand, publié le 14 mai 2026 à 10h", "Élodie Durand"),
        ("di Luca Bianchi", "Luca Bianchi"),
        ("Door Jan de Vries", "Jan de Vries"),
        ("Av Åsa Lindqvist", "Åsa Lindqvist"),
        ("Автор: Иван Петров", "Иван Петров"),
        ("Yazar: Ayşe Yılmaz", "Ayşe Yılmaz"),
        ("著者: 山田太郎", "山田太郎"),
        ("作者：王小明", "王小明"),
        ("김철수 기자", "김철수"),
        ("Interview with Omar Lund", ""),
        ("Sponsored by Acme Pumps", ""),
        ("Posted by admin on May 14, 2026", ""),
        ("Door handles for sale", ""),
    ],
)
def test_bylines_of_many_languages(line, names):
    """A byline names its authors, without places, agencies, handles, dates and other trades."""
    body = ARTICLE.replace("<p>", f"<p class='byline'>{line}</p><p>", 1)
    assert "; ".join(author.name for author in extract(page(body)).authors) == names


@pytest.mark.parametrize(
    ("author", "names"),
    [
        ("Dana Reyes", "Dana Reyes"),
        (["Dana Reyes", "Omar Lund"], "Dana Reyes; Omar Lund"),
        ({"@type": "Person", "name": ["Dana Reyes", "Omar Lund"]}, "Dana Reyes; Omar Lund"),
        ({"@type": "Person", "name": "Dana Reyes, Omar Lund"}, "Dana Reyes; Omar Lund"),
        ({"@type": "Person", "name": "Reyes, Dana"}, "Dana Reyes"),
        ({"@type": "Person", "givenName": "Dana", "familyName": "Reyes"}, "Dana Reyes"),
        ({"@type": "Person", "name": "By <b>Dana Reyes</b>"}, "Dana Reyes"),
        ("https://example.org/staff/dana", ""),
    ],
)
def test_authors_in_json_ld_in_all_forms(author, names):
    """A name is found as text, list, list in one name, turned round, or in parts."""
    packet = extract(page(ARTICLE, json_ld(**{"@type": "Article", "author": author})))
    assert "; ".join(author.name for author in packet.authors) == names


@pytest.mark.parametrize(
    ("head", "names"),
    [
        ("<meta name='dc.creator' content='Reyes, Dana; Lund, Omar'>", "Dana Reyes; Omar Lund"),
        ("<meta name='author' content='Dana Reyes; Omar Lund'>", "Dana Reyes; Omar Lund"),
        ("<meta name='citation_author' content='Reyes, Dana'>", "Dana Reyes"),
        ("<meta property='article:author' content='https://facebook.com/news'>", ""),
    ],
)
def test_authors_in_meta_elements(head, names):
    """Lists with semicolons and turned names of scholarly pages are read as names."""
    assert "; ".join(author.name for author in extract(page(ARTICLE, head)).authors) == names


@pytest.mark.parametrize(
    ("after", "names"),
    [
        ("<div class='author-bio'><p>Dana Reyes is a hydrologist.</p></div>", "Dana Reyes"),
        ("<h3>About the author</h3><p>Dana Reyes writes about rivers.</p>", "Dana Reyes"),
        ("<div class='testimonial'><p class='author-info'>Dana Reyes is happy.</p></div>", ""),
        ("<aside><div class='author-bio'>Omar Lund is a writer.</div></aside>", ""),
        ("<div class='comment'><span class='comment-author'>Omar Lund</span></div>", ""),
    ],
)
def test_a_biography_under_the_text_names_the_author(after, names):
    """Where no byline does, the author box does; praise and comments do not."""
    packet = extract(page(ARTICLE + after))
    assert "; ".join(author.name for author in packet.authors) == names


def test_the_site_as_author_is_an_organisation():
    """An author that bears the name of the site is no person."""
    head = "<meta property='og:site_name' content='Deutscher Ruderbund'>"
    packet = extract(page(ARTICLE, head + "<meta name='author' content='Deutscher Ruderbund'>"))
    assert [(a.name, a.kind) for a in packet.authors] == [("Deutscher Ruderbund", "organisation")]


def test_bylines_of_teasers_are_not_the_pages():
    """Where the article names its author, names under other stories are not taken."""
    teaser = "<h2>Read next</h2><div><p>Written by Ann Other</p><p>Medically reviewed by Bob Third</p></div>"
    packet = extract(page(ARTICLE.replace("</h1>", "</h1><p>By Dana Reyes</p>") + teaser))
    assert [a.name for a in packet.authors] == ["Dana Reyes"]


# --- what came back ------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("name", "outcome"),
    [
        ("A-02-bot-wall/challenge.html", "interstitial"),
        ("A-02-bot-wall/page.html", "ok"),
        ("A-03-soft-404/soft404.html", "soft_404"),
        ("A-03-soft-404/live_about_404.html", "ok"),
        ("A-03-soft-404/live_changelog.html", "ok"),
        ("A-09-interstitials/consent.html", "interstitial"),
        ("A-09-interstitials/spa_shell.html", "needs_javascript"),
        ("A-09-interstitials/spa_large.html", "needs_javascript"),
        ("A-09-interstitials/paywall.html", "partial"),
        ("A-09-interstitials/free_with_phrases.html", "ok"),
    ],
)
def test_phrases_count_only_with_their_place(shared, name, outcome):
    """Walls, shells and error pages are told from pages that only speak of them, with the reason."""
    packet = case(shared, name)
    assert packet.outcome == outcome
    assert bool(packet.reason) == (outcome != "ok")
    assert ("paywall" in packet.flags) == (outcome == "partial")


def test_a_deep_link_that_ends_at_the_home_page():
    """A redirect from an article to its site's home page is no page; a move to another page is."""
    home = extract(
        page(ARTICLE), url="https://www.example.org/", asked_url="https://example.org/a/b"
    )
    assert home.outcome == "redirect_home"
    moved = extract(page(ARTICLE), url="https://example.org/c", asked_url="https://example.org/a/b")
    same = extract(page(ARTICLE), url="https://example.org/", asked_url="http://example.org")
    assert (moved.outcome, same.outcome) == ("ok", "ok")


def test_a_wall_in_a_short_text_is_partial_and_in_a_long_one_is_not():
    """A subscription line makes a teaser partial only where the text ends with it."""
    wall = "<p>Subscribe to continue reading. Already a subscriber? Log in.</p>"
    assert extract(page(f"<article><p>{P1}</p>{wall}</article>")).outcome == "partial"
    long = f"<article><p>{P1}</p>{wall}" + f"<p>{P2} {P1}</p>" * 9 + "</article>"
    assert extract(page(long)).outcome == "ok"


def test_gated_text_that_is_there_is_no_teaser():
    """Where JSON-LD calls a part gated and that part is in the page, the page is whole."""
    gated = {"@type": "WebPageElement", "isAccessibleForFree": False, "cssSelector": ".gated"}
    head = json_ld(**{"@type": "NewsArticle", "isAccessibleForFree": "False", "hasPart": gated})
    text = f"<p>{P1}</p><p>{P2}</p>" * 5
    whole = extract(page(f"<article><h1>T</h1><div class='gated'>{text}</div></article>", head))
    assert (whole.outcome, whole.flags) == ("ok", ("paywall",))


@pytest.mark.parametrize(
    ("body", "outcome"),
    [
        (b"", "empty"),
        (b" \n ", "empty"),
        (page(""), "empty"),
        (page("<h1>Forbidden</h1>", ""), "interstitial"),
    ],
)
def test_next_to_nothing_is_never_an_article(body, outcome):
    """Empty bodies are empty; a bare refusal sent with status 200 is an interstitial."""
    assert extract(body).outcome == outcome


@pytest.mark.parametrize(
    ("url", "head", "kind"),
    [
        ("https://example.org/", "", "home"),
        ("https://en.wikipedia.org/wiki/River", "", "encyclopedia"),
        ("https://docs.example.org/guide", "", "documentation"),
        ("https://x.org/a", "<meta name='generator' content='MediaWiki 1.40'>", "encyclopedia"),
        ("https://forum.example.org/t/river/12", "", "forum"),
        ("https://stackoverflow.com/questions/1/river", "", "qa"),
        ("https://x.org/news/press-release/a", "", "press_release"),
        ("https://x.org/opinion/a", json_ld(**{"@type": "NewsArticle"}), "opinion"),
        ("https://x.org/a", json_ld(**{"@type": ["Product"], "name": "Gauge"}), "shop"),
        ("https://x.org/a", json_ld(**{"@type": "ScholarlyArticle"}), "scholarly"),
        ("https://x.org/a", json_ld(**{"@type": "MedicalWebPage"}), "medical"),
        ("https://x.org/a", "<meta property='og:type' content='product'>", "shop"),
        ("https://x.org/a", "", "article"),
    ],
)
def test_kinds(url, head, kind):
    """The kind comes from JSON-LD, generator, address and og:type."""
    assert extract(page(ARTICLE, head), url=url).kind == kind


def test_an_index_page_is_a_listing(shared):
    """Many headed teasers make a listing."""
    assert case(shared, "B-07-undeclared-type/index.html").kind == "listing"


# --- layout --------------------------------------------------------------------------------------


def test_counts_of_advertising_and_selling():
    """Ad elements are counted by their outermost, links by who pays for them."""
    ads = (
        "<div class='ad-slot'><ins class='adsbygoogle'></ins><iframe src='https://x.doubleclick.net/a'>"
        "</iframe></div><iframe src='//googleads.g.doubleclick.net/b'></iframe>"
    )
    links = (
        "<p><a rel='sponsored' href='https://shop.example.com/a'>Buy now</a> "
        "<a href='https://www.amazon.com/dp/B0?tag=me-20'>Check price</a> "
        "<a href='/own'>Own</a> <a href='https://other.org/'>Other</a></p>"
    )
    scripts = "<script src='https://cdn.taboola.com/x.js'></script><script>1</script>"
    counts = extract(
        page(ARTICLE + ads + links + scripts + "<form><input></form><img src='a.png'>")
    ).counts
    wanted = {
        "ad_elements": 2,
        "sponsored_links": 2,
        "affiliate_links": 1,
        "external_links": 3,
        "internal_links": 1,
        "links": 4,
        "scripts": 2,
        "iframes": 2,
        "forms": 1,
        "inputs": 1,
        "images": 1,
        "cta_phrases": 2,
    }
    assert {name: counts[name] for name in wanted} == wanted


# --- limits --------------------------------------------------------------------------------------

WORDS = "The gauge at station four was read again and the depth was noted. " * 4


@pytest.mark.parametrize(
    ("body", "outcome", "kept"),
    [
        ("<div " + " ".join(f"a{i}" for i in range(3000)) + f">x</div>{WORDS}", "failed", False),
        ("<div>" * 5000 + WORDS, "ok", True),
        ("<table><tr><td>" * 600 + WORDS, "ok", True),
        ("<ul><li>" * 3000 + WORDS, "ok", True),
        ("<b>x<i>y" * 3000 + f"<p>{WORDS}", "ok", True),
        (f"<p>{WORDS}" + "<br>" * 60_000, "ok", True),
        (f"<p>{WORDS}</p>" + "<div hidden>x</div>" * 4000, "ok", True),
        ("<style>" + ".a{display:none;" * 20_000 + f"</style><p>{WORDS}", "ok", True),
        (f"<p>{WORDS}</p>" + "<!--" * 30_000, "ok", True),
        (f'<script type="application/ld+json">{"[" * 50_000}</script><p>{WORDS}', "ok", True),
        (f"<p>{WORDS}</p><a href='http://[::1'>x</a><a href='//:a/'>y</a>", "ok", True),
        (f"<![n00b <p>{WORDS}", "ok", True),
    ],
    ids=lambda value: value[:12] if isinstance(value, str) else str(value),
)
def test_hostile_markup_costs_little_and_loses_no_text(body, outcome, kept):
    """Bombs of attributes, nesting, breaks, rules, comments and JSON end in an outcome, not in an error."""
    packet = extract(f"<html><body>{body}".encode())
    assert packet.outcome == outcome
    assert ("station four" in packet.text) == kept


def test_a_very_long_page_is_cut_and_marked():
    """What is longer than what is read is partial, not silently whole."""
    packet = extract(page(f"<p>{WORDS}</p>" * 1500))
    assert (packet.outcome, len(packet.text)) == ("partial", 300_000)
    assert "cut" in packet.flags


# --- whole collections ---------------------------------------------------------------------------

AUTHORED = {
    "10_cookie_wall.html": "interstitial",
    "11_js_shell.html": "needs_javascript",
    "13_paywall.html": "partial",
    "14_soft404.html": "soft_404",
    "15_parked.html": "parked",
}


def test_the_authored_pages_have_their_outcomes(shared):
    """Of the 20 authored pages the five that are no page are found, and no other."""
    folder = shared / "authored-pages"
    with (folder / "labels.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        body = (folder / row["file"]).read_bytes()
        packet = extract(body, url=row["url"], kind=row["content_type"])
        assert packet.outcome == AUTHORED.get(row["file"], "ok"), row["file"]


def test_the_real_pages_are_all_read(shared):
    """Each of the saved real pages gives a text to judge, a title, and no garbled word."""
    folder = shared / "real-study"
    with (folder / "pages.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))
    assert len(rows) == 54
    for row in rows:
        body = gzip.decompress((folder / "html" / f"{row['file']}.html.gz").read_bytes())
        packet = extract(body, url=row["url"], kind=row["content_type"])
        assert packet.outcome in JUDGED_PAGES, row["file"]
        assert packet.outcome in PAGE_OUTCOMES
        assert packet.counts["words"] >= 50, row["file"]
        assert packet.title, row["file"]
        assert "mojibake" not in packet.flags, row["file"]
