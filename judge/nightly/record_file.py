"""The only code that reads night.json: version 2, and version 1 with its other keys and status words."""

from __future__ import annotations

from typing import Any

from judge.analysis.summary import SCHEMA_VERSION
from judge.nightly.record import NightRecord
from judge.runs.folder import RunFolder
from judge.runs.record_json import RenamedKey, check_version, from_json, rename_keys

NIGHT_FILE = "night.json"
_STATUSES_OF_VERSION_1 = {
    "judge drift": "assessor drift",
    "different queries": "queries changed",
    "asked otherwise": "engine settings changed",
}
_KEYS_OF_VERSION_1 = (
    RenamedKey((), "because", "reasons"),
    RenamedKey((), "whole", "complete"),
    RenamedKey((), "paid", "cost_total"),
    RenamedKey((), "apart", "quarantined_store"),
    RenamedKey((), "gate", "regression_test"),
    RenamedKey((), "band", "banner"),
    RenamedKey(("canaries",), "because", "reasons"),
)


def record_from_json(values: dict[str, Any], place: str) -> NightRecord:
    """Return the record in the JSON object `values`; raise InputError, which names `place` and the key."""
    if check_version(values, place) == 1:
        rename_keys(values, _KEYS_OF_VERSION_1)
        status = values.get("status")
        values = {
            "complete": values.get("finished", False),
            **values,
            "status": _STATUSES_OF_VERSION_1.get(str(status), status),
            "schema": SCHEMA_VERSION,
        }
    return from_json(NightRecord, values, place)


def read_record(folder: RunFolder) -> NightRecord:
    """Return the record of the night in `folder`; raise InputError where there is none or it is damaged."""
    return record_from_json(folder.read(NIGHT_FILE), str(folder.path / NIGHT_FILE))


def read_record_if_there(folder: RunFolder) -> NightRecord | None:
    """Return the record of the night in `folder`, None where there is none; raise InputError when damaged."""
    return read_record(folder) if (folder.path / NIGHT_FILE).exists() else None
