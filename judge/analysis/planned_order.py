"""The order of engines by people's labels on the pairs that a plan drew.

The best engine of a plan is chosen by the grades of the same queries, so Holm's procedure (1979) covers all
pairs of its engines. Those that the plan does not compare count as not significant.
"""

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun
from judge.analysis.pair_plan import (
    ENOUGH_LABELS,
    MIN_LABELS,
    PairPlan,
    group_grades,
    number_queries,
    weigh_unknown_texts,
)
from judge.analysis.summary import SCHEMA_VERSION
from judge.dataset.labels import LabelSet
from judge.errors import InputError
from judge.measure.intervals import ALPHA, Interval, make_finite_interval
from judge.measure.measures import Measure, parse_measure
from judge.measure.numeric import Floats
from judge.measure.pair_sampling import (
    EstimatedDifference,
    LabelledDraw,
    compute_unit_gains,
    estimate_difference,
)
from judge.measure.ppi import CorrectedOutcome, decide_corrected_order
from judge.measure.resampling import MIN_DIFFERING, holm
from judge.messages import Message, SeparatedNames
from judge.records import PairKey


@dataclass(frozen=True, slots=True)
class PlannedDifference:
    """The mean difference a - b by the assessor's grades, and by people's.

    `difference` is None where no pair with a weight has a label, and 0 where none has a weight. `bounds` are
    the differences over all grades of the drawn pairs without a label, which are `unlabelled`. `ci95`
    includes them. With several comparisons, its level is that of Holm's procedure, so it excludes 0 exactly
    when `p_adjusted` is below 0.05 divided by the rounds. It is None with too few labels.
    """

    a: str
    b: str
    assessor: float
    difference: float | None
    bounds: Interval | None
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


def decide_planned_order(run: JudgedRun, plans: Sequence[PairPlan], people: LabelSet) -> PlannedComparison:
    """Return the order of the engines by people's labels of the pairs that the `plans` drew.

    The `plans` are of this run (`check_plan`); several are rounds of one: their seeds differ. Raise
    InputError where they are not, or too few pairs are labelled.
    """
    first = plans[0]
    measure = parse_measure(first.measure)
    seeds = {plan.seed for plan in plans}
    alike = {(plan.measure, plan.engines, plan.queries, plan.lists) for plan in plans}
    if len(seeds) < len(plans) or len(alike) > 1:
        raise InputError(
            "the plans are not rounds of one draw: they need the same engines and measure, and different"
            " seeds ({seeds})",
            seeds=SeparatedNames(str(plan.seed) for plan in plans),
        )
    drawn = {key for plan in plans for key in plan.drawn}
    labelled = drawn & people.grades.keys()
    min_labels = min(MIN_LABELS, -(-9 * len(drawn) // 10))
    if len(labelled) < min_labels:
        raise InputError(
            "{labelled} of {drawn} drawn pairs have a label, and an interval needs {min_labels}; label the"
            " others",
            labelled=len(labelled),
            drawn=len(drawn),
            min_labels=min_labels,
        )
    unknown = weigh_unknown_texts(run, first)
    draws = [
        _make_draw(run, plans, unknown, people, measure, number) for number in range(len(first.engines) - 1)
    ]
    rounds = max(first.rounds, len(plans))
    estimates = [(draw, estimate_difference(draw)) for draw in draws]
    comparisons = _compare_engines(first, estimates, ALPHA / rounds)
    open_texts = sum(key not in people.grades for key in unknown)
    warnings = (
        *_iter_warnings(plans, people, len(labelled), len(drawn), open_texts),
        *_explain_open(comparisons, estimates),
    )
    return PlannedComparison(
        SCHEMA_VERSION, first.measure, len(first.queries), len(labelled), comparisons, warnings
    )


def _iter_warnings(
    plans: Sequence[PairPlan], people: LabelSet, labelled: int, drawn: int, unknown: int
) -> Iterator[str]:
    yield from people.warnings
    if labelled < ENOUGH_LABELS and labelled < len(plans[0].units):
        yield Message(
            "with fewer than {enough} labels, intervals can be slightly too narrow: draw more with another"
            " --seed; if you look at the result after each draw, each one, also the first, needs --rounds 2",
            enough=ENOUGH_LABELS,
        )
    if labelled < drawn:
        yield Message(
            "{count:,} drawn pairs have no label and may have any grade, which widens the intervals: label"
            " them, or ask another person",
            count=drawn - labelled,
        )
    if unknown:
        yield Message(
            "pairs that can change the order and whose text is unknown may have any grade, which widens the"
            " intervals: {count:,}",
            count=unknown,
        )
    if people.unmatched:
        query_id, item = people.unmatched[0]
        yield Message(
            "labels that match no pair of this run are ignored: {count:,}, the first is {item!r} of query"
            " {query_id!r}",
            count=len(people.unmatched),
            item=item,
            query_id=query_id,
        )
    if (rounds := max(plans[0].rounds, len(plans))) > 1:
        yield Message(
            "each of {rounds} looks has {alpha:.2%} of the 5%: intervals are {level:.2%} intervals, and an"
            " order is confirmed where p is below {alpha:.4f}",
            rounds=rounds,
            alpha=ALPHA / rounds,
            level=1 - ALPHA / rounds,
        )
    if len(plans) > plans[0].rounds:
        yield Message(
            "the first plan was made for {rounds} of these {plans} rounds; with a look after each one, a"
            " wrong order is more likely than 5%: make the first plan with --rounds {plans}",
            rounds=plans[0].rounds,
            plans=len(plans),
        )


def _explain_open(
    comparisons: Sequence[PlannedDifference], estimates: Sequence[tuple[LabelledDraw, EstimatedDifference]]
) -> Iterator[Message]:
    """Yield why an order is open where that is not the width of an interval which more labels narrow."""
    for row, (draw, estimate) in zip(comparisons, estimates, strict=True):
        if row.outcome == "open" and estimate.different < MIN_DIFFERING:
            yield Message(
                "{a}, {b}: undecided, because people's labels differ on {different:,} queries, and an order"
                " needs {least}",
                a=row.a,
                b=row.b,
                different=estimate.different,
                least=MIN_DIFFERING,
            )
        elif row.outcome == "open" and draw.labelled.all():
            yield Message(
                "{a}, {b}: undecided, although every pair that can change their difference has a label:"
                " only more queries can decide the order",
                a=row.a,
                b=row.b,
            )


def _make_draw(
    run: JudgedRun,
    plans: Sequence[PairPlan],
    unknown: Mapping[PairKey, Floats],
    people: LabelSet,
    measure: Measure,
    number: int,
) -> LabelledDraw:
    """Return the units with a weight in comparison `number`, with their labels.

    Pairs of `unknown` texts, with their weights, are units that are certainly drawn.
    """
    first = plans[0]
    units = {unit.key: unit for unit in first.units if unit.weights[number]}
    weights = {key: unit.weights[number] for key, unit in units.items()}
    weights |= {key: float(own[number]) for key, own in unknown.items() if own[number]}
    total = sum(plan.labels for plan in plans)
    inverse = {key: float(key not in units) for key in weights}
    certain = dict.fromkeys(weights, True)
    for plan in plans:
        for unit in plan.units:
            if unit.key in units:
                inverse[unit.key] += plan.labels / total * unit.drawn / unit.probability
                certain[unit.key] &= unit.probability == 1
    gains = compute_unit_gains(measure, people.scale)
    gains *= compute_unit_gains(measure, run.spec.scale)[-1] / gains[-1]  # the unit of the assessor's means
    labels = [people.grades.get(key) for key in weights]
    by_assessor = [units[key].grade if key in units else None for key in weights]
    return LabelledDraw(
        queries=len(first.queries),
        query=number_queries(weights, first.queries),
        weight=np.array(list(weights.values())),
        group=group_grades(by_assessor, run.spec.scale),
        inverse=np.array(list(inverse.values())),
        certain=np.array(list(certain.values()), bool),
        gain=np.array([np.nan if grade is None else gains[grade] for grade in labels]),
        top=float(gains[-1]),
    )


def _compare_engines(
    plan: PairPlan, estimates: Sequence[tuple[LabelledDraw, EstimatedDifference]], alpha: float
) -> tuple[PlannedDifference, ...]:
    """Return the comparisons; a pair of engines that is not compared, or cannot be tested, has a p of 1."""
    engine_pairs = len(plan.engines) * (len(plan.engines) - 1) // 2
    p = np.ones(engine_pairs)
    p[: len(estimates)] = [estimate.test() for _, estimate in estimates]
    adjusted = holm(p)
    # Holm compares the smallest p with alpha / m, the next with alpha / (m - 1), and stops at the first that
    # is not below. An interval of that level excludes 0 exactly where its pair is named.
    passed = int((adjusted < alpha).sum())
    order = np.argsort(np.argsort(p, kind="stable"))
    comparisons = []
    for number, (draw, estimate) in enumerate(estimates):
        level = 1 - alpha / (engine_pairs - min(int(order[number]), passed))
        lead = plan.means[0] - plan.means[number + 1]
        interval = estimate.make_interval(level)
        comparisons.append(
            PlannedDifference(
                a=plan.engines[0],
                b=plan.engines[number + 1],
                assessor=lead,
                difference=None if np.isnan(estimate.mean) else estimate.mean,
                bounds=make_finite_interval(*estimate.bounds),
                ci95=interval,
                p=None if interval is None else float(p[number]),
                p_adjusted=None if interval is None else float(adjusted[number]),
                labelled=int(draw.labelled.sum()),
                unlabelled=int(((draw.inverse > 0) & ~draw.labelled).sum()),
                outcome=decide_corrected_order(int(np.sign(lead)), interval),
            )
        )
    return tuple(comparisons)
