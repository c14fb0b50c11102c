"""One process at a time works on a folder of nights; options that were given otherwise are told in words."""

from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError, StoreError
from judge.nightly.context import find_assessor_setting_changes, lock_nights
from tests.support.cases import check_each


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


def make_identity(**given: Any) -> dict[str, Any]:
    prompts = {"en": "en-graded-1", "zh": "zh-graded-1"}
    return {"scale": "graded", "relevant_from": None, "prompts": prompts, "lang": "auto", **given}


@check_each(
    ("given", "changes"),
    [
        ({}, None),
        ({"lang": "zh"}, "lang was 'auto', now 'zh'"),
        ({"prompts": {"en": "en-graded-2", "zh": "zh-graded-1"}}, "the prompts changed"),
        ({"relevant_from": 1}, "relevant_from was 2, now 1"),
        # 2 is what graded means without it, and another scale has other prompts by itself.
        ({"relevant_from": 2}, None),
        ({"scale": "binary", "prompts": {"en": "en-binary-1"}}, "scale was 'graded', now 'binary'"),
        # The other version of judge does not know the first, and nights may differ in the second.
        ({"new": 1, "dataset": "another"}, None),
    ],
)
def test_how_the_assessor_is_configured_differently(given: dict[str, Any], changes: str | None) -> None:
    reasons = find_assessor_setting_changes(make_identity(**given), make_identity())
    assert reasons == ([f"the assessor settings changed: {changes}"] if changes else [])
