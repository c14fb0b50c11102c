"""Reading an engine's response: the results in its JSON, or the error that its status and body mean.

An answer that cannot be read is an error, never an empty list: an engine that failed must not look like one
without results.
"""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, replace
from typing import Any

from judge.errors import CallError, RequestRejected, RetryableError
from judge.messages import Message, SeparatedNames, cut_value
from judge.models.error_mapping import BAD_REQUEST, ErrorResponse, ErrorRule, JsonBody
from judge.models.server import redact_url

#: The separator of passages that an engine returns as a list.
_SEPARATOR = " … "
#: Maximum nesting of an answer; a deeper one is broken or hostile.
_MAX_NESTING = 100
_MAX_LISTED_FIELDS = 12
#: How many characters of a response an error shows.
_SHOWN_LENGTH = 80
#: The first row that fits decides: codes and messages come before statuses.
ANSWER_RULES = (
    # Alibaba Cloud calls some short throttling a quota: Throttling.AllocationQuota.
    ErrorRule("rate_limit", code=r"throttling"),
    # 432 and 433 are Tavily's; SerpApi uses 429, Serper 400, Bocha and Bing 403.
    ErrorRule(
        "quota",
        statuses={402, 432, 433},
        code=r"arrear|no_more_credits|budget_exceeded|quota|periodexpired|perdayexceeded",
        says=r"run out of searches|(?:not|n't) (?:have )?enough (?:credits|money)"
        r"|insufficient.{0,20}(?:balance|credit)|usage limit|out of call volume quota|余额不足",
        hint=Message("check the account's plan and balance"),
    ),
    ErrorRule("rate_limit", statuses={429}, code=r"rate_?limit|too_?many_?requests"),
    # Brave refuses a key with 422, and a missing one as an invalid header.
    ErrorRule(
        "auth",
        statuses={401, 403},
        code=r"token_invalid|invalid_?api_?key|unauthorized|authorizationmissing|notauthori[sz]ed|notactivate"
        r"|invalidaccesskeyid|access_?denied",
        says=r"invalid api.?key|subscription[- ]token",
        hint=Message("check the key and its permissions"),
    ),
    ErrorRule("server_error", statuses={408, 409, 425, *range(500, 600)}),
    ErrorRule(
        "not_found",
        statuses={404, 405, 410, *range(300, 400)},
        hint=Message("check the engine's address, see --base-url"),
    ),
    # A success that holds an unknown error.
    ErrorRule("server_error", statuses=range(200, 300)),
)
#: Kinds of errors that may concern every request.
_ERRORS_OF_ENGINE = frozenset({"auth", "rate_limit"})


def classify_response(
    status: int, body: object, headers: Mapping[str, str], *secrets: str, hint: str = ""
) -> CallError:
    """Return the error that a response means, without `secrets` in its message.

    `body` is the parsed JSON, or the text if it is not JSON. `hint` says what to check when this engine
    refuses every request, `""` if it is the key.
    """
    response = ErrorResponse.from_response(status, _normalise(body), headers)
    rule = next((rule for rule in ANSWER_RULES if rule.fits(response)), BAD_REQUEST)
    message = _describe_redirect(response) or response.message.strip().removeprefix(f"{status}: ")
    response = replace(response, message=message)
    return rule.make_error(response, *secrets, hint=hint if rule.kind in _ERRORS_OF_ENGINE else "")


def _describe_redirect(response: ErrorResponse) -> Message:
    """Return the target of a redirect, without parts that may be secret; `""` if it is not a redirect."""
    location = next((text for name, text in response.headers.items() if name.lower() == "location"), "")
    if location and 300 <= response.status < 400:
        with suppress(ValueError):
            return Message("it redirects to {address!r}", address=redact_url(location))
    return Message("")


def _make_unusable_error(json_body: object, shape: ResponseShape, body: str) -> CallError:
    """Return the error for a success that is not an answer: the error in it, else that it has no proof."""
    error = _normalise(json_body)
    if isinstance(error, Mapping) and (error.get("error") or error.get("message") or error.get("code")):
        return classify_response(200, error, {})
    # Without an option of its own, the proof is the path of the results.
    option, beginning = "results" if shape.proof == shape.results else "proof", _shorten(body)
    return RetryableError(
        "server_error", f"the response has no {shape.proof!r} ({option}); it begins {beginning}"
    )


def _normalise(body: object) -> object:
    """Return `body` with its code and message under these names.

    Bing returns a list of errors, Exa its code as `tag`, Aliyun `errorCode` and `errorMessage`, Brave and
    Tavily the message as `detail`.
    """
    if not isinstance(body, Mapping):
        return body
    inner: Any = body.get("errors") or body.get("error") or body
    if isinstance(inner, list):
        inner = inner[0] if inner else body
    if not isinstance(inner, Mapping):
        inner = {"message": str(inner)}
    detail = inner.get("detail")
    if isinstance(detail, Mapping):
        detail = detail.get("error") or detail
    codes = (*(inner.get(name) for name in ("code", "subCode", "errorCode")), body.get("tag"))
    return {
        "code": " ".join(dict.fromkeys(str(code) for code in codes if code)),
        "message": inner.get("message") or inner.get("errorMessage") or inner.get("msg") or detail or "",
    }


@dataclass(frozen=True, slots=True, kw_only=True)
class ResponseShape:
    """Paths in an engine's JSON; a path is keys with dots between them.

    `results` leads to the list of results, which an answer without results may lack. `proof` is a path that
    every answer has, or `path=value` if it must have that value. `title` and the others are paths in a
    result; the first one that leads to a text counts. `unresponsive` leads to the engines that did not
    answer (searxng): without results on any page, it makes the answer an error.
    """

    results: str
    proof: str
    title: Sequence[str] = ("title",)
    url: Sequence[str] = ("url",)
    snippet: Sequence[str] = ("snippet",)
    date: Sequence[str] = ()
    unresponsive: str = ""


def parse_results(shape: ResponseShape, body: str, *, is_later_page: bool = False) -> list[dict[str, str]]:
    """Return the results in the answer `body`: rows with a snippet, a title, a url and sometimes a date.

    An item without text and address is not a result. `is_later_page` says that an earlier page of the answer
    has results. Raises CallError when `body` has another shape.
    """
    json_body = parse_json_body(body)
    path, sign, expected = shape.proof.partition("=")
    value = _follow(path, json_body)
    text = value if isinstance(value, str) else json.dumps(value)  # as the answer has it: `ok=true`
    if value is None or (sign and text != expected):
        raise _make_unusable_error(json_body, shape, body)
    results = _follow(shape.results, json_body)
    results = [] if results is None else results
    if not isinstance(results, list) or not all(isinstance(result, Mapping) for result in results):
        raise RetryableError("server_error", f"{shape.results!r} of the answer is no list of results")
    unresponsive = _follow(shape.unresponsive, json_body) if shape.unresponsive else None
    if unresponsive and not results and not is_later_page:
        raise RetryableError(
            "server_error",
            f"no engine answered: {cut_value(json.dumps(unresponsive, ensure_ascii=False), 200)}",
        )
    rows = [_make_row(shape, result) for result in results]
    if rows and not any(row["title"] or row["snippet"] for row in rows):
        raise _make_no_text_error(shape, results)
    return [row for row in rows if row["title"] or row["snippet"] or row["url"]]


def parse_json_body(body: str) -> Any:  # noqa: ANN401 - any JSON
    """Return the JSON in `body`, NaN and Infinity as null; raise RetryableError when it cannot be read."""
    try:
        json_body = json.loads(body, parse_constant=lambda _: None)
    except (ValueError, RecursionError):
        if not body.strip():
            raise RetryableError("server_error", "the answer is empty") from None
        raise RetryableError("server_error", f"the answer is not JSON: {_shorten(body)}") from None
    if _is_too_deep(json_body):
        raise RetryableError("server_error", f"the answer is nested more than {_MAX_NESTING} levels deep")
    return json_body


def _shorten(body: str) -> str:
    """Return the beginning of a response on one line."""
    return cut_value(" ".join(body.split()), _SHOWN_LENGTH)


def find_keys_without_results(shape: ResponseShape, body: str) -> tuple[str, ...] | None:
    """Return the paths of the keys where a response lacks the path of the results, None in another one.

    An answer without results may lack it; all answers of an engine do so when the path is wrong.
    """
    value, prefix = parse_json_body(body), ""
    for key in shape.results.split("."):
        if not isinstance(value, Mapping) or key not in value:
            keys = sorted(value) if isinstance(value, Mapping) else []
            return tuple(f"{prefix}{name}" for name in keys[:_MAX_LISTED_FIELDS])
        value, prefix = value[key], f"{prefix}{key}."
    return None


def _is_too_deep(value: object) -> bool:
    """Return whether lists and objects are nested more than `_MAX_NESTING` levels deep."""
    level: list[Any] = [[value]]
    for _ in range(_MAX_NESTING + 1):
        inner = [part for item in level for part in (item.values() if isinstance(item, dict) else item)]
        level = [part for part in inner if isinstance(part, list | dict)]
    return bool(level)


def _make_no_text_error(shape: ResponseShape, results: Sequence[JsonBody]) -> RequestRejected:
    """Return the error for results without any text; a retry would return the same."""
    fields = sorted({name for result in results for name in result})[:_MAX_LISTED_FIELDS]
    return RequestRejected(
        "unreadable",
        Message(
            "none of {count} results has a title (looked for in {title}) or a snippet ({snippet}); their"
            " fields are {fields}",
            count=len(results),
            title=SeparatedNames(map(repr, shape.title)),
            snippet=SeparatedNames(map(repr, shape.snippet)),
            fields=SeparatedNames(cut_value(repr(name), 40) for name in fields) or Message("none"),
        ),
    )


def _follow(path: str, value: object) -> Any:  # noqa: ANN401 - any JSON
    """Return the value that `path` leads to, None if there is none; the empty path leads to the whole."""
    for key in filter(None, path.split(".")):
        value = value.get(key) if isinstance(value, Mapping) else None
    return value


def _make_row(shape: ResponseShape, result: JsonBody) -> dict[str, str]:
    row = {}
    for name in ("title", "url", "snippet", "date"):
        texts = (_join_text(_follow(path, result)) for path in getattr(shape, name))
        row[name] = next(filter(None, texts), "")
    if not row["date"]:
        del row["date"]
    return row


def _join_text(value: object) -> str:
    parts = value if isinstance(value, list) else [value]
    simple = (part for part in parts if isinstance(part, str | int | float) and not isinstance(part, bool))
    return _SEPARATOR.join(filter(None, map(str, simple)))
