"""What a run says of flagged snippets and self-tests: the same numbers in both languages, when due."""

import re
from dataclasses import replace
from typing import Any

from judge.analysis.summary import LabelUse, SelfTestEntry, SelfTestFigures, Summary
from judge.measure.intervals import measure_share
from judge.measure.sensitivity import FlaggedEffect, FlaggedMeans, FlaggedWinners
from judge.messages import CHINESE, ENGLISH, build_text, build_texts
from judge.report.run_warnings import (
    describe_flagged_effect,
    describe_selftests,
    iter_warnings,
    warn_flagged,
    warn_incomplete,
    warn_unreliable,
)
from tests.support.cases import check_each
from tests.unit.report.summaries import BASE, make_mean, make_summary

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


def test_grades_are_imputed_only_where_something_is_judged() -> None:
    some = replace(BASE, judgments=10, judged=4, coverage=0.4, failures={})
    none = replace(some, judged=0, coverage=0.0)
    assert "they are imputed" in warn_incomplete(ENGLISH, some)
    assert "imputed" not in warn_incomplete(ENGLISH, none)
    assert "10 of 10 judgments have no grade" in warn_incomplete(ENGLISH, none)
    nearly = replace(some, judgments=2000, judged=1999, coverage=0.9995)
    assert "1 of 2,000 judgments has no grade (coverage >99.9%)" in warn_incomplete(ENGLISH, nearly, 1.0)
    stopped = replace(
        make_summary({"A": {"P@5": make_mean(0.5, unknown=7)}, "B": {"P@5": make_mean(0.5)}}),
        judgments=10, judged=4, coverage=0.4, queries=10,
    )  # fmt: skip
    assert (
        "queries with too few judged snippets are left out of P@5 (7 of 10 queries), and on the others,"
        " missing grades are imputed"
    ) in warn_incomplete(ENGLISH, stopped)
    assert "插补" in warn_incomplete(CHINESE, some)
    assert "插补" not in warn_incomplete(CHINESE, none)


def test_a_run_that_stopped_says_why_in_place_of_other_advice() -> None:
    reasons = {"en": "HTTP 401; run it again", "zh": "密钥无效\u202e"}
    stopped = replace(BASE, judgments=10, judged=0, coverage=0.0, failures={}, stopped=reasons)
    assert warn_incomplete(ENGLISH, stopped) == (
        "10 of 10 judgments have no grade (coverage 0.0%): not judged yet (10). The judging stopped: HTTP"
        " 401; run it again."
    )
    judged = replace(stopped, judged=10, coverage=1.0)  # but questions of dimensions have no answer
    assert "The judging stopped: HTTP 401; run it again." in list(iter_warnings(ENGLISH, judged))
    assert warn_incomplete(CHINESE, stopped).endswith("（10）。评测已停止：密钥无效\\x202e。")


def test_a_swap_is_told_with_the_orders_of_all_three_ways() -> None:
    effect = make_flagged_summary().flagged_sensitivity
    assert effect is not None
    text = build_text(warn_flagged, make_flagged_summary())
    assert text.en.startswith(
        "Warning: the order of the engines depends on 3 flagged pairs, whose text seems to address the"
        " assessor or only repeats the query. The order by MAP@10 of the engines that change places: a > b"
        " with their grades, b > a with them counted as 0, "
    )
    assert list_numbers(text.en) == list_numbers(text.zh)
    assert describe_flagged_effect(ENGLISH, make_flagged_summary()) == ""


def test_another_winner_alone_is_told_as_well() -> None:
    summary = make_flagged_summary(swapped=(), winners=FlaggedWinners("a", None, "a"))
    text = warn_flagged(ENGLISH, summary)
    assert "the order of the engines depends on 3 flagged pairs" in text
    assert "a with their grades, none with them counted as 0, a with them left out" in text


def test_an_order_that_stays_is_a_remark_and_no_alarm() -> None:
    summary = make_flagged_summary(swapped=(), order_changes=False)
    assert warn_flagged(ENGLISH, summary) == ""
    assert list_numbers(describe_flagged_effect(ENGLISH, summary)) == ["0", "10", "3"]
    summary = make_flagged_summary(order_changes=False)
    assert warn_flagged(ENGLISH, summary) == ""
    assert "only engines whose means by MAP@10 differ by less than 0.02 change places" in (
        describe_flagged_effect(ENGLISH, summary)
    )


def test_of_many_engines_that_change_places_the_best_are_named() -> None:
    names = [f"e{number}" for number in range(10)]
    means = {name: FlaggedMeans(1 - at / 10, at / 10, 0.5) for at, name in enumerate(names)}
    text = warn_flagged(
        ENGLISH, make_flagged_summary(engines=means, swapped=((names[0], name) for name in names[1:9]))
    )
    assert "e0 > e1 > e2 > e3 > e4 > e5 > 3 more with their grades, e8 > e7 > " in text
    assert "e9" not in text


def make_figures(high: int, irrelevant: int | None, low: int) -> SelfTestFigures:
    shares = measure_share(high, 120), measure_share(60, 120), measure_share(low, 64)
    others = None if irrelevant is None else measure_share(irrelevant, 24)
    return SelfTestFigures(220, 1, *shares, measure_share(220, 220), measure_share(0, 0), others)


def add_selftests(*entries: SelfTestEntry) -> Summary:
    return replace(BASE, selftest={f"openai:m{at}/graded": entry for at, entry in enumerate(entries)})


def test_a_self_test_is_told_with_its_intervals() -> None:
    (tested,) = build_texts(describe_selftests, add_selftests(SelfTestEntry("x", make_figures(54, 16, 36))))
    # Wilson's intervals by scipy: binomtest(54, 120).proportion_ci(method="wilson") and so on.
    assert tested.en == (
        "Self-test of openai:m0/graded: too high on 54 of 120 hostile or empty snippets (45.0%; 95%: 36.4% to"
        " 53.9%; plain prompt: 60) and on 16 of 24 irrelevant ones (66.7%; 95%: 46.7% to 82.0%); too low on"
        " 36 of 64 relevant ones (56.2%; 95%: 44.1% to 67.7%). Reasons in the query's language: 100%. Replies"
        " in the requested form: -."
    )
    assert list_numbers(tested.en) == list_numbers(tested.zh)
    # A file of an earlier version does not have the irrelevant snippets.
    (older,) = describe_selftests(ENGLISH, add_selftests(SelfTestEntry("x", make_figures(54, None, 36))))
    assert "plain prompt: 60); too low on 36 of 64" in older
    assert list(describe_selftests(ENGLISH, replace(BASE, selftest={}))) == []


def test_a_bad_self_test_is_a_warning_that_names_the_bad_shares_alone() -> None:
    # Wilson's interval of 22 of 120 begins at 12.4%, that of 5 of 24 at 9.2%.
    bad = SelfTestEntry("x", make_figures(22, 5, 2))
    (warning,) = build_texts(warn_unreliable, add_selftests(bad))
    assert warning.en == (
        "This assessor is not reliable: in its self-test, 18% of hostile or empty snippets got too high a"
        " grade; do not choose an engine by it."
    )
    assert warning.zh == "此评测员不可靠：自测中，18% 的恶意或空洞摘要等级过高；请勿据此选择引擎。"
    good = SelfTestEntry("y", make_figures(17, 5, 11))
    assert list(warn_unreliable(ENGLISH, add_selftests(good))) == []
    assert list(warn_unreliable(ENGLISH, add_selftests(SelfTestEntry("z", None)))) == []
    assert list(warn_unreliable(ENGLISH, add_selftests(good, bad))) == [
        "The assessor openai:m1/graded is not reliable: in its self-test, 18% of hostile or empty snippets"
        " got too high a grade; leave it out of the panel."
    ]
    # Several runs with an assessor each are no panel.
    of_runs = replace(add_selftests(good, bad), runs=("runs/a", "runs/b"))
    assert list(warn_unreliable(ENGLISH, of_runs)) == [
        "The assessor openai:m1/graded is not reliable: in its self-test, 18% of hostile or empty snippets"
        " got too high a grade; do not choose an engine by it."
    ]


def test_a_missing_self_test_is_named_with_the_command() -> None:
    missing = SelfTestEntry("x", None, {"base_url": "http://a/v1", "scale": "graded", "top_p": "0.9"})
    (sentence,) = describe_selftests(ENGLISH, add_selftests(missing), "runs/a")
    command = (
        "selftest -m openai:m0 --base-url http://a/v1 --out runs/a with the same options, then judge"
        " score runs/a --save (with --store, if the run has it)."
    )
    assert sentence == (
        "There is no self-test of openai:m0/graded with the options of this run. To add one, run judge "
        + command
    )
    # A panel has a command for each member, and a run that stopped early has more to do first.
    openai = replace(missing, options={"base_url": "https://api.openai.com/v1"})
    (sentence,) = describe_selftests(ENGLISH, add_selftests(missing, openai), "runs/a")
    assert (
        "run judge selftest -m openai:m0 --base-url http://a/v1 --out runs/a and judge selftest -m openai:m1"
        " --out runs/a with the same options"
    ) in sentence
    partly_judged = replace(add_selftests(missing), coverage=0.16)
    assert list(describe_selftests(ENGLISH, partly_judged)) == []
    assert len(list(describe_selftests(ENGLISH, partly_judged, min_coverage=0.1))) == 1
    # Members that are one model at two servers have the addresses in their names.
    named = replace(add_selftests(missing), selftest={"openai:o/x/graded at http://a/v1": missing})
    (sentence,) = describe_selftests(ENGLISH, named, "runs/a")
    assert "run judge selftest -m openai:o/x --base-url http://a/v1 --out runs/a with" in sentence


@check_each(
    ("labelled", "sentences"),
    [(100, []), (96, ["tested"]), (95, ["tested", "missing"]), (0, ["tested", "missing"])],
)
def test_a_missing_self_test_does_not_matter_where_people_gave_nearly_all_grades(
    labelled: int, sentences: list[str]
) -> None:
    tested, missing = SelfTestEntry("x", make_figures(54, 16, 36)), SelfTestEntry("y", None)
    labels = LabelUse("labels.csv", labelled, 0, None)
    summary = replace(add_selftests(tested, missing), pairs=100, labels=labels)
    kinds = {"Self-test": "tested", "There is ": "missing"}
    assert [kinds[text[:9]] for text in describe_selftests(ENGLISH, summary)] == sentences
    assert list(describe_selftests(ENGLISH, replace(summary, pairs=0))) == []
