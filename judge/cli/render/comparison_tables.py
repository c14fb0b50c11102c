"""What `judge compare` prints: the answer in sentences, then the tables behind it."""

from collections.abc import Collection, Iterable, Iterator, Sequence
from itertools import chain
from pathlib import Path

from rich.table import Table
from rich.text import Text

from judge.analysis.summary import Summary
from judge.cli.render.run_tables import iter_mean_cells, iter_return_cells, make_engine_table
from judge.cli.render.tables import Part, explain_brackets, make_table
from judge.cli.terminal import t
from judge.measure.compare import PairComparison
from judge.measure.measures import name_mean
from judge.measure.numeric import rank_engines
from judge.measure.segments import SegmentResult
from judge.measure.stability import MeasureStability
from judge.messages import round_count
from judge.records import MIN_COVERAGE
from judge.report import assessor_sentences, selftest_sentences
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
    OUTCOME_SIGNS,
    format_p_value,
    format_pair_count,
    format_plain_number,
    format_plain_range,
    format_query_count,
    format_share,
)
from judge.report.page_tables import COLUMN_NOTES, COUNT_COLUMNS
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
    tables = [part for part in parts if isinstance(part, Table)]
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
    yield make_engine_table(t("what came back"), summary, iter_return_cells(summary, COUNT_COLUMNS))
    means = list(iter_mean_cells(summary, measures or [main]))
    yield make_engine_table(t("mean"), summary, means)
    yield from explain_brackets(cell for _, cells in means for cell in cells)
    yield from describe_left_out(t, summary)
    for measure in measures:
        yield from _iter_comparisons(summary, measure, max_comparisons)
    yield from _describe_segments(summary, measures[0] if measures else main)
    if summary.stability:
        yield from assessor_sentences.describe_repeats(t, summary.stability, main)
        repeats = summary.stability.measures[main]
        yield _make_repeat_table(repeats, summary.sort_engines(main))
        yield assessor_sentences.describe_variance(t, repeats.variance)


def _explain_tables(tables: Iterable[Table], outcomes: Collection[str], measures: int) -> Iterator[str]:
    """Yield the legend of the tables, one term on a line: of the columns, signs and values that they show."""
    columns = [column for table in tables for column in table.columns]
    titles = {column.header for column in columns}
    cells = {cell for column in columns for cell in column.cells if isinstance(cell, str)}
    lines = {
        t("95% interval"): t(
            "95% interval: that of a mean contains the true mean with a probability of 95%; those of all"
            " differences by a measure together contain the true differences with this probability."
        )
        if outcomes
        else t("95% interval: with a probability of 95%, the interval contains the true mean."),
        "better": t("a > b: the interval excludes 0, and the adjusted p is below 0.05"),
        "not separated": t("a ≈ b: not separated, the interval contains 0"),
        "undetermined": t(
            "a ? b: undetermined, unjudged snippets could reverse the difference, or there is no query where"
            " both have a value"
        ),
        "d_z": t("d_z: the mean difference divided by its standard deviation over the queries"),
        t("detectable"): t(
            "detectable: the true difference that a test detects in 4 of 5 cases with so many queries"
        ),
        t("twice"): t("twice: the same for twice as many queries"),
        t("needed"): t(
            "needed: how many queries separate the pair, if the true difference is the largest in its"
            " interval; no value: the run has that many, or the pair has no t test"
        ),
        t("worst case"): t(
            "worst case: the lowest and highest difference over all grades of unjudged snippets; a tenth of"
            " the distance to each widens the 95% interval on its side"
        ),
        t("queries"): t("queries: the number of queries in the mean"),
        **{t(title): t(note.en) for title, note in COLUMN_NOTES.items()},
        "-": t("-: no value"),
    }
    yield t("How to read it: all numbers are over queries; two engines are compared on the same queries.")
    yield from (text for term, text in lines.items() if term in titles or term in outcomes or term in cells)
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


def _iter_comparisons(summary: Summary, measure: str, max_comparisons: int) -> Iterator[Part]:
    """Yield the tables of the comparisons by one measure, and how many they leave out."""
    comparisons = summary.select_comparisons(measure)
    if shown := comparisons[:max_comparisons]:
        title = t("by {name}", name=name_mean(measure))
        if measure != summary.main_measure:
            title += t(" (descriptive)")
        yield _make_comparison_table(title, shown)
        yield _make_plan_table(shown)
    if len(comparisons) > max_comparisons:
        more = len(comparisons) - max_comparisons
        yield t("… and {more:,} more: --pairs {count} or --json", more=more, count=len(comparisons))


def _make_comparison_table(title: str, comparisons: Iterable[PairComparison]) -> Table:
    """Return one row a comparison: which engine is ahead, by how much, on how many queries."""
    rows = (
        (
            f"{comparison.a} {OUTCOME_SIGNS[comparison.outcome]} {comparison.b}",
            format_plain_number(comparison.difference, "+.4f"),
            format_plain_range(t, comparison.interval, "+.4f"),
            f"{comparison.wins:,}/{comparison.ties:,}/{comparison.losses:,}",
            format_p_value(comparison.p_adjusted),
        )
        for comparison in comparisons
    )
    return make_table([title, "a - b", t("95% interval"), t("won/tied/lost"), t("p (adjusted)")], rows)


def _make_plan_table(comparisons: Sequence[PairComparison]) -> Table:
    """Return one row a comparison: the size of the effect, what more queries would show, what is unjudged."""
    unjudged = any(map(is_unsure, comparisons))
    titles = (t("to plan"), "d_z", t("detectable"), t("twice"), t("needed"), *[t("worst case")] * unjudged)
    rows = (
        (
            f"{comparison.a} - {comparison.b}",
            format_plain_number(comparison.d_z, "+.2f"),
            format_plain_number(comparison.detectable),
            format_plain_number(comparison.detectable_doubled),
            "-" if comparison.at_least_queries is None else round_count(comparison.at_least_queries),
            *[format_plain_range(t, comparison.bounds if is_unsure(comparison) else None, "+.4f")] * unjudged,
        )
        for comparison in comparisons
    )
    return make_table(titles, rows)


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


def _make_repeat_table(measure: MeasureStability, order: Iterable[str]) -> Table:
    """Return one row an engine, in `order`: its means over the repeats."""
    titles = t("over the repeats"), t("mean"), "SD", t("lowest to highest"), "ICC", t("same within 0.01: p")
    rows = []
    for name in order:
        engine = measure.engines[name]
        means = [mean for mean in engine.means if mean is not None]
        numbers = format_plain_number(engine.mean, ".4f"), format_plain_number(engine.sd, ".4f")
        ends = format_plain_range(t, (min(means), max(means)) if means else None, ".4f")
        rows.append((name, *numbers, ends, format_plain_number(engine.icc), format_p_value(engine.tost_p)))
    return make_table(titles, rows)
