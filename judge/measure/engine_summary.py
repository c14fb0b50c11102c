"""Summary of one engine: means, coverage, latency and size of its results."""

from __future__ import annotations

import math
from collections.abc import Iterable, Mapping
from dataclasses import dataclass

import numpy as np

from judge.characters import estimate_tokens
from judge.measure.formulas import Bools, Floats, divide
from judge.measure.score import Scores, mean_with_bounds, nan_mean
from judge.records import Ranking


@dataclass(frozen=True, slots=True)
class Mean:
    """One measure of one engine over the queries; None where it is over no query.

    `mean` is over `n` queries, `interval` its 95 % t interval over queries (None for fewer than
    2). `low` and `high` are over these with any of the `unknown` ones, to which only unjudged snippets
    can give a value: not one that the engine returned is judged, or nothing judged in the pool
    is relevant. `undefined` counts queries that can't have one: all of the pool is judged and nothing
    relevant, or for Judged there is no result. `paired` is the mean over the `paired_n` queries where
    every engine has a value.
    """

    mean: float | None
    interval: tuple[float, float] | None
    n: int
    low: float | None
    high: float | None
    undefined: int
    unknown: int
    paired: float | None
    paired_n: int


@dataclass(frozen=True, slots=True)
class EngineSummary:
    """What one engine was asked, what came back and what it scored.

    `queries` = `answered` + `empty` + `errors` + `absent` (no ranking at all); for every measure it is
    also `n` + `undefined` + `unknown` + `errors` + `absent`. `judged` is the share of its snippets, over
    all repeats, that have a grade, `duplicates` the share whose document the list had shown before; both
    down to the pool's depth, and None for an engine that returned nothing. `unique` is the share of all
    documents in the pool that this engine alone found. `measures` is keyed by name.
    """

    engine: str
    queries: int
    answered: int
    empty: int
    errors: int
    absent: int
    judged: float | None
    duplicates: float | None
    unique: float | None
    measures: Mapping[str, Mean]


def summarise_engines(scores: Scores) -> tuple[EngineSummary, ...]:
    """One summary per engine, in the order of `scores.engines`."""
    value, low, high = scores.by_query()
    shared: Bools = np.all(~np.isnan(value), axis=0)
    intervals = _t_intervals(value, np.array(scores.largest))
    summaries = []
    for at, engine in enumerate(scores.engines):
        present = ~scores.coverage.missing[at]
        means = {
            str(measure): _make_mean(
                (value[at, :, m], low[at, :, m], high[at, :, m]), intervals[at, m], shared[:, m], present
            )
            for m, measure in enumerate(scores.measures)
        }
        summaries.append(_summarise_engine(scores, at, engine, means))
    return tuple(summaries)


def _t_intervals(value: Floats, largest: Floats) -> Floats:
    """Return the (engines, measures, 2) ends of 95 % t intervals of means of (engines, queries, measures).

    They stay within the range of the measure, 0 to `largest`. NaN for fewer than 2 queries.
    """
    from scipy.special import stdtrit

    known: Bools = ~np.isnan(value)
    count = known.sum(1).astype(np.float64)
    mean = nan_mean(value, axis=1)
    squares = np.where(known, np.square(value - mean[:, None]), 0.0).sum(1)
    se = np.sqrt(divide(squares, count * (count - 1), np.nan))
    reach = stdtrit(np.maximum(count - 1, 1), 0.975) * se
    return np.stack([np.maximum(mean - reach, 0.0), np.minimum(mean + reach, largest)], axis=-1)


def _make_mean(
    bounded: tuple[Floats, Floats, Floats], interval: Floats, shared: Bools, present: Bools
) -> Mean:
    value, low, high = bounded
    has = ~np.isnan(value)
    unknown = ~has & ~np.isnan(low)
    mean, lowest, highest = map(_nan_to_none, mean_with_bounds(value, low, high))
    return Mean(
        mean=mean,
        interval=None if np.isnan(interval).any() else (float(interval[0]), float(interval[1])),
        n=int(has.sum()),
        low=lowest,
        high=highest,
        undefined=int((present & ~has & ~unknown).sum()),
        unknown=int(unknown.sum()),
        paired=_mean_of_chosen(value, shared),
        paired_n=int(shared.sum()),
    )


def _nan_to_none(value: Floats) -> float | None:
    return None if np.isnan(value) else float(value)


def _mean_of_chosen(values: Floats, chosen: Bools) -> float | None:
    return float(values[chosen].mean()) if chosen.any() else None


def _summarise_engine(scores: Scores, at: int, engine: str, means: Mapping[str, Mean]) -> EngineSummary:
    coverage = scores.coverage
    returned, present = coverage.returned[at], ~coverage.missing[at]
    snippets = int(returned.sum())
    asked, pooled = snippets * len(scores.repeats), int(coverage.pooled.sum())
    return EngineSummary(
        engine=engine,
        queries=len(scores.queries),
        answered=int((present & (returned > 0)).sum()),
        empty=int((present & (returned == 0)).sum()),
        errors=int(coverage.errors[at].sum()),
        absent=int(coverage.absent[at].sum()),
        judged=int(coverage.graded[at].sum()) / asked if asked else None,
        duplicates=int(coverage.duplicates[at].sum()) / snippets if snippets else None,
        unique=int(coverage.unique[at].sum()) / pooled if pooled else None,
        measures=means,
    )


@dataclass(frozen=True, slots=True)
class Latency:
    """How long an engine took in milliseconds over `n` queries: the median, and what 95 % stay under."""

    median: float
    p95: float
    n: int


@dataclass(frozen=True, slots=True)
class TokenCount:
    """How many tokens the titles and snippets of an answer are, roughly: the mean over `n` queries."""

    mean: float
    n: int


def measure_latency(rankings: Iterable[Ranking]) -> Latency | None:
    """The latency of one engine, None when nobody measured it; queries on which it broke don't count."""
    took = [each.latency_ms for each in rankings if each.latency_ms is not None and each.error is None]
    if not took:
        return None
    median, p95 = np.percentile(took, [50, 95])
    return Latency(float(median), float(p95), len(took))


def measure_tokens(rankings: Iterable[Ranking], depth: int) -> TokenCount | None:
    """The tokens of one engine's results down to `depth`, as it returned them; None without an answer.

    An empty answer is 0 tokens; queries on which the engine broke don't count.
    """
    sizes = [_count_tokens(each, depth) for each in rankings if each.error is None]
    return TokenCount(math.fsum(sizes) / len(sizes), len(sizes)) if sizes else None


def _count_tokens(ranking: Ranking, depth: int) -> float:
    return math.fsum(
        estimate_tokens(snippet.raw_title) + estimate_tokens(snippet.raw_text)
        for snippet in ranking.snippets[:depth]
    )


def compute_no_snippet_share(rankings: Iterable[Ranking], depth: int) -> float | None:
    """The share of one engine's results down to `depth` without a text of their own, a title or not.

    None without a result that is known. A field that was renamed looks like this, and like nothing else does.
    """
    shown = [each for ranking in rankings for each in ranking.snippets[:depth] if "no_text" not in each.flags]
    return sum(not snippet.text for snippet in shown) / len(shown) if shown else None
