"""Tables of report.html in a real browser: they fit a screen, or one sees that they scroll."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge.report.result_tables import make_returns_table
from judge.runs.folder import RunFolder
from judge.runs.load import load_summary
from tests.support.browser import make_file_url, open_page
from tests.unit.report.pages import run_lexical, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Locator

ENGINES = ("searxng", "mine", "brave")
#: What a run of every default measure whose engines' answers were timed has to say.
MEANS = ["engine", "nDCG@10", "queries", "MAP@10", "P@5", "RR@10", "sDCG@10"]
RETURNED = ["engine", "judged", "answered", "unique", "ms median", "ms p95", "tokens"]
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
    browser: Browser, tmp_path: Path, locale: str
) -> None:
    """Every column is there: an engine failed once, was not in a row of another query, and repeats a page."""
    from playwright.sync_api import expect

    rows = list(ask(error="timeout"))
    engines = rows[1]["engines"]
    assert isinstance(engines, dict)
    del engines["mine"]
    engines["brave"] = {"results": []}
    page = {"snippet": "question number 2", "url": "https://one.example/"}
    rows[2]["engines"] = {engine: {"results": [page, page], "latency_ms": 12345} for engine in ENGINES}
    path = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(
        browser, make_file_url(path), locale=locale, viewport={"width": 1280, "height": 900}
    ) as result:
        for name, heads in (
            ("engines", MEANS),
            ("returns", [*RETURNED[:3], "empty", "errors", "no row", "duplicates", *RETURNED[3:]]),
        ):
            sheet = result.page.get_by_role("region").filter(has=result.page.locator(f"table.{name}"))
            assert measure_hidden(sheet) == 0
            if locale == "en-US":
                expect(sheet.locator("thead th")).to_have_text(heads, use_inner_text=True)
        if locale == "en-US":
            table = make_returns_table(load_summary(RunFolder(tmp_path / "run")))
            notes = " · ".join(note.en for note in table.list_notes("page"))
            expect(result.page.locator(".legend").first).to_have_text(notes, use_inner_text=True)


def test_a_column_that_says_something_of_one_engine_is_there(browser: Browser, tmp_path: Path) -> None:
    with open_page(browser, make_file_url(write_report(tmp_path, error="timeout")), locale="en-US") as result:
        heads = result.page.locator("table.returns thead th").all_inner_texts()
        assert heads == [*RETURNED[:3], "errors", *RETURNED[3:]]


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


def test_on_a_telephone_a_column_out_of_sight_leaves_no_blank_lines(browser: Browser, tmp_path: Path) -> None:
    """Only in the first of two segments, several pairs of engines are separated."""
    rows = [
        {
            "query": f"tea {n}",
            "engine": f"engine-{at}",
            "rank": 1,
            "snippet": f"tea {n}" if n % 5 >= at else f"other {at}",
            "kind": "few" if n >= 30 else "many",
        }
        for n in range(36)
        for at in (0, 3, 5)
    ]
    path = write_page(tmp_path, run_lexical(tmp_path / "run", rows))
    with open_page(
        browser, make_file_url(path), locale="en-US", viewport={"width": 390, "height": 900}
    ) as result:
        lines = result.page.locator("table.segments tbody tr")
        assert lines.locator("td:last-child .en").all_inner_texts() == [
            "none",
            "engine-0 > engine-3; engine-0 > engine-5; engine-3 > engine-5",
        ]
        short, long = lines.evaluate_all("rows => rows.map(row => row.getBoundingClientRect().height)")
        assert short == long


#: Eight words on one line each, a name of several words, and a word that is longer than a column.
NAMES = ("bing_cn_2026", "internal_hybrid_reranker_2026", "x" * 30, "必应 2026")
#: The lines of each name of a row: the texts of its pieces that stand at one height.
LINES = """(heads) => heads.map((head) => {
  const lines = new Map();
  const walker = document.createTreeWalker(head, NodeFilter.SHOW_TEXT);
  while (walker.nextNode()) {
    const text = walker.currentNode;
    for (let at = 0; at < text.length; at++) {
      const range = document.createRange();
      range.setStart(text, at); range.setEnd(text, at + 1);
      const top = Math.round(range.getBoundingClientRect().top);
      lines.set(top, (lines.get(top) ?? "") + text.data[at]);
    }
  }
  return [...lines.values()];
})"""


@pytest.fixture(scope="module")
def named_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("named")
    rows = [
        {
            "query_id": f"q{n}",
            "query": f"tea {n}",
            "engine": name,
            "rank": 1,
            "snippet": f"tea {n}" if n % 5 >= at else f"other {name}",
            "kind": "a",
        }
        for n in range(12)
        for at, name in enumerate(NAMES)
    ]
    return write_page(folder, run_lexical(folder / "run", rows))


@pytest.mark.parametrize("width", [1280, 390])
def test_no_name_in_a_table_breaks_within_a_word(browser: Browser, named_report: Path, width: int) -> None:
    allowed = {
        "bing_cn_2026": [["bing_cn_2026"]],
        "internal_hybrid_reranker_2026": [
            ["internal_hybrid_reranker_2026"],
            ["internal_hybrid_", "reranker_2026"],
            ["internal_", "hybrid_", "reranker_", "2026"],
            ["internal_", "hybrid_", "reranker_2026"],
        ],
        "x" * 30: [["x" * 10 + "…" + "x" * 9]],
        "必应 2026": [["必应 2026"], ["必应 ", "2026"]],
    }
    with open_page(
        browser, make_file_url(named_report), locale="en-US", viewport={"width": width, "height": 900}
    ) as result:
        page = result.page
        for details in page.locator("details").all():
            details.evaluate("(details) => { details.open = true; }")
        names = page.locator("table.engines tbody th bdi").evaluate_all(LINES)
        assert len(names) == 4
        for lines in names:
            assert any(lines in forms for forms in allowed.values()), lines
        long_word = page.locator("table.engines").get_by_title("x" * 30)
        assert long_word.inner_text() == "x" * 10 + "…" + "x" * 9
        # Pairs of engines, rows of charts, and the names over the scores and beside the results of a query.
        page.locator("button.open").first.click()
        others = (".pairs bdi", "figure tbody th bdi", ".column-heads bdi", ".engine h3 bdi", ".score bdi")
        for lines in page.locator(", ".join(others)).evaluate_all(LINES):
            for line in lines[:-1]:
                assert line.endswith(("_", " ", "-")), lines
