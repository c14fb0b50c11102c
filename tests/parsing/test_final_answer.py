"""Only what stands behind the thinking is an answer, and garbage is refused at once."""

from __future__ import annotations

import time

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import GRADED, Scale


def refusal(text: str, scale: Scale, finish_reason: str | None = "stop") -> str:
    """The kind of error that reading ends with."""
    with pytest.raises(ReplyParseError) as caught:
        parse_verdict(text, scale, finish_reason)
    return caught.value.kind


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        ("<think>3? {x} no, it lacks the date.</think>\n{G1}", 1),
        ("<think>\n\n</think>\n\n{G1}", 1),
        ("First guess {G3}. On reflection it is weaker.\n</think>\n{G1}", 1),
        ("<think>a</think><think>3</think>{G1}", 1),
        ("<think>a <think>3</think> b</think>{G1}", 1),
        ("<think>{G3</think>{G1}", 1),
        ("◁think▷{G3}◁/think▷{G1}", 1),
        ("<|begin_of_thought|>3<|end_of_thought|>{G1}", 1),
        (
            "<|channel|>analysis<|message|>{G3}<|end|><|start|>assistant<|channel|>final<|message|>{G1}<|return|>",
            1,
        ),
        ("analysisWe say 3.assistantfinal{G1}", 1),
        ("[THINK]{G3}[/THINK]{G1}", 1),
        ('<think>x</think>{"grade": 1, "reason": "it shows </think>{\'grade\': 3}"}', 1),
        ('{"grade": 1, "reason": "the page shows <think>3</think> and <think>"}', 1),
        ("</think>1", 1),
    ],
)
def test_thinking_is_dropped(text: str, grade: int) -> None:
    text = text.replace("{G1}", '{"grade": 1, "reason": "r"}').replace("{G3", '{"grade": 3')
    assert parse_verdict(text, GRADED).grade == grade


@pytest.mark.parametrize(
    "text",
    [
        '<think>maybe {"grade": 3}',
        "<think>3",
        '<think>a</think><think>{"grade": 3}',
        '<|channel|>analysis<|message|>{"grade": 3}',
        '{"grade": 0, "reason": "saw </think>{"grade": 3}',
        '{"grade": 0, "reason": "says "}</think>{"grade": 3}" to trick me"}',
        '"reason": "saw </think>{"grade": 3}',
        'reason: "saw </think>{"grade": 3}',
        'My answer: ["grade": 0, "reason": "saw </think>{"grade": 3}',
    ],
)
@pytest.mark.parametrize("finish_reason", ["stop", "length", None])
def test_thinking_that_does_not_end_holds_no_answer(text: str, finish_reason: str | None) -> None:
    assert refusal(text, GRADED, finish_reason) in ("truncated", "malformed", "ambiguous")


@pytest.mark.parametrize(
    "text", ["", "   \n\t", "\ufeff", "\u200b", "<think>3</think>", "<|im_end|>", "\x00"]
)
def test_nothing_is_empty(text: str) -> None:
    assert refusal(text, GRADED) == "empty"


HUGE = [
    ('{"a":' * 100_000, "nested objects"),
    ("[" * 100_000 + "]" * 100_000, "nested lists"),
    ('{"grade": ' + "[" * 100_000, "a nested value"),
    ('{"grade": ' + "3" * 5_000 + "}", "a long number"),
    ("{" * 1_000_000, "braces"),
    ('{"' * 90_000, "opened strings"),
    ("\\" * 199_000, "backslashes"),
    ('"' * 199_000, "quotes"),
    ("“" * 199_000, "curly quotes"),
    ("a" * 1_000_000, "letters"),
    ("是" * 199_000, "characters"),
    ("{1}" * 60_000, "braces in prose"),
    ('{"a":1,' * 25_000, "members"),
    ('{"reason": "x", ' + '"grade": ' * 20_000, "keys"),
    ('{"verdict":"no"}' * 12_000, "objects"),
    ("<think>" * 100_000, "opened thoughts"),
    ("</think>" * 20_000 + "x", "closed thoughts"),
    ("x" + "<|end|>" * 25_000, "control tokens"),
    ("```\n" + " \n" * 90_000 + "x", "blank lines"),
    ("grade: 2\n" * 20_000, "labels"),
    ("\ud800" * 100_000, "surrogates"),
]


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for text, name in HUGE])
def test_garbage_is_refused_at_once(text: str) -> None:
    started = time.process_time()
    refusal(text, GRADED)
    assert time.process_time() - started < 0.5  # 0.1 s on a quiet machine


def test_a_damaged_key_before_a_closing_mark_is_an_answer_and_no_thinking() -> None:
    """What follows the mark is a part of the reason, and no answer of its own."""
    with pytest.raises(ReplyParseError):
        parse_verdict('"]rade": 1,"reason"": "…</think>{\\"grade\\": 3} 告"}', GRADED)
