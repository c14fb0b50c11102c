"""Sentences about the engines of a night: which answers or texts are missing, and which engines.

`errors` has the most frequent error of each engine that has one. `is_collected` tells whether the night asked
the engines.
"""

from collections.abc import Collection, Iterator, Mapping

from judge.characters import make_natural_key
from judge.measure.engine_summary import EngineSummary
from judge.messages import Message

_Engines = Mapping[str, EngineSummary]
#: When this share more of the results lost its text, a field was renamed; it is not a worse ranking.
_LOST_TEXT = 0.3


def _name_error(engine: str, errors: Mapping[str, str]) -> Message:
    reason = errors.get(engine)
    return Message(", most often {reason}", reason=Message(reason)) if reason else Message("")


def find_unavailable(
    tonight: _Engines, baseline: _Engines, max_missing: float, errors: Mapping[str, str]
) -> dict[str, str]:
    """Return a sentence for each engine that gave far fewer answers than at the baseline.

    A request that failed and a query without a ranking are missing answers. So are empty ones when they
    become as many: an interface that changed is a more frequent cause than a bad ranking.
    """
    sentences: dict[str, str] = {}
    for engine in sorted(baseline.keys() & tonight.keys(), key=make_natural_key):
        before, now = baseline[engine], tonight[engine]
        no_snippet_share = now.no_snippet_share or 0.0
        if before.answered_share - now.answered_share > max_missing:
            sentences[engine] = Message(
                "{engine}: returned results for {now.answered_share:.0%} of the queries,"
                " {before.answered_share:.0%} at the baseline ({now.empty:,} empty, {now.absent:,} without a"
                " row, {now.errors:,} failed{why})",
                engine=engine,
                now=now,
                before=before,
                why=_name_error(engine, errors),
            )
        elif no_snippet_share - (before.no_snippet_share or 0.0) > _LOST_TEXT:
            sentences[engine] = Message(
                "{engine}: {share:.0%} of its results have no text but their title, perhaps because a field"
                " was renamed",
                engine=engine,
                share=no_snippet_share,
            )
    return sentences


def find_without_text(
    shares: Mapping[str, float | None], baseline: _Engines, max_empty: float, *, is_collected: bool
) -> Iterator[str]:
    """Yield the engines with too many empty snippets for the night to be judged.

    `shares` is the share of empty snippets among each engine's results tonight, where it is known. An engine
    that had as many at the baseline is accepted.
    """
    advice = Message(
        "was a field of its answers renamed? Correct its `fields`"
        if is_collected
        else "was a field renamed? Correct the dataset"
    )
    for engine in sorted(shares, key=make_natural_key):
        share = shares[engine]
        before = (baseline[engine].no_snippet_share if engine in baseline else None) or 0.0
        if share is not None and share > max_empty and share - before > _LOST_TEXT:
            yield Message(
                "{engine}: {share:.0%} of its results have an empty snippet, more than max_empty_snippets"
                " {most:.0%}, so nothing was judged; {advice}, or raise max_empty_snippets in [nightly]",
                advice=advice,
                engine=engine,
                share=share,
                most=max_empty,
            )


def find_removed_engines(
    tonight: Collection[str], baseline: Collection[str], again: str, to_accept: str, *, is_collected: bool
) -> Iterator[str]:
    """Yield the engines of the baseline that are not in this night's dataset.

    The command `again` continues the night, `to_accept` makes it the baseline.
    """
    step = Message("add it to [collect]" if is_collected else "add its results")
    for engine in sorted({*baseline} - {*tonight}, key=make_natural_key):
        yield Message(
            "{engine}: is in the baseline and not in this night's dataset; {step}, then: {again}; if it was"
            " removed permanently, make this night the baseline: {command}",
            engine=engine,
            step=step,
            again=again,
            command=to_accept,
        )


def find_missing_answers(engines: _Engines, max_missing: float, errors: Mapping[str, str]) -> dict[str, str]:
    """Return a sentence for each engine that did not answer on a night without a baseline."""
    return {
        engine: Message(
            "{engine}: gave no answer to {now.unanswered:,} of {now.queries:,} queries ({now.absent:,}"
            " without a row, {now.errors:,} failed{why})",
            engine=engine,
            now=engines[engine],
            why=_name_error(engine, errors),
        )
        for engine in sorted(engines, key=make_natural_key)
        if engines[engine].unanswered > max_missing * engines[engine].queries
    }


def describe_unanswered_queries(engines: _Engines, errors: Mapping[str, str]) -> Iterator[str]:
    """Yield on how many queries engines failed, however few: scores are over the other queries.

    A warning about the dataset counts queries without a row.
    """
    for engine in sorted(engines, key=make_natural_key):
        results = engines[engine]
        if results.errors:
            yield Message(
                "{engine}: failed on {now.errors:,} of {now.queries:,} queries{why}",
                engine=engine,
                now=results,
                why=_name_error(engine, errors),
            )
        elif not (results.answered or results.absent):
            yield Message(
                "{engine}: returned no result for any of {queries:,} queries, so this night cannot be the"
                " baseline; check the settings of the engine",
                engine=engine,
                queries=results.queries,
            )


def describe_new_empty_lists(tonight: _Engines, baseline: _Engines) -> Iterator[str]:
    """Yield the engines that returned an empty list more often than at the baseline, however little."""
    for engine in sorted(baseline.keys() & tonight.keys(), key=make_natural_key):
        before, now = baseline[engine], tonight[engine]
        if now.answered and now.empty * before.queries > before.empty * now.queries:
            yield Message(
                "{engine}: an empty list for {now.empty:,} of {now.queries:,} queries, {before.empty:,} of"
                " {before.queries:,} at the baseline; an empty list has the score 0",
                engine=engine,
                now=now,
                before=before,
            )
