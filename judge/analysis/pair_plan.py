"""Plans of pairs to label, drawn where they decide the order of engines, and the order that labels give.

The engine with the highest mean by the assessor's grades is compared with each of the others. A plan holds
all that the estimate needs except the labels, so it is fixed before the first label is given.
"""

from __future__ import annotations

import hashlib
import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Literal

import numpy as np

from judge.analysis.label_agreement import HumanLabels
from judge.analysis.loaded_run import LoadedRun
from judge.analysis.summary import SCHEMA_VERSION
from judge.dataset.labels import select_labellable
from judge.dataset.validation import short_hash
from judge.errors import InputError
from judge.measure.agreement import median_grades
from judge.measure.formulas import Bools, Floats, Ints
from judge.measure.measures import Measure, check_depth, parse_measure
from judge.measure.pair_sampling import (
    EstimatedDifference,
    LabelledDraw,
    compute_probabilities,
    compute_rank_weights,
    compute_sizes,
    compute_unit_gains,
    count_needed_labels,
    draw_units,
    estimate_difference,
    expect_half_width,
    predict_gains,
)
from judge.measure.ppi import ALPHA, MIN_DIFFERENT, CorrectedOutcome, decide_order, draw_queries_to_label
from judge.measure.resampling import Interval, holm
from judge.measure.score import score_rankings
from judge.messages import Message, join_messages
from judge.records import Pool, Ranking, Scale

#: A plan needs this many pairs, and a decision as many labels or nine tenths of the plan; with fewer than
#: `ENOUGH_LABELS` there is a warning.
MIN_LABELS = 50
ENOUGH_LABELS = 100

_Key = tuple[str, str]


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


@dataclass(frozen=True, slots=True)
class PairPlan:
    """Pairs drawn to compare the first of `engines` with each of the others by `measure`.

    `means` are the engines' by the assessor's grades, over `queries`: those on which all of them answered.
    `lists` is a hash of the lists, `labels` the number of drawn pairs, `half_width` the 95 % one to expect
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
    def drawn(self) -> tuple[_Key, ...]:
        """Return the (query_id, snippet_id) of the pairs to label, in the order of the draw."""
        return tuple((unit.query_id, unit.snippet_id) for unit in self.units if unit.drawn)


@dataclass(frozen=True, slots=True)
class PlannedDifference:
    """The mean difference a - b by the assessor's grades, and as people would have it.

    `bounds` are the differences over all grades of the drawn pairs without a label, which are `unlabelled`.
    `ci95` includes them; of several comparisons its level is the one that Holm's procedure asks, so it
    excludes 0 exactly when `p_adjusted` is below 0.05 divided by the rounds. It is None with too few labels.
    """

    a: str
    b: str
    assessor: float
    difference: float
    bounds: Interval
    ci95: Interval | None
    p: float | None
    p_adjusted: float | None
    labelled: int
    unlabelled: int
    outcome: CorrectedOutcome


@dataclass(frozen=True, slots=True)
class PlannedComparison:
    """The order of engines on all `queries`, by `labels` on drawn pairs: the record of labelled_order.json.

    `grades` names the grades of the run that the means by the assessor are computed from.
    """

    schema: Literal[2]
    measure: str
    queries: int
    labels: int
    comparisons: tuple[PlannedDifference, ...]
    warnings: tuple[str, ...]
    grades: str | None = None


@dataclass(frozen=True, slots=True)
class DrawSize:
    """How many pairs to draw: `labels`, or None for as many as an interval of `half_width` needs."""

    labels: int | None
    half_width: float | None = None
    seed: int = 0
    rounds: int = 1


def plan_pairs(run: LoadedRun, engines: Sequence[str], measure: Measure, size: DrawSize) -> PairPlan:
    """Return the plan of pairs to label, to compare `engines` (none: all of the run) by `measure`.

    Raise InputError for an unknown engine, a measure that is no sum over ranks, and a size that cannot be.
    """
    ordered, means, queries = _order_engines(run, engines, measure)
    units = _weigh_pairs(run, ordered, measure, queries, size.seed)
    scale = run.spec.scale
    if not units:
        raise InputError("the lists of {engines} are equal: no label changes it", engines=_join(ordered))
    weights = np.array([unit.weights for unit in units])
    group = _group_grades(units, scale)
    mean, sd = (values[group] for values in predict_gains(compute_unit_gains(measure, scale), scale.name))
    sizes = compute_sizes(weights, sd)
    position = {query_id: number for number, query_id in enumerate(queries)}
    query = np.array([position[unit.query_id] for unit in units])
    sides = [(query, len(queries), column * mean, column * sd) for column in weights.T]
    count = size.labels
    if count is None:
        count = max(count_needed_labels(size.half_width or 0.0, *side, sizes) for side in sides)
        count = min(max(count, MIN_LABELS), len(units))
    if count < min(MIN_LABELS, len(units)):
        raise InputError(
            "a plan of {count} pairs is too small; draw {least} or more ({enough} are better)",
            count=count,
            least=min(MIN_LABELS, len(units)),
            enough=ENOUGH_LABELS,
        )
    probability = compute_probabilities(sizes, count)
    drawn = draw_units(probability, float(np.random.default_rng(size.seed).random()))
    return PairPlan(
        schema=1,
        measure=str(measure),
        engines=ordered,
        means=means,
        queries=queries,
        lists=_hash_lists(run, ordered, measure),
        seed=size.seed,
        rounds=size.rounds,
        labels=int(drawn.sum()),
        half_width=max(expect_half_width(*side, probability) for side in sides),
        units=tuple(
            replace(unit, probability=float(chance), drawn=bool(is_drawn))
            for unit, chance, is_drawn in zip(units, probability, drawn, strict=True)
        ),
    )


def decide_planned_order(run: LoadedRun, plans: Sequence[PairPlan], people: HumanLabels) -> PlannedComparison:
    """Return the order of the engines by people's labels of the pairs that the `plans` drew.

    Several plans are rounds of one: their seeds differ. Raise InputError where plans and run do not fit,
    or too few pairs are labelled.
    """
    first = plans[0]
    measure = parse_measure(first.measure)
    _check_plans(run, plans, measure)
    drawn = {key for plan in plans for key in plan.drawn}
    labelled = drawn & people.grades.keys()
    least = min(MIN_LABELS, -(-9 * len(drawn) // 10))
    if len(labelled) < least:
        raise InputError(
            "{labelled} of {drawn} drawn pairs have a label, and an interval needs {least}; label the others",
            labelled=len(labelled),
            drawn=len(drawn),
            least=least,
        )
    draws = [_make_draw(run, plans, people, measure, number) for number in range(len(first.engines) - 1)]
    rounds = max(first.rounds, len(plans))
    comparisons = _compare(first, [(draw, estimate_difference(draw)) for draw in draws], ALPHA / rounds)
    warnings = tuple(_warn(plans, len(labelled), len(drawn)))
    return PlannedComparison(
        SCHEMA_VERSION, first.measure, len(first.queries), len(labelled), comparisons, warnings
    )


def _warn(plans: Sequence[PairPlan], labelled: int, drawn: int) -> list[str]:
    warnings: list[str] = []
    if labelled < ENOUGH_LABELS and labelled < len(plans[0].units):
        warnings.append(
            Message(
                "with fewer than {enough} labels intervals can be a little too narrow: draw more with another"
                " --seed",
                enough=ENOUGH_LABELS,
            )
        )
    if labelled < drawn:
        warnings.append(
            Message(
                "{count:,} drawn pairs have no label and may have any grade, which widens the intervals:"
                " label them, or ask another person",
                count=drawn - labelled,
            )
        )
    if len(plans) > plans[0].rounds:
        warnings.append(
            Message(
                "the first plan was made for {rounds} of these {plans} rounds; with a look after each one, a"
                " wrong order is more likely than 5 %: make the first plan with --rounds {plans}",
                rounds=plans[0].rounds,
                plans=len(plans),
            )
        )
    return warnings


def _order_engines(
    run: LoadedRun, names: Sequence[str], measure: Measure
) -> tuple[tuple[str, ...], tuple[float, ...], tuple[str, ...]]:
    """Return the engines, best first by the assessor, their means, and the queries of all of them."""
    chosen = tuple(dict.fromkeys(names)) or run.data.engines
    unknown = [name for name in chosen if name not in run.data.engines]
    if unknown or len(chosen) < 2:
        raise InputError(
            "--engines is {names}; name two or more engines of the run: {engines}",
            names=_join(chosen),
            engines=_join(run.data.engines),
        )
    check_depth([measure], run.pool.depth)
    rankings, scale = run.data.rankings, run.spec.scale
    every = score_rankings(
        rankings, run.pool.documents, run.judgments, [measure], scale, depth=run.pool.depth
    )
    scores = every.select_engines(chosen)
    value = scores.average_repeats()[0][..., 0]
    answered: Bools = np.logical_not(scores.coverage.missing.any(axis=0))
    defined: Bools = np.logical_and(answered, ~np.isnan(value).any(axis=0))
    if defined.sum() < 2:
        raise InputError(
            "fewer than 2 queries have a list and a grade from each of {engines}", engines=_join(chosen)
        )
    means = dict(zip(scores.engines, value[:, defined].mean(1).tolist(), strict=True))
    ordered = tuple(sorted(chosen, key=lambda name: (-means[name], name)))
    queries = tuple(name for name, there in zip(scores.queries, answered.tolist(), strict=True) if there)
    return ordered, tuple(means[name] for name in ordered), queries


def _weigh_pairs(
    run: LoadedRun, engines: Sequence[str], measure: Measure, queries: Sequence[str], seed: int
) -> list[PlanUnit]:
    """Return the pairs with a weight, in the order of the draw: by query, so that people read each once."""
    of_rank = compute_rank_weights(measure, run.pool.depth)
    labellable = {(pair.query.id, pair.snippet.id) for pair in select_labellable(run.pool)}
    weights: dict[_Key, Floats] = {}
    for ranking in run.data.rankings:
        if ranking.engine in engines:
            for snippet_id, weight in zip(_list_firsts(ranking, run.pool), of_rank, strict=False):
                key = ranking.query_id, snippet_id
                if key in labellable:
                    of_engine = weights.setdefault(key, np.zeros(len(engines)))
                    of_engine[engines.index(ranking.engine)] += weight
    of_query: dict[str, list[_Key]] = {query_id: [] for query_id in queries}
    for key in weights:
        if key[0] in of_query:
            of_query[key[0]].append(key)
    grades = median_grades(run.judgments)
    units = []
    for query_id in draw_queries_to_label(queries, len(queries), seed):
        for key in sorted(of_query[query_id], key=lambda key: short_hash([str(seed), *key], 16)):
            differences = weights[key][0] - weights[key][1:]
            if differences.any():
                units.append(PlanUnit(*key, grades.get(key), tuple(differences.tolist()), 1.0, False))
    return units


def _list_firsts(ranking: Ranking, pool: Pool) -> list[str]:
    """Return the snippet id at each rank, "" for a document that the list has already shown."""
    documents = pool.documents.get((ranking.engine, ranking.query_id), ())
    return [
        "" if document in documents[:rank] else snippet.id
        for rank, (snippet, document) in enumerate(zip(ranking.snippets, documents, strict=False))
    ]


def _group_grades(units: Sequence[PlanUnit], scale: Scale) -> Ints:
    return np.array([scale.top + 1 if unit.grade is None else unit.grade for unit in units], np.int64)


def _hash_lists(run: LoadedRun, engines: Sequence[str], measure: Measure) -> str:
    """Return a hash of what the weights depend on: the lists of the engines down to the cutoff."""
    cutoff = measure.effective_cutoff(run.pool.depth)
    lists = sorted(
        (each.engine, each.query_id, each.error is not None, _list_firsts(each, run.pool)[:cutoff])
        for each in run.data.rankings
        if each.engine in engines
    )
    return hashlib.sha256(json.dumps(lists).encode()).hexdigest()[:16]


def _check_plans(run: LoadedRun, plans: Sequence[PairPlan], measure: Measure) -> None:
    """Raise InputError where the plans are not of this run, or no rounds of one plan."""
    first = plans[0]
    known = all(engine in run.data.engines for engine in first.engines)
    if not known or _hash_lists(run, first.engines, measure) != first.lists:
        raise InputError("the plan is not about this run: its lists are others; make a new plan")
    seeds = [plan.seed for plan in plans]
    alike = {(plan.measure, plan.engines, plan.queries, plan.lists) for plan in plans}
    if len(alike) > 1 or len(set(seeds)) < len(seeds):
        raise InputError(
            "the plans are no rounds of one: they need the same engines and measure, and different seeds"
            " ({seeds})",
            seeds=", ".join(map(str, seeds)),
        )


def _make_draw(
    run: LoadedRun, plans: Sequence[PairPlan], people: HumanLabels, measure: Measure, number: int
) -> LabelledDraw:
    """Return the units with a weight in comparison `number`, with their labels."""
    first = plans[0]
    units = {(unit.query_id, unit.snippet_id): unit for unit in first.units if unit.weights[number]}
    total = sum(plan.labels for plan in plans)
    inverse, certain = dict.fromkeys(units, 0.0), dict.fromkeys(units, True)
    for plan in plans:
        for unit in plan.units:
            key = unit.query_id, unit.snippet_id
            if key in units:
                inverse[key] += plan.labels / total * unit.drawn / unit.probability
                certain[key] &= unit.probability == 1
    gains = compute_unit_gains(measure, people.scale)
    position: Mapping[str, int] = {query_id: at for at, query_id in enumerate(first.queries)}
    labels = [people.grades.get(key) for key in units]
    return LabelledDraw(
        queries=len(first.queries),
        query=np.array([position[query_id] for query_id, _ in units], np.int64),
        weight=np.array([unit.weights[number] for unit in units.values()]),
        group=_group_grades(tuple(units.values()), run.spec.scale),
        inverse=np.array(list(inverse.values())),
        certain=np.array(list(certain.values()), bool),
        gain=np.array([np.nan if grade is None else gains[grade] for grade in labels]),
        top=float(gains[-1]),
    )


def _compare(
    plan: PairPlan, estimates: Sequence[tuple[LabelledDraw, EstimatedDifference]], alpha: float
) -> tuple[PlannedDifference, ...]:
    """Return the comparisons; Holm's procedure covers all of them."""
    p = np.array([np.nan if (value := each.test()) is None else value for _, each in estimates])
    adjusted = holm(p)
    # Holm compares the smallest p with alpha / m, the next with alpha / (m - 1), and stops at the first that
    # is not below; an interval of that level excludes 0 exactly where its pair is named.
    passed = int((adjusted < alpha).sum())
    tested = int((~np.isnan(p)).sum())
    order = np.argsort(np.argsort(p, kind="stable"))
    comparisons = []
    for number, (draw, estimate) in enumerate(estimates):
        level = 1 - alpha / max(1, tested - min(int(order[number]), passed))
        lead = plan.means[0] - plan.means[number + 1]
        different = len(set(draw.query[draw.labelled].tolist()))
        interval = estimate.make_interval(level) if different >= MIN_DIFFERENT else None
        comparisons.append(
            PlannedDifference(
                a=plan.engines[0],
                b=plan.engines[number + 1],
                assessor=lead,
                difference=estimate.mean,
                bounds=estimate.bounds,
                ci95=interval,
                p=None if interval is None else float(p[number]),
                p_adjusted=None if interval is None else float(adjusted[number]),
                labelled=int(draw.labelled.sum()),
                unlabelled=int(((draw.inverse > 0) & ~draw.labelled).sum()),
                outcome=decide_order(int(np.sign(lead)), interval),
            )
        )
    return tuple(comparisons)


def _join(names: Sequence[str]) -> str:
    return join_messages([repr(name) for name in names], "{left} and {right}")
