"""One process at a time works on a folder of nights; options that were given otherwise are told in words."""

from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError, StoreError
from judge.nightly.context import describe_differences, lock_nights


def test_who_is_at_work_is_named_and_gone_afterwards(tmp_path: Path) -> None:
    with (
        lock_nights(tmp_path, "judge nightly"),
        pytest.raises(InputError, match=r"judge nightly \(process \d+ on "),
        lock_nights(tmp_path, "judge baseline set"),
    ):
        raise AssertionError
    assert not (tmp_path / ".lock-owner").exists()


def test_a_folder_that_takes_no_file_is_said_and_left_to_others(tmp_path: Path) -> None:
    (tmp_path / ".lock-owner").mkdir()
    with (
        pytest.raises(StoreError, match=r"\.lock-owner: cannot be written"),
        lock_nights(tmp_path, "judge nightly"),
    ):
        raise AssertionError
    (tmp_path / ".lock-owner").rmdir()
    with lock_nights(tmp_path, "judge nightly"):
        assert (tmp_path / ".lock-owner").exists()


def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    with (
        pytest.raises(InputError, match="cannot be the folder of nights"),
        lock_nights(tmp_path / "file" / "nights", "judge"),
    ):
        raise AssertionError


def test_what_changed_is_said_in_words_and_no_python() -> None:
    then: dict[str, Any] = {
        "a": None,
        "b": [],
        "c": {"en": "x@1", "zh": "y@1"},
        "d": False,
        "e": 1,
        "old": 1,
        "ignored": 1,
    }
    now: dict[str, Any] = {
        "a": "zh",
        "b": ["p", "q"],
        "c": {"en": "x@2", "zh": "y@1"},
        "d": True,
        "e": 1,
        "new": 2,
        "ignored": 2,
    }
    assert list(describe_differences(then, now, ignored={"ignored"})) == [
        "a was not set, now 'zh'",
        "b was none, now 'p', 'q'",
        "c.en was 'x@1', now 'x@2'",
        "d was false, now true",
    ]


def test_a_part_that_one_side_alone_has_is_said() -> None:
    assert list(describe_differences({"c": {"en": 1}}, {"c": {"zh": 2}})) == [
        "c.en was 1, now not set",
        "c.zh was not set, now 2",
    ]
