"""Owns holding tonight against the baseline: both on one frozen pool, on the queries that both ask.

What can't be compared is said before anything is: a judge that is asked otherwise, or other queries.
"""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judge.analysis.combine_runs import CombinedRuns, combine_runs
from judge.analysis.summary import RunSpec
from judge.config.nightly import NightlyConfig
from judge.measure.compare import compare_engines
from judge.measure.measures import Measure
from judge.measure.score import score_rankings
from judge.nightly.differences import different
from judge.nightly.drift import QueryDrift, shared
from judge.nightly.gate import Row, changes, could_hide, decide, too_few
from judge.runs.load import LoadedRun
from judge.runs.result import RunResult

#: What may differ between two nights of one judge: the canaries answer for the server behind an address.
_FREE = frozenset({"dataset", "endpoint", "repeats", "as_of"})
_BEFORE, _NOW = "baseline", "tonight"


def held(outcome: RunResult) -> LoadedRun:
    """Tonight's run as it would be read back."""
    found = outcome.summary
    asked = RunSpec(
        found["assessor"], outcome.scale, found["repeats"], outcome.scores.measures, found["cost"]
    )
    return LoadedRun(outcome.data, outcome.pool, outcome.judgments, asked)


def asked_otherwise(tonight: Mapping[str, Any], baseline: Mapping[str, Any]) -> list[str]:
    """How the judge is asked differently than at the baseline; both are identities of runs."""
    changed = list(different(baseline, tonight, _FREE))
    return [f"the judge is another one by judge.toml: {'; '.join(changed)}"] if changed else []


def too_different(found: QueryDrift, rules: NightlyConfig, to_set: str) -> Iterator[str]:
    """Why tonight's queries are too different from the baseline's; `to_set` makes tonight the baseline."""
    if not found.shared or found.shared_share < rules.min_shared:
        yield (
            f"only {found.shared_share:.0%} of the baseline's {found.baseline:,} queries are asked tonight,"
            f" less than min_shared {rules.min_shared:.0%}: scores over different queries don't compare;"
            f" ask the same ones, or make a night of the new ones the baseline: {to_set}"
        )


def meet(tonight: LoadedRun, before: LoadedRun, measures: Sequence[Measure]) -> CombinedRuns:
    """Both runs on one pool and on the queries that both ask, to be measured by `measures`."""
    ids = shared(tonight.data.queries, before.data.queries)
    return combine_runs({_BEFORE: _cut(before, ids, measures), _NOW: _cut(tonight, ids, measures)})


def shifted(met: CombinedRuns, rules: NightlyConfig) -> Iterator[str]:
    """That the judge is another one by the grades of pairs that it judged for both runs."""
    if met.shift is not None and met.shift.p < rules.canary_alpha:
        yield f"pairs that both runs judged were judged by {met.shift.said}, p = {met.shift.p:.2g}"


def rows(met: CombinedRuns, broken: Collection[str], rules: NightlyConfig) -> tuple[Row, ...]:
    """The gate's rows, engine by engine, over those that are in both runs."""
    sides = _sides(met)
    if not sides:
        return ()
    on = met.held
    scores = score_rankings(
        on.data.rankings,
        on.pool.documents,
        on.judgments,
        on.asked.measures,
        on.asked.scale,
        depth=on.pool.depth,
    )
    compared = compare_engines(scores, {frozenset(pair) for pair in sides.values()})
    return decide(changes(compared, scores, sides, rules.alpha), broken, rules)


def remarks(met: CombinedRuns, rows: Sequence[Row], rules: NightlyConfig) -> Iterator[str]:
    """What was done to make both runs comparable, and what could not be found."""
    yield from met.notes
    if not _sides(met):
        yield "no engine is in the baseline and in tonight's dataset"
    new = sorted(
        {engine for _, engine in met.names} - {engine for run, engine in met.names if run == _BEFORE}
    )
    if new:
        yield f"not in the baseline, so not compared: {', '.join(new)}"
    yield from too_few(rows, rules.alpha)
    yield from could_hide(rows, rules.min_drop)


def _cut(run: LoadedRun, ids: frozenset[str], measures: Sequence[Measure]) -> LoadedRun:
    """The run on some of its queries, to be measured by `measures`: its grades give any."""
    queries = {id_: query for id_, query in run.data.queries.items() if id_ in ids}
    return replace(
        run, data=replace(run.data, queries=queries), asked=replace(run.asked, measures=tuple(measures))
    )


def _sides(met: CombinedRuns) -> dict[str, tuple[str, str]]:
    """What each engine that both runs have is called: at the baseline and tonight."""
    names, known = met.names, set(met.held.data.engines)
    both = sorted(engine for run, engine in names if run == _BEFORE and (_NOW, engine) in names)
    sides = {engine: (names[_BEFORE, engine], names[_NOW, engine]) for engine in both}
    return {engine: pair for engine, pair in sides.items() if known.issuperset(pair)}
