"""Slices: which columns divide the queries, and that a slice is what its queries alone would give."""

from collections.abc import Mapping, Sequence
from dataclasses import replace

import numpy as np
import pytest

from judge.measure.compare import compare_engines
from judge.measure.engine_summary import average_engines
from judge.measure.segments import SegmentResult, compare_segments
from judge.measure.simultaneous import MIN_GROUP_SIZE
from judge.records import Lang, Query
from tests.support.intervals import get_high_end, get_low_end
from tests.unit.measure.tables import NAN, tabulate_scores

VALUES = np.random.default_rng(0).random((2, 42))


def make_query(number: int, lang: Lang = "en", **extra: str) -> Query:
    return Query(f"q{number:02}", "text", "text", lang, extra=extra)


def slice_queries(queries: Sequence[Query], measures: str = "P@5") -> dict[tuple[str, str], SegmentResult]:
    """The slices of as many queries, by column and value."""
    values = np.repeat(VALUES[:, : len(queries), None, None], len(measures.split()), axis=3)
    result = compare_segments(tabulate_scores(values, measures=measures), {each.id: each for each in queries})
    return {(column, value): each for column, values in result.items() for value, each in values.items()}


def test_a_slice_is_what_its_queries_alone_would_give() -> None:
    result = slice_queries([make_query(number, "zh" if number % 3 else "en") for number in range(12)])
    assert list(result) == [("lang", "en"), ("lang", "zh")]
    chinese = [number for number in range(12) if number % 3]
    zh = result["lang", "zh"]
    assert zh.queries == len(chinese) == 8
    assert [engine["P@5"].mean for engine in zh.engines.values()] == pytest.approx(
        VALUES[:, chinese].mean(1).tolist()
    )
    assert [engine["P@5"].n for engine in zh.engines.values()] == [8, 8]
    alone = tabulate_scores(VALUES[:, chinese])
    assert {name: row["P@5"].ci95 for name, row in zh.engines.items()} == {
        name: row["P@5"].ci95 for name, row in average_engines(alone).items()
    }
    assert zh.comparisons == compare_engines(alone, families=2)


def test_many_slices_leave_it_possible_to_be_clearly_better() -> None:
    """10 pairs of 5 engines in 10 slices of 20 queries: each slice has a tenth of the error."""
    queries = [make_query(number, topic=f"t{number % 10 + 1}") for number in range(200)]
    values = 0.5 + 0.05 * np.arange(5)[:, None] + np.random.default_rng(0).normal(0, 0.001, (5, 200))
    result = compare_segments(tabulate_scores(values), {each.id: each for each in queries})
    assert [*result["topic"]] == [f"t{number}" for number in range(1, 11)]
    assert {pair.outcome for each in result["topic"].values() for pair in each.comparisons} == {"better"}


# --- does a lead differ between segments


def make_led_segments(*leads: float, size: int = 30, noise: float = 0.05) -> tuple[SegmentResult, ...]:
    """The segments of a topic in each of which a leads b by so much, more or less."""
    rng = np.random.default_rng(5)
    b = rng.random(size * len(leads))
    a = b + np.repeat(leads, size) + rng.normal(0, noise, b.size)
    queries = [make_query(number, topic=f"t{number // size}") for number in range(b.size)]
    result = compare_segments(tabulate_scores([a, b], engines="ab"), {each.id: each for each in queries})
    return tuple(result["topic"].values())


def test_a_lead_that_differs_between_segments_is_found() -> None:
    first, second = make_led_segments(0.3, 0.1)
    (contrast,) = first.contrasts
    assert (contrast.a, contrast.b, contrast.differs) == ("a", "b", True)
    assert contrast.inside == pytest.approx(0.3, abs=0.03)
    assert contrast.outside == pytest.approx(0.1, abs=0.03)
    assert contrast.difference == pytest.approx(contrast.inside - contrast.outside)  # type: ignore[operator]
    assert None not in (contrast.ci95, contrast.p_adjusted)
    assert 0 < get_low_end(contrast.ci95) < contrast.difference < get_high_end(contrast.ci95)
    # With two values the other segment's contrast is the same.
    assert second.contrasts == ()


def test_a_lead_in_one_segment_and_none_in_another_is_no_difference_yet() -> None:
    """The lead is significant in the first segment and not in the second, and still they may be alike."""
    first, second = make_led_segments(0.06, 0.03, noise=0.1)
    assert [each.comparisons[0].outcome for each in (first, second)] == ["better", "not separated"]
    assert not first.contrasts[0].differs


def test_of_three_segments_each_is_held_against_the_rest() -> None:
    result = make_led_segments(0.4, 0.1, 0.1)
    assert [each.contrasts[0].differs for each in result] == [True, True, True]
    assert [(each.contrasts[0].difference or 0) > 0 for each in result] == [True, False, False]
    equal = make_led_segments(0.2, 0.2, 0.2)
    assert [each.contrasts[0].differs for each in equal] == [False] * 3


def test_a_segment_with_few_queries_has_a_contrast_without_an_interval() -> None:
    first, _ = make_led_segments(0.5, 0.0, size=MIN_GROUP_SIZE - 1)
    (contrast,) = first.contrasts
    assert (contrast.ci95, contrast.differs) == (None, False)
    assert contrast.difference == pytest.approx(0.5, abs=0.1)


@pytest.mark.parametrize(
    ("datasets", "most"),
    [pytest.param(30, 6, id="30"), pytest.param(400, 33, marks=pytest.mark.slow, id="400")],
)
def test_leads_that_are_alike_are_seldom_said_to_differ(datasets: int, most: int) -> None:
    """Datasets of three engines, two segments of 40 and 20 queries: at most 5%, with chance on top."""
    rng = np.random.default_rng(17)
    queries = {
        each.id: each for each in (make_query(number, "zh" if number < 20 else "en") for number in range(60))
    }
    wrong = 0
    for _ in range(datasets):
        values = rng.beta(2, 2, (1, 60)) + rng.exponential(0.1, (3, 60)) * np.arange(1, 4)[:, None]
        en, _ = compare_segments(tabulate_scores(values), queries)["lang"].values()
        wrong += any(contrast.differs for contrast in en.contrasts)
    assert wrong <= most  # 99.9% of binomial counts with 5% are at most this


@pytest.mark.parametrize("noise", [0.0, 0.02])
@pytest.mark.parametrize(("datasets", "most"), [(40, 7), pytest.param(400, 33, marks=pytest.mark.slow)])
def test_rare_large_leads_are_seldom_said_to_differ_in_a_small_segment(
    noise: float, datasets: int, most: int
) -> None:
    """Datasets of 12 and 48 queries; a leads on one query in eight by 1, else the engines are alike."""
    rng = np.random.default_rng(23)
    queries = {
        each.id: each for each in (make_query(number, "zh" if number < 12 else "en") for number in range(60))
    }
    wrong = 0
    for _ in range(datasets):
        lead = np.where(rng.random(60) < 1 / 8, 1.0, rng.normal(0, noise, 60))
        en, _ = compare_segments(tabulate_scores([lead, np.zeros(60)]), queries)["lang"].values()
        wrong += en.contrasts[0].differs
    assert wrong <= most  # 99.9% of binomial counts with 5% are at most this


def test_queries_of_one_language_are_not_divided() -> None:
    assert slice_queries([make_query(number) for number in range(4)]) == {}


def test_columns_come_in_one_order_with_the_language_first() -> None:
    queries = [make_query(0, "zh", topic="b", area="x"), make_query(1, "en", topic="a", area="y")]
    expected = [("lang", "en"), ("lang", "zh"), ("area", "x"), ("area", "y"), ("topic", "a"), ("topic", "b")]
    assert list(slice_queries(queries)) == expected
    assert list(slice_queries(queries[::-1])) == expected


@pytest.mark.parametrize(("values", "divided"), [(1, False), (2, True), (20, True), (21, False)])
def test_a_column_divides_with_2_to_20_values(values: int, divided: bool) -> None:
    result = slice_queries([make_query(number, topic=f"t{number % values:02}") for number in range(42)])
    assert len(result) == (values if divided else 0)
    assert sum(each.queries for each in result.values()) == (42 if divided else 0)


@pytest.mark.parametrize(("queries", "segments"), [(5, 5), (6, 0), (12, 0)])
def test_many_values_each_on_one_query_are_no_segments(queries: int, segments: int) -> None:
    assert (
        len(slice_queries([make_query(number, price=str(number / 7)) for number in range(queries)]))
        == segments
    )


def test_queries_without_the_column_are_in_none_of_its_slices() -> None:
    """An empty cell is not a value either."""
    result = slice_queries(
        [
            make_query(0, topic="a"),
            make_query(1, topic="b"),
            make_query(2, topic="b"),
            make_query(3),
            make_query(4, topic=""),
        ]
    )
    assert {key: each.queries for key, each in result.items()} == {("topic", "a"): 1, ("topic", "b"): 2}


def test_a_column_that_is_called_lang_stands_beside_the_language() -> None:
    given: list[tuple[Lang, str]] = [("zh", "yue"), ("en", "en"), ("en", "fr")]
    result = slice_queries(
        [replace(make_query(number, lang), extra={"lang": text}) for number, (lang, text) in enumerate(given)]
    )
    theirs = {("lang (dataset)", line): 1 for line in ("en", "fr", "yue")}
    assert {key: each.queries for key, each in result.items()} == {
        ("lang", "en"): 2,
        ("lang", "zh"): 1,
        **theirs,
    }


def test_a_column_lang_that_says_what_was_detected_is_not_shown_twice() -> None:
    given: list[Lang] = ["zh", "en", "en"]
    result = slice_queries(
        [replace(make_query(number, lang), extra={"lang": lang}) for number, lang in enumerate(given)]
    )
    assert list(result) == [("lang", "en"), ("lang", "zh")]


def test_engines_are_compared_by_the_first_measure_that_allows_it() -> None:
    result = slice_queries([make_query(0, "zh"), make_query(1, "en")], "AP(own)@5 sDCG@5 P@5")
    for each in result.values():
        assert [pair.measure for pair in each.comparisons] == ["sDCG@5"]
        assert list(each.engines["a"]) == ["AP(own)@5", "sDCG@5", "P@5"]
    alone = slice_queries([make_query(0, "zh"), make_query(1, "en")], "AP(own)@5")
    assert [each.comparisons for each in alone.values()] == [(), ()]


def test_an_engine_that_broke_on_a_whole_slice_has_no_mean_there() -> None:
    queries: Mapping[str, Query] = {
        each.id: each for each in (make_query(0, "zh"), make_query(1, "en"), make_query(2, "en"))
    }
    en, zh = compare_segments(tabulate_scores([[NAN, 0.5, 0.6], [0.3, 0.2, 0.4]]), queries)["lang"].values()
    assert [engine["P@5"].mean for engine in zh.engines.values()] == [None, 0.3]
    assert [engine["P@5"].n for engine in zh.engines.values()] == [0, 1]
    assert (zh.comparisons[0].n, zh.comparisons[0].outcome) == (0, "undetermined")
    assert en.comparisons[0].n == 2
