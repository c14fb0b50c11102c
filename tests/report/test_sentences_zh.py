"""How findings are said in Chinese: the same engines and the same numbers as in English."""

from __future__ import annotations

import re
from typing import Any

import pytest

from judge.messages import CHINESE, ENGLISH
from judge.report import sentences

SAME = "all grades are the same, so agreement by chance is complete"


def numbers(text: str) -> list[str]:
    """The numbers of a sentence, in no order."""
    return sorted(re.findall(r"[-+]?\d+(?:[.,]\d+)*%?", text))


def row(**changes: Any) -> dict[str, Any]:
    found = {
        "measure": "P@5", "a": "A", "b": "B", "verdict": "not separated", "winner": None,
        "outcome": "not separated", "n": 9, "difference": 0.25, "ci95": [-0.125, 0.5], "wins": 5, "losses": 3,
        "p_adjusted": 0.5, "at_least_queries": None, "sd": 0.2, "bounds": [0.25, 0.25], "robust": None,
    }  # fmt: skip
    return {**found, **changes}


@pytest.mark.parametrize(
    ("changes", "said"),
    [
        ({}, "A 与 B：分不出高下；+0.2500（95 % 区间 -0.1250 到 0.5000）；9 条查询中 5 条领先、3 条落后"),
        ({"winner": "A", "outcome": "better"}, "A > B：+0.2500"),
        ({"at_least_queries": 1234}, "分不出高下（至少需要 1,200 条双方都有分数的查询）"),
        ({"wins": 2}, "分不出高下（只有 5 条查询的分数不同，至少需要 6 条）"),
        ({"sd": 0.0}, "分不出高下（每条查询的差值都相同，没有方差，无法检验）"),
        ({"outcome": "undetermined"}, "无法判断：未判定的摘要可能改变结论"),
        ({"outcome": "undetermined", "n": 0, "difference": None}, "A 与 B：无法判断：没有哪条查询"),
    ],
)  # fmt: skip
def test_a_comparison_in_chinese(changes: dict[str, Any], said: str) -> None:
    assert said in sentences.difference(CHINESE, row(**changes))


def summary(*rows: dict[str, Any], **means: float | None) -> dict[str, Any]:
    found = {engine: {"measures": {"P@5": {"mean": mean}}} for engine, mean in means.items()}
    return {"comparisons": list(rows), "engines": found}


@pytest.mark.parametrize(
    ("found", "said"),
    [
        (summary(), ""),
        (summary(row(winner="A", outcome="better"), A=0.5, B=0.2), "A 最好：领先另一个引擎"),
        (summary(row(), A=0.5, B=0.2), "A 均值最高，但与 B 分不出高下（差距可能只是偶然）。"),
        (summary(row(), A=0.5, B=0.5), "还选不出最好的引擎：A 并列均值最高，但与 B 分不出高下"),
        (summary(row(), A=0.5, B=None), "：A 均值最高，但"),
        (summary(row(n=0, outcome="undetermined"), A=0.5, B=0.2), "但没有哪条查询上与 B 同时有分数"),
        (summary(row(outcome="undetermined"), A=0.5, B=0.2), "未判定的摘要可能使 B 反超"),
        (summary(row(), A=None, B=None), "选不出最好的引擎：哪个引擎都没有一条查询有分数"),
        (
            summary(row(), row(b="C", winner="A", outcome="better"), row(a="B", b="C"), A=0.5, B=0.4, C=0.1),
            "与 B 分不出高下（差距可能只是偶然），只明确领先 1 个引擎",
        ),
        (
            {**summary(row(winner="A", outcome="better", verdict="A > B"), A=0.5, B=0.2), "runs": ["1", "2"]},
            "运行之间的变化：A > B。",
        ),
        ({**summary(row(), A=0.5, B=0.2), "runs": ["1", "2"]}, "各引擎在两次运行之间均无显著变化。"),
    ],
)
def test_the_answer_in_chinese(found: dict[str, Any], said: str) -> None:
    assert said in sentences.headline(CHINESE, found)
    assert numbers(sentences.headline(ENGLISH, found)) == numbers(sentences.headline(CHINESE, found))


def stable(**changes: Any) -> dict[str, Any]:
    cell = {"value": 0.25, "ci95": [0.125, 0.5]}
    measure = {"equivalent": True, "largest_difference": 0.002, "tost_p": 0.0001, "smallest_tau": 1.0}
    return {
        "repeats": 3, "pairs": 1200, "flip_rate": cell, "ever_flipped": cell, "alpha": cell, "margin": 0.01,
        "measures": {"P@5": {**measure, **changes.pop("measure", {})}}, **changes,
    }  # fmt: skip


@pytest.mark.parametrize(
    "found",
    [
        stable(),
        stable(alpha={"value": 0.9, "ci95": None}),
        stable(alpha={"value": 0.7, "ci95": [0.6, 0.8]}),
        stable(alpha={"value": None, "ci95": None, "why": SAME}),
        stable(flip_rate={"value": None, "ci95": None, "why": "no pair was judged twice"}),
        stable(measure={"equivalent": None, "smallest_tau": None}),
        stable(measure={"equivalent": False, "tost_p": 0.5, "smallest_tau": 0.6}),
    ],
)  # fmt: skip
def test_stability_says_the_same_numbers_in_chinese(found: dict[str, Any]) -> None:
    english, chinese = (list(sentences.stability(t, found, "P@5")) for t in (ENGLISH, CHINESE))
    assert [numbers(said) for said in english] == [numbers(said) for said in chinese]
    assert not re.search("[a-z]{6,}", "".join(chinese).replace("alpha", ""))


def test_own_lists_and_variance_say_the_same_numbers_in_chinese() -> None:
    found = {
        "measure": "nDCG@5", "own": "nDCG(own)@5", "better": "A", "worse": "B", "pooled": [0.852, 0.28],
        "alone": [0.876, 1.0], "relevant": [4.5, 1.0],
        "sure": True,
    }  # fmt: skip
    assert numbers(sentences.within_lists(ENGLISH, found)) == numbers(sentences.within_lists(CHINESE, found))
    split = {"query": 0.03, "engine": 0.01, "query_engine": 0.01, "noise": 0.0}
    assert numbers(sentences.variance(ENGLISH, split)) == numbers(sentences.variance(CHINESE, split))
    assert "2 条查询" in sentences.variance(CHINESE, None)
    assert CHINESE.join(["a"]) == "a"
    assert CHINESE.join("abc") == "a、b 和 c"
