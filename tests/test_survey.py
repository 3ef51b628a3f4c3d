"""Recordings are loaded whole, and what they hold is counted without losing anything."""

import json
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest

from sourcebench.collect.survey import overlap, read_recording, survey

BENCHMARK = {
    "Datura": "datura_horizon_web_results.jsonl",
    "Gemini": "gemini_results.jsonl",
    "Grok": "grok_search_result.jsonl",
}


def recording(tmp_path, name: str, rows: list[dict]):
    """Write a recording and read it."""
    path = tmp_path / f"{name}.jsonl"
    path.write_text("\n".join(json.dumps(row) for row in rows), encoding="utf-8")
    return read_recording(path, system=name)


@pytest.fixture
def two(tmp_path):
    """Return the answers of two small systems."""
    a = recording(tmp_path, "a", [
        {"id": 1, "question": "Q1", "answer": "A", "urls": ["https://x.example.org/1", "https://x.example.org/1", "https://y.example.com/2"]},
        {"id": 2, "question": "Q2", "answer": "B", "urls": ["", "not given"]},
        {"id": 2, "question": "Q2", "answer": "C", "urls": []},
        {"id": 3, "question": "Q3", "answer": "", "urls": ["https://x.example.org/3"]},
    ])  # fmt: skip
    b = recording(tmp_path, "b", [
        {"id": "x", "question": "Q1", "answer": "A", "urls": ["http://x.example.org/1#top", "https://z.example.net/"]},
        {"id": "y", "question": "Q3", "answer": "B", "urls": ["https://x.example.org/other"]},
        {"id": "z", "question": "Q4", "answer": "C", "urls": ["https://x.example.org/4"]},
    ])  # fmt: skip
    return [*a, *b]


def test_everything_is_counted(two):
    """Empty, repeated, malformed and missing each have their own count, by hand."""
    first = survey(two).set_index("system").loc["a"].to_dict()
    assert first == {
        "answers": 4,
        "queries": 3,
        "repeated": 1,
        "empty": 1,
        "uncited": 1,
        "listed": 6,
        "without_address": 1,
        "malformed": 1,
        "citations": 3,
        "pages": 3,
        "sites": 2,
        "top_site": "example.org",
        "top_site_share": 2 / 3,
    }


def test_overlap_by_hand(two):
    """The same page under two spellings is one; a query that one system was not asked is left out."""
    row = overlap(two, queries={f"Q{n}": f"Q{n}" for n in range(5)}).iloc[0]
    assert (row["system_a"], row["system_b"], row["queries"]) == ("a", "b", 2)
    assert row["page_overlap"] == pytest.approx((1 / 3 + 0) / 2)
    assert row["site_overlap"] == pytest.approx((1 / 3 + 1) / 2)


def test_nothing_gives_an_empty_table():
    """No answers, no rows, the same columns."""
    assert "top_site" in survey([]).columns
    assert overlap([]).empty


def test_the_search_benchmark_loads_whole(shared):
    """Three engines, 2,768 answers, 11,792 listed sources; the counts are taken here once more."""
    folder = shared / "real-data" / "ai-search-benchmark"
    answers = []
    for name, file in BENCHMARK.items():
        answers += read_recording(folder / file, system=name)
    table = survey(answers).set_index("system")
    for name, file in BENCHMARK.items():
        lines = (folder / file).read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        urls = [(s.get("url") or "").strip() for row in rows for s in row["search_results"]]
        good = [u for u in urls if re.match(r"https?://\S+$", u) and urlsplit(u).hostname]
        ours = table.loc[name]
        assert ours["answers"] == len(rows)
        assert ours["queries"] == len({row["id"] for row in rows})
        assert ours["listed"] == len(urls)
        assert ours["without_address"] == urls.count("")
        assert ours["malformed"] == len(urls) - urls.count("") - len(good)
        assert ours["uncited"] == sum(not row["search_results"] for row in rows)
        assert ours["empty"] == sum(not row["result"].strip() for row in rows)
    assert table["listed"].sum() == 11_792
    assert table.loc["Gemini", "without_address"] == 196
    assert table.loc["Grok", "uncited"] == 558
    assert table.loc["Grok", "sites"] == 1
    questions = {answer.question: answer.question for answer in answers}
    pairs = overlap(answers, queries=questions).set_index(["system_a", "system_b"])
    assert pairs["page_overlap"].between(0, 1).all()
    assert pairs.loc[("Datura", "Grok"), "site_overlap"] == 0
    assert pairs.loc[("Datura", "Gemini"), "site_overlap"] > 0.02


def test_research_reports_load_whole(shared):
    """100 reports: every mark in the text finds its entry, and every entry is cited."""
    path = shared / "real-data" / "deep_research_bench" / "raw_claude-3-7-sonnet.jsonl"
    answers = read_recording(path, system="claude")
    row = survey(answers).iloc[0]
    assert (row["answers"], row["uncited"], row["malformed"]) == (100, 0, 0)
    rows = [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]
    entries = Counter()
    for record in rows:
        entries[str(record["id"])] += len(
            re.findall(r"^\[\d+\] https?://", record["article"], re.M)
        )
    assert row["citations"] == entries.total() == 1735
    mentions = [c for answer in answers for c in answer.reply.citations]
    assert len(mentions) == 3555
    for answer in answers:
        assert answer.reply.reason == ""
        for citation in answer.reply.citations:
            assert re.fullmatch(r"\[\d+\]", answer.reply.text[citation.start : citation.end])
