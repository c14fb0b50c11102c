"""Owns a night from end to end: collect, ask the canaries, judge, hold against the baseline, decide, tell.

Every step keeps what it paid for, so a night that was killed goes on where it stopped, and a finished
one is only told again: no call, the same bytes, the same exit code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from judge import pipeline, setup
from judge.assess.watch import Watch
from judge.config import Config
from judge.measure.measures import Measure
from judge.nightly import against, baseline, canaries, drift, record
from judge.nightly.baseline import Baseline
from judge.nightly.canaries import CanaryCheck
from judge.nightly.decision import Found, broken, decide
from judge.nightly.quarantine import quarantined
from judge.nightly.rules import Rules
from judge.report.outcome import Outcome
from judge.report.rundir import RunFolder, dump

RECORD = "night.json"


@dataclass(frozen=True, slots=True)
class Tonight:
    """What a night works with: its day, its folder, its run's options, and what it is decided by."""

    day: str
    folder: RunFolder
    config: Config
    rules: Rules
    measures: tuple[Measure, ...]
    baseline: Baseline | None


@dataclass(frozen=True, slots=True)
class _Gate:
    """What holding a night against the baseline gave; `queries` is None when there was nothing to hold."""

    found: Found
    queries: drift.QueryDrift | None
    remarks: Sequence[str]


def finished(folder: RunFolder) -> Mapping[str, Any] | None:
    """The record of the night in `folder` when nothing is left to do; else None."""
    found = folder.read_if_there(RECORD)
    return None if found is None or found["status"] == "incomplete" else found


def night(tonight: Tonight, watch: Watch | None = None) -> Mapping[str, Any]:
    """The night's record, after all of its work is done and night.json is written.

    Raises InputError before anything is paid, and what `pipeline.run` raises.
    """
    who = _identity(tonight.config)
    otherwise = _otherwise(who, tonight.baseline)
    check = _canaries(tonight, watch)
    drifted = check.reasons if check else ()
    missing = _unheard(check, tonight.rules)
    config = _own_store(tonight) if drifted and not otherwise else tonight.config
    outcome = None if missing else pipeline.run(config, watch=watch)
    gate = _gate(tonight, outcome, [*missing, *_incomplete(outcome)], [*otherwise, *drifted])
    written = _record(tonight, who["prompts"], check, outcome, gate)
    tonight.folder.write(RECORD, [dump(written, indent=2), "\n"])
    return written


def _identity(config: Config) -> Mapping[str, Any]:
    """What the night asks of whom; reads the dataset, so that a bad one costs nothing."""
    assessors = setup.assessors(config)
    return setup.folder(config, setup.dataset(config), assessors)[1]


def _otherwise(who: Mapping[str, Any], frozen: Baseline | None) -> list[str]:
    return list(against.asked_otherwise(who, frozen.identity)) if frozen else []


def _canaries(tonight: Tonight, watch: Watch | None) -> CanaryCheck | None:
    if not tonight.rules.canary_repeats:
        return None
    run = canaries.judged(tonight.config, tonight.folder.path, tonight.rules.canary_repeats, watch)
    return canaries.check(run, tonight.baseline, tonight.rules)


def _unheard(check: CanaryCheck | None, rules: Rules) -> list[str]:
    """Why the run need not begin: a judge that doesn't answer the canaries won't answer for engines."""
    if check is None or check.graded.unheard <= rules.max_missing * check.graded.asked:
        return []
    return [f"the judge did not answer: {check.run.incomplete or 'canaries are missing'}"]


def _incomplete(outcome: Outcome | None) -> list[str]:
    return [str(outcome.incomplete)] if outcome is not None and outcome.incomplete is not None else []


def _own_store(tonight: Tonight) -> Config:
    """The options of a night whose judge drifted without a word: its verdicts are kept apart."""
    shared = setup.store(tonight.config, tonight.folder)
    return replace(tonight.config, store=str(quarantined(shared, tonight.folder.path)))


def _gate(tonight: Tonight, outcome: Outcome | None, missing: Sequence[str], judge: Sequence[str]) -> _Gate:
    frozen, rules = tonight.baseline, tonight.rules
    if frozen is None or outcome is None:
        return _Gate(Found(frozen is not None, judge, missing), None, ())
    judge = [*judge, *_strangers(outcome, frozen)]
    held = against.held(outcome)
    queries = drift.query_drift(held, frozen.held)
    gone = broken(outcome.summary["engines"], frozen.summary["engines"], rules.max_missing)
    found = Found(True, judge, missing, tuple(against.too_different(queries, rules.min_shared)), gone)
    if found.suspended:
        remarks: Sequence[str] = ("the gate was suspended: no engine is blamed tonight",)
        return _Gate(found, queries, remarks)
    rows, remarks = against.rows(held, frozen, gone, tonight.measures, rules)
    return _Gate(replace(found, rows=rows), queries, (*drift.worth_saying(queries), *remarks))


def _strangers(outcome: Outcome, frozen: Baseline) -> list[str]:
    """Models that graded tonight and are not those of the baseline, by what servers call them."""
    new = baseline.served(outcome.summary) - frozen.served
    if not new or not frozen.served:
        return []
    return [f"a model graded tonight that is not in the baseline: {', '.join(sorted(new))}"]


def _record(
    tonight: Tonight,
    prompts: Mapping[str, str],
    check: CanaryCheck | None,
    outcome: Outcome | None,
    gate: _Gate,
) -> dict[str, Any]:
    decision = decide(gate.found)
    summary = outcome.summary if outcome else None
    runs = (outcome, check.run if check else None)
    summaries = [run.summary for run in runs if run is not None]
    config, scale = tonight.config, tonight.config.grading
    return {
        "format": record.FORMAT,
        "date": tonight.day,
        **record.decided(decision),
        "remarks": [*gate.remarks, *(outcome.warnings if outcome else ())],
        "assessor": next((each["assessor"] for each in summaries), config.model),
        "prompts": dict(prompts),
        "served": sorted(frozenset().union(*map(baseline.served, summaries))),
        "scale": scale.name,
        "relevant_from": scale.relevant_from,
        "depth": config.depth,
        "repeats": config.repeats,
        **record.tonight(summary),
        "baseline": record.frozen(tonight.baseline) if tonight.baseline else None,
        "gate": record.gate(gate.found, tonight.rules, tonight.measures) if gate.queries else None,
        "canaries": record.checked(check) if check else None,
        "query_drift": record.queries(gate.queries) if gate.queries else None,
        "cost": record.cost([each["cost"] for each in summaries]),
    }
