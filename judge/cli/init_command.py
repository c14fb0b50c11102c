"""The command `judge init`: write a judge.toml with every option of a run, its default and what it does.

The texts are those of the help of `judge run` and `judge collect`.
"""

from __future__ import annotations

import inspect
import json
import shlex
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Annotated, Any, NamedTuple

import typer

from judge.characters import escape_controls
from judge.cli import collect_command, options, run_commands
from judge.cli.help import split_lines
from judge.cli.options import make_option
from judge.cli.output_streams import print_command
from judge.cli.terminal import ui_translator
from judge.config.loader import name_keys
from judge.errors import InputError
from judge.messages import Message, Translator

_WIDTH = 98
#: Lines that the user changes first, so they are no comments.
_SET = {"data": '"results.jsonl"', "model": '"openai:NAME"'}
#: Values of options without a default, as TOML has them.
_EXAMPLES = {
    "topics": '"topics.tsv"',
    "docs": '"docs.jsonl"',
    "trec_runs": '["bm25.run", "dense.run"]',
    "columns": '{ snippet = "text", query = "q" }',
    "panel": '["dashscope:NAME"]',
    "base_url": '"http://localhost:8000/v1"',
    "relevant_from": "2",
    "rerank_thresholds": "[0.2, 0.5, 0.8]",
    "as_of": '"2026-05-01"',
    "top_p": "0.9",
    "seed": "1",
    "qrels": '"labels.csv"',
    "check": "50",
    "prompts": '"my-prompts"',
    "budget": "5.0",
    "max_calls": "20000",
    "price": "[0.4, 1.2]",
    "ray_address": '"127.0.0.1:6379"',
    "prices": '"prices.toml"',
    "out": '"runs/tonight"',
    "store": '"runs/verdicts.sqlite"',
}
#: Options of a run that are no options of the command line, with their groups.
_FILE_ONLY = {
    "panel": ("Assessor", Message("Further models that judge the same pairs: a panel.")),
    "max_chars": ("Assessor", Message("Characters of a snippet that a prompt shows.")),
    "shutdown_timeout": ("Calls and cost", Message("Seconds that calls under way get after Ctrl-C.")),
}
_COLLECT = {
    "queries": '"queries.tsv"',
    "engine": '["searxng", "brave"]',
    "out": '"data.jsonl"',
    "depth": "10",
    "lang": '"zh-CN"',
    "country": '"cn"',
    "rate": "1",
}
_NIGHTLY = {
    "folder": ('"runs/nights"', Message("Folder of the nights.")),
    "min_drop": ("0.005", Message("Smaller drops of a measure are ignored.")),
    "alpha": ("0.01", Message("Probability of a false alarm on a night without a change.")),
    "canary_repeats": ("3", Message("How often each of the 64 canaries is judged; 0 turns them off.")),
    "judge_on_drift": (
        '"stop"',
        Message("When the assessor has changed: stop judges nothing more; all judges the whole night."),
    ),
    "webhook": (
        '{ kind = "slack", url_env = "JUDGE_WEBHOOK" }',
        Message("Where to send a notice; url_env names the variable with the address."),
    ),
}

_Out = Annotated[Path, make_option("TOML file to write; it must not exist.")]


class _Option(NamedTuple):
    """An option with its group in the help and its text there."""

    group: str
    text: str


def init(out: _Out = Path("judge.toml")) -> None:
    """Write a configuration file with every option of a run, its default and what it does."""
    t = ui_translator()
    text = "".join(f"{line}\n" for line in _make_lines(t))
    try:
        with out.open("x", encoding="utf-8", newline="\n") as file:
            file.write(text)
    except FileExistsError:
        raise InputError(
            "{file} exists and stays as it is; remove it, or name another --out", file=out
        ) from None
    except FileNotFoundError:
        raise InputError("{file}: its folder does not exist; make it first", file=out) from None
    typer.echo(escape_controls(t("{file} is written; set data and model in it, then:", file=out)))
    print_command(f"  judge run --config {shlex.quote(str(out))}")


def _make_lines(t: Translator) -> Iterator[str]:
    yield from _comment(
        t(
            "Options of judge. A line in a comment shows the default of an option, or an example where it has"
            " none; remove the # to set it. The command line takes precedence over this file."
        )
    )
    for group, rows in _run_options().items():
        yield from ("", f"# --- {t(group)}")
        for key, text in rows:
            yield from ("", *_comment(name_keys(t(text), {})), _value_line(key, t))
    yield from ("", f"# --- {t('For judge collect and judge nightly')}", "")
    yield from _comment(t("judge nightly takes its results from data or from [collect]: remove one of them."))
    yield "# [collect]"
    collect = _read_options(collect_command.collect)
    for key, value in _COLLECT.items():
        yield from (*_comment(name_keys(t(collect[key].text), {})), f"# {key} = {value}")
    yield from ("", f"# --- {t('For judge nightly')}", "", "# [nightly]")
    for key, (value, text) in _NIGHTLY.items():
        yield from (*_comment(t(text)), f"# {key} = {value}")


def _comment(text: str) -> Iterator[str]:
    return (f"## {line}" for line in split_lines(text, _WIDTH))


def _run_options() -> dict[str, list[tuple[str, str]]]:
    """Return the keys of a run with their texts, in the groups of the help."""
    from judge.config.run import Config

    run_options = _read_options(run_commands.run)
    run_options["model"] = _read_option(options.ModelOption)
    run_options |= {key: _Option(*option) for key, option in _FILE_ONLY.items()}
    groups: dict[str, list[tuple[str, str]]] = {}
    for key in Config.option_names():
        option = run_options[key]
        groups.setdefault(option.group or "Input", []).append((key, option.text))
    return groups


def _value_line(key: str, t: Translator) -> str:
    from judge.config.option_checks import fields_of
    from judge.config.run import MAX_TOKENS, Config
    from judge.measure.measures import DEFAULT_MEASURES

    if key in _SET:
        return f"{key} = {_SET[key]}"
    if key in _EXAMPLES:
        return f"# {key} = {_EXAMPLES[key]}   # {t('example')}"
    defaults = {"max_tokens": MAX_TOKENS, "measures": list(DEFAULT_MEASURES)}
    return f"# {key} = {json.dumps(defaults.get(key, fields_of(Config)[key].default))}"


def _read_options(command: Callable[..., None]) -> dict[str, _Option]:
    """Return the options and arguments of a command by name."""
    parameters = inspect.signature(command, eval_str=True).parameters.values()
    return {
        each.name: _read_option(each.annotation)
        for each in parameters
        if hasattr(each.annotation, "__metadata__")
    }


def _read_option(annotation: Any) -> _Option:  # noqa: ANN401 - an annotation
    option = annotation.__metadata__[0]
    return _Option(option.rich_help_panel or "", option.help)
