"""The collection of a night: its dataset, and what collected.json says of the requests to engines."""

import json
from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from judge.collect.engines import SECRET_NAME
from judge.collect.registry import open_engines
from judge.config.collect import CollectConfig
from judge.config.environment import copy_environment
from judge.files.json_text import hash_parts
from judge.models.server import redact_url
from judge.nightly.record import NIGHT_FILE, EngineSettings, EngineSource
from judge.runs.folder import RunFolder
from judge.runs.load import CONFIG_FILE
from judge.runs.record_json import RenamedKey, load_record, to_json

#: The dataset of a night, and what is stored beside it.
DATASET_FILE, COLLECTION_FILE = "data.jsonl", "collected.json"


@dataclass(frozen=True, slots=True)
class CollectionInfo:
    """The content of collected.json: the remarks of a collection, and the settings of the engines, if known.

    `short_lists` has a sentence for each engine that returned fewer results than the depth for every query.
    """

    remarks: tuple[str, ...] = ()
    engine_settings: EngineSettings | None = None
    short_lists: dict[str, str] = field(default_factory=dict)


def read_collection(folder: RunFolder) -> CollectionInfo:
    """Return what collected.json holds, nothing without the file; raise InputError when it is damaged."""
    renamed = RenamedKey((), "asked", "engine_settings")  # of version 1
    return load_record(folder, COLLECTION_FILE, CollectionInfo, [renamed]) or CollectionInfo()


def collect_dataset(toml: Path, folder: RunFolder) -> CollectionInfo:
    """Ask the engines, write the dataset into the night's `folder`, and return what is stored beside it.

    When judging has begun, the dataset does not change, so that all answers are of the same time. Engines are
    asked again, for the missing answers, only after the night was incomplete.
    """
    if not (folder.path / CONFIG_FILE).exists() or (folder.path / NIGHT_FILE).exists():
        from judge.collect.collection import collect  # imports aiohttp

        config = CollectConfig.load(toml, out=str(folder.path / DATASET_FILE))
        result = collect(config)
        remarks = (*result.wrong_paths, *result.remarks)
        new = CollectionInfo(remarks, _read_engine_settings(config), dict(result.short_lists))
        folder.write_json(COLLECTION_FILE, to_json(new))
    return read_collection(folder)


def _read_engine_settings(config: CollectConfig) -> EngineSettings:
    """Return the settings that shape what engines answer, without keys.

    An engine's table may hold anything, so only digests of its parts are stored.
    """
    engines = {
        source.name: EngineSource(
            address=redact_url(source.make_requests("", config.depth)[0].url, *source.secrets),
            table={
                part: hash_parts([json.dumps(_drop_secrets(value), sort_keys=True, default=str)], 16)
                for part, value in sorted(config.engine_tables.get(source.name, {}).items())
                if not SECRET_NAME.search(part)
            },
        )
        for source in open_engines(config, copy_environment())
    }
    return EngineSettings(depth=config.depth, lang=config.lang, country=config.country, engines=engines)


def _drop_secrets(value: object) -> object:
    """Return the value without the entries whose names are those of secrets, which may change any time."""
    if isinstance(value, Mapping):
        return {key: _drop_secrets(part) for key, part in value.items() if not SECRET_NAME.search(str(key))}
    return [_drop_secrets(part) for part in value] if isinstance(value, list) else value
