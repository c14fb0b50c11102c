"""The options and arguments of the commands: names, help texts, and the groups that help shows them in."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Collection
from pathlib import Path
from typing import Annotated, Any

import typer

from judge.models import EMBEDDING_FORMS, FORMS

Command = Callable[..., None]

_INPUT = "Input"
_ASSESSOR = "Assessor"
_MEASURING = "Measuring"
_DIMENSIONS = "Beside relevance"
_LIMITS = "Calls and cost"
_FILES = "Files"


def inherit_options(
    other: Command,
    without: Collection[str] = (),
    **instead: Any,  # noqa: ANN401 - annotations
) -> Callable[[Command], Command]:
    """Return a decorator that gives a command the options of `other`.

    Options named in `without` are left out; `instead` replaces the annotations of others, by name.
    """

    def decorate(command: Command) -> Command:
        parameters = [
            parameter.replace(annotation=instead.get(parameter.name, parameter.annotation))
            for parameter in inspect.signature(other, eval_str=True).parameters.values()
            if parameter.name not in without
        ]
        command.__signature__ = inspect.Signature(parameters)  # type: ignore[attr-defined]
        command.__annotations__ = {parameter.name: parameter.annotation for parameter in parameters}
        return command

    return decorate


def make_option(help_text: str, *flags: str, group: str | None = None, **bounds: int) -> Any:  # noqa: ANN401
    """Return an option of typer that help shows in `group`."""
    return typer.Option(*flags, help=help_text, rich_help_panel=group, **bounds)  # type: ignore[arg-type]


# --- judging

DataArgument = Annotated[
    list[Path] | None,
    typer.Argument(
        help="Dataset: .jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz (after --run: more run"
        " files)."
    ),
]
ColumnsOption = Annotated[
    list[str] | None,
    make_option(
        "Names of the dataset's columns: FIELD=COLUMN, e.g. snippet=text,query=q; repeatable.", group=_INPUT
    ),
]
RunQrelsOption = Annotated[
    Path | None,
    make_option(
        "Labels of people that are used as grades; the assessor judges the other pairs. TREC qrels, or CSV"
        " (query_id, snippet_id, grade).",
        "--qrels",
        group=_INPUT,
    ),
]
CheckOption = Annotated[
    int | None,
    make_option(
        "With --qrels: number of labelled pairs that the assessor judges, too, to measure agreement (default:"
        " none).",
        group=_INPUT,
        min=1,
    ),
]
TopicsOption = Annotated[Path | None, make_option("TREC input: topics (id, tab, text).", group=_INPUT)]
DocsOption = Annotated[
    Path | None, make_option("TREC input: documents (.jsonl or .tsv, also .gz).", group=_INPUT)
]
TrecRunsOption = Annotated[
    list[Path] | None, make_option("TREC input: a run file; repeatable.", "--run", group=_INPUT)
]
ModelOption = Annotated[str | None, make_option(f"{FORMS}.", "--model", "-m", group=_ASSESSOR)]
ModelsOption = Annotated[
    list[str] | None,
    make_option(
        f"{FORMS}; repeat for a panel (NAME@URL: a model with its own server).",
        "--model",
        "-m",
        group=_ASSESSOR,
    ),
]
AssessorOption = Annotated[
    str | None, make_option("Prompts: judge (default) or deepeval (needs the extra).", group=_ASSESSOR)
]
BaseUrlOption = Annotated[
    str | None, make_option("Address of the server (default: the provider's).", group=_ASSESSOR)
]
ScaleOption = Annotated[str | None, make_option("graded (0-3, default) or binary (yes/no).", group=_ASSESSOR)]
LangOption = Annotated[
    str | None,
    make_option(
        "Language of the prompt: zh, en or auto (default). auto takes the language of the query; for one word"
        " in Latin letters, digits or symbols, that of its snippets.",
        group=_ASSESSOR,
    ),
]
RepeatsOption = Annotated[
    int | None, make_option("Judge the pool N times, to measure stability (default 1).", group=_ASSESSOR)
]
DepthOption = Annotated[int | None, make_option("Number of ranks to judge (default 10).", group=_ASSESSOR)]
RelevantFromOption = Annotated[
    int | None, make_option("Lowest grade that counts as relevant.", group=_ASSESSOR)
]
RerankThresholdsOption = Annotated[
    str | None,
    make_option(
        "Scores at which a reranker's grades 1, 2, … begin, e.g. 0.2,0.5,0.8 (default: fitted on --qrels).",
        group=_ASSESSOR,
    ),
]
DatesOption = Annotated[
    bool | None,
    make_option(
        "Show the snippets' dates in prompts; then a different date makes a different pair.",
        "--dates",
        group=_ASSESSOR,
    ),
]
AsOfOption = Annotated[
    str | None,
    make_option("The day that prompts call today, e.g. 2026-05-01; implies --dates.", group=_ASSESSOR),
]
PromptsOption = Annotated[
    Path | None, make_option("Folder with your own zh/ and en/ prompts.", group=_ASSESSOR)
]
TemperatureOption = Annotated[float | None, make_option("Sampling temperature (default 0).", group=_ASSESSOR)]
TopPOption = Annotated[float | None, make_option("Nucleus sampling (default: not sent).", group=_ASSESSOR)]
SeedOption = Annotated[int | None, make_option("Sampling seed (default: not sent).", group=_ASSESSOR)]
MaxTokensOption = Annotated[
    int | None,
    make_option("Maximum tokens of a reply (default 512, with --thinking 8192).", group=_ASSESSOR),
]
ThinkingOption = Annotated[
    bool | None, make_option("Let the model reason first.", "--thinking", group=_ASSESSOR)
]
MeasuresOption = Annotated[
    str | None, make_option('Measures, e.g. "nDCG@10 AP@10 P@5"; the first one decides.', group=_MEASURING)
]
MinCoverageOption = Annotated[
    float | None, make_option("Share of pairs that must be judged (default 0.99).", group=_MEASURING)
]
ConcurrencyOption = Annotated[
    int | None, make_option("Maximum number of concurrent calls (default 64).", group=_LIMITS)
]
TimeoutOption = Annotated[
    float | None, make_option("Timeout of a call in seconds (default 60).", group=_LIMITS)
]
MaxWaitOption = Annotated[
    float | None,
    make_option(
        "Seconds to wait for a server that limits the rate or is down (default 600).",
        "--max-wait",
        group=_LIMITS,
    ),
]
AttemptsOption = Annotated[
    int | None, make_option("Requests per call when the server fails (default 5).", group=_LIMITS)
]
BudgetOption = Annotated[
    float | None, make_option("Stop when this many USD are spent; needs a known price.", group=_LIMITS)
]
MaxCallsOption = Annotated[int | None, make_option("Stop after this many calls.", group=_LIMITS)]
BatchOption = Annotated[
    bool | None,
    make_option(
        "Judge through the provider's Batch API: half the price, within 24 hours; the same command again"
        " resumes.",
        "--batch",
        group=_LIMITS,
    ),
]
OnOption = Annotated[
    str | None,
    make_option(
        "Send requests from this process: local (default), or from a Ray cluster: ray.", group=_LIMITS
    ),
]
RayAddressOption = Annotated[
    str | None,
    make_option("With --on ray: HOST:PORT of the cluster (default: one on this machine).", group=_LIMITS),
]
NearDuplicatesOption = Annotated[
    bool | None,
    make_option(
        "Judge snippets of a query that hardly differ once; a different number, name or negation counts.",
        "--near-duplicates",
        group=_LIMITS,
    ),
]
DiversityOption = Annotated[
    bool | None,
    make_option(
        "Also measure distinct sites, near-duplicates and similarity of each list; free.",
        "--diversity",
        group=_DIMENSIONS,
    ),
]
PointsOption = Annotated[
    bool | None,
    make_option(
        "Also ask the first model for the information points of each query, and which results state them.",
        "--points",
        group=_DIMENSIONS,
    ),
]
ExplainOption = Annotated[
    bool | None,
    make_option(
        "Also ask the first model why each engine has its score, on the queries with the lowest scores.",
        "--explain",
        group=_DIMENSIONS,
    ),
]
ExplainQueriesOption = Annotated[
    int | None,
    make_option("With --explain: number of queries (default 20).", group=_DIMENSIONS, min=1),
]
PriceOption = Annotated[
    str | None,
    make_option("Price of the model: INPUT,OUTPUT[,CACHED] in USD per million tokens.", group=_LIMITS),
]
PricesOption = Annotated[
    Path | None,
    make_option("TOML file with your own [[prices]] rows, before the shipped ones.", group=_LIMITS),
]
ConfigOption = Annotated[
    Path | None,
    make_option("TOML file with options; the command line overrides it.", "--config", group=_FILES),
]
OutOption = Annotated[Path | None, make_option("Run folder; an existing run is resumed.", group=_FILES)]
StoreOption = Annotated[
    Path | None, make_option("Verdict store (default: verdicts.sqlite beside --out).", group=_FILES)
]

# --- finished runs

RunFolderArgument = Annotated[Path, typer.Argument(help="Run folder.", show_default=False)]
RunFoldersArgument = Annotated[list[Path], typer.Argument(help="Run folders.", show_default=False)]
RunOrGradesArgument = Annotated[
    Path,
    typer.Argument(help="Run folder, or a file with an assessor's grades (qrels).", show_default=False),
]
SaveOption = Annotated[
    bool, make_option("Rewrite the run's files with these measures; the first one decides.", "--save")
]
ComparedMeasuresOption = Annotated[
    str | None, make_option('Measures to compare engines by (default: the first), e.g. "AP@10".')
]
PairsOption = Annotated[int, make_option("Maximum number of pairs of engines per measure.", min=0)]
JsonOption = Annotated[bool, make_option("Print everything as JSON.", "--json")]
QrelsOption = Annotated[
    Path | None, make_option("People's labels: TREC qrels, or CSV (query_id, snippet_id, grade).")
]
EmbeddingsOption = Annotated[str, make_option(f"{EMBEDDING_FORMS}.", "--embeddings", "-e")]
AlignSeedOption = Annotated[int, make_option("Seed of the split and the triplets.", "--seed")]
MoreEnginesArgument = Annotated[
    list[str] | None, typer.Argument(help="After --engines: more engines.", show_default=False)
]
PlanOption = Annotated[
    list[str] | None,
    make_option(
        "Draw N queries at random and write a file for people to label. With --qrels: the file of"
        " --plan-pairs that the labels are for; repeatable."
    ),
]
PlanPairsOption = Annotated[
    int | None,
    make_option("Draw N pairs that decide the order of --engines, and write a file for people to label."),
]
HalfWidthOption = Annotated[
    float | None,
    make_option("Instead of --plan-pairs: draw as many pairs as an interval of ± this width needs."),
]
PlanEnginesOption = Annotated[
    list[str] | None, make_option("Engines to compare: the best with each other one (default: all).")
]
RoundsOption = Annotated[
    int | None,
    make_option("With --plan-pairs: how often you draw and look at the result (default 1).", min=1),
]
PlanSeedOption = Annotated[int | None, make_option("Seed of the draw (default 0).")]
PlanFileOption = Annotated[Path | None, make_option("File of the plan (default: RUN/labels.csv).")]
LabelsScaleOption = Annotated[
    str | None, make_option("Scale of the labels: graded or binary (default: detected).")
]
AgreementMeasureOption = Annotated[str | None, make_option("Measure to show (default: the first).")]
EngineRunsOption = Annotated[
    list[Path] | None, make_option("Without a run folder: the TREC run of an engine; repeatable.", "--run")
]
EngineRunsDepthOption = Annotated[
    int | None, make_option("Without a run folder: number of ranks that count (default 10).", min=1)
]
TasksOption = Annotated[
    Path | None,
    make_option("Pairs to label: the file of judge agree --plan or --plan-pairs (default: 50 queries)."),
]
WhoOption = Annotated[str, make_option("Name of the person who labels; each has a separate file.")]
HostOption = Annotated[
    str, make_option("Address to listen on; with another one, other machines reach the page.")
]
PortOption = Annotated[int, make_option("Port to listen on; 0: any free port.", min=0, max=65535)]
TokenOption = Annotated[
    str | None,
    make_option("Secret in the page's address (default: a random one, which process lists do not show)."),
]
OpenOption = Annotated[bool, make_option("Open the page in a browser.", "--open")]
QueryIdOption = Annotated[str, make_option("Id of the query.", "--query")]
