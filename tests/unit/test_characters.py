"""What counts as Chinese writing, against Unicode's own names of the characters."""

import re
import sys
import unicodedata

from judge.characters import HAN, make_natural_key


def test_every_ideograph_that_unicode_names_is_chinese_and_nothing_else_with_a_name() -> None:
    chinese = re.compile(f"[{HAN}]")
    for point in range(sys.maxunicode + 1):
        name = unicodedata.name(chr(point), "")
        if name:
            named = name.startswith(("CJK UNIFIED IDEOGRAPH-", "CJK COMPATIBILITY IDEOGRAPH-"))
            assert (chinese.match(chr(point)) is not None) == named, f"U+{point:04X} {name}"


def test_private_and_surrogate_characters_are_no_writing() -> None:
    assert re.search(f"[{HAN}]", "\ue000\uf8ff\ud800\udfff") is None


def test_texts_are_sorted_by_the_numbers_in_them() -> None:
    ordered = ["", "2", "10", "A", "a", "d1", "d1b2", "d1b10", "d2", "d02b", "d10.9", "d10.10", "中2"]
    assert sorted(set(ordered), key=make_natural_key) == ordered
    assert sorted(["d" + "1" * 5000, "d01", "d1", "d001"], key=make_natural_key)[:3] == ["d001", "d01", "d1"]
