"""What the command line refuses: at once, in one line that names the file or the option."""

from pathlib import Path

import pytest
from click.testing import CliRunner
from studies import tiny_study

from sourcebench.cli import main

ABOUT = ["submitter_name", "contact_email", "web_search_mode", "agrees_to_reproducibility_policy"]


@pytest.fixture
def study(tmp_path, monkeypatch):
    """Return a study in the current folder, which also holds a folder, and files of two kinds."""
    monkeypatch.chdir(tmp_path)
    Path("folder").mkdir()
    Path("a.csv").write_text("id,engine,answer\n1,b,A\n", encoding="utf-8")
    made = tiny_study(tmp_path / "s")
    made.save("answers", [{"system": "s", "query_id": q, "run": 1, "outcome": "ok", "text": "x"} for q in ("q1", "q2")])  # fmt: skip
    return made


EXPORT = ["export", "s", "--system", "s", "--out"]


@pytest.mark.parametrize(
    ("words", "code", "said"),
    [
        ([*EXPORT, "folder"], 1, "folder: is a folder, where a file is needed"),
        ([*EXPORT, "nodir/e.json"], 1, "nodir: no such file or folder"),
        (["questions", "s", "nosuch.pdf"], 1, "nosuch.pdf: no such file or folder"),
        (["questions", "s", "folder"], 1, "folder: is a folder, where a file is needed"),
        (["import", "a.csv", "--study", "a.csv/x"], 1, "a.csv/x: no study here"),
        (["new", "a.csv/x", "--template", "own"], 1, "a.csv/x: a file stands where a folder is needed"),
        (["new", "x", "--runs", "0"], 2, "'--runs': 0 is not in the range x>=1"),
        (["show", "s", "notaurl"], 1, "'notaurl' is no web address"),
        (["labels", "draw", "s", "nodir/sheet.csv"], 1, "there is no folder nodir"),
        (["judge", "s", "--limit-tokens", "-5"], 2, "'--limit-tokens': -5 is not in the range"),
        (["judge", "s", "--limit-seconds", "-1"], 2, "'--limit-seconds': -1.0 is not in the range"),
        (["judge", "s", "--limit-cost", "-1"], 2, "'--limit-cost': -1.0 is not in the range"),
        (["collect", "s", "--limit-cost", "-1"], 2, "'--limit-cost': -1.0 is not in the range"),
        (["judge", "s", "--retry", "foo"], 1, "retry: 'foo' is none of scored, repaired"),
        (["paper", "s", "--resamples", "0"], 2, "must be 100 or more"),
        (["paper", "s", "4-leaderboard"], 1, "4-leaderboard: no such notebook; notebooks are 01-queries"),
        ([*EXPORT, "e.json", "--about", "foo=Me"], 1, "--about goes with --as bundle only"),
        ([*EXPORT, "e.json", "--as", "bundle", "--about", "foo=Me"], 1, "--about foo=Me: fields are submitter_name"),
    ],
    ids=lambda value: " ".join(value) if isinstance(value, list) else "",
)  # fmt: skip
def test_what_can_not_be_is_one_clear_line(study, words, code, said):
    """No number of an error and no traceback: the path or the option, and what is wrong."""
    done = CliRunner().invoke(main, words)
    assert (done.exit_code, said in " ".join(done.output.split())) == (code, True), done.output
    assert "Errno" not in done.output
    assert len(done.output.strip().splitlines()[-1:]) == 1
    assert not Path("nodir").exists()
    assert not study.has("judgments")


def test_a_bundle_names_all_that_it_lacks(study):
    """One run tells every field that has to be given."""
    done = CliRunner().invoke(main, [*EXPORT, "e.json", "--as", "bundle"])
    assert done.exit_code == 1
    assert all(f"{name}: m" in done.output for name in ABOUT)  # missing, or must be true
    assert [path.name for path in Path().glob("*e.json*")] == []
