"""The records of summary.json: what a run says of its engines, without the queries.

The names of the fields are the keys of the file. A field is None where the value is unknown. `analyse_run`
builds a `Summary`; `judge.runs.record_json` writes and reads it.
"""

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Final, Literal

from judge.analysis.dimension_summary import DimensionMean, DimensionSummary
from judge.analysis.shared_vendors import SharedVendor
from judge.errors import InputError
from judge.measure.compare import PairComparison
from judge.measure.engine_summary import EngineSummary
from judge.measure.grading_models import Member, PanelResult, ServedModelGrades
from judge.measure.intervals import CountedShare, StatisticValue
from judge.measure.measures import parse_measure
from judge.measure.numeric import make_mean_key
from judge.measure.segments import SegmentResult
from judge.measure.sensitivity import FlaggedEffect, OwnListReversal
from judge.measure.stability import RepeatStability
from judge.messages import SeparatedNames
from judge.pricing.costs import RunCost
from judge.records import ScaleName

#: The version of the layout of summary.json, results.json and agreement.json.
SCHEMA_VERSION: Final = 2


@dataclass(frozen=True, slots=True)
class Controls:
    """Reference points of a run, which are not engines.

    `false_positives` is the share of mismatched pairs (a query with a snippet of another one) that the
    assessor calls relevant, over those with a grade; `pairs` were drawn. The report warns if the lower limit
    of the share is above `bound`. `ideal` is the mean of the pool's best order by measure.
    """

    pairs: int
    false_positives: CountedShare
    bound: float
    ideal: Mapping[str, DimensionMean] = field(default_factory=dict)

    @property
    def too_generous(self) -> bool:
        """Whether the rate of false positives is above the bound, whatever the chance of the draw."""
        interval = self.false_positives.ci95
        return interval is not None and interval[0] > self.bound


@dataclass(frozen=True, slots=True)
class SelfTestFigures:
    """The main figures of a self-test.

    `too_high` is the share of hostile or empty snippets with too high a grade; `plain_too_high` is the same
    with an undefended prompt. `too_low` is the share of relevant snippets with too low a grade. `language` is
    the share of reasons in the language of the query, `obedient` the share of replies in the requested form.
    `irrelevant_too_high` is the share of irrelevant snippets with too high a grade, None in older files.
    """

    probes: int
    repeat: int
    too_high: CountedShare
    plain_too_high: CountedShare
    too_low: CountedShare
    language: CountedShare
    obedient: CountedShare
    irrelevant_too_high: CountedShare | None = None


@dataclass(frozen=True, slots=True)
class SelfTestEntry:
    """The identity of an assessor and the figures of its self-test, None when it has none.

    `options` identify the assessor.
    """

    id: str
    figures: SelfTestFigures | None
    options: Mapping[str, str] = field(default_factory=dict)


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

    `unmatched` labels fit no pair. `check` is None when the assessor judged no labelled pair. `unreturned` is
    None for a file of labels; for the expected documents of the dataset, it counts those that no engine
    returned.
    """

    source: str
    pairs: int
    unmatched: int
    check: LabelCheck | None
    unreturned: int | None = None


@dataclass(frozen=True, slots=True)
class DecidingQuery:
    """A query's difference a - b, and how much of the mean difference it makes up: difference / n."""

    query_id: str
    difference: float
    contribution: float
    query: str


@dataclass(frozen=True, slots=True)
class DecidingQueries:
    """The queries that make most of the difference of the first comparison, the largest first."""

    measure: str
    a: str
    b: str
    n: int
    queries: tuple[DecidingQuery, ...]


@dataclass(frozen=True, slots=True)
class Summary:
    """The figures of a run and its engines: the record of summary.json.

    `results` is the number of results down to `depth`, `pairs` the number of distinct ones, and
    `dedup_saving` the share that this saves. `judged` of `judgments` have a grade; `coverage` is the share.
    `grades` is a hash of all grades. `served` has the models that answered, `failures` counts failed
    judgments by kind, `flagged` the snippets by engine that may contain prompt injection. `segments` is keyed
    by column and value. `cost` is None for several runs combined; their paths are in `runs`. `labels` is None
    when every grade is the assessor's, `controls` without --controls. `near_duplicates` pairs take the
    judgment of another snippet. `dimensions` are those of the options, by name. `stopped` says why the
    judging stopped early, by language; empty where it did not.
    """

    schema: Literal[2]
    assessor: str
    scale: ScaleName
    #: The lowest relevant grade.
    relevant_from: int
    #: Whether prompts show the dates of snippets.
    dates: bool
    #: The number of ranks of each list that are judged.
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
    #: Results, not pairs.
    empty_snippets: int
    flagged: Mapping[str, int]
    #: By the assessor.
    selftest: Mapping[str, SelfTestEntry]
    #: Warnings about the dataset and the labels, and those of the assessors about their grades.
    remarks: tuple[str, ...]
    measures: tuple[str, ...]
    #: Notes about a measure, by its name.
    notes: Mapping[str, str]
    #: On how many queries a measure is undefined, the most of any engine.
    undefined: Mapping[str, int]
    engines: Mapping[str, EngineSummary]
    comparisons: tuple[PairComparison, ...]
    own_list_reversal: OwnListReversal | None
    segments: Mapping[str, Mapping[str, SegmentResult]]
    stability: RepeatStability | None
    panel: PanelResult | None
    #: Assessors that share a vendor with an engine, or with another member of a panel.
    self_preference: tuple[SharedVendor, ...]
    flagged_sensitivity: FlaggedEffect | None
    deciding_queries: DecidingQueries | None
    cost: RunCost | None
    runs: tuple[str, ...] = ()
    labels: LabelUse | None = None
    controls: Controls | None = None
    near_duplicates: int = 0
    dimensions: Mapping[str, DimensionSummary] = field(default_factory=dict)
    stopped: Mapping[str, str] = field(default_factory=dict)

    @property
    def members(self) -> tuple[Member, ...]:
        """The members of a panel; none for a single assessor."""
        return self.panel.members if self.panel else ()

    @property
    def against(self) -> str | None:
        """The engine with which all others are compared, None where other pairs are compared, too."""
        engine_pairs = {frozenset((comparison.a, comparison.b)) for comparison in self.comparisons}
        if self.runs or len(self.engines) < 3 or len(engine_pairs) != len(self.engines) - 1:
            return None
        return next(iter(frozenset.intersection(*engine_pairs)), None)

    def find_incomplete_member(self, min_coverage: float) -> Member | None:
        """Return the first member of a panel that graded less than this share of what no label grades."""
        min_judged = min_coverage * (self.judgments - self.labelled)
        return next((member for member in self.members if member.judged < min_judged), None)

    def select_comparisons(self, measure: str | None) -> list[PairComparison]:
        """Return the comparisons by `measure`."""
        return [comparison for comparison in self.comparisons if comparison.measure == measure]

    def choose_measures(self, names: Iterable[str] | None) -> Sequence[str]:
        """Return the measures called `names` (None: the first that engines are compared by).

        Raises InputError when engines are not compared by one.
        """
        compared = list(dict.fromkeys(comparison.measure for comparison in self.comparisons))
        if names is None:
            return compared[:1]
        chosen = [str(parse_measure(name)) for name in names]
        for name in chosen:
            if compared and name not in compared:
                raise InputError(
                    "engines are not compared by {name}; name one of these measures: {names}",
                    name=name,
                    names=SeparatedNames(compared),
                )
        return chosen

    def sort_engines(self, measure: str) -> list[str]:
        """Return the engines, highest mean first, those without a mean last; equal ones as in `engines`."""
        return sorted(self.engines, key=lambda name: make_mean_key(self.engines[name].measures[measure].mean))

    @property
    def deciding_measure(self) -> str:
        """The measure that decides; empty when no engines are compared."""
        return self.comparisons[0].measure if self.comparisons else ""

    @property
    def main_measure(self) -> str:
        """The measure that decides, or the first one where no engines are compared."""
        return self.deciding_measure or self.measures[0]

    @property
    def labelled(self) -> int:
        """The number of judgments whose grade is the label of a person."""
        return self.labels.pairs * self.repeats if self.labels else 0
