"""Reconstructions have the printed means exactly, and are marked synthetic."""

import numpy as np
import pandas as pd
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from sourcebench.audit.sprite import (
    fitting_sources,
    reconstruct_scores,
    sprite,
    synthetic_paper_study_scores,
)
from sourcebench.published import printed_table
from sourcebench.rubric import CODES, WEIGHTS

COLUMNS = ["system", "query_id", "category", "page_id", "position", "runs", "outcome", "reason"]


def _rebuilt(table: int, system: str, n: int) -> pd.DataFrame:
    """Reconstruct n sources of a published row over ten queries."""
    means = dict(printed_table(table).loc[system, list(CODES)])
    return reconstruct_scores(means, np.arange(n) % 10, np.random.default_rng(7))


def _weighted(scores: pd.DataFrame) -> float:
    """Return the weighted score of the column means, 0-100."""
    return 100 * float(scores.mean() @ pd.Series(WEIGHTS)) / (5 * sum(WEIGHTS.values()))


def test_round_trip_of_a_published_row():
    """294 whole-number sources give all eight means of GPT-4o to the printed digit."""
    scores = _rebuilt(4, "GPT-4o", 294)
    printed = printed_table(4).loc["GPT-4o", list(CODES)]
    assert [f"{mean:.3f}" for mean in scores.mean()] == list(printed)
    assert _weighted(scores) == pytest.approx(81.5181, abs=5e-5)


@pytest.mark.parametrize(
    ("system", "n", "sums", "weighted"),
    [
        ("DS-Chat-Tavily", 69, [261, 282, 261, 291, 292, 266, 293, 242], 79.0236),
        ("DS-Reasoning-Tavily", 58, [243, 267, 234, 255, 264, 238, 270, 216], 85.6261),
    ],
)
def test_sums_behind_the_deepseek_rows(system, n, sums, weighted):
    """The sums of the scores follow from the means once the number of sources is known."""
    scores = _rebuilt(9, system, n)
    assert list(scores.sum().astype(int)) == sums
    assert _weighted(scores) == pytest.approx(weighted, abs=5e-5)


@settings(max_examples=60, deadline=None)
@given(st.integers(1, 300), st.data())
def test_any_possible_mean_is_rebuilt(n, data):
    """Every sum on the scale, from all ones to all fives, is met exactly."""
    total = data.draw(st.integers(n, 5 * n))
    scores = sprite(f"{total / n:.6f}", n)
    assert (len(scores), scores.sum()) == (n, total)
    assert scores.min() >= 1
    assert scores.max() <= 5


def test_scores_are_as_flat_as_the_mean_allows():
    """A mean of 3 gives equal counts; extremes give one value only."""
    assert list(np.bincount(sprite("3.00", 50), minlength=6)[1:]) == [10] * 5
    assert list(sprite("5.000", 3)) == [5, 5, 5]
    assert list(sprite("1.000", 2)) == [1, 1]


@pytest.mark.parametrize(("mean", "n"), [("4.25", 3), ("5.5", 4), ("0.5", 2)])
def test_an_impossible_mean_is_refused(mean, n):
    """A mean that no scores have is an error that names it."""
    with pytest.raises(ValueError, match=f"no {n} whole numbers from 1 to 5 .* prints as {mean}"):
        sprite(mean, n)


@pytest.fixture(scope="module")
def study() -> pd.DataFrame:
    """Return one synthetic study of the paper's scale."""
    return synthetic_paper_study_scores(20260601)


def test_synthetic_study_returns_the_published_means(study):
    """Each system's metric means print as in Table 4."""
    means = study.groupby("system", sort=False)[list(CODES)].mean()
    printed = printed_table(4)
    for system, row in printed[list(CODES)].iterrows():
        rebuilt = [f"{mean:.3f}" for mean in means.loc[f"{system} (synthetic)"]]
        assert rebuilt == list(row)


def test_synthetic_study_is_a_sources_frame(study):
    """Columns, ranges and limits are those of a study: whole scores, at most five a query."""
    assert list(study.columns) == [*COLUMNS, *CODES, "weighted"]
    scores = study[list(CODES)].to_numpy()
    present = scores[~np.isnan(scores)]
    assert set(present) == {1.0, 2.0, 3.0, 4.0, 5.0}
    assert study.groupby(["system", "query_id"]).size().max() == 5
    assert study["category"].nunique() == 5
    assert not study["page_id"].duplicated().any()
    assert study["query_id"].nunique() == 100
    whole = study["weighted"].notna()
    assert (whole == study[list(CODES)].notna().all(axis=1)).all()
    incomplete = study.loc[~whole]  # Gemini-3-Pro fits no number up to 500 with all scores present
    assert list(incomplete["system"]) == ["Gemini-3-Pro (synthetic)"] * 2
    assert incomplete["NE"].isna().all()
    assert set(incomplete["outcome"]) == {"partly_scored"}
    assert set(study.loc[whole, "outcome"]) == {"scored"}


def test_synthetic_study_says_so_in_every_row(study):
    """No row can be shown without the word synthetic."""
    assert study["system"].str.endswith("(synthetic)").all()
    assert study["reason"].str.startswith("synthetic").all()
    assert study["page_id"].str.startswith("synthetic").all()


def test_synthetic_study_depends_on_its_seed_only(study):
    """The same seed gives the same frame, another seed other scores with the same means."""
    again = synthetic_paper_study_scores(20260601)
    pd.testing.assert_frame_equal(study, again)
    other = synthetic_paper_study_scores(1)
    assert not other["weighted"].equals(study["weighted"])
    pd.testing.assert_series_equal(
        other["CR"].groupby(other["system"]).sum(), study["CR"].groupby(study["system"]).sum()
    )


def test_means_that_fit_no_number_of_sources_are_an_error():
    """If no number of sources fits, the error says up to where was tried."""
    with pytest.raises(ValueError, match="no number of sources up to 10 fits"):
        fitting_sources({"CR": "4.123", "FA": "4.457", "NE": "3.391"}, 10)
