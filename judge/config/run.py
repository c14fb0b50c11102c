"""The options of a run: from the command line or the Python call, else the TOML file, else their defaults."""

from collections.abc import Set
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field
from pydantic.dataclasses import dataclass

from judge.config.environment import copy_environment
from judge.config.option_checks import STRICT, Options, list_options, make_source, option
from judge.config.option_record import ASSESSOR, FILES, INPUT, LIMITS, MEASURING, OTHER_DIMENSIONS
from judge.config.option_types import (
    ColumnNames,
    CountValue,
    DayValue,
    Measures,
    NonNegativeNumber,
    NumberValue,
    PathList,
    PathText,
    PriceNumbers,
    Prices,
    ShareValue,
    TextList,
    TextValue,
    Thresholds,
    Weights,
    WholeNumber,
)
from judge.config.run_checks import check_needed_options, check_tables, check_together, find_unfit_options
from judge.config.toml_file import TABLES, ConfigSource, OptionValues, TomlTable, read_toml, rename_options
from judge.errors import InputError, name_option_in_errors
from judge.messages import Message
from judge.models.providers import FORMS, check_embeddings, split_address
from judge.models.redaction import find_secrets, mask
from judge.records import (
    EXPECTED,
    EXPLAIN_QUERIES,
    MIN_COVERAGE,
    RERANKER,
    SCALES,
    JsonDict,
    LangChoice,
    Sampling,
    Scale,
    ScaleName,
)

#: Default `max_tokens` without and with thinking.
MAX_TOKENS, MAX_TOKENS_THINKING = 512, 8192

_Embeddings = Annotated[
    str, AfterValidator(name_option_in_errors("--diversity-embeddings")(check_embeddings))
]
_input, _assessor = partial(option, group=INPUT), partial(option, group=ASSESSOR)
_measuring, _limit = partial(option, group=MEASURING), partial(option, group=LIMITS)
_file = partial(option, group=FILES)
#: The option of a dimension, and that of one that makes no call, so that `judge score` measures it too.
_dimension = partial(option, group=OTHER_DIMENSIONS, default=False, for_datasets=True)
_free_dimension = partial(_dimension, for_scores=True)


@dataclass(config=STRICT, frozen=True, kw_only=True)
class Config(Options):
    """The options of a run; the text of each says what it does.

    `measures` None takes the defaults for this depth; `rerank_thresholds` None fits them on the labels of
    `qrels`.
    """

    data: TextValue | None = _input(
        "Dataset: .jsonl, .json, .csv, .tsv, .xlsx or .parquet, each also as .gz.",
        example='"results.jsonl"',
        type=list[Path],
        place="argument",
    )
    topics: PathText | None = _input("TREC input: topics (id, tab, text).", example='"topics.tsv"')
    docs: PathText | None = _input(
        "TREC input: documents (.jsonl or .tsv, also .gz).", example='"docs.jsonl"'
    )
    trec_runs: PathList = _input(
        "TREC input: run files, one for each engine.",
        (),
        on_command_line=Message("Repeatable, and more of them can follow it."),
        example='["bm25.run", "dense.run"]',
        flags=("--run",),
    )
    columns: ColumnNames = _input(
        "Names of the dataset's columns by field.",
        (),
        on_command_line=Message("Form: FIELD=COLUMN, e.g. snippet=text,query=q; repeatable."),
        example='{ snippet = "text", query = "q" }',
    )
    complete: bool = _input(
        "Count a query without a row of an engine as an empty list, which scores 0, as trec_eval -c"
        " does; without this option, the query is left out for this engine.",
        False,
    )
    model: Annotated[
        TextValue, Field(description=Message('a text such as "openai:NAME"; further models are in panel'))
    ] = _assessor(
        Message("Model: {forms}.", forms=FORMS), "", example='"openai:NAME"', flags=("--model", "-m")
    )
    panel: TextList = _assessor(
        Message("Further models that judge the same pairs: a panel."),
        (),
        example='["dashscope:NAME"]',
        place="file",
    )
    assessor: Literal["judge", "deepeval"] = _assessor(
        "Prompts: judge (default) or deepeval (needs the extra).", "judge", for_datasets=True
    )
    base_url: TextValue | None = _assessor(
        "Address of the server (default: the provider's).",
        example='"http://localhost:8000/v1"',
        for_scores=True,
    )
    scale: ScaleName = _assessor("graded (0-3, default) or binary (yes/no).", "graded")
    lang: LangChoice = _assessor(
        "Language of the prompt: zh, en or auto (default). auto takes the language of the query; for one word"
        " in Latin letters, digits or symbols, that of its snippets.",
        "auto",
    )
    repeats: Annotated[CountValue, Field(le=100)] = _assessor(
        "Judge the pool N times, to measure stability (default 1).", 1
    )
    depth: CountValue = _assessor("Number of ranks to judge (default 10).", 10, for_datasets=True)
    relevant_from: WholeNumber | None = _assessor(
        "Lowest grade that counts as relevant (default: 2, binary 1).", example="2", for_datasets=True
    )
    rerank_thresholds: Thresholds | None = _assessor(
        "Scores at which a reranker's grades 1, 2, … begin (default: fitted on --qrels).",
        on_command_line=Message("For example 0.2,0.5,0.8."),
        example="[0.2, 0.5, 0.8]",
        for_datasets=True,
    )
    dates: bool = _assessor(
        "Show the snippets' dates in prompts; then a different date makes a different pair.",
        False,
        for_datasets=True,
    )
    as_of: DayValue | None = _assessor(
        "The day that prompts call today, e.g. 2026-05-01; implies --dates.",
        example='"2026-05-01"',
        for_datasets=True,
    )
    prompts: PathText | None = _assessor(
        "Folder with your own zh/ and en/ prompts.", example='"my-prompts"', is_changeable=True
    )
    examples: PathText | None = _assessor(
        "File of labelled pairs that prompts show as examples: query, snippet, grade, reason.",
        example='"examples.jsonl"',
        is_changeable=True,
    )
    temperature: NonNegativeNumber = _assessor("Sampling temperature (default 0).", 0.0)
    top_p: ShareValue | None = _assessor("Nucleus sampling (default: not sent).", example="0.9")
    seed: WholeNumber | None = _assessor("Sampling seed (default: not sent).", example="1")
    max_tokens: Annotated[WholeNumber, Field(ge=16)] | None = _assessor(
        "Maximum tokens of a reply (default 512; 8192 with --thinking)."
    )
    thinking: bool = _assessor("Let the model reason first.", False)
    max_chars: Annotated[WholeNumber, Field(ge=200)] = _assessor(
        Message("Characters of a snippet that a prompt shows."), 4000, place="file"
    )
    qrels: PathText | None = _input(
        "Labels of people that are used as grades; the assessor judges the other pairs. TREC qrels, or CSV"
        " (query_id, snippet_id, grade).",
        example='"labels.csv"',
    )
    check: CountValue | None = _input(
        "With --qrels: number of labelled pairs that the assessor judges, too, to measure agreement (default:"
        " none).",
        example="50",
    )
    measures: Measures | None = _measuring(
        "Measures; the first one decides.",
        on_command_line=Message('For example "nDCG@10 AP@10 P@5".'),
        type=str,
        for_datasets=True,
        for_scores=True,
    )
    min_coverage: ShareValue = _measuring(
        "Share of pairs, and of a dimension's questions, that must be answered (default 0.99).", MIN_COVERAGE
    )
    diversity: bool = _free_dimension(
        "Also measure distinct sites, near-duplicates and similarity of each list; free."
    )
    diversity_embeddings: _Embeddings | None = _free_dimension(
        "Also measure similarity and MMR by embeddings: openai:NAME, dashscope:NAME, local:NAME or lsa."
        " lsa is free.",
        default=None,
        example='"lsa"',
    )
    sites: bool = _free_dimension(
        "Also measure the share of each class of sites (government, forum, …) in each list; free."
    )
    freshness: bool = _free_dimension(
        "Also measure the age of dated results for queries with the column fresh; free."
    )
    expected_gains: bool = _free_dimension(
        "Also score by the probabilities of a decision model: nDCG, DCG, sDCG, P and RBP by expected gains;"
        " free."
    )
    feedback: TextValue | None = _free_dimension(
        "Also compare the verdicts with feedback of users: CSV (query_id, snippet_id, feedback: up, down,"
        " click, skip); free.",
        default=None,
        example='"feedback.csv"',
    )
    costs: Prices = _free_dimension(
        'Also measure what relevant results cost: USD per 1,000 queries of each engine; "list" takes list'
        " prices only; free.",
        default=(),
        on_command_line=Message("Form: ENGINE=USD, e.g. a=5,b=0.3."),
        example="{ tavily = 8.0, own = 0.3 }",
    )
    site_grades: bool = _dimension(
        "Also ask the first model for grades of each site, and for its class where the table has none."
    )
    points: bool = _dimension(
        "Also ask the first model for the information points of each query, and which results state them."
    )
    answers: bool = _dimension(
        "Also ask the first model to answer each query from the results of each engine, and grade the answers"
        " by the reference."
    )
    failures: bool = _dimension(
        "Also ask the first model to sort the reasons of results that are not relevant into classes."
    )
    explain: bool = _dimension(
        "Also ask the first model why each engine has its score, on the queries with the lowest scores."
    )
    explain_queries: CountValue = _dimension(
        "With --explain: number of queries (default 20).", default=EXPLAIN_QUERIES
    )
    controls: bool = _dimension(
        "Also judge snippets of other queries, for the assessor's false-positive rate, and show the ideal"
        " order."
    )
    control_pairs: CountValue = _dimension("With --controls: number of pairs (default 100).", default=100)
    max_false_positives: ShareValue = _dimension(
        "With --controls: highest false-positive rate without a warning (default 0.05).", default=0.05
    )
    weights: Weights = _free_dimension(
        "Also compute a weighted total: relevance, recall (needs --points), quality (--site-grades),"
        " diversity (--diversity); free.",
        default=(),
        on_command_line=Message("For example relevance=0.7,diversity=0.3."),
        example="{ relevance = 1.0 }",
    )
    concurrency: Annotated[CountValue, Field(le=100_000)] = _limit(
        "Maximum number of concurrent calls (default 64).", 64
    )
    timeout: Annotated[NumberValue, Field(ge=0.1)] = _limit(
        "Timeout of a call in seconds (default 60).", 60.0
    )
    attempts: CountValue = _limit("Attempts of a call when the server fails (default 5).", 5)
    max_wait: NonNegativeNumber = _limit(
        "Seconds to wait for a server that limits the rate or is down (default 600).", 600.0
    )
    shutdown_timeout: NonNegativeNumber = _limit(
        Message("Seconds that calls in flight get after Ctrl-C."), 5.0, place="file"
    )
    budget: NonNegativeNumber | None = _limit(
        "Stop when the command has spent this many USD; needs a known price.", example="5.0"
    )
    max_calls: Annotated[WholeNumber, Field(ge=0)] | None = _limit(
        "Stop when the command has made this many calls.", example="20000"
    )
    batch: bool = _limit(
        "Judge through the provider's Batch API: half the price, within 24 hours; to resume, run the"
        " same command again.",
        False,
        for_datasets=True,
    )
    on: Literal["local", "ray"] = _limit(
        "Send requests from this process: local (default), or from a Ray cluster: ray.", "local"
    )
    ray_address: TextValue | None = _limit(
        "With --on ray: HOST:PORT of the cluster (default: one on this machine).", example='"127.0.0.1:6379"'
    )
    near_duplicates: bool = _limit(
        "Judge near-duplicate snippets of a query only once; snippets that differ in a number, a name"
        " or a negation are no near-duplicates.",
        False,
        is_changeable=False,
        for_datasets=True,
    )
    price: PriceNumbers | None = _limit(
        "Price of the model in USD per million tokens: of input, output and, as a third number, cached"
        " tokens.",
        on_command_line=Message("Form: INPUT,OUTPUT[,CACHED]."),
        example="[0.4, 1.2]",
    )
    prices: PathText | None = _limit(
        "TOML file with your own [[prices]] rows, before the shipped ones.", example='"prices.toml"'
    )
    out: PathText | None = _file("Run folder; an existing run is resumed.", example='"runs/tonight"')
    store: PathText | None = _file(
        "Verdict store (default: verdicts.sqlite beside the run folder).",
        example='"runs/verdicts.sqlite"',
        for_scores=True,
    )

    def __post_init__(self) -> None:
        if self.max_tokens is None:
            object.__setattr__(self, "max_tokens", MAX_TOKENS_THINKING if self.thinking else MAX_TOKENS)

    def check_together(self) -> None:
        """Raise InputError for options that contradict each other, or lack one that they need."""
        check_together(self)

    @property
    def models(self) -> tuple[str, ...]:
        """The name of the model, or those of a panel; "" where none is named."""
        return self.model, *self.panel

    def mask_models(self) -> tuple[str, ...]:
        """Return the `models` as files and messages show them: with keys in their addresses masked."""
        secrets = find_secrets(copy_environment())
        return tuple(mask(name, *secrets) if split_address(name)[1] else name for name in self.models)

    @property
    def has_reranker(self) -> bool:
        """Whether a model is a reranker."""
        return any(name.startswith(RERANKER) for name in self.models)

    @property
    def grading(self) -> Scale:
        """The scale, with `relevant_from` if it is given."""
        scale = SCALES[self.scale]
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

    def to_dict(self) -> JsonDict:
        """Return every option as a JSON value."""
        values = {name: getattr(self, name) for name in list_options(type(self))}
        return {name: list(value) if isinstance(value, tuple) else value for name, value in values.items()}

    @classmethod
    def load(cls, toml: Path | None = None, **given: object) -> Self:
        """Return the options of the file `toml`, overridden by those of `given` that are not None.

        Raises InputError for an unknown or invalid option; it names the file if the option is there.
        """
        table: TomlTable = read_toml(toml) if toml else {}
        if isinstance(table.get("prices"), list):
            table["prices"] = toml  # the price table is in this file
        given = rename_options({name: value for name, value in given.items() if value is not None})
        source = make_source(cls, toml, given)
        with source.add_error_context():
            table = rename_options(table)
            check_tables(table.keys() - TABLES - list_options(cls).keys())
        table = {name: value for name, value in table.items() if name not in TABLES | given.keys()}
        # Where the file does not decide the model, its options can be for another kind of model.
        ignored = table.keys() if "model" in given else frozenset[str]()
        try:
            return cls._make({**table, **given}, source, ignored)
        except InputError as error:
            if toml is None or cls._raises(error.message, given):
                raise
            with source.add_error_context():
                if cls._raises(error.message, table):
                    raise
            raise InputError(
                "{file} and the options given with it: {error}",
                file=toml,
                error=source.name_keys_in(error.message),
            ) from None

    @classmethod
    def _raises(cls, message: Message, options: OptionValues) -> bool:
        """Return whether `options` alone are refused with this message."""
        try:
            cls._make(options, ConfigSource())
        except InputError as error:
            return error.message == message
        return False

    @classmethod
    def _make(cls, options: OptionValues, source: ConfigSource, ignored: Set[str] = frozenset()) -> Self:
        """Return the options, without those of `ignored` that none of the models takes; raise InputError."""
        check_needed_options(options)
        if options.get("assessor") == "deepeval" or options.get("model") == EXPECTED:
            options = {"scale": "binary", **options}  # the only scale that they have
        # An option `source` of a file comes last: it is unknown.
        config = cls(**{"source": source, **options})
        unfit = find_unfit_options(config.mask_models(), options, ignored)
        fitting = {name: value for name, value in options.items() if name not in unfit}
        return cls(**fitting, source=source) if unfit else config
