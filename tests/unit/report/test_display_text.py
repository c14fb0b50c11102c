"""Numbers and names as a page shows them."""

import pytest

from judge.messages import ENGLISH
from judge.report.display_text import (
    format_interval,
    format_number,
    format_plain_number,
    format_plain_range,
    format_range,
    format_share,
    isolate,
    mark_names,
    mark_row_name,
    set_minus_signs,
)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        ("-0.5", "−0.5"),
        ("+0.0492 (95%: -0.0437 to 0.1422)", "+0.0492 (95%: −0.0437 to 0.1422)"),
        ("（95% 置信区间 -0.0437 到 -0.01）", "（95% 置信区间 −0.0437 到 −0.01）"),
        ("为-0.1", "为-0.1"),  # no text of ours has a number without a space
        ("2026-05-30, qwen-2.5, rank '-1', a-1", "2026-05-30, qwen-2.5, rank '-1', a-1"),
    ],
)  # fmt: skip
def test_the_sign_of_a_number_is_a_minus(text: str, shown: str) -> None:
    assert set_minus_signs(text) == shown


def test_numbers_of_a_page_have_a_minus_and_those_of_other_texts_a_hyphen() -> None:
    assert format_number(-0.0371, "+.3f") == "−0.037"
    assert format_range((-0.5, 0.25), "+.2f") == "−0.50 … +0.25"
    assert format_plain_number(-0.0371, "+.3f") == "-0.037"
    assert [format_plain_number(value, "+.4f") for value in (-5.9e-16, -0.0, 0.0)] == ["+0.0000"] * 3
    assert (format_plain_number(-0.00004, ".4f"), format_plain_number(0, ",")) == ("0.0000", "0")
    assert (format_number(None), format_plain_number(None)) == ("–", "-")


@pytest.mark.parametrize(
    ("value", "format_spec", "shown"),
    [
        (1999 / 2000, ".1%", ">99.9%"),
        (1.0, ".1%", "100.0%"),
        (0.9994, ".1%", "99.9%"),
        (0.0004, ".1%", "<0.1%"),
        (0.0, ".1%", "0.0%"),
        (0.996, ".0%", ">99%"),
        (0.004, ".0%", "<1%"),
    ],
)
def test_only_all_are_100_percent_and_only_none_is_0_percent(
    value: float, format_spec: str, shown: str
) -> None:
    assert format_share(value, format_spec=format_spec) == format_plain_number(value, format_spec) == shown


def test_an_end_of_an_interval_that_is_not_0_shows_on_which_side_of_0_it_is() -> None:
    assert format_interval(ENGLISH, (0.00003, 0.1), "z.4f") == " (95%: 0.0001 to 0.1000)"
    assert format_interval(ENGLISH, (-0.2, -0.00003), "z.4f") == " (95%: -0.2000 to -0.0001)"
    assert format_plain_range(ENGLISH, (0.00003, 0.1), "+.4f") == "+0.0001 to +0.1000"
    assert format_range((-0.2, -0.0003), "+.3f") == "−0.200 … −0.001"
    assert format_range((0.0, 1.0)) == "0.000 … 1.000"
    assert format_range((-5.9e-16, 1.0), "+.1f") == "+0.0 … +1.0"
    assert format_range((None, 0.5)) == "– … 0.500"
    assert format_interval(ENGLISH, (0.0001, 0.1), ".1%") == " (95%: 0.0% to 10.0%)"


def test_names_keep_their_hyphens_and_a_hyphen_between_two_is_a_minus() -> None:
    sentence = f"{isolate('-5 <b>')} - {isolate('b -6')}: -0.5"
    assert mark_names(sentence) == "<bdi>-5 &lt;b&gt;</bdi> − <bdi>b -6</bdi>: −0.5"


def test_no_line_breaks_behind_the_hyphens_of_an_option() -> None:
    assert mark_names("a well-known run: judge selftest -m a-b --max-calls 5") == (
        'a well-known run: judge selftest <span class="whole">-m</span> a-b'
        ' <span class="whole">--max-calls</span> 5'
    )


def test_a_name_in_a_column_breaks_behind_marks_and_a_long_word_is_shortened() -> None:
    assert mark_row_name("bing_cn_2026") == '<bdi class="whole">bing_cn_2026</bdi>'
    assert mark_row_name("internal_hybrid & reranker") == (
        '<bdi title="internal_hybrid &amp; reranker"><span class="whole">internal_</span><wbr>'
        '<span class="whole">hybrid </span><wbr><span class="whole">&amp; </span><wbr>'
        '<span class="whole">reranker</span></bdi>'
    )
    # A Chinese name breaks behind each character.
    chinese = "一个很长的引擎名称的测试"
    parts = "<wbr>".join(f'<span class="whole">{character}</span>' for character in chinese)
    assert mark_row_name(chinese) == f'<bdi title="{chinese}">{parts}</bdi>'
    assert mark_row_name("abcdefghijklmnopqrstuvwxyz") == (
        '<bdi title="abcdefghijklmnopqrstuvwxyz"><span class="whole">abcdefghij…rstuvwxyz</span></bdi>'
    )
    assert mark_row_name(f"{isolate('a')} − {isolate('b')}") == (
        '<bdi class="whole">a</bdi> − <bdi class="whole">b</bdi>'
    )
