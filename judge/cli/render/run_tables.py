"""What a run prints: how much was judged, the engines with their means, and the answer in sentences."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from dataclasses import asdict, dataclass

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.analysis.summary import EngineResult, RunCost, Summary
from judge.cli.render.cells import escape_line, format_interval, format_number, make_table, print_table
from judge.english import format_count
from judge.measure.measures import list_measures
from judge.messages import ENGLISH
from judge.report import assessor_sentences, sentences, warning_sentences
from judge.report.charts.svg import mean_name
from judge.runs.record_json import to_json
from judge.runs.result import RunResult

#: How many pairs of engines a run prints; `judge compare` prints them all.
_PAIRS = 6
#: From this share of results without a text on, the field of the engine may have another name.
_MISSING_TEXT = 0.5


@dataclass(frozen=True, slots=True)
class EngineColumn:
    """A column about what an engine returned: its title, its value, and the form of a known value."""

    title: str
    value: Callable[[EngineResult], float | None]
    form: str = ""

    def format_cell(self, engine: EngineResult) -> str:
        """Return the cell of an engine."""
        return format_number(self.value(engine), self.form)


_COUNTS = (
    EngineColumn("judged", lambda engine: engine.judged, ".1%"),
    EngineColumn("empty", lambda engine: engine.empty),
    EngineColumn("errors", lambda engine: engine.errors),
    EngineColumn("not asked", lambda engine: engine.absent),
    EngineColumn("duplicates", lambda engine: engine.duplicates, ".1%"),
)
_TIMES = (
    EngineColumn("ms median", lambda engine: engine.latency_ms.median if engine.latency_ms else None, ",.0f"),
    EngineColumn("ms p95", lambda engine: engine.latency_ms.p95 if engine.latency_ms else None, ",.0f"),
    EngineColumn("tokens", lambda engine: engine.tokens.mean if engine.tokens else None, ",.0f"),
)


def list_time_columns(summary: Summary) -> Sequence[EngineColumn]:
    """Return the columns about response times and tokens; none where no response time is known."""
    return _TIMES if any(engine.latency_ms for engine in summary.engines.values()) else ()


def sort_engines(summary: Summary, measure: str) -> list[str]:
    """Return the engines, highest mean first, those without a mean last."""
    means = {engine: row.measures[measure].mean for engine, row in summary.engines.items()}
    return sorted(means, key=lambda engine: (1.0 if (mean := means[engine]) is None else -mean, engine))


def print_run(result: RunResult, console: Console, *, saved: bool = True) -> None:
    """Print what was judged, the engines best first, warnings, and, when `saved`, where the files are."""
    summary = result.summary
    for line in _before(result):
        console.print(escape_line(line))
    print_table(_engines(summary), console)
    for line in (*_answer(summary), *_after(summary)):
        console.print(escape_line(line))
    if not saved:
        console.print(Text(f"the files in {result.folder} are unchanged; --save writes this to them"))
        return
    console.print(Text(f"results: {result.folder / 'results.json'}"))
    console.print(Text(f"to look at: {result.folder / 'report.html'}"))


def has_grades(result: RunResult) -> bool:
    """Return whether there is anything to print: a grade, or a dataset without a result."""
    summary = result.summary
    members = summary.panel.members if summary.panel else ()
    return not summary.judgments or bool(summary.judged) or any(member.judged for member in members)


def describe_no_grades(summary: Summary) -> Text:
    """Return the line that replaces the tables of a run without a grade."""
    pairs = f"0 of {summary.judgments:,}"
    return escape_line(f"nothing is judged ({pairs}), so no engine has a value; run the same judge run again")


def _before(result: RunResult) -> Iterator[str]:
    """Yield what a reader must know before the means."""
    summary, rows = result.summary, to_json(result.summary)
    alarm = warning_sentences.alarm(rows)
    if alarm:
        yield alarm.en
    yield from _judged(result)
    yield from dict.fromkeys((*summary.remarks, *result.warnings))
    yield from (text.en for text in warning_sentences.selftests(rows))
    if sentences.served_models(ENGLISH, rows):
        yield sentences.served_models(ENGLISH, rows)


def _judged(result: RunResult) -> Iterator[str]:
    """Yield how much there was to judge, how much of it is judged, and the cost."""
    summary, cost = result.summary, result.summary.cost
    yield (
        f"{format_count(summary.queries, 'query', 'queries')},"
        f" {format_count(len(summary.engines), 'engine')}; {format_count(summary.results, 'result')},"
        f" {format_count(summary.pairs, 'pair')} to judge"
        f" ({summary.dedup_saving:.0%} saved by judging a pair once)"
    )
    if not summary.judgments:
        yield "the dataset holds no result, so there was nothing to judge"
        return
    tokens = cost.prompt_tokens + cost.completion_tokens if cost else 0
    yield (
        f"{summary.judged:,} of {summary.judgments:,} judged by {summary.assessor}"
        f" ({summary.coverage:.1%}); {result.calls_made:,} calls now, {tokens:,} tokens in all"
        f"{_cost(cost) if cost else ''}"
    )


def _cost(cost: RunCost) -> str:
    """Return what a run cost, the day of the price, and the calls whose cost is not known."""
    price, amount = cost.price, sentences.dollars(asdict(cost))
    if amount is None and price is None:
        text = "; price unknown: --price or --prices gives one"
    elif not amount:
        text = "" if amount is not None else "; cost unknown"
    else:
        text = f", {amount}" + (f" at prices of {price.as_of}" if price and price.as_of else "")
    text += f" ({cost.uncounted:,} calls came back without a token count)" if cost.uncounted else ""
    return text + (
        f"; {cost.maybe_billed:,} calls may be billed without an answer" if cost.maybe_billed else ""
    )


def _engines(summary: Summary) -> Table:
    """Return a table with one row an engine, best first."""
    first, *others = summary.measures
    used = (column for column in _COUNTS if any(map(column.value, summary.engines.values())))
    columns = (*used, *list_time_columns(summary))
    table = make_table(
        "engine",
        mean_name(first),
        "95 % interval",
        *map(mean_name, others),
        *(column.title for column in columns),
    )
    for name in sort_engines(summary, first):
        engine = summary.engines[name]
        table.add_row(
            escape_line(name),
            format_number(engine.measures[first].mean),
            format_interval(engine.measures[first].ci95),
            *(format_number(engine.measures[measure].mean) for measure in others),
            *(column.format_cell(engine) for column in columns),
        )
    return table


def _answer(summary: Summary) -> Iterator[str]:
    """Yield which engines differ, whether own lists would reverse that, and how stable it is."""
    rows = to_json(summary)
    deciding = sentences.deciding(rows)
    pairs = [row for row in rows["comparisons"] if row["measure"] == deciding]
    if pairs:
        yield sentences.headline(ENGLISH, rows)
        yield from sentences.by_segment(ENGLISH, rows)
        yield from (f"  {sentences.difference(ENGLISH, row)}" for row in pairs[:_PAIRS])
        if len(pairs) > _PAIRS:
            yield f"  … and {len(pairs) - _PAIRS:,} more pairs: judge compare RUN"
    yield from filter(None, (sentences.few(ENGLISH, rows), sentences.planning(ENGLISH, rows)))
    if rows["own_list_reversal"]:
        yield sentences.within_lists(ENGLISH, rows["own_list_reversal"])
    yield from (text.en for text in assessor_sentences.said(rows))
    if rows["stability"]:
        yield from sentences.stability(ENGLISH, rows["stability"], deciding or summary.measures[0])


def _after(summary: Summary) -> Iterator[str]:
    for measure, note in summary.notes.items():
        yield f"{measure}: {note}"
    for measure, count in summary.undefined.items():
        why = "no result to look at" if measure.startswith("Judged") else "no relevant snippet in the pool"
        yield f"{measure}: {count} of {summary.queries} queries have {why}; left out"
    yield from _bounds(summary)
    if summary.failures:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary.failures.items())
        yield f"failed: {kinds}. {warning_sentences.again(summary.failures).en}"
    missing = {
        name: engine.no_snippet_share
        for name, engine in summary.engines.items()
        if (engine.no_snippet_share or 0.0) >= _MISSING_TEXT
    }
    if missing:
        shares = ", ".join(f"{engine} {share:.0%}" for engine, share in missing.items())
        yield f"results without a text besides their title (has the engine's field been renamed?): {shares}"
    if summary.empty_snippets:
        empty = format_count(summary.empty_snippets, "result shows", "results show")
        yield f"{empty} no text at all: grade 0 without a call (flag empty_snippet)"
    if summary.flagged:
        flagged = ", ".join(f"{engine} {count}" for engine, count in summary.flagged.items())
        yield f"possible prompt injection (grades unchanged): {flagged}"
        remark = warning_sentences.remark(to_json(summary))
        if remark:
            yield remark.en


def _bounds(summary: Summary) -> Iterator[str]:
    """Yield what unjudged snippets leave open about the means by the first measure."""
    first = summary.measures[0]
    means = {name: engine.measures[first] for name, engine in summary.engines.items()}
    unknown = ", ".join(f"{name} {mean.unknown:,}" for name, mean in means.items() if mean.unknown)
    if unknown:
        yield (
            f"{first}: queries left out until more is judged (no snippet of the engine is judged, or none"
            f" judged in the pool is relevant): {unknown}"
        )
    ranges = ", ".join(
        f"{name} {low:.3f} to {high:.3f}"
        for name, mean in means.items()
        for low, high in [mean.bounds]
        if low is not None and high is not None and (low, high) != (mean.mean, mean.mean)
    )
    if ranges:
        yield f"{first}, whatever the unjudged snippets are: {ranges}"


def print_measures(console: Console) -> None:
    """Print every measure that exists."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("measure", "what it says of one query", "source"):
        table.add_column(title, overflow="fold")
    for kind in list_measures():
        table.add_row(Text(kind.syntax), kind.meaning, kind.source)
    console.print(table)
