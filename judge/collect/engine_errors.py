"""Owns what a failed search means: from an engine's status and words to one `CallError`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from judge.errors import AccountError, CallError, RequestRejected, RetryableError
from judge.models.endpoint import public_part
from judge.models.error_mapping import ErrorResponse, ErrorRule, retry_after, shorten
from judge.models.redaction import mask

#: The first row that fits decides: what an engine says outranks the status that it says it with.
RULES = (
    # Alibaba Cloud calls some of what passes in a moment a quota: Throttling.AllocationQuota.
    ErrorRule("rate_limit", RetryableError, code=r"throttling"),
    # 432 and 433 are Tavily's own; SerpApi says it with 429, Serper with 400, Bocha and Bing with 403.
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
    # Brave refuses a key with 422, and a missing one as a header that is not valid.
    ErrorRule(
        "auth",
        AccountError,
        statuses=frozenset({401, 403}),
        code=r"token_invalid|invalid_?api_?key|unauthorized|authorizationmissing|notauthori[sz]ed|notactivate"
        r"|invalidaccesskeyid|access_?denied",
        says=r"invalid api.?key|subscription[- ]token",
        hint="check the key and what it may ask for",
    ),
    ErrorRule("server_error", RetryableError, statuses=frozenset({408, 409, 425, *range(500, 600)})),
    ErrorRule(
        "not_found",
        AccountError,
        statuses=frozenset({404, 405, 410, *range(300, 400)}),
        hint="check the engine's address, see --base-url",
    ),
    # A success that holds an error nobody has a word for.
    ErrorRule("server_error", RetryableError, statuses=frozenset(range(200, 300))),
)
_BAD_REQUEST = ErrorRule("bad_request", RequestRejected)
#: Kinds of turning everybody away.
_AWAY = frozenset({"auth", "rate_limit"})


def classify(
    status: int, body: object, headers: Mapping[str, str], *secrets: str, hint: str = ""
) -> CallError:
    """The error that a response amounts to, with none of `secrets` in its words.

    `body` is the parsed JSON, or the text when it is none. `hint` is what to look at when this engine
    turns everybody away, `""` where it is the key.
    """
    fault = ErrorResponse.of(status, _plain(body), headers)
    rule = next((rule for rule in RULES if rule.fits(fault)), _BAD_REQUEST)
    message = _redirected(fault) or fault.message.strip().removeprefix(f"{status}: ")
    said = shorten(mask(message, *secrets)) or "no message"
    code = f" {mask(fault.code, *secrets)}" if fault.code else ""
    hint = (hint if rule.kind in _AWAY else "") or rule.hint
    hint = f" ({hint})" if hint else ""
    wait = retry_after(headers) if rule.error is RetryableError else None
    return rule.error(rule.kind, f"HTTP {fault.status}{code}: {said}{hint}", retry_after=wait)


def _redirected(fault: ErrorResponse) -> str:
    """Where the engine sends us instead, without what may be a secret; `""` where it sends us nowhere."""
    location = next((text for name, text in fault.headers.items() if name.lower() == "location"), "")
    if not location or not 300 <= fault.status < 400:
        return ""
    try:
        return f"it redirects to {public_part(location)}"
    except ValueError:
        return ""


def unusable(answer: object, why: str) -> CallError:
    """The error for a success that is no answer: what it says of itself, else `why`."""
    said = _plain(answer)
    if isinstance(said, Mapping) and (said.get("error") or said.get("message") or said.get("code")):
        return classify(200, said, {})
    return RetryableError("server_error", f"the answer is none of this engine's: {why}")


def _plain(body: object) -> object:
    """`body` with code and message where they are looked for.

    Bing gives a list of errors, Exa its code as `tag`, Aliyun `errorCode` and `errorMessage`, Brave and
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
