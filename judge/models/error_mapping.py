"""Error mapping: from a server's status, code and message, or a broken connection, to a `CallError`."""

from __future__ import annotations

import json
import re
import socket
import ssl
from collections.abc import Collection, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from judge.errors import (
    AccountError,
    CallError,
    ConnectionFailed,
    GatewayTimedOut,
    NoResponse,
    Overloaded,
    RequestRejected,
    RetryableError,
    TimedOut,
    explain_error,
    iterate_causes,
)
from judge.messages import Message
from judge.models.http_responses import parse_number, read_retry_after, read_wait
from judge.models.redaction import mask
from judge.models.server import find_proxy, find_proxy_secrets, is_dashscope, redact_url

#: Maximum number of characters of a message from a server.
DETAIL_LENGTH = 300
#: TLS errors before the request is sent: an untrusted certificate, a server without TLS.
_HANDSHAKE_ERRORS = frozenset({"CERTIFICATE_VERIFY_FAILED", "WRONG_VERSION_NUMBER", "HTTP_REQUEST"})
#: OpenSSL's codes of a certificate that no known authority has signed.
_UNKNOWN_ISSUER = range(18, 22)
#: Maximum number of characters of a code or a message that `ERROR_RULES` read.
_MAX_READ = 5000
#: The type of most errors of OpenAI and of servers like it: its "invalid" is about no parameter.
_ANY_REFUSAL = "invalid_request_error"

#: The object of JSON in a response, or one in it.
JsonBody = Mapping[str, Any]
#: The parameters that judge sends; a refusal that names one concerns every request, not one pair.
_PARAMETERS = (
    r"(?:temperature|top_p|seed|max_tokens|max_completion_tokens|enable_thinking|thinking|reasoning_effort"
    r"|chat_template\w*|response_format|json_schema|json_object|result_format|stream|(?:top_)?logprobs)"
)
_REFUSED = (
    r"(?:un(?:known|supported|recogni[sz]ed|expected|available)|invalid|not (?:supported|permitted|allowed)"
    r"|(?:do(?:es)? not|do(?:es)?n't|only) support|extra inputs|extra_forbidden|cannot both"
    r"|must (?:be|have)|should be|range of|too large|maximum allowed|please enable)"
)


def find_error(body: JsonBody) -> object:
    """Return what holds the error in the JSON of a response, a false value if nothing does.

    A gateway may put the error of a provider into the first choice. Without an answer, the whole body may be
    the error.
    """
    if error := body.get("error"):
        return error
    if choices := body.get("choices"):
        first = choices[0] if isinstance(choices, list) else None
        return first.get("error") if isinstance(first, Mapping) else None
    if body.get("output"):
        return None
    state, errors = body.get("base_resp"), body.get("errors")  # of MiniMax, of Cloudflare
    if isinstance(state, Mapping) and state.get("status_code"):
        return state
    if isinstance(errors, list) and errors:
        return errors[0]
    if isinstance(errors, Mapping) and errors.get("message"):  # of ModelScope; those of a batch are a list
        return errors
    return body if body.get("code") or body.get("error_code") else None


@dataclass(frozen=True, slots=True)
class ErrorResponse:
    """The error in a server's response; `param` is the parameter that the server names."""

    status: int
    code: str = ""
    message: str = ""
    param: str = ""
    headers: Mapping[str, str] = field(default_factory=dict)

    @classmethod
    def from_response(cls, status: int, body: object, headers: Mapping[str, str]) -> ErrorResponse:
        """Return the error of a response, in any of the forms that servers use.

        `body` is the parsed JSON, or the text if it is not JSON. A status inside the body counts when the
        response itself claims success.
        """
        body = body[0] if isinstance(body, list) and len(body) == 1 else body  # Gemini's form
        whole = body if isinstance(body, Mapping) else {"message": _extract_plain_text(body)}
        error = find_error(whole) or whole
        if not isinstance(error, Mapping):
            error = {**whole, "message": str(error)}
        inner = error.get("innererror")
        codes = [
            error.get("code") or error.get("error_code") or error.get("status_code"),
            error.get("type") or error.get("error_type"),
            inner.get("code") if isinstance(inner, Mapping) else None,
            *re.findall(r'"quotaId": "([\w-]+)"', json.dumps(error.get("details"))),
        ]
        if status < 400:
            status = next(filter(None, map(_read_status, (whole.get("status_code"), *codes))), status)
        messages = (error.get(name) for name in ("message", "msg", "error_msg", "status_msg", "detail"))
        message = next(filter(None, messages), "")
        metadata = error.get("metadata")
        if isinstance(metadata, Mapping) and isinstance(metadata.get("raw"), str):
            message = f"{message}: {metadata['raw']}"  # OpenRouter passes on what the provider said
        return cls(
            status,
            code=" ".join(dict.fromkeys(str(code) for code in codes if code)),
            message=message if isinstance(message, str) else json.dumps(message, ensure_ascii=False),
            param=str(error.get("param") or ""),
            headers=headers,
        )


#: What each kind of error of a response means: try again, give up this pair, or give up all of them.
_ERRORS: Mapping[str, type[CallError]] = {
    **dict.fromkeys(("rate_limit", "server_error"), RetryableError),
    **dict.fromkeys(("content_filter", "too_long", "bad_request"), RequestRejected),
    **dict.fromkeys(("auth", "quota", "model_not_found", "bad_parameter", "not_found"), AccountError),
}


@dataclass(frozen=True, slots=True)
class ErrorRule:
    """One row of the table: a response with one of `statuses`, or a matching text, is of this `kind`.

    `code` is searched in the server's code, `says` in its code and message; both are regular expressions
    without regard to case. `only_statuses` limits the row to these, since with others a server may repeat the
    prompt. `hint` says what the user can do.
    """

    kind: str
    statuses: Collection[int] = ()
    code: str = ""
    says: str = ""
    hint: str = ""
    only_statuses: Collection[int] = ()

    def fits(self, response: ErrorResponse) -> bool:
        """Return whether `response` is of this kind."""
        if self.only_statuses and response.status not in self.only_statuses:
            return False
        code, message = response.code[:_MAX_READ], response.message[:_MAX_READ]
        return bool(
            response.status in self.statuses
            or (self.code and re.search(self.code, code, re.I))
            or (self.says and re.search(self.says, f"{code.replace(_ANY_REFUSAL, '')} {message}", re.I))
        )

    def make_error(self, response: ErrorResponse, *secrets: str, hint: str = "") -> CallError:
        """Return the error of `response`, without `secrets`; `hint` replaces that of the rule."""
        detail = shorten(mask(response.message, *secrets))
        code = f" {mask(response.code, *secrets)}" if response.code else ""
        text = f"HTTP {response.status}{code}: {detail}"
        if not detail:
            text = Message("HTTP {status:d}{code}: no message", status=response.status, code=code)
        if advice := hint or self.hint:
            text = Message("{name} ({text})", name=text, text=advice)
        error = _ERRORS[self.kind]
        if self.kind == "server_error":
            error = _ERRORS_BY_STATUS.get(response.status, error)
        wait = read_retry_after(response.headers) if issubclass(error, RetryableError) else None
        if wait is None and self.kind == "rate_limit":
            wait = read_wait(response.message[:_MAX_READ])
        return error(self.kind, text, retry_after=wait)


#: Servers without a free slot send 503, Anthropic sends 529. The others are timeouts, 524 of Cloudflare.
_ERRORS_BY_STATUS: Mapping[int, type[CallError]] = {
    **dict.fromkeys((503, 529), Overloaded),
    **dict.fromkeys((408, 504, 524), GatewayTimedOut),
}
#: A limit per day or longer, which outlasts a run.
_A_DAY = r"(?:(?:per|by|/)[ _-]?(?:day|week|month)|\b[RT]PD\b|daily)"
#: Messages of providers about an account without credit, or without credit for today.
_USED_UP = (
    rf"{_A_DAY}|usage limit|total request limit|monthly quota|plan and billing|balance is insufficient"
    r"|spending (?:limit|cap)|inference limit|free trial quota|(?:out of|any|available) credits"
    r"|prepayment credits|not enough balance|call volume quota|exceeded ?budget"
    r"|account\b.{0,60}\b(?:suspended|locked|deactivated|in arrears)"
    r"|欠费|余额(?:不足|已用完)|额度(?:不足|已用)|使用上限|今日.{0,10}限额|每日.{0,10}限额|套餐(?:已到期|暂未开放)|账户.{0,8}(?:锁定|非活动)"
)
_ACCOUNT = Message("check the account's plan, balance and daily limits")
_LOWER = Message("the model does not allow so many tokens in a reply: lower --max-tokens")
#: The first row that fits decides: codes and messages come before statuses.
ERROR_RULES = (
    ErrorRule(
        "content_filter",
        says=r"content[ _]?filter|data_?inspection|responsibleai|content management policy"
        r"|inappropriate content|flagged (?:by|as|for)|input was flagged|risk control|censor"
        r"|审核(?:不|未)通过|敏感(?:内容|信息)"
        r"|sensitive[ _]?(?:content|words|information)|content exists risk|content_?policy|new_sensitive"
        r"|rejected[^.]{0,30} safety system|violates[^.]{0,20} (?:usage|content) (?:guidelines|polic)",
        code=r"rule_?blocked|_unsafe",
    ),
    # Before rate_limit: a request of more tokens than a minute allows never fits.
    ErrorRule("too_long", statuses={413}, says="request too large"),
    # Some servers say "check your plan" about tokens per minute, too.
    ErrorRule(
        "rate_limit",
        only_statuses={429},
        says=rf"(?s)^(?!.*{_A_DAY}).*(?:per[ _-]?(?:minute|second)|\b[RT]PM\b|\bQPS\b)",
    ),
    ErrorRule(
        "quota",
        statuses={402},
        code=r"insufficient_(?:user_)?quota|exceeded_current_quota|insufficient_balance|arrearage|billing|freetieronly"
        r"|commodity_?not_?purchased|budget_?exceeded|token_quota_failed",
        says=r"exceeded your current quota|overdue|insufficient.{0,20}balance|credit balance"
        r"|(?:free|hour|week|month) allocated quota|free tier|specified API usage limit"
        r"|资源包余量已用尽",
        hint=_ACCOUNT,
    ),
    ErrorRule("quota", only_statuses={*range(200, 300), 403, 412, 429}, says=_USED_UP, hint=_ACCOUNT),
    ErrorRule(
        "rate_limit",
        statuses={429},
        code=r"throttling|rate_?limit|limit_requests|limit_burst|too_?many_?requests",
        says=r"^\S* rate limit$",
    ),
    ErrorRule(
        "bad_parameter",
        says=r"\bmax_tokens\W{1,3}must be less|cannot be greater than max_model_len",
        hint=_LOWER,
    ),
    ErrorRule(
        "too_long",
        code=r"context_length_exceeded|string_above_max_length|toolarge|tokens_too_long",
        says=r"maximum (?:context|(?:prompt|model) length)|context[ _](?:length|window|size)"
        r"|range of input length|model token limit|sum of prompt length"
        r"|(?:prompt|input)[^.]{0,20} too long|input token count[^.]{0,20} exceeds|prompt 超长"
        r"|max message tokens|max_tokens must be at least 1, got -"
        r"|\b(?:prompt_tokens|max_new_tokens|inputs)\b.{0,20} must",
    ),
    ErrorRule(
        "model_not_found",
        statuses={405, 410},
        code=r"model_?not_?(?:found|exist|supported)|model\.notexist|(?:invalid|unknown)_model"
        r"|model_decommissioned",
        says=r"model.{0,80} (?:does not|doesn't|not) exist|model.{0,80} not found|url error|模型不存在"
        r"|model.{0,80} no longer available|(?:unknown|invalid) model (?:name|')|no such model"
        r"|not a valid model id|no models loaded|unexpected endpoint|^\S* 404 not_?found",
        hint=Message("check the model's name and --base-url"),
    ),
    ErrorRule(
        "auth",
        statuses={401, 403},
        code=r"invalid_?api_?key|access_?denied|authentication|unauthorized|permission|organization_restricted",
        says=r"incorrect api key|invalid api.?key|api.?key (?:not valid|is invalid)"
        r"|access token (?:invalid|expired)|login fail|location is not supported",
        hint=Message(
            "check the variable with the key, such as OPENAI_API_KEY or DASHSCOPE_API_KEY, and that the key"
            " may use this model at this address"
        ),
    ),
    ErrorRule(
        "auth",
        statuses={407},
        hint=Message(
            "the proxy asks for a user and a password: HTTPS_PROXY=http://USER:PASSWORD@HOST; check it"
        ),
    ),
    ErrorRule(
        "bad_parameter",
        only_statuses={400, 497},
        says=r"plain HTTP.{0,20} HTTPS|HTTP request to an HTTPS server|plain HTTP to an SSL",
        hint=Message("this port speaks TLS: write https:// in --base-url"),
    ),
    # With a code, a provider means one pair; without one, a gateway before the server means every request.
    ErrorRule(
        "auth",
        only_statuses={451, 511},
        code="^$",
        hint=Message("this address is closed to you; check --base-url, and log in to the network"),
    ),
    ErrorRule(
        "server_error",
        statuses={408, 409, 424, 425, 498, *range(500, 600)},
        code=r"^internal_?error(?!\.algo\.invalid)|overloaded|service_?unavailable|server_error|requesttimeout",
        says=r"model (?:has |is )?(?:crashed|unloaded)",
    ),
    ErrorRule(
        "bad_parameter",
        says=r"enable_thinking (?:must be|parameter is restricted to)"
        r"|(?:does not|doesn't) support (?:thinking|reasoning)\b",
        hint=Message("add --thinking if the model always thinks, else omit it, or use another model"),
    ),
    ErrorRule(
        "bad_parameter",
        says=rf"{_REFUSED}.{{0,80}}\b{_PARAMETERS}\b|\b{_PARAMETERS}\b.{{0,80}}{_REFUSED}|support http call"
        r"|system role not supported|developer instruction is not enabled|conversation roles must alternate",
        hint=Message("change that parameter, or use another model"),
    ),
    ErrorRule(
        "model_not_found",
        statuses={404},
        hint=Message(
            "check the model's name, and --base-url: it ends before /chat/completions or /rerank, mostly with"
            " /v1"
        ),
    ),
    ErrorRule("bad_parameter", statuses=range(300, 400), hint=Message("check --base-url: it redirects")),
    # A success that holds an unknown error: a problem of the gateway, not of the pair.
    ErrorRule("server_error", statuses=range(200, 300)),
)
BAD_REQUEST = ErrorRule("bad_request")
#: A prompt does not fit because the context of the model is not larger than the reply alone.
REPLY_TOO_LONG = ErrorRule("bad_parameter", hint=_LOWER)
_CONTEXT = re.compile(r"context length (?:is|of) (\d{1,9})")
_REPLY = re.compile(
    r"too large: (\d{1,9})|(\d{1,9}) (?:in the completion|tokens for the completion|output tokens)"
)


def classify(response: ErrorResponse, *secrets: str, endpoint: str = "") -> CallError:
    """Return the error that a response of the server at `endpoint` means, without `secrets` in its message.

    The first row of `ERROR_RULES` that fits decides. Where no prompt fits beside the reply, it is no error of
    one pair.
    """
    says_current_quota = "exceeded your current quota" in response.message.lower()
    is_throttled = says_current_quota and response.code.lower() == "throttling.allocationquota"
    if is_throttled or (is_dashscope(endpoint) and "insufficient_quota" in response.code):
        # DashScope uses OpenAI's words, and in its compatible mode the code, of an empty account for tokens
        # per minute.
        response = replace(response, code="Throttling.AllocationQuota", message="too many tokens a minute")
    rule = next((rule for rule in ERROR_RULES if rule.fits(response)), BAD_REQUEST)
    if rule.kind == "too_long":
        message = response.message[:_MAX_READ]
        context, reply = _CONTEXT.search(message), _REPLY.search(message)
        if context and reply and int(reply[1] or reply[2]) >= int(context[1]):
            rule = REPLY_TOO_LONG
    return rule.make_error(response, *secrets)


def make_transport_error(detail: str, *secrets: str) -> NoResponse:
    """Return the error for a response that did not arrive whole; the call may be billed."""
    return NoResponse(shorten(mask(detail, *secrets)))


def make_encoding_error(error: UnicodeEncodeError) -> RequestRejected:
    """Return the error for a prompt that holds half of a surrogate pair."""
    return RequestRejected("bad_request", f"the prompt cannot be sent as UTF-8: {error.reason}")


def make_timeout_error(seconds: float) -> TimedOut:
    """Return the error for a call without a response within `seconds`; it may be billed."""
    return TimedOut(f"no answer within {seconds:g} s")


def make_connection_error(
    error: BaseException, url: str, *secrets: str, never_sent: bool = False
) -> RetryableError:
    """Return the error for a call to `url` that `error` ended before an answer arrived.

    A model whose address is unknown has its name as `url`. It is `ConnectionFailed` when the cause shows that
    the request was not sent, or `never_sent` is True.
    """
    *_, cause = iterate_causes(error)
    refused = isinstance(cause, ConnectionRefusedError | socket.gaierror)
    refused |= isinstance(cause, ssl.SSLError) and getattr(cause, "reason", None) in _HANDSHAKE_ERRORS
    secrets = (*secrets, *find_proxy_secrets(url))
    where = redact_url(url)
    if proxy := find_proxy(url):
        where = Message("{url} through the proxy {proxy}", url=where, proxy=redact_url(proxy))
    is_sent, lasting = not (refused or never_sent), False
    reason: str
    if not is_sent:
        reason, lasting = _describe_cause(cause)
    elif isinstance(cause, TimeoutError):
        reason = Message("the request timed out")
    elif isinstance(cause, OSError):
        reason = explain_error(cause)  # why the connection ended, without a library's words
    else:
        reason = f"{type(error).__name__}: {error}"
    detail = shorten(mask(f"{where}: {reason}", *secrets))
    if not is_sent:
        return ConnectionFailed(detail, lasting=lasting)
    return TimedOut(detail) if isinstance(cause, TimeoutError) else NoResponse(detail)


def _describe_cause(cause: BaseException) -> tuple[str, bool]:
    """Return why there is no connection, and whether that is lasting, unlike a server that is starting."""
    if isinstance(cause, ConnectionRefusedError):
        return Message("connection refused"), False
    if isinstance(cause, socket.gaierror):
        return Message("unknown host ({reason})", reason=cause.strerror), cause.errno != socket.EAI_AGAIN
    if isinstance(cause, ssl.SSLCertVerificationError) and cause.verify_code in _UNKNOWN_ISSUER:
        return Message(
            "no TLS connection: {reason}; for a certificate of your own authority, set SSL_CERT_FILE to the"
            " file with the authority's certificates",
            reason=cause.verify_message,
        ), True
    if isinstance(cause, ssl.SSLError):
        return Message("no TLS connection: {reason}", reason=cause), True
    return explain_error(cause) or type(cause).__name__, not isinstance(cause, OSError)


def shorten(text: str) -> str:
    """Return `text` as one line of at most `DETAIL_LENGTH` characters."""
    line = " ".join(text.split())
    return line if len(line) <= DETAIL_LENGTH else f"{line[: DETAIL_LENGTH - 1]}…"


def _extract_plain_text(body: object) -> str:
    text = body.decode(errors="replace") if isinstance(body, bytes) else str(body or "")
    # Only up to the next bracket, so that the time is linear in the length.
    return re.sub(r"<[^<>]*>", " ", text) if text.lstrip().startswith("<") else text


def _read_status(value: object) -> int | None:
    number = parse_number(str(value))
    return int(number) if number is not None and 400 <= number < 600 else None
