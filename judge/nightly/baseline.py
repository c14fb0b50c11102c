"""Owns the baseline: a run that was frozen, so that every night is held against the same one.

`baseline/ID/` holds copies of what comparing needs, so that the run itself may be deleted. `baseline.json`
names the one that counts and is written last. Older ones stay: a night's record names the one it met.
"""

from __future__ import annotations

import hashlib
import re
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from judge.analysis.loaded_run import LoadedRun
from judge.analysis.summary import Summary
from judge.config.nightly import NightlyConfig
from judge.errors import ASSESSOR_ERRORS, InputError, StoreError
from judge.filesystem import file_name, make_folder, read_text
from judge.nightly.collecting import FILE as COLLECTED
from judge.nightly.decision import bare
from judge.nightly.history import RECORD
from judge.nightly.steadiness import Grades
from judge.records import Judgment
from judge.report.sentences import listed
from judge.runs import load as saved_run
from judge.runs.folder import RunFolder, dump_json

FOLDER = "baseline"
CANARIES = "canaries"
_POINTER = "baseline.json"
#: What it says, and must.
_SAID = ("id", "name", "assessor", "queries", "canaries")
#: The names of a folder and of a file in it: a pointer from somebody else must not lead to other places.
_NAMES = {
    "id": re.compile(r"(?!\.+$)[^/\\:\0]{1,255}"),
    "apart": re.compile(r"verdicts\.drifted-\d{4}-\d{2}-\d{2}\.sqlite"),
}
_FILES = ("config.json", "summary.json", "results.json", "judgments.jsonl")
#: What the run of a panel has besides, and a night that asked engines.
_MAYBE = ("members.jsonl", COLLECTED)
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

    def heard(self, rules: NightlyConfig) -> bool:
        """Whether the judge is there at all: so few were never answered as the rules let pass."""
        return self.unheard <= rules.max_missing * self.asked


@dataclass(frozen=True, slots=True)
class Baseline:
    """The run that nights are held against; `canaries` is None when it was judged without any.

    `apart` names the store of its verdicts when they were kept apart, for its judge had drifted. `asked`
    is what engines were asked (see `collecting`), None where that is not known.
    """

    id: str
    name: str
    held: LoadedRun
    summary: Summary
    identity: Mapping[str, Any]
    canaries: Graded | None
    apart: str | None
    asked: Mapping[str, Any] | None = None

    @property
    def served(self) -> frozenset[str]:
        """The names of all models that graded it, as the servers gave them."""
        return served(self.summary) | (self.canaries.served if self.canaries else frozenset())


def served(summary: Summary) -> frozenset[str]:
    """The names that a summary has of models that answered; empty where no server gave one."""
    members = summary.panel.members if summary.panel else ()
    names = [*summary.served, *(name for member in members for name in member.served)]
    return frozenset(filter(None, names))


def graded(judgments: Sequence[Judgment], asked: int) -> Graded:
    """The judgments of canaries, pair by pair, of so many that were `asked`."""
    grades: dict[tuple[str, str], list[int]] = {}
    for judgment in judgments:
        if judgment.grade is not None:
            grades.setdefault((judgment.query_id, judgment.snippet_id), []).append(judgment.grade)
    names = frozenset(judgment.served_model for judgment in judgments if judgment.served_model)
    unreadable = sum(judgment.error in ASSESSOR_ERRORS for judgment in judgments)
    return Graded(grades, names, asked, sum(map(len, grades.values())), unreadable)


def rounds(night: Path) -> list[Path]:
    """The folders of `night` in which canaries were asked, in order; more than one when it was resumed."""
    found = night.glob(f"{CANARIES}*/config.json")
    return sorted((each.parent for each in found), key=lambda folder: (len(folder.name), folder.name))


def ended(night: Path) -> list[Path]:
    """Those of the rounds that came to their end: all but the last, and that one unless it was killed."""
    return [each for each in rounds(night) if (each / "results.json").exists()]


def graded_run(folder: RunFolder) -> Graded:
    """The canaries in the folder of their run."""
    held = saved_run.load_run(folder)
    return graded(held.judgments, len(held.pool.pairs) * held.spec.repeats)


def freeze(run: Path, nights: Path) -> Mapping[str, Any]:
    """Makes the run in folder `run` the baseline of `nights`, and gives what baseline.json says of it.

    Raises InputError when `run` is no finished run, misses too much, or was judged by more than one judge,
    StoreError when the disk takes no copy.
    """
    _check_judged(run)
    held = saved_run.load_run(RunFolder(run))
    apart = _check(run)
    name = run.resolve().name
    texts = _texts(run)
    asked = ended(run)
    if asked:  # the last round is of the judge that ended the night
        texts |= {f"{CANARIES}/{file}": text for file, text in _texts(asked[-1]).items()}
    content = hashlib.sha256(dump_json(texts).encode()).hexdigest()[:8]
    said = {
        "id": f"{file_name(name)}-{content}",
        "name": name,
        "assessor": held.spec.assessor,
        "queries": len(held.data.queries),
        "engines": list(held.data.engines),
        "canaries": bool(asked),
        "apart": apart,
    }
    folder = nights / FOLDER
    for file, text in texts.items():
        _copy(text, folder / str(said["id"]) / file)
    _load(folder, said)  # before it counts: a copy that can't be read would end every night to come
    RunFolder(folder).write(_POINTER, [dump_json(said, indent=2), "\n"])
    return said


def _copy(text: str, place: Path) -> None:
    try:
        make_folder(place.parent.parent)
        make_folder(place.parent)
    except OSError as error:
        raise StoreError(f"{place.parent}: cannot be made: {error.strerror or error}") from error
    RunFolder(place.parent).write(place.name, [text])


def _check_judged(run: Path) -> None:
    """Raise InputError when `run` is a night that ended after its canaries."""
    night = RunFolder(run).read_if_there(RECORD)
    if night and night.get("stopped"):
        raise InputError(
            f"{run}: is no yardstick: the night stopped after the canaries, for the judge had drifted; set"
            ' judge_on_drift = "all" in [nightly], run judge nightly again, and set its night'
        )


def _check(run: Path) -> str | None:
    """The name of the store that the verdicts of `run` were kept apart in, None when they were not.

    Raises InputError when the run is no yardstick.
    """
    found = RunFolder(run)
    night = found.read_if_there(RECORD)
    summary = saved_run.load_summary(found)
    coverage = summary.coverage
    if coverage < LEAST:
        raise InputError(
            f"{run}: only {coverage:.2%} of its pairs were judged, and a yardstick needs {LEAST:.0%}; the"
            " command that made it asks again for the rest"
        )
    if night and not night.get("whole", night["finished"]):
        raise InputError(f"{run}: is an incomplete night and no yardstick ({bare(night['because'])})")
    if mute := [engine for engine, row in summary.engines.items() if not row.answered]:
        raise InputError(
            f"{run}: is no yardstick: not one query got a result from {listed(mute)}; mend how it is asked,"
            " or leave it out"
        )
    if night is None or night["status"] != "judge drift":
        return None
    apart = night.get("apart")
    if apart is None:
        raise InputError(
            f"{run}: is no yardstick, for its judge changed while it was at work"
            f" ({bare(night['because'])}); freeze the next night"
        )
    if not (run / apart).exists():
        raise InputError(
            f"{run}: its verdicts were kept in {run / apart}, which is gone; freeze a later night"
        )
    return Path(apart).name


def _texts(run: Path) -> dict[str, str]:
    """The files of a run that comparing needs, by name."""
    names = (*_FILES, *(name for name in _MAYBE if (run / name).exists()))
    try:
        return {name: read_text(run / name) for name in names}
    except OSError as error:
        raise InputError(
            f"{error.filename}: {error.strerror}; the command of the run writes it anew"
        ) from error
    except UnicodeDecodeError as error:
        raise InputError(
            f"{run}: a file in it is not UTF-8 ({error}); the command of the run writes it anew"
        ) from error


def pointer(nights: Path) -> Mapping[str, Any] | None:
    """What baseline.json says of the baseline of `nights`; None when none was set.

    Raises InputError when it is damaged.
    """
    said = RunFolder(nights / FOLDER).read_if_there(_POINTER)
    missing = [] if said is None else [name for name in _SAID if name not in said]
    if missing:
        raise InputError(f"{nights / FOLDER / _POINTER}: has no {missing[0]!r}; {_again(nights)}")
    for name, form in _NAMES.items():
        value = None if said is None else said.get(name)
        if value is not None and not form.fullmatch(str(value)):
            raise InputError(
                f"{nights / FOLDER / _POINTER}: {name} is {value!r:.80}, which is no name that judge gives;"
                f" {_again(nights)}"
            )
    return said


def load(nights: Path) -> Baseline | None:
    """The baseline of `nights`, None when none was set; raises InputError when a file of it is damaged."""
    said = pointer(nights)
    if said is None:
        return None
    place = nights / FOLDER
    try:
        return _load(place, said)
    except InputError as error:
        raise InputError(f"{error}; {_again(nights)}") from error
    except (KeyError, TypeError, ValueError, AttributeError) as error:
        raise InputError(f"{place / str(said['id'])}: is damaged ({error!r}); {_again(nights)}") from error


def _again(nights: Path) -> str:
    return f"set the baseline again: {to_set(nights)}"


def to_set(nights: Path) -> str:
    """Return the command that makes the latest complete night the baseline, RUN where there is none."""
    rules = NightlyConfig(folder=str(nights))
    for record in sorted(nights.glob(f"*/{RECORD}"), reverse=True):
        with suppress(InputError):
            if RunFolder(record.parent).read(RECORD).get("whole"):
                return rules.sets(record.parent)
    return rules.to_set


def _load(place: Path, said: Mapping[str, Any]) -> Baseline:
    folder = RunFolder(place / said["id"])
    canaries = RunFolder(folder.path / CANARIES)
    return Baseline(
        id=said["id"],
        name=said["name"],
        held=saved_run.load_run(folder),
        summary=saved_run.load_summary(folder),
        identity=folder.read("config.json")["identity"],
        canaries=graded_run(canaries) if said["canaries"] else None,
        apart=said.get("apart"),
        asked=(folder.read_if_there(COLLECTED) or {}).get("asked"),
    )
