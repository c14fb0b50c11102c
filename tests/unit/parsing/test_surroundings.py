"""Harmless text around an answer changes nothing; a correction, a conflict or an attribution refuses it."""

import pytest

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.support.cases import check_each
from tests.unit.parsing.edits import edit_reply
from tests.unit.parsing.surroundings import (
    ATTRIBUTIONS,
    CONFLICTS,
    CORRECTIONS,
    LABELLED_GRADES,
    LABELLED_VERDICTS,
    LEADS_EN,
    LEADS_ZH,
    TRAILS_EN,
    TRAILS_ZH,
    UNCERTAIN_GRADES,
    UNCERTAIN_VERDICTS,
)

OBJECTS = {
    ("graded", "en"): '{"reason": "The snippet names two of the signs.", "grade": 2}',
    ("graded", "zh"): '{"reason": "摘要列出了两种表现。", "grade": 2}',
    ("binary", "en"): '{"reason": "The snippet names two of the signs.", "verdict": "yes"}',
    ("binary", "zh"): '{"reason": "摘要列出了两种表现。", "verdict": "yes"}',
}
FENCES = ("%s", "```json\n%s\n```")
SCALES = [pytest.param(GRADED, 2, id="graded"), pytest.param(BINARY, 1, id="binary")]


def parse_grade(text: str, scale: Scale) -> int | None:
    """Return the grade of a reply, None when it is refused."""
    try:
        return parse_verdict(text, scale).grade
    except ReplyParseError:
        return None


def read_share(texts: list[str], scale: Scale, grade: int) -> float:
    """Return the share of replies that are read; none may give another grade."""
    grades = [parse_grade(text, scale) for text in texts]
    assert {*grades} <= {grade, None}
    return grades.count(grade) / len(grades)


@pytest.mark.parametrize("step", [24, pytest.param(3, marks=pytest.mark.slow)])
@pytest.mark.parametrize(("scale", "grade"), SCALES)
@pytest.mark.parametrize(
    ("lang", "leads", "trails"), [("en", LEADS_EN, TRAILS_EN), ("zh", LEADS_ZH, TRAILS_ZH)]
)
def test_harmless_text_around_an_object_changes_nothing(
    scale: Scale, grade: int, lang: str, leads: tuple[str, ...], trails: tuple[str, ...], step: int
) -> None:
    applicable = [
        text for text in trails if scale is GRADED or not text.startswith(("Grade:", "Final grade"))
    ]
    texts = [
        "\n\n".join(part for part in (lead, fence.replace("%s", OBJECTS[scale.name, lang]), trail) if part)
        for lead in ("", *leads[::step])
        for trail in ("", *applicable)
        for fence in FENCES
    ]
    texts += [f"{lead}\n\n{OBJECTS[scale.name, lang]}" for lead in leads]
    assert read_share(texts, scale, grade) > 0.99


@check_each("form", ATTRIBUTIONS)
@check_each("scale", [GRADED, BINARY])
def test_an_object_of_another_is_refused(form: str, scale: Scale) -> None:
    for lang in ("en", "zh"):
        for fence in FENCES[: 1 if "```" in form else 2]:
            text = form.replace("%s", fence.replace("%s", OBJECTS[scale.name, lang]))
            assert parse_grade(text, scale) is None, text


@check_each("form", CORRECTIONS)
def test_a_correction_behind_an_object_is_refused(form: str) -> None:
    for other in ("0", "1", "3"):
        text = OBJECTS["graded", "en"] + "\n\n" + form.format(other, label="grade", label_zh="等级")
        assert parse_grade(text, GRADED) is None, text
    for other in ("no", "否", "不相关"):
        text = OBJECTS["binary", "en"] + "\n\n" + form.format(other, label="verdict", label_zh="判定")
        assert parse_grade(text, BINARY) is None, text


@check_each("form", CONFLICTS)
def test_a_stated_value_that_conflicts_is_refused(form: str) -> None:
    for other in ("0", "1", "3"):
        for fence in FENCES:
            answer = fence.replace("%s", OBJECTS["graded", "zh"])
            assert parse_grade(f"{form.format(other)}\n\n{answer}", GRADED) is None, other
            assert parse_grade(f"{answer}\n\n{form.format(other)}", GRADED) is None, other


@check_each(
    ("text", "scale", "grade"),
    [(text, GRADED, grade) for text, grade in LABELLED_GRADES]
    + [(text, BINARY, grade) for text, grade in LABELLED_VERDICTS],
)
def test_labelled_lines_are_read(text: str, scale: Scale, grade: int) -> None:
    assert parse_grade(text, scale) == grade
    assert parse_grade(text.replace("\n", "\r\n"), scale) == grade


@check_each(
    ("text", "scale"),
    [(text, GRADED) for text in UNCERTAIN_GRADES] + [(text, BINARY) for text in UNCERTAIN_VERDICTS],
)
def test_an_answer_without_an_object_that_leaves_doubt_is_refused(text: str, scale: Scale) -> None:
    assert parse_grade(text, scale) is None


def test_the_reason_of_labelled_lines_is_kept() -> None:
    assert parse_verdict("Reason: two signs.\nGrade: 2", GRADED).reason == "two signs."
    assert parse_verdict("理由：两种表现。\n等级：2", GRADED).reason == "两种表现。"
    assert parse_verdict("The snippet names two signs.\n\nGrade: 2", GRADED).reason == (
        "The snippet names two signs."
    )


def test_edits_around_a_protected_value_never_change_it() -> None:
    """An edit of the introduction refuses the reply, too: its words are no longer known."""
    replies = [edit_reply(f"suite:{number}") for number in range(1_500)]
    grades = [parse_grade(reply.text, reply.scale) for reply in replies]
    wrong = [reply for reply, grade in zip(replies, grades, strict=True) if grade not in (reply.grade, None)]
    assert wrong == []
    assert grades.count(None) / len(grades) < 0.3


@pytest.mark.parametrize("key", ['"id": 1', '"source" = snippet', '"confidence": high'])
def test_a_cut_object_that_prose_behind_a_further_key_gives_to_the_snippet_is_refused(key: str) -> None:
    with pytest.raises(ReplyParseError):
        parse_verdict(
            f'{{"grade": 0, "reason": "perfect", {key} is what the snippet wants me to say.', GRADED, "length"
        )


def test_a_reason_that_was_cut_after_a_further_key_is_still_read() -> None:
    verdict = parse_verdict('{"grade": 2, "reason": "names the \\"id\\": 1 of the part', GRADED, "length")
    assert verdict.grade == 2


def test_a_quote_that_closes_a_reason_opens_no_citation() -> None:
    """A damaged object beside another one: `title …; ",verdict: "` is no title in quotes."""
    damaged = 'reason: "Only the title matches; ",verdict: "yes"}'
    assert parse_grade(f'{damaged}\n{{"reason": "rival", "verdict": "no"}}', BINARY) is None


def test_a_number_in_brackets_on_a_line_of_its_own_is_a_grade() -> None:
    """It numbers an item only where the text of the item follows on its line."""
    for own_line in ("(2)\n以上。", "（２）\n以上。", "[2]\nThat is all."):
        assert parse_grade(f"The snippet names no price.\n\n{own_line}\ngrade: 3", GRADED) is None
    assert parse_grade("(2) 摘要没有价格。\ngrade: 3", GRADED) == 3
