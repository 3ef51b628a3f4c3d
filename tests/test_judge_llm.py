"""A language model's verdicts: every one right or an outcome with its reason, and paid for once."""

import json
import traceback
from contextlib import contextmanager
from dataclasses import replace
from datetime import UTC, date, datetime
from random import Random

import pytest
from fakejudge import FakeJudge, answer, faulty, right_score, verdict_on
from studies import URLS, packet, tiny_study

from sourcebench.judge import JudgingStopped, judge_study, plan_judging
from sourcebench.judge.doubts import doubts
from sourcebench.judge.journal import Journal
from sourcebench.judge.llm import LLMJudge
from sourcebench.judge.settings import Settings
from sourcebench.judge.wording import Wording
from sourcebench.records import Dated, Query, Verdict
from sourcebench.rubric import GROUPS
from sourcebench.study import Study

QUERY = Query("q1", "Did the river fall?")
AS_OF = date(2026, 6, 1)
NOW = datetime(2026, 6, 1, 12, tzinfo=UTC)


@contextmanager
def made_judge(path, base_url, **more):
    """Give a judge whose journal is open; settings and fields may be given."""
    known = Settings.__dataclass_fields__
    settings = {"model": "judge", "base_url": base_url, "timeout": 5.0, "concurrency": 1}
    settings |= {name: value for name, value in more.items() if name in known}
    fields = {name: value for name, value in more.items() if name not in known}
    fields = {"sleep": lambda seconds: None, "rng": Random(7), "now": lambda: NOW} | fields
    judge = LLMJudge("fake", Settings(**settings), AS_OF, Journal(path / "journal.jsonl"), **fields)
    with judge:
        yield judge


def judged(path, script, group="content", page=None, **more):
    """Return the verdicts on a page by metric, the judge, and the requests without the preflight."""
    query = QUERY if group == "content" else None
    with FakeJudge(lambda body, n: script(body, n)) as server:
        with made_judge(path, server.base_url, **more) as judge:
            verdicts = judge.judge(group, query, page or packet("a"))
        return {verdict.metric: verdict for verdict in verdicts}, judge, server.requests


def journal_lines(path):
    """Return the lines of a journal."""
    return list(Journal(path / "journal.jsonl").lines())


def good(score=4):
    """Return the text of a good reply on the group content."""
    return json.dumps(
        {code: {"reason": "It says so.", "score": score} for code in ("CR", "FA", "NE")}
    )


# --- a whole study -------------------------------------------------------------------------------


def all_right(study):
    """Whether every scored row has the score that the fake judge gives that page."""
    urls = {row["page_id"]: row["url"] for row in study.load("packets")["record"]}
    frame = study.load("judgments")
    scored = frame[frame["score"].notna()]
    return all(
        row.score == right_score(urls[row.page_id], row.metric) for row in scored.itertuples()
    )


def test_a_study_is_judged(tmp_path):
    """Every pair and page gets its verdicts with model and time; a second run sends nothing."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings())
        frame = judge_study(study)
        assert len(server.requests) == 1 + 7
        before = study.path("judgments").read_bytes()
        judge_study(study)
        study.path("judgments").unlink()
        judge_study(study)
        assert study.path("judgments").read_bytes() == before
        assert len(server.requests) == 8
    assert len(frame) == 19
    assert set(frame["outcome"]) == {"scored"}
    assert set(frame["model"]) == {"judge-1"}
    assert frame["judged_at"].str.match(r"\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ").all()
    assert all_right(study)


def test_every_verdict_is_right_or_has_a_reason(tmp_path, monkeypatch):
    """Over all faults at once: no row is missing, none is defaulted, none wrong, none paid twice."""
    pages = [packet("a", page_id=f"p{i}", url=f"https://{i}.example.org/") for i in range(60)]
    study = tiny_study(tmp_path, packets=pages)
    tasks = [(group, page) for page in pages for group in GROUPS]
    rows = []
    with FakeJudge(faulty) as server:
        with made_judge(tmp_path, server.base_url, concurrency=8, attempts=2) as judge:
            for group, page in tasks:
                verdicts = judge.judge(group, QUERY if group == "content" else None, page)
                rows += [(page.url, verdict) for verdict in verdicts]
        paid = len(server.served)
        with made_judge(tmp_path, server.base_url, concurrency=8, attempts=2) as judge:
            again = [
                (page.url, verdict)
                for group, page in tasks
                for verdict in judge.judge(group, QUERY if group == "content" else None, page)
            ]
        assert len(server.served) == paid
        assert max(server.served.values()) == 1
    assert study.settings.kind == "synthetic"
    assert len(rows) == 60 * 8
    assert again == rows
    for url, verdict in rows:
        if verdict.score is None:
            assert verdict.reason
        else:
            assert verdict.score == right_score(url, verdict.metric)
    met = {verdict.outcome for _, verdict in rows}
    assert met == {
        *(
            "scored",
            "repaired",
            "no_verdict",
            "out_of_range",
            "cut",
            "refused",
            "filtered",
            "error",
        ),
    }


# --- single replies ------------------------------------------------------------------------------


def test_a_cut_reply_gets_more_room_once(tmp_path):
    """A reply cut off at the limit is asked for once with more room; both are in the journal (C-03)."""
    script = lambda body, n: answer(good()[:-9], finish="max_tokens", body=body)  # noqa: E731
    verdicts, judge, requests = judged(tmp_path, script)
    assert [body["max_tokens"] for body in requests] == [2048, 8192]
    assert {(v.score, v.outcome) for v in verdicts.values()} == {(None, "cut")}
    lines = journal_lines(tmp_path)
    assert [line["status"] for line in lines] == ["cut", "cut", "run"]
    assert judge.spending.tokens_in == sum(line["usage"]["prompt"] for line in lines[:2])


def test_an_unreadable_reply_is_asked_for_once_more(tmp_path):
    """The second request carries what was wrong; a second bad reply ends as no verdict (C-01)."""
    bad, _, requests = judged(tmp_path / "a", lambda body, n: answer("It is a 5.", body=body))
    assert len(requests) == 2
    assert requests[1]["messages"][2] == {"role": "assistant", "content": "It is a 5."}
    assert "no verdict in the reply" in requests[1]["messages"][3]["content"]
    assert {(v.score, v.outcome) for v in bad.values()} == {(None, "no_verdict")}
    mended, _, _ = judged(
        tmp_path / "b",
        lambda body, n: answer(good() if len(body["messages"]) > 2 else "It is a 5.", body=body),
    )
    assert {(v.score, v.outcome) for v in mended.values()} == {(4, "scored")}


@pytest.mark.parametrize(
    ("reply", "outcome"),
    [
        (answer("I'm sorry, but I cannot rate medical pages."), "refused"),
        (answer("I can't help with rating this page."), "refused"),
        (answer(None, refusal="I can't assist with that."), "refused"),
        (answer("", finish="content_filter"), "filtered"),
        ((400, {"error": {"code": "content_filter", "message": "filtered"}}, {}), "filtered"),
    ],
)
def test_refusals_are_outcomes(tmp_path, reply, outcome):
    """A refusal or filter is an outcome of its own and is not asked again (C-04)."""
    verdicts, _, requests = judged(tmp_path, lambda body, n: reply)
    assert {(v.score, v.outcome) for v in verdicts.values()} == {(None, outcome)}
    assert all(v.reason for v in verdicts.values())
    assert len(requests) == 1


def test_a_score_off_the_scale_is_not_asked_again(tmp_path):
    """A judge that says 7 has said 7: no clamp, no second chance (C-02)."""
    verdicts, _, requests = judged(tmp_path, lambda body, n: answer(good(7), body=body))
    assert {v.outcome for v in verdicts.values()} == {"out_of_range"}
    assert len(requests) == 1


def test_a_silent_cut_of_the_prompt_is_flagged(tmp_path):
    """An endpoint that read far less than it was sent is noticed by its own token count."""
    page = packet("a", text="The river fell again last year. " * 20 + "It rose. " * 3)
    short, _, _ = judged(tmp_path / "a", lambda body, n: answer(good(), prompt=100), page=page)
    assert all("prompt_cut" in v.flags for v in short.values())
    whole, _, _ = judged(tmp_path / "b", lambda body, n: answer(good(), body=body), page=page)
    assert not any("prompt_cut" in v.flags for v in whole.values())


def test_a_long_page_is_cut_at_a_sentence_and_marked(tmp_path):
    """The judge is told how much it sees, and the row is marked."""
    text = " ".join(f"Sentence number {i} is about the river." for i in range(100))
    verdicts, _, requests = judged(
        tmp_path, lambda body, n: answer(good(), body=body), page=packet("a", text=text), budget=500
    )
    sent = requests[0]["messages"][1]["content"]
    assert f"of {len(text)} characters; the rest is left out here" in sent
    assert "is about the river.\n<<<END OF PAGE" in sent
    assert all("text_cut" in v.flags for v in verdicts.values())


# --- dates, reasons ------------------------------------------------------------------------------


def test_the_judge_is_told_the_date_in_words(shared, tmp_path):
    """As-of date, that the past is past, and ages by code are in the prompt; a slip is flagged (C-07)."""
    case = shared / "cases" / "C-07-date-blind-judge"
    collected = json.loads((case / "collection.json").read_text(encoding="utf-8"))["collected_at"]
    said = json.loads((case / "judge_reply.txt").read_text(encoding="utf-8"))
    page = packet("a", published=Dated("2026-05-28", "meta"))
    with made_judge(tmp_path, "http://127.0.0.1:9/v1") as judge:
        judge = replace(judge, as_of=date.fromisoformat(collected))
        request = judge._request("credibility", None, page)
    system, user = (message["content"] for message in request.messages)
    assert "Today is 2 June 2026. Every earlier date is in the past" in system
    assert "5 days before the as-of date, within the last year" in user
    verdict = Verdict("FR", said["freshness"], said["reason"])
    assert doubts(verdict, page, AS_OF) == ["future_date"]
    later = packet("a", published=Dated("2027-01-01", "meta"))
    assert doubts(verdict, later, AS_OF) == []


def test_reason_against_number_is_flagged_not_corrected(tmp_path):
    """A judge that praises and gives a 1 is kept as given and marked for a person (C-10)."""
    text = json.dumps(
        {
            "CR": {"reason": "Outstanding: named experts, all of it checked.", "score": 1},
            "FA": {"reason": "Names its sources.", "score": 5},
            "NE": {"reason": "Not excellent.", "score": 2},
        }
    )
    verdicts, _, _ = judged(tmp_path, lambda body, n: answer(text, body=body))
    assert verdicts["CR"].score == 1
    assert [c for c in verdicts if "against_reason" in verdicts[c].flags] == ["CR"]


# --- the journal's key ---------------------------------------------------------------------------


def test_when_an_old_verdict_may_be_used_again(shared, tmp_path):
    """What changes the words or the sampling asks anew; speed settings do not (C-06)."""
    path = shared / "cases" / "C-06-cache-key" / "calls.jsonl"
    seen, found, wanted = set(), {}, {}
    for line in path.read_text(encoding="utf-8").splitlines():
        call = json.loads(line)
        wording = f"{call['rubric_version']} {call['prompt_sha']} {call['json_schema_sha']}"
        judge = LLMJudge(
            f"fake/{call['repeat']}",
            Settings(
                **{name: call[name] for name in ("model", "base_url", "temperature", "max_tokens")},
                **{"budget": call["page_cut_chars"], "timeout": call["timeout_s"]},
                concurrency=call["concurrency"],
            ),
            date.fromisoformat(call["as_of_date"]),
            Journal(tmp_path / "journal.jsonl"),
        )
        judge.wording = Wording(judge.as_of, {**judge.texts, "repair.txt": wording})
        page = packet("a", text=f"Page {call['page_sha']}")
        key = judge._request("content", Query("q", call["question"]), page).key
        found[call["id"]] = "hit" if key in seen else "miss"
        wanted[call["id"]] = call["want"]
        seen.add(key)
    assert found == wanted


def test_no_verdict_is_asked_again_on_request(tmp_path):
    """Replies without a verdict are kept, and asked anew only when the user says so (C-06)."""
    replies = {"now": "It is a 5."}
    with FakeJudge(lambda body, n: answer(replies["now"], body=body)) as server:
        study = tiny_study(tmp_path, server.settings(concurrency=1))
        frame = judge_study(study)
        assert set(frame["outcome"]) == {"no_verdict"}
        asked = len(server.requests)
        judge_study(study)
        assert len(server.requests) == asked
        replies["now"] = '{"LC": {"reason": "r", "score": 3}}'
        frame = judge_study(study, retry=("no_verdict",))
        assert set(frame.loc[frame["metric"] == "LC", "score"]) == {3}
        asked = len(server.requests)
        judge_study(study)
        assert len(server.requests) == asked


# --- stops ---------------------------------------------------------------------------------------


def test_a_wrong_key_costs_no_page(tmp_path):
    """The preflight meets a wrong key before the first page, in one clear message (C-05)."""
    script = lambda body, n: (401, {"error": {"message": "invalid key"}}, {})  # noqa: E731
    with FakeJudge(script) as server:
        study = tiny_study(tmp_path, server.settings())
        with pytest.raises(JudgingStopped, match="the key is not accepted: 401, invalid key"):
            judge_study(study)
        assert len(server.requests) == 1
    assert set(study.load("judgments")["outcome"]) == {"not_asked"}


def test_a_pilot_finds_that_replies_do_not_fit(tmp_path):
    """A judge that can't finish a verdict on two sentences is stopped before the first page (C-03)."""
    script = lambda body, n: answer("", finish="length", body=body)  # noqa: E731
    with FakeJudge(script) as server:
        study = tiny_study(tmp_path, server.settings())
        with pytest.raises(JudgingStopped, match="raise max_tokens, now 2048"):
            judge_study(study)
        assert [body["max_tokens"] for body in server.requests] == [2048, 8192]
    paid = [line["status"] for line in journal_lines(tmp_path) if line.get("usage")]
    assert paid == ["pilot", "pilot"]


def test_a_used_up_quota_stops_and_resumes(tmp_path):
    """Nothing is sent after the quota has ended; the next run does only the rest (C-05)."""
    state = {"left": 4}

    def script(body, n):
        state["left"] -= 1
        quota = (429, {"error": {"code": "insufficient_quota", "message": "empty"}}, {})
        return quota if state["left"] < 0 else None

    with FakeJudge(script) as server:
        study = tiny_study(tmp_path, server.settings(concurrency=1))
        with pytest.raises(JudgingStopped, match=r"quota is used up.*3 of 7 calls done and kept"):
            judge_study(study)
        assert len(server.requests) == 5
        assert len(study.load("judgments")) == 19
        state["left"] = 100
        frame = judge_study(study)
        assert len(server.requests) == 5 + 4
        assert max(server.served.values()) == 1
    assert set(frame["outcome"]) == {"scored"}


def test_a_real_rate_limit_costs_no_verdict(tmp_path):
    """With more requests in flight than the endpoint takes, the run slows down and loses nothing."""
    limited = (429, {"error": {"message": "limit of 3"}}, {"retry-after": "0.05"})
    with FakeJudge(latency=0.02) as server:
        server.script = lambda body, n: limited if server.in_flight > 3 else None
        study = tiny_study(tmp_path, server.settings(concurrency=12, repeats=3))
        frame = judge_study(study)
        assert len(server.requests) > sum(server.served.values())
        assert sum(server.served.values()) == 1 + 3 * 7
    assert set(frame["outcome"]) == {"scored"}
    assert all_right(study)


def test_the_summary_says_what_could_not_be_set(tmp_path, capsys):
    """Outcomes, tokens and what the endpoint did not take are told at the end of a run (C-14)."""

    def script(body, n):
        if "temperature" in body:
            return 400, {"error": {"message": "no temperature here", "param": "temperature"}}, {}
        return answer(json.dumps(verdict_on(body)), body=body)

    with FakeJudge(script) as server:
        judge_study(tiny_study(tmp_path, server.settings()), progress=True)
    shown = capsys.readouterr()
    assert "fake: 19 scored; this run: " in shown.out + shown.err
    assert "the temperature could not be set" in shown.out + shown.err


def test_another_model_is_refused(tmp_path):
    """Replies of two models do not mix, in one run or the next, unless the settings accept it (C-08)."""
    state = {"model": "judge-pro-2026-03"}

    def script(body, n):
        return answer(json.dumps(verdict_on(body)), model=state["model"], body=body)

    with FakeJudge(script) as server:
        study = tiny_study(tmp_path, server.settings(concurrency=1))
        judge_study(study)
        (study.folder / "judgments.csv").unlink()
        text = (study.folder / "packets.jsonl").read_text(encoding="utf-8")
        (study.folder / "packets.jsonl").write_text(text.replace("eleven", "twelve"), "utf-8")
        state["model"] = "judge-pro-3.1"
        for _ in range(2):
            with pytest.raises(JudgingStopped, match="verdicts of two models do not mix"):
                judge_study(study)
        asked = len(server.requests)
        toml = (study.folder / "study.toml").read_text(encoding="utf-8")
        accepted = 'accept_models = ["judge-pro-2026-03", "judge-pro-3.1"]\n'
        (study.folder / "study.toml").write_text(toml + accepted, "utf-8")
        frame = judge_study(Study(study.folder))
        assert len(server.requests) > asked
    assert set(frame["model"]) == {"judge-pro-3.1"}


def test_models_and_fingerprints_are_told_apart(shared, tmp_path):
    """The journal says which models and fingerprints answered under one name (C-08)."""
    case = shared / "cases" / "C-08-judge-drift"
    with Journal(tmp_path / "journal.jsonl") as journal:
        for line in (case / "run.jsonl").read_text(encoding="utf-8").splitlines():
            row = json.loads(line)
            journal.append(
                {
                    **{"key": row["source"], "status": "reply", "judge": "j"},
                    **{"model": row["requested_model"], "response_model": row["response_model"]},
                    "fingerprint": row["system_fingerprint"],
                }
            )
    assert Journal(tmp_path / "journal.jsonl").models["j", "judge-pro"] == {
        ("judge-pro-2026-03", "fp_a"): 3,
        ("judge-pro-2026-03", "fp_b"): 2,
        ("judge-pro-3.1", "fp_b"): 5,
    }


# --- several judges, repeats ---------------------------------------------------------------------


def test_repeats_are_judged_apart(tmp_path):
    """Each repetition is a call and a row of its own, over one preflight."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings(repeats=2))
        frame = judge_study(study)
        assert len(server.requests) == 1 + 2 * 7
    assert frame["judge"].value_counts().to_dict() == {"fake": 19, "fake/2": 19}


def test_two_judges_stay_apart(tmp_path):
    """Verdicts of two judges stand side by side in one table."""
    with FakeJudge() as server:
        more = server.settings().replace('judge = "fake"\n', "").replace("fake", "other")
        study = tiny_study(tmp_path, server.settings() + more)
        judge_study(study, judges=["fake"])
        frame = judge_study(study, judges=["other"])
    assert frame["judge"].value_counts().to_dict() == {"fake": 19, "other": 19}


# --- what the judge sees, secrets ----------------------------------------------------------------


def test_prompts_start_alike(tmp_path):
    """Calls on one group share the first message, calls on one page all up to the question."""
    with made_judge(tmp_path, "http://127.0.0.1:9/v1") as judge:
        one = judge._request("content", QUERY, packet("a"))
        two = judge._request("content", Query("q2", "How deep is it?"), packet("a"))
        other = judge._request("content", QUERY, packet("b"))
    assert one.messages[0] == two.messages[0] == other.messages[0]
    page = one.messages[1]["content"].split("The question that")[0]
    assert two.messages[1]["content"].startswith(page)
    assert "<<<END OF PAGE" in page


def test_the_key_reaches_no_file_and_no_message(tmp_path, capsys):
    """A key that the endpoint even sends back is in no file, error, traceback or output."""
    secret = "sk-planted-0123456789"

    def script(body, n):
        if len(server.requests) < 3:
            return answer(json.dumps(verdict_on(body)) + f" {secret}", body=body)
        return (401, {"error": {"message": f"Incorrect API key provided: {secret}"}}, {})

    with FakeJudge(script) as server:
        study = tiny_study(tmp_path, server.settings(key="JUDGE_API_KEY", concurrency=1))
        with pytest.raises(JudgingStopped) as caught:
            judge_study(study, environ={"JUDGE_API_KEY": secret}, progress=True)
        assert server.headers[0]["authorization"] == f"Bearer {secret}"
    shown = "".join(traceback.format_exception(caught.value)) + "".join(capsys.readouterr())
    files = b"".join(path.read_bytes() for path in tmp_path.rglob("*") if path.is_file())
    assert "[key]" in shown
    assert b"[key]" in files
    assert secret not in shown
    assert secret.encode() not in files


def test_only_variables_for_keys_are_read(tmp_path):
    """A study can't have another secret sent out, nor hold a key in place of a variable's name."""
    for name in ("GITHUB_TOKEN", "AWS_SECRET_ACCESS_KEY", "sk-0123456789abcdef"):
        with pytest.raises(ValueError, match="ends in _API_KEY") as caught:
            Settings.read({"model": "m", "base_url": "https://x.example/v1", "key": name})
        assert "0123456789abcdef" not in str(caught.value)


@pytest.mark.parametrize(
    ("line", "words"),
    [
        ("budgett = 3", "unknown setting 'budgett'"),
        ('budget = "3"', "budget must be of type int"),
        ("repeats = 0", "repeats must be 1 or more"),
        ("temperature = true", "temperature must be of type float"),
        ('prompts = "nowhere"', "no such folder"),
    ],
)
def test_wrong_settings_are_one_clear_error(tmp_path, line, words):
    """A slip in study.toml names file, judge and setting."""
    text = f'judge = "j"\n[judges.j]\ntype = "llm"\nmodel = "m"\nbase_url = "http://127.0.0.1:9/v1"\n{line}\n'
    study = tiny_study(tmp_path, text)
    with pytest.raises(ValueError, match=rf"study.toml: \[judges.j\]: .*{words}"):
        judge_study(study)


def test_own_prompts_replace_ours(tmp_path):
    """Files in the user's folder replace ours, change the hash, and are checked."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings(prompts="words"))
        folder = tmp_path / "words"
        folder.mkdir()
        before = {row.judge for row in plan_judging(study)}
        (folder / "content.txt").write_text("Be brief.\n$rubric\n$form", "utf-8")
        frame = judge_study(study)
        assert server.requests[-1]["messages"][0]["content"] != "Be brief."
        assert any(r["messages"][0]["content"].startswith("Be brief.") for r in server.requests)
        (folder / "page.txt").write_text("No page here.", "utf-8")
        with pytest.raises(ValueError, match=r"page.txt: the placeholder \$page is missing"):
            judge_study(study)
    assert before == {"fake"}
    assert frame["prompt_hash"].nunique() == 3
    assert set(URLS) == {"a", "b", "c"}
