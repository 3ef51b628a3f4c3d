"""ExpertQA becomes a study in which what is missing, not applicable and unlabelled stay apart."""

import json

import pytest

from sourcebench.study import StudyError
from sourcebench.support import load_support, verify_study
from sourcebench.support.checking import labelled
from sourcebench.support.expertqa import import_expertqa, read_expertqa


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
    verify_study(study)
    support = load_support(study)
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
