"""What a run prints: how much was judged, the engines with their means, the dimensions, and the answer.

Also what `judge align` prints of its map.
"""

from __future__ import annotations

import shlex
from dataclasses import replace
from typing import TYPE_CHECKING

from judge.cli.render.tables import Part, make_table
from judge.cli.terminal import t
from judge.measure.measures import name_mean
from judge.records import MIN_COVERAGE
from judge.report import assessor_sentences, facts, run_warnings
from judge.report.comparison_sentences import (
    MAX_COMPARISONS,
    choose_headline,
    describe_power,
    describe_segment_differences,
    iter_differences,
)
from judge.report.display_text import (
    format_new_call_count,
    format_plain_number,
    format_plain_range,
    format_share,
    name_dimension,
)
from judge.report.result_tables import iter_dimension_tables, make_engines_table, make_returns_table

if TYPE_CHECKING:
    from collections.abc import Container, Iterator, Sequence
    from pathlib import Path

    from judge.analysis.dimension_summary import DimensionSummary
    from judge.analysis.summary import Summary
    from judge.dimensions.align import AlignmentSummary
    from judge.runs.run_result import RunResult


def iter_run_parts(
    result: RunResult,
    *,
    saved: bool = True,
    printed: Container[str] = (),
    is_explained: bool = False,
    min_coverage: float = MIN_COVERAGE,
) -> Iterator[Part]:
    """Yield what was judged, the engines best first, warnings, and, when `saved`, where the files are.

    Warnings in `printed` are left out. `is_explained` says that the error of an incomplete run is printed.
    What is missing comes first where less than `min_coverage` is judged.
    """
    summary, folder = result.summary, result.folder
    min_coverage = 1.0 if is_explained else min_coverage
    if is_explained and summary.stopped:  # the error says what is missing, and why
        summary = replace(summary, stopped={})
        yield run_warnings.explain_imputation(t, summary).strip()
    else:
        yield run_warnings.warn_incomplete(t, summary, min_coverage)
    yield from _iter_warnings(result, printed)
    yield make_engines_table(summary)
    returns = make_returns_table(summary)
    if returns.columns:
        yield returns
    yield from assessor_sentences.describe_controls(t, summary)
    order = summary.sort_engines(summary.main_measure)
    for name, dimension in summary.dimensions.items():
        yield from iter_dimension_parts(name, dimension, order)
    run = shlex.quote(str(folder))
    yield from _describe_result(summary, run, min_coverage)
    yield from run_warnings.describe_selftests(t, summary, run, min_coverage)
    if saved:
        yield t("results: {file}", file=folder / "results.json")
        yield t("report: {file}", file=folder / "report.html")
    else:
        yield t("the files in {folder} are unchanged; --save writes this to them", folder=folder)


def has_grades(result: RunResult) -> bool:
    """Return whether there is anything to print: a grade, or a dataset without a result."""
    summary = result.summary
    return not summary.judgments or bool(summary.judged) or any(member.judged for member in summary.members)


def _iter_warnings(result: RunResult, printed: Container[str]) -> Iterator[str]:
    """Yield the sentences before the means, without the warnings in `printed`."""
    summary = result.summary
    yield run_warnings.warn_flagged(t, summary)
    yield from (t(line) for line in run_warnings.warn_without_results(summary) if line not in printed)
    yield from _describe_judging(result)
    yield from assessor_sentences.describe_labels(t, summary)
    yield from assessor_sentences.describe_near_duplicates(t, summary)
    lines = dict.fromkeys((*run_warnings.warn_without_text(summary), *summary.remarks, *result.warnings))
    yield from (t(line) for line in lines if line not in printed)
    yield assessor_sentences.describe_served_models(t, summary)


def _describe_judging(result: RunResult) -> Iterator[str]:
    """Yield how much there was to judge, how much of it is judged, and the cost."""
    summary, cost = result.summary, result.summary.cost
    yield facts.describe_dataset(t, summary)
    if not summary.judgments:
        yield t("the dataset holds no result, so there was nothing to judge")
        return
    wanted, judged = summary.judgments - summary.labelled, summary.judged - summary.labelled
    spending = _describe_spending(result)
    if wanted:
        yield t(
            "{judged:,} of {wanted:,} judged by {assessor} ({share}); {spending}",
            judged=judged,
            wanted=wanted,
            assessor=summary.assessor,
            share=format_share(judged / wanted, format_spec=".1%"),
            spending=spending,
        )
    elif cost and cost.calls:
        # People graded every pair; the calls are for a sample, thresholds, controls or dimensions.
        yield spending


def _describe_spending(result: RunResult) -> str:
    """Return the calls of this command, and all calls behind the run with their cost."""
    calls, cost = format_new_call_count(t, result.calls_made), result.summary.cost
    if not cost or not cost.calls:
        return calls
    return t("{calls}; in all {cost}", calls=calls, cost=facts.describe_cost(t, cost))


def _describe_result(summary: Summary, run: str, min_coverage: float) -> Iterator[str]:
    """Yield which engines differ, what limits that, and how stable it is; `run` is the folder in commands."""
    deciding = summary.deciding_measure
    comparisons = summary.select_comparisons(deciding)
    yield choose_headline(t, summary)
    yield from run_warnings.warn_unreliable(t, summary)
    yield assessor_sentences.warn_false_positives(t, summary)
    yield from describe_segment_differences(t, summary)
    yield from iter_differences(t, comparisons, MAX_COMPARISONS)
    if len(comparisons) > MAX_COMPARISONS:
        yield t(
            "  … and {count:,} more: judge compare {folder}",
            count=len(comparisons) - MAX_COMPARISONS,
            folder=run,
        )
    yield describe_power(t, summary)
    yield from assessor_sentences.describe_panel(t, summary)
    yield from run_warnings.iter_warnings(t, summary, min_coverage)
    if summary.stability:
        measure = summary.main_measure
        yield from assessor_sentences.describe_repeats(t, summary.stability, measure)


#: How many notes of a dimension a run prints.
_NOTES = 3


def iter_dimension_parts(name: str, dimension: DimensionSummary, order: Sequence[str]) -> Iterator[Part]:
    """Yield one row an engine, one row a pair of engines, the remarks and the first notes."""
    title = name_dimension(t, name)
    yield from iter_dimension_tables(name, dimension, order)
    yield from (t("{name}: {value}", name=title, value=t(remark)) for remark in dimension.remarks)
    for note in dimension.notes[:_NOTES]:
        yield t(
            "  {query_id}: {text}" if note.engine is None else "  {engine} on {query_id}: {text}",
            engine=note.engine,
            query_id=note.query_id,
            text=t(note.text),
        )
    if len(dimension.notes) > _NOTES:
        yield t("  … and {count:,} more in report.html", count=len(dimension.notes) - _NOTES)


def iter_alignment_parts(summary: AlignmentSummary, run: Path) -> Iterator[Part]:
    """Yield the measures of held-out queries, what they mean, and where the map is."""
    yield t(
        "{summary.queries:,} queries with relevant and other snippets; {summary.snippets:,} snippets,"
        " {summary.triplets:,} triplets; {summary.embeddings} has {summary.dimensions:,} dimensions",
        summary=summary,
    )
    rows = (
        (
            name_mean(name),
            format_plain_number(measure.before, ".4f"),
            format_plain_number(measure.after, ".4f"),
            format_plain_number(measure.difference, "+.4f"),
            format_plain_range(t, measure.ci95, "+.4f"),
        )
        for name, measure in summary.measures.items()
    )
    titles = t("held-out queries"), t("before"), t("after"), t("difference"), t("95% interval")
    yield make_table(titles, rows)
    if any(measure.ci95 is None for measure in summary.measures.values()):
        yield t("There is no interval where too few queries differ.")
    name, measure = next(iter(summary.measures.items()))
    sentence = {
        "helps": t("The map helps: {measure} is higher after it.", measure=name_mean(name)),
        "harms": t("The map harms: {measure} is lower after it.", measure=name_mean(name)),
        "not separated": t(
            "It is open whether the map helps: {measure} before and after it is not separated (the difference"
            " may be chance).",
            measure=name_mean(name),
        ),
    }
    yield sentence[measure.outcome]
    yield t("map: {file}", file=run / "alignment.npy")
