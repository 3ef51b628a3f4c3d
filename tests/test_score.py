"""Judgments become source scores; nothing is dropped or filled in."""

import pytest

from sourcebench.rubric import CODES, QUERY_LEVEL
from sourcebench.score import load_sources, score_study
from sourcebench.study import Study
from sourcebench.urls import page_id

GOOD, DEAD, WALL, CUT, BARE = (f"https://site.example/{name}" for name in "gdwcb")


def verdicts(url: str, *, without: str = "", outcome: str = "no_verdict") -> list[dict]:
    """Return fives for every metric of a page, but for one metric that has no score."""
    return [
        {
            "judge": "rules",
            "prompt_hash": "h",
            "query_id": "q1" if code in QUERY_LEVEL else None,
            "page_id": page_id(url),
            "metric": code,
            "score": None if code == without else 5,
            "outcome": outcome if code == without else "scored",
        }
        for code in CODES
    ]


@pytest.fixture
def study(tmp_path):
    """Return a study in which every way to lose a source occurs once."""
    (tmp_path / "study.toml").write_text(
        'title = "T"\nkind = "synthetic"\nlicence = "CC0-1.0"\nas_of = 2026-06-01\n', "utf-8"
    )
    study = Study(tmp_path)
    study.save("queries", [{"query_id": "q1", "text": "?", "category": "social"}])
    urls = (GOOD, DEAD, WALL, CUT, BARE)
    study.save(
        "citations",
        [
            {"system": "a", "query_id": "q1", "run": 1, "rank": i, "url": url}
            for i, url in enumerate(urls, start=1)
        ],
    )
    outcomes = {DEAD: ("gone", "404")}
    study.save(
        "fetches",
        [
            {
                "page_id": page_id(u),
                "url": u,
                "outcome": outcomes.get(u, ("ok", None))[0],
                "reason": outcomes.get(u, ("ok", None))[1],
            }
            for u in urls
        ],
    )
    study.save(
        "pages",
        [
            {"page_id": page_id(GOOD), "url": GOOD, "outcome": "ok"},
            {"page_id": page_id(DEAD), "url": DEAD, "outcome": "not_fetched"},
            {"page_id": page_id(WALL), "url": WALL, "outcome": "interstitial", "reason": "consent"},
            {"page_id": page_id(CUT), "url": CUT, "outcome": "partial", "reason": "paywall"},
            {"page_id": page_id(BARE), "url": BARE, "outcome": "ok"},
        ],
    )
    study.save("judgments", verdicts(GOOD) + verdicts(CUT, without="NE"))
    return study


def test_every_selected_source_keeps_its_row(study):
    """Dead, walled, half-judged and unjudged sources stay, each with its outcome and reason."""
    score_study(study)
    sources = load_sources(study).set_index("page_id")
    said = {
        url: tuple(sources.loc[page_id(url), ["outcome", "reason"]]) for url in (DEAD, WALL, CUT)
    }
    assert len(sources) == 5
    assert said == {
        DEAD: ("gone", "404"),
        WALL: ("interstitial", "consent"),
        CUT: ("partly_scored", "NE no_verdict"),
    }
    assert sources.loc[page_id(BARE), "outcome"] == "not_judged"
    assert sources.loc[page_id(GOOD), "outcome"] == "scored"


def test_missing_metric_means_no_weighted_score(study):
    """Five on seven metrics and none on the eighth is not a score of any size."""
    score_study(study)
    sources = load_sources(study).set_index("page_id")
    assert sources.loc[page_id(GOOD), "weighted"] == 100
    assert sources["weighted"].notna().sum() == 1
    assert sources.loc[page_id(CUT), "CR"] == 5


def test_a_score_without_a_verdict_is_not_used(study):
    """A number that stands beside a failed outcome is not a score."""
    rows = verdicts(GOOD)
    rows[0] |= {"outcome": "echoed"}
    study.save("judgments", rows)
    score_study(study)
    assert load_sources(study).set_index("page_id").loc[page_id(GOOD), "CR"] != 5


def test_unknown_judge_is_named(study):
    """Asking for scores of a judge that gave none says so and what to do."""
    score_study(study)
    with pytest.raises(ValueError, match="no scores of judge 'qwen'"):
        load_sources(study, "qwen")


def test_judges_stay_apart(study):
    """Two judges give two rows a source, never a mixture."""
    other = [row | {"judge": "second", "score": 1} for row in verdicts(GOOD)]
    study.save("judgments", verdicts(GOOD) + other)
    score_study(study)
    for judge, weighted in (("rules", 100), ("second", 20)):
        sources = load_sources(study, judge).set_index("page_id")
        assert sources.loc[page_id(GOOD), "weighted"] == weighted
