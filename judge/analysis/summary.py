"""The records of summary.json: what a run says of its engines, without the queries.

The names of the fields are the keys of the file. A field is None where the value is unknown. `analyse`
in `judge.analysis.run_analysis` builds a `Summary`; `judge.runs.record_json` writes and reads it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final, Literal

from judge.measure.bias import SharedVendor
from judge.measure.compare import Outcome
from judge.measure.engine_summary import Latency, RerankRelevancy, TokenCount
from judge.measure.panel_agreement import Member, MemberPair
from judge.measure.stability import VarianceComponents
from judge.records import ScaleName

#: The version of the layout of summary.json, results.json and agreement.json.
SCHEMA_VERSION: Final = 2

#: The two ends of a 95 % interval, or the lowest and the highest possible value.
Interval = tuple[float, float]


@dataclass(frozen=True, slots=True)
class StatisticValue:
    """A statistic with its 95 % interval; `why` gives the reason where one of the two is unknown."""

    value: float | None
    ci95: Interval | None
    why: str | None = None


@dataclass(frozen=True, slots=True)
class ServedModelGrades:
    """The grades that one model gave: how many, how many relevant, their mean, and how many by engine."""

    judgments: int
    relevant: int
    mean_grade: float
    engines: Mapping[str, int]


@dataclass(frozen=True, slots=True)
class SelfTestShare:
    """`count` of `of` probes, as a share with its 95 % interval."""

    count: int
    of: int
    value: float | None
    ci95: Interval | None


@dataclass(frozen=True, slots=True)
class SelfTestFigures:
    """The main figures of a self-test.

    `too_high` is the share of hostile or empty snippets with a good grade, `plain_too_high` the same with
    an undefended prompt, `too_low` the share of relevant snippets with a poor grade. `language` is the
    share of reasons in the language of the query, `obedient` the share of replies in the requested form.
    """

    probes: int
    repeat: int
    too_high: SelfTestShare
    plain_too_high: SelfTestShare
    too_low: SelfTestShare
    language: SelfTestShare
    obedient: SelfTestShare


@dataclass(frozen=True, slots=True)
class SelfTestEntry:
    """The identity of an assessor and the figures of its self-test, None when it has none."""

    id: str
    figures: SelfTestFigures | None


@dataclass(frozen=True, slots=True)
class LabelCheck:
    """How far the assessor agrees with people on a sample of the labelled pairs of the run.

    Of `pairs`, the assessor gave a grade to `judged`, on `queries` queries. `same_grade` is the share with
    equal grades, `same_side` the share that both call relevant or not relevant, `kappa` Cohen's on grades,
    `bias` the mean of assessor - people.
    """

    pairs: int
    judged: int
    queries: int
    same_grade: StatisticValue
    same_side: StatisticValue
    kappa: StatisticValue
    bias: StatisticValue


@dataclass(frozen=True, slots=True)
class LabelUse:
    """Labels of people as grades of a run: `pairs` of the pool have a label in the file `source`.

    `unmatched` labels fit no pair. `check` is None when the assessor judged no labelled pair.
    """

    source: str
    pairs: int
    unmatched: int
    check: LabelCheck | None


@dataclass(frozen=True, slots=True)
class MeasureMean:
    """The mean of one measure for one engine, over `n` queries.

    `ci95` is a t interval over the queries. `bounds` are the lowest and the highest mean over all grades
    of the unjudged snippets. On `undefined` queries the measure has no value, on `unknown` ones only
    unjudged snippets can give it one. `paired` is the mean over the `paired_n` queries where every engine
    has a value.
    """

    mean: float | None
    n: int
    ci95: Interval | None
    bounds: tuple[float | None, float | None]
    undefined: int
    unknown: int
    paired: float | None
    paired_n: int


@dataclass(frozen=True, slots=True)
class EngineResult:
    """What one engine returned and scored.

    `queries` = `answered` + `empty` + `errors` + `absent` (no ranking in the dataset). `judged` is the
    share of its snippets with a grade, `duplicates` the share that repeat a document of the same list,
    `unique` the share of the documents of the pool that only this engine returned. `no_snippet_share` is
    the share of its results with no text besides a title. `measures` is keyed by the name of the measure.
    `rerank_relevancy` is None unless the assessor is a reranker.
    """

    queries: int
    answered: int
    empty: int
    errors: int
    absent: int
    judged: float | None
    duplicates: float | None
    unique: float | None
    measures: Mapping[str, MeasureMean]
    latency_ms: Latency | None
    tokens: TokenCount | None
    no_snippet_share: float | None
    rerank_relevancy: RerankRelevancy | None = None


@dataclass(frozen=True, slots=True)
class PairComparison:
    """Engine `a` compared with engine `b` by one measure; `a` has the higher mean, or the earlier name.

    `decides` marks the first measure; comparisons by others are descriptive. `verdict` is the outcome in
    words, `winner` is `a` or None. `difference` is the mean of a - b over the `n` queries where both have
    a value, `ci95` its simultaneous interval, `bounds` its range over all grades of the unjudged snippets.
    `d_z` is the difference divided by its standard deviation `sd`. `robust` says whether the interval
    excludes 0 with any of these grades. `detectable` is the true difference that `n` queries find with
    80 % power, `detectable_doubled` the same for 2·n queries. `at_least_queries` is the least number of
    queries that can separate the pair.
    """

    measure: str
    decides: bool
    a: str
    b: str
    verdict: str
    winner: str | None
    outcome: Outcome
    n: int
    difference: float | None
    ci95: Interval | None
    bounds: Interval | None
    sd: float | None
    d_z: float | None
    wins: int
    ties: int
    losses: int
    robust: bool | None
    p_adjusted: float | None
    detectable: float | None
    detectable_doubled: float | None
    at_least_queries: int | None


@dataclass(frozen=True, slots=True)
class OwnListReversal:
    """Two engines whose order is reversed when each is normalised by its own list instead of the pool.

    By `measure` engine `better` is ahead, by `own` engine `worse`. `pooled` and `alone` are the means of
    (better, worse) by the two, `relevant` the relevant results that each shows a query, over `n` queries.
    `significant` says whether the comparison by `measure` names `better` as well.
    """

    measure: str
    own: str
    better: str
    worse: str
    pooled: tuple[float, float]
    alone: tuple[float, float]
    relevant: tuple[float, float]
    n: int
    significant: bool


@dataclass(frozen=True, slots=True)
class SegmentMean:
    """The mean of one measure for one engine in a segment."""

    mean: float | None
    ci95: Interval | None
    n: int


@dataclass(frozen=True, slots=True)
class SegmentContrast:
    """How the difference a - b differs between a segment (`inside`) and the other queries (`outside`)."""

    a: str
    b: str
    inside: float | None
    outside: float | None
    difference: float | None
    ci95: Interval | None
    p_adjusted: float | None
    differs: bool


@dataclass(frozen=True, slots=True)
class SegmentResult:
    """The queries with one value of a column: means by engine and measure, comparisons, contrasts."""

    queries: int
    engines: Mapping[str, Mapping[str, SegmentMean]]
    comparisons: tuple[PairComparison, ...]
    contrasts: tuple[SegmentContrast, ...]


@dataclass(frozen=True, slots=True)
class EngineStability:
    """The means of one engine in every repeat: mean, standard deviation, range, ICC and TOST p-value."""

    means: tuple[float | None, ...]
    mean: float | None
    sd: float | None
    range: float | None
    icc: float | None
    tost_p: float | None


@dataclass(frozen=True, slots=True)
class MeasureStability:
    """One measure over the repeats; `equivalent` says whether all means stay within the margin."""

    engines: Mapping[str, EngineStability]
    largest_difference: float | None
    smallest_tau: float | None
    variance: VarianceComponents | None
    tost_p: float | None
    equivalent: bool | None


@dataclass(frozen=True, slots=True)
class RepeatStability:
    """How alike the repeats are, over `pairs` that were judged at least twice.

    `flip_rate` is the chance that two judgments of a pair differ in relevant or not, `grade_change_rate`
    that they differ in grade, `ever_flipped` the share of pairs with any flip. `alpha` is Krippendorff's.
    """

    repeats: int
    pairs: int
    flip_rate: StatisticValue
    grade_change_rate: StatisticValue
    ever_flipped: StatisticValue
    alpha: StatisticValue
    fleiss_kappa: float | None
    margin: float
    measures: Mapping[str, MeasureStability]


@dataclass(frozen=True, slots=True)
class PanelResult:
    """How far the members of a panel agree.

    `agreement` treats the members that `responded` as repeats. Of the `judged` pairs, members differ on
    `split`; `ties` have two middle grades, of which the panel takes the lower, and for `deciding_ties`
    only one of the two is relevant. `ties_high` has the means by measure and engine with the higher ones.
    """

    members: tuple[Member, ...]
    pairs: tuple[MemberPair, ...]
    agreement: RepeatStability | None
    responded: tuple[str, ...]
    judged: int
    split: int
    ties: int
    deciding_ties: int
    ties_high: Mapping[str, Mapping[str, float | None]]


@dataclass(frozen=True, slots=True)
class FlaggedMeans:
    """An engine's mean as it is, with flagged pairs graded 0, and without these pairs."""

    unchanged: float | None
    zeroed: float | None
    dropped: float | None


@dataclass(frozen=True, slots=True)
class FlaggedWinners:
    """The engine that is best in each of the three ways of `FlaggedMeans`, None where none is named."""

    unchanged: str | None
    zeroed: str | None
    dropped: str | None


@dataclass(frozen=True, slots=True)
class FlaggedEffect:
    """What the `pairs` that may contain prompt injection do to the order of the engines by `measure`.

    Each of the `swapped` pairs of engines changes places. `order_changes` also covers another winner.
    """

    measure: str
    pairs: int
    engines: Mapping[str, FlaggedMeans]
    winners: FlaggedWinners
    swapped: tuple[tuple[str, str], ...]
    order_changes: bool


@dataclass(frozen=True, slots=True)
class DecidingQuery:
    """A query's difference a - b, and how much of the mean difference it makes up: difference / n."""

    query_id: str
    difference: float
    contribution: float
    query: str


@dataclass(frozen=True, slots=True)
class DecidingQueries:
    """The queries that make most of the difference between the two best engines, the largest first."""

    measure: str
    a: str
    b: str
    n: int
    queries: tuple[DecidingQuery, ...]


@dataclass(frozen=True, slots=True)
class PriceUsed:
    """The price that the cost is computed with, in US dollars per million tokens."""

    input: float
    output: float
    cached: float
    as_of: str | None
    source: str


@dataclass(frozen=True, slots=True)
class RunCost:
    """What the judgments of a run cost, failed calls included; `usd` is None where the price is unknown.

    `uncounted` calls returned no token count. `maybe_billed` calls returned no response.
    """

    calls: int
    prompt_tokens: int
    cached_tokens: int
    completion_tokens: int
    usd: float | None
    uncounted: int
    maybe_billed: int
    price: PriceUsed | None


@dataclass(frozen=True, slots=True)
class Summary:
    """What a run says of its engines.

    `results` is the number of results down to `depth`, `pairs` the number of distinct ones, and
    `dedup_saving` the share that this saves. `judged` of `judgments` have a grade; `coverage` is the
    share. `grades` is a hash of all grades. `served` has the models that answered, `failures` counts
    failed judgments by kind, `flagged` the snippets by engine that may contain prompt injection.
    `segments` is keyed by column and value. `cost` is None for several runs combined, whose paths are
    in `runs`. `labels` is None when every grade is the assessor's. `near_duplicates` pairs take the
    judgment of another snippet.
    """

    schema: Literal[2]
    assessor: str
    scale: ScaleName
    relevant_from: int
    dates: bool
    depth: int
    repeats: int
    queries: int
    results: int
    pairs: int
    dedup_saving: float
    judgments: int
    judged: int
    grades: str
    coverage: float
    served: Mapping[str, ServedModelGrades]
    failures: Mapping[str, int]
    empty_snippets: int
    flagged: Mapping[str, int]
    selftest: Mapping[str, SelfTestEntry]
    remarks: tuple[str, ...]
    measures: tuple[str, ...]
    notes: Mapping[str, str]
    undefined: Mapping[str, int]
    engines: Mapping[str, EngineResult]
    comparisons: tuple[PairComparison, ...]
    own_list_reversal: OwnListReversal | None
    segments: Mapping[str, Mapping[str, SegmentResult]]
    stability: RepeatStability | None
    panel: PanelResult | None
    self_preference: tuple[SharedVendor, ...]
    flagged_sensitivity: FlaggedEffect | None
    deciding_queries: DecidingQueries | None
    cost: RunCost | None
    runs: tuple[str, ...] = ()
    labels: LabelUse | None = None
    near_duplicates: int = 0

    @property
    def labelled(self) -> int:
        """The number of judgments whose grade is the label of a person."""
        return self.labels.pairs * self.repeats if self.labels else 0
