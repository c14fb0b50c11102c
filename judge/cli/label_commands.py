"""The commands about labels of people: annotate and agree."""

from __future__ import annotations

import re
import shlex
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, cast

import typer

from judge.cli.options import JsonOption, OpenOption, RunFolderArgument, make_option
from judge.cli.terminal import print_json, print_message, t
from judge.errors import InputError
from judge.messages import NameList

if TYPE_CHECKING:
    from judge.analysis.label_agreement import LabelAgreement
    from judge.analysis.pair_plan import DrawOptions
    from judge.analysis.planned_order import PlannedComparison
    from judge.records import ScaleName

_OF_PAIRS = ("--engines", "--rounds", "--seed", "--out", "--measure")
#: The forms of judge agree, and the options that each of them takes.
_FORMS: Mapping[str, tuple[str, ...]] = {
    "RUN --plan N": ("--plan", "--seed", "--out"),
    "RUN --plan-pairs N": ("--plan-pairs", *_OF_PAIRS),
    "RUN --half-width W": ("--half-width", *_OF_PAIRS),
    "RUN --qrels FILE": ("--qrels", "--labels-scale", "--measure", "--json"),
    "RUN --qrels FILE --plan PLAN": ("--qrels", "--plan", "--labels-scale", "--json"),
    "GRADES --qrels FILE": (
        *("--qrels", "--run", "--depth", "--complete"),
        *("--labels-scale", "--measure", "--json"),
    ),
}


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
    serve.annotate(run, plan, who, address, typer.echo, t, opens=opens)


def agree(
    context: typer.Context,
    run: Annotated[
        Path,
        typer.Argument(help="Run folder, or a file with an assessor's grades (qrels).", show_default=False),
    ],
    more: Annotated[
        list[str] | None, typer.Argument(help="After --engines or --run: more of them.", show_default=False)
    ] = None,
    qrels_files: Annotated[
        list[Path] | None,
        make_option("People's labels: TREC qrels, or CSV (query_id, snippet_id, grade).", "--qrels"),
    ] = None,
    plan: Annotated[
        list[str] | None,
        make_option(
            "Draw N queries at random and write a file for people to label. With --qrels: the file of"
            " --plan-pairs that the labels are for; repeatable."
        ),
    ] = None,
    plan_pairs: Annotated[
        int | None,
        make_option("Draw N pairs that decide the order of --engines, and write a file for people to label."),
    ] = None,
    half_width: Annotated[
        float | None,
        make_option("Instead of --plan-pairs: draw as many pairs as an interval of ± this width needs."),
    ] = None,
    engines: Annotated[
        list[str] | None, make_option("Engines to compare: the best with each other one (default: all).")
    ] = None,
    rounds: Annotated[
        int | None,
        make_option(
            "With --plan-pairs: how often you draw and look at the result (default 1).", min=1, max=50
        ),
    ] = None,
    seed: Annotated[int | None, make_option("Seed of the draw (default 0).", min=0)] = None,
    out: Annotated[Path | None, make_option("File of the plan (default: RUN/labels.csv).")] = None,
    labels_scale: Annotated[
        str | None, make_option("Scale of the labels: graded or binary (default: detected).")
    ] = None,
    measure: Annotated[
        str | None,
        make_option("Measure to show (default: the first), or to draw pairs for (default: sDCG@10)."),
    ] = None,
    trec_runs: Annotated[
        list[Path] | None,
        make_option("Without a run folder: TREC runs of engines; more of them can follow.", "--run"),
    ] = None,
    depth: Annotated[
        int | None, make_option("Without a run folder: number of ranks that count (default 10).", min=1)
    ] = None,
    complete: Annotated[
        bool,
        make_option(
            "Without a run folder: count a query without a row of an engine as an empty list, which scores 0,"
            " as trec_eval -c does; without this option, the query is left out for all engines.",
            "--complete",
        ),
    ] = False,
    json: JsonOption = False,
) -> None:
    """Compare the assessor with people's labels.

    Shows what its errors do to the scores of the engines. --plan draws the queries to label, --plan-pairs
    single pairs.
    """
    from judge import api
    from judge.analysis.pair_plan import DrawOptions
    from judge.analysis.planned_order import PlannedComparison
    from judge.cli.render import agreement_tables, order_tables
    from judge.cli.render.tables import print_parts
    from judge.runs.folder import translate_run_errors

    if not run.exists():
        raise InputError(
            "{file}: no such folder or file; name the folder of a finished run, or a file of grades", file=run
        )
    if trec_runs:
        trec_runs, more = [*trec_runs, *map(Path, more or ())], None
    names = [*(engines or ()), *(more or ())]
    _check_form(context, run, names_engines=bool(names))
    if not qrels_files:
        if plan:
            _plan_labels(run, _parse_count(plan), seed or 0, out)
        else:
            _plan_pairs(run, names, measure, DrawOptions(plan_pairs, half_width, seed or 0, rounds or 1), out)
        return
    qrels, *others = qrels_files
    if others:  # the last one would count
        raise InputError(
            "--qrels takes one file, and there are {count}; put all labels in one", count=len(qrels_files)
        )
    scale = cast("ScaleName | None", labels_scale)
    result: LabelAgreement | PlannedComparison
    if plan:
        result = api.decide_order(run, qrels, plan, scale)
    elif run.is_file():
        measures = [measure] if measure else None
        result = api.agree_label_files(
            run, qrels, trec_runs or [], depth or 10, measures, scale, is_complete=complete
        )
    else:
        result = api.agree(run, qrels, scale)
    if json:
        print_json(result)
        return
    with translate_run_errors(run):
        if isinstance(result, PlannedComparison):
            print_parts(order_tables.iter_decision_parts(result))
        else:
            print_parts(agreement_tables.iter_agreement_parts(result, run, measure))


def _check_form(context: typer.Context, run: Path, *, names_engines: bool) -> None:
    """Raise InputError unless the options that were typed are those of one form of the command.

    Engines may be named without --engines.
    """
    sources = [
        (option.opts[0], context.get_parameter_source(str(option.name))) for option in context.command.params
    ]
    options = [
        flag for flag, source in sources if flag.startswith("--") and source and source.name == "COMMANDLINE"
    ]
    if names_engines and "--engines" not in options:
        options.append("--engines")
    draws = [form for form in _FORMS if _FORMS[form][0] in options and _FORMS[form][0] != "--qrels"]
    if "--qrels" in options:
        form = "RUN --qrels FILE --plan PLAN" if "--plan" in options else "RUN --qrels FILE"
        form = "GRADES --qrels FILE" if run.is_file() else form
    elif len(draws) == 1:
        (form,) = draws
    else:
        raise InputError(
            "give --qrels FILE with people's labels, or one of --plan N, --plan-pairs N and --half-width W to"
            " draw queries or pairs for labelling; these three exclude each other"
        )
    if others := [name for name in options if name not in _FORMS[form]]:
        raise InputError(
            "judge agree {form} takes {options}, and not {others}; omit what it does not take",
            form=form,
            options=NameList(_FORMS[form]),
            others=NameList(others),
        )
    if "--run" not in options and {"--depth", "--complete"}.intersection(options):
        raise InputError("--depth and --complete are for the engines of --run; add --run FILE, or omit them")


def _parse_count(plan: Sequence[str]) -> int:
    if len(plan) > 1 or not re.fullmatch(r"-?[0-9]{1,9}", plan[0]):
        raise InputError(
            "--plan is {value!r}; without --qrels it is the number of queries to draw", value=" ".join(plan)
        )
    return int(plan[0])


def _plan_labels(run: Path, count: int, seed: int, out: Path | None) -> None:
    """Draw queries for people to label, write them to a file, and print what to do with it."""
    from judge.measure.ppi import MIN_LABELLED
    from judge.report.display_text import format_pair_count, format_query_count
    from judge.runs.labelling_plan import plan_labels

    path, pairs = plan_labels(run, count, seed, out)
    size = t("{size} ({pairs})", size=format_query_count(t, count), pairs=format_pair_count(t, pairs))
    _print_labelling(run, path, size)
    if count < MIN_LABELLED:
        print_message(
            "Fewer than {least} labelled queries measure agreement, but do not correct the scores of"
            " engines.",
            least=MIN_LABELLED,
        )


def _print_labelling(run: Path, path: Path, pairs: str, *plan: str) -> None:
    """Print which `pairs` of a run are in the file at `path`, and the commands, the first one with `plan`."""
    from judge.runs.folder import RunFolder
    from judge.runs.load import load_summary

    scale = load_summary(RunFolder(run)).scale
    print_message(
        "{path}: {pairs}; fill in the column 'grade' with {grades}, then: {command}",
        path=path,
        pairs=pairs,
        grades=t("yes or no") if scale == "binary" else t("0 to 3"),
        command=shlex.join(
            ["judge", "agree", str(run), "--qrels", str(path), "--labels-scale", scale, *plan]
        ),
    )
    print_message(
        "Or label on a page: {command}",
        command=shlex.join(["judge", "annotate", str(run), "--plan", str(path)]),
    )


def _plan_pairs(
    run: Path, engines: Sequence[str], measure: str | None, options: DrawOptions, out: Path | None
) -> None:
    """Draw pairs for people to label, write them to a file, and print what to do with it."""
    from judge.report.display_text import format_pair_count, format_query_count
    from judge.runs.labelling_plan import make_design_path, plan_pair_labels

    path, plan = plan_pair_labels(run, engines, measure, options, out)
    queries = format_query_count(t, len({query_id for query_id, _ in plan.drawn}))
    pairs = t("{pairs} of {queries}", pairs=format_pair_count(t, plan.labels), queries=queries)
    _print_labelling(run, path, pairs, "--plan", str(path))
    print_message(
        "They are drawn to compare {best} with {others} by {plan.measure}. Expect an interval of about"
        " ±{plan.half_width:.3f}. {design} says how they were drawn: keep it, and do not show it to people"
        " who label.",
        best=plan.engines[0],
        others=t.list_names(plan.engines[1:]),
        design=make_design_path(path),
        plan=plan,
    )
    if plan.labels == len(plan.units):
        print_message("These are all pairs whose grade can change the order.")
