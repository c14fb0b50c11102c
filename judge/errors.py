"""The exceptions that leave a package of judge; those that one catches itself are defined there.

    JudgeError
    ├── InputError             a dataset, option or file is wrong             exit 2
    │   ├── SetupError         a key, an extra or a model name is missing     exit 2
    │   └── FileInUse          another process works on it                    exit 2
    ├── RunIncomplete          work stopped before it was complete            exit 3
    │   ├── Interrupted        Ctrl-C or a signal stopped it                  exit 130
    │   └── LimitReached       `max_calls` or `budget` covers no more calls   exit 3
    ├── StoreError             the verdict store cannot be read or written    exit 3
    ├── ReplyParseError        a reply holds no verdict          -> one re-ask, then a failed judgment
    └── CallError              one call to a model failed
        ├── RetryableError     the same request may succeed      -> retried, then a failed judgment
        │   ├── ConnectionFailed  no connection                  -> the run stops if there never was one
        │   ├── TimedOut          no response within the timeout -> the run stops without any response
        │   └── NoResponse        not a response of the API      -> the run stops without any response
        ├── ParametersRejected ask again with fewer parameters   -> the adapter has removed some
        ├── RequestRejected    final for this pair               -> a failed judgment
        └── AccountError       no call can succeed               -> the run stops, exit 3

Adapters in `judge.models` translate every error of their library into a `CallError`; no other error crosses
that boundary. Errors about one pair end as a `Judgment` with an `error`.
"""

from __future__ import annotations

import copyreg
import errno
from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from difflib import get_close_matches
from typing import TYPE_CHECKING

from judge.messages import Message, OptionName, Translator

if TYPE_CHECKING:
    from judge.records import Usage

#: What a value of another type should be, by the beginning of pydantic's name of the error.
EXPECTED_TYPES: Mapping[str, Message] = {
    "string": Message("a text"),
    "int": Message("a whole number"),
    "float": Message("a number"),
    "bool": Message("true or false"),
    "list": Message("a list"),
    "tuple": Message("a list"),
    "dict": Message("an object"),
}
#: The kinds of `ReplyParseError`.
PARSE_ERROR_KINDS = frozenset(
    {"empty", "refusal", "truncated", "malformed", "missing_key", "not_a_grade", "not_integer", "ambiguous"}
)
#: Kinds of errors by the model or its provider; all others are of the server or the connection.
ASSESSOR_ERRORS = PARSE_ERROR_KINDS | {"content_filter"}
#: Why a pair has no grade, by the word that a judgment's `error` holds.
JUDGMENT_ERRORS: Mapping[str, Message] = {
    "empty": Message("the reply was empty"),
    "refusal": Message("the model refused"),
    "truncated": Message("the reply was cut off"),
    "malformed": Message("the reply could not be read"),
    "missing_key": Message("the reply names no grade"),
    "not_a_grade": Message("the reply names a grade that does not exist"),
    "not_integer": Message("the grade is not a whole number"),
    "ambiguous": Message("the reply contradicts itself"),
    "rate_limit": Message("the server throttled the call"),
    "server_error": Message("the server failed"),
    "transport": Message("the connection failed"),
    "content_filter": Message("the provider's content filter refused it"),
    "too_long": Message("too long for the model"),
    "bad_request": Message("the server rejected the request as malformed"),
    "no_quorum": Message("too few of the panel judged it"),
    "no_text": Message("the text is missing"),
    "text_cut": Message("nothing to read before the length limit"),
}
#: What other kinds of errors mean; no judgment has them, because they stop a run or concern an engine.
_OTHER_ERRORS: Mapping[str, Message] = {
    "auth": Message("access was refused"),
    "quota": Message("the account's quota is used up"),
    "model_not_found": Message("there is no such model"),
    "bad_parameter": Message("the server refuses a parameter"),
    "not_found": Message("there is nothing at the address"),
    "unreadable": Message("the answer could not be read"),
    "closed": Message("no more requests are sent to the engine"),
}
#: How to continue a command that stopped: the value `again` of messages about it.
RUN_AGAIN = Message("run the same command again")
#: Characters of a library's error that a message shows, at most.
_LONGEST_REASON = 300
#: The numbers of system errors of a path in an option or an argument.
PATH_ERRORS = frozenset(
    {errno.ENAMETOOLONG, errno.ENOTDIR, errno.EEXIST, errno.EISDIR, errno.ELOOP, errno.EINVAL}
)
#: The numbers of system errors of a disk that is full or fails, and of a limit of the system.
DISK_ERRORS = frozenset({errno.ENOSPC, errno.EDQUOT, errno.EFBIG, errno.EIO} | {errno.EMFILE, errno.ENFILE})


class ErrorKind(Message):
    """The kind of an error: in English the word that files hold, in other languages what it means."""

    def render(self, translator: Translator) -> str:
        """Return the kind in the language of the translator; an unknown one as it is."""
        text = JUDGMENT_ERRORS.get(self.template) or _OTHER_ERRORS.get(self.template)
        return self.template if text is None or translator.language == "en" else translator(text)


class JudgeError(Exception):
    """Any error that judge raises on purpose; its message is for the user.

    `template` is the message in English with its values in braces; `values` are these by name.
    """

    #: The exit code of a command that ends with this error.
    exit_code = 3

    def __init__(self, template: str, /, **values: object) -> None:
        super().__init__(template if isinstance(template, Message) else Message(template, **values))

    @property
    def message(self) -> Message:
        """The message, which a `Translator` returns in another language."""
        message: Message = self.args[0]
        return message

    @message.setter
    def message(self, message: Message) -> None:
        self.args = (message,)

    def __reduce__(self) -> tuple[object, ...]:
        return copyreg.__newobj__, (type(self), *self.args), vars(self)  # type: ignore[attr-defined]


class InputError(JudgeError):
    """A dataset, option or file is wrong; the message names location and value, and says what to do."""

    exit_code = 2


class SetupError(InputError):
    """A key, an extra or a model is missing; the message says what to set or install."""


class FileInUse(InputError):
    """Another process works on a file or a folder."""


class RunIncomplete(JudgeError):
    """Judging, asking or collecting stopped early, or too little has a result; what was paid is stored."""


class Interrupted(RunIncomplete):
    """Ctrl-C or a signal stopped the run; the same command resumes it."""

    exit_code = 130  # as shells have it for Ctrl-C


class LimitReached(RunIncomplete):
    """`max_calls` or `budget` covers no further call; the same command resumes with a higher limit."""


class StoreError(JudgeError):
    """The verdict store cannot be read or written."""


class ReplyParseError(JudgeError):
    """A reply has no verdict that can be read without guessing.

    `kind` is one of `PARSE_ERROR_KINDS`.
    """

    def __init__(self, kind: str, detail: str) -> None:
        super().__init__("{name}: {value}", name=ErrorKind(kind), value=Message(detail))
        self.kind = kind
        self.detail = str(detail)  # of a message, for encoders that take no other type


class CallError(JudgeError):
    """One call to a model failed.

    `kind` is the value of `error` in a judgment. `retry_after` is in seconds, None without one.
    `maybe_billed` is True when the server may have charged for the call, `usage` are the billed tokens, None
    when the server does not return them.
    """

    def __init__(
        self,
        kind: str,
        detail: str,
        *,
        retry_after: float | None = None,
        maybe_billed: bool = False,
        usage: Usage | None = None,
    ) -> None:
        super().__init__("{name}: {value}", name=ErrorKind(kind), value=Message(detail))
        self.kind = kind
        self.detail = str(detail)  # of a message, for encoders that take no other type
        self.retry_after = retry_after
        self.maybe_billed = maybe_billed
        self.usage = usage


class RetryableError(CallError):
    """A temporary error: kinds rate_limit, server_error, transport."""


class Overloaded(RetryableError):
    """The server has no capacity for the request now: kind server_error."""


class GatewayTimedOut(RetryableError):
    """The server says that the request timed out behind it: kind server_error."""


class ConnectionFailed(RetryableError):
    """No connection was made, so the server did not receive the request: kind transport.

    `lasting` is True when waiting alone will not help: no such host, no TLS, a proxy that refuses.
    """

    def __init__(self, detail: str, *, lasting: bool) -> None:
        super().__init__("transport", detail)
        self.lasting = lasting


class TimedOut(RetryableError):
    """No response within the timeout; the call may be billed: kind transport."""

    def __init__(self, detail: str) -> None:
        super().__init__("transport", detail, maybe_billed=True)


class NoResponse(RetryableError):
    """The response is not one of the API: a broken connection, an HTML page: kind transport.

    `lasting` is True when waiting alone will not help: an HTML page, which a proxy or a web server sends
    instead of the provider, or an answer of another API.
    """

    def __init__(
        self, detail: str, *, lasting: bool = False, maybe_billed: bool = True, usage: Usage | None = None
    ) -> None:
        super().__init__("transport", detail, maybe_billed=maybe_billed, usage=usage)
        self.lasting = lasting


class ParametersRejected(CallError):
    """The server rejected a parameter or a format, and the adapter removed it: kind unsupported.

    The same prompt is sent again at once. This ends, because the number of parameters is finite.
    """


class RequestRejected(CallError):
    """Final for this pair: kinds content_filter, refusal, too_long, bad_request."""


class AccountError(CallError):
    """No call can succeed.

    Kinds auth, quota, model_not_found, bad_parameter, not_found, closed.
    """


def explain_error(error: BaseException) -> Message:
    """Return the text of an error on one line, cut where a library shows a file's bytes in it.

    The catalogue has common texts of the system and of libraries.
    """
    text = " ".join(((isinstance(error, OSError) and error.strerror) or str(error)).split())
    return Message(text if len(text) <= _LONGEST_REASON else f"{text[:_LONGEST_REASON]}…")


def advise_install(extra: str) -> Message:
    """Return the command that installs an extra of the package, and the one for a clone of the repository."""
    return Message(
        "pip install 'search-judge[{extra}]' (in a clone: uv sync --inexact --extra {extra})", extra=extra
    )


def iterate_causes(error: BaseException | None) -> Iterator[BaseException]:
    """Yield the error, its cause or context, and so on, down to the first one."""
    while error is not None:
        yield error
        error = error.__cause__ or error.__context__


def suggest_name(name: str, names: Iterable[str]) -> str:
    """Return "; did you mean 'depth'?" for the one of `names` that is closest to `name`, "" if none is."""
    near = get_close_matches(name, names, n=1)
    return Message("; did you mean {name!r}?", name=near[0]) if near else ""


@contextmanager
def name_option_in_errors(option: str) -> Iterator[None]:
    """Put the name of an option before the message of an InputError about its value."""
    try:
        yield
    except InputError as error:
        error.message = Message("{name}: {value}", name=OptionName(option), value=error.message)
        raise
