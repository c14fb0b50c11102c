"""Owns reading an engine's answer: which part of its JSON is the list of results, and what each one says.

What can't be told from the answer is an error, never an empty list: an engine that broke must not
look like one that found nothing.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.collect.engine_errors import unusable
from judge.errors import RequestRejected, RetryableError

#: What stands between several passages that an engine gives as a list.
_BETWEEN = " … "
#: Lists and objects in each other; an answer that has more of them is broken, or means harm.
_DEEPEST = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseShape:
    """Where an engine's JSON holds what; a path is keys with dots between them.

    `results` leads to the list of results, and may be missing where there are none, if only `proof`
    is there: a path that every answer has, `path=value` where it must have that value. `title` and the
    others name a result's fields, the first that is there counts. `unresponsive` leads to a list that,
    with no results, says that nobody searched.
    """

    results: str
    proof: str
    title: tuple[str, ...] = ("title",)
    url: tuple[str, ...] = ("url",)
    snippet: tuple[str, ...] = ("snippet",)
    date: tuple[str, ...] = ()
    unresponsive: str = ""


def read(shape: ResponseShape, body: str) -> list[dict[str, str]]:
    """The results in the answer `body`, as returned: rows with a snippet, a title, a url and maybe a date.

    What has neither text nor address is no result. Raises CallError when `body` is no answer of this shape.
    """
    answer = parse(body)
    if not _proven(shape.proof, answer):
        raise unusable(answer, f"it has no {shape.proof!r}")
    found = _at(shape.results, answer)
    if found is None:
        found = []
    if not isinstance(found, list) or not all(isinstance(result, Mapping) for result in found):
        raise RetryableError("server_error", f"{shape.results!r} of the answer is no list of results")
    silent = _at(shape.unresponsive, answer) if shape.unresponsive else None
    if silent and not found:
        raise RetryableError(
            "server_error", f"nothing was searched: {json.dumps(silent, ensure_ascii=False):.200}"
        )
    rows = [_row(shape, result) for result in found]
    if rows and not any(row["title"] or row["snippet"] for row in rows):
        raise _without_text(shape, found)
    return [row for row in rows if row["title"] or row["snippet"] or row["url"]]


def parse(body: str) -> Any:  # noqa: ANN401 - what JSON holds is known by looking
    """The JSON in `body`; raises Transient when it is none, or is nested as no engine's answer is."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        said = "is empty" if not body.strip() else f"is not JSON: {' '.join(body.split()):.80}"
        raise RetryableError("server_error", f"the answer {said}") from None
    if _nested(answer, _DEEPEST):
        raise RetryableError("server_error", f"the answer is nested more than {_DEEPEST} deep")
    return answer


def _nested(value: object, most: int) -> bool:
    """Whether lists and objects stand in each other more than `most` deep: printing them would fail."""
    level: list[Any] = [[value]]
    for _ in range(most + 1):
        inner = [part for each in level for part in (each.values() if isinstance(each, dict) else each)]
        level = [part for part in inner if isinstance(part, list | dict)]
    return bool(level)


def _without_text(shape: ResponseShape, found: Sequence[Mapping[str, Any]]) -> RequestRejected:
    """The error for results that say nothing; asking again would bring the same."""
    title, snippet = ", ".join(map(repr, shape.title)), ", ".join(map(repr, shape.snippet))
    own = ", ".join(map(repr, sorted({name for result in found for name in result}))) or "none"
    return RequestRejected(
        "unreadable",
        f"none of {len(found)} results has a title (looked for in {title}) or a snippet ({snippet}); their"
        f" fields are {own:.200}",
    )


def _proven(proof: str, answer: object) -> bool:
    path, wanted, value = proof.partition("=")
    found = _at(path, answer)
    return found is not None and (not wanted or str(found) == value)


def _at(path: str, value: object) -> Any:  # noqa: ANN401 - what JSON holds is known by looking
    """What `path` leads to, None where nothing is; the empty path leads to the whole."""
    for key in filter(None, path.split(".")):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _row(shape: ResponseShape, result: Mapping[str, Any]) -> dict[str, str]:
    row = {
        "title": _first(shape.title, result),
        "url": _first(shape.url, result),
        "snippet": _first(shape.snippet, result),
    }
    date = _first(shape.date, result)
    return {**row, "date": date} if date else row


def _first(paths: Sequence[str], result: Mapping[str, Any]) -> str:
    for path in paths:
        text = _text(_at(path, result))
        if text:
            return text
    return ""


def _text(value: object) -> str:
    parts = value if isinstance(value, list) else [value]
    return _BETWEEN.join(filter(None, map(_simple, parts)))


def _simple(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)
