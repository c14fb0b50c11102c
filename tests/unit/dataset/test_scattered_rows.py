"""Rows of one query that stand far apart make the dataset of neighbouring rows, and the same errors."""

from collections.abc import Mapping, Sequence
from operator import itemgetter
from typing import Any

import pytest

from judge.errors import InputError
from judge.records import Dataset
from tests.support.datasets import read_dataset

#: More queries than are read together.
ROWS: Sequence[Mapping[str, Any]] = [
    {
        "query": f"query {number}",
        "query_id": f"q{number}",
        "engine": engine,
        "rank": rank,
        "snippet": f"{rank}",
    }
    for number in range(450)
    for engine in "ab"
    for rank in (1, 2)
]


def read(rows: Sequence[Mapping[str, Any]]) -> Dataset:
    return read_dataset(rows, lang="en", max_chars=400)


@pytest.mark.parametrize("order", [("engine",), ("rank",), ("rank", "engine")])
def test_the_order_of_rows_of_a_query_does_not_matter(order: Sequence[str]) -> None:
    scattered = read(sorted(ROWS, key=itemgetter(*order)))
    assert scattered == read(ROWS)
    assert list(scattered.queries) == [f"q{number}" for number in range(450)]


def test_the_first_wrong_row_is_reported_whichever_query_it_belongs_to() -> None:
    again = {**ROWS[0], "rank": 1}
    later, earlier = {**again, "query": "query 2", "query_id": "q2"}, {**ROWS[-1], "rank": 1}
    with pytest.raises(
        InputError, match=r"row 1801: field 'rank': engine 'b' has rank 1 for query 'query 449' twice"
    ):
        read([*ROWS, earlier, later])
    with pytest.raises(
        InputError, match=r"row 1801: field 'rank': engine 'a' has rank 1 for query 'query 2' twice"
    ):
        read([*ROWS, later, earlier])
    with pytest.raises(InputError, match=r"row 1801: field 'rank': engine 'b' has rank 1"):
        read([*ROWS, earlier, {"query": "x", "snippet": ["y"]}])
    with pytest.raises(InputError, match=r"row 1801: field 'snippet' is \['y'\], not text"):
        read([*ROWS, {"query": "x", "snippet": ["y"]}, earlier])
