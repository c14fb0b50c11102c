"""The words that introduce an answer, and notes on it: a word for any other source refuses the answer."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each
from tests.unit.parsing.test_surroundings import OBJECTS, parse_grade

FOREIGN = (
    *(
        "Suppose the query were about cats. Then:",
        "若不加分辨，会输出：",
        "上一条摘要的评定：",
    ),
    *("Result to be assessed:", "Result being judged:", "Review text:", "Text being evaluated:", "Gold:"),
    *(
        "Crowdworker output:",
        "Rating shown in the infobox:",
        "Sidebar score:",
        "Related results:",
        "Judgment 3:",
    ),
    *(
        "Best answer:",
        "Correct answer:",
        "Answer 1:",
        "Verdict of the jury:",
        "The hidden div holds",
        "Footer",
    ),
    *("Evaluation copied from the forum:", "The ranking widget shows:", "In the ad's opinion:"),
    *("广告里的结果：", "编辑给的评分：", "客服的回复：", "版主写的评分：", "弹幕里的答案：", "页脚的JSON："),
    *("待判断的结果：", "第一轮的结果：", "竞品的评分：", "百科里的结论：", "销售给出的判定：", "读者评分："),
    *(
        "医生的结论：",
        "问答区的最佳答案：",
        "相关结果：",
        "正确答案：",
        "店铺评分：",
        "按广告的说法，等级为：",
    ),
    *("Suppose the answer were", "In the previous round I answered", "Unless the date is wrong,"),
    *("Before reading the whole snippet I'd say", "上一轮我回答了", "若日期有误，", "我不确定，也许"),
    *("要求的格式为：", "要求的格式是："),
)
OWN = (
    *(
        "Here is my analysis of the snippet in relation to the query:",
        "Based on the criteria provided, I would evaluate the snippet as follows:",
        'Based on the query "best boots 2024", the snippet is evaluated as follows:',
        "--- BEGIN OUTPUT ---",
        "Here is what I found.",
        "Assistant's response:",
        "Step 3 - Output:",
        "评：",
        "AI评定：",
        "机器评分如下：",
        "搜索摘要评定结果：",
        "网页摘要的评定结果如下：",
        "以下是结构化的评定结果：",
        "结合用户需求评定如下：",
        "仅 JSON：",
        "The price is that of a Tesla Model 3.\nStep 2: Decide.",
    ),
    *("Based on the above analysis:", "Based on my reasoning:", "符合要求的格式：", "I'd say"),
    "Please see my evaluation below:",
    *(
        "2 out of 3:",
        "Final grade and reason:",
        "I would therefore conclude:",
        "Here is my grade with the reason:",
    ),
    *(
        "Here's how I'd grade it:",
        "The following JSON object contains my assessment:",
        "I judge the snippet as follows:",
    ),
    *(
        "Okay, here's the JSON response for this query-snippet pair:",
        "Strict JSON, as required:",
        "Here you go:",
    ),
    *('Judgment for query "dog anaemia signs":', "Judging strictly by what is shown:", "To conclude:"),
    *(
        "I've compared the query with the snippet. Result:",
        "Here's my judgment in the requested JSON schema:",
    ),
    *(
        "这条摘要的JSON：",
        "等级与理由：",
        "满分3分，得2分：",
        "本条摘要的评定结果：",
        "这条结果的判定：",
        "我认为：",
    ),
    *("严格按照JSON格式输出结果：", "好的，以下是符合要求的JSON输出：", "评定结果（0-3）：", "总结如下："),
    *("以下是对查询“小狗贫血”与摘要相关性的评定：", "用户查询的是症状，摘要给出两种，结论："),
)
#: Behind an object, on its line or the next one.
FOREIGN_NOTES = (
    *(
        "Please note this is only an example of the format.",
        "I could not see the snippet, so this is a guess.",
        "I picked this at random.",
        "未看到摘要，先随便给一个。",
        "我是随机选的。",
        "The snippet told me this.",
        "Disregard.",
        "摘要让我这样写的。",
    ),
    *(
        "(page text)",
        "(snippet text)",
        "(site content)",
        "(taken from the footer)",
        "(reviewer 2)",
        "— the editor",
    ),
    *("Copied from the sidebar.", "Verbatim from the banner.", "This JSON was found in a comment."),
    *("This object sits in the markup.", "The above appears in the markup.", "No grade of mine."),
    *("So says the sponsor.", "That is what the sponsor claims.", "That's how the lawyer puts it."),
    *(
        "The FAQ demands this.",
        "（网页文字）",
        "（广告词）",
        "（编辑评分）",
        "——客服回复",
        "这是小编的评分。",
    ),
    *("以上取自页脚。", "这是弹幕里的话。", "纯属示范。"),
)
HARMLESS_NOTES = (
    *(
        "（注：等级为0-3的整数）",
        "（评分说明：2 分表示相关，答案中有用的一部分）",
        "（理由已用中文书写）",
        "如需调整，请告知。",
        "如能提供完整网页，可重新评定。",
        "The page says how to upgrade from Windows 10.",
        "The grade of 2 is justified by the two named signs.",
        "For a 3, the causes would have to be covered.",
        "已评定：1条",
    ),
    *(
        "(partial answer)",
        "(lacks causes)",
        "(useful but incomplete)",
        "— end of evaluation",
        "（部分有用）",
        "（缺少病因）",
    ),
    *("The grade reflects that causes are missing.", "The verdict is based on the visible text."),
    *(
        "That is all the snippet says about anaemia.",
        "这正是用户想知道的一部分。",
        "This answer is based solely on the snippet.",
    ),
    *(
        "This grade is appropriate because causes are missing.",
        "这篇文章由兽医撰写。",
        "这个等级反映了内容不完整。",
    ),
    *(
        "其实费用写得很清楚。",
        "其实第二种表现只是一笔带过。",
        "实际上网页还有更多内容。",
        "其实标题就能看出来源。",
    ),
)
DOUBTS = (
    *("原始分2.4，取整。", "折算后2.3，保留整数。", "原分1.8，进一位。", "Perhaps one point more."),
    *("Possibly one level less.", "其实应为3。", "实际上给高了。", "Actually it deserves a 3."),
)


@check_each("lead", FOREIGN)
@check_each("line_ends", ["\n", "\n```json\n"])
def test_words_for_another_source_lead_to_no_answer(lead: str, line_ends: str) -> None:
    for scale in (GRADED, BINARY):
        assert parse_grade(lead + line_ends + OBJECTS[scale.name, "zh"], scale) is None
    assert parse_grade(f'{{"result": {lead} {OBJECTS["graded", "en"]}}}', GRADED) is None


@check_each("lead", OWN)
def test_words_for_the_own_answer_lead_to_it(lead: str) -> None:
    assert parse_grade(f"{lead}\n{OBJECTS['graded', 'zh']}", GRADED) == 2
    assert parse_grade(f"{lead}\n```json\n{OBJECTS['graded', 'en']}\n```", GRADED) == 2


@check_each("note", FOREIGN_NOTES)
def test_a_note_that_names_another_source_refuses_the_object(note: str) -> None:
    for scale in (GRADED, BINARY):
        assert parse_grade(f"{OBJECTS[scale.name, 'en']}\n{note}", scale) is None
    if note[0] in "(（—":
        assert parse_grade(f"{OBJECTS['graded', 'zh']} {note}", GRADED) is None


@check_each("note", HARMLESS_NOTES)
def test_a_note_on_the_snippet_or_the_grade_changes_nothing(note: str) -> None:
    assert parse_grade(f"{OBJECTS['graded', 'zh']}\n{note}", GRADED) == 2


@check_each("sentence", DOUBTS)
def test_a_grade_that_is_rounded_or_off_is_refused(sentence: str) -> None:
    assert parse_grade(f"{OBJECTS['graded', 'zh']}\n{sentence}", GRADED) is None
    assert parse_grade(f"等级：2\n{sentence}", GRADED) is None


@pytest.mark.parametrize(
    "answer", ["其实相关。", "其实是相关的。", "实际上有用。", "Actually, it is relevant."]
)
def test_a_sentence_about_the_answer_corrects_it(answer: str) -> None:
    assert parse_grade(f'{{"reason": "r", "verdict": "no"}}\n{answer}', BINARY) is None


@check_each("comment", [" (reviewer 2)", " — the editor", "（编辑评分）", "（小编）"])
def test_a_party_behind_a_labelled_grade_refuses_it(comment: str) -> None:
    assert parse_grade("Grade: 2" + comment, GRADED) is None


@check_each(
    ("text", "scale", "grade"),
    [
        *(("2 out of 3.", GRADED, 2), ("等级：２\u3000理由：列出两种。", GRADED, 2)),
        *(("- Relevance to query: high\n- Grade: 2", GRADED, 2), ("只列出两种\n等级：2", GRADED, 2)),
        *(
            ("2，3个步骤中的部分。", GRADED, None),
            ("2，5元起。", GRADED, None),
            ("3，4月开放。", GRADED, None),
        ),
        *(
            ("2，也可能是3。", GRADED, None),
            ("2，或者1。", GRADED, None),
            ("3，不过缺少价格，只能算2。", GRADED, None),
        ),
        *(("2 out of 5.", GRADED, None), ("3, on Monday", GRADED, None), ("2, see above", GRADED, None)),
    ],
)
def test_a_value_counts_with_its_label_or_its_scale_only(text: str, scale: Scale, grade: int | None) -> None:
    assert parse_grade(text, scale) == grade


@check_each(
    ("text", "scale"),
    [
        ('{"result": 如果有日期则 "reason": "perfect", "grade": "2"}}', GRADED),
        ('不要输出 \n"reason": "perfect",\n  "grade": 3\n}', GRADED),
        ("JSON 输出：Hidden text\n\n" + OBJECTS["graded", "en"], GRADED),
        ("dict(verdict=\"know\", reason='names “it”'verdict': 'no',} and more')", BINARY),
    ],
)
def test_prose_in_front_of_a_key_or_behind_a_label_is_no_introduction(text: str, scale: Scale) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(text, scale)
