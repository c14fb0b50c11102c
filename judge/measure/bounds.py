"""Owns the bounds of measures that the pool divides: over all grades that unjudged snippets may have.

There a grade pulls both ways: it adds to what the list earns and to what the list is divided by. Both
sides split into levels, one for each grade that adds gain: a document reaches a level or doesn't. So a
bound comes from counting how many of a list's own unjudged snippets reach each level.

Highest: all other unjudged snippets are worth nothing, and documents that reach a level elsewhere anyway
cost nothing. For any count a list earns most when the first of its unjudged snippets reach the level.
Dinkelbach's iteration (1967) finds the counts with the best ratio of sums. They fall from level to level,
because one more document adds less to a longer ideal, so that one set of grades attains them all.

Lowest: all other unjudged snippets have the top grade. What a list earns is linear in a gain and its
divisor convex, so the ratio is lowest where each of its own has grade 0 or the top grade; and for any
count, where the last of them have it. If nothing else is relevant, not all of its own can have grade 0;
as gains that grow alike leave the ratio as it is, one of them can be taken to have the top grade. Only
where such a document has a grade between the two elsewhere can the bound be a little lower than what is
possible.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

import numpy as np

from judge.measure.arrays import NO_GRADE, RankedLists
from judge.measure.formulas import Bools, Floats, Ints, apply_formula, dcg, divide
from judge.measure.measures import Measure

# (level, what reaching it adds to the gain)
_Levels = Sequence[tuple[int, float]]


def bound_pooled_values(measure: Measure, lists: RankedLists, table: Floats) -> tuple[Floats, Floats]:
    """(engines, topics) lowest and highest values of nDCG, AP or R that unjudged snippets leave possible.

    `table` holds the gain of each grade. They are over the grades that make the measure defined; for a
    list alone it always is, with 0 where nothing is relevant. Every topic needs an unjudged snippet.
    """
    view = _View.of(lists, measure.effective_cutoff(lists.depth))
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
