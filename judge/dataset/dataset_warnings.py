"""Warnings about a dataset: what is unusual is counted query by query, and described at the end."""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from itertools import groupby

from judge.characters import make_natural_key
from judge.dataset import clean
from judge.dataset.field_values import normalise_text
from judge.dataset.parsed_rows import ONLY_ENGINE
from judge.dataset.query_builder import QueryBuilder
from judge.flags import TEXT_MISSING
from judge.messages import Message, SeparatedNames
from judge.records import Ranking

#: A column that has several values in a larger share of the queries is one of results.
_MAX_CONFLICTS = 0.1
#: From this share of an engine's results without text on, its texts may be in another column.
_MANY_WITHOUT_TEXT = 0.5


class DatasetWarnings:
    """The warnings about queries, columns and lists; `queries` counts the queries so far.

    With `is_complete`, a query that an engine has no row for is an empty list.
    """

    def __init__(self, *, is_complete: bool) -> None:
        self.queries = 0
        self._is_complete = is_complete
        self._cut: list[str] = []
        #: The number of texts that are errors of a formula, and the first one with its place.
        self._formula_errors = 0
        self._first_formula_error = ("", "", "")
        self._other_columns: set[str] = set()
        #: The number of queries of each engine, and the queries in whose lists it skips ranks.
        self._answered: Counter[str] = Counter()
        self._gaps: dict[str, list[str]] = {}
        #: The first query with each text, and those with the text of an earlier one.
        self._first_ids: dict[str, str] = {}
        self._repeated: list[tuple[str, str]] = []
        #: In how many queries another column has one value, and the queries whose rows have several.
        self._single_values: Counter[str] = Counter()
        self._conflicts: dict[str, list[str]] = {}

    @property
    def engines(self) -> tuple[str, ...]:
        """The names of the engines, sorted."""
        return tuple(sorted(self._answered))

    def add(self, query: QueryBuilder) -> None:
        """Count the next query."""
        query_id = query.first.query_id
        self.queries += 1
        self._cut += [query_id] if query.is_cut else []
        if query.formula_errors and not self._formula_errors:
            self._first_formula_error = query.formula_errors[0]
        self._formula_errors += len(query.formula_errors)
        if (first_id := self._first_ids.setdefault(normalise_text(query.first.query), query_id)) != query_id:
            self._repeated.append((query_id, first_id))
        self._other_columns |= query.other_columns
        self._single_values.update(query.extra.keys())
        for name in sorted(query.conflicts):
            self._conflicts.setdefault(name, []).append(query_id)
        for engine, ranking in query.rankings.items():
            self._answered[engine] += 1
            if max(ranking.results, default=0) > len(ranking.results):
                self._gaps.setdefault(engine, []).append(query_id)

    def describe(self) -> Iterator[str]:
        """Yield a line for each unusual thing."""
        lacks_engine = bool(self._other_columns) and self.engines == (ONLY_ENGINE,)
        if lacks_engine:
            yield Message(
                "no result names an engine, so all count as results of one engine; if one of the columns"
                " {columns} names it, set the option columns to engine=COLUMN",
                columns=SeparatedNames(map(repr, sorted(self._other_columns)[:5])),
            )
        if self._cut:
            yield Message(
                "queries whose text or reference is cut at {limit:,} characters in prompts: {count:,}, the"
                " first is {query_id!r}",
                count=len(self._cut),
                limit=clean.MAX_QUERY_CHARS,
                query_id=self._cut[0],
            )
        if self._formula_errors:
            place, column, text = self._first_formula_error
            yield Message(
                "texts that are the error of a formula, not a value: {count:,}, the first one {text!r} at"
                " {place}, field {column!r}. They are judged as they are; correct the formulas and write the"
                " dataset again",
                count=self._formula_errors,
                text=text,
                place=place,
                column=column,
            )
        if self._repeated:
            query_id, other_id = self._repeated[0]
            yield Message(
                "queries with the same text as another query: {count:,}, for example {query_id!r} and"
                " {other_id!r}. They count as separate queries, as if they were independent, so the intervals"
                " are too narrow; use one id for each text",
                count=len(self._repeated),
                query_id=query_id,
                other_id=other_id,
            )
        yield from self._describe_columns(lists_columns=not lacks_engine)
        yield from self._describe_engines()

    def _describe_columns(self, *, lists_columns: bool) -> Iterator[str]:
        """Yield what columns differ within queries; `lists_columns` is False when they are listed already."""
        of_results = []
        for name, ids in self._conflicts.items():
            if len(ids) >= _MAX_CONFLICTS * self._single_values[name]:
                of_results.append(name)
            else:
                yield Message(
                    "column {name!r} has several values for {count:,} of {queries:,} queries, first for query"
                    " {query_id!r}, so it is left out there; a segment needs one value for a query",
                    name=name,
                    count=len(ids),
                    queries=self.queries,
                    query_id=ids[0],
                )
        if of_results and lists_columns:
            yield Message(
                "columns that are not used, because they differ between the results of a query: {names}; if"
                " one of them is a field, such as title or url, set the option columns to FIELD=COLUMN",
                names=SeparatedNames(map(repr, sorted(of_results))),
            )

    def _describe_engines(self) -> Iterator[str]:
        """Yield names that differ in case only, and what lists lack: queries, in one message, or ranks."""
        for _, alike in groupby(sorted(self.engines, key=str.casefold), key=str.casefold):
            if len(names := sorted(alike)) > 1:
                yield Message(
                    "the engines {engines} are different ones, although their names differ in upper and lower"
                    " case only; if they are one engine, write its name alike in all rows",
                    engines=SeparatedNames(map(repr, names)),
                )
        engines = sorted(self.engines, key=make_natural_key)
        missing = {engine: self.queries - self._answered[engine] for engine in engines}
        yield from describe_missing_rows(missing, self.queries, is_complete=self._is_complete)
        for engine in engines:
            if gaps := self._gaps.get(engine):
                yield Message(
                    "engine {engine!r}: the ranks of lists skip numbers, first for query {query_id!r} (number"
                    " of lists: {lists:,}); the results keep their order and get the ranks 1, 2, 3 …",
                    engine=engine,
                    lists=len(gaps),
                    query_id=gaps[0],
                )


def describe_missing_rows(missing: Mapping[str, int], queries: int, *, is_complete: bool) -> Iterator[str]:
    """Yield for how many of `queries` engines have no row, if any; with `is_complete`, they are empty."""
    most_first = sorted(filter(missing.get, missing), key=lambda engine: -missing[engine])
    if most_first:
        yield Message(
            "some of the {queries:,} queries have no row of these engines (in brackets: how many): {engines};"
            " with --complete, they count as empty lists, which score 0"
            if is_complete
            else "some of the {queries:,} queries have no row of these engines (in brackets: how many):"
            " {engines}; such an engine has no value on them. If it returned no results for them, run again"
            " with --complete (judge run: and with another --out): they then count as empty lists, which"
            " score 0",
            queries=queries,
            engines=SeparatedNames(f"{engine!r} ({missing[engine]:,})" for engine in most_first),
        )


def describe_empty_lists(answers: Mapping[str, tuple[int, int]]) -> Iterator[Message]:
    """Yield a warning for each engine whose list is empty on half of its queries or more, unlike others'.

    `answers` are, by engine, the numbers of lists with results and without. A wrong address or a wrong path
    of the results is a more frequent cause than a bad engine.
    """
    without = {engine for engine, (filled, empty) in answers.items() if empty >= max(1, filled)}
    if not any(filled for engine, (filled, _) in answers.items() if engine not in without):
        return
    for engine, (filled, empty) in answers.items():
        if engine in without:
            yield Message(
                "{engine} returned nothing for {empty:,} of {queries:,} queries and counts as 0 there; check"
                " the collection before you use this result.",
                engine=engine,
                empty=empty,
                queries=filled + empty,
            )


def describe_results_without_text(shares: Mapping[str, float | None]) -> Iterator[Message]:
    """Yield a warning about the engines most of whose results have no text besides a title.

    `shares` are those of such results by engine, None where the text of no result is known.
    """
    many = {engine: share for engine, share in shares.items() if (share or 0.0) >= _MANY_WITHOUT_TEXT}
    if many:
        yield Message(
            "results without text, except a title, of these engines (in brackets: their share):"
            " {engines}. If the texts are in another column, set the option columns to snippet=COLUMN; if"
            " the engine renamed its field, collect the results again",
            engines=SeparatedNames(
                f"{engine} ({many[engine]:.0%})" for engine in sorted(many, key=make_natural_key)
            ),
        )


class PoolWarnings:
    """The warnings about the results down to `depth`: texts that are missing, and pairs with other dates.

    Pairs differ in the date only if prompts show `dates`.
    """

    def __init__(self, depth: int, *, dates: bool) -> None:
        self._depth, self._dates = depth, dates
        #: The first result with a missing text, and its rank.
        self._first: tuple[Ranking, int] | None = None
        self._missing = 0
        self._dated_pairs = 0

    def add(self, rankings: Iterable[Ranking]) -> None:
        """Count the results of the next query."""
        ids: dict[tuple[str, str], set[str]] = {}
        for ranking in rankings:
            for rank, snippet in enumerate(ranking.snippets[: self._depth], start=1):
                if TEXT_MISSING in snippet.flags:
                    self._first = self._first or (ranking, rank)
                    self._missing += 1
                elif self._dates:
                    ids.setdefault((snippet.title, snippet.text), set()).add(snippet.id)
        self._dated_pairs += sum(len(same_text) - 1 for same_text in ids.values())

    def describe(self, source: str) -> Iterator[str]:
        """Yield a line for each unusual thing; `source` names the file of the texts."""
        if self._first:
            ranking, rank = self._first
            docno = ranking.snippets[rank - 1].docno
            yield Message(
                "results without a text in {source}: {count:,}, first {result} of query {query_id!r}. The"
                " assessor does not judge a missing text, which is not grade 0",
                source=source,
                count=self._missing,
                result=Message("document {docno!r}", docno=docno)
                if docno
                else Message("rank {rank} of engine {engine!r}", rank=rank, engine=ranking.engine),
                query_id=ranking.query_id,
            )
        if self._dated_pairs:
            yield Message(
                "pairs that differ from another one only in the date, which prompts show (option dates or"
                " as_of): {count:,}; each is judged",
                count=self._dated_pairs,
            )
