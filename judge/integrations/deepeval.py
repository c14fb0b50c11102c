"""Integration with DeepEval: the assessor as metrics, and models of judge as models for DeepEval metrics.

    from judge.integrations.deepeval import ContextualRelevancyAP, JudgeModel
    model = JudgeModel("dashscope:qwen-plus")
    assert_test(test_case, [ContextualRelevancyAP(model), FaithfulnessMetric(model=model)])

Retries, the verdict store and the ledger are those of judge. An unjudged snippet is an error, not a zero.

DeepEval calls from threads, from loops and from neither. So a model of judge has one event loop in one
background thread, with the client and the store that belong to it, and all callers share what was paid.
"""

from __future__ import annotations

import asyncio
import hashlib
import json
import threading
import weakref
from collections import defaultdict
from collections.abc import Callable, Coroutine, Iterable, Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from deepeval.metrics import BaseMetric
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase, SingleTurnParams
from pydantic import BaseModel, ValidationError

from judge import factory, run_input
from judge.assess.assessor import NO_VERDICT, Assessor
from judge.assess.assignment_plan import AssignmentPlan
from judge.assess.judging import PanelMember, judge_pairs, make_lease_window
from judge.assess.progress import NullProgress
from judge.client.budget import SpendLimit
from judge.client.cancel import CancelToken
from judge.client.client import ModelClient, PairPermit
from judge.config.run import Config
from judge.dataset.stored_dataset import store_dataset
from judge.errors import ErrorKind, InputError, JudgeError, ReplyParseError, RequestRejected, RunIncomplete
from judge.measure.measures import parse_measures
from judge.measure.score import score_rankings
from judge.messages import SeparatedNames
from judge.parsing.final_answer import extract_final_answer
from judge.records import BINARY, CONTENT_FILTER, Completion, Dataset, Judgment, Pool, Prompt
from judge.store.store import Failure, StoredVerdict, VerdictKeyInfo, VerdictStore
from judge.store.window import LeaseLost, LeaseWindow

T = TypeVar("T")
_SchemaT = TypeVar("_SchemaT", bound=BaseModel)
#: How the store calls replies that hold no verdict; no pair has the key of one.
FREE_REPLY = "free reply"


class JudgeModel(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
    """A model of judge for metrics of DeepEval, with or without a schema, sync and async.

    `model` is what `judge run -m` takes, `options` are those of `judge.Config` (`base_url`, `store`,
    `concurrency`, `scale`, …). Raise InputError when they are wrong.
    """

    def __init__(self, model: str, **options: object) -> None:
        self.config = Config.load(None, model=model, **options)
        self.runner = BackgroundRunner(self.config)
        super().__init__(model)
        self.name = model

    def load_model(self) -> str:  # type: ignore[override]  # a reference to itself would delay the finalizer
        """Return the name of the model, which is opened at the first call."""
        return self.config.model

    def get_model_name(self) -> str:
        """Return the name of the model in judge."""
        return str(self.name)

    def generate(self, prompt: str, schema: type[_SchemaT] | None = None) -> Any:  # noqa: ANN401
        """Return the reply to `prompt`: a string, or an instance of `schema`.

        Raise ReplyParseError when two replies in a row do not match the schema, CallError without a reply.
        """
        return self.runner.submit(lambda resources: _generate_reply(resources, prompt, schema)).result()

    async def a_generate(self, prompt: str, schema: type[_SchemaT] | None = None) -> Any:  # noqa: ANN401
        """Return the same as `generate`, without blocking the loop of the caller."""
        reply = self.runner.submit(lambda resources: _generate_reply(resources, prompt, schema))
        return await asyncio.wrap_future(reply)

    def close(self) -> None:
        """Close connections and the store."""
        self.runner.close()


class _SnippetMetric(BaseMetric):  # type: ignore[no-untyped-call]
    """A measure of the order of the snippets in `retrieval_context` of a test case.

    `input` is the query, `expected_output` the known answer, if there is one. After measuring, `score` is
    the measure down to rank `k`, `reason` explains it, and `verdicts` has a row per snippet: rank, verdict
    (yes or no), grade, reason, flags. The score is normalised by this list alone: use it to tune one
    engine; comparing engines needs a pool (`judge run`).
    """

    _required_params: Any = (SingleTurnParams.INPUT, SingleTurnParams.RETRIEVAL_CONTEXT)
    _measure = ""
    _title = ""

    def __init__(
        self, model: JudgeModel | str, threshold: float = 0.5, k: int = 10, async_mode: bool = True
    ) -> None:
        self.model: JudgeModel = JudgeModel(model) if isinstance(model, str) else model
        self.threshold = threshold
        self.k = k
        self.async_mode = async_mode
        self.using_native_model = False
        self.include_reason = True
        self.evaluation_model = self.model.get_model_name()
        self.verdicts: list[dict[str, Any]] = []

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Return the score; raise JudgeError, and store it in `error`, when a snippet stays unjudged."""
        with self._record_failure():
            rows = self._begin(test_case)
            return self._settle(self._submit(rows).result() if rows else None)

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Return the same as `measure`, without blocking the loop of the caller."""
        with self._record_failure():
            rows = self._begin(test_case)
            future = asyncio.wrap_future(self._submit(rows)) if rows else None
            return self._settle(await future if future else None)

    @property
    def __name__(self) -> str:
        return self._title

    def _begin(self, test_case: LLMTestCase) -> list[dict[str, Any]]:
        self.score, self.reason, self.success, self.error, self.verdicts = None, None, None, None, []
        if not test_case.input or test_case.retrieval_context is None:
            raise InputError("{metric} needs `input` and `retrieval_context`", metric=self._title)
        return [
            {
                "query": test_case.input,
                "snippet": text if isinstance(text, str) else text.context,
                "rank": rank,
            }
            | ({"reference": test_case.expected_output} if test_case.expected_output else {})
            for rank, text in enumerate(test_case.retrieval_context, start=1)
        ]

    def _submit(self, rows: list[dict[str, Any]]) -> Future[JudgedPairs]:
        return self.model.runner.submit(lambda resources: resources.judge(rows, self.k))

    @contextmanager
    def _record_failure(self) -> Iterator[None]:
        try:
            yield
        except JudgeError as error:
            self.error, self.success = str(error), False
            raise

    def _settle(self, judged_pairs: JudgedPairs | None) -> float:
        self.score = 0.0
        if judged_pairs is not None:
            scale, data = self.model.config.grading, judged_pairs.data
            self.verdicts = _make_verdict_rows(judged_pairs, scale.relevant_from)
            measures = parse_measures([f"{self._measure}@{self.k}"])
            scores = score_rankings(data.rankings, judged_pairs.judgments, measures, scale, depth=self.k)
            self.score = float(scores.value.mean())
        relevant = [str(row["rank"]) for row in self.verdicts if row["verdict"] == "yes"]
        self.reason = (
            f"{len(relevant)} of {len(self.verdicts)} snippets are relevant"
            + (f" (ranks {', '.join(relevant)})" if relevant else "")
            + "".join(f"\n{row['rank']}. {row['verdict']}: {row['reason']}" for row in self.verdicts)
        )
        self.success = self.score >= (self.threshold or 0.0)
        return self.score


class ContextualRelevancyAP(_SnippetMetric):  # type: ignore[no-untyped-call]
    """Average precision of the list alone: AP(own)@k, higher when relevant snippets come first."""

    _measure = "AP(own)"
    _title = "Contextual Relevancy AP"


class ContextualRelevancyNDCG(_SnippetMetric):  # type: ignore[no-untyped-call]
    """nDCG of the list alone: nDCG(own)@k, 1 for the best order of its snippets."""

    _measure = "nDCG(own)"
    _title = "Contextual Relevancy NDCG"


def _make_verdict_rows(judged_pairs: JudgedPairs, relevant_from: int) -> list[dict[str, Any]]:
    """Return one row per snippet, in rank order, from the judgments of the first repeat."""
    (ranking,) = judged_pairs.data.rankings
    by_snippet = {
        judgment.snippet_id: judgment for judgment in judged_pairs.judgments if judgment.repeat == 1
    }
    rows = []
    for rank, snippet in enumerate(ranking.snippets[: judged_pairs.pool.depth], start=1):
        judgment = by_snippet[snippet.id]
        grade = judgment.grade or 0
        verdict = "yes" if grade >= relevant_from else "no"
        row = {"rank": rank, "verdict": verdict, "grade": grade}
        rows.append({**row, "reason": judgment.reason, "flags": list(judgment.flags)})
    return rows


async def _generate_reply(resources: Resources, text: str, schema: type[_SchemaT] | None) -> str | _SchemaT:
    """Return the reply for DeepEval; ask once more when it does not match the schema."""

    def fit(completion: Completion) -> str | _SchemaT:
        return _fit_schema(completion.text, schema, cut=completion.finish_reason == "length")

    prompt = _make_prompt(text, schema)
    try:
        reply = await resources.get_reply(prompt, fit)
    except ReplyParseError:
        request = "Reply with one JSON object that fits the schema asked for, and nothing else."
        request = request if schema else "Reply with the answer alone."
        reply = await resources.get_reply(_make_prompt(f"{text}\n\n{request}", schema), fit)
    return _fit_schema(reply, schema, cut=False)


def _make_prompt(text: str, schema: type[BaseModel] | None) -> Prompt:
    shape = make_strict_schema(schema.model_json_schema()) if schema else {}
    return Prompt("", text, shape, "deepeval", query="", snippet="", lang="en", scale=BINARY)


def _fit_schema(reply: str, schema: type[_SchemaT] | None, *, cut: bool) -> str | _SchemaT:
    answer = extract_final_answer(reply, cut=cut)
    if schema is None:
        return answer
    try:
        return schema.model_validate_json(answer[answer.find("{") : answer.rfind("}") + 1])
    except ValidationError as error:
        problem = error.errors(include_url=False, include_input=False)[0]
        raise ReplyParseError("malformed", f"the reply is no {schema.__name__}: {problem['msg']}") from None


def make_strict_schema(schema: Any) -> Any:  # noqa: ANN401 - any part of a schema
    """Return a JSON schema for strict mode: all keys required, no other keys, no defaults."""
    if isinstance(schema, list):
        return [make_strict_schema(part) for part in schema]
    if not isinstance(schema, Mapping):
        return schema
    strict = {name: make_strict_schema(value) for name, value in schema.items() if name != "default"}
    for key in {"properties", "$defs"} & schema.keys():  # whose names are not keywords, such as `default`
        strict[key] = {name: make_strict_schema(part) for name, part in schema[key].items()}
    if "properties" in strict:
        strict |= {"required": list(strict["properties"]), "additionalProperties": False}
    return strict


# The background loop, and what judges on it


@dataclass(frozen=True, slots=True)
class JudgedPairs:
    """The judgments of some rows, with their dataset and pool."""

    data: Dataset
    pool: Pool
    judgments: tuple[Judgment, ...]


@dataclass(frozen=True, slots=True)
class Resources:
    """The objects that belong to the loop of the runner."""

    config: Config
    assessor: Assessor
    client: ModelClient
    store: VerdictStore
    window: LeaseWindow
    #: The store tells processes apart, not callers: two that ask the same at once would pay twice.
    turns: defaultdict[str, asyncio.Lock] = field(default_factory=lambda: defaultdict(asyncio.Lock))

    async def judge(self, rows: Iterable[Mapping[str, Any]], depth: int) -> JudgedPairs:
        """Return the judgments of `rows`, one result of one query each, down to `depth`.

        Raises RunIncomplete, or the reason of the stop, unless every pair has a grade.
        """
        pooled = store_dataset(run_input.open_reader(self.config, rows), depth, None)
        (query,) = pooled.dataset.queries
        async with self.turns[query]:
            member = PanelMember(self.assessor, self.client)
            plan = AssignmentPlan(pooled.pool.pairs, self.assessor, self.config.repeats)
            judging = await judge_pairs(plan, member, self.window, NullProgress())
        if judging.stopped is not None:
            raise judging.stopped
        failed = [str(judgment.error) for judgment in judging.failures]
        if failed:
            kinds = SeparatedNames(map(ErrorKind, dict.fromkeys(failed)))
            raise RunIncomplete(
                "{failed} of {total} snippets stayed unjudged ({kinds})",
                failed=len(failed),
                total=len(judging.judgments),
                kinds=kinds,
            )
        return JudgedPairs(pooled.dataset, pooled.pool, tuple(judging.judgments))

    async def get_reply(self, prompt: Prompt, accept: Callable[[Completion], object]) -> str:
        """Return the model's reply to any prompt: from the store, or paid once and stored when accepted.

        `accept` raises JudgeError when the reply is of no use; then it is not stored.
        """
        model = self.client.model
        key_parts = [FREE_REPLY, model.name, model.endpoint, dict(model.params), dict(prompt.schema)]
        texts = [prompt.system, prompt.user]
        key = hashlib.sha256(json.dumps([*key_parts, *texts], sort_keys=True).encode()).hexdigest()
        async with self.turns[key]:
            while True:
                with suppress(LeaseLost):
                    return await self._request_reply(key, prompt, accept)

    async def _request_reply(self, key: str, prompt: Prompt, accept: Callable[[Completion], object]) -> str:
        lease = await self.window.acquire_when_free(key)
        if isinstance(lease, StoredVerdict):
            return lease.reply
        if isinstance(lease, Failure):
            raise RequestRejected(CONTENT_FILTER, lease.detail)
        async with lease:
            with PairPermit(self.client.limiter, lease) as permit:
                completion = await self.client.complete(prompt, permit)
                accept(completion)
                self.client.limiter.record_verdict()
            stored = self.assessor.make_stored_verdict(NO_VERDICT, completion, ())
            await lease.save(VerdictKeyInfo(self.client.model.name, FREE_REPLY, 1), stored)
        return completion.text


class BackgroundRunner:
    """A background loop that starts at the first call; `close` it, or end the program."""

    def __init__(self, config: Config) -> None:
        self._config = config
        self._opening = threading.Lock()
        self._open: tuple[asyncio.AbstractEventLoop, Resources] | None = None
        self._closing: Callable[[], object] = lambda: None

    def submit(self, work: Callable[[Resources], Coroutine[Any, Any, T]]) -> Future[T]:
        """Run `work` on the background loop and return its result; may be called from any thread."""
        loop, resources = self._open_once()
        return asyncio.run_coroutine_threadsafe(work(resources), loop)

    def close(self) -> None:
        """Close the connections and the store; a later call opens them again."""
        with self._opening:
            self._closing()
            self._open = None

    def _open_once(self) -> tuple[asyncio.AbstractEventLoop, Resources]:
        with self._opening:
            if self._open is None:
                resources = _open_resources(self._config)
                loop = asyncio.new_event_loop()
                thread = threading.Thread(target=loop.run_forever, name="judge", daemon=True)
                thread.start()
                self._open = loop, resources
                self._closing = weakref.finalize(self, _shut_down, loop, resources, thread)
            loop, resources = self._open
            if (old := resources.client).cancel_token.reason is not None:
                # A call after a cancelled run may spend what is left.
                client = ModelClient(old.model, old.limits, CancelToken(), old.spend_limit, old.price)
                window = make_lease_window(resources.store, client)
                self._open = loop, replace(resources, client=client, window=window)
            return self._open


def _open_resources(config: Config) -> Resources:
    if config.panel:
        raise InputError("a panel judges runs (judge run -m A -m B); here one model is asked")
    (assessor,) = factory.build_assessors(config)
    spend_limit = SpendLimit(config.max_calls, config.budget)
    client = factory.build_client(config, assessor.model, CancelToken(), spend_limit)
    store = VerdictStore(Path(config.store or "runs/verdicts.sqlite"))
    return Resources(config, assessor, client, store, make_lease_window(store, client))


def _shut_down(loop: asyncio.AbstractEventLoop, resources: Resources, thread: threading.Thread) -> None:
    if threading.current_thread() is thread:
        # The finalizer may run on the loop's own thread, which cannot join itself.
        threading.Thread(target=_shut_down, args=(loop, resources, thread), name="judge closes").start()
        return
    try:
        asyncio.run_coroutine_threadsafe(_cancel_tasks(resources), loop).result(timeout=10)
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join(timeout=10)
        loop.close()
        resources.store.close()


async def _cancel_tasks(resources: Resources) -> None:
    others = asyncio.all_tasks() - {asyncio.current_task()}
    for task in others:
        task.cancel()
    await asyncio.gather(*others, return_exceptions=True)
    await resources.client.model.aclose()
