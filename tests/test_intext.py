"""Citations that stand in the text of an answer are found where they stand, and nothing else is."""

import json
from itertools import pairwise

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebench.intext import (
    cited_in_text,
    glued_markers,
    links,
    markers,
    sentence_of,
    sentences,
    split_sources,
)


def urls(text: str) -> list[str]:
    """Return the addresses of a text in order."""
    return [mention.url for mention in links(text)]


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("See https://a.example/x.", ["https://a.example/x"]),
        ("See (https://a.example/x_(y)).", ["https://a.example/x_(y)"]),
        ("[a](https://a.example/x_(y))", ["https://a.example/x_(y)"]),
        ('[a](https://a.example/ "title (1)")', ["https://a.example/"]),
        ("[a [b]](https://a.example/)", ["https://a.example/"]),
        ("[[1]](https://a.example/)[[2]](https://b.example/)", ["https://a.example/", "https://b.example/"]),
        ("<https://a.example/?b=1&c=2>,", ["https://a.example/?b=1&c=2"]),
        ('It is "so" (https://a.example/q?x=1;y=2).', ["https://a.example/q?x=1;y=2"]),
        ("**https://a.example/x**", ["https://a.example/x"]),
        ("见https://a.example/x。然后", ["https://a.example/x"]),
        ("https://a.example/上海", ["https://a.example/上海"]),
        ("www.a.example/plain, not a.example or v1.2.3", ["http://www.a.example/plain"]),
        ("doi:10.1016/0092-8674(94)90302-6.", ["https://doi.org/10.1016/0092-8674(94)90302-6"]),
        ("[10.1234/r.1](https://doi.example/10.1234/r.1)", ["https://doi.example/10.1234/r.1"]),
        ("| a | [log](https://a.example/log) |", ["https://a.example/log"]),
        ("https://a.example/x…", ["https://a.example/x"]),
        ("![image](https://a.example/i.png)", ["https://a.example/i.png"]),
        ("```\nhttps://a.example/code\n```", []),
        ("mail me@www.example.org", []),
        ("[a](javascript:alert(1)) [b](/relative)", []),
        ("ftp://a.example/x", []),
        ("https://", []),
    ],
)  # fmt: skip
def test_addresses_are_cut_where_they_end(text, found):
    """Balanced brackets stay in, closing punctuation stays out, titles of links go."""
    assert urls(text) == found


@pytest.mark.parametrize(
    ("text", "found"),
    [
        ("a [1] b[2][3]", [(1,), (2,), (3,)]),
        ("a [1, 3; 5]", [(1, 3, 5)]),
        ("a [2-4]", [(2, 3, 4)]),
        ("a [^7]", [(7,)]),
        ("`a[1]` and ```\nb[2]\n```", []),
        ("[1](https://a.example/)", []),
        ("[1]: https://a.example/", []),
        ("[a] [] [1a] [2024]", []),
    ],
)
def test_markers_are_numbers_in_brackets(text, found):
    """Lists and ranges count; code, links and words do not."""
    assert [marker.numbers for marker in markers(text)] == found


def test_shared_case_of_addresses_in_text(shared):
    """The three lists of the shared case come out as expected."""
    folder = shared / "cases" / "A-11-citation-text"
    expected = json.loads((folder / "expected_urls.json").read_text(encoding="utf-8"))
    text = (folder / "answer.md").read_text(encoding="utf-8")
    found = cited_in_text(text)
    assert sorted(m.url for m in found.mentions) == sorted(expected["linked_to_a_sentence"])
    assert [entry.url for entry in found.listed] == expected["listed_only"]
    assert list(found.dangling) == expected["markers_without_entry"]


SAYS = [
    ("[b](<https://b.example/x y>)", [("[b](<https://b.example/x y>)", "https://b.example/x%20y")]),
    ("[b](https://b.example/x\\_y)", [("[b](https://b.example/x\\_y)", "https://b.example/x_y")]),
    ("[![s](https://i.example/s.svg)](https://c.example/)", [("[![s](https://i.example/s.svg)](https://c.example/)", "https://c.example/")]),
    ("[t][ref], [ref][] and [Ref].\n\n[ref]: <https://b.example/2> 'T'", [("[t][ref]", "https://b.example/2"), ("[ref][]", "https://b.example/2"), ("[Ref]", "https://b.example/2")]),
    ("So[^note].\n\n[^note]: A. Author, https://b.example/2.", [("[^note]", "https://b.example/2")]),
    ("So 【1】, [2†L3-L5], 【1†source】.\n\nSources:\n1. https://a.example/\n2. https://b.example/", [("【1】", "https://a.example/"), ("[2†L3-L5]", "https://b.example/"), ("【1†source】", "https://a.example/")]),
    ("So [Source 1], [ref: 2].\n\nSources:\n1. https://a.example/\n2. https://b.example/", [("[Source 1]", "https://a.example/"), ("[ref: 2]", "https://b.example/")]),
    ("So [1][2].\n\nSources: [1] https://a.example/ [2] https://b.example/", [("[1]", "https://a.example/"), ("[2]", "https://b.example/")]),
    ("So [2].\n\nSources:\n[1](https://a.example/)\n[2](https://b.example/)", [("[2]", "https://b.example/")]),
    ("So [2].\n\nSources\n• [1] A — https://a.example/\n• [2] B — https://b.example/", [("[2]", "https://b.example/")]),
    ("So [2].\n\nSources:\n\n1. A\n   https://a.example/\n2. B\n   https://b.example/", [("[2]", "https://b.example/")]),
    ("Sources:\n1) https://a.example/\n2) https://b.example/\n\nSo [2].", [("[2]", "https://b.example/")]),
    ("So (1), in (2024) or (2).\n\nSources:\n(1) https://a.example/\n(2) https://b.example/", [("(1)", "https://a.example/"), ("(2)", "https://b.example/")]),
    ("So (1) or x².\n\nSources:\n1. https://a.example/", []),
    ("So¹ and 5 m.²\n\n¹ https://a.example/\n² https://b.example/", [("¹", "https://a.example/"), ("²", "https://b.example/")]),
    ("So \\[1\\].\n\n\\[1\\] https://a.example/", [("\\[1\\]", "https://a.example/")]),
    ("https://a.example/?y=[1] (https://b.example/x**bold**)", [("https://a.example/?y=[1]", "https://a.example/?y=[1]"), ("https://b.example/x", "https://b.example/x")]),
    ("https://a.example/x—and", [("https://a.example/x", "https://a.example/x")]),
]  # fmt: skip


@pytest.mark.parametrize(("text", "found"), SAYS)
def test_the_many_ways_to_cite_in_text(text, found):
    """Names, footnotes, brackets of other kinds, and lists of many shapes lead to their addresses."""
    says = cited_in_text(text)
    assert [(text[m.start : m.end], m.url) for m in says.mentions] == found


def test_a_title_and_its_address_on_two_lines_are_one_entry():
    """The number, the title and the address of an entry stay together; text after a list is text."""
    body, entries = split_sources("A [1].\n\nSources:\n1. Title\n   https://a.example/\n\nThe end.")
    assert [(e.number, e.title, e.url) for e in entries] == [(1, "Title", "https://a.example/")]
    assert body.endswith("The end.")


@pytest.mark.parametrize("piece", ["(", "[", "https://a.example/*", "[a](https://a.example/((", "[1] ", "¹", "![", "\\[", "Sources:\n", "[n]: https://a.example/\n", "[1]: [", "1. a\n\n", "Sources: [1] https://a.example/ "])  # fmt: skip
def test_long_hostile_texts_are_read_in_time(piece):
    """Nothing is tried over and over: a text of 100,000 characters is read."""
    cited_in_text((piece * 100_000)[:100_000])


def test_own_source_list_goes_before_positions():
    """A number means the entry of the text's own list; without one, a place in the given list."""
    given_list = [("https://x.example/", "X"), ("https://y.example/", "Y")]
    text = "So [2].\n\nReferences\n[2] Title here. https://own.example/a_(b)."
    found = cited_in_text(text, given_list)
    assert [(m.url, m.label) for m in found.mentions] == [
        ("https://own.example/a_(b)", "Title here")
    ]
    assert [m.url for m in cited_in_text("So [2].", given_list).mentions] == ["https://y.example/"]
    assert cited_in_text("So [3].", given_list).dangling == ("[3]",)
    assert cited_in_text("So [3].").dangling == ()


@pytest.mark.parametrize(
    "heading",
    ["Sources:", "## Sources", "**References:**", "参考文献：", "### 5. References", "Quellen"],
)
@pytest.mark.parametrize(
    "entries",
    [
        "[1] https://a.example/ - Title\n[2] https://b.example/",
        "1. [Title](https://a.example/)\n2. https://b.example/",
        "[1]: https://a.example/\n[2]: https://b.example/",
        "- [1] Title <https://a.example/>\n- [2] https://b.example/",
    ],
)
def test_source_lists_of_many_forms(heading, entries):
    """Heading and numbering vary; the entries are the same, and none is a place of citation."""
    text = f"A [1]. B [2][1].\n\n{heading}\n{entries}\n"
    body, found = split_sources(text)
    assert [(e.number, e.url) for e in found] == [
        (1, "https://a.example/"),
        (2, "https://b.example/"),
    ]
    assert len(body) == len(text)
    assert "example" not in body
    assert [m.url[8] for m in cited_in_text(text).mentions] == ["a", "b", "a"]


def test_a_word_at_the_head_of_a_paragraph_is_no_source_list():
    """Text after a heading such as Sources is text, unless it reads like a list."""
    text = "Sources\n\nThe spring rises [1] in a wood. It is deep.\n\nIt feeds a lake."
    assert split_sources(text) == (text, ())


def test_marks_after_a_full_stop_belong_to_the_sentence_before():
    """The rule is stated and can be turned round."""
    text = "Older work exists. [2][3] It is new.[1] End ([a](https://a.example/))."
    spans = [text[start:end] for start, end in sentences(text)]
    assert spans == [
        "Older work exists. [2][3]",
        "It is new.[1]",
        "End ([a](https://a.example/)).",
    ]
    start, end = sentence_of(text, text.index("[3]"))
    assert text[start:end] == "Older work exists. [2][3]"
    start, end = sentence_of(text, text.index("[3]"), after_stop="after")
    assert text[start:end] == "[2][3] It is new."


@given(st.text(alphabet="ab .[]()12\n`*:/hwtps日。", max_size=80))
def test_any_text_can_be_read(text):
    """Places lie in the text, sentences follow one another, and nothing fails."""
    found = cited_in_text(text, [("https://a.example/", "")])
    assert all(0 <= m.start < m.end <= len(text) for m in found.mentions)
    spans = sentences(text)
    assert all(a < b for a, b in spans)
    assert all(x[1] <= y[0] for x, y in pairwise(spans))
    assert len(split_sources(text)[0]) == len(text)


@pytest.mark.parametrize(
    ("text", "sources", "found"),
    [
        ("complained14.", 4, [(1, 4)]),
        ("$6.7523. More", 4, [(2, 3)]),
        ("lines12.", 2, [(1, 2)]),
        ("lines12.", 12, []),  # 12, or 1 and 2
        ("in 2019 and 3 lines.", 9, []),
        ("word41.", 4, []),
        ("word0.", 4, []),
        ("complained14.", 0, []),
        ("growth of 5%2.", 2, [(2,)]),
    ],
)
def test_glued_digits_have_to_read_in_one_way(text, sources, found):
    """Ascending numbers of sources, in one reading only, behind a word, an amount or a percent sign."""
    assert [marker.numbers for marker in glued_markers(text, sources)] == found
