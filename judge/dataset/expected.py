"""The documents that a dataset expects for its queries (column `expected`), as labels."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from judge.dataset.clean import EMPTY_SNIPPET
from judge.dataset.pool import canonicalise_url, read_query_results
from judge.errors import InputError
from judge.messages import Message
from judge.records import Dataset, Pool
from judge.stored_records import QueryResults


@dataclass(frozen=True, slots=True)
class ExpectedLabels:
    """`grades` by (query id, snippet id): 1 where the snippet shows an expected document, else 0.

    `unreturned` counts the expected documents that no engine returned down to the depth. `warnings` say how
    many results are relevant by their text alone.
    """

    grades: Mapping[tuple[str, str], int]
    unreturned: int
    warnings: tuple[str, ...] = ()


def label_expected(dataset: Dataset, pool: Pool) -> ExpectedLabels:
    """Return the labels of every pair of `pool` by the expected documents of its query.

    A document is named by its docno or a URL. Raise InputError for a query without the field, and for
    snippets without text that show an expected document and another one.
    """
    missing = [query.id for query in dataset.queries.values() if query.expected is None]
    if missing:
        raise InputError(
            "{count:,} of {total:,} queries have no field 'expected', first query {query_id!r}; -m expected"
            " takes every grade from it: add it, with [] where no document is expected, or name a model",
            count=len(missing),
            total=len(dataset.queries),
            query_id=missing[0],
        )
    grades: dict[tuple[str, str], int] = {}
    unreturned = 0
    by_text: list[tuple[str, str]] = []
    for each in read_query_results(dataset, pool):
        relevant, others = _match_documents(each)
        unreturned += len(others)
        for ranking in each.rankings:
            for snippet, name in zip(ranking.snippets, each.documents[ranking.key], strict=False):
                key, grade = (each.query.id, snippet.id), int(name in relevant)
                if EMPTY_SNIPPET in snippet.flags and grades.get(key, grade) != grade:
                    raise InputError(
                        "query {query_id!r}: results without a text show an expected document and another"
                        " one, but equal texts are one pair; write null for a text that is not known",
                        query_id=each.query.id,
                    )
                grades[key] = max(grade, grades.get(key, 0))
        by_text += [
            (each.query.id, name)
            for ranking in each.rankings
            for snippet, name in zip(ranking.snippets, each.documents[ranking.key], strict=False)
            if grades[each.query.id, snippet.id] and name not in relevant
        ]
    if not by_text:
        return ExpectedLabels(grades, unreturned)
    query_id, docno = by_text[0]
    warning = Message(
        "results that are not expected and show the text of an expected document count as relevant:"
        " {count:,}, the first is {docno!r} of query {query_id!r}; equal texts are one pair",
        count=len(by_text),
        docno=docno,
        query_id=query_id,
    )
    return ExpectedLabels(grades, unreturned, (warning,))


def list_unreturned(dataset: Dataset, pool: Pool) -> dict[str, tuple[str, ...]]:
    """Return, by query, the expected documents that no engine returned down to the depth of the pool."""
    return {each.query.id: _match_documents(each)[1] for each in read_query_results(dataset, pool)}


def _match_documents(results: QueryResults) -> tuple[set[str], tuple[str, ...]]:
    """Return the names of the expected documents in the pool, and of those that are not there."""
    names: dict[str, set[str]] = {}
    for ranking in results.rankings:
        for snippet, document in zip(ranking.snippets, results.documents[ranking.key], strict=False):
            for spelling in (*_spell(snippet.docno), *_spell(snippet.url)):
                names.setdefault(spelling, set()).add(document)
    relevant: set[str] = set()
    others: dict[str, str] = {}
    for item in results.query.expected or ():
        spellings = list(_spell(item))
        documents_of = next((names[spelling] for spelling in spellings if spelling in names), None)
        if documents_of:
            relevant |= documents_of
        else:
            others[spellings[-1]] = item
    return relevant, tuple(others.values())


def _spell(name: str) -> Iterator[str]:
    """Yield a name of a document as it is, and the canonical form of a URL."""
    if name:
        yield name
        if address := canonicalise_url(name):
            yield f"http://{address}"
