"""What charts are drawn with: texts escaped, names cut but never lost, both languages, round axes."""

from itertools import pairwise
from xml.etree import ElementTree

import pytest
from hypothesis import given
from hypothesis import strategies as st
from markupsafe import Markup

from judge.messages import Bilingual
from judge.report import display_text
from judge.report.charts.svg import (
    choose_step,
    draw_label,
    draw_text,
    format_length,
    format_percent,
    make_axis,
    make_tag,
)
from tests.support.cases import check_each

numbers = st.floats(-1e6, 1e6, allow_nan=False, allow_subnormal=False)
SVG = "{http://www.w3.org/2000/svg}"
hostile = st.one_of(
    st.text(max_size=60),
    st.sampled_from(
        [
            '</text><script>alert(1)</script>',
            '" onload="alert(1)',
            "]]><x>&#x3c;",
            "\u202egnp.exe",
            "\x00\x1b[31m\ud800\ufffe\n\t",
        ]
    ),
)  # fmt: skip


def parse_markup(markup: str) -> ElementTree.Element:
    """The elements, as an XML parser sees them."""
    return ElementTree.fromstring(f'<svg xmlns="http://www.w3.org/2000/svg">{markup}</svg>')  # noqa: S314


def test_lengths_have_two_decimals_at_most() -> None:
    assert [format_length(value) for value in (0, -0.001, 1, 2.5, 1 / 3, 100)] == [
        "0",
        "0",
        "1",
        "2.5",
        "0.33",
        "100",
    ]
    assert format_percent(0.1234567) == "12.35%"


def test_an_element_escapes_what_is_no_markup_and_leaves_out_what_is_none() -> None:
    result = make_tag(
        "text", "a<b", make_tag("title", "&"), class_='x"y', text_anchor="end", x=1.5, fill=None
    )
    assert result == (
        '<text class="x&#34;y" text-anchor="end" x="1.5">a&lt;b<title>&amp;</title></text>'
    )  # fmt: skip
    assert isinstance(result, Markup)


def test_words_that_are_the_same_in_both_languages_stand_once() -> None:
    both = parse_markup(draw_text(Bilingual("mean", "均值"), "note", 0, 3))
    assert [(each.get("class"), each.get("lang"), each.text) for each in both] == [
        ("note en", "en", "mean"), ("note zh", "zh-Hans", "均值")
    ]  # fmt: skip
    (one,) = parse_markup(draw_text(Bilingual("P@5", "P@5"), "note", 0, 3))
    assert (one.get("class"), one.get("lang")) == ("note", None)


@given(hostile)
def test_a_name_stays_text_and_is_whole_in_its_title(text: str) -> None:
    (box,) = parse_markup(draw_label(text, "row", 0, 0, 0.3))
    kinds = [each.tag.removeprefix(SVG) for each in box.iter()]
    assert kinds == ["foreignObject", "div", "bdi"]
    keys = {key for each in box.iter() for key in each.attrib}
    assert keys == {"class", "title", "x", "y", "width", "height"}
    # An XML parser reads a lone carriage return as a line feed; legible names have neither.
    shown = [each.get("title") or each.text for each in box.iter() if each is not box]
    assert shown == [display_text.fit_on_line(text) or None] * 2


def test_a_label_with_names_is_in_both_languages() -> None:
    (box,) = parse_markup(draw_label(Bilingual("a is ahead", "a 领先"), "head", 0.5, 4, 0.5))
    label = box[0]
    assert (label.get("class"), label.get("title")) == ("label head", None)
    assert [(each.get("class"), each.get("lang"), each.text) for each in label] == [
        ("en", "en", "a is ahead"), ("zh", "zh-Hans", "a 领先")
    ]  # fmt: skip


@check_each(
    ("span", "count", "times", "power"),
    [
        (1, 5, 2, -1),  # 0.2 five times
        (0.4, 5, 1, -1),  # 0.05 covers 0.25 alone
        (7, 5, 2, 0),
        (100, 4, 5, 1),  # 20 covers 80 alone
        (0.03, 3, 1, -2),
        (5, 5, 1, 0),
    ],
)
def test_a_step_is_1_2_or_5_and_the_smallest_that_is_enough(
    span: float, count: int, times: int, power: int
) -> None:
    assert choose_step(span, count) == (times, power)


def test_a_scale_begins_and_ends_at_round_numbers_around_its_values() -> None:
    means = make_axis([0.493, 0.928])
    assert means.ticks == (0.4, 0.5, 0.6, 0.7, 0.8, 0.9, 1.0)
    assert means.locate(0.7) == pytest.approx(0.5)
    assert means.locate(0.4) == 0
    assert means.locate(1.0) == 1
    assert make_axis([-0.21, 0, 0.42], 4).ticks == (-0.4, -0.2, 0.0, 0.2, 0.4, 0.6)
    assert make_axis([0, 40], 2).ticks == (0, 20, 40)


def test_values_that_are_rounds_themselves_need_no_further_tick() -> None:
    assert make_axis([0.1 + 0.2, 0.9], 3).ticks == (0.2, 0.4, 0.6, 0.8, 1.0)
    assert make_axis([0.30000000000000004, 0.6], 3).ticks == (0.3, 0.4, 0.5, 0.6)


def test_equal_values_get_a_scale_around_them_within_what_a_measure_can_be() -> None:
    assert make_axis([1, 1, 1]).ticks == (0.9, 0.92, 0.94, 0.96, 0.98, 1.0)
    assert make_axis([0.0]).ticks[0] == 0
    assert make_axis([0.5]).locate(0.5) == pytest.approx(0.5)
    assert make_axis([7]).locate(7) == pytest.approx(0.5)
    assert make_axis([]).ticks == (0, 0.2, 0.4, 0.6, 0.8, 1.0)


def test_numbers_are_written_with_as_many_decimals_as_the_step_has() -> None:
    half = make_axis([-1, 1], 4)
    signed = [half.format_tick(tick, signed=True) for tick in half.ticks]
    assert signed == ["−1.0", "−0.5", "0", "+0.5", "+1.0"]
    assert [half.format_tick(tick) for tick in half.ticks] == ["−1.0", "−0.5", "0.0", "0.5", "1.0"]
    assert [half.format_tick(tick, short=True) for tick in half.ticks] == ["−1", "−0.5", "0", "0.5", "1"]
    assert [make_axis([0, 40], 2).format_tick(tick, short=True) for tick in (0, 20, 40)] == ["0", "20", "40"]
    assert make_axis([0.86, 0.91]).format_tick(0.9) == "0.90"


@given(st.lists(numbers, min_size=1, max_size=9), st.integers(2, 6))
def test_a_scale_holds_every_value_in_even_steps(values: list[float], count: int) -> None:
    result = make_axis(values, count)
    gaps = [second - first for first, second in pairwise(result.ticks)]
    margin = max(gaps) * 1e-6
    assert result.ticks[0] - margin <= min(values)
    assert max(values) <= result.ticks[-1] + margin
    assert gaps == pytest.approx([gaps[0]] * len(gaps), rel=1e-6)
    assert 1 <= len(gaps) <= count + 2
    places = [result.locate(value) for value in sorted(values)]
    assert places == sorted(places)
    assert all(0 <= place <= 1 for place in places)
