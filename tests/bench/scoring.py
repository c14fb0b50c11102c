"""Owns the timing of scoring: `python -m tests.bench.scoring`, ours beside pytrec_eval in one run.

1,000 queries, 5 engines, 10 results, records to means and bounds; a second round leaves 2 % unjudged.
"""

from __future__ import annotations

import random
import time
from collections.abc import Callable
from typing import Any

import pytrec_eval

from judge.measure.arrays import build_arrays
from judge.measure.engine_summary import summarise_engines
from judge.measure.measures import DEFAULT_MEASURES, parse_measures
from judge.measure.score import score_rankings
from judge.records import GRADED, Judgment, Ranking
from tests.measure.world import World

ENGINES, QUERIES, DEPTH = 5, 1000, 10
NAMES = {"ndcg_cut_10", "map_cut_10", "P_5", "recip_rank"}


def world(unjudged: float) -> World:
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
    return World(returned, [grades], GRADED, DEPTH)


def fastest(work: Callable[[], object], rounds: int = 5) -> float:
    """Milliseconds of the fastest round."""
    times = []
    for _ in range(rounds):
        started = time.perf_counter()
        work()
        times.append(time.perf_counter() - started)
    return 1000 * min(times)


def theirs(rankings: list[Ranking], judgments: list[Judgment]) -> list[Any]:
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
    here, measures = world(unjudged), parse_measures(DEFAULT_MEASURES)
    rankings, documents, judgments = here.rankings(), here.documents(), here.judgments()
    scores = score_rankings(rankings, documents, judgments, measures, GRADED, depth=DEPTH)
    times = {
        "records to arrays": fastest(
            lambda: build_arrays(rankings, documents, judgments, GRADED, depth=DEPTH)
        ),
        "records to scores": fastest(
            lambda: score_rankings(rankings, documents, judgments, measures, GRADED, depth=DEPTH)
        ),
        "scores to means": fastest(lambda: summarise_engines(scores)),
        "scores to rows": fastest(lambda: list(scores.to_records())),
        "pytrec_eval and its dicts": fastest(lambda: theirs(rankings, judgments)),
    }
    print(
        f"{ENGINES} engines, {QUERIES} queries, {DEPTH} deep, {len(judgments)} pairs, {unjudged:.0%} unjudged"
    )
    for name, milliseconds in times.items():
        print(f"  {name:<28}{milliseconds:8.1f} ms")
    ratio = times["records to scores"] / times["pytrec_eval and its dicts"]
    print(f"  ours (with bounds) / theirs {ratio:8.2f}")


if __name__ == "__main__":
    for share in (0.0, 0.02):
        compare(share)
