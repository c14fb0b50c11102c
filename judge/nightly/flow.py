"""Owns what `judge nightly` and `judge baseline` do: from judge.toml to a night that is told, or a baseline.

One process at a time works on a folder of nights.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

from judge import setup
from judge.assess.watch import Watch
from judge.config import Config, environment, is_day, section
from judge.dataset.clean import visible
from judge.errors import InputError, StoreError
from judge.measure.measures import Measure, parse_all
from judge.nightly import baseline, notices, trend_page
from judge.nightly.alone import alone
from judge.nightly.history import RECORD
from judge.nightly.night import Tonight, finished, night
from judge.nightly.notices.webhook import Webhook
from judge.nightly.rules import FOLDER, Rules
from judge.report.rundir import RunFolder


@dataclass(frozen=True, slots=True)
class Told:
    """A night's record and the lines that tell of it."""

    record: Mapping[str, Any]
    lines: tuple[str, ...]


def nightly(toml: Path, day: str, watch: Watch | None = None) -> Told:
    """Does the night of `day` that `toml` asks for, or what is left of it, and tells of it.

    Raises InputError before anything is paid when an option, the dataset or `day` is wrong, or another
    process is at work on these nights; Interrupted after Ctrl-C; StoreError when the disk takes no more.
    """
    _check_day(day)
    rules = Rules.load(section(toml, "nightly"), f"{toml}: [nightly]")
    nights = Path(rules.folder)
    if rules.webhook:
        Webhook.of(rules.webhook, environment())  # a bad one is not found out after all is paid
    with alone(nights, f"judge nightly --date {day}"):
        folder = RunFolder(nights / day)
        record = finished(folder)
        if record is None:
            record = night(_tonight(toml, day, rules, folder), watch)
        # Told again when it was finished before: a process may have died between judging and telling.
        lines = notices.write(folder.path, record, environment(), webhook=rules.webhook or None)
        lines += _drawn(nights)
    return Told(record, tuple(lines))


def _drawn(nights: Path) -> list[str]:
    """What kept the trend from being drawn: a line, for it changes nothing that the night came to."""
    try:
        trend_page.write(nights)
    except (InputError, StoreError) as error:
        return [f"trend: not drawn: {visible(str(error))}"]
    return []


def nights_of(run: Path) -> Path:
    """The folder of the nights of which `run` is one; the usual one when it is none."""
    run = run.resolve()
    return run.parent if (run / RECORD).exists() else Path(FOLDER)


def set_baseline(run: Path, nights: Path) -> Mapping[str, Any]:
    """Freezes the run in folder `run` as the baseline of `nights`; gives its name, id and what it holds.

    Raises InputError when `run` is no finished run or no yardstick (see `baseline.freeze`), or another
    process is at work on the nights.
    """
    with alone(nights, f"judge baseline set {run}"):
        return baseline.freeze(run, nights)


def shown_baseline(nights: Path) -> Mapping[str, Any]:
    """What the baseline of `nights` is; raises InputError when none was set."""
    found = baseline.pointer(nights)
    if found is None:
        raise InputError(f"{nights}: has no baseline; to set one: {Rules(folder=str(nights)).to_set}")
    return found


def gate_measures(names: tuple[str, ...] | None, depth: int) -> tuple[Measure, ...]:
    """The measures of the gate; raises InputError when engines can't be compared by one of them.

    One at least is no pool's, so that something is left to compare when grades have shifted.
    """
    if names is None:
        return tuple(replace(each, cutoff=min(10, depth)) for each in parse_all(("AP@10", "sDCG@10")))
    chosen = setup.measures(names, depth)
    for each in chosen:
        if not each.compares:
            raise InputError(
                f"[nightly] measures: engines can't be compared by {each}: {each.note or 'it counts'}"
            )
    if not any(each.pool_free for each in chosen):
        raise InputError('[nightly] measures: add one that no pool divides, e.g. "sDCG@10" or "P@5"')
    return chosen


def _tonight(toml: Path, day: str, rules: Rules, folder: RunFolder) -> Tonight:
    asked = Config.load(toml)
    measures = gate_measures(rules.measures, asked.depth)
    wanted = dict.fromkeys((*setup.measures(asked.measures, asked.depth), *measures))
    config = replace(
        _dated(asked, day),
        out=str(folder.path),
        measures=tuple(map(str, wanted)),
        min_coverage=asked.min_coverage if rules.min_coverage is None else rules.min_coverage,
    )
    frozen = baseline.load(folder.path.parent)
    setup.assessors(config)  # a key that is missing is said before engines are asked
    if not (asked.data or asked.trec_runs) and section(toml, "collect"):
        config = replace(config, data=str(_collected(toml, folder)))
    return Tonight(day, folder, config, rules, measures, frozen)


def _dated(asked: Config, day: str) -> Config:
    """The options with the day where the name of a file says {date}."""
    data, topics, docs = (
        name and name.replace("{date}", day) for name in (asked.data, asked.topics, asked.docs)
    )
    runs = tuple(name.replace("{date}", day) for name in asked.trec_runs)
    return replace(asked, data=data, topics=topics, docs=docs, trec_runs=runs)


def _collected(toml: Path, folder: RunFolder) -> Path:
    """What the engines return now, as a dataset in the night's folder.

    Once judging has begun it stays as it is: what a night goes on with is of one moment. Only after a
    night came to be incomplete are engines asked again, for the answers that are missing.
    """
    path = folder.path / "data.jsonl"
    if not (folder.path / "config.json").exists() or (folder.path / RECORD).exists():
        from judge.collect.asked import Asked
        from judge.collect.flow import collect

        folder.path.mkdir(parents=True, exist_ok=True)
        collect(Asked.load(toml, out=str(path)))
    return path


def _check_day(day: str) -> None:
    if not is_day(day):
        raise InputError(f"--date is {day!r}; it is a day such as 2026-05-01")
