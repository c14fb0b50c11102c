"""Integration with DeepEval: the assessor as metrics, and models of judge as models for DeepEval metrics.

    from judge.integrations.deepeval import ContextualRelevancyAP, JudgeModel
    model = JudgeModel("dashscope:qwen-plus")
    assert_test(test_case, [ContextualRelevancyAP(model), FaithfulnessMetric(model=model)])

Retries, the verdict store and the ledger are those of judge. An unjudged snippet is an error, not a zero.

DeepEval calls from threads, from event loops, and from neither. So a model of judge has one event loop in one
background thread, with its own client and store. All callers share the verdicts that were paid.
"""

import asyncio
from collections.abc import Iterator, Mapping
from concurrent.futures import Future
from contextlib import contextmanager
from typing import Any, Literal, TypedDict, TypeVar

from pydantic import BaseModel, ValidationError

from judge.config.run import Config
from judge.dataset.rows import InputRecord
from judge.errors import InputError, JudgeError, ReplyParseError, advise_install
from judge.integrations.background_runner import BackgroundRunner, JudgedPairs, Resources
from judge.measure.measures import parse_measures
from judge.measure.score import score_rankings
from judge.parsing.final_answer import extract_final_answer
from judge.records import BINARY, Completion, Prompt, is_complete_reply

try:
    from deepeval.metrics import BaseMetric
    from deepeval.models import DeepEvalBaseLLM
    from deepeval.test_case import LLMTestCase, SingleTurnParams
except ModuleNotFoundError as error:
    error.add_note(str(advise_install("deepeval")))
    raise

_SchemaT = TypeVar("_SchemaT", bound=BaseModel)


class JudgeModel(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
    """A model of judge for metrics of DeepEval, with or without a schema, sync and async.

    `model` is what `judge run -m` takes, `options` are those of `judge.Config` (`base_url`, `store`,
    `concurrency`, `scale`, …). Raise InputError when they are wrong.
    """

    def __init__(self, model: str, **options: object) -> None:
        self.config = Config.load(None, model=model, **options)
        self.runner = BackgroundRunner(self.config)
        super().__init__(model)
        self.name = self.load_model()

    def load_model(self) -> str:  # type: ignore[override]  # a reference to itself would delay the finalizer
        """Return the name of the model, which is opened at the first call."""
        return self.config.mask_models()[0]

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


class SnippetVerdict(TypedDict):
    """The verdict of the assessor on the snippet at `rank`."""

    rank: int
    verdict: Literal["yes", "no"]
    grade: int
    reason: str
    flags: list[str]


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
        self.verdicts: list[SnippetVerdict] = []

    def measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Return the score; raise JudgeError, and store it in `error`, when a snippet stays unjudged."""
        with self._record_failure():
            rows = self._reset(test_case)
            return self._set_score(self._judge_rows(rows).result() if rows else None)

    async def a_measure(self, test_case: LLMTestCase, *_: object, **__: object) -> float:
        """Return the same as `measure`, without blocking the loop of the caller."""
        with self._record_failure():
            rows = self._reset(test_case)
            future = asyncio.wrap_future(self._judge_rows(rows)) if rows else None
            return self._set_score(await future if future else None)

    @property
    def __name__(self) -> str:
        return self._title

    def _reset(self, test_case: LLMTestCase) -> list[InputRecord]:
        """Forget the last result; return the rows of the test case."""
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

    def _judge_rows(self, rows: list[InputRecord]) -> Future[JudgedPairs]:
        return self.model.runner.submit(lambda resources: resources.judge(rows, self.k))

    @contextmanager
    def _record_failure(self) -> Iterator[None]:
        try:
            yield
        except JudgeError as error:
            self.error, self.success = str(error), False
            raise

    def _set_score(self, judged_pairs: JudgedPairs | None) -> float:
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


def _make_verdict_rows(judged_pairs: JudgedPairs, relevant_from: int) -> list[SnippetVerdict]:
    """Return one row per snippet, in rank order, from the judgments of the first repeat."""
    (ranking,) = judged_pairs.data.rankings
    by_snippet = {
        judgment.snippet_id: judgment for judgment in judged_pairs.judgments if judgment.repeat == 1
    }
    ranked = [by_snippet[snippet.id] for snippet in ranking.snippets[: judged_pairs.pool.depth]]
    return [
        SnippetVerdict(
            rank=rank,
            verdict="yes" if (grade := judgment.grade or 0) >= relevant_from else "no",
            grade=grade,
            reason=judgment.reason,
            flags=list(judgment.flags),
        )
        for rank, judgment in enumerate(ranked, start=1)
    ]


async def _generate_reply(resources: Resources, text: str, schema: type[_SchemaT] | None) -> str | _SchemaT:
    """Return the reply for DeepEval; ask once more when it does not match the schema."""

    def fit(completion: Completion) -> str | _SchemaT:
        return _fit_schema(completion.text, schema, cut=not is_complete_reply(completion.finish_reason))

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
