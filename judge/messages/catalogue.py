"""Messages, and their translation by a gettext catalogue: one for the terminal, the pages and the notices.

The English text is the message id; `zh.po` holds its Chinese translation and is compiled to `zh.mo` when the
package is built. Values are in braces and keep their names in both languages.

A Chinese template has a space between Chinese and a value, because most values are numbers or Latin names.
The space goes where the value is Chinese, too: no space is between two Chinese characters. It stays
around a path, whose end nothing else shows.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from functools import cached_property, lru_cache, reduce
from gettext import GNUTranslations, NullTranslations
from math import floor, log10
from string import Formatter
from typing import Any, ClassVar, Self

from judge.messages.recognition import DEPTH, PLACE_PARTS, MessageIndex, is_quoted, split_names

#: The values that are places in a file; these are plain texts, because every row of a dataset has one.
_PLACES = ("place", "other_place", "where")
#: Marks around a text of unknown direction, which a page shows nothing for.
_ISOLATES = "\u2066\u2067\u2068\u2069"
#: The format of a text that is cut after so many characters.
_CUT = re.compile(r"\.(\d+)")


def cut_value(value: str, length: int) -> str:
    """Return `value`, with an ellipsis in the place of what is beyond `length` characters.

    Quotation marks around it stay closed.
    """
    if len(value) <= length:
        return value
    end = value[-1] if value[0] in "'\"" and value[-1] == value[0] else ""
    return f"{value[: length - 1 - len(end)]}…{end}"


class _Formatter(Formatter):
    """Fills a template as `str.format`, with an ellipsis where a format such as `:.80` cuts a text."""

    def format_field(self, value: object, format_spec: str) -> str:
        """Return the value in this format."""
        cut = isinstance(value, str) and _CUT.fullmatch(format_spec)
        return cut_value(str(value), int(cut[1])) if cut else format(value, format_spec)


_FORMATTER = _Formatter()


def _format_english(template: str, values: Mapping[str, object]) -> str:
    # `str.format_map` is faster, and messages are also made for each pair.
    return _FORMATTER.vformat(template, (), values) if ":." in template else template.format_map(values)


class Message(str):
    """A message in English, which a `Translator` returns in another language.

    `template` is the message id, `values` are the values in it by name; a value may be a message, or an error
    with one. A template without values is not formatted, so braces in it stay.
    """

    template: str
    values: Mapping[str, object]

    def __new__(cls, template: str, /, **values: object) -> Self:
        """Return the English text of the template with the values in it."""
        message = super().__new__(cls, _format_english(template, values) if values else template)
        message.template, message.values = template, values
        return message

    def __getnewargs_ex__(self) -> tuple[tuple[str], Mapping[str, object]]:
        return (self.template,), self.values

    def replace_value(self, name: str, value: object) -> Message:
        """Return the message with another `value` of this name, also in the messages among its values."""
        replaced = {
            key: item.replace_value(name, value) if isinstance(item, Message) else item
            for key, item in self.values.items()
        }
        if name in replaced:
            replaced[name] = value
        return Message(self.template, **replaced) if replaced else self

    def render(self, translator: Translator) -> str:
        """Return the message in the language of the translator, and so the messages among its values."""
        values = {name: getattr(value, "message", value) for name, value in self.values.items()}
        for name in _PLACES:
            place = values.get(name)
            if isinstance(place, str) and not isinstance(place, Message):
                values[name] = translator.name_place(place)
        return translator(self.template, **values)


class OptionName(Message):
    """The name of an option, with or without a value, as a value of a message: `--scale binary`."""

    def render(self, translator: Translator) -> str:
        """Return the name that the translator has for the option."""
        return translator.edit_template(self.template)


@dataclass(frozen=True)
class Language:
    """A language of messages. Its catalogue is read when the first message is looked up.

    `fill` puts values into a template.
    """

    name: str
    read_catalogue: Callable[[], NullTranslations]
    fill: Callable[[str, Mapping[str, object]], str]

    @cached_property
    def catalogue(self) -> NullTranslations:
        """The messages by their English text."""
        return self.read_catalogue()

    @cached_property
    def index(self) -> MessageIndex:
        """The messages by their parts."""
        # gettext has no other way to list the messages of a catalogue. One with a context has that before it.
        keys = [key for key in getattr(self.catalogue, "_catalog", {}) if isinstance(key, str)]
        names = [key.removeprefix("measure\x04") for key in keys if key.startswith("measure\x04")]
        return MessageIndex([key for key in keys if "\x04" not in key], names)

    @property
    def lacks_catalogue(self) -> bool:
        """Whether messages are in English because the catalogue of this language is not compiled."""
        return self.name != "en" and not isinstance(self.catalogue, GNUTranslations)


class Translator:
    """The messages in the language that `get_language` returns.

    `edit_template` changes what the catalogue has, before values are put in.
    """

    def __init__(
        self, get_language: Callable[[], Language], edit_template: Callable[[str], str] = str
    ) -> None:
        self._get_language = get_language
        self.edit_template = edit_template

    def replace_edit(self, edit_template: Callable[[str], str]) -> Translator:
        """Return a translator to the same language that edits templates by `edit_template`."""
        return Translator(self._get_language, edit_template)

    @property
    def language(self) -> str:
        """The tag of the language."""
        return self._get_language().name

    @property
    def _catalogue(self) -> NullTranslations:
        return self._get_language().catalogue

    def _format(self, template: str, values: Mapping[str, object]) -> str:
        return self._get_language().fill(template, values)

    def __call__(self, message: str, /, **values: Any) -> str:  # noqa: ANN401 - as str.format takes
        """Return the message in this language, with the values in it.

        An English text without values can also be one that a file holds of a message with values.
        """
        if isinstance(message, Message):
            return message.render(self)
        if values:
            translated = {name: self(value) for name, value in values.items() if isinstance(value, Message)}
            return self._format(self._look_up(message), {**values, **translated})
        translation = self._catalogue.gettext(message) if message else ""
        return (
            self.edit_template(translation) if translation != message else self._translate_read_text(message)
        )

    def _look_up(self, template: str) -> str:
        return self.edit_template(self._catalogue.gettext(template))

    def _translate_read_text(self, text: str, depth: int = DEPTH) -> str:
        """Return the message that `text`, which was read, is in English; another text unchanged."""
        # English is not in a catalogue of its own: a text in it stays, unless its template is to be edited.
        language = self._get_language() if self.edit_template is str else UI_LANGUAGES["zh"]
        message = language.index.recognise(text, depth) if " " in text else None
        if message is None:
            return text
        if not message.values:
            return self._look_up(text)
        values = {
            name: self._translate_value(name, value, depth - 1, has_measures=message.is_weak)
            for name, value in message.values.items()
        }
        try:
            return fill_chinese(self._look_up(message.template), lambda field, *_: values[field])
        except KeyError:
            return text

    def _translate_value(self, field: str, value: str, depth: int, *, has_measures: bool) -> str:
        """Return a value of a message that was read; one word is the name of a measure or of an engine."""
        if " " not in value:
            return self.name_measure(value) if has_measures else value
        if is_quoted(value):
            return value
        names, has_and = split_names(value, has_spaces=field in ("names", "engines"))
        if len(names) == 1:
            return self._translate_read_text(value, depth)
        names = [self._translate_read_text(name, depth) for name in names]
        return self.join(names) if has_and else self.list_names(names)

    def translate_plural(self, one: str, many: str, count: int, /, **values: Any) -> str:  # noqa: ANN401
        """Return the message for `count` things, which is `{count}` in it."""
        return self._format(self._catalogue.ngettext(one, many, count), {"count": count, **values})

    def name_place(self, place: str) -> str:
        """Return a place in a dataset, such as `d.json: record 2: engine 'a': result 1`."""
        for part, pattern in PLACE_PARTS.items():
            if match := pattern.search(place):
                text = self._format(self._catalogue.pgettext("place", part), match.groupdict())
                place = f"{place[: match.start()]}{text}{place[match.end() :]}"
        return place

    def name_measure(self, measure: str) -> str:
        """Return the name of a measure of a dimension, such as `sites@5` or `expected nDCG@5`.

        The cutoff, and names that the catalogue does not hold, such as nDCG, are the same in every language.
        """
        name, at, cutoff = measure.partition("@")
        first, space, others = name.partition(" ")
        translated = self._catalogue.pgettext("measure", name)
        if translated == name:
            translated = f"{self._catalogue.pgettext('measure', first)}{space}{others}"
        return f"{translated}{at}{cutoff}"

    def list_names(self, names: Iterable[str]) -> str:
        """Return the names with what separates them: `a, b, c`."""
        return self._catalogue.pgettext("names", ", ").join(names)

    def join(self, parts: Iterable[str], context: str = "names") -> str:
        """Return a list in a sentence, `a, b and c`, of "names" or of "clauses"."""
        *others, last = parts
        if not others:
            return last
        separator = self._catalogue.pgettext(context, ", ")
        sentence = self._catalogue.pgettext(context, "{others} and {last}")
        return self._format(sentence, {"others": separator.join(others), "last": last})


class NameList(Message):
    """One or more names in a sentence, `a, b and c`, as each language joins them."""

    names: tuple[str, ...]
    _join: ClassVar[Callable[[Translator, Iterable[str]], str]] = Translator.join

    def __new__(cls, names: Iterable[str]) -> Self:
        """Return the names as English joins them."""
        names = tuple(names)
        message = super().__new__(cls, cls._join(ENGLISH, names))
        message.names = names
        return message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.names,)

    def render(self, translator: Translator) -> str:
        """Return the names as the language of the translator joins them."""
        names = (translator(name) if isinstance(name, Message) else name for name in self.names)
        return type(self)._join(translator, names)


class SeparatedNames(NameList):
    """Names or values in a list, `a, b, c`, as each language separates them; it may be empty."""

    _join = Translator.list_names


class MeasureName(Message):
    """The name of a measure of a dimension, such as a class of failures, as files have it."""

    def render(self, translator: Translator) -> str:
        """Return the name in the language of the translator."""
        return translator.name_measure(self.template)


def join_messages(messages: Iterable[str], template: str = "{left}; {right}") -> Message:
    """Return one message of one or more: `a; b; c`. The template joins two."""
    parts = (message if isinstance(message, Message) else Message(message) for message in messages)
    return reduce(lambda left, right: Message(template, left=left, right=right), parts)


@lru_cache(maxsize=1024)
def _parse_template(template: str) -> tuple[tuple[str, str | None, str | None, str | None], ...]:
    return tuple(_FORMATTER.parse(template))


def _is_chinese(char: str) -> bool:
    """Return whether a character, if there is one, is Chinese or full-width punctuation."""
    return "\u2e80" <= char <= "\u9fff" or "\uff00" <= char <= "\uffef"


def _is_path(value: str) -> bool:
    return "/" in value and " " not in value


def format_chinese(template: str, values: Mapping[str, object]) -> str:
    """Return what `str.format` returns for the values, without spaces between Chinese characters."""

    def render_field(field: str, spec: str, conversion: str | None) -> str:
        value = _FORMATTER.get_field(field, (), values)[0]
        if conversion:
            value = _FORMATTER.convert_field(value, conversion)
        return _FORMATTER.format_field(value, spec)

    return fill_chinese(template, render_field)


def fill_chinese(template: str, render_field: Callable[[str, str, str | None], str]) -> str:
    """Return the template with what `render_field` returns for each field, its format and its conversion."""
    text = value = ""
    for literal, field, spec, conversion in _parse_template(template):
        is_joined = literal.startswith(" ") and _is_chinese(literal[1:2]) and not _is_path(value)
        if is_joined and _is_chinese(text.rstrip(_ISOLATES)[-1:]):
            literal = literal[1:]
        text += literal
        if field is None:
            continue
        value = render_field(field, spec or "", conversion)
        first = value.lstrip(_ISOLATES)[:1]
        if literal.endswith(" ") and _is_chinese(literal[-2:-1]) and _is_chinese(first):
            text = text[:-1]
        text += value
    return text


def _read_chinese() -> NullTranslations:
    """Return the catalogue; an empty one in a checkout that is not installed, where it is not compiled."""
    from importlib.resources import files

    try:
        with (files("judge.messages") / "zh.mo").open("rb") as file:
            return GNUTranslations(file)
    except FileNotFoundError:
        return NullTranslations()


#: The languages of messages, by the values of --ui-lang.
UI_LANGUAGES: Mapping[str, Language] = {
    "en": Language("en", NullTranslations, _format_english),
    "zh": Language("zh", _read_chinese, format_chinese),
}
ENGLISH = Translator(lambda: UI_LANGUAGES["en"])
CHINESE = Translator(lambda: UI_LANGUAGES["zh"])


def round_count(count: int) -> str:
    """Return the count rounded to two significant digits."""
    digits = max(0, floor(log10(count)) - 1) if count else 0
    return f"{round(count, -digits):,}"
