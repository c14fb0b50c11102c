"""Owns the trend on the terminal and as JSON: every engine by one measure, with what happened when."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Any

from rich.console import Console
from rich.table import Table
from rich.text import Text

from judge.cli.render.cells import print_table
from judge.errors import InputError
from judge.nightly import history
from judge.nightly.history import EXITS, History, Kind, Night, Value
from judge.nightly.trend_window import Window, windows
from judge.nightly.trend_words import CHANGED, unfinished
from judge.report.charts.svg import format_number, format_range
from judge.report.display_text import one_line, truncate_with_ellipsis
from judge.report.sentences import counted, listed

#: The most nights that a line of the terminal shows.
NIGHTS = 60
_BARS = "▁▂▃▄▅▆▇█"
_SIGNS = {
    "fine": "·",
    "regression": "!",
    "judge drift": "~",
    "incomplete": "?",
    "different queries": "?",
    "asked otherwise": "?",
    "no baseline": "-",
}
_REASON = 300

Row = Mapping[str, Any]


def trend(found: History, engine: str | None = None, measure: str | None = None) -> dict[str, Any]:
    """The trend as JSON: `nights` and, in the same order, each engine's values and the canaries.

    `measure` None takes the first that compares nights, sDCG where there is one; `engine` None takes all.
    Raises InputError for a name that no night has.
    """
    nights = found.nights
    if not nights:
        raise InputError(f"no night can be read: {'; '.join(found.damaged)}")
    kinds = history.measures(nights)
    chosen = _known(measure, kinds, "measure") if measure else next(iter(kinds), "")
    names = history.engines(nights)
    wanted = (_known(engine, names, "engine"),) if engine else names
    kind = kinds.get(chosen, "mean")
    return {
        "measure": chosen,
        "kind": kind,
        "nights": [
            _night(each, changed) for each, changed in zip(nights, history.changes(nights), strict=True)
        ],
        "engines": {each: _engine(nights, each, chosen, kind) for each in wanted},
        "canaries": [each.canaries and each.canaries.unchanged for each in nights],
        "damaged": list(found.damaged),
        "begun": list(found.begun),
    }


def _known(asked: str, known: Iterable[str], what: str) -> str:
    names = list(known)
    if asked not in names:
        raise InputError(f"no night has a trend of {what} {asked!r}; there is {listed(names) or 'none'}")
    return asked


def _night(night: Night, changed: Sequence[str]) -> dict[str, Any]:
    return {
        "date": night.day.isoformat(),
        "status": night.status,
        "regressed": sorted(night.regressed),
        "changed": list(changed),
        "because": list(night.because),
        "paid_usd": night.usd,
    }


def _engine(nights: Sequence[Night], engine: str, measure: str, kind: Kind) -> dict[str, Any]:
    values = history.series(nights, engine, measure, kind)
    # Another judge's grades are no ends of this one's.
    known = [each.value for each, night in zip(values, nights, strict=True) if each and not _drift(night)]
    ends = (known[0], known[-1], min(known), max(known)) if known else (None,) * 4
    return {
        "values": [_value(each) for each in values],
        **dict(zip(("first", "last", "min", "max"), ends, strict=True)),
        "to_baseline": _value(history.to_baseline(nights, engine, measure)),
    }


def _drift(night: Night) -> bool:
    return night.status == "judge drift"


def _value(value: Value | None) -> dict[str, Any] | None:
    if value is None:
        return None
    return {"value": value.value, "ci95": value.interval and list(value.interval), "n": value.n}


def show(found: Row, console: Console) -> None:
    """Prints the trend that `trend` gives: a line an engine, and beneath it what happened on which night."""
    nights = found["nights"]
    for line in _heading(found):
        console.print(Text(line))
    print_table(_table(found), console)
    for line in (*_notes(nights), *_news(nights[-NIGHTS:])):
        console.print(Text(line))
    for damaged in found["damaged"]:
        console.print(Text(f"left out: {truncate_with_ellipsis(damaged, _REASON)}"))
    for day in found["begun"]:
        console.print(Text(unfinished(day).en))


def _heading(found: Row) -> list[str]:
    nights = found["nights"]
    what = found["measure"] or "no measure"
    if found["kind"] == "change":
        what += ", change from the frozen baseline on one pool"
    said = f"{counted(len(nights), 'night')}, {nights[0]['date']} to {nights[-1]['date']}: {what}"
    left_out = len(nights) - NIGHTS
    return [said, *([f"lines show the last {NIGHTS} nights"] if left_out > 0 else [])]


def _table(found: Row) -> Table:
    table = Table(box=None, pad_edge=False, header_style="bold")
    table.add_column("engine", no_wrap=True)
    table.add_column("night by night", no_wrap=True)
    for title in ("first", "last", "min", "max", "queries", "to baseline"):
        table.add_column(title, justify="right", no_wrap=True)
    signed = found["kind"] == "change"
    engines = found["engines"]
    frames = windows([_values(row) for row in engines.values()], alike=True, zero=signed)
    for (engine, row), frame in zip(engines.items(), frames, strict=True):
        numbers = (
            format_number(row[each], "+.3f" if signed else ".3f") for each in ("first", "last", "min", "max")
        )
        line = sparkline([each and each["value"] for each in row["values"][-NIGHTS:]], frame)
        cells = (*numbers, _queries(row["values"]), _change(row["to_baseline"]))
        table.add_row(Text(one_line(engine)), Text(line), *map(Text, cells))
    nights = found["nights"][-NIGHTS:]
    table.add_row("status", Text("".join(_SIGNS[each["status"]] for each in nights)))
    table.add_row("changed", Text("".join("^" if each["changed"] else " " for each in nights)))
    if any(each is not None for each in found["canaries"]):
        table.add_row(*_canaries(found["canaries"]))
    return table


def _canaries(shares: Sequence[float | None]) -> tuple[Text, ...]:
    """The canary line: the share of the fixed pairs that are graded as in the baseline."""
    known = [share for share in shares if share is not None]
    line = sparkline(shares[-NIGHTS:], Window(0.0, 1.0))
    ends = (known[0], known[-1], min(known), max(known))
    return Text("canaries as at the baseline"), Text(line), *(Text(format_number(each)) for each in ends)


def _queries(values: Sequence[Row | None]) -> str:
    """Over how many queries the last value is."""
    return next((f"{each['n']:,}" for each in reversed(values) if each), format_number(None))


def _values(row: Row) -> list[Value]:
    return [Value(each["value"], None, each["n"]) for each in row["values"][-NIGHTS:] if each]


def sparkline(values: Sequence[float | None], frame: Window) -> str:
    """The values as bars of eight heights, a blank where there is none."""
    top = len(_BARS) - 1
    return "".join(" " if value is None else _BARS[round(top * frame.at(value))] for value in values)


def _change(change: Row | None) -> str:
    if change is None:
        return format_number(None)
    ends = f" ({format_range(change['ci95'], '+.3f')})" if change["ci95"] else ""
    return format_number(change["value"], "+.3f") + ends


def _notes(nights: Sequence[Row]) -> Iterator[str]:
    """What to know of the numbers: whom they leave out, and what all of it cost."""
    if any(each["status"] == "judge drift" for each in nights):
        yield "first, last, min and max of engines are without nights of judge drift"
    paid = [each["paid_usd"] for each in nights if each["paid_usd"] is not None]
    if paid:
        yield f"paid: ${sum(paid):,.4f} in {counted(len(paid), 'night')}"


def _news(nights: Sequence[Row]) -> list[str]:
    """The nights that are not fine or on which something changed, a line each, and what the signs mean."""
    told = []
    for each in nights:
        parts = [CHANGED[change][1].en for change in each["changed"]]
        if EXITS[each["status"]]:
            who = (
                f" of {listed([one_line(engine) for engine in each['regressed']])}"
                if each["regressed"]
                else ""
            )
            parts.append(f"{each['status']}{who}")
            parts += [truncate_with_ellipsis(reason, _REASON) for reason in each["because"][:1] if not who]
        if parts:
            told.append(f"{each['date']}  {_SIGNS[each['status']]}  {'; '.join(parts)}")
    signs = "status: · fine, ! regression, ~ judge drift, ? not decided, - no baseline; ^ something changed"
    return [signs, *told]
