"""Expected gains: measures with the mean gain of each result over the probabilities of its grades.

A grade that is nearly as probable as the next one counts with both. It makes no call.
"""

from collections import defaultdict
from collections.abc import Mapping

import numpy as np

from judge.analysis.dimension_summary import DimensionResult, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.dataset.pool import list_firsts
from judge.measure.formulas import (
    Floats,
    apply_formula,
    compute_gains,
    convert_non_finite,
    dcg,
    find_largest_value,
)
from judge.measure.measures import Measure
from judge.messages import Message
from judge.records import ListKey, PairKey, Ranking

#: Measures that are sums over ranks, so that their mean over grades follows from the mean gains.
_LINEAR_MEASURES = ("nDCG", "sDCG", "DCG", "P")


def measure_expected_gains(run: JudgedRun, _: object) -> DimensionResult:
    """Return the sums over ranks among the run's measures by expected gains, and how certain the grades are.

    A grade without probabilities, such as that of a person, is certain. A list with an open grade has no
    value. A query has no nDCG with an open grade in its pool, or with nothing but grades of 0: the small
    gains that are left would count as much as those of other queries.
    """
    scale, depth = run.spec.scale, run.pool.depth
    shares, certain = _average_shares(run)
    if not certain:
        remark = Message(
            "no grade of this run has probabilities; those of one decision model have, such as"
            " -m decision:openai:NAME, but not those of a panel"
        )
        return summarise_dimension({}, run.dataset.engines, (remark,))
    measures = [
        measure
        for measure in run.spec.measures
        if measure.name in _LINEAR_MEASURES and measure.compares_engines
    ]
    measures = measures or [Measure("sDCG", depth)]
    values: dict[ListKey, dict[str, float | None]] = defaultdict(dict)
    rankings = [ranking for ranking in run.dataset.rankings if ranking.error is None]
    for measure in measures:
        gains = compute_gains(measure, scale)
        expected = {key: float(share @ gains) for key, share in shares.items()}
        divisors = dict.fromkeys(run.dataset.queries, 1.0)
        if measure.name == "nDCG":
            divisors = _sum_ideals(run, expected, measure)
        for ranking in rankings:
            gain = _list_gains(ranking, expected, measure.choose_cutoff(depth))
            divisor = divisors.get(ranking.query_id) or np.nan
            value = convert_non_finite(float(apply_formula(measure, gain, gains[-1])) / divisor)
            values[ranking.key][f"expected {measure}"] = value
    ranges = {f"expected {measure}": (0.0, find_largest_value(measure, scale, depth)) for measure in measures}
    name = f"probability of the grade@{depth}"
    for ranking in rankings:
        ids = [snippet.id for snippet in ranking.snippets[:depth]]
        known = [certain[key] for snippet_id in ids if (key := (ranking.query_id, snippet_id)) in certain]
        values[ranking.key][name] = sum(known) / len(known) if known else None
    return summarise_dimension(values, run.dataset.engines, ranges=ranges)


def _average_shares(run: JudgedRun) -> tuple[dict[PairKey, Floats], dict[PairKey, float]]:
    """Return the (grades,) mean probabilities of each graded pair, and the mean probability of its grade.

    The second has only pairs whose grades have probabilities.
    """
    top = run.spec.scale.top
    rows: dict[PairKey, list[Floats]] = defaultdict(list)
    certain: dict[PairKey, list[float]] = defaultdict(list)
    for judgment in run.judgments:
        if judgment.grade is None:
            continue
        key, shares = judgment.key, judgment.probabilities
        if len(shares) == top + 1:
            rows[key].append(np.array(shares))
            certain[key].append(shares[judgment.grade])
        else:
            rows[key].append(np.eye(top + 1)[judgment.grade])
    return (
        {key: np.mean(of_pair, axis=0) for key, of_pair in rows.items()},
        {key: sum(shares) / len(shares) for key, shares in certain.items()},
    )


def _list_gains(ranking: Ranking, expected: Mapping[PairKey, float], cutoff: int) -> Floats:
    """Return the gains down to `cutoff`, 0 where a document comes again, NaN where one is unknown."""
    gains = [
        expected.get((ranking.query_id, snippet_id), np.nan) if snippet_id else 0.0
        for snippet_id in list_firsts(ranking)[:cutoff]
    ]
    return np.array(gains + [0.0] * (cutoff - len(gains)))


def _sum_ideals(run: JudgedRun, expected: Mapping[PairKey, float], measure: Measure) -> dict[str, float]:
    """Return the DCG of the best order of the documents of each query that has an nDCG."""
    best: dict[str, dict[str, float]] = defaultdict(lambda: defaultdict(float))
    relevant = {judgment.query_id for judgment in run.judgments if judgment.grade}
    for ranking in run.dataset.rankings:
        for snippet, document in zip(ranking.snippets, ranking.documents, strict=False):
            gain = expected.get((ranking.query_id, snippet.id), np.nan)
            of_query = best[ranking.query_id]
            of_query[document] = float(np.maximum(of_query[document], gain))
    cutoff = measure.choose_cutoff(run.pool.depth)
    return {
        query_id: float(dcg(-np.sort(-np.array(list(gains.values())))[:cutoff]))
        for query_id, gains in best.items()
        if query_id in relevant and not np.isnan(list(gains.values())).any()
    }
