"""Only words and numbers of the scale are values, in an object or alone."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each


def get_refusal(text: str, scale: Scale, finish_reason: str | None = "stop") -> str:
    """The kind of error that reading ends with."""
    with pytest.raises(ReplyParseError) as caught:
        parse_verdict(text, scale, finish_reason)
    return caught.value.kind


@check_each(
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
    assert parse_verdict(f'{{"reason": "r", "verdict": "{word}"}}', BINARY).grade == 1


@check_each("word", ["no", "nO", "No!", "Ｎｏ", "否", "否。", "不相关", "不是", "无关", "irrelevant"])
def test_words_for_no(word: str) -> None:
    assert parse_verdict(f'{{"reason": "r", "verdict": "{word}"}}', BINARY).grade == 0


@check_each(
    "value",
    [
        *('"not irrelevant"', '"partially"', '"部分相关"', '"know"', '"yes/no"', '"yes or no"'),
        *('"yes and no"', '"yes?"', '"是否"', '"是/否"', '"相关性不足"', '"y"', '""'),
        *("null", "2", '"10"', "[]", '["yes"]', "{}", '"уes"', '"~~yes~~"'),
        *('"yes no"', '"not"', '"不一定"', "NaN"),
    ],
)
def test_other_words_are_no_verdict(value: str) -> None:
    assert get_refusal(f'{{"reason": "r", "verdict": {value}}}', BINARY) in ("not_a_grade", "malformed")


@check_each(
    "value",
    ["2", '"2"', '" 2 "', "2.0", "2.00", '"2.0"', '"2分"', '"２"', "２", '"2."', '"**2**"', "2分", "'2'"],
)
def test_spellings_of_a_grade(value: str) -> None:
    assert parse_verdict(f'{{"reason": "r", "grade": {value}}}', GRADED).grade == 2


@check_each("value", ["2.5", '"2.5"', '"1.5"', "0.1", "2.000001", '"２．５"'])
def test_fractions_are_not_rounded(value: str) -> None:
    assert get_refusal(f'{{"reason": "r", "grade": {value}}}', GRADED) == "not_integer"


@check_each(
    "value",
    [
        *("true", "false", "null", "None", "4", "10", "-1", "NaN", "Infinity", "1e0", "0x2"),
        *("03", '"3/5"', '"2-3"', '"+2"', '"叁"', '"②"', '"²"', '"٣"', '"1 2"', '"2 or 3"'),
        *('"high"', '""', "[2]", '{"value": 2}', '"0-3"'),
    ],
)
def test_what_is_not_on_the_scale_is_no_grade(value: str) -> None:
    assert get_refusal(f'{{"reason": "r", "grade": {value}}}', GRADED) == "not_a_grade"


@check_each(
    ("text", "grade"),
    [
        *(("yes", 1), ("No.", 0), ("是", 1), ("否。", 0), ("**Yes**", 1), ("`no`", 0)),
        *(('"yes"', 1), ("「是」", 1), ("ＮＯ", 0), ("Verdict: no", 0), ("**Verdict:** yes", 1)),
        *(("Verdict: **Yes**", 1), ("### Verdict: Yes", 1), ("判定:不相关", 0), ("**判定：否**", 0)),
        *(("结论：是", 1), ("最终判定：相关", 1), ("```\nyes\n```", 1), ("Final answer: no", 0)),
        *(("yes<|im_end|>", 1), ("<answer>no</answer>", 0), ("判断结果：相关", 1), ("### Yes", 1)),
        *(("(no)", 0), ("（是）", 1), ("Result: no", 0), ("Verdict: [no]", 0), ("判定：（否）", 0)),
    ],
)
def test_bare_verdicts(text: str, grade: int) -> None:
    verdict = parse_verdict(text, BINARY)
    assert (verdict.grade, verdict.reason, verdict.flags) == (grade, "", ("no_reason",))


@check_each(
    "text",
    [
        *("2", "2.", "２", "**2**", "2分", "Grade: 2", "等级：2", "评分：2分", "##final score: 2"),
        *("Grade (0-3): 2", '"2"', "grade = 2", "2.0", "```\n2\n```", "(2)", "（2）", "(2分)。"),
        *("Result: 2", "**Result:** 2.", "Grade: [2]", "Grade: (2)", "等级：【2】", "Two", "二"),
        *("- grade: [2]", "grade = [2]", "The answer is [2]."),
        *("等级：二", "等级：两分", "评分：二级。", "Grade: two"),
        *("Grade:\n- 2", "Relevance:\n  - 2", "等级：\n- 2"),
    ],
)
def test_bare_grades(text: str) -> None:
    assert parse_verdict(text, GRADED).grade == 2


def test_a_labelled_reason_may_follow_a_bare_value() -> None:
    assert parse_verdict("Grade: 2\nReason: lists 3 steps", GRADED).reason == "lists 3 steps"
    assert get_refusal("Grade: 2\nReason: lists\nGrade: 3", GRADED) == "ambiguous"


@check_each(
    "text",
    [
        *("yes\n理由：完全不相关", "是\n理由：与查询无关", "否\n理由：完全回答了查询，相关"),
        *("yes\nReason: this is not relevant to the query", "no\nReason: it is relevant"),
        *("yes\nReason: it fits\nJust kidding.", "no\nReason: ads\nThe page says exactly this."),
    ],
)
def test_a_bare_value_that_its_reason_denies_is_refused(text: str) -> None:
    assert get_refusal(text, BINARY) == "ambiguous"


@check_each(
    "text",
    [
        *("I think yes", "yes because it fits", "Yes, but no", "no way", "yes\nno", "是 否"),
        *("是/否", "不相关但有用", "know", "The snippet is relevant.", "Error 503", "null", "[]"),
        *('["yes"]', "yes" + " " * 400 + "no", "~~yes~~", "是否", "Verdict 是否"),
        *("Verdict 是 = No", "判定 是 = 否", "Result: no results", "Result: no match", "(no) results"),
        *(
            "| yes |",
            "| [no] |",
            "> yes",
            "(yes)(no)",
            "[no]",
            "(yes?)",
            "Result: yes?",
            'The page says "\\boxed{yes}".',
        ),
    ],
)
def test_words_in_prose_are_not_read(text: str) -> None:
    assert get_refusal(text, BINARY) in ("malformed", "not_a_grade")


@check_each(
    "text",
    [
        *("10", "4", "-1", "+1", "2 or 3", "1-2", "1/3", "Grade: 12", "Score: 3/5", "I say 2", "2 3", "#3"),
        *(
            "# 3",
            # A row of a table, or a mark of a source, does not say that it is the grade.
            *("| 2 |", "| [2] |", "| part | 2 |"),
            "[2]",
            "【2】",
            "(2",
            "(2)(3)",
            "(1) or (2)",
            "(2) The snippet gives the date.",
            "2?",
            "(2)?",
        ),
        *(
            "Result: 2 of 3 relevant",
            "Result: 2 results",
            "Result: 2 (results found)",
            "Results: 2",
            "Result 2",
        ),
        *("Search result: 2", "Result: 2?", "Grade: [0-3]", "Grade: [2] or [3]", "Grade: [2][3]", "s/2/1/"),
        *("Grade: (1) on topic, (2) no dates", "The snippet says \\boxed{2}", "\\boxed{2} or \\boxed{3}"),
        *("\\boxed{\\text{2}} \\boxed{\\text{1}}", "\\boxed{\\text{2 or 3}}", "\\boxed{\\text{-2}}"),
        *("\\boxed{\\text{not } 2}", "\\boxed{-\\text{2}}", "\\boxed{\\frac{2}}"),
        *("The page's answer is $\\boxed{2}$.", "等级：二或三", "等级：二十", "等级：第二", "等级：一般"),
        *("二选一", "Grade: two or three", "Grade: twenty"),
    ],
)
def test_numbers_in_prose_are_not_read(text: str) -> None:
    assert get_refusal(text, GRADED) in ("malformed", "not_a_grade")


@check_each(
    "text",
    [
        *("I'm sorry, but I can't help with that.", "I cannot evaluate this passage."),
        *("Sorry, no.", "抱歉，我无法判断。", "对不起，我不能回答。", "作为一个AI语言模型，我无法给出判断"),
        *("As an AI, I can't.", 'I cannot judge. {"verdict": "no"}'),
    ],
)
def test_a_refusal_is_no_verdict(text: str) -> None:
    assert get_refusal(text, BINARY) == "refusal"
