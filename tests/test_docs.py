"""Every command and every snippet in the READMEs runs, and the table they show is the one it prints."""

from __future__ import annotations

import importlib.metadata
import json
import os
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest

from judge.example import path
from tests.loopback.engines import EngineServer, Page, Searched
from tests.loopback.server import LoopbackServer
from tests.worlds import numbered, says_its_grade, write_rows

ROOT = Path(__file__).resolve().parents[1]
READMES = ("README.md", "README.zh-CN.md")


def blocks(readme: str, language: str) -> list[str]:
    """The fenced blocks of a language."""
    return re.findall(rf"```{language}\n(.*?)```", (ROOT / readme).read_text(encoding="utf-8"), re.DOTALL)


def run(command: str, folder: Path, **environment: str) -> str:
    """Runs a shell line where `judge` is this checkout's, and gives what it printed."""
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    done = subprocess.run(
        ["bash", "-euc", command], cwd=folder, capture_output=True, text=True, timeout=120, check=False,
        env={**os.environ, "PATH": path, **environment},
    )  # fmt: skip
    assert done.returncode == 0, f"{command}\n{done.stderr}"
    return done.stdout


def finds(asked: Searched) -> Page:
    """Two results that say their grades."""
    found = [(f"{asked.query} {grade}", f"https://x.example/{grade}", f"grade={grade}") for grade in (3, 1)]
    return Page(found)


@pytest.mark.parametrize("readme", READMES)
def test_the_first_screen_shows_what_the_demo_prints(readme: str, tmp_path: Path) -> None:
    text = (ROOT / readme).read_text(encoding="utf-8")
    shown = re.search(r"<!-- demo -->\n```\n(.*?)```\n<!-- /demo -->", text, re.DOTALL)
    assert shown is not None
    assert text[: shown.end()].count("\n") < 40
    table = run("judge demo", tmp_path).partition("\nThis was the lexical model")[0]
    assert [line.rstrip() for line in shown[1].splitlines()] == [line.rstrip() for line in table.splitlines()]


@pytest.mark.parametrize("readme", READMES)
def test_every_command_runs(readme: str, tmp_path: Path) -> None:
    write_rows(
        tmp_path / "results.jsonl", [{**row, "query_id": "q1", "query": "q"} for row in numbered(1, 2, 3)]
    )
    lines = [line.split("  #")[0].strip() for block in blocks(readme, "sh") for line in block.splitlines()]
    commands = [line for line in lines if line.startswith("judge ")]
    assert commands
    run("judge demo", tmp_path)
    for night in ("monday", "tuesday"):
        run(f"judge demo --out runs/{night}", tmp_path)
    for labels in ("labels.csv", "gpt.qrels", "human.qrels"):
        shutil.copy(tmp_path / "runs" / "demo" / "qrels.txt", tmp_path / labels)
    (tmp_path / "queries.tsv").write_text("q1\tfirst query\nq2\tsecond query\n", encoding="utf-8")
    (tmp_path / "judge.toml").write_text(f'data = "{path()}"\nmodel = "lexical"\n', encoding="utf-8")
    with LoopbackServer(says_its_grade) as server, EngineServer(finds) as engines:
        for command in commands:
            if command.startswith("judge annotate"):
                # It serves until somebody ends it.
                command = f"timeout --preserve-status -s INT 5 {command} --port 0"
            if command.startswith("judge collect"):
                command += f" --base-url brave={engines.url} --rate 100"
            model = command.replace("openai:NAME", "openai:m").replace("dashscope:NAME", "dashscope:m")
            run(
                model, tmp_path, OPENAI_BASE_URL=server.openai_url, DASHSCOPE_BASE_URL=server.dashscope_url,
                OPENAI_API_KEY="k", DASHSCOPE_API_KEY="k", SEARXNG_URL=engines.url, BRAVE_SEARCH_API_KEY="k",
            )  # fmt: skip


@pytest.mark.parametrize("readme", READMES)
def test_every_python_snippet_runs(readme: str, tmp_path: Path) -> None:
    snippets = blocks(readme, "python")
    assert snippets
    run("judge demo", tmp_path)
    for snippet in snippets:
        (tmp_path / "snippet.py").write_text(snippet, encoding="utf-8")
        printed = run("python snippet.py", tmp_path, PYTHONPATH=str(ROOT), COLUMNS="200")
        assert ("0.5 [{'rank': 1" if "integrations" in snippet else "nDCG@10") in printed


@pytest.mark.parametrize("measure", ["nDCG@10", "AP(rel=2)@10"])
def test_the_snippet_for_ir_measures_gives_our_mean(tmp_path: Path, measure: str) -> None:
    """Every third query has nothing relevant, one list is empty, and the engine broke on one query."""
    results: list[dict[str, Any]] = []
    for number in range(9):
        lists: dict[str, Any] = {
            engine: [{"snippet": f"{number}.{rank} grade={rank % 2 * (number % 3)}"} for rank in range(depth)]
            for engine, depth in (("compass", 4), ("other", 1))
        }
        results.append({"query_id": f"q{number}", "query": f"query {number}", "engines": lists})
    results[1]["engines"]["compass"] = []
    results[2]["engines"]["compass"] = {"error": "HTTP 503"}
    write_rows(tmp_path / "d.jsonl", results)
    with LoopbackServer(says_its_grade) as server:
        run(
            f"judge run d.jsonl -m openai:m --out runs/demo --measures '{measure}'", tmp_path,
            OPENAI_BASE_URL=server.openai_url, OPENAI_API_KEY="k",
        )  # fmt: skip
    summary = json.loads((tmp_path / "runs" / "demo" / "summary.json").read_text(encoding="utf-8"))
    mean = summary["engines"]["compass"]["measures"][measure]["mean"]
    snippet = next(each for each in blocks("README.md", "python") if "ir_measures" in each)
    (tmp_path / "snippet.py").write_text(snippet.replace("nDCG@10", measure), encoding="utf-8")
    printed = run("python snippet.py", tmp_path)
    assert float(printed.rstrip("}\n").rpartition(": ")[2]) == pytest.approx(mean, abs=1e-12)
    everything = snippet.replace("nDCG@10", measure).replace(" if qrel.query_id in queries", "")
    (tmp_path / "snippet.py").write_text(everything, encoding="utf-8")
    printed = run("python snippet.py", tmp_path)
    assert float(printed.rstrip("}\n").rpartition(": ")[2]) < mean - 0.1


@pytest.mark.parametrize("readme", READMES)
def test_the_example_rows_are_rows(readme: str, tmp_path: Path) -> None:
    for block in blocks(readme, "json"):
        (tmp_path / "d.jsonl").write_text(block, encoding="utf-8")
        run("judge run d.jsonl -m lexical", tmp_path)


def test_every_module_named_as_a_command_is_there() -> None:
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    for module in re.findall(r"python -m (tests\.[\w.]+)", text):
        assert (ROOT / (module.replace(".", "/") + ".py")).is_file(), module


def test_both_readmes_promise_the_two_commands_of_a_fresh_machine() -> None:
    assert "pip install uv && uv run judge demo" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "pip install uv && uv run --all-extras pytest" in (ROOT / "README.md").read_text(encoding="utf-8")
    assert "uv run --all-extras pytest" in (ROOT / ".ci" / "run").read_text(encoding="utf-8")
    assert shutil.which("bash")


def test_the_demo_installs_nothing_that_only_tests_need() -> None:
    """`uv run` installs every default group unasked, and no extra."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "dependency-groups" not in project
    assert "dev-dependencies" not in project["tool"].get("uv", {})
    assert {"pytest", "mypy", "ruff"} <= {name.split(">")[0] for name in extras(project)["dev"]}
    assert extras(project)["all"] == ["search-judge[dashscope,langchain,deepeval,parquet,xlsx,web]"]


def extras(project: dict[str, Any]) -> dict[str, list[str]]:
    found: dict[str, list[str]] = project["project"]["optional-dependencies"]
    return found


def test_the_distribution_is_search_judge_and_the_command_is_judge() -> None:
    installed = importlib.metadata.distribution("search-judge")
    assert {entry.name for entry in installed.entry_points} == {"judge"}
    files = [ROOT / name for name in (*READMES, "pyproject.toml")]
    for file in (*files, *(ROOT / "judge").rglob("*.py"), *(ROOT / "tests").rglob("*.py")):
        text = file.read_text(encoding="utf-8")
        for wrong in re.findall(r"(?<!search-)\bjudge\[[a-z,]+\]", text):
            pytest.fail(f"{file}: {wrong} is the extra of another distribution")
