"""How often simultaneous intervals hold the truth: `python -m tests.benchmarks.coverage [SCORES.csv …]`.

The queries of each file (the scores.csv of a run) are taken as all queries there are. Queries are drawn
from them with replacement, some engines at random, and `compare` is asked: how often do the intervals of
all pairs hold the differences over all queries (coverage; the rest is the error on real differences whose
means are made equal), how often is any engine named when engines are exchanged at random on every query
(error), and how often are real differences named (power)? Without a file, queries and
engines are simulated. Targets: coverage 93-97% from 20 queries on, at least 93% from 10 on; error at most
5% for interchangeable engines.  Counts, no times.
"""

import argparse
from collections.abc import Iterator
from itertools import combinations
from pathlib import Path

import numpy as np
import pandas as pd

from judge.measure.compare import PairComparison, compare_engines
from judge.measure.formulas import dcg, sum_precision
from judge.measure.numeric import Floats, divide
from tests.unit.measure.tables import tabulate_scores

MEASURES = ("nDCG@10", "AP@10", "RR@10")
#: Engines that differ on fewer queries than this share are copies of one another.
_NEAR_COPY = 0.5


def read_population(path: Path, measure: str) -> Floats:
    """Return (engines, queries) values of one measure in a scores.csv, first repeat, without near copies."""
    table = pd.read_csv(path)
    rows = table[(table["measure"] == measure) & (table["repeat"] == table["repeat"].min())]
    values = rows.pivot(index="engine", columns="query_id", values="value").dropna(axis=1).to_numpy()
    chosen: list[int] = []
    for engine, row in enumerate(values):
        if all(np.mean(np.abs(row - values[other]) > 1e-12) >= _NEAR_COPY for other in chosen):
            chosen.append(engine)
    return np.asarray(values[chosen], np.float64)


def simulate_population(measure: str, engines: int = 8, queries: int = 20_000, step: float = 0.15) -> Floats:
    """Return (engines, queries) values of lists of ten graded results; engines are `step` logits apart."""
    rng = np.random.default_rng(7)
    ease = rng.normal(-0.5, 1.2, (1, queries, 1)) - 0.08 * np.arange(10)
    strength = step * np.arange(engines)[::-1, None, None] + rng.normal(0, 0.7, (engines, queries, 1))
    chance = 1 / (1 + np.exp(-(ease + strength)))
    grade = rng.binomial(3, chance).astype(np.float64)
    relevant = (grade >= 2).astype(np.float64)
    pool = np.sort(grade.transpose(1, 0, 2).reshape(queries, -1), axis=1)[:, ::-1]
    if measure == "nDCG@10":
        values = divide(dcg(grade), np.broadcast_to(dcg(pool[:, :10]), grade.shape[:2]), np.nan)
    elif measure == "AP@10":
        total = np.broadcast_to((pool >= 2).sum(1).astype(np.float64), grade.shape[:2])
        values = divide(sum_precision(relevant), total, np.nan)
    else:
        first = relevant.argmax(2)
        values = np.where(relevant.any(2), 1 / (1 + first), 0.0)
    return values[:, ~np.isnan(values).any(0)]


def draw_tables(
    population: Floats, engines: int, queries: int, draws: int
) -> Iterator[tuple[Floats, Floats]]:
    """Yield (values, truth): values of drawn engines and queries, and the engines' means over all queries."""
    rng = np.random.default_rng(11)
    for _ in range(draws):
        rows = rng.permutation(len(population))[:engines]
        chosen = population[rows]
        yield chosen[:, rng.integers(0, population.shape[1], queries)], chosen.mean(1)


def covers(pairs: tuple[PairComparison, ...], truth: Floats) -> bool:
    """Return whether every interval of `pairs` holds the true difference."""
    index = {name: number for number, name in enumerate("abcdefghijklmnopqrstuvwxyz")}
    return all(
        pair.ci95 is None or pair.ci95[0] <= truth[index[pair.a]] - truth[index[pair.b]] <= pair.ci95[1]
        for pair in pairs
    )


def count_decisions(population: Floats, engines: int, queries: int, draws: int) -> tuple[float, float, float]:
    """Return the shares of draws covered, of exchanged draws with a name, of true differences named."""
    rng = np.random.default_rng(13)
    covered = wrong = named = real = 0
    for values, truth in draw_tables(population, engines, queries, draws):
        pairs = compare_engines(tabulate_scores(values))
        covered += covers(pairs, truth)
        named += sum(pair.outcome == "better" for pair in pairs)
        real += sum(abs(one - two) > 1e-9 for one, two in combinations(truth, 2))
        exchanged = rng.permuted(values, axis=0)
        wrong += any(pair.outcome == "better" for pair in compare_engines(tabulate_scores(exchanged)))
    return covered / draws, wrong / draws, named / max(1, real)


def main() -> None:
    """Print one row per population, measure, number of engines and number of queries."""
    parser = argparse.ArgumentParser(description="coverage of the simultaneous intervals")
    parser.add_argument("scores", nargs="*", type=Path)
    parser.add_argument("--draws", type=int, default=1000)
    parser.add_argument("--queries", type=int, nargs="*", default=[10, 20, 50])
    parser.add_argument("--engines", type=int, nargs="*", default=[2, 5, 8])
    arguments = parser.parse_args()
    print(
        f"{'population':24}{'measure':9}{'engines':>8}{'queries':>8}{'coverage':>10}{'error':>8}{'power':>8}"
    )
    for path in arguments.scores or [None]:
        for measure in MEASURES:
            population = read_population(path, measure) if path else simulate_population(measure)
            title = path.parent.name if path else "simulated"
            for engines in arguments.engines:
                for queries in arguments.queries:
                    shares = count_decisions(population, engines, queries, arguments.draws)
                    row = "".join(
                        f"{share:{width}.1%}" for share, width in zip(shares, (10, 8, 8), strict=True)
                    )
                    print(f"{title:24}{measure:9}{engines:8}{queries:8}{row}", flush=True)


if __name__ == "__main__":
    main()
