"""Examples in a prompt: which are taken, where they stand, and what they do to its version."""

import json
import re
from collections.abc import Iterable
from dataclasses import replace

import pytest

from judge.assess.prompt_examples import CACHED_PREFIX, add_examples
from judge.assess.prompts import Prompts
from judge.characters import estimate_tokens
from judge.errors import InputError
from judge.records import BINARY, GRADED, Example, Lang, Pair, Query, Snippet
from tests.unit.assess.shipped_prompts import PROMPTS, make_pair

#: About 115 tokens.
TEXT = "One two three four five six seven eight nine ten. " * 10


def make_example(name: str, grade: int, lang: Lang = "en", text: str = TEXT) -> Example:
    snippet = Snippet(id=name, text=f"{name} {text}")
    return Example(
        Pair(Query(id="", text=f"query {name}", raw_text="", lang=lang), snippet), grade, f"r {name}"
    )


def list_shown(prompts: Prompts) -> list[str]:
    return [example.pair.snippet.id for example in prompts.examples]


def test_examples_follow_the_instructions_as_a_pair_and_its_reply() -> None:
    plain = PROMPTS[GRADED]
    prompts = add_examples(plain, [make_example("a", 2, text="A text.")])
    system = prompts.templates["en"].system
    begin, end = system.split("Examples: other pairs, each with the right reply.")
    assert begin.rstrip() == plain.templates["en"].system
    assert re.fullmatch(
        r"\n\nQuery: query a\nSnippet:\n<<<([0-9a-f]{16})\na A text\.\n\1>>>\n"
        + re.escape('{"reason": "r a", "grade": 2}'),
        end,
    )
    # There is no example in Chinese.
    assert prompts.templates["zh"] == plain.templates["zh"]


def test_grades_take_turns_from_the_highest_until_the_instructions_can_be_cached() -> None:
    examples = [make_example(f"{grade}{letter}", grade) for grade in (0, 1, 2) for letter in "abcdef"]
    prompts = add_examples(PROMPTS[GRADED], examples)
    shown = list_shown(prompts)
    assert shown == ["2a", "1a", "0a", "2b", "1b", "0b", "2c", "1c", "0c"][: len(shown)]
    tokens = estimate_tokens(prompts.templates["en"].system)
    assert CACHED_PREFIX <= tokens < CACHED_PREFIX * 1.05 + 150
    assert list_shown(add_examples(PROMPTS[GRADED], examples[:3])) == ["0a", "0b", "0c"]


def test_a_long_example_is_left_out() -> None:
    long = make_example("long", 3, text=TEXT * 4)
    assert list_shown(add_examples(PROMPTS[GRADED], [long, make_example("a", 2)])) == ["a"]
    with pytest.raises(InputError, match="every example has more than 400 tokens"):
        add_examples(PROMPTS[GRADED], [long])


def test_each_language_shows_its_own_examples() -> None:
    examples = [make_example("e", 1), make_example("z", 0, "zh")]
    prompts = add_examples(PROMPTS[BINARY], examples)
    assert '{"reason": "r e", "verdict": "yes"}' in prompts.templates["en"].system
    assert "r z" not in prompts.templates["en"].system
    assert prompts.templates["zh"].system.endswith('{"reason": "r z", "verdict": "no"}')
    assert "示例" in prompts.templates["zh"].system


def test_a_decision_model_is_shown_grades_alone() -> None:
    prompts = add_examples(PROMPTS[GRADED].ask_for_grade_alone(), [make_example("a", 2)])
    assert prompts.templates["en"].system.endswith(">>>\n2")
    assert prompts.versions["en"].startswith("en-graded-decision-examples-")


def find_versions(*examples: Example) -> Iterable[str]:
    prompts = add_examples(PROMPTS[GRADED], examples)
    return prompts.versions["en"], prompts.templates["en"].digest


def test_other_examples_make_another_version_and_other_fence_marks() -> None:
    one, other = make_example("a", 2), make_example("a", 1)
    assert find_versions(one) == find_versions(one)
    assert not {*find_versions(one)} & {*find_versions(other)}
    assert not {*find_versions(one)} & {*find_versions(replace(one, reason="another"))}
    prompts = add_examples(PROMPTS[GRADED], [one])
    marks = re.findall(r"<<<([0-9a-f]{16})", prompts.templates["en"].system + prompts.render(one.pair).user)
    assert len(marks) == len(set(marks)) == 2
    pair = make_pair()
    assert prompts.render(pair).user != PROMPTS[GRADED].render(pair).user


def test_a_reason_with_quotation_marks_is_valid_json_in_the_prompt() -> None:
    example = replace(make_example("a", 2), reason='It says "tea" and 茶.')
    system = add_examples(PROMPTS[GRADED], [example]).templates["en"].system
    assert json.loads(system.splitlines()[-1]) == {"reason": 'It says "tea" and 茶.', "grade": 2}
