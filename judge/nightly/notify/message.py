"""The message about a night: a few lines that fit a phone's notification, as plain text and Markdown.

The lines are text. Names from outside stand between `sanitize.ISOLATE` and `END`, and each format escapes
them and the rest in its own way.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from judge.english import format_count
from judge.messages import ENGLISH
from judge.nightly.record import CallCost, CanaryResults, NightRecord, RegressionOutcome
from judge.report.charts.svg import format_number
from judge.report.display_text import END, ISOLATE, isolate, truncate_with_ellipsis
from judge.report.number_texts import format_cost

#: The most engines that a title names.
_ENGINES_IN_TITLE = 2
#: The most characters of a sentence, which may quote a server.
_SENTENCE_LENGTH = 500
_NAME = re.compile(f"{ISOLATE}(.*?){END}")
# Characters that could begin markup within a line, and HTML; names are in code spans instead.
_MARKUP = re.compile(r"[\\`*_\[\]<>&~#|]")


@dataclass(frozen=True, slots=True)
class NightMessage:
    """The message: the title says what happened, `lines` how much and how certain, `remarks` the rest."""

    title: str
    lines: tuple[str, ...]
    remarks: tuple[str, ...]


def make_message(record: NightRecord) -> NightMessage:
    """Return the message about a night."""
    worst = [drops[0] for drops in regressions_by_engine(record)]
    names = [
        f"{isolate(drop.engine)} {drop.measure} {_signed(drop.change)}" for drop in worst[:_ENGINES_IN_TITLE]
    ]
    if len(worst) > _ENGINES_IN_TITLE:
        names.append(f"{len(worst) - _ENGINES_IN_TITLE} more")
    title = f"judge {record.date}: {record.status}" + (f": {', '.join(names)}" if names else "")
    return NightMessage(title, tuple(_describe_night(record)), tuple(map(_on_one_line, record.remarks)))


def format_terminal(message: NightMessage, link: str) -> list[str]:
    """Return the message as lines to print; `link` leads to the report, empty without one."""
    lines = [message.title, *(f"- {line}" for line in message.lines)]
    lines += [f"- report: {link}"] if link else []
    if message.remarks:
        lines += ["Remarks:", *(f"- {remark}" for remark in message.remarks)]
    return list(map(format_plain, lines))


def format_markdown(message: NightMessage, link: str) -> str:
    """Return the message as Markdown without tables; `link` leads to the report, empty without one."""
    lines = [f"# {_escape(message.title)}", "", *(f"- {_escape(line)}" for line in message.lines)]
    if link:
        target = re.sub(r"[\\<>]", r"\\\g<0>", link.replace("\n", " "))
        lines.append(f"- [report](<{target}>)")
    if message.remarks:
        lines += ["", "Remarks:", "", *(f"- {_escape(remark)}" for remark in message.remarks)]
    return "\n".join((*lines, ""))


def format_plain(text: str) -> str:
    """Return the text without the marks around names."""
    return _NAME.sub(r"\1", text)


def _escape(text: str) -> str:
    """Return the text as Markdown that shows it as it is: names in code spans, the rest escaped."""
    # The odd pieces are the names.
    pieces = enumerate(_NAME.split(text))
    return "".join(_code_span(piece) if at % 2 else _MARKUP.sub(r"\\\g<0>", piece) for at, piece in pieces)


def _code_span(name: str) -> str:
    """Return a code span: its fence is longer than any run of backticks in the name."""
    longest = max((len(run) for run in re.findall("`+", name)), default=0)
    fence = "`" * (longest + 1)
    pad = " " if not name.strip() or name[0] in "` " or name[-1] in "` " else ""
    return f"{fence}{pad}{name}{pad}{fence}"


def truncate_lines(lines: Iterable[str], most: int) -> Sequence[str]:
    """Return the first lines with at most `most` characters together, and an ellipsis for the rest."""
    taken: list[str] = []
    left = most
    for line in lines:
        left -= len(line) + 1
        if left < 0:
            return [*taken, "…"]
        taken.append(line)
    return taken


def regressions_by_engine(record: NightRecord) -> list[list[RegressionOutcome]]:
    """Return the regressions of each engine, the largest drop first, and the engines in the same order."""
    by_engine: dict[str, list[RegressionOutcome]] = {}
    for outcome in sorted(_outcomes(record, "regression"), key=lambda row: (row.change or 0.0, row.engine)):
        by_engine.setdefault(outcome.engine, []).append(outcome)
    return list(by_engine.values())


def _outcomes(record: NightRecord, verdict: str) -> list[RegressionOutcome]:
    return [outcome for outcome in record.outcomes if outcome.verdict == verdict]


def describe_outcome(outcome: RegressionOutcome) -> str:
    """Return a line about an engine by a measure: by how much it changed, and how certain that is."""
    text = f"{isolate(outcome.engine)} {outcome.verdict}: {outcome.measure}"
    if outcome.change is None:
        return f"{text} has no value on both nights"
    text += (
        f" {_signed(outcome.change)} ({format_number(outcome.baseline)} to {format_number(outcome.tonight)}"
    )
    if outcome.low is not None and outcome.high is not None:
        text += f"; 95 %: {_signed(outcome.low)} to {_signed(outcome.high)}"
    p = outcome.p_holm
    if p is None:
        text += ")"
    else:
        text += f"), p (Holm) {'below 0.001' if p < 0.001 else f'{p:.3f}'}"
    return f"{text}, {format_count(outcome.n, 'query', 'queries')}"


def other_reasons(record: NightRecord) -> Iterator[str]:
    """Yield the reasons of the night except its regressions, which come first and have lines of their own."""
    yield from map(_on_one_line, record.reasons[len(_outcomes(record, "regression")) :])


def _describe_night(record: NightRecord) -> Iterator[str]:
    yield from map(describe_outcome, _outcomes(record, "regression"))
    yield from other_reasons(record)
    yield from map(describe_outcome, _outcomes(record, "improvement"))
    if record.status == "fine":
        yield from _describe_fine_night(record)
    if record.canaries:
        yield _describe_canaries(record.canaries)
    if record.coverage is not None:
        yield (
            f"{record.judged:,} of {record.judgments:,} judged ({record.coverage:.1%}),"
            f" {format_count(record.queries, 'query', 'queries')}" + _describe_failures(record.failures)
        )
    if record.cost_total:
        yield _describe_cost(record.cost_total)


def _describe_fine_night(record: NightRecord) -> Iterator[str]:
    """Yield what was compared, the drops it could have missed, and a line with the scores of each engine."""
    measures = record.regression_test.measures if record.regression_test else ()
    baseline = record.baseline.name if record.baseline else "None"
    yield (
        f"no drop was found from the baseline {isolate(baseline)}:"
        f" {format_count(len(record.outcomes), 'comparison')} by {', '.join(measures)}"
    )
    # Records of version 1 may lack the detectable drop.
    tested = [(outcome, drop) for outcome in record.outcomes if (drop := outcome.detectable) is not None]
    largest: dict[str, float] = {}
    for outcome, drop in tested:
        largest[outcome.measure] = max(largest.get(outcome.measure, 0.0), drop)
    if tested:
        drops = " or ".join(
            f"of {measure} under about {format_number(drop)}" for measure, drop in largest.items()
        )
        queries = format_count(min(outcome.n for outcome, _ in tested), "query", "queries")
        yield f"a drop {drops} would not have been detected with these {queries} (power 80 %)"
    engines: dict[str, list[str]] = {}
    for outcome in record.outcomes:
        if outcome.change is not None:
            score = f"{outcome.measure} {format_number(outcome.tonight)} ({_signed(outcome.change)})"
            engines.setdefault(outcome.engine, []).append(score)
    for engine, scores in engines.items():
        yield f"{isolate(engine)}: {', '.join(scores)} against the baseline"


def _describe_canaries(canaries: CanaryResults) -> str:
    pairs = format_count(canaries.pairs, "pair")
    if not canaries.judged:
        return f"canaries: none of {pairs} could be graded"
    text = f"canaries: {pairs}, mean grade {format_number(canaries.mean_grade, '.2f')}"
    if canaries.compared:
        text += (
            f" (baseline {format_number(canaries.baseline_mean, '.2f')}),"
            f" {canaries.changed:,} of {canaries.compared:,} changed"
        )
    return text + (", the assessor has drifted" if canaries.drift else "")


def _describe_failures(failures: Mapping[str, int]) -> str:
    kinds = ", ".join(f"{count:,} {isolate(kind)}" for kind, count in failures.items() if count)
    return f"; failed: {kinds}" if kinds else ""


def _describe_cost(cost: CallCost) -> str:
    """Return what this night itself paid: the verdicts of earlier nights cost nothing again."""
    number = cost.calls or 0
    calls = format_count(number, "call")
    if cost.lost:
        calls = (
            f"{number - cost.lost:,} to {calls} ({cost.lost:,} of them were in flight when a process was"
            " killed and may not have been sent)"
        )
    amount = format_cost(
        ENGLISH,
        cost.usd,
        calls=number,
        tokens=(cost.prompt_tokens or 0) + (cost.completion_tokens or 0),
        unclear=(cost.uncounted or 0) + (cost.maybe_billed or 0),
    )
    price = ": price unknown" if amount is None else f": {amount}" if amount else ""
    return f"this night paid for {calls}, canaries included{price}"


def _on_one_line(text: str) -> str:
    return " ".join(truncate_with_ellipsis(text, _SENTENCE_LENGTH).split())


def _signed(value: float | None) -> str:
    return format_number(value, "+.3f")
