"""The trend: the values of engines and canaries night by night, read from the records of the nights.

Nothing is stored beside the nights, so a folder that is copied, cleaned or repaired has its trend at once.
"""

import datetime
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from itertools import chain, compress
from pathlib import Path

from judge.characters import escape_controls, make_natural_key
from judge.config.option_types import is_day
from judge.errors import InputError
from judge.measure.measures import name_mean
from judge.messages import ENGLISH, Message, NameList, Translator, join_messages
from judge.nightly.baseline import read_pointer
from judge.nightly.decision import list_reasons
from judge.nightly.record import NIGHT_FILE, NightRecord, RegressionOutcome, Status, read_night
from judge.nightly.trend_changes import Change, Kind, find_breaks, find_changes, list_night_assessors
from judge.runs.folder import RunFolder
from judge.runs.load import CONFIG_FILE, read_config

#: The measure that comes first: its ideal is fixed, so its values are comparable over all nights.
_FIRST_MEASURE = "sDCG@"


@dataclass(frozen=True, slots=True)
class TrendValue:
    """A value with its 95% interval, where one is known, over `n` queries."""

    value: float
    ci95: tuple[float, float] | None
    n: int


@dataclass(frozen=True, slots=True)
class History:
    """The records of the nights by date, a sentence for each damaged one, and how to resume unfinished ones.

    `resume_commands` has a command for each night that is incomplete, by day, and for each day without a
    record whose folder holds something: the night was killed, or is running. Days up to that of the baseline
    are left out, because a night is only compared with an earlier one.
    """

    nights: tuple[NightRecord, ...]
    damaged: tuple[str, ...]
    resume_commands: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class NightTrend:
    """What happened on a night: its status and reasons, and what `changed` since the night before.

    `breaks` says whether its values are not comparable with those of the night before. `other_reasons` are
    the reasons without those about the `regressed` engines, which come first.
    `nonsignificant_drops` are those of a `NightRecord`, `alpha` is the level of its regression test.
    """

    date: datetime.date
    status: Status
    regressed: tuple[str, ...]
    changed: tuple[Change, ...]
    breaks: bool
    reasons: tuple[str, ...]
    other_reasons: tuple[str, ...]
    cost_total_usd: float | None
    alpha: float | None = None
    nonsignificant_drops: tuple[RegressionOutcome, ...] = ()


@dataclass(frozen=True, slots=True)
class EngineTrend:
    """An engine's value on each night.

    `first`, `last`, `min` and `max` leave out nights that are not comparable with the others, and those on
    which answers for the comparison of the engine are missing. `to_baseline` is the change from the current
    baseline on the night of `last`, None where that was not measured.
    """

    values: tuple[TrendValue | None, ...]
    first: float | None
    last: float | None
    min: float | None
    max: float | None
    to_baseline: TrendValue | None


@dataclass(frozen=True, slots=True)
class Trend:
    """The trend by one measure; values and `canaries` (the unchanged share) are in the order of `nights`.

    `left_out` says whether nights are not comparable and left out of the ends of trends.
    """

    measure: str
    kind: Kind
    nights: tuple[NightTrend, ...]
    engines: dict[str, EngineTrend]
    canaries: tuple[float | None, ...]
    left_out: bool
    damaged: tuple[str, ...]
    resume_commands: Mapping[str, str]


def read_history(folder: Path) -> History:
    """Return the nights in `folder` that have a record; raise InputError when there is none at all."""
    nights, damaged = [], []
    for path in sorted(folder.glob(f"*/{NIGHT_FILE}")):
        try:
            if record := read_night(RunFolder(path.parent)):
                nights.append(record)
        except InputError as error:
            damaged.append(error.message)
    unfinished = {
        night.date.isoformat(): night for night in nights if night.state in ("unfinished", "undecided")
    }
    commands, baseline_day = {}, _read_baseline_day(folder)
    for path in sorted(folder.glob("????-??-??")):
        if path.name <= baseline_day:
            continue
        # A night that was begun and has no record.
        is_begun = is_day(path.name) and not (path / NIGHT_FILE).exists() and any(path.glob("[!.]*"))
        if is_begun or path.name in unfinished:
            commands[path.name] = _make_resume_command(path, unfinished.get(path.name))
    if not nights and not damaged:
        if commands:
            raise InputError(
                "{folder}: contains no finished night; resume one with: {command}",
                folder=folder,
                command=[*commands.values()][-1],
            )
        raise InputError(
            "{folder}: contains no finished night; make one with: judge nightly FILE (the TOML file of its"
            " options, by default judge.toml), or name another folder of nights: judge trend FOLDER",
            folder=folder,
        )
    return History(tuple(nights), tuple(damaged), commands)


def read_last_judged_night(folder: Path) -> NightRecord | None:
    """Return the last night in `folder` that can be read and judged something, None where there is none."""
    with suppress(InputError):
        for night in reversed(read_history(folder).nights):
            if night.judgments is not None or night.canaries:
                return night
    return None


def _read_baseline_day(folder: Path) -> str:
    """Return the day of the night that is the baseline, "" where there is none or it is no night."""
    with suppress(InputError):
        if (pointer := read_pointer(folder)) and is_day(pointer.name):
            return pointer.name
    return ""


def _make_resume_command(night: Path, record: NightRecord | None) -> str:
    """Return the command that resumes the night in a folder, with its file of options.

    A night that was killed before it judged has not recorded the file; then it is that of the last night that
    has, or `FILE` where none has.
    """
    toml = (record and record.options_file) or next(_iter_options_files(night), "FILE")
    return shlex.join(["judge", "nightly", escape_controls(toml), "--date", night.name])


def _iter_options_files(night: Path) -> Iterator[str]:
    """Yield the files of options that the runs of a night name, and then those of other nights."""
    other_nights = sorted(night.parent.glob(f"????-??-??/{CONFIG_FILE}"), reverse=True)
    for file in chain([night / CONFIG_FILE], night.glob(f"*/{CONFIG_FILE}"), other_nights):
        with suppress(InputError):  # of a file that is missing or damaged
            if toml := read_config(RunFolder(file.parent)).options_file:
                yield toml


def describe_unfinished(t: Translator, day: str, command: str) -> str:
    """Return that a night is incomplete, and the command that resumes it."""
    return t("{day} is incomplete; to continue this night: {command}", day=day, command=command)


def make_trend(
    history: History, engine: str | None = None, measure: str | None = None, t: Translator = ENGLISH
) -> Trend:
    """Return the trend by `measure` (None: the first that compares nights), of all engines or of one.

    The reasons of the nights are in the language of `t`. Raises InputError for a name that no night has.
    """
    nights = history.nights
    if not nights:
        raise InputError("no night can be read: {reasons}", reasons=join_messages(history.damaged))
    kinds = list_trend_measures(nights)
    advice = Message("; for the trend of another measure, add it to measures in [nightly]")
    chosen = _match_name(measure, kinds, Message("measure"), advice) if measure else next(iter(kinds), "")
    names = list_engines(nights)
    engines = (_match_name(engine, names, Message("engine")),) if engine else names
    kind = kinds.get(chosen, "mean")
    changes = find_changes(nights)
    breaks = find_breaks(nights, changes, kind)
    comparable = list(zip(nights, _mark_comparable_nights(nights), strict=True))
    counted = {
        name: [is_counted and has_comparison(night, name, chosen) for night, is_counted in comparable]
        for name in engines
    }
    return Trend(
        measure=chosen,
        kind=kind,
        nights=tuple(
            _make_night_trend(night, changed, t, breaks=at in breaks)
            for at, (night, changed) in enumerate(zip(nights, changes, strict=True))
        ),
        engines={name: _make_engine_trend(nights, counted[name], name, chosen, kind) for name in engines},
        canaries=tuple(night.canaries.unchanged if night.canaries else None for night in nights),
        left_out=not all(map(all, counted.values())),
        damaged=history.damaged,
        resume_commands=history.resume_commands,
    )


def _make_night_trend(
    night: NightRecord, changed: tuple[Change, ...], t: Translator, *, breaks: bool
) -> NightTrend:
    reasons = tuple(reason.choose(t) for reason in list_reasons(night))
    return NightTrend(
        date=night.date,
        status=night.status,
        regressed=night.regressed,
        changed=changed,
        breaks=breaks,
        reasons=reasons,
        other_reasons=reasons[len(night.select_outcomes("regression")) :],
        cost_total_usd=night.cost_total.usd if night.cost_total else None,
        alpha=night.alpha,
        nonsignificant_drops=night.nonsignificant_drops,
    )


def _match_name(name: str, names: Collection[str], what: str, advice: str = "") -> str:
    """Return the one of `names` that `name` is, in any case, or the mean of.

    Raises InputError for none, with `advice` at its end.
    """
    if name in names:
        return name
    for candidate in names:
        if name.casefold() in (candidate.casefold(), name_mean(candidate).casefold()):
            return candidate
    raise InputError(
        "no night has a trend of {what} {name!r}; there is {names}{advice}",
        what=what,
        name=name,
        names=NameList(names) if names else Message("none"),
        advice=advice,
    )


def _make_engine_trend(
    nights: Sequence[NightRecord], counted: Sequence[bool], engine: str, measure: str, kind: Kind
) -> EngineTrend:
    values = list_trend_values(nights, engine, measure, kind)
    numbers = [value.value for value in compress(values, counted) if value]
    last = next((at for at in reversed(range(len(nights))) if counted[at] and values[at]), None)
    return EngineTrend(
        values=values,
        first=numbers[0] if numbers else None,
        last=numbers[-1] if numbers else None,
        min=min(numbers, default=None),
        max=max(numbers, default=None),
        to_baseline=None if last is None else find_baseline_change(nights, last, engine, measure),
    )


def has_comparison(night: NightRecord, engine: str, measure: str) -> bool:
    """Return whether no answer that the comparison of an engine needs is missing on a night.

    Where the measure is not tested, the other measures decide, and without a test the whole night does.
    """
    of_engine = [outcome for outcome in night.outcomes if outcome.engine == engine]
    own = [outcome for outcome in of_engine if outcome.measure == measure] or of_engine
    return any(outcome.outcome != "incomplete" for outcome in own) if own else night.state != "unfinished"


def _mark_comparable_nights(nights: Sequence[NightRecord]) -> list[bool]:
    """Return for each night whether it is comparable with the others.

    That is a night with all grades, with the queries and engine settings of its baseline, and with the
    assessor of the last night without drift.
    """
    of_night = list(zip(list_night_assessors(nights), nights, strict=True))
    last = [assessor for assessor, night in of_night if night.status != "assessor drift"][-1:]
    left_out = ("incomplete", "queries changed", "engine settings changed")
    return [[assessor] == last and night.status not in left_out for assessor, night in of_night]


def list_engines(nights: Sequence[NightRecord]) -> tuple[str, ...]:
    """Return the engines of all nights, by name."""
    return tuple(sorted({engine for night in nights for engine in night.engines}, key=make_natural_key))


def list_trend_measures(nights: Sequence[NightRecord]) -> dict[str, Kind]:
    """Return the measures that have a trend with its kind: means first, sDCG before others, then changes."""
    means = {
        measure
        for night in nights
        for results in night.engines.values()
        for measure, mean in results.measures.items()
        if mean.pool_free and mean.mean is not None
    }
    tested = {outcome.measure for night in nights for outcome in night.outcomes} - means
    ordered = sorted(means, key=lambda measure: (not measure.startswith(_FIRST_MEASURE), measure))
    return {**dict.fromkeys(ordered, "mean"), **dict.fromkeys(sorted(tested), "change")}


def list_trend_values(
    nights: Sequence[NightRecord], engine: str, measure: str, kind: Kind
) -> tuple[TrendValue | None, ...]:
    """Return the engine's value on each night, None where it has none."""
    value_of = _find_mean if kind == "mean" else _find_change
    return tuple(value_of(night, engine, measure) for night in nights)


def _find_mean(night: NightRecord, engine: str, measure: str) -> TrendValue | None:
    mean = night.engines[engine].measures.get(measure) if engine in night.engines else None
    if mean is None or mean.mean is None or not mean.pool_free:
        return None
    return TrendValue(mean.mean, mean.ci95, mean.n)


def _find_change(night: NightRecord, engine: str, measure: str) -> TrendValue | None:
    outcome = night.find_outcome(engine, measure)
    if outcome is None or outcome.change is None:
        return None
    return TrendValue(outcome.change, outcome.ci95, outcome.n)


def find_baseline_change(
    nights: Sequence[NightRecord], at: int, engine: str, measure: str
) -> TrendValue | None:
    """Return the change of the engine from the current baseline on a night, None where none was measured."""
    baseline, current = nights[at].baseline, nights[-1].baseline
    if (baseline and baseline.id) != (current and current.id):
        return None
    return _find_change(nights[at], engine, measure)
