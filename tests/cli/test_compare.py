"""`judge compare`, and the lines of `judge run` about engines and repeats."""

import json
import os
import random
import re
import shutil
import subprocess
import sys
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

import pytest

from tests.support.command_line import make_words, run_judge
from tests.support.factories import (
    list_rows,
    make_rows,
    read_results,
    read_summary,
    reply_with_grade,
    write_rows,
)
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply

Row = dict[str, Any]

#: A returns many pages; B returns one page that A has at rank 2, and a weak result on the other query.
TOY = {
    "A": {"q1": [1, 3, 3, 2, 2], "q2": [3, 0, 3, 2, 2]},
    "B": {"q1": [3, 0, 0, 0, 0], "q2": [1]},
}


def make_toy_rows() -> Iterable[Row]:
    for engine, queries in TOY.items():
        for query, grades in queries.items():
            for rank, grade in enumerate(grades, start=1):
                shared = (engine, query, rank) in (("A", "q1", 2), ("B", "q1", 1))
                page = "shared" if shared else f"{engine}{query}{rank}"
                yield {
                    "query_id": query, "query": f"question {query}", "engine": engine, "rank": rank,
                    "url": f"https://x.example/{page}", "snippet": f"{engine} {query} {rank} grade={grade}",
                }  # fmt: skip


def make_graded_rows(seed: int, engines: Mapping[str, float], queries: int = 10) -> list[Row]:
    """Return rows with grades around the mean of each engine; some results are the same page."""
    chance = random.Random(seed)

    def make_result(query: int, engine: str, rank: int) -> Row:
        grade = sorted((0, round(chance.gauss(engines[engine], 1)), 3))[1]
        return {
            "query_id": f"q{query}",
            "query": f"question {query}" if query % 2 else f"问题 {query}",
            "engine": engine,
            "rank": rank,
            "topic": "abc"[query % 3],
            "url": f"https://x.example/{query}/{chance.randrange(20)}",
            "snippet": f"text {seed} {query} {engine} {rank} grade={grade}",
        }

    return [
        make_result(query, engine, rank)
        for query in range(queries)
        for engine in engines
        for rank in range(1, 6)
    ]


@pytest.fixture(scope="module")
def runs(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with the runs night1 (3 repeats), night2 (2) and other: night1 by another assessor."""
    folder = tmp_path_factory.mktemp("compare")
    night1 = write_rows(folder / "1.jsonl", make_graded_rows(1, {"bing": 2.5, "sogou": 1.0, "baidu": 0.8}))
    night2 = write_rows(
        folder / "2.jsonl", make_graded_rows(2, {"bing": 2.5, "sogou": 1.0, "so360": 0.8}, queries=9)
    )
    with LoopbackServer(reply_with_grade) as server:
        for name, data, repeats in (("night1", night1, 3), ("night2", night2, 2)):
            result = run_judge(
                *make_words(data, server), "--depth", 5, "--repeats", repeats, "--out", folder / name
            )
            assert result.returncode == 0, result.stderr
        other = ("run", night1, "-m", "openai:other", "--base-url", server.openai_url)
        assert run_judge(*other, "--depth", 5, "--out", folder / "other").returncode == 0
    return folder


def run_compare(*words: object) -> dict[str, Any]:
    """Return the output of `judge compare --json`."""
    result = run_judge("compare", *words, "--json")
    assert result.returncode == 0, result.stderr
    content: dict[str, Any] = json.loads(result.stdout)
    return content


def run_refused(*words: object) -> str:
    """Return the line of a refused command."""
    result = run_judge("compare", *words)
    assert result.returncode == 2
    assert result.stdout == ""
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr
    return result.stderr


# --- one engine against the others


def test_engines_are_compared_with_one_of_them_alone(runs: Path) -> None:
    every, chosen = (
        {(frozenset((row["a"], row["b"])), row["measure"]): row for row in summary["comparisons"]}
        for summary in (run_compare(runs / "night1", *words) for words in ((), ("--against", "sogou")))
    )
    assert {pair for pair, _ in chosen} == {frozenset(("bing", "sogou")), frozenset(("baidu", "sogou"))}
    assert len(chosen) * 3 == len(every) * 2
    assert all(row["difference"] == every[key]["difference"] for key, row in chosen.items())
    widths = [[high - low for low, high in (chosen[key]["ci95"], every[key]["ci95"])] for key in chosen]
    assert all(alone <= of_all for alone, of_all in widths)
    assert any(alone < of_all for alone, of_all in widths)
    text = run_judge("compare", runs / "night1", "--against", "sogou").stdout
    assert "\nCompared with sogou by nDCG@5: bing > sogou.\n" in text
    assert "bing, baidu" not in text
    text = run_judge("compare", runs / "night1", "--against", "baidu", "--ui-lang", "zh").stdout
    assert "\n按 nDCG@5 衡量，与 baidu 相比：bing > baidu。\n" in text


def test_against_is_an_engine_of_one_run(runs: Path) -> None:
    assert "--against is 'so360'; the run" in run_refused(runs / "night1", "--against", "so360")
    assert "there are 2 runs" in run_refused(runs / "night1", runs / "night2", "--against", "bing")


# --- why not by own lists


def test_the_wrong_winner_of_own_lists_is_explained(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "toy"
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(write_rows(tmp_path / "toy.jsonl", make_toy_rows()), server)
        completed = run_judge(
            *words, "--depth", 5, "--relevant-from", 1, "--measures", "nDCG@5 AP@5", "--out", out
        )
    assert completed.returncode == 0, completed.stderr
    result = read_summary(out)
    within = result["own_list_reversal"]
    assert (within["measure"], within["own"], within["n"]) == ("nDCG@5", "nDCG(own)@5", 2)
    assert (within["better"], within["worse"]) == ("A", "B")
    assert within["alone"] == pytest.approx([0.876, 1.0], abs=5e-4)
    assert within["pooled"] == pytest.approx([0.852, 0.280], abs=5e-4)
    assert within["relevant"] == pytest.approx([4.5, 1.0])
    map_of = {engine: row["measures"]["AP@5"]["mean"] for engine, row in result["engines"].items()}
    assert map_of == pytest.approx({"A": 0.822, "B": 0.200}, abs=5e-4)
    for text in (completed.stdout, run_judge("compare", out).stdout):
        (why,) = (line for line in text.splitlines() if "B comes first" in line)
        assert "(nDCG(own)@5: B 1.000, A 0.876, on 2 queries with a value of both)" in why
        assert "A shows 4.5 relevant results a query and B 1.0" in why
        assert "A is ahead, 0.852 to 0.280" in why
    # Measures that only this check needs are not printed.
    assert result["measures"] == ["nDCG@5", "AP@5"]
    assert "own" not in completed.stdout.splitlines()[2]
    assert read_results(out)["summary"] == result


def test_by_relevance_own_lists_say_the_same(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "toy"
    with LoopbackServer(reply_with_grade) as server:
        words = make_words(write_rows(tmp_path / "toy.jsonl", make_toy_rows()), server)
        result = run_judge(*words, "--depth", 5, "--relevant-from", 1, "--measures", "AP@5", "--out", out)
    assert result.returncode == 0, result.stderr
    within = read_summary(out)["own_list_reversal"]
    assert within["own"] == "AP(own)@5"
    assert within["alone"] == pytest.approx([0.902, 1.0], abs=5e-4)
    assert within["pooled"] == pytest.approx([0.822, 0.200], abs=5e-4)


# --- one run


def test_the_comparison_of_one_run_is_that_of_its_summary(runs: Path) -> None:
    result = run_judge("compare", runs / "night1")
    assert result.returncode == 0, result.stderr
    assert (
        "bing is best by nDCG@5: its leads over the 2 others are statistically significant." in result.stdout
    )
    assert "bing > sogou" in result.stdout
    assert "\nlang zh (5 queries), nDCG@5: bing " in result.stdout
    assert "\ntopic a (4 queries), nDCG@5: bing " in result.stdout
    assert "judged again, 0.0% of the verdicts" in result.stdout
    assert run_compare(runs / "night1") == read_summary(runs / "night1")


def test_json_has_every_pair_by_every_measure_slices_and_stability(runs: Path) -> None:
    result = run_compare(runs / "night1")
    assert len(result["comparisons"]) == 3 * 5
    assert {row["measure"] for row in result["comparisons"]} == set(result["measures"])
    assert {column: sorted(values) for column, values in result["segments"].items()} == {
        "lang": ["en", "zh"],
        "topic": ["a", "b", "c"],
    }
    assert set(result["stability"]["measures"]) == set(result["measures"])
    assert result["stability"]["flip_rate"]["value"] == 0
    # Ten queries without a flip: up to a share of 1 - .025^(1/10) of queries may have one.
    assert result["stability"]["flip_rate"]["ci95"] == pytest.approx([0, 0.3085], abs=5e-5)


def test_measures_and_pairs_are_chosen_by_name_and_number(runs: Path) -> None:
    result = run_judge("compare", runs / "night1", "--measures", "AP@5 p@5", "--pairs", 1)
    assert result.returncode == 0, result.stderr
    assert re.findall(r"^by (\S+) ", result.stdout, re.MULTILINE) == ["MAP@5", "P@5"]
    assert len(re.findall(r"^\w+ (?:>|=\?) \w+ ", result.stdout, re.MULTILINE)) == 2
    assert re.findall(r"^by \S+ \(descriptive\)", result.stdout, re.MULTILINE) == [
        "by MAP@5 (descriptive)",
        "by P@5 (descriptive)",
    ]
    assert result.stdout.count("… and 2 more: --pairs 3 or --json") == 1
    without_pairs = run_judge("compare", runs / "night1", "--pairs", 0).stdout
    assert "… and 3 more: --pairs 3 or --json" in without_pairs
    assert "won/tied/lost" not in without_pairs
    assert "to plan" not in without_pairs
    of_json = run_compare(runs / "night1", "--measures", "AP@5 p@5")["comparisons"]
    assert {pair["measure"] for pair in of_json} == {"AP@5", "P@5"}


def test_the_text_the_tables_and_the_segments_are_by_the_chosen_measure(runs: Path) -> None:
    """The mean of AP is MAP everywhere; pairs are tested in segments by the first measure alone."""
    printed = run_judge("compare", runs / "night1", "--measures", "AP@5").stdout
    assert "best by MAP@5 (descriptive: nDCG@5 decides): " in printed
    assert "\nby MAP@5 (descriptive) " in printed
    segments = re.findall(r"^(?:lang|topic) .*", printed, re.MULTILINE)
    assert len(segments) == 5
    assert all(re.search(r" queries\), MAP@5: (\w+ \d\.\d{3}(, |$)){3}", line) for line in segments)


def test_an_unknown_measure_or_pair_is_refused(runs: Path) -> None:
    assert "there is no measure 'nDGC'; write one of nDCG" in run_refused(
        runs / "night1", "--measures", "nDGC@5"
    )
    refused = run_refused(runs / "night1", "--measures", "AP(own)@5")
    assert "engines are not compared by AP(own)@5; name one of these measures: nDCG@5" in refused
    assert run_refused(runs / "night1", "--measures", "AP(own)@5", "--json") == refused
    assert "P@30" in run_refused(runs / "night1", "--measures", "P@30")
    result = run_judge("compare", runs / "night1", "--pairs", -1)
    assert (result.returncode, result.stdout) == (2, "")
    assert result.stderr.endswith("judge: --pairs is '-1'; it must be at least 0\n")


def test_enough_is_judged_where_the_run_says_so(tmp_path: Path) -> None:
    rows: list[Row] = [*list_rows({"q1": {"bing": ("what", "q1")}, "q2": {"bing": ("what",)}})]
    rows.append({**rows[-1], "rank": 2, "snippet": None})
    words = ("run", write_rows(tmp_path / "d.jsonl", rows), "-m", "lexical", "--out", tmp_path / "run")
    assert run_judge(*words, "--min-coverage", 0.7).returncode == 0
    assert "has no grade" not in run_judge("compare", tmp_path / "run").stdout
    assert run_judge(*words, "--min-coverage", 0.8).returncode == 3
    printed = run_judge("compare", tmp_path / "run").stdout
    assert printed.startswith("1 of 4 judgments has no grade (coverage 75.0%): the text is missing (1).")


def test_a_measure_that_the_runs_do_not_have_is_computed(runs: Path, tmp_path: Path) -> None:
    night1 = runs / "night1"
    names = read_summary(night1)["measures"]
    printed = run_judge("compare", night1, "--measures", "P@3")
    assert re.findall(r"^by (\S+) .descriptive", printed.stdout, re.MULTILINE) == ["P@3"]
    result = run_compare(night1, "--measures", "P@3")
    assert result["measures"] == [*names, "P@3"]
    assert {pair["measure"] for pair in result["comparisons"]} == {"P@3"}
    assert read_summary(night1)["measures"] == names
    copies = [Path(shutil.copytree(runs / name, tmp_path / name)) for name in ("night1", "night2")]
    for run, own in zip(copies, ("P@5", "RR@5"), strict=True):
        assert run_judge("score", run, "--save", "--measures", own).returncode == 0
    refused = run_refused(*copies)
    assert (
        "have no measure in common that compares engines; choose from these: --measures 'P@5 RR@5 " in refused
    )
    both = run_compare(*copies, "--measures", "P@3 RR@5")
    assert both["measures"] == ["P@3", "RR@5"]
    assert {pair["measure"] for pair in both["comparisons"]} == {"P@3", "RR@5"}


def test_a_folder_without_a_run_is_refused(runs: Path, tmp_path: Path) -> None:
    assert "absent" in run_refused(tmp_path / "absent")
    assert (
        "is not the folder of a finished run: name one that judge run or judge nightly wrote"
        in run_refused(tmp_path)
    )
    assert "is not the folder of a finished run: name" in run_refused(runs / "night1", tmp_path)
    assert list(tmp_path.iterdir()) == []


def test_a_summary_of_an_earlier_version_is_made_anew_and_not_written(runs: Path, tmp_path: Path) -> None:
    old = tmp_path / "old"
    old.mkdir()
    for name in ("results.json", "judgments.jsonl"):
        (old / name).write_bytes((runs / "night1" / name).read_bytes())
    result = read_summary(runs / "night1")
    for name in ("deciding_queries", "stability", "schema"):
        del result[name]
    for row in result["comparisons"]:
        row["p_holm"] = row.pop("p_adjusted")
    (old / "summary.json").write_text(json.dumps(result))
    assert run_compare(old) == read_summary(runs / "night1")
    assert run_judge("report", old).returncode == 0
    assert read_summary(old) == result


# --- runs side by side


def test_two_runs_are_compared_on_one_pool(runs: Path) -> None:
    result = run_compare(runs / "night1", runs / "night2")
    assert result["runs"] == [str(runs / "night1"), str(runs / "night2")]
    assert sorted(result["engines"]) == [
        "baidu", "bing (night1)", "bing (night2)", "so360", "sogou (night1)", "sogou (night2)",
    ]  # fmt: skip
    # First engines of both runs, then engines of one run.
    met = {frozenset((row["a"].split(" ")[0], row["b"].split(" ")[0])) for row in result["comparisons"]}
    assert met == {frozenset({"bing"}), frozenset({"sogou"}), frozenset({"baidu", "so360"})}
    assert len(result["comparisons"]) == 3 * 5
    assert (result["queries"], result["repeats"], result["coverage"]) == (9, 2, 1.0)
    queries, repeats, pool, pairs = result["remarks"]
    assert pairs == "engines are compared across runs; within a run: judge compare RUN"
    assert queries == "compared on the 9 queries that all runs have (night1 10, night2 9)"
    assert repeats == "the runs have different numbers of repeats; repeats compared of each: 2"
    assert pool.startswith("all runs are measured on one pool")
    alone = read_summary(runs / "night1")["engines"]["bing"]["measures"]
    both = result["engines"]["bing (night1)"]["measures"]
    assert both["nDCG@5"]["mean"] < alone["nDCG@5"]["mean"]
    assert both["nDCG@5"]["n"] == 9
    printed = run_judge("compare", runs / "night1", runs / "night2").stdout
    assert printed.startswith("\n".join(result["remarks"]))


def test_results_and_judgments_are_enough_for_a_comparison_of_runs(runs: Path, tmp_path: Path) -> None:
    copies = [Path(shutil.copytree(runs / name, tmp_path / name)) for name in ("night1", "night2")]
    for copy in copies:
        (copy / "summary.json").unlink()
    both = run_compare(runs / "night1", runs / "night2")
    assert run_compare(*copies) == {**both, "runs": list(map(str, copies))}


def test_the_order_of_the_runs_never_changes_a_number(runs: Path) -> None:
    for one, two in (("night1", "night2"), ("night1", "other")):
        first, second = run_compare(runs / one, runs / two), run_compare(runs / two, runs / one)
        for each in (first, second):
            del each["runs"], each["remarks"]
        assert first == second


def test_another_assessor_leaves_only_what_no_pool_divides(runs: Path) -> None:
    result = run_compare(runs / "night1", runs / "other")
    assert result["measures"] == ["P@5", "RR@5", "sDCG@5"]
    assert result["assessor"] == "openai:fake/graded and openai:other/graded"
    assert any("judged by different assessors" in remark for remark in result["remarks"])
    assert result["coverage"] == 1.0
    assert result["stability"] is None


@pytest.mark.parametrize(
    ("options", "expected"),
    [(("--depth", 4), "depth is 4 in one and 5"), (("--depth", 5, "--scale", "binary"), "scale is binary")],
)
def test_runs_with_other_options_are_refused_by_name(
    runs: Path, tmp_path: Path, options: tuple[object, ...], expected: str
) -> None:
    rows = write_rows(tmp_path / "d.jsonl", make_graded_rows(1, {"bing": 2}, queries=1))
    assert run_judge("run", rows, "-m", "lexical", *options, "--out", tmp_path / "mine").returncode == 0
    message = run_refused(runs / "night1", tmp_path / "mine")
    assert "mine and night1 can't be compared" in message
    assert expected in message


def test_runs_of_other_queries_are_refused(runs: Path, tmp_path: Path) -> None:
    for name, change, line in (
        ("elsewhere", {"query_id": "p"}, "share no query_id"),
        ("renamed", {"query_id": "q1", "query": "something else"}, "query_id 'q1' is 'question 1' in night1"),
    ):
        rows = [{**row, **change} for row in make_graded_rows(1, {"bing": 2}, queries=1)]
        data = write_rows(tmp_path / f"{name}.jsonl", rows)
        assert run_judge("run", data, "-m", "lexical", "--depth", 5, "--out", tmp_path / name).returncode == 0
        assert line in run_refused(runs / "night1", tmp_path / name)


def test_a_run_is_not_compared_with_itself(runs: Path) -> None:
    assert "named twice" in run_refused(runs / "night1", runs / "night1")
    assert "named twice" in run_refused(runs / "night1", runs / "night2" / ".." / "night1")


# --- the same whatever the order


def run_with_hash_seed(seed: int | None, *commands: Sequence[object]) -> str:
    """Run the commands, in a process with this hash seed unless it is None; return the last output."""
    if seed is None:
        return [run_judge(*words) for words in commands][-1].stdout
    script = (
        "import io, json, sys\n"
        "from judge.cli.main import main\n"
        "*first, last = json.loads(sys.argv[1])\n"
        "codes = [main(words, stdout=io.StringIO()) for words in first]\n"
        "sys.exit(any(codes) or main(last))"
    )
    words = json.dumps([list(map(str, command)) for command in commands])
    result = subprocess.run(
        [sys.executable, "-c", script, words],
        capture_output=True, text=True, check=True, env={**os.environ, "PYTHONHASHSEED": str(seed)},
    )  # fmt: skip
    return result.stdout


def test_neither_the_order_of_the_input_nor_of_hashes_changes_a_byte(tmp_path: Path) -> None:
    """Only the order of queries in the file changes the output."""
    rows = [
        {**row, "engine": f"[{row['engine']}]"} for row in make_graded_rows(3, {"b": 1.5, "a": 1.0, "c": 2.0})
    ]
    data = tmp_path / "d.jsonl"
    result = set()
    for order, seed in enumerate((None, None, 1)):  # the seed of this process is random
        random.Random(order).shuffle(rows)
        if order == 2:
            rows.sort(key=lambda row: row["query_id"], reverse=True)
        write_rows(data, rows)
        out = tmp_path / f"store{order}" / "run"
        words = ("run", data, "-m", "lexical", "--depth", 5, "--repeats", 2, "--out", out)
        printed = run_with_hash_seed(seed, words, ("compare", out))
        assert f"judge show {out} --query " in printed
        result.add(printed.replace(str(out), "RUN").encode())
        result.add((out / "summary.json").read_bytes())
    assert len(result) == 2


def test_hashes_change_no_byte_of_a_comparison_of_runs(runs: Path) -> None:
    words = ("compare", runs / "night1", runs / "night2", "--json")
    assert run_with_hash_seed(None, words) == run_with_hash_seed(1, words)


# --- repeats


def test_verdicts_of_repeats_come_from_the_store(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 6))
    with LoopbackServer(reply_with_grade) as server:
        words = (*make_words(data, server), "--repeats", 3, "--out", tmp_path / "runs" / "x")
        for _ in range(2):
            result = run_judge(*words)
            assert result.returncode == 0, result.stderr
            assert len(server.requests) == 36


def test_a_failure_counts_in_the_repeat_where_it_occurred(tmp_path: Path) -> None:
    def reject_one_repeat(request: ChatRequest) -> Reply:
        if request.attempt == 2 and "text 0.0.1 " in request.prompt:
            return Reply(status=400, body='{"error": {"code": "content_filter", "message": "filtered"}}')
        return reply_with_grade(request)

    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 4))
    with LoopbackServer(reject_one_repeat) as server:
        words = (*make_words(data, server), "--repeats", 3, "--out", tmp_path / "runs" / "x")
        result = run_judge(*words, "--concurrency", 1, "--attempts", 1)
    assert result.returncode == 3
    assert "judged again, 0.0% of the verdicts" in result.stdout


def test_a_single_repeat_is_not_compared(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 2))
    result = run_judge("run", data, "-m", "lexical", "--out", tmp_path / "runs" / "x")
    assert "judged again" not in result.stdout


def test_repeats_that_never_succeeded_twice_say_so(tmp_path: Path) -> None:
    """All calls of the second repeat fail: stability is unknown."""
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 2, 2))

    def reject_repeats(request: ChatRequest) -> Reply:
        refusal = '{"error": {"code": "content_filter", "message": "filtered"}}'
        return reply_with_grade(request) if request.attempt == 1 else Reply(status=400, body=refusal)

    out = tmp_path / "runs" / "x"
    with LoopbackServer(reject_repeats) as server:
        words = (*make_words(data, server), "--repeats", 2, "--out", out, "--attempts", 1, "--concurrency", 1)
        result = run_judge(*words)
    assert result.returncode == 3
    assert "Traceback" not in result.stderr
    assert "stability is unknown: no pair was judged twice" in result.stdout
    assert read_summary(out)["stability"]["pairs"] == 0
