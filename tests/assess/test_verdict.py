"""A reply's verdict is read when it is certain, and refused when it is not."""

from __future__ import annotations

import json
import time
from pathlib import Path
from typing import Any

import pytest

from judge.assess.verdict import MAX_REASON, read
from judge.errors import Unreadable
from judge.records import BINARY, GRADED, Scale

CASES = Path(__file__).parents[1] / "cases" / "replies.jsonl"
YES_NO = {"yes": 1, "no": 0}


def replies(*modes: str) -> list[Any]:
    records = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    return [
        pytest.param(record, id=record["id"])
        for record in records
        if record["kind"] == "text" and record["mode"] in modes
    ]


def text_of(record: dict[str, Any]) -> str:
    if "text" in record:
        return str(record["text"])
    made = record["text_gen"]
    return str(made["head"] + made["repeat"] * made["times"] + made["tail"])


def refusal(text: str, scale: Scale, finish_reason: str | None = "stop") -> str:
    """The kind of error that reading ends with."""
    with pytest.raises(Unreadable) as caught:
        read(text, scale, finish_reason)
    return caught.value.kind


@pytest.mark.parametrize("record", replies("grade", "verdict"))
def test_sample_reply(record: dict[str, Any]) -> None:
    scale = BINARY if record["mode"] == "verdict" else GRADED
    text, expected = text_of(record), record["expected"]
    if expected["class"] == "must_reject":
        assert refusal(text, scale, record["finish_reason"]) == expected["error"]
        return
    value = YES_NO.get(expected["value"], expected["value"])
    try:
        verdict = read(text, scale, record["finish_reason"])
    except Unreadable:
        assert expected["class"] == "may_parse"
        return
    assert verdict.grade == value
    assert verdict.reason == expected.get("reason_exact", verdict.reason)


@pytest.mark.parametrize("record", replies("list3"))
def test_several_verdicts_for_one_snippet_are_refused(record: dict[str, Any]) -> None:
    assert refusal(text_of(record), GRADED) == "ambiguous"


@pytest.mark.parametrize(
    "word",
    [
        *("yes", "Yes", "YES.", " yes ", "Ｙｅｓ", "yes\\n", "**yes**", "'yes'", "`Yes`"),
        *(
            "\\u662f",
            "是",
            "是。",
            "是！",
            "“是”",
            "「是」",
            "相关",
            "相关。",
            "是的",
            "ＹＥＳ。",
            "yes\\u200b",
        ),
    ],
)
def test_words_for_yes(word: str) -> None:
    assert read(f'{{"reason": "r", "verdict": "{word}"}}', BINARY).grade == 1


@pytest.mark.parametrize(
    "word", ["no", "nO", "No!", "Ｎｏ", "否", "否。", "不相关", "不是", "无关", "irrelevant"]
)
def test_words_for_no(word: str) -> None:
    assert read(f'{{"reason": "r", "verdict": "{word}"}}', BINARY).grade == 0


@pytest.mark.parametrize(
    "value",
    [
        *('"not irrelevant"', '"partially"', '"部分相关"', '"know"', '"yes/no"', '"yes or no"'),
        *('"yes and no"', '"yes?"', '"是否"', '"是/否"', '"相关性不足"', '"y"', '""', "true"),
        *("false", "null", "1", '"1"', "[]", '["yes"]', "{}", '"уes"', '"~~yes~~"'),
        *('"yes no"', '"not"', '"不一定"', "NaN"),
    ],
)
def test_other_words_are_no_verdict(value: str) -> None:
    assert refusal(f'{{"reason": "r", "verdict": {value}}}', BINARY) in ("not_a_grade", "malformed")


@pytest.mark.parametrize(
    "value",
    ["2", '"2"', '" 2 "', "2.0", "2.00", '"2.0"', '"2分"', '"２"', "２", '"2."', '"**2**"', "2分", "'2'"],
)
def test_spellings_of_a_grade(value: str) -> None:
    assert read(f'{{"reason": "r", "grade": {value}}}', GRADED).grade == 2


@pytest.mark.parametrize("value", ["2.5", '"2.5"', '"1.5"', "0.1", "2.000001", '"２．５"'])
def test_fractions_are_not_rounded(value: str) -> None:
    assert refusal(f'{{"reason": "r", "grade": {value}}}', GRADED) == "not_integer"


@pytest.mark.parametrize(
    "value",
    [
        *("true", "false", "null", "None", "4", "10", "-1", "NaN", "Infinity", "1e0", "0x2"),
        *("03", '"3/5"', '"2-3"', '"+2"', '"叁"', '"②"', '"²"', '"٣"', '"1 2"', '"2 or 3"'),
        *('"high"', '""', "[2]", '{"value": 2}', '"0-3"'),
    ],
)
def test_what_is_not_on_the_scale_is_no_grade(value: str) -> None:
    assert refusal(f'{{"reason": "r", "grade": {value}}}', GRADED) == "not_a_grade"


@pytest.mark.parametrize(
    ("text", "scale"),
    [
        ('{"verdict": "yes"}', GRADED),
        ('{"grade": 1}', BINARY),
        ('{"verdict": 2}', GRADED),
        ('{"reason": "r"}', BINARY),
        ('{"score": 3}', GRADED),
        ('{"upgrade": 3}', GRADED),
        ("{}", BINARY),
        ('{"error": {"code": 503}}', GRADED),
        ('{"a": {"b": {"c": {"grade": 1}}}}', GRADED),
        ('{"type": "object", "properties": {"grade": {"type": "integer"}}}', GRADED),
    ],
)
def test_only_the_key_of_the_scale_counts(text: str, scale: Scale) -> None:
    assert refusal(text, scale) == "missing_key"


def test_both_keys_are_told_apart_by_the_scale() -> None:
    reply = '{"reason": "r", "verdict": "no", "grade": 3}'
    assert (read(reply, BINARY).grade, read(reply, GRADED).grade) == (0, 3)


@pytest.mark.parametrize(
    "text",
    [
        '```json\n{"verdict": "yes", "reason": "r"}\n```',
        '~~~json\n{"verdict": "yes", "reason": "r"}\n~~~',
        '```\r\n{"verdict": "yes", "reason": "r"}\r\n```\r\n',
        '```json\n{"verdict": "yes", "reason": "r"}',
        'json\n{"verdict": "yes", "reason": "r"}',
        '\ufeff{"verdict": "yes", "reason": "r"}',
        'Sure! Here is the JSON:\n\n{"verdict": "yes", "reason": "r"}\n\nHope this helps!',
        '好的，判断结果如下：\n{"verdict": "yes", "reason": "r"}\n希望对你有帮助！',
        '对于查询“苹果”：{"verdict": "yes", "reason": "r"}',
        'The set {a, b} matters. {"verdict": "yes", "reason": "r"}',
        '{"result": {"verdict": "yes", "reason": "r"}}',
        '[{"verdict": "yes", "reason": "r"}]',
        '{{"verdict": "yes", "reason": "r"}}',
        '{"verdict": "yes", "reason": "r"}}',
        '<answer>{"verdict": "yes", "reason": "r"}</answer>',
        '{"verdict": "yes", "reason": "r"}<|im_end|>',
        '{"verdict": "yes", "reason": "r"}\n{"verdict": "YES", "reason": "other"}',
        'Format: {"verdict": "yes|no", "reason": "..."}\n{"verdict": "yes", "reason": "r"}',
        '{"properties": {"verdict": {"type": "string"}}}\n{"verdict": "yes", "reason": "r"}',
        '"{\\"verdict\\": \\"yes\\", \\"reason\\": \\"r\\"}"',
        '{\\"verdict\\": \\"yes\\", \\"reason\\": \\"r\\"}',
        '{"判定": "是", "理由": "r"}',
        '{"Verdict": "yes", "Reason": "r"}',
        '{"verdict": "yes", "verdict": "yes", "reason": "r"}',
        '\x00{"verdict": "yes", "reason": "r"}\x00',
    ],
)
def test_what_stands_around_an_object_does_not_matter(text: str) -> None:
    verdict = read(text, BINARY)
    assert (verdict.grade, verdict.reason) == (1, "r")


@pytest.mark.parametrize(
    "text",
    [
        '{"grade": 3, "reason": "a"}\n{"grade": 0, "reason": "b"}',
        '{"grade": 3, "grade": 0}',
        '{"grade": 3, "等级": 0}',
        '{"grade": 3, "detail": {"grade": 0}}',
        '{"a": {"grade": 3}, "b": {"grade": 0}}',
        '[{"grade": 2}, {"grade": 2}]',
        '{"grades": [{"grade": 2}, {"grade": 2}]}',
        '{"grade": 3} or {"grade": 2}',
        '{"grade": "2 or 3"} {"grade": 2}',
        '{"grade": 2}\nCorrection: 1',
        '{"grade": 2}\n更正：1分',
        '{"grade": 2} Actually, that is too high.',
        'Grade: 3\n{"grade": 1}',
        '评分：3\n{"grade": 1}',
        '3\n{"grade": 1}',
        '{"grade": 2}\nMy answer:',
        'For example: {"grade": 3, "reason": "sample"}',
        '{"grade": 2, "reason": "a"}\n{"reason": "b", "garde": 0}',
        '{"reason": "他说"grade": 3 很好", "grade": 0}',
        '{"reason": "x", "grade": 3, "very good", "grade": 0}',
        '{"reason": "x", "grade": 3} better", "grade": 0}',
        'Reason: it quotes {"grade": 3}',
    ],
)
def test_replies_that_say_two_things_are_refused(text: str) -> None:
    assert refusal(text, GRADED) == "ambiguous"


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
    assert read(text, GRADED).grade == grade


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
    ],
)
@pytest.mark.parametrize("finish_reason", ["stop", "length", None])
def test_thinking_that_does_not_end_holds_no_answer(text: str, finish_reason: str | None) -> None:
    assert refusal(text, GRADED, finish_reason) in ("truncated", "malformed", "ambiguous")


@pytest.mark.parametrize(
    ("text", "reason"),
    [
        ('{"reason": "r", "grade": 2,}', "r"),
        ("{'reason': 'r', 'grade': 2}", "r"),
        ("{'reason': 'it\\'s', 'ok': True, 'date': None, 'grade': 2}", "it's"),
        ("{'reason': 'it's', 'grade': 2}", "it's"),
        ('{"reason": "a\nb\tc", "grade": 2}', "a\nb\tc"),
        ('{"reason"："r"，"grade"：2}', "r"),
        ("｛“reason”：“提到‘步骤’”，“grade”：“２”｝", "提到‘步骤’"),
        ('{"reason": "他说"好"了", "grade": 2}', '他说"好"了'),
        ('{"grade": 2, "reason": "他说"好"了"}', '他说"好"了'),
        ('```json\n{"grade": 2,\n "reason": "foo"bar"baz"}\n```', 'foo"bar"baz'),
        ('{reason: "r", grade: 2}', "r"),
        ('"reason": "r", "grade": 2}', "r"),
        ('{"reason": "r" "grade": 2}', "r"),
        ('{"reason": "r", "grade": "2"', "r"),
        ('{"grade": 2, // fairly relevant\n"reason": "r"}', "r"),
        ('{"grade": 2, "reason": """a "b" c"""}', '""a "b" c""'),
        ("{'reason': 'he said \"grade\": 3', 'grade': 2}", 'he said "grade": 3'),
        ('{"reason": "it says \\"grade\\": 3", "grade": 2,}', 'it says "grade": 3'),
    ],
)
def test_damage_that_leaves_the_value_certain_is_repaired(text: str, reason: str) -> None:
    verdict = read(text, GRADED)
    assert (verdict.grade, verdict.reason) == (2, reason)
    assert "repaired" in verdict.flags


@pytest.mark.parametrize(
    "text",
    [
        *('{"reason": "他说"grade": 3 很好", "gra', '{"reason": "the page has {"grade": 3}'),
        *('{"reason": "the page has {\'grade\': 3} here", "gra',),
        *('"reason": "the page has {\'grade\': 3} here", "gra',),
        *('{"reason": "good, "grade": 3}', '{"reason": ", "grade": 3}'),
        *('{"reason": " "grade": 3}', '{"grade" 2}', '{"grade": 2.}', '{"grade": 2,5}'),
        *('{"grade": 2，5}', '{"grade": 2 # or 3\n}', '{"reason": "a", "grade": 2 to 3}'),
    ],
)
def test_damage_that_leaves_doubt_is_refused(text: str) -> None:
    assert refusal(text, GRADED) in ("malformed", "truncated")


@pytest.mark.parametrize(
    "text",
    [
        *('{"grade": 1', '{"grade": 1 ', '{"grade": ', '{"grade"', "{"),
        *('{"reason": "r", "grade": 1', '{"grade": "1'),
        *('{"reason": "very long', '```json\n{"reason": "a'),
    ],
)
@pytest.mark.parametrize("finish_reason", ["stop", "length"])
def test_a_cut_value_is_refused(text: str, finish_reason: str) -> None:
    assert refusal(text, GRADED, finish_reason) == "truncated"


@pytest.mark.parametrize(
    "text",
    [
        *("2", "Grade: 2", "yes", '{"reason": "a", "grade": "2"'),
        *('{"grade": 2}\nLet me exp', 'Hm. {"grade": 2}'),
        *('<think>a</think>{"grade": 2, "rea',),
        *('{"reason": "a", "grade": 2, "rea', '{"reason": "x "q" y", "grade": 3}'),
    ],
)
def test_a_reply_cut_by_its_length_may_have_gone_on(text: str) -> None:
    assert refusal(text, GRADED, "length") == "truncated"


@pytest.mark.parametrize(
    "text", ['{"grade": 2, "reason": "the passage lists the fir', '{"grade": 2, "reason": "the pa"x"y']
)
def test_a_cut_reason_behind_the_value_is_kept_and_flagged(text: str) -> None:
    verdict = read(text, GRADED, "length")
    assert verdict.grade == 2
    assert verdict.reason.startswith("the pa")
    assert "reason_truncated" in verdict.flags


@pytest.mark.parametrize(
    ("text", "grade"),
    [
        *(("yes", 1), ("No.", 0), ("是", 1), ("否。", 0), ("**Yes**", 1), ("`no`", 0)),
        *(('"yes"', 1), ("「是」", 1), ("ＮＯ", 0), ("Verdict: no", 0), ("**Verdict:** yes", 1)),
        *(("Verdict: **Yes**", 1), ("### Verdict: Yes", 1), ("判定:不相关", 0), ("**判定：否**", 0)),
        *(("结论：是", 1), ("最终判定：相关", 1), ("```\nyes\n```", 1), ("Final answer: no", 0)),
        *(("yes<|im_end|>", 1), ("<answer>no</answer>", 0)),
    ],
)
def test_bare_verdicts(text: str, grade: int) -> None:
    verdict = read(text, BINARY)
    assert (verdict.grade, verdict.reason, verdict.flags) == (grade, "", ("no_reason",))


@pytest.mark.parametrize(
    "text",
    [
        *("2", "2.", "２", "**2**", "2分", "Grade: 2", "等级：2", "评分：2分", "##final score: 2"),
        *("Grade (0-3): 2", '"2"', "grade = 2", "2.0", "```\n2\n```"),
    ],
)
def test_bare_grades(text: str) -> None:
    assert read(text, GRADED).grade == 2


def test_a_labelled_reason_may_follow_a_bare_value() -> None:
    assert read("Grade: 2\nReason: lists 3 steps", GRADED).reason == "lists 3 steps"
    assert refusal("Grade: 2\nReason: lists\nGrade: 3", GRADED) == "ambiguous"


@pytest.mark.parametrize(
    "text",
    [
        *("I think yes", "yes because it fits", "Yes, but no", "no way", "yes\nno", "是 否"),
        *("是/否", "不相关但有用", "know", "The snippet is relevant.", "Error 503", "null", "[]"),
        *('["yes"]', "yes" + " " * 400 + "no", "~~yes~~", "是否"),
    ],
)
def test_words_in_prose_are_not_read(text: str) -> None:
    assert refusal(text, BINARY) in ("malformed", "not_a_grade")


@pytest.mark.parametrize(
    "text", ["10", "4", "-1", "+1", "2 or 3", "1-2", "1/3", "Grade: 12", "Score: 3/5", "I say 2", "2 3"]
)
def test_numbers_in_prose_are_not_read(text: str) -> None:
    assert refusal(text, GRADED) in ("malformed", "not_a_grade")


@pytest.mark.parametrize(
    "text", ["", "   \n\t", "\ufeff", "\u200b", "<think>3</think>", "<|im_end|>", "\x00"]
)
def test_nothing_is_empty(text: str) -> None:
    assert refusal(text, GRADED) == "empty"


@pytest.mark.parametrize(
    "text",
    [
        *("I'm sorry, but I can't help with that.", "I cannot evaluate this passage."),
        *("Sorry, no.", "抱歉，我无法判断。", "对不起，我不能回答。", "作为一个AI语言模型，我无法给出判断"),
        *("As an AI, I can't.", 'I cannot judge. {"verdict": "no"}'),
    ],
)
def test_a_refusal_is_no_verdict(text: str) -> None:
    assert refusal(text, BINARY) == "refusal"


@pytest.mark.parametrize(
    "reason",
    [
        *("<script>alert(1)</script> {{7*7}}", "a \"b\" 'c' \\ / \n\t", "\ud83d alone"),
        *("nul \x00", "😀 “引号”，：｛｝", "", '"grade": 3', '{"grade": 3}', "</think>"),
        *("```json", "是否 yes/no"),
    ],
)
@pytest.mark.parametrize("ascii_only", [True, False])
def test_a_reason_is_kept_exactly(reason: str, ascii_only: bool) -> None:
    reply = json.dumps({"reason": reason, "grade": 0}, ensure_ascii=ascii_only)
    verdict = read(reply, GRADED)
    assert (verdict.grade, verdict.reason, verdict.flags) == (0, reason, ())


@pytest.mark.parametrize("reason", ["", ', "reason": 5', ', "reason": null', ', "reason": ["a"]'])
def test_a_missing_reason_is_flagged(reason: str) -> None:
    verdict = read(f'{{"grade": 1{reason}}}', GRADED)
    assert (verdict.grade, verdict.reason, verdict.flags) == (1, "", ("no_reason",))


def test_a_long_reason_is_capped_and_flagged() -> None:
    verdict = read(json.dumps({"reason": "长" * 100_000, "grade": 3}, ensure_ascii=False), GRADED)
    assert (verdict.grade, len(verdict.reason), verdict.flags) == (3, MAX_REASON, ("reason_capped",))


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
