"""Values of people and of an assessor to correct, and the numbers that come out."""

from __future__ import annotations

import numpy as np

from judge.measure.formulas import Floats
from judge.measure.ppi import Corrected, LabelledSample, correct_mean


def floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def corrected_mean(human: Floats, assessor: Floats, rest: Floats, level: float = 0.95) -> Corrected:
    """The correction of values that are all known."""
    return correct_mean(LabelledSample((), human, assessor, rest), level)


def numbers(corrected: Corrected) -> list[float]:
    """All but the counts, NaN for what is not known."""
    ends = [float("nan") if end is None else end for end in (corrected.low, corrected.high, corrected.p)]
    return [corrected.estimate, *ends[:2], corrected.se, corrected.weight, ends[2]]


def graded(n: int, rest: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """P@10 by people and by an assessor that mostly agrees; the human values of the rest are dropped."""
    chance = np.random.default_rng(seed)
    relevant = chance.binomial(10, chance.uniform(0.2, 0.8, n + rest))
    seen = chance.binomial(relevant, 0.9) + chance.binomial(10 - relevant, 0.2)
    return relevant[:n] / 10, seen[:n] / 10, seen[n:] / 10
