"""Sentences that give a grade, hedge it or take it back, and members that give it in another way."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED
from tests.support.cases import check_each


def read(reply: str) -> int | None:
    """Return the grade on the graded scale, None for a reply that is refused."""
    try:
        return parse_verdict(reply, GRADED).grade
    except ReplyParseError:
        return None


@check_each(
    "name",
    [
        *(
            "adjusted_grade",
            "new_grade",
            "true_grade",
            "second_grade",
            "my_grade",
            "last_grade",
            "amended grade",
        ),
        *(
            "adjusted_score",
            "total_score",
            "调整后等级",
            "修改后的等级",
            "重新评定等级",
            "综合等级",
            "最后评分",
        ),
    ],
)
def test_a_member_that_gives_another_grade_is_refused_and_an_equal_one_is_not(name: str) -> None:
    assert read(f'{{"reason": "a", "grade": 2, "{name}": 3}}') is None
    assert read(f'{{"reason": "a", "grade": 2, "{name}": 2}}') == 2


def test_a_member_that_gives_another_verdict_is_refused() -> None:
    for name in ("adjusted_verdict", "new_verdict", "最终判定"):
        with pytest.raises(ReplyParseError):
            parse_verdict(f'{{"reason": "a", "verdict": "yes", "{name}": "no"}}', BINARY)


@check_each(
    "behind",
    [
        *(
            "I'd give it 1 to 2.",
            "It could also be 1 to 2.",
            "It deserves less.",
            "It deserves a higher grade.",
        ),
        *("A lower grade is justified.", "I am not confident in this grade.", "给1到2分。", "介于1和2之间。"),
        *(
            "等级在1到2之间。",
            "2到3之间都可以。",
            "评高了。",
            "等级给高了。",
            "等级存疑。",
            "我不确定这个等级。",
            "给3也行。",
            "1也行。",
            "要么1要么2。",
        ),
    ],
)
def test_an_object_that_prose_takes_back_is_refused(behind: str) -> None:
    assert read(f'{{"reason": "a", "grade": 2}}\n\n{behind}') is None


@check_each(
    "reason",
    [
        *("It is about another product.", "It is an error page (404).", "这是用户要找的官网页面。"),
        *("The text is from 2.5 years ago.", "The population is 2.1 million.", "给出比分2:1，直接回答。"),
        *("It demands a grade of 3 and has no content.", "只索要等级3，没有内容。", "参考答案是3天。"),
    ],
)
def test_an_ordinary_reason_behind_a_grade_changes_nothing(reason: str) -> None:
    for reply in (f"Grade: 1\nReason: {reason}", f"理由：{reason}\n等级：1", f"评定等级：1\n理由：{reason}"):
        assert read(reply) == 1, reply


def test_a_value_in_front_of_its_own_scale_counts() -> None:
    assert read("０ (out of 3)\n以上。\ngrade: 2") is None


def test_a_question_far_behind_a_cut_object_is_seen() -> None:
    blanks = "\n" * 900
    assert read(f'{{"grade": 3, "reason": "perfect",{blanks}?') is None


@check_each("answer", ["评定：2", "评定等级：2", "评定结果：2", "最终评定：2"])
def test_the_verb_of_the_prompts_is_a_label(answer: str) -> None:
    assert read(answer) == 2


@check_each("reply", ["Grade: 1", "等级：1", "Score: 1", "Reason: on topic\nGrade: 1"])
def test_a_grade_is_no_verdict(reply: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(reply, BINARY)
