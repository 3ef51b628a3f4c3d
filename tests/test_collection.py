"""What a study has collected is counted whole, and how far systems cite the same."""

import json
import re
from collections import Counter
from urllib.parse import urlsplit

import pytest
from studies import tiny_study

import sourcebench as sb
from sourcebench.collect import check_answers, import_answers, new_study
from sourcebench.collect.answerfile import Rules
from sourcebench.sections.collection import cited_sources, recorded_answers, shared_means
from sourcebench.study import Study

KEEP = {"rules": Rules(broken="keep"), "unknown_queries": "add", "category": "general"}


def recordings(tmp_path, files: dict[str, list[dict]]):
    """Write a folder of recordings, a file a system, and return it."""
    folder = tmp_path / "recordings"
    folder.mkdir()
    for name, rows in files.items():
        text = "\n".join(json.dumps(row) for row in rows)
        (folder / f"{name}.jsonl").write_text(text, encoding="utf-8")
    return folder


@pytest.fixture
def two(tmp_path) -> Study:
    """Return a study with the answers of two small systems."""
    folder = recordings(tmp_path, {
        "a": [
            {"id": 1, "question": "Q1", "answer": "A", "urls": ["https://x.example.org/1", "https://x.example.org/1", "https://y.example.com/2"]},
            {"id": 2, "question": "Q2", "answer": "B", "urls": ["", "not given"]},
            {"id": 2, "question": "Q2", "answer": "C", "urls": []},
            {"id": 3, "question": "Q3", "answer": "", "urls": ["https://x.example.org/3"]},
            {"id": 4, "question": "Q4", "answer": "Request failed: None", "urls": []},
            {"id": 5, "question": "Q5", "answer": "Request failed: None", "urls": []},
        ],
        "b": [
            {"id": 2, "question": "Q1", "answer": "A", "urls": ["http://x.example.org/1#top", "https://z.example.net/"]},
            {"id": 1, "question": "Q3", "answer": "B", "urls": ["https://x.example.org/other"]},
            {"id": 9, "question": "Q4", "answer": "C", "urls": ["https://x.example.org/4"]},
        ],
        "questions": [
            {"id": f"n{n}", "question": f"Q{n}", "expected_answer": f"G{n}"} for n in (1, 2, 3)
        ],
    })  # fmt: skip
    (folder / "LICENSE").write_text("MIT", encoding="utf-8")
    new_study(tmp_path / "study", template="own")
    study = Study(tmp_path / "study")
    done = import_answers(study, folder, **KEEP)
    assert (done.systems, done.answers, done.failed, done.new_queries) == (("a", "b"), 9, 2, 5)
    assert "left aside: LICENSE" in done.notes
    return study


def test_a_folder_of_recordings_becomes_a_study(two):
    """The question says which query an answer belongs to; lists of questions add what they say."""
    two.validate()
    queries = two.load("queries").set_index("text")
    assert queries["gold_answer"].dropna().to_dict() == {"Q1": "G1", "Q2": "G2", "Q3": "G3"}
    assert queries.loc["Q1", "query_id"] == "n1"
    texts = dict(zip(queries["query_id"], queries.index, strict=True))
    answers = two.load("answers")
    asked = [(row.system, texts[row.query_id], row.run) for row in answers.itertuples()]
    assert asked == [
        ("a", "Q1", 1), ("a", "Q2", 1), ("a", "Q2", 2), ("a", "Q3", 1), ("a", "Q4", 1),
        ("a", "Q5", 1), ("b", "Q1", 1), ("b", "Q3", 1), ("b", "Q4", 1),
    ]  # fmt: skip
    failed = answers[answers["outcome"] == "failed"]
    assert set(failed["reason"]) == {"Request failed: None"}
    assert failed["text"].isna().all()


def test_everything_is_counted(two):
    """Repeated, malformed, missing and failed each have their own count, by hand."""
    answers = sb.answers_table(two).data.set_index("system").loc["a"].to_dict()
    assert answers == {
        "answers": 6,
        "queries": 5,
        "asked": 5,
        "ok": 3,
        "no_citations": 1,
        "empty": 0,
        "refused": 0,
        "failed": 2,
    }
    row = sb.citations_table(two).data.set_index("system").loc["a"]
    counts = [
        "listed",
        "without_address",
        "malformed",
        "not_cited",
        "citations",
        "pages",
        "works",
        "sites",
    ]
    assert row[counts].tolist() == [6, 1, 1, 1, 3, 3, 3, 2]
    assert (row["top_sites"], row["top_counts"]) == ("example.org example.com", "2 1")
    assert row["citations_an_answer"] == pytest.approx(3 / 4)
    assert row["citations_an_answer_n"] == 4
    assert row["without"] == pytest.approx(2 / 4)


def test_what_is_listed_adds_up(tmp_path):
    """Listed and in-text sources are cited, found only, repeated, malformed or without an address."""
    row = {"id": 1, "question": "Q", "answer": "See https://a.example/ and https://z.example/.", "search_results": [{"url": u} for u in ("https://a.example/", "https://a.example/", "https://b.example/", "", "none")]}  # fmt: skip
    folder = recordings(tmp_path, {"a": [row, row | {"question": "R", "id": 2}]})
    new_study(tmp_path / "study", template="own")
    study = Study(tmp_path / "study")
    import_answers(study, folder, **KEEP)
    n = sb.citations_table(study).data.iloc[0]
    names = ["listed", "without_address", "malformed", "not_cited", "unlisted", "citations"]
    assert n[names].tolist() == [10, 2, 2, 4, 2, 4]


def test_overlap_by_hand(two):
    """The same page under two spellings is one; a query for which one cites nothing is left out."""
    means = shared_means(two).set_index("level")
    assert set(means["both_answered"]) == {3}
    assert means.loc["page", "value"] == pytest.approx((1 / 3 + 0) / 2)
    assert means.loc["site", "value"] == pytest.approx((1 / 3 + 1) / 2)
    assert means.loc["page", "clusters"] == 2


def test_twins_of_a_work_count_once_as_a_work(tmp_path):
    """A DOI and the PDF of the same text are two pages and one work."""
    study = tiny_study(tmp_path / "s")
    urls = ("https://doi.org/10.1000/abc", "https://x.example.org/doi/pdf/10.1000/abc")
    rows = [{"system": "s", "query_id": "q1", "run": 1, "rank": n, "url": url} for n, url in enumerate(urls, 1)]  # fmt: skip
    study.save("citations", rows)
    row = sb.citations_table(study).data.iloc[0]
    assert (row["pages"], row["works"]) == (2, 1)


def test_a_resolved_redirect_link_counts_as_what_it_leads_to(tmp_path):
    """A grounding link and its target are one page; unresolved, the link is one of its own."""
    study = tiny_study(tmp_path / "s")
    link = "https://vertexaisearch.cloud.google.com/grounding-api-redirect/AbC"
    rows = [
        {"system": "s", "query_id": "q1", "run": 1, "rank": n, "url": url}
        for n, url in enumerate((link, "https://a.example.org/"), 1)
    ]
    study.save("citations", rows)
    assert cited_sources(study)["page"].nunique() == 2
    from sourcebench.urls import page_id

    study.save("fetches", [{"page_id": page_id(link), "url": link, "final_url": "https://a.example.org/", "outcome": "ok"}])  # fmt: skip
    assert cited_sources(study)["page"].nunique() == 1


def test_answers_known_by_their_citations_alone_are_counted(tmp_path):
    """A study without a table of answers has those that cite."""
    study = tiny_study(tmp_path / "s")
    assert recorded_answers(study)["outcome"].tolist() == ["ok", "ok"]
    assert sb.citations_table(study).data["listed"].tolist() == [4]


def test_nothing_collected_is_said(tmp_path):
    """No systems, no numbers: each table says that nothing was measured."""
    new_study(tmp_path / "s", template="own")
    study = Study(tmp_path / "s")
    for make in (sb.answers_table, sb.citations_table, sb.shared_table):
        assert make(study).note.startswith("Not measured")


def test_one_name_for_several_files_is_refused(tmp_path):
    """A folder with two systems can't take one name."""
    row = {"id": 1, "question": "Q", "answer": "A"}
    folder = recordings(tmp_path, {"a": [row, row | {"id": 2, "question": "R"}], "b": [row, row | {"id": 2, "question": "R"}]})  # fmt: skip
    assert "import them one by one" in str(check_answers(folder, system="x")[0])


def test_faults_in_a_folder_name_the_file(tmp_path):
    """The row and the file are named."""
    rows = [{"id": n, "question": f"Q{n}", "answer": "A", "urls": ["nowhere"]} for n in (1, 2)]
    found = check_answers(recordings(tmp_path, {"a": rows}))
    assert str(found[0]).startswith("a.jsonl, row 1, column urls: 'nowhere' is no web address")


BENCHMARK = ("datura_horizon_web_results", "gemini_results", "grok_search_result")


def test_the_search_benchmark_loads_whole(tmp_path, shared):
    """Three engines, 2,768 answers, 11,792 listed sources; the counts are taken here once more."""
    folder = shared / "real-data" / "ai-search-benchmark"
    new_study(tmp_path / "s", template="own")
    study = Study(tmp_path / "s")
    import_answers(study, folder, **KEEP)
    answers = sb.answers_table(study).data.set_index("system")
    table = sb.citations_table(study).data.set_index("system")
    for name in BENCHMARK:
        lines = (folder / f"{name}.jsonl").read_text(encoding="utf-8").splitlines()
        rows = [json.loads(line) for line in lines]
        urls = [(s.get("url") or "").strip() for row in rows for s in row["search_results"]]
        good = [u for u in urls if re.match(r"https?://\S+$", u) and urlsplit(u).hostname]
        ours = table.loc[name]
        assert answers.loc[name, "answers"] == len(rows)
        assert ours["listed"] == len(urls)
        assert ours["without_address"] == urls.count("")
        assert ours["malformed"] == len(urls) - urls.count("") - len(good)
        texts = Counter(row["result"] for row in rows if row["result"].strip())
        assert answers.loc[name, ["refused", "failed"]].sum() == max(texts.values()) * (
            max(texts.values()) > 3
        )
        blank = sum(not row["result"].strip() and not row["search_results"] for row in rows)
        assert answers.loc[name, "empty"] == blank
    assert answers["answers"].sum() == 2768
    assert table["listed"].sum() == 11_792
    assert table.loc["gemini_results", ["without_address", "malformed"]].tolist() == [196, 48]
    assert answers.loc["grok_search_result", ["no_citations", "empty"]].sum() == 558
    assert table.loc["grok_search_result", "sites"] == 1
    shared_sites = shared_means(study).set_index(["system_a", "system_b", "level"])["value"]
    assert shared_sites[BENCHMARK[0], BENCHMARK[2], "site"] == 0
    assert shared_sites[BENCHMARK[0], BENCHMARK[1], "site"] > 0.02


def test_research_reports_load_whole(tmp_path, shared):
    """100 reports: every mark in the text finds its entry, and every entry is cited."""
    folder = shared / "real-data" / "deep_research_bench"
    new_study(tmp_path / "s", template="own")
    study = Study(tmp_path / "s")
    import_answers(study, folder, system="claude", **KEEP)
    row = sb.citations_table(study).data.iloc[0]
    entries = 0
    for line in (folder / "raw_claude-3-7-sonnet.jsonl").read_text("utf-8").splitlines():
        entries += len(re.findall(r"^\[\d+\] https?://", json.loads(line)["article"], re.M))
    assert row["citations"] == row["listed"] == entries == 1735
    citations, answers = study.load("citations"), study.load("answers")
    assert (len(answers), len(citations)) == (100, 3555)
    assert answers["outcome"].eq("ok").all()
    assert answers["reason"].isna().all()
    assert citations["cited_text"].str.fullmatch(r"\[\d+\]").all()
