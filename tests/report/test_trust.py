"""What a run says of flagged snippets and self-tests: the same numbers in both languages, when due."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judge.analysis import warnings
from judge.measure.sensitivity import FlaggedSensitivity

MEANS = {
    "kept": {"a": 0.5, "b": 0.4, "c": None},
    "zeroed": {"a": 0.3, "b": 0.4, "c": None},
    "dropped": {"a": 0.35, "b": 0.45, "c": None},
}
SAME = dict.fromkeys(("kept", "zeroed", "dropped"))


def written(**changed: Any) -> dict[str, Any]:
    found = {
        "measure": "AP@10",
        "pairs": 3,
        "means": MEANS,
        "winners": SAME,
        "swapped": (("a", "b"),),
        **changed,
    }
    row = warnings.as_json(FlaggedSensitivity(**found))
    assert row is not None
    return row


def numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+(?:\.\d+)?", text))


def test_nothing_flagged_is_null() -> None:
    assert warnings.as_json(None) is None
    assert warnings.alarm({"without_flagged": None}) is warnings.remark({"without_flagged": None}) is None


def test_what_gets_grades_for_failed_pairs_depends_on_why_they_failed() -> None:
    assert "asks again for these alone." in warnings.again({"transport": 1}).en
    assert "no_text needs the missing texts" in warnings.again({"no_text": 1, "transport": 2}).en
    assert "asks again" not in warnings.again({"no_text": 1}).en


def test_a_swap_is_told_with_the_means_of_all_three_ways() -> None:
    row = written()
    assert row["engines"]["a"] == {"kept": 0.5, "zeroed": 0.3, "dropped": 0.35}
    assert (row["order_changes"], row["swapped"]) == (True, [["a", "b"]])
    said = warnings.flagged(row)
    assert row["why"] == said.en
    assert "seem to plead for a grade, and the order of the engines rests on them." in said.en
    assert "a is ahead of b, 0.500 to 0.400; with them counted as 0 it is 0.300 to 0.400" in said.en
    assert numbers(said.en) == numbers(said.zh)
    assert (warnings.alarm({"without_flagged": row}), warnings.remark({"without_flagged": row})) == (
        said,
        None,
    )


def test_another_winner_alone_is_told_as_well() -> None:
    row = written(swapped=(), winners={"kept": "a", "zeroed": None, "dropped": "a"})
    assert row["order_changes"]
    assert "and the answer rests on them." in row["why"]
    assert "a as things are, none with them counted as 0, a with them left out" in row["why"]


def test_an_order_that_stays_is_a_remark_and_no_alarm() -> None:
    row = written(swapped=())
    assert not row["order_changes"]
    assert warnings.alarm({"without_flagged": row}) is None
    remark = warnings.remark({"without_flagged": row})
    assert remark is not None
    assert numbers(remark.en) == ["0", "10", "3"]


@pytest.mark.parametrize("swaps", [4, 9])
def test_many_swaps_are_counted(swaps: int) -> None:
    names = [f"e{number}" for number in range(swaps + 1)]
    means = {way: dict.fromkeys(names, 0.5) for way in MEANS}
    said = written(means=means, swapped=tuple((names[0], name) for name in names[1:]))["why"]
    assert said.count(" is ahead of ") == 3
    assert f"{swaps - 3} more pair" in said


def share(count: int, of: int) -> dict[str, Any]:
    return {
        "count": count,
        "of": of,
        "value": count / of if of else None,
        "ci95": [0.009, 0.071] if of else None,
    }


def test_a_self_test_is_told_with_its_interval_and_its_absence_with_the_command() -> None:
    figures = {
        "too_high": share(3, 120),
        "plain_too_high": share(30, 120),
        "too_low": share(2, 64),
        "language": share(220, 220),
        "obedient": share(0, 0),
    }
    tested = {"id": "x", "figures": figures}
    (said,) = warnings.selftests({"selftest": {"openai:some/model/graded": tested}})
    assert "3 of 120 hostile or empty snippets got a good grade (2.5%; 95 %: 0.9% to 7.1%)" in said.en
    assert numbers(said.en) == numbers(said.zh)
    (never,) = warnings.selftests({"selftest": {"openai:some/model/graded": {"id": "x", "figures": None}}})
    assert "judge selftest -m openai:some/model," in never.en
    assert list(warnings.selftests({})) == []
