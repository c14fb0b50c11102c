"""The baseline: a frozen run with which every night is compared.

`baseline/ID/` holds copies of what the comparison needs, so that the run itself may be deleted.
`baseline.json` names the current baseline and is written last. Older ones stay, since the record of a
night names the one that it was compared with.
"""

from __future__ import annotations

import hashlib
import shlex
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated

from pydantic import Field

from judge.analysis.judged_run import JudgedRun
from judge.analysis.summary import Summary
from judge.config.option_record import NIGHTS_FOLDER
from judge.config.option_types import is_day
from judge.errors import InputError, StoreError, explain_error
from judge.files.filesystem import make_file_name, make_folder, read_text
from judge.files.json_text import dump_json
from judge.measure.engine_summary import EngineSummary
from judge.messages import Message, NameList, join_messages
from judge.nightly.assessor_drift import (
    CANARIES_FOLDER,
    CanaryGrades,
    list_finished_canary_runs,
    load_canary_grades,
)
from judge.nightly.night_dataset import COLLECTION_FILE, CollectionInfo, read_collection
from judge.nightly.record import (
    BACKUP,
    DRIFTED,
    NIGHT_FILE,
    QUARANTINED_STORE,
    BaselineReference,
    NightRecord,
    read_record,
)
from judge.runs.folder import RunFolder, translate_run_errors
from judge.runs.load import CONFIG_FILE, RunIdentity, load_run, load_summary, read_config, read_options
from judge.runs.record_json import from_json, to_json

#: The command that makes a run the baseline.
SET_BASELINE_COMMAND = "judge baseline set RUN"
_BASELINE_FOLDER = "baseline"
_POINTER_FILE = "baseline.json"
#: The names of a folder and of a file in it: a pointer from elsewhere must not lead to other places.
_FolderName = Annotated[str, Field(max_length=255, pattern=r"^[^/\\:\x00]*[^/\\:\x00.][^/\\:\x00]*$")]
_StoreName = Annotated[str, Field(pattern=f"^{QUARANTINED_STORE.pattern}$")]
_FILES = (CONFIG_FILE, "summary.json", "results.json", "judgments.jsonl")
#: The file that the run of a panel has besides, and that of a night which asked engines.
_OPTIONAL_FILES = ("members.jsonl", COLLECTION_FILE)


@dataclass(frozen=True, slots=True, kw_only=True)
class BaselinePointer:
    """The content of baseline.json: the current baseline, and what it holds.

    `quarantined_store` names the store of its verdicts when its assessor had drifted.
    """

    id: _FolderName
    name: str
    assessor: str
    queries: int
    engines: tuple[str, ...] = ()
    canaries: bool
    quarantined_store: _StoreName | None = None


@dataclass(frozen=True, slots=True)
class Baseline:
    """The run that nights are compared with, and what their records say of it.

    `canaries` is None when it was judged without any.
    """

    pointer: BaselinePointer
    run: JudgedRun
    engines: Mapping[str, EngineSummary]
    identity: RunIdentity
    reference: BaselineReference
    canaries: CanaryGrades | None
    collection: CollectionInfo


def make_set_command(night: Path) -> str:
    """Return the command that makes a night the baseline of its folder."""
    return SET_BASELINE_COMMAND.replace("RUN", shlex.quote(str(night)))


def find_nights_folder(run: Path) -> Path:
    """Return the folder of the nights of which `run` is one; the default one when it belongs to none."""
    path = run.resolve()
    if not (path / NIGHT_FILE).exists():
        return Path(NIGHTS_FOLDER)
    # Messages show the folder as the user named it.
    return run.parent if run.parent.resolve() == path.parent else path.parent


def freeze_baseline(run: Path, nights: Path) -> BaselinePointer:
    """Make the run in folder `run` the baseline of `nights`, and return what baseline.json says of it.

    Raises InputError when `run` is not a finished run, misses too much or was judged by more than one
    assessor, StoreError when the disk does not take the copy.
    """
    record = read_record(RunFolder(run))
    if problem := _find_problem(run, record):
        raise InputError("{run}: cannot be the baseline: {problem}", run=run, problem=problem)
    store = run / record.quarantined_store if record and record.quarantined_store else None
    loaded = load_run(RunFolder(run))
    texts = _read_files(run)
    if canaries := list_finished_canary_runs(run):  # the last one is of the assessor that ended the night
        texts |= {f"{CANARIES_FOLDER}/{file}": text for file, text in _read_files(canaries[-1]).items()}
    name = run.resolve().name
    content = hashlib.sha256(dump_json(texts).encode()).hexdigest()[:8]
    pointer = BaselinePointer(
        id=f"{make_file_name(name)}-{content}",
        name=name,
        assessor=loaded.spec.assessor,
        queries=len(loaded.dataset.queries),
        engines=tuple(loaded.dataset.engines),
        canaries=bool(canaries),
        # A store that took the place of the shared one no longer exists.
        quarantined_store=store.name if store and store.exists() else None,
    )
    folder = nights / _BASELINE_FOLDER
    for file, text in texts.items():
        path = folder / pointer.id / file
        try:
            make_folder(path.parent.parent)
            make_folder(path.parent)
        except OSError as error:
            raise StoreError(
                "{folder}: cannot be made: {error}", folder=path.parent, error=explain_error(error)
            ) from error
        RunFolder(path.parent).write(path.name, [text])
    _load_baseline(folder, pointer)  # first: with a copy that cannot be read, no later night could run
    RunFolder(folder).write_json(_POINTER_FILE, to_json(pointer))
    return pointer


def _find_problem(run: Path, record: NightRecord | None) -> Message | None:
    if record and record.state == "stopped":
        return Message(
            'the night stopped after the canaries, since the assessor had drifted; set judge_on_drift = "all"'
            " in [nightly], run judge nightly with its --date, and set the night"
        )
    summary, min_coverage = load_summary(RunFolder(run)), read_options(RunFolder(run)).min_coverage
    if not summary.judged:
        return Message("none of its pairs has a grade; run its judge run command again, or name another run")
    if summary.coverage < min_coverage:
        return Message(
            "only {coverage:.2%} of its pairs are judged, and a baseline needs {min_coverage:.0%}; to judge"
            " the rest, run its judge run command again, or judge nightly with its --date",
            coverage=summary.coverage,
            min_coverage=min_coverage,
        )
    if record and record.state == "unfinished":
        reasons = join_messages(record.missing or record.reasons)
        return Message("the night is incomplete: {reasons}", reasons=reasons)
    if without_results := [engine for engine, results in summary.engines.items() if not results.answered]:
        return Message(
            "{engines} returned no result for any query; correct its settings, or leave it out",
            engines=NameList(without_results),
        )
    if record and record.status == "assessor drift" and record.quarantined_store is None:
        # The first reason ends with the advice which night to set.
        return Message("its verdicts can be of two assessors: {reason}", reason=Message(record.reasons[0]))
    if record and record.quarantined_store:
        return _find_store_problem(run, run / record.quarantined_store, list_served_models(summary))
    return None


def make_backup_path(store: Path) -> Path:
    """Return where the shared store stays after the quarantined `store` took its place."""
    return store.with_name(store.name.replace(DRIFTED, BACKUP))


def _find_store_problem(run: Path, store: Path, served: frozenset[str]) -> Message | None:
    """Return why the verdicts in the quarantined `store`, of the models `served`, are no baseline."""
    if not (store.exists() or make_backup_path(store).exists()):
        return Message("its verdicts are in {store}, which does not exist; set a later night", store=store)
    canary_runs = map(RunFolder, list_finished_canary_runs(run))
    at_canaries = frozenset[str]().union(*(load_canary_grades(folder).served for folder in canary_runs))
    if not at_canaries or served <= at_canaries:
        return None
    return Message(
        "its verdicts can be of two assessors: the server named {later} in replies after the canaries,"
        " {named} in those to the canaries; remove {store}, run a later night, and set that",
        later=NameList(sorted(served - at_canaries)),
        named=NameList(sorted(at_canaries)),
        store=store,
    )


def _read_files(run: Path) -> dict[str, str]:
    """Return the files of a run that the comparison needs, by name."""
    texts = {}
    for name in (*_FILES, *(name for name in _OPTIONAL_FILES if (run / name).exists())):
        try:
            texts[name] = read_text(run / name)
        except (OSError, UnicodeDecodeError) as error:
            raise InputError(
                "{file}: {error}; to write it anew, run the judge run command of this folder again, or judge"
                " nightly with its --date",
                file=run / name,
                error=explain_error(error),
            ) from error
    return texts


def read_pointer(nights: Path) -> BaselinePointer | None:
    """Return what baseline.json of `nights` says, None when no baseline was set.

    Raises InputError when it is damaged.
    """
    path = nights / _BASELINE_FOLDER / _POINTER_FILE
    if (values := RunFolder(path.parent).read_if_there(_POINTER_FILE)) is None:
        return None
    # Version 1 calls the store "apart".
    values["quarantined_store"] = values.get("quarantined_store") or values.get("apart")
    command = _format_set_command(nights, values.get("name"))
    advice = Message("set the baseline again: {command}", command=command)
    return from_json(BaselinePointer, values, str(path), advice)


def show_baseline(nights: Path) -> BaselinePointer:
    """Return the baseline of `nights`; raise InputError when none was set."""
    if pointer := read_pointer(nights):
        return pointer
    command = _format_set_command(nights)
    raise InputError("{folder}: has no baseline; to set one: {command}", folder=nights, command=command)


def load_baseline(nights: Path) -> Baseline | None:
    """Return the baseline of `nights`, None when none was set; raise InputError when it is damaged."""
    if (pointer := read_pointer(nights)) is None:
        return None
    folder = nights / _BASELINE_FOLDER
    try:
        with translate_run_errors(folder / pointer.id):
            return _load_baseline(folder, pointer)
    except InputError as error:
        command = _format_set_command(nights, pointer.name)
        raise InputError(
            "{error}; set the baseline again: {command}", error=error, command=command
        ) from error


def _format_set_command(nights: Path, name: object = None) -> str:
    """Return the command that makes the night `name`, by default the last baseline, the baseline.

    It names the latest whole night where that one is not there, and RUN where no night is.
    """
    for path in sorted(nights.glob(f"*/{NIGHT_FILE}"), reverse=True):
        with suppress(InputError):
            record = read_record(RunFolder(path.parent))
            if record and record.state in ("finished", "undecided"):
                name = name or (record.baseline and record.baseline.name)
                is_there = isinstance(name, str) and is_day(name) and (nights / name / NIGHT_FILE).exists()
                return make_set_command(nights / str(name) if is_there else path.parent)
    is_default = nights == Path(NIGHTS_FOLDER)
    return SET_BASELINE_COMMAND + ("" if is_default else f" --folder {shlex.quote(str(nights))}")


def _load_baseline(parent: Path, pointer: BaselinePointer) -> Baseline:
    folder = RunFolder(parent / pointer.id)
    for path in (parent, folder.path, folder.path / CANARIES_FOLDER):
        RunFolder(path).check_no_link()
    summary, config = load_summary(folder), read_config(folder)
    canaries = load_canary_grades(RunFolder(folder.path / CANARIES_FOLDER)) if pointer.canaries else None
    served = list_served_models(summary) | (canaries.served if canaries else frozenset())
    return Baseline(
        pointer=pointer,
        run=load_run(folder),
        engines=summary.engines,
        identity=config.identity,
        reference=BaselineReference(
            name=pointer.name,
            id=pointer.id,
            assessor=pointer.assessor,
            prompts=dict(config.inputs.prompts),
            served=tuple(sorted(served)),
            queries=pointer.queries,
        ),
        canaries=canaries,
        collection=read_collection(folder),
    )


def list_served_models(*summaries: Summary) -> frozenset[str]:
    """Return the names of the models that answered in runs, as far as servers gave one."""
    served = {name for summary in summaries for name in summary.served}
    members = (member for summary in summaries for member in summary.members)
    return frozenset(served.union(*(member.served for member in members)) - {""})
