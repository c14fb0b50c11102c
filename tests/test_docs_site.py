"""The site of docs/ builds without a warning, in two languages that have the same structure."""

import ast
import os
import re
import subprocess
import sys
from functools import cache
from html.parser import HTMLParser
from pathlib import Path
from urllib.parse import unquote
from xml.etree import ElementTree

import pytest

from tests.support.cases import check_each
from tests.support.markdown import READMES, ROOT, Block, Document, find_page, list_documents, list_pages
from tests.support.source_code import parse_module

PICTURES = sorted((ROOT / "docs" / "assets").glob("*.svg"))
BOTH = [
    (Document(READMES["en"]), Document(READMES["zh"])),
    *((each, find_page("zh", each.path.stem)) for each in list_pages("en")),
]


class Sources(HTMLParser):
    """What a page loads: scripts, styles, pictures, frames."""

    def __init__(self) -> None:
        super().__init__()
        self.loaded: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        values = dict(attrs)
        if tag != "a":
            self.loaded += filter(None, (values.get("src"), values.get("href"), values.get("data")))


def identify(document: Document) -> str:
    return str(document.path.relative_to(ROOT))


def list_numbers(line: str) -> list[str]:
    """Return the numbers of a line, sorted, because sentences differ in the order of their parts."""
    return sorted(re.findall(r"[-+−]?\d+(?:[.,]\d+)*", line))


def is_same(english: Block, chinese: Block) -> bool:
    """Say whether both blocks hold the same code, or for an output the same numbers in each line."""
    if english.language:
        return english.code == chinese.code
    lines = (map(list_numbers, block.text.splitlines()) for block in (english, chinese))
    return list(next(lines)) == list(next(lines))


def test_both_languages_have_the_same_pages() -> None:
    english, chinese = ([each.path.name for each in list_pages(language)] for language in ("en", "zh"))
    assert english == chinese
    nav = re.findall(r"^      - (\S+\.md)$", (ROOT / "mkdocs.yml").read_text(encoding="utf-8"), re.MULTILINE)
    assert sorted(nav) == english


@check_each(("english", "chinese"), BOTH)
def test_both_languages_have_the_same_structure(english: Document, chinese: Document) -> None:
    assert [level for level, _ in chinese.headings] == [level for level, _ in english.headings]
    assert [len(row) for row in chinese.rows] == [len(row) for row in english.rows]
    targets = ({link.partition("#")[0] for link in each.links} for each in (english, chinese))
    language = re.compile(r"\.zh(?=\.png)|(?<=[/.])(en|zh)(?=[/.])")
    first, second = ({language.sub("", link) for link in links} for links in targets)
    assert first ^ second <= {"README.zh-CN.md", "README.md"}
    assert [(each.language, each.marker, each.name) for each in chinese.blocks] == [
        (each.language, each.marker, each.name) for each in english.blocks
    ]
    if english.path not in READMES.values():
        for first_block, second_block in zip(english.blocks, chinese.blocks, strict=True):
            assert is_same(first_block, second_block), second_block.text


@check_each("document", list_documents())
def test_links_lead_to_files_and_headings(document: Document) -> None:
    for link in document.links:
        if link.startswith(("https://", "http://")):
            continue
        name, _, anchor = link.partition("#")
        path = (document.path.parent / name).resolve() if name else document.path
        assert path.is_file(), link
        if anchor:
            assert unquote(anchor) in Document(path).anchors, link


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The site, built as the page on development tells."""
    folder = tmp_path_factory.mktemp("site")
    (command,) = (
        line for line in find_page("en", "development").list_code("sh")[1].splitlines() if "mkdocs" in line
    )
    words = command.split("uv run --extra docs mkdocs ")[1].split()
    done = subprocess.run(
        [sys.executable, "-m", "mkdocs", *words, "-d", str(folder)], cwd=ROOT, capture_output=True, text=True,
        timeout=120, check=False, env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return folder


def test_the_site_has_every_page_and_loads_nothing_from_elsewhere(site: Path) -> None:
    built = list(site.rglob("*.html"))
    assert (
        len(built) == len(list_pages("en")) + len(list_pages("zh")) + 1
    )  # and the page for unknown addresses
    for path in built:
        sources = Sources()
        sources.feed(path.read_text(encoding="utf-8"))
        remote = [each for each in sources.loaded if re.match(r"(?:https?:)?//", each)]
        assert not remote, path


def test_the_picture_of_the_flow_is_in_both_languages(site: Path) -> None:
    for language, folder in (("en", site), ("zh", site / "zh")):
        html = (folder / "architecture" / "index.html").read_text(encoding="utf-8")
        source = re.search(rf'src="([^"]*architecture\.{language}\.svg)"', html)
        assert source is not None
        assert (folder / "architecture" / source[1]).resolve().is_file()


@pytest.mark.parametrize("picture", PICTURES, ids=lambda path: path.name)
def test_a_picture_runs_and_loads_nothing(picture: Path) -> None:
    text = picture.read_text(encoding="utf-8")
    root = ElementTree.fromstring(text)  # noqa: S314 - our own file
    tags = {element.tag.rpartition("}")[2] for element in root.iter()}
    assert tags <= {"svg", "title", "desc", "style", "defs", "marker", "path", "rect", "text"}
    assert re.findall(r"https?://[^\"]+", text) == ["http://www.w3.org/2000/svg"]


@cache
def list_defined_names(path: Path) -> set[str]:
    """Return the names of functions, classes, methods and constants in a module."""
    names = set()
    for node in ast.walk(parse_module(path)):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            names.add(node.name)
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            names.add(node.id)
    return names


@pytest.mark.parametrize("language", ["en", "zh"])
def test_the_architecture_names_what_exists(language: str) -> None:
    document = find_page(language, "architecture")
    paths = re.findall(r"`((?:judge|tests|prompts|docs)/[\w/.-]*|mkdocs\.yml)`", document.text)
    assert len(paths) > 40
    for path in paths:
        if "NAME" not in path and "TAG" not in path:
            assert (ROOT / path).exists(), path
    questions = [row for row in document.rows if len(row) == 3 and row[1].startswith("`judge/")]
    assert len(questions) > 20
    for _, path, name in ((cell.strip("`") for cell in row) for row in questions):
        assert name.rpartition(".")[2] in list_defined_names(ROOT / path), f"{name} in {path}"
    places = [(path, name) for name, path in re.findall(r"`(\w+)` in\s+`(judge/[\w/]+\.py)`", document.text)]
    places += re.findall(r"`(judge/[\w/]+\.py)` 中的 `(\w+)`", document.text)
    assert len(places) > 20
    for path, name in places:
        assert name in list_defined_names(ROOT / path), f"{name} in {path}"
