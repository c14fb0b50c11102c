"""The picture of report.html in the READMEs is one that this test makes, of what `judge demo` writes now.

`JUDGE_PICTURES=write pytest tests/browser/test_report_picture.py` makes it again.
"""

from __future__ import annotations

import os
import re
import struct
from pathlib import Path
from typing import TYPE_CHECKING

from tests.support.browser import make_file_url, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]
PICTURE = ROOT / "tests" / "pictures" / "report.png"
#: The text that the picture shows.
TEXT = PICTURE.with_suffix(".txt")


def read_size(png: bytes) -> tuple[int, int]:
    """Width and height from a PNG's header (W3C PNG, IHDR)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_the_picture_shows_the_demo_s_report(browser: Browser, demo: Path) -> None:
    looks = {"viewport": {"width": 1280, "height": 1000}, "color_scheme": "light", "locale": "en-US"}
    with open_page(browser, make_file_url(demo), **looks) as seen:
        answer = seen.page.locator("h1").inner_text()
        text = seen.page.locator("body").inner_text()
        png = seen.page.screenshot()
    above_charts = text[text.index(answer) :].partition("\nCharts\n")[0]
    lines = "".join(f"{line.strip()}\n" for line in above_charts.splitlines() if line.strip())
    if os.environ.get("JUDGE_PICTURES") == "write":
        PICTURE.write_bytes(png)
        TEXT.write_text(lines, "utf-8")
    assert read_size(PICTURE.read_bytes()) == read_size(png)
    assert TEXT.read_text("utf-8") == lines, "the report has other texts now: make the picture anew"
    for readme in ("README.md", "README.zh-CN.md"):
        picture = re.search(r"!\[(.*?)\]\(tests/pictures/report\.png\)", (ROOT / readme).read_text("utf-8"))
        assert picture is not None
        if readme == "README.md":
            assert picture[1] == f"report.html of judge demo: {answer}"
