"""Time scoring beside pytrec_eval and ir_measures in one run: `python -m tests.benchmarks.scoring`.

1,000 queries, 5 engines, 10 results, records to means and bounds; a second round leaves 2% unjudged. Then
10,000 queries, 5 engines, 100 results from arrays, beside the evaluators of the others with their
dictionaries and records ready; ir_measures scores a tenth of the queries, and its time counts ten times.
"""

import random
import time
from collections.abc import Callable
from typing import Any

import ir_measures
import numpy as np
import pytrec_eval
from ir_measures import AP, RR, P, nDCG

from judge.measure.arrays import RankedLists, build_graded_lists, find_best_grades
from judge.measure.columns import tabulate_judgments, tabulate_results
from judge.measure.engine_summary import summarise_engines
from judge.measure.measures import DEFAULT_MEASURES, parse_measures
from judge.measure.score import score_rankings
from judge.measure.values import compute_values
from judge.records import GRADED, Judgment, Ranking
from tests.unit.measure.judged_dataset import JudgedDataset

ENGINES, QUERIES, DEPTH = 5, 1000, 10
NAMES = {"ndcg_cut_10", "map_cut_10", "P_5", "recip_rank"}


def make_dataset(unjudged: float) -> JudgedDataset:
    rng = random.Random(1)
    documents = [f"d{at}" for at in range(40)]
    returned = {
        f"engine {engine}": {f"q{query}": rng.sample(documents, DEPTH) for query in range(QUERIES)}
        for engine in range(ENGINES)
    }
    pairs = {(query, name) for lists in returned.values() for query, names in lists.items() for name in names}
    grades = {
        pair: None if rng.random() < unjudged else rng.choices(range(4), [6, 3, 2, 1])[0]
        for pair in sorted(pairs)
    }
    return JudgedDataset(returned, [grades], GRADED, DEPTH)


def time_fastest(work: Callable[[], object], rounds: int = 5) -> float:
    """Milliseconds of the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * min(times)


def evaluate_by_pytrec_eval(rankings: list[Ranking], judgments: list[Judgment]) -> list[Any]:
    """Every measure of every engine, the dictionaries that pytrec_eval asks for included."""
    qrels: dict[str, dict[str, int]] = {}
    for judgment in judgments:
        qrels.setdefault(judgment.query_id, {})[judgment.snippet_id] = judgment.grade or 0
    runs: dict[str, dict[str, dict[str, float]]] = {}
    for ranking in rankings:
        ranked = {snippet.id: -float(rank) for rank, snippet in enumerate(ranking.snippets)}
        runs.setdefault(ranking.engine, {})[ranking.query_id] = ranked
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, NAMES, relevance_level=2)
    return [evaluator.evaluate(run) for run in runs.values()]


def compare(unjudged: float) -> None:
    here, measures = make_dataset(unjudged), parse_measures(DEFAULT_MEASURES)
    rankings, judgments = here.make_rankings(), here.make_judgments()
    scores = score_rankings(rankings, judgments, measures, GRADED, depth=DEPTH)
    results = tabulate_results(rankings, DEPTH)
    columns = tabulate_judgments(judgments, results)
    times = {
        "records to columns": time_fastest(
            lambda: tabulate_judgments(judgments, tabulate_results(rankings, DEPTH))
        ),
        "columns to arrays": time_fastest(lambda: build_graded_lists(results, columns, GRADED)),
        "records to scores": time_fastest(
            lambda: score_rankings(rankings, judgments, measures, GRADED, depth=DEPTH)
        ),
        "scores to means": time_fastest(lambda: summarise_engines(scores, results)),
        "scores to rows": time_fastest(lambda: list(scores.to_records())),
        "pytrec_eval and its dicts": time_fastest(lambda: evaluate_by_pytrec_eval(rankings, judgments)),
    }
    print(
        f"{ENGINES} engines, {QUERIES} queries, {DEPTH} deep, {len(judgments)} pairs, {unjudged:.0%} unjudged"
    )
    for name, milliseconds in times.items():
        print(f"  {name:<28}{milliseconds:8.1f} ms")
    ratio = times["records to scores"] / times["pytrec_eval and its dicts"]
    print(f"  ours (with bounds) / theirs {ratio:8.2f}")


def compare_kernels(queries: int = 10_000, results: int = 100) -> None:
    """Print the CPU seconds of all default measures, from data that is ready."""
    rng = np.random.default_rng(1)
    grades = rng.choice(4, (queries, 2 * results), p=[0.6, 0.2, 0.15, 0.05])
    document = np.stack(
        [rng.permuted(np.tile(np.arange(2 * results), (queries, 1)), axis=1) for _ in range(ENGINES)]
    )
    document = document[..., :results]
    grade = np.take_along_axis(np.broadcast_to(grades, (ENGINES, *grades.shape)), document, axis=-1)
    lists = RankedLists(
        depth=results,
        grade=grade,
        origin=np.broadcast_to(np.arange(results), grade.shape),
        document=document,
        unjudged_index=np.full_like(document, -1),
        best=find_best_grades(grade, document, 2 * results),
    )
    measures = parse_measures(DEFAULT_MEASURES)
    ours = min(
        count_seconds(lambda: [compute_values(each, lists, GRADED) for each in measures]) for _ in range(3)
    )
    qrels = {
        str(query): {str(name): int(one) for name, one in enumerate(row)} for query, row in enumerate(grades)
    }
    runs = [
        {
            str(query): {str(name): -float(rank) for rank, name in enumerate(row)}
            for query, row in enumerate(engine)
        }
        for engine in document
    ]
    evaluator = pytrec_eval.RelevanceEvaluator(qrels, NAMES, relevance_level=2)
    trec = count_seconds(lambda: [evaluator.evaluate(run) for run in runs])
    some = list(qrels)[: queries // 10]
    records = [ir_measures.Qrel(query, name, one) for query in some for name, one in qrels[query].items()]
    scored = [
        [ir_measures.ScoredDoc(query, name, score) for query in some for name, score in run[query].items()]
        for run in runs
    ]
    others = ir_measures.evaluator([nDCG @ 10, AP(rel=2) @ 10, P(rel=2) @ 5, RR(rel=2)], records)
    irm = 10 * count_seconds(lambda: [list(others.iter_calc(run)) for run in scored])
    print(f"{ENGINES} engines, {queries:,} queries, {results} deep, from arrays: {ours:.2f} s (CPU)")
    print(
        f"  pytrec_eval {trec:.2f} s, ours is ×{ours / trec:.2f}; ir_measures {irm:.1f} s, ×{irm / ours:.0f}"
    )


def count_seconds(work: Callable[[], object]) -> float:
    started = time.process_time()
    work()
    return time.process_time() - started


if __name__ == "__main__":
    compare_kernels()
    for share in (0.0, 0.02):
        compare(share)
