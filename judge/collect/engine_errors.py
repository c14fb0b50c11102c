"""Error mapping of engines: from the status and body of a response to one `CallError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.errors import AccountError, CallError, RequestRejected, RetryableError
from judge.models.endpoint import public_part
from judge.models.error_mapping import ErrorResponse, ErrorRule, read_retry_after, shorten
from judge.models.redaction import mask

#: The first row that fits decides: codes and messages come before statuses.
RULES = (
    # Alibaba Cloud calls some short throttling a quota: Throttling.AllocationQuota.
    ErrorRule("rate_limit", RetryableError, code=r"throttling"),
    # 432 and 433 are Tavily's; SerpApi uses 429, Serper 400, Bocha and Bing 403.
    ErrorRule(
        "quota",
        AccountError,
        statuses=frozenset({402, 432, 433}),
        code=r"arrear|no_more_credits|budget_exceeded|quota|periodexpired|perdayexceeded",
        says=r"run out of searches|(?:not|n't) (?:have )?enough (?:credits|money)"
        r"|insufficient.{0,20}(?:balance|credit)|usage limit|out of call volume quota|余额不足",
        hint="check the account's plan and balance",
    ),
    ErrorRule(
        "rate_limit",
        RetryableError,
        statuses=frozenset({429}),
        code=r"rate_?limit|too_?many_?requests",
    ),
    # Brave refuses a key with 422, and a missing one as an invalid header.
    ErrorRule(
        "auth",
        AccountError,
        statuses=frozenset({401, 403}),
        code=r"token_invalid|invalid_?api_?key|unauthorized|authorizationmissing|notauthori[sz]ed|notactivate"
        r"|invalidaccesskeyid|access_?denied",
        says=r"invalid api.?key|subscription[- ]token",
        hint="check the key and its permissions",
    ),
    ErrorRule("server_error", RetryableError, statuses=frozenset({408, 409, 425, *range(500, 600)})),
    ErrorRule(
        "not_found",
        AccountError,
        statuses=frozenset({404, 405, 410, *range(300, 400)}),
        hint="check the engine's address, see --base-url",
    ),
    # A success that holds an unknown error.
    ErrorRule("server_error", RetryableError, statuses=frozenset(range(200, 300))),
)
_BAD_REQUEST = ErrorRule("bad_request", RequestRejected)
#: Kinds of errors that may concern every request.
_ERRORS_OF_ENGINE = frozenset({"auth", "rate_limit"})


def classify_response(
    status: int, body: object, headers: Mapping[str, str], *secrets: str, hint: str = ""
) -> CallError:
    """Return the error that a response means, without `secrets` in its message.

    `body` is the parsed JSON, or the text if it is no JSON. `hint` says what to check when this engine
    refuses every request, `""` if it is the key.
    """
    response = ErrorResponse.of(status, _normalise(body), headers)
    rule = next((rule for rule in RULES if rule.fits(response)), _BAD_REQUEST)
    message = _redirect_message(response) or response.message.strip().removeprefix(f"{status}: ")
    detail = shorten(mask(message, *secrets)) or "no message"
    code = f" {mask(response.code, *secrets)}" if response.code else ""
    hint = (hint if rule.kind in _ERRORS_OF_ENGINE else "") or rule.hint
    hint = f" ({hint})" if hint else ""
    wait = read_retry_after(headers) if rule.error is RetryableError else None
    return rule.error(rule.kind, f"HTTP {response.status}{code}: {detail}{hint}", retry_after=wait)


def _redirect_message(response: ErrorResponse) -> str:
    """Return the target of a redirect, without parts that may be secret; `""` if it is no redirect."""
    location = next((text for name, text in response.headers.items() if name.lower() == "location"), "")
    if not location or not 300 <= response.status < 400:
        return ""
    try:
        return f"it redirects to {public_part(location)}"
    except ValueError:
        return ""


def unusable_answer(answer: object, why: str) -> CallError:
    """Return the error for a success that is no answer: the error in it, else `why`."""
    error = _normalise(answer)
    if isinstance(error, Mapping) and (error.get("error") or error.get("message") or error.get("code")):
        return classify_response(200, error, {})
    return RetryableError("server_error", f"the answer is none of this engine's: {why}")


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
    codes = (
        *(inner.get(name) for name in ("code", "subCode", "errorCode")),
        body.get("tag"),
    )
    return {
        "code": " ".join(dict.fromkeys(str(code) for code in codes if code)),
        "message": inner.get("message") or inner.get("errorMessage") or inner.get("msg") or detail or "",
    }
