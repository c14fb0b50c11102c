"""Sentences on how engines compare and on flagged and unjudged pairs, for people who know no statistics.

The terminal, the report and the notices make their sentences here, so that all of them say the same. `t` is
the translator of a language.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from math import sqrt
from statistics import median

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison, describe_outcome
from judge.measure.formulas import TIE
from judge.measure.measures import name_mean
from judge.measure.segments import SegmentContrast, SegmentResult
from judge.measure.sensitivity import (
    MIN_DIFFERENCE,
    FlaggedEffect,
    FlaggedMeans,
    FlaggedWinners,
    OwnListReversal,
)
from judge.messages import Translator, make_text
from judge.pricing.costs import RunCost
from judge.records import CONTENT_FILTER
from judge.report.display_text import (
    count_pairs,
    count_queries,
    describe_unanswered_calls,
    format_interval,
)

#: Below this many queries the simultaneous intervals are only approximate.
_FEW_QUERIES = 10


def name_dimension(t: Translator, name: str) -> str:
    """Return the name of a dimension, which engines can follow: `sidebyside: A, B`."""
    kind, separator, engines = name.partition(": ")
    return t("{name}: {value}", name=t(kind), value=engines) if separator else t(name)


def warn_few_queries(t: Translator, summary: Summary) -> str:
    """Return the warning about intervals over few queries; empty when there are enough."""
    counts = [each.n for each in summary.select_comparisons(summary.deciding_measure) if each.n]
    means = (engine.measures[summary.measures[0]] for engine in summary.engines.values())
    if min(counts or (mean.n for mean in means if mean.ci95), default=_FEW_QUERIES) >= _FEW_QUERIES:
        return ""
    return t(
        "With fewer than {few} queries, intervals are approximate and show only large differences.",
        few=_FEW_QUERIES,
    )


def describe_power(t: Translator, summary: Summary, measure: str | None = None) -> str:
    """Return which true difference the queries find with 80% power, and which twice as many find.

    Both are medians over the pairs of engines that can be tested by `measure` (None: the deciding one), each
    with as many queries as the pair that has most. Empty when no pair can be tested.
    """
    measure = measure or summary.deciding_measure
    comparisons = [each for each in summary.select_comparisons(measure) if each.detectable is not None]
    if not comparisons:
        return ""
    n = max(each.n for each in comparisons)
    # What is detected falls with the square root of the number of queries.
    scaled = [
        [sqrt(each.n / n) * (value or 0.0) for value in (each.detectable, each.detectable_doubled)]
        for each in comparisons
    ]
    detectable, doubled = map(median, zip(*scaled, strict=True))
    return t(
        "With {queries}, a test detects a true difference of about {detectable:.2g} between two engines in"
        " 4 of 5 cases; with {doubled_n:,} queries, one of about {doubled:.2g} (medians over the pairs of"
        " engines, by {measure}).",
        queries=count_queries(t, n),
        detectable=detectable,
        doubled_n=2 * n,
        doubled=doubled,
        measure=name_mean(measure),
    )


def choose_headline(t: Translator, summary: Summary, measure: str | None = None) -> str:
    """Return which engine is best by `measure` (None: the deciding one), or why none can be named.

    Empty when there is nothing to compare.
    """
    measure = measure or summary.deciding_measure
    comparisons = summary.select_comparisons(measure)
    if not comparisons:
        return ""
    if summary.runs:
        return _describe_changes(t, comparisons, measure)
    order = summary.sort_engines(measure)
    wins = Counter(each.winner for each in comparisons)
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
    reasons = list(_list_obstacles(t, comparisons, best))
    if wins[best]:
        reasons.append(
            t.translate_plural("is ahead of {count} other", "is ahead of {count} others", wins[best])
        )
    return t(
        "No engine is best by {measure}{which}: {best} shares the highest mean, but {reasons}."
        if second is not None and first - second <= TIE
        else "No engine is best by {measure}{which}: {best} has the highest mean, but {reasons}.",
        reasons=t.join(reasons, "clauses"),
        **values,
    )


#: What keeps the engine with the highest mean from being best, by what the comparison with others says.
_OBSTACLES = {
    "behind": make_text("is behind {names} on the queries where both have a value"),
    "not separated": make_text("is not separated from {names} (the difference may be chance)"),
    "undetermined": make_text("could be behind {names} if every snippet were judged"),
    "apart": make_text("shares no query with {names} on which both have a value"),
}


def _list_obstacles(t: Translator, comparisons: Sequence[PairComparison], best: str) -> Iterator[str]:
    """Yield clauses on the engines that keep `best`, which has the highest mean, from being best."""
    names: dict[str, list[str]] = {outcome: [] for outcome in _OBSTACLES}
    for comparison in comparisons:
        if best in (comparison.a, comparison.b) and comparison.winner != best:
            outcome = "behind" if comparison.winner else comparison.outcome if comparison.n else "apart"
            names[outcome].append(comparison.b if comparison.a == best else comparison.a)
    for obstacle, engines in names.items():
        if len(engines) > 4:
            more = len(engines) - 3
            engines = [
                t("{names} and {more} more", names=t(", ").join(engines[:3]), more=more, total=len(engines))
            ]
        if engines:
            yield t(_OBSTACLES[obstacle].en, names=t.join(engines))


def _describe_changes(t: Translator, comparisons: Sequence[PairComparison], measure: str) -> str:
    """Return which engines differ from themselves in another run."""
    changed = [describe_outcome(t, each) for each in comparisons if each.winner]
    undetermined = sum(each.outcome == "undetermined" for each in comparisons)
    rest = ""
    if undetermined:
        rest = t.translate_plural(
            "; unjudged snippets could reverse {count:,} comparison",
            "; unjudged snippets could reverse {count:,} comparisons",
            undetermined,
        )
    return t(
        "Between the runs, by {measure}: {changed}{rest}."
        if changed
        else "No engine differs significantly between the runs by {measure}{rest}.",
        measure=name_mean(measure),
        changed=t.join(changed) if changed else "",
        rest=rest,
    )


def rank_means(t: Translator, means: Mapping[str, float | None], most: int = 1000) -> str:
    """Return the engines with a mean, best first, `A > B = C`; of many the first, and how many more."""
    present = {engine: mean for engine, mean in means.items() if mean is not None}
    groups: list[list[str]] = []
    for engine in sorted(present, key=lambda engine: -present[engine]):
        if groups and present[groups[-1][-1]] - present[engine] <= TIE:
            groups[-1].append(engine)
        else:
            groups.append([engine])
    signed = [(" = " if at else " > ") + engine for tied in groups for at, engine in enumerate(sorted(tied))]
    more = t(" > {count:,} more", count=len(signed) - most) if len(signed) > most else ""
    return "".join(signed[:most]).removeprefix(" > ") + more


def describe_difference(t: Translator, comparison: PairComparison) -> str:
    """Return a comparison in one sentence."""
    result = describe_outcome(t, comparison)
    if comparison.difference is None:
        return t("{a}, {b}: {result}", a=comparison.a, b=comparison.b, result=result)
    queries = count_queries(t, comparison.n)
    ahead = t("ahead on {pair.wins} of {queries}, behind on {pair.losses}", pair=comparison, queries=queries)
    size = _format_difference(t, comparison)
    if is_unsure(comparison):
        robust = t(", robust to any grades") if comparison.robust else ""
        size += t(
            "; with any grades of the unjudged {bounds[0]:+.4f} to {bounds[1]:+.4f}{robust}",
            bounds=comparison.bounds,
            robust=robust,
        )
    if comparison.winner:
        return t("{result}: {size}; {ahead}", result=result, size=size, ahead=ahead)
    return t(
        "{a}, {b}: {result}; {size}; {ahead}",
        a=comparison.a,
        b=comparison.b,
        result=result,
        size=size,
        ahead=ahead,
    )


def list_differences(t: Translator, comparisons: Sequence[PairComparison], most: int) -> Iterator[str]:
    """Yield at most `most` comparisons by one measure, below a line that says what their figures are."""
    lines = [f"  {describe_difference(t, each)}" for each in comparisons[:most]]
    if not lines:
        return
    if len(comparisons) > 1:
        yield t("On the shared queries; the 95% intervals hold for all pairs together:")
    else:
        yield t("On the shared queries:")
    yield from lines


def _format_difference(t: Translator, row: PairComparison | SegmentContrast) -> str:
    return f"{row.difference:+z.4f}{format_interval(t, row.ci95)}"  # z: no −0.0000


def is_unsure(comparison: PairComparison) -> bool:
    """Return whether unjudged snippets leave the difference of a comparison open."""
    return comparison.bounds is not None and comparison.bounds[1] - comparison.bounds[0] > TIE


def list_segments(summary: Summary) -> Iterator[tuple[str, str, SegmentResult]]:
    """Yield (column, value, segment)."""
    for column, values in summary.segments.items():
        for value, segment in values.items():
            yield column, value, segment


def describe_segment_differences(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield what stands under the headline: segments that other engines win, leads that differ."""
    order = summary.sort_engines(summary.deciding_measure) if summary.deciding_measure else []
    for column, value, segment in list_segments(summary):
        for comparison in segment.comparisons:
            if comparison.winner and order.index(comparison.a) > order.index(comparison.b):
                yield t(
                    "But in {column} {value} ({queries}) {pair.a} is ahead of {pair.b}: {size}.",
                    column=column,
                    value=value,
                    queries=count_queries(t, segment.queries),
                    pair=comparison,
                    size=_format_difference(t, comparison),
                )
    for column, value, segment in list_segments(summary):
        for contrast in segment.contrasts:
            if contrast.differs:
                yield t(
                    "{pair.a} - {pair.b} differs between segments: {pair.inside:+.4f} in {column} {value},"
                    " {pair.outside:+.4f} on the other queries; difference {size}.",
                    pair=contrast,
                    column=column,
                    value=value,
                    size=_format_difference(t, contrast),
                )


def explain_reversal(t: Translator, reversal: OwnListReversal) -> str:
    """Return why the order by own lists differs from the order by the pool."""
    return t(
        "Divided by its own list alone, {pair.worse} would come first ({pair.own}: {pair.worse}"
        " {pair.alone[1]:.3f}, {pair.better} {pair.alone[0]:.3f}, on {queries} with a value of both): that"
        " says how well a list is ordered, not what it holds, so the highest value is possible with one good"
        " result on top. {pair.better} shows {pair.relevant[0]:.1f} relevant results a query and {pair.worse}"
        " {pair.relevant[1]:.1f}; measured against what all engines found ({pair.measure}), {pair.better} is"
        " ahead, {pair.pooled[0]:.3f} to {pair.pooled[1]:.3f}{chance}.",
        pair=reversal,
        queries=count_queries(t, reversal.n),
        chance="" if reversal.significant else t(" (which may be chance)"),
    )


def describe_deciding_queries(t: Translator, summary: Summary) -> str:
    """Return what the table of the queries that decide shows; `""` without one."""
    deciding = summary.deciding_queries
    if deciding is None:
        return ""
    return t(
        "The queries on which {pair.a} and {pair.b} differ most by {pair.measure}, and how much each adds to"
        " the difference of the means over {queries}.",
        pair=deciding,
        queries=count_queries(t, deciding.n),
    )


def describe_limits(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield what limits the answer: few queries, own lists; some of it is empty."""
    yield warn_few_queries(t, summary)
    if summary.own_list_reversal:
        yield explain_reversal(t, summary.own_list_reversal)


#: How many engines that change places are described.
_MOST_SWAPS = 3


def warn_flagged(t: Translator, summary: Summary) -> str:
    """Return that the order of the engines depends on flagged snippets; empty where it does not."""
    effect = summary.flagged_sensitivity
    if effect is None or not effect.order_changes:
        return ""
    swaps = "".join(_describe_swaps(t, effect))
    winners = _describe_winners(t, effect.winners)
    return t(
        "Warning: {what} depends on {pairs} that may contain prompt injection.{details}",
        what=t("the answer") if winners else t("the ranking"),
        pairs=_count_flagged(t, effect.pairs),
        details=swaps + winners,
    )


def describe_flagged_effect(t: Translator, summary: Summary) -> str:
    """Return that flagged snippets do not change the order, or nearly; empty where they do or are none."""
    effect = summary.flagged_sensitivity
    if effect is None or effect.order_changes:
        return ""
    pairs = _count_flagged(t, effect.pairs)
    if effect.swapped:
        return t(
            "With {pairs} counted as 0 or left out, only engines change places whose means by {measure}"
            " differ by less than {least:g}.",
            pairs=pairs,
            measure=name_mean(effect.measure),
            least=MIN_DIFFERENCE,
        )
    return t(
        "With {pairs} counted as 0 or left out, the order of the engines by {measure} stays the same.",
        pairs=pairs,
        measure=name_mean(effect.measure),
    )


def _count_flagged(t: Translator, count: int) -> str:
    return t.translate_plural("{count:,} flagged pair", "{count:,} flagged pairs", count)


def _describe_swaps(t: Translator, effect: FlaggedEffect) -> Iterator[str]:
    for one, two in effect.swapped[:_MOST_SWAPS]:
        means = {}
        for way in FlaggedMeans.__slots__:
            first, second = (getattr(effect.engines[engine], way) for engine in (one, two))
            means[way] = t("{one} to {two}", one=_format_mean(first), two=_format_mean(second))
        yield t(
            " By {measure} {one} is ahead of {two}, {unchanged}; with them counted as 0 it is {zeroed}, with"
            " them left out {dropped}.",
            measure=name_mean(effect.measure),
            one=one,
            two=two,
            **means,
        )
    more = len(effect.swapped) - _MOST_SWAPS
    if more > 0:
        yield t.translate_plural(
            " {count:,} more pair of engines change places.",
            " {count:,} more pairs of engines change places.",
            more,
        )


def _format_mean(mean: float | None) -> str:
    return "-" if mean is None else f"{mean:.3f}"


def _describe_winners(t: Translator, winners: FlaggedWinners) -> str:
    """Return the winner in each way to count flagged pairs; empty where it is the same one."""
    if winners.unchanged == winners.zeroed == winners.dropped:
        return ""
    return t(
        " The engine whose lead is statistically significant is {unchanged} as things are, {zeroed} with them"
        " counted as 0, {dropped} with them left out.",
        **{way: getattr(winners, way) or t("none") for way in FlaggedWinners.__slots__},
    )


def advise_on_failures(t: Translator, failures: Mapping[str, int]) -> str:
    """Return what gets grades for the failed pairs, by the kinds of their failures."""
    if set(failures) <= {"no_text", "text_cut"}:
        return t(" No model was asked about these: their texts are missing.")
    if set(failures) <= {"no_text", "text_cut", CONTENT_FILTER}:
        return t(" The refusals of a content filter are final.")
    exceptions = t("; no_text needs the missing texts") if "no_text" in failures else ""
    if CONTENT_FILTER in failures:
        exceptions += t("; the refusals of a content filter are final")
    return t(" The same command asks again, only for these{exceptions}.", exceptions=exceptions)


def join_values(t: Translator, values: Mapping[str, object]) -> str:
    """Return `a 1, b 2`."""
    return t(", ").join(f"{name} {value}" for name, value in values.items())


def describe_open_means(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield what unjudged snippets leave open about the engines' means by the first measure."""
    first = summary.measures[0]
    means = {name: engine.measures[first] for name, engine in summary.engines.items()}
    if unknown := {name: f"{mean.unknown:,}" for name, mean in means.items() if mean.unknown}:
        yield t(
            "{measure}: queries left out until more is judged (no snippet of the query is judged, none of the"
            " engine on any query, or none judged in the pool is relevant): {engines}",
            measure=first,
            engines=join_values(t, unknown),
        )
    ranges = {
        name: t("{low} to {high}", low=f"{low:.3f}", high=f"{high:.3f}")
        for name, mean in means.items()
        for low, high in [mean.bounds]
        if low is not None and high is not None and (low, high) != (mean.mean, mean.mean)
    }
    if ranges:
        yield t(
            "{measure} over all possible grades of the unjudged snippets: {engines}",
            measure=name_mean(first),
            engines=join_values(t, ranges),
        )


def describe_empty_snippets(t: Translator, summary: Summary) -> str:
    """Return how many results have no text, which are graded without a call; empty where all have one."""
    if not summary.empty_snippets:
        return ""
    return t.translate_plural(
        "{count:,} result shows no text at all: grade 0 without a call (flag empty_snippet)",
        "{count:,} results show no text at all: grade 0 without a call (flag empty_snippet)",
        summary.empty_snippets,
    )


def describe_dataset(t: Translator, summary: Summary) -> str:
    """Return the numbers of queries, engines, results and pairs."""
    return t(
        "{queries}, {engines}; {results}, {pairs} ({saved:.0%} fewer: equal results are one pair)",
        queries=count_queries(t, summary.queries),
        engines=t.translate_plural("{count:,} engine", "{count:,} engines", len(summary.engines)),
        results=t.translate_plural("{count:,} result", "{count:,} results", summary.results),
        pairs=count_pairs(t, summary),
        saved=summary.dedup_saving,
    )


def describe_unclear_calls(t: Translator, cost: RunCost) -> str:
    """Return how many calls have an unknown cost, after what a run cost."""
    uncounted = maybe_billed = ""
    if cost.uncounted:
        uncounted = t.translate_plural(
            "; {count:,} call came back without a token count",
            "; {count:,} calls came back without a token count",
            cost.uncounted,
        )
    if cost.maybe_billed:
        maybe_billed = t("; ") + describe_unanswered_calls(t, cost.maybe_billed)
    return uncounted + maybe_billed


def describe_undefined(t: Translator, summary: Summary) -> Iterator[str]:
    """Yield how many queries a measure leaves out because it is undefined on them."""
    for measure, count in summary.undefined.items():
        why = t("no relevant snippet in the pool")
        if measure.startswith("nDCG") and summary.relevant_from > 1:  # grade 1 is a gain, and not relevant
            why = t("no snippet in the pool has a grade above 0")
        # Judged is the only measure that is undefined for one engine alone.
        yield t(
            "{measure} leaves out {count:,} of {queries} or fewer for each engine: its list has no result."
            if measure.startswith("Judged")
            else "{measure} leaves out {count:,} of {queries}: {why}.",
            measure=measure,
            count=count,
            queries=count_queries(t, summary.queries),
            why=why,
        )
