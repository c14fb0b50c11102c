"""Reading an engine's answer: the list of results in its JSON, and the fields of each result.

An answer that cannot be read is an error, never an empty list: an engine that failed must not look like one
without results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from judge.collect.engine_errors import unusable_answer
from judge.errors import RequestRejected, RetryableError

#: The separator of passages that an engine returns as a list.
_SEPARATOR = " … "
#: Maximum nesting of an answer; a deeper one is broken or hostile.
_MAX_NESTING = 100


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseShape:
    """Paths in an engine's JSON; a path is keys with dots between them.

    `results` leads to the list of results, which an answer without results may lack. `proof` is a path that
    every answer has, or `path=value` if it must have that value. `title` and the others are paths in a
    result; the first one that leads to a text counts. `unresponsive` leads to the engines that did not
    answer (searxng): without results, it makes the answer an error.
    """

    results: str
    proof: str
    title: tuple[str, ...] = ("title",)
    url: tuple[str, ...] = ("url",)
    snippet: tuple[str, ...] = ("snippet",)
    date: tuple[str, ...] = ()
    unresponsive: str = ""


def read_results(shape: ResponseShape, body: str) -> list[dict[str, str]]:
    """Return the results in the answer `body`: rows with a snippet, a title, a url and sometimes a date.

    An item without text and address is no result. Raises CallError when `body` is no answer of this shape.
    """
    answer = parse_answer(body)
    if not _has_proof(shape.proof, answer):
        raise unusable_answer(answer, f"it has no {shape.proof!r}")
    results = _follow(shape.results, answer)
    if results is None:
        results = []
    if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
        raise RetryableError("server_error", f"{shape.results!r} of the answer is no list of results")
    unresponsive = _follow(shape.unresponsive, answer) if shape.unresponsive else None
    if unresponsive and not results:
        raise RetryableError(
            "server_error", f"no engine answered: {json.dumps(unresponsive, ensure_ascii=False):.200}"
        )
    rows = [_row(shape, result) for result in results]
    if rows and not any(row["title"] or row["snippet"] for row in rows):
        raise _without_text(shape, results)
    return [row for row in rows if row["title"] or row["snippet"] or row["url"]]


def parse_answer(body: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON in `body`; raise RetryableError when it is no JSON, or nested too deeply."""
    try:
        answer = json.loads(body)
    except (ValueError, RecursionError):
        problem = "is empty" if not body.strip() else f"is not JSON: {' '.join(body.split()):.80}"
        raise RetryableError("server_error", f"the answer {problem}") from None
    if _is_nested_deeper(answer, _MAX_NESTING):
        raise RetryableError("server_error", f"the answer is nested more than {_MAX_NESTING} levels deep")
    return answer


def _is_nested_deeper(value: object, limit: int) -> bool:
    """Return whether lists and objects are nested more than `limit` levels deep; printing them would fail."""
    level: list[Any] = [[value]]
    for _ in range(limit + 1):
        inner = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in inner if isinstance(part, list | dict)]
    return bool(level)


def _without_text(shape: ResponseShape, results: Sequence[Mapping[str, Any]]) -> RequestRejected:
    """Return the error for results without any text; a retry would return the same."""
    title, snippet = ", ".join(map(repr, shape.title)), ", ".join(map(repr, shape.snippet))
    own = ", ".join(map(repr, sorted({name for result in results for name in result}))) or "none"
    return RequestRejected(
        "unreadable",
        f"none of {len(results)} results has a title (looked for in {title}) or a snippet ({snippet}); their"
        f" fields are {own:.200}",
    )


def _has_proof(proof: str, answer: object) -> bool:
    path, sign, expected = proof.partition("=")
    value = _follow(path, answer)
    return value is not None and (not sign or str(value) == expected)


def _follow(path: str, value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return the value that `path` leads to, None if there is none; the empty path leads to the whole."""
    for key in filter(None, path.split(".")):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _row(shape: ResponseShape, result: Mapping[str, Any]) -> dict[str, str]:
    row = {
        "title": _first_text(shape.title, result),
        "url": _first_text(shape.url, result),
        "snippet": _first_text(shape.snippet, result),
    }
    date = _first_text(shape.date, result)
    return {**row, "date": date} if date else row


def _first_text(paths: Sequence[str], result: Mapping[str, Any]) -> str:
    for path in paths:
        text = _text(_follow(path, result))
        if text:
            return text
    return ""


def _text(value: object) -> str:
    parts = value if isinstance(value, list) else [value]
    return _SEPARATOR.join(filter(None, map(_simple, parts)))


def _simple(value: object) -> str:
    if isinstance(value, bool) or not isinstance(value, str | int | float):
        return ""
    return str(value)
