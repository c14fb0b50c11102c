"""Owns judging as DeepEval does: its ContextualRelevancyMetric asks, in our words, one verdict a snippet.

This is the method that judge grew out of, on today's DeepEval, so that people can compare the two on the
same pairs. DeepEval is imported with this module, which is imported only when it is asked for.
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping
from dataclasses import replace
from importlib.metadata import version
from pathlib import Path
from typing import Any

from deepeval.errors import DeepEvalError
from deepeval.metrics import ContextualRelevancyMetric
from deepeval.metrics.base_metric import Verdict as YesNo
from deepeval.metrics.contextual_relevancy import ContextualRelevancyTemplate
from deepeval.models import DeepEvalBaseLLM
from deepeval.test_case import LLMTestCase

from judge.assess.assessor import Assessor
from judge.assess.prompts import load_prompts
from judge.errors import JudgeError, ReplyParseError
from judge.models import Model
from judge.parsing.final_answer import extract_final_answer
from judge.records import BINARY, Completion, Prompt, Verdict

_PROMPTS = Path(__file__).parent / "deepeval_prompts"
#: What DeepEval reads: a list of verdicts, of which we ask for exactly one.
VERDICTS_SCHEMA: Mapping[str, Any] = {
    "type": "object",
    "properties": {
        "verdicts": {
            "type": "array",
            "items": {
                "type": "object",
                "properties": {
                    "statement": {"type": "string"},
                    "reason": {"type": "string"},
                    "verdict": {"type": "string", "enum": ["yes", "no"]},
                },
                "required": ["statement", "reason", "verdict"],
                "additionalProperties": False,
            },
        }
    },
    "required": ["verdicts"],
    "additionalProperties": False,
}


class DeepEvalAssessor(Assessor):
    """A model that is asked by DeepEval's ContextualRelevancyMetric: yes or no, with a reason.

    Retries, store and ledger are judge's own; DeepEval renders, calls and reads.
    """

    def __init__(self, model: Model, as_of: str | None = None) -> None:
        prompts = replace(load_prompts(_PROMPTS, BINARY), schema=VERDICTS_SCHEMA)
        reader = f"deepeval-{version('deepeval')}"
        super().__init__(model, prompts, BINARY, as_of, reader)
        self.name = f"{self.name}/{reader}"

    async def _verdict(self, prompt: Prompt, complete: Callable[[], Awaitable[Completion]]) -> Verdict:
        """What DeepEval makes of the reply; raises Unreadable unless that is exactly one verdict."""
        asked = _MetricModel(self.model.name, complete)
        metric = ContextualRelevancyMetric(
            model=asked, evaluation_template=_make_template(prompt.user), include_reason=False
        )
        # The prompt holds both already. DeepEval itself would obey what looks like its marks of images.
        case = LLMTestCase(input="query", retrieval_context=["snippet"])
        try:
            await metric.a_measure(case, _show_indicator=False)
        except (DeepEvalError, ValueError, KeyError, TypeError, AttributeError) as error:
            if asked.fault is not None:
                raise asked.fault from None
            raise ReplyParseError("malformed", f"DeepEval can't read the reply: {error}") from error
        return _read_only_verdict(metric)


class _MetricModel(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
    """The model as DeepEval calls it: one prompt, asked from the pair's own seat."""

    def __init__(self, name: str, complete: Callable[[], Awaitable[Completion]]) -> None:
        self.fault: JudgeError | None = None
        self._complete = complete
        super().__init__(name)

    def load_model(self) -> _MetricModel:
        return self

    def get_model_name(self) -> str:
        return str(self.name)

    def generate(self, prompt: str) -> str:
        raise RuntimeError("judge asks asynchronously; DeepEval called the other way")

    async def a_generate(self, prompt: str) -> str:
        try:
            completion = await self._complete()
            return extract_final_answer(completion.text, cut=completion.finish_reason == "length")
        except JudgeError as fault:
            self.fault = fault
            raise


def _make_template(rendered: str) -> Any:  # noqa: ANN401  # DeepEval makes its template classes at run time
    """A template that asks with a prompt which was rendered when its key was made."""

    class Template(ContextualRelevancyTemplate):  # type: ignore[misc]
        @staticmethod
        def generate_verdicts(input: str, context: str) -> str:
            return rendered

    return Template


def _read_only_verdict(metric: ContextualRelevancyMetric) -> Verdict:
    given = [verdict for verdicts in metric.verdicts_list for verdict in verdicts.verdicts]
    if len(given) != 1:
        kind = "ambiguous" if given else "missing_key"
        raise ReplyParseError(kind, f"DeepEval read {len(given)} verdicts, which must be exactly one")
    return Verdict(int(given[0].verdict is YesNo.YES), given[0].reason or given[0].statement)
