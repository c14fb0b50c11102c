"""Owns what a failed call means: from any provider's status, code and words to one `CallError`."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from math import isfinite

from judge.errors import AccountError, CallError, NoResponse, RequestRejected, RetryableError, TimedOut
from judge.models.endpoint import is_dashscope
from judge.models.redaction import mask

DETAIL_LENGTH = 300
#: Characters of a code or a message that `RULES` look at: a server may send a page of any length.
_LOOK_AT = 5000

#: The parameters that judge itself sends; naming one of them in a refusal is about us, not about a pair.
PARAMETERS = (
    r"(?:temperature|top_p|seed|max_tokens|max_completion_tokens|enable_thinking|thinking|reasoning_effort"
    r"|chat_template\w*|response_format|json_schema|json_object|result_format|stream)"
)
REFUSING = (
    r"(?:un(?:known|supported|recogni[sz]ed|expected|available)|invalid|not (?:supported|permitted|allowed)"
    r"|(?:does not|doesn't|only) support|extra inputs|extra_forbidden"
    r"|must be|should be|range of|please enable)"
)


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """A failed call in the server's own words; `param` is the parameter that the server blames."""

    status: int
    code: str = ""
    message: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def of(cls, status: int, body: object, headers: Mapping[str, str]) -> ErrorResponse:
        """The fault that a response tells of, in any of the shapes that servers use.

        `body` is the parsed JSON, or the text when it is none. A status inside the body counts when
        the response itself claims success.
        """
        body = body[0] if isinstance(body, list) and len(body) == 1 else body  # as Gemini has it
        whole = body if isinstance(body, Mapping) else {"message": _words(body)}
        error = whole.get("error") or whole
        if not isinstance(error, Mapping):
            error = {"message": str(error)}
        inner = error.get("innererror")
        codes = [
            error.get("code") or error.get("error_code"),
            error.get("type"),
            inner.get("code") if isinstance(inner, Mapping) else None,
            *re.findall(r'"quotaId": "([\w-]+)"', json.dumps(error.get("details"))),
        ]
        if status < 400:
            status = next(filter(None, map(_status, (whole.get("status_code"), *codes))), status)
        named = (error.get(name) for name in ("message", "msg", "error_msg", "detail"))
        message = next(filter(None, named), "")
        return cls(
            status,
            code=" ".join(dict.fromkeys(str(code) for code in codes if code)),
            message=message if isinstance(message, str) else json.dumps(message, ensure_ascii=False),
            param=str(error.get("param") or ""),
            headers=headers,
        )


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """One row of the table: a fault with one of `statuses`, or that says so, is of this `kind`.

    `code` is searched in the server's code, `says` in its code and message, both regular expressions
    without regard to case; where `among` is given, for faults with one of these statuses alone: in others
    a server may repeat the prompt. `hint` tells the person at the terminal what to do.
    """

    kind: str
    error: type[CallError]
    statuses: frozenset[int] = frozenset()
    code: str = ""
    says: str = ""
    hint: str = ""
    among: frozenset[int] = frozenset()

    def fits(self, fault: ErrorResponse) -> bool:
        """Whether `fault` is of this kind."""
        if self.among and fault.status not in self.among:
            return False
        code, message = fault.code[:_LOOK_AT], fault.message[:_LOOK_AT]
        return (
            fault.status in self.statuses
            or (bool(self.code) and re.search(self.code, code, re.I) is not None)
            or (bool(self.says) and re.search(self.says, f"{code} {message}", re.I) is not None)
        )


#: A limit that waiting does not lift in a run's time.
A_DAY = r"(?:per[ _-]?day|\b[RT]PD\b|daily)"
#: How providers say that an account has nothing left, or none for today.
USED_UP = (
    rf"{A_DAY}|usage limit|total request limit|monthly quota|plan and billing|balance is insufficient"
    r"|account\b.{0,60}\b(?:suspended|locked|deactivated|in arrears)"
    r"|欠费|余额(?:不足|已用完)|额度(?:不足|已用)|使用上限|今日.{0,10}限额|每日.{0,10}限额|套餐已到期|账户.{0,8}(?:锁定|非活动)"
)
ACCOUNT = "check the account's plan, balance and daily limits"
#: The first row that fits decides: what a server says outranks the status that it says it with.
RULES = (
    ErrorRule(
        "content_filter",
        RequestRejected,
        says=r"content_?filter|data_?inspection|responsibleai|content management policy|inappropriate content"
        r"|flagged (?:by|as|for)|risk control|sensitive (?:content|words)|censor|敏感内容",
    ),
    # Some say "check your plan" of tokens a minute, too.
    ErrorRule(
        "rate_limit",
        RetryableError,
        among=frozenset({429}),
        says=rf"(?s)^(?!.*{A_DAY}).*(?:per[ _-]?(?:minute|second)|\b[RT]PM\b|\bQPS\b)",
    ),
    ErrorRule(
        "quota",
        AccountError,
        statuses=frozenset({402}),
        code=r"insufficient_(?:user_)?quota|exceeded_current_quota|insufficient_balance|arrearage|billing|freetieronly",
        says=r"exceeded your current quota|overdue|insufficient.{0,20}balance|credit balance"
        r"|(?:free|hour|week|month) allocated quota|free tier",
        hint=ACCOUNT,
    ),
    ErrorRule(
        "quota", AccountError, among=frozenset({*range(200, 300), 403, 429}), says=USED_UP, hint=ACCOUNT
    ),
    ErrorRule(
        "rate_limit",
        RetryableError,
        statuses=frozenset({429}),
        code=r"throttling|rate_?limit|limit_requests|limit_burst|too_?many_?requests",
    ),
    ErrorRule(
        "too_long",
        RequestRejected,
        statuses=frozenset({413}),
        code=r"context_length_exceeded|string_above_max_length|toolarge",
        says=r"maximum context|context (?:length|window)|range of input length"
        r"|(?:prompt|input)[^.]{0,20} too long",
    ),
    ErrorRule(
        "model_not_found",
        AccountError,
        statuses=frozenset({405, 410}),
        code=r"model_?not_?(?:found|exist|supported)|model\.notexist",
        says=r"model.{0,80} (?:does not|doesn't|not) exist|model.{0,80} not found|url error|模型不存在",
        hint="check the model's name and --base-url",
    ),
    ErrorRule(
        "auth",
        AccountError,
        statuses=frozenset({401, 403}),
        code=r"invalid_?api_?key|access_?denied|authentication|unauthorized|permission",
        says=r"incorrect api key|invalid api.?key|api.?key (?:not valid|is invalid)"
        r"|access token (?:invalid|expired)",
        hint="check the key and that it may use this model at this address",
    ),
    ErrorRule(
        "auth",
        AccountError,
        statuses=frozenset({407}),
        hint="the proxy asks for a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST; check it",
    ),
    ErrorRule(
        "auth",
        AccountError,
        statuses=frozenset({511}),
        hint="this network asks to log in first: open any page in a browser, then run again",
    ),
    ErrorRule(
        "bad_parameter",
        AccountError,
        among=frozenset({400, 497}),
        says=r"plain HTTP.{0,20} HTTPS|HTTP request to an HTTPS server|plain HTTP to an SSL",
        hint="this port speaks TLS: write https:// in --base-url",
    ),
    # With a code it is a provider who speaks of one pair; without, whoever stands before the server.
    ErrorRule(
        "auth",
        AccountError,
        among=frozenset({451}),
        code="^$",
        hint="this address is closed to you; check --base-url and the network",
    ),
    ErrorRule(
        "server_error",
        RetryableError,
        statuses=frozenset({408, 409, 425, *range(500, 600)}),
        code=r"^internal_?error(?!\.algo\.invalid)|overloaded|service_?unavailable|server_error|requesttimeout",
    ),
    ErrorRule(
        "bad_parameter",
        AccountError,
        says=r"enable_thinking must be",
        hint="this model thinks unless told not to: use dashscope:NAME, which tells it, or another model",
    ),
    ErrorRule(
        "bad_parameter",
        AccountError,
        says=rf"{REFUSING}.{{0,80}}\b{PARAMETERS}\b|\b{PARAMETERS}\b.{{0,80}}{REFUSING}|support http call",
        hint="change that parameter, or use another model",
    ),
    ErrorRule(
        "model_not_found",
        AccountError,
        statuses=frozenset({404}),
        hint="check the model's name and --base-url",
    ),
    ErrorRule(
        "bad_parameter",
        AccountError,
        statuses=frozenset(range(300, 400)),
        hint="check --base-url: it redirects",
    ),
    # A success that holds an error nobody has a word for: the gateway's fault, not the pair's.
    ErrorRule("server_error", RetryableError, statuses=frozenset(range(200, 300))),
)
BAD_REQUEST = ErrorRule("bad_request", RequestRejected)


def classify(fault: ErrorResponse, *secrets: str, endpoint: str = "") -> CallError:
    """The error that `fault` of the server at `endpoint` amounts to, with none of `secrets` in its words.

    Kinds and classes are the rows of `RULES`; a fault that fits none is a `Declined` bad_request.
    """
    if is_dashscope(endpoint) and "insufficient_quota" in fault.code:
        # Its compatible mode says OpenAI's word for an empty account when it means tokens a minute.
        fault = replace(fault, code="Throttling.AllocationQuota", message="too many tokens a minute")
    rule = next((rule for rule in RULES if rule.fits(fault)), BAD_REQUEST)
    said = shorten(mask(fault.message, *secrets)) or "no message"
    code = f" {mask(fault.code, *secrets)}" if fault.code else ""
    hint = f" ({rule.hint})" if rule.hint else ""
    wait = retry_after(fault.headers) if rule.error is RetryableError else None
    return rule.error(rule.kind, f"HTTP {fault.status}{code}: {said}{hint}", retry_after=wait)


def transport(detail: str, *secrets: str) -> NoResponse:
    """Return the error for a response that did not arrive whole; the call may be billed."""
    return NoResponse("transport", shorten(mask(detail, *secrets)))


def timed_out(seconds: float) -> TimedOut:
    """Return the error for a call without a response within `seconds`; it may be billed."""
    return TimedOut("transport", f"no answer within {seconds:g} s", billed=True)


def retry_after(headers: Mapping[str, str]) -> float | None:
    """Seconds to wait as the server asks, None when it doesn't or when it can't be read.

    Reads `retry-after-ms`, then `retry-after` as seconds or as an HTTP date (RFC 9110, 10.2.3), which
    is taken by the server's own clock. However far away, it is returned: capping is the caller's.
    """
    named = {name.lower(): value for name, value in headers.items()}
    milliseconds = _number(named.get("retry-after-ms"))
    if milliseconds is not None:
        return milliseconds / 1000
    value = named.get("retry-after")
    seconds = _number(value)
    if seconds is not None or value is None:
        return seconds
    moment = _date(value)
    now = _date(named.get("date", "")) or datetime.now(UTC)
    return None if moment is None else max(0.0, (moment - now).total_seconds())


def shorten(text: str) -> str:
    """`text` in one line of at most `DETAIL_LENGTH` characters."""
    line = " ".join(text.split())
    return line if len(line) <= DETAIL_LENGTH else f"{line[: DETAIL_LENGTH - 1]}…"


def _words(body: object) -> str:
    text = body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")
    # Only up to the next bracket, so that many of them take linear time together.
    return re.sub(r"<[^<>]*>", " ", text) if text.lstrip().startswith("<") else text


def _status(value: object) -> int | None:
    number = _number(str(value))
    return int(number) if number is not None and 400 <= number < 600 else None


def _number(text: str | None) -> float | None:
    try:
        number = float(text or "")
    except ValueError:
        return None
    return number if isfinite(number) and number >= 0 else None


def _date(text: str) -> datetime | None:
    try:
        moment = parsedate_to_datetime(text)
    except (ValueError, OverflowError):  # the latter for an offset of years
        return None
    return moment if moment.tzinfo else moment.replace(tzinfo=UTC)
