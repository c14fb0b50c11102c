"""Owns whom an assessor's errors favour: each engine's bias against people, and whether they differ."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from itertools import combinations

import numpy as np

from judge.measure.agreement import Paired
from judge.measure.estimates import Estimate, estimate, estimates
from judge.measure.formulas import Floats, Ints, quotient
from judge.measure.resampling import enough_resamples, holm, randomised_p
from judge.measure.score import mean_known

#: How often an engine may be called favoured by chance: over all pairs of engines.
ALPHA = 0.05
_UNSEEN = "none of its results has both grades"


@dataclass(frozen=True, slots=True)
class EngineBias:
    """The mean of assessor - people over one engine's `results` results with both grades."""

    engine: str
    results: int
    queries: int
    bias: Estimate


@dataclass(frozen=True, slots=True)
class BiasGap:
    """The two engines that the assessor treats most differently: what its errors may add to a comparison.

    `difference` is the bias for `favoured` minus that for `other`, never below 0; its interval is that of
    these two alone. `p_holm` is of the randomisation test of their mean biases by query, adjusted over
    all pairs of engines (Holm 1979): below `ALPHA` chance doesn't explain that one is favoured.
    """

    favoured: str
    other: str
    difference: Estimate
    p_holm: float | None


def engine_bias(engines: Sequence[str], engine: Ints, shown: Paired) -> tuple[EngineBias, ...]:
    """How far the assessor over- or underrates each of `engines`, in their order.

    `shown` has a row for every result of an engine that has both grades, `engine` says by its place in
    `engines` whose it is; a result that two engines show is in it twice. Both grades are on one scale:
    0 and 1 for not relevant and relevant where the scales differ.
    """
    cells = _by_engine(len(engines), engine, shown)
    flat = cells.reshape(len(cells), 2 * len(engines))
    shared = estimates(flat, {str(at): (partial(_bias_of, at), _UNSEEN) for at in range(len(engines))})
    return tuple(_engine_bias(name, cells[:, at], shared[str(at)]) for at, name in enumerate(engines))


def widest_gap(engines: Sequence[str], engine: Ints, shown: Paired) -> BiasGap | None:
    """The largest difference in bias between two engines; None unless two of them have results.

    Takes what `engine_bias` takes. Differences that chance doesn't explain come before wider ones that
    it may: an engine with two results can be far from all others and mean nothing.
    """
    cells = _by_engine(len(engines), engine, shown)
    biases = _mean(cells.sum(0))
    known = [at for at in range(len(engines)) if not np.isnan(biases[at])]
    order = sorted(known, key=lambda at: (-biases[at], engines[at]))
    pairs = list(combinations(order, 2))
    if not pairs:
        return None
    chances = _by_chance(_mean(cells), pairs)
    clear = [at for at, p in enumerate(chances) if p < ALPHA]
    widest = max(clear or range(len(pairs)), key=lambda at: biases[pairs[at][0]] - biases[pairs[at][1]])
    p = chances[widest]
    (favoured, other) = pairs[widest]
    both = cells[:, [favoured, other]]
    difference = estimate(both[both[..., 1].any(1)].reshape(-1, 4), _difference, _UNSEEN)
    return BiasGap(engines[favoured], engines[other], difference, None if np.isnan(p) else p)


def _by_chance(biases: Floats, pairs: Sequence[tuple[int, int]]) -> list[float]:
    """The p of each pair of engines, the favoured one first, from (queries, engines) biases."""
    one, other = np.array(pairs).T
    differences = biases[:, one] - biases[:, other]
    p = randomised_p(differences, resamples=enough_resamples(len(pairs)))
    # Lists of different lengths can favour one engine by result and the other by query: neither, then.
    p[mean_known(differences, axis=0) < 0] = 1.0
    found: list[float] = holm(p).tolist()
    return found


def _by_engine(engines: int, engine: Ints, shown: Paired) -> Floats:
    """(queries, engines, 2): the summed assessor - people, and over how many results."""
    numbers, row = np.unique(shown.query, return_inverse=True)
    cells = np.zeros((len(numbers), engines, 2))
    excess = (shown.assessor - shown.human).astype(np.float64)
    np.add.at(cells, (row, engine), np.stack([excess, np.ones_like(excess)], axis=1))
    return cells


def _engine_bias(name: str, cells: Floats, shared: Estimate) -> EngineBias:
    present = cells[cells[:, 1] > 0]
    # Where one query is all there is, resamples hold it or nothing: a range of no width.
    bias = estimate(present, _mean, _UNSEEN) if len(present) == 1 else shared
    return EngineBias(name, int(present[:, 1].sum()), len(present), bias)


def _bias_of(engine: int, sums: Floats) -> Floats:
    """The mean for one engine of sums (..., 2 × engines)."""
    return _mean(sums[..., 2 * engine : 2 * engine + 2])


def _mean(sums: Floats) -> Floats:
    return quotient(sums[..., 0], sums[..., 1], np.nan)


def _difference(sums: Floats) -> Floats:
    return _mean(sums[..., :2]) - _mean(sums[..., 2:])
