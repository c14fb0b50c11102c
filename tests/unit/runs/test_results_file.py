"""results.json of somebody else: every command refuses values that judge never writes."""

import json
import math
import re
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

import judge
from judge import finished_run
from judge.cli.show import find_query
from judge.errors import InputError
from judge.files.json_text import dump_json
from judge.runs.results_file import (
    EngineEntry,
    JudgmentEntry,
    QueryEntry,
    SnippetEntry,
    StoredEntries,
    open_results,
)
from tests.support.factories import make_rows, read_results

COMMANDS: dict[str, Callable[[Path], object]] = {
    "score": judge.score,
    "show": lambda run: find_query(run, "q1"),
    "report": finished_run.rewrite_report,
}


def edit_results(run: Path, edit: Callable[[list[Any]], object], *, indented: bool = False) -> None:
    """Write results.json of a run with what `edit` does to the list of its queries."""
    results = read_results(run)
    edit(results["queries"])
    path = run / "results.json"
    head, separator, _ = path.read_text("utf-8").partition('"queries": [\n')
    lines = ",\n".join(map(dump_json, results["queries"]))
    text = json.dumps(results, indent=1) if indented else f"{head}{separator}{lines}\n]}}\n"
    path.write_text(text, "utf-8")


def write_with_grade(run: Path, grade: object, *, indented: bool = False) -> None:
    """Write `grade` into the results.json of a run: query q1, engine1, rank 2."""

    def edit(queries: list[Any]) -> None:
        query = next(each for each in queries if each["query_id"] == "q1")
        (judgment,) = query["engines"]["engine1"]["snippets"][1]["judgments"]
        judgment["grade"] = grade

    edit_results(run, edit, indented=indented)


@pytest.fixture
def make_run(tmp_path: Path) -> Callable[[str], Path]:
    """Return a function that makes a run on a scale and returns its folder."""

    def make(scale: Any) -> Path:
        judge.run(make_rows(2, 2, 3), "lexical", scale=scale, out=str(tmp_path / "run"))
        return tmp_path / "run"

    return make


@pytest.mark.parametrize(("scale", "grade", "top"), [("graded", 99, 3), ("graded", -1, 3), ("binary", 2, 1)])
def test_a_grade_off_the_scale_is_refused(
    scale: str, grade: int, top: int, make_run: Callable[[str], Path]
) -> None:
    run = make_run(scale)
    for indented, names in ((False, COMMANDS), (True, ("score", "show"))):
        write_with_grade(run, grade, indented=indented)
        for name in names:
            with pytest.raises(InputError) as refused:
                COMMANDS[name](run)
            assert str(refused.value).startswith(
                f"{run}/results.json: query 'q1', engine 'engine1': result 2 has rank 2 and the grades"
                f" [{grade}], not rank 2 and grades from 0 to {top}"
            ), name


@pytest.mark.parametrize("grade", [True, 1.5, 1.0, "1"])
def test_a_grade_of_another_type_is_refused(grade: object, make_run: Callable[[str], Path]) -> None:
    run = make_run("graded")
    write_with_grade(run, grade)
    place = f"{run}/results.json: queries[1]: field 'engines.engine1.snippets.1.judgments.0.grade'"
    for command in COMMANDS.values():
        with pytest.raises(InputError, match=re.escape(f"{place} is {grade!r}, not a whole number")):
            command(run)


def test_the_grades_of_the_scale_are_read(make_run: Callable[[str], Path]) -> None:
    run = make_run("binary")
    write_with_grade(run, 1)
    assert find_query(run, "q1")[0].engines["engine1"].snippets[1].judgments[0].grade == 1


@pytest.mark.parametrize("indented", [False, True])
def test_ranks_that_do_not_count_the_results_are_refused(
    indented: bool, make_run: Callable[[str], Path]
) -> None:
    def swap_ranks(queries: list[Any]) -> None:
        first, second, _ = queries[0]["engines"]["engine0"]["snippets"]
        first["rank"], second["rank"] = 2, 1

    run = make_run("graded")
    edit_results(run, swap_ranks, indented=indented)
    for name in ("score", "show"):
        with pytest.raises(InputError) as refused:
            COMMANDS[name](run)
        assert str(refused.value).startswith(
            f"{run}/results.json: query 'q0', engine 'engine0': result 1 has rank 2 and the grades"
        ), name


@pytest.mark.parametrize("indented", [False, True])
def test_a_query_that_occurs_twice_is_refused(indented: bool, make_run: Callable[[str], Path]) -> None:
    run = make_run("graded")
    edit_results(run, lambda queries: queries.append(queries[0]), indented=indented)
    with pytest.raises(InputError) as refused:
        judge.score(run)
    assert str(refused.value).startswith(f"{run}/results.json: query 'q0' occurs twice; run the judge run or")


@pytest.mark.parametrize("text", ["NaN", "inf", "-Infinity"])
def test_a_text_that_names_no_finite_number_is_refused(text: str, make_run: Callable[[str], Path]) -> None:
    run = make_run("graded")
    edit_results(run, lambda queries: queries[0]["engines"]["engine0"].update(latency_ms=text))
    with pytest.raises(InputError, match=f"field 'engines.engine0.latency_ms' is '{text}', not a number"):
        judge.score(run, save=True)


def make_entry(number: float) -> QueryEntry:
    """Return a query with one number wherever a number need not be whole."""
    judgment = JudgmentEntry(
        repeat=0,
        verdict="yes",
        grade=1,
        reason="",
        error=None,
        flags=(),
        score=number,
        probabilities=(number, 0.5),
    )
    snippet = SnippetEntry(
        rank=1, snippet_id="s", document="s", title="", url="", snippet="茶", judgments=(judgment,)
    )
    engine = EngineEntry(
        scores={"nDCG@10": number, "P@5": None},
        latency_ms=number,
        dimensions={"diversity": {"similarity@10": number}},
        snippets=(snippet,),
    )
    return QueryEntry(query_id="q", query="茶", lang="zh", engines={"a": engine})


@pytest.mark.parametrize("number", [0.0, -0.0, 1.0, 1e-4, 9.9e-5, 1e-7, -1e-7, 5e-324, 9e15, 1e16, 1.25e17])
def test_numbers_are_written_as_the_standard_library_writes_them(
    number: float, make_run: Callable[[str], Path], tmp_path: Path
) -> None:
    entries = StoredEntries(tmp_path)
    entries.add(make_entry(number))
    assert list(entries.read()) == [make_entry(number)]
    summary, _ = open_results(make_run("graded") / "results.json")
    *_, line, _ = entries.format_chunks("run", summary)
    text = line.decode() if isinstance(line, bytes) else line
    assert text == json.dumps(json.loads(text), ensure_ascii=False)


@pytest.mark.parametrize("number", [math.nan, math.inf, -math.inf])
def test_a_number_that_json_lacks_is_refused_and_not_null(number: float, tmp_path: Path) -> None:
    with pytest.raises(ValueError, match="JSON"):
        StoredEntries(tmp_path).add(make_entry(number))
