"""Options of commands: how typer reads them, their help, and errors of the arguments.

A command has options of its own, and those that `takes_options` adds from a model in `judge.config`. Help and
errors are messages of the catalogue, in plain text.
"""

import inspect
import re
from collections.abc import Callable, Mapping, Sequence
from difflib import get_close_matches
from functools import cached_property
from inspect import cleandoc
from pathlib import Path
from pkgutil import resolve_name
from types import GenericAlias, NoneType
from typing import Annotated, Any, get_args, get_origin

import typer
from typer.core import TyperCommand, TyperGroup

from judge.characters import count_columns, wrap_lines
from judge.cli.terminal import print_error, t
from judge.config.option_record import GROUPS, Option
from judge.config.toml_file import OptionValues
from judge.errors import InputError
from judge.messages import Message
from judge.messages.recognition import MessageIndex

Command = Callable[..., None]
#: Where the context of a command keeps the values of its options that are fields of a model.
_VALUES = "judge.options"


def make_option(help_text: str, *flags: str, group: str | None = None, **bounds: int) -> Any:  # noqa: ANN401
    """Return an option of typer that help shows in `group`."""
    return typer.Option(*flags, help=help_text, rich_help_panel=group, **bounds)  # type: ignore[arg-type]


RunFolderArgument = Annotated[Path, typer.Argument(help="Run folder.", show_default=False)]
JsonOption = Annotated[bool, make_option("Print everything as JSON.", "--json")]
OpenOption = Annotated[bool, make_option("Open the page in a browser.", "--open")]


def takes_options(
    is_taken: Callable[[str, Option], bool] = lambda _name, _option: True,
    model_path: str = "judge.config.run:Config",
    **instead: Option,
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of a model for which `is_taken` is true.

    The model is imported only when the command runs or shows its help, so that `judge --help` starts fast.
    `instead` replaces options by name. `list_typed_options` returns their values.
    """

    def make_parameters() -> list[Any]:
        """Return the options as parameters of click, made by typer from the signature of a function."""
        from judge.config.option_checks import list_fields, list_options

        model = resolve_name(model_path)
        annotations = {
            name: _annotate(name, instead.get(name, option), list_fields(model)[name].rebuild_annotation())
            for name, option in list_options(model).items()
            if option.place != "file" and is_taken(name, option)
        }

        def command(**_: object) -> None: ...

        command.__annotations__ = annotations
        command.__signature__ = inspect.Signature(  # type: ignore[attr-defined]
            [
                inspect.Parameter(name, inspect.Parameter.KEYWORD_ONLY, default=None, annotation=annotation)
                for name, annotation in annotations.items()
            ]
        )
        app = typer.Typer(add_completion=False)
        app.command()(command)
        return list(typer.main.get_command(app).params)

    def decorate(command: Command) -> Command:
        command.make_parameters = make_parameters  # type: ignore[attr-defined]
        return command

    return decorate


def list_typed_options(context: typer.Context) -> OptionValues:
    """Return the options of the command's model that were typed, by the names of their fields."""
    return dict(context.meta[_VALUES])


def _annotate(name: str, option: Option, field_type: Any) -> Any:  # noqa: ANN401 - types
    help_text = "\n".join(filter(None, (option.help, option.on_command_line)))
    info = (
        typer.Argument(help=help_text)
        if option.place == "argument"
        else make_option(help_text, *option.list_flags(name), group=option.group)
    )
    return Annotated[(option.type or _choose_read_type(field_type)) | None, info]


def _choose_read_type(field_type: Any) -> Any:  # noqa: ANN401 - types
    """Return what typer reads for a field: a list for a tuple of texts and a table, str for a choice."""
    parts = [part for part in get_args(field_type) if part is not NoneType]
    if Path in parts:
        return Path
    if parts and not isinstance(parts[0], str):
        read_type = _choose_read_type(parts[0])  # that of X | None and of an annotated X
        is_list = get_origin(field_type) in (tuple, Mapping)
        return read_type if not is_list else str if read_type is float else GenericAlias(list, read_type)
    return field_type if field_type in (bool, int, float) else str


#: Errors that typer finds in the arguments of a command. Typer has a copy of click, whose class this is.
UsageError: Any = typer.BadParameter.__base__
#: Messages of these errors by typer's own texts. A text that is not here stays.
USAGE_ERRORS: Mapping[str, str] = {
    "Missing command.": "the command is missing",
    "No such command {name}. Did you mean {suggestions}?": (
        "there is no command {name}; did you mean {suggestions}?"
    ),
    "No such command {name}.": "there is no command {name}",
    "No such option: {option} (Possible options: {suggestions})": (
        "there is no option {option}; did you mean {suggestions}?"
    ),
    "No such option: {option}": "there is no option {option}",
    "Missing argument {name}.": "the argument {name} is missing",
    "Missing option {name}.": "the option {name} is missing",
    "Option {name} requires an argument.": "the option {name} needs a value",
    "Option {name} does not take a value.": "the option {name} takes no value",
    "Got unexpected extra argument(s) ({arguments})": "too many arguments: {arguments}",
    "Invalid value for {name}: {reason}": "{name} is invalid: {reason}",
    "Input should be a valid integer, unable to parse string as an integer": "it must be a whole number",
    "Input should be a valid number, unable to parse string as a number": "it must be a number such as 0.5",
    "Input should be greater than or equal to {least}": "it must be at least {least}",
    "Input should be less than or equal to {most}": "it must be at most {most}",
}
_USAGE_INDEX = MessageIndex(USAGE_ERRORS)
#: Longer errors are shortened in the middle, where they quote an argument.
_LONGEST_ERROR = 400
#: What typer says of the value of an option, and what it is called in help.
_TYPE_NAMES = {
    "str": Message("<text>"),
    "int": Message("<integer>"),
    "float": Message("<number>"),
    "path": Message("<path>"),
    "Path": Message("<path>"),
}
_PYTHON_TYPE = re.compile(rf"<(?:list\[)?({'|'.join(_TYPE_NAMES)})(?: range)?\]?>")
#: The widest column of options in help, and the space beside it.
_MAX_COLUMN, _GAP = 30, 2


class GroupedCommand(TyperCommand):
    """A command whose help shows its options in groups; options of a model are made when they are needed."""

    @cached_property
    def _model_options(self) -> list[Any]:
        return list(getattr(self.callback, "make_parameters", list)())

    def get_params(self, ctx: Any) -> list[Any]:  # noqa: ANN401 - as typer has it
        """Return the options and arguments."""
        return [*super().get_params(ctx), *self._model_options]

    def invoke(self, ctx: Any) -> Any:  # noqa: ANN401 - as typer has it
        """Run the command; it gets the options of a model that were typed from `list_typed_options`.

        A signal raises Interrupted.
        """
        from judge.client.cancel import raise_on_signals  # for --help, it need not be imported

        values = {option.name: ctx.params.pop(option.name) for option in self._model_options}
        ctx.meta[_VALUES] = {name: value for name, value in values.items() if value not in (None, [], ())}
        with raise_on_signals():
            return super().invoke(ctx)

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer has it
        """Write the help."""
        _write_help(self, ctx, formatter)


class CommandGroup(TyperGroup):
    """A group of commands, with help as theirs."""

    def format_help(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer has it
        """Write the help, and the list of the commands."""
        _write_help(self, ctx, formatter)
        limit = formatter.width - 6 - max(map(len, self.commands))
        rows = [(name, _summarise(command, limit)) for name, command in self.commands.items()]
        _write_section(formatter, "Commands", rows)


def split_paragraphs(help_text: str | None) -> list[str]:
    """Return the paragraphs of a help text, which are messages of the catalogue."""
    return [" ".join(paragraph.split()) for paragraph in cleandoc(help_text or "").split("\n\n")]


def print_usage_error(error: Any) -> None:  # noqa: ANN401 - typer exports no name for its class
    """Print an error of the arguments on stderr, after the usage of the command."""
    context = error.ctx
    if context and error.message == context.get_help():
        error.show()
        return
    if context:
        usage = context.get_usage().replace("Usage: ", t("Usage: "), 1)
        typer.echo(_translate_usage(usage), err=True)
        typer.echo(t("Try '{command} --help' for help.", command=context.command_path) + "\n", err=True)
    text = error.format_message()
    if len(text) > _LONGEST_ERROR:
        text = f"{text[: _LONGEST_ERROR // 2]}…{text[-_LONGEST_ERROR // 2 :]}"
    cause = error.__cause__  # of pydantic, where typer refuses a value
    refused = [detail["input"] for detail in cause.errors()[:1]] if hasattr(cause, "errors") else []
    print_error(InputError(explain_usage_error(text, refused)))


def explain_usage_error(text: str, refused: Sequence[object] = ()) -> Message:
    """Return the message of an error of typer, an unknown text as it is; `refused` is the value, if known."""
    recognised = _USAGE_INDEX.recognise(text)
    if recognised is None:
        return Message(text)
    values = dict(recognised.values)
    if "reason" in values:
        values["reason"] = explain_usage_error(values["reason"])
        if refused:
            return Message(
                "{key} is {value:.80}; {requirement}",
                key=values["name"].replace("'", "").partition(" / ")[0],
                value=repr(refused[0]),
                requirement=values["reason"],
            )
    if "suggestions" in values:
        # Typer compares the dashes of options, too, so that it suggests --complete for --nope.
        names = {name.strip("-'"): name for name in values["suggestions"].split(", ")}
        close = get_close_matches((values.get("option") or values["name"]).strip("-'"), names, n=1)
        if not close:
            return explain_usage_error(re.split(r" (?:\(Possible|Did you)", text)[0])
        values["suggestions"] = names[close[0]]
    return Message(USAGE_ERRORS[recognised.template], **values)


def _translate_usage(usage: str) -> str:
    """Return the usage of a command with the words that typer puts for options, command and arguments."""
    return usage.replace("[OPTIONS]", t("[OPTIONS]")).replace("COMMAND [ARGS]...", t("COMMAND [ARGS]..."))


def _write_help(command: TyperCommand | TyperGroup, context: Any, formatter: Any) -> None:  # noqa: ANN401
    pieces = _translate_usage(" ".join(command.collect_usage_pieces(context)))
    formatter.write_usage(context.command_path, pieces, t("Usage: "))
    for paragraph in split_paragraphs(command.help):
        formatter.write_paragraph()
        for line in wrap_lines(t(paragraph), formatter.width - _GAP):
            formatter.write(f"{'':{_GAP}}{line}\n")
    sections: dict[str, list[tuple[str, str]]] = {name: [] for name in ("Arguments", *GROUPS, "Options")}
    for param in command.get_params(context):
        if (record := param.get_help_record(context)) is not None:
            is_argument = param.param_type_name == "argument"
            group = "Arguments" if is_argument else getattr(param, "rich_help_panel", "") or "Options"
            name = _PYTHON_TYPE.sub(lambda match: t(_TYPE_NAMES[match[1]]), record[0])
            sections[group].append((name, _translate_help(getattr(param, "help", ""), record[1])))
    # `judge.cli.terminal` takes this option from the arguments before typer reads them.
    language = ("--ui-lang <en|zh>", t("Language of messages (default: that of the locale)."))
    sections["Options"].insert(-1, language)
    for group, rows in sections.items():
        if rows:
            _write_section(formatter, group, rows)


def _write_section(formatter: Any, heading: str, rows: list[tuple[str, str]]) -> None:  # noqa: ANN401
    """Write a heading and two columns. Typer's own function counts a Chinese character as one column."""
    column = min(max(count_columns(name) for name, _ in rows), _MAX_COLUMN)
    formatter.write_paragraph()
    formatter.write(t("{heading}:", heading=t(heading)) + "\n")
    for name, text in rows:
        if count_columns(name) > column:
            formatter.write(f"{'':{_GAP}}{name}\n")
            name = ""
        for line in wrap_lines(text, max(formatter.width - column - 2 * _GAP, 10)):
            space = column + _GAP - count_columns(name)
            formatter.write(f"{'':{_GAP}}{name}{'':{space}}{line}\n")
            name = ""


def _translate_help(help_text: str, line: str) -> str:
    """Return the help of an option with what typer adds to it, e.g. `[default: me]`."""
    added = line.removeprefix(help_text)
    added = re.sub(r"\[default: ", f"[{t('default: ')}", re.sub(r"\brequired\]$", f"{t('required')}]", added))
    added = re.sub(r"(\d+)<=x<=(\d+)", lambda ends: t("{low} to {high}", low=ends[1], high=ends[2]), added)
    added = re.sub(r"x>=(\d+)", lambda end: t("{least} or more", least=end[1]), added).replace("; ", t("; "))
    between = "" if t.language == "zh" else " "
    return between.join(map(t, help_text.split("\n"))) + added


def _summarise(command: Any, limit: int) -> str:  # noqa: ANN401
    if t.language == "en":
        return str(command.get_short_help_str(limit))
    return t(split_paragraphs(command.help)[0]).partition("。")[0] + "。"
