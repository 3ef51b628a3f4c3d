"""Paragraphs that extraction leaves out of an article are put back in their places; teasers are not."""

from __future__ import annotations

from sourcebench.extract.lines import Line
from sourcebench.extract.lost import with_lost_paragraphs


def long(name: str) -> str:
    """Return a paragraph of running text."""
    return (
        f"{name} paragraph: " + "the committee read the gauges of the river again and again, " * 3
    )


A, B, C, D, E, F = (long(name) for name in "ABCDEF")
HEADLINE = Line("Another story of the day", link_chars=24)


def put_back(lines: list, text: str) -> tuple[str, bool]:
    """Put back what lines of running text, or others, hold beyond a text."""
    body = [Line(line) if isinstance(line, str) else line for line in lines]
    return with_lost_paragraphs(body, text)


def test_a_paragraph_between_others_is_put_back():
    """One missing paragraph comes back after the one that it follows."""
    assert put_back([A, B, C], f"{A}\n{C}") == (f"{A}\n{B}\n{C}", True)


def test_the_end_of_an_article_is_put_back():
    """Several paragraphs after the last are the rest of the text; one is a biography or an offer."""
    assert put_back([A, B, C, D, E], f"{A}\n{B}") == (f"{A}\n{B}\n{C}\n{D}\n{E}", True)
    assert put_back([A, B, C], f"{A}\n{B}") == (f"{A}\n{B}", False)


def test_teasers_of_other_stories_are_not():
    """What follows a headline that is a link is another story."""
    lines = [A, B, HEADLINE, C, HEADLINE, D, HEADLINE, E, F]
    assert put_back(lines, f"{A}\n{B}") == (f"{A}\n{B}", False)
    assert put_back([A, HEADLINE, C, B], f"{A}\n{B}") == (f"{A}\n{B}", False)


def test_short_lines_and_links_are_not():
    """Captions, labels and paragraphs of links stay outside."""
    links = Line(C, link_chars=len(C) // 2)
    assert put_back([A, "A caption", links, B], f"{A}\n{B}") == (f"{A}\n{B}", False)


def test_a_text_that_lacks_nothing_stays_as_it_is():
    """Spacing does not matter, nor does a text in which nothing of the page is found."""
    assert put_back([A, B], f"{A}  \n{B}") == (f"{A}  \n{B}", False)
    assert put_back([A, B, C, D], "Something else") == ("Something else", False)
