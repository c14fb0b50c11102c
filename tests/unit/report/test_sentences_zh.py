"""How findings are said in Chinese: the same engines and the same numbers as in English."""

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison
from judge.measure.intervals import StatisticValue
from judge.measure.sensitivity import OwnListReversal
from judge.measure.stability import MeasureStability, RepeatStability, VarianceComponents
from judge.messages import CHINESE, ENGLISH
from judge.report.assessor_sentences import describe_repeats, describe_variance
from judge.report.comparison_sentences import choose_headline, describe_difference, explain_reversal
from tests.support.cases import check_each
from tests.unit.report.summaries import make_comparison, make_mean, make_summary

SAME = "all grades are the same, so agreement by chance is complete"


def list_numbers(text: str) -> list[str]:
    """The numbers of a sentence, in no order."""
    return sorted(re.findall(r"[-+]?\d+(?:[.,]\d+)*", text))


@check_each(
    ("changes", "expected"),
    [
        ({}, "A 与 B：差异不显著；+0.2500（95% 置信区间 -0.1250 到 0.5000）；9 条查询中 5 条领先、3 条落后"),
        ({"winner": "A", "outcome": "better"}, "A > B：+0.2500"),
        (
            {"at_least_queries": 1234},
            "差异不显著（要区分两者，至少需要 1,200 条双方都有得分的查询；真实差异较小时需要更多）",
        ),
        ({"wins": 0, "losses": 0}, "差异不显著（所有查询的得分均相同）"),
        ({"wins": 2}, "差异不显著（得分不同的只有 5 条查询，检验至少需要 6 条）"),
        ({"outcome": "undetermined"}, "无法判断：未评定的摘要可能改变结论"),
        ({"outcome": "undetermined", "n": 0, "difference": None}, "A 与 B：无法判断：没有双方都有得分的查询"),
    ],
)  # fmt: skip
def test_a_comparison_in_chinese(changes: dict[str, Any], expected: str) -> None:
    assert expected in describe_difference(CHINESE, make_comparison(**changes))


def summarise_comparisons(
    *comparisons: PairComparison, runs: tuple[str, ...] = (), **means: float | None
) -> Summary:
    engines = {engine: {"P@5": make_mean(mean)} for engine, mean in means.items()}
    return make_summary(engines, *comparisons, runs=runs)


@check_each(
    ("result", "expected"),
    [
        (summarise_comparisons(), ""),
        (
            summarise_comparisons(make_comparison(winner="A", outcome="better"), A=0.5, B=0.2),
            "A 最好：对另一个引擎",
        ),
        (
            summarise_comparisons(make_comparison(), A=0.5, B=0.2),
            "A 的均值最高，但与 B 的差异不显著（可能出于偶然）。",
        ),
        (
            summarise_comparisons(make_comparison(), A=0.5, B=0.5),
            "无法确定最好的引擎：A 并列均值最高，与 B 的差异不显著",
        ),
        (
            summarise_comparisons(make_comparison(wins=0, ties=9, losses=0, difference=0.0), A=0.5, B=0.5),
            "A 并列均值最高，在所有共有的查询上与 B 得分相同。",
        ),
        (summarise_comparisons(make_comparison(), A=0.5, B=None), "：A 的均值最高，但"),
        (
            summarise_comparisons(make_comparison(n=0, outcome="undetermined"), A=0.5, B=0.2),
            "但与 B 没有双方都有得分的查询",
        ),
        (
            summarise_comparisons(make_comparison(outcome="undetermined"), A=0.5, B=0.2),
            "可能因未评定的摘要而被 B 反超",
        ),
        (
            summarise_comparisons(make_comparison(), A=None, B=None),
            "无法确定最好的引擎：所有引擎在所有查询上都没有",
        ),
        (
            summarise_comparisons(
                make_comparison(),
                make_comparison(b="C", winner="A", outcome="better"),
                make_comparison(a="B", b="C"),
                A=0.5,
                B=0.4,
                C=0.1,
            ),
            "与 B 的差异不显著（可能出于偶然），只显著领先 1 个引擎",
        ),
        (
            summarise_comparisons(
                make_comparison(winner="A", outcome="better", conclusion="A > B"),
                runs=("1", "2"),
                A=0.5,
                B=0.2,
            ),
            "运行之间的变化：A > B。",
        ),
        (
            summarise_comparisons(make_comparison(), runs=("1", "2"), A=0.5, B=0.2),
            "各引擎在各次运行之间均无显著变化。",
        ),
    ],
)
def test_the_answer_in_chinese(result: Summary, expected: str) -> None:
    assert expected in choose_headline(CHINESE, result)
    assert list_numbers(choose_headline(ENGLISH, result)) == list_numbers(choose_headline(CHINESE, result))


def make_stability(measure: Mapping[str, Any] = MappingProxyType({}), **changes: Any) -> RepeatStability:
    rate = StatisticValue(0.25, (0.125, 0.5))
    agree = MeasureStability({}, 0.002, 1.0, None, 0.0001, equivalent=True)
    stability = RepeatStability(
        3, 1200, rate, rate, rate, rate, None, 0.01, {"P@5": replace(agree, **measure)}
    )
    return replace(stability, **changes)


@check_each(
    "stability",
    [
        make_stability(),
        make_stability(alpha=StatisticValue(0.9, None)),
        make_stability(alpha=StatisticValue(0.7, (0.6, 0.8))),
        make_stability(alpha=StatisticValue(None, None, SAME)),
        make_stability(flip_rate=StatisticValue(None, None, "no pair was judged twice")),
        make_stability(measure={"equivalent": None, "smallest_tau": None}),
        make_stability(measure={"equivalent": False, "tost_p": 0.5, "smallest_tau": 0.6}),
    ],
)  # fmt: skip
def test_stability_says_the_same_numbers_in_chinese(stability: RepeatStability) -> None:
    english, chinese = (list(describe_repeats(t, stability, "P@5")) for t in (ENGLISH, CHINESE))
    assert [list_numbers(line) for line in english] == [list_numbers(text) for text in chinese]
    assert not re.search("[a-z]{6,}", "".join(chinese).replace("alpha", ""))


def test_own_lists_and_variance_say_the_same_numbers_in_chinese() -> None:
    result = OwnListReversal(
        "nDCG@5", "nDCG(own)@5", "A", "B", (0.852, 0.28), (0.876, 1.0), (4.5, 1.0), 20, significant=True
    )
    english, chinese = (explain_reversal(t, result) for t in (ENGLISH, CHINESE))
    assert list_numbers(english) == list_numbers(chinese)
    english, chinese = (
        describe_variance(t, VarianceComponents(0.03, 0.01, 0.01, 0.0)) for t in (ENGLISH, CHINESE)
    )
    assert list_numbers(english) == list_numbers(chinese)
    assert "2 条查询" in describe_variance(CHINESE, None)
    assert CHINESE.join(["a"]) == "a"
    assert CHINESE.join("abc") == "a、b 和 c"
