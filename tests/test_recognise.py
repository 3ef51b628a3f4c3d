"""Public files, logs of evaluation tools and raw replies are told by their shape and read alike."""

import gzip
import json
import zipfile
from pathlib import Path

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from sourcebench.collect.answerfile import Rules
from sourcebench.collect.importing import check_answers, import_answers
from sourcebench.collect.publicfiles import public_collection
from sourcebench.collect.recognise import read_any
from sourcebench.collect.submission import (
    PLACEHOLDER,
    answer_url_bundle,
    check_submission,
    endpoint_submission,
)
from sourcebench.study import Study, StudyError
from sourcebench.urls import page_id

REPLIES = Path(__file__).parent / "data" / "replies"
TOML = 'title = "T"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-01-01\n'
QUERIES = "query_id,text,category,dataset,gold_answer\nq1,What?,factual,,\nq2,Why?,reasoning,,\n"
MARKED = "Wrapped. ([example.org](https://www.example.org/w?utm_source=openai))"


def study_in(folder: Path) -> Study:
    """Return a study of two queries."""
    folder.mkdir()
    (folder / "study.toml").write_text(TOML, encoding="utf-8")
    (folder / "queries.csv").write_text(QUERIES, encoding="utf-8")
    return Study(folder)


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a study of two queries."""
    return study_in(tmp_path / "study")


def put(tmp_path, value, name="file.json") -> Path:
    """Write a value as JSON."""
    path = tmp_path / name
    path.write_text(json.dumps(value, ensure_ascii=False), encoding="utf-8")
    return path


def reply(name: str):
    """Return a recorded reply."""
    return json.loads((REPLIES / f"{name}.json").read_text(encoding="utf-8"))


# --- logs ----------------------------------------------------------------------------------------


@pytest.mark.parametrize("name", ["log_promptfoo_v3", "log_inspect_eval", "log_sourcebench_runs"])
def test_logs_give_their_expected_result(name):
    """The recorded logs give answer, citation, span and usage as expected."""
    expected = json.loads((REPLIES / f"{name}.expected.json").read_text(encoding="utf-8"))
    found = read_any(REPLIES / f"{name}.json").found
    assert found.faults == []
    answer = found.answers[0].reply
    assert answer.text == expected["answer_text"]
    (citation,), (wanted,) = answer.citations, expected["citations"]
    assert [citation.url, citation.title] == [wanted["url"], wanted["title"]]
    assert [citation.start, citation.end] == wanted["span"]
    assert answer.usage == expected["extra"]["usage"]
    assert found.answers[0].question == "What?"


def test_logs_come_into_a_study_by_their_question(study):
    """A log that numbers its queries otherwise is joined by the text of the question."""
    for name, system in (("log_promptfoo_v3", "openai:responses:gpt-5"), ("log_inspect_eval", "gpt-5"), ("log_sourcebench_runs", "OpenAI")):  # fmt: skip
        done = import_answers(study, REPLIES / f"{name}.json")
        assert done.systems == (system,)
    assert set(study.load("answers")["query_id"]) == {"q1"}
    assert len(study.load("citations")) == 3
    study.validate()


def test_an_archive_of_inspect_is_read(study, tmp_path):
    """An `.eval` file gives what its JSON form gives, and the provider's own reply where it is kept."""
    log = reply("log_inspect_eval")
    sample = log["samples"][0] | {
        "events": [{"event": "model", "call": {"response": reply("openai_chat_search_preview")}}]
    }
    path = tmp_path / "log.eval"
    with zipfile.ZipFile(path, "w") as archive:
        archive.writestr("header.json", json.dumps({"eval": log["eval"]}))
        archive.writestr("samples/1_epoch_1.json", json.dumps(log["samples"][0]))
        archive.writestr("samples/1_epoch_2.json", json.dumps(sample | {"epoch": 2}))
    import_answers(study, path)
    assert list(study.load("answers")["run"]) == [1, 2]
    assert list(study.load("citations")["url"]) == [
        "https://www.example.org/w",
        "https://health.example.org/sleep",
    ]
    path.write_bytes(b"PK no archive")
    with pytest.raises(StudyError, match="not an archive of Inspect"):
        import_answers(study, path)


def test_langsmith_and_langfuse_runs_are_read(study, tmp_path):
    """A body that the integration kept is read as a raw reply; else the message's own citations are."""
    smith = [
        {"run_type": "llm", "name": "ChatOpenAI", "extra": {"metadata": {"ls_model_name": "gpt", "query_id": "q1"}}, "inputs": {"question": "What?"}, "outputs": reply("openai_chat_search_preview"), "start_time": "2026-01-01T00:00:00"},
        {"run_type": "llm", "name": "ChatOpenAI", "extra": {"metadata": {"ls_model_name": "gpt", "query_id": "q2"}}, "inputs": {"messages": [{"content": "Why?"}]}, "outputs": {"generations": [[{"text": "See https://a.example/x."}]]}},
        {"run_type": "retriever", "outputs": {"documents": []}},
    ]  # fmt: skip
    done = import_answers(study, put(tmp_path, smith))
    assert (done.systems, done.answers, done.citations) == (("gpt",), 2, 2)
    fuse = {
        "data": [
            {"type": "GENERATION", "traceId": "t1", "model": "sonar", "input": [{"role": "user", "content": "What?"}], "output": json.dumps(reply("perplexity_sonar_2025_06")), "usageDetails": {}},
            {"type": "GENERATION", "traceId": "t2", "model": "sonar", "input": "Why?", "output": "No source.", "usageDetails": {}},
            {"type": "SPAN", "traceId": "t2", "output": "x", "usageDetails": {}},
        ]
    }  # fmt: skip
    done = import_answers(study, put(tmp_path, fuse))
    assert (done.systems, done.answers, done.no_citations) == (("sonar",), 2, 1)
    assert (study.load("citations")["system"] == "sonar").sum() == 4


def test_any_log_is_read_when_its_fields_are_named(study, tmp_path):
    """Places in a record are named by keys and list positions."""
    records = [
        {"case": {"id": "q1"}, "made": [{"text": "A", "links": ["https://a.example/"]}]},
        {"case": {"id": "q2"}, "made": []},
    ]
    fields = {"query_id": "case.id", "answer": "made.-1.text", "urls": "made.-1.links"}
    done = import_answers(study, put(tmp_path, records), system="mine", fields=fields)
    assert (done.answers, done.citations, done.empty) == (2, 1, 1)


def test_failed_records_stay_in_the_count(study, tmp_path):
    """A record with an error and no answer is a failed answer with its reason."""
    log = reply("log_promptfoo_v3")
    log["results"]["results"][0]["response"] = {"error": "API error: 500"}
    import_answers(study, put(tmp_path, log))
    row = study.load("answers").iloc[0]
    assert (row["outcome"], row["reason"]) == ("failed", "API error: 500")


# --- raw replies ---------------------------------------------------------------------------------


def test_a_folder_of_raw_replies_is_read(study, tmp_path):
    """The file name says query and run; packed files and streams are read too."""
    folder = tmp_path / "my-system"
    folder.mkdir()
    for name, source in (
        ("q1.json", "openai_responses_web_search"),
        ("q1-2.json", "perplexity_stream_chunks"),
        ("q2_run1.json", "gemini_generate_content_grounding"),
    ):
        (folder / name).write_bytes((REPLIES / f"{source}.json").read_bytes())
    packed = gzip.compress((REPLIES / "anthropic_stream_events.json").read_bytes())
    (folder / "q2-2.json.gz").write_bytes(packed)
    done = import_answers(study, folder)
    assert (done.systems, done.answers) == (("my-system",), 4)
    rows = study.load("answers")[["query_id", "run"]].values.tolist()
    assert sorted(rows) == [["q1", 1], ["q1", 2], ["q2", 1], ["q2", 2]]


def test_raw_replies_that_can_not_be_read_are_named(study, tmp_path):
    """An unknown shape, a damaged file and an empty folder each have their fault."""
    folder = tmp_path / "mine"
    folder.mkdir()
    assert [str(fault) for fault in check_answers(folder)] == [
        "row 1: no raw replies here; files end in .json, .jsonl, .ndjson, .sse, .txt"
    ]
    (folder / "q1.json").write_text('{"hello": 1}', encoding="utf-8")
    (folder / "q2.json.gz").write_bytes(b"\x1f\x8bdamaged")
    assert [str(fault) for fault in check_answers(folder)] == [
        "q1.json, column raw: not a reply of a known engine; name the engine (--engine)",
        "q2.json.gz: too large, or damaged",
    ]


def test_a_column_of_raw_replies_is_read(study, tmp_path):
    """A plain file may carry raw replies; the engine is named where the shape does not tell it."""
    rows = [
        {"id": "q1", "engine": "s", "raw": reply("brave_web_search")},
        {"id": "q2", "engine": "s", "raw": {"results": [{"url": "https://a.example/"}]}},
    ]
    path = put(tmp_path, rows)
    assert len(check_answers(path)) == 1
    assert check_answers(path, rules=Rules(engine="tavily")) == []
    assert check_answers(put(tmp_path, rows[:1])) == []


def test_one_object_is_refused_with_advice(study, tmp_path):
    """A single raw reply has no query; the message says where it belongs."""
    with pytest.raises(StudyError, match="a single raw reply belongs in a folder, named"):
        import_answers(study, put(tmp_path, reply("brave_web_search")))


# --- public files --------------------------------------------------------------------------------


def filled(study: Study, tmp_path) -> Study:
    """Fill a study with answers of one system: spans, repeats, a run without sources, an empty one."""
    rows = [
        {"id": "q1", "engine": "s", "run": 1, "raw": reply("openai_responses_web_search")},
        {"id": "q1", "engine": "s", "run": 2, "raw": reply("perplexity_sonar_2025_06")},
        {"id": "q2", "engine": "s", "run": 1, "answer": "No source."},
        {"id": "q2", "engine": "s", "run": 2, "answer": ""},
        {"id": "q2", "engine": "s", "run": 3, "outcome": "refused", "reason": "no", "answer": ""},
    ]
    import_answers(study, put(tmp_path, rows, "filled.json"))
    return study


def test_collection_files_go_out_and_come_back_the_same(study, tmp_path):
    """Answers and citations of a study survive the public format, row for row."""
    filled(study, tmp_path)
    path = put(tmp_path, public_collection(study, "s"), "collection.json")
    other = study_in(tmp_path / "other")
    done = import_answers(other, path)
    assert (done.answers, done.no_citations, done.empty, done.refused) == (5, 1, 1, 1)
    columns = ["system", "query_id", "run", "outcome", "text", "usage", "reason"]
    mine, theirs = (s.load("answers")[columns].sort_values(columns[:3]) for s in (study, other))
    assert mine.astype(str).values.tolist() == theirs.astype(str).values.tolist()
    keys = ["system", "query_id", "run", "rank"]
    mine, theirs = (s.load("citations").sort_values(keys) for s in (study, other))
    assert mine.astype(str).values.tolist() == theirs.astype(str).values.tolist()
    with pytest.raises(ValueError, match="no answers of 'x'"):
        public_collection(study, "x")


def test_retrieved_addresses_are_not_taken_for_cited_ones(study, tmp_path):
    """Where the raw reply holds an answer, what it cites counts, not what the search returned."""
    log = reply("log_sourcebench_runs")
    log[0]["runs"][0]["cited_sources"] += [{"type": "url", "url": "https://retrieved.example/"}]
    import_answers(study, put(tmp_path, log))
    assert list(study.load("citations")["url"]) == ["https://www.example.org/w"]
    log[0]["runs"][0]["raw_response"] = {"object": "response", "output": [{"type": "web_search_call", "action": {"sources": []}}]}  # fmt: skip
    import_answers(study, put(tmp_path, log), present="replace")
    assert len(study.load("citations")) == 1
    log[0]["runs"][0]["response_text"] = ""
    import_answers(study, put(tmp_path, log), present="replace")
    assert len(study.load("citations")) == 2


def enriched(scores: list[dict]) -> list[dict]:
    """Return an enriched file with one record a query and one source a score."""
    names = (
        "semantic_relevance", "factual_accuracy", "freshness", "objectivity_tone",
        "layout_ad_density", "accountability", "transparency", "authority",
    )  # fmt: skip
    return [
        {
            "query_id": query,
            "query_text": "",
            "ai_model_name": "m",
            "aggregated_sources": [
                {
                    "agg_source_id": 1,
                    "url_canonical": "https://a.example/",
                    "title": "A",
                    "content_vector": dict(zip(names, given, strict=True)),
                    "content_vector_justification": {"freshness": "[DRY RUN] Mock"}
                    if given[2] == 9
                    else {},
                    "scoring_meta": {
                        "model_name": "qwen-plus",
                        "scored_at": "2026-01-25T00:00:00Z",
                    },
                }
            ],
        }
        for query, given in scores
    ]


def test_enriched_scores_come_in_without_their_known_faults(study, tmp_path):
    """None is no verdict and not 0, 50 is out of range, a dry run is no verdict, nothing is lost."""
    path = put(
        tmp_path,
        enriched([("q1", [5, None, 9, 4, 3, 50, 2, True]), ("q2", [1, 2, 3, 4, 5, 1, 2, 3])]),
    )
    done = import_answers(study, path)
    assert (done.answers, done.citations) == (2, 2)
    rows = study.load("judgments").set_index(["query_id", "metric"])
    assert set(rows["judge"]) == {"sourcebench qwen-plus"}
    assert set(rows["page_id"]) == {page_id("https://a.example/")}
    got = {key: (row["score"], row["outcome"]) for key, row in rows.iterrows()}
    assert got["q1", "CR"] == (5, "scored")
    assert got["q1", "FA"][1] == "no_verdict"
    assert got["q2", "CR"] == (1, "scored")
    page = {metric: value for (query, metric), value in got.items() if query not in ("q1", "q2")}
    assert page["FR"][1] == "no_verdict"
    assert page["AA"][1] == "out_of_range"
    assert page["DA"][1] == "out_of_range"
    assert page["LC"] == (3, "scored")
    assert len(rows) == 3 * 2 + 5
    assert done.notes == ("4 page-level scores differ between queries; the first of each page is kept",)  # fmt: skip


def test_scores_of_pages_that_nobody_cites_stay_out(study, tmp_path):
    """A source that was scored but is not cited by the answer is counted, and no dangling row."""
    record = enriched([("q1", [5, 5, 5, 5, 5, 5, 5, 5])])[0]
    record["runs"] = [{"response_text": "See https://other.example/."}]
    done = import_answers(study, put(tmp_path, [record]))
    assert done.notes == ("8 scores of pages that no answer cites are left out",)
    assert not len(study.load("judgments"))
    study.validate()


def test_scores_go_out_as_an_enriched_file(study, tmp_path):
    """Selected sources, their texts and scores are written under the public names."""
    filled(study, tmp_path)
    page = page_id("https://www.example.org/tides/king-tides-2026")
    study.save(
        "scores",
        [{"judge": "rules", "system": "s", "query_id": "q1", "page_id": page, "position": 1,
          "runs": 1, "outcome": "partly_scored", "CR": 5, "FA": 4, "OA": 2}],
    )  # fmt: skip
    record = public_collection(study, "s", scores=True)[0]
    source = next(s for s in record["aggregated_sources"] if "content_vector" in s)
    assert source["content_vector"] == {
        "semantic_relevance": 5, "factual_accuracy": 4, "freshness": None,
        "objectivity_tone": None, "layout_ad_density": None, "accountability": None,
        "transparency": 2, "authority": None,
    }  # fmt: skip
    assert source["url_canonical"] == "https://www.example.org/tides/king-tides-2026"
    path = put(tmp_path, public_collection(study, "s", scores=True), "enriched.json")
    other = study_in(tmp_path / "other")
    import_answers(other, path)
    assert sorted(other.load("judgments")["score"].dropna()) == [2, 4, 5]


def test_broken_records_of_public_files_are_named(study, tmp_path):
    """A record without a query, and runs of another shape, are faults with their number."""
    path = put(tmp_path, [{"query_id": "", "runs": []}, {"query_id": "q1", "runs": {"a": 1}}])
    assert [str(fault) for fault in check_answers(path)] == [
        "row 1, column query_id: missing; every record needs one",
        "row 2, column runs: expected a list, found dict",
    ]


@given(
    st.recursive(
        st.none() | st.booleans() | st.integers(-2, 9) | st.text(max_size=6),
        lambda inner: (
            st.lists(inner, max_size=3)
            | st.dictionaries(
                st.sampled_from(
                    [
                        "id",
                        "engine",
                        "answer",
                        "urls",
                        "url",
                        "raw",
                        "runs",
                        "query_id",
                        "cited_sources",
                        "results",
                        "samples",
                        "eval",
                        "output",
                        "outputs",
                        "run_type",
                        "traceId",
                        "submission_mode",
                        "rank",
                        "run",
                    ]
                ),
                inner,
                max_size=5,
            )
        ),
        max_leaves=12,
    )
)
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
def test_any_json_is_read_or_refused(tmp_path, value):
    """Whatever the shape, there is a result or one clear error."""
    for name in ("x.json", "x.jsonl"):
        path = put(tmp_path, value, name)
        try:
            found = read_any(path, system="s").found
        except StudyError as error:
            assert str(path) in str(error)  # noqa: PT017
            continue
        assert all(fault.message for fault in found.faults)


@given(st.text(alphabet="id,engine;answer\turl\n\r\"'|1 https://a.b/[]{}", max_size=120))
@settings(
    suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=150, deadline=None
)
def test_any_csv_is_read_or_refused(tmp_path, text):
    """Whatever the text, there is a result or one clear error."""
    path = tmp_path / "x.csv"
    path.write_bytes(("id,engine,answer,url\n" + text).encode())
    try:
        found = read_any(path).found
    except StudyError as error:
        assert str(path) in str(error)  # noqa: PT017
        return
    assert all(fault.row >= 1 for fault in found.faults)


# --- submissions ---------------------------------------------------------------------------------

ABOUT = {
    "submitter_name": "A Researcher",
    "organization": "A Lab",
    "contact_email": "a@example.org",
    "model_version": "2026-03",
    "web_search_mode": "built-in-search",
    "agrees_to_reproducibility_policy": True,
}
BUNDLE = {
    "submission_mode": "answer_url_bundle",
    "model_name": "m",
    **ABOUT,
    "runs": [
        {"query_id": 1, "answer_text": "A", "cited_urls": ["https://a.example/"], "raw_response": {}},
        {"query_id": 2, "answer_text": "B", "cited_urls": ["https://b.example/"], "raw_response": {}},
    ],
}  # fmt: skip
ENDPOINT = {
    "submission_mode": "endpoint",
    "model_name": "m",
    **ABOUT,
    "api_base": "https://api.example.org/v1",
    "api_key": "k",
    "api_format": "openai-compatible",
}


def test_both_example_submissions_are_valid(shared):
    """The examples of the public repository pass, with advice only."""
    for name in ("answer_url_bundle", "endpoint_submission"):
        text = (shared / "upstream" / f"{name}.example.json").read_text(encoding="utf-8")
        faults, advice = check_submission(json.loads(text))
        assert faults == []
        assert all("placeholder" in line for line in advice)


def test_own_examples_are_valid():
    """The two submissions that the faults below start from have none themselves."""
    assert check_submission(BUNDLE) == ([], [])
    assert check_submission(ENDPOINT) == ([], [])


def changed(base: dict, place: str, value) -> dict:
    """Return a submission with one field changed, or removed where the value is `...`."""
    made = json.loads(json.dumps(base))
    *steps, last = place.split(".")
    holder = made
    for step in steps:
        holder = holder[int(step)] if isinstance(holder, list) else holder[step]
    key = int(last) if isinstance(holder, list) else last
    if value is ...:
        del holder[key]
    else:
        holder[key] = value
    return made


BROKEN = [
    (BUNDLE, "submission_mode", "scores", "submission_mode: expected one of endpoint, answer_url_bundle, found 'scores'"),
    (BUNDLE, "submitter_name", " ", "submitter_name: expected a text, found ' '"),
    (BUNDLE, "submitter_name", ..., "submitter_name: missing"),
    (BUNDLE, "contact_email", "nobody", "contact_email: expected an address for mail, found 'nobody'"),
    (BUNDLE, "contact_email", "a b@c", "contact_email: expected an address for mail, found 'a b@c'"),
    (BUNDLE, "model_name", 7, "model_name: expected a text, found 7"),
    (BUNDLE, "web_search_mode", ..., "web_search_mode: missing"),
    (BUNDLE, "agrees_to_reproducibility_policy", "yes", "agrees_to_reproducibility_policy: must be true, found 'yes'"),
    (BUNDLE, "runs", [], "runs: expected a list with one entry a query, found nothing there"),
    (BUNDLE, "runs.0", "x", "runs[0]: expected an object, found str"),
    (BUNDLE, "runs.1.query_id", True, "runs[1].query_id: expected a text or a whole number, found True"),
    (BUNDLE, "runs.1.query_id", 1, "runs[1].query_id: '1' stands in runs[0] already; the leaderboard's code would give both the last one's scores"),
    (BUNDLE, "runs.0.answer_text", "", "runs[0].answer_text: expected a text, found ''"),
    (BUNDLE, "runs.0.cited_urls", [], "runs[0].cited_urls: expected a list with an address, found nothing there"),
    (BUNDLE, "runs.0.cited_urls", "https://a.example/", "runs[0].cited_urls: expected a list with an address, found nothing there"),
    (BUNDLE, "runs.0.cited_urls.0", "a.example", "runs[0].cited_urls[0]: 'a.example' is no web address; it must begin with http:// or https://"),
    (BUNDLE, "runs.0.cited_urls.0", 5, "runs[0].cited_urls[0]: 5 is no text"),
    (ENDPOINT, "submission_mode", "answer_url_bundle", "runs: expected a list with one entry a query, found nothing there"),
    (ENDPOINT, "submitter_name", None, "submitter_name: expected a text, found None"),
    (ENDPOINT, "contact_email", ..., "contact_email: missing"),
    (ENDPOINT, "contact_email", "@example.org", "contact_email: expected an address for mail, found '@example.org'"),
    (ENDPOINT, "model_name", "", "model_name: expected a text, found ''"),
    (ENDPOINT, "web_search_mode", [], "web_search_mode: expected a text, found []"),
    (ENDPOINT, "agrees_to_reproducibility_policy", False, "agrees_to_reproducibility_policy: must be true, found False"),
    (ENDPOINT, "agrees_to_reproducibility_policy", ..., "agrees_to_reproducibility_policy: must be true, found None"),
    (ENDPOINT, "api_base", "ftp://api.example.org", "api_base: 'ftp://api.example.org' is no web address; it must begin with http:// or https://"),
    (ENDPOINT, "api_base", ..., "api_base: missing"),
    (ENDPOINT, "api_key", "", "api_key: expected a text, found ''"),
    (ENDPOINT, "api_key", ..., "api_key: missing"),
    (ENDPOINT, "api_format", "grpc", "api_format: must be 'openai-compatible', found 'grpc'"),
    (ENDPOINT, "api_format", ..., "api_format: must be 'openai-compatible', found None"),
    (ENDPOINT, "generation_config", [1], "generation_config: expected an object, found list"),
    (ENDPOINT, "system_prompt", 5, "system_prompt: expected a text or nothing, found int"),
]  # fmt: skip


@pytest.mark.parametrize(("base", "place", "value", "message"), BROKEN)
def test_every_broken_submission_has_one_clear_fault(base, place, value, message):
    """One change of a valid submission gives exactly one fault, which names the field."""
    faults, _ = check_submission(changed(base, place, value))
    assert faults == [message]


def test_a_submission_that_is_no_object():
    """A list is not taken apart."""
    assert check_submission([BUNDLE]) == (["expected an object, found list"], [])


def test_advice_is_no_fault():
    """What is recommended or looks degenerate is said, and the submission stays valid."""
    made = changed(changed(BUNDLE, "model_version", ...), "runs.1.answer_text", "A")
    made["runs"][0]["raw_response"] = None
    assert check_submission(made) == (
        [],
        [
            "model_version: recommended, and missing",
            "runs[0].raw_response: recommended, and missing",
            "runs[1].answer_text: the same as in runs[0]",
        ],
    )


def test_a_study_becomes_a_bundle_and_comes_back(study, tmp_path):
    """What the contract takes is submitted, what it does not is named; the bundle can be imported."""
    filled(study, tmp_path)
    bundle, left_out = answer_url_bundle(study, "s", **ABOUT)
    assert [run["query_id"] for run in bundle["runs"]] == ["q1"]
    assert bundle["runs"][0]["cited_urls"] == [
        "https://www.example.org/tides/king-tides-2026",
        "https://data.example.edu/gauges/0001234?station=QX",
    ]
    assert left_out == ["q2: cited_urls: expected a list with an address, found nothing there"]
    other = study_in(tmp_path / "other")
    done = import_answers(other, put(tmp_path, bundle, "bundle.json"))
    assert (done.systems, done.answers) == (("s",), 1)
    assert set(other.load("citations")["url"]) == set(bundle["runs"][0]["cited_urls"])
    with pytest.raises(ValueError, match="submission: agrees_to_reproducibility_policy: must be true"):  # fmt: skip
        answer_url_bundle(study, "s", **{**ABOUT, "agrees_to_reproducibility_policy": False})


def test_an_endpoint_submission_holds_no_key(study, tmp_path):
    """The key stays out of the file until it is submitted; as answers it is refused."""
    made = endpoint_submission(model_name="m", api_base="https://api.example.org/v1", **ABOUT)
    assert made["api_key"] == PLACEHOLDER
    assert check_submission(made)[0] == []
    with pytest.raises(ValueError, match="api_key: not taken here"):
        endpoint_submission(model_name="m", api_key="k", **ABOUT)
    with pytest.raises(StudyError, match="an endpoint submission holds no answers"):
        import_answers(study, put(tmp_path, made))


def test_broken_bundles_are_not_imported(study, tmp_path):
    """A bundle is imported by the contract or not at all."""
    path = put(tmp_path, changed(BUNDLE, "runs.0.answer_text", ""))
    assert [str(fault) for fault in check_answers(path)] == [
        "row 1: runs[0].answer_text: expected a text, found ''"
    ]
