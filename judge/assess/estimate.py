"""Estimate of a run before any call: calls are counted exactly, tokens are estimated.

Tokens are estimated from earlier calls of the same model with the same prompt. Without enough of them a rule
of thumb is used, and the estimate says so.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime

from judge.assess.assessor import Assessor
from judge.assess.judging import split
from judge.assess.schedule import Limits
from judge.assess.store import Past, Store
from judge.characters import estimate_tokens
from judge.pricing.prices import Price, summed
from judge.records import Pool, Prompt, Usage

#: Tokens of a reason of one or two sentences and its verdict.
_REPLY_TOKENS = 80
#: Tokens that the roles of a chat add to its texts, and the digits of fence marks to the rule of thumb.
_CHAT_TOKENS = 20
#: Assumed seconds of a call to a server without earlier calls.
_LATENCY = 2.0
#: The number of earlier verdicts with a token count that is enough for an estimate.
_MIN_HISTORY = 20
#: A pause of this many seconds ends a sequence of calls; a sequence must be this long to tell the rate.
_PAUSE, _MIN_STRETCH = 30.0, 5.0


@dataclass(frozen=True, slots=True)
class RunEstimate:
    """The estimate for one model: `judgments` in all, `known` of them stored already, `calls` to pay for.

    `again` more calls are expected for retries and re-asks; the tokens include theirs. Tokens, `usd` and
    `seconds` are estimates, `usd` is None when the price is unknown. They come from `learned_from` earlier
    calls, and from a rule of thumb for `by_rule` prompts. `pace` is the last rate of calls per second, None
    when `seconds` uses the assumed `latency` instead.
    """

    judgments: int
    known: int
    calls: int
    again: int
    prompt_tokens: int
    completion_tokens: int
    price: Price | None
    usd: float | None
    seconds: float
    learned_from: int
    by_rule: int
    pace: float | None
    latency: float = _LATENCY


def estimate_run(
    pool: Pool, assessor: Assessor, store: Store | None, repeats: int, limits: Limits
) -> RunEstimate:
    """Return the estimate for judging `pool` with the verdicts that `store` has already, if it exists."""
    by_rule, questions_by_key = split(pool, assessor, repeats)
    stored = store.lookup(questions_by_key) if store else {}
    history = store.past(assessor.model.name) if store else []
    to_ask = [questions[0] for key, questions in questions_by_key.items() if key not in stored]
    versions = Counter(question.prompt_version for question in to_ask)
    judgments = len(by_rule) + sum(map(len, questions_by_key.values()))
    histories = _select_versions(history)
    new_pairs = [question.pair for question in to_ask if question.prompt_version not in histories]
    extra_calls = sum(_expect_extra_calls(histories, version, n) for version, n in versions.items())
    usage = summed(
        (
            *_estimate_from_history(histories, versions),
            *map(_estimate_by_rule, map(assessor.render_prompt, new_pairs)),
        )
    )
    rate = _measure_call_rate(store.seconds(assessor.model.name)) if store else None
    return RunEstimate(
        judgments=judgments,
        known=judgments - sum(len(questions_by_key[key]) for key in questions_by_key if key not in stored),
        calls=len(to_ask),
        again=round(extra_calls),
        prompt_tokens=usage.prompt_tokens,
        completion_tokens=usage.completion_tokens,
        price=limits.price,
        usd=None if limits.price is None else limits.price.usd(usage),
        seconds=_estimate_seconds(len(to_ask) + extra_calls, rate, limits.concurrency),
        learned_from=sum(histories[version].calls for version in versions if version in histories),
        by_rule=len(new_pairs),
        pace=rate,
    )


def _select_versions(past: Iterable[Past]) -> Mapping[str, Past]:
    """Return the usage history of each version of a prompt with enough verdicts."""
    return {each.prompt_version: each for each in past if each.counted >= _MIN_HISTORY}


def _expect_extra_calls(learned: Mapping[str, Past], version: str, verdicts: int) -> float:
    experience = learned.get(version)
    return verdicts * (experience.calls / experience.verdicts - 1) if experience else 0.0


def _estimate_from_history(learned: Mapping[str, Past], versions: Mapping[str, int]) -> Iterable[Usage]:
    for version, count in versions.items():
        if version in learned:
            yield _scale_usage(learned[version].usage, count / learned[version].counted)


def _estimate_by_rule(prompt: Prompt) -> Usage:
    tokens = estimate_tokens(prompt.system) + estimate_tokens(prompt.user) + _CHAT_TOKENS
    return Usage(prompt_tokens=round(tokens), completion_tokens=_REPLY_TOKENS)


def _scale_usage(usage: Usage, factor: float) -> Usage:
    return Usage(
        prompt_tokens=round(usage.prompt_tokens * factor),
        cached_tokens=round(usage.cached_tokens * factor),
        completion_tokens=round(usage.completion_tokens * factor),
    )


def _measure_call_rate(calls: Mapping[datetime, int]) -> float | None:
    """Return the calls per second in the last sequence without a pause, None when it is too short."""
    by_second = {second.timestamp(): count for second, count in calls.items()}
    seconds = sorted(by_second)
    breaks = [place for place in range(1, len(seconds)) if seconds[place] - seconds[place - 1] > _PAUSE]
    stretch = seconds[breaks[-1] :] if breaks else seconds
    if not stretch or stretch[-1] - stretch[0] < _MIN_STRETCH:
        return None
    # The calls of the first second are the start of the measurement and do not count.
    return sum(by_second[second] for second in stretch[1:]) / (stretch[-1] - stretch[0])


def _estimate_seconds(calls: float, pace: float | None, concurrency: int) -> float:
    if pace is not None:
        return calls / pace
    return _LATENCY * max(calls / concurrency, min(calls, 1))
