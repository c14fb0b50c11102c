"""The command `judge trend`: finished nights, read from their files without a call."""

from __future__ import annotations

from pathlib import Path
from typing import Annotated

import typer

from judge.cli import options
from judge.cli.language import ui_translator
from judge.cli.terminal import make_console, print_json
from judge.config.loader import NIGHTS_FOLDER

Nights = Annotated[Path, typer.Argument(help="Folder of the nights.")]
Engine = Annotated[str | None, typer.Option(help="Show only this engine.")]
Measure = Annotated[str | None, typer.Option(help="Measure to show (default: sDCG, where nights have it).")]
Html = Annotated[Path | None, typer.Option("--html", help="Write the page with all measures to this file.")]


def trend(
    folder: Nights = Path(NIGHTS_FOLDER),
    engine: Engine = None,
    measure: Measure = None,
    json: options.JsonOption = False,
    html: Html = None,
) -> None:
    """Show engines and assessor night by night: values, alarms and changes."""
    from judge.cli.render.trend_table import print_trend
    from judge.nightly.trend import make_trend, read_history, trend_to_json
    from judge.nightly.trend_page import write_trend_page

    result = make_trend(read_history(folder), engine, measure)
    if json:
        print_json(trend_to_json(result))
    else:
        print_trend(result, make_console(), ui_translator())
    if html is not None:
        typer.echo(write_trend_page(folder, html), err=json)
