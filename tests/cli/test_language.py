"""The language of messages: --ui-lang, else the locale."""

import os
import shutil
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from rich.cells import cell_len
from typer.core import TyperGroup
from typer.main import get_command

from judge.cli.main import app
from judge.cli.options import explain_usage_error
from judge.cli.terminal import apply_language_option, t, use_locale_language
from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.source_code import PACKAGE


@check_each(
    ("environ", "language"),
    [
        ({}, "en"),
        ({"LANG": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh"}, "zh"),
        ({"LANG": "zh_CN.GB18030"}, "zh"),
        ({"LANG": "fr_FR.UTF-8"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_MESSAGES": "en_GB.UTF-8"}, "en"),
        ({"LANG": "en_GB.UTF-8", "LC_MESSAGES": "zh_CN.UTF-8"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": "C"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LC_ALL": ""}, "zh"),
        ({"LANG": "en_GB.UTF-8", "LANGUAGE": "zh_CN:en"}, "zh"),
        ({"LANG": "en_GB.UTF-8", "LANGUAGE": "fr:zh"}, "zh"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "en_GB:zh"}, "en"),
        ({"LANG": "zh_CN.UTF-8", "LANGUAGE": "fr"}, "zh"),
        ({"LANG": "C", "LANGUAGE": "zh"}, "en"),
        ({"LANGUAGE": "zh"}, "en"),
    ],
)
def test_the_locale_decides_in_the_order_of_gettext(environ: dict[str, str], language: str) -> None:
    with use_locale_language(environ):
        assert t.language == language
    assert t.language == "en"


@check_each(
    ("arguments", "language", "others"),
    [
        ("--ui-lang zh demo", "zh", "demo"),
        ("demo --ui-lang zh", "zh", "demo"),
        ("demo --ui-lang=zh --out x", "zh", "demo --out x"),
        ("--ui-lang zh demo --ui-lang en", "en", "demo"),
        ("demo -- --ui-lang zh", "en", "demo -- --ui-lang zh"),
        ("demo", "en", "demo"),
    ],
)
def test_the_option_stands_anywhere_and_the_last_one_counts(
    arguments: str, language: str, others: str
) -> None:
    with use_locale_language({}):
        assert apply_language_option(arguments.split()) == others.split()
        assert t.language == language


def test_the_option_overrides_the_locale() -> None:
    with use_locale_language({"LANG": "zh_CN.UTF-8"}):
        apply_language_option(["--ui-lang", "en"])
        assert t.language == "en"


@pytest.mark.parametrize(
    ("arguments", "value"), [("--ui-lang fr demo", "'fr'"), ("demo --ui-lang", "''"), ("--ui-lang=", "''")]
)
def test_an_unknown_language_is_a_mistake_in_the_arguments(arguments: str, value: str) -> None:
    with (
        use_locale_language({}),
        pytest.raises(InputError, match=f"^--ui-lang is {value}; it must be en or zh$"),
    ):
        apply_language_option(arguments.split())


def test_commands_take_the_option(tmp_path: Path) -> None:
    result = run_judge("--ui-lang", "xx", "measures")
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr == "judge: --ui-lang is 'xx'; it must be en or zh\n"
    assert run_judge("report", tmp_path / "none", "--ui-lang", "en").returncode == 2
    for words in ((), ("run",), ("baseline",), ("baseline", "set")):
        assert "--ui-lang <en|zh>" in run_judge(*words, "--help").stdout


def yield_commands(group: TyperGroup, *names: str) -> Iterator[tuple[str, ...]]:
    """Yield the words of every command and group."""
    yield names
    for name, each in group.commands.items():
        if isinstance(each, TyperGroup):
            yield from yield_commands(each, *names, name)
        else:
            yield (*names, name)


def find_app_group() -> TyperGroup:
    group = get_command(app)
    assert isinstance(group, TyperGroup)
    return group


@check_each("words", [*yield_commands(find_app_group())])
def test_help_is_in_chinese_and_80_columns_wide(words: tuple[str, ...]) -> None:
    result = run_judge(*words, "--help", "--ui-lang", "zh")
    assert (result.returncode, result.stderr) == (0, "")
    lines = result.stdout.splitlines()
    assert lines[0].startswith(f"用法：{' '.join(('judge', *words))} [选项]")
    assert max(map(cell_len, lines)) <= 80
    headings = [line for line in lines[1:] if line and not line.startswith(" ")]
    assert headings
    assert all(heading.endswith("：") and not heading.isascii() for heading in headings)
    rows = [line for line in lines if line.startswith("  --")]
    assert any("显示本帮助。" in row for row in rows)
    # No line begins with closing punctuation, or ends with opening punctuation.
    assert not [line for line in lines if line.lstrip().startswith(tuple("，。；：、）”]"))]
    assert not [line for line in lines if line.endswith(tuple("（“["))]


def test_an_option_in_chinese_names_its_default_and_range() -> None:
    lines = run_judge("annotate", "--help", "--ui-lang", "zh").stdout.splitlines()
    assert "  run <路径>  运行目录。  [必填]" in lines
    assert "  --who <文本>       标注人的名称；每人使用单独的文件。  [默认值：me]" in lines
    assert "  --port <整数>      监听端口；0 表示任意空闲端口。  [默认值：8765；0 到" in lines


@check_each(
    ("arguments", "line"),
    [
        ("rnu", "judge: 没有命令 'rnu'；是否想用 'run'？"),
        ("compre", "judge: 没有命令 'compre'；是否想用 'compare'？"),
        ("baseline", ""),
        ("baseline set", "judge: 缺少参数 'run'"),
        ("annotate x --prt 1", "judge: 没有选项 --prt；是否想用 --port？"),
        ("annotate x --port", "judge: 选项 '--port' 需要一个值"),
        ("annotate x --port y", "judge: --port 的值为 'y'；必须是整数"),
        ("annotate x --port 99999", "judge: --port 的值为 '99999'；不能大于 65535"),
        ("annotate x y", "judge: 多余的参数：y"),
    ],
)
def test_an_error_of_the_arguments_is_in_chinese(arguments: str, line: str) -> None:
    result = run_judge(*arguments.split(), "--ui-lang", "zh")
    assert (result.returncode, result.stdout) == (2, "")
    lines = result.stderr.splitlines()
    assert lines[-1] == line or not line
    if not arguments.endswith("--port"):
        command = arguments.split()[0]
        assert lines[0].startswith(
            "用法：judge [选项] 命令" if command in ("rnu", "compre") else f"用法：judge {command}"
        )


def test_an_error_that_quotes_a_long_argument_is_shortened_and_has_the_words_of_judge() -> None:
    for words, begin in (
        (("run", "--nope" + "x" * 5000), "judge: there is no option --nopexxx"),
        (("rnu" * 2000,), "judge: there is no command 'rnurnu"),
        (("measures", *map(str, range(2000))), "judge: too many arguments: 0 1 2"),
    ):
        result = run_judge(*words)
        assert result.returncode == 2
        line = result.stderr.splitlines()[-1]
        assert line.startswith(begin)
        assert len(line) < 500


def test_a_message_of_typer_that_has_no_translation_stays() -> None:
    assert CHINESE(explain_usage_error("Something new happened.")) == "Something new happened."
    invalid = explain_usage_error("Invalid value for '--x': Something new")
    assert CHINESE(invalid) == "'--x' 的值无效：Something new"


def test_an_error_of_the_arguments_is_in_plain_english() -> None:
    assert run_judge("rnu").stderr == (
        "Usage: judge [OPTIONS] COMMAND [ARGS]...\nTry 'judge --help' for help.\n\n"
        "judge: there is no command 'rnu'; did you mean 'run'?\n"
    )


@pytest.mark.parametrize(
    ("arguments", "line"),
    [
        ("run d.csv --budget x", "judge: --budget is 'x'; it must be a number such as 0.5"),
        ("run d.csv --depth ten", "judge: --depth is 'ten'; it must be a whole number"),
        ("run d.csv --depth 1.5 --ui-lang zh", "judge: --depth 的值为 '1.5'；必须是整数"),
        (
            "collect q.csv --patience ten",
            "judge: --max-wait is 'ten'; it must be a number such as 0.5",
        ),
        ("annotate x --port y", "judge: --port is 'y'; it must be a whole number"),
        ("annotate x --port 99999", "judge: --port is '99999'; it must be at most 65535"),
        ("annotate x --port -1", "judge: --port is '-1'; it must be at least 0"),
    ],
)
def test_a_wrong_number_is_refused_with_its_value(arguments: str, line: str) -> None:
    result = run_judge(*arguments.split())
    assert (result.returncode, result.stderr.splitlines()[-1]) == (2, line)


def test_an_error_of_the_system_is_in_chinese(tmp_path: Path) -> None:
    result = run_judge("run", "--config", tmp_path, "--ui-lang", "zh")
    assert result.returncode == 2
    assert result.stderr == f"judge: {tmp_path}：无法读取：是一个目录\n"
    result = run_judge("run", "--config", tmp_path / "none.toml", "--ui-lang", "zh")
    assert result.stderr == f"judge: {tmp_path}/none.toml：文件不存在\n"


@check_each(
    ("command", "content", "expected"),
    [
        ("run", "repeats = 0", "：repeats 的值为 0；不能小于 1"),
        ("run", "model = lexical", '：不是 TOML：值无效（第 1 行第 9 列）；字符串请使用半角引号："text"'),
        ("nightly", "[nightly]\nalpha = 3", "：[nightly] alpha 的值为 3；应为 0.0001 到 0.5 之间的比例"),
        (
            "nightly",
            "[nightly.webhook]\nkind = 'x'",
            "：[nightly] webhook：kind 的值为 'x'；应为以下之一：'json'、'feishu'、'dingtalk'、'wecom'"
            "、'slack'",
        ),
        ("collect", "[collect]\ndepth = 0", "：[collect] depth 的值为 0；不能小于 1"),
    ],
)
def test_an_error_of_a_configuration_file_is_in_chinese(command: str, content: str, expected: str) -> None:
    with TemporaryDirectory() as folder:
        config = Path(folder, "judge.toml")
        config.write_text(content, encoding="utf-8")
        words = (config,) if command == "nightly" else ("--config", config)
        result = run_judge(command, *words, "--ui-lang", "zh")
    assert result.stderr == f"judge: {config}{expected}\n"


def test_a_checkout_without_a_compiled_catalogue_is_in_english(tmp_path: Path) -> None:
    shutil.copytree(PACKAGE, tmp_path / "judge", ignore=shutil.ignore_patterns("*.mo", "*.pyc.*"))
    shutil.copytree(PACKAGE.parent / "prompts", tmp_path / "prompts")

    def run_copy(*words: str) -> tuple[int, str, str]:
        done = subprocess.run(
            [sys.executable, "-m", "judge", *words],
            capture_output=True,
            text=True,
            cwd=tmp_path,
            env={**os.environ, "PYTHONPATH": str(tmp_path), "LC_ALL": "C"},
            check=False,
        )
        return done.returncode, done.stdout, done.stderr

    notice = (
        "judge: messages are in English, because judge/messages/zh.mo is missing; install judge to make it\n"
    )
    code, shown, errors = run_copy("demo")
    assert (code, notice in errors, "engine" in shown) == (0, False, True)
    code, shown, errors = run_copy("--ui-lang", "zh", "show", "runs/none", "--query", "q")
    assert (code, shown, errors.splitlines(keepends=True)[0]) == (2, "", notice)
    assert "runs/none/results.json: No such file or directory" in errors


def test_the_most_similar_option_is_suggested() -> None:
    text = "No such option: --mesures (Possible options: --failures, --measures, --store)"
    assert ENGLISH(explain_usage_error(text)) == "there is no option --mesures; did you mean --measures?"
    text = "No such option: --modl (Possible options: --models, --model)"
    assert ENGLISH(explain_usage_error(text)) == "there is no option --modl; did you mean --model?"
    text = "No such option: --nope (Possible options: --complete)"
    assert ENGLISH(explain_usage_error(text)) == "there is no option --nope"
    text = "No such command 'stop'. Did you mean 'show'?"
    assert ENGLISH(explain_usage_error(text)) == "there is no command 'stop'"
