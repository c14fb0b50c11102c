"""Owns what a night comes to in a few lines, made to be read in a telephone's notification.

The lines are text: names from outside stand between `legible.ISOLATE` and `END`, and every format
escapes them and the rest in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.report.charts.svg import format_number
from judge.report.display_text import END, ISOLATE, isolate, truncate_with_ellipsis
from judge.report.sentences import counted, dollars

Row = Mapping[str, Any]

#: How many engines a title names.
_NAMED = 2
#: How much of a sentence is shown that may hold a server's words.
_SENTENCE = 500
_NAME = re.compile(f"{ISOLATE}(.*?){END}")


@dataclass(frozen=True, slots=True)
class Notice:
    """What is said of a night: the title alone says what happened, `lines` how much and how sure."""

    title: str
    lines: tuple[str, ...]
    remarks: tuple[str, ...]


def notice(night: Row) -> Notice:
    """What the record of a night comes to."""
    blamed = [drops[0] for drops in worst(night)]
    named = [f"{isolate(row['engine'])} {_by(row)}" for row in blamed[:_NAMED]]
    named += [f"{len(blamed) - _NAMED} more"] if len(blamed) > _NAMED else []
    title = f"judge {night['date']}: {night['status']}" + (f": {', '.join(named)}" if named else "")
    return Notice(title, tuple(_lines(night)), tuple(map(_sentence, night["remarks"])))


def terminal(notice: Notice, link: str) -> list[str]:
    """The notice as lines to print; `link` leads to the night's report, if there is one."""
    lines = [notice.title, *(f"- {line}" for line in notice.lines)]
    lines += [f"- report: {link}"] if link else []
    if notice.remarks:
        lines += ["Remarks:", *(f"- {remark}" for remark in notice.remarks)]
    return list(map(plain, lines))


def worst(night: Row) -> list[list[Row]]:
    """The drops of each engine that regressed, the largest first, and so the engines."""
    found: dict[str, list[Row]] = {}
    for row in sorted(rows(night, "regression"), key=lambda row: (row["change"], row["engine"])):
        found.setdefault(row["engine"], []).append(row)
    return list(found.values())


def rows(night: Row, *verdicts: str) -> list[Row]:
    """What the gate decided, as far as it came to one of the verdicts."""
    return [row for row in (night["gate"] or {}).get("rows", ()) if row["verdict"] in verdicts]


def plain(text: str) -> str:
    """The text where nothing marks a name."""
    return _NAME.sub(r"\1", text)


def parts(text: str) -> Iterator[tuple[str, bool]]:
    """The text in pieces, and whether each is a name."""
    for at, piece in enumerate(_NAME.split(text)):
        if piece or at % 2:
            yield piece, at % 2 == 1


def decided(row: Row) -> str:
    """A row of the gate in a line: who, by how much, and how sure that is."""
    said = f"{isolate(row['engine'])} {row['verdict']}: {row['measure']}"
    if row["change"] is None:
        return f"{said} has no value on both nights"
    said += f" {_signed(row['change'])} ({format_number(row['baseline'])} to {format_number(row['tonight'])}"
    if row["low"] is not None and row["high"] is not None:
        said += f"; 95 %: {_signed(row['low'])} to {_signed(row['high'])}"
    said += ")" if row["p_holm"] is None else f"), p (Holm) {_p(row['p_holm'])}"
    return f"{said}, {counted(row['n'], 'query', 'queries')}"


def reasons(night: Row) -> Iterator[str]:
    """Why the night is not fine, but for its drops, which come first: the gate's rows tell more of them."""
    yield from map(_sentence, night["because"][len(rows(night, "regression")) :])


def _lines(night: Row) -> Iterator[str]:
    yield from map(decided, rows(night, "regression"))
    yield from reasons(night)
    yield from map(decided, rows(night, "improvement"))
    if night["status"] == "fine":
        yield _all_fine(night)
        yield from _describe_power(night)
        yield from _describe_engines(night)
    if night["canaries"]:
        yield _canaries(night["canaries"])
    if night["coverage"] is not None:
        yield (
            f"{night['judged']:,} of {night['judgments']:,} judged ({night['coverage']:.1%}),"
            f" {counted(night['queries'], 'query', 'queries')}" + _failures(night["failures"])
        )
    if night.get("paid"):
        yield _paid(night["paid"])


def _all_fine(night: Row) -> str:
    gate = night["gate"] or {}
    return (
        f"no drop was found from the baseline {isolate(str((night['baseline'] or {}).get('name')))}:"
        f" {counted(len(gate.get('rows', ())), 'comparison')} by {', '.join(gate.get('measures', ()))}"
    )


def _describe_power(night: Row) -> Iterator[str]:
    """How large a drop the comparisons of a fine night could have missed; older records do not say."""
    rows = [row for row in (night["gate"] or {}).get("rows", ()) if row.get("detectable") is not None]
    if not rows:
        return
    drops: dict[str, float] = {}
    for row in rows:
        drops[row["measure"]] = max(drops.get(row["measure"], 0.0), row["detectable"])
    of_measures = " or ".join(
        f"of {measure} under about {format_number(drop)}" for measure, drop in drops.items()
    )
    queries = counted(min(row["n"] for row in rows), "query", "queries")
    yield f"a drop {of_measures} would not have been detected with these {queries} (power 80 %)"


def _describe_engines(night: Row) -> Iterator[str]:
    """A line an engine: its scores tonight, each with the change from the baseline."""
    engines: dict[str, list[str]] = {}
    for row in (night["gate"] or {}).get("rows", ()):
        if row["change"] is not None:
            score = f"{row['measure']} {format_number(row['tonight'])} ({_signed(row['change'])})"
            engines.setdefault(row["engine"], []).append(score)
    for engine, scores in engines.items():
        yield f"{isolate(engine)}: {', '.join(scores)} against the baseline"


def _canaries(found: Row) -> str:
    if not found["judged"]:
        return f"canaries: none of {counted(found['pairs'], 'pair')} could be graded"
    said = (
        f"canaries: {counted(found['pairs'], 'pair')}, mean grade {format_number(found['mean_grade'], '.2f')}"
    )
    if found["compared"]:
        said += (
            f" (baseline {format_number(found['baseline_mean'], '.2f')}),"
            f" {found['changed']:,} of {found['compared']:,} changed"
        )
    return said + (", the judge has drifted" if found["drift"] else "")


def _failures(failures: Mapping[str, int]) -> str:
    listed = ", ".join(f"{count:,} {isolate(kind)}" for kind, count in failures.items() if count)
    return f"; failed: {listed}" if listed else ""


def _paid(paid: Row) -> str:
    """What the night itself paid: verdicts of nights before cost nothing again."""
    calls, lost = counted(paid["calls"], "call"), paid.get("lost", 0)
    if lost:
        started = f"{lost:,} of them were under way when a start was killed and may not have been sent"
        calls = f"{paid['calls'] - lost:,} to {calls} ({started})"
    amount = dollars(paid)
    money = ": price unknown" if amount is None else f": {amount}" if amount else ""
    return f"this night paid for {calls}, canaries included{money}"


def _sentence(text: str) -> str:
    return " ".join(truncate_with_ellipsis(text, _SENTENCE).split())


def _by(row: Row) -> str:
    return f"{row['measure']} {_signed(row['change'])}"


def _signed(value: float) -> str:
    return format_number(value, "+.3f")


def _p(value: float) -> str:
    return "below 0.001" if value < 0.001 else f"{value:.3f}"


def cut(lines: Iterable[str], most: int) -> Sequence[str]:
    """As many of the lines as have at most `most` characters together, and that there were more."""
    kept: list[str] = []
    left = most
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            return [*kept, "…"]
        kept.append(line)
    return kept
