"""Owns what `judge nightly` and `judge baseline` do: from judge.toml to a night that is told, or a baseline.

One process at a time works on a folder of nights.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge import factory
from judge.assess.watch import Watch
from judge.config.loader import ConfigSource, section
from judge.config.nightly import NIGHTS_FOLDER, SET_BASELINE_COMMAND, NightlyConfig
from judge.config.run import Config, environment, is_day
from judge.dataset.clean import escape_controls
from judge.errors import InputError, StoreError
from judge.measure.measures import Measure, parse_measures
from judge.nightly import baseline, begun, notices, stores, trend_page
from judge.nightly.alone import alone
from judge.nightly.collecting import collected
from judge.nightly.differences import different
from judge.nightly.history import RECORD
from judge.nightly.night import finished, night
from judge.nightly.notices.webhook import Webhook
from judge.nightly.tonight import Tonight
from judge.report.words import listed
from judge.runs.folder import RunFolder, reading_run
from judge.saved_runs import report

#: The files of a dataset in TREC's form.
_TREC = ("topics", "docs", "trec_runs")
#: What a first judge.toml holds.
_FIRST = (
    'to begin with, write two lines into it: model = "openai:NAME" and data = "results.jsonl" (or a table'
    " [collect] with queries and engine, to ask engines every night)"
)


@dataclass(frozen=True, slots=True)
class Told:
    """A night's record and the lines that tell of it."""

    record: Mapping[str, Any]
    lines: tuple[str, ...]


def nightly(toml: Path, day: str, watch: Watch | None = None, canary_watch: Watch | None = None) -> Told:
    """Does the night of `day` that `toml` asks for, or what is left of it, and tells of it.

    `canary_watch` follows the judging of canaries, `watch` that of the engines' results.
    Raises InputError before anything is paid when an option, the dataset or `day` is wrong, or another
    process is at work on these nights; Interrupted after Ctrl-C; StoreError when the disk takes no more.
    """
    tonight, environ = _asked(toml, day), environment()
    folder, webhook = tonight.folder, tonight.rules.webhook
    if webhook:
        with ConfigSource(toml).about():
            Webhook.of(webhook, environ)  # a bad one is not found out after all is paid
    if folder.path.is_symlink():
        raise InputError(
            f"{folder.path}: is a symbolic link; a night writes into a folder of its own: remove it"
        )
    with alone(tonight.nights, f"judge nightly --date {day}"):
        record = finished(folder, tonight.rules)
        also = _changed(record, tonight) if record else []
        if record is None:
            record = night(_begun(tonight, toml), watch, canary_watch)
        # Told again when it was finished before: a process may have died between judging and telling.
        if record["coverage"] is not None:
            also += _drawn("report", lambda: report(folder.path))
        lines = notices.write(folder.path, record, environ, webhook=webhook or None)
        also += _drawn("trend", lambda: trend_page.write(tonight.nights))
    return Told(record, (*lines, *notices.quiet(also, environ)))


def _changed(record: Mapping[str, Any], tonight: Tonight) -> list[str]:
    """What judge.toml says otherwise than when the night was finished: a line, for nothing of it is done."""
    changed = begun.asked_otherwise(tonight.folder, tonight.config)
    for name, now in (("alpha", tonight.rules.alpha), ("min_drop", tonight.rules.min_drop)):
        changed += different({name: (record["gate"] or {name: now})[name]}, {name: now})
    stays = f"the night stays as it is; to do it anew, remove {tonight.folder.path}"
    return [f"judge.toml has changed since: {'; '.join(changed)}; {stays}"] if changed else []


def _drawn(what: str, draw: Callable[[], Path]) -> list[str]:
    """What kept a page from being drawn: a line, for it changes nothing that the night came to."""
    try:
        draw()
    except (InputError, StoreError) as error:
        return [f"{what}: not drawn: {escape_controls(str(error))}"]
    return []


def nights_of(run: Path) -> Path:
    """The folder of the nights of which `run` is one; the usual one when it is none."""
    run = run.resolve()
    return run.parent if (run / RECORD).exists() else Path(NIGHTS_FOLDER)


def set_baseline(run: Path, nights: Path) -> Mapping[str, Any]:
    """Freezes the run in folder `run` as the baseline of `nights`; gives its name, id and what it holds.

    What judges that drifted said is of no more use, unless `run` is of one of them, and goes.
    Raises InputError when `run` is no finished run or no yardstick (see `baseline.freeze`), or another
    process is at work on the nights.
    """
    with alone(nights, f"judge baseline set {run}"):
        with reading_run(run):
            said = baseline.freeze(run, nights)
        stores.forget_drifted(nights, said["apart"])
        return said


def shown_baseline(nights: Path) -> Mapping[str, Any]:
    """What the baseline of `nights` is; raises InputError when none was set."""
    found = baseline.pointer(nights)
    if found is None:
        raise InputError(f"{nights}: has no baseline; to set one: {baseline.to_set(nights)}")
    return found


def gate_measures(names: tuple[str, ...] | None, depth: int) -> tuple[Measure, ...]:
    """The measures of the gate; raises InputError when engines can't be compared by one of them.

    One at least is no pool's, so that something is left to compare when grades have shifted.
    """
    if names is None:
        return tuple(replace(each, cutoff=min(10, depth)) for each in parse_measures(("AP@10", "sDCG@10")))
    chosen = factory.measures(names, depth)
    for each in chosen:
        if not each.compares_engines:
            raise InputError(
                f"[nightly] measures: engines can't be compared by {each}: {each.note or 'it counts'}"
            )
    if not any(each.pool_free for each in chosen):
        raise InputError('[nightly] measures: add one that no pool divides, e.g. "sDCG@10" or "P@5"')
    return chosen


def _asked(toml: Path, day: str) -> Tonight:
    """What `toml` asks for; raises InputError when an option or `day` is wrong."""
    if not is_day(day):
        raise InputError(f"--date is {day!r}; it is a day such as 2026-05-01")
    if not toml.exists():
        raise InputError(f"{toml}: no such file; {_FIRST}")
    rules, asked = NightlyConfig.load(section(toml, "nightly"), f"{toml}: [nightly]"), Config.load(toml)
    _check(toml, asked)
    folder = RunFolder(Path(rules.folder) / day)
    with ConfigSource(toml, "nightly", {"measures": "measures"}).about("measures"):
        measures = gate_measures(rules.measures, asked.depth)
    wanted = dict.fromkeys((*factory.measures_of(asked), *measures))
    config = replace(
        _dated(asked, day),
        out=str(folder.path),
        measures=tuple(map(str, wanted)),
        min_coverage=asked.min_coverage if rules.min_coverage is None else rules.min_coverage,
    )
    return Tonight(day, folder, config, rules, measures)


def _check(toml: Path, asked: Config) -> None:
    """Raises InputError when `toml` names no dataset, or more than one.

    An `out` is for `judge run` and `judge collect` with the same file: a night has a folder of its own.
    """
    named = [name for name in ("data", *_TREC) if getattr(asked, name)]
    if section(toml, "collect") and named:
        raise InputError(
            f"{toml}: {named[0]} and [collect] are two datasets; a night judges one: leave one of them out"
        )
    if named and named not in (["data"], [*_TREC]):
        raise InputError(
            f"{toml}: {listed(named)} are no dataset: it is data alone, or {listed(_TREC)} together"
        )


def _begun(tonight: Tonight, toml: Path) -> Tonight:
    """The night with the baseline and, unless judge.toml names a dataset, with what engines return now."""
    config, folder = tonight.config, tonight.folder
    tonight = replace(tonight, baseline=baseline.load(tonight.nights))
    _check_order(tonight)
    factory.assessors(config)  # a key that is missing is said before engines are asked
    stores.check(factory.store(config, folder))
    if not section(toml, "collect"):
        return tonight
    data, kept = collected(toml, folder)
    remarks = tuple(kept.get("remarks", ()))
    return replace(tonight, config=replace(config, data=str(data)), remarks=remarks, asked=kept.get("asked"))


def _check_order(tonight: Tonight) -> None:
    """Raise InputError when the baseline is a later night: an improvement since would look like a drop."""
    name = tonight.baseline.name if tonight.baseline else ""
    if is_day(name) and tonight.day < name:
        raise InputError(
            f"--date is {tonight.day!r}, before the baseline's night {name}; take a later day, or set an"
            f" earlier night as the baseline: {SET_BASELINE_COMMAND} with one of {tonight.nights}"
        )


def _dated(asked: Config, day: str) -> Config:
    """The options with the day where the name of a file says {date}."""
    data, topics, docs = (
        name and name.replace("{date}", day) for name in (asked.data, asked.topics, asked.docs)
    )
    runs = tuple(name.replace("{date}", day) for name in asked.trec_runs)
    return replace(asked, data=data, topics=topics, docs=docs, trec_runs=runs)
