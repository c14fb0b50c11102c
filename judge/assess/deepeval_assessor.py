"""Judging with the ContextualRelevancyMetric of DeepEval, which asks for one verdict per snippet.

This method lets users compare judge with DeepEval on the same pairs. DeepEval is imported with this module,
which is imported only when the method is selected.
"""

from __future__ import annotations

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
from judge.assess.prompts import load_prompts, make_object_schema
from judge.errors import ReplyParseError
from judge.models.providers import Model
from judge.parsing.final_answer import extract_final_answer
from judge.records import BINARY, Completion, JsonSchema, Prompt, Verdict, is_complete_reply

_PROMPTS = Path(__file__).parent / "deepeval_prompts"
_VERDICT = make_object_schema(
    {
        "statement": {"type": "string"},
        "reason": {"type": "string"},
        "verdict": {"type": "string", "enum": ["yes", "no"]},
    }
)
#: The reply for DeepEval: a list of verdicts, which must have exactly one.
_VERDICTS_SCHEMA: JsonSchema = make_object_schema({"verdicts": {"type": "array", "items": _VERDICT}})


class DeepEvalAssessor(Assessor):
    """An assessor with the ContextualRelevancyMetric of DeepEval: yes or no, with a reason.

    DeepEval renders the prompt and parses the reply; judge does the rest.
    """

    def __init__(self, model: Model, as_of: str | None = None) -> None:
        prompts = replace(load_prompts(_PROMPTS, BINARY).set_today(as_of), schema=_VERDICTS_SCHEMA)
        reader = f"deepeval-{version('deepeval')}"
        super().__init__(model, prompts, BINARY, reader, name=f"{model.name}/{BINARY.name}/{reader}")

    async def _read_verdict(self, completion: Completion, prompt: Prompt) -> Verdict:
        """Return the verdict that DeepEval reads; raise ReplyParseError unless there is exactly one."""
        answer = extract_final_answer(completion.text, cut=not is_complete_reply(completion.finish_reason))
        metric = ContextualRelevancyMetric(
            model=_AnsweredModel(self.model.name, answer),
            evaluation_template=_make_template(prompt.user),
            include_reason=False,
        )
        # The prompt has both already. DeepEval itself would act on marks of images in these texts.
        case = LLMTestCase(input="query", retrieval_context=["snippet"])
        try:
            await metric.a_measure(case, _show_indicator=False)
        except (DeepEvalError, ValueError, KeyError, TypeError, AttributeError) as error:
            raise ReplyParseError("malformed", f"DeepEval can't read the reply: {error}") from error
        verdicts = [verdict for part in metric.verdicts_list for verdict in part.verdicts]
        if len(verdicts) != 1:
            kind = "ambiguous" if verdicts else "missing_key"
            raise ReplyParseError(kind, f"DeepEval read {len(verdicts)} verdicts, which must be exactly one")
        return Verdict(int(verdicts[0].verdict is YesNo.YES), verdicts[0].reason or verdicts[0].statement)


class _AnsweredModel(DeepEvalBaseLLM):  # type: ignore[no-untyped-call]
    """The model for DeepEval: its `answer` is there already."""

    def __init__(self, name: str, answer: str) -> None:
        self._answer = answer
        super().__init__(name)

    def load_model(self) -> _AnsweredModel:
        return self

    def get_model_name(self) -> str:
        return str(self.name)

    def generate(self, prompt: str) -> str:
        raise RuntimeError("judge asks asynchronously; DeepEval called the other way")

    async def a_generate(self, prompt: str) -> str:
        return self._answer


def _make_template(prompt_text: str) -> Any:  # noqa: ANN401  # DeepEval makes its template classes at run time
    """Return a template of DeepEval that gives the prompt that is rendered already."""

    class RenderedTemplate(ContextualRelevancyTemplate):  # type: ignore[misc]
        @staticmethod
        def generate_verdicts(input: str, context: str) -> str:
            return prompt_text

    return RenderedTemplate
