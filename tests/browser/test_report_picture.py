"""The picture of report.html in the READMEs is one that this test makes, of what `judge demo` writes now.

`JUDGE_PICTURES=write pytest tests/browser/test_report_picture.py` makes it anew.
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


def size(png: bytes) -> tuple[int, int]:
    """Width and height from a PNG's header (W3C PNG, IHDR)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


def test_the_picture_shows_the_demo_s_report(browser: Browser, demo: Path) -> None:
    looks = {"viewport": {"width": 1280, "height": 1000}, "color_scheme": "light", "locale": "en-US"}
    with open_page(browser, make_file_url(demo), **looks) as seen:
        answer = seen.page.locator("h1").inner_text()
        png = seen.page.screenshot()
    if os.environ.get("JUDGE_PICTURES") == "write":
        PICTURE.write_bytes(png)
    assert size(PICTURE.read_bytes()) == size(png)
    for readme in ("README.md", "README.zh-CN.md"):
        shown = re.search(r"!\[(.*?)\]\(tests/pictures/report\.png\)", (ROOT / readme).read_text("utf-8"))
        assert shown is not None
        if readme == "README.md":
            assert shown[1] == f"report.html of judge demo: {answer}"
