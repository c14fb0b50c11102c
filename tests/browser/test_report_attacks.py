"""Hostile texts in report.html: they become text and nothing else, wherever they stand."""

from __future__ import annotations

import json
import re
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any
from unicodedata import east_asian_width

import pytest

from judge.characters import HAN
from judge.report.display_text import escape_hidden, fit_on_line
from tests.support.browser import make_file_url, open_page
from tests.unit.report.pages import read_object, render_results, run_lexical

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CASES = Path(__file__).parents[1] / "cases" / "attacks.jsonl"
MARKUP = (
    "<script>document.title='hacked'</script>",
    "</script><script>document.title='hacked'</script><b>bold</b>",
    "<img src=x onerror=\"document.title='hacked'\">",
    "'\"><svg onload=document.title='hacked'><a href=//evil.example>",
    "<!-- comment --><style>*{display:none}</style><!--<script>",
    "]]></title></textarea></template><iframe src=https://evil.example></iframe>",
    "&lt;b&gt; &#60;i&#62; &amp;",
    "{{ 7 * 7 }} {% raw %} ${7*7} `x`",
    "<base href=https://evil.example><meta http-equiv=refresh content='0;url=https://evil.example'>",
    "line\u2028separator\u2029\x85\r\n\ttab",
    "\u202etxet desrever\u202c \u2066isolated \x1b[31mred\x00 half \ud83d\u200b\ufeff",
    "__proto__ constructor toString",
    "שלום <b> مرحبا",
)
ADDRESSES = (
    "javascript:document.title='hacked'",
    "JaVaScRiPt://x/%0adocument.title='hacked'",
    "\x01javascript:alert(1)",
    "java\nscript:alert(1)",
    "data:text/html,<script>document.title='hacked'</script>",
    "vbscript:x",
    "file:///etc/passwd",
    "//evil.example",
    "https:evil.example",
    "http://[",
    " https://evil.example",
    "blob:https://evil.example/x",
)
#: What the page's own script may set on an element.
ATTRIBUTES = set(
    """
    aria-controls aria-describedby aria-expanded aria-hidden aria-label aria-labelledby autocomplete autofocus
    charset checked class content data-document data-engine data-index data-lang data-more data-pair data-rank
    dir href http-equiv id lang method name open placeholder rel role scope style tabindex target
    title type value
    """.split()
)
BASE = tuple(f"engine-{letter}" for letter in "abcdefghi")
#: The engines of the pages in which many queries are opened, and their results: two of each.
FEW = BASE[:2]
RESULTS = 2 * len(FEW)
Entry = dict[str, Any]


def list_attacks(*fields: str) -> list[str]:
    """Every hostile text: these fields of the cases, markup, addresses."""
    cases = [json.loads(line) for line in CASES.read_text(encoding="utf-8").splitlines()]
    texts = [case[field] for case in cases for field in fields]
    # A few are a megabyte or so; the page cuts texts anyway.
    return list(dict.fromkeys(text[:3000] for text in (*texts, *MARKUP, *ADDRESSES) if text.strip()))


def make_harmless(text: str) -> str:
    """A text of the same shape, as long and as wide, that nobody could take for anything else.

    It has the same spaces and marks, and Chinese characters at the same places, behind which a name in a
    table can break.
    """

    def replace_character(char: str) -> str:
        if char.isspace() or char in "_./:@+-":
            return char
        if re.match(f"[{HAN}]", char):
            return "字"
        return "、" if east_asian_width(char) in "WF" else "x"

    return "".join(map(replace_character, escape_hidden(text)))


@pytest.fixture(scope="module")
def base(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """A run of nine engines, to put names into."""
    return run_engines(tmp_path_factory.mktemp("runs") / "base", BASE)


@pytest.fixture(scope="module")
def small_base(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """A run of two engines, to put texts into."""
    return run_engines(tmp_path_factory.mktemp("runs") / "small", FEW)


def run_engines(folder: Path, engines: Sequence[str]) -> Mapping[str, Any]:
    """The results.json of a run over two queries."""
    rows = [
        {
            "query_id": f"q{q}", "query": f"query {q}", "engine": engine, "rank": rank,
            "title": f"title {rank}", "url": f"https://a.example/{rank}", "kind": f"k{q}",
            "snippet": f"query {rank} {engine[-rank:]}",
        }
        for q in range(2)
        for engine in engines
        for rank in (1, 2)
    ]  # fmt: skip
    return read_object(run_lexical(folder, rows), "results.json")


def fill_entry(entry: Entry, number: int, text: str) -> Entry:
    """The entry with `text` wherever a dataset or a model has a say."""
    engines = {}
    for engine, answer in entry["engines"].items():
        snippets = [
            {
                **{key: value for key, value in each.items() if key != "shown"},
                "title": text, "snippet": text, "url": text, "date": text,
                "judgments": [{**judgment, "reason": text} for judgment in each["judgments"]],
            }
            for each in answer["snippets"]
        ]  # fmt: skip
        engines[engine] = {**answer, "snippets": snippets}
    # Ids must differ, as they do in any dataset.
    named = f"{number:04} {text}"
    return {
        **entry,
        "query_id": named,
        "query": text,
        "reference": text,
        "extra": {text: text},
        "engines": engines,
    }


def render_filled_page(base: Mapping[str, Any], texts: Sequence[str]) -> str:
    entries = [fill_entry(base["queries"][0], number, text) for number, text in enumerate(texts)]
    return render_results({**base, "queries": entries}, "run " + texts[0])


def rename_engines(value: Any, names: Mapping[str, str]) -> Any:
    """The JSON value with engines called otherwise, as keys and as values."""
    if isinstance(value, dict):
        return {names.get(key, key): rename_engines(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [rename_engines(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


def render_renamed_page(base: Mapping[str, Any], names: Mapping[str, str]) -> str:
    return render_results(rename_engines(base, names))


OPEN_ALL = """
() => QUERIES.map((query) => {
  openQuery(query);
  const tags = {};
  for (const each of document.querySelectorAll("*")) tags[each.tagName] = (tags[each.tagName] || 0) + 1;
  return [tags, document.querySelector("li.opened").innerText];
})
"""
ODD = """
(allowed) => [...document.querySelectorAll("*")].flatMap((each) => [...each.attributes]
  .filter((one) => !each.closest("svg") && !allowed.includes(one.name) || one.name.startsWith("on")
    || one.name === "href" && !/^(#|https?:)/.test(one.value)
    || one.name === "style" && !/^--[a-z]+: \\d+;$/.test(one.value))
  .map((one) => `${each.tagName} ${one.name}=${one.value}`))
"""


def read_tags_and_texts(browser: Browser, path: Path) -> tuple[list[dict[str, int]], list[str]]:
    """With each query open: how many elements of each kind there are, and what is to be read."""
    with open_page(browser, make_file_url(path), locale="en-US") as result:
        seen = result.page.evaluate(OPEN_ALL)
        assert result.page.evaluate(ODD, sorted(ATTRIBUTES)) == []
        assert "hacked" not in result.page.title().replace("document.title='hacked'", "")
        result.page.get_by_role("button", name="中文").click()
        result.page.emulate_media(media="print")
        assert (result.requests, result.console_errors) == ([], [])
    return [tags for tags, _ in seen], [text for _, text in seen]


def join_words(text: str) -> str:
    return re.sub(r"\s+", "", text)


def test_hostile_texts_make_the_same_elements_as_harmless_ones(
    browser: Browser, small_base: Mapping[str, Any], tmp_path: Path
) -> None:
    texts = list_attacks("snippet", "query")
    assert len(texts) > 100
    paths = [tmp_path / "hostile.html", tmp_path / "harmless.html"]
    for path, shown in zip(paths, (texts, list(map(make_harmless, texts))), strict=True):
        path.write_text(render_filled_page(small_base, shown), encoding="utf-8")
    hostile, read = read_tags_and_texts(browser, paths[0])
    expected, _ = read_tags_and_texts(browser, paths[1])
    for text, ours, theirs, line in zip(texts, hostile, expected, read, strict=True):
        assert ours == theirs, text
        # As query, known answer and column; and at each result as title, address, date, text, reason.
        times = 3 + RESULTS * 5 if len(text) < 90 else RESULTS
        assert join_words(line).count(join_words(escape_hidden(text[:90]))) >= times, text


def test_only_http_and_https_addresses_become_links(
    browser: Browser, small_base: Mapping[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "links.html"
    good = "https://user:secret@www.例子.example:8080/?q=<b>#x"
    path.write_text(render_filled_page(small_base, [*ADDRESSES, good]), encoding="utf-8")
    with open_page(browser, make_file_url(path), locale="en-US") as result:
        links = result.page.evaluate(
            "() => QUERIES.map((query) => (openQuery(query), document.querySelectorAll('article a').length))"
        )
        assert links == [0] * len(ADDRESSES) + [RESULTS]
        link = result.page.locator("article a").first
        assert link.inner_text() == "www.xn--fsqu00a.example:8080"
        assert (link.get_attribute("rel"), link.get_attribute("target")) == (
            "noopener noreferrer nofollow",
            "_blank",
        )
        assert result.console_errors == []


@pytest.mark.parametrize("fields", [(), pytest.param(("snippet",), marks=pytest.mark.slow)])
def test_hostile_names_of_engines_make_the_same_elements_as_harmless_ones(
    browser: Browser, base: Mapping[str, Any], tmp_path: Path, fields: Sequence[str]
) -> None:
    texts = list_attacks(*fields)
    for number in range(0, len(texts), len(BASE)):
        chosen = (texts[number:] + texts)[: len(BASE)]
        counts = []
        for shown in (chosen, list(map(make_harmless, chosen))):
            # In the order of their places: engines with equal means stand by name.
            names = {old: f"{old}{new}" for old, new in zip(BASE, shown, strict=True)}
            path = tmp_path / "engines.html"
            path.write_text(render_renamed_page(base, names), encoding="utf-8")
            tags, read = read_tags_and_texts(browser, path)
            counts.append(tags)
            for each in names.values():
                assert join_words(fit_on_line(each)) in join_words(read[0])
        assert counts[0] == counts[1], chosen


def test_a_hostile_address_of_the_page_itself_does_nothing(
    browser: Browser, small_base: Mapping[str, Any], tmp_path: Path
) -> None:
    path = tmp_path / "page.html"
    path.write_text(render_filled_page(small_base, ["plain"]), encoding="utf-8")

    def count_tags(page: Page) -> int:
        count: int = page.evaluate("document.querySelectorAll('*').length")
        return count

    with open_page(browser, make_file_url(path), locale="en-US") as result:
        usual = count_tags(result.page)
        for odd in (
            "q=<img src=x onerror=alert(1)>",
            "sort=constructor",
            "engine=__proto__",
            "grade=99",
            "verdict=toString",
            "c.__proto__=x",
            "lang=<b>",
            "%",
            "only=q",
        ):
            result.page.goto("about:blank")  # another fragment alone loads nothing
            result.page.goto(f"{make_file_url(path)}#{odd}")
            assert count_tags(result.page) <= usual, odd
            assert (result.requests, result.console_errors) == ([], []), odd
