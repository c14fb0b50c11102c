"""Prose around an answer decides whether the answer counts: denials, sources, thinking, opposite words."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each
from tests.unit.parsing.test_surroundings import OBJECTS, parse_grade

OBJECT, VERDICT = OBJECTS["graded", "en"], OBJECTS["binary", "en"]

#: Sentences that say that an answer beside them is not the reply's own.
NOT_MINE = (
    *("This is not my final answer.", "That isn't my real verdict.", "It is not the final grade yet."),
    *(
        "This is not yet final.",
        "The answer is not mine.",
        "I have not decided yet.",
        "I haven't decided yet.",
        "The grade hasn't been finalized.",
        "My final answer comes later.",
    ),
    *("这不是我的最终答案。", "以上并非最终判断。", "我还没有决定。", "最终答案稍后给出。"),
)
#: Text in front of an object that names another source or no more than an approximation; %s is the object.
OTHERS = (
    *("Yesterday's verdict was %s", "Student's answer: %s", "Given result: %s", "Submitted grade: %s"),
    *("The teacher’s rating:\n%s", "Their verdict:\n%s", "Last week's result:\n%s", "Stored answer:\n%s"),
    *("Here is the snippet:\n%s", "This is the search result:\n%s", "Below is the page text:\n%s"),
    *(
        "Something like %s",
        "Something like this:\n%s",
        "Along the lines of:\n%s",
        "Answer of the student: %s",
        "Received output:\n%s",
    ),
    *("搜索结果里写着 %s", "搜索结果显示：%s", "上面写着：\n%s", "检索结果：\n%s", "以下是摘要：\n%s"),
    *("昨天的判断：%s", "学生的答案：\n%s", "已有结果：%s", "给定的答案：\n%s", "他的评分：%s"),
    *("类似这样：\n%s", "大致如下：\n%s"),
)
#: Thinking without an answer behind it.
THOUGHTS = (
    *("Thinking: %s", "Thinking:\n%s", "**Thinking**\n%s", "Thought process:\n%s", "My thoughts:\n%s"),
    *("思考:%s", "思考：\n%s", "思考过程：\n%s", "思维链：%s", "推理过程：\n%s", "Chain of thought:\n%s"),
    *("&lt;think&gt;%s&lt;/think&gt;", "&lt;thinking&gt;\n%s", "<thought_process>%s</thought_process>"),
)
#: Prose about the snippet, by the grades that it contradicts.
OPPOSITES = {
    (2, 3): (
        *("The snippet is not relevant at all.", "It is completely irrelevant.", "The page is off topic."),
        *("The snippet is off-topic.", "It has nothing to do with the query.", "This is unrelated."),
        *("It isn't even remotely relevant to the query.", "It has no relevance to the query."),
        *("The snippet does not answer the query at all.", "It is of no use for the query."),
        "It doesn't answer what the user wants in any way.",
        *("摘要与查询毫无关系。", "与查询无关。", "两者不相关。", "摘要和查询没有任何关系。", "答非所问。"),
        *(
            "内容完全跑题。",
            "摘要和查询没关系。",
            "It isn't related to the query.",
            "摘要完全没有回答查询。",
            "与查询毫不相干。",
        ),
    ),
    (0, 1): (
        *("The snippet fully answers the query.", "It completely answers the question."),
        *("The text is a perfect answer.", "It answers the query in full.", "It is a complete answer."),
        *("It is a full, direct answer.",),
        *("The snippet is highly relevant.", "It entirely satisfies the need."),
        *("摘要完全回答了查询。", "该摘要完整地回答了问题。", "完全满足查询的需求。", "与查询高度相关。"),
    ),
    (0, 1, 2): (
        *("This deserves the top grade.", "Full marks.", "It earns the maximum score."),
        *("I give it the highest rating.", "A perfect score.", "It gets full points."),
        *("这条应得满分。", "给最高分。", "评为最高等级。"),
    ),
    (1, 2, 3): ("This deserves the lowest grade.", "It gets zero points.", "这条应得零分。", "给最低分。"),
}
#: Prose that agrees with grade 2, though it has words of the sets above.
HARMLESS = (
    *("评分范围是0到3。", "等级为0至3的整数。", "Confidence: 0.9", "Confidence score: 0.85", "置信度:0.9"),
    *("置信度为95%。", "It misses grade 3 because it omits the causes.", "未达到3级,因为缺少原因。"),
    *("It is not a 3 because it omits the causes.", "It does not reach grade 3.", "It isn't a 0 or a 1."),
    *("I don't give it a 3 since two signs are too few.", "不是3分，因为不完整。", "这条不能给3分。"),
    *("It falls short of a 3.", "够不上3级。", "It does not deserve the top grade.", "还不到满分。"),
    *("The snippet does not fully answer the query.", "The snippet is not completely irrelevant."),
    *("The rest of the page is irrelevant.", "后半部分与查询无关。", "并非完全无关。", "没有完全回答查询。"),
    *("To fully answer the query, it would need the causes.", "The snippet asks for a perfect score."),
    *("The snippet is not a complete answer.", "The ads did not affect my final grade."),
    *("It is neither off topic nor a perfect answer.", "如果能说明原因，就是满分。"),
    *(
        "3 (three) causes are missing.",
        "1 (PDF) file is linked.",
        "- 1 (topic): it fits.",
        "1（一）个方面缺失。",
    ),
    *("The iPhone 3 is named.", "提到iPhone 3。", "Not all signs are shown.", "Not every sign is shown."),
)
#: Prose that denies the grade that an object states, and other grades.
DENIALS = (
    "It is not a {}.",
    "It does not reach grade {}.",
    "It is not a 0 or a {}.",
    "未达到{}级。",
    "不是{}分。",
)


def is_refused(text: str, scale: Scale = GRADED) -> bool:
    return parse_grade(text, scale) is None


def place_beside(prose: str, answer: str) -> tuple[str, str, str]:
    return f"{prose}\n{answer}", f"{answer}\n\n{prose}", f"{prose}\n\n```json\n{answer}\n```"


@check_each("sentence", NOT_MINE)
def test_an_answer_that_is_said_not_to_be_final_is_refused(sentence: str) -> None:
    assert all(map(is_refused, place_beside(sentence, OBJECT)))
    assert all(is_refused(text, BINARY) for text in place_beside(sentence, VERDICT))
    assert is_refused(f"Grade: 2\n{sentence}")


@check_each("form", [*OTHERS, *THOUGHTS])
def test_an_object_of_another_source_or_of_thinking_is_refused(form: str) -> None:
    assert is_refused(form.replace("%s", OBJECT))
    assert is_refused(form.replace("%s", VERDICT), BINARY)
    assert is_refused(form.replace("%s", f"\n```json\n{OBJECT}\n```"))


def test_the_answer_behind_escaped_thinking_is_read() -> None:
    thought = OBJECT.replace("2", "3")
    assert parse_verdict(f"&lt;think&gt;{thought}&lt;/think&gt;\n{OBJECT}", GRADED).grade == 2


@check_each(("sentence", "grades"), [(each, grades) for grades, group in OPPOSITES.items() for each in group])
def test_prose_that_contradicts_a_grade_without_a_digit_is_refused(
    sentence: str, grades: tuple[int, ...]
) -> None:
    for grade in range(4):
        texts = place_beside(sentence, OBJECT.replace("2", str(grade)))
        read = {parse_grade(text, GRADED) for text in texts}
        assert read == ({None} if grade in grades else {grade}), grade
    value = "yes" if 3 in grades else "no"
    assert all(
        is_refused(text, BINARY) for text in place_beside(sentence, VERDICT.replace('"yes"', f'"{value}"'))
    )
    assert is_refused(f"{sentence}\n\nGrade: {grades[-1]}")


@check_each("sentence", HARMLESS)
def test_prose_that_agrees_with_a_grade_is_harmless(sentence: str) -> None:
    for text in place_beside(sentence, OBJECT):
        assert parse_grade(text, GRADED) == 2, text


@check_each("form", DENIALS)
def test_prose_that_denies_a_grade_refuses_this_one_only(form: str) -> None:
    for text in place_beside(form.format(2), OBJECT):
        assert is_refused(text), text
    for text in place_beside(form.format(3), OBJECT):
        assert parse_grade(text, GRADED) == 2, text


@check_each(
    "line", ["Grade: 2-3", "Grade: N/A", "grade = high", "Grade: 2?", "等级：二到三", "\\boxed{1 or 2}"]
)
def test_a_labelled_value_that_is_none_contradicts_the_object_beside_it(line: str) -> None:
    assert all(map(is_refused, place_beside(line, OBJECT)))


@check_each("line", ["Verdict: maybe", "verdict: partially", "判定：不一定", "Verdict = N/A", "\\boxed{}"])
def test_a_labelled_verdict_that_is_none_contradicts_the_object_beside_it(line: str) -> None:
    assert all(is_refused(text, BINARY) for text in place_beside(line, VERDICT))


@check_each(
    "line",
    [
        *("2.5", "2-3", "1 or 2", "1到2", "Two signs. 1.5", "Maybe.", "不一定", "-2", "+2", "− 2", "(-2)"),
        "It gives signs. -2",
    ],
)
def test_a_value_between_two_and_a_doubt_contradict_the_object_beside_them(line: str) -> None:
    assert all(map(is_refused, place_beside(line, OBJECT)))


@check_each("tail", [" See step 2.", "\nSee step 3.", "\n见第1步。", " \\boxed{2}"])
def test_a_step_or_the_same_value_behind_an_object_leaves_no_doubt(tail: str) -> None:
    assert parse_grade(OBJECT + tail, GRADED) == 2


@check_each(
    "line", ["Grade:", "Grade (0-3): 2", "Grade: 2 out of 3", "**等级：2**（部分有用）", "Grade: see below:"]
)
def test_a_labelled_value_that_agrees_is_harmless(line: str) -> None:
    assert parse_grade(f"{line}\n{OBJECT}", GRADED) == 2


@check_each(
    "lead",
    [
        "My grade:\n\n1. Intent: boil eggs\n2. The snippet gives one of the times\n",
        "好的，我来评定：\n\n1. 查询意图：煮蛋时间\n2. 只给出一种熟度\n",
        "评分：\n1、查询意图：煮蛋时间\n2、只给出一种熟度\n3、没有出处\n",
    ],
)
def test_the_numbers_of_a_list_behind_a_label_are_no_values(lead: str) -> None:
    assert parse_grade(f'{lead}\n{{"reason": "one time", "grade": 2}}', GRADED) == 2


@check_each(
    "lead", ["My grade:\n1. It is 3\n2. It is full\n", "评分：\n1. 相关性：3\n2. 完整性：1\n", "评分：\n1\n"]
)
def test_a_value_in_a_list_behind_a_label_contradicts_the_object(lead: str) -> None:
    assert parse_grade(f'{lead}\n{{"reason": "one time", "grade": 2}}', GRADED) is None


@check_each("words", ["[]", "null", "Two signs. []", "Only the title matches; partially", "摘要只有标题。无"])
def test_words_that_state_nothing_are_harmless(words: str) -> None:
    assert parse_grade(f"{{'verdict': 'no'}} {words}", BINARY) == 0


@check_each(
    "form",
    [
        "Reason: %s",
        "Reason: Two signs. %s",
        "理由：%s",
        "reason='%s'",
        "<reason>%s</reason>",
        "- reason: |\n  %s",
    ],
)
def test_an_object_in_the_reason_is_no_answer(form: str) -> None:
    assert is_refused(form.replace("%s", OBJECT))
    assert is_refused(f"Grade: {{}}\n{form.replace('%s', OBJECT)}")


@check_each(
    "sentence",
    [
        *(
            "It is not below 3.",
            "It is no less than 3.",
            "Is it not a 3?",
            "不低于3分。",
            "It is not a 3 or 2.",
        ),
        *("It does not miss grade 3.", "不只是2级，而是3级。", "It is not a 2 but a 3."),
    ],
)
def test_a_denial_that_may_mean_another_grade_is_refused(sentence: str) -> None:
    assert all(map(is_refused, place_beside(sentence, OBJECT)))


@pytest.mark.parametrize(
    "text", ['So the result: ("It is about the weather; grade: 3 ", "3/5")', '它写道"谈的是天气；等级：3 "']
)
def test_a_quoted_sentence_is_no_answer(text: str) -> None:
    assert is_refused(text)


@check_each(
    "sentence",
    [
        *("Grade 3 needs a full, direct answer.", "Grade 3 requires a complete answer.", "3级需要完整回答。"),
        *("A complete answer would list all prices.", "It is not a full, direct answer."),
        *("The user is looking for a direct, complete answer.", "完整的答案应包括价格。"),
    ],
)
def test_what_a_higher_grade_needs_says_nothing_of_a_lower_one(sentence: str) -> None:
    for text in place_beside(sentence, OBJECT.replace("2", "1")):
        assert parse_grade(text, GRADED) == 1, text


def test_praise_in_a_question_counts_by_its_answer() -> None:
    answer = OBJECT.replace("2", "1")
    for question in (
        "Does it give a full, direct answer?",
        "Does it fully answer the query?",
        "完整地回答了查询吗？",
    ):
        for denial in (
            "No.",
            "No, only in part.",
            "It does not; it only names the topic.",
            "It doesn't.",
            "没有。",
        ):
            assert parse_grade(f"{question} {denial}\n{answer}", GRADED) == 1
        for praise in ("Yes.", "It does.", "是的。"):
            assert is_refused(f"{question} {praise}\n{answer}")


@check_each("lead", ["Here is my answer:\n", "The snippet is about another city, so:\n", "判断如下：\n"])
def test_prose_in_front_of_labelled_lines_is_harmless(lead: str) -> None:
    assert parse_grade(f"{lead}Reason: Only the city, 3 of 10 steps.\nGrade: 1", GRADED) == 1


@check_each("line", ["等级2", "评分2分。", "相关性等级２", "等级2，两条都有", "等级2（部分有用）"])
def test_a_chinese_label_may_touch_its_value(line: str) -> None:
    assert parse_grade(line, GRADED) == 2
    assert parse_grade(f"理由：只列出了两条\n{line}", GRADED) == 2
    assert is_refused(f"{line}\n等级：3")


@check_each("text", ["等级3需要日期", "理由：等级3需要日期", "等级2到3", "等级2.5", "等级23", "等级2/3"])
def test_a_number_that_only_touches_a_label_is_no_answer(text: str) -> None:
    assert is_refused(text)


@pytest.mark.parametrize("text", ["> Grade: 2", "> 等级：2", "> Reason: two signs\n> Grade: 2", "> 2"])
def test_a_quoted_line_is_no_answer(text: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(text, GRADED)


@check_each(
    "text", ["我的判断是：\n{} - the text is about tea", "My verdict:\n{} in the list", "The verdict is {}"]
)
@check_each("number", ["No. 1", "no.  3"])
def test_a_number_is_no_verdict(text: str, number: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(text.format(number), BINARY)


@check_each(
    "lead",
    [
        "The content of the snippet is as follows:",
        "The result reads:",
        "Result text:",
        "摘要内容如下：",
        "整条摘要就是一个假判定：",
        "The author suggests the rating",
        "The existing judgment is",
        "The page wants",
        "Last week the output for this pair was",
        "上一轮输出的是：",
        "摘要自带的评分：",
        "标注人员的结果：",
        "原评分：",
    ],
)
def test_an_object_that_a_text_or_another_assessor_gives_is_refused(lead: str) -> None:
    for text, scale in ((OBJECT, GRADED), (VERDICT, BINARY)):
        with pytest.raises(ReplyParseError):
            parse_verdict(f"{lead}\n{text}", scale)


@check_each(
    "trail",
    [
        "(example)",
        "(quoted)",
        "（示例）",
        "（原文）",
        "Format only.",
        "仅为格式示意。",
        "(text of the page, not mine)",
        "This text is part of the snippet.",
        "These lines are from the page.",
        "The snippet's own JSON, reproduced.",
        "That is the whole snippet.",
        "There is nothing else in the snippet.",
        "这样的一行属于操纵。",
        "I take back the above.",
        "I graded the wrong snippet.",
        "I got it backwards.",
        "The opposite is true.",
        "结论反了。",
        "我看错摘要了。",
    ],
)
def test_a_note_that_takes_an_object_back_is_refused(trail: str) -> None:
    for text, scale in ((OBJECT, GRADED), (VERDICT, BINARY)):
        with pytest.raises(ReplyParseError):
            parse_verdict(f"{text}\n\n{trail}", scale)


@check_each(
    "trail",
    [
        "Upgraded to 3 on second look.",
        "Second thoughts: three.",
        "评2偏高了。",
        "还是评3好了。",
        "The scale I used is 1 to 5.",
    ],
)
def test_a_grade_that_is_corrected_is_refused(trail: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(f"{OBJECT}\n\n{trail}", GRADED)


@check_each(
    "reason", ["It is a keyword pile.", "The snippet is a mere demand for a grade.", "摘要只是索要等级。"]
)
def test_the_definition_of_the_lowest_grade_contradicts_a_relevant_one(reason: str) -> None:
    assert parse_grade(f'{{"reason": "r", "grade": 2}}\n\n{reason}', GRADED) is None
    assert parse_grade(f'{{"reason": "r", "grade": 0}}\n\n{reason}', GRADED) == 0


@check_each("grade", [0, 1, 2, 3])
def test_the_rubric_in_front_of_an_object_states_no_grade(grade: int) -> None:
    for rubric in (
        "3: relevant; full, direct answer\n2: useful part\n1: on topic, no help\n0: off topic",
        "评分标准：\n3：相关，直接完整的答案\n2：有用的一部分\n1：切题，没有帮助\n0：离题",
        "I grade on the 0-3 scale: 0 off topic, 1 on topic, 2 useful part, 3 full answer.",
    ):
        assert parse_grade(f'{rubric}\n\n{{"reason": "r", "grade": {grade}}}', GRADED) == grade


@check_each(
    ("text", "grade"),
    [
        ("Grade: 0 - off topic", 0),
        ("Grade: 2 – partial", 2),
        ("Grade: 3 — relevant; full, direct answer", 3),
        ("等级：2——部分有用", 2),
        ('{"reason": "r", "grade": 1}\n\nA grade of 2 would require at least one date.', 1),
        ('A 3 would need the schedule.\n\n{"reason": "r", "grade": 1}', 1),
        ('要评2，至少得有一个日期，这里没有。\n\n{"reason": "r", "grade": 1}', 1),
        ('The query is "grade 3 math worksheets".\n\n{"reason": "r", "grade": 2}', 2),
    ],
)
def test_comments_conditions_and_the_query_state_no_other_grade(text: str, grade: int) -> None:
    assert parse_grade(text, GRADED) == grade


@check_each(
    ("lead", "verdict"),
    [
        ("On topic: yes\nHelpful: no", "no"),
        ("1. On topic? Yes.\n2. Full answer? No.", "yes"),
        (f"On topic? Yes.\nDoes it {'really ' * 40}give the date? No.", "yes"),
        ("切题：是\n有帮助：否", "no"),
    ],
)
def test_a_checklist_with_both_answers_states_no_verdict(lead: str, verdict: str) -> None:
    text = f'{{"reason": "r", "verdict": "{verdict}"}}'
    assert parse_grade(f"{lead}\n\n{text}", BINARY) == int(verdict == "yes")
    other = "no" if verdict == "yes" else "yes"
    assert parse_grade(f"{lead}\nVerdict: {other}\n\n{text}", BINARY) is None


def test_an_answer_to_the_query_is_no_verdict() -> None:
    for text in ("Answer: No, you cannot.", "答案：是的，周日营业。"):
        assert parse_grade(text, BINARY) is None
    assert parse_grade("Answer: yes, the snippet gives the hours.", BINARY) == 1


@check_each(
    "beside",
    [
        "If it had listed the price, it would be a 3.",
        "I considered 3, but the price is missing.",
        "Why not 3? The price is missing.",
        "高于 1，但达不到 3。",
        "Better than a 1, worse than a 3.",
        "A stricter reader might give it a 1.",
        "A full 3 is not justified here.",
        "Rather than 3, I chose 2.",
        "Not a 3 since the price is missing.",
        "Note: the snippet contains an instruction to give grade 3, which I ignored.",
        "The snippet tries to inject a grade of 3, which is ignored.",
        "The exam is for grade 3 pupils.",
        "这是三级医院的页面。",
        "(1) names signs (2) no treatment",
        "No ads are in it.",
        "Wait times are listed too.",
        "It should be noted that the price is missing.",
        "According to the snippet, pale gums are a sign.",
        "Hope this helps!",
        "- 主题一致\n- 信息具体",
        "- Topic: match\n- Detail: some",
        "- Query: tea\n- Snippet: black tea",
        "摘要给出了部分答案：2023年的价格。",
        "摘要指出答案：3分钟。",
        "摘要给出了答案：3片，每日一次。",
    ],
)
def test_comparisons_topics_and_remarks_behind_an_object_are_harmless(beside: str) -> None:
    assert parse_grade(f"{OBJECT}\n\n{beside}", GRADED) == 2


@check_each(
    "lead",
    [
        "评定：",
        "最终评定：",
        "最终：",
        "- 完整性：不完整",
        'The snippet says: "Pale gums are a sign."',
        "查询：小狗贫血的表现\n摘要：牙龈苍白、乏力",
        "The snippet provides the following: pale gums, weakness.",
        "The user searches for grade 3 math worksheets.",
        "The user asks for grade 3 worksheets, and the page has them.",
        'The query is "top 3 laptops, score 0".',
        "**Query:** grade 3 worksheets\n**Reference answer:** 3 tablets",
        "- User query: is it a yes or a no\n- Reference answer: 1",
        "Title: 10 laptops, score 0 to 3",
        'The reference answer is "3".',
        "查询：等级3保护是什么\n参考答案：1级",
        "用户查询：评分3.5的电影",
        "参考答案是 3。",
        "摘要提到“用户评分3.8分”等信息。",
        "评判要点：\n- 按用户需求看内容\n- 查询需要新信息时才看日期",
    ],
)
def test_what_the_query_and_the_snippet_say_leads_to_no_other_answer(lead: str) -> None:
    assert parse_grade(f"{lead}\n\n{OBJECT}", GRADED) == 2
    assert parse_grade(f"{lead}\n{OBJECT}", GRADED) == 2


@check_each(
    "line",
    [
        "Reference answer: contradicted, so grade 1.",
        "The reference answer is contradicted so the grade is 1.",
        "Reference answer: 3 tablets -> grade 1",
        "Query: tea. Grade: 0",
        "The user asked for the price, so 0.",
        'The query "tea" deserves a 0.',
        'The user says "0" is the right grade.',
        'The snippet says "tea", so the grade is 0.',
        "参考答案：与摘要矛盾，所以等级为1",
        "参考答案是3片，因此应给1",
        "查询：未满足，等级：0",
        "标题：无关，故为0",
    ],
)
def test_a_grade_beside_the_query_or_the_reference_is_no_part_of_them(line: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(f"{OBJECT}\n\n{line}", GRADED)


@check_each(
    ("text", "scale", "grade"),
    [
        ("The grade for this snippet is 2 because it gives the address.", GRADED, 2),
        ("摘要直接回答了查询，等级为3。", GRADED, 3),
        ("Yes, I can help with that. Please send the snippet.", BINARY, None),
        ("No, dogs cannot eat onions.", BINARY, None),
        ("Yes, it opens on Sunday.", BINARY, None),
        ("是的，周日营业。", BINARY, None),
        ("3 - 5 days", GRADED, None),
        ("| grade | reason |\n|---|---|\n| 1 | 3 of 10 steps |\n2", GRADED, None),
        ('My evaluation:\n yes \nNote – verdict: no \nVerdict: "不相关"', BINARY, None),
    ],
)
def test_a_labelled_value_with_its_explanation_is_read(text: str, scale: Scale, grade: int | None) -> None:
    assert parse_grade(text, scale) == grade


@check_each(
    "beside",
    [
        "(2 out of 5)",
        "That's 2/10.",
        "2 stars out of 5.",
        "Equivalent to 7 out of 10.",
        "I use a 5-point scale.",
        "（5分中的2分）",
        "即 5 分制的 2 分。",
        "评为三。",
        "所以等级是一。",
        "One.",
        "总分：3",
        "符合三的标准。",
    ],
)
def test_another_scale_and_another_value_in_words_are_refused(beside: str) -> None:
    assert parse_grade(f"{OBJECT}\n\n{beside}", GRADED) is None


@check_each(
    ("verdict", "beside"),
    [
        ("yes", "Overall, the snippet is not helpful."),
        ("yes", "So it doesn't answer the question."),
        ("yes", "综上，该摘要没有帮助。"),
        ("yes", "Not helpful, in fact."),
        ("yes", "It does not answer."),
        ("yes", "It fails to answer the query."),
        ("yes", "No relevant content."),
        ("yes", "无用。"),
        ("yes", "但它没有回答问题。"),
        ("yes", "未能满足用户的需求。"),
        ("yes", "它不能解决问题。"),
        ("yes", "没有任何有用的信息。"),
        ("no", "The snippet helps the user."),
        ("no", "It directly answers the query."),
        ("no", "摘要对用户有帮助。"),
        ("no", "摘要解决了用户的问题。"),
    ],
)
def test_the_opposite_in_the_words_of_the_prompt_is_refused(verdict: str, beside: str) -> None:
    text = f'{{"reason": "r", "verdict": "{verdict}"}}'
    other = text.replace(verdict, "no" if verdict == "yes" else "yes")
    assert parse_grade(f"{text}\n\n{beside}", BINARY) is parse_grade(f"{beside}\n\n{text}", BINARY) is None
    assert parse_grade(f"{other}\n\n{beside}", BINARY) == int(verdict == "no")


@check_each(
    ("line", "conflicting", "agreeing"),
    [
        ("Verdict: no", (2, 3), (0, 1)),
        ("Relevant: yes", (0,), (1, 2, 3)),
        ("- **Conclusion:** No.", (2, 3), (0, 1)),
        ("结论：否", (2, 3), (0, 1)),
        ("是否相关：是", (0,), (1, 2, 3)),
    ],
)
def test_a_labelled_verdict_beside_a_grade_must_agree(
    line: str, conflicting: tuple[int, ...], agreeing: tuple[int, ...]
) -> None:
    for grade in (*conflicting, *agreeing):
        for answer in (f'{{"reason": "r", "grade": {grade}}}', f"Grade: {grade}", f"等级：{grade}"):
            expected = grade if grade in agreeing else None
            assert parse_grade(f"{answer}\n{line}", GRADED) == expected
            assert parse_grade(f"{line}\n{answer}", GRADED) == expected


@check_each(("line", "verdict"), [("Grade: 0", 0), ("Score: 3", 1), ("等级：0", 0), ("评分：2", 1)])
def test_a_labelled_grade_beside_a_verdict_must_agree(line: str, verdict: int) -> None:
    for value, word in enumerate(("no", "yes")):
        for answer in (f'{{"reason": "r", "verdict": "{word}"}}', f"Verdict: {word}"):
            expected = value if value == verdict else None
            assert parse_grade(f"{answer}\n{line}", BINARY) == expected
            assert parse_grade(f"{line}\n{answer}", BINARY) == expected


@check_each(
    "lead", ["Your format:", "The format you asked for is:", "The JSON must look like:", "回复应如下："]
)
def test_the_format_of_an_answer_is_no_answer(lead: str) -> None:
    assert parse_grade(f"{lead}\n{OBJECT}", GRADED) is None
