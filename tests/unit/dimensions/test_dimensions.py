"""The table of dimensions names functions that exist, and that take what they get."""

from __future__ import annotations

from inspect import signature

from judge.dimensions import DIMENSIONS, AskedDimension
from tests.support.cases import check_each


@check_each("name", [*DIMENSIONS])
def test_each_row_names_functions_of_the_right_parameters(name: str) -> None:
    dimension = DIMENSIONS[name].load()
    if isinstance(dimension, AskedDimension):
        assert DIMENSIONS[name].count_questions
        assert len(signature(dimension.measure).parameters) == 3
        assert len(signature(dimension.count_questions).parameters) == 3
    else:
        assert len(signature(dimension).parameters) == 2
