"""Compare web search engines without ground truth: an LLM writes the judgments, IR evaluation does the rest.

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
    from judge.errors import InputError, JudgeError
    from judge.records import Judgment, Pair, Query, Ranking, Scale, Score, Snippet, Verdict
    from judge.runs.run_result import RunResult

__all__ = ["Config", "InputError", "JudgeError", "RunResult"]
__all__ += ["agree", "align", "compare", "compare_lists", "decide_order", "run", "score"]
__all__ += ["Judgment", "Pair", "Query", "Ranking", "Scale", "Score", "Snippet", "Verdict"]

#: The modules of the other names; those of the functions and of the records are `api` and `records`.
_MODULES = {
    "Config": "config.run",
    "InputError": "errors",
    "JudgeError": "errors",
    "RunResult": "runs.run_result",
}


def __getattr__(name: str) -> Any:  # noqa: ANN401  # a module attribute can be anything
    if name not in __all__:
        raise AttributeError(f"module 'judge' has no attribute {name!r}")
    module = _MODULES.get(name, "api" if name.islower() else "records")
    return getattr(importlib.import_module(f"judge.{module}"), name)
