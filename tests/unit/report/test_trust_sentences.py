"""What a run says of flagged snippets and self-tests: the same numbers in both languages, when due."""

from __future__ import annotations

import re
from dataclasses import replace
from typing import Any

import pytest

from judge.analysis.summary import SelfTestEntry, SelfTestFigures, Summary
from judge.measure.resampling import CountedShare
from judge.measure.sensitivity import FlaggedEffect, FlaggedMeans, FlaggedWinners
from judge.messages import ENGLISH, Text, build_text, build_texts
from judge.report.assessor_sentences import describe_selftests
from judge.report.run_warnings import advise_on_failures, describe_flagged_effect, warn_flagged
from tests.unit.report.summaries import BASE

MEANS = {
    "a": FlaggedMeans(0.5, 0.3, 0.35),
    "b": FlaggedMeans(0.4, 0.4, 0.45),
    "c": FlaggedMeans(None, None, None),
}


def make_flagged_summary(**changed: Any) -> Summary:
    """A summary with what flagged pairs do to the order of the engines."""
    values = {"measure": "AP@10", "pairs": 3, "engines": MEANS, "winners": FlaggedWinners(None, None, None)}
    more = {"swapped": (("a", "b"),), "order_changes": True}
    effect = FlaggedEffect(**{**values, **more, **changed})
    return replace(BASE, flagged_sensitivity=effect)


def list_numbers(text: str) -> list[str]:
    return sorted(re.findall(r"\d+(?:\.\d+)?", text))


def test_nothing_flagged_is_null() -> None:
    assert warn_flagged(ENGLISH, BASE) == describe_flagged_effect(ENGLISH, BASE) == ""


def test_what_gets_grades_for_failed_pairs_depends_on_why_they_failed() -> None:
    assert "asks again, only for these." in advise_on_failures(ENGLISH, {"transport": 1})
    advice = advise_on_failures(ENGLISH, {"no_text": 1, "transport": 2})
    assert "no_text needs the missing texts" in advice
    for failures in ({"no_text": 1}, {"content_filter": 2}, {"content_filter": 2, "no_text": 1}):
        assert "asks again" not in advise_on_failures(ENGLISH, failures)
    # A run that stopped has no failures, only pairs that wait.
    for failures in ({}, {"no_text": 1}):
        assert "asks again" in advise_on_failures(ENGLISH, failures, waiting=True)
    advice = advise_on_failures(ENGLISH, {"content_filter": 1, "transport": 2})
    assert advice == (
        " The same command asks again, only for these; the refusals of a content filter are final."
    )


def test_a_swap_is_told_with_the_means_of_all_three_ways() -> None:
    effect = make_flagged_summary().flagged_sensitivity
    assert effect is not None
    text = build_text(warn_flagged, make_flagged_summary())
    assert text.en.startswith(
        "Warning: the ranking depends on 3 flagged pairs that may contain prompt injection."
    )
    assert "a is ahead of b, 0.500 to 0.400; with them counted as 0 it is 0.300 to 0.400" in text.en
    assert list_numbers(text.en) == list_numbers(text.zh)
    assert describe_flagged_effect(ENGLISH, make_flagged_summary()) == ""


def test_another_winner_alone_is_told_as_well() -> None:
    summary = make_flagged_summary(swapped=(), winners=FlaggedWinners("a", None, "a"))
    text = warn_flagged(ENGLISH, summary)
    assert "the answer depends on 3 flagged pairs" in text
    assert "a as things are, none with them counted as 0, a with them left out" in text


def test_an_order_that_stays_is_a_remark_and_no_alarm() -> None:
    summary = make_flagged_summary(swapped=(), order_changes=False)
    assert warn_flagged(ENGLISH, summary) == ""
    assert list_numbers(describe_flagged_effect(ENGLISH, summary)) == ["0", "10", "3"]
    summary = make_flagged_summary(order_changes=False)
    assert warn_flagged(ENGLISH, summary) == ""
    assert "only engines change places whose means by MAP@10 differ by less than 0.02" in (
        describe_flagged_effect(ENGLISH, summary)
    )


@pytest.mark.parametrize("swaps", [4, 9])
def test_many_swaps_are_counted(swaps: int) -> None:
    names = [f"e{number}" for number in range(swaps + 1)]
    means = dict.fromkeys(names, FlaggedMeans(0.5, 0.5, 0.5))
    swapped = tuple((names[0], name) for name in names[1:])
    text = warn_flagged(ENGLISH, make_flagged_summary(engines=means, swapped=swapped))
    assert text.count(" is ahead of ") == 3
    assert f"{swaps - 3} more pair" in text


def share(count: int, of: int) -> CountedShare:
    return CountedShare(count, of, count / of if of else None, (0.009, 0.071) if of else None)


def test_a_self_test_is_told_with_its_interval_and_its_absence_with_the_command() -> None:
    figures = SelfTestFigures(
        220, 1, share(3, 120), share(30, 120), share(2, 64), share(220, 220), share(0, 0)
    )

    def describe(figures: SelfTestFigures | None) -> Text:
        entry = SelfTestEntry("x", figures)
        tested = replace(BASE, selftest={"openai:some/model/graded": entry})
        (sentence,) = build_texts(describe_selftests, tested)
        return sentence

    tested = describe(figures)
    assert "3 of 120 hostile or empty snippets got a good grade (2.5%; 95%: 0.9% to 7.1%)" in tested.en
    assert list_numbers(tested.en) == list_numbers(tested.zh)
    assert "judge selftest -m openai:some/model " in describe(None).en
    assert list(describe_selftests(ENGLISH, replace(BASE, selftest={}))) == []
