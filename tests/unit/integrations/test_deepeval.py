"""judge inside DeepEval: its metrics and its assessors, in the ways that DeepEval runs them."""

from __future__ import annotations

import asyncio
import gc
import json
import os
import subprocess
import sys
import threading
from collections.abc import Iterator
from functools import cache
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Literal

import pytest
from pydantic import BaseModel

from judge.errors import AccountError, InputError, ReplyParseError, RequestRejected, RunIncomplete
from tests.support.datasets import read_dataset
from tests.support.factories import PUPPY_QUERY, PUPPY_SNIPPETS, reply_about_puppy
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

if TYPE_CHECKING:
    from deepeval.metrics import BaseMetric
    from deepeval.test_case import LLMTestCase

    from judge.integrations import deepeval as ours
    from judge.integrations.background_runner import Resources

pytestmark = pytest.mark.skipif(find_spec("deepeval") is None, reason="the extra deepeval is missing")


@pytest.fixture
def server() -> Iterator[LoopbackServer]:
    """A server that answers as people would about the puppy."""
    with LoopbackServer(answer) as running:
        yield running


@pytest.fixture
def model(tmp_path: Path, server: LoopbackServer) -> Iterator[ours.JudgeModel]:
    """A model behind that server."""
    from judge.integrations import deepeval as ours

    result = ours.JudgeModel(
        "openai:qwen", base_url=server.openai_url, scale="binary", store=str(tmp_path / "v.sqlite")
    )
    yield result
    result.close()


def answer(request: ChatRequest) -> Reply:
    """Verdicts for our prompts, DeepEval's own forms for its prompts."""
    if "<<<" in request.prompt:
        return reply_about_puppy(request)
    if "claims" in request.prompt and "verdicts" not in request.prompt.lower():
        return Reply(text=json.dumps({"claims": ["a claim"]}))
    if "truths" in request.prompt:
        return Reply(text=json.dumps({"truths": ["a truth"]}))
    if '"verdicts"' in request.prompt:
        return Reply(text=json.dumps({"verdicts": [{"statement": "s", "verdict": "yes", "reason": "r"}]}))
    return Reply(text=json.dumps({"reason": "because"}))


def make_case(expected: str | None = None) -> LLMTestCase:
    """The puppy with anaemia as a DeepEval test case."""
    from deepeval.test_case import LLMTestCase

    return LLMTestCase(
        input=PUPPY_QUERY,
        actual_output="an answer",
        expected_output=expected,
        retrieval_context=list(PUPPY_SNIPPETS),
    )


def test_the_measures_of_a_list_with_every_verdict(model: ours.JudgeModel, server: LoopbackServer) -> None:
    from judge.integrations import deepeval as ours

    metric = ours.ContextualRelevancyAP(model, threshold=0.75)
    assert metric.measure(make_case()) == pytest.approx(0.7708333333)
    assert [row["verdict"] for row in metric.verdicts] == ["yes", "no", "yes", "yes", "no", "yes"]
    assert metric.verdicts[1]["reason"] == "摘要讲的是饥饿，不是贫血。"
    assert metric.reason is not None
    assert metric.reason.startswith("4 of 6 snippets are relevant (ranks 1, 3, 4, 6)\n1. yes: ")
    assert metric.is_successful()
    ndcg = ours.ContextualRelevancyNDCG(model)
    assert asyncio.run(ndcg.a_measure(make_case())) == pytest.approx(0.892754, abs=1e-6)
    assert len(server.requests) == 6  # the second metric takes the first one's verdicts


def test_no_lock_is_left_when_calls_have_ended(model: ours.JudgeModel) -> None:
    from judge.integrations import deepeval as ours

    async def count_locks(resources: Resources) -> int:
        return len(resources.locks)

    ours.ContextualRelevancyAP(model).measure(make_case())
    model.generate("a question")
    assert model.runner.submit(count_locks).result() == 0


def test_through_evaluate_and_assert_test(model: ours.JudgeModel, tmp_path: Path) -> None:
    from deepeval.evaluate import assert_test, evaluate
    from deepeval.evaluate.configs import AsyncConfig, DisplayConfig

    from judge.integrations import deepeval as ours

    metrics: list[BaseMetric] = [ours.ContextualRelevancyAP(model), ours.ContextualRelevancyNDCG(model, k=3)]
    quiet = DisplayConfig(show_indicator=False, print_results=False)
    for parallel in (True, False):
        results = evaluate(
            [make_case(), make_case("牙龈发白")], metrics, display_config=quiet,
            async_config=AsyncConfig(run_async=parallel),
        )  # fmt: skip
        data = [each for result in results.test_results for each in result.metrics_data or []]
        assert [round(each.score or 0, 4) for each in data if "AP" in each.name] == [0.7708, 0.7708]
    easy: list[BaseMetric] = [ours.ContextualRelevancyAP(model, threshold=0.7)]
    hard: list[BaseMetric] = [ours.ContextualRelevancyAP(model, threshold=0.9)]
    assert_test(make_case(), easy, run_async=False)
    with pytest.raises(AssertionError, match=r"Contextual Relevancy AP.*0\.77"):
        assert_test(make_case(), hard, run_async=False)


def test_a_snippet_that_stays_unjudged_is_an_error_and_no_zero(tmp_path: Path) -> None:
    from deepeval.evaluate import evaluate
    from deepeval.evaluate.configs import DisplayConfig, ErrorConfig
    from deepeval.metrics import BaseMetric

    from judge.integrations import deepeval as ours

    def refuse_one(request: ChatRequest) -> Reply:
        refused = Reply(status=400, body='{"error": {"code": "content_filter", "message": "x"}}')
        return refused if "舌头" in request.prompt else answer(request)

    with LoopbackServer(refuse_one) as server:
        model = ours.JudgeModel(
            "openai:m", base_url=server.openai_url, scale="binary", store=str(tmp_path / "v.sqlite")
        )
        metric = ours.ContextualRelevancyAP(model)
        with pytest.raises(RunIncomplete, match="1 of 6 snippets stayed unjudged"):
            metric.measure(make_case())
        assert (metric.score, metric.success) == (None, False)
        assert "content_filter" in (metric.error or "")
        result = evaluate(
            [make_case()], list[BaseMetric]([metric]), error_config=ErrorConfig(ignore_errors=True),
            display_config=DisplayConfig(show_indicator=False, print_results=False),
        )  # fmt: skip
        (data,) = result.test_results[0].metrics_data or []
        assert (data.score, data.success) == (None, False)
        for _ in range(2):  # the second refusal is a stored one
            with pytest.raises(RequestRejected, match=r"content_filter: .*x"):
                model.generate("舌头")
        assert len([request for request in server.requests if "舌头" in request.prompt]) == 2
        model.close()


def test_a_retrieved_text_with_its_source_is_judged_as_the_text(
    model: ours.JudgeModel, server: LoopbackServer
) -> None:
    from deepeval.test_case import LLMTestCase, RetrievedContextData

    from judge.integrations import deepeval as ours

    texts = [RetrievedContextData(context=text, source="a.example") for text in PUPPY_SNIPPETS]
    metric = ours.ContextualRelevancyAP(model)
    case = LLMTestCase(input=PUPPY_QUERY, retrieval_context=[*texts])
    assert metric.measure(case) == pytest.approx(0.7708333333)
    assert not any("a.example" in request.prompt for request in server.requests)


def test_nothing_retrieved_scores_0_without_a_call(model: ours.JudgeModel, server: LoopbackServer) -> None:
    from deepeval.test_case import LLMTestCase

    from judge.integrations import deepeval as ours

    metric = ours.ContextualRelevancyAP(model)
    assert metric.measure(LLMTestCase(input="q", retrieval_context=[])) == 0
    assert server.requests == []


def test_deepeval_s_own_metrics_run_on_our_models(model: ours.JudgeModel, server: LoopbackServer) -> None:
    from deepeval.metrics import ContextualRelevancyMetric, FaithfulnessMetric

    own = ContextualRelevancyMetric(model=model, async_mode=False)
    assert own.measure(make_case(), _show_indicator=False) == 1.0
    assert asyncio.run(FaithfulnessMetric(model=model).a_measure(make_case(), _show_indicator=False)) == 1.0
    calls = len(server.requests)
    again = ContextualRelevancyMetric(model=model, async_mode=False)
    assert again.measure(make_case(), _show_indicator=False) == 1.0
    assert len(server.requests) == calls  # paid once
    forms = [(request.body or {}).get("response_format", {}).get("type") for request in server.requests]
    assert set(forms) == {"json_schema"}


class Shape(BaseModel):
    """What a reply is to look like."""

    name: str
    note: str | None = None


def test_a_reply_that_does_not_fit_is_asked_for_again_then_refused(tmp_path: Path) -> None:
    from judge.integrations import deepeval as ours

    replies = iter(["no JSON", '<think>{"name": "wrong"}</think>```json\n{"name": "right"}\n```', "[]", "{}"])
    with LoopbackServer(lambda request: Reply(text=next(replies))) as server:
        model = ours.JudgeModel("openai:m", base_url=server.openai_url, store=str(tmp_path / "v.sqlite"))
        assert model.generate("one", schema=Shape) == Shape(name="right")
        with pytest.raises(ReplyParseError):
            model.generate("two", schema=Shape)
        schema = (server.requests[0].body or {})["response_format"]["json_schema"]["schema"]
        assert schema["required"] == ["name", "note"]
        assert schema["additionalProperties"] is False
        model.close()


def test_faults_are_retried_and_counted_once(tmp_path: Path) -> None:
    from judge.integrations import deepeval as ours

    def fail_once(request: ChatRequest) -> Reply:
        return Reply(status=503, body="{}") if request.attempt == 1 else Reply(text="fine")

    with LoopbackServer(fail_once) as server:
        model = ours.JudgeModel("openai:m", base_url=server.openai_url, store=str(tmp_path / "v.sqlite"))

        async def ask_both() -> list[str]:
            return list(await asyncio.gather(model.a_generate("same"), model.a_generate("same")))

        assert asyncio.run(ask_both()) == ["fine", "fine"]
        assert model.generate("same") == "fine"
        assert len(server.requests) == 2
        model.close()


def test_what_stopped_one_call_does_not_stop_the_next(tmp_path: Path) -> None:
    """A key that was refused may be well again a minute later."""
    from judge.integrations import deepeval as ours

    refused = Reply(status=401, body='{"error": {"code": "invalid_api_key", "message": "no"}}')
    with LoopbackServer(lambda request: refused if request.number == 1 else Reply(text="well")) as server:
        model = ours.JudgeModel("openai:m", base_url=server.openai_url, store=str(tmp_path / "v.sqlite"))
        with pytest.raises(AccountError):
            model.generate("one")
        assert model.generate("two") == "well"
        model.close()


def test_an_office_that_nobody_holds_closes_by_itself(tmp_path: Path, server: LoopbackServer) -> None:
    from judge.integrations import deepeval as ours

    model = ours.JudgeModel("openai:m", base_url=server.openai_url, store=str(tmp_path / "v.sqlite"))
    model.generate("one")
    before = [thread.name for thread in threading.enumerate()]
    del model
    gc.collect()
    assert before.count("judge") - [thread.name for thread in threading.enumerate()].count("judge") == 1


def test_a_panel_is_refused(tmp_path: Path) -> None:
    from judge.integrations import deepeval as ours

    model = ours.JudgeModel("openai:a", panel=("openai:b",), base_url="http://127.0.0.1:9/v1")
    with pytest.raises(InputError, match="one model is asked"):
        model.generate("one")


def test_a_pytest_of_somebody_else_leaves_nothing_behind(tmp_path: Path) -> None:
    """A project of its own: only the server is called, and only the store and its cache are written."""
    with LoopbackServer(answer) as server:
        (tmp_path / "test_mine.py").write_text(
            f"""
import os, socket
genuine = socket.socket.connect
def connect(self, address):
    assert not isinstance(address, tuple) or address[0] == "127.0.0.1", address
    return genuine(self, address)
socket.socket.connect = connect

from judge.integrations.deepeval import ContextualRelevancyAP, JudgeModel
from deepeval import assert_test
from deepeval.test_case import LLMTestCase

def test_the_order_is_good():
    model = JudgeModel("openai:qwen", base_url={server.openai_url!r}, store="v.sqlite", scale="binary")
    case = LLMTestCase(input={PUPPY_QUERY!r}, retrieval_context={list(PUPPY_SNIPPETS)!r})
    assert_test(case, [ContextualRelevancyAP(model, threshold=0.7)])
""",
            encoding="utf-8",
        )
        environ = {name: value for name, value in os.environ.items() if not name.startswith("DEEPEVAL")}
        quiet = {"PYTHONDONTWRITEBYTECODE": "1", "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"}
        done = subprocess.run(
            [sys.executable, "-m", "pytest", "-q", "-p", "no:cacheprovider", "test_mine.py"], cwd=tmp_path,
            capture_output=True, text=True, timeout=120, check=False,
            env={**environ, **quiet, "HOME": str(tmp_path)},
        )  # fmt: skip
    assert done.returncode == 0, done.stdout + done.stderr
    left = {path.name for path in tmp_path.iterdir()}
    beside_it = {"v.sqlite-wal", "v.sqlite-shm", "v.sqlite.locks", "v.sqlite.cache"}
    assert left - beside_it == {"test_mine.py", "v.sqlite"}


OURS, THEIRS = "judge.integrations.deepeval", "deepeval"
OPT_OUT = "DEEPEVAL_TELEMETRY_OPT_OUT"


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with settings for DeepEval."""
    folder = tmp_path_factory.mktemp("imports")
    (folder / ".env").write_text("OWN_SETTING=from-dotenv\n")
    return folder


@pytest.fixture(scope="module")
def environment_alone(folder: Path) -> dict[str, str]:
    """Return the environment of a process that has imported DeepEval and not yet judge."""
    return list_environments_after((THEIRS, OURS), "0", folder)[0][0]


@pytest.mark.parametrize(
    ("order", "given"),
    [
        pytest.param((OURS, THEIRS), None, id="ours first-None"),
        pytest.param((OURS, THEIRS), "0", id="ours first-0", marks=pytest.mark.slow),
        pytest.param((THEIRS, OURS), None, id="theirs first-None", marks=pytest.mark.slow),
        pytest.param((THEIRS, OURS), "0", id="theirs first-0"),
    ],
)
def test_importing_changes_no_environment_but_the_opt_out_of_telemetry(
    order: tuple[str, ...], given: str | None, folder: Path, environment_alone: dict[str, str]
) -> None:
    (_, both), sends_none = list_environments_after(order, given, folder)
    assert environment_alone["OWN_SETTING"] == "from-dotenv"
    assert both == environment_alone | {OPT_OUT: given or "1"}
    assert sends_none == (given is None)


@cache
def list_environments_after(
    modules: tuple[str, ...], given: str | None, folder: Path
) -> tuple[list[dict[str, str]], bool]:
    """Return os.environ after each import of a process, and whether DeepEval is opted out at its end."""
    environ = {name: value for name, value in os.environ.items() if not name.startswith("DEEPEVAL")}
    program = (
        "import importlib, json, os, sys\n"
        "after = [(importlib.import_module(name), dict(os.environ))[1] for name in sys.argv[1:]]\n"
        "from deepeval.telemetry.client import telemetry_opt_out\n"
        "print(json.dumps([after, telemetry_opt_out()]))\n"
    )
    done = subprocess.run(
        [sys.executable, "-c", program, *modules], cwd=folder,
        capture_output=True, text=True, timeout=120, check=True,
        env=environ | {"HOME": str(folder), "PYTEST_CURRENT_TEST": ""} | ({OPT_OUT: given} if given else {}),
    )  # fmt: skip
    environments, sends_none = json.loads(done.stdout.splitlines()[-1])
    return environments, sends_none


@pytest.mark.parametrize("suffix", ["json", "jsonl", "csv"])
def test_files_that_deepeval_saves_are_datasets(
    tmp_path: Path, suffix: Literal["json", "jsonl", "csv"]
) -> None:
    from deepeval.dataset import EvaluationDataset
    from deepeval.test_case import LLMTestCase, RetrievedContextData

    cases = EvaluationDataset()
    page = RetrievedContextData(source="https://a.example/tea", context="two, with a comma")
    contexts: dict[str, list[str | RetrievedContextData]] = {"7": ["one text", page], "8": []}
    for query_id, context in contexts.items():
        metadata = {"engine": "bing", "query_id": query_id}
        case = LLMTestCase(
            input=f"query {query_id}", expected_output="e", retrieval_context=context, metadata=metadata
        )
        cases.add_test_case(case)
    file = cases.save_as(suffix, str(tmp_path), file_name="cases", include_test_cases=True)
    data = read_dataset(Path(file), lang="en", max_chars=400)
    assert {query.id: (query.text, query.reference) for query in data.queries.values()} == {
        "7": ("query 7", "e"),
        "8": ("query 8", "e"),
    }
    rankings = [
        (each.engine, [(snippet.url, snippet.text) for snippet in each.snippets]) for each in data.rankings
    ]
    assert rankings == [
        ("bing", [("", "one text"), ("https://a.example/tea", "two, with a comma")]),
        ("bing", []),
    ]


def test_without_the_extra_the_error_of_the_import_says_how_to_install_it() -> None:
    program = "import sys; sys.modules['deepeval'] = None; import judge.integrations.deepeval"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False)
    assert done.returncode == 1
    *_, error, advice = done.stderr.splitlines()
    assert error.startswith("ModuleNotFoundError: ")
    assert advice.startswith("pip install 'search-judge[deepeval]'")
