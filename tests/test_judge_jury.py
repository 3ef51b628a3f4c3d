"""Several judges stay apart; their median, noise and drift can be read from the table."""

import json

import pandas as pd
import pytest
from fakejudge import FakeJudge, answer, verdict_on
from studies import tiny_study

from sourcebench.judge import judge_study, make_judge
from sourcebench.judge.jury import add_jury, anchor_pages
from sourcebench.sections.judges import between_table, noise_table

KEYS = ["judge", "query_id", "page_id", "metric", "score", "outcome"]


def table(*rows):
    """Return judgments of (judge, page, metric, score); no score is a refusal."""
    made = [
        (judge, None, page, metric, score, "scored" if score else "refused")
        for judge, page, metric, score in rows
    ]
    return pd.DataFrame(made, columns=KEYS).assign(prompt_hash="h")


@pytest.mark.parametrize(
    ("scores", "score", "outcome", "flags"),
    [
        ((4, 4, 5), 4, "scored", None),
        ((1, 4, 5), 4, "scored", "split"),
        ((3, 4, None), 3, "scored", None),
        ((2, 4, None), 2, "scored", "split"),
        ((4, None, None), None, "no_verdict", None),
        ((None, None, None), None, "no_verdict", None),
    ],
)
def test_a_jury_takes_the_median(tmp_path, scores, score, outcome, flags):
    """Odd votes give the middle one, even ones the lower middle, one vote none; wide ones are marked."""
    study = tiny_study(tmp_path)
    study.save("judgments", table(*[(f"j{i}", "p", "LC", s) for i, s in enumerate(scores)]))
    for _ in range(2):
        (row,) = add_jury(study, ["j0", "j1", "j2"]).astype(object).to_dict(orient="records")
    found = tuple(
        None if pd.isna(row[name]) else row[name] for name in ("score", "outcome", "flags")
    )
    assert found == (score, outcome, flags)
    assert len(study.load("judgments")) == 4


def test_a_jury_of_one_is_refused(tmp_path):
    """One judge is no jury, and a judge without verdicts is named."""
    study = tiny_study(tmp_path)
    study.save("judgments", table(("a", "p", "LC", 3)))
    with pytest.raises(ValueError, match="two judges or more"):
        add_jury(study, ["a", "a"])
    with pytest.raises(ValueError, match="no verdicts of judge 'b'"):
        add_jury(study, ["a", "b"])


def test_a_jury_judges_a_study(tmp_path):
    """A jury in study.toml has its members judge, then gives their median; it can't name itself."""
    from sourcebench.study import Study, StudyError

    with FakeJudge() as one, FakeJudge(_five) as other:
        settings = one.settings().replace('judge = "fake"', 'judge = "panel"')
        second = other.settings().partition("[judges.fake]")[2]
        panel = '[judges.panel]\ntype = "jury"\nof = ["fake", "other", "rules"]\n'
        study = tiny_study(tmp_path, f"{settings}[judges.other]{second}{panel}")
        table = judge_study(study)
        asked = len(one.requests), len(other.requests)
        assert judge_study(study).equals(table)
        assert (len(one.requests), len(other.requests)) == asked
    assert set(table["judge"]) == {"fake", "other", "rules", "panel"}
    wide = table.pivot(index=["query_id", "page_id", "metric"], columns="judge", values="score")
    complete = wide.dropna().astype(float)
    members = complete[["fake", "other", "rules"]]
    assert len(complete) > 0
    assert study.settings.verifier == "fake"
    assert complete["panel"].tolist() == members.median(axis=1).tolist()
    text = (tmp_path / "study.toml").read_text(encoding="utf-8")
    for wrong in ('"fake", "rules", "panel"', '"fake", "rules", "nobody"', '"fake", "other"'):
        changed = text.replace('"fake", "other", "rules"', wrong)
        (tmp_path / "study.toml").write_text(changed, encoding="utf-8")
        with pytest.raises(StudyError, match=r"\[judges\.panel\]"):
            judge_study(Study(tmp_path))


def _five(body, n):
    """Give a five on everything."""
    verdict = {code: {"reason": "Five.", "score": 5} for code in verdict_on(body)}
    return answer(json.dumps(verdict), body=body, model="judge-2")


def test_distance_of_a_judge_from_itself_by_hand(tmp_path):
    """Of four pages two move, by 1 and by -2: half are equal, 0.75 points apart, shift -0.25."""
    study = tiny_study(tmp_path, 'judge = "a"\n[judges.a]\ntype = "rules"\n')
    pairs = {"p1": (3, 3), "p2": (3, 4), "p3": (5, 3), "p4": (2, 2), "p5": (4, None)}
    names = ("a", "a/2")
    rows = [(j, p, "LC", s) for p, two in pairs.items() for j, s in zip(names, two, strict=True)]
    study.save("judgments", table(*rows))
    found = noise_table(study).data.set_index("metric").loc["LC"]
    assert (found["items"], found["verdicts"]) == (4, 5)
    assert (found["equal"], found["mae"], found["shift"]) == (0.5, 0.75, -0.25)
    turned = [(names[1 - names.index(j)], *rest) for j, *rest in rows]
    study.save("judgments", table(*turned))
    mirror = noise_table(study).data.set_index("metric").loc["LC"]
    ends = (-mirror["shift_high"], -mirror["shift_low"])
    assert (found["shift_low"], found["shift_high"]) == pytest.approx(ends)
    assert found["shift_low"] < -0.25 < found["shift_high"]


def test_two_judges_are_set_side_by_side(tmp_path):
    """Every pair of judges has a row a metric: who is higher, and how often they agree."""
    study = tiny_study(tmp_path, 'judge = "a"\n[judges.a]\ntype = "rules"\n')
    rows = [(j, f"p{i}", "FR", s) for i in range(4) for j, s in (("a", 2), ("b", 3), ("a/2", 5))]
    study.save("judgments", table(*rows))
    data = between_table(study).data
    assert set(zip(data["first"], data["second"], strict=True)) == {("a", "b")}
    found = data.set_index("metric").loc["FR"]
    assert (found["items"], found["mae"], found["shift"], found["equal"]) == (4, 1, 1, 0)


def test_anchors_are_judged_in_every_run(tmp_path):
    """The same pages are asked for again under a name of their own, also when the model changed."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings())
        judge_study(study)
        pages = anchor_pages(study, 1)
        frame = judge_study(study, judges=["fake/2026-07"], pages=pages)
        assert anchor_pages(study, 1) == pages
    drift = noise_table(study).data.set_index("metric")
    assert set(frame.loc[frame["judge"] == "fake/2026-07", "page_id"]) == set(pages)
    assert drift.loc["LC", "items"] == 1
    assert drift.loc["LC", "shift"] == 0


def test_judges_can_be_given_as_objects(tmp_path):
    """A language model made beforehand judges like one that is named, and once."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings())
        judge = make_judge(study, "fake")
        table = judge_study(study, judges=[judge, judge])
        assert max(server.served.values()) == 1
    assert set(table["judge"]) == {"fake"}
