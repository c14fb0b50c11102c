"""History: the nights' own files in date order, what is comparable across nights, what changed, and axes."""

import json
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from judge.errors import InputError
from judge.nightly import trend, trend_changes
from judge.nightly.record import NightRecord
from judge.nightly.trend import TrendValue
from judge.nightly.trend_drawing import make_axes
from judge.report.charts.svg import make_axis
from tests.support.cases import check_each
from tests.unit.nightly.records import (
    make_canaries,
    make_month,
    make_night,
    make_row,
    parse_record,
    write_nights,
)

numbers = st.floats(-1, 1)
values = st.builds(
    lambda each: TrendValue(each[1], (each[0], each[2]), 10), st.tuples(numbers, numbers, numbers).map(sorted)
)


def make_nights(*records: dict[str, Any]) -> tuple[NightRecord, ...]:
    return tuple(map(parse_record, records))


def test_nights_come_by_date_and_what_is_no_night_is_left_alone(tmp_path: Path) -> None:
    write_nights(tmp_path, [make_night("2026-05-02"), make_night("2026-05-01"), make_night("2025-12-31")])
    (tmp_path / "baseline").mkdir()
    (tmp_path / "2026-05-03").mkdir()
    result = trend.read_history(tmp_path)
    assert [each.date for each in result.nights] == [date(2025, 12, 31), date(2026, 5, 1), date(2026, 5, 2)]
    assert result.damaged == ()


@check_each(
    "text",
    [
        "",
        "{",
        "[]",
        "{}",
        json.dumps({**make_night("2026-05-09"), "schema": 3}),
        json.dumps({**make_night("2026-05-09"), "status": "well"}),
        json.dumps(make_night("2026-05-10")),
        json.dumps({**make_night("2026-05-09"), "engines": 3}),
        json.dumps({**make_night("2026-05-09"), "regression_test": {"rows": [{"engine": "bing"}]}}),
        json.dumps({**make_night("2026-05-09"), "canaries": make_canaries(60) | {"pairs": "many"}}),
    ],
)
def test_a_damaged_night_is_named_and_the_others_are_read(tmp_path: Path, text: str) -> None:
    write_nights(tmp_path, [make_night("2026-05-08"), make_night("2026-05-09")])
    (tmp_path / "2026-05-09" / "night.json").write_text(text, encoding="utf-8")
    result = trend.read_history(tmp_path)
    assert [each.date.day for each in result.nights] == [8]
    assert len(result.damaged) == 1
    assert "2026-05-09" in result.damaged[0]


def test_a_folder_without_nights_says_how_to_make_one(tmp_path: Path) -> None:
    with pytest.raises(
        InputError, match=r"contains no finished night; make one with: judge nightly FILE .*judge\.toml"
    ):
        trend.read_history(tmp_path / "nowhere")


def test_a_night_that_was_begun_and_has_no_record_is_known(tmp_path: Path) -> None:
    write_nights(tmp_path, [make_night("2026-05-01"), make_night("2026-05-04")])
    for name in ("2026-05-02/canaries", "2026-05-03", "2026-5-9/x", "baseline/x", "2026-05-31b/x"):
        (tmp_path / name).mkdir(parents=True)
    (tmp_path / "2026-05-03" / ".lock").touch()  # nothing came of it
    assert [*trend.read_history(tmp_path).resume_commands] == ["2026-05-02"]


def test_nights_that_can_no_longer_be_compared_with_the_baseline_are_not_resumed(tmp_path: Path) -> None:
    days = [f"2026-05-0{day}" for day in range(1, 5)]
    undecided = [make_night(day, status="incomplete") | {"complete": True} for day in days]
    write_nights(tmp_path, undecided[1:])
    (tmp_path / days[0] / "canaries").mkdir(parents=True)
    assert [*trend.read_history(tmp_path).resume_commands] == days
    pointer = {"id": "x", "name": days[2], "assessor": "fake", "queries": 1, "canaries": False}
    (tmp_path / "baseline").mkdir()
    file = tmp_path / "baseline" / "baseline.json"
    file.write_text(json.dumps(pointer), encoding="utf-8")
    assert [*trend.read_history(tmp_path).resume_commands] == [days[3]]
    file.write_text(json.dumps({**pointer, "name": "another run"}), encoding="utf-8")
    assert [*trend.read_history(tmp_path).resume_commands] == days
    file.write_text("{", encoding="utf-8")
    assert [*trend.read_history(tmp_path).resume_commands] == days


def test_a_folder_in_which_one_night_was_begun_says_how_to_go_on_with_it(tmp_path: Path) -> None:
    (tmp_path / "2026-05-02" / "canaries").mkdir(parents=True)
    words = r"contains no finished night; resume one with: judge nightly FILE --date 2026-05-02"
    with pytest.raises(InputError, match=words):
        trend.read_history(tmp_path)


def test_what_a_night_paid_is_its_own_bill_and_unknown_of_older_ones() -> None:
    older = make_night("2026-05-02")
    del older["cost_total"]
    costs = [each.cost_total and each.cost_total.usd for each in make_nights(make_night("2026-05-01"), older)]
    assert costs == [0.0412, None]


def test_only_what_no_pool_divides_is_a_mean_and_the_gate_gives_the_rest() -> None:
    nights = make_nights(make_night("2026-05-01"))
    assert trend.list_trend_measures(nights) == {"sDCG@10": "mean", "P@5": "mean", "AP@10": "change"}
    assert trend.list_trend_values(nights, "bing", "nDCG@10", "mean") == (None,)


def test_a_series_has_a_place_for_every_night() -> None:
    broken = make_night("2026-05-02", regression_test=None)
    broken["engines"]["bing"]["measures"]["sDCG@10"] |= {"mean": None, "ci95": None, "n": 0}
    nights = make_nights(
        make_night("2026-05-01", {"bing": 0.5}), broken, make_night("2026-05-03", {"baidu": 0.5})
    )
    means = trend.list_trend_values(nights, "bing", "sDCG@10", "mean")
    assert means == (TrendValue(0.5, (0.47, 0.53), 100), None, None)
    first, second, third = trend.list_trend_values(nights, "bing", "AP@10", "change")
    assert first is not None
    assert first.value == pytest.approx(0.5 - 0.61)
    assert (second, third) == (None, None)
    assert trend.list_engines(nights) == ("baidu", "bing", "searx")


def test_the_change_of_a_night_from_the_baseline_is_from_the_one_in_force() -> None:
    gone = make_night("2026-05-02", regression_test=None)
    nights = make_nights(make_night("2026-05-01"), gone)
    first, second = (trend.find_baseline_change(nights, at, "bing", "AP@10") for at in (0, 1))
    assert (first, second) == (TrendValue(0.0, (-0.015, 0.015), 100), None)
    gone["baseline"] = {**gone["baseline"], "id": "another"}
    nights = make_nights(make_night("2026-05-01"), gone)
    assert trend.find_baseline_change(nights, 0, "bing", "AP@10") is None


@check_each(
    ("given", "changed"),
    [
        ({}, ()),
        ({"assessor": "openai:other/graded"}, ("model",)),
        ({"served": ["other"]}, ("model",)),
        ({"assessor": "openai:other/graded", "served": ["other"]}, ("model",)),
        ({"served": []}, ()),
        ({"prompts": {"en": "graded@ffff"}}, ("prompt",)),
        ({"depth": 5}, ("scale",)),
        ({"repeats": 3}, ("scale",)),
        ({"scale": "binary", "relevant_from": 1, "assessor": "openai:fake/binary"}, ("scale",)),
        ({"assessor": "openai:fake"}, ()),  # of a night that ended before anybody was asked
        ({"baseline": None, "query_drift": None}, ()),  # it is compared with nothing
        ({"queries": 90}, ("queries",)),
        ({"queries": 0, "query_drift": None}, ()),
        ({"query_drift": {**make_night("2026-05-02")["query_drift"], "new": 4, "gone": 4}}, ("queries",)),
    ],
)
def test_what_changed_since_the_night_before(given: dict[str, Any], changed: tuple[str, ...]) -> None:
    nights = make_nights(make_night("2026-05-01"), make_night("2026-05-02", **given))
    assert trend_changes.find_changes(nights) == ((), changed)


@check_each(
    ("drift", "nights", "changes"),
    [
        ({"served": ["other"]}, [{}, {}], [("model",), ("assessor again",), ()]),
        ({}, [{}], [("assessor",), ("assessor again",)]),
        # No canary is judged on a night without a server, so its assessor is unknown.
        (
            {"served": ["other"]},
            [{"served": [], "judgments": None, "status": "incomplete"}, {}],
            [("model",), (), ("assessor again",)],
        ),
        ({"served": ["other"]}, [{"depth": 5}], [("model",), ("scale", "assessor again")]),
        ({"served": ["other"]}, [{"baseline": None, "query_drift": None}], [("model",), ("model",)]),
    ],
)
def test_a_night_after_drift_is_of_the_baselines_assessor_again(
    drift: dict[str, Any], nights: list[dict[str, Any]], changes: list[tuple[str, ...]]
) -> None:
    days = [{"status": "assessor drift", "judgments": None, **drift}, *nights]
    records = [make_night(f"2026-05-{day:02}", **given) for day, given in enumerate(days, start=2)]
    assert trend_changes.find_changes(make_nights(make_night("2026-05-01"), *records)) == ((), *changes)


@check_each(
    ("days", "breaks"),
    [
        ((2, 2), [1, 3]),
        ((2, 3), [1, 2, 3]),  # two assessors, of which neither is the baseline's
        ((None, 3), [1, 3]),  # nothing was judged on the first night of drift
        ((2, None), [1, 3]),
    ],
)
def test_nights_of_two_drifted_assessors_are_not_joined(
    days: tuple[int | None, ...], breaks: list[int]
) -> None:
    stores = [day and f"../verdicts.drifted-2026-05-0{day}.sqlite" for day in days]
    drift: dict[str, Any] = {"status": "assessor drift"}
    given = [{}, *({**drift, "quarantined_store": store} for store in stores), {}]
    nights = make_nights(*(make_night(f"2026-05-0{day}", **facts) for day, facts in enumerate(given, 1)))
    assert trend_changes.find_breaks(nights, trend_changes.find_changes(nights), "mean") == {*breaks}


def make_settings(depth: int, **addresses: str) -> dict[str, Any]:
    engines = {name: {"address": address, "table": {}} for name, address in addresses.items()}
    return {"engine_settings": {"depth": depth, "lang": None, "country": None, "engines": engines}}


@check_each(
    ("given", "changes", "breaks"),
    [
        # A new engine is no change of the others.
        ([make_settings(10, a="x"), make_settings(10, a="x", b="y")], [()], []),
        ([make_settings(10, a="x"), make_settings(5, a="x")], [("engine settings",)], [1]),
        ([make_settings(10, a="x"), {}, make_settings(10, a="z")], [(), ("engine settings",)], [2]),
        # Other queries break the line where too few are those of the baseline, and on the way back.
        ([{}, {"queries": 98}, {}], [("queries",)] * 2, []),
        ([{}, {"queries": 15, "status": "queries changed"}, {}], [("queries",)] * 2, [1, 2]),
        ([{}, *[{"queries": 15, "status": "queries changed"}] * 2], [("queries",), ()], [1]),
    ],
)
def test_nights_of_other_settings_or_queries_are_not_joined(
    given: list[dict[str, Any]], changes: list[tuple[str, ...]], breaks: list[int]
) -> None:
    nights = make_nights(*(make_night(f"2026-05-0{day}", **facts) for day, facts in enumerate(given, 1)))
    assert trend_changes.find_changes(nights) == ((), *changes)
    assert trend_changes.find_breaks(nights, trend_changes.find_changes(nights), "mean") == {*breaks}


def test_each_change_has_a_letter_of_its_own() -> None:
    letters = [letter for letter, _ in trend_changes.CHANGE_TEXTS.values()]
    assert len({*letters}) == len(letters)


def test_what_is_unknown_for_a_night_is_held_against_the_last_that_knew() -> None:
    down = make_night("2026-05-02", served=[], queries=0, query_drift=None)
    after = make_night("2026-05-03", served=["other"])
    assert trend_changes.find_changes(make_nights(make_night("2026-05-01"), down, after)) == (
        (),
        (),
        ("model",),
    )


def test_a_night_that_was_compared_with_itself_has_no_other_assessor() -> None:
    first, second, third = (make_night(f"2026-05-0{day}") for day in (1, 2, 3))
    itself = {**first["baseline"], "name": "2026-05-02", "id": "2026-05-02-ffff0000"}
    nights = make_nights(first, second | {"baseline": itself}, third | {"baseline": itself})
    assert len({*trend_changes.list_night_assessors(nights)}) == 1
    assert trend_changes.find_changes(nights) == ((), ("baseline",), ())


def test_a_new_baseline_is_no_change_of_the_queries() -> None:
    after = make_night("2026-05-02")
    after["baseline"] = {**after["baseline"], "id": "another"}
    after["query_drift"] |= {"new": 3, "gone": 1}
    assert trend_changes.find_changes(make_nights(make_night("2026-05-01"), after)) == ((), ("baseline",))


def test_the_first_night_with_a_baseline_is_marked_and_none_without_one() -> None:
    """The second and the last night have the same baseline, the others have none."""
    alone = {"baseline": None, "query_drift": None}
    given = [alone, {}, alone, {}]
    nights = [make_night(f"2026-05-0{day}", **facts) for day, facts in enumerate(given, start=1)]
    assert trend_changes.find_changes(make_nights(*nights)) == ((), ("baseline",), (), ())


def test_who_regressed() -> None:
    record = make_night("2026-05-01")
    record["regression_test"]["rows"] = [
        make_row("bing", "AP@10", 0.6, 0.55),
        make_row("baidu", "AP@10", 0.6, 0.6),
    ]
    assert make_nights(record)[0].regressed == ("bing",)


def test_the_month_reads(tmp_path: Path) -> None:
    result = trend.read_history(write_nights(tmp_path, make_month()))
    assert len(result.nights) == 29
    changed = {
        each.date.day: kinds
        for each, kinds in zip(result.nights, trend_changes.find_changes(result.nights), strict=True)
        if kinds
    }
    assert changed == {2: ("baseline",), 9: ("model",), 10: ("assessor again",), 25: ("baseline",)}


def test_a_name_that_stored_verdicts_bring_along_is_no_other_model() -> None:
    """The server changed its name on the second night, and back on the last; others use verdicts of both."""
    served = [["a"], ["b"], ["a", "b"], ["b"], ["a"]]
    nights = [make_night(f"2026-05-0{day}", served=names) for day, names in enumerate(served, start=1)]
    assert trend_changes.find_changes(make_nights(*nights)) == ((), ("model",), (), (), ("model",))


# What a strip shows: every value with its interval, and the same span as its neighbours


@given(st.lists(st.lists(values, max_size=5), min_size=1, max_size=4), st.booleans(), st.booleans())
def test_a_window_holds_all_of_its_values(strips: list[list[TrendValue]], alike: bool, zero: bool) -> None:
    frames = make_axes(strips, same_span=alike, include_zero=zero)
    for frame, strip in zip(frames, strips, strict=True):
        ends = [end for each in strip for end in each.ci95 or ()] + ([0.0] if zero else [])
        assert all(frame.low - 1e-9 <= end <= frame.high + 1e-9 for end in ends)
        assert all(0 <= frame.locate(tick) <= 1 for tick in frame.ticks)
    if alike:
        spans = [frame.high - frame.low for frame in frames]
        assert spans == pytest.approx([spans[0]] * len(spans))


def test_slopes_compare_when_spans_are_alike() -> None:
    flat, steep = make_axes(
        [
            [TrendValue(0.50, None, 9), TrendValue(0.51, None, 9)],
            [TrendValue(0.1, None, 9), TrendValue(0.3, None, 9)],
        ],
        same_span=True,
        include_zero=False,
    )
    assert flat.locate(0.51) - flat.locate(0.50) == pytest.approx(0.01 / 0.22)
    assert steep.locate(0.3) - steep.locate(0.1) == pytest.approx(0.2 / 0.22)


def test_an_axis_of_shares_ends_at_all_and_begins_at_none() -> None:
    (full,) = make_axes([[TrendValue(1.0, None, 9)]], same_span=False, include_zero=False)
    (empty,) = make_axes([[TrendValue(0.0, None, 9)]], same_span=False, include_zero=False)
    assert (full.high, empty.low) == (1.0, 0.0)


def test_noise_is_no_mountain() -> None:
    values = [TrendValue(0.5, None, 9), TrendValue(0.5001, None, 9)]
    (frame,) = make_axes([values], same_span=True, include_zero=False)
    assert frame.high - frame.low == pytest.approx(0.02)
    axis = make_axis([0.0, 1.0], 4)
    assert [(tick, axis.format_tick(tick)) for tick in axis.ticks] == [
        (0.0, "0.0"),
        (0.5, "0.5"),
        (1.0, "1.0"),
    ]
