"""Sentences on how far repeated judgments agree, and the words for kappa and alpha."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import asdict

from judge.measure.resampling import StatisticValue
from judge.measure.stability import MeasureStability, RepeatStability, VarianceComponents
from judge.messages import Translator
from judge.report.number_texts import format_interval, format_p_value

#: Below so many queries a BCa interval of 95 %, as of a kappa, holds the truth clearly less often than that.
FEW_FOR_BCA = 20


def warn_narrow_intervals(t: Translator) -> str:
    """Return the warning about BCa intervals over few queries."""
    return t("With fewer than {few} queries, the 95 % intervals are too narrow.", few=FEW_FOR_BCA)


def explain_missing(t: Translator, statistic: StatisticValue) -> str:
    """Return why a statistic is unknown; as it stands where the catalogue does not know the reason."""
    return t(statistic.why or "")


def name_strength(t: Translator, agreement: float) -> str:
    """Return words for a kappa or an alpha, at the lines of Landis & Koch (1977)."""
    if agreement >= 0.81:
        return t("very well")
    if agreement >= 0.61:
        return t("well")
    if agreement >= 0.41:
        return t("moderately")
    if agreement >= 0.21:
        return t("a little")
    return t("hardly") if agreement >= 0.01 else t("no more than by chance")


def describe_repeats(t: Translator, stability: RepeatStability, deciding: str) -> Iterator[str]:
    """Yield how far the repeats agree, plain words first; `deciding` is the deciding measure."""
    yield from _describe_verdicts(t, stability)
    measure = stability.measures[deciding]
    yield _describe_means(t, deciding, measure, stability.margin)
    if measure.smallest_tau is not None:
        if measure.smallest_tau >= 1 - 1e-9:
            yield t("the engines stand in the same order in every repeat")
        else:
            yield t(
                "the order of the engines changes between repeats (smallest tau {tau:.3f})",
                tau=measure.smallest_tau,
            )


def _describe_verdicts(t: Translator, stability: RepeatStability) -> Iterator[str]:
    flips, alpha = stability.flip_rate, stability.alpha
    if flips.value is None:
        yield t("stability is unknown: {why}", why=explain_missing(t, flips))
        return
    low, high = flips.ci95 or (0.0, 0.0)
    yield t(
        "judged again, {flips:.1%} of the verdicts (relevant or not) change{range}; {ever:.1%} of {pairs:,}"
        " pairs changed at least once in {repeats} repeats",
        flips=flips.value,
        range=t(" (95 %: {low} to {high})", low=f"{low:.1%}", high=f"{high:.1%}") if flips.ci95 else "",
        ever=stability.ever_flipped.value,
        pairs=stability.pairs,
        repeats=stability.repeats,
    )
    if alpha.value is None:
        yield t("the repeats agree, but alpha says nothing: {why}", why=explain_missing(t, alpha))
        return
    yield t(
        "the repeats' grades agree {strength}: alpha {value}, where 1 is always",
        strength=name_strength(t, alpha.value),
        value=f"{alpha.value:.3f}{format_interval(t, alpha.ci95)}",
    )


def _describe_means(t: Translator, name: str, measure: MeasureStability, margin: float) -> str:
    if measure.equivalent is None:
        return t("{name}: too few queries to say whether the repeats' means are the same", name=name)
    values = {
        "name": name,
        "largest": measure.largest_difference,
        "margin": margin,
        "p": format_p_value(measure.tost_p),
    }
    if measure.equivalent:
        return t(
            "{name}: the repeats' means of an engine differ by up to {largest:.4f}; that they stay within"
            " ±{margin} holds for every engine (equivalence test, p {p})",
            **values,
        )
    return t(
        "{name}: the repeats' means of an engine differ by up to {largest:.4f}; that they stay within"
        " ±{margin} is not shown (equivalence test, p {p})",
        **values,
    )


def describe_variance(t: Translator, variance: VarianceComponents | None) -> str:
    """Return what the values of a measure vary with."""
    if variance is None:
        return t("what the values vary with can't be told: it takes 2 queries, engines and repeats at least")
    total = sum(asdict(variance).values())
    if total < 1e-12:
        return t("the values do not vary: every engine has the same on every query")
    parts = {
        t("the query"): variance.query,
        t("the engine"): variance.engine,
        t("which engine suits which query"): variance.query_engine,
        t("judging it again"): variance.noise,
    }
    shares = t(", ").join(f"{name} {part / total:.0%}" for name, part in parts.items())
    return t("the values vary with {shares}", shares=shares)
