"""Owns how a query of results.json is packed for the page: short arrays, every pair once.

The other end of this format is `unpack` in templates/data.js:

    query    [id, text, language, reference, columns, answers, pairs]
    answer   null: the engine was not asked · [scores, shown, error, below]
    shown    in rank order, the number of a pair, or [pair, url, document] where these are not the pair's own
    url      what is shown and followed, or [shown, followed] where these differ; followed "": nowhere
    pair     [title, text, url, date, flags, judgments, document, more, raw]
    judgment [grade, reason, flags, error]; a number as reason: that of judgment number - 1

What is empty at the end of an array is left out. Pages of a query are numbered; `document` is such a
number plus 1, or 0 for the pair's own number; an engine's `url` of 0 is the pair's own, "" is none.
`below` counts results below the depth, which are left out, `more` the characters that were cut from the
text; `raw` is the text as the engine gave it, where cleaning took something suspicious away.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from string import punctuation
from typing import Any
from urllib.parse import quote

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
