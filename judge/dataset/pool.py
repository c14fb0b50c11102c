"""The pool: the distinct pairs to judge, and which snippets show the same document.

A dataset with its pool is stored as lines: one for each query, then one for the dataset.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Container, Iterable, Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, field, replace
from itertools import chain, islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Any
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec

from judge.dataset.clean import TEXT_MISSING, describe_missing
from judge.dataset.read import QueryReader
from judge.dataset.validation import short_hash
from judge.messages import Message
from judge.records import Dataset, Pair, Pool, Query, Ranking, Snippet
from judge.stored_lines import TemporaryLines
from judge.stored_records import ALL_PLACES, QueryResults, StoredDocuments, StoredRankings, StoredRecords

# Parameters for tracking, which do not change the page.
_TRACKING = frozenset({"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "spm"})
# A name, a colon and no digit: `example.com:8080/a` is a host and its port.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])")
_SURROGATE = re.compile("[\ud800-\udfff]")
# Of either scheme, which the canonical form leaves out.
_DEFAULT_PORTS = frozenset({80, 443})


def build_pool(dataset: Dataset, depth: int) -> Pool:
    """Return the union of the snippets of all engines down to `depth`: one pair per query, title and text.

    With `dates` of the dataset, snippets with different dates are different pairs. Pairs are in the order of
    their queries in the input, then sorted by snippet id, so that they do not depend on the engines.
    """
    pairs: list[Pair] = []
    documents: dict[tuple[str, str], tuple[str, ...]] = {}
    for query_id, rankings in group_rankings(dataset).items():
        snippets, names = _pool_query(query_id, rankings, depth)
        pairs += [make_pair(dataset, query_id, snippet) for snippet in snippets]
        documents |= names
    return Pool(depth, sum(map(len, documents.values())), tuple(pairs), documents)


def _pool_query(
    query_id: str, rankings: Iterable[Ranking], depth: int
) -> tuple[list[Snippet], dict[tuple[str, str], tuple[str, ...]]]:
    """Return the snippets of the pairs of a query, and the documents of each list."""
    by_engine = {ranking.engine: ranking.snippets[:depth] for ranking in rankings}
    all_snippets = sorted(chain.from_iterable(by_engine.values()), key=sort_key)
    distinct = {snippet.id: snippet for snippet in all_snippets}
    names = _name_documents(all_snippets)
    documents = {
        (engine, query_id): tuple(names[_document_key(snippet)] for snippet in snippets)
        for engine, snippets in by_engine.items()
    }
    return list(distinct.values()), documents


def make_pair(dataset: Dataset, query_id: str, snippet: Snippet) -> Pair:
    """Return the pair of a query and a snippet, without the date unless prompts show dates."""
    pair_snippet = snippet if dataset.dates or not snippet.date else replace(snippet, date="")
    return Pair(dataset.queries[query_id], pair_snippet)


def describe_differing_dates(dataset: Dataset, depth: int) -> Iterator[str]:
    """Yield one line if prompts show dates and pairs down to `depth` differ only in the date."""
    if not dataset.dates:
        return
    ids: dict[tuple[str, str, str], set[str]] = {}
    for ranking in dataset.rankings:
        for snippet in ranking.snippets[:depth]:
            if TEXT_MISSING not in snippet.flags:
                ids.setdefault((ranking.query_id, snippet.title, snippet.text), set()).add(snippet.id)
    more = sum(len(same_text) - 1 for same_text in ids.values())
    if more == 1:
        yield Message(
            "1 pair differs from another one only in the date, which prompts show (--dates or --as-of): each"
            " is judged"
        )
    elif more:
        yield Message(
            "{count:,} pairs differ from another one only in the date, which prompts show (--dates or"
            " --as-of): each is judged",
            count=more,
        )


def canonicalise_url(url: str) -> str:
    """Return the part of a URL that selects the page, `""` for a text that is no URL.

    Scheme, `www.`, default port, fragment, tracking parameters, a trailing slash and the order of
    parameters do not count. The function is idempotent.
    """
    # Half a surrogate pair cannot be percent-encoded.
    url = _SURROGATE.sub("\ufffd", url.strip())
    scheme = _SCHEME.match(url)
    if scheme and scheme[0].lower() not in ("http:", "https:", "ftp:"):
        return ""
    try:
        parts = urlsplit(url if scheme else f"http://{url.removeprefix('//')}")
        host = (parts.hostname or "").rstrip(".")
        port = parts.port
    except ValueError:
        return ""
    if "." not in host and host != "localhost" and ":" not in host:
        return ""
    while host.startswith("www.") and "." in host.removeprefix("www."):
        host = host.removeprefix("www.")
    if port is not None and port not in _DEFAULT_PORTS:
        host = f"{host}:{port}"
    path = quote(
        unquote(parts.path, errors="surrogateescape"), safe="/~:@!$&'()*+,;=", errors="surrogateescape"
    )
    parameters = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in _TRACKING and not name.lower().startswith("utm_")
    )
    query = f"?{urlencode(parameters)}" if parameters else ""
    return f"{host}{path.rstrip('/')}{query}"


def sort_key(snippet: Snippet) -> tuple[str, ...]:
    """Return a sort key: by id; equal snippets in an order that does not depend on engines."""
    return (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)


def _document_key(snippet: Snippet) -> tuple[str, str, str]:
    """Return the parts of a snippet that determine its document."""
    return (snippet.id, snippet.url, snippet.docno)


def _name_documents(snippets: Iterable[Snippet]) -> dict[tuple[str, str, str], str]:
    """Return the name of the document for each key: its docno, else shared by canonical URL or text."""
    links = {_document_key(snippet): tuple(_list_links(snippet)) for snippet in snippets}
    parent: dict[str, str] = {link: link for group in links.values() for link in group}

    def root(link: str) -> str:
        while parent[link] != link:
            parent[link] = parent[parent[link]]
            link = parent[link]
        return link

    for group in links.values():
        for link in group[1:]:
            low, high = sorted((root(group[0]), root(link)))
            # The smallest link of a group names it, so that the order does not matter.
            parent[high] = low
    names = {key: root(group[0]) for key, group in links.items()}
    return {
        key: link[2:] if link.startswith("1 ") else f"d-{short_hash([link], 12)}"
        for key, link in names.items()
    }


def _list_links(snippet: Snippet) -> Iterator[str]:
    """Yield what identifies the document of a snippet; the prefixes sort URLs before texts.

    A docno alone decides where the dataset has one.
    """
    if snippet.docno:
        yield f"1 {snippet.docno}"
        return
    address = canonicalise_url(snippet.url) if snippet.url else ""
    if address:
        yield f"2 {address}"
    if snippet.text:
        yield f"3 {snippet.text}"
    if not (address or snippet.text):
        yield f"4 {snippet.id}"


@dataclass(frozen=True, slots=True)
class PooledDataset:
    """A dataset, its pool, and `fingerprint`, a hash of the dataset as it was read.

    Only the queries are in memory: rankings and pairs are read from `lines` whenever they are used.
    """

    dataset: Dataset
    pool: Pool
    fingerprint: str
    lines: Iterable[bytes] = field(default=(), compare=False, repr=False)


@dataclass(frozen=True, slots=True)
class _Footer:
    """The last line: what concerns all queries; `pairs` and `rankings` are their numbers."""

    fingerprint: str
    engines: tuple[str, ...]
    warnings: tuple[str, ...]
    dates: bool
    depth: int
    results: int
    rankings: int
    pairs: int


def store_dataset(reader: QueryReader, depth: int, source: str, folder: Path | None) -> PooledDataset:
    """Return the dataset of `reader` with its pool down to `depth`, in a temporary file in `folder`.

    `source` names the file of the texts, for messages.
    """
    lines = TemporaryLines(folder)
    queries: dict[str, Query] = {}
    starts: list[int] = []
    results = rankings = pairs = 0
    for query, of_query in reader.read(folder):
        queries[query.id] = query
        snippets, documents = _pool_query(query.id, of_query, depth)
        results += sum(map(len, documents.values()))
        rankings += len(of_query)
        pairs += len(snippets)
        starts.append(lines.size)
        lines.append([_dump_query(query, of_query, documents, snippets)])
    ranges = dict(zip(queries, pairwise([*starts, lines.size]), strict=True))
    footer = _Footer(
        "", reader.engines, tuple(reader.warnings), reader.dates, depth, results, rankings, pairs
    )
    dataset = _open_lines(lines, queries, footer, "").dataset
    missing = describe_missing(dataset.rankings, depth, source) if reader.lacks_text else ()
    warnings = (*footer.warnings, *missing, *describe_differing_dates(dataset, depth))
    in_order = (_load_results(queries, lines.read(*ranges[query_id])) for query_id in sorted(queries))
    footer = replace(footer, fingerprint=_hash_dataset(queries, in_order), warnings=warnings)
    # In the file as plain texts, because msgspec encodes no messages.
    lines.append([_dump_line(replace(footer, warnings=tuple(map(str, warnings))))])
    return _open_lines(lines, queries, footer, "")


def _hash_dataset(queries: Mapping[str, Query], results: Iterable[QueryResults]) -> str:
    """Return a hash of the whole dataset as it was read: queries, rankings, snippets and errors.

    `results` are sorted by the ids of the queries.
    """
    digest = hashlib.sha256()
    for query in queries.values():
        extra = sorted(query.extra.items())
        record: tuple[object, ...] = ("query", query.id, query.raw_text, query.lang, query.reference, extra)
        expected = () if query.expected is None else (query.expected,)
        digest.update(json.dumps((*record, *expected)).encode())
    for each in results:
        for ranking in sorted(each.rankings, key=attrgetter("engine")):
            snippets = [
                (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)
                for snippet in ranking.snippets
            ]
            latency = [] if ranking.latency_ms is None else [ranking.latency_ms]
            record = ("ranking", ranking.query_id, ranking.engine, ranking.error, snippets, *latency)
            digest.update(json.dumps(record).encode())
    return digest.hexdigest()[:16]


def load_pooled(lines: Iterable[bytes], digest: str) -> PooledDataset:
    """Return the dataset in `lines` of `store_dataset`, and its pool, which gets the digest `digest`.

    Raise ValueError, TypeError or LookupError for lines of another form.
    """
    queries: dict[str, Query] = {}
    for line in lines:
        if line.startswith(_FOOTER_START):
            return _open_lines(lines, queries, msgspec.convert(_parse(line, Any), _Footer), digest)
        fields, *_ = _parse(line, _ONLY_QUERY)
        fields[-1] = None if fields[-1] is None else tuple(fields[-1])
        queries[fields[0]] = Query(*fields)
    raise ValueError("no line ends the dataset")


def _open_lines(
    lines: Iterable[bytes], queries: Mapping[str, Query], footer: _Footer, digest: str
) -> PooledDataset:
    """Return the dataset in `lines`, which has these `queries`."""

    def read_stored(places: Container[int]) -> Iterator[QueryResults]:
        in_order = islice(lines, len(queries))
        return (_load_results(queries, line) for place, line in enumerate(in_order) if place in places)

    def read_pairs() -> Iterator[Pair]:
        for line in islice(lines, len(queries)):
            fields, packed, _, places = _parse(line, _WITHOUT_LISTS)
            for place in places:
                yield make_pair(dataset, fields[0], _unpack_snippet(*packed[place]))

    rankings = StoredRankings(read_stored, footer.rankings)
    dataset = Dataset(queries, rankings, footer.engines, footer.warnings, footer.dates)
    pairs: StoredRecords[Pair, None] = StoredRecords(read_pairs, footer.pairs)
    pool = Pool(footer.depth, footer.results, pairs, StoredDocuments(read_stored), digest)
    return PooledDataset(dataset, pool, footer.fingerprint, lines)


def _dump_query(
    query: Query,
    rankings: Sequence[Ranking],
    documents: Mapping[tuple[str, str], Sequence[str]],
    pooled: Iterable[Snippet],
) -> bytes:
    # A snippet that several engines returned is one object: it is written, and read again, once.
    snippets = {id(snippet): snippet for ranking in rankings for snippet in ranking.snippets}
    numbers = {key: number for number, key in enumerate(snippets)}
    return _dump_line(
        (
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
                    documents[ranking.engine, query.id],
                ]
                for ranking in rankings
            ],
            [numbers[id(snippet)] for snippet in pooled],
        )
    )


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


def _dump_line(value: object) -> bytes:
    try:
        return msgspec.json.encode(value) + b"\n"
    except UnicodeEncodeError:  # half a surrogate pair
        return json.dumps(asdict(value) if isinstance(value, _Footer) else value).encode() + b"\n"


#: Types of lines of which parts are not needed, and how the last line begins.
_ONLY_QUERY = tuple[list[Any], msgspec.Raw, msgspec.Raw, msgspec.Raw]
_WITHOUT_LISTS = tuple[list[Any], list[Any], msgspec.Raw, list[int]]
_FOOTER_START = b"{"


def _parse(line: bytes, kind: Any) -> Any:  # noqa: ANN401  # JSON holds anything
    try:
        return msgspec.json.decode(line, type=kind)
    except msgspec.ValidationError:
        raise
    except msgspec.DecodeError:  # half a surrogate pair
        return json.loads(line)


def _load_results(queries: Mapping[str, Query], line: bytes) -> QueryResults:
    fields, packed, lists, _ = _parse(line, Any)
    query = queries[fields[0]]
    snippets = [_unpack_snippet(*values) for values in packed]
    rankings, documents = [], {}
    for engine, error, latency_ms, numbers, names in lists:
        ranked = tuple(snippets[number] for number in numbers)
        rankings.append(Ranking(engine, query.id, ranked, error, latency_ms))
        documents[engine, query.id] = tuple(names)
    return QueryResults(query, tuple(rankings), documents)


def _unpack_snippet(
    id: str, text: str, title: str, date: str, url: str, raw_text: str | None, raw_title: str | None,
    docno: str, flags: list[str],
) -> Snippet:  # fmt: skip
    raw_text, raw_title = text if raw_text is None else raw_text, title if raw_title is None else raw_title
    return Snippet(id, text, title, date, url, raw_text, raw_title, docno, tuple(flags))


def group_rankings(dataset: Dataset) -> dict[str, list[Ranking]]:
    """Return the rankings of each query, in the order of the queries."""
    by_query: dict[str, list[Ranking]] = {query_id: [] for query_id in dataset.queries}
    for ranking in dataset.rankings:
        by_query[ranking.query_id].append(ranking)
    return by_query


def read_query_results(
    dataset: Dataset, pool: Pool, places: Container[int] = ALL_PLACES
) -> Iterator[QueryResults]:
    """Yield the results of the queries at `places`, in the order of the queries."""
    if isinstance(dataset.rankings, StoredRankings):
        yield from dataset.rankings.read_query_results(places)
        return
    for place, (query_id, rankings) in enumerate(group_rankings(dataset).items()):
        if place in places:
            documents = {ranking.key: pool.documents.get(ranking.key, ()) for ranking in rankings}
            yield QueryResults(dataset.queries[query_id], tuple(rankings), documents)
