"""The values of a measure on lists that are judged in full, and their least and most where they are not."""

from __future__ import annotations

import numpy as np

from judge.measure.arrays import NO_GRADE, RankedLists
from judge.measure.formulas import Bools, Floats, Ints, apply_formula, compute_gains, dcg, divide
from judge.measure.measures import Measure
from judge.measure.values import bound_pooled_values
from judge.records import Scale


def compute_values(measure: Measure, lists: RankedLists, scale: Scale) -> Floats:
    """Return (engines, topics) the values of `measure`; an unjudged snippet counts as grade 0.

    NaN where the measure is undefined: for nDCG, AP and R where nothing in the pool is relevant.
    """
    if measure.name == "Judged":
        return compute_judged_shares(measure, lists)
    table = compute_gains(measure, scale)
    cutoff = measure.effective_cutoff(lists.depth)
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
    high = apply_formula(measure, lists.gains(table, top)[..., : measure.effective_cutoff(lists.depth)], top)
    return value, divide(high, _count_returned(lists), 0.0) if measure.name == "SetP" else high


def find_always_defined(measure: Measure, lists: RankedLists, scale: Scale) -> Bools:
    """Return (topics,) whether the measure is defined whatever grades the unjudged snippets have."""
    if measure.pool_free:
        return np.ones(lists.best.shape[0], bool)
    defined: Bools = np.any(lists.pool_gains(compute_gains(measure, scale)) > 0, axis=-1)
    return defined


def compute_judged_shares(measure: Measure, lists: RankedLists) -> Floats:
    """Return (engines, topics) the share of the snippets down to the cutoff that have a grade."""
    cutoff = measure.effective_cutoff(lists.depth)
    here = (lists.origin >= 0)[..., :cutoff]
    graded = here & (lists.grade[..., :cutoff] != NO_GRADE)
    return divide(graded.sum(-1).astype(np.float64), here.sum(-1).astype(np.float64), np.nan)


def _isolate_lists(measure: Measure, lists: RankedLists) -> RankedLists:
    # A list is its own ideal when it is all there is in the pool. AP counts what it shows down to the
    # cutoff, the ideal list of nDCG chooses from all of it.
    return lists.alone(measure.effective_cutoff(lists.depth) if measure.name == "AP" else lists.depth)


def _compute_pooled_values(measure: Measure, lists: RankedLists, table: Floats) -> Floats:
    """Return (engines, topics) the values of nDCG, AP and R."""
    cutoff = measure.effective_cutoff(lists.depth)
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
    low[:, unsure], high[:, unsure] = bound_pooled_values(measure, lists.select_topics(unsure), table)
    return low, high


def _count_returned(lists: RankedLists) -> Floats:
    returned: Ints = np.add.reduce(lists.origin >= 0, axis=-1)
    return returned.astype(np.float64)
