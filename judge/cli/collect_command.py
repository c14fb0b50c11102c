"""Owns the command that asks engines: collect."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.run_commands import given
from judge.cli.terminal import console, say
from judge.errors import InputError

if TYPE_CHECKING:
    from judge.collect.collector import CollectListener
    from judge.collect.tally import CollectResult

_Queries = Annotated[
    Path | None,
    typer.Argument(help="Queries: .jsonl or .csv (query, query_id, …), .tsv (id, tab, query), .txt."),
]
_Engine = Annotated[
    list[str] | None,
    typer.Option(
        help="searxng, brave, bing, serper, serpapi-google, serpapi-baidu, serpapi-bing, tavily, exa,"
        " aliyun-iqs (also -generic, -generic-advanced), bocha, http:NAME (described in --config) or"
        " langchain:CLASS; repeat it."
    ),
]
_Out = Annotated[
    Path | None, typer.Option(help="Dataset to write (.jsonl); an existing one is gone on with.")
]
_Config = Annotated[
    Path | None, typer.Option("--config", help="TOML file with a table [collect]; the command line wins.")
]
_Depth = Annotated[int | None, typer.Option(help="Results of an answer that are taken (default 10).")]
_Lang = Annotated[
    str | None, typer.Option(help="Language, e.g. zh-CN, sent in the codes of engines that know it.")
]
_Country = Annotated[str | None, typer.Option(help="Country, e.g. cn, sent to engines that know it.")]
_Rate = Annotated[float | None, typer.Option(help="Queries a second at each engine (default 1).")]
_Attempts = Annotated[int | None, typer.Option(help="Requests per call when an engine fails (default 3).")]
_MaxWait = Annotated[
    float | None,
    typer.Option(
        "--max-wait",
        "--patience",
        help="Seconds to wait for an engine that limits the rate (429); this uses no attempts (default 120).",
    ),
]
_Timeout = Annotated[float | None, typer.Option(help="Seconds before a call is given up (default 20).")]
_BaseUrl = Annotated[
    list[str] | None, typer.Option(help="NAME=URL: where an engine is, instead of its own address.")
]


def collect(  # one parameter an option is how typer reads a command
    context: typer.Context,
    queries: _Queries = None,
    engine: _Engine = None,
    out: _Out = None,
    config: _Config = None,
    depth: _Depth = None,
    lang: _Lang = None,
    country: _Country = None,
    rate: _Rate = None,
    attempts: _Attempts = None,
    max_wait: _MaxWait = None,
    timeout: _Timeout = None,
    base_url: _BaseUrl = None,
) -> None:
    """Ask search engines and write what they return as a dataset. The same command again resumes."""
    from judge.assess.signals import raising
    from judge.collect import collection
    from judge.config.collect import CollectConfig

    typed = given(context)
    typed["engines"] = typed.pop("engine") or None
    typed["base_urls"] = _addresses(typed.pop("base_url") or ()) or None
    asked = CollectConfig.load(config, **typed)
    with raising():
        collected = collection.collect(asked, watch=_watch())
    _print(collected)
    if collected.incomplete is not None:
        say(collected.incomplete)
        sys.exit(3)


def _addresses(given: Sequence[str]) -> dict[str, str]:
    named = [text.partition("=") for text in given]
    for name, sign, url in named:
        if not (name and sign and url):
            raise InputError(
                f"--base-url is {name + sign + url!r:.80}; it is NAME=URL, e.g. searxng=http://localhost"
            )
    return {name: url for name, _, url in named}


def _watch() -> CollectListener:
    from judge.cli.progress import COLLECTING, ProgressBar, ProgressLines

    screen = console(stderr=True)
    return (
        ProgressBar(screen, COLLECTING) if screen.is_terminal else ProgressLines(sys.stderr, words=COLLECTING)
    )


def _print(collected: CollectResult) -> None:
    from judge.dataset.clean import escape_controls

    for name, tally in collected.engines.items():
        typer.echo(escape_controls(f"{name}: {tally.line()}"))
    for remark in collected.remarks:
        typer.echo(escape_controls(remark))
    typer.echo(f"{collected.calls_made:,} calls now; raw answers: {collected.journal}")
    typer.echo(f"dataset: {collected.data}   (judge run {collected.data} -m MODEL)")
