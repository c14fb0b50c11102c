"""What charts show: every number where it belongs, in one pass, and nothing where there is nothing."""

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import replace
from itertools import chain
from typing import Any
from xml.etree import ElementTree

import pytest
from hypothesis import given, settings

from judge.analysis.dimension_summary import PRICE, DimensionMean, DimensionSummary
from judge.analysis.judged_run import JudgedRun
from judge.analysis.label_agreement import LabelAgreement
from judge.analysis.summary import Summary
from judge.measure.intervals import StatisticValue
from judge.records import BINARY
from judge.report import display_text
from judge.report.charts import Chart, draw_charts
from judge.report.charts.differences import MAX_BARS, QueryDifferences, draw_query_differences, make_bars
from judge.report.charts.grades import GradeCounts
from judge.report.result_tables import ResultTable, iter_comparison_tables, make_engines_table
from judge.runs.record_json import from_json, to_json
from judge.runs.results_file import EngineEntry, QueryEntry
from tests.support.cases import count_examples
from tests.unit.analysis.labelled import make_run
from tests.unit.report.charted import (
    draw_run_charts,
    iter_entries,
    make_agreement,
    make_chart_data,
    summarise_run,
)
from tests.unit.report.pages import make_snippet_entry, parse_queries
from tests.unit.report.summaries import BASE
from tests.unit.report.test_charts_svg import hostile

SVG = "{http://www.w3.org/2000/svg}"
Given = Mapping[str, Mapping[str, Sequence[int | None]]]


def make_graded_run(given: Given, *more: Given, **requests: Any) -> JudgedRun:
    """A run of engines whose results, query by query, get these grades; `more` are further repeats."""
    shown = {
        engine: {
            query: [f"{engine} {query} {at}" for at in range(len(grades))] for query, grades in rows.items()
        }
        for engine, rows in given.items()
    }
    repeats = [
        {
            (query, shown[engine][query][at]): grade
            for engine, rows in repeat.items()
            for query, grades in rows.items()
            for at, grade in enumerate(grades)
        }
        for repeat in (given, *more)
    ]
    return make_run(shown, *repeats, **requests)


def draw_charts_by_name(
    given: Given, *more: Given, agreement: LabelAgreement | None = None, **requests: Any
) -> dict[str, Chart]:
    """The charts of such a run."""
    run = make_graded_run(given, *more, **requests)
    return {chart.id: chart for chart in draw_run_charts(run, agreement)}


def list_rows(table: ResultTable | str) -> list[tuple[str, ...]]:
    """The names and the texts of a table on a page, in English and without marks around names."""
    assert isinstance(table, ResultTable)
    marks = str.maketrans("", "", display_text.ISOLATE + display_text.END)
    return [
        (name.translate(marks), *(text.en.translate(marks) for text, _ in cells))
        for name, cells in table.rows
    ]


#: B is better by P@2 on every query but one: 1, 1, 0.5, 0.5 against 0.5, 0, 0, 1.
TWO: Given = {
    "A": {"q1": [3, 0], "q2": [0, 0], "q3": [0, 1], "q4": [3, 2]},
    "B": {"q1": [3, 2], "q2": [2, 2], "q3": [2, 0], "q4": [0, 2]},
}


def find_elements(chart: Chart, kind: str, of: str = "") -> Iterator[ElementTree.Element]:
    """The elements of the picture, with that class where one is named."""
    for each in ElementTree.fromstring(chart.svg).iter(f"{SVG}{kind}"):  # noqa: S314
        if of in (each.get("class") or "").split() or not of:
            yield each


def list_percents(result: Iterator[ElementTree.Element], name: str) -> list[float]:
    """Where the elements are across; keys, which are in pixels, come first."""
    return [float((each.get(name) or "").removesuffix("%")) for each in result]


def list_shapes(chart: Chart) -> list[tuple[str, ...]]:
    """The kinds of elements and their attributes, but for texts and their titles."""
    root = ElementTree.fromstring(chart.svg)  # noqa: S314
    result = ((each.tag.removeprefix(SVG), *sorted(each.attrib)) for each in root.iter())
    return sorted(shape for shape in result if shape[0] != "text" and shape != ("title",))


def test_means_stand_best_first_and_where_their_scale_says() -> None:
    run = make_graded_run(TWO, measures="P@2 P@1", depth=2)
    chart = next(chart for chart in draw_run_charts(run) if chart.id == "means")
    assert chart.table == "engines"
    assert list_rows(make_engines_table(summarise_run(run))) == [
        ("B", "0.7500", "4", "0.7500"),
        ("A", "0.3750", "4", "0.5000"),
    ]
    ticks = [float(each.text or "") for each in find_elements(chart, "text", "tick")]
    low, high = min(ticks[:-2]), max(ticks[:-2])
    places = list_percents(find_elements(chart, "circle", "dot"), "cx")[1:3]
    assert places == pytest.approx([100 * (mean - low) / (high - low) for mean in (0.75, 0.375)], abs=0.01)
    assert "⁨B⁩ 0.750 (95%:" in chart.desc.en
    assert "⁨B⁩ 最高，0.750（95% 置信区间" in chart.desc.zh


def test_what_is_unjudged_is_a_band_around_the_mean() -> None:
    """One of two results is unjudged on one of two queries: the mean is 0.5 to 0.75, or in between."""
    half: Given = {"A": {"q1": [3, None], "q2": [0, 2]}, "B": {"q1": [0, 0], "q2": [0, 0]}}
    chart = draw_charts_by_name(half, measures="P@2", depth=2)["means"]
    key, band = find_elements(chart, "rect", "bounds")
    assert (key.get("width"), band.get("x"), band.get("width")) == ("16", "50%", "25%")
    full_chart = draw_charts_by_name(TWO, measures="P@2", depth=2)["means"]
    assert not list(find_elements(full_chart, "rect", "bounds"))


def test_pairs_say_the_verdict_in_words_and_in_a_sign() -> None:
    clear: Given = {
        engine: {f"q{at:02}": [0 if at < 3 else grade] for at in range(24)}
        for engine, grade in (("bad", 0), ("good", 3), ("top", 3))
    }
    chart = draw_charts_by_name(clear, measures="P@1", depth=1)["pairs"]
    assert chart.table == "pairs-1"
    verdicts = [each.text for each in find_elements(chart, "text", "outcome")]
    assert verdicts == ["not separated", "差异不显著", "ahead", "领先", "ahead", "领先"]
    dots = [each.get("class") for each in find_elements(chart, "circle") if each.get("cx") != "9"]
    assert dots == ["dot hollow", "dot", "dot"]
    assert "differ significantly: 2 of 3." in chart.desc.en


def test_queries_are_sorted_and_zero_is_where_bars_begin() -> None:
    chart = draw_charts_by_name(TWO, measures="P@2", depth=2)["queries"]
    assert [(row[0], row[2]) for row in list_rows(chart.table)] == [
        ("q2", "+1.0000"), ("q1", "+0.5000"), ("q3", "+0.5000"), ("q4", "−0.5000")
    ]  # fmt: skip
    bars_drawn = list(find_elements(chart, "rect", "bar"))
    heights = [float(each.get("height") or 0) for each in bars_drawn]
    assert heights == [2 * heights[1], heights[1], heights[1], heights[1]]
    assert [each.get("class") for each in bars_drawn] == ["bar", "bar", "bar", "bar other"]
    (zero,) = find_elements(chart, "line", "zero")
    ends = {float(each.get("y") or 0) + float(each.get("height") or 0) for each in bars_drawn[:3]}
    assert ends == {float(zero.get("y1") or 0)} == {float(bars_drawn[3].get("y") or 0)}
    assert "ahead on 3, equal on 0, behind on 1" in chart.desc.en
    assert "领先 3 条，相同 0 条，落后 1 条" in chart.desc.zh


def make_differences(queries: int) -> QueryDifferences:
    """Two engines on this many queries, a ahead by 0, 1, 2… thousandths in no order."""
    result = QueryDifferences("a", "b", "P@5")
    for at in range(queries):
        value = (at * 7919 % queries) / 1000
        engines = {
            engine: EngineEntry(scores={"P@5": score}, snippets=())
            for engine, score in (("a", value), ("b", 0.0))
        }
        result.add(QueryEntry(query_id=f"q{at}", query="?", lang="en", engines=engines))
    return result


def test_of_many_queries_neighbours_share_a_bar() -> None:
    result = make_differences(10_000)
    assert not result.queries
    shown = make_bars(result)
    assert len(shown) == MAX_BARS
    assert [shown[0].name, shown[-1].name] == ["1–25", "9,976–10,000"]
    assert shown[0].value == pytest.approx(9.987)
    assert sum(bar.value for bar in shown) / MAX_BARS == pytest.approx(sum(result.values) / 10_000)
    chart = draw_query_differences(result)
    assert chart
    assert len(list(find_elements(chart, "rect", "bar"))) == len(list_rows(chart.table)) == MAX_BARS
    assert "Each of the 400 bars is the mean of about 25 neighbouring queries" in chart.desc.en
    assert "相邻约 25 条查询的均值" in chart.desc.zh


@pytest.mark.parametrize(("queries", "drawn"), [(1, 1), (400, 400), (401, 400), (799, 400)])
def test_every_query_is_in_one_bar(queries: int, drawn: int) -> None:
    assert len(make_bars(make_differences(queries))) == drawn


def test_grades_are_shares_of_all_queries_and_what_has_none_is_seen() -> None:
    """Of 4 queries at rank 2: grades 3 and 0, one that failed, one where nothing came back."""
    given: Given = {"A": {"q1": [3, 3], "q2": [2, 0], "q3": [1, None], "q4": [0]}}
    chart = draw_charts_by_name(given, measures="P@1", depth=2)["grades"]
    assert isinstance(chart.table, ResultTable)
    assert [column.title.en for column in chart.table.head][1:] == [
        "3 full answer", "2 part of it", "1 on topic only", "0 off topic", "unjudged", "no result"
    ]  # fmt: skip
    assert list_rows(chart.table) == [
        ("A", "1", "25%", "25%", "25%", "25%", "–", "–"),
        ("A", "2", "25%", "–", "–", "25%", "25%", "25%"),
    ]
    first, second = [each for each in find_elements(chart, "g") if each.find(f"{SVG}rect") is not None]
    assert [rect.get("class") for rect in second.findall(f"{SVG}rect")] == [
        "ground", "segment grade-3", "segment grade-0", "unjudged"
    ]  # fmt: skip
    ground, *stack = first.findall(f"{SVG}rect")
    assert [float(rect.get("height") or 0) for rect in stack] == [float(ground.get("height") or 0) / 4] * 4
    line = first.find(f"{SVG}line")
    assert line is not None
    assert line.get("y1") == stack[1].get("y"), "relevant ends above grade 2"
    assert "50% of the graded results" in chart.desc.en


def test_repeats_count_by_their_share_and_binary_has_two_shades() -> None:
    once: Given = {"A": {"q1": [1]}, "B": {"q1": [0]}}
    again: Given = {"A": {"q1": [0]}, "B": {"q1": [0]}}
    result = draw_charts_by_name(once, again, measures="P@1", depth=1, scale=BINARY)
    assert list_rows(result["grades"].table) == [
        ("A", "1", "50%", "50%", "–", "–"),
        ("B", "1", "–", "100%", "–", "–"),
    ]
    kinds = {each.get("class") for each in find_elements(result["grades"], "rect", "segment")}
    assert kinds == {"segment grade-3", "segment grade-0"}
    # The repeats, their range, mean, standard deviation, ICC and the p of the test that they are equal.
    repeats = result["repeats"].table
    assert list_rows(repeats) == [
        ("A", "1.0000", "0.0000", "1.0000", "0.5000", "0.7071", "–", "–"),
        ("B", "0.0000", "0.0000", "0.0000", "0.0000", "0.0000", "–", "–"),
    ]
    assert isinstance(repeats, ResultTable)
    terms = [note.en.partition(":")[0] for note in repeats.list_notes("page")]
    assert terms == ["SD", "ICC", "same within 0.01"]


def test_the_matrix_has_every_count_and_where_relevant_begins() -> None:
    half = StatisticValue(0.5, None)
    agreement = make_agreement(((3, 1, 0, 0), (0, 0, 2, 4)), half, people_relevant_from=1)
    chart = draw_charts_by_name(TWO, measures="P@2", depth=2, agreement=agreement)["agreement"]
    assert list_rows(chart.table) == [("0", "3", "1", "0", "0"), ("1", "0", "0", "2", "4")]
    assert [each.text for each in find_elements(chart, "text", "number")] == list("31000024")
    upright, level = find_elements(chart, "line", "relevant")
    assert (upright.get("x1"), upright.get("x2")) == ("50%", "50%")
    assert level.get("y1") == level.get("y2")
    assert "0.50 higher than people" in chart.desc.en
    # A grade that no person gave has no shares.
    half_empty = replace(agreement, confusion=((3, 1), (0, 0)))
    chart = draw_charts_by_name(TWO, measures="P@2", depth=2, agreement=half_empty)["agreement"]
    assert [each.text for each in find_elements(chart, "text", "tick")] == ["75%", "25%", "–", "–"]
    nothing = replace(agreement, confusion=((0, 0), (0, 0)))
    assert "agreement" not in draw_charts_by_name(TWO, measures="P@2", depth=2, agreement=nothing)


def test_what_has_nothing_to_show_is_left_out() -> None:
    assert list(draw_charts_by_name({"A": {"q1": [3]}}, measures="P@1", depth=1)) == ["means", "grades"]
    assert list(draw_charts_by_name({"A": {"q1": [None]}}, measures="P@1", depth=1)) == ["grades"]
    assert list(draw_charts_by_name({"A": {"q1": [3]}}, measures="AP(own)@1", depth=1)) == ["grades"]
    apart: Given = {"A": {"q1": [3]}, "B": {"q1": [None]}}
    assert list(draw_charts_by_name(apart, measures="P@1", depth=1)) == ["means", "grades"]


def test_of_many_engines_the_first_are_drawn_and_all_are_in_the_table() -> None:
    crowd: Given = {f"engine {at:02}": {"q1": [at % 4], "q2": [(at + 1) % 4]} for at in range(63)}
    run = make_graded_run(crowd, measures="P@1", depth=1)
    result = {chart.id: chart for chart in draw_run_charts(run)}
    assert len(list_rows(result["grades"].table)) == 63
    assert len({row[0] for row in list_rows(make_engines_table(summarise_run(run)))}) == 63
    assert result["means"].desc.en.endswith("shows the first 12 of 63 rows; the table has more.")
    assert result["grades"].desc.zh.endswith("图中只显示 63 行中的前 12 行，数据表中有更多内容。")
    assert "the first 15 of 1,953 rows" in result["pairs"].desc.en
    assert len(list(find_elements(result["pairs"], "text", "outcome"))) == 2 * 15
    (pairs,) = iter_comparison_tables(summarise_run(run))
    assert (len(pairs.names), pairs.more) == (200, 1753)


def test_ranks_beyond_twenty_are_said_not_drawn() -> None:
    for depth in (30, 10**12):
        chart = draw_charts_by_name({"A": {"q1": [0] * 30}}, measures="P@5", depth=depth)["grades"]
        assert len(list_rows(chart.table)) == 20
        assert "The first 20 of 30 ranks are shown." in chart.desc.en
    chart = draw_charts_by_name({"A": {"q1": [0] * 20}}, measures="P@5", depth=30)["grades"]
    assert "ranks are shown" not in chart.desc.en


def test_entries_are_looked_at_once_and_a_depth_is_a_depth() -> None:
    grades = GradeCounts(replace(BASE, scale="graded", repeats=1, depth=1))
    snippets = (make_snippet_entry(1, 1, "text"), make_snippet_entry(1, 2, "text"))
    engines = {"A": EngineEntry(scores={}, snippets=snippets)}
    grades.add(QueryEntry(query_id="q", query="?", lang="en", engines=engines))
    assert grades.compute_shares("A", 1) == [0, 1, 0, 0, 0]
    assert grades.compute_shares("A", 2) == [0, 0, 0, 0, 0]


def test_a_picture_is_named_and_described_in_both_languages() -> None:
    for chart in draw_charts_by_name(TWO, TWO, measures="P@2 P@1", depth=2).values():
        root = ElementTree.fromstring(chart.svg)  # noqa: S314
        texts = {each.get("id"): each.text for each in root if each.tag in (f"{SVG}title", f"{SVG}desc")}
        assert root.get("role") == "img"
        assert texts[root.get("aria-labelledby")] == chart.title.en
        assert texts[root.get("aria-describedby")] == chart.desc.en
        assert texts[(root.get("aria-labelledby") or "").replace("-en", "-zh")] == chart.title.zh
        assert not re.search(r"\sstyle=|\son\w+=|https?://(?!www\.w3\.org/2000/svg)", chart.svg)
        shown = ["".join(each.itertext()) for each in find_elements(chart, "text", "en")]
        assert len(shown) == len(list(find_elements(chart, "text", "zh")))
        if isinstance(chart.table, ResultTable):
            assert all(len(row) == 1 + len(chart.table.head) for row in list_rows(chart.table))


def rename_engines(value: Any, names: Mapping[str, str]) -> Any:
    """JSON with other names in it."""
    if isinstance(value, dict):
        return {names.get(key, key): rename_engines(each, names) for key, each in value.items()}
    if isinstance(value, list):
        return [rename_engines(each, names) for each in value]
    return names.get(value, value) if isinstance(value, str) else value


@settings(max_examples=count_examples(10))
@given(hostile.filter(bool), hostile.filter(bool), hostile)
def test_names_and_queries_stay_text_whatever_they_are(a: str, b: str, query: str) -> None:
    names = {"A": a, "B": b if b != a else f"{b}2", "about q1": query, "q2": query}
    run = make_run(
        {"A": {"q1": ["x", "y"], "q2": ["z"]}, "B": {"q1": ["y", "v"], "q2": ["w"]}},
        {("q1", "x"): 3, ("q1", "y"): 1, ("q1", "v"): None, ("q2", "z"): 2, ("q2", "w"): 0},
        measures="P@2",
        depth=2,
    )
    summary, entries = summarise_run(run), list(iter_entries(run))
    ours = draw_charts(summary, make_chart_data(summary, entries), None)
    renamed_summary = from_json(Summary, rename_engines(to_json(summary), names), "summary.json")
    theirs = draw_charts(
        renamed_summary,
        make_chart_data(renamed_summary, parse_queries(rename_engines(list(map(to_json, entries)), names))),
        None,
    )
    for one, other in zip(ours, theirs, strict=True):
        assert list_shapes(one) == list_shapes(other)
        if isinstance(other.table, ResultTable):
            cells = chain.from_iterable(list_rows(other.table))
            assert all(cell == display_text.fit_on_line(cell) for cell in cells)


def test_quality_stands_beside_price_and_engines_without_a_price_are_named() -> None:
    best = {("q1", "A"), ("q2", "B"), ("q2", "C")}
    grades = {(query, name): 3 * ((query, name) in best) for query in ("q1", "q2") for name in "ABCD"}
    run = make_run({name: {"q1": [name], "q2": [name]} for name in "ABCD"}, grades)
    summary = summarise_run(run)
    prices = {"A": 8.0, "B": 4.0, "C": 4.0}
    costs = {name: {PRICE: DimensionMean(usd, None, 2)} for name, usd in prices.items()}
    priced = replace(summary, dimensions={"costs": DimensionSummary(costs)})
    charts = {
        chart.id: chart for chart in draw_charts(priced, make_chart_data(priced, iter_entries(run)), None)
    }
    chart = charts["prices"]
    assert {row[0]: row[1] for row in list_rows(chart.table)} == {"A": "8.00", "B": "4.00", "C": "4.00"}
    assert "unknown: \N{FIRST STRONG ISOLATE}D\N{POP DIRECTIONAL ISOLATE}." in chart.desc.en
    assert [each.text for each in find_elements(chart, "text", "number")] == ["8.00", "4.00", "4.00"]
    bars = list_percents(find_elements(chart, "rect", "bar"), "width")
    assert bars == [80.0, 40.0, 40.0]  # the axis ends at 10
    assert "prices" not in {chart.id for chart in draw_run_charts(run)}
