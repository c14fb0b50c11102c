"""Owns holding tonight against the baseline: both on one frozen pool, on the queries that both ask.

What can't be compared is said before anything is: a judge that is asked otherwise, or other queries.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from typing import Any

from judge.measure.compare import compare
from judge.measure.measures import Measure
from judge.measure.score import score
from judge.nightly.baseline import Baseline
from judge.nightly.drift import QueryDrift, shared
from judge.nightly.gate import Row, changes, decide
from judge.nightly.rules import Rules
from judge.report.outcome import Outcome
from judge.report.reload import Held
from judge.report.summary import Asked
from judge.report.together import Together, together

#: What may differ between two nights of one judge: the canaries answer for the server behind an address.
_FREE = frozenset({"dataset", "endpoint", "repeats", "as_of"})
_BEFORE, _NOW = "baseline", "tonight"


def held(outcome: Outcome) -> Held:
    """Tonight's run as it would be read back."""
    found = outcome.summary
    asked = Asked(found["assessor"], outcome.scale, found["repeats"], outcome.scores.measures, found["cost"])
    return Held(outcome.data, outcome.pool, outcome.judgments, asked)


def asked_otherwise(tonight: Mapping[str, Any], baseline: Mapping[str, Any]) -> Iterator[str]:
    """How the judge is asked differently than at the baseline; both are identities of runs.

    What one alone has is an option that another version of judge doesn't know.
    """
    for name in sorted(tonight.keys() & baseline.keys() - _FREE):
        if tonight[name] != baseline[name]:
            yield (
                f"the judge is another one by judge.toml: {name} was {baseline[name]!r}, now"
                f" {tonight[name]!r}; to go on with it, make a night of it the baseline:"
                " judge baseline set RUN"
            )


def too_different(found: QueryDrift, least: float) -> Iterator[str]:
    """Why tonight's queries are too different from the baseline's."""
    if not found.shared or found.shared_share < least:
        yield (
            f"only {found.shared_share:.0%} of the baseline's {found.baseline:,} queries are asked tonight,"
            f" less than min_shared {least:.0%}: scores over different queries don't compare; ask the same"
            " ones, or make a night of the new ones the baseline: judge baseline set RUN"
        )


def rows(
    tonight: Held, baseline: Baseline, broken: Mapping[str, str], measures: Sequence[Measure], rules: Rules
) -> tuple[tuple[Row, ...], tuple[str, ...]]:
    """The gate's rows, engine by engine, and what was done to make both runs comparable."""
    before = baseline.held
    ids = shared(tonight.data.queries, before.data.queries)
    met = together({_BEFORE: _cut(before, ids, measures), _NOW: _cut(tonight, ids, measures)})
    sides = _sides(met)
    if not sides:
        return (), ("no engine is in the baseline and in tonight's dataset",)
    on = met.held
    scores = score(
        on.data.rankings,
        on.pool.documents,
        on.judgments,
        on.asked.measures,
        on.asked.scale,
        depth=on.pool.depth,
    )
    compared = compare(scores, {frozenset(pair) for pair in sides.values()})
    found = decide(changes(compared, scores, sides), broken.keys(), rules)
    return found, (*met.notes, *_newcomers(tonight, before))


def _cut(run: Held, ids: frozenset[str], measures: Sequence[Measure]) -> Held:
    """The run on some of its queries, to be measured by `measures`: its grades give any."""
    queries = {id_: query for id_, query in run.data.queries.items() if id_ in ids}
    return replace(
        run, data=replace(run.data, queries=queries), asked=replace(run.asked, measures=tuple(measures))
    )


def _sides(met: Together) -> dict[str, tuple[str, str]]:
    """What each engine that both runs have is called: at the baseline and tonight."""
    names, known = met.names, set(met.held.data.engines)
    both = sorted(engine for run, engine in names if run == _BEFORE and (_NOW, engine) in names)
    sides = {engine: (names[_BEFORE, engine], names[_NOW, engine]) for engine in both}
    return {engine: pair for engine, pair in sides.items() if known.issuperset(pair)}


def _newcomers(tonight: Held, before: Held) -> Iterator[str]:
    new = sorted(set(tonight.data.engines) - set(before.data.engines))
    if new:
        yield f"not in the baseline, so not compared: {', '.join(new)}"
