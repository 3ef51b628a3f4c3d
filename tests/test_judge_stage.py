"""The judging stage writes every verdict a study needs, once, and accounts for each."""

from datetime import date

import pytest
from studies import tiny_study

from sourcebench.judge import JudgingStopped, judge_study, make_judge
from sourcebench.judge.outcomes import verdict_outcomes
from sourcebench.records import Verdict
from sourcebench.rubric import GROUPS
from sourcebench.study import StudyError


class Threes:
    """Gives every metric a 3, and counts how often it was asked."""

    name = "threes"
    concurrency = 1

    def __init__(self, wording="w1", fail_after=None):
        self.asked, self.wording, self.fail_after = [], wording, fail_after

    def prompt_hash(self, group):
        return self.wording

    def judge(self, group, query, packet):
        if self.fail_after is not None and len(self.asked) >= self.fail_after:
            raise JudgingStopped("no more money")
        self.asked.append((group, query.query_id if query else "", packet.page_id))
        return [Verdict(code, 3) for code in GROUPS[group]]


def test_each_pair_and_each_page_is_judged_once(tmp_path):
    """Content is judged per query and page, the other groups once a page, pages without text never."""
    study, judge = tiny_study(tmp_path), Threes()
    frame = judge_study(study, judges=[judge])
    assert len(judge.asked) == 3 + 2 * 2
    assert len(frame) == 3 * 3 + 2 * 5
    assert frame["query_id"].isna().sum() == 2 * 5
    assert set(frame["score"]) == {3}


def test_a_second_run_asks_nothing(tmp_path):
    """Verdicts that hold are not asked for again, and the table stays byte for byte the same."""
    study = tiny_study(tmp_path)
    judge_study(study, judges=[Threes()])
    before, again = study.path("judgments").read_bytes(), Threes()
    judge_study(study, judges=[again])
    assert again.asked == []
    assert study.path("judgments").read_bytes() == before


def test_other_wording_is_judged_anew(tmp_path):
    """A verdict under another prompt hash does not hold any more."""
    study, again = tiny_study(tmp_path), Threes("w2")
    judge_study(study, judges=[Threes("w1")])
    frame = judge_study(study, judges=[again])
    assert len(again.asked) == 7
    assert set(frame["prompt_hash"]) == {"w2"}


def test_what_was_judged_before_a_stop_is_kept(tmp_path):
    """A judge that stops loses nothing it said, and the next run goes on from there."""
    study = tiny_study(tmp_path)
    with pytest.raises(JudgingStopped, match=r"no more money \(2 of 7 calls done and kept"):
        judge_study(study, judges=[Threes(fail_after=2)])
    assert study.load("judgments")["outcome"].value_counts().to_dict() == {
        "scored": 6,
        "not_asked": 13,
    }
    again = Threes()
    judge_study(study, judges=[again])
    assert len(again.asked) == 5


@pytest.mark.parametrize("threads", [1, 4])
def test_threads_do_not_change_the_table(tmp_path, threads):
    """The table is the same however many threads judged."""
    study, judge = tiny_study(tmp_path), Threes()
    judge.concurrency = threads
    judge_study(study, judges=[judge])
    assert len(study.load("judgments")) == 19


def test_a_metric_that_is_passed_over_is_a_row(tmp_path):
    """A judge that leaves a metric out yields a row that says so."""

    class Lazy(Threes):
        def judge(self, group, query, packet):
            return super().judge(group, query, packet)[1:]

    frame = judge_study(tiny_study(tmp_path), judges=[Lazy()])
    left_out = frame[frame["metric"] == "CR"]
    assert list(left_out["outcome"]) == ["no_verdict"] * 3
    assert left_out["score"].isna().all()


def test_an_unknown_judge_is_named(tmp_path):
    """A judge that study.toml does not describe is one clear error."""
    study = tiny_study(tmp_path)
    with pytest.raises(StudyError, match=r"no \[judges.nobody\]; judges are rules"):
        make_judge(study, "nobody")
    assert study.settings.as_of == date(2026, 6, 1)


def test_outcomes_are_counted_by_system_and_topic(tmp_path):
    """Every verdict that the sources call for is in the table, also the ones that are not there."""

    class Shy(Threes):
        def judge(self, group, query, packet):
            refused = [Verdict(code, None, "no", "refused") for code in GROUPS[group]]
            return (
                refused if query and query.query_id == "q1" else super().judge(group, query, packet)
            )

    study = tiny_study(tmp_path)
    judge_study(study, judges=[Shy()])
    (row,) = verdict_outcomes(study, "threes").to_dict(orient="records")
    assert row == {
        **{"system": "s", "category": "factual", "verdicts": 4 * 8},
        **{"scored": 3 * 5 + 3, "refused": 2 * 3, "not_judged": 8},
    }
