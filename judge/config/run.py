"""The options of a run, with their defaults.

A value comes from the command line or the Python call, else from the TOML file, else from here.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import field, fields, replace
from pathlib import Path
from typing import Annotated, Any, Literal, Self

from pydantic import BeforeValidator, Field, model_validator
from pydantic.dataclasses import dataclass

from judge.config.loader import ConfigSource, is_day, read_toml, rename_options
from judge.config.option_checks import (
    STRICT,
    CountValue,
    DayValue,
    NonNegativeNumber,
    NumberValue,
    OneOrMore,
    ShareValue,
    TextList,
    TextValue,
    raise_input_errors,
)
from judge.errors import InputError
from judge.messages import Message
from judge.records import BINARY, DECISION_MODEL, GRADED, RERANKER, LangChoice, Sampling, Scale, ScaleName

#: Options that change neither the requests nor the measures: a resumed run may have other values.
CHANGEABLE_OPTIONS = frozenset(
    {"concurrency", "timeout", "attempts", "max_wait", "shutdown_timeout", "budget", "max_calls", "price"}
    | {"prices", "out", "store", "measures", "min_coverage", "prompts", "batch", "on", "ray_address"}
    | {"diversity", "points", "explain", "explain_queries"}
)
#: Tables of a TOML file that hold no options of a run.
OTHER_TABLES = frozenset({"collect", "nightly"})
#: Default `max_tokens` without and with thinking.
MAX_TOKENS, MAX_TOKENS_THINKING = 512, 8192


def _split_columns(value: object) -> object:
    """Return a table of columns as the list of FIELD=COLUMN that the command line takes."""
    return (
        tuple(f"{name}={column}" for name, column in value.items()) if isinstance(value, Mapping) else value
    )


_Columns = Annotated[TextList, BeforeValidator(_split_columns)]
_Measures = Annotated[
    TextList,
    OneOrMore,
    Field(description=Message('a list of measures such as ["nDCG@10", "AP@10"]')),
]
_Price = Annotated[
    tuple[NonNegativeNumber, ...],
    Field(
        strict=False,
        min_length=2,
        max_length=3,
        description=Message("INPUT,OUTPUT or INPUT,OUTPUT,CACHED in USD per million tokens"),
    ),
]
_Thresholds = Annotated[
    tuple[NumberValue, ...],
    Field(strict=False, min_length=1, description=Message("a list of scores such as [0.2, 0.5, 0.8]")),
]
_ScaleName = Annotated[ScaleName, Field(description=Message("'graded' (0-3) or 'binary' (yes/no)"))]
_Language = Annotated[LangChoice, Field(description=Message("'auto', 'zh' or 'en'"))]
_Place = Annotated[Literal["local", "ray"], Field(description=Message("'local' or 'ray'"))]
_AssessorName = Annotated[Literal["judge", "deepeval"], Field(description=Message("'judge' or 'deepeval'"))]


@dataclass(config=STRICT, frozen=True, kw_only=True)
class Config:
    """The options of a run.

    Dataset: `data` is a file; TREC input is `topics`, `docs` and `trec_runs` (files) instead. `columns`
    maps fields to the dataset's own column names, as FIELD=COLUMN.

    Assessor: `panel` names further models that judge the same pairs; `assessor` "deepeval" asks through
    DeepEval. `depth` ranks are judged, `repeats` times. `dates` shows prompts the dates of snippets;
    `as_of` is the day that prompts call today, and implies `dates`. `max_chars` bounds the characters of a
    snippet in a prompt. `rerank_thresholds` are the scores at which the grades of rerankers begin; None fits
    them on the labels of `qrels`. `max_tokens` bounds a reply; None takes 512, with `thinking` 8,192.

    Limits: `timeout` is in seconds per call. `max_wait` is how many seconds the run waits for a server that
    throttles or does not answer. `shutdown_timeout` is how many seconds calls under way get after Ctrl-C.
    `price` is in US dollars per million tokens: input, output and, optionally, cached input; `prices` is a
    file with a table of prices, which comes before the shipped one. `batch` judges through the provider's
    Batch API. `on` "ray" sends requests from the actors of a Ray cluster: the one at `ray_address`, or one
    that is started on this machine. With `near_duplicates`, snippets of a query that hardly differ are judged
    once.

    `diversity`, `points` and `explain` measure the dimensions of these names, beside relevance; the
    `explain_queries` queries with the lowest scores are explained.

    `measures` None takes the defaults for this depth. `source` is no option: it says which file decided
    which option, for error messages. Raises InputError that names the option, its value and what it can be.
    """

    _raise_input_errors = raise_input_errors()

    data: TextValue | None = None
    topics: TextValue | None = None
    docs: TextValue | None = None
    trec_runs: TextList = ()
    columns: _Columns = ()
    model: TextValue = ""
    panel: TextList = ()
    assessor: _AssessorName = "judge"
    base_url: TextValue | None = None
    scale: _ScaleName = "graded"
    lang: _Language = "auto"
    repeats: CountValue = 1
    depth: CountValue = 10
    relevant_from: int | None = None
    rerank_thresholds: _Thresholds | None = None
    dates: bool = False
    as_of: DayValue | None = None
    temperature: NonNegativeNumber = 0.0
    top_p: ShareValue | None = None
    seed: int | None = None
    max_tokens: Annotated[int, Field(ge=16)] | None = None
    thinking: bool = False
    max_chars: Annotated[int, Field(ge=200)] = 4000
    qrels: TextValue | None = None
    check: CountValue | None = None
    prompts: TextValue | None = None
    measures: _Measures | None = None
    min_coverage: ShareValue = 0.99
    concurrency: CountValue = 64
    timeout: Annotated[NumberValue, Field(ge=0.1)] = 60.0
    attempts: CountValue = 5
    max_wait: NonNegativeNumber = 600.0
    shutdown_timeout: NonNegativeNumber = 5.0
    budget: NonNegativeNumber | None = None
    max_calls: Annotated[int, Field(ge=0)] | None = None
    price: _Price | None = None
    batch: bool = False
    on: _Place = "local"
    ray_address: TextValue | None = None
    near_duplicates: bool = False
    diversity: bool = False
    points: bool = False
    explain: bool = False
    explain_queries: CountValue = 20
    prices: TextValue | None = None
    out: TextValue | None = None
    store: TextValue | None = None
    source: ConfigSource = field(default=ConfigSource(), compare=False, repr=False)

    def __post_init__(self) -> None:
        if self.max_tokens is None:
            object.__setattr__(self, "max_tokens", MAX_TOKENS_THINKING if self.thinking else MAX_TOKENS)

    @model_validator(mode="after")
    def _check_together(self) -> Self:
        models = [self.model, *self.panel]
        if len(set(models)) < len(models):
            raise InputError("a model is named twice in {names!r}; a panel's members differ", names=models)
        if self.as_of is not None and not is_day(self.as_of):
            raise InputError("--as-of is {value!r}; it is a day such as 2026-05-01", value=self.as_of)
        if self.out is not None and Path(self.out).name in ("", ".."):
            raise InputError("out is {value!r}; it is a run's own folder, such as runs/one", value=self.out)
        if not 1 <= self.grading.relevant_from <= self.grading.top:
            raise InputError(
                "relevant_from is {value!r}; it is 1 to {top}", value=self.relevant_from, top=self.grading.top
            )
        if self.check is not None and self.qrels is None:
            raise InputError("check takes a sample of labelled pairs; add --qrels FILE, or omit --check")
        if self.ray_address is not None and self.on != "ray":
            raise InputError("ray_address is that of a Ray cluster; add --on ray, or omit --ray-address")
        if self.assessor == "deepeval":
            self._check_deepeval()
        self._check_thresholds()
        asked = [name for name in ("points", "explain") if getattr(self, name)]
        if asked and self.model.startswith(("lexical", RERANKER, DECISION_MODEL)):
            raise InputError(
                "{option} asks a language model, and {model} gives no texts; omit {option}, or name another"
                " model first",
                option=f"--{asked[0]}",
                model=self.model,
            )
        return self

    def _check_thresholds(self) -> None:
        thresholds, top = self.rerank_thresholds, self.grading.top
        if not self.has_reranker:
            return
        if thresholds is None:
            if self.qrels is None:
                raise InputError(
                    "a reranker gives scores, not grades: add --rerank-thresholds with the scores at which"
                    " the grades 1 to {top} begin, or --qrels FILE to fit them on labels",
                    top=top,
                )
        elif len(thresholds) != top or list(thresholds) != sorted(set(thresholds)):
            raise InputError(
                "--rerank-thresholds is {value}; the {scale} scale takes {top} ascending scores",
                value=",".join(map(str, thresholds)),
                scale=self.scale,
                top=top,
            )

    def _check_deepeval(self) -> None:
        if self.scale != "binary":
            raise InputError(
                "DeepEval's verdicts are yes or no: --assessor deepeval goes with --scale binary"
            )
        if any(name.startswith(("lexical", RERANKER, DECISION_MODEL)) for name in (self.model, *self.panel)):
            raise InputError(
                "DeepEval needs a model that answers in JSON; lexical, rerankers and decision models do not:"
                " omit --assessor deepeval"
            )
        if self.prompts is not None:
            raise InputError("--assessor deepeval has its own prompts; omit --prompts")
        if self.batch:
            raise InputError("DeepEval asks one request at a time; omit --batch or --assessor deepeval")

    @property
    def has_reranker(self) -> bool:
        """Whether a model is a reranker."""
        return any(name.startswith(RERANKER) for name in (self.model, *self.panel))

    @property
    def grading(self) -> Scale:
        """The scale, with `relevant_from` if it is given."""
        scale = BINARY if self.scale == "binary" else GRADED
        return scale if self.relevant_from is None else replace(scale, relevant_from=self.relevant_from)

    @property
    def column_names(self) -> dict[str, str]:
        """The dataset's own names of fields, by field."""
        parts = (text.partition("=") for text in self.columns)
        return {name.strip(): column for name, _, column in parts}

    @property
    def shows_dates(self) -> bool:
        """Whether prompts show the dates of snippets."""
        return self.dates or self.as_of is not None

    @property
    def sampling(self) -> Sampling:
        """The sampling parameters of every request."""
        max_tokens = self.max_tokens or MAX_TOKENS
        return Sampling(self.temperature, max_tokens, self.top_p, self.seed, self.thinking)

    def options(self) -> dict[str, Any]:
        """Return every option as a JSON value."""
        values = {name: getattr(self, name) for name in self.option_names()}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def option_names(cls) -> list[str]:
        """Return the names of all options."""
        return [option.name for option in fields(cls) if option.name != "source"]

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """Return the options of the file `toml`, overridden by those of `given` that are not None.

        Raises InputError for an unknown or invalid option; it names the file if the option is there.
        """
        table: dict[str, Any] = read_toml(toml) if toml else {}
        if isinstance(table.get("prices"), list):
            table["prices"] = toml  # the price table is in this file
        given = rename_options({name: value for name, value in given.items() if value is not None})
        source = ConfigSource(toml, keys={name: name for name in cls.option_names() if name not in given})
        with source.error_context():
            table = rename_options(table)
            table = {name: value for name, value in table.items() if name not in OTHER_TABLES | given.keys()}
            cls(**_with_scale(table))  # the file alone, so that the message can name it
        return cls(**_with_scale({**table, **given}), source=source)


def _with_scale(options: dict[str, Any]) -> dict[str, Any]:
    """Return `options` with the only scale that DeepEval has, if DeepEval is the assessor."""
    return {"scale": "binary", **options} if options.get("assessor") == "deepeval" else options
