"""What `judge compare` prints: the answer in sentences, then the tables behind it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from rich.text import Text

from judge.analysis.summary import Summary
from judge.cli.render.tables import Part
from judge.cli.terminal import t
from judge.measure.measures import name_mean
from judge.measure.numeric import rank_engines
from judge.measure.segments import SegmentResult
from judge.messages import make_text
from judge.records import MIN_COVERAGE
from judge.report import assessor_sentences, run_warnings
from judge.report.comparison_sentences import (
    choose_headline,
    describe_limits,
    describe_power,
    describe_segment_differences,
    is_unsure,
    iter_differences,
    iter_segments,
    name_deciding_queries,
)
from judge.report.display_text import (
    format_pair_count,
    format_query_count,
    format_share,
)
from judge.report.result_tables import (
    ResultTable,
    make_comparison_tables,
    make_engines_table,
    make_repeat_table,
    make_returns_table,
)


def iter_comparison_parts(
    summary: Summary,
    run: Path,
    measures: Iterable[str] | None,
    max_comparisons: int,
    min_coverage: float = MIN_COVERAGE,
    *,
    details: bool = False,
) -> Iterator[Part]:
    """Yield the answer, then the numbers behind it; with `details`, further tables and a legend.

    At most `max_comparisons` are shown for each of `measures` (None: the first that engines are compared
    by). `run` is the folder of the run, for commands. What is missing comes first where less than
    `min_coverage` is judged. Raises InputError when the run has no such measure.
    """
    chosen = summary.choose_measures(measures)
    first = chosen[0] if chosen else None
    yield run_warnings.warn_incomplete(t, summary, min_coverage)
    yield run_warnings.warn_flagged(t, summary)
    yield from _describe_result(summary, first)
    comparisons = summary.select_comparisons(first)
    if not details:  # the tables have the others
        comparisons = [comparison for comparison in comparisons if is_unsure(comparison)]
    yield from iter_differences(t, comparisons, max_comparisons)
    tables = list(_iter_tables(summary, chosen, max_comparisons, details=details))
    yield from tables
    if (count := len(summary.select_comparisons(first))) > max_comparisons:
        yield t("… and {more:,} more: --pairs {count} or --json", more=count - max_comparisons, count=count)
    yield from run_warnings.describe_left_out(t, summary)
    if first and first == summary.deciding_measure:
        yield name_deciding_queries(t, summary, run)
    yield from _describe_segments(summary, first or summary.main_measure)
    if summary.stability:
        yield from assessor_sentences.describe_repeats(t, summary.stability, summary.main_measure)
        if details:
            variance = summary.stability.measures[summary.main_measure].variance
            yield assessor_sentences.describe_variance(t, variance)
    if details:
        shown = (summary.select_comparisons(name)[:max_comparisons] for name in chosen)
        outcomes = {comparison.outcome for comparison in chain.from_iterable(shown)}
        yield Text()
        yield from (Text(line, style="dim") for line in _explain_tables(tables, outcomes, summary))
    else:
        yield Text(t("--details explains the columns and shows more tables."), style="dim")


def _iter_tables(
    summary: Summary, measures: Sequence[str], max_comparisons: int, *, details: bool
) -> Iterator[ResultTable]:
    """Yield the tables behind the answer by `measures`."""
    yield make_engines_table(summary, measures)
    if details:
        yield make_returns_table(summary)
    for measure in measures:
        comparisons, plan = make_comparison_tables(summary, measure, max_comparisons)
        if comparisons.names:
            yield comparisons
            if details:
                yield plan
    if summary.stability and details:
        yield make_repeat_table(summary)


#: What the signs between two engines mean, by the outcome.
_SIGNS = {
    "better": make_text("a > b: the interval excludes 0, and the adjusted p is below 0.05"),
    "not separated": make_text("a ≈ b: not separated, the interval contains 0"),
    "undetermined": make_text(
        "a ? b: undetermined, unjudged snippets could reverse the difference, or there is no query where both"
        " have a value"
    ),
}


def _explain_tables(
    tables: Sequence[ResultTable], outcomes: Collection[str], summary: Summary
) -> Iterator[str]:
    """Yield the legend of the tables, one term on a line: of the columns, signs and values that they show."""
    yield t("How to read it: all numbers are over queries; two engines are compared on the same queries.")
    notes = [note for table in tables for note in table.list_notes("terminal")]
    signs = [sign for outcome, sign in _SIGNS.items() if outcome in outcomes]
    yield from (note.choose(t) for note in dict.fromkeys((*notes, *signs)))
    columns = (column for table in tables for column in table.list_columns("terminal"))
    if any(text.en == "-" for column in columns for text in column.list_texts("terminal")):
        yield t("-: no value")
    if len(summary.measures) > 1:
        yield t("The first measure decides, the others are descriptive.")
    yield from run_warnings.describe_measures(t, summary)


def _describe_result(summary: Summary, measure: str | None) -> Iterator[str]:
    yield from map(
        t,
        (
            *run_warnings.warn_without_results(summary),
            *run_warnings.warn_without_text(summary),
            *summary.remarks,
        ),
    )
    judged = format_pair_count(t, summary.pairs)
    yield t(
        "{queries}, {engines}, judged down to rank {run.depth} by {assessor}, {repeats}; {pairs},"
        " {coverage} judged",
        run=summary,
        coverage=format_share(summary.coverage, format_spec=".1%"),
        assessor=summary.assessor,
        queries=format_query_count(t, summary.queries),
        engines=t.translate_plural("{count:,} engine", "{count:,} engines", len(summary.engines)),
        repeats=t.translate_plural("{count:,} repeat", "{count:,} repeats", summary.repeats),
        pairs=t("{pairs} in all runs together", pairs=judged) if summary.runs else judged,
    )
    yield from assessor_sentences.describe_labels(t, summary)
    yield assessor_sentences.describe_served_models(t, summary)
    yield choose_headline(t, summary, measure)
    yield from run_warnings.warn_unreliable(t, summary)
    # The tests of segments are by the measure that decides.
    if measure == summary.deciding_measure:
        yield from describe_segment_differences(t, summary)
    yield describe_power(t, summary, measure)
    yield from describe_limits(t, summary)


def _describe_segments(summary: Summary, measure: str) -> Iterator[str]:
    for column, value, segment in iter_segments(summary):
        yield t(
            "{column} {value} ({queries}), {measure}: {result}",
            column=column,
            value=value,
            queries=format_query_count(t, segment.queries),
            measure=name_mean(measure),
            result=_describe_segment(segment, measure, summary),
        )


def _describe_segment(segment: SegmentResult, measure: str, summary: Summary) -> str:
    """Return the means, best first, and by the measure that decides, which engines are separated.

    A mean over fewer queries than the segment has says how many.
    """
    means = {
        engine: mean for engine, row in segment.engines.items() if (mean := row[measure].mean) is not None
    }
    counts = {
        engine: t(" ({queries})", queries=format_query_count(t, n))
        for engine in means
        if (n := segment.engines[engine][measure].n) != segment.queries
    }
    best_first = rank_engines(means)
    listing = t(", ").join(f"{engine} {means[engine]:.3f}{counts.get(engine, '')}" for engine in best_first)
    if not listing:
        return t("nothing to average")
    if not segment.comparisons or measure != summary.deciding_measure:
        return listing
    leads = t(", ").join(
        f"{comparison.a} > {comparison.b}" for comparison in segment.comparisons if comparison.winner
    )
    return f"{listing}{t('; ')}{leads or t('none separated')}"
