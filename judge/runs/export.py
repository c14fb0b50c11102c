"""Write the data files of a run's folder; equal runs give equal bytes."""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import asdict
from typing import Any

import numpy as np

from judge.dataset.spreadsheet import escape_cell
from judge.measure.panel_agreement import PanelMembers
from judge.measure.score import Scores
from judge.records import Judgment
from judge.runs import results, trec_export
from judge.runs.folder import RunFolder, dump_json
from judge.runs.record_json import to_json
from judge.runs.result import RunResult


def write_data_files(folder: RunFolder, result: RunResult) -> None:
    """Write every data file of the run but results.json."""
    rankings, documents = result.data.rankings, result.pool.documents
    folder.write("judgments.jsonl", (dump_json(_plain(judgment)) + "\n" for judgment in result.judgments))
    if result.members:
        folder.write("members.jsonl", _members(result.members))
    folder.write("scores.csv", _scores(result.scores))
    folder.write("qrels.txt", trec_export.qrels(rankings, documents, result.judgments))
    for engine, name in trec_export.file_names(result.data.engines).items():
        folder.write(name, trec_export.run(engine, rankings, documents))
    folder.write("summary.json", [dump_json(to_json(result.summary), indent=2), "\n"])


def write_results(folder: RunFolder, result: RunResult) -> None:
    """Write results.json."""
    folder.write("results.json", results.write_chunks(folder.path.name, result.summary, list_queries(result)))


def list_queries(result: RunResult) -> Iterator[results.QueryEntry]:
    """Return the queries of the run's results.json."""
    judgments = results.judgment_entries(result.judgments, result.members, result.scale)
    return results.query_entries(result.data, result.pool, judgments, _table(result.scores))


def _members(members: PanelMembers) -> Iterator[str]:
    """Yield the judgments of each member of a panel."""
    for name, judgments in members.items():
        for judgment in judgments:
            yield dump_json({"member": name, **_plain(judgment)}) + "\n"


def _plain(judgment: Judgment) -> dict[str, Any]:
    """Return the judgment as JSON values (`dataclasses.asdict` would copy its parameters for each)."""
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


def _table(scores: Scores) -> dict[tuple[str, str], Mapping[str, float | None]]:
    names = [str(measure) for measure in scores.measures]
    value, _, _ = scores.average_repeats()
    cells = np.where(np.isnan(value), None, value).tolist()  # type: ignore[call-overload]
    return {
        (engine, query): dict(zip(names, cells[row][column], strict=True))
        for row, engine in enumerate(scores.engines)
        for column, query in enumerate(scores.queries)
    }
