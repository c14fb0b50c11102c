"""The results and the judgments of a run in columns: scores and the summary are computed from them.

Columns hold names, numbers and flags. Texts and reasons stay in the records, because a million pairs take
more than ten times the memory as records. A run that is loaded from its folder reads the records again when
they are needed.
"""

from __future__ import annotations

from array import array
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import dataclass, replace
from functools import cached_property, lru_cache
from itertools import accumulate, chain, count, groupby, pairwise
from operator import attrgetter
from typing import Any

import numpy as np
import numpy.typing as npt

from judge.characters import estimate_tokens
from judge.errors import InputError
from judge.files.stored_records import StoredRankings, StoredRecords
from judge.measure.numeric import Bools, Floats, Ints, divide
from judge.records import Judgment, PairKey, Ranking


class TextColumn:
    """Many short texts in one text of their `content`: as a tuple, they take three times the memory."""

    def __init__(self, content: str, lengths: Iterable[int]) -> None:
        self._content = content
        self._ends = array("q", accumulate(lengths, initial=0))

    def __len__(self) -> int:
        return len(self._ends) - 1

    def __getitem__(self, place: int) -> str:
        return self.read(place, place + 1)[0]

    def __iter__(self) -> Iterator[str]:
        return (self._content[start:end] for start, end in pairwise(self._ends))

    def read(self, first: int, last: int) -> list[str]:
        """Return the texts from `first` to before `last`."""
        return [self._content[start:end] for start, end in pairwise(self._ends[first : last + 1])]


@dataclass(frozen=True)
class ResultColumns:
    """The results of all engines for all queries, down to the `depth` of the pool.

    Engines and queries are sorted by name. Arrays have the shape (engines, queries), or (engines, queries,
    ranks) for `pair`, `document`, `flags` and `has_text`, which are -1 or False past the end of a list.
    Pair `i` is the snippet `snippet_ids[i]` of the query `pair_query[i]`; pairs are sorted by these names.
    The documents of each query have numbers of their own. `flags` numbers the sets in `flag_sets`.
    `returned` is the length of a list; `errors` marks engines that failed, `absent` those without a ranking.
    `latency_ms` is NaN where it is unknown; `tokens` is the approximate size of the raw results, NaN where
    the engine failed or has no ranking. `unreturned` (queries,) counts relevant documents that no engine
    returned and that are in the pool all the same, None without any.
    """

    depth: int
    engines: tuple[str, ...]
    queries: tuple[str, ...]
    returned: Ints
    errors: Bools
    absent: Bools
    latency_ms: Floats
    tokens: Floats
    pair: Ints
    document: Ints
    flags: Ints
    has_text: Bools
    flag_sets: tuple[frozenset[str], ...]
    pair_query: Ints
    snippet_ids: TextColumn
    unreturned: Ints | None = None

    @property
    def without_list(self) -> Bools:
        """Whether there is no list to measure, (engines, queries); an empty list is a list."""
        return self.errors | self.absent

    @cached_property
    def _ranges(self) -> Mapping[str, tuple[int, int]]:
        """The numbers of the pairs of each query: the first, and the one after the last."""
        numbers = np.arange(len(self.queries) + 1, dtype=np.int32)
        ends = np.searchsorted(self.pair_query, numbers).tolist()
        return {query: (ends[index], ends[index + 1]) for index, query in enumerate(self.queries)}

    def number_pairs(self, query_id: str) -> Mapping[str, int]:
        """Return the numbers of the pairs of a query by the ids of their snippets."""
        start, end = self._ranges.get(query_id, (0, 0))
        return dict(zip(self.snippet_ids.read(start, end), range(start, end), strict=True))

    def list_pairs(self) -> list[PairKey]:
        """Return the (query id, snippet id) of each pair."""
        return [
            (self.queries[query], id_)
            for query, id_ in zip(self.pair_query.tolist(), self.snippet_ids, strict=True)
        ]

    def mark_flags(self, flags: Iterable[str]) -> Bools:
        """Return (engines, queries, ranks): True where a result has one of `flags`."""
        marked = np.array([not flag_set.isdisjoint(flags) for flag_set in self.flag_sets] + [False], bool)
        return marked[self.flags]  # the entry of -1 is the last one

    def drop_pairs(self, dropped: Bools) -> ResultColumns:
        """Return the lists without the `dropped` (pairs,); the results below them move up."""
        remain = (self.pair >= 0) & ~dropped[self.pair]
        order = np.argsort(~remain, axis=-1, kind="stable")
        past = ~np.take_along_axis(remain, order, -1)

        def move_up(values: npt.NDArray[Any], empty: int) -> npt.NDArray[Any]:
            moved = np.take_along_axis(values, order, -1)
            moved[past] = empty
            return moved

        return replace(
            self,
            returned=remain.sum(-1),
            pair=move_up(self.pair, -1),
            document=move_up(self.document, -1),
            flags=move_up(self.flags, -1),
            has_text=move_up(self.has_text, 0),
        )


def tabulate_results(rankings: Iterable[Ranking], depth: int) -> ResultColumns:
    """Return the columns of `rankings`, which have the documents of a pool down to `depth`.

    Stored rankings keep the columns that were last made from them.

    Raise `InputError` when an engine has two rankings for a query, `ValueError` when the documents do not fit
    the rankings.
    """
    if isinstance(rankings, StoredRankings):
        columns = rankings.columns
        if not isinstance(columns, ResultColumns) or columns.depth != depth:
            columns = rankings.columns = tabulate_queries(rankings, depth)
        return columns
    return tabulate_queries(sorted(rankings, key=attrgetter("query_id")), depth)


def tabulate_queries(rankings: Iterable[Ranking], depth: int) -> ResultColumns:
    """Return the columns of rankings, those of a query after each other; raise as `tabulate_results`."""
    flat = _FlatResults(depth)
    for query_id, of_query in groupby(rankings, attrgetter("query_id")):
        flat.add(query_id, sorted(of_query, key=attrgetter("engine")))
    return flat.arrange()


def _number_names() -> defaultdict[Any, int]:
    """Return a mapping that numbers its keys from 0 in the order of their first look-up."""
    return defaultdict(count().__next__)


class _FlatResults:
    """The results in the order of reading, as flat sequences."""

    def __init__(self, depth: int) -> None:
        self.depth = depth
        self.queries: defaultdict[str, int] = _number_names()
        self.engines: defaultdict[str, int] = _number_names()
        self.flag_sets: defaultdict[frozenset[str], int] = _number_names()
        #: The sorted ids of the snippets of each query, joined, and their lengths.
        self.ids: list[tuple[str, Sequence[int]]] = []
        #: For each ranking: engine, query, length, whether it failed, milliseconds, tokens.
        self.rankings = array("d")
        #: For each result: its pair and its document in the query, its flags, whether it has a text.
        self.results = [array("i"), array("i"), array("i"), array("b")]

    def add(self, query_id: str, rankings: Sequence[Ranking]) -> None:
        """Add the rankings of a query, sorted by engine."""
        if query_id in self.queries:
            raise ValueError(f"query {query_id!r} stands in two places")
        for one, other in pairwise(rankings):
            if one.engine == other.engine:
                raise InputError(
                    "engine {engine!r} has two rankings for query {query_id!r}",
                    engine=one.engine,
                    query_id=query_id,
                )
        query, depth = self.queries[query_id], self.depth
        lists = [() if ranking.error is not None else ranking.snippets[:depth] for ranking in rankings]
        ids = sorted({snippet.id for snippets in lists for snippet in snippets})
        self.ids.append(("".join(ids), array("i", map(len, ids))))
        pairs, numbers = {id_: at for at, id_ in enumerate(ids)}, _number_names()
        for ranking, snippets in zip(rankings, lists, strict=True):
            names = ranking.documents[:depth]
            failed = ranking.error is not None
            if not failed and len(names) != len(snippets):
                raise ValueError(
                    f"the pool has {len(names)} documents for engine {ranking.engine!r} on query "
                    f"{query_id!r}, which returned {len(snippets)} snippets down to depth {depth}"
                )
            raw_text = "".join([snippet.raw_title + snippet.raw_text for snippet in snippets])
            tokens = np.nan if failed else estimate_tokens(raw_text)
            latency = np.nan if ranking.latency_ms is None else ranking.latency_ms
            engine = self.engines[ranking.engine]
            self.rankings.extend((engine, query, len(snippets), failed, latency, tokens))
            pair, document, flags, has_text = self.results
            pair.extend([pairs[snippet.id] for snippet in snippets])
            document.extend([numbers[name] for name in names[: len(snippets)]])
            flags.extend([self.flag_sets[frozenset(snippet.flags)] for snippet in snippets])
            has_text.extend([bool(snippet.text) for snippet in snippets])

    def arrange(self) -> ResultColumns:
        """Return the columns, with engines and queries sorted by name."""
        engines, engine_order = _sort_names(self.engines)
        queries, query_order = _sort_names(self.queries)
        columns = np.array(self.rankings).reshape(-1, 6).T
        engine, query, length = columns[:3].astype(np.int64)
        engine, query = engine_order[engine], query_order[query]
        failed, latency, tokens = columns[3:]
        ids = [self.ids[at] for at in np.argsort(query_order)]
        counts = np.array([len(lengths) for _, lengths in ids], np.int32)
        starts = np.cumsum(counts, dtype=np.int32) - counts
        width = int(length.max(initial=0))
        shape = len(engines), len(queries)

        def place(values: npt.NDArray[Any], empty: float) -> npt.NDArray[Any]:
            cells = np.full(shape, empty, values.dtype)
            cells[engine, query] = values
            return cells

        def pad(values: npt.NDArray[Any]) -> Ints:
            lists = np.full((len(length), width), -1, values.dtype)
            lists[np.arange(width) < length[:, None]] = values
            padded = np.full((*shape, width), -1, values.dtype)
            padded[engine, query] = lists
            return padded

        # The flat columns are dropped one after the other: with many results, each takes megabytes.
        pair, document, flags, has_text = (pad(np.asarray(self.results.pop(0))) for _ in range(4))
        np.add(pair, starts[:, None], out=pair, where=pair >= 0)
        return ResultColumns(
            self.depth,
            engines,
            queries,
            returned=place(length, 0),
            errors=place(failed > 0, False),
            absent=place(np.zeros(len(length), bool), True),
            latency_ms=place(latency, np.nan),
            tokens=place(tokens, np.nan),
            pair=pair,
            document=document,
            flags=flags,
            has_text=has_text > 0,
            flag_sets=tuple(self.flag_sets),
            pair_query=np.repeat(np.arange(len(queries), dtype=np.int32), counts),
            snippet_ids=TextColumn(
                "".join(joined for joined, _ in ids), chain.from_iterable(lengths for _, lengths in ids)
            ),
        )


def _sort_names(numbers: Mapping[str, int]) -> tuple[tuple[str, ...], Ints]:
    """Return the sorted names, and the place of each number among them."""
    names = sorted(numbers)
    places = np.empty(len(names), np.int64)
    places[[numbers[name] for name in names]] = np.arange(len(names))
    return tuple(names), places


_ROW = np.dtype(
    [(name, "i4") for name in ("pair", "query", "repeat", "grade", "error", "model")]
    + [("is_graded", "?"), ("is_near_duplicate", "?"), ("score", "f8")]
)


@dataclass(frozen=True, slots=True)
class JudgmentColumns:
    """The judgments of one assessor: a structured array with a row for each.

    `pair` and `query` are those of the results, -1 where no engine returned the pair, or no result is of the
    query. `grade` counts where `is_graded`. `error` and `model` number the error kinds in `errors` and the
    names in `models` that servers returned, -1 for none. `score` is that of a reranker, else NaN.
    """

    rows: npt.NDArray[np.void]
    errors: tuple[str, ...]
    models: tuple[str, ...]

    def count_errors(self) -> dict[str, int]:
        """Return the number of failed judgments by kind, sorted."""
        counts = np.bincount(self.rows["error"] + 1, minlength=len(self.errors) + 1)[1:].tolist()
        return dict(sorted(zip(self.errors, counts, strict=True)))

    def average_scores(self, pairs: int) -> Floats:
        """Return the (pairs,) scores of a reranker, the mean over the repeats; NaN without one."""
        scored = self.rows[~np.isnan(self.rows["score"]) & (self.rows["pair"] >= 0)]
        sums, counts = (
            np.bincount(scored["pair"], weights, pairs).astype(np.float64)
            for weights in (scored["score"], None)
        )
        return divide(sums, counts, np.nan)

    def grade_zero(self, pairs: Bools) -> JudgmentColumns:
        """Return the judgments with grade 0 for the marked (pairs,)."""
        rows = self.rows.copy()
        chosen = np.append(pairs, False)[rows["pair"]]
        rows["grade"][chosen], rows["is_graded"][chosen] = 0, True
        return replace(self, rows=rows)

    def drop_pairs(self, dropped: Bools) -> JudgmentColumns:
        """Return the judgments, those of the `dropped` (pairs,) as of pairs that no engine returned."""
        rows = self.rows.copy()
        rows["pair"][np.append(dropped, False)[rows["pair"]]] = -1
        return replace(self, rows=rows)


class TabulatedJudgments(StoredRecords[Judgment]):
    """The judgments that `read` yields again for each use, with their `columns` for `results`."""

    def __init__(
        self, read: Callable[[], Iterator[Judgment]], results: ResultColumns, columns: JudgmentColumns
    ) -> None:
        super().__init__(read, len(columns.rows))
        self.results = results
        self.columns = columns


def tabulate_judgments(judgments: Iterable[Judgment], results: ResultColumns) -> JudgmentColumns:
    """Return the columns of `judgments` of pairs of `results`."""
    if isinstance(judgments, TabulatedJudgments) and judgments.results is results:
        return judgments.columns
    errors, models = _number_names(), _number_names()
    queries = {query: index for index, query in enumerate(results.queries)}
    number_pairs = lru_cache(maxsize=64)(results.number_pairs)  # judgments of one query are neighbours
    rows = (
        (
            number_pairs(judgment.query_id).get(judgment.snippet_id, -1),
            queries.get(judgment.query_id, -1),
            judgment.repeat,
            judgment.grade or 0,
            -1 if judgment.error is None else errors[judgment.error],
            -1 if judgment.served_model is None else models[judgment.served_model],
            judgment.grade is not None,
            bool(judgment.judged_snippet_id),
            np.nan if (score := judgment.score) is None else score,
        )
        for judgment in judgments
    )
    table = np.fromiter(rows, _ROW, len(judgments) if isinstance(judgments, Sized) else -1)
    return JudgmentColumns(table, tuple(errors), tuple(models))
