"""Labelled examples in a prompt, behind its instructions.

A provider caches the beginning of a request if it is long enough. Examples fill the instructions up to this
length, so that a prompt with examples can cost less than one without.
"""

import json
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import replace

from judge.assess.prompts import Prompts, Template
from judge.characters import estimate_tokens
from judge.errors import InputError
from judge.records import Example, Lang

_EXAMPLES_HEAD: Mapping[Lang, str] = {
    "en": "Examples: other pairs, each with the right reply.",
    "zh": "示例：其他查询与摘要，各附正确回复。",
}
#: From this many equal tokens at the beginning of requests on, providers cache them: OpenAI, Alibaba Cloud
#: and Google, as their pages say in November 2026.
CACHED_PREFIX = 1_024
#: Examples are added until the instructions have this many tokens: the estimate may be 5% too high.
_WANTED_PREFIX = round(1.05 * CACHED_PREFIX)
#: The most tokens of one example: a longer one would be most of the prefix.
_LONGEST_EXAMPLE = 400


def add_examples(prompts: Prompts, examples: Iterable[Example]) -> Prompts:
    """Return the prompts with examples behind the instructions: in each language its own, the grades in turn.

    They are added until the instructions are long enough for the cache of a provider. Raises InputError when
    no example is short enough.
    """
    in_turn = sorted(_number_by_grade(examples), key=lambda numbered: (numbered[0], -numbered[1].grade))
    added_examples: list[Example] = []
    templates = dict(prompts.templates)
    for lang, template in prompts.templates.items():
        of_language = [example for _, example in in_turn if example.pair.query.lang == lang]
        texts = _choose_texts(prompts, template, of_language)
        if texts:
            added_examples += (example for example, _ in texts)
            addition = "\n\n".join(("", _EXAMPLES_HEAD[lang], *(text for _, text in texts)))
            templates[lang] = template.replace_system(template.system + addition, "examples")
    if not added_examples:
        raise InputError(
            "every example has more than {count} tokens; give shorter ones", count=_LONGEST_EXAMPLE
        )
    return replace(prompts, templates=templates, examples=tuple(added_examples))


def _choose_texts(
    prompts: Prompts, template: Template, examples: Iterable[Example]
) -> list[tuple[Example, str]]:
    """Return the first examples until there are enough, each with its text: a pair and its reply."""
    texts = []
    tokens = estimate_tokens(f"{template.system}\n\n{_EXAMPLES_HEAD[template.lang]}")
    for example in examples:
        text = f"{template.render_pair(example.pair)}\n{_format_reply(prompts, example)}"
        if estimate_tokens(text) <= _LONGEST_EXAMPLE:
            texts.append((example, text))
            tokens += estimate_tokens(f"\n\n{text}")
            if tokens >= _WANTED_PREFIX:
                break
    return texts


def _format_reply(prompts: Prompts, example: Example) -> str:
    is_graded = prompts.scale.name == "graded"
    value = example.grade if is_graded else ("no", "yes")[example.grade]
    if not prompts.schema:
        return str(value)
    key = "grade" if is_graded else "verdict"
    return json.dumps({"reason": example.reason, key: value}, ensure_ascii=False)


def _number_by_grade(examples: Iterable[Example]) -> Iterator[tuple[int, Example]]:
    """Yield each example with the number of those before it that have its grade and its language."""
    counts: Counter[tuple[int, Lang]] = Counter()
    for example in examples:
        key = example.grade, example.pair.query.lang
        yield counts[key], example
        counts[key] += 1
