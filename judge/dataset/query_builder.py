"""A query and its rankings, made row by row."""

import re
from collections.abc import Iterable
from dataclasses import dataclass, field, replace
from operator import itemgetter

from judge.characters import detect_query_language, find_majority_language
from judge.dataset import clean
from judge.dataset.clean import RawSnippet, TextOptions
from judge.dataset.field_values import normalise_text
from judge.dataset.parsed_rows import ParsedRow
from judge.errors import InputError
from judge.files.json_text import hash_parts
from judge.flags import EMPTY_SNIPPET, TEXT_MISSING
from judge.records import Lang, LangChoice, Query, Ranking, Snippet

#: What spreadsheet programs show in a cell whose formula has no value.
_FORMULA_ERROR = re.compile(r"#(?:N/A|(?:REF|VALUE|DIV/0|NUM|NULL|SPILL|CALC|FIELD)!|NAME\?)|Err:[0-9]{3}")


@dataclass(slots=True)
class RankingBuilder:
    """Makes the ranking of one engine for one query from its parsed rows.

    `location` is that of the first row. Where this is an answer as a whole, as in a nested record, the
    locations of its results begin with `prefix`. `ranked` is True when rows have ranks. `results` are by
    rank, each with its location.
    """

    location: str
    prefix: str = ""
    error: str | None = None
    latency_ms: float | None = None
    ranked: bool | None = None
    results: dict[int, tuple[str, Snippet]] = field(default_factory=dict)

    def choose_rank(self, row: ParsedRow) -> int:
        """Return the rank of a result, the next one in a list without ranks."""
        is_ranked = row.rank is not None
        if self.ranked is not None and self.ranked != is_ranked:
            raise InputError(
                "{place} is given for some results of a list only (see {other_place}); give every result of a"
                " list a rank, or none",
                place=row.locate_field("rank"),
                other_place=self.location,
            )
        self.ranked = is_ranked
        rank = len(self.results) + 1 if row.rank is None else row.rank
        if rank in self.results:
            raise InputError(
                "{place}: engine {row.engine!r} has rank {rank} for query {row.query!r:.80} twice, first at"
                " {other_place}; remove one of the rows, or correct its rank",
                place=row.locate_field("rank"),
                row=row,
                rank=rank,
                other_place=self.results[rank][0],
            )
        return rank

    def make_ranking(self, engine: str, query_id: str) -> Ranking:
        """Return the ranking."""
        snippets = tuple(snippet for _, (_, snippet) in sorted(self.results.items(), key=itemgetter(0)))
        return Ranking(engine, query_id, snippets, self.error, self.latency_ms)


class QueryBuilder:
    """Makes a query and its rankings from its parsed rows.

    `other_columns` are no fields: `extra` has those with one value, `conflicts` those with several.
    `is_cut` is True when prompts cut the query or its reference. `formula_errors` are the texts that are
    errors of a formula, such as #N/A, each with the location of its row and the name of its column.
    """

    def __init__(self, first: ParsedRow, options: TextOptions) -> None:
        self.text = clean.clean_query(first.query)
        if not self.text:
            raise InputError(
                "{place} is {value!r:.80}, which has no readable text",
                place=first.locate_field("query"),
                value=first.query,
            )
        self.first, self.options = first, options
        self.reference, self.expected, self.extra = first.reference, first.expected, first.extra
        self.other_columns: set[str] = set()
        self.conflicts: set[str] = set()
        self.is_cut = False
        self.formula_errors: list[tuple[str, str, str]] = []
        self.rankings: dict[str, RankingBuilder] = {}
        #: Several engines can return one snippet, which is cleaned once.
        self._cleaned: dict[RawSnippet, Snippet] = {}

    def add(self, row: ParsedRow) -> None:
        """Add a row of the query; raise InputError where it does not fit an earlier one."""
        self._add_query_fields(row)
        for name, text in (("query", row.query), ("snippet", row.snippet.text if row.snippet else "")):
            if _FORMULA_ERROR.fullmatch(text.strip()):
                self.formula_errors.append((row.location, row.find_column(name), text))
        ranking = self.rankings.get(row.engine)
        if ranking is None:
            prefix = f"{row.location}: " if row.snippet is None and not row.error else ""
            ranking = self.rankings[row.engine] = RankingBuilder(row.location_of_list, prefix)
        elif row.snippet is None or not row.location.startswith(ranking.prefix):
            raise InputError(
                "{place}: engine {row.engine!r} answers query {row.query!r:.80} a second time, first at"
                " {other_place}; an engine answers a query once, and two engines need two names",
                place=row.location_of_list,
                row=row,
                other_place=ranking.location,
            )
        if row.snippet is None:
            ranking.error = row.error or None
            ranking.latency_ms = row.latency_ms
            return
        if error := row.error or ranking.error:
            raise InputError(
                "{place}: engine {row.engine!r} has a result, and the error {error!r:.80} at {other_place};"
                " an engine that failed has no results",
                place=row.location,
                row=row,
                error=error,
                other_place=ranking.location,
            )
        rank = ranking.choose_rank(row)
        snippet = self._clean_snippet(row.snippet)
        if not row.has_text and EMPTY_SNIPPET in snippet.flags:
            snippet = _mark_missing_text(snippet, f"{row.engine} {rank}")
        ranking.results[rank] = row.location, snippet

    def _add_query_fields(self, row: ParsedRow) -> None:
        """Add what a row says of the query; raise InputError where an earlier row has another value."""
        if row.query != self.first.query and normalise_text(row.query) != normalise_text(self.first.query):
            raise InputError(
                "{place}: the query of {row.query_id!r} is {row.query!r:.80} here and"
                " {other.query!r:.80} at {other_place}; give every query its own id",
                place=row.location,
                row=row,
                other=self.first,
                other_place=self.first.location,
            )
        for name, value, other_value in (
            ("reference", row.reference, self.reference),
            ("expected", row.expected, self.expected),
        ):
            if value is not None and other_value is not None and value != other_value:
                raise InputError(
                    "{place} of query {row.query_id!r} is {value!r:.80} here and {other_value!r:.80} at"
                    " {other_place}; a query has one value of it",
                    place=row.locate_field(name),
                    row=row,
                    value=value,
                    other_value=other_value,
                    other_place=self.first.location,
                )
        self.reference = self.reference if row.reference is None else row.reference
        self.expected = self.expected if row.expected is None else row.expected
        self.is_cut |= row.is_cut
        self.other_columns.update(row.extra)
        if row.extra != self.extra:
            earlier = self.extra.items()
            self.conflicts |= {name for name, value in earlier if row.extra.get(name, value) != value}
            self.extra = {name: value for name, value in earlier if row.extra.get(name) == value}

    def _clean_snippet(self, raw: RawSnippet) -> Snippet:
        if raw not in self._cleaned:
            self._cleaned[raw] = clean.clean_snippet(
                raw, max_chars=self.options.max_chars, query=self.text, dates=self.options.dates
            )
        return self._cleaned[raw]

    def add_empty_lists(self, engines: Iterable[str]) -> None:
        """Add an empty list for each of the engines that has no row of the query."""
        for engine in sorted(engines):
            self.rankings.setdefault(engine, RankingBuilder(self.first.location))

    def make_query(self) -> Query:
        """Return the query."""
        lang = choose_language(self.options.lang, self.text, self._cleaned.values())
        raw_text = self.first.query
        return Query(
            self.first.query_id, self.text, raw_text, lang, self.reference, self.extra, self.expected
        )

    def make_rankings(self) -> tuple[Ranking, ...]:
        """Return the rankings of the query, one for each engine."""
        query_id = self.first.query_id
        return tuple(builder.make_ranking(engine, query_id) for engine, builder in self.rankings.items())


def choose_language(lang: LangChoice, query: str, snippets: Iterable[Snippet]) -> Lang:
    """Return the language of a query: `lang`, or with `auto` that of its script, else of its snippets."""
    if lang != "auto":
        return lang
    return detect_query_language(query) or find_majority_language(snippets)


def _mark_missing_text(snippet: Snippet, position: str) -> Snippet:
    """Return the snippet of a result with missing text; its id differs from that of an empty snippet.

    It also differs from that of any other missing text: by docno, URL, or `position` in the lists.
    """
    id_parts = [TEXT_MISSING, snippet.docno or snippet.url or position]
    flags = {*snippet.flags, TEXT_MISSING} - {EMPTY_SNIPPET}
    return replace(snippet, id=hash_parts(id_parts, 16), flags=tuple(sorted(flags)))
