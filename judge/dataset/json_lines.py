"""JSON in text files: a value on each line, or one in the whole file."""

from __future__ import annotations

import json
from collections.abc import Iterator
from pathlib import Path
from typing import Any

from judge.dataset.text_files import Warn, read_lines
from judge.errors import InputError
from judge.json_text import RepeatedKey, make_object
from judge.messages import Message


def read_nonblank_lines(path: Path, warn: Warn | None = None) -> Iterator[tuple[str, str]]:
    """Yield `path:line` and the text of every line that is not blank; `.gz` files are unpacked.

    Lines end at line feeds only: other separators can be inside a JSON string. `warn` receives a warning
    where the encoding is a guess; without `warn` a guess raises InputError.
    """
    for number, text in read_lines(path, warn):
        stripped = text.strip(" \t\r\n")
        if stripped:
            yield f"{path}:{number}", stripped


def parse_object(location: str, text: str) -> dict[str, Any]:
    """Return the JSON object in `text`; raise InputError for other JSON, or a duplicate key."""
    value = parse_row_json(location, text)
    if not isinstance(value, dict):
        raise InputError("{place}: is {text!r}, not an object {{…}}", place=location, text=text[:60])
    return value


def parse_row_json(location: str, text: str) -> Any:  # noqa: ANN401 - JSON may hold any value
    """Return the value in `text`; raise InputError where it is not JSON or gives one key twice."""
    try:
        return json.loads(text, object_pairs_hook=make_object)
    except json.JSONDecodeError as error:
        where = (
            location
            if error.lineno == 1
            else Message("{place}, line {line}", place=location, line=error.lineno)
        )
        raise InputError(
            "{where}: is not JSON: {error}, column {column}: {text!r}",
            where=where,
            error=Message(error.msg),
            column=error.colno,
            text=text[:60],
        ) from None
    except RecursionError:
        raise InputError("{place}: cannot be read as JSON: it nests too deep", place=location) from None
    except RepeatedKey as error:
        raise InputError(
            "{place}: field {field!r} is given twice in one object; keep one", place=location, field=error.key
        ) from None
    except ValueError:
        raise InputError(
            "{place}: cannot be read as JSON: a number has too many digits", place=location
        ) from None
