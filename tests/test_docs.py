"""Every command, code sample and dataset in the READMEs and in docs/ works as it is written.

The commands and files of a Chinese page are those of the English one (`tests/test_docs_site.py`), so a
Chinese page runs only if it shows outputs.
"""

import contextlib
import importlib.metadata
import json
import re
import shutil
import signal
import subprocess
import sys
import tomllib
import urllib.request
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import pytest
from rich.cells import cell_len

from judge.example import find_dataset as example
from tests.support.cases import check_each
from tests.support.command_line import run_judge
from tests.support.datasets import read_dataset
from tests.support.factories import extract_fenced, make_rows, write_rows
from tests.support.fake_engines import EngineServer, Page, SearchRequest
from tests.support.fake_server import ChatRequest, LoopbackServer, Reply, reply_with_token_shares
from tests.support.markdown import READMES, ROOT, Document, find_page, list_documents, list_pages
from tests.support.rerank_server import rerank

#: What runs: both READMEs and the English pages.
RUN = [Document(path) for path in READMES.values()] + list_pages("en")
#: The locale in which a document runs.
LOCALES = {"en": "C.UTF-8", "zh": "zh_CN.UTF-8"}
#: What each sample on the page of the Python API prints.
PRINTED = ("nDCG@10", "geography", "nDCG@5", "0.5 [{'rank': 1")


def identify(document: Document) -> str:
    return str(document.path.relative_to(ROOT))


def run_ok(words: Sequence[object], **environment: str) -> str:
    """Run `judge`, which must succeed, and return what it printed."""
    done = run_judge(*words, **environment)
    assert done.returncode == 0, f"judge {' '.join(map(str, words))}\n{done.stderr}"
    return done.stdout


#: Answers to questions besides grades, by what their prompts begin with.
ANSWERS = {
    "Explain why": {"explanation": "so"},
    "List the information points": {"points": [{"point": "p", "importance": "vital"}]},
    "Say for each information point": {"support": ["support"]},
    "Say which of two search engines": {"reason": "so", "better": "tie"},
    "判断两个搜索引擎的结果列": {"reason": "so", "better": "tie"},
    "Grade a web site": {
        "site_class": "news",
        "authority": 4,
        "freshness": None,
        "clarity": 3,
        "objectivity": 4,
        "may_be_ai_made": False,
    },
    "Grade an answer": {"reason": "so", "grade": "perfect"},
    "解释搜索引擎的结果列表": {"explanation": "得分为 0.6667，因为第 2、5 条“说的是饥饿，与贫血无关”。"},
}
#: Verdicts on the example of the puppy.
ANAEMIA = {"reason": "说的是贫血的表现。", "verdict": "yes"}
ARBITRARY = {
    "adjective": "The snippet explains the word.",
    "song": "The snippet is about the song of this name.",
}
HUNGER = {"reason": "说的是饥饿，与贫血无关。", "verdict": "no"}


def decide_relevance(request: ChatRequest, text: str) -> dict[str, object]:
    """Return the verdict on a snippet of the examples, in the form of DeepEval if the prompt asks for it."""
    if '"verdicts"' in request.prompt:
        return {"verdicts": [{"statement": "s", **(HUNGER if "饥饿" in request.prompt else ANAEMIA)}]}
    for word, reason in ARBITRARY.items():
        if f"rbitrary, a {word}" in text or f"({word})" in text:
            return {"reason": reason, "verdict": "yes"}
    return {**(HUNGER if "饥饿" in text else ANAEMIA)}


def reply_with_grade(request: ChatRequest) -> Reply:
    """Grade a snippet by the grade that it states, 2 without one; score it as a reranker."""
    if request.path.endswith("/rerank"):
        return rerank(request)
    if request.body and "logprobs" in request.body:
        return reply_with_token_shares(request, {"2": 0.9, "3": 0.1})
    for start, answer in ANSWERS.items():
        if request.prompt.startswith(start):
            return Reply(text=json.dumps(answer))
    if request.prompt.startswith("Sort a grader's reasons"):
        return Reply(
            text=json.dumps({"classes": ["off_topic" for _ in extract_fenced(request.prompt).split("\n")]})
        )
    text = extract_fenced(request.prompt)
    if request.prompt.startswith("Answer the query from"):
        return Reply(text=json.dumps({"answer": "Paris" if "Paris" in text else ""}))
    if '"verdict"' in request.prompt or '"verdicts"' in request.prompt:
        return Reply(text=json.dumps(decide_relevance(request, text)))
    stated = re.search(r"grade=(\d)", text)
    value = int(stated[1]) if stated else 0 if "cheese" in text else 2
    return Reply(text=json.dumps({"reason": f"the snippet states {value}", "grade": value}))


def return_two_results(request: SearchRequest) -> Page:
    return Page([(f"{request.query} {at}", f"https://x.example/{at}", f"grade={at}") for at in (3, 1)])


@pytest.fixture(scope="module")
def demo(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the run of `judge demo`."""
    folder = tmp_path_factory.mktemp("demo")
    with contextlib.chdir(folder):
        run_ok(["demo"])
    return folder


@pytest.fixture
def workspace(demo: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with the files that the documents name."""
    folder = tmp_path / "work"
    shutil.copytree(demo, folder)
    runs = folder / "runs"
    for night in ("monday", "tuesday"):
        shutil.copytree(runs / "demo", runs / night)
    for labels in ("labels.csv", "gpt.qrels", "human.qrels"):
        shutil.copy(runs / "demo" / "qrels.txt", folder / labels)
    write_rows(
        folder / "results.jsonl", [{**row, "query_id": "q1", "query": "q"} for row in make_rows(1, 2, 3)]
    )
    snippet = read_dataset(folder / "results.jsonl", lang="auto", max_chars=4000).rankings[0].snippets[0]
    (folder / "people.qrels").write_text(f"q1 0 {snippet.id} 2\n", encoding="utf-8")
    (folder / "queries.tsv").write_text("q1\tfirst query\nq2\tsecond query\n", encoding="utf-8")
    (folder / "judge.toml").write_text(f'data = "{example()}"\nmodel = "lexical"\n', encoding="utf-8")
    (folder / "topics.tsv").write_text("1\tfirst query\n", encoding="utf-8")
    write_rows(folder / "docs.jsonl", [{"id": f"d{at}", "text": f"first text {at}"} for at in (1, 2)])
    for engine, docno in (("a", "d1"), ("b", "d2")):
        (folder / f"{engine}.run").write_text(f"1 Q0 {docno} 1 1.0 {engine}\n", encoding="utf-8")
    monkeypatch.chdir(folder)
    return folder


@pytest.fixture(scope="module")
def servers() -> Iterator[tuple[LoopbackServer, EngineServer]]:
    with LoopbackServer(reply_with_grade) as models, EngineServer(return_two_results) as engines:
        yield models, engines


def fill_in_model(text: str) -> str:
    return re.sub(r"\b((?:decision:)?openai|dashscope|langchain:tongyi|rerank:server):NAME", r"\1:m", text)


def annotate(words: Sequence[str]) -> None:
    """Start `judge annotate`, ask it for its page, and end it as Ctrl-C does."""
    process = subprocess.Popen(
        [sys.executable, "-u", "-m", "judge", *words, "--port", "0"], stdout=subprocess.PIPE, text=True
    )
    assert process.stdout is not None
    with process:
        address = next(line.partition("#")[0] for line in process.stdout if "http://127.0.0.1:" in line)
        with urllib.request.urlopen(address) as page:  # noqa: S310 - an address that judge printed
            assert page.status == 200
        process.send_signal(signal.SIGINT)
        process.stdout.read()
    assert process.returncode == 0


@pytest.mark.parametrize("language", READMES)
def test_the_first_screen_shows_what_the_demo_prints(
    language: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    text = READMES[language].read_text(encoding="utf-8")
    shown = re.search(r"<!-- demo -->\n```\n(.*?)```\n<!-- /demo -->", text, re.DOTALL)
    assert shown is not None
    assert text[: shown.end()].count("\n") < 50
    terminal = {"FORCE_COLOR": "1", "NO_COLOR": "1", "COLUMNS": "80"}
    printed = run_ok(["demo"], LC_ALL=LOCALES[language], **terminal).partition("\n\n")[0]
    table = re.sub(r"\x1b\[[0-9;]*m", "", printed)
    assert len(shown[1].splitlines()) == len(table.splitlines())
    assert max(map(cell_len, shown[1].splitlines())) <= 80
    assert list_missing(shown[1], table) == []


def list_missing(shown: str, printed: str) -> list[str]:
    """Return the lines of `shown` that were not printed.

    In a browser, a Chinese character is narrower than two Latin letters. Tables of Chinese pages therefore
    have ideographic spaces: all cells of a column have as many wide characters. Their words are compared.
    """
    words = [line.split() for line in printed.splitlines()]
    has_ideographic_spaces = "\u3000" in shown
    return [
        line
        for line in shown.splitlines()
        if (line.split() not in words if has_ideographic_spaces else line not in printed)
    ]


def run_blocks(document: Document, capsys: pytest.CaptureFixture[str], **environment: str) -> None:
    """Run the blocks of a document in the working folder; compare what they print with its outputs."""
    for block in document.blocks:
        if block.marker == "file":
            Path(block.name).write_text(fill_in_model(block.text), encoding="utf-8")
    printed = ""
    for block in document.blocks:
        if block.marker == "output":
            assert not list_missing(block.text, printed), printed
            printed = ""
        if block.marker == "run":
            exec(compile(block.text, document.path.name, "exec"), {"__name__": "__main__"})  # noqa: S102
            printed += capsys.readouterr().out
        for words in block.commands:
            if words[0] == "annotate":
                annotate(words)
                continue
            address = f"brave={environment['SEARXNG_URL']}"
            more = ["--base-url", address, "--rate", "100"] if words[0] == "collect" else []
            printed += run_ok([*map(fill_in_model, words), *more], **environment)


@pytest.mark.parametrize("document", [each for each in RUN if each.commands], ids=identify)
def test_every_command_runs_and_prints_its_output(
    document: Document,
    workspace: Path,
    servers: tuple[LoopbackServer, EngineServer],
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Each line of a block `output` is what the commands and the Python block before it print.

    A Chinese page with outputs runs after the English one in the same folder, where the verdicts are stored.
    """
    models, engines = servers
    environment = {
        "OPENAI_BASE_URL": models.openai_url,
        "DASHSCOPE_BASE_URL": models.dashscope_url,
        "RERANK_BASE_URL": models.url,
        "SEARXNG_URL": engines.url,
        **dict.fromkeys(("OPENAI_API_KEY", "DASHSCOPE_API_KEY", "BRAVE_SEARCH_API_KEY"), "k"),
    }
    language = "zh" if document.path == READMES["zh"] else "en"
    run_blocks(document, capsys, LC_ALL=LOCALES[language], **environment)
    if any(block.marker == "output" for block in document.blocks):
        run_blocks(find_page("zh", document.path.stem), capsys, LC_ALL=LOCALES["zh"], **environment)


def test_the_python_samples_run_one_after_the_other(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("COLUMNS", "200")
    for sample, text in zip(find_page("en", "python").list_code("python"), PRINTED, strict=True):
        exec(compile(sample, "sample.py", "exec"), {"__name__": "__main__"})  # noqa: S102
        assert text in capsys.readouterr().out


def run_ir_measures_sample(sample: str, capsys: pytest.CaptureFixture[str]) -> float:
    """Run a sample that prints a dictionary of one measure and return its value."""
    exec(compile(sample, "sample.py", "exec"), {"__name__": "__main__"})  # noqa: S102
    return float(capsys.readouterr().out.rstrip("}\n").rpartition(": ")[2])


@pytest.mark.parametrize(("name", "measure"), [("nDCG", "nDCG@10"), ("AP", "AP(rel=2)@10")])
def test_the_sample_for_ir_measures_gives_the_mean_of_the_run(
    name: str,
    measure: str,
    tmp_path: Path,
    servers: tuple[LoopbackServer, EngineServer],
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    """Every third query has nothing relevant, one list is empty, and the engine failed on one query."""
    results: list[dict[str, Any]] = []
    for number in range(9):
        lists: dict[str, Any] = {
            engine: [{"snippet": f"{number}.{rank} grade={rank % 2 * (number % 3)}"} for rank in range(depth)]
            for engine, depth in (("compass", 4), ("other", 1))
        }
        results.append({"query_id": f"q{number}", "query": f"query {number}", "engines": lists})
    results[1]["engines"]["compass"] = []
    results[2]["engines"]["compass"] = {"error": "HTTP 503"}
    monkeypatch.chdir(tmp_path)
    write_rows(tmp_path / "d.jsonl", results)
    run_ok(
        ["run", "d.jsonl", "-m", "openai:m", "--out", "runs/demo", "--measures", measure],
        OPENAI_BASE_URL=servers[0].openai_url,
    )
    summary = json.loads((tmp_path / "runs" / "demo" / "summary.json").read_text(encoding="utf-8"))
    mean = summary["engines"]["compass"]["measures"][measure]["mean"]
    (sample,) = (
        block.text.replace("import nDCG", f"import {name}").replace("nDCG @ 10", measure.replace("@", " @ "))
        for block in find_page("en", "formats").blocks
        if block.name == "ir-measures"
    )
    assert run_ir_measures_sample(sample, capsys) == pytest.approx(mean, abs=1e-12)
    all_queries = sample.replace(" if qrel.query_id in queries", "")
    assert run_ir_measures_sample(all_queries, capsys) < mean - 0.1


@pytest.mark.parametrize("document", [each for each in RUN if each.list_code("json")], ids=identify)
def test_json_is_valid_and_rows_are_datasets(
    document: Document, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    for number, text in enumerate(document.list_code("json")):
        first = next(json.loads(line) for line in text.splitlines())
        if "query" in first:
            (tmp_path / "d.jsonl").write_text(text, encoding="utf-8")
            run_ok(["run", "d.jsonl", "-m", "lexical", "--out", f"runs/{number}"])


@check_each("document", list_documents())
def test_toml_is_valid(document: Document) -> None:
    for text in document.list_code("toml"):
        assert tomllib.loads(text)


@check_each("document", list_documents())
def test_every_module_named_as_a_command_is_there(document: Document) -> None:
    for module in re.findall(r"python -m (tests\.[\w.]+)", document.text):
        assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), module


def test_both_readmes_promise_the_two_commands_of_a_fresh_machine() -> None:
    for readme in READMES.values():
        lines = [line for text in Document(readme).list_code("sh") for line in text.splitlines()]
        assert "pip install uv && uv run judge demo" in lines
        assert "pip install uv && uv run --all-extras pytest" in lines
    script = (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert "pip install uv && uv run --all-extras pytest" in script.splitlines()


def test_the_demo_installs_nothing_that_only_tests_need() -> None:
    """`uv run` installs every default group unasked, and no extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "dependency-groups" not in project
    assert "dev-dependencies" not in project["tool"].get("uv", {})
    extras: dict[str, list[str]] = project["project"]["optional-dependencies"]
    assert {"pytest", "mypy", "ruff"} <= {name.split(">")[0] for name in extras["dev"]}
    assert extras["all"] == ["search-judge[dashscope,langchain,deepeval,parquet,xlsx,web]"]


def test_the_distribution_is_search_judge_and_the_command_is_judge() -> None:
    installed = importlib.metadata.distribution("search-judge")
    assert {entry.name for entry in installed.entry_points} == {"judge"}
    files = [*(document.path for document in list_documents()), ROOT / "pyproject.toml"]
    for file in (*files, *(ROOT / "judge").rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for wrong in re.findall(r"(?<!search-)\bjudge\[[a-z,]+\]", text):
            pytest.fail(f"{file}: {wrong} is the extra of another distribution")
