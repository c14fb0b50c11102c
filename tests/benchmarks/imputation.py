"""The bias of imputed scores: `python -m tests.benchmarks.imputation [FOLDER]`, simulated or on TREC DL 2021.

FOLDER holds `qrels.human.txt` and `runs_top20/*.run.gz`. Five systems are taken, evenly spaced by name. Each
data set is scored with its grades, and with yes or no for each lowest relevant grade. The standard errors are
over the simulated data sets, and over the folds on TREC data.
"""

import gzip
import sys
from collections import defaultdict
from collections.abc import Iterator, Sequence
from pathlib import Path

import numpy as np

from judge.records import BINARY, GRADED
from tests.unit.measure.missing import DEPTH, Bias, Judged, measure_bias, simulate_engines

MEASURES = "nDCG@10 AP@10 P@5 RR@10"
PARTS = 20
SETS, QUERIES, NOISES = 12, 53, (0.6, 0.8, 1.0, 1.2, 1.4)


def read_trec(folder: Path, systems: int) -> Judged:
    """Return `systems` of the runs with the results that people judged, down to the depth."""
    grades = {}
    for line in (folder / "qrels.human.txt").read_text().splitlines():
        query, _, document, grade = line.split()
        grades[query, document] = int(grade)
    topics = {query for query, _ in grades}
    files = sorted((folder / "runs_top20").glob("*.run.gz"))
    lists = {}
    for path in files[:: max(1, len(files) // systems)][:systems]:
        ranked: dict[str, list[str]] = defaultdict(list)
        for query, document in _read_results(path):
            if query in topics and len(ranked[query]) < DEPTH and (query, document) in grades:
                ranked[query].append(document)
        lists[path.name.removesuffix(".run.gz")] = dict(ranked)
    return Judged(lists, grades, GRADED)


def _read_results(path: Path) -> Iterator[tuple[str, str]]:
    """Yield query and document in the order of the ranks."""
    with gzip.open(path, "rt") as lines:
        rows = [line.split() for line in lines]
    for query, _, document, *_ in sorted(rows, key=lambda row: (row[0], int(row[3]))):
        yield query, document


def vary_relevance(data: Judged) -> Iterator[tuple[str, Judged]]:
    """Yield the graded data set, and one with yes or no for each lowest relevant grade."""
    yield "graded", data
    for least in range(1, GRADED.top + 1):
        grades = {pair: int(grade >= least) for pair, grade in data.grades.items()}
        yield f"grade >= {least}", Judged(data.lists, grades, BINARY)


def average_sets(results: Sequence[dict[str, Bias]]) -> dict[str, Bias]:
    """Return the mean bias by each measure over the data sets, with its standard error."""
    averages = {}
    for measure in results[0]:
        sample = np.array([(each[measure].mean, each[measure].difference) for each in results])
        means, errors = sample.mean(0), sample.std(0, ddof=1) / np.sqrt(len(sample))
        averages[measure] = Bias(means[0], errors[0], means[1], errors[1])
    return averages


def show(name: str, result: dict[str, Bias]) -> None:
    """Print a line for each measure."""
    for measure, each in result.items():
        print(
            f"{name:<12}{measure:<10}mean {each.mean:+.4f} ± {each.mean_se:.4f}"
            f"   difference {each.difference:+.4f} ± {each.difference_se:.4f}"
        )


if __name__ == "__main__":
    if sys.argv[1:]:
        graded = read_trec(Path(sys.argv[1]), 5)
        print(", ".join(graded.lists))
        for name, data in vary_relevance(graded):
            show(name, measure_bias(data, MEASURES, PARTS, seed=1))
    else:
        results = defaultdict(list)
        for seed in range(SETS):
            for name, data in vary_relevance(simulate_engines(QUERIES, NOISES, seed)):
                results[name].append(measure_bias(data, MEASURES, PARTS, seed=seed))
        for name, each in results.items():
            show(name, average_sets(each))
