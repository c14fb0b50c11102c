"""Arrays of numbers, paired grades, scores from tables of values instead of lists, and values to correct."""

from collections.abc import Sequence
from typing import Any

import numpy as np

from judge.measure.formulas import find_largest_value
from judge.measure.grades_by_pair import PairedGrades
from judge.measure.measures import parse_measures
from judge.measure.numeric import Floats, Ints
from judge.measure.ppi import (
    CorrectedDifference,
    CorrectedEngineMean,
    LabelledSample,
    compute_two_sided_p,
    correct_mean,
)
from judge.measure.score import Scores
from judge.records import GRADED

NAN = float("nan")


def make_floats(*values: float) -> Floats:
    return np.array(values, dtype=np.float64)


def make_ints(*values: int) -> Ints:
    return np.array(values, dtype=np.int64)


def make_paired_grades(*rows: tuple[int, int, int]) -> PairedGrades:
    """Rows of query, people's grade, assessor's grade."""
    return PairedGrades(*np.array(rows, dtype=np.int64).reshape(-1, 3).T)


def tabulate_scores(
    value: Any,
    *,
    lowest: Any = None,
    highest: Any = None,
    measures: str = "P@5",
    engines: str | Sequence[str] = "",
) -> Scores:
    """Scores of `value`, (engines, queries), (…, repeats) or (…, repeats, measures); NaN is missing.

    Without `lowest` and `highest` everything is judged. Engines are called a, b, c, … or by the letters of
    `engines`, queries q00, q01, …
    """
    values, all_lowest, all_highest = (
        _make_four_axes(value if each is None else each) for each in (value, lowest, highest)
    )
    cells, repeats = values.shape[:2], values.shape[2]
    return Scores(
        engines=tuple(engines or "abcdefghijklmnopqrstuvwxyz"[: cells[0]]),
        queries=tuple(f"q{number:02}" for number in range(cells[1])),
        repeats=tuple(range(1, repeats + 1)),
        measures=parse_measures(measures),
        value=values,
        lowest=all_lowest,
        highest=all_highest,
        judged_share=np.ones(values.shape),
        without_list=np.asarray(np.isnan(all_lowest).all((2, 3))),
        graded=np.full((*cells, repeats), 5),
        largest=tuple(find_largest_value(measure, GRADED, 10) for measure in parse_measures(measures)),
    )


def _make_four_axes(value: Any) -> Floats:
    array: Floats = np.array(value, dtype=np.float64)
    return array.reshape(array.shape + (1,) * (4 - array.ndim))


def correct_known_mean(
    people: Floats, assessor: Floats, rest: Floats, level: float = 0.95
) -> CorrectedEngineMean:
    """The correction of values that are all known."""
    return correct_mean(LabelledSample((), people, assessor, rest), level)


def list_numbers(row: CorrectedEngineMean | CorrectedDifference) -> list[float]:
    """All but the counts, NaN for what is not known."""
    p = row.p if isinstance(row, CorrectedDifference) else compute_two_sided_p(row)
    low, high = row.ci95 or (NAN, NAN)
    return [row.corrected, low, high, row.se, row.weight, NAN if p is None else p]


def draw_graded(n: int, rest: int, seed: int = 0) -> tuple[Floats, Floats, Floats]:
    """P@10 by people and by an assessor that mostly agrees; the values by people of the rest are dropped."""
    chance = np.random.default_rng(seed)
    relevant = chance.binomial(10, chance.uniform(0.2, 0.8, n + rest))
    seen = chance.binomial(relevant, 0.9) + chance.binomial(10 - relevant, 0.2)
    return relevant[:n] / 10, seen[:n] / 10, seen[n:] / 10
