"""Owns the gate: whether an engine became worse than it was at the baseline, told from chance.

The unit is the query, always paired: an engine tonight meets itself in the baseline on the queries that
have a value for both. One-sided: a drop is looked for, what rose is reported and never an alarm. All
engines and measures are one family (Holm), so that `alpha` is how often a night of nothing but chance
raises an alarm. Pure: records in, decision out.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from math import ceil, floor, log2, sqrt
from typing import Literal

import numpy as np

from judge.config.nightly import NightlyConfig
from judge.measure.compare import Comparison
from judge.measure.formulas import Floats
from judge.measure.resampling import RESAMPLES, compute_randomisation_p, holm
from judge.measure.score import Scores

#: The probability with which a drop of the size `detectable` is found.
_POWER = 0.8
Verdict = Literal["fine", "regression", "improvement", "incomplete"]


@dataclass(frozen=True, slots=True)
class Change:
    """How an engine's mean moved from `baseline` to `tonight`, over the `n` queries that both have.

    `change` is tonight - baseline, `low` to `high` its 95 % interval, `least` to `most` what it can be
    over all grades that unjudged snippets could have. `p` is the chance of such a drop, or for an
    improvement of such a rise, when there is none (paired randomisation, one-sided). None where nothing
    can be said. `sd` is the standard deviation of the queries' differences, None for fewer than two.
    """

    engine: str
    measure: str
    n: int
    baseline: float | None
    tonight: float | None
    change: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    p: float | None
    sd: float | None = None


@dataclass(frozen=True, slots=True)
class Row:
    """What the gate says of one change; `p_holm` is its p among all that were tested tonight.

    `detectable` is the drop that the gate finds in 4 of 5 nights, None where nothing was tested.
    """

    change: Change
    p_holm: float | None
    verdict: Verdict
    detectable: float | None = None


def decide(changes: Sequence[Change], broken: Collection[str], rules: NightlyConfig) -> tuple[Row, ...]:
    """A verdict on each change, in the same order; engines that are `broken` tonight are blamed for nothing.

    A drop is a regression when it is significant at `rules.alpha` over all that is tested, at least
    `rules.min_drop`, and no grades of unjudged snippets could turn it: else it is incomplete.
    """
    tested = [change.p is not None and change.engine not in broken for change in changes]
    p = np.array([change.p if test else np.nan for change, test in zip(changes, tested, strict=True)], float)
    falls, rises = holm(p), holm(1 - p)
    # What Holm's procedure asks of the smallest p.
    level = rules.alpha / max(1, sum(tested))
    rows = (
        _row(change, float(fall), float(rise), rules)
        for change, fall, rise in zip(changes, falls, rises, strict=True)
    )
    return tuple(
        replace(row, detectable=detectable(row.change, level, rules.min_drop)) if test else row
        for row, test in zip(rows, tested, strict=True)
    )


def detectable(change: Change, level: float, min_drop: float) -> float | None:
    """Return the smallest true drop that the one-sided test at `level` finds with a probability of 80 %.

    (t(1 - level) + t(.8)) sd / sqrt(n), both quantiles with n - 1 degrees of freedom (Cohen 1988), and at
    least `min_drop`, since the gate ignores a smaller drop. None without a standard deviation.
    """
    from scipy.special import stdtrit

    if change.sd is None:
        return None
    freedom = change.n - 1
    quantiles = float(stdtrit(freedom, 1 - level) + stdtrit(freedom, _POWER))
    return max(min_drop, quantiles * change.sd / sqrt(change.n))


def _row(change: Change, fall: float, rise: float, rules: NightlyConfig) -> Row:
    verdict = _verdict(change, fall, rise, rules)
    if verdict == "improvement" and change.p is not None:
        return Row(replace(change, p=1 - change.p), rise, verdict)
    return Row(change, None if np.isnan(fall) else fall, verdict)


def _verdict(change: Change, fall: float, rise: float, rules: NightlyConfig) -> Verdict:
    moved, least, most = change.change, change.least, change.most
    if np.isnan(fall) or moved is None or least is None or most is None:
        return "incomplete"
    if fall < rules.alpha and moved <= -rules.min_drop:
        return "regression" if most < 0 else "incomplete"
    if rise < rules.alpha and moved >= rules.min_drop and least > 0:
        return "improvement"
    return "fine"


def resamples(columns: int, alpha: float) -> int:
    """How many resamples show a p that passes Holm's first step among so many `columns` at `alpha`."""
    return max(RESAMPLES, ceil(columns / alpha))


def too_few(rows: Sequence[Row], alpha: float) -> Iterator[str]:
    """That the gate had no chance: by chance alone all queries would fall too often."""
    tested = [row.change.n for row in rows if row.p_holm is not None]
    if tested and len(tested) * 0.5 ** min(tested) >= alpha:
        needed = floor(log2(len(tested) / alpha)) + 1
        yield (
            f"too few queries to find any drop: {min(tested):,} are compared, and with"
            f" {len(tested):,} comparisons at alpha {alpha:g} it takes {needed:,} or more"
        )


def could_hide(rows: Sequence[Row], least_drop: float) -> Iterator[str]:
    """What looks fine where grades of unjudged snippets could be hiding a drop of `least_drop` or more."""
    for row in rows:
        moved, least = row.change.change, row.change.least
        if row.verdict != "fine" or moved is None or least is None:
            continue
        if least <= -least_drop and moved - least >= least_drop > 0:
            yield (
                f"{row.change.engine}: unjudged snippets could hide a drop of up to {-least:.3f} by"
                f" {row.change.measure}"
            )


def one_sided(p: float | None, change: float | None) -> float | None:
    """The chance of a drop like this, from that of a change like this in either direction.

    Signs are flipped at random, so both directions are equally likely and the two-sided p is halved.
    """
    if p is None or change is None:
        return None
    return p / 2 if change < 0 else 1 - p / 2


def changes(
    compared: Sequence[Comparison], scores: Scores, sides: Mapping[str, tuple[str, str]], alpha: float
) -> tuple[Change, ...]:
    """One change per engine and measure, in their order, with a p that can pass at `alpha`.

    `sides` gives, for each engine, what it is called in `scores`: at the baseline and tonight.
    """
    value, _, _ = scores.average_repeats()
    found = {(pair.measure, frozenset((pair.a, pair.b))): pair for pair in compared}
    return tuple(_changes(found, scores, value, sides, resamples(len(found), alpha)))


def _changes(
    found: Mapping[tuple[str, frozenset[str]], Comparison],
    scores: Scores,
    value: Floats,
    sides: Mapping[str, tuple[str, str]],
    draws: int,
) -> Iterator[Change]:
    for engine, (before, now) in sides.items():
        places = [scores.engines.index(name) for name in (before, now)]
        for at, measure in enumerate(scores.measures):
            pair = found.get((str(measure), frozenset((before, now))))
            if pair is not None:
                both = value[places, :, at]
                both = both[:, ~np.isnan(both).any(0)]
                means = both.mean(1) if both.size else (None, None)
                moved = both[1] - both[0]
                sd = float(moved.std(ddof=1)) if len(moved) > 1 else None
                (p,) = compute_randomisation_p(moved[:, None], resamples=draws)
                seen = pair if pair.a == now else _turned(pair)
                yield replace(_change(engine, seen, means, float(p)), sd=sd)


def _turned(pair: Comparison) -> Comparison:
    """The same comparison seen from the other side."""

    def minus(number: float | None) -> float | None:
        return None if number is None else 0.0 - number

    low, high, least, most = (minus(each) for each in (pair.high, pair.low, pair.most, pair.least))
    return replace(
        pair,
        a=pair.b,
        b=pair.a,
        difference=minus(pair.difference),
        low=low,
        high=high,
        least=least,
        most=most,
    )


def _change(engine: str, pair: Comparison, means: Sequence[float | None] | Floats, p: float) -> Change:
    baseline, tonight = (None if mean is None else float(mean) for mean in means)
    return Change(
        engine=engine,
        measure=pair.measure,
        n=pair.n,
        baseline=baseline,
        tonight=tonight,
        change=pair.difference,
        low=pair.low,
        high=pair.high,
        least=pair.least,
        most=pair.most,
        p=one_sided(None if np.isnan(p) else p, pair.difference),
    )
