"""Which counts a printed mean or percentage allows."""

from fractions import Fraction

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sourcebench.audit.grim import (
    chance_of_fit,
    common_ns,
    near_ns,
    possible_ns,
    possible_sums,
    read_printed,
)
from sourcebench.published import printed_table
from sourcebench.rubric import CODES


def _means(table: int, system: str) -> list[str]:
    """Return the eight printed means of a published row."""
    return list(printed_table(table).loc[system, list(CODES)])


def test_a_printed_number_keeps_its_precision():
    """4.490 is known to half a thousandth, 18.33% to half a hundredth of a percent."""
    assert read_printed("4.490").half == Fraction(1, 2000)
    assert read_printed("18.33%").value == Fraction("0.1833")
    assert read_printed("18.33%").half == Fraction(1, 20000)
    assert read_printed(4.49, decimals=3).half == Fraction(1, 2000)
    assert read_printed("40").half == Fraction(1, 2)


@pytest.mark.parametrize("cell", ["", "n/a", "nan", "inf", "4,49", "4.4.9", "1e999", "9" * 60])
def test_text_that_is_no_number_is_refused(cell):
    """Anything but an ordinary finite number is one clear error."""
    with pytest.raises(ValueError, match=r"not a (printed|finite) number"):
        read_printed(cell)


def test_counts_behind_the_hotpotqa_percentages():
    """Only two of six published percentages are possible with 20 questions, four with 60."""
    cells = list(printed_table(6)["Answer Score"])
    assert [possible_sums(cell, 20) for cell in cells] == [[], [], [2], [2], [], []]
    assert [possible_sums(cell, 60) for cell in cells] == [[11], [], [6], [6], [], [5]]
    assert possible_ns("14.04%", 60) == [57]
    assert possible_sums("14.04%", 57) == [8]
    assert possible_ns("9.26%", 60) == [54]
    assert possible_ns("8.33%", 60)[0] == 12
    assert common_ns(cells, 399) == []


@pytest.mark.parametrize(
    ("system", "expected"),
    [
        ("GPT-5", [439, 492]),
        ("Grok-4.1-Fast", [305, 461]),
        ("GPT-4o", [294]),
        ("Claude-Sonnet-4.5", [253, 494]),
        ("Gemini-3-Pro", []),
        ("Gemini-3-Flash", [442]),
    ],
)
def test_sources_behind_the_main_table(system, expected):
    """Eight means together leave few numbers of sources up to 500."""
    assert common_ns(_means(4, system), 500) == expected


def test_sources_behind_the_deepseek_table():
    """Two rows fit 69 and 58 sources; two more fit if a few scores are missing."""
    assert common_ns(_means(9, "DS-Chat-Tavily"), 100) == [69]
    assert common_ns(_means(9, "DS-Reasoning-Tavily"), 100) == [58]
    chat = near_ns(dict(zip(CODES, _means(9, "DS-Chat-Gensee"), strict=True)), 500)[0]
    assert (chat.n, chat.short, chat.missing) == (78, ("LC",), 1)
    reasoning = near_ns(dict(zip(CODES, _means(9, "DS-Reasoning-Gensee"), strict=True)), 500)[0]
    assert (reasoning.n, reasoning.short) == (75, ("FR", "OA", "AA", "DA", "LC"))
    assert reasoning.chance < 1e-6


def test_chance_of_a_false_fit():
    """Eight means at three decimals rarely fit by accident below 300, often below 500."""
    assert chance_of_fit(294, 8) == pytest.approx(0.0019, abs=5e-5)
    assert chance_of_fit(500, 8) == pytest.approx(0.22, abs=0.005)


@given(st.lists(st.integers(1, 5), min_size=1, max_size=80), st.integers(0, 4))
def test_a_true_mean_is_always_possible(scores, decimals):
    """No mean of whole numbers, however printed, is called impossible for its own n."""
    printed = f"{sum(scores) / len(scores):.{decimals}f}"
    assert sum(scores) in possible_sums(printed, len(scores))


def test_a_tie_may_be_rounded_either_way():
    """1/8 = 0.125 may have been printed as 0.12 or as 0.13."""
    assert possible_sums("0.12", 8) == possible_sums("0.13", 8) == [1]
