"""The decision of a night: its status and the reasons, from all the evidence, and sentences of evidence.

Evidence that changes the meaning of grades comes first: another assessor, then missing judgments, then
changed queries, then changed engine settings. Only without these can an engine be blamed. Pure functions.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from judge.config.nightly import SET_BASELINE_COMMAND, NightlyConfig
from judge.messages import Message, join_messages
from judge.nightly.record import NightEngineResult, QueryDrift, RegressionOutcome, Status

#: What begins the advice at the end of a reason, the last one in records of version 1. A reason ends before.
_ADVICE = (
    "; to accept the change: ",
    "; if it was removed permanently,",
    "; use the same queries,",
    "; to go on with it, make a night of it the baseline",
)
#: When this share more of the results lost its text, a field was renamed; it is not a worse ranking.
_LOST_TEXT = 0.3


@dataclass(frozen=True, slots=True)
class Evidence:
    """What is known of a night: sentences for each status, the outcomes of the regression test, and remarks.

    `unavailable` has a sentence for each engine that gave far fewer answers than at the baseline,
    `dropped` one for each engine that is only in the baseline. `possible_drops` name engines that may have
    become worse although the assessor changed. `set_baseline_command` makes this night the baseline; it
    is "" where it cannot.
    `query_drift` is None where nothing was compared.
    """

    has_baseline: bool
    set_baseline_command: str = SET_BASELINE_COMMAND
    assessor_changes: Sequence[str] = ()
    missing: Sequence[str] = ()
    query_changes: Sequence[str] = ()
    engine_setting_changes: Sequence[str] = ()
    unavailable: Mapping[str, str] = field(default_factory=dict)
    dropped: Sequence[str] = ()
    outcomes: Sequence[RegressionOutcome] = ()
    possible_drops: Sequence[str] = ()
    query_drift: QueryDrift | None = None
    remarks: Sequence[str] = ()

    @property
    def suspended(self) -> bool:
        """Whether this night's scores cannot be compared with the baseline's, so that no engine is blamed."""
        return bool(
            self.assessor_changes or self.missing or self.query_changes or self.engine_setting_changes
        )


@dataclass(frozen=True, slots=True)
class Decision:
    """A night's status with its reasons.

    It is `finished` unless the same command could add judgments or answers that are missing. It is
    `complete`, and may be the baseline, when nothing is missing that was asked for tonight, whatever the
    status: the night of an incomplete comparison can be complete.
    """

    status: Status
    reasons: tuple[str, ...]
    finished: bool
    complete: bool


def decide(evidence: Evidence) -> Decision:
    """Return the status of a night with its own reasons first, then those of other statuses."""
    candidates: tuple[tuple[Status, Sequence[str]], ...] = (
        ("assessor drift", _add_advice(evidence.assessor_changes, evidence)),
        ("assessor drift", evidence.possible_drops),
        ("incomplete", evidence.missing),
        ("queries changed", evidence.query_changes),
        ("engine settings changed", _add_advice(evidence.engine_setting_changes, evidence)),
        # An engine that is surely worse comes before another one that is unavailable.
        ("regression", [describe_drop(each) for each in evidence.outcomes if each.verdict == "regression"]),
        ("incomplete", [*evidence.unavailable.values(), *_describe_incomplete(evidence), *evidence.dropped]),
    )
    reasons = [(status, reason) for status, sentences in candidates for reason in sentences]
    if not reasons and not evidence.has_baseline:
        command = evidence.set_baseline_command
        message = Message(
            "there is no baseline yet, so nothing is compared; to set one: {command}", command=command
        )
        reasons = [("no baseline", message)]
    status = reasons[0][0] if reasons else "fine"
    complete = not (evidence.missing or evidence.unavailable)
    finished = complete and not evidence.dropped and status != "incomplete"
    return Decision(status, tuple(reason for _, reason in reasons), finished, complete)


def _add_advice(reasons: Sequence[str], evidence: Evidence) -> Sequence[str]:
    """Return the reasons; the last one ends with the command that accepts the change."""
    if not reasons or not evidence.has_baseline or not evidence.set_baseline_command:
        return reasons
    *others, last = reasons
    command = evidence.set_baseline_command
    return (*others, Message("{reason}; to accept the change: {command}", reason=last, command=command))


def join_reasons(reasons: Iterable[str]) -> Message:
    """Return the reasons of a night's record, one or more, in one sentence, without advice."""
    return join_messages(
        min((reason.partition(advice)[0] for advice in _ADVICE), key=len) for reason in reasons
    )


def describe_drop(outcome: RegressionOutcome) -> Message:
    """Return by how much an engine became worse by a measure."""
    return Message(
        "{outcome.engine}: {outcome.measure} fell by {drop:.3f}, from {outcome.baseline:.3f} to"
        " {outcome.tonight:.3f} on {outcome.n:,} queries (p = {outcome.p_holm:.2g})",
        outcome=outcome,
        drop=-(outcome.change or 0),
    )


def _describe_incomplete(evidence: Evidence) -> Iterator[str]:
    for outcome in evidence.outcomes:
        if outcome.verdict == "incomplete" and outcome.engine not in evidence.unavailable:
            if outcome.n:
                yield Message(
                    "{outcome.engine}: {outcome.measure} may have fallen: grades of unjudged snippets could"
                    " reverse the result",
                    outcome=outcome,
                )
            else:
                yield Message(
                    "{outcome.engine}: {outcome.measure} cannot be compared: no query has a value at the"
                    " baseline and tonight",
                    outcome=outcome,
                )


# Sentences about engines and queries that differ from those of the baseline


def find_unavailable(
    tonight: Mapping[str, NightEngineResult], baseline: Mapping[str, NightEngineResult], max_missing: float
) -> dict[str, str]:
    """Return a sentence for each engine that gave far fewer answers than at the baseline.

    A request that failed and a query without a ranking are missing answers. So are empty ones when they
    become as many: an interface that changed is a more frequent cause than a bad ranking.
    """
    sentences: dict[str, str] = {}
    for engine in sorted(baseline.keys() & tonight.keys()):
        before, now = baseline[engine], tonight[engine]
        no_text = now.no_snippet_share or 0.0
        if before.answered_share - now.answered_share > max_missing:
            sentences[engine] = Message(
                "{engine}: returned results for {now.answered_share:.0%} of the queries,"
                " {before.answered_share:.0%} at the baseline ({now.errors:,} errors, {now.empty:,} empty,"
                " {now.absent:,} not asked)",
                engine=engine,
                now=now,
                before=before,
            )
        elif no_text - (before.no_snippet_share or 0.0) > _LOST_TEXT:
            sentences[engine] = Message(
                "{engine}: {share:.0%} of its results have no text but their title: was a field renamed?",
                engine=engine,
                share=no_text,
            )
    return sentences


def find_without_text(
    shares: Mapping[str, float | None],
    baseline: Mapping[str, NightEngineResult],
    max_empty: float,
    *,
    collected: bool,
) -> Iterator[str]:
    """Yield the engines with too many empty snippets for the night to be judged.

    `shares` is the share of empty snippets among each engine's results tonight, where it is known. An engine
    that had as many at the baseline is accepted. The dataset is `collected` by the night, or a file of the
    user.
    """
    advice = (
        Message("was a field of its answers renamed? Correct its `fields`")
        if collected
        else Message("was a field renamed? Correct the dataset")
    )
    for engine, share in sorted(shares.items()):
        before = (baseline[engine].no_snippet_share if engine in baseline else None) or 0.0
        if share is not None and share > max_empty and share - before > _LOST_TEXT:
            yield Message(
                "{engine}: {share:.0%} of its results have an empty snippet, more than max_empty_snippets"
                " {most:.0%}, so nothing was judged: {advice} (or raise max_empty_snippets in [nightly]) and"
                " run the same command again",
                advice=advice,
                engine=engine,
                share=share,
                most=max_empty,
            )


def find_dropped(tonight: Collection[str], baseline: Collection[str], command: str) -> Iterator[str]:
    """Yield the engines of the baseline that are not in this night's dataset; `command` accepts that."""
    for engine in sorted({*baseline} - {*tonight}):
        reason = Message("{engine}: is in the baseline and not in this night's dataset", engine=engine)
        yield Message(
            "{reason}; if it was removed permanently, make this night the baseline: {command}",
            reason=reason,
            command=command,
        )


def find_silent(engines: Mapping[str, NightEngineResult], max_missing: float) -> list[str]:
    """Return a sentence for each engine that did not answer on a night without a baseline."""
    return [
        Message(
            "{engine}: gave no answer to {now.unanswered:,} of {now.queries:,} queries ({now.errors:,}"
            " errors, {now.absent:,} not asked)",
            engine=engine,
            now=results,
        )
        for engine, results in sorted(engines.items())
        if results.unanswered > max_missing * results.queries
    ]


def describe_unanswered_queries(
    engines: Mapping[str, NightEngineResult], errors: Mapping[str, Mapping[str, int]]
) -> Iterator[str]:
    """Yield what engines left unanswered, however little: scores are over the other queries.

    `errors` counts each engine's failures by their message.
    """
    for engine, results in sorted(engines.items()):
        counts = errors.get(engine, {})
        if results.unanswered:
            reason = max(sorted(counts), key=lambda message: counts[message], default="")
            yield Message(
                "{engine}: no answer to {now.unanswered:,} of {now.queries:,} queries{why}",
                engine=engine,
                now=results,
                why=Message(", most often {reason}", reason=Message(reason))
                if reason
                else Message(": there is no ranking for them"),
            )
        elif not results.answered:
            yield Message(
                "{engine}: returned no result for any of {queries:,} queries, so this night cannot be the"
                " baseline; check the settings of the engine",
                engine=engine,
                queries=results.queries,
            )


def describe_new_empty_lists(
    tonight: Mapping[str, NightEngineResult], baseline: Mapping[str, NightEngineResult]
) -> Iterator[str]:
    """Yield the engines that returned an empty list more often than at the baseline, however little."""
    for engine in sorted(baseline.keys() & tonight.keys()):
        before, now = baseline[engine], tonight[engine]
        if now.answered and now.empty * before.queries > before.empty * now.queries:
            yield Message(
                "{engine}: an empty list for {now.empty:,} of {now.queries:,} queries, {before.empty:,} of"
                " {before.queries:,} at the baseline; an empty list has the score 0",
                engine=engine,
                now=now,
                before=before,
            )


def find_query_changes(drift: QueryDrift, config: NightlyConfig, command: str) -> Iterator[str]:
    """Yield why too few queries are shared with the baseline; `command` makes this night the baseline."""
    if not drift.shared or drift.shared_share < config.min_shared:
        reason = Message(
            "only {drift.shared_share:.0%} of the baseline's {drift.baseline:,} queries are in this night,"
            " less than min_shared {least:.0%}: scores over different queries cannot be compared",
            drift=drift,
            least=config.min_shared,
        )
        yield Message(
            "{reason}; use the same queries, or make a night with the new ones the baseline: {command}",
            reason=reason,
            command=command,
        )
