"""What somebody does on the first day, command by command, with one endpoint of their own."""

import csv
import json
import re
from pathlib import Path

import fakejudge
import pytest
from click.testing import CliRunner
from provider import Asked, Said, serving

from sourcebench.cli import main
from sourcebench.engines.chat import PROMPT
from sourcebench.study import Study

ROOT = Path(__file__).resolve().parents[1]
SAMPLE = ROOT / "data" / "sample"
QUERIES = "text,category\nWhich cast-iron pan?,shopping\nDoes soap harm it?,factual\nWhy rinse?,reasoning\n"


def sample_pages(count: int) -> list[str]:
    """Return addresses of pages that the sample's archive holds."""
    with (SAMPLE / "fetches.csv").open(encoding="utf-8", newline="") as file:
        rows = [row for row in csv.DictReader(file) if row["media_type"] == "text/html"]
    return [row["url"] for row in rows if row["url"] == row["final_url"]][:count]


def answers_and_judges(asked: Asked) -> Said:
    """Answer as a chat model that cites in its text, and as a judge."""
    body = asked.json
    if body["messages"][0]["content"] == PROMPT:
        a, b, c = sample_pages(3)
        text = f"It does no harm, says [a page]({a}). Others agree [1], or see {b}.\n\nSources:\n[1] Another - {c}\n"
        reply = fakejudge.answer(text, model="tiny")
    else:
        try:
            reply = fakejudge.answer(json.dumps(fakejudge.verdict_on(body)))
        except (IndexError, TypeError, StopIteration):
            reply = fakejudge.answer("{}")
    return Said(json.dumps(reply).encode())


@pytest.fixture
def run(tmp_path, monkeypatch):
    """Return what runs a command in an empty folder, and gives what it says."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("PYTHONPATH", str(ROOT))  # for kernels, where the package is not installed
    (tmp_path / "q.csv").write_text(QUERIES, encoding="utf-8")

    def command(*words: str) -> str:
        done = CliRunner().invoke(main, list(map(str, words)), catch_exceptions=False)
        assert done.exit_code == 0, done.output
        return done.stdout

    return command


def test_five_commands_lead_to_a_row_of_the_leaderboard(run):
    """From a key-less endpoint to a scored row, with nothing but the commands of the README."""
    with serving(answers_and_judges) as server:
        said = run("new", "mine", "--endpoint", f"{server.url}/v1", "--model", "tiny", "--queries", "q.csv", "--judge-model", "grader")  # fmt: skip
        assert said == "next: sourcebench collect mine --dry-run\n"
        assert "tiny: 3 to ask, 0 there, cost unknown, at http://127" in run("collect", "mine", "--dry-run")  # fmt: skip
        assert run("collect", "mine") == "tiny: 3 ok\n"
        said = run("fetch", "mine", "--pages", SAMPLE / "snapshots.warc.gz")
        assert said.startswith("3 pages taken from")
        assert said.splitlines()[0].endswith("0 of 3 cited are missing")
        assert said.splitlines()[1] == "next: sourcebench extract mine, or make paper STUDY=mine"
        left = "3 of 3 fetched pages are not read: run sourcebench extract mine"
        for stage in ("judge", "verify"):
            done = CliRunner().invoke(main, [stage, "mine"])
            assert (done.exit_code, left in done.output) == (1, True)
            assert left in run(stage, "mine", "--dry-run")
        run("paper", "mine", ROOT / "notebooks" / "04-leaderboard.ipynb")
        assert all("authorization" not in asked.headers for asked in server.asked[:3])
    study = Study("mine")
    assert study.settings.judge == "grader"
    scores = study.load("scores")
    assert (len(scores), scores["weighted"].notna().sum()) == (9, 9)
    with Path("figures/mine/table-04-leaderboard.csv").open(encoding="utf-8", newline="") as file:
        rows = {row["column"]: row for row in csv.DictReader(file) if row["system"] == "tiny"}
    assert float(rows["weighted"]["value"]) == pytest.approx(scores["weighted"].mean())
    assert rows["weighted"]["n"] == "9"


@pytest.mark.parametrize(
    ("words", "said"),
    [
        (("--model", "m"), "--model without --endpoint"),
        (("--endpoint", "http://localhost/v1"), "--endpoint without --model"),
        (("--endpoint", "localhost:11434", "--model", "m"), "base_url must be an http"),
        (("--judge-model", "m"), "--judge-model without --endpoint or --judge-endpoint"),
        (("--endpoint", "http://far.example/v1", "--model", "m", "--key", "MY_API_KEY"), "a key is only sent over https"),
        (("--endpoint", "http://localhost/v1", "--model", "m", "--key", "HOME"), "ends in _API_KEY"),
    ],
)  # fmt: skip
def test_an_endpoint_that_can_not_be_asked_is_refused(tmp_path, monkeypatch, words, said):
    """What is wrong is said before a folder is made."""
    monkeypatch.chdir(tmp_path)
    done = CliRunner().invoke(main, ["new", "mine", *words])
    assert done.exit_code == 1
    assert said in done.output
    assert not Path("mine").exists()


def test_answers_go_out_with_their_raw_replies_and_come_back(run):
    """What was collected is exported in the public forms, and imported elsewhere it is the same."""
    with serving(answers_and_judges) as server:
        run("new", "mine", "--endpoint", server.url, "--model", "tiny", "--queries", "q.csv")
        run("collect", "mine")
    assert run("export", "mine", "--system", "tiny", "--out", "c.json") == "wrote c.json\n"
    raw = json.loads(Path("c.json").read_text(encoding="utf-8"))[0]["runs"][0]["raw_response"]
    assert json.loads(raw)["model"] == "tiny"
    run("new", "other", "--template", "own", "--queries", "q.csv")
    run("import", "c.json", "--study", "other")
    for name in ("answers", "citations"):
        mine, theirs = (Study(s).load(name).drop(columns="asked_at", errors="ignore") for s in ("mine", "other"))  # fmt: skip
        assert mine.astype(str).values.tolist() == theirs.astype(str).values.tolist()
    about = ["submitter_name=A", "contact_email=a@b.example", "web_search_mode=other", "agrees_to_reproducibility_policy=true"]  # fmt: skip
    flags = [word for field in about for word in ("--about", field)]
    run("export", "mine", "--system", "tiny", "--as", "bundle", "--out", "b.json", *flags)
    assert run("submission", "b.json").endswith("valid\n")


def test_pages_that_fit_nothing_are_said(run, tmp_path):
    """A folder without a cited page is one clear error."""
    (tmp_path / "pages").mkdir()
    with serving(answers_and_judges) as server:
        run("new", "mine", "--endpoint", server.url, "--model", "tiny", "--queries", "q.csv")
        run("collect", "mine")
    done = CliRunner().invoke(main, ["fetch", "mine", "--pages", "pages"])
    assert done.exit_code == 1
    assert "nothing here fits a cited page" in done.output


def test_an_import_without_a_study_says_how_to_make_one(tmp_path, monkeypatch):
    """The command that makes an empty study is in the error, and works."""
    monkeypatch.chdir(tmp_path)
    row = {"id": 1, "engine": "b", "question": "Q?", "answer": "The fare rose14.", "search_results": [{"url": f"https://a.example/{n}"} for n in range(4)]}  # fmt: skip
    Path("a.jsonl").write_text(json.dumps(row), encoding="utf-8")
    words = ["import", "a.jsonl", "--study", "x", "--add-queries", "--category", "general"]
    done = CliRunner().invoke(main, words)
    assert done.exit_code == 1
    command = done.output.strip().rpartition("sourcebench ")[2]
    assert CliRunner().invoke(main, command.split()).exit_code == 0
    assert "digits after words may be markers" in CliRunner().invoke(main, words).stdout
    assert CliRunner().invoke(main, [*words, "--replace", "--glued-markers"]).exit_code == 0
    assert set(Study("x").load("citations")["cited_text"].dropna()) == {"14"}


def test_a_raw_reply_of_no_known_shape_needs_its_engine(run):
    """The error names the flag, the flag reads the reply, and a wrong name is told."""
    run("new", "x", "--template", "own", "--queries", "q.csv")
    Path("mine").mkdir()
    Path("mine/q001.json").write_text('{"detail": "Unauthorized"}', encoding="utf-8")
    words = ["import", "mine", "--study", "x"]
    assert "--engine" in CliRunner().invoke(main, words).output
    assert "engines are openai" in CliRunner().invoke(main, [*words, "--engine", "bing"]).output
    assert run(*words, "--engine", "tavily").startswith("mine: 1 answers, 0 citations; 0 answers without a source, 0 empty, 1 failed")  # fmt: skip


def test_failures_have_their_reason_and_end_with_an_error(run, tmp_path):
    """An endpoint that answers nothing, and pages that never come, are said with what to look at."""
    with serving(answers_and_judges) as server:
        run("new", "mine", "--endpoint", server.url, "--model", "tiny", "--queries", "q.csv")
    settings = tmp_path / "mine" / "study.toml"  # now nobody listens there
    settings.write_text(settings.read_text("utf-8").replace("runs = 1", "runs = 1\nretries = 0"), "utf-8")  # fmt: skip
    done = CliRunner().invoke(main, ["collect", "mine"])
    assert done.exit_code == 1
    assert re.search(r"tiny: 3 failed \(.*could not connect.*\)", done.output), done.output
    assert "no answer came back from tiny" in done.output
    assert "3 x answers: " in run("status", "mine")
    assert "no answer cites a page yet: run" in CliRunner().invoke(main, ["judge", "mine"]).output
    said = run("run", "mine")
    assert "collect: 3 failed; no answer came back: see `sourcebench status mine`" in said
