"""TOML files of options: reading them, and messages that name file, table and key."""

import re
import tomllib
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from difflib import get_close_matches
from functools import partial
from pathlib import Path
from typing import Any, Self

from judge.errors import InputError, explain_error
from judge.files.filesystem import read_bytes
from judge.messages import ENGLISH, Message, Translator

#: Marks that word processors and Chinese keyboards write in place of ".
_TYPOGRAPHIC_QUOTES = ("“", "”", "‘", "’", "＂", "＇")
#: The tables of a TOML file with options of other commands than those of a run.
TABLES = frozenset({"collect", "nightly"})
#: Earlier names of options in TOML files, with their present names.
ALIASES: Mapping[str, str] = {"patience": "max_wait", "grace": "shutdown_timeout"}
#: A name in a form, such as NAME, or of a column of a file.
_COLUMN = "[A-Za-z_\u4e00-\u9fff]+"
#: What follows an option in a template: a field with its value, a form such as FILE, or the end of the word.
_VALUE = (
    r"(?:[ ](?P<value>\{[^}%]*\})"
    rf"|[ ](?P<form>\w+={_COLUMN}(?:,\w+={_COLUMN})*|[A-Z][A-Z,]*[A-Z])|(?![\w-]))"
)
#: A table in TOML or Python: its first key, the value of that, and the other keys.
_TABLE = re.compile(r"(\{[ '])\w+( = |': )([^,}]*?)(?:, [^}]*?)?( ?\})")
#: A command in a message, whose options a file does not have.
_COMMAND = r"(?P<command>\bjudge [a-z]+ [^,;:，；：]*)"
#: A table of a TOML file.
TomlTable = dict[str, Any]
#: Options by name, with values that are not checked yet: of a file, of the command line or of a caller.
OptionValues = dict[str, Any]


def read_toml(path: Path) -> TomlTable:
    """Return the content of a TOML file; raise InputError when it cannot be read or a table is misspelt."""
    text = ""
    try:
        text = read_bytes(path, follow=True).decode("utf-8-sig")
        content = tomllib.loads(text)
    except FileNotFoundError:
        where = "" if path.is_absolute() else Message(" in {folder}", folder=Path.cwd())
        raise InputError("{file}: no such file{where}", file=path, where=where) from None
    except OSError as error:
        raise InputError("{file}: cannot be read: {error}", file=path, error=explain_error(error)) from error
    except UnicodeDecodeError as error:
        raise InputError("{file}: is not UTF-8; save the file as UTF-8", file=path) from error
    except (ValueError, RecursionError) as error:  # also for a number with too many digits
        raise InputError(
            "{file}: is not TOML: {error}{begin}{advice}",
            file=path,
            error=explain_error(error),
            begin=_locate_last_entry(text) if str(error).endswith("(at end of document)") else "",
            advice=_advise_on_quotes(text, str(error)),
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


def _advise_on_quotes(text: str, error: str) -> str:
    """Return what is wrong with quotation marks at the error of tomllib, "" if nothing is."""
    if re.search(r"Illegal character '\\n'|Unterminated string|Expected \"'", error):
        return Message("; a text lacks its closing quotation mark")
    place = re.search(r"line (\d+), column (\d+)", error)
    value = text.split("\n")[int(place[1]) - 1][int(place[2]) - 1 :] if place else ""
    is_boolean = value.lower().startswith(("true", "false"))
    is_text = error.startswith("Invalid value") and value[:1].isalpha() and not is_boolean
    if is_text or value.startswith(_TYPOGRAPHIC_QUOTES):
        return Message('; write texts in straight quotation marks: "text"')
    return ""


def _locate_last_entry(text: str) -> Message:
    """Return where the last entry of a TOML text begins, which is wrong: the lines before it are TOML."""
    lines = text.replace("\r\n", "\n").split("\n")
    for number in range(len(lines), 0, -1):
        with suppress(tomllib.TOMLDecodeError):
            tomllib.loads("\n".join(lines[: number - 1]))
            break
    return Message(
        "; the wrong entry begins in line {line}: {text!r:.60}",
        line=number,
        text=lines[number - 1].strip(),
    )


def read_section(toml: Path, name: str) -> TomlTable:
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


def read_table_rows(toml: Path, name: str) -> list[TomlTable]:
    """Return the rows `[[name]]` of a TOML file; raise InputError when it has none."""
    rows = read_toml(toml).get(name)
    if not isinstance(rows, list) or not all(isinstance(row, dict) for row in rows):
        raise InputError("{file}: has no rows [[{name}]]; write one or more", file=toml, name=name)
    return rows


def rename_options(options: OptionValues) -> OptionValues:
    """Return `options` under their present names; raise InputError when one has both of its names."""
    for alias, name in ALIASES.items():
        if alias in options and name in options:
            raise InputError("{name} is given twice, as {alias!r} too; keep {name!r}", name=name, alias=alias)
    return {ALIASES.get(name, name): value for name, value in options.items()}


# Options as a file has them, in messages


class SpelledMessage(Message):
    """A message with what a file, or Python, has for each option; `spellings` are those of `name_keys`."""

    inner: Message
    spellings: Mapping[str, str]

    def __new__(cls, inner: Message, spellings: Mapping[str, str]) -> Self:
        """Return the message in English."""
        message = super().__new__(cls, _name_keys_of(ENGLISH, spellings)(inner))
        message.inner, message.spellings = inner, spellings
        return message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.inner, self.spellings)

    def render(self, translator: Translator) -> str:
        """Return the message in the language of the translator."""
        return _name_keys_of(translator, self.spellings)(self.inner)


def _name_keys_of(translator: Translator, spellings: Mapping[str, str]) -> Translator:
    return translator.replace_edit(
        lambda template: translator.edit_template(name_keys(template, spellings=spellings))
    )


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The place that options come from: a file, a table in it ("" is the top level) and keys.

    `keys` maps the field of each option that the file decides, set there or not, to its key: `engines` to
    `engine`. Options of the command line are not in it. `spellings` maps how the command line spells these
    options to how the file does, see `name_keys`: `--engine` to `engine`.
    """

    file: Path | None = None
    table: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    spellings: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def name_keys_in_errors(self) -> Iterator[None]:
        """Name options in the message of an InputError as the file does, if there is one."""
        try:
            yield
        except InputError as error:
            error.message = self.name_keys_in(error.message)
            raise

    def name_keys_in(self, message: Message) -> Message:
        """Return a message with what the file has for each option in it, if there is a file."""
        return SpelledMessage(message, self.spellings) if self.file is not None else message

    @contextmanager
    def add_error_context(self, *options: str) -> Iterator[None]:
        """Put file, table and key before the message of an InputError, if the file decides all `options`."""
        try:
            yield
        except InputError as error:
            if self.file is not None and self.keys.keys() >= set(options):
                key = self.keys[options[0]] if len(options) == 1 else ""
                error.message = self._add_place(error.message, key)
            raise

    def _add_place(self, message: Message, key: str) -> Message:
        """Return a message after its place, unless it names that already, with keys for options."""
        if message.startswith(f"{self.file}: "):
            return message
        message = self.name_keys_in(message)
        if not message.startswith("["):
            if key and not message.startswith((f"{key} ", f"{key}: ")):
                message = Message("{name}: {value}", name=key, value=message)
            if self.table:
                message = Message("[{name}] {error}", name=self.table, error=message)
        return Message("{file}: {error}", file=self.file, error=message)

    def check_exists(self, option: str, *paths: Path) -> None:
        """Raise InputError when one of `paths`, the value of `option`, does not exist or is a folder.

        Relative paths start at the current folder, also those in a file elsewhere; the message states this.
        """
        with self.add_error_context(option):
            for path in paths:
                if not path.exists():
                    where = "" if path.is_absolute() else Message(" in {folder}", folder=Path.cwd())
                    raise InputError("{file}: no such file{where}", file=path, where=where)
                if path.is_dir():
                    raise InputError("{file}: is a folder; name a file", file=path)


def _name_entries(entries: Sequence[tuple[str, str]], table: re.Match[str]) -> str:
    """Return a table in TOML or Python with other `entries`.

    A value that is its name in another case, as in snippet=Snippet, or in Chinese is a column of a file.
    Others, such as NAME, mean any, and have the value of the table.
    """
    begin, sign, example, end = table.groups()
    quote = example[0]
    values = (
        f"{name}{sign}{quote}{value}{quote}"
        if value.casefold() == name or not value.isascii()
        else f"{name}{sign}{example}"
        for name, value in entries
    )
    return begin + f", {begin[1].strip()}".join(values) + end


def name_keys(template: str, spellings: Mapping[str, str]) -> str:
    """Return the template of a message with what a file has for each option of the command line in it.

    `spellings` are those of `list_spellings`: `points = true` for `--points`, `on = "ray"` for `--on ray`,
    `price = [0.4, 1.2]` for `--price INPUT,OUTPUT`. Options of a command, such as `judge init --out FILE`,
    stay.
    """

    def name_key(match: re.Match[str]) -> str:
        if match["command"]:
            return match[0]
        key = spellings[match["word"]]
        if match["form"]:
            example = spellings.get(f"{match['word']} FORM", key)
            # The example of a table takes the names before the signs; NAME in NAME=URL means any.
            entries = re.findall(f"([a-z_]+)=({_COLUMN})", match["form"])
            return _TABLE.sub(partial(_name_entries, entries), example) if entries else example
        return f"{key} = {match['value']}" if match["value"] else key

    if not spellings:
        return template
    options = "|".join(map(re.escape, sorted(spellings, key=len, reverse=True)))
    pattern = rf"{_COMMAND}|(?<![^\s(（，、；：])(?P<word>{options}){_VALUE}"
    return re.sub(pattern, name_key, template, flags=re.ASCII)
