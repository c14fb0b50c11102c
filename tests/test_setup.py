"""What was asked becomes the things a run works with."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.errors import InputError
from judge.records import BINARY, GRADED, Scale, ScaleName
from judge.setup import labels_scale

STRICT = replace(GRADED, relevant_from=3)


@pytest.mark.parametrize(
    ("grades", "run", "asked", "scale"),
    [
        ([0, 2, 1], GRADED, None, GRADED),
        ([0, 1, 1], GRADED, None, BINARY),
        ([0, 0], GRADED, None, BINARY),
        ([0, 3], BINARY, None, GRADED),
        ([0, 1], BINARY, None, BINARY),
        # People who never went above 1 may still have graded 0-3.
        ([0, 1], GRADED, "graded", GRADED),
        ([0, 1], BINARY, "graded", GRADED),
        ([1, 1], GRADED, "binary", BINARY),
        # Where the scale is the run's own, so is the line between relevant and not.
        ([0, 3], STRICT, None, STRICT),
        ([0, 1], STRICT, "graded", STRICT),
        ([0, 1], STRICT, None, BINARY),
    ],
)
def test_the_scale_of_labels_is_told_from_the_highest_grade(
    grades: list[int], run: Scale, asked: ScaleName | None, scale: Scale
) -> None:
    assert labels_scale(grades, run, asked) == scale
    assert labels_scale(reversed(grades), run, asked) == scale


@pytest.mark.parametrize(
    ("grades", "run", "asked", "says"),
    [
        ([0, 4], GRADED, None, "grade 4; the graded scale ends at 3"),
        ([4], BINARY, None, "grade 4; the graded scale ends at 3"),
        ([0, 2], GRADED, "binary", "grade 2; the binary scale ends at 1"),
    ],
)
def test_a_grade_above_the_scale_is_refused(
    grades: list[int], run: Scale, asked: ScaleName | None, says: str
) -> None:
    with pytest.raises(InputError, match=says):
        labels_scale(grades, run, asked)
