"""The raw log of a collection, one line per call with the raw answer, and the dataset derived from it.

A line is on disk before it counts. A better reading of an engine's answers costs no new call.
"""

from __future__ import annotations

import json
import os
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from pathlib import Path

import msgspec

from judge.characters import make_natural_key
from judge.collect.engines import EngineRequest, ResultSource
from judge.collect.query_file import QueryRow
from judge.collect.responses import find_keys_without_results, parse_results
from judge.dataset.rows import InputRecord
from judge.dataset.text_files import translate_read_errors
from judge.errors import CallError, ErrorKind, InputError, RunIncomplete, StoreError, explain_error
from judge.files.filesystem import LineLog, open_for_append, open_for_read
from judge.files.json_text import dump_json
from judge.messages import Message, NameList, SeparatedNames, cut_value, join_messages
from judge.models.redaction import mask

#: Why an engine without an error was not asked.
_ENDED_BEFORE = Message("collecting ended before")


@dataclass(frozen=True, slots=True)
class RawLogEntry:
    """One call and its response.

    `started` is a time in UTC. `status` is None without a response. `latency_ms` lasts from connecting, if
    that was needed, to the last byte. `body` is the response as text, or its bytes as Latin-1 if `error` says
    that they are not text. `error` None means that `body` claims to be an answer; reading it may still fail.
    """

    engine: str
    query_id: str
    request: EngineRequest
    started: str
    status: int | None
    latency_ms: float
    body: str
    error: str | None


def make_raw_log_path(data: Path) -> Path:
    """Return the path of the raw log of the dataset `data`."""
    return data.with_name(f"{data.name}.raw.jsonl")


def read_raw_log(path: Path) -> Iterator[RawLogEntry]:
    """Yield every call in the log at `path`, in order; none when there is no log.

    A last line that a kill cut off is ignored. Raises InputError when another line is not a call.
    """
    if not path.exists():
        return
    with translate_read_errors(path), open_for_read(path) as file:
        for number, line in enumerate(file, start=1):
            if not line.endswith(b"\n"):
                return
            try:
                yield msgspec.convert(json.loads(line), RawLogEntry)
            except (ValueError, RecursionError) as error:  # msgspec's errors are ValueErrors
                raise InputError(
                    "{file}:{number}: judge collect did not write this line ({error!s:.100}); correct or"
                    " remove the line, or name another --out",
                    file=path,
                    number=number,
                    error=explain_error(error),
                ) from error


def _make_reason(kind: str, detail: str) -> Message:
    """Return why an engine has no answer: `kind` and `detail` of its error. Files have the English text."""
    return Message("{name}: {value}", name=ErrorKind(kind), value=Message(detail))


class RawLog:
    """The log, open for writing: after `add` returns, the entry is on disk. Any thread may add."""

    def __init__(self, path: Path) -> None:
        self._path = path
        try:
            path.parent.mkdir(parents=True, exist_ok=True)
            os.close(open_for_append(path))  # before any request: it can be written
            self._file = LineLog(path)
        except OSError as error:
            raise StoreError(
                "{file}: cannot be written: {error}", file=path, error=explain_error(error)
            ) from error

    def add(self, entry: RawLogEntry) -> None:
        """Append `entry`; raise StoreError when it cannot be written."""
        try:
            self._file.append(f"{dump_json(asdict(entry))}\n".encode())
        except OSError as error:
            raise StoreError(
                "{file}: cannot be written: {error}; all earlier answers are saved",
                file=self._path,
                error=explain_error(error),
            ) from error


# What the log says: the dataset and the tallies; the same log always gives the same bytes


@dataclass(frozen=True, slots=True)
class EngineAnswer:
    """One engine's answer to one query, or a page of it: `results`, and the latency of its calls in ms.

    `keys` are those of a response that lacks the path of the results, None where it has the path, or where
    the path is no option. `missing` is the next call to make, None when the answer is whole. `error` says why
    there is no answer: calls are missing, or a stored response is none with the paths of the engine's table.
    """

    results: tuple[Mapping[str, str], ...]
    latency_ms: float
    keys: tuple[str, ...] | None = None
    missing: EngineRequest | None = None
    error: Message | None = None


class CollectedResults:
    """The answers of `sources` to `queries`, from the entries of a raw log.

    `depth` results are wanted per query. A later entry replaces an earlier one.
    """

    def __init__(
        self,
        sources: Sequence[ResultSource],
        queries: Sequence[QueryRow],
        depth: int,
        entries: Iterable[RawLogEntry] = (),
    ) -> None:
        self.sources = sources
        self.queries = queries
        self.depth = depth
        self._source_of_name = {source.name: source for source in sources}
        #: Engines in the log that are not among `sources`, and gave an answer.
        self.other_engines: set[str] = set()
        #: Engines of whose responses at least one has a result.
        self._readable: set[str] = set()
        #: By engine and query id: each call, and why there is no answer.
        self._pages: dict[tuple[str, str], dict[EngineRequest, EngineAnswer]] = {}
        self._errors: dict[tuple[str, str], Message] = {}
        self._latest_errors: dict[str, Message] = {}
        for entry in entries:
            self.add(entry)

    def add(self, entry: RawLogEntry) -> CallError | None:
        """Add one call; return the error when its body claims to be an answer and cannot be read as one."""
        if (source := self._source_of_name.get(entry.engine)) is None:
            if entry.error is None:
                self.other_engines.add(entry.engine)
            return None
        key, unreadable = (entry.engine, entry.query_id), None
        if entry.error is None:
            pages = self._pages.setdefault(key, {})
            is_later_page = any(page.results for page in pages.values())
            try:
                results = parse_results(source.shape, entry.body, is_later_page=is_later_page)
                lacks_list = bool(source.table) and not results
                keys = find_keys_without_results(source.shape, entry.body) if lacks_list else None
                pages[entry.request] = EngineAnswer(tuple(results), entry.latency_ms, keys)
                if results:
                    self._readable.add(entry.engine)
                return None
            except CallError as error:
                unreadable = error
                reason = _make_reason(error.kind, mask(error.detail, *source.secrets))
                if source.table and error.kind == "unreadable":  # corrected paths may read it
                    pages[entry.request] = EngineAnswer((), entry.latency_ms, error=reason)
        else:
            kind, separator, detail = entry.error.partition(": ")
            reason = _make_reason(kind, detail) if separator else Message(kind)
        self._errors[key] = self._latest_errors[entry.engine] = reason
        return unreadable

    def find_answer(self, source: ResultSource, query: QueryRow) -> EngineAnswer:
        """Return the answer of `source` to `query` as far as it is known: pages until one is empty."""
        pages = self._pages.get((source.name, query.id), {})
        rows: list[Mapping[str, str]] = []
        latency, keys = 0.0, None
        for request in source.make_requests(query.text, self.depth):
            if request not in pages:
                latest = self._latest_errors.get(source.name, _ENDED_BEFORE)
                skipped = Message("{name}: {value}", name=Message("not asked"), value=latest)
                error = self._errors.get((source.name, query.id), skipped)
                return EngineAnswer(tuple(rows), latency, missing=request, error=error)
            page = pages[request]
            if page.error:  # the response is wrong, not the table, where others are readable
                return replace(page, missing=request if source.name in self._readable else None)
            rows += page.results
            latency += page.latency_ms
            keys = page.keys
            if not page.results or len(rows) >= self.depth:
                break
        return EngineAnswer(tuple(rows[: self.depth]), round(latency, 1), None if rows else keys)

    def find_answers(self, source: ResultSource) -> list[EngineAnswer]:
        """Return the answers of `source`, one a query; where all lack the path of the results, unreadable."""
        answers = [self.find_answer(source, query) for query in self.queries]
        whole = [answer for answer in answers if not answer.missing]
        if not whole or any(answer.keys is None for answer in whole):
            return answers
        detail = Message("the response has no {path!r} (results)", path=source.shape.results)
        reason = _make_reason("unreadable", detail)
        return [answer if answer.missing else replace(answer, error=reason) for answer in answers]

    def make_rows(self) -> Iterator[InputRecord]:
        """Yield the dataset, one row per query in the nested form, engines by name."""
        sources = sorted(self.sources, key=lambda source: source.name)
        for query, *answers in zip(self.queries, *map(self.find_answers, sources), strict=True):
            engines: dict[str, InputRecord] = {}
            for source, answer in zip(sources, answers, strict=True):
                if answer.error:
                    engines[source.name] = {"error": str(answer.error)}
                else:
                    engines[source.name] = {"results": list(answer.results), "latency_ms": answer.latency_ms}
            yield {**query.row, "engines": engines}

    def tally(self, source: ResultSource) -> EngineTally:
        """Return the counts of the queries and results of an engine."""
        answers = self.find_answers(source)
        errors = Counter(answer.error for answer in answers if answer.error)
        lists = [answer.results for answer in answers if not answer.error]
        keys = [answer.keys for answer in answers if answer.error and not answer.missing]
        return EngineTally(
            answered=len(lists),
            empty=sum(not rows for rows in lists),
            short=sum(0 < len(rows) < self.depth for rows in lists),
            longest=max(map(len, lists), default=0),
            depth=self.depth,
            errors=dict(errors.most_common()),
            results=sum(map(len, lists)),
            no_snippet=sum(not row["snippet"] for rows in lists for row in rows),
            snippet_fields=source.shape.snippet,
            keys=keys[0] if keys else None,
            unreadable=len(keys),
        )


@dataclass(frozen=True, slots=True)
class EngineTally:
    """Counts of one engine's queries and `results`.

    `empty` of the `answered` queries have no result, and `short` have fewer than the `depth` that was
    requested; the `longest` list has so many results. `errors` counts the other queries by reason, the most
    frequent first. `no_snippet` results have no text except a title; it was looked for in `snippet_fields`.
    `unreadable` responses are stored, and none of them is an answer with the paths of the engine's table;
    `keys` are those of the first one where all lack the path of the results, else None.
    """

    answered: int
    empty: int
    short: int
    longest: int
    depth: int
    errors: Mapping[Message, int]
    results: int
    no_snippet: int
    snippet_fields: Sequence[str]
    keys: tuple[str, ...] | None = None
    unreadable: int = 0

    @property
    def failed(self) -> int:
        """The number of queries without an answer."""
        return sum(self.errors.values())


@dataclass(frozen=True, slots=True)
class CollectResult:
    """The outcome of a collection.

    `data` and `raw_log` are the paths of the dataset and of the raw log. `wrong_paths` name engines whose
    stored responses cannot be read with the paths of their tables. `incomplete` says this and what is
    missing, None when nothing is. `remarks` are warnings about the file of queries, and name engines that
    only the raw log has. `short_lists` has a sentence for each engine that returned fewer results than the
    depth for every query.
    """

    data: Path
    raw_log: Path
    calls_made: int
    engines: Mapping[str, EngineTally]
    incomplete: RunIncomplete | None
    remarks: tuple[str, ...] = ()
    wrong_paths: tuple[str, ...] = ()
    short_lists: Mapping[str, str] = field(default_factory=dict)


def summarise_collection(
    data: Path, calls: int, results: CollectedResults, warnings: Iterable[str]
) -> CollectResult:
    """Return the outcome of a collection into `data` that made `calls` calls, and `warnings` before it."""
    engines = {source.name: results.tally(source) for source in results.sources}
    tallies = list(zip(results.sources, engines.values(), strict=True))
    wrong_paths = tuple(_describe_wrong_paths(tallies))
    problems: list[str] = [*wrong_paths]
    failed = [
        Message("{engine} on {count:,}", engine=name, count=tally.failed - tally.unreadable)
        for name, tally in engines.items()
        if tally.failed > tally.unreadable
    ]
    if failed:
        counts = join_messages(failed, "{left}, {right}")
        problems.append(
            Message(
                "no answer from {counts} of {queries:,} queries; {data} has the reason of each; run the same"
                " command again to request only these",
                counts=counts,
                queries=len(results.queries),
                data=data,
            )
        )
    log_path = make_raw_log_path(data)
    remarks = list(warnings)
    if results.other_engines:
        remarks.append(
            Message(
                "{data} is without {names}, whose answers are in {log}; to have them in the dataset, name"
                " these engines, too",
                data=data,
                names=NameList(sorted(results.other_engines, key=make_natural_key)),
                log=log_path,
            )
        )
    incomplete = RunIncomplete(join_messages(problems)) if problems else None
    return CollectResult(
        data,
        log_path,
        calls,
        engines,
        incomplete,
        remarks=tuple(remarks),
        wrong_paths=wrong_paths,
        short_lists={
            source.name: _describe_short_lists(source, tally)
            for source, tally in tallies
            if 0 < tally.longest < tally.depth
        },
    )


def _describe_wrong_paths(tallies: Iterable[tuple[ResultSource, EngineTally]]) -> Iterator[Message]:
    """Yield which engines have responses that cannot be read with the paths of their tables."""
    for source, tally in tallies:
        if not tally.unreadable:
            continue
        if tally.keys is None:
            problem = Message(
                "no result has a title or a snippet in responses of {engine}; correct fields in {table}",
                engine=source.name,
                table=source.table,
            )
        else:
            problem = Message(
                "no response of {engine} has {path!r} (results); the first one has the keys {keys}; correct"
                " results in {table}",
                engine=source.name,
                path=source.shape.results,
                keys=SeparatedNames(cut_value(key, 40) for key in tally.keys) or Message("none"),
                table=source.table,
            )
        yield Message(
            "{problem} and run the same command again: it then reads the stored responses", problem=problem
        )


def _describe_short_lists(source: ResultSource, tally: EngineTally) -> Message:
    """Return that an engine returned fewer results than the depth for every query."""
    return Message(
        "{engine} returned at most {tally.longest} of the {tally.depth} requested results; lower the depth"
        "{advice}",
        engine=source.name,
        tally=tally,
        advice=Message(", or change {options}", options=source.depth_advice) if source.depth_advice else "",
    )
