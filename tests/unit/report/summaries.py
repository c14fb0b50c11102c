"""Summaries with the comparisons and means that a test names; all else is that of a run of one snippet."""

from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison
from judge.measure.engine_summary import MeasureMean
from tests.unit.analysis.labelled import make_run
from tests.unit.report.charted import summarise_run

BASE = summarise_run(make_run({"A": {"q": ["text"]}}, {("q", "text"): 2}, measures="P@5", depth=5))


def make_mean(mean: float | None, n: int = 20, **changes: Any) -> MeasureMean:
    """Return a mean over `n` queries, everything judged."""
    return replace(MeasureMean(mean, n, None, (mean, mean), 0, 0, mean, n), **changes)


def make_summary(
    means: Mapping[str, Mapping[str, MeasureMean]], *comparisons: PairComparison, **changes: Any
) -> Summary:
    """Return a summary with these means by engine and measure, and these comparisons."""
    engines = {engine: replace(BASE.engines["A"], measures=row) for engine, row in means.items()}
    measures = tuple(next(iter(means.values()), {"P@5": None}))
    return replace(BASE, **{"measures": measures, "engines": engines, "comparisons": comparisons, **changes})


def make_comparison(**changes: Any) -> PairComparison:
    """Return a comparison of A with B that does not separate them."""
    comparison = PairComparison(
        measure="P@5", decides=True, a="A", b="B", conclusion="not separated", winner=None,
        outcome="not separated", n=9, difference=0.25, ci95=(-0.125, 0.5), bounds=(0.25, 0.25), sd=0.2,
        d_z=1.25, wins=5, ties=1, losses=3, robust=None, p_adjusted=0.5, detectable=0.3,
        detectable_doubled=0.2, at_least_queries=None,
    )  # fmt: skip
    return replace(comparison, **changes)
