"""What a run prints: how much was judged, the engines with their means, and the answer in sentences."""

from __future__ import annotations

import shlex
from collections.abc import Container, Iterable, Iterator
from pathlib import Path

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.analysis.summary import Summary
from judge.cli.render.dimension_tables import print_dimension
from judge.cli.render.tables import (
    escape_line,
    format_decimal,
    format_decimal_range,
    make_table,
    measure_width,
    print_lines,
    print_table,
)
from judge.errors import RunIncomplete
from judge.flags import TEXT_MISSING
from judge.measure.measures import MEASURE_KINDS, name_mean
from judge.messages import Message, Translator
from judge.pricing.costs import RunCost
from judge.records import MIN_COVERAGE
from judge.report import assessor_sentences, facts, selftest_sentences
from judge.report.comparison_sentences import (
    choose_headline,
    describe_power,
    describe_segment_differences,
    list_differences,
)
from judge.report.display_text import count_new_calls, format_run_cost
from judge.report.page_tables import COLUMN_NOTES, list_return_columns
from judge.report.run_warnings import list_warnings, warn_flagged, warn_incomplete, warn_without_results
from judge.runs.run_result import RunResult

#: How many pairs of engines a run prints; `judge compare` prints them all.
_PAIRS = 6
#: The counts of what came back that a run prints where they are not 0; `judge compare` prints the others too.
_COUNTS = ("judged", "empty", "errors", "absent", "duplicates")
#: The columns of what came back that a run explains; `judge compare` explains the others too.
_EXPLAINED = ("ms p95", "tokens")


def list_return_cells(
    summary: Summary, counts: Iterable[str], t: Translator
) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the cells, best engine first, of each column of what came back."""
    for title, values, form in list_return_columns(summary, counts):
        yield t(title.en), [format_decimal(value, form) for value in values]


def list_mean_cells(
    summary: Summary, detailed: Container[str], t: Translator
) -> Iterator[tuple[str, list[str]]]:
    """Yield the title and the cells, best engine first, of each measure.

    A `detailed` one is followed by its intervals and over how many queries its means are.
    """
    rows = [summary.engines[name].measures for name in summary.sort_engines(summary.main_measure)]
    for measure in summary.measures:
        means = [row[measure] for row in rows]
        yield name_mean(measure), [format_decimal(mean.mean) for mean in means]
        if measure in detailed:
            yield t("95% interval"), [format_decimal_range(t, mean.ci95) for mean in means]
            yield t("queries"), [format_decimal(mean.n, ",") for mean in means]


def make_engine_table(title: str, summary: Summary, columns: Iterable[tuple[str, list[str]]]) -> Table:
    """Return one row an engine, best first, of the `columns`, each with its title and its cells."""
    titles, cells = zip(*columns, strict=True)
    table = make_table(title, *titles)
    for name, *row in zip(summary.sort_engines(summary.main_measure), *cells, strict=True):
        table.add_row(escape_line(name), *row)
    return table


def print_run(result: RunResult, console: Console, t: Translator, *, saved: bool = True) -> None:
    """Print what was judged, the engines best first, warnings, and, when `saved`, where the files are."""
    summary = result.summary
    # What is missing stands first where it is too much.
    least = 1.0 if result.incomplete else MIN_COVERAGE
    print_lines([warn_incomplete(t, summary, least), *_list_warnings(result, t)], console)
    _print_engines(summary, console, t)
    print_lines(assessor_sentences.describe_controls(t, summary), console)
    order = summary.sort_engines(summary.main_measure)
    for name, dimension in summary.dimensions.items():
        print_dimension(name, dimension, order, console, t)
    folder = result.folder
    print_lines(_describe_result(summary, folder, least, t), console)
    print_lines(selftest_sentences.describe_selftests(t, summary, shlex.quote(str(folder))), console)
    if not saved:
        console.print(
            Text(t("the files in {folder} are unchanged; --save writes this to them", folder=folder))
        )
        return
    console.print(Text(t("results: {file}", file=folder / "results.json")))
    console.print(Text(t("report: {file}", file=folder / "report.html")))


def has_grades(result: RunResult) -> bool:
    """Return whether there is anything to print: a grade, or a dataset without a result."""
    summary = result.summary
    members = summary.panel.members if summary.panel else ()
    return not summary.judgments or bool(summary.judged) or any(member.judged for member in members)


def explain_no_grades(summary: Summary) -> RunIncomplete:
    """Return the error that replaces the tables of a run without a grade."""
    return RunIncomplete(
        "no pair is judged (0 of {count:,}), so no engine has a value; {advice}",
        count=summary.judgments,
        advice=Message("add the missing texts to the dataset, and run it in another --out")
        if set(summary.failures) == {TEXT_MISSING}
        else Message("run the judge run command of this run again"),
    )


def _list_warnings(result: RunResult, t: Translator) -> Iterator[str]:
    """Yield what a reader must know before the means."""
    summary = result.summary
    yield warn_flagged(t, summary)
    yield from warn_without_results(t, summary)
    yield from _describe_judging(result, t)
    yield from assessor_sentences.describe_labels(t, summary)
    yield from assessor_sentences.describe_near_duplicates(t, summary)
    yield from map(t, dict.fromkeys((*summary.remarks, *result.warnings)))
    yield assessor_sentences.describe_served_models(t, summary)


def _describe_judging(result: RunResult, t: Translator) -> Iterator[str]:
    """Yield how much there was to judge, how much of it is judged, and the cost."""
    summary, cost = result.summary, result.summary.cost
    yield facts.describe_dataset(t, summary)
    if not summary.judgments:
        yield t("the dataset holds no result, so there was nothing to judge")
        return
    wanted, judged = summary.judgments - summary.labelled, summary.judged - summary.labelled
    if not wanted:
        return
    yield t(
        "{judged:,} of {wanted:,} judged by {assessor} ({share:.1%}); {calls}; in total {tokens:,} tokens"
        "{cost}",
        judged=judged,
        wanted=wanted,
        assessor=summary.assessor,
        share=judged / wanted,
        calls=count_new_calls(t, result.calls_made),
        tokens=cost.prompt_tokens + cost.completion_tokens if cost else 0,
        cost=_describe_cost(cost, t) if cost else "",
    )


def _describe_cost(cost: RunCost, t: Translator) -> str:
    """Return what a run cost, the day of the price, and the calls whose cost is not known."""
    price, amount = cost.price, format_run_cost(t, cost)
    if amount is None:
        text = t("; cost unknown") if price else t("; price unknown: --price or --prices gives one")
    else:
        text = t(", {amount}", amount=amount) if amount else ""
        if amount and price and price.as_of:
            text += t(" at prices of {day}", day=price.as_of)
    return text + facts.describe_unclear_calls(t, cost)


def _print_engines(summary: Summary, console: Console, t: Translator) -> None:
    """Print one row an engine, best first: means and what came back, in two tables where one is too wide."""
    means = list(list_mean_cells(summary, [summary.main_measure], t))
    came_back = list(list_return_cells(summary, _COUNTS, t))
    table = make_engine_table(t("engine"), summary, [*means, *came_back])
    if came_back and measure_width(table, console) > console.width:
        print_table(make_engine_table(t("engine"), summary, means), console, {t("95% interval")})
        table = make_engine_table(t("what came back"), summary, came_back)
    print_table(table, console, {t("95% interval")})
    titles = {title for title, _ in came_back}
    for title in _EXPLAINED:
        if t(title) in titles:
            console.print(Text(t(COLUMN_NOTES[title].en), style="dim"))


def _describe_result(summary: Summary, folder: Path, least: float, t: Translator) -> Iterator[str]:
    """Yield which engines differ, what limits that, and how stable it is."""
    deciding = summary.deciding_measure
    comparisons = summary.select_comparisons(deciding)
    yield choose_headline(t, summary)
    yield from selftest_sentences.warn_unreliable(t, summary)
    yield assessor_sentences.warn_false_positives(t, summary)
    yield from describe_segment_differences(t, summary)
    yield from list_differences(t, comparisons, _PAIRS)
    if len(comparisons) > _PAIRS:
        yield t(
            "  … and {count:,} more: judge compare {folder}", count=len(comparisons) - _PAIRS, folder=folder
        )
    yield describe_power(t, summary)
    yield from list_warnings(t, summary, least)
    if summary.stability:
        measure = summary.main_measure
        yield from assessor_sentences.describe_repeats(t, summary.stability, measure)


def print_measures(console: Console, t: Translator) -> None:
    """Print every measure that exists."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (t("measure"), t("what it says of one query"), t("source")):
        table.add_column(title, overflow="fold")
    for kind in MEASURE_KINDS.values():
        table.add_row(Text(kind.syntax), t(kind.meaning), t(kind.source))
    console.print(table)
