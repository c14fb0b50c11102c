"""How findings are said in Chinese: the same engines and the same numbers as in English."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from types import MappingProxyType
from typing import Any

from judge.analysis.summary import Summary
from judge.measure.compare import PairComparison
from judge.measure.resampling import StatisticValue
from judge.measure.sensitivity import OwnListReversal
from judge.measure.stability import MeasureStability, RepeatStability, VarianceComponents
from judge.messages import CHINESE, ENGLISH
from judge.report import sentences
from judge.report.assessor_sentences import describe_repeats, describe_variance
from tests.support.cases import check_each
from tests.unit.report.summaries import mean_of, pair_of, summary_of_means

SAME = "all grades are the same, so agreement by chance is complete"


def numbers(text: str) -> list[str]:
    """The numbers of a sentence, in no order."""
    return sorted(re.findall(r"[-+]?\d+(?:[.,]\d+)*%?", text))


@check_each(
    ("changes", "expected"),
    [
        ({}, "A 与 B：分不出高下；+0.2500（95 % 区间 -0.1250 到 0.5000）；9 条查询中 5 条领先、3 条落后"),
        ({"winner": "A", "outcome": "better"}, "A > B：+0.2500"),
        ({"at_least_queries": 1234}, "分不出高下（至少需要 1,200 条双方都有分数的查询）"),
        ({"wins": 2}, "分不出高下（只有 5 条查询的分数不同，至少需要 6 条）"),
        ({"sd": 0.0}, "分不出高下（每条查询的差值都相同，没有方差，无法检验）"),
        ({"outcome": "undetermined"}, "无法判断：未评定的摘要可能改变结论"),
        ({"outcome": "undetermined", "n": 0, "difference": None}, "A 与 B：无法判断：没有哪条查询"),
    ],
)  # fmt: skip
def test_a_comparison_in_chinese(changes: dict[str, Any], expected: str) -> None:
    assert expected in sentences.describe_difference(CHINESE, pair_of(**changes))


def summary(*pairs: PairComparison, runs: tuple[str, ...] = (), **means: float | None) -> Summary:
    engines = {engine: {"P@5": mean_of(mean)} for engine, mean in means.items()}
    return summary_of_means(engines, *pairs, runs=runs)


@check_each(
    ("result", "expected"),
    [
        (summary(), ""),
        (summary(pair_of(winner="A", outcome="better"), A=0.5, B=0.2), "A 最好：领先另一个引擎"),
        (summary(pair_of(), A=0.5, B=0.2), "A 均值最高，但与 B 分不出高下（差距可能只是偶然）。"),
        (summary(pair_of(), A=0.5, B=0.5), "还选不出最好的引擎：A 并列均值最高，但与 B 分不出高下"),
        (summary(pair_of(), A=0.5, B=None), "：A 均值最高，但"),
        (summary(pair_of(n=0, outcome="undetermined"), A=0.5, B=0.2), "但没有哪条查询上与 B 同时有分数"),
        (summary(pair_of(outcome="undetermined"), A=0.5, B=0.2), "未评定的摘要可能使 B 反超"),
        (summary(pair_of(), A=None, B=None), "选不出最好的引擎：哪个引擎都没有一条查询有分数"),
        (
            summary(
                pair_of(),
                pair_of(b="C", winner="A", outcome="better"),
                pair_of(a="B", b="C"),
                A=0.5,
                B=0.4,
                C=0.1,
            ),
            "与 B 分不出高下（差距可能只是偶然），只明确领先 1 个引擎",
        ),
        (
            summary(pair_of(winner="A", outcome="better", verdict="A > B"), runs=("1", "2"), A=0.5, B=0.2),
            "运行之间的变化：A > B。",
        ),
        (summary(pair_of(), runs=("1", "2"), A=0.5, B=0.2), "各引擎在两次运行之间均无显著变化。"),
    ],
)
def test_the_answer_in_chinese(result: Summary, expected: str) -> None:
    assert expected in sentences.choose_headline(CHINESE, result)
    assert numbers(sentences.choose_headline(ENGLISH, result)) == numbers(
        sentences.choose_headline(CHINESE, result)
    )


def stable(measure: Mapping[str, Any] = MappingProxyType({}), **changes: Any) -> RepeatStability:
    rate = StatisticValue(0.25, (0.125, 0.5))
    agree = MeasureStability({}, 0.002, 1.0, None, 0.0001, equivalent=True)
    stability = RepeatStability(
        3, 1200, rate, rate, rate, rate, None, 0.01, {"P@5": replace(agree, **measure)}
    )
    return replace(stability, **changes)


@check_each(
    "stability",
    [
        stable(),
        stable(alpha=StatisticValue(0.9, None)),
        stable(alpha=StatisticValue(0.7, (0.6, 0.8))),
        stable(alpha=StatisticValue(None, None, SAME)),
        stable(flip_rate=StatisticValue(None, None, "no pair was judged twice")),
        stable(measure={"equivalent": None, "smallest_tau": None}),
        stable(measure={"equivalent": False, "tost_p": 0.5, "smallest_tau": 0.6}),
    ],
)  # fmt: skip
def test_stability_says_the_same_numbers_in_chinese(stability: RepeatStability) -> None:
    english, chinese = (list(describe_repeats(t, stability, "P@5")) for t in (ENGLISH, CHINESE))
    assert [numbers(line) for line in english] == [numbers(text) for text in chinese]
    assert not re.search("[a-z]{6,}", "".join(chinese).replace("alpha", ""))


def test_own_lists_and_variance_say_the_same_numbers_in_chinese() -> None:
    result = OwnListReversal(
        "nDCG@5", "nDCG(own)@5", "A", "B", (0.852, 0.28), (0.876, 1.0), (4.5, 1.0), 20, significant=True
    )
    english, chinese = (sentences.explain_reversal(t, result) for t in (ENGLISH, CHINESE))
    assert numbers(english) == numbers(chinese)
    english, chinese = (
        describe_variance(t, VarianceComponents(0.03, 0.01, 0.01, 0.0)) for t in (ENGLISH, CHINESE)
    )
    assert numbers(english) == numbers(chinese)
    assert "2 条查询" in describe_variance(CHINESE, None)
    assert CHINESE.join(["a"]) == "a"
    assert CHINESE.join("abc") == "a、b 和 c"
