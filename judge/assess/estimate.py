"""The estimate of a run before it costs anything: calls are counted, tokens are estimated.

The estimate uses earlier calls of the same model, server, parameters and prompt. Without enough of them, it
uses an approximate rule and states this.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import astuple, dataclass, field, replace
from datetime import datetime
from math import ceil
from typing import Any

import numpy as np

from judge.assess.assessor import Assessor
from judge.assess.assignment_plan import AssignmentPlan
from judge.assess.prompt_examples import CACHED_PREFIX
from judge.assess.question_assessor import Answer, Name, QuestionAssessor, QuestionKind, parse_answers
from judge.characters import estimate_tokens
from judge.client.limiter import UNCONFIRMED_CONCURRENCY
from judge.models.batch_api import MAX_REQUESTS, BatchModel
from judge.models.negotiation import find_max_tokens
from judge.pricing.prices import Price
from judge.records import RERANKER, Pair, Prompt, Usage
from judge.store.store import StoredVerdict, UsageHistory, VerdictStore

#: Tokens that a reason of one or two sentences and its verdict take.
_REPLY_TOKENS = 80
#: Tokens of thinking that a reply is assumed to have with --thinking; models differ by a factor of ten.
_THINKING_TOKENS = 1_000
#: Tokens that the rule adds to those of the texts: for the roles and turns of a chat, and for the random
#: digits of a fence's marks.
_CHAT_TOKENS = 20
#: Seconds that a call is assumed to take at a server without earlier calls.
_LATENCY = 2.0
#: The fewest earlier verdicts with a token count from which tokens are estimated.
_MIN_HISTORY = 20
#: A pause ends a stretch of calls: a pause of many seconds, or one that is several times longer than most. A
#: stretch that is shorter than the last value gives no rate.
_PAUSE, _SHORT_PAUSE, _TIMES_LONGER, _MIN_STRETCH = 30.0, 3.0, 5.0, 5.0


@dataclass(frozen=True, slots=True)
class ThinkingEstimate:
    """The tokens of thinking that the rule adds to each reply.

    `max_usd` is what the calls would cost if each reply had `max_tokens`, None when the price is unknown.
    """

    tokens: int
    max_tokens: int
    max_usd: float | None


@dataclass(frozen=True, slots=True)
class AssessorEstimate:
    """What a run would ask of one model: `judgments` in all, `known` of them stored, `calls` to pay for.

    `retry_calls` further calls are expected for retries and re-asks; the tokens include theirs. Tokens, `usd`
    and `seconds` are estimates, `usd` None when the price is unknown. The estimate follows from
    `earlier_calls`, and from an approximate rule for the prompts `by_rule`. `pace` is the number of calls a
    second that the server accepted last time. It is None when `seconds` comes from an assumed `latency` of
    calls, of which `concurrency` are in flight.

    `judgments_in_batches` are in batches that have not ended; they are paid for. In `batches` the calls would
    cost `batch_usd`; `batches` is 0 for a model without a Batch API. `thinking` is None without
    --thinking and without replies by rule.
    """

    judgments: int
    known: int
    calls: int
    retry_calls: int
    prompt_tokens: int
    completion_tokens: int
    price: Price | None
    usd: float | None
    seconds: float
    earlier_calls: int
    by_rule: int
    pace: float | None
    concurrency: int
    latency: float = _LATENCY
    judgments_in_batches: int = 0
    batches: int = 0
    batch_usd: float | None = None
    thinking: ThinkingEstimate | None = None


@dataclass(frozen=True, slots=True)
class QuestionEstimate:
    """At most `calls` calls for questions besides grades; tokens and `usd` are estimates.

    `known` further questions have a stored answer.
    """

    known: int
    calls: int
    prompt_tokens: int
    completion_tokens: int
    usd: float | None

    def __add__(self, other: QuestionEstimate) -> QuestionEstimate:
        usd = None if self.usd is None or other.usd is None else self.usd + other.usd
        return QuestionEstimate(
            self.known + other.known,
            self.calls + other.calls,
            self.prompt_tokens + other.prompt_tokens,
            self.completion_tokens + other.completion_tokens,
            usd,
        )


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """What a run would need now: its results, pairs and repeats, and an estimate for each assessor.

    `dimensions` has an estimate for each dimension that asks the first model.
    """

    results: int
    pairs: int
    repeats: int
    remarks: tuple[str, ...]
    assessors: Mapping[str, AssessorEstimate]
    dimensions: Mapping[str, QuestionEstimate] = field(default_factory=dict)


class QuestionEstimator:
    """Estimates the cost of questions besides grades; asks none, and returns the answers in `store`.

    `open_assessor` opens the assessor of a kind of question, and returns the price of its model.
    """

    def __init__(
        self,
        open_assessor: Callable[[QuestionKind[Any]], tuple[QuestionAssessor, Price | None]],
        store: VerdictStore | None,
        *,
        thinking: bool,
    ) -> None:
        self._open_assessor = open_assessor
        self._store = store
        self._thinking = thinking
        #: The numbers of questions with and without an answer, by dimension and name of the kind.
        self._counts: dict[tuple[str, str], tuple[int, int]] = {}

    def ask(self, kind: QuestionKind[Answer], pairs: Mapping[Name, Pair]) -> dict[Name, Answer]:
        """Return the stored answer to each of `pairs` by its name, and count the others."""
        keys: dict[tuple[str, str], str] = {}
        if pairs:
            assessor, _ = self._open_assessor(kind)
            keys = {pair.key: assessor.make_keys(pair, 1)[0].hex() for pair in pairs.values()}
        answers = self._store.find_answers(keys.values()) if self._store else {}
        known_count = sum(key in answers for key in keys.values())
        self._counts[kind.dimension, kind.name] = known_count, len(keys) - known_count
        replies = {
            pair_key: answer.reply
            for pair_key, key in keys.items()
            if isinstance(answer := answers.get(key), StoredVerdict)
        }
        return parse_answers(kind, pairs, replies)

    def estimate(
        self, kind: QuestionKind[Any], max_questions: int, shown_tokens: float, reply_tokens: int
    ) -> QuestionEstimate:
        """Return what at most `max_questions` questions would cost, each with these tokens."""
        assessor, price = self._open_assessor(kind)
        known_count, calls = self._count_calls(kind, max_questions)
        templates = assessor.prompts.templates.values()
        instruction_tokens = max(estimate_tokens(template.system) for template in templates)
        tokens = instruction_tokens + shown_tokens + 2 * _CHAT_TOKENS
        reply_tokens += _THINKING_TOKENS if self._thinking else 0
        usage = Usage(prompt_tokens=round(calls * tokens), completion_tokens=calls * reply_tokens)
        usd = _compute_usd(price, usage)
        return QuestionEstimate(known_count, calls, usage.prompt_tokens, usage.completion_tokens, usd)

    def _count_calls(self, kind: QuestionKind[Any], max_questions: int) -> tuple[int, int]:
        """Return how many questions of a kind have a stored answer, and how many need one.

        These are at most `max_questions`. The second is an upper bound where the questions are not known:
        those of a kind that was not asked, or that depend on answers that are missing.
        """
        known_count, missing = self._counts.get((kind.dimension, kind.name), (0, max_questions))
        for (dimension, name), (_, unanswered) in self._counts.items():
            if (dimension, name) == (kind.dimension, kind.name):
                break
            if dimension == kind.dimension and unanswered:
                missing = max(max_questions - known_count, 0)
        return known_count, missing


def estimate_run(
    plan: AssignmentPlan,
    store: VerdictStore | None,
    price: Price | None,
    concurrency: int,
    *,
    thinking: bool,
) -> AssessorEstimate:
    """Return what judging would cost now, given the verdicts in `store`, if there is one.

    `price` is None where it is unknown; at most `concurrency` requests are in flight.
    """
    assessor = plan.assessor
    missing = plan.find_missing(store)
    keys = list(plan.iter_keys(missing))
    past = store.read_usage_by_prompt(assessor.settings_digest) if store else []
    in_batch = store.batches.find(keys) if store else {}
    learned = {history.prompt_version: history for history in past if history.counted >= _MIN_HISTORY}
    reply_tokens = _estimate_reply(assessor, thinking=thinking)
    versions, by_rule = Counter[str](), Usage()
    for request in plan.read_requests(missing):
        assignment = request.assignment
        if assignment.key not in in_batch:
            version = assessor.prompts.templates[assignment.pair.query.lang].version
            versions[version] += 1
            if version not in learned:
                by_rule += _estimate_by_rule(assessor.prompts.render(assignment.pair), reply_tokens)
    calls = versions.total()
    by_history, retry_calls = _estimate_from_history(learned, versions)
    usage = by_history + by_rule
    by_rule_count = sum(count for version, count in versions.items() if version not in learned)
    pace = _measure_call_rate(store.count_calls_by_second(assessor.settings_digest)) if store else None
    return AssessorEstimate(
        judgments=len(plan),
        known=len(plan) - len(missing),
        calls=calls,
        retry_calls=round(retry_calls),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        price=price,
        usd=_compute_usd(price, usage),
        seconds=(calls + retry_calls) / pace if pace else _assume_seconds(calls + retry_calls, concurrency),
        earlier_calls=sum(learned[version].calls for version in versions if version in learned),
        by_rule=by_rule_count,
        pace=pace,
        concurrency=concurrency,
        judgments_in_batches=sum(key in in_batch for key in keys),
        batches=ceil(calls / MAX_REQUESTS) if isinstance(assessor.model, BatchModel) else 0,
        # Not all providers have a cache for batches.
        batch_usd=_compute_usd(price, replace(usage, cached_tokens=0), in_batch=True),
        thinking=_bound_thinking(assessor, usage, by_rule_count, reply_tokens, price)
        if thinking and by_rule_count
        else None,
    )


def _compute_usd(price: Price | None, usage: Usage, *, in_batch: bool = False) -> float | None:
    return None if price is None else price.compute_usd(usage, in_batch=in_batch)


def _estimate_reply(assessor: Assessor, *, thinking: bool) -> int:
    """Return how many tokens the rule expects of a reply: at most as many as the parameters allow."""
    if assessor.model.name.startswith(RERANKER):
        return 0
    tokens = _REPLY_TOKENS + (_THINKING_TOKENS if thinking else 0)
    return min(tokens, find_max_tokens(assessor.model.params) or tokens)


def _bound_thinking(
    assessor: Assessor, usage: Usage, replies: int, reply_tokens: int, price: Price | None
) -> ThinkingEstimate:
    """Return what `usage` can cost at most; `replies` of it are estimated as `reply_tokens` each."""
    max_tokens = find_max_tokens(assessor.model.params) or reply_tokens
    more = Usage(completion_tokens=replies * (max_tokens - reply_tokens))
    return ThinkingEstimate(
        max(0, reply_tokens - _REPLY_TOKENS), max_tokens, _compute_usd(price, usage + more)
    )


def _estimate_from_history(
    learned: Mapping[str, UsageHistory], versions: Mapping[str, int]
) -> tuple[Usage, float]:
    """Return the usage of the prompts whose version has a history, and how many calls are made again."""
    usage, retry_calls = Usage(), 0.0
    for version, count in versions.items():
        if history := learned.get(version):
            factor = count / history.counted
            usage += Usage(*(round(number * factor) for number in astuple(history.usage)))
            retry_calls += count * (history.calls / history.verdicts - 1)
    return usage, retry_calls


def _estimate_by_rule(prompt: Prompt, reply_tokens: int) -> Usage:
    """Return the usage of a request; instructions that are long enough come from the provider's cache."""
    instructions = estimate_tokens(prompt.system)
    return Usage(
        prompt_tokens=round(instructions + estimate_tokens(prompt.user) + _CHAT_TOKENS),
        cached_tokens=round(instructions) if instructions >= CACHED_PREFIX else 0,
        completion_tokens=reply_tokens,
    )


def _measure_call_rate(calls: Mapping[datetime, int]) -> float | None:
    """Return calls a second in the last unbroken stretch of calls, None when it is too short."""
    by_second = {second.timestamp(): count for second, count in calls.items()}
    seconds = sorted(by_second)
    gaps = np.diff(seconds)
    pause = min(_PAUSE, max(_SHORT_PAUSE, _TIMES_LONGER * float(np.median(gaps)))) if gaps.size else _PAUSE
    breaks = [index for index, gap in enumerate(gaps, start=1) if gap > pause]
    stretch = seconds[breaks[-1] :] if breaks else seconds
    if not stretch or stretch[-1] - stretch[0] < _MIN_STRETCH:
        return None
    # The calls of the first second were made before it: they only show when the others began.
    return sum(by_second[second] for second in stretch[1:]) / (stretch[-1] - stretch[0])


def _assume_seconds(calls: float, concurrency: int) -> float:
    later = max(0.0, calls - UNCONFIRMED_CONCURRENCY)
    return _LATENCY * (min(ceil(calls), 1) + ceil(later / concurrency))
