"""Values of a measure on ranked lists, and their bounds over all grades of unjudged snippets.

`judge.measure.arrays` says what a pool is: there is one for each query and repeat.

Bounds of nDCG, AP and R, which the pool divides: there a grade adds to the value of the list and to its
divisor. Both split into levels, one for each grade that adds gain: a document reaches a level or does not.
So a bound results from counting how many of a list's own unjudged snippets reach each level.

Highest: all other unjudged snippets have gain 0, and documents that reach a level elsewhere anyway cost
nothing. For any count the value is highest when the first of the list's unjudged snippets reach the level.
Dinkelbach's iteration (1967) finds the counts with the best ratio of sums. They fall from level to level,
because one more document adds less to a longer ideal list, so one set of grades attains them all.

Lowest: all other unjudged snippets have the top grade. The value before division is linear in a gain, and its
divisor is convex. So the ratio is lowest where each of the list's own snippets has grade 0 or the top grade.
For a given number of top grades, it is lowest where the last snippets have them. If nothing else is relevant,
not all of them can have grade 0. One of them can have the top grade, because a common factor of all gains
does not change the ratio. Only where such a document has a grade between the two elsewhere can the bound be a
little too low.

Differences of two engines have closer bounds than the lowest value of one minus the highest of the other. A
snippet that both returned has one grade, and the same ideal list divides both. Where a query has few unjudged
snippets, all combinations of their grades are tried. Horowitz & Manski bound a statistic in this way (2000,
JASA 95, "Nonparametric analysis of randomized experiments with missing covariate and outcome data").
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import product

import numpy as np

from judge.measure.arrays import NO_GRADE, RankedLists
from judge.measure.formulas import apply_formula, compute_gains
from judge.measure.measures import Measure
from judge.measure.numeric import Bools, Floats, Ints, divide, list_distinct
from judge.records import Scale

#: Ranks of lists, differences, and pairs with a donor that are in memory at once.
_BLOCK = 2**21
# (level, what reaching it adds to the gain)
_Levels = Sequence[tuple[int, float]]
#: At most this many combinations of grades are tried on a query: 4 graded or 8 binary snippets.
_MAX_COMBINATIONS = 256


def compute_values(measure: Measure, lists: RankedLists, scale: Scale) -> Floats:
    """Return the (engines, pools) values of `measure`; an unjudged snippet counts as grade 0.

    NaN where the measure is undefined: for AP and R where nothing in the pool is relevant, for nDCG where
    no grade in the pool is above 0.
    """
    if measure.kind.gains is None:
        return compute_judged_shares(measure, lists)
    gains = compute_gains(measure, scale)
    if measure.own:
        engines, pools, ranks = lists.grade.shape
        values = np.empty((engines, pools))
        # A list alone takes ten times its ranks: a copy of its arrays, and those of its pool.
        for block in split_blocks(np.arange(pools), 10 * engines * ranks):
            alone = isolate_lists(measure, lists.select_pools(block))
            values[:, block] = _compute_pooled_values(measure, alone, gains).reshape(engines, -1)
        return values
    if not measure.pool_free:
        return _compute_pooled_values(measure, lists, gains)
    return _compute_list_values(measure, lists, gains, 0.0)


def mark_always_defined(measure: Measure, lists: RankedLists, scale: Scale) -> Bools:
    """Return, for each of (pools,), whether the measure is defined with any grades of unjudged snippets."""
    if measure.pool_free:
        return np.ones(lists.best.shape[0], bool)
    defined: Bools = np.any(lists.look_up_pool_gains(compute_gains(measure, scale)) > 0, axis=-1)
    return defined


def compute_judged_shares(measure: Measure, lists: RankedLists) -> Floats:
    """Return the (engines, pools) share of the snippets down to the cutoff that have a grade."""
    cutoff = measure.choose_cutoff(lists.depth)
    returned = (lists.origin >= 0)[..., :cutoff]
    graded = returned & (lists.grade[..., :cutoff] != NO_GRADE)
    return divide(graded.sum(-1).astype(np.float64), returned.sum(-1).astype(np.float64), np.nan)


def isolate_lists(measure: Measure, lists: RankedLists) -> RankedLists:
    """Return the lists for a measure with `own`, each in a pool of its own: (1, engines * pools, ranks)."""
    # AP divides by the relevant documents down to the cutoff, nDCG by an ideal order of the whole list.
    is_whole = measure.kind.divisor == "ideal"
    return lists.isolate(lists.depth if is_whole else measure.choose_cutoff(lists.depth))


def _compute_pooled_values(measure: Measure, lists: RankedLists, gains: Floats) -> Floats:
    """Return the (engines, pools) values of nDCG, AP and R."""
    cutoff = measure.choose_cutoff(lists.depth)
    pool_gains = lists.look_up_pool_gains(gains)
    if measure.kind.divisor == "ideal":
        divisor = apply_formula(measure, -np.sort(-pool_gains, axis=-1)[:, :cutoff])
    else:
        divisor = np.add.reduce(pool_gains, axis=-1)
    gained = apply_formula(measure, lists.look_up_gains(gains, 0.0, cutoff))
    return divide(gained, divisor, 0.0 if measure.own else np.nan)


def _compute_list_values(measure: Measure, lists: RankedLists, gains: Floats, unjudged: float) -> Floats:
    """Return the (engines, pools) values of a measure that the pool does not divide."""
    gained = lists.look_up_gains(gains, unjudged, measure.choose_cutoff(lists.depth))
    value = apply_formula(measure, gained, float(gains[-1]))
    if measure.kind.divisor != "returned":
        return value
    return divide(value, np.add.reduce(lists.origin >= 0, axis=-1, dtype=np.float64), 0.0)


def split_blocks(indexes: Ints, cells: int) -> Iterator[Ints]:
    """Yield `indexes` in parts of at most `_BLOCK` cells; each index takes `cells`."""
    size = max(1, _BLOCK // max(1, cells))
    for start in range(0, indexes.size, size):
        yield indexes[start : start + size]


def bound_values(measure: Measure, lists: RankedLists, scale: Scale, value: Floats) -> tuple[Floats, Floats]:
    """Return the (engines, pools) lowest and highest values over all grades of unjudged snippets.

    Only grades with which the measure is defined count. Where nothing is unjudged both are `value`, the
    result of `compute_values`.
    """
    if measure.kind.gains is None:
        return value, value
    gains = compute_gains(measure, scale)
    if measure.own:
        lowest, highest = _bound_pooled_values(
            measure, isolate_lists(measure, lists), gains, value.reshape(1, -1)
        )
        return lowest.reshape(value.shape), highest.reshape(value.shape)
    if not measure.pool_free:
        return _bound_pooled_values(measure, lists, gains, value)
    if measure.granular:
        cutoff = measure.choose_cutoff(lists.depth)
        return _bound_mean(lists.look_up_gains(gains, 0.0, cutoff), lists.first_unjudged[..., :cutoff])
    # A gain never lowers any other value that the pool does not divide.
    return value, _compute_list_values(measure, lists, gains, float(gains[-1]))


def _bound_mean(relevance: Floats, is_open: Bools) -> tuple[Floats, Floats]:
    """Return the lowest and highest mean (...) of 1 / rank over relevant and any open (..., ranks).

    It is lowest with the last of the open ranks, and highest with the first of them, down to some rank.
    """
    ranks = np.arange(1, relevance.shape[-1] + 1)
    ends = []
    for choose, order in ((np.min, -1), (np.max, 1)):
        total, count = (
            np.add.reduce(relevance * weight, axis=-1, keepdims=True)
            + np.insert(np.cumsum((is_open * weight)[..., ::order], axis=-1), 0, 0.0, axis=-1)
            for weight in (1 / ranks, np.ones_like(ranks))
        )
        ends.append(choose(divide(total, count, 0.0), axis=-1))
    return ends[0], ends[1]


def _bound_pooled_values(
    measure: Measure, lists: RankedLists, gains: Floats, value: Floats
) -> tuple[Floats, Floats]:
    """Return the (engines, pools) lowest and highest possible values of nDCG, AP or R.

    `gains` are those of the grades. Only grades with which the measure is defined count; for a list
    alone it always is, with 0 where nothing is relevant.
    """
    lowest, highest = value.copy(), value.copy()
    unsure: Bools = np.any(lists.unjudged, axis=(0, 2))
    view = _View.from_lists(lists.select_pools(unsure), measure.choose_cutoff(lists.depth))
    steps = np.diff(gains)
    levels = [(grade, float(steps[grade - 1])) for grade in range(1, len(gains)) if steps[grade - 1] > 0]
    lowest[:, unsure] = _find_lowest(measure, view, levels)
    highest[:, unsure] = _find_highest(measure, view, levels)
    return lowest, highest


@dataclass(frozen=True, slots=True)
class _View:
    """The lists down to the cutoff, (engines, pools, ranks), and the pools, (pools, documents).

    `elsewhere` is the best known grade in the pool of the document at a rank; `rival` marks documents
    with another unjudged snippet. `undecided` (pools, documents) marks documents with an unjudged snippet.
    """

    cutoff: int
    grade: Ints
    first_unjudged: Bools
    elsewhere: Ints
    rival: Bools
    best: Ints
    undecided: Bools

    @classmethod
    def from_lists(cls, lists: RankedLists, cutoff: int) -> _View:
        # Where the document at each rank is in an array of (pools, documents).
        documents = np.arange(lists.best.shape[0])[:, None], lists.document
        engine, pool, rank = np.nonzero(lists.unjudged)
        # A list alone has a pool of its own, so the pairs of one pool have numbers that another has, too.
        pairs = pool * (int(lists.unjudged_index.max(initial=0)) + 1)
        pairs += lists.unjudged_index[engine, pool, rank]
        _, once = np.unique(pairs, return_index=True)
        count = np.zeros(lists.best.shape, np.int64)
        np.add.at(count, (pool[once], lists.document[engine, pool, rank][once]), 1)
        seen = np.where(lists.first, lists.grade, NO_GRADE)
        down_to = (..., slice(cutoff))
        return cls(
            cutoff=cutoff,
            grade=seen[down_to],
            first_unjudged=lists.first_unjudged[down_to],
            elsewhere=lists.best[documents][down_to],
            rival=(lists.first_unjudged & (count[documents] > 1))[down_to],
            best=lists.best,
            undecided=count > 0,
        )


def _find_highest(measure: Measure, view: _View, levels: _Levels) -> Floats:
    """Return the (engines, pools) highest values: "Highest" in the docstring of this module."""
    ratios = []
    for level, worth in levels:
        given = view.first_unjudged & (view.elsewhere >= level)
        free = view.first_unjudged & ~given
        order = np.where(free, free.cumsum(-1), 0)
        sure = (view.grade >= level) | given
        documents = np.broadcast_to((view.best >= level).sum(-1), free.shape[:2])
        ratios.append(worth * _evaluate_counts(measure, view, sure, order, (documents, free.sum(-1))))
    return _maximise_ratio(np.stack(ratios))


def _find_lowest(measure: Measure, view: _View, levels: _Levels) -> Floats:
    """Return the (engines, pools) lowest values: "Lowest" in the docstring of this module."""
    top = levels[-1][0]
    free = view.first_unjudged & ~view.rival & (view.elsewhere < top)
    order = np.where(free, free[..., ::-1].cumsum(-1)[..., ::-1], 0)
    sides: list[Floats] = []
    for level, worth in levels:
        adds = (free & (view.elsewhere < level)).sum(-1)
        documents = ((view.best >= level) | view.undecided).sum(-1) - adds
        sides.append(worth * _evaluate_counts(measure, view, view.grade >= level, order, (documents, adds)))
    gained, divisors = np.add.reduce(sides)
    lowest: Floats = divide(gained, divisors, 0.0 if measure.own else np.inf).min(0)
    return lowest


def _evaluate_counts(
    measure: Measure, view: _View, sure: Bools, order: Ints, documents: tuple[Ints, Ints]
) -> Floats:
    """Return (2, counts, engines, pools): the value and its divisor with 0, 1, … more relevant snippets.

    `sure` marks snippets that are relevant anyway, `order` numbers the others from 1 in the order in which
    they become relevant. `documents` are the numbers of relevant documents in the pool, and how many more
    the others can add.
    """
    there, addable = documents
    longest = min(view.cutoff, view.best.shape[-1])
    ideal = np.append(0.0, [apply_formula(measure, np.ones(length)) for length in range(1, longest + 1)])
    gained, divisors = [], []
    for count in range(int(view.first_unjudged.sum(-1).max(initial=0)) + 1):
        relevant = sure | ((order > 0) & (order <= count))
        gained.append(apply_formula(measure, relevant.astype(np.float64)))
        total = there + np.minimum(count, addable)
        is_ideal = measure.kind.divisor == "ideal"
        divisors.append(ideal[np.minimum(total, longest)] if is_ideal else total.astype(np.float64))
    return np.stack([gained, divisors])


def _maximise_ratio(levels: Floats) -> Floats:
    """Return the (engines, pools) highest ratio of sums, with one count chosen at each level.

    `levels` is (levels, 2, counts, engines, pools): numerators and divisors. The loop ends, because every
    round but the last raises a ratio, and their number is finite.
    """
    gained, divisors = levels[:, 0], levels[:, 1]
    ratio = np.zeros(levels.shape[-2:])
    while True:
        choice = (gained - ratio * divisors).argmax(1)[:, None]
        gain, divisor = (np.take_along_axis(side, choice, 1).sum((0, 1)) for side in (gained, divisors))
        better = divide(gain, divisor, 0.0)
        if not (better > ratio).any():
            return ratio
        ratio = np.maximum(ratio, better)


@dataclass(frozen=True, slots=True)
class IncompleteLists:
    """The lists of all engines in the pools that have an unjudged snippet.

    `pools` (queries, repeats) numbers these pools, -1 elsewhere. `engines` and `queries` are all scored
    ones, with or without an unjudged snippet.
    """

    engines: tuple[str, ...]
    queries: tuple[str, ...]
    lists: RankedLists
    pools: Ints
    scale: Scale

    def bound_differences(self, measure: Measure, one: Ints, two: Ints) -> tuple[Floats, Floats]:
        """Return the (engine pairs, pools) lowest and highest value of engine `one` minus the value of `two`.

        `one` and `two` (engine pairs,) are indexes of engines. NaN where a pool has too many unjudged
        snippets, and where the measure is undefined with some of their grades.
        """
        lowest = np.full((one.size, self.lists.grade.shape[1]), np.nan)
        highest = lowest.copy()
        for pools, grades in self._iter_combinations(measure):
            combinations = grades.shape[1]
            cells = combinations * self.lists.grade[:, 0].size
            for block in split_blocks(pools, cells):
                values = compute_values(measure, self.lists.select_pools(block).complete(grades), self.scale)
                by_engine = values.reshape(len(self.engines), block.size, combinations)
                for engine_pairs in split_blocks(np.arange(one.size), block.size * combinations):
                    difference = by_engine[one[engine_pairs]] - by_engine[two[engine_pairs]]
                    lowest[np.ix_(engine_pairs, block)] = difference.min(-1)
                    highest[np.ix_(engine_pairs, block)] = difference.max(-1)
        return lowest, highest

    def _iter_combinations(self, measure: Measure) -> Iterator[tuple[Ints, Ints]]:
        """Yield pools with the (unjudged pairs, combinations) grades that can influence `measure`."""
        lists, levels = self.lists, self.scale.top + 1
        seen = lists.unjudged
        if measure.pool_free and not measure.own:
            seen = seen & (np.arange(seen.shape[-1]) < measure.choose_cutoff(lists.depth))
        _, pool, _ = np.nonzero(seen)
        pair, first = np.unique(lists.unjudged_index[seen], return_index=True)
        pool = pool[first]
        by_pool = np.argsort(pool, kind="stable")
        pair, pool = pair[by_pool], pool[by_pool]
        counts = np.bincount(pool, minlength=seen.shape[1])
        number = np.arange(pool.size) - (np.cumsum(counts) - counts)[pool]
        defined = mark_always_defined(measure, lists, self.scale)
        for count in list_distinct(counts).tolist():
            if levels**count > _MAX_COMBINATIONS:
                return
            chosen = defined & (counts == count)
            every = np.array(list(product(range(levels), repeat=count)), dtype=np.int64).T
            grades = np.zeros((int(lists.unjudged_index.max()) + 1, levels**count), np.int64)
            grades[pair[chosen[pool]]] = every[number[chosen[pool]]] if count else 0
            yield np.flatnonzero(chosen), grades
