"""The commands of the nights: `judge nightly`, `judge baseline set`, `judge baseline show`, `judge trend`."""

import sys
from contextlib import suppress
from datetime import date
from pathlib import Path
from typing import Annotated

import typer

from judge.cli.options import CommandGroup, GroupedCommand, JsonOption, RunFolderArgument, make_option
from judge.cli.terminal import (
    make_progress_listener,
    print_command,
    print_json,
    print_message,
    print_wrapped,
    t,
)
from judge.config.option_record import NIGHTS_FOLDER
from judge.errors import InputError
from judge.messages import ENGLISH

baseline = typer.Typer(
    name="baseline",
    cls=CommandGroup,
    help="Set the run with which every night is compared, or show it.",
    no_args_is_help=True,
)


def nightly(
    toml: Annotated[
        Path | None,
        typer.Argument(
            help="TOML file: the options of a run, [collect], [nightly] (default: judge.toml).",
            show_default=False,
        ),
    ] = None,
    day: Annotated[
        str | None,
        make_option(
            "Day of the night, e.g. 2026-05-01 (default: today, by the clock of this machine).", "--date"
        ),
    ] = None,
    schedule: Annotated[
        str | None,
        make_option(
            "Print a schedule that runs the job every night: cron, systemd or github.", "--print-schedule"
        ),
    ] = None,
) -> None:
    """Run the nightly job. It collects, judges, compares with the baseline and notifies.

    To resume a night, run the same command again with its --date.

    Exit code 0: no regression; 1: an engine became worse; 3: the night is incomplete or cannot be compared.
    """
    from judge.cli.progress_display import CANARIES
    from judge.nightly import job

    options = toml or Path("judge.toml")
    if schedule is not None:
        from judge.nightly.schedules import make_schedule

        typer.echo(make_schedule(schedule, options, t), nl=False)
        return
    if toml is None:
        typer.echo(t("no file is named, so this night has the options in {file}", file=options), err=True)
    night = job.run_nightly(
        options,
        date.today().isoformat() if day is None else day,
        make_progress_listener(),
        make_progress_listener(CANARIES),
        t,
    )
    for line in night.lines:
        print_wrapped(line)
    for command in night.commands:
        print_command(command)
    sys.exit(night.record.exit)


@baseline.command("set", cls=GroupedCommand)
def set_(
    run: RunFolderArgument,
    folder: Annotated[
        Path | None,
        make_option(f"Folder of the nights (default: that of RUN, else {NIGHTS_FOLDER}).", "--folder"),
    ] = None,
) -> None:
    """Make a run the baseline. The files that are needed are copied, so the run may be deleted."""
    from judge.nightly import job, stores
    from judge.nightly.baseline import find_nights_folder, read_pointer
    from judge.nightly.trend import read_last_judged_night
    from judge.report.display_text import format_query_count

    folder = folder or find_nights_folder(run)
    earlier = None
    with suppress(InputError):  # a damaged one is replaced, too
        earlier = read_pointer(folder)
    pointer = job.set_baseline(run, folder)
    print_message(
        "baseline of {folder}: {run} ({queries}, {pointer.assessor})",
        folder=folder,
        run=run,
        queries=format_query_count(t, pointer.queries),
        pointer=pointer,
    )
    if earlier and earlier.id != pointer.id:
        print_message("it replaces the baseline {name}", name=earlier.name)
    last = read_last_judged_night(folder)
    if not (last or earlier):
        print_message(
            "{folder} has no night yet; if the nights are in another folder, name it with --folder",
            folder=folder,
        )
    if last and last.assessor != pointer.assessor:
        print_message(
            "the last night, {night.date}, was judged by {night.assessor}; if the next one is, too, its"
            " status is assessor drift: choose the assessor of the baseline in the TOML file of the nights,"
            " or set a run of the other one",
            night=last,
        )
    if not pointer.canaries:
        print_message(
            "it has no canaries, so only the served model name, and pairs that both runs judged, can show"
            " assessor drift; set a night as the baseline instead"
        )
    if backup := stores.find_backup(folder, pointer):
        print_message(
            "the verdicts that the nights share are of a newer assessor than the baseline: before the next"
            " night, rename {backup} to {store}, or to the file that the option store names",
            backup=backup,
            store=backup.with_name("verdicts.sqlite"),
        )


@baseline.command(cls=GroupedCommand)
def show(
    folder: Annotated[Path, make_option("Folder of the nights.", "--folder")] = Path(NIGHTS_FOLDER),
    json: JsonOption = False,
) -> None:
    """Show which run is the baseline."""
    from judge.nightly.baseline import show_baseline
    from judge.report.display_text import format_query_count
    from judge.runs.record_json import to_json

    pointer = show_baseline(folder)
    if json:
        print_json(to_json(pointer, with_defaults=True))
    else:
        print_message(
            "{pointer.name} ({queries}, {pointer.assessor}), stored as {pointer.id}",
            pointer=pointer,
            queries=format_query_count(t, pointer.queries),
        )


def trend(
    folder: Annotated[Path, typer.Argument(help="Folder of the nights.")] = Path(NIGHTS_FOLDER),
    engine: Annotated[str | None, make_option("Show only this engine.")] = None,
    measure: Annotated[
        str | None, make_option("Measure to show (default: sDCG, where nights have it).")
    ] = None,
    json: JsonOption = False,
    html: Annotated[
        Path | None, make_option("Write the page with all measures to this file.", "--html")
    ] = None,
) -> None:
    """Show engines and assessor night by night. It prints values, alarms and changes."""
    from judge.cli.render.tables import print_parts
    from judge.cli.render.trend_table import iter_trend_parts
    from judge.nightly.trend import make_trend, read_history
    from judge.nightly.trend_page import write_trend_page
    from judge.runs.record_json import to_json

    translator = ENGLISH if json else t
    result = make_trend(read_history(folder), engine, measure, translator)
    if json:
        print_json(to_json(result, with_defaults=True))
    else:
        print_parts(iter_trend_parts(result))
    if html is not None:
        typer.echo(write_trend_page(folder, html), err=json)
