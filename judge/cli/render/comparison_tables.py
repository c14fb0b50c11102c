"""Owns `judge compare` on the terminal: all that is known of the engines, plain words first."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.cli.render.run_tables import between, nothing_judged, one_line, share, took, whole
from judge.errors import InputError
from judge.measure.measures import parse_measure
from judge.report import served_models_text, words
from judge.report.charts.chart_texts import mean_of
from judge.report.words import counted

Row = Mapping[str, Any]

_LEGEND = (
    "How to read it: all numbers are over queries, one engine against the other on the same ones. All 95"
    " % intervals of a measure together hold the true differences 95 % of the time. 'a > b' stands where"
    " the interval excludes 0 (then the adjusted p is below 0.05), 'a =? b' where it does not, 'a ?? b'"
    " where unjudged snippets could turn the difference. 'detectable' is the true difference that so many"
    " queries find 4 times out of 5, 'twice' the same for twice as many queries, 'needed' a number of"
    " queries that a pair needs at the least, 'worst case' the range over all grades of unjudged snippets."
    " Where snippets are unjudged, an interval is wider by a tenth of that range on either side. The first"
    " measure decides, the others are descriptive. 'broke': the engine failed; 'absent': it has no answer"
    " for the query; 'repeated': its results that show a page again; 'only here': pages of the pool that"
    " no other engine has; 'ms': how long an answer took, 95 of 100 no longer than p95; 'tokens': what the"
    " results of an answer come to, roughly; '-': nothing to average, such as no relevant result at any"
    " engine."
)


def comparison(summary: Row, console: Console, measures: Iterable[str] | None, pairs: int) -> None:
    """Prints the answer, then the numbers behind it.

    At most `pairs` pairs are shown for each of `measures` (None: the first that engines are compared
    by). Raises InputError when the run has no such measure.
    """
    if summary["judgments"] and not summary["judged"]:
        console.print(nothing_judged(summary))
        return
    chosen = _chosen(summary, measures)
    for line in _head(summary, chosen[0] if chosen else None):
        console.print(one_line(line))
    for row in [row for row in summary["comparisons"] if row["measure"] in chosen[:1]][:pairs]:
        console.print(one_line(f"  {words.difference(row)}"))
    whole(_counts(summary), console)
    whole(_means(summary, chosen), console)
    for measure in chosen:
        rows = [row for row in summary["comparisons"] if row["measure"] == measure]
        if rows:
            descriptive = "" if measure == words.deciding(summary) else " (descriptive)"
            whole(_pairs(mean_of(measure) + descriptive, rows[:pairs]), console)
            whole(_plans(rows[:pairs]), console)
        if len(rows) > pairs:
            console.print(Text(f"… and {len(rows) - pairs:,} more pairs: --pairs {len(rows)} or --json"))
    for line in _tail(summary):
        console.print(one_line(line))
    if summary["stability"]:
        repeated = summary["stability"]["measures"][_deciding(summary)]
        whole(_repeats(repeated), console)
        console.print(Text(words.variance(repeated["variance"])))
    console.print()
    console.print(Text(_LEGEND, style="dim"))


def _chosen(summary: Row, measures: Iterable[str] | None) -> Sequence[str]:
    known = list(dict.fromkeys(row["measure"] for row in summary["comparisons"]))
    if measures is None:
        return known[:1]
    chosen = [str(parse_measure(name)) for name in measures]
    for name in chosen:
        if known and name not in known:
            raise InputError(f"engines were not compared by {name}; they were by {', '.join(known)}")
    return chosen


def _head(summary: Row, measure: str | None) -> Iterator[str]:
    yield from summary.get("remarks", ())
    yield (
        f"{counted(summary['queries'], 'query', 'queries')}, {counted(len(summary['engines']), 'engine')},"
        f" judged down to rank {summary['depth']} by {summary['assessor']},"
        f" {counted(summary['repeats'], 'repeat')}; {counted(summary['pairs'], 'pair')},"
        f" {summary['coverage']:.1%} judged"
    )
    if served_models_text.english(summary):
        yield served_models_text.english(summary)
    headline = words.headline(summary, measure)
    if headline:
        yield headline
    # The tests of segments are by the measure that decides.
    if measure == words.deciding(summary):
        yield from words.by_segment(summary)
    yield from filter(None, (words.few(summary), words.planning(summary, measure)))
    if summary["within_lists"]:
        yield summary["within_lists"]["why"]


def _counts(summary: Row) -> Table:
    names = ("answered", "empty", "broke", "absent", "judged", "repeated", "only here")
    times = took(summary)
    table = _table("what came back", *names, *(column.title for column in times))
    for engine in words.standing(summary, summary["measures"][0]):
        row = summary["engines"][engine]
        counts = (str(row[name]) for name in ("answered", "empty", "errors", "absent"))
        shares = (share(row[name]) for name in ("judged", "duplicates", "unique"))
        table.add_row(
            one_line(engine), *counts, *shares, *(column.show(row.get(column.field)) for column in times)
        )
    return table


def _means(summary: Row, chosen: Sequence[str]) -> Table:
    """Return one row an engine: every measure's mean, with the interval of each of the `chosen` ones."""
    detailed = chosen or summary["measures"][:1]
    head = [
        title
        for measure in summary["measures"]
        for title in (mean_of(measure), *(["95 % range"] if measure in detailed else []))
    ]
    table = _table("mean", *head)
    for engine in words.standing(summary, summary["measures"][0]):
        cells = []
        for measure, cell in summary["engines"][engine]["measures"].items():
            cells.append(_number(cell["mean"], ".4f"))
            if measure in detailed:
                cells.append(between(cell["ci95"]))
        table.add_row(one_line(engine), *cells)
    return table


def _pairs(name: str, rows: Iterable[Row]) -> Table:
    """Return one row a pair: who is ahead, by how much, on how many queries."""
    table = _table(f"by {name}", "a - b", "95 % range", "won/tied/lost", "p adjusted")
    for row in rows:
        table.add_row(
            one_line(f"{row['a']} {_SIGNS[row['outcome']]} {row['b']}"),
            _number(row["difference"], "+.4f"),
            between(row["ci95"], "+.3f"),
            f"{row['wins']}/{row['ties']}/{row['losses']}",
            words.chance(row["p_adjusted"]),
        )
    return table


#: What stands between the engines of a pair, by the outcome.
_SIGNS = {"better": ">", "not separated": "=?", "undetermined": "??"}


def _plans(rows: Iterable[Row]) -> Table:
    """Return one row a pair: how large the effect is, what more queries would show, what is unjudged."""
    rows = list(rows)
    unsure = ["worst case"] if any(map(words.is_unsure, rows)) else []
    table = _table("to plan", "d_z", "detectable", "twice", "needed", *unsure)
    for row in rows:
        table.add_row(
            one_line(f"{row['a']} - {row['b']}"),
            _number(row["d_z"], "+.2f"),
            _number(row["detectable"], ".3f"),
            _number(row["detectable_doubled"], ".3f"),
            "-" if row["at_least_queries"] is None else words.rounded(row["at_least_queries"]),
            *([between(row["bounds"], "+.3f")] if unsure else []),
        )
    return table


def _table(first: str, *others: str) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column(first, no_wrap=True)
    for name in others:
        table.add_column(name, justify="right", no_wrap=True)
    return table


def _number(value: float | None, form: str) -> str:
    return "-" if value is None else format(value, form)


def _deciding(summary: Row) -> str:
    return words.deciding(summary) or str(summary["measures"][0])


def _tail(summary: Row) -> Iterator[str]:
    deciding = _deciding(summary)
    for column, values in summary["slices"].items():
        for value, part in values.items():
            name = f"{column} {value} ({counted(part['queries'], 'query', 'queries')})"
            yield f"{name}, {mean_of(deciding)}: {_part(part, deciding)}"
    if summary["stability"]:
        yield from words.stability(summary["stability"], deciding)


def _repeats(measure: Row) -> Table:
    """Each engine's means over the repeats, and under them what the values vary with."""
    table = _table("over the repeats", "mean", "SD", "lowest to highest", "ICC", "same within 0.01: p")
    for engine, row in measure["engines"].items():
        known = [mean for mean in row["means"] if mean is not None]
        table.add_row(
            one_line(engine),
            _number(row["mean"], ".4f"),
            _number(row["sd"], ".4f"),
            f"{min(known):.4f} to {max(known):.4f}" if known else "-",
            _number(row["icc"], ".3f"),
            words.chance(row["tost_p"]),
        )
    return table


def _part(part: Row, measure: str) -> str:
    means = {engine: row[measure]["mean"] for engine, row in part["engines"].items()}
    best_first = sorted((-mean, engine) for engine, mean in means.items() if mean is not None)
    shown = ", ".join(f"{engine} {-mean:.3f}" for mean, engine in best_first)
    if not shown:
        return "nothing to average"
    if not part["comparisons"]:
        return shown
    found = [row["verdict"] for row in part["comparisons"] if row["winner"]]
    return f"{shown}; {', '.join(found) if found else 'none separated'}"
