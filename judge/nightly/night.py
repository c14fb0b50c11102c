"""Owns the work of a night: ask the canaries, judge, hold against the baseline, decide, write it down.

Every step keeps what it paid for, so a night that was killed goes on where it stopped, and a finished
one is left as it is.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from os.path import relpath
from pathlib import Path
from typing import Any

from judge import factory, pipeline
from judge.assess.watch import Watch
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.measure.engine_summary import compute_no_snippet_share
from judge.nightly import (
    against,
    band,
    baseline,
    begun,
    bill,
    canaries,
    collecting,
    drift,
    keeping,
    limits,
    record,
    stores,
)
from judge.nightly.baseline import CANARIES, Baseline, rounds
from judge.nightly.canaries import CanaryCheck
from judge.nightly.decision import (
    Found,
    broken,
    decide,
    dropped,
    possible_drops,
    silent,
    unanswered,
    without_text,
)
from judge.nightly.history import FORMAT, RECORD
from judge.nightly.tonight import Tonight
from judge.records import Ranking
from judge.runs.folder import RunFolder, dump_json
from judge.runs.result import RunResult

_SUSPENDED = "the gate was suspended: no engine is blamed tonight"
#: What a night is decided by that has no canaries.
_ALONE = (
    "there are no canaries (canary_repeats = 0), so a judge that was swapped can't be told from an engine"
    " that became worse"
)


@dataclass(frozen=True, slots=True)
class _Gate:
    """What holding a night against the baseline gave; `queries` is None when there was nothing to hold."""

    found: Found
    queries: drift.QueryDrift | None
    remarks: Sequence[str]


def finished(folder: RunFolder, rules: NightlyConfig) -> Mapping[str, Any] | None:
    """The record of the night in `folder` when nothing is left to do by `rules`; else None."""
    found = folder.read_if_there(RECORD)
    if not found or not found.get("finished"):
        return None
    return None if found.get("stopped") and rules.judge_on_drift == "all" else found


def night(
    tonight: Tonight, watch: Watch | None = None, canary_watch: Watch | None = None
) -> Mapping[str, Any]:
    """The night's record, after all of its work is done and night.json is written.

    `canary_watch` follows the judging of canaries, `watch` that of the engines' results. Raises InputError
    before anything is paid, and what `pipeline.run` raises.
    """
    config = tonight.config
    who = begun.identity(config)
    bill.settle(tonight.folder, *_priced(tonight))
    keeping.promote(tonight)
    otherwise = _otherwise(who, tonight)
    missing = list(_without_text(tonight))
    check = None if missing else _canaries(tonight, canary_watch)
    known = [*otherwise, *(check.reasons if check else ())]
    missing += limits.unheard(config, check, tonight.rules)
    # Other options are a decision, and a night of them is to become the baseline.
    drifted = bool(check and check.reasons and not otherwise)
    stopped = drifted and not missing and tonight.rules.judge_on_drift == "stop"
    outcome = None
    if not missing and not stopped:
        kept = keeping.begin(tonight, who, check, apart=bool(known))
        bill.open_account(tonight.folder, kept)
        begun.go_on(tonight.folder, who)
        outcome = pipeline.run(replace(limits.spared(config, check), store=str(kept)), watch=watch)
        missing = limits.incomplete(config, outcome, check)
    gate = _gate(tonight, outcome, missing, otherwise, check)
    apart = kept if outcome and known else None
    paid = bill.settle(tonight.folder, *_priced(tonight))
    if outcome and not (known and missing):  # whatever is missing, what was paid for is there for others
        keeping.settle(tonight, changed=bool(gate.found.judge))
    written = _record(tonight, who["prompts"], check, outcome, gate, apart)
    written |= {"stopped": stopped, "paid": paid, "apart": apart and relpath(apart, tonight.folder.path)}
    written["band"] = band.band(written)
    tonight.folder.write(RECORD, [dump_json(written, indent=2), "\n"])
    return written


def _without_text(tonight: Tonight) -> Iterator[str]:
    """Which engines return so few texts tonight that judging would be in vain."""
    data = factory.dataset(tonight.config)
    of_engine: dict[str, list[Ranking]] = {}
    for ranking in data.rankings:
        of_engine.setdefault(ranking.engine, []).append(ranking)
    shares = {
        engine: compute_no_snippet_share(rankings, tonight.config.depth)
        for engine, rankings in of_engine.items()
    }
    found = {engine: share for engine, share in shares.items() if share is not None}
    before = tonight.baseline.summary["engines"] if tonight.baseline else {}
    return without_text(found, before, tonight.rules.max_empty_snippets)


def _priced(tonight: Tonight) -> tuple[Config, Config]:
    """What is asked tonight: of the run and of canaries."""
    config, rules = tonight.config, tonight.rules
    return config, canaries.asked(config, tonight.folder.path / CANARIES, rules.canary_repeats or 1)


def _otherwise(who: Mapping[str, Any], tonight: Tonight) -> list[str]:
    frozen = tonight.baseline
    return against.asked_otherwise(who, frozen.identity) if frozen else []


def _canaries(tonight: Tonight, watch: Watch | None) -> CanaryCheck | None:
    repeats = tonight.rules.canary_repeats
    if not repeats:
        return None
    folder = _round(tonight)
    bill.open_account(tonight.folder, folder / canaries.STORE)
    run = canaries.judged(tonight.config, folder, repeats, watch)
    return canaries.check(run, tonight.baseline, tonight.rules)


def _round(tonight: Tonight) -> Path:
    """The folder of tonight's canaries: another one where the run may now be another judge's than theirs."""
    night = tonight.folder.path
    past = rounds(night)
    if not past:
        return night / CANARIES
    if not canaries.heard(past[-1], tonight.rules):
        stores.remove(past[-1] / canaries.STORE)  # another judge may go on than the one that began
        return past[-1]
    if not _left_to_pay(tonight):
        return past[-1]
    return night / f"{CANARIES}-{len(past) + 1}"


def _left_to_pay(tonight: Tonight) -> bool:
    """Whether some of the night's run is still to be judged."""
    run = tonight.folder.read_if_there("config.json")
    own = Path(run["options"]["store"]) if run else stores.own(tonight.nights, tonight.day)
    known = own if own.exists() else keeping.shared(tonight)
    left = pipeline.estimate(replace(tonight.config, store=str(known)))
    return any(each["calls"] for each in left["assessors"].values())


def _gate(
    tonight: Tonight,
    outcome: RunResult | None,
    missing: Sequence[str],
    otherwise: Sequence[str],
    check: CanaryCheck | None,
) -> _Gate:
    judge = [*otherwise, *(check.reasons if check else ())]
    frozen, rules = tonight.baseline, tonight.rules
    to_set = rules.sets(tonight.folder.path)
    if outcome is not None and frozen is None:
        missing = [*missing, *silent(outcome.summary["engines"], rules.max_missing)]
    asked = collecting.otherwise(tonight.asked, frozen.asked if frozen else None)
    if frozen is None or outcome is None:
        if outcome is None and not missing:
            to_set = f'set judge_on_drift = "all" in [nightly], run judge nightly again, then {to_set}'
        return _Gate(Found(frozen is not None, to_set, judge, missing, asked=asked), None, ())
    judge = [*judge, *_strangers(outcome, frozen, check, rules)]
    held = against.held(outcome)
    queries = drift.query_drift(held, frozen.held)
    engines = outcome.summary["engines"], frozen.summary["engines"]
    found = Found(
        True,
        to_set,
        judge,
        missing,
        tuple(against.too_different(queries, rules, to_set)),
        asked,
        broken(*engines, rules.max_missing),
        tuple(dropped(*engines, to_set)),
    )
    if found.queries or otherwise:
        return _Gate(found, queries, (_SUSPENDED,))
    met = against.meet(held, frozen.held, tonight.measures)
    found = replace(found, judge=(*found.judge, *(() if found.judge else against.shifted(met, rules))))
    if found.suspended:
        if found.judge and not found.missing and not found.asked:
            shift = check.steadiness.shift if check and check.steadiness else None
            drops = against.rows(met, found.broken.keys(), rules)
            found = replace(found, possible=tuple(possible_drops(drops, shift, tonight.config.grading.top)))
        return _Gate(found, queries, (_SUSPENDED,))
    rows = against.rows(met, found.broken.keys(), rules)
    remarks = (*drift.worth_saying(queries), *against.remarks(met, rows, rules))
    return _Gate(replace(found, rows=rows), queries, remarks)


def _remarks(
    tonight: Tonight, check: CanaryCheck | None, outcome: RunResult | None, gate: _Gate, apart: Path | None
) -> Iterator[str]:
    """What a reader must know besides what was decided."""
    if outcome:
        reasons: dict[str, Counter[str]] = {}
        for ranking in outcome.data.rankings:
            if ranking.error:
                reasons.setdefault(ranking.engine, Counter())[ranking.error] += 1
        yield from unanswered(outcome.summary["engines"], reasons)
    yield from gate.remarks
    if check is None and any(row.verdict == "regression" for row in gate.found.rows):
        yield _ALONE
    if check and tonight.baseline:
        yield from canaries.blind(check, tonight.baseline)
    if check and check.accepted:
        yield (
            f"the server calls its model {', '.join(check.accepted)} now, which accept_names allows:"
            " no canary shows another assessor"
        )
    if apart:
        yield f"this judge's verdicts are kept apart, in {apart}, until a baseline is set"
    yield from tonight.remarks
    yield from outcome.warnings if outcome else ()


def _strangers(
    outcome: RunResult, frozen: Baseline, check: CanaryCheck | None, rules: NightlyConfig
) -> list[str]:
    """Models that graded tonight and are not those of the baseline, by what servers call them."""
    new = baseline.served(outcome.summary) - frozen.served
    if check and not check.reasons:
        new = frozenset(name for name in new if not rules.accepts(name))
    if not new or not frozen.served:
        return []
    return [f"a model graded tonight that is not in the baseline: {', '.join(sorted(new))}"]


def _record(
    tonight: Tonight,
    prompts: Mapping[str, str],
    check: CanaryCheck | None,
    outcome: RunResult | None,
    gate: _Gate,
    apart: Path | None,
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
        "remarks": list(_remarks(tonight, check, outcome, gate, apart)),
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
