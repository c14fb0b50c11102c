"""Charts of the report, drawn from one pass over the queries."""

from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import Summary
from judge.report.charts import differences, grades, means
from judge.report.charts.svg import Chart
from judge.runs.results_file import QueryEntry

__all__ = ["Chart", "ChartData", "draw_charts"]


class ChartData:
    """What charts need of the queries of results.json: each query is added once, and none is kept."""

    def __init__(self, summary: Summary) -> None:
        self.grades = grades.GradeCounts(summary)
        self.differences = differences.start_differences(summary)

    def add(self, entry: QueryEntry) -> None:
        """Add a query of results.json."""
        self.grades.add(entry)
        if self.differences:
            self.differences.add(entry)


def draw_charts(summary: Summary, data: ChartData, agreement: LabelAgreement | None) -> tuple[Chart, ...]:
    """Return the charts that have data, in the order in which the page shows them."""
    charts = (
        means.draw_means(summary),
        means.draw_quality_and_price(summary),
        differences.draw_comparisons(summary),
        data.differences and differences.draw_query_differences(data.differences),
        grades.draw_grade_shares(data.grades),
        means.draw_repeats(summary),
        agreement and grades.draw_confusion_matrix(agreement),
    )
    return tuple(chart for chart in charts if chart)
