"""No key is in anything that a run writes, whatever fails and however much is logged."""

from __future__ import annotations

import base64
from pathlib import Path

import pytest

from tests.fault_injection.secrets import (
    ACCOUNT,
    CANARY,
    FAULTS,
    WIRES,
    all_at_once,
    judge_with_each_fault,
    judged,
    look,
)
from tests.support.cases import check_each
from tests.support.command_line import command

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "wire", [pytest.param(each, marks=SLOW if each != "openai" else ()) for each in WIRES]
)
def test_no_key_is_written_while_everything_fails_and_all_is_logged(wire: str) -> None:
    looked = judged(wire, all_at_once, python=True, loud=True)
    assert looked.sent
    assert looked.size > 10_000
    assert looked.leaks == ()


@pytest.mark.parametrize(
    "name",
    ["repeats it", pytest.param("refuses with it", marks=SLOW), pytest.param("as entities", marks=SLOW)],
)
def test_no_key_is_written_that_a_server_says_in_other_words(name: str) -> None:
    looked = judged("openai", FAULTS[name], python=False, loud=False)
    assert looked.sent
    assert looked.leaks == ()


def test_a_fault_is_one_run() -> None:
    (looked,) = judge_with_each_fault(("openai", (False, False)), {"fine": FAULTS["fine"]})
    assert looked.sent
    assert looked.leaks == ()


def test_no_key_in_the_path_of_an_address_is_written() -> None:
    looked = judged("openai", all_at_once, python=True, loud=True, in_path=True)
    assert looked.sent
    assert looked.leaks == ()


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=SLOW if each != "unknown key" else ()) for each in ACCOUNT]
)
def test_no_key_is_written_when_the_account_is_refused(fault: str) -> None:
    looked = judged("openai", ACCOUNT[fault], python=False, loud=True)
    assert looked.sent
    assert looked.leaks == ()


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["dashscope", "langchain:tongyi"])
def test_a_library_that_logs_whole_answers_does_not_log_the_key(wire: str) -> None:
    looked = judged(wire, FAULTS["error as success"], python=False, loud=True)
    assert looked.sent
    assert looked.leaks == ()


@check_each(
    "text",
    [
        CANARY,
        f"Bearer {CANARY}",
        CANARY[:14],
        repr(CANARY),
        CANARY.replace("/", "%2F").replace("+", "%2B").replace("=", "%3D"),
    ],
)
def test_a_key_would_be_found(text: str) -> None:
    assert list(look("here", f"before {text} behind".encode())) == ["here"]
    assert list(look("here", base64.b64encode(f"a{CANARY}".encode()))) == ["here"]
    assert list(look("here", b"nothing")) == []


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "openai:m", "--base-url", f"http://user:{CANARY}@127.0.0.1:9/v1"),
        ("-m", "openai:m", "--base-url", f"http://127.0.0.1:9/v1?api_key={CANARY}"),
    ],
)
def test_a_key_in_an_address_is_not_said_again(words: tuple[str, ...], tmp_path: Path) -> None:
    ran = command("run", tmp_path / "none.jsonl", *words, "--out", tmp_path / "x")
    assert ran.returncode == 2
    assert CANARY not in ran.stdout + ran.stderr
