"""Synthetic sources of any size with known means, for tests, rehearsals and power.

Every frame carries a ``synthetic`` column and attribute: nothing here was measured.
"""

import numpy as np
import pandas as pd

from sourcebench.rubric import CODES, SCALE
from sourcebench.statistics.intervals import weighted_score

CATEGORIES = ("shopping", "reasoning", "factual", "argumentative", "social")
# Chances of 0 to 5 sources a query: 3.3 on average, so 12 systems and 100 queries give about 4,000.
COUNTS = (0.05, 0.10, 0.14, 0.19, 0.22, 0.30)
# Standard normal thresholds between the five levels: most scores are fours and fives.
CUTS = (-1.88, -1.41, -0.92, -0.05)


def paper_like_means(systems: int = 12) -> pd.Series:
    """Return weighted means spread evenly from 89 down to 78, named ``synthetic-01`` and on."""
    names = [f"synthetic-{k + 1:02d}" for k in range(systems)]
    return pd.Series(np.linspace(89, 78, systems), index=names)


def synthetic_queries(queries: int = 100) -> pd.DataFrame:
    """Return a queries frame with the five categories in equal parts."""
    names = [f"s{i + 1:04d}" for i in range(queries)]
    category = [CATEGORIES[i * len(CATEGORIES) // queries] for i in range(queries)]
    frame = pd.DataFrame(
        {
            "query_id": names,
            "text": "(synthetic)",
            "category": category,
            "dataset": "synthetic",
            "gold_answer": "",
            "synthetic": True,
        }
    )
    frame.attrs["synthetic"] = True
    return frame


def synthetic_sources(
    queries: pd.DataFrame,
    *,
    rng: np.random.Generator,
    means: pd.Series | pd.DataFrame | None = None,
    icc: float = 0.3,
    common: float = 0.5,
    between_metrics: float = 0.3,
    counts: tuple[float, ...] = COUNTS,
    lost: float = 0.0,
) -> pd.DataFrame:
    """Return a sources frame whose expected scores are the chosen means.

    Scores are cuts through normal variables of unit variance, made of a query part, a part that
    the metrics of one source share, and noise.

    Parameters
    ----------
    queries : DataFrame
        ``query_id`` and ``category``.
    rng : numpy Generator
    means : Series or DataFrame, optional
        Weighted mean of each system (20 to 100), or a table of systems by metrics (1 to 5).
    icc : float
        Share of a score's latent variance that the sources of one query have in common.
    common : float
        Share of that query part which all systems have in common.
    between_metrics : float
        Latent correlation of two metrics, in the query part and beyond it.
    counts : tuple of float
        Chances of 0, 1, 2, ... sources for a system and query.
    lost : float
        Chance that the content scores of a source are missing.

    Returns
    -------
    DataFrame
        system, query_id, category, page_id, position, runs, outcome, reason, the metrics,
        weighted, synthetic.
    """
    means = paper_like_means() if means is None else means
    shifts = _latent_shifts(means)
    systems, number = len(shifts), len(queries)
    size = rng.choice(len(counts), p=np.asarray(counts) / np.sum(counts), size=(systems, number))
    system, query = (np.repeat(i.ravel(), size.ravel()) for i in np.indices(size.shape))
    rows = system.size
    everyone, own, source = (
        _correlated_normals(shape, between_metrics, rng)
        for shape in ((number,), (systems, number), (rows,))
    )
    part = np.sqrt(common) * everyone[query] + np.sqrt(1 - common) * own[system, query]
    latent = shifts[system] + np.sqrt(icc) * part + np.sqrt(1 - icc) * source
    scores = SCALE[0] + (latent[..., None] > np.array(CUTS)).sum(axis=-1).astype(float)
    missing = rng.random(rows) < lost
    scores[np.ix_(missing, [0, 1, 2])] = np.nan
    start = np.cumsum(size.ravel()) - size.ravel()
    frame = pd.DataFrame(
        {
            "system": np.asarray(means.index)[system],
            "query_id": queries["query_id"].to_numpy()[query],
            "category": queries["category"].to_numpy()[query],
            "page_id": [f"synthetic-{i + 1:08d}" for i in range(rows)],
            "position": np.arange(rows) - np.repeat(start, size.ravel()) + 1,
            "runs": 1,
            "outcome": np.where(missing, "partly_scored", "scored"),
            "reason": np.where(missing, "synthetic loss", ""),
            **dict(zip(CODES, scores.T, strict=True)),
        }
    )
    frame = frame.assign(weighted=weighted_score(frame), synthetic=True)
    frame.attrs["synthetic"] = True
    return frame


def _correlated_normals(
    shape: tuple[int, ...], correlation: float, rng: np.random.Generator
) -> np.ndarray:
    """Return standard normals, one a metric on the last axis, that correlate among metrics."""
    shared, own = rng.standard_normal((*shape, 1)), rng.standard_normal((*shape, len(CODES)))
    return np.sqrt(correlation) * shared + np.sqrt(1 - correlation) * own


def _latent_shifts(means: pd.Series | pd.DataFrame) -> np.ndarray:
    """Return the latent mean of each system and metric that gives the chosen expected scores."""
    if isinstance(means, pd.DataFrame):
        wanted = means[list(CODES)].to_numpy(float)
    else:
        wanted = np.repeat(means.to_numpy(float)[:, None] / 20, len(CODES), axis=1)
    if not ((wanted > SCALE[0]) & (wanted < SCALE[1])).all():
        raise ValueError("means must lie strictly inside the scale: 1 to 5, or weighted 20 to 100")
    # The expected score rises with the shift, so a fine table of it can be read backwards.
    grid = np.linspace(-8, 8, 32_001)
    return np.interp(wanted, expected_score(grid), grid)


def expected_score(shift: np.ndarray) -> np.ndarray:
    """Return the expected score of a latent normal with mean `shift` and unit variance."""
    from scipy.special import ndtr

    return SCALE[0] + ndtr(np.asarray(shift)[..., None] - np.array(CUTS)).sum(axis=-1)
