"""Time our statistics beside scipy in one run: `python -m tests.benchmarks.statistics [--full]`.

The paired randomisation test of 5 engines, all 10 pairs, 10,000 queries; then the simultaneous intervals
of the 10 pairs by 5 measures, 1,000 queries. Both with 10,000 resamples. Scipy tests one pair at a time and
makes the t statistics of one measure from resampled rows; it is timed once, times their number, unless
--full. Then the CPU seconds of a whole comparison of many queries, and of many engines.

With --stability: by how much the critical value and the end of an interval move between seeds.
"""

import sys
import time
from collections.abc import Callable, Sequence
from itertools import combinations

import numpy as np
from scipy import stats

from judge.measure.compare import compare_engines
from judge.measure.numeric import Floats
from judge.measure.resampling import RESAMPLES, compute_randomisation_p
from judge.measure.simultaneous import compare_means, count_resamples
from tests.unit.measure.tables import tabulate_scores

ENGINES, MEASURES = 5, 5
PAIRS = list(combinations(range(ENGINES), 2))


def time_fastest(work: Callable[[], object], rounds: int = 5) -> float:
    """Seconds of the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return min(times)


def draw_scores(queries: int, engines: int = ENGINES) -> Floats:
    """(queries, engines) scores between 0 and 1: easy and hard queries, engines not quite alike."""
    rng = np.random.default_rng(1)
    difficulty = rng.normal(0.6, 0.2, (queries, 1))
    return np.clip(difficulty + rng.normal(np.linspace(0, 0.02, engines), 0.15, (queries, engines)), 0, 1)


def run_scipy_test(a: Floats, b: Floats) -> None:
    stats.permutation_test(
        (a, b),
        lambda x, y, axis: np.mean(x - y, axis=axis),
        permutation_type="samples",
        vectorized=True,
        n_resamples=RESAMPLES,
        batch=500,
        rng=np.random.default_rng(0),
    )


def compute_scipy_critical_value(differences: Floats) -> float:
    """The upper 5% point of the largest |t| of resampled rows, (queries, pairs)."""
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
    seconds = time_fastest(ours)
    timed = theirs if full else theirs[:1]
    scipys = sum(time_fastest(work, rounds=1) for work in timed) * len(theirs) / len(timed)
    print(f"{title}, {RESAMPLES:,} resamples")
    print(f"  ours                        {seconds:8.2f} s")
    print(f"  scipy, {len(timed)} of {len(theirs)} timed".ljust(30) + f"{scipys:8.2f} s")
    print(f"  ours is faster              {scipys / seconds:8.0f} times")


def time_tests(queries: int, full: bool) -> None:
    columns = draw_scores(queries).T
    differences = np.stack([columns[a] - columns[b] for a, b in PAIRS], axis=1)
    theirs = [lambda a=a, b=b: run_scipy_test(columns[a], columns[b]) for a, b in PAIRS]
    report(
        f"{len(PAIRS)} pairs, {queries:,} queries, p",
        lambda: compute_randomisation_p(differences),
        theirs,
        full,
    )


def time_intervals(queries: int, full: bool) -> None:
    one = draw_scores(queries)
    differences = np.stack([one[:, a] - one[:, b] for a, b in PAIRS], axis=1)
    by_measure = np.stack([differences] * MEASURES, axis=1)
    theirs = [lambda: compute_scipy_critical_value(differences)] * MEASURES
    title = f"{len(PAIRS)} pairs by {MEASURES} measures, {queries:,} queries, simultaneous intervals"
    report(title, lambda: compare_means(by_measure), theirs, full)


def time_comparison(queries: int, engines: int) -> None:
    """Print the CPU seconds that the comparison of all engines by five measures takes."""
    names = [f"engine {number:02}" for number in range(engines)]
    value = np.stack([draw_scores(queries, engines).T] * MEASURES, axis=-1)[:, :, None]
    table = tabulate_scores(value, measures="nDCG@10 AP@10 P@5 RR@10 sDCG@10", engines=names)
    started = time.process_time()
    compare_engines(table)
    print(f"{engines} engines, {queries:,} queries: compared in {time.process_time() - started:.2f} s (CPU)")


def print_stability(queries: int, engines: int, seeds: int = 12) -> None:
    """Print how much the critical value, and the end of the widest interval, move between seeds."""
    values = draw_scores(queries, engines)
    differences = np.stack([values[:, a] - values[:, b] for a, b in combinations(range(engines), 2)], axis=1)
    tests = [compare_means(differences[:, None], seed=seed)[0] for seed in range(seeds)]
    critical = np.array([test.critical for test in tests])
    moves, resamples = critical.std(ddof=1), count_resamples(differences, 1)
    print(
        f"| {queries:,} | {engines} | {resamples:,} | {critical.mean():.2f} | {moves:.3f} "
        f"| {moves * tests[0].se.max():.5f} |"
    )


if __name__ == "__main__" and "--stability" in sys.argv[1:]:
    for size in (
        (50, 2),
        (50, 5),
        (1_000, 5),
        (2_000, 2),
        (2_000, 5),
        (2_000, 20),
        (2_000, 25),
        (2_000, 63),
        (10_000, 5),
    ):
        print_stability(*size)
elif __name__ == "__main__":
    everything = "--full" in sys.argv[1:]
    time_tests(10_000, everything)
    time_intervals(1_000, everything)
    time_comparison(10_000, 5)
    time_comparison(2_000, 63)
