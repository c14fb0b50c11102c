"""The decision of a night: its status and the reasons, from all the evidence.

Evidence that changes the meaning of grades comes first: another assessor, then missing judgments, then
changed queries, then changed engine settings. Only without these is an engine called worse. Pure functions.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace

from judge.messages import CHINESE, Bilingual, Message
from judge.nightly.baseline import SET_BASELINE_COMMAND
from judge.nightly.record import NightRecord, NightState, QueryDrift, RegressionOutcome, Status
from judge.report.display_text import format_p_value, isolate


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a night: sentences for each status, the outcomes of the regression test, and remarks.

    `unavailable` has a sentence for each engine that gave far fewer answers than at the baseline,
    `removed_engines` one for each engine that is only in the baseline. `possible_drops` name engines that may
    have become worse although the assessor changed. `command` continues the night. `to_accept` is the command
    that makes this night the baseline, or what to do where it cannot be it, "" where nothing was judged.
    `query_drift` is None where nothing was compared. `are_settings_changed` says whether the assessor is
    configured differently than at the baseline. `suspect_store` is the shared store where the verdicts show
    another assessor and the canaries do not, else "". `is_stopped` says whether the night ended after the
    canaries, which show drift.
    """

    has_baseline: bool
    command: str = ""
    to_accept: str = SET_BASELINE_COMMAND
    assessor_changes: Sequence[str] = ()
    missing: Sequence[str] = ()
    query_changes: Sequence[str] = ()
    engine_setting_changes: Sequence[str] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    removed_engines: Sequence[str] = ()
    outcomes: Sequence[RegressionOutcome] = ()
    possible_drops: Sequence[str] = ()
    query_drift: QueryDrift | None = None
    remarks: Sequence[str] = ()
    are_settings_changed: bool = False
    suspect_store: str = ""
    is_stopped: bool = False

    @property
    def suspended(self) -> bool:
        """Whether this night's scores cannot be compared with the baseline's, so that no test is run."""
        return any((self.assessor_changes, self.missing, self.query_changes, self.engine_setting_changes))


@dataclass(frozen=True, slots=True)
class Decision:
    """A night's status with its reasons, its state, and why judgments or answers are `missing`."""

    status: Status
    reasons: tuple[str, ...]
    state: NightState
    missing: tuple[str, ...]


def decide(evidence: Evidence) -> Decision:
    """Return the status of a night with its own reasons first, then those of other statuses."""
    candidates: tuple[tuple[Status, Sequence[str]], ...] = (
        (
            "assessor drift",
            _add_advice(
                evidence.assessor_changes, evidence, may_be_temporary=not evidence.are_settings_changed
            ),
        ),
        ("assessor drift", evidence.possible_drops),
        ("incomplete", evidence.missing),
        ("queries changed", evidence.query_changes),
        ("engine settings changed", _add_advice(evidence.engine_setting_changes, evidence)),
        # A regression is certain; an engine that is unavailable comes after it.
        ("regression", [describe_drop(row) for row in evidence.outcomes if row.outcome == "regression"]),
        (
            "incomplete",
            [*evidence.unavailable.values(), *_describe_incomplete(evidence), *evidence.removed_engines],
        ),
    )
    reasons = [(status, reason) for status, sentences in candidates for reason in sentences]
    if not reasons and not evidence.has_baseline:
        message = Message(
            "there is no baseline yet, so nothing is compared; to set one: {command}",
            command=evidence.to_accept,
        )
        reasons = [("no baseline", message)]
    status = reasons[0][0] if reasons else "fine"
    missing = (*evidence.missing, *evidence.unavailable.values())
    state: NightState = "stopped" if evidence.is_stopped else "finished"
    if missing:
        state = "unfinished"
    elif evidence.removed_engines or status == "incomplete":
        state = "undecided"
    return Decision(status, tuple(reason for _, reason in reasons), state, missing)


def _add_advice(
    reasons: Sequence[str], evidence: Evidence, *, may_be_temporary: bool = False
) -> Sequence[str]:
    """Return the reasons; the last one ends with the command that accepts the change."""
    if not reasons or not evidence.has_baseline or not evidence.to_accept:
        return reasons
    *others, last = reasons
    command = evidence.to_accept
    advice = Message("{reason}; to accept the change: {command}", reason=last, command=command)
    if may_be_temporary and evidence.suspect_store:
        advice = Message(
            "{reason}; no canary shows this, so the verdicts of tonight are not kept and the next night"
            " checks again; if it reports the same, verdicts of earlier nights in {store} are of another"
            " assessor: rename this file, so that the next night judges all pairs again",
            reason=last,
            store=evidence.suspect_store,
        )
    elif may_be_temporary:
        advice = Message(
            "{reason}; if the change is temporary, do nothing: the next night checks again; to accept the new"
            " assessor: {command}",
            reason=last,
            command=command,
        )
    return (*others, advice)


def list_reasons(night: NightRecord, shorten: Callable[[str], str] = str) -> tuple[Bilingual, ...]:
    """Return the reasons of the night in English and Chinese, which is English where it is not known.

    A record that was read has its Chinese reasons in its banner. Regressions come first; their Chinese is
    made from the record's data, with the engine's name isolated. Stored sentences are edited by `shorten`.
    """
    # After the headline come the reasons, then what was compared.
    stored = [sentence.zh for sentence in night.banner[1:]]
    with_chinese = zip(night.reasons, [*stored, *night.reasons[len(stored) :]], strict=False)
    texts = [
        Bilingual(shorten(reason), shorten(CHINESE(reason) if isinstance(reason, Message) else chinese))
        for reason, chinese in with_chinese
    ]
    for position, drop in enumerate(night.select_outcomes("regression")[: len(texts)]):
        if None not in (drop.baseline, drop.tonight, drop.p_holm):
            message = describe_drop(replace(drop, engine=isolate(drop.engine)))
            texts[position] = texts[position]._replace(zh=CHINESE(message))
    return tuple(texts)


def describe_drop(outcome: RegressionOutcome) -> Message:
    """Return by how much an engine became worse by a measure."""
    return Message(
        "{outcome.engine}: {outcome.mean_name} fell by {drop:.3f}, from {outcome.baseline:.3f} to"
        " {outcome.tonight:.3f} on {outcome.n:,} queries and the pool of both nights (p"
        " (Holm) {p})",
        outcome=outcome,
        p=format_p_value(outcome.p_holm),
        drop=-(outcome.change or 0),
    )


def _describe_incomplete(evidence: Evidence) -> Iterator[str]:
    for outcome in evidence.outcomes:
        if outcome.outcome == "incomplete" and outcome.engine not in evidence.unavailable:
            yield Message(
                "{outcome.engine}: {outcome.mean_name} may have fallen: grades of unjudged snippets could"
                " reverse the result; to judge these: {command}"
                if outcome.n
                else "{outcome.engine}: {outcome.mean_name} cannot be compared: no query has a value at the"
                " baseline and tonight, because its pool has no relevant result or the engine gave no"
                " answer; to compare by other measures, set measures in [nightly]",
                outcome=outcome,
                command=evidence.command,
            )
