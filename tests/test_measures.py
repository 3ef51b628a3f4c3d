"""Answer measures follow the usual normalisation, and say so where there is none."""

import pytest

from sourcebench.measures import exact_match, final_answer, measure_answers, token_f1
from sourcebench.study import Study


@pytest.mark.parametrize(
    ("answer", "gold", "em", "f1"),
    [
        ("The Eiffel Tower!", "eiffel tower", 1, 1),
        ("in the town of Skarvik", "Skarvik", 0, 0.4),
        ("yes", "no", 0, 0),
        ("yes, it is", "yes", 0, 0),
        ("", "Skarvik", 0, 0),
        ("a cat", "the cat", 1, 1),
    ],
)
def test_measures_on_known_pairs(answer, gold, em, f1):
    """Case, articles, punctuation and citation marks do not count; the rest does."""
    assert exact_match(answer, gold) == em
    assert token_f1(answer, gold) == pytest.approx(f1)


def test_the_final_answer_is_the_last_line_of_its_kind():
    """A worked answer is scored by its last answer line, a plain one as a whole."""
    assert final_answer("Because.\nAnswer: A\nNo.\nFinal answer: 26") == "26"
    assert final_answer("26") == "26"


def test_every_answer_keeps_its_row(tmp_path):
    """A refusal scores 0, a request that failed has no score, a measure that needs a model says so."""
    (tmp_path / "study.toml").write_text(
        'title = "T"\nkind = "live"\nlicence = "CC0-1.0"\nas_of = 2026-06-01\n', "utf-8"
    )
    study = Study(tmp_path)
    study.save(
        "queries",
        [
            {"query_id": "1", "text": "?", "category": "reasoning", "gold_answer": "26"},
            {"query_id": "2", "text": "?", "category": "argumentative"},
            {"query_id": "3", "text": "?", "category": "social"},
        ],
    )
    study.save(
        "answers",
        [
            {"system": "a", "query_id": "1", "run": 1, "outcome": "ok", "text": "Answer: 26"},
            {"system": "b", "query_id": "1", "run": 1, "outcome": "refused"},
            {"system": "c", "query_id": "1", "run": 1, "outcome": "failed"},
            {"system": "a", "query_id": "2", "run": 1, "outcome": "ok", "text": "x"},
            {"system": "a", "query_id": "3", "run": 1, "outcome": "ok", "text": "x"},
        ],
    )
    rows = measure_answers(study).set_index(["system", "measure"])
    assert rows.loc[("a", "exact_match"), "value"] == 1
    assert rows.loc[("b", "exact_match"), "value"] == 0
    assert rows.loc[("c", "exact_match"), "reason"] == "no answer: failed"
    assert rows["value"].isna().sum() == 4
    assert rows.loc[("a", "dispute_awareness"), "reason"].startswith("not measured")
