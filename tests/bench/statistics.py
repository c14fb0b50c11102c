"""Owns the timing of statistics: `python -m tests.bench.statistics [--full]`, ours beside scipy in one run.

The paired randomisation test of 5 engines, all 10 pairs, 10,000 queries; then the simultaneous intervals
of the 10 pairs by 5 measures, 1,000 queries. Both with 10,000 resamples. Scipy tests one pair at a time and
makes the t statistics of one measure from resampled rows; it is timed once, times their number, unless
--full.
"""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy import stats

from judge.measure.formulas import Floats
from judge.measure.resampling import RESAMPLES, compute_randomisation_p
from judge.measure.simultaneous import compare_means

ENGINES, MEASURES = 5, 5
PAIRS = list(combinations(range(ENGINES), 2))


def fastest(work: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def scores(queries: int) -> Floats:
    """(queries, engines) scores between 0 and 1: easy and hard queries, engines not quite alike."""
    rng = np.random.default_rng(1)
    difficulty = rng.normal(0.6, 0.2, (queries, 1))
    return np.clip(difficulty + rng.normal(np.linspace(0, 0.02, ENGINES), 0.15, (queries, ENGINES)), 0, 1)


def scipy_test(a: Floats, b: Floats) -> None:
    stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=500,
        rng=np.random.default_rng(0),
    )


def scipy_critical_value(differences: Floats) -> float:
    """The upper 5 % point of the largest |t| of resampled rows, (queries, pairs)."""
    rng = np.random.default_rng(0)
    centred = differences - differences.mean(0)
    largest = []
    for _ in range(RESAMPLES // 100):
        rows = rng.integers(0, len(centred), (100, len(centred)))
        largest.append(np.abs(stats.ttest_1samp(centred[rows], 0.0, axis=1).statistic).max(1))
    return float(np.quantile(np.concatenate(largest), 0.95))


def report(
    title: str, ours: Callable[[], object], theirs: Sequence[Callable[[], object]], full: bool
) -> None:
    seconds = fastest(ours)
    timed = theirs if full else theirs[:1]
    scipys = sum(fastest(work, rounds=1) for work in timed) * len(theirs) / len(timed)
    print(f"{title}, {RESAMPLES:,} resamples")
    print(f"  ours                        {seconds:8.2f} s")
    print(f"  scipy, {len(timed)} of {len(theirs)} timed".ljust(30) + f"{scipys:8.2f} s")
    print(f"  ours is faster              {scipys / seconds:8.0f} times")


def tests(queries: int, full: bool) -> None:
    columns = scores(queries).T
    differences = np.stack([columns[a] - columns[b] for a, b in PAIRS], axis=1)
    theirs = [lambda a=a, b=b: scipy_test(columns[a], columns[b]) for a, b in PAIRS]
    report(
        f"{len(PAIRS)} pairs, {queries:,} queries, p",
        lambda: compute_randomisation_p(differences),
        theirs,
        full,
    )


def intervals(queries: int, full: bool) -> None:
    one = scores(queries)
    differences = np.stack([one[:, a] - one[:, b] for a, b in PAIRS], axis=1)
    by_measure = np.stack([differences] * MEASURES, axis=1)
    theirs = [lambda: scipy_critical_value(differences)] * MEASURES
    title = f"{len(PAIRS)} pairs by {MEASURES} measures, {queries:,} queries, simultaneous intervals"
    report(title, lambda: compare_means(by_measure), theirs, full)


if __name__ == "__main__":
    everything = "--full" in sys.argv[1:]
    tests(10_000, everything)
    intervals(1_000, everything)
