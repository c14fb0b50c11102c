"""Compare web search engines without ground truth: an LLM writes the judgments, IR evaluation does the rest.

    import judge
    outcome = judge.run("results.jsonl", model="openai:qwen-plus")
    outcome.engines        # a DataFrame: one row an engine
    outcome.verdicts       # a DataFrame: one row a judgment, with its reason

Everything heavy is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge.api import agree, compare, run, score
    from judge.config.run import Config
    from judge.errors import InputError, JudgeError
    from judge.records import Judgment, Pair, Query, Ranking, Scale, Score, Snippet, Verdict
    from judge.runs.result import RunResult

_HOMES = {
    **dict.fromkeys(("agree", "compare", "run", "score"), "judge.api"),
    "Config": "judge.config",
    "InputError": "judge.errors",
    "JudgeError": "judge.errors",
    "Outcome": "judge.report.outcome",
    **dict.fromkeys(
        ("Judgment", "Pair", "Query", "Ranking", "Scale", "Score", "Snippet", "Verdict"), "judge.records"
    ),
}

__all__ = [
    "Config",
    "InputError",
    "JudgeError",
    "Judgment",
    "Outcome",
    "Pair",
    "Query",
    "Ranking",
    "Scale",
    "Score",
    "Snippet",
    "Verdict",
    "agree",
    "compare",
    "run",
    "score",
]


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a module attribute can be anything
    if name not in _HOMES:
        raise AttributeError(f"module 'judge' has no attribute {name!r}")
    return getattr(importlib.import_module(_HOMES[name]), name)
