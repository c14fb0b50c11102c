"""What is damaged in the folder of a run is named."""

from pathlib import Path

import pytest

from judge.errors import InputError
from judge.runs.folder import RunFolder, translate_run_errors


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
