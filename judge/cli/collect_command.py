"""The command `judge collect`: query search engines and write their results as a dataset."""

from __future__ import annotations

import sys
from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated

import typer

from judge.cli.options import make_option
from judge.cli.run_commands import typed_options
from judge.cli.terminal import make_progress_listener, print_error, ui_translator
from judge.errors import InputError

if TYPE_CHECKING:
    from judge.collect.raw_log import CollectResult, EngineTally

_ENGINES = "Engines"
_CALLS = "Calls"
_FILES = "Files"

_Queries = Annotated[
    Path | None,
    typer.Argument(help="Queries: .jsonl or .csv (query, query_id, …), .tsv (id, tab, query), .txt."),
]
_Engine = Annotated[
    list[str] | None,
    make_option(
        "searxng, brave, bing, serper, serpapi-google, serpapi-baidu, serpapi-bing, tavily, exa, aliyun-iqs"
        " (also -generic, -generic-advanced), bocha, http:NAME (described in --config) or langchain:CLASS;"
        " repeatable.",
        group=_ENGINES,
    ),
]
_BaseUrl = Annotated[
    list[str] | None, make_option("NAME=URL: another address of an engine; repeatable.", group=_ENGINES)
]
_Depth = Annotated[
    int | None, make_option("Number of results to keep per query (default 10).", group=_ENGINES)
]
_Lang = Annotated[
    str | None,
    make_option("Language, e.g. zh-CN, sent to engines that take one, in their codes.", group=_ENGINES),
]
_Country = Annotated[
    str | None, make_option("Country, e.g. cn, sent to engines that take one.", group=_ENGINES)
]
_Rate = Annotated[float | None, make_option("Queries per second and engine (default 1).", group=_CALLS)]
_Timeout = Annotated[float | None, make_option("Timeout of a call in seconds (default 20).", group=_CALLS)]
_Attempts = Annotated[
    int | None, make_option("Requests per call when an engine fails (default 3).", group=_CALLS)
]
_MaxWait = Annotated[
    float | None,
    make_option(
        "Seconds to wait for an engine that limits the rate (429); this uses no attempts (default 120).",
        "--max-wait",
        "--patience",
        group=_CALLS,
    ),
]
_Config = Annotated[
    Path | None,
    make_option("TOML file with a table [collect]; the command line overrides it.", "--config", group=_FILES),
]
_Out = Annotated[
    Path | None, make_option("Dataset to write (.jsonl); an existing one is resumed.", group=_FILES)
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
    """Query search engines and write their results as a dataset. The same command again resumes."""
    from judge.cli.progress_display import COLLECTING
    from judge.client.cancel import raise_on_signals
    from judge.collect import collection
    from judge.config.collect import CollectConfig

    typed = typed_options(context)
    typed["engines"] = typed.pop("engine") or None
    typed["base_urls"] = _parse_addresses(typed.pop("base_url") or ()) or None
    options = CollectConfig.load(config, **typed)
    with raise_on_signals():
        result = collection.collect(options, watch=make_progress_listener(COLLECTING))
    _print_result(result)
    if result.incomplete is not None:
        print_error(result.incomplete)
        sys.exit(3)


def _parse_addresses(texts: Sequence[str]) -> dict[str, str]:
    """Return the address of each engine by its name, from texts NAME=URL."""
    addresses = {}
    for text in texts:
        name, _, url = text.partition("=")
        if not (name and url):
            raise InputError(
                "--base-url is {value!r:.80}; it is NAME=URL, e.g. searxng=http://localhost", value=text
            )
        addresses[name] = url
    return addresses


def _print_result(result: CollectResult) -> None:
    from judge.characters import escape_controls

    t = ui_translator()
    for name, tally in result.engines.items():
        typer.echo(escape_controls(f"{name}: {_describe_tally(tally)}"))
    for remark in result.remarks:
        typer.echo(escape_controls(t(remark)))
    typer.echo(t("{calls:,} calls now; raw answers: {file}", calls=result.calls_made, file=result.journal))
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
