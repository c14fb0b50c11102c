"""Sentences about flagged pairs and unjudged pairs."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from judge.analysis.summary import Summary
from judge.measure.resampling import Interval
from judge.measure.sensitivity import FlaggedEffect, FlaggedMeans, FlaggedWinners
from judge.messages import Translator

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
    """Return that flagged snippets do not change the order; empty where they do, or there are none."""
    effect = summary.flagged_sensitivity
    if effect is None or effect.order_changes:
        return ""
    return t(
        "Counted as 0 or left out, {pairs} would not change the order of the engines by {measure}.",
        pairs=_count_flagged(t, effect.pairs),
        measure=effect.measure,
    )


def _count_flagged(t: Translator, count: int) -> str:
    return t.plural("{count:,} flagged pair", "{count:,} flagged pairs", count)


def _describe_swaps(t: Translator, effect: FlaggedEffect) -> Iterator[str]:
    for one, two in effect.swapped[:_MOST_SWAPS]:
        first, second = effect.engines[one], effect.engines[two]
        yield t(
            " By {measure} {one} is ahead of {two}, {unchanged}; with them counted as 0 it is {zeroed}, with"
            " them left out {dropped}.",
            measure=effect.measure,
            one=one,
            two=two,
            **{way: _format_two(t, first, second, way) for way in FlaggedMeans.__slots__},
        )
    more = len(effect.swapped) - _MOST_SWAPS
    if more > 0:
        yield t.plural(
            " {count:,} more pair of engines change places.",
            " {count:,} more pairs of engines change places.",
            more,
        )


def _format_two(t: Translator, first: FlaggedMeans, second: FlaggedMeans, way: str) -> str:
    means = [getattr(row, way) for row in (first, second)]
    one, two = ("-" if mean is None else f"{mean:.3f}" for mean in means)
    return t("{one} to {two}", one=one, two=two)


def _describe_winners(t: Translator, winners: FlaggedWinners) -> str:
    """Return the winner in each way to count flagged pairs; empty where it is the same one."""
    if winners.unchanged == winners.zeroed == winners.dropped:
        return ""
    return t(
        " The engine whose lead is statistically significant is {unchanged} as things are, {zeroed} with them"
        " counted as 0, {dropped} with them left out.",
        unchanged=winners.unchanged or t("none"),
        zeroed=winners.zeroed or t("none"),
        dropped=winners.dropped or t("none"),
    )


def advise_on_failures(t: Translator, failures: Mapping[str, int]) -> str:
    """Return what gets grades for the failed pairs, by the kinds of their failures."""
    if set(failures) <= {"no_text", "text_cut"}:
        return t(" No model was asked about these: their texts are missing.")
    missing_texts = t("; no_text needs the missing texts") if "no_text" in failures else ""
    return t(" The same command asks again for these alone{missing_texts}.", missing_texts=missing_texts)


def find_uncertain_means(summary: Summary) -> dict[str, Interval]:
    """Return the bounds of each engine's mean by the first measure that unjudged snippets can change."""
    means = {name: engine.measures[summary.measures[0]] for name, engine in summary.engines.items()}
    return {
        name: (low, high)
        for name, mean in means.items()
        for low, high in [mean.bounds]
        if low is not None and high is not None and (low, high) != (mean.mean, mean.mean)
    }


def count_unknown_queries(summary: Summary) -> dict[str, int]:
    """Return on how many queries only unjudged snippets can give an engine a value of the first measure."""
    means = {name: engine.measures[summary.measures[0]] for name, engine in summary.engines.items()}
    return {name: mean.unknown for name, mean in means.items() if mean.unknown}
