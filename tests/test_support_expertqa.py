"""ExpertQA becomes a study in which what is missing, not applicable and unlabelled stay apart."""

import json
import shutil

import pytest
from click.testing import CliRunner

from sourcebench import pinned
from sourcebench.cli import main
from sourcebench.pipeline import run_stages
from sourcebench.score import load_sources
from sourcebench.sections import annotators
from sourcebench.sections import support as section
from sourcebench.study import Study, StudyError
from sourcebench.support import load_support, verify_study
from sourcebench.support.checking import labelled
from sourcebench.support.expertqa import PUBLIC, import_expertqa, is_expertqa, read_expertqa


def claim(text, evidence, support, reliability):
    """Return one claim in ExpertQA's form."""
    return {
        "claim_string": text, "evidence": evidence, "support": support, "reliability": reliability,
        "reason_missing_support": "",
    }  # fmt: skip


PASSAGE = "The river fell by eleven centimetres, the authority says. It had not rained for weeks."
CLAIMS = [
    claim("The river fell by eleven centimetres [1].", [f"[1] https://a.org/x\n\n{PASSAGE}"], "Complete", "Reliable"),
    claim("The mill was closed [2].", ["[2] https://b.org/"], "N/A", "N/A"),
    claim("The bridge is open.", [], "Missing", "Missing"),
    claim("The ferry runs [1].", [f"[1] https://a.org/x\n\n{PASSAGE}"], None, None),
]  # fmt: skip
QUESTION = {
    "question": "What of the river?",
    "metadata": {"field": "Water"},
    "answers": {
        "rr": {
            "answer_string": " ".join(c["claim_string"] for c in CLAIMS),
            "attribution": ["[1] https://a.org/x", "[2] https://b.org/"],
            "claims": CLAIMS,
        }
    },
}


def written(tmp_path, *questions):
    """Write questions to a file."""
    path = tmp_path / "split.jsonl"
    path.write_text("".join(json.dumps(q) + "\n" for q in questions), encoding="utf-8")
    return path


def test_a_study_with_labels(tmp_path):
    """Claims keep their place, pages and words; the page without a passage can't be read."""
    study = import_expertqa(written(tmp_path, QUESTION), tmp_path / "study")
    assert study.validate()["statements"] == 4
    labels = study.load("support_labels")
    assert labels["verdict"].tolist() == ["supported", "not_applicable", "no_source"]
    verify_study(study, verifiers=["rules"])
    support = load_support(study, "rules")
    assert support.statements["cited"].tolist() == ["supported", "unreachable", "uncited", "not_supported"]  # fmt: skip
    pairs = labelled(support, labels)
    assert pairs["label"].tolist()[:1] == pairs["judge"].tolist()[:1] == [1]
    assert pairs["label"].isna().tolist() == [False, True, True]


def test_faults_are_named(tmp_path):
    """A file that is not ExpertQA, and a word it does not use, are one clear error."""
    with pytest.raises(StudyError, match="line 1 is not a question of ExpertQA"):
        read_expertqa(written(tmp_path, {"question": "x"}))
    bad = json.loads(json.dumps(QUESTION))
    bad["answers"]["rr"]["claims"][0]["support"] = "Perhaps"
    with pytest.raises(
        StudyError, match=r"line 2: support must be one of Complete.* found 'Perhaps'"
    ):
        read_expertqa(written(tmp_path, QUESTION, bad))
    with pytest.raises(StudyError, match="no such file"):
        read_expertqa(tmp_path / "none.jsonl")


def test_the_real_split(shared):
    """All 1237 claims of the split are read, and the three kinds of nothing stay apart."""
    answers = read_expertqa(shared / "real-data" / "ExpertQA" / "rand_val.jsonl")
    claims = [c for a in answers for c in a.claims]
    said = [c.support for c in claims]
    assert (len(answers), len(claims)) == (217, 1237)
    assert (said.count("Missing"), said.count("N/A"), said.count(None)) == (216, 49, 3)


def run(*words) -> str:
    """Run a command that must succeed, and return what it says."""
    done = CliRunner().invoke(main, [str(word) for word in words])
    assert done.exit_code == 0, done.output
    return done.output


def test_one_command_imports_a_file(tmp_path):
    """The file is told by its shape; the counts of labels keep Missing, N/A and empty apart."""
    path = written(tmp_path, QUESTION)
    assert is_expertqa(path)
    assert "1 answers of ExpertQA" in run("import", path, "--study", tmp_path / "s", "--check")
    said = run("import", path, "--study", tmp_path / "s")
    assert "4 claims; experts on support: Complete 1, Partial 0, Incomplete 0, Missing 1, N/A 1, empty 1" in said  # fmt: skip
    assert "1 of 2 cited pages have a passage" in said
    assert Study(tmp_path / "s").settings.verifier == "semantic"
    again = CliRunner().invoke(main, ["import", str(path), "--study", str(tmp_path / "s")])
    assert again.exit_code == 1
    assert "holds a study already" in again.output


@pytest.mark.parametrize(
    "text", ["", "{}", "[1]", '{"answers": {}}', '{"answers": []}', "system,query\n"]
)
def test_other_files_are_not_taken_for_it(tmp_path, text):
    """Other lines of JSON, and none at all, go to the usual import."""
    path = tmp_path / "other.jsonl"
    path.write_text(text, encoding="utf-8")
    assert not is_expertqa(path)


def test_the_public_split_is_pulled_by_its_hash(shared, tmp_path, monkeypatch):
    """`import expertqa` downloads the pinned file once; another file under its name is refused."""
    copy = shared / "real-data" / "ExpertQA" / "rand_val.jsonl"
    assert pinned.pinned_file(PUBLIC, local=copy) == copy
    with pytest.raises(StudyError, match="not the pinned file"):
        pinned.pinned_file(PUBLIC, local=written(tmp_path, QUESTION))
    asked = []

    def downloader(url, output, pooch):
        asked.append(url)
        shutil.copy(copy, output)

    monkeypatch.setattr(
        "sourcebench.pinned._downloaded",
        lambda file, cache, given, real=pinned._downloaded: real(file, tmp_path / "c", downloader),
    )
    for name in ("one", "two"):
        said = run("import", "expertqa", "--study", tmp_path / name)
    assert asked == [PUBLIC.url]
    assert "217 questions, 217 answers, 1237 claims" in said
    assert "Missing 216, N/A 49, empty 3" in said


@pytest.fixture(scope="module")
def built(tmp_path_factory):
    """Return the study of one question, all stages run by the offline rules, and its verdicts."""
    folder = tmp_path_factory.mktemp("built")
    study = import_expertqa(written(folder, QUESTION), folder / "study")
    text = (folder / "study" / "study.toml").read_text("utf-8").replace("semantic", "rules")
    (folder / "study" / "study.toml").write_text(text, encoding="utf-8")
    study = Study(folder / "study")
    run_stages(study, say=lambda line: None)
    return study, load_support(study)


def test_a_closed_study_fetches_nothing(built):
    """Where there is a network, pages without a passage stay what they are."""
    assert sorted(built[0].load("fetches")["outcome"]) == ["not_available_offline", "ok"]


def test_passages_are_not_judged_as_pages(built):
    """Content is scored; what passages can't show has no score and a reason, and so no weighted score."""
    row = load_sources(built[0]).query("outcome == 'partly_scored'").iloc[0]
    assert row[["CR", "FA", "NE"]].notna().all()
    assert row[["FR", "OA", "AA", "DA", "LC", "weighted"]].isna().all()
    why = built[0].load("judgments").query("metric == 'LC'")["reason"].item()
    assert why == "only passages of the page are at hand"


def test_tables_of_what_experts_say(built):
    """By hand: one of three counted statements supported, three kinds of nothing, one reliable source."""
    study, support = built
    counts = annotators.label_counts_table(study, support).data.iloc[0]
    assert counts.drop("system").to_dict() == {"supported": 1, "no_source": 1, "not_applicable": 1, "no_label": 1}  # fmt: skip
    shares = annotators.labels_and_verifier_table(study, support).data
    labels = shares[(shares["by"] == "labels") & (shares["share"] == "statements")]
    assert labels.set_index("reading")["value"].round(1).to_dict() == {
        "reachable": 50,
        "strict": 33.3,
    }
    reliable = annotators.reliability_table(study, support)
    assert (reliable.data["reliable"].item(), reliable.data["no_source"].item()) == (1, 1)
    assert "No address was rated more than once" in reliable.note
    metrics = annotators.reliability_metrics_table(study, support, load_sources(study)).data
    assert metrics.set_index("metric")["n"].to_dict() == {
        "CR": 1, "FA": 1, "NE": 1, "FR": 0, "OA": 0, "AA": 0, "DA": 0, "LC": 0,
    }  # fmt: skip
    assert annotators.corrected_sample_table(study, support, draws=2).data["truth"].tolist() == [1]
    assert section.confusion_table(study, support).data["supported"].sum() == 1


def test_studies_without_labels_say_so(built):
    """Where nobody labelled anything, every table ends well and says what is not measured."""
    study, support = built
    bare = Study(study.folder)
    bare.load = lambda name: (
        study.load(name).iloc[:0] if name == "support_labels" else study.load(name)
    )
    tables = [
        annotators.label_counts_table(bare, support),
        annotators.labels_and_verifier_table(bare, support),
        annotators.corrected_sample_table(bare, support),
        annotators.reliability_table(bare, support),
        annotators.reliability_metrics_table(bare, support, load_sources(study)),
    ]
    assert all(table.note.startswith("Not measured: no annotator") for table in tables)
