"""Owns the commands of the nights: nightly, and baseline set and show."""

from __future__ import annotations

import sys
from collections.abc import Mapping
from datetime import date
from pathlib import Path
from typing import Annotated, Any

import typer

from judge.cli import options
from judge.cli.output_streams import print_command
from judge.cli.terminal import print_json, watch
from judge.config.nightly import NIGHTS_FOLDER
from judge.dataset.clean import escape_controls

Toml = Annotated[
    Path, typer.Argument(help="TOML file: the options of a run, [collect], [nightly].", show_default=False)
]
Day = Annotated[
    str | None, typer.Option("--date", help="Day of the night, e.g. 2026-05-01 (default: today).")
]
Schedule = Annotated[
    str | None,
    typer.Option("--print-schedule", help="Print what runs it every night: cron, systemd or github."),
]
Nights = Annotated[Path, typer.Option("--folder", help="Folder of the nights.")]
NightsOfRun = Annotated[
    Path | None,
    typer.Option(
        "--folder", help=f"Folder of the nights (default: the one that RUN is in, else {NIGHTS_FOLDER})."
    ),
]

baseline = typer.Typer(
    name="baseline",
    help="Freeze a run that every night is held against, or say which one it is.",
    no_args_is_help=True,
)


def nightly(toml: Toml = Path("judge.toml"), day: Day = None, schedule: Schedule = None) -> None:
    """Run one night: collect, judge, compare with the baseline, notify. The same command again resumes.

    Exits with 0 when all is fine, 1 when an engine became worse, 3 when nothing can be said of engines.
    """
    from judge.assess.signals import raising
    from judge.cli.progress import CANARIES
    from judge.nightly import flow

    if schedule is not None:
        from judge.nightly.schedules import schedule as schedule_of

        typer.echo(schedule_of(schedule, toml), nl=False)
        return
    with raising():
        today = date.today().isoformat()
        told = flow.nightly(toml, today if day is None else day, watch(), watch(CANARIES))
    for line in told.lines:
        print_command(line)
    sys.exit(told.record["exit"])


@baseline.command("set")
def set_(run: options.RunFolder, folder: NightsOfRun = None) -> None:
    """Make a run the baseline: what is needed of it is copied, so the run may go."""
    from judge.nightly import flow

    folder = folder or flow.nights_of(run)
    said = flow.set_baseline(run, folder)
    about = escape_controls(f"{run} ({said['queries']:,} queries, {said['assessor']})")
    typer.echo(f"baseline of {folder}: {about}")
    if not said["canaries"]:
        typer.echo(
            "it has no canaries, so a judge that drifts is known by its name alone; better set a night"
        )


@baseline.command()
def show(folder: Nights = Path(NIGHTS_FOLDER), json: options.Json = False) -> None:
    """Say which run is the baseline."""
    from judge.nightly import flow

    said = flow.shown_baseline(folder)
    if json:
        print_json(said)
    else:
        typer.echo(escape_controls(f"{_described(said)}, kept as {said['id']}"))


def _described(said: Mapping[str, Any]) -> str:
    return f"{said['name']} ({said['queries']:,} queries, {said['assessor']})"
