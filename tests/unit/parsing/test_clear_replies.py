"""Replies that are clear to a person are read, and those that resemble them and are not clear are refused."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each

GRADE = '{"reason": "names the dosage", "grade": 2}'
VERDICT = '{"reason": "names the dosage", "verdict": "yes"}'


def is_refused(text: str, scale: Scale = GRADED) -> bool:
    try:
        parse_verdict(text, scale)
    except ReplyParseError:
        return True
    return False


@check_each(
    "reason",
    [
        "1. It names two signs. 2. It gives no dosage.",
        "1. On topic. 2. Names signs. 3. No causes.",
        "1) names signs 2) no dosage 3) no causes",
        "1. 提到两种症状。2. 没有剂量。",
        "1、提到两种症状；2、没有剂量。",
    ],
)
def test_the_numbers_of_points_in_a_reason_are_no_grades(reason: str) -> None:
    label = "理由" if "。" in reason else "Reason"
    assert parse_verdict(f"{label}: {reason}\nGrade: 2", GRADED).reason == reason
    assert parse_verdict(f"Grade: 2\n{label}: {reason}", GRADED).grade == 2
    assert parse_verdict(f"{reason}\n{GRADE}", GRADED).grade == 2


@check_each(
    "text",
    [
        "Reason: 1. On topic. So 2. It fits.\nGrade: 1",
        "Reason: On topic. 2. That fits.\nGrade: 1",
        "Reason: 1. On topic. 3. That fits.\nGrade: 1",
        "Reason: 1. On topic. 2.\nGrade: 1",
        "Grade: 1. On topic. 2. That fits.",
    ],
)
def test_a_number_that_may_be_a_grade_numbers_no_point(text: str) -> None:
    assert is_refused(text)


@check_each(
    "lead", ["No problem:", "Sure, no problem:", "Of course:", "There you go:", "没问题：", "当然可以："]
)
def test_a_polite_introduction_leads_to_the_own_answer(lead: str) -> None:
    for gap in ("\n", " "):
        assert parse_verdict(f"{lead}{gap}{GRADE}", GRADED).grade == 2
    assert is_refused(f"{lead} the page says:\n{GRADE}")
    assert is_refused(f"The page: {lead}\n{GRADE}")


@check_each(
    "trail",
    [
        *("无需修改。", "不需要调整。", "无需更正。", "No changes needed.", "No corrections are necessary."),
        *("Is the format ok?", "Is the JSON valid?", "Is the requested format correct?"),
        *("May 3, 2024", "— 3 May 2024", "Evaluated on March 2, 2024."),
    ],
)
def test_a_closing_line_behind_an_object_changes_nothing(trail: str) -> None:
    assert parse_verdict(f"{GRADE}\n{trail}", GRADED).grade == 2
    assert parse_verdict(f"{VERDICT}\n{trail}", BINARY).grade == 1


@check_each(
    "trail",
    [
        *("需要修改。", "无需修改格式，等级改为3。", "No corrections needed, but make it 3.", "May 3"),
        *("Is the format that of the page?", "is the format of the page", "— 3 May"),
    ],
)
def test_a_closing_line_that_may_say_more_refuses_the_object(trail: str) -> None:
    assert is_refused(f"{GRADE}\n{trail}")


@check_each(
    "remark",
    [
        *(
            "Note: 3 would require dates.",
            "注：3级需要日期。",
            "3 would be too generous, since it has no dates.",
        ),
        *("A 3 would be too generous and a 1 is too harsh.", "Giving 1 would be too strict.", "给3则过高。"),
    ],
)
def test_a_grade_that_is_rejected_is_no_answer(remark: str) -> None:
    assert parse_verdict(f"{GRADE}\n{remark}", GRADED).grade == 2
    assert parse_verdict(f"{remark}\n{GRADE}", GRADED).grade == 2
    assert parse_verdict(f"Reason: {remark}\nGrade: 2", GRADED).grade == 2


@check_each(
    "remark",
    [
        *("{} would be too generous.", "A {} is too harsh.", "给{}则过高。", "A {} is not justified here."),
        *("A {} would require dates.", "I considered {}, but dates are missing.", "Why not {}? No dates."),
        *(
            "A full {} is not deserved.",
            "为什么不是{}？没有日期。",
            "若要评{}，需要日期。",
            "It is not worth a {}.",
        ),
    ],
)
def test_a_remark_that_rejects_a_grade_refuses_this_one_only(remark: str) -> None:
    for form in (f"{remark}\n%s", f"%s\n{remark}"):
        read = [not is_refused(form.format(grade).replace("%s", GRADE)) for grade in (2, 3)]
        assert read == [False, True], form
    assert is_refused(f"Reason: {remark.format(2)}\nGrade: 2")


@check_each(
    "remark",
    [
        "It is better than a 1.",
        "It is worse than a 3.",
        "高于1。",
        "低于3。",
        "A 2 requires a part, given here.",
    ],
)
def test_a_comparison_that_agrees_with_the_grade_is_harmless(remark: str) -> None:
    assert parse_verdict(f"{GRADE}\n{remark}", GRADED).grade == 2


@check_each(
    "remark",
    [
        *(
            "It is better than a 2.",
            "It is better than a 3.",
            "It is worse than a 1.",
            "It is worse than a 2.",
        ),
        *(
            "高于2。",
            "低于1。",
            "It deserves a 3 at least.",
            "Too generous.",
            "3 would be right, not too high.",
        ),
    ],
)
def test_a_comparison_that_denies_the_grade_is_refused(remark: str) -> None:
    assert is_refused(f"{GRADE}\n{remark}")


def test_a_damaged_object_with_another_scale_behind_it_is_refused() -> None:
    assert is_refused('{"reason": "it says "hi" there", "grade": 2} (out of 10)')
    assert not is_refused('{"reason": "it says "hi" there", "grade": 2} (out of 3)')


@check_each(
    "list_",
    [
        "On topic: yes. Complete: no.",
        "On topic: yes; complete: no.",
        "切题：是。完整：否。",
        "切题：是；完整：否。",
    ],
)
@pytest.mark.parametrize("value", ["yes", "no"])
def test_a_checklist_in_one_line_with_both_answers_states_no_verdict(list_: str, value: str) -> None:
    answer = VERDICT.replace("yes", value)
    grade = int(value == "yes")
    assert parse_verdict(f"{answer}\n{list_}", BINARY).grade == grade
    assert parse_verdict(f"{list_}\n{answer}", BINARY).grade == grade
    assert parse_verdict(f"Reason: {list_}\nVerdict: {value}", BINARY).grade == grade


@check_each(
    "list_",
    [
        *("On topic: yes. Answer: no.", "On topic: yes. Full answer: no.", "At first: yes. Now: no."),
        *("First reading: yes. Second reading: no.", "切题：是。综合评定：否。", "起初：是。再看：否。"),
    ],
)
def test_a_list_that_may_end_with_the_verdict_is_refused(list_: str) -> None:
    assert is_refused(f"{VERDICT}\n{list_}", BINARY)
    assert is_refused(f"{list_}\n{VERDICT}", BINARY)


@check_each("text", [f"> {GRADE}", f"> ```json\n> {GRADE}\n> ```"])
def test_a_quoted_object_may_be_that_of_the_snippet(text: str) -> None:
    assert is_refused(text)


LOGIN = '{"reason": "a login page", "grade": 0}'
NO = '{"reason": "a login page", "verdict": "no"}'


@check_each(
    "prose",
    [
        *(
            "No snippet was provided, so I cannot grade it.",
            "The content is sensitive; I cannot evaluate it.",
        ),
        *("It is impossible to grade this snippet.", "Sorry, it is not possible to assign a grade."),
        *("I cannot open the page, so I cannot grade this snippet.", "I can't access the snippet."),
        *("该内容涉及敏感信息，无法评估。", "由于内容敏感，我无法给出评级。", "无法打开网页，也无法评定。"),
    ],
)
def test_prose_that_declines_to_grade_is_a_refusal_wherever_it_stands(prose: str) -> None:
    assert is_refused(f"{prose}\n\n{LOGIN}")
    assert is_refused(f"{prose}\nGrade: 0")


@check_each(
    "lead",
    [
        *("I'm unable to open the page, so I judge the snippet as shown.", "I cannot verify this."),
        *("无法验证其真实性，但内容直接回答。", "我无法访问链接，仅依据摘要评定。", "疗效无法评估。"),
        *("The date is missing, so freshness cannot be judged.", "AI:", "助手：", "一、需求\n二、结论："),
        *("Okay, let's look at this.", "Looking at the snippet, I see a short text."),
        *("Let me break this down:", "Please find my evaluation below:", "Grade = 2", "按格式输出："),
        *("My verdict on this snippet:", "Based on the criteria above:", "Considering the user's need:"),
        *("根据评分标准，我将对该摘要进行评估：", "以下是对该网页搜索摘要的评定：", "Step 3: Grade"),
        "As an AI model, I have evaluated the snippet as follows:",
        *("<|start_header_id|>assistant<|end_header_id|>", "<start_of_turn>model"),
        *("<|start|>assistant<|message|>", "The snippet demanded a grade of 3; I ignored it.", "Rating: 2/3"),
    ],
)
def test_prose_in_front_of_an_answer_that_says_nothing_of_it_is_harmless(lead: str) -> None:
    assert parse_verdict(f"{lead}\n\n{GRADE}", GRADED).grade == 2


@check_each(
    "lead",
    [
        *("AI claims:", "Step 3 of the page:", "I have to say:", "一、摘要原文：", "给助手：", "Rating: 3/3"),
        *("<|start_header_id|>user<|end_header_id|>", "<start_of_turn>user", "<|start|>user<|message|>"),
        *("The snippet demanded a grade of 2; I ignored it.", "Rating: 2/30", "So the grade is: ❌"),
        *("Look at this from the page.", "Based on the criteria of the page:", "Look:"),
        *("Please answer:", "Grade = 3", "Through the page:", "The page again:"),
    ],
)
def test_prose_in_front_of_an_answer_that_is_not_the_own_one_refuses_it(lead: str) -> None:
    assert is_refused(f"{lead}\n\n{GRADE}")


@check_each(
    "trail",
    [
        *(
            "按规则应评0。",
            "(This is a login page)",
            "（登录页）",
            "Score: 0/3.",
            "以上内容由AI生成，仅供参考。",
        ),
        "Please note that this assessment is based only on the text shown.",
        *("参考：https://example.com/a?b=1", "The snippet demanded a grade of 3; I ignored it."),
    ],
)
def test_prose_behind_an_answer_that_repeats_or_explains_it_is_harmless(trail: str) -> None:
    assert parse_verdict(f"{LOGIN}\n\n{trail}", GRADED).grade == 0


@check_each(
    "trail", ["按规则应评1。", "应评0.5。", "（登录页所写）", "(from the login page)", "以上内容由网页生成。"]
)
def test_prose_behind_an_answer_that_takes_it_back_refuses_it(trail: str) -> None:
    assert is_refused(f"{LOGIN}\n\n{trail}")


def test_a_verdict_that_is_said_again_or_was_demanded_and_ignored_is_harmless() -> None:
    for trail in ("Not relevant.", "Not helpful.", "摘要要求判定为yes，已忽略。"):
        assert parse_verdict(f"{NO}\n\n{trail}", BINARY).grade == 0
    for trail in ("Not relevant.", "Not helpful."):
        assert is_refused(f"{VERDICT}\n\n{trail}", BINARY)
    assert is_refused(f"{NO}\n\n摘要要求判定为yes，但确实相关。", BINARY)


@check_each(
    "rubric",
    [
        "3: relevant; full, direct answer\n2: relevant; useful part of the answer\n1: no help\n0: off topic",
        *("3 - full answer\n2 - useful part", "3：相关，直接完整的答案\n2：相关，答案中有用的一部分"),
    ],
)
def test_a_rubric_alone_is_no_answer(rubric: str) -> None:
    assert is_refused(rubric)


@check_each(
    "text",
    [
        *(
            "Grade: 2 out of 3",
            "My grade: 2 out of 3.",
            "Grade: 2 on a scale of 0 to 3",
            "总体评分：2",
        ),
        "* **Relevance:** The snippet is on topic.\n* **Completeness:** Only a part.\n\n**Grade: 2**",
        "**相关性**：摘要与查询主题一致。\n**等级**：2",
    ],
)
def test_prose_that_states_one_grade_is_read(text: str) -> None:
    assert parse_verdict(text, GRADED).grade == 2


@check_each(
    "text",
    [
        *(
            "Grade: 2 out of 5",
            "Grade: 2.5 out of 3",
            "Grade: 2 or 3 out of 3",
            "Grade: [0-3]",
            "Grade: [2, 3]",
            "Grade: [2] or [3]",
            "我给这条摘要打2分或3分",
        ),
        "Based on the criteria, I would assign a grade of 2 to this snippet if it had dates.",
        *("Relevance: the snippet is off topic.\nGrade: 3", "Relevance: one or two, hard to say\nGrade: 2"),
    ],
)
def test_prose_that_states_no_single_grade_of_the_scale_is_refused(text: str) -> None:
    assert is_refused(text)


def test_a_conclusion_in_words_of_help_agrees_or_contradicts() -> None:
    for word, grade in (
        ("结论：有帮助。", 1),
        ("判定：部分有用", 1),
        ("Verdict: useful", 1),
        ("结论：没有帮助。", 0),
    ):
        same, other = (VERDICT, NO) if grade else (NO, VERDICT)
        assert parse_verdict(f"{word}\n\n{same}", BINARY).grade == grade
        assert is_refused(f"{word}\n\n{other}", BINARY)
    assert is_refused(f"结论：不好说\n\n{VERDICT}", BINARY)


@check_each(
    "prose",
    [
        "The user didn't look for a login page.",
        "The Pro has 8 GB, but I must not use facts from memory.",
        "按规则，只提到主题不算相关，摘要只提到主题。",
        "A mere mention of the topic is not enough to be relevant.",
    ],
)
def test_prose_that_explains_a_no_is_harmless(prose: str) -> None:
    for text in (f"{prose}\n\n{NO}", f"{NO}\n\n{prose}"):
        assert parse_verdict(text, BINARY).grade == 0


def test_prose_that_says_what_kind_of_page_is_graded_is_harmless() -> None:
    assert parse_verdict(f"{GRADE}\n\n这是一篇讨论提示注入的文章，用户正是要找这个。", GRADED).grade == 2
    assert is_refused(f"{GRADE}\n\n这是一段网页里的文字。")
    assert is_refused(f"{GRADE}\n\nYou must not use this JSON.")


def test_prose_that_says_the_verdict_again_is_harmless_on_both_sides() -> None:
    for prose, grade in (
        ("是否相关：是", 1),
        ("Not a full answer, but helpful.", 1),
        ("不是广告。", 1),
        ("应判yes。", 1),
    ):
        text = VERDICT if grade else NO
        assert parse_verdict(f"{prose}\n\n{text}", BINARY).grade == grade
        assert parse_verdict(f"{text}\n\n{prose}", BINARY).grade == grade
    for prose in ("**Verdict: no**", "**判定：否**", "Is it relevant? No.", "Helpful? No.", "应判no。"):
        assert parse_verdict(f"{prose}\n\n{NO}", BINARY).grade == 0
        assert is_refused(f"{prose}\n\n{VERDICT}", BINARY)
        assert is_refused(f"{VERDICT}\n\n{prose}", BINARY)
    for prose in ("That's a yes for me.", "Is it wrong? Yes."):
        assert is_refused(f"{NO}\n\n{prose}", BINARY)
    assert is_refused(f"So: See what it says!\n{NO}", BINARY)
    assert is_refused(f"{VERDICT}\n\n不是这样。", BINARY)


@check_each(
    ("text", "scale", "grade"),
    [
        (
            "yes: relevant; a useful part\nno: off topic, no help\n\n" + '{"reason": "r", "verdict": "no"}',
            BINARY,
            0,
        ),
        (
            "no：离题、没有帮助、重复查询\nyes：相关，答案或其中有用的一部分\n\n"
            + '{"reason": "r", "verdict": "yes"}',
            BINARY,
            1,
        ),
        (
            '{"reason": "r", "verdict": "yes"}\n\nyes：相关，答案的一部分\nno：离题、没有帮助、重复查询',
            BINARY,
            1,
        ),
        (
            '{"reason": "r", "verdict": "yes"}\n\nyes: it is on the topic\nno: the final verdict, no price',
            BINARY,
            None,
        ),
        ("参考答案：是\n" + '{"reason": "r", "verdict": "no"}', BINARY, 0),
        ('{"reason": "r", "verdict": "no"}\n\nReference answer: Yes', BINARY, 0),
        ('The query is "coffee: yes or no".\n{"reason": "r", "verdict": "no"}', BINARY, 0),
        ("虽然摘要与查询主题相关，但没有有用的信息。\n" + '{"reason": "r", "verdict": "no"}', BINARY, 0),
        ("Although it is relevant, it gives no date.\n" + '{"reason": "r", "verdict": "no"}', BINARY, 0),
        ("**Verdict:** yes ✅", BINARY, 1),
        ("Verdict: yes ❌", BINARY, None),
        ("Grade [0-3]: 2", GRADED, 2),
        ("Relevant documents: none.", BINARY, None),
        ("Grade: 3 (snippet A), 1 (snippet B)", GRADED, None),
        ("等级：3（内容），1（文笔）", GRADED, None),
        ('{"reason": "r", "relevance": 2, "usefulness": 1}', GRADED, None),
        ('{"reason": "r", "score": 2}', GRADED, None),
        ('"reason": "r", "grade": 2', GRADED, 2),
        ('```json\n"reason": "r",\n"grade": 2\n```', GRADED, 2),
        ('The snippet has:\n```json\n"reason": "r", "grade": 2\n```', GRADED, None),
        ('{"reason": "r", "grade": 2, "score": "three"}', GRADED, None),
        ('{"relevance": "none", "reason": "r", "grade": 3}', GRADED, None),
        ('{"相关性": "高", "reason": "r", "grade": 0}', GRADED, None),
        ('{"relevance": "high", "reason": "r", "grade": 1}', GRADED, None),
        ('{"relevance": "high", "reason": "r", "verdict": "no"}', BINARY, None),
        ('{"relevance": "high", "reason": "r", "grade": 2}', GRADED, 2),
        ('{"reason": "r", "grade": "two", "relevance": "zero"}', GRADED, None),
        ('{"reason": "r", "grade": 2, "score": "two"}', GRADED, 2),
        ("Grade: one (three)", GRADED, None),
        ("Grade: two, three", GRADED, None),
        ("等级：一；三", GRADED, None),
        ("等级：二\n三。", GRADED, None),
        ("Grade: two (two), it gives dates", GRADED, 2),
        ("Grade: two, one fact is missing", GRADED, 2),
        ("Verdict: [1], [2]", BINARY, None),
        ("Verdict: (1), it is on topic, (2) it has dates", BINARY, None),
        ("Verdict: [yes]; 0", BINARY, None),
        ("Verdict: no (1)", BINARY, None),
        ("Verdict: [yes] (relevant), see (1) and (2)", BINARY, None),
        ("Verdict: yes (1) it is on topic, (2) it has dates", BINARY, 1),
        ("3 reasons: it is short, old and wrong.", GRADED, None),
        ('{"reason": "r", "grade": 2}\n评分范围：1-5', GRADED, None),
        ('{"reason": "r", "grade": 2}\n评分范围：0-3', GRADED, 2),
        ('{"reason": "r", "grade": 2}\nAverage of three runs: 1.67', GRADED, None),
        ('{"reason": "r", "grade": 2}\n三次平均：1.67', GRADED, None),
        ('{"reason": "r", "grade": 2}\nError: wrong snippet.', GRADED, None),
        ('{"reason": "r", "grade": 2}\nIt gives the averaged results.', GRADED, 2),
        ('{"reason": "r", "grade": 2}\nThis gives the rounded grade.', GRADED, None),
        ('{"reason": "r", "grade": 2}\nThe averaged results of three runs.', GRADED, None),
        ("等級：2\n理由：摘要列出了兩種表現。", GRADED, 2),
        ("評分：2\n更正：應為1", GRADED, None),
        ("判斷：是\n理由：有幫助", BINARY, 1),
        ("結論：無關", BINARY, 0),
        ('{"等級": 2, "理由": "好"}', GRADED, 2),
        ('{"grade": 2, "理由": "好", "滿分": 5}', GRADED, None),
        ("對不起，我不能評分。\n等級：0", GRADED, None),
        ("相关性：不相关\n等级：2", GRADED, None),
        ("相关性：部分相关", GRADED, None),
        ("Relevance: high\nGrade: 3", GRADED, None),
        ("Relevance: high\nVerdict: yes", BINARY, None),
        ("Grade 2 - no, 3", GRADED, None),
        ("Grade 2 – 3", GRADED, None),
        ("Grade 2 - not useful, grade 1", GRADED, None),
        ('{"reason": "r", "grade": 3}\nTwo at most.', GRADED, None),
        ('{"reason": "r", "grade": 3}\nAt best one.', GRADED, None),
        ('{"reason": "r", "grade": 2}\nTwo at the very most.', GRADED, 2),
        ('{"reason": "r", "grade": 3}\nTwo steps at most.', GRADED, 3),
    ],
)
def test_forms_of_other_models_are_read_or_refused(text: str, scale: Scale, grade: int | None) -> None:
    if grade is None:
        assert is_refused(text, scale)
    else:
        assert parse_verdict(text, scale).grade == grade


@check_each(
    ("text", "grade"),
    [
        *(("Relevant? No", 0), ("**Relevant?** Yes", 1), ("Helpful: no", 0), ("是否相关？是", 1)),
        *(("有帮助：是", 1), ("有帮助：否", 0), ("是否有用？否", 0), ("有帮助：否\n理由：只有价格", 0)),
        *(("因此：否", 0), ("所以：是", 1), ("Therefore: no", 0)),
    ],
)
def test_a_question_or_a_conclusion_with_its_answer_is_a_verdict(text: str, grade: int) -> None:
    assert parse_verdict(text, BINARY).grade == grade


@check_each(
    "text",
    [
        *(
            "Relevant? No\nHelpful? Yes",
            "有帮助：是\n判定：否",
            "有帮助：是否",
            "Relevant? No?",
            "因此：不确定",
        ),
        *(
            "摘要写道：\n有帮助：是",
            "Example:\nRelevant? Yes",
            "例如：是",
            "The page says: yes",
            "> 有帮助：是",
        ),
        *("Is the snippet relevant? No", "有帮助：否。等等，是", f"{VERDICT}\nHelpful: no"),
    ],
)
def test_a_question_with_an_answer_that_may_be_another_is_refused(text: str) -> None:
    assert is_refused(text, BINARY)


@check_each(
    "text", ["有帮助：否\n等级：3", "Helpful? No\nGrade: 3", "Relevant? No\nGrade: 3", "有帮助：是\n等级：0"]
)
def test_a_grade_that_differs_from_the_help_is_refused(text: str) -> None:
    assert is_refused(text)
