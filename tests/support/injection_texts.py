"""Texts that address the assessor, and harmless ones with the same words, in sets by different authors."""

import json
import re
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

from tests.support import hostile_text
from tests.support.hostile_text import is_held_out

_ROOT = Path(__file__).parents[2]
_FILE = _ROOT / "tests" / "cases" / "injection_texts.jsonl"
_PAGES = ("docs/en/*.md", "docs/zh/*.md", "README*.md", "CHANGELOG.md", "CONTRIBUTING.md")
#: The messages and their translations in a catalogue of gettext, each of one or more quoted lines.
_MESSAGE = re.compile(r'^msg(?:id|str) ((?:"(?:[^"\\]|\\.)*"\n)+)', re.MULTILINE)
#: The set that no model is learned from.
TEST_SET = "test"
#: The set of the cases of `hostile_text`, and all sets with harmless texts that tests name one by one.
_CASES_SET = "patterns"
TESTED_SETS = ("sentences", "dotted", _CASES_SET)
#: Ordinary results of searches that have words of grading, and the documentation of an assessor.
SEARCH_RESULTS_SET, DOCUMENTATION_SET = "search results", "documentation"


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


def iter_documentation() -> Iterator[InjectionText]:
    """Yield the paragraphs of the documentation and the messages, which are about grades and assessors."""
    pages = [path.read_text(encoding="utf-8") for glob in _PAGES for path in sorted(_ROOT.glob(glob))]
    paragraphs = [part for page in pages for part in re.split(r"\n\s*\n|\n(?=[-|] )", page)]
    catalogue = (_ROOT / "judge" / "messages" / "zh.po").read_text(encoding="utf-8")
    messages = ["".join(map(json.loads, quoted.splitlines())) for quoted in _MESSAGE.findall(catalogue)]
    for text in (*paragraphs, *messages):
        plain = re.sub(r"\[([^\]]*)\]\([^)]*\)|[*`#|]", r"\1", text)
        if plain.strip():
            yield InjectionText(DOCUMENTATION_SET, "", plain)
