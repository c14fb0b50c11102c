"""An object that a reply quotes, warns of or takes back is not its answer; one that prose leads to is."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each
from tests.unit.parsing.reply_asides import BORROWED, DISOWNED, FOREIGN_KEYS, LEADS, OPPOSED

GRADE = '{"reason": "names the dosage", "grade": 2}'
VERDICT = '{"reason": "names the dosage", "verdict": "no"}'

PROSE = (
    *(
        "Here is the JSON you asked for:\n",
        "Based on what the snippet says, my grade:\n",
        "Response:",
        "输出：",
    ),
    *(
        "Here's my evaluation in the required format:\n",
        "The snippet does not mention dates, so:\n",
        "<answer>\n",
    ),
    *(
        "摘要说明了贫血症状，因此：\n",
        "根据您的要求，我对摘要的评估如下：\n",
        "JSON格式输出：\n",
        "Final JSON:\n",
    ),
    *(
        "The user is asking about dogs. The snippet is about cats.\n\n",
        "**评估结果**\n\n",
        "Evaluation of it:\n",
    ),
)
EXPLAINED = (
    *("\n\nThe snippet does not mention the dosage.", "\n\nThe snippet cannot answer the question."),
    *("\n\n解释：摘要没有给出日期，无法回答查询。", "\n\nThis is because the snippet is about another city."),
    *(
        "\n\nThat is why it is only partly useful.",
        "\n\n注意：以上判断仅基于摘要。",
        *("\n\nNote: the page is outdated.", "\n该摘要没有日期。希望对你有帮助！", " 以上就是我的判断。"),
        "\n\nLet me know if you need anything else.",
    ),
)


def find_refusal_kind(text: str, *, graded: bool = True) -> str:
    """The kind of refusal that reading ends with."""
    with pytest.raises(ReplyParseError) as caught:
        parse_verdict(text, GRADED if graded else BINARY)
    return caught.value.kind


@check_each("form", BORROWED)
def test_a_quoted_object_is_no_answer(form: str) -> None:
    assert find_refusal_kind(form.replace("%s", GRADE)) in ("ambiguous", "refusal")
    assert find_refusal_kind(form.replace("%s", VERDICT), graded=False) in ("ambiguous", "refusal")
    fenced = GRADE if "```" in form else f"```json\n{GRADE}\n```"
    assert find_refusal_kind(form.replace("%s", fenced)) in ("ambiguous", "refusal")


@check_each("form", BORROWED)
def test_the_answer_behind_a_quoted_object_counts_when_both_agree(form: str) -> None:
    try:
        result: int | None = parse_verdict(
            form.replace("%s", GRADE) + f"\n\nMy answer:\n{GRADE}", GRADED
        ).grade
    except ReplyParseError:
        result = None
    assert result in (2, None)
    assert find_refusal_kind(form.replace("%s", GRADE.replace("2", "3")) + f"\n\nMy answer:\n{GRADE}")


@check_each("words", DISOWNED)
def test_an_object_that_is_taken_back_is_no_answer(words: str) -> None:
    assert find_refusal_kind(GRADE + words.format(label="grade")) == "ambiguous"
    assert find_refusal_kind(VERDICT + words.format(label="verdict"), graded=False) == "ambiguous"


@check_each("lead", [*LEADS, *PROSE])
@check_each("fence", ["{}", "```json\n{}\n```"])
def test_an_object_that_prose_leads_to_is_the_answer(lead: str, fence: str) -> None:
    assert parse_verdict(lead + fence.format(GRADE), GRADED).grade == 2
    assert parse_verdict(lead + fence.format(VERDICT), BINARY).grade == 0


@check_each("words", EXPLAINED)
def test_an_explanation_behind_an_object_changes_nothing(words: str) -> None:
    assert parse_verdict(GRADE + words, GRADED).grade == 2


@check_each(
    "text",
    [
        *(
            '{"example": {"grade": 3}}',
            '{"snippet": {"text": "a", "grade": 3}}',
            '{"previous": {"grade": 3}}',
        ),
        *('{"grade": 2, "final_grade": 3}', '{"grade": 2, "correction": 3}', '{"grade": 2, "更正": "3"}'),
        *('{"grade": 2, "revised": {"x": 3}}', '{User: {"grade": 3}\n}', '{"grade": 2 | 3, "grade": 2}'),
        '{"result": {\n"reason": "perfect", "grade": 2\n}（摘要原话）}',
        "{'grade': '2', 'reason': 'names the dosage'\nI'd knock it down by one.",
        '{1.5 rounds up to 2.\n{\nreason: "a", grade: 1\n}}',
        '综上所述，该摘要只沾边，判定结果为：Hidden text\n\n{"reason": "perfect", "grade": 2}',
        *('{"result": 根据网页指示，结果为：{"grade": 2}}', '{"result": {"grade": 2}, "final": 3}'),
        *('{"grade": 2, "reason": "perfect" is what it wants', '{"grade": 2, "reason": "perfect"?'),
        *('{"grade": 2,5, "x": 1, "评分": 2}', 'Only {"grade": 2, "reason": "x" matches; 3'),
        *(
            "Grade: 2\nReason: fine\nOr 3.",
            "Grade: 2\nReason: fine. So 3.",
            '{"grade": 2, "reason": "a" So 3.',
        ),
        *('answer = 摘要：{"grade": 2}', 'answer = User: {"grade": 2}', '{"grade": 2, "reason": "a" = 3'),
        '【{"grade": 2}\n３】',
        '{"grade": 2}\n\nThis JSON [above] was copied from the snippet.',
        *('[检索结果：\n{"grade": 2}]', '{"result": [检索结果：\n{"reason": "a", "grade": 2}]}'),
        *('{"result": Model A: {"reason": "a", "grade": 2}', 'answer = 检索结果：\n{"grade": 2}'),
        '[{"grade": 2, "parts": {"a": 0}, "reason": "a"（摘自网页）]',
        '{"grade": 2, "reason": "names {a} dosage" would be wrong.',
        '{{"reason": "", "grade": 2, "ok": true（来自摘要）}',
        *('[```json\n{"grade": 2, "reason": "a "b" c"}\n```?]', '```\n{"grade": 2, "steps": [1, 2]?\n```'),
        *("2" + " " * 900 + '\n{"grade": 3}', "For example:\n" + GRADE + "\nFor example:\n" + GRADE),
    ],
)
def test_what_may_have_another_last_word_is_refused(text: str) -> None:
    assert find_refusal_kind(text)


@check_each("members", ["", ', "sure": 0.9', ', "id": 1', ', "parts": {"a": 0}', ', "steps": [1, 2]'])
@check_each(
    "words",
    ["是网页要我说的。", " is what the snippet wants me to say.", "\n（摘要原话）", " would be wrong."],
)
@check_each(
    "form", ['{"result": {%s}%s', '{"result": {%s}%s}', "[{%s}%s]", "[{%s}%s<|im_end|>]", "{%s}%s<|im_end|>}"]
)
def test_an_object_that_words_inside_the_text_around_it_take_back_is_no_answer(
    members: str, words: str, form: str
) -> None:
    for own in (
        '"grade": "２", "reason": "a"',
        '"reason": "a", "grade": 2',
        '"grade": 2, "reason": "a "b" c"',
    ):
        assert find_refusal_kind(form % (own + members, words))
    if members:
        assert find_refusal_kind(form % ('"grade": 2' + members + ', "reason": "a"', words))


@check_each(
    "text",
    [
        *('{"grade": 2, "final_grade": 2}', '{"grade": 2, "correction": null}', '{"final": {"grade": 2}}'),
        *('{"grade": 2, "score": 0.87, "max_value": 3}', '{"result": {"grade": 2}, "example": "none"}'),
        "```\n2" + "\n" * 1_000 + "```",
    ],
)
def test_members_that_leave_no_doubt_are_read(text: str) -> None:
    assert parse_verdict(text, GRADED).grade == 2


@check_each("key", FOREIGN_KEYS)
def test_a_verdict_under_a_foreign_key_is_no_answer(key: str) -> None:
    assert find_refusal_kind(f'{{"{key}": {GRADE}}}') == "ambiguous"
    assert find_refusal_kind(f'{{"{key}": {{"reason": "a "b" c", "grade": 2}}}}') in (
        "ambiguous",
        "malformed",
    )


@check_each("key", ["result", "Final_Answer", "output", "verdict", "arguments", "结果", "最终判断"])
def test_a_verdict_under_a_key_that_names_the_answer_is_read(key: str) -> None:
    assert parse_verdict(f'{{"{key}": {GRADE}}}', GRADED).grade == 2


@check_each(
    ("grade", "member"), [(0, each) for each in OPPOSED["low"]] + [(3, each) for each in OPPOSED["high"]]
)
def test_members_that_contradict_the_value_are_refused(grade: int, member: str) -> None:
    """In front of it, behind it, around it, and in an object that is damaged."""
    word = "yes" if grade else "no"
    for before, behind in (("", f", {member}"), (f"{member}, ", "")):
        assert find_refusal_kind(f'{{{before}"reason": "a", "grade": {grade}{behind}}}') == "ambiguous"
        if "verdict" not in member:
            assert (
                find_refusal_kind(f'{{{before}"reason": "a", "verdict": "{word}"{behind}}}', graded=False)
                == "ambiguous"
            )
    assert find_refusal_kind(f'{{{member}, "result": {{"grade": {grade}}}}}') == "ambiguous"
    assert find_refusal_kind(f'{{"grade": {grade}, {member}, "reason": "a "b" c"}}') == "ambiguous"


@pytest.mark.parametrize("grade", range(4))
def test_members_that_agree_with_the_value_are_read(grade: int) -> None:
    agreeing = OPPOSED["high"] if grade == 0 else OPPOSED["low"][:-1]
    for member in (*agreeing, f'"score": {grade}', '"score": 0.87', '"rating": 85', '"label": "unsure"'):
        assert parse_verdict(f'{{"grade": {grade}, {member}}}', GRADED).grade == grade


def test_verdicts_and_relevance_must_not_differ() -> None:
    assert find_refusal_kind('{"relevant": "yes", "verdict": "no"}', graded=False) == "ambiguous"
    assert parse_verdict('{"relevant": "no", "verdict": "no"}', BINARY).grade == 0


@check_each(
    ("text", "scale", "finish_reason"),
    [
        ("{'reason': 'r', 'grade': 2,", GRADED, "length"),
        ("'reason': 'r', 'ok': True, 'grade': 2,", GRADED, "length"),
        ('<answer>{"verdict": "no", "reason": "a", "label": 3</answer>\nDone.', BINARY, "stop"),
        ('~~~json\n{"reason": "It names the dosage, ", "grade": 2,', GRADED, "stop"),
        ('{"verdict": "yes", "reason": "names “it”" 更准确地说应为no', BINARY, "length"),
        ('{"verdict": "yes", "reason": "x"} it is about another city  **no**', BINARY, "stop"),
        ('{"verdict": "yes", "reason": "x"} it is about another city NO!', BINARY, "stop"),
        ('{\n"verdict": "是",\n  "reason": "naïve\' 😀 "\n\n→ **no**\n以上。', BINARY, "stop"),
        ('{３\nonly the title matches; "verdict": "no", \nGrade: "２"}\n希望对您有帮助', GRADED, "stop"),
        (
            "```JSON\r\n{verdict=yes, but; reason=The snippet lists the opening hours. Only the",
            BINARY,
            "stop",
        ),
        ('("Café {"verdict": "yes", "reason": "x"} 😀 摘要给出了步骤。", true)', BINARY, "stop"),
    ],
)
def test_what_may_have_gone_on_otherwise_is_refused(text: str, scale: Scale, finish_reason: str) -> None:
    """A comma that could become a decimal one, a verdict behind the last quotation mark, a quotation."""
    with pytest.raises(ReplyParseError):
        parse_verdict(text, scale, finish_reason)


@check_each(
    ("text",),
    [
        ('Final grade pending.\n{"grade": 2, "reason": "x"}',),
        ('{"grade": 2, "reason": "x"}\nFinal grade pending.',),
        ('{"grade": 2, "reason": "x"}\nMy final score is still pending.',),
        ('{"grade": 2, "reason": "x"}\nLet me double-check.',),
        ('The snippet has the text\n{"grade": 3, "reason": "x"}',),
        ('The page contains the line\n{"grade": 3, "reason": "x"}',),
        ('[INST]{"grade": 3, "reason": "x"}[/INST]',),
        ('{"grade": 2, "reason": "x"} [INST] {"grade": 3} [/INST]',),
    ],
)
def test_an_answer_that_is_pending_or_a_text_of_the_snippet_is_refused(text: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(text, GRADED)
