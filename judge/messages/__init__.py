"""Texts in English and Chinese: `catalogue` has messages and their translation, this module texts of pages.

`recognition` finds the template of a text that was read.
"""

from collections.abc import Callable, Iterable, Mapping
from typing import Any, Concatenate, NamedTuple, ParamSpec, Self

from judge.messages.catalogue import (
    CHINESE,
    ENGLISH,
    UI_LANGUAGES,
    MeasureName,
    Message,
    NameList,
    OptionName,
    SeparatedNames,
    Translator,
    cut_value,
    join_messages,
    round_count,
)

__all__ = [
    "CHINESE",
    "ENGLISH",
    "UI_LANGUAGES",
    "Bilingual",
    "BilingualMessage",
    "MeasureName",
    "Message",
    "NameList",
    "OptionName",
    "SeparatedNames",
    "Translator",
    "build_text",
    "build_texts",
    "cut_value",
    "join_messages",
    "join_sentences",
    "make_text",
    "round_count",
]
P = ParamSpec("P")


class Bilingual(NamedTuple):
    """The same text in English and Chinese."""

    en: str
    zh: str

    @classmethod
    def repeat(cls, text: str) -> Self:
        """Return a text that is the same in both languages."""
        return cls(text, text)

    def choose(self, t: Translator) -> str:
        """Return the text in the language of the translator."""
        return self.zh if t.language == CHINESE.language else self.en

    @classmethod
    def __get_pydantic_core_schema__(
        cls, source: object, handler: Callable[[object], dict[str, Any]]
    ) -> object:
        """Return how pydantic, which this module does not import, writes a text: as an object."""
        return {**handler(source), "serialization": {"type": "function-plain", "function": cls._asdict}}


class BilingualMessage(Message):
    """A text that a file has in both languages, as a value of a message."""

    texts: Mapping[str, str]

    def __new__(cls, texts: Mapping[str, str]) -> Self:
        """Return the English one of the `texts`, which are by language."""
        message = super().__new__(cls, texts["en"])
        message.texts = texts
        return message

    def __reduce__(self) -> tuple[object, ...]:
        return type(self), (self.texts,)

    def render(self, translator: Translator) -> str:
        """Return the text in the language of the translator."""
        return self.texts.get(translator.language, str(self))


def build_text(
    build: Callable[Concatenate[Translator, P], str], /, *args: P.args, **values: P.kwargs
) -> Bilingual:
    """Return the text that `build` makes with the messages of each language."""
    return Bilingual(build(ENGLISH, *args, **values), build(CHINESE, *args, **values))


def build_texts(
    build: Callable[Concatenate[Translator, P], Iterable[str]], /, *args: P.args, **values: P.kwargs
) -> list[Bilingual]:
    """Return the texts that `build` makes with the messages of each language, without empty ones."""
    pairs = zip(build(ENGLISH, *args, **values), build(CHINESE, *args, **values), strict=True)
    return [Bilingual(english, chinese) for english, chinese in pairs if english]


def make_text(message: str, /, **values: Any) -> Bilingual:  # noqa: ANN401
    """Return the message in both languages with the values in it; a Bilingual value has its own language."""
    english, chinese = (
        {name: value[at] if isinstance(value, Bilingual) else value for name, value in values.items()}
        for at in (0, 1)
    )
    return Bilingual(ENGLISH(message, **english), CHINESE(message, **chinese))


def join_sentences(sentences: Iterable[Bilingual]) -> Bilingual:
    """Return sentences in a row, with a space between them in English."""
    english, chinese = zip(*sentences, strict=True)
    return Bilingual(" ".join(english), "".join(chinese))
