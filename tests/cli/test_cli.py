"""The other commands, run as a user types them."""

import io
import json
import os
import shutil
import subprocess
import sys
import tracemalloc
from pathlib import Path

import pytest

from judge import example
from judge.cli.main import main
from judge.cli.show import find_query
from judge.config.option_checks import list_options
from judge.config.run import Config
from judge.errors import InputError
from tests.support.command_line import make_words, run_judge
from tests.support.factories import make_rows, read_results, reply_with_grade, write_rows
from tests.support.fake_server import LoopbackServer, Reply


def test_the_demo_judges_both_languages_and_separates_no_results_from_errors(demo: Path) -> None:
    result = read_results(demo)
    assert {query["lang"] for query in result["queries"]} == {"zh", "en"}
    engines = result["summary"]["engines"]
    assert engines["magpie"]["empty"] == 1
    assert engines["compass"]["errors"] == 1
    assert engines["compass"]["measures"]["P@5"]["n"] == 11
    assert result["summary"]["dedup_saving"] > 0.3
    assert result["summary"]["coverage"] == 1.0
    reasons = [
        judgment["reason"]
        for query in result["queries"]
        for engine in query["engines"].values()
        for snippet in engine["snippets"]
        for judgment in snippet["judgments"]
    ]
    assert all(reasons)


def test_demo_again_prints_the_same_table(demo: Path) -> None:
    first, second = run_judge("demo", "--out", demo), run_judge("demo", "--out", demo)
    assert first.stdout == second.stdout
    assert "MAP@10" in first.stdout
    assert "The lexical model only counts overlapping terms" in first.stdout
    assert first.stdout.endswith(" -m openai:NAME\n")  # the line can be copied


def test_score_measures_again_without_a_call_and_keeps_the_rest(demo: Path) -> None:
    before = read_results(demo)
    result = run_judge("score", demo, "--save", "--measures", "nDCG@5 AP(own)@5 SetP Judged@10")
    assert result.returncode == 0, result.stderr
    after = read_results(demo)
    assert after["summary"]["measures"] == ["nDCG@5", "AP(own)@5", "SetP", "Judged@10"]
    assert after["summary"]["cost"] == before["summary"]["cost"]
    for old, new in zip(before["queries"], after["queries"], strict=True):
        assert {name: answer["snippets"] for name, answer in old["engines"].items()} == {
            name: answer["snippets"] for name, answer in new["engines"].items()
        }
    assert (demo / "scores.csv").read_text("utf-8").startswith("engine,query_id,repeat,measure,value,")


def test_score_prints_and_changes_no_file_unless_told_to(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "demo"
    run_judge("demo", "--out", out)
    files = {path.name: path.read_bytes() for path in out.iterdir()}
    result = run_judge("score", out, "--measures", "P@1")
    assert result.returncode == 0, result.stderr
    assert "P@1" in result.stdout
    assert f"the files in {out} are unchanged; --save writes this to them" in result.stdout
    assert {path.name: path.read_bytes() for path in out.iterdir()} == files


@pytest.mark.parametrize("part", [0.0, 0.5])
def test_judgments_that_are_cut_off_are_not_scored(tmp_path: Path, part: float) -> None:
    out = tmp_path / "runs" / "demo"
    run_judge("demo", "--out", out)
    path = out / "judgments.jsonl"
    lines = path.read_text("utf-8").splitlines(keepends=True)
    rest = lines[: int(part * len(lines))]
    path.write_text("".join(rest), "utf-8")
    expected = read_results(out)["summary"]["grades"]
    for words in (("score", out), ("score", out, "--save"), ("score", out, "--measures", "P@1")):
        result = run_judge(*words)
        assert result.returncode == 2
        assert result.stderr.count("\n") == 1
        assert f"{path}: holds {len(rest)} of {len(lines)} judgments" in result.stderr
        assert f"results.json says 'grades' {expected!r}" in result.stderr


def test_measures_are_taken_as_they_are_listed(tmp_path: Path) -> None:
    """Names of measures have spaces and commas inside parentheses; both also separate names."""
    measures = "RBP(rel=1, p=0.8)@10, nDCG(own, dcg='exp-log2')@4;AP@10  p@5"
    names = ["RBP(rel=1,p=0.8)@10", "nDCG(own,dcg='exp-log2')@4", "AP@10", "P@5"]
    data, out = write_rows(tmp_path / "d.jsonl", make_rows(3, 2, 3)), tmp_path / "runs" / "x"
    result = run_judge("run", data, "-m", "lexical", "--out", out, "--measures", measures)
    assert result.returncode == 0, result.stderr
    assert read_results(out)["summary"]["measures"] == names
    result = run_judge("score", out, "--save", "--measures", measures.replace("AP@10", "AP@5"))
    assert result.returncode == 0, result.stderr
    assert read_results(out)["summary"]["measures"] == [*names[:2], "AP@5", "P@5"]
    result = run_judge("compare", out, "--measures", "P@5, RBP(rel=1, p=0.8)@10")
    assert result.returncode == 0, result.stderr
    assert "RBP(rel=1,p=0.8)@10" in result.stdout


def test_scoring_again_with_the_run_s_own_measures_changes_no_byte(tmp_path: Path) -> None:
    out = tmp_path / "runs" / "demo"
    run_judge("demo", "--out", out)
    files = {path.name: path.read_bytes() for path in out.iterdir() if path.suffix}
    result = run_judge("score", out, "--save")
    assert result.returncode == 0, result.stderr
    assert {path.name: path.read_bytes() for path in out.iterdir() if path.suffix} == files


def test_show_prints_grades_and_reasons(demo: Path) -> None:
    query = read_results(demo)["queries"][0]
    result = run_judge("show", demo, "--query", query["query_id"])
    assert result.returncode == 0, result.stderr
    assert query["query"] in result.stdout
    for engine, answer in query["engines"].items():
        assert engine in result.stdout
        for snippet in answer["snippets"]:
            assert snippet["url"] in result.stdout
    assert "<em>" not in result.stdout
    assert run_judge("show", demo, "--query", "nope").returncode == 2
    unnamed = run_judge("show", demo)
    assert unnamed.returncode == 2
    assert f"{demo}: name one of its queries with --query; it has 12, e.g. '" in unnamed.stderr


def test_show_takes_the_text_of_a_query(demo: Path) -> None:
    query = read_results(demo)["queries"][1]
    by_text = run_judge("show", demo, "--query", query["query"])
    assert by_text.stdout == run_judge("show", demo, "--query", query["query_id"]).stdout != ""


def test_show_takes_an_id_or_a_text_in_any_unicode_form(tmp_path: Path) -> None:
    rows = [{"query_id": "1 caf\u00e9", "query": "2 cafe\u0301", "engines": {"a": ["text"]}}]
    write_rows(tmp_path / "d.jsonl", rows)
    run_judge("run", tmp_path / "d.jsonl", "-m", "lexical", "--out", tmp_path / "run")
    for name in ("1 caf\u00e9", "1 cafe\u0301", "2 caf\u00e9", "2 cafe\u0301"):
        assert run_judge("show", tmp_path / "run", "--query", name).returncode == 0


def test_show_says_which_engine_has_no_row_for_the_query(tmp_path: Path) -> None:
    rows = [
        {"query": "first", "engines": {"e2": [{"snippet": "first text"}], "a": [], "e10": {"error": "down"}}},
        {"query": "second", "engines": {"e2": [{"snippet": "second text"}]}},
    ]
    write_rows(tmp_path / "d.jsonl", rows)
    out = tmp_path / "run"
    assert run_judge("run", tmp_path / "d.jsonl", "-m", "lexical", "--out", out).returncode in (0, 3)
    shown = {query: run_judge("show", out, "--query", query).stdout for query in ("first", "second")}
    assert "no row" not in shown["first"]
    lines = shown["second"].splitlines()
    assert [line for line in lines if line.startswith(("a", "e"))] == [
        "a  no row for this query",
        "e2  " + lines[4].removeprefix("e2  "),
        "e10  no row for this query",
    ]


def test_show_prefers_the_id_to_the_text(demo: Path, tmp_path: Path) -> None:
    results = read_results(demo)
    first, second = results["queries"][:2]
    first["query"] = second["query_id"]
    write_results(tmp_path, json.dumps(results))
    assert find_query(tmp_path, second["query_id"])[0].query_id == second["query_id"]
    assert find_query(tmp_path, second["query"])[0].query_id == second["query_id"]


def test_show_asks_for_the_id_where_several_queries_have_the_text(demo: Path, tmp_path: Path) -> None:
    results = read_results(demo)
    first, second = results["queries"][:2]
    second["query"] = first["query"]
    write_results(tmp_path, json.dumps(results))
    with pytest.raises(InputError) as refusal:
        find_query(tmp_path, first["query"])
    assert f"2 queries have the text {first['query']!r}; name one by its id" in str(refusal.value)
    assert str(refusal.value).endswith(f"e.g. {first['query_id']}, {second['query_id']}")
    assert find_query(tmp_path, second["query_id"])[0].query_id == second["query_id"]


@pytest.mark.parametrize(
    ("query", "similar"),
    [
        ("vegan protein", "'Vegan protein sources for runners, with recipes'"),
        (
            "vegan protien sources for runners with recipe",
            "'Vegan protein sources for runners, with recipes'",
        ),
        ("q7", "q77"),
        ("something else", "q77, q2"),
    ],
)
def test_show_names_similar_queries(demo: Path, tmp_path: Path, query: str, similar: str) -> None:
    results = read_results(demo)
    results["queries"] = results["queries"][:2]
    first, second = results["queries"]
    first |= {"query_id": "q77", "query": "Vegan protein sources for runners, with recipes"}
    second |= {"query_id": "q2", "query": "a lost bank card"}
    write_results(tmp_path, json.dumps(results))
    with pytest.raises(InputError, match=f"has no query '{query}'; it has 2, e.g. {similar}$"):
        find_query(tmp_path, query)


def test_a_results_file_of_another_layout_is_read(demo: Path, tmp_path: Path) -> None:
    results = read_results(demo)
    query = "--query", results["queries"][1]["query_id"]
    run = tmp_path / demo.name
    shutil.copytree(demo, run)
    write_results(run, json.dumps(results, indent=1))
    result = run_judge("show", run, *query)
    assert result.returncode == 0, result.stderr
    assert result.stdout == run_judge("show", demo, *query).stdout
    assert run_judge("report", run).returncode == 0
    assert (run / "report.html").read_bytes() == (demo / "report.html").read_bytes()


def test_show_holds_one_query_at_a_time(demo: Path, tmp_path: Path) -> None:
    start, queries = (demo / "results.json").read_text("utf-8").split('"queries": [\n')
    line = queries.partition("\n")[0].removesuffix(",")
    query_id = json.loads(line)["query_id"]
    lines = (line.replace(json.dumps(query_id), json.dumps(f"q{number}")) for number in range(500))
    write_results(tmp_path, start + '"queries": [\n' + ",\n".join(lines) + "\n]}\n")
    tracemalloc.start()
    entry, _ = find_query(tmp_path, "q400")
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    assert entry.query_id == "q400"
    assert peak < (tmp_path / "results.json").stat().st_size / 4


def write_results(folder: Path, text: str) -> None:
    (folder / "results.json").write_text(text, "utf-8")


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["run"], "no dataset was named"),
        (["run", "--topics", "t.tsv", "--docs", "d.tsv"], "; add --run"),
        (["run", "d.jsonl", "--topics", "t.tsv"], "; add --docs and --run"),
        (["run", "--topics", "t.tsv", "--run", "r.txt"], "add --docs"),
        (["run", "d.jsonl", "--run", "r.txt"], "add --topics and --docs"),
        (["run", "absent.jsonl", "-m", "lexical"], "absent.jsonl: no such file"),
        (["run", example.find_dataset()], "no model was named"),
        (["run", example.find_dataset(), "-m", "gpt-9"], "openai:NAME"),
        (
            ["run", example.find_dataset(), "-m", "lexical", "--measures", "nDGC@10"],
            "there is no measure 'nDGC'",
        ),
        (["run", example.find_dataset(), "-m", "lexical", "--measures", "nDCG@50"], "--depth"),
        (["run", example.find_dataset(), "-m", "lexical", "--scale", "stars"], "'binary'"),
        (["run", example.find_dataset(), "-m", "lexical", "--lang", "fr"], "'zh'"),
        (["run", example.find_dataset(), "-m", "lexical", "--repeats", 0], "--repeats is 0;"),
        (["run", example.find_dataset(), "-m", "lexical", "--costs", "a=x"], "--costs is 'a=x';"),
        (
            ["run", example.find_dataset(), "-m", "lexical", "--costs", "a=1,list, a=2"],
            "--costs is 'a=2'; it must be --costs ENGINE=USD per 1,000 queries, each engine at most once, or",
        ),
        (["run", example.find_dataset(), "-m", "lexical", "--prompts", "nowhere"], "nowhere"),
        (["run", example.find_dataset(), "-m", "lexical", "--price", "cheap"], "--price is 'cheap'; it must"),
        (["estimate", example.find_dataset(), "-m", "openai:m", "--price", "1e308,1"], "is '1e308,1'; it"),
        (["run", example.find_dataset(), "-m", "lexical", "--config", "absent.toml"], "absent.toml"),
        (["run", example.find_dataset(), example.find_dataset(), "-m", "lexical"], "a run has one"),
        (["run", "--run", "x.run", "-m", "lexical"], "--topics"),
        (["score", "absent"], "absent"),
        (["show", "absent", "--query", "q"], "absent"),
    ],
)
def test_wrong_usage_is_one_clear_line_and_exit_code_2(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, words: list[object], expected: str
) -> None:
    monkeypatch.chdir(tmp_path)
    result = run_judge(*words)
    assert result.returncode == 2
    assert expected in result.stderr
    assert result.stderr.count("\n") == 1
    assert "Traceback" not in result.stderr


def test_a_missing_key_says_which_variable_to_set(tmp_path: Path) -> None:
    for model, variable in (("openai:m", "OPENAI_API_KEY"), ("dashscope:m", "DASHSCOPE_API_KEY")):
        result = run_judge(
            "run", example.find_dataset(), "-m", model, "--out", tmp_path / "r", OPENAI_API_KEY=""
        )
        assert result.returncode == 2
        assert variable in result.stderr


def test_control_sequences_of_a_server_are_escaped(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 1))
    refusal = Reply(status=401, body=json.dumps({"error": {"message": "\x1b[2J\u202egone"}}))
    with LoopbackServer(lambda _: refusal) as server:
        result = run_judge(
            "run", data, "-m", "openai:fake", "--base-url", server.openai_url, "--out", tmp_path / "r"
        )
    assert result.returncode == 3
    assert r"\x1b[2J\x202egone" in result.stderr
    assert result.stderr.replace("\n", "").isprintable()


def test_options_come_from_a_toml_file_and_the_command_line_wins(tmp_path: Path) -> None:
    toml = tmp_path / "judge.toml"
    toml.write_text('model = "lexical"\nscale = "binary"\nmeasures = ["P@5"]\ndepth = 5\n')
    out = tmp_path / "runs" / "x"
    result = run_judge("run", example.find_dataset(), "--config", toml, "--depth", 6, "--out", out)
    assert result.returncode == 0, result.stderr
    config = json.loads((out / "config.json").read_text("utf-8"))
    assert (config["options"]["scale"], config["options"]["depth"]) == ("binary", 6)
    assert read_results(out)["summary"]["measures"] == ["P@5"]
    # Editors of Windows write a byte-order mark.
    toml.write_text('modle = "lexical"\n', "utf-8-sig")
    assert "did you mean 'model'" in run_judge("run", example.find_dataset(), "--config", toml).stderr
    for line, text in {
        'depth = "ten"': "depth is 'ten'; it must be a whole number",
        "columns = false": 'columns is false; it must be a table such as {snippet = "text"}',
    }.items():
        toml.write_text(f'model = "lexical"\n{line}\n')
        stderr = run_judge("run", example.find_dataset(), "--config", toml).stderr
        assert stderr == f"judge: {toml}: {text}\n"


def test_a_run_without_a_name_gets_one_that_the_same_command_finds_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = write_rows(tmp_path / "night.jsonl", make_rows(1, 1, 2))
    monkeypatch.chdir(tmp_path)
    for _ in range(2):
        assert run_judge("run", data, "-m", "lexical").returncode == 0
    (folder,) = [
        path
        for path in (tmp_path / "runs").iterdir()
        if path.is_dir() and path.name != "verdicts.sqlite.locks"
    ]
    assert folder.name.startswith("night-lexical-")


def test_estimate_says_why_there_is_nothing_to_judge(tmp_path: Path) -> None:
    rows = [{"query": "tea", "engine": "a", "snippet": "green tea", "expected": ["x"]}]
    labelled = run_judge("estimate", write_rows(tmp_path / "labelled.jsonl", rows), "-m", "expected")
    assert labelled.stdout.startswith(
        "1 result, 0 pairs to judge, 1 repeat\nPairs whose grade comes from 'expected': 1 of 1.\n"
    )
    rows = [{"query": "tea", "engine": "a", "error": "HTTP 500"}]
    failed = run_judge("estimate", write_rows(tmp_path / "failed.jsonl", rows), "-m", "lexical")
    assert "\nthere is nothing to judge: the dataset has errors of engines and no result; " in failed.stdout


def test_estimate_counts_what_is_still_to_be_paid(tmp_path: Path) -> None:
    data = write_rows(tmp_path / "d.jsonl", make_rows(2, 1, 10))
    with LoopbackServer(reply_with_grade) as server:
        words = (data, "-m", "openai:fake", "--base-url", server.openai_url, "--out", tmp_path / "runs" / "x")
        before = run_judge("estimate", *words, "--price", "1,2")
        assert before.returncode == 0, before.stderr
        assert "20 calls to pay" in before.stdout
        assert "$" in before.stdout
        assert server.requests == []
        run_judge("run", *words, "--max-calls", 5)
        assert "5 without a call, 15 calls to pay" in run_judge("estimate", *words).stdout


def test_custom_prompts_are_used(tmp_path: Path) -> None:
    folder = tmp_path / "prompts"
    for lang in ("zh", "en"):
        (folder / lang).mkdir(parents=True)
        (folder / lang / "graded.jinja").write_text(
            "{% block system %}Answer in JSON. Our rules apply.{% endblock %}"
            "{% block user %}Query: {{ query }}\n<<<{{ mark }}\n"
            "{{ title }}{{ date }}{{ snippet }}\n{{ mark }}>>>\n"
            "{{ reference }}{{ as_of }}{% endblock %}{% block again %}Just the grade.{% endblock %}"
        )
    data = write_rows(tmp_path / "d.jsonl", make_rows(1, 1, 1))
    with LoopbackServer(reply_with_grade) as server:
        result = run_judge(*make_words(data, server), "--prompts", folder,
                       "--out", tmp_path / "runs" / "x")  # fmt: skip
        assert result.returncode == 0, result.stderr
        assert "Our rules apply." in server.requests[0].prompt


def test_measures_are_listed_as_they_are_written() -> None:
    output = run_judge("measures").stdout
    for name in ("nDCG[(own, dcg='exp-log2')][@k]", "AP[(own, rel=1)][@k]", "SetP", "RBP", "Judged@k"):
        assert name in output
    for parameter in ("own", "granular", "rel=1", "dcg='exp-log2'", "p=0.8"):
        assert f"\n{parameter}: " in output


def test_help_lists_every_command() -> None:
    result = run_judge("--help")
    assert result.returncode == 0
    for name in ("demo", "run", "score", "show", "estimate", "measures"):
        assert name in result.stdout


def test_help_imports_no_library_that_takes_long() -> None:
    """`judge --help` may take 0.3 s, and pydantic alone takes half of that."""
    code = (
        "import sys; from judge.cli.main import app; app(['--help'], standalone_mode=False);"
        " sys.exit(str({'pydantic', 'numpy', 'pandas', 'rich'} & sys.modules.keys() or ''))"
    )
    result = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=False)
    assert result.stderr.strip() == ""
    assert "Commands:" in result.stdout


def test_help_groups_the_options_of_a_run() -> None:
    lines = run_judge("run", "--help").stdout.splitlines()
    groups = [line for line in lines if line.endswith(":") and not line.startswith(" ")]
    assert groups == [
        *("Arguments:", "Assessor:", "Input:", "Measuring:", "Other dimensions:", "Calls and cost:"),
        *("Files:", "Options:"),
    ]
    assert all(len(line) <= 80 for line in lines)


def test_help_shows_every_option_of_a_run_that_is_not_for_files_alone() -> None:
    words = set(run_judge("run", "--help").stdout.replace(",", " ").split())
    for name, option in list_options(Config).items():
        flags = {*(option.flags or (f"--{name.replace('_', '-')}",))}
        if option.place == "file":
            assert flags.isdisjoint(words)
        else:
            assert words >= ({f"{name}..."} if option.place == "argument" else flags)


ENDING = """
import sys

from judge.__main__ import start
from judge.cli.main import app
from judge.errors import Interrupted

@app.command()
def trips():
    try:
        raise Interrupted("interrupted; kept")
    except Interrupted:
        raise KeyError("a library was in the middle of something")

@app.command()
def stops():
    raise KeyboardInterrupt

@app.command()
def breaks():
    raise ZeroDivisionError("api_key=sk-canary-5b1d9f")

@app.command()
def denied():
    raise PermissionError(13, "Permission denied", "runs/x")

@app.command("is_hung_up_on")
def hangs_up():
    raise BrokenPipeError(32, "Broken pipe")

sys.argv = ["judge", "{}"]
start()
"""


def test_a_program_runs_a_command_with_streams_and_an_environment_of_its_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("OPENAI_API_KEY", "sk-canary-5b1d9f")
    before, stdout, stderr = dict(os.environ), io.StringIO(), io.StringIO()
    streams = sys.stdout, sys.stderr
    words = ["run", str(example.find_dataset()), "-m", "openai:m", "--out", str(tmp_path / "x")]
    assert main(words, stdout=stdout, stderr=stderr, environ={"HOME": "/"}) == 2
    assert (stdout.getvalue(), stderr.getvalue()) == (
        "",
        "judge: no key for 'https://api.openai.com/v1': set OPENAI_API_KEY\n",
    )
    assert main(["measures"], stdout=stdout, stderr=stderr) == 0
    assert "nDCG" in stdout.getvalue()
    assert (dict(os.environ), (sys.stdout, sys.stderr)) == (before, streams)


@pytest.mark.parametrize(
    ("what", "code", "expected"),
    [
        ("trips", 130, "judge: interrupted; kept"),
        ("stops", 130, "judge: interrupted\n"),
        ("breaks", 70, "ZeroDivisionError"),
        ("denied", 3, "judge: runs/x: Permission denied\n"),
        ("is_hung_up_on", 70, "BrokenPipeError"),
    ],
)
def test_the_exit_codes_of_unexpected_errors(what: str, code: int, expected: str) -> None:
    """A signal can interrupt a library, and a crash is not a regression; no message has a key."""
    result = subprocess.run(
        [sys.executable, "-c", ENDING.format(what)], capture_output=True, text=True, timeout=300, check=False
    )
    assert result.returncode == code
    assert expected in result.stderr
    assert "canary" not in result.stderr


def test_ctrl_c_while_the_program_starts_ends_it_without_a_traceback() -> None:
    interrupt_import = """
import sys
from judge.__main__ import start

class Interrupt:
    def find_spec(self, name, path=None, target=None):
        if name == "judge.cli.main":
            raise KeyboardInterrupt

sys.meta_path.insert(0, Interrupt())
start()
"""
    result = subprocess.run(
        [sys.executable, "-c", interrupt_import], capture_output=True, text=True, timeout=300, check=False
    )
    assert (result.returncode, result.stderr) == (130, "")
