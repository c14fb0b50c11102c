"""Write the data files of a run's folder, and make the queries of results.json from a finished run.

TREC files for trec_eval are among them. Equal runs give equal bytes.
"""

import csv
import hashlib
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from itertools import chain
from operator import attrgetter
from pathlib import Path

from judge.analysis.judged_run import JudgedRun
from judge.dataset.field_values import escape_cell, escape_column
from judge.dataset.labels import list_unreturned
from judge.dataset.pool import group_rankings
from judge.errors import InputError
from judge.files.cache import hash_data, hash_file, make_key
from judge.files.filesystem import make_file_name
from judge.files.json_text import dump_json
from judge.files.judgment_log import JudgmentLog, dump_judgments, group_by_query
from judge.files.stored_records import TemporaryLines
from judge.measure.grades_by_pair import compute_median_grade
from judge.measure.numeric import convert_non_finite
from judge.measure.score import Scores
from judge.records import Judgment, ListKey, PairKey, Ranking, Scale
from judge.runs.folder import RunFolder
from judge.runs.load import load_summary
from judge.runs.record_json import to_json
from judge.runs.results_file import CleanedText, EngineEntry, JudgmentEntry, QueryEntry, SnippetEntry
from judge.runs.run_result import RunResult

#: The files that all others of a run follow from, beside the dataset.
_INPUTS = "judgments.jsonl members.jsonl config.json agreement.json labelled_order.json night.json".split()


def write_judgments(folder: RunFolder, run: JudgedRun) -> None:
    """Write the judgments, which all other files follow from, beside the dataset and the options.

    The judgments of the members of an earlier run in the folder are removed.
    """
    log = run.judgments
    folder.write("judgments.jsonl", log.read_lines() if isinstance(log, JudgmentLog) else dump_judgments(log))
    if run.members:
        members = run.members.items()
        lines = (dump_judgments(own, f'{{"member": {dump_json(name)}, ') for name, own in members)
        folder.write("members.jsonl", chain.from_iterable(lines))
    else:
        folder.remove("members.jsonl")


class TrecFiles:
    """The TREC files of a run in `folder`, which are written after its queries are added."""

    def __init__(self, folder: RunFolder, result: RunResult) -> None:
        labels = result.summary.labels
        self._folder = folder
        self._unreturned = list_unreturned(result.dataset) if labels and labels.unreturned else {}
        self._names = make_trec_file_names(result.dataset.engines)
        self._qrels: dict[str, str] = {}
        # The lists of all engines are in one file, because there can be more engines than a process can open.
        self._lists = TemporaryLines(folder.path)

    def add(self, entry: QueryEntry) -> None:
        """Add the next query of results.json."""
        self._qrels[entry.query_id] = format_qrels(entry, self._unreturned.get(entry.query_id, ()))
        self._lists.append(_format_trec_list(engine, entry).encode() for engine in self._names)

    def write(self) -> list[Path]:
        """Write the files; return their paths."""
        paths = [self._folder.write("qrels.txt", (text for _, text in sorted(self._qrels.items())))]
        for number, name in enumerate(self._names.values()):
            of_engine = range(number, len(self._lists), len(self._names))
            paths.append(self._folder.write(name, self._lists.read_lines(of_engine)))
        return paths


def remove_earlier_lists(folder: RunFolder, engines: Iterable[str]) -> None:
    """Remove the TREC files of engines of an earlier run in the folder that are not among `engines`.

    Only files that summary.json names are removed, so it must still be that of the earlier run.
    """
    names = make_trec_file_names(engines).values()
    with suppress(InputError):  # without a readable summary.json, no engine is known
        for name in make_trec_file_names(load_summary(folder).engines).values():
            if name not in names:
                folder.remove(name)


def make_files_key(folder: RunFolder, run: JudgedRun, *, with_report: bool) -> str | None:
    """Return the key of what all files but the judgments follow from; None for a dataset that is not cached.

    The judgments must be written. `with_report` says whether the report is among these files.
    """
    if not run.pool.cache_key:
        return None
    dimensions = {
        name: (to_json(dimension.summary), sorted((*key, dict(row)) for key, row in dimension.values.items()))
        for name, dimension in run.dimensions.items()
    }
    hashes = {name: hash_file(path) for name in _INPUTS if (path := folder.path / name).exists()}
    place, warnings = str(folder.path.absolute()), [*map(str, run.dataset.warnings)]
    content = run.pool.cache_key, to_json(run.spec), warnings, dimensions, hashes
    return make_key("files", hash_data(), place, with_report, *content)


class _Line:
    """What csv.writer writes to, so that `writerow` returns the line."""

    write = staticmethod(str)


def format_scores(scores: Scores) -> Iterator[str]:
    """Yield the lines of scores.csv."""
    lines = csv.writer(_Line, lineterminator="\n")
    yield lines.writerow(["engine", "query_id", "repeat", "measure", "value", "judged", "low", "high"])
    protected = {name: escape_cell(name) for name in (*scores.engines, *scores.queries)}
    for row in scores.to_records():
        names = (protected[row.engine], protected[row.query_id], row.repeat, row.measure)
        yield lines.writerow([*names, row.value, row.judged, row.low, row.high])


def format_qrels(entry: QueryEntry, unreturned: Iterable[str]) -> str:
    """Return lines `query_id 0 docno grade` of a query: each judged document's best grade, sorted.

    `unreturned` names expected documents that no engine returned: they have grade 1.

    This is exact as long as a document shows one text: where engines show different snippets of one page,
    qrels can only say the page's best grade. Grades of several repeats are the median, halves rounded up.
    """
    best = dict.fromkeys(unreturned, 1)
    for engine_entry in entry.engines.values():
        for snippet in engine_entry.snippets:
            grades = [judgment.grade for judgment in snippet.judgments if judgment.grade is not None]
            if grades and snippet.document is not None:
                best[snippet.document] = max(best.get(snippet.document, 0), compute_median_grade(grades))
    query_id = escape_column(entry.query_id)
    return "".join(
        f"{query_id} 0 {escape_column(document)} {grade}\n" for document, grade in sorted(best.items())
    )


def _format_trec_list(engine: str, entry: QueryEntry) -> str:
    """Return lines `query_id Q0 docno rank score tag` of one list, scores falling with rank.

    A repeated document gets a name of its own that is in no qrels, hence no gain. There is no line for an
    engine without results.
    """
    snippets = entry.engines[engine].snippets if engine in entry.engines else ()
    documents = [snippet.document for snippet in snippets if snippet.document is not None]
    query_id, tag = escape_column(entry.query_id), escape_column(engine)
    taken = {snippet.document for engine_entry in entry.engines.values() for snippet in engine_entry.snippets}
    seen: set[str] = set()
    lines = []
    for rank, document in enumerate(documents, start=1):
        docno, number = document, 1
        while docno in seen or (number > 1 and docno in taken):
            number += 1
            docno = f"{document}#repeat{number}"
        seen.add(docno)
        lines.append(f"{query_id} Q0 {escape_column(docno)} {rank} {len(documents) - rank + 1} {tag}\n")
    return "".join(lines)


def make_trec_file_names(engines: Iterable[str]) -> dict[str, str]:
    """Return `run.<engine>.trec` by engine; the names differ in more than case."""
    names: dict[str, str] = {}
    taken: set[str] = set()
    for engine in sorted(engines):
        stem = make_file_name(escape_column(engine))[:120]
        name = f"run.{stem}.trec"
        if name.casefold() in taken:
            name = f"run.{stem}-{hashlib.sha256(engine.encode()).hexdigest()[:8]}.trec"
        taken.add(name.casefold())
        names[engine] = name
    return names


#: The judgments of each (query_id, snippet_id), one a repeat.
_JudgmentEntries = Mapping[PairKey, Sequence[JudgmentEntry]]


def iter_query_entries(run: JudgedRun, scores: Scores) -> Iterator[QueryEntry]:
    """Yield an entry for each query, in reading order, with each engine's snippets best first."""
    read_judgments = group_by_query(run.judgments)
    of_members = {name: group_by_query(judgments) for name, judgments in run.members.items()}
    read_scores, notes = _average_scores(scores), _group_notes(run)
    for query, rankings in group_rankings(run.dataset):
        members = {name: read(query.id) for name, read in of_members.items()}
        judgments = _make_judgment_entries(read_judgments(query.id), members, run.spec.scale)
        engines = {
            ranking.engine: EngineEntry(
                scores=read_scores(*ranking.key),
                error=ranking.error,
                latency_ms=ranking.latency_ms,
                dimensions={
                    name: dimension.values[ranking.key]
                    for name, dimension in run.dimensions.items()
                    if ranking.key in dimension.values
                },
                notes=notes.get(ranking.key, {}),
                snippets=tuple(_make_snippet_entries(ranking, judgments)),
            )
            for ranking in sorted(rankings, key=attrgetter("engine"))
        }
        yield QueryEntry(
            query_id=query.id,
            query=query.raw_text,
            lang=query.lang,
            shown=query.text if query.text != query.raw_text else None,
            reference=query.reference,
            expected=query.expected,
            extra=dict(query.extra),
            engines=engines,
        )


def _group_notes(run: JudgedRun) -> dict[ListKey, dict[str, str]]:
    """Return what dimensions say of a list in words, by dimension."""
    notes: dict[ListKey, dict[str, str]] = {}
    for name, dimension in run.dimensions.items():
        for note in dimension.summary.notes:
            if note.engine is not None:
                notes.setdefault((note.engine, note.query_id), {})[name] = note.text
    return notes


def _make_judgment_entries(
    judgments: Iterable[Judgment], members: Mapping[str, Iterable[Judgment]], scale: Scale
) -> _JudgmentEntries:
    of_members: dict[tuple[PairKey, int], list[JudgmentEntry]] = {}
    for name, own in members.items():
        for judgment in own:
            entry = _make_judgment_entry(judgment, scale, assessor=name)
            of_members.setdefault((judgment.key, judgment.repeat), []).append(entry)
    entries: dict[PairKey, list[JudgmentEntry]] = {}
    for judgment in judgments:
        entry = _make_judgment_entry(judgment, scale, of_members.get((judgment.key, judgment.repeat), ()))
        entries.setdefault(judgment.key, []).append(entry)
    return entries


def _make_judgment_entry(
    judgment: Judgment, scale: Scale, members: Sequence[JudgmentEntry] = (), *, assessor: str = ""
) -> JudgmentEntry:
    """Return the entry of a judgment; `assessor` names a member of a panel."""
    grade = judgment.grade
    return JudgmentEntry(
        assessor=assessor,
        repeat=judgment.repeat,
        verdict=None if grade is None else "yes" if grade >= scale.relevant_from else "no",
        grade=grade,
        reason=judgment.reason,
        error=judgment.error,
        flags=judgment.flags,
        members=tuple(members),
        judged_snippet_id=None if assessor else judgment.judged_snippet_id,
        score=None if assessor else judgment.score,
        probabilities=() if assessor else judgment.probabilities,
    )


def _make_snippet_entries(ranking: Ranking, judgments: _JudgmentEntries) -> Iterator[SnippetEntry]:
    for rank, snippet in enumerate(ranking.snippets, start=1):
        is_pooled = rank <= len(ranking.documents)
        yield SnippetEntry(
            rank=rank,
            snippet_id=snippet.id,
            document=ranking.documents[rank - 1] if is_pooled else None,
            title=snippet.raw_title,
            url=snippet.url,
            snippet=snippet.raw_text,
            date=snippet.date,
            docno=snippet.docno,
            shown=CleanedText(snippet.title, snippet.text) if snippet.raw else None,
            flags=snippet.flags,
            judgments=tuple(judgments.get((ranking.query_id, snippet.id), ())) if is_pooled else (),
        )


def _average_scores(scores: Scores) -> Callable[[str, str], Mapping[str, float | None]]:
    """Return a function that returns the means over the repeats of an engine on a query, by measure."""
    means = scores.average_repeats()
    names = [str(measure) for measure in scores.measures]
    engines = {engine: row for row, engine in enumerate(scores.engines)}
    queries = {query: column for column, query in enumerate(scores.queries)}

    def read_means(engine: str, query_id: str) -> Mapping[str, float | None]:
        values = means[engines[engine], queries[query_id]].tolist()
        return dict(zip(names, map(convert_non_finite, values), strict=True))

    return read_means
