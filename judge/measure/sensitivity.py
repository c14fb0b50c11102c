"""Whether another treatment of the data would change which engine is best."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import permutations

import numpy as np

from judge.measure.compare import compare_engines
from judge.measure.formulas import Floats
from judge.measure.measures import Measure
from judge.measure.score import Scores, nan_mean, score_rankings
from judge.records import Judgment, Ranking, Scale


@dataclass(frozen=True, slots=True)
class OwnListCheck:
    """Two engines that stand the other way round when each is divided by its own list alone.

    By `measure` engine `better` is ahead, by `own` (the same, own-list) engine `worse`. `pooled` and
    `alone` hold both engines' means by the two, `relevant` how many relevant results down to the cutoff
    each shows a query; all three are of (better, worse), over the queries where both have a value.
    """

    measure: str
    own: str
    better: str
    worse: str
    pooled: tuple[float, float]
    alone: tuple[float, float]
    relevant: tuple[float, float]
    n: int


#: Means that are closer than this are no order worth a warning.
_MIN_DIFFERENCE = 0.02


def list_needed_measures(measures: Sequence[Measure], depth: int) -> tuple[Measure, ...]:
    """What must be scored as well: nDCG and AP within the list, and P at the same cutoff."""
    pooled = [measure for measure in measures if _is_pooled(measure)]
    needed = [
        each
        for measure in pooled
        for each in (replace(measure, own=True), _precision_measure(measure, depth))
    ]
    return tuple(dict.fromkeys(needed))


def check_own_lists(scores: Scores, depth: int) -> OwnListCheck | None:
    """The first measure by which own lists would name another best engine than the pool does, if any.

    Measures whose `counterparts` are not among those of `scores` are passed over.
    """
    values, _, _ = scores.by_query()
    for measure in filter(_is_pooled, scores.measures):
        needed = (measure, *list_needed_measures([measure], depth))
        if set(needed) <= set(scores.measures):
            pooled, alone, relevant = (values[..., scores.measures.index(each)] for each in needed)
            best, first = _find_best(pooled), _find_best(alone)
            if best is not None and first is not None and best != first:
                shown = np.stack([pooled, alone, relevant])[:, [best, first]]
                found = _make_check(needed, (scores.engines[best], scores.engines[first]), shown, depth)
                if found is not None:
                    return found
    return None


def _make_check(
    measures: Sequence[Measure], names: tuple[str, str], shown: Floats, depth: int
) -> OwnListCheck | None:
    """The record of a swap, if the two engines swap on the queries where both have all three values."""
    shared = ~np.isnan(shown).any(axis=(0, 1))
    if not shared.any():
        return None
    pooled, alone, relevant = shown[..., shared].mean(-1)
    # An engine that shows more of what is relevant is the one that own lists wrong, and by how much counts.
    clear = pooled[0] - pooled[1] >= _MIN_DIFFERENCE and alone[1] - alone[0] >= _MIN_DIFFERENCE
    if not clear or relevant[0] <= relevant[1]:
        return None
    return OwnListCheck(
        measure=str(measures[0]),
        own=str(measures[1]),
        better=names[0],
        worse=names[1],
        pooled=_as_pair(pooled),
        alone=_as_pair(alone),
        relevant=_as_pair(relevant * measures[0].looks_at(depth)),
        n=int(shared.sum()),
    )


def _as_pair(values: Floats) -> tuple[float, float]:
    return float(values[0]), float(values[1])


def _is_pooled(measure: Measure) -> bool:
    return measure.name in ("nDCG", "AP") and not measure.own


def _precision_measure(measure: Measure, depth: int) -> Measure:
    """P at the measure's cutoff: how many relevant results a list shows."""
    return Measure("P", measure.looks_at(depth), rel=measure.rel)


def _find_best(values: Floats) -> int | None:
    """The place of the engine with the highest mean over queries, the first by name among equals."""
    means = nan_mean(values, axis=1)
    return None if np.isnan(means).all() else int(np.nanargmax(means))


#: A pair of query id and snippet id.
Key = tuple[str, str]
#: What can be done with flagged snippets: `kept` is what every other figure of a run is made of.
TREATMENTS = ("kept", "zeroed", "dropped")
#: Means that are closer than this are equal but for rounding.
_TIE = 1e-12


@dataclass(frozen=True, slots=True)
class FlaggedSensitivity:
    """The means of `measure` in the three `WAYS`, and whether the answer stays the same.

    `means[way]` is by engine, None where an engine has no value. `winners[way]` is the engine that is
    better than every other one by more than chance explains, None where there is none. `swapped` holds
    pairs of engines of which the first has the higher mean as things are, and the lower one in another
    way. `pairs` counts the flagged pairs. As everywhere, a query on which nothing relevant is left has no
    part in a mean.
    """

    measure: str
    pairs: int
    means: Mapping[str, Mapping[str, float | None]]
    winners: Mapping[str, str | None]
    swapped: tuple[tuple[str, str], ...]

    @property
    def changes(self) -> bool:
        """Whether two engines change places, or another engine would be named best, or none."""
        return bool(self.swapped) or len(set(self.winners.values())) > 1


@dataclass(frozen=True, slots=True)
class ScoringInput:
    """What scores were made of; `documents` and `depth` are the pool's."""

    rankings: Sequence[Ranking]
    documents: Mapping[tuple[str, str], tuple[str, ...]]
    judgments: Sequence[Judgment]
    scale: Scale
    depth: int


def measure_flagged_sensitivity(
    scores: Scores,
    held: ScoringInput,
    flagged: Collection[Key],
    among: Collection[frozenset[str]] | None = None,
) -> FlaggedSensitivity | None:
    """What becomes of the first measure that compares engines; None when nothing flagged was judged yet.

    `flagged` names pairs: a text that any engine showed with something suspicious about it. `among`
    names the pairs of engines that are of interest, when not all are.
    """
    measure = next((each for each in scores.measures if each.compares), scores.measures[0])
    judged = {judgment.query_id for judgment in held.judgments}
    flagged = {key for key in flagged if key[0] in judged}
    if not flagged:
        return None
    kept = scores.of_measures([measure])
    ways = {
        "kept": kept,
        **{way: _score_input(other, measure) for way, other in _treat_flagged(held, flagged)},
    }
    means = {way: _average_by_engine(each) for way, each in ways.items()}
    return FlaggedSensitivity(
        measure=str(measure),
        pairs=len(flagged),
        means=means,
        winners={way: _find_winner(each, among) for way, each in ways.items()},
        swapped=tuple(_find_swapped(means)),
    )


def _treat_flagged(held: ScoringInput, flagged: Collection[Key]) -> Iterator[tuple[str, ScoringInput]]:
    """Yield what to score with the flagged snippets zeroed, and with them dropped.

    All queries are scored anew: grades of any query can bear on what is imputed on another.
    """
    yield "zeroed", replace(held, judgments=[_zero_grade(judgment, flagged) for judgment in held.judgments])
    yield "dropped", _drop_snippets(held, flagged)


def _zero_grade(judgment: Judgment, flagged: Collection[Key]) -> Judgment:
    if (judgment.query_id, judgment.snippet_id) not in flagged:
        return judgment
    return replace(judgment, grade=0, error=None)


def _drop_snippets(held: ScoringInput, flagged: Collection[Key]) -> ScoringInput:
    """As if the engines had never returned what is flagged; what stood below moves up."""
    rankings = []
    documents: dict[tuple[str, str], tuple[str, ...]] = {}
    for ranking in held.rankings:
        place = (ranking.engine, ranking.query_id)
        # The list may go on below the depth, where nothing was judged.
        judged = zip(ranking.snippets, held.documents.get(place, ()), strict=False)
        left = [each for each in judged if (ranking.query_id, each[0].id) not in flagged]
        rankings.append(replace(ranking, snippets=tuple(snippet for snippet, _ in left)))
        documents[place] = tuple(document for _, document in left)
    return replace(held, rankings=rankings, documents=documents)


def _score_input(held: ScoringInput, measure: Measure) -> Scores:
    return score_rankings(
        held.rankings, held.documents, held.judgments, [measure], held.scale, depth=held.depth
    )


def _average_by_engine(scores: Scores) -> dict[str, float | None]:
    values, _, _ = scores.by_query()
    means = nan_mean(values[..., 0], axis=1).tolist()
    return {
        engine: None if np.isnan(mean) else mean for engine, mean in zip(scores.engines, means, strict=True)
    }


def _find_winner(scores: Scores, among: Collection[frozenset[str]] | None) -> str | None:
    wins = Counter(pair.a for pair in compare_engines(scores, among) if pair.outcome == "better")
    return next((engine for engine, won in wins.items() if won == len(scores.engines) - 1), None)


def _find_swapped(means: Mapping[str, Mapping[str, float | None]]) -> Iterator[tuple[str, str]]:
    def ahead(way: str, one: str, two: str) -> bool:
        first, second = means[way][one], means[way][two]
        return first is not None and second is not None and first - second > _TIE

    for one, two in permutations(means["kept"], 2):
        if ahead("kept", one, two) and any(ahead(way, two, one) for way in TREATMENTS):
            yield one, two
