"""What a night comes to when several things are wrong with it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from judge.analysis.summary import EngineResult
from judge.nightly.decision import (
    Found,
    broken,
    decide,
    dropped,
    possible_drops,
    silent,
    unanswered,
    without_text,
)
from judge.nightly.gate import Change, Row

DROP = Row(
    Change("bing", "AP@10", 100, 0.6, 0.55, -0.05, -0.07, -0.03, -0.05, -0.05, 1e-4), 6e-4, "regression"
)
UNSURE = Row(Change("baidu", "AP@10", 0, None, None, None, None, None, None, None, None), None, "incomplete")
TURNED = replace(DROP, verdict="incomplete")
BROKEN = {"searx": "searx: answered 0% of the queries"}


@pytest.mark.parametrize(
    ("found", "status", "code", "first"),
    [
        (Found(True), "fine", 0, None),
        (Found(False), "no baseline", 0, "there is no baseline"),
        (Found(True, rows=(DROP,)), "regression", 1, "bing: AP@10 fell by 0.050, from 0.600 to 0.550 on 100"),
        (Found(True, rows=(UNSURE,)), "incomplete", 3, "baidu: AP@10 can't be compared"),
        (
            Found(True, rows=(TURNED,)),
            "incomplete",
            3,
            "bing: AP@10 fell, or did not: grades of what is unjudged",
        ),
        (Found(True, broken=BROKEN), "incomplete", 3, "searx: answered 0%"),
        (Found(True, broken=BROKEN, rows=(DROP,)), "regression", 1, "bing: AP@10"),
        (Found(True, queries=("other",), broken=BROKEN), "different queries", 3, "other"),
        (Found(True, missing=("away",), queries=("other",)), "incomplete", 3, "away"),
        (Found(True, judge=("swapped",), missing=("away",)), "judge drift", 3, "swapped"),
        (Found(False, missing=("away",)), "incomplete", 3, "away"),
        (Found(True, asked=("depth",), broken=BROKEN), "asked otherwise", 3, "depth; to go on with it, make"),
        (Found(True, queries=("other",), asked=("depth",)), "different queries", 3, "other"),
    ],
)
def test_what_spoils_the_grades_comes_before_what_they_say(
    found: Found, status: str, code: int, first: str | None
) -> None:
    decision = decide(found)
    assert (decision.status, decision.exit) == (status, code)
    assert decision.because[0].startswith(first) if first else not decision.because


def test_a_changed_judge_says_once_what_to_do_when_it_is_to_stay() -> None:
    said = decide(Found(True, "judge baseline set RUN", judge=("by name", "stricter"))).because
    assert said == (
        "by name",
        "stricter; to go on with it, make a night of it the baseline: judge baseline set RUN",
    )


def test_a_night_that_is_no_baseline_does_not_tell_to_make_it_one() -> None:
    assert decide(Found(False, missing=("away",))).because == ("away",)
    assert decide(Found(False, judge=("swapped",))).because == ("swapped",)


def engine(
    answered: int, errors: int = 0, empty: int = 0, absent: int = 0, no_snippet_share: float | None = None
) -> EngineResult:
    queries = answered + errors + empty + absent
    counts = (queries, answered, empty, errors, absent)
    return EngineResult(*counts, None, None, None, {}, None, None, no_snippet_share)


@pytest.mark.parametrize(
    ("tonight", "is_broken"),
    [
        (engine(98, errors=2), False),
        (engine(90, errors=10), False),  # exactly the margin
        (engine(89, errors=11), True),
        (engine(80, empty=20), True),
        (engine(85, absent=15), True),
        (None, False),
    ],
)
def test_an_engine_is_broken_when_far_fewer_answers_came(
    tonight: EngineResult | None, is_broken: bool
) -> None:
    said = broken({"bing": tonight} if tonight else {}, {"bing": engine(100)}, 0.1)
    assert ("bing" in said) == is_broken
    assert broken({"new": engine(0, errors=9)}, {}, 0.1) == {}


def test_an_engine_that_was_dropped_leaves_a_night_that_may_be_the_baseline() -> None:
    assert list(dropped({"bing": {}, "new": {}}, {"bing": {}}, "x")) == []
    (said,) = dropped({"bing": {}}, {"bing": {}, "searx": {}}, "judge baseline set RUN")
    assert said.startswith("searx: is in the baseline and not in tonight's dataset")
    decision = decide(Found(True, dropped=[said]))
    assert (decision.status, decision.because) == ("incomplete", (said,))
    assert (decision.finished, decision.whole) == (False, True)
    assert not decide(Found(True, broken=BROKEN, dropped=[said])).whole


def test_results_that_lost_their_text_are_no_bad_ranking() -> None:
    blank, full = engine(100, no_snippet_share=1.0), engine(100, no_snippet_share=0.1)
    assert "has its field been renamed?" in broken({"bing": blank}, {"bing": full}, 0.1)["bing"]
    assert broken({"bing": blank}, {"bing": blank}, 0.1) == {}


def test_an_engine_without_snippets_is_named_before_anything_is_judged() -> None:
    (said,) = without_text({"bing": 0.9, "brave": 0.5}, {}, 0.5)
    assert said.startswith("bing: 90% of its results have an empty snippet, more than max_empty_snippets 50%")
    assert list(without_text({"bing": 0.9}, {"bing": engine(100, no_snippet_share=0.7)}, 0.5)) == []
    assert len(list(without_text({"bing": 0.9}, {"bing": engine(100, no_snippet_share=0.5)}, 0.5))) == 1
    assert list(without_text({"bing": 1.0}, {}, 1.0)) == []


def test_a_drop_under_another_assessor_is_possible_when_it_is_more_than_the_canaries_explain() -> None:
    # Canaries moved by -0.3 of 3 grades, which lowers sDCG by 0.1: -0.25 becomes -0.15, -0.12 becomes -0.02.
    change = Change("bing", "sDCG@10", 100, 0.6, 0.35, -0.25, None, None, -0.25, -0.25, 1e-4)
    fell = Row(change, 6e-4, "regression", detectable=0.04)
    slightly = replace(fell, change=replace(change, engine="baidu", change=-0.12))
    other = replace(fell, change=replace(change, measure="AP@10"))
    (said,) = possible_drops([fell, slightly, other], -0.3, 3)
    assert said.startswith("possible: bing became worse: sDCG@10 -0.250, corrected -0.150")
    assert "moved by -0.30 of 3" in said
    assert list(possible_drops([fell], None, 3)) == []
    decision = decide(Found(True, judge=("stricter",), possible=(said,)))
    assert (decision.status, decision.exit, decision.because[1]) == ("judge drift", 3, said)


def test_without_a_baseline_an_engine_that_broke_is_said_all_the_same() -> None:
    assert silent({"bing": engine(100), "brave": engine(90, errors=10)}, 0.1) == []
    (said,) = silent({"bing": engine(100), "brave": engine(80, errors=15, absent=5)}, 0.1)
    assert said.startswith("brave: gave no answer to 20 of 100 queries (15 errors, 5 without a ranking)")


def test_what_was_left_unanswered_is_said_however_little_it_is() -> None:
    engines = {
        "a": engine(95, errors=5),
        "b": engine(100),
        "c": engine(98, absent=2),
        "d": engine(0, empty=9),
    }
    assert list(unanswered(engines, {"a": {"HTTP 500: boom": 3, "HTTP 429": 2}})) == [
        "a: no answer to 5 of 100 queries, most often HTTP 500: boom",
        "c: no answer to 2 of 100 queries: there is no ranking for them",
        "d: found nothing for any of 9 queries, so a night like this is no baseline: is it asked as it should"
        " be?",
    ]


def test_an_engine_that_was_silent_at_the_baseline_may_stay_so() -> None:
    assert broken({"bing": engine(50, empty=50)}, {"bing": engine(55, empty=45)}, 0.1) == {}


@pytest.mark.parametrize(
    ("found", "finished"),
    [
        (Found(True), True),
        (Found(True, rows=(DROP,)), True),
        (Found(True, judge=("swapped",)), True),
        (Found(True, queries=("other",)), True),
        (Found(False), True),
        (Found(True, judge=("swapped",), missing=("away",)), False),
        (Found(True, broken=BROKEN, rows=(DROP,)), False),
        (Found(True, rows=(TURNED,)), False),
    ],
)
def test_a_night_is_finished_when_nothing_is_missing_whatever_its_word(found: Found, finished: bool) -> None:
    assert decide(found).finished == finished
