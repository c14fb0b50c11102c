"""The terminal output for an untrusted run has no control sequences and no commands of build runners."""

import io
import json
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path
from typing import Any

import pytest

from judge.characters import count_columns
from judge.cli.main import main
from judge.cli.render.screen import Screen
from judge.cli.terminal import SafeTextStream
from judge.example import find_dataset
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.factories import make_rows, write_rows

#: A title, a clear screen, a link, a C1 sequence, and commands of three runners.
POISON = (
    "\x1b]0;owned\x07\x1b[2J\x1b]8;;http://x\x1b\\\x9b31m\r\n"
    "::error::owned\n  ::set-env name=a::b ##[error]x ##vso[task.x]y"
)
OBEYED = re.compile(
    r"\x1b(?!\[[0-9;]*m)|[\x00-\x08\x0b\x0c\x0e-\x1a\x7f-\x9f]|##\w*\[|^(?:\s|\x1b\[[0-9;]*m)*::",
    re.MULTILINE,
)
#: Texts without which the commands refuse the run.
KEPT = {"query_id", "snippet_id", "scale", "measure", "measures", "lang"}


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    folder = tmp_path_factory.mktemp("received")
    runs = []
    for number in range(2):
        data = write_rows(folder / f"data{number}.jsonl", make_rows(6, 3, 3))
        run = folder / "runs" / f"r{number}"
        assert run_judge("run", data, "-m", "lexical", "--out", run).returncode == 0
        runs.append(run)
    return runs


def poison_value(value: Any, name: str = "") -> Any:
    """Return `value` with control sequences at the end of each text that may have any content."""
    if name == "comparisons":  # words that are not texts, but outcomes
        return value
    if isinstance(value, dict):
        return {key: poison_value(each, key) for key, each in value.items()}
    if isinstance(value, list):
        return [poison_value(each, name) for each in value]
    if value is None and name in ("error", "reference"):
        return POISON
    return value + POISON if isinstance(value, str) and name not in KEPT else value


def poison_run(run: Path, target: Path, names: tuple[str, ...]) -> Path:
    """Copy `run` with control sequences in every text of the files `names`, and return the path."""
    shutil.copytree(run, target)
    for name in names:
        path = target / name
        if name.endswith(".jsonl"):
            lines = [
                json.dumps(poison_value(json.loads(line))) for line in path.read_text("utf-8").splitlines()
            ]
            path.write_text("\n".join(lines) + "\n", encoding="utf-8")
        else:
            path.write_text(json.dumps(poison_value(json.loads(path.read_text("utf-8")))), encoding="utf-8")
    return target


@pytest.mark.parametrize("names", [("results.json", "judgments.jsonl"), ("summary.json",), ("config.json",)])
@pytest.mark.parametrize(
    "words",
    [
        ("show", "RUN", "--query", "q0"),
        ("show", "RUN", "--query", "q0", "--json"),
        ("compare", "RUN"),
        ("compare", "RUN", "OTHER"),
        ("compare", "RUN", "--json"),
        ("agree", "RUN", "--qrels", "LABELS"),
        ("score", "RUN"),
        ("report", "RUN"),
    ],
    ids=" ".join,
)
def test_control_sequences_of_a_received_run_are_escaped(
    words: tuple[str, ...], names: tuple[str, ...], runs: list[Path], tmp_path: Path
) -> None:
    run = poison_run(runs[0], tmp_path / "run", names)
    filled = {"RUN": run, "OTHER": runs[1], "LABELS": runs[1] / "qrels.txt"}
    result = run_judge(*(filled.get(word, word) for word in words), FORCE_COLOR="1", GITHUB_ACTIONS="true")
    assert result.returncode in (0, 2, 3), result.stderr
    assert [each[0] for each in OBEYED.finditer(result.stdout + result.stderr)] == []
    if "--json" in words and result.returncode == 0:
        assert json.loads(result.stdout)


def test_a_verdict_that_judge_never_writes_is_refused_with_escapes(runs: list[Path], tmp_path: Path) -> None:
    run = poison_run(runs[0], tmp_path / "run", ("results.json", "judgments.jsonl"))
    result = run_judge("show", run, "--query", "q0")
    assert result.returncode == 2
    assert (
        ".verdict' is 'yes" in result.stderr
        or ".verdict' is 'no" in result.stderr
        or ".lang' is" in result.stderr
    )
    assert "\\x1b]0;owned" in result.stderr
    assert not any(ord(char) < 32 for char in result.stderr if char != "\n")


def test_a_console_shows_controls_of_texts_and_keeps_its_own() -> None:
    file = io.StringIO()
    screen = Screen(file=file, force_terminal=True, width=80, color_system="standard")
    screen.print("a\x1b[2J\x07b 中文　x\n", style="bold", markup=False)
    assert "a\\x1b[2Jb 中文　x" in re.sub(r"\x1b\[[0-9;]*m", "", file.getvalue())
    assert "\x1b[1ma" in file.getvalue()
    assert OBEYED.search(file.getvalue()) is None


@check_each(
    ("text", "lines"),
    [
        ("在 14 条查询中有 1 条没有数据行，不计入该", ["在 14 条查询中有 1", "条没有数据行，不计入", "该"]),
        # An English name or a number in Chinese does not break, and no line begins with a comma.
        ("最好的引擎：bing-webs 均值最高了，但", ["最好的引擎：", "bing-webs 均值最高", "了，但"]),
        ("评定到第 10 名次（95% 置信区间）", ["评定到第 10 名次", "（95% 置信区间）"]),
        ("by engine 谷歌自定义: not", ["by engine 谷歌自定", "义: not"]),
        ("a difference of (95%: -0.1 to 0.2)", ["a difference of", "(95%: -0.1 to 0.2)"]),
        # The point of a file's suffix belongs to the suffix, and a quotation mark to what it is around.
        ("数据集为 .json、.csv、.tsv", ["数据集为 .json、", ".csv、.tsv"]),
        ("现有的列名是 '查询'、'引擎'", ["现有的列名是 '查", "询'、'引擎'"]),
        # Opening marks without a word take columns, too.
        ("一二三四五六七八九（「", ["一二三四五六七八九", "（「"]),
        # People copy the value of an option.
        ("请指定 snippet=摘要,a=引", ["请指定", "snippet=摘要,a=引"]),
        ("a 0123456789012345678901234567 b", ["a", "01234567890123456789", "01234567 b"]),
        ("ab\n  摘要 x", ["ab", "  摘要 x"]),
    ],
)
def test_lines_break_between_words_and_between_chinese_characters(text: str, lines: list[str]) -> None:
    file = io.StringIO()
    Screen(file=file, force_terminal=True, width=20, color_system=None).print(text, markup=False)
    assert file.getvalue().splitlines() == lines


@check_each(
    ("pieces", "printed"),
    [
        (["::error::x\n"], ": :error::x\n"),
        (["a::b\n", "  ::x"], "a::b\n  : :x"),
        (["a", "::b"], "a::b"),
        (["  ", "::b"], "  : :b"),
        (["\x1b[1m::b"], "\x1b[1m: :b"),
        (["a ##[error]b ##vso[x] ## head"], "a # #[error]b # #vso[x] ## head"),
        (["x\n", "", "::y"], "x\n: :y"),
    ],
)
def test_a_build_runner_finds_no_command_in_the_output(pieces: list[str], printed: str) -> None:
    raw = io.BytesIO()
    stream = SafeTextStream(raw, encoding="utf-8", newline="\n")
    assert [stream.write(piece) for piece in pieces] == [len(piece) for piece in pieces]
    stream.write_command("")
    stream.write_command("::warning::ours")
    stream.flush()
    assert raw.getvalue().decode() == f"{printed}\n::warning::ours\n"


def test_streams_of_a_command_escape_control_sequences() -> None:
    script = (
        "from judge.cli.main import app, main\n"
        "app.command('prints')(lambda: print('::a\\n##[b'))\n"
        "raise SystemExit(main(['prints']))"
    )
    result = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert result.stdout == ": :a\n# #[b\n"


class TerminalBytes(io.BytesIO):
    """The bytes that a terminal gets."""

    def isatty(self) -> bool:
        return True


def run_in_terminal(*words: object, columns: int = 80, is_terminal: bool = True) -> tuple[str, str]:
    """Return what a command writes to stdout and stderr."""
    kind = TerminalBytes if is_terminal else io.BytesIO
    streams = [io.TextIOWrapper(kind(), encoding="utf-8", newline="\n") for _ in range(2)]
    environ = {**os.environ, "COLUMNS": str(columns), "TERM": "xterm"}
    main(list(map(str, words)), stdout=streams[0], stderr=streams[1], environ=environ)
    for stream in streams:
        stream.seek(0)
    return streams[0].read(), streams[1].read()


@check_each("language", ["en", "zh"])
def test_messages_break_between_words_on_a_terminal_and_nowhere_else(language: str, tmp_path: Path) -> None:
    folder = tmp_path / ("long_" * 16)
    folder.mkdir()
    queries = write_rows(folder / "queries.jsonl", [{"query_id": "q1", "query": "tea"}])
    words: tuple[object, ...] = (
        "collect",
        queries,
        "--engine",
        "searxng",
        "--base-url",
        "searxng=http://127.0.0.1:9",
    )
    words = (*words, "--attempts", 1, "--out", folder / "data.jsonl", "--ui-lang", language)
    plain = run_in_terminal(*words, is_terminal=False)
    wrapped = run_in_terminal(*words)
    assert plain[1].count("\n") == 2  # the progress and the error
    error = plain[1].splitlines()[-1]
    assert re.sub(r"\s", "", wrapped[1]).endswith(re.sub(r"\s", "", error))
    assert re.sub(r"\s", "", wrapped[0]) == re.sub(r"\s", "", plain[0])
    lines = [line for text in wrapped for line in re.sub(r"\x1b\[[0-9;?]*[a-zA-Z]", "", text).splitlines()]
    # A path that is longer than a line stays whole.
    assert all(count_columns(line) <= 80 or str(folder) in line for line in lines)
    assert any(line.endswith(f"{folder}/data.jsonl.raw.jsonl") for line in lines)


def test_the_address_of_a_price_list_stays_whole() -> None:
    out, _ = run_in_terminal("estimate", find_dataset(), "-m", "openai:gpt-4o-mini", columns=60)
    assert "(https://github.com/pydantic/genai-prices/blob/main/prices/providers/openai.yml)\n" in out


def test_a_chinese_message_fits_the_terminal_and_keeps_the_option_it_suggests(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("results.csv").write_text("查询,引擎,名次,标题,摘要\n茶,甲,1,茶,绿茶\n", encoding="utf-8")
    Path("results.xls").write_bytes(b"\xd0\xcf\x11\xe0")
    option = "query=查询,snippet=摘要,engine=引擎,rank=名次,title=标题"
    for file in ("results.csv", "results.xls"):
        _, text = run_in_terminal("run", file, "-m", "lexical", "--ui-lang", "zh")
        assert all(count_columns(line) <= 80 for line in text.splitlines()), text
        assert (option in text) == (file == "results.csv")


def test_the_lines_of_an_item_are_indented(tmp_path: Path) -> None:
    toml = tmp_path / "judge.toml"
    rows = write_rows(tmp_path / "data.jsonl", make_rows(6, 3, 3))
    toml.write_text(
        f'model = "lexical"\ndata = "{rows}"\n[nightly]\nfolder = "{tmp_path}/nights"\n', encoding="utf-8"
    )
    output, _ = run_in_terminal("nightly", toml, "--date", "2026-05-01", columns=40)
    first, *others = output.splitlines()
    assert first.startswith("judge 2026-05-01: no baseline")
    assert others[0].startswith("- there is no baseline yet, so")
    assert others[1].startswith("  ")
