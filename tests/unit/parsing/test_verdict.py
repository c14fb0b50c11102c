"""A reply's verdict is read when it is certain, and refused when it is not."""

import json
from pathlib import Path
from typing import Any

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import MAX_REASON, parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each

CASES = Path(__file__).parents[2] / "cases" / "replies.jsonl"
YES_NO = {"yes": 1, "no": 0}


def load_replies(*modes: str) -> list[Any]:
    records = [json.loads(line) for line in CASES.read_text("utf-8").splitlines()]
    return [record for record in records if record["kind"] == "text" and record["mode"] in modes]


def make_text(record: dict[str, Any]) -> str:
    if "text" in record:
        return str(record["text"])
    made = record["text_gen"]
    return str(made["head"] + made["repeat"] * made["times"] + made["tail"])


def get_refusal(text: str, scale: Scale, finish_reason: str | None = "stop") -> str:
    """The kind of error that reading ends with."""
    with pytest.raises(ReplyParseError) as caught:
        parse_verdict(text, scale, finish_reason)
    return caught.value.kind


@check_each("record", load_replies("grade", "verdict"))
def test_sample_reply(record: dict[str, Any]) -> None:
    scale = BINARY if record["mode"] == "verdict" else GRADED
    text, expected = make_text(record), record["expected"]
    if expected["class"] == "must_reject":
        assert get_refusal(text, scale, record["finish_reason"]) == expected["error"]
        return
    value = YES_NO.get(expected["value"], expected["value"])
    try:
        verdict = parse_verdict(text, scale, record["finish_reason"])
    except ReplyParseError:
        assert expected["class"] == "may_parse"
        return
    assert verdict.grade == value
    assert verdict.reason == expected.get("reason_exact", verdict.reason)


@pytest.mark.parametrize("record", load_replies("list3"))
def test_several_verdicts_for_one_snippet_are_refused(record: dict[str, Any]) -> None:
    assert get_refusal(make_text(record), GRADED) == "ambiguous"


@check_each(
    ("text", "scale"),
    [
        ('{"verdict": "yes"}', GRADED),
        ('{"grade": 1}', BINARY),
        ('{"verdict": 2}', GRADED),
        ('{"reason": "r"}', BINARY),
        ('{"upgrade": 3}', GRADED),
        ("{}", BINARY),
        ('{"error": {"code": 503}}', GRADED),
        ('{"result": {"output": {"answer": {"grade": 1}}}}', GRADED),
        ('{"type": "object", "properties": {"grade": {"type": "integer"}}}', GRADED),
    ],
)
def test_only_the_key_of_the_scale_counts(text: str, scale: Scale) -> None:
    assert get_refusal(text, scale) == "missing_key"


def test_both_keys_are_told_apart_by_the_scale() -> None:
    reply = '{"reason": "r", "verdict": "yes", "grade": 3}'
    assert (parse_verdict(reply, BINARY).grade, parse_verdict(reply, GRADED).grade) == (1, 3)


@check_each(
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
        '{"verdict": "yes", "reason": "r"}\n\nThe page was updated in 2023.',
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
        '{"判定": "是", "理由": "r"}',
        '{"Verdict": "yes", "Reason": "r"}',
        '{"verdict": "yes", "verdict": "yes", "reason": "r"}',
        '{"verdict": "yes", "reason": "r"}\nFinal verdict: yes',
        '{"verdict": "yes", "reason": "r"}\n\n**最终判定：是**',
        '\x00{"verdict": "yes", "reason": "r"}\x00',
    ],
)
def test_what_stands_around_an_object_does_not_matter(text: str) -> None:
    verdict = parse_verdict(text, BINARY)
    assert (verdict.grade, verdict.reason) == (1, "r")


@check_each(
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
        '{"grade": 2}\nNo, 1.',
        'Grade: 3\n{"grade": 1}',
        '评分：3\n{"grade": 1}',
        '3\n{"grade": 1}',
        '{"grade": 2}\nMy answer:',
        'For example: {"grade": 3, "reason": "sample"}',
        '{"grade": 2, "reason": "a"}\n{"reason": "b", "garde": 0}',
        '{"reason": "他说"grade": 3 很好", "grade": 0}',
        '{"reason": "x", "grade": 3, "very good", "grade": 0}',
        '{"result": 2, "grade": 1}',
        '"initial": {"grade": "0-3"}, "final": {"grade": 2}}',
        '{"reason": "x", "grade": 3} better", "grade": 0}',
        'Reason: it quotes {"grade": 3}',
        "null, it is about the weather; Grade: 3",
        "null，正文谈的是天气；等级：3",
    ],
)
def test_replies_that_say_two_things_are_refused(text: str) -> None:
    assert get_refusal(text, GRADED) == "ambiguous"


@check_each(
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
        ('{"grade": 2, "reason": """a "b" c"""}', '""a "b" c""'),
        ("{'reason': 'he said \"grade\": 3', 'grade': 2}", 'he said "grade": 3'),
        ('{"reason": "good, "grade": 2}', "good"),
        ('{"reason": "it says \\"grade\\": 3", "grade": 2,}', 'it says "grade": 3'),
    ],
)
def test_damage_that_leaves_the_value_certain_is_repaired(text: str, reason: str) -> None:
    verdict = parse_verdict(text, GRADED)
    assert (verdict.grade, verdict.reason) == (2, reason)
    assert "repaired" in verdict.flags


@check_each(
    "text",
    [
        *('{"reason": "他说"grade": 3 很好", "gra', '{"reason": "the page has {"grade": 3}'),
        *('{"reason": "the page has {\'grade\': 3} here", "gra',),
        *('"reason": "the page has {\'grade\': 3} here", "gra',),
        *('{"grade" 2}', '{"grade": 2.}', '{"grade": 2,5}'),
        *('{"grade": 2，5}', '{"reason": "a", "grade": 2 to 3}'),
        # Comments, which JSON does not have, may say anything of the value.
        *('{"grade": 2 # or 3\n}', '{"reason": "a", "grade": 2 // maybe three\n}'),
        *('{"grade": 2, // as the page demands\n"reason": "a"}', '{"reason": "a", "grade": 2 /* 有用 */}'),
        '{\n  // reason first\n  "reason": "a",\n  "grade": 2\n}',
        # An object within a string may be a text of the snippet.
        *('"{\\"reason\\": \\"a\\", \\"grade\\": 2}"', '{\\"reason\\": \\"a\\", \\"grade\\": 2}'),
        # A key that lacks a quote states another value.
        '{"grade": 0} to trick me.~~~\n{reason: "only the city," grade: " 1 "}\n~~~',
        '{"reason": "a ", grade": 0}\n\nFinal: {"reason": "again", "grade": 2}',
        "dict(grade=2.5, reason='\"grade\": 1,} Only the title matches; ')",
        # A misspelt key states another value.
        '{"grade": " 0 "} to trick me.\n"reason": "a", "graade": "2"\n}',
        '{"reason": "a "b" c", "grade": 0, "grad": 2}',
        # A bare value, whose reason quotes an object.
        '~~~json\n3, it is about “apple”, "grade": 1} \n~~~',
    ],
)
def test_damage_that_leaves_doubt_is_refused(text: str) -> None:
    assert get_refusal(text, GRADED) in ("malformed", "truncated", "ambiguous")


@check_each(
    "text",
    [
        *('["verdict": "no", "reason": "a", "sure": 0.9}?]', '{"verdict": "no", "reason": "a", "sure": 0.9?'),
        '{"result": {"verdict": "no", "reason": "a", "parts": {"a": 0}}?}',
        '{"result": You ask for\n"verdict": "no", "reason": "a"}}',
        '{"verdict": "no", "reason": "a", "max_value": 3,?',
        # A text of the object quotes another one, and the key of the object is misspelt.
        """{"reason" "Only {'verdict': 'no'} the title", "verict": "know"}""",
    ],
)
def test_a_damaged_object_in_a_question_or_behind_prose_is_refused(text: str) -> None:
    assert get_refusal(text, BINARY) in ("malformed", "ambiguous")


@check_each("word", ["相关", "→ 相关", "yes"])
def test_text_in_a_list_behind_the_object_that_states_another_value_is_refused(word: str) -> None:
    assert get_refusal(f'[{{"reason": "a", "verdict": "no"}}\n{word}]', BINARY) == "ambiguous"


@check_each(
    "text",
    [
        *('[No\nIt lists the hours.\nVerdict: "是。"]', "[NO!\nIt lists the hours.\nVerdict: yes"),
        *("【否】\na b.\n判定：是", "- no\na b.\nVerdict: yes", "| no |\na b.\nVerdict: yes"),
        *("false\na b.\nVerdict: yes", "不是\na b.\nVerdict: yes", "0\na b.\nVerdict: yes"),
        *("相关 - 它谈的是天气；判定：否 ", "irrelevant - a b. Verdict: yes", "Yes because a b. Verdict: no"),
        *("相关 - 它谈的是天气；a b.{'verdict': 'no'}", '**相关**——它谈的是天气。{"verdict": "no"}'),
        *('不是 - a b.\n{"verdict": "yes"}', '相关（见下）\n{"verdict": "no"}'),
        *('{"verict": "不相关"}\nFinal: {"verdict": "相关"}', '{"vredict": "yes"} {"verdict": "no"}'),
    ],
)
def test_a_verdict_in_front_of_another_one_is_refused(text: str) -> None:
    """A line that is one word, or that begins with one and explains it, states a verdict."""
    assert get_refusal(text, BINARY) == "ambiguous"


@check_each(
    "text",
    [
        *(
            "partially, it lists steps. 判定：否",
            "无 - it is about tea; verdict: no",
            "null - a b; verdict: no",
        ),
        *("unknown, a b. Verdict: yes", "N/A, a b; verdict: no", "不确定，摘要谈的是天气；判定：否"),
        'You asked for\n{"reason": "a", "verdict": "no"}',
        'JSON 输出：You asked for\n{"reason": "a", "verdict": "no"}',
    ],
)
def test_no_value_in_front_of_one_or_a_demand_in_the_line_above_is_refused(text: str) -> None:
    assert get_refusal(text, BINARY) == "ambiguous"


@check_each(
    ("text", "scale"),
    [
        (
            "判定结果为：| verdict | reason |\n|---|---|\n| Ｎｏ | 没有时间， |\n**Final verdict: yes**",
            BINARY,
        ),
        ("| verdict | reason |\n|---|---|\n| no | nothing |\n\nVerdict: yes", BINARY),
        ("判定：是\n\n| 理由 | 判定 |\n|---|---|\n| 广告 | 不相关 |", BINARY),
        ("reason | Final grade\n---|---\nnothing | two\n\nGrade: 3", GRADED),
        ("Grade: 3\n\n| **Grade** | reason |\n|---|---|\n| two | nothing |", GRADED),
        ('| verdict | reason |\n|---|---|\n| no | a part |\n\n{"reason": "r", "verdict": "yes"}', BINARY),
        ('{"reason": "r", "verdict": "yes"}\n\n| 理由 | 判定 |\n|---|---|\n| 一部分 | 否 |', BINARY),
        (
            '| first verdict | final verdict |\n|---|---|\n| yes | no |\n\n{"reason": "r", "verdict": "yes"}',
            BINARY,
        ),
        ('| topic | yes |\n| verdict | no |\n\n{"reason": "r", "verdict": "yes"}', BINARY),
    ],
)
def test_an_answer_beside_a_table_that_states_another_value_is_refused(text: str, scale: Scale) -> None:
    assert get_refusal(text, scale) == "ambiguous"


@check_each(
    "table",
    [
        "| sign | relevant |\n|---|---|\n| pale gums | yes |\n| fever | no |",
        "| 项目 | 结论 |\n|---|---|\n| 主题 | 相关 |\n| 完整 | 否 |",
    ],
)
def test_a_table_whose_rows_differ_is_a_checklist_beside_a_verdict(table: str) -> None:
    answer = '{"reason": "r", "verdict": "yes"}'
    for text in (f"{table}\n\n{answer}", f"{answer}\n\n{table}", f"Reason: r\nVerdict: yes\n\n{table}"):
        assert parse_verdict(text, BINARY).grade == 1


@pytest.mark.parametrize(
    "text", ["yes\na b.\nGrade: 0", "[no\na b.\nGrade: 3", '不相关 - a b.\n{"grade": 2}']
)
def test_a_verdict_in_front_of_a_grade_that_opposes_it_is_refused(text: str) -> None:
    assert get_refusal(text, GRADED) == "ambiguous"


@check_each(
    "text",
    [
        *('{"grade": 1', '{"grade": 1 ', '{"grade": ', '{"grade"', "{"),
        *('{"reason": "r", "grade": 1', '{"grade": "1'),
        *('{"reason": "very long', '```json\n{"reason": "a'),
    ],
)
@check_each("finish_reason", ["stop", "length"])
def test_a_cut_value_is_refused(text: str, finish_reason: str) -> None:
    assert get_refusal(text, GRADED, finish_reason) == "truncated"


@check_each(
    "text",
    [
        *("2", "Grade: 2", "yes", '{"reason": "a", "grade": "2"'),
        *('{"grade": 2}\nLet me exp', 'Hm. {"grade": 2}'),
        *('<think>a</think>{"grade": 2, "rea',),
        *('{"reason": "a", "grade": 2, "rea', '{"reason": "x "q" y", "grade": 3}'),
    ],
)
def test_a_reply_cut_by_its_length_may_have_gone_on(text: str) -> None:
    assert get_refusal(text, GRADED, "length") == "truncated"


ENDED = ("stop", "STOP", "end_turn", "eos", "stop_sequence", "tool_calls", "complete", "null", "", None)
CUT = (
    *("length", "LENGTH", "MAX_TOKENS", "max_output_tokens", "incomplete", "insufficient_system_resource"),
    *(
        "network_error",
        "abort",
        "cancelled",
        "error",
        "token_limit",
        "timeout",
        "content_filter",
        "no such word",
    ),
)


@check_each("finish_reason", ENDED)
def test_a_reply_that_ended_by_itself_is_whole(finish_reason: str | None) -> None:
    assert parse_verdict("Grade: 2", GRADED, finish_reason).grade == 2


@check_each("finish_reason", CUT)
def test_any_other_end_may_have_cut_the_value(finish_reason: str) -> None:
    assert get_refusal("2", GRADED, finish_reason) == "truncated"
    assert get_refusal('{"reason":"a","grade":1', GRADED, finish_reason) == "truncated"
    assert parse_verdict('{"reason": "a", "grade": 1}', GRADED, finish_reason).grade == 1


@pytest.mark.parametrize(
    "text", ['{"grade": 2, "reason": "the passage lists the fir', '{"grade": 2, "reason": "the pa"x"y']
)
def test_a_cut_reason_behind_the_value_is_kept_and_flagged(text: str) -> None:
    verdict = parse_verdict(text, GRADED, "length")
    assert verdict.grade == 2
    assert verdict.reason.startswith("the pa")
    assert "reason_truncated" in verdict.flags


@check_each(
    "reason",
    [
        *("<script>alert(1)</script> {{7*7}}", "a \"b\" 'c' \\ / \n\t", "\ud83d alone"),
        *("nul \x00", "😀 “引号”，：｛｝", "", '"grade": 3', '{"grade": 3}', "</think>"),
        *("```json", "是否 yes/no"),
    ],
)
@check_each("ascii_only", [True, False])
def test_a_reason_is_kept_exactly(reason: str, ascii_only: bool) -> None:
    reply = json.dumps({"reason": reason, "grade": 0}, ensure_ascii=ascii_only)
    verdict = parse_verdict(reply, GRADED)
    flags = () if reason else ("no_reason",)
    assert (verdict.grade, verdict.reason, verdict.flags) == (0, reason, flags)


@pytest.mark.parametrize("reason", ["", ', "reason": 5', ', "reason": null', ', "reason": ["a"]'])
def test_a_missing_reason_is_flagged(reason: str) -> None:
    verdict = parse_verdict(f'{{"grade": 1{reason}}}', GRADED)
    assert (verdict.grade, verdict.reason, verdict.flags) == (1, "", ("no_reason",))


def test_a_long_reason_is_capped_and_flagged() -> None:
    verdict = parse_verdict(json.dumps({"reason": "长" * 100_000, "grade": 3}, ensure_ascii=False), GRADED)
    assert (verdict.grade, len(verdict.reason), verdict.flags) == (3, MAX_REASON, ("reason_capped",))


@check_each("last", ["'no'", '"否"', "“否”"])
def test_a_tuple_that_ends_with_another_value_than_its_damaged_object_is_refused(last: str) -> None:
    text = f'("It is about food i{{"verdict": "yes", "reason": "x" n 2023, 3 of 10 steps ", {last})'
    assert get_refusal(text, BINARY) == "ambiguous"
