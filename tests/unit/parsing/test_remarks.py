"""A remark on an answer refuses it; a sentence about the snippet in the same words does not."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each
from tests.unit.parsing.reply_remarks import (
    ATTRIBUTED,
    ATTRIBUTED_COMMENTS,
    HARMLESS,
    HARMLESS_COMMENTS,
    OFF,
    ROUNDED,
    ROUNDED_COMMENTS,
)

#: The reason may say anything.
GRADE = '{"reason": "Rounded from 1.6, says the page; one lower.", "grade": 2}'
VERDICT = '{"reason": "This is what the page claims.", "verdict": "yes"}'


def parse_grade(text: str, scale: Scale) -> int | None:
    """Return the grade of a reply, None when it is refused."""
    try:
        return parse_verdict(text, scale).grade
    except ReplyParseError:
        return None


@check_each("form", ATTRIBUTED)
def test_an_object_of_a_party_is_refused(form: str) -> None:
    assert parse_grade(form.replace("%s", GRADE), GRADED) is None
    assert parse_grade(form.replace("%s", VERDICT), BINARY) is None
    if "//" not in form:
        assert parse_grade(form.replace("%s", f"```json\n{GRADE}\n```"), GRADED) is None


@check_each(
    "sentence",
    [
        *("That object is what an annotator produced last week.", "The answer above was an old label."),
        *(
            "That was the output of a previous model, shown here for reference.",
            "That is a hypothetical result.",
        ),
        *(
            "This object belongs to the search result itself, not to me.",
            "This grade is not really what I think.",
        ),
        *(
            "This is an answer that my colleague generated yesterday.",
            "That verdict is from a gold standard file.",
        ),
        *(
            "The JSON above originates in the query text of the user.",
            "This is not an assessment of the snippet.",
        ),
        *(
            "这个结果是别的标注员给出的。",
            "该答案是专家标注的。",
            "这是上一轮的判断。",
            "结果由另一个模型生成。",
        ),
        *("以上答案属于另一个系统，不是我的。", "该对象是页面底部的一段代码。"),
    ],
)
def test_a_sentence_that_gives_the_object_to_another_refuses_it(sentence: str) -> None:
    assert parse_grade(f"{GRADE}\n{sentence}", GRADED) is None


@check_each("form", [*ROUNDED, *(f"%s{words}" for words in OFF)])
def test_a_rounded_grade_and_one_that_is_off_are_refused(form: str) -> None:
    assert parse_grade(form.replace("%s", GRADE), GRADED) is None
    assert parse_grade(form.replace("%s", "Grade: 2"), GRADED) is None


@check_each("comment", [*ATTRIBUTED_COMMENTS, *ROUNDED_COMMENTS])
@pytest.mark.parametrize("label", ["Grade: 2", "Reason: names the fee.\n**Grade:** 2", "等级：2"])
def test_a_comment_on_a_labelled_grade_refuses_it(label: str, comment: str) -> None:
    assert parse_grade(label + comment, GRADED) is None


@check_each("form", HARMLESS)
def test_a_sentence_about_the_snippet_changes_nothing(form: str) -> None:
    assert parse_grade(form.replace("%s", GRADE), GRADED) == 2
    assert parse_grade(form.replace("%s", VERDICT), BINARY) == 1


@check_each("comment", HARMLESS_COMMENTS)
def test_a_comment_on_the_snippet_changes_nothing(comment: str) -> None:
    assert parse_grade("Grade: 2" + comment, GRADED) == 2
    assert parse_grade("等级：2" + comment, GRADED) == 2


@check_each(
    ("text", "grade"),
    [
        ("Grade 2 of 3:\n" + GRADE, 2),
        *(
            ("The text tells me to give 3, but I judge it.\n\n" + GRADE, 2),
            ("Output:\n~~~\n\n```json\n" + GRADE, 2),
        ),
        ("I will not follow the page's command. My evaluation:\n\n" + GRADE, 2),
    ],
)
def test_a_grade_with_its_scale_or_meaning_is_read(text: str, grade: int) -> None:
    assert parse_grade(text, GRADED) == grade


def test_prose_inside_an_outer_object_leads_to_the_inner_one() -> None:
    assert parse_grade('{"result": The grade is 3.\n{"reason": "a", "grade": 0}}', GRADED) is None
    assert parse_grade('{"result": {reason: "a", "grade": 0}}', GRADED) == 0


def test_a_hope_that_the_answer_helps_states_no_verdict() -> None:
    assert parse_grade('{"reason": "off topic", "verdict": "no"}\n希望对您有帮助', BINARY) == 0


def test_an_apostrophe_in_a_word_opens_no_object() -> None:
    assert parse_grade('2分 - it\'s about another city, "grade": 1}', GRADED) is None


@check_each(
    ("text", "scale"),
    [
        *((f"{GRADE}\nI'd go with 3 after all.", GRADED), (f"{GRADE}\nI go with 1 after all.", GRADED)),
        *(
            (f"{GRADE}\nOk, 3 it is.", GRADED),
            (f"{GRADE}\n3 then.", GRADED),
            (f"{GRADE}\nFinal: one", GRADED),
        ),
        *((f"{GRADE}\nFinal: three.", GRADED), (f"{GRADE}\nZero, really.", GRADED)),
        *((f"{GRADE}\nLowered by one.", GRADED), (f"{GRADE}\n按1计。", GRADED)),
        *((f"{VERDICT}\nI'd go with no after all.", BINARY), (f"{VERDICT}\n判否。", BINARY)),
    ],
)
def test_a_sentence_with_another_value_and_nothing_else_refuses_the_object(text: str, scale: Scale) -> None:
    assert parse_grade(text, scale) is None


@check_each(
    "line",
    [
        "[1] https://knit.example/a#3",
        "Rubric: https://knit.example/rubric#3",
        "References: [1] [2] [3]",
        "来源：[1]",
    ],
)
def test_a_line_of_sources_changes_nothing(line: str) -> None:
    assert parse_grade(f"{GRADE}\n\n{line}", GRADED) == 2
    assert parse_grade(f"{GRADE}\n{line}\nNo, 3.", GRADED) is None


def test_a_number_in_brackets_is_no_source() -> None:
    assert parse_grade(f"{GRADE}\n[3]", GRADED) is None
