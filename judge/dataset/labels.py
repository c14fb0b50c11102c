"""Labels of the pairs of a run: by people, and by the documents that the dataset expects (`expected`)."""

import hashlib
import json
import unicodedata
from collections.abc import Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

from judge.dataset.field_values import escape_column, unescape_candidates
from judge.dataset.pool import canonicalise_url, group_rankings
from judge.errors import InputError
from judge.flags import EMPTY_SNIPPET, UNKNOWN_TEXT
from judge.messages import Message, SeparatedNames
from judge.records import (
    BINARY,
    EXPECTED,
    GRADED,
    Dataset,
    Pair,
    PairKey,
    Pool,
    Query,
    Ranking,
    Scale,
    ScaleName,
)


@dataclass(frozen=True, slots=True)
class Label:
    """A grade by a person. `item` names a snippet or a document; `location` is `file:line` for messages.

    `is_yes_no` is True when the grade was yes or no.
    """

    query_id: str
    item: str
    grade: int
    location: str
    is_yes_no: bool = False


@dataclass(frozen=True, slots=True)
class LabelSet:
    """The labels of pairs by (query id, snippet id), on their `scale`, from the file `source`.

    `unmatched` has the query id and the item of each label that is about no pair. `unreturned` is None for a
    file; for the expected documents of a dataset, it counts those that no engine returned down to the depth.
    Where the labels are grades of a run, its assessor judges the pairs of the `sample`, too. `warnings` are
    about the file, and about equal texts.
    """

    grades: Mapping[PairKey, int]
    scale: Scale
    source: str
    unmatched: tuple[tuple[str, str], ...] = ()
    unreturned: int | None = None
    sample: frozenset[PairKey] = frozenset()
    warnings: tuple[str, ...] = ()

    def fingerprint(self) -> str:
        """Return a hash of the labels, and of the sample where there is one."""
        table = sorted((*key, grade, key in self.sample) for key, grade in self.grades.items())
        return hashlib.sha256(json.dumps(table).encode()).hexdigest()[:16]


def draw_sample(keys: Iterable[PairKey], size: int) -> frozenset[PairKey]:
    """Return `size` of the keys at random, or all if there are fewer.

    The draw depends on the keys alone, and a larger sample holds every smaller one.
    """
    return frozenset(sorted(keys, key=lambda key: hashlib.sha256("\n".join(key).encode()).digest())[:size])


def match_labels(
    labels: Sequence[Label],
    dataset: Dataset,
    pool: Pool,
    run_scale: Scale | None = None,
    scale_name: ScaleName | None = None,
    *,
    source: str = "",
) -> LabelSet:
    """Return the labels by pair of `pool`, in its order, on the scale that `choose_label_scale` returns.

    A query is named by its id or its exact text. An item is the id of a snippet or the name of a document, as
    it is or as the TREC files and spreadsheets of the run write it. The label of a document applies to every
    snippet of the query that shows it. The label of a snippet has priority over that of its document; of
    several documents with one snippet the highest grade counts. Raise InputError when no label matches a
    pair, and for two grades of one item of a query that is named by its id and by its text.
    """
    queries, documents = _name_queries(dataset), _collect_documents(dataset)
    snippets = {pair.key for pair in pool.pairs}
    own: dict[PairKey, int] = {}
    inherited: dict[PairKey, int] = {}
    unmatched = []
    conflicting: dict[PairKey, None] = {}
    first_labels: dict[tuple[str, str], Label] = {}
    for label in labels:
        names = [name for name in unescape_candidates(label.query_id) if name in queries]
        query_id = queries[names[0]] if names else None
        if query_id is not None:
            check_same_grade(label, first_labels.setdefault((query_id, label.item), label))
        pairs, is_own = _find_pairs(query_id, label.item, snippets, documents)
        grades_of_kind = own if is_own else inherited
        for pair in pairs:
            if grades_of_kind.get(pair, label.grade) != label.grade:
                conflicting[pair] = None
            grades_of_kind[pair] = max(label.grade, grades_of_kind.get(pair, 0))
        if not pairs:
            unmatched.append((label.query_id, label.item))
    if len(unmatched) == len(labels):
        raise InputError(_describe_no_match(labels, pool, documents))
    by_pair = {**inherited, **own}
    grades = {pair.key: by_pair[pair.key] for pair in pool.pairs if pair.key in by_pair}
    differing = [pair for pair in conflicting if pair not in own]
    warning = Message(
        "pairs whose documents have different labels: {count:,}, the first is of query {query_id!r};"
        " the highest label counts, because equal texts are one pair",
        count=len(differing),
        query_id=differing[0][0] if differing else "",
    )
    scale = choose_label_scale(grades.values(), run_scale, scale_name, labels)
    return LabelSet(grades, scale, source, tuple(unmatched), warnings=(warning,) if differing else ())


def select_labellable(pool: Pool) -> tuple[Pair, ...]:
    """Return the pairs that people can label: those with a readable text."""
    return tuple(pair for pair in pool.pairs if {EMPTY_SNIPPET, *UNKNOWN_TEXT}.isdisjoint(pair.snippet.flags))


def select_unknown_texts(pool: Pool) -> tuple[Pair, ...]:
    """Return the pairs whose text is unknown: they are unjudged, while an empty snippet has grade 0."""
    return tuple(pair for pair in pool.pairs if not UNKNOWN_TEXT.isdisjoint(pair.snippet.flags))


def _name_queries(dataset: Dataset) -> dict[str, str]:
    """Return the ids of queries by name: the id, its TREC form, or a text that no other query has."""
    texts: dict[str, set[str]] = {}
    for query in dataset.queries.values():
        for text in (query.text, unicodedata.normalize("NFC", query.raw_text)):
            texts.setdefault(text, set()).add(query.id)
    return (
        {text: query_id for text, (query_id, *others) in texts.items() if not others}
        | {escape_column(query_id): query_id for query_id in dataset.queries}
        | {query_id: query_id for query_id in dataset.queries}
    )


def _collect_documents(dataset: Dataset) -> dict[tuple[str, str], set[str]]:
    """Return the ids of snippets by query and document: by its name, else by the form in TREC files."""
    documents: dict[tuple[str, str], set[str]] = {}
    for ranking in dataset.rankings:
        for snippet, document in zip(ranking.snippets, ranking.documents, strict=False):
            documents.setdefault((ranking.query_id, document), set()).add(snippet.id)
    escaped = {(query_id, escape_column(document)): ids for (query_id, document), ids in documents.items()}
    return escaped | documents


def check_same_grade(label: Label, first: Label) -> None:
    """Raise InputError where a label has another grade than the `first` one of its item."""
    if first.grade != label.grade:
        raise InputError(
            "{place}: field 'grade' of {item!r:.240} for query {query_id!r} is {grade} here and {other_grade}"
            " at {other_place}; keep one",
            place=label.location,
            item=label.item,
            query_id=label.query_id,
            grade=label.grade,
            other_grade=first.grade,
            other_place=first.location,
        )


def _find_pairs(
    query_id: str | None,
    item: str,
    snippets: Collection[PairKey],
    documents: Mapping[tuple[str, str], Collection[str]],
) -> tuple[list[PairKey], bool]:
    """Return the pairs of an item of a query, and True when it is a snippet."""
    if query_id is None:
        return [], False
    for name in unescape_candidates(item):
        if (query_id, name) in snippets:
            return [(query_id, name)], True
        if (query_id, name) in documents:
            return [(query_id, snippet_id) for snippet_id in documents[query_id, name]], False
    return [], False


def _describe_no_match(
    labels: Sequence[Label], pool: Pool, documents: Mapping[tuple[str, str], Collection[str]]
) -> str:
    """Return the message that no label matches: an example of each side."""
    if not (labels and pool.pairs):
        return Message(
            "{labels} labels and {pairs} pairs of the run: there is nothing to compare",
            labels=len(labels),
            pairs=len(pool.pairs),
        )
    query_id, snippet_id = pool.pairs[0].key
    document = next(
        name for (of_query, name), ids in documents.items() if of_query == query_id and snippet_id in ids
    )
    return Message(
        "{label.location}: none of the rows ({count:,}) is about this run. This one has query"
        " {label.query_id!r:.80} and {label.item!r:.80}; the run has, for example, query"
        " {query_id!r:.80} with snippet {snippet_id!r} of document {document!r:.80}. Write the ids of the"
        " run, or the exact texts of its queries. Is the file of another run?",
        label=labels[0],
        count=len(labels),
        query_id=query_id,
        snippet_id=snippet_id,
        document=document,
    )


def describe_assumed_scale(labels: LabelSet, option: str) -> tuple[Message, ...]:
    """Return a remark where the graded scale has higher grades than the labels have; none else.

    `option` names what states another scale.
    """
    grades, scale = sorted(set(labels.grades.values())), labels.scale
    if scale.name != "graded" or grades[-1] == scale.top:
        return ()
    return (
        Message(
            "{file}: the grades of the labels are {names}, and their scale is assumed to be 0 to {top},"
            " relevant from {least}; if that is wrong, write 0 to 3, or yes and no, into the file, or set the"
            " option {option}",
            file=labels.source,
            names=SeparatedNames(map(str, grades)),
            top=scale.top,
            least=scale.relevant_from,
            option=option,
        ),
    )


def choose_label_scale(
    grades: Iterable[int], run: Scale | None, name: ScaleName | None, labels: Sequence[Label]
) -> Scale:
    """Return the scale of people's `grades`: the one called `name`, else that of the `run` if they fit it.

    They do not fit when a grade is above it, or when `labels`, the rows of the file, say yes or no and the
    run is graded. Then, and without a run, the scale is binary up to grade 1, else graded. A scale called
    like the run's has the run's `relevant_from`. Raises InputError for another `name`, for a grade above the
    scale, and for yes where the grade 1 is not relevant.
    """
    if name not in (None, "graded", "binary"):
        raise InputError("--labels-scale is {value!r}; it must be graded or binary", value=name)
    top = max(grades)
    fits = run is not None and top <= run.top and not any(label.is_yes_no for label in labels)
    name = name or (run.name if run and fits else "graded" if top > 1 else "binary")
    scale = run if run and name == run.name else BINARY if name == "binary" else GRADED
    yes = next((label for label in labels if label.is_yes_no and label.grade), None)
    if yes and scale.relevant_from > 1:
        raise InputError(
            "{place}: the grade is yes, and other grades of the file are numbers, or the scale is graded;"
            " write a number for each, or only yes and no",
            place=yes.location,
        )
    if top > scale.top:
        label = next(label for label in labels if label.grade > scale.top)
        raise InputError(
            "{place}: has grade {grade}; the {scale} scale ends at {top}; write grades from 0 to {top} into"
            " the file",
            place=label.location,
            grade=label.grade,
            scale=scale.name,
            top=scale.top,
        )
    return scale


def label_expected(dataset: Dataset) -> LabelSet:
    """Return the labels of all pairs of the pool: 1 for those that show an expected document, 0 for others.

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
    grades: dict[PairKey, int] = {}
    unreturned = 0
    by_text: list[tuple[str, str]] = []
    for query, rankings in group_rankings(dataset):
        relevant, others = _match_documents(query, rankings)
        unreturned += len(others)
        by_text += _grade_results(query.id, rankings, relevant, grades)
    labels = LabelSet(grades, BINARY, EXPECTED, unreturned=unreturned)
    if not by_text:
        return labels
    query_id, docno = by_text[0]
    warning = Message(
        "results that are not expected and show the text of an expected document count as relevant:"
        " {count:,}, the first is {docno!r} of query {query_id!r}; equal texts are one pair",
        count=len(by_text),
        docno=docno,
        query_id=query_id,
    )
    return replace(labels, warnings=(warning,))


def _grade_results(
    query_id: str, rankings: Iterable[Ranking], relevant: Collection[str], grades: dict[PairKey, int]
) -> list[tuple[str, str]]:
    """Add the grade of each result of a query to `grades`: 1 for the `relevant` documents.

    Return the query and the document of each other result that shows the text of a relevant one.
    """
    named_snippets = [
        named_snippet
        for ranking in rankings
        for named_snippet in zip(ranking.snippets, ranking.documents, strict=False)
    ]
    for snippet, name in named_snippets:
        key, grade = (query_id, snippet.id), int(name in relevant)
        if EMPTY_SNIPPET in snippet.flags and grades.get(key, grade) != grade:
            raise InputError(
                "query {query_id!r}: results without a text show an expected document and another"
                " one, but equal texts are one pair; write null for a text that is not known",
                query_id=query_id,
            )
        grades[key] = max(grade, grades.get(key, 0))
    return [
        (query_id, name)
        for snippet, name in named_snippets
        if grades[query_id, snippet.id] and name not in relevant
    ]


def list_unreturned(dataset: Dataset) -> dict[str, tuple[str, ...]]:
    """Return, by query, the expected documents that no engine returned down to the depth of the pool."""
    return {query.id: _match_documents(query, rankings)[1] for query, rankings in group_rankings(dataset)}


def _match_documents(query: Query, rankings: Iterable[Ranking]) -> tuple[set[str], tuple[str, ...]]:
    """Return the names of the expected documents in the pool, and of those that are not there."""
    names: dict[str, set[str]] = {}
    for ranking in rankings:
        for snippet, document in zip(ranking.snippets, ranking.documents, strict=False):
            for spelling in (*_spell(snippet.docno), *_spell(snippet.url)):
                names.setdefault(spelling, set()).add(document)
    relevant: set[str] = set()
    others: dict[str, str] = {}
    for item in query.expected or ():
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
