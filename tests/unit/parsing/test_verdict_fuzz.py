"""However a reply is damaged, reading gives the true value or refuses."""

import json
from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import ReplyParseError
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale
from tests.unit.parsing.reply_asides import BORROWED
from tests.unit.parsing.reply_fuzz import classify_outcome, make

KINDS = {
    "empty",
    "refusal",
    "truncated",
    "malformed",
    "missing_key",
    "not_a_grade",
    "not_integer",
    "ambiguous",
}


@pytest.mark.parametrize(("first", "last"), [(0, 1_500), pytest.param(1_500, 20_000, marks=pytest.mark.slow)])
def test_damaged_replies_are_never_misread(first: int, last: int) -> None:
    cases = [make(f"suite:{number}") for number in range(first, last)]
    outcomes = [classify_outcome(case) for case in cases]
    assert [case for case, result in zip(cases, outcomes, strict=True) if result == "wrong"] == []
    sound = [result for case, result in zip(cases, outcomes, strict=True) if case.recoverable]
    assert sound.count("right") / len(sound) > 0.9


def test_a_reply_in_traditional_characters_is_read_as_in_simplified_ones() -> None:
    traditional = str.maketrans(
        "级评结论断标签无关数总说应为错误给对们这还个过实际",
        "級評結論斷標籤無關數總說應為錯誤給對們這還個過實際",
    )
    for number in range(400):
        case = make(f"traditional:{number}")
        other = replace(case, text=case.text.translate(traditional))
        assert classify_outcome(other) == classify_outcome(case), other


@given(st.text(), st.integers(0, 3), st.booleans())
def test_sound_json_is_always_read(reason: str, grade: int, ascii_only: bool) -> None:
    verdict = parse_verdict(json.dumps({"reason": reason, "grade": grade}, ensure_ascii=ascii_only), GRADED)
    assert (verdict.grade, verdict.reason) == (grade, reason)


@given(
    st.text() | st.text(alphabet="{}[]:,\"'\\ \ngrade0123verdictyesno是否“”：，｛｝<>/think`"),
    st.sampled_from((BINARY, GRADED)),
)
def test_any_text_gives_a_grade_on_the_scale_or_a_known_error(text: str, scale: Scale) -> None:
    try:
        result: int | str = parse_verdict(text, scale).grade
    except ReplyParseError as unreadable:
        result = unreadable.kind
    assert result in {*range(scale.top + 1), *KINDS}


@given(st.text(), st.integers(0, 3), st.data())
def test_a_cut_reply_is_never_misread(reason: str, grade: int, data: st.DataObject) -> None:
    reply = json.dumps({"reason": reason, "grade": grade}, ensure_ascii=False)
    cut = reply[: data.draw(st.integers(0, len(reply) - 1))]
    with pytest.raises(ReplyParseError):
        parse_verdict(cut, GRADED, "length")


REASONS = st.text() | st.lists(
    st.sampled_from(
        ('"', "\\", "{", "}", '"grade": 3', ", ", "</think>", "是", "\n", "```", "3", " so ", "no")
    )
).map("".join)


@given(REASONS, st.integers(0, 3), st.booleans(), st.data())
def test_a_lost_character_away_from_the_value_never_changes_it(
    reason: str, grade: int, first: bool, data: st.DataObject
) -> None:
    quoted = json.dumps(reason, ensure_ascii=False)
    head = f'{{"grade": {grade}' if first else f'{{"reason": {quoted}, "grade": {grade}'
    reply = f'{head}, "reason": {quoted}}}' if first else head + "}"
    value = len('{"grade": ') if first else len(head) - 1
    place = data.draw(st.integers(0, len(reply) - 1).filter(lambda at: abs(at - value) > 2))
    try:
        result: int | None = parse_verdict(reply[:place] + reply[place + 1 :], GRADED).grade
    except ReplyParseError:
        result = None
    assert result in (grade, None)


@given(st.sampled_from(BORROWED), REASONS, st.integers(0, 3))
def test_no_quoted_object_is_an_answer(form: str, reason: str, grade: int) -> None:
    quoted = json.dumps({"reason": reason, "grade": grade}, ensure_ascii=False)
    with pytest.raises(ReplyParseError):
        parse_verdict(form.replace("%s", quoted), GRADED)
