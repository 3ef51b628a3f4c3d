"""Whole-number scores that have given printed means: reconstructions, always marked synthetic.

After SPRITE (Heathers et al. 2018, doi 10.7287/peerj.preprints.26968v1). The papers print no
standard deviations, so each metric gets the flattest (maximum-entropy) distribution with its mean.
A reconstruction shows what data could stand behind a table. It is not that data: only the means
are taken from the table, and every row says so.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import numpy as np
import pandas as pd

from sourcebench.audit.grim import NearFit, Printed, near_ns, possible_sums, read_printed
from sourcebench.published import printed_table
from sourcebench.rubric import CODES, SCALE
from sourcebench.schema import CATEGORIES
from sourcebench.statistics.intervals import weighted_score

MARK = "synthetic"
REASON = "synthetic: reconstructed from printed means"

# How alike the made-up scores of one query, and of one source, are. Free choices.
QUERY_SHARE = 0.3
SOURCE_SHARE = 0.2


def sprite(
    mean: str | float | Printed, n: int, scale: tuple[int, int] = SCALE, decimals: int | None = None
) -> np.ndarray:
    """Return n whole-number scores, ascending, whose mean prints as `mean`.

    Parameters
    ----------
    mean : str or float
        The printed mean, such as ``"4.241"``; with a float give `decimals`.
    n : int
        Number of scores.
    scale : tuple of int
        Lowest and highest score.

    Returns
    -------
    ndarray of int, shape (n,)

    Raises
    ------
    ValueError
        If no n whole numbers on the scale have this mean.
    """
    printed = read_printed(mean, decimals)
    low, high = scale
    sums = [s for s in possible_sums(printed, n) if low * n <= s <= high * n]
    if not sums:
        raise ValueError(
            f"no {n} whole numbers from {low} to {high} have a mean that prints as {printed.text}"
        )
    total = min(sums, key=lambda s: abs(s - printed.value * n))
    levels = np.arange(low, high + 1)
    counts = _rounded(_flattest(total / n, levels) * n)
    return np.repeat(levels, _repaired(counts, levels, total))


def _flattest(mean: float, levels: np.ndarray) -> np.ndarray:
    """Return the maximum-entropy probabilities of the levels with a given mean."""
    from scipy.optimize import brentq

    if mean in (levels[0], levels[-1]):
        return (levels == mean).astype(float)

    def probabilities(tilt: float) -> np.ndarray:
        weights = np.exp(tilt * (levels - levels[-1 if tilt > 0 else 0]))
        return weights / weights.sum()

    return probabilities(brentq(lambda t: probabilities(t) @ levels - mean, -50, 50))


def _rounded(expected: np.ndarray) -> np.ndarray:
    """Round expected counts to whole ones with the same total, largest remainders first."""
    counts = np.floor(expected).astype(int)
    lacking = round(expected.sum()) - counts.sum()
    counts[np.argsort(counts - expected, kind="stable")[:lacking]] += 1
    return counts


def _repaired(counts: np.ndarray, levels: np.ndarray, total: int) -> np.ndarray:
    """Move single scores by one level, from the fullest level that can give, until the sum fits."""
    counts = counts.copy()
    while gap := total - int(counts @ levels):
        step = 1 if gap > 0 else -1
        givers = counts[:-1] if step > 0 else counts[1:]
        source = int(np.argmax(givers)) + (step < 0)
        counts[source] -= 1
        counts[source + step] += 1
    return counts


def reconstruct_scores(
    means: Mapping[str, str | float | Printed],
    query: Sequence[int] | np.ndarray,
    rng: np.random.Generator,
    missing: Mapping[str, int] | None = None,
) -> pd.DataFrame:
    """Return one synthetic score row a source, with exactly the printed means.

    Each metric's scores come from `sprite`; only which source gets which score is drawn, by rank
    of a normal variable that sources of one query share in part.

    Parameters
    ----------
    means : mapping of metric to printed mean
    query : sequence of int
        The query of each source, numbered from 0; its length is the number of sources.
    rng : numpy Generator
    missing : mapping of metric to int, optional
        Scores that a metric lacks; they are NaN in random rows.

    Returns
    -------
    DataFrame
        Float columns, one a metric, in the order of `means`.

    Raises
    ------
    ValueError
        If a mean is impossible for the number of sources.
    """
    query = np.asarray(query)
    n = len(query)
    shared = np.sqrt(QUERY_SHARE) * rng.standard_normal(query.max() + 1)[query]
    shared += np.sqrt(SOURCE_SHARE) * rng.standard_normal(n)
    columns = {}
    for metric, mean in means.items():
        own = np.sqrt(1 - QUERY_SHARE - SOURCE_SHARE) * rng.standard_normal(n)
        order = np.argsort(shared + own)
        scores = np.full(n, np.nan)
        absent = set(rng.permutation(n)[: (missing or {}).get(metric, 0)])
        scored = [row for row in order if row not in absent]
        scores[scored] = sprite(mean, len(scored))
        columns[metric] = scores
    return pd.DataFrame(columns)


def fitting_sources(means: Mapping[str, str], n_max: int = 500) -> NearFit:
    """Return the number of sources that fits printed means with the fewest scores missing.

    Raises
    ------
    ValueError
        If no number up to `n_max` fits, even with up to three scores missing from some metrics.
    """
    for missing in (1, 2, 3):
        if fits := near_ns(means, n_max, missing):
            return min(fits, key=lambda fit: (len(fit.short), fit.n))
    raise ValueError(f"no number of sources up to {n_max} fits the means {dict(means)}")


def synthetic_paper_study_scores(seed: int, queries: int = 100, top_k: int = 5) -> pd.DataFrame:
    """Return a synthetic sources frame of the paper's scale, from the means printed in its Table 4.

    The six printed systems, each with a number of sources that its eight means allow, at most
    `top_k` a query. Metric means come back to the printed digit. Everything else is made up: which
    scores fall together, which query has how many sources, and the split into categories, which
    does not aim at Table 5. Every system's name ends in "(synthetic)".

    Parameters
    ----------
    seed : int
    queries : int
        Number of queries, spread evenly over the five categories.
    top_k : int
        Most sources a system can have for a query.

    Returns
    -------
    DataFrame
        Columns system, query_id, category, page_id, position, runs, outcome, reason, the eight
        metrics (NaN where a score is missing) and weighted (0-100, NaN where a metric is missing).
    """
    rng = np.random.default_rng(seed)
    table = printed_table(4)
    parts = []
    for system in table.index:
        means = dict(table.loc[system, list(CODES)])
        fit = fitting_sources(means, queries * top_k)
        query = np.sort(rng.permutation(queries * top_k)[: fit.n] // top_k)
        scores = reconstruct_scores(means, query, rng, dict.fromkeys(fit.short, fit.missing))
        parts.append(_source_rows(system, query, queries).join(scores))
    frame = pd.concat(parts, ignore_index=True)
    frame["weighted"] = weighted_score(frame[list(CODES)])
    frame.loc[frame["weighted"].isna(), "outcome"] = "partly_scored"
    return frame


def _source_rows(system: str, query: np.ndarray, queries: int) -> pd.DataFrame:
    """Return the identifying columns of one system's synthetic sources."""
    frame = pd.DataFrame({"system": f"{system} ({MARK})", "number": query})
    frame["query_id"] = [f"{MARK}-{number + 1:03d}" for number in query]
    frame["category"] = [CATEGORIES[number * len(CATEGORIES) // queries] for number in query]
    frame["page_id"] = [f"{MARK}-{system}-{row + 1:04d}" for row in range(len(query))]
    frame["position"] = frame.groupby("number").cumcount() + 1
    frame["runs"] = 1
    frame["outcome"] = "scored"
    frame["reason"] = REASON
    return frame.drop(columns="number")
