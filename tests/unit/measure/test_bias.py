"""Which engine an assessor's errors favour: by hand, what chance explains, and what names tell."""

from __future__ import annotations

import numpy as np
import pytest
import scipy

from judge.measure.agreement import PairedGrades
from judge.measure.engine_agreement import (
    SharedVendor,
    WidestBiasGap,
    estimate_engine_bias,
    find_shared_vendors,
    find_vendor,
    find_widest_gap,
)
from judge.measure.resampling import StatisticValue
from tests.support.cases import check_each
from tests.support.intervals import get_low_end
from tests.unit.measure.tables import make_ints, make_paired_grades


def test_each_engine_has_its_own_bias() -> None:
    """The assessor gives A half a grade too much, B what people give, C was never labelled."""
    shown = make_paired_grades((0, 1, 2), (0, 2, 2), (1, 0, 1), (1, 3, 3), (0, 1, 1), (1, 2, 2), (2, 0, 0))
    biases = estimate_engine_bias(("A", "B", "C"), make_ints(0, 0, 0, 0, 1, 1, 1), shown)
    assert list(biases) == ["A", "B", "C"]
    a, b, c = biases.values()
    assert (a.results, a.queries, a.bias.value) == (4, 2, 0.5)
    assert (b.results, b.queries, b.bias.value) == (3, 3, 0)
    assert (c.results, c.queries, c.bias.value) == (0, 0, None)
    assert c.bias.why == "none of its results has both grades"


def test_the_widest_gap_is_between_the_most_and_the_least_favoured() -> None:
    chance = np.random.default_rng(0)
    query, engine = np.repeat(np.arange(60), 15), np.tile(np.repeat(np.arange(3), 5), 60)
    human = chance.integers(0, 3, query.size)
    more = chance.random(query.size) < np.array([0.1, 0.7, 0.3])[engine]
    shown = PairedGrades(query, human, human + more)
    biases = estimate_engine_bias("ABC", engine, shown)
    gap = find_widest_gap("ABC", engine, shown)
    assert gap is not None
    assert (gap.favoured, gap.other) == ("B", "A")
    favoured, other = biases["B"].bias.value, biases["A"].bias.value
    assert favoured is not None
    assert other is not None
    assert gap.difference.value == pytest.approx(favoured - other)
    assert get_low_end(gap.difference.ci95) is not None
    assert 0.4 < get_low_end(gap.difference.ci95) < favoured - other

    alone = engine != 2
    two = find_widest_gap(
        "AB", engine[alone], PairedGrades(query[alone], human[alone], shown.assessor[alone])
    )
    assert two is not None
    # With three pairs the same difference has a wider interval: t at 1 - .05/6 and 1 - .05/2, 59 degrees.
    ratio = scipy.stats.t.ppf(1 - 0.05 / 6, 59) / scipy.stats.t.ppf(0.975, 59)
    assert measure_width(gap.difference) / measure_width(two.difference) == pytest.approx(ratio)
    assert clear(two)
    assert clear(gap)


def measure_width(result: StatisticValue) -> float:
    assert result.ci95 is not None
    return result.ci95[1] - result.ci95[0]


def clear(gap: WidestBiasGap) -> bool:
    return gap.difference.ci95 is not None and gap.difference.ci95[0] > 0


def test_equal_biases_are_no_gap() -> None:
    shown = make_paired_grades((0, 1, 2), (1, 1, 2), (0, 0, 1), (1, 0, 1))
    gap = find_widest_gap(("B", "A"), make_ints(0, 0, 1, 1), shown)
    assert gap is not None
    assert (gap.favoured, gap.other, gap.difference.value, get_low_end(gap.difference.ci95)) == (
        "A",
        "B",
        0,
        None,
    )
    assert "differ on fewer than 6 queries" in (gap.difference.why or "")


def test_one_result_a_query_is_the_paired_t_test() -> None:
    seen = np.random.default_rng(0).integers(0, 4, (2, 30))
    rows = [(query, 0, int(grade)) for query in range(30) for grade in seen[:, query]]
    gap = find_widest_gap("AB", np.tile(make_ints(0, 1), 30), make_paired_grades(*rows))
    favoured = int(seen[1].sum() > seen[0].sum())
    interval = scipy.stats.ttest_rel(seen[favoured], seen[1 - favoured]).confidence_interval(0.95)
    assert gap is not None
    assert gap.favoured == "AB"[favoured]
    assert gap.difference.ci95 == pytest.approx((interval.low, interval.high))


@pytest.mark.parametrize(("queries", "named"), [(5, False), (6, True)])
def test_five_queries_favour_no_engine(queries: int, named: bool) -> None:
    """Six queries on each of which B is favoured leave no doubt; chance gives five of them too easily."""
    rows = [(query, 0, grade) for query in range(queries) for grade in (0, 1)]
    gap = find_widest_gap("AB", np.tile(make_ints(0, 1), queries), make_paired_grades(*rows))
    assert gap is not None
    assert clear(gap) == named


def test_a_wide_gap_that_may_be_chance_comes_after_one_that_is_none() -> None:
    """C's only result got 3 too many; B's got one too many on each of 20 queries, A's none."""
    rows = [(query, 0, grade) for query in range(20) for grade in (0, 1)]
    engine = np.append(np.tile(make_ints(0, 1), 20), 2)
    gap = find_widest_gap("ABC", engine, make_paired_grades(*rows, (0, 0, 3)))
    assert gap is not None
    assert (gap.favoured, gap.other, gap.difference.value) == ("B", "A", 1)
    assert clear(gap)


def test_two_that_never_met_can_t_be_told_from_chance() -> None:
    gap = find_widest_gap("AB", make_ints(0, 1), make_paired_grades((0, 0, 1), (1, 0, 0)))
    assert gap is not None
    assert (gap.favoured, gap.difference.value, get_low_end(gap.difference.ci95)) == ("A", 1, None)


def test_favoured_on_one_query_is_not_favoured() -> None:
    """On one query B has 40 results with one grade too many, on 19 others one with one too few."""
    rows = [(0, 0, 1)] * 40 + [(query, 1, 0) for query in range(1, 20)]
    both = make_paired_grades(*rows, *((query, 1, 1) for query in range(20)))
    gap = find_widest_gap("AB", np.append(np.ones(59, np.int64), np.zeros(20, np.int64)), both)
    assert gap is not None
    assert gap.favoured == "B"
    assert get_low_end(gap.difference.ci95) is not None
    assert get_low_end(gap.difference.ci95) < 0


def test_one_query_gives_an_engine_no_range_whatever_the_others_have() -> None:
    rows = [(query, 0, query % 2) for query in range(20)]
    a, b = estimate_engine_bias(
        "AB", np.append(np.zeros(20, np.int64), 1), make_paired_grades(*rows, (3, 0, 2))
    ).values()
    assert a.bias.ci95 is not None
    assert (b.results, b.queries, b.bias.value, b.bias.ci95) == (1, 1, 2, None)
    assert "one query" in (b.bias.why or "")


def test_an_engine_s_range_is_its_own_however_many_there_are() -> None:
    chance = np.random.default_rng(1)
    query, engine = np.repeat(np.arange(30), 6), np.tile(np.repeat(np.arange(3), 2), 30)
    human = chance.integers(0, 3, query.size)
    shown = PairedGrades(query, human, human + chance.integers(0, 2, query.size))
    alone = engine == 1
    (one,) = estimate_engine_bias(
        "B", engine[alone] - 1, PairedGrades(query[alone], human[alone], shown.assessor[alone])
    ).values()
    assert estimate_engine_bias("ABC", engine, shown)["B"] == one


@pytest.mark.slow
@pytest.mark.parametrize(("engines", "queries", "datasets"), [(2, 20, 1000), (5, 20, 600), (20, 20, 200)])
def test_equal_engines_are_rarely_called_favoured(engines: int, queries: int, datasets: int) -> None:
    """Errors come by the query, so that results of one query are not independent evidence."""
    chance = np.random.default_rng(0)
    names = [f"e{number:02}" for number in range(engines)]
    query = np.repeat(np.arange(queries), engines * 5)
    engine = np.tile(np.repeat(np.arange(engines), 5), queries)
    named = 0
    for _ in range(datasets):
        human = chance.integers(0, 4, query.size)
        kind = np.repeat(chance.random((queries, engines)) < 0.15, 5, axis=1).ravel()
        slip = kind | (chance.random(query.size) < 0.2)
        gap = find_widest_gap(names, engine, PairedGrades(query, human, np.minimum(3, human + slip)))
        named += gap is not None and clear(gap)
    print(f"\n{engines} equal engines: one is called favoured in {named / datasets:.3f} of the datasets")
    assert named <= 0.065 * datasets


def test_a_gap_is_between_two() -> None:
    assert find_widest_gap(("A", "B"), make_ints(0, 0), make_paired_grades((0, 1, 2), (1, 1, 2))) is None
    assert find_widest_gap((), make_ints(), make_paired_grades()) is None


@check_each(
    ("name", "expected"),
    [
        ("qwen2.5-72b-instruct", "Alibaba"),
        ("QwQ-32B", "Alibaba"),
        ("gpt-4o", "OpenAI"),
        ("meta-llama/Llama-3.1-8B", "Meta"),
        ("google_serper", "Google"),
        ("百度搜索", "Baidu"),
        ("brave", None),
        ("searxng", None),
        ("metasearch", None),
        ("metaphor", None),
        ("BaiduSearch", "Baidu"),
        ("google-cse", "Google"),
        ("lexical", None),
        ("", None),
    ],
)
def test_a_name_tells_the_vendor(name: str, expected: str | None) -> None:
    assert find_vendor(name) == expected


def test_the_wire_is_not_the_house() -> None:
    assert find_shared_vendors(["openai:qwen-plus/graded"], ["openai-search", "aliyun_iqs"]) == (
        SharedVendor("openai:qwen-plus/graded", "aliyun_iqs", "Alibaba"),
    )
    assert find_shared_vendors(["langchain:tongyi:deepseek-v3/binary"], ["quark"]) == ()
    assert find_shared_vendors(["openai:Qwen/Qwen2.5-7B/graded"], ["quark"]) == (
        SharedVendor("openai:Qwen/Qwen2.5-7B/graded", "quark", "Alibaba"),
    )


def test_the_server_is_not_the_house() -> None:
    assert find_shared_vendors(["openai:m/graded at https://dashscope.aliyuncs.com/v1"], ["quark"]) == ()


def test_members_of_one_house_are_no_second_opinion() -> None:
    result = find_shared_vendors(
        ["dashscope:qwen-plus/graded", "openai:gpt-5/graded", "openai:qwen-max/graded"], ["brave"]
    )
    assert result == (SharedVendor("dashscope:qwen-plus/graded", "openai:qwen-max/graded", "Alibaba"),)
