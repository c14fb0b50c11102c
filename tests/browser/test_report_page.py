"""report.html in a real browser: the answer, finding and reading queries, by mouse, keyboard and link."""

from __future__ import annotations

import re
from collections.abc import Mapping
from itertools import combinations
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from judge.report.payload import PageLimits
from tests.support.browser import RecordedPage, find_violations, make_file_url, open_page, read_listed_queries
from tests.unit.report.pages import run_lexical, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

Entry = Mapping[str, Any]


# --- as it opens


@pytest.mark.parametrize(
    ("scheme", "locale"),
    [
        *(("light", "en-US"), ("dark", "zh-CN")),
        pytest.param("light", "zh-CN", marks=pytest.mark.slow),
        pytest.param("dark", "en-US", marks=pytest.mark.slow),
    ],
)
def test_the_demo_opens_quietly_and_axe_finds_nothing_serious(
    browser: Browser, demo: Path, scheme: str, locale: str
) -> None:
    from playwright.sync_api import expect

    with open_page(browser, f"{make_file_url(demo)}#q=en-03", color_scheme=scheme, locale=locale) as result:
        expect(result.page.locator("li.opened article").first).to_be_visible()
        assert find_violations(result.page) == []
        result.page.locator("li.opened article").nth(1).focus()
        result.page.keyboard.press("?")
        assert find_violations(result.page, "dialog[open]") == []
        chinese = locale == "zh-CN"
        assert (
            result.page.locator("h1")
            .inner_text()
            .startswith("按 nDCG@10" if chinese else "No engine is best")
        )
        assert (result.requests, result.console_errors) == ([], [])


def test_a_run_with_trouble_says_so_and_axe_finds_nothing_serious(recorded_page: RecordedPage) -> None:
    warnings = recorded_page.page.locator(".warnings").inner_text()
    # Less than --min-coverage: what is missing stands before the answer, and only there.
    first = recorded_page.page.locator("#answer > *").first.inner_text()
    assert first.startswith("4 of 192 judgments have no grade (coverage 97.9%): the reply")
    assert (
        "What to do: run the judge run or judge nightly command of this folder again to get the rest" in first
    )
    assert "have no grade" not in warnings
    assert "that seem to address the assessor" in warnings
    assert "judged again" in recorded_page.page.locator(".facts").inner_text()
    recorded_page.page.locator("button.open").nth(5).click()
    assert find_violations(recorded_page.page) == []


@pytest.mark.parametrize("locale", ["en-US", "zh-CN"])
def test_every_negative_number_has_a_minus_sign(browser: Browser, demo: Path, locale: str) -> None:
    with open_page(browser, make_file_url(demo), locale=locale) as result:
        for details in result.page.locator("details").all():
            details.evaluate("(details) => { details.open = true; }")
        text = result.page.locator("#answer, #charts").all_inner_texts()
        titles = result.page.locator("svg.chart title").all_text_contents()
    shown = "\n".join((*text, *titles))
    assert re.findall(r"(?<![\w.-])-\d", shown) == []
    assert shown.count("−0.0437") > 1


def test_without_javascript_the_answer_and_the_charts_are_there(browser: Browser, demo: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, make_file_url(demo), java_script_enabled=False, locale="zh-CN") as result:
        expect(result.page.locator("h1")).to_contain_text("No engine is best by nDCG@10")
        expect(result.page.locator("table.engines")).to_be_visible()
        expect(result.page.locator("svg.chart").first).to_be_visible()
        expect(result.page.locator("noscript")).to_be_visible()
        expect(result.page.locator(".switches")).to_be_hidden()
        assert result.page.locator(".zh:visible").count() == 0


def test_a_sample_says_what_it_is_and_what_to_do_for_the_rest(
    browser: Browser, folder: Path, tmp_path: Path
) -> None:
    from playwright.sync_api import expect

    path = write_page(tmp_path, folder, PageLimits(pairs=60))
    with open_page(browser, f"{make_file_url(path)}#q=q9", locale="en-US") as result:
        expect(result.page.locator(".notice")).to_contain_text("A sample: 10 of 16 queries (60 of 96 pairs)")
        count = result.page.locator(".count")
        if "q9" not in read_listed_queries(result.page):
            expect(count).to_contain_text("Query \u2068q9\u2069 is not on this page")


def test_a_link_to_a_query_that_is_not_there_says_so_in_sight(browser: Browser, report: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, f"{make_file_url(report)}#q=nosuch", locale="en-US") as result:
        count = result.page.locator(".count")
        expect(count).to_contain_text("Query \u2068nosuch\u2069 is not on this page")
        expect(count).to_be_in_viewport()
        result.page.evaluate("scrollTo(0, 0)")
        expect(count).not_to_be_in_viewport()
        result.page.evaluate("location.hash = '#q=other'")
        expect(count).to_contain_text("\u2068other\u2069")
        expect(count).to_be_in_viewport()


#: The visible texts of the means with their boxes.
TEXTS = """() => [...document.querySelectorAll("#chart-means :is(text, bdi)")].flatMap((text) => {
  const { left, right, top, bottom, width } = text.getBoundingClientRect();
  return width ? [{ text: text.lastChild.textContent, left, right, top, bottom }] : [];
})"""


@pytest.mark.parametrize("width", [390, 1280])
def test_texts_of_the_means_stand_apart_and_near_their_marks(
    browser: Browser, demo: Path, width: int
) -> None:
    with open_page(
        browser, make_file_url(demo), locale="en-US", viewport={"width": width, "height": 900}
    ) as result:
        boxes = result.page.evaluate(TEXTS)
        grid = result.page.locator("#chart-means .grid").first.bounding_box()
    assert len([box for box in boxes if box["text"] in ("MAP@10", "P@5", "RR@10", "sDCG@10")]) == 4
    for one, other in combinations(boxes, 2):
        if one["top"] < other["bottom"] and other["top"] < one["bottom"]:
            left, right = sorted((one, other), key=lambda box: float(box["left"]))
            assert right["left"] - left["right"] >= 8, (left["text"], right["text"])
    name = next(box for box in boxes if box["text"] == "lantern")
    assert grid is not None
    assert 5 < grid["x"] - name["right"] < 30


# --- reading


def test_a_link_opens_its_query_wherever_it_stands(browser: Browser, long_report: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, f"{make_file_url(long_report)}#q=q61", locale="en-US") as result:
        page = result.page
        expect(page.locator("li.opened button.open")).to_have_text("问题 61")
        expect(page.locator("li.opened button.open")).to_be_in_viewport()
        expect(page.locator("a.permalink")).to_have_attribute("href", "#q=q61")
        page.locator("button[data-more=earlier]").click()
        page.evaluate("location.hash = '#q=q2&lang=zh'")
        expect(page.locator("li.opened button.open")).to_have_text("question 2")
        expect(page.locator("h2").first).to_contain_text("注意事项")
        page.evaluate("location.hash = '#q=never'")
        expect(page.locator(".count")).to_contain_text("本页没有查询 \u2068never\u2069；")
        assert (result.requests, result.console_errors) == ([], [])


def test_a_query_with_empty_lists_only_can_be_scrolled_by_keyboard(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    engines = ("Ada", "Bob", "Cyd")
    rows: list[Entry] = [{"query_id": "q", "query": "a", "engine": each, "snippet": "a"} for each in engines]
    rows.append({"query_id": "empty", "query": "b", "engines": {each: [] for each in engines}})
    path = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(
        browser, f"{make_file_url(path)}#q=empty", viewport={"width": 390, "height": 800}
    ) as result:
        sides = result.page.get_by_role("region", name="the engines side by side")
        expect(sides).to_have_attribute("tabindex", "0")
        assert find_violations(result.page) == []


def test_a_page_that_many_engines_have_names_a_few_of_them(browser: Browser, tmp_path: Path) -> None:
    rows = [
        {"query_id": "q", "query": "words", "engine": f"e{place:02}", "rank": 1, "snippet": "words"}
        for place in range(12)
    ]
    path = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(browser, f"{make_file_url(path)}#q=q", locale="en-US") as result:
        links = result.page.get_by_role("article", name="e03, rank 1").locator(".duplicates")
        assert links.get_by_role("button").count() == 8
        assert links.inner_text().endswith("and 3 more")


def test_a_result_shows_its_page_its_grade_and_why(recorded_page: RecordedPage) -> None:
    page = recorded_page.page
    page.get_by_role("button", name="问题 3", exact=True).click()
    ada = page.get_by_role("article", name="Ada, rank 2")
    assert ada.locator(".chip").all_inner_texts()[:2] == ["1", "2"]
    assert ada.locator(".reason").all_inner_texts() == [
        "repeat 1 1 on topic only because of 1 。", "repeat 2 2 part of it because of 2 。",
    ]  # fmt: skip
    link = ada.get_by_role("link", name="www.site2.example")
    assert link.get_attribute("href") == "https://www.site2.example/3"
    assert link.get_attribute("rel") == "noopener noreferrer nofollow"
    first = page.get_by_role("article", name="Cyd, rank 1")
    assert first.locator(".chip").inner_text() == "3 full answer"
    page.get_by_role("button", name="question 4", exact=True).click()
    failed = page.get_by_role("article", name="Bob, rank 2")
    assert "failed: the reply" in failed.locator(".chip").first.inner_text()
    page.get_by_role("button", name="问题 5", exact=True).click()
    assert page.get_by_role("article", name="Ada, rank 2").locator(".flag.suspicious").count() > 0


def test_the_same_page_at_two_engines_is_linked(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    page.get_by_role("button", name="question 0", exact=True).click()
    ada, bob = (page.get_by_role("article", name=name) for name in ("Ada, rank 1", "Bob, rank 3"))
    assert "same at Bob 3" in re.sub(r"\s+", " ", ada.inner_text())
    bob.hover()
    expect(ada).to_have_class("duplicate")
    expect(page.locator("article.duplicate")).to_have_count(2)
    page.get_by_role("article", name="Cyd, rank 1").hover()
    expect(page.locator("article.duplicate")).to_have_count(0)
    ada.get_by_role("button", name="the same at Bob, rank 3").click()
    expect(bob).to_be_focused()
    expect(ada).to_have_class("duplicate")


def test_the_keyboard_goes_everywhere(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    press = page.keyboard.press
    opened_line = page.locator("li.opened button.open")
    press("j")
    expect(opened_line).to_have_text("question 0")
    press("j")
    expect(opened_line).to_have_text("问题 1")
    expect(page).to_have_url(re.compile("#q=q1$"))
    press("k")
    expect(opened_line).to_have_text("question 0")
    expect(opened_line).to_be_focused()
    press("ArrowDown")
    order = page.evaluate("HEADER.order.map((engine) => HEADER.engines[engine])")
    focused = "document.activeElement.getAttribute('aria-label')"
    for key, engine, rank in (
        ("ArrowDown", 0, 2),
        ("ArrowRight", 1, 2),
        ("ArrowUp", 1, 1),
        ("ArrowLeft", 0, 1),
        ("ArrowLeft", 0, 1),
    ):
        press(key)
        assert page.evaluate(focused) == f"{order[engine]}, rank {rank}"
    press("Escape")
    expect(page.locator("li.opened")).to_have_count(0)
    expect(page.get_by_role("button", name="question 0", exact=True)).to_be_focused()
    press("Enter")
    expect(opened_line).to_have_text("question 0")
    press("Escape")
    page.get_by_role("checkbox", name="judgment failed").click()
    shown = page.locator("li.query button.open").first.inner_text()
    press("j")
    expect(opened_line).to_have_text(shown)
    press("/")
    expect(page.get_by_role("searchbox")).to_be_focused()
    page.keyboard.type("jk/?")
    assert page.get_by_role("searchbox").input_value() == "jk/?"


def test_single_keys_can_be_switched_off(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    page.keyboard.press("?")
    dialog = page.get_by_role("dialog", name="Keys")
    expect(dialog).to_be_visible()
    dialog.get_by_role("checkbox").uncheck()
    page.keyboard.press("Escape")
    expect(dialog).to_be_hidden()
    page.keyboard.press("j")
    page.keyboard.press("?")
    expect(page.locator("li.opened")).to_have_count(0)
    expect(dialog).to_be_hidden()


# --- how it looks


def test_language_and_shade_switch_and_stay_readable(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    page.locator("button.open").first.click()
    light = page.evaluate("getComputedStyle(document.body).backgroundColor")
    page.get_by_role("button", name="Dark").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") != light
    page.get_by_role("button", name="中文").click()
    expect(page.locator("html")).to_have_attribute("lang", "zh-Hans")
    expect(page.locator(".count")).to_have_text("共 16 条查询")
    expect(page.locator("li.opened")).to_have_count(1)
    assert page.locator(".en:visible").count() == 0
    expect(page).to_have_url(re.compile("&lang=zh$"))
    assert find_violations(page) == []
    page.get_by_role("button", name="浅色").click()
    assert page.evaluate("getComputedStyle(document.body).backgroundColor") == light


def test_no_space_stands_between_chinese_and_a_chinese_name(recorded_page: RecordedPage) -> None:
    page = recorded_page.page
    page.get_by_role("button", name="中文").click()
    names = [["百度", "必应"], ["百度", "b"], ["a", "搜狗"]]
    texts = page.evaluate("(pairs) => pairs.map((names) => t('ahead', ...names))", names)
    assert texts == ["百度领先必应最多", "百度领先 b 最多", "a 领先搜狗最多"]


@pytest.mark.parametrize("width", [390, 320])
def test_nothing_scrolls_sideways_on_a_telephone(browser: Browser, report: Path, width: int) -> None:
    from playwright.sync_api import expect

    with open_page(
        browser, f"{make_file_url(report)}#q=q3", viewport={"width": width, "height": 800}
    ) as result:
        expect(result.page.locator("li.opened article").first).to_be_visible()
        assert result.page.evaluate("document.documentElement.scrollWidth") <= width


def test_it_prints_with_every_table_open_and_on_white(browser: Browser, demo: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, f"{make_file_url(demo)}#q=en-03", color_scheme="dark", locale="en-US") as result:
        page = result.page
        assert page.pdf().startswith(b"%PDF")
        page.emulate_media(media="print", color_scheme="dark")
        page.evaluate("dispatchEvent(new Event('beforeprint'))")
        assert page.locator("details:not([open])").count() == 0
        assert page.evaluate("getComputedStyle(document.body).backgroundColor") == "rgb(255, 255, 255)"
        expect(page.locator(".toolbar")).to_be_hidden()
        expect(page.locator("li.opened article").first).to_be_visible()
        page.evaluate("dispatchEvent(new Event('afterprint'))")
        assert page.locator("details:not([open])").count() > 3
        assert (result.requests, result.console_errors) == ([], [])
