"""The commands that make runs and datasets, and `judge init`, which writes their options.

The former are `judge demo`, `run`, `estimate`, `selftest`, `sidebyside` and `collect`.
"""

from __future__ import annotations

import json
import shlex
import sys
from collections.abc import Iterator
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any

import typer

from judge.characters import wrap_lines
from judge.cli.options import RunFolderArgument, list_typed_options, make_option, takes_options
from judge.cli.terminal import (
    make_progress_listener,
    parse_measure_names,
    print_command,
    print_error,
    print_message,
    print_wrapped,
    t,
)
from judge.config.option_record import ASSESSOR, FILES, INPUT, NIGHTS, Option
from judge.config.toml_file import OptionValues
from judge.errors import InputError
from judge.messages import Message, SeparatedNames
from judge.models.providers import FORMS, TEXT_FORMS
from judge.records import LEXICAL

if TYPE_CHECKING:
    from judge.collect.raw_log import EngineTally
    from judge.config.run import Config
    from judge.config.toml_file import ConfigSource

_SELFTEST_REPEATS = Option(help="Judge the probes N times; the last time counts.", group=ASSESSOR)
_SELFTEST_OUT = Option(
    help="Run folder; the result is written beside it, and the runs there show it (runs/…).", group=FILES
)
_PANEL = Option(
    help=f"{FORMS}; repeat for a panel (NAME@URL: a model with its own server).",
    group=ASSESSOR,
    flags=("--model", "-m"),
    type=list[str],
)
#: Several are refused, as a panel in a TOML file is; of an option of one value, the last one would count.
_TESTED_MODEL = Option(
    help=f"{TEXT_FORMS} or lexical.", group=ASSESSOR, flags=("--model", "-m"), type=list[str]
)
_TEXT_MODEL = Option(help=f"{TEXT_FORMS}.", group=ASSESSOR, flags=("--model", "-m"), type=list[str])
#: The exit code of a result that is incomplete.
_INCOMPLETE = 3
#: Options of grades, which have no meaning for a question about whole lists.
_GRADING_OPTIONS = frozenset({"scale", "lang", "repeats", "examples", "out"})
#: Options that the user of a new TOML file sets first, so they are not comments.
_SET_FIRST = frozenset({"data", "model"})
_COMMENT_WIDTH = 98
_ConfigOption = Annotated[
    Path | None,
    make_option("TOML file with options; the command line overrides it.", "--config", group=FILES),
]
_CollectConfigOption = Annotated[
    Path | None,
    make_option("TOML file with a table [collect]; the command line overrides it.", "--config", group=FILES),
]


@takes_options(lambda name, _: name == "out")
def demo(context: typer.Context) -> None:
    """Judge a shipped bilingual example, without a key or a network."""
    from judge import example

    dataset = example.find_dataset()
    _judge({"data": [dataset], "model": LEXICAL, "out": "runs/demo", **list_typed_options(context)}, None)
    print_wrapped(
        "\n"
        + t(
            "The lexical model only counts overlapping terms. To judge with a language model, set"
            " OPENAI_API_KEY (or add --base-url for your server), then:"
        )
        + f"\n  judge run {shlex.quote(str(dataset))} -m openai:NAME"
    )


def init(
    out: Annotated[Path, make_option("TOML file to write; it must not exist.")] = Path("judge.toml"),
) -> None:
    """Write a configuration file with all options of a run. It says what each does, and its default."""
    if out.is_dir():
        raise InputError("{file}: is a folder; name a file", file=out)
    text = "".join(f"{line}\n" for line in _iter_toml_lines())
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


def _iter_toml_lines() -> Iterator[str]:
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
                yield from ("", *_format_option(Config, name, option))
    yield from ("", f"# --- {t('For judge collect and judge nightly')}", "")
    yield from _format_comment(
        t("judge nightly takes its results from data or from [collect]: remove one of them.")
    )
    # With the table in its name, a key that becomes no comment any more is never one of a run.
    for name, option in list_options(CollectConfig).items():
        yield from _format_option(CollectConfig, name, option, table="collect.")
    yield from ("", f"# --- {t(NIGHTS)}", "")
    for name, option in list_options(NightlyConfig).items():
        yield from _format_option(NightlyConfig, name, option, table="nightly.")


def _format_comment(text: str) -> Iterator[str]:
    return (f"## {line}" for line in wrap_lines(text, _COMMENT_WIDTH))


def _format_option(model: type[Any], name: str, option: Option, *, table: str = "") -> Iterator[str]:
    """Yield the text of an option, and a line with its default or an example."""
    from judge.config.option_checks import list_fields, list_options, list_spellings
    from judge.config.run import MAX_TOKENS
    from judge.config.toml_file import name_keys
    from judge.measure.measures import DEFAULT_MEASURES

    spellings = list_spellings(model, list_options(model))
    yield from _format_comment(t.replace_edit(partial(name_keys, spellings=spellings))(option.help))
    field = list_fields(model)[name]
    if name in _SET_FIRST:
        yield f"{name} = {option.example}"
    elif option.example:
        yield f"# {table}{field.title or name} = {option.example}   # {t('example')}"
    else:
        defaults = {"max_tokens": MAX_TOKENS, "measures": list(DEFAULT_MEASURES)}
        yield f"# {table}{name} = {json.dumps(defaults.get(name, field.default))}"


@takes_options(model=_PANEL)
def run(context: typer.Context, toml: _ConfigOption = None) -> None:
    """Judge a dataset, score every engine and write a run folder. To resume, run the same command again."""
    _judge(list_typed_options(context), toml)


@takes_options(model=_PANEL)
def estimate(context: typer.Context, toml: _ConfigOption = None) -> None:
    """Estimate the calls and the cost of a run, without a call."""
    from judge import pipeline
    from judge.cli.render.assessor_tables import describe_estimate
    from judge.cli.render.tables import print_parts

    print_parts(describe_estimate(pipeline.estimate(_to_config(list_typed_options(context), toml))))


def _judge(typed: OptionValues, toml: Path | None) -> None:
    from judge import pipeline
    from judge.cli.render import run_tables
    from judge.cli.render.tables import print_parts

    config = _to_config(typed, toml)
    printed: list[str] = []

    def warn(warning: str) -> None:
        printed.append(warning)
        print_parts([t(warning)])

    result = pipeline.run(config, progress=make_progress_listener(), warn=warn)
    if result.incomplete:
        print_error(result.incomplete)
    # Tables of a run that stopped before its first grade are empty.
    if result.incomplete is None or run_tables.has_grades(result):
        parts = run_tables.iter_run_parts(
            result,
            printed=printed,
            is_explained=result.incomplete is not None,
            min_coverage=config.min_coverage,
        )
        print_parts(parts)
    if result.incomplete:
        sys.exit(_INCOMPLETE)


def _to_config(typed: OptionValues, toml: Path | None) -> Config:
    """Return the options of a run from those that were typed and a TOML file; raise InputError if invalid."""
    from judge.config.run import Config

    models = typed.pop("model", ())
    models = [models] if isinstance(models, str) else models
    typed["model"], typed["panel"] = (models[0], models[1:]) if models else (None, None)
    data = typed.pop("data", [])
    if trec_runs := typed.get("trec_runs"):  # further files of --run
        typed["trec_runs"] = [str(path) for path in (*trec_runs, *data)]
    elif len(data) > 1:
        raise InputError(
            "{count} datasets were given, the second one is {second}; a run has one: omit it, or put all"
            " rows into one file",
            count=len(data),
            second=data[1],
        )
    elif data:
        typed["data"] = str(data[0])
    typed["measures"] = parse_measure_names(typed.get("measures"))
    return Config.load(toml, **typed)


@takes_options(
    lambda _, option: option.group != INPUT and not option.for_datasets,
    model=_TESTED_MODEL,
    repeats=_SELFTEST_REPEATS,
    out=_SELFTEST_OUT,
)
def selftest(context: typer.Context, toml: _ConfigOption = None) -> None:
    """Test an assessor on shipped probes.

    They cover prompt injection, strictness and format. Runs of the assessor show the result.
    """
    from judge.cli.render import assessor_tables
    from judge.cli.render.tables import print_parts
    from judge.config.toml_file import read_toml
    from judge.selftest.selftest_run import check_testable, count_selftest_judgments, run_selftest

    typed = list_typed_options(context)
    # Before other options are checked: a reranker has some that it needs.
    in_file = read_toml(toml).get("model", "") if toml else ""
    for model in typed.get("model", [in_file]):
        check_testable(str(model))
    config = _to_config(typed, toml)
    print_parts([assessor_tables.describe_plan(*count_selftest_judgments(config))])
    result = run_selftest(config, make_progress_listener(), t)
    print_parts(assessor_tables.iter_selftest_parts(result))
    if result.incomplete:
        raise result.incomplete


@takes_options(
    lambda name, option: option.group != INPUT and not option.for_datasets and name not in _GRADING_OPTIONS,
    model=_TEXT_MODEL,
)
def sidebyside(
    context: typer.Context,
    run: RunFolderArgument,
    a: Annotated[str, typer.Argument(help="Engine.", show_default=False)],
    b: Annotated[str, typer.Argument(help="Another engine.", show_default=False)],
    toml: _ConfigOption = None,
) -> None:
    """Ask a model which of two engines' whole lists is better.

    The model is asked query by query and in both orders.

    If neither -m nor --config names a model, the first model of the run is asked; --base-url is never taken
    from the run. The result is added to the run's files.
    """
    from judge import list_comparison
    from judge.cli.render import assessor_tables, run_tables
    from judge.cli.render.tables import print_parts

    config = list_comparison.add_model(_to_config(list_typed_options(context), toml), run)
    estimate = list_comparison.estimate_comparison(config, run, a, b)
    print_parts([assessor_tables.describe_questions("sidebyside", estimate)])
    summary = list_comparison.add_comparison(config, run, a, b, make_progress_listener())
    print_parts(run_tables.iter_dimension_parts(Message("sidebyside"), summary, (a, b)))


@takes_options(model_path="judge.config.collect:CollectConfig")
def collect(context: typer.Context, toml: _CollectConfigOption = None) -> None:
    """Query search engines and write their results as a dataset. To resume, run the same command again."""
    from judge.cli.progress_display import COLLECTING
    from judge.collect import collection
    from judge.config.collect import CollectConfig
    from judge.report.display_text import format_new_call_count

    config = CollectConfig.load(toml, **list_typed_options(context))
    result = collection.collect(config, progress=make_progress_listener(COLLECTING))
    for name, tally in result.engines.items():
        print_message("{name}: {value}", name=name, value=_describe_tally(tally, config.source))
    for remark in (*result.remarks, *result.short_lists.values()):
        print_message(remark)
    calls = format_new_call_count(t, result.calls_made)
    print_message("{calls}; raw answers: {file}", calls=calls, file=result.raw_log)
    words = shlex.quote(str(result.data))
    print_message("dataset: {file} (judge run {words} -m MODEL)", file=result.data, words=words)
    if result.incomplete:
        raise result.incomplete


def _describe_tally(tally: EngineTally, source: ConfigSource) -> str:
    total = tally.answered + tally.failed
    parts = [t("answered {answered:,} of {asked:,}", answered=tally.answered, asked=total)]
    if tally.empty:
        parts[0] += t(", {empty:,} of them without results", empty=tally.empty)
    if tally.short:
        parts[0] += t(", {short:,} with fewer than {depth:,} results", short=tally.short, depth=tally.depth)
    if tally.no_snippet:
        parts.append(
            t.translate_plural(
                "{count:,} of {results:,} results has no text except its title (looked for in {names})",
                "{count:,} of {results:,} results have no text except their title (looked for in {names})",
                tally.no_snippet,
                results=tally.results,
                names=SeparatedNames(map(repr, tally.snippet_fields)),
            )
        )
    for reason, count in [*tally.errors.items()][:1]:
        share = "" if count == tally.failed else t(", {count:,} of them", count=count)
        why = source.name_keys_in(Message(reason))
        parts.append(t("failed on {failed:,}{share}: {reason}", failed=tally.failed, share=share, reason=why))
    return t("; ").join(parts)
