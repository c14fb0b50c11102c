"""Errors and messages: English as text, another language on request, and copies that keep everything."""

import copy
import errno
import os
import pickle
from pathlib import Path

import pytest

from judge.collect.responses import ANSWER_RULES
from judge.errors import (
    AccountError,
    ConnectionFailed,
    ErrorKind,
    InputError,
    JudgeError,
    ReplyParseError,
    RequestRejected,
    RunIncomplete,
    StoreError,
    explain_error,
)
from judge.files.filesystem import explain_unusable
from judge.messages import CHINESE, ENGLISH, Message, cut_value
from judge.models.error_mapping import BAD_REQUEST, ERROR_RULES
from judge.store import schema
from tests.support.cases import check_each

ERRORS = [
    InputError("an object is {…}"),
    InputError("{file}:{line}: {value!r:.4}", file="a.csv", line=3, value="long text"),
    RunIncomplete("stopped: {reason}", reason=InputError("{share:.1%} of {{x}}", share=0.5)),
    ReplyParseError("malformed", "no {verdict}"),
    ConnectionFailed("unknown host", lasting=True),
]
TEXTS = [
    "an object is {…}",
    "a.csv:3: 'l…'",
    "stopped: 50.0% of {x}",
    "malformed: no {verdict}",
    "transport: unknown host",
]


@check_each(("error", "text"), list(zip(ERRORS, TEXTS, strict=True)))
def test_an_error_is_its_message_in_english_and_so_are_its_copies(error: JudgeError, text: str) -> None:
    for each in (error, copy.copy(error), copy.deepcopy(error), pickle.loads(pickle.dumps(error))):  # noqa: S301
        assert (str(each), ENGLISH(each.message), vars(each)) == (text, text, vars(error))
        assert type(each) is type(error)


def test_messages_in_a_message_are_in_the_same_language() -> None:
    inner = Message("undetermined: there is no query where both have a value")
    outer = InputError("{place}: {problem}", place="a.csv", problem=InputError(inner))
    assert str(outer) == "a.csv: undetermined: there is no query where both have a value"
    assert CHINESE(outer.message) == "a.csv: 无法判断：没有双方都有得分的查询"


def test_a_value_with_braces_is_not_a_template() -> None:
    assert CHINESE(InputError("{value}: {error}", value="{x}", error=Message("{y}")).message) == "{x}: {y}"


def test_the_stored_text_of_an_error_is_a_plain_string() -> None:
    message = Message("unknown host ({reason})", reason="x")
    for error in (RequestRejected("bad_request", message), ReplyParseError("malformed", message)):
        assert type(error.detail) is str
        assert CHINESE(error.message).endswith("无法解析主机名（x）")


def test_the_kind_of_an_error_is_a_word_of_the_language() -> None:
    error = RunIncomplete("{reason}; {advice}", reason=AccountError("auth", "HTTP 401"), advice="")
    assert str(error) == "auth: HTTP 401; "
    assert CHINESE(error.message) == "访问被拒绝：HTTP 401; "
    for rule in (*ERROR_RULES, BAD_REQUEST, *ANSWER_RULES):
        assert ENGLISH(ErrorKind(rule.kind)) == rule.kind
        assert not CHINESE(ErrorKind(rule.kind)).isascii()
    assert CHINESE(ErrorKind("another")) == "another"


@pytest.mark.parametrize("number", [errno.EACCES, errno.EPERM, errno.EROFS])
def test_a_read_only_folder_is_named_with_a_remedy(number: int) -> None:
    error = OSError(number, os.strerror(number))
    refused = str(explain_unusable(Path("run"), Message("cannot be a run's folder"), error))
    assert refused.startswith(
        f"run: cannot be a run's folder: {os.strerror(number)}; make the folder writable"
    )
    assert schema.choose_advice(error) == "; name another file with the option --store"


@pytest.mark.parametrize(
    ("number", "kind"), [(errno.ENOSPC, StoreError), (errno.EDQUOT, StoreError), (errno.ENOTDIR, InputError)]
)
def test_another_error_of_a_folder_has_no_such_remedy(number: int, kind: type[JudgeError]) -> None:
    error = OSError(number, os.strerror(number))
    refused = explain_unusable(Path("run"), Message("cannot be a run's folder"), error)
    assert (type(refused), str(refused)) == (kind, f"run: cannot be a run's folder: {os.strerror(number)}")


@check_each(
    ("error", "text"),
    [
        (ValueError("two\n lines"), "two lines"),
        (OSError(errno.ENOSPC, os.strerror(errno.ENOSPC)), "No space left on device"),
        (ValueError("x" * 301), "x" * 300 + "…"),
    ],
)
def test_the_reason_of_a_library_takes_one_line(error: Exception, text: str) -> None:
    assert explain_error(error) == text


def test_a_value_that_a_format_cuts_ends_with_an_ellipsis() -> None:
    values = {"value": "a long text", "name": "abcdefg", "count": 1.25}
    assert Message("is {value!r:.10}, {name:.5}, {count:,.1f}", **values) == "is 'a long …', abcd…, 1.2"
    assert Message("is {value!r:.13}, {name:.7}", **values) == "is 'a long text', abcdefg"
    template = "--host is {host!r:.80}; it must be a name or an address without a port"
    for translator in (ENGLISH, CHINESE):
        assert f" '{'x' * 77}…'" in translator(Message(template, host="x" * 100))
    assert cut_value("['a', 'b', 'c']", 10) == "['a', 'b'…"
