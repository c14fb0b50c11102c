"""Owns what a night works with."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.measure.measures import Measure
from judge.nightly.baseline import Baseline
from judge.runs.folder import RunFolder


@dataclass(frozen=True, slots=True)
class Tonight:
    """What a night works with: its day, its folder, its run's options, and what it is decided by.

    `remarks` say what a reader must know of how its dataset came to be, `asked` what engines were asked
    (see `collecting`), None where that is not known.
    """

    day: str
    folder: RunFolder
    config: Config
    rules: NightlyConfig
    measures: tuple[Measure, ...]
    baseline: Baseline | None = None
    remarks: tuple[str, ...] = ()
    asked: Mapping[str, Any] | None = None

    @property
    def nights(self) -> Path:
        """The folder of all nights."""
        return self.folder.path.parent
