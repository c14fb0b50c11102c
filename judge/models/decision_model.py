"""Decision models: the probability of each grade, from the log-probabilities of one token.

A language model is asked for the grade alone, so it gives no reason. The grade is the most probable one.
"""

import json
import unicodedata
from collections.abc import Mapping
from dataclasses import replace
from math import exp
from operator import itemgetter

from judge.errors import RequestRejected
from judge.messages import Message
from judge.models.chat_messages import as_mapping
from judge.models.providers import Model
from judge.records import Completion, Lang, Params, Prompt, ScaleName

#: The token of each grade.
TOKENS: Mapping[ScaleName, tuple[str, ...]] = {"binary": ("no", "yes"), "graded": ("0", "1", "2", "3")}
#: The most by which rounding lifts the log-probability of a certain token above 0.
_ROUNDING = 0.01
#: Below this log-probability, a probability is 0.
_SMALLEST = -1e4
_REASONS: Mapping[Lang, str] = {
    "zh": "各等级的概率：{shares}；决策模型不给出理由。",
    "en": "Probabilities of the grades: {shares}; a decision model gives no reason.",
}


class DecisionModel:
    """A chat `model` that returns log-probabilities, whose first token is the verdict."""

    def __init__(self, model: Model) -> None:
        self.name = f"decision:{model.name}"
        self.endpoint, self.is_local = model.endpoint, model.is_local
        self.params: Params = model.params
        self._model = model

    async def complete(self, prompt: Prompt) -> Completion:
        """Return the verdict as JSON, with the probabilities; raise CallError if the token is not a grade."""
        completion = await self._model.complete(prompt)
        tokens = TOKENS[prompt.scale.name]
        probabilities = read_probabilities(completion.logprobs, tokens)
        if probabilities is None:
            candidates = _read_candidates(completion.logprobs)
            detail = Message(
                "the server returned no log-probabilities; omit 'decision:', or take another server"
            )
            if candidates:
                detail = Message("the first token, {token!r}, is no grade", token=candidates[0][0][:20])
            raise RequestRejected("bad_request", detail, usage=completion.usage)
        grade = probabilities.index(max(probabilities))
        shares = ", ".join(f"{at}: {share:.1%}" for at, share in enumerate(probabilities))
        by_scale = {"verdict": tokens[grade]} if prompt.scale.name == "binary" else {"grade": grade}
        reply = {"reason": _REASONS[prompt.lang].format(shares=shares), **by_scale}
        text = json.dumps({**reply, "probabilities": probabilities}, ensure_ascii=False)
        return replace(completion, text=text, finish_reason="stop", logprobs=None)

    async def aclose(self) -> None:
        """Close the connections; the model cannot be used afterwards."""
        await self._model.aclose()


def read_probabilities(logprobs: object, tokens: tuple[str, ...]) -> list[float] | None:
    """Return the probability of each of `tokens` among them; None unless the most probable token is one.

    `logprobs` is that of a choice, in the form of OpenAI. Spaces, case and width of a token do not count.
    """
    sums = dict.fromkeys(tokens, 0.0)
    candidates = [
        (unicodedata.normalize("NFKC", token).strip().casefold(), logprob)
        for token, logprob in _read_candidates(logprobs)
    ]
    for token, logprob in candidates:
        if token in sums:
            sums[token] += exp(max(logprob, _SMALLEST))
    total = sum(sums.values())
    return [value / total for value in sums.values()] if total and candidates[0][0] in sums else None


def _read_candidates(logprobs: object) -> list[tuple[str, float]]:
    """Return the candidates for the first token with their log-probabilities, the most probable one first.

    With a token or a log-probability that cannot be read, the most probable one is not known: return none.
    """
    content = as_mapping(logprobs).get("content")
    listed = as_mapping(content[0]).get("top_logprobs") if isinstance(content, list) and content else None
    candidates = []
    for candidate in map(as_mapping, listed if isinstance(listed, list) else ()):
        token, logprob = candidate.get("token"), candidate.get("logprob")
        if not isinstance(token, str) or not isinstance(logprob, int | float) or not logprob <= _ROUNDING:
            return []
        candidates.append((token, logprob))
    return sorted(candidates, key=itemgetter(1), reverse=True)
