"""The log of judgments: each at its place, whatever the order in which they are added."""

import copy
import pickle
from collections.abc import Sequence
from pathlib import Path

import pytest

from judge.files.judgment_log import JudgmentLog, dump_judgments, group_by_query, store_judgments
from judge.records import Judgment, Usage


def make_judgment(number: int, **values: object) -> Judgment:
    fields = {
        "query_id": f"q{number % 3}",
        "snippet_id": f"s{number}",
        "repeat": 1,
        "grade": number % 4,
        "reason": "because\u2028 \ud800" if number % 5 == 0 else "原因",
        "error": None,
        "assessor": "a",
        "prompt_version": "v",
        "params": {"temperature": 0.0, "big": 10**25},
        "reply": "line\r\nend",
        "usage": Usage(1, 2, 3, 4) if number % 2 else None,
        "flags": ("x",),
        **values,
    }
    return Judgment(**fields)  # type: ignore[arg-type]


#: More than fit in memory: the first are written.
COUNT = 9000
MANY = [make_judgment(number) for number in range(COUNT)]


@pytest.mark.parametrize(
    "order", [range(COUNT), range(COUNT)[::-1], sorted(range(COUNT), key=lambda n: n % 7)]
)
def test_judgments_come_back_in_the_order_of_their_places(order: Sequence[int], tmp_path: Path) -> None:
    log = JudgmentLog(COUNT + 1, tmp_path)
    for number in order:
        log.add([number], [MANY[number]])
    assert list(log) == MANY
    assert (len(log), log.graded, log[7]) == (COUNT, COUNT, MANY[7])
    assert log.find_missing_indices().tolist() == [COUNT]
    assert b"".join(log.read_lines()).decode() == "".join(dump_judgments(MANY))


def test_equal_numbers_of_two_types_are_written_as_dump_json_writes_them() -> None:
    one, two = (make_judgment(1, params={"seed": seed}) for seed in (10**16, 1e16))
    assert list(dump_judgments([one, two])) == [*dump_judgments([one]), *dump_judgments([two])]
    assert '"params": {"seed": 1e+16}' in "".join(dump_judgments([one, two]))


def test_two_readers_do_not_disturb_each_other(tmp_path: Path) -> None:
    log = store_judgments(MANY, tmp_path)
    assert all(one == two for one, two in zip(log, log, strict=True))
    assert store_judgments(log, tmp_path) is log


def test_the_judgments_of_a_query_and_those_without_a_grade_are_read_alone(tmp_path: Path) -> None:
    failed = make_judgment(COUNT, grade=None, error="refusal", detail="no")
    log = store_judgments([*MANY, failed], tmp_path)
    assert list(log.read_failures()) == [failed]
    assert log.graded == COUNT
    for read in (group_by_query(log), group_by_query(list(log))):
        assert read("q1") == [each for each in MANY if each.query_id == "q1"]
        assert read("other") == []


def test_a_copy_shares_the_file_and_a_pickled_log_holds_the_judgments(tmp_path: Path) -> None:
    log = store_judgments(MANY, tmp_path)
    assert copy.copy(log) is copy.deepcopy(log) is log
    assert list(log) == MANY
    pickled = pickle.dumps(log)
    del log
    assert pickle.loads(pickled) == tuple(MANY)  # noqa: S301


def test_a_log_leaves_no_file(tmp_path: Path) -> None:
    log = store_judgments(MANY, tmp_path)
    assert len(list(log)) == COUNT
    del log
    assert list(tmp_path.iterdir()) == []
