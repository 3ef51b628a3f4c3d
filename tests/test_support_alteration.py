"""Altered sentences differ from the copy in one thing, which their label names."""

import numpy as np
import pytest

from sourcebench.records import Packet
from sourcebench.support.alteration import alter, names_in
from sourcebench.support.rules import RulesVerifier

SENTENCE = "The gauge at Skarvik is read 1,250 times a year and was never wrong since 1998."


@pytest.mark.parametrize("seed", range(12))
def test_one_thing_changes_and_the_verifier_sees_it(seed):
    """Whatever chance picks, the sentence is another one and no longer backed by its page."""
    made = alter(SENTENCE, ["Lillestrand"], np.random.default_rng(seed))
    assert made.text != SENTENCE
    assert made.kind in ("figure", "name", "negation")
    assert made.what.startswith(f"{made.kind}: ")
    packet = Packet(
        "p", "https://p.example.org/", text=f"{SENTENCE} Nobody knows why.", language="en"
    )
    assert RulesVerifier().check([made.text, SENTENCE], packet)[0].verdict == "contradicted"
    assert RulesVerifier().check([SENTENCE], packet)[0].verdict == "supported"


def test_the_same_seed_gives_the_same_alteration():
    """Alterations depend on the generator alone."""
    twice = [alter(SENTENCE, ["Bern"], np.random.default_rng(7)) for _ in range(2)]
    assert twice[0] == twice[1]


def test_nothing_to_change_is_said():
    """A sentence without figure, name or verb known to the rules is left alone."""
    assert alter("Long live beauty", [], np.random.default_rng(0)) is None
    assert names_in(["A house in Bern near Thun.", "The Bern bear."]) == ["Bern", "Thun"]
