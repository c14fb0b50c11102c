"""The commands on finished runs: score, compare, align, report, measures, show."""

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
from judge.cli.terminal import make_console, parse_measure_names, print_json, print_message, t
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
    from judge.cli.render.tables import print_parts
    from judge.runs.folder import RunFolder, translate_run_errors
    from judge.runs.load import read_options

    typed = list_typed_options(context)
    parameters = ("costs", "weights", "base_url", "feedback", "store")
    options = {name: typed.pop(name, None) for name in parameters}
    result = api.score(
        run,
        parse_measure_names(typed.pop("measures", None)),
        embeddings=typed.pop("diversity_embeddings", None),
        dimensions=typed,
        save=save,
        **options,
    )
    # With grades, the tables say what is missing.
    if result.incomplete and not run_tables.has_grades(result):
        raise result.incomplete
    with translate_run_errors(run):
        min_coverage = read_options(RunFolder(run)).min_coverage
        print_parts(run_tables.iter_run_parts(result, saved=save, min_coverage=min_coverage))


def compare(
    runs: Annotated[list[Path], typer.Argument(help="Run folders.", show_default=False)],
    measures: Annotated[
        str | None, make_option('Measures to compare engines by (default: the first), e.g. "AP@10".')
    ] = None,
    pairs: Annotated[int, make_option("Maximum number of pairs of engines per measure.", min=0)] = 21,
    against: Annotated[
        str | None,
        make_option("Compare the engines of one run with this one only: fewer pairs, narrower intervals."),
    ] = None,
    details: Annotated[
        bool, make_option("Also print further tables, and what the columns mean.", "--details")
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare engines, in one run or across runs."""
    from judge import api
    from judge.cli.render import comparison_tables
    from judge.cli.render.tables import print_parts
    from judge.runs.folder import RunFolder, translate_run_errors
    from judge.runs.load import read_options

    names = parse_measure_names(measures)
    summary = api.compare(*runs, measures=names or (), against=against)
    with translate_run_errors(runs[0]):
        if json:
            if names is not None:
                chosen = summary.choose_measures(names)
                comparisons = tuple(
                    comparison for comparison in summary.comparisons if comparison.measure in chosen
                )
                summary = replace(summary, comparisons=comparisons)
            print_json(summary)
        else:
            min_coverage = min(read_options(RunFolder(run)).min_coverage for run in runs)
            parts = comparison_tables.iter_comparison_parts(
                summary, runs[0], names, pairs, min_coverage, details=details
            )
            print_parts(parts)


@takes_options(lambda name, _: name in ("base_url", "store"))
def align(
    context: typer.Context,
    run: RunFolderArgument,
    embeddings: Annotated[str, make_option(f"{EMBEDDING_FORMS}.", "--embeddings", "-e")],
    seed: Annotated[int, make_option("Seed of the split and the triplets.", "--seed", min=0)] = 0,
    json: JsonOption = False,
) -> None:
    """Learn a linear map of embeddings from the verdicts of a run.

    Shows whether it ranks relevant snippets higher on queries that it was not trained on.
    """
    from judge import api
    from judge.cli.render import run_tables
    from judge.cli.render.tables import print_parts

    summary = api.align(run, embeddings, seed=seed, **list_typed_options(context))
    if json:
        print_json(summary)
        return
    print_parts(run_tables.iter_alignment_parts(summary, run))


def report(run: RunFolderArgument, opens: OpenOption = False) -> None:
    """Write the run's report.html again."""
    from judge.finished_run import rewrite_report

    path = rewrite_report(run)
    typer.echo(path)
    if opens:
        typer.launch(str(path.resolve()))


def measures() -> None:
    """List every measure. The list has the notation, the meaning and the source of the formula."""
    from rich.table import Table
    from rich.text import Text

    from judge.measure.measures import MEASURE_KINDS, PARAMETERS

    table = Table(box=None, pad_edge=False, header_style="bold")
    for title in (t("measure"), t("meaning on one query"), t("source")):
        table.add_column(title, overflow="fold")
    for kind in MEASURE_KINDS.values():
        table.add_row(Text(kind.syntax), t(kind.meaning), t(kind.source))
    make_console().print(table)
    print_message("What is in square brackets can be left out. Without @k, a measure reads all judged ranks.")
    for parameter in PARAMETERS.values():
        print_message(parameter.meaning)


def show(
    run: RunFolderArgument,
    query: Annotated[str, make_option("Id or text of the query.", "--query")] = "",
    json: JsonOption = False,
) -> None:
    """Print the snippets of a query with grades and reasons."""
    from judge.cli.show import find_query, print_query

    entry, engines = find_query(run, query)
    if json:
        print_json(entry)
        return
    print_query(entry, engines, make_console())
