"""The values of a measure on ranked lists, and their bounds where snippets are unjudged."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.measure.arrays import NO_GRADE, RankedLists
from judge.measure.formulas import Bools, Floats, Ints, apply_formula, compute_gains, dcg, divide
from judge.measure.measures import Measure
from judge.records import Scale


def compute_values(measure: Measure, lists: RankedLists, scale: Scale) -> Floats:
    """Return (engines, topics) the values of `measure`; an unjudged snippet counts as grade 0.

    NaN where the measure is undefined: for nDCG, AP and R where nothing in the pool is relevant.
    """
    if measure.name == "Judged":
        return compute_judged_shares(measure, lists)
    table = compute_gains(measure, scale)
    cutoff = measure.looks_at(lists.depth)
    if measure.own:
        alone = _isolate_lists(measure, lists)
        return _compute_pooled_values(measure, alone, table).reshape(lists.grade.shape[:2])
    if not measure.pool_free:
        return _compute_pooled_values(measure, lists, table)
    value = apply_formula(measure, lists.gains(table, 0.0)[..., :cutoff], float(table[-1]))
    return divide(value, _count_returned(lists), 0.0) if measure.name == "SetP" else value


def bound_values(measure: Measure, lists: RankedLists, scale: Scale, value: Floats) -> tuple[Floats, Floats]:
    """Return (engines, topics) lowest and highest values over all grades of the unjudged snippets.

    They are over the grades that make the measure defined, and equal `value`, which `measured_values`
    gives, where nothing is unjudged.
    """
    if measure.name == "Judged":
        return value, value
    table = compute_gains(measure, scale)
    if measure.own:
        low, high = _bound_divided_values(
            measure, _isolate_lists(measure, lists), table, value.reshape(1, -1)
        )
        return low.reshape(value.shape), high.reshape(value.shape)
    if not measure.pool_free:
        return _bound_divided_values(measure, lists, table, value)
    # No gain ever lowers a value that no pool divides.
    top = float(table[-1])
    high = apply_formula(measure, lists.gains(table, top)[..., : measure.looks_at(lists.depth)], top)
    return value, divide(high, _count_returned(lists), 0.0) if measure.name == "SetP" else high


def find_always_defined(measure: Measure, lists: RankedLists, scale: Scale) -> Bools:
    """Return (topics,) whether the measure is defined whatever grades the unjudged snippets have."""
    if measure.pool_free:
        return np.ones(lists.best.shape[0], bool)
    defined: Bools = np.any(lists.pool_gains(compute_gains(measure, scale)) > 0, axis=-1)
    return defined


def compute_judged_shares(measure: Measure, lists: RankedLists) -> Floats:
    """Return (engines, topics) the share of the snippets down to the cutoff that have a grade."""
    cutoff = measure.looks_at(lists.depth)
    here = (lists.origin >= 0)[..., :cutoff]
    graded = here & (lists.grade[..., :cutoff] != NO_GRADE)
    return divide(graded.sum(-1).astype(np.float64), here.sum(-1).astype(np.float64), np.nan)


def _isolate_lists(measure: Measure, lists: RankedLists) -> RankedLists:
    # A list is its own ideal when it is all there is in the pool. AP counts what it shows down to the
    # cutoff, the ideal list of nDCG chooses from all of it.
    return lists.alone(measure.looks_at(lists.depth) if measure.name == "AP" else lists.depth)


def _compute_pooled_values(measure: Measure, lists: RankedLists, table: Floats) -> Floats:
    """Return (engines, topics) the values of nDCG, AP and R."""
    cutoff = measure.looks_at(lists.depth)
    pool = lists.pool_gains(table)
    if measure.name == "nDCG":
        divisor = dcg(-np.sort(-pool, axis=-1)[:, :cutoff])
    else:
        divisor = np.add.reduce(pool, axis=-1)
    earnings = apply_formula(measure, lists.gains(table, 0.0)[..., :cutoff])
    return divide(earnings, divisor, 0.0 if measure.own else np.nan)


def _bound_divided_values(
    measure: Measure, lists: RankedLists, table: Floats, value: Floats
) -> tuple[Floats, Floats]:
    low, high = value.copy(), value.copy()
    unsure: Bools = np.any(lists.unjudged, axis=(0, 2))
    low[:, unsure], high[:, unsure] = bound_pooled_values(measure, lists.of_topics(unsure), table)
    return low, high


def _count_returned(lists: RankedLists) -> Floats:
    returned: Ints = np.add.reduce(lists.origin >= 0, axis=-1)
    return returned.astype(np.float64)


# (level, what reaching it adds to the gain)
_Levels = Sequence[tuple[int, float]]


def bound_pooled_values(measure: Measure, lists: RankedLists, table: Floats) -> tuple[Floats, Floats]:
    """(engines, topics) lowest and highest values of nDCG, AP or R that unjudged snippets leave possible.

    `table` holds the gain of each grade. They are over the grades that make the measure defined; for a
    list alone it always is, with 0 where nothing is relevant. Every topic needs an unjudged snippet.
    """
    view = _View.of(lists, measure.looks_at(lists.depth))
    steps = np.diff(table)
    levels = [(grade, float(steps[grade - 1])) for grade in range(1, len(table)) if steps[grade - 1] > 0]
    return _find_lowest(measure, view, levels), _find_highest(measure, view, levels)


@dataclass(frozen=True, slots=True)
class _View:
    """What a measure sees down to its cutoff, (engines, topics, ranks); and the pool, (topics, documents).

    `elsewhere` is the best known grade in the pool of the document at a rank, `rival` says that it has
    another unjudged snippet. `undecided` marks documents with any unjudged snippet.
    """

    cutoff: int
    grade: Ints
    open: Bools
    elsewhere: Ints
    rival: Bools
    best: Ints
    undecided: Bools

    @classmethod
    def of(cls, lists: RankedLists, cutoff: int) -> _View:
        undecided, rival = _find_rivals(lists)
        seen = np.where(lists.first, lists.grade, NO_GRADE)
        down_to = (..., slice(cutoff))
        return cls(
            cutoff=cutoff,
            grade=seen[down_to],
            open=lists.open[down_to],
            elsewhere=lists.best_here()[down_to],
            rival=rival[down_to],
            best=lists.best,
            undecided=undecided,
        )

    @property
    def most(self) -> int:
        """The largest number of own unjudged snippets in a list."""
        return int(self.open.sum(-1).max(initial=0))


def _find_rivals(lists: RankedLists) -> tuple[Bools, Bools]:
    """Which documents have an unjudged snippet; where one has another than the snippet that stands there."""
    engine, topic, rank = np.nonzero(lists.unjudged)
    at = topic, lists.document[engine, topic, rank]
    number = lists.snippet[engine, topic, rank]
    lowest = np.full(lists.best.shape, np.iinfo(np.int64).max)
    highest = np.full(lists.best.shape, -1)
    np.minimum.at(lowest, at, number)
    np.maximum.at(highest, at, number)
    topics = np.arange(lists.best.shape[0])[None, :, None]
    here = topics, lists.document
    rival = lists.open & ((lowest[here] != lists.snippet) | (highest[here] != lists.snippet))
    return highest >= 0, rival


def _find_highest(measure: Measure, view: _View, levels: _Levels) -> Floats:
    ratios = []
    for level, worth in levels:
        given = view.open & (view.elsewhere >= level)
        free = view.open & ~given
        order = np.where(free, free.cumsum(-1), 0)
        sure = (view.grade >= level) | given
        documents = np.broadcast_to((view.best >= level).sum(-1), free.shape[:2])
        ratios.append(worth * _evaluate_counts(measure, view, sure, order, (documents, free.sum(-1))))
    return _maximise_ratio(np.stack(ratios))


def _find_lowest(measure: Measure, view: _View, levels: _Levels) -> Floats:
    top = levels[-1][0]
    free = view.open & ~view.rival & (view.elsewhere < top)
    order = np.where(free, free[..., ::-1].cumsum(-1)[..., ::-1], 0)
    sides: list[Floats] = []
    for level, worth in levels:
        adds = (free & (view.elsewhere < level)).sum(-1)
        documents = ((view.best >= level) | view.undecided).sum(-1) - adds
        sides.append(worth * _evaluate_counts(measure, view, view.grade >= level, order, (documents, adds)))
    earnings, yardsticks = np.add.reduce(sides)
    lowest: Floats = divide(earnings, yardsticks, 0.0 if measure.own else np.inf).min(0)
    return lowest


def _evaluate_counts(
    measure: Measure, view: _View, sure: Bools, order: Ints, documents: tuple[Ints, Ints]
) -> Floats:
    """(2, counts, engines, topics): what is earned, and its divisor, when 0, 1, … more are relevant too.

    `sure` are relevant anyway, `order` numbers the others from 1 in the order of joining. `documents`
    are those in the pool anyway, and how many more the others can add.
    """
    there, addable = documents
    longest = min(view.cutoff, view.best.shape[-1])
    ideal = np.append(0.0, [dcg(np.ones(length)) for length in range(1, longest + 1)])
    earnings, yardsticks = [], []
    for count in range(view.most + 1):
        relevant = sure | ((order > 0) & (order <= count))
        earnings.append(apply_formula(measure, relevant.astype(np.float64)))
        total = there + np.minimum(count, addable)
        yardsticks.append(
            ideal[np.minimum(total, longest)] if measure.name == "nDCG" else total.astype(np.float64)
        )
    return np.stack([earnings, yardsticks])


def _maximise_ratio(levels: Floats) -> Floats:
    """(engines, topics): the best sum of earnings over sum of divisors, choosing a count at each level.

    `levels` are (levels, 2, counts, engines, topics). Ends, because every round but the last raises a
    ratio and there are finitely many.
    """
    earnings, yardsticks = levels[:, 0], levels[:, 1]
    ratio = np.zeros(levels.shape[-2:])
    while True:
        choice = (earnings - ratio * yardsticks).argmax(1)[:, None]
        earning, yardstick = (
            np.take_along_axis(side, choice, 1).sum((0, 1)) for side in (earnings, yardsticks)
        )
        better = divide(earning, yardstick, 0.0)
        if not (better > ratio).any():
            return ratio
        ratio = np.maximum(ratio, better)
