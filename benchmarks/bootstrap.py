"""How fast 108 cluster-bootstrap intervals are, against the usual ways, in one run.

Run from the checkout: ``python benchmarks/bootstrap.py``. Every way gets the same synthetic study
(12 systems, 100 queries, about 4,000 sources), the same number of resamples and one thread; rounds
are interleaved, and the median is printed. The second part grows the number of sources.
"""

import argparse
import os
import re
import resource
import statistics
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import numpy as np
import pandas as pd

from sourcebench.statistics.bootstrap import (
    SCORES,
    QuerySums,
    bootstrap_intervals,
    closed_form,
    query_sums,
)
from sourcebench.statistics.moments import add_sums, estimate, merge, moments, reduce_sources
from sourcebench.statistics.simulate import synthetic_queries, synthetic_sources

TARGETS = {"scipy.stats.bootstrap": 20, "arch": 4, "pandas loop": 400}
PANDAS_SHARE = 100  # the pandas loop runs a hundredth of the resamples and is scaled up
THREADS = ("OMP_NUM_THREADS", "OPENBLAS_NUM_THREADS", "MKL_NUM_THREADS")
TILT = np.where(np.array(SCORES) == "weighted", 100 / 95, 1.0)


def ours(sums: QuerySums, resamples: int, seed: int) -> np.ndarray:
    """Return the ends of all intervals by one matrix product."""
    table = bootstrap_intervals(sums, rng=np.random.default_rng(seed), resamples=resamples)
    return table[["low", "high"]].to_numpy().T


def ours_t(sums: QuerySums, resamples: int, seed: int) -> np.ndarray:
    """Return the ends of all bootstrap-t intervals."""
    rng = np.random.default_rng(seed)
    return bootstrap_intervals(sums, rng=rng, resamples=resamples, kind="t")[["low", "high"]]


def by_scipy(sums: QuerySums, resamples: int, seed: int) -> np.ndarray:
    """Return the ends by one paired scipy call an interval."""
    from scipy.stats import bootstrap

    ends, rng = [], np.random.default_rng(seed)
    for k, c in np.ndindex(sums.total.shape[1:]):
        interval = bootstrap(
            (sums.total[:, k, c], sums.count[:, k, c]),
            lambda y, n, axis: y.sum(axis=axis) / n.sum(axis=axis),
            paired=True,
            method="percentile",
            n_resamples=resamples,
            rng=rng,
        ).confidence_interval
        ends.append((interval.low * TILT[c], interval.high * TILT[c]))
    return np.array(ends).T


def by_arch(sums: QuerySums, resamples: int, seed: int) -> np.ndarray:
    """Return the ends by one arch bootstrap over all columns of query sums: arch at its best."""
    from arch.bootstrap import IIDBootstrap

    queries = len(sums.strata)
    cells = sums.total.shape[1] * sums.total.shape[2]
    table = np.concatenate([sums.total.reshape(queries, -1), sums.count.reshape(queries, -1)], 1)
    boot = IIDBootstrap(table.astype(float), seed=np.random.default_rng(seed))
    ends = boot.conf_int(
        lambda x: x[:, :cells].sum(axis=0) / x[:, cells:].sum(axis=0),
        resamples,
        method="percentile",
    )
    return ends * np.tile(TILT, sums.total.shape[1])


def by_pandas(frame: pd.DataFrame, resamples: int, seed: int) -> None:
    """Resample rows of whole queries and group them anew, as a first script would."""
    rng = np.random.default_rng(seed)
    by_query = [part for _, part in frame.groupby("query_id")]
    for _ in range(resamples):
        drawn = rng.integers(0, len(by_query), len(by_query))
        pd.concat([by_query[i] for i in drawn]).groupby("system")[list(SCORES)].mean()


def seconds(call: Callable[[], object]) -> float:
    """Return how long a call takes."""
    start = time.perf_counter()
    call()
    return time.perf_counter() - start


def compare(resamples: int, rounds: int) -> None:
    """Print times and ratios at the paper's scale."""
    queries = synthetic_queries()
    frame = synthetic_sources(queries, rng=np.random.default_rng(1))
    sums = query_sums(frame, queries, strata=None)
    ways = {
        "ours": lambda: ours(sums, resamples, 2),
        "ours, bootstrap-t": lambda: ours_t(sums, resamples, 2),
        "closed form": lambda: closed_form(sums),
        "reduction of the frame": lambda: query_sums(frame, queries),
        "scipy.stats.bootstrap": lambda: by_scipy(sums, resamples, 3),
        "arch": lambda: by_arch(sums, resamples, 4),
    }
    times = {name: [] for name in ways}
    ours(sums, 10, 0)
    for _ in range(rounds):
        for name, call in ways.items():
            times[name].append(seconds(call))
    loop = seconds(lambda: by_pandas(frame, resamples // PANDAS_SHARE, 5)) * PANDAS_SHARE
    middle = {name: statistics.median(values) for name, values in times.items()}
    middle["pandas loop"] = loop
    print(f"synthetic study: {len(frame)} sources, {resamples} resamples, 108 intervals")
    print(f"{'way':<26}{'seconds':>10}{'ratio':>9}{'target':>8}")
    for name, value in middle.items():
        ratio, target = value / middle["ours"], TARGETS.get(name)
        verdict = "" if target is None else f"{target:>8}" + ("" if ratio >= target else "  MISSED")
        print(f"{name:<26}{value:>10.4f}{ratio:>9.1f}{verdict}")
    print(f"(the pandas loop ran {resamples // PANDAS_SHARE} resamples, times {PANDAS_SHARE})")
    agree = ours(sums, resamples, 2)
    for name, ends in (
        ("scipy", by_scipy(sums, resamples, 3)),
        ("arch", by_arch(sums, resamples, 4)),
    ):
        worst = np.abs(agree - ends).max(axis=0) / (agree[1] - agree[0])
        print(f"largest difference of an end from {name}: {worst.max():.3f} of the width")


def peak_mebibytes() -> float:
    """Return the peak memory of this process; getrusage would report its parent's where larger."""
    status = Path("/proc/self/status")
    if status.exists():
        found = re.search(r"VmHWM:\s+(\d+) kB", status.read_text(encoding="utf-8"))
        return int(found[1]) / 1024
    return resource.getrusage(resource.RUSAGE_SELF).ru_maxrss / 1024


def stream(sources: int, chunk: int = 250_000) -> None:
    """Reduce and bootstrap `sources` synthetic sources in chunks; print time and peak memory."""
    rng, strata = np.random.default_rng(6), np.arange(100) % 5
    design = {"systems": [f"synthetic-{k}" for k in range(12)], "strata": strata}
    total, spent = None, 0.0
    for start in range(0, sources, chunk):
        rows = min(chunk, sources - start)
        system = rng.integers(0, 12, rows, dtype=np.int8)
        query = rng.integers(0, 100, rows, dtype=np.int16)
        scores = rng.integers(1, 6, (rows, 8), dtype=np.uint8)
        begin = time.perf_counter()
        part = reduce_sources(system, query, scores, **design)
        total = part if total is None else add_sums(total, part)
        spent += time.perf_counter() - begin
    boot = seconds(lambda: bootstrap_intervals(total, rng=rng))
    exact = seconds(lambda: moments(total, strata=5))
    print(
        f"{sources:>12,} sources: reduced {spent:.3f} s, bootstrapped {boot:.3f} s, "
        f"together {spent + boot:.3f} s, moments {exact:.4f} s, peak {peak_mebibytes():.0f} MiB"
    )


def stream_queries(sources: int, queries_a_chunk: int = 5_000, a_query: int = 48) -> None:
    """Reduce sources of ever new queries to moments alone; print time and peak memory."""
    rng, state, spent, rows = np.random.default_rng(7), None, 0.0, queries_a_chunk * a_query
    design = {"systems": [f"synthetic-{k}" for k in range(12)], "strata": np.zeros(5_000, int)}
    chunks = -(-sources // rows)
    for _ in range(chunks):
        system = rng.integers(0, 12, rows, dtype=np.int8)
        query = np.repeat(np.arange(queries_a_chunk, dtype=np.int16), a_query)
        scores = rng.integers(1, 6, (rows, 8), dtype=np.uint8)
        begin = time.perf_counter()
        part = moments(reduce_sources(system, query, scores, **design))
        state = part if state is None else merge(state, part)
        spent += time.perf_counter() - begin
    print(
        f"{chunks * rows:>12,} sources of {chunks * queries_a_chunk:,} queries: moments in "
        f"{spent:.3f} s, peak {peak_mebibytes():.0f} MiB; {estimate(state, 'synthetic-0', 'weighted')[:4]}"
    )


def main() -> None:
    """Run both parts; each size of the second is a process of its own, for its peak memory."""
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--resamples", type=int, default=10_000)
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sources", type=int, help="only reduce and bootstrap so many sources")
    parser.add_argument("--moments", type=int, help="only reduce so many sources to moments")
    options = parser.parse_args()
    if any(os.environ.get(name) != "1" for name in THREADS):
        # The linear algebra reads these when it is loaded, so start again with them set.
        one = dict.fromkeys(THREADS, "1")
        os.execve(sys.executable, [sys.executable, *sys.argv], os.environ | one)
    if options.sources:
        stream(options.sources)
        return
    if options.moments:
        stream_queries(options.moments)
        return
    compare(options.resamples, options.rounds)
    sys.stdout.flush()
    for sources in (1_000_000, 10_000_000):
        subprocess.run([sys.executable, __file__, "--sources", str(sources)], check=True)
    subprocess.run([sys.executable, __file__, "--moments", "10000000"], check=True)


if __name__ == "__main__":
    main()
