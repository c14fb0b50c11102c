"""Attack snippets and harmless controls, and the characters and tokens that no request may contain."""

import json
import re
import unicodedata
from collections.abc import Mapping, Sequence
from pathlib import Path

_CASES = Path(__file__).parents[1] / "cases" / "attacks_own.jsonl"
#: The placeholder in a case for the fence mark of an earlier prompt.
PREVIOUS = "{FENCE_PREV}"
#: Control tokens of ChatML and Qwen, Llama, Gemma, Phi, DeepSeek, Mistral, gpt-oss, and of thinking.
TOKENS = re.compile(
    r"<\|\w+\|>|<｜[\w▁]+｜>|\[/?(?:INST|SYSTEM_PROMPT|TOOL_CALLS)\]|<</?SYS>>|</?s>|<(?:bos|eos|pad|unk)>"
    r"|<(?:start|end)_of_turn>|</?(?:think|tool_call)>|◁/?think▷",
    re.IGNORECASE,
)
#: Control characters and invisible ones; joiners are allowed, which the harmless controls test.
HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u200b\u200e\u200f\u202a-\u202e\u2060-\u206f\ufeff\u180e\U000e0000-\U000e0fff]"
)


def read_cases(kind: str | None = None) -> list[dict[str, str]]:
    """Return the attacks and controls, or those of one type."""
    rows = [json.loads(line) for line in _CASES.read_text(encoding="utf-8").splitlines()]
    return [row for row in rows if kind in (None, row["type"])]


def read_attacks() -> list[dict[str, str]]:
    """Return all cases except controls."""
    return [row for row in read_cases() if row["type"] != "control"]


def is_held_out(case: Mapping[str, str]) -> bool:
    """Whether the patterns were written without a look at this case."""
    return int(case["id"].rpartition("-")[2]) % 2 == 0


def find_control_tokens(text: str) -> Sequence[str]:
    """Return the control tokens in `text`, and those in its NFKC form, which a server may produce."""
    return [*TOKENS.findall(text), *TOKENS.findall(unicodedata.normalize("NFKC", text))]


def convert_cases_to_rows(cases: Sequence[Mapping[str, str]]) -> list[dict[str, object]]:
    """Return the rows of a dataset with one query for each case."""
    return [
        {"query_id": row["id"], "query": row["query"], "engine": "e", "rank": 1, "snippet": row["snippet"]}
        for row in cases
    ]
