"""`judge compare` on the terminal: what is shown, that all of it is, and that names can't do harm."""

import io
import json
import random
import re
from collections import Counter
from collections.abc import Mapping
from copy import deepcopy
from pathlib import Path
from typing import Any

import pytest
from rich.console import Console

import judge
from judge.analysis.summary import Summary
from judge.cli.render.comparison_tables import iter_comparison_parts
from judge.cli.render.tables import print_parts
from judge.cli.terminal import use_locale_language
from judge.errors import InputError
from judge.files.json_text import dump_json
from judge.messages import CHINESE, ENGLISH, Translator
from judge.report.assessor_sentences import describe_repeats
from judge.report.comparison_sentences import choose_headline
from judge.report.display_text import escape_hidden
from judge.runs.record_json import summary_from_json, to_json

Row = dict[str, Any]


def make_rows(
    engines: tuple[str, ...] = ("bing", "sogou", "baidu"), queries: int = 8, seed: int = 0
) -> list[Row]:
    """Engines that show more or fewer words of the question."""
    chance = random.Random(seed)
    return [
        {
            "query_id": f"q{query}",
            # The marks make each query another one, and count as no words.
            "query": ("signs of anaemia in a puppy" if query % 3 else "小狗贫血的表现") + "?" * query,
            "engine": engine,
            "rank": rank,
            "snippet": " ".join(
                chance.choices(["anaemia", "puppy", "signs", "贫血", "food", "cat"], k=4 + query % 2)
            ),
            "topic": "vet" if query % 2 else "pet",
        }
        for query in range(queries)
        for engine in engines
        for rank in range(1, 6)
    ]


def summarise_run(folder: Path, data: list[Row], **options: Any) -> Mapping[str, Any]:
    """The summary of a run of the lexical model."""
    return to_json(judge.run(data, model="lexical", out=str(folder), depth=5, **options).summary)


def render_tables(
    result: Mapping[str, Any],
    *,
    measures: list[str] | None = None,
    pairs: int = 21,
    width: int = 1000,
    terminal: bool = False,
    details: bool = True,
    t: Translator = ENGLISH,
) -> str:
    stream = io.StringIO()
    console = Console(
        file=stream,
        width=width,
        highlight=False,
        force_terminal=terminal,
        color_system="truecolor" if terminal else None,
    )
    with use_locale_language({"LANG": t.language}):
        parts = iter_comparison_parts(load(result), Path("runs/a b"), measures, pairs, details=details)
        print_parts(parts, console)
    return stream.getvalue()


def load(result: Mapping[str, Any]) -> Summary:
    return summary_from_json(deepcopy(dict(result)), "summary.json")


@pytest.fixture(scope="module")
def three_engines(tmp_path_factory: pytest.TempPathFactory) -> Mapping[str, Any]:
    """Three engines, two repeats."""
    return summarise_run(tmp_path_factory.mktemp("three") / "run", make_rows(), repeats=2)


def test_the_answer_comes_first_and_the_numbers_after_it(three_engines: Mapping[str, Any]) -> None:
    output = render_tables(three_engines)
    lines = output.splitlines()
    assert lines[0].startswith("8 queries, 3 engines, judged down to rank 5 by lexical/graded, 2 repeats")
    labels = {"source": "people.qrels", "pairs": 7, "unmatched": 2, "check": None}
    assert render_tables({**three_engines, "labels": labels}).splitlines()[1:3] == [
        f"People graded 7 of {three_engines['pairs']} pairs (people.qrels).",
        "Labels that match no pair of this run are ignored: 2.",
    ]
    assert lines[0].endswith("100.0% judged")
    assert lines[1] == choose_headline(ENGLISH, load(three_engines))
    assert all(
        len(line) <= 80 for line in output.splitlines() if re.match(r"\w+ (?:[->]|=\?) \w|engine |by ", line)
    )
    for title in ("what came back ", "engine ", "by nDCG@5 ", "How to read it: "):
        assert output.count(f"\n{title}") == 1
    assert "MAP@5" in output
    deciding = load(three_engines).deciding_queries
    assert deciding is not None
    query = deciding.queries[0]
    start = f"{deciding.a} and {deciding.b} differ most on {query.query!r} ({query.difference:+.4f})"
    (line,) = [line for line in lines if line.startswith(start)]
    assert line.endswith(f" by nDCG@5. Grades and reasons: judge show 'runs/a b' --query {query.query_id}")
    assert start not in render_tables(three_engines, measures=["AP@5"])


def test_the_legend_and_tables_to_plan_with_are_details(three_engines: Mapping[str, Any]) -> None:
    brief, whole = (render_tables(three_engines, details=details) for details in (False, True))
    titles = ("engine ", "by nDCG@5 ", "what came back ", "to plan ", "over the repeats ", "How to read it: ")
    assert [f"\n{title}" in brief for title in titles] == [True, True, False, False, False, False]
    assert all(f"\n{title}" in whole for title in titles)
    assert brief.endswith("\n--details explains the columns and shows more tables.\n")
    assert "--details" not in whole
    # A sentence on a pair repeats its row, except where unjudged snippets leave the difference open.
    assert "; ahead on " not in brief
    unsure = deepcopy(dict(three_engines))
    unsure["comparisons"][0]["bounds"] = [-0.5, 0.5]
    output = render_tables(unsure, details=False)
    assert output.count("; with any grades of the unjudged -0.5000 to 0.5000") == 1


def test_the_legend_of_engines_without_a_shared_query_blames_no_snippet_alone(tmp_path: Path) -> None:
    data = [
        row for row in make_rows(("bing", "sogou")) if (row["engine"] == "bing") == (row["topic"] == "vet")
    ]
    output = render_tables(summarise_run(tmp_path / "run", data))
    assert "bing ? sogou" in output or "sogou ? bing" in output
    reason = "unjudged snippets could reverse the difference, or there is no query where both have a value"
    assert f"\na ? b: undetermined, {reason}\n" in output


def test_the_legend_explains_only_what_the_tables_show(three_engines: Mapping[str, Any]) -> None:
    legend = render_tables(three_engines).partition("How to read it: ")[2]
    terms = "95% interval", "a ≈ b", "detectable", "twice", "queries", "unique", "SD", "ICC"
    for term in terms:
        assert f"\n{term}: " in legend
    for term in ("worst case", "a ?? b", "ms", "tokens", "errors"):
        assert f"\n{term}: " not in legend
    noted = render_tables({**three_engines, "notes": {"AP@5": "why", "P@5": "why"}})
    assert noted.endswith("\nAP@5 and P@5: why.\n")


def test_every_engine_and_pair_has_its_row(three_engines: Mapping[str, Any]) -> None:
    output = render_tables(three_engines)
    for engine, row in three_engines["engines"].items():
        mean = row["measures"]["nDCG@5"]
        low, high = mean["ci95"]
        assert re.search(rf"^{engine} +{mean['mean']:.4f} +{low:.4f} to {high:.4f} ", output, re.MULTILINE)
    for row in three_engines["comparisons"][:3]:
        sign = "≈" if row["winner"] is None else ">"
        (line,) = re.findall(rf"^{row['a']} {re.escape(sign)} {row['b']} .*$", output, re.MULTILINE)
        assert f"{row['difference']:+.4f}" in line
        assert f"{row['wins']}/{row['ties']}/{row['losses']}" in line
        assert f"{row['p_adjusted']:.4f}" in line
        (line,) = re.findall(rf"^{row['a']} - {row['b']} .*$", output, re.MULTILINE)
        assert ("-" if row["d_z"] is None else f"{row['d_z']:+.2f}") in line


def test_slices_and_repeats_are_told_in_words(three_engines: Mapping[str, Any]) -> None:
    output = render_tables(three_engines)
    for start in (
        "lang en (5 queries), nDCG@5: ",
        "lang zh (3 queries)",
        "topic pet (4 queries)",
        "topic vet",
    ):
        assert f"\n{start}" in output
    stability = load(three_engines).stability
    assert stability is not None
    for line in describe_repeats(ENGLISH, stability, "nDCG@5"):
        assert f"\n{line}\n" in output


def test_other_measures_on_request(three_engines: Mapping[str, Any]) -> None:
    output = render_tables(three_engines, measures=["ap@5", "P@5"])
    assert re.findall(r"^by (\S+) ", output, re.MULTILINE) == ["MAP@5", "P@5"]


@pytest.mark.parametrize("measure", ["nDGC@5", "R@5", "AP(own)@5", "P"])
def test_a_measure_that_engines_were_not_compared_by_is_refused(
    three_engines: Mapping[str, Any], measure: str
) -> None:
    with pytest.raises(InputError):
        render_tables(three_engines, measures=[measure])


def test_a_refusal_names_what_there_is(three_engines: Mapping[str, Any]) -> None:
    with pytest.raises(
        InputError, match="not compared by R@5; name one of these measures: nDCG@5, AP@5, P@5, RR@5, sDCG@5"
    ):
        render_tables(three_engines, measures=["R@5"])


@pytest.mark.parametrize("pairs", [1, 2, 3])
def test_pairs_that_are_not_shown_are_counted(three_engines: Mapping[str, Any], pairs: int) -> None:
    output = render_tables(three_engines, pairs=pairs)
    assert len(re.findall(r"^\w+ [>≈] \w+ ", output, re.MULTILINE)) == pairs
    assert (f"{3 - pairs} more: --pairs 3" in output) == (pairs < 3)


@pytest.mark.parametrize("width", [40, 80, 120, 200])
def test_a_narrow_terminal_loses_no_name_and_no_number(three_engines: Mapping[str, Any], width: int) -> None:
    """A table that is split repeats names; each word and number of the wide output is there as often."""
    wide, narrow = render_tables(three_engines), render_tables(three_engines, width=width)
    # Lines break between Chinese characters.
    assert Counter(re.findall("[!-~]+", wide)) <= Counter(re.findall("[!-~]+", narrow))
    assert "…" not in render_tables(three_engines, width=width)


def test_chinese_has_the_same_lines_and_numbers_and_no_english_word(three_engines: Mapping[str, Any]) -> None:
    english, chinese = (
        render_tables(three_engines, t=t).split("\n\n")[0].splitlines() for t in (ENGLISH, CHINESE)
    )
    for line, translation in zip(english, chinese, strict=True):
        assert not re.search("[a-z]{6,}", re.sub("lexical/graded|alpha|'[^']*'", "", translation))
        if " " in line and not line.startswith(("With ", "judged again")):
            assert sorted(re.findall(r"\d+\.\d+", line)) == sorted(re.findall(r"\d+\.\d+", translation))


def test_a_mean_over_fewer_queries_than_its_segment_says_how_many(tmp_path: Path) -> None:
    failed = {"engine": "sogou", "query_id": "q1"}
    rows = [row for row in make_rows(("bing", "sogou")) if not failed.items() <= row.items()]
    rows.append(
        {**rows[0], **failed, "query": "signs of anaemia in a puppy?", "topic": "vet", "error": "503"}
    )
    del rows[-1]["snippet"], rows[-1]["rank"]
    output = render_tables(summarise_run(tmp_path / "run", rows))
    assert re.search(r"\nlang en \(5 queries\), nDCG@5: .*sogou \d\.\d{3} \(4 queries\)", output)
    assert re.search(r"\nlang zh \(3 queries\), nDCG@5: .*sogou \d\.\d{3}(,|;)", output)


def test_engines_that_return_the_same_have_no_interval(tmp_path: Path) -> None:
    rows = make_rows(("bing",))
    result = summarise_run(tmp_path / "run", [*rows, *({**row, "engine": "sogou"} for row in rows)])
    output = render_tables(result)
    assert "both have the same value on every query); +0.0000; ahead on 0 of" in output
    assert "no value: the run has that many, or the pair has no t test" in output
    assert re.search(r"\nbing ≈ sogou +\+0\.0000 +- +0/", output)
    assert "-1.0000" not in output


def test_one_engine_has_nothing_to_be_compared_with(tmp_path: Path) -> None:
    output = render_tables(summarise_run(tmp_path / "run", make_rows(("alone",))))
    assert "1 engine," in output
    assert "\n1 engine: nothing to compare.\n" in output
    assert "\nlang en (5 queries), nDCG@5: alone 1.000\n" in output
    assert "contains the true mean\n" in output
    assert "true differences" not in output
    assert "best" not in output
    assert not re.search("^by ", output, re.MULTILINE)


def rename_engines(result: Mapping[str, Any], names: Mapping[str, str]) -> Any:
    """The summary as a folder from somebody else may hold it, with other names in it."""
    text = dump_json(result)
    for name, other in names.items():
        text = text.replace(name, json.dumps(other)[1:-1])
    return json.loads(text)


def test_names_are_shown_and_never_obeyed(three_engines: Mapping[str, Any]) -> None:
    """Neither markup nor a terminal's control sequences, in names of engines, columns and their values."""
    hostile = {
        "bing": "[red]evil[/red]",
        "sogou": "\x1b[2Jclear",
        "baidu": "\u202eturned\x07 with\u3164fillers\u3000and blanks",
        "topic": "[bold]column\x1b[1m",
        "vet": "[/]\x1b]0;title\x07",
    }
    for terminal in (False, True):
        output = render_tables(
            rename_engines(three_engines, hostile), terminal=terminal, measures=["nDCG@5", "P@5"]
        )
        for name in hostile.values():
            assert escape_hidden(name) in output
        assert not {"\x07", "\u202e"} & {*output}
        styles = re.findall("\x1b.{0,3}", output)
        assert {style[:4] for style in styles} <= ({"\x1b[0m", "\x1b[1m", "\x1b[2m"} if terminal else set())


def test_a_line_break_in_a_name_makes_no_line_of_its_own(three_engines: Mapping[str, Any]) -> None:
    honest = render_tables(three_engines)
    output = render_tables(rename_engines(three_engines, {"bing": "x\nbing is best", "vet": "y\nz"}))
    assert output.count("\n") == honest.count("\n")
    assert r"x\nbing is best" in output


def test_the_dataset_can_bring_markup_of_its_own(tmp_path: Path) -> None:
    """What reading lets through: brackets in the name of an engine, anything in a column."""
    data = [{**each, "topic": f"{each['topic']}\x1b[31m[/red]\n"} for each in make_rows(("[red]evil", "b[]"))]
    output = render_tables(summarise_run(tmp_path / "run", data), terminal=True)
    assert "[red]evil" in output
    assert r"vet\x1b[31m[/red]" in output
    assert "\x1b[31m" not in output
