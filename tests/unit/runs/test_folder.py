"""The folder of a run refuses another run, and says what differs."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from judge.errors import InputError
from judge.run_identity import check_identity
from judge.runs.folder import RunFolder, translate_run_errors

IDENTITY: dict[str, Any] = {
    "scale": "graded",
    "lang": "auto",
    "depth": 10,
    "dataset": "a1",
    "prompts": {"en": "b1"},
}


@pytest.mark.parametrize(
    ("changes", "words"),
    [
        ({"dataset": "a2"}, "the dataset changed"),
        ({"dataset": "a2", "depth": 5}, "depth was 10, now 5; the dataset changed"),
        # The hash of the dataset holds the languages of the queries, that of the prompts is one of a scale.
        ({"dataset": "a2", "lang": "zh"}, "lang was 'auto', now 'zh'"),
        ({"prompts": {"en": "b2"}, "scale": "binary"}, "scale was 'graded', now 'binary'"),
    ],
)
def test_the_refusal_of_another_run_names_what_the_user_changed(
    tmp_path: Path, changes: dict[str, Any], words: str
) -> None:
    folder = RunFolder(tmp_path)
    folder.write_json("config.json", {"identity": IDENTITY})
    check_identity(folder, IDENTITY)
    with pytest.raises(InputError) as caught:
        check_identity(folder, {**IDENTITY, **changes})
    assert str(caught.value) == f"{tmp_path}: holds another run: {words}. Name another --out"


def test_a_default_that_is_given_is_no_other_run(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    for before, now in ((None, 2), (2, None)):
        folder.write_json("config.json", {"identity": {**IDENTITY, "relevant_from": before}})
        check_identity(folder, {**IDENTITY, "relevant_from": now})
        with pytest.raises(InputError, match="relevant_from was 2, now 1"):
            check_identity(folder, {**IDENTITY, "relevant_from": 1})


def test_the_error_of_a_damaged_file_names_the_line_of_code(tmp_path: Path) -> None:
    folder = RunFolder(tmp_path)
    with (
        pytest.raises(InputError, match=r"\(AttributeError in judge/runs/folder\.py:\d+: .*'keys'"),
        translate_run_errors(tmp_path),
    ):
        folder.parse_object("place", "{}").items().keys()  # type: ignore[attr-defined]


@pytest.mark.parametrize("number", ["1e999", "-1e999", "NaN", "Infinity"])
def test_a_number_that_no_float_holds_is_not_json(tmp_path: Path, number: str) -> None:
    (tmp_path / "night.json").write_text(f'{{"mean": {number}}}', encoding="utf-8")
    with pytest.raises(InputError, match=r"night\.json: is not JSON"):
        RunFolder(tmp_path).read("night.json")
