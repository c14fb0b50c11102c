"""Combine several runs into one, on the queries that all of them have, if their grades mean the same.

A result that two runs return is one document of one pool, and each engine keeps the grades of its own run.
Measures that are normalised by the pool need grades that mean the same. They are left out when the runs have
different assessors, prompts or parameters, or when the assessor has become clearly stricter or more generous
(`find_shift`). Single pairs with other grades are noise in both runs; a remark states this.
"""

import json
from collections import Counter
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import chain, combinations
from typing import Literal

import numpy as np

from judge.analysis.judged_run import JudgedRun, RunSpec
from judge.analysis.summary import LabelUse
from judge.dataset.labels import list_unreturned
from judge.dataset.pool import build_pool, pool_dataset
from judge.errors import InputError
from judge.flags import LABEL
from judge.measure.grades_by_pair import map_grades
from judge.measure.intervals import ALPHA
from judge.measure.measures import Measure, list_default_measures
from judge.measure.resampling import compute_randomisation_p, holm
from judge.messages import Message, NameList, SeparatedNames
from judge.records import EXPECTED, Dataset, Judgment, PairKey, Pool, Query, Ranking, Scale

#: The judgments that are compared: those of the shared queries, in as many repeats as every run has.
JudgmentsByRun = Mapping[str, Sequence[Judgment]]
_GradeSource = Literal["assessor", "people"]
#: The texts for lower and for higher grades, by the side that changed.
_SHIFTS: Mapping[frozenset[_GradeSource], tuple[Message, Message]] = {
    frozenset(("assessor",)): (
        Message("judged by an assessor that has become stricter"),
        Message("judged by an assessor that has become more generous"),
    ),
    frozenset(("people",)): (
        Message("graded by people whose labels are lower now"),
        Message("graded by people whose labels are higher now"),
    ),
    frozenset(("assessor", "people")): (
        Message("graded lower by the assessor and by people"),
        Message("graded higher by the assessor and by people"),
    ),
}


@dataclass(frozen=True, slots=True)
class GradeShift:
    """The mean change `by` of the grades in `run`, over the pairs that both runs judged, query by query.

    `p` is the probability of such a change by chance (paired randomisation over queries), adjusted over all
    runs (Holm 1979). `sources` says whose grades changed: the assessor's, people's labels, or both.
    """

    run: str
    by: float
    p: float
    sources: frozenset[_GradeSource]

    @property
    def change(self) -> Message:
        """The direction of the change in words, which complete "the runs were …"."""
        return _SHIFTS[self.sources][self.by > 0]


def explain_inequality(runs: Mapping[str, JudgedRun], queries: Mapping[str, Query]) -> str:
    """Return why the runs' grades do not mean the same; empty when they do."""
    assessors = sorted({run.spec.assessor for run in runs.values()})
    if len(assessors) > 1:
        return Message("judged by different assessors ({names})", names=NameList(assessors))
    # The snippet of a pair has a date only if prompts show it.
    if len({any(pair.snippet.date for pair in run.pool.pairs) for run in runs.values()}) > 1:
        return Message("judged with and without dates in the prompts")
    versions: dict[str, set[str]] = {}
    parameters = set()
    for run in runs.values():
        versions_of_run: dict[str, set[str]] = {}
        for judgment in run.judgments:
            is_label = LABEL in judgment.flags  # which no prompt asked for
            if judgment.query_id in queries and judgment.grade is not None and not is_label:
                versions_of_run.setdefault(judgment.query_id, set()).add(judgment.prompt_version)
        if any(versions.setdefault(query, own) != own for query, own in versions_of_run.items()):
            return Message("judged with different prompts")
        sent = next((judgment.params for judgment in run.judgments if judgment.params), {})
        # The form of a reply is negotiated with the server. It does not show how the model was asked.
        parameters.add(json.dumps({name: value for name, value in sent.items() if name != "response_format"}))
    return Message("judged with different parameters") if len(parameters - {"{}"}) > 1 else ""


def find_shift(judgments: JudgmentsByRun) -> GradeShift | None:
    """Return the most significant change of grades from the first run to another, on their common pairs."""
    (_, first), *others = judgments.items()
    before = map_grades(first)
    shifts = []
    for name, run in others:
        labelled = _find_labelled_pairs(first) | _find_labelled_pairs(run)
        sources: set[_GradeSource] = set()
        moved: dict[str, list[int]] = {}
        for key, grade in map_grades(run).items():
            if key in before:
                moved.setdefault(key[0], []).append(grade - before[key])
                if grade != before[key]:
                    sources.add("people" if key[:2] in labelled else "assessor")
        means = np.array([sum(changes) / len(changes) for _, changes in sorted(moved.items())])
        if means.size:
            p = float(compute_randomisation_p(means[:, None])[0])
            shifts.append(GradeShift(name, float(means.mean()), p, frozenset(sources)))
    adjusted = holm(np.array([shift.p for shift in shifts]))
    shifts = [replace(shift, p=p) for shift, p in zip(shifts, adjusted.tolist(), strict=True)]
    return min(shifts, key=lambda shift: shift.p, default=None)


def _find_labelled_pairs(judgments: Iterable[Judgment]) -> set[PairKey]:
    return {judgment.key for judgment in judgments if LABEL in judgment.flags}


def count_regraded(judgments: JudgmentsByRun) -> tuple[int, int, int]:
    """Return the numbers of pairs that two runs graded, and of grades that assessor and people changed."""
    grades: dict[tuple[str, str, int], int] = {}
    shared = by_assessor = by_people = 0
    labelled: set[PairKey] = set()
    for of_run in judgments.values():
        labelled |= _find_labelled_pairs(of_run)
        for key, grade in map_grades(of_run).items():
            shared += key in grades
            if grades.setdefault(key, grade) != grade:
                by_people += key[:2] in labelled
                by_assessor += key[:2] not in labelled
    return shared, by_assessor, by_people


@dataclass(frozen=True, slots=True)
class CombinedRuns:
    """Several runs as one, with the measures that can be compared.

    `remarks` say how these runs were made comparable, `terms` what holds for all runs that are compared.
    `engine_pairs` are those to compare: one engine in two runs, and engines that are in one run only, of
    different runs; None for all. `names` has the name of each (run, engine) here. `shift` is the most
    significant change of grades, None when the runs share no graded pair.
    """

    run: JudgedRun
    engine_pairs: frozenset[frozenset[str]] | None
    remarks: tuple[str, ...]
    terms: tuple[str, ...]
    names: Mapping[tuple[str, str], str]
    shift: GradeShift | None = None


def combine_runs(runs: Mapping[str, JudgedRun], measures: Iterable[Measure] = ()) -> CombinedRuns:
    """Return the runs as one; an engine that two runs have is named with its run.

    Its measures are those that all runs have, then `measures`. Repeats are cut to as many as every run has.
    Raises InputError when they differ in scale or depth, share no query, or have two queries under one id.
    Raises it, too, when they cannot be compared by `measures` or by any measure.
    """
    runs = dict(sorted(runs.items()))
    _check_scale_and_depth(runs)
    queries = _find_shared_queries(runs)
    names = _name_engines(runs)
    data, pooled = _pool_results(runs, queries, names)
    repeats = min(run.spec.repeats for run in runs.values())
    judgments = _select_judgments(runs, queries, repeats)
    shift = find_shift(judgments)
    unequal = explain_inequality(runs, queries)
    if not unequal and shift and shift.p < ALPHA:
        change, by = shift.change, abs(shift.by)
        unequal = Message("{change} (by {grades:.2f} grades, {run})", change=change, grades=by, run=shift.run)
    first = next(iter(runs.values()))
    common = [
        measure
        for measure in first.spec.measures
        if all(measure in run.spec.measures for run in runs.values())
    ]
    comparable = _choose_measures(runs, common, tuple(measures), unequal)
    separate, pool, separated = _separate_grades(judgments, names, data, pooled)
    # What a run paid is its own: runs share verdicts, so costs don't add up. Labels and controls are, too.
    spec = RunSpec(
        NameList(sorted({run.spec.assessor for run in runs.values()})),
        first.spec.scale,
        repeats,
        comparable,
        selftest={name: entry for run in runs.values() for name, entry in run.spec.selftest.items()},
        labels=_combine_expected_labels(runs, separate, pool),
    )
    engine_pairs = _find_engine_pairs(names)
    remarks = tuple(_iter_remarks(runs, len(queries), repeats, judgments, unequal))
    terms = tuple(_iter_terms(pooled.results, engine_pairs, unequal))
    return CombinedRuns(
        JudgedRun(separate, pool, separated, spec), engine_pairs, remarks, terms, names, shift
    )


def _pool_results(
    runs: Mapping[str, JudgedRun], queries: Mapping[str, Query], names: Mapping[tuple[str, str], str]
) -> tuple[Dataset, Pool]:
    """Return the results of all runs for the shared `queries` as one dataset, and its pool."""
    rankings = [
        replace(ranking, engine=names[name, ranking.engine])
        for name, run in runs.items()
        for ranking in run.dataset.rankings
        if ranking.query_id in queries
    ]
    engines = tuple(sorted({ranking.engine for ranking in rankings}))
    dates = any(run.dataset.dates for run in runs.values())
    return pool_dataset(
        Dataset(queries, tuple(rankings), engines, dates=dates), next(iter(runs.values())).pool.depth
    )


def _select_judgments(
    runs: Mapping[str, JudgedRun], queries: Mapping[str, Query], repeats: int
) -> JudgmentsByRun:
    return {
        name: [
            judgment
            for judgment in run.judgments
            if judgment.query_id in queries and judgment.repeat <= repeats
        ]
        for name, run in runs.items()
    }


def _check_scale_and_depth(runs: Mapping[str, JudgedRun]) -> None:
    (name, first), *others = runs.items()
    for other, run in others:
        for what, one, two in (
            (Message("scale"), _describe_scale(first.spec.scale), _describe_scale(run.spec.scale)),
            (Message("depth"), str(first.pool.depth), str(run.pool.depth)),
        ):
            if one != two:
                raise InputError(
                    "{name} and {other} can't be compared: {what} is {value} in one and {other_value} in the"
                    " other; judge both with the same settings",
                    name=name,
                    other=other,
                    what=what,
                    value=one,
                    other_value=two,
                )


def _describe_scale(scale: Scale) -> Message:
    return Message("{scale} (relevant from {grade})", scale=scale.name, grade=scale.relevant_from)


def _choose_measures(
    runs: Mapping[str, JudgedRun], common: Sequence[Measure], wanted: Sequence[Measure], unequal: str
) -> tuple[Measure, ...]:
    """Return the measures to compare the runs by: the `common` ones, and those that are `wanted`.

    Where the grades are `unequal`, measures that the pool divides are left out. Raises InputError when none
    that compares engines remains, or a wanted one is left out.
    """

    def select(measures: Iterable[Measure]) -> tuple[Measure, ...]:
        return tuple(dict.fromkeys(measure for measure in measures if measure.pool_free or not unequal))

    chosen = select((*common, *wanted))
    if any(measure.compares_engines for measure in chosen) and all(measure in chosen for measure in wanted):
        return chosen
    of_runs = (run.spec.measures for run in runs.values())
    possible = select(chain(*of_runs, list_default_measures(next(iter(runs.values())).pool.depth)))
    if unequal:
        problem = Message(
            "the runs were {unequal}, so only measures that do not depend on the pool can be compared",
            unequal=unequal,
        )
    else:
        problem = Message("{runs} have no measure in common that compares engines", runs=NameList(runs))
    names = " ".join(str(measure) for measure in possible if measure.compares_engines)
    raise InputError("{problem}; choose from these: --measures {names!r}", problem=problem, names=names)


def _find_shared_queries(runs: Mapping[str, JudgedRun]) -> dict[str, Query]:
    (name, first), *others = ((name, run.dataset.queries) for name, run in runs.items())
    shared = {id_: query for id_, query in first.items() if all(id_ in queries for _, queries in others)}
    if not shared:
        raise InputError("{runs} share no query_id; name runs of the same queries", runs=NameList(runs))
    for other, queries in others:
        for id_, query in shared.items():
            if queries[id_].text != query.text:
                raise InputError(
                    "query_id {query_id!r} is {query!r} in {name} and {other_query!r} in {other}; runs are"
                    " paired by query_id, so it must name one query",
                    query_id=id_,
                    query=query.text,
                    name=name,
                    other_query=queries[id_].text,
                    other=other,
                )
    extras = {id_: [set(run.dataset.queries[id_].extra.items()) for run in runs.values()] for id_ in shared}
    return {
        id_: replace(query, extra=dict(sorted(set.intersection(*extras[id_]))))
        for id_, query in shared.items()
    }


def _name_engines(runs: Mapping[str, JudgedRun]) -> dict[tuple[str, str], str]:
    """Return the name of each (run, engine): its own name, with the run's where two runs have it."""
    times = Counter(engine for run in runs.values() for engine in run.dataset.engines)
    labels = {engine for engine, count in times.items() if count == 1}
    names = {}
    for name, run in runs.items():
        for engine in run.dataset.engines:
            label = engine
            while times[engine] > 1 and (label == engine or label in labels):
                label += f" ({name})"
            labels.add(label)
            names[name, engine] = label
    return names


def _find_engine_pairs(names: Mapping[tuple[str, str], str]) -> frozenset[frozenset[str]] | None:
    """Return the pairs of engines to compare; None, for all, when no engine is in two runs."""
    times = Counter(engine for _, engine in names)
    if max(times.values()) == 1:
        return None
    return frozenset(
        frozenset((names[one], names[two]))
        for one, two in combinations(names, 2)
        if one[0] != two[0] and (one[1] == two[1] or times[one[1]] == times[two[1]] == 1)
    )


def _separate_grades(
    judgments: JudgmentsByRun, names: Mapping[tuple[str, str], str], data: Dataset, pooled: Pool
) -> tuple[Dataset, Pool, tuple[Judgment, ...]]:
    """Return snippets and judgments with the run in their ids, so that each engine keeps its own grades.

    A pair without a grade in any run has one id, so that one grade is estimated for it.
    """
    run_of = {engine: name for (name, _), engine in names.items()}
    graded = {key[:2] for of_run in judgments.values() for key in map_grades(of_run)}

    def mark(name: str, query_id: str, snippet_id: str) -> str:
        return f"{name}/{snippet_id}" if (query_id, snippet_id) in graded else snippet_id

    def mark_snippets(ranking: Ranking) -> Ranking:
        run, query_id = run_of[ranking.engine], ranking.query_id
        snippets = tuple(replace(snippet, id=mark(run, query_id, snippet.id)) for snippet in ranking.snippets)
        return replace(ranking, snippets=snippets)

    separate = replace(data, rankings=tuple(map(mark_snippets, data.rankings)))
    separated: dict[tuple[str, str, int], Judgment] = {}
    for name, of_run in judgments.items():
        for judgment in of_run:
            marked = replace(judgment, snippet_id=mark(name, *judgment.key))
            separated.setdefault((*marked.key, marked.repeat), marked)
    # A pair that two runs have was judged in both; its document stays one.
    return separate, replace(pooled, pairs=build_pool(separate, pooled.depth).pairs), (*separated.values(),)


def _combine_expected_labels(runs: Mapping[str, JudgedRun], data: Dataset, pool: Pool) -> LabelUse | None:
    """Return the use of the expected documents where every run takes its grades from them, else None."""
    if any(run.spec.labels is None or run.spec.labels.unreturned is None for run in runs.values()):
        return None
    unreturned = sum(map(len, list_unreturned(data).values()))
    return LabelUse(EXPECTED, len(pool.pairs), 0, None, unreturned)


def _iter_remarks(
    runs: Mapping[str, JudgedRun],
    queries: int,
    repeats: int,
    judgments: JudgmentsByRun,
    unequal: str,
) -> Iterator[str]:
    counts = {name: len(run.dataset.queries) for name, run in runs.items()}
    if any(count != queries for count in counts.values()):
        by_run = SeparatedNames(f"{name} {count:,}" for name, count in counts.items())
        yield Message(
            "compared on the {queries:,} queries that all runs have ({by_run})",
            queries=queries,
            by_run=by_run,
        )
    if any(run.spec.repeats != repeats for run in runs.values()):
        yield Message(
            "the runs have different numbers of repeats; repeats compared of each: {repeats:,}",
            repeats=repeats,
        )
    shared, by_assessor, by_people = count_regraded(judgments)
    of_assessor = Message("a difference of the assessors") if unequal else Message("the assessor's noise")
    for differing, cause in ((by_assessor, of_assessor), (by_people, Message("a change of people's labels"))):
        if differing:
            yield Message(
                "{differing:,} of {shared:,} judgments that two runs have in common differ: {cause} is part"
                " of every difference",
                differing=differing,
                shared=shared,
                cause=cause,
            )
    if unequal:
        yield Message(
            "the runs were {unequal}: only measures that do not depend on the pool are compared, and a"
            " difference may come from the grades instead of the engines",
            unequal=unequal,
        )


def _iter_terms(results: int, engine_pairs: Collection[object] | None, unequal: str) -> Iterator[str]:
    if not unequal:
        yield Message(
            "all runs are measured on one pool, the {results:,} results of all of them: these means can"
            " differ from those of a run alone",
            results=results,
        )
    if engine_pairs is not None:
        yield Message("engines are compared across runs; within a run: judge compare RUN")
