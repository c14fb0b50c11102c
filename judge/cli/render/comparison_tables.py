"""What `judge compare` prints: the answer in sentences, then the tables behind it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from rich.text import Text

from judge.analysis.summary import Summary
from judge.cli.render.tables import Part, explain_brackets
from judge.cli.terminal import t
from judge.measure.measures import name_mean
from judge.measure.numeric import rank_engines
from judge.measure.segments import SegmentResult
from judge.messages import make_text
from judge.records import MIN_COVERAGE
from judge.report import assessor_sentences, selftest_sentences
from judge.report.comparison_sentences import (
    choose_headline,
    describe_limits,
    describe_power,
    describe_segment_differences,
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
from judge.report.run_warnings import (
    describe_left_out,
    describe_measures,
    warn_incomplete,
    warn_without_results,
    warn_without_text,
)


def iter_comparison_parts(
    summary: Summary,
    run: Path,
    measures: Iterable[str] | None,
    max_comparisons: int,
    min_coverage: float = MIN_COVERAGE,
) -> Iterator[Part]:
    """Yield the answer, then the numbers behind it, and a legend.

    At most `max_comparisons` are shown for each of `measures` (None: the first that engines are compared
    by). `run` is the folder of the run, for commands. What is missing stands first where less than
    `min_coverage` is judged. Raises InputError when the run has no such measure.
    """
    chosen = summary.choose_measures(measures)
    yield warn_incomplete(t, summary, min_coverage)
    yield from _describe_result(summary, run, chosen[0] if chosen else None, max_comparisons)
    parts = list(_iter_tables(summary, chosen, max_comparisons))
    yield from parts
    tables = [part for part in parts if isinstance(part, ResultTable)]
    outcomes = {
        comparison.outcome
        for measure in chosen
        for comparison in summary.select_comparisons(measure)[:max_comparisons]
    }
    yield Text()
    legend = _explain_tables(tables, outcomes, len(summary.measures))
    yield from (Text(line, style="dim") for line in chain(legend, describe_measures(t, summary)))


def _iter_tables(summary: Summary, measures: Sequence[str], max_comparisons: int) -> Iterator[Part]:
    """Yield the tables behind the answer by `measures`, and sentences on segments and repeats."""
    main = summary.main_measure
    yield make_returns_table(summary)
    means = make_engines_table(summary, measures)
    yield means
    yield from explain_brackets(means)
    yield from describe_left_out(t, summary)
    for measure in measures:
        comparisons, plan = make_comparison_tables(summary, measure, max_comparisons)
        if comparisons.names:
            yield comparisons
            yield plan
        if more := comparisons.more:
            count = len(comparisons.names) + more
            yield t("… and {more:,} more: --pairs {count} or --json", more=more, count=count)
    yield from _describe_segments(summary, measures[0] if measures else main)
    if summary.stability:
        yield from assessor_sentences.describe_repeats(t, summary.stability, main)
        yield make_repeat_table(summary)
        yield assessor_sentences.describe_variance(t, summary.stability.measures[main].variance)


#: What the signs between two engines mean, by the outcome.
_SIGNS = {
    "better": make_text("a > b: the interval excludes 0, and the adjusted p is below 0.05"),
    "not separated": make_text("a ≈ b: not separated, the interval contains 0"),
    "undetermined": make_text(
        "a ? b: undetermined, unjudged snippets could reverse the difference, or there is no query where both"
        " have a value"
    ),
}


def _explain_tables(tables: Sequence[ResultTable], outcomes: Collection[str], measures: int) -> Iterator[str]:
    """Yield the legend of the tables, one term on a line: of the columns, signs and values that they show."""
    yield t("How to read it: all numbers are over queries; two engines are compared on the same queries.")
    notes = [note for table in tables for note in table.list_notes("terminal")]
    signs = [sign for outcome, sign in _SIGNS.items() if outcome in outcomes]
    yield from (note.choose(t) for note in dict.fromkeys((*notes, *signs)))
    columns = (column for table in tables for column in table.list_columns("terminal"))
    if any(text.en == "-" for column in columns for text in column.list_texts("terminal")):
        yield t("-: no value")
    if measures > 1:
        yield t("The first measure decides, the others are descriptive.")


def _describe_result(summary: Summary, run: Path, measure: str | None, max_comparisons: int) -> Iterator[str]:
    yield from map(t, (*warn_without_results(summary), *warn_without_text(summary), *summary.remarks))
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
    yield from selftest_sentences.warn_unreliable(t, summary)
    # The tests of segments are by the measure that decides.
    if measure == summary.deciding_measure:
        yield from describe_segment_differences(t, summary)
    yield describe_power(t, summary, measure)
    yield from describe_limits(t, summary)
    yield from iter_differences(t, summary.select_comparisons(measure), max_comparisons)
    if measure == summary.deciding_measure:
        yield name_deciding_queries(t, summary, run)


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
