"""Sentences about what differs between a night and its baseline: engines, queries and options."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import asdict

from judge.config.nightly import NightlyConfig
from judge.messages import Message, NameList, SeparatedNames, join_messages
from judge.nightly.record import EngineSettings, NightEngineResult, QueryDrift, RegressionOutcome

#: When this share more of the results lost its text, a field was renamed; it is not a worse ranking.
_LOST_TEXT = 0.3
#: Options that may differ between nights of one assessor; canaries show whether the endpoint changed it.
_FREE_OPTIONS = frozenset({"dataset", "depth", "endpoint", "repeats", "as_of"})


def find_possible_drops(
    outcomes: Sequence[RegressionOutcome], shift: float | None, top: int
) -> Iterator[str]:
    """Yield the engines that may have become worse on a night whose assessor changed.

    `shift` is how much the mean grade of the same pairs changed, None where it is unknown, `top` the highest
    grade. sDCG is linear in the grades, so grades that are all lower by `shift` lower it by `shift / top`:
    the corrected change is `change - shift / top`. It is reported when the corrected drop exceeds what the
    regression test detects. Other measures are not corrected.
    """
    for outcome in outcomes:
        change, detectable = outcome.change, outcome.detectable
        if not outcome.measure.startswith("sDCG@") or change is None or detectable is None or shift is None:
            continue
        corrected = change - shift / top
        if corrected < -detectable:
            yield Message(
                "possible: {outcome.engine} became worse: {outcome.measure} {outcome.change:+.3f}, corrected"
                " {corrected:+.3f} (grades of the same pairs moved by {shift:+.2f} of {top}); this assessor's"
                " grades cannot prove it",
                outcome=outcome,
                corrected=corrected,
                shift=shift,
                top=top,
            )


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
    shares: Mapping[str, float],
    baseline: Mapping[str, NightEngineResult],
    max_empty: float,
    *,
    collected: bool,
) -> Iterator[str]:
    """Yield the engines with too many empty snippets for the night to be judged.

    `shares` is the share of empty snippets among each engine's results tonight. An engine that had as many
    at the baseline is accepted. The dataset is `collected` by the night, or a file of the user.
    """
    advice = (
        Message("was a field of its answers renamed? Correct its `fields`")
        if collected
        else Message("was a field renamed? Correct the dataset")
    )
    for engine, share in sorted(shares.items()):
        before = (baseline[engine].no_snippet_share if engine in baseline else None) or 0.0
        if share > max_empty and share - before > _LOST_TEXT:
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
        yield Message(
            "{engine}: is in the baseline and not in this night's dataset; if it was removed permanently,"
            " make this night the baseline: {command}",
            engine=engine,
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


def describe_differences(
    before: Mapping[str, object], now: Mapping[str, object], free: Collection[str] = ()
) -> Iterator[str]:
    """Yield each option whose value changed, except the `free` ones.

    An option that only one side has is unknown to the other version of judge and is ignored.
    """
    for name in sorted((before.keys() & now.keys()) - {*free}):
        yield from _describe_difference(name, before[name], now[name])


def _describe_difference(name: str, before: object, now: object) -> Iterator[str]:
    if isinstance(before, Mapping) and isinstance(now, Mapping):
        for part in sorted(before.keys() | now.keys()):
            yield from _describe_difference(f"{name}.{part}", before.get(part), now.get(part))
    elif before != now:
        yield Message(
            "{name} was {before}, now {now}",
            name=name,
            before=_format_option(before),
            now=_format_option(now),
        )


def _format_option(value: object) -> str:
    if value is None:
        return Message("not set")
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, list | tuple):
        return SeparatedNames(map(str, value)) or Message("none")
    return str(value)


def find_assessor_setting_changes(tonight: Mapping[str, object], baseline: Mapping[str, object]) -> list[str]:
    """Return how the assessor is configured differently than at the baseline, from two run identities."""
    changed = list(describe_differences(baseline, tonight, _FREE_OPTIONS))
    if not changed:
        return []
    return [Message("the assessor settings changed: {changes}", changes=join_messages(changed))]


def find_engine_setting_changes(
    tonight: EngineSettings | None, baseline: EngineSettings | None, depths: tuple[int, int]
) -> list[str]:
    """Return how engines are asked, or judged, differently than at the baseline.

    `depths` are those of the pools of the baseline and of tonight. Settings that are unknown on one side are
    ignored.
    """
    before, now = depths
    changed = list(describe_differences({"depth": before}, {"depth": now}))
    if tonight is not None and baseline is not None:
        changed += _describe_engine_settings(tonight, baseline)
    if not changed:
        return []
    changes = join_messages(dict.fromkeys(changed))
    return [Message("engine settings changed since the baseline: {changes}", changes=changes)]


def _describe_engine_settings(tonight: EngineSettings, baseline: EngineSettings) -> list[str]:
    changed = list(describe_differences(asdict(baseline), asdict(tonight), free={"engines"}))
    for engine in sorted(baseline.engines.keys() & tonight.engines.keys()):
        before, now = baseline.engines[engine], tonight.engines[engine]
        if before.address != now.address:
            changed.append(
                Message(
                    "{engine}'s address was {before.address}, now {now.address}",
                    engine=engine,
                    before=before,
                    now=now,
                )
            )
        parts = sorted(before.table.keys() | now.table.keys())
        if different := [part for part in parts if before.table.get(part) != now.table.get(part)]:
            changed.append(
                Message(
                    "{names} changed in [collect.engines.{engine}]", names=NameList(different), engine=engine
                )
            )
    return changed


def find_query_changes(drift: QueryDrift, config: NightlyConfig, command: str) -> Iterator[str]:
    """Yield why too few queries are shared with the baseline; `command` makes this night the baseline."""
    if not drift.shared or drift.shared_share < config.min_shared:
        yield Message(
            "only {drift.shared_share:.0%} of the baseline's {drift.baseline:,} queries are in this night,"
            " less than min_shared {least:.0%}: scores over different queries cannot be compared; use the"
            " same queries, or make a night with the new ones the baseline: {command}",
            drift=drift,
            least=config.min_shared,
            command=command,
        )
