"""Servers with limits and dead accounts, through the command line; `overload.py` has all of it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.fault_injection.overload import REFUSALS, Scene, figures, play, refused
from tests.fault_injection.servers import Capacity
from tests.support.command_line import asking, command
from tests.support.factories import numbered, results, says_its_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply


@pytest.mark.slow
def test_a_limited_server_is_used_and_obeyed_and_the_ledger_is_the_servers(tmp_path: Path) -> None:
    # How few requests are too many is told in virtual time: a busy machine hears of refusals late.
    scene = Scene(Capacity(rate=50), 300, None, most=2.0)
    assert [figure for figure in figures("50 a second", scene, play(scene, tmp_path)) if not figure.ok] == []


@pytest.mark.parametrize(
    ("name", "wire"), [("401", "openai"), ("Arrearage", "dashscope"), ("unknown model", "dashscope")]
)
def test_a_dead_account_costs_no_more_than_the_first_requests(name: str, wire: str, tmp_path: Path) -> None:
    assert set(REFUSALS) >= {name}
    requests, _, advised = refused(name, wire, tmp_path)
    assert requests.ok
    assert advised.ok


def test_a_format_that_a_server_refuses_is_paid_for_once_and_in_the_ledger(tmp_path: Path) -> None:
    def picky(request: ChatRequest) -> Reply:
        refusal = {"error": {"message": "response_format json_schema is not supported"}}
        if (request.body or {}).get("response_format", {}).get("type") == "json_schema":
            return Reply(status=400, body=json.dumps(refusal))
        return says_its_grade(request)

    data = write_rows(tmp_path / "d.jsonl", numbered(4, 1, 10))
    with LoopbackServer(picky) as server:
        words = (*asking(data, server), "--out", tmp_path / "r" / "x")
        assert command(*words, "--max-calls", 1).returncode == 3
        assert len(server.requests) == 1
        assert command(*words).returncode == 0
        assert len(server.requests) == 1 + 1 + 40
    assert results(tmp_path / "r" / "x")["summary"]["cost"]["calls"] == 42
