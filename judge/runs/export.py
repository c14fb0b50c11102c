"""Write the data files of a run's folder, TREC files for trec_eval included; equal runs give equal bytes."""

from __future__ import annotations

import csv
import hashlib
import io
import json
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import numpy as np

from judge.analysis.loaded_run import LoadedRun
from judge.analysis.summary import Summary
from judge.cache import FileCache, hash_file, make_key
from judge.dataset.expected import list_unreturned
from judge.dataset.textfile import escape_cell, escape_column
from judge.errors import InputError
from judge.filesystem import file_name
from judge.json_text import dump_json
from judge.judgment_log import JudgmentLog, dump_judgments
from judge.measure.agreement import median_grade
from judge.measure.panel_agreement import PanelMembers
from judge.measure.score import Scores
from judge.records import Judgment, Ranking
from judge.runs import results
from judge.runs.folder import RunFolder
from judge.runs.record_json import summary_from_json, to_json
from judge.runs.result import RunResult

_CHUNK = 1 << 16
_JUDGMENTS = ("judgments.jsonl", "members.jsonl")
#: The files that the tables, the report and results.json follow from, beside the dataset.
_INPUTS = (*_JUDGMENTS, "summary.json", "config.json", "agreement.json", "labelled_order.json", "night.json")


def write_judgments(folder: RunFolder, run: LoadedRun | RunResult) -> None:
    """Write the judgments, which all other files follow from, beside the dataset and the options."""
    log = run.judgments
    folder.write("judgments.jsonl", log.read_lines() if isinstance(log, JudgmentLog) else dump_judgments(log))
    if run.members:
        folder.write("members.jsonl", _members(run.members))


def make_summary_key(folder: RunFolder, run: LoadedRun) -> str | None:
    """Return the key of what the summary follows from; None for a dataset that is not cached.

    The judgments must be written.
    """
    if not run.pool.digest:
        return None
    return make_key("summary", run.pool.digest, to_json(run.spec), _hash_files(folder, _JUDGMENTS))


def read_cached_summary(cache: FileCache, key: str | None) -> Summary | None:
    """Return the summary that is cached under `key`, None if there is none."""
    lines = cache.read(key) if key else None
    with suppress(InputError, LookupError, TypeError, ValueError):
        return summary_from_json(json.loads(b"".join(lines or ())), "the cached summary")
    return None


def dump_summary(summary: Summary) -> list[str]:
    """Return the text of summary.json in pieces."""
    return [dump_json(to_json(summary), indent=2), "\n"]


def write_tables(folder: RunFolder, result: RunResult) -> Iterator[Path]:
    """Write the scores and the TREC files; yield their paths."""
    rankings, documents = result.data.rankings, result.pool.documents
    yield folder.write("scores.csv", _scores(result.scores))
    labels = result.summary.labels
    unreturned = list_unreturned(result.data, result.pool) if labels and labels.unreturned else {}
    yield folder.write("qrels.txt", format_qrels(rankings, documents, result.judgments, unreturned))
    for engine, name in name_trec_files(result.data.engines).items():
        yield folder.write(name, format_trec_run(engine, rankings, documents))


def write_results(folder: RunFolder, result: RunResult) -> Path:
    """Write results.json and return its path."""
    chunks = results.format_chunks(folder.path.name, result.summary, list_queries(result))
    return folder.write("results.json", chunks)


def make_files_key(folder: RunFolder, result: RunResult) -> str | None:
    """Return the key of what the other files follow from; None for a dataset that is not cached.

    The judgments and the summary must be written.
    """
    if not result.pool.digest:
        return None
    values = {
        name: sorted((*key, dict(row)) for key, row in each.values.items())
        for name, each in result.dimensions.items()
    }
    place = str(folder.path.absolute())
    return make_key("files", place, result.pool.digest, values, _hash_files(folder, _INPUTS))


def _hash_files(folder: RunFolder, names: Iterable[str]) -> dict[str, str]:
    return {name: hash_file(path) for name in names if (path := folder.path / name).exists()}


def list_queries(
    result: RunResult, places: Container[int] = results.ALL_PLACES
) -> Iterator[results.QueryEntry]:
    """Return the queries at `places` of the run's results.json."""
    judgments = results.judgment_entries(result.judgments, result.members, result.scale)
    return results.query_entries(
        result.data, result.pool, judgments, _table(result.scores), result.dimensions, places
    )


def _members(members: PanelMembers) -> Iterator[str]:
    """Yield the lines of the judgments of each member of a panel."""
    for name, judgments in members.items():
        yield from dump_judgments(judgments, f'{{"member": {dump_json(name)}, ')


def _scores(scores: Scores) -> Iterator[str]:
    text = io.StringIO()
    lines = csv.writer(text, lineterminator="\n")
    lines.writerow(["engine", "query_id", "repeat", "measure", "value", "judged", "low", "high"])
    protected = {name: escape_cell(name) for name in (*scores.engines, *scores.queries)}
    for row in scores.to_records():
        names = (protected[row.engine], protected[row.query_id], row.repeat, row.measure)
        lines.writerow([*names, row.value, row.judged, row.low, row.high])
        if text.tell() > _CHUNK:
            yield text.getvalue()
            text.seek(0)
            text.truncate()
    yield text.getvalue()


def _table(scores: Scores) -> dict[tuple[str, str], Mapping[str, float | None]]:
    names = [str(measure) for measure in scores.measures]
    value, _, _ = scores.average_repeats()
    cells = np.where(np.isnan(value), None, value).tolist()  # type: ignore[call-overload]
    return {
        (engine, query): dict(zip(names, cells[row][column], strict=True))
        for row, engine in enumerate(scores.engines)
        for column, query in enumerate(scores.queries)
    }


def format_qrels(
    rankings: Iterable[Ranking],
    documents: Mapping[tuple[str, str], Sequence[str]],
    judgments: Iterable[Judgment],
    unreturned: Mapping[str, Iterable[str]] | None = None,
) -> Iterator[str]:
    """Yield lines `query_id 0 docno grade`: each judged document's best grade, sorted.

    `unreturned` names, by query, expected documents that no engine returned: they have grade 1.

    This is exact as long as a document shows one text: where engines show different snippets of one page,
    qrels can only say the page's best grade. Grades of several repeats are the median, halves rounded up.
    """
    grades: dict[tuple[str, str], list[int]] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            grades.setdefault(judgment.key, []).append(judgment.grade)
    best = {(query_id, document): 1 for query_id, names in (unreturned or {}).items() for document in names}
    for ranking in rankings:
        documents_of = documents.get(ranking.key, ())
        for snippet, document in zip(ranking.snippets, documents_of, strict=False):
            repeats = grades.get((ranking.query_id, snippet.id))
            if repeats:
                key = (ranking.query_id, document)
                best[key] = max(best.get(key, 0), median_grade(repeats))
    for (query_id, document), grade in sorted(best.items()):
        yield f"{escape_column(query_id)} 0 {escape_column(document)} {grade}\n"


def format_trec_run(
    engine: str, rankings: Iterable[Ranking], documents: Mapping[tuple[str, str], Sequence[str]]
) -> Iterator[str]:
    """Yield lines `query_id Q0 docno rank score tag` of one engine, scores falling with rank.

    A repeated document gets a name of its own that is in no qrels, hence no gain.
    """
    for ranking in rankings:
        if ranking.engine != engine:
            continue
        seen: dict[str, int] = {}
        documents_of = documents.get((engine, ranking.query_id), ())
        for rank, document in enumerate(documents_of, start=1):
            seen[document] = seen.get(document, 0) + 1
            docno = document if seen[document] == 1 else f"{document}#repeat{seen[document]}"
            score = len(documents_of) - rank + 1
            query_id, tag = escape_column(ranking.query_id), escape_column(engine)
            yield f"{query_id} Q0 {escape_column(docno)} {rank} {score} {tag}\n"


def name_trec_files(engines: Iterable[str]) -> dict[str, str]:
    """Return `run.<engine>.trec` by engine; the names differ in more than case."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for engine in sorted(engines):
        stem = file_name(escape_column(engine))[:120]
        name = f"run.{stem}.trec"
        if name.casefold() in taken:
            name = f"run.{stem}-{hashlib.sha256(engine.encode()).hexdigest()[:8]}.trec"
        taken.add(name.casefold())
        names[engine] = name
    return names
