"""Queries of results.json as compact arrays for the page, and the sample when they are too many.

The script templates/payload.js unpacks the arrays:

    query     [id, text, language, reference, columns, answers, pairs]
    answer    null: the engine was not asked · [scores, results, error, below]
    results   in rank order, the number of a pair, or [pair, address, document] where these are others
    address   its text, or [text, link] where these differ; an empty link: none
    pair      [title, text, address, date, flags, judgments, document, cut, raw]
    judgment  [grade, reason, flags, error]; a number as reason: the reason of judgment number - 1

Empty values at the end of an array are left out. The documents of a query are numbered; `document` is the
number plus 1, or 0 for the number of the pair; an `address` of 0 is that of the pair, "" is none. `below`
counts the results below the depth, which are left out, `cut` the characters that were cut from the text;
`raw` is the text of the engine where cleaning removed something suspicious.
"""

import json
from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import cycle
from string import punctuation
from typing import Any
from urllib.parse import quote

from markupsafe import Markup

from judge.analysis.summary import Summary
from judge.files.json_text import hash_parts
from judge.flags import CHAT_TOKENS, CONTROL_CHARACTERS, INVISIBLE, MISDECODED, SURROGATES
from judge.injection.patterns import INJECTION_FLAGS
from judge.report.display_text import escape_hidden, fit_on_line, truncate, truncate_with_ellipsis
from judge.runs.results_file import EngineEntry, JudgmentEntry, QueryEntry, ReadQueries, SnippetEntry

#: Longer texts are cut; results.json has them whole.
LONGEST = 1200
_LONGEST_ADDRESS = 2000
_COLUMNS = 12
# As JSON these mean the same; in a page the first three could end the script, the others a line.
_FRAGILE = {mark: f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
# What cleaning removes is worth seeing where it was noticed.
_HIDING = INJECTION_FLAGS | {CHAT_TOKENS, CONTROL_CHARACTERS, SURROGATES, MISDECODED, INVISIBLE}


def dump_script_json(value: object) -> Markup:
    """Return `value` as JSON that is safe inside a <script> element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark, escape in _FRAGILE.items():
        text = text.replace(mark, escape)
    return Markup(text)  # noqa: S704


def pack_query(entry: QueryEntry, summary: Summary) -> list[Any]:
    """Return the query as arrays, with the engines and measures of the run in their order."""
    pairs: dict[str, _Pair] = {}
    documents: dict[str | None, int] = {}
    engine_entries = [
        _pack_engine_entry(entry.engines.get(engine), summary, pairs, documents) for engine in summary.engines
    ]
    extra = list(entry.extra.items())[:_COLUMNS]
    return [
        fit_on_line(entry.query_id),
        truncate_with_ellipsis(entry.query if entry.shown is None else entry.shown, LONGEST),
        entry.lang,
        truncate_with_ellipsis(entry.reference or "", LONGEST),
        {fit_on_line(key): truncate_with_ellipsis(value, 200) for key, value in extra},
        engine_entries,
        [_pack_pair(pair) for pair in pairs.values()],
    ]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A pair where it is first: its number and the number of its document."""

    number: int
    document: int
    snippet: SnippetEntry


def _pack_engine_entry(
    engine_entry: EngineEntry | None,
    summary: Summary,
    pairs: dict[str, _Pair],
    documents: dict[str | None, int],
) -> list[Any] | None:
    if engine_entry is None:
        return None
    results: list[Any] = []
    for snippet in engine_entry.snippets[: summary.depth]:
        document = documents.setdefault(snippet.document, len(documents))
        pair = pairs.setdefault(snippet.snippet_id, _Pair(len(pairs), document, snippet))
        address = 0 if snippet.url == pair.snippet.url else _pack_address(snippet.url)
        if document != pair.document:
            results.append([pair.number, address, document + 1])
        else:
            results.append(pair.number if address == 0 else [pair.number, address])
    scores = [engine_entry.scores.get(measure) for measure in summary.measures]
    below = len(engine_entry.snippets) - len(results)
    rounded = [None if score is None else round(score, 4) for score in scores]
    return _drop_empty_tail(rounded, results, truncate_with_ellipsis(engine_entry.error or "", 300), below)


def _pack_pair(pair: _Pair) -> list[Any]:
    snippet = pair.snippet
    cleaned = snippet.shown or snippet
    text, more = truncate(cleaned.snippet, LONGEST)
    flags = snippet.flags
    hides = not _HIDING.isdisjoint(flags) and cleaned.snippet != snippet.snippet
    return _drop_empty_tail(
        truncate_with_ellipsis(cleaned.title, 300),
        text,
        _pack_address(snippet.url),
        truncate_with_ellipsis(snippet.date, 100),
        [truncate_with_ellipsis(flag, 100) for flag in flags],
        _pack_judgments(snippet.judgments, flags),
        0 if pair.document == pair.number else pair.document + 1,
        more,
        truncate_with_ellipsis(snippet.snippet, LONGEST) if hides else "",
    )


def _pack_judgments(judgments: Sequence[JudgmentEntry], snippet_flags: Sequence[str]) -> list[list[Any]]:
    first_indices: dict[str, int] = {}
    packed = []
    for index, judgment in enumerate(judgments):
        words = judgment.reason
        if judgment.members:
            words = "\n".join(
                f"{member.assessor}: {member.error or f'{member.grade}. {member.reason}'}"
                for member in judgment.members
            )
        first = first_indices.setdefault(words, index)
        reason = truncate_with_ellipsis(words, LONGEST) if first == index else first + 1
        flags = [truncate_with_ellipsis(flag, 100) for flag in judgment.flags if flag not in snippet_flags]
        packed.append(_drop_empty_tail(judgment.grade, reason, flags, judgment.error or ""))
    return packed


def _pack_address(url: str) -> str | list[str]:
    """Return the address as text, and as a link where a browser would make another one of the text.

    An address that is too long for a link begins with an ellipsis, so that it is not a link.
    """
    if len(url) > _LONGEST_ADDRESS:
        return f"… {truncate_with_ellipsis(url, 200)}"
    text = escape_hidden(url)
    # Browsers drop blanks at the ends and line breaks anywhere; all else they encode as `quote` does.
    if text == url and not set(url) & {" ", "\n"}:
        return text
    try:
        return [text, quote(url, safe=punctuation)]
    except UnicodeEncodeError:  # half a surrogate pair has no encoding
        return [text, ""]


def _drop_empty_tail(first: Any, *others: Any) -> list[Any]:  # noqa: ANN401
    """Return the values without the empty ones at the end; the first always stays."""
    values = list(others)
    while values and values[-1] in ("", 0, []):
        values.pop()
    return [first, *values]


_SAMPLE_KINDS = ("worst", "disagreeing", "random")


@dataclass(frozen=True, slots=True)
class PageLimits:
    """How much a page may hold: bytes of packed queries, and pairs."""

    size: int = 5_500_000
    pairs: int = 12_000


@dataclass(frozen=True, slots=True)
class PageData:
    """The packed queries in reading order, the totals, and the size of each part of a sample (None: all)."""

    lines: Sequence[str]
    pairs: int
    queries_in_all: int
    pairs_in_all: int
    sample: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class _QueryFigures:
    """What a query is selected by: `lot` is a hash of the query id, `size` 0 until the query is packed."""

    index: int
    mean: float | None
    spread: float
    flips: int
    lot: str
    pairs: int
    size: int = 0


class PageQueries:
    """The packed queries that fit into `limits`; the main measure says which are worst.

    All are added once. Only a few numbers of each query are kept; while all queries fit, their packed lines
    are kept, too. If they do not fit, a second pass reads and packs the others that the number of pairs
    allows, and their sizes decide. So a million pairs take as much memory as two pages and one record for
    each query.
    """

    def __init__(self, summary: Summary, limits: PageLimits) -> None:
        self._summary = summary
        self._limits = limits
        self._queries: list[_QueryFigures] = []
        self._lines: dict[int, str] = {}
        self._size = self._pairs = 0

    def add(self, entry: QueryEntry) -> None:
        """Add the next query in reading order."""
        index = len(self._queries)
        query = _measure_query(index, entry, self._summary)
        self._pairs += query.pairs
        if len(self._lines) == index and self._pairs <= self._limits.pairs:
            line = dump_script_json(pack_query(entry, self._summary))
            query = replace(query, size=len(line.encode()))
            self._size += query.size
            if self._size <= self._limits.size:
                self._lines[index] = line
        self._queries.append(query)

    def select(self, read_queries: ReadQueries) -> PageData:
        """Return the packed queries; `read_queries` yields those that were added."""
        queries, lines = self._queries, self._lines
        if len(lines) == len(queries):
            return PageData(list(lines.values()), self._pairs, len(queries), self._pairs, None)
        # A query that is too large is replaced by others, which are packed in the next round.
        while missing := _choose_queries(queries, self._limits).keys() - lines.keys():
            for index, entry in zip(sorted(missing), read_queries(missing), strict=True):
                lines[index] = dump_script_json(pack_query(entry, self._summary))
                queries[index] = replace(queries[index], size=len(lines[index].encode()))
        chosen = _choose_queries(queries, self._limits)
        counts = Counter(chosen.values())
        sample = {kind: counts[kind] for kind in _SAMPLE_KINDS}
        page = [lines[index] for index in sorted(chosen)]
        return PageData(
            page, sum(queries[index].pairs for index in chosen), len(queries), self._pairs, sample
        )


def _measure_query(index: int, entry: QueryEntry, summary: Summary) -> _QueryFigures:
    scores = [engine_entry.scores.get(summary.main_measure) for engine_entry in entry.engines.values()]
    values = [score for score in scores if score is not None]
    pairs = {
        snippet.snippet_id: snippet.judgments
        for engine_entry in entry.engines.values()
        for snippet in engine_entry.snippets[: summary.depth]
    }
    return _QueryFigures(
        index,
        mean=sum(values) / len(values) if values else None,
        spread=max(values) - min(values) if values else 0.0,
        flips=sum(len({row.verdict for row in rows} - {None}) > 1 for rows in pairs.values()),
        lot=hash_parts([entry.query_id], 16),
        pairs=len(pairs),
    )


def _choose_queries(queries: Sequence[_QueryFigures], limits: PageLimits) -> dict[int, str]:
    """Return the indices of the selected queries and their kinds; the three kinds take turns.

    A query that exceeds the limits alone is never taken.
    """
    queries = [query for query in queries if query.size <= limits.size and query.pairs <= limits.pairs]
    # By lowest mean, by largest difference between engines (then most flips), by lot.
    orders = {
        "worst": iter(sorted(queries, key=lambda query: (query.mean is None, query.mean or 0.0, query.lot))),
        "disagreeing": iter(sorted(queries, key=lambda query: (-query.spread, -query.flips, query.lot))),
        "random": iter(sorted(queries, key=lambda query: query.lot)),
    }
    chosen: dict[int, str] = {}
    size = pairs = 0
    for kind in cycle(_SAMPLE_KINDS):
        query = next((query for query in orders[kind] if query.index not in chosen), None)
        if query is None:
            break
        size, pairs = size + query.size, pairs + query.pairs
        if size > limits.size or pairs > limits.pairs:
            break
        chosen[query.index] = kind
    return chosen
