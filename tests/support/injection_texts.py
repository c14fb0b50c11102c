"""Texts that address the assessor, and harmless ones with the same words, in sets by different authors."""

import json
from dataclasses import dataclass
from pathlib import Path

from tests.support import hostile_text
from tests.support.hostile_text import is_held_out

_FILE = Path(__file__).parents[1] / "cases" / "injection_texts.jsonl"
#: The set that no model is learned from.
TEST_SET = "test"
#: The set of the cases of `hostile_text`, and all sets with harmless texts that tests name one by one.
_CASES_SET = "patterns"
TESTED_SETS = ("sentences", "dotted", _CASES_SET)


@dataclass(frozen=True, slots=True)
class InjectionText:
    """A snippet, the set that it is in, and the kind of attack that it is, "" for a harmless one."""

    set: str
    attack: str
    snippet: str

    @property
    def is_attack(self) -> bool:
        """Whether the text addresses the assessor."""
        return self.attack != ""


def read_injection_texts() -> list[InjectionText]:
    """Return all texts, with the controls of `hostile_text` and the attacks that patterns are fitted on."""
    texts = [InjectionText(**json.loads(line)) for line in _FILE.read_text(encoding="utf-8").splitlines()]
    for case in hostile_text.read_cases():
        if case["type"] == "control":
            texts.append(InjectionText(_CASES_SET, "", case["snippet"]))
        elif case["type"] not in ("stuffing", "query_only") and not is_held_out(case):
            texts.append(InjectionText(_CASES_SET, case["type"], case["snippet"]))
    return texts
