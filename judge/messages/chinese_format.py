"""Values in Chinese templates.

A Chinese template has a space between Chinese and a value, because most values are numbers or Latin names.
The space goes where the value is Chinese, too: no space stands between two Chinese characters. It stays
around a path, whose end nothing else shows.
"""

from collections.abc import Callable, Mapping
from functools import lru_cache
from string import Formatter

_FORMATTER = Formatter()
#: Marks around a text of unknown direction, which a page shows nothing for.
_ISOLATES = "\u2066\u2067\u2068\u2069"


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
        return format(value, spec)

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
