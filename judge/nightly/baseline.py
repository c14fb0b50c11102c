"""Owns the baseline: a run that was frozen, so that every night is held against the same one.

`baseline/ID/` holds copies of what comparing needs, so that the run itself may be deleted. `baseline.json`
names the one that counts and is written last. Older ones stay: a night's record names the one it met.
"""

from __future__ import annotations

import hashlib
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.errors import ITS_OWN, InputError
from judge.nightly.history import RECORD
from judge.nightly.steadiness import Grades
from judge.records import Judgment
from judge.report import reload
from judge.report.reload import Held
from judge.report.rundir import RunFolder, dump

FOLDER = "baseline"
CANARIES = "canaries"
_POINTER = "baseline.json"
_FILES = ("config.json", "summary.json", "results.json", "judgments.jsonl")
#: What the run of a panel has besides.
_PANEL = "members.jsonl"
#: The least share of its pairs that a yardstick must have judged.
LEAST = 0.99


@dataclass(frozen=True, slots=True)
class Graded:
    """What came of a night's canaries: grades, the names of the models that answered, and counts.

    Of all `asked`, `judged` have a grade; `unreadable` were answered with something else.
    """

    grades: Grades
    served: frozenset[str]
    asked: int
    judged: int
    unreadable: int

    @property
    def unheard(self) -> int:
        """How many were never answered."""
        return self.asked - self.judged - self.unreadable


@dataclass(frozen=True, slots=True)
class Baseline:
    """The run that nights are held against; `canaries` is None when it was judged without any.

    `apart` names the store of its verdicts when they were kept apart, for its judge had drifted.
    """

    id: str
    name: str
    held: Held
    summary: Mapping[str, Any]
    identity: Mapping[str, Any]
    canaries: Graded | None
    apart: str | None

    @property
    def served(self) -> frozenset[str]:
        """The names of all models that graded it, as the servers gave them."""
        return served(self.summary) | (self.canaries.served if self.canaries else frozenset())


def served(summary: Mapping[str, Any]) -> frozenset[str]:
    """The names that a summary has of models that answered; empty where no server gave one."""
    members = (summary.get("panel") or {}).get("members", ())
    names = [*summary.get("served", ()), *(name for member in members for name in member["served"])]
    return frozenset(filter(None, names))


def graded(judgments: Sequence[Judgment], asked: int) -> Graded:
    """The judgments of canaries, pair by pair, of so many that were `asked`."""
    grades: dict[tuple[str, str], list[int]] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            grades.setdefault((judgment.query_id, judgment.snippet_id), []).append(judgment.grade)
    names = frozenset(judgment.served_model for judgment in judgments if judgment.served_model)
    unreadable = sum(judgment.error in ITS_OWN for judgment in judgments)
    return Graded(grades, names, asked, sum(map(len, grades.values())), unreadable)


def rounds(night: Path) -> list[Path]:
    """The folders of `night` in which canaries were asked, in order; more than one when it was resumed."""
    found = night.glob(f"{CANARIES}*/config.json")
    return sorted((each.parent for each in found), key=lambda folder: (len(folder.name), folder.name))


def graded_run(folder: RunFolder) -> Graded:
    """The canaries in the folder of their run."""
    held = reload.load(folder)
    return graded(held.judgments, len(held.pool.pairs) * held.asked.repeats)


def freeze(run: Path, nights: Path) -> Mapping[str, Any]:
    """Makes the run in folder `run` the baseline of `nights`, and gives what baseline.json says of it.

    Raises InputError when `run` is no finished run, misses too much, or was judged by more than one judge.
    """
    held = reload.load(RunFolder(run))
    apart = _check(run)
    name = run.resolve().name
    texts = _texts(run)
    asked = [each for each in rounds(run) if (each / "results.json").exists()]
    if asked:  # the last round is of the judge that ended the night
        texts |= {f"{CANARIES}/{file}": text for file, text in _texts(asked[-1]).items()}
    content = hashlib.sha256(dump(texts).encode()).hexdigest()[:8]
    said = {
        "id": f"{name}-{content}",
        "name": name,
        "assessor": held.asked.assessor,
        "queries": len(held.data.queries),
        "engines": list(held.data.engines),
        "canaries": bool(asked),
        "apart": apart,
    }
    folder = nights / FOLDER
    for file, text in texts.items():
        place = folder / str(said["id"]) / file
        place.parent.mkdir(parents=True, exist_ok=True)
        RunFolder(place.parent).write(place.name, [text])
    _load(folder, said)  # before it counts: a copy that can't be read would end every night to come
    RunFolder(folder).write(_POINTER, [dump(said, indent=2), "\n"])
    return said


def _check(run: Path) -> str | None:
    """The name of the store that the verdicts of `run` were kept apart in, None when they were not.

    Raises InputError when the run is no yardstick.
    """
    found = RunFolder(run)
    coverage = found.read("summary.json")["coverage"]
    if coverage < LEAST:
        raise InputError(
            f"{run}: only {coverage:.2%} of its pairs were judged, and a yardstick needs {LEAST:.0%}; the"
            " command that made it asks again for the rest"
        )
    night = found.read_if_there(RECORD)
    if night is None or night["status"] not in ("incomplete", "judge drift"):
        return None
    if night["status"] == "incomplete":
        raise InputError(f"{run}: is an incomplete night and no yardstick ({'; '.join(night['because'])})")
    apart = night.get("apart")
    if apart is None:
        raise InputError(
            f"{run}: is no yardstick, for its judge changed while it was at work"
            f" ({'; '.join(night['because'])}); freeze the next night"
        )
    if not (run / apart).exists():
        raise InputError(
            f"{run}: its verdicts were kept in {run / apart}, which is gone; freeze a later night"
        )
    return Path(apart).name


def _texts(run: Path) -> dict[str, str]:
    """The files of a run that comparing needs, by name."""
    names = (*_FILES, *([_PANEL] if (run / _PANEL).exists() else []))
    return {name: (run / name).read_text(encoding="utf-8") for name in names}


def pointer(nights: Path) -> Mapping[str, Any] | None:
    """What baseline.json says of the baseline of `nights`; None when none was set."""
    return RunFolder(nights / FOLDER).read_if_there(_POINTER)


def load(nights: Path) -> Baseline | None:
    """The baseline of `nights`, None when none was set; raises InputError when a file of it is damaged."""
    said = pointer(nights)
    if said is None:
        return None
    return _load(nights / FOLDER, said)


def _load(place: Path, said: Mapping[str, Any]) -> Baseline:
    folder = RunFolder(place / said["id"])
    canaries = RunFolder(folder.path / CANARIES)
    return Baseline(
        id=said["id"],
        name=said["name"],
        held=reload.load(folder),
        summary=folder.read("summary.json"),
        identity=folder.read("config.json")["identity"],
        canaries=graded_run(canaries) if said["canaries"] else None,
        apart=said.get("apart"),
    )
