"""Owns how a query of results.json is packed for the page: short arrays, every pair once.

The other end of this format is `unpackQuery` in templates/payload.js:

    query     [id, text, language, reference, columns, answers, pairs]
    answer    null: the engine was not asked · [scores, results, error, below]
    result    in rank order, the number of a pair, or [pair, address, document] where these are not the pair's
    address   the text and the link, or [text, link] where these differ; link "": no link
    pair      [title, text, address, date, flags, judgments, document, cut, raw]
    judgment  [grade, reason, flags, error]; a number as reason: that of judgment number - 1

What is empty at the end of an array is left out. Pages of a query are numbered; `document` is such a
number plus 1, or 0 for the pair's own number; a result's `address` of 0 is that of the pair, "" is none.
`below` counts results below the depth, which are left out, `cut` the characters that were cut from the
text; `raw` is the text as the engine returned it, where cleaning removed something suspicious.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from itertools import cycle
from string import punctuation
from typing import Any
from urllib.parse import quote

from judge.dataset.identifiers import short_hash
from judge.dataset.injection import INJECTION_FLAGS
from judge.report.display_text import escape_hidden, one_line, truncate, truncate_with_ellipsis

Entry = Mapping[str, Any]

#: Longer texts are cut; results.json has them whole.
LONGEST = 1200
_LONGEST_ADDRESS = 2000
_COLUMNS = 12
# As JSON these mean the same; in a page the first three could end the script, the others a line.
_FRAGILE = {mark: f"\\u{ord(mark):04x}" for mark in "<>&\u2028\u2029"}
# What cleaning removes is worth seeing where it was noticed.
_HIDING = INJECTION_FLAGS | {"control", "surrogate", "encoding", "invisible"}


def dump_script_json(value: object) -> str:
    """`value` as JSON that can stand inside a <script> element."""
    text = json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))
    for mark, escape in _FRAGILE.items():
        text = text.replace(mark, escape)
    return text


@dataclass(frozen=True, slots=True)
class PayloadSchema:
    """What the arrays of all queries are of: engines, measures, and how many results of a list count."""

    engines: Sequence[str]
    measures: Sequence[str]
    depth: int


def pack_query(entry: Entry, shape: PayloadSchema) -> list[Any]:
    """The query as arrays."""
    pairs: dict[str, _Pair] = {}
    documents: dict[str, int] = {}
    answers = [_answer(entry["engines"].get(engine), shape, pairs, documents) for engine in shape.engines]
    columns = {one_line(key): truncate_with_ellipsis(value, 200) for key, value in _columns(entry)}
    return [
        one_line(entry["query_id"]),
        truncate_with_ellipsis(entry.get("shown", entry["query"]), LONGEST),
        entry["lang"],
        truncate_with_ellipsis(entry.get("reference") or "", LONGEST),
        columns,
        answers,
        [_packed(pair) for pair in pairs.values()],
    ]


def _columns(entry: Entry) -> Sequence[tuple[str, str]]:
    return list(entry.get("extra", {}).items())[:_COLUMNS]


@dataclass(frozen=True, slots=True)
class _Pair:
    """A pair as it was first met, and the number of the page that it showed there."""

    number: int
    document: int
    snippet: Entry


def _answer(
    answer: Entry | None, shape: PayloadSchema, pairs: dict[str, _Pair], documents: dict[str, int]
) -> list[Any] | None:
    if answer is None:
        return None
    shown: list[Any] = []
    for snippet in answer["snippets"][: shape.depth]:
        document = documents.setdefault(snippet["document"], len(documents))
        pair = pairs.setdefault(snippet["snippet_id"], _Pair(len(pairs), document, snippet))
        shown.append(_place(pair, snippet["url"], document))
    scores = [_rounded(answer["scores"].get(measure)) for measure in shape.measures]
    below = len(answer["snippets"]) - len(shown)
    return _trimmed(scores, shown, truncate_with_ellipsis(answer.get("error") or "", 300), below)


def _place(pair: _Pair, url: str, document: int) -> int | list[Any]:
    """The pair's number, with the address and the page that an engine gave where they are others."""
    address = 0 if url == pair.snippet["url"] else _address(url)
    if document != pair.document:
        return [pair.number, address, document + 1]
    return pair.number if address == 0 else [pair.number, address]


def _packed(pair: _Pair) -> list[Any]:
    snippet = pair.snippet
    shown = snippet.get("shown", snippet)
    text, more = truncate(shown["snippet"], LONGEST)
    flags = snippet.get("flags", ())
    hides = not _HIDING.isdisjoint(flags) and shown["snippet"] != snippet["snippet"]
    return _trimmed(
        truncate_with_ellipsis(shown["title"], 300),
        text,
        _address(snippet["url"]),
        truncate_with_ellipsis(snippet.get("date", ""), 100),
        [truncate_with_ellipsis(flag, 100) for flag in flags],
        _judgments(snippet["judgments"], flags),
        0 if pair.document == pair.number else pair.document + 1,
        more,
        truncate_with_ellipsis(snippet["snippet"], LONGEST) if hides else "",
    )


def _judgments(judgments: Sequence[Entry], known: Sequence[str]) -> list[list[Any]]:
    said: dict[str, int] = {}
    packed = []
    for place, judgment in enumerate(judgments):
        words = _reason(judgment)
        first = said.setdefault(words, place)
        reason = truncate_with_ellipsis(words, LONGEST) if first == place else first + 1
        flags = [truncate_with_ellipsis(flag, 100) for flag in judgment["flags"] if flag not in known]
        packed.append(_trimmed(judgment["grade"], reason, flags, judgment["error"] or ""))
    return packed


def _reason(judgment: Entry) -> str:
    """The reason; of a panel, what each member said."""
    if not judgment.get("members"):
        return str(judgment["reason"])
    return " ‖ ".join(
        f"{each['assessor']}: {each['error'] or each['grade']}. {each['reason']}"
        for each in judgment["members"]
    )


def _address(url: str) -> str | list[str]:
    """The address as it is shown, and as it is followed where a browser would not make the same of both.

    One that is too long to be followed begins so that it is none any more.
    """
    if len(url) > _LONGEST_ADDRESS:
        return f"… {truncate_with_ellipsis(url, 200)}"
    shown = escape_hidden(url)
    # Browsers drop blanks at the ends and line breaks anywhere; all else they encode as `_encoded` does.
    return shown if shown == url and not set(url) & {" ", "\n"} else [shown, _encoded(url)]


def _encoded(url: str) -> str:
    """The address in ASCII; empty where it can't be, for half a surrogate pair has no encoding."""
    try:
        return quote(url, safe=punctuation)
    except UnicodeEncodeError:
        return ""


def _rounded(value: float | None) -> float | None:
    return None if value is None else round(value, 4)


def _trimmed(first: Any, *others: Any) -> list[Any]:  # noqa: ANN401
    """The values without the empty ones at the end; the first always stays."""
    kept = list(others)
    while kept and kept[-1] in ("", 0, []):
        kept.pop()
    return [first, *kept]


#: What is walked through gives its entries anew each time it is called.
Entries = Callable[[], Iterable[Entry]]

SAMPLE_KINDS = ("worst", "disagreeing", "random")


@dataclass(frozen=True, slots=True)
class PageBudget:
    """How much a page may carry: bytes of packed queries, and pairs."""

    size: int = 5_500_000
    pairs: int = 12_000


@dataclass(frozen=True, slots=True)
class PageData:
    """The packed queries in reading order, of how many, and what was taken as what (None: all are there)."""

    lines: Sequence[str]
    pairs: int
    queries_in_all: int
    pairs_in_all: int
    taken: Mapping[str, int] | None


@dataclass(frozen=True, slots=True)
class _Key:
    """What a query is chosen by; `lot` is the same for the same query id, and otherwise chance."""

    place: int
    mean: float | None
    spread: float
    flips: int
    lot: str
    size: int
    pairs: int


def select_queries(entries: Entries, shape: PayloadSchema, measure: str, budget: PageBudget) -> PageData:
    """The packed queries that fit into `budget`; `measure` says which are worst."""
    keys: list[_Key] = []
    lines: list[str] = []
    size = pairs = 0
    for place, entry in enumerate(entries()):
        line = dump_script_json(pack_query(entry, shape))
        key = _key(place, entry, line, measure, shape.depth)
        keys.append(key)
        size, pairs = size + key.size, pairs + key.pairs
        if size <= budget.size and pairs <= budget.pairs:
            lines.append(line)
        else:
            lines.clear()
    if len(lines) == len(keys):
        return PageData(lines, pairs, len(keys), pairs, None)
    chosen = choose_queries(keys, budget)
    lines = [
        dump_script_json(pack_query(entry, shape)) for place, entry in enumerate(entries()) if place in chosen
    ]
    taken = {kind: sum(kind == each for each in chosen.values()) for kind in SAMPLE_KINDS}
    return PageData(lines, sum(keys[place].pairs for place in chosen), len(keys), pairs, taken)


def _key(place: int, entry: Entry, line: str, measure: str, depth: int) -> _Key:
    scores = [answer["scores"].get(measure) for answer in entry["engines"].values()]
    known = [score for score in scores if score is not None]
    pairs = {
        snippet["snippet_id"]: snippet["judgments"]
        for answer in entry["engines"].values()
        for snippet in answer["snippets"][:depth]
    }
    return _Key(
        place,
        mean=sum(known) / len(known) if known else None,
        spread=max(known) - min(known) if known else 0.0,
        flips=sum(len({each["verdict"] for each in said} - {None}) > 1 for said in pairs.values()),
        lot=short_hash([entry["query_id"]], 16),
        size=len(line.encode()),
        pairs=len(pairs),
    )


def choose_queries(keys: Sequence[_Key], budget: PageBudget) -> dict[int, str]:
    """The places of the queries to carry, and as what: the three kinds take turns until one is too much.

    A query that is over the budget by itself is never taken.
    """
    orders = _orders([key for key in keys if key.size <= budget.size and key.pairs <= budget.pairs])
    chosen: dict[int, str] = {}
    size = pairs = 0
    for kind in cycle(SAMPLE_KINDS):
        key = next((key for key in orders[kind] if key.place not in chosen), None)
        if key is None:
            break
        size, pairs = size + key.size, pairs + key.pairs
        if size > budget.size or pairs > budget.pairs:
            break
        chosen[key.place] = kind
    return chosen


def _orders(keys: Sequence[_Key]) -> dict[str, Iterator[_Key]]:
    """The lowest means, the largest differences between engines (then most flips), and chance, each first."""
    return {
        "worst": iter(sorted(keys, key=lambda key: (key.mean is None, key.mean or 0.0, key.lot))),
        "disagreeing": iter(sorted(keys, key=lambda key: (-key.spread, -key.flips, key.lot))),
        "random": iter(sorted(keys, key=lambda key: key.lot)),
    }
