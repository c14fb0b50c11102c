"""The commands on finished runs: score, compare, align, report, show, measures, annotate."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path
from typing import Annotated

import typer

from judge.cli.options import (
    JsonOption,
    OpenOption,
    RunFolderArgument,
    list_typed_options,
    make_option,
    takes_options,
)
from judge.cli.terminal import get_ui_translator, make_console, parse_measure_names, print_json
from judge.models.providers import EMBEDDING_FORMS


@takes_options(lambda _, option: option.for_scores)
def score(
    context: typer.Context,
    run: RunFolderArgument,
    save: Annotated[
        bool, make_option("Rewrite the run's files with these measures; the first one decides.", "--save")
    ] = False,
) -> None:
    """Score a run again, free, with any measures. --save rewrites the run's files."""
    from judge import api
    from judge.cli.render import run_tables
    from judge.runs.folder import translate_run_errors

    typed = list_typed_options(context)
    result = api.score(
        run,
        parse_measure_names(typed.pop("measures", None)),
        costs=typed.pop("costs", None),
        weights=typed.pop("weights", None),
        embeddings=typed.pop("diversity_embeddings", None),
        base_url=typed.pop("base_url", None),
        feedback=typed.pop("feedback", None),
        store=typed.pop("store", None),
        dimensions=typed,
        save=save,
    )
    with translate_run_errors(run):
        if run_tables.has_grades(result):
            run_tables.print_run(result, make_console(), get_ui_translator(), saved=save)
        else:
            make_console().print(run_tables.describe_no_grades(result.summary, get_ui_translator()))


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", show_default=False)],
    measures: Annotated[
        str | None, make_option('Measures to compare engines by (default: the first), e.g. "AP@10".')
    ] = None,
    pairs: Annotated[int, make_option("Maximum number of pairs of engines per measure.", min=0)] = 21,
    json: JsonOption = False,
) -> None:
    """Compare engines, in one run or across runs."""
    from judge import api
    from judge.cli.render import comparison_tables
    from judge.runs.folder import translate_run_errors

    names = parse_measure_names(measures)
    summary = api.compare(*runs, measures=names or ())
    with translate_run_errors(runs[0]):
        if not json:
            comparison_tables.print_comparison(summary, make_console(), get_ui_translator(), names, pairs)
            return
        if names is not None:
            chosen = summary.choose_measures(names)
            comparisons = tuple(each for each in summary.comparisons if each.measure in chosen)
            summary = replace(summary, comparisons=comparisons)
        print_json(summary)


@takes_options(lambda name, _: name in ("base_url", "store"))
def align(
    context: typer.Context,
    run: RunFolderArgument,
    embeddings: Annotated[str, make_option(f"{EMBEDDING_FORMS}.", "--embeddings", "-e")],
    seed: Annotated[int, make_option("Seed of the split and the triplets.", "--seed")] = 0,
    json: JsonOption = False,
) -> None:
    """Learn a linear map of embeddings from the verdicts of a run.

    Shows whether it ranks relevant snippets higher on queries that it was not trained on.
    """
    from judge import api
    from judge.cli.render import dimension_tables

    summary = api.align(run, embeddings, seed=seed, **list_typed_options(context))
    if json:
        print_json(summary)
        return
    dimension_tables.print_alignment(summary, run, make_console(), get_ui_translator())


def report(run: RunFolderArgument, opens: OpenOption = False) -> None:
    """Write the run's report.html again."""
    from judge.finished_run import rewrite_report

    path = rewrite_report(run)
    typer.echo(path)
    if opens:
        typer.launch(str(path.resolve()))


def measures() -> None:
    """List every measure. The list has the notation, the meaning and the source of the formula."""
    from judge.cli.render import run_tables

    run_tables.print_measures(make_console(), get_ui_translator())


def show(
    run: RunFolderArgument,
    query: Annotated[str, make_option("Id or text of the query.", "--query")],
    json: JsonOption = False,
) -> None:
    """Print the snippets of a query with grades and reasons."""
    from judge.cli.show import find_query, print_query

    entry = find_query(run, query)
    if json:
        print_json(entry)
        return
    print_query(entry, make_console())


def annotate(
    run: RunFolderArgument,
    plan: Annotated[
        Path | None,
        make_option("Pairs to label: the file of judge agree --plan or --plan-pairs (default: 50 queries)."),
    ] = None,
    who: Annotated[str, make_option("Name of the person who labels; each has a separate file.")] = "me",
    host: Annotated[
        str, make_option("Address to listen on; with another one, other machines reach the page.")
    ] = "127.0.0.1",
    port: Annotated[int, make_option("Port to listen on; 0: any free port.", min=0, max=65535)] = 8765,
    token: Annotated[
        str | None,
        make_option("Secret in the page's address (default: a random one, which process lists do not show)."),
    ] = None,
    opens: OpenOption = False,
) -> None:
    """Label pairs on a page that hides grades, for judge agree. Needs search-judge[web]."""
    from judge.annotate import serve

    address = serve.ServerAddress(host, port, *([token] if token else []))
    serve.annotate(run, plan, who, address, typer.echo, get_ui_translator(), opens=opens)
