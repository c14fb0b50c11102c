"""Owns putting runs side by side: their engines meet on the queries that all runs have.

A result that two runs show is one document of one pool, and each engine keeps the grades that its own
run was given. Measures that a pool divides need grades that mean the same: they are left out when the
runs were judged by different assessors, or grade a pair that they share differently.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from judge.dataset.pool import pool
from judge.errors import InputError
from judge.measure.measures import Measure
from judge.records import Dataset, Judgment, Pool, Query, Ranking, Scale
from judge.report.reload import Held
from judge.report.words import listed


@dataclass(frozen=True, slots=True)
class Together:
    """Runs as one: what scoring needs, the measures that are fair, and `notes` on what was done."""

    held: Held
    notes: tuple[str, ...]


def together(runs: Mapping[str, Held]) -> Together:
    """The runs, by name, as one whose engines carry the run's name where two runs have them.

    Repeats are cut to as many as every run has. Raises InputError when the runs differ in scale or
    depth, share no query, or ask different things under one query id.
    """
    _check(runs)
    queries = _shared_queries(runs)
    names = _engine_names(runs)
    rankings = [
        replace(ranking, engine=names[run, ranking.engine])
        for run, held in runs.items()
        for ranking in held.data.rankings
        if ranking.query_id in queries
    ]
    first = next(iter(runs.values()))
    data = Dataset(queries, tuple(rankings), tuple(sorted({ranking.engine for ranking in rankings})))
    pooled = pool(data, first.pool.depth)
    repeats = min(held.asked.repeats for held in runs.values())
    unequal = _unequal(runs, queries, repeats)
    common = _measures(runs)
    if not common:
        raise InputError(
            f"{listed(runs)} have no measure in common; score them alike first: judge score RUN --measures …"
        )
    measures = tuple(measure for measure in common if measure.pool_free or not unequal)
    if not measures:
        raise InputError(
            f"the runs were {unequal}, so only measures that no pool divides can be compared, and there is"
            ' none; add some to each run: judge score RUN --measures "nDCG@10 AP@10 P@5 sDCG@10"'
        )
    assessor = listed(sorted({held.asked.assessor for held in runs.values()}))
    # What a run paid is its own: runs share verdicts, so costs don't add up.
    asked = replace(first.asked, assessor=assessor, repeats=repeats, measures=measures, cost={})
    held = Held(*_apart(runs, names, data, pooled, repeats), asked)
    return Together(held, tuple(_notes(runs, queries, pooled, repeats, unequal)))


def _check(runs: Mapping[str, Held]) -> None:
    """Raises InputError unless grades and depth mean the same in all runs."""
    (name, first), *others = runs.items()
    for other, held in others:
        for what, one, two in (
            ("scale", first.asked.scale, held.asked.scale),
            ("depth", first.pool.depth, held.pool.depth),
        ):
            if one != two:
                raise InputError(
                    f"{name} and {other} can't be compared: {what} is {_shown(one)} in one and {_shown(two)}"
                    " in the other; judge both alike"
                )


def _shown(value: object) -> str:
    return f"{value.name} (relevant from {value.relevant_from})" if isinstance(value, Scale) else str(value)


def _shared_queries(runs: Mapping[str, Held]) -> dict[str, Query]:
    (name, first), *others = ((name, held.data.queries) for name, held in runs.items())
    shared = {id_: query for id_, query in first.items() if all(id_ in queries for _, queries in others)}
    if not shared:
        raise InputError(f"{listed(runs)} share no query_id; runs are compared on the queries that all have")
    for other, queries in others:
        for id_, query in shared.items():
            if queries[id_].text != query.text:
                raise InputError(
                    f"query_id {id_!r} is {query.text!r} in {name} and {queries[id_].text!r} in {other};"
                    " runs are paired by query_id, so it must name one query"
                )
    return shared


def _engine_names(runs: Mapping[str, Held]) -> dict[tuple[str, str], str]:
    """What each run's engine is called among all: its own name, with the run's where two runs have it."""
    times = Counter(engine for held in runs.values() for engine in held.data.engines)
    return {
        (run, engine): f"{engine} ({run})" if times[engine] > 1 else engine
        for run, held in runs.items()
        for engine in held.data.engines
    }


def _measures(runs: Mapping[str, Held]) -> Sequence[Measure]:
    """The measures of the first run that all have."""
    first, *others = (held.asked.measures for held in runs.values())
    return [measure for measure in first if all(measure in measures for measures in others)]


def _apart(
    runs: Mapping[str, Held], names: Mapping[tuple[str, str], str], data: Dataset, pooled: Pool, repeats: int
) -> tuple[Dataset, Pool, tuple[Judgment, ...]]:
    """Snippets and judgments under names that tell their run, so that each engine keeps its own grades."""
    run_of = {engine: run for (run, _), engine in names.items()}

    def own(ranking: Ranking) -> Ranking:
        mark = run_of[ranking.engine]
        return replace(
            ranking, snippets=tuple(replace(each, id=f"{mark}/{each.id}") for each in ranking.snippets)
        )

    apart = replace(data, rankings=tuple(map(own, data.rankings)))
    judgments = tuple(
        replace(judgment, snippet_id=f"{run}/{judgment.snippet_id}")
        for run, held in runs.items()
        for judgment in held.judgments
        if judgment.query_id in data.queries and judgment.repeat <= repeats
    )
    # A pair that two runs have was judged in both; what is one document stays one.
    return apart, replace(pooled, pairs=pool(apart, pooled.depth).pairs), judgments


def _unequal(runs: Mapping[str, Held], queries: Mapping[str, Query], repeats: int) -> str:
    """Why the runs' grades don't mean the same; empty when they do."""
    assessors = sorted({held.asked.assessor for held in runs.values()})
    if len(assessors) > 1:
        return f"judged by different assessors ({', '.join(assessors)})"
    grades: dict[tuple[str, str, int], int] = {}
    versions: dict[str, set[str]] = {}
    differing = 0
    for held in runs.values():
        asked: dict[str, set[str]] = {}
        for judgment in held.judgments:
            if judgment.query_id not in queries or judgment.repeat > repeats or judgment.grade is None:
                continue
            asked.setdefault(judgment.query_id, set()).add(judgment.prompt_version)
            key = (judgment.query_id, judgment.snippet_id, judgment.repeat)
            differing += grades.setdefault(key, judgment.grade) != judgment.grade
        if any(versions.setdefault(query, each) != each for query, each in asked.items()):
            return "judged with different prompts"
    return f"given different grades for {differing:,} pairs that they share" if differing else ""


def _notes(
    runs: Mapping[str, Held], queries: Mapping[str, Query], pooled: Pool, repeats: int, unequal: str
) -> Iterator[str]:
    asked = {name: len(held.data.queries) for name, held in runs.items()}
    if any(count != len(queries) for count in asked.values()):
        each = ", ".join(f"{name} {count:,}" for name, count in asked.items())
        yield f"compared on the {len(queries):,} queries that all runs have ({each})"
    if any(held.asked.repeats != repeats for held in runs.values()):
        yield f"compared on {repeats} repeat(s), which is what every run has"
    if unequal:
        yield (
            f"the runs were {unequal}: only measures that no pool divides are compared, and a difference may"
            " be the assessor's instead of the engines'"
        )
    else:
        yield (
            f"all runs are measured on one pool, what they found together ({pooled.results:,} results): these"
            " means are not those that a run has alone"
        )
