"""Owns which files a run's folder holds and that equal runs give equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import asdict
from pathlib import Path
from typing import Any

import numpy as np

from judge.dataset.spreadsheet import escape_cell
from judge.measure.panel_agreement import PanelMembers
from judge.measure.score import Scores
from judge.records import Judgment
from judge.report import html; from judge.runs import results, trec_export
from judge.runs.result import RunResult
from judge.runs.folder import RunFolder, dump_json


def write(folder: RunFolder, outcome: RunResult) -> None:
    """Writes every file of the run; results.json last, so that whoever waits for it finds all."""
    rankings, documents = outcome.data.rankings, outcome.pool.documents
    folder.write("judgments.jsonl", (dump_json(_plain(judgment)) + "\n" for judgment in outcome.judgments))
    if outcome.members:
        folder.write("members.jsonl", _members(outcome.members))
    folder.write("scores.csv", _scores(outcome.scores))
    folder.write("qrels.txt", trec_export.qrels(rankings, documents, outcome.judgments))
    for engine, name in trec_export.file_names(outcome.data.engines).items():
        folder.write(name, trec_export.run(engine, rankings, documents))
    folder.write("summary.json", [dump_json(outcome.summary, indent=2), "\n"])
    table = _table(outcome.scores)

    def entries() -> Iterator[dict[str, Any]]:
        said = results.said(outcome.judgments, outcome.members, outcome.scale)
        return results.queries(outcome.data, outcome.pool, said, table)

    write_report(folder, outcome.summary, entries)
    folder.write("results.json", results.chunks(folder.path.name, outcome.summary, entries()))


def write_report(
    folder: RunFolder, summary: Mapping[str, Any], entries: Callable[[], Iterable[Mapping[str, Any]]]
) -> Path:
    """Writes report.html and gives its path; `entries` gives the queries of results.json each time.

    Agreement with people is in it when the folder has an agreement.json about these very judgments, and
    how the night went where the run is one of a night.
    """
    agreement = folder.read_if_there("agreement.json")
    if agreement and agreement.get("grades") != summary["grades"]:
        agreement = None
    config, night = folder.read_if_there("config.json"), folder.read_if_there("night.json")
    beside = html.ReportExtras(agreement, config or {}, night or {})
    return folder.write("report.html", html.page(folder.path.name, summary, entries, beside))


def _members(members: PanelMembers) -> Iterator[str]:
    """The judgments of each member of a panel."""
    for name, judgments in members.items():
        for judgment in judgments:
            yield dump_json({"member": name, **_plain(judgment)}) + "\n"


def _plain(judgment: Judgment) -> dict[str, Any]:
    """The judgment as JSON values (`dataclasses.asdict` would copy its parameters for each)."""
    fields: dict[str, Any] = {name: getattr(judgment, name) for name in Judgment.__slots__}
    return {**fields, "usage": asdict(judgment.usage) if judgment.usage else None}


def _scores(scores: Scores) -> Iterator[str]:
    yield _line(["engine", "query_id", "repeat", "measure", "value", "judged", "low", "high"])
    for row in scores.to_records():
        names = (escape_cell(row.engine), escape_cell(row.query_id), row.repeat, row.measure)
        numbers = (row.value, row.judged, row.low, row.high)
        yield _line([*names, *("" if number is None else repr(number) for number in numbers)])


def _line(cells: Iterable[object]) -> str:
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerow(cells)
    return text.getvalue()


def _table(scores: Scores) -> dict[tuple[str, str], Mapping[str, Any]]:
    names = [str(measure) for measure in scores.measures]
    value, _, _ = scores.average_repeats()
    cells = np.where(np.isnan(value), None, value).tolist()  # type: ignore[call-overload]
    return {
        (engine, query): dict(zip(names, cells[row][column], strict=True))
        for row, engine in enumerate(scores.engines)
        for column, query in enumerate(scores.queries)
    }
