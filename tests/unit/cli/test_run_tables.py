"""What `judge run` prints in terminals of different widths and in Chinese."""

import io
import re
from dataclasses import replace
from itertools import takewhile
from pathlib import Path

import pytest
from rich.cells import cell_len
from rich.console import Console
from rich.text import Text

import judge
from judge import example
from judge.analysis.summary import LabelUse
from judge.cli.render.comparison_tables import iter_comparison_parts
from judge.cli.render.run_tables import iter_run_parts
from judge.cli.render.screen import Screen
from judge.cli.render.tables import print_parts
from judge.cli.terminal import use_locale_language
from judge.measure.engine_summary import Latency, TokenCount
from judge.messages import CHINESE, ENGLISH, Translator
from judge.report.result_tables import iter_dimension_tables, make_engines_table, make_returns_table
from judge.report.run_warnings import iter_page_warnings, iter_warnings, warn_without_results
from judge.runs.run_result import RunResult


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> RunResult:
    """The shipped example, judged by the lexical model."""
    out: Path = tmp_path_factory.mktemp("runs") / "demo"
    return judge.run(str(example.find_dataset()), model="lexical", out=str(out))


def render_rows(result: RunResult, t: Translator, width: int) -> list[str]:
    """Return the lines of the tables."""
    file = io.StringIO()
    with use_locale_language({"LANG": t.language}):
        print_parts(iter_run_parts(result), Console(file=file, width=width, highlight=False))
    return re.findall(r"^(?:lantern|compass|magpie) +\d.*$", file.getvalue(), re.MULTILINE)


@pytest.mark.parametrize("t", [ENGLISH, CHINESE])
def test_the_tables_of_the_demo_fit_into_eighty_columns(demo: RunResult, t: Translator) -> None:
    wide, narrow = render_rows(demo, t, 1000), render_rows(demo, t, 80)
    assert wide == narrow
    assert len(narrow) == 6
    assert max(map(cell_len, narrow)) <= 80


def list_names(lines: list[str], title: str) -> list[str]:
    """Return the first cells of the rows of a table, by the beginning of its header."""
    start = next(at for at, line in enumerate(lines) if line.startswith(title)) + 1
    rows = takewhile(re.compile(r"[a-d](?: / [a-d])? +[\d-]").match, lines[start:])
    return [re.split(r"  +", row)[0] for row in rows]


def test_all_tables_have_the_engines_in_the_order_of_their_scores(tmp_path: Path) -> None:
    relevant = {"a": 0, "b": 2, "c": 3, "d": 1}
    rows = [
        {
            "query_id": f"q{query}",
            "query": f"red{query} green{query} blue{query}",
            "engine": engine,
            "rank": rank,
            "snippet": f"red{query} green{query} blue{query} {rank}" if rank <= count else f"{engine} {rank}",
        }
        for query in range(6)
        for engine, count in relevant.items()
        for rank in (1, 2, 3)
    ]
    result = judge.run(rows, "lexical", repeats=2, diversity=True, out=str(tmp_path / "run"))
    file = io.StringIO()
    print_parts(iter_run_parts(result), Screen(file=file, width=1000))
    parts = iter_comparison_parts(result.summary, result.folder, None, 21, details=True)
    print_parts(parts, Screen(file=file, width=1000))
    lines = file.getvalue().splitlines()
    for title in ("engine ", "diversity ", "what came back ", "over the repeats "):
        assert list_names(lines, title) == ["c", "b", "d", "a"], title
    # A row of two engines has the names in the order of the alphabet, as summary.json has them.
    pairs = ["b / c", "c / d", "a / c", "b / d", "a / b", "a / d"]
    assert list_names(lines, "engines ") == pairs
    _, table = iter_dimension_tables("diversity", result.summary.dimensions["diversity"], "cbda")
    assert table.names == pairs


def test_the_terminal_has_all_warnings_of_the_report_that_its_tables_do_not_show(demo: RunResult) -> None:
    summary = replace(demo.summary, undefined={"AP@10": 2}, empty_snippets=1)
    file = io.StringIO()
    print_parts(iter_run_parts(replace(demo, summary=summary)), Screen(file=file, width=1000))
    printed = file.getvalue().splitlines()
    warnings = list(filter(None, iter_warnings(ENGLISH, summary)))
    assert warnings == [
        "Snippets that seem to address the assessor or only repeat the query (grades unchanged): magpie 1.",
        "With 1 flagged pair counted as 0 or left out, the order of the engines by nDCG@10 stays the same.",
        "1 result shows no text at all: grade 0 without a call (flag empty_snippet)",
        "MAP@10 leaves out 2 of 12 queries: no relevant snippet in the pool.",
        "sDCG@10: no list goes below rank 5; missing results count as not relevant.",
    ]
    assert [line for line in printed if line in warnings] == warnings
    on_the_page = list(iter_page_warnings(ENGLISH, summary))
    assert [line for line in on_the_page if line in warnings] == warnings


def test_results_without_text_are_a_warning_wherever_a_run_is_shown(demo: RunResult) -> None:
    assert not any("without text" in remark for remark in demo.summary.remarks)
    engines = {
        name: replace(engine, no_snippet_share=0.75 if name == "magpie" else 0.25)
        for name, engine in demo.summary.engines.items()
    }
    summary = replace(demo.summary, engines=engines)
    text = "results without text, except a title, of these engines (in brackets: their share): magpie (75%)."
    for parts in (
        iter_run_parts(replace(demo, summary=summary)),
        iter_comparison_parts(summary, demo.folder, None, 9),
        iter_page_warnings(ENGLISH, summary),
    ):
        assert sum(isinstance(part, str) and part.startswith(text) for part in parts) == 1


def test_a_run_of_labels_is_not_called_one_of_term_overlap(demo: RunResult) -> None:
    most = LabelUse("labels.txt", demo.summary.pairs - 1, 0, None)
    for labels, is_warned in ((None, True), (most, False)):
        summary = replace(demo.summary, labels=labels)
        warnings = list(filter(None, iter_page_warnings(ENGLISH, summary)))
        assert any("term overlap" in warning for warning in warnings) == is_warned


def test_a_long_line_keeps_its_indentation() -> None:
    file = io.StringIO()
    Screen(file=file, width=30).print(Text("  a > b: ahead on 11 of 15 queries, behind on 3"))
    assert file.getvalue().splitlines() == [
        "  a > b: ahead on 11 of 15",
        "  queries, behind on 3",
    ]


@pytest.mark.parametrize("t", [ENGLISH, CHINESE])
def test_tables_of_many_measures_fit_into_eighty_columns(t: Translator, tmp_path: Path) -> None:
    measures = "nDCG@10 AP@10 P@5 RR@10 sDCG@10 R@10 ERR@10 RBP@10".split()
    judged = judge.run(str(example.find_dataset()), "lexical", out=str(tmp_path / "run"), measures=measures)
    # As a reranker and an engine with response times would add columns.
    engine = replace(
        judged.summary.engines["magpie"],
        latency_ms=Latency(120.0, 340.0, 12),
        tokens=TokenCount(18.0, 12),
    )
    summary = replace(judged.summary, engines={**judged.summary.engines, "magpie": engine})
    texts = {}
    for width in (80, 1000):
        file = io.StringIO()
        screen = Screen(file=file, width=width, highlight=False)
        with use_locale_language({"LANG": t.language}):
            print_parts(iter_run_parts(judged), screen)
            parts = iter_comparison_parts(summary, Path("run"), measures[:2], 21, details=True)
            print_parts(parts, screen)
        texts[width] = file.getvalue()
        lines = texts[width].splitlines()
        assert [line for line in lines if line != line.rstrip()] == []
        # A long path stays whole.
        assert max(cell_len(line) for line in lines if str(tmp_path) not in line) <= width
    # Every mean of the wide tables stands in the narrow ones.
    numbers = re.compile(r"(?<![\d.+-])[01]\.\d{4}(?!\d)")
    assert sorted(numbers.findall(texts[80])) == sorted(numbers.findall(texts[1000]))


@pytest.mark.parametrize("t", [ENGLISH, CHINESE])
def test_long_names_fold_where_numbers_would_not_fit(t: Translator, tmp_path: Path) -> None:
    text = (
        example.find_dataset()
        .read_text(encoding="utf-8")
        .replace('"magpie"', '"a search engine with a long name"')
    )
    (tmp_path / "data.jsonl").write_text(text, encoding="utf-8")
    data, out = str(tmp_path / "data.jsonl"), str(tmp_path / "run")
    result = judge.run(data, "lexical", out=out, costs=["lantern=5"], diversity=True, freshness=True)
    file = io.StringIO()
    with use_locale_language({"LANG": t.language}):
        print_parts(iter_run_parts(result), Console(file=file, width=80, highlight=False))
    lines = file.getvalue().splitlines()
    assert max(cell_len(line) for line in lines if str(tmp_path) not in line) <= 80  # a path stays whole
    assert re.search(r"^a search engine[ a-z]+0\.6357 .*\n[ a-z]*long name *$", file.getvalue(), re.MULTILINE)


def test_the_demo_has_no_english_word_in_chinese(demo: RunResult) -> None:
    file = io.StringIO()
    with use_locale_language({"LANG": "zh"}):
        print_parts(iter_run_parts(demo), Console(file=file, width=1000, highlight=False))
    commands = r"judge selftest -m|--out [^，]+|judge score \S+ --save|--store"
    names = rf"lexical(?:/graded)?|{commands}|lantern|compass|magpie|：/.*"
    text = re.sub(names, "", file.getvalue())
    assert set(re.findall("[A-Za-z]+", text)) == {"nDCG", "MAP", "P", "RR", "sDCG"}


def test_a_mean_over_other_queries_than_the_main_measure_has_their_number(demo: RunResult) -> None:
    lantern = demo.summary.engines["lantern"]
    of_nine = replace(lantern.measures["AP@10"], n=9)
    lantern = replace(lantern, measures={**lantern.measures, "AP@10": of_nine})
    summary = replace(demo.summary, engines={**demo.summary.engines, "lantern": lantern})
    rows = {
        "nDCG@10": r"^lantern +0\.8181 .* 12 +0\.7125 \(9\) +0\.5000 ",
        # The column of queries is that of the measure with an interval.
        "AP@10": r"^lantern +0\.8181 \(12\) +0\.7125 .* 9 +0\.5000 \(12\) ",
    }
    for measure, row in rows.items():
        file = io.StringIO()
        parts = iter_comparison_parts(summary, Path("run"), [measure], 1)
        print_parts(parts, Console(file=file, width=1000, highlight=False))
        assert re.search(row, file.getvalue(), re.MULTILINE)
        assert "\nin brackets: the number of queries of a mean, where it is not" in file.getvalue()
    cells = dict(make_engines_table(summary).rows)["lantern"]
    assert [", ".join(line.en for line in lines) for _, lines in cells[:4]] == [
        "0.7491 … 0.8870",
        "",
        "0.5590 … 0.8660, n = 9",
        "0.3516 … 0.6484",
    ]


def test_the_share_of_judged_results_is_in_the_table_at_0_too(demo: RunResult) -> None:
    engines = {name: replace(each, judged=0.0) for name, each in demo.summary.engines.items()}
    head = [column.title.en for column in make_returns_table(replace(demo.summary, engines=engines)).head]
    assert "judged" in head
    engines = {name: replace(each, judged=None) for name, each in engines.items()}  # no engine has a result
    head = [column.title.en for column in make_returns_table(replace(demo.summary, engines=engines)).head]
    assert "judged" not in head


def test_the_report_and_the_terminal_have_the_same_columns_of_what_came_back(demo: RunResult) -> None:
    magpie = replace(demo.summary.engines["magpie"], latency_ms=Latency(120.0, 340.0, 12))
    summary = replace(demo.summary, engines={**demo.summary.engines, "magpie": magpie})
    file = io.StringIO()
    parts = iter_comparison_parts(summary, Path("run"), None, 1, details=True)
    print_parts(parts, Console(file=file, width=1000, highlight=False))
    titles = r"judged +answered +empty +errors +duplicates +unique +ms median +ms p95 +tokens"
    assert re.search(rf"^what came back +{titles} *$", file.getvalue(), re.MULTILINE)
    head = "  ".join(column.title.en for column in make_returns_table(summary).head)
    assert re.fullmatch(titles, head)


def test_the_measure_that_decides_has_the_interval_and_orders_the_engines(tmp_path: Path) -> None:
    measures = ["AP(own)@10", "nDCG@10"]  # engines are not compared by the first
    result = judge.run(str(example.find_dataset()), "lexical", out=str(tmp_path / "run"), measures=measures)
    assert result.summary.sort_engines("AP(own)@10") == ["lantern", "magpie", "compass"]
    assert result.summary.sort_engines("nDCG@10") == ["lantern", "compass", "magpie"]
    rows = [line.split() for line in render_rows(result, ENGLISH, 1000)[:3]]
    assert [row[0] for row in rows] == ["lantern", "compass", "magpie"]
    # The mean by AP(own)@10, then the mean by nDCG@10 with its interval and its number of queries.
    assert rows[1][1:7] == ["0.7357", "0.7638", "0.7004", "to", "0.8272", "11"]


def test_an_engine_without_results_is_named_above_the_answer(tmp_path: Path) -> None:
    def make_query(number: int) -> dict[str, object]:
        found = [{"rank": 1, "snippet": f"the answer to question {number}", "title": "t"}]
        # "half" has a list for one query of two, "few" for three of four.
        lists = {"all": found, "none": [], "half": found * (number % 2), "few": found * (number % 4 > 0)}
        return {"query_id": f"q{number}", "query": f"question {number}", "engines": lists}

    result = judge.run([make_query(number) for number in range(8)], "lexical", out=str(tmp_path / "run"))
    advice = "counts as 0 there; check the collection before you use this result."
    warnings = [
        f"half returned nothing for 4 of 8 queries and {advice}",
        f"none returned nothing for 8 of 8 queries and {advice}",
    ]
    shown = [io.StringIO(), io.StringIO()]
    print_parts(iter_run_parts(result), Screen(file=shown[0], width=1000))
    print_parts(
        iter_comparison_parts(result.summary, result.folder, None, 9), Screen(file=shown[1], width=1000)
    )
    for file in shown:
        lines = file.getvalue().splitlines()
        assert lines[:2] == warnings
        assert not any(line.startswith("few returned") for line in lines)
    # Those that a run has printed before its first call are not printed again.
    rest = [part for part in iter_run_parts(result, printed=warnings[1:]) if part in warnings]
    assert rest == warnings[:1]
    page = re.sub("</?bdi>", "", (tmp_path / "run" / "report.html").read_text(encoding="utf-8"))
    assert [page.index(warning) < page.index("<h1>") for warning in warnings] == [True, True]
    assert "none 在 8 条查询中有 8 条没有返回任何结果" in page


def test_a_dataset_without_any_result_names_no_engine(tmp_path: Path) -> None:
    data = [{"query_id": "q1", "query": "a question", "engines": {"a": [], "b": []}}]
    result = judge.run(data, "lexical", out=str(tmp_path / "run"))
    assert list(warn_without_results(result.summary)) == []


def test_an_engine_without_results_for_the_only_query_is_named(tmp_path: Path) -> None:
    lists: dict[str, list[object]] = {"a": [{"rank": 1, "snippet": "text"}], "b": []}
    data = [{"query_id": "q1", "query": "a question", "engines": lists}]
    result = judge.run(data, "lexical", out=str(tmp_path / "run"))
    (warning,) = warn_without_results(result.summary)
    assert warning.startswith("b returned nothing for 1 of 1 queries and counts as 0 there; ")
