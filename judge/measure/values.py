"""Values of a measure on ranked lists.

A topic is one query in one repeat, as in `judge.measure.arrays`.
"""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np

from judge.measure.arrays import NO_GRADE, RankedLists
from judge.measure.formulas import Bools, Floats, Ints, apply_formula, compute_gains, dcg, divide
from judge.measure.measures import Measure
from judge.records import Scale

#: Ranks of lists, and differences, in memory at once.
_BLOCK = 2**21


def compute_values(measure: Measure, lists: RankedLists, scale: Scale) -> Floats:
    """Return the (engines, topics) values of `measure`; an unjudged snippet counts as grade 0.

    NaN where the measure is undefined: for AP and R where nothing in the pool is relevant, for nDCG where
    no grade in the pool is above 0.
    """
    if measure.name == "Judged":
        return compute_judged_shares(measure, lists)
    table = compute_gains(measure, scale)
    cutoff = measure.choose_cutoff(lists.depth)
    if measure.own:
        engines, topics, ranks = lists.grade.shape
        values = np.empty((engines, topics))
        # A list alone takes ten times its ranks: a copy of its arrays, and those of its pool.
        for block in split_blocks(np.arange(topics), 10 * engines * ranks):
            alone = isolate_lists(measure, lists.select_topics(block))
            values[:, block] = _compute_pooled_values(measure, alone, table).reshape(engines, -1)
        return values
    if not measure.pool_free:
        return _compute_pooled_values(measure, lists, table)
    value = apply_formula(measure, lists.look_up_gains(table, 0.0, cutoff), float(table[-1]))
    return divide(value, count_returned(lists), 0.0) if measure.name == "SetP" else value


def mark_always_defined(measure: Measure, lists: RankedLists, scale: Scale) -> Bools:
    """Return, for each of (topics,), whether the measure is defined with any grades of unjudged snippets."""
    if measure.pool_free:
        return np.ones(lists.best.shape[0], bool)
    defined: Bools = np.any(lists.look_up_pool_gains(compute_gains(measure, scale)) > 0, axis=-1)
    return defined


def compute_judged_shares(measure: Measure, lists: RankedLists) -> Floats:
    """Return the (engines, topics) share of the snippets down to the cutoff that have a grade."""
    cutoff = measure.choose_cutoff(lists.depth)
    returned = (lists.origin >= 0)[..., :cutoff]
    graded = returned & (lists.grade[..., :cutoff] != NO_GRADE)
    return divide(graded.sum(-1).astype(np.float64), returned.sum(-1).astype(np.float64), np.nan)


def isolate_lists(measure: Measure, lists: RankedLists) -> RankedLists:
    """Return the lists for a measure with `own`, each in a pool of its own: (1, engines * topics, ranks)."""
    # AP divides by the relevant documents down to the cutoff, nDCG by an ideal order of the whole list.
    return lists.isolate(measure.choose_cutoff(lists.depth) if measure.name == "AP" else lists.depth)


def _compute_pooled_values(measure: Measure, lists: RankedLists, table: Floats) -> Floats:
    """Return the (engines, topics) values of nDCG, AP and R."""
    cutoff = measure.choose_cutoff(lists.depth)
    pool = lists.look_up_pool_gains(table)
    if measure.name == "nDCG":
        divisor = dcg(-np.sort(-pool, axis=-1)[:, :cutoff])
    else:
        divisor = np.add.reduce(pool, axis=-1)
    gained = apply_formula(measure, lists.look_up_gains(table, 0.0, cutoff))
    return divide(gained, divisor, 0.0 if measure.own else np.nan)


def count_returned(lists: RankedLists) -> Floats:
    """Return the (engines, topics) lengths of the lists."""
    returned: Ints = np.add.reduce(lists.origin >= 0, axis=-1)
    return returned.astype(np.float64)


def split_blocks(indexes: Ints, cells: int, limit: int = _BLOCK) -> Iterator[Ints]:
    """Yield `indexes` in parts of at most `limit` cells; each index takes `cells`."""
    size = max(1, limit // max(1, cells))
    for start in range(0, indexes.size, size):
        yield indexes[start : start + size]
