"""Prices, estimates, limits, caps of replies and the ledger, with a provider that counts its charges."""

import io
import json
from pathlib import Path
from typing import Any

import pytest

import judge
from judge import Config, pipeline
from judge.cli.main import main
from judge.errors import InputError, LimitReached
from judge.records import Usage
from judge.runs.record_json import to_json
from judge.runs.run_result import RunResult
from tests.support.billing_server import (
    BillingServer,
    fail_first_attempts,
    hash_prompt,
    load_qwen_tokenizer,
    reply_with_reasons,
    yield_snippet_rows,
)
from tests.support.command_line import make_words, run_judge
from tests.support.factories import delay_reply, make_rows, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

PRICES = """
[[prices]]
models = ["fake"]
endpoint = "127.0.0.1"
input = 1
cached = 0.1
output = 2
as_of = 2026-11-01
source = "the contract"
"""


# --- prices -------------------------------------------------------------------------------------------


def test_a_price_comes_from_the_option_then_the_file_and_is_in_the_summary(tmp_path: Path) -> None:
    table, toml = tmp_path / "mine.toml", tmp_path / "judge.toml"
    table.write_text(PRICES)
    toml.write_text(PRICES.replace("input = 1", "input = 3"))
    with LoopbackServer(reply_with_grade) as server:  # 120 tokens in, 30 out a call

        def read_cost(**options: Any) -> dict[str, Any]:
            outcome = judge.run(make_rows(1, 1, 4), "openai:fake", base_url=server.openai_url,
                                out=str(tmp_path / "r" / "x"), **options)  # fmt: skip
            result: dict[str, Any] = to_json(outcome.summary)["cost"]
            return result

        assert (read_cost()["usd"], read_cost()["price"]) == (None, None)
        by_table = read_cost(prices=table)
        assert by_table["price"] == {
            "input": 1.0, "output": 2.0, "cached": 0.1, "as_of": "2026-11-01", "source": "the contract"
        }  # fmt: skip
        assert by_table["usd"] == pytest.approx(4 * (120 + 60) / 1e6)
        assert read_cost(config=toml)["price"]["input"] == 3.0
        assert read_cost(config=toml, prices=table)["price"]["input"] == 1.0
        assert read_cost(config=toml, prices=table, price=(5, 6))["price"] == {
            "input": 5.0, "output": 6.0, "cached": 5.0, "as_of": None, "source": "--price"
        }  # fmt: skip
        assert len(server.requests) == 4
        table.write_text(PRICES.replace("= 2\n", '= "two"\n'))
        with pytest.raises(InputError, match=r"mine.toml: \[\[prices\]\] row 1 \(USD\): output is 'two'"):
            read_cost(prices=table)
        table.write_text("currency = 'USD'")
        with pytest.raises(InputError, match=r"mine.toml: has no rows \[\[prices\]\]"):
            read_cost(prices=table)


def test_a_budget_needs_a_price_and_a_table_is_enough(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 4))
    (tmp_path / "mine.toml").write_text(PRICES)
    with LoopbackServer(reply_with_grade) as server:
        words = (*make_words(data, server), "--out", tmp_path / "r" / "x", "--budget", 1)
        refused = run_judge(*words)
        assert refused.returncode == 2
        assert "openai:fake at 'http://127.0.0.1" in refused.stderr
        assert not (tmp_path / "r").exists()
        assert server.requests == []
        result = run_judge(*words, "--prices", tmp_path / "mine.toml")
    assert result.returncode == 0
    assert "$0.0007 at prices of 2026-11-01" in result.stdout


# --- estimates ----------------------------------------------------------------------------------------


def test_an_estimate_is_close_to_what_the_run_then_reports(tmp_path: Path) -> None:
    write_rows(tmp_path / "first.jsonl", yield_snippet_rows(80, seed=1))
    write_rows(tmp_path / "next.jsonl", yield_snippet_rows(120, seed=2))
    billing = BillingServer(reply_with_reasons, load_qwen_tokenizer())
    with LoopbackServer(billing) as server:

        def configure(data: str) -> Config:
            return Config(data=str(tmp_path / data), model="openai:fake", base_url=server.openai_url,
                          depth=200, measures=("P@5",), price=(1.0, 10.0),
                          out=str(tmp_path / "r" / data))  # fmt: skip

        [fresh] = pipeline.estimate(configure("first.jsonl")).assessors.values()
        assert server.requests == []
        spent = to_json(pipeline.run(configure("first.jsonl")).summary)["cost"]
        assert (fresh.calls, fresh.by_rule) == (spent["calls"], spent["calls"])
        assert fresh.prompt_tokens == pytest.approx(spent["prompt_tokens"], rel=0.05)
        [learned] = pipeline.estimate(configure("next.jsonl")).assessors.values()
        spent = to_json(pipeline.run(configure("next.jsonl")).summary)["cost"]
    assert (learned.calls, learned.by_rule, learned.earlier_calls) == (
        spent["calls"],
        0,
        fresh.calls,
    )
    for name in ("prompt_tokens", "completion_tokens", "usd"):
        assert getattr(learned, name) == pytest.approx(spent[name], rel=0.10)
    assert spent["prompt_tokens"] + fresh.prompt_tokens > 70_000  # not close for want of tokens


# --- limits -------------------------------------------------------------------------------------------


def run_within_limit(server: LoopbackServer, out: Path, concurrency: int, **ceiling: Any) -> RunResult:
    """Run 200 pairs at $1 and $2 for a million prompt and completion tokens, with a limit."""
    return judge.run(make_rows(20, 1, 10), "openai:fake", base_url=server.openai_url, price=(1.0, 2.0),
                     concurrency=concurrency, measures=("P@5",), out=str(out), **ceiling)  # fmt: skip


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_limits_hold_for_any_number_of_calls_in_flight(tmp_path: Path, concurrency: int) -> None:
    with LoopbackServer(delay_reply(reply_with_grade, 0.005)) as server:  # 120 in, 30 out: 0.00018 USD a call
        outcome = run_within_limit(server, tmp_path / "a" / "x", concurrency, max_calls=20)
        assert isinstance(outcome.incomplete, LimitReached)
        assert "max_calls = 20 is used up" in str(outcome.incomplete)
        assert len(server.requests) == 20
        outcome = run_within_limit(server, tmp_path / "b" / "x", concurrency, budget=0.0072)
        assert isinstance(outcome.incomplete, LimitReached)
        assert "budget = 0.0072 USD is used up" in str(outcome.incomplete)
        assert len(server.requests) == 20 + 40
        assert to_json(outcome.summary)["cost"]["usd"] == pytest.approx(0.0072)


@pytest.mark.parametrize("concurrency", [1, 8, 64])
def test_a_budget_over_uneven_calls_is_overshot_by_less_than_one_call(
    tmp_path: Path, concurrency: int
) -> None:
    """The first replies of a run are short, and later ones up to 50 times longer."""

    def answer(request: ChatRequest) -> Reply:
        tokens = 10 if request.number <= 64 else 10 + hash_prompt(request) % 490
        usage = Usage(prompt_tokens=100, completion_tokens=tokens)
        return Reply(text=reply_with_grade(request).text, usage=usage, delay=0.005)

    with LoopbackServer(answer) as server:
        spent = to_json(run_within_limit(server, tmp_path / "r" / "x", concurrency, budget=0.03).summary)[
            "cost"
        ]["usd"]
    dearest = 0.0011
    assert 0.03 - dearest <= spent <= 0.03 + dearest


def test_a_limit_ends_the_command_with_what_to_do(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(3, 1, 10))
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge(*make_words(data, server), "--max-calls", 7, "--out", tmp_path / "r" / "x")
        assert len(server.requests) == 7
    assert result.returncode == 3
    assert (
        "23 of 30 unjudged: --max-calls 7 is used up; run the same command again for as many" in result.stderr
    )


def test_the_output_of_a_run_that_stopped_begins_with_the_reason(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(3, 2, 5))
    output = io.TextIOWrapper(io.BytesIO(), encoding="utf-8", newline="\n")
    with LoopbackServer(reply_with_grade) as server:
        words = [*make_words(data, server), "--max-calls", "7", "--out", str(tmp_path / "r" / "x")]
        code = main(list(map(str, words)), stdout=output, stderr=output, environ={"OPENAI_API_KEY": "k"})
        words = ["compare", str(tmp_path / "r" / "x")]
        compared = run_judge(*words)
    assert code == 3
    output.seek(0)
    _, reason, imputed, *others = output.read().splitlines()
    assert reason.startswith("judge: stopped with 23 of 30 unjudged: --max-calls 7 is used up")
    assert imputed.startswith(
        "Missing grades do not count as “no”: queries with too few judged snippets are left out"
    )
    assert not any("have no grade" in line for line in others)
    first = compared.stdout.splitlines()[0]
    assert first.startswith("23 of 30 judgments have no grade (coverage 23.3%): not judged yet (23). Missing")
    assert first.endswith(
        " The judging stopped: --max-calls 7 is used up; run the same command again for as many more calls,"
        " or raise it."
    )


# --- caps ---------------------------------------------------------------------------------------------

WIRES = ("openai", "dashscope", "langchain:openai", "langchain:tongyi")


def read_caps(request: ChatRequest) -> tuple[object, object]:
    """Return the token limit and the thinking option of a request on either wire."""
    body = request.body or {}
    sent = {**body, **body.get("parameters", {})}
    most = {sent[name] for name in ("max_tokens", "max_completion_tokens") if name in sent}
    thinking = sent.get("chat_template_kwargs", sent).get("enable_thinking")
    return (most.pop() if len(most) == 1 else most), thinking


@pytest.mark.parametrize("wire", WIRES)
def test_every_request_caps_its_reply_and_turns_thinking_off(tmp_path: Path, wire: str) -> None:
    # The first reply is unreadable, so that second requests are checked too.
    with LoopbackServer(
        lambda requests: Reply(text="?") if requests.number % 2 else reply_with_grade(requests)
    ) as server:
        url = server.dashscope_url if wire.endswith(("dashscope", "tongyi")) else server.openai_url
        judge.run(make_rows(1, 1, 4), f"{wire}:m", base_url=url, max_tokens=77, out=str(tmp_path / "r" / "x"),
                  concurrency=1)  # fmt: skip
    assert len(server.requests) >= 8
    assert {read_caps(request) for request in server.requests} == {(77, False)}


def test_the_cap_stays_when_a_server_rejects_other_parameters(tmp_path: Path) -> None:
    refusals = {
        "response_format": "response_format json_schema is not supported",
        "max_tokens": "Unsupported parameter: 'max_tokens'. Use 'max_completion_tokens' instead.",
        "chat_template_kwargs": "Unrecognized request argument supplied: chat_template_kwargs",
    }

    def reject_parameters(chat_request: ChatRequest) -> Reply:
        refused = next((name for name in refusals if name in (chat_request.body or {})), None)
        if refused is None:
            return reply_with_grade(chat_request)
        error = {"message": refusals[refused], "param": refused, "code": "unsupported_parameter"}
        return Reply(status=400, body=json.dumps({"error": error}))

    billing = BillingServer(reject_parameters)
    with LoopbackServer(billing) as server:
        outcome = judge.run(make_rows(1, 1, 6), "openai:m", base_url=server.openai_url,
                            out=str(tmp_path / "r" / "x"))  # fmt: skip
    assert outcome.summary.judged == 6
    assert {read_caps(request)[0] for request in server.requests} == {512}
    assert to_json(outcome.summary)["cost"]["calls"] == billing.calls
    assert to_json(outcome.summary)["cost"]["prompt_tokens"] == billing.usage.prompt_tokens


def test_a_snippet_that_makes_a_model_think_for_ever_costs_no_more_than_the_cap(tmp_path: Path) -> None:
    lines = (Path(__file__).parents[1] / "cases" / "attacks.jsonl").read_text(encoding="utf-8").splitlines()
    cases = [case for case in map(json.loads, lines) if case["attack_type"] == "overthink"]
    assert len(cases) >= 2

    def think_to_the_limit(request: ChatRequest) -> Reply:
        """Reply after 100,000 tokens of thinking, or as many as the request allows."""
        most, thinking = read_caps(request)
        assert isinstance(most, int)
        return Reply(text="w" * min(most, 100_000 if thinking is not False else 400), finish_reason="length")

    billing = BillingServer(think_to_the_limit)
    rows = [{"query": case["query"], "engine": "e", "snippet": case["snippet"]} for case in cases]
    with LoopbackServer(billing) as server:
        outcome = judge.run(rows, "openai:m", base_url=server.openai_url, max_tokens=256,
                            out=str(tmp_path / "r" / "x"))  # fmt: skip
    assert billing.largest_reply == 256
    assert billing.calls == 2 * len(cases)  # asked, and asked again for the verdict alone
    assert to_json(outcome.summary)["cost"]["completion_tokens"] == 256 * billing.calls


# --- the ledger ---------------------------------------------------------------------------------------


@pytest.mark.parametrize("wire", ["openai", "dashscope"])
def test_the_summary_has_the_counts_of_the_server_with_failed_calls(tmp_path: Path, wire: str) -> None:
    billing = BillingServer(fail_first_attempts)
    with LoopbackServer(billing) as server:
        url = server.openai_url if wire == "openai" else server.dashscope_url
        outcome = judge.run(make_rows(6, 2, 10), f"{wire}:m", base_url=url, price=(1.0, 2.0), concurrency=16,
                            attempts=20, out=str(tmp_path / "r" / "x"))  # fmt: skip
    result = to_json(outcome.summary)["cost"]
    assert len(set(billing.requests) & {"500", "429", "400", "lost", "uncounted", "answered"}) == 6
    assert result["calls"] == billing.calls == len(server.requests)
    assert result["prompt_tokens"] == billing.usage.prompt_tokens
    assert result["completion_tokens"] == billing.usage.completion_tokens
    assert result["usd"] == pytest.approx(
        (billing.usage.prompt_tokens + 2 * billing.usage.completion_tokens) / 1e6
    )
    assert result["uncounted"] == billing.requests["uncounted"]
    assert result["maybe_billed"] == billing.requests["lost"]
    assert {"content_filter", "refusal"} <= outcome.summary.failures.keys()


def test_a_second_run_adds_to_the_ledger_what_it_paid(tmp_path: Path) -> None:
    billing = BillingServer(reply_with_grade)
    with LoopbackServer(billing) as server:
        for most, calls in ((7, 7), (None, 20)):
            outcome = judge.run(
                make_rows(2, 1, 10),
                "openai:fake",
                base_url=server.openai_url,
                max_calls=most,
                out=str(tmp_path / "r" / "x"),
            )
            result = to_json(outcome.summary)["cost"]
            assert (result["calls"], result["prompt_tokens"]) == (calls, billing.usage.prompt_tokens)
