"""Owns the commands on finished runs, which are free: score, compare, agree, annotate, report, show."""

from __future__ import annotations

from typing import TYPE_CHECKING, cast

import typer

from judge.cli import options
from judge.cli.terminal import console, names, print_json
from judge.errors import InputError

if TYPE_CHECKING:
    from judge.records import ScaleName


def score(run: options.RunFolder, measures: options.Measures = None, save: options.Save = False) -> None:
    """Score a run again from its judgments: free, with any measures; --save rewrites the run's files."""
    from judge import pipeline
    from judge.cli.render import run_tables
    from judge.runs.folder import reading_run

    outcome = pipeline.rescore(run, names(measures), save=save)
    with reading_run(run):
        if run_tables.has_grades(outcome):
            run_tables.outcome(outcome, console(), saved=save)
        else:
            console().print(run_tables.nothing_judged(outcome.summary))


def compare(
    runs: options.RunFolders,
    measures: options.ShownMeasures = None,
    pairs: options.Pairs = 21,
    json: options.Json = False,
) -> None:
    """Say which engines differ and how sure that is, within a run or across runs."""
    from judge import saved_runs
    from judge.cli.render import comparison_tables
    from judge.runs.folder import reading_run

    found = saved_runs.compare_runs(runs)
    if json:
        print_json(found)
        return
    with reading_run(runs[0]):
        comparison_tables.comparison(found, console(), names(measures), pairs)


def agree(
    run: options.RunOrGrades,
    qrels: options.Qrels = None,
    plan: options.Draw = None,
    seed: options.DrawSeed = None,
    out: options.PlanFile = None,
    labels_scale: options.LabelsScale = None,
    measure: options.ShownMeasure = None,
    trec_runs: options.ListsOfEngines = None,
    depth: options.DepthOfLists = None,
    json: options.Json = False,
) -> None:
    """Say whether the assessor judges as people do, and what its errors do to the engines."""
    from judge import saved_runs
    from judge.cli.render import agreement_tables
    from judge.measure.ppi import MIN_LABELLED
    from judge.report.words import counted
    from judge.runs.folder import reading_run

    if (qrels is None) == (plan is None):
        raise InputError("give --qrels FILE with people's labels, or --plan N to draw queries for labelling")
    if not run.is_file() and (trec_runs or depth is not None):
        raise InputError(f"--run and --depth go with two files of grades; {run} is a run's folder")
    if plan is None and (seed is not None or out is not None):
        raise InputError("--seed and --out go with --plan, which draws queries for labelling")
    if plan is not None:
        drawn = saved_runs.plan_labels(run, plan, seed or 0, out)
        size = counted(drawn.count, "query", "queries")
        more = f" + {drawn.reserve} in reserve" if drawn.reserve else ""
        typer.echo(
            f"{drawn.path}: {size}{more}; fill in the column 'grade', then: judge agree {run} --qrels"
            f" {drawn.path}"
        )
        if drawn.count < MIN_LABELLED:
            typer.echo(
                f"Fewer than {MIN_LABELLED} labelled queries say how far people agree, but correct no"
                " engine's scores."
            )
        if drawn.reserve:
            typer.echo(
                "Label in the order of the file. The reserve makes up for queries that give no value: by the"
                f" assessor's grades {drawn.measure} has none on {drawn.without} of"
                f" {drawn.queries}, mostly where nothing is relevant. With all {drawn.count + drawn.reserve}"
                f" labelled, {size} have a value with a probability of 95 % or more; stop earlier when"
                f" {drawn.count} have one."
            )
    elif qrels is not None:
        if run.is_file():
            shown = [measure] if measure else None
            scale = _scale_name(labels_scale)
            found = saved_runs.agree_without_run(run, qrels, trec_runs or [], depth or 10, shown, scale)
        else:
            found = saved_runs.agree(run, qrels, _scale_name(labels_scale))
        if json:
            print_json(found)
            return
        with reading_run(run):
            agreement_tables.agreement(found, console(), measure)


def annotate(
    run: options.RunFolder,
    plan: options.Plan = None,
    who: options.Who = "me",
    host: options.Host = "127.0.0.1",
    port: options.Port = 8765,
    token: options.Token = None,
    opens: options.Open = False,
) -> None:
    """Label pairs blind on a local page; what comes of it feeds judge agree. Needs search-judge[web]."""
    from judge.annotate import serve

    serve.annotate(
        run, plan, who, serve.ServerAddress(host, port, *([token] if token else [])), opens, typer.echo
    )


def report(run: options.RunFolder, opens: options.Open = False) -> None:
    """Write report.html of a run anew: one file to look at, mail or keep."""
    from judge import saved_runs

    path = saved_runs.report(run)
    typer.echo(path)
    if opens:
        typer.launch(str(path.resolve()))


def measures() -> None:
    """List every measure: how it is written, what it says, where its formula comes from."""
    from judge.cli.render import run_tables

    run_tables.measures(console())


def show(run: options.RunFolder, query: options.QueryId, json: options.Json = False) -> None:
    """Print a query's snippets at every engine, with grades and reasons."""
    from judge.cli import show
    from judge.runs.folder import reading_run

    entry = show.find(run, query)
    if json:
        print_json(entry)
        return
    with reading_run(run):
        show.show(entry, console())


def _scale_name(text: str | None) -> ScaleName | None:
    if text not in (None, "graded", "binary"):
        raise InputError(f"--labels-scale is {text!r}; it is graded or binary")
    return cast("ScaleName | None", text)
