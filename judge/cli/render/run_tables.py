"""Owns the words and the table that a run ends with on the terminal."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.analysis import assessor_findings, warnings
from judge.cli.render.columns import tells
from judge.dataset.clean import escape_controls
from judge.measure.measures import list_measures
from judge.report import served_models_text, words
from judge.report.charts.chart_texts import mean_of
from judge.runs.result import RunResult

#: How many pairs of engines a run prints; `judge compare` prints them all.
_PAIRS = 6
#: From this share on an engine's results without a text are no accident.
_BLANK = 0.5


@dataclass(frozen=True, slots=True)
class Column:
    """A column about what there was to measure."""

    title: str
    field: str
    show: Callable[[Any], str]


def share(value: float | None) -> str:
    """A share as a percentage, or a dash."""
    return "-" if value is None else f"{value:.1%}"


_COUNTS = (
    Column("judged", "judged", share),
    Column("empty", "empty", str),
    Column("broke", "errors", str),
    Column("absent", "absent", str),
    Column("repeated", "duplicates", share),
)
_TOOK = (
    Column("ms median", "latency_ms", lambda took: "-" if took is None else f"{took['median']:,.0f}"),
    Column("ms p95", "latency_ms", lambda took: "-" if took is None else f"{took['p95']:,.0f}"),
    Column("tokens", "tokens", lambda size: "-" if size is None else f"{size['mean']:,.0f}"),
)


def took(summary: Mapping[str, Any]) -> tuple[Column, ...]:
    """The columns about what the engines' answers took, none where nobody measured it."""
    return _TOOK if tells(summary, "latency_ms") else ()


def outcome(result: RunResult, console: Console, *, saved: bool = True) -> None:
    """Prints the saving, the engines best first, what to mind, and, when `saved`, where the files are."""
    summary = result.summary
    for line in _before(result):
        console.print(one_line(line))
    whole(_engines(summary), console)
    for line in (*_answer(summary), *_after(summary)):
        console.print(one_line(line))
    if not saved:
        console.print(Text(f"the files in {result.folder} are unchanged; --save writes this to them"))
        return
    console.print(Text(f"results: {result.folder / 'results.json'}"))
    console.print(Text(f"to look at: {result.folder / 'report.html'}"))


def has_grades(result: RunResult) -> bool:
    """Return whether there is anything to show: a grade, or a dataset without a result."""
    members = (result.summary["panel"] or {}).get("members", ())
    return not result.summary["judgments"] or any(each["judged"] for each in (result.summary, *members))


def nothing_judged(summary: Mapping[str, Any]) -> Text:
    """Return the line that stands in the place of tables where no pair has a grade."""
    pairs = f"0 of {summary['judgments']:,}"
    return one_line(f"nothing is judged ({pairs}), so no engine has a value; run the same judge run again")


def _before(result: RunResult) -> Iterator[str]:
    """What has to be read before the means."""
    summary = result.summary
    alarm = warnings.alarm(summary)
    if alarm:
        yield alarm.en
    yield from _judged(result)
    yield from dict.fromkeys((*summary.get("remarks", ()), *result.warnings))
    yield from (said.en for said in warnings.selftests(summary))
    if served_models_text.english(summary):
        yield served_models_text.english(summary)


def _judged(result: RunResult) -> Iterator[str]:
    """What there was to judge, how much of it was, and what that took."""
    summary = result.summary
    cost = summary["cost"]
    yield (
        f"{words.counted(summary['queries'], 'query', 'queries')},"
        f" {words.counted(len(summary['engines']), 'engine')}; {words.counted(summary['results'], 'result')},"
        f" {words.counted(summary['pairs'], 'pair')} to judge"
        f" ({summary['saved']:.0%} saved by judging a pair once)"
    )
    price = _money(cost)
    price += f" ({cost['uncounted']:,} calls came back without a token count)" if cost["uncounted"] else ""
    price += (
        f"; {cost['maybe_billed']:,} calls may be billed without an answer" if cost["maybe_billed"] else ""
    )
    if not summary["judgments"]:
        yield "the dataset holds no result, so there was nothing to judge"
        return
    yield (
        f"{summary['judged']:,} of {summary['judgments']:,} judged by {summary['assessor']}"
        f" ({summary['coverage']:.1%}); {result.calls_made:,} calls now,"
        f" {cost['prompt_tokens'] + cost['completion_tokens']:,} tokens in all{price}"
    )


def _money(cost: Mapping[str, Any]) -> str:
    """What a run cost, and how old the price is that says so."""
    price, amount = cost.get("price"), words.dollars(cost)
    if amount is None and price is None:
        return "; price unknown: --price or --prices gives one"
    if not amount:
        return "" if amount is not None else "; cost unknown"
    return f", {amount}" + (f" at prices of {price['as_of']}" if price and price.get("as_of") else "")


def _engines(summary: Mapping[str, Any]) -> Table:
    """One row an engine, best first."""
    measures = summary["measures"]
    rows = [(engine, summary["engines"][engine]) for engine in words.standing(summary, measures[0])]
    shown = [column for column in _COUNTS if tells(summary, column.field)]
    shown += took(summary)
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("engine", no_wrap=True)
    for place, measure in enumerate(measures):
        table.add_column(mean_of(measure), justify="right", no_wrap=True)
        if not place:
            table.add_column("95 % interval", justify="right", no_wrap=True)
    for column in shown:
        table.add_column(column.title, justify="right", no_wrap=True)
    for engine, row in rows:
        means = [row["measures"][measure]["mean"] for measure in measures]
        cells = ["-" if mean is None else f"{mean:.4f}" for mean in means]
        cells.insert(1, between(row["measures"][measures[0]]["ci95"]))
        table.add_row(one_line(engine), *cells, *(column.show(row.get(column.field)) for column in shown))
    return table


def one_line(text: str) -> Text:
    """`text` on one line, whatever the names in it hold: shown, never obeyed."""
    return Text(escape_controls(text).replace("\n", "\\n"))


def whole(table: Table, console: Console) -> None:
    """Prints a table at least as wide as its names and numbers are.

    Where a terminal is narrower its lines break; rich would drop whole columns, the names first.
    """
    needed = console.measure(table, options=console.options.update(max_width=10_000)).maximum
    if needed > console.width:
        table.width = needed
    console.print(table, crop=False)


def between(ends: Sequence[float] | None, form: str = ".3f") -> str:
    """`low to high`, or a dash."""
    return f"{ends[0]:{form}} to {ends[1]:{form}}" if ends else "-"


def _answer(summary: Mapping[str, Any]) -> Iterator[str]:
    """Which engines differ, whether own lists would say otherwise, and how stable it is."""
    deciding = words.deciding(summary)
    rows = [row for row in summary["comparisons"] if row["measure"] == deciding]
    if rows:
        yield words.headline(summary)
        yield from words.by_segment(summary)
        yield from (f"  {words.difference(row)}" for row in rows[:_PAIRS])
        if len(rows) > _PAIRS:
            yield f"  … and {len(rows) - _PAIRS:,} more pairs: judge compare RUN"
    yield from filter(None, (words.few(summary), words.planning(summary)))
    if summary["within_lists"]:
        yield summary["within_lists"]["why"]
    yield from (said.en for said in assessor_findings.said(summary))
    if summary["stability"]:
        yield from words.stability(summary["stability"], deciding or summary["measures"][0])


def _after(summary: Mapping[str, Any]) -> Iterator[str]:
    for measure, note in summary["notes"].items():
        yield f"{measure}: {note}"
    for measure, count in summary["undefined"].items():
        why = "no result to look at" if measure.startswith("Judged") else "no relevant snippet in the pool"
        yield f"{measure}: {count} of {summary['queries']} queries have {why}; left out"
    yield from _unknown(summary)
    yield from _bounds(summary)
    if summary["failures"]:
        kinds = ", ".join(f"{kind} {count}" for kind, count in summary["failures"].items())
        yield f"failed: {kinds}. {warnings.again(summary['failures']).en}"
    blank = {
        engine: row["textless"] or 0.0 for engine, row in summary["engines"].items() if "textless" in row
    }
    if any(share >= _BLANK for share in blank.values()):
        named = ", ".join(f"{engine} {share:.0%}" for engine, share in blank.items() if share >= _BLANK)
        yield f"results without a text besides their title (has the engine's field been renamed?): {named}"
    if summary["empty_snippets"]:
        count = words.counted(summary["empty_snippets"], "result shows", "results show")
        yield f"{count} no text at all: grade 0 without a call (flag empty_snippet)"
    if summary["flagged"]:
        shares = ", ".join(f"{engine} {count}" for engine, count in summary["flagged"].items())
        yield f"flagged as suspicious (never re-graded for it): {shares}"
        remark = warnings.remark(summary)
        if remark:
            yield remark.en


def _unknown(summary: Mapping[str, Any]) -> Iterator[str]:
    """How many queries the mean of the first measure leaves out until more is judged."""
    counts = warnings.unknown(summary)
    if counts:
        each = ", ".join(f"{engine} {count:,}" for engine, count in counts.items())
        yield (
            f"{summary['measures'][0]}: queries left out until more is judged (no snippet of the engine is"
            f" judged, or none judged in the pool is relevant): {each}"
        )


def _bounds(summary: Mapping[str, Any]) -> Iterator[str]:
    """How far the first measure could be from what is printed, where something is unjudged."""
    unsure = warnings.unsure(summary)
    if unsure:
        ranges = ", ".join(f"{engine} {low:.3f} to {high:.3f}" for engine, (low, high) in unsure.items())
        yield f"{summary['measures'][0]}, whatever the unjudged snippets are: {ranges}"


def measures(console: Console) -> None:
    """Prints every measure that exists."""
    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in ("measure", "what it says of one query", "source"):
        table.add_column(title, overflow="fold")
    for kind in list_measures():
        table.add_row(Text(kind.syntax), kind.meaning, kind.source)
    console.print(table)
