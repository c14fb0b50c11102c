"""The pictures of report.html in the READMEs are those that this test makes, of what `judge demo` writes now.

`JUDGE_PICTURES=write pytest tests/browser/test_report_picture.py` makes them again.
"""

from __future__ import annotations

import os
import struct
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from tests.support.browser import make_file_url, open_page

if TYPE_CHECKING:
    from playwright.sync_api import Browser

ROOT = Path(__file__).resolve().parents[2]


def read_size(png: bytes) -> tuple[int, int]:
    """Width and height from a PNG's header (W3C PNG, IHDR)."""
    assert png[:8] == b"\x89PNG\r\n\x1a\n"
    width, height = struct.unpack(">II", png[16:24])
    return width, height


@pytest.mark.parametrize(
    ("readme", "name", "locale", "height", "description", "next_heading"),
    [
        ("README.md", "report", "en-US", 1000, "report.html of judge demo: ", "Charts"),
        ("README.zh-CN.md", "report.zh", "zh-CN", 890, "judge demo 的 report.html：", "图表"),
    ],
)
def test_the_picture_shows_the_demo_s_report(
    readme: str,
    name: str,
    locale: str,
    height: int,
    description: str,
    next_heading: str,
    browser: Browser,
    demo: Path,
) -> None:
    picture, shown = (ROOT / "tests" / "pictures" / f"{name}.{suffix}" for suffix in ("png", "txt"))
    looks = {"viewport": {"width": 1280, "height": height}, "color_scheme": "light", "locale": locale}
    with open_page(browser, make_file_url(demo), **looks) as seen:
        answer = seen.page.locator("h1").inner_text()
        text = seen.page.locator("body").inner_text()
        png = seen.page.screenshot()
    above_charts = text[text.index(answer) :].partition(f"\n{next_heading}\n")[0]
    lines = "".join(f"{line.strip()}\n" for line in above_charts.splitlines() if line.strip())
    if os.environ.get("JUDGE_PICTURES") == "write":
        picture.write_bytes(png)
        shown.write_text(lines, "utf-8")
    assert read_size(picture.read_bytes()) == read_size(png)
    assert shown.read_text("utf-8") == lines, "the report has other texts now: make the picture anew"
    link = f"![{description}{answer}](tests/pictures/{picture.name})"
    assert link in (ROOT / readme).read_text("utf-8")
