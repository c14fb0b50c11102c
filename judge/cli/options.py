"""Options of commands: those that are fields of a model in `judge.config`, and those that commands share."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import partial
from pathlib import Path
from types import NoneType
from typing import Annotated, Any, get_args, get_origin

import typer

from judge.config import FILES, Option

Command = Callable[..., None]
#: Where the context of a command keeps the values of its options that are fields of a model.
_VALUES = "judge.options"


def make_option(help_text: str, *flags: str, group: str | None = None, **bounds: int) -> Any:  # noqa: ANN401
    """Return an option of typer that help shows in `group`."""
    return typer.Option(*flags, help=help_text, rich_help_panel=group, **bounds)  # type: ignore[arg-type]


RunFolderArgument = Annotated[Path, typer.Argument(help="Run folder.", show_default=False)]
JsonOption = Annotated[bool, make_option("Print everything as JSON.", "--json")]
ConfigOption = Annotated[
    Path | None,
    make_option("TOML file with options; the command line overrides it.", "--config", group=FILES),
]


def load_run_options() -> type[Any]:
    """Return the model of the options of a run."""
    from judge.config.run import Config

    return Config


def takes_options(
    load_model: Callable[[], type[Any]],
    is_taken: Callable[[str, Option], bool] = lambda _name, _option: True,
    **instead: Option,
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of a model for which `is_taken` is true.

    `load_model` imports the model only when the command runs or shows its help, so that `judge --help` starts
    fast. `instead` replaces options by name. `typed_options` returns their values.
    """

    def decorate(command: Command) -> Command:
        command.make_parameters = partial(_make_parameters, load_model, is_taken, instead)  # type: ignore[attr-defined]
        return command

    return decorate


def separate_options(context: typer.Context, parameters: list[Any]) -> None:
    """Take the values of `parameters` that were typed out of the context's own, for `typed_options`."""
    values = {parameter.name: context.params.pop(parameter.name) for parameter in parameters}
    context.meta[_VALUES] = {
        name: value for name, value in values.items() if value is not None and value not in ([], ())
    }


def typed_options(context: typer.Context) -> dict[str, Any]:
    """Return the options of the command's model that were typed, by the names of their fields."""
    return dict(context.meta[_VALUES])


def _make_parameters(
    load_model: Callable[[], type[Any]], is_taken: Callable[[str, Option], bool], instead: dict[str, Option]
) -> list[Any]:
    """Return options of a model as parameters of click, made by typer from the signature of a function."""
    from judge.config.option_checks import fields_of, options_of

    model = load_model()
    annotations = {
        name: _annotate(name, instead.get(name, option), fields_of(model)[name].annotation)
        for name, option in options_of(model).items()
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


def _annotate(name: str, option: Option, field_type: Any) -> Any:  # noqa: ANN401 - types
    """Return the annotation from which typer makes an option."""
    flags = option.flags or (f"--{name.replace('_', '-')}",)
    info = (
        typer.Argument(help=option.help)
        if option.place == "argument"
        else make_option(option.help, *flags, group=option.group)
    )
    return Annotated[(option.type or _type_to_read(field_type)) | None, info]


def _type_to_read(field_type: Any) -> Any:  # noqa: ANN401 - types
    """Return what typer reads for a field: list[str] for a tuple of texts, str for a choice."""
    parts = [part for part in get_args(field_type) if part is not NoneType]
    if get_origin(field_type) is tuple:
        return list[str]
    if parts and not isinstance(parts[0], str):
        return _type_to_read(parts[0])  # that of X | None and of an annotated X
    return field_type if field_type in (bool, int, float) else str
