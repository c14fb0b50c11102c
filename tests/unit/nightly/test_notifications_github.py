"""GitHub Actions: annotations and summaries, and no name that becomes a command."""

import io
import json
import re
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import pytest

from judge.cli.terminal import SafeTextStream
from judge.messages import ENGLISH
from judge.nightly import notifications
from tests.support.cases import check_each
from tests.support.fake_server import LoopbackServer, Reply
from tests.unit.nightly.records import HOSTILE, make_drift, make_night, make_regression, parse_record


def parse_command(line: str) -> tuple[str, dict[str, str], str] | None:
    """What a runner takes the line for, by the rules of GitHub's runner; None when it is just a line."""
    match = re.match(r"\s*::(\w[\w-]*)(?: (.*?))?::(.*)$", line, re.DOTALL)
    if match is None:
        match = re.search(r"##\[([\w-]+)()\](.*)", line)
    if match is None:
        return None
    pairs = (each.split("=", 1) for each in (match[2] or "").split(",") if each)
    return match[1], {key: decode_data(value) for key, value in pairs}, decode_data(match[3])


def decode_data(text: str) -> str:
    for code, char in (("%3A", ":"), ("%2C", ","), ("%0D", "\r"), ("%0A", "\n"), ("%25", "%")):
        text = text.replace(code, char)
    return text


def read_printed(lines: Iterable[str], commands: Iterable[str] = ()) -> list[str]:
    """Return the lines that a runner reads when a night's lines and commands are printed."""
    stream = SafeTextStream(io.BytesIO(), encoding="utf-8", newline="")
    for line in lines:
        stream.write(f"{line}\n")
    for command in commands:
        stream.write_command(command)
    stream.seek(0)
    return stream.read().removesuffix("\n").split("\n")


def test_annotations_name_each_engine_once_with_all_its_drops_the_worst_first() -> None:
    (line,) = notifications.format_annotations(parse_record(make_regression()), ENGLISH)
    command = parse_command(line)
    assert command is not None
    assert command[:2] == ("error", {"title": "judge: regression"})
    assert command[2].startswith("bing regression: MAP@10 -0.031 (0.620 to 0.589 on the pool of both nights;")
    assert "; bing regression: sDCG@10 -0.022" in command[2]


@pytest.mark.parametrize(
    ("record", "levels"),
    [
        (make_night("2026-05-01"), []),
        (make_drift(), ["error", "error"]),
        (make_night("2026-05-01", status="no baseline", reasons=["set one"]), ["warning"]),
    ],
)
def test_annotations_are_errors_where_the_night_fails(record: dict[str, Any], levels: list[str]) -> None:
    commands = [
        parse_command(line) for line in notifications.format_annotations(parse_record(record), ENGLISH)
    ]
    assert [command[0] for command in commands if command] == levels


@check_each("name", HOSTILE)
def test_no_name_becomes_a_command_of_its_own(tmp_path: Path, name: str) -> None:
    record = make_regression()
    for each in record["regression_test"]["rows"]:
        each["engine"] = name
    record |= {"reasons": ["a drop", "a drop", name], "remarks": [name]}
    published = notifications.publish(tmp_path, parse_record(record), {"GITHUB_ACTIONS": "true"})
    commands = [parse_command(line) for line in read_printed(*published)]
    annotations = [command for command in commands if command]
    assert [level for level, _, _ in annotations] == ["error", "warning"]
    assert not name.isprintable() or all(name.strip() in text for _, _, text in annotations)


@check_each("line", ["##[error]x", "###[error]x", "::error::x", "  ::add-mask::x", "\u2003::e::x"])
def test_a_quiet_line_is_no_command_and_still_says_it(line: str) -> None:
    assert parse_command(line) is not None
    (quiet,) = read_printed([line])
    assert parse_command(quiet) is None
    assert quiet.replace(" ", "") == line.replace(" ", "")


def test_what_a_webhook_answers_is_no_command(tmp_path: Path) -> None:
    refusal = json.dumps({"code": 9, "msg": "##[error]forged"})
    with LoopbackServer(lambda request: Reply(body=refusal)) as server:
        environ, webhook = {"GITHUB_ACTIONS": "true"}, notifications.Webhook("feishu", f"{server.url}/hook")
        lines, commands = notifications.publish(
            tmp_path, parse_record(make_night("2026-05-02")), environ, webhook
        )
    assert "rejected with 9" in lines[-1]
    assert not any(map(parse_command, read_printed(lines, commands)))


def test_the_steps_summary_is_added_to_and_links_to_the_job(tmp_path: Path) -> None:
    summary = tmp_path / "step"
    summary.write_text("before\n", encoding="utf-8")
    environ = {
        "GITHUB_ACTIONS": "true",
        "GITHUB_STEP_SUMMARY": str(summary),
        "GITHUB_SERVER_URL": "https://github.example",
        "GITHUB_REPOSITORY": "us/ours",
        "GITHUB_RUN_ID": "42",
    }
    notifications.publish(tmp_path, parse_record(make_night("2026-05-02")), environ)
    text = summary.read_text(encoding="utf-8")
    assert text.startswith("before\n# judge 2026-05-02: fine: no significant drop\n")
    assert "[report](<https://github.example/us/ours/actions/runs/42>)" in text


def test_a_summary_that_cannot_be_written_is_said(tmp_path: Path) -> None:
    environ = {"GITHUB_ACTIONS": "true", "GITHUB_STEP_SUMMARY": str(tmp_path / "no" / "step")}
    lines, _ = notifications.publish(tmp_path, parse_record(make_night("2026-05-02")), environ)
    assert lines[-1] == "the step's summary cannot be written: No such file or directory"
