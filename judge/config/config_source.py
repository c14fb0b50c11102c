"""The file that options come from, and messages that name file, table and key."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from functools import partial
from pathlib import Path
from typing import Self

from judge.errors import InputError
from judge.messages import ENGLISH, Message, Translator

#: What follows an option in a template: a field with its value, a form such as FILE, or the end of the word.
_VALUE = r"(?:[ ](?P<value>\{[^}%]*\})|[ ](?P<form>(?:\w+=)?[A-Z][A-Z,=]+)|(?![\w-]))"


#: A command in a message, whose options a file does not have.
_COMMAND = r"(?P<command>\bjudge [a-z]+ [^,;:，；：]*)"


class FileMessage(Message):
    """A message with what a file has for each option in it; `words` are those of `name_keys`."""

    inner: Message
    words: Mapping[str, str]

    def __new__(cls, inner: Message, words: Mapping[str, str]) -> Self:
        """Return the message in English."""
        message = super().__new__(cls, _name_keys_of(ENGLISH, words)(inner))
        message.inner, message.words = inner, words
        return message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.inner, self.words)

    def render(self, translator: Translator) -> str:
        """Return the message in the language of the translator."""
        return _name_keys_of(translator, self.words)(self.inner)


def _name_keys_of(translator: Translator, words: Mapping[str, str]) -> Translator:
    return translator.replace_edit(partial(name_keys, words=words))


@dataclass(frozen=True, slots=True)
class ConfigSource:
    """The place that options come from: a file, a table in it ("" is the top level) and keys.

    `keys` maps each option that the file decides, set there or not, to its key. Options of the command
    line are not in it. `words` maps what the command line has for an option to what the file has, see
    `name_keys`.
    """

    file: Path | None = None
    table: str = ""
    keys: Mapping[str, str] = field(default_factory=dict)
    words: Mapping[str, str] = field(default_factory=dict)

    @contextmanager
    def name_keys_in_errors(self) -> Iterator[None]:
        """Name options in the message of an InputError as the file does, if there is one."""
        try:
            yield
        except InputError as error:
            error.args = (self.name_keys_in(error.message),)
            raise

    def name_keys_in(self, message: Message) -> Message:
        """Return a message with what the file has for each option in it, if there is a file."""
        return FileMessage(message, self.words) if self.file is not None else message

    @contextmanager
    def add_error_context(self, *options: str) -> Iterator[None]:
        """Put file, table and key before the message of an InputError, if the file decides all `options`."""
        try:
            yield
        except InputError as error:
            if self.file is not None and self.keys.keys() >= set(options):
                key = self.keys[options[0]] if len(options) == 1 else ""
                error.args = (self._add_place(error.message, key),)
            raise

    def _add_place(self, message: Message, key: str) -> Message:
        """Return a message after its place, unless it names that already, with keys for options."""
        if message.startswith(f"{self.file}: "):
            return message
        message = self.name_keys_in(message)
        if not message.startswith("["):
            if key and not message.startswith(f"{key} "):
                message = Message("{name}: {value}", name=key, value=message)
            if self.table:
                message = Message("[{name}] {error}", name=self.table, error=message)
        return Message("{file}: {error}", file=self.file, error=message)

    def check_exists(self, option: str, *paths: Path) -> None:
        """Raise InputError when one of `paths`, the value of `option`, does not exist.

        Relative paths start at the current folder, also those in a file elsewhere; the message says so.
        """
        with self.add_error_context(option):
            for path in paths:
                if not path.exists():
                    where = "" if path.is_absolute() else Message(" in {folder}", folder=Path.cwd())
                    raise InputError("{file}: no such file{where}", file=path, where=where)


def name_keys(template: str, words: Mapping[str, str]) -> str:
    """Return the template of a message with what a file has for each option of the command line in it.

    `words` are those of `list_toml_words`: `points = true` for `--points`, `on = "ray"` for `--on ray`,
    `price = [0.4, 1.2]` for `--price INPUT,OUTPUT`. Options of a command, such as `judge init --out FILE`,
    stay.
    """

    def name_key(match: re.Match[str]) -> str:
        if match["command"]:
            return match[0]
        key = words[match["word"]]
        if match["form"]:
            return words.get(f"{match['word']} FORM", key)
        return f"{key} = {match['value']}" if match["value"] else key

    if not words:
        return template
    options = "|".join(map(re.escape, sorted(words, key=len, reverse=True)))
    pattern = rf"{_COMMAND}|(?<![^\s(（，、；：])(?P<word>{options}){_VALUE}"
    return re.sub(pattern, name_key, template, flags=re.ASCII)
