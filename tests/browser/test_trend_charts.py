"""The charts of trend.html in a real browser: what lines join, what they cross, how much space they take."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge.nightly import trend_page
from tests.support.browser import make_file_url, open_page
from tests.unit.nightly.records import make_month, make_night, write_nights

if TYPE_CHECKING:
    from playwright.sync_api import Browser

DASHES = "line => getComputedStyle(line).strokeDasharray"
#: The words above strips that a line of a change runs through.
CROSSED = """() => {
  const box = (each) => each.getBoundingClientRect();
  const lines = [...document.querySelectorAll("svg.chart line.changed")].map(box);
  const crosses = (text) => lines.some((line) => line.left < text.right && text.left < line.right + 1
    && line.top < text.bottom && text.top < line.bottom);
  return [...document.querySelectorAll("svg.chart :is(.head, .number, .note, .tick)")]
    .filter((text) => box(text).width && crosses(box(text))).map((text) => text.textContent);
}"""


@pytest.fixture(scope="module")
def trend(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The page of a month in which everything happened."""
    return trend_page.write_trend_page(write_nights(tmp_path_factory.mktemp("nights"), make_month()))


@pytest.mark.parametrize(("width", "across"), [(1440, 2), (1280, 2), (390, 1)])
def test_charts_fill_the_page_and_no_line_crosses_words(
    browser: Browser, trend: Path, width: int, across: int
) -> None:
    with open_page(browser, make_file_url(trend), viewport={"width": width, "height": 900}) as result:
        assert result.page.evaluate(CROSSED) == []
        charts = [chart.bounding_box() for chart in result.page.locator("svg.chart").all()]
        wide = sum(box["width"] for box in charts[:across] if box)
        assert wide > 0.9 * width - 48


def test_what_the_lines_are_is_said_as_they_are_drawn(browser: Browser, trend: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, make_file_url(trend), locale="en-US") as result:
        first = result.page.locator("figcaption p").first
        expect(first).to_contain_text(
            "Dotted lines: M = another model, R = the baseline's assessor again,"
            " B = first night compared with a new baseline."
        )
        assert result.page.locator("svg.chart .changed").first.evaluate(DASHES) == "2px, 3px"


def test_nights_that_are_a_week_apart_are_joined(browser: Browser, tmp_path: Path) -> None:
    nights = [make_night(f"2026-05-{day:02}") for day in (1, 8, 15, 29)]
    with open_page(
        browser, make_file_url(trend_page.write_trend_page(write_nights(tmp_path, nights)))
    ) as result:
        assert result.page.locator("svg.chart").first.locator("path.trend").count() == 3
