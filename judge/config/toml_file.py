"""TOML files of options: reading them, with messages that name file and table."""

from __future__ import annotations

import re
import tomllib
from collections.abc import Mapping
from contextlib import suppress
from difflib import get_close_matches
from pathlib import Path
from typing import Any

from judge.errors import InputError, explain_error
from judge.filesystem import read_bytes
from judge.messages import Message

#: Marks that word processors and Chinese keyboards write in place of ".
_TYPOGRAPHIC_QUOTES = ("“", "”", "‘", "’", "＂", "＇")


#: The tables of a TOML file with options of other commands than those of a run.
TABLES = frozenset({"collect", "nightly"})


#: Earlier names of options in TOML files, with their present names.
ALIASES: Mapping[str, str] = {"patience": "max_wait", "grace": "shutdown_timeout"}


def read_toml(path: Path) -> dict[str, Any]:
    """Return the content of a TOML file; raise InputError when it cannot be read or a table is misspelt."""
    text = ""
    try:
        text = read_bytes(path, follow=True).decode("utf-8-sig")
        content = tomllib.loads(text)
    except OSError as error:
        raise InputError("{file}: cannot be read: {error}", file=path, error=explain_error(error)) from error
    except UnicodeDecodeError as error:
        raise InputError("{file}: is not UTF-8; save the file as UTF-8", file=path) from error
    except tomllib.TOMLDecodeError as error:
        raise InputError(
            "{file}: is not TOML: {error}{begin}{advice}",
            file=path,
            error=explain_error(error),
            begin=_locate_unfinished_entry(text) if str(error).endswith("(at end of document)") else "",
            advice=_advise(text, str(error)),
        ) from error
    for name, value in content.items():
        near = get_close_matches(name, TABLES, n=1)
        if isinstance(value, dict) and near and name not in TABLES:
            raise InputError(
                "{file}: unknown table [{name}]; did you mean [{suggestion}]?",
                file=path,
                name=name,
                suggestion=near[0],
            )
    return content


def _advise(text: str, error: str) -> Message:
    """Return which key is there twice, or what is wrong with quotation marks, at the error of tomllib."""
    if re.search(r"Illegal character '\\n'|Unterminated string|Expected \"'", error):
        return Message("; a text lacks its closing quotation mark")
    place = re.search(r"line (\d+), column (\d+)", error)
    if place and error.startswith("Cannot overwrite a value"):
        key = text.split("\n")[int(place[1]) - 1].partition("=")[0].strip()
        return Message("; {key!r} is given twice", key=key)
    if place and text.split("\n")[int(place[1]) - 1][int(place[2]) - 1 :].startswith(_TYPOGRAPHIC_QUOTES):
        return Message('; write texts in straight quotation marks: "text"')
    return Message("")


def _locate_unfinished_entry(text: str) -> Message:
    """Return where the last entry of a TOML text begins that has no end: the lines before it are TOML."""
    lines = text.replace("\r\n", "\n").split("\n")
    for number in range(len(lines), 0, -1):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads("\n".join(lines[: number - 1]))
            break
    return Message(
        "; the entry that begins in line {line} has no end: {text!r:.60}",
        line=number,
        text=lines[number - 1].strip(),
    )


def read_section(toml: Path, name: str) -> dict[str, Any]:
    """Return the table `name` of a TOML file, empty if it has none; raise InputError if it is not a table."""
    table = read_toml(toml).get(name, {})
    if not isinstance(table, dict):
        raise InputError(
            "{file}: {name!r} is {value!r}, not a table; write its options below a line [{name}]",
            file=toml,
            name=name,
            value=table,
        )
    return table


def read_table_rows(toml: Path, name: str) -> list[dict[str, Any]]:
    """Return the rows `[[name]]` of a TOML file; raise InputError when it has none."""
    rows = read_toml(toml).get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("{file}: has no rows [[{name}]]; write one or more", file=toml, name=name)
    return rows


def rename_options(options: Mapping[str, Any]) -> dict[str, Any]:
    """Return `options` under their present names; raise InputError when one has both of its names."""
    for alias, name in ALIASES.items():
        if alias in options and name in options:
            raise InputError("{name} is given twice, as {alias!r} too; keep {name!r}", name=name, alias=alias)
    return {ALIASES.get(name, name): value for name, value in options.items()}
