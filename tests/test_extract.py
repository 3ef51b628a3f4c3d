"""What extraction promises: every field from the page, nothing from beside it."""

from __future__ import annotations

from datetime import date

import pytest

from sourcebench.extract import extract_page

SEEN = "2026-06-02T12:00:00Z"
P1 = (
    "The committee published its third annual review of river levels on the northern plain, and it "
    "found that the mean depth fell by eleven centimetres between the two surveys."
)
P2 = (
    "Field staff used the same gauges at every station, repeated each reading three times, and stored "
    "the raw log next to the summary so that other groups can check it."
)


def page(body: str, head: str = "<title>River levels</title>") -> bytes:
    """Return a small web page."""
    return f'<!doctype html><html lang="en"><head><meta charset="utf-8">{head}</head><body>{body}</body></html>'.encode()


def extract(body: bytes, *, url="https://example.org/rivers", kind="text/html", **options):
    """Extract one page as the stage does."""
    return extract_page("p1", url, body, headers={"Content-Type": kind}, fetched_at=SEEN, **options)


def case(shared, name: str, **options):
    """Extract one page of the shared cases."""
    return extract((shared / "cases" / name).read_bytes(), **options)


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
    assert packet.title == "River levels"
    assert [a.name for a in packet.authors] == ["Dana Reyes"]
    assert date.fromisoformat(packet.published.date) == date(2026, 5, 14)
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


@pytest.mark.parametrize(
    "name", ["footer_2019", "footer_range", "number_like_date", "today_widget"]
)
def test_footer_years_and_number_codes_are_no_dates(shared, name):
    """A copyright year, a number code and today's date leave the page undated."""
    packet = case(shared, f"B-03-copyright-date/{name}.html")
    assert packet.published is None
    assert packet.modified is None
