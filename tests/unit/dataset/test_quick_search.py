"""The quick searches in cleaning find what the full ones find, on texts made of what these look for."""

import re
import sys
import unicodedata
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from judge.dataset import clean, grade_demands, injection, injection_patterns
from judge.dataset.clean import _HIGH_BYTES, _MISDECODED, looks_misdecoded
from tests.support.cases import check_each

PATTERNS = injection_patterns.INJECTION_PATTERNS
#: The words of all patterns, and the marks and letters that folding, cleaning and decoding know.
WORDS = sorted(
    {
        word
        for pattern in PATTERNS.values()
        for form in (*pattern.triggers, *pattern.patterns)
        for word in re.findall(r"[一-鿿]+|[a-z]+|\W", form)
    }
)
MARKS = list(
    "<>[]|◁/:：，。？；（）\"“'「」-=#~*`\n\t 3０３._·…Ａ①ªéıКＧг\u0301\u3099\xa0\u3000＜［＞｜］～"
    "锟斤拷占쏙옙ÃÂâ€ð鏄涓"
)
TOKENS = ["<|im_start|>", "[INST]", "</think>", "<<<MARK", "deadbeef>>>", "<<SYS>>", "e~[", "]~b]", "[1]"]
TEXTS = st.lists(st.sampled_from([*WORDS, *MARKS, *TOKENS]) | st.text(max_size=3), max_size=14).map("".join)


@given(TEXTS, TEXTS)
def test_no_pattern_that_matches_is_passed_over(text: str, raw: str) -> None:
    visible, raw_text = (injection._fold_lookalikes(each).lower() for each in (text, raw))
    matching = {name for name, each in PATTERNS.items() if injection._matches(each, visible, raw_text)}
    triggered = injection._find_triggered(visible)
    assert matching <= triggered | injection._find_triggered(raw_text)
    assert injection._GRADING in triggered or not grade_demands.urges_grade(visible)


@check_each("name", PATTERNS)
def test_every_form_of_a_pattern_is_found_inside_other_text(name: str) -> None:
    for stem in PATTERNS[name].stems:
        assert name in injection._find_triggered(f"从现在{stem.rstrip('*')}始")


@given(TEXTS)
def test_folding_in_runs_is_folding_between_chinese_marks(text: str) -> None:
    parts = re.split("([，：；！？（）]+)", text)
    parts[::2] = [unicodedata.normalize("NFKC", part) for part in parts[::2]]
    assert injection._fold_lookalikes(text) == "".join(parts).translate(injection_patterns.LOOKALIKES)


@given(st.text("中，、a \n"))
def test_lines_are_joined_as_one_pattern_joins_those_of_chinese(text: str) -> None:
    joined = re.sub(r"(?<=[㐀-鿿，、]) ?\n ?(?=[㐀-鿿])", "", text)
    assert injection._join_lines(text) == joined.replace("\n", " ")


def test_a_stable_character_folds_to_itself_behind_any_other() -> None:
    stable = [char for char in map(chr, range(sys.maxunicode)) if not injection._UNSTABLE.match(char)]
    assert len(stable) > 27_000
    for char in stable:
        folded = unicodedata.normalize("NFKC", char)
        assert folded == char or char in injection._CHINESE_MARKS
        assert unicodedata.combining(char) == 0
        assert char.translate(injection_patterns.LOOKALIKES) == char
    assert unicodedata.is_normalized("NFKC", "".join(set(stable) - set(injection._CHINESE_MARKS)))


@given(TEXTS)
def test_control_tokens_break_as_when_every_character_is_folded(text: str) -> None:
    folded = [unicodedata.normalize("NFKC", char) for char in text]
    positions = [position for position, piece in enumerate(folded) for _ in piece]
    matches = clean._TOKENS.finditer("".join(folded))
    cuts = sorted({positions[match.start()] + (match[0] != ">") for match in matches})
    expected = " ".join(text[start:end] for start, end in pairwise((0, *cuts, len(text))))
    assert clean._break_tokens(text) == expected


@given(TEXTS)
def test_text_is_misdecoded_when_a_search_of_all_its_bytes_says_so(text: str) -> None:
    spelled = re.search(rb"(?:[\xe3-\xe9\xef][\x80-\xbf]{2}){4}", text.encode("gb18030", "replace"))
    traces = _MISDECODED.search(text) or _HIGH_BYTES.search(text) or (spelled and re.search("[一-鿿]", text))
    assert looks_misdecoded(text) == bool(traces or 0 < text.count("\ufffd") >= 0.02 * len(text))


@given(TEXTS)
def test_blank_lines_collapse_to_one(text: str) -> None:
    visible = clean.clean_query(text)
    assert "\n" not in visible
    shown = clean.clean_snippet(clean.RawSnippet(text), max_chars=4000).text
    assert shown == "\n".join(" ".join(line.split()) for line in shown.split("\n")).strip()
    assert "\n\n\n" not in shown
