"""Owns every exception that judge raises on purpose.

    JudgeError
    ├── InputError          a dataset, option or file is wrong             exit 2
    │   └── SetupError      a key, an extra or a model name is missing     exit 2
    ├── Incomplete          the run stopped before every pair was judged   exit 3
    │   └── Interrupted     a person or a signal stopped it                exit 130
    ├── StoreError          the verdict store cannot be read or written    exit 3
    ├── Unreadable          a reply holds no verdict          -> one re-ask, then a failed judgment
    └── CallError           one call to a model failed
        ├── Transient       try the same request again        -> retried, then a failed judgment
        │   ├── Unconnected no connection came about          -> the run stops soon if none ever did
        │   ├── TimedOut    no response within the timeout    -> the run stops after a few if none ever came
        │   └── NoResponse  no response of the provider's API -> the run stops after a few if none ever came
        ├── Conceded        ask again at once, with less      -> the adapter has given something up
        ├── Declined        final for this pair               -> a failed judgment
        └── AccountRefused  no call can succeed               -> the run stops, exit 3

Adapters in `judge.models` translate every error of their library into a `CallError`; nothing
else crosses that seam. Errors about one pair end as a `Judgment` with an `error`.
"""

from __future__ import annotations

from collections.abc import Iterator
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from judge.records import Usage

#: How a reply fails that did arrive: the kinds of `Unreadable`.
PARSE_ERROR_KINDS = frozenset(
    {"empty", "refusal", "truncated", "malformed", "missing_key", "not_a_grade", "not_integer", "ambiguous"}
)
#: What a model or its provider makes of a pair; all else is the server's or the connection's doing.
ASSESSOR_ERRORS = PARSE_ERROR_KINDS | {"content_filter"}


class JudgeError(Exception):
    """Anything judge refuses or gives up on; its text is meant for the person at the terminal."""


class InputError(JudgeError):
    """A dataset, option or file is wrong; the text names the place, the value and what to do."""


class SetupError(InputError):
    """A key, an extra or a model is missing; the text says what to set or install."""


class RunIncomplete(JudgeError):
    """The run stopped before every pair was judged; what was paid for is kept."""


class Interrupted(RunIncomplete):
    """A person or a signal stopped the run; the same command goes on where it stopped."""


class StoreError(JudgeError):
    """The verdict store cannot be read or written."""


class ReplyParseError(JudgeError):
    """A reply holds no verdict that can be read without guessing.

    `kind` is one of `UNREADABLE`.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail


class CallError(JudgeError):
    """One call to a model failed.

    `kind` is the word that a judgment's `error` shows; `retry_after` is in seconds, None when the
    server named none; `billed` is True when the server may have charged for the call, `usage` the
    tokens that it says it charged for, None when it doesn't say.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        retry_after: float | None = None,
        billed: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__(f"{kind}: {detail}")
        self.kind = kind
        self.detail = detail
        self.retry_after = retry_after
        self.billed = billed
        self.usage = usage


class RetryableError(CallError):
    """A fault that may pass: kinds rate_limit, server_error, transport."""


class ConnectionFailed(RetryableError):
    """No connection came about, so nobody heard of the call: kind transport.

    `lasting` is True when waiting alone will not help: no such host, no TLS, a proxy that refuses.
    """

    def __init__(self, kind: str, detail: str, *, lasting: bool) -> None:
        super().__init__(kind, detail)
        self.lasting = lasting


class TimedOut(RetryableError):
    """No response came within the timeout, so the call may be billed: kind transport."""


class NoResponse(RetryableError):
    """What came back is no response of the provider's API: a broken connection, a page: kind transport.

    `is_page` is True for an HTML page, which a network or a web server sends instead of the provider.
    """

    def __init__(self, kind: str, detail: str, *, is_page: bool = False) -> None:
        super().__init__(kind, detail, billed=True)
        self.is_page = is_page


class ParametersRejected(CallError):
    """The server refused a parameter or a format, and the adapter gave it up: kind conceded.

    The same prompt is to be asked again at once; it comes to an end, for there is only so much to
    give up.
    """


class RequestRejected(CallError):
    """Final for this pair: kinds content_filter, refusal, too_long, bad_request."""


class AccountError(CallError):
    """No call can succeed: kinds auth, quota, model_not_found, bad_parameter."""


def iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """The error and all that it was raised from or in the handling of, down to the first cause."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__
