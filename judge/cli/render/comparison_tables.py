"""What `judge compare` prints: the answer in sentences, then the tables behind it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.analysis.summary import MeasureStability, PairComparison, SegmentResult, Summary
from judge.cli.render.cells import (
    escape_line,
    format_interval,
    format_number,
    format_share,
    make_table,
    print_table,
)
from judge.cli.render.run_tables import describe_no_grades, list_time_columns, sort_engines
from judge.english import format_count, round_count
from judge.errors import InputError
from judge.measure.measures import parse_measure
from judge.messages import ENGLISH
from judge.report import sentences
from judge.report.charts.svg import mean_name
from judge.runs.record_json import to_json

_LEGEND = (
    "How to read it: all numbers are over queries, one engine against the other on the same ones. All 95"
    " % intervals of a measure together hold the true differences 95 % of the time. 'a > b' stands where"
    " the interval excludes 0 (then the adjusted p is below 0.05), 'a =? b' where it does not, 'a ?? b'"
    " where unjudged snippets could turn the difference. 'detectable' is the true difference that so many"
    " queries find 4 times out of 5, 'twice' the same for twice as many queries, 'needed' a number of"
    " queries that a pair needs at the least, 'worst case' the range over all grades of unjudged snippets."
    " Where snippets are unjudged, an interval is wider by a tenth of that range on either side. The first"
    " measure decides, the others are descriptive. 'errors': queries on which the engine failed; 'not"
    " asked': queries for which the dataset has no answer of it; 'duplicates': its results that repeat a"
    " page; 'unique': pages of the pool that no other engine returned; 'ms': response time, 95 of 100 no"
    " longer than p95; 'tokens': the approximate size of an answer; '-': nothing to average, such as no"
    " relevant result at any engine."
)
#: What stands between the engines of a pair, by the outcome.
_SIGNS = {"better": ">", "not separated": "=?", "undetermined": "??"}


def print_comparison(
    summary: Summary, console: Console, measures: Iterable[str] | None, max_pairs: int
) -> None:
    """Print the answer, then the numbers behind it.

    At most `max_pairs` pairs are shown for each of `measures` (None: the first that engines are compared
    by). Raises InputError when the run has no such measure.
    """
    if summary.judgments and not summary.judged:
        console.print(describe_no_grades(summary))
        return
    chosen = _choose(summary, measures)
    for line in _head(summary, chosen[0] if chosen else None, max_pairs):
        console.print(escape_line(line))
    print_table(_counts(summary), console)
    print_table(_means(summary, chosen), console)
    for measure in chosen:
        _print_pairs(summary, measure, max_pairs, console)
    for line in _tail(summary):
        console.print(escape_line(line))
    if summary.stability:
        repeats = summary.stability.measures[_deciding(summary)]
        print_table(_repeats(repeats), console)
        rows = to_json(summary)["stability"]["measures"][_deciding(summary)]
        console.print(Text(sentences.variance(ENGLISH, rows["variance"])))
    console.print()
    console.print(Text(_LEGEND, style="dim"))


def _choose(summary: Summary, measures: Iterable[str] | None) -> Sequence[str]:
    compared = list(dict.fromkeys(pair.measure for pair in summary.comparisons))
    if measures is None:
        return compared[:1]
    chosen = [str(parse_measure(name)) for name in measures]
    for name in chosen:
        if compared and name not in compared:
            raise InputError(
                "engines were not compared by {name}; they were by {names}",
                name=name,
                names=", ".join(compared),
            )
    return chosen


def _deciding(summary: Summary) -> str:
    """Return the measure that decides, or the first one where no engines are compared."""
    return summary.comparisons[0].measure if summary.comparisons else summary.measures[0]


def _head(summary: Summary, measure: str | None, max_pairs: int) -> Iterator[str]:
    rows = to_json(summary)
    yield from summary.remarks
    yield (
        f"{format_count(summary.queries, 'query', 'queries')},"
        f" {format_count(len(summary.engines), 'engine')}, judged down to rank {summary.depth}"
        f" by {summary.assessor}, {format_count(summary.repeats, 'repeat')};"
        f" {format_count(summary.pairs, 'pair')}, {summary.coverage:.1%} judged"
    )
    if sentences.served_models(ENGLISH, rows):
        yield sentences.served_models(ENGLISH, rows)
    headline = sentences.headline(ENGLISH, rows, measure)
    if headline:
        yield headline
    # The tests of segments are by the measure that decides.
    if measure == sentences.deciding(rows):
        yield from sentences.by_segment(ENGLISH, rows)
    yield from filter(None, (sentences.few(ENGLISH, rows), sentences.planning(ENGLISH, rows, measure)))
    if rows["own_list_reversal"]:
        yield sentences.within_lists(ENGLISH, rows["own_list_reversal"])
    pairs = [row for row in rows["comparisons"] if row["measure"] == measure]
    yield from (f"  {sentences.difference(ENGLISH, row)}" for row in pairs[:max_pairs])


def _counts(summary: Summary) -> Table:
    names = ("answered", "empty", "errors", "not asked", "judged", "duplicates", "unique")
    times = list_time_columns(summary)
    table = make_table("what came back", *names, *(column.title for column in times))
    for name in sort_engines(summary, summary.measures[0]):
        engine = summary.engines[name]
        table.add_row(
            escape_line(name),
            *map(str, (engine.answered, engine.empty, engine.errors, engine.absent)),
            *map(format_share, (engine.judged, engine.duplicates, engine.unique)),
            *(column.format_cell(engine) for column in times),
        )
    return table


def _means(summary: Summary, chosen: Sequence[str]) -> Table:
    """Return one row an engine: every measure's mean, with the interval of each of the `chosen` ones."""
    detailed = chosen or summary.measures[:1]
    head = [
        title
        for measure in summary.measures
        for title in (mean_name(measure), *(["95 % range"] if measure in detailed else []))
    ]
    table = make_table("mean", *head)
    for name in sort_engines(summary, summary.measures[0]):
        cells = []
        for measure, mean in summary.engines[name].measures.items():
            cells.append(format_number(mean.mean))
            if measure in detailed:
                cells.append(format_interval(mean.ci95))
        table.add_row(escape_line(name), *cells)
    return table


def _print_pairs(summary: Summary, measure: str, max_pairs: int, console: Console) -> None:
    pairs = [pair for pair in summary.comparisons if pair.measure == measure]
    if pairs:
        descriptive = "" if measure == _deciding(summary) else " (descriptive)"
        print_table(_pairs(mean_name(measure) + descriptive, pairs[:max_pairs]), console)
        print_table(_plans(pairs[:max_pairs]), console)
    if len(pairs) > max_pairs:
        more = len(pairs) - max_pairs
        console.print(Text(f"… and {more:,} more pairs: --pairs {len(pairs)} or --json"))


def _pairs(name: str, pairs: Iterable[PairComparison]) -> Table:
    """Return one row a pair: which engine is ahead, by how much, on how many queries."""
    table = make_table(f"by {name}", "a - b", "95 % range", "won/tied/lost", "p adjusted")
    for pair in pairs:
        table.add_row(
            escape_line(f"{pair.a} {_SIGNS[pair.outcome]} {pair.b}"),
            format_number(pair.difference, "+.4f"),
            format_interval(pair.ci95, "+.3f"),
            f"{pair.wins}/{pair.ties}/{pair.losses}",
            sentences.chance(pair.p_adjusted),
        )
    return table


def _plans(pairs: Sequence[PairComparison]) -> Table:
    """Return one row a pair: how large the effect is, what more queries would show, what is unjudged."""
    unjudged = any(pair.bounds and pair.bounds[1] - pair.bounds[0] > sentences.TIE for pair in pairs)
    table = make_table("to plan", "d_z", "detectable", "twice", "needed", *["worst case"] * unjudged)
    for pair in pairs:
        table.add_row(
            escape_line(f"{pair.a} - {pair.b}"),
            format_number(pair.d_z, "+.2f"),
            format_number(pair.detectable, ".3f"),
            format_number(pair.detectable_doubled, ".3f"),
            "-" if pair.at_least_queries is None else round_count(pair.at_least_queries),
            *[format_interval(pair.bounds, "+.3f")] * unjudged,
        )
    return table


def _tail(summary: Summary) -> Iterator[str]:
    deciding = _deciding(summary)
    for column, values in summary.segments.items():
        for value, segment in values.items():
            name = f"{column} {value} ({format_count(segment.queries, 'query', 'queries')})"
            yield f"{name}, {mean_name(deciding)}: {_segment(segment, deciding)}"
    if summary.stability:
        yield from sentences.stability(ENGLISH, to_json(summary)["stability"], deciding)


def _segment(segment: SegmentResult, measure: str) -> str:
    means = {engine: row[measure].mean for engine, row in segment.engines.items()}
    best_first = sorted((-mean, engine) for engine, mean in means.items() if mean is not None)
    listing = ", ".join(f"{engine} {-mean:.3f}" for mean, engine in best_first)
    if not listing:
        return "nothing to average"
    if not segment.comparisons:
        return listing
    verdicts = [pair.verdict for pair in segment.comparisons if pair.winner]
    return f"{listing}; {', '.join(verdicts) if verdicts else 'none separated'}"


def _repeats(measure: MeasureStability) -> Table:
    """Return one row an engine: its means over the repeats."""
    table = make_table("over the repeats", "mean", "SD", "lowest to highest", "ICC", "same within 0.01: p")
    for name, engine in measure.engines.items():
        means = [mean for mean in engine.means if mean is not None]
        table.add_row(
            escape_line(name),
            format_number(engine.mean),
            format_number(engine.sd),
            f"{min(means):.4f} to {max(means):.4f}" if means else "-",
            format_number(engine.icc, ".3f"),
            sentences.chance(engine.tost_p),
        )
    return table
