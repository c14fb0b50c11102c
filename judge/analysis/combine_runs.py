"""Owns putting runs side by side: their engines meet on the queries that all runs have.

A result that two runs show is one document of one pool, and each engine keeps the grades that its own
run was given. Measures that a pool divides need grades that mean the same: they are left out when the
runs were judged by different assessors, with different prompts or parameters, or by one that has become
clearly stricter or more generous. One that grades a pair differently now and then is noise, which both
runs have alike: it is said, and nothing is left out.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import combinations

import numpy as np

from judge.dataset.pool import build_pool
from judge.errors import InputError
from judge.measure.measures import Measure
from judge.measure.resampling import compute_randomisation_p, holm
from judge.records import Dataset, Judgment, Pool, Query, Ranking, Scale
from judge.report.words import counted, listed
from judge.runs.folder import dump_json
from judge.runs.load import LoadedRun

#: Below this p the assessor counts as changed between runs.
_ALPHA = 0.05


@dataclass(frozen=True, slots=True)
class CombinedRuns:
    """Runs as one: what scoring needs, and the measures that are fair.

    `notes` say what was done to these runs, `terms` what holds for all that are compared like this.
    `pairs` are those of one engine in two runs, which is what two nights are compared for, and those of
    engines that one run alone has, in different runs; None when no two runs have an engine in common, and
    all engines are to be compared. `names` says what each (run, engine) is called here. `shift` is the
    surest change of grades, None when runs have no graded pair in common.
    """

    held: LoadedRun
    pairs: frozenset[frozenset[str]] | None
    notes: tuple[str, ...]
    terms: tuple[str, ...]
    names: Mapping[tuple[str, str], str]
    shift: GradeShift | None = None


@dataclass(frozen=True, slots=True)
class GradeShift:
    """How the grades of pairs that two runs judged differ: by `by` in `run`, averaged query by query.

    `p` is the chance of as much when the assessor is the same (paired randomisation over queries),
    adjusted over all runs that were looked at (Holm 1979).
    """

    run: str
    by: float
    p: float

    @property
    def said(self) -> str:
        """What has become of the assessor, in words."""
        word = "more generous" if self.by > 0 else "stricter"
        return f"an assessor that has become {word} (by {abs(self.by):.2f} grades, {self.run})"


def combine_runs(runs: Mapping[str, LoadedRun]) -> CombinedRuns:
    """The runs, by name, as one whose engines carry the run's name where two runs have them.

    Repeats are cut to as many as every run has. Raises InputError when the runs differ in scale or
    depth, share no query, or ask different things under one query id.
    """
    runs = dict(sorted(runs.items()))
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
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    data = Dataset(queries, tuple(rankings), engines, dates=any(held.data.dates for held in runs.values()))
    pooled = build_pool(data, first.pool.depth)
    repeats = min(held.asked.repeats for held in runs.values())
    shift = _shift(runs, queries, repeats)
    unequal = _unequal(runs, queries)
    if not unequal and shift and shift.p < _ALPHA:
        unequal = f"judged by {shift.said}"
    common = _measures(runs)
    if not common:
        raise InputError(
            f"{listed(runs)} have no measure in common; score them alike first:"
            " judge score RUN --save --measures …"
        )
    measures = tuple(measure for measure in common if measure.pool_free or not unequal)
    if not measures:
        raise InputError(
            f"the runs were {unequal}, so only measures that no pool divides can be compared, and there is"
            ' none; add some to each run: judge score RUN --save --measures "nDCG@10 AP@10 P@5 sDCG@10"'
        )
    assessor = listed(sorted({held.asked.assessor for held in runs.values()}))
    # What a run paid is its own: runs share verdicts, so costs don't add up.
    asked = replace(first.asked, assessor=assessor, repeats=repeats, measures=measures, cost={})
    held = LoadedRun(*_apart(runs, names, data, pooled, repeats), asked)
    pairs = _across(names)
    notes = [*_notes(runs, queries, repeats), *([_without_a_pool(unequal)] if unequal else [])]
    terms = [] if unequal else [_on_the_pool(pooled)]
    if pairs is not None:
        terms.append("engines are compared across runs; within a run: judge compare RUN")
    return CombinedRuns(held, pairs, tuple(notes), tuple(terms), names, shift)


def _check(runs: Mapping[str, LoadedRun]) -> None:
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


def _shared_queries(runs: Mapping[str, LoadedRun]) -> dict[str, Query]:
    (name, first), *others = ((name, held.data.queries) for name, held in runs.items())
    all_ = [first, *(queries for _, queries in others)]
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
    return {
        id_: replace(query, extra=dict(set.intersection(*(set(each[id_].extra.items()) for each in all_))))
        for id_, query in shared.items()
    }


def _engine_names(runs: Mapping[str, LoadedRun]) -> dict[tuple[str, str], str]:
    """What each run's engine is called among all: its own name, with the run's where two runs have it."""
    times = Counter(engine for held in runs.values() for engine in held.data.engines)
    taken = {engine for engine, count in times.items() if count == 1}
    names: dict[tuple[str, str], str] = {}
    for run, held in runs.items():
        for engine in held.data.engines:
            name = engine if times[engine] == 1 else f"{engine} ({run})"
            while times[engine] > 1 and name in taken:
                name += f" ({run})"
            taken.add(name)
            names[run, engine] = name
    return names


def _across(names: Mapping[tuple[str, str], str]) -> frozenset[frozenset[str]] | None:
    """The pairs of one engine in two runs, and of two runs' own engines; None when no engine is in two."""
    times = Counter(engine for _, engine in names)
    if max(times.values()) == 1:
        return None
    return frozenset(
        frozenset((names[one], names[two]))
        for one, two in combinations(names, 2)
        if one[0] != two[0] and (one[1] == two[1] or times[one[1]] == times[two[1]] == 1)
    )


def _measures(runs: Mapping[str, LoadedRun]) -> Sequence[Measure]:
    """The measures of the first run that all have."""
    first, *others = (held.asked.measures for held in runs.values())
    return [measure for measure in first if all(measure in measures for measures in others)]


def _apart(
    runs: Mapping[str, LoadedRun],
    names: Mapping[tuple[str, str], str],
    data: Dataset,
    pooled: Pool,
    repeats: int,
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
    return apart, replace(pooled, pairs=build_pool(apart, pooled.depth).pairs), judgments


def _unequal(runs: Mapping[str, LoadedRun], queries: Mapping[str, Query]) -> str:
    """Why the runs' grades don't mean the same; empty when they do."""
    assessors = sorted({held.asked.assessor for held in runs.values()})
    if len(assessors) > 1:
        return f"judged by different assessors ({', '.join(assessors)})"
    versions: dict[str, set[str]] = {}
    parameters = set()
    for held in runs.values():
        asked: dict[str, set[str]] = {}
        for judgment in held.judgments:
            if judgment.query_id in queries and judgment.grade is not None:
                asked.setdefault(judgment.query_id, set()).add(judgment.prompt_version)
        if any(versions.setdefault(query, each) != each for query, each in asked.items()):
            return "judged with different prompts"
        sent = next((judgment.params for judgment in held.judgments if judgment.params), {})
        # The form of a reply is negotiated with the server and says nothing of how it was asked.
        parameters.add(dump_json({name: value for name, value in sent.items() if name != "response_format"}))
    return "judged with different parameters" if len(parameters - {"{}"}) > 1 else ""


def _shift(runs: Mapping[str, LoadedRun], queries: Mapping[str, Query], repeats: int) -> GradeShift | None:
    """The surest of the changes of grades, from the first run to each other on the pairs that both have."""
    (_, first), *others = runs.items()
    known = _given(first, queries, repeats)
    found = []
    for name, held in others:
        moved: dict[str, list[int]] = {}
        for key, grade in _given(held, queries, repeats).items():
            if key in known:
                moved.setdefault(key[0], []).append(grade - known[key])
        means = np.array([sum(each) / len(each) for _, each in sorted(moved.items())])
        if means.size:
            found.append(
                GradeShift(name, float(means.mean()), float(compute_randomisation_p(means[:, None])[0]))
            )
    adjusted = holm(np.array([shift.p for shift in found]))
    found = [replace(shift, p=p) for shift, p in zip(found, adjusted.tolist(), strict=True)]
    return min(found, key=lambda shift: shift.p, default=None)


def _given(held: LoadedRun, queries: Mapping[str, Query], repeats: int) -> dict[tuple[str, str, int], int]:
    return {
        (judgment.query_id, judgment.snippet_id, judgment.repeat): judgment.grade
        for judgment in held.judgments
        if judgment.grade is not None and judgment.query_id in queries and judgment.repeat <= repeats
    }


def _regraded(runs: Mapping[str, LoadedRun], queries: Mapping[str, Query], repeats: int) -> tuple[int, int]:
    """How many pairs that two runs graded have two grades, and how many two runs graded."""
    grades: dict[tuple[str, str, int], int] = {}
    shared = differing = 0
    for held in runs.values():
        for key, grade in _given(held, queries, repeats).items():
            shared += key in grades
            differing += grades.setdefault(key, grade) != grade
    return differing, shared


def _notes(runs: Mapping[str, LoadedRun], queries: Mapping[str, Query], repeats: int) -> Iterator[str]:
    asked = {name: len(held.data.queries) for name, held in runs.items()}
    if any(count != len(queries) for count in asked.values()):
        each = ", ".join(f"{name} {count:,}" for name, count in asked.items())
        yield f"compared on the {len(queries):,} queries that all runs have ({each})"
    if any(held.asked.repeats != repeats for held in runs.values()):
        yield f"compared on {counted(repeats, 'repeat')}, which is what every run has"
    differing, shared = _regraded(runs, queries, repeats)
    if differing:
        yield (
            f"{differing:,} of {shared:,} judgments that two runs have in common differ: the assessor's noise"
            " is part of every difference"
        )


def _without_a_pool(unequal: str) -> str:
    """What grades that don't mean the same leave to compare."""
    return (
        f"the runs were {unequal}: only measures that no pool divides are compared, and a difference may"
        " be the assessor's instead of the engines'"
    )


def _on_the_pool(pooled: Pool) -> str:
    """What the means are measured against."""
    return (
        f"all runs are measured on one frozen pool, what they found together ({pooled.results:,} results):"
        " these means are not those that a run has alone"
    )
