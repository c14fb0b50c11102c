"""config.json of a run: what must be equal for the run to resume, and its options."""

from __future__ import annotations

import shlex
from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

from judge.errors import InputError
from judge.messages import Message, join_messages
from judge.records import BINARY, GRADED
from judge.runs import record_json
from judge.runs.folder import RunFolder, translate_run_errors

CONFIG_FILE = "config.json"
#: Parts of a run's identity that are hashes of content, which tell a reader nothing.
_HASHED = {
    "dataset": Message("the dataset changed"),
    "labels": Message("the labels or the sample of --check changed"),
    "prompts": Message("the prompts changed"),
}
#: Options that change another part by themselves: it is not named beside them.
_CHANGED_BY = {
    "dataset": {"lang", "max_chars"},
    "prompts": {"scale", "assessor"},
    "relevant_from": {"scale"},
}


@dataclass(frozen=True, slots=True)
class RecordedOptions:
    """The options of a run that other commands use."""

    model: str | None = None
    base_url: str | None = None
    data: str | None = None
    topics: str | None = None
    store: str | None = None
    as_of: str | None = None


@dataclass(frozen=True, slots=True)
class RecordedInputs:
    """What the identity of a run says of its prompts, by language, and the digest of its dataset."""

    prompts: Mapping[str, str] = field(default_factory=dict)
    dataset: str = ""


@dataclass(frozen=True, slots=True)
class RunConfig:
    """The content of config.json: everything that must be equal for a run to resume, and its options.

    `inputs` are parts of the identity.
    """

    identity: Mapping[str, Any] = field(default_factory=dict)
    options: RecordedOptions = field(default_factory=RecordedOptions)
    inputs: RecordedInputs = field(default_factory=RecordedInputs)


def read_config(folder: RunFolder) -> RunConfig:
    """Return the config.json of the run in `folder`; raise InputError when it is missing or damaged."""
    place = str(folder.path / CONFIG_FILE)
    config = record_json.from_json(RunConfig, folder.read(CONFIG_FILE), place)
    return replace(config, inputs=record_json.from_json(RecordedInputs, config.identity, place))


def read_config_if_there(folder: RunFolder) -> RunConfig | None:
    """Return the config.json of the run in `folder`, None where there is none; raise as `read_config`."""
    return read_config(folder) if (folder.path / CONFIG_FILE).exists() else None


def write_config(
    folder: RunFolder,
    identity: Mapping[str, Any],
    options: Mapping[str, object],
    versions: Mapping[str, str],
) -> None:
    """Write config.json: the `identity` of a run, its `options`, and the versions of what it depends on."""
    content = {"identity": identity, "options": options, "versions": versions}
    folder.write_json(CONFIG_FILE, content)


def update_identity(folder: RunFolder, identity: Mapping[str, Any]) -> None:
    """Give the run that was begun in `folder`, if any, the identity of now.

    Verdicts are stored under their whole request, so none of another request is used.
    """
    config = read_config_if_there(folder)
    if config is not None and config.identity != identity:
        folder.write_json(CONFIG_FILE, {**folder.read(CONFIG_FILE), "identity": identity})


def _resolve_scale(identity: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return the identity with the grade from which a pair is relevant, which may be left to the scale."""
    by_scale: dict[str, int] = {scale.name: scale.relevant_from for scale in (BINARY, GRADED)}
    given = identity.get("relevant_from")
    by_default = by_scale.get(str(identity.get("scale")))
    return {**identity, "relevant_from": by_default if given is None else given}


def check_identity(folder: RunFolder, identity: Mapping[str, Any]) -> None:
    """Raise InputError when `folder` holds a run with other options than `identity`."""
    config = read_config_if_there(folder)
    if config is None or not config.identity:
        return
    stored, identity = _resolve_scale(config.identity), _resolve_scale(identity)
    differing = [name for name in {**stored, **identity} if stored.get(name) != identity.get(name)]
    if differing:
        changes = join_messages(
            _HASHED[name]
            if name in _HASHED
            else Message(
                "{name} was {before!r}, now {now!r}",
                name=name,
                before=stored.get(name),
                now=identity.get(name),
            )
            for name in differing
            if _CHANGED_BY.get(name, set()).isdisjoint(differing)
        )
        raise InputError(
            "{file}: holds another run: {changes}. Name another --out", file=folder.path, changes=changes
        )


def find_store(folder: RunFolder, chosen: str | Path | None = None) -> Path:
    """Return the file of the verdict store: the one that the user has `chosen`, else that of the run.

    Where that is gone, it is the one beside the run. Raises InputError when config.json names a file in
    another folder: the run can come from another person, who must not choose which store judge reads
    and writes, and caches stand beside a store.
    """
    if chosen:
        return Path(chosen)
    config = read_config_if_there(folder)
    with translate_run_errors(folder.path):
        named = config.options.store if config else None
        if not named or not Path(named).exists():
            return folder.own_store
    if Path(named).parent.resolve() == folder.path.parent.resolve():
        return folder.path.parent / Path(named).name
    raise InputError(
        "{file}: the verdict store of the run is {store!r}; add --store {words} if judge may use it",
        file=folder.path / CONFIG_FILE,
        store=named,
        words=shlex.quote(named),
    )
