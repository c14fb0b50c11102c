"""The pool: the distinct pairs to judge, and which snippets show the same document.

A dataset with its pool is stored as lines: one for each query, then one for the dataset.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from itertools import chain, groupby, islice, pairwise
from operator import attrgetter
from pathlib import Path
from typing import Annotated
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

import msgspec

from judge.dataset.clean import TEXT_MISSING, describe_missing
from judge.dataset.read import QueryReader
from judge.dataset.validation import short_hash
from judge.messages import Message
from judge.records import Dataset, Pair, Pool, Query, Ranking, Snippet
from judge.stored_lines import StoredLines, TemporaryLines, decode_line, encode_line
from judge.stored_records import QueryResults, StoredDocuments, StoredRankings, StoredRecords

# Parameters for tracking, which do not change the page.
_TRACKING = frozenset({"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "spm"})
# A name, a colon and no digit: `example.com:8080/a` is a host and its port.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])")
#: What a host begins with, and still is one without it.
_WWW = re.compile(r"(?:www\.)+(?=.*\.)")
#: Most URLs: nothing in them has another spelling.
_PLAIN_URL = re.compile(
    r"https?://(?:www\.)*+(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?P<path>(?:/[A-Za-z0-9/_.~-]*)?)"
)
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
    """Yield one line if prompts show dates and pairs down to `depth` differ only in the date.

    The rankings of a query are neighbours in the dataset.
    """
    if not dataset.dates:
        return
    more = 0
    for _, rankings in groupby(dataset.rankings, attrgetter("query_id")):
        ids: dict[tuple[str, str], set[str]] = {}
        for snippet in chain.from_iterable(ranking.snippets[:depth] for ranking in rankings):
            if TEXT_MISSING not in snippet.flags:
                ids.setdefault((snippet.title, snippet.text), set()).add(snippet.id)
        more += sum(len(same_text) - 1 for same_text in ids.values())
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
    if plain := _PLAIN_URL.fullmatch(url):  # takes a tenth of the time
        return plain["host"] + plain["path"].rstrip("/")
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
    if www := _WWW.match(host):
        host = host[www.end() :]
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
    distinct = {_document_key(snippet): snippet for snippet in snippets}
    links = {key: tuple(_list_links(snippet)) for key, snippet in distinct.items()}
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
    lines: StoredLines = field(compare=False, repr=False)


#: The number of a snippet among those of its query.
_Number = Annotated[int, msgspec.Meta(ge=0)]


class _StoredList(msgspec.Struct, array_like=True):
    """The ranking of an engine by the numbers of its snippets, and the `documents` of the pool."""

    engine: str
    error: str | None
    latency_ms: float | None
    numbers: list[_Number]
    documents: tuple[str, ...]


class _StoredQuery(msgspec.Struct, array_like=True):
    """The line of a query: a snippet that several engines returned is there once. `pooled` are the pairs."""

    query: Query
    snippets: list[Snippet]
    lists: list[_StoredList]
    pooled: list[_Number]

    def __post_init__(self) -> None:
        numbers = chain(self.pooled, *(each.numbers for each in self.lists))
        if max(numbers, default=-1) >= len(self.snippets):
            raise ValueError("a snippet is missing")

    def make_results(self) -> QueryResults:
        """Return the rankings of the query, and their documents."""
        query_id, snippets = self.query.id, self.snippets
        rankings = tuple(
            Ranking(
                each.engine,
                query_id,
                tuple([snippets[number] for number in each.numbers]),
                each.error,
                each.latency_ms,
            )
            for each in self.lists
        )
        documents = {(each.engine, query_id): each.documents for each in self.lists}
        return QueryResults(self.query, rankings, documents)


@dataclass(frozen=True, slots=True)
class _Footer:
    """The last line: what concerns all queries."""

    fingerprint: str
    warnings: tuple[str, ...]
    dates: bool


#: How the last line begins; the others are arrays.
_FOOTER_START = b"{"
_query_decoder, _footer_decoder = msgspec.json.Decoder(_StoredQuery), msgspec.json.Decoder(_Footer)


@dataclass(slots=True)
class _Content:
    """The queries of `lines` so far, the engines, and how many rankings, results and pairs there are."""

    lines: StoredLines
    depth: int
    queries: dict[str, Query] = field(default_factory=dict)
    engines: set[str] = field(default_factory=set)
    rankings: int = 0
    results: int = 0
    pairs: int = 0

    def add(self, stored: _StoredQuery) -> None:
        """Add the next query; raise ValueError where parts are there twice, or documents do not fit."""
        engines = {each.engine for each in stored.lists}
        is_new = stored.query.id not in self.queries
        if not is_new or len(engines) < len(stored.lists) or len(set(stored.pooled)) < len(stored.pooled):
            raise ValueError("a query, an engine of it or a pair is there twice")
        self.queries[stored.query.id] = stored.query
        self.engines |= engines
        for each in stored.lists:
            if len(each.documents) != min(self.depth, len(each.numbers)):
                raise ValueError("a list has other documents")
            self.results += len(each.documents)
        self.rankings += len(stored.lists)
        self.pairs += len(stored.pooled)

    def open(self, footer: _Footer, digest: str = "") -> PooledDataset:
        """Return the dataset, which reads rankings and pairs from the lines, and its pool."""
        queries = self.queries

        def read_stored() -> Iterator[_StoredQuery]:
            return (decode_line(_query_decoder, line) for line in islice(self.lines, len(queries)))

        def read_results() -> Iterator[QueryResults]:
            return (stored.make_results() for stored in read_stored())

        def read_pairs() -> Iterator[Pair]:
            for stored in read_stored():
                for number in stored.pooled:
                    yield make_pair(dataset, stored.query.id, stored.snippets[number])

        rankings: StoredRankings[None] = StoredRankings(read_results, self.rankings)
        dataset = Dataset(queries, rankings, tuple(sorted(self.engines)), footer.warnings, footer.dates)
        pairs = StoredRecords(read_pairs, self.pairs)
        pool = Pool(self.depth, self.results, pairs, StoredDocuments(read_results), digest)
        return PooledDataset(dataset, pool, footer.fingerprint, self.lines)


def store_dataset(reader: QueryReader, depth: int, source: str, folder: Path | None) -> PooledDataset:
    """Return the dataset of `reader` with its pool down to `depth`, in a temporary file in `folder`.

    `source` names the file of the texts, for messages.
    """
    lines = TemporaryLines(folder)
    content = _Content(lines, depth)
    starts: list[int] = []
    for query, rankings in reader.read(folder):
        stored = _make_stored(query, rankings, depth)
        content.add(stored)
        starts.append(lines.size)
        lines.append([encode_line(stored)])
    ranges = dict(zip(content.queries, pairwise([*starts, lines.size]), strict=True))
    footer = _Footer("", tuple(reader.warnings), reader.dates)
    dataset = content.open(footer).dataset
    missing = describe_missing(dataset.rankings, depth, source) if reader.lacks_text else ()
    warnings = (*footer.warnings, *missing, *describe_differing_dates(dataset, depth))
    in_order = (decode_line(_query_decoder, lines.read(*ranges[query_id])) for query_id in sorted(ranges))
    footer = _Footer(_hash_dataset(content.queries, in_order), warnings, reader.dates)
    # In the file as plain texts, because msgspec encodes no messages.
    lines.append([encode_line(replace(footer, warnings=tuple(map(str, warnings))))])
    return content.open(footer)


def _make_stored(query: Query, rankings: Sequence[Ranking], depth: int) -> _StoredQuery:
    pooled, documents = _pool_query(query.id, rankings, depth)
    snippets = {id(snippet): snippet for ranking in rankings for snippet in ranking.snippets}
    numbers = {key: number for number, key in enumerate(snippets)}
    lists = [
        _StoredList(
            ranking.engine,
            ranking.error,
            ranking.latency_ms,
            [numbers[id(snippet)] for snippet in ranking.snippets],
            documents[ranking.key],
        )
        for ranking in rankings
    ]
    return _StoredQuery(query, list(snippets.values()), lists, [numbers[id(each)] for each in pooled])


def _hash_dataset(queries: Mapping[str, Query], stored: Iterable[_StoredQuery]) -> str:
    """Return a hash of the whole dataset as it was read: queries, rankings, snippets and errors.

    `stored` are sorted by the ids of the queries.
    """
    digest = hashlib.sha256()
    for query in queries.values():
        extra = sorted(query.extra.items())
        record: tuple[object, ...] = ("query", query.id, query.raw_text, query.lang, query.reference, extra)
        expected = () if query.expected is None else (query.expected,)
        digest.update(json.dumps((*record, *expected)).encode())
    for each in stored:
        texts = [
            (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)
            for snippet in each.snippets
        ]
        for ranking in sorted(each.lists, key=attrgetter("engine")):
            snippets = [texts[number] for number in ranking.numbers]
            latency = [] if ranking.latency_ms is None else [ranking.latency_ms]
            record = ("ranking", each.query.id, ranking.engine, ranking.error, snippets, *latency)
            digest.update(json.dumps(record).encode())
    return digest.hexdigest()[:16]


def load_pooled(lines: StoredLines, depth: int, digest: str) -> PooledDataset:
    """Return the dataset in `lines` of `store_dataset`, and its pool, which gets the digest `digest`.

    Raise ValueError for lines of another form.
    """
    content = _Content(lines, depth)
    for line in lines:
        if line.startswith(_FOOTER_START):
            return content.open(decode_line(_footer_decoder, line), digest)
        content.add(decode_line(_query_decoder, line))
    raise ValueError("no line ends the dataset")


def group_rankings(dataset: Dataset) -> dict[str, list[Ranking]]:
    """Return the rankings of each query, in the order of the queries."""
    by_query: dict[str, list[Ranking]] = {query_id: [] for query_id in dataset.queries}
    for ranking in dataset.rankings:
        by_query[ranking.query_id].append(ranking)
    return by_query


def read_query_results(dataset: Dataset, pool: Pool) -> Iterator[QueryResults]:
    """Yield the results of each query, in the order of the queries."""
    if isinstance(dataset.rankings, StoredRankings):
        yield from dataset.rankings.read_query_results()
        return
    for query_id, rankings in group_rankings(dataset).items():
        documents = {ranking.key: pool.documents.get(ranking.key, ()) for ranking in rankings}
        yield QueryResults(dataset.queries[query_id], tuple(rankings), documents)
