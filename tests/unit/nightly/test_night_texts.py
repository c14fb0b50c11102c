"""The texts of nights in both languages, and the links of their page."""

from pathlib import PurePath, PurePosixPath, PureWindowsPath
from typing import Any

from judge.messages import Bilingual, build_text
from judge.nightly.night_texts import shorten_reasons, write_headline
from judge.nightly.record import NightRecord
from judge.nightly.trend_page import describe_shown_nights, make_link_prefix
from tests.support.cases import check_each
from tests.unit.nightly.records import make_night, make_regression, parse_record


def make_nights(*records: dict[str, Any]) -> tuple[NightRecord, ...]:
    return tuple(map(parse_record, records))


def make_fine_night(day: int) -> dict[str, Any]:
    return make_night(f"2026-05-{day:02}")


def make_unanswered_night(day: int) -> dict[str, Any]:
    return make_night(f"2026-05-{day:02}", status="incomplete", reasons=["the assessor did not answer"])


@check_each(
    ("records", "en", "zh"),
    [
        ([make_fine_night(1)], "2026-05-01: fine: no significant drop.", "2026-05-01：正常：没有显著下降。"),
        (
            [make_unanswered_night(1), make_fine_night(2), make_fine_night(3)],
            "2026-05-03: fine for 2 nights.",
            "2026-05-03：连续 2 晚正常。",
        ),
        (
            [make_regression(), make_unanswered_night(21), make_fine_night(22)],
            "2026-05-22: fine: no significant drop; last regression 2026-05-20: bing.",
            "2026-05-22：正常：没有显著下降；上次回归 2026-05-20：bing。",
        ),
        (
            [make_regression(), make_fine_night(21), make_fine_night(22), make_unanswered_night(23)],
            "2026-05-23: incomplete; last regression 2026-05-20: bing.",
            "2026-05-23：不完整；上次回归 2026-05-20：bing。",
        ),
        (
            [make_fine_night(19), make_regression()],
            "2026-05-20: regression of bing.",
            "2026-05-20：回归：bing。",
        ),
    ],
)
def test_the_headline_says_since_when_it_is_fine_and_when_there_was_an_alarm(
    records: list[dict[str, Any]], en: str, zh: str
) -> None:
    output = build_text(write_headline, make_nights(*records))
    assert tuple(text.replace("\u2068", "").replace("\u2069", "") for text in output) == (en, zh)


def test_a_reason_that_no_data_tell_is_the_stored_sentence() -> None:
    stored = ["bing: AP@10 fell", "bing: sDCG@10 fell", "baidu: broke"]
    *drops, broke = shorten_reasons(make_nights(make_regression() | {"reasons": stored})[0])
    assert [each.en for each in drops] == stored[:2]
    assert drops[1].zh == (
        "\u2068bing\u2069：sDCG@10 下降 0.022，从 0.610 到 0.588，按 100 条查询和两晚的合并池计算"
        "，p（Holm 校正）为 0.0008"
    )
    assert broke == Bilingual("baidu: broke", "baidu: broke")


def test_it_is_said_when_charts_leave_nights_out() -> None:
    nights = make_nights(*(make_fine_night(day) for day in range(1, 6)))
    assert describe_shown_nights(nights * 73) is None
    text = describe_shown_nights(nights * 74)
    assert text is not None
    assert text.en == "Charts show the last 366 of 370 nights, from 2026-05-05 on; the table has all."
    assert "自 2026-05-05 起" in text.zh


@check_each(
    ("folder", "page_folder", "prefix"),
    [
        (PurePosixPath("/runs/nights"), PurePosixPath("/runs/nights"), ""),
        (PurePosixPath("/runs/my nights"), PurePosixPath("/runs/pages"), "../my%20nights/"),
        (PureWindowsPath(r"D:\my nights"), PureWindowsPath(r"C:\pages"), "file:///D:/my%20nights/"),
    ],
)
def test_links_to_nights_begin_with_their_folder(
    folder: PurePath, page_folder: PurePath, prefix: str
) -> None:
    assert make_link_prefix(folder, page_folder) == prefix
