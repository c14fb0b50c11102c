"""The language of what commands print: that of --ui-lang, else that of the locale, else English."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar

from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH, Translator

OPTION = "--ui-lang"
_TRANSLATORS: Mapping[str, Translator] = {"en": ENGLISH, "zh": CHINESE}
#: Variables of the locale of messages, the one that decides first.
_LOCALE_VARIABLES = ("LC_ALL", "LC_MESSAGES", "LANG")

_translator: ContextVar[Translator] = ContextVar("translator", default=ENGLISH)


def ui_translator() -> Translator:
    """Return the messages in the language of the command that runs; English outside of a command."""
    return _translator.get()


@contextmanager
def language_of_locale(environ: Mapping[str, str]) -> Iterator[None]:
    """Print in the language of the locale in `environ`, or in the one selected since, until the block ends.

    A locale in another language than English and Chinese is English.
    """
    translators = (_TRANSLATORS[tag] for tag in _locale_languages(environ) if tag in _TRANSLATORS)
    token = _translator.set(next(translators, ENGLISH))
    try:
        yield
    finally:
        _translator.reset(token)


def apply_language_option(arguments: Sequence[str]) -> list[str]:
    """Select the language of --ui-lang, and return the other arguments.

    It is read before all else, so that help and errors have its language wherever it stands. Raise InputError
    for an unknown language.
    """
    others: list[str] = []
    rest = iter(arguments)
    for argument in rest:
        name, equals, value = argument.partition("=")
        if argument == "--":
            others += [argument, *rest]
        elif name != OPTION:
            others.append(argument)
        else:
            language = value if equals else next(rest, "")
            if language not in _TRANSLATORS:
                raise InputError(
                    "{option} is {language!r:.80}; it is en or zh", option=OPTION, language=language
                )
            _translator.set(_TRANSLATORS[language])
    return others


def _locale_languages(environ: Mapping[str, str]) -> Iterator[str]:
    """Yield the languages of the locale, the preferred one first, as gettext reads them.

    LANGUAGE is a list that precedes the locale, unless that is C.
    """
    locale = next((environ[name] for name in _LOCALE_VARIABLES if environ.get(name)), "C")
    preferred = environ.get("LANGUAGE", "").split(":") if locale not in ("C", "POSIX") else ()
    for tag in (*preferred, locale):
        yield tag.partition(".")[0].partition("_")[0].lower()
