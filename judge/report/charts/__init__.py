"""Owns the charts of the report: what each shows, in one pass over the queries."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from judge.messages import Text
from judge.report.charts import grade_shares, matrix, means, pairs, query_differences, repeats
from judge.report.charts.svg import Chart

__all__ = ["Chart", "Said", "charts"]


def draw_charts(
    summary: Mapping[str, Any], entries: Iterable[Mapping[str, Any]], agreement: Mapping[str, Any] | None
) -> tuple[Chart, ...]:
    """The charts that have something to show, in the order to show them.

    `summary` is what summary.json holds, `agreement` what agreement.json does, if there is one, and
    `entries` are the queries of results.json: each is looked at once, and none is kept.
    """
    shown = grade_shares.GradeCounts(summary["repeats"], summary["depth"])
    ahead = query_differences.start_differences(summary)
    for entry in entries:
        shown.add(entry)
        if ahead:
            ahead.add(entry)
    drawn = (
        means.draw_means(summary),
        pairs.draw_pairs(summary),
        ahead and query_differences.draw_query_differences(ahead),
        grade_shares.draw_grade_shares(summary, shown),
        repeats.draw_repeats(summary),
        agreement and matrix.draw_confusion_matrix(agreement),
    )
    return tuple(chart for chart in drawn if chart)
