"""The alternatives behind ENGLISH and CHINESE begin with such a word, so each of them can match."""

import re
from collections.abc import Iterator

import pytest

from judge.parsing import attribution, contradictions, remarks, stated_scale, stated_values, vocabulary
from judge.parsing.vocabulary import CHINESE, ENGLISH

#: A piece of a regular expression: a class, an escaped character, or a character.
_PIECE = re.compile(r"\[(?:\\.|[^\]\\])+\]|\\u[0-9a-f]{4}|\\.|.", re.DOTALL)
_MODULES = (attribution, contradictions, remarks, stated_scale, stated_values, vocabulary)


def split_group(source: str) -> tuple[list[str], str]:
    """Return the alternatives up to the bracket that closes the group around them, and the text behind it."""
    alternatives, depth, start = [], 0, 0
    for piece in _PIECE.finditer(source):
        depth += (piece[0] == "(") - (piece[0] == ")")
        if depth < 0 or (depth == 0 and piece[0] == "|"):
            alternatives.append(source[start : piece.start()])
            start = piece.end()
        if depth < 0:
            return alternatives, source[start:]
    return [*alternatives, source[start:]], ""


def list_first_pieces(alternative: str) -> Iterator[str]:
    """Yield the pieces that a match of an alternative can begin with."""
    opener = re.match(r"\((?:\?(:|<?[=!]|P<\w+>))?", alternative)
    piece = _PIECE.match(alternative)
    if piece is None:
        return
    if opener is None:
        rest = alternative[piece.end() :]
        yield from () if piece[0] == r"\b" else (piece[0],)
        is_empty = piece[0] == r"\b"
    else:
        inner, rest = split_group(alternative[opener.end() :])
        is_empty = opener[1] is not None and opener[1].endswith(("=", "!"))
        for each in () if is_empty else inner:
            yield from list_first_pieces(each)
    optional = re.match(r"\?|\{0,[0-9]+\}", rest)
    if is_empty or optional:
        yield from list_first_pieces(rest[optional.end() :] if optional else rest)


def list_prefixed(prefix: str) -> list[str]:
    """Return the alternatives behind a prefix in all patterns and parts of patterns."""
    sources = {
        value.pattern if isinstance(value, re.Pattern) else value
        for module in _MODULES
        for value in vars(module).values()
        if isinstance(value, str | re.Pattern)
    }
    groups = [part for source in sources for part in source.split(prefix)[1:] if part.startswith("(?:")]
    return sorted({alternative for part in groups for alternative in split_group(part[3:])[0]})


@pytest.mark.parametrize(
    ("prefix", "first"),
    [(ENGLISH, r"[a-z]|\[[a-z]+\]"), (CHINESE, r"[\u4e00-\u9fff]|\[(?:[\u4e00-\u9fff]|\\u4e00-\\u9fff)+\]")],
)
def test_each_alternative_begins_with_a_word_of_its_prefix(prefix: str, first: str) -> None:
    alternatives = list_prefixed(prefix)
    assert len(alternatives) > 30
    wrong = [
        (piece, alternative)
        for alternative in alternatives
        for piece in list_first_pieces(alternative)
        if not re.fullmatch(first, piece)
    ]
    assert wrong == []
