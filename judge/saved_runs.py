"""Owns what can be asked of finished runs, free of cost: compare, agree with people, look at."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge import factory, pipeline
from judge.analysis import labelling_plan
from judge.analysis.combine_runs import combine_runs
from judge.analysis.label_agreement import HumanLabels, agreement_json, queries_without_value
from judge.analysis.label_files import GradeSource, grades, held_of
from judge.dataset import trec
from judge.dataset.labels import match_labels, read_labels, select_labellable
from judge.measure.ppi import count_reserve_queries
from judge.measure.ppi import draw_queries_to_label as draw
from judge.records import ScaleName
from judge.runs import export, load, results
from judge.runs.folder import RunFolder, dump_json, reading_run


def compare_runs(paths: Sequence[Path]) -> Mapping[str, Any]:
    """What one run's summary says of its engines, or the summary of several runs side by side.

    Several have `runs`, their names, and `remarks` on what was done to make them comparable. Raises
    InputError when a path is no finished run, or the runs can't be compared.
    """
    if len(paths) == 1:
        return _summary(RunFolder(paths[0]))
    with reading_run(paths[0]):
        side_by_side = combine_runs(load.load_all(paths))
        found = pipeline.measure(Path(), side_by_side.held, side_by_side.pairs).summary
    return {
        "runs": [str(path) for path in paths],
        **found,
        "remarks": [*side_by_side.notes, *side_by_side.terms],
    }


def _summary(folder: RunFolder) -> Mapping[str, Any]:
    """Return the run's summary; that of an earlier version of judge is made anew from the judgments."""
    summary = folder.read("summary.json")
    if "deciding_queries" in summary:
        return summary
    with reading_run(folder.path):
        return pipeline.measure(folder.path, load.load(folder)).summary


def agree(path: Path, labels: Path, labels_scale: ScaleName | None = None) -> Mapping[str, Any]:
    """How far people's `labels` bear out the run in folder `path`.

    Also written there, as agreement.json and in report.html, unless the folder takes no files.
    `labels_scale` says how people graded; else it is the run's own scale, unless a label is above it or
    says yes or no. Raises InputError when the folder or
    the labels can't be read, or not one label is about the run.
    """
    folder = RunFolder(path)
    held = load.load(folder)
    read = read_labels(labels)
    matched = match_labels(read, held.data, held.pool)
    scale = factory.labels_scale(matched.grades.values(), held.asked.scale, labels_scale, read)
    people = HumanLabels(matched.grades, scale, len(matched.unmatched), labels.name)
    # What tells whether a report that is made later is still about these grades.
    about = {"grades": folder.read("summary.json").get("grades")}
    with reading_run(path):
        found = {**agreement_json(held, people), **about}
    if folder.takes_files:
        with folder.locked(wait=60):
            folder.write("agreement.json", [dump_json(found, indent=2), "\n"])
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
    with reading_run(folder.path):
        return export.write_report(
            folder, _summary(folder), lambda: results.entries(folder.path / "results.json")
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
    sides = []
    for path, asked in ((assessor, None), (labels, labels_scale)):
        read = read_labels(path)
        given = grades(read)
        sides.append(GradeSource(path.name, given, factory.labels_scale(given.values(), None, asked, read)))
    lists = trec.read_trec_rankings(runs) if runs else ()
    held, assumed = held_of(sides[0], sides[1], lists, depth, factory.measures(names, depth))
    said = {key: grade for key, grade in sides[1].grades.items() if key[0] in held.data.queries}
    people = HumanLabels(said, sides[1].scale, len(sides[1].grades) - len(said), labels.name, assumed)
    return agreement_json(held, people, bare=True)


@dataclass(frozen=True, slots=True)
class LabellingPlan:
    """A file of pairs to label: those of `count` queries, then of `reserve` more.

    The reserve is for queries that turn out to have no value: by the assessor's grades `measure` has none
    on `without` of the run's `queries`.
    """

    path: Path
    count: int
    reserve: int
    measure: str
    without: int
    queries: int


def plan_labels(path: Path, count: int, seed: int, out: Path | None) -> LabellingPlan:
    """Draw `count` of the run's queries and a reserve, and write the file for people to grade their pairs in.

    Raises InputError when the file exists already, or the run has fewer queries.
    """
    held = load.load(RunFolder(path))
    query_ids = {pair.query.id for pair in select_labellable(held.pool)}
    without, measure = queries_without_value(held)
    more = count_reserve_queries(count, len(query_ids), without) if 0 < count < len(query_ids) else 0
    drawn = draw(list(query_ids), count + more, seed)
    file = labelling_plan.write(out or path / "labels.csv", held.data, held.pool, drawn, seed)
    return LabellingPlan(file, count, more, measure, without, len(query_ids))
