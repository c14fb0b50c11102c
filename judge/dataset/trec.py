"""TREC files: topics, documents and runs are read into rows."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from html import unescape
from math import isnan
from operator import attrgetter
from pathlib import Path
from typing import NamedTuple

import numpy as np

from judge.dataset import field_values
from judge.dataset.rows import InputRecord, InputRow, convert_values
from judge.dataset.text_files import Warn, parse_object, read_lines, read_nonblank_lines
from judge.errors import InputError
from judge.messages import Message, SeparatedNames
from judge.records import Ranking, Snippet

#: Where a topic with tags begins, in front of the tag; its id, and its text.
_TOPIC_START = re.compile(r"(?=<top(?:ic)?[\s>])", re.IGNORECASE)
_TOPIC_ID = re.compile(
    r"<topic\s[^>]*?\b(?:number|id)\s?=\s?[\"']?([^\"'>\s]+)|<num>\s*(?:number:)?\s*([^\s<]+)", re.IGNORECASE
)
_TOPIC_TITLE = re.compile(r"<(?:title|query)>\s*(?:topic:)?([^<]*)", re.IGNORECASE)
_TOPIC_ID_NAMES = ("query_id", "qid", "id", "_id")
_ID_NAMES = ("docid", "docno", "doc_id", "id", "_id")


class _Result(NamedTuple):
    """A line of a run; lists are sorted by `order`: the negative score, then the rank."""

    location: str
    docno: str
    order: tuple[float, int]


def read_trec_rows(topics: Path, docs: Path, runs: Sequence[Path], warn: Warn) -> Iterator[InputRow]:
    """Yield the rows of all runs, best first in each list.

    A list is sorted by score, highest first, as in trec_eval. Ties are sorted by the rank column, the order
    that users saw, then by the order of the file (trec_eval takes the name of the document). The snippet of a
    document that is not in `docs` is None. `warn` and the errors of reading are those of `read_lines`. Raise
    InputError, too, for unknown topics and malformed lines.
    """
    queries = _read_topics(topics, warn)
    lists = _read_runs(runs, queries, warn)
    answered = {query_id for query_id, _ in lists}
    if unanswered := [query_id for query_id in queries if query_id not in answered]:
        warn(
            Message(
                "{file}: topics without a result in any run are left out: {count:,} of {topics:,}, first"
                " {query_id!r}",
                file=topics,
                count=len(unanswered),
                topics=len(queries),
                query_id=unanswered[0],
            )
        )
    docnos = {result.docno for results in lists.values() for result in results}
    texts = _read_documents(docs, docnos, warn)
    if not texts:
        raise InputError(
            "{file}: has none of the {count:,} documents that the runs name; is it the right file?",
            file=docs,
            count=len(docnos),
        )
    return (
        InputRow(
            result.location,
            columns={},
            values={
                "query": queries[query_id],
                "query_id": query_id,
                "engine": engine,
                **texts.get(result.docno, {"snippet": None}),
                "docno": result.docno,
            },
        )
        for (query_id, engine), results in lists.items()
        for result in results
    )


def read_trec_rankings(runs: Sequence[Path], warn: Warn) -> tuple[Ranking, ...]:
    """Return the lists of all runs as documents without text, in the order of trec_eval.

    That is by score as a 32-bit number, ties by the name of the document from z to a, never by rank.
    """
    rankings = []
    for (query_id, engine), results in _read_runs(runs, None, warn).items():
        by_name = sorted(results, key=lambda result: (result.docno, result.order[0]), reverse=True)
        with np.errstate(over="ignore"):  # trec_eval, too, takes larger numbers as infinite
            in_order = sorted(by_name, key=lambda result: np.float32(result.order[0]))
        snippets = tuple(Snippet(result.docno, docno=result.docno) for result in in_order)
        rankings.append(Ranking(engine, query_id, snippets))
    return tuple(rankings)


def _read_topics(path: Path, warn: Warn) -> dict[str, str]:
    topics: dict[str, str] = {}
    lines = list(read_nonblank_lines(path, warn))
    parse = _parse_tagged_topics if lines and lines[0][1].startswith("<") else _parse_topic_lines
    for location, line, query_id, text in parse(lines):
        if not query_id or not text:
            raise InputError(
                "{place}: is {line!r}; a topic is an id, a tab, and the query's text, or JSON with 'query_id'"
                " and 'query', or has <num> and <title>, or <topic number=…> and <query>",
                place=location,
                line=line[:60],
            )
        if query_id in topics:
            raise InputError(
                "{place}: topic {query_id!r} is given twice; give each topic once",
                place=location,
                query_id=query_id,
            )
        topics[query_id] = text
    if not topics:
        raise InputError(
            "{file}: holds no topics; write a line for each topic: an id, a tab, and the query's text",
            file=path,
        )
    return topics


def _parse_topic_lines(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the location, the line, the id and the text of each topic; what it lacks is empty."""
    for location, line in lines:
        if line.startswith(("{", "[{")):  # a list is no object, which the error says
            record = convert_values(parse_object(location, line))
            query_id = _find_id(location, record, _TOPIC_ID_NAMES) or ""
            value = next((record[name] for name in ("query", "text", "title") if record.get(name)), None)
            text = field_values.parse_text(location, "query", value).strip()
        else:
            query_id, _, text = (part.strip() for part in line.partition("\t" if "\t" in line else ":"))
            if "\t" in text:  # another column is no part of the query
                text = ""
        yield location, line, query_id, text


def _find_id(location: str, record: InputRecord, names: Sequence[str]) -> str | None:
    """Return the id in the first of the fields `names` that has a value, None without one."""
    name = next((name for name in names if record.get(name) is not None), None)
    return None if name is None else field_values.format_identifier(location, name, record[name])


def _parse_tagged_topics(lines: Iterable[tuple[str, str]]) -> Iterator[tuple[str, str, str, str]]:
    """Yield the same of topics with tags, as in the files of TREC's tracks.

    A topic begins with `<top>` or `<topic …>`. Its id is in `<num>` or in an attribute, its text in `<title>`
    or `<query>`; description and narrative are left out.
    """
    blocks: list[tuple[str, list[str]]] = []
    for location, line in lines:
        for part in _TOPIC_START.split(line):
            if _TOPIC_START.match(part):
                blocks.append((location, []))
            if blocks:
                blocks[-1][1].append(part)
    for location, block in blocks:
        content = "\n".join(block)
        query_id, title = _TOPIC_ID.search(content), _TOPIC_TITLE.search(content)
        text = " ".join(unescape(title[1]).split()) if title else ""
        yield location, block[0], (query_id[1] or query_id[2]) if query_id else "", text


def _read_runs(
    runs: Sequence[Path], queries: Mapping[str, str] | None, warn: Warn
) -> dict[tuple[str, str], list[_Result]]:
    """Return the lists by (topic, engine), best first; without `queries` any topic is allowed."""
    lists: dict[tuple[str, str], list[_Result]] = {}
    for path, engine in _name_engines(runs).items():
        seen: dict[tuple[str, str], str] = {}
        file_tag = ""
        for location, line in read_nonblank_lines(path, warn):
            query_id, docno, order, tag = _parse_run_line(location, line)
            if queries is not None and query_id not in queries:
                raise InputError(
                    "{place}: topic {query_id!r} is not in the topics file; add it there, or name another"
                    " --topics",
                    place=location,
                    query_id=query_id,
                )
            if tag != (file_tag := file_tag or tag):
                raise InputError(
                    "{place}: has tag {tag!r} after tag {other_tag!r}; a run file holds one engine",
                    place=location,
                    tag=tag,
                    other_tag=file_tag,
                )
            if (query_id, docno) in seen:
                raise InputError(
                    "{place}: document {document!r} of topic {query_id!r} is also at {other_place}; give each"
                    " document of a topic once",
                    place=location,
                    document=docno,
                    query_id=query_id,
                    other_place=seen[query_id, docno],
                )
            seen[query_id, docno] = location
            lists.setdefault((query_id, engine), []).append(_Result(location, docno, order))
    topics = sorted({query_id for query_id, _ in lists}) if queries is None else queries
    positions = {query_id: number for number, query_id in enumerate(topics)}
    return {
        key: sorted(lists[key], key=attrgetter("order"))
        for key in sorted(lists, key=lambda key: (positions[key[0]], key[1]))
    }


def _parse_run_line(location: str, line: str) -> tuple[str, str, tuple[float, int], str]:
    parts = line.split()
    if len(parts) != 6:
        raise InputError(
            "{place}: the number of columns is {columns}; a TREC run has six: topic Q0 docno rank score tag."
            " For a dataset in another form, leave out --topics, --docs and --run",
            place=location,
            columns=len(parts),
        )
    query_id, _, docno, rank, score, tag = parts
    order = None
    if re.fullmatch(
        r"[\x21-\x5e\x60-\x7e]+", rank + score
    ):  # Python also reads 1_0, and digits of any script
        with suppress(ValueError, OverflowError):
            order = (-float(score), int(float(rank)))
    if order is None or isnan(order[0]):  # which cannot be sorted
        raise InputError(
            "{place}: field 'rank' is {rank!r:.40} and 'score' {score!r:.40}; both are numbers",
            place=location,
            rank=rank,
            score=score,
        )
    return query_id, docno, order, tag


def _name_engines(runs: Sequence[Path]) -> dict[Path, str]:
    """Return the engine of each file: its tag, or a name from the path where files share a tag."""
    tags: dict[Path, str] = {}
    for path in runs:
        first = next(read_nonblank_lines(path, lambda _: None), None)
        if first is None:
            raise InputError("{file}: holds no results; write one line for each result", file=path)
        tags[path] = first[1].split()[-1]
    shared = {tag for tag in tags.values() if list(tags.values()).count(tag) > 1}
    names = {path: _distinguish_names(path, runs) if tag in shared else tag for path, tag in tags.items()}
    if len(set(names.values())) < len(runs):
        raise InputError(
            "{file}: has the tag and the path of another --run; a run file holds one engine", file=runs[-1]
        )
    return names


def _distinguish_names(path: Path, runs: Sequence[Path]) -> str:
    """Return the shortest end of the path, without suffixes, that no other run has."""
    tails = {other: other.resolve().with_name(_strip_suffixes(other)).parts for other in runs}
    for length in range(1, len(tails[path]) + 1):
        tail = tails[path][-length:]
        if sum(other[-length:] == tail for other in tails.values()) == 1:
            return "-".join(tail)
    return _strip_suffixes(path)


def _strip_suffixes(path: Path) -> str:
    return re.sub(r"\.(?:gz|run|trec|txt|tsv)(?=\.|$)", "", path.name) or path.name


def _read_documents(path: Path, docnos: set[str], warn: Warn) -> dict[str, InputRecord]:
    """Return the fields of the wanted documents, from JSON lines or `docno<TAB>text` lines."""
    documents: dict[str, InputRecord] = {}
    locations: dict[str, str] = {}
    for number, line in read_lines(path, warn):
        if not line.strip(" \t\r\n"):
            continue
        location = f"{path}:{number}"
        # A tab at the end stays: the document has no text, while a line without one is cut off.
        docno, document = _parse_document(location, line.strip(" \r\n"))
        if docno not in docnos:
            continue
        if documents.setdefault(docno, document) != document:
            raise InputError(
                "{place}: document {document!r} has another text at {other_place}; a document has one text",
                place=location,
                document=docno,
                other_place=locations[docno],
            )
        locations.setdefault(docno, location)
    return documents


def _parse_document(location: str, line: str) -> tuple[str, InputRecord]:
    if not line.startswith("{"):
        docno, separator, text = line.partition("\t")
        docno = docno.strip()
        if not separator or docno.lower() in _ID_NAMES:
            raise InputError(
                "{place}: is {line!r}; a document is an id, a tab and its text, or JSON, and there is no"
                " header",
                place=location,
                line=line[:60],
            )
        return docno, {"snippet": text}
    record = convert_values(parse_object(location, line))
    document_id = _find_id(location, record, _ID_NAMES)
    texts = [name for name in ("text", "snippet", "contents", "passage", "body") if name in record]
    if document_id is None or not texts:
        raise InputError(
            "{place}: needs 'docid' and 'text'; it has {names}", place=location, names=SeparatedNames(record)
        )
    other_fields = {
        name: field_values.parse_text(location, name, record.get(name)) for name in ("title", "url", "date")
    }
    return document_id, {
        "snippet": field_values.parse_optional_text(location, texts[0], record[texts[0]]),
        **other_fields,
    }
