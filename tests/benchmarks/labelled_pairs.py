"""Labels on drawn pairs beside labels on whole queries: `python -m tests.benchmarks.labelled_pairs FOLDER`.

FOLDER holds TREC qrels of people (qrels.human.txt) and of assessors (qrels.NAME.txt), and runs in a folder
runs*. Its queries are all queries there are: each draw takes `--queries` of them with replacement, plans
pairs for two engines, labels them with people's grades, and asks for the interval. How often does it contain
the difference over all queries (coverage), how often does it name the better engine (right) or the worse one
(wrong), and which part of the labels do whole queries (PPI++) need for an interval of the same mean width
(ratio)? Counts, no times.
"""

from __future__ import annotations

import argparse
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path

import numpy as np

from judge.dataset import trec
from judge.dataset.label_files import read_labels
from judge.measure import pair_sampling, ppi
from judge.measure.measures import Measure, parse_measure
from judge.measure.numeric import Floats, Ints
from judge.measure.pair_sampling import LabelledDraw
from judge.records import BINARY, GRADED

#: Numbers of wholly labelled queries whose mean widths are interpolated, at most `--queries`.
_WHOLE = (5, 7, 10, 14, 18, 25, 35, 50, 70, 100, 140, 200, 280, 400)
#: Pairs of engines whose first ten results share more are left out.
_MAX_SHARED = 9.5
_DEPTH = 10

Grades = Mapping[tuple[str, str], int]
Lists = Mapping[str, Mapping[str, Sequence[str]]]


@dataclass(frozen=True)
class Population:
    """The pairs of two engines on all queries: arrays (pairs,), and `pooled` (queries,) of pool sizes."""

    query: Ints
    weight: Floats
    group: Ints
    human: Floats
    assessor: Floats
    pooled: Ints
    sd: Floats

    @property
    def queries(self) -> int:
        """Return the number of queries."""
        return self.pooled.size

    def sum_by_query(self, values: Floats) -> Floats:
        """Return the (queries,) differences of the two engines by `values` (pairs,)."""
        totals: Floats = np.bincount(self.query, self.weight * values, self.queries).astype(np.float64)
        return totals

    def resample(self, drawn: Ints) -> Population:
        """Return the population of the drawn queries; a query that is drawn twice counts as two."""
        rows = [np.flatnonzero(self.query == query) for query in range(self.queries)]
        units = np.concatenate([rows[query] for query in drawn])
        query = np.repeat(np.arange(drawn.size), [rows[query].size for query in drawn])
        return Population(
            query,
            self.weight[units],
            self.group[units],
            self.human[units],
            self.assessor[units],
            self.pooled[drawn],
            self.sd,
        )


def read_grades(path: Path) -> Grades:
    """Return the grades of a qrels file by query and document."""
    return {(label.query_id, label.item): label.grade for label in read_labels(path, print)}


def read_lists(folder: Path, queries: set[str]) -> Lists:
    """Return the first ten documents of each engine and query."""
    lists: dict[str, dict[str, list[str]]] = {}
    for ranking in trec.read_trec_rankings(sorted(next(folder.glob("runs*")).iterdir()), print):
        if ranking.query_id in queries:
            documents = [snippet.docno or snippet.id for snippet in ranking.snippets[:_DEPTH]]
            lists.setdefault(ranking.engine, {})[ranking.query_id] = documents
    return lists


def make_population(
    lists: Lists,
    engines: tuple[str, str],
    queries: list[str],
    people: Grades,
    assessor: Grades,
    measure: Measure,
) -> Population:
    """Return the pairs of two engines with the gains of people's grades and of the assessor's."""
    scale = BINARY if max(assessor.values()) == 1 else GRADED
    weights = pair_sampling.compute_rank_weights(measure, _DEPTH, _DEPTH)
    human_gains, gains = (pair_sampling.compute_unit_gains(measure, each) for each in (GRADED, scale))
    rows, pooled = [], []
    for number, query in enumerate(queries):
        weight: dict[str, float] = {}
        for engine, sign in zip(engines, (1, -1), strict=True):
            documents = lists[engine].get(query, ())
            for rank, document in enumerate(documents):
                value = sign * float(weights[rank]) if rank < weights.size else 0.0
                weight[document] = weight.get(document, 0.0) + value
        pooled.append(len(weight))
        for document, value in weight.items():
            human = human_gains[min(people.get((query, document), 0), GRADED.top)]
            grade = assessor.get((query, document))
            group = scale.top + 1 if grade is None else grade
            rows.append((number, value, group, human, 0.0 if grade is None else gains[grade]))
    table = np.array(rows, np.float64).T
    sd = pair_sampling.predict_gains(gains, scale.name)[1]
    numbers, groups = table[0].astype(np.int64), table[2].astype(np.int64)
    return Population(numbers, table[1], groups, table[3], table[4], np.array(pooled), sd)


def label_pairs(dataset: Population, count: int, seed: int) -> tuple[float, float] | None:
    """Return the interval from `count` labels on drawn pairs."""
    rng = np.random.default_rng(seed)
    # Any order of the queries and within them is as good as that by a hash.
    (units,) = np.nonzero(dataset.weight)
    sizes = pair_sampling.compute_sizes(dataset.weight[units, None], dataset.sd[dataset.group[units]])
    probability = pair_sampling.compute_inclusion_probabilities(sizes, count)
    drawn = pair_sampling.draw_units(probability, float(rng.random()))
    draw = LabelledDraw(
        dataset.queries,
        dataset.query[units],
        dataset.weight[units],
        dataset.group[units],
        drawn / probability,
        probability == 1,
        np.where(drawn, dataset.human[units], np.nan),
        1.0,
    )
    return pair_sampling.estimate_difference(draw).make_interval(0.95)


def label_queries(dataset: Population, count: int) -> tuple[float, float] | None:
    """Return the interval from labels on the whole pools of the first `count` queries, by PPI++."""
    human, assessor = dataset.sum_by_query(dataset.human), dataset.sum_by_query(dataset.assessor)
    sample = ppi.LabelledSample(("a", "b"), human[:count], assessor[:count], assessor[count:])
    return ppi.correct_mean(sample, 0.95).ci95


class Tally:
    """Counts of intervals, and the sum of their widths."""

    def __init__(self) -> None:
        self.counts = np.zeros(5)

    def add(self, interval: tuple[float, float] | None, truth: float) -> None:
        """Count one interval; None counts as one of width 0 that decides nothing and contains the truth."""
        low, high = interval or (truth, truth)
        named = (low > 0) - (high < 0)
        right = bool(named) and named == np.sign(truth)
        self.counts += (1, low <= truth <= high, right, bool(named) and not right, high - low)

    @property
    def shares(self) -> Floats:
        """Return coverage, right, wrong and mean width."""
        shares: Floats = self.counts[1:] / self.counts[0]
        return shares


def compare_designs(
    datasets: Sequence[Population], labels: Sequence[int], queries: int, draws: int, seed: int
) -> tuple[dict[int, Tally], dict[int, Tally], float]:
    """Return the tallies of drawn pairs by labels and of whole queries by queries, and the mean pool size."""
    rng = np.random.default_rng(seed)
    pairs = {count: Tally() for count in labels}
    whole = {count: Tally() for count in _WHOLE if count <= queries}
    for population in datasets:
        truth = float(population.sum_by_query(population.human).mean())
        for _ in range(draws):
            dataset = population.resample(rng.integers(0, population.queries, queries))
            for count in labels:
                pairs[count].add(label_pairs(dataset, count, int(rng.integers(2**31))), truth)
            for count in whole:
                whole[count].add(label_queries(dataset, count), truth)
    return pairs, whole, float(np.mean([dataset.pooled.mean() for dataset in datasets]))


def find_whole_labels(width: float, whole: Mapping[int, Tally], pooled: float) -> float:
    """Return how many labels on whole queries give intervals of this mean width."""
    counts = np.array(list(whole))
    widths = np.array([tally.shares[3] for tally in whole.values()])
    order = np.argsort(widths)
    return float(np.exp(np.interp(np.log(width), np.log(widths[order]), np.log(counts[order])))) * pooled


def main() -> None:
    """Print a row for each measure and number of labels, over all assessors."""
    parser = argparse.ArgumentParser(description="labels on drawn pairs and on whole queries")
    parser.add_argument("folder", type=Path)
    parser.add_argument("--measures", nargs="*", default=["P@5", "sDCG@10", "DCG(dcg='exp-log2')@10"])
    parser.add_argument("--labels", type=int, nargs="*", default=[50, 100, 150, 300, 600])
    parser.add_argument("--queries", type=int, default=200)
    parser.add_argument("--pairs", type=int, default=10, help="pairs of engines for each assessor")
    parser.add_argument("--draws", type=int, default=40)
    parser.add_argument("--seed", type=int, default=0)
    arguments = parser.parse_args()
    people = read_grades(arguments.folder / "qrels.human.txt")
    assessors = {
        path.name: read_grades(path)
        for path in sorted(arguments.folder.glob("qrels.*.txt"))
        if path.name != "qrels.human.txt"
    }
    queries = sorted({query for query, _ in people})
    lists = read_lists(arguments.folder, set(queries))
    rng = np.random.default_rng(arguments.seed)
    print(f"{'measure':24}{'labels':>7}{'coverage':>10}{'width':>8}{'right':>8}{'wrong':>8}{'ratio':>7}"
          f"{'PPI++ coverage':>16}{'right':>8}{'wrong':>8}  (at as many labels)")  # fmt: skip
    chosen: dict[str, list[tuple[str, str]]] = {name: [] for name in assessors}
    for pairs in chosen.values():
        while len(pairs) < arguments.pairs:
            one, other = rng.choice(sorted(lists), 2, replace=False).tolist()
            shared = np.mean([len({*lists[one].get(q, ())} & {*lists[other].get(q, ())}) for q in queries])
            if shared < _MAX_SHARED:
                pairs.append((one, other))
    for text in arguments.measures:
        datasets = [
            make_population(lists, pair, queries, people, assessors[name], parse_measure(text))
            for name, pairs in chosen.items()
            for pair in pairs
        ]
        drawn, whole, pooled = compare_designs(
            datasets, arguments.labels, arguments.queries, arguments.draws, arguments.seed
        )
        for count, tally in drawn.items():
            coverage, right, wrong, width = tally.shares
            ratio = count / find_whole_labels(width, whole, pooled)
            nearest = min(whole, key=lambda queries: abs(queries * pooled - count))
            beside = whole[nearest].shares
            print(f"{text:24}{count:7}{coverage:10.1%}{width:8.3f}{right:8.1%}{wrong:8.2%}{ratio:7.2f}"
                  f"{beside[0]:16.1%}{beside[1]:8.1%}{beside[2]:8.2%}", flush=True)  # fmt: skip


if __name__ == "__main__":
    main()
