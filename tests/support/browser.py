"""The real browser in which tests open pages: Debian's headless chromium shell, or any chromium.

Without a browser, a test skips with one line that says what to install; with JUDGE_BROWSER=needed (set by
`.ci/run`), it fails.
"""

from __future__ import annotations

import os
import shutil
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

if TYPE_CHECKING:
    from playwright.sync_api import Browser, ConsoleMessage, Page, Request

_QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
)
#: Executables, best first: the shell takes a third of the CPU time of the whole browser.
_EXECUTABLES = ("chromium-headless-shell", "chromium", "chromium-browser")
_TIMEOUT_MS = 60_000
_MISSING = "no chromium: apt-get install chromium-headless-shell fonts-noto-cjk"


@contextmanager
def start_chromium() -> Iterator[Browser]:
    """Start a headless browser; without one, skip the test, or fail where JUDGE_BROWSER says so."""
    from playwright.sync_api import expect, sync_playwright

    # Long enough for a busy machine; a test that passes does not wait for it.
    expect.set_options(timeout=_TIMEOUT_MS)
    executable = next(filter(None, map(shutil.which, _EXECUTABLES)), None)
    if executable is None:
        if os.environ.get("JUDGE_BROWSER") == "needed":
            pytest.fail(_MISSING)
        pytest.skip(_MISSING)
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=executable, args=list(_QUIET))
        try:
            yield browser
        finally:
            browser.close()


@dataclass
class RecordedPage:
    """A page, its requests to other addresses, and the errors and warnings of its console."""

    page: Page
    requests: list[str] = field(default_factory=list)
    console_errors: list[str] = field(default_factory=list)


@contextmanager
def open_page(browser: Browser, address: str, **context: Any) -> Iterator[RecordedPage]:
    """Open the page at `address` and record its other requests and its console errors.

    `context` goes to `Browser.new_context`: `viewport`, `color_scheme`, `locale`, `java_script_enabled`…
    """
    with browser.new_context(**context) as browser_context:
        browser_context.set_default_timeout(_TIMEOUT_MS)
        page = browser_context.new_page()
        recorded_page = RecordedPage(page)

        def record_request(request: Request) -> None:
            if request.url.split("#")[0] != address.split("#")[0]:
                recorded_page.requests.append(request.url)

        def record_message(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                recorded_page.console_errors.append(message.text)

        page.on("request", record_request)
        page.on("console", record_message)
        page.on("pageerror", lambda error: recorded_page.console_errors.append(str(error)))
        page.goto(address)
        yield recorded_page


def find_violations(page: Page, selector: str | None = None) -> list[str]:
    """Return the serious and critical findings of axe-core (WCAG 2 A and AA) as `rule: first element`.

    They are of the whole page, or of the element of `selector`.
    """
    from axe_playwright_python.sync_playwright import Axe

    options = {
        "runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]},
        "resultTypes": ["violations"],
    }
    result = Axe().run(page, selector, options).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in result
        if each["impact"] in ("serious", "critical")
    ]


def make_file_url(path: Path) -> str:
    """Return the `file:` URL of a file."""
    return path.resolve().as_uri()


def read_listed_queries(page: Page) -> list[str]:
    """Return the ids of all listed queries of a report, in its order, whether drawn or not."""
    ids: list[str] = page.evaluate("LISTED.queries.map((query) => query.id)")
    return ids
