"""Queries come from a pinned public file or from one's own, and every fault is named."""

from collections import Counter

import pytest

from sourcebench.collect import queries as module
from sourcebench.collect.queries import public_queries, read_queries
from sourcebench.schema import CATEGORIES, TABLES
from sourcebench.study import StudyError, check_table, to_frame


def put(tmp_path, text, name="queries.csv"):
    """Write a file of queries."""
    path = tmp_path / name
    path.write_text(text, encoding="utf-8")
    return path


def test_public_queries_are_taken_from_a_copy_by_their_hash(shared, tmp_path):
    """65 queries, 13 of each category, fit for the table; a changed copy is refused."""
    copy = shared / "upstream" / "sourcebench_public_queries_v1.csv"
    rows = public_queries(local=copy)
    assert len(rows) == 65
    assert Counter(row["category"] for row in rows) == dict.fromkeys(CATEGORIES, 13)
    assert {row["dataset"] for row in rows} == {
        "VA-COS NLQ", "HotpotQA", "Pinocchios", "DebateQA", "Quora",
    }  # fmt: skip
    table = TABLES["queries"]
    check_table(to_frame(rows, table), table, copy)
    changed = tmp_path / "changed.csv"
    changed.write_bytes(copy.read_bytes() + b"\n")
    with pytest.raises(StudyError, match="this is not the pinned file"):
        public_queries(local=changed)
    with pytest.raises(StudyError, match="no such file"):
        public_queries(local=tmp_path / "missing.csv")


def test_public_queries_are_downloaded_once(shared, tmp_path):
    """The pinned address is asked for once; afterwards the cache serves, and no network is needed."""
    copy = shared / "upstream" / "sourcebench_public_queries_v1.csv"
    asked = []

    def downloader(url, output, pooch):
        asked.append(url)
        with open(output, "wb") as file:  # noqa: PTH123
            file.write(copy.read_bytes())

    for _ in range(2):
        assert len(public_queries(cache=tmp_path, downloader=downloader)) == 65
    assert asked == [module.PUBLIC.url]


def test_a_wrong_download_and_no_network_are_told_apart(tmp_path):
    """Either way the message names the address, the hash and where a copy may be put."""

    def wrong(url, output, pooch):
        with open(output, "wb") as file:  # noqa: PTH123
            file.write(b"<html>")

    def unreachable(url, output, pooch):
        raise OSError("no network")

    for downloader, said in ((wrong, "is not the pinned file"), (unreachable, "can't be reached")):
        with pytest.raises(StudyError, match=said) as caught:
            public_queries(cache=tmp_path, downloader=downloader)
        assert module.PUBLIC.sha256 in str(caught.value)
        assert str(tmp_path / module.PUBLIC.name) in str(caught.value)


def test_own_queries_are_numbered_and_named(tmp_path):
    """Other column names and names of data sets are understood; ids are given where none are."""
    path = put(tmp_path, "Question,Query Type\nIs it so?,HotpotQA\nWhy?,Social\n")
    assert read_queries(path) == [
        {"query_id": "q001", "text": "Is it so?", "category": "reasoning", "dataset": "HotpotQA", "gold_answer": None},
        {"query_id": "q002", "text": "Why?", "category": "social", "dataset": None, "gold_answer": None},
    ]  # fmt: skip
    path = put(tmp_path, "query\nIs it so?\n")
    assert read_queries(path, category="factual")[0]["category"] == "factual"


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("id,category\n1,factual\n", "row 1, column text: missing; add a column text (or query, or question)"),
        ("text,category\n,factual\n", "row 2, column text: empty; write the question"),
        ("text\nWhy?\n", "row 2, column category: must be one of shopping, reasoning, factual, argumentative, social, found nothing; or name one for the whole file (--category, any word)"),
        ("text,category\nWhy?,fun\n", "row 2, column category: must be one of shopping, reasoning, factual, argumentative, social, found 'fun'; or name one for the whole file (--category, any word)"),
        ("id,text,category\n1,A?,social\n1,B?,social\n", "row 3, column query_id: repeats row 2: '1'; remove one of the two"),
        ("text,category\nA?,social\na? ,social\n", "row 3, column text: repeats row 2: 'a?'; remove one of the two"),
        ("text,query,category\nA?,B?,social\n", "row 1, column query: stands for the same as text; keep one of the two"),
        ("text,category\n", "no query in this file"),
    ],
)  # fmt: skip
def test_faults_of_own_queries_are_named(tmp_path, text, message):
    """File, row, column and what to do."""
    path = put(tmp_path, text)
    with pytest.raises(StudyError) as caught:
        read_queries(path)
    assert str(caught.value) == f"{path}: {message}"


def test_any_word_may_be_the_category_of_a_file(tmp_path):
    """As for an import; the error without it names the option, and a misspelt column is a fault."""
    path = tmp_path / "q.csv"
    path.write_text("text,category\nWhy?,odd\nWho?,social\nWhen?,\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"row 2, column category.*--category, any word"):
        read_queries(path)
    rows = read_queries(path, category="general")
    assert [row["category"] for row in rows] == ["general", "social", "general"]
    path.write_text("text,catgory\nWhy?,social\n", encoding="utf-8")
    with pytest.raises(StudyError, match=r"column catgory: not used.*rename it to category"):
        read_queries(path, category="general")
