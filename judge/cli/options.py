"""Owns the options of the command line that several commands, or one long one, take: names and help."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import typer

Command = Callable[..., None]


def those_of(other: Command, without: Collection[str] = (), **instead: Any) -> Callable[[Command], Command]:  # noqa: ANN401
    """Gives a command the options of another, but for some, and with others `instead` under their names."""

    def take_over(command: Command) -> Command:
        taken = [
            each.replace(annotation=instead.get(each.name, each.annotation))
            for each in inspect.signature(other, eval_str=True).parameters.values()
            if each.name not in without
        ]
        command.__signature__ = inspect.Signature(taken)  # type: ignore[attr-defined]
        command.__annotations__ = {each.name: each.annotation for each in taken}
        return command

    return take_over


Data = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Dataset: .jsonl, .json, .csv, .tsv, .xlsx or .parquet, or one of them as .gz"
        " (after --run: more run files)."
    ),
]
Columns = Annotated[
    list[str] | None,
    typer.Option(help="What the dataset calls a field: FIELD=COLUMN, e.g. snippet=text,query=q; repeat it."),
]
Topics = Annotated[Path | None, typer.Option(help="TREC input: topics (id, tab, text).")]
Docs = Annotated[Path | None, typer.Option(help="TREC input: documents (.jsonl or .tsv, .gz too).")]
TrecRuns = Annotated[list[Path] | None, typer.Option("--run", help="TREC input: a run file; repeat it.")]
Model = Annotated[
    str | None,
    typer.Option("--model", "-m", help="openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME or lexical."),
]
Models = Annotated[
    list[str] | None,
    typer.Option(
        "--model",
        "-m",
        help="openai:NAME, dashscope:NAME, langchain:PROVIDER:NAME or lexical; several make a panel"
        " (NAME@URL gives one a server of its own).",
    ),
]
Assessor = Annotated[str | None, typer.Option(help="judge (default) or deepeval, the method it grew from.")]
BaseUrl = Annotated[str | None, typer.Option(help="Server to call instead of the provider's own.")]
Scale = Annotated[str | None, typer.Option(help="graded (0-3, default) or binary (yes/no).")]
Lang = Annotated[
    str | None,
    typer.Option(
        help="Language of the prompt: zh, en or auto (default: by each query; one word in Latin letters,"
        " digits and symbols go by the query's snippets)."
    ),
]
Repeats = Annotated[int | None, typer.Option(help="Judge everything N times, to see how stable it is.")]
Depth = Annotated[int | None, typer.Option(help="How many ranks are judged (default 10).")]
RelevantFrom = Annotated[int | None, typer.Option(help="Lowest grade that counts as relevant.")]
Dates = Annotated[
    bool | None,
    typer.Option("--dates", help="Show prompts the snippets' dates: another date is then another pair."),
]
AsOf = Annotated[
    str | None, typer.Option(help="A day that prompts call today, e.g. 2026-05-01; implies --dates.")
]
Prompts = Annotated[Path | None, typer.Option(help="Folder with your own zh/ and en/ prompts.")]
Temperature = Annotated[float | None, typer.Option(help="Sampling temperature (default 0).")]
TopP = Annotated[float | None, typer.Option(help="Nucleus sampling; not sent unless given.")]
Seed = Annotated[int | None, typer.Option(help="Sampling seed; not sent unless given.")]
MaxTokens = Annotated[
    int | None, typer.Option(help="Longest reply, in tokens (default 512, with --thinking 8192).")
]
Thinking = Annotated[bool | None, typer.Option("--thinking", help="Let a reasoning model think.")]
Measures = Annotated[str | None, typer.Option(help='Measures, e.g. "nDCG@10 AP@10 P@5".')]
Save = Annotated[
    bool, typer.Option("--save", help="Rewrite the run's files with these measures; the first one decides.")
]
MinCoverage = Annotated[float | None, typer.Option(help="Share of pairs that must be judged (0.99).")]
Concurrency = Annotated[int | None, typer.Option(help="Most calls in flight (default 64).")]
Timeout = Annotated[float | None, typer.Option(help="Seconds before a call is given up (default 60).")]
MaxWait = Annotated[
    float | None,
    typer.Option(
        "--max-wait", help="Seconds to wait for a server that limits the rate or is down (default 600)."
    ),
]
Attempts = Annotated[int | None, typer.Option(help="Requests per call when the server fails (default 5).")]
Budget = Annotated[float | None, typer.Option(help="Stop when this many USD are spent; needs a known price.")]
MaxCalls = Annotated[int | None, typer.Option(help="Stop after this many calls.")]
Price = Annotated[
    str | None, typer.Option(help="INPUT,OUTPUT[,CACHED] in USD per million tokens, from your provider.")
]
Prices = Annotated[
    Path | None, typer.Option(help="TOML file with your own [[prices]] rows; the shipped ones come after.")
]
Config = Annotated[
    Path | None, typer.Option("--config", help="TOML file with these options; the command line wins.")
]
Out = Annotated[Path | None, typer.Option(help="Folder of the run; an existing one is gone on with.")]
Store = Annotated[Path | None, typer.Option(help="Verdict store (default: verdicts.sqlite beside --out).")]
RunFolder = Annotated[Path, typer.Argument(help="Folder of a run.", show_default=False)]
RunFolders = Annotated[list[Path], typer.Argument(help="Folders of runs.", show_default=False)]
ShownMeasures = Annotated[
    str | None, typer.Option(help='Measures whose pairs are shown (default: the first), e.g. "AP@10".')
]
Pairs = Annotated[int, typer.Option(min=0, help="Most pairs of engines to show for a measure.")]
Json = Annotated[bool, typer.Option("--json", help="Print all of it as JSON instead.")]
RunOrGrades = Annotated[
    Path, typer.Argument(help="Folder of a run, or an assessor's grades (qrels).", show_default=False)
]
Qrels = Annotated[
    Path | None, typer.Option(help="People's labels: TREC qrels, or CSV (query_id, snippet_id, grade).")
]
Draw = Annotated[
    int | None, typer.Option(help="Draw N queries at random and write a file for people to label.")
]
DrawSeed = Annotated[int | None, typer.Option(help="Another seed draws other queries.")]
PlanFile = Annotated[Path | None, typer.Option(help="File of the plan (default: RUN/labels.csv).")]
LabelsScale = Annotated[
    str | None, typer.Option(help="How people graded: graded or binary (default: as it looks).")
]
ShownMeasure = Annotated[str | None, typer.Option(help="Measure that is shown (default: the first).")]
ListsOfEngines = Annotated[
    list[Path] | None, typer.Option("--run", help="Without a folder: a TREC run, one an engine.")
]
DepthOfLists = Annotated[
    int | None, typer.Option(min=1, help="Without a folder: ranks of a run that count (10).")
]
Plan = Annotated[
    Path | None, typer.Option(help="What to label: the file of judge agree --plan (default: 50 queries).")
]
Who = Annotated[str, typer.Option(help="Who labels; each person has a file of their own.")]
Host = Annotated[str, typer.Option(help="Address to listen on; others reach another than this.")]
Port = Annotated[int, typer.Option(min=0, max=65535, help="Port to listen on; 0: a free one.")]
Token = Annotated[
    str | None,
    typer.Option(
        help="Secret in the page's address (default: a random one, which no list of processes shows)."
    ),
]
Open = Annotated[bool, typer.Option("--open", help="Open it in a browser.")]
QueryId = Annotated[str, typer.Option("--query", help="The query's id.")]
