"""Synthetic sources have the means and the structure that were chosen, and say what they are."""

import numpy as np
import pandas as pd
import pytest

from sourcebench.rubric import CODES
from sourcebench.statistics.intervals import cluster_mean
from sourcebench.statistics.simulate import paper_like_means, synthetic_queries, synthetic_sources


def simulate(seed=0, queries=100, **options):
    """Return synthetic sources and their queries."""
    asked = synthetic_queries(queries)
    return synthetic_sources(asked, rng=np.random.default_rng(seed), **options), asked


def test_paper_scale_by_default():
    """By default there are 100 queries in five equal categories, 12 systems and about 4,000 sources."""
    frame, asked = simulate()
    assert asked["category"].value_counts().tolist() == [20] * 5
    assert frame["system"].nunique() == 12
    assert 3_700 < len(frame) < 4_300
    assert frame.groupby(["system", "query_id"]).size().max() == 5
    assert not frame.duplicated(["system", "query_id", "page_id"]).any()


def test_everything_is_marked_synthetic():
    """Each row, each frame and each name says that it is synthetic."""
    frame, asked = simulate(queries=5)
    for table in (frame, asked):
        assert table["synthetic"].all()
        assert table.attrs["synthetic"] is True
    assert frame["system"].str.startswith("synthetic").all()
    assert frame["page_id"].str.startswith("synthetic").all()


def test_means_are_the_chosen_ones():
    """Over many queries each system's mean is the one chosen for it."""
    frame, _ = simulate(1, queries=4_000)
    assert frame.groupby("system")["weighted"].mean().to_numpy() == pytest.approx(
        paper_like_means().to_numpy(), abs=0.6
    )
    metric = pd.DataFrame(
        [[4.5, 4, 3.5, 3, 2.5, 2, 4.2, 3.3]], columns=CODES, index=["synthetic-x"]
    )
    frame, _ = simulate(2, queries=8_000, means=metric)
    assert frame[list(CODES)].mean().to_numpy() == pytest.approx(metric.to_numpy()[0], abs=0.05)


def test_sources_of_a_query_resemble_each_other():
    """The chosen share of variance lies between queries, and zero means none."""
    for icc, low, high in ((0.0, 0.9, 1.15), (0.5, 1.3, 1.8)):
        frame, asked = simulate(3, queries=600, icc=icc, means=paper_like_means(1))
        estimate = cluster_mean(frame, "CR", queries=asked, strata=None)
        naive = frame["CR"].std() / np.sqrt(len(frame))
        assert low < estimate.se / naive < high


def test_lost_scores_are_missing():
    """Lost content scores are missing, leave no weighted score, and have a reason."""
    frame, _ = simulate(4, queries=20, lost=0.2)
    lost = frame["CR"].isna()
    assert 0.1 < lost.mean() < 0.3
    assert frame.loc[lost, "weighted"].isna().all()
    assert (frame.loc[lost, "reason"] == "synthetic loss").all()
    assert frame["DA"].notna().all()


def test_the_seed_decides_everything():
    """The same generator state gives the same frame."""
    pd.testing.assert_frame_equal(simulate(5, queries=7)[0], simulate(5, queries=7)[0])


def test_means_off_the_scale_are_refused():
    """A mean at or past the end of the scale cannot be simulated."""
    with pytest.raises(ValueError, match="inside the scale"):
        simulate(means=pd.Series({"synthetic-a": 100.0}))
