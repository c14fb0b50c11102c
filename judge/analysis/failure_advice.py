"""Why judgments have no grade, and what a user can do: the one table of advice by the kind of failure."""

from collections.abc import Iterator, Mapping
from typing import Literal, NamedTuple

from judge.analysis.summary import Summary
from judge.errors import JUDGMENT_ERRORS, PARSE_ERROR_KINDS, RUN_AGAIN, ErrorKind
from judge.flags import TEXT_CUT, TEXT_MISSING, UNKNOWN_TEXT
from judge.messages import Message
from judge.records import CONTENT_FILTER

#: What a run judges: the dataset of a user, that of a night, or the canaries of a night.
RunKind = Literal["run", "night", "canaries"]


class NextSteps(NamedTuple):
    """What a user can do in runs of one kind.

    `again` is how to continue the run, `on_change` the step after a change of the dataset or of `max_chars`,
    `on_refusal` that for pairs which the model refuses again.
    """

    again: Message
    on_change: Message
    on_refusal: Message


# The command of a night needs its --date, and is at the end of the reason.
_CONTINUE_NIGHT = Message("continue this night")
#: In nights, another model is assessor drift.
NEXT_STEPS: Mapping[RunKind, NextSteps] = {
    "run": NextSteps(
        RUN_AGAIN, Message("name another --out"), Message("use another model, or lower --min-coverage")
    ),
    "night": NextSteps(_CONTINUE_NIGHT, _CONTINUE_NIGHT, Message("lower --min-coverage")),
    "canaries": NextSteps(_CONTINUE_NIGHT, _CONTINUE_NIGHT, Message("raise max_missing in [nightly]")),
}
#: What to do where all failures are of these kinds; the values are those of `NextSteps`.
_FOR_ALL = (
    ({TEXT_CUT}, Message("raise max_chars and {on_change}: stored judgments are not paid again")),
    (
        UNKNOWN_TEXT,
        Message("add the missing texts to the dataset and {on_change}: stored judgments are not paid again"),
    ),
    ({CONTENT_FILTER}, Message("the refusal of a content filter is final: {on_refusal}")),
    (
        {CONTENT_FILTER, *UNKNOWN_TEXT},
        Message(
            "add the missing texts to the dataset and {on_change}; the refusal of a content filter is final:"
            " {on_refusal}"
        ),
    ),
    ({"truncated"}, Message("raise --max-tokens and {on_change}")),
    ({"bad_request"}, Message("{again} to get the rest; if the server refuses these again, {on_refusal}")),
    (PARSE_ERROR_KINDS, Message("{again} to get the rest; if the model replies so again, {on_refusal}")),
    ({"too_long"}, Message("lower max_chars and {on_change}: stored judgments are not paid again")),
)
#: The same where `count` failures are of this kind.
_FOR_SOME = {
    CONTENT_FILTER: Message(
        "{again} to get the rest, except for {count:,} that a content filter refused: {on_refusal}"
    ),
    TEXT_MISSING: Message(
        "{again} to get the rest, except for {count:,} without a text: add the missing texts to the dataset"
        " and {on_change}"
    ),
    # A filter may have refused the pairs of the members of a panel.
    "no_quorum": Message("{again} to get the rest; the refusals of a content filter are final"),
}


def advise_on_failures(failures: Mapping[str, int], steps: NextSteps, *, waiting: int = 0) -> Message:
    """Return what the user can do to get the missing grades.

    `failures` counts them by kind, besides those that are `waiting` to be judged.
    """
    for kinds, advice in _FOR_ALL:
        if failures and failures.keys() <= kinds and not waiting:
            return Message(advice.template, **steps._asdict())
    for kind, advice in _FOR_SOME.items():
        if kind in failures:
            return Message(advice.template, count=failures[kind], **steps._asdict())
    return Message("{again} to get the rest", again=steps.again)


def advise_on_finished_run(summary: Summary) -> Message:
    """Return what the user can do to get the missing grades of a run."""
    again = Message("run the judge run or judge nightly command of this folder again")
    if summary.stopped:
        return again
    on_change = Message("judge it again (judge run needs another --out)")
    steps = NextSteps(again, on_change, Message("judge them with another model"))
    waiting = summary.judgments - summary.judged - sum(summary.failures.values())
    return advise_on_failures(summary.failures, steps, waiting=waiting)


def name_failure(kind: str) -> Message:
    """Return what a kind of failure means."""
    return JUDGMENT_ERRORS.get(kind) or ErrorKind(kind)


def count_missing_grades(missing: int, failures: Mapping[str, int]) -> Iterator[Message]:
    """Yield each reason why `missing` judgments have no grade, with its number; `failures` are by kind."""
    for kind, count in failures.items():
        yield Message("{name} ({count:,})", name=name_failure(kind), count=count)
    if (waiting := missing - sum(failures.values())) > 0:
        yield Message("{name} ({count:,})", name=Message("not judged yet"), count=waiting)


def describe_shortfall(summary: Summary, min_coverage: float) -> Message | None:
    """Return that less than this share has a grade, also of one member of a panel; None if not."""
    if member := summary.find_incomplete_member(min_coverage):
        return Message(
            "{assessor} made {count:,} of {total:,} judgments, less than --min-coverage {min_coverage:.0%}",
            assessor=member.name,
            count=member.judged,
            total=summary.judgments - summary.labelled,
            min_coverage=min_coverage,
        )
    if summary.coverage < min_coverage:
        return Message(
            "only {coverage:.2%} of the pairs were judged, less than --min-coverage {min_coverage:.0%}",
            coverage=summary.coverage,
            min_coverage=min_coverage,
        )
    return None
