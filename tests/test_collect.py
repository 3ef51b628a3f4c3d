"""Engines are asked once for each answer, every reply is kept, and a run can be taken up again."""

import gzip
import json
import subprocess
import sys
import threading
import time
from datetime import UTC, datetime, timedelta
from pathlib import Path
from random import Random

import pytest
import requests
from provider import Said, serving

from sourcebench.collect import CollectingStopped, collect_study, describe_plans, plan_study
from sourcebench.collect.costs import answer_cost
from sourcebench.collect.recorded import read_recordings
from sourcebench.collect.recordings import Recordings, recording_file
from sourcebench.study import Study, StudyError

REPLIES = Path(__file__).parent / "data" / "replies"
KEY = "sk-secret-0123456789"
KEYS = {"OPENAI_API_KEY": KEY, "TAVILY_API_KEY": KEY, "DEEPSEEK_API_KEY": KEY}
TOML = 'title = "T"\nkind = "live"\nlicence = "CC0-1.0"\nas_of = 2026-01-01\n'
GPT = """
[systems.GPT]
label = "GPT"
engine = "openai"
model = "gpt-5"
per_minute = 6000
price = { input = 1.0, output = 10.0, call = 0.01 }
expected = { input = 10000, output = 1000 }
"""
TAVILY = """
[systems.Tavily]
label = "Tavily"
engine = "tavily"
reference = true
per_minute = 60000
"""


def study_of(folder, settings: str, queries=("Is it so?", "Why?", "When?")) -> Study:
    """Write a study of three queries and the given systems."""
    folder.mkdir(exist_ok=True)
    (folder / "study.toml").write_text(TOML + settings, encoding="utf-8")
    lines = [f"q{n},{text},factual,," for n, text in enumerate(queries, start=1)]
    text = "query_id,text,category,dataset,gold_answer\n" + "\n".join(lines) + "\n"
    (folder / "queries.csv").write_text(text, encoding="utf-8")
    return Study(folder)


def collect(study, provider=None, **more):
    """Collect from a provider on this machine, without waiting."""
    sessions = []
    seconds = iter(range(10**6))

    def http():
        session = requests.Session()
        sessions.append(session)
        request = session.request

        def local(method, url, **kwargs):
            for host in ("https://api.openai.com/v1", "https://api.tavily.com"):
                url = url.replace(host, provider.url)
            return request(method, url, **kwargs)

        session.request = local
        return session

    options = {
        "keys": KEYS,
        "http": http,
        "clock": lambda: datetime(2026, 1, 1, tzinfo=UTC) + timedelta(seconds=next(seconds)),
        "sleep": lambda seconds: None,
        "rng": Random(0),
    }
    try:
        return collect_study(study, **(options | more))
    finally:
        for session in sessions:
            session.close()


def body(name: str) -> bytes:
    """Return a recorded reply."""
    return (REPLIES / f"{name}.json").read_bytes()


def replies(asked):
    """Answer as OpenAI and as Tavily."""
    return Said(body("tavily_search" if asked.path == "/search" else "openai_responses_web_search"))


def test_answers_citations_and_reference_are_collected(tmp_path):
    """Every system answers every query in every run; a reference engine's rows are kept apart too."""
    study = study_of(tmp_path / "s", GPT + "runs = 2\n" + TAVILY)
    with serving(replies) as provider:
        counts = collect(study, provider)
    assert counts == {"GPT": {"ok": 6}, "Tavily": {"ok": 3}}
    assert len(provider.asked) == 9
    answers = study.load("answers")
    assert len(answers) == 9
    assert answers["usage"].iloc[0] == {
        "input": 1840,
        "output": 212,
        "total": 2052,
        "reasoning": 64,
    }
    assert answers["model"].iloc[0] == "gpt-5.2-example"
    citations = study.load("citations")
    first = citations[citations["system"] == "GPT"].head(3)
    assert list(first["rank"]) == [1, 2, 3]
    assert first["url"].iloc[0] == first["url"].iloc[2]
    assert first["cited_text"].iloc[0].startswith("([example.org](")
    reference = study.load("reference")
    assert set(reference["engine"]) == {"Tavily"}
    assert len(reference) == 6
    study.validate()


def test_raw_replies_are_kept_byte_for_byte(tmp_path):
    """The raw file holds what was sent and what came back, and no key."""
    study = study_of(tmp_path / "s", GPT)
    with serving(replies) as provider:
        collect(study, provider)
    path = recording_file(study.folder, "GPT")
    records = [json.loads(line) for line in gzip.decompress(path.read_bytes()).splitlines()]
    assert sorted(record["query_id"] for record in records) == ["q1", "q2", "q3"]
    exchange = records[0]["exchanges"][0]
    assert exchange["body"].encode() == body("openai_responses_web_search")
    assert exchange["request"]["model"] == "gpt-5"
    for file in study.folder.rglob("*"):
        if file.is_file():
            data = gzip.decompress(file.read_bytes()) if file.suffix == ".gz" else file.read_bytes()
            assert KEY.encode() not in data


def test_a_second_run_asks_only_what_is_missing(tmp_path):
    """What is answered is not asked again; a new query and a new run are."""
    study = study_of(tmp_path / "s", GPT)
    with serving(replies) as provider:
        collect(study, provider, queries=["q1"])
        assert len(provider.asked) == 1
        collect(study, provider)
        assert len(provider.asked) == 3
        collect(study, provider)
        assert len(provider.asked) == 3
        study = study_of(tmp_path / "s", GPT + "runs = 2\n")
        collect(study, provider)
        assert len(provider.asked) == 6
    assert len(study.load("answers")) == 6


def test_a_query_that_reads_differently_is_asked_again(tmp_path):
    """An answer to another question does not count, though its id is the same."""
    with serving(replies) as provider:
        collect(study_of(tmp_path / "s", GPT), provider)
        study = study_of(tmp_path / "s", GPT, ("Is it so?", "Why not?", "When?"))
        collect(study, provider)
    assert len(provider.asked) == 4
    assert len(study.load("answers")) == 3


def test_a_record_cut_by_a_kill_is_asked_again(tmp_path):
    """The torn end of a raw file is dropped; what stands before it counts."""
    study = study_of(tmp_path / "s", GPT + "concurrency = 1\n")
    path = recording_file(study.folder, "GPT")
    with serving(replies) as provider:
        collect(study, provider)
        path.write_bytes(path.read_bytes()[:-20])
        assert [len(plan.todo) for plan in plan_study(study)] == [1]
        collect(study, provider)
    assert len(provider.asked) == 4
    assert [record["query_id"] for record in Recordings(path)] == ["q1", "q2", "q3"]


def test_a_damaged_record_is_an_error_and_nothing_is_lost(tmp_path):
    """Damage in the middle is named; records after it are not thrown away."""
    study = study_of(tmp_path / "s", GPT)
    path = recording_file(study.folder, "GPT")
    with serving(replies) as provider:
        collect(study, provider)
        data = bytearray(path.read_bytes())
        data[len(data) // 2] ^= 0xFF
        path.write_bytes(data)
        with pytest.raises(StudyError, match="damaged at byte"):
            collect(study, provider)
    assert path.read_bytes() == data


def test_a_killed_run_is_taken_up(tmp_path):
    """After a kill in the middle, what was recorded counts, and only the rest is asked."""
    study = study_of(tmp_path / "s", GPT + "concurrency = 2\n", [f"Q{n}?" for n in range(12)])
    kill = threading.Event()

    def answer(asked):
        if len(provider.asked) > 5:
            kill.set()
            time.sleep(0.2)
        return replies(asked)

    with serving(answer) as provider:
        code = (
            "import sys; from sourcebench.collect import collect_study; "
            "from sourcebench.study import Study; import requests\n"
            "def http():\n"
            "    s = requests.Session(); send = s.request\n"
            "    s.request = lambda m, u, **k: send(m, u.replace('https://api.openai.com/v1', sys.argv[2]), **k)\n"
            "    return s\n"
            "collect_study(Study(sys.argv[1]), keys={'OPENAI_API_KEY': 'k'}, http=http)"
        )
        run = subprocess.Popen([sys.executable, "-c", code, str(study.folder), provider.url])
        assert kill.wait(60)
        run.kill()
        run.wait()
        there = sum(1 for _ in Recordings(recording_file(study.folder, "GPT")))
        assert 0 < there < 12
        before = len(provider.asked)
        assert collect(study, provider) == {"GPT": {"ok": 12}}
        assert len(provider.asked) - before == 12 - there


def test_an_interrupted_run_leaves_its_tables(tmp_path):
    """Ctrl-C ends the run; what was answered is in the tables."""
    study = study_of(tmp_path / "s", GPT + "concurrency = 1\n")

    def clock():
        if len(provider.asked) == 2:
            raise KeyboardInterrupt
        return datetime(2026, 1, 1, tzinfo=UTC)

    with serving(replies) as provider, pytest.raises(KeyboardInterrupt):
        collect(study, provider, clock=clock)
    assert len(provider.asked) == 2
    assert list(study.load("answers")["query_id"]) == ["q1", "q2"]


def test_two_processes_do_not_collect_into_one_file(tmp_path):
    """The second one is told to wait."""
    study = study_of(tmp_path / "s", GPT)
    with (
        serving(replies) as provider,
        Recordings(recording_file(study.folder, "GPT")),
        pytest.raises(StudyError, match="another process is collecting"),
    ):
        collect(study, provider)


def test_missing_keys_are_named_in_one_line_before_anything_is_sent(tmp_path):
    """Every missing variable and the systems that need it; no request goes out."""
    study = study_of(tmp_path / "s", GPT + TAVILY)
    with serving(replies) as provider, pytest.raises(StudyError) as caught:
        collect(study, provider, keys={"TAVILY_API_KEY": " "})
    assert str(caught.value) == (
        f"{study.folder}: no key in the environment: set OPENAI_API_KEY (for GPT); "
        "TAVILY_API_KEY (for Tavily), or name the systems to ask"
    )
    assert provider.asked == []


def test_a_plan_needs_no_key_and_sends_nothing(tmp_path):
    """A dry run says how many answers are to be asked for and what they may cost; unknown stays unknown."""
    study = study_of(tmp_path / "s", GPT + TAVILY)
    gpt, tavily = plan_study(study)
    assert gpt.cost == pytest.approx(3 * (0.01 + 0.01 + 0.01))
    assert tavily.cost is None
    assert str(gpt) == "GPT: 3 to ask, 0 there, about 0.09 USD, needs OPENAI_API_KEY"
    assert str(tavily) == "Tavily: 3 to ask, 0 there, cost unknown, needs TAVILY_API_KEY"
    lines = describe_plans([gpt, tavily]).splitlines()
    assert lines == [str(gpt), str(tavily), "total: 6 to ask, at least 0.09 USD"]
    assert describe_plans([gpt]).endswith("total: 3 to ask, about 0.09 USD")


def test_the_plan_goes_by_what_answers_did_cost(tmp_path):
    """Once there are answers, their tokens stand for those to come."""
    study = study_of(tmp_path / "s", GPT)
    with serving(replies) as provider:
        collect(study, provider, queries=["q1"])
    each = 0.01 + (1840 * 1.0 + 212 * 10.0) / 1e6
    assert plan_study(study)[0].cost == pytest.approx(2 * each)


def test_cost_of_an_answer():
    """Tokens by the million, the call on top; reasoning beyond the output counts as written."""
    price = {"price": {"input": 1.0, "output": 10.0, "call": 0.5}}
    assert answer_cost(price, {"input": 10**6, "output": 10**5, "total": 11 * 10**5}) == 2.5
    assert answer_cost(price, {"input": 10**6, "output": 10**5, "total": 12 * 10**5}) == 3.5
    assert answer_cost({"price": {"call": 0.5}}, None) == 0.5
    assert answer_cost(price, None) is None
    assert answer_cost({}, {"input": 1, "output": 1}) is None


def test_a_limit_in_money_ends_the_run_in_time(tmp_path):
    """The run ends before the limit; without a price the limit is refused."""
    study = study_of(tmp_path / "s", GPT + TAVILY)
    with serving(replies) as provider:
        with pytest.raises(CollectingStopped, match=r"GPT: the limit of 0\.07 USD is reached"):
            collect(study, provider, systems=["GPT"], limit_cost=0.07)
        assert len(provider.asked) == 2
        assert len(study.load("answers")) == 2
        with pytest.raises(StudyError, match="a limit in money needs a price for Tavily"):
            collect(study, provider, limit_cost=1)


def test_faults_that_pass_are_tried_again(tmp_path):
    """A rate limit and a server's fault cost time and no answer; each wait is as asked or longer."""
    study = study_of(tmp_path / "s", GPT + "concurrency = 1\n", ("Is it so?",))
    limit = json.dumps({"error": {"message": "slow", "code": "rate_limit_exceeded"}}).encode()
    script = [Said(limit, 429, {"Retry-After": "7"}), Said(b"{}", 503), Said(b"", 200)]
    slept = []

    def answer(asked):
        return script.pop(0) if script else replies(asked)

    with serving(answer) as provider:
        counts = collect(study, provider, sleep=slept.append)
    assert counts == {"GPT": {"failed": 1}}
    assert study.load("answers")["reason"].tolist() == ["the reply is empty"]
    assert max(slept) >= 6.9
    with serving(answer) as provider:
        assert collect(study, provider) == {"GPT": {"ok": 1}}


def test_retries_have_an_end(tmp_path):
    """A server that only fails gives a failed answer with its status, which the next run asks again."""
    study = study_of(tmp_path / "s", GPT + "retries = 2\n", ("Is it so?",))
    with serving(lambda _: Said(b'{"error": "down"}', 500)) as provider:
        assert collect(study, provider) == {"GPT": {"failed": 1}}
    assert len(provider.asked) == 3
    assert study.load("answers")["reason"].tolist() == ["HTTP 500: down"]
    with serving(replies) as provider:
        assert collect(study, provider) == {"GPT": {"ok": 1}}
    assert study.load("answers")["outcome"].tolist() == ["ok"]


@pytest.mark.parametrize(
    ("status", "message", "said"),
    [
        (401, {"error": {"message": f"Incorrect key {KEY}"}}, r"HTTP 401: Incorrect key \[key\]"),
        (429, {"error": {"code": "insufficient_quota", "message": "pay"}}, "HTTP 429: insufficient_quota: pay"),
        (400, {"error": {"message": "no such model"}}, "the provider rejects the requests: HTTP 400: no such model"),
    ],
)  # fmt: skip
def test_a_provider_that_will_not_answer_is_asked_no_more(tmp_path, status, message, said):
    """Refused keys, spent quota and rejected requests stop one provider; the others go on."""
    queries = [f"Question {n}?" for n in range(20)]
    study = study_of(tmp_path / "s", GPT + "concurrency = 1\n" + TAVILY, queries)

    def answer(asked):
        refused = Said(json.dumps(message).encode(), status)
        return replies(asked) if asked.path == "/search" else refused

    with serving(answer) as provider, pytest.raises(CollectingStopped, match=f"^GPT: {said}$"):
        collect(study, provider)
    assert sum(asked.path == "/responses" for asked in provider.asked) <= 3
    assert (study.load("answers")["system"] == "Tavily").sum() == 20


def test_outcomes_have_their_own_words(tmp_path):
    """Refusals, empty answers and answers without a source are outcomes, each counted."""
    study = study_of(tmp_path / "s", GPT)

    def answer(asked):
        part = {"type": "output_text", "text": "No sources."}
        if asked.json["input"] == "Why?":
            part = {"type": "refusal", "refusal": "I can't."}
        content = [] if asked.json["input"] == "When?" else [part]
        output = [{"type": "message", "content": content}]
        value = {"object": "response", "status": "completed", "output": output}
        return Said(json.dumps(value).encode())

    with serving(answer) as provider:
        counts = collect(study, provider)
    assert counts == {"GPT": {"no_citations": 1, "refused": 1, "empty": 1}}
    assert study.load("answers").set_index("query_id").loc["q2", "reason"] == "I can't."


def test_changed_settings_do_not_mix_with_old_answers(tmp_path):
    """Another model under the same name is refused; another label is not."""
    with serving(replies) as provider:
        collect(study_of(tmp_path / "s", GPT), provider)
        study = study_of(tmp_path / "s", GPT.replace('"gpt-5"', '"gpt-6"'))
        with pytest.raises(
            StudyError, match=r"model is 'gpt-6', but its answers were collected with 'gpt-5'"
        ):
            collect(study, provider)
        study = study_of(tmp_path / "s", GPT.replace('label = "GPT"', 'label = "Other"'))
        collect(study, provider)


def test_tables_can_be_read_from_raw_replies_alone(tmp_path):
    """Lost tables come back from the raw files, byte for byte; imported answers stay."""
    study = study_of(tmp_path / "s", GPT + TAVILY)
    with serving(replies) as provider:
        collect(study, provider)
    names = ("answers", "citations", "reference")
    before = {name: study.path(name).read_bytes() for name in names}
    for name in names:
        study.path(name).unlink()
    read_recordings(study)
    assert {name: study.path(name).read_bytes() for name in names} == before
    row = {"system": "mine", "query_id": "q1", "run": 1, "outcome": "ok", "text": "A"}
    study.append("answers", [row])
    read_recordings(study)
    assert "mine" in set(study.load("answers")["system"])


def test_order_of_replies_does_not_change_the_tables(tmp_path):
    """Threads that finish in another order give the same tables, but for the times."""
    tables = []
    for name, threads in (("a", 1), ("b", 3)):
        study = study_of(tmp_path / name, GPT + f"concurrency = {threads}\n")
        with serving(replies) as provider:
            collect(study, provider, clock=lambda: datetime(2026, 1, 1, tzinfo=UTC))
        tables.append([study.path(table).read_bytes() for table in ("answers", "citations")])
    assert tables[0] == tables[1]


@pytest.mark.parametrize(
    ("settings", "more", "message"),
    [
        ("", {}, r"no \[systems.<name>\] with an engine"),
        ('[systems.X]\nengine = "bing"\n', {}, "engine must be one of openai, xai"),
        (GPT, {"systems": ["Y"]}, r"\[systems.Y\] is not there; known are GPT"),
        (GPT, {"queries": ["q9"]}, "no query 'q9'"),
    ],
)
def test_what_can_not_be_run_is_said(tmp_path, settings, more, message):
    """Settings that allow no run are named, with the file."""
    with pytest.raises(StudyError, match=message):
        collect(study_of(tmp_path / "s", settings), **more)


def test_a_released_study_is_not_asked(tmp_path):
    """A released study is refused before a request goes out."""
    study = study_of(tmp_path / "s", GPT)
    study.release()
    with serving(replies) as provider, pytest.raises(StudyError, match="this study is released"):
        collect(study, provider)
    assert provider.asked == []
