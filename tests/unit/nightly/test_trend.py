"""judge trend: a line an engine, alarms under the night they are of, and the same as JSON."""

import io
import json
import re
from datetime import date, timedelta
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console
from typer import Typer
from typer.testing import CliRunner

from judge.cli.nightly_commands import trend as command
from judge.cli.render.tables import print_parts
from judge.cli.render.trend_table import draw_sparkline, iter_trend_parts
from judge.cli.terminal import use_locale_language
from judge.errors import InputError
from judge.messages import CHINESE, ENGLISH, Translator
from judge.nightly import trend, trend_page
from judge.nightly.trend import Trend, TrendValue, make_trend
from judge.report.charts.svg import make_axis
from tests.support.command_line import run_judge as run_command
from tests.unit.nightly.records import (
    MEASURES,
    make_canaries,
    make_month,
    make_night,
    make_regression,
    make_row,
    write_nights,
)

_LEFT_OUT = (
    "first, last, min and max of an engine leave out nights that are incomplete or lack its answers,"
    " and nights with other queries, engine settings or assessors than the baseline"
)


def render_trend(result: Trend, t: Translator = ENGLISH) -> list[str]:
    screen = Console(file=io.StringIO(), width=200, highlight=False)
    with use_locale_language({"LANG": t.language}):
        print_parts(iter_trend_parts(result), screen)
    assert isinstance(screen.file, io.StringIO)
    return screen.file.getvalue().splitlines()


def find_cell(lines: list[str], head: str, column: str) -> str:
    """What stands in a line under the head of a column, as wide as the month with its bars."""
    start = lines[1].index(column)
    return next(line for line in lines if line.startswith(head))[start : start + 31]


def test_a_sparkline_has_a_bar_a_night_and_a_blank_where_there_is_no_value() -> None:
    assert draw_sparkline([0.0, 1.0, None, 0.5, -3.0, 9.0], make_axis([0.0, 1.0])) == "▁█ ▅▁█"


def test_signs_stand_under_the_nights_they_are_of(tmp_path: Path) -> None:
    lines = render_trend(make_trend(trend.read_history(write_nights(tmp_path, make_month()))))
    assert lines[0] == (
        "29 nights, 2026-05-01 to 2026-05-30: sDCG@10, which does not depend on the pool, so nights can be"
        " compared; for others: --measure NAME"
    )
    status, changed = (find_cell(lines, head, "night by night") for head in ("status", "changed"))
    assert status == "-·······│~│····?···!!!!!!······"
    assert [at for at, sign in enumerate(changed) if sign == "^"] == [1, 9, 11, 25]
    assert find_cell(lines, "searx", "night by night")[15] == " "
    assert find_cell(lines, "canaries", "night by night")[9] == "▅"
    for head in ("bing", "searx", "status", "changed", "canaries"):
        cell = find_cell(lines, head, "night by night")
        assert [at for at, sign in enumerate(cell) if sign == "│"] == [8, 10]
    assert "│ the values before and after it are not comparable" in lines
    assert "2026-05-09  ~  assessor drift; the server names another model" in "\n".join(lines)
    assert "2026-05-19  !  regression of bing" in lines


def test_the_last_alarm_is_printed_however_long_ago_it_was(tmp_path: Path) -> None:
    first = date.fromisoformat(make_regression()["date"])
    quiet = [make_night((first + timedelta(days)).isoformat()) for days in range(1, 71)]
    result = make_trend(trend.read_history(write_nights(tmp_path, [make_regression(), *quiet])))
    assert f"{quiet[-1]['date']}: fine for 70 nights; last regression {first}: bing." in render_trend(result)
    assert any(line.endswith(f"上次回归 {first}：bing。") for line in render_trend(result, CHINESE))


def test_what_depends_on_the_pool_is_shown_as_the_change_from_the_baseline(tmp_path: Path) -> None:
    result = make_trend(trend.read_history(write_nights(tmp_path, make_month())), measure="AP@10")
    assert result.kind == "change"
    lines = render_trend(result)
    assert lines[0].endswith("MAP@10, change from the baseline on one pool")
    assert find_cell(lines, "bing", "night by night")[0] == " "


def test_first_last_least_most_and_the_way_to_the_baseline(tmp_path: Path) -> None:
    nights = [
        make_night(f"2026-05-0{day}", {"bing": mean}) for day, mean in ((1, 0.61), (2, 0.66), (3, 0.58))
    ]
    result = make_trend(trend.read_history(write_nights(tmp_path, nights)), engine="bing")
    row = result.engines["bing"]
    assert [row.first, row.last, row.min, row.max] == [0.61, 0.58, 0.58, 0.66]
    assert row.to_baseline == TrendValue(-0.03, (-0.045, -0.015), 100)
    drawn, line = [line for line in render_trend(result) if line.startswith("bing")]
    assert drawn.split() == ["bing", "▄█▁"]
    assert line.split()[1:5] == ["0.610", "0.580", "0.580", "0.660"]
    assert line.endswith("-0.030 (-0.045 to -0.015)")


def test_the_change_of_an_engine_that_stayed_the_same_has_no_interval(tmp_path: Path) -> None:
    night = make_night("2026-05-01", {"bing": 0.61})
    for row in night["regression_test"]["rows"]:
        row |= {"change": 0.0, "low": -1.0, "high": 1.0}
    result = make_trend(trend.read_history(write_nights(tmp_path, [night])), engine="bing")
    assert result.engines["bing"].to_baseline == TrendValue(0.0, None, 100)
    _, line = [line for line in render_trend(result) if line.startswith("bing")]
    assert line.endswith(" +0.000")


def test_the_line_of_a_baseline_ends_on_the_night_that_becomes_the_next_one(tmp_path: Path) -> None:
    nights = [make_night(f"2026-05-0{day}", {"bing": 0.6}) for day in range(1, 7)]
    for night in nights[4:]:
        night["baseline"] |= {"name": "2026-05-04", "id": "2026-05-04-ffff0000"}
        for row in night["regression_test"]["rows"]:
            row["baseline"] = 0.5
    lines = list_baseline_lines(write_nights(tmp_path, nights))
    # Nights are 200 units apart; the fourth one, at 600, becomes the baseline of the fifth and the sixth.
    (old, new) = lines[:2]
    assert (old[0][0], old[-1][0]) == (0, 600)
    assert (new[0][0], new[-1][0]) == (600, 1000)
    assert len({y for _, y in old}) == len({y for _, y in new}) == 1
    assert old[0][1] < new[0][1]  # 0.6 is above 0.5


def test_the_line_of_a_baseline_goes_on_where_a_record_names_more_models(tmp_path: Path) -> None:
    """The id names the baseline: a record of another version may know other things about it."""
    nights = [make_night(f"2026-05-0{day}", {"bing": 0.6}) for day in range(1, 7)]
    for night in nights[3:]:
        night["baseline"] |= {"served": ["fake", "fake-2"]}
    lines = list_baseline_lines(write_nights(tmp_path, nights))
    assert [(line[0][0], line[-1][0]) for line in lines] == [(0, 1000)]


def list_baseline_lines(nights: Path) -> list[list[tuple[float, ...]]]:
    """Return the corners of the lines of baselines on the page, chart by chart."""
    page = trend_page.write_trend_page(nights).read_text(encoding="utf-8")
    return [
        [tuple(map(float, point.split())) for point in re.split("[ML]", path)[1:]]
        for path in re.findall(r'<path d="([^"]*)" class="base"', page)
    ]


def test_the_line_of_a_baseline_runs_over_nights_of_another_assessor(tmp_path: Path) -> None:
    nights = [make_night(f"2026-05-0{day}", {"bing": 0.6}) for day in range(1, 7)]
    for at in (2, 4):
        nights[at] |= {"status": "assessor drift", "exit": 3, "regression_test": None}
    lines = list_baseline_lines(write_nights(tmp_path, nights))
    # Nights are 200 units apart; the fourth one stands alone between two nights of drift.
    assert [(line[0][0], line[-1][0]) for line in lines] == [(0, 1000)]
    # A night alone, before another baseline, has a short line.
    for night in nights[4:]:
        night["baseline"] |= {"name": "best", "id": "best-ffff0000"}
    lines = list_baseline_lines(write_nights(tmp_path, nights))
    assert [(line[0][0], line[-1][0]) for line in lines] == [(0, 600), (985, 1000)]


def test_ends_are_without_nights_of_another_assessor(tmp_path: Path) -> None:
    strict = make_night("2026-05-02", {"bing": 0.2}, status="assessor drift", exit=3)
    nights = [make_night("2026-05-01", {"bing": 0.61}), strict, make_night("2026-05-03", {"bing": 0.58})]
    result = make_trend(trend.read_history(write_nights(tmp_path, nights)))
    row = result.engines["bing"]
    assert [row.first, row.last, row.min, row.max] == [0.61, 0.58, 0.58, 0.61]
    assert [value and value.value for value in row.values] == [0.61, 0.2, 0.58]
    assert render_trend(result)[-2:] == [
        "2026-05-02  ~  assessor drift of bing",
        "2026-05-03  ·  the baseline's assessor again",
    ]
    assert _LEFT_OUT in render_trend(result)


def test_the_change_from_the_baseline_is_of_the_night_of_the_last_value(tmp_path: Path) -> None:
    """The last night is incomplete, so its value and its change are left out."""
    nights = [
        make_night("2026-05-01", {"bing": 0.61}),
        make_night("2026-05-02", {"bing": 0.58}),
        make_night("2026-05-03", {"bing": 0.61}, status="incomplete", exit=3),
    ]
    result = make_trend(trend.read_history(write_nights(tmp_path, nights)))
    row = result.engines["bing"]
    assert (row.last, row.to_baseline) == (0.58, TrendValue(-0.03, (-0.045, -0.015), 100))
    assert "to baseline: the change from the baseline on the night of the last value" in render_trend(result)


def test_a_fine_night_with_a_drop_to_look_at_is_among_the_events(tmp_path: Path) -> None:
    night = make_night("2026-05-02", {"alpha": 0.5})
    night["regression_test"]["rows"][0] |= {"change": -0.172, "low": -0.3, "high": -0.05, "p_holm": 0.012}
    folder = write_nights(tmp_path, [make_night("2026-05-01", {"alpha": 0.5}), night])
    result = make_trend(trend.read_history(folder))
    look = (
        "Look at alpha: MAP@10 -0.172, p (Holm) 0.0120; an alarm needs p below 0.01, the option [nightly]"
        " alpha"
    )
    assert f"2026-05-02  ·  {look}" in render_trend(result)
    assert [len(each.nonsignificant_drops) for each in result.nights] == [0, 1]
    page = trend_page.write_trend_page(folder).read_text(encoding="utf-8")
    # Under the headline, and beside the night in the table.
    shown = look.replace("alpha:", "<bdi>alpha</bdi>:").replace("-0.172", "\N{MINUS SIGN}0.172")
    assert page.count(f'<p><span class="en">{shown}</span>') == 2


def test_the_letters_of_the_last_night_end_within_the_chart(tmp_path: Path) -> None:
    """Two letters take 7% of the row on a narrow screen; the chart ends at 100% + 0.02 / 0.84 of the row."""
    nights = [make_night("2026-05-01"), make_night("2026-05-02", served=["other"], depth=5)]
    page = trend_page.write_trend_page(write_nights(tmp_path, nights)).read_text(encoding="utf-8")
    places = re.findall(r'<text class="letter" x="([0-9.]+)%"[^>]*>SM<', page)
    assert places
    assert {float(place) for place in places} == {98.88}


def test_an_interval_between_points_without_one_is_drawn(tmp_path: Path) -> None:
    """On the other nights the engine is unchanged, so there is no interval."""
    nights = [make_night(f"2026-05-0{day}", {"bing": 0.61}) for day in range(1, 4)]
    for night in nights:
        for row in night["regression_test"]["rows"]:
            row |= {"change": 0.0, "low": -1.0, "high": 1.0}
    nights[1]["regression_test"]["rows"][0] |= {"change": -0.17, "low": -0.3, "high": -0.05}
    page = trend_page.write_trend_page(write_nights(tmp_path, nights)).read_text(encoding="utf-8")
    assert page.count('class="whisker"') == 1
    assert " A point has no interval where fewer than 6 queries changed, or all by the same." in page


def test_no_line_joins_nights_of_other_queries(tmp_path: Path) -> None:
    nights = [make_night(f"2026-05-0{day}", {"bing": 0.61}) for day in range(1, 6)]
    nights[2] |= {"queries": 15, "status": "queries changed", "exit": 3}
    page = trend_page.write_trend_page(write_nights(tmp_path, nights)).read_text(encoding="utf-8")
    first_chart = page[: page.index("</figure>")]
    # Nights are 250 units apart.
    lines = re.findall(r'<path d="M(\d+) [^L]*L(\d+) [^L"]*" class="trend"', first_chart)
    assert lines == [("0", "250"), ("750", "1000")]
    assert "Q = other queries than the night before" in first_chart


def test_no_line_joins_nights_with_a_gap_between_them(tmp_path: Path) -> None:
    """Four weeks are a gap among nights a day apart; two are none among nights a week apart."""
    days = ("2026-05-01", "2026-05-02", "2026-05-03", "2026-05-31", "2026-06-01")
    nights = write_nights(tmp_path / "daily", [make_night(day, {"bing": 0.61}) for day in days])
    assert list_trend_lines(nights) == [(0, 64.52), (967.74, 1000)]  # a day is 1000 / 31 units
    # The baseline is one level, known for all of them.
    assert (list_baseline_lines(nights)[0][0][0], list_baseline_lines(nights)[0][-1][0]) == (0, 1000)
    weekly = ("2026-05-01", "2026-05-08", "2026-05-15", "2026-05-29")
    nights = write_nights(tmp_path / "weekly", [make_night(day, {"bing": 0.61}) for day in weekly])
    assert list_trend_lines(nights) == [(0, 1000)]


def test_no_line_joins_shares_of_canaries_with_grades_of_two_baselines(tmp_path: Path) -> None:
    nights = [make_night(f"2026-05-0{day}", canaries=make_canaries(60 - day)) for day in range(1, 6)]
    for night in nights[3:]:
        night["baseline"] |= {"name": "2026-05-03", "id": "2026-05-03-ffff0000"}
    share, mean_grade = [(0, 500), (750, 1000)], [(0, 1000)]  # nights are 250 units apart
    assert list_trend_lines(write_nights(tmp_path, nights), chart=-1) == share + mean_grade


def list_trend_lines(nights: Path, chart: int = 0) -> list[tuple[float, float]]:
    """Return where the lines of a chart begin and end."""
    page = trend_page.write_trend_page(nights).read_text(encoding="utf-8")
    figure = re.findall("<figure.*?</figure>", page, re.DOTALL)[chart]
    paths = re.findall(r'<path d="M([^"]*)" class="trend"', figure)
    corners = [[float(point.split()[0]) for point in path.split("L")] for path in paths]
    return [(line[0], line[-1]) for line in corners]


def test_ends_are_without_nights_that_cannot_be_compared(tmp_path: Path) -> None:
    nights = [
        make_night("2026-05-01", {"bing": 0.61}),
        make_night("2026-05-02", {"bing": 0.9}, status="incomplete", exit=3),
        make_night("2026-05-03", {"bing": 0.1}, status="queries changed", exit=3),
        make_night("2026-05-04", {"bing": 0.3}, status="engine settings changed", exit=3),
        make_night("2026-05-05", {"bing": 0.58}),
    ]
    row = make_trend(trend.read_history(write_nights(tmp_path, nights))).engines["bing"]
    assert [row.first, row.last, row.min, row.max] == [0.61, 0.58, 0.58, 0.61]


def test_ends_are_of_the_new_assessor_once_its_drift_is_accepted(tmp_path: Path) -> None:
    """Night 3 becomes the baseline, so nights 4 and 5 are graded by the assessor of night 3."""
    drift = make_night("2026-05-03", {"bing": 0.2}, status="assessor drift", exit=3)
    accepted = {**drift["baseline"], "name": "2026-05-03", "id": "2026-05-03-ffff0000"}
    nights = [
        make_night("2026-05-01", {"bing": 0.61}, status="no baseline", baseline=None),
        make_night("2026-05-02", {"bing": 0.58}),
        drift,
        make_night("2026-05-04", {"bing": 0.22}, baseline=accepted),
        make_night("2026-05-05", {"bing": 0.21}, baseline=accepted),
    ]
    result = make_trend(trend.read_history(write_nights(tmp_path, nights)))
    row = result.engines["bing"]
    assert [row.first, row.last, row.min, row.max] == [0.2, 0.21, 0.2, 0.22]
    assert [night.changed for night in result.nights] == [
        (),
        ("baseline",),
        ("assessor",),
        ("baseline",),
        (),
    ]
    lines = render_trend(result)
    assert _LEFT_OUT in lines
    assert any(line.startswith("2026-05-03  ~  assessor drift") for line in lines)


def make_drifted_night(day: str, value: float) -> dict[str, Any]:
    return make_night(day, {"bing": value}, status="assessor drift", exit=3)


def summarise(tmp_path: Path, *nights: dict[str, Any]) -> tuple[tuple[float | None, ...], list[str]]:
    """Return the ends of the trend, and the days on which the assessor changed."""
    result = make_trend(trend.read_history(write_nights(tmp_path, [*nights])))
    row = result.engines["bing"]
    days = [
        night.date.isoformat()
        for night in result.nights
        if not {"assessor", "assessor again"}.isdisjoint(night.changed)
    ]
    return (row.first, row.last, row.min, row.max), days


def test_a_second_drift_from_one_baseline_is_of_another_assessor_than_the_accepted_one(
    tmp_path: Path,
) -> None:
    accepted = make_drifted_night("2026-05-03", 0.2)
    baseline = {**accepted["baseline"], "name": "2026-05-03", "id": "2026-05-03-ffff0000"}
    ends, days = summarise(
        tmp_path,
        make_night("2026-05-01", {"bing": 0.6}, status="no baseline", baseline=None),
        make_drifted_night("2026-05-02", 0.9),
        accepted,
        make_night("2026-05-04", {"bing": 0.22}, baseline=baseline),
        make_night("2026-05-05", {"bing": 0.21}, status="no baseline", baseline=None),
    )
    assert (ends, days) == ((0.2, 0.21, 0.2, 0.22), ["2026-05-02", "2026-05-03"])


def test_a_baseline_whose_night_is_missing_is_of_another_assessor(tmp_path: Path) -> None:
    accepted = make_drifted_night("2026-05-03", 0.2)
    baseline = {**accepted["baseline"], "name": "2026-05-03", "id": "2026-05-03-ffff0000"}
    ends, _ = summarise(
        tmp_path,
        make_night("2026-05-01", {"bing": 0.6}, status="no baseline", baseline=None),
        make_night("2026-05-04", {"bing": 0.22}, baseline=baseline),
        make_night("2026-05-05", {"bing": 0.21}, baseline=baseline),
    )
    assert ends == (0.22, 0.21, 0.21, 0.22)


def test_a_baseline_that_is_no_night_is_of_the_assessor_of_the_night_before(tmp_path: Path) -> None:
    drifted = make_drifted_night("2026-05-03", 0.2)
    plain, other = ({**drifted["baseline"], "name": "best", "id": f"best-{each}"} for each in ("f0", "f1"))
    nights = [
        make_night("2026-05-01", {"bing": 0.6}, status="no baseline", baseline=None),
        make_night("2026-05-02", {"bing": 0.61}, baseline=plain),
        {**drifted, "baseline": plain},
        make_night("2026-05-04", {"bing": 0.62}, baseline=plain),
    ]
    ends, days = summarise(tmp_path, *nights)
    assert (ends, days) == ((0.6, 0.62, 0.6, 0.62), ["2026-05-03", "2026-05-04"])
    accepted = make_night("2026-05-04", {"bing": 0.21}, baseline=other)
    ends, days = summarise(tmp_path, *nights[:3], accepted)
    assert (ends, days) == ((0.2, 0.21, 0.2, 0.21), ["2026-05-03"])


def test_only_the_baseline_had_another_assessor(tmp_path: Path) -> None:
    """Night 3 is compared with a run of another model, which is the baseline then; night 4 is not."""
    first = make_night("2026-05-01", {"bing": 0.6}, status="no baseline", baseline=None)
    other = {**make_night("2026-05-02")["baseline"], "name": "toy", "id": "toy-f0", "assessor": "toy/graded"}
    ends, days = summarise(
        tmp_path,
        first,
        make_night("2026-05-02", {"bing": 0.61}),
        {**make_drifted_night("2026-05-03", 0.62), "baseline": other},
        make_night("2026-05-04", {"bing": 0.63}),
    )
    assert (ends, days) == ((0.6, 0.63, 0.6, 0.63), [])
    # Nights of the model of that run are of another assessor than those before.
    ends, days = summarise(
        tmp_path,
        first,
        make_night("2026-05-02", {"bing": 0.61}),
        make_night("2026-05-03", {"bing": 0.4}, baseline=other, assessor="toy/graded"),
        make_night("2026-05-04", {"bing": 0.5}, baseline=other, assessor="toy/graded"),
    )
    assert ends == (0.4, 0.5, 0.4, 0.5)


def test_the_assessor_of_a_night_after_drift_with_which_nothing_is_compared_is_unknown(
    tmp_path: Path,
) -> None:
    alone = [
        make_night(day, {"bing": value}, status="no baseline", baseline=None)
        for day, value in (("2026-05-03", 0.62), ("2026-05-04", 0.63))
    ]
    ends, days = summarise(
        tmp_path,
        make_night("2026-05-01", {"bing": 0.61}),
        make_drifted_night("2026-05-02", 0.2),
        *alone,
    )
    assert (ends, days) == ((0.62, 0.63, 0.62, 0.63), ["2026-05-02", "2026-05-03"])


def test_the_name_of_a_measure_is_read_in_upper_and_lower_case(tmp_path: Path) -> None:
    history = trend.read_history(write_nights(tmp_path, make_month()))
    assert make_trend(history, measure="sdcg@10").measure == "sDCG@10"
    assert make_trend(history, measure="map@10").measure == "AP@10"


def test_what_the_nights_paid_is_told_night_by_night_and_in_all(tmp_path: Path) -> None:
    unknown = make_night("2026-05-02")
    unknown["cost_total"]["usd"] = None
    result = make_trend(
        trend.read_history(
            write_nights(tmp_path, [make_night("2026-05-01"), unknown, make_night("2026-05-03")])
        )
    )
    assert [each.cost_total_usd for each in result.nights] == [0.0412, None, 0.0412]
    assert "paid: $0.0824 in 2 nights; the cost of 1 night is unknown" in render_trend(result)


def test_nights_without_a_price_have_no_sum(tmp_path: Path) -> None:
    free, unknown = make_night("2026-05-01"), make_night("2026-05-02")
    free["cost_total"]["usd"], unknown["cost_total"]["usd"] = 0.0, None
    lines = render_trend(make_trend(trend.read_history(write_nights(tmp_path, [free, unknown]))))
    assert "cost unknown (no price)" in lines
    assert not any(line.startswith("paid") for line in lines)


def test_nothing_is_told_of_the_cost_where_nothing_was_billed(tmp_path: Path) -> None:
    free = make_night("2026-05-01")
    free["cost_total"]["usd"] = 0.0
    lines = render_trend(make_trend(trend.read_history(write_nights(tmp_path, [free]))))
    assert not any(line.startswith(("paid", "cost")) for line in lines)


def test_a_night_that_was_begun_and_not_finished_is_listed(tmp_path: Path) -> None:
    write_nights(tmp_path, [make_night("2026-05-01")])
    (tmp_path / "2026-05-02" / "canaries").mkdir(parents=True)
    result = make_trend(trend.read_history(tmp_path))
    assert [*result.resume_commands] == ["2026-05-02"]
    text = "2026-05-02 is incomplete; to continue this night: judge nightly FILE --date 2026-05-02"
    assert render_trend(result)[-1] == text
    # A night records the file of its options before it judges; one that only collected is of the same file.
    config = tmp_path / "2026-05-02" / "canaries" / "config.json"
    config.write_text('{"options_file": "my nights.toml"}', encoding="utf-8")
    text = text.replace("FILE", "'my nights.toml'")
    assert render_trend(make_trend(trend.read_history(tmp_path)))[-1] == text
    for day in ("2026-05-02", "2026-05-01"):
        config = config.rename(tmp_path / day / "config.json")
        assert render_trend(make_trend(trend.read_history(tmp_path)))[-1] == text
    write_nights(tmp_path, [make_night("2026-05-03")])
    (tmp_path / "2026-05-03" / "config.json").write_text('{"options_file": "new.toml"}', encoding="utf-8")
    config.rename(tmp_path / "2026-05-02" / "config.json")
    assert render_trend(make_trend(trend.read_history(tmp_path)))[-1] == text


def test_an_engine_that_lacks_answers_is_named_beside_a_regression(tmp_path: Path) -> None:
    night = make_regression() | {"finished": False, "complete": False}
    night["reasons"] = ["bing fell by 0.03", "bing fell by 0.02", "searx: failed; to request again: judge X"]
    folder = write_nights(tmp_path, [night, make_night("2026-05-21")])
    lines = render_trend(make_trend(trend.read_history(folder)))
    assert "2026-05-20  !  regression of bing; searx: failed" in lines
    advice = "2026-05-20 is incomplete; to continue this night: "
    assert lines[-1] == f"{advice}judge nightly FILE --date 2026-05-20"
    # The record of a night names its file; those of other nights can differ.
    (folder / "2026-05-21" / "config.json").write_text('{"options_file": "new.toml"}', encoding="utf-8")
    night["options_file"] = "my nights.toml"
    lines = render_trend(make_trend(trend.read_history(write_nights(tmp_path, [night]))))
    assert lines[-1].endswith(": judge nightly 'my nights.toml' --date 2026-05-20")


def test_an_engine_that_lacks_answers_is_not_decided_on_that_night_alone(tmp_path: Path) -> None:
    first = make_night("2026-05-01", {"bing": 0.61, "searx": 0.48})
    night = make_regression() | {"finished": False, "complete": False}
    # Searx lacks answers to queries that are hard.
    night["engines"]["searx"] = make_night("2026-05-02", {"searx": 0.9})["engines"]["searx"]
    night["regression_test"]["rows"] += [
        make_row("searx", measure, 0.9, 0.9, outcome="incomplete", p_holm=None) for measure in MEASURES
    ]
    folder = write_nights(tmp_path, [first, night])
    for measure in ("sDCG@10", "P@5"):  # one is tested, the other is not
        result = make_trend(trend.read_history(folder), measure=measure)
        values = [result.engines[engine].last for engine in ("bing", "searx")]
        assert values == ([0.61, 0.48] if measure == "sDCG@10" else [0.305, 0.24])
        assert result.left_out
    page = trend_page.write_trend_page(folder).read_text(encoding="utf-8")
    for engine, is_hollow in (("bing", False), ("searx", True)):
        dot = re.search(rf"<title>2026-05-20 {engine} .*?</title>(<circle[^>]*>)", page)
        assert dot
        assert ("hollow" in dot[1]) == is_hollow


def test_the_reason_of_the_last_night_alone_has_its_advice(tmp_path: Path) -> None:
    def render(*reasons: str) -> list[str]:
        nights = [
            make_night(f"2026-05-0{day}", status="assessor drift", exit=3, reasons=[reason], canaries=None)
            | {"regression_test": None}
            for day, reason in enumerate(reasons, 1)
        ]
        return render_trend(make_trend(trend.read_history(write_nights(tmp_path, nights))))

    advice = f"do nothing; to accept it: judge baseline set {'x' * 400}"
    lines = render(f"model a; {advice}", f"model b; {advice}")
    assert "2026-05-01  ~  assessor drift; model a" in lines
    assert f"2026-05-02  ~  assessor drift; model b; {advice}" in " ".join(lines)
    page = trend_page.write_trend_page(tmp_path).read_text(encoding="utf-8")
    assert "<bdi>model a</bdi>" in page
    assert page.count(advice) == page.count(f"<bdi>model b; {advice}</bdi>") == 2  # headline and table
    assert "2026-05-01  ~  assessor drift; a （失败：500）" in render("a （失败：500）；请稍后", "b")
    assert f"{'x' * 1_000}…" in "".join(render("x" * 2_000))


def test_canaries_without_any_grade_have_no_chart(tmp_path: Path) -> None:
    canaries = {**make_canaries(60), "judged": 0, "mean_grade": None, "compared": 0, "unchanged": None}
    folder = write_nights(tmp_path, [make_night("2026-05-01", canaries=canaries)])
    page = trend_page.write_trend_page(folder).read_text(encoding="utf-8")
    assert "2026-05-01" in page
    assert "trend-canaries" not in page


def test_the_share_of_unchanged_canaries_is_the_same_number_in_the_chart_and_in_the_table(
    tmp_path: Path,
) -> None:
    folder = write_nights(tmp_path, [make_night("2026-05-01", canaries=make_canaries(60))])
    page = trend_page.write_trend_page(folder).read_text(encoding="utf-8")
    share = f"{make_canaries(60)['unchanged']:.3f}"
    assert f">{share}</text>" in page
    assert page.count(f"{share}</td>") == 2


def test_a_long_history_shows_its_last_nights(tmp_path: Path) -> None:
    nights = [make_night(f"2026-{month:02}-{day:02}") for month in (1, 3, 5) for day in range(1, 29)]
    lines = render_trend(make_trend(trend.read_history(write_nights(tmp_path, nights))))
    assert lines[1] == "lines show the last 60 nights"
    assert [line.count("·") for line in lines if line.startswith("status ")] == [60]


def test_reasons_are_in_the_language_of_the_terminal_and_english_in_json(tmp_path: Path) -> None:
    reason = {"en": "the server names another model", "zh": "服务器报告的是另一个模型"}
    drift = make_night("2026-05-02", status="assessor drift", exit=3, reasons=[reason["en"]])
    drift["banner"] = [{"en": "assessor drift", "zh": "评测员漂移"}, reason]
    folder = write_nights(tmp_path, [make_night("2026-05-01"), drift])
    result = make_trend(trend.read_history(folder), t=CHINESE)
    assert "2026-05-02  ~  评测员漂移；服务器报告的是另一个模型" in render_trend(result, CHINESE)
    printed = run_command("trend", folder, "--json", "--ui-lang", "zh")
    assert json.loads(printed.stdout)["nights"][1]["reasons"] == [reason["en"]]


def test_names_from_outside_are_shown_and_never_obeyed(tmp_path: Path) -> None:
    record = make_night(
        "2026-05-01", {"a\x1b[31m\u202ered": 0.5}, status="incomplete", reasons=["x\x1b]0;y\x07"]
    )
    text = "\n".join(render_trend(make_trend(trend.read_history(write_nights(tmp_path, [record])))))
    assert "\x1b" not in text
    assert "\u202e" not in text
    assert "a\\x1b[31m\\x202ered" in text


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        ({"engine": "bong"}, "engine 'bong'; there is baidu, bing and searx$"),
        (
            {"measure": "nDCG@10"},
            r"measure 'nDCG@10'; there is sDCG@10, P@5 and AP@10; for the trend of another measure, add it to"
            r" measures in \[nightly\]$",
        ),
    ],
)
def test_an_unknown_name_is_refused_with_the_known_ones(
    tmp_path: Path, options: dict[str, str], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        make_trend(
            trend.read_history(write_nights(tmp_path, make_month())),
            options.get("engine"),
            options.get("measure"),
        )


def test_a_history_of_damaged_nights_is_refused(tmp_path: Path) -> None:
    write_nights(tmp_path, [make_night("2026-05-01") | {"schema": 9}])
    with pytest.raises(InputError, match="no night can be read"):
        make_trend(trend.read_history(tmp_path))


def test_the_command_prints_json_and_writes_the_page(tmp_path: Path) -> None:
    away, *nights = make_month()
    write_nights(tmp_path / "nights", [{**away, "coverage": None}, *nights])
    app = Typer()
    app.command()(command)
    page = tmp_path / "out" / "mine.html"
    page.parent.mkdir()
    arguments = [str(tmp_path / "nights"), "--json", "--engine", "bing", "--html", str(page)]
    message = CliRunner().invoke(app, arguments)
    assert message.exit_code == 0, message.output
    content = json.loads(message.stdout)
    assert list(content["engines"]) == ["bing"]
    assert len(content["nights"]) == len(content["engines"]["bing"]["values"]) == 29
    assert content["engines"]["bing"]["values"][0] == {
        "value": 0.61, "ci95": [pytest.approx(0.58), pytest.approx(0.64)], "n": 100,
    }  # fmt: skip
    refused = CliRunner().invoke(app, [*arguments[:-1], str(page.parent)]).exception
    assert str(refused) == f"{page.parent}: is a folder; name a file"
    text = page.read_text(encoding="utf-8")
    assert 'href="../nights/2026-05-30/report.html"' in text
    assert "2026-05-01/report.html" not in text  # it was never judged, so there is none
