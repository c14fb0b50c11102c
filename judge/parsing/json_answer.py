"""Parse a reply that holds one JSON object of a stated form, or refuse it."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any, TypeVar

import msgspec

from judge.errors import ReplyParseError
from judge.parsing.final_answer import extract_final_answer, strip_fence
from judge.records import is_complete_reply

Answer = TypeVar("Answer")


def parse_json_answer(text: str, kind: type[Answer], finish_reason: str | None = "stop") -> Answer:
    """Return the record of the type `kind` that the final answer of a reply holds.

    The answer is one JSON object, in a Markdown fence or not, without repeated keys. Raise ReplyParseError
    for any other reply.
    """
    answer = extract_final_answer(text, cut=not is_complete_reply(finish_reason))
    try:
        value = json.loads(strip_fence(answer), object_pairs_hook=_make_object)
        return msgspec.convert(value, kind)
    except msgspec.ValidationError as error:
        raise ReplyParseError("missing_key", f"the object has another form: {error}") from error
    except (ValueError, RecursionError) as error:
        kind_of_error = "malformed" if is_complete_reply(finish_reason) else "truncated"
        raise ReplyParseError(kind_of_error, f"the reply is no JSON object: {error}") from error


def _make_object(pairs: Iterable[tuple[str, Any]]) -> dict[str, Any]:
    pairs = list(pairs)
    if len(dict(pairs)) < len(pairs):
        raise ValueError("a key is repeated")
    return dict(pairs)
