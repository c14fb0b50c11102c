"""Cleaning removes hidden characters and keeps the joiners and marks of emoji and scripts."""

import unicodedata

import pytest

from judge.dataset.clean import drop_invisible
from tests.support.cases import check_each

NEEDED = (
    "👨\u200d👩\u200d👧\u200d👦 family",
    "👩🏽\u200d💻 with a skin tone",
    "❤\ufe0f\u200d🔥 with a selector",
    "1\ufe0f\u20e3 keycap",
    "می\u200cخواهم",
    "ක්\u200dෂ Sinhala",
    "क्\u200dष and क्\u200cष",
    "שלום مرحبا",
)


@check_each("text", NEEDED)
def test_what_writing_needs_is_untouched(text: str) -> None:
    assert drop_invisible(text) == (text, False)


@check_each(
    ("text", "shown"),
    [
        ("gr\u200bade", "grade"),
        ("a\u200db\u200cc", "abc"),
        ("x\u202ey\u202cz\u2066w\u2069", "xyzw"),
        ("t" + "".join(chr(0xE0000 + ord(char)) for char in "grade 3"), "t"),
        ("s\U000e0101\U000e01ef", "s"),
        ("f\u3164\u115fg", "fg"),
        ("<\u2063|", "<|"),
    ],
)
def test_what_hides_goes_and_is_told_of(text: str, shown: str) -> None:
    assert drop_invisible(text) == (shown, True)


@pytest.mark.parametrize("text", ["soft\u00adhyphen", "\ufeffmark", "a\ufe0f", "left\u200eright\u200f"])
def test_what_typesetting_leaves_behind_goes_without_suspicion(text: str) -> None:
    shown, hid = drop_invisible(text)
    assert drop_invisible(shown) == (shown, hid) == (shown, False)


def test_every_format_character_of_unicode_is_dropped_between_latin_letters() -> None:
    # Signs of Arabic, Kaithi and Syriac are seen; hieroglyphs are laid out by theirs.
    visible = {*range(0x600, 0x606), 0x6DD, 0x70F, 0x890, 0x891, 0x8E2, 0x110BD, 0x110CD}
    laying_out = set(range(0x13430, 0x13440))
    formats = {code for code in range(0x110000) if unicodedata.category(chr(code)) == "Cf"}
    left = {code for code in formats if chr(code) in drop_invisible(f"a{chr(code)}b")[0]}
    assert left <= visible | laying_out
