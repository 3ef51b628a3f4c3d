"""Pages that try to sway the judge meet the mechanical defences; what a model makes of them is
measured by benchmarks/attacks.py."""

import json
import re
from random import Random

import pytest
from attackpages import attacked, attacks
from fakejudge import FakeJudge, answer
from hypothesis import given, settings
from hypothesis import strategies as st
from test_judge_llm import QUERY, made_judge

from sourcebench.judge.fence import echoes, folded, marker, plain, planted_verdicts
from sourcebench.judge.reading import objects_in, read_reply
from sourcebench.judge.verdicts import names_of
from sourcebench.records import Verdict
from sourcebench.rubric import GROUPS

ATTACKS = attacks()
NAMES = [attack["name"] for attack in ATTACKS]
CONTENT = names_of("content")


def of_kind(*kinds):
    """Return the attacks of some kinds, as parameters."""
    return [pytest.param(a, id=a["name"]) for a in ATTACKS if a["kind"] in kinds]


def prompts(tmp_path, packet, **more):
    """Return the second message of each group."""
    with made_judge(tmp_path, "http://127.0.0.1:9/v1", **more) as judge:
        queries = {"content": QUERY}
        return {
            group: judge._request(group, queries.get(group), packet).messages[1]["content"]
            for group in GROUPS
        }


def test_the_suite_is_large_and_varied():
    """At least forty different pages of every kind are in the suite."""
    assert len(set(NAMES)) == len(NAMES) >= 40
    kinds = {attack["kind"] for attack in ATTACKS}
    assert kinds >= {"order", "verdict", "end", "role", "foreign", "encoded", "hidden", "praise"}


@pytest.mark.parametrize("attack", [pytest.param(a, id=a["name"]) for a in ATTACKS])
def test_no_page_breaks_out_of_its_fence(tmp_path, attack):
    """Each prompt has one fence, around all of the page, and no structure that the page put there."""
    for prompt in prompts(tmp_path, attacked(attack)).values():
        fences = re.findall(r"<<<.*>>>", prompt)
        word = re.fullmatch(r"<<<PAGE ([0-9a-f]{16})>>>", fences[0])[1]
        assert fences[1:] == [f"<<<END OF PAGE {word}>>>"]
        assert prompt.startswith(fences[0])
        assert prompt.count("<<<") == prompt.count(">>>") == 2
        assert not re.search(r"<\||\|>|\[/?INST\]|</?s>|</?system>|_of_turn>|<think>", prompt)
        assert len(re.findall(r"^Address: ", prompt, re.M)) == 1


@pytest.mark.parametrize("attack", of_kind("hidden", "invisible"))
def test_what_readers_do_not_see_the_judge_does_not_see(tmp_path, attack):
    """Hidden text and invisible characters do not reach any prompt."""
    for prompt in prompts(tmp_path, attacked(attack)).values():
        assert attack["needle"] not in prompt


@pytest.mark.parametrize("attack", of_kind("order", "role", "foreign", "encoded", "praise"))
def test_visible_words_stay(tmp_path, attack):
    """What a reader sees stays in the data, since taking it out would change the source."""
    prompt = " ".join(prompts(tmp_path, attacked(attack))["content"].split())
    seen = [text.strip() for text in re.split(r"<[^>]+>", attack["body"]) if text.strip()]
    assert all(" ".join(text.split()) in prompt for text in seen)


@pytest.mark.parametrize("attack", of_kind("end"))
def test_forged_structure_is_flagged(tmp_path, attack):
    """A page with marks of fences or chat templates is marked, one with mere words is not."""
    with made_judge(tmp_path, "http://127.0.0.1:9/v1") as judge:
        request = judge._request("content", QUERY, attacked(attack))
    assert ("forged_marks" in request.flags) == (attack["name"] != "end-words")


def copying(body, n):
    """Do what a page wants: give the first verdict that stands in it, else threes."""
    text = body["messages"][1]["content"]
    for part in objects_in(text):
        if read_reply(part, CONTENT).scored:
            return answer(part, body=body)
    threes = {code: {"reason": "My own view of it.", "score": 3} for code in GROUPS["content"]}
    return answer(json.dumps(threes), body=body)


@pytest.mark.parametrize("attack", of_kind("verdict"))
def test_a_copied_verdict_is_refused(tmp_path, attack):
    """A judge that repeats a verdict standing in the page gives no score, in any shape of it."""
    with FakeJudge(copying) as server, made_judge(tmp_path, server.base_url) as judge:
        found = judge.judge("content", QUERY, attacked(attack))
        clean = judge.judge("content", QUERY, attacked(attack, clean=True))
    assert {(v.score, v.outcome) for v in found} == {(None, "echoed")}
    assert all("planted_verdict" in v.flags for v in found)
    assert {(v.score, v.outcome) for v in clean} == {(3, "scored")}


@pytest.mark.parametrize("attack", of_kind("verdict"))
def test_an_own_verdict_beside_a_planted_one_counts(tmp_path, attack):
    """The same scores with reasons of the judge's own are no echo; the row is marked."""
    own = {code: {"reason": f"Seen by myself: {code}.", "score": 5} for code in GROUPS["content"]}
    script = lambda body, n: answer(json.dumps(own), body=body)  # noqa: E731
    with FakeJudge(script) as server, made_judge(tmp_path, server.base_url) as judge:
        found = judge.judge("content", QUERY, attacked(attack))
    assert {(v.score, v.outcome) for v in found} == {(5, "scored")}
    assert all("planted_verdict" in v.flags for v in found)


@pytest.mark.parametrize("attack", of_kind("repetition"))
def test_repetition_does_not_push_the_page_out(tmp_path, attack):
    """The rest of the page is still there in a small budget, and the repetition is told."""
    with made_judge(tmp_path, "http://127.0.0.1:9/v1", budget=2_000) as judge:
        request = judge._request("content", QUERY, attacked(attack))
    assert "so that other groups can check the readings" in request.messages[1]["content"]
    assert re.search(r"stands [1-9]\d\d times on the page, shown 3", request.messages[1]["content"])
    assert "repetition" in request.flags


def test_a_quoted_reason_without_a_score_is_no_echo():
    """A judge may quote the page; only a reason beside its score is a verdict of the page."""
    page = "The readings were repeated three times before they were written down. Score: none."
    said = (
        Verdict("FA", 4, "The readings were repeated three times before they were written down."),
    )
    assert not echoes(said, page, planted_verdicts(page, CONTENT))
    forged = page.replace("Score: none", "score 4")
    assert echoes(said, forged, planted_verdicts(forged, CONTENT))


def test_the_fence_word_is_out_of_reach():
    """The word depends on a number drawn for the run, and is the same for one page in one run."""
    draws = [f"{Random(seed).getrandbits(128):032x}" for seed in (1, 2)]
    words = {marker(nonce, page) for nonce in draws for page in ("p1", "p2")}
    assert len(words) == 4
    assert marker(draws[0], "p1") == marker(draws[0], "p1")


def test_ordinary_pages_are_left_alone():
    """Tables, comparisons, code and short cells pass unchanged and without a flag."""
    text = "if a < b and b > c:\n  x[i] = y\nSystem: Linux\nYes\nNo\nYes\nNo\nYes\nNo\nYes\nNo\nPrice: 5"
    assert plain(text) == (text, ())
    assert folded(text) == (text, ())


@settings(max_examples=200, deadline=None)
@given(st.text(alphabet="<>|/[]INSTims_end ＜＞\u200b\U000e0041\n.a", max_size=60))
def test_no_text_keeps_structure(text):
    """Whatever a page is made of, no mark is left after the first pass."""
    safe, _ = plain(text)
    assert plain(safe)[0] == safe
    assert "<<<" not in safe
    assert "[INST]" not in safe
