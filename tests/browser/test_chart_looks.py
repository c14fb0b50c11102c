"""How charts look: colours that everyone can tell apart, and nothing that leaves its place on any screen."""

from __future__ import annotations

import re
from importlib.resources import files
from itertools import pairwise
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from judge.measure.intervals import StatisticValue
from judge.report.charts import Chart
from judge.report.charts.svg import draw_row_names
from tests.support.browser import find_violations, make_file_url, open_page
from tests.unit.analysis.labelled import make_favouring_run, make_run
from tests.unit.report.charted import draw_run_charts, make_agreement

if TYPE_CHECKING:
    from playwright.sync_api import Browser

CSS = (files("judge.report") / "templates" / "charts.css").read_text(encoding="utf-8")
#: The variables in the light and in the dark.
COLOURS = re.findall(r"(--[\w-]+): light-dark\((#[0-9a-f]{6}), (#[0-9a-f]{6})\)", CSS)
THEMES = [{name: shades[at] for name, *shades in COLOURS} for at in (0, 1)]
PAGE = """<!doctype html><html lang="en"><meta charset="utf-8"><title>charts</title>
<style>{css} body {{ margin: 16px; background: var(--background); font-family: sans-serif }}
:root:not(:lang(zh)) .zh, :root:lang(zh) .en {{ display: none }}</style><main>{charts}</main></html>"""


def compute_contrast(one: str, other: str) -> float:
    """WCAG's ratio of two colours."""
    first, second = sorted((_compute_luminance(one), _compute_luminance(other)))
    return (second + 0.05) / (first + 0.05)


def _compute_luminance(colour: str) -> float:
    parts = (int(colour[at : at + 2], 16) / 255 for at in (1, 3, 5))
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in parts
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


@pytest.mark.parametrize("theme", THEMES, ids=["light", "dark"])
def test_text_is_readable_and_grades_can_be_told_apart_in_grey(theme: dict[str, str]) -> None:
    for text in ("--text", "--muted", "--accent", "--unjudged"):
        assert compute_contrast(theme[text], theme["--background"]) >= 4.5, text
    grades = [theme[f"--grade-{grade}"] for grade in range(4)]
    for grade, colour in enumerate(grades):
        assert compute_contrast(theme[f"--on-grade-{grade}"], colour) >= 4.5, grade
    assert all(compute_contrast(one, other) >= 1.6 for one, other in pairwise(grades))
    brightness = [_compute_luminance(colour) for colour in grades]
    assert brightness in (sorted(brightness), sorted(brightness, reverse=True))


def test_every_class_that_is_drawn_with_has_a_look() -> None:
    """But for text in plain ink."""
    drawn = {
        kind
        for chart in draw_every_chart()
        for names in re.findall(r'class="([^"]+)"', chart.svg)
        for kind in names.split()
    }
    styled = set(re.findall(r"\.([a-z][\w-]*)", CSS))
    assert drawn - styled <= {"en", "zh", "name", "number"}


def draw_every_chart() -> tuple[Chart, ...]:
    """Every chart, of a run with repeats, failures and labels."""
    shown, _, text = make_favouring_run(12, "a search engine with a long name", "必应国际版第二号引擎")
    missing = {key: None if at % 9 == 0 else grade for at, (key, grade) in enumerate(text.items())}
    run = make_run(shown, missing, text, measures="nDCG@3 AP@3 P@1 RR@3 sDCG@3")
    confusion = ((3, 1, 0, 0), (1, 2, 0, 0), (0, 1, 4, 1), (0, 0, 1, 1234))
    agreement = make_agreement(confusion, StatisticValue(None, None, "a test"))
    return draw_run_charts(run, agreement)


def test_in_a_browser_nothing_sticks_out_and_nothing_is_loaded(browser: Browser, tmp_path: Path) -> None:
    shown = draw_every_chart()
    assert [chart.id for chart in shown] == ["means", "pairs", "queries", "grades", "repeats", "agreement"]
    page = tmp_path / "charts.html"
    page.write_text(PAGE.format(css=CSS, charts="".join(chart.svg for chart in shown)), encoding="utf-8")
    for width, scheme in ((1440, "light"), (390, "dark")):
        view = {"width": width, "height": 900}
        with open_page(browser, make_file_url(page), viewport=view, color_scheme=scheme) as recorded_page:
            for lang in ("en", "zh-Hans"):
                recorded_page.page.evaluate("lang => { document.documentElement.lang = lang }", lang)
                assert recorded_page.page.evaluate(STICKS_OUT) == [], (width, lang)
            assert find_violations(recorded_page.page) == []
            assert recorded_page.page.evaluate("document.documentElement.scrollWidth") == width
            assert (recorded_page.requests, recorded_page.console_errors) == ([], [])


@pytest.mark.parametrize("width", [360, 390, 1200])
def test_names_stay_in_their_rows_and_short_ones_are_whole(
    browser: Browser, tmp_path: Path, width: int
) -> None:
    names = ("compass", "gamma", "MMMM-WWWW-mmmm-MMMM-WWWW-mmmm-MMMM", "必应国际版第二号引擎" * 4)
    heights = [20.0 + 24 * at for at in range(len(names))]
    drawing = f'<svg class="chart" width="100%" height="120">{draw_row_names(names, heights)}</svg>'
    page = tmp_path / "charts.html"
    page.write_text(PAGE.format(css=CSS, charts=drawing), encoding="utf-8")
    with open_page(browser, make_file_url(page), viewport={"width": width, "height": 900}) as recorded_page:
        boxes = recorded_page.page.evaluate(NAME_BOXES)
        assert all(height <= 26 for height, *_ in boxes)
        assert [is_cut for *_, is_cut in boxes[:2]] == [False, False]
        chart = recorded_page.page.locator("svg.chart").bounding_box()
        assert chart
        end = chart["x"] + 0.31 * chart["width"]
        assert [right for _, right, _ in boxes] == pytest.approx([end] * 4, abs=1)
        label = recorded_page.page.locator("svg.chart .label").last
        assert label.get_attribute("title") == names[3]


#: The height and the right end of each name, and whether a part of it is out of sight.
NAME_BOXES = """() => [...document.querySelectorAll("svg.chart bdi")].map(name => {
  const box = name.getBoundingClientRect();
  return [box.height, box.right, name.scrollHeight > name.clientHeight + 1];
})"""
#: Texts that are cut by the edge of their chart, or written over one another.
STICKS_OUT = """() => [...document.querySelectorAll("svg.chart")].flatMap(chart => {
  const edge = chart.getBoundingClientRect();
  const texts = [...chart.querySelectorAll("text, bdi")].map(text => [text, text.getBoundingClientRect()])
    .filter(([, box]) => box.width);
  const out = texts.filter(([, box]) => box.left < edge.left - 2 || box.right > edge.right + 2
    || box.top < edge.top - 2 || box.bottom > edge.bottom + 2);
  const over = texts.filter(([, box], at) => texts.slice(0, at).some(([, other]) =>
    box.left < other.right - 2 && other.left < box.right - 2
    && box.top < other.bottom - 4 && other.top < box.bottom - 4));
  return [...out, ...over].map(([text]) => chart.id + ": " + text.textContent);
})"""
