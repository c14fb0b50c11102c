"""With a disk that is full, read-only or absent, a run loses no verdict and stops its calls: short forms.

The full form is `python -m tests.fault_injection.disk`.
"""

from collections.abc import Iterator
from pathlib import Path

import pytest

from judge.errors import StoreError
from judge.runs.folder import RunFolder
from tests.support.command_line import inject_faults


@pytest.mark.slow
def test_a_store_that_cannot_grow_or_is_moved_loses_nothing_and_ends_the_calls() -> None:
    inject_faults("disk", "growth", "moved", "--step", 60)


@pytest.mark.slow
def test_a_full_or_read_only_disk_and_edited_rows_are_noticed_and_every_commit_is_synced() -> None:
    inject_faults("disk", "mounted", "damaged", "syncs", "--step", 60)


def test_a_file_that_cannot_be_written_leaves_the_old_one_and_no_half(tmp_path: Path) -> None:
    def yield_half() -> Iterator[str]:
        yield "half"
        raise OSError(28, "No space left on device")

    folder = RunFolder(tmp_path)
    folder.write("scores.csv", ["old"])
    with pytest.raises(StoreError, match=r"scores\.csv: cannot be written: No space left"):
        folder.write("scores.csv", yield_half())
    assert {path.name: path.read_text() for path in tmp_path.iterdir()} == {"scores.csv": "old"}
