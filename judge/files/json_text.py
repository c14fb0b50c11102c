"""JSON as text: on one line for every reader of lines, and hashes that are the same on every machine."""

import hashlib
import json
import re
from collections.abc import Sequence
from json.encoder import encode_basestring_ascii
from typing import Any

import msgspec

from judge.records import JsonDict

# Control characters, separators that some readers take for line ends, and lone surrogates would
# break files for others; they only occur inside JSON strings, where the escape means the same.
_FRAGILE = re.compile("[\x7f-\x9f\u2028\u2029\ufeff\u202a-\u202e\u2066-\u2069\ud800-\udfff]")

# `json.dumps` would make one for each value.
_ENCODER = json.JSONEncoder(ensure_ascii=False, allow_nan=False)


def dump_json(value: object, *, indent: int | None = None) -> str:
    """Return `value` as JSON; without `indent` it is one line for every reader of lines."""
    if indent is None:
        text = _ENCODER.encode(value)
    else:
        text = json.dumps(value, ensure_ascii=False, allow_nan=False, indent=indent)
    return _escape_fragile(text)


def format_json(encoded: bytes) -> str:
    """Return what msgspec `encoded` on one line, as `dump_json` writes it; some numbers look different."""
    return _escape_fragile(msgspec.json.format(encoded, indent=0).decode())


def _escape_fragile(text: str) -> str:
    """Return JSON `text` with an escape for each character that would break files for others."""
    # No such character is printable, and these checks take a fraction of the time of the search.
    if (text.isascii() and "\x7f" not in text) or text.isprintable():
        return text
    return _FRAGILE.sub(lambda match: f"\\u{ord(match[0]):04x}", text)


def hash_parts(parts: Sequence[str], length: int) -> str:
    """Return the first `length` hex digits of a hash of `parts`; it depends on where each part ends."""
    # As an encoder writes the list, in less time.
    return hashlib.sha256(f"[{', '.join(map(encode_basestring_ascii, parts))}]".encode()).hexdigest()[:length]


class RepeatedKey(ValueError):
    """An object of JSON has a `key` twice."""

    def __init__(self, key: str) -> None:
        super().__init__("a key is repeated")
        self.key = key


def make_object(pairs: Sequence[tuple[str, Any]]) -> JsonDict:
    """Return the object with these members, for `json.loads`; raise RepeatedKey for a key that is twice."""
    members = dict(pairs)
    if len(members) < len(pairs):
        keys = [key for key, _ in pairs]
        raise RepeatedKey(next(key for key in keys if keys.count(key) > 1))
    return members
