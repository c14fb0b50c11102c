"""Texts in English and Chinese: one gettext catalogue for the terminal, the pages and the notices.

The English text is the message id; `zh.po` holds its Chinese translation and is compiled to `zh.mo` when the
package is built. Values stand in braces and keep their names in both languages.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from gettext import GNUTranslations, NullTranslations
from importlib.resources import files
from typing import Any, Concatenate, NamedTuple, ParamSpec

P = ParamSpec("P")


class Text(NamedTuple):
    """The same text in English and Chinese."""

    en: str
    zh: str


class Translator:
    """The messages of one language."""

    def __init__(self, language: str, catalogue: NullTranslations) -> None:
        self.language = language
        self._catalogue = catalogue

    def __call__(self, message: str, /, **values: Any) -> str:  # noqa: ANN401 - as str.format takes
        """Return the message in this language, with the values in it."""
        text = self._catalogue.gettext(message) if message else ""
        return text.format(**values) if values else text

    def plural(self, one: str, many: str, count: int, /, **values: Any) -> str:  # noqa: ANN401
        """Return the message for `count` things, which stands in it as `{count}`."""
        return self._catalogue.ngettext(one, many, count).format(count=count, **values)

    def join(self, parts: Iterable[str], context: str = "names") -> str:
        """Return a list in a sentence, `a, b and c`, of "names" or of "clauses"."""
        *others, last = parts
        if not others:
            return last
        separator = self._catalogue.pgettext(context, ", ")
        sentence = self._catalogue.pgettext(context, "{others} and {last}")
        return sentence.format(others=separator.join(others), last=last)


def _chinese() -> GNUTranslations:
    with (files("judge.messages") / "zh.mo").open("rb") as file:
        return GNUTranslations(file)


ENGLISH = Translator("en", NullTranslations())
CHINESE = Translator("zh", _chinese())


def in_both(build: Callable[Concatenate[Translator, P], str], /, *args: P.args, **values: P.kwargs) -> Text:
    """Return the text that `build` makes with the messages of each language."""
    return Text(build(ENGLISH, *args, **values), build(CHINESE, *args, **values))


def text(message: str, /, **values: Any) -> Text:  # noqa: ANN401
    """Return the message in both languages, with the same values in it."""
    return Text(ENGLISH(message, **values), CHINESE(message, **values))
