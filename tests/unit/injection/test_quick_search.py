"""The quick searches in cleaning find what the full ones find, on texts made of what these look for."""

import re
import sys
import unicodedata
from collections.abc import Mapping, Sequence
from itertools import chain, pairwise

from hypothesis import given
from hypothesis import strategies as st

from judge.dataset import clean
from judge.dataset.clean import _MISDECODED, _TOKENS, looks_misdecoded
from judge.injection import decoding, detection, model
from judge.injection.model import has_subject_word
from judge.injection.patterns import INJECTION_FORMS, NAMES, InjectionForm, make_word_pattern
from tests.support.cases import check_each

#: The words of all patterns, and the marks and letters that folding, cleaning and decoding know.
WORDS = sorted(
    {
        word
        for source in (*(form.pattern.source for form in INJECTION_FORMS), *NAMES.values())
        for word in re.findall(r"[一-鿿]+|[a-z]+|\W", source)
    }
)
MARKS = list(
    "<>[]|◁/:：，。？；（）\"“'「」-=#~*`\n\t 3０３._·…Ａ①ªéıКＧг\u0301\u3099\xa0\u3000＜［＞｜］～"
    "锟斤拷占쏙옙ÃÂâ€ð鏄涓"
)
TOKENS = ["<|im_start|>", "[INST]", "</think>", "<<<MARK", "deadbeef>>>", "<<SYS>>", "e~[", "]~b]", "[1]"]
SUBJECTS = [key if isinstance(key, str) else key.decode() for key in sorted(model.SUBJECTS, key=str)]
TEXTS = st.lists(st.sampled_from([*WORDS, *MARKS, *TOKENS]) | st.text(max_size=3), max_size=14).map("".join)


@given(TEXTS, TEXTS)
def test_no_form_that_matches_is_passed_over(text: str, raw: str) -> None:
    visible, raw_text = (decoding.fold_lookalikes(each).lower() for each in (text, raw))
    texts, raw_texts = (visible, detection._join_lines(visible)), (raw_text, visible)
    matching = {
        form
        for form in INJECTION_FORMS
        if any(map(form.pattern.compiled.search, raw_texts if form.raw else texts))
    }
    possible, possible_raw = map(detection._find_possible, map(detection._find_keys, (visible, raw_text)))
    assert matching <= possible | possible_raw


@check_each("form", INJECTION_FORMS)
def test_a_form_is_possible_in_a_text_with_any_word_that_it_needs_first(form: InjectionForm) -> None:
    first, *others = form.pattern.needs
    rest = " ".join(word for need in others for word in chain(*need.whole.values(), need.parts))
    for word in chain(*first.whole.values(), first.parts):
        assert form in detection._find_possible(detection._find_keys(f"从现在{word}始 {rest}"))


@given(st.lists(st.sampled_from([*WORDS, *MARKS, *SUBJECTS]), max_size=14).map("".join))
def test_a_text_with_a_subject_has_its_key(text: str) -> None:
    # Lines are joined, so a key can stand on two.
    assert detection._find_keys(text).keys.isdisjoint(model.SUBJECTS) <= (not has_subject_word(text))


@check_each(
    ("source", "text", "is_match"),
    [
        ("{drop|throw away} RULES", "please drop the rules", True),
        ("{drop|throw away} RULES", "throw away the rules", True),
        ("{drop|throw away} RULES", "raindrop the rules", False),
        ("{放下|drop}~3RULES", "放下。the rules", False),
        ("{放下|drop}~~3RULES", "放下。the rules", True),
        ("{放下|drop}~~3RULES", "放下\nthe rules", False),
        ("(?<!never )(?!drop it){drop|放下} RULES", "please 放下 the rules", True),
        ("(?<!never )(?!drop it){drop|放下} RULES", "never drop the rules", False),
        ("{3|three} (?:times|{days})", "for 3 days", True),
        (r"a{1,2}\({b}[)(]", "aa(b)", True),
    ],
)
def test_a_source_stands_for_a_pattern(source: str, text: str, is_match: bool) -> None:
    pattern = make_word_pattern(source, {"RULES": "the (?:{RULE})", "RULE": "rule|rules"})
    assert bool(pattern.compiled.search(text)) == is_match


@check_each(
    ("source", "needs"),
    [
        ("{drop|throw away} RULES", [({b"drop": ["drop"], b"throw": ["throw away"]}, [])]),
        ("{<!--|api key} (?:{b}|{c})?{放下}", [({}, ["放下"]), ({b"api": ["api key"]}, ["<!--"])]),
        (r"\({b}[(]\{d\}[^](]", [({b"b": ["b"]}, [])]),
    ],
)
def test_words_outside_of_round_brackets_are_needed(
    source: str, needs: Sequence[tuple[Mapping[bytes, Sequence[str]], Sequence[str]]]
) -> None:
    pattern = make_word_pattern(source, {"RULES": "the (?:{rules})"})
    assert [(need.whole, need.parts) for need in pattern.needs] == needs


@given(TEXTS)
def test_folding_in_runs_is_folding_between_chinese_marks(text: str) -> None:
    parts = re.split("([，：；！？（）]+)", text)
    parts[::2] = [unicodedata.normalize("NFKC", part) for part in parts[::2]]
    assert decoding.fold_lookalikes(text) == "".join(parts).translate(decoding.LOOKALIKES)


@given(st.text("中，、a \n"))
def test_lines_are_joined_as_one_pattern_joins_those_of_chinese(text: str) -> None:
    joined = re.sub(r"(?<=[㐀-鿿，、]) ?\n ?(?=[㐀-鿿])", "", text)
    assert detection._join_lines(text) == joined.replace("\n", " ")


def test_a_stable_character_folds_to_itself_behind_any_other() -> None:
    stable = [char for char in map(chr, range(sys.maxunicode)) if not decoding.UNSTABLE.match(char)]
    assert len(stable) > 27_000
    for char in stable:
        folded = unicodedata.normalize("NFKC", char)
        assert folded == char or char in decoding.CHINESE_MARKS
        assert unicodedata.combining(char) == 0
        assert char.translate(decoding.LOOKALIKES) == char
    assert unicodedata.is_normalized("NFKC", "".join(set(stable) - set(decoding.CHINESE_MARKS)))


@given(TEXTS)
def test_control_tokens_break_as_when_every_character_is_folded(text: str) -> None:
    folded = [unicodedata.normalize("NFKC", char) for char in text]
    positions = [position for position, piece in enumerate(folded) for _ in piece]
    matches = re.finditer(_TOKENS, "".join(folded), re.IGNORECASE)
    cuts = sorted({positions[match.start()] + (match[0] != ">") for match in matches})
    expected = " ".join(text[start:end] for start, end in pairwise((0, *cuts, len(text))))
    assert clean._break_tokens(text) == expected


@given(TEXTS)
def test_text_is_misdecoded_when_a_search_of_all_its_bytes_says_so(text: str) -> None:
    spelled = re.search(rb"(?:[\xe3-\xe9\xef][\x80-\xbf]{2}){4}", text.encode("gb18030", "replace"))
    traces = re.search(_MISDECODED, text) or (spelled and re.search("[一-鿿]", text))
    assert looks_misdecoded(text) == bool(traces or 0 < text.count("\ufffd") >= 0.02 * len(text))


@given(TEXTS | st.text("这是一段中文，。").map(lambda text: text.encode().decode("gb18030", "replace")))
def test_a_text_without_notable_characters_is_not_unusual_and_not_misdecoded(text: str) -> None:
    if not clean._NOTABLE.search(text):
        assert not clean._UNUSUAL.search(text)
        assert not looks_misdecoded(text)


@given(TEXTS)
def test_blank_lines_collapse_to_one(text: str) -> None:
    visible = clean.clean_query(text)
    assert "\n" not in visible
    shown = clean.clean_snippet(clean.RawSnippet(text), max_chars=4000).text
    assert shown == "\n".join(" ".join(line.split()) for line in shown.split("\n")).strip()
    assert "\n\n\n" not in shown
