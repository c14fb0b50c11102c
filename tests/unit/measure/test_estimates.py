"""A number, how far it may move with other queries, and why it may be unknown."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from judge.measure.formulas import Floats, divide
from judge.measure.resampling import estimate_statistic, estimate_statistics
from tests.support.intervals import get_high_end, get_low_end


def share(sums: Floats) -> Floats:
    return divide(sums[..., 0], sums[..., 1], np.nan)


def make_counts(*rows: tuple[float, float]) -> Floats:
    """(queries, 2): how many are so, of how many."""
    return np.array(rows, dtype=np.float64)


@pytest.mark.parametrize("queries", [2, 10, 50])
def test_all_or_nothing_on_every_query_keeps_an_interval(queries: int) -> None:
    """The exact binomial interval (Clopper & Pearson 1934) with queries as trials."""
    for so in (0, 4):
        result = estimate_statistic(make_counts(*[(so, 4)] * queries), share, "", share=True)
        theirs = scipy.stats.binomtest(queries if so else 0, queries).proportion_ci(0.95)
        assert result.ci95 == pytest.approx((theirs.low, theirs.high))


def test_queries_with_nothing_to_count_are_no_trials() -> None:
    result = estimate_statistic(make_counts(*[(3, 3)] * 10, *[(0, 0)] * 30), share, "", share=True)
    assert get_low_end(result.ci95) == pytest.approx(0.025 ** (1 / 10))


def test_other_statistics_and_other_shares_keep_theirs() -> None:
    same, some = make_counts(*[(4, 4)] * 9), make_counts(*[(1, 4), (4, 4), (3, 4)] * 3)
    assert estimate_statistic(same, share, "").ci95 == (1, 1)
    assert estimate_statistic(some, share, "", share=True) == estimate_statistic(some, share, "")
    result = estimate_statistics(same, {"a": (share, ""), "b": (share, "")}, shares=["b"])
    assert (get_low_end(result["a"].ci95), get_high_end(result["b"].ci95)) == (1, 1)
    assert get_low_end(result["b"].ci95) is not None
    assert get_low_end(result["b"].ci95) < 1


def test_what_is_unknown_stays_so() -> None:
    nothing = estimate_statistic(make_counts((0, 0), (0, 0)), share, "nothing counted", share=True)
    assert (nothing.value, nothing.why) == (None, "nothing counted")
    one = estimate_statistic(make_counts((4, 4)), share, "", share=True)
    assert (one.value, get_low_end(one.ci95), get_high_end(one.ci95)) == (1, None, None)
    assert "one query" in (one.why or "")
