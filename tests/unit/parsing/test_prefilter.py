"""A pattern with words for a prefilter matches no text without these words."""

import importlib
from collections.abc import Iterable, Sequence
from typing import Any

from judge.parsing import attribution, contradictions, labelled_lines, remarks, stated_scale, stated_values
from judge.parsing.prefilter import FilteredPattern
from judge.records import ScaleName
from tests.support.cases import check_each

#: The parser of the standard library for regular expressions; it has no public name.
_parser: Any = importlib.import_module("re._parser")
#: The state of a text that has one of the words; in others, its end is the longest that begins a word.
_HAS_WORD = None
_State = str | None


def list_patterns() -> list[FilteredPattern]:
    scales: tuple[ScaleName, ...] = ("binary", "graded")
    modules = (attribution, contradictions, labelled_lines, remarks, stated_scale, stated_values)
    patterns = [value for module in modules for value in vars(module).values()]
    for scale in scales:
        patterns += stated_values._compile_labelled_value_patterns(scale)
        patterns += stated_values._compile_bare_value_patterns(scale)
    return [pattern for pattern in patterns if isinstance(pattern, FilteredPattern)]


def add_character(states: Iterable[_State], characters: Sequence[str], words: Sequence[str]) -> set[_State]:
    """Return the states after one of the characters, which are unknown when there are none."""
    after: set[_State] = set()
    for state in states:
        for character in characters or ("\0",):
            text = "" if state is _HAS_WORD else state + character
            if state is _HAS_WORD or text.endswith(tuple(words)):
                after.add(_HAS_WORD)
            else:
                ends = (text[at:] for at in range(len(text) + 1))
                after.add(next(end for end in ends if any(word.startswith(end) for word in words)))
    return after


def list_characters(members: Sequence[tuple[Any, Any]]) -> list[str]:
    """Return the characters of a set, none when it is a large one."""
    if len(members) > 12 or any(str(kind) not in ("LITERAL", "RANGE") for kind, _ in members):
        return []
    ranges = [(value, value) if str(kind) == "LITERAL" else value for kind, value in members]
    if sum(last - first for first, last in ranges) > 12:
        return []
    return [chr(code) for first, last in ranges for code in range(first, last + 1)]


def repeat(states: set[_State], value: Any, words: Sequence[str]) -> set[_State]:
    """Return the states behind a part that is repeated."""
    least, most, inner = value
    for _ in range(min(least, 3)):
        states = follow(states, inner, words)
    if most > least:
        states = states | follow(states, inner, words)
    return states | add_character(states, [], words) if most > least + 1 or least > 3 else states


def follow(states: set[_State], parts: Iterable[tuple[Any, Any]], words: Sequence[str]) -> set[_State]:
    """Return the states that a text can have behind what the parts match."""
    for kind, value in parts:
        name = str(kind)
        if name in ("AT", "ASSERT", "ASSERT_NOT"):
            is_ahead = name == "ASSERT" and value[0] == 1
            if is_ahead and follow({""}, value[1], words) == {_HAS_WORD}:
                states = {_HAS_WORD}
        elif name == "BRANCH":
            states = {end for branch in value[1] for end in follow(states, branch, words)}
        elif name.endswith("REPEAT"):
            states = repeat(states, value, words)
        elif name in ("SUBPATTERN", "ATOMIC_GROUP"):
            states = follow(states, value[3] if name == "SUBPATTERN" else value, words)
        else:
            members = {"LITERAL": [(kind, value)], "IN": value}.get(name, [])
            states = add_character(states, list_characters(members), words)
    return states


def find_match_without_word(source: str, groups: Sequence[Sequence[str]]) -> list[object]:
    """Return the groups of which a match may have no word, with the ends of such matches."""
    ends = [(follow({""}, _parser.parse(source), words) - {_HAS_WORD}, words) for words in groups]
    return [(texts, words) for texts, words in ends if texts]


@check_each("pattern", list_patterns())
def test_each_match_has_a_word_of_each_group(pattern: FilteredPattern) -> None:
    assert find_match_without_word(pattern.source, pattern.groups) == []


@check_each(
    ("source", "words"),
    [
        ("(?:not|can['’]?t) grade", ["not", "can't", "can’t"]),
        (r"[0-3] is (?:too )?high", ["too"]),
        (r"a*b?c", ["b"]),
        (r"(?<=x)[yz]", ["x", "y"]),
    ],
)
def test_a_match_without_a_word_is_discovered(source: str, words: list[str]) -> None:
    assert find_match_without_word(source, [words])


@check_each(
    ("source", "groups"),
    [
        ("(?:not|cannot|never) grade", [["never", "not"], [" grade"]]),
        ("(?m)^(?P<value>[0-2]) is (?:too )?high$", [["0", "1", "2"], [" is "], ["high"]]),
        (r"colou?rs{1,2} x{2,30}y+\.{0,20}z*(?=ahead)(?<!back)", [["colo"], ["rs"], [" x"]]),
        ("[评给判]为?(?:[零一]|two)|(?:far|not){0,2}最高[^分]", [["判", "最高", "给", "评"]]),
        ("(?:one|two)?|three", []),
        ("(?i)one", []),
    ],
)
def test_words_are_read_off_a_pattern(source: str, groups: list[list[str]]) -> None:
    assert FilteredPattern(source).groups == groups


def test_a_text_without_the_words_is_not_searched() -> None:
    pattern = FilteredPattern(r"(?P<value>[0-9]) is too high")
    assert pattern.search("3 is too low") is None
    assert "compiled" not in vars(pattern)
    assert list(pattern.finditer("2 is too low")) == []
    assert pattern.sub("", "3 is too low") == "3 is too low"
    assert pattern.sub("", "2 is too high") == ""
    assert [match["value"] for match in pattern.finditer("2 is too high")] == ["2"]
