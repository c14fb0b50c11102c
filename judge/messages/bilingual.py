"""Texts for pages, which hold both languages."""

from __future__ import annotations

from collections.abc import Callable, Iterable
from typing import Any, Concatenate, NamedTuple, ParamSpec

from judge.messages.catalogue import CHINESE, ENGLISH, Translator

P = ParamSpec("P")


class Text(NamedTuple):
    """The same text in English and Chinese."""

    en: str
    zh: str


def build_text(
    build: Callable[Concatenate[Translator, P], str], /, *args: P.args, **values: P.kwargs
) -> Text:
    """Return the text that `build` makes with the messages of each language."""
    return Text(build(ENGLISH, *args, **values), build(CHINESE, *args, **values))


def build_texts(
    build: Callable[Concatenate[Translator, P], Iterable[str]], /, *args: P.args, **values: P.kwargs
) -> list[Text]:
    """Return the texts that `build` makes, one after the other, with the messages of each language."""
    return list(map(Text, build(ENGLISH, *args, **values), build(CHINESE, *args, **values)))


def make_text(message: str, /, **values: Any) -> Text:  # noqa: ANN401
    """Return the message in both languages with the values in it; a Text stands in it in its language."""
    return Text(
        *(
            t(
                message,
                **{name: value[at] if isinstance(value, Text) else value for name, value in values.items()},
            )
            for at, t in enumerate((ENGLISH, CHINESE))
        )
    )


def join_sentences(sentences: Iterable[Text]) -> Text:
    """Return sentences in a row, with a space between them in English."""
    english, chinese = zip(*sentences, strict=True)
    return Text(" ".join(english), "".join(chinese))
