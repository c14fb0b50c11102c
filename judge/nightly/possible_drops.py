"""Possible drops: which engines may have become worse on a night whose assessor changed.

Grades of two assessors are not comparable, so the lists of both nights are scored with the grades of this
night. What remains of a change is the engine's: an engine with the same lists has a corrected change of
exactly 0.
"""

from collections.abc import Collection, Iterator, Sequence
from dataclasses import replace
from itertools import cycle

from judge.analysis.judged_run import JudgedRun
from judge.config.nightly import NightlyConfig
from judge.flags import LABEL
from judge.measure.measures import parse_measure
from judge.messages import Message
from judge.nightly.record import RegressionOutcome
from judge.nightly.regression_test import combine_with_baseline, run_regression_test
from judge.records import Judgment


def find_possible_drops(
    tonight: JudgedRun,
    baseline: JudgedRun,
    outcomes: Sequence[RegressionOutcome],
    unavailable: Collection[str],
    options: NightlyConfig,
) -> Iterator[str]:
    """Yield the engines whose corrected drop exceeds what the regression test detects.

    `outcomes` are those of the regression test with the grades of both nights. Nothing without an engine of
    both nights, and without a pair that was graded on both.
    """
    judgments = regrade(baseline.judgments, tonight.judgments)
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


def regrade(baseline: Sequence[Judgment], tonight: Sequence[Judgment]) -> list[Judgment]:
    """Return the judgments of the baseline with the grades of tonight; [] where no pair has both.

    A pair that was not judged tonight gets the grade of one that was and had its grade at the baseline: each
    of these in turn, so that such pairs have about the same mean. Labels of people do not change.
    """
    judged = {(*judgment.key, judgment.repeat): judgment for judgment in tonight}
    new_grades: dict[int | None, list[int]] = {}
    for judgment in baseline:
        now = judged.get((*judgment.key, judgment.repeat))
        if now and now.grade is not None and judgment.grade is not None and LABEL not in judgment.flags:
            new_grades.setdefault(judgment.grade, []).append(now.grade)
    if not new_grades:
        return []
    in_turn = {grade: cycle(grades) for grade, grades in new_grades.items()}
    regraded = []
    for judgment in baseline:
        now = judged.get((*judgment.key, judgment.repeat))
        if now is None and judgment.grade in in_turn and LABEL not in judgment.flags:
            now = replace(judgment, grade=next(in_turn[judgment.grade]))
        regraded.append(now or judgment)
    return regraded
