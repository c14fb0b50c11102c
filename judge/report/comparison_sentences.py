"""Sentences about the comparison of engines, for readers without knowledge of statistics.

The terminal, the report and the notices make their sentences here, so that all of them say the same. `t` is
the translator of a language.
"""

import shlex
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from itertools import groupby
from math import sqrt
from pathlib import Path
from statistics import median, median_low

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison, describe_outcome
from judge.measure.intervals import Interval
from judge.measure.measures import name_mean
from judge.measure.numeric import TIE, make_mean_key, rank_engines
from judge.measure.segments import SegmentResult
from judge.measure.sensitivity import OwnListReversal
from judge.messages import Translator, cut_value, make_text
from judge.report.display_text import (
    format_interval,
    format_plain_range,
    format_query_count,
)

#: Below this many queries the simultaneous intervals are only approximate.
_FEW_QUERIES = 10
#: The most comparisons that the terminal and the report show of a run; `judge compare` prints them all.
MAX_COMPARISONS = 6


def warn_few_queries(t: Translator, summary: Summary) -> str:
    """Return the warning about intervals over few queries; empty when there are enough."""
    comparisons = summary.select_comparisons(summary.deciding_measure)
    means = (engine.measures[summary.measures[0]] for engine in summary.engines.values())
    counts = [row.n for row in comparisons if row.n] or [mean.n for mean in means if mean.ci95]
    if min(counts, default=_FEW_QUERIES) >= _FEW_QUERIES:
        return ""
    return t(
        "Intervals over fewer than {few} queries are approximate and show only large differences.",
        few=_FEW_QUERIES,
    )


def describe_power(t: Translator, summary: Summary, measure: str | None = None) -> str:
    """Return which true difference the queries find with 80% power, and which twice as many find.

    They and the number of queries are medians over the pairs of engines that can be tested by `measure`
    (None: the deciding one). Empty when no pair can be tested.
    """
    measure = measure or summary.deciding_measure
    comparisons = [
        comparison for comparison in summary.select_comparisons(measure) if comparison.detectable is not None
    ]
    if not comparisons:
        return ""
    n = median_low(comparison.n for comparison in comparisons)
    # What is detected falls with the square root of the number of queries.
    detectable = median(sqrt(row.n / n) * (row.detectable or 0.0) for row in comparisons)
    return t(
        "With {queries} that two engines share, a test detects a true difference of about {detectable}"
        " between them in 4 of 5 cases; with {doubled_n:,} queries, one of about {doubled} (medians"
        " over the pairs of engines, by {measure})."
        if len(comparisons) > 1
        else "With {queries} that the two engines share, a test detects a true difference of about"
        " {detectable} by {measure} between them in 4 of 5 cases; with {doubled_n:,} queries, one of about"
        " {doubled}.",
        queries=format_query_count(t, n),
        detectable=f"{detectable:.2g}",
        doubled_n=2 * n,
        doubled=f"{detectable / sqrt(2):.2g}",
        measure=name_mean(measure),
    )


def choose_headline(t: Translator, summary: Summary, measure: str | None = None) -> str:
    """Return which engine is best by `measure` (None: the deciding one), or why none can be named.

    Empty when no comparison is by `measure`.
    """
    engines = len(summary.engines)
    if engines < 2:
        return t.translate_plural(
            "{count} engine: nothing to compare.", "{count} engines: nothing to compare.", engines
        )
    if not summary.deciding_measure:
        return t("{count} engines, and no measure that can compare engines.", count=engines)
    measure = measure or summary.deciding_measure
    comparisons = summary.select_comparisons(measure)
    if comparisons and (summary.runs or summary.against):
        return _describe_changes(t, comparisons, measure, summary.against)
    return _name_best(t, summary, comparisons, measure) if comparisons else ""


def _name_best(t: Translator, summary: Summary, comparisons: Sequence[PairComparison], measure: str) -> str:
    order = summary.sort_engines(measure)
    wins = Counter(comparison.winner for comparison in comparisons)
    others = len(order) - 1
    # An engine with errors on hard queries may have a higher mean than one that is better on the others.
    best = next((engine for engine in order if wins[engine] == others), order[0])
    values = {"best": best, "measure": name_mean(measure), "which": ""}
    if measure != summary.deciding_measure:
        deciding = name_mean(summary.deciding_measure)
        values["which"] = t(" (descriptive: {measure} decides)", measure=deciding)
    if wins[best] == others:
        return t(
            "{best} is best by {measure}{which}: its lead is statistically significant."
            if others == 1
            else "{best} is best by {measure}{which}: its leads over the {count} others are statistically"
            " significant.",
            count=others,
            **values,
        )
    first, second = (summary.engines[engine].measures[measure].mean for engine in order[:2])
    if first is None:
        return t("No engine is best by {measure}{which}: none has a value on any query.", **values)
    reasons = list(_iter_obstacles(t, comparisons, order))
    if wins[best]:
        reasons.append(
            t.translate_plural("is ahead of {count} other", "is ahead of {count} others", wins[best])
        )
    return t(
        "No engine is best by {measure}{which}: {best} shares the highest mean, and {reasons}."
        if make_mean_key(first) == make_mean_key(second)
        else "No engine is best by {measure}{which}: {best} has the highest mean, but {reasons}.",
        reasons=t.join(reasons, "clauses"),
        **values,
    )


#: What keeps the engine with the highest mean from being best, by what the comparison with others says.
_OBSTACLES = {
    "equal": make_text("has the same value as {names} on every shared query"),
    "behind": make_text("is behind {names} on the queries where both have a value"),
    "not separated": make_text("is not separated from {names} (the difference may be chance)"),
    "undetermined": make_text("could be behind {names} if every snippet were judged"),
    "apart": make_text("shares no query with {names} on which both have a value"),
}


def _iter_obstacles(
    t: Translator, comparisons: Sequence[PairComparison], order: Sequence[str]
) -> Iterator[str]:
    """Yield clauses on the engines, in `order`, that keep the first one from being best."""
    best = order[0]
    names: dict[str, list[str]] = {outcome: [] for outcome in _OBSTACLES}
    for comparison in comparisons:
        if best in (comparison.a, comparison.b) and comparison.winner != best:
            outcome = "behind" if comparison.winner else comparison.outcome if comparison.n else "apart"
            is_equal = outcome == "not separated" and not comparison.wins + comparison.losses
            other = comparison.b if comparison.a == best else comparison.a
            names["equal" if is_equal else outcome].append(other)
    for obstacle, unordered in names.items():
        engines = sorted(unordered, key=order.index)
        if len(engines) > 4:
            more = len(engines) - 3
            engines = [
                t("{names} and {more} more", names=t.list_names(engines[:3]), more=more, total=len(engines))
            ]
        if engines:
            yield t(_OBSTACLES[obstacle].en, names=t.join(engines))


def _describe_changes(
    t: Translator, comparisons: Sequence[PairComparison], measure: str, against: str | None
) -> str:
    """Return which engines differ from the engine `against`, or from themselves in another run."""
    if not any(comparison.n for comparison in comparisons):
        return t(
            "No engine can be compared with {against} by {measure}: none has a value on the same query."
            if against
            else "The runs cannot be compared by {measure}: no engine has a value on the same query in both.",
            measure=name_mean(measure),
            against=against,
        )
    changes = [describe_outcome(t, comparison) for comparison in comparisons if comparison.winner]
    undetermined = sum(comparison.outcome == "undetermined" for comparison in comparisons)
    rest = ""
    if undetermined:
        rest = t.translate_plural(
            "; unjudged snippets could reverse {count:,} comparison",
            "; unjudged snippets could reverse {count:,} comparisons",
            undetermined,
        )
    values = {"measure": name_mean(measure), "changed": t.join(changes) if changes else "", "rest": rest}
    if against:
        return t(
            "Compared with {against} by {measure}: {changed}{rest}."
            if changes
            else "No engine differs significantly from {against} by {measure}{rest}.",
            against=against,
            **values,
        )
    return t(
        "Between the runs, by {measure}: {changed}{rest}."
        if changes
        else "No engine differs significantly between the runs by {measure}{rest}.",
        **values,
    )


def rank_means(t: Translator, means: Mapping[str, float | None], max_engines: int = 1000) -> str:
    """Return the engines with a mean, best first, `A > B = C`; of many the first, and how many more."""
    present = {engine: mean for engine, mean in means.items() if mean is not None}
    groups = groupby(rank_engines(present), lambda engine: make_mean_key(present[engine]))
    signed = [(" = " if at else " > ") + engine for _, tied in groups for at, engine in enumerate(tied)]
    more = t(" > {count:,} more", count=len(signed) - max_engines) if len(signed) > max_engines else ""
    return "".join(signed[:max_engines]).removeprefix(" > ") + more


def describe_difference(t: Translator, comparison: PairComparison) -> str:
    """Return a comparison in one sentence."""
    result = describe_outcome(t, comparison)
    if comparison.difference is None:
        return t("{a}, {b}: {result}", a=comparison.a, b=comparison.b, result=result)
    queries = format_query_count(t, comparison.n)
    ahead = t(
        "ahead on {comparison.wins} of {queries}, behind on {comparison.losses}",
        comparison=comparison,
        queries=queries,
    )
    size = _format_difference(t, comparison.difference, comparison.interval)
    if is_unsure(comparison):
        robust = t(", robust to any grades") if comparison.robust else ""
        size += t(
            "; with any grades of the unjudged {range}{robust}",
            range=format_plain_range(t, comparison.bounds, "z.4f"),
            robust=robust,
        )
    return t(
        "{result}: {size}; {ahead}" if comparison.winner else "{a}, {b}: {result}; {size}; {ahead}",
        a=comparison.a,
        b=comparison.b,
        result=result,
        size=size,
        ahead=ahead,
    )


def iter_differences(
    t: Translator, comparisons: Sequence[PairComparison], max_comparisons: int
) -> Iterator[str]:
    """Yield the first `max_comparisons` by one measure, below a line that says what their figures are."""
    lines = [f"  {describe_difference(t, comparison)}" for comparison in comparisons[:max_comparisons]]
    if not lines:
        return
    yield t(
        "On the shared queries; the 95% intervals hold for all pairs together:"
        if len(comparisons) > 1
        else "On the shared queries:"
    )
    yield from lines
    if why := explain_no_number(t, comparisons[:max_comparisons]):
        yield why


def explain_no_number(t: Translator, comparisons: Sequence[PairComparison]) -> str:
    """Return why some engines that are not separated have no number of queries and others do; else ""."""
    has_no_number = {
        comparison.at_least_queries is None
        for comparison in comparisons
        if comparison.outcome == "not separated" and comparison.detectable
    }
    if len(has_no_number) < 2:
        return ""
    return t(
        "Where a pair that is not separated has no number of queries, this run has enough of them to detect"
        " the largest difference in its interval; a smaller difference needs more queries."
    )


def _format_difference(t: Translator, difference: float | None, interval: Interval | None) -> str:
    return f"{difference:+z.4f}{format_interval(t, interval, 'z.4f')}"  # z: no −0.0000


def is_unsure(comparison: PairComparison) -> bool:
    """Return whether unjudged snippets leave the difference of a comparison open."""
    return comparison.bounds is not None and comparison.bounds[1] - comparison.bounds[0] > TIE


def iter_segments(summary: Summary) -> Iterator[tuple[str, str, SegmentResult]]:
    """Yield (column, value, segment)."""
    for column, values in summary.segments.items():
        for value, segment in values.items():
            yield column, value, segment


def describe_segment_differences(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield the sentences under the headline: segments that other engines win, leads that differ."""
    order = summary.sort_engines(summary.deciding_measure) if summary.deciding_measure else []
    for column, value, segment in iter_segments(summary):
        for comparison in segment.comparisons:
            if comparison.winner and order.index(comparison.a) > order.index(comparison.b):
                yield t(
                    "But in {column} {value} ({queries}) {comparison.a} is ahead of {comparison.b}: {size}.",
                    column=column,
                    value=value,
                    queries=format_query_count(t, segment.queries),
                    comparison=comparison,
                    size=_format_difference(t, comparison.difference, comparison.interval),
                )
    for column, value, segment in iter_segments(summary):
        for contrast in segment.contrasts:
            if contrast.differs:
                yield t(
                    "{contrast.a} - {contrast.b} differs between segments: {contrast.inside:+.4f} in {column}"
                    " {value}, {contrast.outside:+.4f} on the other queries; difference {size}.",
                    contrast=contrast,
                    column=column,
                    value=value,
                    size=_format_difference(t, contrast.difference, contrast.ci95),
                )


def explain_reversal(t: Translator, reversal: OwnListReversal) -> str:
    """Return why the order by own lists differs from the order by the pool."""
    return t(
        "If each list is compared with its own best order alone, {reversal.worse} comes first"
        " ({reversal.own}: {reversal.worse} {reversal.alone[1]:.3f}, {reversal.better}"
        " {reversal.alone[0]:.3f}, on {queries} with a value of both): this shows how well a list is ordered,"
        " not what it contains, and one good result on top is enough for the highest value. {reversal.better}"
        " shows {reversal.relevant[0]:.1f} relevant results a query and {reversal.worse}"
        " {reversal.relevant[1]:.1f}; measured against what all engines found ({measure}), {reversal.better}"
        " is ahead, {reversal.pooled[0]:.3f} to {reversal.pooled[1]:.3f}{chance}.",
        reversal=reversal,
        measure=name_mean(reversal.measure),
        queries=format_query_count(t, reversal.n),
        chance="" if reversal.significant else t(" (which may be chance)"),
    )


def describe_deciding_queries(t: Translator, summary: Summary) -> str:
    """Return the caption of the table of the queries that decide; "" without one."""
    deciding = summary.deciding_queries
    if deciding is None:
        return ""
    return t(
        "The queries on which {deciding.a} and {deciding.b} differ most by {deciding.measure}, and how much"
        " each adds to the difference of the means over {queries}.",
        deciding=deciding,
        queries=format_query_count(t, deciding.n),
    )


_MAX_NAMED_QUERIES = 3


def name_deciding_queries(t: Translator, summary: Summary, run: Path) -> str:
    """Return on which queries the two best engines differ most, and how to see why; "" without any."""
    deciding = summary.deciding_queries
    if deciding is None or not deciding.queries or summary.runs:
        return ""
    first = deciding.queries[:_MAX_NAMED_QUERIES]
    return t(
        "{deciding.a} and {deciding.b} differ most on {queries} by {measure}. Grades and reasons: {command}",
        deciding=deciding,
        queries=t.join([f"{cut_value(repr(query.query), 80)} ({query.difference:+.4f})" for query in first]),
        measure=deciding.measure,
        command=shlex.join(["judge", "show", str(run), "--query", first[0].query_id]),
    )


def describe_limits(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield what limits the answer: few queries, own lists; some of it is empty."""
    yield warn_few_queries(t, summary)
    if summary.own_list_reversal:
        yield explain_reversal(t, summary.own_list_reversal)
