"""How often the audit finds something in a table in which nothing is wrong.

Each table is synthetic and consistent: whole-number scores of 5 to 12 systems, their means, average,
weighted score and rank, all printed to three decimals as the papers do. In every second table all
systems have the same number of sources. Run: python benchmarks/audit_false_alarms.py [tables] [seed]
"""

from __future__ import annotations

import sys
import time
from collections import Counter

import numpy as np
import pandas as pd
from scipy.stats import binomtest

from sourcebench.audit.table import AVERAGE, RANK, SOURCES, WEIGHTED, audit_table
from sourcebench.rubric import CODES, WEIGHTS


def synthetic_table(rng: np.random.Generator, same_n: bool) -> pd.DataFrame:
    """Return one consistent synthetic leaderboard as printed text."""
    systems = int(rng.integers(5, 13))
    sizes = rng.integers(50, 501, systems)
    if same_n:
        sizes[:] = sizes[0]
    rows = {
        f"synthetic {number}": _row(_scores(rng, int(size))) for number, size in enumerate(sizes, 1)
    }
    exact = pd.DataFrame(rows).T
    frame = exact.map(lambda value: f"{value:.3f}")
    frame[RANK] = exact[WEIGHTED].rank(ascending=False, method="min").astype(int).astype(str)
    frame[SOURCES] = sizes.astype(str)
    return frame.sample(frac=1, random_state=rng)


def _scores(rng: np.random.Generator, size: int) -> np.ndarray:
    """Draw whole-number scores from 1 to 5, a row a source, alike within a source."""
    level = 4 + 0.3 * rng.standard_normal(len(CODES)) + 0.25 * rng.standard_normal()
    latent = level + 0.5 * rng.standard_normal((size, 1)) + rng.standard_normal((size, len(CODES)))
    return np.clip(np.rint(latent), 1, 5).astype(int)


def _row(scores: np.ndarray) -> dict[str, float]:
    """Return the means, average and weighted score of one system, from exact sums."""
    sums = dict(zip(CODES, scores.sum(axis=0).tolist(), strict=True))
    n = len(scores)
    weighted = sum(WEIGHTS[code] * total for code, total in sums.items())
    return {
        **{code: total / n for code, total in sums.items()},
        AVERAGE: sum(sums.values()) / (n * len(CODES)),
        WEIGHTED: 100 * weighted / (5 * sum(WEIGHTS.values()) * n),
    }


def false_alarms(tables: int, seed: int) -> tuple[int, Counter[str]]:
    """Return how many consistent tables have a finding, and how many have each kind."""
    rng = np.random.default_rng(seed)
    alarmed, checks = 0, Counter()
    for number in range(tables):
        found = {finding.check for finding in audit_table(synthetic_table(rng, number % 2 == 0))}
        alarmed += bool(found)
        checks.update(found)
    return alarmed, checks


def main(arguments: list[str]) -> None:
    """Measure and print the rate."""
    tables, seed = (int(a) for a in (*arguments, *("1000", "20260601")[len(arguments) :]))
    start = time.perf_counter()
    alarmed, checks = false_alarms(tables, seed)
    low, high = binomtest(alarmed, tables).proportion_ci(method="wilson")
    print(f"{tables} consistent synthetic tables, seed {seed}: {alarmed} with a finding")
    print(
        f"false alarm rate {100 * alarmed / tables:.1f}% (95%: {100 * low:.1f} to {100 * high:.1f}%)"
    )
    for check, count in checks.most_common():
        print(f"  {100 * count / tables:.1f}%  {check}")
    print(f"{time.perf_counter() - start:.1f} s")


if __name__ == "__main__":
    main(sys.argv[1:])
