"""The sample's retrieval methods do what their names say."""

import numpy as np
import pytest

from sourcebench.retrieval import (
    SYSTEMS,
    Document,
    Index,
    answer_best,
    by_chance,
    by_date,
    by_links,
    by_site,
    by_title,
    search,
    short_answer,
    tokens,
)

LONG = "Sand moves along the coast with the waves of every storm. "
INDEX = Index(
    (
        Document(
            "https://a.example/1",
            "Dams and sand",
            LONG * 3,
            "2020-01-01",
            "a.example",
            ("https://b.example/1",),
        ),
        Document(
            "https://a.example/2",
            "Coast",
            LONG * 2 + "Dams hold sand back in the valleys above the coast.",
            "2026-01-01",
            "a.example",
            ("https://b.example/1",),
        ),
        Document("https://b.example/1", "Waves", LONG, "", "b.example"),
        Document(
            "https://c.example/1",
            "Bread",
            "Flour and water make a dough that rises overnight.",
            "2026-05-01",
            "c.example",
        ),
    )
)


def found(ranker, query="Where does sand move along the coast?", **kwargs):
    """Return the addresses that a ranker finds."""
    rng = np.random.default_rng(1)
    return [d.url for d in search(INDEX, query, ranker, rng, top=4, **kwargs)]


def test_each_ranker_follows_its_rule():
    """Title looks at titles, date at dates, links at links, and a site is listed once."""
    assert sorted(found(by_title, "dams and bread")) == [
        "https://a.example/1",
        "https://c.example/1",
    ]
    assert found(by_date)[0] == "https://a.example/2"
    assert found(by_date)[-1] == "https://b.example/1"
    assert found(by_links)[0] == "https://b.example/1"
    assert len({u.split("/")[2] for u in found(by_site)}) == len(found(by_site)) == 2
    assert "https://c.example/1" not in found(by_chance)


def test_a_query_without_known_words_finds_nothing():
    """No match is an empty list, not the first pages of the index."""
    assert found(by_date, "zebra") == []


@pytest.mark.parametrize("system", SYSTEMS.values(), ids=lambda s: s.name)
def test_answers_quote_their_pages(system):
    """Every cited passage stands in the answer at its place, and in the page it cites."""
    documents = search(INDEX, "sand coast waves", system.ranker, np.random.default_rng(2), top=4)
    text, cited = system.answerer(documents, tokens("sand coast waves"))
    assert cited
    for citation in cited:
        assert text[citation.start : citation.end] in citation.document.text


def test_best_sentences_match_the_question():
    """The answerer that reads picks the sentence on dams, wherever it stands."""
    text, cited = answer_best(INDEX.documents, tokens("what do dams hold back"))
    assert "Dams hold sand back" in text
    assert any(c.document.url == "https://a.example/2" for c in cited)


def test_short_answers_fit_the_question():
    """A year for a year, a number for how many, a name otherwise; never a word of the question."""
    text = (
        "It was built by Elsbeth Rourke in 1961 with 26 gates [1]. They asked Elsbeth Rourke [2]."
    )
    assert short_answer(text, "In which year was it built?") == "1961"
    assert short_answer(text, "How many gates has it?") == "26"
    assert short_answer(text, "Who built the dam?") == "Elsbeth Rourke"
    assert short_answer("Nothing here.", "Who?") == ""
