"""Runs as charts take them: the summary and the queries of results.json."""

from collections.abc import Iterable, Iterator
from dataclasses import replace

from judge.analysis.analyse_run import analyse_run
from judge.analysis.judged_run import JudgedRun, score_run
from judge.analysis.label_agreement import LabelAgreement, compare_with_labels
from judge.analysis.summary import Summary
from judge.measure.intervals import StatisticValue
from judge.report.charts import Chart, ChartData, draw_charts
from judge.runs.export import iter_query_entries
from judge.runs.results_file import QueryEntry
from tests.unit.analysis.labelled import make_people, make_run


def summarise_run(run: JudgedRun) -> Summary:
    """Return the summary of the run."""
    return analyse_run(run).summary


def make_chart_data(summary: Summary, entries: Iterable[QueryEntry]) -> ChartData:
    """Return what charts need of these queries."""
    data = ChartData(summary)
    for entry in entries:
        data.add(entry)
    return data


def draw_run_charts(run: JudgedRun, agreement: LabelAgreement | None = None) -> tuple[Chart, ...]:
    """Return the charts of the run."""
    summary = summarise_run(run)
    return draw_charts(summary, make_chart_data(summary, iter_entries(run)), agreement)


def iter_entries(run: JudgedRun) -> Iterator[QueryEntry]:
    """Yield the queries of the run's results.json."""
    return iter_query_entries(run, score_run(run, run.spec.measures))


def make_agreement(
    confusion: tuple[tuple[int, ...], ...], statistic: StatisticValue, people_relevant_from: int = 2
) -> LabelAgreement:
    """Return an agreement with these counts, whose main statistics are all the same."""
    run = make_run({"A": {"q1": ["x"]}}, {("q1", "x"): 3})
    return replace(
        compare_with_labels(run, make_people(run, {("q1", "x"): 3})),
        confusion=confusion,
        pairs=sum(map(sum, confusion)),
        people_relevant_from=people_relevant_from,
        same_grade=statistic,
        same_verdict=statistic,
        kappa_relevant=statistic,
        bias=statistic,
    )
