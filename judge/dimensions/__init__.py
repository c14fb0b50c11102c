"""Dimensions beside relevance: columns of their own, which never enter the measures of relevance.

A dimension is one module and one row of `DIMENSIONS`. Its name is that of its option.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass

from judge.analysis.dimension_result import DimensionResult
from judge.analysis.loaded_run import LoadedRun
from judge.messages import Message


@dataclass(frozen=True, slots=True)
class Dimension:
    """A row of the table: `load` imports the module and returns what measures a judged run."""

    name: str
    load: Callable[[], Callable[[LoadedRun], DimensionResult]]


def _load_diversity() -> Callable[[LoadedRun], DimensionResult]:
    from judge.dimensions.diversity import measure_diversity

    return measure_diversity


_ROWS = (Dimension(Message("diversity"), _load_diversity),)
DIMENSIONS: Mapping[str, Dimension] = {row.name: row for row in _ROWS}


def measure_dimensions(run: LoadedRun, names: Iterable[str]) -> dict[str, DimensionResult]:
    """Return the dimensions of the run by name: those that it has, and those of `names`, measured anew."""
    return {**run.dimensions, **{name: DIMENSIONS[name].load()(run) for name in names}}
