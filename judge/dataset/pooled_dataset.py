"""A dataset with its pool, as lines of a cache: one line for the dataset, then one for each query."""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, replace
from itertools import groupby
from typing import Any

import msgspec

from judge.dataset.pool import build_pool, make_pair, sort_key
from judge.records import Dataset, Pair, Pool, Query, Ranking, Snippet

_ENCODE = json.JSONEncoder(ensure_ascii=False, allow_nan=False).encode
_SURROGATE = re.compile("[\ud800-\udfff]")


@dataclass(frozen=True, slots=True)
class PooledDataset:
    """A dataset, its pool, and `fingerprint`, a hash of the dataset as it was read."""

    dataset: Dataset
    pool: Pool
    fingerprint: str


def pool_dataset(dataset: Dataset, depth: int) -> PooledDataset:
    """Return the dataset with its pool down to `depth`."""
    return PooledDataset(dataset, build_pool(dataset, depth), _fingerprint(dataset))


def _fingerprint(dataset: Dataset) -> str:
    """Return a hash of the whole dataset as it was read: queries, rankings, snippets and errors."""
    digest = hashlib.sha256()
    for query in dataset.queries.values():
        extra = sorted(query.extra.items())
        record: tuple[object, ...] = ("query", query.id, query.raw_text, query.lang, query.reference, extra)
        expected = () if query.expected is None else (query.expected,)
        digest.update(json.dumps((*record, *expected)).encode())
    for ranking in sorted(dataset.rankings, key=lambda ranking: (ranking.query_id, ranking.engine)):
        snippets = [
            (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)
            for snippet in ranking.snippets
        ]
        latency = [] if ranking.latency_ms is None else [ranking.latency_ms]
        record = ("ranking", ranking.query_id, ranking.engine, ranking.error, snippets, *latency)
        digest.update(json.dumps(record).encode())
    return digest.hexdigest()[:16]


def dump_pooled(pooled: PooledDataset) -> Iterator[str]:
    """Yield the lines that `load_pooled` reads."""
    dataset, pool = pooled.dataset, pooled.pool
    yield _dump(
        pooled.fingerprint, dataset.engines, dataset.warnings, dataset.dates, pool.depth, pool.results
    )
    rankings, pairs = iter(dataset.rankings), iter(pool.pairs)
    of_rankings = {key: tuple(group) for key, group in groupby(rankings, lambda ranking: ranking.query_id)}
    of_pairs = {key: tuple(group) for key, group in groupby(pairs, lambda pair: pair.query.id)}
    for query in dataset.queries.values():
        # A snippet that several engines returned is one object: it is written, and read again, once.
        snippets = {id(snippet): snippet for ranking in of_rankings[query.id] for snippet in ranking.snippets}
        numbers = {key: number for number, key in enumerate(snippets)}
        places = {sort_key(snippet): number for number, snippet in enumerate(snippets.values())}
        yield _dump(
            [
                *(query.id, query.text, query.raw_text, query.lang, query.reference),
                *(dict(query.extra), query.expected),
            ],
            [_pack_snippet(snippet) for snippet in snippets.values()],
            [
                [
                    ranking.engine,
                    ranking.error,
                    ranking.latency_ms,
                    [numbers[id(snippet)] for snippet in ranking.snippets],
                    pool.documents[ranking.engine, query.id],
                ]
                for ranking in of_rankings[query.id]
            ],
            [places[sort_key(pair.snippet)] for pair in of_pairs.get(query.id, ())],
        )


def _dump(*values: object) -> str:
    text = _ENCODE(values)
    return _SURROGATE.sub(lambda match: f"\\u{ord(match[0]):04x}", text) + "\n"


def _pack_snippet(snippet: Snippet) -> list[object]:
    """Return the fields of a snippet; None stands for a raw text that cleaning did not change."""
    return [
        snippet.id,
        snippet.text,
        snippet.title,
        snippet.date,
        snippet.url,
        None if snippet.raw_text == snippet.text else snippet.raw_text,
        None if snippet.raw_title == snippet.title else snippet.raw_title,
        snippet.docno,
        snippet.flags,
    ]


def load_pooled(lines: Iterable[bytes], digest: str) -> PooledDataset:
    """Return the dataset in `lines`, and its pool, which gets the digest `digest`.

    Raise ValueError, TypeError or LookupError for lines of another form.
    """
    rows = map(_parse_line, lines)
    fingerprint, engines, warnings, dates, depth, results = next(rows)
    queries: dict[str, Query] = {}
    rankings: list[Ranking] = []
    pairs: list[Pair] = []
    documents: dict[tuple[str, str], tuple[str, ...]] = {}
    dataset = Dataset(queries, (), tuple(engines), tuple(warnings), dates)
    for fields, packed, lists, places in rows:
        fields[-1] = None if fields[-1] is None else tuple(fields[-1])
        query = queries[fields[0]] = Query(*fields)
        snippets = [_unpack_snippet(*values) for values in packed]
        for engine, error, latency_ms, numbers, names in lists:
            ranked = tuple(snippets[number] for number in numbers)
            rankings.append(Ranking(engine, query.id, ranked, error, latency_ms))
            documents[engine, query.id] = tuple(names)
        pairs += [make_pair(dataset, query.id, snippets[place]) for place in places]
    pool = Pool(depth, results, tuple(pairs), documents, digest)
    return PooledDataset(replace(dataset, rankings=tuple(rankings)), pool, fingerprint)


def _parse_line(line: bytes) -> Any:  # noqa: ANN401  # JSON holds anything
    try:
        return msgspec.json.decode(line)
    except msgspec.DecodeError:  # half a surrogate pair
        return json.loads(line)


def _unpack_snippet(
    id: str, text: str, title: str, date: str, url: str, raw_text: str | None, raw_title: str | None,
    docno: str, flags: list[str],
) -> Snippet:  # fmt: skip
    raw_text, raw_title = text if raw_text is None else raw_text, title if raw_title is None else raw_title
    return Snippet(id, text, title, date, url, raw_text, raw_title, docno, tuple(flags))
