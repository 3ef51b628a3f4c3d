"""The study folder: loading, checking, appending, saving, releasing."""

import json
from pathlib import Path

import pandas as pd
import pytest

from sourcebench.study import PACKAGE, Study, StudyError, read_settings

SETTINGS = 'title = "T"\nkind = "sample"\nlicence = "CC0-1.0"\nas_of = 2026-06-01\n'
QUERIES = "query_id,text,category,dataset,gold_answer\n001,NA,shopping,,\n002,None,social,,\n"


@pytest.fixture
def study(tmp_path: Path) -> Study:
    """Return a study of two queries."""
    (tmp_path / "study.toml").write_text(SETTINGS, encoding="utf-8")
    (tmp_path / "queries.csv").write_text(QUERIES, encoding="utf-8")
    return Study(tmp_path)


def write(study: Study, name: str, text: str) -> None:
    """Put a file into the study."""
    (study.folder / name).write_bytes(text.encode())


def test_words_are_not_missing(study):
    """Titles such as NA and None stay words, identities keep their zeros, empty is missing."""
    queries = study.load("queries")
    assert queries["query_id"].tolist() == ["001", "002"]
    assert queries["text"].tolist() == ["NA", "None"]
    assert queries["gold_answer"].isna().all()


def test_windows_files_read_the_same(study):
    """A byte-order mark and Windows line ends change nothing."""
    plain = study.load("queries")
    write(study, "queries.csv", "\ufeff" + QUERIES.replace("\n", "\r\n"))
    pd.testing.assert_frame_equal(study.load("queries"), plain)


JUDGMENTS = "judge,prompt_hash,query_id,page_id,metric,score,reason,outcome,model,judged_at\n"


@pytest.mark.parametrize(
    ("row", "said"),
    [
        (
            "rules,h,001,p1,CR,7,,scored,,",
            "row 2, column score: expected a number from 1 to 5, found 7",
        ),
        ("rules,h,001,p1,CR,six,,scored,,", "column score: expected a whole number, found 'six'"),
        ("rules,h,001,p1,CR,4.5,,scored,,", "column score: expected a whole number, found '4.5'"),
        ("rules,h,001,p1,XX,4,,scored,,", "column metric: expected one of CR, FA"),
        ("rules,h,001,p1,CR,4,,,,", "column outcome: expected one of"),
        ("rules,h,001,,CR,4,,scored,,", "column page_id: expected a value, found nothing"),
        ("rules,h,001,p1,CR,4,,scored,", "row 2 has 9 fields, the first line has 10"),
        ('rules,h,001,p1,CR,4,"x,scored,,', "not readable as CSV"),
    ],
)
def test_faults_name_file_row_and_column(study, row, said):
    """A wrong value gives one error with file, row, column, what was expected and what was found."""
    write(study, "judgments.csv", JUDGMENTS + row + "\n")
    with pytest.raises(StudyError) as error:
        study.load("judgments")
    assert str(study.folder / "judgments.csv") in str(error.value)
    assert said in str(error.value)


def test_repeated_key_is_refused(study):
    """Two rows with one key are an error that names the second."""
    row = "rules,h,001,p1,CR,4,,scored,,\n"
    write(study, "judgments.csv", JUDGMENTS + row + row)
    with pytest.raises(StudyError, match="row 3 repeats an earlier row"):
        study.load("judgments")


def test_missing_key_parts_count_as_equal(study):
    """A page-level verdict, whose query is empty, can't be given twice either."""
    row = "rules,h,,p1,FR,4,,scored,,\n"
    write(study, "judgments.csv", JUDGMENTS + row + row)
    with pytest.raises(StudyError, match="row 3 repeats"):
        study.load("judgments")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("query_id,text\n1,a\n", "column .category. is missing"),
        ("query_id,text,category,mood\n1,a,social,x\n", "unknown column 'mood'"),
        ("query_id,text,text,category\n1,a,b,social\n", "column text stands twice"),
        ("", "the file is empty"),
    ],
)
def test_headers_are_checked(study, text, said):
    """Missing, unknown and repeated columns are errors."""
    write(study, "queries.csv", text)
    with pytest.raises(StudyError, match=said):
        study.load("queries")


def test_wrong_encoding_is_named(study):
    """A file that is not UTF-8 is refused with the place of the fault."""
    (study.folder / "queries.csv").write_bytes(b"query_id,text,category\n1,Gr\xf6\xdfe,social\n")
    with pytest.raises(StudyError, match="not UTF-8 at byte"):
        study.load("queries")


def test_dangling_reference_is_refused(study):
    """A citation of a query that is not there is an error that names both tables."""
    write(study, "citations.csv", "system,query_id,run,rank,url\na,009,1,1,https://x.example/\n")
    with pytest.raises(StudyError, match=r"'009' is not in queries\.csv"):
        study.validate()


def test_saved_tables_come_back(study):
    """What is saved is what is loaded, with quotes, commas, line ends and missing values."""
    rows = [
        {
            "system": "a",
            "query_id": "001",
            "run": 1,
            "rank": 1,
            "url": "https://x.example/?a,b",
            "title": 'say "x"\ny',
        },
        {"system": "a", "query_id": "001", "run": 1, "rank": 2, "url": "https://y.example/"},
    ]
    study.save("citations", rows)
    loaded = study.load("citations")
    assert loaded["title"].iloc[0] == 'say "x"\ny'
    assert loaded["start"].isna().all()
    study.save("citations", loaded)
    pd.testing.assert_frame_equal(study.load("citations"), loaded)


def test_append_adds_rows_and_keeps_the_header(study):
    """Appending twice gives one header and all rows; a foreign header is refused."""
    row = {"engine": "e", "query_id": "001", "rank": 1, "url": "https://x.example/"}
    study.append("reference", [row])
    study.append("reference", [row | {"rank": 2}])
    assert len(study.load("reference")) == 2
    write(study, "reference.csv", "engine,rank,query_id,url\n")
    with pytest.raises(StudyError, match="first line must be"):
        study.append("reference", [row | {"rank": 3}])


def test_json_lines_keep_objects(study):
    """Token counts of an answer stay an object, and a broken line is named."""
    study.save(
        "answers",
        [
            {
                "system": "a",
                "query_id": "001",
                "run": 1,
                "outcome": "ok",
                "text": "é",
                "usage": {"in": 3},
            }
        ],
    )
    assert study.load("answers")["usage"].iloc[0] == {"in": 3}
    write(study, "answers.jsonl", '{"system": "a"}\n{"system": \n')
    with pytest.raises(StudyError, match="line 2 is not JSON"):
        study.load("answers")


def test_parquet_stands_in(study):
    """A table may be Parquet instead, where the reader for it is installed."""
    pytest.importorskip("pyarrow", reason="Parquet needs pyarrow, an optional extra")
    frame = study.load("queries")
    frame.to_parquet(study.folder / "queries.parquet")
    pd.testing.assert_frame_equal(study.load("queries"), frame)


def test_release_freezes_and_detects_changes(study):
    """A released study refuses to be written to, and one changed byte is found."""
    study.save("labels", [{"annotator": "x", "page_id": "p", "metric": "FR", "score": 3}])
    study.release()
    study.validate()
    with pytest.raises(StudyError, match="released and stays as it is"):
        study.save("labels", [])
    content = (study.folder / "labels.csv").read_bytes()
    (study.folder / "labels.csv").write_bytes(content.replace(b"3", b"4"))
    with pytest.raises(StudyError, match=r"labels\.csv: SHA-256"):
        study.validate()
    (study.folder / "labels.csv").unlink()
    with pytest.raises(StudyError, match="no such file"):
        study.validate()


def test_package_satisfies_an_independent_validator(study, monkeypatch):
    """The data package is valid by the Frictionless library, schemas and hashes included."""
    import warnings

    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        from frictionless import Package

        study.save("labels", [{"annotator": "x", "page_id": "p", "metric": "FR", "score": 3}])
        study.release()
        monkeypatch.chdir(study.folder)
        report = Package(PACKAGE).validate()
    assert report.valid, report.flatten(["title", "message"])
    names = {r["name"] for r in json.loads(Path(PACKAGE).read_text("utf-8"))["resources"]}
    assert {"queries", "labels", "study.toml"} <= names


def test_working_copy_leaves_derived_tables_behind(study, tmp_path_factory):
    """A copy starts from the inputs, so that stages derive the rest anew."""
    write(study, "judgments.csv", JUDGMENTS)
    study.release()
    copy = study.working_copy(tmp_path_factory.mktemp("copy"))
    assert not copy.released
    assert not copy.has("judgments")
    assert copy.has("queries")


@pytest.mark.parametrize(
    ("text", "said"),
    [
        (SETTINGS + 'mood = "x"\n', "unknown setting 'mood'"),
        (SETTINGS.replace("2026-06-01", '"June"'), "as_of must be a date"),
        (SETTINGS.replace('"sample"', '"toy"'), "kind must be one of"),
        (SETTINGS.replace('licence = "CC0-1.0"\n', ""), "licence is missing"),
        (SETTINGS + "top_k = 0\n", "top_k must be 1 or more"),
        (SETTINGS + 'judge = "qwen"\n', "no \\[judges.qwen\\]"),
        (SETTINGS + "title = ", "not readable as TOML"),
    ],
)
def test_settings_are_checked(tmp_path, text, said):
    """A fault in study.toml names the setting and what it must be."""
    path = tmp_path / "study.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(StudyError, match=said):
        read_settings(path)


def test_a_folder_without_settings_is_no_study(tmp_path):
    """The error says what a study is."""
    with pytest.raises(StudyError, match=r"needs a study\.toml"):
        Study(tmp_path)
    with pytest.raises(StudyError, match="no such folder"):
        Study(tmp_path / "nowhere")


def test_a_new_title_leaves_the_settings_as_they_are(study):
    """Only the title line changes, whatever is in the new title."""
    study.retitle('Mine, "quoted" \\ and more')
    assert study.settings.title == 'Mine, "quoted" \\ and more'
    assert (study.folder / "study.toml").read_text("utf-8").splitlines()[
        1:
    ] == SETTINGS.splitlines()[1:]


def test_a_copy_never_overwrites_a_study(study):
    """Copying onto a folder that holds a study is refused."""
    with pytest.raises(StudyError, match="there is a study already"):
        study.working_copy(study.folder)
