"""The pool: the distinct pairs to judge, and which results show the same document."""

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain, groupby
from operator import attrgetter
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from judge.characters import SURROGATE
from judge.files.json_text import hash_parts
from judge.files.stored_records import StoredRankings
from judge.records import Dataset, Pair, Pool, Query, Ranking, Snippet

# Parameters for tracking, which do not change the page.
_TRACKING = frozenset({"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "spm"})
# A name, a colon and no digit: `example.com:8080/a` is a host and its port.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])")
#: `www.`, once or more, before a host that has a dot without it, too.
_WWW = re.compile(r"(?:www\.)+(?=.*\.)")
#: Most URLs: scheme, `www.` and slashes at the end are all that their canonical form lacks.
_PLAIN_URL = re.compile(
    r"https?://(?:www\.)*+(?P<host>[a-z0-9-]+(?:\.[a-z0-9-]+)+)(?P<path>(?:/[A-Za-z0-9/_.~-]*)?)"
)
# Of either scheme, which the canonical form leaves out.
_DEFAULT_PORTS = frozenset({80, 443})


def pool_dataset(dataset: Dataset, depth: int) -> tuple[Dataset, Pool]:
    """Return the dataset with the documents of its rankings down to `depth`, and its pool."""
    named = (name_documents(rankings, depth) for _, rankings in group_rankings(dataset))
    return replace(dataset, rankings=tuple(chain.from_iterable(named))), build_pool(dataset, depth)


def build_pool(dataset: Dataset, depth: int) -> Pool:
    """Return the union of the snippets of all engines down to `depth`: one pair per query, title and text.

    With `dates` of the dataset, snippets with different dates are different pairs. Pairs are in the order of
    their queries in the input, then sorted by snippet id, so that they do not depend on the engines.
    """
    results = sum(len(ranking.snippets[:depth]) for ranking in dataset.rankings)
    return Pool(depth, results, tuple(iter_pairs(dataset, depth)))


def iter_pairs(dataset: Dataset, depth: int) -> Iterator[Pair]:
    """Yield the pairs of the pool of a dataset."""
    for query, rankings in group_rankings(dataset):
        snippets = chain.from_iterable(ranking.snippets[:depth] for ranking in rankings)
        # Equal snippets in an order that does not depend on engines.
        in_order = sorted(snippets, key=attrgetter("id", "url", "docno", "raw_title", "raw_text"))
        for snippet in {snippet.id: snippet for snippet in in_order}.values():
            yield make_pair(dataset, query.id, snippet)


def name_documents(rankings: Sequence[Ranking], depth: int) -> tuple[Ranking, ...]:
    """Return the rankings of a query with the documents that their snippets down to `depth` show."""
    snippets = chain.from_iterable(ranking.snippets[:depth] for ranking in rankings)
    links = {_make_document_key(snippet): tuple(_iter_links(snippet)) for snippet in snippets}
    names = _name_documents(links)
    return tuple(
        replace(ranking, documents=tuple(_iter_documents(ranking.snippets[:depth], links, names)))
        for ranking in rankings
    )


def make_pair(dataset: Dataset, query_id: str, snippet: Snippet) -> Pair:
    """Return the pair of a query and a snippet, without the date unless prompts show dates."""
    pair_snippet = snippet if dataset.dates or not snippet.date else replace(snippet, date="")
    return Pair(dataset.queries[query_id], pair_snippet)


def canonicalise_url(url: str) -> str:
    """Return the part of a URL that selects the page, `""` for a text that is not a URL.

    Scheme, `www.`, default port, fragment, tracking parameters, a trailing slash and the order of
    parameters do not count. The function is idempotent.
    """
    if plain := _PLAIN_URL.fullmatch(url):  # takes a tenth of the time
        return plain["host"] + plain["path"].rstrip("/")
    # Half a surrogate pair cannot be percent-encoded.
    url = SURROGATE.sub("\ufffd", url.strip())
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


#: The parts of a snippet that determine its document: its id, URL and docno.
_DocumentKey = tuple[str, str, str]


def _make_document_key(snippet: Snippet) -> _DocumentKey:
    return (snippet.id, snippet.url, snippet.docno)


def _name_documents(links: Mapping[_DocumentKey, Sequence[str]]) -> dict[_DocumentKey, str]:
    """Return the name of the document for each key: its docno, else shared by canonical URL or text.

    A text joins pages that are shown with no other text. An engine that shows one notice for many pages does
    not make these one document in the lists of other engines.
    """
    pages: dict[str, set[str]] = {}
    texts: dict[str, set[str]] = {}
    for page, *rest in links.values():
        for text in rest:
            pages.setdefault(text, set()).add(page)
            texts.setdefault(page, set()).add(text)

    # Pages that are shown with one and the same text have the name of the first of them.
    page_names: dict[str, str] = {}
    first_pages: dict[str, str] = {}
    for page in sorted(texts):
        text, *others = texts[page]
        page_names[page] = page if others else first_pages.setdefault(text, page)

    names = {}
    for key, (link, *_) in links.items():
        of_text = {page_names[page] for page in pages.get(link, ())}  # none, unless the link is a text
        name = of_text.pop() if len(of_text) == 1 else page_names.get(link, link)
        names[key] = name[2:] if name.startswith("1 ") else f"d-{hash_parts([name], 12)}"
    return names


def _iter_documents(
    snippets: Iterable[Snippet],
    links: Mapping[_DocumentKey, Sequence[str]],
    names: Mapping[_DocumentKey, str],
) -> Iterator[str]:
    """Yield the document of each result of a list; a result repeats an earlier one with its URL or text."""
    earlier: dict[str, str] = {}
    for snippet in snippets:
        key = _make_document_key(snippet)
        name = next((earlier[link] for link in links[key] if link in earlier), names[key])
        for link in links[key]:
            earlier.setdefault(link, name)
        yield name


def _iter_links(snippet: Snippet) -> Iterator[str]:
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


def group_rankings(dataset: Dataset) -> Iterator[tuple[Query, tuple[Ranking, ...]]]:
    """Yield each query with its rankings, in the order of the queries."""
    rankings: Iterable[Ranking] = dataset.rankings
    if not isinstance(rankings, StoredRankings):
        places = {query_id: place for place, query_id in enumerate(dataset.queries)}
        rankings = sorted(rankings, key=lambda ranking: places[ranking.query_id])
    groups = groupby(rankings, attrgetter("query_id"))
    query_id, group = next(groups, (None, iter(())))
    for query in dataset.queries.values():
        if query.id == query_id:
            yield query, tuple(group)
            query_id, group = next(groups, (None, iter(())))
        else:
            yield query, ()


def list_firsts(ranking: Ranking) -> list[str]:
    """Return the snippet id at each rank, "" for a document that the list has already shown."""
    ids = (snippet.id for snippet in ranking.snippets)
    return ["" if again else id_ for id_, again in zip(ids, mark_repeated(ranking.documents), strict=False)]


def mark_repeated(names: Sequence[str]) -> list[bool]:
    """Return for each of `names` whether an earlier one is equal."""
    first = {name: place for place, name in reversed([*enumerate(names)])}
    return [first[name] < place for place, name in enumerate(names)]
