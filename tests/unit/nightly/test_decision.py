"""What a night comes to when several things are wrong with it."""

from dataclasses import replace
from functools import partial
from pathlib import Path

from judge.measure.engine_summary import EngineSummary
from judge.nightly.dataset_changes import (
    describe_missing_answers,
    find_removed_engines,
    find_unavailable,
    find_without_text,
)
from judge.nightly.decision import Evidence, decide
from judge.nightly.record import EXIT_CODES, RegressionOutcome
from tests.support.cases import check_each

DROP = RegressionOutcome(
    "bing",
    "AP@10",
    100,
    0.6,
    0.55,
    -0.05,
    -0.07,
    -0.03,
    -0.05,
    -0.05,
    1e-4,
    p_holm=6e-4,
    outcome="regression",
)
UNSURE = RegressionOutcome(
    "baidu", "AP@10", 0, None, None, None, None, None, None, None, None, outcome="incomplete"
)
TURNED = replace(DROP, outcome="incomplete")
BROKEN = {"searx": "searx: answered 0% of the queries"}


@check_each(
    ("evidence", "status", "code", "first"),
    [
        (Evidence(True), "fine", 0, None),
        (Evidence(False), "no baseline", 0, "there is no baseline"),
        (
            Evidence(True, outcomes=(DROP,)),
            "regression",
            1,
            "bing: MAP@10 fell by 0.050, from 0.600 to 0.550 on 100",
        ),
        (Evidence(True, outcomes=(UNSURE,)), "incomplete", 3, "baidu: MAP@10 cannot be compared"),
        (
            Evidence(True, outcomes=(TURNED,)),
            "incomplete",
            3,
            "bing: MAP@10 may have fallen: grades of unjudged snippets",
        ),
        (Evidence(True, unavailable=BROKEN), "incomplete", 3, "searx: answered 0%"),
        (Evidence(True, unavailable=BROKEN, outcomes=(DROP,)), "regression", 1, "bing: MAP@10"),
        (Evidence(True, query_changes=("other",), unavailable=BROKEN), "queries changed", 3, "other"),
        (Evidence(True, missing=("away",), query_changes=("other",)), "incomplete", 3, "away"),
        (Evidence(True, assessor_changes=("swapped",), missing=("away",)), "assessor drift", 3, "swapped"),
        (Evidence(False, missing=("away",)), "incomplete", 3, "away"),
        (
            Evidence(True, engine_setting_changes=("depth",), unavailable=BROKEN),
            "engine settings changed",
            3,
            "depth; to accept the change: judge",
        ),
        (
            Evidence(True, query_changes=("other",), engine_setting_changes=("depth",)),
            "queries changed",
            3,
            "other",
        ),
    ],
)
def test_what_spoils_the_grades_comes_before_what_they_say(
    evidence: Evidence, status: str, code: int, first: str | None
) -> None:
    decision = decide(evidence)
    assert (decision.status, EXIT_CODES[decision.status]) == (status, code)
    assert decision.reasons[0].startswith(first) if first else not decision.reasons


def test_a_changed_judge_says_once_what_to_do_when_it_is_to_stay_and_when_it_is_not() -> None:
    evidence = Evidence(True, "judge baseline set RUN", assessor_changes=("by name", "stricter"))
    assert decide(evidence).reasons == (
        "by name",
        "stricter; if the change is temporary, do nothing: the next night checks again; to accept the new"
        " assessor: judge baseline set RUN",
    )
    # A user who changed the options knows whether this is temporary.
    assert decide(replace(evidence, are_settings_changed=True)).reasons == (
        "by name",
        "stricter; to accept the change: judge baseline set RUN",
    )


def test_a_night_that_is_no_baseline_does_not_tell_to_make_it_one() -> None:
    assert decide(Evidence(False, missing=("away",))).reasons == ("away",)
    assert decide(Evidence(False, assessor_changes=("swapped",))).reasons == ("swapped",)


def make_engine(
    answered: int, errors: int = 0, empty: int = 0, absent: int = 0, no_snippets: float | None = None
) -> EngineSummary:
    queries = answered + errors + empty + absent
    return EngineSummary(
        queries=queries,
        answered=answered,
        errors=errors,
        empty=empty,
        absent=absent,
        judged=None,
        duplicates=None,
        unique=None,
        measures={},
        latency_ms=None,
        tokens=None,
        no_snippet_share=no_snippets,
    )


@check_each(
    ("tonight", "is_broken"),
    [
        (make_engine(98, errors=2), False),
        (make_engine(90, errors=10), False),  # exactly the margin
        (make_engine(89, errors=11), True),
        (make_engine(80, empty=20), True),
        (make_engine(85, absent=15), True),
        (None, False),
    ],
)
def test_an_engine_is_broken_when_far_fewer_answers_came(
    tonight: EngineSummary | None, is_broken: bool
) -> None:
    unavailable = find_unavailable({"bing": tonight} if tonight else {}, {"bing": make_engine(100)}, 0.1, {})
    assert ("bing" in unavailable) == is_broken
    assert find_unavailable({"new": make_engine(0, errors=9)}, {}, 0.1, {}) == {}


def test_an_engine_that_was_dropped_leaves_a_night_that_may_be_the_baseline() -> None:
    assert (
        list(find_removed_engines({"bing": {}, "new": {}}, {"bing": {}}, "x", "y", is_collected=False)) == []
    )
    for is_collected, step in ((True, "add it to [collect]"), (False, "add its results")):
        (text,) = find_removed_engines(
            {"bing": {}}, {"bing": {}, "searx": {}}, "judge nightly", "judge set", is_collected=is_collected
        )
        assert text == (
            f"searx: is in the baseline and not in this night's dataset; {step}, then: judge nightly; if it"
            " was removed permanently, make this night the baseline: judge set"
        )
    decision = decide(Evidence(True, removed_engines=[text]))
    assert (decision.status, decision.reasons) == ("incomplete", (text,))
    assert (decision.state, decision.missing) == ("undecided", ())
    away = Evidence(True, missing=["away"], unavailable=BROKEN, removed_engines=[text])
    assert decide(away).missing == ("away", *BROKEN.values())


def test_results_that_lost_their_text_are_no_bad_ranking() -> None:
    blank, full = make_engine(100, no_snippets=1.0), make_engine(100, no_snippets=0.1)
    assert "a field was renamed" in find_unavailable({"bing": blank}, {"bing": full}, 0.1, {})["bing"]
    assert find_unavailable({"bing": blank}, {"bing": blank}, 0.1, {}) == {}


def test_an_engine_without_snippets_is_named_before_anything_is_judged() -> None:
    find = partial(find_without_text, collected=Path("runs/nights/2026-05-01"))
    (text,) = find({"bing": 0.9, "brave": 0.5}, {}, 0.5)
    assert text.startswith("bing: 90% of its results have an empty snippet, more than max_empty_snippets 50%")
    # The trend shows a reason of an earlier night up to its advice.
    assert text.partition("; ")[0].endswith("so nothing was judged")
    assert "Correct its `fields` if it has a table in [collect.engines], remove runs/nights/2026" in text
    (text,) = find_without_text({"bing": 0.9}, {}, 0.5, collected=None)
    assert "fields" not in text
    assert "Correct the dataset" in text
    assert list(find({"bing": 0.9}, {"bing": make_engine(100, no_snippets=0.7)}, 0.5)) == []
    assert len(list(find({"bing": 0.9}, {"bing": make_engine(100, no_snippets=0.5)}, 0.5))) == 1
    assert list(find({"bing": 1.0}, {}, 1.0)) == []


def test_a_possible_drop_is_a_reason_of_assessor_drift() -> None:
    decision = decide(Evidence(True, assessor_changes=("stricter",), possible_drops=("bing may be worse",)))
    assert (decision.status, decision.reasons[1]) == ("assessor drift", "bing may be worse")
    assert EXIT_CODES[decision.status] == 3


def test_without_a_baseline_an_engine_that_broke_is_said_all_the_same() -> None:
    engines = {"bing": make_engine(100), "brave": make_engine(90, errors=10)}
    assert find_unavailable(engines, None, 0.1, {"brave": "HTTP 500"}) == {}
    engines["brave"] = make_engine(80, errors=15, absent=5)
    texts = find_unavailable(engines, None, 0.1, {"brave": "HTTP 500"})
    counts = "0 empty, 5 without a row, 15 failed, most often HTTP 500"
    assert texts == {"brave": f"brave: returned results for 80% of the queries ({counts})"}


def test_what_was_left_unanswered_is_said_however_little_it_is() -> None:
    engines = {
        "a": make_engine(95, errors=5),
        "b": make_engine(100),
        "c": make_engine(98, absent=2),  # a warning about the dataset says this
        "d": make_engine(0, empty=9),
    }
    assert list(describe_missing_answers(engines, {}, {"a": "HTTP 500: boom"})) == [
        "a: failed on 5 of 100 queries, most often HTTP 500: boom",
        "d: returned no result for any of 9 queries, so this night cannot be the baseline; check the settings"
        " of the engine",
    ]


def test_empty_lists_that_the_baseline_did_not_have_are_named() -> None:
    """Six of 60 queries are too few for a test of the mean, and the reader must still see them."""
    tonight = {"a": make_engine(54, empty=6), "b": make_engine(55, empty=5), "new": make_engine(1, empty=1)}
    baseline = {"a": make_engine(60), "b": make_engine(110, empty=10), "gone": make_engine(3)}
    assert list(describe_missing_answers(tonight, baseline, {})) == [
        "a: an empty list for 6 of 60 queries, 0 of 60 at the baseline; an empty list has the score 0"
    ]


def test_an_engine_that_was_silent_at_the_baseline_may_stay_so() -> None:
    assert (
        find_unavailable({"bing": make_engine(50, empty=50)}, {"bing": make_engine(55, empty=45)}, 0.1, {})
        == {}
    )


@check_each(
    ("evidence", "state"),
    [
        (Evidence(True), "finished"),
        (Evidence(True, outcomes=(DROP,)), "finished"),
        (Evidence(True, assessor_changes=("swapped",)), "finished"),
        (Evidence(True, query_changes=("other",)), "finished"),
        (Evidence(False), "finished"),
        (Evidence(True, assessor_changes=("swapped",), is_stopped=True), "stopped"),
        (Evidence(True, assessor_changes=("swapped",), missing=("away",)), "unfinished"),
        (Evidence(True, unavailable=BROKEN, outcomes=(DROP,)), "unfinished"),
        (Evidence(True, outcomes=(TURNED,)), "undecided"),
    ],
)
def test_a_night_is_finished_when_nothing_is_missing_whatever_its_word(
    evidence: Evidence, state: str
) -> None:
    assert decide(evidence).state == state


def test_a_night_without_a_run_is_no_baseline_and_is_not_offered_as_one() -> None:
    evidence = Evidence(True, to_accept="", assessor_changes=("stricter",), missing=("bing: 90% are empty",))
    assert decide(evidence).reasons == ("stricter", "bing: 90% are empty")
