"""Power against published software, closed forms and itself."""

from __future__ import annotations

import math

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.integrate import quad
from scipy.special import chdtr, chdtri, ndtri, stdtrit
from statsmodels.stats.power import TTestPower

from judge.measure.power import detectable, queries_needed

SPREADS = st.floats(0.01, 2)


def power_of(sd: float, difference: float, queries: int, level: float = 0.05) -> float:
    """The oracle's power of the paired t test."""
    return float(TTestPower().power(difference / sd, queries, level))


@pytest.mark.parametrize(
    ("sd", "needed"),
    [
        (0.15, [1768, 444, 199, 73, 20]),
        (0.20, [3142, 787, 351, 128, 34]),
        (0.25, [4908, 1229, 547, 199, 52]),
        (0.30, [7066, 1768, 787, 285, 73]),
    ],
)
def test_queries_needed_are_the_fewest(sd: float, needed: list[int]) -> None:
    for difference, queries in zip([0.01, 0.02, 0.03, 0.05, 0.10], needed, strict=True):
        assert queries_needed(sd, difference) == queries
        assert queries_needed(sd, -difference) == queries
        assert power_of(sd, difference, queries - 1) < 0.8 <= power_of(sd, difference, queries)


@pytest.mark.parametrize("queries", [30, 53, 100, 1000, 100_000])
@pytest.mark.parametrize(("level", "power"), [(0.05, 0.8), (0.05, 0.1), (0.005, 0.8), (0.01, 0.95)])
def test_a_detectable_difference_is_found_that_often(queries: int, level: float, power: float) -> None:
    difference = detectable(0.25, queries, level=level, power=power)
    assert difference is not None
    assert power_of(0.25, difference, queries, level) == pytest.approx(power, abs=1e-7)


@pytest.mark.parametrize("queries", [2, 3, 5, 9, 53])
@pytest.mark.parametrize(("level", "power"), [(0.05, 0.8), (0.05, 0.1), (0.005, 0.8), (0.01, 0.95)])
def test_few_queries_agree_with_integration(queries: int, level: float, power: float) -> None:
    """Statsmodels gives NaN for some of these: power is integrated over where the mean may fall."""
    difference = detectable(1.0, queries, level=level, power=power)
    assert difference is not None
    critical = -stdtrit(queries - 1, level / 2)

    def found(error: float) -> float:
        t = (difference * math.sqrt(queries) + error) / critical
        density = math.exp(-error * error / 2) / math.sqrt(2 * math.pi)
        return float(chdtr(queries - 1, (queries - 1) * t * t)) * density

    turn = -difference * math.sqrt(queries)
    sides = [(-12.0, turn), (turn, 12.0)] if turn > -12 else [(-12.0, 12.0)]
    total = sum(quad(found, *side, epsabs=1e-12, limit=200)[0] for side in sides)
    assert total == pytest.approx(power, abs=1e-7)


@settings(max_examples=50, deadline=None)
@given(SPREADS, st.floats(0.01, 0.5), st.sampled_from([0.05, 0.01, 0.05 / 1953]))
def test_what_is_needed_detects_and_one_less_does_not(sd: float, difference: float, level: float) -> None:
    queries = queries_needed(sd, difference, level=level)
    assert queries is not None
    enough = detectable(sd, queries, level=level)
    assert enough is not None
    assert enough <= difference * (1 + 1e-9)
    if queries > 2:
        fewer = detectable(sd, queries - 1, level=level)
        assert fewer is not None
        assert fewer > difference * (1 - 1e-9)


def test_many_queries_follow_the_normal_distribution() -> None:
    """Where the t distribution is the normal one: (z(1 - level / 2) + z(power)) sd / sqrt(queries)."""
    for level in (0.05, 1e-6):
        expected = (ndtri(1 - level / 2) + ndtri(0.8)) * 0.25 / math.sqrt(5_000_000)
        assert detectable(0.25, 5_000_000, level=level) == pytest.approx(expected, rel=1e-5)


@pytest.mark.parametrize("level", [0.05 / 1953, 1e-6, 1e-9, 1e-12])
@pytest.mark.parametrize("queries", [2, 3])
def test_few_queries_and_a_strict_level_follow_the_sd_alone(queries: int, level: float) -> None:
    """Where the mean is far beyond its error, power is how often the sd is small enough."""
    critical = -stdtrit(queries - 1, level / 2)
    spread = math.sqrt(chdtri(queries - 1, 0.2) / (queries - 1))
    expected = critical * spread / math.sqrt(queries)
    assert detectable(1.0, queries, level=level) == pytest.approx(expected, rel=1e-4)


@pytest.mark.parametrize("effect", [10.0, 1e3, 1e6, 1e16])
def test_huge_effects_need_two_or_three_queries(effect: float) -> None:
    assert queries_needed(1.0, effect) == (3 if effect == 10 else 2)


def test_the_largest_number_of_queries_is_ten_million() -> None:
    smallest = detectable(1.0, 10_000_000)
    assert smallest is not None
    assert queries_needed(1.0, smallest * (1 + 1e-9)) == 10_000_000
    assert queries_needed(1.0, smallest * (1 - 1e-6)) is None


def test_what_cannot_be_planned_is_unknown() -> None:
    for sd, difference in [(0.0, 0.1), (0.1, 0.0), (math.nan, 0.1), (0.1, math.nan)]:
        assert queries_needed(sd, difference) is None
    assert detectable(0.25, 1) is None
    assert detectable(0.25, 0) is None
    assert detectable(math.nan, 100) is None
    assert detectable(0.0, 100) == 0.0
