"""Formulas of the measures: what a list of gains scores.

Gains lie along the last axis, best rank first; the result has the other axes. For ERR the gains are the
probabilities that a reader stops; for measures of binary relevance they are 0 and 1.
"""

from functools import lru_cache
from math import log2

import numpy as np

from judge.measure.measures import Measure
from judge.measure.numeric import Bools, Floats, divide
from judge.records import Scale

#: Ranks of an ideal list in memory at once.
_BLOCK = 1_000_000


def compute_gains(measure: Measure, scale: Scale) -> Floats:
    """Return the (top + 1,) gains of the grades under `measure`: they never fall, and that of grade 0 is 0.

    Raise `InputError` when `rel` of the measure is above the top grade of the scale.
    """
    grade: Floats = np.arange(scale.top + 1, dtype=np.float64)
    exponential: Floats = np.exp2(grade) - 1
    if measure.kind.gains == "stop":
        return np.divide(exponential, np.exp2(scale.top))
    if measure.kind.gains == "grade":
        return exponential if measure.dcg == "exp-log2" else grade
    return (grade >= measure.find_lowest_relevant(scale)).astype(np.float64)


def find_largest_value(measure: Measure, scale: Scale, depth: int) -> float:
    """Return the largest value of `measure` on a query whose lists are judged down to `depth`."""
    if measure.name in ("RBP", "ERR"):
        length, top_gain = min(measure.choose_cutoff(depth), _BLOCK), compute_gains(measure, scale)[-1]
        return float(apply_formula(measure, np.full(length, top_gain)))
    if measure.name != "DCG":
        return 1.0
    return _compute_ideal_dcg(measure.choose_cutoff(depth), float(compute_gains(measure, scale)[-1]))


def apply_formula(measure: Measure, gain: Floats, top_gain: float = 1.0) -> Floats:
    """Return the value of lists of `gain` under `measure`, before a division by the pool.

    `gain` ends at the cutoff of the measure, or at the end of the lists. `top_gain` is the gain of the top
    grade: the ideal list of sDCG consists of it.
    """
    match measure.name:
        case "nDCG" | "DCG":
            return dcg(gain)
        case "sDCG":
            return np.divide(dcg(gain), _compute_ideal_dcg(measure.choose_cutoff(gain.shape[-1]), top_gain))
        case "AP":
            return sum_precision(gain)
        case "P":
            return np.divide(_sum(gain), measure.choose_cutoff(gain.shape[-1]))
        case "R" | "SetP":
            return _sum(gain)
        case "RR" if measure.granular:
            return divide(_sum(gain / _number_ranks(gain)), _sum(gain), 0.0)
        case "RR" | "ERR":
            return _sum(_compute_stop_probability(gain) / _number_ranks(gain))
        case "Success":
            return _sum(_compute_stop_probability(gain))
        case "RBP":
            return _sum(gain * (1 - measure.p) * np.power(measure.p, _number_ranks(gain) - 1))
    raise ValueError(f"{measure} has no formula over gains")


def dcg(gain: Floats) -> Floats:
    """Return the discounted cumulated gain: the sum of gain / log2(1 + rank) (Järvelin & Kekäläinen 2002)."""
    return _sum(gain / np.log2(1 + _number_ranks(gain)))


@lru_cache(maxsize=64)
def _compute_ideal_dcg(cutoff: int, top_gain: float) -> float:
    """Return the DCG of `cutoff` results of `top_gain`, in blocks: a cutoff can be far beyond all lists."""
    blocks = (np.arange(first, min(first + _BLOCK, cutoff)) for first in range(0, cutoff, _BLOCK))
    return sum(float(_sum(top_gain / np.log2(2 + ranks))) for ranks in blocks)


def sum_precision(relevance: Floats) -> Floats:
    """Return the sum of the precision at each relevant rank: AP before its division (trec_eval map_cut)."""
    before = np.cumsum(relevance, -1) - relevance
    return _sum(relevance * (1 + before) / _number_ranks(relevance))


def _compute_stop_probability(stop: Floats) -> Floats:
    """Return the (..., ranks) probabilities that a reader stops at a rank and at none above.

    `stop` is the probability to stop at a rank that was reached: the cascade model of Chapelle et al. 2009.
    With values of 0 and 1 the result marks the first relevant rank.
    """
    reached = np.ones_like(stop)
    np.cumprod(1 - stop[..., :-1], -1, out=reached[..., 1:])
    return stop * reached


def _number_ranks(gain: Floats) -> Floats:
    return np.arange(1, gain.shape[-1] + 1, dtype=np.float64)


def _sum(values: Floats) -> Floats:
    total: Floats = np.add.reduce(values, axis=-1)
    return total


#: How much less a repeated point counts in alpha-nDCG.
_NOVELTY_ALPHA = 0.5


def compute_alpha_ndcg(ranking: Bools, pool: Bools, depth: int) -> float | None:
    """Return alpha-nDCG of `ranking` down to `depth`; None when no document of the pool states a point.

    It is that of Clarke et al. 2008, as ndeval of TREC computes it. A row (documents, points) is what a
    document states. The ideal order is the greedy one of the `pool`.
    """
    order: list[int] = []
    seen = np.zeros(pool.shape[1])
    for _ in range(min(depth, len(pool))):
        gains = _compute_novel_gains(pool, seen)
        gains[order] = -1.0
        order.append(int(gains.argmax()))
        seen += pool[order[-1]]
    ideal = _compute_alpha_dcg(pool[order])
    return _compute_alpha_dcg(ranking[:depth]) / ideal if ideal else None


def _compute_novel_gains(documents: Bools, seen: Floats) -> Floats:
    """Return the gain of each of the (documents, points); `seen` counts the documents with each point."""
    return _sum(documents * (1 - _NOVELTY_ALPHA) ** seen)


def _compute_alpha_dcg(documents: Bools) -> float:
    """Return alpha-DCG: the gain at rank r is divided by log2(1 + r)."""
    gains = _compute_novel_gains(documents, np.cumsum(documents, axis=0) - documents)
    return sum(float(gain) / log2(1 + rank) for rank, gain in enumerate(gains, start=1))
