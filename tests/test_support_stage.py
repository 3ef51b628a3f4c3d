"""Each text and page is verified once and kept; whatever goes wrong is a row."""

import pytest
from supportstudy import Told, page, support_study

from sourcebench.judge.endpoint import JudgingStopped
from sourcebench.records import Check
from sourcebench.study import StudyError
from sourcebench.support import load_support, make_verifier, verify_study
from sourcebench.support.stage import plan_verifying

ONE = "The river fell by eleven centimetres."
TWO = "The old mill was closed in spring."
PAGES = {"a": "A page about rivers.", "b": "A page about mills."}


def test_a_text_is_verified_against_a_page_once(tmp_path):
    """Two responses that say the same of the same page bring one question; both get its verdict."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}}", "q2": f"{ONE} {{a}} {TWO} {{b}}"}, PAGES)
    told = Told({(ONE, page("a"))})
    verify_study(study, verifiers=[told])
    assert len(told.asked) == len(set(told.asked)) == 4
    statuses = load_support(study, "told").statements
    assert statuses.loc[statuses["text"] == ONE, "cited"].tolist() == ["supported"] * 2


def test_a_second_run_asks_nothing(tmp_path):
    """Verdicts that hold are kept, byte for byte; under other rules all are asked for anew."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}} {TWO} {{b}}"}, PAGES)
    verify_study(study, verifiers=[Told()])
    before, again, other = study.path("support").read_bytes(), Told(), Told(version="v2")
    verify_study(study, verifiers=[again])
    assert (again.asked, study.path("support").read_bytes()) == ([], before)
    verify_study(study, verifiers=[other])
    assert len(other.asked) == 4


def test_only_cited_pages_where_asked(tmp_path):
    """The narrow scope verifies a statement against its own pages only."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}} {TWO} {{b}}"}, PAGES)
    told = Told()
    verify_study(study, verifiers=[told], scope="cited")
    assert sorted(told.asked) == sorted([(ONE, page("a")), (TWO, page("b"))])


def test_a_dead_page_is_a_row_with_its_reason(tmp_path):
    """A page that could not be fetched is not asked about, and says why."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{d}}"}, {}, dead="d")
    row = verify_study(study, verifiers=[Told()]).iloc[0]
    assert (row["outcome"], row["reason"], row["verdict"] is None) == ("no_page", "gone", False)
    assert row.isna()["verdict"]


def test_what_was_verified_before_a_stop_is_kept(tmp_path):
    """A verifier that stops loses nothing it said; the rest is marked and asked for next time."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}} {{b}}"}, PAGES)

    class Stops(Told):
        def check(self, statements, packet):
            if self.asked:
                raise JudgingStopped("no more money")
            return super().check(statements, packet)

    with pytest.raises(JudgingStopped, match="no more money"):
        verify_study(study, verifiers=[Stops()])
    assert sorted(study.load("support")["outcome"]) == ["checked", "not_asked"]
    again = Told()
    verify_study(study, verifiers=[again])
    assert len(again.asked) == 1


@pytest.mark.parametrize("verdict", ["supported", "contradicted"])
def test_a_quotation_that_is_not_in_the_page_backs_nothing(tmp_path, verdict):
    """Support without its evidence is kept and marked, and does not count."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}}"}, PAGES)

    class Inventive(Told):
        def check(self, statements, packet):
            return [Check(verdict, "never said", False) for _ in statements]

    row = verify_study(study, verifiers=[Inventive()]).iloc[0]
    assert (row["verdict"], row["quote_found"]) == (verdict, "no")
    assert load_support(study, "told").statements["any"].tolist() == ["unresolved"]


def test_every_answer_is_accounted_for(tmp_path):
    """An empty answer and one that states nothing have a row each."""
    study = support_study(tmp_path, {"q1": "", "q2": "Really {a}?"}, PAGES)
    verify_study(study, verifiers=[Told()])
    rows = study.load("statements")
    none = rows[rows["statement_id"] == 0]
    assert none["outcome"].tolist() == ["no_statements"] * 2
    assert none["reason"].iloc[0] == "no answer text: empty"
    assert load_support(study, "told").responses["statements"].tolist() == [0, 0]


def test_a_plan_for_the_offline_verifier(tmp_path):
    """The plan counts statements, pairs and the published calls, and writes nothing."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}} {TWO} {{b}}"}, PAGES)
    plan = plan_verifying(study)
    assert (plan.responses, plan.statements, plan.pairs, plan.published_calls) == (1, 2, 4, 5)
    assert "works offline" in str(plan)
    assert not study.has("statements")


def test_missing_verdicts_and_verifiers_are_clear_errors(tmp_path):
    """One line says what is missing and what to run."""
    study = support_study(tmp_path, {"q1": f"{ONE} {{a}}"}, PAGES)
    with pytest.raises(ValueError, match="no statements yet; run: sourcebench verify"):
        load_support(study)
    verify_study(study, verifiers=[Told()])
    with pytest.raises(ValueError, match="no verdicts of 'rules'"):
        load_support(study)
    with pytest.raises(StudyError, match=r"no \[judges.nobody\]"):
        make_verifier(study, "nobody")


def test_a_study_without_answers_has_nothing_to_support(tmp_path):
    """Every table of the section says so, and the figure is drawn all the same."""
    import matplotlib.pyplot as plt
    import pandas as pd

    import sourcebench as sb
    from sourcebench.study import Study

    head = 'title = "None"\nkind = "live"\nlicence = "MIT"\nas_of = 2026-06-01\n'
    (tmp_path / "study.toml").write_text(head, encoding="utf-8")
    study = Study(tmp_path)
    study.save("queries", [{"query_id": "q", "text": "Why?", "category": "factual"}])
    support, sources = (
        sb.load_support(study),
        pd.DataFrame(columns=["system", "query_id", "page_id", "weighted"]),
    )
    for made in (
        sb.validity_table(study, support),
        sb.support_table(study, support),
        sb.response_table(study, support),
        sb.quality_table(study, support, sources),
    ):
        assert "the study has no answers" in made.note
    figure, drawn = sb.quality_figure(study, support, sources)
    plt.close(figure)
    assert drawn.empty
