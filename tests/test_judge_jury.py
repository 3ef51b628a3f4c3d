"""Several judges stay apart; their median, noise and drift can be read from the table."""

import math

import pandas as pd
import pytest
from fakejudge import FakeJudge
from studies import tiny_study

from sourcebench.judge import judge_study
from sourcebench.judge.jury import add_jury, anchor_pages, compare_judges

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


def test_noise_by_hand():
    """Of four pages two move, by 1 and by -2: half moved, 0.75 points, shift -0.25."""
    scores = {"p1": (3, 3), "p2": (3, 4), "p3": (5, 3), "p4": (2, 2), "p5": (4, None)}
    rows = [
        (j, p, "LC", s)
        for p, pair in scores.items()
        for j, s in zip(("a", "a/2"), pair, strict=True)
    ]
    found = compare_judges(table(*rows), "a", "a/2").set_index("metric").loc["LC"]
    assert (found["n"], found["unpaired"]) == (4, 1)
    assert (found["moved"], found["mean_abs"], found["shift"]) == (0.5, 0.75, -0.25)
    half = 3.182446 * pd.Series([0, 1, -2, 0]).std() / 2
    assert found["low"] == pytest.approx(-0.25 - half)
    assert found["high"] == pytest.approx(-0.25 + half)
    empty = compare_judges(table(*rows), "a", "a/2").set_index("metric").loc["CR"]
    assert empty["n"] == 0
    assert math.isnan(empty["shift"])


def test_anchors_are_judged_in_every_run(tmp_path):
    """The same pages are asked for again under a name of their own, also when the model changed."""
    with FakeJudge() as server:
        study = tiny_study(tmp_path, server.settings())
        judge_study(study)
        pages = anchor_pages(study, 1)
        frame = judge_study(study, judges=["fake/2026-07"], pages=pages)
        assert anchor_pages(study, 1) == pages
    drift = compare_judges(frame, "fake", "fake/2026-07").set_index("metric")
    assert set(frame.loc[frame["judge"] == "fake/2026-07", "page_id"]) == set(pages)
    assert drift.loc["LC", "n"] == 1
    assert drift.loc["LC", "shift"] == 0
