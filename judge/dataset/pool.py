"""Owns the pool: which pairs are judged, each once, and which snippets show one document."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import replace
from itertools import chain
from urllib.parse import parse_qsl, quote, unquote, urlencode, urlsplit

from judge.dataset.clean import TEXT_MISSING
from judge.dataset.validation import short_hash
from judge.records import Dataset, Pair, Pool, Ranking, Snippet

# Parameters that say where a reader came from and never which page it is.
_TRACKING = frozenset({"fbclid", "gclid", "dclid", "msclkid", "yclid", "igshid", "mc_cid", "mc_eid", "spm"})
# A name, a colon and no digit: `example.com:8080/a` is a host and its port.
_SCHEME = re.compile(r"[A-Za-z][A-Za-z0-9+.-]*:(?![0-9])")
_SURROGATE = re.compile("[\ud800-\udfff]")
_PORTS = {"http": 80, "https": 443}


def build_pool(dataset: Dataset, depth: int) -> Pool:
    """The union of all engines' snippets down to `depth`: one pair per query, title and text.

    Where the dataset's `dates` is set, another date makes another pair.

    Pairs come in the reading order of their queries, then by snippet id, so that neither engines nor
    their order leave a trace.
    """
    by_query: dict[str, list[Ranking]] = {query_id: [] for query_id in dataset.queries}
    for ranking in dataset.rankings:
        by_query[ranking.query_id].append(ranking)
    pairs: list[Pair] = []
    documents: dict[tuple[str, str], tuple[str, ...]] = {}
    for query_id, rankings in by_query.items():
        shown = {ranking.engine: ranking.snippets[:depth] for ranking in rankings}
        everything = sorted(chain.from_iterable(shown.values()), key=_sort_key)
        distinct = {snippet.id: snippet for snippet in everything}
        pairs += [make_pair(dataset, query_id, snippet) for snippet in distinct.values()]
        names = _name_documents(everything)
        for engine, snippets in shown.items():
            documents[engine, query_id] = tuple(names[_document_key(snippet)] for snippet in snippets)
    return Pool(depth, sum(map(len, documents.values())), tuple(pairs), documents)


def make_pair(dataset: Dataset, query_id: str, snippet: Snippet) -> Pair:
    """The pair of a query and a snippet; the snippet's date is left out unless prompts show dates."""
    shown = snippet if dataset.dates or not snippet.date else replace(snippet, date="")
    return Pair(dataset.queries[query_id], shown)


def describe_differing_dates(dataset: Dataset, depth: int) -> Iterator[str]:
    """One line where prompts show dates and pairs down to `depth` differ in nothing else."""
    if not dataset.dates:
        return
    ids: dict[tuple[str, str, str], set[str]] = {}
    for ranking in dataset.rankings:
        for snippet in ranking.snippets[:depth]:
            if TEXT_MISSING not in snippet.flags:
                ids.setdefault((ranking.query_id, snippet.title, snippet.text), set()).add(snippet.id)
    more = sum(len(each) - 1 for each in ids.values())
    if more:
        differ = f"{more:,} pairs differ" if more > 1 else "1 pair differs"
        yield (
            f"{differ} from another one in nothing but the date, which prompts show (--dates or --as-of):"
            " judged apart"
        )


def canonicalise_url(url: str) -> str:
    """What is left of a URL when everything that doesn't choose the page is gone; `""` if it is none.

    Scheme, `www.`, default port, fragment, tracking parameters, a trailing slash and the order of
    parameters don't count. Applying it twice changes nothing.
    """
    # Half a surrogate pair has no bytes that could be quoted.
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
    if port is not None and port != _PORTS.get(parts.scheme.lower()):
        host = f"{host}:{port}"
    path = quote(
        unquote(parts.path, errors="surrogateescape"), safe="/~:@!$&'()*+,;=", errors="surrogateescape"
    )
    kept = sorted(
        (name, value)
        for name, value in parse_qsl(parts.query, keep_blank_values=True)
        if name.lower() not in _TRACKING and not name.lower().startswith("utm_")
    )
    query = f"?{urlencode(kept)}" if kept else ""
    return f"{host}{path.rstrip('/')}{query}"


def _sort_key(snippet: Snippet) -> tuple[str, ...]:
    """By id; snippets that show the same stand in an order that doesn't depend on engines."""
    return (snippet.id, snippet.url, snippet.docno, snippet.raw_title, snippet.raw_text)


def _document_key(snippet: Snippet) -> tuple[str, str, str]:
    """What a snippet's document depends on."""
    return (snippet.id, snippet.url, snippet.docno)


def _name_documents(snippets: Iterable[Snippet]) -> dict[tuple[str, str, str], str]:
    """The document's name for each `_place`: its docno, or what a canonical URL or a text connects."""
    links = {_document_key(snippet): tuple(_list_links(snippet)) for snippet in snippets}
    parent: dict[str, str] = {link: link for tied in links.values() for link in tied}

    def root(link: str) -> str:
        while parent[link] != link:
            parent[link] = parent[parent[link]]
            link = parent[link]
        return link

    for tied in links.values():
        for link in tied[1:]:
            low, high = sorted((root(tied[0]), root(link)))
            # The smallest link of a group names it, whatever came first.
            parent[high] = low
    return {place: _name_document(root(tied[0])) for place, tied in links.items()}


def _list_links(snippet: Snippet) -> Iterator[str]:
    """What ties a snippet to its document; the prefixes sort URLs before texts.

    A dataset that names its documents has said which ones are the same.
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


def _name_document(link: str) -> str:
    return link[2:] if link.startswith("1 ") else f"d-{short_hash([link], 12)}"
