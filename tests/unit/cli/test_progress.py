"""What a log shows of work while it runs."""

import io
from itertools import count

from rich.console import Console
from rich.text import Text

from judge.characters import count_columns
from judge.cli.progress_display import COLLECTING, ProgressBar, ProgressLines
from judge.records import Judgment


def test_what_failed_is_not_counted_as_done() -> None:
    log, seconds = io.StringIO(), count(step=5)
    lines = ProgressLines(log, COLLECTING, lambda: float(next(seconds)))
    lines.begin(4, 1)
    lines.add_answer(failed=True)
    lines.add_answer(failed=False)
    assert log.getvalue().splitlines()[1].startswith("collecting answers: 2 of 4 done, 1 failed, ")


def test_a_log_says_every_ten_seconds_what_is_waited_for() -> None:
    log, seconds = io.StringIO(), count(step=4)
    lines = ProgressLines(log, clock=lambda: float(next(seconds)))
    lines.begin(4, 0)
    for status in ("", "waiting, 8 s", "waiting, 12 s", "waiting, 16 s", ""):
        lines.set_status(status)
    assert log.getvalue().splitlines()[1:] == ["judging pairs: waiting, 12 s"]


def test_each_bar_counts_its_own_failures() -> None:
    stream = io.StringIO()
    bar = ProgressBar(Console(file=stream, force_terminal=True, width=100))
    bar.begin(2, 0)
    bar.add_answer(failed=True)
    bar.end()
    bar.begin(5, 0, "points")
    bar.add_answer(failed=False)
    bar.end()
    lines = stream.getvalue().splitlines()
    assert [line for line in lines if "pairs" in line and "1 failed" in line]
    assert not [line for line in lines if "points" in line and "failed" in line]


def test_lines_of_a_panel_name_its_member_within_eighty_columns() -> None:
    log, seconds = io.StringIO(), count(step=5)
    lines = ProgressLines(log, clock=lambda: float(next(seconds)))
    judgment = Judgment("q", "s", 1, 1, "r", None, "a", "v", {}, "", None)
    lines.begin(5000, 12, title="2/3 openai:qwen-plus-2025-07-28/graded")
    for _ in range(4):
        lines.add_judgment(judgment, 0.1234)
    for _ in range(2):
        lines.set_status("waiting for an answer from api.example.com:8000, 12 s")
    lines.begin(9, 0, title="3/3 lexical/graded")
    assert log.getvalue().splitlines() == [
        "2/3 openai:qwen-plus-2025-07-28/graded: 4,988 to do; the other 12 need no call",
        "2/3 openai…: 14 of 5,000 done, 0 failed, 0.2/s, $0.1234 so far, about 6.9 h left",
        "2/3 openai…: 16 of 5,000 done, 0 failed, 0.2/s, $0.1234 so far, about 6.9 h left",
        "2/3 openai:qwen-plus-202…: waiting for an answer from api.example.com:8000, 12 s",
        "3/3 lexical/graded: 9 to do",
    ]


def test_a_chinese_name_of_a_member_takes_two_columns_a_character() -> None:
    stream = io.StringIO()
    lines = ProgressLines(stream)
    lines.begin(5000, 12, title="2/3 openai:" + "通义千问模型" * 6)
    [line] = stream.getvalue().splitlines()
    assert line == "2/3 openai:通义千问模型通义千问模型通义…: 4,988 to do; the other 12 need no call"
    assert count_columns(line) <= 80


def test_the_bar_of_a_panel_names_its_member() -> None:
    stream = io.StringIO()
    bar = ProgressBar(Console(file=stream, force_terminal=True, width=80))
    bar.begin(2, 0, title="2/3 openai:qwen-plus-2025-07-28/graded")
    bar.end()
    assert "2/3 openai:qwen-plus-… " in stream.getvalue()


def test_the_counter_and_the_status_are_whole_on_80_columns() -> None:
    """The numbers keep their width, and the status has a line of its own."""
    stream = io.StringIO()
    bar = ProgressBar(Console(file=stream, force_terminal=True, width=80))
    bar.begin(34_100, 0, title="2/3 openai:qwen-plus-2025-07-28/graded")
    bar.add_judgment(Judgment("q", "s", 1, None, "", "timeout", "a", "v", {}, "", None), 12.3456)
    status = "waiting for an answer from api.example.com:8000, 12 s"
    bar.set_status(status)
    bar.end()
    lines = [text.plain for line in stream.getvalue().splitlines() if (text := Text.from_ansi(line))]
    assert status in lines
    assert any("1/34100" in line and "$12.3456 1 failed" in line for line in lines)
    assert all(count_columns(line) <= 80 for line in lines)
