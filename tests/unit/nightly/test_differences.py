"""Options that were given otherwise, as people are told of them."""

from __future__ import annotations

from typing import Any

from judge.nightly.changes import describe_differences


def test_what_changed_is_said_in_words_and_no_python() -> None:
    then: dict[str, Any] = {
        "a": None,
        "b": [],
        "c": {"en": "x@1", "zh": "y@1"},
        "d": False,
        "e": 1,
        "old": 1,
        "free": 1,
    }
    now: dict[str, Any] = {
        "a": "zh",
        "b": ["p", "q"],
        "c": {"en": "x@2", "zh": "y@1"},
        "d": True,
        "e": 1,
        "new": 2,
        "free": 2,
    }
    assert list(describe_differences(then, now, free={"free"})) == [
        "a was not set, now zh",
        "b was none, now p, q",
        "c.en was x@1, now x@2",
        "d was false, now true",
    ]


def test_a_part_that_one_side_alone_has_is_said() -> None:
    assert list(describe_differences({"c": {"en": 1}}, {"c": {"zh": 2}})) == [
        "c.en was 1, now not set",
        "c.zh was not set, now 2",
    ]
