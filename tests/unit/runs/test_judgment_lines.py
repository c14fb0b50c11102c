"""judgments.jsonl: what is written is what the standard library would write, and is read back."""

import json
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import InputError
from judge.files.json_text import dump_json
from judge.files.judgment_log import dump_judgments
from judge.records import Judgment, Usage
from judge.runs.folder import RunFolder
from judge.runs.load import parse_judgment, read_judgments
from judge.runs.record_json import decode_json

UNUSUAL = ("\ud800", "\ud800\udc00", "\u2028", "\x7f", '"\\\b\f\x00')
TEXTS = st.text(st.characters()) | st.sampled_from(UNUSUAL)
JUDGMENTS = st.builds(
    Judgment,
    query_id=TEXTS, snippet_id=TEXTS, repeat=st.integers(1, 9), grade=st.none() | st.integers(0, 3),
    reason=TEXTS, error=st.none() | TEXTS, assessor=TEXTS, prompt_version=TEXTS,
    params=st.dictionaries(TEXTS, TEXTS | st.booleans() | st.floats(allow_nan=False, allow_infinity=False)),
    reply=TEXTS, usage=st.none() | st.builds(Usage, st.integers(0, 2**53)), flags=st.lists(TEXTS).map(tuple),
    served_model=st.none() | TEXTS, detail=TEXTS, judged_snippet_id=st.none() | TEXTS,
)  # fmt: skip


@given(st.lists(JUDGMENTS, max_size=3))
def test_lines_are_those_of_the_standard_library(judgments: list[Judgment]) -> None:
    records = [asdict(each) for each in judgments]
    for record in records:
        if record["judged_snippet_id"] is None:
            del record["judged_snippet_id"]
    assert list(dump_judgments(judgments)) == [dump_json(record) + "\n" for record in records]


@given(JUDGMENTS)
def test_a_line_is_read_as_by_the_standard_library(judgment: Judgment) -> None:
    [line] = dump_judgments([judgment])
    assert decode_json(Judgment, line) in (parse_judgment(json.loads(line), "line"), None)


@pytest.mark.parametrize(
    ("reply", "probabilities"),
    [
        ('{"probabilities": [0.25, 0.75]}', (0.25, 0.75)),
        ('{"probabilities": [NaN, 1]}', ()),
        ('{"probabilities": [1e999, 1]}', ()),
        (f'{{"probabilities": [{"9" * 400}, 1]}}', ()),
        ('{"probabilities": "123"}', ()),
        ('{"probabilities": null}', ()),
        ("[]", ()),
    ],
)
def test_probabilities_of_an_edited_file_are_numbers_or_none(
    reply: str, probabilities: tuple[float, ...]
) -> None:
    judgment = Judgment("q", "s", 1, 1, "", None, "decision:openai:m/binary", "p@1", {}, reply, None)
    assert judgment.probabilities == probabilities


@pytest.mark.parametrize(
    ("change", "message"),
    [
        ({"grade": True}, "'grade' of a judgment is True"),
        ({"reason": 3}, "'reason' of a judgment is 3"),
        ({"params": 5}, "'params' of a judgment is 5"),
        ({"usage": {"prompt_tokens": "5"}}, "'usage' of a judgment is {'prompt_tokens': '5'}"),
        ({"grade": "\ud800"}, "is no judgment"),
    ],
)
def test_values_of_another_type_are_refused(tmp_path: Path, change: dict[str, object], message: str) -> None:
    judgment = Judgment("q", "s", 1, 2, "why", None, "a", "p@1", {}, "{}", Usage(1), (), "m")
    halves = asdict(judgment) | {"reason": "\ud800"}
    lines = [json.dumps(each) + "\n" for each in (asdict(judgment), halves, asdict(judgment) | change)]
    (tmp_path / "judgments.jsonl").write_text("".join(lines), encoding="ascii")
    read = read_judgments(RunFolder(tmp_path))
    assert next(read) == judgment
    assert next(read).reason == "\ud800"
    with pytest.raises(InputError, match=rf"judgments\.jsonl:3: {message}"):
        next(read)


def test_a_line_without_a_field_is_named(tmp_path: Path) -> None:
    (tmp_path / "judgments.jsonl").write_text('{"flags": []}\n', encoding="ascii")
    with pytest.raises(
        InputError, match=r"judgments\.jsonl:1: is no judgment \(Object missing required field `query_id`\)"
    ):
        next(read_judgments(RunFolder(tmp_path)))


def test_a_line_that_is_not_json_is_named(tmp_path: Path) -> None:
    (tmp_path / "judgments.jsonl").write_text("{}}\n", encoding="ascii")
    with pytest.raises(InputError, match=r"judgments\.jsonl:1: is not JSON"):
        next(read_judgments(RunFolder(tmp_path)))
