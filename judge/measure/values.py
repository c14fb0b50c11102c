"""The values of a measure on lists that are judged in full, and their least and most where they are not."""

from __future__ import annotations

import numpy as np

from judge.measure.bounds import pooled_bounds
from judge.measure.formulas import Bools, Floats, Ints, dcg, earned, gains, quotient
from judge.measure.measures import Measure
from judge.measure.ranked_lists import NO_GRADE, RankedLists
from judge.records import Scale


def measured_values(measure: Measure, lists: RankedLists, scale: Scale) -> Floats:
    """Return (engines, topics) the values of `measure`; an unjudged snippet counts as grade 0.

    NaN where the measure is undefined: for nDCG, AP and R where nothing in the pool is relevant.
    """
    if measure.name == "Judged":
        return judged_shares(measure, lists)
    table = gains(measure, scale)
    cutoff = measure.looks_at(lists.depth)
    if measure.own:
        alone = _alone(measure, lists)
        return _divided(measure, alone, table).reshape(lists.grade.shape[:2])
    if not measure.pool_free:
        return _divided(measure, lists, table)
    value = earned(measure, lists.gains(table, 0.0)[..., :cutoff], float(table[-1]))
    return quotient(value, _returned(lists), 0.0) if measure.name == "SetP" else value


def value_bounds(measure: Measure, lists: RankedLists, scale: Scale, value: Floats) -> tuple[Floats, Floats]:
    """Return (engines, topics) lowest and highest values over all grades of the unjudged snippets.

    They are over the grades that make the measure defined, and equal `value`, which `measured_values`
    gives, where nothing is unjudged.
    """
    if measure.name == "Judged":
        return value, value
    table = gains(measure, scale)
    if measure.own:
        low, high = _divided_bounds(measure, _alone(measure, lists), table, value.reshape(1, -1))
        return low.reshape(value.shape), high.reshape(value.shape)
    if not measure.pool_free:
        return _divided_bounds(measure, lists, table, value)
    # No gain ever lowers a value that no pool divides.
    top = float(table[-1])
    high = earned(measure, lists.gains(table, top)[..., : measure.looks_at(lists.depth)], top)
    return value, quotient(high, _returned(lists), 0.0) if measure.name == "SetP" else high


def surely_defined(measure: Measure, lists: RankedLists, scale: Scale) -> Bools:
    """Return (topics,) whether the measure is defined whatever grades the unjudged snippets have."""
    if measure.pool_free:
        return np.ones(lists.best.shape[0], bool)
    defined: Bools = np.any(lists.pool_gains(gains(measure, scale)) > 0, axis=-1)
    return defined


def judged_shares(measure: Measure, lists: RankedLists) -> Floats:
    """Return (engines, topics) the share of the snippets down to the cutoff that have a grade."""
    cutoff = measure.looks_at(lists.depth)
    here = (lists.origin >= 0)[..., :cutoff]
    graded = here & (lists.grade[..., :cutoff] != NO_GRADE)
    return quotient(graded.sum(-1).astype(np.float64), here.sum(-1).astype(np.float64), np.nan)


def _alone(measure: Measure, lists: RankedLists) -> RankedLists:
    # A list is its own ideal when it is all there is in the pool. AP counts what it shows down to the
    # cutoff, the ideal list of nDCG chooses from all of it.
    return lists.alone(measure.looks_at(lists.depth) if measure.name == "AP" else lists.depth)


def _divided(measure: Measure, lists: RankedLists, table: Floats) -> Floats:
    """Return (engines, topics) the values of nDCG, AP and R."""
    cutoff = measure.looks_at(lists.depth)
    pool = lists.pool_gains(table)
    if measure.name == "nDCG":
        divisor = dcg(-np.sort(-pool, axis=-1)[:, :cutoff])
    else:
        divisor = np.add.reduce(pool, axis=-1)
    earnings = earned(measure, lists.gains(table, 0.0)[..., :cutoff])
    return quotient(earnings, divisor, 0.0 if measure.own else np.nan)


def _divided_bounds(
    measure: Measure, lists: RankedLists, table: Floats, value: Floats
) -> tuple[Floats, Floats]:
    low, high = value.copy(), value.copy()
    unsure: Bools = np.any(lists.unjudged, axis=(0, 2))
    low[:, unsure], high[:, unsure] = pooled_bounds(measure, lists.of_topics(unsure), table)
    return low, high


def _returned(lists: RankedLists) -> Floats:
    returned: Ints = np.add.reduce(lists.origin >= 0, axis=-1)
    return returned.astype(np.float64)
