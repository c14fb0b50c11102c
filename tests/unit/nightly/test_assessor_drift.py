"""Drift of the assessor: canaries tonight against canaries at the baseline."""

import numpy as np
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from judge.config.nightly import NightlyConfig
from judge.nightly.assessor_drift import AT_BASELINE, Grades, compare_grades, find_grade_drift
from judge.nightly.record import GradeComparison
from tests.support.cases import count_examples

RULES = NightlyConfig()


def make_grades(*rows: list[int]) -> Grades:
    return {("q", f"{number:02}"): row for number, row in enumerate(rows)}


def find(tonight: Grades, before: Grades, moody: float = RULES.max_flip_rate) -> GradeComparison:
    return compare_grades(tonight, before, moody)


STEADY = make_grades(*([grade] * 3 for grade in (0, 1, 2, 3) for _ in range(16)))


def move_grades(pairs: int, step: int) -> Grades:
    """`STEADY` with the first `pairs` that can moving by a step."""
    rows = [list(row) for row in STEADY.values()]
    movable = [row for row in rows if 0 <= row[0] + step <= 3][:pairs]
    for row in movable:
        row[:] = [grade + step for grade in row]
    return make_grades(*rows)


def test_the_same_grades_are_no_drift() -> None:
    same = find(STEADY, STEADY)
    assert (same.compared, same.changed, same.shift) == (64, 0, 0.0)
    assert (same.p_changed, same.p_shift) == (1.0, 1.0)
    assert list(find_grade_drift(same, RULES, AT_BASELINE)) == []


@pytest.mark.parametrize(("pairs", "drifts"), [(1, False), (3, False), (8, True), (20, True)])
def test_a_few_pairs_may_change_and_many_may_not(pairs: int, drifts: bool) -> None:
    compared = find(move_grades(pairs, 1), STEADY)
    assert (compared.changed, compared.up, compared.down) == (pairs, pairs, 0)
    assert compared.shift == pytest.approx(pairs / 64)
    assert any(find_grade_drift(compared, RULES, AT_BASELINE)) == drifts


def test_an_assessor_that_became_stricter_is_called_so() -> None:
    for step, words in ((-1, "stricter: by 0.31 grades"), (1, "more generous: by 0.31 grades")):
        compared = find(move_grades(20, step), STEADY)
        assert words in [*find_grade_drift(compared, RULES, AT_BASELINE)][-1]


def test_the_most_moods_that_may_be_tolerated_hide_no_judge_that_changed_half_of_its_grades() -> None:
    rules = NightlyConfig.load({"max_flip_rate": 0.25})
    assert any(find_grade_drift(find(move_grades(32, -1), STEADY, rules.max_flip_rate), rules, AT_BASELINE))


def test_unsteady_pairs_may_change_more() -> None:
    wavering = [[0, 1, 0], [2, 1, 2], [3, 2, 3], [1, 0, 1]] * 4
    other = [[1, 0, 1], [1, 2, 1], [2, 3, 2], [0, 1, 0]] * 4
    compared = find(make_grades(*other), make_grades(*wavering))
    assert compared.changed == 16
    assert list(find_grade_drift(compared, RULES, AT_BASELINE)) == []


def test_one_pair_by_hand() -> None:
    # Of the six ways to deal 1 1 0 0 to two nights, two set the nights a whole grade apart.
    compared = find(make_grades([1, 1]), make_grades([0, 0]), moody=0.0)
    assert compared.p_changed == pytest.approx(1 / 3, abs=0.03)


def test_pairs_without_a_grade_on_a_night_are_left_out() -> None:
    assert find(make_grades([], [1]), make_grades([1], [])) == GradeComparison()
    compared = find(make_grades([], [1, 2], [3, 3, 3]), make_grades([1, 1], [1], [3, 3]))
    assert (compared.compared, compared.baseline_mean, compared.shift) == (2, 2.0, 0.25)


@settings(max_examples=count_examples(10))
@given(st.lists(st.lists(st.integers(0, 3), min_size=2, max_size=2), min_size=1, max_size=12), st.randoms())
def test_the_order_of_pairs_and_of_their_repeats_is_nothing(rows: list[list[int]], chance: object) -> None:
    before = make_grades(*(row[::-1] for row in rows))
    tonight = make_grades(*rows)
    turned = dict(sorted(tonight.items(), reverse=True))
    assert compare_grades(turned, before, 0.02) == compare_grades(tonight, before, 0.02)
    assert find(tonight, before).p_changed == 1.0


def test_a_mood_of_the_tolerated_size_is_rarely_an_alarm() -> None:
    rng = np.random.default_rng(3)
    alarms = 0
    for _ in range(20):
        steps = np.where(rng.random(64) < RULES.max_flip_rate, rng.choice([-1, 1], 64), 0)
        rows = [
            [min(3, max(0, row[0] + step))] * 3
            for row, step in zip(STEADY.values(), steps.tolist(), strict=True)
        ]
        alarms += any(find_grade_drift(find(make_grades(*rows), STEADY), RULES, AT_BASELINE))
    assert alarms <= 1
