"""Reports that several modules open in a browser: of the example, and of a run with all kinds of trouble."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge import example
from tests.support.browser import RecordedPage, make_file_url, open_page, start_chromium
from tests.unit.report.incomplete_run import make_troubled_run
from tests.unit.report.pages import run_lexical, write_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """Return the browser of this folder; its event loop would be in the way of tests of other folders."""
    with start_chromium() as started:
        yield started


@pytest.fixture(scope="session")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of the shipped example."""
    folder = tmp_path_factory.mktemp("runs") / "demo"
    return write_page(folder, run_lexical(folder, example.find_dataset()))


@pytest.fixture(scope="session")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a run whose repeats differ, with failed pairs and suspicious snippets."""
    return make_troubled_run(tmp_path_factory.mktemp("troubled"), 16)


@pytest.fixture(scope="session")
def report(folder: Path) -> Path:
    """The report of that run."""
    return write_page(folder, folder)


@pytest.fixture(scope="session")
def long_report(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The report of such a run with more queries than the page draws at once."""
    folder = make_troubled_run(tmp_path_factory.mktemp("troubled"), 64)
    return write_page(folder, folder)


@pytest.fixture
def recorded_page(browser: Browser, report: Path) -> Iterator[RecordedPage]:
    """The page of that run, in English; whatever a test does there, it asks nobody and never complains."""
    with record_page(browser, report) as result:
        yield result


@pytest.fixture
def long_page(browser: Browser, long_report: Path) -> Iterator[RecordedPage]:
    """The page of the run with more queries, as `recorded_page`."""
    with record_page(browser, long_report) as result:
        yield result


@contextmanager
def record_page(browser: Browser, report: Path) -> Iterator[RecordedPage]:
    """Open the page of a report, which must request nothing and write nothing to the console."""
    viewport = {"width": 1280, "height": 900}
    with open_page(browser, make_file_url(report), locale="en-US", viewport=viewport) as result:
        yield result
        assert result.requests == []
        assert result.console_errors == []
