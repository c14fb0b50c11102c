"""Owns the history: what the nights' own files say, night by night, as series and as what changed.

Nothing is kept beside the nights: a folder that is copied, deleted or mended is at once history, too.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from pathlib import Path
from typing import Any, Literal

from judge.config.loader import is_day
from judge.errors import InputError
from judge.runs.folder import RunFolder

RECORD = "night.json"
#: The format of that file.
FORMAT = 1
Status = Literal[
    "fine",
    "regression",
    "incomplete",
    "judge drift",
    "no baseline",
    "different queries",
    "asked otherwise",
]
#: The exit code of a night of each status: 0 fine, 1 an engine is worse, 3 nothing can be said of engines.
EXITS: Mapping[Status, int] = {
    "fine": 0,
    "no baseline": 0,
    "regression": 1,
    "incomplete": 3,
    "judge drift": 3,
    "different queries": 3,
    "asked otherwise": 3,
}
#: The fixed ideal of sDCG makes it the measure for trends (DESIGN 8.2).
_FIRST = "sDCG@"

Change = Literal["model", "prompt", "scale", "baseline", "queries"]
#: "mean": of a night alone, by a measure that no pool divides. "change": from the baseline, on its pool.
Kind = Literal["mean", "change"]


@dataclass(frozen=True, slots=True)
class Value:
    """A number with its 95 % interval, where one is known, and over how many queries it is."""

    value: float
    interval: tuple[float, float] | None
    n: int


@dataclass(frozen=True, slots=True)
class Gated:
    """What the gate said of an engine by a measure: the change from the baseline on the frozen pool."""

    change: Value | None
    baseline: float | None
    p_holm: float | None
    verdict: str


@dataclass(frozen=True, slots=True)
class Canaries:
    """How the fixed pairs were graded: the mean grade, and the share that is as in the baseline."""

    pairs: int
    mean_grade: float | None
    unchanged: float | None
    drift: bool


@dataclass(frozen=True, slots=True)
class Night:
    """One night as its record says it.

    `facts` are what a change of which is worth saying; what is unknown is not among them. `means` holds
    only measures that no pool divides, for others mean another thing every night. `usd` is what the night
    itself paid, in US dollars; older records don't say.
    """

    day: date
    status: Status
    because: tuple[str, ...]
    facts: Mapping[tuple[Change, str], Any]
    queries: int
    coverage: float | None
    baseline: str | None
    engines: tuple[str, ...]
    means: Mapping[tuple[str, str], Value]
    gate: Mapping[tuple[str, str], Gated]
    canaries: Canaries | None
    usd: float | None

    @property
    def regressed(self) -> frozenset[str]:
        """The engines that the gate calls worse than the baseline."""
        return frozenset(engine for (engine, _), row in self.gate.items() if row.verdict == "regression")


@dataclass(frozen=True, slots=True)
class History:
    """The nights by date, a sentence on each one that can't be read, and the days that have no record yet.

    A day is `begun` when its folder holds something: what was paid there is not lost.
    """

    nights: tuple[Night, ...]
    damaged: tuple[str, ...]
    begun: tuple[str, ...] = ()


def read(folder: Path) -> History:
    """The nights in `folder` that have a record; a damaged one is named and left out.

    Raises InputError when there is no night at all.
    """
    nights, damaged = [], []
    for path in sorted(folder.glob(f"*/{RECORD}")):
        try:
            nights.append(night(path.parent.name, RunFolder(path.parent).read(RECORD)))
        except InputError as error:
            damaged.append(str(error))
        except (KeyError, TypeError, ValueError, AttributeError) as error:
            damaged.append(f"{path}: is not a night's record: {type(error).__name__} {error}")
    begun = tuple(_begun(folder))
    if not nights and not damaged:
        how = f"judge nightly judge.toml{f' --date {begun[-1]} goes on with' if begun else ' makes'} one"
        raise InputError(f"{folder}: holds no finished night; {how}")
    return History(tuple(sorted(nights, key=lambda each: each.day)), tuple(damaged), begun)


def _begun(folder: Path) -> Iterator[str]:
    """The days of which there is something, but no record: a night that was killed, or is at work."""
    for path in sorted(folder.glob("????-??-??")):
        if is_day(path.name) and not (path / RECORD).exists() and any(path.glob("[!.]*")):
            yield path.name


def night(name: str, record: Mapping[str, Any]) -> Night:
    """The night that `record` tells of; raises KeyError, TypeError or ValueError where it is none."""
    if record["format"] != FORMAT or record["status"] not in EXITS or record["date"] != name:
        raise ValueError(f"of format {record['format']!r}, {record['date']!r}, {record['status']!r}")
    return Night(
        day=date.fromisoformat(record["date"]),
        status=record["status"],
        because=tuple(map(str, record["because"])),
        facts=dict(_facts(record)),
        queries=int(record["queries"]),
        coverage=_number(record["coverage"]),
        baseline=record["baseline"] and str(record["baseline"]["id"]),
        engines=tuple(record["engines"]),
        means=dict(_means(record["engines"])),
        gate={(row["engine"], row["measure"]): _gated(row) for row in (record["gate"] or {}).get("rows", ())},
        canaries=record["canaries"] and _canaries(record["canaries"]),
        usd=_number((record.get("paid") or {"usd": None})["usd"]),
    )


def _facts(record: Mapping[str, Any]) -> Iterator[tuple[tuple[Change, str], Any]]:
    baseline, drift = record["baseline"], record["query_drift"]
    # An assessor is called by its model and its scale, which is a fact of its own.
    yield ("model", "assessor"), record["assessor"].replace(f"/{record['scale']}", "")
    if record["served"]:
        yield ("model", "served"), record["served"]
    yield ("prompt", ""), record["prompts"]
    yield ("scale", ""), [record[name] for name in ("scale", "relevant_from", "depth", "repeats")]
    yield ("baseline", ""), baseline and baseline["id"]
    if record["queries"]:
        yield ("queries", "count"), record["queries"]
    if drift:
        # Against another baseline other queries are new.
        yield ("queries", str(baseline["id"])), [drift["new"], drift["gone"]]


def _means(engines: Mapping[str, Any]) -> Iterator[tuple[tuple[str, str], Value]]:
    for engine, row in engines.items():
        for measure, found in row["measures"].items():
            if found["pool_free"] and found["mean"] is not None:
                yield (engine, measure), Value(float(found["mean"]), _ends(found["ci95"]), int(found["n"]))


def _gated(row: Mapping[str, Any]) -> Gated:
    ends = None if row["low"] is None or row["high"] is None else (row["low"], row["high"])
    change = None if row["change"] is None else Value(float(row["change"]), _ends(ends), int(row["n"]))
    return Gated(change, _number(row["baseline"]), _number(row["p_holm"]), str(row["verdict"]))


def _canaries(found: Mapping[str, Any]) -> Canaries:
    return Canaries(
        int(found["pairs"]), _number(found["mean_grade"]), _number(found["unchanged"]), bool(found["drift"])
    )


def _number(value: float | None) -> float | None:
    return None if value is None else float(value)


def _ends(pair: Sequence[float] | None) -> tuple[float, float] | None:
    return None if pair is None else (float(pair[0]), float(pair[1]))


def engines(nights: Iterable[Night]) -> tuple[str, ...]:
    """Every engine of any night, by name."""
    return tuple(sorted({engine for each in nights for engine in each.engines}))


def measures(nights: Iterable[Night]) -> dict[str, Kind]:
    """Every measure that has a trend, and which: means first, sDCG before others, then changes."""
    found = list(nights)
    means = {measure for each in found for _, measure in each.means}
    gated = {measure for each in found for _, measure in each.gate} - means
    ordered = sorted(means, key=lambda measure: (not measure.startswith(_FIRST), measure))
    return {**dict.fromkeys(ordered, "mean"), **dict.fromkeys(sorted(gated), "change")}


def series(nights: Iterable[Night], engine: str, measure: str, kind: Kind) -> tuple[Value | None, ...]:
    """The engine's value in every night, None where it has none."""
    if kind == "mean":
        return tuple(each.means.get((engine, measure)) for each in nights)
    rows = (each.gate.get((engine, measure)) for each in nights)
    return tuple(row.change if row else None for row in rows)


def to_baseline(nights: Sequence[Night], engine: str, measure: str) -> Value | None:
    """The engine's last change from the baseline that is in force now; None where the gate has not said."""
    for each in reversed(nights):
        if each.baseline != nights[-1].baseline:
            return None
        row = each.gate.get((engine, measure))
        if row and row.change:
            return row.change
    return None


def changes(nights: Iterable[Night]) -> tuple[tuple[Change, ...], ...]:
    """What is different in each night from what was last known: nothing in the first."""
    found, known = [], dict[tuple[Change, str], Any]()
    for each in nights:
        changed = (key[0] for key, value in each.facts.items() if key in known and known[key] != value)
        found.append(tuple(dict.fromkeys(changed)))
        known |= each.facts
    return tuple(found)
