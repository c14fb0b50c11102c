"""The help of a command: its options under the headings of their groups, in plain text."""

from __future__ import annotations

from typing import Any

from typer.core import TyperCommand, TyperGroup

#: The line of --ui-lang, which `judge.cli.language` takes from the arguments before typer reads them.
_LANGUAGE_RECORD = ("--ui-lang <en|zh>", "Language of messages (default: that of the locale).")


class GroupedCommand(TyperCommand):
    """A command whose help shows its options in groups."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer has it
        """Write the arguments, then the options group by group; options without a group come last."""
        _write_options(self, ctx, formatter)


class CommandGroup(TyperGroup):
    """A group of commands with help as that of its commands."""

    def format_options(self, ctx: Any, formatter: Any) -> None:  # noqa: ANN401 - as typer has it
        """Write the options, then the commands."""
        _write_options(self, ctx, formatter)
        self.format_commands(ctx, formatter)


def _write_options(command: TyperCommand | TyperGroup, ctx: Any, formatter: Any) -> None:  # noqa: ANN401
    sections: dict[str, list[tuple[str, str]]] = {"Arguments": []}
    for param in sorted(command.get_params(ctx), key=lambda param: not getattr(param, "rich_help_panel", "")):
        record = param.get_help_record(ctx)
        if record is not None:
            is_argument = param.param_type_name == "argument"
            group = "Arguments" if is_argument else getattr(param, "rich_help_panel", "") or "Options"
            sections.setdefault(group, []).append(record)
    sections.setdefault("Options", []).insert(-1, _LANGUAGE_RECORD)
    for group, records in sections.items():
        if records:
            with formatter.section(group):
                formatter.write_dl(records)
