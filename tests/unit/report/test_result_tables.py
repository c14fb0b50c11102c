"""A column of a table is on the terminal and on a page, unless it is in one place only."""

import io
from dataclasses import replace

import pytest
from rich.console import Console

from judge.analysis.dimension_summary import DimensionMean, DimensionSummary
from judge.cli.render.screen import Screen
from judge.cli.render.tables import make_table, print_parts
from judge.cli.terminal import use_locale_language
from judge.messages import Bilingual
from judge.report.result_tables import Column, CountedMean, ResultTable, iter_dimension_tables

TABLE = ResultTable(
    Bilingual("Caption", "表题"),
    Bilingual("engine", "引擎"),
    ["a", "b"],
    [
        Column(Bilingual("mean", "均值"), [CountedMean(-0.5, 9), CountedMean(None, None)]),
        Column(Bilingual("interval", "区间"), [(-1.0, 0.25), None], "+.2f", is_under=True),
        Column(Bilingual.repeat("p"), [0.00001, None], "p", Bilingual("p: chance", "p：偶然")),
        Column(Bilingual.repeat("d_z"), [0.2, 0.3], ".1f", only="terminal"),
        Column(Bilingual("result", "结论"), [Bilingual("better", "领先"), "?"], only="page"),
    ],
    more=3,
)


@pytest.mark.parametrize(
    ("language", "lines"),
    [
        (
            "en",
            [
                "engine         mean        interval         p  d_z",
                "a       -0.5000 (9)  -1.00 to +0.25  < 0.0001  0.2",
                "b                 -               -         -  0.3",
                "in brackets: the number of queries of a mean, where it is not that in the column",
                "queries",
            ],
        ),
        (
            "zh",
            [
                "引擎         均值            区间         p  d_z",
                "a     -0.5000 (9)  -1.00 到 +0.25  < 0.0001  0.2",
                "b               -               -         -  0.3",
                "括号内：均值的查询数，与“查询数”一列不同时列出",
            ],
        ),
    ],
)
def test_a_terminal_shows_each_value_in_its_own_column(language: str, lines: list[str]) -> None:
    file = io.StringIO()
    with use_locale_language({"LANG": language}):
        print_parts([TABLE], Console(file=file, width=80, highlight=False))
    assert [line.rstrip() for line in file.getvalue().splitlines()] == lines


@pytest.mark.parametrize(
    ("means", "shown"),
    [
        ((0.0, 0.0625, 1.0), ["0.000", "0.062", "1.000"]),
        ((3.25, 12.5, None), ["3.25", "12.50", "-"]),
        ((1441.8, 441.8), ["1,442", "442"]),
        ((5.0, 0.3), ["5.000", "0.300"]),
        ((-0.0123, -40.0), ["-0.012", "-40.000"]),
    ],
)
def test_a_measure_of_a_dimension_has_as_many_decimals_as_its_values_need(
    means: tuple[float | None, ...], shown: list[str]
) -> None:
    engines = {str(at): {"m": DimensionMean(mean, None, 3)} for at, mean in enumerate(means)}
    (table,) = iter_dimension_tables("costs", DimensionSummary(engines), list(engines))
    assert [text.en for text in table.columns[0].list_texts("terminal")] == shown


def test_a_table_that_is_wider_than_the_terminal_keeps_its_names_and_numbers() -> None:
    change = "-0.001 (-0.011 to +0.009)"
    file = io.StringIO()
    table = make_table(["engine", "first", "last"], [("bing", change, change)])
    print_parts([table], Console(file=file, width=40, highlight=False))
    assert file.getvalue().count(change) == 2
    assert "\nbing" in file.getvalue()


def test_a_title_from_outside_is_text_on_a_terminal() -> None:
    hostile = Bilingual.repeat("sidebyside: [red]a, b\u202e")
    file = io.StringIO()
    print_parts([replace(TABLE, short_title=hostile)], Screen(file=file, width=1000))
    assert file.getvalue().startswith("sidebyside: [red]a, b\\x202e  ")


def test_a_page_has_signs_of_its_own_and_small_lines_under_a_value() -> None:
    titles = {column.title.en: column.is_text for column in TABLE.head}
    assert titles == {"mean": False, "p": False, "result": True}
    rows = {
        name: [(text.zh, *(line.zh for line in lines)) for text, lines in cells] for name, cells in TABLE.rows
    }
    assert rows == {
        "a": [("−0.5000", "−1.00 … +0.25"), ("< 0.0001",), ("领先",)],
        "b": [("–",), ("–",), ("?",)],
    }


def test_a_table_lists_what_its_columns_mean() -> None:
    assert TABLE.list_notes("terminal") == [("p: chance", "p：偶然")]
