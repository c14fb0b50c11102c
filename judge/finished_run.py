"""What follows from the judgments of a run, without a call: its scores, its summary and its files."""

import os
from collections.abc import Collection, Iterable
from contextlib import nullcontext, suppress
from dataclasses import fields, replace
from functools import partial
from pathlib import Path

from judge.analysis.analyse_run import analyse_run
from judge.analysis.judged_run import JudgedRun
from judge.analysis.summary import Summary
from judge.completeness import check_finished_run
from judge.dimensions.dimension import DimensionOptions
from judge.errors import InputError
from judge.files.cache import FileCache
from judge.measure.measures import resolve_measures
from judge.measure.score import Scores
from judge.runs import export
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.load import RecordedOptions, load_run, load_summary, read_options
from judge.runs.record_json import is_outdated, summary_from_json, to_json
from judge.runs.results_file import StoredEntries, read_query_entries
from judge.runs.run_result import RunResult
from judge.selftest.stored_selftests import update_selftests


def finish_run(folder: RunFolder, run: JudgedRun, cache: FileCache, *, with_report: bool = True) -> RunResult:
    """Measure a run whose judgments are written, write its other files, and return the result.

    If the files of the folder are those of this run according to the cache, the summary is read from there.
    """
    key = export.make_files_key(folder, run, with_report=with_report)
    if key and cache.has_files(key, folder.path):
        return _make_result(folder, run, load_summary(folder))
    result = measure_run(folder, run)
    paths = export_run(folder, result, with_report=with_report)
    if key:
        cache.record_files(key, paths)
    return result


def measure_run(folder: RunFolder, run: JudgedRun) -> RunResult:
    """Return the scores and the summary of a run."""
    analysis = analyse_run(run)
    return _make_result(folder, run, analysis.summary, analysis.scores)


def _make_result(
    folder: RunFolder, run: JudgedRun, summary: Summary, scores: Scores | None = None
) -> RunResult:
    parts = {field.name: getattr(run, field.name) for field in fields(JudgedRun)}
    return RunResult(**parts, folder=folder.path, summary=summary, computed_scores=scores)


def export_run(folder: RunFolder, result: RunResult, *, with_report: bool = True) -> list[Path]:
    """Write the files of a run beside its judgments, and return their paths.

    results.json is last, so that a reader that waits for it finds all files. Without `with_report`, the
    report is left to `rewrite_report`.
    """
    from judge.report.html import ReportQueries, write_report  # most commands on finished runs write no page

    summary = result.summary
    entries, trec = StoredEntries(folder.path), export.TrecFiles(folder, result)
    queries = ReportQueries(summary, entries.read) if with_report else None
    for entry in export.iter_query_entries(result, result.scores):  # each is made once for all files
        entries.add(entry)
        trec.add(entry)
        if queries:
            queries.add(entry)
    export.remove_earlier_lists(folder, result.dataset.engines)
    paths = [
        folder.write_json("summary.json", to_json(summary)),
        folder.write("scores.csv", export.format_scores(result.scores)),
        *trec.write(),
    ]
    if queries:
        paths.append(write_report(folder, summary, queries))
    paths.append(folder.write("results.json", entries.format_chunks(folder.path.name, summary)))
    return paths


def rescore(
    path: Path,
    measures: Iterable[str] | None = None,
    *,
    dimensions: Collection[str] = (),
    options: DimensionOptions | None = None,
    store: str | Path | None = None,
    save: bool = False,
) -> RunResult:
    """Score the run in folder `path` again from its judgments, without a call; rewrite its files to `save`.

    `measures` None takes the run's own; `dimensions` are measured with their `options` beside those that the
    run has. Results of self-tests are those beside `store`, or beside the run. Raises InputError when `path`
    is not a finished run, its files do not fit together, or a measure is unknown or deeper than the run was
    judged.
    """
    folder = RunFolder(path)
    folder.check_finished()
    with folder.lock() if save else nullcontext():
        loaded = load_run(folder, in_memory=save)
        chosen = resolve_measures(measures, loaded.pool.depth) if measures else loaded.spec.measures
        with translate_run_errors(path):
            selftests = update_selftests(Path(store or folder.own_store), loaded.spec.selftest)
            loaded = replace(loaded, spec=replace(loaded.spec, measures=chosen, selftest=selftests))
            if dimensions:
                # It imports what asks a model.
                from judge.dimensions.dimension_table import measure_dimensions

                measured = measure_dimensions(loaded, dimensions, None, options or DimensionOptions())
                loaded = replace(loaded, dimensions=measured)
            result = measure_run(folder, loaded)
        if save:
            export.write_judgments(folder, result)
            export_run(folder, result)
    recorded = RecordedOptions()
    with suppress(InputError):  # a damaged config.json
        recorded = read_options(folder)
    incomplete = check_finished_run(path, result.summary, recorded.min_coverage)
    return replace(result, warnings=loaded.dataset.warnings, incomplete=incomplete)


def rewrite_report(path: Path) -> Path:
    """Write report.html of the run in folder `path` again and return its path.

    Raises InputError when `path` is not a finished run.
    """
    folder = RunFolder(path)
    folder.check_finished()
    with folder.lock():
        return _write_report(folder)


def write_record(folder: RunFolder, name: str, record: object) -> None:
    """Write a record and the report that shows it into the folder of a run, unless it is read-only."""
    if os.access(folder.path, os.W_OK):
        with folder.lock(wait=60):
            folder.write_json(name, to_json(record))
            _write_report(folder)


def _write_report(folder: RunFolder) -> Path:
    """Write report.html of a run from its files and return its path; the caller has locked the folder."""
    from judge.report.html import ReportQueries, write_report

    with translate_run_errors(folder.path):
        summary = load_current_summary(folder)
        read = partial(read_query_entries, folder.path / "results.json")
        return write_report(folder, summary, ReportQueries.from_entries(summary, read))


def load_current_summary(folder: RunFolder) -> Summary:
    """Return the run's summary; one that lacks figures is computed again from the judgments."""
    value = folder.read("summary.json")
    if not is_outdated(value):
        return summary_from_json(value, str(folder.path / "summary.json"))
    with translate_run_errors(folder.path):
        return analyse_run(load_run(folder)).summary
