"""Servers with limits and refused accounts, through the command line; `overload.py` has all scenarios."""

import json
from pathlib import Path

import pytest

from tests.fault_injection.overload import (
    ACCOUNT_ERRORS,
    Scenario,
    list_figures,
    measure_account_error,
    run_scenario,
)
from tests.fault_injection.servers import Capacity
from tests.support.command_line import make_words, run_judge
from tests.support.factories import make_rows, read_results, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply


@pytest.mark.slow
def test_a_run_uses_a_limited_server_within_its_limits_and_the_ledger_counts_its_requests(
    tmp_path: Path,
) -> None:
    # Tests in virtual time check the number of requests: on a busy machine, the client learns of 429s late.
    scenario = Scenario(Capacity(rate=50), 300, None, max_requests_per_pair=2.0)
    assert [
        figure
        for figure in list_figures("50 a second", scenario, run_scenario(scenario, tmp_path))
        if not figure.ok
    ] == []


@pytest.mark.parametrize(
    ("name", "wire"), [("401", "openai"), ("Arrearage", "dashscope"), ("unknown model", "dashscope")]
)
def test_a_refused_account_costs_no_more_than_the_first_requests(
    name: str, wire: str, tmp_path: Path
) -> None:
    assert set(ACCOUNT_ERRORS) >= {name}
    requests, _, advised = measure_account_error(name, wire, tmp_path)
    assert requests.ok
    assert advised.ok


def test_a_format_that_a_server_refuses_is_paid_for_once_and_in_the_ledger(tmp_path: Path) -> None:
    def reject_json_schema(request: ChatRequest) -> Reply:
        refusal = {"error": {"message": "response_format json_schema is not supported"}}
        if (request.body or {}).get("response_format", {}).get("type") == "json_schema":
            return Reply(status=400, body=json.dumps(refusal))
        return reply_with_grade(request)

    data = write_rows(tmp_path / "d.jsonl", make_rows(4, 1, 10))
    with LoopbackServer(reject_json_schema) as server:
        # One at a time: a second request would be sent after an eighth of a second without an answer.
        words = (*make_words(data, server), "--out", tmp_path / "r" / "x", "--concurrency", 1)
        assert run_judge(*words, "--max-calls", 1).returncode == 3
        assert len(server.requests) == 1
        assert run_judge(*words).returncode == 0
        assert len(server.requests) == 1 + 1 + 40
    assert read_results(tmp_path / "r" / "x")["summary"]["cost"]["calls"] == 42
