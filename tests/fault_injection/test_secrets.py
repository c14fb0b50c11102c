"""No file of a run contains a key, whatever fails and however much is logged."""

import base64
from pathlib import Path

import pytest

from tests.fault_injection.secrets import (
    ACCOUNT,
    CANARY,
    FAULTS,
    WIRES,
    fail_in_turn,
    search_each_fault,
    search_for_key,
    search_run,
)
from tests.support.cases import check_each
from tests.support.command_line import run_judge

SLOW = pytest.mark.slow


@pytest.mark.parametrize(
    "wire", [pytest.param(each, marks=SLOW if each != "openai" else ()) for each in WIRES]
)
def test_no_key_is_written_while_everything_fails_and_all_is_logged(wire: str) -> None:
    report = search_run(wire, fail_in_turn, python=True, debug=True)
    assert report.sent
    assert report.size > 10_000
    assert report.leaks == ()


@pytest.mark.slow
@pytest.mark.parametrize("name", ["repeats it", "refuses with it", "as entities"])
def test_no_key_is_written_that_a_server_returns_encoded(name: str) -> None:
    report = search_run("openai", FAULTS[name], python=False, debug=False)
    assert report.sent
    assert report.leaks == ()


def test_a_fault_is_one_run() -> None:
    """Also one that returns the key encoded."""
    faults = {name: FAULTS[name] for name in ("fine", "repeats it")}
    fine, repeated = search_each_fault(("openai", (False, False)), faults)
    assert fine.sent
    assert repeated.sent
    assert (fine.leaks, repeated.leaks) == ((), ())


def test_no_key_in_the_path_of_an_address_is_written() -> None:
    report = search_run("openai", fail_in_turn, python=True, debug=True, in_path=True)
    assert report.sent
    assert report.leaks == ()


@pytest.mark.parametrize(
    "fault", [pytest.param(each, marks=SLOW if each != "unknown key" else ()) for each in ACCOUNT]
)
def test_no_key_is_written_when_the_account_is_refused(fault: str) -> None:
    report = search_run("openai", ACCOUNT[fault], python=False, debug=True)
    assert report.sent
    assert report.leaks == ()


@pytest.mark.slow
@pytest.mark.parametrize("wire", ["dashscope", "langchain:tongyi"])
def test_a_library_that_logs_whole_answers_does_not_log_the_key(wire: str) -> None:
    report = search_run(wire, FAULTS["error as success"], python=False, debug=True)
    assert report.sent
    assert report.leaks == ()


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
    assert list(search_for_key("here", f"before {text} behind".encode())) == ["here"]
    assert list(search_for_key("here", base64.b64encode(f"a{CANARY}".encode()))) == ["here"]
    assert list(search_for_key("here", b"nothing")) == []


@pytest.mark.parametrize(
    "words",
    [
        ("-m", "openai:m", "--base-url", f"http://user:{CANARY}@127.0.0.1:9/v1"),
        ("-m", "openai:m", "--base-url", f"http://127.0.0.1:9/v1?api_key={CANARY}"),
    ],
)
def test_a_key_in_an_address_is_not_printed(words: tuple[str, ...], tmp_path: Path) -> None:
    completed = run_judge("run", tmp_path / "none.jsonl", *words, "--out", tmp_path / "x")
    assert completed.returncode == 2
    assert CANARY not in completed.stdout + completed.stderr
