"""Owns the limits of a night: canaries and run share them, and people are told them as they wrote them."""

from __future__ import annotations

import re
from dataclasses import replace

from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.nightly.canaries import CanaryCheck
from judge.report.sentences import counted
from judge.runs.result import RunResult

#: A limit as a run names it: less what canaries took.
_LIMIT = re.compile(r"--(max-calls|budget) [\d.e+-]+( USD)?")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


def unheard(config: Config, check: CanaryCheck | None, rules: NightlyConfig) -> list[str]:
    """Why the run does not begin: the assessor does not answer the canaries, or a limit is reached."""
    if check is None or check.graded.heard(rules):
        return []
    why = _as_written(str(check.run.incomplete or "canaries are missing"), config)
    if _LIMIT.search(str(check.run.incomplete)):
        return [
            f"the limit of judge.toml was reached before the canaries were judged: {why}; or lower"
            " canary_repeats in [nightly]"
        ]
    return [f"the judge did not answer the canaries: {why}"]


def spared(config: Config, check: CanaryCheck | None) -> Config:
    """The options of the run with what the canaries have left of a budget: one limit is for both."""
    made = check.run.calls_made if check else 0
    if check is None or not made:
        return config
    cost = check.run.summary.cost
    if cost is None:
        return config
    # The canaries' cost is what they took since they were first asked, which may have been earlier.
    usd = (cost.usd or 0.0) * made / cost.calls
    return replace(
        config,
        max_calls=None if config.max_calls is None else max(0, config.max_calls - made),
        budget=None if config.budget is None else max(0.0, config.budget - usd),
    )


def incomplete(config: Config, outcome: RunResult, check: CanaryCheck | None) -> list[str]:
    """What ended the run before its end, as `config` has its limits."""
    if outcome.incomplete is None:
        return []
    why = str(outcome.incomplete)
    made = check.run.calls_made if check and _LIMIT.search(why) else 0
    went = f" ({counted(made, 'call')} of the night went to canaries)" if made else ""
    return [_as_written(why, config) + went]


def _as_written(said: str, config: Config) -> str:
    """What a run `said`, with the options and values of judge.toml."""

    def whole(found: re.Match[str]) -> str:
        name = found[1].replace("-", "_")
        return f"{name} = {getattr(config, name):g}{found[2] or ''}"

    said = _LIMIT.sub(whole, said)
    return _OPTION.sub(lambda found: found[1].replace("-", "_"), said)
