"""Verifiers are held against labels, against each other, and corrected; sources stand beside support."""

import numpy as np
import pandas as pd
import pytest
from supportstudy import Told, page, support_study

from sourcebench.support import load_support, verify_study
from sourcebench.support.checking import (
    address_ceiling,
    balanced_accuracy,
    binary,
    cohen_kappa,
    confusion_of,
    corrected_by_a_sample,
    corrected_support,
    labelled,
    support_agreement,
    support_by_labels,
    verifier_pairs,
)
from sourcebench.support.measures import statement_values
from sourcebench.support.quality import kind_shares, support_and_quality

ONE = "The river fell by eleven centimetres."
TWO = "The old mill was closed in spring."
THREE = "The bridge is open again since May."
FOUR = "The ferry runs twice a day now."


@pytest.fixture(scope="module")
def study(tmp_path_factory):
    """Return a study of four statements; a backs the first, b the second, the dead d the third."""
    answers = {"q1": f"{ONE} {{a}} {TWO} {{b}}", "q2": f"{THREE} {{d}} {FOUR}"}
    made = support_study(
        tmp_path_factory.mktemp("s"), answers, {"a": "Page a.", "b": "Page b."}, dead="d"
    )
    verify_study(made, verifiers=[Told({(ONE, page("a"))})])
    return made


def label(statement, verdict, query="q1", where=None, who="reader"):
    """Return one label."""
    return {
        "annotator": who, "system": "s", "query_id": query, "run": 1, "statement": statement,
        "page_id": where, "verdict": verdict, "reliability": None, "reason": None,
    }  # fmt: skip


LABELS = pd.DataFrame(
    [
        label(ONE, "supported"),
        label(TWO, "supported", where=page("b")),
        label(THREE, "not_applicable", "q2"),
        label(FOUR, "no_source", "q2"),
        label("Never said.", "supported"),
    ]
).astype({"run": "Int64"})


def test_labels_meet_verdicts(study):
    """A label of a page meets that pair, one without a page the statement at its citations."""
    pairs = labelled(load_support(study, "told"), LABELS)
    found = dict(zip(pairs["human"] + pairs["page_id"].notna().map({True: " pair", False: ""}), pairs["verdict"], strict=True))  # fmt: skip
    assert found["supported pair"] == "not_supported"
    assert found["not_applicable"] == "unreachable"
    assert found["no_source"] == "uncited"
    agreement = support_agreement(pairs)
    assert (agreement.n, agreement.expected, agreement.agreement.value) == (2, 5, 0.5)
    assert "no statement" in confusion_of(pairs).index


def test_no_source_and_not_applicable_are_no_verdicts():
    """Only verdicts on a source are 0 or 1; partly is not full support."""
    said = pd.Series(["supported", "partly", "contradicted", "cant_tell", "no_source", None])
    assert binary(said).tolist()[:3] == [1, 0, 0]
    assert binary(said).isna().tolist()[3:] == [True] * 3


def test_labels_are_counted_like_verdicts(study):
    """By the labels one statement is supported; the missing source counts, the unopened one only when strict."""
    experts = support_by_labels(load_support(study, "told"), LABELS)
    strict = statement_values(experts, "cited", "strict")["value"]
    assert (strict.sum(), len(strict)) == (1, 3)
    reachable = statement_values(experts, "cited", "reachable")["value"]
    assert reachable.notna().sum() == 1  # nothing of q2 could be opened


def test_agreement_measures_against_hand_counts():
    """Three of four positives found, one of two negatives left: the textbook values."""
    a, b = np.array([1, 1, 1, 0, 0, 1.0]), np.array([1, 1, 1, 1, 0, 0.0])
    assert balanced_accuracy(a, b) == pytest.approx((0.75 + 0.5) / 2)
    assert cohen_kappa(a, b) == pytest.approx((4 / 6 - 5 / 9) / (1 - 5 / 9))
    assert np.isnan(cohen_kappa(np.ones(3), np.ones(3)))
    assert np.isnan(balanced_accuracy(np.ones(3), np.ones(3)))


def test_two_verifiers(study):
    """Each statement and page counts once, and equal verdicts agree."""
    second = Told({(ONE, page("a")), (TWO, page("b"))})
    second.name = "second"
    verify_study(study, verifiers=[second])
    pairs = verifier_pairs(load_support(study, "told"), load_support(study, "second"))
    agreement = support_agreement(pairs)
    assert agreement.n == 4
    assert agreement.agreement.value == 0.75


def test_labels_correct_a_biased_verifier():
    """A verifier that sees half of the support is set right by labels of a third of the questions."""
    rng = np.random.default_rng(3)
    frame = pd.DataFrame({"system": "s", "query_id": np.repeat(np.arange(300), 4)})
    truth = rng.random(1200) < 0.8
    frame["judge"] = (truth & (rng.random(1200) < 0.5)).astype(float)
    frame["label"] = np.where(frame["query_id"] % 3 == 0, truth.astype(float), np.nan)
    other = frame.assign(system="t")
    table = corrected_support(pd.concat([frame, other])).set_index("system")
    row = table.loc["s"]
    assert row["verifier"] == pytest.approx(0.4, abs=0.05)
    assert row["low"] < truth.mean() < row["high"]
    assert row["rg_low"] < truth.mean() < row["rg_high"]


def test_support_beside_source_quality(study):
    """A good source that backs, a poor one that does not, an unread page, and no citation: one each."""
    sources = pd.DataFrame(
        {
            "system": "s",
            "query_id": ["q1", "q1"],
            "page_id": [page("a"), page("b")],
            "weighted": [80.0, 50.0],
        }
    )
    rows = support_and_quality(load_support(study, "told"), sources)
    assert sorted(rows["kind"]) == ["good_backed", "poor_unbacked", "uncited", "unseen"]
    shares = kind_shares(rows, study.load("queries"), ["s"])
    assert shares["value"].sum() == pytest.approx(1)
    assert shares.set_index("column").loc["good_backed", "value"] == 0.25
    higher = support_and_quality(load_support(study, "told"), sources, good=90)
    assert "poor_backed" in set(higher["kind"])


def test_a_sample_of_labels_stands_in_for_all():
    """Corrected by a third of the labels, shares come near those of all; the plain verifier's do not."""
    rng = np.random.default_rng(5)
    frame = pd.DataFrame({"query_id": np.repeat(np.arange(150), 4), "system": "s"})
    frame = pd.concat([frame, frame.assign(system="t")])
    truth = rng.random(len(frame)) < 0.7
    frame["label"] = truth.astype(float)
    frame["judge"] = (truth & (rng.random(len(frame)) < 0.6)).astype(float)
    table = corrected_by_a_sample(frame, draws=10, rng=np.random.default_rng(1))
    assert table["truth"].tolist() == frame.groupby("system")["label"].mean().tolist()
    assert (table["ppi_error"] < (table["verifier"] - table["truth"]).abs() / 3).all()
    assert (table["rg_inside"] > 0.7).all()
    assert corrected_by_a_sample(frame.iloc[:0], rng=rng).empty


def test_the_ceiling_of_one_address():
    """Page a is rated twice alike and once otherwise, b twice otherwise, c once: 3 of 5 at best."""
    said = [("a", "reliable"), ("a", "reliable"), ("a", "not_reliable"), ("b", "reliable"), ("b", "not_reliable"), ("c", "reliable")]  # fmt: skip
    ceiling = address_ceiling(pd.DataFrame(said, columns=["page_id", "reliability"]))
    assert ceiling == (2, 5, 2, 0.6)
    assert (
        address_ceiling(pd.DataFrame(said[-1:], columns=["page_id", "reliability"])).addresses == 0
    )
