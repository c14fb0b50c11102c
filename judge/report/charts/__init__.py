"""Charts of the report, drawn in one pass over the queries."""

from __future__ import annotations

from collections.abc import Iterable

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import Summary
from judge.report.charts import differences, grades, means
from judge.report.charts.svg import Chart
from judge.runs.results import QueryEntry

__all__ = ["Chart", "draw_charts"]


def draw_charts(
    summary: Summary, entries: Iterable[QueryEntry], agreement: LabelAgreement | None
) -> tuple[Chart, ...]:
    """Return the charts that have data, in the order in which the page shows them.

    `entries` are the queries of results.json: each is looked at once, and none is kept.
    """
    grade_counts = grades.GradeCounts(summary.repeats, summary.depth)
    query_differences = differences.start_differences(summary)
    for entry in entries:
        grade_counts.add(entry)
        if query_differences:
            query_differences.add(entry)
    charts = (
        means.draw_means(summary),
        differences.draw_pairs(summary),
        query_differences and differences.draw_query_differences(query_differences),
        grades.draw_grade_shares(summary, grade_counts),
        means.draw_repeats(summary),
        agreement and grades.draw_confusion_matrix(agreement),
    )
    return tuple(chart for chart in charts if chart)
