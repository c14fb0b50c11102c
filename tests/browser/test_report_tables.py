"""Tables of report.html in a real browser: they fit a screen, or one sees that they scroll."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import make_file_url, open_page
from tests.unit.report.pages import run_lexical, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

ENGINES = ("searxng", "mine", "brave")
#: What a run of every default measure whose engines' answers were timed has to say.
FULL = [
    *("engine", "nDCG@10", "MAP@10", "P@5", "RR@10", "sDCG@10"),
    *("queries", "answered", "judged", "unique", "ms median", "ms p95", "tokens"),
]
SCROLLED = "(sheet) => { sheet.scrollLeft = 10_000; return sheet.scrollLeft; }"


def ask(**first: object) -> Iterator[dict[str, object]]:
    """Twelve queries and how long every answer took; `first` is the first answer of all."""
    for number in range(12):
        answers: dict[str, object] = {
            engine: {
                "results": [{"snippet": f"question number {number} {engine} {rank}"} for rank in range(1, 4)],
                "latency_ms": 1312 + 40 * number,
            }
            for engine in ENGINES
        }
        if first and not number:
            answers[ENGINES[0]] = first
        yield {"query_id": f"q{number}", "query": f"question number {number}", "engines": answers}


def write_report(folder: Path, **first: object) -> Path:
    """The report of a run over these rows."""
    return write_page(folder, run_lexical(folder / "run", ask(**first)))


@pytest.fixture(scope="module")
def timed_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return write_report(tmp_path_factory.mktemp("timed"))


def measure_hidden(sheet: Locator) -> int:
    """How many pixels of a table are beyond its edge."""
    beyond: int = sheet.evaluate("(sheet) => sheet.scrollWidth - sheet.clientWidth")
    return beyond


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_at_1280_pixels_everything_about_an_engine_is_in_sight(
    browser: Browser, timed_report: Path, locale: str
) -> None:
    from playwright.sync_api import expect

    with open_page(
        browser, make_file_url(timed_report), locale=locale, viewport={"width": 1280, "height": 900}
    ) as result:
        sheet = result.page.get_by_role("region").filter(has=result.page.locator("table.engines"))
        assert measure_hidden(sheet) == 0
        if locale == "en-US":
            expect(sheet.locator("thead th")).to_have_text(FULL, use_inner_text=True)


def test_a_column_that_says_something_of_one_engine_is_there(browser: Browser, tmp_path: Path) -> None:
    with open_page(browser, make_file_url(write_report(tmp_path, error="timeout")), locale="en-US") as result:
        heads = result.page.locator("table.engines thead th").all_inner_texts()
        assert heads == [*FULL[:8], "errors", *FULL[8:]]


def test_on_a_telephone_names_stay_and_an_edge_shows_that_there_is_more(
    browser: Browser, timed_report: Path
) -> None:
    with open_page(browser, make_file_url(timed_report), viewport={"width": 390, "height": 800}) as result:
        sheet = result.page.get_by_role("region").filter(has=result.page.locator("table.engines"))
        name = sheet.get_by_role("rowheader").first
        before = name.bounding_box()
        assert before is not None
        assert before["width"] < 390 / 2.5
        assert measure_hidden(sheet) > 0
        # At its end the cover, which goes with the content, lies over the shade, which stays at the edge.
        assert sheet.evaluate("(sheet) => getComputedStyle(sheet).backgroundAttachment") == "local, scroll"
        assert sheet.evaluate(SCROLLED) > 0
        assert name.bounding_box() == before


def test_at_1100_pixels_pairs_of_long_names_are_in_sight(browser: Browser, tmp_path: Path) -> None:
    names = [f"a-search-engine-with-a-long-name-and-version-2026-11-{n}" for n in (1, 2)]
    rows = [
        {"query": f"tea {n}", "engine": name, "rank": rank, "snippet": text}
        for n in range(20)
        for at, name in enumerate(names)
        for rank, text in enumerate((f"tea {n}", "other")[:: 1 if (n + at) % 2 else -1], start=1)
    ]
    path = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(browser, make_file_url(path), viewport={"width": 1100, "height": 900}) as result:
        sheet = result.page.get_by_role("region").filter(has=result.page.locator("table.pairs")).first
        assert "a test needs 42 or more queries" in sheet.inner_text()
        assert measure_hidden(sheet) == 0
