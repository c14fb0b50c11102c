"""Summary of each engine: means with their intervals, coverage, latency and size of its results.

A mean is over the queries where the engine has a value, with the repeats of a query averaged first. An engine
that fails on hard queries has a higher mean than otherwise, so `paired` is the mean over the queries where
every engine has a value.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from statistics import fmean

import numpy as np

from judge.flags import TEXT_MISSING
from judge.measure.columns import ResultColumns
from judge.measure.intervals import Interval, compute_t_interval
from judge.measure.numeric import Bools, Floats, convert_non_finite, divide, list_distinct
from judge.measure.score import Scores, compute_bounded_mean


@dataclass(frozen=True, slots=True)
class MeasureMean:
    """The mean of one measure for one engine, over `n` queries; None where no query has a value.

    `ci95` is a t interval over the queries, None for fewer than 2. `bounds` are the lowest and the highest
    mean over these and any of the `unknown` queries. Only unjudged snippets can give these a value: no result
    of the query is judged, no result of the engine on any query, or nothing judged in the pool is relevant.
    `undefined` counts queries that cannot have a value: the whole pool is judged and nothing is relevant, or,
    for Judged, there is no result. `paired` is the mean over the `paired_n` queries where every engine has a
    value.
    """

    mean: float | None
    n: int
    ci95: Interval | None
    bounds: tuple[float | None, float | None]
    undefined: int
    unknown: int
    paired: float | None
    paired_n: int


@dataclass(frozen=True, slots=True)
class Latency:
    """The latency of an engine in milliseconds over `n` queries: median and 95th percentile."""

    median: float
    p95: float
    n: int


@dataclass(frozen=True, slots=True)
class TokenCount:
    """The approximate number of tokens of the titles and snippets for a query: mean over `n` queries."""

    mean: float
    n: int


@dataclass(frozen=True, slots=True)
class RerankRelevancy:
    """The relevance scores of one engine's lists: means over `n` queries of the mean and of the largest."""

    mean: float
    max: float
    n: int


@dataclass(frozen=True, slots=True)
class EngineSummary:
    """What one engine returned and scored.

    `queries` = `answered` + `empty` + `errors` + `absent` (no ranking in the dataset); for every measure it
    is also `n` + `undefined` + `unknown` + `errors` + `absent`. `judged` is the share of its snippets, over
    all repeats, with a grade. `duplicates` is the share whose document the list shows at a higher rank. Both
    are down to the depth of the pool, and None for an engine that returned nothing. `unique` is the share of
    the documents in the pool that no other engine returned. `measures` is keyed by name. `no_snippet_share`
    is the share of its results with no text besides a title. `rerank_relevancy` is None unless the assessor
    is a reranker.
    """

    queries: int
    answered: int
    empty: int
    errors: int
    absent: int
    judged: float | None
    duplicates: float | None
    unique: float | None
    measures: Mapping[str, MeasureMean]
    latency_ms: Latency | None
    tokens: TokenCount | None
    no_snippet_share: float | None
    rerank_relevancy: RerankRelevancy | None = None

    @property
    def answered_share(self) -> float:
        """The share of the queries with at least one result."""
        return self.answered / self.queries if self.queries else 0.0

    @property
    def unanswered_share(self) -> float:
        """The share of the queries that failed or have no ranking."""
        return (self.errors + self.absent) / self.queries if self.queries else 0.0


def summarise_engines(
    scores: Scores, results: ResultColumns, rerank_scores: Floats | None = None
) -> dict[str, EngineSummary]:
    """Return the results and the means of each engine, in the order of `scores.engines`.

    `rerank_scores` (pairs,) are the relevance scores of a reranker, NaN where it gave none.
    """
    no_snippet_shares = compute_no_snippet_shares(results)
    # The distinct documents of each engine; those of two queries have different numbers.
    first_numbers = np.arange(len(results.queries))[:, None] * (int(results.document.max(initial=0)) + 1)
    documents = [list_distinct((own + first_numbers)[own >= 0]) for own in results.document]
    engines_by_document = np.bincount(np.concatenate([np.empty(0, np.int64), *documents]))
    pooled = int(np.count_nonzero(engines_by_document))
    summaries = {}
    for row, (engine, means) in enumerate(average_engines(scores).items()):
        returned, present = results.returned[row], ~results.without_list[row]
        latencies = results.latency_ms[row][~results.errors[row] & ~np.isnan(results.latency_ms[row])]
        median, p95 = np.percentile(latencies, [50, 95]).tolist() if latencies.size else (0.0, 0.0)
        tokens = results.tokens[row][~np.isnan(results.tokens[row])].tolist()
        snippets = int(returned.sum())
        pairs = snippets * len(scores.repeats)
        summaries[engine] = EngineSummary(
            queries=len(scores.queries),
            answered=int((present & (returned > 0)).sum()),
            empty=int((present & (returned == 0)).sum()),
            errors=int(results.errors[row].sum()),
            absent=int(results.absent[row].sum()),
            judged=int(scores.graded[row].sum()) / pairs if pairs else None,
            duplicates=(snippets - len(documents[row])) / snippets if snippets else None,
            unique=int((engines_by_document[documents[row]] == 1).sum()) / pooled if pooled else None,
            measures=means,
            latency_ms=Latency(median, p95, latencies.size) if latencies.size else None,
            tokens=TokenCount(fmean(tokens), len(tokens)) if tokens else None,
            no_snippet_share=no_snippet_shares[engine],
            rerank_relevancy=None
            if rerank_scores is None
            else _measure_rerank_relevancy(np.append(rerank_scores, np.nan)[results.pair[row]]),
        )
    return summaries


def average_engines(scores: Scores) -> dict[str, dict[str, MeasureMean]]:
    """Return the means by engine and measure."""
    value, lowest, highest = scores.average_with_bounds()
    has_value = ~np.isnan(value)
    shared: Bools = np.all(has_value, axis=0)
    unknown = ~has_value & ~np.isnan(lowest)
    undefined = ~has_value & ~unknown & ~scores.without_list[..., None]
    means: dict[str, dict[str, MeasureMean]] = {engine: {} for engine in scores.engines}
    for row, engine in enumerate(scores.engines):
        for column, measure in enumerate(scores.measures):
            cells = row, slice(None), column
            bounded = compute_bounded_mean(value[cells], lowest[cells], highest[cells])
            mean, *bounds = (convert_non_finite(float(end)) for end in bounded)
            paired = value[cells][shared[:, column]]
            means[engine][str(measure)] = MeasureMean(
                mean=mean,
                n=int(has_value[cells].sum()),
                ci95=compute_t_interval(value[cells][has_value[cells]], 0.0, scores.largest[column]),
                bounds=(bounds[0], bounds[1]),
                undefined=int(undefined[cells].sum()),
                unknown=int(unknown[cells].sum()),
                paired=float(paired.mean()) if paired.size else None,
                paired_n=paired.size,
            )
    return means


def _measure_rerank_relevancy(scores: Floats) -> RerankRelevancy | None:
    """Return the relevancy of one engine's lists by a reranker's (queries, ranks) scores.

    This is LlamaIndex's rerank relevancy. Lists without a score are left out; None when there is no other.
    """
    scored = scores[~np.isnan(scores).all(1)]
    if not scored.size:
        return None
    mean, largest = np.nanmean(scored, axis=1).mean(), np.nanmax(scored, axis=1).mean()
    return RerankRelevancy(float(mean), float(largest), len(scored))


def compute_no_snippet_shares(results: ResultColumns) -> dict[str, float | None]:
    """Return the share of each engine's results that have no text, with or without a title.

    None without a result whose text is known. A high share is the sign of a field with another name.
    """
    counted = (results.pair >= 0) & ~results.mark_flags({TEXT_MISSING})
    totals, without = counted.sum((1, 2)), (counted & ~results.has_text).sum((1, 2))
    shares = divide(without.astype(np.float64), totals.astype(np.float64), np.nan)
    return dict(zip(results.engines, map(convert_non_finite, shares), strict=True))
