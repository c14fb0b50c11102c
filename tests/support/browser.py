"""The real browser that tests open pages in: Debian's chromium, without its windows where that is installed.

Without it a test skips with one line that says what to install; with JUDGE_BROWSER=needed (as `.ci/run`
sets it) it fails instead.
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
#: What may be installed, best first: the shell takes a third of the CPU time of the whole browser.
_EXECUTABLES = ("chromium-headless-shell", "chromium", "chromium-browser")
_TIMEOUT_MS = 60_000
_MISSING = "no chromium: apt-get install chromium-headless-shell fonts-noto-cjk"


@contextmanager
def chromium() -> Iterator[Browser]:
    """A headless browser; skips the test, or fails where a browser is needed, when there is none."""
    from playwright.sync_api import expect, sync_playwright

    # A crowded machine may need its time; what is right comes as soon as it can.
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
class Watched:
    """A page and everything it did that a well-behaved page does not do."""

    page: Page
    requests: list[str] = field(default_factory=list)
    complaints: list[str] = field(default_factory=list)


@contextmanager
def opened(browser: Browser, address: str, **context: Any) -> Iterator[Watched]:
    """The page at `address`; what it requested besides itself, and console errors, are written down.

    `context` goes to `Browser.new_context`: `viewport`, `color_scheme`, `locale`, `java_script_enabled`…
    """
    with browser.new_context(**context) as room:
        room.set_default_timeout(_TIMEOUT_MS)
        page = room.new_page()
        watched = Watched(page)

        def ask(request: Request) -> None:
            if request.url.split("#")[0] != address.split("#")[0]:
                watched.requests.append(request.url)

        def describe(message: ConsoleMessage) -> None:
            if message.type in ("error", "warning"):
                watched.complaints.append(message.text)

        page.on("request", ask)
        page.on("console", describe)
        page.on("pageerror", lambda error: watched.complaints.append(str(error)))
        page.goto(address)
        yield watched


def serious(page: Page) -> list[str]:
    """What axe-core finds serious or critical on the page, WCAG 2 A and AA: `rule: first element`."""
    from axe_playwright_python.sync_playwright import Axe

    options = {"runOnly": {"type": "tag", "values": ["wcag2a", "wcag2aa", "wcag21a", "wcag21aa", "wcag22aa"]}}
    result = Axe().run(page, options=options).response["violations"]
    return [
        f"{each['id']}: {each['nodes'][0]['html'][:200]}"
        for each in result
        if each["impact"] in ("serious", "critical")
    ]


def address_of(path: Path) -> str:
    """The file's address."""
    return path.resolve().as_uri()


def listed_queries(page: Page) -> list[str]:
    """The ids of all queries that a report found, in its order, drawn or not."""
    ids: list[str] = page.evaluate("LISTED.queries.map((query) => query.id)")
    return ids
