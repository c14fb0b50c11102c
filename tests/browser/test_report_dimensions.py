"""The sections of dimensions in the report: tables, remarks and notes, without markup from a model."""

from __future__ import annotations

import json
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.browser import find_violations, make_file_url, open_page
from tests.support.command_line import make_words, run_judge
from tests.support.factories import make_rows, reply_with_grade, write_rows
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

if TYPE_CHECKING:
    from playwright.sync_api import Browser


def reply_with_markup(request: ChatRequest) -> Reply:
    if "Explain why" in request.prompt:
        return Reply(text=json.dumps({"explanation": "<img src=x onerror=alert(1)> </script> so"}))
    return reply_with_grade(request)


def test_texts_of_a_model_are_text_and_axe_finds_nothing_serious(browser: Browser, tmp_path: Path) -> None:
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(3, 2, 2)), tmp_path / "out"
    with LoopbackServer(reply_with_markup) as server:
        run = run_judge(*make_words(data, server), "--diversity", "--explain", "--out", out)
    assert run.returncode == 0, run.stderr
    with open_page(browser, make_file_url(out / "report.html"), locale="en-US") as recorded_page:
        page = recorded_page.page
        page.get_by_text("by query").first.click()
        assert page.get_by_text("<img src=x onerror=alert(1)> </script> so").count() == 6
        assert page.locator("table.dimensions").count() >= 1
        assert find_violations(page) == []
        assert recorded_page.console_errors == []
