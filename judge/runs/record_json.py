"""Records as JSON: the one place that writes and reads the records of summary.json and its like.

The keys of a file are the names of the fields. A field that has its default is left out. `VERSION_1` lists
the keys that version 1 of the layout names differently, and the first files of version 2, too, where it says
so; these files are still read.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Sequence
from contextlib import suppress
from datetime import date
from functools import cache, partial
from typing import TYPE_CHECKING, Any, Final, NamedTuple, NewType, TypeVar, cast

import msgspec

from judge.analysis.summary import SCHEMA_VERSION, Summary
from judge.errors import EXPECTED_TYPES, InputError
from judge.messages import Message
from judge.records import JsonDict
from judge.runs.folder import RunFolder, make_damage_error

if TYPE_CHECKING:
    from pydantic import TypeAdapter
    from pydantic_core import ErrorDetails

Record = TypeVar("Record")


class RenamedKey(NamedTuple):
    """An earlier key and its present name; `path` leads to its objects, `*` means any key."""

    path: tuple[str, ...]
    old: str
    new: str


#: The keys of summary.json that have another name in version 1, in the order in which they are renamed.
VERSION_1: Final = (
    RenamedKey((), "saved", "dedup_saving"),
    RenamedKey((), "within_lists", "own_list_reversal"),
    RenamedKey(("own_list_reversal",), "sure", "significant"),
    RenamedKey((), "slices", "segments"),
    RenamedKey((), "without_flagged", "flagged_sensitivity"),
    RenamedKey(("flagged_sensitivity", "engines", "*"), "kept", "unchanged"),
    RenamedKey(("flagged_sensitivity", "winners"), "kept", "unchanged"),
    RenamedKey((), "kin", "self_preference"),
    RenamedKey(("self_preference", "*"), "house", "vendor"),
    RenamedKey(("panel",), "heard", "responded"),
    RenamedKey(("engines", "*"), "textless", "no_snippet_share"),
    # The first files of version 2 have these, too.
    RenamedKey(("comparisons", "*"), "verdict", "conclusion"),
    RenamedKey(("segments", "*", "*", "comparisons", "*"), "verdict", "conclusion"),
)
#: Keys of summary.json that early files of version 1 do not have, with the values that they mean.
_ADDED: Final[JsonDict] = {
    "dates": True,
    "grades": "",
    "served": {},
    "selftest": {},
    "remarks": [],
    "panel": None,
    "self_preference": [],
    "flagged_sensitivity": None,
}
_ADDED_TO_ENGINE: Final = ("latency_ms", "tokens", "no_snippet_share")
_ADDED_TO_COST: Final[JsonDict] = {"uncounted": 0, "maybe_billed": 0, "price": None}
#: What `analyse_run` makes again where a file is older than the last form of version 1.
_RECOMPUTED: Final[JsonDict] = {
    "comparisons": [],
    "own_list_reversal": None,
    "segments": {},
    "stability": None,
    "self_preference": [],
    "flagged_sensitivity": None,
    "deciding_queries": None,
}
#: What a value should be, by pydantic's name of the error without its end.
_EXPECTED: Final = {
    **EXPECTED_TYPES,
    "int_from_float": EXPECTED_TYPES["int"],
    "finite_number": EXPECTED_TYPES["float"],
    "mapping": EXPECTED_TYPES["dict"],
    "dataclass": EXPECTED_TYPES["dict"],
    # Others may have made a file that names files.
    "string_pattern_mismatch": Message("a name that judge gives"),
    "string_too_long": Message("a name that judge gives"),
}


@cache
def build_adapter(kind: Any) -> TypeAdapter[Any]:  # noqa: ANN401  # any type
    """Return pydantic's validator and serialiser of a record type, which takes a while to build."""
    from pydantic import ConfigDict, TypeAdapter

    # pydantic reads "NaN" as a number, and takes no settings for a dataclass that is not behind another type.
    return TypeAdapter(cast(Any, NewType)("Record", kind), config=ConfigDict(allow_inf_nan=False))


def to_json(record: object, *, with_defaults: bool = False) -> JsonDict:
    """Return a record as JSON values, without fields that have their default value unless `with_defaults`.

    A text with half a surrogate pair stays as it is.
    """
    if isinstance(record, msgspec.Struct):
        return cast(JsonDict, msgspec.to_builtins(record, enc_hook=str.__str__))
    adapter = build_adapter(cast(Any, type(record)))
    dump = partial(adapter.dump_python, record, exclude_defaults=not with_defaults, warnings=False)
    value: JsonDict
    try:
        value = dump(mode="json")
    except UnicodeEncodeError:  # half a surrogate pair
        value = json.loads(json.dumps(dump(), default=date.isoformat))
    return value


@cache
def _make_decoder(kind: Any) -> msgspec.json.Decoder[Any]:  # noqa: ANN401 - a cached function has no type variable
    return msgspec.json.Decoder(kind)


def decode_json(kind: type[Record], text: str | bytes) -> Record | None:
    """Return the record that a JSON text holds, None where only `from_json` can read it or say what is wrong.

    That is a value of another type, half a surrogate pair, or a text that is not JSON.
    """
    try:
        record: Record = _make_decoder(cast(Any, kind)).decode(text)
    except (msgspec.DecodeError, RecursionError):
        return None
    return record


def from_json(kind: type[Record], value: object, place: str, advice: Message | None = None) -> Record:
    """Return the record that the JSON value in `place` holds.

    Raises InputError, which names the field and ends with the `advice` (None: that about the file), where
    the value does not fit the record.
    """
    from pydantic import ValidationError

    try:
        record: Record = build_adapter(cast(Any, kind)).validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        # pydantic adds the wrong key of an object and "[key]"; the message shows the key.
        path = first["loc"][:-2] if first["loc"][-1:] == ("[key]",) else first["loc"]
        raise make_damage_error(
            "{place}: field {field!r} {what}",
            advice,
            place=place,
            field=".".join(map(str, path)),
            what=_describe_mismatch(first),
        ) from None
    return record


def load_record(
    folder: RunFolder, name: str, kind: type[Record], renamed: Iterable[RenamedKey] = ()
) -> Record | None:
    """Return the record in a file of `folder`, None where there is no file.

    The file may be of an earlier version, with the keys that were `renamed` since. Raises InputError, as
    `from_json`, when it is damaged, and when it is of a newer judge.
    """
    value, place = folder.read_if_there(name), str(folder.path / name)
    if value is None:
        return None
    check_version(value, place)
    rename_keys(value, renamed)
    return from_json(kind, {**value, "schema": SCHEMA_VERSION}, place)


def _describe_mismatch(detail: ErrorDetails) -> Message:
    """Return the description of an invalid value of a field, from pydantic's error."""
    if detail["type"] == "missing":
        return Message("is missing")
    value, kind = detail["input"], detail["type"].removesuffix("_type").removesuffix("_parsing")
    if expected := _EXPECTED.get(kind) or detail.get("ctx", {}).get("expected"):
        return Message("is {value!r:.80}, not {expected}", value=value, expected=expected)
    return Message("is {value!r:.80}: {error}", value=value, error=detail["msg"])


def check_version(value: JsonDict, place: str) -> int:
    """Return the schema version of a file; raise InputError for a file of a newer judge."""
    version = value.get("schema", 1)
    if not isinstance(version, int) or isinstance(version, bool) or version < 1:
        raise make_damage_error(
            "{place}: field 'schema' is {version!r:.60}, not a version", place=place, version=version
        )
    if version > SCHEMA_VERSION:
        raise InputError(
            "{place}: has schema version {version}, and this version of judge reads up to {newest}; update"
            " judge: pip install -U search-judge",
            place=place,
            version=version,
            newest=SCHEMA_VERSION,
        )
    return version


def summary_from_json(value: JsonDict, place: str) -> Summary:
    """Return the summary that the JSON object in `place` holds, in the layout of any version up to now."""
    version = check_version(value, place)
    rename_keys(value, VERSION_1)
    current = _upgrade_summary(value) if version == 1 else value
    # pydantic converts more types and says what is wrong; its validator takes some 40 ms to build.
    with suppress(ValueError, RecursionError):
        return msgspec.convert(current, Summary)
    return from_json(Summary, current, place)


def is_outdated(value: JsonDict) -> bool:
    """Return whether a summary lacks figures that were added later; `analyse_run` makes it again."""
    return "schema" not in value and "deciding_queries" not in value


def _upgrade_summary(value: JsonDict) -> JsonDict:
    """Return a summary of version 1, whose keys are renamed, with the fields of version 2."""
    outdated = is_outdated(value)
    value = {**_ADDED, **value, **(_RECOMPUTED if outdated else {}), "schema": SCHEMA_VERSION}
    engines, panel, cost = value.get("engines"), value["panel"], value.get("cost")
    if isinstance(engines, dict) and all(isinstance(row, dict) for row in engines.values()):
        value["engines"] = {name: {**dict.fromkeys(_ADDED_TO_ENGINE), **row} for name, row in engines.items()}
    value["stability"] = value.get("stability") or None
    if isinstance(panel, dict):
        value["panel"] = {**panel, "agreement": panel.get("agreement") or None}
    if isinstance(cost, dict):
        value["cost"] = {**_ADDED_TO_COST, **cost} if cost else None
    return value


def rename_keys(value: object, keys: Iterable[RenamedKey]) -> None:
    """Rename the earlier keys in `value`, in their order."""
    for key in keys:
        _rename_key(value, *key)


def _rename_key(value: object, path: Sequence[str], old: str, new: str) -> None:
    """Rename the key in every object that the path leads to; other objects stay as they are."""
    if not path:
        if isinstance(value, dict) and old in value:
            value[new] = value.pop(old)
        return
    children: Iterable[object] = value if isinstance(value, list) and path[0] == "*" else ()
    if isinstance(value, dict):
        children = value.values() if path[0] == "*" else [value.get(path[0])]
    for inner in children:
        _rename_key(inner, path[1:], old, new)
