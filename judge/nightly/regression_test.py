"""The regression test: which engines became worse than they were at the baseline, by more than chance.

This night's run and the baseline are scored on one pool, on the queries that both ask. The unit is the query,
always paired: an engine tonight is compared with itself at the baseline on the queries that have a value
for both. The test is one-sided: it looks for a drop; a rise is reported and is never an alarm. All engines
and measures are one family (Holm), so `alpha` is the probability of an alarm on a night of chance alone.

On a night whose assessor changed, the grades of both nights are not comparable, so the lists of both nights
are scored with the grades of this night. What remains of a change is the engine's: an engine with the same
lists has a corrected change of exactly 0. A drop is then a possible one.
"""

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import cycle
from math import ceil, sqrt

import numpy as np

from judge.analysis.combine_runs import CombinedRuns, combine_runs
from judge.analysis.judged_run import JudgedRun, score_run
from judge.characters import make_natural_key
from judge.config.nightly import NightlyConfig
from judge.flags import LABEL
from judge.measure.measures import Measure, parse_measure
from judge.measure.numeric import TIE, Floats, convert_non_finite
from judge.measure.resampling import (
    MIN_DIFFERING,
    RESAMPLES,
    compute_randomisation_interval,
    compute_randomisation_p,
    count_fewest_queries,
    holm,
)
from judge.measure.score import Scores, compute_bounded_mean
from judge.messages import Message, NameList
from judge.nightly.dataset_changes import find_shared_query_ids
from judge.nightly.record import OutcomeName, RegressionOutcome
from judge.records import Judgment

_Outcomes = Sequence[RegressionOutcome]
#: The probability with which a drop of the size `detectable` is found.
_POWER = 0.8
_BASELINE, _TONIGHT = "baseline", "tonight"


def combine_with_baseline(
    tonight: JudgedRun, baseline: JudgedRun, measures: tuple[Measure, ...]
) -> CombinedRuns:
    """Return both runs on one pool and on the queries that both ask, to be scored by `measures`."""
    ids = find_shared_query_ids(tonight.dataset.queries, baseline.dataset.queries)

    def restrict(run: JudgedRun) -> JudgedRun:
        queries = {id_: query for id_, query in run.dataset.queries.items() if id_ in ids}
        spec = replace(run.spec, measures=measures)
        return replace(run, dataset=replace(run.dataset, queries=queries), spec=spec)

    return combine_runs({_BASELINE: restrict(baseline), _TONIGHT: restrict(tonight)})


def run_regression_test(
    combined: CombinedRuns, unavailable: Collection[str], options: NightlyConfig
) -> _Outcomes:
    """Return the outcomes, engine by engine, for the engines that both runs have.

    Engines that are `unavailable` tonight are not tested.
    """
    sides = _pair_engines(combined)
    if not sides:
        return ()
    scores = score_run(combined.run, combined.run.spec.measures)
    return decide_outcomes(measure_changes(scores, sides, options.alpha), unavailable, options)


def describe_comparison(combined: CombinedRuns, outcomes: _Outcomes, options: NightlyConfig) -> Iterator[str]:
    """Yield what made both runs comparable, and what the test could not find."""
    yield from combined.remarks
    if not _pair_engines(combined):
        yield Message("no engine is in the baseline and in this night's dataset")
    before = {engine for run, engine in combined.names if run == _BASELINE}
    if new := sorted({engine for _, engine in combined.names} - before, key=make_natural_key):
        yield Message("not in the baseline, so not compared: {engines}", engines=NameList(new))
    yield from warn_of_too_few_queries(outcomes, options.alpha)
    yield from warn_of_hidden_drops(outcomes, options.min_drop)


def _pair_engines(combined: CombinedRuns) -> dict[str, tuple[str, str]]:
    """Return the names of each engine of both runs among the combined ones: (at the baseline, tonight)."""
    names, engines = combined.names, set(combined.run.dataset.engines)
    both = sorted(engine for run, engine in names if run == _BASELINE and (_TONIGHT, engine) in names)
    sides = {engine: (names[_BASELINE, engine], names[_TONIGHT, engine]) for engine in both}
    return {engine: two for engine, two in sides.items() if engines.issuperset(two)}


def decide_outcomes(changes: _Outcomes, unavailable: Collection[str], options: NightlyConfig) -> _Outcomes:
    """Return the outcomes of the changes, in the same order.

    A drop is a regression when it is significant at `options.alpha` over all tests, is at least
    `options.min_drop`, and no grades of unjudged snippets could reverse it; else it is incomplete. Changes
    of `unavailable` engines are not tested.
    """
    tested = [change.p is not None and change.engine not in unavailable for change in changes]
    p = np.array([change.p if test else np.nan for change, test in zip(changes, tested, strict=True)], float)
    # Holm's procedure asks this level of the smallest p.
    level = options.alpha / max(1, sum(tested))
    outcomes = []
    for change, test, drop, rise in zip(changes, tested, holm(p), holm(1 - p), strict=True):
        outcome = _decide_outcome(change, float(drop), float(rise), options)
        p_value, adjusted = change.p, None if np.isnan(drop) else float(drop)
        if outcome == "improvement" and p_value is not None:
            p_value, adjusted = 1 - p_value, float(rise)
        detectable = compute_detectable_drop(change, level, options.min_drop) if test else None
        outcomes.append(replace(change, p=p_value, p_holm=adjusted, outcome=outcome, detectable=detectable))
    return tuple(outcomes)


def compute_detectable_drop(change: RegressionOutcome, level: float, min_drop: float) -> float | None:
    """Return the smallest true drop that the one-sided test at `level` finds with a probability of 80%.

    t(.8) sd / sqrt(n) more than the smallest drop that counts: t(1 - level) sd / sqrt(n), or `min_drop` where
    that is larger; both quantiles with n - 1 degrees of freedom (Cohen 1988). That is for a drop of about the
    same size on every query. None where the standard deviation is unknown, and where no drop on so few
    queries is significant.
    """
    from scipy.special import stdtrit

    if change.sd is None or 0.5**change.n >= level:
        return None
    freedom = change.n - 1
    error = change.sd / sqrt(change.n)
    smallest = max(min_drop, float(stdtrit(freedom, 1 - level)) * error)
    return smallest + float(stdtrit(freedom, _POWER)) * error


def _decide_outcome(
    change: RegressionOutcome, p_drop: float, p_rise: float, options: NightlyConfig
) -> OutcomeName:
    difference, lowest, highest = change.change, change.least, change.most
    if np.isnan(p_drop) or difference is None or lowest is None or highest is None:
        return "incomplete"
    if p_drop < options.alpha and difference <= -options.min_drop:
        return "regression" if highest < 0 else "incomplete"
    if p_rise < options.alpha and difference >= options.min_drop and lowest > 0:
        return "improvement"
    return "fine"


def warn_of_too_few_queries(outcomes: _Outcomes, alpha: float) -> Iterator[str]:
    """Yield a warning where even a drop on all queries is not significant."""
    tested = [outcome.n for outcome in outcomes if outcome.p_holm is not None]
    if tested and min(tested) < (needed := count_fewest_queries(len(tested), alpha)):
        yield Message(
            "no drop can be significant: {queries:,} queries are compared; {comparisons:,} comparisons at"
            " alpha {alpha:g} need {needed:,}",
            queries=min(tested),
            comparisons=len(tested),
            alpha=alpha,
            needed=needed,
        )


def warn_of_hidden_drops(outcomes: _Outcomes, min_drop: float) -> Iterator[str]:
    """Yield the fine outcomes where grades of unjudged snippets could hide a drop of `min_drop` or more."""
    for outcome in outcomes:
        difference, lowest = outcome.change, outcome.least
        if outcome.outcome != "fine" or difference is None or lowest is None:
            continue
        if lowest <= -min_drop and difference - lowest >= min_drop > 0:
            yield Message(
                "{outcome.engine}: unjudged snippets could hide a drop of up to {drop:.3f} by"
                " {outcome.mean_name}",
                outcome=outcome,
                drop=-lowest,
            )


def compute_one_sided_p(p: float | None, change: float | None) -> float | None:
    """Return the probability of a drop like `change`, from the two-sided `p`.

    Signs are flipped at random, so both directions are equally likely and the two-sided p is halved.
    """
    if p is None or change is None:
        return None
    return p / 2 if change < 0 else 1 - p / 2


def measure_changes(
    scores: Scores, sides: Mapping[str, tuple[str, str]], alpha: float
) -> tuple[RegressionOutcome, ...]:
    """Return one change per engine and measure, in their order; each is "incomplete" until it is decided.

    `sides` gives the names of each engine in `scores`: at the baseline and tonight. There are enough
    resamples for a p that passes Holm's first step at `alpha`.
    """
    resamples = max(RESAMPLES, ceil(len(sides) * len(scores.measures) / alpha))
    value = scores.average_repeats()
    before, now = np.array([[scores.engines.index(name) for name in names] for names in sides.values()]).T
    ranges = [
        np.stack(
            compute_bounded_mean(
                value[now, :, column] - value[before, :, column],
                *scores.bound_differences(now, before, column),
            )
        )
        for column in range(len(scores.measures))
    ]
    return tuple(
        _measure_change(
            engine, str(measure), value[[before[row], now[row]], :, column], ranges[column][:, row], resamples
        )
        for row, engine in enumerate(sides)
        for column, measure in enumerate(scores.measures)
    )


def _measure_change(
    engine: str, measure: str, values: Floats, ends: Floats, resamples: int
) -> RegressionOutcome:
    """Return the change of an engine from (2, queries) values, at the baseline and tonight.

    `ends` has the mean difference with its lowest and its highest value.
    """
    change, lowest, highest = map(convert_non_finite, ends)
    both = values[:, ~np.isnan(values).any(0)]
    differences = both[1] - both[0]
    (p,) = compute_randomisation_p(differences[:, None], resamples=resamples)
    is_testable = (np.abs(differences) > TIE).sum() >= MIN_DIFFERING
    interval = None
    # With fewer differing queries, and where all differ by the same, an interval would seem too sure.
    if is_testable and np.ptp(differences) > TIE:
        interval = compute_randomisation_interval(differences, resamples=resamples)
    low, high = interval or (None, None)
    return RegressionOutcome(
        engine=engine,
        measure=measure,
        n=len(differences),
        baseline=float(both[0].mean()) if both.size else None,
        tonight=float(both[1].mean()) if both.size else None,
        change=change,
        low=low,
        high=high,
        least=lowest,
        most=highest,
        p=compute_one_sided_p(None if np.isnan(p) else float(p), change),
        sd=float(differences.std(ddof=1)) if is_testable else None,
        outcome="incomplete",
    )


def find_possible_drops(
    tonight: JudgedRun,
    baseline: JudgedRun,
    outcomes: _Outcomes,
    unavailable: Collection[str],
    options: NightlyConfig,
) -> Iterator[str]:
    """Yield the engines whose corrected drop exceeds what the regression test detects.

    `outcomes` are those of the regression test with the grades of both nights. Nothing without an engine of
    both nights, and without a pair that was graded on both.
    """
    judgments = transfer_grades(baseline.judgments, tonight.judgments)
    if not (outcomes and judgments):
        return
    measures = tuple(dict.fromkeys(parse_measure(outcome.measure) for outcome in outcomes))
    combined = combine_with_baseline(tonight, replace(baseline, judgments=judgments), measures)
    corrected = {
        (outcome.engine, outcome.measure): outcome
        for outcome in run_regression_test(combined, unavailable, options)
    }
    for outcome in outcomes:
        drop = corrected.get((outcome.engine, outcome.measure))
        if outcome.change is None or drop is None or drop.change is None or drop.detectable is None:
            continue
        if drop.change < -drop.detectable:
            yield Message(
                "possible: {outcome.engine} became worse: {outcome.mean_name} {outcome.change:+.3f},"
                " corrected {drop.change:+.3f} (other grades of the same pairs alone change it by {by:+.3f});"
                " this assessor's grades cannot prove it",
                outcome=outcome,
                drop=drop,
                by=outcome.change - drop.change,
            )


def transfer_grades(baseline: Sequence[Judgment], tonight: Sequence[Judgment]) -> list[Judgment]:
    """Return the judgments of the baseline with the grades of tonight; [] where no pair has both.

    A pair that was not judged tonight gets the grade of a pair that was judged and had the same grade at the
    baseline. Each of these is taken in turn, so that such pairs have about the same mean. Labels of people do
    not change.
    """
    tonight_by_key = {(*judgment.key, judgment.repeat): judgment for judgment in tonight}
    both = [(judgment, tonight_by_key.get((*judgment.key, judgment.repeat))) for judgment in baseline]
    new_grades: dict[int | None, list[int]] = {}
    for judgment, now in both:
        if now and now.grade is not None and judgment.grade is not None and LABEL not in judgment.flags:
            new_grades.setdefault(judgment.grade, []).append(now.grade)
    if not new_grades:
        return []
    in_turn = {grade: cycle(grades) for grade, grades in new_grades.items()}
    regraded = []
    for judgment, now in both:
        if now is None and judgment.grade in in_turn and LABEL not in judgment.flags:
            now = replace(judgment, grade=next(in_turn[judgment.grade]))
        regraded.append(now or judgment)
    return regraded
