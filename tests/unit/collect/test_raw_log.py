"""The raw log: what was added is there after a kill, and a torn line is not a call."""

import json
import resource
from concurrent.futures import ThreadPoolExecutor
from dataclasses import asdict
from pathlib import Path

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.collect.engines import EngineRequest
from judge.collect.raw_log import RawLog, RawLogEntry, make_raw_log_path, read_raw_log
from judge.errors import InputError, StoreError
from judge.messages import CHINESE
from tests.support.cases import check_each

texts = st.text(max_size=20)


def make_entry(query_id: str, body: str = "{}") -> RawLogEntry:
    """A call that was answered."""
    request = EngineRequest("GET", "http://localhost/search?q=tea")
    return RawLogEntry("brave", query_id, request, "2026-11-20T01:02:03.004+00:00", 200, 12.5, body, None)


@given(body=texts, error=st.none() | texts, status=st.none() | st.integers(100, 599))
def test_what_is_added_is_read_back_equal(
    body: str, error: str | None, status: int | None, tmp_path_factory: pytest.TempPathFactory
) -> None:
    path = tmp_path_factory.mktemp("raw_log") / "data.jsonl.raw.jsonl"
    made = RawLogEntry(
        "exa", "q\u2028", EngineRequest("POST", "http://a", body), "now", status, 0.1, body, error
    )
    for _ in range(2):
        raw_log = RawLog(path)
        raw_log.add(made)
    assert list(read_raw_log(path)) == [made, made]


@pytest.mark.parametrize("cut", [1, 2, 50, 100])
def test_a_torn_line_is_no_call_and_the_next_one_begins_a_line(cut: int, tmp_path: Path) -> None:
    path = make_raw_log_path(tmp_path / "data.jsonl")
    raw_log = RawLog(path)
    raw_log.add(make_entry("q1", "x" * 100_000))
    raw_log.add(make_entry("q2"))
    path.write_bytes(path.read_bytes()[:-cut])
    assert [each.query_id for each in read_raw_log(path)] == ["q1"]
    raw_log = RawLog(path)
    raw_log.add(make_entry("q3"))
    assert [each.query_id for each in read_raw_log(path)] == ["q1", "q3"]


def test_a_first_line_that_is_torn_leaves_an_empty_journal(tmp_path: Path) -> None:
    path = tmp_path / "raw_log"
    path.write_bytes(b'{"engine": "br')
    assert list(read_raw_log(path)) == []
    raw_log = RawLog(path)
    raw_log.add(make_entry("q1"))
    assert [each.query_id for each in read_raw_log(path)] == ["q1"]


@check_each(
    "line",
    [
        "nonsense",
        "[]",
        "[" * 100_000,
        "{}",
        '{"engine": "brave"}',
        '{"request": 3}',
        *(
            json.dumps({**asdict(make_entry("q1")), **field})
            for field in (
                {"body": None},
                {"error": 5},
                {"latency_ms": "x"},
                {"query_id": ["q"]},
                {"request": {"method": "GET", "url": ["a"]}},
            )
        ),
    ],
)
def test_a_line_that_is_no_call_is_named(line: str, tmp_path: Path) -> None:
    path = tmp_path / "raw_log"
    raw_log = RawLog(path)
    raw_log.add(make_entry("q1"))
    path.write_text(path.read_text(encoding="utf-8") + line + "\n", encoding="utf-8")
    with pytest.raises(InputError, match="raw_log:2: judge collect did not write this line") as refused:
        list(read_raw_log(path))
    reason = CHINESE(refused.value.message).partition("不是 judge collect 写入的（")[2].partition("）；")[0]
    assert not reason.isascii() or "recursion" in reason


def test_a_journal_that_cannot_be_written_says_so(tmp_path: Path) -> None:
    (tmp_path / "raw_log").mkdir()
    with pytest.raises(StoreError, match="cannot be written"):
        RawLog(tmp_path / "raw_log")


def test_any_thread_may_add_and_every_line_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "raw_log"
    made = [make_entry(f"q{number}", "x" * 5_000) for number in range(100)]
    raw_log = RawLog(path)
    with ThreadPoolExecutor(8) as threads:
        list(threads.map(raw_log.add, made))
    assert sorted(each.query_id for each in read_raw_log(path)) == sorted(each.query_id for each in made)


def test_a_full_disk_leaves_whole_lines(tmp_path: Path) -> None:
    path = tmp_path / "raw_log"
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    raw_log = RawLog(path)
    raw_log.add(make_entry("q1"))
    resource.setrlimit(resource.RLIMIT_FSIZE, (path.stat().st_size + 50, hard))
    try:
        with pytest.raises(StoreError, match="all earlier answers are saved"):
            raw_log.add(make_entry("q2"))
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
    raw_log.add(make_entry("q3"))
    assert [each.query_id for each in read_raw_log(path)] == ["q1", "q3"]
