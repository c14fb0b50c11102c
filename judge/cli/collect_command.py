"""The command `judge collect`: query search engines and write their results as a dataset."""

from __future__ import annotations

import sys
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.options import make_option, takes_options, typed_options
from judge.cli.terminal import make_progress_listener, print_error, ui_translator
from judge.config.option import FILES

if TYPE_CHECKING:
    from judge.collect.raw_log import CollectResult, EngineTally
    from judge.config.collect import CollectConfig

_ConfigOption = Annotated[
    Path | None,
    make_option("TOML file with a table [collect]; the command line overrides it.", "--config", group=FILES),
]


def _load_model() -> type[CollectConfig]:
    from judge.config.collect import CollectConfig

    return CollectConfig


@takes_options(_load_model)
def collect(context: typer.Context, config: _ConfigOption = None) -> None:
    """Query search engines and write their results as a dataset. The same command again resumes."""
    from judge.cli.progress_display import COLLECTING
    from judge.client.cancel import raise_on_signals
    from judge.collect import collection
    from judge.config.collect import CollectConfig

    options = CollectConfig.load(config, **typed_options(context))
    with raise_on_signals():
        result = collection.collect(options, watch=make_progress_listener(COLLECTING))
    _print_result(result)
    if result.incomplete is not None:
        print_error(result.incomplete)
        sys.exit(3)


def _print_result(result: CollectResult) -> None:
    from judge.characters import escape_controls

    t = ui_translator()
    for name, tally in result.engines.items():
        typer.echo(escape_controls(f"{name}: {_describe_tally(tally)}"))
    for remark in result.remarks:
        typer.echo(escape_controls(t(remark)))
    typer.echo(t("{calls:,} calls now; raw answers: {file}", calls=result.calls_made, file=result.raw_log))
    typer.echo(t("dataset: {file}", file=result.data) + f"   (judge run {result.data} -m MODEL)")


def _describe_tally(tally: EngineTally) -> str:
    """Return the counts of an engine in one line."""
    t = ui_translator()
    total = tally.answered + tally.failed
    parts = [t("answered {answered:,} of {asked:,}", answered=tally.answered, asked=total)]
    if tally.empty:
        parts[0] += t(", {empty:,} of them without results", empty=tally.empty)
    if tally.no_snippet:
        parts.append(
            t.plural(
                "{count:,} of {results:,} results has no text except its title (looked for in {names})",
                "{count:,} of {results:,} results have no text except their title (looked for in {names})",
                tally.no_snippet,
                results=tally.results,
                names=", ".join(map(repr, tally.snippet_fields)),
            )
        )
    for reason, count in [*tally.errors.items()][:1]:
        share = "" if count == tally.failed else t(", {count:,} of them", count=count)
        parts.append(
            t("failed on {failed:,}{share}: {reason}", failed=tally.failed, share=share, reason=reason)
        )
    return t("; ").join(parts)
