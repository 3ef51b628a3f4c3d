"""An answer becomes statements with exact places, their citations, and a reason for what is left out."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebench.support.statements import CitedPage, claim_id, parse_answer, placed_citations

ANSWER = """# Heat pumps

Here is what I found:

1. **Heat pumps** work below freezing, e.g. at -20 °C [1]. They cost $3.5k, says Dr. Smith ([energy.gov](https://energy.gov/x)).
2. Is it worth it?
- Yes, in the U.S. it saves 30% [2][3].

| a | b |
Let me know if you need more.
"""


def outcomes(text, citations=()):
    """Return outcome and text of each sentence."""
    return [(s.outcome, s.text) for s in parse_answer(text, citations)]


def test_statements_are_told_from_the_rest():
    """Headings, announcements, questions, tables and courtesies are kept apart, with their reason."""
    assert outcomes(ANSWER) == [
        ("heading", "Heat pumps"),
        ("meta", "Here is what I found:"),
        ("statement", "Heat pumps work below freezing, e.g. at -20 °C."),
        ("statement", "They cost $3.5k, says Dr. Smith."),
        ("question", "Is it worth it?"),
        ("statement", "Yes, in the U.S. it saves 30%."),
        ("table", "| a | b |"),
        ("meta", "Let me know if you need more."),
    ]
    assert all(s.reason for s in parse_answer(ANSWER) if s.outcome != "statement")


def test_marks_belong_to_the_sentence_before_them():
    """A mark after the full stop, or alone on the next line, cites for the sentence before it."""
    text = "The river fell. [1] The mill closed.\n[2]\n\nThe bridge is open."
    spans = [text.index("[1]"), text.index("[2]")]
    cited = [CitedPage(name, s, s + 3) for name, s in zip("ab", spans, strict=True)]
    assert [s.pages for s in parse_answer(text, cited)] == [("a",), ("b",), ()]


def test_a_citation_that_covers_its_claim_cuts_there():
    """Claims without full stops are cut where the citation that covers one begins."""
    text = "A long battery under 100 dollars [1] The Q40 lasts for eighty hours [2]"
    second = text.index("The Q40")
    cited = [CitedPage("a", 0, 32), CitedPage("b", second, second + 31)]
    found = parse_answer(text, cited)
    assert [(s.text, s.pages) for s in found] == [
        ("A long battery under 100 dollars", ("a",)),
        ("The Q40 lasts for eighty hours", ("b",)),
    ]


def test_overlapping_places_cite_for_every_sentence_they_touch():
    """A citation that covers two sentences backs both; two on one sentence are both its pages."""
    text = "The river fell by a metre. The mill was closed then."
    found = parse_answer(
        text, [CitedPage("a", 0, len(text)), CitedPage("b", 20, 30), CitedPage("b", 0, 5)]
    )
    assert [s.pages for s in found] == [("a", "b"), ("a", "b")]


def test_a_mark_outside_the_list_is_said():
    """A number without a source cites nothing, and the statement says so."""
    found = parse_answer(
        "The river fell by a metre [1]. The mill was closed [7].", [CitedPage("a")]
    )
    assert [(s.pages, s.reason) for s in found] == [(("a",), ""), ((), "no source for [7]")]


def test_a_place_outside_the_text_is_none():
    """A citation whose place lies beyond the answer keeps its page and loses its place."""
    kept, outside = placed_citations(
        [CitedPage("a", 5, 900), CitedPage("b", 9, 3), CitedPage("c")], 40
    )
    assert outside == 2
    assert kept == [CitedPage("a"), CitedPage("b"), CitedPage("c")]


@pytest.mark.parametrize(
    ("text", "reason"),
    [("", "the answer has no text"), ("Really?", "no sentence that could be checked"), ("👏 [1]", "no sentence that could be checked")],
)  # fmt: skip
def test_an_answer_without_statements_is_an_outcome(text, reason):
    """Where there is nothing to check, one row says so."""
    last = parse_answer(text)[-1]
    assert (last.outcome, last.reason) == ("no_statements", reason)


def test_scripts_without_blanks_are_cut_at_their_stops():
    """Chinese sentences are cut though no blank follows the full stop."""
    found = outcomes("河流今年春天下降了十一厘米。旧磨坊已经关闭了[1]。桥又开放了吗？")
    assert [o for o, _ in found] == ["statement", "statement", "question"]


def test_code_and_source_lists_state_nothing():
    """What stands in a code block or in the list of sources is no statement."""
    text = "The river fell by a metre [1].\n```\nx is a thing that holds.\n```\nSources:\n[1] https://a.example.org/ A page about rivers here.\n"
    assert [o for o, _ in outcomes(text)] == ["statement"]


def test_two_hundred_statements():
    """A long answer gives every statement its own place."""
    text = " ".join(f"The gauge number {n} of the river shows {n} metres." for n in range(200))
    found = parse_answer(text)
    assert len(found) == 200
    assert all(text[s.start : s.end] == s.text for s in found)


@given(st.text(alphabet="aB .!?[1]\n#*|-()。中", max_size=200))
def test_places_are_always_inside_and_in_order(text):
    """Whatever the answer, sentences do not overlap and lie inside it."""
    found = [s for s in parse_answer(text) if s.text]
    edges = [edge for s in found for edge in (s.start, s.end)]
    assert edges == sorted(edges)
    assert all(0 <= s.start < s.end <= len(text) for s in found)


def test_equal_texts_are_one_claim():
    """Blanks make no difference to what a statement is."""
    assert (
        claim_id("The river  fell.") == claim_id(" The river fell.") != claim_id("The river rose.")
    )
