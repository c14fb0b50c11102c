"""The pairs that a person labels, their order, and what the page shows of a pair.

The page shows what the assessor saw. Engine, rank, address and the model's verdict never leave this module,
and the order does not depend on them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import Any

from judge.dataset.labels import select_labellable
from judge.dataset.spreadsheet import (
    detect_separator,
    normalise_column_name,
    read_csv_text,
    read_records,
    unescape_candidates,
)
from judge.dataset.validation import short_hash
from judge.errors import InputError
from judge.measure.ppi import ENOUGH_LABELLED
from judge.measure.ppi import draw_queries_to_label as draw
from judge.records import Pair, Pool
from judge.report.display_text import escape_hidden

#: A pair's name: (query_id, snippet_id).
PairKey = tuple[str, str]

_COLUMNS = ("query_id", "snippet_id")


@dataclass(frozen=True)
class Tasks:
    """The pairs to label, in order: all pairs of a query before those of the next query."""

    pairs: tuple[Pair, ...]

    @cached_property
    def index_of(self) -> dict[PairKey, int]:
        """Return the index of each pair."""
        return {(pair.query.id, pair.snippet.id): at for at, pair in enumerate(self.pairs)}

    @cached_property
    def queries(self) -> dict[str, range]:
        """Return the indexes of the pairs of each query."""
        ranges: dict[str, range] = {}
        for at, pair in enumerate(self.pairs):
            start = ranges[pair.query.id].start if pair.query.id in ranges else at
            ranges[pair.query.id] = range(start, at + 1)
        return ranges


def draw_pairs_to_label(pool: Pool, count: int = ENOUGH_LABELLED) -> tuple[PairKey, ...]:
    """Return the pairs of `count` random queries, or of all queries where there are fewer.

    They are the pairs that `judge agree --plan` draws, so that more can be labelled later. Raises InputError
    when the pool has nothing to label.
    """
    snippets: dict[str, list[PairKey]] = {}
    for pair in select_labellable(pool):
        snippets.setdefault(pair.query.id, []).append((pair.query.id, pair.snippet.id))
    if not snippets:
        raise InputError("the run has no pair to label")
    chosen = draw(list(snippets), min(count, len(snippets)))
    return tuple(key for query_id in chosen for key in snippets[query_id])


def read_plan(path: Path, pool: Pool) -> tuple[PairKey, ...]:
    """Return the pairs of a plan, each once, in the order of the plan.

    A plan is the CSV that `judge agree --plan` writes; only its columns `query_id` and `snippet_id` count.
    Raises InputError with file and line when it cannot be read or names a pair that the run does not have.
    Snippets without text are left out.
    """
    labellable = {(pair.query.id, pair.snippet.id) for pair in select_labellable(pool)}
    run_pairs = {(pair.query.id, pair.snippet.id) for pair in pool.pairs}
    planned_keys: dict[PairKey, None] = {}
    for location, query_cell, snippet_cell in _rows(path):
        names = (
            (query, item)
            for query in unescape_candidates(query_cell)
            for item in unescape_candidates(snippet_cell)
        )
        key = next((name for name in names if name in run_pairs), None)
        if key is None:
            raise InputError(
                "{place}: query {query!r:.80} with snippet {snippet!r:.80} is no pair of this run; is it the"
                " plan of another?",
                place=location,
                query=query_cell,
                snippet=snippet_cell,
            )
        if key in labellable:
            planned_keys[key] = None
    if not planned_keys:
        raise InputError("{file}: names no pair; write one with: judge agree RUN --plan N", file=path)
    return tuple(planned_keys)


def order_pairs(pool: Pool, keys: Sequence[PairKey], who: str) -> Tasks:
    """Return the pairs `keys` of the pool: queries as they come, each query's snippets shuffled for `who`."""
    pairs = {(pair.query.id, pair.snippet.id): pair for pair in pool.pairs}
    order_of_query = {query_id: at for at, query_id in enumerate(dict.fromkeys(key[0] for key in keys))}
    ordered = sorted(keys, key=lambda key: (order_of_query[key[0]], short_hash([who, *key], 16)))
    return Tasks(tuple(pairs[key] for key in ordered))


def describe_pair(pair: Pair, today: str | None) -> dict[str, Any]:
    """Return what the page shows of a pair, as JSON values with hidden characters made visible."""
    query, snippet = pair.query, pair.snippet
    return {
        "query_id": query.id,
        "snippet_id": snippet.id,
        "lang": query.lang,
        "query": escape_hidden(query.text),
        "reference": escape_hidden(query.reference or ""),
        "today": today or "",
        "title": escape_hidden(snippet.title),
        "date": escape_hidden(snippet.date),
        "snippet": escape_hidden(snippet.text),
    }


def _rows(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield the location, query id and snippet id of each row."""
    text = read_csv_text(path)
    rows = read_records(path, text, detect_separator(text) or ",")
    header = [normalise_column_name(cell) for cell in next(rows, ("", []))[1]]
    if not set(_COLUMNS) <= set(header):
        raise InputError(
            "{file}: is no plan: it needs the columns query_id and snippet_id, and has {columns!r:.160};"
            " write one with: judge agree RUN --plan N",
            file=path,
            columns=header,
        )
    query_at, snippet_at = map(header.index, _COLUMNS)
    for location, cells in rows:
        padded = cells + [""] * len(header)
        yield location, padded[query_at], padded[snippet_at]
