"""Whether a run is complete: enough pairs have a grade, and enough questions besides an answer."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterable, Sequence
from dataclasses import replace
from pathlib import Path
from typing import TYPE_CHECKING

from judge.analysis.failure_advice import (
    NEXT_STEPS,
    RunKind,
    advise_on_failures,
    advise_on_finished_run,
    count_missing_grades,
    describe_shortfall,
    name_failure,
)
from judge.analysis.summary import Summary
from judge.errors import RUN_AGAIN, CallError, JudgeError, LimitReached, RunIncomplete
from judge.flags import UNKNOWN_TEXT
from judge.messages import BilingualMessage, Message, NameList, join_messages
from judge.records import CONTENT_FILTER, Judgment, PairKey

if TYPE_CHECKING:  # it imports what asks models
    from judge.assess.judging import JudgingResult
    from judge.assess.question_assessor import DimensionQuestions, QuestionAsker

#: Why there is nothing to judge where no engine has answered, and what to do.
NO_RESULT = Message(
    "there is nothing to judge: the dataset has errors of engines and no result; collect the results again"
)
#: Errors of a question that has them again when the same command runs again.
_FINAL = frozenset({CONTENT_FILTER, "too_long"})


def check_run(
    summary: Summary,
    judging: JudgingResult,
    asker: QuestionAsker,
    min_coverage: float,
    kind: RunKind,
    controls: Collection[PairKey],
) -> tuple[RunIncomplete | None, list[str]]:
    """Return why a run is incomplete, None when it is complete, and warnings about what is missing in it.

    `asker` has asked the questions of dimensions; `min_coverage` is the share of pairs, and of the questions
    of each dimension, that a complete run has. The `controls` are judged too, and count in neither.
    """
    warnings: list[str] = []
    total = len(judging.judgments) - len(controls) * summary.repeats * max(1, len(summary.members))
    judging = replace(judging, failures=[each for each in judging.failures if each.key not in controls])
    incomplete = _check_pairs(summary, judging, total, min_coverage, kind)
    if incomplete is None and asker.stopped is not None:
        message = Message(
            "the pairs are judged, but not all questions of the dimensions are answered: {reason}",
            reason=explain_stop(asker.stopped, kind),
        )
        incomplete = _make_incomplete(asker.stopped, message)
    # The summary has its own warning about texts that cannot be read, for which no assessor was asked.
    failed = [judgment for judgment in judging.failures if judgment.detail and not judgment.is_by_rule]
    if incomplete is None and failed:
        # The summary counts the failures by kind, but does not have their messages.
        _, detail = _count_kinds(failed)
        warnings.append(
            Message("not every judgment has a grade; the most frequent error: {detail}", detail=detail)
        )
    for dimension, questions in asker.questions.items():
        incomplete = incomplete or check_answers(dimension, questions, min_coverage, kind)
        if incomplete is None and questions.failures:
            warnings.append(describe_unanswered_questions(dimension, questions))
    return incomplete, warnings


def _check_pairs(
    summary: Summary, judging: JudgingResult, total: int, min_coverage: float, kind: RunKind
) -> RunIncomplete | None:
    """Return why a run is incomplete and what to do, None when enough of the `total` pairs are judged."""
    of_assessor = summary.judgments - summary.labelled
    if judging.stopped is not None:
        wanted, judged = of_assessor, summary.judged - summary.labelled
        if summary.members:
            wanted *= len(summary.members)
            judged = sum(member.judged for member in summary.members)
        message = Message(
            "stopped before all controls were judged: {reason}"
            if judged == wanted
            else "stopped with {missing:,} of {total:,} unjudged: {reason}",
            missing=wanted - judged,
            total=wanted,
            reason=explain_stop(judging.stopped, kind),
        )
        return _make_incomplete(judging.stopped, message)
    if not summary.judgments and any(engine.errors for engine in summary.engines.values()):
        return RunIncomplete(NO_RESULT)
    shortfall, failures = describe_shortfall(summary, min_coverage), judging.failures
    if shortfall is None:
        return None
    if member := summary.find_incomplete_member(min_coverage):
        total = of_assessor
        # A pair without a text is the same failure of every member.
        by_pair = {
            (failure.key, failure.repeat): failure
            for failure in failures
            if failure.assessor == member.name or failure.error in UNKNOWN_TEXT
        }
        failures = list(by_pair.values())
    return RunIncomplete(
        "{shortfall}{failures}; {advice}",
        shortfall=shortfall,
        failures=describe_failures(failures, total),
        advice=advise_on_failed_pairs(failures, kind),
    )


def explain_stop(reason: JudgeError, kind: RunKind = "run") -> Message:
    """Return why the judging stopped, and what to do then."""
    again = NEXT_STEPS[kind].again
    if isinstance(reason, CallError):  # other messages say how to continue
        return Message(
            "{reason}; correct this, then {again}: all judgments are saved", reason=reason, again=again
        )
    return reason.message.replace_value("again", again)


def _make_incomplete(reason: JudgeError, message: Message) -> RunIncomplete:
    return (LimitReached if isinstance(reason, LimitReached) else RunIncomplete)(message)


def check_answers(
    dimension: str, questions: DimensionQuestions, min_coverage: float, kind: RunKind = "run"
) -> RunIncomplete | None:
    """Return why the questions of a dimension have too few answers, None when they have enough."""
    if questions.count - len(questions.failures) >= min_coverage * questions.count:
        return None
    return RunIncomplete(
        "{unanswered}, and --min-coverage is {min_coverage:.0%}; {advice}",
        unanswered=_describe_unanswered(dimension, questions),
        advice=advise_on_failed_pairs(questions.failures, kind),
        min_coverage=min_coverage,
    )


def describe_unanswered_questions(dimension: str, questions: DimensionQuestions) -> Message:
    """Return how many questions of a dimension have no answer, and why, where enough of them have one."""
    unanswered = _describe_unanswered(dimension, questions)
    if {failure.error for failure in questions.failures} <= _FINAL:
        return unanswered
    return join_messages([unanswered, Message("{again} to get the rest", again=RUN_AGAIN)])


def _describe_unanswered(dimension: str, questions: DimensionQuestions) -> Message:
    return Message(
        "{dimension}: not every question has an answer{failures}",
        dimension=Message(dimension),
        failures=describe_failures(questions.failures, questions.count),
    )


def advise_on_failed_pairs(failures: Iterable[Judgment], kind: RunKind = "run") -> Message:
    """Return what the user can do to get grades for the pairs that have none."""
    return advise_on_failures(Counter(str(judgment.error) for judgment in failures), NEXT_STEPS[kind])


def describe_failures(judgments: Iterable[Judgment], total: int) -> str:
    """Return how many of `total` failed, the error kinds, and the most frequent message; empty if none."""
    failed = [judgment for judgment in judgments if judgment.detail]
    if not failed:
        return ""
    kinds, detail = _count_kinds(failed)
    return Message(
        " ({count:,} of {total:,} failed: {kind}: {detail})"
        if len(kinds) == 1
        else " ({count:,} of {total:,} failed: {kinds}; most often: {detail})",
        count=len(failed),
        total=total,
        kind=name_failure(kinds[0][0]),
        kinds=NameList(count_missing_grades(len(failed), dict(kinds))),
        detail=detail,
    )


def _count_kinds(failed: Sequence[Judgment]) -> tuple[list[tuple[str, int]], Message]:
    """Count the error kinds, most frequent first, and return them with the main message of the first one."""
    kinds = Counter(str(judgment.error) for judgment in failed).most_common()
    details = Counter(judgment.detail for judgment in failed if str(judgment.error) == kinds[0][0])
    return kinds, Message(max(details, key=details.__getitem__))


def check_finished_run(run: Path, summary: Summary, min_coverage: float) -> RunIncomplete | None:
    """Return why the finished run in a folder is incomplete and what to do, None when it is complete.

    It is complete when the judging did not stop and the share of graded pairs is at least `min_coverage`,
    that of each member of a panel, too.
    """
    try:
        check_grades(run, summary)
    except RunIncomplete as error:
        return error
    shortfall = describe_shortfall(summary, min_coverage)
    if not summary.judgments or not (summary.stopped or shortfall):
        return None
    reason = _explain_missing_grades(summary)
    if shortfall and reason:
        reason = Message("{name}: {value}", name=shortfall, value=reason)
    return RunIncomplete(
        "{run}: {reason}; {advice}",
        run=run,
        reason=reason or shortfall,
        advice=advise_on_finished_run(summary),
    )


def check_grades(place: str | Path, summary: Summary) -> None:
    """Raise RunIncomplete when no judgment of the run at `place` has a grade: it says why, and what to do."""
    if not summary.judgments or summary.judged:
        return
    raise RunIncomplete(
        "{run}: no judgment has a grade (0 of {count:,}), so no engine has a value: {reason}; {advice}",
        run=place,
        count=summary.judgments,
        reason=_explain_missing_grades(summary),
        advice=advise_on_finished_run(summary),
    )


def _explain_missing_grades(summary: Summary) -> Message | None:
    """Return why judgments have no grade, None where all have one."""
    if summary.stopped:
        return Message("the judging stopped: {reason}", reason=BilingualMessage(summary.stopped))
    missing = summary.judgments - summary.judged
    return NameList(count_missing_grades(missing, summary.failures)) if missing else None
