"""A reply is read strictly: the score that is plainly there, or the reason why there is none."""

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebench.judge.reading import read_reply, read_score

FOUR = {name: name for name in ("authority", "accuracy", "transparency", "freshness")}
TWO = {"CR": "Content relevance", "FA": "Factual accuracy"}


def lines(path):
    """Return the objects of a JSON lines file."""
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines() if line]


def scores(reading):
    """Return the scores by metric, or None if there are none."""
    found = {verdict.metric: verdict.score for verdict in reading.verdicts}
    return None if set(found.values()) == {None} else found


def test_the_shapes_that_judges_send(shared):
    """Readable replies give their scores; prose, cut, empty, doubled ones give none (C-01)."""
    case = shared / "cases" / "C-01-reply-shapes"
    expected = {row["id"]: row["scores"] for row in lines(case / "expected.jsonl")}
    found = {
        row["id"]: scores(read_reply(row["content"], FOUR)) for row in lines(case / "replies.jsonl")
    }
    assert found == expected


def test_repaired_replies_are_marked(shared):
    """What was mended, or found in a fence or in prose, is marked; what was plain is not (C-01)."""
    case = shared / "cases" / "C-01-reply-shapes"
    outcomes = {
        row["id"]: {v.outcome for v in read_reply(row["content"], FOUR).verdicts}
        for row in lines(case / "replies.jsonl")
    }
    plain = {name for name, found in outcomes.items() if found == {"scored"}}
    mended = {name for name, found in outcomes.items() if found == {"repaired"}}
    assert plain == {"r01", "r06"}
    assert mended == {"r02", "r03", "r04", "r05", "r07", "r08", "r09", "r10"}


def test_scores_off_the_scale(shared):
    """Nothing is clamped, and each way to be wrong has its name (C-02)."""
    case = shared / "cases" / "C-02-out-of-range"
    expected = {row["id"]: (row["status"], row["value"]) for row in lines(case / "expected.jsonl")}
    found = {row["id"]: read_score(row["authority"]) for row in lines(case / "values.jsonl")}
    assert found == expected
    text = (case / "values_raw_nan.txt").read_text(encoding="utf-8")
    for line in text.splitlines():
        assert read_reply(line, {"authority": "authority"}).scored == 0


@pytest.mark.parametrize(
    ("value", "outcome", "reason"),
    [
        (6, "out_of_range", "outside the scale (6)"),
        (4.5, "no_verdict", "not a whole number (4.5)"),
        (True, "no_verdict", "not a number (True)"),
        (None, "no_verdict", "no score given (None)"),
        ("N/A", "no_verdict", "called not applicable ('N/A')"),
        ("4-5", "no_verdict", "more than one number ('4-5')"),
    ],
)
def test_a_bad_score_keeps_its_value_in_the_reason(value, outcome, reason):
    """A row without a score tells what stood there."""
    reply = json.dumps({"CR": {"reason": "r", "score": value}, "FA": {"reason": "r", "score": 2}})
    bad, good = read_reply(reply, TWO).verdicts
    assert (bad.score, bad.outcome, bad.reason) == (None, outcome, f"{reason}: r")
    assert (good.score, good.outcome) == (2, "scored")


def test_a_missing_metric_is_no_verdict():
    """A metric that the reply leaves out is never a pass, and does not touch the others (C-10)."""
    left, right = read_reply('{"FA": {"reason": "r", "score": 5}}', TWO).verdicts
    assert (left.score, left.outcome, left.reason) == (None, "no_verdict", "no score given")
    assert right.score == 5


def test_number_and_reason_are_kept_as_given(shared):
    """The number counts, whatever the reason says; without a number there is no verdict (C-10)."""
    case = shared / "cases" / "C-10-verdict-against-reason"
    one = {"authority": "authority"}
    found = [read_reply(row["content"], one).verdicts[0] for row in lines(case / "replies.jsonl")]
    assert [verdict.score for verdict in found] == [1, 5, None]
    assert found[0].reason.startswith("Outstanding")


@pytest.mark.parametrize(
    "reply",
    [
        json.dumps('{"CR": 4, "FA": 2}'),
        json.dumps({"name": "rate", "arguments": '{"CR": 4, "FA": 2}'}),
        "{“CR”: {“reason”: “a”, “score”: 4}, “FA”: {“score”: 2}}",
        "{“CR”：{“score”：4}，“FA”：{“score”：2}}",
    ],
)
def test_a_verdict_in_quotes_is_unpacked(reply):
    """JSON that was put into quotes once more, or typed with typographic ones, is read and marked."""
    found = read_reply(reply, TWO).verdicts
    assert [(v.score, v.outcome) for v in found] == [(4, "repaired"), (2, "repaired")]


def test_a_draft_in_unfinished_thoughts_is_no_verdict():
    """Thinking that never ends holds no verdict, however complete the draft in it is."""
    draft = '<think>Perhaps {"CR": 5, "FA": 5}, but then'
    assert read_reply(draft, TWO).scored == 0
    assert read_reply(f"Well. {draft}", TWO).scored == 0
    assert read_reply(f'{draft}</think>{{"CR": 1, "FA": 2}}', TWO).scored == 2


def test_a_score_that_is_no_number_spoils_no_other():
    """NaN is no JSON and no score; the metric beside it keeps its own."""
    left, right = read_reply('{"CR": {"score": NaN}, "FA": {"score": 4}}', TWO).verdicts
    assert (left.score, left.outcome, right.score) == (None, "no_verdict", 4)


@pytest.mark.parametrize(
    "reply",
    [
        '{"CR": 5, "FA": 5} {"CR": 1, "FA": 1}',
        '{"draft": {"CR": 5, "FA": 5}, "final": {"CR": 1, "FA": 1}}',
        "{'CR': 5, 'FA': 5, 'CR': 1}",
        '[{"metric": "CR", "score": 5}, {"metric": "CR", "score": 1}]',
        '{"CR": 5, "Content relevance": 1, "FA": 2}',
    ],
)
def test_two_verdicts_are_none(reply):
    """A reply that says two things is not read as either."""
    assert read_reply(reply, TWO).scored == 0


@pytest.mark.parametrize("reply", ["{" * 100_000, '{"CR":' * 5_000, "[" * 90_000, "{'a':" * 9_000])
def test_hostile_nesting_is_no_verdict(reply):
    """Deep or unclosed nesting ends as no verdict."""
    assert read_reply(reply, TWO).scored == 0


@settings(max_examples=300, deadline=None)
@given(
    st.one_of(
        st.text(max_size=80),
        st.text(alphabet="{}[]\"':, CRFA1234567890.-score\n", max_size=60),
        st.recursive(
            st.one_of(st.none(), st.booleans(), st.integers(), st.floats(), st.text(max_size=5)),
            lambda inner: st.one_of(
                st.lists(inner, max_size=3),
                st.dictionaries(st.sampled_from(["CR", "FA", "score", "x"]), inner, max_size=3),
            ),
            max_leaves=8,
        ).map(json.dumps),
    )
)
def test_any_reply_ends_as_scores_or_reasons(reply):
    """Whatever comes back: each metric has a whole score on the scale, or none and a reason."""
    verdicts = read_reply(reply, TWO).verdicts
    assert [verdict.metric for verdict in verdicts] == ["CR", "FA"]
    for verdict in verdicts:
        if verdict.score is None:
            assert verdict.outcome in ("no_verdict", "out_of_range")
            assert verdict.reason
        else:
            assert verdict.score in (1, 2, 3, 4, 5)
            assert verdict.outcome in ("scored", "repaired")
