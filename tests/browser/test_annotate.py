"""A person at the page, in a real browser: 20 pairs by keyboard, through a crash, to agreement."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest
from playwright.sync_api import expect

from tests.support.browser import find_violations, make_file_url, open_page
from tests.support.command_line import run_judge
from tests.support.factories import write_rows
from tests.support.server_thread import reserve_unused_address
from tests.unit.annotate.serving import LabelServer, judge_queries, serve_in_thread, start_serving

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page


@pytest.fixture(scope="module")
def run(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return judge_queries(tmp_path_factory.mktemp("annotate"), 5)


def wait_until_ready(page: Page, labelled: int) -> None:
    """Waits until this many pairs are labelled and the page takes the next key."""
    page.wait_for_selector(f'body[data-state="ready"] #bar[value="{labelled}"]', state="attached")


def read_grade(page: Page) -> str:
    """What the snippet on the page says of itself."""
    return page.inner_text("#snippet")[-1]


def label(page: Page, first: int, last: int) -> list[str]:
    """Labels by key what the snippets say, from `first` to before `last`; gives the snippets."""
    seen = []
    for number in range(first, last):
        wait_until_ready(page, number)
        seen.append(page.inner_text("#snippet"))
        page.keyboard.press(read_grade(page))
    wait_until_ready(page, last)
    return seen


def read_table(run: Path, who: str) -> list[dict[str, str]]:
    text = (run / "labels" / f"{who}.csv").read_text("utf-8-sig")
    return list(csv.DictReader(text.splitlines()))


def read_labels(run: Path, who: str) -> list[tuple[str, str]]:
    return [(row["grade"], row["comment"]) for row in read_table(run, who)]


def test_twenty_pairs_by_keyboard_through_a_kill_to_agreement(browser: Browser, run: Path) -> None:
    with (
        reserve_unused_address() as where,  # for both servers
        start_serving(run, "--who", "ann", "--port", where.rpartition(":")[2]) as server,
        open_page(browser, server.url, locale="en-GB") as it,
    ):
        seen = label(it.page, 0, 9)
        expect(it.page.locator("#saved")).to_have_text("saved")
        assert it.console_errors == []
        server.kill()
        # The tenth meets no server: it says so, and keeps the label.
        tenth = it.page.inner_text("#snippet")
        it.page.keyboard.press(read_grade(it.page))
        expect(it.page.locator("#alert")).to_contain_text("Not saved")
        expect(it.page.locator("#saved")).to_have_text("NOT SAVED")
        with start_serving(run, "--who", "ann", "--port", server.port) as again:
            # Every start has a token of its own: the kept label waits for the new address, in this tab.
            expect(it.page.locator("#trouble")).to_contain_text(
                "open the address that judge annotate printed"
            )
            it.page.goto(again.url)
            wait_until_ready(it.page, 10)
            expect(it.page.locator("#alert")).to_be_hidden()
            seen += [tenth, *label(it.page, 10, 13)]
    with start_serving(run, "--who", "ann") as server, open_page(browser, server.url, locale="en-GB") as it:
        assert server.greeting.endswith("13 of them are labelled")
        finish(it.page, seen)
        assert find_violations(it.page) == []
        assert it.console_errors == []
        text = it.page.inner_text("#agreement pre")
    check_agreement(run, text)


def finish(page: Page, seen: list[str]) -> None:
    """Goes on from 13 labels with an undo, a comment and a change of mind, to the end."""
    wait_until_ready(page, 13)
    assert page.inner_text("#snippet") not in seen
    page.keyboard.press("z")
    wait_until_ready(page, 12)
    assert page.inner_text("#snippet") == seen[12]
    page.keyboard.press("c")
    page.keyboard.type("why 3, not 0")
    page.keyboard.press("Escape")
    page.keyboard.press("u")
    wait_until_ready(page, 13)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#comment")).to_have_value("why 3, not 0")
    expect(page.locator(".gu")).to_have_attribute("aria-pressed", "true")
    expect(page.locator(".gu span")).to_have_text("not sure: no label, so judge agree leaves this pair out")
    wait_until_ready(page, 13)
    page.keyboard.press(read_grade(page))
    rest = label(page, 13, 20)
    assert len({*seen, *rest}) == 20
    expect(page.locator("#done-name")).to_have_text("Everything is labelled")
    page.keyboard.press("Backspace")
    wait_until_ready(page, 19)
    page.keyboard.press(read_grade(page))
    wait_until_ready(page, 20)
    assert page.locator("#agreement").is_hidden()
    page.keyboard.press("Enter")
    expect(page.locator("#agreement")).to_contain_text("20 pairs of 5 queries that both of you graded")
    expect(page.locator("#agreement")).to_contain_text("On relevant or not you agree on")
    # Landis & Koch's words as `judge agree` has them.
    strength = re.compile(r"the agreement is [\w ]+: kappa −?[01]\.\d\d")
    expect(page.locator("#agreement")).to_contain_text(strength)


def check_agreement(run: Path, output: str) -> None:
    """`judge agree` reads what was labelled: every snippet got the grade it says it has."""
    done = run_judge(*output.split()[1:], "--json")
    assert done.returncode == 0, done.stderr
    content = json.loads(done.stdout)
    assert (content["labelled_pairs"], content["wholly_labelled_queries"]) == (20, 5)
    shown = {
        snippet["snippet_id"]: snippet["snippet"][-1]
        for query in json.loads((run / "results.json").read_text("utf-8"))["queries"]
        for answer in query["engines"].values()
        for snippet in answer["snippets"]
    }
    assert {row["snippet_id"]: row["grade"] for row in read_table(run, "ann")} == shown
    text = (run / "labels" / "ann.csv").read_text("utf-8-sig")
    assert text.count('"why 3, not 0"') == 1


def test_yes_and_no_in_chinese_with_buttons_and_a_comment_that_is_changed(
    browser: Browser, tmp_path: Path
) -> None:
    run = judge_queries(tmp_path, 2, "--scale", "binary")
    with serve_in_thread(run, "小明") as server, open_page(browser, server.url, locale="zh-CN") as it:
        page = it.page
        wait_until_ready(page, 0)
        assert page.title() == "盲标"
        expect(page.locator("html")).to_have_attribute("lang", "zh-CN")
        page.keyboard.press("2")
        page.keyboard.press("y")
        wait_until_ready(page, 1)
        page.get_by_role("button", name="离题、没有帮助").click()
        wait_until_ready(page, 2)
        page.keyboard.press("ArrowLeft")
        # The page is ready before the key, too: wait for the pair that the key shows.
        expect(page.locator("#progress")).to_contain_text("第 2 / 4 条摘要")
        wait_until_ready(page, 2)
        # A comment that is being saved holds up the click that ended it, and no more.
        page.fill("#comment", "改判：标题就是答案")
        page.locator(".grade").first.click()
        wait_until_ready(page, 2)
        expect(page.locator("#progress")).to_contain_text("第 3 / 4 条摘要")
        page.get_by_role("button", name="现在导出 CSV").click()
        expect(page.locator("#exported")).to_contain_text("2 条标注已写入")
        page.click("#language")
        assert page.title() == "Blind labels"
        assert it.console_errors == []
    assert read_labels(run, "小明") == [("1", ""), ("1", "改判：标题就是答案")]


def test_a_click_counts_when_a_comment_is_saved_between_press_and_release(
    browser: Browser, tmp_path: Path
) -> None:
    run = judge_queries(tmp_path, 2, "--scale", "binary")
    with serve_in_thread(run, "ann") as server, open_page(browser, server.url, locale="en") as it:
        page = it.page
        label_yes_and_return(page)
        page.fill("#comment", "the title answers it")
        page.get_by_role("button", name="off topic").hover()
        # The press takes the focus from the comment; the page saves it and loads the pair again.
        with page.expect_response(lambda response: "/state?at=" in response.url):
            page.mouse.down()
        wait_until_ready(page, 1)
        page.mouse.up()
        expect(page.locator("#progress")).to_contain_text("snippet 2 of 4")
        wait_until_ready(page, 1)
        # Space must not press that button again, for the next pair.
        assert page.evaluate("document.activeElement.tagName") == "BODY"
        page.click("#export")
        expect(page.locator("#exported")).to_contain_text("1 label in")
        assert it.console_errors == []
    assert read_labels(run, "ann") == [("0", "the title answers it")]


def label_yes_and_return(page: Page) -> None:
    """Labels the first pair with yes and shows it again."""
    wait_until_ready(page, 0)
    page.keyboard.press("y")
    wait_until_ready(page, 1)
    page.keyboard.press("ArrowLeft")
    expect(page.locator("#note")).to_contain_text("a key changes it")
    wait_until_ready(page, 1)


def test_a_locked_page_takes_its_token_from_the_address_and_hides_it(browser: Browser, run: Path) -> None:
    with serve_in_thread(run, "locked", "open-sesame") as server:
        with open_page(browser, server.url) as it:
            label(it.page, 0, 1)
            expect(it.page).not_to_have_url(re.compile("open-sesame"))
            it.page.reload()
            wait_until_ready(it.page, 1)
        with open_page(browser, server.url.partition("#")[0]) as it:
            expect(it.page.locator("#trouble")).to_contain_text("token")
            assert it.page.locator("#labelling").is_hidden()


def test_two_tabs_on_one_pair_overwrite_nothing_unseen(browser: Browser, run: Path) -> None:
    with serve_in_thread(run, "tabs") as server:
        with open_page(browser, server.url) as one, open_page(browser, server.url) as two:
            for tab in (one, two):
                wait_until_ready(tab.page, 0)
            one.page.keyboard.press("0")
            wait_until_ready(one.page, 1)
            two.page.keyboard.press("3")
            expect(two.page.locator("#trouble")).to_contain_text("labelled in another tab")
            expect(two.page.locator("#retry")).to_be_hidden()
            assert server.ask("/state?at=0")[1]["decision"]["grade"] == 0
            two.page.click("#drop")
            wait_until_ready(two.page, 1)
            # Now the second tab shows the label of the first, and may change it.
            expect(two.page.locator("#grades [aria-pressed=true]")).to_have_count(1)
            two.page.keyboard.press("3")
            wait_until_ready(two.page, 1)
            one.page.keyboard.press("1")
            wait_until_ready(one.page, 2)
        _, state = server.ask("/state?at=0")
        assert state["decision"]["grade"] == 3


def test_another_person_s_server_does_not_get_a_label_that_was_kept(browser: Browser, run: Path) -> None:
    with (
        reserve_unused_address() as where,  # for both servers
        start_serving(run, "--who", "first", "--port", where.rpartition(":")[2]) as server,
        open_page(browser, server.url, locale="en") as it,
    ):
        wait_until_ready(it.page, 0)
        server.kill()
        it.page.keyboard.press("3")
        expect(it.page.locator("#alert")).to_be_visible()
        with start_serving(run, "--who", "second", "--port", server.port) as other:
            expect(it.page.locator("#trouble")).to_contain_text("open the address")
            it.page.goto(other.url)
            expect(it.page.locator("#trouble")).to_contain_text("second's")
            it.page.click("#drop")
            wait_until_ready(it.page, 0)
            assert other.ask("/state")[1]["labelled"] == 0


HOSTILE = [
    *("<img src=x onerror=alert(1)>", "</script><script>alert(1)</script>", "javascript:alert(1)"),
    *("\u202egnp.exe", "{{7*7}} ${7*7}", "<style>*{display:none}</style>", "&lt;b&gt;"),
    "'\"><svg/onload=alert(1)>",
]


def test_hostile_texts_are_texts(browser: Browser, tmp_path: Path) -> None:
    fixed = {"query_id": "<b>q", "query": "<b onclick=alert(1)>q</b>", "reference": "<i>r</i>"}
    rows = [
        {**fixed, "engine": f"<b {number}", "title": text, "snippet": f"{text} {number}", "date": text}
        for number, text in enumerate(HOSTILE)
    ]
    data, out = write_rows(tmp_path / "data.jsonl", rows), tmp_path / "runs" / "<script>"
    done = run_judge("run", data, "-m", "lexical", "--out", out)
    assert done.returncode == 0, done.stderr
    with serve_in_thread(out, "ann") as server, open_page(browser, server.url, locale="en") as it:
        elements = "document.querySelectorAll('main *').length + document.querySelectorAll('header *').length"
        counts = set()
        for number in range(len(HOSTILE)):
            wait_until_ready(it.page, number)
            counts.add(it.page.evaluate(elements))
            assert it.page.inner_text("#query") == "<b onclick=alert(1)>q</b>"
            assert it.page.inner_text("#facts dd") == "<i>r</i>"
            it.page.keyboard.press("0")
        wait_until_ready(it.page, len(HOSTILE))
        assert len(counts) == 1
        assert it.console_errors == []
        base = server.url.partition("#")[0]
        assert {address.split("?")[0] for address in it.requests} <= {f"{base}state", f"{base}label"}


@pytest.mark.parametrize(
    ("locale", "scheme", "width"),
    [
        *(("zh-CN", "light", 1440), ("zh-CN", "dark", 390), ("en-GB", "light", 390), ("en-GB", "dark", 1440)),
        pytest.param("zh-CN", "light", 390, marks=pytest.mark.slow),
        pytest.param("zh-CN", "dark", 1440, marks=pytest.mark.slow),
        pytest.param("en-GB", "light", 1440, marks=pytest.mark.slow),
        pytest.param("en-GB", "dark", 390, marks=pytest.mark.slow),
    ],
)
def test_anybody_can_use_it_on_any_screen(
    browser: Browser, label_server: LabelServer, locale: str, scheme: str, width: int
) -> None:
    size = {"width": width, "height": 844}
    with open_page(browser, label_server.url, viewport=size, color_scheme=scheme, locale=locale) as it:
        wait_until_ready(it.page, 0)
        it.page.click("#rules-name")
        assert find_violations(it.page) == []
        it.page.click("#keys")
        assert find_violations(it.page, "dialog[open]") == []
        assert it.page.evaluate("document.documentElement.scrollWidth") <= width
        # Whoever speaks to the machine turns single keys off.
        it.page.uncheck("#shortcuts")
        it.page.keyboard.press("Escape")
        it.page.keyboard.press("3")
        assert it.page.get_attribute("body", "data-state") == "ready"
        assert it.console_errors == []


def test_a_question_mark_lists_the_keys_and_nothing_is_labelled_behind_the_list(
    browser: Browser, label_server: LabelServer
) -> None:
    with open_page(browser, label_server.url, locale="en-GB") as it:
        wait_until_ready(it.page, 0)
        it.page.keyboard.press("?")
        keys = it.page.get_by_role("dialog", name="Keys")
        expect(keys).to_contain_text("look back and forward")
        it.page.keyboard.press("3")
        keys.get_by_role("button", name="Close").click()
        expect(keys).to_be_hidden()
        assert label_server.ask("/state")[1]["labelled"] == 0
        it.page.locator("#comment").press("?")
        expect(keys).to_be_hidden()
        expect(it.page.locator("#comment")).to_have_value("?")


def test_it_looks_as_the_report_does(browser: Browser, label_server: LabelServer, run: Path) -> None:
    def read_style(page: Page) -> list[str]:
        style = "(name) => getComputedStyle(document.documentElement).getPropertyValue(name)"
        colours = ("background", "text", "surface", "accent", *(f"grade-{grade}" for grade in range(4)))
        button = "getComputedStyle(document.getElementById('language'))"
        edges = [page.evaluate(f"{button}.{name}") for name in ("backgroundColor", "border", "borderRadius")]
        return [*(page.evaluate(style, f"--{colour}") for colour in colours), *edges]

    with open_page(browser, make_file_url(run / "report.html"), locale="en-GB") as it:
        light = read_style(it.page)
        it.page.get_by_role("button", name="Dark").click()
        dark = read_style(it.page)
    with open_page(browser, label_server.url, locale="en-GB") as it:
        wait_until_ready(it.page, 0)
        assert read_style(it.page) == light
        it.page.get_by_role("button", name="Dark").click()
        assert read_style(it.page) == dark != light
        it.page.reload()
        wait_until_ready(it.page, 0)
        it.page.get_by_role("button", name="Light").click()
        assert read_style(it.page) == light


@pytest.fixture(scope="module")
def label_server(run: Path) -> Iterator[LabelServer]:
    with serve_in_thread(run, "looker") as server:
        yield server
