"""Plans of pairs to label: the more a pair can change the order of engines, the likelier it is drawn.

The engine with the highest mean by the assessor's grades is compared with each of the others. A plan holds
all that the estimate needs except the labels, so it is fixed before the first label is given.
"""

import hashlib
import json
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import compress
from math import comb, isclose, isfinite
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun, score_run
from judge.dataset.labels import select_labellable, select_unknown_texts
from judge.dataset.pool import list_firsts
from judge.errors import InputError
from judge.files.json_text import hash_parts
from judge.measure import pair_sampling
from judge.measure.grades_by_pair import compute_median_grades
from judge.measure.intervals import ALPHA
from judge.measure.measures import Measure, check_depth, parse_measure
from judge.measure.numeric import Bools, Floats, Ints, rank_engines
from judge.measure.ppi import draw_queries_to_label
from judge.messages import Message, NameList
from judge.records import Pair, PairKey, Scale

#: A plan needs this many pairs, and a decision as many labels or nine tenths of the plan; with fewer than
#: `ENOUGH_LABELS` there is a warning.
MIN_LABELS = 50
ENOUGH_LABELS = 100
#: The largest number of rounds of a plan.
MAX_ROUNDS = 50
#: A plan has no smaller probability, so that its inverse is finite.
_MIN_PROBABILITY = 1e-9


@dataclass(frozen=True, slots=True)
class PlanUnit:
    """A pair that can change a difference: its weight in each comparison and its probability.

    `grade` is the assessor's when the plan was made, None without one.
    """

    query_id: str
    snippet_id: str
    grade: int | None
    weights: tuple[float, ...]
    probability: float
    drawn: bool

    @property
    def key(self) -> PairKey:
        """The ids of the query and the snippet."""
        return self.query_id, self.snippet_id


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Pairs drawn to compare the first of `engines` with each of the others by `measure`.

    All engines answered on the `queries`; `means` are theirs by the assessor's grades, over those of these
    queries on which each has a value.
    `lists` is a hash of the lists, `labels` the number of drawn pairs, `half_width` the 95% one to expect
    from them (the widest of the comparisons). The level is split over `rounds` looks at the result.
    """

    schema: Literal[1]
    measure: str
    engines: tuple[str, ...]
    means: tuple[float, ...]
    queries: tuple[str, ...]
    lists: str
    seed: int
    rounds: int
    labels: int
    half_width: float
    units: tuple[PlanUnit, ...]

    @property
    def drawn(self) -> tuple[PairKey, ...]:
        """The (query_id, snippet_id) of the pairs to label, in the order of the draw."""
        return tuple(unit.key for unit in self.units if unit.drawn)


@dataclass(frozen=True, slots=True)
class DrawOptions:
    """How to draw pairs: as many as `pairs`, or where that is None as an interval of `half_width` needs.

    `seed` and `rounds` are those of the `PairPlan`.
    """

    pairs: int | None
    half_width: float | None = None
    seed: int = 0
    rounds: int = 1


def plan_pairs(run: JudgedRun, engines: Sequence[str], measure: Measure, options: DrawOptions) -> PairPlan:
    """Return the plan of pairs to label, to compare `engines` (none: all of the run) by `measure`.

    Raise InputError for an unknown engine, a measure that is not a sum over ranks, and a plan that is too
    small.
    """
    ordered, means, queries = _order_engines(run, engines, measure)
    weights_by_pair = _weigh_pairs(run, ordered, measure, queries, options.seed, select_labellable(run.pool))
    scale = run.spec.scale
    if not weights_by_pair:
        raise InputError(
            "the lists of {engines} are equal: no label changes it", engines=NameList(map(repr, ordered))
        )
    min_labels = min(MIN_LABELS, len(weights_by_pair))
    weights = np.array(list(weights_by_pair.values()))
    typical = compute_median_grades(run.judgments)
    grades = [typical.get(key) for key in weights_by_pair]
    group = group_grades(grades, scale)
    gains = pair_sampling.compute_unit_gains(measure, scale)
    mean, sd = (values[group] for values in pair_sampling.predict_gains(gains, scale.name))
    sizes = pair_sampling.compute_sizes(weights, sd)
    query = number_queries(weights_by_pair, queries)
    # Holm's widest interval, which has the error of one look divided by the pairs of engines.
    alpha = ALPHA / options.rounds / comb(len(ordered), 2)
    expected = [
        pair_sampling.ExpectedDifference(alpha, query, len(queries), column * mean, column * sd)
        for column in weights.T
    ]
    count = options.pairs
    if count is None:
        needed = [difference.count_needed_labels(options.half_width or 0.0, sizes) for difference in expected]
        count = max(*needed, min_labels)
    if count < min_labels:
        raise InputError(
            "a plan of {count} pairs is too small; draw {min_labels} or more ({enough} are better)",
            count=count,
            min_labels=min_labels,
            enough=ENOUGH_LABELS,
        )
    probability = pair_sampling.compute_inclusion_probabilities(sizes, count)
    drawn = pair_sampling.draw_units(probability, float(np.random.default_rng(options.seed).random()))
    return PairPlan(
        schema=1,
        measure=str(measure),
        engines=ordered,
        means=means,
        queries=queries,
        lists=_hash_lists(run, ordered, measure),
        seed=options.seed,
        rounds=options.rounds,
        labels=int(drawn.sum()),
        half_width=max(difference.expect_half_width(probability) for difference in expected),
        units=tuple(
            PlanUnit(*key, grade, tuple(of_pair), chance, is_drawn)
            for key, grade, of_pair, chance, is_drawn in zip(
                weights_by_pair, grades, weights.tolist(), probability.tolist(), drawn.tolist(), strict=True
            )
        ),
    )


def _order_engines(
    run: JudgedRun, names: Sequence[str], measure: Measure
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[str, ...]]:
    """Return the engines, best first by the assessor, their means, and the queries of all of them."""
    chosen = tuple(dict.fromkeys(names)) or run.dataset.engines
    if len(chosen) < 2 or not set(chosen) <= set(run.dataset.engines):
        raise InputError(
            "pairs are drawn to compare two or more engines of the run ({engines}), not {names}",
            names=NameList(map(repr, chosen)),
            engines=NameList(map(repr, run.dataset.engines)),
        )
    scores = score_run(run, [measure]).select(engines=chosen)
    value = scores.average_repeats()[..., 0]
    answered: Bools = ~np.any(scores.without_list, axis=0)
    defined: Bools = answered & ~np.isnan(value).any(axis=0)
    if defined.sum() < 2:
        raise InputError(
            "fewer than 2 queries have a list and a grade from each of {engines}; judge more queries",
            engines=NameList(map(repr, chosen)),
        )
    means = dict(zip(scores.engines, value[:, defined].mean(1).tolist(), strict=True))
    ordered = tuple(rank_engines(means))
    queries = tuple(compress(scores.queries, answered))
    return ordered, tuple(means[name] for name in ordered), queries


def weigh_unknown_texts(run: JudgedRun, plan: PairPlan) -> dict[PairKey, Floats]:
    """Return the (comparisons,) weights of the pairs whose text is unknown: no plan draws them."""
    unknown = select_unknown_texts(run.pool)
    return _weigh_pairs(run, plan.engines, parse_measure(plan.measure), plan.queries, plan.seed, unknown)


def _weigh_pairs(
    run: JudgedRun,
    engines: Sequence[str],
    measure: Measure,
    queries: Sequence[str],
    seed: int,
    pairs: Iterable[Pair],
) -> dict[PairKey, Floats]:
    """Return the (comparisons,) weights of those of the `pairs` that have one.

    They are in the order of the draw: by query, so that people read each query once.
    """
    longest = max((len(ranking.snippets) for ranking in run.dataset.rankings), default=0)
    of_rank = pair_sampling.compute_rank_weights(measure, run.pool.depth, longest)
    pair_keys = {pair.key for pair in pairs}
    weights: dict[PairKey, Floats] = {}
    for ranking in run.dataset.rankings:
        if ranking.engine in engines:
            for snippet_id, weight in zip(list_firsts(ranking), of_rank, strict=False):
                key = ranking.query_id, snippet_id
                if key in pair_keys:
                    of_engine = weights.setdefault(key, np.zeros(len(engines)))
                    of_engine[engines.index(ranking.engine)] += weight
    drawn = draw_queries_to_label(queries, len(queries), seed)
    place = {query_id: number for number, query_id in enumerate(drawn)}
    keys = [key for key in weights if key[0] in place]
    keys.sort(key=lambda key: (place[key[0]], hash_parts([str(seed), *key], 16)))
    differences = {key: weights[key][0] - weights[key][1:] for key in keys}
    return {key: difference for key, difference in differences.items() if difference.any()}


def check_plan(run: JudgedRun, plan: PairPlan, place: str) -> None:
    """Raise InputError, which names `place` and field, for a plan that is damaged or of another run."""

    def check(field: str, value: object, fits: bool, rule: Message) -> None:
        if not fits:
            raise InputError(
                "{place}: {field} is {value!r:.80}, but {rule}; take the file that judge agree --plan-pairs"
                " wrote for this run, or make a new plan",
                place=place,
                field=field,
                value=value,
                rule=rule,
            )

    engines, scale = plan.engines, run.spec.scale
    fits = len(set(engines)) == len(engines) >= 2 and set(engines) <= set(run.dataset.engines)
    check("engines", engines, fits, Message("it must name two or more engines of the run, each once"))
    try:
        measure = parse_measure(plan.measure)
        check_depth([measure], run.pool.depth)
        pair_sampling.compute_rank_weights(measure, run.pool.depth, 0)
        pair_sampling.compute_unit_gains(measure, scale)
    except InputError as error:
        check("measure", plan.measure, False, error.message)
    lists = _hash_lists(run, engines, measure)
    check("lists", plan.lists, plan.lists == lists, Message("the lists of the run have {lists}", lists=lists))
    queries = _order_engines(run, engines, measure)[2]
    check("queries", plan.queries, plan.queries == queries, Message("the run has others"))
    fits = len(plan.means) == len(engines) and all(map(isfinite, plan.means))
    check("means", plan.means, fits, Message("each engine has a number"))
    expected = _weigh_pairs(run, engines, measure, queries, plan.seed, select_labellable(run.pool))
    units, are_close = len(plan.units), partial(isclose, rel_tol=1e-9, abs_tol=1e-8)
    check("units", units, units == len(expected), Message("the run gives another number"))
    for number, (unit, (key, own)) in enumerate(zip(plan.units, expected.items(), strict=True)):
        name = f"units[{number}]"
        check(name, unit.key, unit.key == key, Message("the run has another pair there"))
        weights = tuple(own.tolist())
        fits = len(unit.weights) == own.size and all(map(are_close, unit.weights, weights))
        rule = Message("the lists give {weights}", weights=weights)
        check(f"{name}.weights", unit.weights, fits, rule)
        fits = unit.grade is None or 0 <= unit.grade <= scale.top
        check(f"{name}.grade", unit.grade, fits, Message("grades are from 0 to {top}", top=scale.top))
        fits = _MIN_PROBABILITY <= unit.probability <= 1
        check(f"{name}.probability", unit.probability, fits, Message("it is above 0 and at most 1"))
    drawn = len(plan.drawn)
    check("labels", plan.labels, 0 < drawn == plan.labels, Message("{drawn:,} units are drawn", drawn=drawn))
    fits = 1 <= plan.rounds <= MAX_ROUNDS
    check("rounds", plan.rounds, fits, Message("it is from 1 to {most}", most=MAX_ROUNDS))


def number_queries(pairs: Iterable[PairKey], queries: Sequence[str]) -> Ints:
    """Return the (pairs,) places of their queries."""
    position = {query_id: number for number, query_id in enumerate(queries)}
    return np.array([position[query_id] for query_id, _ in pairs], np.int64)


def group_grades(grades: Iterable[int | None], scale: Scale) -> Ints:
    """Return the (pairs,) `grades` of the assessor, the number of grades where there is none."""
    return np.array([scale.top + 1 if grade is None else grade for grade in grades], np.int64)


def _hash_lists(run: JudgedRun, engines: Sequence[str], measure: Measure) -> str:
    """Return a hash of what the weights depend on: the lists of the engines down to the cutoff."""
    cutoff = measure.choose_cutoff(run.pool.depth)
    lists = sorted(
        (ranking.engine, ranking.query_id, ranking.error is not None, list_firsts(ranking)[:cutoff])
        for ranking in run.dataset.rankings
        if ranking.engine in engines
    )
    return hashlib.sha256(json.dumps(lists).encode()).hexdigest()[:16]
