"""How long an engine took, as the nested form says it."""

from typing import Any

import pytest

from judge.errors import InputError
from tests.support.cases import check_each
from tests.support.datasets import read_dataset


def read_latency(answer: object) -> float | None:
    """The latency of a dataset of one answer."""
    row: dict[str, Any] = {"query": "tea", "engines": {"brave": answer}}
    [ranking] = read_dataset([row], lang="auto", max_chars=4000).rankings
    return ranking.latency_ms


@check_each(
    ("answer", "milliseconds"),
    [
        ([{"snippet": "a"}], None),
        ({"results": [{"snippet": "a"}]}, None),
        ({"results": [{"snippet": "a"}], "latency_ms": 312.4}, 312.4),
        ({"results": [], "latency_ms": 3}, 3.0),
        ({"results": [], "latency_ms": None}, None),
        ({"error": "timeout", "latency_ms": 9}, None),
    ],
)
def test_latency_may_stand_beside_the_results(answer: object, milliseconds: float | None) -> None:
    assert read_latency(answer) == milliseconds


@pytest.mark.parametrize("given", ["312", True, -1, float("inf"), 10**400])
def test_latency_is_a_number_of_milliseconds(given: object) -> None:
    with pytest.raises(InputError, match="'latency_ms' is"):
        read_latency({"results": [], "latency_ms": given})


@pytest.mark.parametrize("answer", [{"results": 3}, {}, {"latency_ms": 3}, "a"])
def test_what_is_no_answer_is_refused(answer: object) -> None:
    with pytest.raises(InputError, match="write a list of results"):
        read_latency(answer)
