"""How often intervals hold the truth: the usual ways against those of this package, by simulation.

Run from the checkout: ``python benchmarks/coverage.py``; it takes a few minutes, writes its table
to docs/coverage.md and fails when a figure leaves its band. All data are synthetic.
"""

import argparse
import sys
from pathlib import Path
from typing import NamedTuple

import numpy as np
import pandas as pd
from scipy.stats import norm

from sourcebench.statistics.bootstrap import (
    QuerySums,
    bootstrap_intervals,
    max_t,
    query_sums,
    rank_sets,
    resample_counts,
    resampled_sums,
)
from sourcebench.statistics.correction import (
    label_corrected_mean,
    label_corrected_means,
    rectified_mean,
)
from sourcebench.statistics.correlate import (
    critical_r,
    fixed_effects_slope,
    jackknife_interval,
    pearson,
)
from sourcebench.statistics.intervals import (
    METRIC_LIMITS,
    WEIGHTED_LIMITS,
    cluster_mean,
    ratio_estimate,
)
from sourcebench.statistics.simulate import paper_like_means, synthetic_queries, synthetic_sources

TARGET = Path(__file__).resolve().parents[1] / "docs" / "coverage.md"


class Row(NamedTuple):
    """One measured share, in percent, with the band it should lie in."""

    setting: str
    way: str
    percent: float
    trials: int
    band: tuple[float, float]
    width: float = float("nan")

    @property
    def inside(self) -> bool:
        """Tell whether the share lies in its band."""
        return self.band[0] <= self.percent <= self.band[1]


class Tally:
    """Counts, per way, how often an interval held the truth and how wide it was."""

    def __init__(self) -> None:
        self.seen: dict[str, list[tuple[bool, float]]] = {}

    def add(self, way: str, truth: float, low: float, high: float) -> None:
        """Record one interval."""
        self.seen.setdefault(way, []).append((low <= truth <= high, (high - low) / 2))

    def rows(self, setting: str, bands: dict[str, tuple[float, float]]) -> list[Row]:
        """Return one row a way."""
        return [
            Row(
                setting,
                way,
                100 * float(np.mean([held for held, _ in self.seen[way]])),
                len(self.seen[way]),
                band,
                float(np.median([half for _, half in self.seen[way]])),
            )
            for way, band in bands.items()
        ]


# One mean


def ordinal_study(
    rng: np.random.Generator, queries: int, icc: float, cuts: np.ndarray
) -> tuple[np.ndarray, np.ndarray]:
    """Return query codes and scores 1 to 5 of one system, one to five sources a query."""
    code = np.repeat(np.arange(queries), rng.integers(1, 6, queries))
    latent = np.sqrt(icc) * rng.standard_normal(queries)[code]
    latent += np.sqrt(1 - icc) * rng.standard_normal(code.size)
    return code, 1 + (latent[:, None] > cuts).sum(axis=1)


def one_mean(rng: np.random.Generator, trials: int) -> list[Row]:
    """Return the coverage of intervals for one mean, by number of queries and ceiling."""
    rows = []
    some, most = norm.ppf([0.03, 0.08, 0.18, 0.48]), norm.ppf([0.02, 0.05, 0.1, 0.2])
    bands = {
        20: {"sources as if independent": (76, 86), "cluster percentile": (88, 95),
             "logit CR1 t (ours)": (91.5, 97), "bootstrap-t (ours)": (92, 98)},
        100: {"sources as if independent": (77, 88), "cluster percentile": (91.5, 97),
              "logit CR1 t (ours)": (92.5, 97), "bootstrap-t (ours)": (92.5, 98)},
    }  # fmt: skip
    for queries, cuts, name in ((20, some, "52% fives"), (20, most, "80% fives"),
                                (100, some, "52% fives"), (100, most, "80% fives")):  # fmt: skip
        truth, tally = 1 + norm.cdf(-cuts).sum(), Tally()
        for _ in range(trials):
            code, score = ordinal_study(rng, queries, 0.3, cuts)
            total = np.bincount(code, weights=score, minlength=queries)
            count = np.bincount(code, minlength=queries)
            one = np.zeros(queries, dtype=int)
            half = 1.96 * score.std(ddof=1) / np.sqrt(score.size)
            mean = score.mean()
            tally.add("sources as if independent", truth, mean - half, mean + half)
            logit = ratio_estimate(total, count.astype(float), one, METRIC_LIMITS)
            tally.add("logit CR1 t (ours)", truth, logit.low, logit.high)
            cells = (total.astype(int)[:, None, None], count[:, None, None])
            sums = QuerySums(("synthetic",), ("CR",), one, *cells)
            for kind, way in (("percentile", "cluster percentile"), ("t", "bootstrap-t (ours)")):
                ends = bootstrap_intervals(sums, rng=rng, resamples=999, kind=kind).iloc[0]
                tally.add(way, truth, ends["low"], ends["high"])
        wanted = bands[queries]
        if name == "80% fives" and queries == 20:
            wanted = wanted | {"cluster percentile": (84, 92), "logit CR1 t (ours)": (89, 96),
                               "bootstrap-t (ours)": (91, 98)}  # fmt: skip
        rows += tally.rows(f"one metric mean, {queries} queries, {name}", wanted)
    return rows


# Judge and labels


def label_correction(rng: np.random.Generator, trials: int) -> list[Row]:
    """Return the coverage of system means with and without correction by labels."""
    queries, rows = synthetic_queries(), []
    wanted = {
        8: {"labels only": (88, 97), "label-corrected (ours)": (92, 98)},
        25: {"labels only": (89, 97), "label-corrected (ours)": (92, 98)},
        100: {"labels only": (91, 98), "label-corrected (ours)": (92, 98)},
    }
    for labels, bands in wanted.items():
        tally = Tally()
        for _ in range(trials):
            study_with_labels(rng, queries, labels, tally)
        rows += tally.rows(
            f"weighted means of 12 systems, {labels} labels each",
            {"judge only": (34, 50)} | bands
            | {"label-corrected, sources as if independent": (70, 93),
               "one correction for all systems": (58, 82)},
        )  # fmt: skip
    return rows


def study_with_labels(
    rng: np.random.Generator, queries: pd.DataFrame, labels: int, tally: Tally
) -> None:
    """Judge one synthetic study with a bias of its own for each system, and label a sample."""
    means = paper_like_means() - 6
    frame = synthetic_sources(queries, rng=rng, means=means)
    # The top of the scale cuts 3.0 to about 2.4; a third of the error is common to a query.
    bias = pd.Series(rng.normal(3.0, 2.0, len(means)), index=means.index)
    by_query = pd.Series(rng.normal(0, 7.4 * np.sqrt(0.3), len(queries)), queries["query_id"])
    error = frame["query_id"].map(by_query) + rng.normal(0, 7.4 * np.sqrt(0.7), len(frame))
    judge = frame["weighted"] + frame["system"].map(bias) + error
    chosen = frame.groupby("system").sample(labels, random_state=rng).index
    label = frame["weighted"].where(frame.index.isin(chosen))
    frame = frame.assign(judge=judge.clip(*WEIGHTED_LIMITS), label=label)
    pooled, _ = label_corrected_means(frame, rectifier="pooled")
    for system, mine in frame.groupby("system"):
        truth, read = means[system], mine.dropna(subset="label")
        for way, rows, column in (("judge only", mine, "judge"), ("labels only", read, "label")):
            plain = cluster_mean(rows, column, queries=queries, limits=WEIGHTED_LIMITS)
            tally.add(way, truth, plain.low, plain.high)
        ours, shared = label_corrected_mean(mine), pooled.loc[system]
        tally.add("label-corrected (ours)", truth, ours.low, ours.high)
        tally.add("one correction for all systems", truth, shared["low"], shared["high"])
        iid = rectified_mean(mine["judge"], read["label"], read["judge"])
        half = 1.96 * np.sqrt((iid.judged**2).sum() + (iid.labelled**2).sum())
        way = "label-corrected, sources as if independent"
        tally.add(way, truth, iid.value - half, iid.value + half)


# Ranks


def ranks(rng: np.random.Generator, trials: int) -> list[Row]:
    """Return how often rank sets hold all places when all systems are equal."""
    queries, held = synthetic_queries(), {}
    means = pd.Series(82.0, index=paper_like_means().index)
    for _ in range(trials):
        frame = synthetic_sources(queries, rng=rng, means=means)
        sums = query_sums(frame, queries, columns=("weighted",))
        counts = resample_counts(sums.strata, 999, rng)
        total, number = (resampled_sums(a[:, :, 0], counts) for a in (sums.total, sums.count))
        place = (-total / number.astype(float)).argsort(axis=0).argsort(axis=0) + 1
        low, high = np.quantile(place, [0.025, 0.975], axis=1, method="inverted_cdf")
        held.setdefault("percentile", []).append(np.mean((low == 1) & (high == 12)))
        pairs = max_t(frame, "weighted", queries, rng=rng, resamples=999)
        observed = frame.groupby("system")["weighted"].mean()
        for p in ("p", "p_holm", "p_max_t"):
            table = rank_sets(pairs, observed, p=p)
            whole = (table["rank_low"] == 1) & (table["rank_high"] == 12)
            held.setdefault(p, []).append(whole.mean())
    setting = "12 equal systems: the places left open to a system are all 12"
    joint = "12 equal systems: so for every system at once"
    percent = {way: 100 * float(np.mean(v)) for way, v in held.items()}
    every = {way: 100 * float(np.mean(np.equal(v, 1))) for way, v in held.items()}
    return [
        Row(setting, "percentile of resampled ranks", percent["percentile"], trials, (3, 25)),
        Row(setting, "unadjusted pairwise tests", percent["p"], trials, (58, 80)),
        Row(setting, "Holm (ours)", percent["p_holm"], trials, (95, 100)),
        Row(joint, "unadjusted pairwise tests", every["p"], trials, (13, 40)),
        Row(joint, "Holm (ours)", every["p_holm"], trials, (92, 100)),
        Row(joint, "max-T (ours)", every["p_max_t"], trials, (90, 99.5)),
    ]


# Correlations


def few_systems(rng: np.random.Generator, trials: int) -> list[Row]:
    """Return the coverage of intervals for a correlation over 11 systems with heavy tails."""
    tally, rho = Tally(), 0.5
    for _ in range(trials):
        pair = rng.standard_normal((11, 2)) * np.sqrt(3 / rng.chisquare(3, (11, 1)))
        x, y = pair[:, 0], rho * pair[:, 0] + np.sqrt(1 - rho**2) * pair[:, 1]
        z, half = np.arctanh(pearson(x, y)), 1.96 / np.sqrt(8)
        tally.add("Fisher's z", rho, *np.tanh([z - half, z + half]))
        tally.add("jackknife on Fisher's z (ours)", rho, *jackknife_interval(x, y)[:2])
        drawn = rng.integers(0, 11, (500, 11))
        tally.add("percentile bootstrap", rho, *np.nanquantile(row_r(x[drawn], y[drawn]),
                                                               [0.025, 0.975]))  # fmt: skip
    return tally.rows(
        "correlation over 11 systems, heavy tails",
        {"Fisher's z": (81, 91), "percentile bootstrap": (84, 92.5),
         "jackknife on Fisher's z (ours)": (90.5, 97)},
    )  # fmt: skip


def row_r(x: np.ndarray, y: np.ndarray) -> np.ndarray:
    """Return the correlation of each row, NaN where one is constant."""
    x, y = (v - v.mean(axis=1, keepdims=True) for v in (x, y))
    scale = np.sqrt((x**2).sum(axis=1) * (y**2).sum(axis=1))
    return np.divide((x * y).sum(axis=1), scale, out=np.full(len(x), np.nan), where=scale > 1e-12)


def false_alarms(rng: np.random.Generator, trials: int) -> list[Row]:
    """Return how often answers seem to follow sources when only whole systems differ in both."""
    found = np.zeros(2)
    for _ in range(trials):
        strength = rng.standard_normal(12)
        question = rng.standard_normal(60)
        answer = 0.15 * strength + question[:, None] + rng.standard_normal((60, 12))
        source = 80 + strength + 3 * question[:, None] + 8 * rng.standard_normal((60, 12))
        i, k = np.indices(answer.shape)
        cells = pd.DataFrame({"query_id": i.ravel(), "system": k.ravel(),
                              "answer": answer.ravel(), "source": source.ravel()})  # fmt: skip
        r = pearson(answer.mean(axis=0), source.mean(axis=0))
        slope = fixed_effects_slope(cells)
        found += [abs(r) > critical_r(12), not slope.low <= 0 <= slope.high]
    setting = "no link within questions, strong systems better at both: link reported"
    return [
        Row(setting, "correlation over systems", 100 * found[0] / trials, trials, (35, 65)),
        Row(setting, "two-way fixed effects (ours)", 100 * found[1] / trials, trials, (1.5, 9)),
    ]


# The report

HEADER = """# Coverage, measured

Written by `benchmarks/coverage.py`; all data are synthetic. Intervals are made for 95 %, and a figure
is the share of trials in which the interval held the truth, with its standard error (the systems of
one synthetic study share their queries, which makes those errors a little larger). Half-widths are
medians over trials, in points of the scale. Scores are cuts through normal variables; the sources
of a query share .3 of the latent variance. The judge is 2.4 points too kind on average, by a
different amount for each system (standard deviation 2). "In band" compares a figure with the band
that the script sets for it.

| setting | way | percent | half-width | trials | band | in band |
|---|---|---|---|---|---|---|
"""


def line(row: Row) -> str:
    """Return one line of the table."""
    share = row.percent / 100
    error = 100 * np.sqrt(max(share * (1 - share), 0.001) / row.trials)
    width = "" if np.isnan(row.width) else f"{row.width:.2f}"
    low, high = row.band
    return (
        f"| {row.setting} | {row.way} | {row.percent:.1f} ± {error:.1f} | {width} | {row.trials} "
        f"| {low:g} to {high:g} | {'yes' if row.inside else '**no**'} |"
    )


def main() -> None:
    """Simulate, write the table, and fail if a figure left its band."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--seed", type=int, default=20_260_101)
    parser.add_argument("--share", type=float, default=1.0, help="share of the trials to run")
    parser.add_argument("--out", type=Path, default=TARGET)
    options = parser.parse_args()
    rows: list[Row] = []
    # Each part has a generator of its own, so that changing one leaves the others as they were.
    plan = ((one_mean, 1500), (label_correction, 100), (ranks, 300),
            (few_systems, 3000), (false_alarms, 400))  # fmt: skip
    seeds = np.random.SeedSequence(options.seed).spawn(len(plan))
    for (part, trials), seed in zip(plan, seeds, strict=True):
        rows += part(np.random.default_rng(seed), max(2, round(trials * options.share)))
        print(f"{part.__name__} done", file=sys.stderr)
    text = HEADER + "\n".join(line(row) for row in rows) + f"\n\nSeed {options.seed}.\n"
    options.out.parent.mkdir(parents=True, exist_ok=True)
    options.out.write_text(text, encoding="utf-8", newline="\n")
    print(text)
    outside = [f"{row.setting}: {row.way}" for row in rows if not row.inside]
    if outside and options.share >= 1:
        sys.exit("outside its band: " + "; ".join(outside))


if __name__ == "__main__":
    main()
