"""Columns of short texts: they read like tuples."""

import pytest

from judge.measure.columns import TextColumn
from tests.support.cases import check_each

TEXTS = ("", "a", "茶", "half \ud800", "", "d-1")


@check_each("texts", [TEXTS, (), ("x",) * 10_000])
def test_a_column_reads_like_a_tuple(texts: tuple[str, ...]) -> None:
    column = TextColumn("".join(texts), map(len, texts))
    assert (tuple(column), len(column)) == (texts, len(texts))
    for first, last in ((0, len(texts)), (1, 3), (3, 99), (2, 2)):
        assert tuple(column.read(first, last)) == texts[first:last]
    assert [column[place] for place in range(len(texts))] == [*texts]


def test_a_place_outside_is_an_error() -> None:
    with pytest.raises(IndexError):
        TextColumn("".join(TEXTS), map(len, TEXTS))[6]
