"""Expected gains: measures with the mean gain of each result over the probabilities of its grades.

A grade that is nearly as probable as the next one counts with both. It makes no call.
"""

from collections.abc import Iterable

import numpy as np

from judge.analysis.dimension_summary import DimensionResult, summarise_dimension
from judge.analysis.judged_run import JudgedRun
from judge.measure.arrays import find_origins
from judge.measure.columns import ResultColumns
from judge.measure.formulas import apply_formula, compute_gains, find_largest_value
from judge.measure.measures import Measure
from judge.measure.numeric import Bools, Floats, Ints, convert_non_finite, divide
from judge.measure.score import compute_nan_mean
from judge.messages import Message
from judge.records import Judgment


def measure_expected_gains(run: JudgedRun, _: object) -> DimensionResult:
    """Return the sums over ranks among the run's measures by expected gains, and how certain the grades are.

    A grade without probabilities, such as that of a person, is certain. A list with an open grade has no
    value. A query has no nDCG with an open grade in its pool, or with nothing but grades of 0. The small
    gains that are left would count as much as those of other queries.
    """
    scale, depth = run.spec.scale, run.pool.depth
    results, judgments = run.tabulate()
    rows, shape = judgments.rows, (len(results.snippet_ids), scale.top + 1)
    shares, certainty = _average_shares(run.judgments, rows["pair"], shape)
    if np.isnan(certainty).all():
        remark = Message(
            "no grade of this run has probabilities; those of one decision model have, such as"
            " -m decision:openai:NAME, but not those of a panel"
        )
        return summarise_dimension({}, run.dataset.engines, (remark,))
    measures = list(filter(_is_linear, run.spec.measures)) or [Measure("sDCG", depth)]
    # A document gains once in a list. Past the end of one, the pair is -1: the last entry.
    is_first = find_origins(results.document) == np.arange(results.document.shape[-1])
    has_gain = np.isin(
        np.arange(len(results.queries)), rows["query"][rows["is_graded"] & (rows["grade"] > 0)]
    )
    columns: dict[str, Floats] = {}
    for measure in measures:
        gains, cutoff = compute_gains(measure, scale), measure.choose_cutoff(depth)
        expected = np.append(shares @ gains, 0.0)[results.pair]
        value = apply_formula(measure, np.where(is_first, expected, 0.0)[..., :cutoff], float(gains[-1]))
        if measure.kind.divisor == "ideal":
            value = divide(value, _compute_ideals(measure, results, expected, has_gain), np.nan)
        columns[f"expected {measure}"] = value
    ranges = {f"expected {measure}": (0.0, find_largest_value(measure, scale, depth)) for measure in measures}
    of_grades = np.append(certainty, np.nan)[results.pair]
    columns[f"probability of the grade@{depth}"] = compute_nan_mean(of_grades, axis=-1)
    values = {
        (engine, query): {name: convert_non_finite(column[row, at]) for name, column in columns.items()}
        for row, engine in enumerate(results.engines)
        for at, query in enumerate(results.queries)
        if not results.without_list[row, at]
    }
    return summarise_dimension(values, run.dataset.engines, ranges=ranges)


def _is_linear(measure: Measure) -> bool:
    """Return whether the mean over grades follows from the mean gains, before the ideal divides it."""
    is_sum = measure.kind.is_sum_over_ranks or measure.kind.divisor == "ideal"
    return is_sum and measure.compares_engines


def _average_shares(
    judgments: Iterable[Judgment], pairs: Ints, shape: tuple[int, int]
) -> tuple[Floats, Floats]:
    """Return the (pairs, grades) mean probabilities of each pair, and the mean probability of its grade.

    `pairs` has the pair of each judgment, -1 for none. NaN without a grade, or without probabilities.
    """
    totals, counts = np.zeros(shape), np.zeros(shape[0])
    certain, certain_counts = np.zeros(shape[0]), np.zeros(shape[0])
    for judgment, pair in zip(judgments, pairs.tolist(), strict=True):
        if judgment.grade is None or pair < 0:
            continue
        shares = judgment.probabilities
        counts[pair] += 1
        if len(shares) == shape[1]:
            totals[pair] += shares
            certain[pair] += shares[judgment.grade]
            certain_counts[pair] += 1
        else:
            totals[pair, judgment.grade] += 1
    return divide(totals, counts[:, None], np.nan), divide(certain, certain_counts, np.nan)


def _compute_ideals(measure: Measure, results: ResultColumns, expected: Floats, has_gain: Bools) -> Floats:
    """Return the (queries,) values of the best order of each query's documents, NaN where it has no nDCG."""
    best = np.zeros((len(results.queries), int(results.document.max(initial=0)) + 1))
    engine, query, rank = np.nonzero(results.pair >= 0)
    np.maximum.at(best, (query, results.document[engine, query, rank]), expected[engine, query, rank])
    ideal = apply_formula(measure, -np.sort(-best)[:, : measure.choose_cutoff(results.depth)])
    return np.where(has_gain & ~np.isnan(best).any(1), ideal, np.nan)
