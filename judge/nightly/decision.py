"""Owns what a night comes to, in one word: which of all that was found decides, and the exit code.

What makes grades mean something else comes before what they say: a changed judge, then judgments that
are missing, then other queries. Only then can an engine be blamed. Pure.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from judge.analysis.summary import EngineResult
from judge.config.nightly import SET_BASELINE_COMMAND
from judge.nightly.gate import Row
from judge.nightly.history import EXITS, Status

#: So many more results without a text are an interface that changed, not a ranking.
_RENAMED = 0.3
_NEXT = "; to go on with it, make a night of it the baseline"


@dataclass(frozen=True, slots=True)
class Found:
    """What is known of a night: sentences on why each status may be its own, and the gate's rows.

    `asked` says how engines were asked otherwise, `broken`, by engine, what broke tonight, `dropped` who
    is in the baseline alone. `baseline` is whether there is one, `to_set` the command that makes one.
    `possible` says which engines may have become worse although the assessor changed.
    """

    baseline: bool
    to_set: str = SET_BASELINE_COMMAND
    judge: Sequence[str] = ()
    missing: Sequence[str] = ()
    queries: Sequence[str] = ()
    asked: Sequence[str] = ()
    broken: Mapping[str, str] = field(default_factory=dict)
    dropped: Sequence[str] = ()
    rows: Sequence[Row] = ()
    possible: Sequence[str] = ()

    @property
    def suspended(self) -> bool:
        """Whether tonight's scores can't be held against the baseline's, so that no engine is blamed."""
        return bool(self.judge or self.missing or self.queries or self.asked)


@dataclass(frozen=True, slots=True)
class Decision:
    """A night's status, why, and the exit code of the command.

    It is `finished` unless the same command could find out more: of judgments or answers that are missing.
    It is `whole`, and may be the baseline, when nothing is missing that was asked for tonight.
    """

    status: Status
    because: tuple[str, ...]
    finished: bool
    whole: bool

    @property
    def exit(self) -> int:
        """0 fine, 1 an engine is worse, 3 nothing can be said of the engines."""
        return EXITS[self.status]


def decide(found: Found) -> Decision:
    """The status of a night, its reasons before others that hold as well."""
    drops = [_drop(row) for row in found.rows if row.verdict == "regression"]
    reasons: tuple[tuple[Status, Sequence[str]], ...] = (
        ("judge drift", _with_next(found.judge, found)),
        ("judge drift", found.possible),
        ("incomplete", found.missing),
        ("different queries", found.queries),
        ("asked otherwise", _with_next(found.asked, found)),
        # An engine that is surely worse is said first, even when another one broke.
        ("regression", drops),
        ("incomplete", [*found.broken.values(), *_unsure(found), *found.dropped]),
    )
    because = [(status, reason) for status, all_ in reasons for reason in all_]
    if not because and not found.baseline:
        because = [("no baseline", _unset(found))]
    status = because[0][0] if because else "fine"
    whole = not (found.missing or found.broken)
    finished = whole and not found.dropped and status != "incomplete"
    return Decision(status, tuple(reason for _, reason in because), finished, whole)


def _with_next(reasons: Sequence[str], found: Found) -> Sequence[str]:
    """The reasons, and after the last of them what to do when all is as it should be."""
    if not reasons or not found.baseline:
        return reasons
    *others, last = reasons
    return (*others, f"{last}{_NEXT}: {found.to_set}")


def bare(because: Sequence[str]) -> str:
    """The reasons of a night's record in one sentence, without what they say is to be done."""
    return "; ".join(reason.partition(_NEXT)[0] for reason in because)


def _unset(found: Found) -> str:
    return f"there is no baseline yet, so nothing is compared; to set one: {found.to_set}"


def _unsure(found: Found) -> Iterator[str]:
    for row in found.rows:
        if row.verdict == "incomplete" and row.change.engine not in found.broken:
            what = f"{row.change.engine}: {row.change.measure}"
            if row.change.n:
                yield f"{what} fell, or did not: grades of what is unjudged could turn it"
            else:
                yield f"{what} can't be compared: no query has a value at the baseline and tonight"


def possible_drops(rows: Sequence[Row], shift: float | None, top: int) -> Iterator[str]:
    """Which engines may have become worse on a night whose assessor changed, with the corrected figure.

    `shift` is how much the mean grade of the canaries changed, None where it is unknown, `top` the highest
    grade. sDCG is linear in the grades, so grades that are all lower by `shift` lower it by `shift / top`:
    the corrected change is `change - shift / top`. It is reported when the corrected drop exceeds what the
    regression test detects. Other measures are not corrected.
    """
    for row in rows:
        change = row.change
        if not change.measure.startswith("sDCG@") or change.change is None or row.detectable is None:
            continue
        if shift is None:
            continue
        corrected = change.change - shift / top
        if corrected < -row.detectable:
            yield (
                f"possible: {change.engine} became worse: {change.measure} {change.change:+.3f}, corrected"
                f" {corrected:+.3f} (grades of the canaries moved by {shift:+.2f} of {top}); this assessor's"
                " grades can't prove it"
            )


def _drop(row: Row) -> str:
    change = row.change
    return (
        f"{change.engine}: {change.measure} fell by {-(change.change or 0):.3f}, from {change.baseline:.3f}"
        f" to {change.tonight:.3f} on {change.n:,} queries (p = {row.p_holm:.2g})"
    )


def broken(
    tonight: Mapping[str, EngineResult], baseline: Mapping[str, EngineResult], max_missing: float
) -> dict[str, str]:
    """What broke, by engine: one that gave far fewer answers than at the baseline.

    Both are `engines` of a summary.json. An answer is missing when the engine failed or has no ranking;
    empty answers count when they become as many, for that is a broken interface more often than a bad
    ranking.
    """
    said = {}
    for engine in sorted(baseline.keys() & tonight.keys()):
        before, now = baseline[engine], tonight[engine]
        share, was = _answered(now), _answered(before)
        if was - share > max_missing:
            said[engine] = (
                f"{engine}: answered {share:.0%} of the queries, {was:.0%} at the baseline"
                f" ({now.errors:,} errors, {now.empty:,} empty, {now.absent:,} without a ranking)"
            )
        elif (now.no_snippet_share or 0.0) - (before.no_snippet_share or 0.0) > _RENAMED:
            said[engine] = (
                f"{engine}: {now.no_snippet_share:.0%} of its results have no text but their title: has its"
                " field been renamed?"
            )
    return said


def without_text(
    shares: Mapping[str, float], baseline: Mapping[str, EngineResult], max_empty: float
) -> Iterator[str]:
    """The engines that a night can't be judged with, for most of their results have an empty snippet.

    `shares` is the share of each engine's results tonight, `baseline` holds `engines` of the baseline's
    summary.json. An engine that returned as few texts at the baseline is left as it is.
    """
    for engine, share in sorted(shares.items()):
        frozen = baseline.get(engine)
        before = (frozen.no_snippet_share if frozen else None) or 0.0
        if share > max_empty and share - before > _RENAMED:
            yield (
                f"{engine}: {share:.0%} of its results have an empty snippet, more than max_empty_snippets"
                f" {max_empty:.0%}, so nothing was judged: was a field of its answers renamed? Correct its"
                " `fields` (or raise max_empty_snippets in [nightly]) and run the same command again"
            )


def dropped(tonight: Collection[str], baseline: Collection[str], to_set: str) -> Iterator[str]:
    """The engines that the baseline has and tonight's dataset doesn't."""
    for engine in sorted({*baseline} - {*tonight}):
        yield (
            f"{engine}: is in the baseline and not in tonight's dataset; if it was dropped for good, make"
            f" this night the baseline: {to_set}"
        )


def silent(engines: Mapping[str, EngineResult], max_missing: float) -> list[str]:
    """The engines that broke on a night that has no baseline, from `engines` of its summary.json."""
    return [
        f"{engine}: gave no answer to {row.errors + row.absent:,} of {row.queries:,} queries"
        f" ({row.errors:,} errors, {row.absent:,} without a ranking)"
        for engine, row in sorted(engines.items())
        if row.errors + row.absent > max_missing * row.queries
    ]


def unanswered(engines: Mapping[str, EngineResult], errors: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """What engines left unanswered, however little: scores don't show it, for they are over the others.

    `engines` are those of a summary.json, `errors` has how often each broke for which reason.
    """
    for engine, row in sorted(engines.items()):
        missing = row.errors + row.absent
        if missing:
            reason = max(sorted(errors.get(engine, {})), key=lambda each: errors[engine][each], default="")
            why = f", most often {reason}" if reason else ": there is no ranking for them"
            yield f"{engine}: no answer to {missing:,} of {row.queries:,} queries{why}"
        elif not row.answered:
            yield (
                f"{engine}: found nothing for any of {row.queries:,} queries, so a night like this is no"
                " baseline: is it asked as it should be?"
            )


def _answered(row: EngineResult) -> float:
    return row.answered / row.queries if row.queries else 0.0
