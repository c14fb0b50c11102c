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

from judge.errors import InputError
from judge.nightly.steadiness import Grades
from judge.records import Judgment
from judge.report import reload
from judge.report.reload import Held
from judge.report.rundir import RunFolder, dump

FOLDER = "baseline"
CANARIES = "canaries"
_POINTER = "baseline.json"
#: How a reply fails that did arrive; all else is the server's or the connection's doing.
_UNREADABLE = frozenset(
    {"empty", "refusal", "truncated", "malformed", "missing_key", "not_a_grade", "not_integer", "ambiguous"}
    | {"content_filter"}
)
_FILES = ("config.json", "summary.json", "results.json", "judgments.jsonl")


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
    """The run that nights are held against; `canaries` is None when it was judged without any."""

    id: str
    name: str
    held: Held
    summary: Mapping[str, Any]
    identity: Mapping[str, Any]
    canaries: Graded | None

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
    unreadable = sum(judgment.error in _UNREADABLE for judgment in judgments)
    return Graded(grades, names, asked, sum(map(len, grades.values())), unreadable)


def graded_run(folder: RunFolder) -> Graded:
    """The canaries in the folder of their run."""
    held = reload.load(folder)
    return graded(held.judgments, len(held.pool.pairs) * held.asked.repeats)


def freeze(run: Path, nights: Path) -> Mapping[str, Any]:
    """Makes the run in folder `run` the baseline of `nights`, and gives what baseline.json says of it.

    Raises InputError when `run` is no finished run, or a night that is incomplete.
    """
    source = RunFolder(run)
    held = reload.load(source)
    night = source.read_if_there("night.json")
    if night is not None and night["status"] == "incomplete":
        raise InputError(f"{run}: is an incomplete night and no yardstick ({'; '.join(night['because'])})")
    name = run.resolve().name
    texts = {file: (run / file).read_text(encoding="utf-8") for file in _FILES}
    has_canaries = (run / CANARIES / "results.json").exists()
    if has_canaries:
        texts |= {
            f"{CANARIES}/{file}": (run / CANARIES / file).read_text(encoding="utf-8") for file in _FILES
        }
    content = hashlib.sha256(dump(texts).encode()).hexdigest()[:8]
    said = {
        "id": f"{name}-{content}",
        "name": name,
        "assessor": held.asked.assessor,
        "queries": len(held.data.queries),
        "engines": list(held.data.engines),
        "canaries": has_canaries,
    }
    folder = nights / FOLDER
    for file, text in texts.items():
        place = folder / str(said["id"]) / file
        place.parent.mkdir(parents=True, exist_ok=True)
        RunFolder(place.parent).write(place.name, [text])
    RunFolder(folder).write(_POINTER, [dump(said, indent=2), "\n"])
    return said


def pointer(nights: Path) -> Mapping[str, Any] | None:
    """What baseline.json says of the baseline of `nights`; None when none was set."""
    return RunFolder(nights / FOLDER).read_if_there(_POINTER)


def load(nights: Path) -> Baseline | None:
    """The baseline of `nights`, None when none was set; raises InputError when a file of it is damaged."""
    said = pointer(nights)
    if said is None:
        return None
    folder = RunFolder(nights / FOLDER / said["id"])
    canaries = RunFolder(folder.path / CANARIES)
    return Baseline(
        id=said["id"],
        name=said["name"],
        held=reload.load(folder),
        summary=folder.read("summary.json"),
        identity=folder.read("config.json")["identity"],
        canaries=graded_run(canaries) if said["canaries"] else None,
    )
