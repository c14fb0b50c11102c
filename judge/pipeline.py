"""The whole flow on one page: read, pool, assess, score, report. Data goes one way.

dataset ─► rankings ─► pool of pairs ─► assess ─► judgments ─► score ─► report
                                          │ above costs money; below is free and repeatable
"""

from __future__ import annotations

import asyncio
from collections.abc import Collection, Iterable, Mapping, Sequence
from contextlib import aclosing, nullcontext
from dataclasses import asdict, replace
from pathlib import Path
from typing import Any

from judge import setup
from judge.assess import estimate as estimating
from judge.assess.assessor import Assessor
from judge.assess.desk import Desk
from judge.assess.judging import Judging, judge_pool
from judge.assess.schedule import Stop
from judge.assess.signals import listening
from judge.assess.store import Store
from judge.assess.watch import Unwatched, Watch
from judge.config import Config
from judge.dataset import trec
from judge.dataset.labels import match, read_labels
from judge.dataset.pool import pool
from judge.errors import Incomplete, InputError, Interrupted
from judge.measure.calibrate import plan as draw
from judge.measure.compare import compare
from judge.measure.score import score
from judge.measure.slices import slices
from judge.measure.stability import stability
from judge.measure.summary import summarise
from judge.measure.within import counterparts, within_lists
from judge.records import GRADED, Pool, ScaleName
from judge.report import files, plan, reload, results
from judge.report.agreement import People, agreement_json
from judge.report.bare import Side, grades, held_of
from judge.report.findings import Findings
from judge.report.outcome import Outcome
from judge.report.reload import Held
from judge.report.rundir import RunFolder, dump
from judge.report.summary import Asked, summary
from judge.report.together import together


def run(
    config: Config, *, rows: setup.Rows | None = None, watch: Watch | None = None, stop: Stop | None = None
) -> Outcome:
    """Judges a dataset, scores its engines and writes the run's folder.

    `stop` lets another thread end the judging. Raises InputError before anything is paid, StoreError
    when verdicts can't be kept, Interrupted after Ctrl-C. An `Outcome` has `incomplete` set when the
    account, the budget or the server ended the judging, or too few pairs could be judged.
    """
    measures = setup.measures(config.measures, config.depth)
    data = setup.dataset(config, rows)
    pooled = pool(data, config.depth)
    model = setup.model(config)
    assessor = setup.assessor(config, model)
    folder, who = setup.folder(config, data, assessor)
    with folder.locked():
        setup.claim(folder, config, who)
        with Store(setup.store(config, folder)) as store:
            desk = Desk(model, setup.limits(config), stop or Stop())
            judging = asyncio.run(_judge(pooled, assessor, store, desk, config.repeats, watch or Unwatched()))
        asked = Asked(assessor.name, config.grading, config.repeats, measures, asdict(judging.cost))
        outcome = _outcome(folder.path, Held(data, pooled, judging.judgments, asked))
        files.write(folder, outcome)
    return replace(
        outcome,
        warnings=(*data.warnings, *judging.warnings),
        calls_made=judging.calls_made,
        incomplete=_incomplete(outcome.summary, judging.stopped, config.min_coverage),
    )


async def _judge(
    pooled: Pool, assessor: Assessor, store: Store, desk: Desk, repeats: int, watch: Watch
) -> Judging:
    """The part that waits for a server; raises Interrupted when a person or a signal ended it."""
    async with aclosing(desk.model):
        with listening(desk.stop):
            judging = await judge_pool(pooled, assessor, store, desk, repeats, watch)
            await asyncio.sleep(0.01)  # a signal that came while nothing was waited for is heard now
    if isinstance(desk.stop.reason, Interrupted):
        raise desk.stop.reason
    return judging


def rescore(path: Path, measures: Iterable[str] | None = None) -> Outcome:
    """Scores the run in folder `path` again from its judgments and rewrites its files, without a call.

    `measures` None takes the run's own. Raises InputError when `path` is no finished run, or a
    measure is unknown or deeper than the run was judged.
    """
    folder = RunFolder(path)
    folder.read("summary.json")  # before a lock file appears in what is no run's folder
    with folder.locked():
        held = reload.load(folder)
        chosen = setup.measures(measures, held.pool.depth) if measures else held.asked.measures
        outcome = _outcome(path, replace(held, asked=replace(held.asked, measures=chosen)))
        files.write(folder, outcome)
    return outcome


def compare_runs(paths: Sequence[Path]) -> Mapping[str, Any]:
    """What one run's summary says of its engines, or the summary of several runs side by side.

    Several have `runs`, their names, and `remarks` on what was done to make them comparable. Raises
    InputError when a path is no finished run, or the runs can't be compared.
    """
    if len(paths) == 1:
        held = RunFolder(paths[0]).read("summary.json")
        if "comparisons" not in held:
            raise InputError(f"{paths[0]}: holds no comparisons yet; score it again: judge score {paths[0]}")
        return held
    side_by_side = together(reload.load_all(paths))
    found = _outcome(Path(), side_by_side.held, side_by_side.pairs).summary
    return {"runs": [str(path) for path in paths], "remarks": list(side_by_side.notes), **found}


def agree(path: Path, labels: Path, labels_scale: ScaleName | None = None) -> Mapping[str, Any]:
    """How far people's `labels` bear out the run in folder `path`; also written there as agreement.json.

    `labels_scale` says how people graded where it can't be told. Raises InputError when the folder or
    the labels can't be read, or not one label is about the run.
    """
    folder = RunFolder(path)
    folder.read("summary.json")
    with folder.locked():
        held = reload.load(folder)
        matched = match(read_labels(labels), held.data, held.pool)
        scale = setup.labels_scale(matched.grades.values(), held.asked.scale, labels_scale)
        people = People(matched.grades, scale, len(matched.unmatched), labels.name)
        found = agreement_json(held, people)
        folder.write("agreement.json", [dump(found, indent=2), "\n"])
        _rewrite_report(folder)
    return found


def report(path: Path) -> Path:
    """Writes report.html of the run in folder `path` anew and gives its path.

    Raises InputError when `path` is no finished run.
    """
    folder = RunFolder(path)
    folder.read("summary.json")
    with folder.locked():
        return _rewrite_report(folder)


def _rewrite_report(folder: RunFolder) -> Path:
    return files.write_report(
        folder, folder.read("summary.json"), lambda: results.entries(folder.path / "results.json")
    )


def agree_without_run(
    assessor: Path,
    labels: Path,
    runs: Sequence[Path],
    depth: int,
    names: Iterable[str] | None = None,
    labels_scale: ScaleName | None = None,
) -> Mapping[str, Any]:
    """How far two files of grades agree, and what that makes of the engines whose TREC `runs` are given.

    `labels_scale` is that of `labels`. Raises InputError when a file can't be read, or the two files of
    grades have no query in common.
    """
    sides = [
        Side(path.name, given, setup.labels_scale(given.values(), GRADED, asked))
        for path, asked in ((assessor, None), (labels, labels_scale))
        for given in [grades(read_labels(path))]
    ]
    lists = trec.rankings(runs) if runs else ()
    held, assumed = held_of(sides[0], sides[1], lists, depth, setup.measures(names, depth))
    said = {key: grade for key, grade in sides[1].grades.items() if key[0] in held.data.queries}
    people = People(said, sides[1].scale, len(sides[1].grades) - len(said), labels.name, assumed)
    # Two files of grades are no random sample of the queries of one of them: nothing can be corrected.
    return {**agreement_json(held, people), "calibration": {}}


def plan_labels(path: Path, count: int, seed: int, out: Path | None) -> Path:
    """Draws `count` of the run's queries and writes the file for people to grade their pairs in.

    Raises InputError when the file exists already, or the run has fewer queries.
    """
    held = reload.load(RunFolder(path))
    drawn = draw([pair.query.id for pair in held.pool.pairs], count, seed)
    return plan.write(out or path / "labels.csv", held.data, held.pool, drawn, seed)


def _outcome(path: Path, held: Held, pairs: Collection[frozenset[str]] | None = None) -> Outcome:
    """All that is free: the scores of a run and what they say, of all `pairs` of engines or some."""
    data, pooled, judgments, asked = held.data, held.pool, held.judgments, held.asked
    wanted = tuple(dict.fromkeys((*asked.measures, *counterparts(asked.measures, pooled.depth))))
    everything = score(data.rankings, pooled.documents, judgments, wanted, asked.scale, depth=pooled.depth)
    scores = everything.of_measures(asked.measures)
    found = Findings(
        compare(scores, pairs),
        slices(scores, data.queries, pairs),
        within_lists(everything, pooled.depth),
        stability(scores, judgments, asked.scale),
    )
    totals = summary(data, pooled, judgments, summarise(scores), found, asked)
    return Outcome(path, data, pooled, judgments, scores, asked.scale, totals)


def estimate(config: Config) -> Mapping[str, Any]:
    """What `run` would ask and cost now, given what is known already: no call is made."""
    data = setup.dataset(config)
    pooled = pool(data, config.depth)
    assessor = setup.assessor(config, setup.model(config))
    folder, _ = setup.folder(config, data, assessor)
    path = setup.store(config, folder)
    with Store(path) if path.exists() else nullcontext() as store:
        found = estimating.estimate(pooled, assessor, store, config.repeats, setup.price(config))
    return {"results": pooled.results, "pairs": len(pooled.pairs), "repeats": config.repeats, **asdict(found)}


def _incomplete(totals: Mapping[str, Any], stopped: Exception | None, least: float) -> Incomplete | None:
    missing = totals["judgments"] - totals["judged"]
    if stopped is not None:
        return Incomplete(f"stopped with {missing:,} of {totals['judgments']:,} unjudged: {stopped}")
    if totals["coverage"] < least:
        return Incomplete(
            f"only {totals['coverage']:.2%} of the pairs were judged, less than --min-coverage {least:.0%};"
            " the same command asks again for the rest"
        )
    return None
