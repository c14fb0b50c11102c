"""The command `judge init`: write a judge.toml with every option of a run, its default and what it does.

The texts are those of help.
"""

from __future__ import annotations

import json
import shlex
from collections.abc import Iterator
from pathlib import Path
from typing import Annotated, Any

from judge.characters import split_lines
from judge.cli.options import make_option
from judge.cli.terminal import get_ui_translator, print_command, print_message
from judge.config import NIGHTS, Option
from judge.config.loader import name_keys
from judge.errors import InputError
from judge.messages import Translator

_WIDTH = 98
#: Options that the user sets first, so they are not comments.
_SET = frozenset({"data", "model"})

_Out = Annotated[Path, make_option("TOML file to write; it must not exist.")]


def init(out: _Out = Path("judge.toml")) -> None:
    """Write a configuration file with all options of a run. It says what each does, and its default."""
    text = "".join(f"{line}\n" for line in _make_lines(get_ui_translator()))
    try:
        with out.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            "{file} exists and is unchanged; remove it, or name another --out", file=out
        ) from None
    except FileNotFoundError:
        raise InputError("{file}: its folder does not exist; make it first", file=out) from None
    print_message("{file} is written; set data and model in it, then:", file=out)
    print_command(f"  judge run --config {shlex.quote(str(out))}")


def _make_lines(t: Translator) -> Iterator[str]:
    from judge.config.collect import CollectConfig
    from judge.config.nightly import NightlyConfig
    from judge.config.option_checks import list_options
    from judge.config.run import Config

    yield from _format_comment(
        t(
            "Options of judge. A line in a comment shows the default of an option, or an example where it has"
            " none; remove the # to set it. The command line takes precedence over this file."
        )
    )
    options = list_options(Config)
    for group in dict.fromkeys(option.group for option in options.values()):
        yield from ("", f"# --- {t(group)}")
        for name, option in options.items():
            if option.group == group:
                yield from ("", *_format_option(Config, name, option, t))
    yield from ("", f"# --- {t('For judge collect and judge nightly')}", "")
    yield from _format_comment(
        t("judge nightly takes its results from data or from [collect]: remove one of them.")
    )
    yield from ("# [collect]", *_format_table(CollectConfig, t))
    yield from ("", f"# --- {t(NIGHTS)}", "", "# [nightly]", *_format_table(NightlyConfig, t))


def _format_comment(text: str) -> Iterator[str]:
    return (f"## {line}" for line in split_lines(text, _WIDTH))


def _format_table(model: type[Any], t: Translator) -> Iterator[str]:
    from judge.config.option_checks import list_options

    for name, option in list_options(model).items():
        yield from _format_option(model, name, option, t)


def _format_option(model: type[Any], name: str, option: Option, t: Translator) -> Iterator[str]:
    """Yield the text of an option, and a line with its default or an example."""
    from judge.config.option_checks import list_fields
    from judge.config.run import MAX_TOKENS
    from judge.measure.measures import DEFAULT_MEASURES

    yield from _format_comment(name_keys(t(option.help), {}))
    field = list_fields(model)[name]
    if name in _SET:
        yield f"{name} = {option.example}"
    elif option.example:
        yield f"# {field.title or name} = {option.example}   # {t('example')}"
    else:
        defaults = {"max_tokens": MAX_TOKENS, "measures": list(DEFAULT_MEASURES)}
        yield f"# {name} = {json.dumps(defaults.get(name, field.default))}"
