"""The record of a night, the content of night.json. Version 1, with other words, is read, too."""

import datetime
import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Annotated, Literal, get_args

from pydantic import AfterValidator, BeforeValidator, Field, WithJsonSchema

from judge.analysis.summary import SCHEMA_VERSION
from judge.characters import make_natural_key
from judge.errors import InputError
from judge.measure.intervals import Interval, hide_whole_range
from judge.measure.measures import name_mean
from judge.messages import Bilingual
from judge.pricing.costs import Cost
from judge.records import JsonDict
from judge.runs.folder import RunFolder
from judge.runs.record_json import RenamedKey, check_version, from_json, rename_keys

NIGHT_FILE = "night.json"
Status = Literal[
    "fine",
    "regression",
    "incomplete",
    "assessor drift",
    "no baseline",
    "queries changed",
    "engine settings changed",
]
#: The states of a night. The same command continues one that is "unfinished", since judgments or answers are
#: missing, and one that is "undecided", whose comparison is incomplete although it can be the baseline.
#: Nothing is left to do for one that is "finished", or "stopped" after the canaries, which show drift.
NightState = Literal["unfinished", "undecided", "stopped", "finished"]
#: The exit code of each status: 0 fine, 1 an engine became worse, 3 the engines cannot be compared.
EXIT_CODES: Mapping[Status, int] = {
    **dict.fromkeys(get_args(Status), 3),
    "fine": 0,
    "no baseline": 0,
    "regression": 1,
}
OutcomeName = Literal["fine", "regression", "improvement", "incomplete"]
#: The names of stores in the folder of nights have this before their day: see `stores`.
DRIFTED, BACKUP = "drifted-", "backup-"
_DAY = "[0-9]{4}-[0-9]{2}-[0-9]{2}"
QUARANTINED_STORE = re.compile(rf"verdicts\.{DRIFTED}{_DAY}\.sqlite")
STORE_OF_NIGHT = re.compile(rf"verdicts\.({DRIFTED})?{_DAY}\.sqlite")
#: A text is stored as an object.
_StoredText = Annotated[
    Bilingual,
    WithJsonSchema({"type": "object", "additionalProperties": {"type": "string"}, "required": ["en", "zh"]}),
]
#: Early files of version 1 do not have the count, which means 0.
_Count = Annotated[int, BeforeValidator(lambda count: count or 0)]
#: Nights of Windows, which has another separator, are read on every system.
WITH_SLASHES = AfterValidator(lambda path: path.replace("\\", "/"))
_DriftedStorePath = Annotated[str, Field(pattern=rf"^\.\.[/\\]{QUARANTINED_STORE.pattern}$"), WITH_SLASHES]

_STATUSES_OF_VERSION_1 = {
    "judge drift": "assessor drift",
    "different queries": "queries changed",
    "asked otherwise": "engine settings changed",
}
_KEYS_OF_VERSION_1 = (
    RenamedKey((), "because", "reasons"),
    RenamedKey((), "whole", "complete"),
    RenamedKey((), "paid", "cost_total"),
    RenamedKey((), "apart", "quarantined_store"),
    RenamedKey((), "gate", "regression_test"),
    RenamedKey((), "band", "banner"),
    RenamedKey(("canaries",), "because", "reasons"),
    # The first files of version 2 have it, too.
    RenamedKey(("regression_test", "rows", "*"), "verdict", "outcome"),
)


@dataclass(frozen=True, slots=True, kw_only=True)
class NightMean:
    """An engine's mean by one measure over `n` queries; None where no query has a value.

    `pool_free` says whether the value depends on this engine's results alone, so that nights compare.
    """

    mean: float | None
    ci95: Interval | None
    n: int
    pool_free: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class NightEngineSummary:
    """The part of an `EngineSummary` in night.json: how many queries it answered, and its means by measure.

    `empty`, `errors` and `absent` count queries with an empty list, a failed request and no ranking.
    `judged` is the share of its results with a grade, `no_snippet_share` that of results without text
    besides the title.
    """

    queries: int
    answered: int
    empty: int
    errors: int
    absent: int
    judged: float | None = None
    measures: dict[str, NightMean] = field(default_factory=dict)
    no_snippet_share: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselineReference:
    """The baseline that the night was compared with."""

    name: str
    id: str
    assessor: str
    prompts: dict[str, str]
    served: tuple[str, ...]
    queries: int


@dataclass(frozen=True, slots=True)
class RegressionOutcome:
    """The regression test of one engine by one measure, over the `n` queries that both nights have.

    `change` is `tonight` - `baseline`, `low` to `high` its 95% interval, and `least` to `most` the range over
    all grades that unjudged snippets could have. `p` is the probability of such a drop (for an improvement:
    of such a rise) under no change (paired randomisation, one-sided), `p_holm` is adjusted for all tests of
    the night. `sd` is the standard deviation of the differences, None where fewer than six differ from 0, and
    `detectable` the drop that the test finds with a power of 80%. Unknown values are None.
    """

    engine: str
    measure: str
    n: int
    baseline: float | None
    tonight: float | None
    change: float | None
    low: float | None
    high: float | None
    least: float | None
    most: float | None
    p: float | None
    sd: float | None = None
    p_holm: float | None = None
    outcome: OutcomeName = field(kw_only=True)
    detectable: float | None = None

    @property
    def mean_name(self) -> str:
        """The name of the mean of the measure: MAP for AP."""
        return name_mean(self.measure)

    @property
    def ci95(self) -> Interval | None:
        """The interval of the change, None where it is unknown or the whole range."""
        return None if self.low is None or self.high is None else hide_whole_range((self.low, self.high))


@dataclass(frozen=True, slots=True, kw_only=True)
class RegressionTest:
    """The outcomes of the regression test and its options; `ran` is False where the test was suspended."""

    ran: bool
    alpha: float
    min_drop: float
    measures: tuple[str, ...]
    rows: tuple[RegressionOutcome, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class GradeComparison:
    """The grades of the `compared` canaries beside those at the baseline; None where none is compared.

    `shift` is the mean grade tonight less `baseline_mean`. `changed` pairs have a median that moved by a
    grade or more, `up` or `down`; `unchanged` is the share of the others. `p_changed` is the probability of
    grades this far apart, pair by pair, and `p_shift` that of a shift this large, under the same assessor.
    """

    compared: int = 0
    baseline_mean: float | None = None
    changed: int | None = None
    up: int | None = None
    down: int | None = None
    p_changed: float | None = None
    p_shift: float | None = None
    shift: float | None = None
    unchanged: float | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class CanaryResults(GradeComparison):
    """How the assessor graded the canaries, compared with the baseline.

    `id` identifies the set of pairs. `flips` is the share of pairs of repeats that differ. `drift` tells
    whether they show another assessor, for the `reasons`.
    """

    id: str
    pairs: int
    repeats: int
    judged: int
    failed: int
    mean_grade: float | None
    flips: float | None = None
    drift: bool
    reasons: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class NoRelevantShares:
    """The share of queries without a snippet known to be relevant, tonight and at the baseline."""

    tonight: float | None
    baseline: float | None


@dataclass(frozen=True, slots=True, kw_only=True)
class QueryDrift:
    """How this night's queries differ from those of the baseline.

    A query is `shared` when both ask the same text under the same id; `new` and `gone` count those of one
    side. `distance` is between the texts, `distance_by_chance` its mean under random assignment of the
    texts to two nights, and `p` the share of random assignments with at least this distance. `coverage` is
    the share of this night's queries with a similar one in the baseline, and `uncovered` has some of the
    others.
    """

    tonight: int
    baseline: int
    shared: int
    new: int
    gone: int
    shared_share: float
    no_relevant: NoRelevantShares
    distance: float | None
    distance_by_chance: float | None
    p: float | None
    coverage: float | None = None
    uncovered: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True)
class NightCost(Cost):
    """A cost; `lost` calls have no answer because a process ended early; they may not have been sent."""

    uncounted: _Count = 0
    maybe_billed: _Count = 0
    lost: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSource:
    """Where an engine is asked: its address without secrets, and a digest of each part of its table."""

    address: str
    table: dict[str, str]


@dataclass(frozen=True, slots=True, kw_only=True)
class EngineSettings:
    """All settings that shape what engines answer, without keys."""

    depth: int
    lang: str | None
    country: str | None
    engines: dict[str, EngineSource]


@dataclass(frozen=True, slots=True, kw_only=True)
class NightRecord:
    """All that was measured and decided in a night.

    A night is `finished` when the same command has nothing left to do. It is `complete`, as the baseline must
    be, when its pool was judged and no judgment or answer is missing. `missing` has the reasons about those
    that are missing; a file of an earlier version does not have it. It is `stopped` when it ended after the
    canaries. `cost` is that of all its verdicts, `cost_total` what this night itself paid.
    `quarantined_store` names the store with the verdicts of an assessor that drifted, relative to the night's
    folder. `options_file` is the TOML file of its options, None in files of earlier versions.
    """

    schema: Literal[2]
    date: datetime.date
    status: Status
    exit: int
    reasons: tuple[str, ...]
    finished: bool = False
    complete: bool = False
    missing: tuple[str, ...] = ()
    stopped: bool = False
    remarks: tuple[str, ...]
    assessor: str
    prompts: dict[str, str]
    served: tuple[str, ...]
    scale: str
    relevant_from: int
    depth: int
    repeats: int
    queries: int
    judgments: int | None
    judged: int | None
    coverage: float | None
    failures: dict[str, int]
    engines: dict[str, NightEngineSummary]
    baseline: BaselineReference | None
    regression_test: RegressionTest | None
    canaries: CanaryResults | None
    query_drift: QueryDrift | None
    engine_settings: EngineSettings | None = None
    quarantined_store: _DriftedStorePath | None = None
    cost: NightCost
    cost_total: NightCost | None = None
    banner: tuple[_StoredText, ...] = ()
    options_file: str | None = None

    @property
    def state(self) -> NightState:
        """The state of the night, from `stopped`, `finished` and `complete`."""
        if self.stopped:
            return "stopped"
        if self.finished:
            return "finished"
        return "undecided" if self.complete else "unfinished"

    @property
    def outcomes(self) -> tuple[RegressionOutcome, ...]:
        """The outcomes of the regression test, empty where there was none."""
        return self.regression_test.rows if self.regression_test else ()

    def select_outcomes(self, name: OutcomeName) -> list[RegressionOutcome]:
        """Return the outcomes of this name."""
        return [row for row in self.outcomes if row.outcome == name]

    def find_outcome(self, engine: str, measure: str) -> RegressionOutcome | None:
        """Return the outcome of an engine by a measure, None where there is none."""
        return next((row for row in self.outcomes if (row.engine, row.measure) == (engine, measure)), None)

    @property
    def alpha(self) -> float | None:
        """The level of the regression test, None where there was none."""
        return self.regression_test.alpha if self.regression_test else None

    @property
    def nonsignificant_drops(self) -> tuple[RegressionOutcome, ...]:
        """The drops whose own interval is below 0: one of each engine, with the smallest p.

        They are not significant over all tests. A significant one is a regression, or less than `min_drop`.
        """
        alpha, drops = self.alpha or 0.0, dict[str, RegressionOutcome]()  # without a test, no outcome
        for row in sorted(self.outcomes, key=lambda row: (row.p_holm or 0.0, row.change or 0.0)):
            if row.ci95 and row.ci95[1] < 0 and row.p_holm is not None and row.p_holm >= alpha:
                drops.setdefault(row.engine, row)
        return tuple(drops.values())

    def has_own_value(self, measure: str) -> bool:
        """Return whether the measure is independent of the pool, so that a night alone has its value."""
        means = (results.measures.get(measure) for results in self.engines.values())
        return any(mean.pool_free for mean in means if mean)

    @property
    def regressed(self) -> tuple[str, ...]:
        """The engines that became worse than at the baseline, by name."""
        return tuple(sorted({row.engine for row in self.select_outcomes("regression")}, key=make_natural_key))


def record_from_json(values: JsonDict, place: str) -> NightRecord:
    """Return the record in the JSON object `values`; raise InputError, which names `place` and the key."""
    version = check_version(values, place)
    rename_keys(values, _KEYS_OF_VERSION_1)
    if version == 1:
        status = values.get("status")
        values = {
            "complete": values.get("finished", False),
            **values,
            "status": _STATUSES_OF_VERSION_1.get(str(status), status),
            "schema": SCHEMA_VERSION,
        }
    return from_json(NightRecord, values, place)


def read_record(folder: RunFolder) -> NightRecord | None:
    """Return the record of the night in `folder`, None where there is none; raise InputError when damaged."""
    values = folder.read_if_there(NIGHT_FILE)
    return None if values is None else record_from_json(values, str(folder.path / NIGHT_FILE))


def read_night(folder: RunFolder) -> NightRecord | None:
    """Return the record of the night whose day is the name of `folder`, None where there is none.

    Raises InputError when it is damaged, or of another day.
    """
    record = read_record(folder)
    if record and record.date.isoformat() != folder.path.name:
        raise InputError(
            "{file}: is the record of {day}, not of {other_day}; to run the night, remove {folder}",
            file=folder.path / NIGHT_FILE,
            day=record.date,
            other_day=folder.path.name,
            folder=folder.path,
        )
    return record
