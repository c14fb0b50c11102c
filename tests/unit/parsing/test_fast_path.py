"""The fast path gives the same verdict as the full reader, and cost grows in proportion to length."""

import json
import sys
from collections.abc import Callable
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import ReplyParseError
from judge.parsing.any_form import parse_any
from judge.parsing.verdict import parse_verdict
from judge.records import BINARY, GRADED, Scale, Verdict
from tests.support.cases import check_each
from tests.support.scaling import MOST, measure_growth
from tests.unit.parsing.edits import edit_reply
from tests.unit.parsing.reply_fuzz import make as make_reply

CASES = Path(__file__).parents[2] / "cases" / "replies.jsonl"


def find_outcome(
    parse: Callable[[str, Scale, str | None], Verdict], text: str, scale: Scale, end: str
) -> Verdict | str:
    """Return the verdict, or the kind of the refusal."""
    try:
        return parse(text, scale, end)
    except ReplyParseError as error:
        return error.kind


def assert_same(text: str, scale: Scale, end: str = "stop") -> None:
    assert find_outcome(parse_verdict, text, scale, end) == find_outcome(parse_any, text, scale, end), text


def test_both_paths_agree_on_the_samples() -> None:
    for line in CASES.read_text("utf-8").splitlines():
        record = json.loads(line)
        for scale in (GRADED, BINARY):
            assert_same(str(record.get("text", "")), scale, record.get("finish_reason") or "stop")


@pytest.mark.parametrize(("first", "last"), [(0, 300), pytest.param(300, 3_000, marks=pytest.mark.slow)])
def test_both_paths_agree_on_damaged_replies(first: int, last: int) -> None:
    for number in range(first, last):
        case = make_reply(f"paths:{number}")
        assert_same(case.text, case.scale, case.finish_reason)
        reply = edit_reply(f"paths:{number}")
        assert_same(reply.text, reply.scale)


@given(st.text(), st.integers(-1, 4), st.sampled_from(("yes", "no", "Yes", "")), st.booleans(), st.booleans())
def test_both_paths_agree_on_sound_json(
    reason: str, grade: int, word: str, ascii_only: bool, cut: bool
) -> None:
    end = "length" if cut else "stop"
    for scale, key, value in ((GRADED, "grade", grade), (BINARY, "verdict", word)):
        for members in ({"reason": reason, key: value}, {key: value, "reason": reason}, {key: value}):
            assert_same(json.dumps(members, ensure_ascii=ascii_only), scale, end)
            pretty = json.dumps(members, indent=2)
            assert_same(pretty, scale, end)
            assert_same(f"```json\n{pretty}\n```", scale, end)


@check_each(
    "text",
    [
        '{"grade": 2, "grade": 2}',
        '{"grade": true, "reason": "a"}',
        '{"grade": 2.0, "reason": "a"}',
        '{"grade": 2, "reason": null}',
        '{"grade": 4, "reason": "a"}',
        '[["grade", 2], ["reason", "a"]]',
        '{"reason": "' + "a" * 5_000 + '", "grade": 2}',
        '{"reason": "' + "a" * 200_000 + '", "grade": 2}',
        '{"reason": "<think>3</think>", "grade": 2}',
        *('```json\n{"reason": "```", "grade": 2}\n```\n', '```json\n{"reason": "a", "grade": 2}\n```\n```'),
        '```json\n{"reason": "a", "grade": 2}\n```\n```json\n{"reason": "a", "grade": 3}\n```',
        "2",
        "",
    ],
)
def test_both_paths_agree_at_the_edges(text: str) -> None:
    assert_same(text, GRADED)


def test_a_plain_reply_takes_the_fast_path() -> None:
    """The full reader is never entered: its functions are not called."""
    called: list[str] = []

    def trace(frame: object, event: str, _argument: object) -> None:
        if event == "call":
            called.append(frame.f_code.co_name)  # type: ignore[attr-defined]

    sys.setprofile(trace)
    try:
        parse_verdict('{"reason": "Names two signs.", "grade": 2}', GRADED)
    finally:
        sys.setprofile(None)
    assert parse_any.__name__ not in called
    assert "parse_verdict" in called


UNITS = (
    "{",
    '"',
    "so ",
    "3 ",
    "that was ",
    "(",
    '{"grade": 1} ',
    '"grade": 1, ',
    "相关",
    "\n",
    "\t",
    "<think>",
    "a: ",
    ". ",
    "```\n",
)


@check_each("unit", UNITS)
@check_each(
    "around",
    [
        ("", '{"grade": 1}'),
        ('{"grade": 1}', ""),
        ('{"grade": 1, "reason": "', ""),
        ('{"reason": "', '", "grade": 1}'),
        ("Grade: 1\nReason: ", ""),
        ('"grade": 1, ', 'x, "grade": 1}'),
        ('{"reason": "a "b" c", "grade": 1,', "x"),
        ("```\n1", "```"),
        ('```json\n{"grade": 1}', "```"),
    ],
)
def test_cost_grows_in_proportion_to_the_length(unit: str, around: tuple[str, str]) -> None:
    """A quadratic reader takes sixteen times as long for four times the text."""

    def make(length: int) -> str:
        return around[0] + unit * (length // len(unit)) + around[1]

    assert measure_growth(lambda text: find_outcome(parse_any, text, GRADED, "stop"), make, 18_000) <= MOST
