"""The language of messages: --ui-lang, else the locale."""

from __future__ import annotations

from pathlib import Path

import pytest

from judge.cli.language import apply_language_option, language_of_locale, ui_translator
from judge.errors import InputError
from tests.support.command_line import command


@pytest.mark.parametrize(
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
    with language_of_locale(environ):
        assert ui_translator().language == language
    assert ui_translator().language == "en"


@pytest.mark.parametrize(
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
    with language_of_locale({}):
        assert apply_language_option(arguments.split()) == others.split()
        assert ui_translator().language == language


def test_the_option_overrides_the_locale() -> None:
    with language_of_locale({"LANG": "zh_CN.UTF-8"}):
        apply_language_option(["--ui-lang", "en"])
        assert ui_translator().language == "en"


@pytest.mark.parametrize(
    ("arguments", "value"), [("--ui-lang fr demo", "'fr'"), ("demo --ui-lang", "''"), ("--ui-lang=", "''")]
)
def test_an_unknown_language_is_a_mistake_in_the_arguments(arguments: str, value: str) -> None:
    with language_of_locale({}), pytest.raises(InputError, match=f"^--ui-lang is {value}; it is en or zh$"):
        apply_language_option(arguments.split())


def test_commands_take_the_option(tmp_path: Path) -> None:
    done = command("--ui-lang", "xx", "measures")
    assert (done.returncode, done.stdout) == (2, "")
    assert done.stderr == "judge: --ui-lang is 'xx'; it is en or zh\n"
    assert command("report", tmp_path / "none", "--ui-lang", "en").returncode == 2
    for words in ((), ("run",), ("baseline",), ("baseline", "set")):
        assert "--ui-lang <en|zh>" in command(*words, "--help").stdout
