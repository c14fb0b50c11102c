"""Grades whose reply names a scale: another one is refused, the one that is asked for changes nothing."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED
from tests.support.cases import check_each

_OTHER_MEMBERS = [
    *(
        '"range": "1..5"',
        '"range": "0–10 (integers)"',
        '"range": 10',
        '"range": "10-point"',
        '"scale": "一到七级"',
    ),
    *('"scale": "six-point"', '"scale": "七分制"'),
    *('"scale": "1-10"', '"scale": "0-10"', '"scale": "1-3"', '"scale": 10', '"scale": [1, 2, 3, 4, 5]'),
    *('"scale": {"min": 1, "max": 5}', '"scale": "five-star"', '"scale": "ten"', '"scale": "Likert 1-5"'),
    *(
        '"max_score": 10',
        '"max points": 10',
        '"max-value": "5.0"',
        '"scale_max": 10',
        '"grade_scale": "1-10"',
    ),
    *(
        '"range": [1, 5]',
        '"score_range": "1 to 5"',
        '"total": 10',
        '"总分": 10',
        '"满分": 5',
        '"量表": "百分制"',
    ),
]
_OTHER_COMMENTS = [
    *(
        "(out of 10)",
        "(out of five)",
        "out of 5 because it names",
        "(of 10)",
        "(scored out of 10)",
        "(7 out of 10)",
        "That equals 7 out of 10.",
    ),
    *(
        "(/10)",
        "/10",
        "(2/10)",
        "/ 5 stars",
        "(a rating out of 10 points overall)",
        "(on a 5-point rating scale)",
    ),
    *(
        "（满分10分的情况下）",
        "\n注：评分范围为0到10。",
        "(score range 1-7)",
        "(out of a possible five points)",
    ),
    *(
        "(0-10)",
        "[1-5]",
        "(1–5)",
        "(0-10, higher is better)",
        "(5-point)",
        "(5 point Likert)",
        "(10 is best)",
        "(from zero to ten)",
        "(5 stars max)",
        "(max 10)",
    ),
    *("(maximum 5 points)", "(highest is 10)", "(on a scale of 1-5)", "(on a scale from 1 to 10)"),
    *("(on a 1-to-5 scale)", "(on the 1-5 Likert scale)", "(scale ranging from 1 to 10)", "(range 0-10)"),
    *("(scale: 1=bad, 5=good)", "(scale of 10)", "（10分制）", "（满分10分）", "（总分10分）", "（1-5分）"),
    *("（1到5分）", "（满分一百）", "（百分制）", "\nScale: 1-10", "\nMax: 10", "\n（采用五分制）"),
    *("\nThe grade is on a scale of 1-10.", "\n评分采用10分制", "\n注：满分为5分。"),
    "\nGrading scale: 0 (bad) to 10 (good)",
    *("\nI would give it 7 out of 10.", "\nThat’s 7 out of a possible 10.", "\nOverall: 7 out of 10 points."),
    *("\n*Relevance is rated on a scale out of 10.*", "\n注：采用1-5级量表。", "\n这里最高为10。"),
]
_OWN_MEMBERS = [
    *('"scale": "0-3"', '"scale": "graded"', '"scale": "3 = best, 0 = worst"', '"scale": "0-3 points"'),
    *('"scale": "0-3 point scale"', '"scale": "0, 1, 2, 3 (integer, 4 levels)"', '"scale": [0, 1, 2, 3]'),
    *('"scale": {"min": 0, "max": 3}', '"scale": "TREC 2019"', '"max": 3.0', '"max": "3 points"'),
    *('"量表": "0-3级（共4级）"', '"满分": "3分"', '"range": "highly relevant (2)"'),
    *('"scale": "0..3"', '"scale": "graded 0..3"', '"max": null', '"max_tokens": 512'),
]
_OWN_COMMENTS = [
    *("(out of 3)", "(max 3)", "(max points 3)", "(0-3)", "(0-3 point scale)", "(on a scale of 0 to 3)"),
    *("(on a scale of 0-3)", "(on a scale of 0 – 3)", "(of 3)"),
    *("(on a 4-point scale)", "(scale of 4 points)", "(scale: 0=irrelevant, 3=perfect)", "（满分3分）"),
    *("（4分制）", "（0-3分）", "\nScale: 0 = irrelevant, 1 = related, 2 = partial, 3 = perfect", "\nMax: 3"),
    *("\nThe scale has four levels (0 to 3).",),
    *("\nScale: 0 (none) – 3 (full)", "\nGrading scale: 0 = irrelevant, 3 = fully answers (100%)"),
]
_NO_SCALE = [
    *("(of 3 aspects asked, two are covered)", "- of 5 questions asked it answers most", "(from 1 to 5 pm)"),
    *("; range of 5 to 10 km is given", "- range 10 km is given", "- the maximum of 12 is stated"),
    *("- max 40 characters shown", "(best of 5 results)", "(covers 3 of 5 points)", "(scale model shown)"),
    *("\nOf 2 facts asked, one is given.", "\n\nThe range of 5 products is shown.", "（页面有10分钟视频）"),
]


@check_each("member", _OTHER_MEMBERS)
def test_a_grade_beside_a_member_that_names_another_scale_is_refused(member: str) -> None:
    for reply in (
        f'{{"reason": "weak", "grade": 2, {member}}}',
        f'{{{member}, "reason": "weak", "grade": 2}}',
    ):
        with pytest.raises(ReplyParseError, match="another"):
            parse_verdict(reply, GRADED)


@check_each("member", ['"scale": "1-10"', '"max": 10'])
def test_a_damaged_object_that_names_another_scale_is_refused(member: str) -> None:
    with pytest.raises(ReplyParseError, match="another"):
        parse_verdict(f'{{"reason": "it says "hi" there", "grade": 2, {member}}}', GRADED)


@check_each("comment", _OTHER_COMMENTS)
@check_each("answer", ['{"reason": "weak", "grade": 2}', "Reason: weak.\nGrade: 2", "理由：弱。\n评分：2"])
def test_a_grade_in_front_of_another_scale_is_refused(answer: str, comment: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(f"{answer} {comment}", GRADED)


@check_each(
    "reply",
    [
        *(
            "I give it a 2 out of 5.",
            "I rate it 2 on a 1-5 scale.",
            "我给3分（满分10分）",
            "我给2分，满分5分。",
        ),
        *("Score scale: 1-10\nGrade: 2", "On a scale of 1 to 10:\nGrade: 2", "满分10分\n评分：2"),
        *('```json\n{"reason": "r", "grade": 2}\n``` (out of 10)', "评分：2分，满分为10分。"),
        *('按10分制：{"reason": "r", "grade": 2}', "<grade>2</grade><scale>1-10</scale>"),
    ],
)
def test_prose_with_a_grade_of_another_scale_is_refused(reply: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(reply, GRADED)


@check_each("grade", [0, 1, 2, 3])
@check_each("member", _OWN_MEMBERS)
def test_a_member_that_names_the_own_scale_changes_nothing(member: str, grade: int) -> None:
    if member == '"range": "highly relevant (2)"' and grade != 2:
        return
    assert parse_verdict(f'{{"reason": "weak", "grade": {grade}, {member}}}', GRADED).grade == grade


@check_each("grade", [0, 1, 2, 3])
@check_each("comment", _OWN_COMMENTS)
def test_the_own_scale_behind_a_grade_changes_nothing(comment: str, grade: int) -> None:
    for answer in (
        f'{{"reason": "weak", "grade": {grade}}}',
        f"Reason: weak.\nGrade: {grade}",
        f"评分：{grade}",
    ):
        assert parse_verdict(f"{answer} {comment}", GRADED).grade == grade


@check_each("comment", _NO_SCALE)
def test_numbers_that_are_no_scale_change_nothing(comment: str) -> None:
    assert parse_verdict(f"Grade: 2 {comment}", GRADED).grade == 2


@check_each(
    "reply",
    [
        *("Reason: the page shows 4.5 out of 5 stars.\nGrade: 2", "Grade: 2\nReason: The pain scale: 1-10."),
        '{"reason": "shows 4.5 out of 5 stars, on a scale of 1-5", "grade": 2}',
    ],
)
def test_prose_with_a_grade_of_the_own_scale_is_read(reply: str) -> None:
    assert parse_verdict(reply, GRADED).grade == 2


def test_a_scale_changes_nothing_for_yes_and_no() -> None:
    assert (
        parse_verdict('{"reason": "weak", "verdict": "yes", "scale": "1-10"} (out of 10)', BINARY).grade == 1
    )


def test_an_object_behind_a_statement_that_is_no_grade_is_refused() -> None:
    reply = '综上所述，该摘要只沾边，判定结果为：Maybe \n"Grade": "0",\n  "reason": "perfect"\n}\n以上。'
    with pytest.raises(ReplyParseError):
        parse_verdict(reply, GRADED)


@check_each("member", ['"total": 2.0', '"total_score": "2/3"', '"scale": "2/3"'])
def test_the_grade_once_more_is_no_scale(member: str) -> None:
    assert parse_verdict(f'{{"reason": "weak", "grade": 2, {member}}}', GRADED).grade == 2


@check_each(
    "topic",
    [
        *("The rating of the hotel is 4 out of 5.", "It covers 3 of 10.", "It names 2 out of 10 signs."),
        *("The film gets 3/10.", "The event takes place on 3/10.", "Result 3 of 10.", "Episode 3 out of 10."),
        *(
            "The snippet describes the pain scale (0-10).",
            "The pH scale runs from 0 to 14.",
            "They ran out of 5.",
        ),
        *("The price range is 10-20.", "The age range: 4-6.", "The hurricane scale ranges from 1 to 5."),
        *("Category 5 is the highest.", "The team has 10 points max.", "The map has a scale of 1:100."),
        *(
            "雅思满分9分。",
            "该摘要说满分是100分。",
            "驾照满分12分，用户想知道怎么扣分。",
            "风力4-5级。",
            "年龄范围是5-10。",
        ),
        *(
            "VAS评分为0到10分。",
            "豆瓣8.5分，满分10分。",
            "酒店4.5分（5分制）。",
            "更新于2/10。",
            "占3/10。",
            "学校采用百分制。",
        ),
    ],
)
def test_a_number_of_something_else_is_no_scale(topic: str) -> None:
    answer = '{"reason": "weak", "grade": 2}'
    for reply in (
        f"{topic}\n{answer}",
        f"{answer}\n\n{topic}",
        f"Analysis: {topic}\n\n```json\n{answer}\n```",
    ):
        assert parse_verdict(reply, GRADED).grade == 2


@check_each(
    "lead", ["满分100的试卷，用户想要。", "最高5级风。", "10-point scale for pain is what the user wants."]
)
def test_a_topic_in_front_of_an_object_is_no_scale(lead: str) -> None:
    assert parse_verdict(f'{lead}\n{{"reason": "weak", "grade": 2}}', GRADED).grade == 2
