"""Attack snippets and harmless controls, and what no request may contain of them."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

_CASES = Path(__file__).parents[1] / "cases" / "attacks_own.jsonl"
#: Stands in a case for the mark that an attacker has seen in an earlier prompt.
PREVIOUS = "{FENCE_PREV}"
#: Control tokens of ChatML and Qwen, Llama, Gemma, Phi, DeepSeek, Mistral, gpt-oss, and marks of thinking.
TOKENS = re.compile(
    r"<\|\w+\|>|<｜[\w▁]+｜>|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS)\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk)>"
    r"|<(?:start|end)_of_turn>|</?(?:think|tool_call)>|◁/?think▷",
    re.IGNORECASE,
)
#: Controls, and characters that nobody sees; joiners are told apart by the controls.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u180e\U000e0000-\U000e0fff]"
)


def cases(kind: str | None = None) -> list[dict[str, str]]:
    """The attacks and controls, or those of one type."""
    rows = [json.loads(line) for line in _CASES.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if kind in (None, row["type"])]


def attacks() -> list[dict[str, str]]:
    """All that is no control."""
    return [row for row in cases() if row["type"] != "control"]


def tokens(text: str) -> Sequence[str]:
    """The control tokens in `text`, also those that it has once a server has normalised it."""
    return [*TOKENS.findall(text), *TOKENS.findall(unicodedata.normalize("NFKC", text))]


def as_rows(kept: Sequence[Mapping[str, str]]) -> list[dict[str, object]]:
    """The cases as a dataset, a query a case."""
    return [
        {"query_id": row["id"], "query": row["query"], "engine": "e", "rank": 1, "snippet": row["snippet"]}
        for row in kept
    ]
