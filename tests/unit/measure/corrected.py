"""Values of people and of an assessor to correct, and the numbers that come out."""

from __future__ import annotations

import numpy as np

from judge.measure.formulas import Floats
from judge.measure.ppi import (
    CorrectedDifference,
    CorrectedEngineMean,
    LabelledSample,
    compute_two_sided_p,
    correct_mean,
)

NAN = float("nan")


def correct_known_mean(
    human: Floats, assessor: Floats, rest: Floats, level: float = 0.95
) -> CorrectedEngineMean:
    """The correction of values that are all known."""
    return correct_mean(LabelledSample((), human, assessor, rest), level)


def list_numbers(row: CorrectedEngineMean | CorrectedDifference) -> list[float]:
    """All but the counts, NaN for what is not known."""
    p = row.p if isinstance(row, CorrectedDifference) else compute_two_sided_p(row)
    low, high = row.ci95 or (NAN, NAN)
    return [row.corrected, low, high, row.se, row.weight, NAN if p is None else p]


def draw_graded(n: int, rest: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """P@10 by people and by an assessor that mostly agrees; the human values of the rest are dropped."""
    chance = np.random.default_rng(seed)
    relevant = chance.binomial(10, chance.uniform(0.2, 0.8, n + rest))
    seen = chance.binomial(relevant, 0.9) + chance.binomial(10 - relevant, 0.2)
    return relevant[:n] / 10, seen[:n] / 10, seen[n:] / 10
