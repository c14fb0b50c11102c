"""The table of dimensions names functions that exist, and that take what they get."""

from __future__ import annotations

from inspect import signature

from judge.dimensions import DIMENSIONS
from tests.support.cases import check_each


@check_each("name", [*DIMENSIONS])
def test_each_row_names_functions_of_the_right_parameters(name: str) -> None:
    row = DIMENSIONS[name]
    assert len(signature(row.load(row.measure)).parameters) == (3 if row.count_questions else 2)
    if row.count_questions:
        assert len(signature(row.load(row.count_questions)).parameters) == 3
