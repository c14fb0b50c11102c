"""The report of a night in a real browser: above the run stands how the night went, and where to read on."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from judge import finished_run
from judge.nightly import notifications, trend_page
from judge.nightly.night_texts import make_banner
from tests.support.browser import find_violations, make_file_url, open_page
from tests.unit.nightly import records
from tests.unit.report.pages import run_lexical

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DAY = "2026-05-02"
DROP = "bing: MAP@10 fell by 0.100, from 0.610 to 0.510, over 100 queries (p = 0.0008)"
Reported = Callable[[dict[str, Any] | None], Path]


@pytest.fixture(scope="module")
def make_report(tmp_path_factory: pytest.TempPathFactory) -> Reported:
    """Gives the report of a run, with this night's record beside it or none."""
    night = tmp_path_factory.mktemp("nights") / DAY
    rows = [{"query": "tea", "engine": engine, "snippet": "green tea"} for engine in records.ENGINES]
    run_lexical(night, rows)

    def write(record: dict[str, Any] | None) -> Path:
        (night / "night.json").unlink(missing_ok=True)
        if record:
            night_record = records.parse_record(record)
            banner = [{"en": sentence.en, "zh": sentence.zh} for sentence in make_banner(night_record)]
            records.write_nights(night.parent, [{**record, "banner": banner}])
            notifications.publish(night, night_record, {})
            trend_page.write_trend_page(night.parent)
        return finished_run.rewrite_report(night)

    return write


def make_alarm() -> dict[str, Any]:
    """The record of a night on which bing became worse by one of two measures."""
    record = records.make_night(DAY, records.ENGINES)
    record["regression_test"]["rows"][0] = records.make_row("bing", "AP@10", 0.61, 0.51)
    return record | {"status": "regression", "exit": 1, "reasons": [DROP]}


@pytest.mark.parametrize(("width", "scheme"), [(1280, "light"), (390, "dark")])
def test_it_begins_with_the_alarm_and_leads_to_the_summary_and_the_trend(
    browser: Browser, make_report: Reported, width: int, scheme: str
) -> None:
    from playwright.sync_api import expect

    path, size = make_report(make_alarm()), {"width": width, "height": 900}
    with open_page(
        browser, make_file_url(path), locale="en-US", viewport=size, color_scheme=scheme
    ) as result:
        top = result.page.locator("main > :first-child")
        expect(top).to_contain_text(f"{DAY}: regression of bing.")
        expect(top.locator("li").first).to_have_text(DROP, use_inner_text=True)
        expect(top.locator("li").last).to_contain_text("canaries: 60 pairs", use_inner_text=True)
        assert find_violations(result.page) == []
        assert result.page.evaluate("document.documentElement.scrollWidth") <= width
        result.page.get_by_role("button", name="中文").click()
        expect(top).to_contain_text(f"{DAY}：回归：bing。", use_inner_text=True)
        expect(top.locator("li").first).to_contain_text("MAP@10 下降 0.100", use_inner_text=True)
        assert (path.parent / str(top.get_by_role("link").first.get_attribute("href"))).is_file()
        assert (result.requests, result.console_errors) == ([], [])
        top.get_by_role("link", name="各晚趋势").click()
        expect(result.page).to_have_url(make_file_url(path.parent.parent / trend_page.PAGE_FILE))


def test_sentences_are_text(browser: Browser, make_report: Reported) -> None:
    from playwright.sync_api import expect

    hostile = [text for text in records.HOSTILE if "\ud800" not in text]
    path = make_report({**make_alarm(), "reasons": hostile, "regression_test": None})
    with open_page(browser, make_file_url(path), locale="en-US") as result:
        assert result.page.locator(".night li").count() == len(hostile) + 1  # the canaries
        assert result.page.locator(".night :not(p, ul, li, span, bdi, a)").count() == 0
        expect(result.page.locator(".night li").first).to_have_text(hostile[0])
        assert (result.requests, result.console_errors) == ([], [])


def test_a_fine_night_shows_the_comparison_and_a_run_alone_says_nothing(
    browser: Browser, make_report: Reported
) -> None:
    from playwright.sync_api import expect

    with open_page(browser, make_file_url(make_report(records.make_night(DAY))), locale="en-US") as result:
        expect(result.page.locator(".night:not(.attention) p").first).to_have_text(
            f"{DAY}: fine: no significant drop.", use_inner_text=True
        )
        expect(result.page.locator(".night li").nth(1)).to_have_text(
            "bing: MAP@10 (+0.000), sDCG@10 0.610 (+0.000)", use_inner_text=True
        )
    assert 'class="night' not in make_report(None).read_text(encoding="utf-8")
