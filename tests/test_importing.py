"""Answers that exist already come into a study whole, or the file is refused with one clear fault."""

import json

import pytest

from sourcebench.collect.answerfile import Rules, read_answers
from sourcebench.collect.importing import check_answers, import_answers
from sourcebench.study import Study, StudyError

TOML = 'title = "T"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-01-01\n'
QUERIES = "query_id,text,category,dataset,gold_answer\n1,Did the river fall?,factual,,\n2,Why?,reasoning,,\n3,When?,factual,,\n"
BOT = """\
id,engine,question,answer,urls
1,my-bot,Did the river fall?,"Yes, by 11 cm [1].",https://example.org/review
2,my-bot,Why?,"Dry spring [1][2].","https://example.org/review | https://example.org/spring"
3,my-bot,When?,No sources found.,
"""


@pytest.fixture
def study(tmp_path) -> Study:
    """Return a study with three queries and nothing else."""
    (tmp_path / "study").mkdir()
    (tmp_path / "study" / "study.toml").write_text(TOML, encoding="utf-8")
    (tmp_path / "study" / "queries.csv").write_text(QUERIES, encoding="utf-8")
    return Study(tmp_path / "study")


def put(tmp_path, content, name="answers.csv"):
    """Write a file of answers, byte for byte."""
    path = tmp_path / name
    path.write_bytes(content if isinstance(content, bytes) else content.encode("utf-8"))
    return path


def refused(study, path, **kwargs) -> str:
    """Return the message with which a file is refused, having checked that nothing was written."""
    with pytest.raises(StudyError) as caught:
        import_answers(study, path, **kwargs)
    assert not study.has("answers")
    assert not study.has("citations")
    message = str(caught.value)
    assert message.startswith(str(path))
    assert "\n" not in message
    return message.removeprefix(f"{path}: ")


def test_own_answers_come_in_with_every_denominator(study, tmp_path):
    """Three answers, two sources, and the answer without a source stays in the count."""
    done = import_answers(study, put(tmp_path, BOT))
    assert (done.answers, done.citations, done.no_citations, done.empty) == (3, 3, 1, 0)
    answers, citations = study.load("answers"), study.load("citations")
    assert list(answers["outcome"]) == ["ok", "ok", "no_citations"]
    assert citations["url"].nunique() == 2
    assert list(citations["rank"]) == [1, 1, 2]
    study.validate()


def test_shared_case_of_a_bring_your_own_file(study, shared):
    """The shared bring-your-own case is read as its description says."""
    done = import_answers(study, shared / "cases" / "F-03-bring-your-own" / "my_answers.csv")
    assert (done.answers, done.citations, done.no_citations) == (3, 3, 1)


@pytest.mark.parametrize(
    "content",
    [
        b"\xef\xbb\xbf" + BOT.encode(),
        BOT.replace("\n", "\r\n").encode(),
        BOT.replace(" | ", "\n").encode(),
        BOT.replace("id,engine,question,answer,urls", "Query ID,System,Text,Answer,URL").encode(),
        BOT.replace("my-bot,", "my-bot,").encode() + b"\r\n\r\n",
    ],
    ids=["byte-order mark", "Windows line ends", "line ends between urls", "aliases", "blank end"],
)
def test_forms_of_one_file_give_the_same_tables(study, tmp_path, content):
    """Byte-order mark, line ends, column names and separators change nothing."""
    import_answers(study, put(tmp_path, content))
    assert list(study.load("citations")["url"]) == [
        "https://example.org/review",
        "https://example.org/review",
        "https://example.org/spring",
    ]
    assert study.load("answers")["text"].iloc[0] == "Yes, by 11 cm [1]."


def test_semicolons_and_tabs_separate_columns_too(study, tmp_path):
    """A spreadsheet that saves CSV with semicolons or tabs is read."""
    for mark in ";\t":
        text = mark.join(("id", "engine", "answer", "url")) + "\n"
        text += mark.join(("1", "bot", "Yes, it did", "https://a.example/1")) + "\n"
        import_answers(study, put(tmp_path, text), present="replace")
        assert list(study.load("answers")["text"]) == ["Yes, it did"]


def test_one_row_a_citation(study, tmp_path):
    """Rows of one system, query and run are one answer; rank, title and run are kept."""
    path = put(
        tmp_path,
        "id,system,run,answer,url,rank,title\n"
        "1,bot,1,Yes.,https://b.example/,2,B\n"
        "1,bot,1,,https://a.example/,1,A\n"
        "1,bot,2,Yes!,https://a.example/,1,A\n",
    )
    import_answers(study, path)
    rows = study.load("citations")[["run", "rank", "url", "title"]].values.tolist()
    assert rows == [
        [1, 1, "https://a.example/", "A"],
        [1, 2, "https://b.example/", "B"],
        [2, 1, "https://a.example/", "A"],
    ]
    assert list(study.load("answers")["text"]) == ["Yes.", "Yes!"]


def test_json_lines_take_lists_and_objects(study, tmp_path):
    """Addresses may be a list of texts or of objects; an empty one is counted, not invented."""
    rows = [
        {"id": 1, "engine": "b", "answer": "A", "urls": ["https://a.example/1"]},
        {"id": 2, "engine": "b", "answer": "B", "urls": [{"url": "https://a.example/2", "title": "T"}, {"url": ""}]},
        {"id": 3, "engine": "b", "answer": "C", "urls": []},
    ]  # fmt: skip
    path = put(tmp_path, "\n".join(json.dumps(row) for row in rows), "a.jsonl")
    done = import_answers(study, path)
    assert (done.answers, done.citations, done.no_citations) == (3, 2, 1)
    assert study.load("answers")["reason"].tolist()[1] == "1 citation without an address"
    assert study.load("citations")["title"].tolist()[1] == "T"


def test_blank_answers_are_outcomes(study, tmp_path):
    """A blank answer is empty, unless it cites; a search tool has sources and no answer."""
    path = put(tmp_path, "id,system,answer,url\n1,bot,,\n2,bot,,https://a.example/\n3,bot,Hm,\n")
    import_answers(study, path)
    assert list(study.load("answers")["outcome"]) == ["empty", "ok", "no_citations"]


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("engine,answer\nb,A\n", "row 1, column query_id: missing; add a column id, or question, or say where it is: --field question=..."),
        ("id,answer\n1,A\n", "row 1, column system: missing; add a column system (or engine), or name it with --system"),
        ("id,engine\n1,b\n", "row 1, column answer: missing; add a column answer, or urls, or both, or say where they are: --field answer=..."),
        ("id,query_id,engine,answer\n1,1,b,A\n", "row 1, column query_id: stands for the same as id; keep one of the two"),
        ("id,engine,answer,url\n1,b,A,example.org/x\n", "row 2, column urls: 'example.org/x' is no web address; it must begin with http:// or https:// (--keep-broken keeps it, unfetched)"),
        ("id,engine,answer,url\n1,b,A,https:///x\n", "row 2, column urls: 'https:///x' names no host; correct it or leave it out (--keep-broken keeps it, unfetched)"),
        ("id,engine,answer,url\n1,b,A,https://a.example/b c\n", "row 2, column urls: white space in 'https://a.example/b c'; write it as %20, or separate addresses with ' | ' (--keep-broken keeps it, unfetched)"),
        ("id,engine,answer,url\n1,b,A,https://[::1/x\n", "row 2, column urls: 'https://[::1/x' is no web address (Invalid IPv6 URL); correct it or leave it out (--keep-broken keeps it, unfetched)"),
        ("id,engine,answer,url\n1,b,A,\"https://a.example/,https://b.example/\"\n", "row 2, column urls: several addresses in one: 'https://a.example/,https://b.example/'; separate them with ' | ' (--keep-broken keeps it, unfetched)"),
        ("id,engine,answer,url\n1,b,A,https://a.example/\n1,b,A,https://a.example/\n", "row 3: repeats row 2 (the same citation again); remove one of the two, or number repetitions in a column run (--keep-broken does)"),
        ("id,engine,answer,url\n1,b,A,\n1,b,A,\n", "row 3: repeats row 2 (again); remove one of the two, or number repetitions in a column run (--keep-broken does)"),
        ("id,engine,answer\n1,b,A\n1,b,B\n", "row 3, column answer: differs from row 2, which is the same system, query and run; number repetitions in a column run (--keep-broken does)"),
        ("id,engine,answer\n9,b,A\n", "row 2, column query_id: no query '9' in the study; known are 1, 2, 3; correct it, or add unknown queries (--add-queries)"),
        ("id,engine,question,answer\n1,b,Did it rain?,A\n", "row 2, column question: 'Did it rain?' is not query '1' of the study, which is 'Did the river fall?'; correct the id or the question (--keep-broken goes by the question)"),
        ("id,engine,answer,run\n1,b,A,first\n", "row 2, column run: must be a whole number from 1, found 'first'"),
        ("id,engine,answer,url,rank\n1,b,A,https://a.example/,0\n", "row 2, column rank: must be a whole number from 1, found '0'"),
        ("id,engine,answer,url,rank\n1,b,A,https://a.example/,1\n1,b,A,https://b.example/,1\n", "row 3, column rank: repeats row 2 (rank 1 again); remove one of the two, or number repetitions in a column run (--keep-broken does)"),
        ("id,engine,answer,outcome\n1,b,A,fine\n", "row 2, column outcome: must be one of ok, no_citations, empty, refused, failed, found 'fine'"),
        ('id,engine,answer\n1,"b\nc",A\n', "row 2, column system: 'b\\nc' holds a line end or a control character; remove it"),
        ("id,engine,answer\n1,,A\n", "row 2, column system: empty; name the system (for the whole file: --system)"),
        ("id,engine,answer\n,b,A\n", "row 2, column query_id: empty; say which query this answers"),
        ("id,engine,answer\n1,b,Yes, it did\n", "row 2: 4 fields, the first line has 3; quote fields that hold a comma"),
        ("", "the file is empty; the first line must name the columns"),
        ("id,engine,answer\n", "no answer in this file"),
        (b"id,engine,answer\n1,b,\xe9\n", "not UTF-8 at byte 21; save the file as UTF-8"),
    ],
)  # fmt: skip
def test_every_fault_is_one_clear_line(study, tmp_path, content, message):
    """A fault names file, row, column and what to do, and nothing is written."""
    assert refused(study, put(tmp_path, content)) == message


def test_check_lists_every_fault_by_row(study, tmp_path):
    """The checker says what is wrong with each row before anything runs."""
    path = put(
        tmp_path,
        "id,engine,answer,url\n1,b,A,www.a.example\n2,,B,\n3,b,C,https://a.example/\n7,b,D,\n",
    )
    assert [(fault.row, fault.column) for fault in check_answers(path)] == [
        (2, "urls"),
        (3, "system"),
    ]
    assert [(fault.row, fault.column) for fault in check_answers(path, study=study)] == [
        (2, "urls"),
        (3, "system"),
        (5, "query_id"),
    ]
    assert check_answers(put(tmp_path, BOT), study=study) == []
    assert not study.has("answers")


def test_unknown_queries_are_added_when_told(study, tmp_path):
    """New queries need a text and a category, and get an id when they have none."""
    path = put(tmp_path, "engine,question,answer\nb,Is it deep?,A\nb,Why?,B\n")
    message = refused(study, path, unknown_queries="add")
    assert message.startswith("row 2, column category: query 'q004' is new and has no category;")
    done = import_answers(study, path, unknown_queries="add", category="factual")
    assert done.new_queries == 1
    assert list(study.load("queries")["query_id"]) == ["1", "2", "3", "q004"]
    assert list(study.load("answers")["query_id"]) == ["q004", "2"]
    study.validate()


def test_a_second_import_is_refused_or_replaces(study, tmp_path):
    """An answer that is there already is never doubled, and its old citations go with it."""
    import_answers(study, put(tmp_path, BOT))
    with pytest.raises(StudyError, match="row 2: the study has an answer of 'my-bot' to query '1'"):
        import_answers(study, put(tmp_path, BOT))
    path = put(tmp_path, "id,engine,answer,url\n2,my-bot,New,https://new.example/\n")
    import_answers(study, path, present="replace")
    answers = study.load("answers").set_index("query_id")
    assert len(answers) == 3
    assert answers.loc["2", "text"] == "New"
    assert list(study.load("citations")["url"]) == [
        "https://example.org/review",
        "https://new.example/",
    ]


COPIED = [
    {"id": "1", "engine": "p", "result": "The bus costs $7.00, up from the previous fare of $6.7523. Riders complained14.\nIn 2019 the operator cut 3 lines12.", "search_results": [{"title": f"{n}. Page {n}", "url": f"https://example.org/{n}"} for n in (1, 2, 3, 4)]},
    {"id": "2", "engine": "c", "result": "The statue is 5.17 m tall. \nEXAMPLE ENCYCLOPEDIA\n It was moved in 1873.", "search_results": [{"title": "Statue", "url": "https://example.org/statue"}, {"title": "Statue", "url": "https://example.org/statue"}]},
    {"id": "3", "engine": "g", "result": "There is no such statue.", "search_results": [{"title": "Statue in another town", "url": ""}, {"title": "Made up page", "url": "https://www.example.org/culture/statue-is-a-hoax-59539"}]},
    {"id": "1", "engine": "x", "result": "Yes.", "search_results": []},
    {"id": "1", "engine": "n", "result": "Depth fell [2]. See [1].\n\n## Sources\n[1] https://example.org/b\n[2] https://example.org/a", "search_results": [{"url": "https://example.org/a"}, {"url": "https://example.org/b"}, {"url": "https://example.org/c"}]},
]  # fmt: skip


def test_answers_copied_from_a_screen(study, tmp_path):
    """Numbered titles, repeats, empty addresses and own source lists are read for what they are."""
    lines = "\n".join(json.dumps(row) for row in COPIED)
    done = import_answers(study, put(tmp_path, lines, "copied.jsonl"))
    citations = study.load("citations")
    assert (done.answers, done.no_citations) == (5, 1)
    first = citations[citations["system"] == "p"]
    assert list(first["title"]) == ["Page 1", "Page 2", "Page 3", "Page 4"]
    assert first["start"].isna().all()
    assert done.notes == ("digits after words may be markers (--glued-markers): row 1: 23, 14, 12",)
    assert (citations["system"] == "c").sum() == 1
    assert (citations["system"] == "g").sum() == 1
    reasons = study.load("answers").set_index("system")["reason"]
    assert reasons["g"] == "1 citation without an address"
    own = citations[citations["system"] == "n"]
    assert own[["url", "cited_text"]].values.tolist() == [
        ["https://example.org/a", "[2]"],
        ["https://example.org/b", "[1]"],
    ]


def test_glued_digits_are_markers_when_told(study, tmp_path):
    """With the export's habit named, digits become markers and numbers stay numbers."""
    path = put(tmp_path, json.dumps(COPIED[0]), "copied.jsonl")
    import_answers(study, path, rules=Rules(glued="markers"))
    citations = study.load("citations")
    text = study.load("answers")["text"].iloc[0]
    placed = [
        (text[:start].split()[-1], int(url[-1]))
        for url, start in sorted(zip(citations["url"], citations["start"], strict=True), key=lambda pair: (pair[1], pair[0]))
    ]  # fmt: skip
    assert placed == [
        ("$6.75", 2),
        ("$6.75", 3),
        ("complained", 1),
        ("complained", 4),
        ("lines", 1),
        ("lines", 2),
    ]


def test_shared_case_of_answers_copied_from_a_screen(study, shared):
    """The shared case is read as its description says."""
    path = shared / "cases" / "A-16-scraped-answers" / "answers.jsonl"
    found = read_answers(path)
    assert [answer.reply.outcome for answer in found.answers] == [
        "ok", "ok", "ok", "no_citations", "ok",
    ]  # fmt: skip
    assert [len(answer.reply.citations) for answer in found.answers] == [4, 1, 1, 0, 2]
    assert [source.url for source in found.answers[4].reply.uncited] == ["https://example.org/c"]


def test_markers_in_the_answer_tie_given_addresses_to_their_places(study, tmp_path):
    """Addresses of the column are the citations; the answer's marks and links say where they stand."""
    import_answers(study, put(tmp_path, BOT))
    rows = study.load("citations")[["query_id", "url", "cited_text", "start", "end"]]
    assert rows.values.tolist() == [
        ["1", "https://example.org/review", "[1]", 14, 17],
        ["2", "https://example.org/review", "[1]", 11, 14],
        ["2", "https://example.org/spring", "[2]", 14, 17],
    ]


def test_citations_are_read_from_the_text_where_there_is_no_column(study, tmp_path):
    """Links, bare addresses and marks with a source list are citations; a list alone has no place."""
    text = "It fell [1]. See [the log](https://b.example/x_(y)) and https://c.example/.\n\nSources:\n[1] Review - https://a.example/r\n[2] https://d.example/"
    path = put(tmp_path, json.dumps({"id": 1, "engine": "b", "answer": text}), "a.jsonl")
    import_answers(study, path)
    rows = study.load("citations")[["rank", "url", "title", "cited_text"]]
    assert rows.astype(object).where(rows.notna(), None).values.tolist() == [
        [1, "https://a.example/r", "Review", "[1]"],
        [2, "https://b.example/x_(y)", None, "[the log](https://b.example/x_(y))"],
        [3, "https://c.example/", None, "https://c.example/"],
        [4, "https://d.example/", None, None],
    ]


def test_broken_addresses_and_repeats_are_kept_when_told(study, tmp_path):
    """A recording is taken whole: what is no address is a citation, a second answer the next run."""
    rows = [
        {"id": 1, "engine": "b", "answer": "A", "urls": ["not given", "https://a.example/"]},
        {"id": 1, "engine": "b", "answer": "B", "urls": []},
    ]
    path = put(tmp_path, "\n".join(json.dumps(row) for row in rows), "a.jsonl")
    assert [str(fault) for fault in check_answers(path)][:1] == [
        "row 1, column urls: white space in 'not given'; write it as %20, or separate addresses with ' | '"
        " (--keep-broken keeps it, unfetched)"
    ]
    done = import_answers(study, path, rules=Rules(broken="keep"))
    assert (done.answers, done.citations, done.no_citations) == (2, 2, 1)
    assert list(study.load("answers")["run"]) == [1, 2]


def test_hostile_texts_can_be_stored(study, tmp_path):
    """Lone surrogates, carriage returns and control characters break no table, and spans still fit."""
    row = {"id": "x", "engine": "b", "question": "Q\r1\x00?", "answer": "a\ud800\r[1] b", "urls": [{"url": "https://a.example/", "title": "T\rX\ud800,\x00\"\n"}]}  # fmt: skip
    path = tmp_path / "a.jsonl"
    path.write_text(json.dumps(row), encoding="utf-8")
    import_answers(study, path, unknown_queries="add", category="factual")
    study.validate()
    answer, citation = study.load("answers").iloc[0], study.load("citations").iloc[0]
    assert answer["text"] == "a\ufffd [1] b"
    assert answer["text"][citation["start"] : citation["end"]] == "[1]"
    assert citation["title"] == 'T X\ufffd,\ufffd"'
    assert list(study.load("queries")["text"])[-1] == "Q 1\ufffd?"


def test_system_may_be_named_for_the_whole_file(study, tmp_path):
    """A file of one system needs no column for it."""
    import_answers(study, put(tmp_path, "id,answer\n1,A\n"), system="mine")
    assert list(study.load("answers")["system"]) == ["mine"]


def test_formulas_and_words_stay_text(study, tmp_path):
    """Nothing in a field is read as a number, a missing value or a formula."""
    import_answers(study, put(tmp_path, "id,engine,answer\n1,NA,NA\n2,NA,=1+1\n3,NA,001\n"))
    assert list(study.load("answers")["text"]) == ["NA", "=1+1", "001"]
    assert set(study.load("answers")["system"]) == {"NA"}


@pytest.mark.parametrize(
    "cell",
    [
        '["https://a.example/", "https://b.example/x,y"]',
        "['https://a.example/', 'https://b.example/x,y']",
        "['https://a.example/'\n 'https://b.example/x,y']",
        "['https://a.example/', None, \"https://b.example/x,y\"]",
        "[{'url': 'https://a.example/', 'title': 'It\\'s'}, {'url': 'https://b.example/x,y'}]",
    ],
    ids=["JSON", "Python", "numpy", "a gap", "objects"],
)
def test_lists_of_addresses_in_one_cell(study, tmp_path, cell):
    """A list is read as JSON, and as Python or numpy print it; a comma in an address stays."""
    import csv
    import io

    out = io.StringIO()
    csv.writer(out).writerows([["id", "engine", "answer", "urls"], [1, "b", "A", cell]])
    import_answers(study, put(tmp_path, out.getvalue()))
    assert list(study.load("citations")["url"]) == ["https://a.example/", "https://b.example/x,y"]


def test_a_list_without_quotes_and_one_that_is_none(study, tmp_path):
    """Bare addresses in brackets are a list; words are an error that says what to do."""
    bare = "id;engine;answer;urls\n1;b;A;[https://a.example/, https://b.example/]\n"
    import_answers(study, put(tmp_path, bare))
    assert len(study.load("citations")) == 2
    words = "id,engine,answer,urls\n1,b,A,[see the report]\n"
    found = check_answers(put(tmp_path, words))
    assert [str(fault) for fault in found] == [
        "row 2, column urls: starts like a list, but is none that can be read; separate addresses with ' | '"
    ]


def test_numbers_that_stand_for_nothing_are_missing(study, tmp_path):
    """NaN in JSON, as data frames write it, is a blank field and no word."""
    path = put(tmp_path, '{"id": 1, "engine": "b", "answer": NaN, "urls": NaN}\n{"id": 2, "engine": "b", "answer": "A", "urls": null}', "a.jsonl")  # fmt: skip
    import_answers(study, path)
    assert list(study.load("answers")["outcome"]) == ["empty", "no_citations"]


def test_blank_columns_of_a_spreadsheet_are_no_matter(study, tmp_path):
    """Commas at the end of each line, as Excel leaves them, are not listed as columns."""
    done = import_answers(study, put(tmp_path, "id,engine,answer,,\r\n1,b,A,,\r\n"))
    assert done.unused_columns == ()


@pytest.mark.parametrize(
    ("content", "said"),
    [
        ("id,engine,anwser\n1,b,A\n", "(if 'anwser' is it: --field answer=anwser)"),
        ("id,sytem,answer\n1,b,A\n", "(if 'sytem' is it: --field system=sytem)"),
        ("nr,engine,answer\n1,b,A\n", "--field question=..."),
    ],
)
def test_a_misspelt_column_is_guessed_at(study, tmp_path, content, said):
    """The error names the column that may be meant, and the flag that says so."""
    assert refused(study, put(tmp_path, content)).endswith(said)


@pytest.mark.parametrize("name", ["a.csv", "a.jsonl", "a.json"])
def test_a_field_may_be_where_the_user_says(study, tmp_path, name):
    """--field takes a column, or a path of keys, of any plain file; the others keep their names."""
    rows = [{"id": 1, "engine": "b", "reply.text": "A", "meta": {"run": 2}}]
    text = {
        "a.csv": "id,engine,reply.text\n1,b,A\n",
        "a.jsonl": json.dumps(rows[0]),
        "a.json": json.dumps(rows),
    }[name]
    fields = {"answer": "reply.text"} | ({} if name == "a.csv" else {"run": "meta.run"})
    import_answers(study, put(tmp_path, text, name), fields=fields)
    row = study.load("answers").iloc[0]
    assert (row["text"], row["run"]) == ("A", 1 if name == "a.csv" else 2)


def test_a_field_that_is_nowhere_is_an_error(study, tmp_path):
    """A wrong place is named with the columns that are there; a wrong column with ours."""
    path = put(tmp_path, "id,engine,says\n1,b,A\n")
    found = check_answers(path, fields={"answer": "text"})
    assert (
        str(found[0])
        == "row 1, column answer: --field answer=text: no row has that; columns are id, engine, says"
    )
    with pytest.raises(
        StudyError, match="--field reply: no such column; ours are query_id, system"
    ):
        check_answers(path, fields={"reply": "says"})


def test_each_error_names_the_flag_that_helps(study, tmp_path):
    """--system, --field, --add-queries, --category, --keep-broken and --replace each have their error."""
    base = "id,engine,question,answer,url\n"
    assert "--system" in refused(study, put(tmp_path, "id,answer\n1,A\n"))
    assert "--field" in refused(study, put(tmp_path, "id,engine,said\n1,b,A\n"))
    new = put(tmp_path, base + "9,b,New?,A,\n")
    assert "--add-queries" in refused(study, new)
    assert "--category" in refused(study, new, unknown_queries="add")
    assert "--keep-broken" in refused(study, put(tmp_path, base + "1,b,,A,nowhere\n"))
    assert "--keep-broken" in refused(study, put(tmp_path, base + "1,b,,A,\n1,b,,B,\n"))
    assert "--keep-broken" in refused(study, put(tmp_path, base + "1,b,Why?,A,\n"))
    import_answers(study, put(tmp_path, BOT))
    with pytest.raises(StudyError, match="--replace"):
        import_answers(study, put(tmp_path, BOT))


def test_one_question_under_two_ids_is_two_runs_when_kept(study, tmp_path):
    """The same question of one system twice is an error, or with --keep-broken the next run."""
    path = put(tmp_path, "id,engine,question,answer\n7,b,Is it deep?,A\n8,b,is it  deep?,B\n")
    given = {"unknown_queries": "add", "category": "factual"}
    assert "asks what row 2 asks" in refused(study, path, **given)
    import_answers(study, path, rules=Rules(broken="keep"), **given)
    answers = study.load("answers")
    assert answers[["query_id", "run"]].values.tolist() == [["7", 1], ["7", 2]]


def test_an_error_in_place_of_answers_is_no_answer(study, tmp_path):
    """The same error message twice is a failure with its reason; once, it may be an answer."""
    text = (
        "id,engine,answer\n1,b,Error: time out\n2,b,Error: time out\n3,b,Error bars are whiskers.\n"
    )
    done = import_answers(study, put(tmp_path, text))
    assert (done.failed, done.no_citations) == (2, 1)
    assert study.load("answers")["reason"].tolist()[:2] == ["Error: time out"] * 2


@pytest.mark.parametrize(
    ("column", "given"),
    [
        ("answer", "anwser"),
        ("title", "titel"),
        ("run", "runs"),
        ("urls", "citatons"),
        ("urls", "ulr"),
    ],
)
def test_a_misspelt_column_of_any_kind_is_a_fault(study, tmp_path, column, given):
    """What stands in it would be lost in silence; the flag that is named takes it in."""
    fields = {"id": "1", "engine": "b", "answer": "Yes, [1].", "urls": "https://a.example/", "title": "A", "run": "2"}  # fmt: skip
    fields = {given if name == column else name: value for name, value in fields.items()}
    path = put(tmp_path, ",".join(fields) + "\n" + ",".join(f'"{v}"' for v in fields.values()))
    flag = f"if {given!r} is it: --field {column}={given}"
    assert flag in refused(study, path)
    assert [flag in str(fault) for fault in check_answers(path)] == [True]
    done = import_answers(study, path, fields={column: given})
    assert (done.citations, done.unused_columns) == (1, ())


def test_a_second_misspelt_column_is_a_fault_behind_a_field_too(study, tmp_path):
    """Saying where one column is does not hide that another is misspelt."""
    path = put(tmp_path, "id,engine,anwser,urls,titel\n1,b,Yes.,https://a.example/,A\n")
    assert "--field title=titel" in refused(study, path, fields={"answer": "anwser"})


def test_a_file_without_texts_and_other_words_is_taken(study, tmp_path):
    """Only addresses will do, and a column that is called otherwise is only named."""
    done = import_answers(study, put(tmp_path, "id,engine,search_results,reasoning,scores\n1,b,https://a.example/,x,1\n"))  # fmt: skip
    assert (done.citations, done.unused_columns, done.notes) == (1, ("reasoning", "scores"), ())


def test_blank_answers_and_markers_without_an_address_are_said(study, tmp_path):
    """An answer without a text though others have one, and a marker that nothing stands behind, are counted."""
    rows = "1,b,Yes [9].,https://a.example/ | https://b.example/\n2,b,,https://a.example/\n"
    said = str(import_answers(study, put(tmp_path, "id,engine,answer,urls\n" + rows)))
    assert "1 of 2 answers have no text: row 3" in said
    assert "1 of 2 answers have a marker without an address: row 2" in said


def test_a_doubled_row_is_one_fault_which_names_its_file_in_a_folder(study, tmp_path):
    """Two addresses and another text make no three faults of one row."""
    folder = tmp_path / "folder"
    folder.mkdir()
    row = "Why?,b,{},https://a.example/ | https://b.example/\n"
    text = "question,engine,answer,urls\n" + "".join(map(row.format, ["Dry.", "Dry.", "Wet."]))
    put(folder, text, "a.csv")
    put(folder, "question,engine,answer\nWho?,c,Me.\n", "b.csv")
    put(folder, "question,anwser\nWho?,Me.\n", "c.csv")
    places = [str(fault).partition(":")[0] for fault in check_answers(folder, study=study)]
    assert places == [
        "a.csv, row 3", "a.csv, row 4, column answer", "b.csv, row 2, column question",
        "c.csv, row 1, column anwser",
    ]  # fmt: skip
