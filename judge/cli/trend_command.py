"""Owns the command on finished nights, which is free: trend."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.terminal import make_console, print_json

Nights = Annotated[Path, typer.Argument(help="Folder of the nights.")]
Engine = Annotated[str | None, typer.Option(help="Show this engine alone.")]
Measure = Annotated[str | None, typer.Option(help="Measure that is shown (default: the one for trends).")]
Html = Annotated[Path | None, typer.Option("--html", help="Write the page there, with all measures.")]


def trend(
    folder: Nights = Path("runs/nights"),
    engine: Engine = None,
    measure: Measure = None,
    json: options.JsonOption = False,
    html: Html = None,
) -> None:
    """Show how engines and judge went, night by night: a line each, alarms and what changed."""
    from judge.nightly import history, trend_page
    from judge.nightly import trend as trends

    found = trends.trend(history.read(folder), engine, measure)
    if json:
        print_json(found)
    else:
        trends.show(found, make_console())
    if html is not None:
        path = trend_page.write(folder, html)
        typer.echo(path, err=json)
