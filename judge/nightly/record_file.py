"""The only code that reads and writes the records of nights, such as night.json.

Version 2 is written. Version 1 is read as well: its keys and status words are mapped to those of version 2.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, TypeVar

from pydantic import ValidationError

from judge.errors import InputError
from judge.messages import Message
from judge.nightly.record import NIGHT_SCHEMA_VERSION, NightRecord
from judge.runs.folder import RunFolder
from judge.runs.record_json import build_adapter, describe_mismatch

NIGHT_FILE = "night.json"
Record = TypeVar("Record")
_RUN_AGAIN = Message("; remove the file and run the night again")
#: The errors of a name that judge does not give: others may have made the file.
_WRONG_NAME = frozenset({"string_pattern_mismatch", "string_too_long"})
_STATUSES_OF_VERSION_1 = {
    "judge drift": "assessor drift",
    "different queries": "queries changed",
    "asked otherwise": "engine settings changed",
}
_KEYS_OF_VERSION_1 = {
    "because": "reasons",
    "whole": "complete",
    "paid": "cost_total",
    "apart": "quarantined_store",
    "gate": "regression_test",
    "band": "banner",
}


def record_to_json(record: object) -> dict[str, Any]:
    """Return a record of nights as JSON values."""
    return dict(build_adapter(type(record)).dump_python(record, mode="json"))


def record_from_json(values: Mapping[str, Any], source: str) -> NightRecord:
    """Return the record in the JSON object `values`.

    Raises InputError, which names `source` and the key, when a value is missing or of another type.
    """
    version = 1 if values.get("format") == 1 else values.get("schema")
    if version not in (1, NIGHT_SCHEMA_VERSION):
        raise InputError(
            "{source}: schema is {version!r}; this version of judge reads 1 and {newest}{advice}",
            source=source,
            version=version,
            newest=NIGHT_SCHEMA_VERSION,
            advice=_RUN_AGAIN,
        )
    values = _convert_version_1(values) if version == 1 else values
    return parse_record(NightRecord, values, source, _RUN_AGAIN)


def parse_record(kind: type[Record], values: object, source: str, advice: str = "") -> Record:
    """Return the record of nights in JSON values.

    Raises InputError, which names `source` and the first wrong key, and ends with the `advice`.
    """
    try:
        record: Record = build_adapter(kind).validate_python(values)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # pydantic adds the wrong key of an object and "[key]"; the message of the error shows the key.
        path = first["loc"][:-2] if first["loc"][-1:] == ("[key]",) else first["loc"]
        what = describe_mismatch(first)
        if first["type"] in _WRONG_NAME:
            expected = Message("a name that judge gives")
            what = Message("is {value!r:.80}, not {expected}", value=first["input"], expected=expected)
        raise InputError(
            "{source}: field {field!r} {what}{advice}",
            source=source,
            field=".".join(map(str, path)),
            what=what,
            advice=advice,
        ) from error
    return record


def _convert_version_1(values: Mapping[str, Any]) -> dict[str, Any]:
    """Return the values of a record of version 1 with the keys and status words of version 2."""
    current = {_KEYS_OF_VERSION_1.get(key, key): value for key, value in values.items()}
    current["schema"] = NIGHT_SCHEMA_VERSION
    current["status"] = _STATUSES_OF_VERSION_1.get(str(values.get("status")), values.get("status"))
    current.setdefault("complete", current.get("finished", False))
    if isinstance(canaries := current.get("canaries"), Mapping):
        current["canaries"] = {"reasons": canaries.get("because", ()), **canaries}
    return current


def read_record(folder: RunFolder) -> NightRecord:
    """Return the record of the night in `folder`; raise InputError where there is none or it is damaged."""
    return record_from_json(folder.read(NIGHT_FILE), str(folder.path / NIGHT_FILE))


def read_record_if_there(folder: RunFolder) -> NightRecord | None:
    """Return the record of the night in `folder`, None where there is none; raise InputError when damaged."""
    return read_record(folder) if (folder.path / NIGHT_FILE).exists() else None
