"""The t quantile of intervals, against scipy."""

from __future__ import annotations

import pytest

from judge.measure.engine_summary import t_quantile


@pytest.mark.parametrize("freedom", [range(1, 1_100), [1_249, 2_000, 9_999, 10**5, 10**6, 10**9]])
def test_the_t_quantile_equals_that_of_scipy(freedom: range | list[int]) -> None:
    from scipy.special import stdtrit

    assert [t_quantile(df) for df in freedom] == pytest.approx(stdtrit([*freedom], 0.975), rel=1e-12, abs=0)
