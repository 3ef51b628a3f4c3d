"""Answers are measured where they can be, and say why where they can't."""

import json
import math

import pytest
from fakejudge import FakeJudge, answer
from hypothesis import given
from hypothesis import strategies as st

from sourcebench.judge.endpoint import Reply
from sourcebench.measures import (
    exact_match,
    measure_answers,
    normalized,
    perplexities,
    token_f1,
    without_markers,
)
from sourcebench.study import Study


@pytest.mark.parametrize(
    ("ours", "gold", "match", "f1"),
    [
        ("The Eiffel Tower.", "eiffel tower", 1, 1),
        ("Paris, France", "Paris", 0, 2 / 3),
        ("a cat sat", "the cat ran", 0, 0.5),
        ("London", "Paris", 0, 0),
        ("yes", "Yes!", 1, 1),
        ("yes it is", "yes", 0, 0),
        ("no", "no man's land", 0, 0),
        ("", "Paris", 0, 0),
        ("Anne's 3rd", "annes 3rd", 1, 1),
    ],
)
def test_matches_follow_squad_and_hotpotqa(ours, gold, match, f1):
    """Case, punctuation and articles do not count; yes and no count as a whole only."""
    assert exact_match(ours, gold) == match
    assert token_f1(ours, gold) == pytest.approx(f1)


@given(st.text(max_size=40), st.text(max_size=40))
def test_f1_is_symmetric_and_bounded(one, other):
    """F1 lies between 0 and 1, is the same both ways, and 1 for a text with itself."""
    assert token_f1(one, other) == pytest.approx(token_f1(other, one))
    assert 0 <= token_f1(one, other) <= 1
    assert token_f1(one, one) in ((1.0,) if normalized(one) else (0.0,))


def test_citation_marks_are_no_words():
    """Numbers in brackets, links and bold marks leave the words of an answer."""
    text = "**Paris** [1], says [the city](https://paris.example/a) [2, 3]."
    assert without_markers(text) == "Paris, says the city."
    assert without_markers("In [1984] he wrote it") == "In [1984] he wrote it"


def test_perplexity_by_hand():
    """Two tokens of probability 1/2 and 1/8 have perplexity 4; over all tokens it is less."""
    text = json.dumps(
        {"offsets": [0, 3, 6, 9], "logprobs": [None, -1, math.log(0.5), math.log(0.125)]}
    )
    own, published = perplexities(Reply("reply", text), 6)
    assert own == pytest.approx(4.0)
    assert published == pytest.approx(16 ** (1 / 3))
    assert perplexities(Reply("reply", text), 0) is None
    assert perplexities(Reply("reply", text), 10) is None


def study_of(folder, settings=""):
    """Write a study of one question with a right answer and two disputed ones."""
    folder.mkdir(exist_ok=True)
    head = 'title = "T"\nkind = "synthetic"\nlicence = "MIT"\nas_of = 2026-06-01\n'
    (folder / "study.toml").write_text(head + settings, encoding="utf-8")
    study = Study(folder)
    kinds = {"q1": "reasoning", "q2": "argumentative", "q3": "argumentative"}
    queries = [{"query_id": q, "text": f"Question {q}?", "category": c} for q, c in kinds.items()]
    queries[0]["gold_answer"] = "Paris"
    study.save("queries", queries)
    views = [("q2", "1", "One view."), ("q2", "2", "Another view.")]
    study.save(
        "perspectives",
        [dict(zip(("query_id", "perspective_id", "text"), v, strict=True)) for v in views],
    )
    texts = {"q1": "Paris [1]", "q2": "People disagree on it.", "q3": "It is good."}
    rows = [
        {"system": "s", "query_id": q, "run": 1, "outcome": "ok", "text": text}
        for q, text in texts.items()
    ]
    rows.append(
        {"system": "t", "query_id": "q1", "run": 1, "outcome": "refused", "reason": "policy"}
    )
    study.save("answers", rows)
    return study


def found(frame):
    """Return value and reason by system, query and measure."""
    frame = frame.astype(object).where(frame.notna(), None)
    return {(r.system, r.query_id, r.measure): (r.value, r.reason) for r in frame.itertuples()}


def test_without_a_model_matches_are_measured(tmp_path):
    """Exact match needs no key; what needs a model, and an answer that is none, say so."""
    rows = found(measure_answers(study_of(tmp_path)))
    assert rows["s", "q1", "exact_match"] == (1.0, None)
    assert rows["t", "q1", "exact_match"] == (0.0, "no answer: policy")
    none = "not measured: no language model named for"
    assert rows["s", "q2", "dispute_awareness"] == (None, f"{none} dispute_awareness")
    assert rows["s", "q3", "perspective_diversity"] == (None, f"{none} perspective_diversity")


def script(body, n):
    """Judge disputes by the word 'disagree', and give every six characters log-probability -1."""
    if "prompt" in body:
        offsets = list(range(0, len(body["prompt"]), 6))
        scored = {"text_offset": offsets, "token_logprobs": [None] + [-1.0] * (len(offsets) - 1)}
        return {"model": "judge-1", "choices": [{"text": "", "logprobs": scored}]}
    if "disputed" not in body["messages"][0]["content"]:
        return None
    aware = int("disagree" in body["messages"][1]["content"])
    verdict = {"dispute_awareness": {"reason": "As it says.", "score": aware}}
    return answer(json.dumps(verdict), body=body)


def test_disputes_and_perspectives(tmp_path):
    """A model judges disputes, an endpoint with log-probabilities the views; each is paid for once."""
    with FakeJudge(script) as server:
        study = study_of(tmp_path, server.settings())
        rows = found(measure_answers(study, judge="fake", scorer="fake"))
        asked = len(server.requests)
        again = found(measure_answers(study, judge="fake", scorer="fake"))
        assert len(server.requests) == asked
    assert again == rows
    assert rows["s", "q2", "dispute_awareness"] == (1.0, None)
    assert rows["s", "q3", "dispute_awareness"] == (0.0, None)
    assert rows["s", "q2", "perspective_diversity"][0] == pytest.approx(math.e)
    assert 1 < rows["s", "q2", "perspective_diversity_published"][0] < math.e
    none = "not measured: the study lists no perspectives for this query"
    assert rows["s", "q3", "perspective_diversity"] == (None, none)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (
            {"model": "judge-1", "choices": [{"text": "x", "logprobs": None}]},
            "gives no log-probabilities",
        ),
        ({"model": "judge-1", "choices": [{"text": "x"}]}, "gives no log-probabilities"),
        ((404, {"error": {"message": "no such path"}}, {}), "no such path"),
        ((400, {"error": {"message": "echo is not supported"}}, {}), "echo is not supported"),
    ],
)
def test_an_endpoint_without_log_probabilities_says_so(tmp_path, reply, words):
    """Where the endpoint can't, the measure is missing with the reason, and the others stand."""
    with FakeJudge(lambda body, n: reply if "prompt" in body else script(body, n)) as server:
        rows = found(
            measure_answers(study_of(tmp_path, server.settings()), judge="fake", scorer="fake")
        )
    value, reason = rows["s", "q2", "perspective_diversity"]
    assert value is None
    assert reason.startswith("not measured: ")
    assert words in reason
    assert rows["s", "q2", "dispute_awareness"] == (1.0, None)
