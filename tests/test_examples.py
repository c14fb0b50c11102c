"""The examples and the container file work as they are."""

import contextlib
import re
import shutil
import subprocess
import sys
import tomllib
from pathlib import Path

from tests.support.command_line import run_judge
from tests.support.markdown import ROOT

EXAMPLES = ROOT / "examples"


def test_the_page_lists_every_example_with_its_command() -> None:
    page = (EXAMPLES / "README.md").read_text(encoding="utf-8")
    names = {path.name for path in EXAMPLES.iterdir()} - {"README.md"}
    assert set(re.findall(r"^\| `([^`]+)`", page, re.MULTILINE)) == names
    assert set(re.findall(r"examples/([\w.]+)`", page)) == names


def test_engines_are_compared_from_python(tmp_path: Path) -> None:
    result = subprocess.run(
        [sys.executable, EXAMPLES / "compare_engines.py"],
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    assert re.search(r"^harbour +0\.7230", result.stdout, re.MULTILINE)
    assert "harbour and meadow, nDCG@10: not separated" in result.stdout
    assert (tmp_path / "runs" / "example-lexical" / "report.html").exists()


def test_the_night_runs_without_a_key(tmp_path: Path) -> None:
    data = tmp_path / "judge" / "example" / "queries.jsonl"
    data.parent.mkdir(parents=True)
    shutil.copy(ROOT / "judge" / "example" / "queries.jsonl", data)
    with contextlib.chdir(tmp_path):
        result = run_judge("nightly", EXAMPLES / "nightly.toml", "--date", "2026-05-01")
    assert result.returncode == 0, result.stderr
    assert "judge baseline set runs/example-nights/2026-05-01" in result.stdout


def test_the_container_installs_extras_and_starts_a_command_that_there_are() -> None:
    lines = (ROOT / "Dockerfile").read_text(encoding="utf-8")
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (extras,) = re.findall(r"/src\[([\w,]+)\]", lines)
    assert set(extras.split(",")) <= project["optional-dependencies"].keys()
    (command,) = re.findall(r'ENTRYPOINT \["(\w+)"\]', lines)
    assert command in project["scripts"]
