"""Freshness: dates as engines write them, and the ages of lists, with numbers worked by hand."""

from __future__ import annotations

from datetime import date
from pathlib import Path

import pytest

import judge
from judge.dimensions.freshness import measure_ages, parse_day
from tests.support.cases import check_each

TODAY = date(2026, 11, 20)


@check_each(
    ("text", "day"),
    [
        ("2026-11-03", date(2026, 11, 3)),
        ("2026-11-03T10:00:00Z", date(2026, 11, 3)),
        ("2026/1/3", date(2026, 1, 3)),
        ("2026年11月3日", date(2026, 11, 3)),
        ("Nov 3, 2026", date(2026, 11, 3)),
        ("3 November 2026", date(2026, 11, 3)),
        ("Tue, 03 Nov 2026 10:00:00 GMT", date(2026, 11, 3)),
        ("17 days ago", date(2026, 11, 3)),
        ("5 hours ago", TODAY),
        ("2 周前", date(2026, 11, 6)),
        ("9999 years ago", None),
        ("2026-13-40", None),
        ("1 Jan 2020 00:00:00 +99999999999999", None),
        ("last spring", None),
        ("", None),
    ],
)
def test_dates_are_read_as_engines_write_them(text: str, day: date | None) -> None:
    assert parse_day(text, TODAY) == day


def test_relative_dates_need_a_day() -> None:
    assert parse_day("3 days ago") is None


def test_the_values_of_a_list() -> None:
    texts = ["2026-11-19", "2026-10-01", "2020-01-01", "sometime", "2026-12-24"]
    # Ages 1, 50, 2515 and, for a date after the day, 0.
    assert measure_ages(texts, TODAY, 5) == {
        "median age in days@5": 25.5,
        "older than 7 days@5": 0.5,
        "older than 30 days@5": 0.5,
        "older than 365 days@5": 0.25,
        "undated@5": pytest.approx(0.2),
    }
    assert measure_ages([], TODAY, 5)["undated@5"] is None
    assert measure_ages(["", ""], None, 5) == {
        **dict.fromkeys(measure_ages([], TODAY, 5)),
        "undated@5": 1.0,
    }


def test_only_marked_queries_count_each_on_its_day(tmp_path: Path) -> None:
    rows = [
        {
            "query_id": query,
            "query": query,
            "engine": "e",
            "snippet": f"text {day}",
            "date": day,
            "fresh": fresh,
        }
        for query, day, fresh in (
            ("one", "2026-11-10", "yes"),
            ("two", "2026-11-10", "2026-11-12"),
            ("three", "2026-11-20", "no"),
            ("four", "2026-11-14", "1"),
        )
    ]
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), freshness=True)
    dimension = result.summary.dimensions["freshness"]
    mean = dimension.find_mean("e", "median age in days@10")
    assert (mean.mean, mean.queries) == ((4 + 2 + 0) / 3, 3)
    assert dimension.remarks == (
        "ages are on 2026-11-14, the newest date of a result, unless 'fresh' names a day",
    )
    again = judge.score(tmp_path / "run", dimensions=["freshness"])
    assert again.summary.dimensions["freshness"] == dimension


def test_without_the_column_every_query_counts(tmp_path: Path) -> None:
    rows = [{"query": "a", "snippet": "text", "date": "2026-11-10"}, {"query": "a", "snippet": "other"}]
    dimension = judge.run(rows, "lexical", out=str(tmp_path / "run"), freshness=True).summary.dimensions[
        "freshness"
    ]
    assert dimension.find_mean("engine", "undated@10").mean == 0.5
    assert dimension.remarks[0] == "no query has the column 'fresh', so every query counts"


@pytest.mark.parametrize(("last", "is_remarked"), [("2026-12-20", False), ("2099-12-31", True)])
def test_a_date_far_from_all_others_is_remarked(tmp_path: Path, last: str, is_remarked: bool) -> None:
    rows = [
        {"query": "q", "engine": "e", "snippet": f"text {day}", "date": day, "fresh": "yes"}
        for day in ("2026-11-18", "2026-11-20", last)
    ]
    result = judge.run(rows, "lexical", out=str(tmp_path / "run"), freshness=True)
    remarks = [str(remark) for remark in result.summary.dimensions["freshness"].remarks]
    assert remarks[0].startswith(f"ages are on {last}, the newest date of a result")
    expected = f"{last} may be no date of publication, because the next date of a result is 2026-11-20; "
    assert [remark.startswith(expected) for remark in remarks[1:]] == [True] * is_remarked
