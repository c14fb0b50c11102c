"""Resuming a night: its lock, its dataset, the store of its verdicts, and what is left of its limits.

A night that was killed or ended early continues with the same command, and pays for nothing twice.
"""

from __future__ import annotations

import json
import re
import socket
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import replace
from os import getpid
from pathlib import Path
from typing import TYPE_CHECKING, Any

from judge import factory
from judge.characters import escape_controls
from judge.config.environment import environment
from judge.config.nightly import NightlyConfig
from judge.config.run import Config
from judge.dataset.validation import short_hash
from judge.filesystem import read_text
from judge.lock import locked
from judge.messages import Message, format_count
from judge.models.endpoint import public_part
from judge.nightly import stores
from judge.nightly.assessor_drift import CanaryCheck, find_assessor_changes
from judge.nightly.baseline import (
    CollectionInfo,
    finished_canary_runs,
    load_canary_grades,
    read_collection,
    write_collection,
)
from judge.nightly.context import NightContext
from judge.nightly.decision import describe_differences, find_assessor_setting_changes
from judge.nightly.record import NIGHT_FILE, EngineSettings, EngineSource
from judge.runs.folder import RunFolder, dump_json
from judge.runs.result import RunResult
from judge.store import copy

if TYPE_CHECKING:
    from judge.config.collect import CollectConfig

#: Options whose values are secrets, which may change at any time.
_SECRET = re.compile(r"keys?$|token|secret|password|authorization|cookie", re.IGNORECASE)
#: A limit in the message of a run; it is less by what the canaries used.
_LIMIT = re.compile(r"--(max-calls|budget) [\d.e+-]+( USD)?")
_OPTION = re.compile(r"--([a-z]+(?:-[a-z]+)*)")


# The lock of the nights


@contextmanager
def lock_nights(nights: Path, command: str) -> Iterator[None]:
    """Lock the folder of nights for this process, which runs `command`.

    Raises InputError at once when another process holds the lock, and names it; StoreError when the disk
    does not take the file with the owner's name.
    """
    owner = nights / ".lock-owner"
    busy = Message("in use by {owner}; wait until it ends", owner=_read_owner(owner))
    with locked(nights / ".lock", nights, busy, Message("cannot be the folder of nights")):
        try:
            text = f"{command} (process {getpid()} on {socket.gethostname()})"
            RunFolder(nights).write(owner.name, [text])
            yield
        finally:
            with suppress(OSError):
                owner.unlink(missing_ok=True)


def _read_owner(path: Path) -> str:
    try:
        return escape_controls(read_text(path)[:200]) or "another process"
    except (OSError, UnicodeDecodeError):
        return "another process"


# The identity of the run


def run_identity(config: Config) -> Mapping[str, Any]:
    """Return the identity of a run: its options and its dataset; a bad dataset is found before any call."""
    return factory.run_identity(config, factory.load_pooled_dataset(config), factory.build_assessors(config))


def update_identity(folder: RunFolder, identity: Mapping[str, Any]) -> None:
    """Give the run that was begun in `folder`, if any, the identity of now.

    Verdicts are stored under their whole request, so none of another request is used.
    """
    config = folder.read_if_there("config.json")
    if config is not None and config["identity"] != identity:
        folder.write("config.json", [dump_json({**config, "identity": identity}, indent=2), "\n"])


def describe_changed_options(folder: RunFolder, config: Config) -> list[str]:
    """Return the options that differ from those of the run in `folder`."""
    before = (folder.read_if_there("config.json") or {"identity": {}})["identity"]
    # The identity has the content of the prompts, the options have their paths.
    return list(describe_differences(before, config.options(), free={"prompts"}))


# The dataset of a night that asks engines


def collect_dataset(toml: Path, folder: RunFolder) -> tuple[Path, CollectionInfo]:
    """Ask the engines, and return the dataset in the night's folder with the content of collected.json.

    Once judging has begun the dataset stays as it is, so that it is of one moment. Engines are asked again,
    for the missing answers, only after the night has come out as incomplete.
    """
    path = folder.path / "data.jsonl"
    if not (folder.path / "config.json").exists() or (folder.path / NIGHT_FILE).exists():
        from judge.collect.collection import collect
        from judge.config.collect import CollectConfig

        config = CollectConfig.load(toml, out=str(path))
        collected = collect(config)
        write_collection(folder, CollectionInfo(tuple(collected.remarks), read_engine_settings(config)))
    return path, read_collection(folder)


def read_engine_settings(config: CollectConfig) -> EngineSettings:
    """Return the settings that shape what engines answer, without keys.

    An engine's table may hold anything, so only digests of its parts are stored.
    """
    from judge.collect.registry import open_engines

    engines = {
        source.name: EngineSource(
            address=public_part(source.requests("", config.depth)[0].url, *source.secrets),
            table={
                part: short_hash([json.dumps(_without_secrets(value), sort_keys=True, default=str)], 16)
                for part, value in sorted(config.engine_tables.get(source.name, {}).items())
                if not _SECRET.search(part)
            },
        )
        for source in open_engines(config, environment())
    }
    return EngineSettings(depth=config.depth, lang=config.lang, country=config.country, engines=engines)


def _without_secrets(value: object) -> object:
    """Return the value without the entries whose names are those of secrets."""
    if isinstance(value, Mapping):
        return {key: _without_secrets(part) for key, part in value.items() if not _SECRET.search(str(key))}
    return [_without_secrets(part) for part in value] if isinstance(value, list) else value


# The store of the verdicts: each holds those of one assessor


def shared_store(context: NightContext) -> Path:
    """Return the store that nights share."""
    return factory.store_path(context.config, context.folder)


def promote_quarantined_store(context: NightContext) -> None:
    """Make the verdicts of a drifted assessor the shared ones, once a night of it is the baseline."""
    if context.baseline and context.baseline.quarantined_store:
        store = context.nights / context.baseline.quarantined_store
        if store.exists():
            stores.replace_shared(shared_store(context), store)


def choose_store(
    context: NightContext, identity: Mapping[str, Any], check: CanaryCheck | None, *, drifted: bool
) -> Path:
    """Return the store that the night judges with: the quarantined one of its assessor when that `drifted`.

    A later night of the same drifted assessor continues with the store of the earlier one.
    """
    nights = context.nights
    if not drifted:
        return stores.begin_store(stores.own_store_path(nights, context.day), shared_store(context))
    for store, day in stores.list_drifted_stores(nights):
        if _has_same_assessor(context, RunFolder(nights / day), identity, check):
            return store
    new = stores.drifted_store_path(nights, context.day)
    copy.remove(new)  # of an assessor that changed once more during this night
    return new


def _has_same_assessor(
    context: NightContext, night: RunFolder, identity: Mapping[str, Any], check: CanaryCheck | None
) -> bool:
    """Return whether the assessor of the earlier `night`, which had drifted too, is this night's."""
    config = night.read_if_there("config.json")
    if config is None or find_assessor_setting_changes(identity, config["identity"]):
        return False
    runs = finished_canary_runs(night.path)
    if check is None or not runs:
        return check is None and not runs
    # This night's own store may be of the assessor of any canary run, another night's is of that of its last.
    past = runs if night.path == context.folder.path else runs[-1:]
    return not any(
        reason
        for run in past
        for reason in find_assessor_changes(
            check.canary_grades, load_canary_grades(RunFolder(run)), context.rules
        )
    )


def merge_store(context: NightContext, *, changed: bool) -> None:
    """Add the night's verdicts to the shared store; remove them when its assessor `changed` meanwhile."""
    own = stores.own_store_path(context.nights, context.day)
    if changed:
        copy.remove(own)
    else:
        stores.merge_into_shared(own, shared_store(context))


# The limits, which canaries and run share


def explain_unavailable(config: Config, check: CanaryCheck | None, rules: NightlyConfig) -> list[str]:
    """Return why the run cannot begin: the assessor does not answer the canaries, or a limit is reached."""
    if check is None or check.canary_grades.answered(rules):
        return []
    incomplete = check.run.incomplete
    why = _in_words_of_toml(incomplete.message if incomplete else Message("canaries are missing"), config)
    if _LIMIT.search(str(incomplete)):
        return [
            Message(
                "the limit of judge.toml was reached before the canaries were judged: {why}; or lower"
                " canary_repeats in [nightly]",
                why=why,
            )
        ]
    return [Message("the assessor did not answer the canaries: {why}", why=why)]


def subtract_canaries(config: Config, check: CanaryCheck | None) -> Config:
    """Return the options of the run with what the canaries left of `max_calls` and `budget`."""
    made = check.run.calls_made if check else 0
    if check is None or not made:
        return config
    cost = check.figures.cost
    # The cost is that of all canary calls of the night, some of which an earlier start may have made.
    usd = (cost.usd or 0.0) * made / (cost.calls or made)
    return replace(
        config,
        max_calls=None if config.max_calls is None else max(0, config.max_calls - made),
        budget=None if config.budget is None else max(0.0, config.budget - usd),
    )


def explain_incomplete(config: Config, result: RunResult, check: CanaryCheck | None) -> list[str]:
    """Return why the run ended early, with the limits as `config` has them."""
    if result.incomplete is None:
        return []
    why = _in_words_of_toml(result.incomplete.message, config)
    made = check.run.calls_made if check and _LIMIT.search(result.incomplete.message) else 0
    if not made:
        return [why]
    used = format_count(made, "call")
    return [Message("{why} (the canaries used {calls} of it)", why=why, calls=used)]


def _in_words_of_toml(message: Message, config: Config) -> str:
    """Return the message of a run with the options and values of judge.toml; then it is in English only."""

    def whole_limit(match: re.Match[str]) -> str:
        name = match[1].replace("-", "_")
        return f"{name} = {getattr(config, name):g}{match[2] or ''}"

    text = _OPTION.sub(lambda match: match[1].replace("-", "_"), _LIMIT.sub(whole_limit, message))
    return message if text == message else text
