"""The whole flow on one page: read, pool, assess, score, compare, report. Data goes one way.

dataset ─► rankings ─► pool of pairs ─► assess ─► judgments ─► score ─► compare · slices · stability ─► report
                                          │ left of here costs money; the rest is free and repeatable
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from judge import factory
from judge.analysis.findings import Findings
from judge.analysis.summary import RunSpec, summary
from judge.assess import estimate as estimating
from judge.assess.judging import Judging, together
from judge.assess.sitting import judge_in_turn
from judge.assess.stop import Stop
from judge.assess.store import Store
from judge.assess.watch import Unwatched, Watch
from judge.config.run import Config
from judge.dataset.injection import flagged_pairs
from judge.dataset.pool import build_pool
from judge.errors import RunIncomplete
from judge.measure.bias import find_shared_vendors
from judge.measure.compare import compare_engines, find_largest_contributions
from judge.measure.engine_summary import summarise_engines
from judge.measure.panel_agreement import as_assessor, measure_panel_agreement
from judge.measure.score import Scores, score_rankings
from judge.measure.segments import compare_segments
from judge.measure.sensitivity import (
    ScoringInput,
    check_own_lists,
    list_needed_measures,
    measure_flagged_sensitivity,
)
from judge.measure.served_models import SERVED_MODEL_COLUMN, find_grading_models
from judge.measure.stability import measure_stability
from judge.pricing.prices import common
from judge.records import Judgment
from judge.runs import export, load
from judge.runs.folder import RunFolder, reading_run
from judge.runs.load import LoadedRun
from judge.runs.result import RunResult
from judge.selftest import stored_results


def run(
    config: Config, *, rows: factory.Rows | None = None, watch: Watch | None = None, stop: Stop | None = None
) -> RunResult:
    """Judges a dataset, scores its engines and writes the run's folder.

    `stop` lets another thread end the judging. Raises InputError before anything is paid, StoreError
    when verdicts can't be kept, Interrupted after Ctrl-C. An `RunResult` has `incomplete` set when the
    account, the budget or the server ended the judging, or too few pairs could be judged.
    """
    measures = factory.measures_of(config)
    if config.out:
        RunFolder(Path(config.out)).check_free()  # before a large dataset is read in vain
    data = factory.dataset(config, rows)
    pooled = build_pool(data, config.depth)
    assessors = factory.assessors(config)
    desks = factory.desks(config, assessors, stop or Stop())
    folder, who = factory.folder(config, data, assessors)
    with folder.locked():
        factory.claim(folder, config, who)
        where = factory.store(config, folder)
        tests = stored_results.look_up_results(where, stored_results.identify_assessors(assessors, config))
        with Store(where) as store:
            judged = asyncio.run(judge_in_turn(pooled, desks, store, config.repeats, watch or Unwatched()))
        judgings = {assessor.name: each for (assessor, _), each in zip(desks, judged, strict=True)}
        judging = together(judgings.values())
        assessor, judgments, members = as_assessor({name: each.judgments for name, each in judgings.items()})
        price = common(desk.limits.price for _, desk in desks)
        cost = asdict(judging.cost) | {"price": price and asdict(price)}
        asked = RunSpec(assessor, config.grading, config.repeats, measures, cost, tests)
        outcome = measure(folder.path, LoadedRun(data, pooled, judgments, asked, members))
        export.write(folder, outcome)
    incomplete = _incomplete(outcome.summary, judging, config.min_coverage)
    warnings = [*data.warnings, *judging.warnings]
    if incomplete is None and (why := _failures(judging.judgments)):
        warnings.append(f"not every pair has a grade{why}")
    return replace(
        outcome,
        warnings=tuple(warnings),
        calls_made=judging.calls_made,
        incomplete=incomplete,
    )


def measure(path: Path, held: LoadedRun, pairs: Collection[frozenset[str]] | None = None) -> RunResult:
    """All that is free: the scores of a run and what they say, of all `pairs` of engines or some."""
    data, pooled, judgments, asked = held.data, held.pool, held.judgments, held.asked
    wanted = tuple(dict.fromkeys((*asked.measures, *list_needed_measures(asked.measures, pooled.depth))))

    def rescored(others: Sequence[Judgment]) -> Scores:
        return score_rankings(
            data.rankings, pooled.documents, others, asked.measures, asked.scale, depth=pooled.depth
        )

    everything = score_rankings(
        data.rankings, pooled.documents, judgments, wanted, asked.scale, depth=pooled.depth
    )
    scores = everything.select_measures(asked.measures)
    measured = ScoringInput(data.rankings, pooled.documents, judgments, asked.scale, pooled.depth)
    comparisons = compare_engines(scores, pairs)
    found = Findings(
        comparisons,
        compare_segments(scores, data.queries, pairs, {SERVED_MODEL_COLUMN: find_grading_models(judgments)}),
        check_own_lists(everything, pooled.depth),
        measure_stability(scores, judgments, asked.scale),
        measure_panel_agreement(held.members, asked.scale, rescored) if held.members else None,
        find_shared_vendors(held.members or [asked.assessor], data.engines),
        measure_flagged_sensitivity(scores, measured, flagged_pairs(data.rankings, pooled.depth), pairs),
        find_largest_contributions(scores, comparisons[0]) if comparisons else (),
    )
    totals = summary(data, pooled, judgments, summarise_engines(scores), found, asked)
    return RunResult(path, data, pooled, judgments, scores, asked.scale, totals, members=held.members)


def rescore(path: Path, measures: Iterable[str] | None = None, *, save: bool = False) -> RunResult:
    """Score the run in folder `path` again from its judgments, without a call; rewrite its files to `save`.

    `measures` None takes the run's own. Raises InputError when `path` is no finished run, its files don't
    fit together, or a measure is unknown or deeper than the run was judged.
    """
    folder = RunFolder(path)
    folder.read("summary.json")  # before a lock file appears in what is no run's folder
    with folder.locked() if save else nullcontext():
        held = load.load(folder)
        chosen = factory.measures(measures, held.pool.depth) if measures else held.asked.measures
        with reading_run(path):
            tests = stored_results.update_results(folder, held.asked.selftest)
            outcome = measure(path, replace(held, asked=replace(held.asked, measures=chosen, selftest=tests)))
        if save:
            export.write(folder, outcome)
    return outcome


def estimate(config: Config) -> Mapping[str, Any]:
    """What `run` would ask of each assessor and cost now, given what is known already; makes no call."""
    data = factory.dataset(config)
    pooled = build_pool(data, config.depth)
    assessors = factory.assessors(config, calls=False)
    folder, _ = factory.folder(config, data, assessors)
    path = factory.store(config, folder)
    with Store(path) if path.exists() else nullcontext() as store:
        found = {
            assessor.name: asdict(
                estimating.estimate_run(pooled, assessor, store, config.repeats, desk.limits)
            )
            for assessor, desk in factory.desks(config, assessors, Stop())
        }
    size = {
        "results": pooled.results,
        "pairs": len(pooled.pairs),
        "repeats": config.repeats,
        "remarks": [*data.warnings],
    }
    return {**size, "assessors": found}


def _incomplete(totals: Mapping[str, Any], judging: Judging, least: float) -> RunIncomplete | None:
    members = (totals["panel"] or {}).get("members", ())
    wanted = totals["judgments"] * (len(members) or 1)
    missing = wanted - sum(each["judged"] for each in members or [totals])
    if judging.stopped is not None:
        return RunIncomplete(f"stopped with {missing:,} of {wanted:,} unjudged: {judging.stopped}")
    if not wanted and any(row["errors"] for row in totals["engines"].values()):
        return RunIncomplete(
            "there was nothing to judge: the dataset holds no result, but engines that broke"
        )
    for member in members:
        if member["judged"] < least * totals["judgments"]:
            return RunIncomplete(
                f"{member['name']} judged {member['judged']:,} of {totals['judgments']:,} pairs, less than"
                f" --min-coverage {least:.0%}{_failures(judging.judgments, member['name'])};"
                f" {_advice(judging.judgments)}"
            )
    if totals["coverage"] < least:
        return RunIncomplete(
            f"only {totals['coverage']:.2%} of the pairs were judged, less than --min-coverage {least:.0%}"
            f"{_failures(judging.judgments)}; {_advice(judging.judgments)}"
        )
    return None


def _advice(judgments: Iterable[Judgment]) -> str:
    """What gets grades for the pairs that have none."""
    kinds = {judgment.error for judgment in judgments}
    if kinds == {None, "text_cut"} or kinds == {"text_cut"}:
        return "raise max_chars and name another --out: what was judged is not paid again"
    if kinds <= {None, "no_text", "text_cut"}:
        return "add the texts that are missing and name another --out: what was judged is not paid again"
    return "the same command asks again for the rest"


def _failures(judgments: Iterable[Judgment], assessor: str = "") -> str:
    """Why most judgments (of `assessor`) failed that somebody has words for, and in what words most did."""
    failed = [
        (each.error, each.detail) for each in judgments if each.detail and assessor in ("", each.assessor)
    ]
    if not failed:
        return ""
    [(kind, count)] = Counter(kind for kind, _ in failed).most_common(1)
    [(detail, _)] = Counter(detail for each, detail in failed if each == kind).most_common(1)
    return f" ({count:,} of {len(failed):,} failed with {kind!r}: {detail})"
