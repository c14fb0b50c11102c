"""trend.html in a real browser: every night, in both languages, in the light and in the dark, on paper."""

from __future__ import annotations

import re
from collections.abc import Iterator
from importlib.resources import files
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge.errors import InputError
from judge.nightly import trend_page
from tests.browser.test_chart_looks import STICKS_OUT
from tests.support.browser import RecordedPage, find_violations, make_file_url, open_page
from tests.unit.nightly.records import (
    make_canaries,
    make_drift,
    make_month,
    make_night,
    make_regression,
    write_nights,
)

if TYPE_CHECKING:
    from playwright.sync_api import Browser

FINE = "2026-05-30: fine for 6 nights; last regression 2026-05-24: bing."
HOSTILE = '<img src=x onerror=alert(1)>"\u202e`'


@pytest.fixture(scope="module")
def trend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a month in which everything happened."""
    return trend_page.write_trend_page(write_nights(tmp_path_factory.mktemp("nights"), make_month()))


@pytest.fixture
def recorded_page(browser: Browser, trend: Path) -> Iterator[RecordedPage]:
    """The page in English; whatever a test does there, it asks nobody and never complains."""
    with open_page(
        browser, make_file_url(trend), locale="en-US", viewport={"width": 1440, "height": 900}
    ) as result:
        yield result
        assert result.requests == []
        assert result.console_errors == []


@pytest.mark.parametrize(
    ("width", "scheme", "locale"), [(1440, "light", "en-US"), (390, "dark", "zh-CN"), (320, "light", "zh-CN")]
)
def test_nothing_sticks_out_and_axe_finds_nothing_serious(
    browser: Browser, trend: Path, width: int, scheme: str, locale: str
) -> None:
    view = {"width": width, "height": 900}
    with open_page(
        browser, make_file_url(trend), viewport=view, color_scheme=scheme, locale=locale
    ) as result:
        assert result.page.evaluate(STICKS_OUT) == []
        assert result.page.evaluate("document.documentElement.scrollWidth") == width
        assert width < 390 or find_violations(result.page) == []
        assert result.page.locator(".en:visible" if locale == "zh-CN" else ".zh:visible").count() == 0
        assert (result.requests, result.console_errors) == ([], [])


def test_it_says_how_the_last_night_went_and_lists_all_of_them(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    expect(page.locator("h1")).to_have_text(FINE, use_inner_text=True)
    titles = page.locator("figcaption h3").all_inner_texts()
    assert titles == [
        "sDCG@10, night by night",
        "P@5, night by night",
        "MAP@10, change from the baseline",
        "The assessor: canaries",
    ]
    assert page.locator("table.nights tbody tr").count() == 29
    first = page.locator("table.nights tbody tr").first
    expect(first.get_by_role("link", name="2026-05-30")).to_have_attribute("href", "2026-05-30/report.html")
    drift = page.locator("table.nights tr", has_text="2026-05-09")
    expect(drift.locator("td.attention")).to_have_text("assessor drift", use_inner_text=True)
    expect(drift.locator("td.why")).to_contain_text("another model")


def test_charts_mark_alarms_changes_and_nights_that_are_missing(recorded_page: RecordedPage) -> None:
    sdcg, _, change, canaries = recorded_page.page.locator("svg.chart").all()
    # Bing's six nights, and the key.
    assert sdcg.locator(".alarm").count() == change.locator(".alarm").count() == 7
    assert canaries.locator(".alarm").count() == 3
    assert sdcg.locator(".letter").all_text_contents() == ["B", "M", "B"]
    # Of each engine: eight nights, the one with another assessor, the rest; searx broke in between.
    assert sdcg.locator(".trend").count() == 2 + 2 + 3
    assert sdcg.locator(".whisker").count() == 3
    pointed = sdcg.locator("g:has(> .alarm) title, g:has(.alarm) > title").first
    assert (pointed.text_content() or "").startswith("2026-05-19 bing 0.5")


def test_the_mark_of_drift_without_a_changed_canary_is_below_the_title(
    browser: Browser, tmp_path: Path
) -> None:
    """The server names another model, and each canary has its grade, which is the top of the axis."""
    nights = [make_night("2026-05-08"), make_drift() | {"canaries": make_canaries(60, drift=True)}]
    path = trend_page.write_trend_page(write_nights(tmp_path, nights))
    with open_page(browser, make_file_url(path), locale="en-US") as result:
        canaries = result.page.locator("svg.chart").last
        assert "not decided" in (canaries.text_content() or "")
        title = canaries.locator(".head").filter(visible=True).first.bounding_box()
        mark = canaries.locator("g > svg > .alarm").first.bounding_box()
        assert title is not None
        assert mark is not None
        assert title["y"] + title["height"] <= mark["y"] + 3  # the box of a text is higher than its letters


def test_the_numbers_of_a_chart_have_one_column_for_each_engine(recorded_page: RecordedPage) -> None:
    figure = recorded_page.page.locator("figure").first
    figure.locator("summary").click()
    assert figure.locator("thead th").all_inner_texts() == ["night", "baidu", "bing", "searx"]
    lines = figure.locator("tbody tr").first.locator("td").first.inner_text().split("\n")
    assert re.fullmatch(r"0\.\d+ 0\.\d+ … 0\.\d+ n = \d+", " ".join(lines))
    scrollable = figure.locator(".scrollable")
    assert scrollable.evaluate("each => each.scrollWidth <= each.clientWidth")


def test_what_was_paid_is_what_the_night_paid(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    table = recorded_page.page.locator("table.nights")
    expect(table.locator("thead th").last).to_have_text("paid, USD", use_inner_text=True)
    expect(table.locator("tbody tr").first.locator("td").last).to_have_text("0.0412", use_inner_text=True)


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_on_a_telephone_a_night_is_a_block_and_nothing_is_cut(
    browser: Browser, trend: Path, locale: str
) -> None:
    from playwright.sync_api import expect

    with open_page(
        browser, make_file_url(trend), viewport={"width": 390, "height": 900}, locale=locale
    ) as result:
        table = result.page.locator("table.nights")
        assert table.evaluate("each => each.parentElement.scrollWidth <= each.parentElement.clientWidth")
        drift = table.locator("tr", has_text="2026-05-09")
        expect(drift).to_contain_text("the server names another model: 'other', 'fake' in the baseline")
        label = "paid, USD" if locale == "en-US" else "当晚费用（美元）"
        expect(drift.get_by_text(label, exact=True)).to_be_visible()


def test_reasons_are_in_chinese_where_data_tell_them(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    bing = make_regression() | {"reasons": ["bing: AP@10 fell by 0.031", "bing: sDCG@10 fell by 0.022"]}
    first = make_night(
        "2026-05-01",
        status="no baseline",
        reasons=["there is no baseline yet"],
        regression_test=None,
        banner=[
            {"en": "2026-05-01: no baseline.", "zh": "2026-05-01：没有基线。"},
            {"en": "there is no baseline yet", "zh": "还没有基线"},
        ],
    )
    path = trend_page.write_trend_page(write_nights(tmp_path, [first, make_drift(), bing]))
    with open_page(browser, make_file_url(path), locale="zh-CN") as result:
        expect(result.page.locator(".warnings")).to_contain_text(
            "bing：MAP@10 下降 0.031，从 0.620 到 0.589，按 100 条查询"
        )
        unset = result.page.locator("table.nights tr", has_text="2026-05-01").locator("td.why")
        expect(unset).to_have_text("还没有基线", use_inner_text=True)
        # What is known as an English sentence alone is shown as it is stored.
        expect(result.page.locator("table.nights")).to_contain_text("29 of 60 canaries changed")
        expect(result.page.get_by_text("原因中的英文句子是 night.json 中的原文。")).to_be_visible()
    with open_page(browser, make_file_url(path), locale="en-US") as result:
        expect(result.page.locator(".warnings p:visible").first).to_have_text("bing: AP@10 fell by 0.031")


def test_a_night_that_was_begun_and_not_finished_is_listed(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    write_nights(tmp_path, [make_night("2026-05-01"), make_night("2026-05-03")])
    (tmp_path / "2026-05-02" / "canaries").mkdir(parents=True)
    path = trend_page.write_trend_page(tmp_path)
    texts = {"en-US": "is incomplete; to continue", "zh-CN": "未完成；如需继续"}
    for locale, words in texts.items():
        with open_page(browser, make_file_url(path), locale=locale) as result:
            notice = result.page.locator(".notice")
            expect(notice).to_contain_text(f"2026-05-02 {words}")
            expect(notice).to_contain_text("judge nightly FILE --date 2026-05-02")
            assert result.page.locator("table.nights tbody tr").count() == 2


def test_language_and_shade_switch(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.locator("h1")).to_have_text(
        "2026-05-30：连续 6 晚正常；上次回归 2026-05-24：bing。", use_inner_text=True
    )
    labels = page.locator("svg.chart").first.get_attribute("aria-labelledby")
    assert labels == "chart-trend-sDCG-10-title-zh"
    assert page.locator(f"#{labels}").text_content() == "逐晚的 sDCG@10"
    page.get_by_role("button", name="浅色").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_the_keyboard_reaches_links_switches_and_tables(recorded_page: RecordedPage) -> None:
    page = recorded_page.page
    seen = []
    for _ in range(14):
        page.keyboard.press("Tab")
        seen.append(page.evaluate("document.activeElement.tagName + ' ' + document.activeElement.className"))
    assert seen[:4] == ["A ", "A ", "BUTTON ", "BUTTON "]
    assert seen[4:8] == ["SUMMARY "] * 4
    assert seen[8] == "DIV scrollable"
    assert seen[9] == "A "


def test_it_prints_with_every_table_open_and_on_white(browser: Browser, trend: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, make_file_url(trend), color_scheme="dark", locale="en-US") as result:
        page = result.page
        assert page.pdf().startswith(b"%PDF")
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        expect(page.locator(".switches")).to_be_hidden()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details[open]").count() == 0


def test_without_javascript_everything_is_there_in_english(browser: Browser, trend: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, make_file_url(trend), java_script_enabled=False, locale="zh-CN") as result:
        expect(result.page.locator("h1")).to_have_text(FINE, use_inner_text=True)
        expect(result.page.locator("svg.chart").first).to_be_visible()
        expect(result.page.locator(".switches")).to_be_hidden()
        assert result.page.locator(".zh:visible").count() == 0


def test_names_and_reasons_from_outside_are_text(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    nights = [
        make_night(f"2026-05-0{day}", {HOSTILE: 0.5, "b" * 300: 0.6, "搜" * 80: 0.4}, reasons=[HOSTILE])
        for day in range(1, 4)
    ]
    path = trend_page.write_trend_page(write_nights(tmp_path, nights))
    assert "\u202e" not in path.read_text(encoding="utf-8")
    for width in (1440, 390):
        view = {"width": width, "height": 900}
        with open_page(browser, make_file_url(path), viewport=view, locale="en-US") as result:
            assert result.page.locator("img").count() == 0
            expect(result.page.locator(".warnings")).to_contain_text("<img src=x onerror=alert(1)>")
            assert result.page.evaluate(STICKS_OUT) == []
            assert result.page.evaluate("document.documentElement.scrollWidth") == width
            assert (result.requests, result.console_errors) == ([], [])


def test_a_year_of_many_engines_is_drawn_and_says_what_it_leaves_out(
    browser: Browser, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    means = {f"engine {at:02}": 0.3 + at / 50 for at in range(14)}
    nights = [
        make_night(
            f"{2025 + at // 12}-{at % 12 + 1:02}-{day:02}", means, assessor=f"openai:m{at // 3}/graded"
        )
        for at in range(15)
        for day in range(1, 29)
    ]
    path = trend_page.write_trend_page(write_nights(tmp_path, nights))
    assert path.stat().st_size < 4_000_000
    with open_page(
        browser, make_file_url(path), viewport={"width": 390, "height": 900}, locale="en-US"
    ) as result:
        chart = result.page.locator("svg.chart").first
        expect(chart).to_contain_text("The picture shows the first 12 of 14 rows; the table has more.")
        text = "Charts show the last 366 of 420 nights, from 2025-02-27 on; the table has all."
        expect(result.page.locator("#charts > p")).to_have_text(text, use_inner_text=True)
        assert chart.locator(".letter").count() == 4
        assert result.page.evaluate(STICKS_OUT) == []


@pytest.mark.parametrize("count", [1, 2])
def test_the_first_nights_make_a_page(browser: Browser, tmp_path: Path, count: int) -> None:
    from playwright.sync_api import expect

    nights = [
        make_night(
            f"2026-05-0{day}", status="no baseline", regression_test=None, baseline=None, query_drift=None
        )
        for day in range(1, count + 1)
    ]
    path = trend_page.write_trend_page(write_nights(tmp_path, nights))
    with open_page(browser, make_file_url(path), locale="en-US") as result:
        expect(result.page.locator("h1")).to_have_text(f"2026-05-0{count}: no baseline.", use_inner_text=True)
        assert result.page.locator("svg.chart").count() == 3
        assert result.page.evaluate(STICKS_OUT) == []
        assert result.console_errors == []


def test_a_regression_is_the_headline_and_a_damaged_night_is_named(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    write_nights(tmp_path, make_month()[:20])
    (tmp_path / "2026-05-03" / "night.json").write_text("{", encoding="utf-8")
    with open_page(browser, make_file_url(trend_page.write_trend_page(tmp_path)), locale="zh-CN") as result:
        expect(result.page.locator("h1")).to_have_text("2026-05-21：回归：bing。", use_inner_text=True)
        unfinished, damaged = result.page.locator(".notice").all()
        expect(unfinished).to_contain_text("2026-05-15 未完成", use_inner_text=True)
        expect(damaged).to_contain_text("2026-05-03")
        expect(damaged.locator("li")).to_contain_text("不是 JSON", use_inner_text=True)
        assert result.page.locator("table.nights tbody tr").count() == 19


def test_a_page_of_damaged_nights_says_so_and_one_needs_a_folder(tmp_path: Path) -> None:
    write_nights(tmp_path, [make_night("2026-05-01") | {"schema": 9}])
    text = trend_page.write_trend_page(tmp_path).read_text(encoding="utf-8")
    assert "No night can be read." in text
    assert "has schema version 9" in text
    with pytest.raises(InputError, match="there is no folder"):
        trend_page.write_trend_page(tmp_path, tmp_path / "no" / "trend.html")


def test_the_same_nights_give_the_same_bytes(trend: Path, tmp_path: Path) -> None:
    again = trend_page.write_trend_page(write_nights(tmp_path, make_month()[::-1]))
    assert again.read_bytes() == trend.read_bytes()


def test_every_class_that_is_drawn_with_has_a_look(trend: Path) -> None:
    """But for text in plain ink."""
    text = trend.read_text(encoding="utf-8")
    pictures = re.findall(r"<svg [^>]*class=\"chart\".*?</figure>", text, re.DOTALL)
    drawn = {
        kind
        for picture in pictures
        for names in re.findall(r'class="([^"]+)"', picture.split("<details>")[0])
        for kind in names.split()
    }
    css = "".join(
        (files(package) / "templates" / name).read_text(encoding="utf-8")
        for package, name in (("judge.report", "charts.css"), ("judge.nightly", "trend.css"))
    )
    styled = set(re.findall(r"\.([a-z][\w-]*)", css))
    assert len(pictures) == 4
    assert drawn - styled <= {"en", "zh", "number", "chart"}
