"""Owns a night from end to end: collect, ask the canaries, judge, hold against the baseline, decide, tell.

Every step keeps what it paid for, so a night that was killed goes on where it stopped, and a finished
one is only told again: no call, the same bytes, the same exit code.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from typing import Any

from judge import pipeline, setup
from judge.assess.watch import Watch
from judge.config import Config
from judge.measure.measures import Measure
from judge.nightly import against, baseline, canaries, drift, record, stores
from judge.nightly.baseline import Baseline, graded_run, rounds
from judge.nightly.canaries import CanaryCheck
from judge.nightly.decision import Found, broken, decide, silent
from judge.nightly.history import FORMAT, RECORD
from judge.nightly.rules import Rules
from judge.report.outcome import Outcome
from judge.report.rundir import RunFolder, dump

_SUSPENDED = "the gate was suspended: no engine is blamed tonight"


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
    return found if found and found.get("finished") else None


def night(tonight: Tonight, watch: Watch | None = None) -> Mapping[str, Any]:
    """The night's record, after all of its work is done and night.json is written.

    Raises InputError before anything is paid, and what `pipeline.run` raises.
    """
    config = tonight.config
    who = _identity(config)
    _promote(tonight)
    otherwise = _otherwise(who, tonight)
    check = _canaries(tonight, watch)
    known = [*otherwise, *(check.reasons if check else ())]
    missing = _unheard(check, tonight.rules)
    outcome = None
    if not missing:
        kept = _store(tonight, who, check, apart=bool(known))
        _take_mended(tonight.folder, who)
        outcome = pipeline.run(replace(spared(config, check), store=str(kept)), watch=watch)
        missing = _incomplete(outcome, check)
    gate = _gate(tonight, outcome, missing, known)
    apart = kept if outcome and known else None
    if not missing:
        _settle(tonight, changed=bool(gate.found.judge))
    written = _record(tonight, who["prompts"], check, outcome, gate)
    written["apart"] = apart and relpath(apart, tonight.folder.path)
    tonight.folder.write(RECORD, [dump(written, indent=2), "\n"])
    return written


def _identity(config: Config) -> Mapping[str, Any]:
    """What the night asks of whom; reads the dataset, so that a bad one costs nothing."""
    assessors = setup.assessors(config)
    return setup.folder(config, setup.dataset(config), assessors)[1]


def _take_mended(folder: RunFolder, who: Mapping[str, Any]) -> None:
    """Lets an unfinished night go on with a mended dataset: what was paid is in the store."""
    held = (folder.read_if_there("config.json") or {}).get("identity")
    if held and {**held, "dataset": who["dataset"]} == {**who} and held["dataset"] != who["dataset"]:
        (folder.path / "config.json").unlink()


def _promote(tonight: Tonight) -> None:
    """Makes the verdicts that were kept apart the shared ones, once a night of them is the baseline."""
    shared = _shared(tonight)
    if tonight.baseline and tonight.baseline.apart:
        kept = shared.with_name(tonight.baseline.apart)
        if kept.exists():
            stores.replace(shared, kept)


def _shared(tonight: Tonight) -> Path:
    return setup.store(tonight.config, tonight.folder)


def _otherwise(who: Mapping[str, Any], tonight: Tonight) -> list[str]:
    frozen = tonight.baseline
    return list(against.asked_otherwise(who, frozen.identity, tonight.rules.to_set)) if frozen else []


def _canaries(tonight: Tonight, watch: Watch | None) -> CanaryCheck | None:
    repeats, night = tonight.rules.canary_repeats, tonight.folder.path
    if not repeats:
        return None
    run = canaries.judged(tonight.config, night, repeats, watch, anew=_left_to_pay(tonight))
    return canaries.check(run, tonight.baseline, tonight.rules)


def _left_to_pay(tonight: Tonight) -> bool:
    """Whether the night's run was begun and is to be gone on with, maybe by another judge than began it."""
    begun = tonight.folder.read_if_there("config.json")
    if begun is None:
        return False
    store = Path(begun["options"]["store"])
    if not store.exists():
        store = _shared(tonight)
    left = pipeline.estimate(replace(tonight.config, store=str(store)))
    return any(each["calls"] for each in left["assessors"].values())


def _unheard(check: CanaryCheck | None, rules: Rules) -> list[str]:
    """Why the run need not begin: a judge that doesn't answer the canaries won't answer for engines."""
    if check is None or check.graded.unheard <= rules.max_missing * check.graded.asked:
        return []
    return [f"the judge did not answer: {check.run.incomplete or 'canaries are missing'}"]


def spared(config: Config, check: CanaryCheck | None) -> Config:
    """The options of the run with what the canaries have left of a budget: one limit is for both."""
    made = check.run.calls_made if check else 0
    if check is None or not made:
        return config
    cost = check.run.summary["cost"]
    # The canaries' cost is what they took since they were first asked, which may have been earlier.
    usd = (cost["usd"] or 0.0) * made / cost["calls"]
    return replace(
        config,
        max_calls=None if config.max_calls is None else max(0, config.max_calls - made),
        budget=None if config.budget is None else max(0.0, config.budget - usd),
    )


def _incomplete(outcome: Outcome, check: CanaryCheck | None) -> list[str]:
    if outcome.incomplete is None:
        return []
    made = check.run.calls_made if check else 0
    return [str(outcome.incomplete) + (f" (after {made:,} calls for canaries)" if made else "")]


def _store(tonight: Tonight, who: Mapping[str, Any], check: CanaryCheck | None, *, apart: bool) -> Path:
    """The store that the night judges with; `apart` is for a judge that is known to be another one."""
    shared = _shared(tonight)
    if not apart:
        return stores.begun(shared, tonight.day)
    for kept, day in stores.all_drifted(shared):
        if _same_judge(tonight, RunFolder(tonight.folder.path.parent / day), who, check):
            return kept
    new = stores.drifted(shared, tonight.day)
    stores.remove(new)  # of a judge that changed once more while this night was at work
    return new


def _same_judge(
    tonight: Tonight, night: RunFolder, who: Mapping[str, Any], check: CanaryCheck | None
) -> bool:
    """Whether the judge of the earlier `night`, which had drifted as well, is tonight's."""
    begun = night.read_if_there("config.json")
    if begun is None or any(against.asked_otherwise(who, begun["identity"], tonight.rules.to_set)):
        return False
    asked = rounds(night.path)
    if check is None or not asked:
        return check is None and not asked
    # Tonight's own store may have been begun by the judge of any round, another night's by that of its last.
    past = asked if night.path == tonight.folder.path else asked[-1:]
    return not any(
        reason
        for each in past
        for reason in canaries.another(check.graded, graded_run(RunFolder(each)), tonight.rules)
    )


def _settle(tonight: Tonight, *, changed: bool) -> None:
    """Adds the night's verdicts to those that nights share, unless its judge `changed`: then they go."""
    shared = _shared(tonight)
    own = stores.own(shared, tonight.day)
    if changed:
        stores.remove(own)
        return
    stores.add(own, shared)
    for kept, _ in stores.all_drifted(shared):
        stores.remove(kept)


def _gate(tonight: Tonight, outcome: Outcome | None, missing: Sequence[str], judge: Sequence[str]) -> _Gate:
    frozen, rules = tonight.baseline, tonight.rules
    if outcome is not None and frozen is None:
        missing = [*missing, *silent(outcome.summary["engines"], rules.max_missing)]
    if frozen is None or outcome is None:
        return _Gate(Found(frozen is not None, rules.to_set, judge, missing), None, ())
    judge = [*judge, *_strangers(outcome, frozen)]
    held = against.held(outcome)
    queries = drift.query_drift(held, frozen.held)
    gone = broken(outcome.summary["engines"], frozen.summary["engines"], rules.max_missing)
    different = tuple(against.too_different(queries, rules))
    found = Found(True, rules.to_set, judge, missing, different, gone)
    if found.suspended:
        return _Gate(found, queries, (_SUSPENDED,))
    met = against.meet(held, frozen.held, tonight.measures)
    found = replace(found, judge=tuple(against.shifted(met, rules)))
    if found.suspended:
        return _Gate(found, queries, (_SUSPENDED,))
    rows = against.rows(met, gone.keys(), rules)
    remarks = (*drift.worth_saying(queries), *against.remarks(met, rows, rules))
    return _Gate(replace(found, rows=rows), queries, remarks)


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
    summaries = [run.summary for run in (outcome, check.run if check else None) if run is not None]
    summaries += check.earlier if check else ()
    config, scale = tonight.config, tonight.config.grading
    return {
        "format": FORMAT,
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
