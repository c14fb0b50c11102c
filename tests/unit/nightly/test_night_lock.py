"""One process at a time works on a folder of nights."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.errors import InputError, StoreError
from judge.nightly.context import lock_nights


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
