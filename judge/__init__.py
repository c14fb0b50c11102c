"""Compare web search engines without ground truth: an LLM judges snippets, IR measures compare engines.

    import judge
    result = judge.run("results.jsonl", model="openai:qwen-plus")
    result.engines        # a DataFrame: one row an engine
    result.verdicts       # a DataFrame: one row a judgment, with its reason

Everything heavy is imported when it is first used.
"""

from __future__ import annotations

import importlib
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from judge.api import agree, align, compare, compare_lists, decide_order, run, score
    from judge.config.run import Config
    from judge.errors import InputError, Interrupted, JudgeError, StoreError
    from judge.records import Judgment, Pair, Query, Ranking, Scale, Score, Snippet, Verdict
    from judge.runs.run_result import RunResult

_MODULES = {
    **dict.fromkeys(
        ("agree", "align", "compare", "compare_lists", "decide_order", "run", "score"), "judge.api"
    ),
    "Config": "judge.config.run",
    **dict.fromkeys(("InputError", "Interrupted", "JudgeError", "StoreError"), "judge.errors"),
    "RunResult": "judge.runs.run_result",
    **dict.fromkeys(
        ("Judgment", "Pair", "Query", "Ranking", "Scale", "Score", "Snippet", "Verdict"), "judge.records"
    ),
}

__all__ = [
    "Config",
    "InputError",
    "Interrupted",
    "JudgeError",
    "Judgment",
    "Pair",
    "Query",
    "Ranking",
    "RunResult",
    "Scale",
    "Score",
    "Snippet",
    "StoreError",
    "Verdict",
    "agree",
    "align",
    "compare",
    "compare_lists",
    "decide_order",
    "run",
    "score",
]


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a module attribute can be anything
    if name not in _MODULES:
        raise AttributeError(f"module 'judge' has no attribute {name!r}")
    value = getattr(importlib.import_module(_MODULES[name]), name)
    if _MODULES[name] == "judge.api":
        value = importlib.import_module("judge.config.parameters").name_parameters(value)
    globals()[name] = value  # pickle needs the same object each time
    return value
