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


ABC = [CitedPage("a"), CitedPage("b"), CitedPage("c")]
ANSWERS = {
    "marks before, after and without a blank after the full stop": (
        "The river fell[1]. The mill closed down. [2] The bridge opened again.[3]",
        [("The river fell.", "a"), ("The mill closed down.", "b"), ("The bridge opened again.", "c")],
    ),
    "marks after a paragraph's last full stop cover the paragraph": (
        "It was dry in May.\n\nThe river fell by a metre. The mill was closed. [1][2]",
        [("It was dry in May.", ""), ("The river fell by a metre.", "ab"), ("The mill was closed.", "ab")],
    ),
    "marks in the last sentence of a paragraph are its own": (
        "The river fell by a metre. The mill was closed [1].",
        [("The river fell by a metre.", ""), ("The mill was closed.", "a")],
    ),
    "list items are statements": (
        "- **Cost.** Lowers cost by 20% [1]\n   - Cuts emissions by half [2]\n",
        [("Cost. Lowers cost by 20%", "a"), ("Cuts emissions by half", "b")],
    ),
    "a claim split over bullets is completed": (
        "The pump can:\n1. heat the house [1],\n2. cool it [2], and\n3. save money.",
        [("The pump can heat the house.", "a"), ("The pump can cool it.", "b"), ("The pump can save money.", "")],
    ),
    "a heading ends with its line": (
        "## Costs and benefits\nThe pump costs a lot of money [1].\n**In short**\nIt is quite dear [2].",
        [("The pump costs a lot of money.", "a"), ("It is quite dear.", "b")],
    ),
    "a table's rows state nothing, what follows does": (
        "The prices:\n| Model | Price |\n|---|---|\n| Q40 | $99 [1] |\n\nThe Q40 costs $99 [1].",
        [("The Q40 costs $99.", "a")],
    ),
    "code states nothing": (
        "```python\nprint('The river fell.')\n```\nThe code prints one line [1]. Run `pip list` to see it.",
        [("The code prints one line.", "a"), ("Run pip list to see it.", "")],
    ),
    "abbreviations and decimals end no sentence": (
        "It fell by 3.5 cm (approx. 1.4 in.) in St. Louis on Jan. 5 [1]. Dr. J. R. Smith et al. agree, e.g. in No. 5 [2].",
        [("It fell by 3.5 cm (approx. 1.4 in.) in St. Louis on Jan. 5.", "a"), ("Dr. J. R. Smith et al. agree, e.g. in No. 5.", "b")],
    ),
    "a quotation is one statement": (
        'He said: "The river fell. The mill closed." on Monday [1]. It was “dry. Very dry.” in May [2].',
        [('He said: "The river fell. The mill closed." on Monday.', "a"), ("It was “dry. Very dry.” in May.", "b")],
    ),
    "addresses are no part of a statement": (
        "Prices are listed at https://a.org/x.html?y=1.2 by the maker [1]. The shop (www.b.org) has it too [2].",
        [("Prices are listed at by the maker.", "a"), ("The shop has it too.", "b")],
    ),
    "Chinese and Japanese sentences": (
        "河流下降了十一厘米。[1]旧磨坊已经关闭了！桥又开放了吗？この川は今年下がった[2]。",
        [("河流下降了十一厘米。", "a"), ("旧磨坊已经关闭了！", ""), ("この川は今年下がった。", "b")],
    ),
    "Arabic and Hindi stops": (
        "نعم انخفض النهر كثيرا هذا العام [1]۔ नदी एक मीटर गिर गई [2]।",
        [("نعم انخفض النهر كثيرا هذا العام۔", "a"), ("नदी एक मीटर गिर गई।", "b")],
    ),
    "German dates": (
        "Am 3. Mai wurde die Mühle geschlossen [1]. Der Fluss fiel um 1,5 m [2].",
        [("Am 3. Mai wurde die Mühle geschlossen.", "a"), ("Der Fluss fiel um 1,5 m.", "b")],
    ),
    "emoji": (
        "The river fell 🎉 by a metre. It was dry 😀! [1] 👏\n\nGreat news for all 👩‍👩‍👧 [2].",
        [("The river fell 🎉 by a metre.", ""), ("It was dry 😀!", "a"), ("Great news for all 👩‍👩‍👧.", "b")],
    ),
    "several marks in a sentence": (
        "The drug is safe [1][2], effective [3], and cheap.",
        [("The drug is safe, effective, and cheap.", "abc")],
    ),
}  # fmt: skip


@pytest.mark.parametrize("name", ANSWERS)
def test_shapes_of_answers(name):
    """Whatever an answer looks like, its statements and the pages cited at them are those a reader sees."""
    text, expected = ANSWERS[name]
    found = [s for s in parse_answer(text, ABC) if s.outcome == "statement"]
    assert [(s.text, "".join(s.pages)) for s in found] == expected


def test_an_answer_without_citations_has_statements_without_pages():
    """Numbered marks without any source list cite nothing, and say so."""
    found = parse_answer("The river fell by a metre. The mill was closed [1].")
    assert [(s.outcome, s.pages) for s in found] == [("statement", ()), ("statement", ())]
    assert found[1].reason == "no source for [1]"


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
