"""Texts in English and Chinese: `catalogue` has messages and their translation, `bilingual` texts of pages.

`recognition` finds the template of a text that was read.
"""

from judge.messages.bilingual import (
    Bilingual,
    BilingualMessage,
    build_text,
    build_texts,
    join_sentences,
    make_text,
)
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
