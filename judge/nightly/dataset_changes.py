"""How the dataset of a night differs from that of the baseline: its queries, and what the engines answered.

Only shared queries can be compared. In the sentences about engines, `errors` has the most frequent error of
each engine that has one, and `is_collected` says whether the night asked the engines.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from math import log
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from judge.analysis.judged_run import JudgedRun
from judge.characters import make_natural_key
from judge.measure.engine_summary import EngineSummary
from judge.measure.numeric import TIE, Ints
from judge.measure.resampling import SEED
from judge.messages import Message, SeparatedNames, cut_value
from judge.nightly.record import NoRelevantShares, QueryDrift
from judge.records import Query

if TYPE_CHECKING:
    from scipy import sparse

#: How often the texts of queries are assigned to two nights at random.
_RANDOM_SPLITS = 200
#: Below this p the texts of the queries differ by more than chance explains.
_TEXT_ALPHA = 0.01
#: A query of the baseline covers one with at least this cosine: on logs of real queries, 96% of reworded
#: queries and 1% of other ones have it.
_COVERING = 0.5
#: Below this coverage there is a remark, which shows the first `_SHOWN` queries that are not covered.
_MIN_COVERED_SHARE, _SHOWN = 0.8, 3
#: The most new queries that are compared, drawn at random, and how many at a time.
_MAX_COMPARED, _CHUNK = 2_000, 200
_Engines = Mapping[str, EngineSummary]
#: When this share more of the results lost its text, a field was renamed; it is not a worse ranking.
_LOST_TEXT = 0.3


def measure_query_drift(tonight: JudgedRun, baseline: JudgedRun) -> QueryDrift:
    """Return how this night's queries differ from those of the baseline."""
    now, before = tonight.dataset.queries, baseline.dataset.queries
    shared = len(find_shared_query_ids(now, before))
    coverage, uncovered = measure_coverage(
        [query.text for query in now.values()], [query.text for query in before.values()]
    )
    texts = (sorted(query.text for query in queries.values()) for queries in (now, before))
    distance, by_chance, p = measure_text_distance(*texts)
    return QueryDrift(
        tonight=len(now),
        baseline=len(before),
        shared=shared,
        new=len(now) - shared,
        gone=len(before) - shared,
        shared_share=shared / len(before) if before else 0.0,
        no_relevant=NoRelevantShares(
            tonight=_measure_no_relevant_share(tonight), baseline=_measure_no_relevant_share(baseline)
        ),
        distance=distance,
        distance_by_chance=by_chance,
        p=p,
        coverage=coverage,
        uncovered=uncovered[:_SHOWN],
    )


def measure_coverage(tonight: Sequence[str], baseline: Sequence[str]) -> tuple[float | None, tuple[str, ...]]:
    """Return the share of the night's queries that the baseline's cover, and those that they do not.

    A query is covered by one whose set of character 2-grams and 3-grams has a cosine of `_COVERING` or more
    with its own. Of more than `_MAX_COMPARED` new queries, a random sample is compared, and the second value
    is from it. The share is None where a side has no query.
    """
    from scipy import sparse

    if not tonight or not baseline:
        return None, ()
    baseline_texts = set(baseline)
    new = [text for text in tonight if text not in baseline_texts]
    drawn = np.random.default_rng(SEED).permutation(len(new))[:_MAX_COMPARED]
    compared = [new[at] for at in sorted(drawn)]
    sets = _count_grams([*compared, *sorted(baseline_texts)]).astype(bool).astype(float)
    units = sparse.csr_array(sparse.diags_array(1 / np.sqrt(sets.sum(1))) @ sets)
    baseline_units = units[len(compared) :].T
    nearest = [
        (units[start : min(start + _CHUNK, len(compared))] @ baseline_units).max(axis=1).toarray().ravel()
        for start in range(0, len(compared), _CHUNK)
    ]
    is_covered = np.concatenate([np.zeros(0), *nearest]) >= _COVERING - TIE
    share_of_new = float(is_covered.mean()) if compared else 1.0
    uncovered = tuple(text for text, covered in zip(compared, is_covered, strict=True) if not covered)
    return 1 - (1 - share_of_new) * len(new) / len(tonight), uncovered


def find_shared_query_ids(tonight: Mapping[str, Query], baseline: Mapping[str, Query]) -> frozenset[str]:
    """Return the ids under which both ask the same text."""
    shared = tonight.keys() & baseline.keys()
    return frozenset(id_ for id_ in shared if tonight[id_].text == baseline[id_].text)


def describe_query_drift(drift: QueryDrift) -> Iterator[str]:
    """Yield the remarks that a reader of the scores needs about the queries."""
    if drift.new or drift.gone:
        yield Message(
            "{drift.shared:,} of the baseline's {drift.baseline:,} queries are asked tonight ({drift.new:,}"
            " new, {drift.gone:,} gone): engines are compared on the shared queries only",
            drift=drift,
        )
    yield from describe_coverage(drift)
    if drift.p is not None and drift.p < _TEXT_ALPHA:
        yield Message(
            "this night's queries differ in kind from the baseline's: the distance of their characters is"
            " {drift.distance:.3f}, {drift.distance_by_chance:.3f} by chance",
            drift=drift,
        )


def find_query_changes(drift: QueryDrift, same_texts: int, min_shared: float, command: str) -> Iterator[str]:
    """Yield why too few queries are shared with the baseline; `command` makes this night the baseline.

    `same_texts` of the other queries have the text of a query with another id (`count_same_texts`).
    """
    if not drift.shared or drift.shared_share < min_shared:
        ids = Message(
            "give each query the same query_id every night ({count:,} of the others have the text of a query"
            " in the baseline under another query_id)",
            count=same_texts,
        )
        yield Message(
            "only {drift.shared_share:.0%} of the baseline's {drift.baseline:,} queries are in this night,"
            " less than min_shared {min_shared:.0%}: scores over different queries cannot be compared;"
            " {advice}, or make a night with the new ones the baseline: {command}",
            advice=ids if same_texts else Message("use the same queries"),
            drift=drift,
            min_shared=min_shared,
            command=command,
        )


def count_same_texts(tonight: Mapping[str, Query], baseline: Mapping[str, Query]) -> int:
    """Return how many queries of the night have the text of one with another id in the baseline."""
    shared = find_shared_query_ids(tonight, baseline)
    texts = {query.text for id_, query in baseline.items() if id_ not in shared}
    return sum(query.text in texts for id_, query in tonight.items() if id_ not in shared)


def describe_coverage(drift: QueryDrift, *, is_compared: bool = True) -> Iterator[str]:
    """Yield which share of the night's queries has a similar one in the baseline, where some have none.

    Where too few have one, a night that `is_compared` with the baseline gets the advice to set another one.
    """
    if drift.coverage is None or not drift.uncovered:
        return
    share = Message(
        "{drift.coverage:.1%} of the night's queries are in the baseline or similar to one in it", drift=drift
    )
    if drift.coverage >= _MIN_COVERED_SHARE:
        yield share
        return
    examples = SeparatedNames(cut_value(repr(text), 80) for text in drift.uncovered)
    yield Message(
        "{share}. The comparison says little about the others, such as {examples}: make a night of them the"
        " baseline"
        if is_compared
        else "{share}; others, such as {examples}, are not",
        share=share,
        examples=examples,
    )


def _measure_no_relevant_share(run: JudgedRun) -> float | None:
    """Return the share of queries without a snippet known to be relevant; None without queries."""
    relevant_from = run.spec.scale.relevant_from
    relevant = {
        judgment.query_id
        for judgment in run.judgments
        if judgment.grade is not None and judgment.grade >= relevant_from
    }
    queries = run.dataset.queries
    return sum(id_ not in relevant for id_ in queries) / len(queries) if queries else None


def measure_text_distance(
    one: Sequence[str], other: Sequence[str]
) -> tuple[float, float, float] | tuple[None, None, None]:
    """Return the distance of the texts, its mean by chance, and the p value of the distance.

    The distance is the Jensen-Shannon divergence in bits (0 to 1) of the frequencies of character 2-grams
    and 3-grams. Two samples of one source are not at distance 0 either, so the same texts are assigned to
    two nights of these sizes at random, 200 times. All are None where a side has no text.
    """
    if not one or not other:
        return None, None, None
    counts = _count_grams([*one, *other])
    rng = np.random.default_rng(SEED)
    side = np.repeat([0, 1], [len(one), len(other)])
    distance = _compute_divergence(counts, side)
    by_chance = np.array([_compute_divergence(counts, rng.permutation(side)) for _ in range(_RANDOM_SPLITS)])
    p = (1 + (by_chance >= distance - TIE).sum()) / (1 + _RANDOM_SPLITS)
    return distance, float(by_chance.mean()), float(p)


def _count_grams(texts: Sequence[str]) -> sparse.csr_array[Any]:
    """Return the (texts, grams) counts of the character 2-grams and 3-grams."""
    from scipy import sparse

    numbers: dict[str, int] = {}
    rows: list[int] = []
    columns: list[int] = []
    for row, text in enumerate(texts):
        framed = f" {' '.join(text.casefold().split())} "
        grams = [framed[at : at + size] for size in (2, 3) for at in range(len(framed) - size + 1)]
        rows += [row] * len(grams)
        columns += [numbers.setdefault(gram, len(numbers)) for gram in grams]
    return sparse.csr_array((np.ones(len(rows)), (rows, columns)), shape=(len(texts), len(numbers)))


def _compute_divergence(counts: sparse.csr_array[Any], side: Ints) -> float:
    from scipy.special import rel_entr

    totals = np.stack([counts[side == which].sum(0) for which in (0, 1)])
    shares = totals / totals.sum(1, keepdims=True)
    return max(0.0, float(rel_entr(shares, shares.mean(0)).sum()) / (2 * log(2)))


def _name_error(engine: str, errors: Mapping[str, str]) -> Message:
    reason = errors.get(engine)
    return Message(", most often {reason}", reason=Message(reason)) if reason else Message("")


def find_unavailable(
    tonight: _Engines, baseline: _Engines | None, max_missing: float, errors: Mapping[str, str]
) -> dict[str, str]:
    """Return a sentence for each engine that gave far fewer answers than at the baseline.

    A request that failed and a query without a ranking are missing answers. So are empty ones when they
    become as many: an interface that changed is a more frequent cause than a bad ranking. Without a baseline,
    empty ones are answers.
    """
    sentences: dict[str, str] = {}
    engines = tonight.keys() if baseline is None else tonight.keys() & baseline.keys()
    for engine in sorted(engines, key=make_natural_key):
        now, before = tonight[engine], baseline[engine] if baseline else None
        missing = before.answered_share - now.answered_share if before else now.unanswered_share
        no_snippet_share = now.no_snippet_share or 0.0
        if missing > max_missing:
            sentences[engine] = Message(
                "{engine}: returned results for {now.answered_share:.0%} of the queries{then} ({now.empty:,}"
                " empty, {now.absent:,} without a row, {now.errors:,} failed{why})",
                engine=engine,
                now=now,
                then=Message(", {share:.0%} at the baseline", share=before.answered_share) if before else "",
                why=_name_error(engine, errors),
            )
        elif before and no_snippet_share - (before.no_snippet_share or 0.0) > _LOST_TEXT:
            sentences[engine] = Message(
                "{engine}: {share:.0%} of its results have no text but their title, perhaps because a field"
                " was renamed",
                engine=engine,
                share=no_snippet_share,
            )
    return sentences


def find_without_text(
    shares: Mapping[str, float | None], baseline: _Engines, max_empty: float, collected: Path | None
) -> Iterator[str]:
    """Yield the engines with too many empty snippets for the night to be judged.

    `shares` is the share of empty snippets among each engine's results tonight, where it is known. An engine
    that had as many at the baseline is accepted. `collected` is the folder of the night with the answers of
    the engines, None where the dataset is a file of the user.
    """
    advice = (
        Message("was a field renamed? Correct the dataset")
        if collected is None
        else Message(
            "was a field of its answers renamed? Correct its `fields` if it has a table in [collect.engines],"
            " remove {folder} if the texts were missing for a time only",
            folder=collected,
        )
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


def describe_missing_answers(
    tonight: _Engines, baseline: _Engines, errors: Mapping[str, str]
) -> Iterator[str]:
    """Yield on how many queries engines failed, or returned an empty list more often than at the baseline.

    However few they are: scores are over the other queries. A warning about the dataset counts queries
    without a row.
    """
    for engine in sorted(tonight, key=make_natural_key):
        now, before = tonight[engine], baseline.get(engine)
        if now.errors:
            yield Message(
                "{engine}: failed on {now.errors:,} of {now.queries:,} queries{why}",
                engine=engine,
                now=now,
                why=_name_error(engine, errors),
            )
        elif not (now.answered or now.absent):
            yield Message(
                "{engine}: returned no result for any of {queries:,} queries, so this night cannot be the"
                " baseline; check the settings of the engine",
                engine=engine,
                queries=now.queries,
            )
        if before and now.answered and now.empty * before.queries > before.empty * now.queries:
            yield Message(
                "{engine}: an empty list for {now.empty:,} of {now.queries:,} queries, {before.empty:,} of"
                " {before.queries:,} at the baseline; an empty list has the score 0",
                engine=engine,
                now=now,
                before=before,
            )
