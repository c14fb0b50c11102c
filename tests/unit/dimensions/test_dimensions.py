"""The table of dimensions names functions that exist, and that take what they get."""

from __future__ import annotations

from inspect import signature

from judge.dimensions.dimension_table import DIMENSIONS
from tests.support.cases import check_each


@check_each("name", [*DIMENSIONS])
def test_each_row_names_functions_of_the_right_parameters(name: str) -> None:
    row = DIMENSIONS[name]
    functions = [each for each in (row.measure, row.count_questions) if each]
    for function in functions:
        assert len(signature(row.load(function)).parameters) == 1 + len(functions)
